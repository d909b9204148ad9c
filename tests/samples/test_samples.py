"""Raw data of every shape and origin become encoded samples, or a message that helps."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import example, given, strategies as st
from numpy.testing import assert_array_equal

from lanes import examples
from mercer import KernelRidge
from mercer.kernels import RBF, Linear, Match, TableKernel
from mercer.samples import (
    Categories,
    as_samples,
    column_names,
    describe,
    number_columns,
    select_columns,
)

FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4, 5, 6]})
FRAMES = {
    "pandas": FRAME,
    "nullable": FRAME.convert_dtypes(),
    "polars": pl.from_pandas(FRAME),
    "arrow": pa.Table.from_pandas(FRAME),
}
MIXED = pd.DataFrame({"n": [1.5, 2.5, 0.5], "c": ["x", None, "x"], "flag": [True, False, True]})
MIXED_FRAMES = {
    "pandas": MIXED,
    "categorical": MIXED.astype({"c": "category"}),
    "nullable": MIXED.convert_dtypes(),
    "polars": pl.from_pandas(MIXED),
    "polars categorical": pl.from_pandas(MIXED).with_columns(pl.col("c").cast(pl.Categorical)),
    "arrow": pa.Table.from_pandas(MIXED),
}


# --- vectors ----------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_frames_of_numbers_are_vectors(frame):
    X = as_samples(frame)
    assert_array_equal(X, FRAME.to_numpy(float))
    assert X.flags.c_contiguous
    assert X.dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept(dtype):
    assert as_samples(np.ones((2, 2), dtype)).dtype == dtype
    assert as_samples(sp.csr_array(np.ones((2, 2), dtype))).dtype == dtype


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float16, bool])
def test_other_numbers_become_float64(dtype):
    assert as_samples(np.ones((2, 2), dtype)).dtype == np.float64


def test_fortran_and_read_only_arrays():
    X = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    X.flags.writeable = False
    encoded = as_samples(X)
    assert encoded.flags.c_contiguous
    assert_array_equal(encoded, X)


@pytest.mark.parametrize("form", ["csr_matrix", "csc_array", "coo_array", "lil_matrix"])
def test_sparse_rows_become_csr_arrays(form):
    dense = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]])
    X = as_samples(getattr(sp, form)(dense))
    assert isinstance(X, sp.csr_array)
    assert_array_equal(X[1:].toarray(), dense[1:])


def test_sparse_duplicates_are_summed():
    X = sp.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 2))
    assert as_samples(X).nnz == 1


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, np.nan]], "NaN"),
        ([[1.0, np.inf]], "infinity"),
        (np.ones((0, 2)), "0 sample"),
        (np.ones(3), "single column"),
        (np.ones((2, 0, 2)), "dim 3"),
    ],
)
def test_what_is_no_matrix_of_finite_numbers(X, message):
    with pytest.raises(ValueError, match=message):
        as_samples(X)


@pytest.mark.parametrize("X", ["abc", b"abc", {"a": 1}, {1, 2}])
def test_a_single_object_is_refused(X):
    with pytest.raises(TypeError, match=f"X is {describe(X)}; RBF compares vectors"):
        RBF()(X)


def test_strings_are_named_and_so_is_what_compares_them():
    texts = [f"text {i}" for i in range(120)]
    with pytest.raises(TypeError, match="X is 120 strings, but RBF compares vectors") as error:
        KernelRidge(kernel="rbf").fit(texts, np.arange(120.0))
    message = str(error.value)
    assert "Give a kernel on strings, such as kernel=Spectrum(3)" in message
    for X in (np.array(texts), pd.Series(texts), np.array(texts, dtype=object)):
        with pytest.raises(TypeError, match="X is 120 strings"):
            KernelRidge(kernel="rbf").fit(X, np.arange(120.0))


def test_sets_are_named_too():
    with pytest.raises(TypeError, match=r"X is 2 sets, but Linear compares vectors.*0/1 matrix"):
        Linear()([{1}, {2, 3}])


@pytest.mark.parametrize(
    "X", [[[1.0, "red"]], np.array([[1.0, "red"]], dtype=object), np.array([["1", "red"]])]
)
def test_text_among_numbers(X):
    with pytest.raises(TypeError, match=r"X holds the text 'red'.*Match\(\).*TableKernel\(\)"):
        RBF()(X)


@pytest.mark.parametrize("frame", MIXED_FRAMES.values(), ids=MIXED_FRAMES)
def test_columns_that_are_not_numbers_are_named(frame):
    with pytest.raises(TypeError, match=r"not numbers: \['c'\].*TableKernel"):
        RBF()(frame)


def test_other_columns_than_in_training():
    X = as_samples(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"X has 2 columns, but .* have 3"):
        as_samples(np.ones((2, 2)), like=X)


# --- categories -------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", MIXED_FRAMES.values(), ids=MIXED_FRAMES)
def test_categories_of_any_frame(frame):
    X = as_samples(select_columns(frame, ["c", "flag"]), "categories")
    assert_array_equal(X.codes[:, 0], [0, 1, 0])
    assert X.levels[0] == ["x", None]
    assert_array_equal(X.codes[:, 1], [1, 0, 1])


def test_missing_equals_missing_and_nothing_else():
    X = np.array([["a"], [None], [np.nan], [pd.NA], [pd.NaT]], dtype=object)
    assert_array_equal(Match()(X)[1], [0, 1, 1, 1, 1])


def test_unseen_categories_equal_themselves_alone():
    X = as_samples([["a"], ["b"]], "categories")
    Z = as_samples([["c"], ["a"], ["d"], ["c"]], "categories", like=X)
    assert_array_equal(Match().block(Z, X), [[0, 0], [1, 0], [0, 0], [0, 0]])
    assert_array_equal(Match().block(Z, Z)[0], [1, 0, 0, 1])
    # explicit features know the levels of the training sample alone
    features = Match().features
    assert_array_equal(features(Z) @ features(X).T, Match().block(Z, X))


def test_values_of_several_types_in_one_column():
    X = as_samples(np.array([[1], ["1"], [2.5], [1]], dtype=object), "categories")
    codes = X.codes.ravel()
    assert codes[0] == codes[3]
    assert len(set(codes.tolist())) == 3


@given(st.lists(st.one_of(st.none(), st.text(max_size=3), st.integers(-3, 3)), min_size=1))
@example(["", "\0", 0])
@examples(60)
def test_codes_are_equal_exactly_where_values_are(values):
    X = as_samples([[v] for v in values], "categories")
    assert [X.levels[0][code] for code in X.codes[:, 0]] == values
    again = as_samples([[v] for v in reversed(values)], "categories", like=X)
    assert_array_equal(again.codes[::-1], X.codes)


def test_slices_keep_the_levels():
    X = as_samples([["a"], ["b"], ["c"]], "categories")
    for rows in (slice(1, 3), np.array([1, 2])):
        part = X[rows]
        assert isinstance(part, Categories)
        assert part.shape == (2, 1)
        assert part.levels == X.levels
        assert part.known == X.known


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (sp.csr_array(np.ones((2, 2))), TypeError, r"sparse matrix.*X\.toarray\(\)"),
        (np.ones((0, 2), object), ValueError, "no rows"),
        (np.ones((2, 2, 2), object), ValueError, "3 dimensions"),
    ],
)
def test_what_is_no_table_of_categories(X, error, message):
    with pytest.raises(error, match=message):
        Match()(X)


def test_kinds_are_not_mixed_up():
    X = as_samples([["a"]], "categories")
    with pytest.raises(TypeError, match="X is encoded as categories, but RBF compares vectors"):
        RBF()(X)


# --- tables -----------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", MIXED_FRAMES.values(), ids=MIXED_FRAMES)
def test_tables_of_any_frame_give_the_same_kernel(frame):
    kernel = TableKernel([(RBF(), ["n"]), (Match(), ["c", "flag"])])
    K = kernel(frame)
    np.testing.assert_allclose(K, kernel(MIXED), rtol=1e-12)
    assert column_names(frame) == ["n", "c", "flag"]


@pytest.mark.parametrize("frame", MIXED_FRAMES.values(), ids=MIXED_FRAMES)
def test_parts_are_inferred(frame):
    assert number_columns(frame) == (["n"], ["c", "flag"])
    kernel = TableKernel()
    X = kernel.encode(frame)
    bound = kernel.bind(X)
    K = bound.block(X, X)
    expected = RBF("scale").on("n") * Match().on("c", "flag")
    E = expected.encode(MIXED)
    np.testing.assert_allclose(K, expected.bind(E).block(E, E), rtol=1e-12)


def test_arrays_are_tables_by_column_number():
    X = np.array([[1.0, "x"], [2.0, "y"]], dtype=object)
    assert number_columns(X) == ([0], [1])
    K = TableKernel([(RBF(), [0]), (Match(), [1])], "sum")(X)
    np.testing.assert_allclose(K, [[2, np.exp(-1)], [np.exp(-1), 2]])


def test_lists_of_rows_are_tables():
    T = TableKernel().encode([[1.0, "a"], [2.0, "b"]])
    assert [encoding for encoding, _ in T.groups] == [("vectors",), ("categories",)]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("abc", "X is a single string, but TableKernel reads columns of a table. Give a data"),
        (["a", "b"], "X is 2 strings, but TableKernel"),
        (pd.Series(["a", "b"]), "X is 2 strings, but"),
        ({"a": [1]}, r"X is a dict.*give pandas.DataFrame\(X\)"),
        (sp.csr_array(np.ones((2, 2))), r"X is 2 rows of 2 numbers.*dense"),
        (np.ones(3), r"X is an ndarray of shape \(3,\)"),
    ],
)
def test_what_is_no_table(X, message):
    for kernel in (TableKernel(), TableKernel([(RBF(), [0])])):
        with pytest.raises(TypeError, match=message):
            kernel.encode(X)


def test_a_missing_number_names_its_column():
    frame = pd.DataFrame({"age": [1.0, np.nan, np.nan], "pay": [1.0, 2.0, 3.0], "c": list("xyz")})
    for X in (frame, pl.from_pandas(frame, nan_to_null=True), pa.Table.from_pandas(frame)):
        with pytest.raises(ValueError, match=r"missing values.*'age' \(2 rows\)\. TableKernel"):
            TableKernel([(RBF(), ["age", "pay"]), (Match(), ["c"])])(X)


def test_a_missing_column_is_named():
    with pytest.raises(ValueError, match=r"X lacks the column \['z'\] that On reads"):
        RBF().on("z")(MIXED)


def test_columns_in_another_order_are_read_by_name():
    kernel = TableKernel()
    X = kernel.encode(MIXED)
    bound = kernel.bind(X)
    Z = bound.encode(MIXED[["flag", "c", "n"]], like=X)
    np.testing.assert_allclose(bound.block(Z, X), bound.block(X, X))


def test_a_column_of_text_where_numbers_were_read():
    with pytest.raises(TypeError, match=r"not numbers: \['c'\]"):
        RBF().on("n", "c")(MIXED)


def test_float32_columns_make_a_float32_kernel():
    frame = pd.DataFrame({"n": np.array([1, 2], np.float32), "c": ["x", "y"]})
    K = TableKernel([(RBF(), ["n"]), (Match(), ["c"])], "interactions")(frame)
    assert K.dtype == np.float32


def test_descriptions():
    assert describe(MIXED) == "a data frame of 3 rows and 3 columns"
    assert describe(["a"]) == "1 string"
    assert describe([{1}, {2}]) == "2 sets"
    assert describe(None) == "None"
    assert describe(np.ones(3)) == "an ndarray of shape (3,)"


def test_rows_of_a_matrix_keep_their_own_columns():
    from mercer.samples import MatrixRows

    K = np.arange(16.0).reshape(4, 4)
    rows = MatrixRows(K, np.array([0, 1, 2]), np.array([3, 2, 1]), 4, K.dtype)
    assert rows[[2, 0]].rows.tolist() == [2, 0]
    assert rows[[2, 0]].columns.tolist() == [1, 3]
    every = MatrixRows.of(K)[[3, 1]]
    assert every.columns is every.rows
