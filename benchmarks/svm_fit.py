"""Fit and predict of SVC beside scikit-learn's (LIBSVM) and scikit-learn-intelex's (oneDAL).

All three have their defaults. What LIBSVM found is the measure: the dual's value at the machines of
the others is computed in float64 from their support vectors and compared.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from itertools import combinations

import numpy as np
import sklearn.svm
import sklearnex.svm

from harness import Section, data_folder, options
from mercer import SVC
from mercer.gram.place import available_memory
from svm_problems import Problem, a9a, hard, ijcnn_like, letter_like, mnist, unscaled

LIBRARIES = {"scikit-learn": sklearn.svm.SVC, "intelex": sklearnex.svm.SVC, "mercer": SVC}
#: LIBSVM computes in float64 whatever it is given
RUNS = [("scikit-learn", "float64"), ("intelex", "float32"), ("intelex", "float64"),
        ("mercer", "float32"), ("mercer", "float64")]  # fmt: skip
PREDICTED = 3000  # rows
LONG = 20.0  # seconds after which a library gets no further run
MOST = 5  # runs
TOUCHED = 4e9  # bytes at most


def touch_memory(n: int) -> None:
    """Write to as much memory as a fit of n rows may need, and give it back.

    On a virtual machine the first write to a page makes the host provide it, which was measured to
    take 2 s a GB, and the host takes back what is free within seconds; written to again at once,
    the same pages took 0.1 s a GB. Without this, who happens to be the first to need much memory
    would pay for the next.
    """
    np.ones(int(min(2 * 8 * n**2, TOUCHED, available_memory() / 2)) // 8)


def in_turn(
    runs: dict[tuple, Callable[[], object]], n: int, long: float, most: int
) -> dict[tuple, list]:
    """Seconds of the runs, interleaved; who has taken ``long`` seconds in all leaves the turn."""
    times: dict[tuple, list[float]] = {key: [] for key in runs}
    for _ in range(most):
        for key, run in runs.items():
            if sum(times[key]) < long:
                touch_memory(n)
                began = time.perf_counter()
                run()
                times[key].append(time.perf_counter() - began)
    return times


def quadratic(beta: np.ndarray, S: np.ndarray, gamma: float) -> float:
    """βᵀKβ of an RBF kernel, by strips of K."""
    squares, total = np.einsum("ij,ij->i", S, S), 0.0
    for s in range(0, len(S), 1000):
        part = slice(s, s + 1000)
        D = squares[part, None] + squares - 2 * S[part] @ S.T
        total += float(beta[part] @ np.exp(-gamma * np.maximum(D, 0)) @ beta)
    return total


def dual(model, problem: Problem) -> tuple[float, float]:
    """The dual's value, summed over the pairs of classes, and the worst breach of a constraint."""
    X, y, C, gamma = problem
    codes = np.unique(y, return_inverse=True)[1]
    support = codes[model.support_]
    value, breach = 0.0, 0.0
    for i, j in combinations(range(codes.max() + 1), 2):
        rows = np.flatnonzero((support == i) | (support == j))
        beta = np.where(
            support[rows] == i, model.dual_coef_[j - 1, rows], model.dual_coef_[i, rows]
        ).astype(np.float64)
        rows, beta = rows[beta != 0], beta[beta != 0]
        size = np.abs(beta).sum()
        S = X[model.support_[rows]]
        value += size - quadratic(beta, S - S.mean(axis=0), gamma) / 2
        breach = max(breach, abs(beta.sum()) / size, np.abs(beta).max() / C - 1)
    return value, breach


def warm_up() -> None:
    """A first fit and prediction of each library: imports, threads, code that is chosen once."""
    X, y, C, gamma = letter_like(1000)
    for library, dtype in RUNS:
        for classes in (2, 26):
            rows = y < classes
            LIBRARIES[library](C=C, gamma=gamma).fit(X[rows].astype(dtype), y[rows]).predict(X[:9])


