"""Kernels on tables: on categories, and from a kernel for each group of columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import reduce
from typing import Any, Self, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from mercer import _native
from mercer.distances import (
    Comparison,
    Composite,
    Meaning,
    Member,
    check_columns,
    check_parts,
    column_weights,
    dense_rows,
    encode_groups,
    match_counts,
    most_columns,
)
from mercer.kernels.algebra import feature_products
from mercer.kernels.base import NODES, Kernel, Term
from mercer.kernels.separable import multiplied, scaled
from mercer.samples import (
    Categories,
    Prepared,
    Samples,
    SamplesLike,
    Table,
    columns_by_kind,
    float_array,
    kind_named,
    read,
)


class Match(Kernel):
    r"""Share of columns that are equal

    .. math:: k(x, z) = \sum_j w_j [x_j = z_j] .

    Two missing values are equal to each other, and to nothing else. A category that is not in the
    training sample is equal only to itself.

    Parameters
    ----------
    weights : array-like of shape (c,), optional
        The weights :math:`w_j \ge 0` of the c columns. None means 1/c each, so that k(x, x) = 1.

    See Also
    --------
    mercer.distances.SmoothedMatch, mercer.distances.LogFrequency : Distances that depend on how
        frequent a value is; `FromDistance` makes kernels from them.

    Notes
    -----
    It is positive semidefinite: k(x, z) = <φ(x), φ(z)>, where φ are the weighted indicators of the
    levels (``features``). O(n m c) operations.

    References
    ----------
    Sokal & Michener, "A statistical method for evaluating systematic relationships", University of
    Kansas Science Bulletin 38, 1958.

    Examples
    --------
    >>> Match()([["red", "s"]], [["red", "m"]])
    array([[0.5]])
    """

    meaning = Meaning(
        "share of j with xⱼ = zⱼ",
        "the share of columns in which two rows agree",
        "1 if x = z, else 0",
    )

    kind = "categories"

    def __init__(self, weights: Any = None):
        self.weights = weights

    def validate(self) -> None:
        if self.weights is not None and not (float_array("weights", self.weights) >= 0).all():
            raise ValueError("weights must be >= 0: with a negative weight this is not a kernel.")

    def _weights(self, X: Categories) -> np.ndarray:
        return column_weights(self.weights, X, 1 / X.shape[1])

    def separated(self, X: Categories, players: Mapping[Any, Hashable]) -> list[Term]:
        weights = self._weights(X)
        return [
            Term(float(w), {players[j]: (Match(np.eye(len(weights))[j]),)})
            for j, w in enumerate(weights)
        ]

    def block(self, X: Categories, Z: Categories) -> np.ndarray:
        return match_counts(X, Z, self._weights(X))

    def diag(self, X: Categories) -> np.ndarray:
        return np.full(X.shape[0], self._weights(X).sum(), X.dtype)

    def features(self, X: Categories) -> np.ndarray:
        """Weighted indicators of the levels in the training sample, (n, levels).

        A level that is not in the training sample has no indicator.
        """
        return np.hstack(
            [
                np.sqrt(w) * (codes[:, None] == np.arange(known))
                for w, known, codes in zip(self._weights(X), X.known, X.codes.T)
            ]
        ).astype(X.dtype, copy=False)


COMBINATIONS = ("product", "sum", "interactions")
BY_KIND = ("table", "by kind")  # how columns are encoded for a kernel that has not found its parts

#: what each combination means for the reader of a report
MEANINGS = {
    "product": Meaning("∏ⱼ kⱼ(x, z)", "high for rows that are alike in every group of columns"),
    "sum": Meaning(
        "Σⱼ wⱼ kⱼ(x, z)",
        "a sum: rows are alike as far as they are alike in groups of columns, and each group adds "
        "its own effect",
    ),
    "interactions": Meaning(
        "∏ⱼ (1 + wⱼ kⱼ(x, z)) / (1 + wⱼ)",
        "a product in which every column acts by itself and together with every set of other "
        "columns; a column of greater weight matters more",
    ),
}
ADDITIVE = Meaning(
    "Σⱼ wⱼ kⱼ(x, z)",
    "a sum in which every column adds its own effect; columns do not act on one another",
)


class On(Composite, Kernel):
    """A kernel on some columns of a table; ``kernel.on("age", "income")`` makes one.

    Parameters
    ----------
    kernel : Kernel
    columns : sequence
        Names of columns of a data frame, or numbers of columns of an array.

    Notes
    -----
    It costs as much as the kernel. Columns that several kernels read are encoded only once.

    Examples
    --------
    >>> from mercer.kernels import RBF, Match
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [1.0, 2.0], "sex": ["f", "m"]})
    >>> (RBF().on("age") + Match().on("sex"))(table).round(4)
    array([[2.    , 0.3679],
           [0.3679, 2.    ]])
    """

    meaning = Meaning("{kernel}, on {columns}", "{kernel}")

    kind = "table"

    def __init__(self, kernel: Kernel, columns: Any):
        self.kernel = kernel
        self.columns = columns

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return self.kernel.symmetric

    @property
    def positive_definite(self) -> bool | None:  # type: ignore[override]
        return self.kernel.positive_definite

    def members(self) -> list[Member]:
        return [Member("kernel", self.kernel, tuple(self.columns))]

    def validate(self) -> None:
        check_columns(self.columns)
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"kernel={self.kernel!r}: On needs a Mercer kernel.")
        self.kernel.validate()

    def matrix(self, X: Table, Z: Table) -> tuple[np.ndarray, Any, Any] | None:
        return self.kernel.matrix(self._columns_of(X), self._columns_of(Z))

    def support(self, X: Table) -> Table:
        read = self._columns_of(X)
        return Table(X.groups, [self.kernel.support(p) if p is read else p for p in X.parts])

    def block(self, X: Any, Z: Any) -> np.ndarray:
        X, Z = self.sides(X, Z)
        return self.kernel.block(X.parts[0], Z.parts[0])

    def diag(self, X: Prepared) -> np.ndarray:
        return self.kernel.diag(self.prepare(X).parts[0])

    def separated(self, X: Table, players: Mapping[Any, Hashable]) -> list[Term]:
        own = {j: players[column] for j, column in enumerate(self.columns)}
        return [
            Term(weight, {p: tuple(On(k, self.columns) for k in ks) for p, ks in factors.items()})
            for weight, factors in self.kernel.separated(self._columns_of(X), own)
        ]

    def symbol_parts(self, X: Table, Z: Table, coef: np.ndarray) -> list[np.ndarray]:
        return self.kernel.symbol_parts(self._columns_of(X), self._columns_of(Z), coef)

    @available_if(lambda self: hasattr(self.kernel, "features"))
    def features(self, X: Table) -> Any:
        """The features of the columns; sparse where those of the kernel are."""
        return self.kernel.features(self._columns_of(X))

    def _columns_of(self, X: Table) -> Any:
        """The encoded columns that the kernel reads."""
        return X.part(self.kernel.encoding(), self.columns)


def _parts_have_features(table_kernel: TableKernel) -> bool:
    parts = table_kernel.parts
    return parts is not None and all(hasattr(kernel, "features") for kernel, _ in parts)


class TableKernel(Composite, Kernel):
    r"""Kernel on a mixed table, from kernels :math:`k_j` on groups of its columns

    .. math:: k(x, z) = \prod_j k_j(x, z), \qquad \sum_j w_j k_j(x, z) \qquad \text{or} \qquad
              \prod_j \frac{1 + w_j k_j(x, z)}{1 + w_j} .

    Parameters
    ----------
    parts : list of (Kernel, columns), optional
        None means ``RBF("scale")`` on the columns of numbers and on each column of dates, the first
        kernel of its kind on each column of texts, sets, vectors, series or other samples, and
        ``Match()`` on the categories. What a column holds is judged as `mercer.KernelClassifier`
        judges it, when the kernel is bound to the training table.
    combine : {"product", "sum", "interactions"}, default="product"
        How the parts are combined:
        "product": :math:`\prod_j k_j`, large only if all parts are large;
        "sum": :math:`\sum_j w_j k_j`, for additive effects;
        "interactions": :math:`\prod_j (1 + w_j k_j) / (1 + w_j)`, the sum of the products of all
        subsets D of the parts, from single parts to the full product, each with the weight
        :math:`\prod_{j \in D} w_j`, divided by the sum of all weights.
    weights : array-like of shape (len(parts),), optional
        The weights :math:`w_j \ge 0`, for "sum" and "interactions". None means 1 for each part.

    Notes
    -----
    Each part should have k(x, x) of about 1, like RBF and Match: use ``kernel.normalised()`` for
    other kernels. A missing category is a value of its own; a missing number is an error that names
    the column (`mercer.KernelClassifier` fills in missing numbers). It costs as much as its parts.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.kernels import RBF, Match
    >>> table = pd.DataFrame({"age": [1.0, 2.0], "sex": ["f", "f"]})
    >>> TableKernel([(RBF(), ["age"]), (Match(), ["sex"])], combine="sum")(table).round(4)
    array([[2.    , 1.3679],
           [1.3679, 2.    ]])
    """

    kind = "table"

    def __init__(self, parts: Any = None, combine: str = "product", weights: Any = None):
        self.parts = parts
        self.combine = combine
        self.weights = weights

    @property
    def meaning(self) -> Meaning:  # type: ignore[override]
        alone = self.parts is not None and all(len(columns) == 1 for _, columns in self.parts)
        return ADDITIVE if self.combine == "sum" and alone else MEANINGS[self.combine]

    @property
    def positive_definite(self) -> bool | None:  # type: ignore[override]
        known = self.parts is None or all(k.positive_definite for k, _ in self.parts)
        return True if known else None

    def validate(self) -> None:
        if self.parts is not None:
            check_parts(self.parts, Kernel, "kernel")
        if self.combine not in COMBINATIONS:
            raise ValueError(f"combine={self.combine!r}: give one of {COMBINATIONS}.")
        if self.weights is not None:
            if self.combine == "product":
                raise ValueError(
                    'weights is given, but combine="product" has no weights: use combine="sum" or '
                    '"interactions", or set the parameters of the parts.'
                )
            w = float_array("weights", self.weights)
            if self.parts is None or w.shape != (len(self.parts),) or not (w >= 0).all():
                raise ValueError(
                    f"weights={self.weights!r}: give one number >= 0 for each part in parts."
                )
        for kernel, columns in self.parts or []:
            On(kernel, columns).validate()

    def encoding(self) -> Hashable:
        return super().encoding() if self.parts is not None else BY_KIND

    def column_groups(self) -> Iterator[tuple[Comparison, tuple]]:
        if self.parts is None:
            yield self, ()  # all columns
        else:
            yield from super().column_groups()

    def encode(self, X: SamplesLike, like: Any = None) -> Table:
        if self.parts is not None or isinstance(X, Table):
            return super().encode(X, like)
        if like is not None:
            groups: Any = _default_parts(like)
        else:
            _, X = read(X, "table", reader="TableKernel")
            groups = [(_suiting(kind), columns) for kind, columns in columns_by_kind(X)]
        return encode_groups(X, groups, like, "TableKernel")

    def bind(
        self, X: Table, y: np.ndarray | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        if self.parts is None:
            self.validate()
            columns = most_columns(X, BY_KIND)  # where it stands beside other kernels
            own = X.part(BY_KIND, columns) if columns else X
            found = self.copied(parts=_default_parts(own)).bind(own, y, sample_weight)
            return cast("Self", On(found, columns)) if columns else found
        return super().bind(X, y, sample_weight)

    def _weights(self) -> np.ndarray:
        return np.ones(len(self._parts())) if self.weights is None else np.asarray(self.weights)

    def _parts(self) -> list:
        """The parts, after a check that they are known."""
        if self.parts is None:
            raise ValueError(
                "TableKernel() finds its parts in the training table: call "
                "kernel.bind(kernel.encode(table)) first (learners call it), or give parts."
            )
        return self.parts

    def prepare(self, X: Samples, like: Prepared | None = None) -> Any:
        self._parts()
        return super().prepare(X, like)

    def block(self, X: Any, Z: Any) -> np.ndarray:
        X, Z = self.sides(X, Z)
        parts = zip(self._parts(), X.parts, Z.parts, strict=True)
        return self._combined((kernel.block(x, z) for (kernel, _), x, z in parts), X.dtype)

    def separated(self, X: Table, players: Mapping[Any, Hashable]) -> list[Term]:
        parts = list(zip(self._weights(), self._parts()))
        if self.combine == "product":
            return multiplied(
                On(kernel, columns).separated(X, players) for _, (kernel, columns) in parts
            )
        if self.combine == "sum":
            return [
                term
                for w, (kernel, columns) in parts
                for term in scaled(On(kernel, columns).separated(X, players), float(w))
            ]
        return multiplied(self._with_one(part, float(w), X, players) for w, part in parts)

    def _with_one(
        self, part: tuple, w: float, X: Table, players: Mapping[Any, Hashable]
    ) -> list[Term]:
        """(1 + w k) / (1 + w): one factor for one player, else a sum."""
        kernel, columns = part
        owners = {players[column] for column in columns}
        if len(owners) == 1:
            return [Term(1.0, {owners.pop(): (TableKernel([part], "interactions", [w]),)})]
        terms = On(kernel, columns).separated(X, players)
        return [Term(1 / (1 + w), {}), *scaled(terms, w / (1 + w))]

    def diag(self, X: Prepared) -> np.ndarray:
        X = self.prepare(X)
        parts = zip(self._parts(), X.parts, strict=True)
        return self._combined((kernel.diag(x) for (kernel, _), x in parts), X.dtype)

    @available_if(_parts_have_features)
    def features(self, X: Table) -> Any:
        """The features of the parts, combined like their kernels.

        Those of a sum stand side by side, sparse if those of a part are; use those of products only
        with few features.
        """
        own = X.by_group()
        F: list[Any] = [
            kernel.features(own[kernel.encoding(), tuple(columns)])
            for kernel, columns in self._parts()
        ]
        weights = self._weights().astype(X.dtype)
        if self.combine == "sum":
            scaled = [np.sqrt(w) * f for w, f in zip(weights, F)]
            if any(map(sp.issparse, scaled)):
                return sp.csr_array(sp.hstack([sp.csr_array(f) for f in scaled], format="csr"))
            return np.hstack(scaled)
        F = [dense_rows(f) for f in F]
        if self.combine == "product":
            return reduce(feature_products, F)
        one = np.ones((X.shape[0], 1), X.dtype)
        pairs = zip(weights, F)
        with_one = [np.hstack([one, np.sqrt(w) * f]) / np.sqrt(1 + w) for w, f in pairs]
        return reduce(feature_products, with_one)

    def _combined(self, values: Iterator[np.ndarray], dtype: np.dtype) -> np.ndarray:
        """The values of all parts as one kernel, part by part."""
        if self.combine == "product":
            return reduce(lambda K, k: np.multiply(K, k, out=K), values)
        weights = self._weights().astype(dtype)
        if self.combine == "sum":
            return reduce(
                lambda K, k: np.add(K, k, out=K), (w * k for w, k in zip(weights, values))
            )
        shares = weights / (1 + weights)
        first = next(values)
        K = shares[0] * first
        K += 1 - shares[0]  # exactly 1 where the part is
        for share, k in zip(shares[1:], values):
            _native.interact(K, np.require(k, K.dtype, ["C", "ALIGNED"]), float(share))
        return K


def _default_parts(X: Table) -> list[tuple[Kernel, list]]:
    """One kernel for each group of columns in a table that was encoded by kind of column."""
    groups: Any = X.groups
    return [(_suiting(kind), list(columns)) for (kind, *_), columns in groups]


def _suiting(kind: str) -> Kernel:
    """The kernel that suits columns of a kind of sample best."""
    return kind_named(kind).make_kernels()[0]


NODES["On"] = On
