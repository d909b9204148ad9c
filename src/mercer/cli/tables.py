"""Tables from files: text, Parquet, Arrow, JSON, svmlight, Excel, ARFF, .ts, FASTA, also packed.

`Tables` is what names and patterns on the command line mean: one or more files with the same
columns, read at once or in blocks of rows. Everything a file can do wrong ends in a `TableError`
that names the file, the row where there is one, and the remedy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from mercer.cli.columnar import ArrowFile, ParquetFile
from mercer.cli.delimited import DelimitedText
from mercer.cli.files import STDIN, ByteSource, find_sources
from mercer.cli.formats import ExcelFile, Lines, SvmlightFile, Typed
from mercer.cli.graph_tables import GinFile, GraphmlFile, is_gin, is_graph, with_graphs
from mercer.cli.headed_files import ArffFile, TimeSeriesFile
from mercer.cli.json_tables import JsonFile, JsonLines
from mercer.cli.sequence_files import FASTA, FASTQ, SequenceFile, VariantFile, tell_classes
from mercer.cli.terminal import TableError, counted
from mercer.cli.text_types import TextTypes
from mercer.samples import are_series
from mercer.spoken import first_of
from mercer.tables import Column, Hints

#: suffix -> the usual separator of a text
DELIMITED = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": None}
FORMATS: dict[str, Any] = {
    ".parquet": ParquetFile, ".pq": ParquetFile, ".arrow": ArrowFile, ".feather": ArrowFile,
    ".ipc": ArrowFile, ".jsonl": JsonLines, ".ndjson": JsonLines, ".json": JsonFile,
    ".svm": SvmlightFile, ".svmlight": SvmlightFile, ".libsvm": SvmlightFile, ".xlsx": ExcelFile,
    ".graphml": GraphmlFile, ".ts": TimeSeriesFile, ".arff": ArffFile,
    **dict.fromkeys((*FASTA, *FASTQ), SequenceFile), ".vcf": VariantFile,
}  # fmt: skip
SUFFIXES = (
    "CSV, TSV, Parquet, Arrow, JSON (.jsonl, .json), svmlight, Excel (.xlsx), ARFF, GraphML, "
    "series (.ts) or sequences (.fasta, .fastq), plain or compressed (.gz, .bz2, .xz, .zst, .zip)"
)
BEGINNINGS = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"{": ".jsonl", b"[": ".json",
              b"PK\x03\x04": ".xlsx", b"@relatio": ".arff", b"@RELATIO": ".arff",
              b">": ".fasta"}  # fmt: skip


@dataclass(frozen=True)
class TextReading:
    """How texts are read: the options ``--encoding``, ``--sep``, ``--decimal``, ``--skip-rows``.

    ``usual`` is the decimal sign of the training table, where a new table does not tell its own.
    """

    encoding: str = "utf-8"
    separator: str | None = None
    decimal: str = ""
    usual: str = ""
    skip: int | None = None  # lines above the header; None finds them
    header: bool | None = None  # whether the first line names the columns; None finds out
    sheet: str | None = None  # of a workbook
    dates: str = ""  # "dmy" or "mdy", where dates fit both orders
    missing: tuple[str, ...] = ()  # texts that mean a missing value
    variants: bool = False  # classes that differ by case or blanks alone are different

    def after(self, columns: Iterable[Column]) -> TextReading:
        """The same for a new table, where these are the columns of the training table."""
        return replace(self, usual=next((c.decimal for c in columns if c.decimal), ""))


def read_table(path: str | Path, encoding: str = "utf-8", separator: str | None = None) -> Any:
    """Read one table whole; an empty field is a missing value.

    The format follows from the name: ``train.csv``, ``train.tsv.gz``, ``train.parquet``. A
    separator is that of a text, in place of the one that its first rows show. It is a TableError if
    there is no such file, or if it is empty, unreadable, ragged or wrongly encoded.
    """
    return Tables([Path(path)], TextReading(encoding, separator)).frame()


class Tables:
    """The rows of one or more files with the same columns.

    ``given`` are names and patterns; ``-`` is standard input.
    """

    def __init__(self, given: Sequence[Path], reading: TextReading | None = None):
        self.reading = reading or TextReading()
        sources = find_sources(given)
        #: the files that are read, and what messages call the table
        self.paths = [source.path for source in sources if source.path != STDIN]
        self.size = sum(source.size for source in sources)
        self.label = sources[0].label if len(sources) == 1 else " ".join(map(str, given))
        self.parts = [_part(source, self.reading) for source in sources]
        # complete after reading: the decimal sign of texts, the columns of numbers with decimal
        # commas, and those that are left out, with what they hold
        self.decimal = self.reading.decimal
        self.commas: list[str] = []
        self.unread: dict[str, str] = {}
        self._notes = [f"Read from {len(sources)} files."] if len(sources) > 1 else []
        if tell_classes(self.parts):
            self._notes.append("Each file of sequences is a class, the column class.")

    @property
    def notes(self) -> list[str]:
        """What was found out in reading, complete after it."""
        found = [note for part in self.parts for note in part.notes]
        return list(dict.fromkeys(self._notes + found))

    @property
    def hints(self) -> Hints:
        """What the file tells of columns that do not, complete after reading."""
        given = self.reading
        return Hints(self.decimal, given.dates, bool(given.dates), given.variants)

    @property
    def unnamed(self) -> list[str]:
        """The columns that had no name in a file, complete after reading."""
        return [name for part in self.parts for name in part.unnamed]

    @property
    def target(self) -> str:
        """The column that all files say is to be predicted, or "", complete after reading."""
        told = {part.target for part in self.parts}
        return told.pop() if len(told) == 1 else ""

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds of columns that a file tells, complete after reading."""
        return {name: kind for part in self.parts for name, kind in part.kinds.items()}

    def note(self, said: str) -> None:
        """Add to `notes`."""
        self._notes.append(said)

    def frame(self, expected: Sequence[str] = ()) -> pl.DataFrame:
        """All rows.

        ``expected`` are columns that an svmlight file has even where all their values are 0.
        """
        whole = _Pass(self, expected)
        blocks = [(part, block) for part in self.parts for block in whole.seen(part, None)]
        frames = [frame for part, block in blocks for frame in [whole.typed(part, block)]]
        return pl.concat(frames, how="vertical") if len(frames) > 1 else frames[0]

    def blocks(self, rows: int, expected: Sequence[str] = ()) -> Iterator[pl.DataFrame]:
        """So many rows at a time, with the types that they have in `frame`.

        The files are read twice: only the last row tells what type a column has.
        """
        first = _Pass(self, expected)
        for part in self.parts:
            for _ in first.seen(part, rows):
                pass
        for part in self.parts:
            for block in part.blocks(rows):
                yield first.typed(part, block)


