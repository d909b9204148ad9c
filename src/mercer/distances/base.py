"""The one interface of all distances."""

from __future__ import annotations

from abc import abstractmethod
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer.distances.comparison import Comparison
from mercer.samples import Samples, SamplesLike


class Coordinates(NamedTuple):
    """Rows of numbers between which a distance is Minkowski's.

    Attributes
    ----------
    rows : ndarray of shape (n, r)
        Dense and in C order, in the precision of the samples.
    p : float
    weights : ndarray of shape (r,) or None
        The same as in `mercer.distances.Minkowski`.

    Examples
    --------
    >>> place = Coordinates(np.zeros((3, 2)), 2.0, None)
    >>> place.rows.shape, place.p
    ((3, 2), 2.0)
    """

    rows: np.ndarray
    p: float
    weights: np.ndarray | None


class Norm(NamedTuple):
    r"""A power of a distance as a sum over the columns of a difference.

    Attributes
    ----------
    p : float
        ``Distance.raw`` is :math:`\sum_j |(A (x - z))_j|^p`.
    linear_map : ndarray of shape (d,) or (r, d), or None
        The map A: a factor for each column, or a matrix; None is the identity.

    Examples
    --------
    >>> from mercer.distances import Minkowski
    >>> Minkowski(3).norm
    Norm(p=3.0, linear_map=None)
    """

    p: float
    linear_map: np.ndarray | None


