"""SIGINT in a fit of several threads: the caller gets KeyboardInterrupt, and nothing else.

`test_interrupts` raises the error itself, in each call of one thread. Here the signal comes as
Ctrl-C does: it is heard in the main thread, which may wait for others, while any thread computes.
What the others raise or return then must not take its place, nor pass for a fit.
"""

import os
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from lanes import few
from mercer import (
    SVC,
    SVR,
    AdditiveRegressor,
    FeatureMachineClassifier,
    KernelClassifier,
    KernelKMeans,
    KernelLogisticRegression,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    KernelSearchCV,
    KNeighborsClassifier,
    LinearSVC,
    MultipleKernelClassifier,
    NuSVC,
    OneClassSVM,
    _native,
)
from mercer.deep import (
    DeepKernelMachineClassifier,
    DeepKernelMachineRegressor,
    MultilayerKernelMachine,
)
from mercer.distributed import Distributed
from mercer.kernels import RBF, Polynomial

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.skipif(os.name == "nt", reason="Windows has no os.kill of one signal"),
]


class Signalling(Polynomial):
    """A kernel that raises SIGINT in its k-th block, in whichever thread computes it."""

    calls, at = 0, None

    def block(self, X, Z):
        kind = type(self)
        kind.calls += 1
        if kind.calls == kind.at:
            signal.raise_signal(signal.SIGINT)
        return super().block(X, Z)


@contextmanager
def signalling(at):
    Signalling.calls, Signalling.at = 0, at
    try:
        yield
    finally:
        Signalling.at = None


KERNEL = Signalling(2)
ROWS = 1100  # K of fewer rows is computed before any solver begins
BY_BLOCKS = {
    "two classes": (SVC(kernel=KERNEL), 2),
    "pairs": (SVC(kernel=KERNEL), 3),
    "several kernels": (MultipleKernelClassifier(kernels=[KERNEL, RBF(1.0)]), 2),
    "search": (KernelSearchCV(SVC(kernel=KERNEL), {"C": [1, 10]}, cv=2), 2),
    "ridge": (KernelRidge(kernel=KERNEL), 9),
    "against the rest": (SVC(kernel=KERNEL, multi_class="ovr"), 3),
    "nu": (NuSVC(nu=0.7, kernel=KERNEL), 3),
    "probabilities": (SVC(kernel=KERNEL, probability=True), 3),
    "regression": (SVR(kernel=KERNEL), 9),
    "logistic": (KernelLogisticRegression(kernel=KERNEL), 3),
    "components": (KernelPCA(2, kernel=KERNEL), 2),
    "perceptron": (KernelPerceptron(kernel=KERNEL), 2),
}


