"""Distances of vectors, categories and mixed columns, and the weights that columns get."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from mercer import NearestNeighbors, distances as d

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(7, 3)), RNG.normal(size=(5, 3))
W = np.array([0.5, 2.0, 1.0])
S = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 0.7]])
DTYPES = {np.float64: 1e-10, np.float32: 1e-5}


def pairs(function, A=X, B=Z):
    return np.array([[function(a, b) for b in B] for a in A], float)


def agrees(distance, wanted):
    for dtype, tolerance in DTYPES.items():
        found = distance(X.astype(dtype), Z.astype(dtype))
        assert found.dtype == dtype
        assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("p", [0.5, 1, 2, 3.5])
def test_minkowski(p):
    """(Σ w_j |x_j - z_j|^p)^(1/p)."""
    agrees(d.Minkowski(p, W), pairs(lambda x, z: (W * abs(x - z) ** p).sum() ** (1 / p)))


def test_minkowski_of_the_powers_infinity_and_0():
    """Chebyshev is the limit of large p; the counting distance is Σ w_j [x_j ≠ z_j]."""
    agrees(d.Minkowski(math.inf), pairs(lambda x, z: max(abs(x - z))))
    A, B = np.round(X), np.round(Z)
    assert_allclose(d.Minkowski(0, W)(A, B), pairs(lambda x, z: (W * (x != z)).sum(), A, B))


@pytest.mark.parametrize("p", [1, 1.5, 2, math.inf])
def test_minkowski_is_a_metric_from_1_on(p):
    D = d.Minkowski(p)(X)
    assert (D[:, :, None] + D[None] >= D[:, None, :] - 1e-12).all()
    assert d.Minkowski(p).metric


def test_minkowski_below_1_is_no_metric():
    D = d.Minkowski(0.5)([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    assert D[0, 2] > D[0, 1] + D[1, 2]
    assert not d.Minkowski(0.5).metric


def test_mahalanobis_of_a_given_matrix():
    agrees(d.Mahalanobis(S), pairs(lambda x, z: math.sqrt((x - z) @ np.linalg.inv(S) @ (x - z))))


def test_mahalanobis_of_the_sample_covariance():
    """S = Σ (x - m)(x - m)ᵀ / (n - 1)."""
    sample = RNG.normal(size=(30, 3)) @ np.linalg.cholesky(S).T
    mean = sample.mean(axis=0)
    covariance = sum(np.outer(x - mean, x - mean) for x in sample) / (len(sample) - 1)
    inverse = np.linalg.inv(covariance)
    rho = d.Mahalanobis()
    bound = rho.bind(rho.encode(sample))
    wanted = pairs(lambda x, z: math.sqrt((x - z) @ inverse @ (x - z)))
    assert_allclose(bound(X, Z), wanted, rtol=1e-10)


def test_level_sets_are_ellipsoids_with_half_axes_of_the_roots_of_eigenvalues():
    values, vectors = np.linalg.eigh(S)
    for value, v in zip(values, vectors.T):
        assert_allclose(d.Mahalanobis(S)([np.zeros(3)], [3 * math.sqrt(value) * v]), 3)
    for j, w in enumerate(W):
        assert_allclose(d.Minkowski(2, W)([np.zeros(3)], [np.eye(3)[j] / math.sqrt(w)]), 1)


def test_cosine_is_the_angle():
    agrees(d.Cosine(), pairs(lambda x, z: math.acos(x @ z / math.sqrt((x @ x) * (z @ z)))))


# --- categories -------------------------------------------------------------------------------

COLORS = ["red"] * 5 + ["blue"] * 3 + ["green"] * 2 + ["gold"]
ROWS = np.array([[c] for c in COLORS], object)


def test_smoothed_match():
    """[x ≠ z] + [x = z] Σ over q with p(q) <= p(x) of p2(q)."""
    f = {c: COLORS.count(c) for c in COLORS}
    l = len(COLORS)

    def value(x, z):
        if x != z:
            return 1.0
        return sum(f[q] * (f[q] - 1) / (l * (l - 1)) for q in f if f[q] <= f[x])

    rho = d.SmoothedMatch()
    bound = rho.bind(rho.encode(ROWS))
    assert_allclose(bound(ROWS), pairs(value, COLORS, COLORS), rtol=1e-12)


def test_log_frequency():
    """[x ≠ z] log(f(x) + 1) log(f(z) + 1), with f = 1 for a value that is not in the sample."""
    f = {c: COLORS.count(c) for c in COLORS} | {"mauve": 1}
    rho = d.LogFrequency()
    bound = rho.bind(rho.encode(ROWS))
    new = [*COLORS, "mauve"]
    wanted = pairs(lambda x, z: (x != z) * math.log(f[x] + 1) * math.log(f[z] + 1), new, COLORS)
    assert_allclose(bound([[c] for c in new], ROWS), wanted, rtol=1e-12)


@pytest.mark.parametrize("distance", [d.SmoothedMatch, d.LogFrequency])
def test_weights_of_columns_of_categories(distance):
    """Σ w_j ρ_j(x_j, z_j), as of Match."""
    rows = np.array(list(zip(COLORS, reversed(COLORS))), object)
    parts = [distance().bind(distance().encode(rows[:, [j]]))(rows[:, [j]]) for j in (0, 1)]
    weighted = distance(weights=[0.5, 2.0])
    assert_allclose(weighted.bind(weighted.encode(rows))(rows), 0.5 * parts[0] + 2.0 * parts[1])


def test_mixed_is_a_weighted_sum_over_columns():
    table = pd.DataFrame(
        {"size": X[:, 0], "color": COLORS[2:9], "tags": [{1, i % 3} for i in range(7)]}
    )
    parts = [(d.Minkowski(1), ["size"]), (d.Match(), ["color"]), (d.Jaccard(), ["tags"])]

    def value(a, b):
        (x, c, s), (z, e, t) = a, b
        return 0.5 * abs(x - z) + 2.0 * (c != e) + 3.0 * (1 - len(s & t) / len(s | t))

    rows = table.values.tolist()
    assert_allclose(d.Mixed(parts, [0.5, 2.0, 3.0])(table), pairs(value, rows, rows), rtol=1e-12)


# --- weights of columns -----------------------------------------------------------------------


def correlation(x, y):
    x, y = x - np.mean(x), y - np.mean(y)
    return abs((x * y).sum()) / math.sqrt((x * x).sum() * (y * y).sum())


def test_the_weight_of_a_number_is_its_correlation_with_the_target():
    y = X[:, 0] + 0.3 * RNG.normal(size=7)
    assert_allclose(d.correlation_weights(X, y), [correlation(x, y) for x in X.T], rtol=1e-12)


def test_with_classes_it_is_the_largest_over_their_indicators():
    y = np.array(list("abcabca"))
    wanted = [max(correlation(x, y == c) for c in "abc") for x in X.T]
    assert_allclose(d.correlation_weights(X, y), wanted, rtol=1e-12)
    numbered = d.correlation_weights(X, np.searchsorted(list("abc"), y), classes=True)
    assert_allclose(numbered, wanted, rtol=1e-12)


def test_the_weight_of_a_category_is_its_correlation_ratio():
    """The root of the share of the target's variance that is between the categories."""
    y, c = X[:, 1], np.array(["u", "v", "u", "w", "v", "u", "w"])
    between = sum((c == q).sum() * (y[c == q].mean() - y.mean()) ** 2 for q in "uvw")
    wanted = math.sqrt(between / ((y - y.mean()) ** 2).sum())
    table = pd.DataFrame({"c": c})
    assert_allclose(d.correlation_weights(table, y), [wanted], rtol=1e-12)


