"""Learners, kinds of samples, and how much memory a fit and its predictions take.

`measured` runs one case in a process of its own. `tests/test_memory.py` holds each case against its
budget, `benchmarks/memory.py` prints them, and `tests/soak/memory.py` draws others at random. A new
learner is one line of LEARNERS, a new kind of sample one line of SAMPLES.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import mercer
from mercer import deep, distances as d, kernels as k
from mercer.gram import Place
from mercer.search import BruteForce

MB = 10**6
BESIDE = 50 * MB  # what code, threads and allocators may take, whatever the budget is
ARENA = MB // 2  # what the allocator keeps for each further thread
SLACK = 1.1

#: processes that have imported everything, and hold no memory that a fit could use again
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    [
        "pandas",
        "psutil",
        "mercer.selection.automatic",
        "mercer.selection.grid.search",
        "mercer.search",
    ]
)


def _words(rng: np.random.Generator, n: int) -> list[str]:
    letters = rng.choice(list("abcdefgh"), (n, 12))
    return ["".join(row) for row in letters]


def _overlaps(X: list, Z: list) -> np.ndarray:
    """A user's kernel of two whole samples: 1 / (1 + (x - z)²)."""
    return 1 / (1 + np.subtract.outer([x[0] for x in X], [z[0] for z in Z]) ** 2)


#: the kernel, its distance (None if an index has no use for these samples), and n samples
SAMPLES: dict[str, tuple[Any, Any, Callable[[np.random.Generator, int], Any]]] = {
    "float64": (k.RBF(0.1), d.Minkowski(2), lambda rng, n: rng.normal(size=(n, 10))),
    "float32": (
        k.RBF(0.1),
        d.Minkowski(2),
        lambda rng, n: rng.normal(size=(n, 10)).astype(np.float32),
    ),
    "linear": (k.Linear(), None, lambda rng, n: rng.normal(size=(n, 10))),
    "sparse": (
        k.RBF(0.1),
        d.Minkowski(2),
        lambda rng, n: sp.random_array((n, 50), density=0.1, format="csr", rng=rng),
    ),
    "strings": (k.Spectrum(2).normalised(), d.Edit(), _words),
    "edits": (k.EditRBF(0.1), None, _words),
    "sets": (
        k.Jaccard(),
        d.Jaccard(),
        lambda rng, n: [set(row.tolist()) for row in rng.integers(0, 30, (n, 6))],
    ),
    "categories": (k.Match(), d.Match(), lambda rng, n: rng.choice(list("abcd"), (n, 6))),
    "table": (
        k.TableKernel([(k.RBF(0.1), [0, 1, 2]), (k.Match(), [3, 4])]),
        None,
        lambda rng, n: rng.integers(0, 5, (n, 5)).astype(float),
    ),
    "precomputed": ("precomputed", None, lambda rng, n: rng.normal(size=(n, 10))),
    "objects": (
        k.FromFunction(_overlaps, at_once=True),
        None,
        lambda rng, n: [(float(x), "an object") for x in rng.normal(size=n)],
    ),
}
VECTORS = ("float64", "float32", "sparse")


class Learner(NamedTuple):
    """How to make a learner for a kernel, and of what its targets are."""

    make: Callable[..., Any]
    classes: int = 0  # 0 is a regression
    kinds: tuple[str, ...] = tuple(SAMPLES)


def _search(kernel: Any, memory: Any, n_jobs: int | None) -> Any:
    """Two kernels, of one distance if they are radial."""
    kernels = [kernel] if kernel == "precomputed" else [kernel, kernel.copied()]
    if kernel != "precomputed" and "gamma" in kernel.get_params():
        kernels[1].gamma *= 2
    inner = mercer.KernelRidge(kernel=kernel)
    grid = {"kernel": kernels, "alpha": [0.1, 1.0]}
    return mercer.KernelSearchCV(inner, grid, cv=3, memory=memory, n_jobs=n_jobs)


def _two_views(kernel: Any, memory: Any, n_jobs: int | None) -> Any:
    return mercer.KernelCCA(1, kernel=kernel, kernel_y=k.RBF(), memory=memory, n_jobs=n_jobs)


def _layers(kernel: Any, memory: Any, n_jobs: int | None) -> Any:
    return deep.MultilayerKernelMachine(
        kernel=[kernel, k.RBF(0.1)], n_components=5, memory=memory, n_jobs=n_jobs
    )


