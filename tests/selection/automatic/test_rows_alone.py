"""A row of a new table is read by what was learnt from the training table, and nothing else.

So it is encoded, and answered, alone as within any table: other rows of a new table bring no
medians, ranks, scales, levels or symbols. This holds for every kind of column.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import KernelClassifier, KernelRegressor
from mercer.tables.column_rules import infer_columns
from mercer.tables.encoding import TableEncoder
from mercer.tables.values import read_columns

RNG = np.random.default_rng(0)
WORDS = np.array(["tea", "milk", "rum", "gin", "ale"])


def table(n, rng, shift=0):
    """A column of each kind, some with gaps; ``shift`` moves all that can be moved."""
    words = np.array([f"{word}{'s' * shift}" for word in WORDS])
    return pd.DataFrame(
        {
            "number": rng.normal(100 * shift, 1 + shift, size=n),
            "with gaps": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.normal(shift, size=n)),
            "whole": rng.integers(0, 5, size=n) + shift,
            "category": np.array([*words[:3], None], dtype=object)[rng.integers(4, size=n)],
            "many levels": [f"level {i}" for i in rng.integers(30, size=n) + 7 * shift],
            "date": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(1000, size=n) + 500 * shift, "D"),
            "text": [" ".join(rng.choice(words, 5)) for _ in range(n)],
            "single words": ["".join(rng.choice(list("abcdef"), 9 + shift)) for _ in range(n)],
            "set": [set(rng.choice(words, 2)) for _ in range(n)],
        }
    )


TRAINING, KINDS = table(80, RNG), {"text": "text", "single words": "text", "set": "set"}
SOME, OTHERS = table(6, RNG), table(50, RNG, shift=2)
TOGETHER = pd.concat([OTHERS, SOME], ignore_index=True)
COLUMNS = infer_columns(read_columns(TRAINING), KINDS, None)
ENCODER = TableEncoder(COLUMNS).fit(TRAINING)


def test_all_kinds_of_columns_are_here():
    assert {c.kind for c in COLUMNS} == {"number", "category", "date", "text", "set"}
    assert {f.kind for f in ENCODER.features_} == {
        "rank", "scaled", "normal", "level", "code", "characters", "words", "items",
    }  # fmt: skip


@pytest.mark.parametrize("row", range(6))
def test_a_row_is_encoded_alone_as_within_a_table(row):
    alone = ENCODER.transform(SOME.iloc[[row]])
    among = ENCODER.transform(TOGETHER)[[len(OTHERS) + row]]
    assert_array_equal(alone.numbers, among.numbers)
    assert alone.objects.keys() == among.objects.keys()
    for j, feature in enumerate(ENCODER.features_):
        one, two = alone.select([j]), among.select([j])
        if feature.kind in ("characters", "words"):
            assert symbols(one, one.alphabet) == symbols(two, two.alphabet)
        elif feature.kind == "items":
            assert set(symbols(one, one.universe)) == set(symbols(two, two.universe))
        elif feature.kind == "code":
            assert_array_equal(one.codes, two.codes)
            assert one.levels == two.levels


def symbols(samples, names):
    """What is in the one row; what training did not have may be numbered otherwise."""
    return [names[code] for code in samples.values]


def test_training_rows_keep_their_encoding_whoever_comes_with_them():
    M = ENCODER.transform(TRAINING)
    among = ENCODER.transform(pd.concat([OTHERS, TRAINING]))[len(OTHERS) :]
    assert_array_equal(among.numbers, M.numbers)


@pytest.mark.parametrize("family", ["interactions", "gaussian", "objects"])
@pytest.mark.parametrize("fit", [KernelClassifier, KernelRegressor])
def test_a_row_is_answered_alone_as_within_a_table(fit, family):
    y = TRAINING["text"].str.count("tea") + TRAINING["number"] + TRAINING["set"].map(len)
    y = np.where(y > 3, "high", "low") if fit is KernelClassifier else y
    reading = "characters and words" if family == "objects" else ""
    schedule = [
        {"family": family, "scale": 1.0, "learn": False, "text": reading, "rows": 80, "rank": 40,
         "steps": []},
    ]  # fmt: skip
    model = fit(kind=KINDS, replay=schedule).fit(TRAINING, y)
    answer = model.predict_proba if fit is KernelClassifier else model.predict
    alone = np.concatenate([answer(SOME.iloc[[row]]) for row in range(6)])
    assert_allclose(alone, answer(TOGETHER)[len(OTHERS) :], rtol=1e-6, atol=1e-6)
    assert np.ptp(alone, axis=0).max() > 1e-3
