"""The training rows that a prediction of an automatic estimator rests on.

A kernel machine predicts by similarity to training rows, f(x) = Σᵢ βᵢ k(x, xᵢ) + b. So each row of
this sum has a share in the prediction: the rows with the largest shares are reasons for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.learners.additive import ColumnReasons
from mercer.learners.base import Reasons, largest_parts

BLOCK = 4_000_000  # numbers of the largest matrix of contributions


def find_reasons(model: Any, X: Any, most: int = 3) -> Reasons | ColumnReasons:
    """The reasons for the predictions of a fitted automatic estimator.

    For classes, contributions are those to the output of the predicted class; of a support vector
    machine, to the sum of the values of its pairs. For numbers, they are those in the direction in
    which the prediction lies from the mean of the training targets. A machine without rows has
    columns as its reasons.
    """
    if most < 1:
        raise ValueError(f"most={most!r}: give a whole number, at least 1.")
    M, machine = model.encode(X), model.machine_
    if machine.kind == "columns":
        return machine.column_reasons(M, most)
    outputs = np.zeros(len(M), int)
    if model.task == "classification":
        outputs = machine(M).argmax(axis=1)
    stored = model.stored_rows_
    step = max(1, BLOCK // max(len(stored), 1))
    found = []
    for start in range(0, max(len(M), 1), step):
        some = slice(start, start + step)
        parts = np.asarray(machine.contributions(M[some], outputs[some]), dtype=np.float64)
        if model.task == "regression":
            parts *= np.where(parts.sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
        total = np.abs(parts).sum(axis=1, keepdims=True)
        parts = np.divide(parts, total, out=np.zeros_like(parts), where=total > 0)
        found.append((*largest_parts(parts, stored, most), *largest_parts(-parts, stored, most)))
    rows, shares, against, against_shares = (np.concatenate(each) for each in zip(*found))
    return Reasons(rows, shares, against, against_shares, machine.kind, len(stored))
