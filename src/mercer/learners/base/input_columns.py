"""What scikit-learn is told of samples: their columns, and the tags of their kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from mercer.samples import MatrixRows

__all__ = ["remember_columns", "tag_samples"]


def remember_columns(estimator: Any, X: Any, encoded: Any, *, reset: bool) -> None:
    """Store (or check) column count and names, as scikit-learn does, for matrices."""
    matrix = isinstance(encoded, (np.ndarray, MatrixRows)) or sp.issparse(encoded)
    if matrix and not isinstance(X, MatrixRows):
        validate_data(estimator, X, skip_check_array=True, reset=reset)
    elif reset:  # an earlier fit may have stored columns, but these samples have none
        for name in ("n_features_in_", "feature_names_in_"):
            vars(estimator).pop(name, None)


def tag_samples(tags: Tags, kind: str) -> None:
    """Set scikit-learn's tags for samples of a kind."""
    tags.input_tags.pairwise = kind == "precomputed"
    tags.input_tags.sparse = kind == "vectors"
    if kind not in ("vectors", "precomputed"):
        tags.input_tags.two_d_array = kind in ("categories", "table")
        tags.input_tags.categorical = kind in ("categories", "table")
        tags.input_tags.string = kind == "strings"
