"""Kernels of vectors, by their feature maps, their integrals and their series.

In this folder each formula of the founding lectures stands as it is taught, and is computed by the
shortest numpy that follows it. The side that it is compared with uses nothing of the library.
"""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special

from mercer import kernels as k
from mercer.distances import Mahalanobis, Minkowski

TOLERANCE = {np.float64: 1e-10, np.float32: 2e-4}


@pytest.fixture(params=TOLERANCE, ids=lambda dtype: dtype.__name__)
def dtype(request):
    return request.param


@pytest.fixture
def sides(dtype):
    rng = np.random.default_rng(0)
    return rng.normal(size=(7, 3)).astype(dtype), rng.normal(size=(5, 3)).astype(dtype)


def agrees(kernel, X, Z, wanted):
    K = kernel(X, Z)
    assert K.dtype == X.dtype
    tolerance = TOLERANCE[X.dtype.type]
    assert_allclose(K, wanted, rtol=tolerance, atol=tolerance)


def pairs(function, X, Z):
    return np.array([[function(x, z) for z in Z] for x in X.astype(float)])


def monomials(X, degrees):
    return np.array([[np.prod(x ** np.array(e)) for e in degrees] for x in X.astype(float)])


# --- kernels of the inner product -------------------------------------------------------------


def test_linear(sides):
    agrees(k.Linear(), *sides, pairs(lambda x, z: sum(x * z), *sides))


@pytest.mark.parametrize("constant", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_polynomial_is_the_inner_product_of_all_monomials(sides, degree, constant):
    """(γ<x, z> + c)^p: the multinomial theorem for the vectors (√γ x, √c)."""
    X, Z = (np.c_[math.sqrt(0.5) * A, np.full(len(A), math.sqrt(constant))] for A in sides)
    powers = [e for e in itertools.product(range(degree + 1), repeat=4) if sum(e) == degree]
    factors = [math.factorial(degree) / math.prod(map(math.factorial, e)) for e in powers]
    wanted = monomials(X, powers) * factors @ monomials(Z, powers).T
    agrees(k.Polynomial(degree, 0.5, constant), *sides, wanted)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_anova_is_over_all_subsets_of_so_many_columns(sides, degree):
    subsets = [e for e in itertools.product([0, 1], repeat=3) if sum(e) == degree]
    X, Z = (monomials(A, subsets) for A in sides)
    agrees(k.ANOVA(degree), *sides, X @ Z.T)


def test_all_subsets_is_the_product_and_the_sum_over_2_to_the_d_features(sides):
    subsets = list(itertools.product([0, 1], repeat=3))
    X, Z = (monomials(A, subsets) for A in sides)
    agrees(k.AllSubsets(), *sides, X @ Z.T)
    agrees(k.AllSubsets(), *sides, pairs(lambda x, z: np.prod(1 + x * z), *sides))
    anova = sum(k.ANOVA(p)(*sides).astype(float) for p in (1, 2, 3))
    agrees(k.AllSubsets(), *sides, 1 + anova)


def test_cosine_and_sigmoid(sides):
    wanted = pairs(lambda x, z: x @ z / math.sqrt((x @ x) * (z @ z)), *sides)
    agrees(k.Cosine(), *sides, wanted)
    agrees(k.Sigmoid(0.7, -0.3), *sides, pairs(lambda x, z: math.tanh(0.7 * (x @ z) - 0.3), *sides))


def test_the_sigmoid_is_not_positive_definite_and_the_check_says_so():
    """k(x, x) = tanh(k1 |x|² - k0) is negative near the origin."""
    X = np.array([[0.1], [0.2], [0.3]])
    K = k.Sigmoid(1.0, -1.0)(X)
    assert np.linalg.eigvalsh(K).min() < 0
    assert not k.check_mercer(k.Sigmoid(1.0, -1.0), X).positive_definite
    assert k.Sigmoid(1.0, -1.0).positive_definite is not True


# --- radial kernels ---------------------------------------------------------------------------


def test_gaussian_is_a_power_series_between_two_functions(sides):
    """exp(-γ|x - z|²) = f(x) [Σ (2γ<x, z>)^p / p!] f(z), with f(x) = exp(-γ|x|²)."""
    gamma = 0.2

    def series(x, z):
        f = math.exp(-gamma * (x @ x)) * math.exp(-gamma * (z @ z))
        return f * sum((2 * gamma * (x @ z)) ** p / math.factorial(p) for p in range(60))

    agrees(k.RBF(gamma), *sides, pairs(series, *sides))


def test_gaussian_separates_every_labelling_of_distinct_points():
    """K of distinct points is not singular, so that K a = y has an answer for each y of 2^n."""
    X = np.random.default_rng(1).normal(size=(6, 2))
    K = k.RBF(1.0)(X)
    assert np.linalg.eigvalsh(K).min() > 0
    for y in itertools.product([-1.0, 1.0], repeat=6):
        assert_allclose(np.sign(K @ np.linalg.solve(K, y)), y)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_exponential_power(sides, power):
    wanted = pairs(lambda x, z: math.exp(-(math.dist(x, z) ** power) / 1.7), *sides)
    agrees(k.ExponentialPower(1.7, power), *sides, wanted)


def test_an_exponential_power_above_2_is_refused():
    with pytest.raises(ValueError, match="power"):
        k.ExponentialPower(1.0, 2.1)(np.eye(2))


def test_laplacian_is_a_product_over_columns(sides):
    wanted = pairs(lambda x, z: np.prod(np.exp(-0.4 * abs(x - z))), *sides)
    agrees(k.Laplacian(0.4), *sides, wanted)


@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (0.8, 1.5), (0.5, 2.0), (2.0, 2.0)])
def test_lpq_laplace(sides, p, q):
    def value(x, z):
        return math.exp(-(((abs(x - z) ** q).sum() ** (1 / q) / 1.3) ** p))

    agrees(k.ExponentialPower(1.3**p, p, Minkowski(q)), *sides, pairs(value, *sides))


