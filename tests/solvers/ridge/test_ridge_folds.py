"""Cross-validation from one pass over the factor equals fitting every fold anew."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import DenseGram
from mercer.gram.low_rank import LowRankGram, pivoted_cholesky
from mercer.solvers import RidgeFolds

RNG = np.random.default_rng(0)


def problem(n=90, outputs=2, dtype=np.float64):
    X = RNG.normal(size=(n, 3))
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2)).astype(dtype)
    Y = np.c_[np.sin(2 * X[:, 0]) + 3, X[:, 1] * X[:, 2], X[:, 0]][:, :outputs]
    return K, Y


def anew(F, Y, folds, penalties, in_turn=False):
    """Each fold's fit by itself: the mean of its targets, and ridge on the features."""
    out = np.full(Y.shape, np.nan)
    for f in range(folds.max() + 1):
        train, own = folds < f if in_turn else folds != f, folds == f
        b = Y[train].mean(axis=0)
        A = F[train].T @ F[train] + penalties[f] * np.eye(F.shape[1])
        out[own] = F[own] @ np.linalg.solve(A, F[train].T @ (Y[train] - b)) + b
    return out


@pytest.mark.parametrize("in_turn", [False, True])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-7), (np.float32, 2e-3)])
def test_predictions_are_those_of_fitting_each_fold(dtype, rtol, in_turn):
    K, Y = problem(dtype=dtype)
    folds = RNG.permutation(90) % 4 - 1  # a quarter of the rows is never left out
    low = pivoted_cholesky(DenseGram(K, symmetric=True), 30, random_state=0)
    found = RidgeFolds(low, folds, in_turn=in_turn)
    penalties = [1e-2, 0.1, 1.0]
    wanted = anew(low.F.astype(np.float64), Y, folds, penalties, in_turn)
    assert_allclose(found.predict(Y, penalties), wanted, rtol=rtol, atol=rtol)
    assert np.isnan(found.predict(Y, penalties)[folds == -1]).all()


@pytest.mark.parametrize("in_turn", [False, True])
@pytest.mark.parametrize("weights", [None, RNG.uniform(0.5, 2, 60)], ids=["equal", "weighted"])
def test_left_out_are_the_rows_of_each_fit_and_no_row_of_its_fold(monkeypatch, weights, in_turn):
    monkeypatch.setattr("mercer.gram.low_rank.STRIP", 16)
    K, Y = problem(60)
    folds, penalties = RNG.permutation(60) % 4 - 1, RNG.uniform(0.01, 1, (3, 2))
    low = pivoted_cholesky(DenseGram(K, symmetric=True), 20, random_state=0)
    w = np.ones(60) if weights is None else weights
    found = list(RidgeFolds(low, folds, weights, in_turn).leave_one_out(Y, penalties))
    assert len(found) == 3
    for f, outputs in enumerate(found):
        train = np.flatnonzero(folds < f if in_turn else folds != f)
        b = np.average(Y[train], axis=0, weights=w[train])
        assert np.isnan(outputs[:, folds == f]).all()
        for i in train[::7]:
            others = train[train != i]
            F = low.F[others]
            for penalty, output in zip(penalties[f], outputs[:, i]):
                A = F.T @ (w[others, None] * F) + penalty * np.eye(20)
                beta = np.linalg.solve(A, F.T @ (w[others, None] * (Y[others] - b)))
                assert_allclose(output, low.F[i] @ beta + b)


def test_a_strip_may_have_rows_of_one_fold_alone(monkeypatch):
    """The last strip of a factor often has a single row."""
    K, Y = problem(60)
    folds, penalties = np.arange(60) // 20, np.full((3, 2), 0.1)
    low = pivoted_cholesky(DenseGram(K, symmetric=True), 20, random_state=0)
    wanted = list(RidgeFolds(low, folds).leave_one_out(Y, penalties))
    monkeypatch.setattr("mercer.gram.low_rank.STRIP", 16)
    found = list(RidgeFolds(low, folds).leave_one_out(Y, penalties))
    assert_allclose(found, wanted, rtol=1e-9)


def test_with_all_centres_it_is_kernel_ridge_and_strips_need_not_be_held(monkeypatch):
    monkeypatch.setattr("mercer.gram.low_rank.STRIP", 32)
    K, Y = problem(outputs=1)
    folds, penalty = np.arange(90) % 5, 0.3
    low = pivoted_cholesky(DenseGram(K, symmetric=True), 90, random_state=0)
    found = RidgeFolds(LowRankGram(low.centres, low.L, K=DenseGram(K, symmetric=True)), folds)
    wanted = np.empty(90)
    for f in range(5):
        train, own = folds != f, folds == f
        b = Y[train, 0].mean()
        G = K[np.ix_(train, train)] + penalty * np.eye(train.sum())
        wanted[own] = K[np.ix_(own, train)] @ np.linalg.solve(G, Y[train, 0] - b) + b
    assert_allclose(found.predict(Y[:, 0], [penalty] * 5), wanted, rtol=1e-6)


def test_a_fold_may_be_a_single_row_and_the_kernel_zero():
    low = pivoted_cholesky(DenseGram(np.zeros((3, 3)), symmetric=True), 3, random_state=0)
    y = np.array([1.0, 2.0, 6.0])
    assert_allclose(RidgeFolds(low, np.arange(3)).predict(y, [1.0] * 3), [4.0, 3.5, 1.5])
