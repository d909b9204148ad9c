"""Kernels that are functions of <x, z>, and those of products over subsets of the coordinates."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from itertools import chain, combinations, combinations_with_replacement
from math import factorial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mercer import _native
from mercer.distances import (
    Meaning,
    cosines,
    dense_rows,
    inner_products,
    over_pairs,
    refuse_lost_products,
    squared_norms,
    unit_rows,
)
from mercer.kernels.base import Formula, Kernel, Layer, Term, multiplied, values
from mercer.kernels.radial import bound_gamma, check_gamma, narrowed, resolve_gamma
from mercer.kernels.separable import product_of_columns, sum_of_columns
from mercer.samples import Prepared, Samples, is_number

WORDS = ("scale", "auto")  # γ of an inner product is not learnt from distances


class Linear(Layer):
    r"""Linear kernel

    .. math:: k(x, z) = \langle x, z \rangle .

    Notes
    -----
    O(n m d) operations by a matrix product, for n and m rows of d columns; sparse rows stay sparse.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    meaning = Meaning("⟨x, z⟩", "the inner product: a linear model")

    linear = True
    differentiable = True

    def bind(self, X: Samples, y: object = None, sample_weight: object = None) -> Self:
        refuse_lost_products(X, "a linear kernel")
        return self

    @property
    def formula(self) -> Formula:  # type: ignore[override]
        return Formula("identity")

    def prepare(self, X: Samples, like: Samples | None = None) -> Any:
        return X

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        return inner_products(X, Z)

    def diag(self, X: Samples) -> np.ndarray:
        return squared_norms(X)

    def separated(self, X: Samples, players: Mapping[Any, Hashable]) -> list[Term]:
        return sum_of_columns(self, players)

    def of_gram(self, G: np.ndarray, g_x: np.ndarray, g_z: np.ndarray) -> np.ndarray:
        return G

    def of_diag(self, g: np.ndarray) -> np.ndarray:
        return g.copy()

    def gram_derivatives(
        self, G: np.ndarray, g_x: np.ndarray, g_z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.ones_like(G), np.zeros_like(G), np.zeros_like(G)

    def diag_derivative(self, g: np.ndarray) -> np.ndarray:
        return np.ones_like(g)

    def features(self, X: Samples) -> Any:
        """The vectors themselves, (n, d)."""
        return X


class Polynomial(Layer):
    r"""Polynomial kernel

    .. math:: k(x, z) = (\gamma \langle x, z \rangle + c)^p .

    Its features are the monomials of degree exactly p (c = 0) or at most p (c > 0).

    Parameters
    ----------
    degree : int >= 1, default=3
        The degree p.
    gamma : float > 0, "scale" or "auto", default=1.0
        The factor γ. "scale" is 1 / (d · var(X)) of the training sample, "auto" is 1 / d.
    coef0 : float >= 0, default=1.0
        The constant c. A negative constant would not give a kernel.

    Notes
    -----
    O(n m d) operations by a matrix product; sparse rows stay sparse. Values grow like the p-th
    power of the norms, so scale the columns, or use ``.normalised()``.

    References
    ----------
    Shawe-Taylor & Cristianini, "Kernel Methods for Pattern Analysis", 2004, section 9.1.

    Examples
    --------
    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    meaning = Meaning("(γ⟨x, z⟩ + c)^{degree}", "a sum of products of up to {degree} columns")

    differentiable = True
    free = ("gamma", "coef0")

    def __init__(self, degree: int = 3, gamma: float | str = 1.0, coef0: float = 1.0):
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def validate(self) -> None:
        check_degree(self.degree, "a polynomial kernel")
        if not (is_number(self.coef0) and 0 <= self.coef0 < np.inf):
            raise ValueError(
                f"coef0={self.coef0!r}: must be >= 0 and finite, or the kernel is not positive "
                "semidefinite."
            )
        check_gamma(self.gamma, WORDS)

    def bind(self, X: Samples, y: object = None, sample_weight: Any = None) -> Self:
        self.validate()
        gamma = resolve_gamma(self.gamma, X, sample_weight)
        return self if gamma is self.gamma else self.copied(gamma=gamma)

    @property
    def formula(self) -> Formula:  # type: ignore[override]
        numbers = {"gamma": float(bound_gamma(self.gamma, self)), "coef0": float(self.coef0)}
        return Formula("polynomial", {**numbers, "degree": int(self.degree)})

    def of_gram(self, G: np.ndarray, g_x: np.ndarray, g_z: np.ndarray) -> np.ndarray:
        return self._of_product(G)

    def of_diag(self, g: np.ndarray) -> np.ndarray:
        return self._of_product(g.copy())

    def gram_derivatives(
        self, G: np.ndarray, g_x: np.ndarray, g_z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.diag_derivative(G), np.zeros_like(G), np.zeros_like(G)

    def diag_derivative(self, g: np.ndarray) -> np.ndarray:
        gamma = bound_gamma(self.gamma, self)
        return gamma * self.degree * (gamma * g + self.coef0) ** (int(self.degree) - 1)

    def _of_product(self, P: np.ndarray) -> np.ndarray:
        P *= narrowed(bound_gamma(self.gamma, self), P.dtype)
        P += narrowed(self.coef0, P.dtype)
        P **= int(self.degree)
        return P

    def features(self, X: Any) -> np.ndarray:
        """Weighted monomials, (n, C(d + p, p)); use them only if d and p are small."""
        X = X.toarray() if sp.issparse(X) else X
        # (γ<x, z> + c)^p is a homogeneous polynomial in the vector (√γ x, √c)
        X = np.hstack(
            [np.sqrt(bound_gamma(self.gamma, self)) * X, np.full((len(X), 1), self.coef0**0.5)]
        )
        columns = []
        for index in combinations_with_replacement(range(X.shape[1]), int(self.degree)):
            repeats = [factorial(index.count(j)) for j in set(index)]
            weight = factorial(int(self.degree)) / np.prod(repeats)  # multinomial coefficient
            columns.append(np.sqrt(weight) * X[:, list(index)].prod(axis=1))
        return np.stack(columns, axis=1)


class Sigmoid(Kernel):
    r"""Sigmoid kernel

    .. math:: k(x, z) = \tanh(\gamma \langle x, z \rangle + c) .

    It is not positive semidefinite in general: `check_mercer` shows this, and solvers that need
    convexity warn.

    Parameters
    ----------
    gamma : float > 0, "scale" or "auto", default=1.0
        The factor γ. "scale" is 1 / (d · var(X)) of the training sample, "auto" is 1 / d.
    coef0 : float, default=0.0
        The constant c.

    Notes
    -----
    Values are in (-1, 1). O(n m d) operations by a matrix product; sparse rows stay sparse.

    References
    ----------
    Lin & Lin, "A study on sigmoid kernels for SVM and the training of non-PSD kernels by SMO-type
    methods", 2003.

    Examples
    --------
    >>> Sigmoid()([[1.0]], [[0.5]]).round(4)
    array([[0.4621]])
    """

    meaning = Meaning("tanh(γ⟨x, z⟩ + c)", "the hyperbolic tangent of the inner product")

    positive_definite = False

    def __init__(self, gamma: float | str = 1.0, coef0: float = 0.0):
        self.gamma = gamma
        self.coef0 = coef0

    def validate(self) -> None:
        check_gamma(self.gamma, WORDS)
        if not (is_number(self.coef0) and np.isfinite(self.coef0)):
            raise ValueError(f"coef0={self.coef0!r}: must be a finite number.")

    def bind(self, X: Samples, y: object = None, sample_weight: Any = None) -> Self:
        self.validate()
        gamma = resolve_gamma(self.gamma, X, sample_weight)
        return self if gamma is self.gamma else self.copied(gamma=gamma)

    @property
    def formula(self) -> Formula:  # type: ignore[override]
        numbers = {"gamma": float(bound_gamma(self.gamma, self)), "coef0": float(self.coef0)}
        return Formula("tanh", numbers)

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        P = inner_products(X, Z)
        P *= narrowed(bound_gamma(self.gamma, self), P.dtype)
        P += narrowed(self.coef0, P.dtype)
        return np.tanh(P, out=P)


class Cosine(Kernel):
    r"""Cosine of the angle

    .. math:: k(x, z) = \langle x, z\rangle / (\|x\| \|z\|) .

    A zero vector has similarity 0 to every vector, also to itself.

    Notes
    -----
    Values are in [-1, 1]. O(n m d) operations by a matrix product; sparse rows stay sparse.

    Examples
    --------
    >>> Cosine()([[1.0, 1.0]], [[2.0, 0.0]]).round(4)
    array([[0.7071]])
    """

    meaning = Meaning("⟨x, z⟩ / (‖x‖ ‖z‖)", "the cosine of the angle between two rows")

    @property
    def formula(self) -> Formula:  # type: ignore[override]
        return Formula("identity", coordinates="cosine")

    def prepare(self, X: Samples, like: Prepared | None = None) -> Prepared:
        return X if isinstance(X, Prepared) else Prepared((unit_rows(X),))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        return cosines(X.parts[0], Z.parts[0])

    def diag(self, X: Samples) -> np.ndarray:
        return (squared_norms(self.prepare(X).parts[0]) > 0).astype(X.dtype)


# --- the argument γ, shared with the radial kernels -------------------------------------------


def check_degree(degree: float, reader: str) -> None:
    """Raise an error if ``degree`` is not a positive integer."""
    if not is_number(degree) or not degree >= 1 or degree % 1:
        raise ValueError(f"degree={degree!r}: {reader} needs an integer >= 1.")


class AllSubsets(Kernel):
    r"""All-subsets kernel

    .. math:: k(x, z) = \prod_j (1 + x_j z_j) .

    Its 2^d features are the products :math:`\prod_{j \in D} x_j` over all subsets D of the
    coordinates (Shawe-Taylor & Cristianini 2004, section 9.1).

    Notes
    -----
    O(n m d) operations. If a product is too large for the dtype on the way, it is computed again
    with a mantissa and an exponent (``scaled_block``). If the value itself is too large, it is
    infinite; ``AllSubsets().normalised()`` stays finite.

    Examples
    --------
    >>> AllSubsets()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[36.]])
    """

    meaning = Meaning("∏ⱼ (1 + xⱼ zⱼ)", "the sum of the products of every subset of the columns")

    def separated(self, X: Samples, players: Mapping[Any, Hashable]) -> list[Term]:
        return product_of_columns(self, players)

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        K = over_pairs(_native.all_subsets, X, Z)
        limits = np.finfo(K.dtype)
        if not (np.isfinite(K) & (np.abs(K) >= limits.tiny)).all():
            K = values(self.scaled_block(X, Z), K.dtype)
        return K

    def scaled_block(self, X: Samples, Z: Samples) -> tuple[np.ndarray, np.ndarray]:
        """k(x, z) as (m, e), k = m 2^e; (n, m) each."""
        X, Z = dense_rows(X), dense_rows(Z)
        product = np.ones((len(X), len(Z))), np.zeros((len(X), len(Z)), np.int64)
        for x, z in zip(X.T, Z.T):
            product = multiplied(product, 1 + np.multiply.outer(x, z, dtype=np.float64))
        return product

    def diag(self, X: Samples) -> np.ndarray:
        return values(self.scaled_diag(X), X.dtype)

    def scaled_diag(self, X: Samples) -> tuple[np.ndarray, np.ndarray]:
        """k(x, x) as (m, e); (n,) each."""
        product = np.ones(X.shape[0]), np.zeros(X.shape[0], np.int64)
        for x in dense_rows(X).astype(np.float64).T:
            product = multiplied(product, 1 + x**2)
        return product

    def features(self, X: Samples) -> np.ndarray:
        """Products over all subsets, (n, 2^d); use it only if d is small."""
        return _subset_products(dense_rows(X), range(X.shape[1] + 1))


class ANOVA(Kernel):
    r"""ANOVA kernel of degree p: the sum of

    .. math:: \prod_{j \in D} x_j z_j

    over all subsets D of p coordinates.

    Parameters
    ----------
    degree : int >= 1, default=2
        The degree p. If it is above the number of coordinates, the kernel is 0.

    Notes
    -----
    The recursion of elementary symmetric polynomials takes O(d p) operations for each pair
    (Shawe-Taylor & Cristianini 2004, section 9.2). The sum over all p is `AllSubsets`.

    Examples
    --------
    >>> ANOVA(2)([[1.0, 2.0, 3.0]], [[1.0, 1.0, 1.0]])
    array([[11.]])
    """

    meaning = Meaning(
        "Σ over {degree} columns of ∏ xⱼ zⱼ",
        "the sum of the products of {degree} different columns",
    )

    def __init__(self, degree: int = 2):
        self.degree = degree

    def validate(self) -> None:
        check_degree(self.degree, "ANOVA")

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        return over_pairs(partial(_native.anova, degree=int(self.degree)), X, Z)

    def features(self, X: Samples) -> np.ndarray:
        """Products over all subsets of p coordinates, (n, C(d, p)); use it only if d is small."""
        return _subset_products(dense_rows(X), [int(self.degree)])


def _subset_products(X: np.ndarray, sizes: Any) -> np.ndarray:
    subsets = chain.from_iterable(combinations(range(X.shape[1]), p) for p in sizes)
    columns = [X[:, list(D)].prod(axis=1) for D in subsets]
    return np.stack(columns, axis=1) if columns else np.zeros((len(X), 1), X.dtype)
