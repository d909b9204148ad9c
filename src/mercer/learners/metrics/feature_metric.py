r"""Learn a linear map of the columns from the gradients of a fit: recursive feature machines.

Kernel ridge regression is fitted, and the mean outer product of the gradients of its outputs says
along which directions they change. Its square root W is the map of the next fit, whose kernel is
:math:`\exp(-(\|W (x - z)\|_p / L)^q)`, and so on for a few steps. The bandwidth L and the penalty
of each fit have the least leave-one-out error; but the step that is kept is judged on rows that no
fit has seen, since a full metric can explain its own rows by directions that mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mercer.distances import MappedMinkowski
from mercer.kernels import ExponentialPower
from mercer.solvers.ridge import left_out_fit
from mercer.threads import Stop, blas_limit, ordered_map, stopping

BANDWIDTHS = (0.5, 1.0, 2.0)  # L, in medians of the distances
PENALTIES = 10.0 ** np.arange(-6.0, 1.0)  # λ, in units of n times the mean of 1 - K
SMALLEST_PENALTY = 1e-6  # relative to the rows; below, factorisations in float32 fail
MOVES = ((0, -1), (0, 1), (1, 0), (-1, 0))  # in the grid of both
FINER, FINER_STEPS = 10**0.5, 6  # factors of λ that are tried at the end, up and down
GAIN = 0.98  # a step that leaves more than this share of the error is the last one
FARTHEST = 1e9  # deviations from the mean
SMALLEST_DEVIATION = 1e-150  # standard deviation of a column, below which it counts as constant
FULL_GAIN = (
    0.75  # a full metric is kept if its error is less than that of a diagonal one times this
)
FULL_COLUMNS = 400  # with more columns, a full metric is only tried if metric="full" is given


class KernelForm(NamedTuple):
    """What kernel is learnt.

    Attributes
    ----------
    norm : {1, 2}
        p.
    power : float in (0, norm]
        q; above the norm the kernel would not be positive semidefinite.
    full : bool
        Whether W is a matrix; else a factor for each column. Needs the norm 2.
    """

    norm: int = 2
    power: float = 1.0
    full: bool = False


#: What suits thresholds, columns of different weight, and smooth functions of few directions
FORMS = (KernelForm(1, 1.0), KernelForm(2, 1.0), KernelForm(2, 1.4, full=True))


@dataclass(frozen=True)
class FeatureMetric:
    """The result of `learn_metric`.

    Attributes
    ----------
    kernel : ExponentialPower
        The kernel whose metric is the learnt map, for the columns of X as they were given.
    penalty : float
        λ. Fits to more rows need the same one, as the noise of a Gaussian process is the same.
    error : float
        Mean squared error on the rows held back, in units of the targets' variance.
    errors : list of float
        The same after 0, 1, 2 ... steps.
    step : int
        How many steps the kernel has learnt in.
    outer_product : ndarray of shape (d,) or (d, d)
        WᵀW, or its diagonal, in units of the columns' standard deviations and with trace 1.
    bandwidth : float
        L, in medians of the distances.
    form : KernelForm
    """

    kernel: ExponentialPower
    penalty: float
    error: float
    errors: list[float] = field(repr=False)
    step: int
    outer_product: np.ndarray = field(repr=False)
    bandwidth: float
    form: KernelForm


def choose_metric(
    X: np.ndarray,
    Y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    forms: Sequence[KernelForm] = FORMS,
    n_jobs: int | None = None,
    on_step: Callable[[int, float], bool | None] | None = None,
    **settings: Any,
) -> FeatureMetric:
    """The best of several forms by their errors on the same rows held back.

    Each form is learnt on a thread of its own. A full metric has to win by a quarter, since the
    error that it promises is less certain. Arguments as in `learn_metric`; if ``on_step``, which
    several threads may call, stops the learning, forms that were not begun are left out.
    """
    asked = Stop()

    def step(number: int, error: float) -> bool:
        if on_step is not None and on_step(number, error):
            asked.set()
        return asked.is_set()

    def learn(form: KernelForm) -> FeatureMetric | None:
        if form is not forms[0] and (asked.is_set() or stopping()):
            return None
        return learn_metric(X, Y, weights, form=form, on_step=step, **settings)

    found = [one for one in ordered_map(learn, forms, n_jobs) if one is not None]
    return min(found, key=lambda one: one.error / (FULL_GAIN if one.form.full else 1.0))


def learn_metric(
    X: np.ndarray,
    Y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    form: KernelForm = FORMS[1],
    bandwidth: float | str = "auto",
    penalty: float | str = "auto",
    steps: int = 4,
    chosen: bool = True,
    held: int | None = None,
    on_step: Callable[[int, float], bool | None] | None = None,
) -> FeatureMetric:
    r"""Learn the metric of an exponential power kernel from about a thousand rows.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Finite numbers, in any units, in random order.
    Y : ndarray of shape (n, outputs)
        Targets: numbers, or indicators of classes. They are centred, and share one scale.
    weights : ndarray of shape (n,), optional
        Weights of the rows, > 0.
    form : KernelForm
        The norm p, the power q, and whether the map is diagonal or full.
    bandwidth : float > 0 or "auto"
        L in units of the median distance under the metric of each step; "auto" chooses 1/2, 1 or 2.
    penalty : float > 0 or "auto"
        λ; "auto" chooses it with the bandwidth by the leave-one-out error, and at last once more
        by the error on the rows held back.
    steps : int >= 0
        Most steps; learning ends with the first one that lowers the error by less than a fiftieth.
    chosen : bool, default=True
        Whether the step with the least error is chosen; else all steps are taken.
    held : int, optional
        How many rows, the last ones, judge the steps; None means a fifth of the rows. With 0 the
        leave-one-out error judges, which promises too much for a full metric.
    on_step : callable, optional
        Called with (step, error) after each fit; if it returns True, the learning ends.

    Returns
    -------
    FeatureMetric

    Notes
    -----
    With f = Σ_j a_j k(x, x_j) the gradients are :math:`\sum_j a_j \phi'(\rho_j) \nabla \rho_j`,
    products of matrices for all outputs at once. All of it is computed in float32: a metric is
    a choice, like a bandwidth. A step solves about 5 to 12 systems of the learning rows m, O(m³)
    each, and O(m² d outputs) for the gradients: 0.2 to 0.5 s for 1,200 rows on one core. BLAS has
    one thread: the factorisations are so small that two threads gain a third when nothing else
    runs, and were 50 times slower when other processes were running. Memory: about 6 m² floats.

    References
    ----------
    Radhakrishnan et al., "Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models", Science 383, 2024. Beaglehole et al., "xRFM",
    2025, for p = 1. Differences: Cholesky's method, bandwidth and penalty by leave-one-out.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(size=(200, 3))
    >>> found = learn_metric(X, np.sin(6 * X[:, 1:2]))
    >>> int(found.outer_product.argmax()), found.kernel.metric.linear_map.shape
    (1, (3,))
    """
    n, d = X.shape
    held = n // 5 if held is None else held
    w = np.ones(n) if weights is None else np.asarray(weights, np.float64)
    origin, scale = _location_and_scale(X, w)
    # a row of almost no weight may be so far away that its square overflows in float32
    U = np.clip((X - origin) * scale, -FARTHEST, FARTHEST).astype(np.float32)
    problem = _Problem(U, _unit_targets(Y, w, n - held), w, n - held, form)
    bandwidths = BANDWIDTHS if bandwidth == "auto" else (float(bandwidth),)
    penalties = PENALTIES if penalty == "auto" else None
    G = np.eye(d) / d if form.full else np.full(d, 1 / d)
    start, best, errors = (len(bandwidths) // 2, len(PENALTIES) // 2), None, []
    for step in range(steps + 1):
        W = _root(G)
        with blas_limit(0):  # one thread: see the notes
            fit = problem.fit(W, bandwidths, penalties, penalty, start)
            errors.append(fit.error)
            enough = chosen and best is not None and fit.error > GAIN * best[0].error
            if best is None or not chosen or fit.error < best[0].error:
                best = (fit, W, G, step)
            told = on_step is not None and on_step(step, fit.error)
            if told or stopping() or step == steps or enough:
                break
            G, start = problem.outer_product(fit), fit.at
        total = G.sum() if G.ndim == 1 else G.trace()
        if not 0 < total < np.inf:  # a constant fit has no gradients
            break
        G = G / total
    assert best is not None
    fit, W, G, step = best
    if penalties is not None and held:
        with blas_limit(0):
            fit = problem.refined(fit)
    kernel = ExponentialPower(1.0, form.power, MappedMinkowski(W * scale / fit.length, form.norm))
    return FeatureMetric(kernel, fit.penalty, fit.error, errors, step, G, fit.bandwidth, form)


class _Fit(NamedTuple):
    """A machine of the learning rows: where in the grid it stands, and what it is."""

    at: tuple[int, int]
    distance: MappedMinkowski
    D: np.ndarray
    bandwidth: float  # in medians of the distances
    length: float  # the same in units of the distance
    penalty: float
    coef: np.ndarray
    error: float


class _Problem:
    """The rows in units of their standard deviations: the first ``m`` learn, the others judge."""

    def __init__(self, U, Y, w, m: int, form: KernelForm):
        self.U, self.others = U[:m], U[m:]
        self.Y, self.answers = Y[:m], Y[m:]
        self.w, self.others_w = w[:m], w[m:]
        self.form = form

    def fit(self, W, bandwidths, penalties, penalty, start: tuple[int, int]) -> _Fit:
        """The fit of the least leave-one-out error, judged on the other rows."""
        distance = MappedMinkowski(W, self.form.norm)
        D = self._distances(distance, self.U)
        median = _median(D) ** (1 / distance.exponent)
        total = self.w.sum()
        solved: dict[tuple[int, int], tuple] = {}

        def error(at: tuple[int, int]) -> float:
            length = bandwidths[at[0]] * median
            K = self._kernel(distance, length).profile(D.copy())
            λ = penalty
            if penalties is not None:
                spread = 1 - float(K.mean(dtype=np.float64))
                λ = total * max(penalties[at[1]] * spread, SMALLEST_PENALTY)
            try:
                coef, errors = left_out_fit(K, self.Y, λ, self.w)
            except np.linalg.LinAlgError:
                return np.inf
            solved[at] = length, λ, coef
            return _mean_square(errors, self.w)

        shape = len(bandwidths), 1 if penalties is None else len(penalties)
        first = min(start[0], shape[0] - 1), min(start[1], shape[1] - 1)
        at, least = _descend(error, first, shape)
        if at not in solved:
            raise np.linalg.LinAlgError("no penalty makes K + λ W⁻¹ positive definite")
        length, λ, coef = solved[at]
        if len(self.others):
            K = self._kernel(distance, length).profile(self._distances(distance, self.others))
            least = _mean_square(self.answers - K @ coef, self.others_w)
        return _Fit(at, distance, D, bandwidths[at[0]], length, λ, coef, least)

    def refined(self, fit: _Fit) -> _Fit:
        """The same machine with the penalty of the least error on the other rows.

        A full metric has learnt its own rows too well for their leave-one-out error to choose λ.
        """
        kernel = self._kernel(fit.distance, fit.length)
        K = kernel.profile(fit.D.copy())
        cross = kernel.profile(self._distances(fit.distance, self.others))
        for factor in (FINER, 1 / FINER):
            for _ in range(FINER_STEPS):
                λ = max(factor * fit.penalty, SMALLEST_PENALTY * self.w.sum())
                try:
                    coef, _ = left_out_fit(K, self.Y, λ, self.w)
                except np.linalg.LinAlgError:
                    break
                error = _mean_square(self.answers - cross @ coef, self.others_w)
                if not error < fit.error:
                    break
                fit = fit._replace(penalty=λ, coef=coef, error=error)
        return fit

    def outer_product(self, fit: _Fit) -> np.ndarray:
        """The weighted mean of the outer products of gradients, (d, d), or its diagonal, (d,)."""
        kernel, D = self._kernel(fit.distance, fit.length), fit.D
        # gradients exist between different points only, and rounding makes some equal ones differ
        apart = 1e-6 * D.max() < D
        slopes = kernel.profile_derivative(np.where(apart, D, 1)).astype(D.dtype, copy=False)
        slopes *= apart
        d = self.U.shape[1]
        G = np.zeros((d, d) if self.form.full else d)
        share = (self.w / self.w.sum()).astype(D.dtype)
        for outputs in self._strips(fit.coef.shape[1]):
            F = fit.distance.gradients(self.U, self.U, slopes, fit.coef[:, outputs])
            if self.form.full:
                F *= np.sqrt(share)[:, None]
                F = F.reshape(-1, d)
                G += F.T @ F
            else:
                G += np.einsum("cij,cij,i->j", F, F, share)
        return G

    def _strips(self, outputs: int) -> Iterator[slice]:
        """Parts of the outputs whose gradients take no more memory than K."""
        most = max(1, self.U.shape[0] // self.U.shape[1])
        return (slice(s, s + most) for s in range(0, outputs, most))

    def _kernel(self, distance: MappedMinkowski, length: float) -> ExponentialPower:
        return ExponentialPower(length**self.form.power, self.form.power, distance)

    def _distances(self, distance: MappedMinkowski, rows: np.ndarray) -> np.ndarray:
        return distance.whole(rows, self.U, 1, distance.raw)


def _descend(
    error: Callable[[tuple[int, int]], float], start: tuple[int, int], shape: tuple[int, int]
) -> tuple[tuple[int, int], float]:
    """A cell of a grid without a better neighbour, reached from ``start``, and its error."""
    errors: dict[tuple[int, int], float] = {}

    def value(at: tuple[int, int]) -> float:
        if at not in errors:
            errors[at] = error(at)
        return errors[at]

    at, moved = start, True
    while moved:
        moved = False
        for move in MOVES:
            there = at[0] + move[0], at[1] + move[1]
            inside = all(0 <= i < size for i, size in zip(there, shape))
            # where K + λ W⁻¹ was not positive definite, only a larger penalty can be
            if inside and (value(there) < value(at) or (np.isinf(value(at)) and move[1] > 0)):
                at, moved = there, True
                break
    return at, value(at)


def _location_and_scale(X: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean of each column, and 1 / its standard deviation.

    It is 0 for columns that are constant, or so small that their squares are 0.
    """
    largest = np.abs(X).max(axis=0).astype(np.float64)
    unit = np.where(largest > 0, largest, 1)  # squares of what remains do not overflow
    share = w / w.sum()
    mean = share @ (X / unit)
    deviation = np.sqrt(share @ np.square(X / unit - mean))
    varies = (deviation > 1e-12) & (deviation * unit > SMALLEST_DEVIATION)
    return mean * unit, np.where(varies, 1 / np.where(varies, deviation * unit, 1), 0)


