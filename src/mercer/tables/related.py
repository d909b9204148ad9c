"""Rows that belong together, and how they are divided so that no part tells of another.

Rows of one group (a patient, a machine, a customer) resemble each other, and rows of the same time
do. Where new rows will be of other groups or of later times, a score on rows at random promises too
much: here whole groups are held out, or later rows than those that a fit learns from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from mercer.samples import EncodedColumns
    from mercer.tables.columns import Column
    from mercer.tables.encoding import Feature

FEW_GROUPS = 10  # with fewer groups of held-out rows a score says little
#: parts of the rows that come before each fold, where rows have times: one period alone may be
#: unlike all others
ORIGINS = (0.4, 0.6, 0.8)
TREND_DAYS = 730  # of dates: in less than two years seasons look like trends
LATEST = 0.25  # part of the rows that is the fold, if they have too few times for those


def hold_trends(columns: Iterable[Column]) -> bool:
    """Whether dates that move with time span enough of it to tell a trend from a season."""
    dates = [(c.low, c.high) for c in columns if c.kind == "date" and c.low is not None]
    spans = [np.datetime64(str(high)) - np.datetime64(str(low)) for low, high in dates]
    return all(span >= np.timedelta64(TREND_DAYS, "D") for span in spans)


@dataclass(frozen=True, eq=False)
class Related:
    """Which rows belong together: the groups or the times."""

    groups: np.ndarray | None = None  # the number of each row's group
    #: the rank of each row in time; rows of the same time have the same one
    times: np.ndarray | None = None
    copies: bool = False  # whether groups are of copies, which are few: folds have like classes

    def __post_init__(self) -> None:
        name, codes = ("times", self.times) if self.groups is None else ("groups", self.groups)
        if codes is not None and not np.ptp(codes):
            raise ValueError(
                f"{name} has one {name[:-1]} in all rows that count (those of weight > 0): at "
                "least two are needed."
            )

    @classmethod
    def read(cls, groups: Any, times: Any, n: int) -> Related | None:
        """Made from one value for each of n rows; None if there are neither.

        Raises ValueError if both are given, if values are missing or of another number, or all the
        same.
        """
        if groups is None and times is None:
            return None
        if groups is not None and times is not None:
            raise ValueError("groups and times are both given: give one of them.")
        name, values = ("groups", groups) if times is None else ("times", times)
        values = np.asarray(values)
        if values.shape != (n,):
            raise ValueError(
                f"{name} has shape {values.shape}: give one value for each of {n} rows."
            )
        listed = values.tolist()
        lacking = sum(v is None or v != v for v in listed)
        if lacking or (values.dtype.kind in "mM" and np.isnat(values).any()):
            raise ValueError(f"{name} has missing values: leave those rows out.")
        if values.dtype.kind == "O" and name == "groups":
            values = values.astype(str)
        codes = np.unique(values, return_inverse=True)[1]
        return cls(groups=codes) if name == "groups" else cls(times=codes)

    @classmethod
    def of_columns(
        cls, columns: Iterable[Column], values: dict[Any, np.ndarray], by: str = ""
    ) -> Related | None:
        """Groups of rows by columns whose equal values are written in several ways, such as
        molecules: copies, or the larger groups that are called ``by`` ("scaffold").

        None if each row is alone, or if all are copies of one. It is a ValueError if no column has
        groups of that name, or if all rows are of one.
        """
        found = [c.of.groups(c, values[c.name], by) for c in columns if c.used]
        rows = list(zip(*(texts for texts in found if texts is not None)))
        numbers = {row: i for i, row in enumerate(dict.fromkeys(rows))}
        if by and len(numbers) < 2:
            raise ValueError(
                f'groups={by!r}: give one value for each row, or "scaffold" for a table with '
                "molecules of several scaffolds."
            )
        if not 1 < len(numbers) < len(rows):
            return None
        return cls(groups=np.array([numbers[row] for row in rows]), copies=not by)

    def take(self, rows: np.ndarray) -> Self:
        """The same for some of the rows."""
        groups, times = (x if x is None else x[rows] for x in (self.groups, self.times))
        return replace(self, groups=groups, times=times)

    def hold_out(self, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows to fit to, and rows to score on: about ``share`` of them, both in order."""
        values: Any = self.times if self.groups is None else self.groups
        held = self._last(np.arange(len(values)), share, seed)
        return np.flatnonzero(~held), np.flatnonzero(held)

    def first(self, order: np.ndarray, count: int, seed: int) -> np.ndarray:
        """About ``count`` rows that tell nothing of those that `folds` judges."""
        if self.groups is None:
            early = order[self.folds(np.arange(len(order)), 1, seed)[order] < 0]
            return early[: min(count, len(early) // 2)]
        mixed = np.random.default_rng(seed).permutation(self.groups.max() + 1)
        sizes = np.cumsum(np.bincount(self.groups, minlength=len(mixed))[mixed])
        own = mixed[: max(1, int(np.searchsorted(sizes, count)))]
        return order[np.isin(self.groups[order], own)]

    def folds(self, rows: np.ndarray, k: int, seed: int) -> np.ndarray:
        """The fold of each of some rows, else -1: whole groups, or periods one after another.

        A fit that a period judges learns from the rows before it alone.
        """
        if self.groups is None:
            assert self.times is not None
            times = self.times[rows]
            places = [max(1, int(len(rows) * part)) - 1 for part in ORIGINS]
            begins = np.unique(np.sort(times)[places])  # rows of one time stay together
            begins = begins[begins < times.max()]
            if len(begins):
                return np.searchsorted(begins, times) - 1
        if self.groups is None or k == 1:
            return np.where(self._last(rows, LATEST, seed), 0, -1)
        codes, sizes = np.unique(self.groups[rows], return_counts=True)
        random = np.random.default_rng(seed).permutation(len(codes))
        random = random[np.argsort(-sizes[random], kind="stable")]  # the largest first
        fold_of, filled = np.empty(len(codes), int), np.zeros(min(k, len(codes)))
        for group in random:
            fold_of[group] = filled.argmin()
            filled[fold_of[group]] += sizes[group]
        return fold_of[np.searchsorted(codes, self.groups[rows])]

    def moving(self, features: list[Feature], M: EncodedColumns) -> tuple[str, ...]:
        """The labels of the features that move with time: most later values are new ones.

        Of each period of `folds` more than half of the values lie outside of all that came before,
        as days that have passed do, or the month of a single year.
        """
        if self.times is None:
            return ()
        folds = self.folds(np.arange(len(M)), 1, 0)
        read = [j for j, feature in enumerate(features) if feature.kind == "scaled"]
        moves, low, high = np.ones(len(read), bool), np.inf, -np.inf
        for f in range(-1, folds.max() + 1):  # the first rows are before all periods
            own = M.numbers[np.ix_(folds == f, read)]
            if f >= 0:
                moves &= ((own < low) | (own > high)).mean(axis=0) > 0.5
            low, high = np.minimum(low, own.min(axis=0)), np.maximum(high, own.max(axis=0))
        return tuple(features[j].label for j, moved in zip(read, moves) if moved)

    def _last(self, rows: np.ndarray, share: float, seed: int) -> np.ndarray:
        """Mask of about ``share`` of the rows: the latest ones, or those of some groups."""
        wanted = share * len(rows)
        if self.groups is None:
            assert self.times is not None
            times = self.times[rows]
            begin = np.sort(times)[max(1, int(len(rows) - wanted)) - 1]
            later = times > begin  # rows of one time stay together
            later = later if later.any() else times == times.max()
            if later.all():  # these rows have one time: any of them may be the latest
                random = np.random.default_rng(seed).permutation(len(rows))
                later[random[max(1, int(wanted)) :]] = False
            return later
        codes, sizes = np.unique(self.groups[rows], return_counts=True)
        random = np.random.default_rng(seed).permutation(len(codes))
        # a group of more rows than wanted is taken last: such as molecules without rings
        random = random[np.argsort(sizes[random] > wanted, kind="stable")]
        total = np.cumsum(sizes[random])
        chosen = random[: min(len(codes) - 1, max(1, int(np.searchsorted(total, wanted)) + 1))]
        return np.isin(self.groups[rows], codes[chosen])