class Table:
    """The rows of the section, and the ratios that the claims are about."""

    def __init__(self, section: Section):
        self.section = section
        self.beside_libsvm: list[float] = []
        self.beside_intel: list[float] = []
        self.predict: list[float] = []
        self.difference: list[float] = []
        self.breach: list[float] = []

    def add(self, name: str, problem: Problem, long: float, most: int) -> None:
        samples = {dtype: problem.X.astype(dtype) for dtype in ("float32", "float64")}
        models = {
            (library, dtype): LIBRARIES[library](C=problem.C, gamma=problem.gamma)
            for library, dtype in RUNS
        }
        fits = in_turn(
            {run: partial(model.fit, samples[run[1]], problem.y) for run, model in models.items()},
            len(problem.y), long, most,
        )  # fmt: skip
        predictions = in_turn(
            {run: partial(m.predict, samples[run[1]][:PREDICTED]) for run, m in models.items()},
            PREDICTED, long / 4, most,
        )  # fmt: skip
        fit = {run: statistics.median(times) for run, times in fits.items()}
        predict = {run: statistics.median(times) for run, times in predictions.items()}
        peer = RUNS[0]
        wanted = dual(models[peer], problem)[0]
        for run, model in models.items():
            library, dtype = run
            value, breach = dual(model, problem)
            difference = abs(value - wanted) / wanted
            faster, predicts = fit[peer] / fit[run], predict[peer] / predict[run]
            beside_intel = ""
            if library == "mercer":
                ratio = fit["intelex", dtype] / fit[run]
                beside_intel = f"{ratio:.2f}"
                self.beside_intel.append(ratio)
                self.difference.append(difference)
                self.breach.append(breach)
                if dtype == "float64":
                    self.beside_libsvm.append(faster)
                    self.predict.append(predicts)
            self.section.row(
                name, library, dtype, f"{fit[run]:.2f}", len(fits[run]), f"{faster:.1f}",
                beside_intel, f"{difference:.1e}", len(model.support_), f"{predict[run]:.3f}",
                f"{predicts:.1f}",
            )  # fmt: skip

    def claims(self) -> None:
        """The figures of all rows; claimed: 6, 1.3, 0.9, 3 and 1e-3."""
        note, median = self.section.note, statistics.median
        note(
            f"median ratio beside scikit-learn in float64 {median(self.beside_libsvm):.1f}, "
            f"beside intelex in the same precision {median(self.beside_intel):.2f}"
        )
        note(f"least ratio of any row {min(self.beside_libsvm + self.beside_intel):.2f}")
        note(f"least ratio of predict beside scikit-learn in float64 {min(self.predict):.1f}")
        note(
            f"largest difference of the dual {max(self.difference):.1e}; largest breach of a "
            f"constraint (relative) {max(self.breach):.1e}"
        )


def main() -> None:
    args = options()
    folder = data_folder()
    section = Section(
        "svm_fit",
        "Fit and predict of SVC with an RBF kernel, defaults but for C and γ; medians of "
        f"interleaved runs, no more of a library after {LONG:.0f} s. Difference: of the dual "
        f"objective from LIBSVM's, relative. Predicted: {PREDICTED:,} rows. Ratios: how many times "
        "as fast as that library, intelex in the same precision.",
        ["problem", "library", "dtype", "fit, s", "runs", "beside scikit-learn", "beside intelex",
         "difference", "support", "predict, s", "beside scikit-learn"],
    )  # fmt: skip
    some = 10 if args.quick else 1  # a part of the rows
    problems: dict[str, Callable[[], Problem]] = {
        "two classes, d = 22": partial(ijcnn_like, 30_000 // some),
        "26 classes, d = 16": partial(letter_like, 15_000 // some),
        "unscaled, d = 20": partial(unscaled, 10_000 // some),
        "C = 10⁴, d = 10": partial(hard, 5000 // some),
    }
    if folder is None:
        section.note("MERCER_DATA is not set: a9a and MNIST left out")
    else:
        problems = {
            "a9a": partial(a9a, folder),
            "MNIST, 10 classes": partial(mnist, folder, 20_000 // some),
            **problems,
        }
    warm_up()
    table = Table(section)
    for name, make in problems.items():
        problem = make()
        if name == "a9a":
            problem = problem._replace(X=problem.X[::some], y=problem.y[::some])
        name = f"{name}, n = {len(problem.y):,}"
        table.add(name, problem, LONG / some, 2 if args.quick else MOST)
    table.claims()
    section.note(
        f"scikit-learn-intelex {version('scikit-learn-intelex')}; its cache and scikit-learn's are "
        "of 200 MB (their default), mercer's is of half of the free memory (its default)"
    )
    section.finish(args.write)


if __name__ == "__main__":
    main()
