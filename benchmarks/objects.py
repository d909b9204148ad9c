"""Time series beside tslearn, aeon and dtaidistance: alignments of all pairs, nearest neighbours,
and how many classes are right.

One thread, and seconds of the processor, so that other programs disturb little. The peers need
versions of their own of what they stand on: MERCER_PEERS names a Python that has them, and without
it they are left out. MERCER_DATA is needed for the samples.
"""

import csv
import gzip
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from harness import Section, data_folder, interleaved, options, run_beside
from mercer import SVC, KNeighborsClassifier
from mercer.distances import DTW, MSM, TWED, Distance
from mercer.kernels import GlobalAlignment, Kernel
from roofline import note_of

WINDOW = 0.1
SIGMA = 10.0
TABLES = {"Trace": "trace", "GunPoint": "gunpoint", "ArrowHead": "arrowhead",
          "ItalyPowerDemand": "italypowerdemand"}  # fmt: skip
LISTS = {"BasicMotions": "basicmotions", "PickupGesture": "pickupgesturewiimotez"}

#: what runs in the environment of the peers: the problems by name, each a function of no arguments
PEERS = r"""
import json, sys, time, statistics, warnings
import numpy as np
warnings.filterwarnings("ignore")
folder, repeats = sys.argv[1], int(sys.argv[2])
data = np.load(folder + "/data.npz")
X = data["X"]
w = int(float(data["window"]) * X.shape[1])
from aeon import distances as aeon
from aeon.classification.distance_based import KNeighborsTimeSeriesClassifier
from dtaidistance import dtw
from tslearn.metrics import cdist_dtw, cdist_gak
C = X[:, None, :]
rows = list(X)
def knn(name):
    A, a, B = data[name + "_X"], data[name + "_y"], data[name + "_Z"]
    model = KNeighborsTimeSeriesClassifier(
        distance="dtw", distance_params={"window": float(data["window"])}, n_jobs=1)
    return lambda: model.fit(A[:, None, :], a).predict(B[:, None, :]).astype(float)
runs = {
    "DTW|tslearn": lambda: cdist_dtw(X, n_jobs=1),
    "DTW|aeon": lambda: aeon.dtw_pairwise_distance(C) ** 0.5,
    "DTW|dtaidistance": lambda: dtw.distance_matrix_fast(rows, parallel=False),
    "DTW, window|tslearn": lambda: cdist_dtw(
        X, global_constraint="sakoe_chiba", sakoe_chiba_radius=w, n_jobs=1),
    "DTW, window|aeon": lambda: aeon.dtw_pairwise_distance(C, window=w / X.shape[1]) ** 0.5,
    "DTW, window|dtaidistance": lambda: dtw.distance_matrix_fast(
        rows, window=w + 1, parallel=False),
    "global alignment|tslearn": lambda: cdist_gak(X, sigma=float(data["sigma"]), n_jobs=1),
    "MSM|aeon": lambda: aeon.msm_pairwise_distance(C, c=1.0),
    "TWED|aeon": lambda: aeon.twe_pairwise_distance(C, nu=0.001, lmbda=1.0),
}
for key in data.files:
    if key.endswith("_X"):
        name = key[:-2]
        runs["nearest neighbour, " + name + "|aeon"] = knn(name)
found = {}
for name, run in runs.items():
    run()  # compiles
    times = []
    for _ in range(repeats):
        began = time.process_time()
        value = run()
        times.append(time.process_time() - began)
    found[name] = statistics.median(times)
    np.save(folder + "/" + name.replace("|", "_") + ".npy", value)
print(json.dumps(found))
"""


def tables(folder: Path, name: str) -> list[np.ndarray]:
    """Training series and classes, then those of the test."""
    found = []
    for part in ("train", "test"):
        path = folder / f"{name}_{part}.csv"
        opened = open if path.exists() else gzip.open
        path = path if path.exists() else path.with_suffix(".csv.gz")
        with opened(path, "rt", newline="") as file:
            rows = list(csv.reader(file))[1:]
        found += [np.array([r[1:] for r in rows], float), np.array([r[0] for r in rows])]
    return found


def lists(folder: Path, name: str) -> list:
    """The same of a .ts file, in which channels are divided by colons."""
    found = []
    for part in ("train", "test"):
        text = (folder / f"{name}_{part}.ts").read_text()
        lines = text[text.lower().index("@data") :].splitlines()[1:]
        rows = [line.split(":") for line in lines if line.strip()]
        series = [np.array([c.split(",") for c in row[:-1]], float).T for row in rows]
        found += [series, np.array([row[-1] for row in rows])]
    return found


