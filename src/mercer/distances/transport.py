"""Distances between bags of points, as between distributions, by optimal transport.

`SlicedWasserstein` transports along lines, which needs no iteration; `Sinkhorn` with an entropy.
POT iterates that one, on many pairs at a time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from mercer.distances.base import Coordinates, Distance, Rooted
from mercer.distances.comparison import Meaning
from mercer.distances.series import by_listed_pairs, own_pairs
from mercer.distances.vectors import Minkowski
from mercer.estimator import estimator
from mercer.samples import (
    Bags,
    Prepared,
    Samples,
    as_samples,
    check_count,
    check_positive,
    is_number,
    is_whole,
)
from mercer.threads import raise_if_stopped

EUCLID = Minkowski(2)


class SlicedWasserstein(Distance):
    r"""Sliced Wasserstein distance: the root of the mean of :math:`W_2^2` between the projections
    of two bags on lines through the origin.

    In one dimension

    .. math:: W_2^2(A, B) = \int_0^1 (F_A^{-1}(q) - F_B^{-1}(q))^2 dq ,

    where :math:`F^{-1}(q)` are the quantiles of a bag. They are averaged over ``levels`` equal
    parts of [0, 1], and the directions of the lines are drawn once.

    Parameters
    ----------
    directions : int >= 1, default=64
        The lines. Points of one number have one line.
    levels : int >= 1, default=64
        The parts of [0, 1].
    random_state : int >= 0, default=0
        From it, and from the number of columns, the directions are drawn.

    See Also
    --------
    mercer.kernels.MeanMap : Compares bags by a kernel on their points.

    Notes
    -----
    It is the Euclidean distance of ``directions`` x ``levels`` features of each bag, so that
    ``RBF(gamma, SlicedWasserstein())`` is positive semidefinite, and ``RBF("median",
    SlicedWasserstein())`` learns γ. It is 0 for bags with equal means of quantiles. With a number
    of levels that all sizes of bags divide, it is exact for the given lines; else it is a lower
    bound. A bag of n points takes n log n operations for each direction, and a pair one product of
    its features.

    References
    ----------
    Bonneel, Rabin, Peyré & Pfister, "Sliced and Radon Wasserstein barycenters of measures", Journal
    of Mathematical Imaging and Vision 51, 2015.
    Kolouri, Zou & Rohde, "Sliced Wasserstein kernels for probability distributions", CVPR 2016.

    Examples
    --------
    >>> bags = [[[0.0], [1.0]], [[2.0], [3.0]], [[1.0], [0.0]]]
    >>> SlicedWasserstein()(bags)
    array([[0., 2., 0.],
           [2., 0., 2.],
           [0., 2., 0.]])
    """

    meaning = Meaning("SW₂(x, z)", "how far the points of one bag are moved to those of the other")
    kind = "bags"
    exponent = 2.0
    definite_up_to = 2.0
    metric = True

    def __init__(self, directions: int = 64, levels: int = 64, random_state: int = 0):
        self.directions = directions
        self.levels = levels
        self.random_state = random_state

    def validate(self) -> None:
        for name in ("directions", "levels"):
            value = getattr(self, name)
            check_count(name, value, optional=False)
        if not (is_whole(self.random_state) and 0 <= self.random_state < 2**32):
            raise ValueError(
                f"random_state={self.random_state!r}: give a whole number from 0 to 2**32 - 1."
            )

    def prepare(self, X: Bags, like: Prepared | None = None) -> Prepared:
        if isinstance(X, Prepared):
            return X
        F = self.features(X)
        return Prepared((EUCLID.prepare(F, None if like is None else like.parts[0]),))

    def raw(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        (x,), (z,) = X.parts, Z.parts
        return EUCLID.raw(x, z)

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        return np.sqrt(self.raw(X, Z))

    def coordinates(self, X: Bags) -> Coordinates:
        return Coordinates(np.asarray(self.features(X)), 2.0, None)

    def features(self, X: Bags) -> Any:
        """Vectors whose Euclidean distances are those of the bags, (n, directions x levels)."""
        lines = self._lines(X.columns)
        scale = 1 / np.sqrt(len(lines) * int(self.levels))
        F = np.empty((len(X), len(lines) * int(self.levels)))
        shares = np.arange(int(self.levels) + 1) / int(self.levels)
        for i in range(len(X)):
            S = np.sort(X.values[X.starts[i] : X.starts[i + 1]] @ lines.T, axis=0)
            F[i] = _mean_quantiles(S, shares).T.ravel() * scale
        return as_samples(F.astype(X.dtype, copy=False))

    def _lines(self, columns: int) -> np.ndarray:
        """Directions of length 1, (directions, d)."""
        if columns == 1:
            return np.ones((1, 1))
        rng = np.random.default_rng([int(self.random_state), columns])
        W = rng.standard_normal((int(self.directions), columns))
        return W / np.linalg.norm(W, axis=1, keepdims=True)


def _mean_quantiles(S: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The means of the quantiles of sorted columns S (n, L) between neighbouring shares."""
    n = len(S)
    whole = np.concatenate([np.zeros((1, S.shape[1])), np.cumsum(S, axis=0)])
    at = shares * n
    low = np.minimum(at.astype(np.int64), n - 1)
    # the integral of the quantile function from 0 to each share, times n
    upto = whole[low] + (at - low)[:, None] * S[low]
    return np.diff(upto, axis=0) * ((len(shares) - 1) / n)


