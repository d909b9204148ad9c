"""Which columns of two tables belong together, by their names or by their values, and how each is
compared.

Columns of samples that have a distance (sets, vectors, series, graphs, molecules, places) are read
by `read_samples`. Two of their cells agree the more, the fewer random pairs are as near as they
are.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.distances import Distance, KernelDistance
from mercer.kernels import Kernel
from mercer.link.columns import Coded, ColumnWords, cells_of, sampled, sizes_of
from mercer.link.kinds import EQUAL, GIVEN, GONE, KINDS, Compare, LinkKind, Shares, judged
from mercer.persistence import fields, floats
from mercer.samples import row_marks
from mercer.spoken import meant
from mercer.tables import ReadTable, missing_values

NEAR = (0.2, 0.05, 0.01, 0.002)  # shares of random pairs that are as near as levels 1, 2, 3, 4
PAIRS = 20_000  # random pairs of which these are
SEED = 0x1F


@fields(cuts=floats(1))
class SampleKind(LinkKind):
    """Cells that a distance compares.

    ``cuts`` are the distances up to which the levels 1, 2, 3 and 4 reach; None before a fit.
    """

    name, said, counts = "samples", "by a distance", False

    def __init__(self, distance: Distance, cuts: np.ndarray | None = None):
        self.distance, self.cuts = distance, cuts

    def comparison(
        self, column: Coded, shares: Shares | None, words: ColumnWords | None
    ) -> Compare:
        X = column.samples
        assert self.cuts is not None
        cuts = np.sort(self.cuts)

        def compare(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            out = np.full(len(a), GONE, np.uint8)
            known = (a >= 0) & (b >= 0)
            out[known] = EQUAL
            apart = np.flatnonzero(known & (a != b))
            far = paired(self.distance, X, a[apart], b[apart])
            out[apart] = (far[:, None] <= cuts).sum(axis=1)
            return out

        return compare


def paired(distance: Distance, X: Any, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Distances of rows a[i] and b[i] of X: each row in turn to those that it is paired with."""
    first, second = np.minimum(a, b), np.maximum(a, b)
    order = np.argsort(first, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(first[order], prepend=-1)), len(order))
    out = np.empty(len(a))
    for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist()):
        rows = order[start:stop]
        others, place = np.unique(second[rows], return_inverse=True)
        far = distance.whole(X[first[rows[:1]]], X[others], 1)
        out[rows] = np.asarray(far, float)[0, place]
    return out


def read_samples(name: str, kind: SampleKind, sides: list[np.ndarray], *, known: bool) -> Coded:
    """A column of samples; unless it is ``known``, the kind learns from it."""
    cells = np.concatenate([np.asarray(side, object) for side in sides])
    gone = missing_values(cells)
    size = len(sides[0]) if len(sides) > 1 else 0
    if gone.all():  # of new records
        return Coded(name, kind, [], np.full(len(cells), -1, np.int32), size)
    X: Any = kind.distance.encode(cells[~gone].tolist())
    if not known:
        kind.distance = kind.distance.bind(X)
    hashes, first, place = np.unique(row_marks(X), return_index=True, return_inverse=True)
    codes = np.full(len(cells), -1, np.int32)
    codes[~gone] = place
    values = [str(row) for row in range(len(hashes))]
    column = Coded(name, kind, values, codes, size)
    vars(column)["hashes"] = hashes
    column.samples = X[first]
    if kind.cuts is None:
        rng = np.random.default_rng(SEED)
        counts = column.counts
        a, b = (rng.choice(len(hashes), PAIRS, p=counts / counts.sum()) for _ in range(2))
        far = paired(kind.distance, column.samples, a.astype(np.int32), b.astype(np.int32))
        kind.cuts = (
            np.quantile(far[a != b], NEAR, method="lower") if (a != b).any() else np.zeros(4)
        )
    return column


def checked_distances(distances: Any, names: set[str]) -> dict[str, SampleKind]:
    """The columns that are compared by distances or kernels of a user."""
    found = {}
    for name, given in dict(distances or {}).items():
        if str(name) not in names:
            raise ValueError(
                f"distances: no column {name!r} is compared; there are {', '.join(sorted(names))}."
            )
        if isinstance(given, Kernel):
            given = KernelDistance(given)
        if not isinstance(given, Distance):
            raise TypeError(
                f"distances: {name}={given!r}; give a distance of mercer.distances or a kernel."
            )
        found[str(name)] = SampleKind(given)
    return found


