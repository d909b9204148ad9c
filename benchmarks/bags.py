"""Bags of points: how many of Musk1 each kernel gets right, beside sawmil, and seconds of sliced
transport beside POT.

One thread, and seconds of the processor. The peers need versions of their own of what they stand
on: MERCER_PEERS names a Python that has sawmil, osqp and POT, and without it they are left out.
MERCER_DATA is needed for the samples. ``--part`` runs one section alone.
"""

import csv
import gzip
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.model_selection import StratifiedKFold

from harness import Section, data_folder, options, run_beside
from mercer import SVC, KernelSearchCV
from mercer.distances import KernelDistance, SlicedWasserstein
from mercer.kernels import RBF, Bhattacharyya, GaussianMeanMap, Kernel, MeanMap

PENALTIES = [1.0, 10.0, 100.0, 1000.0]
WIDTHS = [0.1, 0.3, 1.0, 3.0]  # γ of points, times the columns
FOLDS, INNER = 10, 5

#: what runs in the environment of the peers: the problem by name, and the folder of its samples
PEERS = r"""
import json, sys, time, warnings
import numpy as np
warnings.filterwarnings("ignore")
problem, folder = sys.argv[1:]
data = np.load(folder + "/data.npz")
V, starts, y, fold = (data[name] for name in ("V", "starts", "y", "fold"))
bags = [V[a:b] for a, b in zip(starts[:-1], starts[1:])]
if problem == "sliced":
    import ot
    ot.sliced_wasserstein_distance(bags[0], bags[1], n_projections=64, seed=0)
    began = time.process_time()
    for i in range(len(bags)):
        for j in range(i):
            ot.sliced_wasserstein_distance(bags[i], bags[j], n_projections=64, seed=0)
    print(json.dumps({"POT": time.process_time() - began}))
    sys.exit()
from sklearn.model_selection import StratifiedKFold
import sawmil
makers = {
    "NSK": lambda C, g: sawmil.NSK(
        C=C, kernel=sawmil.RBF(gamma=g), normalizer="featurespace", solver="osqp"),
    "sMIL": lambda C, g: sawmil.sMIL(C=C, kernel=sawmil.RBF(gamma=g), solver="osqp"),
}
def right(make, C, g, train, test):
    model = make(C, g).fit([bags[i] for i in train], y[train].astype(float))
    found = np.ravel(model.decision_function([bags[i] for i in test])) > 0
    return float(np.mean(found == (y[test] > 0)))
found = {}
for name, make in makers.items():
    began, scores = time.process_time(), []
    for k in range(fold.max() + 1):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        points = np.concatenate([bags[i] for i in train])
        mean, scale = points.mean(axis=0), points.std(axis=0)
        scale[scale == 0] = 1
        kept, bags = bags, [(bag - mean) / scale for bag in bags]
        inner = list(StratifiedKFold(int(data["inner"]), shuffle=True, random_state=0)
                     .split(train, y[train]))
        best = max(
            (np.mean([right(make, C, g, train[a], train[b]) for a, b in inner]), -i, C, g)
            for i, (C, g) in enumerate((C, g / V.shape[1])
                                       for C in data["penalties"] for g in data["widths"]))
        scores.append(right(make, *best[2:], train, test))
        bags = kept
    found["sawmil, " + name] = [scores, time.process_time() - began]
print(json.dumps(found))
"""


def musk(folder: Path) -> tuple[list[np.ndarray], np.ndarray]:
    """The bags of Musk1 and their classes."""
    with gzip.open(folder / "bags" / "musk1.csv.gz", "rt", newline="") as file:
        rows = list(csv.reader(file))[1:]
    points: dict[str, list] = {}
    classes: dict[str, int] = {}
    for name, label, *numbers in rows:
        points.setdefault(name, []).append(numbers)
        classes[name] = int(float(label))
    return [np.array(bag, float) for bag in points.values()], np.array(list(classes.values()))


def families(bags: list[np.ndarray]) -> dict[str, list[Kernel]]:
    """Kernels of several widths, among which each fold of the training bags chooses."""
    gammas = [width / bags[0].shape[1] for width in WIDTHS]
    rho = SlicedWasserstein()
    middle = RBF("median", rho).bind(rho.encode(bags)).gamma
    return {
        "mean map": [MeanMap(RBF(g)).normalised() for g in gammas],
        "multi-instance, RBF ** 5": [MeanMap(RBF(g / 5) ** 5).normalised() for g in gammas],
        "Gaussian of MMD": [RBF("median", KernelDistance(MeanMap(RBF(g)))) for g in gammas],
        "sliced Wasserstein": [RBF(middle * 4 * width, rho) for width in WIDTHS],
        "Bhattacharyya": [Bhattacharyya(ridge) for ridge in (0.1, 1.0)],  # d³ a pair
        "Gaussian mean map": [GaussianMeanMap(g) for g in gammas[1:3]],
    }


