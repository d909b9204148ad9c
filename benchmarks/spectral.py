"""Spectral learners beside their peers: eigenvalues, seconds and peak memory in one run."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

import numpy as np
import sklearn.decomposition

from harness import Section, interleaved, options
from mercer import KernelPCA

COMPONENTS, GAMMA = 20, 0.05

FLOOR = (
    "processor time of 10,000 rows, one thread: half of K in float32 0.13 s, five products of 32 "
    "columns 0.3 to 0.45 s (0.5 to 0.6 s by BLAS, which copies K first), orthogonal bases and "
    "small eigenproblems in float64 0.2 s, one product with K in float64, computed on its way, "
    "0.3 to 0.36 s, the start from 500 rows 0.06 s. Bases in float32 stop at a residual of 3e-5; "
    "blocks of 48 columns need one product less, each of which takes 1.3 times as long. 5 times as "
    "fast as scikit-learn is not reached: it would be 1.12 s, of which these parts, each at its "
    "least, take 0.99 s"
)

#: prints seconds, those of the processor, peak MB beyond the samples, solver, residual, products
ALONE = """
import re, sys, time
import numpy as np
from mercer import KernelPCA
rng = np.random.default_rng(0)
n, solver, memory = int(sys.argv[1]), sys.argv[2], sys.argv[3]
X = rng.normal(size=(n, 20)) * np.r_[3.0, 2.0, 1.5, 1.0, 1.0, np.full(15, 0.3)]
def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1024
KernelPCA(3, kernel="rbf", eigen_solver=solver, rank=5).fit(X[:2000])
before, began, busy = peak(), time.perf_counter(), time.process_time()
pca = KernelPCA(
    20, kernel="rbf", gamma=0.05, eigen_solver=solver, rank=300, memory=memory, random_state=0
)
pca.fit(X)
seconds, busy = time.perf_counter() - began, time.process_time() - busy
print(seconds, busy, peak() - before, pca.solver_, pca.residual_, pca.n_iter_)
"""


def samples(n: int) -> np.ndarray:
    """Twenty columns, of which five vary much: eigenvalues fall, but not at once."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 20)) * np.r_[3.0, 2.0, 1.5, 1.0, 1.0, np.full(15, 0.3)]


def components(quick: bool) -> Section:
    """KernelPCA of 20 components: beside scikit-learn, then alone where that does not fit."""
    section = Section(
        "kernel_pca",
        f"{COMPONENTS} components of an RBF kernel on 20 columns, float64. 10,000 rows: median of "
        "interleaved runs; beyond, each fit in a process of its own, with its peak memory beyond "
        "the samples; low rank is of 300 centres.",
        [
            "rows",
            "solver",
            "seconds",
            "processor",
            "peak MB",
            "float64 products",
            "residual",
            "relative difference",
        ],
    )
    n = 3000 if quick else 10_000
    X, shared = samples(n), {"kernel": "rbf", "gamma": GAMMA}
    fitted: dict = {}
    busy: dict[str, list[float]] = {}

    def run(name: str, model) -> None:
        began = time.process_time()
        fitted[name] = model.fit(X)
        busy.setdefault(name, []).append(time.process_time() - began)

    peers = {
        name: sklearn.decomposition.KernelPCA(
            COMPONENTS, eigen_solver=name, random_state=0, **shared
        )
        for name in ("arpack", "randomized")
    }
    ours = KernelPCA(COMPONENTS, random_state=0, **shared)
    runs = {"mercer": lambda: run("mercer", ours)}
    for name, peer in peers.items():
        runs[f"scikit-learn, {name}"] = lambda name=name, peer=peer: run(name, peer)
    seconds = interleaved(runs, 1 if quick else 3)
    wanted = fitted["arpack"].eigenvalues_
    for name, key in zip(runs, ["mercer", *peers]):
        difference = float(np.abs(fitted[key].eigenvalues_ / wanted - 1).max())
        known = key == "mercer"
        section.row(
            f"{n:,}", f"{name}, {ours.solver_}" if known else name, f"{seconds[name]:.2f}",
            f"{statistics.median(busy[key]):.2f}", "",
            ours.n_iter_ if known else "", f"{ours.residual_:.0e}" if known else "",
            f"{difference:.0e}",
        )  # fmt: skip
    best = min(seconds[name] for name in runs if name != "mercer")
    least = min(statistics.median(busy[key]) for key in peers)
    section.note(
        f"{best / seconds['mercer']:.1f} times as fast as scikit-learn's faster solver, "
        f"{least / statistics.median(busy['mercer']):.1f} times in processor time"
    )
    section.note(FLOOR)
    cases = [(50_000, "krylov", "3GB"), (10**6, "low_rank", "3GB")]
    for rows, solver, memory in cases[:1] if quick else cases:
        rows = rows // 10 if quick else rows
        done = subprocess.run(
            [sys.executable, "-c", ALONE, str(rows), solver, memory],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        took, processor, peak, name, residual, products = done.stdout.split()
        section.row(
            f"{rows:,}", f"mercer, {name}, memory={memory!r}", f"{float(took):.1f}",
            f"{float(processor):.1f}", f"{float(peak):.0f}", products if solver == "krylov" else "",
            f"{float(residual):.0e}" if solver == "krylov" else "", "",
        )  # fmt: skip
    if hasattr(os, "getloadavg"):
        section.note(f"processes that wanted a core at the end: {os.getloadavg()[0]:.0f}")
    return section


def main() -> None:
    args = options()
    components(args.quick).finish(args.write)


if __name__ == "__main__":
    main()
