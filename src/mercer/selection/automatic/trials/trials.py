"""The search of the automatic estimators: score candidates on the same folds within a budget.

Large tables are searched in two rungs (successive halving): first all candidates on a few thousand
rows, then the best few on up to 20,000 rows. A learnt neighbourhood is fitted once, to all rows but
those that the last rung judges, early and in a part of the time, and its trial is its final fit. A
step begins only if the clock leaves room for it and for the final fit of the best machine so far.
``schedule`` records all steps and can be replayed without a clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from mercer.machines import Rung, SearchSettings, Weighed, decision_weights, mean_name
from mercer.machines.candidates import (
    Candidate,
    Planned,
    Recipe,
    Tried,
    candidates,
    machine_kinds,
    planned_fits,
)
from mercer.selection.automatic.trials.costs import HOPE
from mercer.selection.automatic.trials.rungs import FoldFits
from mercer.selection.automatic.trials.state import EarlierTrials, Forecast, SearchState
from mercer.threads import GRACE, Deadline

#: candidates without a better one, after which the search of a small table ends, and a second rung
PATIENCE, SECOND_PATIENCE = 8, 5
SIMPLE_SHARE = 0.3  # of the time that is left, for what the simple models take after the constant
FIRST_PART, FEWEST_TRIED = 0.5, 500  # of that time, and rows, of the first candidate
LAST_PART = 0.5  # of the time after a network, for the last rung
TURNS = 4  # of the rungs; the first rung of each gets half of the remaining time
MORE_EXACT = 4  # ridge machines of low rank that a turn tries again on the same rows, exactly
LATER = 3  # places by which a low rank is deferred, if its kernel is not smooth

T = TypeVar("T")


class Trials:
    """One search; ``state`` has its results so far."""

    def __init__(self, settings: SearchSettings):
        self.settings, self.state = settings, SearchState(settings)
        self.clock, self.metric = settings.clock, settings.metric
        self.forecast = Forecast(self.state)
        self.fits = FoldFits(self.state)
        self.room = ""  # a notice of how many candidates the time had room for
        self.perfect = False  # whether nothing can be better than a candidate of the last rung
        self.late: list[Candidate] = []  # what seemed to take too long on the first rung

    # --- the plan -----------------------------------------------------------------------------

    def remember(self, known: EarlierTrials) -> None:
        """Take over the trials of an earlier search of the same rows."""
        self.state.known_baselines = known.baselines(self.state.simple)
        for tried in known.trials():
            self.state.schedule.append(tried)
            if tried.learner:
                self.state.board.enter(tried)
            if tried.steps and not self.state.rungs.learns_each(tried.candidate):
                self.state.learnt.steps[tried.candidate.alike] = tried.steps[0]

    def run(self, trials: int | None = None) -> list[Planned]:
        """Try as many candidates as the budget allows, or the first ``trials``.

        Returns the winner and how it is fitted in the end, of a replay its partners too.
        """
        given = self.settings
        local = self.state.finals.local(len(given.M))
        large = self.state.rungs.large(len(given.y))
        order = [c for kind in machine_kinds() for c in kind.candidates(given)]
        order += candidates(given.features, given.task.name, given.Y.shape[1], local, large)
        order = [c for c in order if not (c.more and self.state.rungs.learns_each(c))]
        if given.little_memory:  # the counts of k-mers stand beside all rows of a machine
            order = [c for c in order if not c.kernels.of_objects or c.kind.low_rank]
        able = (c for c in order if c.kind.several or not given.several)
        order = [c for c in able if c.kind.fits(self.state.finals, c)]
        order = self._twice(order)[:trials]
        if order and not self.state.schedule:
            self._shorten(order[0])
        first, *rest = self.state.rungs.plan()
        self.last = rest[-1] if rest else first
        try:
            for simple in self.state.simple:
                self._try_simple(simple, first)
            share = self.forecast.first_share(order, rest[0]) if rest else 1.0
            small = len(self.settings.M) <= self.settings.sizes.small_rows
            # if the last rung leaves time, the next turn tries what the first rung had to leave out
            turns = list(dict.fromkeys(1 - (1 - share) / 2**turn for turn in range(TURNS)))
            # what seemed to take too long, beside a busy process, has another turn
            for part in turns if rest else [1.0, 1.0]:
                known = len(self.state.schedule)
                done = self._try_all(order, first, part, PATIENCE if small else len(order))
                if self.perfect:
                    break
                more = len(self.state.schedule) > known
                for rung in rest:
                    if more or rung[0] == first[0]:  # others wait to be exact
                        self._promote(first[0], rung, done)
                if len(self.state.schedule) == known or not (rest or self.room):
                    break
            if small:
                self._try_late(first)
            self._renew()
        except KeyboardInterrupt:
            if not self.state.schedule:
                raise
            self.state.interrupted, count = True, len(self.state.schedule)
            self.state.notices.append(
                f"Interrupted after {count} trials; the best candidate so far was kept."
            )
        return self._finish()

    def _twice(self, order: list[Candidate]) -> list[Candidate]:
        """Each candidate without the features that move with time, and then as it is.

        Of later rows these features have values that no row had before. A trend is learnt by them,
        but most kernels know nothing of new values.
        """
        moving = self.settings.moving
        if not moving:
            return order
        self.state.notices.append(
            f"Later rows have values of {', '.join(map(repr, moving))} that no earlier row has: "
            "machines are tried without these columns too."
        )
        pairs = [(replace(candidate, without=moving), candidate) for candidate in order]
        return [c for pair in pairs for c in pair if c.suits(self.settings.features)]

    def _shorten(self, candidate: Candidate) -> None:
        """Give the first rung as few rows as let its first candidate be tried in the time."""
        rungs, most = self.state.rungs, FIRST_PART * self.clock.left()
        while not rungs.fits_once(candidate) and rungs.plan()[0][0] > FEWEST_TRIED:
            if self.forecast.expected(candidate, rungs.plan()[0]) <= most:
                break
            rungs.most = rungs.plan()[0][0] // 2

    def _try_late(self, rung: Rung) -> None:
        """Try what seemed to take too long once more, where nothing else is left to try.

        Its time may have been measured beside a busy process, and a deadline keeps the time of the
        final fit. So it begins if there is a hope that it is done.
        """
        self.state.finals.measure_again()
        for candidate in self.late:
            needed = HOPE * self.forecast.expected(candidate, rung)
            if needed + self._reserve() <= self.clock.left():
                self.report(candidate.name, 0, len(self.late))
                self._try_in_time(candidate, rung)

    def _promote(self, rows: int, rung: Rung, done: int) -> None:
        """Try the best candidates of a rung of so many rows on the next one.

        A sum over columns and pairs takes nearly the same time on few rows as on many, and in all
        folds of the first rung several times as much: what was too late there is tried here.
        """
        promoted = self._promoted(rows)
        promoted[1:1] = [c for c in self.late if c.kind.slow_on_few and rows < rung[0]]
        if len(promoted) < 2:
            return  # there is nothing to choose from
        if rows == rung[0]:  # the same rows: ridge is exact now, the other machines were
            here = [t.candidate for t in self.state.schedule if (t.rows, t.rank) == rung]
            promoted = [c for c in promoted if c.kind.low_rank and c not in here]
            promoted = promoted[:MORE_EXACT]
        more = self._try_all(promoted, rung, 1.0, SECOND_PATIENCE, done)
        if more < len(promoted):  # the best one so far may need less time in the end
            self._try_all(promoted, rung, 1.0, SECOND_PATIENCE, done + more)

    def replay(self, schedule: list[dict]) -> list[Planned]:
        """Repeat the trials of a schedule, without a time limit; returns the same as `run`."""
        entries = [Tried.of(e, i) for i, e in enumerate(schedule) if not e.get("final")]
        first = (entries[0].rows, entries[0].rank) if entries else self.state.rungs.plan()[0]
        for simple in self.state.simple:
            self._try_simple(simple, first)
        for i, entry in enumerate(entries):
            self.report(entry.name, i, len(entries))
            self._try(entry.candidate, (entry.rows, entry.rank), list(entry.steps))
        final = next((entry for entry in schedule if entry.get("final")), None)
        return self._finish(final)

    def _renew(self) -> None:
        """Try a winner of an earlier search again: thresholds and means need its predictions."""
        state = self.state
        winner = state.board.winner()
        if state.held.of(winner.name, winner.rows) is None and state.known_baselines:
            again = self._judge if winner.place < 0 else self._try
            steps = winner.steps if state.rungs.fits_once(winner.candidate) else None
            again(winner.candidate, (winner.rows, winner.rank), steps)

    def _promoted(self, rows: int) -> list[Candidate]:
        """All candidates of a rung, those first that are likely to make the model.

        The best one, those whose mean with it is better, the best of each other family, the rest.
        Ridge machines of a table of many rows become local; the best one is tried as it is as well,
        at once if its kernel is smooth.
        """
        ranked = self.state.board.ranked(rows)
        order = [row.candidate for row in ranked]
        mean = self._weighed(ranked[0])
        partners = [] if mean is None else [row.candidate for row in mean.rows[1:]]
        first = {candidate.kin: candidate for candidate in reversed(order)}
        families = [candidate for candidate in order if candidate is first[candidate.kin]]
        # on more rows a kernel machine gains more than a simple model
        more = [candidate for candidate in [*families, *order] if not candidate.simple]
        found = list(dict.fromkeys([order[0], *partners, *more]))
        if not self.state.finals.local(len(self.settings.M)):
            return found
        # on the rows of the first rung local machines are the same as exact ones, but on many rows
        # they take no more time than those of low rank, and were better on most tables
        local = [replace(c, machine=c.kind.on_many_rows or c.machine) for c in found]
        ridge = [place for place, c in enumerate(found) if c.kind.on_many_rows]
        if ridge:
            best = found[ridge[0]]
            local.insert(ridge[0] + (1 if best.kernels.smooth else LATER), best)
        return local

    def _try_all(self, order, rung, share: float, patience: int, done: int = 0) -> int:
        """Try the candidates that there is time for; returns how many were tried."""
        tried, start = 0, len(self.state.schedule)
        skipped: list[Candidate] = []
        if not done:
            self.late = skipped
        before = {(t.candidate, t.rows, t.rank) for t in self.state.schedule}
        for i, candidate in enumerate(order):
            once = self.state.rungs.fits_once(candidate)
            here = self.last if once else rung
            if (candidate, *here) in before:
                tried += 1
                continue  # it is known from an earlier search
            if once:  # as many steps as there is time for
                late = self.forecast.network(candidate, self._reserve()).steps == 0
            else:
                expected = self.forecast.expected(candidate, rung)
                late = self.clock.spent() + expected > share * self.clock.limit
                late = late or self.clock.left() < expected + self._reserve()
            if late and (tried or done):
                skipped.append(candidate)
                continue  # another one may be cheaper
            self.report(candidate.name, done + i, done + len(order))
            row = self._try_in_time(candidate, here)
            if row is None:
                if once:  # another one may be cheaper
                    continue
                break
            tried += 1
            if once and self.clock.limited:  # others are to join it on the last rung
                share = min(share, 1 - LAST_PART * self.clock.left() / self.clock.limit)
            if abs(row.score - self.metric.best) < 1e-6 and i + 1 < len(order):
                self.room, self.perfect = "", here == self.last
                self.state.notices.append(
                    f"{candidate.name!r} makes no error in cross-validation, so no more candidates "
                    "were tried."
                )
                return tried
            since = row.place - max(self.state.board.winner().place, start)
            if since >= patience:
                if not done:
                    self.room = ""
                    self.state.notices.append(
                        f"None of the last {since} candidates was better, so no more were tried."
                    )
                return tried
        if not done:
            had = f"The time budget had room for {tried} of {len(order)} candidates"
            self.room = f"{had} on {rung[0]} rows." if tried < len(order) else ""
        return tried

    def _reserve(self) -> float:
        """Seconds that are kept for the final fit of the best machine so far."""
        fitted = self.state.fitted  # those need no time any more
        rows = [row for row in self.state.board.able() if row.name not in fitted]
        if not rows:
            return self.forecast.reserve(None, 0.0)
        best = self.state.board.ranked(max(row.rows for row in rows))[0]
        return self.forecast.reserve(best.candidate, best.penalty)

    # --- one trial ----------------------------------------------------------------------------

    def _try_in_time(self, candidate: Candidate, rung: Rung) -> Tried | None:
        """`_try`; None if it would not leave the time for the final fit of the best so far."""
        if not self.state.board.able():  # without it there would be no model
            return self._try(candidate, rung)
        kept = self._reserve()
        if not self.state.schedule:  # which nothing has timed: it has two seconds at least
            kept = min(kept, self.clock.limit - self.clock.spent() - GRACE)
        return self._within(candidate, kept, partial(self._try, candidate, rung))

    def _within(self, candidate: Candidate, kept: float, step: Callable[[], T]) -> T | None:
        """What a step returns; None if it would take the seconds that are kept for others."""
        if not self.clock.limited:
            return step()
        deadline = Deadline(self.clock, -kept)
        try:
            with deadline:
                return step()
        except KeyboardInterrupt:
            if not deadline.is_over():
                raise
        self.state.notices.append(f"{candidate.name!r} took too long to be tried within the time.")
        return None

    def _try(self, candidate: Candidate, rung: Rung, steps: list | None = None) -> Tried:
        """Score a candidate on a rung, and add it to the leaderboard and the schedule."""
        tried = self._judge(candidate, rung, steps, len(self.state.schedule))
        self.state.schedule.append(tried)
        return tried

    def _try_simple(self, candidate: Candidate, rung: Rung) -> None:
        """Score a simple model on the first rung, as every search does that has the time."""
        known = self.state.known_baselines.get(candidate.name)
        if known is not None:
            if self.state.board.named(known.name) is None:
                self.state.board.enter(known)
            return
        self.report(f"baseline: {candidate.name}", 0, 1)
        judged = partial(self._judge, candidate, rung)
        if candidate is self.state.simple[0]:  # the constant takes no time
            judged()
            return
        left = self.clock.left()
        kept = left - max(SIMPLE_SHARE * left, GRACE)
        self._within(candidate, kept, judged)

    def _judge(
        self, candidate: Candidate, rung: Rung, steps: list | None = None, place: int = -1
    ) -> Tried:
        """Score a candidate on a rung, and add it to the leaderboard."""
        began = self.clock.spent()
        kind, expected = self.forecast.kind(candidate), self.forecast.predicted(candidate, rung)
        if self.state.rungs.fits_once(candidate):
            known = Recipe(candidate.machine, steps=steps[0]) if steps else None
            network = known or self.forecast.network(candidate, self._reserve())
            if network.steps == 0:  # its time went after it was chosen
                network = replace(network, steps=1, seconds=None)
            found = self.fits.once(candidate, network)
        else:
            penalty = self._penalty_before(candidate, rung[0])
            found = self.fits.judge(candidate, rung, steps, penalty)
        # the steps of a fitted one were as many as there was time for
        if candidate.name not in self.state.fitted:
            self.state.costs.observe(kind, expected, self.clock.spent() - began)
        row = replace(
            self._row(candidate.name, *self.state.rungs.folds(rung[0]), found.predicted, began),
            candidate=candidate, rank=rung[1], steps=found.steps, place=place,
            learner=candidate.kind.words, penalty=found.penalty, baseline=candidate.simple,
            kernel=None if candidate.simple else repr(found.kernel),
        )  # fmt: skip
        self.state.board.enter(row)
        self.state.held.keep(row, found.predicted)
        return row

    def _penalty_before(self, candidate: Candidate, rows: int) -> float | None:
        """What an earlier rung chose, for a machine that would take long to choose it again."""
        if not candidate.kind.keeps_penalty or not self.state.rungs.large(rows):
            return None
        known = self.state.board.named(candidate.name)
        return known.penalty if known else None

    # --- scores -------------------------------------------------------------------------------

    def _row(self, name, rows, folds, predicted, began) -> Tried:
        """The score of all rows in folds, and its spread over folds."""
        given, task = self.settings, self.settings.task
        y, w, classes = given.y[rows], given.weights_of(rows), task.classes
        judged = folds >= 0
        decided = predicted
        if classes is not None:
            known = None if w is None else w[judged]
            factors = decision_weights(self.metric, y[judged], predicted[judged], classes, known)
            self.state.decision_weights[name] = factors
            decided = self.metric.decided(predicted, factors)

        def score(own: np.ndarray) -> float:
            return self.metric(y[own], decided[own], classes, None if w is None else w[own])

        each = np.array([score(folds == f) for f in range(folds.max() + 1)])
        known = each[~np.isnan(each)]
        v = None if w is None else w[judged]
        return Tried(
            None, name, len(rows), score=score(judged),
            scores=self.metric.each(y[judged], decided[judged], v) if given.several else [],
            spread=float(known.std()) if len(known) > 1 else None,
            loss=task.loss(y[judged], predicted[judged], v),
            seconds=self.clock.spent() - began,
        )  # fmt: skip

    def _finish(self, final: dict | None = None) -> list[Planned]:
        """Rank the leaderboard; returns the winner with its final fit, of a replay all partners."""
        winner = self._winner(final)
        candidate = winner.candidate
        kept = self._try_means(winner)
        if final is not None and "mean" not in final:  # there may have been no time for one
            self.state.mean = None
        weight = None if self.state.mean is None else self.state.mean.weights[0]
        if candidate.learn and not self.state.rungs.learns_each(candidate):
            self.fits.shared_kernel(candidate)  # that of an earlier search is learnt again
        if final is not None:
            planned = planned_fits(final, candidate)
        elif winner.name in self.state.fitted:
            planned = [(candidate, self._fitted_once(candidate, weight))]
        else:
            before = self.forecast.final_learning(candidate)
            plan = self.state.finals.plan(candidate, winner.penalty, before)
            planned = [(candidate, self._final_learning(candidate, plan, weight))]
        notices = self.room, self.state.board.close(kept), self.state.board.simple(kept)
        self.state.notices += [notice for notice in notices if notice]
        return planned

    def _winner(self, final: dict | None) -> Tried:
        """The trial of the best candidate, or of the one that a final fit is of."""
        wanted = "" if final is None else final.get("winner", "")
        return self.state.board.named(wanted) or self.state.board.winner()

    def _try_means(self, winner: Tried) -> Tried:
        """Weigh a mean of the winner and others, which is kept if it is better out of fold.

        Returns the trial of the mean, or of the winner without one.
        """
        began, (rows, folds) = self.clock.spent(), self.state.rungs.folds(winner.rows)
        mean = self._weighed(winner)
        if mean is None:
            return winner
        row = self._row(mean.name, rows, folds, mean.predicted, began)
        if self.state.board.settled([winner, row]) is not row:
            return winner  # a smaller loss alone is not asked for
        row = _of_members(row, mean.rows)
        self.state.board.enter(row)
        self.state.mean = mean
        return row

    def _weighed(self, winner: Tried) -> Weighed | None:
        """The mean of `HeldPredictions.weigh`, if its loss is 1% smaller than the winner's."""
        rows, parts = self.state.rungs.folds(winner.rows)
        if parts.max() == 0:  # the rows of the one fold choose for each other
            parts = self.state.rungs.divided(rows, parts)
        y, weights = self.settings.y[rows], self.settings.weights_of(rows)
        mean, judged = self.state.held.weigh(winner, y, parts, weights), parts >= 0
        if mean is None:
            return None
        w = None if weights is None else weights[judged]
        loss = self.settings.task.loss(y[judged], mean.predicted[judged], w)
        return mean if loss < (1 - self.settings.sizes.gain) * winner.loss else None

    def left_out(
        self, members: list[Candidate], weights: list[float]
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Rows, and what the mean of some candidates predicts for each by fits without it.

        None where these predictions were not kept.
        """
        tried = self.state.board.named(members[0].name)
        if tried is None:
            return None
        found = [self.state.held.of(each.name, tried.rows) for each in members]
        known = [predicted for predicted in found if predicted is not None]
        if len(known) < len(members):
            return None
        rows, folds = self.state.rungs.folds(tried.rows)
        mean = self.state.mean
        if mean is not None and members == [row.candidate for row in mean.rows]:
            predicted = mean.predicted
        else:
            predicted = self.settings.task.mean(known, weights)
        return rows[folds >= 0], predicted[folds >= 0]

    def keep_fewer(self, members: list[Candidate], weights: list[float]) -> None:
        """Put the mean of fewer machines in the place of the mean that there was no time for."""
        board, whole = self.state.board, self.state.mean
        name = mean_name([each.name for each in members])
        left_out = self.left_out(members, weights)
        if whole is None or left_out is None or name == whole.name:
            return
        unkept: Any = board.named(whole.name)
        board.rows.remove(unkept)
        own: list[Any] = [board.named(each.name) for each in members]
        kept = own[0]
        if len(members) > 1:
            rows, folds = self.state.rungs.folds(kept.rows)
            predicted = np.full((len(rows), *left_out[1].shape[1:]), np.nan)
            predicted[folds >= 0] = left_out[1]
            kept = _of_members(self._row(name, rows, folds, predicted, self.clock.spent()), own)
            kept = replace(kept, seconds=unkept.seconds)
            board.enter(kept)
        board.close(kept)

    def plan_partner(self, number: int) -> Planned | None:
        """A partner and its final fit; None if there is no time for it."""
        mean: Any = self.state.mean
        candidate, weight = mean.rows[number].candidate, mean.weights[number]
        if candidate.name in self.state.fitted:
            return candidate, self._fitted_once(candidate, weight)
        before, penalty = self.forecast.final_learning(candidate), mean.rows[number].penalty
        rank = self.state.schedule[-1].rank
        plan = self.state.finals.whole(candidate, penalty, rank, before)
        return plan and (candidate, self._final_learning(candidate, plan, weight))

    def _fitted_once(self, candidate: Candidate, weight: float | None) -> Recipe:
        """The final fit of a machine whose trial was that."""
        tried = [each for each in self.state.schedule if each.candidate == candidate]
        return Recipe(candidate.machine, steps=tried[-1].steps[0], weight=weight, how="once")

    def _final_learning(self, candidate: Candidate, plan: Recipe, weight: float | None) -> Recipe:
        """How the kernel of a final fit is learnt: as those that were judged, if it is again."""
        maps = candidate.kernels.learning.maps
        steps = self.state.learnt.kept(candidate) if maps else None
        count = self.state.rungs.count_learning(candidate)
        return replace(plan, learning=count, metric_steps=steps, weight=weight)

    def report(self, name: str, done: int, of: int) -> None:
        """Tell ``progress`` what is tried now, and how much is done."""
        if self.settings.progress is not None:
            known = self.state.board.table(known=True)
            told = {"trial": name, "done": done, "of": of, "leaderboard": known}
            self.settings.progress(told)


def _of_members(mean: Tried, members: list[Tried]) -> Tried:
    """The trial of a mean, with what it has of its machines, the best one first."""
    learner, kernel = ("; ".join(filter(None, each)) for each in
                       zip(*((m.learner, m.kernel) for m in members)))  # fmt: skip
    return replace(mean, learner=learner, kernel=kernel, penalty=members[0].penalty)
