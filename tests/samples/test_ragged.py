"""Strings and sets as encoded samples."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from mercer.samples import as_samples

TEXTS = ["GATTACA", "", "CAT\0é\ud800", "😀a"]


def back(X):
    """The strings that were encoded."""
    return [[X.alphabet[c] for c in X.values[s:e]] for s, e in zip(X.starts[:-1], X.starts[1:])]


@pytest.mark.parametrize(
    "X",
    [TEXTS, [s.encode("utf-8", "surrogatepass") for s in TEXTS], [[1, "a"], [], [(2, 3), 1]]],
    ids=["text", "bytes", "tokens"],
)
def test_strings_come_back_from_their_codes(X):
    S = as_samples(X, "strings")
    assert back(S) == [list(x) for x in X]
    assert S.shape == (len(X),)
    assert S.lengths.tolist() == [len(x) for x in X]


@pytest.mark.parametrize("rows", [slice(1, 3), slice(None, None, -1), [2, 0, 2], [], slice(3, 1)])
def test_rows_of_strings_and_sets(rows):
    S, A = as_samples(TEXTS, "strings"), as_samples([set("ab"), set(), set("c"), set("ac")], "sets")
    wanted = np.arange(4)[rows]
    assert back(S[rows]) == [back(S)[i] for i in wanted]
    assert (A[rows].indicators().toarray() == A.indicators().toarray()[wanted]).all()


def test_every_kind_of_column_is_read():
    columns = [
        ("x", "yz"), np.array(["x", "yz"]), np.array([["x"], ["yz"]], object),
        pd.Series(["x", "yz"]), pd.DataFrame({"s": ["x", "yz"]}), pl.Series(["x", "yz"]),
        pl.DataFrame({"s": ["x", "yz"]}), pa.chunked_array([["x"], ["yz"]]), pa.array(["x", "yz"]),
    ]  # fmt: skip
    for column in columns:
        assert back(as_samples(column, "strings")) == [["x"], ["y", "z"]]


@given(st.lists(st.text(max_size=5), min_size=1), st.lists(st.text(max_size=5), min_size=1))
def test_new_strings_continue_the_codes(old, new):
    X = as_samples(old, "strings")
    Z = as_samples(new, "strings", like=X)
    assert Z.alphabet[: len(X.alphabet)] == X.alphabet
    assert back(Z) == [list(s) for s in new]


def test_an_alphabet_beyond_a_byte_and_beyond_the_surrogates():
    X = ["".join(map(chr, range(0x4E00, 0x4E00 + 300)))]
    S = as_samples(X, "strings")
    assert S.values.dtype == np.int32
    assert back(S) == [list(X[0])]
    assert as_samples(TEXTS, "strings").values.dtype == np.uint8
    many = as_samples([list(range(60_000))], "strings").texts()[0]
    assert len(set(many)) == 60_000


@given(st.lists(st.lists(st.integers(2, 9) | st.text(max_size=1)), min_size=1))
def test_sets_come_back_from_their_codes(lists):
    A = as_samples(lists, "sets")
    found = [[A.universe[c] for c in A.values[s:e]] for s, e in zip(A.starts[:-1], A.starts[1:])]
    assert [set(items) for items in found] == [set(items) for items in lists]
    assert all((np.diff(A[i : i + 1].values) > 0).all() for i in range(len(lists)))


def test_lists_of_marks_are_sets_beside_training_sets_of_items():
    """Three 0s and 1s are a row of a matrix, unless the sets they are compared with are lists."""
    train = as_samples([[0, 0, 0], [5]], "sets")
    assert train.universe == [0, 5]
    alone = as_samples([[0, 0, 0]], "sets", like=train)
    assert alone.values.tolist() == [0]
    rows = as_samples([[1, 0, 1]], "sets")
    assert as_samples([[1, 0, 1]], "sets", like=rows).values.tolist() == [0, 2]


def test_a_matrix_of_indicators_is_sets():
    M = np.array([[0, 1, 1], [0, 0, 0]])
    for X in (M, M.astype(bool), sp.csr_matrix(M), sp.csc_array(M.astype(float))):
        A = as_samples(X, "sets")
        assert (A.indicators().toarray() == M).all()
        with pytest.raises(ValueError, match=r"2 columns, but .* 3 items"):
            as_samples(M[:, :2], "sets", like=A)


def test_new_items_are_no_training_items():
    A = as_samples([{"tea"}, {"milk"}], "sets")
    B = as_samples([{"tea", "rum"}], "sets", like=A)
    assert B.indicators(A.known).toarray().tolist() == [[0, 1]]
    assert B.universe == ["milk", "tea", "rum"]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("abc", "a single string.*list"),
        (["a", None], r"X\[1\] is missing \(None\)"),
        (["a", float("nan")], r"X\[1\] is missing \(nan\)"),
        (pd.Series(["a", pd.NA]), r"X\[1\] is missing"),
        (["a", b"b"], r"mixes str and bytes \(X\[1\]\)"),
        (["a", ["b"]], r"mixes str and sequences of tokens"),
        ([{"a"}], "a set, but .* kernel on sets"),
        ([1, 2], r"X\[0\] is 1, but"),
        ({"a": 1}, "is a dict"),
        ([[["a"]]], r"X\[0\] holds tokens that cannot be hashed"),
        (np.ones((3, 2)), "3 rows of 2 numbers"),
        (None, "X is None"),
    ],
)
def test_what_is_no_string(X, message):
    with pytest.raises(TypeError, match=message):
        as_samples(X, "strings")


@pytest.mark.parametrize("kind", ["strings", "sets"])
def test_no_samples(kind):
    with pytest.raises(ValueError, match="X is empty"):
        as_samples([], kind)
    with pytest.raises(ValueError, match="give one column"):
        as_samples(pd.DataFrame({"a": ["x"], "b": ["y"]}), kind)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ({"a"}, "a single set.*list"),
        (["a b"], r"X\[0\] is a str.*separator"),
        ([{"a"}, None], r"X\[1\] is missing.*empty set"),
        ([{"a": 1}], "a dict"),
        ([[["a"]]], r"X\[0\] holds items that cannot be hashed"),
        ([1], r"X\[0\] is 1, but"),
    ],
)
def test_what_is_no_set(X, message):
    with pytest.raises(TypeError, match=message):
        as_samples(X, "sets")


def test_a_matrix_that_is_no_indicator():
    with pytest.raises(ValueError, match=r"X holds 2, but .* 0 or 1"):
        as_samples(np.eye(2) * 2, "sets")
