"""Deep kernel machines as estimators: conventions, limits, predictions, hostile data."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF as SklearnRBF, WhiteKernel
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
import mercer.deep
from mercer import KernelSearchCV
from mercer.deep import (
    DeepKernelMachine,
    DeepKernelMachineClassifier,
    DeepKernelMachineRegressor,
    deep_kernel_machine,
)
from mercer.deep.ascent import DeepAscent
from mercer.deep.propagation import kernel_of, pivots
from mercer.kernels import RBF, ArcCosine, Linear, NeuralTangent, Sigmoid, Spectrum
from mercer.testing import parametrize_with_object_checks
from objects import SharedItems, SharedSymbols

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=60)
Z = RNG.normal(size=(25, 3))
Regressor, Classifier = DeepKernelMachineRegressor, DeepKernelMachineClassifier


@parametrize_with_checks(
    [
        Regressor(1),
        Classifier(1),
        Regressor(1, n_inducing=20, random_state=0),
        Classifier(1, n_inducing=20, random_state=0),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@parametrize_with_object_checks(
    [(Regressor(1, kernel=SharedSymbols()), "strings"),
     (Classifier(1, kernel=SharedItems()), "sets")]
)  # fmt: skip
def test_object_conventions(check):
    check()


def test_names():
    assert issubclass(Regressor, DeepKernelMachine)
    assert issubclass(Classifier, DeepKernelMachine)
    assert mercer.deep.DeepKernelMachine is DeepKernelMachine
    assert "DeepKernelMachineRegressor" in dir(mercer.deep)
    with pytest.raises(AttributeError, match=r"module 'mercer.deep' has no attribute 'Deeper'"):
        mercer.deep.Deeper  # noqa: B018


# --- limits and twins ----------------------------------------------------------------------------


def test_many_degrees_of_freedom_are_the_gaussian_process_of_the_composed_kernel():
    kernel = SklearnRBF(np.sqrt(3)) + WhiteKernel(0.1 + 1e-4)
    scaled = X * np.sqrt(3 / np.mean(np.sum(X * X, axis=1)))  # mean of k(x, x) is 1
    there = Z * np.sqrt(3 / np.mean(np.sum(X * X, axis=1)))
    K1 = kernel_of(RBF(0.5), np.vstack([scaled, there]) @ np.vstack([scaled, there]).T / 3)
    K1.flat[:: len(K1) + 1] += 1e-4
    K2 = kernel_of(RBF(0.5), K1)
    K2.flat[:: len(K2) + 1] += 1e-4
    target = (y - y.mean()) / y.std()
    S = K2[:60, :60] + 0.1 * np.eye(60)
    mean = K2[60:, :60] @ np.linalg.solve(S, target) * y.std() + y.mean()
    variance = K2.diagonal()[60:] - np.sum(
        K2[60:, :60] * np.linalg.solve(S, K2[:60, 60:]).T, axis=1
    )
    gaps = []
    for nu in (1e3, 1e4, 1e5):  # the gap falls as 1 / nu
        model = Regressor(1, input_scale=1.0, dof=nu, noise=0.1, tol=3e-6).fit(X, y)
        found, std = model.predict(Z, return_std=True)
        gaps.append(np.abs(found - mean).max())
    assert_allclose(np.array(gaps[:-1]) / gaps[1:], 10, rtol=0.2)
    assert gaps[-1] < 1e-3
    assert_allclose(std, np.sqrt(variance + 0.1) * y.std(), rtol=1e-3)
    # and a first layer by itself is a Gaussian process of scikit-learn
    process = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True).fit(scaled, y)
    alone = Regressor(
        1, layer=[RBF(0.5), Linear()], input_scale=1.0, dof=1e5, noise=0.1
    )  # fmt: skip
    mean, std = alone.set_params(jitter=1e-8, tol=1e-5).fit(X, y).predict(Z, return_std=True)
    theirs = process.set_params(kernel=SklearnRBF(np.sqrt(3)) + WhiteKernel(0.1))
    wanted = theirs.fit(scaled, y).predict(there, return_std=True)
    assert_allclose(mean, wanted[0], atol=5e-3)
    assert_allclose(std, wanted[1], atol=5e-3)


def test_equal_linear_layers_without_noise_give_the_geometric_mean():
    Y = RNG.normal(size=(12, 30))
    A = RNG.normal(size=(12, 40))
    model = Regressor(1, layer=Linear(), dof=30, noise=0, jitter=0, normalize_y=False, tol=1e-10)
    model.fit(A, Y)
    start, end = model.grams_[0], Y @ Y.T / 30
    mean = start @ np.real(_root(np.linalg.solve(start, end)))
    assert_allclose(model.grams_[1], mean, atol=1e-9)


def _root(M):
    values, V = np.linalg.eig(M)
    return (V * np.sqrt(values)) @ np.linalg.inv(V)


@pytest.mark.parametrize("machine", [Regressor, Classifier])
def test_all_rows_as_inducing_points_are_the_exact_machine(machine):
    target = y if machine is Regressor else y > 0
    parameters = {"kernel": RBF(0.5), "layer": ArcCosine(1), "dof": 600, "random_state": 0}
    assert machine(**parameters, n_inducing=1000).fit(X, target).solver_ == "exact"
    # of two equal rows one is enough: nothing is lost but the jitter of the other
    twice, again = np.vstack([X, X[:1]]), np.append(target, target[0])
    exact = machine(**parameters, jitter=1e-6).fit(twice, again)
    few = machine(**parameters, jitter=1e-6, n_inducing=60).fit(twice, again)
    assert (exact.solver_, few.solver_) == ("exact", "inducing")
    assert len(few.inducing_) == 60
    predict = "predict" if machine is Regressor else "predict_proba"
    assert_allclose(getattr(few, predict)(Z), getattr(exact, predict)(Z), atol=0.02)


@pytest.mark.parametrize("n_inducing", [None, 25])
def test_the_order_of_the_samples_does_not_matter(n_inducing):
    order = RNG.permutation(60)
    # of 25 * 5 > 60 candidates all are drawn, in any order
    model = Regressor(kernel="rbf", dof=30, n_inducing=n_inducing, tol=1e-6, random_state=0)
    one, other = clone(model).fit(X, y), clone(model).fit(X[order], y[order])
    assert_allclose(one.predict(Z), other.predict(Z), atol=1e-4)
    assert_allclose(one.objective_, other.objective_, rtol=1e-6)
    if n_inducing is None:
        assert_allclose(one.grams_[:, order][:, :, order], other.grams_, atol=1e-4)
    else:
        assert sorted(order[other.inducing_]) == one.inducing_.tolist()


@pytest.mark.parametrize("rows", [1, 7, 10_000])
def test_rows_at_a_time(rows, monkeypatch):
    model = Regressor(n_inducing=20, kernel="rbf", random_state=0).fit(X, y)
    classes = Classifier(n_inducing=20, kernel="rbf", random_state=0).fit(X, y > 0)
    wanted, p = model.predict(Z, return_std=True), classes.predict_proba(Z)
    monkeypatch.setattr(deep_kernel_machine, "ROWS", rows)
    assert_allclose(clone(model).fit(X, y).predict(Z, return_std=True), wanted, atol=1e-6)
    assert_allclose(clone(classes).fit(X, y > 0).predict_proba(Z), p, atol=1e-6)


def test_standard_deviations_tell_how_far_predictions_are_off():
    rng = np.random.default_rng(3)
    A = rng.uniform(-2, 2, size=(400, 2))
    b = np.sin(3 * A[:, 0]) * A[:, 1] + 0.2 * rng.normal(size=400)
    model = Regressor(1, kernel="rbf", gamma=1.0).fit(A[:200], b[:200])
    mean, std = model.predict(A[200:], return_std=True)
    scores = (b[200:] - mean) / std
    assert 0.8 < np.sqrt(np.mean(scores**2)) < 1.25
    assert model.score(A[200:], b[200:]) > 0.9
    far = model.predict([[50.0, 50.0]], return_std=True)
    assert far[1][0] > 2 * std.mean()
    low = Regressor(1, kernel="rbf", gamma=1.0, n_inducing=60, random_state=0)
    assert low.fit(A[:200], b[:200]).score(A[200:], b[200:]) > 0.87


def test_several_targets_and_units():
    Y = np.column_stack([y, 100 * y - 7, RNG.normal(size=60)])
    model = Regressor(1, kernel="rbf").fit(X, Y)
    mean, std = model.predict(Z, return_std=True)
    assert mean.shape == std.shape == (25, 3)
    assert_allclose(mean[:, 1], 100 * mean[:, 0] - 7, rtol=1e-6)
    assert_allclose(std[:, 1], 100 * std[:, 0], rtol=1e-9)
    one = Regressor(1, kernel="rbf").fit(X, 1e6 * y + 1e7)
    wanted = Regressor(1, kernel="rbf").fit(X, y)
    assert_allclose(one.predict(Z), 1e6 * wanted.predict(Z) + 1e7, rtol=1e-6)


def test_classes():
    A, c = load_iris(return_X_y=True)
    model = Classifier(kernel="rbf", gamma=0.3).fit(A[::2], c[::2])
    p = model.predict_proba(A[1::2])
    assert model.score(A[1::2], c[1::2]) > 0.93
    assert_allclose(p.sum(axis=1), 1)
    assert (model.predict(A[1::2]) == p.argmax(axis=1)).all()
    names = np.array(["setosa", "versicolor", "virginica"])
    named = Classifier(kernel="rbf", gamma=0.3).fit(A[::2], names[c[::2]])
    assert_allclose(named.predict_proba(A[1::2]), p, atol=1e-10)
    M, d = make_moons(200, noise=0.2, random_state=0)
    two = Classifier(1, kernel="rbf", gamma=2.0).fit(M[::2], d[::2])
    assert two.score(M[1::2], d[1::2]) > 0.93
    assert two.decision_function(M).shape == (200,)
    assert ((two.decision_function(M) > 0) == (two.predict(M) == 1)).all()
    low = Classifier(1, kernel="rbf", gamma=2.0, n_inducing=30, random_state=0)
    assert low.fit(M[::2], d[::2]).score(M[1::2], d[1::2]) > 0.93


def test_probabilities_are_the_mean_over_outputs_that_are_uncertain():
    """Of two classes, by numerical integration; how sure the machine is changes no answer."""
    cut = y > np.median(y)
    model = Classifier(1, dof=10).fit(X[:25], cut[:25])
    new = np.vstack([Z, 3 * Z])
    means, variances = model._outputs(new)
    points, shares = np.polynomial.hermite_e.hermegauss(60)
    gap = (means[:, 1] - means[:, 0])[:, None] + np.sqrt(2 * variances)[:, None] * points
    wanted = expit(gap) @ shares / shares.sum()
    assert variances.max() > 0.5
    assert_allclose(model.predict_proba(new)[:, 1], wanted, atol=0.01)
    assert_allclose(model.predict(new), means[:, 1] > means[:, 0])


def test_the_first_inducing_point_is_most_like_the_others_in_any_order_of_them():
    layer = RBF(0.5)  # all variances are equal
    (first,) = pivots(X @ X.T, layer, 1)
    assert first == np.argmax(np.square(kernel_of(layer, X @ X.T)).sum(axis=1))
    moved = np.random.default_rng(3).permutation(len(X))
    again = moved[pivots(X[moved] @ X[moved].T, layer, 8)]
    assert set(again) == set(pivots(X @ X.T, layer, 8))


def test_less_than_the_width_of_the_network_learns_what_its_kernel_cannot():
    """y depends on one column of many; Gram matrices that move find it."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(300, 6))
    b = np.sin(2 * A[:, 0])
    stiff, free = (Regressor(1, dof=dof).fit(A[:150], b[:150]) for dof in (1e6, 15.0))
    assert free.score(A[150:], b[150:]) > stiff.score(A[150:], b[150:]) + 0.05
    assert np.abs(free.grams_[1] - stiff.grams_[1]).max() > 0.1


