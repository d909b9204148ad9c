"""Ridge regression on functions of columns and pairs, with the Gram matrix of some rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.solvers.additive.evidence import EvidenceRidge, PartResult, PartSystem
from mercer.solvers.additive.row_design import RowDesign
from mercer.solvers.result import Reason
from mercer.threads import raise_if_stopped


@dataclass(frozen=True)
class RowRidge:
    """Penalties by the marginal likelihood of some rows, then the solution for all rows.

    Penalties do not depend on the number of rows. The solution for all rows is by conjugate
    gradients, with products by reads and sums; their preconditioner is the matrix of the same rows
    as before, times the number of rows that each stands for. So few steps suffice.

    Parameters
    ----------
    evidence : EvidenceRidge
    rows : int
        Most rows of the Gram matrix.
    tol : float
        Relative residual.
    max_iter : int
        Steps of conjugate gradients.
    """

    evidence: EvidenceRidge
    rows: int = 50_000
    tol: float = 1e-6
    max_iter: int = 50

    def prepare(self, design: RowDesign, weights: np.ndarray) -> tuple[RowDesign, np.ndarray]:
        """The rows that the Gram matrix is of, and this matrix for features of mean 0."""
        some = design.some(self.rows)
        w = weights[:: -(-design.rows // some.rows)]
        G, means = some.gram(w)
        return some, G - np.outer(means, means) / w.sum()

    def solve(
        self,
        design: RowDesign,
        prepared: tuple[RowDesign, np.ndarray],
        y: np.ndarray,
        weights: np.ndarray,
        start: np.ndarray,
    ) -> PartResult:
        """The coefficients for targets (n,) of weighted mean 0; functions have mean 0, too."""
        some, G = prepared
        step = -(-design.rows // some.rows)
        w = weights[::step]
        t = y[::step] - np.average(y[::step], weights=w)
        b = some.sums(w * t)
        found = self.evidence.solve(G, b, design.parts, float(w @ t**2), float(w.sum()), start)
        if some.rows == design.rows:
            return found
        # A β = Φᵀ W Φ β + λ β = Φᵀ W y over all rows
        share = float(weights.sum() / w.sum())
        lam = np.repeat(found.penalties, [part.stop - part.start for part in design.parts])
        factor = cho_factor(share * G + np.diag(np.maximum(lam, 1e-8)), lower=True)
        beta, b = found.coef.copy(), design.sums(weights * y)

        def product(v: np.ndarray) -> np.ndarray:
            return design.sums(weights * design.read(v)) + lam * v

        r = b - product(beta)
        z = cho_solve(factor, r)
        p, rho, steps = z, float(r @ z), 0
        size = np.linalg.norm(b) or 1.0
        while np.linalg.norm(r) > self.tol * size and steps < self.max_iter and rho > 0:
            raise_if_stopped()
            q = product(p)
            pace = rho / float(p @ q)
            beta, r = beta + pace * p, r - pace * q
            z = cho_solve(factor, r)
            rho, last = float(r @ z), rho
            p, steps = z + rho / last * p, steps + 1
        gap = float(np.linalg.norm(r) / size)
        system = PartSystem(share * G, b, found.penalties, design.parts)
        done = gap <= 10 * self.tol
        return replace(
            found,
            coef=beta,
            gap=gap,
            certificate="relative residual",
            solver="RowRidge",
            iterations=found.iterations + steps,
            converged=done,
            reason=Reason.CONVERGED if done else Reason.LIMIT,
            freedom=system.freedom,
            spreads=tuple(found.noise * spread for spread in system.spreads()),
        )
