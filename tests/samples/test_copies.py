"""Which samples are copies of each other."""

import numpy as np
import pytest
import scipy.sparse as sp

from cases import DISTANCES, KERNELS, name
from mercer.distances import Jaccard
from mercer.kernels import Match, Spectrum
from mercer.samples import MatrixRows, Objects, copies, row_numbers
from mercer.samples.copies import _marks as marks
from mercer.threads import Stop

ALL = [(case[0], case[1]) for case in (*KERNELS, *DISTANCES)]


@pytest.mark.parametrize(("compared", "samples"), ALL, ids=list(map(name, ALL)))
def test_rows_that_are_given_twice_are_copies(compared, samples):
    X = compared.encode(samples)
    n = X.shape[0]
    keys = row_numbers(X[np.tile(np.arange(n), 2)]).tolist()
    assert len(keys) == 2 * n
    if marks.dispatch(type(X)) is not marks.dispatch(object):  # of a kind of somebody else
        assert keys[:n] == keys[n:]


def test_rows_are_numbered_as_they_are_met():
    """As a dict of Python numbers them, whatever holds them."""
    rng = np.random.default_rng(0)
    words = ["".join(word) for word in rng.choice(list("ab"), (300, 5))]
    words = [word[: len(word) - i % 4] for i, word in enumerate(words)] + [""]
    rows = rng.integers(0, 3, (301, 2)) / 4
    for X, given in [
        (Spectrum(1).encode(words), words),
        (rows, rows.tolist()),
        (rows.astype(np.float32), rows.tolist()),
        (sp.csr_array(rows), rows.tolist()),
        (Match().encode(rows), rows.tolist()),
        (Jaccard().encode([{*word} for word in words]), ["".join(sorted({*w})) for w in words]),
    ]:
        known: dict = {}
        told = [known.setdefault(str(each), len(known)) for each in given]
        assert row_numbers(X).tolist() == told
    both: dict = {}
    told = [both.setdefault(str(each), len(both)) for each in zip(words, rows.tolist())]
    assert row_numbers(Spectrum(1).encode(words), rows).tolist() == told
    assert row_numbers(rows[:0]).tolist() == []


def test_many_columns_are_mixed_some_at_a_time(monkeypatch):
    X = np.random.default_rng(0).integers(0, 2, (40, 5)).astype(float)
    told = row_numbers(X)
    monkeypatch.setattr(copies, "CELLS", 80)
    assert row_numbers(X).tolist() == told.tolist()


def test_looking_up_objects_asks_whether_to_stop(monkeypatch):
    monkeypatch.setattr(copies, "KEYS", 2)
    with Stop() as stop:
        stop.set()
        with pytest.raises(KeyboardInterrupt):
            row_numbers(Objects.of(["a", "b", "a"]))


def test_zeros_have_no_sign_and_need_not_be_stored():
    first, second = row_numbers(np.array([[0.0, 1.0], [-0.0, 1.0]]))
    assert first == second
    stored = sp.csr_array((np.array([0.0, 2.0, 2.0]), ([0, 0, 1], [0, 1, 1])), shape=(2, 2))
    first, second = row_numbers(stored)
    assert first == second


def test_objects_without_a_hash_are_different():
    keys = row_numbers(Objects.of([[1], [1], (1,), (1,), np.ones(2), np.ones(2)])).tolist()
    assert [keys.index(key) for key in keys] == [0, 1, 2, 2, 4, 4]


def test_a_matrix_without_its_values_tells_no_copies():
    rows = MatrixRows.of(np.ones((2, 2))).without_values()
    assert len(set(row_numbers(rows))) == 2
