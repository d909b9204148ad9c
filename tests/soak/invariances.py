"""Random trials of the invariances of every public estimator, on rows of random sizes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from invariances.checks import CHECKS, Task, data
from invariances.table import TABLE, Row


def one_of(row: Row, rng: np.random.Generator, folder: Path) -> None:
    """One of the invariances that hold for the estimator."""
    names = [n for n in row.invariances if n not in row.without and n not in row.faults]
    name = str(rng.choice(names))
    given = data(rng, int(rng.integers(30, 300)), int(rng.integers(2, 7)), int(rng.integers(1, 40)))
    try:
        with warnings.catch_warnings():  # some drawn rows are in parts
            warnings.filterwarnings("ignore", "The .* nearest neighbours of all rows connect")
            CHECKS[name](Task.of(row, given, rng, folder))
    except ValueError as error:
        if not (row.refuses and row.refuses in str(error)):
            raise
    except AssertionError as error:
        error.add_note(f"{name} of {row.id}")
        raise


TRIALS: dict[str, Callable[[np.random.Generator, Path], None]] = {
    f"{number} {type(row.model).__name__}": partial(one_of, row)
    for number, row in enumerate(TABLE)
    if not row.library or find_spec(row.library)
}
