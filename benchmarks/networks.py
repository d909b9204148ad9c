"""Hybrid neural-kernel networks beside a perceptron of several layers, a machine with an RBF kernel
and boosted trees. Needs torch, LightGBM and MERCER_DATA; not part of ``make bench``, for it takes
long. ``--sets phoneme kin8nm`` measures some sets; with ``--write`` the rows of others stay.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from harness import Section, data_folder, known, options
from mercer import SVC, SVR
from mercer.deep import NeuralKernelClassifier, NeuralKernelRegressor

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


def networks(chosen: list[str], splits: int) -> Section:
    section = Section(
        "networks",
        f"Hybrid networks with their defaults beside others, {splits} random splits 80/20: percent "
        "of right answers, or for kin8nm and elevators root mean squared error in standard "
        "deviations of the target (less is better); ± standard deviation over the splits, and CPU "
        "seconds of a fit and its predictions on one thread.",
        COLUMNS,
    )
    before = [list(row.values()) for row in known("networks")]
    for name, read in (CLASSES | NUMBERS).items():
        if name in chosen:
            X, _ = read()
            cells, _ = measured(read, name in NUMBERS, splits)
            section.row(f"{name} ({len(X):,}, {X.shape[1]})", *cells)
        else:
            section.rows += [row for row in before if row[0].startswith(f"{name} (")]
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


def main() -> None:
    every = [*CLASSES, *NUMBERS]
    args = options(
        ("--sets", {"nargs": "*", "default": every, "choices": every}),
        ("--splits", {"type": int, "default": SPLITS}),
    )
    networks(args.sets, 1 if args.quick else args.splits).finish(args.write)


if __name__ == "__main__":
    main()
