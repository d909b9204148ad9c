"""Options that mean the same in several commands, as types of their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter, Token

MEMORY = "4GB"  # of mercer fit, where it is told of none

KIND = """Overrides a column's inferred kind: --kind zip=category, or number, date, time, text, \
sequence, set, series, vector, identifier, drop; also with its form: date:month-first, \
number:decimal-comma, ordered:low<mid<high. May be repeated."""
DROP = "A column to leave out. May be repeated."
SEPARATOR = (
    """Separator of the fields of text files: "," ";" tab. Default: as the first rows show."""
)
SKIP = "Lines above the header in text and Excel files. Default: as the first rows show."
SIGN = "The decimal sign in text files: . or , (default: as the columns show)."

Kinds = Annotated[list[str] | None, Parameter(name="--kind", negative="", help=KIND)]
Drops = Annotated[list[str] | None, Parameter(name="--drop", negative="", help=DROP)]
More = Annotated[Path, Parameter(help="More files with the same columns.")]
Encoding = Annotated[str, Parameter(help="Encoding of text files.")]
Separator = Annotated[str | None, Parameter(help=SEPARATOR)]
DATES = "The order of numbers in dates that fit both: day-first or month-first."
MISSING = 'A text that means a missing value, such as "n.d.". May be repeated.'
HEADER = "Whether the first line names the columns. Default: as the first rows show."
SHEET = "The sheet of an Excel file. Default: the first one with a table."
VARIANTS = "Keep classes of the target apart that differ by case or blanks alone."
Decimal = Literal[".", ","]
TextDecimal = Annotated[Decimal | None, Parameter(help=SIGN)]
Flag = Annotated[bool, Parameter(negative="")]
Json = Annotated[Flag, Parameter(help="Print one JSON object instead of the screen.")]
Quiet = Annotated[Flag, Parameter(help="Print nothing but errors.")]


LARGEST = 2**32 - 1  # of whole numbers: seeds are no larger, and native code counts further


def _whole(_: Any, tokens: Sequence[Token]) -> int:
    """A whole number; cyclopts would round 2.5 without a word."""
    try:
        number = int(tokens[0].value)
    except ValueError:
        raise ValueError(f"{tokens[0].value}: give a whole number.") from None
    if abs(number) > LARGEST:
        raise ValueError(f"{tokens[0].value}: give a whole number, at most {LARGEST:,}.")
    return number


Whole = Annotated[int, Parameter(converter=_whole)]
Skip = Annotated[Whole | None, Parameter(name="--skip-rows", help=SKIP)]


@Parameter(name="*")
@dataclass(frozen=True)
class ReadingOptions:
    """How the files of tables are read: the same options in all commands."""

    encoding: Encoding = "utf-8"
    sep: Separator = None
    decimal: TextDecimal = None
    skip_rows: Skip = None
    header: Annotated[bool | None, Parameter(negative="--no-header", help=HEADER)] = None
    sheet: Annotated[str | None, Parameter(help=SHEET)] = None
    dates: Annotated[Literal["day-first", "month-first"] | None, Parameter(help=DATES)] = None
    missing: Annotated[tuple[str, ...], Parameter(negative="", help=MISSING)] = ()
    keep_variants: Annotated[Flag, Parameter(help=VARIANTS)] = False
