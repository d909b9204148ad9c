"""Learners and searches of samples that are objects of any type, by a user's function."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, cross_val_score

import mercer
from cases import words_apart, words_in_common
from mercer import (
    SVC,
    SVR,
    KernelLogisticRegression,
    KernelQuantileRegression,
    KernelRidge,
    KernelRidgeClassifier,
    KernelSearchCV,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from mercer.distances import FromFunction as DistanceFromFunction
from mercer.kernels import FromDistance, FromFunction
from mercer.persistence import ModelFileError


@dataclass
class Song:
    words: frozenset
    length: float


def alike(a, b):
    return float(len(a.words & b.words)) + a.length * b.length


RNG = np.random.default_rng(0)
SONGS = [Song(frozenset(RNG.choice(list("abcdef"), 3)), RNG.uniform(1, 2)) for _ in range(40)]
NEW = [Song(frozenset("abc"), 1.5), Song(frozenset(), 0.0)]
K, K_NEW = (np.array([[alike(a, b) for b in SONGS] for a in A]) for A in (SONGS, NEW))
HITS = np.array(["hit" if "a" in song.words else "flop" for song in SONGS])
LENGTHS = np.array([song.length + len(song.words) for song in SONGS])
TUPLES = [tuple(sorted(song.words)) for song in SONGS]

LEARNERS = [
    SVC(tol=1e-6),
    NuSVC(nu=0.2, tol=1e-6),
    SVR(tol=1e-6),
    NuSVR(nu=0.3, tol=1e-6),
    KernelQuantileRegression(tol=1e-6),
    OneClassSVM(nu=0.3, tol=1e-6),
    KernelRidge(),
    KernelRidgeClassifier(),
    KernelLogisticRegression(),
]


def name(learner):
    return type(learner).__name__


def target(learner):
    return HITS if is_classifier(learner) else LENGTHS


def values(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


class Counted:
    """A function that counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, a, b):
        self.calls += 1
        return alike(a, b)


@pytest.mark.parametrize("learner", LEARNERS, ids=name)
def test_a_function_equals_its_matrix(learner):
    y = target(learner)
    model = clone(learner).set_params(kernel=FromFunction(alike)).fit(SONGS, y)
    given = clone(learner).set_params(kernel="precomputed").fit(K, y)
    assert_allclose(values(model, NEW), values(given, K_NEW), atol=1e-5)


@pytest.mark.parametrize("learner", LEARNERS, ids=name)
def test_calls_are_one_for_each_pair_of_a_fit_and_for_each_support_of_a_prediction(learner):
    f, n = Counted(), len(SONGS)
    model = clone(learner).set_params(kernel=FromFunction(f)).fit(SONGS, target(learner))
    # beside pairs the diagonal, twice in some, and what looks at symmetry and at the time of a call
    assert n * (n + 1) / 2 <= f.calls <= n * (n + 1) / 2 + 2 * n + 30
    f.calls = 0
    model.predict(NEW)
    support = len(model.support_) if hasattr(model, "support_") else n
    assert f.calls == 2 * support


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("probability", [False, True])
@pytest.mark.parametrize("learner", [SVC(), NuSVC(nu=0.6)], ids=name)
def test_machines_and_folds_share_the_matrix(learner, probability, multi_class, classes):
    f, n = Counted(), len(SONGS)
    y = np.digitize(LENGTHS, np.quantile(LENGTHS, np.arange(1, classes) / classes))
    learner = clone(learner).set_params(
        kernel=FromFunction(f) ** 2, probability=probability, multi_class=multi_class
    )
    learner.fit(SONGS, y)
    assert n * (n + 1) / 2 <= f.calls <= n * (n + 1) / 2 + 2 * n + 30


@pytest.mark.parametrize("learner", LEARNERS, ids=name)
@pytest.mark.parametrize("value", [np.nan, None, 1j, "x"], ids=repr)
def test_what_is_no_number_names_the_pair(learner, value):
    """Of the diagonal too, which some learners read first."""

    def odd(a, b):
        return value if a is b is SONGS[5] else alike(a, b)

    model = clone(learner).set_params(kernel=FromFunction(odd))
    with pytest.raises(ValueError, match=r"odd returned .* for X\[5\] = Song.* and X\[5\] = Song"):
        model.fit(SONGS, target(learner))


@pytest.mark.parametrize("learner", LEARNERS, ids=name)
def test_an_error_of_the_function_is_its_own(learner):
    def failing(a, b):
        raise LookupError("no such song")

    model = clone(learner).set_params(kernel=FromFunction(failing))
    with pytest.raises(LookupError, match="no such song") as info:
        model.fit(SONGS, target(learner))
    assert all(part in info.value.__notes__[0] for part in ("failing", "X[0] = Song"))


