"""MultipleKernelClassifier and MultipleKernelRegressor: what goes in, what the weights say."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import (
    SVC,
    SVR,
    KernelLogisticRegression,
    KernelRidge,
    MultipleKernelClassifier,
    MultipleKernelRegressor,
    alignment,
)
from mercer.gram import CombinedGram
from mercer.kernels import (
    RBF,
    Convex,
    Jaccard,
    Linear,
    Match,
    Polynomial,
    Precomputed,
    QueryKey,
    Sigmoid,
    Spectrum,
    WeightedDegree,
)
from mercer.plots import KernelWeightsDisplay

METHODS = ["average", "align", "alignf", "easy", "simple", "one_norm", "unsupervised"]
RNG = np.random.default_rng(0)
N = 90
X = RNG.normal(size=(N, 4))
y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.2 * RNG.normal(size=N) > 0, "yes", "no")
NUMBERS = np.sin(2 * X[:, 0]) + X[:, 1]
NEW = RNG.normal(size=(20, 4))
KERNELS = [("first", RBF(0.5), [0]), ("middle", RBF(0.5), [1, 2]), ("noise", RBF(0.5), 3)]
TABLE = pd.DataFrame(
    {
        "size": X[:, 0],
        "text": ["".join(RNG.choice(list("abc"), 5)) + "x" * int(v > 0.5) for v in X[:, 1]],
        "tags": [set(RNG.choice(list("pqrs"), 2).tolist()) for _ in range(N)],
        "kind": RNG.choice(["red", "blue"], N),
    }
)
MIXED = [
    ("numbers", RBF(0.5), ["size"]),
    ("words", Spectrum(1), ["text"]),
    ("sets", Jaccard(), ["tags"]),
    ("levels", Match(), ["kind"]),
]
MIXED_Y = (TABLE["size"] > 0) | TABLE["text"].str.contains("x")
WHY = "neighbours of equal rows are each other: a weight is a factor of a term of the sum"


def expected_failures(estimator):
    if estimator.method == "unsupervised":
        return {f"check_sample_weight_equivalence_on_{a}_data": WHY for a in ("dense", "sparse")}
    return {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        *(MultipleKernelClassifier(method=m) for m in METHODS if m != "one_norm"),
        MultipleKernelClassifier(method="one_norm", max_iter=5),
        MultipleKernelRegressor(),
        MultipleKernelRegressor(method="simple"),
        MultipleKernelRegressor(method="unsupervised"),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_and_noise_gets_little(method):
    model = MultipleKernelClassifier(KERNELS, method=method).fit(X, y)
    assert model.names_ == ["first", "middle", "noise"]
    assert model.weights_.sum() == pytest.approx(1)
    assert (model.weights_ >= 0).all()
    assert model.score(X, y) > 0.75
    if method not in ("average", "unsupervised"):
        assert model.weights_[2] == model.weights_.min()
    if method in ("alignf", "simple", "one_norm"):
        assert model.weights_[2] < 0.12
    assert model.gap_ >= 0
    sure = model.decision_function(NEW)
    assert_array_equal(model.predict(NEW), np.where(sure > 0, "yes", "no"))


def test_alignment_of_the_sum_is_the_largest():
    model = MultipleKernelClassifier(KERNELS, method="alignf").fit(X, y)
    signs = np.where(y == "yes", 1.0, -1.0)
    found = alignment(model.kernel_, signs, X)
    assert found == pytest.approx(-model.objective_)
    single = [alignment(k.on(*np.atleast_1d(c).tolist()), signs, X) for _, k, c in KERNELS]
    assert found > max(single)


def test_the_base_learner_is_the_one_with_the_weighted_sum():
    model = MultipleKernelClassifier(KERNELS, method="simple").fit(X, y)
    kept = [k.on(*np.atleast_1d(c).tolist()).normalised() for _, k, c in KERNELS]
    plain = SVC(kernel=Convex(kept, model.weights_)).fit(X, y)
    assert_allclose(model.decision_function(NEW), plain.decision_function(NEW), atol=5e-3)
    # the value of SimpleMKL is that of this machine
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-4)


@pytest.mark.parametrize(
    "base", [SVC(probability=True, tol=1e-6), KernelLogisticRegression(), None], ids=repr
)
def test_any_classifier_can_be_the_base(base):
    model = MultipleKernelClassifier(KERNELS, estimator=base).fit(X, y)
    assert hasattr(model, "predict_proba") == (base is not None)
    assert base is None or base.kernel in ("rbf", "linear")  # the parameter is not changed
    if base is not None:
        assert_allclose(np.exp(model.predict_log_proba(NEW)), model.predict_proba(NEW))
        assert_allclose(model.predict_proba(NEW).sum(axis=1), 1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", [m for m in METHODS if m != "easy"])
def test_regression(method):
    model = MultipleKernelRegressor(KERNELS, method=method, alpha=0.1).fit(X, NUMBERS)
    assert method == "unsupervised" or model.score(X, NUMBERS) > 0.9
    if method in ("alignf", "simple", "one_norm"):
        assert model.weights_[2] < 0.05
    both = np.stack([NUMBERS, NUMBERS**2], axis=1)
    assert clone(model).fit(X, both).predict(NEW).shape == (20, 2)
    other = clone(model).set_params(estimator=SVR(C=10)).fit(X, NUMBERS)
    assert_allclose(other.weights_, model.weights_)


def test_columns_of_different_kinds():
    model = MultipleKernelClassifier(MIXED, method="simple", C=10).fit(TABLE, MIXED_Y)
    assert model.weights_[:2].sum() > 0.7
    assert model.score(TABLE, MIXED_Y) > 0.9
    half = TABLE.iloc[:50]
    again = MultipleKernelClassifier(MIXED).fit(half, MIXED_Y[:50])
    assert len(again.predict(TABLE.iloc[50:])) == 40


def test_kernels_without_weight_cost_nothing_in_predictions():
    kernels = [("size", RBF(2.0), ["size"]), ("kind", Match(), ["kind"])]
    same = TABLE.assign(kind="red")
    model = MultipleKernelClassifier(kernels).fit(same, TABLE["size"] > 0)
    assert_array_equal(model.weights_, [1, 0])
    assert len(model.kernel_.kernels) == 1
    assert len(model.predict(same[["size"]])) == N  # the column is not even read


def test_many_classes():
    A, classes = load_iris(return_X_y=True)
    for method in ("alignf", "easy", "simple"):
        model = MultipleKernelClassifier(method=method).fit(A, classes)
        assert model.score(A, classes) > 0.95
        assert_array_equal(model.classes_, [0, 1, 2])
        assert model.converged_


@pytest.mark.parametrize("method", ["easy", "simple", "one_norm"])
def test_more_pairs_of_classes_than_rows(method):
    """Each class is then held against the others: by hand, two classes at a time."""
    codes = np.repeat(np.arange(20), 3)
    rows = np.column_stack([codes + RNG.normal(size=60) / 9, RNG.normal(size=60)])
    kernels = [("told", RBF(1.0), [0]), ("noise", RBF(1.0), [1])]
    model = MultipleKernelClassifier(kernels, method=method).fit(rows, codes)
    assert model.converged_
    assert model.weights_[0] > 0.9
    if method == "easy":
        one_each = [
            MultipleKernelClassifier(kernels, method=method).fit(rows, codes == a).weights_
            for a in range(20)
        ]
        assert_allclose(model.weights_, np.mean(one_each, axis=0), atol=1e-3)
    else:
        K = Convex([kernel.on(*on) for _, kernel, on in kernels], model.weights_)
        values = []
        for a in range(20):
            machine = SVC(kernel=K, tol=1e-8).fit(rows, codes == a)
            values.append(machine.objective_)
        assert_allclose(model.objective_, np.sum(values), rtol=1e-3)


def test_precomputed_matrices_give_the_same_weights():
    kernels = [RBF(0.5), Polynomial(2), Linear()]
    for method in ("alignf", "easy", "simple"):
        model = MultipleKernelClassifier(kernels, method=method, normalise="trace").fit(X, y)
        given = MultipleKernelClassifier("precomputed", method=method)
        given.fit([k(X) for k in kernels], y)
        assert_allclose(given.weights_, model.weights_, atol=1e-6)
        wanted = model.decision_function(NEW)
        matrices = [k(NEW, X) for k in kernels]
        assert_allclose(given.decision_function(matrices), wanted, atol=1e-3)
        assert_allclose(given.decision_function(np.stack(matrices, axis=2)), wanted, atol=1e-3)
        assert given.X_fit_.parts[0].matrix is None  # predictions do not need it
    whole = np.stack([k(X) for k in kernels], axis=2)
    scores = [cross_val_score(m, A, y, cv=3) for m, A in ((given, whole), (model, X))]
    assert_allclose(*scores, atol=0.05)


def test_a_grid_reaches_the_kernels_of_the_list():
    model = MultipleKernelClassifier([*KERNELS, Linear().on(0), Linear().on(1)])
    names = model.get_params()
    assert names["first__gamma"] == 0.5
    assert names["first"] is KERNELS[0][1]
    assert {"on-1", "on-2__kernel"} <= set(names)
    changed = clone(model).set_params(first__gamma=3.0, middle=Polynomial(2), method="align")
    assert changed.kernels[0][1].gamma == 3.0
    assert changed.kernels[1] == ("middle", changed.kernels[1][1], [1, 2])
    assert KERNELS[0][1].gamma == 0.5
    assert changed.set_params(**{"on-2": RBF(0.1).on(3)}).kernels[4][0] == "on-2"
    search = GridSearchCV(clone(model), {"first__gamma": [0.1, 1.0], "method": ["align", "easy"]})
    assert search.fit(X, y).best_estimator_.kernels[0][1].gamma in (0.1, 1.0)
    with pytest.raises(ValueError, match="gama"):
        clone(model).set_params(first__gama=1.0)


def test_model_files_and_clones(tmp_path):
    for kernels, A, labels in ((KERNELS, X, y), (MIXED, TABLE, MIXED_Y.to_numpy())):
        model = MultipleKernelClassifier(kernels, method="easy").fit(A, labels)
        mercer.save(model, tmp_path / "model.mercer")
        loaded = mercer.load(tmp_path / "model.mercer")
        assert_allclose(loaded.decision_function(A), model.decision_function(A))
        assert_array_equal(loaded.weights_, model.weights_)
        assert not hasattr(clone(model), "weights_")
        with pytest.raises(NotFittedError):
            clone(model).predict(A)


@pytest.mark.parametrize("normalise", ["diagonal", "trace"])
def test_weights_do_not_depend_on_the_scale_of_a_kernel(normalise):
    one, two = (
        MultipleKernelClassifier([Linear(), f * RBF(0.5)], normalise=normalise).fit(X, y).weights_
        for f in (1, 1e6)
    )
    assert_allclose(one, two, rtol=1e-6)


def test_weights_of_rows_mean_repetition():
    w = RNG.integers(0, 3, N)
    rows = np.repeat(np.arange(N), w)
    for method in ("align", "alignf", "easy", "simple"):
        model = MultipleKernelClassifier(KERNELS, method=method, tol=1e-7)
        one = clone(model).fit(X, y, sample_weight=w.astype(float))
        assert_allclose(one.weights_, model.fit(X[rows], y[rows]).weights_, atol=1e-4)
    for method in ("alignf", "simple"):
        model = MultipleKernelRegressor(KERNELS, method=method, tol=1e-7)
        one = clone(model).fit(X, NUMBERS, sample_weight=w.astype(float))
        assert_allclose(one.weights_, model.fit(X[rows], NUMBERS[rows]).weights_, atol=1e-4)


@pytest.mark.parametrize("method", ["alignf", "easy", "simple", "unsupervised"])
def test_precision_order_threads_and_memory_do_not_change_the_weights(method):
    model = MultipleKernelClassifier(KERNELS, method=method, tol=1e-6)
    wanted = model.fit(X, y).weights_
    assert_allclose(clone(model).fit(X.astype(np.float32), y).weights_, wanted, atol=1e-3)
    assert_allclose(clone(model).set_params(kernels=KERNELS[::-1]).fit(X, y).weights_, wanted[::-1],
                    atol=1e-5)  # fmt: skip
    small = clone(model).set_params(memory=150_000, n_jobs=1, estimator=SVC(memory="1GB"))
    assert_allclose(small.fit(X, y).weights_, wanted, atol=1e-5)
    order = RNG.permutation(N)
    assert_allclose(clone(model).fit(X[order], y[order]).weights_, wanted, atol=1e-5)


def test_no_matrix_is_kept_where_memory_is_short(monkeypatch):
    kept = []
    held = CombinedGram.held
    monkeypatch.setattr(CombinedGram, "held", lambda K: kept.append(K) or held(K))
    for memory, dense in ((150_000, True), (40_000, False)):
        kept.clear()
        model = MultipleKernelClassifier(KERNELS, method="simple", memory=memory)
        model.set_params(estimator=SVC(memory="1GB")).fit(X, y)
        assert all(("dense" in K.cheap) is dense for K in kept)
        assert not any("dense" in part.cheap for K in kept for _, part in K.used)


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernels": []}, r"kernels=\[\]: give a list"),
        ({"kernels": "rbf"}, 'give a list of kernels, "precomputed" or None'),
        ({"kernels": RBF()}, "give a list of kernels"),
        ({"kernels": ["rbf"]}, r"kernels\[0\]='rbf': give .*objects here, RBF\(\)"),
        ({"kernels": [("a", "rbf", [0])]}, r"kernels\[0\]=.*give \(name, kernel, columns\)"),
        ({"kernels": [("a", RBF(), [])]}, "at least one"),
        ({"kernels": [("a", RBF()), ("a", Linear())]}, "name 'a', which"),
        ({"kernels": [("a__b", RBF())]}, "two underscores"),
        ({"kernels": [("method", RBF())]}, "name of a parameter"),
        ({"kernels": [("a", RBF(), [9])]}, r"lacks the column \[9\]"),
        ({"kernels": [RBF(), RBF().on(0)]}, "Say which columns each kernel reads"),
        ({"kernels": [Linear(), Sigmoid()]}, "'sigmoid'.*not positive semidefinite"),
        ({"kernels": [QueryKey(np.eye(4), np.eye(4))]}, "is not symmetric"),
        ({"method": "best"}, r"method='best': give one of \['average'"),
        ({"normalise": "none"}, "normalise='none': give one of"),
        ({"lam": 1.5}, r"lam=1.5: give a number in \[0, 1\]"),
        ({"C": 0}, "C=0: give a number > 0"),
        ({"tol": 0}, "tol=0"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"estimator": KernelRidge()}, "give a classifier"),
        ({"estimator": "svc"}, "give a kernel learner of Mercer"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises((TypeError, ValueError), match=message):
        MultipleKernelClassifier(**parameters).fit(X, y)


def test_indefinite_kernels_can_be_averaged():
    kernels = [Linear(), Sigmoid(0.1)]
    model = MultipleKernelClassifier(kernels, method="average", normalise=None).fit(X, y)
    assert_array_equal(model.weights_, [0.5, 0.5])


@pytest.mark.parametrize("method", ["align", "alignf", "easy", "simple", "unsupervised"])
def test_indefinite_matrices_are_named_whatever_the_method(method):
    """A distance in place of a kernel, say: its diagonal is 0 and not negative."""
    K = RBF()(X)
    distance = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    model = MultipleKernelClassifier("precomputed", method=method)
    with pytest.raises(
        ValueError, match=r"'matrix-1' is not .*: K of 90 rows has the eigenvalue -"
    ):
        model.fit([K, distance], y)
    low = X @ X.T  # of rank 2: rounding leaves eigenvalues below 0
    model.fit([K, low], y)
    model.fit([K.astype(np.float32), low.astype(np.float32)], y)


def test_wrong_matrices_are_named():
    K = RBF()(X)
    model = MultipleKernelClassifier("precomputed")
    with pytest.raises(ValueError, match=r"shapes \[\(90, 90\), \(50, 50\)\].*the same samples"):
        model.fit([K, K[:50, :50]], y)
    with pytest.raises(ValueError, match=r"matrix 0: .* must be square"):
        model.fit([K[:, :50]] * 2, y)
    for wrong in (X, [], "text", K):
        with pytest.raises(ValueError, match="needs a list of precomputed matrices"):
            model.fit(wrong, y)
    with pytest.raises(ValueError, match="which precomputed matrices do not have"):
        clone(model).set_params(normalise="diagonal").fit([K], y)
    with pytest.raises(ValueError, match="'matrix-1' is not positive semidefinite"):
        clone(model).set_params(normalise=None).fit([K, -K], y)
    hidden = K - 2 * np.eye(N)  # whose diagonal is not negative for another reason
    np.fill_diagonal(hidden, 0.1)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        clone(model).set_params(method="simple").fit([K, 100 * (hidden - K) + K], y)
    model.fit([K, K], y)
    assert_allclose(model.weights_, [0.5, 0.5], atol=1e-5)
    with pytest.raises(ValueError, match=r"1 matrices, but .* fitted to 2"):
        model.predict([K])
    with pytest.raises(ValueError, match=r"must be \(m, 90\)"):
        model.predict([K[:, :50]] * 2)


def test_one_class_and_kernels_that_tell_nothing():
    with pytest.raises(ValueError, match="only one class"):
        MultipleKernelClassifier(KERNELS).fit(X, np.full(N, "a"))
    for method in ("align", "alignf", "easy"):
        model = MultipleKernelClassifier([RBF(), Linear()], method=method)
        with pytest.warns(UserWarning, match="is related to y"):
            model.fit(np.ones((N, 2)), y)
        assert_array_equal(model.weights_, [0.5, 0.5])
    one = MultipleKernelClassifier([RBF()], method="simple").fit(X, y)
    assert_array_equal(one.weights_, [1.0])


@pytest.mark.parametrize("method", [m for m in METHODS if m != "average"])
def test_a_kernel_of_zeros_has_no_weight(method):
    K = RBF(0.5)(X)
    for learner, targets in ((MultipleKernelClassifier, y), (MultipleKernelRegressor, NUMBERS)):
        if method in learner.methods:
            model = learner("precomputed", method=method).fit([K, 0 * K], targets)
            assert_allclose(model.weights_, [1, 0], atol=1e-9)


def test_a_kernel_of_zeros_beside_one_whose_machine_has_hardly_a_free_variable():
    rows = np.random.default_rng(0).normal(size=(60, 3))
    labels = rows[:, 0] * rows[:, 1] > 0  # no plane separates these: nearly all variables are at C
    K = rows @ rows.T
    model = MultipleKernelClassifier("precomputed", method="simple").fit([0 * K, K], labels)
    assert_allclose(model.weights_, [0, 1], atol=1e-9)


def test_ridge_says_what_memory_it_needs():
    with pytest.raises(MemoryError, match='give memory="1MB" or more, or method="alignf"'):
        MultipleKernelRegressor(KERNELS, method="simple", memory=50_000).fit(X, NUMBERS)


def test_several_string_kernels_on_the_same_samples():
    words = ["".join(RNG.choice(list("ACGT"), 12)) for _ in range(60)]
    labels = np.array([w[3:5] in ("AC", "AG", "CA", "GT", "TT") for w in words])
    kernels = [Spectrum(1), Spectrum(3), WeightedDegree(2)]
    model = MultipleKernelClassifier(kernels, method="simple", C=10).fit(words, labels)
    assert model.names_ == ["spectrum-1", "spectrum-2", "weighteddegree"]
    assert model.weights_.argmax() == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(["ACGTACGTACGT"]).shape == (1,)
    with pytest.raises(TypeError, match="mixes kernels on strings and vectors"):
        MultipleKernelClassifier([Spectrum(1), Linear()]).fit(words, labels)


def test_a_precomputed_kernel_beside_others_needs_a_list():
    with pytest.raises(TypeError, match="mixes kernels"):
        MultipleKernelClassifier([Precomputed(), RBF()]).fit(X @ X.T, y)


# --- display -------------------------------------------------------------------------------------


def test_weights_are_drawn():
    model = MultipleKernelClassifier(KERNELS).fit(X, y)
    display = KernelWeightsDisplay.from_estimator(model)
    assert display.ax_.get_yticklabels()[0].get_text() == "first"
    assert_allclose([bar.get_width() for bar in display.bars_], np.sort(model.weights_)[::-1])
    with pytest.raises(ValueError, match=r"names has the shape \(1,\): give one"):
        KernelWeightsDisplay([0.5, 0.5], ["a"])
    few = KernelWeightsDisplay(np.full(50, 0.02), most=5).plot()
    assert len(few.bars_) == 5


def test_machines_are_solved_more_precisely_than_weights(monkeypatch):
    """A step that gains less than the gap of its machines is taken for none: SimpleMKL stalled."""
    from mercer.solvers import HingeMachines

    tolerances, solve = [], HingeMachines.solve

    def recorded(self, K, last):
        tolerances.append(self.tol)
        return solve(self, K, last)

    monkeypatch.setattr(HingeMachines, "solve", recorded)
    MultipleKernelClassifier(KERNELS, method="simple", tol=1e-3, C=100.0).fit(X, y)
    assert len(tolerances) > 1
    assert max(tolerances) <= 1e-6
