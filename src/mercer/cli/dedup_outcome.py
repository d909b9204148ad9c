"""What ``mercer dedup`` writes when all is decided: records that stay, pairs, and the report."""

from __future__ import annotations

import csv
import difflib
import gzip
import html
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
import polars as pl

from mercer.cli.document_files import FileCorpus, format_of
from mercer.cli.documents import Format, Parquet
from mercer.cli.files import zstd_open
from mercer.cli.search_options import DedupOptions
from mercer.cli.terminal import OptionError, TableError
from mercer.dedup import Bands, Decisions, put_in_place

SHOWN, OF_EACH = 40, 5  # clusters of the report, and documents of each that are shown


def check_output(output: Path, formats: list[Format]) -> None:
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


def _ended(records: Sequence[bytes], rows: Any) -> Iterator[bytes]:
    """Some of the records, each of which ends its line."""
    for row in rows:
        record = records[row]
        yield record if record.endswith(b"\n") else record + b"\n"


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


class Job:
    """What is done with the verdicts."""

    def __init__(
        self, options: DedupOptions, corpus: FileCorpus, places: list[list[Any]], result: Decisions,
        bands: Bands,
    ):  # fmt: skip
        self.options, self.corpus, self.places, self.result = options, corpus, places, result
        self.bands, self.bases = bands, corpus.bases(places)
        self.new = range(corpus.fixed, corpus.files)

    def finish(self, folder: Path, plan: dict) -> dict[str, Any]:
        """Write all files, together; the facts for the screen."""
        options, facts = self.options, self._facts()
        said = {k: f"{v:,}" for k, v in facts.items() if isinstance(v, int)}
        writers = {
            "--output": self._write,
            "--pairs": lambda file: file.write(self._pairs()),
            "--report": lambda file: file.write(self._report(said).encode()),
        }
        put_in_place(folder, plan, [(path, writers[name]) for name, path in options.written])
        return facts

    def _facts(self) -> dict[str, Any]:
        """What was found, as numbers and lists."""
        options, result = self.options, self.result
        fixed = int(result.starts[self.corpus.fixed])
        n, removed = len(result.partners) - fixed, int((~result.stays).sum())
        partners, rows = result.partners[result.partners >= 0], result.earlier[result.earlier >= 0]
        facts: dict[str, Any] = {
            "documents": n, "kept": n - removed, "removed": removed,
            "clusters": len(np.unique(partners)) + len(np.unique(rows)),
            "empty": result.empty, "malformed": self._malformed(), "compared": result.compared,
            "full_buckets": result.full, "threshold": options.threshold,
            "bands": list(self.bands), "output": options.output and str(options.output),
        }  # fmt: skip
        if options.index is not None:
            facts["like_the_index"] = len(rows)
        return facts

    def texts_kept(self) -> Iterator[list[str]]:
        """The texts of new documents that stay, some at a time."""
        row = int(self.result.starts[self.corpus.fixed])
        for number in self.new:
            sizes = [
                b["records"] - a - len(b["skipped"])
                for a, b in zip([0, *(p["records"] for p in self.places[number])],
                                self.places[number])
            ]  # fmt: skip
            starts = row + np.cumsum([0, *sizes])
            wanted = [np.flatnonzero(self.result.stays[a:b]) for a, b in pairwise(starts)]
            yield from self.corpus.texts(number, wanted, self.places[number])
            row = int(starts[-1])

    def _write(self, whole: IO[bytes]) -> None:
        """The records that stay."""
        if isinstance(self.corpus.formats[-1], Parquet):
            self._write_parquet(whole)
            return
        output = cast(Path, self.options.output)
        stays, row = self.result.stays, int(self.result.starts[self.corpus.fixed])
        with _packed(output, whole) as file:
            for k, number in enumerate(self.new):
                header = self.corpus.formats[number].header() if k == 0 else b""
                if header:
                    file.writelines(_ended([header], [0]))
                for records, good in self.corpus.records(number, self.places[number]):
                    file.writelines(_ended(records, good[stays[row : row + len(good)]]))
                    row += len(good)
                    self.corpus.tell("Writing", row, len(stays))

    def _write_parquet(self, file: IO[bytes]) -> None:
        """Write the rows that stay, file by file."""
        kept: list[list[np.ndarray]] = []  # rows of each file
        for number in self.new:
            start, stop = self.result.starts[number : number + 2]
            made, good = self.corpus.formats[number], [np.zeros(0, np.int64)]
            if made.begin is None:
                kept.append([])
            begin = made.begin or 0
            for place in self.places[number]:
                rows = np.arange(begin, place["offset"])
                good.append(np.delete(rows, place["skipped"]))
                begin = place["offset"]
            rows = np.concatenate(good)[self.result.stays[start:stop]]
            kept[-1].append(rows)
        frames, files = [], [k for k in self.new if self.corpus.formats[k].begin is None]
        for number, some in zip(files, kept):
            rows = pl.Series(np.concatenate(some)).cast(pl.UInt32)
            frame = cast(Parquet, self.corpus.formats[number]).scan()
            frame = frame.with_row_index("row of mercer")
            frames.append(frame.filter(pl.col("row of mercer").is_in(rows.implode())))
        try:
            whole = pl.concat(frames).drop("row of mercer")
            whole.collect_schema()  # before all rows are read
        except pl.exceptions.PolarsError as error:
            raise TableError(f"The files have different columns: {error}") from error
        whole.sink_parquet(file.name, maintain_order=True)
        for number in files:
            self.corpus.formats[number].source.check_unchanged()

    def _pairs(self) -> bytes:
        """A table of removed documents, with those kept instead."""
        text = io.StringIO(newline="")
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["cluster", "file", "record", "kept_file", "kept_record", "similarity"])
        partners, earlier, similar = (
            self.result.partners, self.result.earlier, self.result.similarities,
        )  # fmt: skip
        kept = np.where(partners >= 0, partners, len(partners) + earlier)  # of which some are gone
        gone = np.flatnonzero(~self.result.stays)
        clusters = np.unique(kept[gone], return_inverse=True)[1]
        place = self._numbers()
        for row, cluster in zip(gone.tolist(), clusters.tolist()):
            partner = int(partners[row])
            other = place(partner) if partner >= 0 else (self.options.index, earlier[row] + 1)
            rows.writerow([cluster, *place(row), *other, f"{similar[row]:.6g}"])
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
            number = self.bases[file] + int(records[file][row - starts[file]]) + 1
            return formats[file].source.label, number

        return place

    def _malformed(self) -> list[str]:
        """Where the records are that could not be read."""
        found = []
        for file in range(self.corpus.files):
            made = self.corpus.formats[file]
            base = self.bases[file]
            bad = [base + number for place in self.places[file] for number in place["bad"]]
            found += [f"{made.source.label}, {made.unit} {number}" for number in bad]
        return found

    def _report(self, said: dict[str, str]) -> str:
        """The page with the largest clusters."""
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

    def _shown(self, rows: set[int]) -> dict[int, ShownDocument]:
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
                    shown[k] = ShownDocument(f"{label}, {unit} {number}", text)
                row += len(good)
        return shown


