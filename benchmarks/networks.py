"""Hybrid neural-kernel networks beside a perceptron of several layers, a machine with an RBF kernel
and boosted trees. Needs torch, LightGBM and MERCER_DATA; not part of ``make bench``, for it takes
long. ``--sets phoneme kin8nm`` and ``--deep energy`` measure some sets; with ``--write`` the rows
of others stay.
"""

from __future__ import annotations

import itertools
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from harness import RESULTS, Section, data_folder, options, said_and_peak
from mercer import SVC, SVR
from mercer.deep import DeepKernelRegressor, NeuralKernelClassifier, NeuralKernelRegressor

SPLITS = 5
GRID_ROWS = 1500  # of which the RBF machine's parameters are chosen
Rows = tuple[np.ndarray, np.ndarray]
COLUMNS = ["set (rows, columns)", "network", "on ranks", "perceptron", "RBF machine", "LightGBM"]


# --- data ----------------------------------------------------------------------------------------


def monk2() -> Rows:
    """All 432 rows of the second MONK's problem: exactly two of six attributes have value 1."""
    X = np.array(list(itertools.product(*(range(1, k + 1) for k in (3, 3, 2, 3, 4, 2)))), float)
    return X, ((X == 1).sum(axis=1) == 2).astype(int)


def balance() -> Rows:
    """All 625 states of a balance: to which side weight times distance is larger."""
    X = np.array(list(itertools.product(range(1, 6), repeat=4)), float)
    return X, np.sign(X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3]).astype(int)


def titanic() -> Rows:
    """All 2,201 on board by class, age and sex, from the table of Dawson (1995)."""
    # columns: first, second, third class, crew
    died = {(0, 0): (0, 0, 35, 0), (0, 1): (0, 0, 17, 0), (1, 0): (118, 154, 387, 670),
            (1, 1): (4, 13, 89, 3)}  # fmt: skip
    lived = {(0, 0): (5, 11, 13, 0), (0, 1): (1, 13, 14, 0), (1, 0): (57, 14, 75, 192),
             (1, 1): (140, 80, 76, 20)}  # fmt: skip
    rows = [
        (*place, *who, alive)
        for alive, table in ((0, died), (1, lived))
        for who, counts in table.items()
        for place, count in zip(np.eye(4), counts)
        for _ in range(count)
    ]
    found = np.array(rows)
    return found[:, :-1], found[:, -1].astype(int)


def table(path: str) -> Callable[[], Rows]:
    """A file of MERCER_DATA whose last column is the target."""

    def read() -> Rows:
        folder = data_folder()
        assert folder is not None
        frame = pd.read_csv(folder / path)
        return frame.iloc[:, :-1].to_numpy(float), frame.iloc[:, -1].to_numpy()

    return read


CLASSES: dict[str, Callable[[], Rows]] = {
    "Monk2": monk2,
    "Balance": balance,
    "Titanic": titanic,
    "spambase": table("numeric_clf/spambase.csv.gz"),
    "phoneme": table("numeric_clf/phoneme.csv"),
    "satimage": table("numeric_clf/satimage_train.csv.gz"),
}
NUMBERS: dict[str, Callable[[], Rows]] = {
    "kin8nm": table("numeric_reg/kin8nm.csv.gz"),
    "elevators": table("numeric_reg/elevators.csv.gz"),
}


# --- machines ------------------------------------------------------------------------------------


class Tuned:
    """A machine with an RBF kernel on standardised columns; three folds of some rows choose its
    parameters."""

    def __init__(self, machine: Any):
        self.machine = machine

    def fit(self, X: np.ndarray, y: np.ndarray) -> Tuned:
        grid = {"C": [1.0, 10.0, 100.0], "gamma": np.array([0.1, 0.3, 1.0, 3.0, 10.0]) / X.shape[1]}
        self.scaler = StandardScaler().fit(X)
        X = self.scaler.transform(X)
        search = GridSearchCV(self.machine, grid, cv=3)
        search.fit(X[:GRID_ROWS], y[:GRID_ROWS])
        self.fitted = clone(self.machine).set_params(**search.best_params_).fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.fitted.predict(self.scaler.transform(X))