@pytest.mark.parametrize(
    "kernel",
    [
        FromFunction(alike) + FromFunction(lambda a, b: a.length * b.length),
        FromFunction(alike).normalised(),
        FromDistance(DistanceFromFunction(lambda a, b: len(a.words ^ b.words)), 0.5),
    ],
    ids=["sum", "normalised", "distance"],
)
def test_kernels_of_functions(kernel):
    model = SVC(kernel=kernel, tol=1e-6).fit(SONGS, HITS)
    given = SVC(kernel="precomputed", tol=1e-6).fit(kernel(SONGS), HITS)
    wanted = given.decision_function(kernel(NEW, SONGS))
    assert_allclose(model.decision_function(NEW), wanted, atol=1e-6)


@pytest.mark.parametrize("jobs", [1, 2])
def test_cross_validation_by_processes(jobs):
    model = SVC(kernel=FromFunction(words_in_common))
    scores = cross_val_score(model, TUPLES, HITS, cv=3, n_jobs=jobs)
    G = [[words_in_common(a, b) for b in TUPLES] for a in TUPLES]
    wanted = cross_val_score(SVC(kernel="precomputed"), np.array(G), HITS, cv=3)
    assert_allclose(scores, wanted)


@pytest.mark.parametrize("learner", [SVC(), SVR(), KernelRidge()], ids=name)
def test_searches_agree_and_ask_once(learner):
    penalty = "alpha" if isinstance(learner, KernelRidge) else "C"
    f, grid = Counted(), {penalty: [0.1, 1.0, 10.0]}
    learner = clone(learner).set_params(kernel=FromFunction(f))
    ours = KernelSearchCV(learner, grid, cv=3, refit=False).fit(SONGS, target(learner))
    assert f.calls <= 40 * 41 / 2 + 40 + 3 * 30
    theirs = GridSearchCV(learner, grid, cv=3, refit=False).fit(SONGS, target(learner))
    scores = (search.cv_results_["mean_test_score"] for search in (ours, theirs))
    assert_allclose(*scores, atol=1e-3)


def test_model_files_refuse_a_function_by_name_and_pickles_keep_it(tmp_path):
    model = SVC(kernel=FromFunction(words_in_common)).fit(TUPLES, HITS)
    with pytest.raises(ModelFileError, match=r"SVC holds .*words_in_common.*pickle where"):
        mercer.save(model, tmp_path / "model.mercer")
    assert not list(tmp_path.iterdir())
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.decision_function(TUPLES), model.decision_function(TUPLES))


# --- bare callables: of two samples for SVC, of two objects for KernelRidge, as in scikit-learn ---


def test_a_bare_callable_of_a_machine_gets_all_of_a_list_in_one_call():
    texts = ["".join(words) for words in TUPLES]
    calls = []

    def whole(A, B):
        calls.append((A, B))
        return np.array([[words_in_common(a, b) for b in B] for a in A])

    model = SVC(kernel=whole).fit(texts, HITS)
    assert [(type(A), A, B) for A, B in calls] == [(list, texts, texts)]
    predicted = model.predict(texts[:3])
    assert calls[1:] == [(texts[:3], [texts[i] for i in model.support_])]
    assert_array_equal(predicted, SVC(kernel=FromFunction(words_in_common)).fit(
        TUPLES, HITS).predict(TUPLES[:3]))  # fmt: skip


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("Machine", [SVC, SVR, OneClassSVM])
def test_a_bare_callable_that_returns_no_number_is_named(Machine, value):
    def odd(A, B):
        out = np.ones((len(A), len(B)))
        out[0, -1] = value
        return out

    with pytest.raises(ValueError, match=r"odd .*returned NaN or infinity for the training"):
        Machine(kernel=odd).fit(TUPLES, target(Machine()))


def test_a_bare_callable_of_ridge_gets_pairs():
    seen = []

    def pair(a, b):
        seen.append((a, b))
        return words_in_common(a, b)

    model = KernelRidge(kernel=pair).fit(TUPLES, LENGTHS)
    assert all(a in TUPLES and b in TUPLES for a, b in seen)
    same = KernelRidge(kernel=FromFunction(words_in_common)).fit(TUPLES, LENGTHS)
    assert_array_equal(model.predict(TUPLES), same.predict(TUPLES))


@pytest.mark.parametrize("Machine", [SVC, SVR])
def test_a_function_of_pairs_in_a_machine_is_told_of_the_other_form(Machine):
    y = target(Machine())
    message = r"words_apart returned shape \(\) .*must return \(40, 40\).*FromFunction\(function\)"
    with pytest.raises(ValueError, match=message + ".*KernelRidge"):
        Machine(kernel=words_apart).fit([frozenset(t) for t in TUPLES], y)


def test_a_function_of_samples_in_ridge_is_told_of_the_other_form():
    def whole(A, B):
        return np.array([[words_in_common(a, b) for b in B] for a in A])

    message = r"whole returned array.*FromFunction.*two objects.*at_once=True.*SVC"
    with pytest.raises(ValueError, match=message):
        KernelRidge(kernel=whole).fit(TUPLES, LENGTHS)
