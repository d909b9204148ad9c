"""How processor seconds and memory grow with rows, columns, classes, lengths and kernels.

Each learner is fitted (or each matrix computed) at sizes that grow by a factor, on one thread,
each size in a process of its own. The exponent is that of least squares of logarithms over the
upper half of the sizes, beside the theory's. A size that the theory puts above ``--limit`` seconds
is left out. ``--large`` goes to 10,000,000 rows where the cost is linear, ``--only`` chooses
learners by a part of their names.
"""

from __future__ import annotations

import json
import os
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from harness import ONE_THREAD, Section, options

os.environ |= ONE_THREAD

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import mercer
from mercer import Chunks, distances, kernels as k

Run = Callable[[], object]
ROWS = [1000, 2150, 4640, 10_000, 21_500, 46_400, 100_000]
LARGE = [215_000, 464_000, 1_000_000, 2_150_000, 4_640_000, 10_000_000]
COLUMNS = [10, 32, 100, 316, 1000, 3160, 10_000]
MANY_COLUMNS = [*COLUMNS[2:], 31_600, 100_000]
CLASSES = [2, 8, 32, 128, 512, 1000]
LENGTHS = [64, 128, 256, 512, 1024, 2048]
KERNELS = [4, 8, 16, 32, 64, 128]
BLOCKS = "features are made for 16,384 rows at a time, which the smaller of these sizes do not fill"
MARGIN = 0.2  # above the theory by more is said
LEAST_MB = 10.0  # memory below it is that of the interpreter as well


class Case(NamedTuple):
    """A learner in one direction: the theory's exponents, and what is run at a size."""

    name: str
    direction: str
    seconds: float
    memory: float | None
    sizes: list[int]
    make: Callable[[int], Run]
    why: str = ""  # if it grows faster than the theory says


def table(n: int, d: int = 10, classes: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, classes that overlap, and a smooth target."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    f = rng.normal(size=(classes, min(d, 10)))
    X = rng.standard_normal((n, d), np.float32)
    X[:, : f.shape[1]] += 0.5 * f[y]
    return X, y, np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)


def texts(n: int, d: int, words: int = 50) -> tuple[sp.csr_array, np.ndarray]:
    """Sparse rows with as many words each, whatever the number of columns."""
    rng = np.random.default_rng(0)
    places = rng.integers(0, d, n * words).astype(np.int32)
    X = sp.csr_array((np.ones(n * words), places, words * np.arange(n + 1, dtype=np.int32)))
    X.resize(n, d)
    return X, rng.integers(0, 2, n)


def dna(n: int, length: int) -> list[str]:
    letters = np.random.default_rng(0).choice(list("ACGT"), (n, length))
    return ["".join(row) for row in letters]


def fit(learner: Any, target: int = 1, **shape: int) -> Callable[[int], Run]:
    """The fit of a table of so many rows; ``target`` 1 is the classes, 2 the numbers, 0 neither."""

    def make(n: int) -> Run:
        data = table(n, **shape)
        given = [data[0], data[target]] if target else [data[0]]
        return lambda: learner().fit(*given)

    return make


def features(learner: Any) -> Callable[[int], Run]:
    """The fit and all features, 16,384 rows at a time, as a stream of rows would be read."""

    def make(n: int) -> Run:
        X, _, _ = table(n)

        def run() -> None:
            model = learner().fit(X)
            for start in range(0, n, 16_384):
                model.transform(X[start : start + 16_384])

        return run

    return make


def wide(learner: Any, n: int, target: int = 1) -> Callable[[int], Run]:
    return lambda d: fit(learner, target, d=d)(n)


def of_classes(learner: Any, n: int) -> Callable[[int], Run]:
    return lambda c: fit(learner, classes=c)(n)


def queried(n: int, d: int = 10, classes: int = 2, queries: int = 1000, **given: Any) -> Run:
    X, y, _ = table(n, d, classes)
    model = mercer.KNeighborsClassifier(10, n_jobs=1, **given)
    return lambda: model.fit(X, y).predict(X[:queries])


def chunks(learner: Any, target: int) -> Callable[[int], Run]:
    def make(n: int) -> Run:
        data = table(n)
        return lambda: learner().fit_chunks(Chunks(data[0], data[target], rows=8192))

    return make


