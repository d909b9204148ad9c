"""Columns of sequences and of vectors: what is one, how it is encoded, and what is refused."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from mercer.tables import TableEncoder, infer_columns, read_columns
from mercer.tables.column_kinds import are_sequences

RNG = np.random.default_rng(0)
V = RNG.normal(size=(40, 6)).round(3)
DNA = ["".join(RNG.choice(list("acgt"), 30)) for _ in range(40)]
PROTEINS = ["".join(RNG.choice(list("ACDEFGHIKLMNPQRSTVWY"), 40 + i)) for i in range(40)]


def kind_of(cells):
    (column,) = infer_columns(read_columns(pd.DataFrame({"it": cells})))
    return column


# --- vectors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"v": list(V)}),
        pd.DataFrame({"v": V.tolist()}),
        pl.DataFrame({"v": V.tolist()}),
        pl.DataFrame({"v": V}),  # arrays of fixed size
        pa.table({"v": V.tolist()}),
        pa.table({"v": pa.FixedSizeListArray.from_arrays(pa.array(V.ravel()), 6)}),
        pd.DataFrame({"v": [json.dumps(row) for row in V.tolist()]}),
        pd.DataFrame({"v": [f"[{' '.join(map(str, row))}]" for row in V.tolist()]}),
    ],
    ids=[
        "arrays",
        "lists",
        "polars lists",
        "polars arrays",
        "arrow",
        "fixed size",
        "json",
        "numpy",
    ],
)
def test_vectors_are_recognised_in_every_form(table):
    (column,) = infer_columns(read_columns(table))
    assert (column.kind, column.low, column.high) == ("vector", 6, 6)
    encoder = TableEncoder().fit(table)
    assert [f.kind for f in encoder.features_] == ["vectors", "directions"]
    centred, directions = encoder.transform(table).objects.values()
    assert_allclose(centred, V - V.mean(axis=0), atol=1e-6)
    assert_allclose(directions, V / np.linalg.norm(V, axis=1)[:, None], atol=1e-6)


def test_lists_of_different_whole_numbers_are_sets():
    sets = [RNG.permutation(30)[:4].tolist() for _ in range(40)]
    assert kind_of(sets).kind == "set"
    assert kind_of([[*row, row[0]] for row in sets]).kind == "vector"  # a number twice
    assert kind_of([[*row, 0.5] for row in sets]).kind == "vector"
    assert kind_of([row[: 2 + i % 3] for i, row in enumerate(sets)]).kind == "set"
    assert kind_of([["a", "b"]] * 20 + [["a", "c"]] * 20).kind == "set"


def test_vectors_far_from_zero_keep_their_differences():
    far = V + 1e6
    encoder = TableEncoder().fit(pd.DataFrame({"v": list(far)}))
    centred, _ = encoder.transform(pd.DataFrame({"v": list(far)})).objects.values()
    assert_allclose(centred, V - V.mean(axis=0), atol=1e-5)


def test_a_row_is_encoded_alone_as_among_others():
    encoder = TableEncoder().fit(pd.DataFrame({"v": list(V), "s": DNA}))
    together = encoder.transform(pd.DataFrame({"v": list(V), "s": DNA}))
    alone = encoder.transform(pd.DataFrame({"v": [V[3]], "s": [DNA[3]]}))
    for j, samples in together.objects.items():
        if isinstance(samples, np.ndarray):
            assert_allclose(alone.objects[j][0], samples[3], rtol=1e-6)
        else:
            assert alone.objects[j].texts() == samples[[3]].texts()


def test_a_missing_vector_is_zeros_and_one_of_another_length_is_refused():
    encoder = TableEncoder().fit(pd.DataFrame({"v": list(V)}))
    gap = encoder.transform(pd.DataFrame({"v": [None, V[1]]})).objects
    assert_allclose(gap[0][0], -V.mean(axis=0), atol=1e-6)
    assert_allclose(gap[1][0], 0)
    for wrong in (V[0][:3], "no vector", [["a"] * 6], [np.nan] * 6):
        with pytest.raises(ValueError, match=r"'v': row 1 holds .*vector of 6 numbers"):
            encoder.transform(pd.DataFrame({"v": [V[0], wrong]}))


def test_a_wrong_kind_is_refused():
    columns = read_columns(pd.DataFrame({"v": [[1.5, 2], [3, 4, 5]], "s": ["a", "b"]}))
    with pytest.raises(ValueError, match="vectors have from 2 to 3 numbers"):
        infer_columns(columns, {"v": "vector"})
    with pytest.raises(ValueError, match=r"s='vector', but the column holds 'a'"):
        infer_columns(columns, {"s": "vector"})


# --- sequences ------------------------------------------------------------------------------------


def test_sequences_are_recognised():
    dna, proteins = kind_of(DNA), kind_of(PROTEINS)
    assert (dna.kind, dna.low, dna.high) == ("sequence", 30, 30)
    assert (proteins.kind, proteins.low, proteins.high) == ("sequence", 40, 79)
    assert "4 are different" in dna.reason
    assert kind_of([text.upper() for text in DNA]).kind == "sequence"


@pytest.mark.parametrize(
    "texts",
    [
        [f"{a} {b}" for a, b in zip(DNA, DNA[::-1])],  # blanks
        [a[:15] + b[:15].lower() for a, b in zip(PROTEINS, PROTEINS[::-1])],  # both cases
        [f"{RNG.integers(1e9):09d}{RNG.integers(1e9):09d}x" for _ in range(40)],  # digits
        [f"ID-{i:05d}" for i in range(40)],
        ["Anna", "Otto", "Ida", "Max"] * 10,
        [chr(0x4E00 + i) * 3 + chr(0x4F00 + i) for i in range(40)],
    ],
    ids=["blanks", "cases", "digits", "identifiers", "names", "many symbols"],
)
def test_others_are_not(texts):
    assert not are_sequences(Counter(texts))
    assert kind_of(texts).kind != "sequence"


@pytest.mark.parametrize("masked", [str.lower, lambda text: text.lower().replace("a", "n")])
def test_nucleotides_have_no_case(masked):
    texts = [text[:20].upper() + masked(text[20:]) for text in DNA]
    column = kind_of(texts)
    assert (column.kind, column.order) == ("sequence", "upper")
    encoded = (
        TableEncoder().fit(pd.DataFrame({"dna": texts})).transform(pd.DataFrame({"dna": texts}))
    )
    symbols = {c for samples in encoded.objects.values() for c in samples.alphabet}
    assert {chr(c) if isinstance(c, int) else c for c in symbols} <= {*"ACGTN"}


def test_few_sequences_that_return_are_categories():
    assert kind_of([DNA[i % 5] for i in range(40)]).kind == "category"


def test_sequences_of_one_length_are_read_by_their_places_too():
    encoder = TableEncoder().fit(pd.DataFrame({"dna": DNA, "protein": PROTEINS}))
    views = [(f.label, f.kind) for f in encoder.features_]
    assert views == [
        ("dna", "sequences"), ("dna: places", "places"), ("dna: strands", "strands"),
        ("protein", "sequences"),
    ]  # fmt: skip


def test_what_is_no_nucleotide_in_new_rows_may_be_any():
    encoder = TableEncoder().fit(pd.DataFrame({"dna": [text[:20] for text in DNA] + DNA}))
    new = encoder.transform(pd.DataFrame({"dna": [DNA[0] + "jé" + DNA[1]]}))
    for samples in new.objects.values():
        codes = samples.values.tolist()
        assert "".join(samples.alphabet[c] for c in codes) == f"{DNA[0]}nn{DNA[1]}"


def test_a_new_sequence_of_another_length_is_cut_or_filled():
    encoder = TableEncoder().fit(pd.DataFrame({"dna": DNA}))
    new = encoder.transform(pd.DataFrame({"dna": [DNA[0] + "acgt", DNA[1][:10], None]}))
    for samples in new.objects.values():
        symbols = [[samples.alphabet[ord(code)] for code in codes] for codes in samples.texts()]
        assert [*map("".join, symbols)] == [DNA[0], DNA[1][:10] + "-" * 20, "-" * 30]
