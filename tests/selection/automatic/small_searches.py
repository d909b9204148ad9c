"""A small table with a target of classes and one of numbers, and searches of its rows."""

from functools import cache

import numpy as np
import pandas as pd
from numpy.testing import assert_array_equal

from mercer import KernelRegressor
from mercer.machines.columns import AdditiveMachine, LearntNeighbourhood
from mercer.machines.scores import metric_named
from mercer.machines.settings import SearchSettings
from mercer.machines.tasks import Classification, Regression
from mercer.selection.automatic.trials import Trials
from mercer.threads import clock as clocks

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(240, 3))
TABLE = pd.DataFrame(X, columns=list("abc")).assign(
    colour=np.array(list("rgb"))[RNG.integers(3, size=240)]
)
RING = np.where((X[:, 0] ** 2 + X[:, 1] ** 2 < 0.5) ^ (TABLE["colour"] == "r"), "in", "out")
NOISY_RING = np.where(RNG.uniform(size=240) < 0.15, "in", RING)
WAVE = np.sin(4 * X[:, 0]) * X[:, 1] + 0.1 * RNG.normal(size=240)


@cache
def fitted_once(kind):
    """The model of one trial, whose encoder new searches of these rows have."""
    return kind(trials=1).fit(TABLE, WAVE if kind is KernelRegressor else RING)


def search_of(model, y, metric=None, seconds=np.inf, **given):
    """A new search of the rows that a model was fitted to; ``given`` are other settings."""
    Task = Classification if model.task == "classification" else Regression
    task, y = Task.read(y, len(y), "the test")
    settings = {
        "M": model.encoder_.transform(TABLE), "metric": metric_named(metric, model.task),
        "memory": 10**9, "seed": model._seed, "clock": clocks.Clock(seconds),
        "sizes": model.sizes,
    }  # fmt: skip
    features = model.encoder_.features_
    return Trials(SearchSettings(task, features, y=y, **{**settings, **given}))


def same_model(one, two):
    """Fails where two models or their searches differ in a bit."""
    for part, same in zip(one.machine_.parts, two.machine_.parts, strict=True):
        assert_array_equal(part.stored, same.stored)
        if isinstance(part, LearntNeighbourhood):
            assert_array_equal(part.learner.members_[0].Z, same.learner.members_[0].Z)
        elif isinstance(part, AdditiveMachine):
            assert_array_equal(part.learner.penalties_, same.learner.penalties_)
        else:
            assert_array_equal(part.learner.dual_coef_, same.learner.dual_coef_)
            assert_array_equal(part(part.learner.X_fit_), same(same.learner.X_fit_))
            assert repr(part.kernel) == repr(same.kernel)
    assert one.winner_ == two.winner_
    assert one.schedule_ == two.schedule_
    scores = [[row["score"] for row in model.leaderboard_] for model in (one, two)]
    assert_array_equal(*scores)
