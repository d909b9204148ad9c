"""The command ``mercer fit`` where time is short, with many classes or many rows, and small models.

The table of 26 classes is made here: 16 integers from 0 to 15, as those measured on pictures of
letters, each class around six shapes that vary in four directions. Peers are those of tables.py,
with the same seconds for their search. Needs MERCER_DATA for the other two tables of classes.
"""

import tempfile
import time
from copy import copy
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd

import mercer
from commands import command_on_rows
from harness import Section, data_folder, options
from tables import boosted, read, score, support_vectors


def letters(rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = rng.uniform(4, 11, (26, 6, 16))
    directions = rng.normal(0, 1.2, (26, 4, 16))
    y = rng.integers(0, 26, rows)
    X = shapes[y, rng.integers(0, 6, rows)] + rng.normal(0, 0.9, (rows, 16))
    X += np.einsum("nd,ndk->nk", rng.normal(size=(rows, 4)), directions[y])
    X = np.clip(np.rint(X), 0, 15).astype(int)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(16)]), y.astype(str)


def waves(rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """A target that is smooth in eight of 20 columns; 10% of its variance is noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, 20))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 8 * (X[:, 2] - 0.5) ** 2 + 5 * X[:, 3]
    f += 6 * np.abs(X[:, 4] + X[:, 5]) + 4 * np.cos(3 * X[:, 6]) * X[:, 7]
    f += rng.normal(size=rows) * np.std(f) / 3
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(20)]), f


def split(X, y, share: float):
    train, test = np.split(np.random.default_rng(0).permutation(len(y)), [int(share * len(y))])
    return X.iloc[train], y[train], X.iloc[test], y[test]


def many_classes(seconds: float) -> Section:
    section = Section(
        "many classes in 10 s",
        f"Accuracy on 25% of the rows, with {seconds:g} s for each search; the seconds are those "
        "of the whole command.",
        ["data", "training rows", "mercer fit", "SVM, tuned", "LightGBM, tuned", "seconds", "MB"],
    )
    folder = data_folder()
    sets = {"26 classes": letters(20_000)}
    if folder is None:
        section.note("MERCER_DATA is not set: two tables left out")
    else:
        sets |= {name: read(folder, name)[:2] for name in ("pendigits", "satimage")}
    for name, (X, y) in sets.items():
        X, y, X_test, y_test = split(X, y, 0.75)
        parts = X, y, X_test, "classification", seconds
        run = command_on_rows(*parts)
        predicted = run.predicted.to_numpy()
        found = [predicted, support_vectors(*parts), boosted(*parts)]
        cells = [f"{score(y_test, values, 'classification'):.4f}" for values in found]
        section.row(name, f"{len(y):,}", *cells, f"{run.seconds:.1f}", f"{run.megabytes:.0f}")
    return section


def many_rows(sizes: dict[int, float]) -> Section:
    section = Section(
        "many rows",
        "R² on further rows, a quarter of those of the training, 20 columns; LightGBM is tuned for "
        "the same time; the seconds are those of the whole command. The best possible is .9000.",
        ["training rows", "time", "mercer fit", "LightGBM, tuned", "seconds", "MB"],
    )
    for rows, seconds in sizes.items():
        X, y, X_test, y_test = split(*waves(rows * 5 // 4), 0.8)
        parts = X, y, X_test, "regression", seconds
        run = command_on_rows(*parts)
        predicted = run.predicted.to_numpy()
        found = [score(y_test, p, "regression") for p in (predicted, boosted(*parts))]
        cells = f"{found[0]:.4f}", f"{found[1]:.4f}", f"{run.seconds:.0f}", f"{run.megabytes:.0f}"
        section.row(f"{rows:,}", f"{seconds:g} s", *cells)
    section.note(f"LightGBM {lightgbm.__version__}")
    return section


def small_models(rows: int, seconds: float) -> Section:
    section = Section(
        "compressed models",
        f"An automatic estimator after {seconds:g} s, then compress(X, centres): score "
        "on further rows, and rows predicted a second in one thread.",
        ["data", "training rows", "centres", "score", "rows/s", "file MB"],
    )
    folder, sets = data_folder(), {"26 classes": letters(rows * 2), "waves": waves(rows * 2)}
    if folder is None:
        section.note("MERCER_DATA is not set: two tables left out")
    else:
        sets |= {name: read(folder, name)[:2] for name in ("adult", "california")}
    for name, (X, y) in sets.items():
        X, y, X_test, y_test = split(X, y, min(rows / len(y), 0.75))
        task = "regression" if y.dtype.kind == "f" else "classification"
        learner = mercer.KernelRegressor if task == "regression" else mercer.KernelClassifier
        model = learner(time=seconds, n_jobs=1).fit(X, y)
        for centres in (None, 300, 1000, 3000):
            small = model if centres is None else copy(model).compress(X, centres)
            small.predict(X_test[:100])
            start = time.perf_counter()
            predicted = small.predict(X_test)
            rate = len(y_test) / (time.perf_counter() - start)
            with tempfile.TemporaryDirectory() as room:
                mercer.save(small, Path(room) / "model.mercer")
                size = (Path(room) / "model.mercer").stat().st_size / 2**20
            cells = f"{score(y_test, predicted, task):.4f}", f"{rate:,.0f}", f"{size:.1f}"
            section.row(name, f"{len(y):,}", "all" if centres is None else centres, *cells)
    return section


def main() -> None:
    args = options(("--only", {"default": ""}))
    small = 10 if args.quick else 1
    parts = {
        "classes": lambda: many_classes(10.0),
        "rows": lambda: many_rows({200_000 // small: 60.0, 1_000_000 // small: 240.0}),
        "compress": lambda: small_models(20_000 // small, 60.0 / small),
    }
    for name, part in parts.items():
        if args.only in ("", name):
            part().finish(args.write)


if __name__ == "__main__":
    main()
