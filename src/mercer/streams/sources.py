"""Sources of streams: arrays and data frames, files, tables of Arrow, iterators of chunks.

A source yields pieces of rows in their order, as often as it is asked if it is ``repeatable``. Its
stamp changes if a file that it reads changes. `checked` and `Common` see to it that all chunks of a
stream are alike, and that their numbers are finite.
"""

from __future__ import annotations

import glob
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer.samples import (
    Samples,
    as_given,
    column_names,
    frame_of,
    is_frame,
    plain_targets,
)
from mercer.streams.kept_rows import count_rows, plain_form, row_range

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

PARQUET, ARROW, NUMPY = (".parquet", ".pq"), (".arrow", ".feather", ".ipc"), (".npy",)
READ = 'a Parquet file (".parquet"), an Arrow file (".arrow", ".feather") or an array (".npy")'


class Piece(NamedTuple):
    """Some rows as a source gives them; ``place`` says which file they are from."""

    X: Any
    y: Any = None
    weights: Any = None
    place: str = ""


class Source(ABC):
    """Abstract: rows in pieces."""

    repeatable = True

    @abstractmethod
    def read(self) -> Iterator[Piece]:
        """All rows, from the first one."""

    def stamp(self) -> tuple:
        """A value that differs if the rows changed, as far as it is visible without reading."""
        return ()


class HeldRows(Source):
    """An array, a memory-mapped array, a list or a data frame, so many rows at a time."""

    def __init__(self, X: Any, y: ArrayLike | None, weights: Any, rows: int):
        if y is not None and getattr(y, "dtype", None) is None:  # no memory-mapped array
            y = plain_targets(y)
        self.X, self.y, self.weights, self.rows = plain_form(X), y, weights, rows
        for name, values in (("target", y), ("weights", weights)):
            if values is not None and count_rows(values) != count_rows(X):
                raise ValueError(
                    f"{name} has {count_rows(values):,} rows, but source has {count_rows(X):,}: "
                    "give one for each row."
                )

    def read(self) -> Iterator[Piece]:
        begun = self.stamp()
        for start in range(0, count_rows(self.X), self.rows):
            if self.stamp() != begun:  # a page beyond the end of a file would end the process
                raise ValueError(
                    f"{begun[0][0]!r} was changed while it was read: wait until it is complete."
                )
            stop = start + self.rows
            X, y, w = (
                None if part is None else row_range(part, start, min(stop, count_rows(part)))
                for part in (self.X, self.y, self.weights)
            )
            yield Piece(X, y, w)

    def stamp(self) -> tuple:
        names = [getattr(part, "filename", None) for part in (self.X, self.y, self.weights)]
        return tuple(file_stamp(name) for name in names if name is not None)


class ColumnSource(Source):
    """Abstract: data frames, some columns of which are the targets and the weights."""

    def __init__(self, target: str | None, weights: str | None):
        self.target, self.weights = target, weights

    @abstractmethod
    def frames(self) -> Iterator[tuple[Any, str]]:
        """Data frames, and which file they are from."""

    def read(self) -> Iterator[Piece]:
        for frame, place in self.frames():
            yield Piece(*parted(frame, self.target, self.weights), place)


class FrameSource(ColumnSource):
    """A data frame, so many rows at a time."""

    def __init__(self, frame: Any, target: str | None, weights: str | None, rows: int):
        super().__init__(target, weights)
        self.frame, self.rows = frame, rows

    def frames(self) -> Iterator[tuple[Any, str]]:
        n = self.frame.shape[0]
        for start in range(0, n, self.rows):
            yield row_range(self.frame, start, min(start + self.rows, n)), ""


class ArrowSource(ColumnSource):
    """A table, a data set, or a reader of record batches, of pyarrow."""

    def __init__(self, table: Any, target: str | None, weights: str | None, rows: int):
        super().__init__(target, weights)
        self.table, self.rows = table, rows
        self.repeatable = not hasattr(table, "read_next_batch")

    def frames(self) -> Iterator[tuple[Any, str]]:
        from pyarrow import Table

        if not self.repeatable:
            batches: Any = self.table
        elif hasattr(self.table, "scanner"):
            batches = self.table.to_batches(batch_size=self.rows)
        else:
            batches = self.table.to_batches(max_chunksize=self.rows)
        for batch in batches:
            yield Table.from_batches([batch]), ""


class FileSource(ColumnSource):
    """Parquet and Arrow files, one after the other."""

    def __init__(self, paths: Sequence[Path], target: str | None, weights: str | None, rows: int):
        super().__init__(target, weights)
        self.paths, self.rows = list(paths), rows
        self.stamp()  # each of them is there

    def frames(self) -> Iterator[tuple[Any, str]]:
        try:
            from pyarrow import ArrowException, Table
        except ImportError as error:
            raise ImportError(
                "Parquet and Arrow files are read by pyarrow: pip install pyarrow."
            ) from error
        for path in self.paths:
            try:
                for batch in self._batches(path):
                    yield Table.from_batches([batch]), f" ({path.name})"
            except (ArrowException, OSError) as error:
                raise ValueError(
                    f"{str(path)!r} is not {READ} that can be read: {error}"
                ) from error

    def _batches(self, path: Path) -> Iterator[Any]:
        """Some rows of a file of Arrow or Parquet at a time."""
        if path.suffix.lower() in PARQUET:
            from pyarrow.parquet import ParquetFile

            with ParquetFile(path) as file:
                yield from file.iter_batches(batch_size=self.rows)
            return
        from pyarrow import OSFile, ipc

        with OSFile(str(path)) as opened, ipc.open_file(opened) as file:
            for i in range(file.num_record_batches):
                batch = file.get_batch(i)
                for start in range(0, batch.num_rows, self.rows):
                    yield batch.slice(start, self.rows)

    def stamp(self) -> tuple:
        return tuple(map(file_stamp, self.paths))