#: share of the values by which columns of other names are joined; so many of them tell something,
#: which are no numbers of fewer signs and no abbreviations
JOINED, DIFFERENT, TELLING = 0.3, 5, 5


@dataclass
class LinkColumn:
    """A column by which records are linked.

    Attributes
    ----------
    name : str
        Its name in the first table, or "numbers in NAME".
    other : str
        Its name in the second table.
    kind : str
        "category", "name", "text", "digits", "date", "number" or "numbers in a text".
    hints : list of str
        How values are written in each table: the order of day, month and year, or the letters
        before the digits.
    partner : str
        The column in which its values stand by mistake.
    source : str
        The text whose numbers these are.
    reason : str
        Why it is left out; empty where it is not.

    Examples
    --------
    >>> column = LinkColumn("born", "date of birth", "date", hints=["ymd", "dmy"])
    >>> column.kind, column.hints
    ('date', ['ymd', 'dmy'])
    """

    name: str
    other: str
    kind: str = ""
    hints: list[str] = field(default_factory=list)
    partner: str = ""
    source: str = ""
    reason: str = ""

    @property
    def by_values(self) -> bool:
        """Whether the second table calls it otherwise."""
        return _bare(self.name) != _bare(self.other)

    def said(self) -> str:
        """How it is compared, or why it is not."""
        if self.reason:
            return f"{self.name}: left out, {self.reason}"
        more = f"; values may stand in {self.partner}" if self.partner else ""
        kind = KINDS.get(self.kind, SampleKind)
        other = f" with {self.other}" if self.by_values else ""
        return f"{self.name}{other}: {self.kind}, {kind.said}{more}"


# --- which columns --------------------------------------------------------------------------------


def matched_columns(
    A: ReadTable, B: ReadTable | None, columns: Mapping | Sequence | None
) -> list[LinkColumn]:
    """The columns that two tables have in common, by name or by their values, or those that are
    given; of others the reason why they are not compared."""
    names = {str(name): name for name in A.names}
    others = names if B is None else {str(name): name for name in B.names}
    if columns is not None:
        return _given(columns, names, None if B is None else others)
    if B is None:
        return [LinkColumn(name, name) for name in names]
    pairs = joined_columns(A, B)
    if not pairs:
        close = [
            f"{name}={match[0]}"
            for name in names
            if (match := difflib.get_close_matches(name, list(others), 1, 0.5))
        ]
        near = f" Perhaps {', '.join(close[:5])}." if close else ""
        raise ValueError(
            f"columns: the tables have no column in common: {listed_names(names)} in the first, "
            f"{listed_names(others)} in the second. Say which column of the first is which one "
            f"of the second.{near}"
        )
    alone = [(name, "second") for name in names if name not in pairs]
    alone += [(name, "first") for name in others if name not in pairs.values()]
    return [LinkColumn(*both) for both in pairs.items()] + [
        LinkColumn(name, name, reason=f"the {table} table has no such column")
        for name, table in alone
    ]


def joined_columns(A: ReadTable, B: ReadTable) -> dict[str, str]:
    """Columns of A and what B calls them: those with one name, and others with the same values."""
    first, second = ({str(name): cells for name, cells in t.columns.items()} for t in (A, B))
    found = names_in_common(first, second)
    return found | _values_in_common(
        {name: cells for name, cells in first.items() if name not in found},
        {name: cells for name, cells in second.items() if name not in found.values()},
    )


def _values_in_common(
    first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray]
) -> dict[str, str]:
    """Columns of two tables that have other names and the same values.

    Two columns belong together if of the values of the one that has fewer ``JOINED`` stand in the
    other one, and if neither shares half as many with a third.
    """
    if not (first and second):
        return {}
    sides = [list(map(_values_read, side.values())) for side in (first, second)]
    share = np.array([[_shared(one, two) for two in sides[1]] for one in sides[0]])
    found = {}
    for (i, name), j in zip(enumerate(first), share.argmax(axis=1)):
        rivals = np.append(np.delete(share[i], j), np.delete(share[:, j], i))
        if share[i, j] >= max(JOINED, 2 * rivals.max(initial=0)):
            found[name] = list(second)[j]
    return found


