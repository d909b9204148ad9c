"""Sequences in a report: what letters of held-out ones carry, and the strongest pieces."""

import numpy as np
import pandas as pd
import pytest

from mercer import KernelClassifier, KernelRegressor
from mercer.explain import letters
from mercer.plots import save_report
from mercer.plots.report.structures import Sequences
from mercer.plots.report.subject import Subject

MOTIF = "TTGACATA"


def drawn(n=120, length=40, seed=0):
    """Texts, every second one with the motif."""
    rng = np.random.default_rng(seed)
    texts = ["".join(row) for row in rng.choice(list("ACGT"), (n, length))]
    places = rng.integers(0, length - 8, n)
    return [
        t[:p] + MOTIF + t[p + 8 :] if i % 2 else t for i, (t, p) in enumerate(zip(texts, places))
    ]


TEXTS = drawn()
SIGNAL = np.arange(len(TEXTS)) % 2


def subject(y, estimator, texts=TEXTS, **options):
    X = pd.DataFrame({"dna": texts, "age": np.arange(len(texts)) % 7 * 1.5})
    test = np.arange(len(texts)) % 3 == 0
    model = estimator(trials=3, random_state=0).fit(X[~test], y[~test])
    return Subject(model, X[~test], y[~test], holdout=(X[test], y[test]), **options)


def page_of(found, about):
    report = type("Report", (), {"facts": about.facts, "task": about.task})
    return found.html(report)


@pytest.fixture(scope="module")
def classes():
    return subject(np.where(SIGNAL, "bound", "free"), KernelClassifier)


def test_letters_of_the_worst_and_the_best(classes):
    found = Sequences.measured(classes)
    assert (found.column, len(found.cases), found.rows) == ("dna", 4, 40)
    predicted = np.take_along_axis(
        classes.predicted, np.searchsorted(classes.classes, classes.y_test)[:, None], 1
    )[:, 0]
    rows = [case.row for case in found.cases]
    assert set(predicted[rows[:2]]) == set(np.sort(predicted)[:2])
    assert set(predicted[rows[2:]]) == set(np.sort(predicted)[-2:])
    for case in found.cases:
        text = classes.X_test.columns["dna"][case.row]
        assert "".join(run for run, _ in case.runs) == text
        assert {shade for _, shade in case.runs} <= set(range(-3, 4))
        if case.said == "predicted bound":
            assert case.best.split()[0] in text


def test_the_motif_is_the_strongest_piece(classes):
    found = Sequences.measured(classes)
    pieces = dict(found.pieces)
    assert [*pieces] == ["bound", "free"]
    assert pieces["bound"][0].text == MOTIF
    of_motif = [t for t in classes.X_test.columns["dna"] if MOTIF in t]
    assert pieces["bound"][0].times <= len(of_motif)
    assert all(piece.adds > 0 for each in pieces.values() for piece in each)
    assert MOTIF not in {piece.text for piece in pieces["free"]}
    assert f"  bound: {MOTIF}, " in "\n".join(found.lines())


def test_the_page_names_letters_and_pieces(classes):
    found = Sequences.measured(classes)
    page = page_of(found, classes)
    assert page.count('<figure class="letters">') == 4
    assert f"<code>{MOTIF}</code>" in page
    assert "Blue letters speak for the class that is predicted" in page
    assert "Letters 1 to" not in page
    assert found.numbers()["sequences"]["pieces"][0][0] == "bound"


@pytest.mark.full
def test_numbers_and_several_classes():
    found = Sequences.measured(subject(2.0 * SIGNAL + 0.01, KernelRegressor))
    pieces = dict(found.pieces)
    assert [*pieces] == ["less", "more"]
    assert pieces["more"][0].text == MOTIF
    three = np.where(SIGNAL, "bound", np.where(np.arange(len(TEXTS)) % 4, "free", "open"))
    about = subject(three, KernelClassifier)
    found = Sequences.measured(about)
    assert dict(found.pieces)["bound"][0].text == MOTIF
    assert "log-odds of the class" in page_of(found, about)


def test_of_long_sequences_a_part_is_shown():
    texts = drawn(60, 700)
    about = subject(np.where(SIGNAL[:60], "bound", "free"), KernelClassifier, texts)
    found = Sequences.measured(about)
    for case in found.cases:
        text = about.X_test.columns["dna"][case.row]
        own = "".join(run for run, _ in case.runs)
        assert len(own) == 300
        assert text[case.first : case.first + 300] == own
    assert "of 700." in page_of(found, about)


def test_tables_without_sequences_have_none():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = KernelRegressor(trials=1).fit(X[:40], X[:40, 0])
    assert not Sequences.applies(Subject(model, X[:40], X[:40, 0], holdout=(X[40:], X[40:, 0])))


def test_letters_of_a_table_that_was_read(classes):
    X = classes.X_test[np.arange(5)]
    frame = pd.DataFrame(X.columns)
    read, given = (letters(classes.model, each, column="dna") for each in (X, frame))
    assert read.method == given.method
    for one, other in zip(read.values, given.values):
        np.testing.assert_array_equal(one, other)
    assert letters(classes.model, X).sequences == read.sequences


def test_a_report_without_values_shows_none(tmp_path):
    X, y = pd.DataFrame({"dna": TEXTS}), np.where(SIGNAL, "bound", "free")
    model = KernelClassifier(trials=1, random_state=0).fit(X[:80], y[:80])
    for values in (True, False):
        path = tmp_path / f"{values}.html"
        save_report(path, model, X[80:], y[80:], train=(X[:80], y[:80]), values=values, time=5)
        assert ('class="letters"' in path.read_text(encoding="utf-8")) == values
