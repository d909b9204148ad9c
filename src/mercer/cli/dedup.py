"""``mercer dedup``: files of documents without those that are nearly equal to another one.

The work is done in the stages of `mercer.dedup`, whose files stay in a work folder until the output
is written, so that the same command goes on after it was killed.
"""

from __future__ import annotations

import csv
import gzip
import io
import json as json_text
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import polars as pl
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

import mercer
from mercer.cli.dedup_options import DedupOptions
from mercer.cli.dedup_report import Cluster, Shown, page
from mercer.cli.documents import Format, Parquet, RecordError, format_of, kept_of
from mercer.cli.errors import OptionError, TableError, counted
from mercer.cli.exit_codes import DUPLICATES, OK
from mercer.cli.files import STDIN, find_sources, zstd_open
from mercer.cli.options import refuse_existing
from mercer.cli.terminal import Terminal, line
from mercer.dedup import (
    Bands,
    Part,
    Result,
    Rules,
    Signer,
    Stages,
    is_of_another,
)
from mercer.persistence import write_whole, written_whole

PACKED = 4  # bytes of a file for each byte of it when compressed, about
SHOWN, OF_EACH = 40, 5  # clusters of the report, and documents of each that are shown
SAID = 5  # malformed records that are named


def deduplicate_files(options: DedupOptions) -> int:
    """Run the command; returns its exit code."""
    shingles, bands, task = options.shingles(), options.bands(), options.tasks()
    if not options.outputs and not options.fail and not options.json:
        raise OptionError("--output: give the file for what is kept, or --pairs, or --fail.")
    started = time.monotonic()
    formats, earlier = (_formats(options, given) for given in (options.files, options.against))
    inputs = [made.source.path for made in earlier + formats]
    refuse_existing(options.outputs, options.force, inputs)
    if options.output is not None:
        _check_output(options.output, formats)
    signer = Signer(shingles, bands, options.seed)
    rules = Rules(options.threshold, options.most_kept)
    prefer = options.keep if options.keep in ("first", "longest") else "value"
    screen = Terminal(quiet=options.quiet or options.json)
    plan = _plan(options, [*earlier, *formats], len(earlier))
    with _bars(options.quiet) as bars, _work_folder(options, plan) as folder:
        corpus = FileCorpus([*earlier, *formats], len(earlier), options.malformed == "skip", bars)
        stages = Stages(folder, corpus, signer, rules, prefer, plan, task, bars.tell)
        result = stages.run()
        if result is None:
            screen.print(f"Task {options.task} is done; the first task writes the output.")
            return OK
        job = _Job(options, corpus, stages, result, bands, bars)
        facts = job.finish()
    facts["seconds"] = round(time.monotonic() - started, 1)
    _say(screen, facts, options)
    if options.json:
        print(json_text.dumps(facts))
    return DUPLICATES if options.fail and facts["removed"] else OK


# --- what is read --------------------------------------------------------------------------------


def _formats(options: DedupOptions, given: list[Path]) -> list[Format]:
    if STDIN in given:
        raise OptionError("- : documents are read more than once; give them as a file.")
    keep = None if options.keep in ("first", "longest") else options.keep
    sources = find_sources(given)
    made = {format_of(source.name, source.label) for source in sources}
    if len(made) > 1:
        raise TableError("The files have several formats: give files of one format.")
    return [kind(source, options.column, keep, options.sep) for source in sources for kind in made]


