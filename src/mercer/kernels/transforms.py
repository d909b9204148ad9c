"""Kernels that change the features of one kernel: normalised, centred, modulated, mapped.

Like the nodes of algebra.py, each keeps positive semidefiniteness.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from mercer.distances.vectors import dense
from mercer.kernels.algebra import Node, have_features
from mercer.kernels.base import Kernel
from mercer.kernels.mantissas import normalised, values

__all__ = ["Centred", "Mapped", "Modulated", "Normalised"]


SEEN = 8  # rows that are looked at for a Gram matrix that is the identity
SEEN_WORK = 2e9  # operations that this may take


def _may_overflow(node: Normalised) -> bool:
    return hasattr(node.kernel, "scaled_block")


class Normalised(Node):
    """k(x, z) / sqrt(k(x, x) k(z, z)): the cosine in feature space; 0 where k(x, x) = 0.

    Parameters
    ----------
    kernel : Kernel

    Notes
    -----
    A kernel whose values leave the floating range is normalised from mantissas and exponents
    (``scaled_block`` and ``scaled_diag``, where it has them).

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().normalised()([[2.0]], [[3.0]])
    array([[1.]])
    """

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def bind(self, X: Any, y: Any = None) -> Kernel:
        bound = super().bind(X, y)
        if hasattr(bound, "scaled_block"):
            _warn_of_identity(bound, X)
        return bound

    def block(self, X: Any, Z: Any) -> np.ndarray:
        if hasattr(self.kernel, "scaled_block"):
            return values(self.scaled_block(X, Z), X.dtype)
        K = self.kernel.block(X, Z)
        scale = self._scale(X)  # which may cost as much as the block
        K *= scale[:, None]
        K *= scale if Z is X else self._scale(Z)
        return K

    @available_if(_may_overflow)
    def scaled_block(self, X: Any, Z: Any) -> tuple[np.ndarray, np.ndarray]:
        """The value as (m, e), m 2^e: normalised values may be too small for a float; (n, m)."""
        diag = self.kernel.scaled_diag(X)
        diags = diag, diag if Z is X else self.kernel.scaled_diag(Z)
        return normalised(self.kernel.scaled_block(X, Z), *diags)

    def diag(self, X: Any) -> np.ndarray:
        scaled = hasattr(self.kernel, "scaled_diag")  # whose plain values may vanish
        d = self.kernel.scaled_diag(X)[0] if scaled else self.kernel.diag(X)
        return (d > 0).astype(X.dtype)

    @available_if(have_features)
    def features(self, X: Any) -> np.ndarray:
        """The features, each row divided by its norm."""
        return dense(self.kernel.features(X)) * self._scale(X)[:, None]

    def _scale(self, X: Any) -> np.ndarray:
        d = self.kernel.diag(X)
        return np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0).astype(X.dtype)


def _warn_of_identity(kernel: Any, X: Any) -> None:
    """Warn when a normalised kernel sees no two of some rows as alike."""
    rows = np.unique(np.linspace(0, X.shape[0] - 1, SEEN).astype(int))
    cost = np.array([kernel.pair_cost(X[i : i + 1]) for i in rows])
    order = np.argsort(cost, kind="stable")  # the cheapest, as many as can be had at once
    rows = rows[order[: max(2, int((cost[order] * SEEN**2 < SEEN_WORK).sum()))]]
    S = X[np.sort(rows)]
    K = values(kernel.scaled_block(S, S), np.dtype(float))
    K = K[np.ix_(K.diagonal() > 0, K.diagonal() > 0)]
    others = K[np.triu_indices(len(K), 1)]
    # equal rows tell nothing, nor do rows that share nothing, as most do under sparse kernels
    others = others[(others < 1 - 1e-9) & (others != 0)]
    if len(others) and (np.abs(others) < np.finfo(float).eps).all():
        warnings.warn(
            f"{kernel!r}: of {len(S)} rows no two different ones are alike (values below "
            f"{np.abs(others).max():.1e}): the Gram matrix is numerically the identity, and "
            "nothing can be learnt from it. Take a kernel that forgives differences: a decay < 1 "
            "or a smaller p, or GapWeighted or Spectrum for strings.",
            stacklevel=4,
        )


class Centred(Node):
    """The kernel of features centred on the training sample, learnt by ``bind``:
    k(x, z) - mean_i k(x, x_i) - mean_i k(x_i, z) + mean_ij k(x_i, x_j).

    Parameters
    ----------
    kernel : Kernel
    sample : samples, optional
        The training sample; None: learnt by ``bind``.
    mean : float, optional
        The mean of the sample's Gram matrix; learnt by ``bind``.

    Notes
    -----
    A block of shape (n, m) costs two more blocks, against the sample. `mercer.gram` centres whole
    Gram matrices at the cost of one product.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> kernel = Centred(Linear())
    >>> X = np.array([[1.0], [3.0]])
    >>> kernel.bind(X).block(X, X)
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    def __init__(self, kernel: Kernel, sample: Any = None, mean: float | None = None):
        self.kernel = kernel
        self.sample = sample
        self.mean = mean

    def bind(self, X: Any, y: Any = None) -> Centred:
        self.validate()
        if self.mean is not None:
            return self
        kernel = self.kernel.bind(X, y)
        sample = X if self.sample is None else kernel.encode(self.sample, like=X)
        rows = Centred(kernel, sample, 0.0)
        parts = [rows._means(sample[s : s + 512]) for s in range(0, sample.shape[0], 512)]
        return Centred(kernel, sample, float(np.concatenate(parts).mean()))

    def _means(self, X: Any) -> np.ndarray:
        if self.mean is None:
            raise ValueError("Centred has no sample yet: bind it to the training sample.")
        return self.kernel.block(X, self.sample).mean(axis=1, dtype=np.float64).astype(X.dtype)

    def block(self, X: Any, Z: Any) -> np.ndarray:
        K = self.kernel.block(X, Z)
        K -= self._means(X)[:, None]
        K -= self._means(Z)
        K += self.mean
        return K

    def diag(self, X: Any) -> np.ndarray:
        return self.kernel.diag(X) - 2 * self._means(X) + X.dtype.type(self.mean)