def _values_read(values: np.ndarray) -> tuple[str, set[str]]:
    """The kind of a column, one for all that are words, and its different values."""
    cells = cells_of(values)
    if not cells.texts:
        return "", set()
    kind = judged(*sampled([cells]), *sizes_of([cells]))
    read = kind.read(cells.texts, kind.hint(cells.texts))
    return kind.name if kind.name in ("number", "date", "digits") else "words", set(read)


def _shared(one: tuple[str, set[str]], two: tuple[str, set[str]]) -> float:
    """The share of the values of the column that has fewer which stand in the other one, too."""
    both = one[1] & two[1] if one[0] == two[0] != "number" else set()
    telling = sum(len(text) >= TELLING or not (text.isdigit() or len(text) < 3) for text in both)
    return len(both) / min(len(one[1]), len(two[1])) if telling >= DIFFERENT else 0.0


def names_in_common(first: Iterable[str], second: Iterable[str]) -> dict[str, str]:
    """The names of columns that two tables share, and what the second one calls each.

    Case, blanks and marks do not count, and no name serves twice.

    Examples
    --------
    >>> names_in_common(["Last name", "born", "#"], ["last_name", "born", "%"])
    {'Last name': 'last_name', 'born': 'born'}
    """
    first, second = dict.fromkeys(first), dict.fromkeys(second)
    plain = {_bare(name): name for name in reversed(second) if name not in first and _bare(name)}
    found = {name: name if name in second else plain.pop(_bare(name), None) for name in first}
    return {name: other for name, other in found.items() if other is not None}


def _bare(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def listed_names(names: Mapping[str, Any]) -> str:
    """The first of some names, and how many more there are."""
    some = list(names)[:20]
    return ", ".join(some) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def _given(
    columns: Any, names: Mapping[str, Any], others: Mapping[str, Any] | None
) -> list[LinkColumn]:
    """The columns that a user names, after a check that the tables have them."""
    if isinstance(columns, str) or not isinstance(columns, (Mapping, Sequence, np.ndarray)):
        raise TypeError(
            f"columns={columns!r}: give a list of names, or a dict of those of the first table and "
            "the second one."
        )
    pairs = dict(columns) if isinstance(columns, Mapping) else {name: name for name in columns}
    if not pairs:
        raise ValueError("columns: none is given; leave it out to take all columns in common.")
    joined = [f"{name!r}: {other!r}" for name, other in pairs.items() if str(name) != str(other)]
    if others is None and joined:
        raise ValueError(
            f"columns={{{joined[0]}}}: the second name is one of a second table; give B, or a list "
            "of names."
        )
    for place, known, asked in (
        ("first", names, pairs), ("second", others or names, dict.fromkeys(pairs.values())),
    ):  # fmt: skip
        for name in asked:
            if str(name) not in known:
                raise ValueError(
                    f"columns: the {place} table has no column {name!r}; it has "
                    f"{listed_names(known)}.{meant(name, known)}"
                )
    return [LinkColumn(str(name), str(other)) for name, other in pairs.items()]


def checked_kinds(kind: Mapping | None, columns: list[LinkColumn]) -> dict[str, str]:
    """The kinds that a user gives, by the name of the column in the first table.

    A column may be given as the second one calls it, unless the first one uses that name for
    another column.
    """
    if not isinstance(kind, (Mapping, type(None))):
        raise TypeError(f"kind={kind!r}: give a dict of names of columns and their kinds.")
    known = {column.other: column.name for column in columns}
    known |= {column.name: column.name for column in columns}
    joined = {column.name for column in columns if not column.reason}
    found = {}
    for name, given in (kind or {}).items():
        if str(name) not in known:
            raise ValueError(
                f"kind: no column {name!r} is compared; there are {listed_names(known)}."
                f"{meant(name, known)}"
            )
        if given != "drop" and known[str(name)] not in joined:
            raise ValueError(
                f"kind: {name} is a column of one table alone, which is not compared; say which "
                "column of the other table it is, or leave it out."
            )
        if given != "drop" and given not in GIVEN:
            raise ValueError(f"kind: {name}={given!r}; give {', '.join(GIVEN)} or drop.")
        found[known[str(name)]] = given
    return found
