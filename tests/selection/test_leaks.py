"""No target reaches the prediction that it judges, shown by corrupting targets.

The held-out predictions of a search are read through its metric, which is handed all of them. If
the targets of one fold change, the predictions of that fold must not: whatever is fitted, learnt,
chosen or calibrated for it, the rest of the rows alone decide. Those of other folds must change,
or the test would see nothing.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import KernelClassifier, KernelRegressor
from mercer.selection import trials
from mercer.selection.baselines import BASELINES, fit_baseline
from mercer.selection.budget import Budget
from mercer.selection.candidates import candidates
from mercer.selection.encoding import TableEncoder
from mercer.selection.holdout import hold_out, score_held_out
from mercer.selection.metrics import Metric
from mercer.selection.tasks import Classification, Regression

N = 90
RNG = np.random.default_rng(0)
WORDS = np.array(["one", "two", "three", "four", "five", "six"])
TABLE = pd.DataFrame(
    {
        "size": RNG.normal(size=N),
        "age": np.where(RNG.uniform(size=N) < 0.1, np.nan, RNG.integers(20, 60, size=N)),
        "colour": np.array(["red", "green", None], dtype=object)[RNG.integers(3, size=N)],
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
SCHEDULE = [
    {"family": c.family, "scale": c.scale, "learn": c.learn, "text": c.text, "rows": N,
     "rank": 60, "steps": [3] * 5}
    for c in candidates(FEATURES) if not c.text or c.text == "words"
]  # fmt: skip


class Search:
    """A search whose metric keeps the held-out predictions that it is handed."""

    def __init__(self, kind, y, weights=None, folds=None, schedule=None):
        task, y = kind.read(y, N, "the test")
        metric = Metric("kept", task.name, self._keep, probabilities=task.name != "regression")
        self.trials = trials.Trials(
            task, FEATURES, M, y, metric, weights=weights, budget=Budget(), memory=10**9, seed=0
        )
        self.folds = self.trials._folds(N)[1] if folds is None else folds
        # the folds are stratified by the targets, which change; the folds must not
        self.trials._folds = lambda count: (np.arange(N), self.folds)
        self.kept = []
        self.trials.replay(SCHEDULE if schedule is None else schedule)
        names = [*BASELINES, *(row["name"] for row in self.boards)]
        self.predictions = dict(zip(names, self.kept, strict=True))

    @property
    def boards(self):
        """The rows of the candidates, in the order in which they were tried."""
        tried = [row for row in self.trials.leaderboard if not row["baseline"]]
        names = [trials.Candidate.of(entry).name for entry in self.trials.schedule[:-1]]
        return sorted(tried, key=lambda row: names.index(row["name"]))

    def _keep(self, y, predicted, *_):
        if len(y) == (self.folds >= 0).sum():
            out = np.full((N, *predicted.shape[1:]), np.nan)
            out[self.folds >= 0] = predicted
            self.kept.append(out)
        return 0.5


def corrupted(kind, y, rows):
    """The class "low" for all of the rows, or numbers far away from all others."""
    y = y.copy()
    y[rows] = "low" if kind is Classification else 50 - 30 * y[rows]
    return y


@pytest.fixture(params=["all rows in folds", "rows set aside"])
def aside(request, monkeypatch):
    """As for a small table, and as for one that has rows to spare for learning weights."""
    if request.param == "rows set aside":
        monkeypatch.setattr(trials, "SMALL_ROWS", 10)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize(("kind", "y"), [(Classification, LABELS), (Regression, NUMBERS)])
def test_the_targets_of_a_fold_do_not_reach_its_predictions(kind, y, weights, aside):
    clean = Search(kind, y, weights)
    assert len(clean.predictions) == len(SCHEDULE) + 2
    for fold in (0, 3):
        own, others = clean.folds == fold, (clean.folds >= 0) & (clean.folds != fold)
        other = Search(kind, corrupted(kind, y, own), weights, clean.folds)
        for name, wanted in clean.predictions.items():
            found = other.predictions[name]
            assert_array_equal(found[own], wanted[own], err_msg=name)
            assert np.abs(found[others] - wanted[others]).max() > 1e-3, name


@pytest.mark.parametrize(("fit", "y"), [(KernelClassifier, LABELS), (KernelRegressor, NUMBERS)])
def test_held_out_targets_reach_the_scores_alone(fit, y):
    train, held_out = hold_out(N, y, fit.task)
    model = fit(trials=2).fit(TABLE.iloc[train], y[train])
    rows = TABLE.iloc[train], TABLE.iloc[held_out]
    before = score_held_out(model, (rows[0], y[train]), (rows[1], y[held_out]))
    after = score_held_out(model, (rows[0], y[train]), (rows[1], y[held_out][::-1]))
    assert after.score != before.score
    assert_array_equal(after.predicted, before.predicted)
    for name in BASELINES:
        assert_array_equal(after.baseline_predictions[name], before.baseline_predictions[name])


@pytest.mark.parametrize(("kind", "y"), [(Classification, LABELS), (Regression, NUMBERS)])
def test_a_baseline_answers_a_row_alone_as_within_a_table(kind, y):
    """Knots, levels, words and their weights are those of the training rows."""
    task, y = kind.read(y, N, "the test")
    model = fit_baseline("linear (spline)", FEATURES, M[::2], y[::2], task.name)
    assert_allclose(task.answers(model, M[1:4]), task.answers(model, M)[1:4], rtol=1e-12)