class IteratedSource(Source):
    """Chunks X, (X, y) or (X, y, weights), or data frames, that somebody else makes."""

    def __init__(
        self, make: Callable[[], Iterable], target: str | None, weights: str | None, *, again: bool
    ):
        self.make, self.target, self.weights, self.repeatable = make, target, weights, again

    def read(self) -> Iterator[Piece]:
        for item in self.make():
            if isinstance(item, tuple):
                if not 2 <= len(item) <= 3:
                    raise TypeError(
                        f"a chunk of the stream is a tuple of {len(item)}: give X, (X, y) or "
                        "(X, y, weights)."
                    )
                yield Piece(*item)
            elif is_frame(item) and (self.target is not None or self.weights is not None):
                yield Piece(*parted(item, self.target, self.weights))
            else:
                yield Piece(item)


def as_source(source: Any, target: Any, weights: Any, rows: int) -> Source:
    """The source for an argument of the user."""
    if isinstance(source, Source):
        return source
    named = [name for name in (target, weights) if isinstance(name, str)]
    arrays = [part for part in (target, weights) if not (part is None or isinstance(part, str))]
    held = isinstance(source, (str, os.PathLike)) and Path(source).suffix.lower() in NUMPY
    if held:
        if not os.path.exists(source):
            raise FileNotFoundError(f"There is no file {str(source)!r}.")
        source = np.load(source, mmap_mode="r")
    if type(source).__name__ in ("memoryview", "RecordBatch"):
        source = as_given(source)
    typed = any(hasattr(source, name) for name in ("dtype", "type"))  # an array or a column
    if arrays or held or (typed and not is_frame(source)):
        if named:
            raise ValueError(
                f"{named[0]!r} is the name of a column, which only data frames and files have: "
                "give an array of one number for each row."
            )
        return HeldRows(source, target, weights, rows)
    paths = _paths(source)
    if paths is not None:
        return FileSource(paths, target, weights, rows)
    if type(source).__module__.partition(".")[0] == "pyarrow":
        return ArrowSource(source, target, weights, rows)
    if is_frame(source):
        return FrameSource(source, target, weights, rows)
    if callable(source):
        make: Any = source
        return IteratedSource(make, target, weights, again=True)
    if isinstance(source, (dict, set)) or not isinstance(source, Iterable):
        raise TypeError(
            f"source={type(source).__name__}: give an array, a data frame, a table of Arrow, "
            "paths, an iterable of chunks (X, y), or a function that returns one."
        )
    once = isinstance(source, Iterator)
    return IteratedSource(lambda: source, target, weights, again=not once)


def parted(frame: Any, target: str | None, weights: str | None) -> tuple[Any, Any, Any]:
    """A data frame without its columns of targets and weights, and these as arrays."""
    table = frame_of(frame)
    found = []
    for what, name in (("target", target), ("weights", weights)):
        if name is not None and name not in table.columns:
            raise ValueError(
                f"{what}={name!r} is no column. The columns are {list(table.columns)[:20]}."
            )
        found.append(None if name is None else table.get_column(name).to_numpy())
    names = [name for name in (target, weights) if name is not None]
    return (table.drop(names).to_native(), found[0], found[1])


def file_stamp(path: Any) -> tuple:
    """The name, the size and the time of the last change of a file."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {str(path)!r}.") from None
    return str(path), found.st_size, found.st_mtime_ns


def _paths(source: Any) -> list[Path] | None:
    """The files that paths and patterns name, or None if ``source`` holds no paths."""
    given = [source] if isinstance(source, (str, os.PathLike)) else source
    if not isinstance(given, (list, tuple)) or not given:
        return None
    if not all(isinstance(each, (str, os.PathLike)) for each in given):
        return None
    found = []
    for each in given:
        path = Path(each)
        if path.suffix.lower() not in PARQUET + ARROW:
            raise ValueError(f"source has {str(each)!r}: give {READ}, or chunks of samples.")
        many = any(sign in str(each) for sign in "*?[") and not path.exists()
        names = sorted(glob.glob(str(each))) if many else [str(each)]
        if not names:
            raise FileNotFoundError(f"There is no file {str(each)!r}: no name matches the pattern.")
        found += map(Path, names)
    return found


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
    y = None if y is None else plain_targets(y)
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
                    "chunks of the same columns, of one precision and of one kind of targets."
                )


def _traits(piece: Piece) -> dict[str, Any]:
    """What all pieces of a source must have in common."""
    X, y, w, _ = piece
    return {
        "the kind of X is": _form(X),
        "the columns of X are": _columns(X),
        "the precision of X is": _precision(X),
        "the targets of a row are": "none" if y is None else y.shape[1:] or "one",
        "targets are": "none" if y is None else _values(y),
        "weights are": "none" if w is None else "given",
    }


def _values(y: np.ndarray) -> str:
    """What kind of values targets are; chunks with other ones would make more classes."""
    first = y.ravel()[0]
    if isinstance(first, (bool, np.bool_)):
        return "True and False"
    return "texts" if isinstance(first, (str, bytes)) else "numbers"


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
    """The arrays of numbers in values, with the names of their columns."""
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
