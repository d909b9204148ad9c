"""Biological sequences from FASTA and FASTQ files, as columns ``id`` and ``sequence``; and VCF.

A record of FASTA begins with ``>`` and its name; all lines until the next one are its letters. One
of FASTQ has four lines: ``@`` and the name, the letters, ``+``, and the qualities, which are not
read. What follows the name is the column ``description``, if any record has it::

    >seq1 a promoter        @read1
    GATTACA                 GATTACA
    GATT                    +
                            IIIIHHG
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from mercer.cli.files import ByteSource
from mercer.cli.formats import Lines
from mercer.cli.terminal import TableError

FASTA = ".fa", ".fasta", ".fna", ".ffn", ".faa", ".frn"  # how names of files end
FASTQ = ".fq", ".fastq"
SHOWN = 40  # characters of a wrong line that a message shows
SMALL = "Small letters are read as capital ones."
LETTERS = re.compile(r"[A-Za-z*.-]*")  # also the end of a protein, and the gaps of an alignment


class SequenceFile(Lines):
    """The records of a file, whose letters are capital ones."""

    gaps = True  # not all records have a description

    def __init__(self, source: ByteSource, encoding: str):
        super().__init__(source, encoding)
        self.kinds = {"id": "identifier", "sequence": "sequence"}
        self.of_class = ""  # of all records, where each file is a class

    def _data(self, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """Records of FASTA or FASTQ, each a name and its letters."""
        # remarks of FASTA; a line of qualities may begin with ; too
        told = ((i, line) for i, line in lines if line and not line.startswith(";"))
        first = next(told, None)
        if first is None:
            return iter(())
        if first[1][0] not in ">@":
            raise self._wrong(*first, "a record begins with > (FASTA) or @ (FASTQ)")
        return self._fasta(first, told) if first[1][0] == ">" else self._fastq(first, lines)

    def _fasta(
        self, head: tuple[int, str], lines: Iterator[tuple[int, str]]
    ) -> Iterator[tuple[int, str]]:
        """Records of FASTA, whose letters may stand in several lines."""
        parts: list[str] = []
        for i, line in lines:
            if line[0] == ">":
                yield head[0], f"{head[1][1:]}\n{''.join(parts)}"
                head, parts = (i, line), []
            else:
                parts.append(self._letters(i, line))
        yield head[0], f"{head[1][1:]}\n{''.join(parts)}"

    def _fastq(
        self, head: tuple[int, str], lines: Iterator[tuple[int, str]]
    ) -> Iterator[tuple[int, str]]:
        """Records of FASTQ, of four lines each."""
        self.notes = ["The qualities of the letters are not read."]
        after: tuple[int, str] | None = head
        while after is not None:
            i, name = after
            rest = [next(lines, (i, "")) for _ in range(3)]
            (at, letters), (_, plus), (_, quality) = rest
            if name[0] != "@" or plus[:1] != "+" or len(quality) != len(letters):
                raise self._wrong(
                    i, name, "a record of FASTQ is @ and a name, a line of letters, +, and as many "
                    "qualities as letters"
                )  # fmt: skip
            yield i, f"{name[1:]}\n{self._letters(at, letters)}"
            after = next(((i, line) for i, line in lines if line), None)

    def _letters(self, i: int, line: str) -> str:
        """The letters in a line, as capitals."""
        letters = re.sub(r"\s", "", line)
        if not LETTERS.fullmatch(letters):
            raise self._wrong(i, line, "a sequence has letters, *, - and . alone")
        if letters != letters.upper() and SMALL not in self.notes:
            self.notes.append(SMALL)
        return letters.upper()

    def _wrong(self, i: int, line: str, rule: str) -> TableError:
        return TableError(f"{self.source.label}, line {i}: it is {line[:SHOWN]!r}, but {rule}.")

    def _frame(self, lines: list[tuple[int, str]]) -> pl.DataFrame:
        """Records as a table of names and sequences."""
        records = [line.partition("\n") for _, line in lines]
        named = [head.strip().partition(" ") for head, _, _ in records]
        columns: dict[str, list] = {"id": [name for name, _, _ in named]}
        if any(more for _, _, more in named):
            columns["description"] = [more.strip() or None for _, _, more in named]
        columns["sequence"] = [letters or None for _, _, letters in records]
        frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
        return frame.with_columns(pl.lit(self.of_class).alias("class")) if self.of_class else frame


class VariantFile(Lines):
    """The columns chrom, position, reference and alternative of a .vcf file.

    Rows whose ALT is a point have no variant, and are left out.
    """

    def __init__(self, source: ByteSource, encoding: str):
        super().__init__(source, encoding)
        self.lines: list[int] = []  # of the rows that were read, counted from 1

    def _data(self, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """The lines of variants that have another letter."""
        for i, line in lines:
            if line and not line.startswith("#"):
                if line.count("\t") < 4:
                    raise TableError(
                        f"{self.source.label}, line {i}: it is {line[:SHOWN]!r}, but a variant of "
                        "VCF has CHROM, POS, ID, REF and ALT, with tabs between them."
                    )
                if line.split("\t", 5)[4] != ".":
                    yield i, line

    def _frame(self, lines: list[tuple[int, str]]) -> pl.DataFrame:
        rows = [line.split("\t")[:5] for _, line in lines]
        self.lines += [i for i, _ in lines]
        names = ("chrom", "position", "", "reference", "alternative")
        columns = {name: [row[j] for row in rows] for j, name in enumerate(names) if name}
        return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def tell_classes(files: Sequence[Any]) -> bool:
    """Make each of several files of sequences a class with its name; whether they are such."""
    parts = [part for part in files if isinstance(part, SequenceFile)]
    if len(parts) < max(2, len(files)):
        return False
    names = [Path(part.source.name).stem for part in parts]
    if len(set(names)) < len(names):  # such as pos/a.fa and neg/a.fa
        names = [part.source.path.parent.name for part in parts]
    for part, name in zip(parts, names):
        part.target, part.of_class = "class", name
    return True