def accuracies(name: str, bags: list, y: np.ndarray, folds: list) -> list[float]:
    """The share of each fold that a machine gets right, chosen on the others alone."""
    scores = []
    for train, test in folds:
        points = np.concatenate([bags[i] for i in train])
        mean, scale = points.mean(axis=0), points.std(axis=0)
        scale[scale == 0] = 1
        scaled = [(bag - mean) / scale for bag in bags]
        rows = [scaled[i] for i in train]
        inner = StratifiedKFold(INNER, shuffle=True, random_state=0)
        grid = {"kernel": families(rows)[name], "C": PENALTIES}
        model = KernelSearchCV(SVC(n_jobs=1), grid, cv=inner, n_jobs=1).fit(rows, y[train])
        scores.append(float(np.mean(model.predict([scaled[i] for i in test]) == y[test])))
    return scores


def peers(problem: str, bags: list, y: np.ndarray, fold: np.ndarray) -> dict:
    """What the peers found, as their program prints it."""
    python = os.environ.get("MERCER_PEERS")
    if python is None:
        return {}
    with TemporaryDirectory() as folder:
        np.savez(
            f"{folder}/data.npz", V=np.concatenate(bags), y=y, fold=fold, inner=INNER,
            starts=np.cumsum([0, *map(len, bags)]), penalties=PENALTIES, widths=WIDTHS,
        )  # fmt: skip
        return run_beside(python, PEERS, problem, folder)


def musk_section(quick: bool, bags: list, y: np.ndarray) -> Section:
    section = Section(
        "bags: Musk1",
        f"Musk1 ({len(bags)} bags, {sum(map(len, bags))} points, {bags[0].shape[1]} columns): per "
        f"cent of the bags that are right in {FOLDS}-fold cross-validation, with its standard "
        f"error, where C and the width are chosen by {INNER} folds of the others; seconds of the "
        "processor, one thread.",
        ["kernel", "right", "standard error", "seconds"],
    )
    split = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(bags, y)
    folds = [(train, test) for train, test in split]
    fold = np.empty(len(bags), int)
    for k, (_, test) in enumerate(folds):
        fold[test] = k

    def row(name: str, scores: list[float], took: float) -> None:
        scores = [100 * score for score in scores]
        error = np.std(scores, ddof=1) / np.sqrt(len(scores))
        section.row(name, f"{np.mean(scores):.1f}", f"{error:.1f}", f"{took:.1f}")

    for name in families(bags):
        began = time.process_time()
        scores = accuracies(name, bags, y, folds[: 2 if quick else FOLDS])
        row(name, scores, time.process_time() - began)
    theirs = {} if quick else peers("musk", bags, y, fold)
    for name, (scores, took) in theirs.items():
        row(name, scores, took)
    if not theirs:
        section.note("sawmil was left out: MERCER_PEERS names no Python that has it, or --quick")
    return section


def sliced_section(quick: bool, bags: list, y: np.ndarray) -> Section:
    section = Section(
        "bags: sliced Wasserstein",
        "All pairs of the bags of Musk1 on 64 directions: seconds of the processor, one thread.",
        ["library", "seconds", "mercer is faster by"],
    )
    rho = SlicedWasserstein()
    times = []
    for _ in range(1 if quick else 5):
        began = time.process_time()
        X = rho.encode(bags)
        rho.bind(X).whole(X, X, n_jobs=1)
        times.append(time.process_time() - began)
    own = float(np.median(times))
    section.row("mercer", f"{own:.4f}", "")
    for name, took in peers("sliced", bags, y, np.zeros(len(bags), int)).items():
        section.row(name, f"{took:.3f}", f"{took / own:.0f}")
    return section


PARTS: dict[str, Callable[[bool, list, np.ndarray], Section]] = {
    "musk": musk_section,
    "sliced": sliced_section,
}


def main() -> None:
    given = options(("--part", {"choices": list(PARTS), "default": None}))
    folder = data_folder()
    if folder is None:
        sys.exit("MERCER_DATA names no folder of samples.")
    bags, y = musk(folder)
    for name, part in PARTS.items():
        if given.part in (None, name):
            part(given.quick, bags, y).finish(given.write)


if __name__ == "__main__":
    main()
