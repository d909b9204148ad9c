"""Peak memory of fits and predictions beside ``memory=``: every learner, every kind of sample.

The cases are those of tests/budgets.py; each runs in a process of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

from harness import Section, options

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from budgets import LEARNERS, MB, measured

LARGE = [
    ("KernelRidge", "float64", 10_000, "200MB"),
    ("KernelRidge", "float64", 10_000, "1MB"),
    ("KernelRidge", "float64", 10_000, "4GB"),
    ("KernelRidgeClassifier", "float64", 10_000, "200MB"),
    ("KernelLogisticRegression", "float64", 5000, "100MB"),
    ("KernelLogisticRegression", "float64", 3000, "300MB"),
    ("SVC", "strings", 10_000, "50MB"),
    ("SVC", "float64", 20_000, "50MB"),
    ("KernelSearchCV", "float64", 4000, "200MB"),
]


def main() -> None:
    args = options()
    section = Section(
        "memory",
        "Peak MB of a fit and of predictions for as many rows, beyond the samples and what a first "
        "small fit leaves behind.",
        ["learner", "samples", "n", "budget", "peak MB", "seconds", "solver"],
    )
    every = [(name, kind, 4000, "20MB") for name in LEARNERS for kind in LEARNERS[name].kinds]
    kept = 0
    cases = LARGE + ([] if args.quick else every)
    for name, kind, n, budget in cases:
        try:
            taken = measured(name, kind, n, budget)
        except (ValueError, TypeError) as error:  # the case has no solution in any memory
            section.row(name, kind, f"{n:,}", budget, "-", "-", str(error).strip()[:60])
            continue
        kept += taken.keeps(budget)
        how = taken.refused or taken.how
        section.row(
            name, kind, f"{n:,}", budget, f"{taken.peak / MB:.0f}", f"{taken.seconds:.1f}", how
        )
    section.note(f"{kept} of {len(cases)} cases kept memory= and a tenth and 50 MB")
    section.finish(args.write)


if __name__ == "__main__":
    main()
