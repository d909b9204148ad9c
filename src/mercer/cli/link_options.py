"""The options of ``mercer link``, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from mercer.cli.files import STDIN
from mercer.cli.options import (
    WRITERS,
    Drops,
    Executor,
    Flag,
    Given,
    Json,
    Names,
    Output,
    Quiet,
    ReadingOptions,
    Whole,
    check_paths,
    numbered_task,
)
from mercer.cli.terminal import OptionError, refuse

KINDS = "category", "name", "text", "digits", "date", "number", "drop"
KIND = f"""Overrides what a column is taken for: --kind phone=digits. Kinds are {", ".join(KINDS)}.
May be repeated."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LinkOptions:
    """The options of ``mercer link``.

    Parameters
    ----------
    output
        A CSV, TSV or Parquet file of the pairs.
    columns
        A column to compare: its name, or NAME=OTHER where the second table calls it otherwise.
        Default: all that both tables have, by name or by their values; NAME=OTHER alone adds to
        them. May be repeated.
    id
        A column that names the records: it is written beside their rows, and not compared.
    threshold
        The least probability of a match.
    one_to_one
        Each record of two tables has one match at most.
    labels
        A table of pairs that are known: left_row and right_row (or left_id and right_id), and
        match, which is 1 or 0.
    clusters
        A CSV, TSV or Parquet file of the cluster of each record.
    report
        An HTML file that shows what was found, and why.
    relatives
        Classes of pairs that have something in common and may be no matches.
    max_block
        A part that more records share finds no pairs.
    pairs_per_record
        Most pairs that are compared, for each record.
    work
        The folder of the stages. Default: beside the output, and removed in the end.
    task
        2/8: this is the second of eight processes that share the work; needs --work.
    executor
        processes:8 finds and compares pairs in eight processes, dask:tcp://host:8786 on a cluster
        of Dask, and ray or ray:ADDRESS on one of Ray. All see the same --work.
    fail
        Exit with code 7 if there are matches.
    force
        Replace existing output files.
    """

    left: Given = STDIN
    right: Annotated[Path | None, Parameter(parse=False)] = None
    output: Output = Path("links.csv")
    columns: Names = ()
    drop: Drops = ()
    kind: Annotated[Names, Parameter(name="--kind", help=KIND)] = ()
    id: str | None = None
    threshold: float = 0.5
    one_to_one: Flag = False
    labels: Path | None = None
    clusters: Path | None = None
    report: Path | None = None
    relatives: Whole = 4
    max_block: Whole = 50
    pairs_per_record: float = 40.0
    work: Path | None = None
    task: str | None = None
    executor: Executor = None
    fail: Flag = False
    read: ReadingOptions = ReadingOptions()  # noqa: RUF009 - it cannot change
    force: Flag = False
    json: Json = False
    quiet: Quiet = False

    @property
    def written(self) -> list[tuple[str, Path]]:
        """The files that are written, with their options."""
        given = {"--output": self.output, "--clusters": self.clusters, "--report": self.report}
        return [(name, path) for name, path in given.items() if path is not None]

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        return [path for path in (self.left, self.right, self.labels) if path is not None]

    @property
    def folders(self) -> list[tuple[str, Path]]:
        """The folders that are filled, with their options."""
        return [("--work", self.folder)]

    @property
    def folder(self) -> Path:
        """Where stages are kept, until the output is written if it is not named."""
        return self.work or self.output.with_name(f"{self.output.name}.work")

    def check(self) -> None:
        """Refuse, before any table is read, what no table could make right."""
        check_paths(self.written, self.inputs, force=self.replaces, folders=self.folders)
        for name, path in self.written:
            suffixes = (".html",) if name == "--report" else tuple(WRITERS)
            if path.suffix.lower() not in suffixes:
                raise OptionError(f"{name} {path}: the name must end in {', '.join(suffixes)}.")
        if not 0 < self.threshold <= 1:
            raise OptionError(f"--threshold {self.threshold:g}: give a number between 0 and 1.")
        least = {"max-block": (self.max_block, 2), "relatives": (self.relatives, 0)}
        for name, (given, fewest) in least.items():
            if given < fewest:
                raise OptionError(f"--{name} {given}: give a number, at least {fewest}.")
        if self.relatives > 8:
            raise OptionError(f"--relatives {self.relatives}: give a number, at most 8.")
        if not 0 < self.pairs_per_record < float("inf"):
            raise OptionError(f"--pairs-per-record {self.pairs_per_record:g}: give a number > 0.")
        if self.one_to_one and self.right is None:
            raise OptionError("--one-to-one: it is about two tables; give a second one.")
        joined = next((name for name in self.columns if "=" in name), None)
        if joined is not None and self.right is None:
            raise OptionError(
                f"--columns {joined}: the name after = is one of a second table; give that table, "
                f"or {joined.partition('=')[0]} alone."
            )
        both = sorted({*self.named, *self.named.values()} & {*self.drop})
        if both:
            raise OptionError(f"{both[0]} is named by --columns and by --drop: leave one out.")
        self.kinds()
        self.tasks()

    @property
    def replaces(self) -> bool:
        """Whether existing files may stand where it writes: of several tasks the first writes."""
        return self.force or self.tasks()[0] > 0

    def tasks(self) -> tuple[int, int]:
        return numbered_task(self.task, self.work, self.executor)

    @property
    def named(self) -> dict[str, str]:
        """The columns of the first table that are compared, and those of the second."""
        pairs = [name.partition("=") for name in self.columns]
        return {name: other if equals else name for name, equals, other in pairs}

    def kinds(self) -> dict[str, str]:
        """What columns are, as they are given."""
        found, faults = {}, []
        for pair in self.kind:
            name, equals, value = pair.rpartition("=")
            if not equals or not name:
                faults.append(f"--kind {pair}: write column=kind, such as --kind phone=digits.")
            elif value not in KINDS:
                faults.append(f"--kind: {name}={value!r}; kinds are {', '.join(KINDS)}.")
            found[name] = value
        refuse([OptionError(fault) for fault in faults])
        return found | dict.fromkeys(self.left_out, "drop")

    @property
    def left_out(self) -> Sequence[str]:
        """Columns that are not compared."""
        return [*self.drop, *([] if self.id is None else [self.id])]
