"""The numbers that training rows have in the user's file, which a model file carries along.

A model counts the rows that it was fitted to. Rows without a target, rows of weight 0 and rows that
were held out are not among them, but a user looks rows up in the file.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.selection.reasons import Reasons

__all__ = ["in_file", "keep_numbers"]


def keep_numbers(model: Any, rows: np.ndarray) -> None:
    """Note in a fitted model which rows of the file, from 0, it was fitted to.

    ``file_rows_`` has the numbers of ``stored_rows_``, and is saved with the model.
    """
    model.file_rows_ = rows[model.stored_rows_]


def in_file(model: Any, reasons: Reasons) -> Reasons:
    """Reasons with the row numbers of the file, where the model knows them."""
    rows, stored = getattr(model, "file_rows_", None), model.stored_rows_
    if rows is None or len(rows) != len(stored):
        return reasons
    numbers = np.full(int(stored.max(initial=0)) + 1, -1)
    numbers[stored] = rows
    return reasons.renumbered(numbers)
