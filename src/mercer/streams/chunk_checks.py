"""Checks that all chunks of a stream are alike, and that their numbers are finite."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.samples import Samples, column_names, frame_of, is_frame
from mercer.streams.kept_rows import count_rows, plain_form
from mercer.streams.sources import Piece


@contextmanager
def told(where: str) -> Iterator[None]:
    """Errors inside this context say where in the stream they come from."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{where}: {error}") from error


def checked(piece: Piece, first: int, missing: bool) -> Piece:
    """A piece with its targets and weights as arrays; ``first`` is the number of its first row.

    Raises
    ------
    ValueError
        Numbers of rows differ, or there is a number that is NaN or infinite; in X NaN is allowed if
        ``missing``.
    """
    X, y, w, place = plain(piece)
    n = count_rows(X)
    for name, values in (("y", y), ("weights", w)):
        if values is not None and len(values) != n:
            raise ValueError(
                f"{name} has {len(values)} rows, and X has {n}: give one for each row."
            )
    if w is not None and w.ndim != 1:
        raise ValueError(f"weights have shape {w.shape}: give one number for each row.")
    _refuse(X, "X", first, missing)
    if y is not None:
        _refuse(y, "y", first, False)
    if w is not None:
        _refuse(w, "weights", first, False)
        if (w < 0).any():
            row = int(np.argmin(w))
            raise ValueError(
                f"weights have {w[row]:g} in row {row} (row {first + row:,} of the stream): give "
                "numbers >= 0."
            )
    return Piece(X, y, w, place)


def plain(piece: Piece) -> Piece:
    """A piece with X in a plain form, and its targets and weights as arrays."""
    X, y, w, place = piece
    y = None if y is None else np.asarray(y)
    return Piece(plain_form(X), y, None if w is None else np.asarray(w, np.float64), place)


class Common:
    """The properties of the first chunk, which all others must have.

    Parameters
    ----------
    number : int
        The number of that chunk.
    piece : Piece
    """

    def __init__(self, number: int, piece: Piece):
        self.number, self.traits = number, _traits(piece)

    def check(self, piece: Piece) -> None:
        """Raise ValueError if a chunk differs in anything but its rows."""
        for name, value in _traits(piece).items():
            before = self.traits.get(name)
            if value != before:
                raise ValueError(
                    f"{name} {_shown(value)}, and of chunk {self.number} {_shown(before)}: give "
                    "chunks of the same columns and of one precision."
                )


def _traits(piece: Piece) -> dict[str, Any]:
    X, y, w, _ = piece
    return {
        "the kind of X is": _form(X),
        "the columns of X are": _columns(X),
        "the precision of X is": _precision(X),
        "the targets of a row are": "none" if y is None else y.shape[1:] or "one",
        "weights are": "none" if w is None else "given",
    }


def _form(X: Any) -> str:
    if is_frame(X):
        return "a data frame"
    if sp.issparse(X):
        return "a sparse matrix"
    return "a list" if isinstance(X, list) else f"an array of {X.ndim} dimensions"


def _columns(X: Any) -> Any:
    if is_frame(X):
        return column_names(X)
    return "those of a list" if isinstance(X, list) else list(X.shape[1:])


def _precision(X: Any) -> str:
    if isinstance(X, list) or is_frame(X):
        return "that of its columns"
    if X.dtype.kind in "biuf":  # whole numbers are as good as floats
        return "float32" if X.dtype == np.float32 else "float64"
    return "that of texts" if X.dtype.kind in "UST" else "that of objects"


def _shown(value: object) -> str:
    return f"{value[:20]}" if isinstance(value, list) else str(value)


def _refuse(values: Any, name: str, first: int, missing: bool) -> None:
    """Raise ValueError if there is a NaN or an infinity, with its row and column."""
    for column, numbers in _number_arrays(values):
        bad = np.isinf(numbers) if missing else ~np.isfinite(numbers)
        if not bad.any():
            continue
        at = np.argwhere(bad)[0]
        row = int(_row_of(values, int(at[0])) if sp.issparse(values) else at[0])
        column = column if column is not None else (int(at[1]) if len(at) == 2 else None)
        value = numbers[tuple(at)]
        place = "" if column is None else f", column {column!r}"
        raise ValueError(
            f"{name} has {value:g} in row {row} (row {first + row:,} of the stream){place}: "
            f"Input {name} contains {'NaN' if np.isnan(value) else 'infinity'}; leave out such "
            "rows, or fill them in."
        )


def _number_arrays(values: object) -> Iterator[tuple[Any, np.ndarray]]:
    if sp.issparse(values):
        yield None, sp.csr_array(values).data
    elif isinstance(values, np.ndarray):
        if values.dtype.kind == "f":
            yield None, values
    elif is_frame(values):
        import narwhals as nw

        table = frame_of(values)
        for name, dtype in table.schema.items():
            if dtype.is_numeric():
                cells = table.get_column(name)
                yield name, np.asarray(cells.cast(nw.Float64).to_numpy(), np.float64)


def _row_of(X: Samples, entry: int) -> int:
    """The row of a sparse matrix that an entry stands in."""
    return int(np.searchsorted(sp.csr_array(X).indptr, entry, side="right")) - 1