def _many_kernels(learner: Callable, kernel: Any, memory: Any, n_jobs: int | None, **p: Any) -> Any:
    """Three kernels on the same samples."""
    return learner([kernel, 2 * kernel, kernel.copied()], memory=memory, n_jobs=n_jobs, **p)


LEARNERS: dict[str, Learner] = {
    "SVC": Learner(mercer.SVC, 2),
    "SVC of five": Learner(mercer.SVC, 5),
    "SVC, low rank": Learner(lambda **p: mercer.SVC(solver="low_rank", **p), 2),
    "SVC, probabilities": Learner(lambda **p: mercer.SVC(probability=True, **p), 2),
    "NuSVC": Learner(lambda **p: mercer.NuSVC(nu=0.3, **p), 2),
    "SVR": Learner(mercer.SVR),
    "NuSVR": Learner(mercer.NuSVR),
    "KernelQuantileRegression": Learner(mercer.KernelQuantileRegression),
    "OneClassSVM": Learner(mercer.OneClassSVM),
    "LinearSVC": Learner(lambda kernel, memory, n_jobs: mercer.LinearSVC(), 2, VECTORS),
    "LinearSVR": Learner(lambda kernel, memory, n_jobs: mercer.LinearSVR(), 0, VECTORS),
    "KernelRidge": Learner(mercer.KernelRidge),
    "KernelRidge, leave one out": Learner(lambda **p: mercer.KernelRidge("auto", **p)),
    "KernelRidge, low rank": Learner(lambda **p: mercer.KernelRidge(solver="low_rank", **p)),
    "KernelRidgeClassifier": Learner(mercer.KernelRidgeClassifier, 5),
    "FeatureMachineClassifier": Learner(
        lambda kernel, **p: mercer.FeatureMachineClassifier(**p), 5, VECTORS
    ),
    "FeatureMachineRegressor": Learner(
        lambda kernel, **p: mercer.FeatureMachineRegressor(**p), 0, VECTORS
    ),
    "KernelLogisticRegression": Learner(mercer.KernelLogisticRegression, 5),
    "Perceptron": Learner(lambda kernel, memory, n_jobs: mercer.Perceptron(max_iter=5), 2, VECTORS),
    "KernelPerceptron": Learner(lambda **p: mercer.KernelPerceptron(max_iter=3, **p), 2),
    "KernelPerceptron, votes": Learner(
        lambda **p: mercer.KernelPerceptron(max_iter=3, combine="vote", **p), 2
    ),
    "KernelPerceptron, budget": Learner(
        lambda **p: mercer.KernelPerceptron(max_iter=3, budget=100, **p), 2
    ),
    "KernelKMeans": Learner(lambda **p: mercer.KernelKMeans(5, max_iter=10, n_init=1, **p)),
    "SpectralClustering": Learner(
        lambda **p: mercer.SpectralClustering(5, n_init=1, **p),
        kinds=tuple(name for name in SAMPLES if name != "linear"),  # whose values may be negative
    ),
    "KernelKMeans, low rank": Learner(lambda **p: mercer.KernelKMeans(5, solver="low_rank", **p)),
    "KNeighborsClassifier": Learner(
        lambda kernel, **p: mercer.KNeighborsClassifier(metric=kernel, **p), 5
    ),
    "KNeighborsClassifier, leave one out": Learner(
        lambda kernel, **p: mercer.KNeighborsClassifier("auto", metric=kernel, **p), 5
    ),
    "KNeighborsRegressor, all rows": Learner(
        lambda kernel, **p: mercer.KNeighborsRegressor(
            None, weights="gaussian", width=1.0, metric=kernel, **p
        )
    ),
    "RadiusNeighborsClassifier": Learner(
        lambda kernel, **p: mercer.RadiusNeighborsClassifier(
            0.1, outlier_label="most_frequent", metric=kernel, **p
        ),
        5,
    ),
    "LocalOutlierFactor": Learner(
        lambda kernel, **p: mercer.LocalOutlierFactor(novelty=True, metric=kernel, **p)
    ),
    "Stolp": Learner(lambda kernel, **p: mercer.Stolp(max_error=0.1, metric=kernel, **p), 2),
    "KernelPCA": Learner(lambda **p: mercer.KernelPCA(3, **p)),
    "KernelPCA, low rank": Learner(lambda **p: mercer.KernelPCA(3, eigen_solver="low_rank", **p)),
    "Nystroem": Learner(
        mercer.Nystroem,
        kinds=tuple(name for name in SAMPLES if name != "edits"),  # not positive semidefinite
    ),
    "KernelDiscriminant": Learner(mercer.KernelDiscriminant, 5),
    "MultilayerKernelMachine": Learner(
        _layers,
        5,
        # to choose widths, some rows and columns of a matrix are copied: the part counts
        tuple(name for name in SAMPLES if name != "precomputed"),
    ),
    "DeepKernelMachineRegressor": Learner(
        lambda **p: deep.DeepKernelMachineRegressor(1, max_iter=3, **p)
    ),
    "DeepKernelMachineClassifier": Learner(
        lambda **p: deep.DeepKernelMachineClassifier(1, max_iter=3, **p), 2
    ),
    "KernelCCA": Learner(_two_views, 0, ("float64", "strings", "table")),
    "KernelSearchCV": Learner(_search, 0, ("float64", "linear", "strings", "precomputed")),
    "KernelClassifier": Learner(
        lambda kernel, memory, n_jobs: mercer.KernelClassifier(
            trials=2, memory=memory, n_jobs=n_jobs
        ),
        2,
        ("float64", "strings", "categories", "table"),
    ),
    "KernelRegressor": Learner(
        lambda kernel, memory, n_jobs: mercer.KernelRegressor(
            trials=2, memory=memory, n_jobs=n_jobs
        ),
        0,
        ("float64", "strings", "categories", "table"),
    ),
    "MultipleKernelClassifier": Learner(
        partial(_many_kernels, mercer.MultipleKernelClassifier),
        2,
        # of precomputed matrices X is a list; edits are not positive semidefinite
        tuple(name for name in SAMPLES if name not in ("precomputed", "edits")),
    ),
    "MultipleKernelClassifier, simple": Learner(
        partial(_many_kernels, mercer.MultipleKernelClassifier, method="simple"),
        2,
        ("float64", "strings"),
    ),
    "MultipleKernelClassifier, easy": Learner(
        partial(_many_kernels, mercer.MultipleKernelClassifier, method="easy"),
        2,
        ("float32", "table"),
    ),
    "MultipleKernelRegressor, unsupervised": Learner(
        partial(_many_kernels, mercer.MultipleKernelRegressor, method="unsupervised"),
        0,
        ("float64", "sets"),
    ),
    "NadarayaWatson": Learner(lambda kernel, **p: mercer.NadarayaWatson(metric=kernel, **p)),
    "NadarayaWatsonClassifier": Learner(
        lambda kernel, **p: mercer.NadarayaWatsonClassifier("learnt", metric=kernel, **p), 2
    ),
    "NadarayaWatson, k nearest": Learner(
        lambda kernel, **p: mercer.NadarayaWatson(None, n_neighbors=5, metric=kernel, **p)
    ),
    "NadarayaWatson, lines": Learner(
        lambda kernel, **p: mercer.NadarayaWatson(degree=1, **p), 0, VECTORS[:2]
    ),
    "KernelDensity": Learner(lambda kernel, **p: mercer.KernelDensity(metric=kernel, **p)),
    "BruteForce": Learner(
        lambda kernel, memory, n_jobs: BruteForce(kernel, memory=memory, n_jobs=n_jobs),
        0,
        tuple(kind for kind, (_, distance, _) in SAMPLES.items() if distance is not None),
    ),
}


