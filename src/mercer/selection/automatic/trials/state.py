"""What a search knows so far: what its steps took and will take, what was learnt and tried."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Self

import numpy as np

from mercer.kernels import TableKernel
from mercer.machines import HeldPredictions, Machine, Metric, Rung, SearchSettings, Weighed
from mercer.machines.candidates import (
    Candidate,
    LearntKernel,
    Recipe,
    RungFits,
    Tried,
    simple_candidates,
)
from mercer.selection.automatic.trials.costs import Costs, Finals
from mercer.selection.automatic.trials.rungs import Rungs
from mercer.spoken import spoken
from mercer.tables import Related, column_bytes


class Leaderboard:
    """The trials that count: see ``leaderboard_`` of `KernelClassifier`.

    With ``kernels`` no simple model can win.
    """

    def __init__(self, metric: Metric, kernels: bool = False):
        self.metric, self.kernels = metric, kernels
        self.rows: list[Tried] = []

    def enter(self, row: Tried) -> None:
        """Add a trial; it replaces the candidate's one of an earlier rung."""
        self.rows = [r for r in self.rows if r.name != row.name] + [row]

    def named(self, name: str) -> Tried | None:
        """The trial of a candidate; None if there was none."""
        return next((r for r in self.rows if r.name == name), None)

    def table(self, known: bool = False) -> list[dict]:
        """A dict for each trial, with its rank; only those with a score if they are ``known``."""
        rows = [r for r in self.rows if not (known and np.isnan(r.score))]
        return [r.row | {"rank": place} for place, r in enumerate(rows, 1)]

    def ranked(self, rows: int) -> list[Tried]:
        """The candidates that may win, of those tried on so many rows, the best one first."""
        found = [r for r in self.able() if r.rows == rows]
        best = self.settled(found)
        rest = sorted((r for r in found if r is not best), key=self.key, reverse=True)
        return [best, *rest]

    def winner(self) -> Tried:
        """The best candidate of the last rung."""
        return self.ranked(max(r.rows for r in self.able()))[0]

    def able(self) -> list[Tried]:
        """The trials of what may win."""
        return [r for r in self.rows if not (self.kernels and r.baseline)]

    def settled(self, rows: list[Tried]) -> Tried:
        """The best of some trials.

        Metrics that count correct rows are not exact: among the rows within one standard error of
        the best score, the one with the smallest loss wins.
        """
        best = max(rows, key=self.key)
        top, slack = best.score, 0.0
        if self.metric.counts_hits and 0 < top < 1:
            slack = float(np.sqrt(top * (1 - top) / best.rows))
        near = [r for r in rows if r.score >= top - slack] or [best]
        return min(near, key=lambda r: r.loss) if self.metric.counts_hits else best

    def key(self, row: Tried) -> tuple:
        """Sort key: first more rows (a later rung), then the score, then the loss."""
        score = -np.inf if np.isnan(row.score) else self.metric.sign() * row.score
        return row.rows, score, -row.loss

    def close(self, kept: Tried | None = None) -> str | None:
        """Put the trials in their order; a sentence where the one that is kept is not the first."""
        winner = kept or self.winner()
        self.rows.sort(key=self.key, reverse=True)
        first = self.able()[0]
        if first is winner:
            return None
        return (
            f"The winner is {winner.name!r}: its {self.metric.name} is within one standard "
            "error of the best, and its probabilities are better (loss "
            f"{spoken(winner.loss)}, and {spoken(first.loss)} of {first.name!r})."
        )

    def simple(self, kept: Tried) -> str | None:
        """A sentence where the model that is kept is a simple one."""
        others = [r for r in self.rows if not r.baseline and r.rows == kept.rows]
        if not kept.baseline or not others:
            return None
        best = max(others, key=self.key)
        return (
            f"The model that is kept is {kept.name!r}, a simple one: on rows left out of the "
            f"fits its {self.metric.name} is {spoken(kept.score, 4)}, and that of the best "
            f"kernel machine, {best.name!r}, {spoken(best.score, 4)}."
        )


FIRST_RUNG_SHARE = 0.35  # least part of the time of a search in which weights may be learnt


