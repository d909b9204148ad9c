"""The commands and their options, and how errors become messages and exit codes.

Each command is a thin function that imports its own module on use, so that ``mercer --help``
is fast; the work is in fit.py, predict.py, report.py, check.py, neighbors.py, dedup.py,
denoise.py and demo.py beside this file.
"""

from __future__ import annotations

import errno
import sys
import traceback
import warnings
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, Literal, NoReturn

from cyclopts import App, CycloptsError, CycloptsPanel, Parameter

import mercer
from mercer.cli.errors import OptionError, of_option
from mercer.cli.exit_codes import BUG, DATA, INTERRUPTED, NO_EXTRA, OK, OUTPUT, USAGE
from mercer.cli.loading import foreseen, is_short
from mercer.cli.room import check_room
from mercer.cli.shared_options import (
    Decimal,
    Drops,
    Encoding,
    Flag,
    Json,
    Kinds,
    More,
    Quiet,
    Separator,
    Skip,
    TextDecimal,
    Whole,
)  # fmt: skip
from mercer.cli.terminal import Terminal, line
from mercer.durations import seconds
from mercer.visible import visible

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # errors that mean: no room for a file

QUICK = {"--help", "-h", "--version"}  # options that load nothing

EPILOGUE = """Exit codes: 0 done; 1 an error of Mercer's own; 2 wrong command line; 3 wrong data; \
4 a result could not be written; 5 an extra is not installed; 6 the model is written, but its \
report failed; 7 dedup --fail has found near-duplicates; 130 interrupted."""

app = App(
    name="mercer",
    help="Learning from similarity: a table in, a tuned kernel machine and its report out.",
    help_epilogue=EPILOGUE,
    version=f"mercer {mercer.__version__}",
    result_action="return_value",
    suppress_keyboard_interrupt=False,  # `run` says what became of the files
)


