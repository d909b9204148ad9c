"""Sums of distances between the same samples."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np

from mercer.distances.base import Distance, Rooted
from mercer.distances.comparison import Comparison, Composite, Meaning
from mercer.samples import Prepared, SamplesLike, Strings, check_positive, float_array

# Comparisons made of others that all read the same samples: what a sample is, and its encoding.


class OnSameSamples(Composite):
    """Abstract: it is made of others, which all read whole samples, or columns of a table."""

    #: what its parts are called in messages, and an example of parts that read columns
    parts_name: ClassVar[str]
    of_columns: ClassVar[str]

    def compared(self) -> list[Comparison]:
        """The comparisons that this one is made of."""
        return [m.comparison for m in self.members()]

    @property
    def kind(self) -> str:  # type: ignore[override]
        kinds = {part.kind for part in self.compared()}
        if not kinds:
            self.validate()  # which says what is wanted
        if len(kinds) > 1:
            raise TypeError(
                f"{self!r} mixes {self.parts_name}s on {' and '.join(sorted(kinds))}. Say which "
                f"columns each {self.parts_name} reads: {self.of_columns}."
            )
        return kinds.pop()

    def encoding(self) -> Hashable:
        if self.reads.of_columns:
            return super().encoding()
        first, *others = (part.encoding() for part in self.compared())
        if any(other != first for other in others):
            raise ValueError(
                f"{self!r} is made of {self.parts_name}s that read the same samples in different "
                "ways (for example with different separators). Let all of them read the samples "
                f"in the same way, or give each {self.parts_name} its own columns of a table: "
                f"{self.of_columns}."
            )
        return first

    def encode(self, X: SamplesLike, like: SamplesLike | None = None) -> Any:
        self.encoding()  # an error if the parts read samples in different ways
        if self.reads.of_columns:
            return super().encode(X, like)
        first, *others = self.compared()
        X = first.encode(X, like)
        for part in others:
            part.check(X, like)
        return X


class Sum(OnSameSamples, Rooted):
    r"""Sum of distances between the same samples

    .. math:: \rho(x, z) = \bigl( \sum_j w_j \, \rho_j(x, z)^q \bigr)^{1 / q} .

    Weights can be learnt for it: it is a sum of terms, as `NadarayaWatson` and
    `CoordinateDescentWeights` read them.

    Parameters
    ----------
    distances : list of Distance
        They read the same kind of samples in the same way; for a kernel give `KernelDistance`. For
        groups of columns see `Mixed`.
    weights : array-like of shape (len(distances),), optional
        The weights :math:`w_j \ge 0`. None means 1 for each distance.
    power : float > 0, default=1.0
        q. With 2, kernel distances give that of the weighted sum of their kernels.

    Notes
    -----
    For q >= 1 it is a metric if all its distances are. It costs as much as all of them.

    Raises
    ------
    TypeError
        An item is no distance, or they read samples of different kinds.
    ValueError
        The distances encode samples in different ways, or a weight or the power is out of range.

    References
    ----------
    Deza & Deza, "Encyclopedia of Distances", 2009, on metrics of Cartesian products.

    Examples
    --------
    >>> from mercer.distances import Edit, KernelDistance
    >>> from mercer.kernels import Spectrum
    >>> rho = Sum([Edit(), KernelDistance(Spectrum(1))], [1.0, 0.5])
    >>> rho(["ab", "ba", "b"])
    array([[0. , 2. , 1.5],
           [2. , 0. , 1.5],
           [1.5, 1.5, 0. ]])
    """

    meaning = Meaning("(Σⱼ wⱼ ρⱼ(x, z)^q)^(1/q)", "the weighted sum of several distances")
    parts_name: ClassVar[str] = "distance"
    of_columns: ClassVar[str] = 'Mixed([(Edit(), ["name"]), (Minkowski(1), ["age"])])'

    def __init__(self, distances: list[Distance], weights: Any = None, power: float = 1.0):
        self.distances = distances
        self.weights = weights
        self.power = power

    @property
    def exponent(self) -> float:  # type: ignore[override]
        return float(self.power)

    @property
    def metric(self) -> bool:  # type: ignore[override]
        return self.power >= 1 and all(rho.metric for rho in self.distances)

    @property
    def reflexive(self) -> bool:  # type: ignore[override]
        return all(rho.reflexive for rho in self.distances)

    @property
    def definite_up_to(self) -> float:  # type: ignore[override]
        definite = all(rho.definite_up_to >= self.power for rho in self.distances)
        return float(self.power) if definite else 0.0

    def validate(self) -> None:
        if not isinstance(self.distances, (list, tuple)) or not self.distances:
            raise ValueError(f"distances={self.distances!r}: give a list of at least one distance.")
        for rho in self.distances:
            if not isinstance(rho, Distance):
                raise TypeError(
                    f"distances holds {rho!r}, which is no distance: for a kernel give "
                    "KernelDistance(kernel), and Mixed for groups of columns."
                )
            rho.validate()
        check_positive("power", self.power)
        if self.weights is None:
            return
        w = float_array("weights", self.weights)
        count = len(self.distances)
        if w.shape != (count,) or not ((w >= 0) & np.isfinite(w)).all():
            raise ValueError(
                f"weights={self.weights!r}: give one finite number >= 0 for each of the {count} "
                "distances."
            )

    def raw(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        w = np.ones(len(self.distances)) if self.weights is None else np.asarray(self.weights)
        D = np.zeros((X.shape[0], Z.shape[0]), np.result_type(X.dtype, Z.dtype))
        for factor, rho, x, z in zip(w.astype(D.dtype), self.distances, X.parts, Z.parts):
            D += factor * self._powered(rho, x, z)
        return D

    def terms(self, X: Strings) -> int:
        return len(self.distances)

    def term(self, X: Strings, Z: Strings, j: int) -> np.ndarray:
        rho = self.distances[j]
        return self._powered(rho, *rho.sides(X, Z))

    def _powered(self, rho: Distance, X: Prepared, Z: Prepared) -> np.ndarray:
        """ρ_j ** q of prepared samples."""
        D = rho.raw(X, Z)
        if rho.exponent != self.power:
            np.maximum(D, 0, out=D)
            D **= self.power / rho.exponent
        return D
