"""Which values the parameters of a learnt neighbourhood may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer.learners.base import (
    check_count,
    check_flag,
    check_not_negative,
    check_positive,
    check_seed,
)
from mercer.learners.neighbourhoods.design import KINDS
from mercer.samples import is_number


def check_parameters(given: Mapping[str, Any]) -> None:
    """Raise an error that names the first parameter with a wrong value."""
    for name in ("n_members", "width", "batch", "candidates"):
        check_count(name, given[name], optional=False)
    check_count("hidden", given["hidden"], 0, optional=False)
    check_count("n_neighbors", given["n_neighbors"])
    if given["steps"] != "auto":
        check_count("steps", given["steps"], optional=False)
    if given["candidates"] < given["batch"]:
        raise ValueError(
            f"candidates={given['candidates']} are fewer than batch={given['batch']}, which are "
            "among them: give at least as many."
        )
    check_positive("learning_rate", given["learning_rate"])
    for name in ("dropout", "validation_fraction"):
        value = given[name]
        check_not_negative(name, value)
        if not (is_number(value) and value < 1):
            raise ValueError(f"{name}={value!r}: give a number >= 0 and below 1.")
    if given["scaling"] not in ("auto", *KINDS):
        raise ValueError(f"scaling={given['scaling']!r}: give one of {['auto', *KINDS]}.")
    if given["prune"] != "auto":
        check_flag("prune", given["prune"])
    for name in ("warm_start", "verbose"):
        check_flag(name, given[name])
    progress = given["progress"]
    if not (progress is None or callable(progress)):
        raise TypeError(f"progress={progress!r}: give a function of a dict, or None.")
    check_seed(given["random_state"])


def check_validation(rows: Any, n: int, warm_start: bool) -> np.ndarray | None:
    """The numbers of the rows, of n, that judge a fit in place of those it would draw itself."""
    if rows is None:
        return None
    if warm_start:
        raise ValueError(
            "validation= cannot be given with warm_start=True, which keeps the held-out rows of "
            "the first fit: set warm_start=False."
        )
    found = np.asarray(rows)
    if found.ndim != 1 or found.dtype.kind not in "iu" or not len(found):
        raise ValueError(
            f"validation has shape {found.shape} and dtype {found.dtype}: give the numbers of "
            "some rows of X, which are not trained on, or None."
        )
    chosen = np.unique(found)
    if chosen[0] < 0 or chosen[-1] >= n or len(chosen) == n:
        raise ValueError(
            f"validation has {len(chosen):,} row numbers from {chosen[0]} to {chosen[-1]}, but X "
            f"has {n:,} rows: give numbers from 0 to {n - 1}, and leave rows to train on."
        )
    return chosen