def seconds(run: Callable[[], object], repeats: int) -> float:
    """The median of processor time."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return statistics.median(times)


def matrix(comparison: Distance | Kernel, X: np.ndarray) -> np.ndarray:
    """All values of one thread."""
    encoded = comparison.encode(X)
    return comparison.bind(encoded).whole(encoded, encoded, n_jobs=1)


def shared(sets: dict[str, list]) -> list[str]:
    """How much faster two threads are than one, by a clock."""
    X = np.vstack([sets["Trace"][0], sets["Trace"][2]])
    found = []
    for name, comparison in {"DTW": DTW(), "global alignment": GlobalAlignment(SIGMA)}.items():
        encoded = comparison.encode(X)
        whole = partial(comparison.bind(encoded).whole, encoded, encoded)
        times = interleaved({str(jobs): partial(whole, n_jobs=jobs) for jobs in (1, 2)}, 7)
        found.append(f"{name} {times['1'] / times['2']:.2f} times as fast as one")
    return found


def peers(X: np.ndarray, sets: dict[str, list], repeats: int, folder: str) -> dict[str, float]:
    """Seconds of "problem|library", whose values stand in files of the folder."""
    python = os.environ.get("MERCER_PEERS")
    if python is None:
        return {}
    arrays = {f"{name}_{part}": a for name, s in sets.items() for part, a in zip("XyZ", s)}
    np.savez(f"{folder}/data.npz", X=X, window=WINDOW, sigma=SIGMA, **arrays)
    return run_beside(python, PEERS, folder, str(repeats))


def main() -> None:
    given = options()
    folder = data_folder()
    if folder is None:
        sys.exit("MERCER_DATA names no folder of samples.")
    folder, repeats = folder / "timeseries", 1 if given.quick else 3
    sets = {name: tables(folder, file) for name, file in TABLES.items()}
    X = sets["Trace"][0]
    section = Section(
        "objects",
        "Time series, one thread, seconds of the processor: all pairs of the 100 training series "
        f"of Trace (275 points), window {WINDOW:g} of them; nearest neighbours of the test series "
        "under DTW with this window.",
        ["problem", "library", "seconds", "mercer is faster by", "largest difference"],
    )
    window = int(WINDOW * X.shape[1])
    problems: dict[str, Callable[[], np.ndarray]] = {
        "DTW": lambda: matrix(DTW(), X),
        "DTW, window": lambda: matrix(DTW(window), X),
        "global alignment": lambda: matrix(GlobalAlignment(SIGMA), X),
        "MSM": lambda: matrix(MSM(), X),
        "TWED": lambda: matrix(TWED(), X),
    }
    for name in ("Trace", "GunPoint", "ItalyPowerDemand"):
        A, a, B, _ = sets[name]

        def nearest(A=A, a=a, B=B) -> np.ndarray:
            model = KNeighborsClassifier(1, metric=DTW(WINDOW), n_jobs=1).fit(A, a)
            return model.predict(B).astype(float)

        problems[f"nearest neighbour, {name}"] = nearest
    asked = {name: s for name, s in sets.items() if f"nearest neighbour, {name}" in problems}
    with TemporaryDirectory() as place:
        theirs = peers(X, asked, repeats, place)
        for problem, run in problems.items():
            values, own = run(), seconds(run, repeats)
            section.row(problem, "mercer", f"{own:.3f}", "", "")
            for key, took in theirs.items():
                name, library = key.split("|")
                if name == problem:
                    other = np.load(f"{place}/{key.replace('|', '_')}.npy")
                    other = np.where(np.isfinite(other), other, values)
                    gap = np.abs(other - values).max() / np.abs(values).max()
                    section.row(problem, library, f"{took:.3f}", f"{took / own:.1f}", f"{gap:.1e}")
    sets |= {name: lists(folder, file) for name, file in LISTS.items()}
    right = []
    for name, (A, a, B, b) in sets.items():
        neighbour = KNeighborsClassifier(1, metric=DTW(WINDOW)).fit(A, a).score(B, b)
        machine = SVC(kernel=GlobalAlignment(), C=100).fit(A, a).score(B, b)
        right.append(f"{name} {100 * neighbour:.1f} and {100 * machine:.1f}")
    section.note(
        "per cent of the test series that the nearest neighbour under DTW (window 0.1) and SVC on "
        f"GlobalAlignment(), C = 100, get right: {', '.join(right)}"
    )
    section.note(f"two threads, all pairs of 200 series of Trace: {', '.join(shared(sets))}")
    section.note(
        "global alignment 10 times as fast as tslearn is not reached with AVX-512: DTW, which "
        "has the same cells without an exponential, takes 0.107 s, and the local similarities "
        "most of the rest. Newton steps in place of their division took 2.4 times, and one "
        "division for two cells 1.2 times as long (AVX2)"
    )
    section.note("differences are relative to the largest value")
    if not theirs:
        section.note("the peers were left out: MERCER_PEERS names no Python that has them")
    section.note(note_of("DTW"))
    section.finish(given.write)


if __name__ == "__main__":
    main()
