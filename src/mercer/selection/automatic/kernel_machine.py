"""A machine that is known already, which an automatic estimator fits without a search; and the
final fit of a search.

The winner of a search and its partners are fitted to all rows in the time left. What Ctrl-C or the
clock cuts short leaves a quicker machine, or fewer of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from mercer.kernels import TableKernel
from mercer.machines import Machine, MeanMachine, SearchSettings, Task
from mercer.machines.candidates import (
    EFFECTS,
    Candidate,
    MachineKind,
    Planned,
    Recipe,
    learning_rows,
    machine_kind,
    machine_kinds,
)
from mercer.selection.automatic.trials import FoldFits, SearchState, Trials
from mercer.tables import Feature
from mercer.threads import Deadline

#: part of the time, and least seconds, by which a final fit may exceed it
LATE, LEAST_LATE = 0.05, 0.5
EARLY = Candidate("laplacian", 3.0, columns="normal")  # of the first machine of a large table

#: a machine, and of each row that it has stored the number among all rows
Fitted: TypeAlias = tuple[Machine, np.ndarray]


@dataclass(frozen=True)
class Fitter:
    """Fits the machines of candidates to the rows of a table."""

    settings: SearchSettings

    def fit(
        self,
        candidate: Candidate,
        plan: Recipe,
        kernel: TableKernel | None = None,
        rows: np.ndarray | None = None,
    ) -> Fitted:
        """The machine of a candidate, fitted as a plan says.

        A kernel that is not given is learnt. Only ``rows`` are used, if they are given.
        """
        given = self.settings
        numbers = np.arange(len(given.M)) if rows is None else rows
        # what is known of a training sample, such as rare words, is learnt from all rows of the fit
        if candidate.learn:
            learnt = (kernel or self._learnt(candidate, numbers, plan)).unbound()
        else:
            learnt = kernel or candidate.kernel(given.features)
        if plan.rows:  # fewer, because all would take too long
            some = np.random.default_rng(given.seed).permutation(len(numbers))[: plan.rows]
            numbers = numbers[np.sort(some)]
        machine = plan.run(given, learnt, numbers)
        return machine, numbers[machine.stored]

    def _learnt(self, candidate: Candidate, numbers: np.ndarray, plan: Recipe) -> Any:
        """The kernel of a candidate, learnt from as many rows and steps as a plan has, or 1,200."""
        given = self.settings
        order = np.random.default_rng(given.seed).permutation(len(numbers))
        rows = numbers[order[: plan.learning or learning_rows(given.memory)]]
        learning = candidate.kernels.learning
        return learning.learn(candidate, given, rows, plan.metric_steps, None).kernel


def mean_of(task: Task, fitted: list[Fitted], planned: list[Planned]) -> Fitted:
    """The mean of some machines, by the weights of their plans; of one machine, itself."""
    if len(fitted) == 1:
        return fitted[0]
    machines, numbers = zip(*fitted)
    weights = np.array([1.0 if plan.weight is None else plan.weight for _, plan in planned])
    mean = MeanMachine(machines, numbers, weights / weights.sum(), task.plain())
    return mean, mean.stored


class FinalFit:
    """Fits what a search has found to all rows.

    ``early`` is a machine of all rows, which counts if the final fit is not done in time.
    """

    def __init__(self, search: Trials, fitter: Fitter, early: Fitted | None):
        self.search, self.fitter, self.early = search, fitter, early
        self.sizes = search.settings.sizes
        self.planned: list[Planned] = []  # those of the machines, the winner first
        self.fitted: list[Fitted] = []
        self.quick_rows: np.ndarray | None = None  # those of a quicker machine than was planned
        self.cut = False  # whether Ctrl-C cut it short
        self.notices: list[str] = []

    def run(self, planned: list[Planned]) -> Fitted:
        """Fit the winner as its plan says, then the partners: of a replay those that are planned,
        else as many as there is time for."""
        winner, plan = planned[0]
        if plan.how == "instead":
            self._fit_quickly(winner, plan)
        elif plan.how in ("quick", "early"):
            self._fit_quickly(self._with_kernel(winner), plan)
        elif not self.search.state.schedule and self._early_is_better(winner):
            self._take_early(winner, "There was no time to try a candidate")
        elif self._fit(winner, plan):
            self._add_partners(planned[1:])
        else:
            self._replace(winner, plan)
        return mean_of(self.search.settings.task, self.fitted, self.planned)

    @property
    def candidates(self) -> list[Candidate]:
        """Those of the machines, the winner first."""
        return [candidate for candidate, _ in self.planned]

    def left_out(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Rows, and what machines like the fitted ones predict for each by fits without it.

        They are those of the search. A quicker machine is ridge of low rank, which leaves rows out
        in closed form. None where the search did not keep its predictions.
        """
        if self.quick_rows is None:
            return self.search.left_out(*self._weighed())
        return self.quick_rows, _left_out(self.fitted[0][0])

    def _weighed(self) -> tuple[list[Candidate], list[float]]:
        """The candidates of the machines, and their weights."""
        return self.candidates, [1.0 if p.weight is None else p.weight for _, p in self.planned]

    def _fit(self, candidate: Candidate, plan: Recipe) -> bool:
        """Fit one machine to all rows; returns whether it was not cut short."""
        if plan.how == "once":
            self.planned.append((candidate, plan))
            self.fitted.append(self.search.state.fitted[candidate.name])
            return True
        clock, tried = self.search.clock, len(self.search.state.schedule)
        deadline = Deadline(clock, clock.part(LATE, LEAST_LATE))
        # what nothing quicker could replace is not begun twice
        limit = deadline if self.planned or self._has_quicker(candidate) else nullcontext()
        kernel = self.search.state.learnt.of(candidate).kernel
        try:
            self.search.report(f"final fit: {candidate.name}", tried, tried)
            with limit:
                fitted = self.fitter.fit(candidate, plan, kernel)
        except KeyboardInterrupt:
            self.cut = not deadline.is_over()
            return False
        self.planned.append((candidate, plan))
        self.fitted.append(fitted)
        return True

    def _add_partners(self, planned: list[Planned]) -> None:
        """Fit the partners one after the other, those of a replay as they are ``planned``."""
        mean = self.search.state.mean
        count = len(planned) or (0 if mean is None else len(mean.rows) - 1)
        for number in range(count):
            partner = planned[number] if planned else self.search.plan_partner(1 + number)
            if partner is None or not self._fit(*partner):
                break
        done = len(self.planned) - 1
        if done < count:
            of, single = 1 + count, "alone" if not done else "with fewer of them"
            self.notices.append(
                f"There was no time to fit {of} machines: the model is "
                f"{self.candidates[0].name!r} {single}."
            )
        if not done:
            self.planned = [(c, replace(plan, weight=None)) for c, plan in self.planned]
        if done < count:
            self.search.keep_fewer(*self._weighed())

    def _has_quicker(self, winner: Candidate) -> bool:
        """Whether `_replace` has a machine that takes less time than that of all rows."""
        n, kind = len(self.fitter.settings.M), winner.kind
        if winner.simple:
            return False
        if kind.good_on_few and not kind.reads_columns:
            return n > self.sizes.fewest_rows
        few = min(self.sizes.smallest_rank, self.sizes.quick_rows)
        return self.early is not None or winner.learn or kind.reads_columns or n > few

    def _replace(self, winner: Candidate, plan: Recipe) -> None:
        """Put a quicker machine in the place of a final fit that was cut short."""
        why = "Interrupted" if self.cut else "The time was over"
        rows = self.sizes.fewest_rows
        if not self.cut and winner.kind.good_on_few and len(self.fitter.settings.M) > rows:
            # as good as in the search, on as few rows
            self.notices.append(f"{why} in the final fit: it was repeated with {rows} of the rows.")
            self._fit_quickly(winner, replace(plan, rows=rows, how="instead"))
            return
        winner = self._with_kernel(winner)
        if not self.cut and self._early_is_better(winner):
            self._take_early(winner, f"{why} in the final fit of {winner.name!r}")
            return
        rank, rows = self._few_centres(), min(self.sizes.quick_rows, len(self.fitter.settings.M))
        self.notices.append(
            f"{why} in the final fit: the model is a quicker one, kernel ridge with "
            f"{min(rank, rows):,} centres on {rows:,} rows."
        )
        self._fit_quickly(winner, Recipe(rank=rank, how="quick"))

    def _take_early(self, winner: Candidate, why: str) -> None:
        self.notices.append(
            f"{why}: the model is the machine that was fitted to all rows at the start."
        )
        self._fit_quickly(winner, Recipe(rank=self._few_centres(), how="early"))

    def _few_centres(self) -> int:
        return self.search.state.finals.affordable(self.sizes.smallest_rank)

    def _early_is_better(self, winner: Candidate) -> bool:
        """Whether the machine of the start is better than the winner's kernel on few rows, as far
        as rows tell that were left out."""
        if self.early is None:
            return False
        settings, board = self.search.settings, self.search.state.board
        few = board.named(winner.name)
        if few is None:
            return True
        loss = settings.task.loss(settings.y, _left_out(self.early[0]), settings.weights)
        return loss <= few.loss

    def _with_kernel(self, winner: Candidate) -> Candidate:
        """The winner; where it has no quicker form, as it is simple or has no kernel of its own,
        the best candidate that has one."""
        if not (winner.kind.reads_columns or winner.simple):
            return winner
        tried = [row for row in self.search.state.board.rows if row.place >= 0]
        ranked = (row.candidate for row in tried if not row.candidate.kind.reads_columns)
        return next(ranked, winner if winner.simple else EARLY)

    def _fit_quickly(self, winner: Candidate, plan: Recipe) -> None:
        """The machine of the start, few rows, or few centres of few rows."""
        plan = replace(plan, weight=None)
        if plan.how == "early":
            self.planned, self.quick_rows = [(EARLY, plan)], np.arange(len(self.fitter.settings.M))
            self.fitted = [self.early or self.fitter.fit(EARLY, plan)]
            return
        learnt = self.search.state.learnt
        if plan.how == "quick":
            self.quick_rows = np.sort(self.search.state.rungs.order[: self.sizes.quick_rows])
        # that of a fold is there already
        kernel = learnt.of(winner).kernel or learnt.of(winner, 0).kernel
        self.planned = [(winner, plan)]
        self.fitted = [self.fitter.fit(winner, plan, kernel, self.quick_rows)]


