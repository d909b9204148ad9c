"""The index of a pandas table, which `to_csv` and Parquet files save as a column of integers.

It numbers the rows of an earlier table: from 0, or shuffled and with gaps after a split, or from 0
again and again after a concatenation. A model must not learn from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

INDEX = "the index of a pandas table"
NAMES = "the row names of an earlier table"  # as R writes them, from 1
LEAST = 3  # values of an index
MANY = 20  # different values: a code has fewer
#: as pandas calls an index in Parquet files, and one that a file had no name for
STORED = re.compile(r"__index_level_\d+__")
UNNAMED = re.compile(r"|Unnamed: \d+(\.\d+)*")
#: as `reset_index` calls it
RESET = re.compile(r"index|level_\d+")


def index_names(names: Iterable, unnamed: Iterable = ()) -> set:
    """The columns whose name, or lack of one, says that they may be an index.

    A column without a name is one only where no other column is before it. ``unnamed`` are those
    that had no name in their file.
    """
    return set(_indexes(names, set(unnamed)))


def _indexes(names: Iterable, unnamed: set) -> Iterator[Any]:
    leading = True
    for name in names:
        nameless = name in unnamed or UNNAMED.fullmatch(str(name)) is not None
        leading = leading and nameless
        if leading or STORED.fullmatch(str(name)) or RESET.fullmatch(str(name)):
            yield name


def is_index(name: object, values: np.ndarray) -> str:
    """How a column with a name of `index_names` numbers the rows; "" if it does not.

    Examples
    --------
    >>> is_index("index", np.arange(30.0)), is_index("index", np.arange(60.0) % 30)
    ('the index of a pandas table', 'the index of a pandas table, which starts again at 0')
    >>> is_index("index", np.r_[7.0, 1.0, 5.0]), is_index("index", np.arange(60.0) % 11)
    ('', '')
    """
    whole = values.dtype.kind == "f" and len(values) >= LEAST and bool((values >= 0).all())
    if not whole or (values != np.round(values)).any():
        return ""
    distinct = len(np.unique(values))
    named = RESET.fullmatch(str(name)) or str(name).startswith(("Unnamed", "__"))
    said = INDEX if named or values.min() != 1 else NAMES
    if STORED.fullmatch(str(name)):
        return said
    steps, n = np.diff(values), len(values)
    if distinct == n:
        if (steps == 1).all():
            return said
        if n < MANY and set(values.tolist()) not in ({*range(n)}, {*range(1, n + 1)}):
            return ""
        return f"{said}, shuffled or with gaps"
    begins = bool(values[0] == 0 and ((steps == 1) | (values[1:] == 0)).all())
    if begins and distinct >= (LEAST if _nameless(name) else MANY):
        return f"{said}, which starts again at 0"
    if distinct > MANY and (_nameless(name) or _parts_of_rows(values)):
        return f"{said}, with numbers that return"
    return ""


def _nameless(name: object) -> bool:
    return RESET.fullmatch(str(name)) is None


def _parts_of_rows(values: np.ndarray) -> bool:
    """Whether these are 0 to n of several tables: a larger number is never more frequent."""
    counts = np.bincount(values.astype(np.int64)) if values.max() < len(values) else np.zeros(1)
    return bool(counts.all() and (np.diff(counts) <= 0).all())
