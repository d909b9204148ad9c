"""Kernels whose weights are learnt: from how many rows, and by which method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg.lapack as lapack

from mercer import _native
from mercer.gram import Place, gram
from mercer.kernels import On, TableKernel
from mercer.learners.metrics import KernelForm, learn_metric
from mercer.machines.settings import SearchSettings
from mercer.samples import Table
from mercer.solvers import AlignmentWeights
from mercer.solvers.weights import equal_if_none
from mercer.tables import read_as
from mercer.threads import blas_limit, count_jobs, ordered_map

RATE = 0.4  # learning rate of the first step; it falls to a tenth along a half cosine
SMALLEST_PENALTY = 1e-6  # relative to the number of rows; below, float32 factorisations fail


@dataclass(frozen=True)
class InteractionWeights:
    """The result of `learn_interactions`."""

    kernel: TableKernel  # the kernel with the learnt weights
    penalty: float  # λ / n
    error: float  # mean squared leave-one-out error, in units of the targets' variance
    errors: list[float] = field(repr=False)  # the error after each step


def learn_interactions(
    kernel: TableKernel,
    X: Any,
    Y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    steps: int = 25,
    n_jobs: int | None = None,
    on_step: Callable[[int, float], bool | None] | None = None,
) -> InteractionWeights:
    r"""Learn the weights of ``TableKernel(combine="interactions")`` from a few thousand rows.

    The kernel is bound, with parts. Learning starts from its weights, or from 1.4 / number of parts
    if they are None, and takes at most ``steps`` of Adam (Kingma & Ba 2015) on the logarithms of
    the weights and the penalty. Use at most about 3,000 rows: a step costs O(n³). The targets
    (n, c), one column or one for each class, are centred and scaled here. ``on_step`` is called
    with (step, error) after each step; if it returns True, the learning ends.

    With G = K + λ W⁻¹, C = G⁻¹ and α = C y the leave-one-out residuals are e_i = α_i / C_ii
    (Rasmussen & Williams 2006, eq. 5.12). For v_i = w_i e_i / C_ii,

    .. math:: \mathrm{d} \sum_i w_i e_i^2
        = 2 \langle C \,\mathrm{diag}(v \circ e)\, C - (C v) \alpha^\top, \mathrm{d} G \rangle,

    one n x n matrix for all weights, against which each column's
    :math:`\partial K / \partial \log w_j = K \circ (w_j k_j / (1 + w_j k_j) - w_j / (1 + w_j))`
    is an inner product.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> rng = np.random.default_rng(0)
    >>> table = rng.uniform(size=(200, 2))
    >>> kernel = TableKernel([(Laplacian(), [0]), (Laplacian(), [1])], combine="interactions")
    >>> X = kernel.encode(table)
    >>> found = learn_interactions(kernel, X, np.sin(6 * table[:, :1]))
    >>> w = found.kernel.weights
    >>> bool(w[0] > 10 * w[1])
    True
    """
    n = X.shape[0]
    y = np.asarray(Y, X.dtype).reshape(n, -1)
    share = np.ones(n) if weights is None else weights / weights.mean()
    share = share.astype(X.dtype)[:, None]
    y = y - (share * y).mean(axis=0)
    scale = np.sqrt(np.mean(share * y**2)) or 1.0
    y /= scale
    parts = kernel.parts
    start = 1.4 / len(parts) if kernel.weights is None else np.asarray(kernel.weights, float)
    theta = np.append(np.log(np.full(len(parts), start)), np.log(1e-3 * n))
    momentum, spread = np.zeros_like(theta), np.zeros_like(theta)
    # values of kernels on texts and other objects are expensive, so they are computed once
    held = {j: On(*part).block(X, X) for j, part in enumerate(parts) if part[0].reads.column}

    def block(j: int) -> np.ndarray:
        return held[j].copy() if j in held else On(*parts[j]).block(X, X)

    best, errors = (np.inf, theta), []
    for step in range(steps):
        try:
            with blas_limit(n):
                error, slope = _error_and_slope(block, y, share, theta, n_jobs)
        except np.linalg.LinAlgError:  # not positive definite in this precision: λ is too small
            break
        errors.append(error)
        if error < best[0]:
            best = (error, theta.copy())
        if on_step is not None and on_step(step, error):
            break
        momentum = 0.9 * momentum + 0.1 * slope
        spread = 0.99 * spread + 0.01 * slope**2
        direction = momentum / (1 - 0.9 ** (step + 1))
        direction /= np.sqrt(spread / (1 - 0.99 ** (step + 1))) + 1e-12
        fall = 0.55 + 0.45 * np.cos(np.pi * step / steps)
        theta = theta - RATE * fall * direction
        theta[:-1] = np.clip(theta[:-1], np.log(1e-6), np.log(1e4))
        theta[-1] = np.clip(theta[-1], np.log(SMALLEST_PENALTY * n), np.log(10 * n))
    error, theta = best
    weights = np.exp(theta[:-1])
    learnt = TableKernel(parts, "interactions", weights.tolist())
    return InteractionWeights(learnt, float(np.exp(theta[-1]) / n), float(error), errors)


def _error_and_slope(
    block: Callable[[int], np.ndarray],
    y: np.ndarray,
    share: np.ndarray,
    theta: np.ndarray,
    n_jobs: int | None,
) -> tuple[float, np.ndarray]:
    """Mean squared leave-one-out error, and its derivatives by log w_j and log λ.

    ``block(j)`` gives a new matrix with the values of part j; ``share`` has the weights of the
    rows, (n, 1), with mean 1.
    """
    n, dtype = len(y), y.dtype
    w, penalty = np.exp(theta[:-1]).astype(dtype), dtype.type(np.exp(theta[-1]))
    K = np.ones((n, n), dtype)
    for j, weight in enumerate(w):
        _native.interact(K, block(j), float(weight / (1 + weight)))
    C = _inverse(K, penalty / share[:, 0])
    alpha = C @ y
    diagonal = C.diagonal()[:, None]
    e = alpha / diagonal
    v = share * e / diagonal
    M = (C * np.sum(v * e, axis=1)) @ C
    M -= (C @ v) @ alpha.T
    slope = np.empty_like(theta)
    slope[-1] = np.sum(penalty / share[:, 0] * M.diagonal())
    M *= K
    total = float(M.sum(dtype=np.float64))

    def slope_of(j: int) -> float:
        k = block(j)
        k *= w[j]
        k /= 1 + k  # w k / (1 + w k)
        return float(np.vdot(M, k)) - total * w[j] / (1 + w[j])

    jobs = 1 if n < 1000 else n_jobs  # for a small matrix, threads take too long to start
    for j, value in enumerate(ordered_map(slope_of, range(len(w)), jobs)):
        slope[j] = value
    return float(np.mean(share * e.astype(np.float64) ** 2)), slope * 2 / y.size


def _inverse(K: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """(K + diag λ)⁻¹ by Cholesky, as a full symmetric matrix in K's precision."""
    potrf, potri = lapack.get_lapack_funcs(("potrf", "potri"), (K,))
    G = K.T.copy(order="F")
    G.flat[:: len(G) + 1] += penalty
    L, failed = potrf(G, lower=True, overwrite_a=True)
    if failed:
        raise np.linalg.LinAlgError("K + λ W⁻¹ is not positive definite in this precision")
    C, _ = potri(L, lower=True, overwrite_c=True)
    C = np.tril(C)
    C += np.tril(C, -1).T
    return C


