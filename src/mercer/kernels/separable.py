"""Kernels as sums of products with one factor for each player: the factors, and their products.

A player is a column, or several that belong together. `Kernel.separated` is the door, and
`mercer.explain` computes exact Shapley values from what it returns.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from mercer.distances import Comparison, Distance, Minkowski, dense_rows
from mercer.kernels.base import Kernel, NotSeparable, Term
from mercer.samples import Samples

MOST_TERMS = 256  # of products of sums


class OneTerm(Kernel):
    """exp(-rate · t_j(x, z)) for one of the terms t_j whose sum is a power of a distance.

    Parameters
    ----------
    rho : Distance
        One that has `Distance.terms`.
    column : int
        The number j of the term.
    rate : float >= 0
    factor : float, optional
        What the coordinate j is multiplied by before.

    Examples
    --------
    >>> from mercer.distances import Minkowski
    >>> OneTerm(Minkowski(2), 1, 0.5)([[7.0, 1.0]], [[9.0, 3.0]]).round(4)
    array([[0.1353]])
    """

    positive_definite = None

    def __init__(self, rho: Distance, column: int, rate: float, factor: float | None = None):
        self.rho = rho
        self.column = column
        self.rate = rate
        self.factor = factor

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.rho.kind

    def encoding(self) -> Hashable:
        return self.rho.encoding()

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        # exp(-inf) is 0; what has no value is refused where it is used
        with np.errstate(over="ignore", invalid="ignore"):
            if self.factor is None:
                D = self.rho.term(X, Z, self.column)
            else:  # in float64, as maps are
                x, z = (np.float64(dense_rows(side[:, [self.column]])) for side in (X, Z))
                D = self.rho.term(self.factor * x, self.factor * z, 0).astype(X.dtype)
            D = D * D.dtype.type(-self.rate)
        return np.exp(D, out=D)


class OnCoordinates(Kernel):
    """A kernel on some coordinates of vectors, (n, d).

    Parameters
    ----------
    kernel : Kernel
    columns : sequence of int

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> OnCoordinates(Linear(), [1])([[7.0, 2.0]], [[9.0, 3.0]])
    array([[6.]])
    """

    def __init__(self, kernel: Kernel, columns: Any):
        self.kernel = kernel
        self.columns = columns

    def encoding(self) -> Hashable:
        return self.kernel.encoding()

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        return self.kernel.block(X[:, self.columns], Z[:, self.columns])


def by_term(rho: Distance, X: Samples, players: Mapping[Any, Hashable], rate: float) -> Term | None:
    """exp(-rate · D) as a product over players, if D = ``rho.raw`` is a sum over the columns.

    None if it is not.
    """
    if rho.reads.of_columns:
        return None
    if rho.terms(X) == len(players):
        given: Any = vars(rho)["weights"]  # a parameter of all that have terms
        weights = np.ones(len(players)) if given is None else np.asarray(given, float)
        parts = ((p, OneTerm(rho, j, float(rate * weights[j]))) for j, p in players.items())
        return Term(1.0, _gathered(parts))
    norm = rho.norm
    A = None if norm is None else norm.linear_map
    if norm is None or A is None or A.shape != (len(players),):
        return None
    plain = Minkowski(norm.p)
    parts = ((p, OneTerm(plain, j, rate, float(A[j]))) for j, p in players.items())
    return Term(1.0, _gathered(parts))


def by_column(kernel: Kernel, players: Mapping[Any, Hashable]) -> dict[Hashable, Kernel]:
    """The kernel on the coordinates of each player."""
    own: dict[Hashable, list] = {}
    for column, player in players.items():
        own.setdefault(player, []).append(column)
    return {player: OnCoordinates(kernel, columns) for player, columns in own.items()}


def product_of_columns(kernel: Kernel, players: Mapping[Any, Hashable]) -> list[Term]:
    """What `Kernel.separated` returns for a kernel that is a product of itself on each coordinate.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> (term,) = product_of_columns(RBF(0.5), {0: "age", 1: "size", 2: "size"})
    >>> list(term.factors)
    ['age', 'size']
    """
    return [Term(1.0, {p: (k,) for p, k in by_column(kernel, players).items()})]


def sum_of_columns(kernel: Kernel, players: Mapping[Any, Hashable]) -> list[Term]:
    """What `Kernel.separated` returns for a kernel that is the sum of itself on each coordinate.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> len(sum_of_columns(Linear(), {0: "age", 1: "size", 2: "size"}))
    2
    """
    return [Term(1.0, {p: (k,)}) for p, k in by_column(kernel, players).items()]


def scaled(terms: Iterable[Term], factor: float) -> list[Term]:
    """The terms of a kernel times a number."""
    return [Term(factor * term.weight, term.factors) for term in terms]


def multiplied(sums: Iterable[list[Term]]) -> list[Term]:
    """The terms of a product of kernels, each of which is a sum of terms."""

    def product(left: list[Term], right: list[Term]) -> list[Term]:
        if len(left) * len(right) > MOST_TERMS:
            raise NotSeparable(f"as a sum of products the kernel has more than {MOST_TERMS} terms.")
        return [
            Term(
                a.weight * b.weight,
                _gathered((p, k) for t in (a, b) for p, ks in t.factors.items() for k in ks),
            )
            for a in left
            for b in right
        ]

    return reduce(product, sums, [Term(1.0, {})])


def single_factors(
    terms: Iterable[Term], reader: Comparison
) -> list[tuple[float, Hashable, Kernel]]:
    """The weight, the player and the kernel of terms of one factor each."""
    found = []
    for weight, factors in terms:
        kernels = [(player, kernel) for player, ks in factors.items() for kernel in ks]
        if len(kernels) != 1:
            raise NotSeparable(
                f"{type(reader).__name__} is applied to a product of kernels of several columns."
            )
        found.append((weight, *kernels[0]))
    return found


def _gathered(parts: Iterable[tuple[Hashable, Kernel]]) -> dict[Hashable, tuple[Kernel, ...]]:
    found: dict[Hashable, tuple[Kernel, ...]] = {}
    for player, kernel in parts:
        found[player] = (*found.get(player, ()), kernel)
    return found
