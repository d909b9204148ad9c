"""SVC beside scikit-learn's (LIBSVM): the same tolerance, the objective compared."""

from functools import partial

import numpy as np
import sklearn.svm

from harness import Section, interleaved, options
from mercer import SVC
from mercer.threads import count_jobs
from svm_fit import dual
from svm_problems import Problem

N, D = 10_000, 50


def problem(overlapping: bool) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping classes with 5% label noise, or well separated ones."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(N, D)), rng.normal(size=D)
    margin = X @ w / np.sqrt(D) + 0.5 * X[:, 0] * X[:, 1]
    y = np.sign(margin + (rng.normal(size=N) if overlapping else 0))
    if overlapping:
        flipped = rng.random(N) < 0.05
        y[flipped] *= -1
    else:
        X = X + 1.5 * y[:, None] * w / np.linalg.norm(w)
    return X, y


def main() -> None:
    args = options()
    section = Section(
        "svc_fit",
        f"Fit, RBF, n = {N:,}, d = {D}, γ = 1/d, C = 1, tol = 1e-3; median of interleaved runs. "
        "Difference: of the dual objective from LIBSVM's.",
        ["problem", "library", "dtype", "seconds", "ratio", "support", "difference", "threads"],
    )
    for overlapping in (True, False):
        X, y = problem(overlapping)
        models = {
            ("scikit-learn", "float64"): sklearn.svm.SVC(gamma=1 / D),
            ("mercer", "float64"): SVC(gamma=1 / D),
            ("mercer", "float32"): SVC(gamma=1 / D),
        }
        seconds = interleaved(
            {key: partial(model.fit, X.astype(key[1]), y) for key, model in models.items()},
            2 if args.quick else 5,
        )
        peer = ("scikit-learn", "float64")
        whole = Problem(X, y, 1.0, 1 / D)
        wanted = dual(models[peer], whole)[0]
        for (library, dtype), model in models.items():
            value = dual(model, whole)[0]
            section.row(
                "overlapping, 5% noise" if overlapping else "well separated", library, dtype,
                f"{seconds[library, dtype]:.3f}", f"{seconds[peer] / seconds[library, dtype]:.1f}",
                len(model.support_), f"{abs(value - wanted) / wanted:.1e}",
                1 if library == "scikit-learn" else count_jobs(None),
            )  # fmt: skip
    section.finish(args.write)


if __name__ == "__main__":
    main()
