"""Where Gram matrices are made and read: how much memory there is, how many threads, which device;
and samples as they read them.

A learner makes one `Place` from its parameters; operators keep it and answer what fits there.
Samples are prepared once for several matrices (`PreparedSide`), or rounded to float32.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, overload

import numpy as np

from mercer.callers import first_outside
from mercer.distances import Minkowski
from mercer.kernels import Kernel, Radial
from mercer.samples import Samples
from mercer.spoken import memory_size
from mercer.threads import count_jobs

#: bytes that are always assumed to be free: to measure free memory takes a millisecond
FEW = 2**25


def memory_budget(memory: int | float | str | None = None, wanted: int | float = np.inf) -> int:
    """The number of bytes that ``memory`` means.

    Parameters
    ----------
    memory : int, float, str or None
        What `mercer.spoken.memory_size` takes; None means half of the free memory.
    wanted : int or float
        The most bytes that the caller can use. If they are few and ``memory`` is None, free memory
        is not measured.
    """
    if memory is None:
        return FEW if wanted <= FEW else available_memory() // 2
    return memory_size(memory)


def in_megabytes(size: float) -> str:
    """Bytes as a text that ``memory=`` takes, rounded up.

    Examples
    --------
    >>> in_megabytes(1_500_000)
    '"2MB"'
    """
    return f'"{-(-int(size) // 10**6)}MB"'


def available_memory() -> int:
    """Bytes that this process may still use: free memory within the limits of its cgroups."""
    import psutil

    system = psutil.virtual_memory()
    free = system.available
    for folder, limit, used in _cgroups():
        try:
            most = int((folder / limit).read_text())
            if most >= system.total:  # no limit: what else it says takes long to read
                continue
            room = most - int((folder / used).read_text())
        except (OSError, ValueError):  # no such cgroup, or its limit is "max"
            continue
        free = min(free, room + _given_back(folder))
    return max(free, 0)


def _given_back(cgroup: Path) -> int:
    """Bytes of cached files of a cgroup, which the system frees when memory is short."""
    try:
        text = (cgroup / "memory.stat").read_text()
    except OSError:
        return 0
    found = dict(line.split() for line in text.splitlines() if len(line.split()) == 2)
    return int(found.get("total_inactive_file", found.get("inactive_file", 0)))


def _cgroups() -> Iterator[tuple[Path, str, str]]:
    """Yield each cgroup of this process and its parents, with the names of its two files.

    The limits of all of them apply. Lines of /proc/self/cgroup are number:controllers:path; in
    version 2 the number is 0 and controllers is empty (cgroups(7)).
    """
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:  # not Linux
        return
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0":
            root, files = Path("/sys/fs/cgroup"), ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            root = Path("/sys/fs/cgroup/memory")
            files = ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        own = root / path.lstrip("/")
        for folder in (own, *own.parents):
            yield folder, files[0], files[1]
            if folder == root:
                break


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


class PlaceOfLearner:
    """What learners hold as ``place``: their ``memory``, ``n_jobs`` and ``device``, if any."""

    @overload
    def __get__(self, learner: None, owner: type) -> PlaceOfLearner: ...
    @overload
    def __get__(self, learner: object, owner: type) -> Place: ...
    def __get__(self, learner: Any, owner: type) -> Any:
        if learner is None:  # of the class, as documentation asks for it
            return self
        return Place(learner.memory, learner.n_jobs, getattr(learner, "device", None))


class PreparedSide:
    """Encoded samples Z for `gram`, whose preparation is kept.

    Predictions compare new samples with the same ones again and again: to prepare these takes
    longer than to compare one sample with them.

    Parameters
    ----------
    kernel : Kernel
        Bound to the training samples.
    samples : encoded samples

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import gram
    >>> from mercer.kernels import RBF
    >>> columns = PreparedSide(RBF(0.5), np.arange(6.0).reshape(3, 2))
    >>> [gram(columns.kernel, x[None], columns).dense().round(2).tolist() for x in np.eye(2)]
    [[[0.37, 0.01, 0.0]], [[1.0, 0.02, 0.0]]]
    """

    def __init__(self, kernel: Any, samples: Any):
        self.kernel, self.samples = kernel, samples

    @cached_property
    def prepared(self) -> Any:
        """What the kernel's blocks read of the samples."""
        return self.kernel.prepare(self.samples)

    def are(self, kernel: Kernel, samples: Samples) -> bool:
        """Whether they are these very samples, as this very kernel reads them."""
        return kernel is self.kernel and samples is self.samples


def in_single_precision(kernel: Kernel, X: Samples, error: float = 1e-5) -> Any:
    """Centred samples in float32 if the kernel's error on them is at most ``error``, else X.

    Parameters
    ----------
    kernel : Kernel
        The kernel, bound to the training samples.
    X : encoded samples
    error : float
        Largest absolute error of a kernel value.

    Notes
    -----
    Only for radial kernels of the Euclidean distance, which do not change if samples are centred;
    other kernels keep X. With norms up to R and unit rounding u, ‖x‖² + ‖z‖² - 2<x, z> has an
    error of about 8 u R² (sums of d terms have rounding errors of order √d, and the factor 8 is
    enough for d in the thousands). The kernel's error is this times its largest slope.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> X = np.array([[0.0, 1.0], [1.0, 0.5]])
    >>> in_single_precision(RBF(1.0), X).dtype, in_single_precision(RBF(1e4), X).dtype
    (dtype('float32'), dtype('float64'))
    """
    if not (isinstance(X, np.ndarray) and X.dtype == np.float64 and len(X)):
        return X
    if not (isinstance(kernel, Radial) and isinstance(kernel.distance, Minkowski)):
        return X
    if kernel.distance.p != 2 or kernel.distance.weights is not None:
        return X
    centred = X - X.mean(axis=0)
    square = float(np.einsum("ij,ij->i", centred, centred).max())
    if not square < np.finfo(np.float32).max / 8:
        return X
    rounding = 8 * np.finfo(np.float32).eps * square
    # profiles are steepest at 0, but distances below the rounding error are not resolved
    slope = abs(float(kernel.profile_derivative(np.array([max(rounding, 1e-300)]))[0]))
    return centred.astype(np.float32) if slope * rounding <= error else X
