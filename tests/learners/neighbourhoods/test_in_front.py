"""A learnt neighbourhood as a transformer in front of other learners, trained anew or as it is."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import mercer
from mercer import (
    SVC,
    KernelDensity,
    KernelRidge,
    KNeighborsClassifier,
    KNeighborsRegressor,
    NadarayaWatson,
    NadarayaWatsonClassifier,
    NearestNeighbors,
    NeighbourGaussianProcess,
    NeighbourhoodMachineClassifier,
    NeighbourhoodMachineRegressor,
)

QUICK = {"steps": 150, "hidden": 32, "scaling": "standard", "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(600, 3))
STAIRS = np.floor(4 * X[:, 0]) * (X[:, 1] > 0.5)
SIDES = np.where(STAIRS > 1, "high", "low")
TRAIN, NEW = slice(0, 400), slice(400, 600)
OF_NUMBERS = [
    KNeighborsRegressor(5),
    NadarayaWatson(),
    NadarayaWatson("learnt", window="exponential"),
    NeighbourGaussianProcess(50),
    KernelRidge(kernel="laplacian"),
]
OF_CLASSES = [KNeighborsClassifier(5), NadarayaWatsonClassifier(), SVC()]


def name(learner):
    return type(learner).__name__


@pytest.fixture(scope="module")
def maps():
    """Fitted machines for numbers and for classes."""
    return {
        False: NeighbourhoodMachineRegressor(**QUICK).fit(X[TRAIN], STAIRS[TRAIN]),
        True: NeighbourhoodMachineClassifier(**QUICK).fit(X[TRAIN], SIDES[TRAIN]),
    }


@pytest.mark.spread(3)
@pytest.mark.parametrize("learner", [*OF_NUMBERS, *OF_CLASSES], ids=name)
@pytest.mark.parametrize("trained", ["as it is", "anew"])
def test_learners_are_better_in_z(learner, trained, maps, tmp_path):
    classes = learner in OF_CLASSES
    y = SIDES if classes else STAIRS
    machine = FrozenEstimator(maps[classes]) if trained == "as it is" else clone(maps[classes])
    model = make_pipeline(machine, clone(learner)).fit(X[TRAIN], y[TRAIN])
    plain = clone(learner).fit(X[TRAIN], y[TRAIN])
    assert model.score(X[NEW], y[NEW]) > max(plain.score(X[NEW], y[NEW]), 0.9)
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    if classes:
        assert (loaded.predict(X[NEW]) == model.predict(X[NEW])).all()
    else:
        assert_allclose(loaded.predict(X[NEW]), model.predict(X[NEW]))


def test_densities_and_neighbours_in_z(maps):
    Z = maps[False].transform(X)
    front = FrozenEstimator(maps[False])
    density = make_pipeline(front, KernelDensity(bandwidth=1.0)).fit(X[TRAIN])
    expected = KernelDensity(bandwidth=1.0).fit(Z[TRAIN]).score_samples(Z[NEW])
    assert_allclose(density.score_samples(X[NEW]), expected)
    distances, rows = NearestNeighbors(n_neighbors=3).fit(Z[TRAIN]).kneighbors(Z[NEW])
    found, numbers = maps[False].kneighbors(X[NEW], 3)
    assert_allclose(found, distances, rtol=1e-3, atol=1e-4)
    assert np.mean(numbers == rows) > 0.99


def test_columns_of_a_table_pass_through_the_map(maps):
    table = pd.DataFrame(X, columns=list("abc")).assign(
        a=np.where(X[:, 2] > 0.9, np.nan, X[:, 0]), kind=np.where(X[:, 1] > 0.5, "up", "down")
    )
    machine = NeighbourhoodMachineRegressor(**QUICK)
    model = make_pipeline(machine, KNeighborsRegressor(5)).fit(table[TRAIN], STAIRS[TRAIN])
    assert model.score(table[NEW], STAIRS[NEW]) > 0.8


def test_a_frozen_map_is_not_trained_by_folds(maps):
    model = make_pipeline(FrozenEstimator(maps[True]), KNeighborsClassifier(5))
    before = maps[True].transform(X[:5])
    assert cross_val_score(model, X[NEW], SIDES[NEW], cv=3).mean() > 0.9
    assert_allclose(maps[True].transform(X[:5]), before)
