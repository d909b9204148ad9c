"""The candidates of the automatic estimators, and how one is fitted.

A candidate is a kernel family with its parameters, for the encoded columns of a table, and a
learner. All are kernel ridge machines in the end, on one-hot ±1 targets for classes: fitted exactly
by one eigendecomposition, or on a low-rank factor where the table is large, with the penalty chosen
by leave-one-out. Their leave-one-out outputs calibrate the probabilities for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.distances import Match as MatchDistance
from mercer.gram import Gram, TiledGram
from mercer.gram.low_rank import pivoted_cholesky
from mercer.gram.schedule import blas_limit
from mercer.kernels import RBF, FromDistance, Kernel, Laplacian, Match, TableKernel
from mercer.selection.encoding import Feature
from mercer.selection.interactions import learn_interactions
from mercer.solvers.low_rank_ridge import LowRankRidge
from mercer.solvers.ridge_path import RidgePath

__all__ = ["Candidate", "FittedKernelMachine", "candidates", "fit_candidate"]

PENALTIES = np.logspace(-8, 1, 19)  # relative to the number of rows
EXACT_ROWS = 3000  # up to so many rows one eigendecomposition, else a low-rank factor
LEARNING_ROWS = 2000  # rows on which column weights are learnt, of tables of up to 20 columns
MOST_COLUMNS = 100  # beyond so many, a kernel for each column is left out


@dataclass(frozen=True)
class Candidate:
    """One entry of the search.

    Attributes
    ----------
    family : {"interactions", "gaussian", "laplacian", "additive"}
    scale : float
        Bandwidth relative to the family's default.
    learn : bool
        Learn the weights of the columns.
    """

    family: str
    scale: float = 1.0
    learn: bool = False

    @property
    def name(self) -> str:
        if self.family == "interactions":
            width = "" if self.scale == 1 else f", scale {self.scale:g}"
            return f"interactions, {'learnt' if self.learn else 'equal'} weights{width}"
        return self.family if self.family == "additive" else f"{self.family}, scale {self.scale:g}"

    def kernel(self, features: list[Feature]) -> TableKernel:
        """The kernel on the encoded matrix, unbound."""
        ranks = [j for j, f in enumerate(features) if f.kind == "rank"]
        scaled = [j for j, f in enumerate(features) if f.kind == "scaled"]
        codes = [j for j, f in enumerate(features) if f.kind == "code"]
        if self.family in ("interactions", "additive"):
            parts: list = [(Laplacian(self.scale), [j]) for j in ranks]
            parts += [(Match(), [j]) for j in codes]
            combine = "interactions" if self.family == "interactions" else "sum"
            weight = 1.4 / len(parts) if combine == "interactions" else 1 / len(parts)
            return TableKernel(parts, combine, [weight] * len(parts))
        parts = []
        # Two standardised columns differ by 2 in squared distance and by about 1.1 in absolute
        # value on average; a mismatch of categories counts like one typical squared difference.
        width = len(scaled) + len(codes)
        if scaled:
            radial = RBF if self.family == "gaussian" else Laplacian
            parts.append((radial(self.scale / width), scaled))
        if codes:
            parts.append((FromDistance(MatchDistance(), self.scale / width), codes))
        return TableKernel(parts, "product")


def candidates(features: list[Feature]) -> list[Candidate]:
    """All candidates for a table, the most promising first."""
    columns = sum(f.kind != "scaled" for f in features)
    wide = columns > MOST_COLUMNS
    several = columns > 1
    order = [
        Candidate("interactions", learn=True) if several and not wide else None,
        Candidate("gaussian", 1.0),
        Candidate("interactions", 3.0, learn=True) if several and not wide else None,
        Candidate("laplacian", 1.0),
        Candidate("additive") if several and not wide else None,
        Candidate("gaussian", 0.3),
        Candidate("laplacian", 0.3),
        Candidate("gaussian", 3.0),
        Candidate("interactions") if not wide else None,
        Candidate("laplacian", 3.0),
        Candidate("gaussian", 10.0),
        Candidate("gaussian", 0.1),
    ]
    return [candidate for candidate in order if candidate is not None]


@dataclass
class FittedKernelMachine:
    """f(x) = Σ_i k(x, x_i) a_i + b on encoded rows, with its leave-one-out outputs.

    Attributes
    ----------
    kernel : Kernel
        Bound.
    support : Table
        The rows x_i.
    coef : ndarray of shape (m, outputs)
    intercept : ndarray of shape (outputs,)
    penalty : float
        λ as chosen.
    left_out : ndarray of shape (n, outputs)
        For each training row, the output of the machine fitted without it.
    solver : str
    """

    kernel: Kernel
    support: Any
    coef: np.ndarray
    intercept: np.ndarray
    penalty: float
    left_out: np.ndarray = field(repr=False)
    solver: str = ""

    def outputs(self, M: np.ndarray, memory: Any = None, n_jobs: int | None = None) -> np.ndarray:
        """f for the rows of an encoded matrix, (n, outputs)."""
        X = self.kernel.encode(M, like=self.support)
        K = TiledGram(self.kernel, X, self.support, n_jobs)
        return (K @ self.coef).astype(np.float64) + self.intercept


def fit_candidate(
    candidate: Candidate,
    features: list[Feature],
    M: np.ndarray,
    Y: np.ndarray,
    *,
    rank: int = 2000,
    random_state: int = 0,
    memory: Any = None,
    n_jobs: int | None = None,
    deadline: float = np.inf,
    on_step: Callable | None = None,
) -> FittedKernelMachine:
    """Fit a candidate to an encoded matrix M (n, p) and targets Y (n, outputs)."""
    n = len(M)
    kernel = candidate.kernel(features)
    X = kernel.encode(M)
    kernel = kernel.bind(X)
    if candidate.learn:
        most = int(LEARNING_ROWS * min(1.0, np.sqrt(20 / len(kernel.parts))))
        sample = np.random.default_rng(random_state).permutation(n)[:most]
        kernel = learn_interactions(
            kernel, X[np.sort(sample)], Y[np.sort(sample)],
            n_jobs=n_jobs, deadline=deadline, on_step=on_step,
        ).kernel  # fmt: skip
    intercept = Y.mean(axis=0)
    Z = Y - intercept
    if n <= EXACT_ROWS:
        with blas_limit(n):
            system: Any = RidgePath(Gram(kernel, X, memory=memory, n_jobs=n_jobs))
        support, solver = X, "eigenpairs"
    else:
        K = pivoted_cholesky(
            TiledGram(kernel, X, n_jobs=n_jobs), min(rank, n), random_state=random_state,
            n_jobs=n_jobs,
        )  # fmt: skip
        system, support, solver = LowRankRidge(K), X[K.centres], f"low rank, {K.rank} centres"
    penalties = PENALTIES * n
    left_out = system.leave_one_out(Z, penalties)
    errors = np.mean((left_out - Z) ** 2, axis=(1, 2))
    best = int(np.nanargmin(errors))
    coef = system.solve(Z, penalties[best]).coef
    return FittedKernelMachine(
        kernel, support, coef, intercept, float(penalties[best]), left_out[best] + intercept, solver
    )
