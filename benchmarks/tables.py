"""The command ``mercer fit`` beside tuned peers on real tables, each with the same time.

Of each table 25% of the rows are held out. The command reads a CSV file as users' do, and what is
timed is the whole process: reading, search, score, fit to all rows and report. Peers are given the
same seconds for their search: LightGBM draws settings at random and keeps the best by 3-fold
cross-validation, and scikit-learn's SVC or SVR does the same on at most 5,000 rows; xRFM, if it is
installed, draws settings and keeps the best on a fifth of the rows, as it does by itself.

``--time``, ``--seeds`` and ``--sets`` choose less or more, ``--alone`` measures the command anew
beside what the section "tables" of RESULTS.md has of the peers, on the same splits, ``--busy`` lets
so many other processes work meanwhile, and ``--splits FILE`` keeps the results of each split, which
are not measured again. Needs MERCER_DATA.
"""

import time
import warnings
from functools import partial
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import sklearn.svm
from scipy.stats import rankdata
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from commands import Splits, beside, command_on_rows
from harness import Section, data_folder, known, options
from mercer import FeatureMachineClassifier, FeatureMachineRegressor
from mercer.machines import Classification, Recipe, Regression
from mercer.machines.candidates.candidate import Candidate
from mercer.tables.encoding import TableEncoder

try:  # which needs torch
    from xrfm import __about__, xRFM
except ImportError:
    xRFM = None

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


def columns_of(X):
    """Standardised numbers beside one-hot categories."""
    numbers = [c for c in X if X[c].dtype.kind in "fiu"]
    others = [c for c in X if c not in numbers]
    return make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), others),
    )