def strings(kernel: Any, n: int) -> Callable[[int], Run]:
    def make(length: int) -> Run:
        rows = dna(n, length)
        encoded = kernel.encode(rows)
        return lambda: kernel.bind(encoded).whole(encoded, encoded, n_jobs=1)

    return make


def series(comparison: Any, n: int) -> Callable[[int], Run]:
    def make(length: int) -> Run:
        rows = np.random.default_rng(0).normal(size=(n, length)).cumsum(axis=1)
        encoded = comparison.encode(rows / rows.std())
        return lambda: comparison.bind(encoded).whole(encoded, encoded, n_jobs=1)

    return make


def many_kernels(method: str) -> Callable[[int], Run]:
    def make(count: int) -> Run:
        X, y, _ = table(400)
        each = [k.RBF(gamma) for gamma in np.geomspace(1e-3, 1, count)]
        model = mercer.MultipleKernelClassifier(each, method=method, n_jobs=1)
        return lambda: model.fit(X, y)

    return make


def sparse(learner: Any) -> Callable[[int], Run]:
    def make(d: int) -> Run:
        X, y = texts(10_000, d)
        return lambda: learner().fit(X, y)

    return make


ONE: dict[str, Any] = {"n_jobs": 1}
RANK = ONE | {"kernel": "rbf", "rank": 200, "solver": "low_rank", "random_state": 0}
SVC = lambda: mercer.SVC(gamma=0.05, **ONE)  # noqa: E731
RIDGE = lambda: mercer.KernelRidge(0.1, kernel="rbf", solver="cholesky", **ONE)  # noqa: E731
PCA = lambda: mercer.KernelPCA(10, kernel="rbf", random_state=0, **ONE)  # noqa: E731
MEANS = lambda: mercer.KernelKMeans(  # noqa: E731
    10, n_init=1, max_iter=10, solver="exact", random_state=0, **ONE
)
LINEAR = lambda: mercer.LinearSVC(random_state=0, **ONE)  # noqa: E731
LOW_RANK = lambda: mercer.KernelRidge(0.1, **RANK)  # noqa: E731
NYSTROEM = lambda: mercer.Nystroem(n_components=200, random_state=0, **ONE)  # noqa: E731
RANDOM = lambda: mercer.RandomFeatures(n_components=200, random_state=0, **ONE)  # noqa: E731
ADDITIVE = lambda: mercer.AdditiveRegressor(pairs=0, **ONE)  # noqa: E731
CLASSES_OF_ADDITIVE = lambda: mercer.AdditiveClassifier(pairs=0, **ONE)  # noqa: E731
DISCRIMINANT = lambda: mercer.KernelDiscriminant(0.1, kernel="rbf", random_state=0, **ONE)  # noqa: E731
LOGISTIC = lambda: mercer.KernelLogisticRegression(kernel="rbf", random_state=0, **ONE)  # noqa: E731
RIDGE_CLASSES = lambda: mercer.KernelRidgeClassifier(0.1, kernel="rbf", **ONE)  # noqa: E731


