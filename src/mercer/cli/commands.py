"""The commands: fit, predict, report, check, variants, neighbors ...

Each is a thin function that imports its own module on use; the work is in files of the same names
beside this one.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Annotated

from cyclopts import Parameter

from mercer.cli.fit_options import FitOptions
from mercer.cli.libraries import foreseen, is_short
from mercer.cli.link_options import LinkOptions
from mercer.cli.options import (
    CheckOptions,
    Flag,
    Json,
    More,
    PredictOptions,
    Quiet,
    ReportOptions,
    Whole,
)
from mercer.cli.search_options import DedupOptions, MapOptions, NeighborOptions, VariantOptions
from mercer.cli.terminal import OptionError, of_option
from mercer.spoken import seconds


def fit(
    train: Path,
    /,
    *more: More,
    options: FitOptions = FitOptions(),  # noqa: B008 - it cannot change
) -> int:
    """Fit, score and explain a model of a table.

    Parameters
    ----------
    train
        The table: CSV, TSV, Parquet, Arrow, JSON lines, svmlight, Excel or .ts, also compressed; a
        pattern such as "part-*.csv"; a folder of graphs (.graphml); or - for standard input.
    """
    started = monotonic()
    warned = False
    if options.time is not None and options.trials is None:
        with of_option(OptionError):
            limit = seconds(options.time)
        warned = is_short(limit, foreseen(), "will take about")
    from mercer.cli.problem import check_names

    options = replace(options, train=train, more=more)
    check_names(options)
    from mercer.cli.fit import fit_table

    return fit_table(options, started, warned=warned)


def predict(model: Path, table: Path, /, *more: More, options: PredictOptions) -> int:
    """Predict for the rows of a table, in their order.

    Writes the column prediction and, for each class, proba_ and its name.

    Parameters
    ----------
    model
        A model file from mercer fit.
    table
        New rows: the training columns in any order; others are ignored.
    """
    from mercer.cli.predict import predict_table

    return predict_table(replace(options, model=model, tables=(table, *more)))


def report(
    model: Path,
    table: Path,
    /,
    *more: More,
    options: ReportOptions = ReportOptions(),  # noqa: B008 - it cannot change
) -> int:
    """Score a model on new rows whose target is known, and write a report.

    Parameters
    ----------
    model
        A model file from mercer fit.
    table
        New rows: the training columns and the target.
    """
    from mercer.cli.report import report_table

    return report_table(replace(options, model=model, tables=(table, *more)))


def variants(model: Path, sequences: Path, /, *more: More, options: VariantOptions) -> int:
    """Say what a model of sequences predicts if letters are replaced.

    Writes each variant with what the model says before and after it.

    Parameters
    ----------
    model
        A model file from mercer fit, of FASTA files or of a table with a column of sequences.
    sequences
        FASTA, FASTQ or a table with the columns that the model reads.
    """
    from mercer.cli.variants import score_variants

    return score_variants(replace(options, model=model, tables=(sequences, *more)))


def check(
    table: Path,
    /,
    *more: More,
    options: CheckOptions = CheckOptions(),  # noqa: B008 - it cannot change
) -> int:
    """Say what is in a table and what is wrong with it, without fitting.

    Parameters
    ----------
    table
        The table, in any format of mercer fit.
    """
    import gc

    from mercer.cli.check import check_table

    gc.disable()  # a wide table has many objects, none of them in a cycle
    try:
        return check_table(replace(options, tables=(table, *more)))
    finally:
        gc.enable()


def neighbors(
    items: Path,
    query: Path | None = None,
    /,
    *,
    options: NeighborOptions = NeighborOptions(),  # noqa: B008 - it cannot change
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
    """
    from mercer.cli.neighbors import write_neighbors

    return write_neighbors(replace(options, items=items, query=query))


def map_(
    table: Path,
    /,
    *more: More,
    options: MapOptions = MapOptions(),  # noqa: B008 - it cannot change
) -> int:
    """Draw a map of the rows of a table, with its clusters, as a page to walk through.

    Rows that are alike are near each other. They are compared as by mercer neighbors, by columns of
    any kind. The page loads nothing: colour it by a column, search, and click on a point.

    Parameters
    ----------
    table
        The table, in any format of mercer fit.
    """
    from mercer.cli.map import write_map

    return write_map(replace(options, tables=(table, *more)))


def link(
    left: Path,
    right: Path | None = None,
    /,
    *,
    options: LinkOptions = LinkOptions(),  # noqa: B008 - it cannot change
) -> int:
    """Find records that are the same person, firm or thing, in two tables or within one.

    No rules and no labels are needed. A run that was killed goes on where it was when the same
    command is given again. Writes left_row, right_row, probability, match_weight,
    cluster, and for each column its weight in bits and its level, 0 to 5 (6: in another column; 7:
    missing).

    Parameters
    ----------
    left
        The table, in any format of mercer fit.
    right
        The second table. Without it records of the first are compared with each other.
    """
    from mercer.cli.link import link_tables

    return link_tables(replace(options, left=left, right=right))


def dedup(
    file: Path,
    /,
    *more: Annotated[Path, Parameter(help="More files of the same format.")],
    options: DedupOptions = DedupOptions(),  # noqa: B008 - it cannot change
) -> int:
    """Remove near-duplicates from files of documents.

    Each removal is verified against a document that stays. A run that was killed goes on where it
    was when the same command is given again.

    Parameters
    ----------
    file
        JSON lines, CSV, TSV, plain text (a document in each line), FASTA, FASTQ or Parquet; text
        also compressed (.gz, .zst, .bz2, .xz); or a pattern such as "part-*.jsonl".
    """
    from mercer.cli.document_files import documents_given

    options = replace(options, files=(file, *more))
    documents = documents_given(options)  # before libraries are loaded
    from mercer.cli.dedup import deduplicate

    return deduplicate(options, *documents)


def denoise(
    recording: Path,
    /,
    *more: Annotated[Path, Parameter(help="More recordings, or folders of them.")],
    output: Annotated[Path, Parameter(alias="-o")],
    model: Path | None = None,
    train: Flag = False,
    scenes: Whole = 400,
    seed: Whole = 0,
    force: Flag = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Take noise out of recordings of speech.

    Needs the speech extra: pip install "mercer[cli,speech]".

    Parameters
    ----------
    recording
        A WAV, FLAC, Ogg, MP3 or AIFF file, or a folder of such files. With --train, a folder of
        clean speech; folders of noise may follow. Each folder in it counts as one speaker.
    output
        Where the speech is written: a .wav or .flac file, or for several recordings a folder. With
        --train, the file of the model.
    model
        A model that --train has made. Default: the one that comes with the package.
    train
        Fit a model to clean speech, mixed with noise, in place of using one.
    scenes
        Mixtures that --train makes, of 5 seconds each.
    seed
        Seed of the mixtures and the fit.
    force
        Replace an existing output.
    """
    from mercer.cli.denoise import denoise_files, train_enhancer

    if train:
        return train_enhancer(
            [recording, *more], output=output, scenes=scenes, seed=seed, force=force, json=json,
            quiet=quiet,
        )  # fmt: skip
    return denoise_files(
        [recording, *more], output=output, model=model, force=force, json=json, quiet=quiet
    )


def demo(*, folder: Path = Path("mercer-demo")) -> int:
    """Fit, explain and use a model of throws at a basket.

    Parameters
    ----------
    folder
        Where table, model, report and predictions are written.
    """
    from mercer.cli.app import run
    from mercer.cli.demo import run_demo

    return run_demo(folder, run)
