"""How long the trials of a search will take, and the time kept for the final fit.

`Trials` (trials.py) begins a step only if the clock leaves room for it and for the final fit of the
best machine so far.
"""

from __future__ import annotations

from dataclasses import replace

from mercer.machines import Rung
from mercer.machines.candidates import LEARNING_STEPS, Candidate, Recipe, Trial
from mercer.selection.automatic.trials.state import FIRST_RUNG_SHARE, SearchState

PROMOTED = 3  # candidates for which the first rung leaves time in the second one
LEARNING = ", learning"  # in the names of kinds of trials
#: part of the time that is left for a network whose trial is its final fit, and by how much its
#: steps may take longer than predicted
NETWORK, SLOWER = 0.5, 1.3
RESERVE, MOST_RESERVED = 0.05, 0.3  # parts of the time that are kept for the final fit
FEWER_RESERVED = 0.12  # the same, where there is a machine that needs none and others may join it


class Forecast:
    """Predicted seconds of the trials of one search, and the seconds that are left."""

    def __init__(self, state: SearchState):
        self.state, self.clock = state, state.settings.clock
        self.finals, self.learnt, self.rungs = state.finals, state.learnt, state.rungs
        self.costs = state.costs

    def predicted(self, candidate: Candidate, rung: Rung) -> float:
        """Seconds of a trial on a machine with nothing beside it."""
        if self.rungs.fits_once(candidate):
            return self.finals.network_seconds(candidate, len(self.state.settings.M))
        rows, rank = rung
        folds, each = self.rungs.count_folds(rows), self.rungs.learns_each(candidate)
        train = rows * (folds - 1) // folds if folds > 1 else 3 * rows // 4
        learning = 0.0
        if candidate.learn and not self.learnt.known(candidate):
            learning = (folds if each else 1) * self._learning(candidate, rows)
        trial = Trial(rows, folds, train, rank, each, self.rungs.large(rows))
        return learning + candidate.kind.trial_seconds(self.finals, candidate, trial)

    def _learning(self, candidate: Candidate, rows: int) -> float:
        """Seconds in which a kernel is learnt once."""
        entry, count = self.finals.entry(candidate), self.rungs.count_learning(candidate)
        if candidate.family == "screened":
            return self.costs.screening(rows, len(self.state.settings.features))
        if candidate.family == "metric":
            count = min(count, self.rungs.learning_rows)
            return self.costs.metric(count, len(candidate.numbers(self.state.settings.features)))
        if candidate.family == "many":
            parts = len(candidate.kernel(self.state.settings.features).parts)
            return self.costs.alignment(count, entry, parts)
        return self.costs.interactions(count, entry, LEARNING_STEPS)

    def final_learning(self, candidate: Candidate) -> float:
        """Seconds, with care, in which a kernel is learnt again for the final fit."""
        if not self.rungs.learns_each(candidate):
            return 0.0
        seconds = self._learning(candidate, len(self.state.settings.M))
        return self.costs.expected(candidate.machine + LEARNING, seconds)

    def expected(self, candidate: Candidate, rung: Rung) -> float:
        """Seconds of a trial, with care; 0 without a limit."""
        if not self.clock.limited:
            return 0.0
        return self.costs.expected(self.kind(candidate), self.predicted(candidate, rung))

    def network(self, candidate: Candidate, reserve: float) -> Recipe:
        """How long a network is trained whose trial is its final fit: as its part of the time says.

        ``reserve`` are seconds that are kept for other fits; it has 0 steps if there is no time.
        """
        if not self.clock.limited:
            return Recipe(candidate.machine)
        left = self.clock.left()
        most = min(NETWORK * left, (left - reserve) / SLOWER)
        steps, seconds = self.finals.steps(candidate, most)
        return Recipe(candidate.machine, steps=steps, seconds=SLOWER * seconds)

    def kind(self, candidate: Candidate) -> str:
        """Trials of one kind are slower or faster than predicted in the same way."""
        learns = candidate.learn and not self.learnt.known(candidate)
        return candidate.machine + (LEARNING if learns else "")

    def first_share(self, order: list[Candidate], rung: Rung) -> float:
        """Part of the time for the first rung: what the second one is sure to leave."""
        if not self.clock.limited:
            return 1.0
        longest = max(
            self.expected(replace(c, learn=False), rung)
            for c in order
            if not self.rungs.fits_once(c)
        )
        left = 1 - PROMOTED * longest / self.clock.limit
        return max(FIRST_RUNG_SHARE, left)

    def reserve(self, best: Candidate | None, penalty: float) -> float:
        """Seconds that are kept for final fits of the best candidate so far and of a partner."""
        least = RESERVE * self.clock.limit
        if best is None or not self.clock.limited or self.rungs.fits_once(best):
            return least
        wanted = self.final_learning(best) + 2 * self.finals.wanted(best, penalty)
        most = MOST_RESERVED if not self.state.fitted else FEWER_RESERVED
        return max(least, min(wanted, most * self.clock.limit))
