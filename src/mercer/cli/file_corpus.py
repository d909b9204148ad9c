"""Files of documents as the stages of `mercer.dedup` read them: by shards, and by parts of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mercer.cli.documents import Format, RecordError
from mercer.cli.errors import TableError
from mercer.dedup import Part

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
