"""Records of one or two tables, ready to be compared: what their columns are, and the levels of
pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.link.columns import (
    Cells,
    Coded,
    alias_keys,
    cells_of,
    coded,
    sampled,
    sizes_of,
)
from mercer.link.kinds import (
    ELSEWHERE,
    GIVEN,
    GONE,
    KINDS,
    NUMBERS,
    Compare,
    LinkKind,
    Shares,
    is_blank,
    judged,
    numbers_in,
    word_shares,
)
from mercer.link.link_columns import LinkColumn, SampleKind, listed_names, read_samples
from mercer.tables import ReadTable, missing_values
from mercer.threads import ordered_map

LEAST = 20  # records
STRIP = 2**16  # pairs that are compared at a time
SHARED = 0.01  # of the values of a column that stand in another one, where values are swapped
WITH_NUMBERS = 0.3  # of the values of a text
ALIKE = range(2, 5)  # levels of a text beside which its numbers tell something
LONGEST = 18  # signs of the number of a record
COUNTING = 1.1  # numbers of records reach up to so many times their number


# --- reading --------------------------------------------------------------------------------------


def _sides(
    column: LinkColumn, tables: list[ReadTable], names: list[dict[str, Any]]
) -> list[np.ndarray]:
    """The cells of a column in each table."""
    each = zip((column.name, column.other), tables, names)
    found = []
    for place, (name, table, known) in enumerate(each, start=1):
        if name not in known:
            raise ValueError(
                f"{'A' if place == 1 else 'B'} has no column {name!r}, by which the model compares "
                f"records; it has {listed_names(known)}."
            )
        found.append(table.columns[known[name]])
    return found


def _no_value(sides: Sequence) -> str:
    return "it has no value" if len(sides) == 1 else "it has no value in one of the tables"


def _why_not(sides: list[Cells], different: int) -> str:
    """Why a column tells nothing of a pair; empty if it may."""
    known = [int((cells.codes >= 0).sum()) for cells in sides]
    if min(known) == 0:
        return _no_value(sides)
    if different < 2:
        return "all its values are equal"
    single = all(len(cells.texts) == count for cells, count in zip(sides, known))
    if single and all(_counts(cells) for cells in sides):
        return "it numbers the records"
    return ""


def _identifies(column: Coded) -> bool:
    """Whether numbers are all different, so that none can be equal in two records."""
    codes = column.codes[column.codes >= 0]
    return not column.kind.swaps and len(codes) == len(column.values)


def _counts(cells: Cells) -> bool:
    """Whether the values are numbers of records: 1, 2, 3 ..."""
    if len(cells.texts) < LEAST:
        return False
    if not all(text.isdecimal() and len(text) <= LONGEST for text in cells.texts):
        return False
    numbers = [int(text) for text in cells.texts]
    return max(numbers) - min(numbers) < COUNTING * len(numbers)


class Records:
    """All records of one or two tables.

    Attributes
    ----------
    specs : list of LinkColumn
        How each column is compared, in the order of ``columns``.
    columns : list of Coded
    left_out : list of LinkColumn
    n, first : int
        How many records there are, and how many of them are of the first of two tables (0 of one).
    """

    def __init__(
        self, specs: list[LinkColumn], columns: list[Coded], left_out: list[LinkColumn], first: int
    ):
        self.specs, self.columns, self.left_out = specs, columns, left_out
        self.n, self.first = len(columns[0].codes) if columns else 0, first

    @classmethod
    def read(
        cls,
        tables: list[ReadTable],
        columns: list[LinkColumn],
        kinds: Mapping[str, str],
        n_jobs: int | None,
        *,
        known: bool = False,
        samples: Mapping[str, SampleKind] | None = None,
    ) -> Records:
        """Read tables; with ``known`` columns are as in a fit, and are not judged again.

        ``samples`` are the columns that distances compare.
        """
        by_distance = samples or {}
        names = [{str(name): name for name in table.names} for table in tables]
        asked = [column for column in columns if not column.source and not column.reason]

        def one(column: LinkColumn) -> tuple[LinkColumn, Coded | None]:
            arrays = _sides(column, tables, names)
            if column.name in by_distance and kinds.get(column.name) != "drop":
                if not known and any(missing_values(cells).all() for cells in arrays):
                    return replace(column, reason=_no_value(arrays)), None
                read = read_samples(column.name, by_distance[column.name], arrays, known=known)
                return replace(column, kind=read.kind.name), read
            sides = [cells_of(values) for values in arrays]
            if known:
                hints = [*column.hints, *column.hints][: len(sides)]
                return column, coded(column.name, KINDS[column.kind], sides, hints)
            if kinds.get(column.name) == "drop":
                return replace(column, reason="as you asked"), None
            texts, weights = sampled(sides)
            given = column.name in kinds
            reason = _why_not(sides, len(texts))
            if reason and not (given and len(texts) > 1):
                return replace(column, reason=reason), None
            kind: LinkKind = (
                GIVEN[kinds[column.name]] if given
                else judged(texts, weights, *sizes_of(sides))
            )  # fmt: skip
            hints = [kind.hint(cells.texts) for cells in sides]
            found = coded(column.name, kind, sides, hints)
            if is_blank(found.symbols):
                return replace(column, reason="no value has a letter or a digit"), None
            if len(found.values) < 2:
                return replace(column, reason="all its values are equal"), None
            if not given and _identifies(found):
                return replace(column, reason="its values are all different"), None
            return replace(column, kind=kind.name, hints=hints), found

        order = asked if known else sorted(asked, key=lambda column: column.name)
        made = list(ordered_map(one, order, n_jobs))
        used = [(spec, column) for spec, column in made if column is not None]
        left = [spec for spec, column in made if column is None]
        left += [column for column in columns if column.reason]
        found = [column for _, column in used]
        specs = [spec for spec, _ in used]
        first = len(tables[0]) if len(tables) > 1 else 0
        if known:
            derived = [column for column in columns if column.source and not column.reason]
            for spec in derived:
                source = next(c for c in found if c.name == spec.source)
                specs.append(spec)
                found.append(_numbers_of(source, spec.name))
            return cls(specs, found, left, first)
        for column in list(found):
            if column.kind.name == "text" and _has_numbers(column):
                name = f"numbers in {column.name}"
                while any(name == spec.name for spec in specs):  # a user's own column
                    name += "'"
                found.append(_numbers_of(column, name))
                specs.append(LinkColumn(name, name, NUMBERS.name, [], source=column.name))
        return cls(_with_partners(specs, found), found, left, first)

    def checked(self) -> Records:
        """The same; a ValueError where no column is left to compare."""
        if not self.columns:
            said = "; ".join(column.said() for column in self.left_out[:10])
            raise ValueError(
                f"columns: no column tells which records are alike ({said}). Name others, or say "
                "of which kind they are."
            )
        return self

    def keep(self, used: np.ndarray, reason: str) -> Records:
        """The same records without some columns, for one reason."""
        gone = {spec.name for spec, use in zip(self.specs, used) if not use}
        specs = [
            replace(spec, partner="" if spec.partner in gone else spec.partner)
            for spec in self.specs
            if spec.name not in gone and spec.source not in gone
        ]
        names = {spec.name for spec in specs}
        left = [replace(spec, reason=reason) for spec in self.specs
                if spec.name in gone and not spec.source]  # fmt: skip
        columns = [column for column in self.columns if column.name in names]
        return Records(specs, columns, self.left_out + left, self.first)

    @property
    def pairs(self) -> float:
        """How many pairs of records there are."""
        return (
            float(self.first) * (self.n - self.first) if self.first else self.n * (self.n - 1) / 2
        )

    def ranks(self) -> np.ndarray:
        """The records in an order that depends on their values alone."""
        total = np.zeros(self.n, np.uint64)
        for k, column in enumerate(self.columns):
            hashes = np.append(column.hashes, np.uint64(0))[column.codes]
            total += hashes * np.uint64(2 * k + 0x9E3779B97F4A7C15)
        return np.argsort(total, kind="stable")


def _has_numbers(column: Coded) -> bool:
    return sum(map(bool, map(numbers_in, column.values))) > WITH_NUMBERS * len(column.values)


def _numbers_of(column: Coded, name: str) -> Coded:
    """The numbers in a text, as a column of their own with this name."""
    texts = [numbers_in(value) for value in column.values]
    place = {text: k for k, text in enumerate(dict.fromkeys(text for text in texts if text))}
    codes = np.array([place.get(text, -1) for text in texts] + [-1], np.int32)[column.codes]
    cells = Cells(list(place), codes, list(place))
    made = coded(name, NUMBERS, [cells], [""])
    return Coded(name, made.kind, made.values, made.codes, column.first)


def _with_partners(specs: list[LinkColumn], columns: list[Coded]) -> list[LinkColumn]:
    """Columns whose values stand in each other by mistake, as first names and surnames do."""
    share = []
    for i, a in enumerate(columns):
        for j in range(i + 1, len(columns)):
            b = columns[j]
            if a.kind.swaps and b.kind.swaps:
                small, large = (a, b) if len(a.values) < len(b.values) else (b, a)
                inside = small.counts[small.places_in(large) >= 0].sum()
                share.append((-inside / max(small.counts.sum(), 1), i, j))
    specs, taken = list(specs), set()
    for part, i, j in sorted(share):
        if -part >= SHARED and not taken & {i, j}:
            taken |= {i, j}
            specs[i] = replace(specs[i], partner=specs[j].name)
            specs[j] = replace(specs[j], partner=specs[i].name)
    return specs


# --- levels ---------------------------------------------------------------------------------------


class Comparer:
    """Compares pairs of records, column by column.

    ``shares`` (columns,) say how frequent the words of each column are, for those that are compared
    by words (None: as in these records); ``aliases`` which values stand for each other, as
    `alias_keys` writes them, ascending.
    """

    def __init__(
        self,
        records: Records,
        n_jobs: int | None,
        shares: Sequence[Shares | None] | None = None,
        aliases: Sequence[np.ndarray] = (),
    ):
        self.records, self.n_jobs = records, n_jobs
        self.shares = [word_shares(c) for c in records.columns] if shares is None else shares
        self.aliases = aliases
        names = [spec.name for spec in records.specs]
        self.compare: list[Compare] = []
        self.other = [
            names.index(spec.partner or spec.source) if spec.partner or spec.source else -1
            for spec in records.specs
        ]
        self.moved: list[np.ndarray | None] = []
        for spec, column, known, other in zip(
            records.specs, records.columns, self.shares, self.other
        ):
            words = column.kind.words_of(column)
            self.compare.append(column.kind.comparison(column, known, words))
            moved = column.places_in(records.columns[other]) if spec.partner else None
            self.moved.append(None if moved is None else np.append(moved, np.int32(-1)))

    def levels(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The level of each column for pairs of records, (pairs, d)."""
        out = np.empty((len(left), len(self.compare)), np.uint8)

        def part(start: int) -> None:
            rows = slice(start, start + STRIP)
            self._levels(left[rows], right[rows], out[rows])

        for _ in ordered_map(part, range(0, len(left), STRIP), self.n_jobs):
            pass
        return out

    def _levels(self, left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
        """Write the level of agreement of each pair in each column, (pairs, columns)."""
        columns, specs = self.records.columns, self.records.specs
        for k, (column, spec) in enumerate(zip(columns, specs)):
            a, b = column.codes[left], column.codes[right]
            level = self.compare[k](a, b)
            other, moved = self.other[k], self.moved[k]
            if spec.source:
                text = out[:, other]
                level[(text < ALIKE.start) | (text >= ALIKE.stop)] = GONE
            elif moved is not None:
                codes = columns[other].codes
                one = (moved[a] >= 0) & (moved[a] == codes[right])
                two = (moved[b] >= 0) & (moved[b] == codes[left])
                free = (a != b) & ((level < 4) | (level == GONE))
                level[free & one & two] = ELSEWHERE
                # one value in another column counts once
                level[free & (one ^ two)] = ELSEWHERE if k < other else GONE
            level[self._aliased(k, level, a, b)] = 4
            out[:, k] = level

    def of_aliases(self, levels: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The pairs, with levels by no aliases, in which values stand for each other."""

        def part(start: int) -> np.ndarray:
            rows = slice(start, start + STRIP)
            a, b = left[rows], right[rows]
            found = [
                self._aliased(k, levels[rows, k], column.codes[a], column.codes[b])
                for k, column in enumerate(self.records.columns)
            ]
            return start + np.unique(np.concatenate(found))

        parts = ordered_map(part, range(0, len(left), STRIP), self.n_jobs)
        return np.concatenate([np.empty(0, np.intp), *parts])

    def _aliased(self, k: int, level: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Where values of column k stand for each other, among those that differ."""
        if k >= len(self.aliases) or not len(self.aliases[k]):
            return np.empty(0, np.intp)
        low = np.flatnonzero(level < 4)
        keys, known = alias_keys(self.records.columns[k], a[low], b[low]), self.aliases[k]
        place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return low[known[place] == keys]
