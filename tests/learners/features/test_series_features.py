"""Features of time series beside slow twins of their definitions, and as scikit-learn has them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from convolution_twin import fixed_features, fixed_response, hydra_features, steps
from mercer import Chunks, Hydra, LinearSVC, MiniRocket, MultiRocket
from mercer.kernels.convolutions.fixed import spread_dilations
from mercer.learners.features import series_features

ALL = [MiniRocket(n_components=200), MultiRocket(n_components=700), Hydra(n_groups=2)]


def some(d=1, lengths=(9, 30, 1, 47, 12, 2), seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, d)) for n in lengths]


def waves(n=60, seed=0):
    """Fast and slow ones, of different lengths."""
    rng = np.random.default_rng(seed)
    fast = np.arange(n) % 2
    X = [
        np.sin(np.arange(m) * (0.9 if f else 0.6) + rng.uniform(0, 6)) + rng.normal(size=m) / 3
        for f, m in zip(fast, rng.integers(30, 60, n))
    ]
    return X, np.array(["slow", "fast"])[fast]


READ_BY_KIND = (
    "samples are series, of any lengths, which their kind reads, with messages of its own"
)
OTHERWISE = [
    "check_n_features_in", "check_n_features_in_after_fitting", "check_complex_data",
    "check_dtype_object", "check_estimators_empty_data_messages", "check_estimator_sparse_tag",
    "check_estimator_sparse_array", "check_estimator_sparse_matrix", "check_fit2d_predict1d",
    "check_transformer_data_not_an_array", "check_transformer_general",
]  # fmt: skip


@parametrize_with_checks(
    [model.set_params(random_state=0) for model in ALL],
    expected_failed_checks=lambda _: dict.fromkeys(OTHERWISE, READ_BY_KIND),
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("d", [1, 4])
def test_minirocket_equals_its_definition(d):
    X = some(d)
    model = MiniRocket(n_components=300, random_state=0).fit(X)
    found = model.transform(X)
    assert found.shape == (6, 252)
    for x, phi in zip(X, found):
        assert_allclose(phi, fixed_features(x, model.map_), atol=1e-12)


def test_multirocket_equals_its_definition():
    X = some(2)
    model = MultiRocket(n_components=1400, random_state=0).fit(X)
    half = model.map_.of_points.count
    for x, phi in zip(X, model.transform(X)):
        assert_allclose(phi[:half], fixed_features(x, model.map_.of_points), atol=1e-12)
        assert_allclose(phi[half:], fixed_features(steps(x), model.map_.of_steps), atol=1e-12)


@pytest.mark.parametrize("d", [1, 5])
def test_hydra_equals_its_definition(d):
    X = some(d)
    model = Hydra(n_groups=4, random_state=0).fit(X)
    assert_allclose(model.transform(X), hydra_features(X, model.map_), atol=1e-7)
    of = model.map_.counts
    W = of.of_points.weights.reshape(-1, 9)
    assert_allclose(W.sum(axis=1), 0, atol=1e-12)
    assert_allclose(np.abs(W).sum(axis=1), 1)


def test_biases_are_quantiles_of_responses_and_dilations_reach_the_end():
    """With one training series all biases are quantiles of its responses, with golden shares."""
    x = some(1, [70])[0]
    of = MiniRocket(n_components=84 * 5, random_state=0).fit([x]).map_
    assert_array_equal(of.dilations, [1, 2, 5, 8])
    assert np.diff(of.bias_starts)[::84].sum() == 5
    shares = np.arange(1, len(of.biases) + 1) * (np.sqrt(5) + 1) / 2 % 1
    for k in (0, 83, 84, 200):
        z = fixed_response(x, k % 84, int(of.dilations[k // 84]), [0])
        own = slice(*of.bias_starts[k : k + 2])
        assert_allclose(of.biases[own], np.quantile(z, shares[own]), atol=1e-12)


@pytest.mark.parametrize("doublings", [0.0, 0.4, 3.3, 12.0])
@pytest.mark.parametrize("each", [1, 3, 32, 119])
def test_every_kernel_gets_all_its_biases(doublings, each):
    dilations, counts = spread_dilations(doublings, each)
    assert counts.sum() == each
    assert (counts >= 0).all()
    assert dilations[0] == 1
    assert dilations[-1] <= 2**doublings


@pytest.mark.parametrize("model", ALL, ids=repr)
def test_precision_alone_and_among_others_strips_and_threads(model, monkeypatch):
    X, _ = waves()
    model = model.set_params(random_state=0, n_jobs=1).fit(X)
    whole = model.transform(X)
    assert_array_equal(model.fit(X).transform(X), whole)
    assert_array_equal(np.vstack([model.transform([x]) for x in X[:5]]), whole[:5])
    monkeypatch.setattr(series_features, "STRIP", 1)
    assert_array_equal(model.set_params(n_jobs=2).transform(X), whole)
    single = [x.astype(np.float32) for x in X]
    found = model.fit(single).transform(single)
    assert found.dtype == np.float32
    # a share may count a place more or less, where a response is a bias up to rounding
    assert np.mean(np.abs(found - whole) < 1e-3) > 0.99


def test_a_constant_moves_only_the_ends():
    X = some(1, [200])
    model = MiniRocket(random_state=0, n_components=84).fit(X)  # all at distance 1
    assert_allclose(model.transform([X[0] + 1]), model.transform(X), atol=8 / 200)


@pytest.mark.parametrize("model", [*ALL, MiniRocket()], ids=repr)
def test_pipelines_tell_waves_apart(model):
    X, y = waves(40)
    Z, t = waves(60, seed=1)
    for machine in (RidgeClassifier(10.0), LinearSVC(C=0.01)):
        steps = make_pipeline(model.set_params(random_state=0), StandardScaler(), machine)
        assert steps.fit(X, y).score(Z, t) > 0.95


@pytest.mark.parametrize("model", ALL, ids=repr)
def test_files_and_pipelines_in_files(model, tmp_path):
    X, y = waves(20)
    steps = make_pipeline(model.set_params(random_state=0), StandardScaler(), RidgeClassifier())
    steps.fit(X, y)
    mercer.save(steps, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert_array_equal(again.predict(X), steps.predict(X))
    assert_array_equal(again[0].transform(X), steps[0].transform(X))


def test_streams():
    X, _ = waves(60)
    chunks = Chunks([(X[s : s + 20], np.arange(20)) for s in range(0, 60, 20)])
    model = MiniRocket(n_components=200, random_state=0).fit_chunks(chunks)
    found = np.concatenate([c.X for c in chunks.through(model)])
    assert_array_equal(found, model.transform(X))


def test_wrong_parameters_and_series():
    X = some()
    for model in ALL[:2]:
        with pytest.raises(ValueError, match="n_components=0"):
            type(model)(n_components=0).fit(X)
    with pytest.raises(ValueError, match="n_groups=0"):
        Hydra(n_groups=0).fit(X)
    with pytest.raises(ValueError, match="random_state"):
        MiniRocket(random_state="a").fit(X)
    with pytest.raises(NotFittedError):
        MiniRocket().transform(X)
    model = MiniRocket(n_components=84).fit(X)
    with pytest.raises(ValueError, match=r"X\[0\] has 2 channels, but the series it is compared"):
        model.transform(some(2))
    with pytest.raises(ValueError, match=r"X\[1\] holds nan at point 0"):
        model.transform([[1.0], [np.nan]])
    assert list(model.get_feature_names_out()[:2]) == ["minirocket0", "minirocket1"]
