"""Kernels on bags of points: from a kernel on points, or from the Gaussians fitted to the bags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mercer.distances import Meaning
from mercer.kernels.base import Kernel
from mercer.kernels.radial import RBF
from mercer.samples import Bags, as_samples, is_number

STRIP = 2**22  # values of points with points that are held at a time


class MeanMap(Kernel):
    r"""Mean map kernel of bags

    .. math:: k(A, B) = \frac{1}{|A| |B|} \sum_{a \in A} \sum_{b \in B} κ(a, b) .

    It is the inner product of the mean features of two bags. With a characteristic κ, such as a
    Gaussian, bags have equal means only if their points have the same distribution.

    Parameters
    ----------
    kernel : Kernel, optional
        κ, a kernel on vectors. None is ``RBF("median")``. What it learns, it learns from the points
        of all training bags.

    See Also
    --------
    mercer.distances.SlicedWasserstein : Compares the points of two bags in their order along lines.

    Notes
    -----
    It is positive semidefinite if κ is. A pair takes \|A\| \|B\| values of κ. Of other kernels on
    bags it is a part:

    - the cosine of the mean features, ``MeanMap(k).normalised()``, whose k(A, A) is 1;
    - a Gaussian of the maximum mean discrepancy, :math:`\exp(-γ \mathrm{MMD}^2)`:
      ``RBF(gamma, KernelDistance(MeanMap(k)))``;
    - multi-instance learning, where some point of a bag decides: ``MeanMap(k ** p).normalised()``,
      in which near points count more as p grows (Gärtner et al. 2002). The kernel of the nearest
      points alone, max κ, is not positive semidefinite.

    References
    ----------
    Gärtner, Flach, Kowalczyk & Smola, "Multi-instance kernels", ICML 2002.
    Gretton, Borgwardt, Rasch, Schölkopf & Smola, "A kernel two-sample test", JMLR 13, 2012.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> bags = [[[0.0, 1.0], [2.0, 1.0]], [[1.0, 3.0]]]
    >>> MeanMap(Linear())(bags)  # of the means (1, 1) and (1, 3)
    array([[ 2.,  4.],
           [ 4., 10.]])
    """

    meaning = Meaning(
        "mean of {of_points} over pairs of points",
        "how alike the points of two bags are on average",
    )
    kind = "bags"

    def __init__(self, kernel: Kernel | None = None):
        self.kernel = kernel

    @property
    def of_points(self) -> Kernel:
        """The kernel between points."""
        return RBF("median") if self.kernel is None else self.kernel

    @property
    def positive_definite(self) -> bool | None:  # type: ignore[override]
        return self.of_points.positive_definite

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return self.of_points.symmetric

    def validate(self) -> None:
        kernel = self.kernel
        if kernel is None:
            return
        if not isinstance(kernel, Kernel):
            raise TypeError(f"kernel={kernel!r}: give a kernel on vectors, such as RBF(0.5).")
        if not kernel.reads.coordinates:
            raise ValueError(
                f"kernel={kernel!r} compares {kernel.kind}, but the points of bags are vectors: "
                "give a kernel on vectors, such as RBF(0.5)."
            )
        kernel.validate()

    def check(self, X: Bags, like: Bags | None = None) -> None:
        self.of_points.check(points_of(X), None if like is None else points_of(like))

    def bind(self, X: Bags, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        self.validate()
        weights = None if sample_weight is None else np.repeat(sample_weight, X.lengths)
        bound = self.of_points.bind(points_of(X), None, weights)
        return self if bound is self.kernel else self.copied(kernel=bound)

    def pair_cost(self, X: Bags) -> float:
        size = float(X.lengths.mean()) if len(X) else 0.0
        return size**2 * (4.0 + 2.0 * X.columns)

    def block(self, X: Bags, Z: Bags) -> np.ndarray:
        same = X is Z
        points = points_of(Z)
        K = np.empty((len(X), len(Z)), np.result_type(X.dtype, Z.dtype))
        for rows in _strips(X, len(points)):
            values = self.of_points.block(points_of(X[rows]), points)
            sums = np.add.reduceat(values, X.starts[rows] - X.starts[rows.start], axis=0)
            sums = np.add.reduceat(sums, Z.starts[:-1], axis=1, dtype=np.float64)
            K[rows] = sums / X.lengths[rows, None] / Z.lengths
        return (K + K.T) / 2 if same and self.symmetric else K

    def diag(self, X: Any) -> np.ndarray:
        return np.array([self._own(X[i : i + 1]) for i in range(len(X))], X.dtype)

    def _own(self, bag: Bags) -> float:
        """The mean of κ over all pairs of points of one bag."""
        points = points_of(bag)
        strips = _strips(Bags(points, np.arange(len(points) + 1)), len(points))
        total = sum(
            float(self.of_points.block(points[rows], points).sum(dtype=np.float64))
            for rows in strips
        )
        return total / len(points) ** 2


def bag_kernel() -> Kernel:
    """The kernel that suits bags first."""
    return MeanMap().normalised()


def points_of(X: Bags) -> Any:
    """All points, as vectors."""
    return as_samples(X.values.astype(X.dtype, copy=False))


def _strips(X: Bags, columns: int) -> Iterator[slice]:
    """Runs of bags with few enough points, at least one bag each."""
    most, start = max(1, STRIP // max(columns, 1)), 0
    while start < len(X):
        end = int(np.searchsorted(X.starts, X.starts[start] + most, side="right")) - 1
        end = min(max(end, start + 1), len(X))
        yield slice(start, end)
        start = end


Moments = tuple[np.ndarray, np.ndarray]  # the means and the covariances of bags
VALUES = 2**21  # values of matrices that are held at a time, one d x d matrix for each pair


class Bhattacharyya(Kernel):
    r"""Bhattacharyya kernel of Gaussians fitted to bags

    .. math:: k(A, B) = \int \sqrt{p_A(x) p_B(x)} \, dx .

    With means that differ by δ, covariances :math:`Σ_A`, :math:`Σ_B` and :math:`S = (Σ_A + Σ_B) /
    2` it is :math:`\exp(-δ^\top S^{-1} δ / 8) \, |Σ_A|^{1/4} |Σ_B|^{1/4} / |S|^{1/2}`,
    from 0 to 1.

    Parameters
    ----------
    ridge : float > 0, default=0.1
        It is added to each variance: Σ is the covariance of the points of a bag, a mean over its
        points, plus ``ridge`` on the diagonal. So bags of few points have an inverse, too. Its unit
        is the square of that of the columns; 0.1 suits columns of variance 1.

    See Also
    --------
    GaussianMeanMap : Smooths the Gaussians and so needs no ridge.
    MeanMap : Compares all points, whatever their distribution.

    Notes
    -----
    It is positive semidefinite, and k(A, A) = 1. A pair of bags takes d³ operations.

    References
    ----------
    Kondor & Jebara, "A kernel between sets of vectors", ICML 2003.

    Examples
    --------
    >>> bags = [[[0.0], [2.0]], [[1.0], [3.0]], [[5.0]]]
    >>> Bhattacharyya()(bags).round(2)
    array([[1.  , 0.89, 0.03],
           [0.89, 1.  , 0.11],
           [0.03, 0.11, 1.  ]])
    """

    meaning = Meaning(
        "∫ √(p_x p_z)", "how much the Gaussians fitted to the points of two bags overlap"
    )
    kind = "bags"

    def __init__(self, ridge: float = 0.1):
        self.ridge = ridge

    def validate(self) -> None:
        if not (is_number(self.ridge) and 0 < self.ridge < np.inf):
            raise ValueError(f"ridge={self.ridge!r}: give a number > 0, such as 0.1.")

    def pair_cost(self, X: Bags) -> float:
        return float(X.columns) ** 3

    def block(self, X: Bags, Z: Bags) -> np.ndarray:
        ridge = float(self.ridge)
        sides = _moments(X), _moments(Z)
        K = _of_pairs(*sides, ridge, 0.5, 1 / 8)
        own_x, own_z = (_log_determinants(C, ridge, 1.0) for _, C in sides)
        K += (own_x[:, None] + own_z) / 4
        return np.exp(K).astype(np.result_type(X.dtype, Z.dtype), copy=False)

    def diag(self, X: np.ndarray) -> np.ndarray:
        return np.ones(len(X), X.dtype)


class GaussianMeanMap(Kernel):
    r"""Mean map kernel of Gaussians fitted to bags: the mean of

    .. math:: \exp(-γ \|a - b\|^2)

    over all a and b that the two Gaussians draw.

    With means that differ by δ, covariances :math:`Σ_A`, :math:`Σ_B` and :math:`M = I + 2γ (Σ_A +
    Σ_B)` it is :math:`|M|^{-1/2} \exp(-γ \, δ^\top M^{-1} δ)`, from 0 to 1.

    Parameters
    ----------
    gamma : float > 0, "scale", "auto" or "median", default="median"
        The factor γ, in units of 1 / distance². Words are learnt as `RBF` learns them, from the
        points of all training bags.

    See Also
    --------
    MeanMap : The mean over the points of the bags themselves.
    Bhattacharyya : The overlap of the two Gaussians.

    Notes
    -----
    It is positive semidefinite. A covariance is a mean over the points of a bag and needs no ridge,
    since M is at least the identity. A pair of bags takes d³ operations, whatever their sizes.

    References
    ----------
    Muandet, Fukumizu, Dinuzzo & Schölkopf, "Learning from distributions via support measure
    machines", NIPS 2012.

    Examples
    --------
    >>> bags = [[[0.0], [2.0]], [[1.0], [3.0]], [[5.0]]]
    >>> GaussianMeanMap(0.5)(bags).round(2)
    array([[0.58, 0.49, 0.01],
           [0.49, 0.58, 0.07],
           [0.01, 0.07, 1.  ]])
    """

    meaning = Meaning(
        "mean of exp(−γ |a − b|²) over Gaussians of x and z",
        "how near the Gaussians fitted to the points of two bags are on average",
    )
    kind = "bags"

    free = ("gamma",)

    def __init__(self, gamma: float | str = "median"):
        self.gamma = gamma

    def validate(self) -> None:
        RBF(self.gamma).validate()

    def bind(self, X: Bags, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        self.validate()
        if is_number(self.gamma):
            return self
        weights = None if sample_weight is None else np.repeat(sample_weight, X.lengths)
        return self.copied(gamma=RBF(self.gamma).bind(points_of(X), None, weights).gamma)

    def pair_cost(self, X: Bags) -> float:
        return float(X.columns) ** 3

    def block(self, X: Bags, Z: Bags) -> np.ndarray:
        gamma = float(self.gamma)
        K = _of_pairs(_moments(X), _moments(Z), 1.0, 2 * gamma, gamma)
        return np.exp(K).astype(np.result_type(X.dtype, Z.dtype), copy=False)

    def diag(self, X: Any) -> np.ndarray:
        logs = _log_determinants(_moments(X)[1], 1.0, 4 * float(self.gamma))
        return np.exp(-logs / 2).astype(X.dtype, copy=False)


def _moments(X: Bags) -> Moments:
    """The means (n, d) and the covariances (n, d, d) of bags."""
    means = np.add.reduceat(X.values, X.starts[:-1], axis=0) / X.lengths[:, None]
    centred = X.values - np.repeat(means, X.lengths, axis=0)
    covariances = np.empty((len(X), X.columns, X.columns))
    for i in range(len(X)):  # one product for each bag, not for each pair
        C = centred[X.starts[i] : X.starts[i + 1]]
        covariances[i] = C.T @ C / len(C)
    return means, covariances


def _of_pairs(x: Moments, z: Moments, ridge: float, factor: float, rate: float) -> np.ndarray:
    """-rate δᵀM⁻¹δ - log|M| / 2 of all pairs (n, m), with M = ridge I + factor (Σ_x + Σ_z)."""
    (means_x, C_x), (means_z, C_z) = x, z
    found = np.empty(len(C_x) * len(C_z))
    for pairs in _runs(len(found), C_x.shape[1]):
        i, j = np.divmod(np.arange(pairs.start, pairs.stop), len(C_z))
        L = _roots(C_x[i] + C_z[j], ridge, factor)
        delta = np.linalg.solve(L, (means_x[i] - means_z[j])[:, :, None])[:, :, 0]
        logs = np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
        found[pairs] = -rate * np.square(delta).sum(axis=1) - logs
    return found.reshape(len(C_x), len(C_z))


def _log_determinants(C: np.ndarray, ridge: float, factor: float) -> np.ndarray:
    """log|ridge I + factor C| of matrices C (n, d, d)."""
    L = _roots(C, ridge, factor)
    return 2 * np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)


def _roots(C: np.ndarray, ridge: float, factor: float) -> np.ndarray:
    """Cholesky factors of ridge I + factor C."""
    return np.linalg.cholesky(ridge * np.eye(C.shape[1]) + factor * C)


def _runs(pairs: int, columns: int) -> Iterator[slice]:
    step = max(1, VALUES // columns**2)
    for start in range(0, pairs, step):
        yield slice(start, min(start + step, pairs))
