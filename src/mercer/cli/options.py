"""The options of the commands: their names, types and help, and what is checked before any work.

Those of several commands come first; fit_options.py has those of ``mercer fit``, search_options.py
those of ``mercer neighbors`` and ``mercer dedup``. Nothing is imported here that takes long.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, Token

from mercer.cli.files import STDIN
from mercer.cli.terminal import OptionError, TableError, of_option, refuse
from mercer.spoken import memory_size

if TYPE_CHECKING:
    from mercer.cli.tables import TextReading

MOST_SKIPPED = 1_000_000  # lines above a header
WRITERS = {".csv": ",", ".tsv": "\t", ".parquet": None}  # files of rows, and their separators
INTERVAL = ("prediction_low", "prediction_high")  # the columns of --interval

DATES = {"day-first": "dmy", "month-first": "mdy"}
#: words for separators that a shell does not take as they are
SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}


MEMORY = "4GB"  # of mercer fit, where it is told of none

KIND = """Overrides a column's inferred kind: --kind zip=category, or number, date, time, text, \
sequence, set, series, vector, identifier, drop; also with its form: date:month-first, \
number:decimal-comma, ordered:low<mid<high. May be repeated."""
DROP = "A column to leave out. May be repeated."
LARGEST = 2**32 - 1  # of whole numbers: seeds are no larger, and native code counts further


def _whole(_: object, tokens: Sequence[Token]) -> int:
    """A whole number; cyclopts would round 2.5 without a word."""
    try:
        number = int(tokens[0].value)
    except ValueError:
        raise ValueError(f"{tokens[0].value}: give a whole number.") from None
    if abs(number) > LARGEST:
        raise ValueError(f"{tokens[0].value}: give a whole number, at most {LARGEST:,}.")
    return number


Whole = Annotated[int, Parameter(converter=_whole)]
Names = Annotated[tuple[str, ...], Parameter(negative="", show_default=False)]
Kinds = Annotated[Names, Parameter(name="--kind", help=KIND)]
Drops = Annotated[Names, Parameter(name="--drop", help=DROP)]
Given = Annotated[Path, Parameter(parse=False)]  # a file, which a command takes without a name
GivenFiles = Annotated[tuple[Path, ...], Parameter(parse=False)]
More = Annotated[Path, Parameter(help="More files with the same columns.")]
Output = Annotated[Path, Parameter(alias="-o")]
Flag = Annotated[bool, Parameter(negative="")]
Json = Annotated[Flag, Parameter(help="Print one JSON object instead of the screen.")]
Quiet = Annotated[Flag, Parameter(help="Print nothing but errors.")]
#: what was typed; from Python it may be any object
Executor = Annotated[Any, Parameter(converter=lambda _, tokens: tokens[0].value)]


