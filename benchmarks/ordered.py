"""Classes with an order, fitted as such and as plain classes, beside LightGBM.

Plain classes are judged twice: by the most probable class, and by the median of the probabilities,
which is what whoever counts steps should predict.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import lightgbm
import numpy as np
import pandas as pd

from harness import Section, data_folder, options
from mercer import KernelClassifier
from mercer.machines import METRICS

ROWS, JUDGED = 600, 1000
TRIALS = 6
REAL = {
    "wine, quality 4 to 8": ("numeric_reg/wine_white.csv", "quality", [4.5, 5.5, 6.5, 7.5]),
    "california, five prices": (
        "numeric_reg/california_housing.csv.gz", "median_house_value",
        [90_000, 150_000, 220_000, 380_000],
    ),
}  # fmt: skip


def made(rng: np.random.Generator, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Seven steps of a smooth function of two of four columns, with noise."""
    X = rng.normal(size=(n, 4))
    f = np.sin(2 * X[:, 0]) + X[:, 1] + 0.6 * rng.normal(size=n)
    return pd.DataFrame(X), np.searchsorted([-2, -1, -0.3, 0.3, 1, 2], f)


def real(name: str) -> Callable:
    path, target, edges = REAL[name]
    folder = data_folder()
    assert folder is not None
    table = pd.read_csv(folder / path)
    words = dict.fromkeys(table.select_dtypes(exclude="number"), "category")
    table = table.astype(words)

    def drawn(rng: np.random.Generator, n: int) -> tuple[pd.DataFrame, np.ndarray]:
        some = table.iloc[rng.permutation(len(table))[:n]].reset_index(drop=True)
        return some.drop(columns=target), np.searchsorted(edges, some[target].to_numpy(float))

    return drawn


def main() -> None:
    chosen = options()
    section = Section(
        "ordered",
        f"Ordered classes, {ROWS} rows, judged on {JUDGED:,} others: how many steps predictions "
        f"are off on average, quadratic kappa, and accuracy. Means of three splits, {TRIALS} "
        "candidates.",
        ["classes", "tool", "steps off", "quadratic kappa", "accuracy", "seconds"],
    )
    sets: dict[str, Callable] = {"made, seven": made}
    if data_folder() is None:
        section.note(f"left out: {', '.join(REAL)}; set MERCER_DATA to the folder of the data")
    else:
        sets |= {name: real(name) for name in REAL}

    def ordered(X, y, X_new):
        model = KernelClassifier(trials=TRIALS, order=np.unique(y).tolist()).fit(X, y)
        return {"mercer, ordered": model.predict(X_new)}

    def plain(X, y, X_new):
        model = KernelClassifier(trials=TRIALS, metric="accuracy").fit(X, y)
        return answers("mercer", model, X_new)

    def boosted(X, y, X_new):
        trees = {"n_estimators": 200, "learning_rate": 0.05, "num_leaves": 15, "verbose": -1}
        return answers("LightGBM", lightgbm.LGBMClassifier(n_jobs=1, **trees).fit(X, y), X_new)

    def answers(name, model, X_new):
        P = model.predict_proba(X_new)
        metric = METRICS["rank_error"].on(np.arange(P.shape[1]))
        medians = model.classes_[metric.choice(P)]
        return {name: model.classes_[P.argmax(axis=1)], f"{name}, median": medians}

    for name, draw in sets.items():
        found: dict[str, list] = {}
        for seed in range(1 if chosen.quick else 3):
            X, y = draw(np.random.default_rng(seed), ROWS + JUDGED)
            X_new, y_new = X[ROWS:].reset_index(drop=True), y[ROWS:]
            for run in (ordered, plain, boosted):
                began = time.perf_counter()
                predicted = run(X[:ROWS], y[:ROWS], X_new)
                seconds = time.perf_counter() - began
                for tool, labels in predicted.items():
                    classes = np.union1d(y, labels)
                    P = (labels[:, None] == classes).astype(float)
                    scores = [
                        METRICS[metric].on(np.arange(len(classes)))(y_new, P, classes)
                        for metric in ("rank_error", "quadratic_kappa", "accuracy")
                    ]
                    found.setdefault(tool, []).append([*scores, seconds])
        for tool, values in found.items():
            off, kappa, accuracy, seconds = np.mean(values, axis=0)
            section.row(
                name, tool, f"{off:.3f}", f"{kappa:.3f}", f"{accuracy:.3f}", f"{seconds:.1f}"
            )
    section.note(f"LightGBM {lightgbm.__version__}")
    section.finish(chosen.write)


if __name__ == "__main__":
    main()
