"""A search that goes on after an earlier one: nothing is tried twice, and nothing is mixed up."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import KernelClassifier, KernelRegressor

RNG = np.random.default_rng(8)
TABLE = pd.DataFrame({name: RNG.normal(size=150) for name in "abc"}).assign(
    d=RNG.choice(["red", "blue"], 150), t=RNG.choice(["a word", "two", "words here"], 150)
)
WAVE = np.sin(2 * TABLE["a"].to_numpy()) + (TABLE["d"] == "red") + 0.2 * RNG.normal(size=150)
RING = np.where(WAVE > 0.5, "in", "out")
KINDS = pytest.mark.parametrize(
    ("kind", "y"), [(KernelRegressor, WAVE), (KernelClassifier, RING)], ids=["numbers", "classes"]
)


class Told:
    """Remembers the trials that a fit has made; Ctrl-C after some of them."""

    def __init__(self, most=100):
        self.names, self.most = [], most

    def __call__(self, event):
        self.names.append(event["trial"])
        if len(self.names) > self.most:
            self.most = 100
            raise KeyboardInterrupt

    @property
    def trials(self):
        return [n for n in self.names if not n.startswith(("baseline", "final fit"))]


def answers(model):
    return (
        model.predict(TABLE) if isinstance(model, KernelRegressor) else model.predict_proba(TABLE)
    )


@KINDS
def test_what_was_tried_is_not_tried_again(kind, y, tmp_path):
    first = kind(trials=3, progress=Told(most=4))  # two baselines, two trials
    with pytest.raises(KeyboardInterrupt):
        first.fit(TABLE, y)
    first.progress = None
    mercer.save(first, tmp_path / "half.mercer")
    told = Told()
    whole = kind(trials=3).fit(TABLE, y)
    half = mercer.load(tmp_path / "half.mercer")
    again = kind(trials=3, progress=told).fit(TABLE, y, resume=half)
    assert not any(name.startswith("baseline") for name in told.names)
    assert len(told.trials) == 1
    scores = {row["name"]: row["score"] for row in again.leaderboard_}
    for row in whole.leaderboard_:
        if not row["name"].startswith("mean of"):
            assert_allclose(scores[row["name"]], row["score"])
    assert again.winner_ == whole.winner_


@pytest.mark.spread(1)
@KINDS
def test_a_complete_search_ends_at_once_and_gives_the_same_model(kind, y):
    whole, told = kind(trials=3).fit(TABLE, y), Told()
    again = kind(trials=3, progress=told).fit(TABLE, y, resume=whole)
    assert told.trials == []
    assert again.winner_ == whole.winner_
    if len(whole.machine_.parts) == 1:
        assert_array_equal(answers(again), answers(whole))


def test_thresholds_of_a_known_winner_are_chosen_again():
    y = np.where(WAVE > 1.4, "rare", "usual")
    whole = KernelClassifier(trials=2, metric="f1").fit(TABLE, y)
    again = KernelClassifier(trials=2, metric="f1").fit(TABLE, y, resume=whole)
    if again.winner_name_ == whole.winner_name_:
        assert_array_equal(again.decision_weights_, whole.decision_weights_)
    assert not np.all(again.decision_weights_ == 1)


def test_kernels_that_all_folds_share_are_learnt_in_the_same_steps(sizes):
    sizes(small_rows=40)
    whole = KernelRegressor(trials=1, only="kernels").fit(TABLE, WAVE)
    assert whole.schedule_[0]["learn"]
    again = KernelRegressor(trials=1, only="kernels").fit(TABLE, WAVE, resume=whole)
    assert_array_equal(answers(again), answers(whole))


@pytest.fixture(scope="module")
def earlier():
    return KernelRegressor(trials=1).fit(TABLE, WAVE)


@pytest.mark.parametrize("what", ["rows", "a text", "target", "weights", "metric", "seed", "kind"])
def test_another_table_is_refused(what, earlier):
    X, y, settings, w = TABLE, WAVE, {}, None
    if what == "rows":
        X = TABLE.assign(a=TABLE["a"].to_numpy()[::-1])
    elif what == "a text":
        X = TABLE.assign(t=["other", *TABLE["t"][1:]])
    elif what == "target":
        y = WAVE + 1e-9
    elif what == "weights":
        w = np.linspace(1, 2, 150)
    else:
        settings = {"metric": {"metric": "mae"}, "seed": {"random_state": 1},
                    "kind": {"kind": {"d": "drop"}}}[what]  # fmt: skip
    with pytest.raises(ValueError, match="resume= was fitted to other rows, targets or weights"):
        KernelRegressor(trials=1, **settings).fit(X, y, w, resume=earlier)


def test_what_was_never_fitted_is_refused():
    with pytest.raises(ValueError, match="resume=KernelRegressor: give a Kernel"):
        KernelRegressor(trials=1).fit(TABLE, WAVE, resume=KernelRegressor())
