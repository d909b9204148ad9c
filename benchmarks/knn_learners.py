"""k and the width of a window by leaving rows out beside one search; predictions beside peers."""

from functools import partial

import numpy as np
from sklearn import neighbors as peers
from sklearn.model_selection import cross_val_score

from harness import Section, interleaved, options
from mercer import KNeighborsClassifier, NearestNeighbors
from mercer.learners.neighbours.neighbour_classifier import some_neighbours

N, QUERIES, D, CLASSES = 20_000, 5000, 16, 5


def problem(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes with an overlap, in float32."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, D)).astype(np.float32)
    scores = X[:, :CLASSES] + X[:, CLASSES : 2 * CLASSES] ** 2 + 0.5 * rng.normal(size=(n, CLASSES))
    return X, scores.argmax(axis=1)


def main() -> None:
    args = options()
    n, q = (2000, 500) if args.quick else (N, QUERIES)
    X, y = problem(n + q)
    X, y, Z = X[:n], y[:n], X[n:]
    most = some_neighbours(n)[-1]
    section = Section(
        "knn learners",
        f"n = {n:,}, d = {D}, {CLASSES} classes, float32, 1 thread; median of interleaved runs. "
        f"Choices: ratio to one search for the {most} nearest of all rows, which each of them "
        "contains. Predictions: ratio to mercer's.",
        ["run", "seconds", "ratio"],
    )
    search = NearestNeighbors(n_neighbors=most, n_jobs=1).fit(X)
    k_windows = {"weights": "quartic", "width": "auto"}
    choices = {
        f"search of {most} neighbours": lambda: search.kneighbors(),
        "k, uniform": lambda: KNeighborsClassifier("auto", n_jobs=1).fit(X, y),
        "k, adaptive quartic window": lambda: KNeighborsClassifier(
            "auto", weights="quartic", n_jobs=1
        ).fit(X, y),
        "k and width, quartic window": lambda: KNeighborsClassifier(
            "auto", **k_windows, n_jobs=1
        ).fit(X, y),
    }
    seconds = interleaved(choices, 1 if args.quick else 3)
    first = next(iter(seconds.values()))
    for name, taken in seconds.items():
        section.row(name, f"{taken:.2f}", f"{taken / first:.2f}")
    model = KNeighborsClassifier("auto", n_jobs=1).fit(X, y)
    small = X[:2000], y[:2000]
    numbers = some_neighbours(2000)
    refits = interleaved(
        {
            "one search": lambda: KNeighborsClassifier("auto", n_jobs=1).fit(*small),
            "five folds for each k": lambda: [
                cross_val_score(peers.KNeighborsClassifier(k, n_jobs=1), *small) for k in numbers
            ],
        },
        1,
    )
    section.note(
        f"{len(numbers)} numbers of neighbours of 2,000 rows: {refits['one search']:.2f} s; "
        f"scikit-learn with five folds for each {refits['five folds for each k']:.2f} s"
    )
    ours = KNeighborsClassifier(10, weights="distance", n_jobs=1).fit(X, y)
    groups = {"mercer": lambda: ours.predict(Z)}
    for name in ("brute", "kd_tree"):
        other = peers.KNeighborsClassifier(10, weights="distance", algorithm=name, n_jobs=1)
        groups[f"scikit-learn, {name}"] = partial(other.fit(X, y).predict, Z)
    seconds = interleaved(groups, 1 if args.quick else 3)
    first = next(iter(seconds.values()))
    for name, taken in seconds.items():
        section.row(f"predict {q:,}, k = 10, {name}", f"{taken:.2f}", f"{taken / first:.1f}")
    section.note(f"chosen: k = {model.n_neighbors_} of {len(model.loo_scores_)} numbers")
    section.note(f"index of mercer: {ours.algorithm_}")
    section.finish(args.write)


if __name__ == "__main__":
    main()
