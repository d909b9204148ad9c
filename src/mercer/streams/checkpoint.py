"""Files from which a killed fit in chunks continues, to the same last bit."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mercer
from mercer.persistence import fields, load, save
from mercer.samples import is_number
from mercer.streams.chunks import Chunk, Chunks, Position
from mercer.streams.kept_rows import same_value
from mercer.threads import forget

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
class Saved:
    """The content of the file of a checkpoint.

    Attributes
    ----------
    learner : estimator
        It is saved as far as it is fitted.
    sums : object
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

    rows: int
    digest: dict
    all_rows: int
    all_digest: dict
    version: str

    def __init__(
        self,
        learner: Any,
        sums: object,
        position: Position,
        contents: Position | None,
        stamp: tuple,
    ):
        whole = Position() if contents is None else contents
        self.learner, self.sums = learner, sums
        self.rows, self.digest = position.rows, dict(position.digest)
        self.all_rows, self.all_digest = whole.rows, dict(whole.digest)
        self.stamp = [list(each) for each in stamp]
        self.version = mercer.__version__


class Keeper:
    """Reads a stream in blocks for a learner, from its checkpoint on, and writes checkpoints.

    Parameters
    ----------
    checkpoint : Checkpoint, path or None
    learner : estimator
    chunks : Chunks
    """

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

    def load(self) -> Any:
        """The sums of an interrupted fit, or None; restores the learner of that fit.

        Raises
        ------
        ValueError
            The file is of another learner, of other parameters, of another version of Mercer, or
            of files that have changed. Other rows raise an error when the stream is read.
        """
        if self.checkpoint is None or not Path(self.checkpoint.path).exists():
            return None
        path = str(self.checkpoint.path)
        saved = load(path, trusted=self.checkpoint.trusted)
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
        return saved.sums

    def blocks(self, size: int, sums: object, *, missing: bool = False) -> Iterator[Chunk]:
        """The remaining blocks. When the next one is read, ``sums`` must contain the last one."""
        for block, reached in self.chunks.blocks(size, missing=missing, begin=self.position):
            yield block
            self.position = reached
            self.offer(sums)

    def offer(self, sums: object) -> None:
        """Write the file, if the last time is long enough ago."""
        if self.checkpoint is None:
            return
        if time.monotonic() - self._written >= self.checkpoint.seconds:
            whole, stamp = self.chunks.contents, self.chunks.stamp()
            saved = Saved(self.learner, sums, self.position, whole, stamp)
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
