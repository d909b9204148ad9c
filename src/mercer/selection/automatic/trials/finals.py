"""The final fit to all rows: how exact it can be, in the time and the memory that are left."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.learners.base import SQUARES
from mercer.learners.neighbourhoods import NeighbourhoodMachineRegressor
from mercer.learners.ridge import affordable_leaf
from mercer.machines import RANKS, SearchSettings, least_seconds
from mercer.machines.candidates import Candidate, Recipe
from mercer.selection.automatic.trials.costs import Costs, Row, entry_seconds, row_features

MOST_OUTPUTS = 100  # targets of a local machine, each of which takes time in each leaf
MEASURED_STEPS, MEASURED_STEPS_ROWS = (20, 60), 1500  # on which the time of its steps is measured
LEAST_STEPS = 200  # of a network that tells anything
LEAST_PART = 0.2  # of the time of a fit that its steps take
HOPE = 0.5  # of the seconds that a fit is given with care, in which it may be done
MEASURED = 300  # rows on which the time of a kernel is measured


class Finals:
    """Plans final fits."""

    def __init__(self, settings: SearchSettings, costs: Costs):
        self.settings, self.costs = settings, costs
        self.entries: dict[tuple, float] = {}
        self.rows: dict[tuple, Row] = {}
        #: seconds of a step of a learnt neighbourhood, and of all else in a fit
        self.step: tuple[float, float] | None = None

    def plan(self, candidate: Candidate, penalty: float, before: float = 0.0) -> Recipe:
        """The best final fit of a candidate that the memory and the time allow.

        It begins ``before`` seconds from now.
        """
        final, left = (
            candidate.kind.final(self, candidate, penalty),
            self.settings.clock.left() - before,
        )
        in_time = self.seconds(candidate, final) <= left
        if in_time and (final.rank is None or np.isinf(left)):
            return final
        return candidate.kind.shortened(self, candidate, final, left)

    def whole(
        self, candidate: Candidate, penalty: float, rank: int | None, before: float = 0.0
    ) -> Recipe | None:
        """A final fit with at least ``rank`` centres, of all rows; None if there is no time."""
        plan = candidate.kind.final(self, candidate, penalty)
        if candidate.kind.reads_columns:
            plan = self.plan(candidate, penalty)  # few networks are enough
        if plan.rank is None:
            # a stop ends it if it is late, so it may begin with less care than others
            hoped = HOPE * self.seconds(candidate, plan)
            return plan if hoped <= self.settings.clock.left() - before else None
        plan = self.plan(candidate, penalty, before)
        return plan if (plan.rank or 0) >= (rank or self.affordable(RANKS[0])) else None

    def exact(self, n: int) -> bool:
        """Whether ridge on n rows can be exact, by one Cholesky factor."""
        given = self.settings
        few = n <= given.sizes.exact_rows and 16 * n * n <= given.memory / 2
        return few and not given.objects

    def local(self, n: int) -> bool:
        """Whether ridge on n rows should be tried with leaves, inside which it is exact."""
        given = self.settings
        suits = n > given.sizes.leaves[0] and self.costs.outputs <= MOST_OUTPUTS
        return suits and not given.objects and not self.exact(n)

    def wanted(self, candidate: Candidate, penalty: float) -> float:
        """Seconds of the best final fit that the memory allows, with care."""
        return self.seconds(candidate, candidate.kind.final(self, candidate, penalty))

    def affordable(self, rank: int) -> int:
        """Centres of a final fit: ``rank``, or as many as the memory allows."""
        return int(min(rank, np.sqrt(self.settings.memory / SQUARES)))

    def leaf(self, rows: int) -> int:
        """Most rows of a leaf: ``rows``, or as many as the memory allows."""
        return min(rows, affordable_leaf(self.settings.place, 8))

    def entry(self, candidate: Candidate) -> float:
        """Seconds of one value of a candidate's kernel."""
        key = candidate.family, candidate.text, candidate.columns
        if key not in self.entries:
            self.entries[key] = entry_seconds(*self._on_some(candidate))
        return self.entries[key]

    def row(self, candidate: Candidate) -> Row:
        """What the features of a row take that a candidate's machine reads."""
        key = candidate.family, candidate.text
        if key not in self.rows:
            self.rows[key] = row_features(*self._on_some(candidate))
        return self.rows[key]

    def network_seconds(self, candidate: Candidate, rows: int, members: int = 1) -> float:
        """Seconds of a learnt neighbourhood, of which a step is measured."""
        source = candidate.kernel(self.settings.features)
        learner, (each, before) = self._network(candidate)
        learner.set_params(n_members=members)
        steps = learner.planned_steps(rows, len({f.source for f in source.features}))
        return steps * each + members * before * rows / MEASURED_STEPS_ROWS

    def steps(self, candidate: Candidate, seconds: float) -> tuple[int, float]:
        """Steps of each network in a fit to all rows that takes at most so many seconds, and the
        seconds that they take; 0 steps if there is no time for a network that tells anything."""
        n, source = len(self.settings.M), candidate.kernel(self.settings.features)
        learner, (each, before) = self._network(candidate)
        columns = len({f.source for f in source.features})
        full, planned = learner.planned_steps(n, 1), learner.planned_steps(n, columns)
        least = planned / full * each * LEAST_STEPS
        other = before * n / MEASURED_STEPS_ROWS
        if not least + other <= seconds:
            return 0, 0.0
        part = min(1.0, (seconds - other) / (planned * each))
        return int(part * full), part * planned * each + other

    def _network(self, candidate: Candidate) -> tuple[Any, tuple[float, float]]:
        """A neighbourhood of one network, and the seconds of its steps and of all else."""
        source = candidate.kernel(self.settings.features)
        learner = NeighbourhoodMachineRegressor(
            n_jobs=self.settings.n_jobs, random_state=0, **source.settings
        )
        if self.step is None:
            self.step = self._measured_step(learner, source)
            self.costs.observe(candidate.machine, 1.0, 1.0)  # no other steps tell of its time
        return learner, self.step

    def measure_again(self) -> None:
        """Forget how long a step of a network takes: a busy process may have slowed it down."""
        self.step = None

    def _measured_step(self, learner: Any, source: Any) -> tuple[float, float]:
        """Seconds of a step of a network on some rows, and of all else in a fit to them."""
        some, took = slice(0, MEASURED_STEPS_ROWS), []
        data = source.encode(self.settings.M[some]), self.settings.Y[some]
        for steps in MEASURED_STEPS:
            few: Any = clone(learner)
            few.set_params(steps=steps, n_members=1, prune=False)
            took.append(least_seconds(lambda few=few: few.fit(*data)))
        few, more = MEASURED_STEPS
        each = max((took[1] - took[0]) / (more - few), LEAST_PART * took[1] / more)
        return each, max(0.0, took[0] - few * each)

    def _on_some(self, candidate: Candidate) -> tuple:
        M = self.settings.M
        some = M[np.arange(0, len(M), max(1, len(M) // MEASURED))]
        return candidate.bound(self.settings.features, some)

    def seconds(self, candidate: Candidate, plan: Recipe) -> float:
        """Seconds that a final fit will take, with care."""
        predicted = candidate.kind.final_seconds(self, candidate, plan)
        return self.costs.expected(candidate.machine, predicted)
