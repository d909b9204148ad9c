"""What distances and kernels share: both compare two samples, block by block.

A comparison is a parameter object in scikit-learn's sense: the constructor stores its arguments
untouched, so that ``get_params``, ``set_params``, ``clone`` and ``repr`` come for nothing. Raw data
become a matrix of values in four steps: `encode` (integers and floats in place of what the user
gave), `bind` (learn from the training sample), `prepare` (compute what is needed of each row, once)
and `block` (compare rows with rows, as often as there are tiles).
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator

from mercer.distances.tiles import fill, tile_edge
from mercer.samples import (
    Categories,
    Objects,
    Prepared,
    Ragged,
    Table,
    as_samples,
    as_table,
    refuse_missing,
    refuse_objects,
    select_columns,
)

__all__ = ["Comparison", "Composite", "Member"]

CODED = (Categories, Objects, Ragged)  # samples that have no precision of their own


class Member(NamedTuple):
    """A comparison that another one is made of.

    Attributes
    ----------
    name : str
        That of the parameter; of the items of a list, "kernels__0", "kernels__1" ...
    comparison : Comparison
    columns : tuple or None
        The columns of a table that it reads; None: the samples that the other one is given.
    """

    name: str
    comparison: Comparison
    columns: tuple | None


class Comparison(BaseEstimator, ABC):
    """A function of two samples, evaluated on blocks of them.

    Subclasses define `block`, and override `validate` when they have parameters, `bind` when they
    learn something from the training sample, and `prepare` when something can be computed once for
    each row.
    """

    #: the kind of sample that is compared: a key of `mercer.samples.KINDS`
    kind: str = "vectors"
    #: value(x, z) == value(z, x)
    symmetric: bool = True
    #: `block` should see all samples at once, where memory has room for all values
    at_once: bool = False

    @abstractmethod
    def block(self, X: Any, Z: Any) -> np.ndarray:
        """Value for every row x of X (n) and z of Z (m), encoded samples, prepared or not.

        A fresh array of shape (n, m), in the dtype of the samples, which the caller may overwrite.
        """

    def validate(self) -> None:
        """Raise ValueError or TypeError when a parameter is out of range."""

    # --- from raw data to what `block` reads ----------------------------------------------------

    def encoding(self) -> Hashable:
        """What encoded samples depend on: comparisons of equal encoding read the same ones."""
        if self.kind == "table":
            return ("table", *((c.encoding(), columns) for c, columns in self.column_groups()))
        return (self.kind,)

    def encode(self, X: Any, like: Any = None) -> Any:
        """Raw data as encoded samples, which pass unchanged.

        ``like`` are the training samples, encoded, whose codes are continued.
        """
        if self.kind == "table":
            return encode_groups(X, list(self.column_groups()), like, type(self).__name__)
        X = as_samples(X, self.kind, like=like, reader=type(self).__name__)
        self.check(X, like)
        return X

    def check(self, X: Any, like: Any = None) -> None:
        """Raise ValueError where encoded samples cannot be compared.

        The default asks the comparisons that this one is made of.
        """
        for m in self.members():
            m.comparison.check(_read(m, X), None if like is None else _read(m, like))

    def bind(self, X: Any, y: Any = None) -> Self:
        """A frozen copy that has learnt what it needs from the encoded training sample.

        The default validates the parameters, and binds the comparisons that it is made of.
        """
        self.validate()
        bound = {m.name: m.comparison.bind(_read(m, X), y) for m in self.members()}
        changed = {m.name: bound[m.name] for m in self.members() if bound[m.name] is not m[1]}
        return self.copied(**changed) if changed else self

    def prepare(self, X: Any, like: Any = None) -> Any:
        """What `block` wants to read of encoded samples, computed once for all blocks.

        Samples, or `Prepared` ones, with the same rows; what is prepared already passes unchanged.
        ``like`` is the other side, prepared: both sides must agree, as on an origin to measure
        from. The default has nothing to prepare.
        """
        return X

    def sides(self, X: Any, Z: Any) -> tuple[Any, Any]:
        """Both sides of a block, prepared alike; the same object where they are the same."""
        if isinstance(X, Prepared):
            return X, Z if isinstance(Z, Prepared) else self.prepare(Z, X)
        B = self.prepare(Z)
        return (B if X is Z else self.prepare(X, B)), B

    def matrix(self, X: Any, Z: Any) -> tuple[np.ndarray, Any, Any] | None:
        """A matrix that holds the values of encoded samples already, and their rows and columns
        there; None, the default: values are computed block by block."""
        return None

    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        """Values on raw data: ``kernel(X)`` or ``kernel(X, Z)``, shape (n, n) or (n, m).

        What is learnt from a training sample (γ = "scale", say) is learnt from Z, or from X where
        it stands alone: scikit-learn calls kernels so. All cores are used.
        """
        self.validate()
        training = self.encode(X if Z is None else Z)
        new = training if Z is None or Z is X else self.encode(X, like=training)
        return self.bind(training).whole(new, training)

    def whole(
        self, X: Any, Z: Any, n_jobs: int | None = None, values: Callable | None = None
    ) -> np.ndarray:
        """All values of encoded samples, computed by tiles over the threads: a fresh array.

        ``values`` of two prepared samples are those of `block`, by default.
        """
        known = self.matrix(X, Z)
        if known is not None:
            K, rows, columns = known
            return K[rows][:, columns]
        same, shape = self.symmetric and X is Z, (X.shape[0], Z.shape[0])
        step = tile_edge(shape, self.pair_cost(X))
        dtype = np.result_type(X.dtype, Z.dtype)
        A, B = self.sides(X, Z)

        def block(i: slice, j: slice) -> np.ndarray:
            rows = A[i]
            return (values or self.block)(rows, rows if same and i == j else B[j])

        return fill(block, np.empty(shape, dtype), step, same, n_jobs)

    # --- the comparisons that this one is made of ------------------------------------------------

    def members(self) -> list[Member]:
        """The comparisons that this one's parameters hold, alone or in lists."""
        return list(_members(self.get_params(deep=False)))

    def column_groups(self) -> Iterator[tuple[Comparison, tuple]]:
        """The comparisons that read columns of a table, each with its columns."""
        for _, comparison, columns in self.members():
            if columns is None:
                yield from comparison.column_groups()
            else:
                yield comparison, columns

    def pair_cost(self, X: Any) -> float:
        """Operations for one pair of rows of encoded samples, about; 0: few, whatever the rows.

        Where pairs are costly, as those of long strings are, Gram matrices are computed by smaller
        tiles. The default adds up the comparisons that this one is made of.
        """
        return sum(m.comparison.pair_cost(_read(m, X)) for m in self.members())

    def copied(self, **changes: Any) -> Self:
        """A copy with some parameters changed, named as in `get_params`."""
        params = self.get_params(deep=False)
        own = {name: value for name, value in changes.items() if name in params}
        inner = {name: value for name, value in changes.items() if name not in params}
        copy = type(self)(**params | own)
        return copy.set_params(**inner) if inner else copy

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; where ``deep``, those of comparisons in lists too.

        The i-th item of the list ``parts`` is ``parts__i``, its parameter gamma
        ``parts__i__gamma``, so that grids reach every node. Of a pair (comparison, columns) the
        comparison is meant.
        """
        if not deep:
            return {name: getattr(self, name) for name in _parameters(type(self))}
        params = super().get_params(deep)
        for name, comparison, _ in self.members():
            if name not in params:
                inner = comparison.get_params(deep=True)
                params |= {name: comparison, **{f"{name}__{k}": v for k, v in inner.items()}}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, named as in `get_params`; lists are replaced by new ones."""
        own = self.get_params(deep=False)
        plain: dict[str, Any] = {}
        in_lists: dict[tuple[str, int], dict] = {}
        for key, value in params.items():
            name, _, rest = key.partition("__")
            place, _, inner = rest.partition("__")
            if place.isdigit() and isinstance(params.get(name, own.get(name)), (list, tuple)):
                in_lists.setdefault((name, int(place)), {})[inner] = value
            else:
                plain[key] = value
        super().set_params(**plain)
        for (name, place), changes in in_lists.items():
            self._set_item(name, place, changes)
        return self

    def _set_item(self, name: str, place: int, changes: dict) -> None:
        items = list(getattr(self, name))
        held = place < len(items) and _comparison(items[place])
        if not held:
            raise ValueError(
                f"{name}__{place} is no comparison of {type(self).__name__}, whose {name} holds "
                f"{len(items)} items, numbered from 0."
            )
        new = changes.pop("", held)
        if changes:
            new.set_params(**changes)
        items[place] = new if items[place] is held else (new, *items[place][1:])
        setattr(self, name, items)


