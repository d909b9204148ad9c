"""What a model file carries along of the user's file: the target's name and the rows' numbers.

A model counts the rows that it was fitted to. Rows without a target, rows of weight 0 and rows that
were held out are not among them, but a user looks rows up in the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.cli.errors import OptionError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from mercer.learners.additive import ColumnReasons
    from mercer.selection.automatic import Reasons


def note_origin(model: Any, target: str, rows: np.ndarray) -> None:
    """Note in a fitted model which column it predicts, and which rows, from 0, it was fitted to.

    ``file_target_``, and ``file_rows_`` with the numbers of ``stored_rows_``, are saved with the
    model.
    """
    model.file_target_, model.file_rows_ = target, rows[model.stored_rows_]


def target_of(model: BaseEstimator) -> str:
    """The column that a model predicts; an OptionError where its file does not say."""
    name = getattr(model, "file_target_", None)
    if name is None:
        raise OptionError(
            "--target is missing, and the model does not know the name, since it was not fitted by "
            "mercer fit: give the column that it predicts."
        )
    return name


def targets_of(model: BaseEstimator) -> list[str]:
    """The names of the several targets that a model predicts; none of any other model."""
    return [str(name) for name in getattr(model, "targets_", None) or []]


def in_file(model: Any, reasons: Reasons | ColumnReasons) -> Reasons | ColumnReasons:
    """Reasons with the row numbers of the file, where the model knows them."""
    from mercer.learners.additive import ColumnReasons

    rows, stored = getattr(model, "file_rows_", None), model.stored_rows_
    if isinstance(reasons, ColumnReasons) or rows is None or len(rows) != len(stored):
        return reasons
    numbers = np.full(int(stored.max(initial=0)) + 1, -1)
    numbers[stored] = rows
    return reasons.renumbered(numbers)
