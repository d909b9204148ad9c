"""What distances and kernels share: both compare two samples, block by block.

A comparison is a parameter object in scikit-learn's sense: the constructor stores its arguments
untouched, so that ``get_params``, ``set_params``, ``clone`` and ``repr`` come for nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mercer.samples import as_samples

__all__ = ["Comparison"]


class Comparison(BaseEstimator, ABC):
    """A function of two samples, evaluated on blocks of them.

    Subclasses define `block`, and override `validate` when they have parameters and `bind` when
    they learn something from the training sample.
    """

    #: the kind of sample that is compared: a key of `mercer.samples.KINDS`
    kind: str = "vectors"
    #: value(x, z) == value(z, x)
    symmetric: bool = True

    @abstractmethod
    def block(self, X: Any, Z: Any) -> np.ndarray:
        """Value for every row x of X (n) and z of Z (m), encoded samples; shape (n, m)."""

    def validate(self) -> None:
        """Raise ValueError or TypeError when a parameter is out of range."""

    def encode(self, X: Any, like: Any = None) -> Any:
        """Raw data as the encoded samples that `block` reads; encoded samples pass unchanged."""
        return as_samples(X, self.kind, like=like, reader=type(self).__name__)

    def bind(self, X: Any, y: Any = None) -> Comparison:
        """A frozen copy that has learnt what it needs from the encoded training sample.

        The default has nothing to learn: it validates the parameters and returns itself.
        """
        self.validate()
        return self

    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        """Values on raw data: ``kernel(X)`` or ``kernel(X, Z)``, shape (n, n) or (n, m)."""
        self.validate()
        X = self.encode(X)
        return self.block(X, X if Z is None else self.encode(Z, like=X))
