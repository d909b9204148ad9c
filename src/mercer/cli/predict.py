"""``mercer predict``: predictions for the rows of a table, in their order."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import polars as pl

from mercer.cli.errors import TableError, counted, no_column
from mercer.cli.options import refuse_existing
from mercer.cli.tables import read_table
from mercer.cli.terminal import Terminal
from mercer.persistence import ModelFileError, load, write_whole
from mercer.selection.reasons import Reasons

__all__ = ["predict_table"]

WRITERS = {".csv": ",", ".tsv": "\t", ".parquet": None}
#: a spreadsheet takes a cell for a formula that begins so, unless it is a number (OWASP, "CSV
#: Injection"); the last four are the wide forms of the first
FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def predict_table(
    model: Path,
    table: Path,
    *,
    output: Path,
    keep: list[str],
    encoding: str,
    safe_cells: bool,
    explain: bool,
    force: bool,
) -> int:
    """Write ``prediction`` and ``proba_<class>`` columns, after the columns to keep.

    To explain, the columns ``because_1`` to ``because_3`` and ``not_like_1`` follow.
    """
    suffix = output.suffix.lower()
    if suffix not in WRITERS:
        raise TableError(f"--output {output}: the name must end in {', '.join(WRITERS)}.")
    refuse_existing([output], force, inputs=[model, table])
    estimator = load(model)
    if not callable(getattr(estimator, "predict", None)):
        raise ModelFileError(
            f"{str(model)!r} holds a {type(estimator).__name__}, which predicts nothing. Give the "
            "file of a model, as mercer fit writes it."
        )
    if explain and not hasattr(estimator, "reasons"):
        raise ModelFileError(
            f"--explain: {str(model)!r} holds a {type(estimator).__name__}, which does not say "
            "what its predictions rest on. Give a model that mercer fit has written."
        )
    frame = read_table(table, encoding)
    kept = _kept(frame, keep, table, suffix)
    try:
        answers: dict = predictions(estimator, frame)
        reasons = estimator.reasons(frame) if explain else None
    except ValueError as error:  # columns that are lacking or are something else now
        raise TableError(f"{table}: {error}") from error
    answers |= {} if reasons is None else reasons.texts()
    taken = [name for name in kept if name in answers]
    if taken:
        raise TableError(
            f"--keep {taken[0]}: the predictions have a column of that name; rename yours."
        )
    found = pl.DataFrame(kept | {name: pl.Series(values) for name, values in answers.items()})
    write_whole(
        output, _serialise(_safe(found) if safe_cells and WRITERS[suffix] else found, suffix)
    )
    _show(estimator, frame, output)
    if reasons is not None:
        _show_reasons(reasons)
    return 0


def predictions(estimator, frame: pl.DataFrame) -> dict[str, np.ndarray]:
    """Column name -> values: the prediction, and the probability of each class."""
    columns = {"prediction": np.asarray(estimator.predict(frame))}
    if hasattr(estimator, "predict_proba"):
        P = estimator.predict_proba(frame)
        columns |= {f"proba_{label}": P[:, c] for c, label in enumerate(estimator.classes_)}
    return columns


def _kept(frame: pl.DataFrame, keep: list[str], table: Path, suffix: str) -> dict:
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


def _safe(frame: pl.DataFrame) -> pl.DataFrame:
    """The same with a quote before each name and cell that would be a formula in a spreadsheet."""
    names = pl.Series(frame.columns)
    texts = frame.with_columns(_quoted(pl.col(pl.String, pl.Categorical, pl.Enum).cast(pl.String)))
    return texts.rename(dict(zip(names, names.to_frame("").select(_quoted(pl.col("")))[""])))


def _quoted(text: pl.Expr) -> pl.Expr:
    live = text.str.contains(FORMULA) & ~text.str.contains(NUMBER)
    return pl.when(live).then("'" + text).otherwise(text).name.keep()


def _serialise(frame: pl.DataFrame, suffix: str) -> bytes:
    buffer = io.BytesIO()
    if WRITERS[suffix] is None:
        frame.write_parquet(buffer)
    else:
        frame.write_csv(buffer, separator=WRITERS[suffix])
    return buffer.getvalue()


def _show(estimator, frame: pl.DataFrame, output: Path) -> None:
    """How many predictions there are, and which levels the model does not know."""
    screen = Terminal()
    encoder = getattr(estimator, "encoder_", None)
    for name, levels in ({} if encoder is None else encoder.unseen(frame)).items():
        some = ", ".join(levels[:5]) + ", ..." * (len(levels) > 5)
        screen.print(
            f"• {name} holds {counted(len(levels), 'level')} that training had not, or hardly: "
            f"{some}. They count as one unknown level.",
            soft_wrap=True,
        )
    are = "is" if frame.height == 1 else "are"
    screen.print(f"{counted(frame.height, 'prediction')} {are} in {output}.", soft_wrap=True)


def _show_reasons(reasons: Reasons) -> None:
    """What the rows in the explanations are."""
    which = f"They are among the {counted(reasons.stored, 'row')} that the model has stored"
    if reasons.kind == "centres":
        which += ", its centres, which stand for the rows around them"
    elif reasons.kind == "support vectors":
        which += ", its support vectors"
    Terminal().print(
        "Rows in because_1 ... and not_like_1 are rows of the training table with a target, "
        f"counted from 1 without the header. {which}.",
        soft_wrap=True,
    )
