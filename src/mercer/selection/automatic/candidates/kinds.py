"""`MachineKind`: all that a search asks about a machine, in one object for each kind of machine.

How it is fitted, what that costs, how exact the fit to all rows can be, and its words. The kinds of
this library are in recipes.py; `register_machine` adds one from outside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np


class Trial(NamedTuple):
    """The fits of a candidate on a rung."""

    rows: int
    folds: int
    train: int  # rows of each fit
    rank: int | None  # most centres; None is exact
    each: bool  # whether the kernel is learnt for each fold
    large: bool  # whether an earlier rung had fewer rows


class MachineKind(ABC):
    """Abstract: a kind of machine, as a search sees it.

    ``finals`` is the `Finals` of a search, which says what a value of a kernel takes here, how much
    memory there is and how much time is left.

    Attributes
    ----------
    name : str
        What schedules and code call it: "ridge", "svc" ...
    words : str
        Its learner in words.
    prefix : str
        What the names of its candidates begin with.
    simple, family : str
        The name and the family of a simple model, which a kernel machine has to beat; "" for
        others.
    reads_columns : bool
        Whether it reads columns, and learns a kernel of its own.
    reads_features : bool
        Whether it reads the features of a kernel, and not its matrix.
    low_rank : bool
        Whether one factor of few centres serves the fits of all folds.
    holds_rows_out : bool
        Whether a fit to all rows judges itself by rows that it leaves out anyway.
    slow_on_few : bool
        Whether a fit to few rows takes nearly as long as one to many.
    keeps_penalty : bool
        Whether the penalty of a smaller rung is kept, as to choose it again takes long.
    good_on_few : bool
        Whether a final fit that is cut short is repeated with as few rows as in the search.
    on_many_rows : str
        The machine that takes its place where rows are many; "" for none.
    compares_rows : bool
        Whether a machine that reads columns compares rows: then levels and differences count too.
    numbers : str
        How a machine that reads columns reads their numbers where nothing else is said.
    """

    name: str
    words: str
    prefix: str = ""
    simple: str = ""
    family: str = ""
    reads_columns: bool = False
    reads_features: bool = False
    low_rank: bool = False
    holds_rows_out: bool = False
    slow_on_few: bool = False
    keeps_penalty: bool = False
    good_on_few: bool = False
    on_many_rows: str = ""
    compares_rows: bool = False
    numbers: str = "scaled"

    @abstractmethod
    def fit(self, recipe: Any, task: Any, kernel: Any, X: Any, y: np.ndarray, weights: Any) -> Any:
        """A machine, fitted to the targets of a task as a `Recipe` says."""

    @abstractmethod
    def trial_seconds(self, finals: Any, candidate: Any, trial: Trial) -> float:
        """Predicted seconds of a trial, with nothing beside it."""

    @abstractmethod
    def final_seconds(self, finals: Any, candidate: Any, plan: dict) -> float:
        """Predicted seconds of a final fit, with nothing beside it."""

    def final(self, finals: Any, candidate: Any, penalty: float) -> dict[str, Any]:
        """What is planned of a final fit without a limit of time."""
        return {}

    def shortened(self, finals: Any, candidate: Any, plan: dict, left: float) -> dict[str, Any]:
        """A plan that takes at most the seconds that are left: the default is one of fewer rows."""
        n = plan["rows"] or len(finals.settings.M)
        rows = int(n * np.sqrt(max(0.0, left / finals.seconds(candidate, plan))))
        return plan | {"rows": min(n, max(finals.settings.sizes.fewest_rows, rows))}

    def fits(self, finals: Any, candidate: Any) -> bool:
        """Whether the memory holds what the machine needs beside its rows."""
        return True

    def typical(self, penalties: list[float]) -> float:
        """The penalty that stands for those of all folds."""
        return float(np.median(penalties))


#: name -> kind, in the order of their registration
_KINDS: dict[str, MachineKind] = {}


def register_machine(kind: MachineKind) -> Callable[[], None]:
    """Make a kind of machine known to searches and to `mercer.KernelMachine`.

    Returns
    -------
    remove : callable
        A function without arguments, which makes it unknown again.
    """
    if kind.name in _KINDS:
        raise ValueError(f"kind={kind!r}: there is a machine {kind.name!r} already.")
    _KINDS[kind.name] = kind
    return partial(_KINDS.__delitem__, kind.name)


def machine_kind(name: str) -> MachineKind:
    """The kind of machine with this name; ValueError if there is none."""
    if name not in _KINDS:
        raise ValueError(f"machine={name!r}: give one of {list(_KINDS)}.")
    return _KINDS[name]


def machine_kinds() -> list[MachineKind]:
    """All kinds of machines."""
    return list(_KINDS.values())
