"""Learners over partitions: two workers of one thread beside one process of two threads.

Rows are in memory on both sides before a fit. A worker is then killed in the middle of a fit whose
rows are made by tasks, and counts are compared. Bytes are those of the messages of one partition,
of which the weak-scaling model in docs/cluster.rst is made.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
import warnings
from typing import Any

import dask.array as da
import numpy as np
from dask import delayed
from distributed import Client, LocalCluster, wait
from sklearn.base import clone

from harness import Section, interleaved, options
from mercer import AdditiveRegressor, KernelRidge
from mercer.distributed import Distributed

D, PARTS = 20, 8


def block(i: int, rows: int) -> np.ndarray:
    """Rows of a partition and their targets, by its number."""
    rng = np.random.default_rng(i)
    X = rng.uniform(-1, 1, (rows, D))
    f = np.sin(3 * X[:, 0]) + X[:, 1] + np.abs(X[:, 2])
    return np.column_stack([X, f + rng.normal(scale=0.3, size=rows)])


def collection(rows: int) -> tuple[Any, Any]:
    """X and y, whose partitions are made by tasks."""
    each = [
        da.from_delayed(delayed(block)(i, rows // PARTS), (rows // PARTS, D + 1), float)
        for i in range(PARTS)
    ]
    table = da.concatenate(each)
    return table[:, :D], table[:, D]


def message(learner: Any, rows: int) -> int:
    """Bytes that the sums of one partition take between processes."""
    some = block(0, rows)
    X, y = some[:, :D], some[:, D]
    fit = clone(learner).part_fit()
    survey = fit.survey(X, y)
    chosen = fit.sample(survey)
    fit.begin(survey, X[chosen], y[chosen])
    return len(pickle.dumps(fit.sums(X, y), protocol=5))


def kill_one(client: Client, after: float) -> threading.Timer:
    """Kill a worker after so many seconds."""
    worker = next(iter(client.cluster.workers.values()))
    timer = threading.Timer(after, os.kill, (worker.pid, signal.SIGKILL))
    timer.start()
    return timer


def same_counts(a: Any, b: Any) -> bool:
    return all(np.array_equal(p.counts, q.counts) for p, q in zip(a.shapes_, b.shapes_))


def main() -> None:
    chosen = options()
    quick = chosen.quick
    warnings.simplefilter("ignore")
    section = Section(
        "cluster",
        f"Fits to {D} columns in {PARTS} partitions; median seconds of interleaved runs of one "
        "process with two threads and of two workers of one thread, both with their rows in "
        "memory; MB that the sums of a partition take between processes.",
        ["fit", "1 process, s", "2 workers, s", "speed of both", "MB a partition"],
    )
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    tasks = {
        "additive": (
            AdditiveRegressor(pairs=0, gamma=1.0, n_jobs=2),
            160_000 if quick else 8_000_000),
        "ridge, 1,000 centres": (
            KernelRidge(1.0, kernel="rbf", solver="low_rank", rank=100 if quick else 1000,
                        random_state=0, n_jobs=2),
            40_000 if quick else 400_000),
        "exact ridge, conjugate gradients": (
            KernelRidge(1.0, kernel="rbf", solver="conjugate_gradient", rank=100, tol=1e-4,
                        random_state=0, n_jobs=2),
            4_000 if quick else 30_000),
    }  # fmt: skip
    with LocalCluster(silence_logs=50, **settings) as cluster, Client(cluster) as client:
        for name, (learner, rows) in tasks.items():
            far = [part.persist() for part in collection(rows)]
            wait(far)
            X, y = (part.compute() for part in far)
            times = interleaved(
                {
                    "one": lambda learner=learner, X=X, y=y: clone(learner).fit(X, y),
                    "two": lambda learner=learner, far=far: Distributed(learner, client).fit(*far),
                },
                1 if quick else 5,
            )
            parts = hasattr(learner, "pairs") or learner.solver == "low_rank"
            size = f"{message(learner, rows // PARTS) / 1e6:.1f}" if parts else "–"
            speed = times["one"] / times["two"]
            section.row(
                f"{name}, {rows:,} rows", f"{times['one']:.2f}", f"{times['two']:.2f}",
                f"{speed:.2f}", size,
            )  # fmt: skip
            if name == "additive":
                whole = clone(learner).fit(X, y)
                began = time.perf_counter()
                timer = kill_one(client, 0.6 * times["two"])
                found = Distributed(learner, client).fit(*collection(rows))
                seconds = time.perf_counter() - began
                timer.join()
                same = same_counts(whole, found.to_local())
                section.note(
                    f"additive with a worker killed after {0.6 * times['two']:.1f} s, rows made by "
                    f"tasks: {seconds:.1f} s, counts {'the same' if same else 'DIFFERENT'}"
                )
            del far, X, y
    section.finish(chosen.write)


if __name__ == "__main__":
    main()
