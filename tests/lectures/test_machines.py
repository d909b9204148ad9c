"""Support vector machines, ridge, logistic regression and perceptrons, by other ways to solve them.

Machines are compared in the feature space of <x, z>², whose features are few enough to be written
down, by general solvers of numpy and scipy, and updates are done one by one.
"""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import LinearConstraint, linprog, minimize

import mercer
from mercer.kernels import RBF, Polynomial
from mercer.solvers import ConvergenceWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(16, 2))
NEW = RNG.normal(size=(6, 2))
NOISY = np.where(X[:, 0] + 0.7 * RNG.normal(size=16) > 0, 1.0, -1.0)
CLEAN = np.where(X[:, 0] + X[:, 1] > 0.1, 1.0, -1.0)
NUMBERS = np.sin(2 * X[:, 0]) + 0.2 * RNG.normal(size=16)
SQUARE = Polynomial(2, 1.0, 1.0)


def features(A):
    """φ with <φ(x), φ(z)> = (<x, z> + 1)²."""
    A = np.c_[A, np.ones(len(A))]
    return (A[:, :, None] * A[:, None, :]).reshape(len(A), -1)


def quadratic_program(Q, c, upper, equality=None, value=0.0, tol=1e-14):
    """min ½ aᵀQa + cᵀa over 0 <= a <= upper and <equality, a> = value."""
    scale = np.linalg.norm(Q, 2)
    constraints = [] if equality is None else [LinearConstraint(equality[None], value, value)]
    start = np.full(len(c), 0.0)
    if equality is not None and value:
        start = upper * value / (upper @ equality)
    found = minimize(
        lambda a: (a @ Q @ a / 2 + c @ a) / scale, start, jac=lambda a: (Q @ a + c) / scale,
        bounds=list(zip(np.zeros(len(c)), upper)), constraints=constraints, method="SLSQP",
        options={"ftol": tol, "maxiter": 2000},
    )  # fmt: skip
    return found.x, found.fun * scale


def primal(value, size):
    """The least value of a convex function of (w, b), which may have edges."""
    best = minimize(
        value, np.zeros(size), method="Powell", options={"maxfev": 200_000, "xtol": 1e-10}
    )
    return best.fun


# --- support vector machines ------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.3, 5.0])
def test_soft_margin(C):
    """max Σ λ - ½ Σ λ_i λ_j y_i y_j k, 0 <= λ <= C, Σ λ y = 0, and the primal has its value."""
    K = RBF(0.5)(X)
    dual, value = quadratic_program(K * np.outer(NOISY, NOISY), -np.ones(16), np.full(16, C), NOISY)
    model = mercer.SVC(C=C, kernel=RBF(0.5), tol=1e-9).fit(X, NOISY)
    found = np.zeros(16)
    found[model.support_] = model.dual_coef_[0]
    assert_allclose(found, dual * NOISY, atol=1e-5 * C)
    assert model.objective_ == pytest.approx(-value, rel=1e-7)
    f = K @ found + model.intercept_[0]
    hinge = C * np.maximum(0, 1 - NOISY * f).sum()
    assert found @ K @ found / 2 + hinge == pytest.approx(-value, rel=1e-6)  # the primal
    left = NOISY - K @ found
    free = (dual > 1e-4 * C) & (dual < (1 - 1e-4) * C)
    if free.any():
        b = left[free].mean()
    else:  # the middle of what the conditions leave
        below = (dual < C / 2) == (NOISY > 0)
        b = (left[below].max() + left[~below].min()) / 2
    assert free.any() == (C > 1)
    assert model.intercept_[0] == pytest.approx(b, abs=1e-5)
    wanted = RBF(0.5)(NEW, X) @ (dual * NOISY) + model.intercept_[0]
    assert_allclose(model.decision_function(NEW), wanted, atol=1e-4)
    assert model.margin_[0] == pytest.approx(1 / math.sqrt(found @ K @ found), rel=1e-6)


