"""The options of ``mercer neighbors``, ``map``, ``variants`` and ``dedup``, and what they mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from mercer.cli.files import STDIN
from mercer.cli.options import (
    MEMORY,
    WRITERS,
    Drops,
    Executor,
    Flag,
    Given,
    GivenFiles,
    Json,
    Kinds,
    Names,
    Output,
    Quiet,
    ReadingOptions,
    Whole,
    check_memory_size,
    check_paths,
    check_seed,
    kinds_given,
    numbered_task,
)
from mercer.cli.terminal import OptionError, of_option

if TYPE_CHECKING:
    from mercer.dedup import Bands, CorpusIndex, Shingles, Signer

LETTERS = 10  # of a run in DNA and proteins: in long genomes, all shorter ones occur
WRITTEN = {"row", "neighbour", "distance", "rank", "differs"}  # columns of the neighbours


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """How rows are compared.

    Parameters
    ----------
    columns
        A column to compare by; without it all that tell rows apart. May be repeated.
    metric
        How far numbers and dates are apart: in shares of the range of the items, or by rank.
    text
        How texts are compared: by edits, by substrings of 3 characters (kmers) or by words. auto:
        edits, and words where texts have more than 100 characters on average.
    """

    columns: Names = ()
    drop: Drops = ()
    kind: Kinds = ()
    metric: Literal["range", "rank"] = "range"
    text: Literal["auto", "edit", "kmers", "words"] = "auto"

    def check(self) -> None:
        """Refuse what no table could make right."""
        kinds_given(self.kind)
        both = sorted({*self.columns} & {*self.drop})
        if both:
            raise OptionError(f"{both[0]} is named by --columns and by --drop: leave one out.")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class NeighborOptions:
    """The options of ``mercer neighbors``.

    Parameters
    ----------
    k
        How many neighbours of each row. Default: 10, or all within the radius.
    radius
        Only neighbours at this distance or nearer.
    output
        A CSV, TSV or Parquet file.
    keep
        A column to copy, of each row and of its neighbour. May be repeated.
    explain
        Add the column differs: the columns that add most to each distance, and how much.
    memory
        Memory budget of the search: "4GB", "500MB".
    force
        Replace an existing output file.
    """

    items: Given = STDIN
    query: Annotated[Path | None, Parameter(parse=False)] = None
    k: Annotated[Whole | None, Parameter(name=["-k", "--neighbors"])] = None
    radius: float | None = None
    output: Output = Path("neighbors.csv")
    compare: CompareOptions = CompareOptions()
    keep: Names = ()
    explain: Flag = False
    memory: str = MEMORY
    read: ReadingOptions = ReadingOptions()  # noqa: RUF009 - it cannot change
    force: Flag = False
    json: Json = False
    quiet: Quiet = False

    @property
    def written(self) -> list[tuple[str, Path]]:
        return [("--output", self.output)]

    def check(self) -> None:
        """Refuse, before any table is read, what no table could make right."""
        suffix = self.output.suffix.lower()
        if suffix not in WRITERS:
            raise OptionError(f"--output {self.output}: the name must end in {', '.join(WRITERS)}.")
        if self.k is not None and self.k < 1:
            raise OptionError(f"-k {self.k}: give a number of neighbours, at least 1.")
        if self.radius is not None and not 0 <= self.radius < math.inf:
            raise OptionError(f"--radius {self.radius}: give a number, at least 0.")
        check_memory_size(self.memory)
        self.compare.check()
        for name in self.keep:
            if name in WRITTEN:
                raise OptionError(
                    f"--keep {name}: the neighbours have a column of that name; rename yours."
                )
        inputs = [self.items] if self.query is None else [self.items, self.query]
        check_paths(self.written, inputs, force=self.force)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class VariantOptions:
    """The options of ``mercer variants``.

    Parameters
    ----------
    output
        A CSV, TSV or Parquet file of the variants: id, position, reference, alternative, before,
        after and change.
    variants
        A table of variants with the columns id, position (from 1), reference and alternative, or a
        .vcf file whose CHROM is the id. A - stands for no letter. Without it all other letters are
        tried in each place.
    picture
        A .png, .svg or .pdf file: the letters of the sequences, as high as what they add, and what
        the variants change, of the 6 sequences that change most.
    of
        The class whose output is told. Default: of two classes the second one, of more each.
    column
        The column of sequences that changes, where the model reads several.
    keep
        A column of the sequences to copy beside their variants. May be repeated.
    force
        Replace existing output files.
    """

    model: Given = STDIN
    tables: GivenFiles = ()
    output: Output
    variants: Path | None = None
    picture: Path | None = None
    of: str | None = None
    column: str | None = None
    keep: Names = ()
    read: ReadingOptions = ReadingOptions()  # noqa: RUF009 - it cannot change
    force: Flag = False
    json: Json = False
    quiet: Quiet = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class MapOptions:
    """The options of ``mercer map``.

    Parameters
    ----------
    output
        The page, a file that ends in .html.
    color
        The column that colours the points at first. Default: the clusters.
    clusters
        Whether clusters are looked for.
    min_cluster_size
        Fewest rows of a cluster. Default: half of the root of the number of rows, at least 5.
    neighbors
        How many neighbours of each row the map keeps near it.
    rows
        Most rows that are drawn. Default: 200,000, or 20,000 if rows are compared by more than
        numbers and dates.
    seed
        Seed for choosing these rows, and those that the first map is made of.
    points
        A CSV, TSV or Parquet file of the points: row, x, y, cluster, probability and outlier.
    force
        Replace existing output files.
    """

    tables: GivenFiles = ()
    output: Output = Path("map.html")
    color: str | None = None
    clusters: bool = True
    min_cluster_size: Whole | None = None
    compare: CompareOptions = CompareOptions()
    neighbors: Whole = 15
    rows: Whole | None = None
    seed: Whole = 0
    points: Path | None = None
    read: ReadingOptions = ReadingOptions()  # noqa: RUF009 - it cannot change
    force: Flag = False
    json: Json = False
    quiet: Quiet = False

    @property
    def written(self) -> list[tuple[str, Path]]:
        pages = [("--output", self.output)]
        return pages if self.points is None else [*pages, ("--points", self.points)]

    def check(self) -> None:
        """Refuse, before any table is read, what no table could make right."""
        if self.points is not None and self.points.suffix.lower() not in WRITERS:
            raise OptionError(f"--points {self.points}: the name must end in {', '.join(WRITERS)}.")
        check_paths(self.written, self.tables, force=self.force)
        if self.output.suffix.lower() != ".html":
            raise OptionError(f"--output {self.output}: the name must end in .html.")
        least = {
            "min-cluster-size": (self.min_cluster_size, 2), "neighbors": (self.neighbors, 1),
            "rows": (self.rows, 3),
        }  # fmt: skip
        for name, (given, fewest) in least.items():
            if given is not None and given < fewest:
                raise OptionError(f"--{name} {given}: give a number, at least {fewest}.")
        if not self.clusters and self.min_cluster_size is not None:
            raise OptionError("--no-clusters and --min-cluster-size: give one of them.")
        check_seed(self.seed)
        self.compare.check()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DedupOptions:
    """The options of ``mercer dedup``.

    Parameters
    ----------
    column
        The column with the text of a document; user.text is a column inside of objects. Files of
        sequences have none.
    output
        Where the records that are kept are written, as they are and in their order. Its name ends
        as those of the files do, with .gz or .zst behind it if you like.
    threshold
        The least share of runs of words that two documents have in common (Jaccard), above which
        one of them is removed.
    keep
        Which of several stays: the first, the longest, or the one with the largest number or date
        in the column of this name.
    words
        Documents are compared by runs of so many words. Default: 3; molecules by their fragments,
        and DNA and proteins by runs of 10 letters.
    characters
        Documents are compared by runs of so many characters, in place of words.
    recall
        The share of pairs just at the threshold that are to be found.
    against
        Files of an earlier corpus, whose documents are never removed. May be repeated.
    index
        A folder with an index of the documents that earlier runs kept. A document like one of them
        is removed, and kept documents are added to it. It is made if there is none.
    bits
        Bits of each hash that a new index keeps in place of the shingles. It is then smaller, and
        similarities to its documents are estimates.
    most_kept
        The most documents that are kept and compared in one bucket.
    malformed
        What to do with a record that cannot be read: stop, or skip and count it.
    pairs
        A CSV file of the removed documents, those kept instead, and their similarity.
    report
        An HTML file that shows clusters side by side.
    work
        The folder of the stages. Default: beside the output, and removed in the end.
    task
        2/8: this is the second of eight processes that share the work; needs --work.
    executor
        processes:8 runs the work in eight processes, dask:tcp://host:8786 on a cluster of Dask, and
        ray or ray:ADDRESS on one of Ray. All see the same files and the same --work.
    fail
        Exit with code 7 if there are near-duplicates.
    sep
        Separator of the fields of CSV files. Default: as the header shows.
    seed
        Seed of the hash functions.
    force
        Replace existing output files.
    """

    files: GivenFiles = ()
    column: str = "text"
    output: Annotated[Path | None, Parameter(alias="-o")] = None
    threshold: float = 0.8
    keep: str = "first"
    words: Whole | None = None
    characters: Whole | None = None
    recall: float = 0.99
    against: Annotated[tuple[Path, ...], Parameter(negative="", show_default=False)] = ()
    index: Path | None = None
    bits: Literal[1, 2, 4, 8] | None = None
    most_kept: Whole = 100
    malformed: Literal["stop", "skip"] = "stop"
    pairs: Path | None = None
    report: Path | None = None
    work: Path | None = None
    task: str | None = None
    executor: Executor = None
    fail: Flag = False
    sep: str | None = None
    seed: Whole = 0
    force: Flag = False
    json: Json = False
    quiet: Quiet = False

    def check(self) -> None:
        """Refuse, before libraries are loaded, what no documents could make right."""
        if self.bits is not None and self.index is None:
            raise OptionError("--bits: give --index, the folder of an index.")
        if self.words is not None and self.characters is not None:
            raise OptionError("--words and --characters: give one of them.")
        for name, size in (("words", self.words), ("characters", self.characters)):
            if size is not None and size < 1:
                raise OptionError(f"--{name} {size}: give a number, at least 1.")
        for name, value in (("threshold", self.threshold), ("recall", self.recall)):
            if not 0 < value <= 1 or (name == "recall" and value == 1):
                raise OptionError(f"--{name} {value:g}: give a number between 0 and 1.")
        check_seed(self.seed)
        if self.most_kept < 1:
            raise OptionError(f"--most-kept {self.most_kept}: give a number, at least 1.")
        self.tasks()
        if not (self.written or self.fail or self.json or self.index is not None):
            raise OptionError(
                "--output: give the file for the kept documents, or --pairs, or --fail."
            )

    @property
    def keep_column(self) -> str | None:
        """The column whose largest value stays, if it is one that decides."""
        return None if self.keep in ("first", "longest") else self.keep

    def shingles(self, of: str) -> Shingles:
        """What documents are compared by: texts, or those ``of`` molecules or sequences."""
        from mercer.dedup import Characters, Fragments, Words

        if self.characters is not None:
            return Characters(self.characters)
        if self.words is not None:
            return Words(self.words)
        made = {"molecule": Fragments(), "sequence": Characters(LETTERS)}
        return made.get(of, Words())

    def bands(self) -> Bands:
        from mercer.dedup import choose_bands

        with of_option(OptionError):
            return choose_bands(self.threshold, self.recall)

    def opened_index(self, shingles: Shingles) -> CorpusIndex | None:
        """The index that is there; None if there is none yet, or none is asked for."""
        from mercer.dedup import CorpusIndex

        bands = self.bands()
        if self.index is None or not self.index.exists() or not any(self.index.iterdir()):
            return None
        found = CorpusIndex.open(self.index)
        given = {"threshold": self.threshold, "recall": self.recall, "bits": self.bits}
        asked = {name: value for name, value in given.items() if value != getattr(found, name)}
        if bands == found.bands:
            asked.pop("recall", None)
        if self.threshold > found.threshold:
            asked.pop("threshold", None)
        if self.bits is None:
            asked.pop("bits", None)
        if shingles != found.shingles:
            raise OptionError(
                f"--index {self.index}: it was made with {found.shingles!r}, and these documents "
                f"are read by {shingles!r}: give the same --words or --characters, or another "
                "folder."
            )
        for name, value in asked.items():
            raise OptionError(
                f"--{name} {value:g}: the index {self.index} was made with "
                f"{getattr(found, name) or 'the shingles'}; give the same, or another folder."
            )
        return found

    def signer(self, shingles: Shingles) -> Signer:
        """What reads documents as an index does that is made with the same options."""
        from sklearn.utils import check_random_state

        from mercer.dedup import Signer

        seed = int(check_random_state(self.seed).randint(2**31))
        return Signer(shingles, self.bands(), seed)

    def new_index(self, shingles: Shingles) -> CorpusIndex:
        """The index, made now."""
        from mercer.dedup import CorpusIndex

        if self.index is None:
            raise OptionError("--index: give a folder.")
        return CorpusIndex.create(
            self.index, threshold=self.threshold, recall=self.recall, shingles=shingles,
            bits=self.bits, random_state=self.seed,
        )  # fmt: skip

    def tasks(self) -> tuple[int, int]:
        return numbered_task(self.task, self.work, self.executor)

    @property
    def written(self) -> list[tuple[str, Path]]:
        """The files that are written, with their options."""
        given = {"--output": self.output, "--pairs": self.pairs, "--report": self.report}
        return [(name, path) for name, path in given.items() if path is not None]

    @property
    def folders(self) -> list[tuple[str, Path]]:
        """The folders that are filled, with their options."""
        given = {"--work": self.folder, "--index": self.index}
        return [(name, path) for name, path in given.items() if path is not None]

    @property
    def folder(self) -> Path | None:
        """The folder of the stages; None for a passing one, where no file is written."""
        if self.work is not None or not self.written:
            return self.work
        first = self.written[0][1]
        return first.with_name(f"{first.name}.work")