class _Pass:
    """The types of all columns, from all blocks of all files."""

    def __init__(self, tables: Tables, expected: Sequence[str]):
        self.tables, self.expected = tables, expected
        self.names: list[str] = []
        self.texts: TextTypes | None = None
        self.schemas: list[pl.DataFrame] = []
        self.schema: dict[str, Any] = {}
        self.rows: dict[int, int] = {}  # rows of each file so far

    def seen(self, part: Any, rows: int | None) -> Iterator[pl.DataFrame]:
        """The blocks of a file, after a look at each."""
        found = 0
        for block in part.blocks(rows):
            found += block.height
            block = self._ordered(part, block)
            if part.texts:
                reading = self.tables.reading
                self.texts = self.texts or TextTypes(
                    block.width, reading.decimal, reading.usual,
                    semicolons=getattr(part, "separator", "") == ";",
                )  # fmt: skip
                self.texts.see(block)
            else:
                self.schemas.append(block.clear())
            yield block
        if not found:
            width = len(getattr(part, "names", []))
            header = f"a header ({counted(width, 'column')}) but no rows" if width else "no rows"
            raise TableError(f"{part.source.label} has {header}.")

    def _ordered(self, part: Any, block: pl.DataFrame) -> pl.DataFrame:
        """The block with its columns in the order of the first file."""
        if part.texts and not self.tables.reading.missing and block.columns == self.names:
            return block
        block = block if part.texts else with_graphs(block)
        if part.gaps:  # where objects are missing in all rows of a block, it has no parts of them
            gone = [
                c.name for c in block.iter_columns()
                if c.dtype == pl.Null and any(n.startswith(f"{c.name}.") for n in self.names)
            ]  # fmt: skip
            block = block.drop(gone)
        if isinstance(part, SvmlightFile):
            block = _with_zeros(block, [*self.names, *self.expected])
        found = dict.fromkeys(block.columns)
        if not self.names:
            self.names = list(found)
        elif part.gaps and part is self.tables.parts[0]:
            self.names = list(dict.fromkeys(self.names) | found)
        known = set(self.names)
        lacking = [name for name in self.names if name not in found]
        more = [name for name in found if name not in known]
        if part.gaps and not more:
            nothing = {name: pl.Series([None] * block.height, dtype=pl.Null) for name in lacking}
            block, lacking = block.with_columns(**nothing), []
        if lacking or more:
            first = self.tables.parts[0].source.label
            both = [f"lacks {first_of(lacking, shown=repr)}"] * bool(lacking)
            both += [f"has {first_of(more, shown=repr)} besides"] * bool(more)
            raise TableError(
                f"{part.source.label} has other columns than {first}: it {' and '.join(both)}. "
                "Give files with the same columns."
            )
        columns = dict(zip(block.columns, block.iter_columns()))
        return pl.DataFrame(
            {name: self._marked(self._local(name, columns[name])) for name in self.names}
        )

    def _marked(self, column: pl.Series) -> pl.Series:
        """A column without the texts that a user says are missing values."""
        marks = self.tables.reading.missing
        if not marks or column.dtype != pl.String:
            return column
        bare = column.alias("").str.strip_chars()
        gone = bare.is_in([mark.strip() for mark in marks])
        return bare.to_frame("").select(pl.when(~gone).then(column.alias("a"))).to_series()

    def _local(self, name: str, column: pl.Series) -> pl.Series:
        """Times of a zone without it, so that their hours are those of the file."""
        zone = getattr(column.dtype, "time_zone", None)
        if zone is None:
            return column
        self.tables.note(_hours_of(name, zone))
        return column.dt.replace_time_zone(None)

    def typed(self, part: Any, block: pl.DataFrame) -> pl.DataFrame:
        """A block as it is in the whole table."""
        if not self.schema:
            self._decide(block)
        block = self._ordered(part, block)
        columns = list(block.iter_columns())
        if part.texts:
            assert self.texts is not None
            columns = self.texts.typed(block)
        frame = pl.DataFrame({
            name: column if column.dtype == dtype else column.alias("").cast(dtype)
            for name, column in zip(self.names, columns)
            if (dtype := self.schema.get(name)) is not None
        })  # fmt: skip
        start = self.rows.get(id(part), 0)
        self.rows[id(part)] = start + block.height
        _refuse_infinities(part.source.label, frame, start)
        return frame

    def _decide(self, block: pl.DataFrame) -> None:
        """The type of each column that can be read, and what to say of the others."""
        tables = self.tables
        schemas: list[Mapping] = [schema.schema for schema in self.schemas]
        if self.texts is not None:
            schemas.append(dict(zip(self.names, self.texts.dtypes())))
            tables.decimal = self.texts.decimal
            tables.commas = self.texts.commas(self.names)
            if tables.commas:
                tables.note(f"Numbers have decimal commas: {first_of(tables.commas)}.")
            for said in self.texts.open_points(self.names):
                tables.note(said)
            for name, zone in self.texts.zones(self.names).items():
                tables.note(_hours_of(name, zone))
        columns = dict(zip(block.columns, block.iter_columns()))
        for name in self.names:
            dtypes = dict.fromkeys(schema[name] for schema in schemas if name in schema)
            different = set(dtypes) - {pl.Null()}
            try:
                if len(different) > 1 and any(dtype.is_nested() for dtype in different):
                    raise pl.exceptions.SchemaError
                dtype = next(iter(dtypes))
                if len(dtypes) > 1:
                    alike = [pl.DataFrame(schema={"a": each}) for each in dtypes]
                    dtype = pl.concat(alike, how="vertical_relaxed").dtypes[0]
            except pl.exceptions.PolarsError:
                kinds = " and ".join(sorted(map(str, different)))
                raise TableError(
                    f"{tables.label}: column {name!r} holds {kinds} in different files. Write them "
                    "alike."
                ) from None
            if _is_nested(dtype, columns.get(name)):
                tables.unread[name] = str(dtype)
                tables.note(
                    f"Left out: {name}, which holds {dtype}. A cell must be a number, a text, a "
                    "date, true or false, a list of these, or lists of numbers in a list."
                )
            else:
                self.schema[name] = dtype
        if not self.schema:
            raise TableError(f"{tables.label} has no column that can be read: {tables.notes[-1]}")