def cases() -> list[Case]:
    few = [250, 500, 1000, 2000, 4000, 8000]  # where the cost is cubic
    return [
        Case("SVC", "rows", 2, 2, ROWS, fit(SVC)),
        Case("KernelRidge", "rows", 3, 2, few, fit(RIDGE, 2)),
        Case("KernelPCA", "rows", 2, 2, ROWS, fit(PCA, 0)),
        Case("KernelKMeans", "rows", 2, 2, ROWS, fit(MEANS, 0)),
        Case("KernelDiscriminant", "rows", 3, 2, few, fit(DISCRIMINANT)),
        Case("KernelLogisticRegression", "rows", 3, 2, few, fit(LOGISTIC)),
        Case("KNeighbors, brute, 1,000 queries", "rows", 1, 1, ROWS,
             lambda n: queried(n, algorithm="brute")),
        Case("KNeighbors, tree of 3 columns", "rows", 1, 1, ROWS,
             lambda n: queried(n, 3, algorithm="kd_tree")),
        Case("LinearSVC", "rows", 1, 1, ROWS, fit(LINEAR)),
        Case("KernelRidge, low rank", "rows", 1, 1, ROWS, fit(LOW_RANK, 2)),
        Case("Nystroem, features", "rows", 1, 0, ROWS, features(NYSTROEM), BLOCKS),
        Case("RandomFeatures, features", "rows", 1, 0, ROWS, features(RANDOM), BLOCKS),
        Case("AdditiveRegressor", "rows", 1, 1, ROWS, fit(ADDITIVE, 2)),
        Case("AdditiveClassifier", "rows", 1, 1, ROWS, fit(CLASSES_OF_ADDITIVE)),
        Case("stream, LinearSVC", "rows", 1, 0, ROWS, chunks(LINEAR, 1)),
        Case("stream, KernelRidge", "rows", 1, 0, ROWS, chunks(LOW_RANK, 2)),
        Case("stream, AdditiveRegressor", "rows", 1, 0, ROWS, chunks(ADDITIVE, 2)),
        Case("SVC", "columns", 1, 1, COLUMNS, wide(SVC, 1000)),
        Case("KernelRidge", "columns", 1, 1, COLUMNS, wide(RIDGE, 1000, 2)),
        Case("KernelPCA", "columns", 1, 1, COLUMNS, wide(PCA, 1000, 0)),
        Case("KernelKMeans", "columns", 1, 1, COLUMNS, wide(MEANS, 1000, 0)),
        Case("KNeighbors, brute", "columns", 1, 1, COLUMNS,
             lambda d: queried(1000, d, algorithm="brute")),
        Case("LinearSVC", "columns", 1, 1, COLUMNS, wide(LINEAR, 1000)),
        Case("LinearSVC, 50 words a row", "columns", 1, 1, MANY_COLUMNS, sparse(LINEAR)),
        Case("Nystroem", "columns", 1, 1, COLUMNS, wide(NYSTROEM, 1000, 0)),
        Case("AdditiveRegressor", "columns", 2, 2, [4, 8, 16, 32, 64], wide(ADDITIVE, 2000, 2)),
        Case("SVC", "classes", 2, 2, CLASSES, of_classes(SVC, 2000)),
        Case("LinearSVC", "classes", 1, 1, CLASSES, of_classes(LINEAR, 4000)),
        Case("KernelRidgeClassifier", "classes", 1, 1, CLASSES, of_classes(RIDGE_CLASSES, 2000)),
        Case("KernelDiscriminant", "classes", 1, 1, CLASSES[:-2], of_classes(DISCRIMINANT, 600)),
        Case("KNeighbors, brute", "classes", 1, 1, CLASSES,
             lambda c: queried(4000, classes=c, algorithm="brute")),
        Case("Spectrum(6)", "length", 1, 1, LENGTHS, strings(k.Spectrum(6), 200)),
        Case("Mismatch(4, 1)", "length", 1, 1, LENGTHS, strings(k.Mismatch(4, 1), 200)),
        Case("GappedKmer(8, 5)", "length", 1, 1, LENGTHS, strings(k.GappedKmer(8, 5), 100)),
        Case("WeightedDegree(8)", "length", 1, 1, LENGTHS, strings(k.WeightedDegree(8), 200)),
        Case("GapWeighted(3)", "length", 2, 1, LENGTHS, strings(k.GapWeighted(3), 24)),
        Case("AllSubsequences", "length", 2, 1, LENGTHS, strings(k.AllSubsequences(), 48)),
        Case("LocalAlignment", "length", 2, 1, LENGTHS, strings(k.LocalAlignment(), 16)),
        Case("Edit", "length", 2, 1, LENGTHS, strings(distances.Edit(), 128)),
        Case("DTW", "length", 2, 1, LENGTHS, series(distances.DTW(), 24)),
        Case("DTW, window 0.1", "length", 2, 1, LENGTHS, series(distances.DTW(0.1), 48)),
        Case("GlobalAlignment", "length", 2, 1, LENGTHS, series(k.GlobalAlignment(), 24)),
        Case("Signature(4)", "length", 2, 1, LENGTHS, series(k.Signature(4), 16)),
        Case("MultipleKernel, align", "kernels", 2, 1, KERNELS, many_kernels("align")),
        Case("MultipleKernel, easy", "kernels", 1, 1, KERNELS, many_kernels("easy")),
        Case("MultipleKernel, simple", "kernels", 1, 1, KERNELS, many_kernels("simple")),
    ]  # fmt: skip


