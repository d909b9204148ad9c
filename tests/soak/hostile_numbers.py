"""Hostile numbers: a fit to samples and targets of any scale ends in finite values or an error.

Columns are huge, denormal, constant, repeated or of mixed scales, in float32 or float64; targets
and weights likewise; and parameters are drawn from their whole ranges. What may come out is a
finite prediction for the training rows and for new ones, or an error of this library that says what
to do. A raw error of NumPy, SciPy or LAPACK is a fault, and so is any warning but a
ConvergenceWarning.
"""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer import (
    SVC,
    SVR,
    KernelLogisticRegression,
    KernelRidge,
    KernelRidgeClassifier,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
)

CLASSIFIERS = (KernelRidgeClassifier, KernelLogisticRegression, SVC, NuSVC, LinearSVC)
REGRESSORS = (KernelRidge, SVR, NuSVR, LinearSVR)
KERNELS = ("linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "matern")
#: exponents of ten of a column, a target or a weight, in float64
SCALES = (-320, -310, -160, -30, -8, 0, 0, 0, 0, 8, 30, 100, 154, 160, 300, 308)
STEPS = 300  # of any solver: to end early is a ConvergenceWarning


def _scaled(rng: np.random.Generator, values: np.ndarray, dtype: Any) -> np.ndarray:
    """Values times 10 ** one of SCALES, finite in the dtype."""
    with np.errstate(all="ignore"):
        largest = float(np.finfo(dtype).max)
        exponent = int(rng.choice(SCALES))
        out = values * 10.0 ** (exponent / 2) * 10.0 ** (exponent / 2)
        return np.clip(np.nan_to_num(out), -largest, largest).astype(dtype)


def _samples(rng: np.random.Generator) -> np.ndarray:
    """(n, d) with hostile columns; some rows may repeat."""
    dtype = rng.choice([np.float32, np.float64])
    n, d = int(rng.integers(4, 30)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.3:
        X = X[:, :1] * rng.normal(size=d)  # of rank 1
    if rng.random() < 0.3:
        X = X[rng.integers(0, n, n)]
    if rng.random() < 0.2:
        X[:, 0] = 1.0
    if rng.random() < 0.5:
        return _scaled(rng, X, dtype)
    return np.stack([_scaled(rng, column, dtype) for column in X.T], axis=1)


def _targets(rng: np.random.Generator, n: int, dtype: Any) -> np.ndarray:
    return _scaled(rng, rng.normal(size=n) + rng.choice([0, 100]), rng.choice([dtype, np.float64]))


def _weights(rng: np.random.Generator, n: int) -> np.ndarray | None:
    kind = rng.integers(0, 4)
    if kind < 2:
        return None
    w = rng.random(n) if kind == 2 else rng.integers(0, 3, n).astype(float)
    return w * 10.0 ** rng.choice([0, 0, -300, -8, 8, 300])


def _learner(rng: np.random.Generator, family: tuple) -> Any:
    """A learner with parameters from their whole range."""
    model = family[int(rng.integers(len(family)))]()
    params = model.get_params()
    number = 10.0 ** float(rng.choice([-300, -8, -2, 0, 0, 0, 2, 8, 300]))
    if "kernel" in params:
        model.set_params(kernel=str(rng.choice(KERNELS)))
        if rng.random() < 0.3:
            model.set_params(gamma=10.0 ** float(rng.choice([-300, -8, -1, 0, 1, 8, 300])))
    if "alpha" in params:
        model.set_params(alpha=rng.choice([0.0, number]) if rng.random() < 0.8 else "auto")
        model.set_params(solver=str(rng.choice(["auto", "conjugate_gradient", "low_rank"])))
    elif "C" in params and rng.random() < 0.5:
        model.set_params(C=number)
    if "solver" in params and "alpha" not in params:
        model.set_params(solver=str(rng.choice(["auto", "low_rank"])))
    if "max_iter" in params:
        model.set_params(max_iter=STEPS)
    if "probability" in params and rng.random() < 0.2:
        model.set_params(probability=True)
    return model.set_params(n_jobs=1)


def _check(rng: np.random.Generator, model: Any, X: np.ndarray, y: Any, w: Any) -> None:
    """Fit and predict; an error has to be ours, and outputs finite."""
    new = np.concatenate([X[:3], _scaled(rng, rng.normal(size=(2, X.shape[1])), X.dtype)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(X, y, sample_weight=w)
            outputs = [model.predict(X), model.predict(new)]
            for name in ("decision_function", "predict_proba"):
                if hasattr(model, name):
                    outputs += [getattr(model, name)(X), getattr(model, name)(new)]
        except (ValueError, TypeError) as error:
            if type(error) is not ValueError or ":" not in str(error):  # LinAlgError, or no remedy
                raise
            return
    for values in outputs:
        if values.dtype.kind == "f":
            assert np.isfinite(values).all(), f"{model!r} gave {values}"
    for name in ("dual_coef_", "intercept_", "coef_"):
        values = getattr(model, name, 0.0)
        assert np.isfinite(values).all(), f"{model!r}: {name} is {values}"


def regression(rng: np.random.Generator, folder: pathlib.Path) -> None:
    """A regressor on hostile samples and targets."""
    X = _samples(rng)
    model = _learner(rng, REGRESSORS)
    if "epsilon" in model.get_params() and rng.random() < 0.5:
        model.set_params(epsilon=float(rng.choice([0.0, 1e-300, 1e8, 1e300])))
    _check(rng, model, X, _targets(rng, len(X), X.dtype), _weights(rng, len(X)))


def classification(rng: np.random.Generator, folder: pathlib.Path) -> None:
    """A classifier on hostile samples."""
    X = _samples(rng)
    y = np.arange(len(X)) % int(rng.integers(2, 4))
    _check(rng, _learner(rng, CLASSIFIERS), X, rng.permutation(y), _weights(rng, len(X)))


def outliers(rng: np.random.Generator, folder: pathlib.Path) -> None:
    """OneClassSVM on hostile samples."""
    X = _samples(rng)
    _check(rng, _learner(rng, (OneClassSVM,)), X, None, _weights(rng, len(X)))


TRIALS: dict[str, Callable[[np.random.Generator, pathlib.Path], None]] = {
    "regression": regression,
    "classification": classification,
    "outliers": outliers,
}
