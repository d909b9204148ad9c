"""Kernels that are a decreasing function of a distance; those with a parameter for the shape are in
matern.py.

Each has a parameter ``metric``, a distance to use in place of its own: with weights for each
feature, a Mahalanobis distance, or a distance between categories. Not every kernel is positive
semidefinite with every distance: the attribute ``positive_definite`` says so where it is known.

The bandwidth γ is a number, or a word such as "scale" for a number to be learnt. `check_gamma`
raises an error for other values, `bind_gamma` and `resolve_gamma` learn the number from the
training sample, and `bound_gamma` returns it when the kernel is computed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mercer import _native
from mercer.distances import Distance, MappedMinkowski, Meaning, Minkowski, dense_rows, safe_unit
from mercer.kernels.base import Formula, Kernel, Layer, Radial, Term, of_distance
from mercer.kernels.separable import by_term
from mercer.samples import Samples, is_number, largest_column, plain_rows

TINY = 1e-154  # the square of a smaller number is no usual float
LARGEST = float(np.finfo(np.float64).max)
SAMPLE = 1000  # rows that the median distance is that of


def check_gamma(gamma: object, words: tuple[str, ...] = ("scale", "auto", "median")) -> None:
    """Raise an error if ``gamma`` is neither a positive number nor one of the words."""
    if isinstance(gamma, str) and gamma in words:
        return
    *first, last = (f'"{word}"' for word in words)
    known = f"give a number > 0, {', '.join(first)} or {last}."
    if isinstance(gamma, str):
        of_distances = " The median is one of distances: RBF has it." if gamma == "median" else ""
        raise ValueError(f"gamma={gamma!r}: {known}{of_distances}")
    if not is_number(gamma):
        raise TypeError(f"gamma={gamma!r}: {known}")
    if not 0 < gamma < np.inf:
        raise ValueError(f"gamma={gamma!r}: must be a finite number > 0.")


def resolve_gamma(gamma: float | str, X: Samples, weights: np.ndarray | None = None) -> float | str:
    """γ for the training sample; a number is returned as it is.

    "scale" is 1 / (d · var(X)), or 1 if all values are equal; "auto" is 1 / d. Both are the same as
    in scikit-learn.
    """
    if gamma == "scale":
        if not (isinstance(X, np.ndarray) or sp.issparse(X)):
            raise TypeError(
                f'gamma="scale" is learnt from the variance of vectors, but X is {X!r}: give a '
                'number, or "median".'
            )
        return scale_gamma(X, weights)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    return gamma


def scale_gamma(X: Any, weights: np.ndarray | None = None) -> float:
    """1 / (d · var(X)) of vectors, dense or sparse, or 1 if all values are equal.

    A row of weight w counts as w rows.
    """
    return reciprocal(X.shape[1] * moments(X, weights)[1], "scale", X)


def moments(X: Any, weights: np.ndarray | None = None) -> tuple[float, float]:
    """Mean and variance of all values; a row of weight w counts as w rows."""
    with np.errstate(all="ignore"):
        if weights is not None:
            share = weights / weights.max()
            share /= share.sum() * X.shape[1]
            X = X.astype(np.float64, copy=False)
            mean = float((share @ X).sum())
            squares = X.multiply(X) if sp.issparse(X) else (X - mean) ** 2
            return mean, float((share @ squares).sum()) - (mean**2 if sp.issparse(X) else 0.0)
        if sp.issparse(X):
            X = X.astype(np.float64, copy=False)
            return float(X.mean()), float(X.multiply(X).mean() - X.mean() ** 2)
        X = plain_rows(X)
        return float(X.mean(dtype=np.float64)), float(X.var(dtype=np.float64))


def reciprocal(size: float, word: str, X: Any) -> float:
    """1 / size for a size that γ is learnt from, a finite number > 0; 1 if the size is 0."""
    if 0 < size < np.inf:
        return min(1.0 / size, LARGEST)
    j, largest = largest_column(X)
    if size <= 0 and not 0 < largest < TINY:  # a variance of sparse rows may round below 0
        return 1.0
    reaches, beyond = ("reaches only", "is 0 as") if size <= 0 else ("reaches", "does not fit into")
    raise ValueError(
        f"gamma={word!r} cannot be learnt: column {j} of X {reaches} {largest:.3g}, whose "
        f"square {beyond} a float. Divide it by its largest value "
        "(sklearn.preprocessing.MaxAbsScaler does it for all columns), or give gamma as a number."
    )


def bound_gamma(gamma: float | str, kernel: Kernel) -> float:
    """γ as a number. It is an error if it has not been learnt yet."""
    if isinstance(gamma, str):
        raise ValueError(
            f"gamma={gamma!r} is learnt from the training sample: call "
            f"{type(kernel).__name__}(...).bind(X) first (learners call it), or give a number."
        )
    return float(gamma)


def narrowed(factor: float, dtype: np.dtype) -> Any:
    """A factor in the precision of what it multiplies, and finite: ∞ times 0 would be NaN."""
    most = np.finfo(dtype).max
    return np.clip(np.float64(factor), -most, most).astype(dtype)


def bind_gamma(kernel: Any, X: Any, power: float, weights: np.ndarray | None = None) -> Any:
    """A kernel exp(-γ ρ^power); if γ is a word, it is learnt from the training sample.

    Squares of tiny numbers have no digits left: the rows are then compared in another unit.
    """
    if kernel.gamma in ("scale", "median") and power == 2 and kernel.metric is None:
        unit = safe_unit(X)
        if unit != 1:
            bound = bind_gamma(kernel, X * unit, power, weights)
            return bound.copied(metric=MappedMinkowski(np.full(X.shape[1], unit)))
    gamma = resolve_gamma(kernel.gamma, X, weights)
    if gamma == "median":
        with np.errstate(over="ignore"):
            size = float(np.float64(median_distance(kernel.distance, X, weights)) ** power)
        gamma = reciprocal(size, "median", X)
    return kernel if gamma is kernel.gamma else kernel.copied(gamma=gamma)


def median_distance(distance: Distance, X: Samples, weights: np.ndarray | None = None) -> float:
    """The median ρ of the pairs of at most 1,000 rows, spread evenly over X; 1 if it is 0.

    A row of weight w counts as w rows.
    """
    if weights is None:
        S = evenly(X, SAMPLE)
        D = distance.raw(S, S)[np.triu_indices(S.shape[0], 1)]
        median = float(np.median(D)) if D.size else 0.0
    else:
        rows, times = evenly_weighted(weights, SAMPLE)
        D = distance.raw(X[rows], X[rows])
        pairs = np.triu(np.outer(times, times), 1)
        # a row of weight w is w rows, which make w (w - 1) / 2 pairs
        np.fill_diagonal(pairs, np.maximum(times * (times - 1) / 2, 0))
        median = weighted_median(D.ravel(), pairs.ravel())
    return median ** (1 / distance.exponent) if median > 0 else 1.0


def weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """The median of values of which each counts ``weights`` times; 0 if none counts."""
    order = np.argsort(values)
    sums = np.cumsum(weights[order])
    if not len(sums) or sums[-1] <= 0:
        return 0.0
    # of an even number of values it is the mean of the two in the middle
    places = [np.searchsorted(sums, sums[-1] / 2, side) for side in ("left", "right")]
    return float(values[order[places]].mean())


def evenly(X: Samples, most: int) -> Any:
    """X, or ``most`` of its rows: the first, the last, and others at equal distances between.

    Rows that are sorted, by class say, are so all represented by their share.
    """
    n = X.shape[0]
    return X if n <= most else X[np.linspace(0, n - 1, most).round().astype(int)]


def evenly_weighted(weights: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of such rows where each counts ``weights`` times, and how often it is taken."""
    sums = np.cumsum(weights)
    if max(len(weights), sums[-1]) <= most:
        return np.arange(len(weights)), weights
    if sums[-1] > most:
        places = np.linspace(0, sums[-1] - 1, most).round()
    else:
        places = (np.arange(most) + 0.5) * sums[-1] / most
    rows = np.searchsorted(sums, places, "right")
    return np.unique(np.minimum(rows, len(weights) - 1), return_counts=True)


