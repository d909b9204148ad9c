"""Which samples are copies of each other."""

import numpy as np
import pytest
import scipy.sparse as sp

from cases import DISTANCES, KERNELS, name
from mercer.samples import MatrixRows, Objects, row_keys

ALL = [(case[0], case[1]) for case in (*KERNELS, *DISTANCES)]


@pytest.mark.parametrize(("compared", "samples"), ALL, ids=list(map(name, ALL)))
def test_rows_that_are_given_twice_are_copies(compared, samples):
    X = compared.encode(samples)
    n = X.shape[0]
    keys = list(row_keys(X[np.tile(np.arange(n), 2)]))
    assert len(keys) == 2 * n
    if not isinstance(keys[0], int):  # of a kind of somebody else
        assert keys[:n] == keys[n:]


def test_zeros_have_no_sign_and_need_not_be_stored():
    first, second = row_keys(np.array([[0.0, 1.0], [-0.0, 1.0]]))
    assert first == second
    stored = sp.csr_array((np.array([0.0, 2.0, 2.0]), ([0, 0, 1], [0, 1, 1])), shape=(2, 2))
    first, second = row_keys(stored)
    assert first == second


def test_objects_without_a_hash_are_different():
    keys = list(row_keys(Objects.of([[1], [1], (1,), (1,), np.ones(2), np.ones(2)])))
    assert [keys.index(key) for key in keys] == [0, 1, 2, 2, 4, 4]


def test_a_matrix_without_its_values_tells_no_copies():
    rows = MatrixRows.of(np.ones((2, 2))).without_values()
    assert len(set(row_keys(rows))) == 2
