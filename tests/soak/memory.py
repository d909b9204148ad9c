"""Memory budgets at random: any learner, any kind of sample, any number of rows and threads.

A trial fits and predicts in a process of its own (`budgets.measured`) and holds the peak of its
memory against the budget. Errors that the case has to raise, such as an indefinite kernel for a
solver that cannot have one, are raised for every budget, and end the trial.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from budgets import LEARNERS, MB, measured
from mercer.gram import Place

MOST_ROWS = 6000


def any_case(rng: np.random.Generator, folder: Path) -> None:
    """A learner keeps its budget, or refuses it before long work."""
    name = str(rng.choice(list(LEARNERS)))
    kind = str(rng.choice(list(LEARNERS[name].kinds)))
    n = int(np.exp(rng.uniform(np.log(100), np.log(MOST_ROWS))))
    memory = int(np.exp(rng.uniform(np.log(MB), np.log(300 * MB))))
    n_jobs = [None, 1, 2, 5][rng.integers(4)]
    case = f"{name}, {kind}, {n} rows, memory={memory}, n_jobs={n_jobs}"
    try:
        taken = measured(name, kind, n, memory, n_jobs)
    except ValueError as error:  # of a case that no budget makes possible
        if any(word in str(error) for word in ("infeasible", "semidefinite", "All the")):
            return
        raise
    assert taken.keeps(memory), f"{case}: {taken.peak / MB:.0f} MB, {taken.how}"
    if taken.refused:
        least = taken.refused.split('memory="')[1].split('"')[0]
        assert Place(least).budget() > memory, f"{case}: {taken.refused}"


TRIALS: dict[str, Callable[[np.random.Generator, Path], None]] = {"any case": any_case}