@pytest.mark.parametrize(("p", "q"), [(2.0, 1.0), (1.0, 2.5)])
def test_lpq_laplace_outside_of_its_range_is_not_said_to_be_definite(p, q):
    assert k.ExponentialPower(1.0, p, Minkowski(q)).positive_definite is not True


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, 0.8, 3.3])
def test_matern_is_a_bessel_function(sides, nu):
    """2^(1-ν) / Γ(ν) t^ν K_ν(t), t = √(2ν) |x - z| / l."""

    def value(x, z):
        t = math.sqrt(2 * nu) * math.dist(x, z) / 1.4
        return 2 ** (1 - nu) / special.gamma(nu) * t**nu * special.kv(nu, t)

    agrees(k.Matern(nu, 1.4), *sides, pairs(value, *sides))


def test_matern_of_an_infinite_order_is_the_gaussian(sides):
    agrees(k.Matern(math.inf, 1.4), *sides, k.RBF(0.5 / 1.4**2)(*sides))


def test_rational_quadratic_is_a_mean_of_gaussians(sides):
    """(1 + |x - z|² / (2 a l²))^-a = ∫ exp(-s |x - z|² / (2 l²)) Gamma(s; a, 1/a) ds."""
    a, l = 1.5, 0.9
    nodes, weights = special.roots_genlaguerre(60, a - 1)

    def value(x, z):
        r = math.dist(x, z) ** 2 / (2 * l * l)
        return (weights @ np.exp(-nodes / a * r)) / special.gamma(a)

    agrees(k.RationalQuadratic(a, l), *sides, pairs(value, *sides))


