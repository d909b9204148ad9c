"""`LocalOutlierFactor` beside scikit-learn's."""

import numpy as np
import pytest
import sklearn.neighbors
from numpy.testing import assert_allclose, assert_array_equal

from mercer import LocalOutlierFactor
from mercer.distances import Edit, Minkowski

RNG = np.random.default_rng(4)
X = np.vstack([RNG.normal(size=(60, 3)), 4 * RNG.normal(size=(6, 3))])
NEW = np.vstack([RNG.normal(size=(10, 3)), 5 * RNG.normal(size=(10, 3))])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("contamination", ["auto", 0.1])
@pytest.mark.parametrize("params", [{}, {"metric": "manhattan"}, {"metric": "cosine"}])
def test_as_scikit_learn(params, contamination, dtype):
    made = [
        c(9, contamination=contamination, **params)
        for c in (LocalOutlierFactor, sklearn.neighbors.LocalOutlierFactor)
    ]
    answers = [model.fit_predict(X.astype(dtype)) for model in made]
    ours, theirs = made
    tol = 2e-3 if dtype == np.float32 else 1e-8
    assert_allclose(ours.negative_outlier_factor_, theirs.negative_outlier_factor_, rtol=tol)
    assert ours.negative_outlier_factor_.dtype == dtype
    assert_allclose(ours.offset_, theirs.offset_, rtol=tol)
    assert ours.n_neighbors_ == theirs.n_neighbors_
    assert_array_equal(*answers)
    new = [model.set_params(novelty=True).fit(X.astype(dtype)) for model in made]
    scores = [model.score_samples(NEW.astype(dtype)) for model in new]
    assert_allclose(*scores, rtol=tol)
    assert_allclose(new[0].decision_function(NEW), scores[0] - new[0].offset_, rtol=tol)
    assert_array_equal(*[model.predict(NEW.astype(dtype)) for model in new])


def test_precomputed_and_objects():
    plain = LocalOutlierFactor(9).fit(X)
    given = LocalOutlierFactor(9, metric="precomputed").fit(Minkowski()(X))
    assert_allclose(given.negative_outlier_factor_, plain.negative_outlier_factor_)
    names = ["anna", "anne", "hanna", "hanne", "johanna", "hannah", "xylophone"]
    found = LocalOutlierFactor(3, metric=Edit(), novelty=True).fit(names)
    assert_array_equal(found.predict(["hanne", "qqqqqqqqqqqq"]), [1, -1])


def test_methods_depend_on_novelty():
    model = LocalOutlierFactor().fit(X)
    for name in ("predict", "decision_function", "score_samples"):
        assert not hasattr(model, name)
    with pytest.raises(AttributeError, match="LocalOutlierFactor"):
        _ = model.predict
    assert not hasattr(LocalOutlierFactor(novelty=True), "fit_predict")


def test_warnings_and_errors():
    with pytest.warns(UserWarning, match=r"n_neighbors \(20\) is greater .* \(5\)"):
        model = LocalOutlierFactor().fit(X[:5])
    assert model.n_neighbors_ == 4
    twins = [[0.1]] * 8 + [[0.1 + 1e-9], [5.0]]
    with pytest.warns(UserWarning, match="Duplicate values are leading to incorrect results"):
        LocalOutlierFactor(3).fit(twins)
    with pytest.raises(ValueError, match="n_samples=1"):
        LocalOutlierFactor(1).fit(X[:1])
    for params, message in (
        ({"contamination": 0.6}, r"contamination=0\.6"),
        ({"contamination": "some"}, "contamination='some'"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"novelty": "yes"}, "novelty='yes'"),
    ):
        with pytest.raises(ValueError, match=message):
            LocalOutlierFactor(**params).fit(X)


@pytest.mark.parametrize("metric", ["manhattan", "precomputed"])
def test_sums_of_distances_beyond_floats_are_refused(metric):
    """Each distance is finite, but their sum is not: factors would be NaN, or 0."""
    line = np.linspace(-8e307, 8e307, 20)[:, None]
    rows = line if metric == "manhattan" else np.abs(line - line.T)
    with pytest.raises(ValueError, match=r"the fit is not finite.*e\+30"):
        LocalOutlierFactor(19, metric=metric).fit(rows)


def test_a_row_at_the_offset_is_usual():
    """An outlier is below it: of 11 rows, 10% is the second lowest factor itself."""
    model = LocalOutlierFactor(4, contamination=0.1)
    answers, theirs = model.fit_predict(X[:11]), sklearn.neighbors.LocalOutlierFactor(4)
    factors = model.negative_outlier_factor_
    assert (factors == model.offset_).sum() == 1
    assert_array_equal(answers == -1, factors == factors.min())
    theirs.set_params(contamination=0.1)
    assert_array_equal(answers, theirs.fit_predict(X[:11]))
    new = LocalOutlierFactor(4, novelty=True).fit(X)
    new.offset_ = np.sort(new.score_samples(NEW))[7]
    assert_array_equal(new.predict(NEW) == -1, new.score_samples(NEW) < new.offset_)


def test_float32_has_the_factors_of_float64():
    """Near ties, whose order rounded distances do not know."""
    rng = np.random.default_rng(0)
    rows = (rng.integers(0, 8, (300, 3)) / 7 + 1e-7 * rng.normal(size=(300, 3))).astype(np.float32)
    for novelty in (False, True):
        model = LocalOutlierFactor(10, novelty=novelty).fit(rows)
        want = LocalOutlierFactor(10, novelty=novelty).fit(rows.astype(np.float64))
        assert_allclose(model.negative_outlier_factor_, want.negative_outlier_factor_, rtol=1e-6)
    assert_allclose(model.score_samples(rows), want.score_samples(rows.astype(float)), rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e9])
@pytest.mark.parametrize("novelty", [False, True])
def test_factors_beside_duplicates_are_ordinary(scale, novelty):
    rng = np.random.default_rng(0)
    rows = np.concatenate([np.zeros((30, 2)), rng.normal(size=(100, 2)), [[9.0, 9.0]]])
    model = LocalOutlierFactor(novelty=novelty).fit(scale * rows)
    factors = model.negative_outlier_factor_
    assert_allclose(factors, LocalOutlierFactor().fit(rows).negative_outlier_factor_, rtol=1e-9)
    assert factors.argmin() == 130
    assert factors.min() > -30
    assert_allclose(factors[:30], -1)
    equal = LocalOutlierFactor(3, novelty=True).fit(np.full((9, 2), scale))
    assert_array_equal(equal.negative_outlier_factor_, -np.ones(9))
    assert_array_equal(equal.predict([[scale, scale]]), [1])


def test_a_huge_factor_is_said_for_new_samples_too():
    twins = [[0.1]] * 8 + [[0.1 + 1e-9], [5.0]]
    with pytest.warns(UserWarning, match="Duplicate values"):
        LocalOutlierFactor(3, novelty=True).fit(twins)
