"""Ridge and logistic regression on functions of columns and pairs at rows.

The same machine without bins has kernels between all different numbers, by two recursions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, log_softmax, softmax

from mercer import _native
from mercer.solvers.additive.evidence import EvidenceRidge, PartResult, PartSystem, next_penalties
from mercer.solvers.additive.row_design import RowDesign
from mercer.solvers.result import Reason, Result
from mercer.threads import raise_if_stopped

ROUNDING = 1e-6  # of the largest entry of a Gram matrix in single precision


@dataclass(frozen=True)
class ExactSum:
    r"""f = Σ f_j with (Σ K̃_j / λ_j + W⁻¹) a = y and :math:`f_j = \tilde K_j a / λ_j`.

    Parameters
    ----------
    gamma : float > 0
        γ of exp(-γ |t - t'|) between positions.
    tol : float
        Relative residual of the conjugate gradients.
    max_iter : int

    Notes
    -----
    A product with K of one column takes two recursions over its numbers in order, O(n).
    """

    gamma: float
    tol: float = 1e-8
    max_iter: int = 2000

    def solve(
        self,
        codes: Sequence[np.ndarray],
        positions: Sequence[np.ndarray],
        y: np.ndarray,
        weights: np.ndarray,
        penalties: np.ndarray,
    ) -> tuple[list[np.ndarray], Result]:
        """The values of each function at the levels of its column, for targets of mean 0.

        Positions (levels,) ascend; those of levels that are like no other are NaN, and stand last.
        """
        columns = [
            _Column(row, t, weights, self.gamma) for row, t in zip(codes, positions, strict=True)
        ]
        roots = np.sqrt(weights)

        def product(z: np.ndarray) -> np.ndarray:
            out = np.zeros_like(z)
            for column, penalty in zip(columns, penalties):
                out += column.values(roots * z)[column.codes] / penalty
            return z + roots * out

        b = roots * y
        z, r, p, steps = np.zeros_like(b), b, b, 0
        size = float(np.linalg.norm(b)) or 1.0
        while np.linalg.norm(r) > self.tol * size and steps < self.max_iter:
            raise_if_stopped()
            q = product(p)
            pace = float(r @ r) / float(p @ q)
            z, before, r = z + pace * p, r, r - pace * q
            p, steps = r + float(r @ r) / float(before @ before) * p, steps + 1
        gap = float(np.linalg.norm(b - product(z)) / size)
        done = gap <= 10 * self.tol
        result = Result(
            roots * z, gap=gap, iterations=steps, converged=done, solver="ExactSum",
            reason=Reason.CONVERGED if done else Reason.LIMIT, certificate="relative residual",
        )  # fmt: skip
        return [c.values(roots * z) / penalty for c, penalty in zip(columns, penalties)], result


class _Column:
    """Products with the centred kernel of one column."""

    def __init__(self, codes: np.ndarray, positions: np.ndarray, weights: np.ndarray, gamma: float):
        self.codes = codes
        self.size, self.placed = len(positions), int((~np.isnan(positions)).sum())
        self.decay = np.exp(-gamma * np.diff(positions[: self.placed]))
        self.shares = np.bincount(codes, weights, self.size) / weights.sum()

    def values(self, v: np.ndarray) -> np.ndarray:
        """H K Hᵀ Zᵀ v at each level, where Zᵀ sums rows by level."""
        by_level = np.bincount(self.codes, v, self.size)
        by_level -= self.shares * by_level.sum()
        out = by_level.copy()
        if self.placed:
            product = np.empty(self.placed)
            _native.laplacian_product(self.decay, by_level[: self.placed], product)
            out[: self.placed] = product
        return out - self.shares @ out


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
        # equal columns leave rounding errors below 0, which small penalties do not outweigh
        least = ROUNDING * share * float(np.diagonal(G).max())
        factor = cho_factor(share * G + np.diag(np.maximum(lam, least)), lower=True)
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


# Columns that separate the classes would run away: penalties are bounded, and so are their changes.
FLOOR, CEILING = 0.05, 1e8
DOWN, UP = 5.0, 30.0
# κ: Laplace's approximation makes penalties too different where rows are few. Log loss of titanic
# without it is .399 and with it .390, of credit_g .551 and .545.
SHARED = 0.5
SETTLED = 0.1  # change of the logarithm of a penalty
LEAST_SPREAD = 1e-10  # p (1 - p) of a row: rows that are certain do not make H singular


@dataclass(frozen=True)
class PartNewton:
    r"""Minimise :math:`-\sum_i w_i \log p_{y_i}(x_i) + \frac12 \sum_j λ_j \|β_j\|^2`, f = Φβ + b.

    Parameters
    ----------
    penalty : float >= 0 or None
        λ of all parts. None finds one for each part and output: after each Newton step
        :math:`λ_j = (e_j + κ) / (\|β_j\|^2 + κ / λ_0)`, with e_j the degrees of freedom of the
        part, κ = 0.5, and λ_0 the same of all parts together with κ = 0.
    rows : int
        Most rows of the Hessian matrix of designs with pairs. The gradient is that of all rows.
    tol : float
        Stop when ½ gᵀ H⁻¹ g, what a step still promises, is below tol times the objective.
    max_iter : int
        Newton steps of each output.

    Notes
    -----
    One output is a logistic model, several are a multinomial one, whose outputs take their steps in
    turn. Each step is halved until the penalised objective falls (without that, pairs of columns
    make it diverge).
    """

    penalty: float | None = None
    rows: int = 20_000
    tol: float = 1e-6
    max_iter: int = 60

    def solve(
        self,
        design: RowDesign,
        Y: np.ndarray,
        weights: np.ndarray,
        penalties: np.ndarray | None = None,
    ) -> PartResult:
        """``coef`` (functions, outputs) and ``intercept`` (outputs,).

        ``Y`` has the indicators of the classes, (outputs, n); ``penalties`` are the first ones,
        (outputs, parts).
        """
        state = _State(design, Y, weights, self.rows)
        if penalties is not None:
            state.penalties = penalties.copy()
        if self.penalty is not None:
            state.penalties[:] = self.penalty
        adapting, steps, reason, gap = self.penalty is None, 0, Reason.LIMIT, np.inf
        while steps < self.max_iter:
            steps += 1
            gap = moved = 0.0
            for c in range(len(Y)):
                raise_if_stopped()
                gap = max(gap, state.step(c))
                if adapting:
                    moved = max(moved, state.adapt(c))
            if steps >= self.max_iter // 3 or moved < SETTLED:
                adapting = False
            if not adapting and gap <= self.tol and moved == 0:
                reason = Reason.CONVERGED
                break
        return PartResult(
            state.beta.T,
            state.intercepts,
            objective=state.objective(state.eta) + state.penalised(state.beta),
            gap=gap,
            iterations=steps,
            converged=reason is Reason.CONVERGED,
            reason=reason,
            solver="PartNewton",
            certificate="relative decrement",
            penalties=state.penalties,
            freedom=np.array([system.freedom for system in state.systems]),
            noise=1.0,
            evidence=-state.objective(state.eta)
            - state.penalised(state.beta)
            - 0.5 * sum(system.log_volume for system in state.systems),
            spreads=tuple(spread for system in state.systems for spread in system.spreads()),
        )


class _State:
    """The coefficients of all outputs, and f at all rows."""

    def __init__(self, design: RowDesign, Y: np.ndarray, weights: np.ndarray, rows: int):
        self.design, self.Y, self.w = design, Y, weights
        self.some = design.some(rows) if design.pairs else design
        self.every = -(-design.rows // self.some.rows)
        self.share = float(weights.sum() / weights[:: self.every].sum())
        outputs = len(Y)
        self.beta = np.zeros((outputs, design.width))
        self.penalties = np.ones((outputs, len(design.parts)))
        self.sizes = [part.stop - part.start for part in design.parts]
        self.systems: list = [None] * outputs
        # the log-odds of the classes, with a row more so that none is infinite
        share = (Y @ weights + 0.5) / (weights.sum() + 1)
        self.intercepts = np.log(share / (1 - share)) if outputs == 1 else np.log(share)
        self.eta = np.repeat(self.intercepts[:, None], design.rows, axis=1)

    def objective(self, eta: np.ndarray) -> float:
        if len(eta) == 1:
            return float((np.logaddexp(0, eta[0]) - self.Y[0] * eta[0]) @ self.w)
        return -float((self.Y * log_softmax(eta, axis=0)).sum(axis=0) @ self.w)

    def penalised(self, beta: np.ndarray) -> float:
        lam = np.repeat(self.penalties, self.sizes, axis=1)
        return 0.5 * float((lam * beta**2).sum())

    def probability(self, c: int) -> np.ndarray:
        return expit(self.eta[0]) if len(self.eta) == 1 else softmax(self.eta, axis=0)[c]

    def step(self, c: int) -> float:
        """A Newton step of one output; what it promised, in parts of the objective."""
        p = self.probability(c)
        r = self.w * (self.Y[c] - p)
        spread = self.w * np.maximum(p * (1 - p), LEAST_SPREAD)
        G, means = self.some.gram(spread[:: self.every])
        G, means, total = self.share * G, self.share * means, float(spread.sum())
        lam = np.repeat(self.penalties[c], self.sizes)
        g, g_b = self.design.sums(r) - lam * self.beta[c], float(r.sum())
        # without the intercept: (G - m mᵀ / s + λ) d = g - m g_b / s
        system = PartSystem(
            G - np.outer(means, means) / total, g - means * g_b / total, self.penalties[c],
            self.design.parts,
        )  # fmt: skip
        self.systems[c] = system
        d = system.beta
        dropped = np.setdiff1d(np.arange(len(d)), system.used)
        d[dropped] = -self.beta[c, dropped]
        d_b = (g_b - float(means @ d)) / total
        decrement = float(g @ d) + g_b * d_b
        change = self.design.read(d) + d_b
        value = self.objective(self.eta) + self.penalised(self.beta)
        for size in 0.5 ** np.arange(20):
            eta, beta = self.eta.copy(), self.beta.copy()
            eta[c] += size * change
            beta[c] += size * d
            if self.objective(eta) + self.penalised(beta) <= value - 1e-4 * size * decrement:
                self.eta, self.beta = eta, beta
                self.intercepts[c] += size * d_b
                break
        return max(decrement, 0.0) / 2 / max(abs(value), np.finfo(float).tiny)

    def adapt(self, c: int) -> float:
        """New penalties of one output; the largest change of a logarithm, of those in use."""
        old = self.penalties[c].copy()  # not a view: the new ones are written there
        wanted = next_penalties(
            self.systems[c].freedom, self.beta[c], self.design.parts, shared=SHARED
        )
        new = wanted.clip(old / DOWN, old * UP).clip(FLOOR, CEILING)
        new[np.array(self.sizes) == 0] = 1.0
        used = np.minimum(old, new) < 1e4
        self.penalties[c] = new
        return float(np.abs(np.log(new / old))[used].max(initial=0.0))
