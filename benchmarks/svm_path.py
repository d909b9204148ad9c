"""A path of 50 C in 10 folds, SVC: seconds on one thread and on two, and what Python costs a fit.

Also folds of two rows, each of which needs a fit, beside leave-one-out, which one fit answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
from sklearn.model_selection import LeaveOneOut

from harness import Section, options
from mercer import SVC, KernelSearchCV
from mercer.solvers.rows.row_sources import Square
from mercer.solvers.smo import smo_state

COLUMNS, FOLDS = 1000, 10
C = np.logspace(-3, 3, 50)
SIZES = (2000, 4000, 10_000)


def mixtures(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of five Gaussians each, that overlap."""
    rng = np.random.default_rng(0)
    centres = 4 * rng.normal(size=(2, 5, d)) / np.sqrt(d)
    y = rng.integers(0, 2, n)
    return centres[y, rng.integers(0, 5, n)] + rng.normal(size=(n, d)), y


class Clock:
    """CPU seconds inside some functions."""

    def __init__(self):
        self.seconds = 0.0

    def timed(self, function: Callable) -> Callable:
        """The function, with its seconds added up."""

        def run(*arguments, **named):
            began = time.process_time()
            try:
                return function(*arguments, **named)
            finally:
                self.seconds += time.process_time() - began

        return run


def searched(n: int, d: int, grid: np.ndarray, cv, jobs: int, steps: Clock) -> tuple[float, ...]:
    """Seconds of a search, CPU seconds without those of the solver's steps, and its best score."""
    X, y = mixtures(n, d)
    search = KernelSearchCV(
        SVC(gamma=1 / d, n_jobs=jobs), {"C": grid}, cv=cv, refit=False, n_jobs=jobs
    )
    with (
        patch.object(Square, "smo", steps.timed(Square.smo)),
        patch.object(smo_state, "newton_steps", steps.timed(smo_state.newton_steps)),
    ):
        began, worked = time.perf_counter(), time.process_time()
        search.fit(X, y)
        spent = time.perf_counter() - began
        beside = time.process_time() - worked - steps.seconds
    return spent, beside, search.best_score_


def main() -> None:
    args = options()
    section = Section(
        "svm_path",
        f"50 C from 0.001 to 1,000 in {FOLDS} folds, SVC, RBF with γ = 1/d, mixtures of Gaussians "
        "of two classes, without the refit. Beside the steps: CPU milliseconds a fit of all but "
        "steps of two variables and Newton steps, on one thread: blocks of the Gram matrix where "
        "rows are many, and Python where they are few.",
        ["rows", "columns", "search", "seconds", "beside the steps", "best score"],
    )  # fmt: skip
    SVC().fit(*mixtures(100, 10))  # the first fit imports and starts threads
    few = C[20:21]
    cases = [(300, 10, 10, C, 1), (300, 10, 150, few, 1), (300, 10, LeaveOneOut(), few, 1)]
    for n in SIZES[:1] if args.quick else SIZES:
        cases += [(n, COLUMNS, FOLDS, C, jobs) for jobs in (1, 2)]
    for n, d, cv, grid, jobs in cases:
        spent, beside, score = searched(n, d, grid, cv, jobs, Clock())
        folds = n if isinstance(cv, LeaveOneOut) else cv
        each = f"{1000 * beside / folds / len(grid):.2f} ms" if jobs == 1 else ""
        name = f"{len(grid)} C x {folds} folds, {jobs} thread{'s' * (jobs > 1)}"
        section.row(f"{n:,}", str(d), name, f"{spent:.1f}", each, f"{score:.4f}")
    section.finish(args.write)


if __name__ == "__main__":
    main()
