"""What all kinds of encoded samples have in common: length, shape, precision, rows by number."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from mercer.kernels import RBF, Match, Precomputed, TableKernel
from mercer.samples import Categories, EncodedColumns, Objects, as_samples, describe

FRAME = pd.DataFrame({"a": [1.0, 2.0, 4.0, 8.0], "b": list("xyxz"), "c": list("uvvu")})
PARTS = [(RBF(1.0), ["a"]), (Match(), ["b", "c"])]
ENCODED = {
    "vectors": as_samples(FRAME[["a"]]),
    "categories": as_samples(FRAME[["b", "c"]], "categories"),
    "strings": as_samples(["ab", "", "b", "aab"], "strings"),
    "sets": as_samples([{1, 2}, set(), {2}, {3}], "sets"),
    "objects": as_samples([("a", 1), (), ("b",), ("c", 2)], "objects"),
    "precomputed": as_samples(np.eye(4), "precomputed"),
    "table": TableKernel(PARTS).encode(FRAME),
}
each = pytest.mark.parametrize("X", ENCODED.values(), ids=ENCODED)


@each
def test_length_and_precision(X):
    assert X.shape[0] == len(X) == 4
    assert isinstance(X.dtype, np.dtype)
    assert X.dtype == np.float64
    for rows, n in ((slice(1, 3), 2), ([3], 1), (np.array([True, False, True, True]), 3)):
        assert X[rows].shape[0] == n
        assert X[rows].shape[1:] == X.shape[1:]
        assert X[rows].dtype == X.dtype


@pytest.mark.parametrize("kind", ["categories", "strings", "sets", "objects"])
def test_another_precision_is_that_of_all_their_rows(kind):
    X = ENCODED[kind].astype(np.float32)
    assert X.dtype == X[1:].dtype == X[[0, 2]].dtype == np.float32
    assert ENCODED[kind].dtype == np.float64


def test_a_table_has_as_many_rows_as_each_of_its_parts_and_the_widest_precision():
    X = ENCODED["table"]
    assert X.shape == (4, 2)
    kernel = TableKernel([(RBF(1.0), ["a"])])
    assert kernel.encode(FRAME).shape == (4, 1)
    narrow = kernel.encode(FRAME[["a"]].astype(np.float32))
    assert narrow.dtype == np.float32
    assert repr(X).startswith("Table(4 rows, parts ")


def test_columns_side_by_side_keep_codes_levels_and_what_training_knew():
    one, two = (as_samples(FRAME[[name]], "categories") for name in "bc")
    new = as_samples(pd.DataFrame({"b": ["new", "x"]}), "categories", like=one)
    assert new.known == [3]
    assert new.levels == [["x", "y", "z", "new"]]
    both = Categories.side_by_side([one.astype(np.float32), two.astype(np.float32)])
    assert_array_equal(both.codes, ENCODED["categories"].codes)
    assert both.levels == ENCODED["categories"].levels
    assert both.known == [3, 2]
    assert both.dtype == np.float32
    assert Categories.side_by_side([one.astype(np.float32), two]).dtype == np.float64


def test_encoded_columns_are_selected_as_numbers_objects_or_categories():
    numbers = np.arange(12.0).reshape(4, 3)
    words, codes = ENCODED["strings"], as_samples(FRAME[["b"]], "categories")
    M = EncodedColumns(numbers, {1: words, 2: codes})
    assert M.shape == (4, 3)
    assert M.select([1]) is words
    assert_array_equal(M.select([0]), numbers[:, [0]])
    assert M.select([2]) is codes
    assert M.select([2, 2]).shape == (4, 2)
    assert M[[0, 3]].select([1]).shape == (2,)
    assert_array_equal(M[1:].numbers, numbers[1:])
    assert TableKernel([(RBF(1.0), [0])]).encode(M).shape == (4, 1)


def test_new_samples_must_have_the_shape_of_the_training_samples():
    with pytest.raises(ValueError, match=r"X has 1 columns, but .* compared with have 2"):
        as_samples(FRAME[["b"]], "categories", like=ENCODED["categories"])
    with pytest.raises(ValueError, match=r"shape \(2, 3\), but it must be \(m, 4\)"):
        as_samples(np.ones((2, 3)), "precomputed", like=ENCODED["precomputed"])
    assert as_samples(np.ones((2, 4)), "precomputed", like=ENCODED["precomputed"]).shape[0] == 2
    with pytest.raises(ValueError, match=r"shape \(2, 3\); .* must be square"):
        as_samples(np.ones((2, 3)), "precomputed")


@pytest.mark.parametrize(
    ("given", "vectors"),
    [
        ([[1, 2], [3, 4]], True),
        ([[1], [3]], True),
        ([[1, 2], [3]], False),
        ([[1, "a"], [3, 4]], False),
        (["ab", "cd"], False),
    ],
)
def test_lists_of_equally_many_numbers_are_vectors_for_any_object(given, vectors):
    X = as_samples(given, "objects")
    assert isinstance(X, Objects) != vectors


def test_encoded_precomputed_samples_are_not_encoded_again():
    with pytest.raises(TypeError, match="encoded as strings, but this kernel compares sets"):
        as_samples(ENCODED["strings"], "sets")
    assert Precomputed().encode(ENCODED["precomputed"]) is ENCODED["precomputed"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("a", "a single string"), (b"a", "a single bytes object"), ({"a": 1}, "a dict"),
        ({1}, "a single set"), (None, "None"), ([b"a"], "1 bytes object"),
        ([{1}, {2}], "2 sets"), (FRAME, "a data frame of 4 rows and 3 columns"),
        (np.ones((2, 3)), "2 rows of 3 numbers"), (np.ones(3), "an ndarray of shape (3,)"),
        (3.5, "a float"),
    ],
)  # fmt: skip
def test_raw_data_in_words(given, words):
    assert describe(given) == words
