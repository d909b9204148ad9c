"""Kernels from kernels: sums, products, powers, exponentials, convex combinations.

Every node keeps positive semidefiniteness (Shawe-Taylor & Cristianini 2004, chapter 3) and may
stand wherever a kernel may. Operators build them: ``a + b``, ``2 * a``, ``a * b``, ``a ** 3``.
Nodes that change the features of one kernel (normalised, centred ...) are in transforms.py.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from mercer.distances import Comparison
from mercer.distances.vectors import dense
from mercer.kernels.base import Kernel
from mercer.kernels.mantissas import from_logs

__all__ = [
    "Convex",
    "Exponential",
    "Node",
    "Power",
    "Product",
    "Scaled",
    "Sum",
    "feature_products",
    "have_features",
]


class Node(Kernel):
    """Abstract: a kernel made of kernels, which are those of its parameters that are kernels."""

    def children(self) -> list[Kernel]:
        """The kernels that this one is made of."""
        return [v for v in self.get_params(deep=False).values() if isinstance(v, Kernel)]

    @property
    def kind(self) -> str:  # type: ignore[override]
        kinds = {child.kind for child in self.children()}
        if len(kinds) > 1:
            raise TypeError(
                f"{self!r} mixes kernels on {' and '.join(sorted(kinds))}. Say which columns each "
                'reads: RBF().on("age") + Match().on("sex").'
            )
        return kinds.pop()

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return all(child.symmetric for child in self.children())

    @property
    def positive_definite(self) -> bool | None:  # type: ignore[override]
        verdicts = [child.positive_definite for child in self.children()]
        return True if all(verdicts) else None

    def validate(self) -> None:
        for name, value in self.get_params(deep=False).items():
            if name in ("left", "right", "kernel") and not isinstance(value, Kernel):
                raise TypeError(f"{name}={value!r}: {type(self).__name__} needs a Mercer kernel.")
        for child in self.children():
            child.validate()

    def encode(self, X: Any, like: Any = None) -> Any:
        if self.kind == "table":
            return super().encode(X, like)
        for child in self.children():  # each may refuse what it cannot compare
            X = child.encode(X, like)
        return X

    def bind(self, X: Any, y: Any = None) -> Kernel:
        self.validate()
        parameters = self.get_params(deep=False)
        bound = {
            name: value.bind(X, y) if isinstance(value, Comparison) else value
            for name, value in parameters.items()
        }
        if all(bound[name] is parameters[name] for name in bound):
            return self
        return type(self)(**bound)


def have_features(node: Node) -> bool:
    """Whether all kernels of a node have finite features, for ``available_if``."""
    return all(hasattr(child, "features") for child in node.children())


def feature_products(F: np.ndarray, G: np.ndarray) -> np.ndarray:
    """All products of a column of F and a column of G, row by row; (n, p) and (n, q) -> (n, pq)."""
    return (F[:, :, None] * G[:, None, :]).reshape(len(F), -1)


class Sum(Node):
    """k(x, z) = left(x, z) + right(x, z): features side by side.

    Parameters
    ----------
    left, right : Kernel
        On the same kind of sample.

    Notes
    -----
    Cost: that of both kernels.

    Examples
    --------
    >>> from mercer.kernels import Linear, RBF
    >>> (Linear() + RBF())([[1.0]], [[1.0]])
    array([[2.]])
    """

    def __init__(self, left: Kernel, right: Kernel):
        self.left = left
        self.right = right

    def block(self, X: Any, Z: Any) -> np.ndarray:
        K = self.left.block(X, Z)
        K += self.right.block(X, Z)
        return K

    def diag(self, X: Any) -> np.ndarray:
        return self.left.diag(X) + self.right.diag(X)

    @available_if(have_features)
    def features(self, X: Any) -> np.ndarray:
        """The features of both, side by side."""
        return np.hstack([dense(self.left.features(X)), dense(self.right.features(X))])


class Product(Node):
    """k(x, z) = left(x, z) · right(x, z): products of features.

    Parameters
    ----------
    left, right : Kernel
        On the same kind of sample.

    Notes
    -----
    Its Gram matrix is an elementwise product, positive semidefinite by Schur's theorem.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (Linear() * Linear())([[2.0]], [[3.0]])
    array([[36.]])
    """

    def __init__(self, left: Kernel, right: Kernel):
        self.left = left
        self.right = right

    def block(self, X: Any, Z: Any) -> np.ndarray:
        K = self.left.block(X, Z)
        K *= self.right.block(X, Z)
        return K

    def diag(self, X: Any) -> np.ndarray:
        return self.left.diag(X) * self.right.diag(X)

    @available_if(have_features)
    def features(self, X: Any) -> np.ndarray:
        """All products of a feature of the one and a feature of the other."""
        return feature_products(dense(self.left.features(X)), dense(self.right.features(X)))


class Scaled(Node):
    """k(x, z) = factor · kernel(x, z), factor > 0.

    Parameters
    ----------
    kernel : Kernel
    factor : float > 0

    Notes
    -----
    A factor matters within a sum, and against a penalty.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (2 * Linear())([[2.0]], [[3.0]])
    array([[12.]])
    """

    def __init__(self, kernel: Kernel, factor: float):
        self.kernel = kernel
        self.factor = factor

    def validate(self) -> None:
        super().validate()
        if not 0 < self.factor < np.inf:
            raise ValueError(
                f"factor={self.factor!r}: a kernel times a number needs a finite number > 0, else "
                "it is not positive semidefinite. Leave the kernel out of the sum in place of 0."
            )

    def block(self, X: Any, Z: Any) -> np.ndarray:
        K = self.kernel.block(X, Z)
        K *= self.factor
        return K

    def diag(self, X: Any) -> np.ndarray:
        return self.kernel.diag(X) * X.dtype.type(self.factor)

    @available_if(have_features)
    def features(self, X: Any) -> np.ndarray:
        """The features, times the root of the factor."""
        return dense(self.kernel.features(X)) * X.dtype.type(np.sqrt(self.factor))


class Power(Node):
    """k(x, z) = kernel(x, z) ** exponent, exponent a positive integer.

    Parameters
    ----------
    kernel : Kernel
    exponent : int >= 1

    Notes
    -----
    Its features are the products of ``exponent`` features.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (Linear() ** 2)([[2.0]], [[3.0]])
    array([[36.]])
    """

    def __init__(self, kernel: Kernel, exponent: int):
        self.kernel = kernel
        self.exponent = exponent

    def validate(self) -> None:
        super().validate()
        if not (self.exponent >= 1 and int(self.exponent) == self.exponent):
            raise ValueError(
                f"exponent={self.exponent!r}: only positive integer powers of a kernel are kernels."
            )

    def block(self, X: Any, Z: Any) -> np.ndarray:
        return self.kernel.block(X, Z) ** int(self.exponent)

    def diag(self, X: Any) -> np.ndarray:
        return self.kernel.diag(X) ** int(self.exponent)

    @available_if(have_features)
    def features(self, X: Any) -> np.ndarray:
        """Products of as many features as the exponent says; for few features."""
        F = dense(self.kernel.features(X))
        return reduce(feature_products, [F] * int(self.exponent))


class Exponential(Node):
    """k(x, z) = exp(kernel(x, z)): all powers, with weights 1 / p!.

    Parameters
    ----------
    kernel : Kernel

    Notes
    -----
    Infinite where the value leaves the range of the dtype; the normalised kernel stays finite.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Exponential(Linear())([[1.0]], [[1.0]]).round(4)
    array([[2.7183]])
    """

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def block(self, X: Any, Z: Any) -> np.ndarray:
        K = self.kernel.block(X, Z)
        with np.errstate(over="ignore"):
            return np.exp(K, out=K)

    def diag(self, X: Any) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.exp(self.kernel.diag(X))

    def scaled_block(self, X: Any, Z: Any) -> tuple[np.ndarray, np.ndarray]:
        """k(x, z) as (m, e), k = m 2^e; (n, m) each."""
        return from_logs(self.kernel.block(X, Z))

    def scaled_diag(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """k(x, x) as (m, e); (n,) each."""
        return from_logs(self.kernel.diag(X))


class Convex(Node):
    r"""Convex combination :math:`k(x, z) = \sum_t \mu_t k_t(x, z)`, μ on the simplex.

    Parameters
    ----------
    kernels : list of Kernel
    weights : array-like of shape (len(kernels),), optional
        :math:`\mu_t \ge 0` with sum 1; equal by default.

    Notes
    -----
    The weights are what multiple-kernel learning sets. Cost: that of the kernels.

    Examples
    --------
    >>> from mercer.kernels import Linear, RBF
    >>> Convex([Linear(), RBF()], [0.25, 0.75])([[2.0]], [[2.0]])
    array([[1.75]])
    """

    def __init__(self, kernels: list[Kernel], weights: Any = None):
        self.kernels = kernels
        self.weights = weights

    def children(self) -> list[Kernel]:
        return list(self.kernels)

    def column_groups(self):
        for kernel in self.kernels:
            yield from kernel.column_groups()

    def validate(self) -> None:
        if not self.kernels or not all(isinstance(kernel, Kernel) for kernel in self.kernels):
            raise TypeError(f"kernels={self.kernels!r}: give a list of at least one Mercer kernel.")
        super().validate()
        mu = self._weights()
        if mu.shape != (len(self.kernels),) or (mu < 0).any() or abs(mu.sum() - 1) > 1e-6:
            raise ValueError(
                f"weights={self.weights!r}: give {len(self.kernels)} numbers >= 0 with sum 1."
            )

    def _weights(self) -> np.ndarray:
        if self.weights is None:
            return np.full(len(self.kernels), 1 / len(self.kernels))
        return np.asarray(self.weights, dtype=float)

    def bind(self, X: Any, y: Any = None) -> Convex:
        self.validate()
        bound = [kernel.bind(X, y) for kernel in self.kernels]
        if all(new is old for new, old in zip(bound, self.kernels)):
            return self
        return Convex(bound, self.weights)

    def block(self, X: Any, Z: Any) -> np.ndarray:
        blocks = (X.dtype.type(m) * k.block(X, Z) for m, k in zip(self._weights(), self.kernels))
        return reduce(np.add, blocks)

    def diag(self, X: Any) -> np.ndarray:
        diags = (X.dtype.type(m) * k.diag(X) for m, k in zip(self._weights(), self.kernels))
        return reduce(np.add, diags)

    @available_if(have_features)
    def features(self, X: Any) -> np.ndarray:
        """The features of all kernels side by side, each times the root of its weight."""
        roots = np.sqrt(self._weights()).astype(X.dtype)
        return np.hstack([r * dense(k.features(X)) for r, k in zip(roots, self.kernels)])
