"""Held-out scores beside LIBSVM's on a grid of penalties and bandwidths; oneDAL's beside them.

Real data sets of ``MERCER_DATA``; up to 2,000 rows for the fit, others for the score. Columns are
standardised, targets of regressions too, so that one grid and one width of the tube serve all.
Where mercer and LIBSVM disagree, LIBSVM with a small tolerance says which is away: a cell whose
score LIBSVM's own tolerance leaves open, as ν-machines with ν below the share of errors that can be
reached (their margin is 0 then: mercer may refuse them), is counted apart.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sklearn.svm
import sklearnex.svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import mercer
from harness import Section, data_folder, options
from svm_problems import table

CLASSIFICATION = ["pendigits.csv.gz", "segment.csv", "spambase.csv.gz", "satimage_train.csv.gz",
                  "phoneme.csv"]  # fmt: skip
REGRESSION = ["kin8nm.csv.gz", "airfoil.csv", "cpu_act.csv.gz", "wine_white.csv", "energy.csv"]
GAMMAS = [1 / 16, 1 / 4, 1.0, 4.0, 16.0]  # times 1/d
PENALTIES = {"C": [0.1, 1.0, 10.0, 100.0, 1000.0]}
#: learner -> its grid beside γ; C means nothing to NuSVC
LEARNERS = {"SVC": PENALTIES, "SVR": PENALTIES, "NuSVC": {"nu": [0.1, 0.2, 0.3, 0.4, 0.5]},
            "NuSVR": PENALTIES}  # fmt: skip
PEERS = [("mercer", "float32"), ("mercer", "float64"), ("intelex", "float32"),
         ("intelex", "float64")]  # fmt: skip
LIBRARIES: dict[str, Callable] = {
    "scikit-learn": lambda learner: getattr(sklearn.svm, learner),
    "intelex": lambda learner: getattr(sklearnex.svm, learner),
    "mercer": lambda learner: getattr(mercer, learner),
}
ROWS = 2000
TEST_ROWS = 5000  # at most
CLAIM = 0.002  # a larger difference is looked into, by
EXACT = 1e-6  # the tolerance of LIBSVM


class Split(NamedTuple):
    """Rows to fit and rows to score; float64."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def split(path: Path, regression: bool, rows: int) -> Split:
    """At most ``rows`` and two thirds of a table for the fit, in an order that is shuffled."""
    X, y = table(path)
    if regression:
        y = y.astype(float)
    order = np.random.default_rng(0).permutation(len(y))
    n = min(rows, 2 * len(y) // 3)
    train, test = order[:n], order[n : n + TEST_ROWS]
    scaler = StandardScaler().fit(X[train])
    if regression:
        y = (y - y[train].mean()) / y[train].std()
    return Split(scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test])


def score(library: str, learner: str, params: dict, part: Split, dtype: str) -> float:
    """Accuracy or R²; NaN where the parameters are refused, as a ν that no machine can have."""
    model = LIBRARIES[library](learner)(**params)
    try:
        model.fit(part.X.astype(dtype), part.y)
    except ValueError:
        return np.nan
    return model.score(part.X_test.astype(dtype), part.y_test)


def scores(learner: str, part: Split, gammas: list, grid: dict) -> tuple[list[dict], np.ndarray]:
    """The cells of the grid, and the score of LIBSVM and all others in each: (cells, 5)."""
    ((name, values),) = grid.items()
    cells = [{name: value, "gamma": g / part.X.shape[1]} for value in values for g in gammas]
    runs = [("scikit-learn", "float64"), *PEERS]
    found = [[score(lib, learner, cell, part, dtype) for lib, dtype in runs] for cell in cells]
    return cells, np.array(found)


