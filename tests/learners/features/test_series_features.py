"""Features of time series beside slow twins of their definitions, and as scikit-learn has them."""

from itertools import combinations, pairwise

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
from mercer import Chunks, ConvolutionFeatures, LinearSVC, SignatureFeatures, WarpingFeatures
from mercer.distances import DTW
from mercer.kernels import Signature
from mercer.kernels.convolution import spread_dilations
from mercer.learners.features import series_features

ALL = [
    ConvolutionFeatures(size=200), ConvolutionFeatures("multirocket", 700),
    ConvolutionFeatures("hydra", 2),
    SignatureFeatures(n_components=400), WarpingFeatures(n_components=100),
]  # fmt: skip


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
    model = ConvolutionFeatures(size=300, random_state=0).fit(X)
    found = model.transform(X)
    assert found.shape == (6, 252)
    for x, phi in zip(X, found):
        assert_allclose(phi, fixed_features(x, model.map_), atol=1e-12)


def test_multirocket_equals_its_definition():
    X = some(2)
    model = ConvolutionFeatures("multirocket", size=1400, random_state=0).fit(X)
    half = model.map_.of_points.count
    for x, phi in zip(X, model.transform(X)):
        assert_allclose(phi[:half], fixed_features(x, model.map_.of_points), atol=1e-12)
        assert_allclose(phi[half:], fixed_features(steps(x), model.map_.of_steps), atol=1e-12)


@pytest.mark.parametrize("d", [1, 5])
def test_hydra_equals_its_definition(d):
    X = some(d)
    model = ConvolutionFeatures("hydra", size=4, random_state=0).fit(X)
    assert_allclose(model.transform(X), hydra_features(X, model.map_), atol=1e-7)
    of = model.map_.counts
    W = of.of_points.weights.reshape(-1, 9)
    assert_allclose(W.sum(axis=1), 0, atol=1e-12)
    assert_allclose(np.abs(W).sum(axis=1), 1)


@pytest.mark.parametrize("d", [1, 3])
def test_signature_features_equal_their_definition(d):
    X = [x / 2 for x in some(d, [6, 1, 4])]
    model = SignatureFeatures(3, 1.5, n_components=16, time=True, basepoint=True, random_state=0)
    F = model.fit(X).transform(X)
    W, b = model.map_.frequencies.reshape(3, 5, d + 1), model.map_.phases.reshape(3, 5)
    assert F.shape == (3, 16)
    for x, phi in zip(X, F):
        points = np.column_stack([x, np.arange(len(x)) / max(len(x) - 1, 1)])
        points = np.vstack([np.zeros((1, d + 1)), points])
        w = np.sqrt(2) * np.cos(np.einsum("td,pkd->ptk", points, W) + b[:, None])
        steps = np.diff(w, axis=1)
        twin = [1.0]
        for level in (1, 2, 3):
            for k in range(5):
                places = combinations(range(len(points) - 1), level)
                products = [np.prod([steps[r, i, k] for r, i in enumerate(p)]) for p in places]
                twin.append(sum(products) / np.sqrt(5))
        assert_allclose(phi, twin, atol=1e-12)


@pytest.mark.spread(1)
@pytest.mark.parametrize("levels", [1, 2, 4])
def test_products_of_signature_features_tend_to_the_kernel(levels):
    X = [x.cumsum(axis=0) / 3 for x in some(2, [20, 9, 30, 14, 20, 5])]
    kernel = Signature(levels, "auto")
    K = kernel(X)
    errors = []
    for count in (100, 1600, 25_600):
        gaps = []
        for seed in range(3):
            F = SignatureFeatures(levels, n_components=count, random_state=seed).fit_transform(X)
            gaps.append(np.abs(F @ F.T - K).mean())
        errors.append(np.mean(gaps) / K.mean())
    assert errors[2] < 0.02
    for few, more in pairwise(errors):  # a quarter is expected
        assert more < few / 2