WORDS, CHARACTERS = 300, 600  # of a document that is shown; characters of one without blanks
STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em;
color:#1b1b1b;background:#fff}table{border-collapse:collapse}td,th{padding:.2em 1em .2em 0;
text-align:left;vertical-align:top}.pair{display:grid;grid-template-columns:1fr 1fr;gap:1.5em;
border-top:1px solid #ccc;padding:.6em 0;overflow-wrap:anywhere}.pair p{margin:.2em 0;
white-space:pre-wrap}small{color:#555}del{background:#ffd9d4;text-decoration:none}
ins{background:#d4f0d4;text-decoration:none}h2{margin-top:2em}"""


class ShownDocument(NamedTuple):
    """A document of the report."""

    place: str  # "part-1.jsonl, line 3"
    text: str


class Cluster(NamedTuple):
    """A kept document, and some of those removed for it."""

    kept: ShownDocument
    size: int  # of all that go
    removed: list[tuple[ShownDocument, float]]


def page(facts: dict[str, str], clusters: Iterable[Cluster], bands: Bands, threshold: float) -> str:
    """The whole report."""
    rows = "".join(f"<tr><th>{_safe(k)}</th><td>{_safe(v)}</td></tr>" for k, v in facts.items())
    body = "".join(map(_cluster, clusters)) or "<p>There are no near-duplicates.</p>"
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Near-duplicates</title>'
        f"<style>{STYLE}</style><h1>Near-duplicates</h1><table>{rows}</table>"
        "<h2>How many pairs are compared</h2>"
        f"<p>Pairs share one of {bands.n_bands} keys, made of {bands.n_hashes} hashes each, with "
        "the probability that the curve shows. Only such pairs are compared, and every removal is "
        f"verified exactly.</p>{_curve(bands, threshold)}"
        "<h2>Clusters</h2><p>On the left a kept document, on the right one that was removed "
        "for it. Words of one side alone are marked, or characters where there are no blanks. "
        "The largest clusters come first.</p>"
        f"{body}</html>\n"
    )


def _cluster(cluster: Cluster) -> str:
    kept, size = cluster.kept, cluster.size
    pairs = "".join(_pair(kept, shown, similarity) for shown, similarity in cluster.removed)
    more = size - len(cluster.removed)
    rest = f"<p>… and {more:,} more.</p>" if more else ""
    return f"<h3>{_safe(kept.place)}: {size:,} removed</h3>{pairs}{rest}"


def _pair(kept: ShownDocument, removed: ShownDocument, similarity: float) -> str:
    """Two documents beside each other, with what differs marked."""
    a, b = kept.text.split()[:WORDS], removed.text.split()[:WORDS]
    blank = " "
    if max(len(a), len(b)) == 1:  # molecules and sequences: by their characters
        a, b, blank = [*"".join(a)[:CHARACTERS]], [*"".join(b)[:CHARACTERS]], ""
    left, right = [], []
    for what, i, j, k, m in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        left.append(_marked(blank.join(a[i:j]), "" if what == "equal" else "del"))
        right.append(_marked(blank.join(b[k:m]), "" if what == "equal" else "ins"))
    return (
        f'<div class="pair"><div><small>stays</small><p>{blank.join(left)}</p></div>'
        f"<div><small>{_safe(removed.place)}, similarity {similarity:.3f}</small>"
        f"<p>{blank.join(right)}</p></div></div>"
    )


def _marked(text: str, tag: str) -> str:
    said = _safe(text)
    return f"<{tag}>{said}</{tag}>" if tag and said else said


def _curve(bands: Bands, threshold: float) -> str:
    """The S-curve as a drawing of 420 by 200 points, with a margin of 30."""
    J = np.linspace(0, 1, 101)
    line = " ".join(f"{30 + 380 * x:.1f},{180 - 160 * p:.1f}" for x, p in zip(J, bands.recall(J)))
    at, share = 30 + 380 * threshold, float(bands.recall(threshold))
    return (
        '<svg viewBox="0 0 440 215" width="440" role="img" aria-label="S-curve">'
        '<path d="M30 20V180H410" fill="none" stroke="#888"/>'
        f'<polyline points="{line}" fill="none" stroke="#1f5fa8" stroke-width="2"/>'
        f'<path d="M{at:.1f} 20V180" stroke="#c33" stroke-dasharray="4"/>'
        f'<text x="{at - 4:.1f}" y="170" text-anchor="end" font-size="12" fill="#c33">threshold '
        f"{threshold:g}: {share:.3f}</text>"
        '<text x="30" y="195" font-size="12">0</text><text x="402" y="195" font-size="12">1</text>'
        '<text x="220" y="208" text-anchor="middle" font-size="12">similarity</text>'
        '<text x="8" y="184" font-size="12">0</text><text x="8" y="24" font-size="12">1</text>'
        "</svg>"
    )


def _safe(text: object) -> str:
    return html.escape(str(text).encode("utf-8", "backslashreplace").decode())
