"""The metric that a feature machine learns: gradients, choices, where it stops; the draw."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer.learners.base.centres import different_rows
from mercer.learners.metrics.feature_metric import FORMS, KernelForm, choose_metric, learn_metric

FULL = KernelForm(2, 1.4, full=True)


def problem(n=150, d=4, outputs=1, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d)) * [1, 10, 0.1, 3]
    f = np.column_stack([np.sin(X[:, 0]), np.sin(2 * X[:, 0] + X[:, 1] / 10), X[:, 0] ** 2])
    return X, f[:, :outputs]


@pytest.mark.parametrize("form", [*FORMS, KernelForm(2, 2.0), KernelForm(1, 0.7)], ids=str)
@pytest.mark.parametrize("weights", [None, np.arange(1, 151.0) % 3 + 1])
def test_the_metric_is_the_mean_outer_product_of_gradients(form, weights):
    X, Y = problem(outputs=3)
    w = np.ones(150) if weights is None else weights
    settings = {"form": form, "bandwidth": 1.0, "penalty": 0.1, "held": 0}
    kernel = learn_metric(X, Y, w, steps=0, **settings).kernel
    found = learn_metric(X, Y, w, steps=1, **settings)
    assert found.step == 1
    centred = Y - np.average(Y, axis=0, weights=w)
    a = np.linalg.solve(kernel(X) + np.diag(0.1 / w), centred)
    deviation = np.sqrt(np.average((X - np.average(X, axis=0, weights=w)) ** 2, axis=0, weights=w))
    F = np.empty((3, *X.shape))
    step = 1e-5 * deviation
    for j in range(4):  # at x itself a kernel of power 1 has a corner, which counts as flat
        ahead, back = X.copy(), X.copy()
        ahead[:, j] += step[j]
        back[:, j] -= step[j]
        change = kernel(ahead, X) - kernel(back, X)
        np.fill_diagonal(change, 0)
        F[:, :, j] = ((change / 2e-5) @ a).T
    G = np.einsum("i,cij,cik->jk", w, F, F)
    G = (G if form.full else G.diagonal()) / G.trace()
    assert_allclose(found.outer_product, G, rtol=2e-3, atol=2e-3)


def test_units_and_origins_change_nothing():
    X, Y = problem()
    expected = learn_metric(X, Y, form=FULL)
    moved = learn_metric(X * 2.0**10 + 2.0**12, 3 * Y - 7, form=FULL)
    assert_allclose(moved.outer_product, expected.outer_product, atol=1e-4)
    assert_allclose(moved.error, expected.error, rtol=1e-2)


def test_errors_are_those_on_the_rows_held_back():
    X, Y = problem()
    found = learn_metric(X, Y, held=50, penalty=0.01)
    K, cross = found.kernel(X[:100]), found.kernel(X[100:], X[:100])
    mean = Y[:100].mean(axis=0)
    f = mean + cross @ np.linalg.solve(K + 0.01 * np.eye(100), Y[:100] - mean)
    assert_allclose(found.error, np.mean((f - Y[100:]) ** 2) / Y[:100].var(), rtol=1e-3)
    assert found.error == min(found.errors)
    assert found.errors[found.step] == found.error


def test_the_penalty_is_chosen():
    X, Y = problem()
    noisy = Y + np.random.default_rng(1).normal(size=Y.shape)
    clean, rough = learn_metric(X, Y), learn_metric(X, noisy)
    assert rough.penalty > 10 * clean.penalty


def test_noise_ends_the_search_for_a_penalty():
    X, _ = problem()
    for seed in range(5):  # the larger the penalty, the smaller the error, without end
        noise = np.random.default_rng(seed).normal(size=(150, 1))
        found = learn_metric(X, noise, steps=1)
        assert 0 < found.penalty < 1e7
        assert 0.5 < found.error < 2


def test_a_far_row_of_hardly_any_weight():
    X, Y = problem()
    w = np.ones(150)
    X[0, 0], w[0] = 1e11, 1e-30
    found = learn_metric(X, Y, w)
    assert np.isfinite(found.errors).all()
    assert found.outer_product.argmax() == 0


def test_a_caller_can_stop_after_any_step():
    X, Y = problem()
    seen = []

    def stop(step, error):
        seen.append((step, error))
        return step == 1

    found = learn_metric(X, Y, on_step=stop)
    assert [step for step, _ in seen] == [0, 1]
    assert found.errors == [error for _, error in seen]
    for jobs in (1, 2):
        seen.clear()
        first = choose_metric(X, Y, on_step=lambda *_: True, n_jobs=jobs)
        assert first.step == 0
    assert choose_metric(X, Y, on_step=lambda *_: True, n_jobs=1).form == FORMS[0]


def test_threads_change_nothing():
    X, Y = problem(outputs=2)
    one, two = (choose_metric(X, Y, n_jobs=jobs) for jobs in (1, 2))
    assert one.form == two.form
    assert one.errors == two.errors
    assert_array_equal(one.outer_product, two.outer_product)


def test_outputs_come_in_any_number():
    X, Y = problem()
    many = learn_metric(X, np.repeat(Y, 300, axis=1), form=FULL, steps=1)
    one = learn_metric(X, Y, form=FULL, steps=1)
    assert_allclose(many.outer_product, one.outer_product, rtol=1e-3, atol=1e-4)


def test_copies_and_order_do_not_change_the_draw():
    X, _ = problem()
    y = np.arange(150.0)
    rows, weights = different_rows(X, y, None, 0)
    assert_array_equal(np.sort(rows), np.arange(150))
    assert (weights == 1).all()
    assert not (rows[:-1] < rows[1:]).all()
    p = np.random.default_rng(0).permutation(np.repeat(np.arange(150), 2))
    again, twice = different_rows(X[p], y[p], np.full(300, 1.5), 0)
    assert_array_equal(X[p][again], X[rows])
    assert (twice == 3).all()
    other, _ = different_rows(X, y, None, 1)
    assert (other != rows).any()


def test_the_draw_tells_numbers_apart_and_zeros_not():
    # small whole numbers differ in few bits
    X = np.array([[a, b] for a in range(200) for b in range(200)], float)
    assert len(different_rows(X, np.zeros(len(X)), None, 0)[0]) == 40_000
    assert len(different_rows(np.zeros((3, 1)), np.array([0.0, 1.0, 0.0]), None, 0)[0]) == 2
    assert len(different_rows(np.array([[0.0], [-0.0]]), np.zeros(2), None, 0)[0]) == 1
    dense = X[:1000]
    rows, _ = different_rows(dense, np.arange(1000.0), None, 0)
    sparse, _ = different_rows(sp.csr_array(dense), np.arange(1000.0), None, 0)
    assert_array_equal(sparse, rows)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_order_of_rows_does_not_depend_on_the_unit(sparse):
    """Other rows would learn the metric: X times 2 changed predictions by 0.34."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)) * (rng.random((50, 3)) < 0.7), rng.normal(size=50)
    read = sp.csr_array if sparse else np.asarray
    rows, weights = different_rows(read(X), y, None, 0)
    for scale in (2.0, [1.0, 2.0**-900, 4.0]):
        found = different_rows(read(X * scale), y * 8, None, 0)
        assert_array_equal(found, (rows, weights))
