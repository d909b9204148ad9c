"""Targets of numbers: the scale on which they are fitted, and how far they are from predictions.

Skewed, positive and bounded targets are often predicted better through their logarithm, root, logit
or ranks. `choose_scale` tries them by leave-one-out on some rows, and judges the predictions on the
target's own scale: by absolute errors for "mae" and very skewed targets, else by squared ones.
Predictions never leave the range that the target has by its nature.

For quantiles and intervals, the search has predicted rows that were left out of the fits. On the
target's scale, the residual r of a row is compared with what is usual at such a row, σ(x): a
*score* is r / σ(x). The quantile of a new target is f(x) + σ(x) q, on that scale, where q is a
quantile of the scores. That many targets are below it does not rest on σ being right, which only
makes intervals narrower (Lei et al., "Distribution-free predictive inference for regression", JASA
2018, section 5.2).

log σ is a kernel ridge regression of log |r|, first on f(x) and then on the row itself; each step
is kept if it lowers the pinball losses of left-out rows. Where a test still finds groups of rows
whose scores differ, such as the levels of a category, each has quantiles of its own (Vovk,
"Conditional validity of inductive conformal predictors", 2012).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isqrt
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri
from scipy.stats import kruskal

from mercer.kernels import RBF
from mercer.learners.base import ScoreQuantiles
from mercer.learners.ridge import KernelRidge
from mercer.machines import Regression, SearchSettings, TargetScale
from mercer.machines.candidates import Candidate, candidates
from mercer.persistence import fields, floats, whole
from mercer.samples import EncodedColumns
from mercer.tables import TableEncoder, read_as

SCALED_ROWS = 500  # that scales are tried on, at most
FEWEST_SCALED = 50
SCALE_GAIN = 0.95  # a scale is taken if its error is less than this share of the error without it
SKEWED = 4.0  # beyond, squared errors are those of a few rows, and absolute errors decide
RANKS = 200  # most quantiles of ranks
FEW_VALUES = 10


@dataclass(frozen=True)
class LogScale(TargetScale):
    """log(y + shift)."""

    shift: float = 0.0
    name = "logarithm"

    def forward(self, y: np.ndarray) -> np.ndarray:
        return np.log(y + self.shift)

    def back(self, z: np.ndarray) -> np.ndarray:
        return np.maximum(np.exp(z) - self.shift, 0)

    def corrected(self, share: float) -> tuple[Any, Any]:
        return 1.0, float(np.log(share))


@dataclass(frozen=True)
class RootScale(TargetScale):
    """√y."""

    name = "square root"

    def forward(self, y: np.ndarray) -> np.ndarray:
        return np.sqrt(y)

    def back(self, z: np.ndarray) -> np.ndarray:
        return np.maximum(z, 0) ** 2

    def corrected(self, share: float) -> tuple[Any, Any]:
        return float(np.sqrt(share)), 0.0


@dataclass(frozen=True)
class LogitScale(TargetScale):
    """log(s / (1 - s)) of the share s = y / most, which is kept away from 0 and 1."""

    most: float = 1.0
    margin: float = 0.01
    name = "logit"

    def forward(self, y: np.ndarray) -> np.ndarray:
        return logit(self.margin + (1 - 2 * self.margin) * y / self.most)

    def back(self, z: np.ndarray) -> np.ndarray:
        share = (expit(z) - self.margin) / (1 - 2 * self.margin)
        return self.most * np.clip(share, 0, 1)


@dataclass(frozen=True, eq=False)
class RankScale(TargetScale):
    """The normal score of the rank of y among the training targets."""

    levels: np.ndarray = field(default_factory=lambda: np.array([0.0, 1.0]))
    name = "ranks"

    @property
    def shares(self) -> np.ndarray:
        return (np.arange(len(self.levels)) + 0.5) / len(self.levels)

    def forward(self, y: np.ndarray) -> np.ndarray:
        return ndtri(np.interp(y, self.levels, self.shares))

    def back(self, z: np.ndarray) -> np.ndarray:
        return np.interp(ndtr(z), self.shares, self.levels)


def choose_scale(settings: SearchSettings) -> TargetScale:
    """The scale with the least left-out error; the target's own if no other is clearly better."""
    y, own = settings.y, TargetScale.of(settings.y)
    most = min(SCALED_ROWS, isqrt(settings.memory // 64))  # the fit holds about four matrices
    if min(len(y), most) < FEWEST_SCALED or len(np.unique(y)) <= FEW_VALUES:
        return own
    rows = np.sort(np.random.default_rng(settings.seed).permutation(len(y))[:most])
    found = [candidate for candidate in candidates(settings.features) if not candidate.learn]
    plain = Candidate("laplacian")
    candidate = plain if plain.suits(settings.features) else found[0]
    kernel, X = candidate.bound(settings.features, settings.M[rows])
    some, weights = y[rows], settings.weights_of(rows)
    medians = settings.metric.name == "mae"
    absolute = medians or abs(_skewness(y)) > SKEWED

    def error(scale: TargetScale) -> float:
        task = Regression(scale, corrected=not absolute)
        Z = task.targets(some)
        mean = np.average(Z, axis=0, weights=weights)
        learner = KernelRidge(
            "auto", kernel=kernel, memory=settings.memory, n_jobs=settings.n_jobs,
            random_state=settings.seed,
        )  # fmt: skip
        outputs = learner.fit(X, Z - mean, weights).left_out_ + mean
        off = np.abs(task.calibrate(outputs, some, weights)(outputs) - some)
        power = 1 if absolute else 2
        return float(np.average(off**power, weights=weights) ** (1 / power))

    errors = {scale: error(scale) for scale in (own, *_others(y, ranks=medians))}
    best = min(errors, key=lambda scale: errors[scale])
    return best if errors[best] < SCALE_GAIN * errors[own] else own


def scale_named(name: str, y: np.ndarray) -> TargetScale:
    """The scale of this name for some targets; "own" or "" is that of the targets."""
    if name in ("", "own"):
        return TargetScale.of(y)
    found = {scale.name: scale for scale in _others(y, ranks=True)}
    if name not in found:
        known = ["own", *(each.name for each in (LogScale, RootScale, LogitScale, RankScale))]
        raise ValueError(
            f"target_scale={name!r}: these targets, from {y.min():g} to {y.max():g}, can be fitted "
            f"on the scales {['own', *found]}, of all scales {known}."
        )
    return found[name]


def _others(y: np.ndarray, ranks: bool) -> list[TargetScale]:
    """The scales that suit the range of a target; ``ranks`` are those for medians alone."""
    found: list[TargetScale] = []
    if y.min() >= 0:
        least = float(y[y > 0].min()) if y.any() else 1.0
        shift = 0.0 if y.min() > 0 else least
        found += [LogScale.of(y, shift=shift), RootScale.of(y)]
        if y.max() <= 1:
            found.append(LogitScale.of(y, most=1.0, margin=_margin(y, 1.0)))
        elif y.max() <= 100:
            found.append(LogitScale.of(y, most=100.0, margin=_margin(y, 100.0)))
    levels = np.unique(np.quantile(y, np.linspace(0, 1, min(RANKS, len(y)))))
    return [*found, RankScale.of(y, levels=levels)] if ranks else found


def _margin(y: np.ndarray, most: float) -> float:
    """Half the distance of the values inside from the nearest end: 0 if no value is at an end."""
    ends = np.minimum(y, most - y) / most
    return 0.0 if ends.min() > 0 else float(ends[ends > 0].min(initial=0.02) / 2)


def _skewness(y: np.ndarray) -> float:
    spread = y.std()
    return float(np.mean(((y - y.mean()) / spread) ** 3)) if spread > 0 else 0.0


LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])  # whose losses are compared
FEWEST = 100  # rows from which on σ is learnt
ROWS, OBJECT_ROWS, CENTRES = 4000, 500, 200  # that it is learnt from, at most
FLOOR = 0.1  # of the median residual: from smaller ones the logarithm learns nothing
GAIN = 0.99  # a step is kept if it lowers the losses to less than this share
GROUP_ROWS = 100  # least rows of a group
BINS = 5  # groups by the predicted value
MOST_GROUPS = 20
SURE = 0.001  # of the test's p-value, divided by the number of tests


