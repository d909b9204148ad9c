"""Where Gram matrices are made and read: how much memory there is, how many threads, which device.

A learner makes one `Place` from its parameters; operators keep it and answer what fits there.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from mercer.callers import first_outside
from mercer.gram.memory import in_megabytes, memory_budget
from mercer.threads import count_jobs


class ApproximationWarning(UserWarning):
    """There is too little memory, so an approximation was used instead."""


@dataclass(frozen=True)
class Place:
    """Where the work on Gram matrices is done. A value: it is checked when it is made.

    Parameters
    ----------
    memory : int, float, str or None
        Budget in bytes or as "4GB"; None means half of the free memory.
    n_jobs : int or None
        Threads; None means all cores.
    device : any
        The device that computes. None and "cpu" mean Mercer's own code on this machine's processor;
        "cpu:torch", "cuda", "cuda:1" and other names of torch compute kernels that have a formula
        there; a maker that was given to `register` may serve others.
    executor : any
        What runs the work elsewhere, such as the client of a cluster. Mercer's own makers run
        threads, and leave it to others.

    Examples
    --------
    >>> place = Place("1MB")
    >>> place.budget(), place.holds(2_000_000), place.beside(400_000)
    (1000000, False, Place(memory=600000, n_jobs=None, device=None, executor=None))
    >>> place.refuse(1_500_000, "an exact fit", ", or fewer rows")
    Traceback (most recent call last):
        ...
    MemoryError: memory='1MB' is too small for an exact fit: give memory="2MB" or more, or fewer rows.
    """  # noqa: E501

    memory: int | float | str | None = None
    n_jobs: int | None = None
    device: Any = None
    executor: Any = None

    def __post_init__(self):
        memory_budget(self.memory, 0)  # is it one? Free memory is not measured for that
        if self.n_jobs is not None:
            count_jobs(self.n_jobs)

    @property
    def jobs(self) -> int:
        """The number of threads."""
        return count_jobs(self.n_jobs)

    def budget(self, wanted: float = np.inf) -> int:
        """Bytes that may be used.

        ``wanted`` is the most that the caller can use: if it is little and ``memory`` is None, free
        memory is not measured.
        """
        return memory_budget(self.memory, wanted)

    def holds(self, needed: float) -> bool:
        """Whether this many bytes fit."""
        return needed <= self.budget(needed)

    def refuse(self, needed: float, what: str, instead: str = "") -> NoReturn:
        """Raise MemoryError with the least ``memory`` that would do, and what else would help."""
        raise MemoryError(
            f"memory={self.memory!r} is too small for {what}: give memory={in_megabytes(needed)} "
            f"or more{instead}."
        )

    def concede(self, needed: float, what: str, instead: str) -> None:
        """Warn that there is too little memory, so that an approximation is used instead.

        ``instead`` is the argument that asks for the approximation.
        """
        warnings.warn(
            f"memory={self.memory!r} is too small for {what}: it is approximated, so that answers "
            f"differ. Give memory={in_megabytes(needed)} or more, or {instead} to have this "
            "without a warning.",
            ApproximationWarning,
            stacklevel=first_outside(),
        )

    def beside(self, held: int) -> Place:
        """What is left of this place if this many bytes are in use."""
        if self.memory is None or not held:  # None: half of what is free now
            return self
        return replace(self, memory=max(self.budget() - held, 1))