def test_warping_features_equal_their_definition_and_their_products_settle():
    X = some(2)
    model = WarpingFeatures(0.3, max_length=7, n_components=50, random_state=0).fit(X)
    of = model.map_.series
    drawn = list_of(of)
    assert {len(w) for w in drawn} == set(range(1, 8))
    assert_allclose(model.transform(X), np.exp(-0.3 * DTW()(X, drawn)) / np.sqrt(50))
    far = [10 + 3 * x for x in some(1, [40] * 20)]  # mean and deviation are those of the series
    model = WarpingFeatures(n_components=2000, random_state=0).fit(far)
    values = model.map_.series.values
    assert_allclose([values.mean(), values.std()], [10, 3], atol=0.3)
    assert_allclose(model.map_.gamma, 1 / np.median(DTW()(far, list_of(model.map_.series))))
    K = [
        F @ F.T
        for F in (
            WarpingFeatures(0.1, n_components=20_000, max_length=5, random_state=s).fit_transform(X)
            for s in (1, 2)
        )
    ]
    assert_allclose(K[0], K[1], atol=0.02)
    assert (WarpingFeatures().fit_transform([[2.0], [2.0, 2.0]]) > 0).all()  # no distances


def list_of(S):
    return [S.values[a:b] for a, b in pairwise(S.starts)]


def test_biases_are_quantiles_of_responses_and_dilations_reach_the_end():
    """With one training series all biases are quantiles of its responses, with golden shares."""
    x = some(1, [70])[0]
    of = ConvolutionFeatures(size=84 * 5, random_state=0).fit([x]).map_
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
    model = ConvolutionFeatures(random_state=0, size=84).fit(X)  # all at distance 1
    assert_allclose(model.transform([X[0] + 1]), model.transform(X), atol=8 / 200)


FLOORS = {SignatureFeatures: 0.75, WarpingFeatures: 0.9}  # which see less in noise


@pytest.mark.parametrize("model", [*ALL, ConvolutionFeatures()], ids=repr)
def test_pipelines_tell_waves_apart(model):
    X, y = waves(40)
    Z, t = waves(60, seed=1)
    for machine in (RidgeClassifier(10.0), LinearSVC(C=0.01)):
        steps = make_pipeline(model.set_params(random_state=0), StandardScaler(), machine)
        assert steps.fit(X, y).score(Z, t) > FLOORS.get(type(model), 0.95)


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
    model = ConvolutionFeatures(size=200, random_state=0).fit_chunks(chunks)
    found = np.concatenate([c.X for c in chunks.through(model)])
    assert_array_equal(found, model.transform(X))


def test_wrong_parameters_and_series():
    X = some()
    for model in ALL[3:]:
        with pytest.raises(ValueError, match="n_components=0"):
            type(model)(n_components=0).fit(X)
    for method in ("minirocket", "multirocket", "hydra"):
        with pytest.raises(ValueError, match="size=0"):
            ConvolutionFeatures(method, 0).fit(X)
    with pytest.raises(ValueError, match="method='rocket': give one of"):
        ConvolutionFeatures("rocket").fit(X)
    with pytest.raises(ValueError, match="random_state"):
        ConvolutionFeatures(random_state="a").fit(X)
    for wrong in (
        SignatureFeatures(None), SignatureFeatures(0), SignatureFeatures(2, None),
        SignatureFeatures(2, -1.0), SignatureFeatures(2, "median"), SignatureFeatures(time=1),
        WarpingFeatures(0.0), WarpingFeatures("median"), WarpingFeatures(np.nan),
        WarpingFeatures(max_length=0), WarpingFeatures(max_length=2.5),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=r"\w+=.*: (features|give|must)"):
            wrong.fit(X)
    with pytest.raises(NotFittedError):
        ConvolutionFeatures().transform(X)
    model = ConvolutionFeatures(size=84).fit(X)
    with pytest.raises(ValueError, match=r"X\[0\] has 2 channels, but the series it is compared"):
        model.transform(some(2))
    with pytest.raises(ValueError, match=r"X\[1\] holds nan at point 0"):
        model.transform([[1.0], [np.nan]])
    assert list(model.get_feature_names_out()[:2]) == [
        "convolutionfeatures0", "convolutionfeatures1"
    ]  # fmt: skip
