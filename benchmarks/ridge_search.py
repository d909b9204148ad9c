"""KernelSearchCV over 20 penalties x 8 bandwidths x 5 folds beside GridSearchCV(KernelRidge)."""

import numpy as np
from sklearn.kernel_ridge import KernelRidge as TheirRidge
from sklearn.model_selection import GridSearchCV

from harness import Section, interleaved, options
from mercer import KernelRidge, KernelSearchCV
from mercer.threads import count_jobs

N, D = 3000, 20
GRID = {"alpha": np.logspace(-4, 2, 20), "gamma": np.logspace(-3, 0.5, 8)}


def problem() -> tuple[np.ndarray, np.ndarray]:
    """A smooth part, an interaction, and noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] / 2 + 0.3 * rng.normal(size=N)
    return X, y


def main() -> None:
    args = options()
    section = Section(
        "ridge_search",
        f"Search of 20 λ x 8 γ x 5 folds, RBF, n = {N:,}, d = {D}, without the refit; median of "
        "interleaved runs. Difference: the largest of the 160 mean scores from GridSearchCV's.",
        ["library", "dtype", "seconds", "ratio", "difference", "best point", "threads"],
    )
    X, y = problem()
    searches = {
        ("scikit-learn", "float64"): GridSearchCV(TheirRidge(kernel="rbf"), GRID, refit=False),
        ("mercer", "float64"): KernelSearchCV(KernelRidge(kernel="rbf"), GRID, refit=False),
        ("mercer", "float32"): KernelSearchCV(KernelRidge(kernel="rbf"), GRID, refit=False),
    }
    seconds = interleaved(
        {key: lambda key=key: searches[key].fit(X.astype(key[1]), y) for key in searches},
        1 if args.quick else 5,
    )
    peer = searches["scikit-learn", "float64"]
    wanted = peer.cv_results_["mean_test_score"]
    for (library, dtype), search in searches.items():
        scores = search.cv_results_["mean_test_score"]
        section.row(
            library, dtype, f"{seconds[library, dtype]:.1f}",
            f"{seconds['scikit-learn', 'float64'] / seconds[library, dtype]:.1f}",
            f"{np.abs(scores - wanted).max():.1e}",
            "the same" if search.best_index_ == peer.best_index_ else "another",
            count_jobs(None),
        )  # fmt: skip
    section.finish(args.write)


if __name__ == "__main__":
    main()
