"""What a column of a table is, and how that is said: its kind, its values, notices for the user.

column_rules.py infers all this from the values. A name says something of the cells too: dates,
years, times, identifiers, codes, places. It strengthens what the cells show; by itself it only
makes `mercer check` ask. The index of a pandas table is known here as well, which `to_csv` and
Parquet files save as a column of integers. It numbers the rows of an earlier table: from 0, or
shuffled and with gaps after a split, or from 0 again and again after a concatenation. A model must
not learn from it.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer.samples import LISTED as ORDERED, is_whole, kind_named
from mercer.spoken import first_of
from mercer.tables.column_kinds import ColumnKind, column_kind, column_kinds
from mercer.tables.forms import SAID as SAID_ORDERS, NumberColumn, is_missing_mark
from mercer.tables.values import missing_values

DATE_NAME = re.compile(
    r"(.*[_\W\d])?(?i:date|day|datum|tag|jour|fecha|data|dt|dia|giorno|ymd|yyyymmdd)([_\W\d].*)?"
    r"|.*(?:Date|Day|Datum)"
)
YEAR_NAME = re.compile(
    r"(.*[_\W])?(?i:years?|yr|jahr|ann[eé]e|año|anno|ano|jaar|season|saison)"
    r"([_\W].*|(?<=[a-z])[A-Z].*)?"
)
TIME_NAME = re.compile(
    r"(.*[_\W\d])?(?i:times?|hours?|hhmm|clock|uhrzeit|zeit|heure|hora|ora|tijd|departure|arrival)"
    r"([_\W\d].*)?|.*[a-z](?:Time|Hour)"
)
#: names of identifiers, which may return
IDENTIFIERS = (
    r"(?:[pu]|pat(?:ient)?|subj|subject|user|cust(?:omer)?|client|member|person|case|hh|house(?:hold)?"
    r"|emp(?:loyee)?|unit|geo|item|order|prod(?:uct)?|store|sample|account|trans(?:action)?|session"
    r"|visit|event|student|school|site|town|fam(?:ily)?|animal|plot)?ids?"
)
#: names of numbers that tell rows apart; a column is taken for such only if all are different
IDENTIFIER_NAME = re.compile(
    rf"(.*[_\W])?(?i:{IDENTIFIERS}|id[_ ]?(?:str|num|number|no|code)|uuid|guid|index|idx|key"
    r"|pk|unnamed: \d+|seqn|row[_ .]?(?:names?|num(?:ber)?s?|no|nr|ids?)|rec(?:ord)?s?"
    r"|rec(?:ord)?[_ .]?(?:no|nr|num|id)|obs(?:ervation)?s?|case[_ .]?(?:no|nr|num(?:ber)?)?"
    r"|serial|seq(?:uence)?[_ .]?(?:no|nr|num)?|no\.?|nr\.?|num|lfd\.?(?: ?nr\.?)?)"
    r"|.*[a-z](?:Id|ID|No|Nr)"
)
#: names of integers whose order may mean nothing
CODE_NAME = re.compile(
    r"(?:.*[_\W]|.*[a-z](?=[A-Z]))?(?:"
    r"(?i:zip|zipcode|zip_code|postcode|post_code|postal|plz|codes?|icd\d*|naics|sic|phone|"
    r"telephone|tel|mobile|fax|iban|isbn|ean|gtin|upc|sku|ssn|vat|account|card)(?:[_\W].*)?"
    rf"|(?i:{IDENTIFIERS}|id[_ .]?(?:num(?:ber)?|no|nr|str)|origin|region|race|ethnic(?:ity)?|"
    r"marita?l|status|type|birthplace|religion|occupation|industry|sector|dept|department|store|branch|"
    r"precinct|district|county|country|nationality|state|flight|team|brand)\d*)"
)
#: with what stands before and behind, by which the longitude is found
LATITUDE_NAME = re.compile(r"(|.*[^a-z]|.*(?=latitude))(latitude|lat)(|[^a-z].*)", re.IGNORECASE)


INDEX = "the index of a pandas table"
NAMES = "the row names of an earlier table"  # as R writes them, from 1
LEAST = 3  # values of an index
MANY = 20  # different values: a code has fewer
#: as pandas calls an index in Parquet files, and one that a file had no name for
STORED = re.compile(r"__index_level_\d+__")
UNNAMED = re.compile(r"|Unnamed: \d+(\.\d+)*")
#: as `reset_index` calls it
RESET = re.compile(r"index|level_\d+")


def index_names(names: Iterable, unnamed: Iterable = ()) -> set:
    """The columns whose name, or lack of one, says that they may be an index.

    A column without a name is one only where no other column is before it. ``unnamed`` are those
    that had no name in their file.
    """
    return set(_indexes(names, set(unnamed)))


def _indexes(names: Iterable, unnamed: set) -> Iterator[Any]:
    """Names of columns that a tool has added to number the rows."""
    leading = True
    for name in names:
        nameless = name in unnamed or UNNAMED.fullmatch(str(name)) is not None
        leading = leading and nameless
        if leading or STORED.fullmatch(str(name)) or RESET.fullmatch(str(name)):
            yield name


def is_index(name: object, values: np.ndarray) -> str:
    """How a column with a name of `index_names` numbers the rows; "" if it does not.

    Examples
    --------
    >>> is_index("index", np.arange(30.0)), is_index("index", np.arange(60.0) % 30)
    ('the index of a pandas table', 'the index of a pandas table, which starts again at 0')
    >>> is_index("index", np.r_[7.0, 1.0, 5.0]), is_index("index", np.arange(60.0) % 11)
    ('', '')
    """
    whole = values.dtype.kind == "f" and len(values) >= LEAST and bool((values >= 0).all())
    if not whole or (values != np.round(values)).any():
        return ""
    distinct = len(np.unique(values))
    named = RESET.fullmatch(str(name)) or str(name).startswith(("Unnamed", "__"))
    said = INDEX if named or values.min() != 1 else NAMES
    if STORED.fullmatch(str(name)):
        return said
    steps, n = np.diff(values), len(values)
    if distinct == n:
        if (steps == 1).all():
            return said
        if n < MANY and set(values.tolist()) not in ({*range(n)}, {*range(1, n + 1)}):
            return ""
        return f"{said}, shuffled or with gaps"
    begins = bool(values[0] == 0 and ((steps == 1) | (values[1:] == 0)).all())
    if begins and distinct >= (LEAST if _nameless(name) else MANY):
        return f"{said}, which starts again at 0"
    if distinct > MANY and (_nameless(name) or _parts_of_rows(values)):
        return f"{said}, with numbers that return"
    return ""


def _nameless(name: object) -> bool:
    return RESET.fullmatch(str(name)) is None


def _parts_of_rows(values: np.ndarray) -> bool:
    """Whether these are 0 to n of several tables: a larger number is never more frequent."""
    counts = np.bincount(values.astype(np.int64)) if values.max() < len(values) else np.zeros(1)
    return bool(counts.all() and (np.diff(counts) <= 0).all())


RARE = 3  # levels that fewer rows have are pooled, in categories of more than
MANY_LEVELS = 20
LISTED = 20  # columns that one notice names
FEW_DOUBTS = 3  # of one kind, which are said
SAID = "as given"  # the reason of a kind that was given


@dataclass(frozen=True, repr=False)
class Column:
    """One column of a table, and how it was read.

    Attributes
    ----------
    name : str or int
    kind : str
        "number", "category", "date", "text", "sequence", "set", "vector", or a kind of sample
        that is registered: used;
        "identifier", "constant", "duplicate", "empty" or "dropped": not used.
    reason : str
    missing, distinct : int
        Rows without a value, and different values among the others.
    low, high : float or str or None
        Smallest and largest number or date; length of the shortest and the longest text, sequence
        or vector.
    levels : list of str
        The most frequent levels of a category or items of sets, at most ten.
    separator : str or None
        The separator of the items of a set that is written as text; None means blanks.
    rows : int
    decimal : str
        The decimal sign of numbers that are written as texts, "," or "."; "" if there is none.
    signs : str
        The percent and currency signs in such texts, with blanks between them.
    unit : str
        The unit of numbers that are written with one, such as "kg"; "" for others.
    order : str
        Order of day, month and year in dates written as texts: "ymd", "dmy" or "mdy"; what numbers
        of dates count since 1970: "s", "ms", "us" or "ns"; "excel" for days of Excel; "" for other
        columns. Of categories the form in which levels tell their order: "version", "address" or
        "range".
    shares : bool
        Whether some numbers have %, and the others are shares: 0.12 is 12%.
    zone : str
        "UTC" if times of several zones are converted to it, "" if they are as they stand.
    scaled : bool
        Whether some numbers are amounts such as 1.2M and 3k.
    limits : bool
        Whether some numbers are limits such as <0.1: a model reads beside them which ones.
    doubts : list of [str, str]
        What a reader should know of the way in which cells were read: a kind of doubt, under which
        those of several columns are said together, and a sentence without the name.
    misfits : list of [int, str]
        Up to three cells that do not fit the form, and count as missing: row from 1, and text.
    unfit : int
        How many cells do not fit.
    others : list of [str, str]
        Other readings that fit, as ``--kind`` takes them, and a reason for each.
    """

    name: Any
    kind: str
    reason: str
    missing: int
    distinct: int
    low: Any = None
    high: Any = None
    levels: list[str] = field(default_factory=list)
    separator: str | None = None

    rows: int = 0
    decimal: str = ""
    signs: str = ""
    order: str = ""
    unit: str = ""
    shares: bool = False
    zone: str = ""
    scaled: bool = False
    limits: bool = False
    doubts: list[list[str]] = field(default_factory=list)
    misfits: list[list[Any]] = field(default_factory=list)
    unfit: int = 0
    others: list[list[str]] = field(default_factory=list)

    def __repr__(self) -> str:
        """Short, since models show those of all columns."""
        return f"Column({self.name!r}, {self.kind!r}, {self.reason!r})"

    @property
    def known(self) -> int:
        """Rows with a value."""
        return self.rows - self.missing

    @property
    def numbers(self) -> NumberColumn:
        """How its numbers are written."""
        return NumberColumn(self.decimal, self.unit, self.shares, self.scaled, self.limits)

    @property
    def form(self) -> str:
        """The kind with what says how the cells are written, as ``--kind`` takes it."""
        how = SAID_ORDERS.get(self.order, self.order) if self.of.in_time else ""
        how = "" if self.order == "ymd" else how
        how = "decimal-comma" if self.of.numeric and self.decimal == "," else how
        return f"{self.kind}:{how}" if how else self.kind

    @property
    def used(self) -> bool:
        return self.of.used

    @property
    def of(self) -> ColumnKind:
        """The kind of the column, as an object."""
        return column_kind(self.kind)

    @property
    def left_out(self) -> bool:
        """Whether a user wanted it left out."""
        return self.kind == "dropped"


def read_otherwise(column: Column, kind: str, reason: str, values: np.ndarray) -> Column:
    """A column as another kind, for a reason, with the extent that it has then."""
    found = replace(column, kind=kind, reason=reason, levels=[])
    counts = Counter(values[~missing_values(values)].tolist() if kind == "text" else [])
    low, high, _ = found.of.extent(found, values, counts)
    return replace(found, low=low, high=high)


def used_columns(columns: list[Column]) -> list[Column]:
    """Those that a model reads."""
    return [column for column in columns if column.used]


def column_notices(columns: list[Column], most: int = LISTED) -> list[str]:
    """What a user should know about columns that are set aside or filled, a sentence each."""
    notices = []
    dropped = [f"{c.name} ({c.reason})" for c in columns if not (c.used or c.left_out)]
    if dropped:
        hint = ""
        for column in columns:
            if (
                column.of.identifies
                and column.others
                and not column.reason.startswith((INDEX, NAMES))
            ):
                told = shlex.quote(f"{column.name}={column.others[0][0]}")
                hint = f" To use {column.name}, give its kind, as in --kind {told}."
                break
        notices.append(f"Not used: {first_of(dropped, most, separator='; ', counted=True)}.{hint}")
    written = [f"{c.name} ({how})" for c in columns if (how := c.of.said(c))]
    if written:
        some = first_of(written, most, separator="; ", counted=True)
        notices.append(f"How numbers and dates are written: {some}.")
    notices += doubt_notices(columns)
    lacking = [column for column in columns if column.missing and column.used]
    for gap in dict.fromkeys(kind.gap for kind in column_kinds()):
        if names := [str(c.name) for c in lacking if c.of.gap == gap]:
            notices.append(f"{gap}: {first_of(names, most, counted=True)}.")
    return notices


def said_of_one_column(columns: list[Column], values: dict[Any, np.ndarray]) -> list[str]:
    """How the cells of a table's only column were read, if samples in a list are read otherwise."""
    if len(columns) != 1:
        return []
    (column,), (cells,) = columns, values.values()
    name = f"kind={{{column.name!r}:"
    first: Any = next((cell for cell in cells if cell is not None), None)
    if _are_brackets(cells.tolist()):
        return [
            f"{column.name}: texts in brackets were read as {column.kind}. If they are trees, give "
            f'{name} "tree"}}.'
        ]
    if column.reason == SAID:
        return []
    if column.kind == "vector":
        return [
            f"{column.name}: lists of numbers in the cells of a column are compared as a whole. An "
            "array of rows, numpy.stack(cells), is a table with a column for each number, and "
            f'{name} "series"}} reads series.'
        ]
    if column.kind == "series" and np.ndim(first) == 2 and np.shape(first)[1] > 1:
        return [
            f"{column.name}: arrays of {np.shape(first)[1]} columns were read as series, the rows "
            f'of each as points in time. If their order tells nothing, give {name} "bag"}}.'
        ]
    if column.kind == "set" and isinstance(first, ORDERED):
        known = [cell for cell in cells if isinstance(cell, ORDERED)]
        whole = len({*map(len, known)}) == 1 and all(is_whole(v) for cell in known for v in cell)
        single = all(len(cell) == 1 for cell in known)
        if not (whole or single) and all(len({*cell}) == len(cell) for cell in known):
            return []
        return [
            f"{column.name}: lists were read as sets, in which neither order nor number counts. "
            f'{name} "text"}} reads sequences, and "vector" and "series" read numbers.'
        ]
    if column.kind == "text" or not isinstance(first, str):
        return []
    return [
        f"{column.name}: texts in the column of a table were read as {column.kind}: "
        f'{column.reason}. A list of texts is compared by its characters, and with {name} "text"}} '
        "so is this column."
    ]


