"""A sample that is read in chunks, so that it may be larger than the memory.

All learners that fit in chunks read `Chunks`. It checks that all chunks are of one
kind, says where in the stream a bad number is, notices that a file has changed between two
readings, and cuts the rows again, so that no answer depends on the size of the chunks.
`draw_rows` draws rows from all of a stream, each as likely as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mercer.samples import Samples, check_count
from mercer.streams.kept_rows import (
    Digest,
    count_rows,
    difference,
    join_rows,
    row_range,
    take_rows,
    with_rows,
    with_targets,
)
from mercer.streams.sources import Common, Piece, Source, as_source, checked, plain, told

ROWS = 2**16  # rows of a chunk of an array or of a file
BLOCK = 2**12  # rows that a transformer reads at a time


class Chunk(NamedTuple):
    """Some rows of a stream.

    Attributes
    ----------
    X : rows, as the stream gives them
    y, weights : ndarray or None
    start : int
        The number of the first row in the stream.
    """

    X: Any
    y: np.ndarray | None
    weights: np.ndarray | None
    start: int


@dataclass(frozen=True)
class Position:
    """How far a stream has been read: the rows of positive weight, and a checksum of them."""

    rows: int = 0
    digest: Digest = field(default_factory=dict)

    def after(self, chunk: Chunk) -> Position:
        """The place behind some more rows."""
        digest = with_rows(self.digest, chunk.X, chunk.y, chunk.weights)
        return Position(self.rows + count_rows(chunk.X), digest)


class Chunks:
    """A table or another sample that learners read in chunks, by ``fit_chunks``.

    Parameters
    ----------
    source : array, data frame, table of Arrow, paths, iterable or function
        An array of numpy, memory-mapped or not; a sparse matrix; a data frame; a table, a data set
        or a reader of record batches of pyarrow; a path, or a list of paths, of Parquet files
        (``".parquet"``), Arrow files (``".arrow"``, ``".feather"``) or of one array (``".npy"``),
        in which ``*`` stands for any letters; an iterable of chunks, each of which is X, (X, y)
        or (X, y, weights); or a function without arguments that returns such an iterable, for
        samples that are read more than once. With an array of targets beside it, ``source`` may
        also be a list of samples of any kind.
    target : str or array, optional
        The column of the targets, by its name, or the targets of the rows of an array.
    weights : str or array, optional
        The same for the weights of the rows.
    rows : int, default=65536
        How many rows of an array or a file are read at a time. No result depends on it.

    Attributes
    ----------
    repeatable : bool
        Whether it can be read more than once. An iterator cannot; a list of chunks can, and so can
        a function that makes a new iterator.

    Notes
    -----
    Iterating yields objects with the fields ``X``, ``y``, ``weights`` and ``start``, the number of
    the first row. Chunks without rows are left out. All others have the same columns, the same
    precision (float32 or not), targets and weights, or there is a ValueError with the number of the
    chunk, from 0; an error about NaN or infinity names the row. A file that has another size or
    time of change at the end than at the beginning is a ValueError as well, and so is a second
    reading with other rows than the first.

    Examples
    --------
    >>> from mercer import AdditiveRegressor, Chunks
    >>> rng = np.random.default_rng(0)
    >>> def draw():
    ...     for seed in range(3):
    ...         X = np.random.default_rng(seed).uniform(-1, 1, (500, 2))
    ...         yield X, X[:, 0] ** 2 - X[:, 1]
    >>> model = AdditiveRegressor().fit_chunks(Chunks(draw))
    >>> model.predict([[0.5, 0.0]]).round(1)
    array([0.2])
    >>> Chunks(draw).repeatable, Chunks(draw()).repeatable
    (True, False)
    >>> [(chunk.start, len(chunk.X)) for chunk in Chunks(np.zeros((5, 2)), np.arange(5), rows=3)]
    [(0, 3), (3, 2)]
    """

    def __init__(self, source: Any, target: Any = None, *, weights: Any = None, rows: int = ROWS):
        check_count("rows", rows, optional=False)
        self._source: Source = as_source(source, target, weights, rows)
        self._stamp, self._spent = self._source.stamp(), False
        self._whole: Position | None = None
        self._contents: Position | None = None
        self._remembers = self._known = False

    @property
    def repeatable(self) -> bool:
        """Whether it can be read more than once."""
        return self._source.repeatable

    def __iter__(self) -> Iterator[Chunk]:
        return self.read(missing=True)

    def remember(self, contents: Position | None) -> None:
        """From now on, include X and the weights in the digest, to recognise the rows.

        The next reading must be of ``contents``, those of an earlier process; None takes any.
        """
        self._remembers, self._contents, self._known = True, contents, False

    @property
    def contents(self) -> Position | None:
        """The digest of all rows of positive weight, once it is known, for `remember`."""
        return self._contents

    def verify(self) -> None:
        """Read the rows that `remember` noted, if nobody has read them since."""
        if self._contents is not None and not self._known:
            for _ in self.read(missing=True):
                pass

    def read(self, *, missing: bool, begin: int = 0) -> Iterator[Chunk]:
        """The chunks, checked; ``missing`` allows NaN in X. Those before row ``begin`` are not
        checked, but they are yielded."""
        if self._spent and not self.repeatable:
            raise ValueError(
                "the stream is an iterator, which can be read once, and it has been read: give a "
                "function that returns a new iterator, a list of chunks, or files."
            )
        self._spent = True
        self._refuse_changes()
        common, rows, found, contents = None, 0, Position(), Position()
        remembers = self._remembers and not self._known
        for number, piece in enumerate(self._source.read()):
            with told(f"chunk {number} of the stream, from 0{piece.place}"):
                known = begin > rows and rows + count_rows(piece.X) <= begin
                X, y, w, _ = piece = plain(piece) if known else checked(piece, rows, missing)
                n = count_rows(X)
                if not n:
                    continue
                common = Common(number, piece) if common is None else common
                common.check(piece)
            chunk = Chunk(X, y, w, rows)
            yield chunk
            rows, found = rows + n, Position(rows + n, with_targets(found.digest, y))
            if remembers:
                contents = contents.after(_positive(chunk))
        self._refuse_changes()
        if not rows:
            raise ValueError("the stream has no rows (0 samples): give at least one.")
        if remembers:
            self._know(contents)
        if self._whole is not None and self._whole != found:
            raise ValueError(
                f"the stream had {self._whole.rows:,} rows when it was first read, and now it has "
                f"{rows:,}, or other targets: a function must return the same chunks each time."
            )
        self._whole = found

    def blocks(
        self, size: int, *, missing: bool = False, begin: Position | None = None
    ) -> Iterator[tuple[Chunk, Position]]:
        """All rows of positive weight, cut into blocks of ``size`` rows, however they are chunked.

        Beside each block stands how far it reaches among these rows. Blocks up to ``begin`` are
        left out, where an earlier reading has stopped; ValueError if they differ. None means the
        first row, and positions without a digest.
        """
        wanted = Position() if begin is None else begin
        held: list[Chunk] = []
        waiting, here = 0, Position()
        for chunk in _with_end(self.read(missing=missing, begin=wanted.rows)):
            if chunk is not None:
                chunk = _positive(chunk)
                held.append(chunk)
                waiting += count_rows(chunk.X)
                if waiting < size:
                    continue
            if not waiting:
                continue
            whole = _joined(held)
            last = waiting if chunk is None else waiting // size * size
            for start in range(0, last, size):
                block = _range(whole, start, min(start + size, last))
                last_row = here.rows + count_rows(block.X)
                here = Position(last_row) if begin is None else here.after(block)
                if here.rows > wanted.rows:
                    yield block._replace(start=here.rows - count_rows(block.X)), here
                elif here.rows == wanted.rows and here != wanted:
                    other = difference(here.digest, wanted.digest)
                    raise ValueError(
                        f"the first {here.rows:,} rows of the stream have other {other} than those "
                        "of the checkpoint: remove its file to begin anew."
                    )
            held = [] if last == waiting else [_range(whole, last, waiting)]
            waiting -= last
        if here.rows < wanted.rows:
            raise ValueError(
                f"the stream has {here.rows:,} rows, and the checkpoint is from row "
                f"{wanted.rows:,}: give the same stream, or remove the file of the checkpoint."
            )
        if not here.rows:
            raise ValueError("weights are 0 for every row: give some rows a weight > 0.")

    def _know(self, found: Position) -> None:
        """Remember the digest of the rows, or compare it with the expected one."""
        wanted = self._contents
        if wanted is not None and wanted.rows != found.rows:
            raise ValueError(
                f"the stream has {found.rows:,} rows, and that of the checkpoint had "
                f"{wanted.rows:,}: give the same stream, or remove the file of the checkpoint."
            )
        if wanted is not None and wanted != found:
            raise ValueError(
                f"the stream has other {difference(found.digest, wanted.digest)} than that of the "
                "checkpoint: give the same stream, or remove the file of the checkpoint."
            )
        self._contents, self._known = found, True

    def through(self, transformer: Any) -> Chunks:
        """The stream of ``transformer.transform(X)``, of a transformer that is fitted already.

        Examples
        --------
        >>> from mercer import Chunks, KernelRidge, Nystroem
        >>> X = np.linspace(0, 6, 400)[:, None]
        >>> chunks = Chunks(X, np.sin(X[:, 0]), rows=100)
        >>> features = Nystroem(n_components=20, random_state=0).fit_chunks(chunks)
        >>> model = KernelRidge(1e-6).fit_chunks(chunks.through(features))
        >>> model.predict(features.transform([[1.5]])).round(2)
        array([1.])
        """
        return Chunks(_Transformed(self, transformer))

    def refuse_once(self, reader: str) -> None:
        """Raise ValueError if it can be read only once; ``reader`` names what reads twice."""
        if not self.repeatable:
            raise ValueError(
                f"{reader}, and an iterator can be read once: give a function that returns a new "
                "iterator, as Chunks(make) for make(), a list of chunks, or files."
            )

    def stamp(self) -> tuple:
        """A value that differs if a file of the stream has changed."""
        return self._source.stamp()

    def _refuse_changes(self) -> None:
        """Refuse files that have changed since the stream was made."""
        for before, now in zip(self._stamp, self.stamp(), strict=True):
            if before != now:
                raise ValueError(
                    f"the file {before[0]!r} has changed since the stream was made: make a new "
                    "Chunks, and read it while nobody writes to the file."
                )


class _Transformed(Source):
    """A stream whose X a transformer has changed, in blocks that do not depend on the chunks."""

    def __init__(self, chunks: Chunks, transformer: Any):
        self.chunks, self.transformer = chunks, transformer
        self.repeatable = chunks.repeatable

    def read(self) -> Iterator[Piece]:
        for block, _ in self.chunks.blocks(BLOCK, missing=True):
            yield Piece(self.transformer.transform(block.X), block.y, block.weights)

    def stamp(self) -> tuple:
        return self.chunks.stamp()


def as_chunks(chunks: Chunks) -> Chunks:
    """A stream from X, which may also be an iterable of chunks, a function, or paths."""
    return chunks if isinstance(chunks, Chunks) else Chunks(chunks)


def _with_end(chunks: Iterator[Chunk]) -> Iterator[Chunk | None]:
    """The chunks, and then None."""
    yield from chunks
    yield None


def _joined(chunks: list[Chunk]) -> Chunk:
    """Several chunks as one."""
    X, y, w = (
        None if part[0] is None else join(part)
        for part, join in zip(
            zip(*(chunk[:3] for chunk in chunks)),
            (lambda parts: join_rows(*parts), np.concatenate, np.concatenate),
        )
    )
    return Chunk(X, y, w, chunks[0].start)


def _range(chunk: Chunk, start: int, stop: int) -> Chunk:
    X, y, w, first = chunk
    y, w = (None if part is None else part[start:stop] for part in (y, w))
    return Chunk(row_range(X, start, stop), y, w, first + start)


def _positive(chunk: Chunk) -> Chunk:
    """The rows whose weight is not 0."""
    if chunk.weights is None or chunk.weights.all():
        return chunk
    return _taken(chunk, np.flatnonzero(chunk.weights))


def _taken(chunk: Chunk, rows: np.ndarray) -> Chunk:
    X, y, w, first = chunk
    y, w = (None if part is None else part[rows] for part in (y, w))
    return Chunk(take_rows(X, rows), y, w, first)


HELD = 2  # times as many rows as are wanted are held, before some are dropped


class Drawn(NamedTuple):
    """Rows of a stream, in their order.

    Attributes
    ----------
    X : rows, as the stream gives them
    y, weights : ndarray or None
    rows : ndarray of int
        Their numbers in the stream.
    total : int
        How many rows of positive weight the stream has.
    """

    X: Any
    y: np.ndarray | None
    weights: np.ndarray | None
    rows: np.ndarray
    total: int


def draw_rows(
    chunks: Chunks,
    count: int,
    random: np.random.RandomState,
    see: Callable[[Chunk], None] | None = None,
) -> Drawn:
    """At most ``count`` rows of positive weight; ``see`` is called for those of each chunk.

    Each row gets a random number, and those with the smallest ones are drawn.

    Examples
    --------
    >>> chunks = Chunks(np.arange(9.0)[:, None], rows=2)
    >>> draw_rows(chunks, 3, np.random.RandomState(0)).rows
    array([3, 4, 6])
    """
    found, bound = Lottery(count), np.inf
    total = 0
    for chunk in chunks.read(missing=False):
        n = count_rows(chunk.X)
        tickets = random.uniform(size=n)
        if chunk.weights is not None:
            tickets[chunk.weights == 0] = np.inf
        total += int(np.isfinite(tickets).sum())
        rows = np.flatnonzero(tickets < bound)
        if len(rows):
            bound = found.add(chunk, rows, tickets[rows])
        if see is not None and np.isfinite(tickets).any():
            see(_positive(chunk))
    if not total:
        raise ValueError("weights are 0 for every row: give some rows a weight > 0.")
    return found.drawn(total)


def draw_numbers(total: int, count: int, random: np.random.RandomState) -> np.ndarray:
    """The numbers of the rows that `draw_rows` draws of a stream of ``total`` rows without weights.

    Examples
    --------
    >>> draw_numbers(9, 3, np.random.RandomState(0))
    array([3, 4, 6])
    """
    if total <= count:
        return np.arange(total)
    return np.sort(np.argpartition(random.uniform(size=total), count - 1)[:count])


class Lottery:
    """The rows with the smallest tickets up to now."""

    def __init__(self, count: int):
        self.count = count
        self.bound = np.inf
        self.parts: list[tuple] = []  # X, y, weights, row numbers, tickets

    def add(self, chunk: Chunk, rows: np.ndarray, tickets: np.ndarray) -> float:
        """Offer rows; returns the ticket that those of further rows must be below."""
        y, w = (None if part is None else part[rows] for part in (chunk.y, chunk.weights))
        self.parts.append((take_rows(chunk.X, rows), y, w, chunk.start + rows, tickets))
        if sum(len(part[4]) for part in self.parts) > HELD * self.count:
            self._drop()
        return self.bound

    def _drop(self) -> None:
        tickets = np.concatenate([part[4] for part in self.parts])
        kept = np.sort(np.argpartition(tickets, self.count - 1)[: self.count])
        whole = self._joined()
        self.parts = [tuple(_some(part, kept) for part in whole)]
        self.bound = float(tickets[kept].max())

    def _joined(self) -> tuple:
        X, *rest = zip(*self.parts)
        return join_rows(*X), *(None if p[0] is None else np.concatenate(p) for p in rest)

    def drawn(self, total: int) -> Drawn:
        if sum(len(part[4]) for part in self.parts) > self.count:
            self._drop()
        X, y, w, rows, _ = self._joined()
        return Drawn(X, y, w, rows, total)


def _some(part: Samples | None, rows: np.ndarray) -> Any:
    return None if part is None else take_rows(part, rows)
