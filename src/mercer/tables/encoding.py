"""Encode the columns of a table for a table kernel.

A number becomes three columns: its rank among the training values (uniform, of unit variance), its
standardised value, and its normal score (the value of a standard normal variable of that rank). An
integer of 3 to 20 different values has a code too. Numbers of one range, two to eight columns with
the same least and largest value, are standardised alike, so that their differences mean the same
as before. A missing number is replaced by the median. If
training values are missing, "is it missing" becomes a category too (only one for columns that miss
values in the same rows). A category becomes a code. In a category with more than 20 levels, the
levels with fewer than ``rare`` rows share one code; new levels get this code too. With 30 levels or
more it has a second code, in which rare levels share none, for `mercer.tables.learn_effects`. A
missing value is a separate level. A date becomes the numbers year, month, day, day of week, hour,
minute and elapsed days, of which those that are the same in all training rows are left out. A text
becomes a string of characters, and also a string of words if texts have several words. A set stays
a set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer.persistence import KeepsRecords
from mercer.samples import Categories, EncodedColumns, Kind, SamplesLike
from mercer.tables.cells import encode_cells, kind_of_view, known_cells
from mercer.tables.column_kinds import level_text, level_texts
from mercer.tables.column_rules import infer_columns
from mercer.tables.columns import MANY_LEVELS, RARE, Column, refuse_unreadable, used_columns
from mercer.tables.values import ReadTable, read_columns

RANKS = 1000  # most quantiles; ranks are interpolated between them
WIDTH = np.sqrt(12)  # a uniform variable times this has unit variance
TINY = 1e-290
SCORED = 1e-3  # normal scores are those of ranks from this to 1 - this: within ±3.1
FEW_VALUES = 20  # an integer with more different values has no codes
MOST_ALIKE = 8  # columns of one range, of which all pairs are compared
FARTHEST = 10.0  # standardised values are limited to so many standard deviations
MANY_EFFECTS = 30  # a category of so many levels has a code for each of them, rare or not
#: the kinds of features that a machine does not read, or at most as a straight line
UNREAD, TREND = "unread", "trend"
#: features that hold no objects
NUMBERS = ("rank", "scaled", "normal", "level", "code", "each", UNREAD, TREND)
MISSING = "\0missing"  # the level of a missing value
CELLS = 2**20  # numbers that are encoded at a time
#: rows by which a part of a date is compared with columns, and share that may differ by mistake
COMPARED, FIRST, MISTAKES = 1000, 3, 0.01

#: a column that is read as numbers, or the part of a date in it: its label, and numbers of all rows
Series = tuple[Column, str, np.ndarray]


@dataclass(frozen=True)
class Feature:
    """One column of the encoded matrix: its kind, and the column of the table that it is from."""

    source: Any  # name of the column of the table
    label: str  # the name, with the part of a date or "is missing"
    #: "rank", "scaled", "normal", "level", "code" or "each"; of objects "characters", "words",
    #: "items", or the name of a registered kind of sample. "level" is the code of a number that is
    #: there as "rank", "scaled" and "normal" as well, "each" that of a category of many levels in
    #: which rare ones share none.
    kind: str
    alike: int = -1  # the number of the columns of one range that a "scaled" one belongs to, or -1

    @property
    def name(self) -> str:
        """The label and the kind."""
        return f"{self.label} ({self.kind})"

    @property
    def holds_objects(self) -> bool:
        """Whether it has strings, sets or other samples instead of numbers."""
        return self.kind not in NUMBERS

    @property
    def samples(self) -> Kind:
        """The kind of its objects."""
        return kind_of_view(self.kind)


@dataclass
class NumberEncoding:
    """How a column of numbers, or a part of a date, is encoded."""

    place: int  # its row of the encoder's ``quantiles_``
    median: float  # what a missing value is replaced by
    centre: float
    spread: float
    flag: bool  # whether "is it missing" is a category of its own
    values: list[float]  # those that have codes, of an integer of few values; else none


def read_as(features: Iterable[Feature], *kinds: str) -> list[int]:
    """The numbers of the columns of the matrix that are of one of these kinds."""
    return [j for j, feature in enumerate(features) if feature.kind in kinds]


class EncodedTable(ReadTable):
    """A table as it was read, and as a `TableEncoder` has encoded it.

    ``features`` are those of the encoder itself: by them it knows the rows that it has encoded.
    """

    def __init__(
        self, columns: dict[Any, np.ndarray], matrix: EncodedColumns, features: list[Feature]
    ):
        super().__init__(columns)
        self.matrix, self.features = matrix, features

    def __getitem__(self, rows: Any) -> EncodedTable:
        return EncodedTable(super().__getitem__(rows).columns, self.matrix[rows], self.features)


class TableEncoder(KeepsRecords, TransformerMixin, BaseEstimator):
    """Encode the used columns of a table as `EncodedColumns`.

    The result is a float32 matrix, together with categories, texts and sets.

    Parameters
    ----------
    columns : list of Column, optional
        The columns as `infer_columns` returns them. None infers them in ``fit``.
    rare : int, default=3
        Levels with fewer training rows than this, in categories of more than 20 levels, share one
        code.

    Attributes
    ----------
    columns_ : list of Column
    features_ : list of Feature
        Description of each column of the matrix.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [30, 40, 50], "sex": ["f", "m", None]})
    >>> encoder = TableEncoder().fit(table)
    >>> [feature.label + ": " + feature.kind for feature in encoder.features_]
    ['age: rank', 'age: scaled', 'age: normal', 'age: level', 'sex: code']
    >>> encoder.transform(table).numbers.round(2)
    array([[ 0.  , -1.22, -3.09,  0.  ,  1.  ],
           [ 1.73,  0.  ,  0.  ,  1.  ,  2.  ],
           [ 3.46,  1.22,  3.09,  2.  ,  0.  ]], dtype=float32)
    """

    records: ClassVar[dict[str, type]] = {
        "columns": Column,
        "columns_": Column,
        "features_": Feature,
        "numbers_": NumberEncoding,
    }

    def __init__(self, columns: list[Column] | None = None, rare: int = RARE):
        self.columns = columns
        self.rare = rare

    def fit(self, X: Any, y: object = None) -> TableEncoder:
        """Learn medians, ranks, scales and levels from a training table.

        Raises
        ------
        ValueError
            No column can be used; the message says why for each column. Or a column is lacking.
        """
        table = read_columns(X)
        self.columns_ = infer_columns(table) if self.columns is None else self.columns
        self._refuse_absent(table)
        self.n_features_in_ = len(table)
        self.numbers_: dict[str, NumberEncoding] = {}
        self.levels_: dict[Any, list] = {}
        self.each_: dict[Any, list] = {}  # all levels of categories of many
        self.known_: dict[str, Any] = {}  # of the training cells of objects, see `known_cells`
        self.features_: list[Feature] = []
        for column in used_columns(self.columns_):
            if column.of.levelled:
                self._fit_category(column.name, table[column.name])
            elif column.of.samples is not None:
                self._fit_objects(column, table[column.name])
        patterns: set[bytes] = set()  # of missing numbers; columns often share one
        quantiles = [self._fit_numbers(block, patterns) for block in _blocks(self._telling(table))]
        place = {column.name: i for i, column in enumerate(self.columns_)}
        self.features_.sort(key=lambda feature: place[feature.source])
        if not self.features_:
            reasons = "; ".join(f"{c.name}: {c.kind} ({c.reason})" for c in self.columns_[:10])
            raise ValueError(
                f"X has no column that can be used: {reasons}. Give the kind of a column with "
                "kind= (or --kind)."
            )
        # one array: thousands of small ones take a file longer than all else of the model
        self.quantiles_ = np.concatenate(quantiles) if quantiles else np.array([])
        self._scale_alike()
        return self

    def _series(self, table: dict[Any, np.ndarray]) -> Iterator[Series]:
        """What is read from columns as numbers: the columns, labels, and numbers of the rows.

        Columns of numbers come first, then parts of dates and the like.
        """
        for column in sorted(used_columns(self.columns_), key=lambda c: not c.of.numeric):
            for label, numbers in column.of.series(column, table[column.name]).items():
                yield column, label, numbers

    def _telling(self, table: dict[Any, np.ndarray]) -> Iterator[Series]:
        """The same without parts that do not vary, or that a series before them has: people keep
        the year beside the date."""
        known: dict[bytes, list[np.ndarray]] = {}  # by their first numbers: columns may be many
        for column, label, numbers in self._series(table):
            some = numbers[:: 1 + len(numbers) // COMPARED].astype(np.float64)
            like = known.setdefault(some[:FIRST].tobytes(), [])
            if column.of.numeric or (_varies(numbers) and all(_differ(some, s) for s in like)):
                like.append(some)
                yield column, label, numbers

    def _fit_numbers(self, block: list[Series], patterns: set[bytes]) -> np.ndarray:
        """Note how some series of numbers are encoded; returns the quantiles of each.

        All are reckoned at once, and each as if it were alone: a table of few rows may have tens of
        thousands of them.
        """
        numbers = np.array([series for _, _, series in block])
        missing = np.isnan(numbers)
        gaps = missing.sum(axis=1)
        ascending = np.sort(numbers)  # what is missing stands last
        medians = _medians(ascending, missing)
        filled = np.where(missing, medians[:, None], numbers)
        ascending[gaps > 0] = np.sort(filled[gaps > 0])
        shares = np.linspace(0, 1, max(2, min(RANKS, filled.shape[1])))
        quantiles = 4 * np.quantile(_quarters(ascending), shares, axis=1).T
        # first divide by the largest value, so that no square overflows
        sizes = np.abs(filled).max(axis=1)
        sizes[sizes == 0] = 1.0
        shrunk = filled / sizes[:, None]
        centres, spreads = shrunk.mean(axis=1), shrunk.std(axis=1)
        spreads[spreads <= 1e-12] = 1.0  # constant up to rounding
        new = np.ones(ascending.shape, bool)  # values that differ from those before them
        new[:, 1:] = ascending[:, 1:] > ascending[:, :-1]
        counts = new.sum(axis=1)
        few = (counts > 2) & (counts <= FEW_VALUES)
        few[few] = (filled[few] == np.round(filled[few])).all(axis=1)
        records = zip(medians.tolist(), (centres * sizes).tolist(), (spreads * sizes).tolist())
        for i, ((column, label, _), record) in enumerate(zip(block, records)):
            pattern = missing[i].tobytes() if gaps[i] else b""
            flag = bool(gaps[i]) and pattern not in patterns
            patterns.add(pattern)
            kinds = ["rank", "scaled", "normal", *["level"] * bool(few[i])]
            self.features_ += [Feature(column.name, label, kind) for kind in kinds]
            self.features_ += [Feature(column.name, f"{label} is missing", "code")] * flag
            codes = ascending[i, new[i]].tolist() if few[i] else []
            self.numbers_[label] = NumberEncoding(len(self.numbers_), *record, flag, codes)
        return quantiles

    def _scale_alike(self) -> None:
        """Give columns of one range one centre and one spread, and their number.

        Where two integers of few values share a range, others that have a part of it join them:
        a piece that stays on one side of a board is on the same board.
        """
        ranges: dict[tuple, list[str]] = {}
        whole = {str(c.name) for c in self.columns_ if c.of.numeric}
        ends = self.quantiles_[:, [0, -1]].tolist() if self.numbers_ else []
        middles = np.median(self.quantiles_, axis=-1) if self.numbers_ else []
        for label, (least, largest), middle in zip(self.numbers_, ends, middles):
            if label in whole and least < middle < largest:
                ranges.setdefault((least, largest), []).append(label)
        few = [r for r, labels in ranges.items() if all(self.numbers_[a].values for a in labels)]
        few = sorted(few, key=lambda r: r[0] - r[1])  # the widest first
        for i, part in enumerate(few):
            boards = [r for r in few[:i] if len(ranges.get(r, ())) >= 2 and _is_part(part, r)]
            if boards:
                ranges[boards[0]] += ranges.pop(part)
        groups = [each for each in ranges.values() if 2 <= len(each) <= MOST_ALIKE]
        number = {label: g for g, labels in enumerate(groups) for label in labels}
        for labels in groups:
            alike = [self.numbers_[a] for a in labels]
            centres, spreads = np.array([(a.centre, a.spread) for a in alike]).T
            size = np.abs([centres, spreads]).max()  # no square overflows
            centre, spread = centres.mean(), size * np.sqrt(np.mean((spreads / size) ** 2))
            for a in alike:
                a.centre, a.spread = float(centre), float(spread)
        self.features_ = [
            replace(f, alike=number[f.label]) if f.kind == "scaled" and f.label in number else f
            for f in self.features_
        ]

    def _fit_category(self, name: int | str, values: np.ndarray) -> None:
        """Learn the levels of a category; rare ones are one."""
        counts = Counter(level_texts(values, MISSING))
        pool = len(counts) > MANY_LEVELS
        kept = [level for level, rows in counts.items() if not pool or rows >= self.rare]
        self.levels_[name] = sorted(kept)
        self.features_.append(Feature(name, str(name), "code"))
        if len(counts) >= MANY_EFFECTS:
            self.each_[name] = sorted(counts)
            self.features_.append(Feature(name, str(name), "each"))

    def _fit_objects(self, column: Column, values: np.ndarray) -> None:
        cells = column.of.cells(column, values)
        for label, view in column.of.views(column, cells).items():
            self.known_[label] = known_cells(view, cells)
            self.features_.append(Feature(column.name, label, view))

    def transform(self, X: Any) -> EncodedColumns:
        """Encode a table that has the training columns in any order; other columns are ignored.

        The matrix has the codes of categories too.

        Raises
        ------
        ValueError
            Columns are missing, or a column of numbers or dates has none now; the message names
            them.
        """
        return self.encoded(X).matrix

    def encoded(self, X: SamplesLike) -> EncodedTable:
        """A table with its encoded rows; the same one, if this encoder has encoded it before."""
        check_is_fitted(self)
        if isinstance(X, EncodedTable) and X.features is self.features_:
            return X
        table = read_columns(X)
        self._refuse_absent(table)
        return EncodedTable(table, self._encode(table), self.features_)

    def _refuse_absent(self, table: dict[Any, np.ndarray]) -> None:
        """Refuse a table that lacks columns of the training table."""
        absent = [c.name for c in used_columns(self.columns_) if c.name not in table]
        if absent:
            many = len(absent) > 1
            raise ValueError(
                f"the column{'s' * many} {', '.join(map(repr, absent[:20]))} of the training table "
                f"{'are' if many else 'is'} lacking; there are {list(table)[:50]}. Add what is "
                f"lacking, or fit again without {'these columns' if many else 'this column'}."
            )

    def _encode(self, table: dict[Any, np.ndarray]) -> EncodedColumns:
        """The features of all rows, column by column."""
        matrix = np.zeros((len(next(iter(table.values()))), len(self.features_)), np.float32)
        objects: dict[int, Any] = {}
        first: dict[str, int] = {}  # the place of the ranks of each series of numbers
        used, cells = {column.name: column for column in used_columns(self.columns_)}, {}
        for j, feature in enumerate(self.features_):
            name = feature.source
            if feature.kind == "rank":
                first[feature.label] = j
            elif feature.holds_objects:
                if name not in cells:
                    cells = {name: used[name].of.cells(used[name], table[name])}
                objects[j] = encode_cells(feature.kind, cells[name], self.known_[feature.label])
            elif feature.kind in ("code", "each") and feature.label == str(name):
                if name not in cells:
                    cells = {name: level_texts(table[name], MISSING)}
                levels = (self.levels_ if feature.kind == "code" else self.each_)[name]
                matrix[:, j] = codes = _codes(cells[name], levels)
                if feature.kind == "code":
                    objects[j] = _categories(codes, len(levels) + 1)
        for block in _blocks(each for each in self._series(table) if each[1] in self.numbers_):
            for column, _, numbers in block:
                refuse_unreadable(column, table[column.name], numbers)
            self._encode_numbers(block, [first[label] for _, label, _ in block], matrix, objects)
        return EncodedColumns(matrix, dict(sorted(objects.items())))

    def _encode_numbers(
        self, block: list[Series], first: list[int], matrix: np.ndarray, objects: dict[int, Any]
    ) -> None:
        """Write some series of numbers to the matrix, each from its first place there on."""
        known = [self.numbers_[label] for _, label, _ in block]
        numbers = np.array([series for _, _, series in block])
        places, missing = np.array(first), np.isnan(numbers)
        fixed = np.array([(each.median, each.centre, each.spread) for each in known])
        medians, centres, spreads = fixed.T[:, :, None]
        filled = np.where(missing, medians, numbers)
        ranks = _ranks(filled, self.quantiles_[[each.place for each in known]])
        matrix[:, places] = (WIDTH * ranks).T
        with np.errstate(over="ignore"):  # what is infinite is far, too
            matrix[:, places + 1] = ((filled - centres) / spreads).clip(-FARTHEST, FARTHEST).T
        matrix[:, places + 2] = ndtri(ranks.clip(SCORED, 1 - SCORED)).T
        for i, each in enumerate(known):
            j = first[i] + 3
            if each.values:
                coded = np.array(each.values)
                codes = np.searchsorted(coded, filled[i]).clip(max=len(coded) - 1)
                codes = np.where(coded[codes] == filled[i], codes, len(coded))
                matrix[:, j], objects[j] = codes, _categories(codes, len(coded) + 1)
            if each.flag:
                j += bool(each.values)
                matrix[:, j], objects[j] = missing[i], _categories(missing[i], 2)

    def in_units(self, feature: Feature, values: Any) -> list:
        """Values of a "scaled" column of the matrix in the units of the table; of codes the texts
        of their levels.

        Examples
        --------
        >>> encoder = TableEncoder().fit([[30], [40], [50]])
        >>> encoder.in_units(encoder.features_[1], [0])
        [40.0]
        """
        if feature.kind == "scaled":
            known = self.numbers_[feature.label]
            return [float(known.centre + known.spread * value) for value in values]
        levels = [*self.levels_.get(feature.source, ["no", "yes"]), "other"]
        if feature.kind == "level":
            levels = [*map(level_text, self.numbers_[feature.label].values), "other"]
        return [levels[int(code)] for code in values]

    def unseen(self, X: ReadTable) -> dict[Any, list[str]]:
        """Category -> the levels of a new table that have no code of their own.

        They were not in the training table, or were rare. All of them count as one level.
        """
        check_is_fitted(self)
        table = read_columns(X)
        found = {
            name: sorted(set(level_texts(table[name], MISSING)) - set(levels) - {MISSING})
            for name, levels in self.levels_.items()
            if name in table
        }
        return {name: levels for name, levels in found.items() if levels}

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """The label and the kind of each column of the matrix."""
        check_is_fitted(self)
        return np.array([feature.name for feature in self.features_], dtype=object)


def _codes(texts: list[str], levels: list) -> np.ndarray:
    """The number of each level; all that are not there, rare or new, have one number together."""
    code_of = {level: code for code, level in enumerate(levels)}
    return np.array([code_of.get(text, len(levels)) for text in texts], np.int32)


def _is_part(part: tuple[float, float], whole: tuple[float, float]) -> bool:
    """Whether a range is a third or more of another one."""
    inside = whole[0] <= part[0] and part[1] <= whole[1]
    return inside and part[1] - part[0] >= (whole[1] - whole[0]) / 3


def _categories(codes: np.ndarray, count: int) -> Categories:
    """A column of codes below ``count``, in the form that kernels on categories read."""
    return Categories(codes.astype(np.int32)[:, None], [[*range(count)]])


def _blocks(series: Iterator[Series]) -> Iterator[list[Series]]:
    """Some series at a time, so that what is reckoned from them takes little memory."""
    for one in series:
        more = max(0, CELLS // len(one[2]) - 1)
        yield [one, *islice(series, more)]


def _differ(numbers: np.ndarray, others: np.ndarray) -> bool:
    """Whether two series differ in more than a few rows, which may be mistakes."""
    same = (numbers == others) | (np.isnan(numbers) & np.isnan(others))
    return same.mean() < 1 - MISTAKES


def _varies(numbers: np.ndarray) -> bool:
    """Whether a part of dates differs between rows, as years need not."""
    return len(np.unique(numbers[~np.isnan(numbers)])) > 1


def _medians(ascending: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """The median of the numbers of each row that are there, in order; 0 where there is none."""
    there = (~missing).sum(axis=1, keepdims=True)
    ends = np.hstack([(there - 1) // 2, there // 2]).clip(0)
    middle = np.take_along_axis(ascending, ends, axis=1) / 2  # no sum of two overflows
    return np.where(there[:, 0] > 0, middle.sum(axis=1), 0.0)


def _ranks(values: np.ndarray, quantiles: np.ndarray) -> np.ndarray:
    """The share of training values below each value, in [0, 1], row by row; equal values count
    half."""
    values, quantiles = _quarters(values), _quarters(quantiles)
    grid = np.linspace(0, 1, quantiles.shape[1])
    ranks = np.array([np.interp(v, q, grid) for v, q in zip(values, quantiles)])
    for i in np.flatnonzero(~(np.diff(quantiles) > 0).all(axis=1)):  # some are equal
        above = 1 - np.interp(-values[i], -quantiles[i, ::-1], grid)
        ranks[i] = (ranks[i] + above) / 2
    return ranks


def _quarters(values: np.ndarray) -> np.ndarray:
    """A quarter of each number, which is exact, and 0 for tiny ones.

    No difference of two overflows then, nor does 1 divided by one.
    """
    return np.where(np.abs(values) < TINY, 0.0, values / 4)
