"""What estimators on tables remember of their columns, and new rows with the same ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.tables import EncodedRows, ReadTable, rows_of


def remember_table(estimator: Any, table: ReadTable | EncodedRows) -> None:
    """Store column count and names, as scikit-learn does."""
    names = table.names
    estimator.n_features_in_ = len(names)
    if all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def read_like_fitted(estimator: Any, X: Any) -> Any:
    """New rows as `mercer.tables.rows_of` gives them; an array has the columns in their order.

    Raises
    ------
    ValueError
        An array has more or fewer columns than the training table.
    """
    table = rows_of(X)
    if any(isinstance(name, str) for name in table.names):
        return table
    names = list(getattr(estimator, "feature_names_in_", []))
    if len(table.names) != estimator.n_features_in_:
        raise ValueError(
            f"X has {len(table.names)} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input{f': {names}' if names else ''}."
        )
    return table.renamed(names) if names else table
