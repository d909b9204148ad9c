"""The scale on which a target of numbers is fitted: its own, or one on which its noise is alike.

Skewed, positive and bounded targets are often predicted better through their logarithm, root, logit
or ranks. `choose_scale` tries them by leave-one-out on some rows, and judges the predictions on the
target's own scale: by absolute errors for "mae" and very skewed targets, else by squared ones.
Predictions never leave the range that the target has by its nature.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isqrt
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from mercer.learners.ridge import KernelRidge
from mercer.machines import Regression, SearchSettings, TargetScale
from mercer.machines.candidates import Candidate, candidates

ROWS = 500  # that scales are tried on, at most
FEWEST = 50
GAIN = 0.95  # a scale is taken if its error is less than this share of the error without it
SKEWED = 4.0  # beyond, squared errors are those of a few rows, and absolute errors decide
LEVELS = 200  # most quantiles of ranks
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
    most = min(ROWS, isqrt(settings.memory // 64))  # the fit holds about four matrices
    if min(len(y), most) < FEWEST or len(np.unique(y)) <= FEW_VALUES:
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
    return best if errors[best] < GAIN * errors[own] else own


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
    levels = np.unique(np.quantile(y, np.linspace(0, 1, min(LEVELS, len(y)))))
    return [*found, RankScale.of(y, levels=levels)] if ranks else found


def _margin(y: np.ndarray, most: float) -> float:
    """Half the distance of the values inside from the nearest end: 0 if no value is at an end."""
    ends = np.minimum(y, most - y) / most
    return 0.0 if ends.min() > 0 else float(ends[ends > 0].min(initial=0.02) / 2)


def _skewness(y: np.ndarray) -> float:
    spread = y.std()
    return float(np.mean(((y - y.mean()) / spread) ** 3)) if spread > 0 else 0.0
