"""Learnt neighbourhoods and ``mercer fit`` beside tuned peers on tables, with the same seconds.

A quarter of the rows is held out, with seed 0, as in neighbourhood.py, which has the sets. Every
machine has ``--time`` seconds and the same cores. ``mercer fit`` is timed as a whole process;
peers run in processes of their own by `peers_on_tables.py`, their imports are not timed.

``--peers-python PATH`` names a Python that has catboost, and pytabkit, which needs torch; peers
that it lacks are left out, and this is said. ``--sets`` chooses less, and ``--splits FILE`` keeps
what is measured, so that a run can go on. Needs MERCER_DATA, except for board.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from commands import Splits, command_on_rows
from harness import Section, options
from mercer import NeighbourhoodMachineClassifier, NeighbourhoodMachineRegressor
from mercer.threads import count_jobs
from neighbourhood import made_or_read
from peers_on_tables import PACKAGES
from tables import score

SETS = (
    "board", "california", "elevators", "airfoil", "kin8nm", "cpu_act", "pendigits", "phoneme",
)  # fmt: skip
SCRIPT = Path(__file__).parent / "peers_on_tables.py"


class Split:
    """Training and test rows of a set, and the seconds that each machine has."""

    def __init__(self, X: pd.DataFrame, y: np.ndarray, task: str, seconds: float):
        order = np.random.default_rng(0).permutation(len(y))
        test, train = np.split(order, [len(y) // 4])
        self.X, self.y, self.Z, self.truth = X.iloc[train], y[train], X.iloc[test], y[test]
        self.task, self.seconds = task, seconds

    def worth(self, predicted: np.ndarray, spent: float) -> list[float]:
        return [score(self.truth, predicted, self.task), spent]


def neighbourhood(split: Split) -> list[float]:
    """Score and seconds of a learnt neighbourhood."""
    regression = split.task == "regression"
    Machine = NeighbourhoodMachineRegressor if regression else NeighbourhoodMachineClassifier
    began = time.perf_counter()
    model = Machine(time=split.seconds, random_state=0).fit(split.X, split.y)
    predicted = model.predict(split.Z)
    return split.worth(predicted, time.perf_counter() - began)


def automatic(split: Split) -> list[float]:
    """Score and seconds of ``mercer fit``, from a file of rows to its report."""
    run = command_on_rows(split.X, split.y, split.Z, split.task, split.seconds)
    return split.worth(run.predicted.to_numpy(), run.seconds)


def elsewhere(python: str, peer: str, split: Split) -> list[float]:
    """Score and seconds of a peer, in a process of its own; how much it tried is printed."""
    with TemporaryDirectory() as folder:
        rows = split.X.assign(**{"the target": split.y})
        rows.to_csv(f"{folder}/train.csv", index=False)
        split.Z.to_csv(f"{folder}/test.csv", index=False)
        asked = [peer, folder, split.task, f"{split.seconds:g}", str(count_jobs(None))]
        spent, predicted, tried = json.loads(said(python, *asked))
    print(f"{peer}: {tried}", flush=True)
    return split.worth(np.array(predicted), spent)


def said(python: str, *asked: str) -> str:
    """The last line that `peers_on_tables.py` prints."""
    done = subprocess.run([python, str(SCRIPT), *asked], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout.splitlines()[-1]


def main() -> None:
    args = options(
        ("--time", {"type": float, "default": 30.0}),
        ("--sets", {"nargs": "*", "default": SETS}),
        ("--peers-python", {"default": sys.executable}),
        ("--splits", {"default": ""}),
    )
    seconds = 5.0 if args.quick else args.time
    versions = json.loads(said(args.peers_python))
    machines = {"neighbourhood": neighbourhood, "mercer fit": automatic}
    machines |= {peer: partial(elsewhere, args.peers_python, peer) for peer in versions}
    section = Section(
        "tuned peers",
        f"Accuracy or R² on a quarter of the rows, and the seconds that were taken of {seconds:g}, "
        f"on {count_jobs(None)} cores.",
        ["data", "training rows", *machines],
    )
    splits, ranks = Splits(args.splits), []
    for name in ("airfoil",) if args.quick else args.sets:
        found = made_or_read(name)
        if found is None:
            section.note(f"{name} was left out: MERCER_DATA is not set")
            continue
        split = Split(*found, seconds)
        results = [
            splits.of(f"{name},{seconds:g},{machine},0", partial(measure, split))
            for machine, measure in machines.items()
        ]
        ranks.append(rankdata(-np.round([value for value, _ in results], 4)))
        cells = [f"{value:.4f} in {spent:.0f} s" for value, spent in results]
        section.row(name, f"{len(split.y):,}", *cells)
    if ranks:
        section.row("mean rank", "", *[f"{rank:.2f}" for rank in np.mean(ranks, axis=0)])
    left_out = [peer for peer in PACKAGES if peer not in versions]
    if left_out:
        section.note(f"left out, since their packages are missing: {', '.join(left_out)}")
    section.note(
        "LightGBM and CatBoost: settings drawn at random, early stopping on a fifth of the rows; "
        "RealMLP-TD-S: its own settings, as many epochs as there was time for"
    )
    section.note(f"of peers: {', '.join(dict.fromkeys(versions.values()))}")
    section.finish(args.write)


if __name__ == "__main__":
    main()
