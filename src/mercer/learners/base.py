"""What all kernel learners do with their samples and their kernel, in one place.

A learner never asks what a sample is: its kernel encodes them. `KernelLearner` resolves
``kernel=``, validates vectors as scikit-learn wants it (``n_features_in_``, feature names), binds
the kernel to the training sample once, checks targets and weights against the rows, and builds
Gram operators.
"""

from __future__ import annotations

import inspect
import threading
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.gram import DenseGram, Gram, GramOperator
from mercer.kernels import Kernel, as_kernel
from mercer.samples import refuse_objects

__all__ = ["ChecksTargets", "FitPath", "KernelLearner"]

FLOATS = [np.float64, np.float32]


class ChecksTargets:
    """Mixin: targets and weights against the rows of X, for learners with a kernel or without."""

    def _check_targets(self, X: Any, y: Any, *, numeric: bool = True) -> np.ndarray:
        """y as an array with one entry or row for each row of X; finite floats when numeric."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        if sp.issparse(y):
            raise TypeError(f"y is a sparse matrix of shape {y.shape}: give a dense array.")
        y = np.asarray(y)
        if y.ndim not in (1, 2):
            raise ValueError(
                f"y has shape {y.shape}; give one target per row of X, or a 2-D array of them."
            )
        if len(y) != X.shape[0]:
            raise ValueError(
                f"y has {len(y)} rows, but X has {X.shape[0]}: give one target per sample."
            )
        if numeric and y.dtype.kind not in "fiub":
            try:
                y = y.astype(np.float64)
            except (TypeError, ValueError):
                raise ValueError(
                    f"y has values that are not numbers, such as {y.ravel()[0]!r}: a regression "
                    "needs numbers; for classes use a classifier."
                ) from None
        if numeric:
            y = y.astype(np.float64 if y.dtype != np.float32 else np.float32, copy=False)
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            row = int(np.argwhere(~np.isfinite(y))[0][0])
            raise ValueError(
                f"y contains NaN or infinity, first in row {row}: Input y must be finite; leave "
                "such rows out."
            )
        return y

    def _check_weights(self, X: Any, sample_weight: Any) -> np.ndarray | None:
        """sample_weight as a float64 array of one weight per row; None when all are 1."""
        if sample_weight is None:
            return None
        n = X.shape[0]
        w = np.asarray(sample_weight, dtype=np.float64)
        if w.ndim == 0:
            w = np.full(n, float(w))
        if w.shape != (n,):
            raise ValueError(
                f"sample_weight has shape {w.shape}, wanted ({n},): one weight for each row of X. "
                "(Sample weights must be 1D array or scalar.)"
            )
        if not np.isfinite(w).all():
            raise ValueError("sample_weight contains NaN or infinity: give finite numbers >= 0.")
        if (w < 0).any():
            row = int(np.argmin(w))
            raise ValueError(
                f"sample_weight has the negative value {w[row]:g} in row {row}: weights mean "
                "repetition, give numbers >= 0."
            )
        if not w.any():
            raise ValueError("sample_weight is zero for every row: no sample is left to fit.")
        return None if (w == 1).all() else w


class KernelLearner(ChecksTargets, BaseEstimator):
    """Abstract: a learner with the parameters ``kernel``, ``memory`` and ``n_jobs``.

    Subclasses write ``fit`` from these steps, in this order: `_encode_fit`, then
    `_check_targets` and `_check_weights`, then `_gram`, then a solver. Fitted attributes that
    this class sets: ``kernel_`` (bound; None when precomputed), ``X_fit_`` (encoded) and
    ``gram_`` (what the Gram matrix of the fit was, in words).
    """

    kernel: Any
    memory: int | float | str | None
    n_jobs: int | None

    #: a callable kernel compares two rows (KernelRidge) rather than two arrays (SVC)
    _pairwise_callable = False
    #: a parameter along which fits to the same samples share work, in the order of its values
    _path_parameter: str | None = None
    #: what such fits share; a search sets it (see `mercer.selection.plan`)
    _path: Any = None

    def _weighted_scale(self) -> bool:
        """Whether the kernel's parameters are learnt from the weights of the rows too."""
        return False

    def _new_path(self, models: list) -> FitPath:
        """What the fits of these models, which differ in ``_path_parameter`` alone, share."""
        return FitPath()

    def _resolve_kernel(self) -> Kernel:
        """The kernel object for ``kernel=`` and the scikit-learn arguments beside it.

        Beside a kernel object an argument is refused when it differs from its default, so that
        it is never ignored. ``gamma=None`` of a named kernel is 1 / n_features, as in
        scikit-learn's pairwise kernels.
        """
        params = self.get_params(deep=False)
        given = {name: params[name] for name in ("gamma", "degree", "coef0") if name in params}
        if isinstance(self.kernel, Kernel):
            defaults = inspect.signature(type(self)).parameters
            given = {k: v for k, v in given.items() if not _equal(v, defaults[k].default)}
        elif given.get("gamma", 0) is None and self.kernel != "chi2":
            given["gamma"] = "auto"
        return as_kernel(
            self.kernel,
            pairwise=self._pairwise_callable,
            kernel_params=params.get("kernel_params"),
            **given,
        )

    def _encode_fit(self, X: Any, y: Any = None) -> Any:
        """Validate and encode the training samples, and bind the kernel to them."""
        kernel, X = self._encode_samples(X)
        self.kernel_ = None if kernel is None else kernel.bind(X, y)
        self.X_fit_ = X
        return X

    def _encode_samples(self, X: Any) -> tuple[Kernel | None, Any]:
        """The kernel, not yet bound, and the samples encoded for it; None and K if precomputed."""
        if self._is_precomputed():
            return None, check_square(np.asarray(validate_data(self, X, dtype=FLOATS)))
        kernel = self._resolve_kernel()
        if kernel.kind == "vectors":
            named = self.kernel if isinstance(self.kernel, str) else type(kernel).__name__
            refuse_objects(X, named)
            X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, order="C")
        else:
            self._forget_columns()
        return kernel, kernel.encode(X)

    def _forget_columns(self) -> None:
        """Columns of vectors that an earlier fit was to: other samples have none."""
        for name in ("n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)

    def _encode_new(self, X: Any) -> Any:
        """Validate and encode samples to predict for, in the codes of the training samples."""
        check_is_fitted(self)
        if self.kernel_ is None:
            n, shape = self.X_fit_.shape[0], np.shape(X)
            if len(shape) == 2 and shape[1] != n:
                raise ValueError(
                    f"X has shape {shape}; wanted (m, {n}): the precomputed kernel between m new "
                    f"samples and all {n} samples of the fit."
                )
            return validate_data(self, X, dtype=FLOATS, reset=False)
        if self.kernel_.kind == "vectors":
            named = self.kernel if isinstance(self.kernel, str) else type(self.kernel_).__name__
            refuse_objects(X, named)
            X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, order="C", reset=False)
        return self.kernel_.encode(X, like=self.X_fit_)

    def _gram(self, X: Any, Z: Any = None) -> GramOperator:
        """K between encoded samples; K between the training samples when Z is None.

        The second form sets ``gram_``.
        """
        if self.kernel_ is None:
            K: GramOperator = DenseGram(X, symmetric=Z is None)
        elif self._path is not None and Z is None:
            K = self._path.gram(self, X)
        else:
            K = Gram(self.kernel_, X, Z, memory=self.memory, n_jobs=self.n_jobs)
        if Z is None:
            self.gram_ = describe_gram(K)
        return K

    def _bind_present(self, X: Any, y: np.ndarray | None, w: np.ndarray | None) -> None:
        """Bind the kernel again without the rows of weight 0, which are absent."""
        if self.kernel_ is not None and w is not None and not w.all():
            kept = np.flatnonzero(w)
            self.kernel_ = self._resolve_kernel().bind(X[kept], None if y is None else y[kept])

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        if isinstance(self.kernel, Kernel) and self.kernel.kind != "vectors":
            tags.input_tags.two_d_array = self.kernel.kind in ("categories", "table")
            tags.input_tags.sparse = False
            tags.input_tags.categorical = self.kernel.kind in ("categories", "table")
            tags.input_tags.string = self.kernel.kind == "strings"
        return tags