def test_layers_without_derivatives_are_refused():
    for layer in (ArcCosine(0), ArcCosine(1, 2), NeuralTangent()):
        with pytest.raises(TypeError, match="has no derivatives"):
            Regressor(layer=layer).fit(X, y)
    with pytest.raises(ValueError, match=r"gamma='scale' .* give a number"):
        Regressor(layer=RBF("scale")).fit(X, y)


# --- samples, kernels, precision, files ----------------------------------------------------------


@pytest.mark.parametrize("n_inducing", [None, 20])
def test_strings_and_given_matrices(n_inducing):
    words = ["".join(RNG.choice(list("aab" if i % 2 else "abb"), 12)) for i in range(80)]
    target, kernel = np.arange(80) % 2, Spectrum(2).normalised()
    parameters = {"n_inducing": n_inducing, "random_state": 0, "tol": 1e-6}
    model = Classifier(1, kernel=kernel, **parameters).fit(words[:60], target[:60])
    assert model.score(words[60:], target[60:]) > 0.7
    given = Classifier(1, kernel="precomputed", **parameters)
    given.fit(kernel(words[:60]), target[:60])
    p = model.predict_proba(words[60:])
    new = kernel(words[60:], words[:60])
    assert_allclose(given.predict_proba(new), p, atol=1e-6)


