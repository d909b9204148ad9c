"""A new row is encoded alone as within any table, for every kernel and distance, thus every kind.

The codes of values that training did not have may differ with the table. What is compared is what
users see: the values between the new row and the training rows, which may not.
"""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

import cases
from mercer.distances import NanEuclidean
from mercer.kernels import Kernel

PAIRS = [*cases.KERNELS, *cases.DISTANCES]
PAIRS = [case for case in PAIRS if case[0].kind != "precomputed"]
ROOT = 1e-7  # a squared distance that rounds to 1e-15 instead of 0 has this root


def some(X, rows):
    """Raw samples with these numbers."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[rows]
    return X[rows] if isinstance(X, np.ndarray) else [X[i] for i in rows]


def values(comparison, Z, X):
    """Between new rows and training rows, and of new rows with themselves if it is a kernel."""
    Z = comparison.encode(Z, like=X)
    K = comparison.block(Z, X)
    return np.column_stack([K, comparison.diag(Z)]) if isinstance(comparison, Kernel) else K


@pytest.mark.parametrize("case", PAIRS, ids=cases.name)
def test_a_row_alone_is_the_row_within_a_table(case):
    comparison, samples = case
    n = len(samples)
    training, new = np.arange(0, n, 2), np.arange(n)[::-1]
    X = comparison.encode(some(samples, training))
    bound = comparison.bind(X)
    among = values(bound, some(samples, new), X)
    alone = np.concatenate([values(bound, some(samples, [i]), X) for i in new])
    assert_allclose(alone, among, rtol=1e-12, atol=ROOT)
    # training rows that come again as new ones
    again = among[np.searchsorted(-new, -training), : len(training)]
    assert_allclose(again, bound.block(X, X), rtol=1e-12, atol=ROOT)


VECTORS = [case for case in PAIRS if case[0].kind == "vectors" and isinstance(case[1], np.ndarray)]


DENSE_ONLY = (NanEuclidean,)  # which refuse sparse rows
SPARSE = [case for case in VECTORS if not isinstance(case[0], DENSE_ONLY)]


@pytest.mark.parametrize("case", SPARSE, ids=cases.name)
def test_entries_that_stand_twice_in_sparse_rows_are_summed(case):
    """COO matrices may hold a place twice, which means their sum; so may the rows made of them."""
    comparison, dense = case
    n, d = dense.shape
    halves = 0.5 * np.concatenate([dense, dense], axis=1)
    columns = np.tile(np.arange(d), 2 * n)
    twice = sp.csr_array((halves.ravel(), columns, np.arange(n + 1) * 2 * d), dense.shape)
    assert not twice.has_canonical_format
    Z = comparison.encode(twice)
    X = comparison.encode(sp.csr_array(dense))
    bound = comparison.bind(X)
    assert_allclose(bound.block(Z, X), bound.block(X, X), rtol=1e-12, atol=2 * ROOT)
