"""The commands that search for what is alike, with their options: neighbors and dedup.

Each is a thin function that imports its own module on use, so that ``mercer --help`` is fast; the
work is in neighbors.py and dedup.py beside this file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from mercer.cli.shared_options import (
    Drops,
    Flag,
    Json,
    Kinds,
    Quiet,
    ReadingOptions,
    Whole,
)


def neighbors(
    items: Path,
    query: Path | None = None,
    /,
    *,
    k: Annotated[Whole | None, Parameter(name=["-k", "--neighbors"])] = None,
    radius: float | None = None,
    output: Annotated[Path, Parameter(alias="-o")] = Path("neighbors.csv"),
    columns: Annotated[list[str] | None, Parameter(negative="")] = None,
    keep: Annotated[list[str] | None, Parameter(negative="")] = None,
    drop: Drops = None,
    kind: Kinds = None,
    metric: Literal["range", "rank"] = "range",
    text: Literal["auto", "edit", "kmers", "words"] = "auto",
    explain: Flag = False,
    memory: str = "4GB",
    reading: ReadingOptions = ReadingOptions(),  # noqa: B008 - it cannot change
    force: Flag = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Find the nearest rows of a table, by columns of any kind.

    The distance is the mean over the columns, each of which counts from 0 to 1. Writes the columns
    row, neighbour, distance and rank.

    Parameters
    ----------
    items
        The table in which neighbours are searched, in any format of mercer fit.
    query
        Rows that ask, with the same columns. Without it each row of the items asks for others.
    k
        How many neighbours of each row. Default: 10, or all within the radius.
    radius
        Only neighbours at this distance or nearer.
    output
        A CSV, TSV or Parquet file.
    columns
        A column to compare by; without it all that tell rows apart. May be repeated.
    keep
        A column to copy, of each row and of its neighbour. May be repeated.
    metric
        How far numbers and dates are apart: in shares of the range of the items, or by rank.
    text
        How texts are compared: by edits, by substrings of 3 characters (kmers) or by words. auto:
        edits, and words where texts have more than 100 characters on average.
    explain
        Add the column differs: the columns that add most to each distance, and how much.
    memory
        Memory budget of the search: "4GB", "500MB".
    force
        Replace an existing output file.
    """
    from mercer.cli.neighbors import NeighborOptions, write_neighbors
    from mercer.cli.options import reading_given

    options = NeighborOptions(
        items=items, query=query, k=k, radius=radius, columns=columns or [], drop=drop or [],
        keep=keep or [], kind=kind or [], metric=metric, text=text, output=output,
        explain=explain, memory=memory, reading=reading_given(reading), force=force, json=json,
        quiet=quiet,
    )  # fmt: skip
    return write_neighbors(options)


def dedup(
    file: Path,
    /,
    *more: Annotated[Path, Parameter(help="More files of the same format.")],
    column: str = "text",
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    threshold: float = 0.8,
    keep: str = "first",
    words: Whole | None = None,
    characters: Whole | None = None,
    recall: float = 0.99,
    against: Annotated[list[Path] | None, Parameter(negative="")] = None,
    index: Path | None = None,
    bits: Literal[1, 2, 4, 8] | None = None,
    most_kept: Whole = 100,
    malformed: Literal["stop", "skip"] = "stop",
    pairs: Path | None = None,
    report: Path | None = None,
    work: Path | None = None,
    task: str | None = None,
    executor: str | None = None,
    fail: Flag = False,
    sep: str | None = None,
    seed: Whole = 0,
    force: Flag = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Remove near-duplicates from files of documents.

    Each removal is verified against a document that stays. A run that was killed goes on where it
    was when the same command is given again.

    Parameters
    ----------
    file
        JSON lines, CSV, TSV, plain text (a document in each line) or Parquet; text also compressed
        (.gz, .zst, .bz2, .xz); or a pattern such as "part-*.jsonl".
    column
        The column with the text of a document; user.text is a column inside of objects.
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
        Documents are compared by runs of so many words. Default: 3.
    characters
        By runs of so many characters, in place of words.
    recall
        The share of pairs just at the threshold that are to be found.
    against
        Files of an earlier corpus, whose documents are never removed. May be repeated.
    index
        A folder with an index of what was kept by earlier runs. What is like one of its documents
        is removed, and what is kept is added to it. It is made if there is none.
    bits
        Bits of each hash that a new index keeps in place of the shingles. It is then smaller, and
        similarities to its documents are estimates.
    most_kept
        The most documents that are kept and compared in one bucket.
    malformed
        What to do with a record that cannot be read: stop, or skip and count it.
    pairs
        A CSV file of what is removed, what stays instead, and how similar they are.
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
    from mercer.cli.dedup import deduplicate_files
    from mercer.cli.dedup_options import DedupOptions

    return deduplicate_files(
        DedupOptions(
            files=[file, *more], column=column, output=output, threshold=threshold, keep=keep,
            words=words, characters=characters, recall=recall, against=against or [],
            most_kept=most_kept, malformed=malformed, pairs=pairs, report=report, work=work,
            task=task, fail=fail, sep=sep, seed=seed, force=force, json=json, quiet=quiet,
            index=index, bits=bits, executor=executor,
        )
    )  # fmt: skip
