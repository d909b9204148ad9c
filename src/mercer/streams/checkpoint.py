"""A fit to rows that come in parts, and files from which a killed one continues, to the last bit.

`IncrementalFit` is what a learner knows of the rows that it has read: it adds parts, and finishes.
`fit_stream` is the loop of all such fits. It reads the parts in turn, says where an error is, ends
at Ctrl-C, and writes checkpoints.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import ArrayLike

import mercer
from mercer.persistence import ModelFileError, fields, load, save
from mercer.samples import SamplesLike, is_number
from mercer.streams.chunks import Chunks, Position, as_chunks
from mercer.streams.kept_rows import same_value
from mercer.streams.sources import told
from mercer.threads import blas_limit, forget, raise_if_stopped

FREE = ("memory", "n_jobs", "verbose")  # parameters that may differ when a fit goes on


@dataclass(frozen=True)
class Checkpoint:
    """Where a fit in chunks saves its state, and how often.

    Parameters
    ----------
    path : str or path
        The file; it is replaced in one step, and removed when the fit is done. If it is there when
        a fit begins, the fit goes on where it stopped.
    seconds : float >= 0, default=60
        The least time between two writes.
    trusted : list of str or classes, optional
        Classes of other packages that the learner holds, as `mercer.load` takes them.

    Examples
    --------
    >>> import os, tempfile
    >>> from mercer import AdditiveRegressor, Checkpoint, Chunks
    >>> chunks = Chunks([([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "fit.mercer")
    ...     model = AdditiveRegressor().fit_chunks(chunks, checkpoint=Checkpoint(path, 10))
    ...     os.path.exists(path)
    False
    """

    path: str | os.PathLike
    seconds: float = 60.0
    trusted: Iterable[str | type] = ()


@fields()
class IncrementalFit(ABC):
    """A fit to rows that come in parts. Abstract: `empty`, `add` and `finish`.

    A reading of all rows is `empty`, then `add` for each part, and `finish`, which may ask for one
    more. Files hold it without its learner, which they hold themselves.

    Attributes
    ----------
    learner : estimator
    total : object or None
        What the rows of this reading of a stream have become.
    block : int
        Rows of a part of a stream.
    missing : bool
        Whether X may have NaN.
    between : bool
        Whether checkpoints are written between two readings alone, for ``total`` is large.
    width : int
        Columns of the matrices that are added up: BLAS has one thread for a few.
    """

    block: ClassVar[int] = 2**13
    missing: ClassVar[bool] = False
    between: ClassVar[bool] = False
    total: Any = None
    width: int = 0

    def __init__(self, learner: Any):
        self.learner = learner

    def open(self, chunks: Chunks) -> None:
        """Before the first reading of a stream: learn from its rows what others are added by."""
        forget(self.learner)

    @abstractmethod
    def empty(self) -> Any:
        """What no rows become."""

    @abstractmethod
    def add(
        self, total: Any, X: SamplesLike, y: Any, sample_weight: ArrayLike | None = None
    ) -> None:
        """Add raw samples with targets, and weights > 0, to what others have become."""

    @abstractmethod
    def finish(self, total: Any) -> Any:
        """The fitted learner, when all rows were added; None if they must be read again."""


def fit_stream(fit: IncrementalFit, chunks: Any, checkpoint: Any = None) -> Any:
    """Fit to a stream, or to the rest of it if there is a checkpoint; returns the learner."""
    chunks = as_chunks(chunks)
    keeper = _Keeper(checkpoint, fit.learner, chunks)
    known = keeper.load(type(fit))
    if known is None:
        fit.open(chunks)
    else:
        fit = known
    within = keeper.checkpoint is not None and not fit.between
    while True:
        keeper.offer(fit)
        fit.total = fit.empty() if fit.total is None else fit.total
        begin = keeper.position if within else None
        for block, reached in chunks.blocks(fit.block, missing=fit.missing, begin=begin):
            raise_if_stopped()
            with told(f"the block from row {block.start:,} of the stream"), blas_limit(fit.width):
                fit.add(fit.total, block.X, block.y, block.weights)
            if within:
                keeper.position = reached
                keeper.offer(fit)
        learner = fit.finish(fit.total)
        if learner is not None:
            keeper.done()
            return learner
        fit.total, keeper.position = None, Position()


@fields()
class Saved:
    """The content of the file of a checkpoint.

    Attributes
    ----------
    learner : estimator
        It is saved as far as it is fitted.
    sums : IncrementalFit
        What the rows up to now have become.
    rows, digest : int, dict
        How far the stream was read.
    all_rows, all_digest : int, dict
        What it had when it was first read; 0 rows if it was not read before.
    stamp : list
        What differs if a file of the stream changes.
    version : str
        The version of Mercer that has written it.
    """

    learner: Any
    sums: IncrementalFit
    rows: int
    digest: dict
    all_rows: int
    all_digest: dict
    version: str

    def __init__(
        self,
        fit: IncrementalFit,
        position: Position,
        contents: Position | None,
        stamp: tuple,
    ):
        whole = Position() if contents is None else contents
        self.learner, self.sums = fit.learner, copy(fit)
        self.sums.learner = None
        self.rows, self.digest = position.rows, dict(position.digest)
        self.all_rows, self.all_digest = whole.rows, dict(whole.digest)
        self.stamp = [list(each) for each in stamp]
        self.version = mercer.__version__


class _Keeper:
    """Loads the checkpoint of a fit to a stream, and writes it."""

    def __init__(self, checkpoint: Checkpoint | None, learner: Any, chunks: Chunks):
        if checkpoint is None or isinstance(checkpoint, Checkpoint):
            self.checkpoint = checkpoint
        elif isinstance(checkpoint, (str, os.PathLike)):
            self.checkpoint = Checkpoint(checkpoint)
        else:
            raise TypeError(
                f"checkpoint={checkpoint!r}: give a path, a mercer.Checkpoint, or None."
            )
        if self.checkpoint is not None:
            seconds = self.checkpoint.seconds
            if not (is_number(seconds) and seconds >= 0):
                raise ValueError(f"seconds={seconds!r} of checkpoint: give a number >= 0.")
        self.learner, self.chunks = learner, chunks
        self.position = Position()
        if self.checkpoint is not None:
            chunks.remember(None)
        self._written = time.monotonic()

    def load(self, kind: type[IncrementalFit]) -> IncrementalFit | None:
        """An interrupted fit of this kind, or None; restores the learner of that fit.

        Raises
        ------
        ValueError
            The file is of another learner, of other parameters, of another version of Mercer, or
            of files that have changed. Other rows raise an error when the stream is read.
        """
        if self.checkpoint is None or not Path(self.checkpoint.path).exists():
            return None
        path = str(self.checkpoint.path)
        try:
            saved = load(path, trusted=self.checkpoint.trusted)
        except ModelFileError as error:
            raise ModelFileError(
                f"checkpoint={path!r} cannot be read, perhaps because another version of Mercer "
                f"has written it: {error} Otherwise remove the file to begin anew."
            ) from error
        if not isinstance(saved, Saved) or type(saved.learner) is not type(self.learner):
            raise ValueError(
                f"checkpoint={path!r} is no checkpoint of {type(self.learner).__name__}: give "
                "another name."
            )
        version = getattr(saved, "version", "an earlier version")
        if version != mercer.__version__:
            raise ValueError(
                f"checkpoint={path!r} was written by Mercer {version}, and this is "
                f"{mercer.__version__}, whose sums may differ: remove the file to begin anew, or "
                "go on with the other version."
            )
        if type(saved.sums) is not kind:
            raise ValueError(
                f"checkpoint={path!r} was written by an earlier version of Mercer, which had other "
                "sums: remove the file to begin anew."
            )
        now, before = (_params(each) for each in (self.learner, saved.learner))
        other = [name for name in now if not same_value(now[name], before.get(name))]
        if other:
            raise ValueError(
                f"checkpoint={path!r} is of {_shown(before, other, saved.learner)}, and this is "
                f"{_shown(now, other, self.learner)}: remove the file to begin anew, or give the "
                "same parameters."
            )
        if saved.stamp != [list(each) for each in self.chunks.stamp()]:
            raise ValueError(
                f"checkpoint={path!r} is of files that have changed since, or of other files: "
                "remove it to begin anew."
            )
        mine = self.learner.get_params(deep=False)
        forget(self.learner)
        vars(self.learner).update(vars(saved.learner))
        vars(self.learner).update({name: mine[name] for name in FREE if name in mine})
        self.position = Position(saved.rows, saved.digest)
        if saved.all_rows:
            self.chunks.remember(Position(saved.all_rows, saved.all_digest))
        saved.sums.learner = self.learner
        return saved.sums

    def offer(self, fit: IncrementalFit) -> None:
        """Write the file, if rows were read, and the last time is long enough ago."""
        whole = self.chunks.contents
        if self.checkpoint is None or not (whole or self.position.rows):
            return
        if time.monotonic() - self._written >= self.checkpoint.seconds:
            saved = Saved(fit, self.position, whole, self.chunks.stamp())
            save(saved, self.checkpoint.path)
            self._written = time.monotonic()

    def done(self) -> None:
        """Remove the file: the fit has ended, with the rows that it began with."""
        if self.checkpoint is not None:
            self.chunks.verify()
            Path(self.checkpoint.path).unlink(missing_ok=True)


def _params(learner: Any) -> dict[str, Any]:
    """The parameters that must be the same."""
    return {n: v for n, v in learner.get_params(deep=False).items() if n not in FREE}


def _shown(params: dict[str, Any], names: list[str], learner: object) -> str:
    told = ", ".join(f"{name}={params.get(name)!r}" for name in names)
    return f"{type(learner).__name__}({told})"
