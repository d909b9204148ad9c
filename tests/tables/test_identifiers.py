"""Identifiers whose characters tell of the target become texts; others stay identifiers."""

import numpy as np
import pandas as pd
import pytest

from mercer.tables import (
    infer_columns,
    read_columns,
    spare_telling_texts,
    spare_worded_texts,
)
from mercer.tables.identifiers import tell

RNG = np.random.default_rng(0)
N = 120
SYLLABLES = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
STEMS = ["".join(RNG.choice(SYLLABLES, 3)) for _ in range(N)]
CODES = np.arange(N) % 2
NAMES = [f"{stem}{'ova' if code else 'sen'}{i}" for i, (stem, code) in enumerate(zip(STEMS, CODES))]
Y = CODES[:, None] * 2.0 - 1


def judged(cells, targets=Y, **given):
    values = read_columns(pd.DataFrame({"it": cells, "x": np.arange(len(cells)) % 7}))
    columns = infer_columns(values, **given)
    return columns[0], spare_telling_texts(columns, values, targets)[0]


def test_names_that_tell_are_texts():
    before, after = judged(NAMES)
    assert (before.kind, after.kind) == ("identifier", "text")
    assert "their characters tell of the target" in after.reason
    assert (after.low, after.high) == (min(map(len, NAMES)), max(map(len, NAMES)))


def test_names_that_do_not_tell_stay_identifiers():
    _, after = judged(NAMES, RNG.permutation(Y))
    assert after.kind == "identifier"
    assert "say nothing about the target" in after.reason


def test_a_counter_of_sorted_rows_stays_an_identifier():
    drifting = np.sort(RNG.normal(size=(N, 1)), axis=0)
    counters = [f"ID{i:05d}" for i in range(N)]
    assert tell(counters, drifting)  # by its characters alone it would be a text
    assert judged(counters, drifting)[1].kind == "identifier"


def test_what_the_user_has_said_stays():
    before, after = judged(NAMES, kind={"it": "identifier"})
    assert after == before


def test_numbers_and_missing_cells():
    cells = [None if i % 10 == 0 else name for i, name in enumerate(NAMES)]
    assert judged(cells)[1].kind == "text"
    numbers, same = judged(np.arange(N) * 2.0 + 1)
    assert numbers == same


def test_places_of_codes_of_one_length_tell():
    codes = np.array([list("".join(RNG.choice(list("ABCDEFGH1234"), 8))) for _ in range(N)])
    y = np.isin(codes[:, 4], list("ABCD12"))[:, None].astype(float)
    texts = ["".join(row) for row in codes]
    assert tell(texts, y)
    assert not tell(texts, RNG.permutation(y))


def test_few_rows_and_constant_targets_tell_nothing():
    assert not tell(["a", "b"], np.array([[0.0], [1.0]]))
    assert not tell(NAMES, np.ones((N, 1)))


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (STEMS, "text"),
        ([f"{stem.title()} of {stem}" for stem in STEMS], "text"),
        ([f"{stem}{i}" for i, stem in enumerate(STEMS)], "identifier"),
        (np.arange(N), "identifier"),
    ],
)
def test_without_a_target_words_are_texts_and_codes_are_not(cells, kind):
    values = read_columns(pd.DataFrame({"it": cells, "x": np.arange(N) % 7}))
    before = infer_columns(values)
    assert before[0].kind == "identifier"
    after = spare_worded_texts(before, values)
    assert after[0].kind == kind
    assert after[1] is before[1]


def test_words_that_a_user_calls_an_identifier_stay_one():
    values = read_columns(pd.DataFrame({"it": STEMS}))
    columns = infer_columns(values, kind={"it": "identifier"})
    assert spare_worded_texts(columns, values) == columns
