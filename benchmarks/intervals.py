"""Intervals and quantiles of the automatic regressor beside boosted quantiles with split conformal.

Each tool sees 1,000 rows and is judged on up to 2,000 others. The boosted trees have a machine for
each quantile, fitted to three quarters of the rows; the others widen or narrow the interval of 90%
until it holds its share of them (conformalised quantile regression, Romano et al. 2019).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from harness import Section, data_folder, options
from mercer import KernelRegressor

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
ROWS, JUDGED = 1000, 2000
COVERAGE = 0.9
REAL = {
    "california": ("numeric_reg/california_housing.csv.gz", "median_house_value"),
    "elevators": ("numeric_reg/elevators.csv.gz", "Goal"),
    "airfoil": ("numeric_reg/airfoil.csv", "P"),
}


def skewed(rng: np.random.Generator, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A positive target, whose logarithm has noise of one size."""
    X = rng.normal(size=(n, 4))
    return pd.DataFrame(X), np.exp(3 + X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.normal(size=n))


def noise_by_x(rng: np.random.Generator, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A smooth function of four columns, whose noise grows along the third."""
    X = rng.normal(size=(n, 4))
    f = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2
    return pd.DataFrame(X), f + np.exp(X[:, 2] / 2) * rng.normal(size=n)


def noise_by_level(rng: np.random.Generator, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Three levels of a category, of which the last has ten times the noise of the first."""
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    X["level"] = pd.Categorical(rng.choice(["x", "y", "z"], n))
    noise = X["level"].map({"x": 0.2, "y": 0.6, "z": 2.0}).to_numpy(float)
    return X, X["a"] + np.sin(2 * X["b"]).to_numpy() + noise * rng.normal(size=n)


def real(name: str) -> Callable:
    """The rows of a stored table, drawn without replacement."""
    path, target = REAL[name]
    folder = data_folder()
    assert folder is not None
    table = pd.read_csv(folder / path)
    words = dict.fromkeys(table.select_dtypes(exclude="number"), "category")
    table = table.astype(words)

    def drawn(rng: np.random.Generator, n: int) -> tuple[pd.DataFrame, np.ndarray]:
        some = table.iloc[rng.permutation(len(table))[:n]].reset_index(drop=True)
        return some.drop(columns=target), some[target].to_numpy(float)

    return drawn


def conformal(fit: Callable, X: pd.DataFrame, y: np.ndarray, X_new: pd.DataFrame) -> np.ndarray:
    """Quantiles of machines of single ones; the outermost two widened to hold 90%."""
    n = len(y) * 3 // 4
    machines = [fit(level, X[:n], y[:n]) for level in LEVELS]
    own, found = (np.stack([m.predict(rows) for m in machines], axis=1) for rows in (X[n:], X_new))
    beyond = np.sort(np.maximum(own[:, 0] - y[n:], y[n:] - own[:, -1]))
    reach = beyond[min(int(np.ceil((len(beyond) + 1) * COVERAGE)), len(beyond)) - 1]
    found = np.sort(found, axis=1)
    return found + reach * np.array([-1, 0, 0, 0, 1])


def boosted(level: float, X: pd.DataFrame, y: np.ndarray) -> lightgbm.LGBMRegressor:
    trees = {"n_estimators": 200, "learning_rate": 0.05, "num_leaves": 15, "verbose": -1}
    return lightgbm.LGBMRegressor(objective="quantile", alpha=level, n_jobs=1, **trees).fit(X, y)


def boosted_slowly(level: float, X: pd.DataFrame, y: np.ndarray) -> Any:
    machine = GradientBoostingRegressor(
        loss="quantile", alpha=level, n_estimators=200, learning_rate=0.05, random_state=0
    )
    codes = OneHotEncoder(handle_unknown="ignore")
    levels = make_column_selector(dtype_include="category")
    encoded = make_column_transformer((codes, levels), remainder=SimpleImputer(strategy="median"))
    return make_pipeline(encoded, machine).fit(X, y)


def judged(y: np.ndarray, found: np.ndarray) -> tuple[float, float, float]:
    """The share that the interval holds, its score (Winkler 1972), and the mean pinball loss."""
    low, high = found[:, 0], found[:, -1]
    missed = np.maximum(low - y, 0) + np.maximum(y - high, 0)
    off = y[:, None] - found
    pinball = np.maximum(LEVELS * off, (LEVELS - 1) * off).mean()
    held = np.mean((low <= y) & (y <= high))
    return float(held), float(np.mean(high - low + 2 / (1 - COVERAGE) * missed)), float(pinball)


def main() -> None:
    chosen = options(("--seconds", {"type": float, "default": 10.0}))
    section = Section(
        "intervals",
        "Quantiles of 1,000 rows, judged on up to 2,000 others: what share the intervals of 90% "
        "hold, their score (width, and 20 times what is missed; less is better), and the mean "
        "pinball loss of five quantiles. Means of three splits.",
        ["target", "tool", "held", "interval score", "pinball loss", "seconds"],
    )
    sets: dict[str, Callable] = {
        "skewed (made)": skewed, "noise by x (made)": noise_by_x,
        "noise by level (made)": noise_by_level,
    }  # fmt: skip
    if data_folder() is None:
        section.note(f"left out: {', '.join(REAL)}; set MERCER_DATA to the folder of the data")
    else:
        sets |= {name: real(name) for name in REAL}

    def mercer(X, y, X_new):
        model = KernelRegressor(time=chosen.seconds).fit(X, y)
        return model.predict_quantiles(X_new, LEVELS)

    tools: dict[str, Callable] = {
        "mercer": mercer,
        "LightGBM": lambda *rows: conformal(boosted, *rows),
        "GradientBoosting": lambda *rows: conformal(boosted_slowly, *rows),
    }
    for name, draw in sets.items():
        found: dict[str, list] = {tool: [] for tool in tools}
        for seed in range(1 if chosen.quick else 3):
            X, y = draw(np.random.default_rng(seed), ROWS + JUDGED)
            rows = X[:ROWS].reset_index(drop=True), np.asarray(y)[:ROWS]
            for tool, quantiles in tools.items():
                began = time.perf_counter()
                q = quantiles(*rows, X[ROWS:])
                seconds = time.perf_counter() - began
                found[tool].append((*judged(np.asarray(y)[ROWS:], q), seconds))
        for tool, values in found.items():
            held, score, pinball, seconds = np.mean(values, axis=0)
            section.row(
                name, tool, f"{held:.3f}", f"{score:.4g}", f"{pinball:.4g}", f"{seconds:.1f}"
            )
    section.note(f"LightGBM {lightgbm.__version__}; the search of mercer had {chosen.seconds:g} s")
    section.finish(chosen.write)


if __name__ == "__main__":
    main()
