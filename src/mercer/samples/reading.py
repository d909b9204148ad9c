"""Reads all samples: `read` finds the kind of raw data, and brings them into its plain form.

Each `Kind` says which forms it reads: `Kind.rows` where a comparison names the kind, and
`Kind.recognise` elsewhere. `as_samples` calls `read` too, and encodes the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.samples.categories import CategoriesKind
from mercer.samples.counts import CountsKind
from mercer.samples.graph_kind import GraphsKind
from mercer.samples.kind import (
    Kind,
    all_kinds,
    kind_named,
    kind_of,
    kind_that_holds,
    register_kind,
)
from mercer.samples.molecules import MoleculesKind
from mercer.samples.numbers import is_number
from mercer.samples.objects import ObjectsKind, PrecomputedKind
from mercer.samples.protocol import SamplesLike
from mercer.samples.raw_data import (
    LISTED,
    SAID_OF_LEVELS,
    as_given,
    describe,
    first_known,
    in_one_column,
    index_levels,
    is_missing_value,
    listed,
    named_fields,
    plain_array,
)
from mercer.samples.series import BagsKind, SeriesKind
from mercer.samples.sets import SetsKind
from mercer.samples.strings import StringsKind
from mercer.samples.table import TableKind
from mercer.samples.trees import TreesKind
from mercer.samples.vectors import VectorsKind, are_numbers, plain_vectors

# The latest is asked first: what is surely a graph, a tree or a text; then series and vectors in
# the cells of a column; then sets, as which all other lists count.
for _kind in (
    CountsKind(), CategoriesKind(), TableKind(), SetsKind(), VectorsKind(), SeriesKind(),
    StringsKind(), BagsKind(), MoleculesKind(), GraphsKind(), TreesKind(), ObjectsKind(),
    PrecomputedKind(),
):  # fmt: skip
    register_kind(_kind)

DEEPEST = 3  # lists in a cell: the rows and columns of an image, and its channels


def read(
    X: SamplesLike, kind: str | Kind | None = None, *, reader: str = "read"
) -> tuple[Kind, Any]:
    """Raw data as samples of one kind, in the plainest form of that kind.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, column or sequence of objects
        Samples in any form, or samples that are encoded already.
    kind : str or Kind, optional
        What a sample is, which a comparison knows: ``kernel.kind``. None asks all kinds, by the
        rules in :ref:`forms-of-samples`.
    reader : str
        The name of what reads the samples, for error messages.

    Returns
    -------
    kind : Kind
    rows : list, ndarray, csr_array or data frame
        A list with one object for each sample; vectors as rows of floats; a table as a data frame
        or a 2-D array.

    Raises
    ------
    TypeError, ValueError
        X has no form of this kind. The message says what to give.

    Examples
    --------
    >>> read(["GATTACA", "CAT"])
    (StringsKind(), ['GATTACA', 'CAT'])
    >>> read([[1, 2], [3, 4]])[1]
    array([[1., 2.],
           [3., 4.]])
    >>> read([[1, 2], [3, 4]], "series")
    (SeriesKind(), [[1, 2], [3, 4]])
    >>> read([[1, "red"], [2, "blue"]])[0]
    TableKind()
    """
    if kind is None:
        came = kind_of(X)
        if came is not None and came.is_encoded(X):
            return came, X
        found = recognised(X)
        if found is not None:
            return found
        X = known_form(X)
        kind = "vectors" if are_numbers(X) else "table"
    wanted = kind if isinstance(kind, Kind) else kind_named(kind)
    if is_encoded(X, wanted, reader):
        return wanted, X
    return wanted, wanted.rows(accepted(X, wanted, reader), reader)


def recognised(X: SamplesLike) -> tuple[Kind, list] | None:
    """The kind and the samples of X where each sample is one object, such as a string, a set or a
    series; None where each row of X is a row of values.

    Lists of one length are such rows in a list, and samples in a column.
    """
    X = as_given(X)
    for kind in all_kinds():
        found = kind.form_of(X)
        if found is not None:
            return None if kind.coordinates else (kind, kind.rows(found, "read"))
    X = plain_array(X)
    items = _objects(X)
    for kind in all_kinds():
        rows = kind.recognise(X, items)
        if rows is not None:
            return kind, rows
    return None


def known_form(X: SamplesLike) -> Any:
    """Data of other libraries as this one has them, whatever their kind.

    They are what the `Kind.forms` read, arrays such as tensors, and rows with named fields.
    """
    X = as_given(X)
    found = (form(X) for kind in all_kinds() for form in kind.forms)
    return next((form for form in found if form is not None), named_fields(plain_array(X)))


def said_of_form(X: Any) -> list[str]:
    """How an estimator without a kernel read data that may be of another kind, and what to give
    then; none where the form tells the kind.

    Examples
    --------
    >>> said_of_form(np.zeros((9, 5, 2)))[0][:61]
    'X was read as 9 series of 5 points and 2 channels, time first'
    """
    if index_levels(X) > 1:
        return [SAID_OF_LEVELS]
    X = as_given(X)
    if len(getattr(X, "shape", ())) != 3:
        return []
    if any(kind.form_of(X) is not None for kind in all_kinds()):
        return []
    n, points, channels = X.shape
    if points == channels:
        return [
            f"X was read as {n} images of {points} x {channels} pixels, each a row of numbers: if "
            "these are series, give a column of them, pandas.Series(list(X))."
        ]
    points, channels = (channels, 1) if points == 1 else (points, channels)
    return [
        f"X was read as {n} series of {points} points and {channels} channels, time first: if "
        'channels come first, give mercer.samples.series_of(X, channels="first"), and if these '
        "are vectors, X.reshape(len(X), -1)."
    ]


def _objects(X: SamplesLike) -> list | None:
    """The objects of a list, an array or a column, each of which is one sample; else None."""
    if isinstance(X, np.ndarray) and X.dtype.names:  # rows with named fields
        return None
    items = listed(X)
    first: Any = first_known(items or [])
    if items is None or kind_that_holds(first) is not None:
        return items
    shape = getattr(first, "shape", ())
    if not isinstance(first, LISTED) and (sp.issparse(first) or len(shape) not in (1, 2)):
        return None  # such as sparse rows, which are vectors
    cells = [item if isinstance(item, LISTED) or is_missing_value(item) else np.asarray(item)
             for item in items]  # fmt: skip
    deep = _depth(first_known(cells))
    if deep > DEEPEST:
        raise ValueError(f"X holds lists in lists of more than {DEEPEST} levels: give fewer.")
    column = not isinstance(X, LISTED)
    lengths = {len(cell) if isinstance(cell, LISTED) else -1 for cell in cells}
    if column or (len(lengths) > 1 and not _are_whole(cells)):
        return cells
    return cells if deep == 2 and not _are_images(cells) else None


def _depth(cell: object) -> int:
    """How deep lists are nested at the beginning of a cell, as far as it matters."""
    depth = 0
    while isinstance(cell, LISTED) and getattr(cell, "ndim", 1) and depth <= DEEPEST:
        depth, cell = depth + 1, cell[0] if len(cell) else None
    return depth


def _are_images(cells: list) -> bool:
    with suppress(ValueError):  # of lists of different lengths
        shapes = {np.shape(cell) for cell in cells}
        return len(shapes) == 1 and len(shape := shapes.pop()) > 1 and shape[0] == shape[1]
    return False


def _are_whole(cells: list) -> bool:
    """Whether cells hold whole numbers alone, which may be sets, series or rows of a table."""
    whole = (int, np.integer)
    return all(isinstance(v, whole) for cell in cells if isinstance(cell, LISTED) for v in cell)


def as_samples(
    X: SamplesLike,
    kind: str = "vectors",
    *,
    like: Any = None,
    reader: str = "this kernel",
) -> Any:
    """Encode raw data as samples of one kind; encoded samples are returned unchanged.

    Parameters
    ----------
    X, reader : see `read`
    kind : str, default="vectors"
        The name of a `Kind`. Tables are encoded by the kernels that read them (see
        `mercer.kernels.TableKernel`).
    like : encoded samples, optional
        The training samples, whose codes are used again. A value that is not in them gets a new
        code. None means that X are the training samples.

    Returns
    -------
    samples : Vectors, csr_array, Categories, Strings, Sets, Objects, or what the kind makes
        Vectors behave like any array.

    Raises
    ------
    TypeError
        X is a single sample, a dict, or another kind of sample.
    ValueError
        X is empty, or has NaN or infinite values.

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
    if is_encoded(X, wanted, reader):
        return X
    rows = plain_vectors(X) if wanted.coordinates and like is None else None
    if rows is not None:
        return rows
    with naming_the_kind(X, wanted, reader):
        return wanted.encode(accepted(X, wanted, reader), like, reader)