def resident(what: str) -> float:
    """MB of this process: VmRSS now, or VmHWM at its peak."""
    found = re.search(rf"{what}:\s*(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def point(case: Case, size: int) -> tuple[float, float]:
    """Least processor seconds of some runs, and the peak MB beyond the samples."""
    run = case.make(size)
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM starts anew
    before, times = resident("VmRSS"), []
    peak = 0.0
    while not times or (sum(times) < 0.2 and len(times) < 7):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
        peak = peak or resident("VmHWM")  # of the first run: later ones use its memory again
    return min(times), peak - before


def apart(case: Case, size: int) -> tuple[float, float]:
    """`point` in a child, so that no size finds the memory of an earlier one."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                os.write(writes, json.dumps(point(case, size)).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writes)
    with os.fdopen(reads) as file:
        said = file.read()
    os.waitpid(child, 0)
    if not said:
        raise RuntimeError(f"{case.name}, {case.direction} {size:,} has failed")
    return tuple(json.loads(said))


def exponent(sizes: list[int], values: list[float]) -> float | None:
    """The slope of logarithms by least squares over the upper half, of at least three sizes."""
    if len(sizes) < 3:
        return None
    upper = slice(min(len(sizes) // 2, len(sizes) - 3), None)
    return float(np.polyfit(np.log(sizes[upper]), np.log(values[upper]), 1)[0])


def written(slope: float | None) -> str:
    return "" if slope is None else f"{slope:.2f}"


def measure(case: Case, limit: float, large: bool) -> tuple[list[str], list[str]]:
    """The cells of a case, and what grows faster than its theory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case.make(case.sizes[0])()  # what is loaded on first use, for all children
    sizes, seconds, memory = [], [], []
    linear = case.direction == "rows" and case.seconds == 1
    for size in [*case.sizes, *(LARGE if large and linear else [])]:
        if sizes and seconds[-1] * (size / sizes[-1]) ** case.seconds > limit:
            break
        took, peak = apart(case, size)
        sizes.append(size)
        seconds.append(took)
        memory.append(max(peak, 0.1))
    cost = exponent(sizes, seconds)
    kept = exponent(sizes, memory) if min(memory[-3:]) > LEAST_MB else None
    above = []
    for what, found, theory in (("seconds", cost, case.seconds), ("MB", kept, case.memory)):
        if found is not None and theory is not None and found > theory + MARGIN:
            above.append(f"{case.name} by {case.direction}, {what} {found:.2f} ({theory:g})")
    return [
        case.name, case.direction, joined(sizes, ",d"), joined(seconds, ".3g"), written(cost),
        f"{case.seconds:g}", joined(memory, ".0f"), written(kept),
        "" if case.memory is None else f"{case.memory:g}",
    ], [f"{words}: {case.why or 'not explained'}" for words in above]  # fmt: skip


def joined(values: list[Any], form: str) -> str:
    return " · ".join(format(value, form) for value in values)


def main() -> None:
    args = options(
        ("--large", {"action": "store_true", "help": "to 10,000,000 rows where it is linear"}),
        ("--limit", {"type": float, "default": 4.0, "help": "seconds that no size may take"}),
        ("--only", {"default": "", "help": "a part of the names"}),
    )
    if args.write and args.only:
        raise SystemExit("--only measures a part: leave out --only or --write")
    section = Section(
        "growth",
        f"Least processor seconds, up to about {args.limit:g}, and peak MB beyond the samples; "
        "one thread, each size in a process of its own. Exponents: least squares of logarithms "
        "over the upper half of the sizes, beside those of the theory.",
        ["learner", "grows with", "sizes", "seconds", "exponent", "theory", "MB", "MB exponent",
         "MB theory"],
    )  # fmt: skip
    began, above = os.times(), []
    for case in cases():
        if args.only.lower() not in f"{case.name}, {case.direction}".lower():
            continue
        cells, more = measure(case, min(args.limit, 0.3) if args.quick else args.limit, args.large)
        section.row(*cells)
        above += more
    section.note(f"above the theory by more than {MARGIN}: {'; '.join(above) or 'none'}")
    spent = os.times()
    used = sum(spent[i] - began[i] for i in range(4))
    section.note(f"the whole run: {used:.0f} processor seconds")
    section.finish(args.write)


if __name__ == "__main__":
    main()
