"""Peers on one table, each within so many seconds: a program of its own, that knows no Mercer.

``python peers_on_tables.py PEER FOLDER TASK SECONDS THREADS`` reads train.csv, with the column "the
target", and test.csv of the folder, and prints, as its last line, the seconds, the predictions and
how much was tried, as JSON. ``python peers_on_tables.py`` alone prints the versions of those peers
that this Python has. So `tuned_peers.py` can ask peers that need versions of their own of what they
stand on. Imports, and what is loaded at first use, are not timed.

LightGBM and CatBoost draw settings at random, the first ones aside, stop early by a fifth of the
rows, are judged on it, and fit the best of them to all rows where time is left for it. RealMLP has
its own settings; epochs are timed first, and as many are asked for as there is time for. Where all
of them are done in less, so many folds as there is time for vote. It keeps the epoch that is the
best on a fifth of the rows. TabM is not here: on processors an epoch of its 32 members takes too
long.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, r2_score

#: the package that has each peer
PACKAGES = {"LightGBM": "lightgbm", "CatBoost": "catboost", "RealMLP": "pytabkit"}
TREES, PATIENCE = 5000, 50
EPOCHS, FOLDS = 256, 5  # at most


class Asked(NamedTuple):
    """A table, what is asked of it, and what may be used."""

    X: pd.DataFrame
    y: np.ndarray
    Z: pd.DataFrame
    classes: bool
    seconds: float
    threads: int

    @property
    def words(self) -> list[str]:
        """The columns that do not hold numbers."""
        return [name for name in self.X if self.X[name].dtype.kind not in "fiu"]


class Trial(NamedTuple):
    """Settings that were tried, the model that they gave, and what it is worth."""

    settings: dict
    model: Any
    trees: int
    value: float
    seconds: float


def searched(asked: Asked, drawn: Callable, fitted: Callable) -> tuple[np.ndarray, str]:
    """Predictions of the best of as many settings as there is time for.

    ``drawn(rng)`` gives settings, with None the first ones; ``fitted(settings, rows, judged, until,
    trees)`` a model that has stopped early by the rows ``judged``, or at that time at the latest.
    """
    X, y, seconds = asked.X, asked.y, asked.seconds
    began, rng = time.perf_counter(), np.random.default_rng(0)
    judged, rows = np.split(rng.permutation(len(y)), [len(y) // 5])
    worth = accuracy_score if asked.classes else r2_score
    best, longest, tried, until = None, 0.0, 0, began + 0.6 * seconds
    while best is None or time.perf_counter() + longest < until:
        start, settings = time.perf_counter(), drawn(rng if best else None)
        model, trees = fitted(settings, rows, judged, until, TREES)
        value = worth(y[judged], np.ravel(model.predict(X.iloc[judged])))
        took = time.perf_counter() - start
        longest, tried = max(longest, took), tried + 1
        if best is None or value > best.value:
            best = Trial(settings, model, trees, value, took)
        until = began + 0.95 * seconds - 1.3 * best.seconds
    model, end = best.model, began + seconds
    if time.perf_counter() + 1.3 * best.seconds < end:
        model, _ = fitted(best.settings, np.arange(len(y)), None, end, best.trees)
    return np.ravel(model.predict(asked.Z)), f"{tried} settings"


def lightgbm(asked: Asked) -> tuple[np.ndarray, str]:
    import lightgbm as library

    Learner = library.LGBMClassifier if asked.classes else library.LGBMRegressor
    for name in asked.words:
        levels = pd.CategoricalDtype(asked.X[name].dropna().unique())
        for table in (asked.X, asked.Z):
            table[name] = table[name].astype(levels)

    def drawn(rng: np.random.Generator | None) -> dict:
        if rng is None:
            return {"learning_rate": 0.1}
        return {
            "learning_rate": float(10 ** rng.uniform(-2, -0.7)),
            "num_leaves": int(2 ** rng.uniform(3, 8)),
            "min_child_samples": int(2 ** rng.uniform(1, 6)),
            "subsample": float(rng.uniform(0.5, 1)),
            "subsample_freq": 1,
            "colsample_bytree": float(rng.uniform(0.5, 1)),
            "reg_lambda": float(10 ** rng.uniform(-3, 1)),
        }

    def fitted(settings: dict, rows: Any, judged: Any, until: float, trees: int):
        def in_time(step):
            if time.perf_counter() > until:
                raise library.EarlyStopException(step.iteration, step.evaluation_result_list)

        callbacks, X, y = [in_time], asked.X, asked.y
        parts = None if judged is None else [(X.iloc[judged], y[judged])]
        if judged is not None:
            callbacks.append(library.early_stopping(PATIENCE, verbose=False))
        model = Learner(
            n_estimators=trees, n_jobs=asked.threads, verbose=-1, random_state=0, **settings
        )
        model.fit(X.iloc[rows], y[rows], eval_set=parts, callbacks=callbacks)
        return model, model.best_iteration_ or trees

    return searched(asked, drawn, fitted)


def catboost(asked: Asked) -> tuple[np.ndarray, str]:
    import catboost as library

    Learner = library.CatBoostClassifier if asked.classes else library.CatBoostRegressor
    for name in asked.words:
        for table in (asked.X, asked.Z):
            table[name] = table[name].fillna("").astype(str)

    def drawn(rng: np.random.Generator | None) -> dict:
        if rng is None:
            return {"learning_rate": 0.1}
        return {
            "learning_rate": float(10 ** rng.uniform(-1.7, -0.5)),
            "depth": int(rng.integers(4, 10)),
            "l2_leaf_reg": float(10 ** rng.uniform(-1, 1.5)),
            "random_strength": float(10 ** rng.uniform(-1, 1)),
            "bootstrap_type": "Bernoulli",
            "subsample": float(rng.uniform(0.5, 1)),
        }

    def fitted(settings: dict, rows: Any, judged: Any, until: float, trees: int):
        class InTime:
            def after_iteration(self, step) -> bool:
                return time.perf_counter() < until

        X, y = asked.X, asked.y
        parts = None if judged is None else (X.iloc[judged], y[judged])
        model = Learner(
            iterations=trees, thread_count=asked.threads, verbose=False, random_seed=0,
            allow_writing_files=False, cat_features=asked.words, **settings,
        )  # fmt: skip
        model.fit(
            X.iloc[rows], y[rows], eval_set=parts, callbacks=[InTime()],
            early_stopping_rounds=None if judged is None else PATIENCE,
        )  # fmt: skip
        return model, model.tree_count_

    return searched(asked, drawn, fitted)


def realmlp(asked: Asked) -> tuple[np.ndarray, str]:
    """As many epochs as there is time for; numbers that miss are medians."""
    from pytabkit import RealMLP_TD_S_Classifier, RealMLP_TD_S_Regressor

    Learner = RealMLP_TD_S_Classifier if asked.classes else RealMLP_TD_S_Regressor
    began = time.perf_counter()
    numbers = [name for name in asked.X if name not in asked.words]
    medians = asked.X[numbers].median()
    X, Z = asked.X.fillna(medians), asked.Z.fillna(medians)

    def fitted(epochs: int, folds: int = 1) -> tuple[Any, float]:
        start = time.perf_counter()
        left = max(1, round(began + asked.seconds - start))
        model = Learner(
            device="cpu", random_state=0, n_threads=asked.threads, n_epochs=epochs, n_cv=folds
        )
        model.fit(X, asked.y, cat_col_names=asked.words, time_to_fit_in_seconds=left)
        return model, time.perf_counter() - start

    one, three = fitted(1)[1], fitted(3)[1]
    each = max((three - one) / 2, 1e-3)
    left = 0.95 * asked.seconds - (time.perf_counter() - began) - one
    epochs = int(np.clip(left / each, 1, EPOCHS))
    folds = int(np.clip(left / (each * epochs + one), 1, FOLDS))
    model, _ = fitted(epochs, folds)
    return model.predict(Z), f"{epochs} epochs" + (f" of {folds} folds" if folds > 1 else "")


PEERS = {"LightGBM": lightgbm, "CatBoost": catboost, "RealMLP": realmlp}


def versions() -> dict[str, str]:
    """The package and its version of every peer that this Python has."""
    found = {}
    for peer, package in PACKAGES.items():
        try:
            found[peer] = f"{package} {version(package)}"
        except PackageNotFoundError:
            continue
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    if len(sys.argv) == 1:
        print(json.dumps(versions()))
        return
    peer, folder, task, seconds, threads = sys.argv[1:]
    classes = task == "classification"
    kinds = {"the target": str if classes else float}
    X, Z = (
        pd.read_csv(f"{folder}/{part}.csv", keep_default_na=False, na_values=[""], dtype=kinds)
        for part in ("train", "test")
    )
    y = X.pop("the target").to_numpy()
    few = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 2)), columns=["a", "b"])
    some = (few["a"] > 0).astype(kinds["the target"]).to_numpy()
    PEERS[peer](Asked(few, some, few, classes, 1.0, int(threads)))  # loads what it needs
    began = time.perf_counter()
    predicted, tried = PEERS[peer](Asked(X, y, Z, classes, float(seconds), int(threads)))
    spent = time.perf_counter() - began
    print(json.dumps([spent, np.ravel(predicted).tolist(), tried]))


if __name__ == "__main__":
    main()
