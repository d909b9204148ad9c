"""What all kernel learners do with their samples and their kernel, in one place.

A learner never asks what a sample is: its kernel encodes them. `KernelLearner` resolves
``kernel=``, encodes samples once (with scikit-learn's ``n_features_in_`` and feature names where
they are vectors), binds the kernel to the training sample, leaves out rows of weight 0, which are
absent, and asks `mercer.gram.gram` for K.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.gram import GramOperator, LowRankGram, gram, memory_budget
from mercer.kernels import Kernel, Precomputed, as_kernel
from mercer.learners.targets import check_targets, check_weights
from mercer.samples import MatrixRows

__all__ = ["FitPath", "KernelLearner", "Training"]


class Training(NamedTuple):
    """The training samples of a fit, without rows of weight 0.

    Attributes
    ----------
    X : encoded samples (n)
    y : ndarray or None
    weights : ndarray of shape (n,) or None
        None where all are 1.
    rows : ndarray of shape (n,), int
        Their places in the data that the user gave.
    shape : tuple of int
        Of the data that the user gave.
    """

    X: Any
    y: Any
    weights: np.ndarray | None
    rows: np.ndarray
    shape: tuple[int, ...]

    @property
    def all_weights(self) -> np.ndarray:
        """The weights as an array, (n,)."""
        return np.ones(self.X.shape[0]) if self.weights is None else self.weights

    def weighed(self, weights: np.ndarray) -> Training:
        """The same samples with other weights; rows whose weight is 0 now are left out."""
        kept = np.flatnonzero(weights)
        if len(kept) == len(weights):
            return self._replace(weights=weights)
        y = None if self.y is None else self.y[kept]
        return Training(self.X[kept], y, weights[kept], self.rows[kept], self.shape)


class FitPath:
    """What fits to the same samples share, which differ in one parameter alone: the path.

    ``learner.new_path(values)`` makes one, for fits of the learner with these values of
    ``learner.path_parameter``; each takes it as ``fit(X, y, fit_path=path)``. Here the encoded
    samples, the bound kernel and K; learners that share more have a path of their own.

    Attributes
    ----------
    kernel : Kernel or None
        As the first fit bound it.
    training : Training or None
        As the first fit encoded it.
    """

    def __init__(self):
        self.kernel: Any = None
        self.training: Training | None = None
        self._given: Any = None
        self._made: dict[str, Any] = {}

    def knows(self, X: Any) -> bool:
        """Whether these samples are those of an earlier fit; a path is for one sample."""
        if self.training is not None and self._given is not X:
            raise ValueError("fit_path= is shared by fits to the same X; give each X its own path.")
        return self.training is not None

    def keep(self, X: Any, kernel: Kernel, training: Training) -> None:
        """Keep what the first fit has made of X."""
        self._given, self.kernel, self.training = X, kernel, training

    def shared(self, make: Callable[[], Any], what: str = "gram") -> Any:
        """What ``make`` gives, as it gave it to the first fit: the Gram matrix, or a factor."""
        if what not in self._made:
            self._made[what] = make()
        return self._made[what]


class KernelLearner(BaseEstimator):
    """Abstract: a learner with the parameters ``kernel``, ``memory`` and ``n_jobs``.

    Subclasses write ``fit`` from these steps, in this order: `_training`, `_gram`, a solver,
    `_keep_support`. Fitted attributes that this class sets: ``kernel_`` (bound), ``X_fit_``
    (encoded: what predictions compare with) and ``gram_`` (what the Gram matrix of the fit was, in
    words).
    """

    kernel: Any
    memory: int | float | str | None
    n_jobs: int | None
    rank: int | None
    random_state: Any

    #: a callable kernel compares two objects (KernelRidge) rather than two samples (SVC)
    _pairwise_callable = False
    #: a parameter along which fits to the same samples share work, in the order of its values
    path_parameter: str | None = None

    def new_path(self, values: list) -> FitPath:
        """What fits share that differ in ``path_parameter`` alone, which takes these values."""
        return FitPath()

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of a kernel object as ``kernel__gamma``."""
        kernel = params.get("kernel", self.kernel)
        inner = next((name for name in params if name.startswith("kernel__")), None)
        if inner is not None and not isinstance(kernel, BaseEstimator):
            name = inner.removeprefix("kernel__")
            raise ValueError(
                f"{inner}= sets a parameter of a kernel object, but kernel={kernel!r} is none: set "
                f"{name}= of {type(self).__name__} itself, or give a kernel object such as "
                "kernel=RBF()."
            )
        return super().set_params(**params)

    def resolve_kernel(self) -> Kernel:
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

    def _training(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        targets: bool = True,
        numeric: bool = True,
        fit_path: FitPath | None = None,
    ) -> Training:
        """Encode and check the training samples, and bind the kernel to them, ``kernel_``."""
        if fit_path is not None and fit_path.knows(X):
            self.kernel_: Kernel = fit_path.kernel
            assert fit_path.training is not None
            return fit_path.training
        kernel = self.resolve_kernel()
        encoded = kernel.encode(X)
        self._remember_columns(X, encoded, reset=True)
        name = type(self).__name__
        y = check_targets(encoded, y, name, numeric=numeric) if targets else None
        w = check_weights(encoded, sample_weight)
        training = Training(encoded, y, None, np.arange(encoded.shape[0]), encoded.shape)
        if w is not None:
            training = training.weighed(w)  # weight 0 equals absence
        self.kernel_ = self.bind_kernel(kernel, training)
        if fit_path is not None:
            fit_path.keep(X, self.kernel_, training)
        return training

    def bind_kernel(self, kernel: Kernel, training: Training) -> Kernel:
        """A kernel with what it learns from training samples, as ``fit`` binds its own."""
        return kernel.bind(training.X, training.y)

    def entry_room(self, training: Training) -> float:
        """The relative error of K's entries that the learner's tolerance leaves room for."""
        return 0.0

    def _remember_columns(self, X: Any, encoded: Any, *, reset: bool) -> None:
        """scikit-learn's record of columns and their names, of vectors and precomputed matrices."""
        matrix = isinstance(encoded, (np.ndarray, MatrixRows)) or sp.issparse(encoded)
        if matrix and not isinstance(X, MatrixRows):
            validate_data(self, X, skip_check_array=True, reset=reset)
        elif reset:  # columns that an earlier fit was to: other samples have none
            for name in ("n_features_in_", "feature_names_in_"):
                vars(self).pop(name, None)

    def _encode_new(self, X: Any) -> Any:
        """Encode samples to predict for, in the codes of the training samples."""
        check_is_fitted(self)
        vectors = self.kernel_.kind == "vectors"  # whose columns scikit-learn compares
        encoded = self.kernel_.encode(X, None if vectors else self.X_fit_)
        self._remember_columns(X, encoded, reset=False)
        return encoded

    def _gram(self, X: Any, fit_path: FitPath | None = None) -> GramOperator:
        """K between the training samples, held where it fits; ``gram_`` says what it is."""

        def held() -> GramOperator:
            return gram(self.kernel_, X, memory=self.memory, n_jobs=self.n_jobs).held()

        K = held() if fit_path is None else fit_path.shared(held)
        self.gram_ = K.describe()
        return K

    def _low_rank_gram(
        self, X: Any, rank: int, *, held: bool = False, fit_path: FitPath | None = None
    ) -> LowRankGram:
        """K between the training samples by a factor of ``rank`` columns, or as the learner says.

        ``held``: the factor has to fit half of ``memory``, which bounds its rank.
        """
        n, fitting = X.shape[0], memory_budget(self.memory) // (2 * X.shape[0] * X.dtype.itemsize)
        if held and self.rank is None:
            if fitting < 1:
                raise MemoryError(
                    f"memory={self.memory!r} has no room for a factor of {n} rows: give a larger "
                    "one."
                )
            rank = min(rank, fitting)

        def factor() -> Any:
            return gram(
                self.kernel_, X, rank=min(self.rank or rank, n), memory=self.memory,
                random_state=self.random_state, n_jobs=self.n_jobs,
            )  # fmt: skip

        K = factor() if fit_path is None else fit_path.shared(factor)
        self.gram_ = K.describe()
        return K

    def cross_gram(self, X: Any) -> GramOperator:
        """K between new samples, as the user gave them, and those that the fit has kept,
        ``X_fit_``; nothing is computed before it is used."""
        X = self._encode_new(X)
        return gram(self.kernel_, X, self.X_fit_, memory=self.memory, n_jobs=self.n_jobs)

    def _keep_support(self, X: Any) -> None:
        """Keep what predictions compare new samples with."""
        self.X_fit_ = self.kernel_.support(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        kernel = Precomputed() if _is_precomputed(self.kernel) else self.kernel
        kind = kernel.kind if isinstance(kernel, Kernel) else "vectors"
        tags.input_tags.pairwise = kind == "precomputed"
        tags.input_tags.sparse = kind == "vectors"
        if kind not in ("vectors", "precomputed"):
            tags.input_tags.two_d_array = kind in ("categories", "table")
            tags.input_tags.categorical = kind in ("categories", "table")
            tags.input_tags.string = kind == "strings"
        return tags


def _is_precomputed(kernel: Any) -> bool:
    return isinstance(kernel, str) and kernel == "precomputed"


def _equal(value: Any, default: Any) -> bool:
    return value is default or (np.isscalar(value) and value == default)
