"""The options of the commands: their names, types and help, and what is checked before any work.

Those of several commands come first, then `FitOptions`, those of ``mercer fit``; search_options.py
has those of ``mercer neighbors`` and ``mercer dedup``. Nothing is imported here that takes long.
"""

from __future__ import annotations

import os
import shlex
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, Token

from mercer.cli.errors import OptionError, TableError, of_option, refuse
from mercer.cli.files import STDIN
from mercer.durations import seconds

if TYPE_CHECKING:
    from mercer.cli.tables import Reading

TIME = "120s"  # where --time is not given
MOST_SKIPPED = 1_000_000  # lines above a header
WRITERS = {".csv": ",", ".tsv": "\t", ".parquet": None}  # files of rows, and their separators
INTERVAL = ("prediction_low", "prediction_high")  # the columns of --interval

DATES = {"day-first": "dmy", "month-first": "mdy"}
#: words for separators that a shell does not take as they are
SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}

#: the options that decide about the model, in the order of the recorded command
RECORDED = ("target", "test", "task", "order", "metric", "time", "trials", "memory", "kind", "drop",
            "only", "seed", "group", "time_column", "weight", "compress", "output")  # fmt: skip


MEMORY = "4GB"  # of mercer fit, where it is told of none

KIND = """Overrides a column's inferred kind: --kind zip=category, or number, date, time, text, \
sequence, set, series, vector, identifier, drop; also with its form: date:month-first, \
number:decimal-comma, ordered:low<mid<high. May be repeated."""
DROP = "A column to leave out. May be repeated."
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
Names = Annotated[tuple[str, ...], Parameter(negative="", show_default=False)]
Kinds = Annotated[Names, Parameter(name="--kind", help=KIND)]
Drops = Annotated[Names, Parameter(name="--drop", help=DROP)]
Given = Annotated[Path, Parameter(parse=False)]  # a file, which a command takes without a name
More = Annotated[Path, Parameter(help="More files with the same columns.")]
Output = Annotated[Path, Parameter(alias="-o")]
Flag = Annotated[bool, Parameter(negative="")]
Json = Annotated[Flag, Parameter(help="Print one JSON object instead of the screen.")]
Quiet = Annotated[Flag, Parameter(help="Print nothing but errors.")]


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


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """The options of ``mercer fit``.

    Parameters
    ----------
    target
        The column to predict.
    test
        A table to score on; without it 20% of the rows are split off before anything is fitted.
    task
        Overrides what the target suggests; ordered means classes with an order, such as low,
        medium and high, or 1 to 5.
    order
        The classes of an ordered target, the lowest first: low,medium,high. Words of known scales
        and numbers need none.
    metric
        What to optimise and report: accuracy, balanced_accuracy, roc_auc, average_precision,
        log_loss, f1; r2, rmse, mae; of ordered classes rank_error, quadratic_kappa. Default: r2, or
        accuracy, or rank_error, or average_precision for two classes of which one has less than a
        tenth of the rows.
    time
        Time for all of it, search, final fit and report: 90, "120s", "5min", "1h". Default: 120s.
    trials
        A number of trials in place of --time: the same model on any machine.
    memory
        Memory budget: "4GB", "500MB".
    only
        "kernels" keeps a kernel machine even where the constant or a linear model, which are tried
        too, predicts rows that were left out better.
    group
        A column of groups, such as patients: rows of one group are never on both sides of a split.
        It is not used to predict from.
    time_column
        A column of times: the latest rows are held out, as later rows are to be predicted.
    weight
        A column with the weights of the rows, >= 0. It is not used to predict from.
    compress
        So many centres in place of all rows or support vectors: a smaller file and predictions that
        are many times as fast. The score is that of the compressed model; what it lost is said.
    seed
        Seed of the split and the search.
    output
        Where the model is written; the report goes beside it as .html.
    no_rows
        Keep the values of single rows out of the report: cells, targets, words, levels and ranges.
    resume
        A model of the same table with the same options, such as one that Ctrl-C has left: its
        trials are not repeated, and the search goes on after them.
    force
        Replace an existing model and report.
    """

    train: Given = STDIN
    more: Annotated[tuple[Path, ...], Parameter(parse=False)] = ()
    target: str
    test: Path | None = None
    task: Literal["classification", "regression", "ordered"] | None = None
    order: str | None = None
    metric: str | None = None
    time: str | None = None
    trials: Whole | None = None
    memory: str = MEMORY
    kind: Kinds = ()
    drop: Drops = ()
    only: Literal["kernels"] | None = None
    group: str | None = None
    time_column: str | None = None
    weight: str | None = None
    compress: Whole | None = None
    seed: Whole = 0
    output: Output = Path("model.mercer")
    read: ReadingOptions = ReadingOptions()
    no_rows: Flag = False
    resume: Path | None = None
    force: Flag = False
    json: Json = False
    quiet: Quiet = False

    @property
    def report(self) -> Path:
        """Where the report is written: beside the model."""
        return self.output.with_suffix(".html")

    def limit(self) -> float:
        """The seconds from start to end; with ``--trials`` only the report regards them."""
        return seconds(TIME if self.time is None else self.time)

    @property
    def kinds(self) -> dict[str, str]:
        """Column name -> the kind that the user gives it."""
        return kinds_given(self.kind)

    @property
    def tables(self) -> list[Path]:
        """All training files, as they were given."""
        return [self.train, *self.more]

    @property
    def reading(self) -> Reading:
        """How text tables are read."""
        return reading_given(self.read)

    @property
    def orders(self) -> list[str]:
        """The classes of ``--order``."""
        return [] if self.order is None else [text.strip() for text in self.order.split(",")]

    def check(self) -> None:
        """Refuse, before any table is read, what no table could make right."""
        if self.output.suffix.lower() == ".html":
            raise OptionError(
                f"--output {self.output}: the report takes that name; give the model another, such "
                f"as {self.output.with_suffix('.mercer')}."
            )
        if self.compress is not None and self.compress < 1:
            raise OptionError(f"--compress {self.compress}: give a number of centres, at least 1.")
        check_seed(self.seed)
        if self.trials is not None and self.trials < 1:
            raise OptionError(f"--trials: trials={self.trials}: give a whole number, at least 1.")
        if self.time is not None and self.trials is not None:
            raise OptionError(
                "--time and --trials are both given: give one of them. A clock may stop the search "
                "before its last trial, and the model would differ from machine to machine."
            )
        with of_option(OptionError):
            self.limit()
        if self.group is not None and self.time_column is not None:
            raise OptionError("--group and --time-column are both given: give one of them.")
        if self.metric is not None or self.memory != MEMORY:  # only the learners know these
            self._check_search()
        kinds_given(self.kind)
        reading_given(self.read)
        inputs = [*self.tables, self.test] if self.test else self.tables
        # a model that is gone on with may be replaced by what comes of it
        force = self.force or (self.resume is not None and self.resume == self.output)
        check_paths([("--output", self.output)], inputs, force=force)  # "." has no name beside it
        both = [("--output", self.output), ("the report beside it", self.report)]
        check_paths(both, inputs, force=force)

    def _check_search(self) -> None:
        from mercer.gram import Place
        from mercer.selection.automatic import METRICS, metric_named

        with of_option(OptionError):
            Place(self.memory)
        if self.metric is not None and self.metric not in METRICS:
            raise OptionError(f"--metric {self.metric}: give one of {', '.join(METRICS)}.")
        if self.metric is not None and self.task is not None:
            with of_option(OptionError):
                task = "classification" if self.task == "ordered" else self.task
                metric_named(self.metric, task)

    def check_memory(self, rows: int) -> None:
        """Refuse, before the search, a memory that is too small for so many training rows."""
        from mercer.gram import Place
        from mercer.selection.automatic import least_memory

        least = least_memory(rows)
        if Place(self.memory).budget() < least:
            raise OptionError(
                f"--memory {self.memory} is too small for {rows:,} rows: give at least "
                f"{-(-least // 10**6)}MB."
            )

    def command(self) -> str:
        """The command line that repeats the fit: every option that matters to the model."""
        parts = ["mercer", "fit", *map(str, self.tables)]
        recorded = [(name, getattr(self, name)) for name in RECORDED]
        usual, read = asdict(ReadingOptions()), asdict(self.read)
        recorded += [(name, value) for name, value in read.items() if value != usual[name]]
        for name, value in recorded:
            if isinstance(value, bool):
                parts.append(f"--{'no-' * (not value)}{name.replace('_', '-')}")
                continue
            for given in value if isinstance(value, (list, tuple)) else [value]:
                if given is not None:
                    # in one word where the value might be taken for an option
                    dash = str(given).startswith("-")
                    option = f"--{name.replace('_', '-')}"
                    parts += [f"{option}={given}"] if dash else [option, str(given)]
        return shlex.join(parts)


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


def reading_given(given: ReadingOptions) -> Reading:
    """How tables are read, checked before they are."""
    from mercer.cli.tables import Reading

    sep = given.sep
    separator = None if sep is None else SEPARATORS.get(sep, sep)
    if separator is not None and (len(separator) != 1 or separator in "\r\n\"'" or separator > "~"):
        raise OptionError(
            f"--sep {sep}: give one character that stands between the fields, such as ';', or tab."
        )
    if given.decimal not in (None, ".", ","):
        raise OptionError(f"--decimal {given.decimal}: give . or , (a point or a comma).")
    if given.skip_rows is not None and given.skip_rows < 0:
        raise OptionError(f"--skip-rows {given.skip_rows}: give a number of lines, at least 0.")
    if given.skip_rows is not None and given.skip_rows > MOST_SKIPPED:
        raise OptionError(
            f"--skip-rows {given.skip_rows}: give a number, at most {MOST_SKIPPED:,}."
        )
    return Reading(
        given.encoding, separator, given.decimal or "", skip=given.skip_rows, header=given.header,
        sheet=given.sheet, dates=DATES.get(given.dates or "", ""),
        missing=given.missing, variants=given.keep_variants,
    )  # fmt: skip


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