def test_support_vectors_are_the_rows_on_and_within_the_margin():
    model = mercer.SVC(C=2.0, kernel=RBF(0.5), tol=1e-9).fit(X, NOISY)
    beyond = NOISY * model.decision_function(X) > 1 + 1e-6
    assert not np.isin(np.flatnonzero(beyond), model.support_).any()
    assert (~beyond).sum() >= len(model.support_)


def test_hard_margin():
    """The widest street in feature space: min |w|² with y (<w, φ(x)> + b) >= 1."""
    F = features(X)
    model = mercer.SVC(C=math.inf, kernel=SQUARE, tol=1e-10).fit(X, CLEAN)
    rows = LinearConstraint(CLEAN[:, None] * np.c_[F, np.ones(16)], 1, np.inf)
    best = minimize(
        lambda v: v[:-1] @ v[:-1] / 2, np.zeros(10), jac=lambda v: np.append(v[:-1], 0),
        constraints=[rows], method="SLSQP", options={"ftol": 1e-15, "maxiter": 1000},
    ).x  # fmt: skip
    wanted = features(NEW) @ best[:-1] + best[-1]
    assert_allclose(model.decision_function(NEW), wanted, rtol=1e-4, atol=1e-4)
    assert model.margin_[0] == pytest.approx(1 / np.linalg.norm(best[:-1]), rel=1e-5)


def test_hard_margin_of_classes_that_meet():
    with pytest.raises(ValueError, match="C"):
        mercer.SVC(C=math.inf, kernel="linear").fit([[0.0], [1.0], [0.0]], [0, 1, 1])


def test_epsilon_regression():
    """The dual: min ½ (a - a*)ᵀK(a - a*) + ε Σ (a + a*) - yᵀ(a - a*), 0 <= a, a* <= C."""
    K, C, eps = RBF(0.5)(X), 2.0, 0.1
    Q = np.block([[K, -K], [-K, K]])
    signs = np.repeat([1.0, -1.0], 16)
    c = eps - np.r_[NUMBERS, -NUMBERS]
    dual, value = quadratic_program(Q, c, np.full(32, C), signs)
    model = mercer.SVR(C=C, epsilon=eps, kernel=RBF(0.5), tol=1e-9).fit(X, NUMBERS)
    found = np.zeros(16)
    found[model.support_] = model.dual_coef_[0]
    assert_allclose(found, dual[:16] - dual[16:], atol=1e-4)
    assert model.objective_ == pytest.approx(-value, rel=1e-6)
    f = K @ found + model.intercept_[0]
    tube = np.maximum(0, abs(NUMBERS - f) - eps).sum()
    assert found @ K @ found / 2 + C * tube == pytest.approx(-value, rel=1e-6)


@pytest.mark.parametrize("tau", [0.2, 0.7])
def test_quantile_regression(tau):
    """½ |w|² + C Σ max(τ r, (τ - 1) r); the dual: ½ aᵀKa - yᵀa, C(τ - 1) <= a <= Cτ, Σ a = 0."""
    K, C = RBF(0.5)(X), 2.0
    low = np.full(16, C * (tau - 1))
    u, _ = quadratic_program(K, K @ low - NUMBERS, np.full(16, C), np.ones(16), -low.sum())
    model = mercer.KernelQuantileRegression(quantile=tau, C=C, kernel=RBF(0.5), tol=1e-9)
    f = model.fit(X, NUMBERS).predict(X)
    dual, errors = u + low, NUMBERS - f
    square = dual @ K @ dual
    loss = C * np.maximum(tau * errors, (tau - 1) * errors).sum()
    assert square / 2 + loss == pytest.approx(NUMBERS @ dual - square / 2, rel=1e-5)
    assert_allclose(f - f[0], K @ dual - (K @ dual)[0], atol=1e-4)


