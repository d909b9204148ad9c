"""Fits of 150 rows and predictions of one, where most of the time goes beside the mathematics."""

from __future__ import annotations

from functools import partial

import sklearn.decomposition
import sklearn.kernel_ridge
import sklearn.neighbors
import sklearn.svm
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_limits

from harness import Section, interleaved, options
from mercer import SVC, SVR, KernelPCA, KernelRidge, KNeighborsClassifier

PAIRS = {
    "SVC()": (SVC(), sklearn.svm.SVC()),
    "SVR()": (SVR(), sklearn.svm.SVR()),
    'KernelRidge(kernel="rbf")': (
        KernelRidge(kernel="rbf"),
        sklearn.kernel_ridge.KernelRidge(kernel="rbf"),
    ),
    "KNeighborsClassifier()": (KNeighborsClassifier(), sklearn.neighbors.KNeighborsClassifier()),
    'KernelPCA(2, kernel="rbf")': (
        KernelPCA(2, kernel="rbf"),
        sklearn.decomposition.KernelPCA(2, kernel="rbf"),
    ),
}


def main() -> None:
    args = options()
    X, y = load_iris(return_X_y=True)
    section = Section(
        "small_data",
        "Iris, 150 x 4, three classes (numbers for SVR): milliseconds, median of interleaved runs, "
        "with one thread of BLAS: those of a peer go on for a while after its call.",
        ["learner", "task", "mercer", "scikit-learn"],
    )
    for name, (ours, theirs) in PAIRS.items():
        for model in (ours, theirs):
            model.fit(X, y)
        method = "transform" if isinstance(ours, KernelPCA) else "predict"
        answers = [getattr(model, method) for model in (ours, theirs)]
        tasks = {
            "fit": [partial(model.fit, X, y) for model in (ours, theirs)],
            f"{method} one row": [partial(answer, X[:1]) for answer in answers],
            f"{method} all rows": [partial(answer, X) for answer in answers],
        }
        for task, (run, peer) in tasks.items():
            with threadpool_limits(1, "blas"):
                seconds = interleaved({"mercer": run, "peer": peer}, 20 if args.quick else 300)
            section.row(f"`{name}`", task, *(f"{1e3 * value:.2f}" for value in seconds.values()))
    section.finish(args.write)


if __name__ == "__main__":
    main()
