"""Multilayer kernel machines: each step against another method, what they may see, conventions."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier as SklearnNeighbours
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import SVC, KernelPCA, KNeighborsClassifier, LargeMarginNeighbours
from mercer.deep import MultilayerKernelMachine, chosen_components, multilayer
from mercer.deep.chosen_components import (
    ComponentLayer,
    binned_information,
    choose_width,
    nearest_information,
    tried_widths,
)
from mercer.kernels import RBF, Jaccard, Match, Polynomial, Spectrum, TableKernel

DIGITS, DIGIT = load_digits(return_X_y=True)
NOISY = np.maximum(DIGITS, np.random.default_rng(0).integers(0, 10, DIGITS.shape)) / 16


@parametrize_with_checks([MultilayerKernelMachine(random_state=0)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def machine(*args, **params):
    settings = {"kernel": RBF("median"), "n_components": 40, "random_state": 0}
    return MultilayerKernelMachine(*args, **{**settings, **params})


# --- against other methods ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_layer_with_all_components_is_kernel_pca_and_a_support_vector_machine(dtype):
    X, Z = NOISY[:200].astype(dtype), NOISY[200:300].astype(dtype)
    model = machine(1, n_components=None, width=None, ranking="variance").fit(X, DIGIT[:200])
    pca = KernelPCA(kernel=RBF("median")).fit(X)
    svc = SVC(C=10.0).fit(pca.transform(X), DIGIT[:200])
    assert_allclose(
        model.transform(Z), pca.transform(Z), atol=1e-4 if dtype == np.float32 else 1e-9
    )
    assert_array_equal(model.predict(Z), svc.predict(pca.transform(Z)))
    assert model.transform(Z).dtype == dtype
    # distances in feature space are those of the kernel, so that this is nearly SVC on the kernel
    assert np.mean(model.predict(Z) == DIGIT[200:300]) > 0.6


def test_two_layers_by_hand():
    """Kernel PCA, the components of most information, kernel PCA of these, and a k-NN."""
    X, y, Z = NOISY[:200], DIGIT[:200], NOISY[200:260]
    kernels = [RBF("median"), Polynomial(2, gamma=1.0, coef0=1.0)]
    model = machine(kernel=kernels, width=[9, 4], ranking="information", learner="neighbours")
    model.fit(X, y)
    learnt, new = X, Z
    for kernel, width in zip(kernels, [9, 4]):
        pca = KernelPCA(40, kernel=kernel, random_state=0).fit(learnt)
        scores = pca.transform(learnt)
        kept = np.argsort(-binned_information(scores, y), kind="stable")[:width]
        learnt, new = scores[:, kept], pca.transform(new)[:, kept]
        layer = model.layers_[kernels.index(kernel)]
        assert_array_equal(layer.kept, kept)
    assert_allclose(np.abs(model.transform(Z)), np.abs(new), atol=1e-6)
    neighbours = SklearnNeighbours(5).fit(learnt, y)
    assert np.mean(model.predict(Z) == neighbours.predict(new)) >= 0.98
    first = model.transform(Z, layer=1)
    assert first.shape == (60, 9)
    assert model.get_feature_names_out().tolist()[-1] == "multilayerkernelmachine3"


def slow_information(column, codes, bins):
    """Bins of equal numbers of rows, and the sum of the definition, cell by cell."""
    n, total = len(column), 0.0
    ends = [sorted(column)[k * n // bins] for k in range(1, bins)]
    cells = [sum(value >= end for end in ends) for value in column]
    for b in set(cells):
        for c in set(codes.tolist()):
            both = sum(1 for i in range(n) if cells[i] == b and codes[i] == c) / n
            if both:
                alone = (cells.count(b) / n) * (codes.tolist().count(c) / n)
                total += both * np.log(both / alone)
    return total


def test_information_by_bins_is_its_definition():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, 150)
    scores = np.column_stack([rng.normal(size=150) + codes, rng.normal(size=150), codes, 0 * codes])
    shift = 9 * 2 / 300
    wanted = [max(slow_information(column, codes, 10) - shift, 0) for column in scores.T]
    assert_allclose(binned_information(scores, codes), wanted, atol=1e-12)
    assert_allclose(binned_information(1e-9 * scores, codes), wanted, atol=1e-12)
    said = binned_information(scores, codes)
    shares = np.bincount(codes) / 150
    assert_allclose(said[2], -(shares * np.log(shares)).sum() - shift)  # all that there is to say
    assert said[3] == 0
    assert said[1] < 0.05 < said[0]


def test_information_of_noise_is_nothing_on_average():
    rng = np.random.default_rng(2)
    said = binned_information(rng.normal(size=(500, 200)), rng.integers(0, 5, 500))
    assert said.mean() < 0.01


def test_information_from_nearest_neighbours_is_scikit_learns(monkeypatch):
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, 120)
    scores = rng.normal(size=(120, 20)) + codes[:, None] * np.linspace(0, 1, 20)
    wanted = mutual_info_classif(scores, codes, random_state=0)
    for columns in (8, 3):
        monkeypatch.setattr(chosen_components, "COLUMNS", columns)
        found = nearest_information(scores, codes, 0)
        assert_allclose(found, wanted, atol=1e-6)
    monkeypatch.setattr(chosen_components, "RANKED_ROWS", 60)
    assert np.corrcoef(nearest_information(scores, codes, 0), wanted)[0, 1] > 0.5
    alone = np.array([0, 1, 2, 3, 3])  # of three classes there is one row each
    assert_array_equal(nearest_information(scores[:5], alone, 0), np.zeros(20))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 16, 20, 300])
def test_widths_that_are_tried(count):
    widths = tried_widths(count)
    assert widths[0] == 1
    assert widths[-1] == count
    assert widths == sorted(set(widths))
    assert all(b <= 2 * a for a, b in itertools.pairwise(widths))


# --- what choices may see -------------------------------------------------------------------------


@pytest.mark.full
def test_choices_are_those_of_another_k_nn_on_rows_that_were_held_back():
    X, y = NOISY[:300], DIGIT[:300]
    model = machine(2).fit(X, y)
    held = model.validation_rows_
    seen = np.setdiff1d(np.arange(300), held)
    assert np.bincount(y[held], minlength=10).min() >= 5
    learnt, judged = X[seen], X[held]
    for layer in model.layers_:
        pca = KernelPCA(40, kernel=RBF("median"), remove_zero_eig=True).fit(learnt)
        learnt, judged = pca.transform(learnt), pca.transform(judged)
        information = binned_information(learnt, y[seen])
        orders = {
            "information": np.argsort(-information, kind="stable"),
            "variance": np.arange(learnt.shape[1]),
        }
        errors = {name: {} for name in orders}
        for name, order in orders.items():
            for width in tried_widths(len(order)):
                kept = order[:width]
                nearest = SklearnNeighbours(5).fit(learnt[:, kept], y[seen])
                wrong = nearest.predict(judged[:, kept]) != y[held]
                errors[name][width] = np.mean(wrong)
        for name, by in errors.items():  # rounding turns a tie now and then
            found = layer.validation_errors[name]
            assert found.keys() == by.keys()
            assert_allclose(list(found.values()), list(by.values()), atol=2.1 / len(held))
        least = min(e for by in layer.validation_errors.values() for e in by.values())
        assert layer.validation_error == least
        kept = orders[layer.ranking][: layer.width]
        learnt, judged = learnt[:, kept], judged[:, kept]


def chosen_of(scores, values, information, rankings):
    """The layer that is chosen on the rows of two classes, for components as they are said."""
    y = np.arange(len(scores)) % 2
    layer = ComponentLayer(KernelPCA(), values, information, "variance", np.arange(len(values)), {})
    settings = chosen_components.Settings(None, "exact", None, 3, False, None, 1, 0)
    return choose_width(layer, scores, y, scores, y, rankings, settings)


@pytest.mark.parametrize("rankings", [("information", "variance"), ("variance", "information")])
def test_of_equal_errors_the_smallest_width_and_then_the_ranking_that_was_named_first(rankings):
    y = np.arange(40) % 2
    alike = np.tile(y[:, None], 6) + 0.0
    chosen = chosen_of(alike, np.arange(6.0, 0, -1), np.ones(6), rankings)
    assert {e for by in chosen.validation_errors.values() for e in by.values()} == {0.0}
    assert (chosen.ranking, chosen.kept.tolist()) == (rankings[0], [0])
    # the second ranking needs one component, and the first one two
    noise = 0.01 * np.random.default_rng(0).normal(size=40)
    behind = np.column_stack([noise, y])
    says = {"information": np.array([0.0, 1.0]), "variance": np.array([1.0, 2.0])}
    says[rankings[0]] = says[rankings[0]][::-1]
    chosen = chosen_of(behind, says["variance"], says["information"], rankings)
    assert (chosen.ranking, chosen.kept.tolist()) == (rankings[1], [1])


def test_of_components_that_say_as_much_the_larger_come_first():
    information = np.array([0.2, 0.5, 0.2, 0.5, 0.0, 0.2])
    chosen = chosen_of(np.zeros((9, 6)), np.arange(6.0, 0, -1), information, ("information",))
    assert chosen.order("information").tolist() == [1, 3, 0, 2, 5, 4]


def test_components_and_ranks_do_not_see_the_rows_held_back(monkeypatch):
    X, y = NOISY[:200], DIGIT[:200]
    held = np.arange(0, 200, 5)
    monkeypatch.setattr(multilayer, "_held_rows", lambda *arguments: held)
    calls = []
    choose = multilayer.choose_width
    monkeypatch.setattr(
        multilayer, "choose_width", lambda *given: calls.append(given) or choose(*given)
    )
    machine(1).fit(X, y)
    other_y, other_X = y.copy(), X.copy()
    other_y[held] = (y[held] + 3) % 10
    other_X[held] = 7.0
    machine(1).fit(X, other_y)
    machine(1).fit(other_X, other_y)
    assert len(calls) == 3
    for layer, scores, codes, *_ in calls[1:]:
        assert_array_equal(scores, calls[0][1])
        assert_array_equal(codes, calls[0][2])
        assert_array_equal(layer.mutual_information, calls[0][0].mutual_information)
    first, corrupted = (choose(*given).validation_errors["variance"] for given in calls[:2])
    assert min(corrupted.values()) > max(first.values()) - 0.3  # which the errors do see
    assert min(corrupted.values()) > 0.8


def test_targets_that_are_noise_are_not_predicted_by_the_validation_rows():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(300, 20)), rng.integers(0, 2, 300)
    model = machine(3, ranking="information").fit(X, y)
    # of 16 widths and 3 layers the best is below one half by chance, and not by more
    assert all(layer.validation_error > 0.3 for layer in model.layers_)
    new, new_y = rng.normal(size=(400, 20)), rng.integers(0, 2, 400)
    assert 0.4 < model.score(new, new_y) < 0.6


@pytest.mark.full
def test_a_machine_with_the_widths_that_were_chosen_is_the_same_machine():
    X, y, Z = NOISY[:250], DIGIT[:250], NOISY[250:300]
    for ranking in ("information", "variance", "nearest_information"):
        chosen = machine(2, ranking=ranking, n_components=9).fit(X, y)
        given = machine(2, ranking=ranking, n_components=9, width=chosen.widths_).fit(X, y)
        assert len(chosen.validation_rows_) == 50
        assert len(given.validation_rows_) == 0
        assert_array_equal(given.transform(Z), chosen.transform(Z))
        assert_array_equal(given.predict(Z), chosen.predict(Z))
        assert given.layers_[0].validation_error is None


# --- each step helps, or does no harm -------------------------------------------------------------


def test_selection_finds_the_few_components_of_the_classes():
    """Among ten columns of a large variance that say nothing, two say all."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 300)
    angle = 2 * np.pi * y / 3
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.3 * rng.normal(size=(300, 2))
    X = np.column_stack([X, 3 * rng.normal(size=(300, 10))])
    model = machine(1, kernel="linear").fit(X[:200], y[:200])
    layer = model.layers_[0]
    assert (layer.ranking, layer.width) == ("information", 2)
    assert sorted(layer.kept.tolist()) == [10, 11]  # those of the least variance
    without = machine(1, kernel="linear", width=None).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > without.score(X[200:], y[200:]) + 0.1