def test_a_gaussian_with_a_metric(sides):
    """exp(-γ (x - z)ᵀ M (x - z)), for one scale a column and for a full M."""
    w, A = np.array([0.5, 2.0, 0.0]), np.random.default_rng(2).normal(size=(3, 3))
    M = A @ A.T + np.eye(3)
    wanted = pairs(lambda x, z: math.exp(-0.3 * (w * (x - z) ** 2).sum()), *sides)
    agrees(k.RBF(0.3, Minkowski(2, w)), *sides, wanted)
    wanted = pairs(lambda x, z: math.exp(-0.3 * (x - z) @ M @ (x - z)), *sides)
    agrees(k.RBF(0.3, Mahalanobis(precision=M)), *sides, wanted)


# --- histograms -------------------------------------------------------------------------------


def test_histogram_intersection_is_an_inner_product_of_steps(sides):
    """min(a, b) = ∫ [t <= a] [t <= b] dt."""
    X, Z = (np.round(4 * abs(A)) for A in sides)
    steps = [(A[:, :, None] >= np.arange(1, 30)).reshape(len(A), -1).astype(float) for A in (X, Z)]
    agrees(k.HistogramIntersection(), X, Z, steps[0] @ steps[1].T)


def test_chi_squared(sides):
    X, Z = (abs(A) for A in sides)
    wanted = pairs(lambda x, z: math.exp(-0.6 * ((x - z) ** 2 / (x + z)).sum()), X, Z)
    agrees(k.ChiSquared(0.6), X, Z, wanted)


# --- arc-cosine kernels, and layers -----------------------------------------------------------


def arc_cosine(n, xx, xz, zz):
    """(1/π) |x|^n |z|^n J_n(θ), from three inner products."""
    c = np.clip(xz / np.sqrt(xx * zz), -1, 1)
    t, s = np.arccos(c), np.sqrt(1 - c * c)
    J = [
        np.pi - t,
        s + (np.pi - t) * c,
        3 * s * c + (np.pi - t) * (1 + 2 * c * c),
    ]
    return (xx * zz) ** (n / 2) * J[n] / np.pi


@pytest.mark.parametrize("n", [0, 1, 2])
def test_arc_cosine_is_an_integral_over_random_neurons(n):
    """2 ∫ N(w) Θ(w·x) Θ(w·z) (w·x)^n (w·z)^n dw, in the plane: the radius and the angle apart."""
    rng = np.random.default_rng(3)
    X, Z = rng.normal(size=(3, 2)), rng.normal(size=(2, 2))
    radius = integrate.quad(lambda r: r ** (2 * n + 1) * math.exp(-r * r / 2), 0, np.inf)[0]

    def value(x, z):
        angles = np.linspace(-np.pi, np.pi, 400_001)[:-1]
        a, b = (v[0] * np.cos(angles) + v[1] * np.sin(angles) for v in (x, z))
        return 2 * radius * np.mean(np.where((a > 0) & (b > 0), (a * b) ** n, 0.0))

    assert_allclose(k.ArcCosine(n)(X, Z), pairs(value, X, Z), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_arc_cosine_by_its_angle(sides, n):
    wanted = pairs(lambda x, z: arc_cosine(n, x @ x, x @ z, z @ z), *sides)
    agrees(k.ArcCosine(n), *sides, wanted)


@pytest.mark.parametrize(
    ("n", "wanted"), [(0, lambda s: s**0), (1, lambda s: s), (2, lambda s: 3 * s**2)]
)
def test_the_diagonal_of_arc_cosine(n, wanted):
    X = np.random.default_rng(4).normal(size=(5, 3))
    assert_allclose(k.ArcCosine(n)(X).diagonal(), wanted((X**2).sum(axis=1)), rtol=1e-12)


def test_arc_cosine_of_a_zero_vector():
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 2.0]])
    assert_allclose(k.ArcCosine(0)(X), [[1, 1, 0.5], [1, 1, 0.5], [0.5, 0.5, 1]])
    for n in (1, 2):
        assert_allclose(k.ArcCosine(n)(X)[:2], 0)