def test_a_given_matrix_of_unequal_norms():
    model = Regressor(1, tol=1e-6).fit(X, y)
    given = Regressor(1, kernel="precomputed", tol=1e-6).fit(X @ X.T, y)
    assert_allclose(given.predict(Z @ X.T), model.predict(Z), atol=1e-6)


def test_precision():
    wanted = Regressor(kernel="rbf").fit(X, y).predict(Z, return_std=True)
    model = Regressor(kernel="rbf").fit(X.astype(np.float32), y.astype(np.float32))
    found = model.predict(Z.astype(np.float32), return_std=True)
    assert found[0].dtype == found[1].dtype == np.float32
    assert_allclose(found, wanted, atol=5e-3)


@pytest.mark.parametrize("model", [Regressor(layer=ArcCosine(1)), Classifier(n_inducing=15)])
def test_files(model, tmp_path):
    model = clone(model).fit(X, np.where(y > 0, 1, 2))
    mercer.save(model, tmp_path / "deep.mercer")
    again = mercer.load(tmp_path / "deep.mercer")
    assert_allclose(again.predict(Z), model.predict(Z), rtol=1e-12)
    assert_allclose(again.grams_, model.grams_)


def test_searches_reach_the_layer():
    search = KernelSearchCV(
        Regressor(1, layer=RBF(0.5)),
        {"dof": [5.0, 50.0], "layer__gamma": [0.5, 2.0]},
        cv=3,
    ).fit(X, y)
    assert set(search.best_params_) == {"dof", "layer__gamma"}


