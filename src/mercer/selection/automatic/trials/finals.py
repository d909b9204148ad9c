"""The final fit to all rows: how exact it can be, in the time and the memory that are left."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.gram import factor_rows
from mercer.learners.base import LIMITS, SQUARES
from mercer.learners.neighbourhoods import NeighbourhoodMachineRegressor
from mercer.learners.ridge import affordable_leaf
from mercer.selection.automatic.candidates import Candidate
from mercer.selection.automatic.settings import SearchSettings, least_seconds
from mercer.selection.automatic.trials.costs import Costs, Row, entry_seconds, row_features

TEXT_RANK = 4000  # centres of ridge on texts or sets
RANKS = (4000, 3000, 2000, 1500, 1000, 700, 500)  # centres of ridge, by the time that is left
FEW_ROWS = 1000  # of which a fit with centres takes no less time than one of all rows
TRIED_LEAF = 1000  # most rows of a leaf in the search, as good a judge in half of the time
MOST_OUTPUTS = 100  # targets of a local machine, each of which takes time in each leaf
MEMBERS = 3  # networks of a learnt neighbourhood; with more the mean is hardly better
SHAPES = 2**26  # least bytes of memory for an additive model
MEASURED_STEPS, MEASURED_STEPS_ROWS = (20, 60), 1500  # on which the time of its steps is measured
LEAST_STEPS = 200  # of a network that tells anything
LEAST_PART = 0.2  # of the time of a fit that its steps take
WINDOW_ROWS = 20_000  # most rows of windows, each of which a prediction is compared with
HOPE = 0.5  # of the seconds that a fit is given with care, in which it may be done
FEATURE = 60  # bytes of a value of sparse features, and of what is made of them
MEASURED = 300  # rows on which the time of a kernel is measured


class Finals:
    """Plans final fits.

    A plan is the last entry of a schedule, with

    - ``rank``: the centres of a low-rank machine, else None;
    - ``exact``: whether ridge has one Cholesky factor of all rows;
    - ``leaf_rows``: of a local machine the most rows of a leaf, else None;
    - ``penalty``: the C of a support vector machine, else None;
    - ``members``: networks of a learnt neighbourhood;
    - ``once``: whether its trial was its final fit already, in so many ``steps``;
    - ``rows``: so many rows at random, if all would take too long, else None.

    `Trials` adds ``learning``, most rows from which a kernel is learnt for this fit, and
    ``metric_steps``, in which a metric is.
    """

    def __init__(self, settings: SearchSettings, costs: Costs):
        self.settings, self.costs = settings, costs
        self.entries: dict[tuple, float] = {}
        self.rows: dict[tuple, Row] = {}
        #: seconds of a step of a learnt neighbourhood, and of all else in a fit
        self.step: tuple[float, float] | None = None

    def plan(self, candidate: Candidate, penalty: float, before: float = 0.0) -> dict:
        """The best final fit of a candidate that the memory and the time allow.

        It begins ``before`` seconds from now.
        """
        final, left = self._full(candidate, penalty), self.settings.clock.left() - before
        wanted = self._seconds(candidate, final)
        if wanted <= left and (final["rank"] is None or np.isinf(left)):
            return final
        if candidate.machine == "local":
            sizes = [final | {"leaf_rows": self.leaf(size)} for size in self.settings.sizes.leaves]
            return next((f for f in sizes if self._seconds(candidate, f) <= left), sizes[-1])
        if candidate.reads_columns:
            for members in range(final["members"] - 1, 0, -1):
                final |= {"members": members}
                if (wanted := self._seconds(candidate, final)) <= left:
                    return final
        if candidate.machine != "ridge":
            n = final["rows"] or len(self.settings.M)
            rows = int(n * np.sqrt(max(0.0, left / wanted)))
            return final | {"rows": min(n, max(self.settings.sizes.fewest_rows, rows))}
        if len(self.settings.M) <= FEW_ROWS:
            return final
        for rank in RANKS:
            less = final | {"rank": self.affordable(rank), "exact": False}
            if self._seconds(candidate, less) <= left:
                return less
        return final | {"rank": self.affordable(self.settings.sizes.smallest_rank), "exact": False}

    def whole(
        self, candidate: Candidate, penalty: float, rank: int | None, before: float = 0.0
    ) -> dict | None:
        """A final fit with at least ``rank`` centres, of all rows; None if there is no time."""
        how = self.plan if candidate.reads_columns else self._full  # few networks are enough
        plan = how(candidate, penalty)
        if plan["rank"] is None:
            # a stop ends it if it is late, so it may begin with less care than others
            hoped = HOPE * self._seconds(candidate, plan)
            return plan if hoped <= self.settings.clock.left() - before else None
        plan = self.plan(candidate, penalty, before)
        return plan if plan["rank"] >= (rank or self.affordable(RANKS[0])) else None

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
        return self._seconds(candidate, self._full(candidate, penalty))

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

    def simple(self, candidate: Candidate, rows: int) -> float:
        """Seconds of a simple model; of texts and sets it has many features."""
        if self.settings.objects and candidate.machine == "linear":
            row = self.row(candidate)
            return rows * row.seconds + self.costs.simple(rows, row.values)
        return self.costs.simple(rows, len(self.settings.features))

    def holds(self, candidate: Candidate) -> bool:
        """Whether the memory holds what a machine that reads columns needs beside them."""
        given, source = self.settings, candidate.kernel(self.settings.features)
        if candidate.machine == "shapes":
            return given.memory >= SHAPES
        levels = [given.M.objects[j].known[0] for j in source.columns if j in given.M.objects]
        sizes = len(source.columns) - len(levels), sum(levels), given.Y.shape[1]
        learner = NeighbourhoodMachineRegressor(n_jobs=given.n_jobs)
        return given.place.holds(learner.training_bytes(len(given.M), *sizes))

    def learning(self, candidate: Candidate, rows: int, members: int = 1) -> float:
        """Seconds of a machine that reads columns; a step of a network is measured."""
        source = candidate.kernel(self.settings.features)
        if candidate.machine == "shapes":
            return self.costs.additive(rows, len(source.columns))
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

    def _full(self, candidate: Candidate, penalty: float) -> dict:
        """The final fit without a limit of time: as exact as memory and reason allow."""
        final = {"final": True, "rank": None, "exact": False, "penalty": None, "rows": None}
        n, limits = len(self.settings.M), LIMITS["leave one out"]
        if candidate.machine == "svc":
            return final | {"penalty": penalty}
        if candidate.machine == "window":
            return final | {"rows": WINDOW_ROWS if n > WINDOW_ROWS else None}
        if candidate.reads_features:
            most = int(self.settings.memory / (FEATURE * self.row(candidate).values))
            return final | {"rows": max(1, most) if n > most else None}
        if candidate.simple:
            return final
        if candidate.reads_columns:
            return final | {"members": MEMBERS if candidate.machine == "neighbourhood" else 1}
        if candidate.machine == "local":
            return final | {"leaf_rows": self.leaf(self.settings.sizes.leaves[0])}
        if self.exact(n):
            return final | {"exact": True}  # one factor takes a tenth of the time of all eigenpairs
        if n <= limits.exact_rows:
            return final
        if self.settings.objects:
            return final | {"rank": self.affordable(TEXT_RANK)}
        return final | {"rank": self.affordable(limits.rank)}

    def _seconds(self, candidate: Candidate, final: dict) -> float:
        """Seconds that a final fit will take, with care."""
        n = len(self.settings.M)
        rows, machine = final["rows"] or n, candidate.machine
        if candidate.simple:
            seconds = self.simple(candidate, n)
        elif candidate.reads_columns:
            seconds = self.learning(candidate, rows, final["members"])
        elif candidate.reads_features:
            seconds = self.costs.sparse(machine, rows, self.row(candidate))
        elif machine == "svc":
            seconds = self.costs.margin(n, self.entry(candidate), known=True)
        elif machine == "window":
            seconds = self.costs.window(rows, self.entry(candidate))
        elif machine == "local":
            seconds = self.costs.local(n, final["leaf_rows"], self.entry(candidate))
        elif final["rank"] is not None:
            kept = factor_rows(final["rank"], self.settings.place, 4) >= n  # of float32
            seconds = self.costs.low_rank(n, final["rank"], self.entry(candidate), kept)
        else:
            how = self.costs.exact if final["exact"] else self.costs.eigenpairs
            seconds = how(n, self.entry(candidate))
        return self.costs.expected(machine, seconds)
