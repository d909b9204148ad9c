"""Support vector machines under a memory budget, and on more rows than K has room for.

Every fit runs in a process of its own, on samples read from a file, so that its peak of memory is
that of the fit: what making the samples takes is left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from harness import Section, options, peak_memory
from mercer.gram.place import memory_budget
from svm_problems import ijcnn_like, letter_like, smooth

#: the part before the line "measured" is the baseline: samples, and what a first fit imports
FIT = """
import numpy as np
from mercer import {learner}
X, y = np.load({X!r}), np.load({y!r})
{learner}().fit(X[:50], y[:50])
# measured
{learner}(C={C}, gamma={gamma}, memory={memory!r}).fit(X, y)
"""

WHOLE = """
import json, re, time
import numpy as np
from mercer import SVC
X, y = np.load({X!r}), np.load({y!r})
model = SVC(C={C}, gamma={gamma}, memory={memory!r})
began = time.perf_counter()
model.fit(X[:{rows}], y[:{rows}])
seconds = time.perf_counter() - began
wrong = float(np.mean(model.predict(np.load({X_test!r})) != np.load({y_test!r})))
peak = int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1e6
print(json.dumps([seconds, wrong, peak, model.solver_, model.gram_, len(model.support_)]))
"""

N, D, SUBSET = 200_000, 50, 50_000
C, GAMMA = 4.0, 0.5 / D
LIMIT = 3600.0  # seconds of a fit


def saved(folder: str, **arrays: np.ndarray) -> dict[str, str]:
    """The paths of arrays written to a folder."""
    for name, values in arrays.items():
        np.save(Path(folder) / f"{name}.npy", values)
    return {name: str(Path(folder) / f"{name}.npy") for name in arrays}


def beside_budget(section: Section, quick: bool) -> None:
    """Peak memory of fits beside ``memory=``."""
    some = 6 if quick else 1
    two, many = ijcnn_like(30_000 // some), letter_like(15_000 // some)
    X, y = two.X, np.sin(3 * two.X[:, 0]) * two.X[:, 1] + two.X[:, 2]
    jobs = [
        ("SVC", "float64", two.X, two.y, two.C, two.gamma, ["100MB", "300MB", "1GB"]),
        ("SVC", "float32", two.X, two.y, two.C, two.gamma, ["300MB"]),
        ("SVC, 26 classes", "float64", many.X, many.y, many.C, many.gamma, ["300MB"]),
        ("SVR", "float64", X[: len(X) // 2], y[: len(X) // 2], 1.0, 0.1, ["300MB"]),
    ]
    largest = 0.0
    for name, dtype, X, y, C, gamma, budgets in jobs:
        learner = name.split(",")[0]
        for memory in budgets:
            with tempfile.TemporaryDirectory() as folder:
                paths = saved(folder, X=X.astype(dtype), y=y)
                peak = peak_memory(
                    FIT.format(learner=learner, C=C, gamma=gamma, memory=memory, **paths)
                ) * 2**20  # fmt: skip
            part = peak / memory_budget(memory)
            largest = max(largest, part)
            section.row(
                f"{name}, {dtype}, n = {len(X):,}", f"memory={memory}", "", f"{peak / 1e6:.0f} MB",
                f"{part:.0%}", "", "",
            )  # fmt: skip
    section.note(f"largest peak of a fit beside memory=: {largest:.0%}")


def many_rows(section: Section, quick: bool) -> None:
    """A fit of all rows within a budget, and the exact one of a subset."""
    some = 10 if quick else 1
    X, y = smooth(N // some, D)
    X_test, y_test = smooth(40_000, D, seed=1)
    wrong = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = saved(folder, X=X, y=y, X_test=X_test, y_test=y_test)
        for rows, memory in ((N // some, "1.5GB"), (SUBSET // some, None)):
            code = WHOLE.format(C=C, gamma=GAMMA, memory=memory, rows=rows, **paths)
            name = f"SVC, float32, n = {rows:,}, d = {D}"
            budget = "" if memory is None else f"memory={memory}"
            try:
                done = subprocess.run(
                    [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True,
                    timeout=LIMIT,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                section.row(name, budget, f"> {LIMIT:.0f}", "", "", "", "did not finish")
                continue
            seconds, wrong[rows], peak, solver, gram, support = json.loads(done.stdout)
            section.row(
                name, budget, f"{seconds:.0f}", f"{peak * 1000:.0f} MB (process)", "",
                f"{wrong[rows]:.2%}", f"{solver}; {gram}; {support:,} support",
            )  # fmt: skip
    if len(wrong) == 2:
        more = wrong[N // some] - wrong[SUBSET // some]
        section.note(
            f"test error on {N // some:,} rows less that on {SUBSET // some:,}: "
            f"{100 * more:+.2f} points"
        )


def main() -> None:
    args = options()
    section = Section(
        "svm_large",
        "Peak memory of fits, without the samples; and a fit of more rows than K has room for, "
        "beside one of a subset with the default budget, in float32: peak memory of the whole "
        "process, error on 40,000 other rows.",
        ["fit", "budget", "seconds", "peak", "of budget", "test error", "solver"],
    )
    beside_budget(section, args.quick)
    many_rows(section, args.quick)
    section.finish(args.write)


if __name__ == "__main__":
    main()
