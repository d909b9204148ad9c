"""Feature machines: what the metric finds, the same machine for the same rows, conventions."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import FeatureMachineClassifier, FeatureMachineRegressor

MACHINES = [FeatureMachineRegressor, FeatureMachineClassifier]


@parametrize_with_checks([FeatureMachineRegressor(), FeatureMachineClassifier()])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def smooth(n=400, d=6, seed=0):
    """A function of column 2 alone, whose unit is far from those of the others."""
    X = np.random.default_rng(seed).uniform(-1, 1, (n, d))
    y = np.sin(5 * X[:, 2])
    X[:, 2] *= 1e4
    return X, y


def sample(Machine, n=300):
    X, y = smooth(n)
    return X, (y > 0) if Machine is FeatureMachineClassifier else y


def values(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.parametrize("Machine", MACHINES)
@pytest.mark.parametrize("form", [{"norm": 1}, {"norm": 2}, {"metric": "full"}, {"power": 0.7}])
def test_a_planted_column_is_found_in_any_unit(Machine, form):
    X, y = sample(Machine)
    model = Machine(random_state=0, **form).fit(X, y)
    assert model.relevance_.argmax() == 2
    assert model.relevance_[2] > 0.8
    assert_allclose(model.relevance_.sum(), 1)
    assert model.step_ > 0
    assert model.errors_[model.step_] < 0.7 * model.errors_[0]


def test_a_full_metric_finds_a_direction_that_no_column_has():
    X = np.random.default_rng(1).normal(size=(500, 6))
    direction = np.array([1, -1, 0, 0, 1, 0]) / np.sqrt(3)
    y = np.sin(2 * X @ direction)
    model = FeatureMachineRegressor(random_state=0).fit(X[:400], y[:400])
    assert model.metric_.shape == (6, 6)  # "auto" has chosen the full one
    first = np.linalg.eigh(model.metric_)[1][:, -1]
    assert abs(first @ direction) > 0.99
    diagonal = FeatureMachineRegressor(metric="diagonal", random_state=0).fit(X[:400], y[:400])
    assert diagonal.metric_.shape == (6,)
    wrong, wrong_diagonal = (1 - m.score(X[400:], y[400:]) for m in (model, diagonal))
    assert wrong < 0.1 * wrong_diagonal


def test_a_full_metric_must_win_by_a_quarter():
    X, y = smooth()
    model = FeatureMachineRegressor(random_state=0).fit(X, y)
    assert model.metric_.ndim == 1


def test_the_kernel_is_what_the_attributes_say():
    X, y = smooth()
    for form in ({"norm": 1}, {"norm": 2}, {"metric": "full"}):
        model = FeatureMachineRegressor(random_state=0, **form).fit(X, y)
        A = np.asarray(model.kernel_.metric.linear_map)
        A = np.diag(A) if A.ndim == 1 else A
        gaps = (X[:20, None] - X[None, :20]) @ A.T
        norms = (np.abs(gaps) ** model.norm_).sum(-1) ** (1 / model.norm_)
        assert_allclose(model.kernel_(X[:20]), np.exp(-(norms**model.power_)), rtol=1e-6, atol=1e-9)
        # in units of the columns' deviations AᵀA has the shape of metric_
        M = A.T @ A / np.outer(*[1 / X.std(axis=0)] * 2)
        G = model.metric_ if model.metric_.ndim == 2 else np.diag(model.metric_)
        assert_allclose(M / M.trace(), G, atol=0.01)


@pytest.mark.full
def test_many_classes_share_one_fit():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(26, 8)) * 3
    codes = rng.integers(0, 26, 1000)
    X = np.hstack([centres[codes] + rng.normal(size=(1000, 8)), rng.normal(size=(1000, 8)) * 3])
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))[codes]
    model = FeatureMachineClassifier(random_state=0).fit(X[:800], letters[:800])
    P = model.predict_proba(X[800:])
    assert P.shape == (200, 26)
    assert_allclose(P.sum(axis=1), 1)
    assert (model.predict(X[800:]) == letters[800:]).mean() > 0.9
    assert model.relevance_[:8].min() > model.relevance_[8:].max()
    likelihoods = P[np.arange(200), codes[800:]]
    assert -np.log(likelihoods).mean() < 0.5  # the entropy of 26 equal classes is 3.3


@pytest.mark.full
def test_probabilities_are_calibrated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    true = 1 / (1 + np.exp(-2 * X[:, 1]))
    y = rng.random(1500) < true
    model = FeatureMachineClassifier(random_state=0).fit(X[:1000], y[:1000])
    P = model.predict_proba(X[1000:])[:, 1]
    assert np.abs(P - true[1000:]).mean() < 0.06
    assert_array_equal(model.predict(X), model.decision_function(X) > 0)


@pytest.mark.parametrize("Machine", MACHINES)
def test_neither_order_nor_units_nor_columns_change_the_machine(Machine):
    X, y = sample(Machine)
    expected = values(Machine(random_state=3).fit(X, y), X)
    p = np.random.default_rng(0).permutation(len(X))
    assert_allclose(values(Machine(random_state=3).fit(X[p], y[p]), X), expected, atol=1e-5)
    units = 2.0 ** np.arange(-9, 9, 3)
    # the draw reads the numbers, so all rows have to learn or judge in both: compare the scores
    scaled = values(Machine(random_state=3).fit(X * units, y), X * units)
    assert np.corrcoef(scaled, expected)[0, 1] > 0.99


@pytest.mark.parametrize("Machine", MACHINES)
def test_a_weight_is_a_row_given_so_often(Machine):
    X, y = sample(Machine, 120)
    w = np.random.default_rng(0).integers(0, 4, 120)
    weighted = Machine(random_state=0).fit(X, y, w)
    repeated = Machine(random_state=0).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_array_equal(weighted.metric_, repeated.metric_)
    assert_allclose(values(weighted, X), values(repeated, X), rtol=1e-5, atol=1e-7)


@pytest.mark.spread(2)
@pytest.mark.parametrize("Machine", MACHINES)
@pytest.mark.parametrize("seed", [1, 3])
def test_precision_and_sparsity(Machine, seed):
    """On new rows: at a training row the root of a distance 0 is that of its rounding, 1e-7, which
    the coefficient of the row multiplies; how large that is depends on the penalty."""
    X, y = sample(Machine)
    X = np.where(np.abs(X) < 0.3, 0, X).astype(np.float32)
    Z = (X[:150] + X[150:]) / 2
    model = Machine(random_state=seed).fit(X.astype(np.float64), y)
    expected = values(model, Z.astype(np.float64))
    short = Machine(random_state=seed).fit(X, y)
    assert short.dual_coef_.dtype == short.X_fit_.dtype == np.float32
    assert_allclose(short.relevance_, model.relevance_, rtol=1e-4)
    assert_allclose(values(short, Z), expected, rtol=0.003, atol=0.003)
    sparse = Machine(random_state=seed).fit(sp.csr_array(X.astype(np.float64)), y)
    assert_allclose(values(sparse, sp.csr_array(Z.astype(np.float64))), expected, rtol=1e-6)


@pytest.mark.parametrize("Machine", MACHINES)
def test_saved_and_loaded(Machine, tmp_path):
    X, y = sample(Machine)
    for form in ({"norm": 1}, {"metric": "full"}):
        model = Machine(random_state=0, **form).fit(X, y)
        mercer.save(model, tmp_path / "model.mercer")
        loaded = mercer.load(tmp_path / "model.mercer")
        # sums may be taken in another order, since arrays lie elsewhere in memory
        assert_allclose(values(loaded, X), values(model, X), rtol=1e-6)
        assert_array_equal(loaded.metric_, model.metric_)


@pytest.mark.parametrize("Machine", MACHINES)
def test_a_machine_on_centres(Machine):
    X, y = sample(Machine, 600)
    exact = Machine(random_state=0, norm=1).fit(X, y)
    low = Machine(random_state=0, norm=1, solver="low_rank", rank=300).fit(X, y)
    fixed = Machine(random_state=0, norm=1, solver="low_rank", rank=300, alpha=exact.alpha_).fit(
        X, y
    )
    assert (exact.solver_, low.solver_, fixed.solver_) == ("cholesky", "low_rank", "low_rank")
    assert low.dual_coef_.shape[0] == 300
    assert fixed.alpha_ == exact.alpha_
    for model in (low, fixed):
        assert np.corrcoef(values(model, X), values(exact, X))[0, 1] > 0.98


def test_several_targets_of_any_size():
    X, y = smooth()
    Y = np.column_stack([1e6 * y + 5, X[:, 0]])
    model = FeatureMachineRegressor(random_state=0).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert sorted(model.relevance_.argsort()[-2:]) == [0, 2]  # no target drowns the other
    assert FeatureMachineRegressor().fit(X, y[:, None]).predict(X).shape == (400, 1)


def test_no_steps_is_ridge_regression_of_standardised_columns():
    X, y = smooth()
    model = FeatureMachineRegressor(metric="diagonal", norm=2, steps=0, random_state=0).fit(X, y)
    assert model.step_ == 0
    assert_allclose(model.relevance_, 1 / 6)


def test_numbers_of_any_size():
    X, y = smooth(200)
    expected = FeatureMachineRegressor(random_state=0).fit(X, y).score(X, y)
    for size in (1e-140, 1e140):
        model = FeatureMachineRegressor(random_state=0).fit(X * [1, 1, size, 1, 1, 1], size * y)
        assert model.relevance_.argmax() == 2
        assert np.corrcoef(model.predict(X * [1, 1, size, 1, 1, 1]) / size, y)[0, 1] > 0.99
    assert expected > 0.99
    for form in ({"norm": 1}, {"metric": "full"}):
        model = FeatureMachineRegressor(random_state=0, **form).fit(X, y)
        with pytest.raises(ValueError, match=r"column 1 of X reaches 1.7e\+308"):
            model.predict([[0, 1.7e308, 0, 0, 0, 0]])


def test_what_cannot_be_learnt_from():
    X, y = smooth(60)
    X[:, 0] = 7.0  # a constant column
    model = FeatureMachineRegressor(random_state=0).fit(X, y)
    assert model.kernel_.metric.linear_map.shape[-1] == 6
    assert np.isfinite(model.predict(X)).all()
    constant = FeatureMachineRegressor(random_state=0).fit(X, np.full(60, 3.0))
    assert_allclose(constant.predict(X), 3)
    few = FeatureMachineClassifier().fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    assert few.step_ == 0
    assert set(few.predict([[0.0], [2.0]])) <= {"a", "b"}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"norm": 3}, r'norm=3: give 1, 2 or "auto"'),
        ({"metric": "sparse"}, r"metric='sparse': give one of"),
        ({"norm": 1, "metric": "full"}, "norm=1 has no full metric: give norm=2"),
        ({"power": 2.5}, "power=2.5: give a number > 0 and at most the norm"),
        ({"power": 1.5, "norm": 1}, "power=1.5: .* not positive semidefinite"),
        ({"bandwidth": 0}, "bandwidth=0: give a finite number > 0"),
        ({"bandwidth": "median"}, "bandwidth='median': give a number > 0 or \"auto\""),
        ({"alpha": -1}, "alpha=-1: give a finite number > 0"),
        ({"steps": -1}, "steps=-1: give a whole number >= 0"),
        ({"learning_rows": 0}, "learning_rows=0: give a whole number >= 1"),
        ({"solver": "lu"}, "solver='lu': give one of"),
        ({"rank": 0}, "rank=0: give a whole number >= 1"),
        ({"memory": "10kB"}, 'give memory="1MB" or more'),
    ],
)
def test_wrong_parameters(parameters, message):
    X, y = smooth(300)
    with pytest.raises((ValueError, MemoryError), match=message):
        FeatureMachineRegressor(**parameters).fit(X, y)


def test_an_exact_fit_that_does_not_fit():
    X, y = smooth(1000)
    model = FeatureMachineRegressor(solver="cholesky", memory="5MB", norm=2, metric="diagonal")
    with pytest.raises(MemoryError, match='give memory="16MB" or more'):
        model.fit(X, y)
    with pytest.warns(UserWarning, match="too small for an exact fit and 1,000 rows"):
        model.set_params(solver="auto", rank=50).fit(X, y)
    assert model.solver_ == "low_rank"


def test_iris_is_learnt_well():
    X, y = load_iris(return_X_y=True)
    model = FeatureMachineClassifier(random_state=0).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.93