def _part(source: ByteSource, reading: TextReading) -> DelimitedText | Typed:
    """One file, by the end of its name or, in a pipe, by the beginning of its content."""
    suffix = Path(source.name).suffix.lower()
    if source.path == STDIN:
        with source.opened() as file:
            begin = file.read(8)
        suffix = next((s for magic, s in BEGINNINGS.items() if begin.startswith(magic)), ".csv")
    if suffix not in FORMATS and suffix not in DELIMITED:
        raise TableError(
            f"{source.label}: the name {f'ends in {suffix!r}' if suffix else 'has no ending'}, "
            f"which would say what the file is; give {SUFFIXES}."
        )
    with source.opened() as file:
        begin = file.read(1 << 12)
    if not begin:
        raise TableError(f"{source.label} is empty.")
    if suffix == ".txt" and is_gin(begin):
        return GinFile(source)
    if suffix in DELIMITED:
        usual = DELIMITED[suffix]
        return DelimitedText(
            source, usual, reading.encoding, reading.separator, reading.skip, reading.header
        )
    if issubclass(FORMATS[suffix], Lines):
        return FORMATS[suffix](source, reading.encoding)
    if suffix == ".xlsx":
        return ExcelFile(source, reading.skip, reading.sheet)
    return FORMATS[suffix](source)


