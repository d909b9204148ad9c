"""Arc-cosine kernels, networks of infinite width and their layers: random units, closed forms,
numbers of the literature, networks of finite width, and the ends of ranges.

That they equal their slow twins is in test_contract.py.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import oracles
from mercer import SVC, KernelPCA, KernelRidge, _native
from mercer.distances import Match, Minkowski
from mercer.gram import Place, gram
from mercer.kernels import (
    RBF,
    ArcCosine,
    Cosine,
    Laplacian,
    Layer,
    Layered,
    Linear,
    Matern,
    NeuralNetworkGP,
    NeuralTangent,
    Polynomial,
    QueryKey,
    Sigmoid,
    Spectrum,
    check_mercer,
)

X = np.random.default_rng(0).normal(size=(40, 5))
DEGREES = [0, 1, 2]


def at_angle(theta, r=1.0, s=1.0):
    return np.array([[r, 0.0]]), s * np.array([[np.cos(theta), np.sin(theta)]])


# --- what the kernels are ---------------------------------------------------------------------


@pytest.mark.parametrize("degree", DEGREES)
def test_a_layer_of_many_random_units(degree):
    """2 E[H(w·x) H(w·z) (w·x)^n (w·z)^n], within four standard errors."""
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(2, 1, 5)) / 2
    w = rng.normal(size=(5, 400_000))
    units = [np.where(a @ w > 0, (a @ w) ** degree, 0)[0] for a in (x, z)]
    draws = 2 * units[0] * units[1]
    error = draws.std() / np.sqrt(draws.size)
    assert abs(ArcCosine(degree)(x, z)[0, 0] - draws.mean()) < 4 * error
    assert error < 0.02 * draws.mean()


@pytest.mark.parametrize("degree", DEGREES)
def test_two_layers_of_many_random_units(degree):
    """A random network of width m: the mean of networks, within four standard errors and 1 / m."""
    rng = np.random.default_rng(2)
    pair = rng.normal(size=(2, 4)) / 2
    width, values = 400, []
    for _ in range(150):
        H = pair
        for _ in range(2):
            A = H @ rng.normal(size=(H.shape[1], width))
            H = np.sqrt(2 / width) * np.where(A > 0, A**degree, 0)
        values.append(H[0] @ H[1])
    expected = ArcCosine(degree, 2)(pair[:1], pair[1:])[0, 0]
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - expected) < 4 * error + 10 * expected / width


@pytest.mark.parametrize("theta", [0.0, 1e-3, 0.3, 1.0, np.pi / 2, 2.5, 3.14, np.pi])
def test_closed_forms(theta):
    s, c, rest = np.sin(theta), np.cos(theta), np.pi - theta
    x, z = at_angle(theta, 2.0, 0.5)
    assert_allclose(ArcCosine(0)(x, z), rest / np.pi, atol=1e-12)
    assert_allclose(ArcCosine(1)(x, z), (s + rest * c) / np.pi, atol=1e-12)
    forms = (3 * s * c + rest * (1 + 2 * c * c)) / np.pi
    assert_allclose(ArcCosine(2)(x, z), forms, atol=1e-12)
    # a product of lengths of 1; the diagonal has lengths of its own
    for degree, value in ((0, 1), (1, 4), (2, 3 * 16)):
        assert_array_equal(ArcCosine(degree)(x), [[value]])


def test_layers_are_compositions():
    for degree in DEGREES:
        stacked = ArcCosine(degree, 3)(X)
        assert_allclose(Layered(ArcCosine(degree), 3)(X), stacked, rtol=1e-12)
        nested = Layered(ArcCosine(degree), 1, Layered(ArcCosine(degree, 2)))
        assert_allclose(nested(X), stacked, rtol=1e-12)
    mixed = Layered(ArcCosine(1), base=ArcCosine(0))
    assert_allclose(Layered([ArcCosine(0), ArcCosine(1)])(X), mixed(X), rtol=1e-12)
    assert_allclose(Layered(Linear(), 4, RBF(0.3))(X), RBF(0.3)(X), rtol=1e-12)
    of_vectors = [RBF(0.3), Matern(1.5), Laplacian(0.5, Minkowski(2)), Polynomial(3, 0.5, 1.0)]
    for kernel in of_vectors:
        assert_allclose(Layered(kernel)(X), kernel(X), rtol=1e-9, atol=1e-9)
    unit = RBF(0.5)(X)
    assert_allclose(Layered(RBF(0.7), base=RBF(0.5))(X), np.exp(-1.4 * (1 - unit)), rtol=1e-9)


def test_layers_of_features_that_can_be_listed():
    """On the features of a kernel of strings, and on those of polynomials."""
    words = ["banana", "ananas", "bandana", "panama", ""]
    spectrum = Spectrum(2)
    F = spectrum.features(spectrum.encode(words))
    assert_allclose(
        Layered(ArcCosine(1), 2, spectrum)(words), ArcCosine(1, 2)(sp.csr_array(F)), rtol=1e-9
    )
    square = Polynomial(2)
    features = square.features(X)
    assert_allclose(Layered(NeuralTangent(2), 1, square)(X), NeuralTangent(2)(features), rtol=1e-9)


def test_networks_of_infinite_width_are_layers_of_degree_one():
    assert_allclose(NeuralNetworkGP(4)(X), 2 * ArcCosine(1, 4)(X), rtol=1e-12)
    assert_allclose(NeuralNetworkGP(2, 1.0)(X), ArcCosine(1, 2)(X) / 4, rtol=1e-12)
    one = 2 * (ArcCosine(1)(X) + X @ X.T * ArcCosine(0)(X))
    assert_allclose(NeuralTangent()(X), one, rtol=1e-12)
    # without biases Θ(x, x) is L + 1 times Σ(x, x)
    assert_allclose(NeuralTangent(5)(X).diagonal(), 12 * (X**2).sum(axis=1), rtol=1e-12)


def test_inner_products_of_the_gradients_of_a_wide_network():
    rng = np.random.default_rng(3)
    pair, width, w, b = rng.normal(size=(2, 3)) / 2, 300, 1.7, 0.3
    tangents, outputs = [], []
    for _ in range(100):
        W = [rng.normal(size=(3, width)), rng.normal(size=(width, width)), rng.normal(size=width)]
        c = [rng.normal(size=width), rng.normal(size=width), rng.normal()]
        roots = [np.sqrt(w), np.sqrt(w / width), np.sqrt(w / width)]
        H, slopes = [pair], []
        for layer in range(2):
            A = roots[layer] * H[-1] @ W[layer] + np.sqrt(b) * c[layer]
            H.append(np.maximum(A, 0))
            slopes.append(A > 0)
        outputs.append(roots[2] * H[2] @ W[2] + np.sqrt(b) * c[2])
        # backwards: D[l] is the derivative of the output with respect to A[l]; then the gradient of
        # W[l] is the outer product of H[l] and D[l], and that of c[l] is D[l]
        D = slopes[1] * (roots[2] * W[2])
        theta = w / width * (H[2][0] @ H[2][1]) + b
        theta += (w / width * (H[1][0] @ H[1][1]) + b) * (D[0] @ D[1])
        D = slopes[0] * (roots[1] * D @ W[1].T)
        theta += (w * (pair[0] @ pair[1]) + b) * (D[0] @ D[1])
        tangents.append(theta)
    for kernel, draws in (
        (NeuralTangent(2, w, b), tangents),
        (NeuralNetworkGP(2, w, b), [f[0] * f[1] for f in outputs]),
    ):
        expected = kernel(pair[:1], pair[1:])[0, 0]
        error = np.std(draws) / np.sqrt(len(draws))
        assert abs(np.mean(draws) - expected) < 4 * error + 5 * abs(expected) / width


@pytest.mark.parametrize(
    "kernel",
    [
        *[ArcCosine(degree, layers) for degree in DEGREES for layers in (1, 3)],
        NeuralNetworkGP(3, 1.5, 0.1),
        NeuralTangent(3, 1.5, 0.1),
        Layered([ArcCosine(2), ArcCosine(0), RBF(0.3)], 2, Cosine()),
    ],
)
def test_positive_semidefinite_on_hard_points(kernel):
    t = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    circle = np.column_stack([np.cos(t), np.sin(t)])
    line = np.linspace(-2, 2, 41)[:, None]
    assert kernel.positive_definite is True
    for points in (circle, line, np.vstack([circle, circle, -circle])):
        check = check_mercer(kernel, points)
        assert check.positive_definite, str(check)


# --- angles near 0 and π, zero rows, ranges ----------------------------------------------------


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("degree", DEGREES)
def test_small_angles_are_as_exact_as_inner_products_allow(degree, sign):
    """cos θ has an error of about 2 eps, so θ has one of 2 eps / θ; below √(32 eps) it is 0."""
    eps = np.finfo(float).eps
    for theta in np.geomspace(1e-9, 0.5, 40):
        x, z = at_angle(theta)
        z *= sign
        inner = [a @ b for a, b in ((x[0], z[0]), (x[0], x[0]), (z[0], z[0]))]
        G, g_x, g_z = map(Fraction, inner)
        sine = math.sqrt(max(1 - G**2 / (g_x * g_z), 0))
        exact = math.atan2(sine, sign * math.sqrt(1 - sine**2))
        value = _native_value(degree, *inner) * (3 if degree == 2 else 1)
        slope = {0: 1, 1: exact, 2: 4 * exact}[degree]  # at most, of J_n / π
        error = 4 * eps / theta if theta > 1e-7 else math.sqrt(32 * eps)
        expected = oracles.unit_response(degree, exact)
        assert abs(value - expected) <= slope * error + 8 * eps


def _native_value(degree, G, g_x, g_z):
    tile, one = np.array([[G]]), np.ones(1)
    roots = 1 / np.sqrt([g_x]), 1 / np.sqrt([g_z])
    _native.arc_cosine(tile, *roots, one, one, degree, 1)
    return tile[0, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 7, 784, 3000])
def test_equal_and_opposite_rows_stay_so_in_every_layer(dtype, columns):
    """Degree 0 is steep at 0: an angle of 1e-8 would be one of 0.2 after four layers."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(60, columns)).astype(dtype)
    rows = np.vstack([rows, rows, 4 * rows, -rows])
    for layers in (1, 6):
        K = ArcCosine(0, layers)(rows)
        assert_array_equal(K[:60, 60:120].diagonal(), 1)
        assert_array_equal(K[:60, 120:180].diagonal(), 1)
        assert_array_equal(K[:60, 180:].diagonal(), K[0, 180])
    assert_array_equal(ArcCosine(0)(rows)[:60, 180:].diagonal(), 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "kernel",
    [
        *[ArcCosine(degree, layers) for degree in DEGREES for layers in (1, 4)],
        NeuralNetworkGP(2, 1.5, 0.1),
        NeuralTangent(2, 1.5, 0.1),
        Layered(ArcCosine(0), 3, RBF(0.1)),
    ],
)
def test_diag_is_the_diagonal_to_the_last_bit(kernel, dtype):
    rows = np.vstack([X, np.zeros((2, 5))]).astype(dtype)
    K = kernel(rows)
    assert_array_equal(K.diagonal(), kernel.diag(rows))
    assert K.dtype == kernel.diag(rows).dtype == dtype
    operator = gram(kernel, rows, place=Place(3000))
    assert_array_equal(operator.diag(), K.diagonal())
    assert_allclose(operator @ np.eye(42, dtype=dtype), K, rtol=1e-4, atol=1e-5 * np.abs(K).max())


