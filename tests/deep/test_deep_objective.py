"""The objective of deep kernel machines against its definition, its gradient, and its maxima."""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose
from scipy.special import log_softmax
from scipy.stats import multivariate_normal

from mercer.deep.ascent import DeepAscent
from mercer.deep.objective import ExactObjective, InducingObjective
from mercer.deep.propagation import LayerPropagation, kernel_of
from mercer.deep.targets import ClassTargets, Factor, NumberTargets
from mercer.kernels import RBF, ArcCosine, Linear, NormalisedGaussian
from mercer.solvers import Reason
from mercer.solvers.eigen import riccati

RNG = np.random.default_rng(0)
n, m = 24, 9
X = RNG.normal(size=(n, 4))
G0 = X @ X.T / 4
Y = RNG.normal(size=(n, 2)) + X[:, :2] ** 2
CLASSES = np.eye(3)[np.digitize(X[:, 0], [-0.5, 0.5])]
LAYERS = [
    Linear(), RBF(0.5), ArcCosine(1), NormalisedGaussian()
]  # fmt: skip


def exact(layer, targets=None, dof=(2.0, 3.0), jitter=1e-2, G=G0):
    targets = NumberTargets(Y, True) if targets is None else targets
    return ExactObjective(G, [layer] * (len(dof) + 1), np.array(dof), targets, jitter)


def inducing(layer, targets=None, rows=7, count=m, jitter=1e-2, G=G0):
    targets = NumberTargets(Y, True) if targets is None else targets
    problem = (G[:count, :count], [layer] * 3, np.array([2.0, 3.0]), targets, jitter)
    return InducingObjective(*problem, G[:, :count], G.diagonal().copy(), rows)


def moved(objective):
    """Gram matrices that are no stationary point."""
    size = len(objective.G0)
    return [G + np.diag(RNG.uniform(0.1, 0.5, size)) for G in objective.start()]


# --- the definition ------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_the_objective_by_densities(layer):
    """KL(N(0, G) || N(0, K)) = E log N(x; 0, G) - E log N(x; 0, K), from scipy's entropies."""
    objective = exact(layer)
    grams, noise = moved(objective), 0.3
    wanted, below = 0.0, G0
    for G, nu in zip(grams, (2.0, 3.0)):
        K = kernel_of(layer, below) + 1e-2 * np.eye(n)
        cross = n * np.log(2 * np.pi) + np.linalg.slogdet(K)[1] + np.trace(np.linalg.solve(K, G))
        wanted -= nu * (cross / 2 - multivariate_normal(cov=G).entropy())
        below = G
    S = kernel_of(layer, below) + (1e-2 + noise) * np.eye(n)

    def likelihood(amplitude):
        return sum(multivariate_normal(cov=amplitude * S).logpdf(y) for y in Y.T)

    fixed = exact(layer, NumberTargets(Y, False)).evaluate(grams, noise).value
    assert_allclose(fixed, wanted + likelihood(1.0), rtol=1e-9)
    found = scipy.optimize.minimize_scalar(
        lambda t: -likelihood(np.exp(t)), bounds=(-5, 5), options={"xatol": 1e-6}
    )
    wanted -= found.fun
    assert_allclose(objective.evaluate(grams, noise).value, wanted, rtol=1e-9)


def test_the_bound_for_classes_by_its_definition():
    """The best mean and covariance, found by a general optimiser, on the bound as it stands."""
    K = kernel_of(RBF(0.5), G0) + 0.1 * np.eye(n)
    C, L = 3, np.linalg.cholesky(K)
    A = np.linalg.inv(np.linalg.inv(K) + np.eye(n) / C)  # the best one for any mean

    def cost(b):
        mean = L @ b.reshape(n, C)
        fit = np.sum(CLASSES * log_softmax(mean, axis=1)) - np.trace(A) / 2
        ratio = np.linalg.solve(K, A)
        divergence = np.trace(ratio) - np.linalg.slogdet(ratio)[1] - n
        return -(fit - C / 2 * divergence - b @ b / 2)

    found = scipy.optimize.minimize(cost, np.zeros(n * C), method="BFGS", options={"gtol": 1e-6})
    value = ClassTargets(CLASSES).dense(K, 0.0).value
    assert_allclose(value, -found.fun, rtol=1e-7)


