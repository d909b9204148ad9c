"""KernelSearchCV over SVC beside GridSearchCV over LIBSVM's and oneDAL's; what each means saves.

What a search shares is switched off one at a time, from outside: the plan is told a lower level of
sharing, or a path of fits forgets what the last one left.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib.metadata import version
from unittest.mock import patch

import numpy as np
import sklearn.svm
import sklearnex.svm
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from harness import Section, options
from mercer import SVC, KernelSearchCV
from mercer.gram import GramOperator
from mercer.learners.base.kernel_learner import FitPath
from mercer.learners.margin.support_vectors import SupportVectorMachine
from mercer.learners.margin.warm_starts import WarmStarts
from mercer.selection.grid.plan import Plan
from mercer.threads import count_jobs
from svm_fit import in_turn, touch_memory
from svm_problems import noisy

N, D = 5000, 30
GRID = {"gamma": 2.0 ** np.arange(-3, 2) / D, "C": [0.1, 1.0, 10.0, 100.0, 1000.0]}


def level_instead(other: dict[str, str]) -> Callable:
    """`Plan._level` with some levels of sharing replaced by lower ones."""
    whole = Plan._level

    def level(plan: Plan, group) -> tuple[str, str]:
        found, reason = whole(plan, group)
        return other.get(found, found), reason

    return level


def own(path: FitPath, make: Callable) -> GramOperator:
    """In place of `FitPath.shared`: every fit computes K anew."""
    return make()


#: what to replace so that a search goes without
WITHOUT: dict[str, list[tuple]] = {
    "shared distances": [
        (Plan, "_level", level_instead({"gram of distances": "gram"})),
    ],
    "Gram reuse": [  # each fit makes its K from the distances, which stay shared
        (Plan, "_level", level_instead({"gram of distances": "distances", "gram": "fold"})),
        (FitPath, "shared", own),
    ],
    "warm starts": [
        (WarmStarts, "start", lambda path, machine, C: None),
    ],
    "single precision": [
        (SupportVectorMachine, "entry_room", lambda machine, training: 0.0),
    ],
}
WITHOUT["any of these"] = [
    (Plan, "_level", level_instead({"gram of distances": "fold", "gram": "fold"})),
    *WITHOUT["Gram reuse"][1:],
    *WITHOUT["warm starts"],
    *WITHOUT["single precision"],
]


def seconds_without(part: str, X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """The time of the search with something switched off, and its scores."""
    search = KernelSearchCV(SVC(), GRID, refit=False)
    with ExitStack() as replaced:
        for owner, name, other in WITHOUT[part]:
            replaced.enter_context(patch.object(owner, name, other))
        touch_memory(len(y))
        began = time.perf_counter()
        search.fit(X, y)
        return time.perf_counter() - began, search.cv_results_["mean_test_score"]


def main() -> None:
    args = options()
    n = N // 5 if args.quick else N
    section = Section(
        "svm_search",
        f"Search of 5 γ x 5 C (0.1 to 1,000) x 5 folds, SVC, RBF, n = {n:,}, d = {D}, 5% wrong "
        "labels, without the refit. Difference: the largest of the 25 mean scores from "
        "GridSearchCV's over scikit-learn's SVC.",
        ["search", "dtype", "seconds", "beside scikit-learn", "beside intelex", "difference",
         "best point, or what the part saves"],
    )  # fmt: skip
    X, y = noisy(n, D)
    searches = {
        ("scikit-learn", "float64"): GridSearchCV(sklearn.svm.SVC(), GRID, refit=False, n_jobs=2),
        # oneDAL has threads of its own
        ("intelex", "float32"): GridSearchCV(sklearnex.svm.SVC(), GRID, refit=False),
        ("intelex", "float64"): GridSearchCV(sklearnex.svm.SVC(), GRID, refit=False),
        ("mercer", "float32"): KernelSearchCV(SVC(), GRID, refit=False),
        ("mercer", "float64"): KernelSearchCV(SVC(), GRID, refit=False),
    }
    for search in searches.values():  # the first fit of each imports and starts threads
        search.estimator.fit(X[:100], y[:100])
    times = in_turn(
        {key: lambda key=key: searches[key].fit(X.astype(key[1]), y) for key in searches},
        n, 30, 1 if args.quick else 3,
    )  # fmt: skip
    seconds = {key: float(np.median(values)) for key, values in times.items()}
    peer = searches["scikit-learn", "float64"]
    wanted = peer.cv_results_["mean_test_score"]

    def row(name, dtype: str, spent: float, scores: np.ndarray, last: str, truth=wanted) -> None:
        beside = seconds["scikit-learn", "float64"] / spent, seconds["intelex", dtype] / spent
        difference = np.abs(scores - truth).max()
        ratios = (f"{ratio:.1f}" for ratio in beside)
        section.row(name, dtype, f"{spent:.1f}", *ratios, f"{difference:.1e}", last)

    for key, search in searches.items():
        best = "the same" if search.best_index_ == peer.best_index_ else "another"
        row(*key, seconds[key], search.cv_results_["mean_test_score"], best)
    for part in WITHOUT:
        spent, scores = seconds_without(part, X, y)
        saved = 1 - seconds["mercer", "float64"] / spent
        row(f"mercer without {part}", "float64", spent, scores, f"saves {saved:.0%}")
    scaled = make_pipeline(StandardScaler(), SVC())
    grid = {f"svc__{name}": values for name, values in GRID.items()}
    pipelines = {
        "scikit-learn, StandardScaler in each fold": GridSearchCV(
            make_pipeline(StandardScaler(), sklearn.svm.SVC()), grid, refit=False, n_jobs=2
        ),
        "mercer, StandardScaler in each fold": KernelSearchCV(scaled, grid, refit=False),
    }
    truth = None
    for name, search in pipelines.items():
        began = time.perf_counter()
        search.fit(X, y)
        spent, scores = time.perf_counter() - began, search.cv_results_["mean_test_score"]
        truth = scores if truth is None else truth
        row(name, "float64", spent, scores, "", truth)
    early = KernelSearchCV(SVC(), GRID, refit=False, early_stopping=True)
    began = time.perf_counter()
    early.fit(X, y)
    kept = ~early.cv_results_["given_up"]
    scores = np.where(kept, early.cv_results_["mean_test_score"], wanted)
    same = "the same" if early.best_index_ == peer.best_index_ else "another"
    row("mercer, early_stopping=True", "float64", time.perf_counter() - began, scores,
        f"{same}; gives up {(~kept).sum()} of {len(kept)}")  # fmt: skip
    section.note(
        f"best point C = {peer.best_params_['C']:g}, γ = {peer.best_params_['gamma'] * D:g}/d, "
        f"score {peer.best_score_:.4f}"
    )
    section.note(
        f"scikit-learn searches with n_jobs=2, the others have {count_jobs(None)} threads; "
        f"scikit-learn-intelex {version('scikit-learn-intelex')}"
    )
    section.finish(args.write)


if __name__ == "__main__":
    main()
