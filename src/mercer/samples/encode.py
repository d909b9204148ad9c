"""`as_samples`: encode raw data of one kind as samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any

from mercer.samples.categories import Categories, encode_categories
from mercer.samples.frames import describe
from mercer.samples.matrix_rows import MatrixRows, encode_matrix
from mercer.samples.objects import Objects, encode_objects
from mercer.samples.sets import Sets, encode_sets
from mercer.samples.strings import Strings, encode_strings
from mercer.samples.table import Table
from mercer.samples.vectors import encode_vectors

__all__ = ["ENCODERS", "KINDS", "as_samples", "refuse_one"]

#: kind -> what raw data of that kind looks like, for error messages
KINDS = {
    "vectors": "a 2-D array of numbers, one row per sample",
    "categories": "a 2-D array or data frame of categories, one row per sample",
    "table": "a data frame (pandas, polars, arrow) or a 2-D array",
    "strings": "a list or column of strings (str, bytes, or lists of tokens)",
    "sets": "a list or column of sets, or a 0/1 matrix",
    "objects": "a list of objects, one for each sample",
    "precomputed": "the square matrix of k between all training samples",
}

#: kind -> encoder of raw data (X, like, reader)
ENCODERS: dict[str, Callable] = {
    "vectors": encode_vectors,
    "categories": encode_categories,
    "strings": encode_strings,
    "sets": encode_sets,
    "objects": encode_objects,
    "precomputed": encode_matrix,
}

#: types of encoded samples that are not arrays -> their kind
ENCODED = {
    Categories: "categories",
    Table: "table",
    Strings: "strings",
    Sets: "sets",
    Objects: "objects",
    MatrixRows: "precomputed",
}


def as_samples(X: Any, kind: str = "vectors", *, like: Any = None, reader: str = "this kernel"):
    """Encode raw data as samples of one kind; encoded samples are returned unchanged.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or sequence of objects
        Raw data, one row or item per sample.
    kind : {"vectors", "categories", "strings", "sets", "objects"}, default="vectors"
        Tables are encoded by the kernels that read them (see `mercer.kernels.TableKernel`).
    like : encoded samples, optional
        The training samples, whose codes are used again. A value that is not in them gets a new
        code. None means that X are the training samples.
    reader : str
        The name of the kernel that reads the samples, for error messages: "RBF", "Match" ...

    Returns
    -------
    samples : ndarray, csr_array, Categories, Strings, Sets or Objects

    Raises
    ------
    TypeError
        If X is a single string, a dict or a set, or another kind of sample.
    ValueError
        If X is empty, not two-dimensional, or has NaN or infinite values.

    Examples
    --------
    >>> as_samples([[1, 2], [3, 4]])
    array([[1., 2.], [3., 4.]])
    >>> as_samples([["red"], ["blue"]], "categories").codes.ravel()
    array([1, 0], dtype=int32)
    >>> as_samples(["GATTACA", "CAT"], "strings").alphabet
    ['A', 'C', 'G', 'T']
    >>> as_samples([{"tea", "milk"}, {"tea"}], "sets").values
    array([0, 1, 1], dtype=int32)
    """
    came = ENCODED.get(type(X))
    if came is not None:
        if came != kind:
            raise TypeError(f"X is encoded as {came}, but {reader} compares {kind}.")
        return X
    refuse_one(X, reader, kind)
    if kind not in ENCODERS:
        raise TypeError(f"X cannot be encoded as {kind!r}: give one of {sorted(ENCODERS)}.")
    return ENCODERS[kind](X, like, reader)


def refuse_one(X: Any, reader: str, kind: str) -> None:
    """Raise an error if X is None, a single string, a dict or a set and not a list of samples."""
    sparse = hasattr(X, "tocsr")  # scipy's dictionaries of keys are mappings
    if X is None or (isinstance(X, (str, bytes, Mapping, Set)) and not sparse):
        raise TypeError(
            f"X is {describe(X)}; {reader} compares {kind}. Give {KINDS[kind]}"
            + (". Put a single string into a list." if isinstance(X, (str, bytes)) else ".")
        )
