"""Fits of 150 rows and predictions of one, where most of the time goes beside the mathematics."""

from __future__ import annotations

from functools import partial

import sklearn.kernel_ridge
import sklearn.svm
from sklearn.datasets import load_iris

from harness import Section, interleaved, options
from mercer import SVC, KernelRidge

PAIRS = {
    "SVC()": (SVC(), sklearn.svm.SVC()),
    'KernelRidge(kernel="rbf")': (
        KernelRidge(kernel="rbf"),
        sklearn.kernel_ridge.KernelRidge(kernel="rbf"),
    ),
}


def main() -> None:
    args = options()
    X, y = load_iris(return_X_y=True)
    section = Section(
        "small_data",
        "Iris, 150 x 4, three classes: milliseconds, median of interleaved runs.",
        ["learner", "task", "mercer", "scikit-learn"],
    )
    for name, (ours, theirs) in PAIRS.items():
        for model in (ours, theirs):
            model.fit(X, y)
        tasks = {
            "fit": [partial(model.fit, X, y) for model in (ours, theirs)],
            "predict one row": [partial(model.predict, X[:1]) for model in (ours, theirs)],
            "predict all rows": [partial(model.predict, X) for model in (ours, theirs)],
        }
        for task, (run, peer) in tasks.items():
            seconds = interleaved({"mercer": run, "peer": peer}, 20 if args.quick else 300)
            section.row(f"`{name}`", task, *(f"{1e3 * value:.2f}" for value in seconds.values()))
    section.finish(args.write)


if __name__ == "__main__":
    main()