class Modulated(Node):
    """f(x) · kernel(x, z) · f(z) for a real function f of the rows.

    Parameters
    ----------
    kernel : Kernel
    function : callable
        Encoded samples -> values of shape (n,).

    Notes
    -----
    Positive semidefinite for any f: its features are those of the kernel, times f(x).

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Modulated(Linear(), lambda X: X[:, 0])([[2.0]], [[3.0]])
    array([[36.]])
    """

    def __init__(self, kernel: Kernel, function: Callable):
        self.kernel = kernel
        self.function = function

    def block(self, X: Any, Z: Any) -> np.ndarray:
        K = self.kernel.block(X, Z)
        K *= self._values(X)[:, None]
        K *= self._values(Z)
        return K

    def diag(self, X: Any) -> np.ndarray:
        return self._values(X) ** 2 * self.kernel.diag(X)

    @available_if(have_features)
    def features(self, X: Any) -> np.ndarray:
        """The features, each row times f."""
        return dense(self.kernel.features(X)) * self._values(X)[:, None]

    def _values(self, X: Any) -> np.ndarray:
        f = np.asarray(self.function(X), dtype=X.dtype)
        if f.shape != (X.shape[0],):
            raise ValueError(
                f"function returned shape {f.shape} for {X.shape[0]} samples: it must return "
                f"one number for each, shape ({X.shape[0]},)."
            )
        return f


class Mapped(Node):
    """kernel(g(x), g(z)) for a transform g of the samples.

    Parameters
    ----------
    kernel : Kernel
    transform : callable
        Encoded samples -> encoded samples with as many rows.

    Notes
    -----
    The transform runs once for each block of samples: cheap transforms only.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Mapped(Linear(), np.sqrt)([[4.0]], [[9.0]])
    array([[6.]])
    """

    def __init__(self, kernel: Kernel, transform: Callable):
        self.kernel = kernel
        self.transform = transform

    def block(self, X: Any, Z: Any) -> np.ndarray:
        A = self.transform(X)
        return self.kernel.block(A, A if Z is X else self.transform(Z))

    def diag(self, X: Any) -> np.ndarray:
        return self.kernel.diag(self.transform(X))

    @available_if(have_features)
    def features(self, X: Any) -> np.ndarray:
        """The features of the transformed samples."""
        return self.kernel.features(self.transform(X))