class FileCorpus:
    """Files as the stages read them."""

    def __init__(self, formats: list[Format], fixed: int, skip: bool, bars: Bars):
        self.formats, self.fixed, self.skip, self.bars = formats, fixed, skip, bars
        self.files = len(formats)
        packed = [PACKED if made.source.compression else 1 for made in formats]
        self.sizes = [made.source.size * k for made, k in zip(formats, packed)]

    def parts(self, file: int, after: Any) -> Iterator[Part]:
        made, number = self.formats[file], 0 if after is None else after["records"]
        before, total = sum(self.sizes[:file]), sum(self.sizes)
        for records, offset in made.records(after):
            texts, values, skipped, bad = [], [], [], []
            for k, record in enumerate(records):
                if made.skips_blank and not record.strip():
                    skipped.append(k)
                    continue
                try:
                    text, value = made.document(record)
                except RecordError as error:
                    if not self.skip:
                        raise self._malformed(made, number + k + 1, error) from None
                    skipped.append(k)
                    bad.append(number + k + 1)
                    continue
                texts.append(text)
                values.append(value)
            number += len(records)
            place = {"offset": offset, "records": number, "skipped": skipped, "bad": bad}
            yield Part(texts, np.array(values), place)
            self.bars.tell("Reading", min(before + offset, total), total)

    def records(self, file: int, places: Sequence[Any]) -> Iterator[tuple[Any, np.ndarray]]:
        """The records of each part, and which of them are documents."""
        for (records, _), place in zip(self.formats[file].records(None), places, strict=True):
            yield records, np.delete(np.arange(len(records)), place["skipped"])

    def texts(
        self, file: int, wanted: Sequence[np.ndarray], places: Sequence[Any]
    ) -> Iterator[list[str]]:
        document = self.formats[file].document
        for k, (records, good) in enumerate(self.records(file, places)):
            yield [document(records[row])[0] for row in good[wanted[k]]]
            self.bars.tell("Reading what may be equal", k + 1, len(places))

    def _malformed(self, made: Format, number: int, error: RecordError) -> TableError:
        return TableError(
            f"{made.source.label}, {made.unit} {number} {error}. Mend it, or leave such "
            f"{made.unit}s out by --malformed skip."
        )


def _plan(options: DedupOptions, formats: list[Format], fixed: int) -> dict:
    """All that the result depends on."""
    names = ("column", "threshold", "keep", "words", "characters", "recall", "most_kept",
             "malformed", "sep", "seed")  # fmt: skip
    paths = [made.source.path for made in formats]
    stamps = [[str(p.resolve()), p.stat().st_size, p.stat().st_mtime_ns] for p in paths]
    chosen = {name: getattr(options, name) for name in names}
    return chosen | {"files": stamps, "fixed": fixed, "mercer": mercer.__version__}


@contextmanager
def _work_folder(options: DedupOptions, plan: dict) -> Iterator[Path]:
    """The folder of the stages, which goes when the job is done, unless the user has named it."""
    if options.work is not None:
        yield options.work
    elif options.output is None:
        with tempfile.TemporaryDirectory(prefix="mercer-dedup-") as name:
            yield Path(name)
    else:
        folder = options.output.with_name(f"{options.output.name}.work")
        if is_of_another(folder, plan):
            shutil.rmtree(folder)
        try:
            yield folder
        except TableError:  # mended files are other files
            shutil.rmtree(folder, ignore_errors=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)


# --- what is written -----------------------------------------------------------------------------


def _check_output(output: Path, formats: list[Format]) -> None:
    name, kind = output.name, type(formats[0])
    for suffix in (".gz", ".zst"):
        name = name.removesuffix(suffix)
    headers = [made.header().rstrip() for made in formats]
    for made, header in zip(formats, headers):
        if header != headers[0]:
            raise TableError(
                f"{made.source.label} has another header than {formats[0].source.label}: give "
                "files with the same columns in the same order."
            )
    try:
        wanted = format_of(name, f"--output {output}")
    except TableError as error:
        raise OptionError(str(error)) from None
    if wanted is not kind or (kind is Parquet and name != output.name):
        raise OptionError(
            f"--output {output}: records are copied as they are; give a name with the end of the "
            "input's, .gz or .zst behind it if it is text."
        )


@contextmanager
def _packed(output: Path, file: IO[bytes]) -> Iterator[IO[bytes]]:
    """The file, compressed as its name says; the same content gives the same bytes."""
    if output.suffix == ".gz":
        with gzip.GzipFile("", "wb", 6, cast(Any, file), mtime=0) as packed:
            yield cast(Any, packed)
    elif output.suffix == ".zst":
        with zstd_open(str(output))(file, "wb") as packed:
            yield packed
    else:
        yield file