def test_nu_classification():
    """min ½ aᵀ(K ∘ yyᵀ)a, 0 <= a <= 1, Σ a y = 0, Σ a = ν n; and what ν bounds."""
    nu, K = 0.5, RBF(0.5)(X)
    Q = K * np.outer(NOISY, NOISY)
    both = LinearConstraint(np.array([NOISY, np.ones(16)]), [0, nu * 16], [0, nu * 16])
    start = np.where(NOISY > 0, nu * 8 / (NOISY > 0).sum(), nu * 8 / (NOISY < 0).sum())
    dual = minimize(
        lambda a: a @ Q @ a / 2, start, jac=lambda a: Q @ a, bounds=[(0, 1)] * 16,
        constraints=[both], method="SLSQP", options={"ftol": 1e-15, "maxiter": 1000},
    ).x  # fmt: skip
    model = mercer.NuSVC(nu=nu, kernel=RBF(0.5), tol=1e-9).fit(X, NOISY)
    f = K @ (dual * NOISY)
    free = (dual > 1e-3) & (dual < 1 - 1e-3)
    sides = [f[free & (s == NOISY)].mean() for s in (-1, 1)]
    b, rho = -(sides[0] + sides[1]) / 2, (sides[1] - sides[0]) / 2
    assert_allclose(model.decision_function(X), (f + b) / rho, atol=1e-3)
    errors = np.mean(NOISY * model.decision_function(X) < 1 - 1e-6)
    assert errors <= nu <= len(model.support_) / 16


def test_nu_regression():
    """At most a share ν is outside of the tube, whose width is part of the problem."""
    nu, C = 0.4, 2.0
    model = mercer.NuSVR(nu=nu, C=C, kernel=RBF(0.5), tol=1e-9).fit(X, NUMBERS)
    outside = np.mean(abs(NUMBERS - model.predict(X)) > model.epsilon_ + 1e-6)
    assert outside <= nu <= len(model.support_) / 16
    same = mercer.SVR(C=C, epsilon=model.epsilon_, kernel=RBF(0.5), tol=1e-9).fit(X, NUMBERS)
    assert_allclose(model.predict(NEW), same.predict(NEW), atol=1e-5)


def test_one_class():
    """min ½ aᵀKa over 0 <= a <= 1, Σ a = ν n, and f = Σ a k - ρ."""
    nu, K = 0.4, RBF(0.5)(X)
    dual, _ = quadratic_program(K, np.zeros(16), np.ones(16), np.ones(16), nu * 16)
    model = mercer.OneClassSVM(nu=nu, kernel=RBF(0.5), tol=1e-9).fit(X)
    f = K @ dual
    free = (dual > 1e-3) & (dual < 1 - 1e-3)
    assert_allclose(model.decision_function(X), f - f[free].mean(), atol=1e-4)
    assert np.mean(model.decision_function(X) < -1e-6) <= nu <= len(model.support_) / 16


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_linear_machines_in_the_primal(loss):
    """½ |(w, b)|² + C Σ ℓ(1 - y (<w, x> + b)): no point near the answer is lower."""
    model = mercer.LinearSVC(loss=loss, C=0.7, tol=1e-10, dual=True, max_iter=100_000).fit(X, NOISY)
    A = np.c_[X, np.ones(16)]

    def value(v):
        errors = np.maximum(0, 1 - NOISY * (A @ v))
        return v @ v / 2 + 0.7 * (errors if loss == "hinge" else errors**2).sum()

    best = np.r_[model.coef_[0], model.intercept_]
    assert model.objective_ == pytest.approx(value(best), rel=1e-9)
    assert value(best) <= primal(value, 3) * (1 + 1e-9)


# --- ridge and logistic regression ------------------------------------------------------------


