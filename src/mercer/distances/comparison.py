"""The common base of distances and kernels: both compare two samples, block by block.

A comparison is an object with parameters, as in scikit-learn: the constructor stores its arguments
unchanged, so that ``get_params``, ``set_params``, ``clone`` and ``repr`` need no more code. Raw
data become a matrix of values in four steps: `encode` (turn what the user gave into integers and
floats), `bind` (learn from the training sample), `prepare` (compute once what is needed for each
row) and `block` (compare rows with rows, once for each block of the matrix). A `Meaning` says what
a comparison is, for readers who know none.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from mercer.distances.products import EDGE, LARGE, fill, mirrored, tile_edge
from mercer.samples import (
    Kind,
    Prepared,
    Samples,
    SamplesLike,
    Table,
    as_samples,
    column_names,
    in_numbers,
    is_missing,
    kind_named,
    kind_of,
    object_columns,
    read,
    select_columns,
)
from mercer.threads import count_jobs


@dataclass(frozen=True)
class Meaning:
    """A kernel or a distance in mathematics and in words, as reports show it.

    Braces hold the name of an attribute: ``{degree}`` stands for its number, ``{kernel}`` for the
    mathematics, or the words, of the kernel that it holds.

    Parameters
    ----------
    formula : str
        The value for samples x and z, in Unicode mathematics.
    words : str
        What it is in plain words; the sentence begins with "Similarity is" or "Distance is".
    alone : str, default=""
        The formula for a single column. "" means that it is the same as for many.

    Examples
    --------
    >>> Meaning("exp(−γ |x − z|)", "1 for equal numbers, falling with their difference").formula
    'exp(−γ |x − z|)'
    """

    formula: str
    words: str
    alone: str = ""

    @classmethod
    def of_class(cls, of: type) -> Meaning:
        """What the name of a class and the first line of its docstring tell."""
        first = inspect.cleandoc(of.__doc__ or "").split("\n\n")[0]
        told = " ".join(first.replace(":math:", "").replace("`", "").split()).rstrip(".")
        words = f"what {of.__name__} computes"
        return cls(f"{of.__name__}(x, z)", f"{words}: {told}" if told else words)


class Member(NamedTuple):
    """A comparison that another one is made of.

    Attributes
    ----------
    name : str
        The name of the parameter; for the items of a list "kernels__0", "kernels__1" ...
    comparison : Comparison
    columns : tuple or None
        The columns of a table that it reads. None means that it reads whole samples.
    """

    name: str
    comparison: Comparison
    columns: tuple | None


class Comparison(BaseEstimator, ABC):
    """A function of two samples, evaluated on blocks of them.

    Subclasses define `block`. They override `validate` if they have parameters, `bind` if they
    learn something from the training sample, and `prepare` if something can be computed once for
    each row.
    """

    #: the kind of sample that is compared: the name of a `mercer.samples.Kind`
    kind: str = "vectors"
    #: whether value(x, z) == value(z, x)
    symmetric: bool = True
    #: what reports say about it; None: its name and the first line of its docstring
    meaning: Meaning | None = None
    #: parameters that may be any number > 0: the likelihood of a Gaussian process chooses them
    free: tuple[str, ...] = ()
    #: whether `block` should get all samples at once, if all values fit into memory
    at_once: bool = False

    @abstractmethod
    def block(self, X: SamplesLike, Z: SamplesLike) -> np.ndarray:
        """Values for every row x of X (n) and z of Z (m); both are encoded, prepared or not.

        Returns a new array (n, m) in the dtype of the samples, which the caller may overwrite.
        """

    def validate(self) -> None:
        """Raise ValueError or TypeError if a parameter has a wrong value."""

    @property
    def reads(self) -> Kind:
        """What a sample is: the kind with the name ``kind``."""
        return kind_named(self.kind)

    # --- from raw data to what `block` reads ----------------------------------------------------

    def encoding(self) -> Hashable:
        """A key of how samples are encoded: comparisons with equal keys read the same samples."""
        if self.reads.of_columns:
            return (self.kind, *((c.encoding(), columns) for c, columns in self.column_groups()))
        return (self.kind,)

    def encode(self, X: Any, like: Any = None) -> Any:
        """Encode raw data; samples that are encoded already are returned unchanged.

        ``like`` are the encoded training samples. Their codes are used for new samples too.
        """
        if self.reads.of_columns:
            return encode_groups(X, list(self.column_groups()), like, type(self).__name__)
        X = as_samples(X, self.kind, like=like, reader=type(self).__name__)
        self.check(X, like)
        return X

    def check(self, X: SamplesLike, like: SamplesLike | None = None) -> None:
        """Raise ValueError if encoded samples cannot be compared.

        The default calls ``check`` of the comparisons that this one is made of.
        """
        if members := self.members():
            known = [None] * len(members) if like is None else _read(members, like)
            for m, own, other in zip(members, _read(members, X), known):
                m.comparison.check(own, other)

    def bind(
        self, X: SamplesLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Return a copy that has learnt what it needs from the encoded training sample.

        The default checks the parameters, and binds the comparisons that this one is made of. If
        nothing is learnt, it returns the object itself. A row with the ``sample_weight`` 2 counts
        as two rows; all weights are > 0, and None means that all are 1.
        """
        self.validate()
        if not (members := self.members()):
            return self
        bound = [
            m.comparison.bind(own, y, sample_weight) for m, own in zip(members, _read(members, X))
        ]
        changed = {m.name: b for m, b in zip(members, bound) if b is not m.comparison}
        return self.copied(**changed) if changed else self

    def unbound(self) -> Self:
        """A copy without the parts of a training sample that it has learnt, to be bound to another.

        Numbers that were learnt are kept. If there are no such parts, it returns the object itself.
        """
        bare = {m.name: m.comparison.unbound() for m in self.members()}
        changed = {m.name: bare[m.name] for m in self.members() if bare[m.name] is not m[1]}
        return self.copied(**changed) if changed else self

    def prepare(self, X: Samples, like: Samples | None = None) -> Any:
        """Compute once what `block` needs for each row of encoded samples.

        Returns samples or `Prepared` with the same rows; prepared samples are returned unchanged.
        ``like`` is the other side, already prepared, if both sides must have something in common,
        for example an origin. The default returns X.
        """
        return X

    def sides(self, X: Samples, Z: Samples) -> tuple[Any, Any]:
        """Both sides of a block, prepared together; one object twice if X is Z."""
        if isinstance(X, Prepared):
            return X, Z if isinstance(Z, Prepared) else self.prepare(Z, X)
        B = self.prepare(Z)
        return (B if X is Z else self.prepare(X, B)), B

    def matrix(self, X: Samples, Z: Samples) -> tuple[np.ndarray, Any, Any] | None:
        """A matrix that already holds the values of encoded samples, with their rows and columns in
        it. None (the default) means that values are computed block by block."""
        return None

    def __call__(self, X: SamplesLike, Z: SamplesLike | None = None) -> np.ndarray:
        """Values on raw data: ``kernel(X)`` or ``kernel(X, Z)``, shape (n, n) or (n, m).

        What is learnt from a training sample (for example γ = "scale") is learnt from Z, or from X
        if there is no Z, because scikit-learn calls kernels in this way. All cores are used. Values
        beyond the range of floats are infinite; what has no value is a ValueError.
        """
        self.validate()
        training = self.encode(X if Z is None else Z)
        new = training if Z is None or Z is X else self.encode(X, like=training)
        wrong = ""
        with np.errstate(all="ignore"):
            try:
                values = self.bind(training).whole(new, training)
            except np.linalg.LinAlgError as error:
                values, wrong = np.zeros(1), f"cannot compare these samples: {error}"
            has_nan = np.isnan(values.max())
        if has_nan:
            i, j = np.argwhere(np.isnan(values))[0]
            wrong = f"gives NaN for row {i} of X and row {j} of {'X' if Z is None else 'Z'}"
        if wrong:
            raise ValueError(
                f"{self!r} {wrong}. Numbers near 1 are wanted: divide those of the samples by "
                "their largest size, or change the parameters."
            )
        return values

    def whole(
        self, X: Samples, Z: Samples, n_jobs: int | None = None, values: Callable | None = None
    ) -> np.ndarray:
        """All values of encoded samples, by several threads: a new array of shape (n, m).

        ``values`` is a function of two prepared samples. None means `block`.
        """
        known = self.matrix(X, Z)
        if known is not None:
            K, rows, columns = known
            return K[rows][:, columns]
        same, shape = self.symmetric and X is Z, (X.shape[0], Z.shape[0])
        large = self.large_tiles and count_jobs(n_jobs) == 1  # threads need tiles to share
        step = tile_edge(shape, self.pair_cost(X), LARGE if large else EDGE)
        A, B = self.sides(X, Z)

        def tile(i: slice, j: slice) -> list[np.ndarray]:
            rows = A[i]
            return [(values or self.block)(rows, rows if same and i == j else B[j])]

        if step >= max(shape):  # a single tile, which need not be copied
            (K,) = tile(slice(None), slice(None))
            return mirrored(K) if same else K
        K = np.empty(shape, np.result_type(X.dtype, Z.dtype))
        fill(tile, [K], step, same, n_jobs)
        return K

    def free_parameters(self) -> list[str]:
        """The names in `get_params` of parameters that are numbers > 0 now, and may be any others.

        Those of the comparisons that this one is made of follow its own.
        """
        own = [name for name in self.free if _above_zero(getattr(self, name))]
        inner = (
            f"{m.name}__{name}" for m in self.members() for name in m.comparison.free_parameters()
        )
        return [*own, *inner]

    # --- the comparisons that this one is made of ------------------------------------------------

    def members(self) -> list[Member]:
        """The comparisons among the parameters of this one, alone or in lists."""
        return list(_members(self))

    def column_groups(self) -> Iterator[tuple[Comparison, tuple]]:
        """The comparisons that read columns of a table, each with its columns."""
        for _, comparison, columns in self.members():
            if columns is None:
                yield from comparison.column_groups()
            else:
                yield comparison, columns

    @property
    def large_tiles(self) -> bool:
        """Whether large tiles take less time, since each tile reads all of its rows anew.

        The default asks the comparisons that this one is made of.
        """
        return any(m.comparison.large_tiles for m in self.members())

    def pair_cost(self, X: Samples) -> float:
        """About how many operations one pair of rows takes; 0 means few, whatever the rows are.

        If a pair takes many, like a pair of long strings, Gram matrices are computed in smaller
        blocks. The default is the sum over the comparisons that this one is made of.
        """
        if not (members := self.members()):
            return 0
        return sum(m.comparison.pair_cost(own) for m, own in zip(members, _read(members, X)))

    def copied(self, **changes: object) -> Self:
        """A copy with some parameters changed. Their names are those of `get_params`.

        A comparison that it is made of is copied too if a parameter of it changes.
        """
        params = self.get_params(deep=False)
        own = {name: value for name, value in changes.items() if name in params}
        inner = {name: value for name, value in changes.items() if name not in params}
        copy = type(self)(**params | own)
        if not inner:
            return copy
        members = {member.name: member.comparison for member in copy.members()}
        nested: dict[str, dict[str, Any]] = {}
        for key in list(inner):
            name = next((name for name in _starts(key) if name in members), None)
            if name is not None:
                nested.setdefault(name, {})[key[len(name) + 2 :]] = inner.pop(key)
        inner |= {name: members[name].copied(**changed) for name, changed in nested.items()}
        return copy.set_params(**inner)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; if ``deep``, also those of comparisons in lists.

        The i-th item of the list ``parts`` is ``parts__i``, and its parameter gamma is
        ``parts__i__gamma``, so that a grid search can set every parameter. If the item is a pair
        (comparison, columns), ``parts__i`` is the comparison.
        """
        if not deep:
            return {name: getattr(self, name) for name in _parameters(type(self))}
        params = super().get_params(deep)
        for name, comparison, _ in self.members():
            if name not in params:
                inner = comparison.get_params(deep=True)
                params |= {name: comparison, **{f"{name}__{k}": v for k, v in inner.items()}}
        return params

    def set_params(self, **params: object) -> Self:
        """Set parameters by the names of `get_params`; changed lists are replaced by new lists."""
        own = self.get_params(deep=False)
        plain: dict[str, Any] = {}
        in_lists: dict[str, dict[int, dict]] = {}
        for key, value in params.items():
            name, _, rest = key.partition("__")
            place, _, inner = rest.partition("__")
            if place.isdigit() and isinstance(params.get(name, own.get(name)), (list, tuple)):
                in_lists.setdefault(name, {}).setdefault(int(place), {})[inner] = value
            else:
                plain[key] = value
        super().set_params(**plain)
        for name, places in in_lists.items():
            items = list(getattr(self, name))
            for place, changes in places.items():
                items[place] = self._changed_item(name, items, place, changes)
            setattr(self, name, items)
        return self

    def _changed_item(self, name: str, items: list, place: int, changes: dict) -> Any:
        """An item of a list after changes of its comparison."""
        held = place < len(items) and _comparison(items[place])
        if not held:
            raise ValueError(
                f"{name}__{place} is not a comparison of {type(self).__name__}: {name} holds "
                f"{len(items)} items, numbered from 0. Give the number of one of them."
            )
        new = changes.pop("", held)
        if changes:
            new.set_params(**changes)
        return new if items[place] is held else (new, *items[place][1:])


class Composite(Comparison):
    """Abstract: a comparison made of others, which read `Prepared.parts` in the same order."""

    def prepare(self, X: Samples, like: Prepared | None = None) -> Prepared:
        if isinstance(X, Prepared):
            return X
        others = [None] * len(self.members()) if like is None else like.parts
        members = self.members()
        return Prepared(
            tuple(
                m.comparison.prepare(own, other)
                for m, own, other in zip(members, _read(members, X), others, strict=True)
            )
        )


@cache
def _parameters(comparison: type) -> tuple[str, ...]:
    """Names of the constructor's arguments, in alphabetical order."""
    return tuple(sorted(inspect.signature(comparison).parameters))