@dataclass(frozen=True, eq=False)
@fields(ends=floats(1))
class SpreadStep:
    """A part of log σ, by predictions or by rows, between the ``ends`` that it has learnt."""

    learner: KernelRidge
    by_rows: bool
    mean: float
    ends: np.ndarray

    def __call__(self, M: EncodedColumns, z: np.ndarray) -> np.ndarray:
        return np.clip(self.learner.predict(M if self.by_rows else z) + self.mean, *self.ends)


@dataclass(frozen=True, eq=False)
@fields(kept=whole(), edges=floats(1))
class Groups:
    """Groups of rows: the levels of an encoded column, or bins of predictions; the rest is 0."""

    column: int = -1  # the number of the encoded column; -1: predictions
    label: str = ""
    kept: np.ndarray = field(default_factory=lambda: np.zeros(0, int))  # the codes of groups 1, 2
    edges: np.ndarray = field(default_factory=lambda: np.zeros(0))  # of the bins

    @property
    def count(self) -> int:
        return 1 + len(self.edges) + len(self.kept)

    def __call__(self, M: EncodedColumns, z: np.ndarray) -> np.ndarray:
        """The number of the group of each row."""
        if self.column < 0:
            return np.searchsorted(self.edges, z[:, 0], side="right")
        codes = M.numbers[:, self.column].astype(int)
        return (codes[:, None] == self.kept) @ np.arange(1, len(self.kept) + 1)


