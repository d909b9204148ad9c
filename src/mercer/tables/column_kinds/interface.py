"""`ColumnKind`: what a column of a table is, in one object for each kind of column."""

from __future__ import annotations

from abc import ABC
from collections import Counter
from collections.abc import Collection
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from mercer.samples import Drawing, Kind
from mercer.tables.forms import Hints, NumberColumn
from mercer.tables.values import missing_values, short

#: the smallest and the largest value of a column, and its most frequent levels
Extent = tuple[Any, Any, list[str]]


class Distribution(NamedTuple):
    """How the values of a column are spread, for a report."""

    #: rows in equal intervals from the smallest to the largest value or size; or the rows of each
    #: of the most frequent levels or items
    counts: list[int]
    low: float | None = None  # the ends of these intervals
    high: float | None = None
    #: the levels or items; of dates the first and the last
    levels: list[str] = []  # noqa: RUF012 - never written to
    #: the mean of time series, each stretched to one length
    curve: list[float] = []  # noqa: RUF012 - never written to
    #: a sample of median size, if samples of this kind can be drawn
    drawing: Drawing | None = None


class WrittenColumn(Protocol):
    """What a kind reads of a `Column`, whose fields these are: above all how cells are written."""

    @property
    def name(self) -> Any: ...
    @property
    def low(self) -> Any: ...
    @property
    def high(self) -> Any: ...
    @property
    def levels(self) -> list[str]: ...
    @property
    def separator(self) -> str | None: ...
    @property
    def decimal(self) -> str: ...
    @property
    def signs(self) -> str: ...
    @property
    def order(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def zone(self) -> str: ...
    @property
    def scaled(self) -> bool: ...
    @property
    def limits(self) -> bool: ...
    @property
    def numbers(self) -> NumberColumn: ...


class ColumnKind(ABC):
    """Abstract: a kind of column. ``column`` is a `Column` of it, ``values`` are its cells."""

    name: str  # what `Column.kind` says
    used: bool = True  # models read such columns
    given: bool = True  # a user may say that a column is of this kind
    numeric: bool = False  # the values are numbers
    in_time: bool = False  # the values are points in time
    levelled: bool = False  # the values are levels that are equal or not
    identifies: bool = False  # the values tell rows from each other, and nothing else
    lettered: bool = False  # a value is a sequence, each letter of which may be replaced
    items: bool = False  # a value is a set of items, which may be a text with separators
    samples: Kind | None = None  # the kind of the samples that stand in the cells
    #: the forms that a user may give, as in "date:month-first", and what they say of a `Column`
    forms: ClassVar[dict[str, dict[str, Any]]] = {}
    wanted: str = ""  # what a value of an ordered kind looks like
    #: what becomes of missing values: the sentence goes on with the names of the columns
    gap: str = ""

    @property
    def ordered(self) -> bool:
        """Whether the values have an order, and differences."""
        return self.numeric or self.in_time

    # --- how a column is judged -----------------------------------------------------------------

    def holds(self, cells: list) -> bool:
        """Whether all cells are objects of Python that tell this kind."""
        return False

    def check(self, name: object, present: np.ndarray) -> None:
        """Raise ValueError if no value of a column is of this kind."""
        if self.wanted and len(present) and missing_values(self.read(present)).all():
            raise ValueError(
                f"kind: {name}={self.name!r}, but no value is {self.wanted}; the first is "
                f"{short(present[0])}."
            )

    def written(self, texts: Collection[str], hints: Hints) -> dict[str, Any]:
        """How values that are written as texts are written: fields of a `Column`."""
        return {}

    def counted(self, present: np.ndarray) -> dict[str, str]:
        """How values that are no texts are read: fields of a `Column`."""
        return {}

    def formed(self, form: str) -> dict[str, Any]:
        """Fields of a `Column` whose cells have a form that a user names; ValueError if there is
        none of that name."""
        some = f" has the forms {', '.join(self.forms)}" if self.forms else " has no forms"
        if form not in self.forms:
            raise ValueError(f"kind: {form!r} is no form of {self.name!r}, which{some}.")
        return self.forms[form]

    def extent(self, column: WrittenColumn, values: np.ndarray, counts: Counter) -> Extent:
        """The smallest and the largest value, and the most frequent levels."""
        return None, None, []

    def said(self, column: WrittenColumn) -> str:
        """How the values of a column are written, where there is more than one way."""
        return ""

    # --- what it becomes --------------------------------------------------------------------------

    def read(self, values: np.ndarray, column: WrittenColumn | None = None) -> np.ndarray:
        """Numbers or dates of an ordered column; NaN or NaT where a value cannot be read."""
        raise TypeError(f"a column of the kind {self.name!r} has no order.")

    def numbers(self, values: np.ndarray, column: WrittenColumn | None = None) -> np.ndarray:
        """What `read` finds as floats: dates in their unit since 1970, and NaN where none is."""
        read = self.read(values, column)
        if read.dtype.kind != "M":
            return np.asarray(read, np.float64)
        return np.where(np.isnat(read), np.nan, read.astype(np.int64).astype(np.float64))

    def series(self, column: WrittenColumn, values: np.ndarray) -> dict[str, np.ndarray]:
        """The numbers that a model reads of an ordered column, by their labels."""
        return {}

    def cells(self, column: WrittenColumn, values: np.ndarray) -> list:
        """The samples in the cells of a column."""
        return values.tolist()

    def texts(self, column: WrittenColumn, values: np.ndarray) -> list[str]:
        """The cells of a column as texts; a missing one is the empty text."""
        return level_texts(values)

    def foreign(self, column: WrittenColumn, values: np.ndarray) -> np.ndarray | None:
        """Which values have symbols that the column cannot have; None if it may have any."""
        return None

    def groups(self, column: WrittenColumn, values: np.ndarray, by: str = "") -> list[str] | None:
        """What rows must have in common to be copies, if equal values are written in several ways;
        or of the larger groups that are called ``by``. None: there are none."""
        return None

    def views(self, column: WrittenColumn, cells: list) -> dict[str, str]:
        """The ways in which a model reads such samples, by their labels."""
        return {}

    # --- how it is shown --------------------------------------------------------------------------

    def distribution(self, column: WrittenColumn, values: np.ndarray) -> Distribution:
        """How the values are spread."""
        return Distribution([])

    def range_in_words(self, low: str, high: str) -> str:
        """The range of the values, or of the sizes of the samples."""
        return f"{low} to {high}"

    def levels_in_words(self, levels: list[str], distinct: int) -> str:
        """The most frequent values where there is no range."""
        return f"{distinct:,} levels"


def level_text(value: object) -> str:
    """A level as text, so that 1.0 and 1 are the same one."""
    if isinstance(value, (float, np.floating)):
        return f"{value:.12g}"
    return str(value)


def level_texts(values: np.ndarray, missing: str = "") -> list[str]:
    """The levels of a column as texts; ``missing`` stands for a missing value.

    Examples
    --------
    >>> level_texts(np.array([1.0, 2.5, np.nan]), missing="?")
    ['1', '2.5', '?']
    """
    if values.dtype.kind != "O" and (gone := missing_values(values)).any():
        values = values.astype(object)
        values[gone] = None
    cells = values.tolist()
    try:
        known = {value: level_text(value) for value in set(cells)}  # each different one once
    except TypeError:  # lists and sets
        return [missing if value is None else level_text(value) for value in cells]
    known[None] = missing
    return [known[value] for value in cells]