class _Job:
    """What is done with the verdicts."""

    def __init__(
        self, options: DedupOptions, corpus: FileCorpus, stages: Stages, result: Result,
        bands: Bands, bars: Bars,
    ):  # fmt: skip
        self.options, self.corpus, self.stages, self.result = options, corpus, stages, result
        self.bands, self.bars = bands, bars
        self.places = [stages.places(file) for file in range(corpus.files)]
        self.new = range(corpus.fixed, corpus.files)

    def finish(self) -> dict[str, Any]:
        """Write all files; the facts for the screen."""
        options, result = self.options, self.result
        if options.output is not None:
            self._write(options.output)
        if options.pairs is not None:
            write_whole(options.pairs, self._pairs())
        fixed = int(result.starts[self.corpus.fixed])
        n, removed = len(result.partners) - fixed, int((result.partners >= 0).sum())
        facts: dict[str, Any] = {
            "documents": n, "kept": n - removed, "removed": removed,
            "clusters": len(np.unique(result.partners[result.partners >= 0])),
            "empty": result.empty, "malformed": self._malformed(), "compared": result.compared,
            "full_buckets": result.full, "threshold": options.threshold,
            "bands": list(self.bands), "output": options.output and str(options.output),
        }  # fmt: skip
        if options.report is not None:
            said = {k: f"{v:,}" for k, v in facts.items() if isinstance(v, int)}
            write_whole(options.report, self._report(said).encode())
        return facts

    def _write(self, output: Path) -> None:
        if isinstance(self.corpus.formats[-1], Parquet):
            self._write_parquet(output)
            return
        stays, row = self.result.partners < 0, int(self.result.starts[self.corpus.fixed])
        with written_whole(output) as whole, _packed(output, whole) as file:
            for k, number in enumerate(self.new):
                header = self.corpus.formats[number].header()
                if header and k == 0:
                    file.writelines(kept_of([header], [0]))
                for records, good in self.corpus.records(number, self.places[number]):
                    file.writelines(kept_of(records, good[stays[row : row + len(good)]]))
                    row += len(good)
                    self.bars.tell("Writing", row, len(stays))

    def _write_parquet(self, output: Path) -> None:
        frames = []
        for number in self.new:
            start, stop = self.result.starts[number : number + 2]
            good = [
                np.delete(np.arange(a, p["offset"]), p["skipped"])
                for a, p in zip(
                    [0, *(p["offset"] for p in self.places[number])], self.places[number]
                )
            ]
            rows = np.concatenate([np.zeros(0, np.int64), *good])
            kept = pl.Series(rows[self.result.partners[start:stop] < 0]).cast(pl.UInt32)
            made = cast(Parquet, self.corpus.formats[number])
            frame = made.scan().with_row_index("row of mercer")
            frames.append(frame.filter(pl.col("row of mercer").is_in(kept.implode())))
        try:
            whole = pl.concat(frames).drop("row of mercer")
            with written_whole(output) as file:
                whole.sink_parquet(file.name, maintain_order=True)
        except pl.exceptions.PolarsError as error:
            raise TableError(f"The files have different columns: {error}") from error

    def _pairs(self) -> bytes:
        """A table of what goes and what stays instead."""
        text = io.StringIO(newline="")
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["cluster", "file", "record", "kept_file", "kept_record", "similarity"])
        partners = self.result.partners
        clusters = {int(p): k for k, p in enumerate(np.unique(partners[partners >= 0]))}
        places = self._numbers()
        for row in np.flatnonzero(partners >= 0).tolist():
            kept = int(partners[row])
            rows.writerow([clusters[kept], *places(row), *places(kept),
                           f"{self.result.similarities[row]:.6g}"])  # fmt: skip
        return text.getvalue().encode("utf-8", "surrogateescape")

    def _numbers(self) -> Any:
        """A function that gives the file and the number of the record of a document."""
        records = []
        for places in self.places:
            ends = [0, *(place["records"] for place in places)]
            records.append(np.concatenate([np.zeros(0, np.int64), *(
                np.delete(np.arange(s, e), place["skipped"])
                for s, e, place in zip(ends[:-1], ends[1:], places)
            )]))  # fmt: skip
        starts, formats = self.result.starts, self.corpus.formats

        def place(row: int) -> tuple[str, int]:
            file = int(np.searchsorted(starts, row, side="right")) - 1
            return formats[file].source.label, int(records[file][row - starts[file]]) + 1

        return place

    def _malformed(self) -> list[str]:
        found = []
        for file in range(self.corpus.files):
            made = self.corpus.formats[file]
            bad = [number for place in self.places[file] for number in place["bad"]]
            found += [f"{made.source.label}, {made.unit} {number}" for number in bad]
        return found

    def _report(self, said: dict[str, str]) -> str:
        partners, similarities = self.result.partners, self.result.similarities
        kept, sizes = np.unique(partners[partners >= 0], return_counts=True)
        largest = kept[np.argsort(-sizes, kind="stable")[:SHOWN]]
        goes = {int(k): np.flatnonzero(partners == k) for k in largest}
        shown = self._shown({r for k, all_ in goes.items() for r in [k, *all_[:OF_EACH].tolist()]})
        clusters = [
            Cluster(shown[k], len(all_), [(shown[r], float(similarities[r]))
                                         for r in all_[:OF_EACH].tolist()])
            for k, all_ in goes.items()
        ]  # fmt: skip
        return page(said, clusters, self.bands, self.options.threshold)

    def _shown(self, rows: set[int]) -> dict[int, Shown]:
        """Some documents, with their places."""
        ordered, place = np.array(sorted(rows), np.int64), self._numbers()
        shown = {}
        for file in range(self.corpus.files):
            start, stop = self.result.starts[file : file + 2]
            mine = ordered[(ordered >= start) & (ordered < stop)]
            if not len(mine):
                continue
            row, unit = int(start), self.corpus.formats[file].unit
            for records, good in self.corpus.records(file, self.places[file]):
                for k in mine[(mine >= row) & (mine < row + len(good))].tolist():
                    text, _ = self.corpus.formats[file].document(records[good[k - row]])
                    label, number = place(k)
                    shown[k] = Shown(f"{label}, {unit} {number}", text)
                row += len(good)
        return shown