SHARE = 0.05  # of the mean squared distance of two points: regularisation="auto"
CELLS = 2**18  # numbers of the costs of all pairs that are iterated together, 2 MB
SMALL, GROWTH = 8, 1.5  # bags are filled up to the end of their class of sizes: 8, 12, 18 ...
FIRST = 10  # iterations before it is asked which pairs are done; then as many more, and so on
NEVER = -1e30  # in place of -cost / ε for points of weight 0; infinity would give NaN
STEEPEST = 1e10  # a cost divided by the regularisation, beyond which rounding decides


@estimator
class Sinkhorn(Rooted):
    r"""Sinkhorn divergence: the root of the least work that moves the points of one bag to those
    of another, where spreading out is free up to an entropy,

    .. math::
        \rho(A, B)^2 &= T_\varepsilon(A, B) - \tfrac12 T_\varepsilon(A, A)
        - \tfrac12 T_\varepsilon(B, B), \\
        T_\varepsilon(A, B) &= \min_P \sum_{ij} P_{ij} \|a_i - b_j\|^2
        + \varepsilon \sum_{ij} P_{ij} \log \frac{P_{ij}}{u_i v_j},

    over the matrices P >= 0 whose rows sum to the weights u of the points of A, and whose columns
    to those v of B. The weights of a bag sum to 1.

    Parameters
    ----------
    regularisation : float > 0 or "auto", default="auto"
        ε, in the unit of a squared distance: the smaller, the nearer to the Wasserstein distance,
        and the more iterations. "auto" is a twentieth of the mean squared distance of two points
        of the training bags.
    weight_column : int, optional
        The column of the points that holds their weights, which are numbers >= 0; the others are
        their places. -1 is the last column. None: all points of a bag weigh the same.
    max_iter : int >= 1, default=1000
        The most iterations for a pair.
    tol : float > 0, default=1e-4
        An iteration is the last one if the sums of rows are so near to the weights (Euclidean
        distance).

    See Also
    --------
    SlicedWasserstein : Transport along lines, faster and with a positive semidefinite kernel.

    Raises
    ------
    ImportError
        POT is not installed: ``pip install "mercer[objects]"``.
    ValueError
        A weight is negative, all weights of a bag are 0, or the regularisation is too small for
        the distances between points; the message names the bag.

    Warns
    -----
    ConvergenceWarning
        ``max_iter`` was too small for some pairs.

    Notes
    -----
    The two terms that are taken off make it 0 for equal bags, and at least 0; without them two
    equal bags have some distance. For ε → 0 it is the Wasserstein distance W₂, and for ε → ∞ the
    distance between the means of the bags. The triangle inequality need not hold, so it is no
    metric. It is no distance of a Hilbert space either: exp(-γ ρ²) is in general not positive
    semidefinite, and of exp(-γ ρ) it is not known; `check_mercer` tests them on a sample. Use
    `SlicedWasserstein` where a kernel machine needs this.

    Iterations are those of POT in logarithms, so that no small ε gives 0 or NaN. An iteration for
    bags of n and m points takes 2 n m exponentials; there are ten to some hundred for "auto", and
    the more, the smaller ε is. A matrix of N bags takes N (N + 1) / 2 such problems, which are
    solved many at a time. All is computed in float64.

    References
    ----------
    Cuturi, "Sinkhorn distances: lightspeed computation of optimal transport", NIPS 2013.
    Feydy, Séjourné, Vialard, Amari, Trouvé & Peyré, "Interpolating between optimal transport and
    MMD using Sinkhorn divergences", AISTATS 2019.
    Flamary et al., "POT: Python optimal transport", Journal of Machine Learning Research 22, 2021.

    Examples
    --------
    >>> bags = [[[0.0], [1.0]], [[2.0], [3.0]], [[1.0], [0.0]]]
    >>> Sinkhorn(0.1)(bags).round(3)
    array([[0., 2., 0.],
           [2., 0., 2.],
           [0., 2., 0.]])

    The same points, where the second column holds their weights:

    >>> Sinkhorn(0.1, weight_column=1)([[[0.0, 1], [1.0, 1]], [[0.0, 3], [1.0, 1]]]).round(3)
    array([[0.   , 0.457],
           [0.457, 0.   ]])
    """

    meaning = Meaning(
        "S_ε(x, z)", "the work of moving the points of one bag to those of the other, smoothed"
    )
    kind = "bags"
    exponent = 2.0
    metric = False

    regularisation: float | str = "auto"
    weight_column: int | None = None
    max_iter: int = 1000
    tol: float = 1e-4

    def validate(self) -> None:
        given = self.regularisation
        if given != "auto" and not (is_number(given) and 0 < given < np.inf):
            raise ValueError(f'regularisation={given!r}: give a finite number > 0, or "auto".')
        if not (self.weight_column is None or is_whole(self.weight_column)):
            raise ValueError(
                f"weight_column={self.weight_column!r}: give the number of a column, or None for "
                "equal weights."
            )
        check_count("max_iter", self.max_iter, optional=False)
        check_positive("tol", self.tol)

    def check(self, X: Bags, like: Samples | None = None) -> None:
        column, columns = self.weight_column, X.columns
        if column is None:
            return
        if columns < 2 or not -columns <= column < columns:
            raise ValueError(
                f"weight_column={column}, but points have {columns} numbers: give a column from "
                f"{-columns} to {columns - 1}, of points that have a place besides."
            )
        weights = X.values[:, column]
        totals = np.add.reduceat(weights, X.starts[:-1])
        lost = np.flatnonzero((weights < 0) | (np.repeat(totals, X.lengths) <= 0))
        if len(lost):
            i = int(np.searchsorted(X.starts, lost[0], side="right")) - 1
            said = (
                f"point {lost[0] - X.starts[i]} of X[{i}] has the weight {weights[lost[0]]:g}"
                if weights[lost[0]] < 0
                else f"all points of X[{i}] have the weight 0"
            )
            raise ValueError(
                f"weight_column={column}: {said}: give weights >= 0, and one > 0 in each bag."
            )

    def bind(self, X: Bags, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        self.validate()
        if self.regularisation != "auto":
            return self
        places, weights = self._points(X)
        mass = weights if sample_weight is None else weights * np.repeat(sample_weight, X.lengths)
        mass = mass / mass.sum()
        spread = float(mass @ ((places - mass @ places) ** 2).sum(axis=1))
        return self.copied(regularisation=2 * SHARE * spread or 1.0)

    def prepare(self, X: Any, like: Samples | None = None) -> Prepared:
        return X if isinstance(X, Prepared) else Prepared((X, self._works(X, X, own_pairs(X))))

    def raw(self, X: Any, Z: Any) -> np.ndarray:
        return by_listed_pairs(self, X, Z)

    def of_pairs(self, X: Any, Z: Any, pairs: np.ndarray, limits: np.ndarray) -> np.ndarray:
        X, Z = self.sides(X, Z)
        ((x, own_x), (z, own_z)), (i, j) = (X.parts, Z.parts), pairs.T
        return np.maximum(self._works(x, z, pairs) - own_x[i] / 2 - own_z[j] / 2, 0)

    def _points(self, X: Bags) -> tuple[np.ndarray, np.ndarray]:
        """Places of all points, and their weights, which sum to 1 in each bag."""
        if self.weight_column is None:
            return X.values, np.repeat(1 / X.lengths, X.lengths)
        weights = X.values[:, self.weight_column]
        totals = np.repeat(np.add.reduceat(weights, X.starts[:-1]), X.lengths)
        return np.delete(X.values, int(self.weight_column), axis=1), weights / totals

    def _works(self, X: Bags, Z: Bags, pairs: np.ndarray) -> np.ndarray:
        """T of each pair (i, j) of bags of X and Z."""
        iterate, own = _iterations(), Z is X and bool((pairs[:, 0] == pairs[:, 1]).all())
        epsilon = float(self.regularisation)
        x = _Side(*self._points(X), X.starts)
        z = x if Z is X else _Side(*self._points(Z), Z.starts)
        out, gaps = np.empty(len(pairs)), np.zeros(len(pairs))
        for some in _alike(X.lengths[pairs[:, 0]], Z.lengths[pairs[:, 1]]):
            a, u = x.filled_up(pairs[some, 0])
            b, v = z.filled_up(pairs[some, 1])
            with np.errstate(over="ignore", invalid="ignore"):  # refused below
                K = _squared(a, b) / -epsilon
            self._refuse(K, pairs[some])
            K[(u == 0)[:, :, None] | (v == 0)[:, None, :]] = NEVER
            f, g, gaps[some] = self._potentials(iterate, K, u, v, own)
            # the dual value: columns sum to their weights, so it is at most the least work
            out[some] = epsilon * (_mean_above(f, u) + _mean_above(g, v))
        late = int((gaps > self.tol).sum())
        if late:
            warnings.warn(
                f"Sinkhorn stopped at max_iter={self.max_iter} for {late:,} of {len(pairs):,} "
                f"pairs of bags, whose weights are up to {gaps.max():.1e} off (tol={self.tol:g}): "
                "give more iterations, a larger tol or a larger regularisation.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return out

    def _potentials(
        self, iterate: Callable[..., dict], K: np.ndarray, u: np.ndarray, v: np.ndarray, own: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Logarithms f and g of the factors such that exp(K + f + g) has the sums u and v, and how
        far from u its sums are. Overwrites K. ``own``: each bag is compared with itself."""
        f, g, gaps = np.zeros(u.shape), np.zeros(v.shape), np.full(len(K), np.inf)
        rows, done, steps = np.arange(len(K)), 0, FIRST
        # the second round begins with much entropy, for a good start where ε is small
        steepest = -K.min(where=K > NEVER, initial=0)
        scales = [1.0, *4.0 ** np.arange(int(np.log(1 + steepest) / np.log(4)), 0, -1)]
        while len(rows) and done < self.max_iter:
            raise_if_stopped()
            scale = scales.pop(0) if scales else 1.0
            steps = min(steps, int(self.max_iter) - done)
            if own and done:  # f = g in the end, and between the two sides lies what is slow to go
                half = (g[rows] - f[rows]) / 2
                f[rows] += half
                g[rows] -= half
                K[rows] += half[:, :, None] - half[:, None, :]
            with np.errstate(divide="ignore"):  # points of weight 0 have the logarithm -inf
                found = iterate(
                    K[rows] / scale,
                    u[rows],
                    v[rows],
                    max_iter=steps,
                    tol=float(self.tol),
                    grad=None,
                )
            more = [np.where(np.isfinite(p), scale * p, 0.0) for p in found["potentials"]]
            f[rows] += more[0]
            g[rows] += more[1]
            K[rows] += more[0][:, :, None] + more[1][:, None, :]
            done += steps
            if scale == 1:
                gaps[rows] = np.sqrt(((found["T"].sum(axis=2) - u[rows]) ** 2).sum(axis=1))
                # POT goes on for all pairs until the last is done: those that are done leave here
                rows = rows[gaps[rows] > self.tol]
                steps = FIRST if scales or own else 2 * steps
        return f, g, gaps

    def _refuse(self, K: np.ndarray, pairs: np.ndarray) -> None:
        """Refuse a regularisation so small that rounding would decide the result."""
        steepest = -K.min(axis=(1, 2))
        wrong = ~(steepest <= STEEPEST)
        if wrong.any():
            k = int(wrong.argmax())
            i, j = pairs[k].tolist()
            raise ValueError(
                f"regularisation={self.regularisation:g} is too small for points as far apart as "
                f"those of the bags {i} and {j}: their largest squared distance is "
                f"{steepest[k]:.3g} times as large. Give a larger one, or scale the columns."
            )


class _Side(NamedTuple):
    """The points of all bags of one side."""

    places: np.ndarray
    weights: np.ndarray
    starts: np.ndarray

    def filled_up(self, bags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bags as arrays (k, n, d) and (k, n): the smaller ones repeat a point of weight 0."""
        first, sizes = self.starts[bags], np.diff(self.starts)[bags]
        steps = np.arange(sizes.max())
        inside = steps < sizes[:, None]
        at = first[:, None] + np.where(inside, steps, 0)
        return self.places[at], np.where(inside, self.weights[at], 0.0)


def _alike(n: np.ndarray, m: np.ndarray) -> Iterator[np.ndarray]:
    """The numbers of pairs, in groups of bags of similar sizes, which are not too large."""
    classes = [
        np.ceil(np.log(np.maximum(size / SMALL, 1)) / np.log(GROWTH)).astype(np.int64)
        for size in (n, m)
    ]
    order = np.lexsort(classes)
    changes = np.flatnonzero(np.diff(classes[0][order]) | np.diff(classes[1][order])) + 1
    for group in np.split(order, changes) if len(order) else []:
        most = max(1, int(CELLS / (float(n[group].max()) * float(m[group].max()))))
        yield from np.split(group, range(most, len(group), most))


def _squared(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Squared distances of the points of each pair of bags, (k, n, m)."""
    centre = a.mean(axis=1, keepdims=True)  # far from 0 the products would be rounded more
    a, b = a - centre, b - centre
    M = (a**2).sum(axis=2)[:, :, None] + (b**2).sum(axis=2)[:, None, :]
    M -= 2 * (a @ b.transpose(0, 2, 1))
    return np.maximum(M, 0, out=M)


def _mean_above(logs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted means of potentials, of which logarithms of weights are taken off, (k,)."""
    counts = weights > 0
    f = np.where(counts, logs, 0.0) - np.log(np.where(counts, weights, 1.0))
    return (weights * f).sum(axis=1)


def _iterations() -> Callable[..., dict]:
    """POT's iterations for many pairs at once."""
    try:
        from ot.batch import bregman_log_projection_batch
    except ModuleNotFoundError as error:
        raise ImportError(
            f"Sinkhorn needs POT ({error.name} is not installed): run "
            'pip install "mercer[objects]".'
        ) from error
    return bregman_log_projection_batch
