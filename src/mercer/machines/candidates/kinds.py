"""`MachineKind`: all that a search asks about a machine, in one object for each kind of machine.

How it is fitted, what that costs, how exact the fit to all rows can be, and its words. Those of the
library are in recipes.py; `register_machine` adds one from outside, as docs/extending.rst shows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from mercer.machines.settings import SearchSettings

if TYPE_CHECKING:
    from mercer.kernels import Kernel
    from mercer.machines.tasks import Task
    from mercer.samples import Samples


class RungFits(NamedTuple):
    """The fits of a candidate on a rung."""

    rows: int
    folds: int
    train: int  # rows of each fit
    rank: int | None  # most centres; None is exact
    each: bool  # whether the kernel is learnt for each fold
    large: bool  # whether an earlier rung had fewer rows


@dataclass(frozen=True)
class Recipe:
    """How a machine is fitted: in a trial, a final fit or a mean, or again to other rows."""

    machine: str = "ridge"  # the name of a `MachineKind`
    penalty: float | None = None  # C of support vectors, or what Bayes adds; None chooses it
    #: centres of a ridge machine; None is exact for few rows, else the learner's default
    rank: int | None = None
    #: Whether a ridge machine is exact for many rows too, by one Cholesky factor. Its λ is chosen
    #: on 1,400 rows: as the noise of a Gaussian process it does not change with their number.
    exact: bool = False
    #: most rows of a leaf of a local machine; None is the learner's default
    leaf_rows: int | None = None
    members: int = 1  # networks of a learnt neighbourhood
    steps: int | None = None  # of each of them; None is the learner's default
    #: numbers of the rows that judge them and are not trained on; None draws them
    validation: np.ndarray | None = field(default=None, compare=False)
    seconds: float | None = None  # in which their steps end, even if there are fewer of them
    rows: int | None = None  # so many at random, if all would take too long
    #: most rows from which a kernel is learnt for this fit, and the steps in which a metric is
    learning: int | None = None
    metric_steps: int | None = None
    weight: float | None = None  # what the machine weighs in a mean
    #: of a final fit: "once" if the trial was it already, else what took the place of one that was
    #: cut short: "quick", "early" (the machine of the start) or "instead" (few of the rows)
    how: str = ""
    memory: int | None = None
    n_jobs: int | None = None
    seed: int = 0  # draws centres, and the rows that C and the calibration are judged on

    @classmethod
    def of(cls, entry: dict[str, Any], machine: str = "ridge") -> Self:
        """That of a final `entry` of a schedule, of a candidate with this machine."""
        how = next((key for key in HOW if entry.get(key)), "")
        own = {key: entry[key] for key in PLANNED if entry.get(key) is not None}
        if how == "once":
            own["steps"] = entry["steps"][0]
        return cls("ridge" if how in ("quick", "early") else machine, how=how, **own)

    @property
    def entry(self) -> dict[str, Any]:
        """A final fit in a schedule."""
        own = {name: getattr(self, name) for name in PLANNED}
        once = {"steps": [self.steps]} if self.how == "once" else {}
        return {"final": True} | own | once | ({self.how: True} if self.how else {})

    def fit(
        self,
        task: Task,
        kernel: Kernel,
        X: Samples,
        y: np.ndarray,
        weights: np.ndarray | None = None,
    ) -> Any:
        """Fit to the targets of a task. X is an encoded table, or as the kernel reads it.

        A machine that reads columns is given them in place of a kernel.
        """
        return machine_kind(self.machine).fit(self, task, kernel, X, y, weights)

    def run(
        self, given: SearchSettings, kernel: Kernel, rows: np.ndarray, X: Samples | None = None
    ) -> Any:
        """Fit to some rows of a search, which may be encoded as X: the door of all its fits."""
        here = replace(self, memory=given.memory, n_jobs=given.n_jobs, seed=given.seed)
        if X is None:
            X = given.M if len(rows) == len(given.M) else given.M[rows]
        return here.fit(given.task, kernel, X, given.y[rows], given.weights_of(rows))

    def place(self) -> dict[str, Any]:
        """What learners take of where they are fitted."""
        return {"memory": self.memory, "n_jobs": self.n_jobs}


HOW = ("once", "quick", "early", "instead")
PLANNED = (
    "penalty", "rank", "exact", "leaf_rows", "members", "rows", "learning", "metric_steps",
    "weight",
)  # fmt: skip


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
        What the names of its candidates begin with; of each kind that reads kernels another one.
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
    most_classes : float
        The machine is not tried with more classes, as it would take too long.
    several : bool
        Whether one machine learns several targets of numbers, of ``task.targets`` (n, targets).
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
    most_classes: float = np.inf
    several: bool = False
    numbers: str = "scaled"

    @abstractmethod
    def fit(
        self,
        recipe: Recipe,
        task: Task,
        kernel: Kernel,
        X: Samples,
        y: np.ndarray,
        weights: np.ndarray | None,
    ) -> Any:
        """A machine, fitted to the targets of a task as a `Recipe` says."""

    def candidates(self, settings: SearchSettings) -> list:
        """What a search tries of it before all else, for columns that suit the kernels.

        The list is empty for the kinds of this library, whose places are in order.py.
        """
        return []

    @abstractmethod
    def seconds(self, finals: Any, candidate: Any, rows: int) -> float:
        """Predicted seconds of a fit to so many rows, with nothing beside it."""

    def trial_seconds(self, finals: Any, candidate: Any, trial: RungFits) -> float:
        """The same of a trial."""
        return trial.folds * self.seconds(finals, candidate, trial.train)

    def final_seconds(self, finals: Any, candidate: Any, plan: Recipe) -> float:
        """The same of a final fit."""
        return self.seconds(finals, candidate, plan.rows or len(finals.settings.M))

    def final(self, finals: Any, candidate: Any, penalty: float) -> Recipe:
        """A final fit without a limit of time."""
        return Recipe(self.name)

    def shortened(self, finals: Any, candidate: Any, plan: Recipe, left: float) -> Recipe:
        """A fit that takes at most the seconds that are left: the default is one of fewer rows."""
        n = plan.rows or len(finals.settings.M)
        rows = int(n * np.sqrt(max(0.0, left / finals.seconds(candidate, plan))))
        return replace(plan, rows=min(n, max(finals.settings.sizes.fewest_rows, rows)))

    def fits(self, finals: Any, candidate: Any) -> bool:
        """Whether the memory holds what the machine needs beside its rows."""
        return True

    def typical(self, penalties: list[float]) -> float:
        """The penalty that stands for those of all folds."""
        return float(np.median(penalties))


#: name -> kind, in the order of their registration
_KINDS: dict[str, MachineKind] = {}


def register_machine(kind: MachineKind) -> Callable[[], None]:
    """Make a kind of machine known to searches and to `mercer.selection.automatic.KernelMachine`.

    Returns
    -------
    remove : callable
        A function without arguments, which makes it unknown again.
    """
    if kind.name in _KINDS:
        raise ValueError(f"kind={kind!r}: there is a machine {kind.name!r} already.")
    others = [each.prefix for each in machine_kinds() if not (each.simple or each.reads_columns)]
    if kind.prefix in others and not (kind.simple or kind.reads_columns):
        raise ValueError(
            f"kind={kind!r}: the names of other candidates begin with prefix={kind.prefix!r} too: "
            "give it a prefix of its own."
        )
    _KINDS[kind.name] = kind
    return partial(_KINDS.__delitem__, kind.name)


def machine_kind(name: str) -> MachineKind:
    """The kind of machine with this name; ValueError if there is none."""
    if name not in _KINDS:
        raise ValueError(
            f"machine={name!r}: give one of {list(_KINDS)}, or register your own first, by "
            "register_machine."
        )
    return _KINDS[name]


def machine_kinds() -> list[MachineKind]:
    """All kinds of machines."""
    return list(_KINDS.values())