@pytest.mark.full
def test_noise_behind_digits_is_left_out_layer_by_layer():
    noisy = np.maximum(DIGITS, np.random.default_rng(0).integers(0, 15, DIGITS.shape)) / 16
    X, y = noisy[:800], DIGIT[:800]
    Z, w = noisy[800:], DIGIT[800:]
    model = machine(3, learner="neighbours", n_components=60).fit(X, y)
    plain = KNeighborsClassifier(5).fit(X, y).score(Z, w)
    scores = [
        KNeighborsClassifier(5)
        .fit(model.transform(X, layer), y)
        .score(model.transform(Z, layer), w)
        for layer in (1, 2, 3)
    ]
    assert scores[0] > plain + 0.02, (plain, scores)
    assert min(scores) > scores[0] - 0.02, (plain, scores)
    assert_allclose(scores[2], model.score(Z, w))


def test_columns_that_are_chosen_anew_for_new_rows_are_other_columns():
    """Ranks belong to the fit: those of new rows put other components into the same places."""
    X, y, Z, w = NOISY[:600], DIGIT[:600], NOISY[600:1200], DIGIT[600:1200]
    pca = KernelPCA(60, kernel=RBF("median")).fit(X)
    A, B = pca.transform(X), pca.transform(Z)
    kept, again = (np.argsort(-binned_information(S, c))[:20] for S, c in ((A, y), (B, w)))
    svc = SVC(C=10.0).fit(A[:, kept], y)
    right, wrong = svc.score(B[:, kept], w), svc.score(B[:, again], w)
    model = machine(1, n_components=60, width=20, ranking="information").fit(X, y)
    assert abs(model.score(Z, w) - right) < 0.01
    assert wrong < right - 0.1


