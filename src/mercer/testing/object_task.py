"""What the checks of `check_object_estimator` are run on: an estimator, samples and targets.

`ObjectTask` holds them; the functions give its samples and targets in the forms that users have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.samples import SamplesLike


@dataclass(frozen=True)
class ObjectTask:
    """An estimator, samples that are objects, and targets (None: the estimator takes none).

    ``maker`` makes a sample of a text; None where only the samples themselves are known.
    """

    estimator: Any
    X: list
    y: list | None
    maker: Callable[[str], Any] | None = None

    def fresh(self) -> Any:
        fresh: Any = clone(self.estimator)
        return fresh

    def fitted(self, X: SamplesLike | None = None, y: Any = None, **params: object) -> Any:
        """A clone fitted to X and y, by default those of the task."""
        X, y = (self.X if X is None else X), (self.y if y is None else y)
        return self.fresh().fit(X, y, **params)

    @property
    def form(self) -> type:
        """What the samples are: str, bytes, list or set."""
        return set if isinstance(self.X[0], (set, frozenset)) else type(self.X[0])

    def sample(self, text: str) -> Any:
        """The sample of these characters."""
        if self.maker is not None:
            return self.maker(text)
        makers: dict[type, Callable] = {str: str, bytes: str.encode, set: set}
        return makers.get(self.form, list)(text)


def object_array(X: list) -> np.ndarray:
    array = np.empty(len(X), dtype=object)
    array[:] = X
    return array


def targets(y: list | None) -> np.ndarray | None:
    return None if y is None else np.asarray(y)


def containers(X: list) -> dict[str, Any]:
    """The samples as users have them: sequences, arrays, and columns of the installed frames."""
    array = object_array(X)
    found: dict[str, Any] = {
        "a tuple": tuple(X),
        "an array of objects": array,
        "an array of one column": array[:, None],
    }
    if isinstance(X[0], (str, bytes)):
        found["an array of strings"] = np.asarray(X)
    # sets and tokens are lists in a typed column, which other objects do not fit
    typed = isinstance(X[0], (str, bytes, list, set, frozenset))
    rows = (
        X if isinstance(X[0], (str, bytes)) else [sorted(x) if isinstance(x, set) else x for x in X]
    )
    libraries = (("pandas", _pandas), ("polars", _polars), ("pyarrow", _arrow))
    for library, make in libraries if typed else libraries[:1]:
        try:
            found |= make(X if library == "pandas" else rows)
        except ImportError:
            continue
    return found


def _pandas(X: list) -> dict[str, Any]:
    import pandas as pd

    column = pd.Series(object_array(X), index=range(7, 7 + len(X)))
    return {"a pandas column": column, "a pandas frame": column.to_frame("sample")}


def _polars(X: list) -> dict[str, Any]:
    import polars as pl

    column = pl.Series("sample", X)
    return {"a polars column": column, "a polars frame": column.to_frame()}


def _arrow(X: list) -> dict[str, Any]:
    import pyarrow as pa

    return {"an arrow column": pa.chunked_array([X]), "an arrow table": pa.table({"sample": X})}
