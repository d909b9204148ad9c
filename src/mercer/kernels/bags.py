"""Kernels on bags of points, from a kernel on points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from mercer.distances import Meaning
from mercer.kernels.base import Kernel
from mercer.kernels.radial import RBF
from mercer.samples import Bags, as_samples

STRIP = 2**22  # values of points with points that are held at a time


class MeanMap(Kernel):
    r"""Mean map kernel of bags :math:`k(A, B) = \frac{1}{|A| |B|} \sum_{a \in A} \sum_{b \in B}
    κ(a, b)`.

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

    def bind(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        self.validate()
        weights = None if sample_weight is None else np.repeat(sample_weight, X.lengths)
        bound = self.of_points.bind(points_of(X), None, weights)
        return self if bound is self.kernel else self.copied(kernel=bound)

    def pair_cost(self, X: Bags) -> float:
        size = float(X.lengths.mean()) if len(X) else 0.0
        return size**2 * (4.0 + 2.0 * X.columns)

    def block(self, X: Any, Z: Any) -> np.ndarray:
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
