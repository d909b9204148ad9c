"""k and width by leaving each row out: the scores are those of n refits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from mercer import KNeighborsClassifier, KNeighborsRegressor
from mercer.distances import Edit, Jaccard
from mercer.learners.neighbours.neighbour_classifier import some_neighbours, some_widths
from mercer.search import BruteForce

RNG = np.random.default_rng(3)
X = RNG.normal(size=(45, 2))
NUMBERS = np.sin(2 * X[:, 0]) + 0.3 * RNG.normal(size=45)
LABELS = np.where(NUMBERS + 0.5 * RNG.normal(size=45) > 0, "yes", "no")


def beyond(distances):
    """The nearest rows count only where no others do."""
    return np.where(distances > 0.4, distances, 0)


WEIGHTS = ["uniform", "distance", "rank", "triangular", "gaussian", beyond]


def refitted(model, y):
    """The score of n fits, each without one row."""
    answers = cross_val_predict(model, X, y, cv=LeaveOneOut())
    return r2_score(y, answers) if y.dtype.kind == "f" else np.mean(answers == y)


@pytest.mark.spread(3)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(
    ("Learner", "y"), [(KNeighborsClassifier, LABELS), (KNeighborsRegressor, NUMBERS)]
)
def test_scores_of_k_are_those_of_n_refits(Learner, y, weights):
    model = Learner("auto", weights=weights).fit(X, y)
    assert list(model.loo_scores_) == some_neighbours(45)
    for k in (1, 2, 7, 20):
        expected = refitted(Learner(k, weights=weights), y)
        assert_allclose(model.loo_scores_[k], expected, atol=1e-10)
    best = max(model.loo_scores_.values())
    assert model.n_neighbors_ == min(k for k, s in model.loo_scores_.items() if s == best)
    assert model.width_ is None
    fixed = Learner(model.n_neighbors_, weights=weights).fit(X, y)
    assert_array_equal(model.predict(X + 0.1), fixed.predict(X + 0.1))


@pytest.mark.parametrize("k", [6, None, "auto"])
@pytest.mark.parametrize("weights", ["rectangular", "quartic", "gaussian"])
@pytest.mark.parametrize(
    ("Learner", "y"), [(KNeighborsClassifier, LABELS), (KNeighborsRegressor, NUMBERS)]
)
def test_scores_of_widths_are_those_of_n_refits(Learner, y, weights, k):
    model = Learner(k, weights=weights, width="auto").fit(X, y)
    scores = model.loo_scores_ if k == "auto" else {(k, h): s for h, s in model.loo_scores_.items()}
    for number, width in list(scores)[:: max(9, len(scores) // 9)]:
        expected = refitted(Learner(number, weights=weights, width=width), y)
        assert_allclose(scores[number, width], expected, atol=1e-10)
    assert scores[model.n_neighbors_, model.width_] == max(scores.values())


@pytest.mark.parametrize("weights", ["rectangular", "uniform"])
def test_rows_at_the_edge_of_a_window_are_left_out_as_in_refits(weights):
    """On a line of whole numbers many neighbours are at the very width."""
    line, y = np.arange(25.0)[:, None], np.arange(25) % 5 // 2
    width = None if weights == "uniform" else 3.0
    model = KNeighborsRegressor("auto", weights=weights, width=width).fit(line, y * 1.0)
    for k in (2, 6, 7):
        single = KNeighborsRegressor(k, weights=weights, width=width)
        answers = cross_val_predict(single, line, y * 1.0, cv=LeaveOneOut())
        assert_allclose(model.loo_scores_[k], r2_score(y, answers), atol=1e-10)


def test_one_search_and_no_refit(monkeypatch):
    searches = []
    query = BruteForce.query

    def counted(self, Z=None, k=5):
        searches.append(k)
        return query(self, Z, k)

    monkeypatch.setattr(BruteForce, "query", counted)
    KNeighborsClassifier("auto", weights="gaussian", width="auto").fit(X, LABELS)
    assert searches == [20]


@pytest.mark.spread(4)
@pytest.mark.parametrize(
    ("weights", "k", "width"),
    [("uniform", "auto", None), ("rank", "auto", None), ("triangular", "auto", None),
     ("quartic", None, "auto"), ("gaussian", 9, "auto")],
)  # fmt: skip
@pytest.mark.parametrize("y", [LABELS, NUMBERS], ids=["classes", "numbers"])
def test_a_row_is_left_out_with_all_of_its_weight(y, weights, k, width):
    """It does not count for itself, and its own answer counts as often as it does."""
    w = RNG.integers(1, 4, 45)
    Learner = KNeighborsRegressor if y is NUMBERS else KNeighborsClassifier
    model = Learner(k, weights=weights, width=width).fit(X, y, w)
    for chosen in list(model.loo_scores_)[:9:4]:
        number, h = (chosen, None) if k == "auto" else (k, chosen)
        answers = []
        for i in range(45):
            others = np.arange(45) != i
            rest = Learner(number, weights=weights, width=h).fit(X[others], y[others], w[others])
            answers += rest.predict(X[[i]]).tolist()
        score = r2_score if y is NUMBERS else accuracy_score
        assert_allclose(model.loo_scores_[chosen], score(y, answers, sample_weight=w))


def test_class_weights_count_in_the_score():
    rare = np.where(np.arange(45) < 5, "rare", "usual")
    model = KNeighborsClassifier("auto", class_weight="balanced").fit(X, rare)
    answers = KNeighborsClassifier(3, class_weight="balanced").fit(X, rare).predict(None)
    shares = [np.mean(answers[rare == c] == c) for c in ("rare", "usual")]
    assert_allclose(model.loo_scores_[3], np.mean(shares))


def test_several_outputs():
    both = np.column_stack([LABELS, LABELS[::-1]])
    model = KNeighborsClassifier("auto").fit(X, both)
    answers = KNeighborsClassifier(4).fit(X, both).predict(None)
    assert_allclose(model.loo_scores_[4], np.mean(answers == both))


def test_targets_that_are_constant_or_of_several_outputs():
    assert set(KNeighborsRegressor("auto").fit(X, np.full(45, 3.0)).loo_scores_.values()) == {1.0}
    both = np.column_stack([NUMBERS, 100 * NUMBERS[::-1], np.ones(45)])
    model = KNeighborsRegressor("auto", weights="quartic", width="auto").fit(X, both)
    k, width = model.n_neighbors_, model.width_
    answers = KNeighborsRegressor(k, weights="quartic", width=width).fit(X, both).predict(None)
    assert_allclose(
        model.loo_scores_[k, width], (2 * r2_score(both[:, :2], answers[:, :2]) + 1) / 3
    )


@pytest.mark.parametrize("jobs", [1, 2])
def test_threads_and_strips_change_nothing(jobs, monkeypatch):
    monkeypatch.setattr("mercer.learners.neighbours.neighbour_classifier.STRIP", 7)
    model = KNeighborsRegressor("auto", weights="gaussian", n_jobs=jobs).fit(X, NUMBERS)
    monkeypatch.undo()
    whole = KNeighborsRegressor("auto", weights="gaussian").fit(X, NUMBERS)
    assert_allclose(list(model.loo_scores_.values()), list(whole.loo_scores_.values()))


def test_it_helps_on_noise_and_reads_objects():
    iris = load_iris()
    model = KNeighborsClassifier("auto").fit(iris.data, iris.target)
    assert max(model.loo_scores_.values()) >= 0.97
    words = ["haus", "maus", "laus", "raus", "house", "mouse", "louse", "douse"]
    languages = ["de"] * 4 + ["en"] * 4
    chosen = KNeighborsClassifier("auto", metric=Edit()).fit(words, languages)
    assert chosen.loo_scores_[1] == 1.0
    sets = [set(word) for word in words]
    assert KNeighborsClassifier("auto", metric=Jaccard()).fit(sets, languages).n_neighbors_ >= 1


def test_candidates():
    assert some_neighbours(2) == [1]
    for n in (3, 50, 1000, 20_000, 10**6):
        tried = some_neighbours(n)
        assert tried == sorted(set(tried))
        assert tried[-1] <= min(n - 1, 200)
    assert some_widths(np.zeros((3, 2))) == [1.0]
    widths = some_widths(np.array([[0.0, 2.0], [1.0, 8.0]]))
    assert_allclose([widths[0], widths[-1]], [0.75, 8.0])


def test_too_few_rows():
    for params in ({}, {"weights": "gaussian", "width": "auto"}):
        with pytest.raises(ValueError, match="n_samples=1"):
            KNeighborsRegressor("auto", **params).fit([[1.0]], [1.0])
    assert KNeighborsRegressor("auto").fit([[1.0], [2.0]], [1.0, 2.0]).n_neighbors_ == 1
    with pytest.raises(ValueError, match="too few"):  # a third row is needed for the width
        KNeighborsRegressor("auto", weights="gaussian").fit([[1.0], [2.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match="memory='1KB'"):
        KNeighborsRegressor(40, weights="gaussian", width="auto", memory="1KB").fit(X, NUMBERS)