def _are_brackets(cells: list) -> bool:
    """Whether all texts of a column are trees in brackets."""
    known = [cell for cell in cells if cell is not None]
    if not known or not all(isinstance(cell, str) and cell.lstrip()[:1] == "(" for cell in known):
        return False
    with suppress(TypeError, ValueError):
        return kind_named("trees").encode(known, None, "a notice") is not None
    return False


def doubt_notices(columns: list[Column]) -> list[str]:
    """What a user should know of the way in which cells were read, a sentence for each doubt.

    Doubts of one kind, in several columns, are said together.
    """
    notices = []
    for kind in dict.fromkeys(kind for c in columns for kind, _ in c.doubts):
        said = [f"{c.name}: {text}" for c in columns for each, text in c.doubts if each == kind]
        more = len(said) - FEW_DOUBTS
        rest = f"; and {more} more column{'s' * (more > 1)} like these"
        notices += [f"{'; '.join(said[:FEW_DOUBTS])}{rest * (more > 0)}."]
    return notices


def refuse_unreadable(column: Column, values: np.ndarray, numbers: np.ndarray) -> None:
    """Raise ValueError if no value of a column can be read as its kind.

    A single value that cannot be read counts as missing.
    """
    if not (np.isnan(numbers).all() and column.of.ordered):
        return
    marks = np.array([is_missing_mark(v) for v in values.tolist()], dtype=bool)
    known = values[~missing_values(values) & ~marks]
    if len(known):
        raise unreadable(column, known[0])


def unreadable(column: Column, first: object) -> ValueError:
    """The error of new rows in which no value of a column is a number or date any more."""
    return ValueError(
        f"column {column.name!r} was read as {column.kind}s in training, but none of its "
        f"values is a {column.kind} now, the first is {first!r:.60}: give {column.kind}s, "
        "or fit again without the column."
    )
