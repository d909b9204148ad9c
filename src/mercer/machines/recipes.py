"""The kinds of machines of a search: how each is fitted to rows, what that costs, its words.

A fit chooses what its `Recipe` leaves open: the penalty or the width, and the calibration of
probabilities. Ridge and windows do both from their leave-one-out
outputs. A support vector machine has none, so it is fitted to a part of the rows first, and judged
on the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from mercer.gram import factor_rows
from mercer.kernels import Kernel
from mercer.learners.base import LIMITS, PENALTY_ROWS
from mercer.learners.margin import SVC
from mercer.learners.neighbourhoods import NeighbourhoodMachineRegressor
from mercer.learners.ridge import KernelRidge
from mercer.learners.windows import NadarayaWatson
from mercer.machines.candidates import (
    MachineKind,
    Recipe,
    RungFits,
    explicit_features,
    machine_kind,
    register_machine,
)
from mercer.machines.columns import AdditiveMachine, LearntNeighbourhood
from mercer.machines.linear import (
    IN_WORDS,
    SPARSE_CLASSES,
    LinearMachine,
    LinearModel,
    fit_linear,
    of_all_classes,
)
from mercer.machines.machines import (
    KernelRidgeMachine,
    Machine,
    MarginMachine,
    WindowMachine,
)
from mercer.samples import Samples
from mercer.threads import blas_threads

COSTS = (1.0, 10.0, 100.0)  # values of C of a support vector machine
USUAL_COST, MANY_PAIRS = (10.0,), 100  # with more pairs of classes, each value takes seconds
JUDGED_ROWS = 4000  # most rows of the fits that choose C and calibrate
FEW = 10  # rows of a class, all of which take part in those fits
SMALL, FOLDS = 1000, 3  # with at most so many rows, all are judged in folds, else a fifth
HELD_ROWS = 6000  # of a rung whose kernel matrix is kept for the fits of its folds
EACH_FOLDS = 0.15  # seconds of a trial of ridge in all folds, however few the rows are
TEXT_RANK = 4000  # centres of ridge on texts or sets
RANKS = (4000, 3000, 2000, 1500, 1000, 700, 500)  # centres of ridge, by the time that is left
FEW_ROWS = 1000  # of which a fit with centres takes no less time than one of all rows
TRIED_LEAF = 1000  # most rows of a leaf in the search, as good a judge in half of the time
MEMBERS = 3  # networks of a learnt neighbourhood; with more the mean is hardly better
SHAPES = 2**26  # least bytes of memory for an additive model
WINDOW_ROWS = 20_000  # most rows of windows, each of which a prediction is compared with
FEATURE = 60  # bytes of a value of sparse features, and of what is made of them


# --- kernel machines --------------------------------------------------------------------------


class Ridge(MachineKind):
    name, words = "ridge", "kernel ridge"
    low_rank = several = True
    on_many_rows = "local"
    local = False

    def fit(self, recipe, task, kernel, X, y, weights) -> KernelRidgeMachine:
        if self.local or not recipe.exact or len(y) <= PENALTY_ROWS:
            solver = "local" if self.local else "auto" if recipe.rank is None else "low_rank"
            learner, offset, total = self._fitted(
                recipe, task, kernel, X, y, weights, "auto", solver
            )
            finish = task.calibrate(learner.left_out_ + offset, y, weights)
            return KernelRidgeMachine(learner, finish, learner.alpha_ / total, offset)
        rows = np.sort(np.random.default_rng(recipe.seed).permutation(len(y))[:PENALTY_ROWS])
        w = None if weights is None else weights[rows]
        some, offset, _ = self._fitted(recipe, task, kernel, X[rows], y[rows], w, "auto", "auto")
        penalty = some.alpha_
        # the outputs of fewer rows are a little less sure, and so are the probabilities
        finish = task.calibrate(some.left_out_ + offset, y[rows], w)
        learner, offset, total = self._fitted(
            recipe, task, kernel, X, y, weights, penalty, "cholesky"
        )
        return KernelRidgeMachine(learner, finish, penalty / total, offset)

    def _fitted(self, recipe, task, kernel, X, y, weights, penalty, solver):
        """A fitted learner, the offset of its targets, and the total of the weights."""
        Y = task.targets(y)
        offset = np.average(Y, axis=0, weights=weights)
        total = len(y) if weights is None else float(np.sum(weights))
        learner = KernelRidge(
            penalty, kernel=kernel, solver=solver, rank=recipe.rank, leaf_rows=recipe.leaf_rows,
            random_state=recipe.seed, **recipe.place(),
        )  # fmt: skip
        return learner.fit(X, Y - offset, weights), offset, total

    def trial_seconds(self, finals, candidate, trial) -> float:
        if trial.each:
            return super().trial_seconds(finals, candidate, trial)
        costs, entry = finals.costs, finals.entry(candidate)
        if trial.rank is None:
            return trial.folds * costs.exact(trial.train, entry)
        return EACH_FOLDS * costs.loops + costs.low_rank(trial.rows, trial.rank, entry)

    def final(self, finals, candidate, penalty) -> Recipe:
        n, limits = len(finals.settings.M), LIMITS["leave one out"]
        if finals.exact(n):  # one factor takes a tenth of the time of all eigenpairs
            return Recipe(self.name, exact=True)
        if n <= limits.exact_rows:
            return Recipe(self.name)
        most = TEXT_RANK if finals.settings.objects else limits.rank
        return Recipe(self.name, rank=finals.affordable(most))

    def seconds(self, finals, candidate, rows) -> float:
        return finals.costs.eigenpairs(rows, finals.entry(candidate))

    def final_seconds(self, finals, candidate, plan) -> float:
        n, entry, rank = len(finals.settings.M), finals.entry(candidate), plan.rank
        if rank is not None:
            kept = factor_rows(rank, finals.settings.place, 4) >= n  # of float32
            return finals.costs.low_rank(n, rank, entry, kept)
        return finals.costs.exact(n, entry) if plan.exact else self.seconds(finals, candidate, n)

    def shortened(self, finals, candidate, plan, left) -> Recipe:
        if len(finals.settings.M) <= FEW_ROWS:
            return plan
        for rank in RANKS:
            less = replace(plan, exact=False, rank=finals.affordable(rank))
            if finals.seconds(candidate, less) <= left:
                return less
        fewest = finals.affordable(finals.settings.sizes.smallest_rank)
        return replace(plan, exact=False, rank=fewest)


class LocalRidge(Ridge):
    name, words, prefix = "local", "local kernel ridge", "local: "
    low_rank, on_many_rows, local = False, "", True

    def seconds(self, finals, candidate, rows, leaf_rows=TRIED_LEAF) -> float:
        return finals.costs.local(rows, leaf_rows, finals.entry(candidate))

    trial_seconds = MachineKind.trial_seconds

    def final(self, finals, candidate, penalty) -> Recipe:
        return Recipe(self.name, leaf_rows=finals.leaf(finals.settings.sizes.leaves[0]))

    def final_seconds(self, finals, candidate, plan) -> float:
        return self.seconds(finals, candidate, len(finals.settings.M), plan.leaf_rows)

    def shortened(self, finals, candidate, plan, left) -> Recipe:
        sizes = [replace(plan, leaf_rows=finals.leaf(n)) for n in finals.settings.sizes.leaves]
        return next((p for p in sizes if finals.seconds(candidate, p) <= left), sizes[-1])


class Windows(MachineKind):
    name, words, prefix = "window", "mean over a window", "window: "
    several = True

    def fit(self, recipe, task, kernel, X, y, weights) -> Machine:
        if len(y) == 1:  # the width is chosen by leaving rows out
            return machine_kind("ridge").fit(recipe, task, kernel, X, y, weights)
        Y, classes = task.targets(y), task.classes is not None and task.ranks is None
        learner = NadarayaWatson(metric=kernel, **recipe.place())
        learner.fit(X, Y, weights)
        width: Any = learner.width_
        machine = WindowMachine(learner, task.plain(), width, Y, weights, classes)
        machine.finish = task.calibrate(machine.read(learner.left_out_), y, weights)
        return machine

    def trial_seconds(self, finals, candidate, trial) -> float:
        values = matrix_seconds(finals, candidate, trial)
        return values + trial.folds * finals.costs.window(trial.train, 0)

    def final(self, finals, candidate, penalty) -> Recipe:
        return Recipe(self.name, rows=WINDOW_ROWS if len(finals.settings.M) > WINDOW_ROWS else None)

    def seconds(self, finals, candidate, rows) -> float:
        return finals.costs.window(rows, finals.entry(candidate))


class Margin(MachineKind):
    name, words, prefix = "svc", "support vector machine", "SVC: "
    keeps_penalty = good_on_few = True
    most_classes = 100  # their pairs are too many

    def fit(self, recipe, task, kernel, X, y, weights) -> Machine:
        if len(np.unique(y)) == 1:  # rows of one class have nothing to separate
            return machine_kind("ridge").fit(recipe, task, kernel, X, y, weights)
        costs = costs_tried(task.pairs) if recipe.penalty is None else (recipe.penalty,)

        def machine(C: float) -> SVC:
            return SVC(
                C=C, kernel=kernel, decision_function_shape="ovo", random_state=recipe.seed,
                **recipe.place(),
            )  # fmt: skip

        # outputs for rows that were held out, (settings, n, classes); NaN for the other rows
        outputs = np.full((len(costs), X.shape[0], len(task.classes)), np.nan)
        for train, judged in splits(task.strata(y), recipe.seed):
            known, new, w = X[train], X[judged], None if weights is None else weights[train]
            path = machine(costs[0]).new_path(list(costs))
            for each, C in zip(outputs, costs):
                learner = machine(C).fit(known, y[train], w, fit_path=path)
                each[judged] = MarginMachine(learner, None, C, task.classes).outputs(new)
        finish, best = _calibrated(task, outputs, y, weights)
        learner = machine(costs[best]).fit(X, y, weights)
        return MarginMachine(learner, finish, costs[best], task.classes)

    def trial_seconds(self, finals, candidate, trial) -> float:
        values = matrix_seconds(finals, candidate, trial)  # C is known of an earlier rung
        return values + trial.folds * finals.costs.margin(trial.train, 0, trial.large)

    def final(self, finals, candidate, penalty) -> Recipe:
        return Recipe(self.name, penalty)

    def seconds(self, finals, candidate, rows) -> float:
        return finals.costs.margin(rows, finals.entry(candidate), known=True)

    def typical(self, penalties) -> float:
        return sorted(penalties)[(len(penalties) - 1) // 2]  # one that was tried


def matrix_seconds(finals: Any, candidate: Any, trial: RungFits) -> float:
    """Seconds of the kernel matrix of all rows of a trial, or of few if it is not kept."""
    others = trial.rows if trial.rows <= HELD_ROWS else trial.train
    return trial.rows * others * finals.entry(candidate)


# --- machines on sparse features ----------------------------------------------------------------


class OnFeatures(MachineKind):
    """A linear machine of classes on the features of a kernel."""

    reads_features = True

    def __init__(self, name: str, words: str, prefix: str):
        self.name, self.words, self.prefix = name, words, prefix

    def fit(self, recipe, task, kernel, X, y, weights) -> LinearMachine:
        if len(np.unique(y)) == 1:
            return fit_linear("constant", task, kernel, X, y, weights)
        fit, settings = SPARSE_CLASSES[self.name]
        settings = settings if recipe.penalty is None else (recipe.penalty,)
        encoded = kernel.encode(X)
        kernel = kernel.bind(encoded, None, weights)
        F, codes = explicit_features(kernel, encoded), task.strata(y)
        w = np.ones(len(y)) if weights is None else np.asarray(weights, np.float64)
        outputs = np.full((len(settings), len(y), len(task.classes)), np.nan)
        with blas_threads(1):
            for train, judged in splits(codes, recipe.seed):
                for each, setting in zip(outputs, settings):
                    found = fit(F[train], codes[train], w[train], setting)
                    coef, intercept, _ = of_all_classes(found, task, y[train])
                    each[judged] = F[judged] @ coef + intercept
            finish, best = _calibrated(task, outputs, y, weights)
            found = fit(F, codes, w, settings[best])
        coef, intercept, dual = of_all_classes(found, task, y)
        learner = LinearModel(kernel, encoded, coef, intercept, dual, found.scale)
        words = f"{IN_WORDS[self.name].format(settings[best])} on {F.shape[1]:,} features"
        return LinearMachine(learner, finish, settings[best], self.name, np.arange(len(y)), words)

    def trial_seconds(self, finals, candidate, trial) -> float:
        row = finals.row(candidate)
        return finals.costs.sparse(self.name, trial.rows, row, trial.folds)

    def final(self, finals, candidate, penalty) -> Recipe:
        n = len(finals.settings.M)
        most = int(finals.settings.memory / (FEATURE * finals.row(candidate).values))
        return Recipe(self.name, rows=max(1, most) if n > most else None)

    def seconds(self, finals, candidate, rows) -> float:
        return finals.costs.sparse(self.name, rows, finals.row(candidate))


# --- machines that read columns -----------------------------------------------------------------


class OnColumns(MachineKind):
    """Abstract: a machine that learns a kernel of its own from columns."""

    reads_columns = True
    most_members = 1
    seconds: Callable[..., float]

    def final(self, finals, candidate, penalty) -> Recipe:
        return Recipe(self.name, members=self.most_members)

    def final_seconds(self, finals, candidate, plan) -> float:
        rows = plan.rows or len(finals.settings.M)
        return self.seconds(finals, candidate, rows, plan.members)

    def shortened(self, finals, candidate, plan, left) -> Recipe:
        for members in range(plan.members - 1, 0, -1):
            plan = replace(plan, members=members)
            if finals.seconds(candidate, plan) <= left:
                return plan
        return super().shortened(finals, candidate, plan, left)


class LearntNeighbourhoods(OnColumns):
    name, words = "neighbourhood", "learnt neighbourhood"
    holds_rows_out = compares_rows = several = True
    numbers = "normal"
    most_members = MEMBERS

    def fit(self, recipe, task, kernel, X, y, weights) -> LearntNeighbourhood:
        steps = "auto" if recipe.steps is None else recipe.steps
        return LearntNeighbourhood.fitted(
            task, kernel, X, y, weights, recipe.validation, n_members=recipe.members, steps=steps,
            time=recipe.seconds, random_state=recipe.seed, **recipe.place(),
        )  # fmt: skip

    def seconds(self, finals, candidate, rows, members=1) -> float:
        return finals.network_seconds(candidate, rows, members)

    def fits(self, finals, candidate) -> bool:
        given, source = finals.settings, candidate.kernel(finals.settings.features)
        levels = _levels(given, source)
        sizes = len(source.columns) - len(levels), sum(levels), given.Y.shape[1]
        learner = NeighbourhoodMachineRegressor(n_jobs=given.n_jobs)
        return given.place.holds(learner.training_bytes(len(given.M), *sizes))


class Shapes(OnColumns):
    name, words = "shapes", "sum over columns and pairs"
    slow_on_few = good_on_few = True
    most_classes = 2  # each Newton step solves a system of all classes

    def fit(self, recipe, task, kernel, X, y, weights) -> AdditiveMachine:
        return AdditiveMachine.fitted(task, kernel, X, y, weights, **recipe.place())

    def seconds(self, finals, candidate, rows, members=1) -> float:
        source = candidate.kernel(finals.settings.features)
        levels = max(_levels(finals.settings, source), default=0)
        return finals.costs.additive(rows, len(source.columns), levels)

    def fits(self, finals, candidate) -> bool:
        return finals.settings.memory >= SHAPES


def _levels(given: Any, source: Any) -> list[int]:
    """How many levels each category has that is read."""
    return [given.M.objects[j].known[0] for j in source.columns if j in given.M.objects]


# --- simple models ------------------------------------------------------------------------------


class Simple(MachineKind):
    """A simple model, which a kernel machine has to beat."""

    def __init__(self, name: str, words: str, simple: str, family: str, counts: bool = False):
        self.name, self.words, self.simple, self.family = name, words, simple, family
        self.several = name != "sparse"  # the lasso chooses the columns of one target
        self.counts = counts  # whether it reads the counts of objects, which are many features

    def fit(self, recipe, task, kernel, X, y, weights) -> LinearMachine:
        return fit_linear(self.name, task, kernel, X, y, weights)

    def seconds(self, finals, candidate, rows) -> float:
        if self.counts and finals.settings.objects:
            row = finals.row(candidate)
            return rows * row.seconds + finals.costs.simple(rows, row.values)
        return finals.costs.simple(rows, len(finals.settings.features))

    def trial_seconds(self, finals, candidate, trial) -> float:
        return trial.folds * self.seconds(finals, candidate, trial.rows)


for _kind in (
    Ridge(),
    LocalRidge(),
    Margin(),
    Windows(),
    LearntNeighbourhoods(),
    Shapes(),
    OnFeatures("margins", "linear support vector machine", "linear SVC: "),
    OnFeatures("bayes", "complement naive Bayes", "naive Bayes: "),
    OnFeatures("logistic", "logistic regression", "logistic: "),
    OnFeatures("centroids", "nearest shrunken centroids", "centroids: "),
    Simple("constant", "constant", "trivial", "trivial"),
    Simple("linear", "linear model", "linear (spline)", "splines", counts=True),
    Simple("sparse", "linear model of few columns", "linear (sparse)", "columns"),
):
    register_machine(_kind)


def costs_tried(pairs: int) -> tuple[float, ...]:
    """The values of C that a machine for so many pairs of classes chooses from."""
    return USUAL_COST if pairs > MANY_PAIRS else COSTS


def compressed(
    machine: Machine, kernel: Kernel, M: Samples, rank: int, **settings: Any
) -> KernelRidgeMachine:
    """A machine with few centres, whose outputs are as near as they can be to those of another.

    They shall agree on the rows M; ``rank`` is the number of centres. The calibration is kept.
    ``settings`` are ``memory``, ``n_jobs`` and ``random_state`` of `KernelRidge`.
    """
    wanted = machine.outputs(M)
    offset = wanted.mean(axis=0)
    # the outputs have no noise: the least penalty that leave-one-out allows
    learner = KernelRidge("auto", kernel=kernel, solver="low_rank", rank=rank, **settings)
    learner.fit(M, wanted - offset)
    return KernelRidgeMachine(learner, machine.finish, learner.alpha_ / len(wanted), offset)


def splits(codes: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows to fit to and rows to judge on, with the shares of the classes in both.

    Three folds of few rows, else one split of at most 4,000 rows, with a fifth to judge on. Classes
    of one row are in all fits and never judged.
    """
    n, counts = len(codes), np.bincount(codes)
    rows = np.arange(n)
    if n > JUDGED_ROWS:
        chosen = np.random.default_rng(seed).permutation(n)[:JUDGED_ROWS]
        rows = np.union1d(chosen, np.flatnonzero(counts[codes] <= FEW))  # all of rare classes
    counts = np.bincount(codes[rows], minlength=len(counts))
    single = counts[codes[rows]] < 2
    often, always = rows[~single], rows[single]
    folds = int(min(FOLDS if n <= SMALL else 5, counts[counts > 1].min(initial=5)))
    if not len(often) or len(np.unique(codes[often])) < 2:
        return [(rows, rows)]
    cut = StratifiedKFold(max(2, folds), shuffle=True, random_state=seed)
    found = [
        (np.sort(np.concatenate([often[train], always])), often[judged])
        for train, judged in cut.split(codes[often], codes[often])
    ]
    return found if n <= SMALL else found[:1]


def _calibrated(task: Any, outputs: np.ndarray, y: np.ndarray, weights: Any):
    """The calibration of the setting with the smallest loss on the judged rows, and its number."""
    judged = ~np.isnan(outputs[0, :, 0])
    w = None if weights is None else weights[judged]
    finishes = [task.calibrate(each[judged], y[judged], w) for each in outputs]
    losses = [
        task.loss(y[judged], finish(each[judged]), w) for finish, each in zip(finishes, outputs)
    ]
    best = int(np.argmin(losses))
    return finishes[best], best
