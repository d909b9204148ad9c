"""Which learner and kernel fit a table, with the seconds and the memory that were measured.

docs/choose.rst says the same of all kinds of data; a test compares its figures with those here,
which are of benchmarks/RESULTS.md, on two cores of a server.
"""

from __future__ import annotations

from bisect import bisect_left
from math import exp, log

from mercer.spoken import spoken
from mercer.tables import Column

#: what a machine is called in docs/choose.rst, and rows with the seconds of one fit and its MB; an
#: empty cell of the page is None
MEASURED: dict[str, list[tuple[int, float, float | None]]] = {
    "``SVC``, 50 columns": [(10_000, 0.6, None), (50_000, 6, 2_400)],
    '``SVC``, 50 columns, ``memory="1.5GB"``': [(200_000, 35, 1_700)],
    "``KernelRidge``, exact": [(10_000, 3, 1_200)],
    '``KernelRidge``, ``solver="low_rank"``, 1,000 centres': [(15_000, 1.7, 110)],
}
SEARCH = "30 seconds, 350 to 900 MB"  # of mercer fit

#: pairs of samples in a second on one core, by the kernel's name in docs/choose.rst
PAIRS = {
    "``RBF``, 50 columns": 5e8,
    "``BlendedSpectrum(6)``, the same": 2e7,
    "``GlobalAlignment``, 275 points": 8e3,
}

#: a kernel for tables whose columns are all of one kind, and its row in PAIRS
KERNELS = {
    "number": ('RBF("scale") on scaled columns', "``RBF``, 50 columns"),
    "vector": ('RBF("scale")', "``RBF``, 50 columns"),
    "text": ("BlendedSpectrum(4).normalised()", "``BlendedSpectrum(6)``, the same"),
    "sequence": ("GappedKmer(6, 4).normalised()", None),
    "set": ("Jaccard()", None),
    "series": ("GlobalAlignment()", "``GlobalAlignment``, 275 points"),
}
LARGE = 15_000  # rows from which KernelRidge takes centres


def advice(rows: int, columns: list[Column], task: str | None) -> list[str]:
    """Sentences for the screen, the command first."""
    kinds = {column.kind for column in columns if column.used}
    if not rows or not kinds:
        return []
    kernel, pairs = KERNELS.get(kinds.pop(), (None, None)) if len(kinds) == 1 else (None, None)
    kernel = kernel or "TableKernel()"
    if task is None:
        return [
            f"Groups: KernelKMeans with {kernel}. A map: KernelPCA. Near-duplicates: mercer dedup.",
            "To predict a column, name it with --target.",
        ]
    machine = "SVC" if task == "classification" else 'KernelRidge(alpha="auto")'
    said = [
        f"The least work: mercer fit chooses by itself: {SEARCH}.",
        f"In Python: {machine} with {kernel}.",
    ]
    if pairs == "``RBF``, 50 columns":
        said.append(f"One fit of {counted_rows(rows)}: {fit_said(rows, task)}, on two cores.")
    elif pairs is not None:
        seconds = rows**2 / 2 / PAIRS[pairs]
        said.append(f"Its {counted_rows(rows)} are compared in {time_said(seconds)} on one core.")
    return said


def fit_said(rows: int, task: str) -> str:
    """Seconds and memory of one fit with an RBF kernel."""
    if task == "classification":
        names = "``SVC``, 50 columns", '``SVC``, 50 columns, ``memory="1.5GB"``'
    elif rows < LARGE:
        names = ("``KernelRidge``, exact",)
    else:
        names = ('``KernelRidge``, ``solver="low_rank"``, 1,000 centres',)
    points = [point for name in names for point in MEASURED[name]]
    exact = rows < LARGE
    seconds = between(points, rows, 2 if exact or task == "classification" else 1)
    sizes = [(least, mb) for least, _, mb in points if mb]
    if task != "classification":
        least, megabytes = sizes[0]
        size = megabytes * (rows / least) ** (2 if exact else 1)
    elif exact:
        size = 8 * rows**2 / 1e6  # a Gram matrix of float64
    else:
        size = next((mb for least, mb in sizes if rows <= least), sizes[-1][1])
    return f"{time_said(seconds)}, {size_said(size)}"


def between(points: list[tuple[int, float, float | None]], rows: int, growth: float) -> float:
    """Seconds for a number of rows: a power of it through the two points beside it."""
    place = bisect_left([least for least, _, _ in points], rows)
    if place in (0, len(points)):
        least, seconds, _ = points[min(place, len(points) - 1)]
        return seconds * (rows / least) ** growth
    (low, fast, _), (high, slow, _) = points[place - 1 : place + 1]
    power = log(slow / fast) / log(high / low)
    return fast * exp(power * log(rows / low))


def time_said(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 0.1:
        return "less than 0.1 seconds"
    if seconds < 120:
        return f"about {spoken(seconds, 1)} seconds"
    return f"about {spoken(seconds / 60, 1)} minutes"


def size_said(megabytes: float) -> str:
    return f"{megabytes / 1000:.1f} GB" if megabytes >= 1000 else f"{max(1, round(megabytes))} MB"


def counted_rows(rows: int) -> str:
    return f"{rows:,} rows"
