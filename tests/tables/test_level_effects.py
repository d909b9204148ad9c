"""Levels by their effects: right sizes, no row by its own target, nothing for what is new."""

import numpy as np
import pandas as pd
import pytest

from mercer.tables import TableEncoder, learn_effects
from mercer.tables.level_effects import _shrunken


def shops(n: int = 3000, levels: int = 300) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """A number, a column of many levels, the target, and the effect of each row's level."""
    rng = np.random.default_rng(0)
    x, level = rng.normal(size=n), rng.integers(0, levels, n)
    own = rng.normal(size=levels)[level]
    y = np.sin(2 * x) + own + 0.3 * rng.normal(size=n)
    table = pd.DataFrame({"x": x, "shop": [f"shop {k}" for k in level]})
    return table, y, own


def read(table: pd.DataFrame, y: np.ndarray, weights: np.ndarray | None = None):
    encoder = TableEncoder().fit(table)
    features = encoder.features_
    chosen = [j for j, f in enumerate(features) if f.kind in ("scaled", "code", "each")]
    own = [features[j] for j in chosen]
    M = encoder.transform(table)
    return encoder, learn_effects(M, chosen, own, y.reshape(len(y), -1), weights)


def test_a_column_of_many_levels_is_read_by_its_effects():
    table, y, own = shops()
    encoder, found = read(table, y)
    assert [(f.label, f.kind) for f in found.features] == [("x", "scaled"), ("shop", "scaled")]
    effect = found.effects[1]
    codes = encoder.transform(table).numbers[:, found.columns[1]]
    assert np.corrcoef(effect(codes) * effect.spread, own)[0, 1] > 0.98
    # the means of the targets themselves hold what x explains: they are farther from the truth
    means = table.assign(y=y).groupby("shop")["y"].transform("mean")
    assert np.corrcoef(effect(codes), own)[0, 1] > np.corrcoef(means, own)[0, 1]
    assert np.corrcoef(found.numbers[:, 1], own)[0, 1] > 0.95


def test_no_row_to_learn_from_knows_its_own_target():
    table, y, _ = shops(600, 60)
    before = read(table, y)[1].numbers[:, 1]
    folds = np.random.default_rng(0).permutation(600) % 5
    changed = np.where(folds == 2, y + 100 * np.random.default_rng(1).normal(size=600), y)
    effects = read(table, changed)[1]
    spread = read(table, y)[1].effects[1].spread
    own = effects.numbers[:, 1] * effects.effects[1].spread
    np.testing.assert_allclose(own[folds == 2], before[folds == 2] * spread, rtol=1e-5, atol=1e-6)
    assert not np.allclose(own[folds != 2], before[folds != 2] * spread)


def test_a_new_level_has_no_effect_and_rare_ones_have_little():
    table, y, _ = shops(600, 60)
    table.loc[0, "shop"], y[0] = "once", np.sin(2 * table["x"][0]) + 3
    encoder, found = read(table, y)
    effect, (_, column) = found.effects[1], found.columns
    new = pd.DataFrame({"x": [0.0, 0.0], "shop": ["never seen", "once"]})
    values = effect(encoder.transform(new).numbers[:, column]) * effect.spread
    assert values[0] == 0
    assert 2 < values[1] < 2.9


def test_levels_without_an_effect_are_all_the_same():
    table, y, own = shops()
    found = read(table, y - own)[1]
    assert np.abs(found.effects[1].values * found.effects[1].spread).max() < 0.1


def test_rows_without_weight_count_for_nothing_and_a_factor_of_all_changes_nothing():
    table, y, _ = shops(600, 60)
    w = np.where(np.arange(600) % 3 == 0, 0.0, 2.0)
    one, other = read(table, y, w)[1], read(table, np.where(w > 0, y, 99.0), 5 * w)[1]
    np.testing.assert_allclose(one.effects[1].values, other.effects[1].values, rtol=1e-5)
    plain, same = read(table, y)[1], read(table, y, np.full(600, 7.0))[1]
    np.testing.assert_allclose(plain.numbers, same.numbers, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("classes", [2, 4])
def test_classes_have_an_effect_for_each_but_two_have_one(classes):
    table, y, _ = shops()
    codes = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    targets = np.where(codes[:, None] == np.arange(classes), 1.0, -1.0)
    found = read(table, targets)[1]
    assert len(found.effects) == (1 if classes == 2 else 4)


def test_levels_that_tell_all_are_not_shrunken():
    """No residual is left within a level, and the level of what is new has no rows."""
    rest = np.array([1.0, 1.0, -1.0, -1.0])[:, None]
    found = _shrunken(np.array([0, 0, 1, 1]), rest, np.ones(4), 3)
    np.testing.assert_array_equal(found, [[1.0], [-1.0], [0.0]])


def test_rows_of_which_one_alone_counts_have_no_effects():
    table, y, _ = shops(600, 60)
    found = read(table, y, np.eye(600)[7])[1]
    assert np.isfinite(found.numbers).all()
    assert not found.effects[1].values.any()
