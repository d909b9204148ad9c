"""Machines of classes on the sparse features of texts: naive Bayes and linear support vectors."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.naive_bayes import ComplementNB
from sklearn.neighbors import NearestCentroid
from sklearn.svm import LinearSVC

from mercer import KernelClassifier, load, save
from mercer.machines.candidates import Recipe, machine_kinds
from mercer.machines.candidates.candidate import Candidate
from mercer.machines.candidates.order import candidates
from mercer.machines.linear import (
    SPARSE_CLASSES,
    fit_bayes,
    fit_centroids,
    fit_margins,
)
from mercer.machines.tasks import Classification
from mercer.tables.column_rules import infer_columns
from mercer.tables.encoding import TableEncoder
from mercer.tables.values import read_columns

RNG = np.random.default_rng(0)
TOPICS = {"sport": ["goal", "team", "match"], "money": ["bank", "share", "price"], "food": ["rice"]}
OTHERS = ["today", "the", "many", "new", "people", "said"]
LABELS = np.array(list(TOPICS))[np.arange(60) % 3]
TEXTS = [
    " ".join([*RNG.choice(OTHERS, 5), *RNG.choice(TOPICS[label], 2), str(RNG.integers(99))])
    for label in LABELS
]
TABLE = pd.DataFrame({"text": TEXTS})
ENCODER = TableEncoder(infer_columns(read_columns(TABLE), {"text": "text"}, None)).fit(TABLE)
ROWS = ENCODER.transform(TABLE)
WAY = "rare words and substrings"
READ_FEATURES = [kind.name for kind in machine_kinds() if kind.reads_features]


def fitted(machine, rows=slice(None), weights=None):
    candidate = Candidate("objects", text=WAY, machine=machine)
    kernel, _ = candidate.bound(ENCODER.features_, ROWS)
    task = Classification(np.unique(LABELS))
    return Recipe(machine).fit(task, kernel, ROWS[rows], LABELS[rows], weights)


@pytest.mark.parametrize("machine", READ_FEATURES)
def test_probabilities_are_calibrated_and_right(machine):
    found = fitted(machine)
    P = found(ROWS)
    assert_allclose(P.sum(axis=1), 1)
    assert_array_equal(np.unique(LABELS)[P.argmax(axis=1)], LABELS)
    starts = "complement naive Bayes", "linear support vector machine", "logistic regression"
    assert found.description.startswith((*starts, "nearest centroids, shrunken by"))


def test_every_machine_that_reads_features_has_a_fit():
    assert set(SPARSE_CLASSES) == set(READ_FEATURES)


@pytest.mark.parametrize("classes", [2, 3])
def test_fits_are_those_of_scikit_learn(classes):
    F = sp.csr_array(RNG.random((80, 12)) * (RNG.random((80, 12)) < 0.4))
    y, w = np.arange(80) % classes, RNG.uniform(0.5, 2, 80)
    ours, theirs = fit_bayes(F, y, w, 0.3), ComplementNB(alpha=0.3).fit(F, y, w)
    assert_array_equal((F @ ours.coef + ours.intercept).argmax(axis=1), theirs.predict(F))
    ours, theirs = fit_margins(F, y, w, 1.0), LinearSVC(tol=1e-6).fit(F, y, w)
    values = theirs.decision_function(F)
    values = np.stack([-values, values], axis=1) if classes == 2 else values
    assert_allclose(F @ ours.coef + ours.intercept, values, atol=0.05)


@pytest.mark.parametrize("share", [0.0, 0.5])
@pytest.mark.parametrize("made", [np.asarray, sp.csr_array])
def test_centroids_are_those_of_scikit_learn(made, share):
    """Scikit-learn adds the median of the spreads, so here all columns have the same one."""
    y = np.arange(90) % 3
    noise = np.stack([RNG.permutation(np.linspace(-1, 1, 30)) for _ in range(6)], axis=1)
    F = np.repeat(noise, 3, axis=0) + 0.4 * np.eye(3, 6)[y] + 0.05 * np.eye(3, 6, 3)[y]
    ours, counts = fit_centroids(made(F), y, np.ones(90), share), np.bincount(y)
    spread = np.sqrt(np.square(F - np.stack([F[y == k].mean(axis=0) for k in y])).sum(0) / 90)
    away = np.stack([F[y == k].mean(axis=0) for k in range(3)]) - F.mean(axis=0)
    largest = np.abs(away / (2 * spread)).max() / np.sqrt(1 / counts[0] - 1 / 90)
    # scikit-learn divides the squares by n - k
    threshold = share * largest / np.sqrt(90 / 87) or None
    theirs = NearestCentroid(shrink_threshold=threshold).fit(F, y)
    values = F @ ours.coef + ours.intercept
    distances = np.square((F[:, None] - theirs.centroids_) / spread).sum(axis=2)
    alike = [a - a.mean(axis=1, keepdims=True) for a in (values, -distances)]
    assert_allclose(*(a / a.std() for a in alike), atol=1e-6)
    assert (ours.scale > 0).tolist() == [True] * 3 + [share == 0] * 3


def test_support_vectors_add_up_to_the_output():
    """w = Σ βᵢ φ(xᵢ), as far as the solver has converged."""
    found = fitted("margins")
    outputs = found.outputs(ROWS) - found.learner.intercept_
    for c in range(3):
        added = found.contributions(ROWS, np.full(len(LABELS), c)).sum(axis=1)
        assert_allclose(added, outputs[:, c], atol=0.05)


@pytest.mark.parametrize("machine", ["bayes", "centroids"])
def test_rows_of_the_class_speak_for_it(machine):
    found = fitted(machine)
    for c, name in enumerate(np.unique(LABELS)):
        added = found.contributions(ROWS, np.full(len(LABELS), c))
        assert (added[:, name == LABELS] >= 0).all()
        assert (added[:, name != LABELS] <= 0).all()


@pytest.mark.parametrize("machine", READ_FEATURES)
def test_a_class_that_the_rows_lack_is_most_unlikely(machine):
    rows = np.flatnonzero(LABELS != "food")
    assert fitted(machine, rows)(ROWS)[:, 0].max() < 1e-3
    one = fitted(machine, np.flatnonzero(LABELS == "food"))
    assert one(ROWS)[:, 0].min() > 0.99


def test_order_of_texts():
    names = [each.machine for each in candidates(ENCODER.features_, "classification", 3)]
    assert names[:2] == ["bayes", "margins"]
    assert not set(READ_FEATURES) & {c.machine for c in candidates(ENCODER.features_)}


@pytest.mark.full
def test_search_saves_and_repeats_them(tmp_path):
    labels = np.where(np.arange(60) % 7, LABELS, "food")  # no machine is without errors
    model = KernelClassifier(trials=2, kind={0: "text"}).fit(TEXTS, labels)
    assert {"naive Bayes: " + WAY, "linear SVC: " + WAY} <= {
        row["name"] for row in model.leaderboard_
    }
    save(model, tmp_path / "model.mercer")
    P = model.predict_proba(TEXTS)
    assert_allclose(load(tmp_path / "model.mercer").predict_proba(TEXTS), P, rtol=1e-6)
    again = KernelClassifier(replay=model.schedule_, kind={0: "text"}).fit(TEXTS, labels)
    assert_allclose(again.predict_proba(TEXTS), P, rtol=1e-6)
    assert model.reasons(TEXTS[:3]).rows.shape == (3, 3)


def test_order_of_vectors():
    table = pd.DataFrame({"vector": list(RNG.normal(size=(40, 5)))})
    features = TableEncoder().fit(table).features_
    found = candidates(features, "classification", 2)
    assert (found[0].machine, found[0].text) == ("logistic", "linear of directions")
    mixed = TableEncoder().fit(table.assign(text=TEXTS[:40])).features_
    assert not set(READ_FEATURES) & {c.machine for c in candidates(mixed, "classification", 2)}
