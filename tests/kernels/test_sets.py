"""Kernels on sets and counts: against Python's sets and counters, beyond the floating range, from
strings; bad input."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import cross_val_score

import mercer
import oracles
from mercer.kernels import (
    DerivedSubsets,
    Dice,
    FromDistance,
    HistogramIntersection,
    Intersection,
    Jaccard,
    Tanimoto,
    as_kernel,
)

ALL = [Intersection(), DerivedSubsets(), Jaccard(), Dice()]
ITEMS = st.integers(0, 150) | st.sampled_from(["", "a", "\0", "\ud800", ("a", 1), b"a"])
MANY = st.lists(st.sets(ITEMS, max_size=40), min_size=1, max_size=6)


@given(MANY, MANY)
def test_values_are_those_of_python_sets(old, new):
    for kernel in ALL:
        X = kernel.encode(old)
        Z = kernel.encode(new, like=X)
        assert_array_equal(kernel.block(Z, X), oracles.block(oracles.kernel, kernel, new, old, old))
        assert_array_equal(kernel.diag(Z), kernel.block(Z, Z).diagonal())
        assert kernel.block(X.astype(np.float32), Z.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("universe", [5, 64, 700, 5000, 40_000, 10**6])
@pytest.mark.parametrize("size", [1, 5, 60])
def test_few_and_many_items_agree_with_a_sparse_product(universe, size):
    """Packed bits and products of rows are chosen by what they cost; the values are the same."""
    rng = np.random.default_rng(universe + size)
    lists = [rng.integers(0, universe, rng.integers(0, size + 1)).tolist() for _ in range(40)]
    X = Intersection().encode(lists)
    Z = Intersection().encode([[*items, "new"] for items in lists[:7]], like=X)
    assert_array_equal(Intersection().block(X, X), (X.indicators() @ X.indicators().T).toarray())
    shared = Z.indicators(X.known) @ X.indicators().T
    assert_array_equal(Intersection().block(Z, X), shared.toarray())
    assert_array_equal(Intersection().block(X, Z), shared.toarray().T)


def test_no_rows_and_no_items():
    X = Intersection().encode([set(), {1}, set()])
    assert Intersection().block(X[:0], X).shape == (0, 3)
    assert Intersection().block(X, X[3:]).shape == (3, 0)
    assert_array_equal(Jaccard()([set(), set()]), 1)
    assert_array_equal(Dice()([set(), set()]), 1)
    assert_array_equal(Intersection().normalised()([set(), set()]), 0)
    assert_array_equal(DerivedSubsets().normalised()([set(), set()]), 1)
    assert Intersection().features(Intersection().encode([[]])).shape == (1, 0)


def test_new_items_count_in_the_size_and_are_shared_by_no_training_set():
    X = Jaccard().encode([{"tea"}, {"milk"}])
    Z = Jaccard().encode([{"tea", "rum"}, {"gin"}], like=X)
    assert_array_equal(Jaccard().block(Z, X), [[0.5, 0], [0, 0]])
    assert_array_equal(Intersection().features(Z).toarray(), [[0, 1], [0, 0]])


@pytest.mark.parametrize("extra", [0, 1, 2, 7])
def test_subsets_beyond_the_floating_range(extra):
    """2^{#(A∩B) - (#A + #B)/2}, whatever the sizes."""
    A, B = set(range(3000)), set(range(10, 3000 + extra))
    K = DerivedSubsets().normalised()([A, B])
    assert_allclose(K[0, 1], 2.0 ** (2990 - (3000 + 2990 + extra) / 2), rtol=1e-15)
    assert_allclose(K.diagonal(), 1, rtol=1e-15)
    kernel = DerivedSubsets()
    X = kernel.encode([A, B])
    assert np.isinf(kernel.block(X, X)).all()
    assert np.isinf(kernel.diag(X)).all()
    assert_array_equal(kernel.scaled_block(X, X)[1], [[3000, 2990], [2990, 2990 + extra]])
    small = kernel.encode([set(range(1023)), set(range(1024))])
    assert_array_equal(kernel.diag(small), [2.0**1023, np.inf])
    assert_array_equal(kernel.diag(small.astype(np.float32)), np.inf)


def test_the_cosine_of_sets_is_that_of_their_indicators():
    M = np.random.default_rng(0).integers(0, 2, (9, 12))
    K = Intersection().normalised()(M)
    assert_allclose(K, mercer.kernels.Cosine()(M.astype(float)))


@pytest.mark.parametrize("convert", [np.array, np.asfortranarray, sp.csr_matrix, sp.coo_array])
@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_matrices_of_0_and_1_are_sets(kernel, convert):
    M = np.random.default_rng(0).integers(0, 2, (6, 70))
    lists = [np.flatnonzero(row).tolist() for row in M]
    assert_array_equal(kernel(convert(M)), kernel(lists))


TEXTS = [" tea, milk,", "milk,tea,tea", "", " , ", "green tea"]


@pytest.mark.parametrize(
    "column",
    [TEXTS, tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, object)[:, None], pd.Series(TEXTS),
     pd.DataFrame({"a": TEXTS}), pl.Series(TEXTS)],
    ids=lambda column: type(column).__name__,
)  # fmt: skip
def test_strings_are_split_into_items(column):
    K = Intersection(separator=",")(column)
    sets = [{"tea", "milk"}, {"tea", "milk"}, set(), set(), {"green tea"}]
    assert_array_equal(K, Intersection()(sets))