# --- invariances ----------------------------------------------------------------------------------


def test_the_order_of_rows_and_of_columns_does_not_matter_where_nothing_is_chosen():
    X, y, Z = NOISY[:200], DIGIT[:200], NOISY[200:260]
    rng = np.random.default_rng(6)
    rows, columns = rng.permutation(200), rng.permutation(64)
    wanted = machine(2, width=12).fit(X, y)
    by_rows = machine(2, width=12).fit(X[rows], y[rows])
    by_columns = machine(2, width=12).fit(X[:, columns], y)
    for found, new in ((by_rows, Z), (by_columns, Z[:, columns])):
        assert_allclose(np.abs(found.transform(new)), np.abs(wanted.transform(Z)), atol=1e-6)


def test_seed_threads_and_layout():
    X, y, Z = NOISY[:300], DIGIT[:300], NOISY[300:350]
    one = machine(2, n_jobs=1).fit(X, y)
    two = machine(2, n_jobs=2).fit(np.asfortranarray(X), y)
    assert_array_equal(one.validation_rows_, two.validation_rows_)
    assert one.widths_ == two.widths_
    assert_allclose(np.abs(one.transform(Z)), np.abs(two.transform(Z)), atol=1e-6)
    again = machine(2, n_jobs=1).fit(X, y)
    assert_array_equal(one.transform(Z), again.transform(Z))
    other = machine(2, random_state=1).fit(X, y)
    assert (other.validation_rows_ != one.validation_rows_).any()


