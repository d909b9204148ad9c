"""A checksum of rows, by which a continued fit recognises them.

It is a CRC of 32 bits for each part of the rows: the targets, the weights, and X or each of its
columns. So it takes one pass over their bytes, does not depend on the chunks, and says which
part has changed.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from functools import cached_property
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.samples import SamplesLike, frame_of, is_frame

Digest = Mapping[str, int]  # name of a part -> CRC of its rows up to now
PLAIN = {bool, int, float, complex, str, bytes, type(None)}  # what is written as it is


def with_rows(
    digest: Digest, X: SamplesLike, y: np.ndarray | None, weights: np.ndarray | None
) -> Digest:
    """The digest of some rows, and then of some more."""
    parts = _parts(X) | ({} if weights is None else {"weights": weights})
    return with_targets(digest, y) | {
        name: _crc(values, digest.get(name, 0)) for name, values in parts.items()
    }


def with_targets(digest: Digest, y: np.ndarray | None) -> dict[str, int]:
    """The digest of the targets of some rows, and then of some more."""
    return dict(digest) | ({} if y is None else {"targets": _crc(y, digest.get("targets", 0))})


def difference(first: Digest, second: Digest) -> str:
    """The part in which digests of as many rows differ: "targets", "weights", "rows of X" ..."""
    differ = [n for n in {**first, **second} if first.get(n) != second.get(n)]
    return min(differ, key=lambda name: (name not in ("targets", "weights"), differ.index(name)))


def same_value(first: object, second: object) -> bool:
    """Whether two parameters are equal, to the last bit of the arrays in them."""
    return b"".join(_said(first, ())) == b"".join(_said(second, ()))


def _parts(X: SamplesLike) -> dict[str, Any]:
    if is_frame(X):
        table = frame_of(X)
        return {f"values in column {name!r}": table.get_column(name) for name in table.columns}
    if sp.issparse(X):
        rows = sp.csr_array(X)
        return {
            "values of X": rows.data,
            "places of values in X": rows.indices.astype(np.int64, copy=False),
            "counts of values in X": np.diff(rows.indptr).astype(np.int64, copy=False),
        }
    return {"rows of X": X}


def _crc(values: Any, begin: int) -> int:
    """The CRC of values of a row each, after some others."""
    if hasattr(values, "to_numpy"):  # a column of a data frame
        values = values.to_numpy()
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OUST":
        if values.dtype.kind in "biuf" and values.dtype != np.float32:
            values = values.astype(np.float64, copy=False)  # another chunk may have whole numbers
        return zlib.crc32(np.ascontiguousarray(values).view(np.uint8).data, begin)
    values = values.tolist() if isinstance(values, np.ndarray) and values.ndim == 1 else values
    if isinstance(values, list) and set(map(type, values)) <= PLAIN:
        return zlib.crc32(_plain("".join([f"{value!r}," for value in values])), begin)
    for value in values:
        for part in _said(value, ()):
            begin = zlib.crc32(part, begin)
    return begin


def _plain(said: str) -> bytes:
    return said.encode("utf-8", "surrogatepass")


def _said(value: Any, within: tuple) -> Iterable[bytes]:
    """Bytes that equal values share in every process; ``within`` are the objects around it."""
    kind = type(value)
    if kind in PLAIN:
        yield _plain(f"{value!r},")
    elif isinstance(value, np.generic):
        yield from _said(value.item(), within)
    elif kind is np.ndarray and value.dtype.kind not in "OUST":
        yield f"{value.dtype.str}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif any(value is each for each in within):
        yield b"again"
    elif isinstance(value, (type, FunctionType, BuiltinFunctionType)):
        yield f"{value.__module__}.{value.__qualname__}".encode()
    else:
        yield kind.__name__.encode() + b"("
        for part in _content(value):
            yield from _said(part, (*within, value))
        yield b")"


def _content(value: object) -> Iterable[Any]:
    """What an object is made of, in an order that does not depend on the process."""
    if isinstance(value, np.ndarray):
        return [value.shape, *value.ravel().tolist()]
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, (set, frozenset)):
        return sorted(b"".join(_said(each, ())) for each in value)
    if isinstance(value, Mapping):
        return [part for pair in value.items() for part in pair]
    if sp.issparse(value):
        rows = sp.csr_array(value)
        return [rows.shape, rows.indptr, rows.indices, rows.data]
    try:
        _, made_of, *state = value.__reduce_ex__(2)
    except TypeError:  # it knows no way into another process
        return []
    return [made_of, *(_lasting(part, type(value)) for part in state if part is not None)]


def _lasting(state: object, kind: type) -> Any:
    """The state of an object without what it has computed and would compute again."""
    if not isinstance(state, dict):
        return state if isinstance(state, tuple) else list(state) if np.iterable(state) else state
    names = sorted(state, key=str)
    return {
        n: state[n] for n in names if not isinstance(getattr(kind, str(n), None), cached_property)
    }
