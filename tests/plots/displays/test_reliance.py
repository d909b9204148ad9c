"""What predictions rest on: losses of columns that are known."""

from itertools import product

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.machines import metric_named
from mercer.plots import RelianceDisplay

mpl.use("Agg")
RNG = np.random.default_rng(0)
X = np.tile(np.array(list(product([-1.0, 1.0], repeat=4))), (30, 1))


class Known:
    """A model that is a function."""

    _estimator_type = "regressor"

    def __init__(self, f):
        self.f = f

    def predict(self, X):
        return self.f(X)

    def __sklearn_tags__(self):
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type="regressor", target_tags=TargetTags(required=True))


def measured(f, **options):
    return RelianceDisplay.measured(Known(f), X, f(X), **options)


def test_columns_of_an_additive_model_lose_their_shares():
    display = measured(lambda X: 2 * X[:, 0] + X[:, 1])
    loss = dict(zip(display.columns, display.loss))
    assert loss[0] == pytest.approx(0.8, abs=0.06)
    assert loss[1] == pytest.approx(0.2, abs=0.06)
    assert loss[2] == loss[3] == 0
    assert display.full == 1
    assert (display.low <= display.loss).all()
    assert display.plot().bars_[0].get_width() == display.loss[0]


def test_both_columns_of_an_exclusive_or_are_needed():
    display = measured(lambda X: X[:, 0] * X[:, 1])
    assert sorted(display.columns[:2]) == [0, 1]
    assert display.loss[:2] == pytest.approx([1.0, 1.0], abs=0.06)


def test_time_ends_it_after_a_column():
    display = measured(lambda X: X[:, 0], time=0.0)
    assert len(display.columns) == 1
    assert display.n_columns == 4


@pytest.mark.parametrize("names", [("no", "yes"), (False, True), (3, 7)])
def test_a_classifier_without_probabilities_may_have_any_names_of_classes(names):
    y = np.array(names)[(X[:, 0] * X[:, 1] > 0).astype(int)]
    display = RelianceDisplay.measured(mercer.SVC(gamma=1.0).fit(X, y), X, y)
    assert {*display.columns[:2]} == {0, 1}
    assert display.measure == "accuracy"


@pytest.mark.spread(1)
@pytest.mark.parametrize("name", ["roc_auc", "log_loss", "accuracy"])
def test_the_losses_are_in_the_metric_that_was_chosen(name):
    """Where one class is rare, R² of the probabilities may be 0 at a good order of the rows."""
    metric = metric_named(name, "classification")
    Z = pd.DataFrame(RNG.normal(size=(400, 2)), columns=["tells", "noise"])
    y = np.where(Z["tells"] + RNG.normal(size=400) > 0, "yes", "no")
    model = mercer.KernelLogisticRegression(kernel="linear").fit(Z, y)
    display = RelianceDisplay.measured(model, Z, y, metric=metric)
    P = model.predict_proba(Z)
    value = metric(y, P, model.classes_)
    shares = np.tile([np.mean(y == "no"), np.mean(y == "yes")], (400, 1))
    constant = metric(y, shares, model.classes_)
    part = value if metric.higher_is_better else 1 - value / constant
    assert display.full == pytest.approx(part)
    assert display.chance == (constant if metric.higher_is_better else 0)
    assert display.measure.count(name) == (1 if metric.higher_is_better else 2)
    assert display.columns == ["tells", "noise"]
    # without the column that tells, nothing but the constant is left
    assert display.loss[0] == pytest.approx(display.full - display.chance, abs=0.05)
    assert display.low[0] > 0.1
    assert display.low[1] <= display.loss[1] <= display.high[1]
    assert abs(display.loss[1]) < 0.03


def test_losses_of_absolute_errors_are_parts_of_those_of_the_mean():
    metric = metric_named("mae", "regression")
    display = RelianceDisplay.measured(Known(lambda X: X[:, 0]), X, X[:, 0], metric=metric)
    assert display.full == 1
    assert display.loss[0] == pytest.approx(1, abs=0.06)
    assert display.measure == "1 − mae / mae of a constant"
