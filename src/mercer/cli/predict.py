"""``mercer predict``: predictions for the rows of a table, in their order.

A table that is larger than memory may hold is read in blocks of rows, twice: the first time to find
the types of its columns and what a user should know of it, and then to predict.
"""

from __future__ import annotations

import io
import json as json_text
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import polars as pl

from mercer.cli.files import STDIN, find_sources, in_file, targets_of
from mercer.cli.options import (
    INTERVAL,
    WRITERS,
    PredictOptions,
    check_paths,
    levels_given,
)
from mercer.cli.tables import Tables
from mercer.cli.terminal import OptionError, TableError, Terminal, counted, no_column
from mercer.persistence import ModelFileError, load, written_whole
from mercer.spoken import a_type
from mercer.tables import Surprises, read_columns

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

if TYPE_CHECKING:  # else loaded with the model, after what is wrong with names is said
    from mercer.explain import ShapleyValues
    from mercer.learners.additive import ColumnReasons
    from mercer.selection.automatic import Reasons

#: the method of a model that explains its predictions so
EXPLAINED_BY = {"rows": "reasons", "columns": "shapley_values"}
WHOLE = 100_000_000  # bytes of files that are read at once
BLOCK = 50_000  # rows of the others that are read at a time
#: a spreadsheet takes a cell for a formula that begins so, unless it is a number (OWASP, "CSV
#: Injection"); the last four are the wide forms of the first
FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def predict_table(options: PredictOptions) -> int:
    """Write ``prediction`` and ``proba_<class>`` columns, after the columns to keep.

    Columns of quantiles follow, by their names; and, to explain, the columns ``because_1`` to
    ``because_3`` and ``not_like_1``, or ``base`` and ``adds_NAME`` for each column.
    """
    model, given, output, json = options.model, options.tables, options.output, options.json
    reading, levels = options.read.reading(), levels_given(options.interval, options.quantiles)
    piped = output == STDIN
    suffix = ".csv" if piped else output.suffix.lower()
    if suffix not in WRITERS:
        raise OptionError(
            f"--output {output}: the name must end in {', '.join(WRITERS)}, or be - for standard "
            "output."
        )
    if piped and json:
        raise OptionError("--output - and --json would both be printed: give a file for one.")
    written = [] if piped else [("--output", output)]
    check_paths(written, [model, *given], force=options.force)
    if model.exists():  # else `load` says that it is not
        find_sources([path for path in given if path != STDIN])
    estimator = load(model)
    if not callable(getattr(estimator, "predict", None)):
        raise ModelFileError(
            f"{str(model)!r} holds {a_type(estimator)}, which predicts nothing. Give the "
            "file of a model, as mercer fit writes it."
        )
    if options.explain and not hasattr(estimator, EXPLAINED_BY[options.explain]):
        raise ModelFileError(
            f"--explain: {str(model)!r} holds {a_type(estimator)}, which does not say "
            "what its predictions rest on. Give a model that mercer fit has written."
        )
    if options.explain and (several := targets_of(estimator)):
        raise ModelFileError(
            f"--explain: {str(model)!r} predicts {', '.join(several)}, and "
            "reasons are those of one target. Leave the option out, or fit a model of one target."
        )
    if levels:
        _refuse_without_spread(model, estimator, next(iter(levels)))
    tables = Tables(given, reading.after(getattr(estimator, "columns_", [])))
    check_paths(written, tables.paths, force=True)
    work = _Predictions(estimator, tables, options.keep, suffix, levels, options.explain)
    surprises = work.look()
    with nullcontext(sys.stdout.buffer) if piped else written_whole(output) as file:
        rows = write_frames(
            file, work.answers(), suffix, options.safe_cells and WRITERS[suffix] is not None
        )
    screen, said = Terminal(stderr=piped, quiet=json), _sentences(tables, surprises)
    _show(screen, said, rows, output)
    if work.reasons is not None:
        _show_reasons(work.reasons, hasattr(estimator, "classes_"), screen)
    if json:
        print(json_text.dumps({"rows": rows, "output": str(output), "notices": said}))
    return 0


