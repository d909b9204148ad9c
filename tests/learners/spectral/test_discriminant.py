"""Fisher's discriminant beside LinearDiscriminantAnalysis and the definition by brute force."""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_moons
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import KernelDiscriminant
from mercer.kernels import RBF, Sigmoid, Spectrum
from mercer.learners.base.calibration import fit_softmax
from mercer.learners.ridge.penalty import PENALTIES
from mercer.learners.spectral.discriminant import _left_out
from mercer.testing import parametrize_with_object_checks
from objects import SharedItems, SharedSymbols

RNG = np.random.default_rng(0)
DATA = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}


@parametrize_with_checks([KernelDiscriminant(), KernelDiscriminant(0.1, solver="low_rank")])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@parametrize_with_object_checks(
    [(KernelDiscriminant(kernel=SharedSymbols()), "strings"),
     (KernelDiscriminant(0.1, kernel=SharedItems()), "sets")]
)  # fmt: skip
def test_object_conventions(check):
    check()


@pytest.mark.parametrize("solver", ["exact", "low_rank"])
@pytest.mark.parametrize("name", DATA)
def test_without_shrinkage_a_linear_kernel_is_linear_discriminant_analysis(name, solver):
    X, y = DATA[name]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    theirs = LinearDiscriminantAnalysis().fit(X[::2], y[::2])
    ours = KernelDiscriminant(0.0, kernel="linear", solver=solver, random_state=0)
    ours.fit(X[::2], y[::2])
    Z = X[1::2]
    assert_allclose(ours.predict_proba(Z), theirs.predict_proba(Z), atol=1e-7)
    assert_allclose(np.abs(ours.transform(Z)), np.abs(theirs.transform(Z)), atol=1e-6)
    shares = theirs.explained_variance_ratio_
    assert_allclose(ours.explained_variance_ratio_, shares, atol=1e-8)
    logs = ours.decision_function(Z)
    gaps = theirs.decision_function(Z) - logs  # the same but for a constant of each row
    assert_allclose(gaps - gaps[:, :1], 0, atol=1e-6)
    assert_allclose(ours.priors_, theirs.priors_)


@pytest.mark.parametrize("solver", ["exact", "low_rank"])
def test_a_polynomial_kernel_is_linear_discriminant_analysis_of_the_monomials(solver):
    X, y = DATA["iris"]
    X = ((X - X.mean(axis=0)) / X.std(axis=0))[:, 1:3]
    a, b = X.T  # φ of (<x, z> + 1)²
    monomials = np.column_stack([a**2, b**2, a * b, a, b])
    theirs = LinearDiscriminantAnalysis().fit(monomials[::2], y[::2])
    ours = KernelDiscriminant(0.0, kernel="poly", degree=2, gamma=1.0, solver=solver)
    ours.fit(X[::2], y[::2])
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(monomials), atol=1e-5)
    wanted = np.abs(theirs.transform(monomials))
    assert_allclose(np.abs(ours.transform(X)), wanted, atol=1e-5 * wanted.max())


def test_two_classes_and_priors():
    X, y = DATA["iris"]
    X, y = X[50:], np.array(["b", "a"])[y[50:] - 1]
    theirs = LinearDiscriminantAnalysis(priors=[0.9, 0.1]).fit(X, y)
    ours = KernelDiscriminant(0.0, kernel="linear", priors=[9, 1]).fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-7)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-6)
    assert_allclose(ours.priors_, theirs.priors_)
    assert ours.transform(X).shape == (100, 1)


@pytest.mark.parametrize("solver", ["exact", "low_rank"])
@pytest.mark.parametrize("alpha", [1e-4, 1.0])
def test_the_definition_by_brute_force(alpha, solver):
    """Directions of max wᵀS_B w / wᵀ(S_W + αI) w over w = Σ a_i φ̃(x_i), scaled by n."""
    X, y = DATA["iris"]
    kernel = RBF(0.2)
    model = KernelDiscriminant(alpha, kernel=kernel, solver=solver, rank=150, random_state=0)
    model.fit(X, y)
    n, H = len(X), np.eye(len(X)) - 1 / len(X)
    values, U = np.linalg.eigh(H @ kernel(X) @ H)
    T = (U * np.sqrt(np.maximum(values, 0)))[:, values > 1e-10]
    means = np.array([T[y == c].mean(axis=0) for c in range(3)])
    within = sum((T[y == c] - means[c]).T @ (T[y == c] - means[c]) for c in range(3))
    between = sum((y == c).sum() * np.outer(means[c], means[c]) for c in range(3))
    ratios, W = scipy.linalg.eigh(between, within + alpha * np.eye(len(within)))
    wanted = (T @ W[:, ::-1][:, :2]) * np.sqrt(n)
    scores = model.transform(X)
    assert_allclose(np.abs(scores), np.abs(wanted), atol=1e-5 * np.abs(wanted).max())
    shares = ratios[::-1][:2] / ratios[-2:].sum()
    assert_allclose(model.explained_variance_ratio_, shares, atol=1e-7)
    centres = np.array([scores[y == c].mean(axis=0) for c in range(3)])
    distances = np.square(scores[:, None] - centres).sum(axis=2)
    p = np.exp(-distances / 2 + distances.min(axis=1, keepdims=True) / 2)
    assert_allclose(model.predict_proba(X), p / p.sum(axis=1, keepdims=True), atol=1e-6)


