"""The final fit to all rows: how exact it can be, in the time and the memory that are left."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram import Place, factor_rows
from mercer.learners.base import LEAF_ROWS, LIMITS, SQUARES
from mercer.learners.ridge import affordable_leaf
from mercer.selection.automatic.budget import Budget
from mercer.selection.automatic.candidates import Candidate
from mercer.selection.automatic.schedule.costs import Costs, entry_seconds
from mercer.tables import Feature

__all__ = ["EXACT_ROWS", "FEWEST_ROWS", "SMALLEST_RANK", "TRIED_LEAF", "Finals"]

EXACT_ROWS = 6_000  # with at most so many rows, ridge is exact if there is time
TEXT_RANK = 4000  # centres of ridge on texts or sets
RANKS = (4000, 3000, 2000, 1500, 1000, 700, 500)  # centres of ridge, by the time that is left
LEAVES = (LEAF_ROWS, 1000, 500)  # most rows of the leaves of a local machine, in the same way
TRIED_LEAF = 1000  # the same in the search, as good a judge in half of the time
MOST_OUTPUTS = 100  # targets of a local machine, each of which takes time in each leaf
SMALLEST_RANK = 300  # the same if almost no time is left
FEWEST_ROWS = 2000  # of a support vector machine or of windows if almost no time is left
WINDOW_ROWS = 20_000  # most rows of windows, each of which a prediction is compared with
HOPE = 0.5  # of the seconds that a fit is given with care, in which it may be done
MEASURED = 300  # rows on which the time of a kernel is measured


class Finals:
    """Plans final fits; the arguments are those of `Trials`.

    A plan is the last entry of a schedule, with

    - ``rank``: the centres of a low-rank machine, else None;
    - ``exact``: whether ridge has one Cholesky factor of all rows;
    - ``leaf_rows``: of a local machine the most rows of a leaf, else None;
    - ``penalty``: the C of a support vector machine, else None;
    - ``rows``: so many rows at random, if all would take too long, else None.

    `Trials` adds ``learning``, most rows from which a kernel is learnt for this fit, and
    ``metric_steps``, in which a metric is.
    """

    def __init__(self, features: list[Feature], M: Any, budget: Budget, memory: int, costs: Costs):
        self.features, self.M = features, M
        self.budget, self.memory, self.costs = budget, memory, costs
        self.entries: dict[tuple, float] = {}
        self.objects = any(feature.holds_objects for feature in features)

    def plan(self, candidate: Candidate, penalty: float, before: float = 0.0) -> dict:
        """The best final fit of a candidate that the memory and the time allow.

        It begins ``before`` seconds from now.
        """
        final, left = self._full(candidate, penalty), self.budget.left() - before
        wanted = self._seconds(candidate, final)
        if wanted <= left and (final["rank"] is None or np.isinf(left)):
            return final
        if candidate.machine == "local":
            sizes = [final | {"leaf_rows": self.leaf(size)} for size in LEAVES]
            return next((f for f in sizes if self._seconds(candidate, f) <= left), sizes[-1])
        if candidate.machine != "ridge":
            n = final["rows"] or len(self.M)
            rows = int(n * np.sqrt(max(0.0, left / wanted)))
            return final | {"rows": min(n, max(FEWEST_ROWS, rows))}
        for rank in RANKS:
            less = final | {"rank": self.affordable(rank), "exact": False}
            if self._seconds(candidate, less) <= left:
                return less
        return final | {"rank": self.affordable(SMALLEST_RANK), "exact": False}

    def whole(
        self, candidate: Candidate, penalty: float, rank: int | None, before: float = 0.0
    ) -> dict | None:
        """A final fit with at least ``rank`` centres, of all rows; None if there is no time."""
        plan = self._full(candidate, penalty)
        if plan["rank"] is None:
            # a stop ends it if it is late, so it may begin with less care than others
            hoped = HOPE * self._seconds(candidate, plan)
            return plan if hoped <= self.budget.left() - before else None
        plan = self.plan(candidate, penalty, before)
        return plan if plan["rank"] >= (rank or self.affordable(RANKS[0])) else None

    def exact(self, n: int) -> bool:
        """Whether ridge on n rows can be exact, by one Cholesky factor."""
        return n <= EXACT_ROWS and not self.objects and 16 * n * n <= self.memory / 2

    def local(self, n: int) -> bool:
        """Whether ridge on n rows should be tried with leaves, inside which it is exact."""
        few = self.costs.outputs <= MOST_OUTPUTS
        return n > LEAF_ROWS and few and not self.objects and not self.exact(n)

    def wanted(self, candidate: Candidate, penalty: float) -> float:
        """Seconds of the best final fit that the memory allows, with care."""
        return self._seconds(candidate, self._full(candidate, penalty))

    def affordable(self, rank: int) -> int:
        """Centres of a final fit: ``rank``, or as many as the memory allows."""
        return max(1, int(min(rank, np.sqrt(self.memory / SQUARES))))

    def leaf(self, rows: int) -> int:
        """Most rows of a leaf: ``rows``, or as many as the memory allows."""
        return min(rows, affordable_leaf(Place(self.memory), 8))

    def entry(self, candidate: Candidate) -> float:
        """Seconds of one value of a candidate's kernel."""
        key = candidate.family, candidate.text, candidate.columns
        if key not in self.entries:
            some = self.M[np.arange(0, len(self.M), max(1, len(self.M) // MEASURED))]
            self.entries[key] = entry_seconds(*candidate.bound(self.features, some))
        return self.entries[key]

    def _full(self, candidate: Candidate, penalty: float) -> dict:
        """The final fit without a limit of time: as exact as memory and reason allow."""
        final = {"final": True, "rank": None, "exact": False, "penalty": None, "rows": None}
        n, limits = len(self.M), LIMITS["leave one out"]
        if candidate.machine == "svc":
            return final | {"penalty": penalty}
        if candidate.machine == "window":
            return final | {"rows": WINDOW_ROWS if n > WINDOW_ROWS else None}
        if candidate.machine == "local":
            return final | {"leaf_rows": self.leaf(LEAF_ROWS)}
        if self.exact(n):
            return final | {"exact": True}  # one factor takes a tenth of the time of all eigenpairs
        if n <= limits.exact_rows:
            return final
        if self.objects:
            return final | {"rank": self.affordable(TEXT_RANK)}
        return final | {"rank": self.affordable(limits.rank)}

    def _seconds(self, candidate: Candidate, final: dict) -> float:
        """Seconds that a final fit will take, with care."""
        n, entry = len(self.M), self.entry(candidate)
        if candidate.machine == "svc":
            return self.costs.expected("svc", self.costs.margin(n, entry, known=True))
        if candidate.machine == "window":
            return self.costs.expected("window", self.costs.window(final["rows"] or n, entry))
        if candidate.machine == "local":
            seconds = self.costs.local(n, final["leaf_rows"], entry)
            return self.costs.expected("local", seconds)
        if final["rank"] is not None:
            kept = factor_rows(final["rank"], Place(self.memory), 4) >= n  # of float32
            seconds = Costs.low_rank(n, final["rank"], entry, kept)
        elif final["exact"]:
            seconds = Costs.exact(n, entry)
        else:
            seconds = Costs.eigenpairs(n, entry)
        return self.costs.expected("ridge", seconds)