class Measured(NamedTuple):
    """What a case took."""

    peak: int  # bytes of resident memory beyond what it was before the fit
    seconds: float
    how: str  # the solver and K, in the learner's words
    refused: str  # the message of a MemoryError, or empty
    warned: list[str]

    def keeps(self, memory: Any, threads: int = 1) -> bool:
        """Whether the budget was kept."""
        beside = BESIDE + (threads - 1) * ARENA
        return self.peak <= SLACK * Place(memory).budget() + beside


def measured(learner: str, kind: str, n: int, memory: Any, n_jobs: int | None = None) -> Measured:
    """Fit to n samples, predict as many others, in a process of its own.

    Not counted are the samples, what is imported, and what a first small fit leaves behind.
    """
    with ProcessPoolExecutor(1, mp_context=PROCESSES) as process:
        return process.submit(_run, learner, kind, n, memory, n_jobs).result()


def command_peak(folder: Path, rows: int, memory: str) -> int:
    """Bytes that ``mercer fit`` with its report takes beyond a first small one."""
    with ProcessPoolExecutor(1, mp_context=PROCESSES) as process:
        return process.submit(_command, folder, rows, memory).result()


def _command(folder: Path, rows: int, memory: str) -> int:
    import pandas as pd

    from mercer.cli.app import run

    os.chdir(folder)
    rng, before = np.random.default_rng(0), 0
    for name, n in (("small", 60), ("large", rows)):
        X, level = rng.normal(size=(n, 8)), rng.integers(0, 4, n)
        y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] * level > 0.5, "yes", "no")
        columns = {f"x{j}": X[:, j] for j in range(8)} | {"level": level.astype(str), "y": y}
        pd.DataFrame(columns).to_csv(f"{name}.csv", index=False)
    for name, budget in (("small", "100MB"), ("large", memory)):
        before = resident()
        try:
            run(["fit", f"{name}.csv", "--target=y", "--trials=2", f"--memory={budget}",
                 f"--output={name}.mercer", "--quiet"])  # fmt: skip
        except SystemExit as done:
            if done.code:
                raise RuntimeError(f"mercer fit ended with exit code {done.code}") from done
    return resident(highest=True) - before


