"""Distances and kernels of series: all alignments one by one, limits, and what they are not."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.distances import DTW, ERP, MSM, TWED, SoftDTW
from mercer.kernels import KDTW, FromDistance, GlobalAlignment, SoftDTWRBF, check_mercer

rng = np.random.default_rng(3)
WALKS = [rng.normal(size=n).cumsum() for n in rng.integers(3, 30, 40)]


@cache
def alignments(n, m):
    """All ways from cell (0, 0) to (n - 1, m - 1) by steps down, right and diagonal."""
    if (n, m) == (1, 1):
        return [((0, 0),)]
    before = [(n - 1, m - 1), (n - 1, m), (n, m - 1)]
    return [(*way, (n - 1, m - 1)) for a, b in before if a and b for way in alignments(a, b)]


@pytest.mark.parametrize("d", [1, 2])
def test_sums_over_all_alignments(d):
    x, z = rng.normal(size=(5, d)), rng.normal(size=(6, d))
    ways = alignments(5, 6)
    assert len(ways) == 681  # a Delannoy number
    C = ((x[:, None] - z) ** 2).sum(axis=-1)
    costs = np.array([sum(C[cell] for cell in way) for way in ways])
    assert_allclose(DTW()([x], [z]), [[costs.min() ** 0.5]])

    def soft(ways, C):
        return -0.3 * np.log(sum(np.exp(-sum(C[c] for c in way) / 0.3) for way in ways))

    own = [soft(alignments(len(v), len(v)), ((v[:, None] - v) ** 2).sum(axis=-1)) for v in (x, z)]
    assert_allclose(SoftDTW(0.3)([x], [z]), [[soft(ways, C) - sum(own) / 2]])
    for triangle in (None, 1, 3):
        g = np.exp(-C / 2)
        if triangle:
            apart = np.abs(np.arange(5)[:, None] - np.arange(6))
            g = g * np.maximum(0, 1 - apart / triangle)
        K = g / (2 - g)
        total = sum(np.prod([K[cell] for cell in way]) for way in ways)
        with np.errstate(divide="ignore"):
            assert_allclose(GlobalAlignment(1.0, triangle).log([x], [z]), [[np.log(total)]])
    for window in (None, 1, 2):
        K = np.exp(-C / 2) / 3
        if window:
            K = K * (np.abs(np.arange(5)[:, None] - np.arange(6)) <= window)
        total = sum(np.prod([K[cell] for cell in way]) for way in ways)
        assert_allclose(KDTW(1.0, window).log([x], [z]), [[np.log(total)]])


@pytest.mark.parametrize(("d", "nu", "lam"), [(1, 0.001, 1.0), (1, 0.3, 0.0), (2, 0.1, 0.4)])
def test_twed_is_the_cheapest_of_all_ways_that_match_the_first_points(d, nu, lam):
    """Marteau's costs with times, of every sequence of matches and deletions.

    A way that began with a deletion would lead through an infinite border of the recursion: some
    would be cheaper.
    """
    random = np.random.default_rng(11)
    cheaper = 0
    for n, m in [(1, 1), (1, 4), (4, 1), (3, 5), (5, 5), (5, 4)]:
        x, z = random.normal(size=(n, d)), random.normal(size=(m, d))
        if n == m + 1:  # z is x without its first point, which is near the 0 before it
            z += 3
            x[0], x[1:] = 0.01, z
        a, b = (np.vstack([np.zeros((1, d)), v]) for v in (x, z))
        s, t = np.arange(n + 1), np.arange(m + 1)

        def least(i, j, borders, a=a, b=b, s=s, t=t):
            if i == j == 0:
                return 0.0
            if not (i and j) and not borders:
                return np.inf
            ways = []
            if i and j:
                apart = np.linalg.norm(a[i] - b[j]) + np.linalg.norm(a[i - 1] - b[j - 1])
                late = abs(s[i] - t[j]) + abs(s[i - 1] - t[j - 1])
                ways.append(least(i - 1, j - 1, borders) + apart + nu * late)
            if i:
                gone = np.linalg.norm(a[i] - a[i - 1]) + nu * (s[i] - s[i - 1]) + lam
                ways.append(least(i - 1, j, borders) + gone)
            if j:
                gone = np.linalg.norm(b[j] - b[j - 1]) + nu * (t[j] - t[j - 1]) + lam
                ways.append(least(i, j - 1, borders) + gone)
            return min(ways)

        assert_allclose(TWED(nu, lam)([x], [z]), [[least(n, m, False)]], rtol=1e-12)
        cheaper += least(n, m, True) < least(n, m, False) - 1e-9
    assert cheaper


def test_soft_dtw_tends_to_the_sum_of_dtw():
    x, z = WALKS[:2]
    gaps = [float(SoftDTW(s)([x], [z])[0, 0] - DTW()([x], [z])[0, 0] ** 2) for s in (1.0, 1e-3)]
    assert abs(gaps[1]) < 1e-3 * (len(x) + len(z)) * np.log(3)


def test_a_triangle_of_one_point_is_a_product_and_a_wide_one_none():
    x, z = np.array([0.0, 1.0]), np.array([0.5, 3.0])
    g = np.exp(-((x - z) ** 2) / 2)
    assert_allclose(GlobalAlignment(1.0, 1).log([x], [z]), [[np.log(g / (2 - g)).sum()]])
    assert GlobalAlignment(1.0, 1)([x], [[0.5]]) == 0
    wide = GlobalAlignment(1.0, 10**9)(WALKS[:5])
    assert_allclose(wide, GlobalAlignment(1.0)(WALKS[:5]), rtol=1e-4)


def test_the_second_term_of_kdtw_is_a_sum_over_alignments_with_all_lengths():
    """Of both series repeated as an alignment says, which makes k a sum of inner products."""
    x, z = np.array([0.0, 1.0, 0.5, 2.0]), np.array([0.5, 1.5, 0.5, 0.0])
    g = np.exp(-((x - z) ** 2) / 2) / 3
    sums = np.zeros((5, 200))  # over alignments of the first i points with a series of j points
    sums[0, 0] = 1
    for i in range(1, 5):
        for j in range(1, 200):
            sums[i, j] = g[i - 1] * (sums[i - 1, j] + sums[i, j - 1] + sums[i - 1, j - 1])
    C = (x[:, None] - z) ** 2
    K = np.exp(-C / 2) / 3
    own = sum(np.prod([K[cell] for cell in way]) for way in alignments(4, 4))
    assert_allclose(KDTW(1.0).log([x], [z]), [[np.log(own + sums[4].sum())]])


def published(x, z, scale):
    """Marteau and Gibet's two recursions."""
    n, m = len(x), len(z)
    g = np.exp(-((x[:, None] - z) ** 2) / (2 * scale**2)) / 3
    at = np.zeros(max(n, m))
    at[: min(n, m)] = g.diagonal()
    K = np.zeros((2, n + 1, m + 1))
    K[:, 0, 0] = 1
    for i in range(n):
        for j in range(m):
            diagonal, above, left = K[:, i, j], K[:, i, j + 1], K[:, i + 1, j]
            K[0, i + 1, j + 1] = g[i, j] * (diagonal[0] + above[0] + left[0])
            K[1, i + 1, j + 1] = (
                at[i] * above[1] + at[j] * left[1] + (i == j) * g[i, j] * diagonal[1]
            )
    return K[:, n, m].sum()


