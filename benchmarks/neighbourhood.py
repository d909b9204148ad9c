"""Learnt neighbourhoods beside LightGBM on tables of rules, steps, maps and others; and their cost.

Each machine has ``--time`` seconds at most for its three members; LightGBM has its defaults, and a
search of as many seconds as the machine took. Where others use the cores, ``--time 0`` sets no
limit and ``--alone`` leaves the search out; seconds of the processor are told too. A quarter of the
rows is held out, with seed 0. The board has three pieces at random squares, and classes that follow
from the distances between them; the steps are products of thresholds on ten of 48 columns of whole
numbers, eleven of them constant.

``--sets`` chooses less. Needs MERCER_DATA, except for board and steps. ``--part rows`` fits a
million rows of the waves of large_tables.py, in a process of its own, and predicts by all rows and
by indexes.
"""

import json
import time
from argparse import Namespace
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd

from harness import Section, data_folder, options, product_rate, said_and_peak
from mercer import NeighbourhoodMachineClassifier, NeighbourhoodMachineRegressor, _native
from mercer.threads import count_jobs, ordered_map
from tables import boosted, read, score

MADE = ("board", "steps")
SETS = (*MADE, "california", "elevators", "airfoil", "kin8nm", "cpu_act", "pendigits", "phoneme")
GOALS = {"california": 0.86, "elevators": 0.923, "airfoil": 0.968, "board": 0.985, "steps": 0.994}
MANY_ROWS = """
import json
import sys
import time
sys.path[:0] = {path!r}
import numpy as np
from sklearn.metrics import r2_score
from large_tables import waves
from mercer import NeighbourhoodMachineRegressor
X, y = waves({rows} + 5000)
X = X.astype(np.float32)
# measured
began = time.perf_counter()
model = NeighbourhoodMachineRegressor(time={seconds}, random_state=0).fit(X[:{rows}], y[:{rows}])
fitted, told = time.perf_counter() - began, []
exact = None
for neighbours, algorithm in ((None, "auto"), (100, "auto"), (100, "lsh")):
    model.set_params(n_neighbors=neighbours, algorithm=algorithm)
    began = time.perf_counter()
    if neighbours:
        model.indexes()
    built, began = time.perf_counter() - began, time.perf_counter()
    predicted = model.predict(X[{rows}:])
    spent, recall = time.perf_counter() - began, 1.0
    if neighbours:
        near = model.kneighbors(X[{rows} : {rows} + 500], 100, return_distance=False)
        exact = near if exact is None else exact
        recall = np.mean([np.isin(a, b).mean() for a, b in zip(exact, near)])
    told.append([str(neighbours or "all"), algorithm, built, 5000 / spent, recall,
                 r2_score(y[{rows}:], predicted)])
print(json.dumps([fitted, told]).replace(" ", ""))
"""
STEP_FLOPS = 6 * 1024 * (264 * 8 + 256 * 8 + 2 * 32 * 256) + 6 * 256 * 1024 * 32


