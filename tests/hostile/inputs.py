"""The table of hostile inputs: for each kind of sample, what a careless or a hostile caller gives.

``hostile(kind, good)`` has them by name: none, one, equal and empty samples; one column as a data
frame, a series, a list; numbers of all scales and of all dtypes; holes; samples of another kind.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

Inputs = dict[str, Callable[[], Any]]

#: of all kinds: nothing of these is a list of samples
NO_SAMPLES: Inputs = {
    "None": lambda: None,
    "a number": lambda: 3.5,
    "a string": lambda: "banana",
    "a dict": lambda: {"a": [1, 2], "b": [3, 4]},
    "a set": lambda: {1, 2},
    "a date": lambda: datetime.date(2024, 1, 1),
    "a generator": lambda: (i for i in range(3)),
    "an array of no dimension": lambda: np.array(2.0),
    "an empty list": lambda: [],
    "an empty array": lambda: np.empty(0),
    "no rows": lambda: np.empty((0, 4)),
    "no columns": lambda: np.empty((6, 0)),
    "three dimensions": lambda: np.zeros((4, 3, 2)),
    "an empty frame": lambda: pd.DataFrame(),
    "an empty polars frame": lambda: pl.DataFrame(),
    "an empty column": lambda: pd.Series([], dtype=object),
    "missing ones": lambda: [None] * 6,
    "NaN": lambda: [float("nan")] * 6,
    "pandas.NA": lambda: pd.Series([pd.NA] * 6),
    "a frame of holes": lambda: pd.DataFrame({"a": [None] * 6}),
    "dates": lambda: pd.DataFrame({"a": pd.date_range("2024-01-01", periods=6)}),
    "sparse without rows": lambda: sp.csr_array((0, 4)),
    "sparse without entries": lambda: sp.csr_array((6, 4)),
    "other objects": lambda: [object() for _ in range(6)],
    "numbers": lambda: [1, 2, 3, 4, 5, 6],
    "strings": lambda: ["a", "b", "", "banana", "b", "é\ud800"],
    "sets": lambda: [{1}, set(), {"a"}, {1, 2}, {3}, {4}],
    "lists of strings": lambda: [["a", "b"], [], ["c"], ["a"], ["a", "c"], ["d"]],
    "ragged numbers": lambda: [[1.0, 2.0], [3.0], [], [1.0], [2.0], [5.0]],
    "a recursive list": lambda: recursive(),
    "dicts": lambda: [{"a": 1}] * 6,
}


def recursive() -> list:
    found: list = [[1.0]] * 5
    found.append(found)
    return found


def in_columns(items: Callable[[], list]) -> Inputs:
    """Objects in each form that a list of them may have."""

    def array() -> np.ndarray:
        found = np.empty(len(items()), object)
        found[:] = items()
        return found

    def series() -> pd.Series:
        return pd.Series(array(), dtype=object)  # surrogates cannot be strings of arrow

    return {
        "a tuple": lambda: tuple(items()),
        "an array of objects": array,
        "one column of objects": lambda: array()[:, None],
        "a frame of one column": lambda: pd.DataFrame({"a": series()}),
        "a series of pandas": series,
        "a frame of two columns": lambda: pd.DataFrame({"a": series(), "b": series()}),
        "a polars column": lambda: pl.Series(items(), dtype=pl.Object),
        "a polars frame": lambda: pl.DataFrame({"a": pl.Series(items(), dtype=pl.Object)}),
        "a frame of numbers": lambda: pd.DataFrame({"a": [1.0, 2.0, 3.0]}),
        "a polars frame of numbers": lambda: pl.DataFrame({"a": [1.0, 2.0, 3.0]}),
    }


def of_objects(good: Any) -> Inputs:
    """Lists of samples, each of which is one object."""
    items = list(good)

    def with_one(other: Any) -> Callable[[], list]:
        return lambda: [*items[:3], other, *items[3:]]

    found: Inputs = {
        "one": lambda: items[-1:],
        "two": lambda: items[-2:],
        "equal ones": lambda: [items[-1]] * 6,
        "the same object": lambda: items[:1] * 5,
        "one sample": lambda: items[-1],
        "lists in a list": lambda: [items],
    }
    others = [None, np.nan, pd.NA, np.datetime64("NaT"), 1.5, "x", b"\xff", (), [], set(), {}, (1,),
              np.zeros((2, 2)), np.empty((0, 2)), np.array(1.0), np.array([np.nan]),
              np.array([np.inf, 1.0]), np.array([1e300, -1e300]), np.array(["a"]), (1, 2, 3), [[]],
              [[1, 2], [3]], (2, [(0, 5)]), (2, [(0, 1)], ["a"]), (-1, []), (2, [[0, 1]]),
              {"a": 1}, 2**70, True, 1j, object(), type]  # fmt: skip
    for other in others:
        words = " ".join(repr(other).split()).partition(" at 0x")[0]
        found[f"with {words} among them"] = with_one(other)
    return found | in_columns(lambda: items)


def of_numbers(good: Any) -> Inputs:
    """Rows of numbers; ``good`` is a dense matrix that the callable reads."""
    rows = np.asarray(good, float)
    n, d = rows.shape

    def scaled(*exponents: int, dtype: Any = np.float64) -> Callable[[], np.ndarray]:
        return lambda: np.stack(
            [rows[:, j] * 10.0 ** exponents[j % len(exponents)] for j in range(d)], axis=1
        ).astype(dtype)

    def with_one(value: Any, dtype: Any = np.float64) -> Callable[[], np.ndarray]:
        def made() -> np.ndarray:
            found = rows.astype(dtype)
            found[min(3, n - 1), 0] = value
            return found

        return made

    def cast(dtype: Any) -> Callable[[], np.ndarray]:
        def made() -> np.ndarray:
            with np.errstate(all="ignore"):
                return np.abs(rows * 3).astype(dtype)

        return made

    def extremes(dtype: Any) -> Callable[[], np.ndarray]:
        limits = np.iinfo(dtype)
        return lambda: np.resize(np.array([limits.min, limits.max, 0, 1], dtype), (n, d))

    def frozen() -> np.ndarray:
        found = rows.copy()
        found.flags.writeable = False
        return found

    def masked() -> Any:
        return np.ma.masked_array(rows, np.eye(n, d, dtype=bool))

    found: Inputs = {
        "one row": lambda: rows[:1],
        "two rows": lambda: rows[:2],
        "equal rows": lambda: np.repeat(rows[:1], n, axis=0),
        "equal pairs": lambda: np.repeat(rows, 2, axis=0),
        "zeros": lambda: np.zeros((n, d)),
        "negative zeros": lambda: np.full((n, d), -0.0),
        "a constant column": lambda: np.column_stack([np.ones(n), rows[:, 1:]]),
        "one column": lambda: rows[:, :1],
        "one column as a frame": lambda: pd.DataFrame({"a": rows[:, 0]}),
        "one column as a polars frame": lambda: pl.DataFrame({"a": rows[:, 0]}),
        "one column as a series": lambda: pd.Series(rows[:, 0]),
        "one column as a polars series": lambda: pl.Series(rows[:, 0]),
        "one column as a list": lambda: rows[:, 0].tolist(),
        "one column as an array": lambda: rows[:, 0],
        "a frame": lambda: pd.DataFrame(rows),
        "a polars frame": lambda: pl.DataFrame(rows),
        "an arrow table": lambda: pl.DataFrame(rows).to_arrow(),
        "lists": rows.tolist,
        "a frame of objects": lambda: pd.DataFrame(rows).astype(object),
        "a frame with pandas.NA": lambda: pd.DataFrame(with_one(np.nan)()).convert_dtypes(),
        "a frame of whole numbers and NA": lambda: pd.DataFrame(
            {"a": pd.array([1, None, 3, 4, 5, 6], "Int64"), "b": np.arange(6.0)}
        ),
        "a frame of times": lambda: pd.DataFrame({"a": pd.to_timedelta(np.arange(6), "D")}),
        "a frame of texts": lambda: pd.DataFrame({"a": list("uvwxyz"), "b": np.arange(6.0)}),
        "a frame with one name twice": lambda: pd.DataFrame(rows, columns=["a"] * d),
        "Fortran order": lambda: np.asfortranarray(rows),
        "a view": lambda: np.repeat(np.repeat(rows, 2, axis=0), 2, axis=1)[::2, ::2],
        "backwards": lambda: rows[::-1, ::-1],
        "read-only": frozen,
        "big-endian": lambda: rows.astype(">f8"),
        "masked": masked,
        "a matrix": lambda: rows.view(np.matrix),
        "sparse": lambda: sp.csr_array(rows),
        "sparse columns": lambda: sp.csc_array(rows),
        "sparse with 64-bit indices": lambda: sixty_four(rows),
        "sparse of 1e300": lambda: sp.csr_array(rows * 1e300),
        "sparse with NaN": lambda: sp.csr_array(with_one(np.nan)()),
        "NaN in it": with_one(np.nan),
        "infinity in it": with_one(np.inf),
        "-infinity in it": with_one(-np.inf),
        "None in it": with_one(None, object),
        "a text in it": with_one("x", object),
        "a number as text": with_one("1.5", object),
        "a huge integer in it": with_one(2**1100, object),
        "a list in it": with_one([1, 2], object),
        "one of 1e308": with_one(1.7e308),
        "one of 1e20 in float32": with_one(1e20, np.float32),
        "one of 3e38 in float32": with_one(3e38, np.float32),
        "one of 1e-320": with_one(1e-320),
        "far away": lambda: rows + 1e12,
        "far away in float32": lambda: (rows + 1e6).astype(np.float32),
        "texts": lambda: np.array([["a", "b"]] * n),
        "numbers as texts": lambda: rows.astype(str),
        "bytes": lambda: rows.astype(bytes),
        "dates as an array": lambda: np.zeros((n, d), "datetime64[s]"),
        "structured": lambda: np.zeros(n, [("a", float), ("b", float)]),
        "integers of Python": lambda: [[10**400] * d] * n,
        "beyond float32 as integers": lambda: [[2**63] * d] * n,
    }
    for exponent in (300, 150, 20, -20, -150, -300, -320):
        found[f"times 1e{exponent}"] = scaled(exponent)
    for pair in ((300, -300), (150, -150), (0, 300), (0, -300)):
        found[f"columns times 1e{pair}"] = scaled(*pair)
    for exponent in (30, 20, -20, -44):
        found[f"times 1e{exponent} in float32"] = scaled(exponent, dtype=np.float32)
    found["columns times 1e(0, 20) in float32"] = scaled(0, 20, dtype=np.float32)
    for dtype in (bool, "i1", "u1", "i2", "u8", "i8", "f2", "f4", "g", "c8", "c16", object):
        found[f"as {np.dtype(dtype)}"] = cast(dtype)
    for dtype in ("i1", "u1", "i4", "i8", "u8"):
        found[f"the ends of {np.dtype(dtype)}"] = extremes(dtype)
    return found


def flat(X: Any) -> Any:
    """The numbers of an array that has one column, and anything else as it is."""
    one = isinstance(X, np.ndarray) and X.shape[1:] == (1,)
    return np.asarray(X)[:, 0] if one and not np.ma.isMaskedArray(X) else X


def of_sound(good: Any) -> Inputs:
    """A recording; ``good`` is a column."""

    def flattened(make: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: flat(make())

    columns = {name: flattened(make) for name, make in of_numbers(good).items()}
    return columns | {"two channels": lambda: np.zeros((50, 2)), "silence": lambda: np.zeros(50)}


def sixty_four(rows: np.ndarray) -> Any:
    found = sp.csr_array(rows)
    found.indices, found.indptr = found.indices.astype(np.int64), found.indptr.astype(np.int64)
    return found


def of_strings(good: Any) -> Inputs:
    items = list(good)
    return {
        "empty strings": lambda: ["", "", ""],
        "blanks": lambda: [" ", "\t", "\n", "\0"],
        "a long one": lambda: [*items, "ab" * 3000],
        "bytes": lambda: [b"ab", b"", b"\xff\0"],
        "bytes and strings": lambda: [b"ab", "ab", "b"],
        "surrogates": lambda: ["\ud800", "\udfff\ud800", "a"],
        "an array of strings": lambda: np.array(["ab", "", "b"]),
        "an array of bytes": lambda: np.array([b"ab", b"", b"b"]),
        "a column of strings": lambda: pd.Series(["ab", "", "b"]),
        "a column with NA": lambda: pd.Series(["ab", None, "b"], dtype="string"),
        "a polars column of strings": lambda: pl.Series(["ab", "", "b"]),
        "a polars column with null": lambda: pl.Series(["ab", None, "b"]),
        "categories of pandas": lambda: pd.Series(["ab", "", "b"], dtype="category"),
        "bytearrays": lambda: [bytearray(b"ab"), bytearray(b"")],
        "tokens": lambda: [["a", "b"], [], ["a"]],
        "tokens that cannot be hashed": lambda: [[["a"]], [{}], ["a"]],
        "tokens with NaN": lambda: [[float("nan")], ["a"], [None]],
        "whole numbers": lambda: [[1, 2**70, -1], [0], [2**63]],
        "arrays": lambda: [np.arange(3), np.arange(0), np.arange(2.0)],
    }


def of_sets(good: Any) -> Inputs:
    return {
        "empty sets": lambda: [set(), set(), set()],
        "a large one": lambda: [set(range(3000)), {1}, set()],
        "frozen": lambda: [frozenset({1}), frozenset(), frozenset({2, 3})],
        "items of all types": lambda: [{1, "1", 1.5, None}, {True}, {b"a", ("a", 1)}],
        "NaN as an item": lambda: [{float("nan")}, {float("nan"), 1}, {1}],
        "lists with repeated items": lambda: [[1, 1], [1], [2]],
        "items that cannot be hashed": lambda: [[[1]], [{}], [1]],
        "dicts of weights": lambda: [{"a": 0.5}, {"b": 1.0}, {}],
        "huge integers": lambda: [{2**70}, {-(2**70)}, {0}],
    }


def of_arrays(good: Any) -> Inputs:
    """Series and bags of points."""
    items = [np.asarray(item, float) for item in good]

    def each(change: Callable[[np.ndarray], Any]) -> Callable[[], list]:
        return lambda: [change(item) for item in items]

    found: Inputs = {
        "empty ones": lambda: [item[:0] for item in items],
        "of one point": lambda: [item[:1] for item in items],
        "an empty one": lambda: [*items, items[0][:0]],
        "zeros": each(np.zeros_like),
        "constant": each(np.ones_like),
        "a long one": lambda: [*items[:2], np.resize(items[0], (700, *items[0].shape[1:]))],
        "lists": each(np.ndarray.tolist),
        "series of pandas": each(lambda item: pd.Series([0.5] * len(item))),
        "frames": each(lambda item: pd.DataFrame(np.atleast_2d(item.T).T)),
        "read backwards": each(lambda item: item[::-1]),
        "with another width": lambda: [*items, np.zeros((3, 7))],
        "of three dimensions": lambda: [np.zeros((2, 2, 2))] * 3,
        "texts in them": lambda: [["a", "b"], ["c"], ["d"]],
        "numbers as texts": lambda: [["1", "2"], ["3"], ["4"]],
        "a matrix": lambda: np.ones((4, 6)),
        "a matrix with NaN at the end": lambda: np.array([[1, 2, np.nan], [1, 2, 3.0]]),
        "a cube": lambda: np.ones((4, 6, 2)),
        "a frame": lambda: pd.DataFrame(np.ones((4, 6))),
    }
    for factor in (1e300, 1e150, 1e20, 1e-20, 1e-150, 1e-300, 1e-320):
        found[f"times {factor}"] = each(lambda item, factor=factor: item * factor)
    for dtype in (bool, "i1", "u1", "i8", "f2", "f4", "g", "c16", object, str):
        found[f"as {np.dtype(dtype)}"] = each(lambda item, dtype=dtype: np.abs(item).astype(dtype))
    found["times 1e20 in float32"] = each(lambda item: (item * 1e20).astype(np.float32))
    found["times 1e-30 in float32"] = each(lambda item: (item * 1e-30).astype(np.float32))
    found["the ends of int8"] = each(
        lambda item: np.resize(np.array([-128, 127], "i1"), item.shape)
    )
    return found


class GraKeL:
    """A graph as the library GraKeL keeps it, with attributes that are lists."""

    def __init__(self, labels: Any):
        self.labels = labels

    def __iter__(self):
        return iter([{(0, 1), (1, 0)}, self.labels, {}])


def of_graphs(good: Any) -> Inputs:
    edges = {(0, 1), (1, 0), (1, 2), (2, 1)}
    return {
        "without nodes": lambda: [(0, []), (0, []), (0, [])],
        "of one node": lambda: [(1, []), (1, []), (1, [])],
        "many nodes": lambda: [(60, [(i, i + 1) for i in range(59)]), (2, [(0, 1)])],
        "GraKeL's": lambda: [[edges, {0: "a", 1: "b", 2: "a"}, {}], [{(0, 1)}, {0: "a", 1: "b"}]],
        "GraKeL's with lists as attributes": lambda: [
            [edges, {0: [1.0, 2.0], 1: [0.5, 1], 2: [1, 1]}],
            [{(0, 1)}, {0: [1.0, 0], 1: [0.5, 0]}],
        ],
        "GraKeL's lists and edges": lambda: [
            [edges, {0: [1.0], 1: [0.5], 2: [1]}, {(0, 1): "s", (1, 2): "d"}],
            [{(0, 1)}, {0: [1.0], 1: [0.5]}, {(0, 1): "s"}],
        ],
        "GraKeL's unlike attributes": lambda: [
            [edges, {0: [1.0, 2.0], 1: [0.5], 2: []}],
            [{(0, 1)}, {0: [1.0, 0], 1: [0.5, 0]}],
        ],
        "GraKeL's without labels": lambda: [[edges, {}], [{(0, 1)}, {}]],
        "adjacency": lambda: [np.ones((3, 3)), np.eye(2), np.zeros((1, 1))],
        "adjacency that is not square": lambda: [np.ones((3, 2)), np.eye(2)],
        "adjacency with NaN": lambda: [np.full((3, 3), np.nan), np.eye(2)],
        "sparse adjacency": lambda: [sp.csr_array(np.eye(3)), sp.csr_array((2, 2))],
        "edges of texts": lambda: [(3, [("a", "b")]), (2, [(0, 1)])],
        "edges of three numbers": lambda: [(3, [(0, 1, 2)]), (2, [(0, 1)])],
        "fractions as nodes": lambda: [(3, [(0.5, 1)]), (2, [(0, 1)])],
        "nodes that are not there": lambda: [(3, [(0, 9)]), (2, [(0, 1)])],
        "negative nodes": lambda: [(3, [(0, -1)]), (2, [(0, 1)])],
        "a fraction of nodes": lambda: [(2.5, [(0, 1)]), (2, [(0, 1)])],
        "NaN nodes": lambda: [(float("nan"), [(0, 1)]), (2, [(0, 1)])],
        "too few labels": lambda: [(3, [(0, 1)], ["a"]), (2, [(0, 1)], ["a", "b"])],
        "labels of all types": lambda: [(3, [(0, 1)], ["a", 1, None]), (2, [(0, 1)], [(), 2.5])],
        "labels that cannot be hashed": lambda: [(2, [(0, 1)], [[1], [2]]), (1, [], [[1]])],
        "labels here and there": lambda: [(2, [(0, 1)], ["a", "b"]), (2, [(0, 1)])],
        "labels of edges here and there": lambda: [
            (2, [(0, 1)], ["a", "b"], ["x"]), (2, [(0, 1)], ["a", "b"])
        ],
    }  # fmt: skip


def of_trees(good: Any) -> Inputs:
    deep = "(A " * 400 + "a" + ")" * 400
    return {
        "leaves": lambda: ["(A)", "(B)", "(A)"],
        "empty trees": lambda: [(), (), ()],
        "a deep tree": lambda: [deep, "(A a)"],
        "unbalanced brackets": lambda: ["(A (B", "(A)"],
        "brackets too many": lambda: ["(A))", "(A)"],
        "two trees": lambda: ["(A) (B)", "(A)"],
        "empty strings": lambda: ["", "", ""],
        "nodes of numbers": lambda: [(1, (2,), 3), (1,)],
        "labels that cannot be hashed": lambda: [([1], "a"), ("A",)],
        "wide": lambda: [("A", *["b"] * 2000), ("A", "b")],
    }


def of_levels(good: Any) -> Inputs:
    """Columns of categories."""
    cells = np.asarray(good, object)

    def with_one(value: Any) -> Callable[[], np.ndarray]:
        def made() -> np.ndarray:
            found = cells.copy()
            found[1, 0] = value
            return found

        return made

    found: Inputs = {
        "one row": lambda: cells[:1],
        "equal rows": lambda: np.repeat(cells[:1], 6, axis=0),
        "one column": lambda: cells[:, :1],
        "one column as a frame": lambda: pd.DataFrame({"a": cells[:, 0]}),
        "one column as a polars frame": lambda: pl.DataFrame({"a": cells[:, 0].tolist()}),
        "one column as a series": lambda: pd.Series(cells[:, 0]),
        "one column as a list": lambda: cells[:, 0].tolist(),
        "one column as an array": lambda: cells[:, 0],
        "a frame": lambda: pd.DataFrame(cells),
        "a polars frame": lambda: pl.from_pandas(
            pd.DataFrame(cells.astype(str)).rename(columns=str)
        ),
        "categories of pandas": lambda: pd.DataFrame(cells.astype(str)).astype("category"),
        "lists": cells.tolist,
        "numbers": lambda: np.arange(12.0).reshape(4, 3),
        "NaN as numbers": lambda: np.full((4, 3), np.nan),
        "bytes": lambda: np.array([[b"a"], [b"b"]]),
        "strings": lambda: cells.astype(str),
        "bools": lambda: np.ones((4, 3), bool),
        "complex": lambda: np.ones((4, 3), complex),
        "dates": lambda: np.zeros((4, 3), "datetime64[D]"),
        "sparse": lambda: sp.csr_array(np.eye(3)),
        "ragged": lambda: [["a"], ["a", "b"]],
        "masked": lambda: np.ma.masked_array(cells, np.eye(*cells.shape, dtype=bool)),
    }
    for value in (None, np.nan, pd.NA, 1.5, b"x", (1,), [1], {}, "\ud800", 10**400):
        found[f"with {value!r} in it"] = with_one(value)
    return found


def of_tables(good: Any) -> Inputs:
    frame = pd.DataFrame(good)
    number = next(c for c in frame.columns if isinstance(frame[c].iloc[0], float))
    found: Inputs = {
        "one row": lambda: frame[:1],
        "no rows of a frame": lambda: frame[:0],
        "equal rows": lambda: frame.iloc[[0] * 6],
        "a polars frame": lambda: pl.from_pandas(frame),
        "an array": frame.to_numpy,
        "lists": lambda: frame.to_numpy().tolist(),
        "a column too few": lambda: frame.iloc[:, 1:],
        "a column too many": lambda: frame.assign(more=1.0),
        "an index of texts": lambda: frame.set_axis([str(i) for i in range(len(frame))]),
        "a name twice": lambda: pd.concat([frame, frame], axis=1),
        "all missing": lambda: frame.astype(object).where(frame.isna(), None),
        "texts alone": lambda: frame.astype(str),
        "objects": lambda: frame.astype(object),
        "categories": lambda: frame.astype("category"),
    }
    for value in (1e300, -1e300, 1e-300, np.nan, np.inf):
        found[f"with {value} in it"] = lambda value=value: frame.assign(
            **{str(number): np.where(np.arange(len(frame)) == 1, value, frame[number])}
        )
    return found


OF_KIND: dict[str, Callable[[Any], Inputs]] = {
    "vectors": of_numbers,
    "sound": of_sound,
    "sparse": lambda good: of_numbers(good.toarray()),
    "matrix": of_numbers,
    "strings": lambda good: of_objects(good) | of_strings(good),
    "molecules": lambda good: of_objects(good) | of_strings(good),
    "sets": lambda good: of_objects(good) | of_sets(good),
    "counts": lambda good: (
        of_numbers(good) if isinstance(good, np.ndarray) else of_objects(good) | of_sets(good)
    ),
    "objects": of_objects,
    "series": lambda good: of_objects(good) | of_arrays(good),
    "bags": lambda good: of_objects(good) | of_arrays(good),
    "graphs": lambda good: of_objects(good) | of_graphs(good),
    "trees": lambda good: of_objects(good) | of_trees(good),
    "categories": of_levels,
    "table": of_tables,
}


def hostile(kind: str, good: Any) -> Inputs:
    """All inputs for what reads samples of a kind, of which ``good`` are some."""
    return NO_SAMPLES | OF_KIND[kind](good)
