"""Samples that are vectors: dense C-ordered arrays, or sparse rows as ``csr_array``."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, cast

import numpy as np

from mercer.samples.frames import describe, first_object, is_frame

__all__ = ["encode_vectors", "largest_column", "refuse_objects"]


def encode_vectors(X, like, reader, missing=False):
    """Raw data as dense or sparse rows of floats; ``missing`` says whether NaN may stay."""
    import scipy.sparse as sp
    from sklearn.utils import check_array

    refuse_objects(X, reader)
    if is_frame(X) and not hasattr(X, "dtypes"):  # arrow frames cannot be read as arrays directly
        import narwhals as nw

        X = nw.from_native(X, eager_only=True).to_numpy()
    floats: Any = [np.float64, np.float32]
    finite: Any = "allow-nan" if missing else True
    with np.errstate(all="ignore"):  # it looks for NaN by a sum, which huge numbers overflow
        X = check_array(
            X,
            accept_sparse=cast(Any, "csr"),
            dtype=floats,
            order="C",
            ensure_all_finite=finite,
            input_name="X",
        )
    if like is not None and X.shape[1] != like.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} columns, but the samples it is compared with have "
            f"{like.shape[1]}: give the same columns in the same order."
        )
    if sp.issparse(X):
        X = sp.csr_array(X)
        X.sum_duplicates()
    return X


def largest_column(X: Any) -> tuple[int, float]:
    """The column of encoded vectors that has the number of the largest size, and this size."""
    import scipy.sparse as sp

    sizes = abs(X).max(axis=0)
    sizes = sizes.toarray().ravel() if sp.issparse(sizes) else np.asarray(sizes)
    return int(sizes.argmax()), float(sizes.max())


#: what to do with samples that are not vectors
REMEDIES = {
    "strings": (
        "Give a kernel on strings, such as kernel=Spectrum(3) for any texts, GapWeighted() for "
        "short texts or EditRBF() for names. If the strings are labels, use Match() on "
        "[[label] for label in X]."
    ),
    "sets": (
        "Give a kernel on sets, such as kernel=Jaccard() or DerivedSubsets(); or make a 0/1 matrix "
        "with one column for each item by sklearn.preprocessing.MultiLabelBinarizer."
    ),
}


def refuse_objects(X, reader):
    """Raise an error if X holds strings, sets or columns of text, and say how to compare them."""
    item = first_object(X)
    if isinstance(item, (str, bytes, Set, Mapping)):
        remedy = REMEDIES["sets" if isinstance(item, (Set, Mapping)) else "strings"]
        raise TypeError(f"X is {describe(X)}, but {reader} compares vectors. {remedy}")
    text = _first_text(X)
    if text is not None:
        raise TypeError(
            f"X holds the text {text!r}, but {reader} compares vectors of numbers. Use Match() "
            "on columns of categories or TableKernel() on mixed columns, or encode the text as "
            "numbers."
        )
    if is_frame(X):
        import narwhals as nw

        schema = nw.from_native(X, eager_only=True).schema
        other = [n for n, t in schema.items() if not (t.is_numeric() or t == nw.Boolean)]
        if other:
            raise TypeError(
                f"X has columns that are not numbers: {other[:5]}, but {reader} compares vectors. "
                "Use TableKernel, or encode those columns as numbers."
            )


def _first_text(X) -> str | None:
    """A text in the first row of a 2-D array or list that is not a number, or None."""
    if isinstance(X, np.ndarray):
        row = X[0] if X.ndim == 2 and X.dtype.kind in "OU" and len(X) else ()
    else:
        row = X[0] if isinstance(X, (list, tuple)) and len(X) else ()
    if not isinstance(row, (list, tuple, np.ndarray)):
        return None
    for value in row:
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                return str(value)
    return None