def test_kdtw_is_positive_semidefinite_where_the_published_recursions_are_not():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=n) for n in [2] * 30 + [3] * 30]
    for scale in (1.0, 2.2, 7.0):
        L = KDTW(scale).log(X)
        assert np.linalg.eigvalsh(np.exp(L))[0] > -1e-15
        assert check_mercer(KDTW(scale), X).positive_definite
    K = np.array([[published(x, z, 2.2) for z in X] for x in X])
    root = np.sqrt(K.diagonal())
    assert np.linalg.eigvalsh(K / root / root[:, None])[0] < -1e-7
    for window in (0, 1):
        assert check_mercer(KDTW(2.2, window), X).positive_definite


def test_long_series_have_finite_logarithms():
    X = [rng.normal(size=n).cumsum() for n in (500, 400)]
    L = GlobalAlignment(1.0).log(X)
    assert np.isfinite(L).all()
    assert L.min() < -1000  # far below what a float holds
    K = GlobalAlignment("auto")(X)
    assert np.isfinite(K).all()
    L = KDTW(1.0).log(X)
    assert L[0, 1] < -1000 < np.diag(L).min()
    assert np.isfinite(KDTW()(X)).all()
    # all paths of equal points: their number, times κ = 1
    assert_allclose(GlobalAlignment(1.0).log([np.zeros(1000)]), 1756.973506613141)


@pytest.mark.parametrize("scale", [0.02, 0.1, 0.3])
def test_numbers_with_exponents_and_logarithms_agree(scale):
    """Near the similarity from which on logarithms are used, and in a series that mixes both."""
    x, z = WALKS[0] / 10, WALKS[1] / 10
    z = np.concatenate([z, z[-1:] + 1.0])
    for kernel in (GlobalAlignment(scale), KDTW(scale)):
        together = kernel.log([x, 1e3 * x], [z])  # in one group of the native loop
        assert_allclose(together[0], kernel.log([x], [z])[0], rtol=1e-12)