def test_attributes():
    model = Regressor(2, kernel="rbf", dof=[20, 30]).fit(X, y)
    assert model.grams_.shape == (3, 60, 60)
    assert_allclose(model.grams_[0], model.input_scale_ * RBF(1 / 3)(X), atol=1e-12)
    assert model.dof_.tolist() == [20, 30]
    assert model.gradient_norm_ <= 1e-3
    assert len(model.objective_path_) == model.n_iter_ + 1
    assert (np.diff(model.objective_path_) >= 0).all()
    assert model.objective_ == model.objective_path_[-1]
    assert (Regressor(2).fit(X, y).dof_ == 60).all()


# --- what is hostile -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"dof": 0}, "dof=0: give a finite number > 0"),
        ({"dof": -1.0}, "dof=-1.0"),
        ({"dof": [1.0, -1.0]}, "dof=-1.0"),
        ({"dof": [1.0]}, "dof has 1 numbers, but depth=2"),
        ({"dof": np.inf}, "dof=inf"),
        ({"depth": 0}, "depth=0: give a whole number >= 1"),
        ({"layer": [Linear()]}, "layer has 1 layers, but depth=2"),
        ({"layer": RBF(-1)}, "gamma=-1"),
        ({"noise": -0.1}, 'noise=-0.1: give a finite number >= 0 or "auto"'),
        ({"noise": "loud"}, "noise='loud'"),
        ({"n_inducing": 0}, "n_inducing=0"),
        ({"jitter": -1e-3}, "jitter=-0.001"),
        ({"depth": None}, "depth=None: give a whole number"),
        ({"input_scale": 0}, r"input_scale=0: give a finite number > 0 or \"auto\""),
        ({"input_scale": "mean"}, r"input_scale=.mean.: give a finite number"),
        ({"tol": 0}, "tol=0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"normalize_y": "no"}, "normalize_y='no'"),
        ({"kernel": Sigmoid()}, "negative eigenvalue"),
    ],
)
def test_wrong_parameters(parameters, words):
    with pytest.raises(ValueError, match=words):
        Regressor(**parameters).fit(3 * X, y)


def test_a_layer_that_is_none():
    with pytest.raises(TypeError, match=r"layer='relu': give a kernel that is a function"):
        Regressor(layer="relu").fit(X, y)


@pytest.mark.parametrize("n_inducing", [None, 20])
def test_indefinite_matrices(n_inducing):
    K = X @ X.T - 3 * np.eye(60)
    with pytest.raises(ValueError, match="has the negative eigenvalue"):
        Regressor(kernel="precomputed", n_inducing=n_inducing).fit(K, y)


