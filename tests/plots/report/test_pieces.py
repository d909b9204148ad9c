"""Which words of a text speak for an answer: those that were planted, and nothing else."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mercer import KernelClassifier, KernelRegressor
from mercer.plots.report import why
from mercer.plots.report.why import text_pieces
from mercer.threads import Clock

RANDOM = np.random.default_rng(0)
N = 120
FILLERS = ["some", "words", "that", "say", "little", "of", "it", "and", "the"]
GOOD = RANDOM.integers(2, size=N)
TEXTS = [
    " ".join([*RANDOM.permutation(FILLERS)[:6], "lovely" if good else "(dull)", str(i)])
    for i, good in enumerate(GOOD)
]


@pytest.mark.spread(1)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_planted_words_are_found(make):
    table = make({"note": TEXTS, "size": RANDOM.normal(size=N)})
    model = KernelClassifier(trials=3).fit(table, np.array(["bad", "good"])[GOOD])
    found = text_pieces(model, table, "note")
    first = {p.towards: p.text for p in reversed(found.pieces)}
    assert first["good"] == "lovely"
    assert first["bad"] in ("dull", "(", ")")
    assert (found.column, found.noun, found.rows) == ("note", "words", N)
    assert found.sentences()[1].startswith("good: lovely")
    effects = [p.effect for p in found.pieces if p.towards == "good"]
    assert effects == sorted(effects, reverse=True)
    assert next(p.rows for p in found.pieces if p.text == "lovely") == GOOD.sum()


def test_a_clock_leaves_fewer_texts_and_words(monkeypatch):
    """Words of long texts took a third of the time of `mercer fit --time 10s`."""
    table = pd.DataFrame({"note": [f"{text} {text}" for text in TEXTS]})
    model = KernelClassifier(trials=1).fit(table, GOOD)
    read = []
    answers = why._answers
    monkeypatch.setattr(why, "_answers", lambda m, X: read.append(len(X)) or answers(m, X))
    whole = text_pieces(model, table, "note")
    assert (whole.rows, read) == (N, [N, read[1]])
    read.clear()
    text_pieces(model, table, "note", clock=Clock(0.0))
    first, without = read  # no text is read a second time as it is
    assert first == why.FIRST
    assert without <= 10 * why.EACH


def test_numbers_grow_or_fall_and_arrays_do():
    table = np.array(TEXTS, dtype=object)[:, None]
    model = KernelRegressor(trials=2).fit(table, 5.0 * GOOD)
    found = text_pieces(model, table, 0)
    assert {p.towards for p in found.pieces} <= {"more", "less"}
    assert next(p for p in found.pieces if p.towards == "more").text == "lovely"


def test_texts_without_words_have_runs_of_letters():
    rows = ["".join(RANDOM.choice(list("ACGT"), 40)) for _ in range(N)]
    rows = [r[:10] + "TATAAT" * g + r[10:] for r, g in zip(rows, GOOD)]
    table = pd.DataFrame({"dna": rows})
    model = KernelClassifier(trials=2).fit(table, GOOD)
    found = text_pieces(model, table, "dna")
    assert found.noun == "runs of 4 letters"
    assert any(p.text in "TATAAT" for p in found.pieces if p.towards == "1")


def test_nothing_is_said_of_texts_that_have_nothing_in_common():
    table = pd.DataFrame({"note": [chr(200 + i) * 25 for i in range(N)], "x": GOOD})
    model = KernelClassifier(trials=1).fit(table, GOOD)
    assert text_pieces(model, table, "note") is None
