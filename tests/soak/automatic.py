"""The automatic estimators on random tables, and all that can be asked of a fitted one.

Fits with groups, times, weights and any metric end in finite answers or in an error in words; what
is saved answers as before; a compressed machine, explanations and the code of the winner work.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.testing import assert_array_equal

import mercer
from mercer import KernelClassifier, KernelRegressor
from mercer.machines.scores import METRICS
from soak.fits import WORDS, choice
from soak.leaks import KINDS, random_table, targets_of

__all__ = ["TRIALS"]

Random = np.random.Generator


def hostile(rng: Random, table: pd.DataFrame) -> pd.DataFrame:
    """Some columns of scales that float32 has no numbers for, or of one value, or of none."""
    made = {
        "huge": rng.normal(size=len(table)) * 10.0 ** rng.integers(20, 300),
        "tiny": rng.normal(size=len(table)) * 10.0 ** -rng.integers(20, 320),
        "constant": np.full(len(table), 7.0),
        "missing": np.full(len(table), np.nan),
        "infinite": np.where(rng.random(len(table)) < 0.1, np.inf, 1.0),
        "whole": np.round(rng.standard_t(1, len(table))),
        "flags": rng.random(len(table)) < 0.5,
        "times": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 10**6, len(table))),
        "objects": [choice(rng, [None, 1, "a", 2.5, True]) for _ in range(len(table))],
    }
    chosen = rng.choice(list(made), rng.integers(0, 3), replace=False)
    return table.assign(**{name: made[name] for name in chosen})


def beside(rng: Random, n: int) -> dict[str, Any]:
    """What may be given beside X and y."""
    given: dict[str, Any] = {}
    if rng.random() < 0.2:
        given["groups"] = rng.integers(0, rng.integers(1, n + 1), n)
    elif rng.random() < 0.2:
        given["times"] = rng.choice([rng.integers(0, n, n), np.zeros(n)])
    if rng.random() < 0.3:
        given["sample_weight"] = rng.choice([0.0, 1.0, 1.0, 3.0, 1e-9, 1e9], n)
    return given


def answers(model: Any, X: pd.DataFrame) -> np.ndarray:
    found = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    assert np.isfinite(found).all()
    assert found.ndim == 1 or np.allclose(found.sum(axis=1), 1)
    return found


def automatic(fit: Any, rng: Random, folder: Path) -> None:
    """One search, and everything that a fitted estimator has."""
    n = int(choice(rng, [2, 3, 6, 25, int(rng.integers(30, 200))]))
    table = hostile(rng, random_table(rng, n))
    y = targets_of(rng, table, fit is KernelClassifier)
    if rng.random() < 0.2:
        y = y[rng.integers(0, n, n)]
    kinds = {name: kind for name, kind in KINDS.items() if name in table}
    model = fit(
        trials=choice(rng, [1, 2, 3, 4, 12]), kind=kinds, random_state=int(rng.integers(1000)),
        metric=choice(rng, [None, *(m for m in METRICS if METRICS[m].task == fit.task)]),
    )  # fmt: skip
    new = hostile(rng, table.sample(frac=1, random_state=int(rng.integers(1000))))
    new = new[list(table)] if rng.random() < 0.9 else new[list(table)].astype(object)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            model.fit(table, y, **beside(rng, n))
            before = answers(model, new)
        except WORDS as error:
            if type(error) not in WORDS or len(str(error)) < 20:
                raise
            return
        mercer.save(model, folder / "model")
        assert_array_equal(answers(mercer.load(folder / "model"), new), before)
        reasons = model.reasons(new)
        assert reasons.rows.max() < n
        assert ((reasons.shares >= 0) & (reasons.shares <= 1 + 1e-9)).all()
        assert all(np.isfinite(share) for share in model.relevance().values())
        compile(model.code(), "code", "exec")
        model._repr_html_()
        model.compress(table, int(rng.integers(1, 60)))
        answers(model, new)
        mercer.save(model, folder / "model")
        answers(mercer.load(folder / "model"), new)


TRIALS: dict[str, Callable[[Random, Path], None]] = {
    "classes": lambda rng, folder: automatic(KernelClassifier, rng, folder),
    "numbers": lambda rng, folder: automatic(KernelRegressor, rng, folder),
}