@dataclass(frozen=True, eq=False)
class Spread:
    """The quantiles of new targets around their predictions."""

    scale: TargetScale
    encoder: TableEncoder  # that of the rows that were left out
    centre: float  # of predictions on the scale, as the steps read them
    width: float
    steps: tuple[SpreadStep, ...]
    groups: Groups
    scores: tuple[ScoreQuantiles, ...]  # one for each group

    def quantiles(self, X: Any, predicted: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """The quantiles of the targets of some rows, (n, levels); X is a table as it was read."""
        M = X if isinstance(X, EncodedColumns) else self.encoder.encoded(X).matrix
        with np.errstate(divide="ignore"):  # a refit may predict what that search never met
            f = np.clip(self.scale.forward(predicted), *self.scale.limits)
        z = self._standardised(f)
        sizes, groups = np.exp(self._log(M, z)), self.groups(M, z)
        scores = np.array([each(levels) for each in self.scores])[groups]
        found = f[:, None] + sizes[:, None] * scores
        return self.scale.back(np.clip(found, *self.scale.limits))

    def _standardised(self, f: np.ndarray) -> np.ndarray:
        return (f[:, None] - self.centre) / self.width

    def _log(self, M: EncodedColumns, z: np.ndarray) -> np.ndarray:
        return sum((step(M, z) for step in self.steps), np.zeros(len(z)))


def learn_spread(
    settings: SearchSettings,
    scale: TargetScale,
    encoder: TableEncoder,
    rows: np.ndarray,
    predicted: np.ndarray,
) -> Spread:
    """The spread around predictions for some rows, each by a fit that has not seen it."""
    M, w = settings.M[rows], settings.weights_of(rows)
    f = scale.forward(predicted)
    residuals = scale.forward(settings.y[rows]) - f
    centre, width = float(f.mean()), float(f.std()) or 1.0
    z = (f[:, None] - centre) / width
    steps, logs = _learn_steps(settings, M, z, residuals, w)
    scores = residuals / np.exp(logs)
    groups = _find_groups(settings, M, z, scores)
    numbers = groups(M, z)
    quantiles = []
    for group in range(groups.count):
        own = numbers == group
        own = own if own.sum() >= GROUP_ROWS else np.ones(len(own), bool)  # few are as all are
        quantiles.append(ScoreQuantiles.of(scores[own], None if w is None else w[own]))
    return Spread(scale, encoder, centre, width, steps, groups, tuple(quantiles))


def _learn_steps(settings, M, z, residuals, w) -> tuple[tuple[SpreadStep, ...], np.ndarray]:
    """The parts of log σ that pay, and their sum for each row as if it were a new one."""
    n, sizes = len(z), np.abs(residuals)
    steps: list[SpreadStep] = []
    logs = np.zeros(n)
    middle = float(np.median(sizes))
    if n < FEWEST or middle == 0:
        return (), logs
    target = np.log(np.maximum(sizes, FLOOR * middle))
    most = min(OBJECT_ROWS if settings.objects else ROWS, isqrt(settings.memory // 64))
    some = np.sort(np.random.default_rng(settings.seed).permutation(n)[:most])
    least = _loss(residuals[some], logs[some], w if w is None else w[some])
    for by_rows in (False, True):
        step, left_out = _learn_step(settings, M, z, target - logs, w, some, by_rows)
        tried = logs + step(M, z)
        tried[some] = logs[some] + left_out
        loss = _loss(residuals[some], tried[some], w if w is None else w[some])
        if loss < GAIN * least:
            steps.append(step)
            logs, least = tried, loss
    return tuple(steps), logs


def _learn_step(settings, M, z, target, w, some, by_rows) -> tuple[SpreadStep, np.ndarray]:
    """A step, and what it says of the rows that it was learnt from by leaving each out."""
    kernel: Any = RBF(0.5)
    X: Any = z[some]
    if by_rows:
        plain = Candidate("laplacian", 3.0, columns="normal")
        others = [each for each in candidates(settings.features) if not each.learn]
        candidate = plain if plain.suits(settings.features) else others[0]
        kernel, X = candidate.bound(settings.features, M[some])[0], M[some]
    weights = None if w is None else w[some]
    mean = float(np.average(target[some], weights=weights))
    rank = min(CENTRES, max(1, isqrt(settings.memory // 192)))  # six matrices in a quarter of it
    learner = KernelRidge(
        "auto", kernel=kernel, solver="low_rank", rank=rank, memory=settings.memory,
        n_jobs=settings.n_jobs, random_state=settings.seed,
    )  # fmt: skip
    left_out = learner.fit(X, target[some] - mean, weights).left_out_ + mean
    del learner.left_out_  # which is as long as the rows, and would be kept with the model
    ends = np.quantile(left_out, [0.001, 0.999])
    return SpreadStep(learner, by_rows, mean, ends), np.clip(left_out, *ends)


def _loss(residuals: np.ndarray, logs: np.ndarray, w: np.ndarray | None) -> float:
    """The mean pinball loss of the quantiles that follow from log σ."""
    sizes = np.exp(logs)
    found = sizes[:, None] * ScoreQuantiles.of(residuals / sizes, w)(LEVELS)
    off = residuals[:, None] - found
    return float(np.average(np.maximum(LEVELS * off, (LEVELS - 1) * off).mean(axis=1), weights=w))


def _find_groups(settings, M, z, scores) -> Groups:
    """The groups whose scores differ most, if a test says that they do; else one of all rows."""
    found: list[tuple[float, Groups]] = []
    edges = np.unique(np.quantile(z[:, 0], np.arange(1, BINS) / BINS))
    tried = [Groups(label="the prediction", edges=edges)]
    for column in read_as(settings.features, "code", "level"):
        codes, counts = np.unique(M.numbers[:, column].astype(int), return_counts=True)
        often = codes[counts >= GROUP_ROWS]
        if len(often) and len(codes) > 1 and len(often) <= MOST_GROUPS:
            tried.append(Groups(column, settings.features[column].label, often))
    for groups in tried:
        numbers = groups(M, z)
        parts = [scores[numbers == g] for g in np.unique(numbers)]
        parts = [part for part in parts if len(part) >= GROUP_ROWS]
        if len(parts) > 1:
            sure = min(_differ(parts), _differ([np.abs(part) for part in parts]))
            found.append((2 * len(tried) * sure, groups))
    sure, best = min(found, key=lambda each: each[0], default=(1.0, Groups()))
    return best if sure < SURE else Groups()


def _differ(parts: list[np.ndarray]) -> float:
    """The p-value of the test of Kruskal and Wallis; 1 where all values are equal."""
    values = np.concatenate(parts)
    return 1.0 if values.min() == values.max() else float(kruskal(*parts).pvalue)
