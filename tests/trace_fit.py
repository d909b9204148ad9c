"""How long the way of a fit is: files, functions and changes of file, beside scikit-learn's.

``python tests/trace_fit.py`` prints the table. Only files of the package are counted; a change of
file is a call of a function in another file than that of the call before. A last line has the mean
number of classes of the package that a public estimator inherits from.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.decomposition import KernelPCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import mercer

ROWS = 300


def way(work: Callable[[], Any], package: Any) -> tuple[int, int, int]:
    """The files and functions of a package that some work calls, and its changes of file."""
    root = str(Path(package.__file__).parent)
    calls: list[Any] = []

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(root):
            calls.append(frame.f_code)

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    files = [code.co_filename for code in calls]
    changes = sum(here != before for here, before in zip(files, ["", *files]))
    return len(set(files)), len(set(calls)), changes


def mean_ancestors() -> float:
    """The mean number of own classes that the estimators of `mercer` inherit from."""
    public = [getattr(mercer, name) for name in mercer.__all__]
    estimators = [c for c in public if isinstance(c, type) and issubclass(c, BaseEstimator)]
    own = [sum(a.__module__.startswith("mercer.") for a in c.__mro__[1:]) for c in estimators]
    return float(np.mean(own))


def main() -> None:
    """Print a line for each learner; the first fit of each, which imports, is not counted."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 4))
    y = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)
    pairs = [
        ("SVC()", mercer.SVC(), SVC()),
        ('KernelRidge(kernel="rbf")', mercer.KernelRidge(kernel="rbf"), KernelRidge(kernel="rbf")),
        ("KNeighborsClassifier()", mercer.KNeighborsClassifier(), KNeighborsClassifier()),
        ("KernelPCA()", mercer.KernelPCA(), KernelPCA()),
        ("KernelClassifier(trials=2)", mercer.KernelClassifier(trials=2, random_state=0), None),
    ]
    print(f"{'fit to 300 rows':28}{'files, functions, changes of file':36}scikit-learn's")
    for name, ours, theirs in pairs:
        found = []
        for learner, package in ((ours, mercer), (theirs, sklearn)):
            if learner is not None:
                learner.fit(X, y)
                counts = way(lambda learner=learner: learner.fit(X, y), package)
                found.append(" / ".join(f"{count:,}" for count in counts))
        print(f"{name:28}{found[0]:36}{' '.join(found[1:])}".rstrip())
    print(f"own ancestors of a public estimator, on average: {mean_ancestors():.1f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
