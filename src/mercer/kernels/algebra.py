"""Kernels from kernels: sums, products, powers, exponentials, convex combinations.

Each of them is a kernel itself, and is positive semidefinite if its parts are (Shawe-Taylor &
Cristianini 2004, chapter 3). Operators build them: ``a + b``, ``2 * a``, ``a * b``, ``a ** 3``.
Kernels that change the features of one kernel (normalised, centred ...) are in transforms.py.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from mercer.distances import Meaning, OnSameSamples, dense_rows
from mercer.estimator import estimator
from mercer.kernels.base import NODES, Formula, Kernel, NotSeparable, Term, from_logs
from mercer.kernels.separable import multiplied, scaled, single_factors
from mercer.samples import Prepared, Samples, float_array, is_number


class Node(OnSameSamples, Kernel):
    """Abstract: a kernel made of other kernels on the same samples, which are its parameters."""

    parts_name: ClassVar[str] = "kernel"
    of_columns: ClassVar[str] = 'RBF().on("age") + Match().on("sex")'

    def children(self) -> list[Kernel]:
        """The kernels that this one is made of."""
        return [m.comparison for m in self.members() if isinstance(m.comparison, Kernel)]

    def compared(self) -> list[Kernel]:
        return self.children()

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

    def separated(self, X: Samples, players: Mapping[Any, Hashable]) -> list[Term]:
        if len(set(players.values())) == 1:
            return super().separated(X, players)
        return self.joined_terms([child.separated(X, players) for child in self.children()])

    def joined_terms(self, terms: list[list[Term]]) -> list[Term]:
        """The terms of the node from those of its kernels."""
        raise NotSeparable(f"{type(self).__name__} mixes the columns of its kernel.")

    def support(self, X: Samples) -> Any:
        return reduce(lambda samples, child: child.support(samples), self.children(), X)


@estimator
class Unary(Node):
    """Abstract: a kernel made of one other kernel.

    Parameters
    ----------
    kernel : Kernel
    """

    kernel: Kernel

    def inner_block(self, X: Any, Z: Any) -> np.ndarray:
        """The block (n, m) of the kernel that this one is made of."""
        X, Z = self.sides(X, Z)
        return self.kernel.block(X.parts[0], Z.parts[0])

    def inner_diag(self, X: Samples) -> np.ndarray:
        """The diagonal (n,) of the kernel that this one is made of."""
        return self.kernel.diag(self.prepare(X).parts[0])


def have_features(node: Node) -> bool:
    """Whether all kernels of a node have a finite number of features; for ``available_if``."""
    return all(hasattr(child, "features") for child in node.children())


def feature_products(F: np.ndarray, G: np.ndarray) -> np.ndarray:
    """All products of a column of F and a column of G, row by row; (n, p) and (n, q) -> (n, pq)."""
    return (F[:, :, None] * G[:, None, :]).reshape(len(F), -1)


def _added(parts: list[list[np.ndarray]]) -> list[np.ndarray]:
    """The sums of what several kernels give to the symbols of each string."""
    return [reduce(np.add, each) for each in zip(*parts)]


@estimator
class Two(Node):
    """Abstract: a kernel made of two others.

    Parameters
    ----------
    left, right : Kernel
        Two kernels on the same kind of samples.
    """

    left: Kernel
    right: Kernel


@estimator
class Sum(Two):
    r"""Sum of two kernels

    .. math:: k(x, z) = k_{\mathrm{left}}(x, z) + k_{\mathrm{right}}(x, z) .

    Notes
    -----
    Its features are those of both kernels, side by side. It costs as much as both kernels.

    References
    ----------
    Shawe-Taylor & Cristianini, "Kernel Methods for Pattern Analysis", 2004, section 3.4.

    Examples
    --------
    >>> from mercer.kernels import Linear, RBF
    >>> (Linear() + RBF())([[1.0]], [[1.0]])
    array([[2.]])
    """

    meaning = Meaning("{left} + {right}", "the sum of two kernels: either may make rows alike")

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        (x, x_right), (z, z_right) = (side.parts for side in self.sides(X, Z))
        K = self.left.block(x, z)
        K += self.right.block(x_right, z_right)
        return K

    def joined_terms(self, terms: list[list[Term]]) -> list[Term]:
        return terms[0] + terms[1]

    def symbol_parts(self, X: Samples, Z: Samples, coef: np.ndarray) -> list[np.ndarray]:
        return _added([k.symbol_parts(X, Z, coef) for k in (self.left, self.right)])

    def diag(self, X: Samples) -> np.ndarray:
        x, x_right = self.prepare(X).parts
        return self.left.diag(x) + self.right.diag(x_right)

    @available_if(have_features)
    def features(self, X: Samples) -> np.ndarray:
        """The features of both kernels, side by side, (n, p)."""
        return np.hstack([dense_rows(self.left.features(X)), dense_rows(self.right.features(X))])


@estimator
class Product(Two):
    r"""Product of two kernels

    .. math:: k(x, z) = k_{\mathrm{left}}(x, z) \, k_{\mathrm{right}}(x, z) .

    Notes
    -----
    Its Gram matrix is an elementwise product, which is positive semidefinite by Schur's theorem.
    See Shawe-Taylor & Cristianini (2004), section 3.4, the source of `Sum`.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (Linear() * Linear())([[2.0]], [[3.0]])
    array([[36.]])
    """

    meaning = Meaning(
        "[{left}] · [{right}]", "the product of two kernels: rows must be alike in both"
    )

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        (x, x_right), (z, z_right) = (side.parts for side in self.sides(X, Z))
        K = self.left.block(x, z)
        K *= self.right.block(x_right, z_right)
        return K

    def joined_terms(self, terms: list[list[Term]]) -> list[Term]:
        return multiplied(terms)

    def diag(self, X: Samples) -> np.ndarray:
        x, x_right = self.prepare(X).parts
        return self.left.diag(x) * self.right.diag(x_right)

    @available_if(have_features)
    def features(self, X: Samples) -> np.ndarray:
        """All products of a feature of ``left`` and a feature of ``right``, (n, p)."""
        return feature_products(
            dense_rows(self.left.features(X)), dense_rows(self.right.features(X))
        )


@estimator
class Scaled(Unary):
    r"""A kernel times a positive number

    .. math:: k(x, z) = a \, κ(x, z) ,

    with the kernel κ and the ``factor`` a.

    Parameters
    ----------
    factor : float > 0

    Notes
    -----
    A factor makes a difference in a sum of kernels, and for learners with a penalty.
    See Shawe-Taylor & Cristianini (2004), section 3.4, the source of `Sum`.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (2 * Linear())([[2.0]], [[3.0]])
    array([[12.]])
    """

    meaning = Meaning("{factor} · [{kernel}]", "{kernel}")

    free = ("factor",)

    factor: float

    def validate(self) -> None:
        super().validate()
        if not (is_number(self.factor) and 0 < self.factor < np.inf):
            raise ValueError(
                f"factor={self.factor!r}: give a finite number > 0, because a kernel times another "
                "number is not positive semidefinite. If you want 0, leave the kernel out of the "
                "sum."
            )

    @property
    def formula(self) -> Formula | None:  # type: ignore[override]
        inner = self.kernel.formula
        return inner and replace(inner, factor=inner.factor * float(self.factor))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        K = self.inner_block(X, Z)
        K *= self.factor
        return K

    def joined_terms(self, terms: list[list[Term]]) -> list[Term]:
        return scaled(terms[0], float(self.factor))

    def symbol_parts(self, X: Samples, Z: Samples, coef: np.ndarray) -> list[np.ndarray]:
        return self.kernel.symbol_parts(X, Z, coef * self.factor)

    def diag(self, X: Prepared) -> np.ndarray:
        return self.inner_diag(X) * X.dtype.type(self.factor)

    @available_if(have_features)
    def features(self, X: Samples) -> np.ndarray:
        """The features of the kernel, (n, p), times the square root of the factor."""
        return dense_rows(self.kernel.features(X)) * X.dtype.type(np.sqrt(self.factor))


@estimator
class Power(Unary):
    r"""Integer power of a kernel

    .. math:: k(x, z) = κ(x, z)^p ,

    with the kernel κ and the ``exponent`` p.

    Parameters
    ----------
    exponent : int >= 1

    Notes
    -----
    Its features are the products of ``exponent`` features of the kernel.
    See Shawe-Taylor & Cristianini (2004), section 3.4, the source of `Sum`.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (Linear() ** 2)([[2.0]], [[3.0]])
    array([[36.]])
    """

    meaning = Meaning("[{kernel}]^{exponent}", "{kernel}")

    exponent: int

    def validate(self) -> None:
        super().validate()
        if not (
            is_number(self.exponent) and 1 <= self.exponent < np.inf and self.exponent % 1 == 0
        ):
            raise ValueError(
                f"exponent={self.exponent!r}: give an integer >= 1. Other powers of a kernel "
                "are not kernels in general."
            )

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        return self.inner_block(X, Z) ** int(self.exponent)

    def joined_terms(self, terms: list[list[Term]]) -> list[Term]:
        return multiplied(terms * int(self.exponent))

    def diag(self, X: Samples) -> np.ndarray:
        return self.inner_diag(X) ** int(self.exponent)

    @available_if(have_features)
    def features(self, X: Samples) -> np.ndarray:
        """All products of ``exponent`` features, (n, p); use it only with few features."""
        F = dense_rows(self.kernel.features(X))
        return reduce(feature_products, [F] * int(self.exponent))


@estimator
class Exponential(Unary):
    r"""Exponential of a kernel

    .. math:: k(x, z) = \exp κ(x, z) .

    Notes
    -----
    It is the sum of all powers p of the kernel with weights 1 / p!. A value that is too large for
    the dtype becomes infinite; the normalised kernel stays finite.
    See Shawe-Taylor & Cristianini (2004), section 3.4, the source of `Sum`.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Exponential(Linear())([[1.0]], [[1.0]]).round(4)
    array([[2.7183]])
    """

    meaning = Meaning("exp[{kernel}]", "{kernel}")

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        K = self.inner_block(X, Z)
        with np.errstate(over="ignore"):
            return np.exp(K, out=K)

    def joined_terms(self, terms: list[list[Term]]) -> list[Term]:
        alone = single_factors(terms[0], self)
        return multiplied(
            [Term(1.0, {player: (Exponential(Scaled(kernel, weight)),)})]
            for weight, player, kernel in alone
        )

    def diag(self, X: Samples) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.exp(self.inner_diag(X))

    def scaled_block(self, X: Samples, Z: Samples) -> tuple[np.ndarray, np.ndarray]:
        """k(x, z) as (m, e), k = m 2^e; (n, m) each."""
        return from_logs(self.inner_block(X, Z))

    def scaled_diag(self, X: Samples) -> tuple[np.ndarray, np.ndarray]:
        """k(x, x) as (m, e); (n,) each."""
        return from_logs(self.inner_diag(X))


@estimator
class Convex(Node):
    r"""Convex combination

    .. math:: k(x, z) = \sum_t \mu_t k_t(x, z)

    with μ on the simplex.

    Parameters
    ----------
    kernels : list of Kernel
    weights : array-like of shape (len(kernels),), optional
        The numbers :math:`\mu_t \ge 0`, with sum 1. None means equal weights.

    Notes
    -----
    Multiple-kernel learning chooses these weights. The kernel costs as much as all its parts.

    References
    ----------
    Lanckriet, Cristianini, Bartlett, El Ghaoui & Jordan, "Learning the kernel matrix with
    semidefinite programming", JMLR 5, 2004.

    Examples
    --------
    >>> from mercer.kernels import Linear, RBF
    >>> Convex([Linear(), RBF()], [0.25, 0.75])([[2.0]], [[2.0]])
    array([[1.75]])
    """

    meaning = Meaning("mean of {kernels}", "the weighted mean of several kernels")

    kernels: list[Kernel]
    weights: Any = None

    def validate(self) -> None:
        listed = isinstance(self.kernels, (list, tuple)) and self.kernels
        if not (listed and all(isinstance(kernel, Kernel) for kernel in self.kernels)):
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
        return float_array("weights", self.weights)

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        K: Any = 0
        for mu, kernel, x, z in zip(self._weights(), self.kernels, X.parts, Z.parts, strict=True):
            values = kernel.block(x, z)
            values *= mu
            values += K  # in place: two blocks at a time, however many kernels there are
            K = values
        return K

    def joined_terms(self, terms: list[list[Term]]) -> list[Term]:
        return [t for mu, each in zip(self._weights(), terms) for t in scaled(each, float(mu))]

    def symbol_parts(self, X: Samples, Z: Samples, coef: np.ndarray) -> list[np.ndarray]:
        pairs = zip(self._weights(), self.kernels, strict=True)
        return _added([k.symbol_parts(X, Z, coef * mu) for mu, k in pairs])

    def diag(self, X: Samples) -> np.ndarray:
        X = self.prepare(X)
        parts = zip(self._weights(), self.kernels, X.parts, strict=True)
        return reduce(np.add, (X.dtype.type(m) * k.diag(x) for m, k, x in parts))

    @available_if(have_features)
    def features(self, X: Samples) -> np.ndarray:
        """The features (n, p) of all kernels side by side, times the roots of the weights."""
        roots = np.sqrt(self._weights()).astype(X.dtype)
        return np.hstack([r * dense_rows(k.features(X)) for r, k in zip(roots, self.kernels)])


NODES.update({"Sum": Sum, "Product": Product, "Scaled": Scaled, "Power": Power})
