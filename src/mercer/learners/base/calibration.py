"""Class probabilities from the scores of a machine, which has one score for each class.

`calibrate` fits one of three maps to scores of rows that the machine was not trained on:
temperature (one slope), sigmoid (two slopes, or a slope and class biases) and isotonic (any
increasing curve). A fitted map is a small frozen object of plain arrays, so that learners and
model files can keep it. For two classes every map gives 1/2 where the two scores are equal, so
that the more probable class is the predicted class.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit, log_softmax
from scipy.stats import t as student

from mercer.persistence import fields, floats

Method: TypeAlias = Literal["sigmoid", "isotonic", "temperature"]

LOGIT = 700.0  # exp(-700) is about 1e-304: no probability is 0, so no log-loss is infinite
LARGEST = 1e300  # differences and sums of scores do not overflow
BELOW_HALF = 0.5 - np.finfo(np.float64).eps / 2  # 1 minus this is the first number above 1/2
LEANING = 20.0  # on each side of 0, the common slope counts as much as this many rows
ROWS_PER_BIAS = 10
MOST_SCORES = 1_000_000  # most scores for a fit: with a thousand classes, those of a thousand rows
MANY_SCORES = 300_000  # with more, the last digits of slope and biases are not worth the time
FLATTEST = 1e-3  # smallest slope, for scores of average size 1: keeps the order of the scores


@dataclass(frozen=True, eq=False)
class SoftmaxCalibration:
    r"""P(class c | s) = exp(slope · s_c + bias_c) / Σ_j exp(slope · s_j + bias_j).

    Without biases the class with the largest score has the largest probability; with biases this
    can differ.

    Parameters
    ----------
    slope : float > 0
    bias : ndarray of shape (classes,)

    References
    ----------
    Guo et al., "On calibration of modern neural networks", ICML 2017, section 4.2.
    """

    slope: float
    bias: np.ndarray

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities (n, classes), float64, of scores (n, classes)."""
        scores = _finite(scores)
        with np.errstate(over="ignore"):
            logits = self.slope * (scores - scores.max(axis=1, keepdims=True)) + self.bias
        P = np.exp(np.maximum(logits - logits.max(axis=1, keepdims=True), -LOGIT))
        return P / P.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class SidedCalibration:
    r"""Two classes: P(second | s) = σ(a d), d = s_2 - s_1, with one slope a on each side of d = 0.

    The map is continuous and increasing, and 1/2 only at d = 0. So the more probable class is
    always the class of the larger score.

    Parameters
    ----------
    slopes : ndarray of shape (2,), > 0
        The slope for d < 0 and the slope for d > 0.
    """

    slopes: np.ndarray

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities (n, 2), float64, of scores (n, 2)."""
        d = _difference(scores)
        with np.errstate(over="ignore"):
            logits = np.where(d > 0, self.slopes[1], self.slopes[0]) * np.abs(d)
        return _two_columns(expit(-np.minimum(logits, LOGIT)), d)


@dataclass(frozen=True, eq=False)
class IsotonicCalibration:
    """Increasing curves from a score to a probability: linear between knots, constant outside.

    Two classes have one curve, P(second | d) with d = s_2 - s_1. It is 1/2 at d = 0, so the more
    probable class is the class of the larger score. More classes have one curve each, for this
    class against the others. The values are divided by their sum, so the most probable class can
    differ from the class of the largest score.

    Parameters
    ----------
    curves : list of ndarray of shape (2, knots)
        The first row has increasing scores, the second row their probabilities in (0, 1).
    """

    curves: list[np.ndarray]

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities (n, classes), float64, of scores (n, classes)."""
        if len(self.curves) == 1:
            d = _difference(scores)
            p = _interpolate(d, self.curves[0])
            return _two_columns(np.where(d > 0, 1 - p, p), d)
        columns = zip(_finite(scores).T, self.curves)
        P = np.stack([_interpolate(s, curve) for s, curve in columns], axis=1)
        return P / P.sum(axis=1, keepdims=True)


Calibration: TypeAlias = SoftmaxCalibration | SidedCalibration | IsotonicCalibration