def rings(n, classes, d=4):
    """Points whose class is their distance from 0, with a few errors."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d))
    far = (X**2).sum(axis=1) + 0.3 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(far, np.linspace(0, 1, classes + 1)[1:-1]), far)


def known(model, X):
    """Whether the model is fitted; then its predictions are finite."""
    method = "predict" if hasattr(model, "predict") else "transform"
    try:
        return np.isfinite(getattr(model, method)(X)).all()
    except NotFittedError:
        return False


@pytest.mark.parametrize("name", few(5, BY_BLOCKS))
def test_a_signal_in_any_block_of_the_kernel_is_raised(name):
    model, classes = BY_BLOCKS[name]
    X, y = rings(ROWS, classes)
    y = y if is_classifier(model) else y.astype(float)
    with signalling(None):
        clone(model).set_params(n_jobs=2).fit(X, y)
        count = Signalling.calls
    for at in sorted({int(k) for k in np.linspace(1, count, 3)}):
        cut = clone(model).set_params(n_jobs=2)
        with signalling(at), pytest.raises(KeyboardInterrupt) as caught:
            cut.fit(X, y)
        assert caught.type is KeyboardInterrupt
        known(cut, X[:3])


def test_a_machine_that_was_solved_is_kept_where_later_ones_had_not_begun():
    """Of three pairs of classes the first is solved when the blocks of the last are computed."""
    X, y = rings(900, 3)
    with signalling(None):
        whole = SVC(kernel=KERNEL, n_jobs=1).fit(X, y)
        count = Signalling.calls
    cut = SVC(kernel=KERNEL, n_jobs=1)
    with signalling(count), pytest.raises(KeyboardInterrupt):
        cut.fit(X, y)
    assert not cut.converged_
    assert cut.margin_[0] == pytest.approx(whole.margin_[0])
    assert cut.margin_[2] == np.inf  # this machine is 0
    assert np.isfinite(cut.decision_function(X)).all()


@pytest.mark.parametrize("name", few(1, ["two classes", "pairs", "nu"]))
def test_a_fold_in_which_a_signal_comes_is_no_fold_without_a_score(name):
    """scikit-learn scores a fold NaN where its fit raises another error, and goes on."""
    model, classes = BY_BLOCKS[name]
    X, y = rings(2 * ROWS, classes)
    with signalling(None):
        cross_val_score(clone(model), X, y, cv=2)
        count = Signalling.calls
    for at in (1, count):
        with signalling(at), pytest.raises(KeyboardInterrupt):
            cross_val_score(clone(model), X, y, cv=2)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_machine_with_nu_that_is_cut_blames_no_parameter(at, monkeypatch):
    """Before it has a margin, by which it is divided, the fit is interrupted and not infeasible."""
    solve, calls = _native.smo_solve, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == at:
            raise KeyboardInterrupt
        return solve(*arguments)

    monkeypatch.setattr(_native, "smo_solve", interrupted)
    rng = np.random.default_rng(0)
    with pytest.raises(KeyboardInterrupt):
        NuSVC(nu=0.1, n_jobs=1).fit(rng.normal(size=(900, 3)), rng.permutation(900) % 3)


# --- at many moments, by the clock ---------------------------------------------------------------

BY_CLOCK = {
    "poly": (SVC(kernel="poly", C=10), (900, 3)),
    "poly, five classes": (SVC(kernel="poly", C=10), (900, 5)),
    "sigmoid": (SVC(kernel="sigmoid", C=10), (900, 3)),
    "rbf": (SVC(C=100), (1500, 3)),
    "rbf, two classes": (SVC(C=100), (2500, 2)),
    "probabilities": (SVC(C=10, probability=True), (900, 3)),
    "against the rest": (SVC(C=10, multi_class="ovr"), (900, 3)),
    "nu": (NuSVC(nu=0.4), (900, 3)),
    "regression, rbf": (SVR(C=10), (2000, 9)),
    "regression, poly": (SVR(kernel="poly"), (900, 9)),
    "regression, sigmoid": (SVR(kernel="sigmoid"), (900, 9)),
    "one class": (OneClassSVM(), (3000, 9)),
    "linear": (LinearSVC(C=10), (5000, 3)),
    "ridge": (KernelRidge(kernel="rbf"), (2500, 9)),
    "ridge, poly": (KernelRidge(kernel="poly"), (2500, 9)),
    "ridge classes": (KernelRidgeClassifier(kernel="rbf"), (1500, 3)),
    "logistic": (KernelLogisticRegression(kernel="rbf"), (600, 3)),
    "several kernels": (MultipleKernelClassifier(), (500, 2)),
    "several kernels, easy": (MultipleKernelClassifier(method="easy"), (500, 3)),
    "several kernels, simple": (MultipleKernelClassifier(method="simple"), (500, 2)),
    "search": (KernelSearchCV(SVC(), {"C": [1, 10], "gamma": [0.1, 1]}, cv=3), (400, 3)),
    "neighbours": (KNeighborsClassifier("auto", weights="gaussian"), (2500, 3)),
    "components": (KernelPCA(4, kernel="rbf"), (2000, 3)),
    "clusters": (KernelKMeans(4), (1500, 3)),
    "perceptron": (KernelPerceptron(), (1200, 2)),
    "features": (FeatureMachineClassifier(), (500, 2)),
    "layers": (MultilayerKernelMachine(n_components=16), (300, 2)),
    "deep": (DeepKernelMachineRegressor(2), (60, 9)),
    "deep classes": (DeepKernelMachineClassifier(2), (60, 3)),
    "in parts": (Distributed(KernelRidge(kernel="rbf", rank=50)), (4000, 9)),
    "in parts, classes": (Distributed(KernelRidgeClassifier(kernel="rbf", rank=50)), (4000, 3)),
    "in parts, additive": (Distributed(AdditiveRegressor()), (4000, 9)),
    "automatic": (KernelClassifier(trials=2), (60, 2)),
}
MOMENTS = 10


class Clock:
    """SIGINT after some seconds; harmless once the work has ended."""

    def __init__(self):
        self.armed = False

    def _heard(self, number, frame):
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt

    def cuts(self, work, seconds):
        """Whether the signal ended the work; other errors than KeyboardInterrupt are raised."""
        before = signal.signal(signal.SIGINT, self._heard)
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        try:
            self.armed = True
            timer.start()
            work()
            swallowed, self.armed = not self.armed, False
        except KeyboardInterrupt:
            return True
        finally:
            self.armed = False
            timer.cancel()
            timer.join()
            time.sleep(0)  # here the handler hears a signal that came too late
            signal.signal(signal.SIGINT, before)
        assert not swallowed
        return False


def interrupt_often(work, moments, after=None):
    """Call the work again and again, with a signal at other moments; how often it was cut."""
    work()
    start = time.perf_counter()
    work()
    seconds, clock, cut = time.perf_counter() - start, Clock(), 0
    for k in range(moments):
        if clock.cuts(work, 0.95 * seconds * (k + 0.5) / moments):
            cut += 1
            if after is not None:
                after()
    return cut


# a signal may come where a library has just opened a file
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.full
@pytest.mark.parametrize("name", BY_CLOCK)
def test_a_signal_at_any_moment_is_raised(name):
    model, (n, classes) = BY_CLOCK[name]
    X, y = rings(n, classes, 6)
    y = y if is_classifier(model) else y.astype(float)
    made = []

    def fit():
        made[:] = [clone(model)]
        made[0].fit(X, y)

    assert interrupt_often(fit, MOMENTS, lambda: known(made[0], X[:5])) > 0


@pytest.mark.full
@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid"])
def test_a_cross_validation_ends_by_a_signal(kernel):
    X, y = rings(600, 3)

    def work():
        assert np.isfinite(cross_val_score(SVC(kernel=kernel, C=10), X, y, cv=3)).all()

    assert interrupt_often(work, MOMENTS) > 0
