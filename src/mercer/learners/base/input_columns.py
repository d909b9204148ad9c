"""What scikit-learn is told of samples: their columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from mercer.samples import MatrixRows, kind_of


def remember_columns(estimator: Any, X: Any, encoded: Any, *, reset: bool) -> None:
    """Store (or check) column count and names, as scikit-learn does, for matrices."""
    fitted = vars(estimator)
    given: Any = X
    plain = type(given) is np.ndarray and given.ndim == 2 and "feature_names_in_" not in fitted
    if plain and not reset and fitted.get("n_features_in_") == given.shape[1]:
        return  # as scikit-learn would find, in a tenth of the time
    kind = kind_of(encoded)
    if kind is not None and kind.counted and not isinstance(X, MatrixRows):
        validate_data(estimator, X, skip_check_array=True, reset=reset)
    elif reset:  # an earlier fit may have stored columns, but these samples have none
        for name in ("n_features_in_", "feature_names_in_"):
            vars(estimator).pop(name, None)