def test_ridge_is_the_same_in_the_primal_and_in_the_dual():
    """(K + λI)⁻¹ y against (ΦᵀΦ + λI)⁻¹ Φᵀ y."""
    F, lam = features(X), 0.3
    model = mercer.KernelRidge(lam, kernel=SQUARE).fit(X, NUMBERS)
    assert_allclose(model.dual_coef_, np.linalg.solve(SQUARE(X) + lam * np.eye(16), NUMBERS))
    w = np.linalg.solve(F.T @ F + lam * np.eye(9), F.T @ NUMBERS)
    assert_allclose(model.predict(NEW), features(NEW) @ w, rtol=1e-9)


def test_ridge_with_weights():
    w = RNG.uniform(0.2, 3, 16)
    model = mercer.KernelRidge(0.3, kernel=RBF(0.5)).fit(X, NUMBERS, w)
    wanted = np.linalg.solve(RBF(0.5)(X) + 0.3 * np.diag(1 / w), NUMBERS)
    assert_allclose(model.dual_coef_, wanted, rtol=1e-8)


def test_ridge_leaves_one_out_in_closed_form():
    """The prediction of each row by the fit of all others."""
    model = mercer.KernelRidge("auto", kernel=RBF(0.5)).fit(X, NUMBERS)
    for i in range(16):
        rest = np.delete(np.arange(16), i)
        one = mercer.KernelRidge(model.alpha_, kernel=RBF(0.5)).fit(X[rest], NUMBERS[rest])
        assert_allclose(model.left_out_[i], one.predict(X[[i]])[0], rtol=1e-8)


def test_logistic_regression():
    """C Σ log(1 + exp(-y f)) + ½ |w|² in feature space."""
    F, C = np.c_[features(X), np.ones(16)], 0.8

    def value(v):
        f = NOISY * (F @ v)
        slope = -NOISY / (1 + np.exp(f))
        penalty = np.append(v[:-1], 0)
        return C * np.logaddexp(0, -f).sum() + penalty @ penalty / 2, C * F.T @ slope + penalty

    best = minimize(value, np.zeros(10), jac=True, method="BFGS", options={"gtol": 1e-9})
    model = mercer.KernelLogisticRegression(C, kernel=SQUARE).fit(X, NOISY)
    f = np.c_[features(NEW), np.ones(6)] @ best.x
    assert_allclose(model.predict_proba(NEW)[:, 1], 1 / (1 + np.exp(-f)), atol=1e-6)
    assert model.objective_ == pytest.approx(best.fun, rel=1e-8)


# --- perceptrons ------------------------------------------------------------------------------


def epochs(K, y, eta, bias, most=1000):
    """α and b after passes in the order of the rows, until one has no mistake."""
    alpha, b, made = np.zeros(len(y)), 0.0, []
    for _ in range(most):
        mistakes = 0
        for i in range(len(y)):
            if y[i] * (alpha @ K[:, i] + b) <= 0:
                alpha[i] += eta * y[i]
                b += eta * y[i] * bias
                mistakes += 1
        made.append(mistakes)
        if not mistakes:
            break
    return alpha, b, made


@pytest.mark.parametrize("bias", [True, False])
def test_the_perceptron_in_the_primal_and_in_the_dual(bias):
    """w += η y x and b += η y after each mistake, which is α_i += η y_i."""
    y = CLEAN if bias else np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
    K = X @ X.T
    alpha, b, made = epochs(K, y, 0.5, bias)
    options = {"shuffle": False, "tol": None, "eta0": 0.5, "fit_intercept": bias}
    plain = mercer.Perceptron(**options).fit(X, y)
    assert_allclose(plain.coef_[0], X.T @ alpha, rtol=1e-9, atol=1e-12)
    assert_allclose(plain.intercept_, b, atol=1e-12)
    assert list(plain.mistakes_[0]) == made
    dual = mercer.KernelPerceptron("linear", **options).fit(X, y)
    found = np.zeros(16)
    found[dual.support_] = dual.dual_coef_[0]
    assert_allclose(found, alpha, atol=1e-12)
    assert_allclose(dual.intercept_, b, atol=1e-12)
    assert list(dual.mistakes_[0]) == made