def machines(numbers: bool, seed: int) -> dict[str, Any]:
    network: Any = NeuralKernelRegressor if numbers else NeuralKernelClassifier
    perceptron: Any = MLPRegressor if numbers else MLPClassifier
    trees: Any = lightgbm.LGBMRegressor if numbers else lightgbm.LGBMClassifier
    rbf: Any = SVR(epsilon=0.05, n_jobs=1) if numbers else SVC(n_jobs=1)
    return {
        "network": network(random_state=seed, n_jobs=1),
        "on ranks": network(random_state=seed, n_jobs=1, inputs="ranks"),
        "perceptron": make_pipeline(StandardScaler(), perceptron(random_state=seed)),
        "RBF machine": Tuned(rbf),
        "LightGBM": trees(random_state=seed, n_jobs=1, verbose=-1),
    }


def measured(read: Callable[[], Rows], numbers: bool, splits: int) -> tuple[list[str], Any]:
    """The cells of a row, and the mean result of each machine."""
    X, y = read()
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(splits):
        order = np.random.RandomState(seed).permutation(len(X))
        train, test = np.split(order, [int(0.8 * len(X))])
        mean, size = (y[train].mean(), y[train].std()) if numbers else (0, 1)
        target = (y - mean) / size if numbers else y
        for name, machine in machines(numbers, seed).items():
            began = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answers = machine.fit(X[train], target[train]).predict(X[test])
            seconds = time.process_time() - began
            wrong = (answers - target[test]) ** 2 if numbers else answers != target[test]
            result = np.sqrt(wrong.mean()) if numbers else 100 * (1 - wrong.mean())
            found.setdefault(name, []).append((float(result), seconds))
    cells, means = [], {}
    for name, values in found.items():
        results, seconds = np.array(values).T
        digits = 3 if numbers else 1
        means[name] = results.mean()
        cells.append(
            f"{results.mean():.{digits}f} ± {results.std():.{digits}f} ({seconds.mean():.1f} s)"
        )
    return cells, means


def earlier(section: str, path: Path = RESULTS) -> dict[str, list[str]]:
    """The rows of a section of RESULTS.md by their first cells."""
    match = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", path.read_text(), re.S | re.M)
    lines = match[1].splitlines() if match else []
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in lines if line[:2] == "| "]
    return {row[0]: row for row in rows[1:]}


def networks(chosen: list[str], splits: int) -> Section:
    section = Section(
        "networks",
        f"Hybrid networks with their defaults beside others, {splits} random splits 80/20: percent "
        "of right answers, or for kin8nm and elevators root mean squared error in standard "
        "deviations of the target (less is better); ± standard deviation over the splits, and CPU "
        "seconds of a fit and its predictions on one thread.",
        COLUMNS,
    )
    before = earlier("networks")
    for name, read in (CLASSES | NUMBERS).items():
        if name in chosen:
            X, _ = read()
            cells, _ = measured(read, name in NUMBERS, splits)
            section.row(f"{name} ({len(X):,}, {X.shape[1]})", *cells)
        else:
            section.rows += [row for first, row in before.items() if first.startswith(f"{name} (")]
    section.note(
        "Network: `NeuralKernelClassifier()`, `NeuralKernelRegressor()`; on ranks: with "
        '`inputs="ranks"`. Perceptron: scikit-learn\'s, its defaults, standardised columns. RBF '
        "machine: `SVC` or `SVR(epsilon=0.05)` of this library, C and gamma by three folds of "
        "1,500 rows. LightGBM: its defaults."
    )
    section.note(
        "Monk2 and Balance are all states of a rule, Titanic the 2,201 on board by class, age and "
        "sex: no rule has more than 79.06 percent of these right, nor 77.3 of these test rows."
    )
    return section


# --- deep kernel learning ------------------------------------------------------------------------


def california() -> Rows:
    """The logarithm of prices; a place by the sea is a number, missing rooms are the median."""
    folder = data_folder()
    assert folder is not None
    frame = pd.read_csv(folder / "numeric_reg/california_housing.csv.gz")
    y = np.log(frame.pop("median_house_value").to_numpy(float))
    frame = pd.get_dummies(frame, dtype=float)
    return frame.fillna(frame.median()).to_numpy(float), y


DEEP: dict[str, Callable[[], Rows]] = {
    "energy": table("numeric_reg/energy.csv"),
    "kin8nm": NUMBERS["kin8nm"],
    "elevators": NUMBERS["elevators"],
    "california": california,
}


def density(y: np.ndarray, mean: np.ndarray, std: np.ndarray) -> float:
    return float(np.mean(-(((y - mean) / std) ** 2) / 2 - np.log(std * np.sqrt(2 * np.pi))))