def test_the_shrinkage_is_that_of_the_least_leave_one_out_error():
    X, y = make_moons(60, noise=0.3, random_state=0)
    kernel = RBF(1.0)
    K, Y = kernel(X), np.column_stack([y == 0, y == 1]).astype(float)
    H = np.eye(60) - 1 / 60
    centred, total = H @ K @ H, np.trace(H @ K @ H)
    errors = []
    for alpha in PENALTIES * total:
        S = centred @ np.linalg.inv(centred + alpha * np.eye(60)) + 1 / 60
        errors.append(np.square((Y - S @ Y) / (1 - S.diagonal())[:, None]).sum())
    model = KernelDiscriminant(kernel=kernel).fit(X, y)
    assert_allclose(model.alpha_, PENALTIES[np.argmin(errors)] * total, rtol=1e-9)
    assert 0 < np.argmin(errors) < len(PENALTIES) - 1


@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_indicators_without_a_row_are_those_of_a_fit_without_it(alpha):
    """Of a ridge regression with a free constant, from few rows, where the means count."""
    rng = np.random.default_rng(0)
    T = rng.normal(size=(12, 3))
    T = np.linalg.qr(T - T.mean(axis=0))[0] * [3.0, 2.0, 1.0]
    Y = np.eye(3)[rng.integers(0, 3, 12)]
    found = _left_out(T, np.square(T).sum(axis=0), Y, alpha) + Y.mean(axis=0)
    for i in range(12):
        without = Ridge(alpha).fit(np.delete(T, i, axis=0), np.delete(Y, i, axis=0))
        assert_allclose(found[i], without.predict(T[[i]])[0], atol=1e-9)