def feature_machines(X, y, X_test, task: str, seconds: float) -> np.ndarray:
    """The best of xRFM's settings, judged on the fifth of the rows that it stops early by."""
    began, longest, rng = time.perf_counter(), 0.0, np.random.default_rng(0)
    columns = columns_of(X)
    rows = np.asarray(columns.fit_transform(X), np.float32)
    new = np.asarray(columns.transform(X_test), np.float32)
    levels, codes = np.unique(y, return_inverse=True)
    known = codes if task == "classification" else y.astype(np.float32)[:, None]
    judged, train = np.split(rng.permutation(len(y)), [len(y) // 5])
    found, best = None, -np.inf
    while found is None or time.perf_counter() - began + longest < 0.8 * seconds:
        start = time.perf_counter()
        model = {
            "kernel": ("l2", "l1")[rng.integers(2)] if found is not None else "l2",
            "exponent": float(rng.choice([0.7, 1.0, 1.2])) if found is not None else 1.0,
            "bandwidth": float(10 ** rng.uniform(0, 1.7)) if found is not None else 10.0,
            "diag": bool(rng.integers(2)) if found is not None else False,
            "bandwidth_mode": "constant",
        }
        settings = {
            "reg": float(10 ** rng.uniform(-5, -1)) if found is not None else 1e-3,
            "iters": 5, "verbose": False, "early_stop_rfm": True,
        }  # fmt: skip
        machine = xRFM(
            rfm_params={"model": model, "fit": settings}, device="cpu", verbose=False,
            time_limit_s=0.8 * seconds - (start - began), random_state=0,
            tuning_metric="accuracy" if task == "classification" else "mse",
        )  # fmt: skip
        machine.fit(rows[train], known[train], rows[judged], known[judged])

        def answers(some, machine=machine):
            answer = np.asarray(machine.predict(some)).ravel()
            return levels[answer.astype(int)] if task == "classification" else answer

        value = score(y[judged], answers(rows[judged]), task)
        if value > best:
            found, best = answers, value
        longest = max(longest, time.perf_counter() - start)
    return found(new)


def spline(X, y, X_test, task: str, seconds: float) -> np.ndarray:
    encoder = TableEncoder().fit(X)
    target = Regression() if task == "regression" else Classification(np.unique(y))
    kernel = Candidate("splines", machine="linear").kernel(encoder.features_)
    found = Recipe("linear").fit(target, kernel, encoder.transform(X), y)(encoder.transform(X_test))
    return found if task == "regression" else target.classes[found.argmax(axis=1)]


def feature_machine(X, y, X_test, task: str, seconds: float) -> np.ndarray:
    """A learnt metric on standardised and one-hot columns, with its defaults."""
    learner = FeatureMachineRegressor if task == "regression" else FeatureMachineClassifier
    return make_pipeline(columns_of(X), learner()).fit(X, y).predict(X_test)


PEERS = {
    "LightGBM, tuned": boosted,
    "SVM, tuned": support_vectors,
    **({} if xRFM is None else {"xRFM, tuned": feature_machines}),
    "FeatureMachine": feature_machine,
    "splines": spline,
}


def measured(X, y, task: str, seconds: float, seed: int, peers: dict) -> list[float]:
    """Scores of all on one split, and the seconds and the peak MB of the command."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [int(0.75 * len(y))])
    parts = X.iloc[train], y[train], X.iloc[test], task, seconds
    run = command_on_rows(*parts)
    values = [score(y[test], run.predicted.to_numpy(), task)]
    values += [score(y[test], peer(*parts), task) for peer in peers.values()]
    return [*values, run.seconds, run.megabytes]


def beside_known(section: Section, means: dict[str, list[float]], seeds: int) -> None:
    """The rows of the section "tables" with scores, seconds and MB of the command as it is now."""
    ranks, gaps = [], []
    for row in known("tables"):
        if row["data"] not in means:
            continue
        now, spent, memory = means[row["data"]]
        name, count, _, *others = list(row.values())[:-2]
        section.row(name, count, f"{now:.4f}", *others, f"{spent:.0f}", f"{memory:.0f}")
        scores = np.round([now, *map(float, others)], 4)
        ranks.append(rankdata(-scores))
        gaps.append(max(scores) - scores[0])
    rank_row(section, ranks)
    section.note(
        f"means of {seeds} splits, of which the ranks are; it is at most {max(gaps):.3f} behind "
        "the best of the six. mercer fit was measured after the others, on the same splits"
    )


def rank_row(section: Section, ranks: list) -> None:
    mean, error = np.mean(ranks, axis=0), np.std(ranks, axis=0) / np.sqrt(len(ranks))
    cells = [f"{m:.2f} ± {e:.2f}" for m, e in zip(mean, error)]
    section.row("mean rank ± standard error", "", *cells, "", "")


def main() -> None:
    args = options(
        ("--time", {"type": float, "default": 30.0}),
        ("--seeds", {"type": int, "default": 1}),
        ("--busy", {"type": int, "default": 0}),
        ("--splits", {"default": ""}),
        ("--sets", {"default": ""}),
        ("--alone", {"action": "store_true"}),
    )
    folder, peers = data_folder(), {} if args.alone else PEERS
    name = "tables" if args.time == 30 else f"tables, {args.time:g} s"
    name += f", beside {args.busy} busy processes" if args.busy else ""
    section = Section(
        name,
        f"Accuracy or R² on rows held out, with {args.time:g} s for each search; the seconds and "
        "the peak memory are those of the whole command.",
        ["data", "training rows", "mercer fit", *peers, "seconds", "peak MB"],
    )
    if folder is None:
        section.note("MERCER_DATA is not set: all tables left out")
        section.finish(False)
        return
    warnings.simplefilter("ignore")
    chosen = [name for name in SETS if not args.sets or name in args.sets.split(",")]
    if args.quick:
        chosen = chosen[2:3]
    splits = Splits(args.splits)
    ranks, gaps, alone = [], [], {}
    for name in chosen:
        X, y, task = read(folder, name)
        found = []
        for seed in range(args.seeds):
            key = f"{name},{args.time:g},{args.busy},{seed}"
            measure = partial(measured, X, y, task, args.time, seed, peers)
            with beside(args.busy):
                found.append(splits.of(key, measure))
            values = found[-1][:-2]
            ranks.append(rankdata(-np.round(values, 4)))
            gaps.append(max(values) - values[0])
        rows, means = int(0.75 * len(y)), np.mean(found, axis=0)
        cells = [f"{value:.4f}" for value in means[:-2]]
        longest, largest = np.max(found, axis=0)[-2:]
        alone[name] = [means[0], longest, largest]
        section.row(name, f"{rows:,}", *cells, f"{longest:.0f}", f"{largest:.0f}")
    if peers:
        rank_row(section, ranks)
        section.note(f"the furthest that mercer fit was behind the best: {max(gaps):.4f}")
        versions = f"LightGBM {lightgbm.__version__}"
        versions += "" if xRFM is None else f", xRFM {__about__.__version__}"
        section.note(f"{args.seeds} splits; {versions}")
    elif args.time == 30 and not args.busy and not args.quick:
        section.columns[3:3] = list(known("tables")[0])[3:-2]
        section.rows = []
        beside_known(section, alone, args.seeds)
    section.finish(args.write)


if __name__ == "__main__":
    main()
