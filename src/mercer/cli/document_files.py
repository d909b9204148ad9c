"""Files of documents: which are given, what their first records tell, and how stages read them.

The first records tell how --keep is written, and whether the documents are molecules or sequences
and no texts. `FileCorpus` reads the files by shards, and parts of them, for `mercer.dedup`.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.cli.documents import (
    Delimited,
    DocumentJsonLines,
    DocumentLines,
    Fasta,
    Fastq,
    Format,
    Parquet,
    RecordError,
)
from mercer.cli.files import STDIN, find_sources
from mercer.cli.search_options import DedupOptions
from mercer.cli.sequence_files import FASTA, FASTQ
from mercer.cli.terminal import OptionError, TableError
from mercer.samples import are_molecules
from mercer.tables import Hints, form_of, infer_columns

if TYPE_CHECKING:
    from mercer.dedup import Part

SAMPLED, FEW_FILES = 1000, 5  # records of each file, and files, that tell what the others are
FORMATS: dict[str, type[Format]] = {
    ".jsonl": DocumentJsonLines, ".ndjson": DocumentJsonLines, ".txt": DocumentLines,
    ".csv": Delimited, ".tsv": Delimited, ".parquet": Parquet, ".pq": Parquet,
    **dict.fromkeys(FASTA, Fasta), **dict.fromkeys(FASTQ, Fastq),
}  # fmt: skip

SAID = {
    "molecule": "Molecules are compared by their fragments, with or without salts, and mirror "
    "images are equal; --characters 5 compares texts.",
    "sequence": "Sequences are compared by runs of 10 letters; --characters 20 takes longer ones.",
}
UNREAD = 'its cells look like molecules, which pip install "mercer[chem]" reads.'


def format_of(name: str, label: str) -> type[Format]:
    """The format that the end of a name says."""
    found = [made for suffix, made in FORMATS.items() if name.lower().endswith(suffix)]
    if not found:
        raise TableError(
            f"{label}: the name must end in {', '.join(FORMATS)}, or in one of these and .gz, "
            ".zst, .bz2 or .xz."
        )
    return found[0]


def documents_given(options: DedupOptions) -> tuple[list[Format], list[Format]]:
    """The files of documents, and those of an earlier corpus; an error if an option is wrong.

    It loads little, so that a wrong option or file is named at once.
    """
    options.check()
    new, earlier = _formats(options, options.files), _formats(options, options.against)
    first = [_first(made) for made in new[:FEW_FILES]]
    if options.keep_column is not None:
        _read_kept([*new, *earlier], [cell for some in first for _, cell in some])
    if options.words is None and options.characters is None:
        _read_as([*new, *earlier], [text for some in first for text, _ in some])
    return new, earlier


def _formats(options: DedupOptions, given: Sequence[Path]) -> list[Format]:
    """The files of documents, each with its format; TableError or OptionError if one is wrong."""
    if STDIN in given:
        raise OptionError("- : documents are read more than once; give them as a file.")
    sources = find_sources(given)
    made = {format_of(source.name, source.label) for source in sources}
    if len(made) > 1:
        raise TableError("The files have several formats: give files of one format.")
    keep = options.keep_column
    if keep is not None and any(issubclass(kind, Fasta) for kind in made):
        raise OptionError(f"--keep {keep}: sequences have no columns; give first or longest.")
    formats = [
        kind(source, options.column, keep, options.sep) for source in sources for kind in made
    ]
    for made in formats:
        made.header()  # has the columns
    return formats


def _first(made: Format) -> list[tuple[str, object]]:
    """The texts of the first records of a file, and their cells in the column of --keep."""
    found = []
    for record in made.first(SAMPLED):
        with suppress(RecordError):
            found.append(made.found(record))
    return found


def _read_kept(formats: Sequence[Format], cells: list[object]) -> None:
    """Find out how texts of the column of --keep are written.

    They are read by the forms that the columns of a table have (`mercer.tables`).
    """
    texts = [cell for cell in cells if isinstance(cell, str) and cell]
    found = form_of(Counter(texts), Hints()) if texts else None
    if found is None or found.kind not in ("number", "date"):
        return
    for made in formats:
        made.kept = infer_columns({"": np.array(texts, object)}, {"": found.kind})[0]


def _read_as(formats: Sequence[Format], texts: list[str]) -> None:
    """Find out by the rules for columns of a table if documents are molecules or sequences."""
    words = [text for text in texts if text.strip()]
    if not words or any(len(text.split()) > 1 for text in words):
        return
    found = are_molecules(dict.fromkeys(words))  # which may have faults, of which a record tells
    kind = "molecule" if found else infer_columns({"": np.array(words, object)})[0].kind
    for made in formats:
        made.of = made.of or (kind if kind in SAID else "")
        made.notice = SAID.get(made.of, "" if found is not None else f"{made.column}: {UNREAD}")


PACKED = 4  # bytes of a file for each byte of it when compressed, about


class FileCorpus:
    """Shards of files, which the stages call files.

    Parameters
    ----------
    formats : list of Format
        Those of earlier files come first.
    fixed : int
        How many of them are of an earlier corpus.
    skip : bool
        Whether malformed records are left out, and counted.
    tell : callable
        Called with the name of the work, how much of it is done, and how much there is.
    """

    def __init__(
        self, formats: list[Format], fixed: int, skip: bool, tell: Callable[[str, int, int], None]
    ):
        shards = [made.shards() for made in formats]
        self.formats = [shard for some in shards for shard in some]
        self.files, self.fixed = len(self.formats), sum(map(len, shards[:fixed]))
        self.skip, self.tell = skip, tell
        self.sizes = [_size(shard) for shard in self.formats]

    def alone(self) -> FileCorpus:
        """The same without the screen, for another process, which may be in another folder."""
        found = copy.copy(self)
        found.tell, found.formats = _nothing, []
        for made in self.formats:
            there = copy.copy(made)
            there.source = copy.copy(made.source)
            there.source.path = made.source.path.absolute()
            found.formats.append(there)
        return found

    def parts(self, file: int, after: Any) -> Iterator[Part]:
        """The parts of a shard after a place."""
        from mercer.dedup import Part  # which the first look at files does not wait for

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
            yield Part(texts, np.array(values, float), place)
            self.tell("Reading", min(before + offset - (made.begin or 0), total), total)

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
            self.tell("Reading what may be equal", k + 1, len(places))

    def bases(self, places: Sequence[Sequence[Any]]) -> list[int]:
        """How many records of its file come before those of each shard."""
        bases: list[int] = []
        for k, made in enumerate(self.formats):
            last = places[k - 1][-1]["records"] if k and places[k - 1] else 0
            bases.append(0 if made.begin is None else bases[-1] + last)
        return bases

    def _malformed(self, made: Format, number: int, error: RecordError) -> TableError:
        return TableError(
            f"{made.source.label}, {made.unit} {made.before() + number} {error}. Mend it, or leave "
            f"such {made.unit}s out by --malformed skip."
        )


def _size(shard: Format) -> int:
    """Bytes or rows to read, about."""
    if shard.source.compression:
        return shard.size * PACKED
    return max((shard.size if shard.end is None else shard.end) - (shard.begin or 0), 1)


def _nothing(*_: object) -> None:
    """Report nothing."""