def _left_out(machine: Any) -> np.ndarray:
    """What ridge of low rank predicts for each of its rows by a fit without it."""
    return machine.finish(machine.learner.left_out_ + machine.offset)


READ_NUMBERS = ("normal", "scaled", EFFECTS)


@dataclass(frozen=True)
class KernelMachine:
    """A machine for a table whose kernel is known, as ``code`` of an automatic estimator writes it.

    Parameters
    ----------
    learner : str
        "ridge", "local", "svc" or "window"; "neighbourhood" or "shapes", a sum of functions of
        columns and pairs, which learn kernels of their own; or a simple model without a kernel:
        "constant", "linear" or "sparse"; or the name of a `MachineKind` of your own.
    kernel : TableKernel, optional
        The kernel. Its columns are named by how they are encoded, such as "age (rank)": see
        ``get_feature_names_out`` of the estimator's ``encoder_``.
    name : str
        What the kernel is called on screens and in reports.
    penalty : float, optional
        C of a support vector machine; None chooses it. The penalty of ridge and the width of a
        window are always chosen by leaving rows out.
    rank : int, optional
        How many centres a ridge machine has; None is exact for few rows.
    exact : bool
        Whether ridge is exact for many rows too, by one Cholesky factor.
    leaf_rows : int, optional
        Most rows of a leaf of "local".
    rows : int, optional
        How many rows it is fitted to, at random; None means all.
    metric : {"", "full", "diagonal", "absolute"}
        The metric that is learnt from the rows where no kernel is given.
    reads : str
        What that metric is of: "vectors", or "" for the columns of numbers. Of "neighbourhood" how
        numbers are read: "normal" scores, or "scaled". Both learners read columns of many levels
        by the effects of these levels on the target if it is "effects".
    without : list of str
        Labels of encoded columns, such as "date: elapsed days", that a learner which learns its own
        kernel does not read, and "linear" as a straight line.
    members : int, optional
        Networks of "neighbourhood"; None means one.
    steps, learning : int, optional
        In how many steps it is learnt, and from how many rows at most.
    weight : float, optional
        What it weighs beside others in a mean; None weighs 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> from mercer.selection.automatic import KernelMachine
    >>> from mercer.kernels import RBF, TableKernel
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> wave = KernelMachine("ridge", TableKernel([(RBF(1.0), ["0 (scaled)"])]))
    >>> model = KernelRegressor(machines=[wave]).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    learner: str
    kernel: TableKernel | None = None
    name: str = ""
    penalty: float | None = None
    rank: int | None = None
    exact: bool = False
    leaf_rows: int | None = None
    rows: int | None = None
    metric: str = ""
    reads: str = ""
    without: Sequence[str] = ()
    members: int | None = None
    steps: int | None = None
    learning: int | None = None
    weight: float | None = None

    @property
    def kind(self) -> MachineKind:
        """What kind of machine it is."""
        known = [kind.name for kind in machine_kinds()]
        if self.learner not in known:
            raise ValueError(f"learner={self.learner!r}: give one of {known}.")
        return machine_kind(self.learner)

    @property
    def candidate(self) -> Candidate:
        """What a search would call it."""
        if self.kind.simple:
            return Candidate(self.kind.family, machine=self.learner, without=tuple(self.without))
        if self.kind.reads_columns:
            how = self.reads or self.kind.numbers
            return Candidate(
                self.learner, columns=how, machine=self.learner, without=tuple(self.without)
            )
        if self.metric:
            return Candidate(
                "metric", learn=True, form=self.metric, text=self.reads, machine=self.learner,
                without=tuple(self.without),
            )  # fmt: skip
        learnt = getattr(self.kernel, "weights", None) is not None
        return Candidate("given", learn=learnt, text=self.name or "a kernel", machine=self.learner)

    @property
    def plan(self) -> Recipe:
        """How it is fitted."""
        return Recipe(
            self.learner, self.penalty, self.rank, self.exact, self.leaf_rows, self.members or 1,
            rows=self.rows, learning=self.learning, metric_steps=self.steps, weight=self.weight,
        )  # fmt: skip

    def on(self, features: Sequence[Feature]) -> TableKernel | None:
        """The kernel on the numbers of the encoded columns; None if there is none yet."""
        if self.weight is not None and not self.weight > 0:
            raise ValueError(f"weight={self.weight!r}: give a number above 0, or None.")
        if self.kind.reads_columns and self.reads not in ("", *READ_NUMBERS):
            raise ValueError(f"reads={self.reads!r}: give one of {list(READ_NUMBERS)}.")
        if self.kind.simple or self.kind.reads_columns or self.metric:
            return None
        if not isinstance(self.kernel, TableKernel) or not self.kernel.parts:
            raise ValueError(
                f"kernel={self.kernel!r}: a machine of {self.kind.words} needs a "
                "TableKernel whose parts name their columns."
            )
        numbers = {feature.name: j for j, feature in enumerate(features)}
        named = {column for _, columns in self.kernel.parts for column in columns}
        unknown = sorted(named - set(numbers), key=str)
        if unknown:
            raise ValueError(
                f"kernel= reads {unknown[:5]}, but the encoded columns are {list(numbers)[:50]}: "
                "name those."
            )
        parts = [(kernel, [numbers[c] for c in columns]) for kernel, columns in self.kernel.parts]
        return TableKernel(parts, self.kernel.combine, self.kernel.weights)


def fit_machines(
    machines: Sequence[KernelMachine], settings: SearchSettings
) -> tuple[list[Planned], Fitted]:
    """Fit machines to all rows of a search without a search; of several machines the mean."""
    if not machines or not all(isinstance(each, KernelMachine) for each in machines):
        raise ValueError(f"machines={machines!r}: give a list of KernelMachine, at least one.")
    fits, fitter = FoldFits(SearchState(settings)), Fitter(settings)
    unfit = [each.learner for each in machines if settings.several and not each.kind.several]
    if unfit:
        known = [kind.name for kind in machine_kinds() if kind.several]
        raise ValueError(
            f"machines=: {unfit[0]!r} learns one target, but y has {settings.y.shape[1]} columns: "
            f"give machines of {known}, or fit one for each column."
        )
    planned = [(each.candidate, each.plan) for each in machines]
    fitted = []
    for machine, (candidate, plan) in zip(machines, planned):
        kernel = machine.on(settings.features)
        if machine.metric and not fits.rungs.learns_each(candidate):  # from rows that were spared
            steps = None if machine.steps is None else [machine.steps]
            kernel, _ = fits.shared_kernel(candidate, steps)
        fitted.append(fitter.fit(candidate, plan, kernel))
    return planned, mean_of(settings.task, fitted, planned)