class _Predictions:
    """Predictions of a model for tables, block by block."""

    def __init__(
        self, estimator: Any, tables: Tables, keep: Sequence[str], suffix: str,
        levels: dict[str, float], explain: str | None,
    ):  # fmt: skip
        self.estimator, self.tables, self.keep, self.suffix = estimator, tables, keep, suffix
        self.levels, self.explain = levels, explain
        #: those of the last block
        self.reasons: Reasons | ColumnReasons | ShapleyValues | None = None
        self.unread: list[str] = []
        self.whole: pl.DataFrame | None = None

    def blocks(self) -> Iterator[pl.DataFrame]:
        """The rows, at once where they are few."""
        expected = [str(name) for name in getattr(self.estimator, "feature_names_in_", [])]
        if self.tables.size > WHOLE:
            yield from self.tables.blocks(BLOCK, expected)
            return
        if self.whole is None:
            self.whole = self.tables.frame(expected)
        yield self.whole

    def look(self) -> Surprises | None:
        """What is unlike the training rows; columns that are lacking or unreadable are refused."""
        from mercer.tables import TableEncoder, unreadable

        encoder = getattr(self.estimator, "encoder_", None)
        surprises = Surprises(encoder) if isinstance(encoder, TableEncoder) else None
        for block in self.blocks():
            kept_columns(block, self.keep, self.tables.label, self.suffix)
            if surprises is not None:
                surprises.see(read_columns(block))
        if surprises is not None:
            for column in surprises.unreadable():
                error = unreadable(column, surprises.example(column))
                raise TableError(f"{self.tables.label}: {error}")
        return surprises

    def answers(self) -> Iterator[pl.DataFrame]:
        """Frames of what is written, one for each block."""
        for block in self.blocks():
            kept = kept_columns(block, self.keep, self.tables.label, self.suffix)
            try:
                readable = self._readable(block)
                answers = predictions(self.estimator, readable, self.levels)
                if self.explain == "columns":
                    self.reasons = found = self.estimator.shapley_values(readable)
                    answers |= _added(found, self.estimator, answers["prediction"])
                elif self.explain:
                    self.reasons = in_file(self.estimator, self.estimator.reasons(readable))
                    answers |= self.reasons.texts()
            except ValueError as error:  # columns that are lacking or are something else now
                raise TableError(f"{self.tables.label}: {error}") from error
            taken = [name for name in kept if name in answers]
            if taken:
                raise TableError(
                    f"--keep {taken[0]}: the predictions have a column of that name; rename yours."
                )
            found = {name: pl.Series(values) for name, values in answers.items()}
            yield pl.DataFrame(kept | found)

    def _readable(self, block: pl.DataFrame) -> pl.DataFrame:
        """A block of many without texts for numbers, where all of the block are such.

        They count as missing, as they do among others.
        """
        from mercer.tables import TableEncoder

        encoder = getattr(self.estimator, "encoder_", None)
        if self.whole is not None or not isinstance(encoder, TableEncoder):
            return block
        surprises = Surprises(encoder)
        surprises.see(read_columns(block))
        gone = {column.name for column in surprises.unreadable()}
        if not gone:
            return block
        nothing = pl.Series([None] * block.height, dtype=pl.String)
        return pl.DataFrame(
            {c.name: nothing if c.name in gone else c for c in block.iter_columns()}
        )


def _refuse_without_spread(file: Path, estimator: BaseEstimator, column: str) -> None:
    """ModelFileError for a model that knows no quantiles of its targets."""
    option = "--interval" if column in INTERVAL else "--quantiles"
    name = type(estimator).__name__
    from sklearn.base import is_classifier

    from mercer.selection.automatic import KernelRegressor

    if is_classifier(estimator):
        raise ModelFileError(
            f"{option}: {str(file)!r} holds a {name}, which predicts classes: how sure it is, the "
            "columns proba_ say. Leave the option out."
        )
    if not (isinstance(estimator, KernelRegressor) and estimator.spread_ is not None):
        raise ModelFileError(
            f"{option}: {str(file)!r} holds a {name} that does not know how far its predictions "
            "are off. Fit it again with mercer fit, with more --memory if that was little."
        )


def predictions(
    estimator: Any, frame: pl.DataFrame, levels: dict[str, float]
) -> dict[str, np.ndarray]:
    """Column name -> values: the prediction, and the probability of each class or quantiles.

    Of several targets each has its own columns, which end in its name.
    """
    if names := targets_of(estimator):
        Y = estimator.predict(frame)
        columns = {f"prediction_{name}": told for name, told in zip(names, Y.T)}
        found = estimator.predict_quantiles(frame, [*levels.values()]) if levels else Y[:, :, None]
        for j, name in enumerate(names):
            for q, level in enumerate(levels):
                if f"{level}_{name}" in columns:
                    raise ValueError(
                        f"the columns {name} and {level.removeprefix('prediction_')}_{name} of the "
                        "training table would share a column of predictions: rename one, and fit "
                        "again."
                    )
                columns[f"{level}_{name}"] = found[:, j, q]
        return columns
    columns = {"prediction": np.asarray(estimator.predict(frame))}
    if hasattr(estimator, "predict_proba"):
        P = estimator.predict_proba(frame)
        columns |= {f"proba_{label}": P[:, c] for c, label in enumerate(estimator.classes_)}
    if levels:
        columns |= dict(zip(levels, estimator.predict_quantiles(frame, [*levels.values()]).T))
    return columns