@app.command(sort_key=0)
def fit(
    train: Path,
    /,
    *more: More,
    target: str,
    test: Path | None = None,
    task: Literal["classification", "regression", "ordered"] | None = None,
    order: str | None = None,
    metric: str | None = None,
    time: str | None = None,
    trials: Whole | None = None,
    memory: str = "4GB",
    kind: Kinds = None,
    drop: Drops = None,
    only: Literal["kernels"] | None = None,
    group: str | None = None,
    time_column: str | None = None,
    weight: str | None = None,
    compress: Whole | None = None,
    seed: Whole = 0,
    output: Annotated[Path, Parameter(alias="-o")] = Path("model.mercer"),
    encoding: Encoding = "utf-8",
    sep: str | None = None,
    decimal: TextDecimal = None,
    skip_rows: Skip = None,
    no_rows: Flag = False,
    resume: Path | None = None,
    force: Flag = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Fit, score and explain a model of a table.

    Parameters
    ----------
    train
        The table: CSV, TSV, Parquet, Arrow, JSON lines, svmlight, Excel or .ts, also compressed; a
        pattern such as "part-*.csv"; a folder of graphs (.graphml); or - for standard input.
    target
        The column to predict.
    test
        A table to score on; without it 20% of the rows are split off before anything is fitted.
    task
        Overrides what the target suggests; ordered means classes with an order, such as low,
        medium and high, or 1 to 5.
    order
        The classes of an ordered target, the lowest first: low,medium,high. Words of known scales
        and numbers need none.
    metric
        What to optimise and report: accuracy, balanced_accuracy, roc_auc, average_precision,
        log_loss, f1; r2, rmse, mae; of ordered classes rank_error, quadratic_kappa. Default: r2, or
        accuracy, or rank_error, or average_precision for two classes of which one has less than a
        tenth of the rows.
    time
        Time for all of it, search, final fit and report: 90, "120s", "5min", "1h". Default: 120s.
    trials
        A number of trials in place of --time: the same model on any machine.
    memory
        Memory budget: "4GB", "500MB".
    only
        "kernels" keeps a kernel machine even where the constant or a linear model, which are tried
        too, predicts rows that were left out better.
    group
        A column of groups, such as patients: rows of one group are never on both sides of a split.
        It is not used to predict from.
    time_column
        A column of times: the latest rows are held out, as later rows are to be predicted.
    weight
        A column with the weights of the rows, >= 0. It is not used to predict from.
    compress
        So many centres in place of all rows or support vectors: a smaller file and predictions that
        are many times as fast. The score is that of the compressed model; what it lost is said.
    seed
        Seed of the split and the search.
    output
        Where the model is written; the report goes beside it as .html.
    sep
        Separator of the fields of text files: "," ";" tab. Default: as the first rows show.
    no_rows
        Keep the values of single rows out of the report: cells, targets, words, levels and ranges.
    resume
        A model of the same table with the same options, such as one that Ctrl-C has left: its
        trials are not repeated, and the search goes on after them.
    force
        Replace an existing model and report.
    """
    started = monotonic()
    warned = False
    if time is not None and trials is None:
        with of_option(OptionError):
            limit = seconds(time)
        warned = is_short(limit, foreseen(), "will take about")
    from mercer.cli.fit import fit_table
    from mercer.cli.options import FitOptions

    options = FitOptions(
        train=train, target=target, test=test, task=task, metric=metric, time=time, trials=trials,
        memory=memory, kind=kind or [], drop=drop or [], group=group, time_column=time_column,
        weight=weight, compress=compress, seed=seed, output=output, encoding=encoding, sep=sep,
        decimal=decimal, skip_rows=skip_rows, more=more, resume=resume, force=force, json=json,
        quiet=quiet, no_rows=no_rows, only=only, order=order,
    )  # fmt: skip
    return fit_table(options, started, warned=warned)


@app.command(sort_key=1)
def predict(
    model: Path,
    table: Path,
    /,
    *more: More,
    output: Annotated[Path, Parameter(alias="-o")],
    keep: Annotated[list[str] | None, Parameter(negative="")] = None,
    encoding: str = "utf-8",
    sep: str | None = None,
    decimal: Decimal | None = None,
    skip_rows: Skip = None,
    safe_cells: Flag = False,
    interval: float | None = None,
    quantiles: str | None = None,
    explain: Flag = False,
    force: Flag = False,
    json: Json = False,
) -> int:
    """Predict for the rows of a table, in their order.

    Writes the column prediction and, for each class, proba_ and its name.

    Parameters
    ----------
    model
        A model file from mercer fit.
    table
        New rows: the training columns in any order; others are ignored.
    output
        A CSV, TSV or Parquet file; or - for standard output, as CSV.
    keep
        A column of the table to copy beside the predictions. May be repeated.
    encoding
        Encoding of the table, if it is text.
    sep
        Separator of the fields, if the table is text. Default: as the first rows show.
    decimal
        The decimal sign, if it is text: . or , (default: as the columns show, else as in training).
    safe_cells
        Put a ' before texts that spreadsheets would run as formulas, such as =1+1.
    interval
        Add prediction_low and prediction_high, between which the true number is with this
        probability, such as 0.9.
    quantiles
        Add quantiles of the true number, such as 0.1,0.5,0.9, as quantile_0.1 and so on.
    explain
        Add the training rows that each prediction rests on most: because_1 to because_3, and
        not_like_1, which speaks most against it.
    force
        Replace an existing output file.
    """
    from mercer.cli.options import levels_given, reading_given
    from mercer.cli.predict import predict_table

    return predict_table(
        model, [table, *more], output=output, keep=keep or [],
        reading=reading_given(encoding, sep, decimal, skip_rows), safe_cells=safe_cells,
        levels=levels_given(interval, quantiles), explain=explain, force=force, json=json,
    )  # fmt: skip


@app.command(sort_key=2)
def report(
    model: Path,
    table: Path,
    /,
    *more: More,
    target: str | None = None,
    output: Annotated[Path, Parameter(alias="-o")] = Path("report.html"),
    encoding: str = "utf-8",
    sep: str | None = None,
    decimal: Decimal | None = None,
    skip_rows: Skip = None,
    no_rows: Flag = False,
    force: Flag = False,
    json: Json = False,
) -> int:
    """Score a model on new rows whose target is known, and write a report.

    Parameters
    ----------
    model
        A model file from mercer fit.
    table
        New rows: the training columns and the target.
    target
        The column that the model predicts. Default: as in training.
    output
        The report, a file that ends in .html.
    encoding
        Encoding of the table, if it is text.
    sep
        Separator of the fields, if the table is text. Default: as the first rows show.
    decimal
        The decimal sign, if it is text: . or , (default: as the columns show, else as in training).
    no_rows
        Keep the values of single rows out of the report.
    force
        Replace an existing report.
    """
    from mercer.cli.options import reading_given
    from mercer.cli.report import report_table

    return report_table(
        model, [table, *more], target=target, output=output,
        reading=reading_given(encoding, sep, decimal, skip_rows), no_rows=no_rows, force=force,
        json=json,
    )  # fmt: skip


@app.command(sort_key=3)
def check(
    table: Path,
    /,
    *more: More,
    target: str | None = None,
    test: Path | None = None,
    task: Literal["classification", "regression"] | None = None,
    kind: Kinds = None,
    drop: Drops = None,
    kernel: str | None = None,
    encoding: Encoding = "utf-8",
    sep: Separator = None,
    decimal: TextDecimal = None,
    skip_rows: Skip = None,
    json: Json = False,
) -> int:
    """Say what is in a table and what is wrong with it, without fitting.

    Parameters
    ----------
    table
        The table, in any format of mercer fit.
    target
        The column to predict, checked as a target.
    test
        The table that a model is to be scored on: does it share rows with the other?
    task
        Overrides what the target suggests.
    kernel
        Also check Mercer's condition for this kernel on the table's numbers: rbf, sigmoid ...
    """
    from mercer.cli.check import check_table
    from mercer.cli.options import reading_given

    return check_table(
        [table, *more], target=target, test=test, task=task, kind=kind or [], drop=drop or [],
        kernel=kernel, reading=reading_given(encoding, sep, decimal, skip_rows), json=json,
    )  # fmt: skip


@app.command(sort_key=4)
def neighbors(
    items: Path,
    query: Path | None = None,
    /,
    *,
    k: Annotated[Whole | None, Parameter(name=["-k", "--neighbors"])] = None,
    radius: float | None = None,
    output: Annotated[Path, Parameter(alias="-o")] = Path("neighbors.csv"),
    columns: Annotated[list[str] | None, Parameter(negative="")] = None,
    drop: Drops = None,
    kind: Kinds = None,
    metric: Literal["range", "rank"] = "range",
    text: Literal["auto", "edit", "kmers", "words"] = "auto",
    explain: Flag = False,
    memory: str = "4GB",
    encoding: Encoding = "utf-8",
    sep: Separator = None,
    decimal: TextDecimal = None,
    skip_rows: Skip = None,
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
        kind=kind or [], metric=metric, text=text, output=output, explain=explain, memory=memory,
        reading=reading_given(encoding, sep, decimal, skip_rows), force=force, json=json,
        quiet=quiet,
    )  # fmt: skip
    return write_neighbors(options)


@app.command(sort_key=5)
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


@app.command(sort_key=6)
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


@app.command(sort_key=7)
def demo(*, folder: Path = Path("mercer-demo")) -> int:
    """Fit, explain and use a model of throws at a basket.

    Parameters
    ----------
    folder
        Where table, model, report and predictions are written.
    """
    from mercer.cli.demo import run_demo

    return run_demo(folder, run)


def run(arguments: list[str] | None = None) -> None:
    """Run the command and exit with its code."""
    errors = Terminal(stderr=True)
    warnings.showwarning = partial(_warn, errors, set())
    words = _with_pipe(sys.argv[1:] if arguments is None else arguments)
    try:
        if not QUICK.intersection(words):
            check_room()
        code = app(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        errors.print(CycloptsPanel(visible(str(error))))
        sys.exit(USAGE)
    except KeyboardInterrupt:
        errors.print("\nInterrupted; nothing was written.")
        sys.exit(INTERRUPTED)
    except OptionError as error:
        _fail(errors, error, USAGE)
    except (FileExistsError, PermissionError) as error:
        _fail(errors, error, OUTPUT)
    except (ValueError, TypeError, MemoryError, FileNotFoundError, IsADirectoryError) as error:
        _fail(errors, error, DATA)
    except ImportError as error:
        if error.name is not None:  # raised by an import, not by code that says what to install
            _bug(errors)
        _fail(errors, error, NO_EXTRA)
    except OSError as error:
        _fail(errors, error, OUTPUT)
    except Exception:
        _bug(errors)
    sys.exit(code if isinstance(code, int) else OK)


def _bug(errors: Terminal) -> NoReturn:
    errors.print(traceback.format_exc(), soft_wrap=True)
    errors.print("This is an error of Mercer's own. Please report it, with the lines above.")
    sys.exit(BUG)


def _with_pipe(words: list[str]) -> list[str]:
    """The same command, where ``-`` is the file of that name: standard input before all options,
    and standard output as that of predictions."""
    options = next((i for i, word in enumerate(words) if word[:1] == "-" != word), len(words))
    files = {i for i, word in enumerate(words) if word == "-" and i < options}
    if words[:1] == ["predict"]:
        files |= {i + 1 for i, word in enumerate(words[:-1])
                  if word in ("-o", "--output") and words[i + 1] == "-"}  # fmt: skip
    return ["./-" if i in files else word for i, word in enumerate(words)]


def _warn(errors: Terminal, said: set[str], message: Warning | str, *_: Any) -> None:
    """A warning in the command's own words: once, and without the line of code that gave it."""
    if str(message) not in said:
        said.add(str(message))
        errors.print(line(("mercer: ", "yellow"), str(message)), soft_wrap=True)


def _fail(errors: Terminal, error: Exception, code: int) -> None:
    errors.print(line(("mercer: ", "bold red"), _plain(error)), soft_wrap=True)
    sys.exit(code)


def _plain(error: Exception) -> str:
    if isinstance(error, MemoryError) and not str(error):  # as of an array that finds no room
        return "The memory is used up. Close other programs, give fewer rows, or raise its limit."
    if not isinstance(error, OSError) or error.filename is None:
        return str(error)
    said = f"{error.filename}: {error.strerror}."
    if error.errno == errno.EISDIR:
        said = f"{error.filename} is a folder. Give the name of a file."
    if error.errno in FULL:
        said += (
            " It was not written; a file that was there is unchanged. Free some space, or give "
            "an --output on another disk."
        )
    return said