# --- what is said --------------------------------------------------------------------------------


class Bars:
    """A bar for the stage that is at work, with the time left."""

    def __init__(self, progress: Progress):
        self.progress, self.stage, self.bar = progress, "", None

    def tell(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage is."""
        if stage != self.stage:
            if self.bar is not None:
                self.progress.remove_task(self.bar)
            self.stage, self.bar = stage, self.progress.add_task(stage, total=total)
        if self.bar is not None:
            self.progress.update(self.bar, completed=done, total=total)


@contextmanager
def _bars(quiet: bool) -> Iterator[Bars]:
    console = Terminal(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(),
               TimeRemainingColumn())  # fmt: skip
    hidden = quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        yield Bars(progress)


def _say(screen: Terminal, facts: dict[str, Any], options: DedupOptions) -> None:
    malformed = facts["malformed"]
    if malformed:
        more = f" and {len(malformed) - SAID:,} more" if len(malformed) > SAID else ""
        said = f"• {len(malformed):,} malformed left out: {'; '.join(malformed[:SAID])}{more}."
        screen.print(said, soft_wrap=True)
    if facts["empty"]:
        screen.print(f"• {counted(facts['empty'], 'document')} without text: kept.")
    if facts["full_buckets"]:
        screen.print(
            f"• {counted(facts['full_buckets'], 'bucket')} of documents that share a form had more "
            f"than {options.most_kept} that are kept; pairs may have been missed there "
            "(--most-kept).", soft_wrap=True,
        )  # fmt: skip
    screen.print(
        f"{facts['documents']:,} documents, of which {facts['removed']:,} are removed for one of "
        f"{facts['clusters']:,} that are as similar as {options.threshold:g} and stay; "
        f"{facts['kept']:,} are kept.", soft_wrap=True,
    )  # fmt: skip
    for path in options.outputs:
        screen.print(line((f"{path}", "bold")))