def _above_zero(value: object) -> bool:
    """Whether a parameter is a number > 0, or numbers > 0."""
    if value is None or isinstance(value, (str, bool)):
        return False
    values = np.asarray(value)
    return values.dtype.kind in "fiu" and values.size > 0 and bool((values > 0).all())


def _comparison(item: object) -> Comparison | None:
    """The comparison in an item of a list: the item itself, or the first of a pair with columns."""
    if isinstance(item, (tuple, list)) and len(item) == 2:
        item = item[0]
    return item if isinstance(item, Comparison) else None


def _members(whole: Comparison) -> Iterator[Member]:
    """The comparisons in the parameters of another one."""
    for name in _parameters(type(whole)):
        value = getattr(whole, name)
        if value is None or isinstance(value, (str, int, float)):
            continue  # as most are; the question whether it is a comparison takes longer
        if isinstance(value, Comparison):
            yield Member(name, value, None)
        elif isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                comparison = _comparison(item)
                if comparison is not None:
                    columns = None if item is comparison else tuple(item[1])
                    yield Member(f"{name}__{i}", comparison, columns)


def _read(members: Sequence[Member], X: Any) -> list:
    """The samples that each member reads."""
    parts = X.by_group() if any(m.columns is not None for m in members) else {}
    return [X if m.columns is None else parts[m.comparison.encoding(), m.columns] for m in members]


