"""Mercer's condition on a sample: verdict, spectrum, offending vector, repair."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.distances import Minkowski
from mercer.kernels import (
    RBF,
    FromDistance,
    FromFunction,
    Linear,
    Match,
    QueryKey,
    Sigmoid,
    check_mercer,
    repair,
)

X = np.random.default_rng(0).normal(size=(20, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [Linear(), RBF("scale"), RBF(1e-4)])
def test_rounding_alone_is_no_violation(kernel, dtype):
    # Linear has 3 eigenvalues that are not 0, RBF(1e-4) is numerically of low rank
    check = check_mercer(kernel, X.astype(dtype))
    assert check.positive_definite
    assert check.symmetric
    assert check.offender is None
    assert "No violation found" in str(check)


def test_the_offender_shows_the_violation():
    check = check_mercer(Sigmoid(1.0, -1.0), X)
    assert not check.positive_definite
    assert check.symmetric
    c = check.offender
    assert_allclose(c @ check.gram @ c, check.eigenvalues[-1])
    assert check.eigenvalues[-1] < 0
    assert_allclose(np.linalg.norm(c), 1)
    assert (np.diff(check.eigenvalues) <= 0).all()
    assert "Not positive semidefinite" in str(check)
    assert "clips, flips or shifts" in str(check)


def test_indefinite_distances_are_found_out():
    # exp(-ρ_∞) in the plane and above is no Mercer kernel in general (Misiewicz 1989)
    grid = np.stack(np.meshgrid(range(3), range(3), range(3)), -1).reshape(-1, 3).astype(float)
    assert not check_mercer(FromDistance(Minkowski(np.inf), 0.3), grid).positive_definite
    assert check_mercer(FromDistance(Minkowski(1), 0.3), grid).positive_definite


def test_asymmetry_is_told():
    check = check_mercer(QueryKey(np.eye(3), np.triu(np.ones((3, 3)))), X)
    assert not check.symmetric
    assert not check.positive_definite
    assert "Not symmetric" in str(check)


def test_a_matrix_of_zeros_is_positive_semidefinite():
    check = check_mercer(FromFunction(lambda A, B: np.zeros((len(A), len(B))), at_once=True), X)
    assert check.positive_definite


def test_many_samples_are_thinned():
    assert check_mercer(RBF(), np.random.default_rng(0).normal(size=(300, 2)),
                        max_samples=50).gram.shape == (50, 50)  # fmt: skip


def test_any_kind_of_sample():
    assert check_mercer(Match(), [["a"], ["b"], ["a"]]).positive_definite


def test_a_tolerance_can_be_given():
    K = np.diag([1.0, -1e-3])
    kernel = FromFunction(lambda A, B: K, at_once=True)
    assert not check_mercer(kernel, X[:2]).positive_definite
    assert check_mercer(kernel, X[:2], tolerance=1e-2).positive_definite


def test_what_is_no_kernel():
    with pytest.raises(TypeError, match="kernel is a single string: give a kernel object"):
        check_mercer("rbf", X)
    with pytest.raises(ValueError, match=r"(?s)Gram matrix of .* not finite"):
        check_mercer(FromFunction(lambda A, B: np.full((len(A), len(B)), np.nan), at_once=True), X)


@pytest.mark.parametrize("how", ["clip", "flip", "shift"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_repaired_matrices_are_positive_semidefinite(how, dtype):
    K = check_mercer(Sigmoid(1.0, -1.0), X.astype(dtype)).gram
    R = repair(K, how)
    assert R.dtype == dtype
    values = np.linalg.eigvalsh(R.astype(float))
    eps = np.finfo(dtype).eps
    assert values[0] >= -100 * eps * values[-1]
    before = np.linalg.eigvalsh(K.astype(float))
    expected = {"clip": np.maximum(before, 0), "flip": np.abs(before), "shift": before - before[0]}
    assert_allclose(values, np.sort(expected[how]), atol=100 * eps * values[-1])
    if how == "shift":
        off = ~np.eye(len(K), dtype=bool)
        assert_allclose(R[off], K[off], atol=10 * eps)


def test_positive_matrices_need_no_repair():
    K = RBF(0.5)(X)
    for how in ("clip", "flip", "shift"):
        assert_allclose(repair(K, how), K, atol=1e-12)


def test_unknown_repairs():
    with pytest.raises(ValueError, match="how='mend': give"):
        repair(np.eye(2), "mend")