def calibrate(
    scores: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None = None,
    method: Method = "sigmoid",
) -> Calibration:
    r"""Fit a map from scores to probabilities, by maximum likelihood on out-of-sample scores.

    Every method maximises :math:`\sum_i w_i \sum_c t_{ic} \log P_{ic}` over its maps. The targets
    :math:`t_i` are the row's class, mixed with a weak prior. The prior keeps every map finite on
    separable data, and every probability inside (0, 1). It counts as

    - one more row with equal probabilities of the k classes, for a slope and biases;
    - 20 more rows on each side with the probabilities of the best common slope, for the two slopes
      of "sigmoid", so that a side with few rows has a slope near that of the other side;
    - k more rows with equal probabilities, for an isotonic curve or each side of it (Laplace's
      rule of succession).

    Parameters
    ----------
    scores : ndarray of shape (n, classes)
        Scores from machines that were not trained on the row; -f and f for two classes. Infinite
        scores count as the largest numbers.
    codes : ndarray of shape (n,), int
        The class of each row.
    weights : ndarray of shape (n,), optional
        Weights mean repetition: weight 2 counts the row twice, weight 0 leaves it out.
    method : {"sigmoid", "isotonic", "temperature"}, default="sigmoid"
        With d = s_2 - s_1, in increasing order of freedom:

        - "temperature": softmax(slope · s). The class with the largest score is the most probable.
        - "sigmoid": for two classes, one slope on each side of d = 0; for more, softmax(slope · s
          + biases), where another class than that of the largest score can be the most probable.
        - "isotonic": for two classes, any increasing curve that is 1/2 at d = 0; for more, one
          curve for each class against the others, normalised. Needs a few hundred rows.

        With two classes and every method, P(second) > 1/2 if and only if d > 0; at d = 0 both
        probabilities are 1/2.

    Returns
    -------
    SidedCalibration, SoftmaxCalibration or IsotonicCalibration
        A function of scores (m, classes).

    Raises
    ------
    ValueError
        The method is unknown, or a score is NaN.

    Notes
    -----
    If all scores within each row are equal, the slope is 1. Slopes are at least 0.001 divided by
    the average size of the scores, so that probabilities always have the order of the scores.

    About ten steps cost O(n classes) each; "isotonic" costs O(n log n) for each class.

    References
    ----------
    Platt, "Probabilistic outputs for support vector machines", 1999, section 2.2.
    Zadrozny & Elkan, "Transforming classifier scores into accurate multiclass probability
    estimates", KDD 2002.

    Examples
    --------
    >>> f = np.array([-2.0, -1.0, 1.0, 2.0])
    >>> calibration = calibrate(np.stack([-f, f], axis=1), np.array([0, 0, 1, 1]))
    >>> calibration(np.array([[0.0, 0.0], [-1.0, 1.0]])).round(2)
    array([[0.5 , 0.5 ],
           [0.18, 0.82]])
    """
    scores, codes, weights = _rows(scores, codes, weights)
    if method == "isotonic":
        return _fit_isotonic(scores, codes, weights)
    if method not in ("sigmoid", "temperature"):
        raise ValueError(f'method={method!r}: give "sigmoid", "isotonic" or "temperature".')
    if scores.shape[1] > 2:
        return fit_softmax(scores, codes, weights, with_bias=method == "sigmoid")
    common = fit_softmax(scores, codes, weights, with_bias=False).slope
    if method == "temperature":
        return SidedCalibration(np.full(2, common))
    return _fit_sides(scores, codes, weights, common)


