"""What all kernel learners do with their samples and their kernel, in one place.

A learner never asks what a sample is: its kernel encodes them. `KernelLearner` resolves
``kernel=``, validates vectors as scikit-learn wants it (``n_features_in_``, feature names), binds
the kernel to the training sample once, and builds Gram operators.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.gram import DenseGram, Gram, GramOperator
from mercer.kernels import Kernel, as_kernel
from mercer.samples import refuse_objects

__all__ = ["KernelLearner"]


class KernelLearner(BaseEstimator):
    """Abstract: a learner with the parameters ``kernel``, ``memory`` and ``n_jobs``.

    Fitted attributes: ``kernel_`` (bound; None when precomputed) and ``X_fit_`` (encoded).
    """

    def _kernel_arguments(self) -> dict[str, Any]:
        """The scikit-learn arguments beside ``kernel=``; None where not given."""
        return {}

    def _encode_fit(self, X: Any, y: Any = None) -> Any:
        """Validate and encode the training samples, and bind the kernel to them."""
        if self._is_precomputed():
            self.kernel_ = None
            self.X_fit_ = validate_data(self, X, dtype=[np.float64, np.float32])
            if self.X_fit_.shape[0] != self.X_fit_.shape[1]:
                raise ValueError(
                    f"X has shape {self.X_fit_.shape}; a precomputed kernel matrix must be square "
                    "in fit: K[i, j] = k(x_i, x_j) between all training samples."
                )
            return self.X_fit_
        kernel = as_kernel(self.kernel, **self._kernel_arguments())
        if kernel.kind == "vectors":
            named = self.kernel if isinstance(self.kernel, str) else type(kernel).__name__
            refuse_objects(X, named)
            X = validate_data(
                self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C"
            )
        X = kernel.encode(X)
        self.kernel_ = kernel.bind(X, y)
        self.X_fit_ = X
        return X

    def _encode_new(self, X: Any) -> Any:
        """Validate and encode samples to predict for, in the codes of the training samples."""
        check_is_fitted(self)
        if self.kernel_ is None or self.kernel_.kind == "vectors":
            X = validate_data(
                self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False
            )
        return X if self.kernel_ is None else self.kernel_.encode(X, like=self.X_fit_)

    def _gram(self, X: Any, Z: Any = None) -> GramOperator:
        """K between encoded samples; K between the training samples when Z is None."""
        if self.kernel_ is None:
            return DenseGram(X, symmetric=Z is None)
        return Gram(self.kernel_, X, Z, memory=self.memory, n_jobs=self.n_jobs)

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = True
        if isinstance(self.kernel, Kernel) and self.kernel.kind != "vectors":
            tags.input_tags.two_d_array = self.kernel.kind in ("categories", "table")
            tags.input_tags.sparse = False
            tags.input_tags.categorical = self.kernel.kind in ("categories", "table")
            tags.input_tags.string = self.kernel.kind == "strings"
        return tags