class Composite(Comparison):
    """Abstract: a comparison made of others, which read `Prepared.parts` in their order."""

    def prepare(self, X: Any, like: Any = None) -> Prepared:
        if isinstance(X, Prepared):
            return X
        others = [None] * len(self.members()) if like is None else like.parts
        return Prepared(
            tuple(
                m.comparison.prepare(_read(m, X), other)
                for m, other in zip(self.members(), others, strict=True)
            )
        )


@cache
def _parameters(comparison: type) -> tuple[str, ...]:
    """Names of the constructor's arguments, ascending."""
    return tuple(sorted(inspect.signature(comparison).parameters))


def _comparison(item: Any) -> Comparison | None:
    """The comparison of an item of a list: itself, or the first of a pair with columns."""
    if isinstance(item, (tuple, list)) and len(item) == 2:
        item = item[0]
    return item if isinstance(item, Comparison) else None


def _members(params: dict[str, Any]) -> Iterator[Member]:
    for name, value in params.items():
        if isinstance(value, Comparison):
            yield Member(name, value, None)
        elif isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                comparison = _comparison(item)
                if comparison is not None:
                    columns = None if item is comparison else tuple(item[1])
                    yield Member(f"{name}__{i}", comparison, columns)


def _read(member: Member, X: Any) -> Any:
    """The samples that a member reads."""
    if member.columns is None:
        return X
    return X.part(member.comparison.encoding(), member.columns)


def encode_groups(
    X: Any, groups: Sequence[tuple[Comparison, tuple]], like: Any, name: str
) -> Table:
    """The named groups of columns, each encoded by the comparison that reads it.

    Comparisons of the same columns and equal encoding share them.
    """
    if isinstance(X, Table):
        return X
    if not groups:
        raise ValueError(f"{name} reads no columns: give it parts with columns.")
    X, keys, parts = as_table(X, name), [], []
    for comparison, columns in groups:
        key = comparison.encoding(), tuple(columns)
        known = None if like is None else like.part(*key)
        try:
            if key in keys:
                comparison.check(parts[keys.index(key)], known)
                continue
            raw = select_columns(X, columns, name)
            if comparison.kind == "vectors":
                refuse_objects(raw, name)
                refuse_missing(raw, columns, name)
            encoded = comparison.encode(raw, known)
        except ValueError as error:
            raise ValueError(f"columns {list(columns)}: {error}") from error
        keys.append(key)
        parts.append(encoded)
    vectors = [part.dtype for part in parts if not isinstance(part, CODED)]
    dtype = np.result_type(*vectors) if vectors else np.dtype(np.float64)
    return Table(keys, [p.astype(dtype) if isinstance(p, CODED) else p for p in parts])
