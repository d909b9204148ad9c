"""Distances of vectors: hostile sizes on every instruction set, precision, peers, bad values."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from lanes import examples
from mercer import _native
from mercer.distances import Cosine, Haversine, Mahalanobis, Minkowski, products

SIZES = [(1, 1, 1), (2, 15, 16), (3, 16, 1), (1, 17, 33), (5, 63, 2), (2, 64, 7), (3, 65, 31),
         (2, 511, 3), (2, 513, 4), (1, 1030, 2)]  # fmt: skip
WEIGHTED = {
    "manhattan": lambda a, b, w: (w * np.abs(a - b)).sum(-1),
    "squared_gaps": lambda a, b, w: (w * (a - b) ** 2).sum(-1),
    "relative": lambda a, b, w: (w * np.abs(a - b) / np.where(a + b > 0, a + b, 1)).sum(-1),
    "chi_squared": lambda a, b, w: (w * (a - b) ** 2 / np.where(a + b > 0, a + b, 1)).sum(-1),
    "intersection": lambda a, b, w: (w * np.minimum(a, b)).sum(-1),
    "chebyshev": lambda a, b, w: (w * np.abs(a - b)).max(-1),
    "differences": lambda a, b, w: (w * (a != b)).sum(-1),
}


@pytest.fixture(params=_native.available_isas())
def isa(request):
    before = _native.isa()
    assert _native.use_isa(request.param)
    yield request.param
    _native.use_isa(before)


def positive_samples(n, m, d, dtype):
    rng = np.random.default_rng(n + 10 * m + 1000 * d)
    X, Z = rng.integers(0, 4, (n, d)) / 2, rng.integers(0, 4, (m, d)) / 2
    w = rng.random(d)
    return X.astype(dtype), Z.astype(dtype), w.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
def test_native_sums_equal_their_definition(isa, size, dtype):
    X, Z, w = positive_samples(*size, dtype)
    out = np.full((len(X), len(Z)), np.nan, dtype)
    rtol = 1e-5 if dtype == np.float32 else 1e-13
    for name, definition in WEIGHTED.items():
        getattr(_native, name)(X, np.ascontiguousarray(Z.T), w, out)
        expected = definition(X[:, None], Z[None], w)
        assert_allclose(out, expected, rtol=rtol, atol=rtol, err_msg=name)
    for p in (0.3, 1.5, 4.2):
        _native.minkowski(X, np.ascontiguousarray(Z.T), w, out, p)
        expected = (w * np.abs(X[:, None] - Z[None]) ** p).sum(-1)
        assert_allclose(out, expected, rtol=rtol, atol=rtol)
    codes = [np.ascontiguousarray(2 * A, np.int32) for A in (X, Z.T)]
    _native.matches(*codes, w, out)
    assert_allclose(out, (w * (X[:, None] == Z[None])).sum(-1), rtol=rtol, atol=rtol)


def test_native_loops_refuse_shapes_that_do_not_fit():
    X, w, out = np.ones((2, 3)), np.ones(3), np.empty((2, 2))
    with pytest.raises(ValueError, match="shapes must be"):
        _native.manhattan(X, X, w, out)
    with pytest.raises(ValueError, match="shapes must be"):
        _native.manhattan(X, np.ones((3, 2)), np.ones(2), out)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1e-3, 0.1, 1.1, 1.9, 3.0, 10.0])
def test_powers_over_the_whole_range(isa, dtype, p):
    # gaps from the smallest normal number up to where the power overflows
    limits = np.finfo(dtype)
    largest = float(limits.max) ** min(1, 1 / p) / 2
    gaps = np.geomspace(float(limits.tiny), largest, 2001).astype(dtype)
    out = np.empty((1, len(gaps)), dtype)
    _native.minkowski(np.zeros((1, 1), dtype), gaps[None], np.ones(1, dtype), out, p)
    # p log(gap), up to 745 in size, is rounded; the exponential makes that a relative error
    rtol = 1000 * limits.eps if dtype == np.float64 else 100 * limits.eps
    assert_allclose(out[0], gaps.astype(np.longdouble) ** p, rtol=rtol, atol=float(limits.tiny))


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3, np.inf])
def test_minkowski_agrees_with_scipy(p):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(20, 7)), rng.normal(size=(33, 7))
    name, arguments = ("chebyshev", {}) if p == np.inf else ("minkowski", {"p": p})
    assert_allclose(Minkowski(p)(X, Z), cdist(X, Z, name, **arguments), rtol=1e-10)


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.sampled_from([1e-3, 1.0, 1e6]))
@examples(40)
def test_squared_euclid_is_never_negative_and_exact_on_integers(seed, columns, offset):
    rng = np.random.default_rng(seed)
    X = rng.integers(-5, 5, (6, columns)).astype(float) + offset
    D = Minkowski().raw(X, X.copy())
    assert (D >= 0).all()
    exact = ((X[:, None] - X[None]) ** 2).sum(-1)
    assert_allclose(D, exact, atol=1e-8 * max(1.0, offset * 1e-4))


def test_float32_far_from_the_origin():
    # rows 1,000 standard deviations away: ‖x‖² + ‖z‖² - 2<x, z> alone would lose all digits
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(200, 50)) + 1000).astype(np.float32)
    exact = cdist(X.astype(float), X.astype(float), "sqeuclidean")
    assert_allclose(Minkowski().raw(X, X), exact, rtol=1e-4, atol=1e-3)
    assert_allclose(Minkowski().raw(X[:50], X[100:]), exact[:50, 100:], rtol=1e-4)


def test_the_same_rows_are_at_distance_zero():
    X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    assert_array_equal(Minkowski()(X).diagonal(), 0)
    assert_array_equal(Cosine()(X).diagonal(), 0)


@pytest.mark.parametrize(
    ("distance", "metric"),
    [(Minkowski(0), True), (Minkowski(0.5), False), (Minkowski(1), True),
     (Minkowski(np.inf), True), (Mahalanobis(), True)],
)  # fmt: skip
def test_who_is_a_metric(distance, metric):
    assert distance.metric is metric


def test_half_a_power_breaks_the_triangle():
    D = Minkowski(0.5)([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    assert D[0, 2] > D[0, 1] + D[1, 2]


@pytest.mark.parametrize(
    ("distance", "message"),
    [
        (Minkowski(-1), r"p=-1: Minkowski needs 0 <= p <= inf"),
        (Minkowski(np.nan), "p=nan"),
        (Minkowski(1, [-1.0, 1.0]), "weights must be >= 0"),
        (Minkowski(1, [1.0]), r"weights has shape \(1,\), but X has 2 columns"),
        (Mahalanobis([[1.0, 2.0], [2.0, 1.0]]), "not positive definite.*smallest eigenvalue is -1"),
        (Mahalanobis([[1.0, 2.0, 3.0]]), r"covariance has shape \(1, 3\)"),
        (Mahalanobis(shrinkage=2), "shrinkage=2"),
        (Mahalanobis(np.eye(2), precision=np.eye(2)), "covariance and precision"),
        (Mahalanobis(precision=[[1.0, 2.0], [2.0, 1.0]]), "precision .*positive semidefinite"),
        (Mahalanobis(precision=[[1.0, 2.0], [0.0, 1.0]]), "precision .*symmetric"),
        (Mahalanobis(precision=np.eye(3)), "3"),
    ],
)
def test_bad_parameters_are_refused(distance, message):
    with pytest.raises(ValueError, match=message):
        distance([[1.0, 2.0], [3.0, 4.0]])


def test_mahalanobis_of_a_regular_sample_is_not_shrunk():
    X = np.random.default_rng(0).normal(size=(50, 3)) @ np.diag([1.0, 5.0, 0.1])
    bound = Mahalanobis().bind(X)
    assert bound.shrinkage == 0
    assert_allclose(bound.covariance, np.cov(X.T))
    VI = np.linalg.inv(bound.covariance)
    assert_allclose(bound.block(X, X), cdist(X, X, "mahalanobis", VI=VI), atol=1e-6)


@pytest.mark.parametrize(
    "X",
    [
        np.random.default_rng(0).normal(size=(4, 9)),  # more columns than rows
        np.outer(np.arange(6.0), [1.0, 2.0]),  # one direction
        np.column_stack([np.arange(6.0), np.ones(6)]),  # a constant column
        np.ones((3, 2)),  # nothing but constants
    ],
)
def test_mahalanobis_of_a_singular_sample_says_how_far_it_was_shrunk(X):
    bound = Mahalanobis().bind(X)
    assert 0 < bound.shrinkage <= 1
    assert f"shrinkage={bound.shrinkage}"[:14] in repr(bound)
    assert np.isfinite(bound.block(X, X)).all()


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_mahalanobis_of_a_precision_of_any_rank(rank):
    rng = np.random.default_rng(rank)
    A, X, Z = rng.normal(size=(3, rank)), rng.normal(size=(9, 3)), rng.normal(size=(4, 3))
    rho = Mahalanobis(precision=A @ A.T)
    assert_allclose(rho(X, Z), cdist(X @ A, Z @ A) if rank else np.zeros((9, 4)), atol=1e-7)
    assert rho.metric is (rank == 3)
    assert rho.bind(X) is rho


def test_mahalanobis_of_a_covariance_is_that_of_its_inverse():
    rng = np.random.default_rng(0)
    A, X = rng.normal(size=(3, 3)), rng.normal(size=(9, 3))
    S = A @ A.T + np.eye(3)
    assert_allclose(Mahalanobis(S)(X), Mahalanobis(precision=np.linalg.inv(S))(X), atol=1e-7)


def test_mahalanobis_does_not_change_when_columns_are_mixed():
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(30, 4)), rng.normal(size=(4, 4))
    B = X @ A
    assert_allclose(Mahalanobis().bind(X).block(X, X), Mahalanobis().bind(B).block(B, B), atol=1e-7)


def test_angles():
    X = np.array([[1.0, 0.0], [1.0, 1.0], [-2.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    expected = np.array([0, 45, 180, 90, 90])
    assert_allclose(np.degrees(Cosine()(X)[0]), expected, atol=1e-5)
    D = Cosine().block(X[3:], X[3:].copy())
    assert_array_equal(D, 0)


def test_nearer_to_the_origin_in_spite_of_noise():
    # x = 0.1 and z = 0.5 with one uniform noise feature each: z is nearer with probability 0.275
    rng = np.random.default_rng(0)
    n = 200_000
    x = np.column_stack([np.full(n, 0.1), rng.random(n)])
    z = np.column_stack([np.full(n, 0.5), rng.random(n)])
    origin = np.zeros((1, 2))
    nearer = Minkowski().raw(z, origin) < Minkowski().raw(x, origin)
    assert_allclose(nearer.mean(), 0.275, atol=0.005)
    # P(u² > 0.24 + v²) = the integral over v of 1 - sqrt(0.24 + v²), where that is positive
    v = np.linspace(0, np.sqrt(0.76), 100_001)
    assert_allclose(np.trapezoid(1 - np.sqrt(0.24 + v**2), v), 0.275, atol=1e-3)


def test_the_edge_of_a_box_that_holds_five_neighbours():
    # 5 of 5,000 uniform points lie in volume δ with probability 0.95: P(Binomial(n, δ) >= 5)
    from scipy.optimize import brentq
    from scipy.stats import binom

    delta = brentq(lambda v: binom.sf(4, 5000, v) - 0.95, 1e-5, 1e-2)
    assert_allclose(delta, 0.0018, atol=5e-5)
    assert_allclose([delta**0.1, delta**0.01], [0.53, 0.94], atol=5e-3)


@pytest.mark.parametrize("m", [9, 70])
def test_large_inner_products_are_computed_by_strips(monkeypatch, m):
    """A symmetric product of many rows crashes in OpenBLAS; strips are no symmetric products."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 5))
    Z = X if m == 70 else rng.normal(size=(m, 5))
    whole = products.inner_products(X, Z)
    monkeypatch.setattr(products, "WHOLE", 8)
    monkeypatch.setattr(products, "PART", 16)
    shapes = []
    real = np.matmul
    monkeypatch.setattr(np, "matmul", lambda A, B, out: shapes.append(A.shape) or real(A, B, out))
    K = products.inner_products(X, Z)
    assert shapes == [(16, 5)] * 4 + [(6, 5)]
    assert_allclose(K, whole, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_angles_do_not_depend_on_the_lengths_of_the_rows(make, dtype):
    """Their squares leave the range of floats, at both ends."""
    X = np.random.default_rng(0).normal(size=(6, 3))
    X[0] = 0
    most = np.log10(float(np.finfo(dtype).max))
    sizes = 10.0 ** np.array([0, 0.9 * most, 0.6 * most, 0, -0.6 * most, -0.9 * most])[:, None]
    near = Cosine()(make(X.astype(dtype)))
    assert_allclose(Cosine()(make((X * sizes).astype(dtype))), near, atol=1e-6)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_rows_whose_distances_leave_the_range_of_floats_are_refused(make):
    X = np.random.default_rng(0).normal(size=(6, 3)) * [1.0, 1e170, 1.0]
    with pytest.raises(ValueError, match=r"column 1 of X reaches .*e\+1\d\d, .*beyond float64"):
        Minkowski(2)(make(X))
    with pytest.raises(ValueError, match=r"column 1 of X .*beyond float32"):
        Minkowski(2)(make(np.float32(X / [1.0, 1e140, 1.0])))


def test_degrees_are_told_from_radians():
    places = np.array([[47.37, 8.54], [48.21, 16.37], [-33.87, 151.21]])
    D = Haversine(units="degrees")(places)
    assert_allclose(D, Haversine()(np.radians(places)))
    for row, message in (
        ([47.37, 1.0], r"latitude of size 47\.37 in column 0, .* 1\.5708 in radians: .*degrees"),
        ([0.5, 151.21], r"longitude of size 151\.21 in column 1, .* in radians: .*degrees"),
    ):
        with pytest.raises(ValueError, match=message):
            Haversine()([row])
    with pytest.raises(ValueError, match=r"size 151\.21 .* 90 in degrees: give latitude"):
        Haversine("degrees")(places[:, ::-1])
    with pytest.raises(ValueError, match="units='miles': give"):
        Haversine("miles")(places)
