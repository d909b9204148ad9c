"""The final fit: the winner of a search and its partners, fitted to all rows in the time left.

What Ctrl-C or the clock cuts short leaves a quicker machine, or fewer of them.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from mercer.kernels import TableKernel
from mercer.selection.automatic.candidates import Candidate, learn_kernel, learning_rows
from mercer.selection.automatic.machines import Machine, MeanMachine, Recipe
from mercer.selection.automatic.settings import SearchSettings
from mercer.selection.automatic.tasks import Task
from mercer.selection.automatic.trials import Trials
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
        plan: dict,
        kernel: TableKernel | None = None,
        rows: np.ndarray | None = None,
    ) -> Fitted:
        """The machine of a candidate, fitted as a plan of `Finals` says.

        A kernel that is not given is learnt. Only ``rows`` are used, if they are given.
        """
        given = self.settings
        numbers = np.arange(len(given.M)) if rows is None else rows
        # what is known of a training sample, such as rare words, is learnt from all rows of the fit
        if candidate.learn:
            learnt = (kernel or self._learnt(candidate, numbers, plan)).unbound()
        else:
            learnt = kernel or candidate.kernel(given.features)
        if plan.get("rows"):  # fewer, because all would take too long
            some = np.random.default_rng(given.seed).permutation(len(numbers))[: plan["rows"]]
            numbers = numbers[np.sort(some)]
        recipe = Recipe(
            candidate.machine if not plan.get("quick") else "ridge", plan.get("penalty"),
            plan["rank"], plan.get("exact", False), plan.get("leaf_rows"),
            plan.get("members") or 1, plan["steps"][0] if plan.get("once") else None,
            memory=given.memory, n_jobs=given.n_jobs, seed=given.seed,
        )  # fmt: skip
        whole = len(numbers) == len(given.M)
        X, y = (given.M, given.y) if whole else (given.M[numbers], given.y[numbers])
        machine = recipe.fit(given.task, learnt, X, y, given.weights_of(numbers))
        return machine, numbers[machine.stored]

    def _learnt(self, candidate: Candidate, numbers: np.ndarray, plan: dict) -> Any:
        """The kernel of a candidate, learnt from as many rows and steps as a plan has, or 1,200."""
        given = self.settings
        order = np.random.default_rng(given.seed).permutation(len(numbers))
        rows = numbers[order[: plan.get("learning") or learning_rows(given.memory)]]
        steps = plan.get("metric_steps")
        return learn_kernel(candidate, given, rows, steps=steps).kernel


def mean_of(task: Task, fitted: list[Fitted], plans: list[dict]) -> Fitted:
    """The mean of some machines, by the weights of their plans; of one machine, itself."""
    if len(fitted) == 1:
        return fitted[0]
    machines, numbers = zip(*fitted)
    weights = np.array([1.0 if (own := plan.get("weight")) is None else own for plan in plans])
    mean = MeanMachine(machines, numbers, weights / weights.sum(), task.plain())
    return mean, mean.stored


class FinalFit:
    """Fits what a search has found to all rows.

    ``early`` is a machine of all rows, which counts if the final fit is not done in time.
    """

    def __init__(self, search: Trials, fitter: Fitter, early: Fitted | None):
        self.search, self.fitter, self.early = search, fitter, early
        self.sizes = search.settings.sizes
        self.candidates: list[Candidate] = []  # those of the machines, the winner first
        self.fitted: list[Fitted] = []
        #: the entry of the final fit in the schedule; its "mean" is a list of those of the partners
        self.plan: dict = {}
        self.quick_rows: np.ndarray | None = None  # those of a quicker machine than was planned
        self.cut = False  # whether Ctrl-C cut it short
        self.notices: list[str] = []

    def run(self, winner: Candidate, plan: dict) -> Fitted:
        """Fit the winner as its plan says, and then as many partners as there is time for."""
        self.plan = {key: value for key, value in plan.items() if key != "mean"}
        if plan.get("quick") or plan.get("early") or plan.get("instead"):
            self._fit_quickly(self._with_kernel(winner), self.plan)
        elif self._fit(winner, self.plan):
            self._add_partners(plan.get("mean"))
        else:
            self._replace(winner)
        return mean_of(self.search.settings.task, self.fitted, self.plans)

    @property
    def plans(self) -> list[dict]:
        """That of each machine, the winner first."""
        return [self.plan, *self.plan.get("mean", [])]

    def left_out(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Rows, and what machines like the fitted ones predict for each by fits without it.

        They are those of the search. A quicker machine is ridge of low rank, which leaves rows out
        in closed form. None where the search did not keep its predictions.
        """
        if self.quick_rows is None:
            weights = [plan.get("weight", 1.0) for plan in self.plans]
            return self.search.left_out(self.candidates, weights)
        return self.quick_rows, _left_out(self.fitted[0][0])

    def _fit(self, candidate: Candidate, plan: dict) -> bool:
        """Fit one machine to all rows; returns whether it was not cut short."""
        if plan.get("once"):
            self.candidates.append(candidate)
            self.fitted.append(self.search.state.fitted[candidate.name])
            return True
        clock, tried = self.search.clock, len(self.search.state.schedule) - 1
        deadline = Deadline(clock, clock.part(LATE, LEAST_LATE))
        # what nothing quicker could replace is not begun twice
        limit = deadline if self.candidates or self._has_quicker(candidate) else nullcontext()
        kernel = self.search.state.learnt.of(candidate).kernel
        try:
            self.search.report(f"final fit: {candidate.name}", tried, tried)
            with limit:
                fitted = self.fitter.fit(candidate, plan, kernel)
        except KeyboardInterrupt:
            self.cut = not deadline.is_over()
            return False
        self.candidates.append(candidate)
        self.fitted.append(fitted)
        return True

    def _add_partners(self, plans: list[dict] | None) -> None:
        """Fit the partners one after the other, those of a replay by their ``plans``."""
        mean = self.search.state.mean
        wanted = 0 if mean is None else len(mean.candidates) - 1
        wanted = wanted if plans is None else len(plans)
        done = []
        for number in range(wanted):
            plan = self.search.plan_partner(1 + number) if plans is None else plans[number]
            if plan is None or not self._fit(Candidate.of(plan), plan):
                break
            done.append(plan)
        if len(done) < wanted:
            of, single = 1 + wanted, "alone" if not done else "with fewer of them"
            self.notices.append(
                f"There was no time to fit {of} machines: the model is "
                f"{self.candidates[0].name!r} {single}."
            )
        if done:
            self.plan["mean"] = done
        else:
            self.plan.pop("weight", None)
        if len(done) < wanted:
            weights = [plan.get("weight", 1.0) for plan in self.plans]
            self.search.keep_fewer(self.candidates, weights)

    def _has_quicker(self, winner: Candidate) -> bool:
        """Whether `_replace` has a machine that takes less time than that of all rows."""
        n = len(self.fitter.settings.M)
        if winner.kind.good_on_few:
            return n > self.sizes.fewest_rows
        few = min(self.sizes.smallest_rank, self.sizes.quick_rows)
        return self.early is not None or winner.learn or winner.reads_columns or n > few

    def _replace(self, winner: Candidate) -> None:
        """Put a quicker machine in the place of a final fit that was cut short."""
        winner = self._with_kernel(winner)
        why = "Interrupted" if self.cut else "The time was over"
        rank = self.search.state.finals.affordable(self.sizes.smallest_rank)
        if not self.cut and winner.kind.good_on_few:  # as good as in the search, on as few rows
            rows = self.sizes.fewest_rows
            plan = self.plan | {"rows": rows, "instead": True}
            self.notices.append(f"{why} in the final fit: it was repeated with {rows} of the rows.")
        elif not self.cut and self._early_is_better(winner):
            plan = {"final": True, "early": True, "rank": rank}
            self.notices.append(
                f"{why} in the final fit of {winner.name!r}: the model is the machine that was "
                "fitted to all rows at the start."
            )
        else:
            plan = {"final": True, "rank": rank, "quick": True}
            rows = min(self.sizes.quick_rows, len(self.fitter.settings.M))
            self.notices.append(
                f"{why} in the final fit: the model is a quicker one, kernel ridge with "
                f"{min(rank, rows):,} centres on {rows:,} rows."
            )
        self._fit_quickly(winner, plan)

    def _early_is_better(self, winner: Candidate) -> bool:
        """Whether the machine of the start is better than the winner's kernel on few rows, as far
        as rows tell that were left out."""
        if self.early is None:
            return False
        settings, board = self.search.settings, self.search.state.board
        few = [row for row in board.rows if row["name"] == winner.name]
        if not few:
            return True
        loss = settings.task.loss(settings.y, _left_out(self.early[0]), settings.weights)
        return loss <= min(few, key=lambda row: row["rows"])["loss"]

    def _with_kernel(self, winner: Candidate) -> Candidate:
        """The winner, or the best candidate with a kernel where it has none, as it has no
        quicker form."""
        if not winner.reads_columns:
            return winner
        state = self.search.state
        tried = [Candidate.of(entry) for entry in state.schedule if not entry.get("final")]
        named = {candidate.name: candidate for candidate in tried if not candidate.reads_columns}
        ranked = [named[row["name"]] for row in state.board.rows if row["name"] in named]
        return ranked[0] if ranked else EARLY

    def _fit_quickly(self, winner: Candidate, plan: dict) -> None:
        """The machine of the start, few rows, or few centres of few rows."""
        self.plan = plan = {key: value for key, value in plan.items() if key != "weight"}
        if plan.get("early"):
            self.candidates, self.quick_rows = [EARLY], np.arange(len(self.fitter.settings.M))
            self.fitted = [self.early or self.fitter.fit(EARLY, plan)]
            return
        rows, learnt = None, self.search.state.learnt
        if plan.get("quick"):
            rows = np.sort(self.search.state.rungs.order[: self.sizes.quick_rows])
        # that of a fold is there already
        kernel = learnt.of(winner).kernel or learnt.of(winner, 0).kernel
        self.candidates = [winner]
        self.quick_rows = np.arange(len(self.fitter.settings.M)) if rows is None else rows
        self.fitted = [self.fitter.fit(winner, plan, kernel, rows)]


def _left_out(machine: Any) -> np.ndarray:
    """What ridge of low rank predicts for each of its rows by a fit without it."""
    return machine.finish(machine.learner.left_out_ + machine.offset)