class Distance(Comparison):
    """A symmetric, non-negative dissimilarity ρ(x, z). Abstract: define ``block``."""

    #: whether the triangle inequality holds and ρ(x, z) = 0 only for x = z (tree search needs it)
    metric: bool = True
    #: `raw` returns ρ ** exponent
    exponent: float = 1.0
    #: whether ρ(x, x) = 0 for every x
    reflexive: bool = True
    #: whether encoded vectors may hold NaN, for numbers that are missing
    reads_missing: bool = False
    #: the largest q for which ρ ** q is known to be conditionally negative definite: exp(-γ ρ ** p)
    #: is a positive semidefinite kernel for γ > 0 and 0 < p <= q (Schoenberg 1938); 0 if unknown
    definite_up_to: float = 0.0
    #: rows of a block in which `of_pairs` computes listed pairs, which makes at most so many times
    #: as many values; 1 where a value takes longer than a call
    pair_rows: int = 4
    #: whether `gradient` can compute the derivatives of `raw`
    differentiable: bool = False
    #: what `raw` is, if it is the power of a norm of A (x - z) for vectors; None if it is not
    norm: Norm | None = None

    def raw(self, X: Samples, Z: Samples) -> np.ndarray:
        """ρ ** exponent, the form that is cheapest to compute (e.g. squared Euclidean): (n, m).

        Returns a new array, which the caller may overwrite.
        """
        return self.block(X, Z)

    def within(self, X: Samples, Z: Samples, limit: float) -> np.ndarray:
        """`raw` where it is at most ``limit``, and any number above ``limit`` elsewhere: (n, m).

        Override it if the work on pairs that are too far apart can be stopped early.
        """
        return self.raw(X, Z)

    def coordinates(self, X: SamplesLike) -> Coordinates | None:
        """Encoded samples as rows of numbers, if ρ(x, z) is the Minkowski distance of their rows.

        Searches among such rows are native loops. Equal samples must have equal rows, to the last
        bit. None (the default) means that there are no such rows.
        """
        return None

    def key(self, X: Samples) -> np.ndarray | None:
        """One number for each sample, such that abs(key(x) - key(z)) <= ρ(x, z): (n,).

        Searches leave out samples whose keys are too far apart. None means that there are no keys.
        """
        return None

    def bounds(self, X: Samples, Z: Samples) -> np.ndarray | None:
        """Numbers that `raw` is not below, much cheaper to compute: (n, m), float64.

        Exact searches compute distances by `of_pairs` in the order of these bounds, as long as they
        are below what was found. None (the default) means that there are no such bounds.
        """
        return None

    def of_pairs(self, X: Samples, Z: Samples, pairs: np.ndarray, limits: np.ndarray) -> np.ndarray:
        """`raw` of the rows i of X and j of Z for each pair (i, j), (k,), float64; any number above
        its limit where it exceeds this.

        ``pairs`` has shape (k, 2) and dtype int64. Pairs of one row i should follow each other. The
        default computes blocks of ``pair_rows`` rows i and all their rows j: override it if listed
        pairs can be computed alone.
        """
        X, Z = self.sides(X, Z)
        i, j = pairs.T
        found = np.empty(len(pairs))
        first = np.flatnonzero(np.diff(i, prepend=-1))[:: self.pair_rows]
        for start, end in pairwise([*first.tolist(), len(pairs)]):
            part = slice(start, end)
            own, here = np.unique(i[part], return_inverse=True)
            others, there = np.unique(j[part], return_inverse=True)
            D = self.within(X[own], Z[others], float(limits[part].max()))
            found[part] = D[here, there]
        return found

    def known(self, X: Samples, Z: Samples) -> sp.csr_array | None:
        """The distances between encoded samples as sparse rows, (n, m), if only these are known.

        None (the default): all distances can be computed.
        """
        return None

    # --- distances whose power is a weighted sum of terms ----------------------------------------

    def terms(self, X: Samples) -> int:
        r"""The number of terms, if `raw` is :math:`\sum_j w_j t_j(x, z)` for encoded samples X and
        a parameter ``weights``, the :math:`w_j \ge 0`; 0 if it is not."""
        return 0

    def term(self, X: SamplesLike, Z: SamplesLike, j: int) -> np.ndarray:
        """:math:`t_j` for every pair of encoded rows, (n, m)."""
        raise TypeError(
            f"{self!r} is not a weighted sum over features: give Minkowski with p < inf, Match or "
            "Mixed."
        )

    def weight_slopes(self, X: Any, Z: Any, coef: np.ndarray) -> np.ndarray:
        """Σ_ij coef[i, j] ∂raw(x_i, z_j) / ∂w for encoded samples, one number for each weight."""
        terms = range(self.terms(X))
        return np.array([np.vdot(coef, self.term(X, Z, j)) for j in terms], np.float64)

    # --- distances that are norms of a difference of vectors -------------------------------------

    def log_ball(self, columns: int) -> float | None:
        """Logarithm of the volume of {x: ρ(x, 0) <= 1}, if ρ(x, z) = ρ(x - z, 0) and, for s > 0,
        ρ(s x, 0) = s ρ(x, 0). None for other distances, and where the volume is infinite."""
        return None

    def unit_steps(self, n: int, columns: int, rng: np.random.RandomState) -> np.ndarray:
        """n random vectors v with ρ(v, 0) = 1, as those points of a uniform ball that are scaled
        to its surface: (n, columns), float64. Only where `log_ball` is a number."""
        raise TypeError(f"{self!r} has no unit ball of a finite volume.")

    # --- derivatives by the samples --------------------------------------------------------------

    def gradient(self, X: Samples, Z: Samples, weights: np.ndarray) -> np.ndarray:
        """Σ_j weights[i, j] ∂raw(x_i, z_j) / ∂x_i for each row of X, encoded vectors: (n, d).

        With the weights a_j · profile' it is the gradient of Σ_j profile(raw(x, z_j)) a_j. A term
        whose derivative does not exist (for example, p = 1 and equal coordinates) counts as 0.

        Raises
        ------
        TypeError
            If the distance is not ``differentiable``.
        """
        raise TypeError(f"{self!r} has no gradient with respect to {self.kind}.")

    def gradients(
        self, X: Samples, Z: Samples, weights: np.ndarray, coef: np.ndarray
    ) -> np.ndarray:
        """Σ_j weights[i, j] coef[j, c] ∂raw(x_i, z_j) / ∂x_i for each output c: (outputs, n, d).

        As `gradient`, for several functions with the same weights: ``coef`` has shape
        (m, outputs). Override it if they can share work.
        """
        return np.stack([self.gradient(X, Z, weights * a) for a in coef.T])


class Rooted(Distance):
    """Abstract: a distance whose power `raw` is what is computed. Define ``raw``."""

    @abstractmethod
    def raw(self, X: Samples, Z: Samples) -> np.ndarray:
        """ρ ** exponent for every pair of rows, (n, m); a new array."""

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        D = self.raw(X, Z)
        if self.exponent == 2:
            return np.sqrt(D, out=D)
        if self.exponent != 1:
            D **= 1 / self.exponent
        return D
