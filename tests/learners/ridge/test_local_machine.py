"""The local machine of ridge learners against K̂ written out, and against the exact machine."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_digits, make_friedman1

import mercer
from mercer import KernelRidge, KernelRidgeClassifier, KernelSearchCV
from mercer.kernels import RBF, Laplacian, Spectrum
from mercer.learners.ridge import ridge_learner

X, y = make_friedman1(600, noise=0.3, random_state=0)
Z, _ = make_friedman1(90, random_state=1)
W = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
KERNEL = Laplacian(0.3)


def local(alpha=0.1, **settings):
    given = {"kernel": KERNEL, "rank": 30, "leaf_rows": 100, "random_state": 0} | settings
    return KernelRidge(alpha, solver="local", **given)


def by_hand(model, alpha, X, y, Z, w, kernel=KERNEL):
    """Predictions with K̂ as an array."""
    rows = np.concatenate([X, Z]).astype(float)
    K, n, c = kernel(rows), len(X), model.centres_
    factor = np.linalg.solve(np.linalg.cholesky(K[np.ix_(c, c)]), K[c]).T
    new = model.leaves_.find(K[n:, c] @ model.leaves_.routes)
    leaf = np.concatenate([model.leaves_.numbers(), new])
    K = np.where(leaf[:, None] == leaf, K, factor @ factor.T)
    return K[n:, :n] @ np.linalg.solve(K[:n, :n] + alpha * np.diag(1 / w), y)


@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-8), (np.float32, 1e-2)])
@pytest.mark.parametrize("alpha", [10.0, 0.1, 1e-4])
def test_predictions_are_those_of_the_matrix_written_out(dtype, tol, alpha):
    model = local(alpha).fit(X.astype(dtype), y, W)
    assert model.solver_ == "local"
    assert "8 leaves" in model.gram_
    found = model.predict(Z.astype(dtype))
    assert found.dtype == dtype
    assert_allclose(found, by_hand(model, alpha, X, y, Z, W), rtol=tol, atol=tol * np.std(y))


def test_with_one_leaf_it_is_the_exact_machine():
    exact = KernelRidge(0.1, kernel=KERNEL).fit(X, y).predict(Z)
    assert_allclose(local(leaf_rows=600).fit(X, y).predict(Z), exact, rtol=1e-8)
    assert_allclose(local(leaf_rows=None).fit(X, y).predict(Z), exact, rtol=1e-8)


def test_with_all_rows_as_centres_it_is_the_exact_machine():
    exact = KernelRidge(0.1, kernel=KERNEL).fit(X, y).predict(Z)
    assert_allclose(local(rank=600).fit(X, y).predict(Z), exact, rtol=1e-6)


def test_it_is_nearer_to_the_exact_machine_than_low_rank():
    exact = KernelRidge(0.1, kernel=KERNEL).fit(X, y).predict(Z)
    low = KernelRidge(0.1, kernel=KERNEL, solver="low_rank", rank=30, random_state=0).fit(X, y)
    ours = local().fit(X, y)
    assert np.std(ours.predict(Z) - exact) < 0.7 * np.std(low.predict(Z) - exact)


@pytest.mark.parametrize("weights", [None, W])
def test_the_chosen_penalty_has_the_least_error_of_its_neighbours(weights):
    model = local("auto").fit(X, y, weights)
    errors = []
    for factor in (10**-0.5, 1.0, 10**0.5):
        alpha = model.alpha_ * factor
        one = local(alpha).fit(X, y, weights)
        # by the definition: K̂ of the training rows
        K = KERNEL(X)
        c, leaf = one.centres_, one.leaves_.numbers()
        factor = np.linalg.solve(np.linalg.cholesky(K[np.ix_(c, c)]), K[c]).T
        K = np.where(leaf[:, None] == leaf, K, factor @ factor.T)
        w = np.ones(len(y)) if weights is None else weights
        inverse = np.linalg.inv(K + alpha * np.diag(1 / w))
        left_out = y - (inverse @ y) / np.diagonal(inverse)
        errors.append(np.average((left_out - y) ** 2, weights=w))
        if alpha == model.alpha_:
            assert_allclose(model.left_out_, left_out, rtol=1e-6)
    assert errors[1] < 1.02 * min(errors)  # two leaves judge, not all


@pytest.mark.full
def test_a_kernel_rougher_than_the_target_gets_a_larger_penalty_from_more_rows():
    """What 1,400 rows alone choose is too small."""
    many, targets = make_friedman1(6000, n_features=20, noise=1.0, random_state=0)
    test, wanted = make_friedman1(1000, n_features=20, random_state=1)
    mean, kernel = targets.mean(), Laplacian(0.1)
    settings = {"kernel": kernel, "rank": 300, "leaf_rows": 800, "random_state": 0}
    few = KernelRidge("auto", kernel=kernel).fit(many[:1400], targets[:1400] - mean)
    chosen = KernelRidge("auto", solver="local", **settings).fit(many, targets - mean)
    begun = KernelRidge(few.alpha_, solver="local", **settings).fit(many, targets - mean)
    assert chosen.alpha_ > 2 * few.alpha_
    errors = [np.mean((m.predict(test) + mean - wanted) ** 2) for m in (chosen, begun)]
    assert errors[0] < errors[1]


def test_a_row_is_predicted_alone_as_among_others():
    model = local().fit(X, y)
    together = model.predict(Z)
    alone = np.array([model.predict(Z[i : i + 1])[0] for i in range(len(Z))])
    assert_allclose(alone, together, rtol=1e-9)
    assert model.predict(Z[:1]).shape == (1,)


def test_new_rows_that_look_for_their_leaves_in_strips(monkeypatch):
    model = local([0.1, 0.5]).fit(X, np.column_stack([y, y**2]))
    wanted = model.predict(Z)
    monkeypatch.setattr(ridge_learner, "STRIP", 7)
    assert_allclose(model.predict(Z), wanted, rtol=1e-10)


def test_targets_threads_and_units():
    Y = np.column_stack([y, y**2])
    both = local([0.1, 0.5]).fit(X, Y)
    assert_allclose(both.predict(Z)[:, 1], local(0.5).fit(X, y**2).predict(Z), rtol=1e-8)
    assert_allclose(local(n_jobs=1).fit(X, y).predict(Z), local(n_jobs=2).fit(X, y).predict(Z))
    huge = local().fit(X, 1e200 * y).predict(Z)
    assert_allclose(huge / 1e200, local().fit(X, y).predict(Z), rtol=1e-8)


@pytest.mark.parametrize("alpha", [0.1, "auto"])
@pytest.mark.parametrize("classes", [2, 10])
def test_classes(alpha, classes):
    digits, labels = load_digits(n_class=classes, return_X_y=True)
    digits = digits / 16
    settings = {"kernel": RBF(0.1), "rank": 20, "leaf_rows": 60, "random_state": 0}
    model = KernelRidgeClassifier(alpha, solver="local", **settings)
    model.fit(digits[::2], labels[::2])
    assert model.score(digits[1::2], labels[1::2]) > 0.95
    if alpha == "auto":
        assert model.left_out_.shape == model.decision_function(digits[::2]).shape
        return
    # the intercept makes the weighted residuals sum to 0
    f = model.decision_function(digits[::2])
    Y = 2.0 * (labels[::2][:, None] == model.classes_) - 1
    rest = (Y if classes > 2 else Y[:, 1]) - f
    assert_allclose(rest.sum(axis=0), 0, atol=1e-6 * len(f))


def test_it_is_saved_cloned_and_searched(tmp_path):
    model = local("auto").fit(X, y)
    mercer.save(model, tmp_path / "model.mercer")
    assert_allclose(mercer.load(tmp_path / "model.mercer").predict(Z), model.predict(Z))
    again = clone(model).fit(X, y)
    assert_allclose(again.predict(Z), model.predict(Z))
    again.set_params(solver="cholesky", alpha=1.0).fit(X, y)
    assert "leaves_" not in vars(again)
    search = KernelSearchCV(local(), {"alpha": [0.01, 0.1]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.7


def test_strings():
    words = ["".join(np.random.default_rng(i).choice(list("abc"), 12)) for i in range(120)]
    counts = np.array([word.count("ab") for word in words], float)
    model = local(kernel=Spectrum(2), leaf_rows=40, rank=10, alpha=0.01).fit(words, counts)
    assert model.leaves_.count == 4
    assert np.mean((model.predict(words) - counts) ** 2) < 0.05


@pytest.mark.filterwarnings("ignore:memory=.* centres. it is approximated")
def test_memory_is_kept_or_named():
    small = local(memory="2MB", rank=None, leaf_rows=None).fit(X, y)
    assert len(small.centres_) <= 600
    for memory in ("200kB", "1MB"):
        chosen = local("auto", memory=memory, rank=None, leaf_rows=None).fit(X, y)
        assert chosen.leaves_.count > 1
        assert np.corrcoef(chosen.predict(Z), small.predict(Z))[0, 1] > 0.9
    with pytest.raises(MemoryError, match=r"leaves of 5,000 rows: give memory=.\d+MB. or more"):
        local(memory="2MB", leaf_rows=5000).fit(X, y)


@pytest.mark.parametrize("value", [1, 0, -3, 2.5, "many"])
def test_wrong_leaf_rows_are_named(value):
    with pytest.raises(ValueError, match=r"leaf_rows=.*: give a whole number >= 2, or None"):
        local(leaf_rows=value).fit(X, y)


def test_indefinite_kernels_are_refused():
    with pytest.raises(ValueError, match="needs a positive semidefinite kernel"):
        KernelRidge(solver="local", kernel="sigmoid").fit(X, y)


def test_rows_that_are_all_equal():
    model = local().fit(np.ones((300, 2)), np.arange(300.0))
    assert_allclose(model.predict(np.ones((2, 2))), 149.5, rtol=1e-2)