def fit_softmax(
    scores: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None = None,
    with_bias: bool | None = None,
) -> SoftmaxCalibration:
    """Fit a `SoftmaxCalibration`, with biases if ``with_bias``; arguments as in `calibrate`.

    None means biases if there are ten rows for each, because with fewer rows they would be random.
    If there are more than a million scores, a random part of the rows is used, because a thousand
    classes with all of their rows would take minutes.

    A class without a row here gets the mean of the other biases, because it need not be rare.
    """
    scores, codes, weights = _rows(scores, codes, weights)
    if scores.size > MOST_SCORES:
        rows = np.random.default_rng(0).permutation(len(codes))[: MOST_SCORES // scores.shape[1]]
        scores, codes, weights = scores[rows], codes[rows], weights[rows]
    enough = len(codes) >= ROWS_PER_BIAS * scores.shape[1]
    T = _targets(codes, weights, scores.shape[1], 1)
    slope, bias = _most_likely(scores, T, weights, enough if with_bias is None else with_bias)
    met = np.isin(np.arange(len(bias)), codes)
    return SoftmaxCalibration(slope, np.where(met, bias, bias[met].mean()))


def _fit_sides(
    scores: np.ndarray, codes: np.ndarray, w: np.ndarray, common: float
) -> SidedCalibration:
    """A slope for each side of the boundary, near the common one where rows are few."""
    d, own = _difference(scores), np.eye(2)[codes]
    prior = SidedCalibration(np.full(2, common))(scores)
    slopes = np.full(2, common)
    for k, side in enumerate([d < 0, d > 0]):
        if side.any():
            N = w[side].sum()
            T = (N * own[side] + LEANING * prior[side]) / (N + LEANING)
            slopes[k] = _most_likely(scores[side], T, w[side], with_bias=False)[0]
    return SidedCalibration(slopes)


def _most_likely(
    S: np.ndarray, T: np.ndarray, w: np.ndarray, with_bias: bool
) -> tuple[float, np.ndarray]:
    """Slope and biases that maximise Σ_i w_i Σ_c T_ic log softmax(slope · S_i + bias)_c.

    Scores are first divided by their average size, so that the start suits scores of any size.
    """
    k = S.shape[1]
    S = S - S.mean(axis=1, keepdims=True)  # a constant added to a row changes nothing
    w = w / w.sum()
    size = float(w @ np.abs(S).mean(axis=1))
    if size * LARGEST < 1:  # the scores of each row are equal, or too close to find a slope
        size, S = 1.0, np.zeros_like(S)
    S = S / size

    def loss(theta):
        logs = log_softmax(theta[0] * S + theta[1:], axis=1)
        error = w[:, None] * (np.exp(logs) - T)
        gradient = np.append(np.sum(error * S), error.sum(axis=0))
        return -np.sum(w[:, None] * T * logs), gradient

    bounds = [(FLATTEST, None)] + [(None, None) if with_bias else (0.0, 0.0)] * k
    start = np.append(1.0, np.zeros(k))
    how = {"ftol": 1e-15, "gtol": 1e-9} if S.size < MANY_SCORES else {"ftol": 1e-9, "gtol": 1e-6}
    theta = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=how).x
    return float(theta[0] / size), theta[1:]


def _fit_isotonic(scores: np.ndarray, codes: np.ndarray, w: np.ndarray) -> IsotonicCalibration:
    """Increasing curves by isotonic regression."""
    k = scores.shape[1]
    if k > 2:
        T = _targets(codes, w, k, k)
        return IsotonicCalibration([_increasing(s, t, w) for s, t in zip(scores.T, T.T)])
    # The curve is at most 1/2 below d = 0 and at least 1/2 above, so the two sides can be fitted
    # separately. On each side the best bounded curve is the best curve, cut at the bound.
    d = _difference(scores)
    low, high = (
        _increasing(d[side], _targets(codes[side], w[side], 2, 2)[:, 1], w[side])
        for side in (d < 0, d > 0)
    )
    low[1], high[1] = np.minimum(low[1], 0.5), np.maximum(high[1], 0.5)
    return IsotonicCalibration([np.concatenate([low, [[0.0], [0.5]], high], axis=1)])