def test_one_class():
    with pytest.raises(ValueError, match="y has only one class"):
        Classifier().fit(X, np.zeros(60))


@pytest.mark.spread(2)
@pytest.mark.parametrize("n_inducing", [None, 20])
@pytest.mark.parametrize("machine", [Regressor, Classifier])
def test_duplicates_constants_and_few_rows(machine, n_inducing):
    target = y if machine is Regressor else y > 0
    model = machine(n_inducing=n_inducing, random_state=0)
    twice = clone(model).fit(np.vstack([X, X]), np.append(target, target))
    assert np.isfinite(twice.grams_).all()
    for A in (np.zeros((60, 2)), np.ones((60, 2)), np.column_stack([X[:, 0], np.ones(60)])):
        assert np.isfinite(clone(model).fit(A, target).grams_).all()
    two = clone(model).fit(X[:2], [0, 1])
    assert (two.predict(X[:2]) if machine is Classifier else np.zeros(2)).shape == (2,)
    if machine is Regressor:
        assert_allclose(clone(model).fit(X, np.full(60, 3.7)).predict(Z), 3.7)
        assert_allclose(clone(model).fit(X[:1], [3.7]).predict(Z), 3.7)


def test_singular_matrices_name_the_remedy():
    with pytest.raises(ValueError, match="Give a larger jitter"):
        Regressor(layer=Linear(), jitter=0).fit(X, y)  # 60 rows of rank 3


def test_a_fit_that_does_not_converge_keeps_its_best_and_says_so():
    with pytest.warns(ConvergenceWarning, match=r"raise max_iter.*Measured relative gradient: \d"):
        model = Regressor(dof=5, max_iter=3, tol=1e-8).fit(X, y)
    assert model.n_iter_ == 3
    assert model.objective_ == model.objective_path_.max() > model.objective_path_[0]
    assert np.isfinite(model.predict(Z)).all()


def test_memory():
    A, b = RNG.normal(size=(900, 3)), RNG.normal(size=900)
    with pytest.raises(MemoryError, match="an exact deep kernel machine and 900 rows: give"):
        Regressor(n_inducing=900, memory="20MB").fit(A, b)
    with pytest.raises(MemoryError, match="800 inducing points and 900 rows: give memory="):
        Regressor(n_inducing=800, memory="20MB").fit(A, b)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = Regressor(1, memory="20MB", max_iter=2, random_state=0)
        with pytest.warns(UserWarning, match="it is approximated"):
            model.fit(A, b)
    assert model.solver_ == "inducing"
    assert 5 <= len(model.inducing_) < 200


def test_an_interrupt_leaves_no_model(monkeypatch):
    model = Regressor().fit(X, y)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(DeepAscent, "solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(Z)


@pytest.mark.parametrize("n_inducing", [None, 25])
def test_the_scale_of_the_largest_likelihood(n_inducing):
    """Of the infinitely wide network, whose objective is its likelihood."""

    def fitted(scale):
        model = Regressor(1, dof=1e9, input_scale=scale, n_inducing=n_inducing, random_state=0)
        return model.fit(X[:, :1], np.sin(4 * X[:, 0]))

    best = fitted("auto")
    assert best.input_scale_ != 1
    others = [fitted(best.input_scale_ * factor).objective_ for factor in (0.01, 0.5, 2, 100)]
    assert best.objective_ > max(others)
    assert_allclose(fitted(best.input_scale_).predict(Z[:, :1]), best.predict(Z[:, :1]), rtol=1e-6)


def test_linear_layers_have_no_scale():
    assert Regressor(1, layer=Linear()).fit(X, y).input_scale_ == 1


@pytest.mark.parametrize("n_inducing", [None, 25])
def test_targets_in_another_unit(n_inducing):
    """The amplitude of the outputs is learnt, so that units do not matter."""
    model = Regressor(1, dof=30, normalize_y=False, n_inducing=n_inducing, random_state=0)
    one, other = clone(model).fit(X, y), clone(model).fit(X, 100 * y)
    for a, b in zip(one.predict(Z, return_std=True), other.predict(Z, return_std=True)):
        assert_allclose(b, 100 * a, rtol=1e-2, atol=0.1 * np.abs(y).max())
    assert_allclose(other.amplitude_, 1e4 * one.amplitude_, rtol=0.02)
    assert_allclose(other.noise_, 1e4 * one.noise_, rtol=0.02)
    assert Regressor(1, noise=0.1).fit(X, y).amplitude_ == 1