def _run(name: str, kind: str, n: int, memory: Any, n_jobs: int | None) -> Measured:
    learner = LEARNERS[name]
    kernel, distance, draw = SAMPLES[kind]
    rng = np.random.default_rng(0)
    X, Z = draw(rng, n), draw(rng, n)
    y, y_small = _target(kernel, X, learner.classes), np.arange(40) % max(learner.classes, 2)
    kernel = distance if name == "BruteForce" else kernel

    def part(samples: Any, rows: int) -> Any:
        return samples[:rows] if kind != "precomputed" else _similarity(samples[:rows], X[:rows])

    small, new = part(X, 40), part(Z, 40)
    how, refused = "", ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _use(learner.make(kernel=kernel, memory="100MB", n_jobs=n_jobs), small, new, y_small)
        caught.clear()
        X, Z = part(X, n), part(Z, n)
        model = learner.make(kernel=kernel, memory=memory, n_jobs=n_jobs)
        began, before = time.perf_counter(), resident()
        try:
            _use(model, X, Z, y)
        except MemoryError as error:
            refused = str(error)
        peak, seconds = resident(highest=True) - before, time.perf_counter() - began
    how = ", ".join(str(getattr(model, a)) for a in ("solver_", "gram_") if hasattr(model, a))
    return Measured(peak, seconds, how, refused, [str(w.message) for w in caught])


def _use(model: Any, X: Any, Z: Any, y: np.ndarray) -> None:
    """Fit, and predict by every method that compares samples."""
    model.fit(X, y)
    if isinstance(model, BruteForce):
        model.query(Z, k=5)
        return
    # a matrix lacks k(x, x) of new samples, which distances to clusters need
    lacking = isinstance(model, mercer.KernelKMeans) and model.kernel == "precomputed"
    for method in (
        "predict", "decision_function", "predict_proba", "transform", "score_samples"
    ):  # fmt: skip
        if hasattr(model, method) and not (lacking and method == "transform"):
            getattr(model, method)(Z)


def _similarity(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return k.RBF(0.1)(Z, X).T if X is Z else k.RBF(0.1)(X, Z)


def _target(kernel: Any, X: Any, classes: int) -> np.ndarray:
    """What a machine of the kernel can learn: to which of the first samples each is nearest."""
    K = (k.RBF(0.1) if kernel == "precomputed" else kernel)(X, X[: max(classes, 3)])
    return K.argmax(axis=1) if classes else K.sum(axis=1)


def resident(*, highest: bool = False) -> int:
    """Bytes of this process in memory now, from which ``highest`` counts on (Linux)."""
    if not highest:
        Path("/proc/self/clear_refs").write_text("5")
    text = Path("/proc/self/status").read_text()
    found = re.search(rf"{'VmHWM' if highest else 'VmRSS'}:\s*(\d+)", text)
    assert found is not None
    return 1024 * int(found[1])