STEP, HIGHEST = 0.45, 5.5  # of frequencies: their error is below 1e-6 for values within FARTHEST
FARTHEST = 4.0  # standard deviations at which values are cut
BLOCK = 4_000_000  # numbers of the largest matrix of features


def dependence(columns: np.ndarray, Y: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    r"""HSIC of each column with the targets, :math:`\|\sum_i w_i \phi(x_i) \psi(y_i)^T\|_F^2`.

    φ are features of the Gaussian kernel exp(-(x - x')² / 2) of a standardised column, less their
    means; ψ those of a target of one column, or the centred targets themselves where there are
    several. The weights have sum 1. The criterion is 0 for a constant, and tends to 0 for an
    independent column. Columns are (n, d), targets (n, outputs).

    The 26 features of a column are those of the integral of cos(ω (x - x')) over the density of ω,
    by the trapezoidal rule. The cost is O(n d 26²) for one target, without n × n matrices.

    References
    ----------
    Gretton et al., "Measuring statistical dependence with Hilbert-Schmidt norms", ALT 2005.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 100)
    >>> other = np.tile([-1.0, 1.0], 50)
    >>> related, unrelated = dependence(np.stack([x, other], axis=1), x[:, None] ** 2)
    >>> bool(related > 100 * unrelated)
    True
    """
    n, d = columns.shape
    w = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    targets = _features(Y, w)[:, 0] if Y.shape[1] == 1 else Y
    targets = (targets - w @ targets) * w[:, None]
    found = np.empty(d)
    step = max(1, BLOCK // (n * 26))
    for start in range(0, d, step):
        phi = _features(columns[:, start : start + step], w)
        products = np.tensordot(phi, targets, axes=(0, 0))
        found[start : start + step] = np.square(products).sum(axis=(1, 2))
    return found


def foremost(
    M: Any, columns: list[int], Y: np.ndarray, weights: np.ndarray | None, count: int
) -> list[int]:
    """Those of the given columns with the largest `dependence` on Y, in ascending order."""
    values = dependence(M.numbers[:, columns], Y, weights)
    return sorted(np.asarray(columns)[np.argsort(-values, kind="stable")[:count]].tolist())


def _features(columns: np.ndarray, w: np.ndarray) -> np.ndarray:
    """φ of each value of each column after it is standardised, (n, columns, features)."""
    columns = columns - w @ columns
    spread = np.sqrt(w @ columns**2)
    columns = np.divide(columns, spread, out=np.zeros_like(columns), where=spread > 0)
    frequencies = np.arange(0, HIGHEST, STEP, dtype=np.float32)
    waves = np.empty((*columns.shape, len(frequencies)), np.complex64)
    waves[..., 0] = 1
    once = np.exp(np.complex64(1j * STEP) * np.clip(columns, -FARTHEST, FARTHEST))
    for k in range(1, len(frequencies)):  # exp(i (k + 1) ω x) = exp(i k ω x) exp(i ω x)
        np.multiply(waves[..., k - 1], once, out=waves[..., k])
    density = STEP * np.exp(-(frequencies**2) / 2) * np.float32(np.sqrt(2 / np.pi))
    density[0] /= 2
    return np.concatenate([waves.real, waves.imag], axis=2) * np.sqrt(np.tile(density, 2))


def learn_sum(
    kernel: TableKernel,
    X: Table,
    Y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    memory: int | None = None,
    n_jobs: int | None = None,
) -> TableKernel:
    r"""The sum :math:`\sum_j \mu_j k_j` with the largest alignment with the targets, μ >= 0.

    The kernel is bound, with ``combine="sum"`` and parts with k(x, x) = 1. The result has the parts
    with a weight that is not 0, and these have the sum 1; all parts have the same weight if none
    tells anything of the targets. As `mercer.MultipleKernelRegressor` with ``method="alignf"``;
    O(n² T²) for T parts, of which no matrix is kept.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> table = np.random.default_rng(0).uniform(size=(200, 2))
    >>> kernel = TableKernel([(Laplacian(), [0]), (Laplacian(), [1])], "sum")
    >>> X = kernel.encode(table)
    >>> learn_sum(kernel, X, np.sin(6 * table[:, :1])).parts
    [(Laplacian(), [0])]
    """
    parts = kernel.parts
    grams = [gram(On(*part), X, place=Place(1, n_jobs)) for part in parts]
    solver = AlignmentWeights(memory=memory, n_jobs=n_jobs)
    mu, _ = equal_if_none(solver.solve(grams, Y, weights).coef)
    used = np.flatnonzero(mu)
    return TableKernel([parts[j] for j in used], "sum", mu[used].tolist())


LEARNING_ROWS = 1200  # for tables of up to 20 columns
FEWEST_LEARNING_ROWS = 300
LEARNING_STEPS = 25  # of the weights of interactions
METRIC_STEPS = 3  # two are enough as a rule

#: the norm and the power of the kernels with a learnt metric
FORMS = {
    "absolute": KernelForm(1, 1.0),
    "diagonal": KernelForm(2, 1.0),
    "full": KernelForm(2, 1.4, full=True),
}


def learning_rows(memory: int) -> int:
    """Rows from which weights are learnt: twelve matrices fit, if they are not few.

    Their number does not depend on the threads, so that results do not either.
    """
    return int(np.clip(np.sqrt(memory / 8 / 12), FEWEST_LEARNING_ROWS, LEARNING_ROWS))


def least_memory(rows: int) -> int:
    """Bytes that a search needs: one matrix of the rows from which weights are learnt."""
    return 8 * min(rows, FEWEST_LEARNING_ROWS) ** 2


def learning_jobs(memory: int, rows: int, n_jobs: int | None) -> int:
    """Threads that learn the weights: beside six matrices of the rows, each holds three."""
    fitting = (memory // (8 * rows**2) - 6) // 3
    return int(np.clip(fitting, 1, count_jobs(n_jobs)))


class LearntKernel(NamedTuple):
    """A kernel that was learnt (None before), the steps that were taken, and those it has kept."""

    kernel: Any
    taken: int
    kept: int


@dataclass(frozen=True)
class Learning:
    """How the kernels of a family are learnt: here the weights of interactions."""

    few: bool = False  # whether few rows tell them as a rule
    maps: bool = False  # whether a metric is learnt, of which other rows choose the step
    quick: bool = False  # whether it takes no time worth saving

    def learn(
        self,
        candidate: Any,
        given: SearchSettings,
        rows: np.ndarray,
        steps: int | None,
        on_step: Any,
    ) -> LearntKernel:
        """The kernel of a `Candidate`, learnt from some rows, which are in random order.

        ``steps`` are those of a metric, all of which are taken; None chooses their number.
        ``on_step`` is called with (step, error) after each step; if it returns True, the learning
        ends.
        """
        kernel, X = candidate.bound(given.features, given.M[rows])
        jobs = learning_jobs(given.memory, len(rows), given.n_jobs)
        learnt = learn_interactions(
            kernel, X, given.Y[rows], given.weights_of(rows), steps=LEARNING_STEPS, n_jobs=jobs,
            on_step=on_step,
        )  # fmt: skip
        return LearntKernel(_brief_weights(learnt.kernel), len(learnt.errors), len(learnt.errors))

    def seconds(self, finals: Any, candidate: Any, rows: int, count: int) -> float:
        """Predicted seconds of it, from ``count`` of some rows."""
        return finals.costs.interactions(count, finals.entry(candidate), LEARNING_STEPS)

    def shares(self, kernel: TableKernel) -> list[tuple[int, float]]:
        """Columns and what each weighs; those that one kernel reads together share its weight."""
        parts = zip(kernel.parts, kernel.weights)
        return [(j, float(w) / len(columns)) for (_, columns), w in parts for j in columns]


class _Sums(Learning):
    """The weights of a sum."""

    def learn(self, candidate, given, rows, steps, on_step) -> LearntKernel:
        kernel, X = candidate.bound(given.features, given.M[rows])
        found = learn_sum(
            kernel, X, given.Y[rows], given.weights_of(rows), memory=given.memory,
            n_jobs=given.n_jobs,
        )  # fmt: skip
        return LearntKernel(_brief_sum(found), 1, 1)

    def seconds(self, finals, candidate, rows, count) -> float:
        parts = len(candidate.kernel(finals.settings.features).parts)
        return finals.costs.alignment(count, finals.entry(candidate), parts)


class _Metrics(Learning):
    """A metric of the numbers; a column weighs its part of the sum of the map's squares."""

    def learn(self, candidate, given, rows, steps, on_step) -> LearntKernel:
        features, M, n = given.features, given.M[rows], len(rows)
        found = learn_metric(
            M.select(candidate.numbers(features)), given.Y[rows], given.weights_of(rows),
            form=FORMS[candidate.form], steps=METRIC_STEPS if steps is None else steps,
            chosen=steps is None, held=n // (2 if n > LEARNING_ROWS else 5), on_step=on_step,
        )  # fmt: skip
        kernel = candidate.kernel(features, _brief_map(found.kernel))
        return LearntKernel(kernel.bind(kernel.encode(M)), len(found.errors), found.step)

    def seconds(self, finals, candidate, rows, count) -> float:
        return finals.costs.metric(count, len(candidate.numbers(finals.settings.features)))

    def shares(self, kernel: TableKernel) -> list[tuple[int, float]]:
        (metric, columns), *_ = kernel.parts
        squares = np.square(metric.metric.linear_map)
        squares = squares if squares.ndim == 1 else squares.sum(axis=0)
        return list(zip(columns, (squares / (squares.sum() or 1.0)).tolist()))


class _Columns(Learning):
    """Which columns count; those that do weigh alike."""

    def learn(self, candidate, given, rows, steps, on_step) -> LearntKernel:
        M = given.M[rows]
        columns = read_as(candidate.read(given.features), "scaled", "code")
        kept = foremost(M, columns, given.Y[rows], given.weights_of(rows), candidate.kept)
        kernel = candidate.kernel(given.features, only=kept)
        return LearntKernel(kernel.bind(kernel.encode(M)), 1, 1)

    def seconds(self, finals, candidate, rows, count) -> float:
        return finals.costs.screening(rows, len(finals.settings.features))

    def shares(self, kernel: TableKernel) -> list[tuple[int, float]]:
        columns = [j for _, some in kernel.parts for j in some]
        return [(j, 1 / len(columns)) for j in columns]


WEIGHTS, FEW_WEIGHTS, SUMS = Learning(), Learning(few=True), _Sums()
METRICS, COLUMNS_CHOSEN = _Metrics(maps=True), _Columns(quick=True)


def _brief_weights(kernel: TableKernel) -> TableKernel:
    """The kernel with weights of four digits, so that reports and code show what it computes."""
    return TableKernel(kernel.parts, kernel.combine, [float(f"{w:.4g}") for w in kernel.weights])


def _brief_sum(kernel: TableKernel) -> TableKernel:
    """The kernel with weights of four decimals whose sum is 1, without those that are 0."""
    weights = [round(w, 4) for w in kernel.weights]
    first = int(np.argmax(weights))
    weights[first] = round(weights[first] + 1 - sum(weights), 4)
    kept = [j for j, w in enumerate(weights) if w > 0]
    return TableKernel([kernel.parts[j] for j in kept], "sum", [weights[j] for j in kept])


def _brief_map(kernel: Any) -> Any:
    """The kernel with a learnt map of four digits each."""
    A = kernel.metric.linear_map
    brief = np.reshape([float(f"{a:.4g}") for a in A.ravel().tolist()], A.shape)
    return kernel.copied(metric__linear_map=brief)