def test_zero_rows():
    rows = np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]])
    assert_allclose(ArcCosine(0)(rows)[[0, 0], [2, 1]], [1, 0.5], rtol=1e-12)
    for degree in (1, 2):
        assert_array_equal(ArcCosine(degree, 2)(rows)[0], 0)
    half = 1 - np.arccos(0.5) / np.pi
    assert_allclose(ArcCosine(0, 2)(rows)[0], [1, half, 1], rtol=1e-12)
    assert_array_equal(NeuralTangent(2)(rows)[0], 0)
    assert (NeuralTangent(2, 2.0, 0.1)(rows)[0] > 0).all()
    assert_allclose(NeuralNetworkGP(3, 2.0, 0.5)(rows)[0, 2], 0.5 * 4, rtol=1e-12)
    assert_array_equal(ArcCosine(0)(sp.csr_array(rows)), ArcCosine(0)(rows))


def test_rows_beyond_the_range():
    assert ArcCosine(2, 6)([[3.0]])[0, 0] == pytest.approx(3.0**63 * 9.0**64)
    with pytest.raises(ValueError, match=r"row of length 1e\+10 has .* fewer layers, or rows of"):
        ArcCosine(2, 5)([[1.0], [1e10]])
    with pytest.raises(ValueError, match=r"which float32 does not hold"):
        ArcCosine(2, 3)(np.array([[1e5]], np.float32))
    with pytest.raises(ValueError, match=r"length 1e-10 has"):
        ArcCosine(2, 5)([[1e-10]])
    unit = Layered(ArcCosine(2), 5, base=Cosine())(np.array([[1.0], [1e10], [-1.0]]))
    assert_allclose(unit[:2, :2], 3.0**31)
    assert abs(unit[0, 2]) < unit[0, 0]
    with pytest.raises(ValueError, match=r"<x, x> = inf.*[Dd]ivide the columns"):
        ArcCosine()([[1e200]])
    with pytest.raises(ValueError, match=r"weight_variance of at most 2"):
        NeuralNetworkGP(200, 1e6)([[1.0]])


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Layered(Match()), "kernel=Match"),
        (Layered(Sigmoid()), "function of inner products"),
        (Layered([]), "a list of such kernels"),
        (Layered(RBF("scale")), "gamma='scale' .* give a number"),
        (Layered(Laplacian()), r"metric=None.*Minkowski\(2\)"),
        (Layered(RBF(1.0, Minkowski(2, [1.0] * 5))), "Euclidean distance"),
        (Layered([ArcCosine(1), ArcCosine(3)]), "degree=3"),
        (Layered(ArcCosine(), 0), "depth=0"),
        (Layered(ArcCosine(), 1, QueryKey(np.eye(5), np.eye(5))), "symmetric"),
        (Layered(ArcCosine(), 1, "rbf"), "base='rbf'"),
        (Layered(ArcCosine(), 1, Sigmoid(0.1, -9.0)), "<x, x> = -1.*semidefinite"),
        (ArcCosine(layers=1.5), "layers=1.5"),
    ],
)
def test_refusals(kernel, message):
    with pytest.raises((TypeError, ValueError), match=message):
        kernel(X)


