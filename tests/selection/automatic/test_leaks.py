"""No target reaches the prediction that it judges, shown by corrupting targets.

If the targets of one fold change, the predictions of that fold must not: whatever is fitted,
learnt, chosen or calibrated for it, the other rows alone decide. Predictions of other folds must
change, or the test would see nothing.
"""

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import KernelClassifier, KernelRegressor
from mercer.machines.candidates.order import candidates
from mercer.machines.holdout import hold_out, score_held_out
from mercer.machines.settings import Sizes
from mercer.machines.tasks import Classification, Regression
from mercer.tables.encoding import TableEncoder
from selection.automatic.held_out import HeldOutPredictions
from selection.automatic.simple_models import simple_model, simple_names

N = 90
RNG = np.random.default_rng(0)
WORDS = np.array(["one", "two", "three", "four", "five", "six"])
TABLE = pd.DataFrame(
    {
        "size": RNG.normal(size=N),
        "age": np.where(RNG.uniform(size=N) < 0.1, np.nan, RNG.integers(20, 60, size=N)),
        "colour": np.array(["red", "green", None], dtype=object)[RNG.integers(3, size=N)],
        "shop": [f"s{k % 30}" for k in np.random.default_rng(1).permutation(N)],
        "note": [" ".join(RNG.choice(WORDS, 6)) for _ in range(N)],
    }
)
NUMBERS = TABLE["size"] ** 2 + (TABLE["colour"] == "green") + TABLE["note"].str.count("one")
NUMBERS = (NUMBERS + 0.3 * RNG.normal(size=N)).to_numpy()
LABELS = np.array(["high", "low", "middle"])[np.digitize(NUMBERS, [1.0, 2.5])]
WEIGHTS = RNG.uniform(0.5, 2, N)
ENCODER = TableEncoder().fit(TABLE)
M = ENCODER.transform(TABLE)
FEATURES = ENCODER.features_


def schedule(kind):
    """All candidates of a task, in the entries of a search."""
    return [
        asdict(c) | {"rows": N, "rank": 60, "steps": [3] * 5}
        for c in candidates(FEATURES, kind.name)
        if not c.text or c.text == "words"
    ]


def corrupted(kind, y, rows):
    """The class "low" for all of the rows, or numbers far away from all others."""
    y = y.copy()
    y[rows] = "low" if kind is Classification else 50 - 30 * y[rows]
    return y


#: as for a small table, and as for one that has rows to spare for learning weights
FOLDS, ASIDE = Sizes(), Sizes(small_rows=10)


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "y", "weights", "sizes"),
    [
        (Classification, LABELS, None, FOLDS),
        (Regression, NUMBERS, WEIGHTS, ASIDE),
        (Classification, LABELS, WEIGHTS, ASIDE),
        (Regression, NUMBERS, None, ASIDE),
        (Regression, NUMBERS, WEIGHTS, FOLDS),
    ],
)
def test_the_targets_of_a_fold_do_not_reach_its_predictions(kind, y, weights, sizes):
    clean = HeldOutPredictions(kind, FEATURES, M, y, schedule(kind), weights, sizes=sizes)
    assert len(clean.of) == len(schedule(kind)) + 2
    fold = 3  # not the first: other folds might take what was learnt for that one
    own, others = clean.folds == fold, (clean.folds >= 0) & (clean.folds != fold)
    changed = corrupted(kind, y, own)
    other = HeldOutPredictions(
        kind, FEATURES, M, changed, schedule(kind), weights, clean.folds, sizes
    )
    for name, wanted in clean.of.items():
        found = other.of[name]
        assert_array_equal(found[own], wanted[own], err_msg=name)
        assert np.abs(found[others] - wanted[others]).max() > 1e-3, name


@pytest.mark.spread(1)
@pytest.mark.parametrize(("fit", "y"), [(KernelClassifier, LABELS), (KernelRegressor, NUMBERS)])
def test_held_out_targets_reach_the_scores_alone(fit, y):
    train, held_out = hold_out(N, y, fit.task)
    model = fit(trials=2).fit(TABLE.iloc[train], y[train])
    rows = TABLE.iloc[train], TABLE.iloc[held_out]
    before = score_held_out(model, (rows[0], y[train]), (rows[1], y[held_out]))
    after = score_held_out(model, (rows[0], y[train]), (rows[1], y[held_out][::-1]))
    assert after.score != before.score
    assert_array_equal(after.predicted, before.predicted)
    for name in simple_names(FEATURES):
        assert_array_equal(after.baseline_predictions[name], before.baseline_predictions[name])


@pytest.mark.parametrize(("kind", "y"), [(Classification, LABELS), (Regression, NUMBERS)])
def test_a_baseline_answers_a_row_alone_as_within_a_table(kind, y):
    """Knots, levels, words and their weights are those of the training rows."""
    task, y = kind.read(y, N, "the test")
    model = simple_model("linear (spline)", FEATURES, M[::2], y[::2], task)
    assert_allclose(model(M[1:4]), model(M)[1:4], rtol=1e-12)
