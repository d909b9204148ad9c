"""Deep kernel machines of many rows with inducing points, beside ridge regression of low rank."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from harness import Section, options
from mercer import KernelRidge
from mercer.deep import DeepKernelMachineRegressor

NEW = 10_000
NOISE = 0.3
SHARE = 0.003  # dof, as a part of the rows
GAMMA, ALPHA = [0.003, 0.01, 0.03, 0.1, 0.3], [1e-3, 1e-1, 10.0]


def problem(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten columns, of which four matter; noise of a known size."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    signal = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3])
    return X, signal + NOISE * rng.normal(size=n)


def peak() -> float:
    """Peak resident MB of this process."""
    found = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def run(machine: str, n: int, points: int, steps: int) -> dict:
    """One fit in this process: its cost, and its errors on new rows."""
    X, y = problem(n + NEW)
    before, began, cpu = peak(), time.perf_counter(), time.process_time()
    if machine == "deep":
        model = DeepKernelMachineRegressor(
            1, n_inducing=points, dof=SHARE * n, max_iter=steps, random_state=0
        ).fit(X[:n], y[:n])
        path = model.objective_path_
        still = int(np.argmax(path >= path[-1] - 1e-4 * abs(path[-1])))
        chosen = (
            f"objective {path[-1]:.1f} after {model.n_iter_} steps, relative gradient "
            f"{model.gradient_norm_:.1e}; within 1e-4 of it after {still} steps"
        )
    else:  # gamma and alpha by the last fifth of the first 10,000 rows
        few = min(n, 10_000)
        cut = few * 4 // 5

        def made(gamma: float, alpha: float) -> KernelRidge:
            return KernelRidge(
                alpha, kernel="rbf", gamma=gamma, solver="low_rank", rank=points, random_state=0
            )

        tried = [
            (
                np.mean((made(g, a).fit(X[:cut], y[:cut]).predict(X[cut:few]) - y[cut:few]) ** 2),
                g,
                a,
            )
            for g in GAMMA
            for a in ALPHA
        ]
        _, gamma, alpha = min(tried)
        model = made(gamma, alpha).fit(X[:n], y[:n])
        chosen = f"gamma {gamma:g}, alpha {alpha:g}"
    seconds, used, memory = time.perf_counter() - began, time.process_time() - cpu, peak() - before
    if machine == "deep":
        mean, std = model.predict(X[n:], return_std=True)
        logs = -0.5 * np.log(2 * np.pi * std**2) - (y[n:] - mean) ** 2 / (2 * std**2)
        likelihood = f"{logs.mean():.3f}"
    else:
        mean, likelihood = model.predict(X[n:]), ""
    error = float(np.sqrt(np.mean((mean - y[n:]) ** 2)))
    share = 1 - error**2 / float(np.var(y[n:]))
    return {
        "seconds": seconds, "cpu": used, "memory": memory, "error": error, "share": share,
        "likelihood": likelihood, "chosen": chosen,
    }  # fmt: skip


def main() -> None:
    args = options(("--run", {"nargs": 4}), ("--sizes", {"default": ""}))
    if args.run:
        warnings.simplefilter("ignore")
        print(json.dumps(run(args.run[0], *map(int, args.run[1:]))))
        return
    section = Section(
        "deep_kernel_inducing",
        "Regression with many rows x 10 columns, of which 4 matter, noise 0.3; 10,000 other rows "
        f"for the test. The deep kernel machine has one learnt layer, dof {SHARE:g} n; each fit in "
        "a process of its own. Ridge: RBF of low rank with as many centres, gamma and alpha by a "
        "fifth of the first 10,000 rows.",
        ["rows", "points", "machine", "seconds", "CPU seconds", "peak MB", "RMSE", "R²",
         "log-lik.", "fit"],
    )  # fmt: skip
    sizes = [(5000, 50, 100)] if args.quick else [(100_000, 100, 500)]
    if args.sizes:
        sizes = [tuple(int(v) for v in size.split("x")) for size in args.sizes.split(",")]
    for n, points, steps in sizes:
        for machine in ("deep", "ridge"):
            command = [sys.executable, __file__, "--run", machine, str(n), str(points), str(steps)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            section.row(
                f"{n:,}", points, machine, f"{found['seconds']:.0f}", f"{found['cpu']:.0f}",
                f"{found['memory']:.0f}", f"{found['error']:.3f}", f"{found['share']:.3f}",
                found["likelihood"], found["chosen"],
            )  # fmt: skip
    section.finish(args.write)


if __name__ == "__main__":
    main()
