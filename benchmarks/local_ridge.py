"""Ridge regression of many rows with one kernel: exact, of low rank, local, and scikit-learn's.

All have the same Laplacian kernel on standardised and one-hot columns, and choose the penalty, but
scikit-learn's exact machine, which is given the one that the local machine chose. Each fit is a
process of its own; the seconds are those of all its threads together. Needs MERCER_DATA for the
real tables.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings

import numpy as np
import sklearn
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge as TheirRidge
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline

from deep_inducing import peak
from harness import Section, data_folder, options
from large_tables import letters, split, waves
from mercer import KernelRidge
from mercer.kernels import Laplacian
from tables import columns_of, read

#: data -> rows held out for the test
DATA = {"california": 5160, "adult": 8141, "letters": 5000, "waves": 10_000}
MACHINES = {
    "exact": {"solver": "cholesky"},
    "low rank, 1,000": {"solver": "low_rank", "rank": 1000},
    "low rank, 2,000": {"solver": "low_rank", "rank": 2000},
    "local": {"solver": "local"},
    "local, leaves of 500": {"solver": "local", "rank": 300, "leaf_rows": 500},
}
THEIRS = ("scikit-learn, exact", "scikit-learn, Nystroem 1,000")
MOST = 20_000  # rows of exact machines


def problem(name: str, rows: int):
    """Rows in float32, their targets (of classes ±1), new rows, and the score of their outputs."""
    if name == "waves":
        (X, y), task = waves(rows + DATA[name]), "regression"
    elif name == "letters":
        (X, y), task = letters(rows + DATA[name]), "classification"
    else:
        X, y, task = read(data_folder(), name)
    X, y, X_test, y_test = split(X, y, rows / len(y))
    columns = columns_of(X)
    X = np.asarray(columns.fit_transform(X), np.float32)
    X_test = np.asarray(columns.transform(X_test), np.float32)
    if task == "regression":
        mean, size, spread = y.mean(), y.std(), np.var(y_test)
        return (
            X, (y - mean) / size, X_test,
            lambda f: 1 - np.mean((f * size + mean - y_test) ** 2) / spread,
        )  # fmt: skip
    classes, codes = np.unique(y, return_inverse=True)
    Y = 2.0 * (codes[:, None] == np.arange(len(classes))) - 1
    mean = Y.mean(axis=0)
    return X, Y - mean, X_test, lambda f: np.mean(classes[(f + mean).argmax(axis=1)] == y_test)


def run(name: str, rows: int, machine: str, alpha: float) -> dict:
    """One fit in this process: what it takes, and how good it is."""
    X, Y, X_test, score = problem(name, rows)
    gamma, before, began, cpu = 1 / X.shape[1], peak(), time.perf_counter(), time.process_time()
    if machine == "scikit-learn, exact":
        model = TheirRidge(alpha=alpha, kernel="laplacian", gamma=gamma)
    elif machine in THEIRS:
        features = Nystroem("laplacian", gamma=gamma, n_components=1000, random_state=0)
        model = make_pipeline(features, RidgeCV(np.logspace(-4, 2, 7)))
    else:
        given = MACHINES[machine] | {"kernel": Laplacian(gamma), "random_state": 0}
        model = KernelRidge(alpha if machine == "exact" else "auto", **given)
    model.fit(X, Y)
    found = {"cpu": time.process_time() - cpu, "seconds": time.perf_counter() - began}
    found["memory"] = peak() - before
    found["alpha"] = float(model.alpha_) if "alpha_" in vars(model) else alpha
    began = time.process_time()
    found["score"] = float(score(model.predict(X_test)))
    return found | {"rate": len(X_test) / (time.process_time() - began)}


def main() -> None:
    args = options(("--run", {"nargs": 4}), ("--rows", {"default": ""}))
    warnings.simplefilter("ignore")
    if args.run:
        name, rows, machine, alpha = args.run
        print(json.dumps(run(name, int(rows), machine, float(alpha))))
        return
    section = Section(
        "local_ridge",
        "R² or accuracy on rows held out, with the same Laplacian kernel for all; seconds, CPU "
        "seconds of all threads and peak MB of the fit; predictions a CPU second.",
        ["data", "rows", "machine", "score", "seconds", "CPU seconds", "peak MB", "rows/s"],
    )
    sizes = [("california", 15_480), ("adult", 24_420), ("letters", 15_000), ("waves", 100_000)]
    if data_folder() is None:
        section.note("MERCER_DATA is not set: real tables left out")
        sizes = sizes[2:]
    if args.quick:
        sizes = [("waves", 10_000)]
    if args.rows:
        sizes = [("waves", int(args.rows))]
    for name, rows in sizes:
        alpha = 1.0
        for machine in ("local", *(m for m in MACHINES if m != "local"), *THEIRS):
            if "exact" in machine and rows > MOST:
                continue
            command = [sys.executable, __file__, "--run", name, str(rows), machine, str(alpha)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            alpha = found["alpha"] if machine == "local" else alpha
            section.row(
                name, f"{rows:,}", machine, f"{found['score']:.4f}", f"{found['seconds']:.1f}",
                f"{found['cpu']:.1f}", f"{found['memory']:.0f}", f"{found['rate']:,.0f}",
            )  # fmt: skip
    section.note(f"scikit-learn {sklearn.__version__}")
    section.finish(args.write)


if __name__ == "__main__":
    main()