@pytest.mark.parametrize("solver", ["exact", "low_rank"])
@pytest.mark.parametrize(("name", "gamma"), [("iris", 4.0), ("wine", 0.2), ("moons", 30.0)])
def test_probabilities_of_narrow_kernels_are_not_too_sure(name, gamma, solver):
    """Leave-one-out scores flatten them; a given shrinkage leaves those of Gaussian classes."""
    X, y = DATA[name] if name in DATA else make_moons(300, noise=0.3, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    order = np.random.default_rng(0).permutation(len(X))
    train, new = order[::2], order[1::2]
    settings = {"gamma": gamma, "solver": solver, "random_state": 0}
    judged = KernelDiscriminant(**settings).fit(X[train], y[train])
    sure = KernelDiscriminant(judged.alpha_, **settings).fit(X[train], y[train])
    assert judged.slope_ < 0.5
    assert sure.slope_ == 1
    losses = [log_loss(y[new], model.predict_proba(X[new])) for model in (judged, sure)]
    assert losses[0] < 0.7 * losses[1]
    assert (judged.predict(X[new]) == sure.predict(X[new])).all()


@pytest.mark.parametrize("rare", [40, 8])
def test_the_slope_is_the_most_likely_on_rows_that_were_left_out(rare):
    """Beside refits without each row, of which only the scale of the scores differs a little."""
    X, y = make_moons((80 - rare, rare), noise=0.4, random_state=1)
    model = KernelDiscriminant(kernel=RBF(2.0)).fit(X, y)
    logs = []
    for i in range(80):
        others = np.arange(80) != i
        fit = KernelDiscriminant(model.alpha_, kernel=RBF(2.0)).fit(X[others], y[others])
        logs.append(fit.decision_function(X[i : i + 1])[0])
    wanted = fit_softmax(np.column_stack([np.zeros(80), logs]), y, with_bias=False).slope
    assert_allclose(model.slope_, wanted, rtol=0.1)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_later_classes_have_higher_scores(classes):
    """On each direction, by a line through the means of the classes; whatever their sizes are."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y = np.concatenate([np.arange(classes), rng.choice(classes, 60, p=_falling(classes))])
        X = rng.normal(size=(len(y), 4)) + 3 * rng.normal(size=(classes, 4))[y]
        for model in (KernelDiscriminant(gamma=0.1), KernelDiscriminant(1.0, kernel="linear")):
            slopes = np.polyfit(np.arange(classes), model.fit(X, y).means_, 1)[0]
            assert (slopes > 0).all()


def _falling(classes):
    p = 4.0 ** -np.arange(classes)
    return p / p.sum()


def test_other_priors_move_calibrated_probabilities_by_their_odds():
    X, y = make_moons(90, noise=0.3, random_state=0)
    X, y = X[:80], y[:80]
    usual = KernelDiscriminant(gamma=3.0).fit(X, y)
    asked = KernelDiscriminant(gamma=3.0, priors=[0.9, 0.1]).fit(X, y)
    moved = np.log(0.1 / 0.9) - np.log((y == 1).sum() / (y == 0).sum())
    assert_allclose(asked.decision_function(X), usual.decision_function(X) + moved, atol=1e-9)


def test_moons_are_separated_on_one_direction():
    X, y = make_moons(400, noise=0.1, random_state=0)
    model = KernelDiscriminant(gamma=2.0).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.98
    low = KernelDiscriminant(gamma=2.0, solver="low_rank", rank=40, random_state=0)
    assert low.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.98
    assert len(low.X_fit_) <= 40


def test_strings():
    words = ["".join(RNG.choice(list("aab" if i % 2 else "abb"), 12)) for i in range(60)]
    model = KernelDiscriminant(kernel=Spectrum(2)).fit(words, np.arange(60) % 2)
    given = KernelDiscriminant(kernel="precomputed").fit(Spectrum(2)(words), np.arange(60) % 2)
    assert_allclose(model.transform(words), given.transform(Spectrum(2)(words)), atol=1e-8)
    assert model.score(words, np.arange(60) % 2) > 0.8


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_orders_and_precision(dtype):
    X, y = DATA["iris"]
    order = RNG.permutation(150)
    wanted = KernelDiscriminant(0.1, gamma=0.2).fit(X, y)
    found = KernelDiscriminant(0.1, gamma=0.2).fit(X[order].astype(dtype), y[order])
    close = 1e-9 if dtype == np.float64 else 2e-3
    Z = X.astype(dtype)
    assert_allclose(found.predict_proba(Z), wanted.predict_proba(X), atol=close)
    assert_allclose(found.transform(Z), wanted.transform(X), atol=20 * close)


# --- what is hostile -----------------------------------------------------------------------------


def test_classes_of_one_row_and_more_classes_than_directions():
    X = RNG.normal(size=(9, 2))
    model = KernelDiscriminant(0.1).fit(X, np.arange(9))
    assert (model.predict(X) == np.arange(9)).all()
    linear = KernelDiscriminant(0.1, kernel="linear").fit(X, np.arange(9))
    assert linear.transform(X).shape == (9, 2)
    assert np.isfinite(KernelDiscriminant().fit(X, np.arange(9) == 0).predict_proba(X)).all()


def test_constant_samples_give_the_priors():
    model = KernelDiscriminant(0.1).fit(np.ones((10, 2)), [0, 0, 0, 1, 1, 1, 1, 1, 1, 1])
    assert_allclose(model.predict_proba([[1.0, 1.0], [5.0, 2.0]]), [[0.3, 0.7]] * 2)
    assert model.transform([[1.0, 1.0]]).shape == (1, 0)


def test_what_is_refused():
    X, y = DATA["iris"]
    with pytest.raises(ValueError, match="one class"):
        KernelDiscriminant().fit(X[:50], y[:50])
    with pytest.raises(ValueError, match="separates exactly: give alpha > 0"):
        KernelDiscriminant(0.0, kernel="linear").fit([[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1])
    for wrong in ({"alpha": -1}, {"alpha": "x"}, {"solver": "x"}, {"n_components": 0}, {"rank": 0},
                  {"priors": [1.0]}, {"priors": [0, 0, 0]}, {"priors": [1, -1, 1]}):  # fmt: skip
        with pytest.raises(ValueError, match=next(iter(wrong))):
            KernelDiscriminant(**wrong).fit(X, y)
    with pytest.raises(MemoryError, match="give memory="):
        KernelDiscriminant(solver="exact", memory=10**5).fit(X, y)


def test_an_indefinite_kernel_is_said():
    X, y = DATA["iris"]
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        model = KernelDiscriminant(kernel=Sigmoid(gamma=1.0, coef0=-1.0)).fit(X - X.mean(0), y)
    assert np.isfinite(model.transform(X)).all()


def test_files(tmp_path):
    X, y = DATA["iris"]
    model = clone(KernelDiscriminant(n_components=1)).fit(X, y)
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert_allclose(again.transform(X), model.transform(X))
    assert list(again.get_feature_names_out()) == ["kerneldiscriminant0"]