def test_what_is_known_of_layers():
    assert Layered(ArcCosine(0), 3).positive_definite is True
    assert Layered(ArcCosine(0), base=Sigmoid()).positive_definite is None
    assert isinstance(RBF(), Layer)
    deep = Layered([ArcCosine(0), RBF(0.2)], 2, Spectrum(3))
    assert {"kernel__0__degree", "kernel__1__gamma", "base__k", "depth"} <= {*deep.get_params()}
    changed = clone(deep).set_params(kernel__0__degree=1, base__k=2)
    assert (changed.kernel[0].degree, changed.base.k, deep.kernel[0].degree) == (1, 2, 0)


# --- in learners -------------------------------------------------------------------------------


def test_learners_read_layers():
    y = np.where(np.linalg.norm(X, axis=1) > 2, "far", "near")
    dense = SVC(kernel=ArcCosine(1, 2), C=10).fit(X, y)
    assert dense.score(X, y) > 0.9
    assert_array_equal(SVC(kernel="arccosine", C=10).fit(X, y).kernel_(X), ArcCosine()(X))
    words = ["banana", "bananas", "ananas", "house", "houses", "mouse"] * 3
    labels = [0, 0, 0, 1, 1, 1] * 3
    for layer in (ArcCosine(0, 2), NeuralTangent(2), RBF(0.1)):
        deep = SVC(kernel=Layered(layer, base=Spectrum(2).normalised())).fit(words, labels)
        assert deep.score(["bananna", "hause"], [0, 1]) == 1
    tangent = KernelRidge(alpha=1e-6, kernel=NeuralTangent(2, 2.0, 0.1)).fit(X, X[:, 0])
    assert_allclose(tangent.predict(X), X[:, 0], atol=1e-3)
    assert KernelPCA(3, kernel=ArcCosine(1)).fit_transform(X).shape == (40, 3)