def test_names_of_classes_do_not_matter():
    X, y = NOISY[:200], DIGIT[:200]
    named = np.array(list("abcdefghij"))[y]
    model = machine(1).fit(X, named)
    assert_array_equal(
        model.predict(X), np.array(list("abcdefghij"))[machine(1).fit(X, y).predict(X)]
    )
    assert model.classes_.tolist() == list("abcdefghij")


# --- learners at the end, kinds of samples ------------------------------------------------------


def test_learners():
    X, y, Z, w = NOISY[:300], DIGIT[:300], NOISY[300:600], DIGIT[300:600]
    scores = {}
    for learner in ("svc", "neighbours", LogisticRegression(C=100.0)):
        model = machine(2, learner=learner, width=20).fit(X, y)
        scores[str(learner)] = model.score(Z, w)
    assert min(scores.values()) > 0.6, scores
    assert hasattr(model, "predict_proba")
    assert model.predict_proba(Z).shape == (300, 10)
    assert model.decision_function(Z).shape == (300, 10)
    assert not hasattr(machine(), "predict_proba")
    assert hasattr(machine(learner="neighbours"), "predict_proba")
    assert not hasattr(machine(learner="neighbours"), "decision_function")
    assert isinstance(model.learner, LogisticRegression)
    assert not hasattr(model.learner, "coef_")  # what was given is not fitted