def _added(values: ShapleyValues, estimator: Any, predicted: np.ndarray) -> dict[str, np.ndarray]:
    """What each column adds to the number that is predicted, or to the odds of the predicted class,
    after what the mean of the background has."""
    base, added = values.base_values, values.values
    if hasattr(estimator, "classes_"):
        code = np.searchsorted(estimator.classes_, predicted)
        if values.output_names is None:
            sign = np.where(code == 1, 1.0, -1.0)
            base, added = sign * base, sign[:, None] * added
        else:
            rows = np.arange(len(code))
            base, added = base[rows, code], added[rows, :, code]
    names = [f"adds_{name}" for name in values.feature_names]
    return {"base": base, **dict(zip(names, added.T))}


def kept_columns(frame: pl.DataFrame, keep: Sequence[str], table: str, suffix: str) -> dict:
    """The columns to copy, if the output can hold them."""
    for name in keep:
        if name not in frame.columns:
            raise no_column("--keep", name, table, frame.columns)
        dtype = frame[name].dtype
        if suffix != ".parquet" and (dtype.is_nested() or dtype in (pl.Binary, pl.Object)):
            raise TableError(
                f"--keep {name}: that column holds {dtype}, which a {suffix} file cannot. Leave it "
                "out, or give an --output that ends in .parquet."
            )
    return {name: frame[name] for name in keep}


def write_frames(file: IO[bytes], frames: Iterator[pl.DataFrame], suffix: str, safe: bool) -> int:
    """Write the frames one after the other; returns the number of rows.

    A text grows with each; Parquet is written at once.
    """
    rows, separator, whole = 0, WRITERS[suffix], []
    for frame in frames:
        if separator is None:
            whole.append(frame)
        else:
            frame = _safe(frame) if safe else frame
            text = frame.write_csv(separator=separator, include_header=rows == 0)
            file.write(text.encode())
        rows += frame.height
    if separator is None:
        buffer = io.BytesIO()
        pl.concat(whole).write_parquet(buffer)
        file.write(buffer.getvalue())
    return rows


def _safe(frame: pl.DataFrame) -> pl.DataFrame:
    """The same with a quote before each name and cell that would be a formula in a spreadsheet."""
    names = pl.Series(frame.columns)
    texts = frame.with_columns(_quoted(pl.col(pl.String, pl.Categorical, pl.Enum).cast(pl.String)))
    return texts.rename(dict(zip(names, names.to_frame("").select(_quoted(pl.col("")))[""])))


def _quoted(text: pl.Expr) -> pl.Expr:
    live = text.str.contains(FORMULA) & ~text.str.contains(NUMBER)
    return pl.when(live).then("'" + text).otherwise(text).name.keep()


def _sentences(tables: Tables, surprises: Surprises | None) -> list[str]:
    """What a user should know of the new rows."""
    usual = tables.reading.usual
    said = [*tables.notes, *([] if surprises is None else surprises.sentences())]
    if tables.decimal and usual and tables.decimal != usual:
        signs = {".": "points", ",": "commas"}
        here, before = signs[tables.decimal], signs[usual]
        said.append(f"Numbers have decimal {here} here, and had {before} in training.")
    return said


def _show(screen: Terminal, said: list[str], rows: int, output: Path) -> None:
    """How many predictions there are, after what a user should know of the new rows."""
    for sentence in said:
        screen.print(f"• {sentence}", soft_wrap=True)
    are = "is" if rows == 1 else "are"
    where = "on standard output" if output == STDIN else f"in {output}"
    screen.print(f"{counted(rows, 'prediction')} {are} {where}.", soft_wrap=True)


def _show_reasons(
    reasons: Reasons | ColumnReasons | ShapleyValues, classes: bool, screen: Terminal
) -> None:
    """What the rows or columns in the explanations are."""
    from mercer.explain import ShapleyValues
    from mercer.learners.additive import ColumnReasons

    if isinstance(reasons, ShapleyValues):
        of = "the log-odds of the predicted class" if classes else "the prediction"
        how = "estimated by permutations" if reasons.method == "permutations" else "exact"
        screen.print(
            f"adds_NAME is what the column NAME adds to {of} (Shapley values, {how}); base is the "
            f"mean over training rows. base and all adds_NAME sum to {of}.",
            soft_wrap=True,
        )
        return
    if isinstance(reasons, ColumnReasons):
        screen.print(
            "The columns in because_1 ... move the prediction most; the number is what each adds "
            "to the output of the model, and a × b is what both tell together.",
            soft_wrap=True,
        )
        return
    which = f"They are among the {counted(reasons.stored, 'row')} that the model has stored"
    if reasons.kind == "centres":
        which += ", its centres, which represent the rows around them"
    elif reasons.kind == "support vectors":
        which += ", its support vectors"
    screen.print(
        "Rows in because_1 ... and not_like_1 are rows of the training table, counted from 1 "
        f"without the header. {which}.",
        soft_wrap=True,
    )
