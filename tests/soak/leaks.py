"""Random tables: no target reaches a prediction that it judges, and no row the answer of another.

What tests/selection/automatic/test_leaks.py and test_rows_alone.py show on one table each.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose, assert_array_equal

from mercer import KernelClassifier, KernelRegressor
from mercer.machines.candidates.order import candidates
from mercer.machines.tasks import Classification, Regression
from mercer.tables.column_rules import infer_columns
from mercer.tables.encoding import TableEncoder
from mercer.tables.values import read_columns
from selection.automatic.held_out import HeldOutPredictions

WORDS = np.array(["tea", "milk", "rum", "gin", "ale", "éclair", "", "0", "NA"])
KINDS = {"text": "text", "set": "set"}


def random_table(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Some columns of any kind, with gaps, ties, and rare levels; at least one is a number."""
    many = rng.integers(2, n + 1)
    columns = {
        "whole": rng.integers(0, many, n) * 10.0 ** rng.integers(-3, 4),
        "gaps": np.where(rng.uniform(size=n) < 0.3, np.nan, rng.standard_t(2, n)),
        "level": [f"v{i}" for i in rng.zipf(1.5, n) % 40],
        "sometimes": np.where(rng.uniform(size=n) < 0.2, None, rng.choice(WORDS[:4], n)),
        "date": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        "text": [" ".join(rng.choice(WORDS, rng.integers(1, 7))) for _ in range(n)],
        "set": [set(rng.choice(WORDS, rng.integers(1, 4))) for _ in range(n)],
    }
    chosen = rng.choice(list(columns), rng.integers(1, len(columns) + 1), replace=False)
    return pd.DataFrame({"number": rng.normal(size=n)} | {name: columns[name] for name in chosen})


def encoder_of(table: pd.DataFrame) -> TableEncoder:
    kinds = {name: kind for name, kind in KINDS.items() if name in table}
    return TableEncoder(infer_columns(read_columns(table), kinds, None)).fit(table)


def targets_of(rng: np.random.Generator, table: pd.DataFrame, classify: bool) -> np.ndarray:
    y = table["number"].to_numpy() ** 2 + 0.3 * rng.normal(size=len(table))
    y = (y - y.mean()) * 10.0 ** rng.integers(-2, 3)
    if not classify:
        return y
    return np.array(["a", "b", "c"])[np.digitize(y, np.quantile(y, [0.3, 0.7]))]


def targets_of_a_fold(rng: np.random.Generator, folder: Path) -> None:
    """Those of one fold change, and its predictions do not, bit for bit."""
    n, classify = int(rng.integers(30, 120)), bool(rng.integers(2))
    table = random_table(rng, n)
    encoder = encoder_of(table)
    M, features = encoder.transform(table), encoder.features_
    y = targets_of(rng, table, classify)
    weights = rng.uniform(0.1, 3, n) if rng.integers(2) else None
    order = candidates(features, "classification" if classify else "regression")
    schedule = [
        asdict(c) | {"rows": n, "rank": int(rng.integers(5, n)), "steps": [2] * 5}
        for c in (order[i] for i in rng.choice(len(order), min(3, len(order)), replace=False))
    ]  # fmt: skip
    kind = Classification if classify else Regression
    clean = HeldOutPredictions(kind, features, M, y, schedule, weights)
    own = clean.folds == rng.integers(clean.folds.max() + 1)
    changed = y.copy()
    changed[own] = rng.permutation(y)[: own.sum()] if classify else 50 - 30 * y[own]
    other = HeldOutPredictions(kind, features, M, changed, schedule, weights, clean.folds)
    for name, wanted in clean.of.items():
        assert_array_equal(other.of[name][own], wanted[own], err_msg=name)


def rows_alone(rng: np.random.Generator, folder: Path) -> None:
    """A row is answered alone as among others that training has never seen the like of."""
    n, classify = int(rng.integers(30, 100)), bool(rng.integers(2))
    table = random_table(rng, n)
    train, some, others = table[: n - 8], table[n - 8 : n - 4], table[n - 4 :]
    others = others.assign(number=others["number"] * 1e6)
    y = targets_of(rng, train, classify)
    fit = KernelClassifier if classify else KernelRegressor
    kinds = {name: kind for name, kind in KINDS.items() if name in table}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit of so few rows may not converge
        model = fit(trials=1, kind=kinds, random_state=int(rng.integers(1000))).fit(train, y)
    answer = model.predict_proba if classify else model.predict
    among = answer(pd.concat([others, some]))[4:]
    alone = np.concatenate([answer(some.iloc[[i]]) for i in range(4)])
    size = np.abs(among).max()
    assert_allclose(alone, among, rtol=1e-4, atol=1e-4 * size)


TRIALS: dict[str, Callable[[np.random.Generator, Path], None]] = {
    "targets of a fold": targets_of_a_fold,
    "rows alone": rows_alone,
}
