"""The kernel from the edit distance: where it is one, and where not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.kernels import EditRBF, check_mercer

# found by a search over short strings: each breaks the kernel of the variant for a small gamma
WORDS = ["", *"ab", "aa", "ab", "ba", "bb", "aab", "aba", "abb", "baa", "bab", "bba"]


@pytest.mark.parametrize("variant", ["levenshtein", "indel", "osa", "damerau", "lcs"])
def test_it_is_not_positive_semidefinite_and_the_check_finds_it(variant):
    kernel = EditRBF(0.1, variant)
    assert not kernel.positive_definite
    check = check_mercer(kernel, WORDS)
    assert not check.positive_definite


def test_with_places_that_agree_it_is():
    """A product of kernels [a = b] + e^-γ [a ≠ b], one for each place."""
    kernel = EditRBF(0.01, "hamming")
    assert kernel.positive_definite
    assert check_mercer(kernel, WORDS).positive_definite


def test_it_reads_names_of_classes_of_a_learner():
    words = ["cat", "cats", "bat", "dog", "dogs", "dig"]
    y = np.array([0, 0, 0, 1, 1, 1])
    model = mercer.SVC(kernel=EditRBF(0.5), C=10.0).fit(words, y)
    assert model.predict(["rat", "dogma", "cast"]).tolist() == [0, 1, 0]


@pytest.mark.parametrize("gamma", [0, -1, np.inf, np.nan, "scale"])
def test_gamma(gamma):
    with pytest.raises(ValueError, match=r"gamma=.*: give a finite number > 0"):
        EditRBF(gamma)(["a"])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_gamma_beyond_float32_is_the_identity(dtype):
    X = EditRBF().encode(WORDS).astype(dtype)
    assert_allclose(EditRBF(1e300).block(X, X), EditRBF(100.0).block(X, X), atol=1e-40)
