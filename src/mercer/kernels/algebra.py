"""Kernels from kernels: sums, products, powers, normalisation and the like.

Every node keeps positive semidefiniteness (Shawe-Taylor & Cristianini 2004, chapter 3) and may
stand wherever a kernel may. Operators build them: ``a + b``, ``2 * a``, ``a * b``, ``a ** 3``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from mercer.distances import Comparison
from mercer.distances.vectors import dense
from mercer.kernels.base import Kernel

__all__ = [
    "Centred",
    "Convex",
    "Exponential",
    "Mapped",
    "Modulated",
    "Node",
    "Normalised",
    "Power",
    "Product",
    "Scaled",
    "Sum",
]


class Node(Kernel):
    """Abstract: a kernel made of kernels, which are those of its parameters that are kernels."""

    def children(self) -> list[Kernel]:
        """The kernels that this one is made of."""
        return [v for v in self.get_params(deep=False).values() if isinstance(v, Comparison)]

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


def _have_features(node: Node) -> bool:
    return all(hasattr(child, "features") for child in node.children())


def feature_products(F: np.ndarray, G: np.ndarray) -> np.ndarray:
    """All products of a column of F and a column of G, row by row; (n, p) and (n, q) -> (n, pq)."""
    return (F[:, :, None] * G[:, None, :]).reshape(len(F), -1)


class Sum(Node):
    """k(x, z) = left(x, z) + right(x, z): features side by side.

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

    @available_if(_have_features)
    def features(self, X: Any) -> np.ndarray:
        """The features of both, side by side."""
        return np.hstack([dense(self.left.features(X)), dense(self.right.features(X))])


class Product(Node):
    """k(x, z) = left(x, z) · right(x, z): products of features.

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

    @available_if(_have_features)
    def features(self, X: Any) -> np.ndarray:
        """All products of a feature of the one and a feature of the other."""
        return feature_products(dense(self.left.features(X)), dense(self.right.features(X)))


class Scaled(Node):
    """k(x, z) = factor · kernel(x, z), factor > 0.

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

    @available_if(_have_features)
    def features(self, X: Any) -> np.ndarray:
        """The features, times the root of the factor."""
        return dense(self.kernel.features(X)) * X.dtype.type(np.sqrt(self.factor))


class Power(Node):
    """k(x, z) = kernel(x, z) ** exponent, exponent a positive integer.

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

    @available_if(_have_features)
    def features(self, X: Any) -> np.ndarray:
        """Products of as many features as the exponent says; for few features."""
        F = dense(self.kernel.features(X))
        return reduce(feature_products, [F] * int(self.exponent))


class Exponential(Node):
    """k(x, z) = exp(kernel(x, z)): all powers, with weights 1 / p!.

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

    def log_block(self, X: Any, Z: Any) -> tuple[np.ndarray, np.ndarray]:
        """Sign and logarithm of k(x, z) for every pair; (n, m) each."""
        logs = self.kernel.block(X, Z)
        return np.ones_like(logs), logs

    def log_diag(self, X: Any) -> np.ndarray:
        """log k(x, x) for each row; (n,)."""
        return self.kernel.diag(X)


class Normalised(Node):
    """k(x, z) / sqrt(k(x, x) k(z, z)): the cosine in feature space; 0 where k(x, x) = 0.

    Notes
    -----
    A kernel whose values leave the floating range is normalised by its logarithms (``log_block``
    and ``log_diag``, where it has them).

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().normalised()([[2.0]], [[3.0]])
    array([[1.]])
    """

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def block(self, X: Any, Z: Any) -> np.ndarray:
        if hasattr(self.kernel, "log_block"):
            sign, logs = self.kernel.log_block(X, Z)
            logs -= self.kernel.log_diag(X)[:, None] / 2
            logs -= self.kernel.log_diag(Z) / 2
            return (sign * np.exp(logs)).astype(X.dtype, copy=False)
        K = self.kernel.block(X, Z)
        K *= self._scale(X)[:, None]
        K *= self._scale(Z)
        return K

    def diag(self, X: Any) -> np.ndarray:
        return (self.kernel.diag(X) > 0).astype(X.dtype)

    @available_if(_have_features)
    def features(self, X: Any) -> np.ndarray:
        """The features, each row divided by its norm."""
        return dense(self.kernel.features(X)) * self._scale(X)[:, None]

    def _scale(self, X: Any) -> np.ndarray:
        d = self.kernel.diag(X)
        return np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0).astype(X.dtype)


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

    @available_if(_have_features)
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

    @available_if(_have_features)
    def features(self, X: Any) -> np.ndarray:
        """The features of the transformed samples."""
        return self.kernel.features(self.transform(X))


class Convex(Node):
    r"""Convex combination :math:`k(x, z) = \sum_t \mu_t k_t(x, z)`, μ on the simplex.

    Parameters
    ----------
    kernels : list of Kernel
    weights : array-like of shape (len(kernels),), optional
        :math:`\mu_t \ge 0` with sum 1; equal by default.

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
        return sum(X.dtype.type(m) * k.block(X, Z) for m, k in zip(self._weights(), self.kernels))

    def diag(self, X: Any) -> np.ndarray:
        return sum(X.dtype.type(m) * k.diag(X) for m, k in zip(self._weights(), self.kernels))

    @available_if(_have_features)
    def features(self, X: Any) -> np.ndarray:
        """The features of all kernels side by side, each times the root of its weight."""
        roots = np.sqrt(self._weights()).astype(X.dtype)
        return np.hstack([r * dense(k.features(X)) for r, k in zip(roots, self.kernels)])
