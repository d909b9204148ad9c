"""The command ``mercer fit`` beside tuned peers on real tables, each with the same time.

Of each table 25% of the rows are held out. The command reads a CSV file as users' do, and what is
timed is the whole process: reading, search, score, fit to all rows and report. Peers are given the
same seconds for their search: LightGBM draws settings at random and keeps the best by 3-fold
cross-validation, and scikit-learn's SVC or SVR does the same on at most 5,000 rows. ``--time``,
``--seeds`` and ``--sets`` choose less or more. Needs MERCER_DATA.
"""

import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import sklearn.svm
from scipy.stats import rankdata
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from harness import Section, data_folder, options
from mercer import FeatureMachineClassifier, FeatureMachineRegressor
from mercer.selection.baselines import fit_baseline
from mercer.selection.encoding import TableEncoder

#: name -> file, target (None: the last column), task
SETS = {
    "pendigits": ("numeric_clf/pendigits.csv.gz", "class", "classification"),
    "satimage": ("numeric_clf/satimage_train.csv.gz", "class", "classification"),
    "segment": ("numeric_clf/segment.csv", "class", "classification"),
    "phoneme": ("numeric_clf/phoneme.csv", None, "classification"),
    "spambase": ("numeric_clf/spambase.csv.gz", "spam", "classification"),
    "nursery": ("categorical/nursery.csv.gz", "class", "classification"),
    "car": ("categorical/car.csv", "class", "classification"),
    "tic tac toe": ("categorical/tic_tac_toe.csv", "Class", "classification"),
    "credit": ("categorical/credit_g.csv", "class", "classification"),
    "titanic": ("categorical/titanic.csv", "survived", "classification"),
    "adult": ("categorical/adult_train.csv.gz", "income", "classification"),
    "soybean": ("categorical/soybean.csv", "class", "classification"),
    "elevators": ("numeric_reg/elevators.csv.gz", "Goal", "regression"),
    "california": ("numeric_reg/california_housing.csv.gz", "median_house_value", "regression"),
    "kin8nm": ("numeric_reg/kin8nm.csv.gz", "y", "regression"),
    "cpu_act": ("numeric_reg/cpu_act.csv.gz", "usr", "regression"),
    "bank8FM": ("numeric_reg/bank8FM.csv.gz", "rej", "regression"),
    "wine": ("numeric_reg/wine_white.csv", "quality", "regression"),
    "airfoil": ("numeric_reg/airfoil.csv", "P", "regression"),
    "energy": ("numeric_reg/energy.csv", "Y1", "regression"),
}
#: a program that runs another one, and prints its seconds and its peak kB
MEASURED = """
import os, sys, time
began = time.perf_counter()
number = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(number, 0)
print(time.perf_counter() - began, usage.ru_maxrss)
sys.exit(status != 0)
"""
SVM_ROWS = 5000  # that the SVM's search sees; its final fit sees all


def read(folder: Path, name: str) -> tuple[pd.DataFrame, np.ndarray, str]:
    path, target, task = SETS[name]
    frame = pd.read_csv(folder / path, keep_default_na=False, na_values=[""])
    y = frame.pop(target or frame.columns[-1])
    return frame, y.astype(str if task == "classification" else float).to_numpy(), task


def score(y: np.ndarray, predicted: np.ndarray, task: str) -> float:
    """Accuracy, or R²."""
    if task == "classification":
        return float(np.mean(predicted.astype(str) == y))
    return float(1 - np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2))


def command(X, y, X_test, task: str, seconds: float) -> tuple[np.ndarray, float, float]:
    """Predictions of ``mercer fit`` and ``mercer predict``, the seconds and the peak MB of fit."""
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room)
        pl.from_pandas(X.assign(target=y)).write_csv(folder / "train.csv")
        pl.from_pandas(X_test).write_csv(folder / "new.csv")
        mercer = [str(Path(sys.executable).parent / "mercer")]
        fit = [*mercer, "fit", "train.csv", "--target", "target", "--task", task]
        fit += ["--time", f"{seconds:g}s", "--metric", "r2" if task == "regression" else "accuracy"]
        # a process starts with the peak memory of its parent, which is a small one here
        told = subprocess.run(
            [sys.executable, "-S", "-c", MEASURED, *fit, "--quiet"], cwd=folder, check=True,
            capture_output=True, text=True,
        )  # fmt: skip
        spent, memory = map(float, told.stdout.split())
        subprocess.run(
            [*mercer, "predict", "model.mercer", "new.csv", "-o", "out.csv"], cwd=folder,
            check=True, capture_output=True,
        )  # fmt: skip
        predicted = pl.read_csv(folder / "out.csv")["prediction"].to_numpy()
    return predicted, spent, memory / 1024


def drawn(make, X, y, task: str, seconds: float, rows: np.ndarray):
    """The best of as many settings as there is time for, by 3-fold cross-validation."""
    rng, began, best = np.random.default_rng(0), time.perf_counter(), (-np.inf, None)
    longest = 0.0
    while best[1] is None or time.perf_counter() - began + longest < 0.8 * seconds:
        start, model = time.perf_counter(), make(rng)
        scoring = "r2" if task == "regression" else "accuracy"
        found = np.mean(cross_val_score(model, X.iloc[rows], y[rows], cv=3, scoring=scoring))
        best = max(best, (found, model), key=lambda pair: pair[0])
        longest = max(longest, time.perf_counter() - start)
    return best[1].fit(X, y)