# --- two numbers of the lectures --------------------------------------------------------------


def test_a_noise_feature_turns_neighbours_round():
    """x1 = .1 and x2 = .5 with a uniform feature each: P(the second is nearer to 0) = .275."""
    n = 20_000
    noise = np.random.default_rng(1).uniform(size=(2, n))
    first = np.c_[np.full(n, 0.1), noise[0]]
    second = np.c_[np.full(n, 0.5), noise[1]]
    origin = np.zeros((1, 2))
    share = np.mean(d.Minkowski(2)(first, origin) > d.Minkowski(2)(second, origin))
    u = (np.arange(2000) + 0.5) / 2000
    integral = np.mean(np.clip(np.sqrt(np.clip(u**2 - 0.24, 0, None)), 0, 1))
    assert_allclose(integral, 0.275, atol=1e-3)
    assert abs(share - integral) < 4 * math.sqrt(0.275 * 0.725 / n)


def test_neighbours_are_far_in_many_dimensions():
    """Five of 5,000 uniform points are in a cube of edge δ^(1/d), δ = .0018 with P = .95."""
    delta = next(x for x in np.arange(0.001, 0.01, 1e-5) if binom.sf(4, 5000, x) >= 0.95)
    assert_allclose(delta, 0.0018, atol=5e-5)
    assert_allclose([delta ** (1 / 10), delta ** (1 / 100)], [0.53, 0.94], atol=5e-3)
    points = np.random.default_rng(2).uniform(size=(5000, 10))
    fifth = NearestNeighbors(metric="chebyshev").fit(points).kneighbors(np.full((1, 10), 0.5))
    assert 2 * fifth[0][0, 4] == pytest.approx(delta ** (1 / 10), rel=0.25)


def test_symmetry_and_0_on_the_diagonal():
    for rho in (d.Minkowski(1), d.Minkowski(2), d.Minkowski(0.5), d.Mahalanobis(S), d.Cosine()):
        D = rho(X)
        assert_allclose(D, D.T, atol=1e-12)
        assert_allclose(D.diagonal(), 0, atol=1e-7)
        assert (D >= 0).all()


def test_edit_distance_satisfies_the_triangle_inequality():
    words = ["".join(w) for n in range(4) for w in itertools.product("ab", repeat=n)]
    for variant in ("levenshtein", "indel"):
        D = d.Edit(variant)(words)
        assert (D[:, :, None] + D[None] >= D[:, None, :]).all()
