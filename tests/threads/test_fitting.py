"""Fits in several threads or processes: alone, within their cores, equal to the last bit."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from inspect import CO_GENERATOR

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.model_selection import cross_val_predict
from threadpoolctl import threadpool_info, threadpool_limits

from lanes import few
from mercer import (
    SVC,
    SVR,
    FeatureMachineClassifier,
    KernelLogisticRegression,
    KernelRidge,
    KernelRidgeClassifier,
    KernelSearchCV,
    KNeighborsRegressor,
    LinearSVC,
)
from mercer.threads import blas_threads, count_jobs, fitting, ordered_map

LEARNERS = [
    SVC(C=10, probability=True, random_state=0),
    # it ends within its tolerance, and rounding decides where
    SVC(solver="low_rank", rank=50, tol=1e-8, random_state=0),
    SVR(),
    LinearSVC(random_state=0),
    KernelRidge(kernel="rbf", alpha=1e-3),
    KernelRidge(kernel="rbf", alpha="auto"),
    KernelRidgeClassifier(kernel="laplacian"),
    KernelLogisticRegression(kernel="rbf", C=10),
    KNeighborsRegressor("auto", weights="gaussian"),
    FeatureMachineClassifier(learning_rows=300, random_state=0),
    KernelSearchCV(SVC(), {"C": [1, 10], "gamma": [0.1, 1]}, cv=3),
]
rng = np.random.default_rng(0)
X = rng.normal(size=(1100, 6))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)
NEW = rng.normal(size=(300, 6))


def answers(learner, n_jobs):
    """The fitted values at new rows, and the labels where there are classes."""
    model = clone(learner).set_params(n_jobs=n_jobs)
    model.fit(X, Y if is_classifier(model) else Y + 0.1 * X[:, 2])
    values = [model.predict(NEW)]
    for method in ("decision_function", "predict_proba"):
        if hasattr(model, method):
            values.append(getattr(model, method)(NEW))
    return values


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_labels_do_not_depend_on_the_threads_and_numbers_hardly(learner):
    one, *others = (answers(learner, n_jobs) for n_jobs in (1, 2, 5))
    for other in others:
        for a, b in zip(one, other, strict=True):
            if is_classifier(learner) and a.ndim == 1 and a.dtype.kind == "i":
                assert_array_equal(a, b)
            else:
                assert_allclose(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_a_number_of_threads_gives_the_same_bits_again(learner, n_jobs):
    for a, b in zip(answers(learner, n_jobs), answers(learner, n_jobs), strict=True):
        assert_array_equal(a, b)


def values_of_folds(learner, n_jobs, X):
    """The values of two fits at the rows that they have not seen, computed by joblib."""
    model = clone(learner).set_params(n_jobs=n_jobs)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    y = y if is_classifier(model) else y + 0.1 * X[:, 2]
    rows, n = np.arange(len(X)), len(X)
    folds = [(rows[300:], rows[:300]), (rows[: n - 300], rows[300:])]
    method = "decision_function" if is_classifier(model) else "predict"
    return cross_val_predict(model, X, y, cv=folds, method=method)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("learner", few(2, LEARNERS), ids=str)
def test_a_number_of_threads_gives_the_same_bits_in_every_worker(learner, n_jobs):
    """Fits and predictions, also where BLAS was given another number of threads before."""
    here = values_of_folds(learner, n_jobs, X)
    with threadpool_limits(1, "blas"):
        assert_array_equal(values_of_folds(learner, n_jobs, X), here)
    for backend in ("threading", "loky")[n_jobs - 1 :]:  # threads have one BLAS together
        with parallel_config(backend, n_jobs=2):
            assert_array_equal(values_of_folds(learner, n_jobs, X), here)


@pytest.mark.full
@pytest.mark.parametrize("learner", [KernelRidge(kernel="rbf"), SVC(C=100), SVR()], ids=str)
def test_so_it_does_with_rows_that_several_threads_of_blas_share(learner):
    """`blas_limit` leaves BLAS one thread below 1,500 rows."""
    rows = np.random.default_rng(1).normal(size=(1900, 6))
    here = values_of_folds(learner, 2, rows)
    with parallel_config("loky", n_jobs=2):
        assert_array_equal(values_of_folds(learner, 2, rows), here)


def test_workers_of_joblib_share_the_cores(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(64))
    assert count_jobs(None) == 64
    with parallel_config("threading", n_jobs=2):
        assert Parallel()(delayed(count_jobs)(None) for _ in range(2)) == [1, 1]
        assert Parallel()(delayed(count_jobs)(3) for _ in range(2)) == [3, 3]  # as it was asked for
        assert Parallel()(delayed(count_jobs)(-1) for _ in range(2)) == [1, 1]
    with parallel_config("loky", n_jobs=2, inner_max_num_threads=1):
        assert Parallel()(delayed(count_jobs)(None) for _ in range(2)) == [1, 1]
    assert Parallel(n_jobs=1)(delayed(count_jobs)(None) for _ in range(2)) == [64, 64]


def blas():
    return max(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")


def test_limits_of_blas_that_overlap_leave_it_as_it_was():
    before = blas()
    first, second = blas_threads(1), blas_threads(1)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)  # the one that began first ends first
    assert blas() == 1
    second.__exit__(None, None, None)
    assert blas() == before
    with blas_threads(before + 3), blas_threads(1):
        assert blas() == 1
        with blas_threads(2):
            assert blas() == 1
    with blas_threads(before + 3):
        assert blas() == before  # a limit never raises it
        with blas_threads(before + 1, exactly=True):  # which a number that is asked for does
            assert blas() == before + 1
            with blas_threads(before + 1), blas_threads(before + 2, exactly=True):
                assert blas() == before + 1
            with blas_threads(1):
                assert blas() == 1
            assert blas() == before + 1
        assert blas() == before
    assert blas() == before


@pytest.mark.parametrize("number", [1, 3])
def test_ctrl_c_in_any_call_leaves_blas_as_it_was(number):
    before = blas()
    with blas_threads(2, exactly=True):
        for at in range(1, 1000):
            calls = 0

            def interrupt(frame, event, arg, at=at):
                nonlocal calls
                generator = frame.f_code.co_flags & CO_GENERATOR  # these are called by no one
                calls += event == "call" and not generator
                if calls == at:
                    sys.setprofile(None)
                    raise KeyboardInterrupt

            try:
                sys.setprofile(interrupt)
                with blas_threads(number, exactly=True):
                    pass
            except KeyboardInterrupt:
                pass
            finally:
                sys.setprofile(None)
            assert blas() == 2, at
            if calls < at:
                break
        assert at > 5  # each call had its turn
    assert blas() == before


def test_any_thread_may_set_the_limit_and_any_other_restore_it():
    before = blas()
    for begin, end in [(0, 1), (1, 0), (1, 1)]:
        pools = [ThreadPoolExecutor(1), ThreadPoolExecutor(1)]
        limit = blas_threads(1)
        pools[begin].submit(limit.__enter__).result()
        assert blas() == 1
        pools[end].submit(limit.__exit__, None, None, None).result()
        assert blas() == before
        for pool in pools:
            pool.shutdown()


def test_maps_in_many_threads_leave_blas_as_it_was():
    before = blas()
    with ThreadPoolExecutor(6) as pool:
        maps = [pool.submit(lambda: list(ordered_map(np.sqrt, range(50), 2))) for _ in range(30)]
    assert all(len(each.result()) == 50 for each in maps)
    assert blas() == before


class Slow:
    n_jobs = None

    def __init__(self):
        self.inside, self.go = threading.Event(), threading.Event()

    @fitting
    def fit(self, again=False):
        if again:
            return self.fit()
        self.inside.set()
        self.go.wait(30)
        return self


def test_a_second_fit_of_an_object_at_the_same_time_is_refused():
    slow = Slow()
    thread = threading.Thread(target=slow.fit)
    thread.start()
    assert slow.inside.wait(30)
    with pytest.raises(RuntimeError, match="Slow is being fitted by another thread: fit an object"):
        slow.fit()
    slow.go.set()
    thread.join()
    assert slow.fit(again=True) is slow  # a fit within a fit, in one thread, is the same fit


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_eight_threads_fit_one_object_or_say_that_they_cannot(learner):
    model = clone(learner).set_params(n_jobs=1)
    y = Y[:80] if is_classifier(model) else X[:80, 1]

    def fit(k):
        try:
            model.fit(X[: 60 + k % 20], y[: 60 + k % 20])
        except RuntimeError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(fit, range(24)))
    assert all(not text or "another thread" in text for text in said)
    assert "" in said
    assert np.isfinite(np.asarray(model.predict(NEW), float)).all()