@Parameter(name="*")
@dataclass(frozen=True)
class ReadingOptions:
    """How the files of tables are read: the same options in all commands.

    Parameters
    ----------
    encoding
        Encoding of text files.
    sep
        Separator of the fields of text files: "," ";" tab. Default: as the first rows show.
    decimal
        The decimal sign in text files: . or , (default: as the columns show).
    skip_rows
        Lines above the header in text and Excel files. Default: as the first rows show.
    header
        Whether the first line names the columns. Default: as the first rows show.
    sheet
        The sheet of an Excel file. Default: the first one with a table.
    dates
        The order of numbers in dates that fit both: day-first or month-first.
    missing
        A text that means a missing value, such as "n.d.". May be repeated.
    keep_variants
        Keep classes of the target apart that differ by case or blanks alone.
    """

    encoding: str = "utf-8"
    sep: str | None = None
    decimal: Literal[".", ","] | None = None
    skip_rows: Whole | None = None
    header: Annotated[bool | None, Parameter(negative="--no-header")] = None
    sheet: str | None = None
    dates: Literal["day-first", "month-first"] | None = None
    missing: Names = ()
    keep_variants: Flag = False

    def reading(self) -> TextReading:
        """How tables are read, checked before they are."""
        from mercer.cli.tables import TextReading

        sep = self.sep
        separator = None if sep is None else SEPARATORS.get(sep, sep)
        if separator is not None and (
            len(separator) != 1 or separator in "\r\n\"'" or separator > "~"
        ):
            raise OptionError(
                f"--sep {sep}: give one character that separates the fields, such as ';', or tab."
            )
        if self.decimal not in (None, ".", ","):
            raise OptionError(f"--decimal {self.decimal}: give . or , (a point or a comma).")
        if self.skip_rows is not None and self.skip_rows < 0:
            raise OptionError(f"--skip-rows {self.skip_rows}: give a number of lines, at least 0.")
        if self.skip_rows is not None and self.skip_rows > MOST_SKIPPED:
            raise OptionError(
                f"--skip-rows {self.skip_rows}: give a number, at most {MOST_SKIPPED:,}."
            )
        return TextReading(
            self.encoding, separator, self.decimal or "", skip=self.skip_rows, header=self.header,
            sheet=self.sheet, dates=DATES.get(self.dates or "", ""),
            missing=self.missing, variants=self.keep_variants,
        )  # fmt: skip


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PredictOptions:
    """The options of ``mercer predict``.

    Parameters
    ----------
    output
        A CSV, TSV or Parquet file; or - for standard output, as CSV.
    keep
        A column of the table to copy beside the predictions. May be repeated.
    safe_cells
        Put a ' before texts that spreadsheets would run as formulas, such as =1+1.
    interval
        Add prediction_low and prediction_high, between which the true number is with this
        probability, such as 0.9.
    quantiles
        Add quantiles of the true number, such as 0.1,0.5,0.9, as quantile_0.1 and so on.
    explain
        rows (or nothing): add the training rows that each prediction rests on most, because_1 to
        because_3, and not_like_1, which speaks most against it. columns: add what each column adds
        to the prediction, adds_NAME, beside that of the mean training row, base.
    force
        Replace an existing output file.
    """

    model: Given = STDIN
    tables: GivenFiles = ()
    output: Output
    keep: Names = ()
    read: ReadingOptions = ReadingOptions()
    safe_cells: Flag = False
    interval: float | None = None
    quantiles: str | None = None
    explain: Literal["rows", "columns"] | None = None
    force: Flag = False
    json: Json = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The options of ``mercer report``.

    Parameters
    ----------
    target
        The column that the model predicts. Default: as in training.
    output
        The report, a file that ends in .html.
    no_rows
        Keep the values of single rows out of the report.
    force
        Replace an existing report.
    """

    model: Given = STDIN
    tables: GivenFiles = ()
    target: str | None = None
    output: Output = Path("report.html")
    read: ReadingOptions = ReadingOptions()
    no_rows: Flag = False
    force: Flag = False
    json: Json = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """The options of ``mercer check``.

    Parameters
    ----------
    target
        The column to predict, checked as a target.
    test
        The table that a model is to be scored on: does it share rows with the other?
    task
        Overrides what the target suggests.
    whole
        Print every column, notice and finding, also where there are many.
    kernel
        Also check Mercer's condition for this kernel on the table's numbers: rbf, sigmoid ...
    """

    tables: GivenFiles = ()
    target: str | None = None
    test: Path | None = None
    task: Literal["classification", "regression"] | None = None
    kind: Kinds = ()
    drop: Drops = ()
    kernel: str | None = None
    whole: Annotated[Flag, Parameter(name="--all")] = False
    read: ReadingOptions = ReadingOptions()
    json: Json = False


def kinds_given(pairs: Sequence[str]) -> dict[str, str]:
    """{"zip": "category"} for ["zip=category"]."""
    from mercer.tables import column_kinds

    kinds, faults = {}, []
    known = [kind.name for kind in column_kinds() if kind.given]
    for pair in pairs:
        name, equals, value = pair.rpartition("=")
        if not equals or not name:
            faults.append(f"--kind {pair}: write column=kind, such as --kind zip=category.")
        elif value.partition(":")[0] not in known:
            faults.append(f"--kind: {name}={value!r}; kinds are {', '.join(known)}.")
        kinds[name] = value
    refuse([OptionError(fault) for fault in faults])
    return kinds


def check_memory_size(memory: str) -> None:
    """Refuse a size that is none."""
    with of_option(OptionError):
        memory_size(memory)


def check_seed(seed: int) -> None:
    """Refuse a seed below 0."""
    if seed < 0:
        raise OptionError(f"--seed {seed}: give a whole number, at least 0.")


def levels_given(interval: float | None, quantiles: str | None) -> dict[str, float]:
    """The columns that ``--interval`` and ``--quantiles`` ask for, each with its level."""
    from mercer.tables import spelled_number

    found: dict[str, float] = {}
    faults: list[TableError] = []
    if interval is not None:
        if 0 < interval < 1:
            found |= dict(zip(INTERVAL, ((1 - interval) / 2, (1 + interval) / 2)))
        else:
            faults.append(
                OptionError(f"--interval {interval:g}: give a number between 0 and 1, such as 0.9.")
            )
    for text in [] if quantiles is None else quantiles.split(","):
        level = spelled_number(text)
        if level is not None and 0 < level < 1:
            found[f"quantile_{level:g}"] = level
        else:
            faults.append(
                OptionError(
                    f"--quantiles {quantiles}: {text.strip()!r} is no number between 0 and 1; give "
                    "some with commas between them, such as 0.1,0.5,0.9."
                )
            )
    refuse(faults)
    return found


def check_paths(
    written: Sequence[tuple[str, Path]],
    read: Sequence[Path],
    *,
    force: bool,
    folders: Sequence[tuple[str, Path]] = (),
) -> None:
    """Refuse, before any work, to write where that is impossible or would destroy something.

    All paths of a run come along here. What is written are files of their own, and none is among
    those that are read, nor in a folder that the run fills. Existing files are replaced only if
    forced.

    Parameters
    ----------
    written, folders : list of (str, Path)
        Files that are written, and folders that are filled, with the options that name them.
    read : list of Path
    force : bool
    """
    places = [(name, path, _place(path)) for name, path in (*written, *folders)]
    for i, (name, path, place) in enumerate(places):
        for other, _, same in places[:i]:
            if place == same:
                raise OptionError(
                    f"{other} and {name} would both be written to {path}: give each a name of its "
                    "own, which differs by more than small and large letters."
                )
    for name, folder in folders:
        if folder.exists() and not folder.is_dir():
            raise OptionError(f"{name} {folder}: this is a file; give a folder, or a new name.")
        inside = Path(os.path.realpath(folder))
        for path in [path for _, path in written] + list(read):
            if path != STDIN and Path(os.path.realpath(path)).is_relative_to(inside):
                raise OptionError(
                    f"{name} {folder}: {path} is in that folder, which is for files of Mercer's "
                    "own; give another place."
                )
    for name, path in written:
        if path.is_dir():
            raise FileExistsError(0, f"{name} names a folder; give a file in it", str(path))
        if path.exists() and any(i.exists() and path.samefile(i) for i in read):
            raise FileExistsError(0, f"{name} would replace a file that is read", str(path))
        if path.exists() and not force:
            raise FileExistsError(0, "the file exists; give --force to replace it", str(path))
        if not path.parent.is_dir():
            raise FileExistsError(0, "there is no such folder; create it first", str(path.parent))
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise PermissionError(0, "the folder cannot be written to", str(path.parent))


def _place(path: Path) -> tuple:
    """What all names of a file share: links to it, and its other cases where no disk knows them."""
    real = Path(os.path.realpath(path))
    name = unicodedata.normalize("NFC", real.name).casefold()
    try:
        folder = os.stat(real.parent)
    except OSError:
        return str(real.parent), name
    return folder.st_dev, folder.st_ino, name


def numbered_task(task: str | None, work: Path | None, executor: object) -> tuple[int, int]:
    """The number of this process, from 0, and how many share the work, from ``--task 2/8``."""
    if task is None:
        return 0, 1
    number, _, count = task.partition("/")
    if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
        raise OptionError(f"--task {task}: give its number and how many, as in 2/8.")
    if work is None:
        raise OptionError("--task: give --work, a folder that all tasks share.")
    if executor is not None:
        raise OptionError("--task and --executor: give one of them.")
    return int(number) - 1, int(count)
