"""Work in stages of tasks, each of which writes what it makes, whole or not at all.

What a task has written is the mark that it is done. A run does what is not done yet, so that it may
be killed and started again, or be one of several processes that share the tasks. The tasks of a
stage do not depend on each other: any function that maps as Python's ``map`` does may run them, in
other processes or on other machines that see the same folder.
"""

from __future__ import annotations

import copy
import io
import logging
import pickle
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.lib.npyio import NpzFile

from mercer.persistence.whole_files import write_whole

PAUSE = 0.2  # seconds between two looks for what another process is to write
LATE = 3.0  # seconds after which a shared file system shows what was written
TRIES = 3  # of tasks whose process has died
SILENT, AGAIN = 5.0, 60.0  # seconds after which a process says first, and again, that it waits
LOG = logging.getLogger("mercer")

Mapped = Callable[[Callable[[int], None], Iterable[int]], Iterable[None]]


class StagedTasks(ABC):
    """Abstract: stages of tasks. A task is done by the method with the name of its stage, after _.

    Attributes
    ----------
    said : dict
        The words for each stage; without them it is called by its name.
    task : (int, int)
        The number of this process, from 0, and how many share the tasks.
    mapped : callable or None
        Runs the tasks: it is called with a function of the number of a task, which can be pickled,
        and with the numbers, as ``map`` is. None means this process.
    tell : callable
        Called with the words for a stage, the work done so far and the work in all.
    """

    said: ClassVar[dict[str, str]] = {}
    task: tuple[int, int] = (0, 1)
    mapped: Mapped | None = None
    tell: Callable[[str, int, int], None]

    @abstractmethod
    def done(self, stage: str, number: int | None = None) -> bool:
        """Whether a task was done; that of a stage of one task has no number."""

    def alone(self) -> Self:
        """The same without what belongs to this process, to be pickled."""
        alone = copy.copy(self)
        alone.mapped, alone.tell = None, nothing
        return alone

    def perform(self, stage: str, number: int) -> None:
        """One task of a stage; it does nothing if it was done."""
        if not self.done(stage, number):
            getattr(self, f"_{stage}")(number)

    def perform_here(self, stage: str, numbers: Sequence[int]) -> None:
        """The tasks of a stage that are this process's."""
        for at, k in enumerate(numbers):
            self.tell(self._words(stage), at, len(numbers))
            self.perform(stage, k)

    def perform_all(self, stage: str, numbers: range) -> None:
        """Do the tasks of a stage, or the part of them that is this process's."""
        said = self._words(stage)
        if self.mapped is not None:
            # as bytes: some executors would make arrays of it that are not aligned
            task = partial(_performed, pickle.dumps(self.alone()), stage)
            left = self._left(stage, numbers)
            for _ in range(TRIES):
                if not left:
                    return
                at = len(numbers) - len(left)
                self.tell(said, at, len(numbers))
                for _ in self.mapped(task, left):
                    self.tell(said, at := at + 1, len(numbers))
                end = time.monotonic() + LATE
                while (left := self._left(stage, numbers)) and time.monotonic() < end:
                    time.sleep(PAUSE)
            if left:
                raise RuntimeError(f"{len(left)} tasks of the stage {stage!r} were not done.")
            return
        self.perform_here(stage, numbers[self.task[0] :: self.task[1]])
        self._wait(stage, numbers, lambda: self._left(stage, numbers))

    def perform_one(self, stage: str) -> None:
        """Do a task that is single, in the first process; the others wait for it."""
        if self.task[0] == 0 and not self.done(stage):
            self.tell(self._words(stage), 0, 1)
            getattr(self, f"_{stage}")()
        self._wait(stage, range(1), lambda: [] if self.done(stage) else [0])

    def _wait(self, stage: str, numbers: range, left: Callable[[], list[int]]) -> None:
        """Wait for tasks of other processes; the log says for which ones, if that takes long."""
        said, due = f"Waiting for others: {self._words(stage)}", time.monotonic() + SILENT
        while missing := left():
            done, count = len(numbers) - len(missing), self.task[1]
            self.tell(said, done, len(numbers))
            if time.monotonic() >= due:
                others = sorted({numbers.index(k) % count + 1 for k in missing})
                LOG.warning(
                    "%s, %d of %d done; the rest is of process %s of %d.", said, done, len(numbers),
                    ", ".join(map(str, others)), count,
                )  # fmt: skip
                due = time.monotonic() + AGAIN
            time.sleep(PAUSE)

    def _left(self, stage: str, numbers: Iterable[int]) -> list[int]:
        return [k for k in numbers if not self.done(stage, k)]

    def _words(self, stage: str) -> str:
        return self.said.get(stage, stage)


def _performed(stages: bytes, stage: str, number: int) -> None:
    """Perform one task, in any process."""
    _revived(stages).perform(stage, number)


@lru_cache(maxsize=1)
def _revived(stages: bytes) -> StagedTasks:
    return pickle.loads(stages)


def nothing(*_: object) -> None:
    """Report nothing."""


# --- what runs them -------------------------------------------------------------------------------


def mapped_on(executor: Any) -> Mapped | None:
    """What runs tasks: the function ``map`` of an executor or of a client of Dask, or a function.

    None is None: this process.
    """
    if executor is None:
        return None
    if type(executor).__module__.partition(".")[0] == "distributed":
        need_mercer(executor)
        # Dask runs the tasks of workers that have died on others
        return lambda function, numbers: executor.gather(
            executor.map(function, list(numbers), pure=False, retries=2)
        )
    if hasattr(executor, "map"):
        return executor.map
    if callable(executor):
        return cast(Mapped, executor)
    raise TypeError(f"executor={executor!r}: give an object with a method map, or a function.")


def need_mercer(client: Any) -> None:
    """Raise ImportError if workers of Dask have no Mercer, or another version of it.

    Tasks that a worker cannot read would be waited for without end.
    """
    # what is sent must be known to a worker without Mercer
    found = client.run(eval, "__import__('mercer').__version__", on_error="return")
    here = import_module("mercer").__version__
    for address, version in found.items():
        if version != here:
            raise ImportError(
                f"the worker {address} has no Mercer {here} (it says {version!s}): install the "
                "same version on all workers."
            )


# --- what they write ------------------------------------------------------------------------------


def save_arrays(path: Path, **arrays: np.ndarray) -> None:
    """Write arrays to one file."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    write_whole(path, buffer.getvalue())


def load_arrays(path: Path, *names: str) -> dict[str, np.ndarray]:
    """Read the arrays that `save_arrays` wrote, or some of them.

    Raises
    ------
    ValueError
        The file is damaged.
    FileNotFoundError, PermissionError
    """
    try:
        with path.open("rb") as file, NpzFile(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in names or archive.files}
    except (FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # changed bytes raise nearly anything
        raise ValueError(f"the arrays of {path.name} cannot be read: {error}") from error