def deep_kernels(chosen: list[str], splits: int) -> Section:
    names = ("chosen", "process", "network", "both")
    section = Section(
        "deep_kernels_learnt",
        "`DeepKernelRegressor`, random splits 80/20, targets standardised: root mean "
        "squared error / log-likelihood of a test row, ± standard error over the splits; CPU "
        "seconds of a fit and its predictions on one thread.",
        ["set (rows, columns; splits)", *names, "what was chosen"],
    )
    for name, read in DEEP.items():
        if name not in chosen:
            before = earlier("deep_kernels_learnt")  # what another run has written meanwhile, too
            section.rows += [row for first, row in before.items() if first.startswith(f"{name} (")]
            continue
        X, y = read()
        found: dict[str, list[tuple[float, float, float]]] = {way: [] for way in names}
        taken = []
        for seed in range(splits):
            order = np.random.RandomState(seed).permutation(len(X))
            train, test = np.split(order, [int(0.8 * len(X))])
            z = (y - y[train].mean()) / y[train].std()
            for way in names:
                given = {} if way == "chosen" else {"candidates": [way]}
                model = DeepKernelRegressor(random_state=seed, n_jobs=1, **given)
                began = time.process_time()
                mean, std = model.fit(X[train], z[train]).predict(X[test], return_std=True)
                seconds = time.process_time() - began
                error = float(np.sqrt(np.mean((z[test] - mean) ** 2)))
                found[way].append((error, density(z[test], mean, std), seconds))
                taken += [model.chosen_] if way == "chosen" else []
                print(name, seed, way, model.chosen_, found[way][-1], flush=True)
        cells = []
        for values in found.values():
            table_of = np.array(values)
            error, logs, seconds = table_of.mean(axis=0)
            spread = table_of.std(axis=0) / np.sqrt(max(splits - 1, 1))
            cells.append(
                f"{error:.3f} ± {spread[0]:.3f} / {logs:.2f} ± {spread[1]:.2f} ({seconds:.0f} s)"
            )
        counts = [f"{way} {taken.count(way)}" for way in names[1:] if way in taken]
        label = f"{name} ({len(X):,}, {X.shape[1]}; {splits} split{'s' * (splits > 1)})"
        section.row(label, *cells, ", ".join(counts))
    section.note(
        "Chosen: among the three by held rows, the default. Process: a Gaussian process with an "
        "RBF kernel and a length scale for each column, exact up to 3,000 rows, and else through "
        "512 inducing points. Network: a hybrid network, whose noise is that of held rows. Both: a "
        "process on the network's codes."
    )
    return section


LARGE = """
import time
import numpy as np
from sklearn.datasets import make_friedman1
from mercer.deep import DeepKernelRegressor
# measured
X, y = make_friedman1(100_000, noise=1.0, random_state=0)
Z, z = make_friedman1(1_000_000, noise=1.0, random_state=1)
began = time.perf_counter()
model = DeepKernelRegressor(random_state=0, candidates=["both"]).fit(X, y)
fitted = time.perf_counter()
mean, std = model.predict(Z, return_std=True)
done = time.perf_counter()
print(fitted - began, done - fitted, np.sqrt(np.mean((mean - z) ** 2)), std.mean())
"""


def large() -> Section:
    """100,000 rows, and answers with their spread for a million."""
    section = Section(
        "deep_kernels_large",
        "`DeepKernelRegressor` on 100,000 rows of 10 columns, and predictions with deviations for "
        "a million others, with all threads.",
        ["fit, s", "predict, s", "RMSE (noise 1)", "mean deviation", "peak MB"],
    )
    said, peak = said_and_peak(LARGE)
    section.row(*(f"{float(word):.3g}" for word in said), f"{peak:.0f}")
    return section


def main() -> None:
    every = [*CLASSES, *NUMBERS]
    args = options(
        ("--sets", {"nargs": "*", "default": [], "choices": every}),
        ("--deep", {"nargs": "*", "default": [], "choices": [*DEEP]}),
        ("--splits", {"type": int, "default": SPLITS}),
        ("--large", {"action": "store_true", "help": "time and memory of 100,000 rows alone"}),
    )
    splits = 1 if args.quick else args.splits
    if args.large:
        large().finish(args.write)
        return
    both = not (args.sets or args.deep)
    if args.sets or both:
        networks(args.sets or every, splits).finish(args.write)
    if args.deep or both:
        deep_kernels(args.deep or [*DEEP], splits).finish(args.write)


if __name__ == "__main__":
    main()