def board(rows: int = 20_000, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Three pieces on a board, each by file and rank from 0 to 7; 15 classes by their distances."""
    places = np.random.default_rng(seed).integers(0, 8, (rows, 6))
    a, b, c = places[:, :2], places[:, 2:4], places[:, 4:]

    def apart(p, q):
        return abs(p - q).max(axis=1)

    reach = np.digitize(apart(a, b), [2, 4])  # 0, 1, 2
    lead = np.clip(apart(a, c) - apart(b, c) + 2, 0, 4)
    names = ["a_file", "a_rank", "b_file", "b_rank", "c_file", "c_rank"]
    return pd.DataFrame(places, columns=names), (5 * reach + lead).astype(str)


def steps(rows: int = 9_000, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Eight products of thresholds on two or three of ten columns, with 0.25% of noise."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (rows, 48))
    X[:, 37:] = rng.integers(0, 12, 11)
    y = np.zeros(rows)
    for j in range(8):
        chosen = np.append(rng.choice(10, rng.integers(1, 3), replace=False), j)
        above = X[:, chosen] > rng.integers(3, 8, len(chosen))
        y += rng.uniform(1, 3) * above.all(axis=1)
    y += np.sqrt(0.0025 * y.var()) * rng.normal(size=rows)
    order = rng.permutation(48)
    return pd.DataFrame(X[:, order], columns=[f"x{j}" for j in range(48)]), y


def made_or_read(name: str) -> tuple[pd.DataFrame, np.ndarray, str] | None:
    if name in MADE:
        X, y = {"board": board, "steps": steps}[name]()
        return X, y, "classification" if name == "board" else "regression"
    folder = data_folder()
    return None if folder is None else read(folder, name)


def step_seconds(workers: int, repeats: int = 200) -> float:
    """Seconds of one step of 256 queries and 1,024 candidates: 8 numbers, 256 hidden units."""
    rng = np.random.default_rng(0)
    native = _native.NeighbourhoodTraining(8, 0, 32, 256, 1, 1024, 256, False, workers)
    numbers = rng.normal(size=(15_000, 8)).astype(np.float32)
    targets = rng.normal(size=(15_000, 1)).astype(np.float32)
    ones, none = np.ones(15_000, np.float32), np.zeros((15_000, 0), np.float32)
    parameters = (0.1 * rng.normal(size=native.size)).astype(np.float32)
    moments, running = np.zeros((2, native.size), np.float32), np.tile(np.float32([0, 1]), 64)
    rows, times = rng.permutation(15_000)[:1024], []

    def work(worker: int) -> None:
        if worker:
            native.help(worker)
            return
        for i in range(repeats):
            began = time.perf_counter()
            native.run(
                parameters, *moments, running, numbers, none, targets, np.zeros(15_000, np.int32),
                ones, rows, 256, 0.01, i + 1.0, 0.0, i,
            )  # fmt: skip
            times.append(time.perf_counter() - began)
        native.close()

    native.open()
    for _ in ordered_map(work, range(workers), workers):
        pass
    return float(np.min(times))


def pair_seconds() -> float:
    """Seconds of a prediction for each pair of a query and a training row, on one thread."""
    rng = np.random.default_rng(0)
    Zq, Z = (rng.normal(size=(n, 32)).astype(np.float32) for n in (1024, 15_000))
    Y, w = rng.normal(size=(15_000, 1)).astype(np.float32), np.ones(15_000, np.float32)
    out, times = np.empty((1, 1024, 1), np.float32), []
    for _ in range(10):
        began = time.perf_counter()
        _native.neighbourhood_smooth(Zq, Z, Y, w, np.ones(1, np.float32), out)
        times.append(time.perf_counter() - began)
    return min(times) / (1024 * 15_000)


def lightgbm_defaults(X, y, X_test, task: str) -> np.ndarray:
    X, X_test = X.copy(), X_test.copy()
    for name in X.columns:
        if X[name].dtype.kind not in "fiu":
            X[name] = X[name].astype("category")
            X_test[name] = X_test[name].astype(X[name].dtype)
    Learner = lightgbm.LGBMRegressor if task == "regression" else lightgbm.LGBMClassifier
    return Learner(verbose=-1, random_state=0).fit(X, y).predict(X_test)


def many_rows(rows: int, seconds: float) -> Section:
    """A fit to many rows, whose steps do not depend on their number, and predictions."""
    section = Section(
        "learnt neighbourhoods, many rows",
        f"{rows:,} rows of the waves, 20 columns, one member, at most {seconds:g} s; 5,000 new "
        "rows, R² of the true function .9000. Recall is that of the 100 nearest rows.",
        ["rows of a mean", "index", "built in s", "predictions/s", "recall", "R²"],
    )
    path = [str(Path(__file__).parent)]
    said, peak = said_and_peak(MANY_ROWS.format(path=path, rows=rows, seconds=seconds))
    fitted, told = json.loads(said[-1])
    for neighbours, index, built, speed, recall, r2 in told:
        section.row(
            neighbours, index if neighbours != "all" else "", f"{built:.1f}", f"{speed:,.0f}",
            f"{recall:.3f}", f"{r2:.4f}",
        )  # fmt: skip
    section.note(f"the fit took {fitted:.0f} s; all of it {peak:,.0f} MB beyond the rows")
    return section


def main() -> None:
    args = options(
        ("--part", {"choices": ["sets", "rows"], "default": None}),
        ("--time", {"type": float, "default": 60.0}),
        ("--sets", {"nargs": "*", "default": SETS}),
        ("--members", {"type": int, "default": 3}),
        ("--alone", {"action": "store_true", "help": "leave out the search of LightGBM"}),
    )
    if args.part != "sets":
        many_rows(20_000 if args.quick else 1_000_000, 5 if args.quick else 300).finish(args.write)
    if args.part != "rows":
        sets(args)


def sets(args: Namespace) -> None:
    """Real and made tables, and the cost of a step and of a prediction."""
    limit = f"at most {args.time:g} s" if args.time else "as many steps as by default"
    tuned = "" if args.alone else ", and tuned for as many seconds as the machine took"
    section = Section(
        "learnt neighbourhoods",
        f"Accuracy or R² on a quarter of the rows; {args.members} members, {limit}. LightGBM with "
        f"its defaults{tuned}.",
        ["data", "training rows", "neighbourhood", "goal", "LightGBM",
         *([] if args.alone else ["tuned"]), "seconds", "of the processor", "kept columns"],
    )  # fmt: skip
    for name in ("airfoil",) if args.quick else args.sets:
        found = made_or_read(name)
        if found is None:
            section.note(f"{name} was left out: MERCER_DATA is not set")
            continue
        X, y, task = found
        order = np.random.default_rng(0).permutation(len(y))
        test, train = np.split(order, [len(y) // 4])
        Machine = NeighbourhoodMachineRegressor
        if task == "classification":
            Machine = NeighbourhoodMachineClassifier
        began, used = time.perf_counter(), time.process_time()
        model = Machine(n_members=args.members, time=args.time or None, random_state=0)
        model.fit(X.iloc[train], y[train])
        predicted = model.predict(X.iloc[test])
        spent, used = time.perf_counter() - began, time.process_time() - used
        parts = X.iloc[train], y[train], X.iloc[test], task
        others = [lightgbm_defaults(*parts)]
        others += [] if args.alone else [boosted(*parts, spent)]
        cells = [f"{score(y[test], p, task):.4f}" for p in (predicted, *others)]
        goal = f"{GOALS[name]:.3f}" if name in GOALS else ""
        section.row(
            name, f"{len(train):,}", cells[0], goal, *cells[1:], f"{spent:.0f}",
            f"{used:.0f}", f"{len(model.kept_columns_)} of {X.shape[1]}",
        )  # fmt: skip
    one, speed = step_seconds(1), product_rate(1)
    floor = STEP_FLOPS / speed
    shared = f", {1e3 * step_seconds(2):.2f} ms on two" if count_jobs(None) > 1 else ""
    section.note(
        f"A step of 256 queries and 1,024 candidates, 8 numbers, 256 hidden units: {1e3 * one:.2f}"
        f" ms on one thread{shared}. Its products alone would take {1e3 * floor:.2f} ms at the "
        f"{speed / 1e9:.0f} GFlop/s of numpy's products of large matrices."
    )
    section.note(f"A prediction: {1e9 * pair_seconds():.2f} ns for each pair of rows")
    section.note(f"LightGBM {lightgbm.__version__}")
    section.finish(args.write)


if __name__ == "__main__":
    main()