@pytest.mark.parametrize("degrees", [(0, 0), (1, 1, 1), (2, 1), (0, 1, 2)])
def test_layers_of_arc_cosine_are_a_recursion_on_three_numbers(sides, degrees):
    def value(x, z):
        xx, xz, zz = x @ x, x @ z, z @ z
        for n in degrees:
            xx, xz, zz = (arc_cosine(n, a, b, c) for a, b, c in
                          ((xx, xx, xx), (xx, xz, zz), (zz, zz, zz)))  # fmt: skip
        return xz

    agrees(k.Layered([k.ArcCosine(n) for n in degrees]), *sides, pairs(value, *sides))


def test_two_layers_of_arc_cosine_are_a_wide_random_network():
    """One layer of random neurons √(2/D) Θ(Wx)(Wx), and the kernel of its outputs."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(4, 3))
    H = math.sqrt(2 / 200_000) * np.maximum(X @ rng.normal(size=(3, 200_000)), 0)
    wanted = [[arc_cosine(1, a @ a, a @ b, b @ b) for b in H] for a in H]
    assert_allclose(k.ArcCosine(1, layers=2)(X), wanted, rtol=0.02, atol=0.02)


def test_layers_of_gaussian_and_polynomial_kernels(sides):
    """k2(φ1(x), φ1(z)) with |φ1(x) - φ1(z)|² = k1(x, x) + k1(z, z) - 2 k1(x, z)."""

    def gaussian(x, z):
        inner = math.exp(-0.5 * math.dist(x, z) ** 2)
        return math.exp(-0.5 * (2 - 2 * inner))

    agrees(k.Layered(k.RBF(0.5), depth=2), *sides, pairs(gaussian, *sides))
    wanted = pairs(lambda x, z: (0.5 * (0.5 * (x @ z) + 1) ** 2 + 1) ** 2, *sides)
    agrees(k.Layered(k.Polynomial(2, 0.5, 1.0), depth=2), *sides, wanted)


def test_a_kernel_of_queries_and_keys(sides):
    """exp(<W_q t, W_k s> / √d): neither symmetric nor of one domain."""
    rng = np.random.default_rng(6)
    Q, K = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    kernel = k.QueryKey(Q, K)
    wanted = pairs(lambda t, s: math.exp((Q @ t) @ (K @ s) / math.sqrt(2)), *sides)
    agrees(kernel, *sides, wanted)
    assert not kernel.symmetric


@pytest.mark.parametrize("layers", [1, 2])
def test_infinite_networks(sides, layers):
    """Σ' = σ_w² E[φ(u) φ(v)] + σ_b² and Θ' = Σ' + Θ σ_w² E[φ'(u) φ'(v)], for rectified units."""
    w, b = 1.5, 0.3

    def both(x, z):
        xx, xz, zz = (w * p + b for p in (x @ x, x @ z, z @ z))
        tangent = xz
        for _ in range(layers):
            slopes = w * arc_cosine(0, xx, xz, zz) / 2
            xx, xz, zz = (w * arc_cosine(1, *three) / 2 + b for three in
                          ((xx, xx, xx), (xx, xz, zz), (zz, zz, zz)))  # fmt: skip
            tangent = xz + tangent * slopes
        return xz, tangent

    agrees(k.NeuralNetworkGP(layers, w, b), *sides, pairs(lambda x, z: both(x, z)[0], *sides))
    agrees(k.NeuralTangent(layers, w, b), *sides, pairs(lambda x, z: both(x, z)[1], *sides))


def test_gaussian_of_directions(sides):
    def value(x, z):
        lengths = math.sqrt((x @ x) * (z @ z))
        return lengths * math.exp(x @ z / lengths - 1)

    agrees(k.NormalisedGaussian(), *sides, pairs(value, *sides))