class LearntKernels:
    """The kernels that a search has learnt; each is learnt once."""

    def __init__(self, settings: SearchSettings):
        self.settings = settings
        self.steps: dict[Candidate, int] = {}  # those that an earlier search has learnt kernels in
        self._found: dict[tuple, LearntKernel] = {}

    def known(self, candidate: Candidate) -> bool:
        """Whether the kernel of a candidate was learnt, for all folds or for some."""
        return any(key == candidate.alike for key, _ in self._found)

    def of(self, candidate: Candidate, fold: int | None = None) -> LearntKernel:
        """What was learnt for a fold, or for all; the kernel is None if nothing was."""
        return self._found.get((candidate.alike, fold), LearntKernel(None, 0, 0))

    def kept(self, candidate: Candidate) -> int | None:
        """The median of the steps that its kernels for the folds have kept; None without them."""
        found = sorted(
            learnt.kept
            for (alike, fold), learnt in self._found.items()
            if alike == candidate.alike and fold is not None
        )
        return found[(len(found) - 1) // 2] if found else None

    def learn(
        self, candidate: Candidate, rows: np.ndarray, steps: int | None, fold: int | None = None
    ) -> TableKernel:
        """Learn from some rows, at most ``steps`` steps; None goes on until the time is over."""
        key, given = (candidate.alike, fold), self.settings
        learning = candidate.kernels.learning
        if key in self._found:
            return self._found[key].kernel

        def enough(step: int, error: float) -> bool:
            if steps is not None:
                return step + 1 >= steps
            return given.clock.spent() > FIRST_RUNG_SHARE * given.clock.limit

        self._found[key] = learning.learn(candidate.alike, given, rows, None, enough)
        return self._found[key].kernel


@dataclass(frozen=True)
class EarlierTrials:
    """The trials of an earlier search, and their rows of the leaderboard."""

    searched: str  # the `fingerprint` of that search
    #: the attributes of the estimator
    schedule: list[dict]
    leaderboard: list[dict]

    @classmethod
    def of(cls, model: Any) -> Self:
        """The state of a fitted automatic estimator; ValueError if there was no search."""
        searched = getattr(model, "searched_", None)
        if searched is None:
            raise ValueError(
                f"resume={type(model).__name__}: give a KernelClassifier or KernelRegressor that "
                "was fitted, or interrupted after its first trial."
            )
        return cls(searched, model.schedule_, model.leaderboard_)

    def checked(self, searched: str) -> Self:
        """The same, if that search was made on what this one is made on; else ValueError."""
        if searched != self.searched:
            raise ValueError(
                "resume= was fitted to other rows, targets or weights, or with another metric, "
                "seed or kind of columns, so that its scores do not hold here: search anew, "
                "without it."
            )
        return self

    def trials(self) -> list[Tried]:
        """Those of the schedule in their order; without a score if the leaderboard has none.

        A candidate that was tried on two rungs has one row, that of the last.
        """
        entries = [entry for entry in self.schedule if not entry.get("final")]
        rows = {(row["name"], row["rows"]): row for row in self.leaderboard}
        found = []
        for place, entry in reversed(list(enumerate(entries))):
            row = rows.pop((Candidate.of(entry).name, entry["rows"]), None)
            found.append(Tried.of(entry, place, row))
        return found[::-1]

    def baselines(self, simple: list[Candidate]) -> dict[str, Tried]:
        """Name -> trial of each of the simple models that were tried."""
        rows = {row["name"]: row for row in self.leaderboard if row["baseline"]}
        how = {"rank": None, "steps": []}
        return {
            c.name: Tried.of(c.entry | rows[c.name] | how, -1, rows[c.name])
            for c in simple if c.name in rows
        }  # fmt: skip


def fingerprint(
    table: dict[Any, np.ndarray],
    y: np.ndarray,
    weights: np.ndarray | None,
    related: Related | None,
    *settings: object,
) -> str:
    """A text that differs if anything differs that the scores of a search depend on.

    ``settings`` are what else the scores depend on, with a repr that tells it.
    """
    found = blake2b(repr(settings).encode(), digest_size=16)
    groups, times = (None, None) if related is None else (related.groups, related.times)
    for name, values in {**table, "y": y, "w": weights, "groups": groups, "times": times}.items():
        found.update(f"\n{name}\n".encode())
        if values is None:
            continue
        found.update(column_bytes(values))
    return found.hexdigest()


class SearchState:
    """The parts of one search that change while it runs, beside its settings."""

    def __init__(self, settings: SearchSettings):
        self.settings = settings
        self.costs = Costs(settings.task.pairs, settings.Y.shape[1], settings.speed)
        self.finals = Finals(settings, self.costs)
        self.rungs = Rungs(settings, self.finals)
        self.learnt = LearntKernels(settings)
        self.held = HeldPredictions(settings)
        self.simple = simple_candidates(  # they are tried first
            settings.features, settings.several, settings.trend
        )
        if settings.little_memory and settings.objects:
            self.simple = self.simple[:1]
        self.board = Leaderboard(settings.metric, settings.only == "kernels")
        self.schedule: list[Tried] = []  # in the order in which they were tried
        self.notices: list[str] = []
        #: name -> a machine whose trial was its final fit, and the rows that it has stored
        self.fitted: dict[str, tuple[Machine, np.ndarray]] = {}
        self.decision_weights: dict[str, np.ndarray] = {}  # name -> factors of the probabilities
        self.mean: Weighed | None = None  # that is better than the winner
        self.known_baselines: dict[str, Tried] = {}  # name -> that of an earlier search
        self.interrupted = False  # whether Ctrl-C ended the search


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
        trial = RungFits(rows, folds, train, rank, each, self.rungs.large(rows))
        return learning + candidate.kind.trial_seconds(self.finals, candidate, trial)

    def _learning(self, candidate: Candidate, rows: int) -> float:
        """Seconds in which a kernel is learnt once."""
        count = min(self.rungs.count_learning(candidate), self.rungs.learning_rows)
        return candidate.kernels.learning.seconds(self.finals, candidate, rows, count)

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
            if not (c.kind.holds_rows_out and self.rungs.large(rung[0]))
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