def _starts(key: str) -> Iterator[str]:
    """The names of which "a__b__c" may be a parameter: "a__b", then "a"."""
    while "__" in key:
        key = key.rpartition("__")[0]
        yield key


def encode_groups(
    X: SamplesLike, groups: Sequence[tuple[Comparison, tuple]], like: Table | None, name: str
) -> Table:
    """Encode groups of columns, each by the comparison that reads it.

    Comparisons with the same columns and the same encoding share the encoded columns. A comparison
    without columns reads all columns of the training table.
    """
    if isinstance(X, Table):
        return X
    if not groups:
        raise ValueError(f"{name} reads no columns: give it parts with columns.")
    _, X = read(X, "table", reader=name)
    found: dict[tuple, Any] = {}
    before = None if like is None else like.by_group()
    present = dict.fromkeys(column_names(X))
    for comparison, columns in groups:
        encoding = comparison.encoding()
        if not columns:
            columns = tuple(present) if like is None else most_columns(like, encoding)
        key = encoding, tuple(columns)
        known = None if before is None else before[key]
        try:
            if key in found:
                comparison.check(found[key], known)
                continue
            raw = select_columns(X, columns, name, comparison.reads.coordinates, present)
            if comparison.reads.coordinates:
                raw = in_numbers(raw)
            elif comparison.reads.empty is not None and len(columns) == 1:
                raw = _filled(raw, comparison.reads.empty)
            comparison.reads.check_columns(raw, columns, name)
            encoded = comparison.encode(raw, known)
        except ValueError as error:
            raise ValueError(f"columns {list(columns)}: {error}") from error
        found[key] = encoded
    keys, parts = list(found), list(found.values())
    coded = [(kind := kind_of(part)) is not None and kind.coded for part in parts]
    precisions = [part.dtype for part, codes in zip(parts, coded) if not codes]
    dtype = np.result_type(*precisions) if precisions else np.dtype(np.float64)
    return Table(keys, [p.astype(dtype) if codes else p for p, codes in zip(parts, coded)])


def most_columns(X: Table, encoding: Hashable) -> tuple:
    """The columns of the largest group of a table that is encoded in this way; () without one."""
    return max((columns for own, columns in X.groups if own == encoding), key=len, default=())


def _filled(X: SamplesLike, empty: str) -> Any:
    """A column of samples whose missing cells are the empty sample."""
    if kind_of(X) is not None:
        return X
    (cells,) = object_columns(X)
    missing = is_missing(cells)
    return [empty if m else v for v, m in zip(cells.tolist(), missing)] if missing.any() else X