def _increasing(x: np.ndarray, t: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The increasing function of x nearest to t, as the ends of its steps, (2, knots)."""
    x, at = np.unique(x, return_inverse=True)
    if len(x) == 0:
        return np.empty((2, 0))
    weight = np.bincount(at, w)  # equal scores are one point: their mean
    fit = isotonic_regression(np.bincount(at, w * t) / weight, weights=weight)
    ends = np.union1d(fit.blocks[:-1], fit.blocks[1:] - 1)
    return np.stack([x[ends], fit.x[ends]])


def _interpolate(x: np.ndarray, curve: np.ndarray) -> np.ndarray:
    """The curve's value at x. (`numpy.interp` divides by gaps, and overflows at tiny ones.)"""
    knots, values = curve
    if len(knots) == 1:
        return np.full(len(x), values[0])
    left = np.clip(np.searchsorted(knots, x) - 1, 0, len(knots) - 2)
    x = np.clip(x, knots[0], knots[-1])
    share = (x - knots[left]) / (knots[left + 1] - knots[left])
    return (1 - share) * values[left] + share * values[left + 1]


def _rows(
    scores: np.ndarray, codes: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Finite scores, codes and weights of the rows that have weight."""
    scores = _finite(scores)
    if np.isnan(scores).any():
        raise ValueError(
            "scores contain NaN: calibration needs numbers; check the samples and the kernel."
        )
    if weights is None:
        return scores, codes, np.ones(len(scores))
    kept = weights > 0
    return scores[kept], codes[kept], weights[kept].astype(np.float64)


def _targets(codes: np.ndarray, w: np.ndarray, k: int, undecided: int) -> np.ndarray:
    """Targets (n, k): the row's class, mixed with equal shares of ``undecided`` rows."""
    share = undecided / (w.sum() + undecided)
    return (1 - share) * np.eye(k)[codes] + share / k


def _finite(scores: np.ndarray) -> np.ndarray:
    return np.clip(np.asarray(scores, dtype=np.float64), -LARGEST, LARGEST)


def _difference(scores: np.ndarray) -> np.ndarray:
    """s_2 - s_1, (n,): its sign is exact."""
    scores = _finite(scores)
    return scores[:, 1] - scores[:, 0]


def _two_columns(unlikely: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Probabilities (n, 2) from the probability of the less likely class.

    It is smaller than the other probability unless d = 0, even if both round to 1/2.
    """
    unlikely = np.where(d == 0, 0.5, np.minimum(unlikely, BELOW_HALF))
    likely = 1 - unlikely
    return np.where((d > 0)[:, None], np.c_[unlikely, likely], np.c_[likely, unlikely])


@dataclass(frozen=True, eq=False)
@fields(levels=floats(1), scores=floats(1, lambda own: len(own.levels)))
class ScoreQuantiles:
    """The quantiles of a new score: interpolated between the ``scores`` of ascending ``levels``.

    Beyond the last one they are those of Student's t distribution with the scores' mean square, as
    far as these are farther out.

    Examples
    --------
    >>> nine = ScoreQuantiles.of(np.arange(1.0, 10.0))
    >>> nine([0.1, 0.5, 0.9]).tolist()
    [1.0, 5.0, 9.0]
    """

    levels: np.ndarray
    scores: np.ndarray
    size: float  # root of the mean square of the scores
    count: float  # their number, or the sum of their weights

    @classmethod
    def of(cls, scores: np.ndarray, weights: np.ndarray | None = None) -> Self:
        """Learn from scores with weights, which mean repetition."""
        scores = np.asarray(scores, np.float64)
        order = np.argsort(scores, kind="stable")
        w = np.ones(len(scores)) if weights is None else np.asarray(weights, np.float64)[order]
        last = np.cumsum(w)
        first = np.minimum(last - w + 1, last)  # where a row is repeated, it has several places
        places = np.stack([first, last], axis=1).ravel() / (last[-1] + 1)
        found = np.repeat(scores[order], 2)
        if weights is None:
            places, found = places[::2], found[::2]
        size = float(np.sqrt(np.average(np.square(scores[order]), weights=w)))
        return cls(places, found, size, float(last[-1]))

    def __call__(self, levels: Any) -> np.ndarray:
        """The quantiles of these levels, which lie between 0 and 1."""
        wanted = np.asarray(levels, np.float64)
        found = np.interp(wanted, self.levels, self.scores)
        spread = self.size * np.sqrt(1 + 1 / self.count)
        far = spread * student.ppf(wanted, max(self.count - 1, 1))
        low, high = wanted < self.levels[0], wanted > self.levels[-1]
        found = np.where(low, np.minimum(far, found), found)
        return np.where(high, np.maximum(far, found), found)


def check_levels(name: str, levels: Any) -> np.ndarray:
    """The levels of quantiles in the order in which they are given; ValueError for others."""
    given = levels if isinstance(levels, Iterable) and not isinstance(levels, str) else [levels]
    try:
        found = np.array([float(level) for level in given])
    except (TypeError, ValueError):
        found = np.empty(0)
    if not len(found) or not ((found > 0) & (found < 1)).all():
        raise ValueError(f"{name}={levels!r}: give numbers between 0 and 1, such as (0.1, 0.9).")
    return found


def check_coverage(coverage: float) -> tuple[float, float]:
    """The levels of the ends of an interval that holds such a share; ValueError for others."""
    try:
        share = float(coverage)
    except (TypeError, ValueError):
        share = np.nan
    if not 0 < share < 1:
        raise ValueError(f"coverage={coverage!r}: give a number between 0 and 1, such as 0.9.")
    return (1 - share) / 2, (1 + share) / 2