def test_sets_pass_a_separator_unchanged():
    assert_array_equal(Jaccard(";")([{"a;b"}, "a;b"]), [[1, 0], [0, 1]])
    assert_array_equal(Jaccard(";")(np.eye(2)), np.eye(2))


def test_a_column_of_a_table():
    table = pd.DataFrame({"tags": ["a,b", "b", ""], "age": [1.0, 2.0, 4.0]})
    kernel = Jaccard(",").on("tags") + FromDistance(mercer.distances.Minkowski(1)).on("age")
    assert_allclose(kernel(table)[0], [2, 0.5 + np.exp(-1), np.exp(-3)])
    assert_array_equal(
        FromDistance(mercer.distances.Jaccard(","))(table["tags"]),
        FromDistance(mercer.distances.Jaccard())([{"a", "b"}, {"b"}, set()]),
    )


@pytest.mark.parametrize("kernel", [*ALL, ALL[0].normalised(), ALL[2] + ALL[3]], ids=repr)
def test_learners_take_sets(kernel):
    rng = np.random.default_rng(0)
    lists = [set(rng.choice(list("abcdefgh"), 3)) for _ in range(40)]
    y = np.array(["a" in items or "b" in items for items in lists])
    assert cross_val_score(mercer.SVC(kernel=kernel, C=10.0), lists, y, cv=3).min() > 0.8


COUNTS = st.lists(st.dictionaries(ITEMS, st.integers(0, 9), max_size=40), min_size=1, max_size=6)


@given(COUNTS, COUNTS, st.sampled_from(["minmax", "dot"]))
def test_counts_agree_with_counters(old, new, formula):
    kernel = Tanimoto(formula)
    X = kernel.encode(old)
    Z = kernel.encode(new, like=X)
    assert_allclose(
        kernel.block(Z, X), oracles.block(oracles.kernel, kernel, new, old, old), rtol=1e-15
    )
    assert_array_equal(kernel.block(Z, Z).diagonal(), 1)
    single = kernel.block(X.astype(np.float32), Z.astype(np.float32))
    assert single.dtype == np.float32
    assert_allclose(single, kernel.block(X, Z), rtol=1e-6)


@pytest.mark.parametrize("formula", ["minmax", "dot"])
@pytest.mark.parametrize("width", [1, 9, 700, 40_000])
def test_matrices_of_counts(formula, width):
    """Few items and many, of which some are packed and others listed, dense and sparse."""
    rng = np.random.default_rng(width)
    shares = np.minimum(1, 8.0 / np.arange(1, width + 1))
    M = rng.poisson(2 * shares, (30, width))
    low, high = (f(M[:, None], M[None]).sum(-1) for f in (np.minimum, np.maximum))
    G = M @ M.T
    high = high if formula == "minmax" else G.diagonal()[:, None] + G.diagonal() - G
    with np.errstate(invalid="ignore"):
        wanted = np.where(high > 0, (low if formula == "minmax" else G) / high, 1.0)
    K = Tanimoto(formula)(M)
    assert_allclose(K, wanted, rtol=1e-14)
    for form in (
        sp.csr_array(M),
        sp.csc_matrix(M),
        M.tolist(),
        M.astype(np.uint8),
        pd.DataFrame(M),
    ):
        assert_array_equal(Tanimoto(formula)(form), K)
    items = [dict(zip(np.flatnonzero(row).tolist(), row[row > 0].tolist())) for row in M]
    assert_array_equal(Tanimoto(formula)(items), K)
    lists = [[f"item {j}" for j, n in row.items() for _ in range(n)] for row in items]
    assert_array_equal(Tanimoto(formula)(lists), K)