EUCLID = Minkowski(2)
MANHATTAN = Minkowski(1)


class OfMetric(Radial, Layer):
    """Abstract: a radial kernel with a parameter ``metric``; None means its ``usual`` distance.

    With the Euclidean distance, ρ² = <x, x> + <z, z> - 2<x, z>, it is a layer as well.

    It is positive semidefinite if the distance to its ``definite_power`` is conditionally negative
    definite. For other distances that depends on the samples, so that it says None.
    """

    metric: Distance | None
    usual: Distance = EUCLID
    #: the parameter that scales ρ
    unit: str
    #: q, if the profile is a mixture of functions exp(-s ρ ** q) with s >= 0
    definite_power: float = 2.0

    @property
    def distance(self) -> Distance:
        return self.usual if self.metric is None else self.metric

    @property
    def positive_definite(self) -> bool | None:  # type: ignore[override]
        return True if self.definite_power <= self.distance.definite_up_to else None

    def validate(self) -> None:
        if self.metric is None:
            return
        if not isinstance(self.metric, Distance):
            raise TypeError(
                f"metric={self.metric!r}: give a distance of mercer.distances, such as "
                "Minkowski(1)."
            )
        self.metric.validate()

    def free_parameters(self) -> list[str]:
        found = super().free_parameters()
        # weights of the columns say the scale of ρ already
        return [name for name in found if name != self.unit or "metric__weights" not in found]

    def check_layer(self) -> None:
        super().check_layer()
        rho = self.distance
        if not (isinstance(rho, Minkowski) and rho.p == 2 and rho.weights is None):
            raise ValueError(
                f"metric={self.metric!r}: as a layer, {self!r} needs the Euclidean distance, which "
                "inner products determine: give metric=Minkowski(2)."
            )

    def of_gram(self, G: np.ndarray, g_x: np.ndarray, g_z: np.ndarray) -> np.ndarray:
        _native.squares(G, g_x, g_z)
        return self.profile(G)

    def of_diag(self, g: np.ndarray) -> np.ndarray:
        return self.profile(np.zeros_like(g))

    def gram_derivatives(
        self, G: np.ndarray, g_x: np.ndarray, g_z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if not self.differentiable:
            return super().gram_derivatives(G, g_x, g_z)
        D = G.copy()
        _native.squares(D, g_x, g_z)
        by_square = self.profile_derivative(D)
        return -2 * by_square, by_square, by_square

    def diag_derivative(self, g: np.ndarray) -> np.ndarray:
        return np.zeros_like(g) if self.differentiable else super().diag_derivative(g)


class Falling(Radial):
    """Abstract: exp(-rate · ρ ** power). Define ``rate``, a property, and ``power``."""

    power: float

    @property
    @abstractmethod
    def rate(self) -> float:
        """The factor of ρ ** power."""

    @property
    def positive_definite(self) -> bool | None:  # type: ignore[override]
        return True if self.power <= self.distance.definite_up_to else None

    @property
    def power_of_raw(self) -> float:
        """The power of what ``distance.raw`` returns."""
        return self.power / self.distance.exponent

    @property
    def formula(self) -> Formula | None:  # type: ignore[override]
        return of_distance("exponential", self.distance, rate=self.rate, power=self.power_of_raw)

    def separated(self, X: Samples, players: Mapping[Any, Hashable]) -> list[Term]:
        if self.power_of_raw == 1 and len(set(players.values())) > 1:
            term = by_term(self.distance, X, players, self.rate)
            if term is not None:
                return [term]
        return super().separated(X, players)

    def profile(self, D: np.ndarray) -> np.ndarray:
        return exponential(D, self.power_of_raw, self.rate)

    def profile_derivative(self, D: np.ndarray) -> np.ndarray:
        return exponential_derivative(D, self.power_of_raw, self.rate)


class Bandwidth(Falling, OfMetric):
    """Abstract: exp(-γ ρ ** power), where γ may be learnt. Define ``power``."""

    free = ("gamma",)
    unit = "gamma"

    def __init__(self, gamma: float | str = 1.0, metric: Distance | None = None):
        self.gamma = gamma
        self.metric = metric

    @property
    def rate(self) -> float:
        return bound_gamma(self.gamma, self)

    def validate(self) -> None:
        check_gamma(self.gamma)
        super().validate()

    def bind(self, X: Samples, y: np.ndarray | None = None, sample_weight: Any = None) -> Self:
        return bind_gamma(super().bind(X, y, sample_weight), X, self.power, sample_weight)


class RBF(Bandwidth):
    r"""Gaussian kernel

    .. math:: k(x, z) = \exp(-\gamma \rho(x, z)^2) ,

    where ρ is Euclidean.

    It is strictly positive definite: if all points are different, any classes can be separated.

    Parameters
    ----------
    gamma : float > 0, "scale", "auto" or "median", default=1.0
        The factor γ, in units of 1 / distance². "scale" is 1 / (d · var(X)) of the training sample
        and "auto" is 1 / d, as in scikit-learn; "median" is 1 / the square of the median distance.
    metric : Distance, optional
        A distance to use in place of the Euclidean distance: ``Minkowski(2, weights=w)`` for one
        length scale per feature, ``Mahalanobis()`` for
        :math:`\exp(-\gamma (x-z)^\top S^{-1} (x-z))`.

    Notes
    -----
    O(n m d) operations by a matrix product, and one exponential for each pair.

    References
    ----------
    Shawe-Taylor & Cristianini, "Kernel Methods for Pattern Analysis", 2004, section 9.1; Boser,
    Guyon & Vapnik, "A training algorithm for optimal margin classifiers", COLT 1992.

    Examples
    --------
    >>> RBF(0.5)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    meaning = Meaning(
        "exp(−γ {distance}²)", "1 for equal rows, falling as a bell curve with their distance"
    )

    power = 2.0
    differentiable = True


class Laplacian(Bandwidth):
    r"""Laplacian kernel

    .. math:: k(x, z) = \exp(-\gamma \rho(x, z)) ,

    where ρ is Manhattan.

    Parameters
    ----------
    gamma : float > 0, "scale", "auto" or "median", default=1.0
        The factor γ, in units of 1 / distance. "scale" and "auto" are the same as for `RBF`;
        "median" is 1 / the median distance.
    metric : Distance, optional
        A distance to use in place of the Manhattan distance. None means the Manhattan distance.

    References
    ----------
    Rahimi & Recht, "Random Features for Large-Scale Kernel Machines", NIPS 2007.

    Examples
    --------
    >>> Laplacian(1.0)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.1353]])
    """

    meaning = Meaning(
        "exp(−γ {distance})", "1 for equal rows, falling exponentially with {distance}"
    )

    power = 1.0
    usual = MANHATTAN

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        if self.metric is not None or X.shape[1] != 1:
            return super().block(X, Z)
        # single numbers need no power for each pair
        x, z = (dense_rows(side)[:, 0] for side in (X, Z))
        K = np.empty((len(x), len(z)), np.result_type(x, z))
        x, z = (np.require(side, K.dtype, ["C", "ALIGNED"]) for side in (x, z))
        _native.exp_gaps(x, z, self.rate, K)
        return K


def raised(D: np.ndarray, power: float) -> np.ndarray:
    """D ** power, in place."""
    if power == 0.5:
        return np.sqrt(D, out=D)
    if power != 1:
        D **= power
    return D


def exponential(D: np.ndarray, power: float, rate: float) -> np.ndarray:
    """exp(-rate · D ** power), in place."""
    D = raised(D, power)
    _native.exp_scaled(D, rate)
    return D


def exponential_derivative(D: np.ndarray, power: float, rate: float) -> np.ndarray:
    """Derivative of `exponential` with respect to D, for D > 0; returns a new array."""
    slope = exponential(D.copy(), power, rate)
    slope *= -rate * power
    if power != 1:
        slope *= D ** (power - 1)
    return slope