def test_series_whose_lengths_differ_by_more_than_the_window_are_endless():
    D = DTW(window=2)([[1.0] * 5], [[1.0] * 7, [1.0] * 8])
    assert_array_equal(D, [[0, np.inf]])
    assert FromDistance(DTW(2))([[1.0] * 5], [[1.0] * 8]) == 0


@pytest.mark.parametrize("rho", [DTW(), DTW(0.2), DTW(3), ERP(), MSM(), TWED()], ids=repr)
def test_limits_keep_what_is_near(rho):
    X, Z = rho.encode(WALKS[:20]), rho.encode(WALKS[20:])
    exact = rho.raw(X, Z)
    limit = float(np.median(exact))
    D = rho.within(X, Z, limit)
    assert_array_equal(D[exact <= limit], exact[exact <= limit])
    assert (D[exact > limit] > limit).all()


@pytest.mark.parametrize("rho", [DTW(), DTW(2), DTW(0.1)], ids=repr)
def test_bounds_are_below_the_distance(rho):
    X = rho.encode([*WALKS, *rng.normal(size=(10, 20)).cumsum(axis=1)])
    bounds = rho.bounds(X, X)
    assert (bounds <= rho.raw(X, X)).all()
    assert (bounds > 0).any()


@pytest.mark.parametrize("rho", [ERP(), MSM(), TWED()], ids=repr)
def test_edit_distances_satisfy_the_triangle_inequality(rho):
    D = rho(WALKS)
    detours = (D[:, :, None] + D).min(axis=1)
    assert (detours + 1e-9 >= D).all()


def test_dtw_does_not_satisfy_the_triangle_inequality():
    D = DTW()(WALKS)
    detours = (D[:, :, None] + D).min(axis=1)
    assert (detours + 1e-9 < D).any()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.75, 0.99])
def test_a_share_is_of_the_longer_series_rounded_down(share):
    x, z = np.random.default_rng(2).normal(size=(2, 20)).cumsum(axis=1)
    points = int(np.floor(share * 20))
    assert_array_equal(DTW(share)([x], [z]), DTW(points)([x], [z]))
    step = np.r_[np.zeros(points + 1), np.ones(19 - points)]  # to be moved by more than that
    assert_array_equal(DTW(share)([step], [1 - step[::-1]]), DTW(points)([step], [1 - step[::-1]]))
    assert DTW(share)([x], [z]) < DTW(0)([x], [z])


def test_windows_of_unequal_lengths_in_one_group_keep_apart():
    X = DTW(2).encode(WALKS)
    alone = [[DTW(2).raw(X[[i]], X[[j]])[0, 0] for j in range(20)] for i in range(5)]
    assert_array_equal(DTW(2).raw(X[:5], X[:20]), alone)


def test_which_kernels_are_positive_semidefinite():
    near = np.random.default_rng(0).normal(size=(60, 8))
    assert GlobalAlignment.positive_definite
    assert check_mercer(GlobalAlignment(1.0), list(near)).positive_definite
    assert check_mercer(GlobalAlignment(3.0, triangle=4), WALKS).positive_definite
    for rho in (DTW(), MSM(), TWED(), ERP()):
        kernel = FromDistance(rho, 0.01)
        assert kernel.positive_definite is None
        assert not check_mercer(kernel, list(near)).positive_definite
    assert SoftDTWRBF.positive_definite is False
    assert not check_mercer(SoftDTWRBF(0.02, 0.1), list(near)).positive_definite


@pytest.mark.parametrize(
    "wrong",
    [DTW(-1), DTW(1.5), DTW("wide"), DTW(True), ERP(np.nan), MSM(0), TWED(0), TWED(1, -1),
     SoftDTW(0), GlobalAlignment(-1.0), GlobalAlignment("median"), GlobalAlignment(1.0, 0),
     SoftDTWRBF(0), SoftDTWRBF(1.0, -1), KDTW("median"), KDTW(0), KDTW(1.0, -1), KDTW(1.0, 0.5)],
    ids=repr,
)  # fmt: skip
def test_wrong_parameters_are_named(wrong):
    with pytest.raises((TypeError, ValueError), match=r"\w+='?[\w.-]+'?: (give|must)"):
        wrong([[1.0, 2.0]])


def test_a_scale_that_was_not_learnt_is_named():
    kernel = GlobalAlignment()
    X = kernel.encode([[1.0]])
    with pytest.raises(ValueError, match="length_scale='auto' is learnt"):
        kernel.block(X, X)
    assert kernel.bind(X).length_scale == 1  # a single point has no gaps