def test_large_margins():
    X, y, Z, w = NOISY[:300], DIGIT[:300], NOISY[300:600], DIGIT[300:600]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = machine(1, learner="large_margin", width=15).fit(X, y)
        nearest = machine(1, learner="neighbours", width=15).fit(X, y)
        metric = LargeMarginNeighbours(random_state=0).fit(model.transform(X), y)
    by_hand = KNeighborsClassifier(5).fit(metric.transform(model.transform(X)), y)
    assert_array_equal(model.predict(Z), by_hand.predict(metric.transform(model.transform(Z))))
    assert model.score(Z, w) > nearest.score(Z, w) - 0.03


def words(n, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    letters = ["aabbcde", "edccvwx"]
    return ["".join(rng.choice(list(letters[c]), rng.integers(4, 12))) for c in y], y


def test_raw_samples_in_the_first_layer():
    X, y = words(80, 0)
    Z, w = words(60, 1)
    cases = {
        "strings": (Spectrum(2, shortest=1).normalised(), X, Z),
        "sets": (Jaccard(), [set(x) for x in X], [set(z) for z in Z]),
        "table": (
            TableKernel([(RBF(0.1), [0]), (Match(), [1, 2, 3])]),
            *(np.array([[len(x), *x[:3]] for x in rows], object) for rows in (X, Z)),
        ),
    }
    for name, (kernel, learnt, new) in cases.items():
        model = machine(kernel=[kernel, "rbf"]).fit(learnt, y)
        assert len(model.layers_) == 2
        assert model.score(new, w) > (0.75 if name == "table" else 0.9), name
        assert_allclose(model.transform(new[:5]), model.transform(new)[:5], atol=1e-10)


def test_a_precomputed_matrix_is_its_kernel():
    X, y, Z = NOISY[:150], DIGIT[:150], NOISY[150:200]
    kernel = RBF(0.1)
    model = machine(kernel=[kernel, "rbf"]).fit(X, y)
    given = machine(kernel=["precomputed", "rbf"]).fit(kernel(X), y)
    assert given.widths_ == model.widths_
    found, wanted = given.transform(kernel(Z, X)), model.transform(Z)
    assert_allclose(np.abs(found), np.abs(wanted), atol=1e-6)


def test_low_rank_with_all_rows_as_centres_is_exact():
    X, y, Z = NOISY[:150], DIGIT[:150], NOISY[150:200]
    exact = machine(2, width=10, ranking="variance").fit(X, y)
    low = machine(2, width=10, ranking="variance", solver="low_rank", rank=150).fit(X, y)
    assert low.layers_[0].pca.solver_ == "low_rank"
    assert_allclose(np.abs(low.transform(Z)), np.abs(exact.transform(Z)), atol=1e-5)
    few = machine(2, solver="low_rank", rank=30).fit(X, y)
    assert len(few.layers_[0].eigenvalues) <= 30
    assert few.X_fit_.shape[0] == 30


# --- bad input, files, searches -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"n_layers": 0}, ValueError, "n_layers=0: give a whole number"),
        ({"n_layers": 3, "kernel": ["rbf", "rbf"]}, ValueError, "has 2 entries, but there are 3"),
        ({"kernel": []}, ValueError, "give a kernel for each layer"),
        ({"kernel": Jaccard()}, ValueError, "layer 2 reads the components"),
        ({"kernel": ["rbf", "precomputed"]}, ValueError, "layer 2 reads the components"),
        ({"width": 0}, ValueError, "width=0: give a whole number"),
        ({"width": [3]}, ValueError, r"width=\[3\] has 1 entries, but there are 2 layers"),
        ({"width": "wide"}, ValueError, "width='wide': give a whole number"),
        ({"ranking": "best"}, ValueError, "ranking='best': give one of"),
        ({"learner": "svm"}, ValueError, "learner='svm': give one of"),
        ({"learner": 3}, TypeError, "learner=3: give one of"),
        ({"validation": 1.0}, ValueError, r"validation=1.0: give a number in \(0, 1\)"),
        ({"solver": "dense"}, ValueError, "solver='dense': give one of"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors=0"),
        ({"random_state": "a"}, ValueError, "random_state='a'"),
        ({"memory": "much"}, ValueError, "memory='much'"),
    ],
)
def test_wrong_parameters_are_named(params, error, message):
    with pytest.raises(error, match=message):
        machine(**params).fit(NOISY[:40], DIGIT[:40])


