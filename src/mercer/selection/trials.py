"""The search of the automatic estimators: score candidates on the same folds within a budget.

Large tables are searched in two rungs (successive halving): first all candidates on a few thousand
rows, then the best few on up to 20,000 rows. One pass over a low-rank factor of the kernel matrix
gives the held-out predictions of all folds of a ridge machine; a support vector machine is fitted
for each fold. Column weights are learnt on rows that are not used for scores; a small table has no
such rows, so its weights are learnt again for each fold. A step begins only if the clock leaves
room for it and for the final fit of the best machine so far. ``schedule`` records all steps and can
be replayed without a clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from mercer.gram import gram
from mercer.kernels import Precomputed, TableKernel
from mercer.learners.ridge_penalty import PENALTIES, affordable
from mercer.selection.baselines import BASELINES, fit_baseline
from mercer.selection.budget import Budget
from mercer.selection.candidates import Candidate, candidates
from mercer.selection.costs import Costs
from mercer.selection.encoding import Feature
from mercer.selection.finals import EXACT_ROWS, Finals
from mercer.selection.leaderboard import Leaderboard
from mercer.selection.learning import (
    LEARNING_ROWS,
    LEARNING_STEPS,
    learn_kernel,
    learning_rows,
)
from mercer.selection.machines import Machine, Recipe
from mercer.selection.metrics import Metric, decision_weights
from mercer.selection.related import Related
from mercer.selection.tasks import Task
from mercer.solvers import RidgeFolds
from mercer.threads import blas_limit, ordered_map

__all__ = ["Trials"]

SMALL_ROWS = 1500  # with at most so many rows, no rows are set aside to learn weights
ONE_RUNG_ROWS = 2000  # with at most so many rows, there is one rung
RUNGS = ((4000, 500), (20_000, 1000))  # rows, and centres of the low-rank factor
PATIENCE = 8  # candidates without a better one, after which the search of a small table ends
PROMOTED = 3  # candidates that go on to the second rung
FOLD_LEARNING_ROWS = 600  # rows to learn column weights from, for each fold of a small table
FIRST_RUNG_SHARE = 0.5  # least part of the time, if there is a second rung
RESERVE, MOST_RESERVED = 0.05, 0.4  # parts of the time that are kept for the final fit
HELD_ROWS = 6000  # of a rung whose kernel matrix is kept for the fits of its folds


class Trials:
    """One search.

    Parameters
    ----------
    task : Task
        Makes targets of machines from y, and predictions from outputs.
    features : list of Feature
        Descriptions of the encoded columns.
    M, y : encoded rows and their targets
    metric : Metric
    weights : ndarray of shape (n,), optional
        Weights of the rows, > 0; None means 1 for each row.
    related : Related, optional
        Groups or times of the rows, which the folds keep apart.
    budget : Budget
    memory : int
        Budget in bytes.
    seed : int
    n_jobs : int or None
        Threads; None means all cores.
    progress : callable, optional
        See `KernelClassifier`.

    Attributes
    ----------
    board : Leaderboard
    schedule, notices : list
        See ``schedule_`` and ``notices_`` of `KernelClassifier`.
    interrupted : bool
        Whether Ctrl-C ended the search.
    decision_weights : dict
        Name of a candidate -> the factors of its probabilities that suit the metric.
    """

    def __init__(
        self,
        task: Task,
        features: list[Feature],
        M: Any,
        y: np.ndarray,
        metric: Metric,
        *,
        budget: Budget,
        memory: int,
        seed: int,
        weights: np.ndarray | None = None,
        related: Related | None = None,
        n_jobs: int | None = None,
        progress: Callable | None = None,
    ):
        self.task, self.features, self.M, self.y, self.metric = task, features, M, y, metric
        self.Y, self.weights, self.related = task.targets(y), weights, related
        self.budget, self.memory, self.seed = budget, memory, seed
        self.n_jobs, self.progress = n_jobs, progress
        self.board = Leaderboard(metric)
        self.schedule: list[dict] = []
        self.notices: list[str] = []
        self.interrupted = False
        self.learnt: dict[tuple, tuple[TableKernel, int]] = {}  # with the steps taken
        self.decision_weights: dict[str, np.ndarray] = {}
        self.costs = Costs()
        n = len(M)
        self.order = np.random.default_rng(seed).permutation(n)
        self.finals = Finals(features, M, budget, memory, self.costs)
        columns = sum(f.kind not in ("scaled", "normal", "level") for f in self.features)
        # each learning step makes a pass over all columns
        most = learning_rows(memory)
        self.learning_rows = int(min(LEARNING_ROWS * min(1.0, np.sqrt(20 / columns)), most))
        count = min(self.learning_rows, n // 3)
        self.spared = self.order[:count] if n > SMALL_ROWS else None
        if related is not None and self.spared is not None:
            self.spared = related.first(self.order, count, seed)

    # --- the plan -----------------------------------------------------------------------------

    def run(self, trials: int | None = None) -> tuple[Candidate, dict]:
        """Try as many candidates as the budget allows, or the first ``trials``.

        Returns the winner, and the entry of its final fit in the schedule.
        """
        order = candidates(self.features, self.task.name)[:trials]
        first, *rest = self._rungs()
        try:
            for baseline in BASELINES:
                self._try_baseline(baseline, first)
            share = self._first_share(order, rest[0]) if rest else 1.0
            done = self._try_all(order, first, share, len(order))
            for rung in rest:
                best = self.board.ranked(first[0])[:PROMOTED]
                if len(best) < 2:
                    break  # there is nothing to choose from
                promoted = [Candidate.of(self.schedule[row["place"]]) for row in best]
                self._try_all(promoted, rung, 1.0, done + len(best), done)
        except KeyboardInterrupt:
            if not self.schedule:
                raise
            self._note_interruption()
        return self._finish()

    def replay(self, schedule: list[dict]) -> tuple[Candidate, dict]:
        """Repeat the trials of a schedule, without a time limit; returns the same as `run`."""
        entries = [entry for entry in schedule if not entry.get("final")]
        for baseline in BASELINES:
            self._try_baseline(baseline, (entries[0]["rows"], entries[0]["rank"]))
        for i, entry in enumerate(entries):
            candidate = Candidate.of(entry)
            self._report(candidate.name, i, len(entries))
            self._try(candidate, (entry["rows"], entry["rank"]), list(entry["steps"]))
        final = next((entry for entry in schedule if entry.get("final")), None)
        return self._finish(final)

    def _rungs(self) -> list[tuple[int, int | None]]:
        """Rows, and centres of ridge; None is an exact fit."""
        n = len(self.M)
        if n <= ONE_RUNG_ROWS:
            rungs: list[tuple[int, int | None]] = [
                (n, min(n, self._affordable_rank(n, RUNGS[-1][1])))
            ]
            return rungs + ([(n, None)] if n > RUNGS[-1][1] and self.finals.exact(n) else [])
        first, last = [(min(n, r), self._affordable_rank(min(n, r), rank)) for r, rank in RUNGS]
        return [first, (n, None) if self.finals.exact(n) else last]

    def _affordable_rank(self, rows: int, rank: int) -> int:
        """Most centres with the factor in a quarter of the memory and 6 matrices in another."""
        most = min(self.memory / 16 / rows, np.sqrt(self.memory / 4 / 48))
        return int(max(1, min(rank, rows, most)))

    def _try_all(self, order, rung, share: float, total: int, done: int = 0) -> int:
        """Try the candidates that there is time for; returns how many were tried."""
        tried = 0
        for i, candidate in enumerate(order):
            if done and candidate.machine == "svc" and rung[0] == self.schedule[0]["rows"]:
                continue  # on the same rows it would be the same
            expected = self._expected(candidate, rung)
            late = self.budget.spent() + expected > share * self.budget.limit
            if (tried or done) and (late or self.budget.left() < expected + self._reserve()):
                continue  # another one may be cheaper
            self._report(candidate.name, done + i, total)
            row = self._try(candidate, rung)
            tried += 1
            if abs(row["score"] - self.metric.best) < 1e-6 and i + 1 < len(order):
                self.notices.append(
                    f"{candidate.name!r} makes no error in cross-validation, so no more candidates "
                    "were tried."
                )
                return tried
            if self._is_settled(row):
                return tried
        if not done and tried < len(order):
            self.notices.append(
                f"The time budget had room for {tried} of {len(order)} candidates on {rung[0]} "
                "rows."
            )
        return tried

    def _is_settled(self, row: dict) -> bool:
        """Whether the search of a small table has gone on long enough without a better row."""
        if len(self.M) > SMALL_ROWS:
            return False
        since = row["place"] - self.board.winner()["place"]
        if since >= PATIENCE:
            self.notices.append(
                f"None of the last {since} candidates was better, so no more were tried."
            )
        return since >= PATIENCE

    # --- the clock ----------------------------------------------------------------------------

    def _predicted(self, candidate: Candidate, rung: tuple[int, int | None]) -> float:
        """Seconds of a trial on a machine with nothing beside it."""
        rows, rank = rung
        entry = self.finals.entry(candidate)
        learning = 0.0
        if candidate.learn and not self._is_learnt(candidate):
            count = min(self.learning_rows, FOLD_LEARNING_ROWS) if self.spared is None else 0
            count = count or self.learning_rows
            if candidate.family == "metric":
                learning = Costs.metric(count, len(candidate.numbers(self.features)))
            else:
                learning = Costs.interactions(count, entry, LEARNING_STEPS)
            learning *= 1 if self.spared is not None else self._count_folds(rows)
        folds = self._count_folds(rows)
        train = rows * (folds - 1) // folds if folds > 1 else 3 * rows // 4
        if candidate.machine == "svc":
            return learning + rows**2 * entry + folds * Costs.margin(train, 0)
        if candidate.learn and self.spared is None:
            return learning + folds * Costs.eigenpairs(train, entry)
        if rank is None:
            return learning + folds * Costs.exact(train, entry)
        return learning + 2 * Costs.low_rank(rows, rank, entry)

    def _first_share(self, order: list[Candidate], rung: tuple[int, int | None]) -> float:
        """Part of the time for the first rung: what the second one is sure to leave."""
        if np.isinf(self.budget.limit):
            return 1.0
        longest = max(self._expected(replace(c, learn=False), rung) for c in order)
        left = 1 - PROMOTED * longest / self.budget.limit
        return max(FIRST_RUNG_SHARE, left)

    def _expected(self, candidate: Candidate, rung: tuple[int, int | None]) -> float:
        if np.isinf(self.budget.limit):
            return 0.0
        return self.costs.expected(self._kind(candidate), self._predicted(candidate, rung))

    def _kind(self, candidate: Candidate) -> str:
        """Trials of one kind are slower or faster than predicted in the same way."""
        known = self._is_learnt(candidate)
        return f"{candidate.machine}{', learning' if candidate.learn and not known else ''}"

    def _is_learnt(self, candidate: Candidate) -> bool:
        return any(key == _kernel_of(candidate) for key, _ in self.learnt)

    def _reserve(self) -> float:
        """Seconds that are kept for the final fit of the best machine so far."""
        least = RESERVE * self.budget.limit
        if not self.schedule or np.isinf(self.budget.limit):
            return least
        best = self.board.winner()
        wanted = self.finals.wanted(Candidate.of(self.schedule[best["place"]]), best["penalty"])
        return max(least, min(wanted, MOST_RESERVED * self.budget.limit))

    def _note_interruption(self) -> None:
        self.interrupted = True
        count = len(self.schedule)
        self.notices.append(
            f"Interrupted after {count} trials; the best candidate so far was kept."
        )

    # --- one trial ----------------------------------------------------------------------------

    def _try(
        self, candidate: Candidate, rung: tuple[int, int | None], steps: list | None = None
    ) -> dict:
        """Score a candidate on a rung, and add it to the leaderboard and the schedule."""
        began, taken = self.budget.spent(), []
        kind, predicted_seconds = self._kind(candidate), self._predicted(candidate, rung)
        rows, folds = self._folds(rung[0])
        each = candidate.learn and self.spared is None
        if candidate.machine == "svc" or each or rung[1] is None:
            predicted, kernel, penalty = self._fold_by_fold(candidate, rows, folds, steps, taken)
        else:
            kernel = self._shared_kernel(candidate, steps, taken)
            predicted, penalty = self._all_folds(kernel, rows, folds, rung[1])
        self.costs.observe(kind, predicted_seconds, self.budget.spent() - began)
        row = self._row(candidate.name, rows, folds, predicted, began)
        learner = "support vector machine" if candidate.machine == "svc" else "kernel ridge"
        row |= {"learner": learner, "kernel": repr(kernel), "penalty": penalty}
        row["place"] = len(self.schedule)
        self.board.enter(row)
        self.schedule.append(asdict(candidate) | {"rows": rung[0], "rank": rung[1], "steps": taken})
        return row

    def _try_baseline(self, name: str, rung: tuple[int, int | None]) -> None:
        self._report(f"baseline: {name}", 0, 1)
        began = self.budget.spent()
        rows, folds = self._folds(rung[0])
        M, y = self.M[rows], self.y[rows]
        predicted: Any = None
        for f in range(folds.max() + 1):
            own = folds == f
            fitted = fit_baseline(
                name, self.features, M[~own], y[~own], self.task.name, self._weights(rows[~own])
            )
            values = self.task.answers(fitted, M[own])
            if predicted is None:
                predicted = np.full((len(rows), *values.shape[1:]), np.nan)
            predicted[own] = values
        row = self._row(name, rows, folds, predicted, began)
        self.board.enter(row | {"baseline": True, "learner": name, "kernel": None, "penalty": None})

    def _all_folds(self, kernel, rows, folds, rank: int) -> tuple[np.ndarray, float]:
        """Held-out predictions of all folds from one factor, and the median penalty.

        The penalty and the calibration of a fold come from the leave-one-out outputs of its
        training rows, as in `tune`, so that its own targets reach neither.
        """
        X, w = kernel.encode(self.M[rows]), self._weights(rows)
        Y, y = self.Y[rows], self.y[rows]
        share = np.ones(len(rows)) if w is None else w
        chosen, finishes = [], []
        with blas_limit(rank):
            K: Any = gram(
                kernel, X, rank=rank, memory=self.memory, random_state=self.seed, n_jobs=self.n_jobs
            )
            cross = RidgeFolds(K, folds, w)
            tried = affordable(PENALTIES, Y, self.memory)
            sizes = np.array([share[folds != f].sum() for f in range(cross.count)])
            left_out = cross.leave_one_out(Y, sizes[:, None] * tried)
            for f, outputs in enumerate(left_out):
                others = (folds >= 0) & (folds != f)
                squares = np.square(outputs[:, others] - Y[others]).sum(axis=2)
                best = int(np.argmin(squares @ share[others]))
                chosen.append(tried[best])
                finishes.append(
                    self.task.calibrate(
                        outputs[best, others], y[others], None if w is None else w[others]
                    )
                )
            outputs = cross.predict(Y, sizes * chosen)
        predicted: Any = None
        for f, finish in enumerate(finishes):
            values = finish(outputs[folds == f])
            if predicted is None:
                predicted = np.full((len(rows), *values.shape[1:]), np.nan)
            predicted[folds == f] = values
        return predicted, float(np.median(chosen))

    def _fold_by_fold(self, candidate, rows, folds, steps, taken):
        """Held-out predictions of a machine that is fitted to each fold's training rows.

        Where each fold has the same kernel, its matrix is computed once. Where it is learnt, it is
        learnt from the training rows of each fold.
        """
        each = candidate.learn and self.spared is None
        recipe = Recipe(
            candidate.machine, self._penalty_before(candidate, len(rows)),
            exact=len(rows) <= EXACT_ROWS and not each, memory=self.memory, n_jobs=self.n_jobs,
            seed=self.seed,
        )  # fmt: skip
        shared: Any = None if each else self._shared_kernel(candidate, steps, taken)
        held = None if each else self._held(shared, rows)

        def fitted(f: int) -> tuple[np.ndarray, Machine, Any]:
            own, train = folds == f, rows[folds != f]
            if each:
                kernel, _ = self._learn(candidate, train, steps[f] if steps else None, f)
            else:
                kernel = shared
            w = self._weights(train)
            if held is not None:
                machine = recipe.fit(
                    self.task, Precomputed(), held[np.flatnonzero(~own)], self.y[train], w
                )
                return machine(held[np.flatnonzero(own)]), machine, kernel
            machine = recipe.fit(self.task, kernel, self.M[train], self.y[train], w)
            return machine(self.M[rows[own]]), machine, kernel

        predicted: Any = None
        kernel, penalties = shared, []
        # learning has threads of its own, and so have factors of many rows
        jobs = 1 if each or len(rows) > HELD_ROWS else self.n_jobs
        for f, (values, machine, learnt) in enumerate(
            ordered_map(fitted, range(folds.max() + 1), jobs)
        ):
            kernel = learnt
            penalties.append(machine.penalty)
            if predicted is None:
                predicted = np.full((len(rows), *values.shape[1:]), np.nan)
            predicted[folds == f] = values
            if each:
                taken.append(self.learnt[_kernel_of(candidate), f][1])
        penalty = float(np.median(penalties))
        if candidate.machine == "svc":  # one that was tried
            penalty = sorted(penalties)[(len(penalties) - 1) // 2]
        return predicted, kernel, penalty

    def _held(self, kernel: TableKernel, rows: np.ndarray) -> Any:
        """The kernel matrix of some rows, for fits that are given it; None if it is too large."""
        if len(rows) > HELD_ROWS or 16 * len(rows) ** 2 > self.memory / 2:
            return None
        X = kernel.encode(self.M[rows])
        K = gram(kernel, X, memory=self.memory, n_jobs=self.n_jobs).dense()
        return Precomputed().encode(K)

    def _penalty_before(self, candidate: Candidate, rows: int) -> float | None:
        """What an earlier rung chose, for a machine that would take long to choose it again."""
        if candidate.machine != "svc" or rows <= max(ONE_RUNG_ROWS, RUNGS[0][0]):
            return None
        known = [r["penalty"] for r in self.board.rows if r["name"] == candidate.name]
        return known[0] if known else None

    def _shared_kernel(self, candidate: Candidate, steps, taken: list):
        """The candidate's kernel, with weights learnt once from the rows set aside for this."""
        if not candidate.learn or self.spared is None:
            return candidate.bound(self.features, self.M)[0]
        known = self._is_learnt(candidate)
        kernel, count = self._learn(candidate, self.spared, steps[0] if steps else None)
        if not known:
            taken.append(count)
        return kernel

    def winning_kernel(self, candidate: Candidate) -> TableKernel | None:
        """The kernel that the search has learnt for all folds, if there is one."""
        return self.learnt.get((_kernel_of(candidate), None), (None,))[0]

    def _learn(
        self, candidate: Candidate, rows: np.ndarray, steps: int | None, fold: int | None = None
    ) -> tuple[TableKernel, int]:
        """Learn weights from some of the rows, for ``steps`` steps or until the time is over.

        Returns the kernel and the steps taken. Candidates that differ in the machine share it.
        """
        key = _kernel_of(candidate), fold
        if key in self.learnt:
            return self.learnt[key]
        count = self.learning_rows
        if self.spared is None:
            count = min(count, FOLD_LEARNING_ROWS)
        most = np.random.default_rng(self.seed).permutation(rows)[:count]

        def enough(step: int, error: float) -> bool:
            if steps is not None:
                return step + 1 >= steps
            return self.budget.spent() > FIRST_RUNG_SHARE * self.budget.limit

        self.learnt[key] = learn_kernel(
            _kernel_of(candidate), self.features, self.M[most], self.Y[most], self._weights(most),
            self.memory, self.n_jobs, on_step=enough,
        )  # fmt: skip
        return self.learnt[key]

    def _weights(self, rows: np.ndarray) -> np.ndarray | None:
        return None if self.weights is None else self.weights[rows]

    def _folds(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows of a rung, and the fold of each row or -1; stratified by class.

        The folds are the same for all candidates. A quarter of many rows is one fold, the others
        are in none.
        """
        rows = np.sort(self.order[:count])
        judged = rows if self.spared is None else np.setdiff1d(rows, self.spared)
        k = min(self._count_folds(count), len(judged))
        if self.related is not None:
            folds = np.full(len(rows), -1)
            folds[np.searchsorted(rows, judged)] = self.related.folds(judged, k, self.seed)
            return rows, folds
        random = np.random.default_rng(self.seed).permutation(len(judged))
        random = random[np.argsort(self.task.strata(self.y[judged[random]]), kind="stable")]
        folds = np.full(len(rows), -1)
        numbers = np.arange(len(judged)) % (4 if k == 1 else k)
        folds[np.searchsorted(rows, judged[random])] = np.where(numbers < k, numbers, -1)
        return rows, folds

    def _count_folds(self, count: int) -> int:
        if len(self.M) <= ONE_RUNG_ROWS:
            return 5
        return 3 if count <= RUNGS[0][0] else 1

    # --- scores -------------------------------------------------------------------------------

    def _row(self, name, rows, folds, predicted, began) -> dict:
        """A row of the leaderboard: the score of all rows in folds, and its spread over folds."""
        y, w, classes = self.y[rows], self._weights(rows), self.task.classes
        judged = folds >= 0
        decided = predicted
        if classes is not None:
            known = None if w is None else w[judged]
            factors = decision_weights(self.metric, y[judged], predicted[judged], classes, known)
            self.decision_weights[name] = factors
            decided = predicted * factors if self.metric.counts_hits else predicted

        def score(own: np.ndarray) -> float:
            return self.metric(y[own], decided[own], classes, None if w is None else w[own])

        each = np.array([score(folds == f) for f in range(folds.max() + 1)])
        known = each[~np.isnan(each)]
        return {
            "name": name,
            "baseline": False,
            "score": score(judged),
            "spread": float(known.std()) if len(known) > 1 else None,
            "loss": self.task.loss(y[judged], predicted[judged], None if w is None else w[judged]),
            "rows": len(rows),
            "seconds": self.budget.spent() - began,
        }

    def _finish(self, final: dict | None = None) -> tuple[Candidate, dict]:
        """Rank the leaderboard; returns the winner, and the entry of its final fit."""
        winner = self.board.winner()
        candidate = Candidate.of(self.schedule[winner["place"]])
        final = dict(final) if final else self.finals.plan(candidate, winner["penalty"])
        said = self.board.close()
        self.notices += [] if said is None else [said]
        self.schedule.append(final)
        return candidate, final

    def _report(self, name: str, done: int, of: int) -> None:
        if self.progress is not None:
            told = {"trial": name, "done": done, "of": of, "leaderboard": self.board.known()}
            self.progress(told)


def _kernel_of(candidate: Candidate) -> Candidate:
    """What is the same for candidates that differ in the machine alone."""
    return replace(candidate, machine="ridge")
