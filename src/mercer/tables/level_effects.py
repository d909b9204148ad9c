r"""Effects of levels: columns of many levels become numbers, by the targets of their rows.

Of an airport, a shop or a user that occurs in few rows, what counts is how the targets of these
rows differ from what the other columns let expect. The model is that of random effects,

.. math:: y_i = f(x_i) + \sum_c u_{c, l_c(i)} + e_i, \quad
    u_{c,l} = \frac{\sum_{i: l_c(i) = l} r_i}{n_l + \sigma_e^2 / \sigma_c^2},

with f linear in splines and products of the numbers, r the residuals without the effects of column
c, and the two variances by moments (Henderson, "Estimation of variance and covariance components",
Biometrics 1953): an effect of few rows is shrunk to 0, as is that of a level that is new. Rows from
which a model is to be learnt have effects by the rows of the other folds: their own targets do not
reach them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.persistence import fields, floats
from mercer.samples import EncodedColumns
from mercer.tables.encoding import Feature

FOLDS = 5
ROUNDS = 3  # of the numbers' part and the effects in turn
KNOTS = (-0.7, 0.0, 0.7)  # of standardised numbers
PAIRED = 15  # most numbers whose products are taken too
VALUES = 20_000_000  # of the largest matrix of splines; beyond, numbers are read as they are
RIDGE = 1e-3  # relative to the weight of the rows


@fields(values=floats(1))
class LevelEffect:
    """The effect of each level of a column, in standard deviations; a map of its codes.

    ``spread`` is the standard deviation of the effects in the units of the targets.
    """

    def __init__(self, values: np.ndarray, spread: float):
        self.values, self.spread = values, spread

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        """The effects of codes of any shape; a code beyond the known ones has the effect 0."""
        known = np.append(self.values, np.float32(0))
        return known[np.clip(codes, 0, len(self.values)).astype(np.intp)]


class EffectColumns(NamedTuple):
    """What `learn_effects` has made of some columns of an encoded table."""

    columns: list[int]  # of the table; a column is there once for each target
    features: list[Feature]
    effects: dict[int, LevelEffect]  # by their places in ``columns``
    numbers: np.ndarray  # of the rows that were learnt from, (n, columns)


def learn_effects(
    M: EncodedColumns,
    columns: list[int],
    features: list[Feature],
    Y: np.ndarray,
    weights: np.ndarray | None = None,
    seed: int = 0,
) -> EffectColumns:
    """Read the columns of kind "each" by the effects of their levels on the targets, (n, outputs).

    ``features`` are those of ``columns``. A column of effects has the kind of the numbers among
    them, or "scaled". The codes of the same categories in which rare levels are one are left out.
    """
    Y = np.asarray(Y, np.float64)
    if Y.shape[1] == 2 and np.allclose(Y[:, 0], -Y[:, 1]):
        Y = Y[:, :1]  # two classes, of which one says the other
    n = len(Y)
    w = np.ones(n) if weights is None else np.asarray(weights, np.float64)
    w = w / w[w > 0].mean()
    many = {feature.source for feature in features if feature.kind == "each"}
    kind = next((f.kind for f in features if f.kind not in ("code", "each", "level")), "scaled")
    chosen = [
        (j, feature) for j, feature in zip(columns, features)
        if feature.kind != "code" or feature.source not in many
    ]  # fmt: skip
    model = _RandomEffects(M, chosen, Y)
    whole, folds = model.fitted(w), np.random.default_rng(seed).permutation(n) % FOLDS
    crossed = {j: np.zeros_like(Y) for j in whole}
    for f in range(min(FOLDS, n)):
        held = folds == f
        for j, values in model.fitted(np.where(held, 0.0, w)).items():
            crossed[j][held] = values[model.codes[j][held]]
    found = EffectColumns([], [], {}, np.empty((n, 0), np.float32))
    numbers: list[np.ndarray] = []
    for j, feature in chosen:
        if feature.kind != "each":
            found.columns.append(j)
            found.features.append(feature)
            numbers.append(M.numbers[:, j])
            continue
        for k in range(Y.shape[1]):
            spread = float(np.sqrt(np.average(crossed[j][:, k] ** 2, weights=w))) or 1.0
            effect = LevelEffect((whole[j][:, k] / spread).astype(np.float32), spread)
            found.effects[len(found.columns)] = effect
            found.columns.append(j)
            found.features.append(replace(feature, kind=kind))
            numbers.append((crossed[j][:, k] / spread).astype(np.float32))
    return found._replace(numbers=np.stack(numbers, axis=1))


class _RandomEffects:
    """The model of the columns of a table, to be fitted with several weights of the rows."""

    def __init__(self, M: EncodedColumns, chosen: list[tuple[int, Feature]], Y: np.ndarray):
        self.Y = Y
        coded = [j for j, feature in chosen if feature.kind in ("code", "each", "level")]
        self.many = [j for j, feature in chosen if feature.kind == "each"]
        self.codes = {j: M.numbers[:, j].astype(np.intp) for j in coded}
        self.sizes = {j: int(codes.max()) + 1 for j, codes in self.codes.items()}
        x = M.numbers[:, [j for j, _ in chosen if j not in self.codes]].astype(np.float64)
        parts = [np.ones((len(Y), 1)), x]
        if x.size * (1 + len(KNOTS)) <= VALUES:
            parts += [np.maximum(0, x - knot) for knot in KNOTS]
        if x.shape[1] <= PAIRED and x.size * x.shape[1] <= VALUES:
            parts += [x[:, k + 1 :] * x[:, [k]] for k in range(x.shape[1])]
        self.F = np.hstack(parts)

    def fitted(self, w: np.ndarray) -> dict[int, np.ndarray]:
        """The effects of the levels of the columns of many, (levels, outputs)."""
        F, Y, v = self.F, self.Y, w[:, None]
        G = F.T @ (F * v)
        G.flat[:: len(G) + 1] += RIDGE * (w.sum() or 1.0)  # the only row may be held out
        factor = cho_factor(G)
        found = {j: np.zeros((size, Y.shape[1])) for j, size in self.sizes.items()}
        for _ in range(ROUNDS):
            rest = Y - sum((own[self.codes[j]] for j, own in found.items()), np.zeros_like(Y))
            rest = rest - F @ cho_solve(factor, F.T @ (v * rest))
            for j, own in found.items():
                rest += own[self.codes[j]]
                found[j] = _shrunken(self.codes[j], rest, w, self.sizes[j])
                rest -= found[j][self.codes[j]]
        return {j: found[j] for j in self.many}


def _shrunken(codes: np.ndarray, rest: np.ndarray, w: np.ndarray, size: int) -> np.ndarray:
    """The shrunken means of the residuals of each level, (size, outputs)."""
    counts = np.bincount(codes, w, size)
    sums = np.stack([np.bincount(codes, w * column, size) for column in rest.T], axis=1)
    met = counts > 0
    total, levels = counts.sum(), int(met.sum())
    between = float(np.sum(sums[met] ** 2 / counts[met, None]))  # of all outputs together
    within = max(float(np.sum(w[:, None] * rest**2)) - between, 0.0) / max(total - levels, 1.0)
    spread = between - levels * within
    if spread <= 0 or total - levels < 1:  # rows of levels of their own tell no effect from noise
        return np.zeros_like(sums)
    variance = spread / max(total - float(np.sum(counts**2)) / total, 1.0)
    # where the levels tell all, nothing shrinks; a level without rows has no effect
    return sums / np.where(met, counts + within / variance, 1.0)[:, None]