@pytest.mark.parametrize("formula", ["minmax", "dot"])
def test_sets_are_counts_of_1(formula):
    X = [{"tea", "milk"}, {"tea"}, set(), {"rum", "milk", "gin"}]
    assert_array_equal(Tanimoto(formula)(X), Jaccard()(X))
    new = {"tea": 3, "gin": 2, "port": 1}
    K = Tanimoto(formula)([new], [{"tea": 2}])
    assert_allclose(K, [[2 / 6 if formula == "minmax" else 6 / (14 + 4 - 6)]])


def test_forms_of_counts_are_not_mixed():
    X = Tanimoto().encode(np.eye(3))
    with pytest.raises(ValueError, match=r"X has items, but .* 3 columns: give both in one form"):
        Tanimoto().encode([{"a"}], like=X)
    with pytest.raises(ValueError, match="X has 2 columns, but"):
        Tanimoto().encode(np.eye(2), like=X)


def test_counts_read_fingerprints_of_rdkit():
    pytest.importorskip("rdkit")
    from rdkit import Chem, DataStructs
    from rdkit.Chem import rdFingerprintGenerator

    molecules = [Chem.MolFromSmiles(s) for s in ("CCO", "CCCO", "c1ccccc1", "O")]
    morgan = rdFingerprintGenerator.GetMorganGenerator(radius=2)
    for made in (
        morgan.GetSparseCountFingerprint,
        morgan.GetCountFingerprint,
        morgan.GetFingerprint,
    ):
        prints = list(map(made, molecules))
        wanted = [DataStructs.BulkTanimotoSimilarity(each, prints) for each in prints]
        assert_allclose(Tanimoto()(prints), wanted, rtol=1e-6)


def test_names():
    assert isinstance(as_kernel("intersection"), Intersection)
    assert isinstance(as_kernel("jaccard"), Jaccard)
    assert isinstance(as_kernel("histogram_intersection"), HistogramIntersection)


@pytest.mark.parametrize(
    ("kernel", "X", "error", "message"),
    [
        (Jaccard(""), [{1}], ValueError, "separator='': give the text between two items"),
        (Jaccard(1), [{1}], ValueError, "separator=1: give"),
        (Jaccard(), ["a,b"], TypeError, r"X\[0\] is a str, but Jaccard compares sets.*separator"),
        (Dice(","), ["a,b", None], TypeError, r"X\[1\] is missing"),
        (Dice(","), ["a,b", 3], TypeError, r"X\[1\] is 3, but Dice"),
        (Dice(","), "a,b", TypeError, "a single string"),
        (Dice(","), {"a"}, TypeError, "a single set"),
        (Dice(","), [], ValueError, "X is empty"),
        (Intersection(), np.array([[0.5, 1.0]]), ValueError, "0.5.*HistogramIntersection"),
        (Intersection(), np.array([[np.nan, 1.0]]), ValueError, "nan"),
        (Intersection(), [[["a"]]], TypeError, "cannot be hashed"),
        (Tanimoto("max"), [{1}], ValueError, 'formula=\'max\': give "minmax" or "dot"'),
        (Tanimoto(), [{"a": 1.5}], ValueError, r"X\[0\] counts an item 1.5 times"),
        (Tanimoto(), [{"b": 1}, {"a": -1}], ValueError, r"X\[1\] counts an item -1 times"),
        (Tanimoto(), [{"b": 1}, {"a": 70_000}], ValueError, r"X\[1\] has counts of 70000 in all"),
        (Tanimoto(), np.full((2, 300), 250), ValueError, r"X\[0\] has counts of 75000 in all"),
        (Tanimoto(), [{"a": 2**52, "b": 2**52}], ValueError, f"counts of {2**53} in all"),
        (Tanimoto(), [{"b": 1}, None], TypeError, r"X\[1\] is missing"),
        (Tanimoto(), [{"b": 1}, "tea"], TypeError, r"X\[1\] is a str, but Tanimoto"),
        (Tanimoto(), [{"b"}, np.array([2.5, 1.0])], TypeError, r"X\[1\] holds an item that"),
        (Tanimoto(), [{"b"}, {2.5}], TypeError, r"X\[1\] holds an item that is 2.5"),
        (Tanimoto(), np.array([[0.5, 1.0]]), ValueError, "X holds 0.5.*HistogramIntersection"),
        (Tanimoto(), np.array([[-1, 1]]), ValueError, "X holds -1"),
        (Tanimoto(), [], ValueError, "X is empty"),
        (Tanimoto(), {"a": 2}, TypeError, "a dict"),
    ],
)
def test_what_is_no_set(kernel, X, error, message):
    with pytest.raises(error, match=message):
        kernel(X)