class FitPath:
    """What fits to the same samples share, which differ in one parameter but not in the kernel.

    Here the Gram matrix of the training samples alone; learners that share more have their own.

    Attributes
    ----------
    stopped : threading.Event
        Set from outside when the fits are no longer wanted; solvers that take long look at it.
    interrupted : bool
        Set by a fit that was not brought to its end.
    """

    def __init__(self):
        self.stopped = threading.Event()
        self.interrupted = False
        self._gram: tuple[Any, GramOperator] | None = None

    def gram(self, learner: KernelLearner, X: Any) -> GramOperator:
        """K between the training samples, as the first fit built it."""
        if self._gram is None or self._gram[0] is not X:
            K = Gram(learner.kernel_, X, memory=learner.memory, n_jobs=learner.n_jobs)
            self._gram = X, K
        return self._gram[1]


def check_square(K: np.ndarray) -> np.ndarray:
    """A precomputed Gram matrix of training samples: square, and symmetric within rounding."""
    n, m = K.shape
    if n != m:
        raise ValueError(
            f"X has shape {K.shape}; a precomputed kernel matrix must be square in fit: "
            "K[i, j] = k(x_i, x_j) between all training samples."
        )
    tol = 1e-5 if K.dtype == np.float32 else 1e-8
    size = max(float(np.abs(K[i : i + 256]).max()) for i in range(0, n, 256))
    for s in range(0, n, 256):  # by strips: no second matrix is made
        gap = np.abs(K[s : s + 256] - K[:, s : s + 256].T)
        if gap.max() > tol * size:
            i, j = np.unravel_index(gap.argmax(), gap.shape)
            raise ValueError(
                f"X is a precomputed kernel matrix, but it is not symmetric: K[{s + i}, {j}] = "
                f"{K[s + i, j]:.6g} and K[{j}, {s + i}] = {K[j, s + i]:.6g}. Give a symmetric "
                "matrix, for instance (K + K.T) / 2."
            )
    return K


def describe_gram(K: GramOperator) -> str:
    """A Gram operator in words: its class, shape and precision."""
    return f"{type(K).__name__} {K.shape[0]} x {K.shape[1]} {np.dtype(K.dtype).name}"


def _equal(value: Any, default: Any) -> bool:
    return value is default or (np.isscalar(value) and value == default)