def boosted(X, y, X_test, task: str, seconds: float) -> np.ndarray:
    X, X_test = X.copy(), X_test.copy()
    for name in X.columns:
        if X[name].dtype.kind not in "fiu":
            X[name] = X[name].astype("category")
            X_test[name] = X_test[name].astype(X[name].dtype)
    learner = lightgbm.LGBMRegressor if task == "regression" else lightgbm.LGBMClassifier

    def make(rng):
        return learner(
            n_estimators=int(rng.choice([100, 200, 400, 800])),
            num_leaves=int(2 ** rng.uniform(3, 7)),
            learning_rate=float(10 ** rng.uniform(-2, -0.7)), subsample_freq=1,
            subsample=float(rng.uniform(0.5, 1)), colsample_bytree=float(rng.uniform(0.5, 1)),
            min_child_samples=int(2 ** rng.uniform(1, 6)), verbose=-1, random_state=0,
        )  # fmt: skip

    return drawn(make, X, y, task, seconds, np.arange(len(y))).predict(X_test)


def support_vectors(X, y, X_test, task: str, seconds: float) -> np.ndarray:
    numbers = [c for c in X if X[c].dtype.kind in "fiu"]
    others = [c for c in X if c not in numbers]
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), others),
    )
    size = float(np.std(y)) if task == "regression" else 1.0

    def make(rng):
        C, gamma = float(10 ** rng.uniform(-1, 3)), float(10 ** rng.uniform(-3, 0.5))
        learner = sklearn.svm.SVR if task == "regression" else sklearn.svm.SVC
        return make_pipeline(columns, learner(C=C, gamma=gamma))

    rows = np.random.default_rng(0).permutation(len(y))[:SVM_ROWS]
    y = y / size if task == "regression" else y
    found = drawn(make, X, y, task, seconds, rows).predict(X_test)
    return found * size if task == "regression" else found


def spline(X, y, X_test, task: str, seconds: float) -> np.ndarray:
    encoder = TableEncoder().fit(X)
    model = fit_baseline("linear (spline)", encoder.features_, encoder.transform(X), y, task)
    return model.predict(encoder.transform(X_test))


def feature_machine(X, y, X_test, task: str, seconds: float) -> np.ndarray:
    """A learnt metric on standardised and one-hot columns, with its defaults."""
    numbers = [c for c in X if X[c].dtype.kind in "fiu"]
    others = [c for c in X if c not in numbers]
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), others),
    )
    learner = FeatureMachineRegressor if task == "regression" else FeatureMachineClassifier
    return make_pipeline(columns, learner()).fit(X, y).predict(X_test)


PEERS = {
    "LightGBM, tuned": boosted,
    "SVM, tuned": support_vectors,
    "FeatureMachine": feature_machine,
    "splines": spline,
}


def main() -> None:
    args = options(
        ("--time", {"type": float, "default": 30.0}),
        ("--seeds", {"type": int, "default": 1}),
        ("--sets", {"default": ""}),
    )
    folder = data_folder()
    section = Section(
        "tables",
        f"Accuracy or R² on rows held out, with {args.time:g} s for each search; the seconds and "
        "the peak memory are those of the whole command.",
        ["data", "training rows", "mercer fit", *PEERS, "seconds", "peak MB"],
    )
    if folder is None:
        section.note("MERCER_DATA is not set: all tables left out")
        section.finish(False)
        return
    warnings.simplefilter("ignore")
    chosen = [name for name in SETS if not args.sets or name in args.sets.split(",")]
    if args.quick:
        chosen = chosen[2:3]
    ranks, gaps = [], []
    for name in chosen:
        X, y, task = read(folder, name)
        found = []
        for seed in range(args.seeds):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = np.split(order, [int(0.75 * len(y))])
            parts = X.iloc[train], y[train], X.iloc[test], task, args.time
            predicted, spent, memory = command(*parts)
            values = [score(y[test], predicted, task)]
            values += [score(y[test], peer(*parts), task) for peer in PEERS.values()]
            found.append([*values, spent, memory])
            ranks.append(rankdata(-np.round(values, 4)))
            gaps.append(max(values) - values[0])
        means = np.mean(found, axis=0)
        cells = [f"{value:.4f}" for value in means[:-2]]
        longest, largest = np.max(found, axis=0)[-2:]
        section.row(name, f"{len(train):,}", *cells, f"{longest:.0f}", f"{largest:.0f}")
    mean, error = np.mean(ranks, axis=0), np.std(ranks, axis=0) / np.sqrt(len(ranks))
    section.row(
        "mean rank ± standard error",
        "",
        *(f"{m:.2f} ± {e:.2f}" for m, e in zip(mean, error)),
        "",
        "",
    )
    section.note(f"the furthest that mercer fit was behind the best: {max(gaps):.4f}")
    section.note(f"{args.seeds} splits; LightGBM {lightgbm.__version__}")
    section.finish(args.write)


if __name__ == "__main__":
    main()