def _unit_targets(Y: np.ndarray, w: np.ndarray, m: int) -> np.ndarray:
    """Y minus its mean, in units of its deviation, both of the first m rows; float32."""
    Y = np.asarray(Y, np.float64).reshape(len(Y), -1)
    Y = Y - np.average(Y[:m], axis=0, weights=w[:m])
    size = np.abs(Y[:m]).max(initial=0.0)
    Y = Y / (size or 1.0)
    return (Y / (np.sqrt(_mean_square(Y[:m], w[:m])) or 1.0)).astype(np.float32)


def _mean_square(errors: np.ndarray, w: np.ndarray) -> float:
    squares = np.square(errors, dtype=np.float64).mean(axis=1)
    return float(np.average(squares, weights=w))


def _median(D: np.ndarray) -> float:
    """The median of at most 250,000 pairs of different points; 1 if there are none."""
    step = len(D) // 500 + 1
    some = D[::step, ::step]
    some = some[some > 0]
    return float(np.median(some)) if some.size else 1.0


def _root(G: np.ndarray) -> np.ndarray:
    """W with WᵀW = G / its largest entry: (d,), or (r, d) without directions that do not count."""
    if G.ndim == 1:
        return np.sqrt(G / G.max())
    values, vectors = np.linalg.eigh(G)
    kept = values > 1e-10 * values[-1]
    return np.sqrt(values[kept] / values[-1])[:, None] * vectors[:, kept].T
