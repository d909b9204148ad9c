"""``mercer predict``: predictions for the rows of a table, in their order."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console

from mercer.cli.options import refuse_existing
from mercer.cli.tables import TableError, counted, no_column, read_table
from mercer.persistence import ModelFileError, load, write_whole

__all__ = ["predict_table"]

WRITERS = {".csv": ",", ".tsv": "\t", ".parquet": None}


def predict_table(
    model: Path, table: Path, *, output: Path, keep: list[str], encoding: str, force: bool
) -> int:
    """Write ``prediction`` and ``proba_<class>`` columns, after the columns to keep."""
    if output.suffix.lower() not in WRITERS:
        raise TableError(f"--output {output}: the name must end in {', '.join(WRITERS)}.")
    refuse_existing([output], force, inputs=[model, table])
    estimator = load(model)
    if not callable(getattr(estimator, "predict", None)):
        raise ModelFileError(
            f"{str(model)!r} holds a {type(estimator).__name__}, which predicts nothing. Give the "
            "file of a model, as mercer fit writes it."
        )
    frame = read_table(table, encoding)
    absent = [name for name in keep if name not in frame.columns]
    if absent:
        raise no_column("--keep", absent[0], table, frame.columns)
    columns = {name: frame[name] for name in keep}
    try:
        answers = predictions(estimator, frame)
    except ValueError as error:  # columns that are lacking or are something else now
        raise TableError(f"{table}: {error}") from error
    columns |= {name: pl.Series(values) for name, values in answers.items()}
    write_whole(output, _serialise(pl.DataFrame(columns), output.suffix.lower()))
    screen = Console(highlight=False)
    encoder = getattr(estimator, "encoder_", None)
    for name, levels in ({} if encoder is None else encoder.unseen(frame)).items():
        some = ", ".join(levels[:5]) + ", ..." * (len(levels) > 5)
        screen.print(
            f"• {name} holds {counted(len(levels), 'level')} that training had not, or hardly: "
            f"{some}. They count as one unknown level.",
            markup=False, soft_wrap=True,
        )  # fmt: skip
    are = "is" if frame.height == 1 else "are"
    screen.print(f"{counted(frame.height, 'prediction')} {are} in {output}.", soft_wrap=True)
    return 0


def predictions(estimator, frame: pl.DataFrame) -> dict[str, np.ndarray]:
    """Column name -> values: the prediction, and the probability of each class."""
    columns = {"prediction": np.asarray(estimator.predict(frame))}
    if hasattr(estimator, "predict_proba"):
        P = estimator.predict_proba(frame)
        columns |= {f"proba_{label}": P[:, c] for c, label in enumerate(estimator.classes_)}
    return columns


def _serialise(frame: pl.DataFrame, suffix: str) -> bytes:
    buffer = io.BytesIO()
    if WRITERS[suffix] is None:
        frame.write_parquet(buffer)
    else:
        frame.write_csv(buffer, separator=WRITERS[suffix])
    return buffer.getvalue()