def exact_scores(learner: str, part: Split, cells: list[dict], found: np.ndarray) -> np.ndarray:
    """LIBSVM's score at a small tolerance, in the cells where mercer is away from it, or says that
    there is no solution; else NaN."""
    away = ~(np.abs(found[:, 1:3] - found[:, :1]) <= CLAIM).all(axis=1)  # or refused
    away &= ~np.isnan(found[:, 0])
    exact = np.full(len(cells), np.nan)
    for k in np.flatnonzero(away):
        params = {**cells[k], "tol": EXACT}
        exact[k] = score("scikit-learn", learner, params, part, "float64")
    return exact


def main() -> None:
    args = options()
    folder = data_folder()
    section = Section(
        "svm_agreement",
        "Largest difference of the held-out score (accuracy, R²) from scikit-learn's over 5 γ "
        f"(1/16 to 16, times 1/d) x 5 C (0.1 to 1,000; for NuSVC ν, 0.1 to 0.5); up to {ROWS:,} "
        "rows for the fit. One row: what one row of the test part weighs. Open: cells where mercer "
        f"and scikit-learn differ by more than {CLAIM} and scikit-learn is as far from itself with "
        f"tol = {EXACT:g}; there the largest difference from the latter is given.",
        ["learner", "data", "one row", *(f"{library} {dtype}" for library, dtype in PEERS),
         "the cell of mercer's largest", "open", "there mercer", "there scikit-learn"],
    )  # fmt: skip
    if folder is None:
        section.note("MERCER_DATA is not set: all left out")
        section.finish(False)
        return
    step = 2 if args.quick else 1
    largest = np.zeros(len(PEERS))
    unconverged = refused = alone_refused = 0
    for learner, grid in LEARNERS.items():
        regression = learner.endswith("SVR")
        grid = {name: values[::step] for name, values in grid.items()}
        for file in (REGRESSION if regression else CLASSIFICATION)[: 2 if args.quick else None]:
            place = folder / ("numeric_reg" if regression else "numeric_clf") / file
            part = split(place, regression, ROWS // (4 if args.quick else 1))
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                cells, found = scores(learner, part, GAMMAS[::step], grid)
            unconverged += sum(w.category is ConvergenceWarning for w in caught)
            refused += int(np.isnan(found[:, 0]).sum())
            exact = exact_scores(learner, part, cells, found)
            open_ = np.abs(found[:, 0] - exact) > CLAIM
            away = np.abs(found[:, 1:] - found[:, :1])
            alone = np.isnan(found[:, 1:]) != np.isnan(found[:, :1])  # refused by one of the two
            away = np.where(alone, np.inf, np.nan_to_num(away))
            settled = np.where(open_[:, None], 0, away)
            largest = np.maximum(largest, settled.max(axis=0))
            cell = cells[settled[:, :2].max(axis=1).argmax()]
            from_exact = np.nan_to_num(np.abs(found[open_] - exact[open_, None]))
            alone_refused += int(np.isnan(found[open_][:, 1:3]).any(axis=1).sum())
            section.row(
                learner, file.split(".")[0], "" if regression else f"{1 / len(part.y_test):.1e}",
                *(f"{value:.1e}" for value in settled.max(axis=0)),
                ", ".join(f"{name} = {value:.3g}" for name, value in cell.items()), open_.sum(),
                f"{from_exact[:, 1:3].max():.1e}" if open_.any() else "",
                f"{from_exact[:, 0].max():.1e}" if open_.any() else "",
            )  # fmt: skip
    section.note(
        "largest of all but open cells: "
        + ", ".join(f"{lib} {dtype} {x:.1e}" for (lib, dtype), x in zip(PEERS, largest))
    )
    section.note(
        f"cells that scikit-learn refuses (ν too large): {refused}; inf: refused by one alone"
    )
    section.note(f"open cells that mercer refuses, since their margin is 0: {alone_refused}")
    section.note(f"warnings of fits that did not converge: {unconverged}")
    section.note(f"scikit-learn-intelex {version('scikit-learn-intelex')}")
    section.finish(args.write)


if __name__ == "__main__":
    main()
