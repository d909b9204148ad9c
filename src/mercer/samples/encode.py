"""`as_samples`: encode raw data of one kind as samples."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from mercer.samples.kinds import kind_named, kind_of
from mercer.samples.raw_data import describe


def as_samples(X: Any, kind: str = "vectors", *, like: Any = None, reader: str = "this kernel"):
    """Encode raw data as samples of one kind; encoded samples are returned unchanged.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or sequence of objects
        Raw data, one row or item per sample.
    kind : str, default="vectors"
        The name of a `Kind`: "vectors", "categories", "strings", "sets", "objects", or one that was
        registered. Tables are encoded by the kernels that read them (see
        `mercer.kernels.TableKernel`).
    like : encoded samples, optional
        The training samples, whose codes are used again. A value that is not in them gets a new
        code. None means that X are the training samples.
    reader : str
        The name of the kernel that reads the samples, for error messages: "RBF", "Match" ...

    Returns
    -------
    samples : Vectors, csr_array, Categories, Strings, Sets, Objects, or what the kind makes
        Vectors behave like any array.

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
    wanted = kind_named(kind)
    if wanted.is_encoded(X):
        return X
    came = kind_of(X)
    if came is not None and came.is_encoded(X):
        raise TypeError(f"X is encoded as {came.name}, but {reader} compares {kind}.")
    refuse_one(X, reader, kind)
    return wanted.encode(X, like, reader)


def refuse_one(X: Any, reader: str, kind: str) -> None:
    """Raise an error if X is None, a dict, or a single sample and not a list of samples."""
    sparse = hasattr(X, "tocsr")  # scipy's dictionaries of keys are mappings
    one = not sparse and (isinstance(X, (str, bytes, Mapping, Set)) or kind_named(kind).holds(X))
    if X is None or one:
        raise TypeError(
            f"X is {describe(X)}; {reader} compares {kind}. Give {kind_named(kind).looks}"
            + (". Put a single string into a list." if isinstance(X, (str, bytes)) else ".")
        )