@pytest.mark.parametrize("targets", [NumberTargets(Y, True), ClassTargets(CLASSES)])
def test_a_factor_of_the_whole_matrix_gives_the_same(targets):
    K = kernel_of(ArcCosine(1), G0) + 0.1 * np.eye(n)
    T = np.linalg.cholesky(K)
    dense, factored = targets.dense(K, 0.3), targets.factored(Factor(T, T.T @ T, 0.0), 0.3)
    assert_allclose(factored.value, dense.value, rtol=1e-10)
    # dL/dT = 2 dL/dK T, but for the trace that the gap counts
    s = targets.shift(0.3)
    gap = targets.Y.shape[1] / s * T
    A, M, product, by_diagonal = factored.slope
    by_factor = factored.residuals @ A.T + T @ M
    assert_allclose(by_factor, 2 * dense.by_kernel @ T + gap, atol=1e-6)
    assert_allclose(product, T.T @ by_factor, atol=1e-9 * np.abs(product).max())
    assert by_diagonal == -targets.Y.shape[1] / (2 * s)


# --- the gradient --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [exact, inducing])
@pytest.mark.parametrize("targets", [NumberTargets(Y, True), ClassTargets(CLASSES)], ids=["y", "c"])
@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_the_whole_gradient_by_differences(layer, targets, kind):
    objective = kind(layer, targets)
    grams, noise, h = moved(objective), 0.3, 1e-5
    at = objective.evaluate(grams, noise)
    for level, gradient in enumerate(at.gradients):
        E = RNG.normal(size=gradient.shape)
        E = E + E.T

        def along(t, level=level, E=E):
            there = [G + t * E if i == level else G for i, G in enumerate(grams)]
            return objective.evaluate(there, noise).value

        # of fourth order: the differences are exact to rounding
        wanted = (8 * (along(h) - along(-h)) - along(2 * h) + along(-2 * h)) / (12 * h)
        assert_allclose(np.sum(gradient * E), wanted, rtol=1e-4, atol=1e-4)
    if targets.learnt:
        up, down = (objective.evaluate(grams, noise + t).value for t in (1e-6, -1e-6))
        assert_allclose(at.by_noise, (up - down) / 2e-6, rtol=1e-5)


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_all_samples_as_inducing_points_are_the_exact_machine(layer):
    G = G0 + 0.1 * np.eye(n)
    problem = (G, [layer] * 3, np.array([2.0, 3.0]), NumberTargets(Y, True), 0.0)
    whole, parts = ExactObjective(*problem), InducingObjective(*problem, G, G.diagonal().copy(), 7)
    grams = moved(whole)
    a, b = whole.evaluate(grams, 0.3), parts.evaluate(grams, 0.3)
    assert_allclose(a.value, b.value, rtol=1e-8)
    assert_allclose(a.by_noise, b.by_noise, rtol=1e-5)
    for one, other in zip(a.gradients, b.gradients):
        # but for the root of rounding at the diagonal of the arc-cosine
        assert_allclose(one, other, atol=1e-5 * np.abs(one).max())