@contextmanager
def naming_the_kind(X: SamplesLike, wanted: Kind, reader: str, instead: str = "") -> Iterator[None]:
    """While X is read as vectors: where it holds samples of another kind, which is beyond doubt,
    the error names the kernel and the distance that compare them. ``instead`` is said last."""
    try:
        yield
    except (TypeError, ValueError) as error:
        found = None
        with suppress(TypeError, ValueError):
            if wanted.coordinates and not are_numbers(X):
                found = recognised(X) or recognised(in_one_column(X) or [])
        if found is None or found[0] is wanted:
            raise
        kind, rows = found
        raise TypeError(
            f"X is {len(rows)} {kind.name}, but {reader} compares {wanted.name}. {kind.remedy()}"
            f"{instead}"
        ) from error


def is_encoded(X: Any, wanted: Kind, reader: str) -> bool:
    """Whether X are encoded samples of a kind; a TypeError if they are of another one."""
    if wanted.is_encoded(X):
        return True
    came = kind_of(X)
    if came is not None and came.is_encoded(X):
        raise TypeError(f"X is encoded as {came.name}, but {reader} compares {wanted.name}.")
    return False


def accepted(X: SamplesLike, kind: Kind, reader: str) -> Any:
    """X in a form that `Kind.rows` and `Kind.encode` read.

    A TypeError if X is None, a dict, or a single sample and not a list of samples.
    """
    X = as_given(X)
    found = kind.form_of(X)
    X = plain_array(X) if found is None else found
    if found is not None or kind.of_columns:  # a table says what else to give
        return X
    fields = named_fields(X) if kind.column else X
    one = None if fields is X else first_known(in_one_column(fields) or [])
    X = X if one is None or is_number(one) else fields
    one = isinstance(X, (str, bytes, Mapping, Set)) and not sp.issparse(X)  # dok is a mapping
    if X is None or one or (not sp.issparse(X) and kind.holds(X)):
        raise TypeError(
            f"X is {describe(X)}; {reader} compares {kind.name}. Give {kind.looks}"
            + (". Put a single string into a list." if isinstance(X, (str, bytes)) else ".")
        )
    return X
