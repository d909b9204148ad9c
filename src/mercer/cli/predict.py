"""``mercer predict``: predictions for the rows of a table, in their order."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console

from mercer.cli.tables import TableError, read_table
from mercer.persistence import load, write_whole

__all__ = ["predict_table", "refuse_existing"]

WRITERS = {".csv": ",", ".tsv": "\t", ".parquet": None}


def predict_table(
    model: Path, table: Path, *, output: Path, keep: list[str], encoding: str, force: bool
) -> int:
    """Write ``prediction`` and ``proba_<class>`` columns, after the columns to keep."""
    if output.suffix.lower() not in WRITERS:
        raise TableError(f"--output {output}: the name must end in {', '.join(WRITERS)}.")
    refuse_existing([output], force)
    estimator = load(model)
    frame = read_table(table, encoding)
    absent = [name for name in keep if name not in frame.columns]
    if absent:
        raise TableError(f"--keep {absent[0]}: {table} has no such column; it has {frame.columns}.")
    columns = {name: frame[name] for name in keep}
    columns |= {name: pl.Series(values) for name, values in predictions(estimator, frame).items()}
    write_whole(output, _serialise(pl.DataFrame(columns), output.suffix.lower()))
    Console(highlight=False).print(f"{frame.height} predictions are in {output}.")
    return 0


def predictions(estimator, frame: pl.DataFrame) -> dict[str, np.ndarray]:
    """Column name -> values: the prediction, and the probability of each class."""
    columns = {"prediction": np.asarray(estimator.predict(frame))}
    if hasattr(estimator, "predict_proba"):
        P = estimator.predict_proba(frame)
        columns |= {f"proba_{label}": P[:, c] for c, label in enumerate(estimator.classes_)}
    return columns


def refuse_existing(paths: list[Path], force: bool) -> None:
    """Refuse to replace files unless forced, and to write into folders that are not there."""
    for path in paths:
        if path.exists() and not force:
            raise FileExistsError(0, "the file exists; give --force to replace it", str(path))
        if not path.parent.is_dir():
            raise FileExistsError(0, "there is no such folder; create it first", str(path.parent))


def _serialise(frame: pl.DataFrame, suffix: str) -> bytes:
    buffer = io.BytesIO()
    if WRITERS[suffix] is None:
        frame.write_parquet(buffer)
    else:
        frame.write_csv(buffer, separator=WRITERS[suffix])
    return buffer.getvalue()
