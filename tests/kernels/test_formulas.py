"""The formula of a kernel, evaluated by a table of a few lines, is the kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gamma, kv

import cases
from mercer import distances
from mercer.kernels import (
    ANOVA,
    RBF,
    Additive,
    AllSubsets,
    ArcCosine,
    Centred,
    Convex,
    Cosine,
    Diffusion,
    Exponential,
    ExponentialPower,
    FromDistance,
    Layered,
    Linear,
    Mapped,
    Matern,
    Modulated,
    NeuralNetworkGP,
    NeuralTangent,
    Normalised,
    NormalisedGaussian,
    Power,
    Product,
    PStepWalk,
    QueryKey,
    RationalQuadratic,
    RegularisedLaplacian,
    Sum,
)
from mercer.samples import as_samples


def matern(t, nu, rate, power):
    u = np.where(t == 0, 1, rate * t**power)
    return np.where(t == 0, 1, 2 ** (1 - nu) / gamma(nu) * u**nu * kv(nu, u))


def arc_cosine(t, degree):
    angle = np.arccos(t)
    rest, sine = np.pi - angle, np.sin(angle)
    J = {1: sine + rest * t, 2: 3 * sine * t + rest * (1 + 2 * t**2)}
    return J[degree] / np.pi


def cosine(x, z):
    lengths = np.linalg.norm(x) * np.linalg.norm(z)
    return np.clip(x @ z / lengths, -1, 1) if lengths else 0.0


PROFILES = {
    "identity": lambda t: t,
    "polynomial": lambda t, gamma, coef0, degree: (gamma * t + coef0) ** degree,
    "tanh": lambda t, gamma, coef0: np.tanh(gamma * t + coef0),
    "exponential": lambda t, rate, power: np.exp(-rate * t**power),
    "rational": lambda t, rate, power, alpha: (1 + rate * t**power) ** -alpha,
    "matern": matern,
    "arc_cosine": arc_cosine,
    "bell_of_angle": lambda t: np.exp(t - 1),
}
COORDINATES = {
    "product": lambda x, z, p: x @ z,
    "cosine": lambda x, z, p: cosine(x, z),
    "distance": lambda x, z, p: (np.abs(x - z) ** p).sum(),
    "chi_squared": lambda x, z, p: ((x - z) ** 2 / np.where(x + z, x + z, 1)).sum(),
    "minima": lambda x, z, p: np.minimum(x, z).sum(),
}


def evaluated(formula, X, Z):
    A, B = formula.rows(X), formula.rows(Z)
    t = np.array([[COORDINATES[formula.coordinates](x, z, formula.p) for z in B] for x in A])
    lengths = np.outer(np.linalg.norm(A, axis=1), np.linalg.norm(B, axis=1))
    values = PROFILES[formula.profile](t, **formula.parameters)
    return formula.factor * lengths**formula.lengths * values


VECTORS = [(k.bind(k.encode(X)), X) for k, X, *_ in cases.KERNELS if k.kind == "vectors"]
WITH_FORMULA = [case for case in VECTORS if case[0].formula is not None]
SCALED = np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 1.0]])
MORE = [
    2.5 * (3 * RBF(0.5)),
    RBF(0.5, distances.SquaredEuclidean([1.0, 2.0, 0.0])),
    RBF(0.5, distances.MappedMinkowski(SCALED)),
    RationalQuadratic(0.5, 2.0, distances.Minkowski(1, [1.0, 2.0, 3.0])),
    ExponentialPower(2.0, 1.5, distances.Mahalanobis(np.diag([1.0, 2.0, 3.0]))),
    Matern(3.3, 2.0, distances.MappedMinkowski([1.0, 0.5, 2.0], 1.5)),
    FromDistance(distances.Minkowski(1.5), 0.3, 0.7),
]


@pytest.mark.parametrize("case", WITH_FORMULA, ids=cases.name)
def test_a_formula_is_the_kernel(case):
    kernel, X = case
    X = kernel.encode(X)
    X = np.asarray(X.todense() if hasattr(X, "todense") else X, np.float64)
    assert_allclose(evaluated(kernel.formula, X, X), kernel.block(X, X), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("kernel", MORE, ids=repr)
def test_a_formula_has_the_map_and_the_factor(kernel):
    X = np.random.RandomState(0).normal(size=(5, 3))
    assert_allclose(evaluated(kernel.formula, X, X[:3]), kernel.block(X, X[:3]), rtol=1e-12)


@pytest.mark.parametrize("kernel", [Cosine(), NormalisedGaussian(), ArcCosine(1), ArcCosine(2)])
def test_zero_rows(kernel):
    X = np.array([[0.0, 0.0], [1.0, -1.0], [0.0, 3.0]])
    assert_allclose(evaluated(kernel.formula, X, X), kernel.block(X, X), atol=1e-12)


def test_kernels_of_vectors_have_a_formula_or_are_known_to_have_none():
    with_one = {type(kernel) for kernel, _ in WITH_FORMULA}
    without = {type(kernel) for kernel, _ in VECTORS} - with_one
    assert without == {
        *(Additive, AllSubsets, ANOVA, Layered, NeuralNetworkGP, NeuralTangent, QueryKey),
        *(Diffusion, PStepWalk, RegularisedLaplacian),
        *(Centred, Convex, Exponential, Mapped, Modulated, Normalised, Power, Product, Sum),
    }


@pytest.mark.parametrize(
    "kernel",
    [
        RBF() + Linear(),
        RBF().normalised(),
        ArcCosine(0),
        ArcCosine(1, layers=2),
        RBF(1.0, distances.Minkowski(np.inf)),
        RBF(1.0, distances.PairDifferences()),
        FromDistance(distances.Match()),
    ],
    ids=repr,
)
def test_no_formula(kernel):
    assert kernel.formula is None


def test_a_formula_needs_a_bound_kernel():
    with pytest.raises(ValueError, match="bind"):
        _ = RBF("scale").formula
    X = as_samples([[1.0], [3.0]], "vectors")
    assert RBF("scale").bind(X).formula.parameters == {"rate": 1.0, "power": 1.0}
