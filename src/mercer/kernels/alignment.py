"""Kernels on time series from all alignments of their points, and one on strings from edits."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from mercer.distances import (
    Distance,
    Edit,
    Meaning,
    Minkowski,
    SoftDTW,
    all_pairs,
    own_pairs,
    path_sums,
)
from mercer.kernels.base import Kernel
from mercer.kernels.radial import Falling, median_distance, weighted_median
from mercer.samples import Prepared, SamplesLike, Series, check_positive, is_number, is_whole


class EditRBF(Falling):
    r"""Kernel from the edit distance

    .. math:: k(s, t) = \exp(-\gamma \, \mathrm{edit}(s, t)) .

    It is not positive semidefinite in general (Cortes, Haffner & Mohri 2004): `check_mercer` tests
    it on a sample, and five strings can be enough to show it, as in the example below. With
    "hamming" it is positive semidefinite, because it is a product of one kernel for each place.

    Parameters
    ----------
    gamma : float > 0, default=1.0
        The factor γ. Values are in :math:`[e^{-\gamma L}, 1]` for strings of up to L symbols: try
        1 / L.
    variant : str, default="levenshtein"
        Which edits are counted: one of the variants of `mercer.distances.Edit`.

    See Also
    --------
    FromDistance : A kernel from any distance, for example ``FromDistance(Edit(normalised=True))``.

    Notes
    -----
    It costs as much as the distance, and one exponential for each pair. A large γ makes the Gram
    matrix close to the identity, which is positive definite; `repair` corrects other matrices.

    References
    ----------
    Cortes, Haffner & Mohri, "Rational kernels: theory and algorithms", JMLR 5, 2004.

    Examples
    --------
    >>> EditRBF(0.5)(["cat"], ["cat", "cut", "cute"]).round(4)
    array([[1.    , 0.6065, 0.3679]])
    >>> from mercer.kernels import check_mercer
    >>> check_mercer(EditRBF(0.1), ["a", "ab", "aba", "ba", "bb"]).positive_definite
    False
    """

    meaning = Meaning(
        "exp(−γ edit(s, t))",
        "1 for equal strings, falling exponentially with the edits from one to the other",
    )

    power = 1.0

    free = ("gamma",)

    def __init__(self, gamma: float = 1.0, variant: str = "levenshtein"):
        self.gamma = gamma
        self.variant = variant

    @property
    def positive_definite(self) -> bool:  # type: ignore[override]
        return self.variant == "hamming"

    @property
    def rate(self) -> float:
        return float(self.gamma)

    @property
    def distance(self) -> Distance:
        return Edit(self.variant)

    def validate(self) -> None:
        check_positive("gamma", self.gamma)
        self.distance.validate()


class AlignmentSum(Kernel):
    """Abstract: a sum over alignments, in logarithms, normalised in logarithms.

    A class has the parameters ``length_scale``, in the unit of the values or "auto", and ``reach``,
    which the native loop reads.
    """

    kind = "series"
    length_scale: float | str

    @property
    @abstractmethod
    def reach(self) -> int:
        """Points are aligned whose places are less than this apart; 0: all."""

    @abstractmethod
    def _logs(self, X: Series, Z: Series, pairs: np.ndarray) -> np.ndarray:
        """log k of each pair."""

    def validate(self) -> None:
        scale = self.length_scale
        if not (scale == "auto" if isinstance(scale, str) else is_number(scale)):
            raise TypeError(f'length_scale={scale!r}: give a number > 0, or "auto".')
        if is_number(scale) and not 0 < scale < np.inf:
            raise ValueError(f"length_scale={scale!r}: give a finite number > 0.")

    def bind(self, X: Series, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        self.validate()
        if is_number(self.length_scale):
            return self
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        of_points = None if sample_weight is None else np.repeat(weights, X.lengths)
        gap = median_distance(Minkowski(2), X.values, of_points)
        length = weighted_median(X.lengths.astype(np.float64), weights)
        return self.copied(length_scale=gap * float(np.sqrt(length)))

    def pair_cost(self, X: Series) -> float:
        if not len(X):
            return 0.0
        length = float(X.lengths.mean())
        columns = length if self.reach == 0 else min(length, 2.0 * self.reach)
        return (8.0 + X.channels) * length * columns

    def prepare(self, X: Series, like: Prepared | None = None) -> Prepared:
        return X if isinstance(X, Prepared) else Prepared((X, self._logs(X, X, own_pairs(X))))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        same = X is Z
        X, Z = self.sides(X, Z)
        (x, own_x), (z, own_z) = X.parts, Z.parts
        L = self._matrix(x, x if same else z) - own_x[:, None] / 2 - own_z / 2
        if same:
            np.fill_diagonal(L, 0)
        return np.exp(np.minimum(L, 0)).astype(np.result_type(x.dtype, z.dtype))

    def diag(self, X: Prepared) -> np.ndarray:
        return np.ones(X.shape[0], X.dtype)

    def log(self, X: SamplesLike, Z: SamplesLike | None = None) -> np.ndarray:
        """log k of raw data, before it is normalised: (n, n) or (n, m); -inf for 0."""
        self.validate()
        training = self.encode(X if Z is None else Z)
        new = training if Z is None or Z is X else self.encode(X, like=training)
        return self.bind(training)._matrix(new, training)

    def _matrix(self, X: Series, Z: Series) -> np.ndarray:
        """Logarithms of the kernel of all pairs."""
        n, m = len(X), len(Z)
        if Z is not X:
            return self._logs(X, Z, all_pairs(n, m)).reshape(n, m)
        i, j = np.tril_indices(n)
        L = np.empty((n, n))
        L[i, j] = L[j, i] = self._logs(X, X, np.stack([i, j], axis=1))
        return L

    @property
    def _scale(self) -> float:
        """What multiplies squared gaps."""
        if isinstance(self.length_scale, str):
            raise ValueError(
                f"length_scale={self.length_scale!r} is learnt from the training sample: call "
                f"{type(self).__name__}().bind(X) first (learners call it), or give a number."
            )
        return 0.5 / float(self.length_scale) ** 2


class GlobalAlignment(AlignmentSum):
    r"""Global alignment kernel, normalised: :math:`k(x, z) / \sqrt{k(x, x) \, k(z, z)}` with

    .. math::
        k(x, z) = \sum_\pi \prod_{(i, j) \in \pi} \kappa(x_i, z_j), \quad
        \kappa = \frac{\omega g}{2 - \omega g}, \quad
        g = e^{-\|x_i - z_j\|^2 / 2 \sigma^2}

    over all alignments π of the points, where ω = 1, or :math:`\max(0, 1 - |i - j| / T)`.

    Parameters
    ----------
    length_scale : float > 0 or "auto", default="auto"
        σ, in the unit of the values. "auto" is the median distance between points of the training
        sample times the root of the median length.
    triangle : int >= 1 or None, default=None
        T: only points less than T steps apart are aligned, which is faster, and series whose
        lengths differ by T or more have the value 0. None: ω = 1.

    See Also
    --------
    mercer.distances.DTW : The best alignment alone, which gives no positive semidefinite kernel.

    Notes
    -----
    It is positive semidefinite. All sums are kept in logarithms or with an exponent, so that values
    are right for series of any length; ``log`` returns log k before it is normalised. A pair takes
    n m d operations and n m exponentials, or about 2 T n with a triangle.

    Values of long series may all be close to 1, or to 0: change ``length_scale`` then.

    References
    ----------
    Cuturi, "Fast global alignment kernels", ICML 2011.

    Examples
    --------
    >>> kernel = GlobalAlignment(1.0)
    >>> kernel([[0.0, 1.0, 2.0]], [[0.0, 0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]).round(4)
    array([[0.7109, 0.0057]])
    >>> kernel.log([np.zeros(1000)]).round(2)
    array([[1756.97]])
    """

    meaning = Meaning(
        "Σ over alignments Π κ(xᵢ, zⱼ)",
        "how well two series fit each other, over all ways to stretch them",
    )

    free = ("length_scale",)

    def __init__(self, length_scale: float | str = "auto", triangle: int | None = None):
        self.length_scale = length_scale
        self.triangle = triangle

    def validate(self) -> None:
        super().validate()
        if not (self.triangle is None or (is_whole(self.triangle) and self.triangle >= 1)):
            raise ValueError(f"triangle={self.triangle!r}: give an integer >= 1, or None.")

    @property
    def reach(self) -> int:
        return int(self.triangle or 0)

    def _logs(self, X: Series, Z: Series, pairs: np.ndarray) -> np.ndarray:
        return path_sums(X, Z, pairs, self._scale, "halved", self.reach)


class KDTW(AlignmentSum):
    r"""Regularised kernel of dynamic time warping: :math:`k(x, z) / \sqrt{k(x, x) \, k(z, z)}` with

    .. math::
        k(x, z) = \sum_\pi \prod_{(i, j) \in \pi} \frac{g(x_i, z_j)}{3} +
        \frac{[n = m]}{2} \prod_{i=1}^{n} \frac{2 \, g(x_i, z_i)}{3 - g(x_i, z_i)}, \quad
        g(a, b) = e^{-\|a - b\|^2 / 2 \sigma^2}

    over all alignments π of the n and m points of x and z.

    Parameters
    ----------
    length_scale : float > 0 or "auto", default="auto"
        σ, in the unit of the values. "auto" is the median distance between points of the training
        sample times the root of the median length.
    window : int >= 0 or None, default=None
        Points are aligned whose places are at most so many steps apart, which is faster; series
        whose lengths differ by more have the value 0. None: all points.

    See Also
    --------
    GlobalAlignment : The sum over alignments with another similarity of points, and no other term.
    mercer.distances.DTW : The best alignment alone, which gives no positive semidefinite kernel.

    Notes
    -----
    It is positive semidefinite. The sum alone is not: its matrix has negative eigenvalues where
    points are near to each other. The second term is what series give when one alignment repeats
    the points of both, summed over the alignments of series of n points with series of any length;
    with it, k is a sum of inner products.

    Marteau and Gibet write this term as a recursion, in which all steps to place i have the factor
    :math:`g(x_i, z_i) / 3`. Their matrices may have slightly negative eigenvalues, of -3e-6 times
    the largest diagonal value in a sample of series of two and three points; those of this kernel
    do not. This term is most of k(x, x), and series of different lengths do not have it, so that
    they have little in common: bring them to one length first, or take `GlobalAlignment`.

    All sums are kept in logarithms or with an exponent; ``log`` returns log k before it is
    normalised. A pair takes n m d operations and n m exponentials, or about 2 window n with a
    window.

    References
    ----------
    Marteau & Gibet, "On recursive edit distance kernels with application to time series
    classification", IEEE TNNLS 26, 2015.

    Examples
    --------
    >>> kernel = KDTW(1.0)
    >>> kernel([[0.0, 1.0, 2.0]], [[0.0, 0.0, 1.0, 2.0], [0.0, 1.0, 1.0], [2.0, 1.0, 0.0]]).round(4)
    array([[0.0808, 0.5226, 0.0103]])
    """

    meaning = Meaning(
        "Σ over alignments Π g(xᵢ, zⱼ) / 3, and one term more",
        "how well two series fit each other, over all ways to stretch them and point by point",
    )

    free = ("length_scale",)

    def __init__(self, length_scale: float | str = "auto", window: int | None = None):
        self.length_scale = length_scale
        self.window = window

    def validate(self) -> None:
        super().validate()
        if not (self.window is None or (is_whole(self.window) and self.window >= 0)):
            raise ValueError(f"window={self.window!r}: give an integer >= 0, or None.")

    @property
    def reach(self) -> int:
        return 0 if self.window is None else int(self.window) + 1

    def _logs(self, X: Series, Z: Series, pairs: np.ndarray) -> np.ndarray:
        return path_sums(X, Z, pairs, self._scale, "third", self.reach)


class SoftDTWRBF(Falling):
    r"""Gaussian kernel of the soft-DTW divergence

    .. math:: k(x, z) = \exp(-\gamma \rho(x, z)) .

    Parameters
    ----------
    gamma : float > 0, default=1.0
        The factor γ, in units of 1 / squared gap.
    smoothing : float > 0, default=1.0
        The smoothing of `mercer.distances.SoftDTW`, whose divergence is ρ.

    See Also
    --------
    GlobalAlignment : A positive semidefinite kernel.

    Notes
    -----
    It is not positive semidefinite in general; `check_mercer` tests it on a sample, and `repair`
    corrects a matrix.

    References
    ----------
    Blondel, Mensch & Vert, "Differentiable divergences between time series", AISTATS 2021.

    Examples
    --------
    >>> SoftDTWRBF(0.5)([[0.0, 1.0]], [[0.0, 1.0], [0.0, 3.0]]).round(4)
    array([[1.    , 0.1379]])
    """

    meaning = Meaning(
        "exp(−γ softdtw(x, z))", "1 for equal series, falling with the gap that stretching leaves"
    )

    positive_definite = False  # type: ignore[assignment]
    power = 1.0

    def __init__(self, gamma: float = 1.0, smoothing: float = 1.0):
        self.gamma = gamma
        self.smoothing = smoothing

    @property
    def rate(self) -> float:
        return float(self.gamma)

    @property
    def distance(self) -> Distance:
        return SoftDTW(self.smoothing)

    def validate(self) -> None:
        check_positive("gamma", self.gamma)
        self.distance.validate()