def best_margin(G):
    """γ² = min over α >= 0, Σ α = 1 of αᵀ(yyᵀ ∘ κ)α."""
    n = len(G)
    _, value = quadratic_program(2 * G, np.zeros(n), np.ones(n), np.ones(n), 1.0, tol=1e-16)
    return math.sqrt(value)


@pytest.mark.parametrize("bias", [True, False])
def test_the_mistakes_are_within_novikoffs_bound(bias):
    """(R / γ)² with κ = k, and κ = k + 1 where b is learnt."""
    y = CLEAN if bias else np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
    kappa = X @ X.T + bias
    gamma, R = best_margin(kappa * np.outer(y, y)), math.sqrt(kappa.diagonal().max())
    model = mercer.KernelPerceptron("linear", tol=None, fit_intercept=bias).fit(X, y)
    report = model.margin_report(X, y)
    assert report.radius == pytest.approx(R, rel=1e-9)
    assert report.margin[0] == pytest.approx(gamma, rel=2e-3)
    assert report.bound[0] == pytest.approx((R / gamma) ** 2, rel=5e-3)
    assert report.mistakes[0] == sum(model.mistakes_[0]) <= report.bound[0]
    proof, k = report.proofs[0], np.arange(1, len(report.proofs[0].along) + 1)
    assert (proof.along >= k * report.margin[0] * (1 - 1e-9)).all()
    assert (proof.squares <= k * R**2 * (1 + 1e-9)).all()
    assert (proof.cosines >= np.sqrt(k) * report.margin[0] / R * (1 - 1e-9)).all()


def test_two_near_points_with_a_bias_need_10003_mistakes():
    """Of the doubles next to 0.01 and 0.02; of the decimals there are two more, which are ties."""
    x, y = np.array([[0.01], [0.02]]), np.array([-1.0, 1.0])
    options = {"shuffle": False, "tol": None, "max_iter": 20_000}
    model = mercer.Perceptron(**options).fit(x, y)
    w = b = Fraction(0)
    made, mistakes = 0, 1
    while mistakes:
        mistakes = 0
        for value, sign in ((Fraction(0.01), -1), (Fraction(0.02), 1)):
            if sign * (w * value + b) <= 0:
                w, b, mistakes = w + sign * value, b + sign, mistakes + 1
        made += mistakes
    assert sum(model.mistakes_[0]) == made == 10_003
    assert model.margin_report(x, y).bound[0] >= 10_003


def test_a_gaussian_kernel_learns_all_labels_of_distinct_points():
    """With the least distance 1/√γ the training error reaches 0, whatever the labels are."""
    grid = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=2).reshape(-1, 2)
    for seed in range(5):
        y = np.random.default_rng(seed).choice([-1, 1], 25)
        model = mercer.KernelPerceptron(RBF(1.0), tol=None).fit(grid, y)
        assert model.score(grid, y) == 1


def test_the_default_kernel_perceptron_goes_on_until_no_mistake():
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(100, 3)), rng.choice([-1, 1], 100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mercer.KernelPerceptron(RBF(1.0)).fit(A, y)
    assert model.score(A, y) == 1


def separating_plane(A, y):
    """Whether some plane separates the classes, by a linear program."""
    rows = -y[:, None] * np.c_[A, np.ones(len(A))]
    free = [(None, None)] * rows.shape[1]
    return linprog(np.zeros(rows.shape[1]), rows, -np.ones(len(A)), bounds=free).status == 0


def test_the_report_knows_whether_a_plane_separates():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(12, 2))
        y = np.where(A[:, 0] + 0.3 * rng.normal(size=12) > 0, 1, -1)
        if len(set(y)) == 2:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = mercer.Perceptron(max_iter=200, tol=None).fit(A, y)
            assert model.margin_report(A, y).separable[0] == separating_plane(A, y)