def test_rows_of_samples_at_a_time():
    few, many = inducing(ArcCosine(1), rows=5), inducing(ArcCosine(1), rows=100)
    grams = moved(few)
    a, b = few.evaluate(grams, 0.3), many.evaluate(grams, 0.3)
    assert_allclose(a.value, b.value, rtol=1e-12)
    for one, other in zip(a.gradients, b.gradients):
        assert_allclose(one, other, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kind", [exact, inducing])
def test_a_scale_is_that_of_all_inner_products(kind):
    scaled, wanted = kind(RBF(0.5)).scaled(5.0).scaled(0.6), kind(RBF(0.5), G=3.0 * G0)
    grams = moved(wanted)
    a, b = scaled.evaluate(grams, 0.3), wanted.evaluate(grams, 0.3)
    assert_allclose(a.value, b.value, rtol=1e-10)
    for one, other in zip(a.gradients, b.gradients):
        assert_allclose(one, other, rtol=1e-8, atol=1e-9)


def test_the_noise_of_the_largest_likelihood():
    objective = exact(RBF(0.5))
    grams = objective.start()
    noise = objective.best_noise(grams, 1.0)
    values = [objective.evaluate(grams, s).value for s in (noise, 1.1 * noise, noise / 1.1)]
    assert np.argmax(values) == 0
    assert exact(Linear(), NumberTargets(Y, False)).best_noise(grams, 0.7) == 0.7
    low = inducing(RBF(0.5))
    grams = low.start()
    noise = low.best_noise(grams, 1.0)
    assert abs(low.evaluate(grams, noise).by_noise) * noise < 0.01 * n


def test_propagation_is_the_conditional_mean():
    """C' = B K⁻¹ G and g' of single rows, by the formula with explicit inverses."""
    layer = ArcCosine(1)
    objective = inducing(layer)
    grams = moved(objective)
    flow = LayerPropagation(objective.G0, grams, [layer] * 3, 1e-2)
    T, k = flow.outputs(G0[:, :m], G0.diagonal())
    for t in (0, 12, 23):
        c, g, below = G0[t, :m], G0[t, t], G0[:m, :m]
        for G in grams:
            b = layer.of_gram(c[None].copy(), np.array([g]), below.diagonal().copy())[0]
            inverse = np.linalg.inv(kernel_of(layer, below) + 1e-2 * np.eye(m))
            w = b @ inverse
            c, g = w @ G, w @ G @ w + g + 1e-2 - w @ b  # the arc-cosine keeps g
            below = G
        b = layer.of_gram(c[None].copy(), np.array([g]), below.diagonal().copy())[0]
        inverse = np.linalg.inv(kernel_of(layer, below) + 1e-2 * np.eye(m))
        assert_allclose(T[t] @ T[t], b @ inverse @ b, rtol=1e-8)
        assert_allclose(k[t], g + 1e-2, rtol=1e-8)


# --- the ascent ----------------------------------------------------------------------------------


@pytest.mark.parametrize("riccati_steps", [0, 5, 100])
@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_the_ascent_is_monotone_and_ends_at_a_stationary_point(layer, riccati_steps):
    objective = exact(layer, dof=(30.0, 20.0))
    state = DeepAscent(1e-5, 1000, riccati_steps).solve(objective, 1.0)
    assert state.reason is Reason.CONVERGED
    assert (np.diff(state.path) >= 0).all()
    at = objective.evaluate(state.grams, state.noise)
    assert_allclose(at.value, state.value, rtol=1e-12)
    for G, gradient, nu in zip(state.grams, at.gradients, objective.dof):
        assert np.linalg.norm(G @ gradient @ G) < 1e-4 * nu * np.linalg.norm(G) ** 2
    # no direction climbs
    for _ in range(5):
        E = RNG.normal(size=(n, n))
        there = [G + 1e-3 * G @ (E + E.T) @ G for G in state.grams]
        assert objective.evaluate(there, state.noise).value <= state.value + 1e-6


def test_riccati_steps_and_descent_alone_come_to_the_same_maximum():
    values = [
        DeepAscent(1e-6, 3000, steps).solve(exact(ArcCosine(1), dof=(60.0, 60.0)), 1.0).value
        for steps in (0, 5, 50)
    ]
    assert_allclose(values, values[0], rtol=1e-8)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_equal_degrees_of_freedom_and_linear_layers_are_a_geodesic(depth):
    """G_l = G_0 #_{l / (depth + 1)} S_y: for one layer the geometric mean of both."""
    rng = np.random.default_rng(1)
    Z, T = rng.normal(size=(2, 8, 40))
    start, end = Z @ Z.T / 40, T @ T.T / 40
    targets = NumberTargets(T, False)
    nu = np.full(depth, 40.0)
    objective = ExactObjective(start, [Linear()] * (depth + 1), nu, targets, 0.0)
    state = DeepAscent(1e-11, 3000, 3000).solve(objective, 0.0)
    half = scipy.linalg.sqrtm(start)
    inner = np.linalg.solve(half, np.linalg.solve(half, end).T)
    for level, G in enumerate(state.grams, 1):
        power = scipy.linalg.fractional_matrix_power(inner, level / (depth + 1))
        assert_allclose(G, half @ power @ half, atol=1e-9)
    assert (np.diff(state.path) >= 0).all()


@pytest.mark.parametrize("nu", [10.0, 40.0, 300.0])
def test_a_linear_layer_without_noise_is_one_riccati_equation(nu):
    """0 = (ν - N) G - ν G K⁻¹ G + N S_y, for any ν beside N targets."""
    rng = np.random.default_rng(2)
    Z, T = rng.normal(size=(2, 8, 40))
    K, S = Z @ Z.T / 40, T @ T.T / 40
    objective = ExactObjective(K, [Linear()] * 2, np.array([nu]), NumberTargets(T, False), 0.0)
    (G,) = DeepAscent(1e-11, 500).solve(objective, 0.0).grams
    assert_allclose(G, riccati((nu - 40) / 2, nu * np.linalg.inv(K), 40 * S), atol=1e-9)
    left = (nu - 40) * G - nu * G @ np.linalg.solve(K, G) + 40 * S
    assert np.abs(left).max() < 1e-9 * nu


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_stationary_matrices_are_fixed_points_of_the_riccati_equations(layer):
    """A = ½ ν I, U = ν K⁻¹ + 2 D⁻ and Q = 2 G D⁺ G give G again where its gradient is 0, only."""
    objective = exact(layer, dof=(30.0, 20.0))
    state = DeepAscent(1e-6, 1000).solve(objective, 1.0)
    for grams, fixed in ((state.grams, True), (moved(objective), False)):
        at = objective.evaluate(grams, state.noise)
        for G, gradient, inverse, nu in zip(grams, at.gradients, at.inverses, objective.dof):
            D = gradient - nu / 2 * (np.linalg.inv(G) - inverse)
            values, V = np.linalg.eigh((D + D.T) / 2)
            up, down = (V * np.maximum(values, 0)) @ V.T, (V * np.maximum(-values, 0)) @ V.T
            again = riccati(nu / 2, nu * inverse + 2 * down, 2 * G @ up @ G)
            away = np.linalg.norm(again - G) / np.linalg.norm(G)
            assert away < 1e-5 if fixed else away > 1e-3


def test_the_distance_to_the_infinitely_wide_network_falls_as_one_by_nu():
    gaps = []
    for nu in (1e3, 1e4, 1e5):
        objective = exact(RBF(0.5), NumberTargets(Y, False), dof=(nu, nu))
        state = DeepAscent(1e-10, 500).solve(objective, 0.3)
        gaps.append(max(np.abs(G - K).max() for G, K in zip(state.grams, objective.start())))
    assert_allclose(np.array(gaps[:-1]) / gaps[1:], 10, rtol=0.05)


def test_the_limit_of_steps():
    state = DeepAscent(1e-12, 7, 3).solve(exact(RBF(0.5)), 1.0)
    assert state.reason is Reason.LIMIT
    assert 4 <= len(state.path) <= 8
    assert state.gradient > 1e-12
