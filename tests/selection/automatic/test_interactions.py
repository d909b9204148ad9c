"""Learnt column weights: the error is the leave-one-out error, and the gradient is its gradient."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import RBF, Kernel, Laplacian, On, Spectrum, TableKernel
from mercer.machines.candidates.learning import _error_and_slope, learn_interactions

RNG = np.random.default_rng(0)
TABLE = RNG.uniform(size=(60, 3))
Y = np.c_[np.sin(6 * TABLE[:, 0]) * TABLE[:, 1], TABLE[:, 2]]
Y = Y - Y.mean(axis=0)
PARTS = [(Laplacian(), [0]), (RBF(2.0), [1]), (Laplacian(2.0), [2])]
KERNEL = TableKernel(PARTS, combine="interactions")
X = KERNEL.encode(TABLE)
THETA = np.log([0.5, 0.3, 2.0, 0.01])  # three weights and λ
ONES = np.ones((60, 1))
SHARE = RNG.uniform(0.2, 3, size=(60, 1))
SHARE /= SHARE.mean()


def part(j):
    return On(*PARTS[j]).block(X, X)


@pytest.mark.parametrize("share", [ONES, SHARE], ids=["equal", "weighted"])
def test_the_error_is_that_of_refitting_without_each_row(share):
    K = TableKernel(PARTS, "interactions", np.exp(THETA[:3])).block(X, X)
    error = 0.0
    for i in range(60):
        others = np.arange(60) != i
        G = K[np.ix_(others, others)] + np.exp(THETA[3]) * np.diag(1 / share[others, 0])
        left_out = K[i, others] @ np.linalg.solve(G, Y[others])
        error += share[i, 0] * np.sum((left_out - Y[i]) ** 2)
    assert_allclose(_error_and_slope(part, Y, share, THETA, 1)[0], error / Y.size)


@pytest.mark.parametrize("share", [ONES, SHARE], ids=["equal", "weighted"])
def test_the_slope_is_the_derivative(share):
    slope = _error_and_slope(part, Y, share, THETA, 1)[1]
    for j, step in enumerate(1e-5 * np.eye(4)):
        above = _error_and_slope(part, Y, share, THETA + step, 1)[0]
        below = _error_and_slope(part, Y, share, THETA - step, 1)[0]
        assert_allclose(slope[j], (above - below) / 2e-5, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_useless_column_loses_its_weight_and_the_error_falls(dtype):
    table = RNG.uniform(size=(300, 2)).astype(dtype)
    kernel = TableKernel([(Laplacian(), [0]), (Laplacian(), [1])], combine="interactions")
    found = learn_interactions(kernel, kernel.encode(table), np.sin(6 * table[:, :1]))
    assert found.kernel.weights[0] > 10 * found.kernel.weights[1]
    assert found.error == min(found.errors) < 0.5 * found.errors[0]


def test_the_number_of_threads_does_not_matter():
    one, two = (learn_interactions(KERNEL, X, Y, steps=5, n_jobs=jobs) for jobs in (1, 2))
    assert one.kernel.weights == two.kernel.weights


def test_a_caller_may_end_it_with_what_it_has():
    found = learn_interactions(KERNEL, X, Y, on_step=lambda step, error: step == 2)
    assert len(found.errors) == 3
    assert found.error == min(found.errors)


def test_a_matrix_that_is_not_positive_definite_ends_the_learning_as_it_was():
    """Rounding makes such matrices for small penalties, and the numbers of one mean nothing."""

    class Negative(Kernel):
        positive_definite = False

        def block(self, X, Z):
            return np.where(np.abs(X - Z.T) == 0, 1.0, -3.0)

    kernel = TableKernel([(Negative(), [0])], "interactions", [1.4])
    X = kernel.encode(RNG.uniform(size=(40, 1)))
    assert np.linalg.eigvalsh(kernel.block(X, X))[0] < -1
    found = learn_interactions(kernel, X, Y[:40])
    assert found.errors == []
    assert_allclose(found.kernel.weights, [1.4])


def test_values_of_strings_are_computed_once():
    texts = np.array(["aab", "bcb", "abc", "ca"] * 10, dtype=object)
    table = np.stack([texts, RNG.uniform(size=40)], axis=1)
    kernel = TableKernel(
        [(Counted(), [0]), (Laplacian(), [1])], combine="interactions", weights=[0.7, 0.7]
    )
    X = kernel.encode(table)
    found = learn_interactions(kernel, X, np.sin(table[:, 1:].astype(float)), steps=5)
    assert len(found.errors) == 5
    assert Counted.calls == 1


class Counted(Spectrum):
    calls = 0

    def block(self, X, Z):
        Counted.calls += 1
        return super().block(X, Z)