def _with_zeros(block: pl.DataFrame, expected: list[str]) -> pl.DataFrame:
    """An svmlight file names no feature whose values are all 0."""
    absent = [n for n in expected if n not in block.columns and n[:1] == "x" and n[1:].isdigit()]
    return block.with_columns(pl.Series(n, np.zeros(block.height)) for n in dict.fromkeys(absent))


def _is_nested(dtype: Any, cells: pl.Series | None) -> bool:
    """Whether cells hold more than a graph, a list of values, or points of as many numbers."""
    items = dtype.inner if isinstance(dtype, (pl.List, pl.Array)) else None
    if is_graph(dtype):
        return False
    if items is not None and items.is_nested():
        return cells is None or not are_series(cells.drop_nulls().to_list())
    return isinstance(dtype, (pl.Struct, pl.Object))


def _hours_of(name: str, zone: str) -> str:
    """That times stand in their own zone."""
    where = "in UTC" if zone in ("Z", "UTC") else f"those of its time zone, {zone}"
    return f"The hours of {name} are {where}."


def _refuse_infinities(label: str, frame: pl.DataFrame, start: int) -> None:
    """Refuse a table with an infinite number."""
    for column in frame.iter_columns():
        if not column.dtype.is_float():
            continue
        rows = np.flatnonzero(np.isinf(column.to_numpy()))
        if len(rows):
            raise TableError(
                f"{label}: column {column.name!r} holds an infinity in row {start + rows[0] + 1} "
                "below the header: replace it, or leave the field empty."
            )