def test_rows_that_are_all_alike():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="All rows are the same to RBF"):
            machine().fit(np.ones((30, 3)), np.arange(30) % 2)


def test_a_layer_has_no_more_components_than_its_rank():
    X = np.random.default_rng(7).normal(size=(60, 3))
    model = machine(2, kernel="linear", width=10).fit(X, X[:, 0] > 0)
    assert model.widths_ == [3, 3]


def test_few_rows_are_not_held_back():
    X, y = NOISY[:8], np.arange(8) % 2
    model = machine(n_neighbors=3).fit(X, y)
    assert len(model.validation_rows_) == 0
    assert model.widths_ == [7, 7]
    with pytest.raises(ValueError, match="one class"):
        machine().fit(X, np.zeros(8))


def test_classes_with_one_row():
    X, y = NOISY[:60], DIGIT[:60].copy()
    y[:3] = [20, 21, 22]
    for ranking in ("information", "nearest_information"):
        model = machine(ranking=ranking, n_components=4).fit(X, y)
        assert np.isfinite(model.transform(X)).all()


def test_layers_are_numbered_from_one():
    model = machine(2).fit(NOISY[:60], DIGIT[:60])
    for layer in (0, 3, 1.5, "last"):
        with pytest.raises(ValueError, match="give a whole number from 1 to 2"):
            model.transform(NOISY[:3], layer=layer)
    with pytest.raises(NotFittedError):
        machine().transform(NOISY[:3])


def test_a_fit_that_fails_leaves_nothing_of_the_one_before():
    model = machine().fit(NOISY[:60], DIGIT[:60])
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((60, 64), np.nan), DIGIT[:60])
    with pytest.raises(NotFittedError):
        model.predict(NOISY[:3])


def test_files_and_searches(tmp_path):
    X, y = NOISY[:120], DIGIT[:120]
    model = machine(2, n_components=15).fit(X, y)
    mercer.save(model, tmp_path / "machine.mercer")
    loaded = mercer.load(tmp_path / "machine.mercer")
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.layers_[1].validation_errors == model.layers_[1].validation_errors
    grid = {"n_layers": [1, 2], "learner": ["svc", "neighbours"]}
    search = GridSearchCV(machine(n_components=15), grid, cv=2).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("seed", [3, 29])
def test_sparse_rows_choose_the_widths_of_dense_ones(seed):
    """Equal rows, whose scores differ in the last digit, are in one bin and are one neighbour."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(40, 120)), int(rng.integers(3, 60))
    rows = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)
    classes = (rows[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int)
    dense = MultilayerKernelMachine(random_state=seed).fit(rows, classes)
    sparse = MultilayerKernelMachine(random_state=seed).fit(sp.csr_array(rows), classes)
    assert sparse.widths_ == dense.widths_
    first = [model.layers_[0].mutual_information[:40] for model in (sparse, dense)]
    assert_array_equal(*first)  # the last components are of the size of rounding
