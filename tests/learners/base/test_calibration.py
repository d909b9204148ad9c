"""Calibration: each map against a general optimiser, weights as repetition, hostile scores."""

import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax, logit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.svm import LinearSVC

import mercer
from lanes import examples
from mercer.learners.base import calibration
from mercer.learners.base.calibration import calibrate, fit_softmax

METHODS = ["sigmoid", "isotonic", "temperature"]
RNG = np.random.default_rng(0)


def columns(f):
    return np.stack([-f, f], axis=1)


def problem(n=300, classes=2, seed=0):
    """Scores that tell something of the classes, and weights."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, n)
    w = rng.integers(0, 4, n).astype(float)
    if classes == 2:
        return columns(rng.normal(size=n) + 1.5 * codes - 0.5), codes, w
    return rng.normal(size=(n, classes)) + 1.5 * np.eye(classes)[codes], codes, w


def targets(codes, w, classes, undecided=1):
    """Some undecided rows, spread over all: written row by row."""
    N, T = w.sum(), np.empty((len(codes), classes))
    for row, code in enumerate(codes):
        for c in range(classes):
            T[row, c] = ((c == code) * N + undecided / classes) / (N + undecided)
    return T


def sided_targets(scores, codes, w):
    """Of the second class: two undecided rows on each side of 0."""
    t = np.empty(len(codes))
    for side in (scores[:, 1] < 0, scores[:, 1] > 0):
        t[side] = targets(codes[side], w[side], 2, undecided=2)[:, 1]
    return t


@pytest.mark.parametrize("sign", [-1, 1])
def test_sigmoid_of_two_classes_is_the_best_slope_on_each_side_that_leans_on_both(sign):
    scores, codes, w = problem()
    d = 2 * scores[:, 1]
    side = sign * d > 0
    common = calibrate(scores, codes, w, "temperature")(scores)[:, 1]
    N = w[side].sum()
    t = (N * codes + 20 * common) / (N + 20)

    def loss(slope):
        z = slope * d[side]
        return np.sum(w[side] * (np.logaddexp(0, z) - t[side] * z))

    best = minimize_scalar(loss, bounds=(0, 50), method="bounded", options={"xatol": 1e-10}).x
    found = calibrate(scores, codes, w).slopes[(sign + 1) // 2]
    assert_allclose(found, best, rtol=1e-5)


@pytest.mark.parametrize(
    ("classes", "method"), [(2, "temperature"), (4, "temperature"), (4, "sigmoid")]
)
def test_softmax_maps_are_the_best_of_their_kind(classes, method):
    scores, codes, w = problem(classes=classes)
    T = targets(codes, w, classes)
    free = method == "sigmoid"

    def loss(theta):
        logits = theta[0] * scores + (np.append(0, theta[1:]) if free else 0)
        return -np.sum(w[:, None] * T * log_softmax(logits, axis=1))

    start = np.append(1.0, np.zeros(classes - 1)) if free else [1.0]
    best = minimize(loss, start, method="BFGS", options={"gtol": 1e-7})
    P = calibrate(scores, codes, w, method)(scores)
    assert -np.sum(w[:, None] * T * np.log(P)) <= best.fun * (1 + 1e-9)
    with np.errstate(all="raise"):
        wanted = best.x[0] * scores + (np.append(0, best.x[1:]) if free else 0)
    assert_allclose(np.log(P), log_softmax(wanted, axis=1), atol=1e-4)


def test_isotonic_of_two_classes_is_optimal_among_increasing_maps_through_one_half():
    """Against a general optimiser over increasing values, of which those of f = 0 are 1/2."""
    scores, codes, w = problem(n=40)
    scores[::7] = scores[0]  # ties
    d, t = scores[:, 1], sided_targets(scores, codes, w)
    kept = w > 0
    x, at = np.unique(d[kept], return_inverse=True)
    zero = np.searchsorted(x, 0)

    def values(steps):  # increasing log-odds, by steps away from 0 on both sides
        steps = steps**2
        return np.append(-np.cumsum(steps[:zero])[::-1], np.cumsum(steps[zero:]))

    def loss(steps):
        z = values(steps)[at]
        return np.sum(w[kept] * (np.logaddexp(0, z) - t[kept] * z))

    best = min(
        (minimize(loss, RNG.uniform(0.1, 1, len(x)), method="BFGS") for _ in range(3)),
        key=lambda r: r.fun,
    )
    P = calibrate(scores, codes, w, "isotonic")(scores)[kept]
    ours = -np.sum(w[kept] * (t[kept] * np.log(P[:, 1]) + (1 - t[kept]) * np.log(P[:, 0])))
    assert ours <= best.fun + 1e-6
    assert_allclose(ours, best.fun, rtol=1e-4)


def test_isotonic_is_scikit_learns_where_nothing_is_pinned():
    """One curve a class: scikit-learn's on the same targets, then divided by the sum."""
    scores, codes, w = problem(classes=3)
    T = targets(codes, w, 3, undecided=3)
    new = RNG.normal(size=(50, 3)) * 3
    wanted = np.empty((50, 3))
    for c in range(3):
        curve = IsotonicRegression(out_of_bounds="clip").fit(scores[:, c], T[:, c], w)
        wanted[:, c] = curve.predict(new[:, c])
    wanted /= wanted.sum(axis=1, keepdims=True)
    assert_allclose(calibrate(scores, codes, w, "isotonic")(new), wanted, rtol=1e-10)


def test_isotonic_is_scikit_learns_on_each_side_cut_at_one_half():
    scores, codes, w = problem(n=500)
    d, t = 2 * scores[:, 1], sided_targets(scores, codes, w)
    P = calibrate(scores, codes, w, "isotonic")(scores)[:, 1]
    for side, cut in ((d < 0, np.minimum), (d > 0, np.maximum)):
        side &= w > 0
        wanted = IsotonicRegression().fit(d[side], t[side], w[side]).predict(d[side])
        assert_allclose(P[side], cut(wanted, 0.5), atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classes", [2, 3])
def test_weights_mean_repetition(method, classes):
    scores, codes, w = problem(classes=classes)
    new = problem(classes=classes, seed=1)[0]
    weighted = calibrate(scores, codes, w, method)(new)
    times = w.astype(int)
    repeated = calibrate(np.repeat(scores, times, axis=0), np.repeat(codes, times), None, method)
    assert_allclose(weighted, repeated(new), rtol=1e-6)
    assert_allclose(
        calibrate(scores, codes, np.ones(len(codes)), method)(new),
        calibrate(scores, codes, method=method)(new),
        rtol=1e-12,
    )


finite = st.floats(allow_nan=False, width=64)
hostile = arrays(np.float64, st.integers(2, 12), elements=finite)


@examples(100)
@given(f=hostile, new=hostile, method=st.sampled_from(METHODS), seed=st.integers(0, 99))
def test_the_more_probable_of_two_classes_is_the_predicted_one(f, new, method, seed):
    codes = np.random.default_rng(seed).integers(0, 2, len(f))
    calibration = calibrate(columns(f), codes, method=method)
    new = np.concatenate([new, f, [0.0, 5e-324, -5e-324, 1e-200, 1e308, -1e308]])
    P = calibration(columns(new))
    assert_array_equal(P.argmax(axis=1), new > 0)
    assert_allclose(P.sum(axis=1), 1)
    assert (P > 0).all()
    assert_array_equal(P[new == 0], 0.5)
    assert (np.diff(P[np.argsort(new), 1]) >= -1e-15).all()


@examples(100)
@given(
    scores=arrays(np.float64, st.tuples(st.integers(3, 12), st.just(3)), elements=finite),
    method=st.sampled_from(METHODS),
    seed=st.integers(0, 99),
)
def test_more_classes_are_finite_and_temperature_keeps_the_largest(scores, method, seed):
    codes = np.random.default_rng(seed).integers(0, 3, len(scores))
    P = calibrate(scores, codes, method=method)(scores)
    assert np.isfinite(np.log(P)).all()
    assert_allclose(P.sum(axis=1), 1)
    if method == "temperature":
        largest = P[np.arange(len(P)), scores.argmax(axis=1)]
        assert_array_equal(largest, P.max(axis=1))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e-320, 1e-100, 1.0, 1e100, 1e308, np.inf])
def test_separable_scores_of_any_size(method, scale):
    f = scale * np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0])
    codes = np.array([0, 0, 0, 1, 1, 1])
    P = calibrate(columns(f), codes, np.ones(6), method)(columns(f))
    assert_array_equal(P.argmax(axis=1), codes)
    heavy = calibrate(columns(f), codes, np.full(6, 1e12), method)(columns(f))
    assert_array_equal(heavy.argmax(axis=1), codes)
    assert (heavy > 0).all()
    if scale > 1e-300:  # smaller numbers have lost their digits
        p = {"temperature": 13 / 14, "sigmoid": (3 + 20 * 13 / 14) / 23, "isotonic": 4 / 5}[method]
        assert_allclose(P[:, 1], np.repeat([1 - p, p], 3), rtol=1e-6)
    three = np.where(np.eye(3) == 1, scale, -scale)
    P = calibrate(three, np.arange(3), method=method)(three)
    assert np.isfinite(np.log(P)).all()
    if scale > 1e-300:
        assert_array_equal(P.argmax(axis=1), np.arange(3))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("value", [0.0, 2.0, -1e200])
def test_constant_scores(method, classes, value):
    scores = columns(np.full(6, value)) if classes == 2 else np.full((6, 3), value)
    codes = np.arange(6) % classes
    P = calibrate(scores, codes, method=method)(scores)
    assert_allclose(P, 1 / classes, atol=1e-3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classes", [2, 3])
def test_one_row_a_class_and_single_precision(method, classes):
    scores = columns(np.array([-1.0, 1.0])) if classes == 2 else np.eye(3)
    codes = np.arange(classes)
    P = calibrate(scores, codes, method=method)(scores)
    assert_array_equal(P.argmax(axis=1), codes)
    single = calibrate(scores.astype(np.float32), codes, method=method)(scores.astype(np.float32))
    assert single.dtype == np.float64
    assert_allclose(single, P, rtol=1e-6)


def test_misleading_scores_keep_their_order():
    """Larger scores for the wrong class: the slope stays positive, the probabilities nearly 1/2."""
    f = np.linspace(-1, 1, 50)
    codes = (f < 0).astype(int)
    for method in METHODS:
        P = calibrate(columns(f), codes, method=method)(columns(f))[:, 1]
        assert_allclose(P, 0.5, atol=2e-3)
        assert_array_equal(P > 0.5, f > 0)
        if method != "isotonic":
            assert (np.diff(P) > 0).all()


def test_a_side_without_rows_takes_the_common_slope():
    f = RNG.uniform(0, 2, 100)
    codes = (RNG.uniform(size=100) < expit(3 * f)).astype(int)
    slopes = calibrate(columns(f), codes).slopes
    assert slopes[0] == calibrate(columns(f), codes, method="temperature").slopes[0]
    assert_allclose(slopes[1], slopes[0], rtol=0.1)
    assert_allclose(calibrate(columns(-f), 1 - codes).slopes, slopes[::-1], rtol=1e-6)


def test_a_true_sigmoid_is_found():
    f = RNG.normal(size=20_000)
    codes = (RNG.uniform(size=20_000) < expit(np.where(f > 0, 3.0, 1.0) * f)).astype(int)
    new = np.linspace(-2, 2, 9)
    wanted = expit(np.where(new > 0, 3.0, 1.0) * new)
    assert_allclose(calibrate(columns(f), codes).slopes, [0.5, 1.5], rtol=0.1)
    for method in ("sigmoid", "isotonic"):
        P = calibrate(columns(f), codes, method=method)(columns(new))
        assert_allclose(P[:, 1], wanted, atol=0.05)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classes", [2, 4])
def test_log_loss_of_overconfident_scores_improves(method, classes):
    """Log-odds five times too large, on rows that the calibration has not seen."""

    def sample(seed):
        scores, codes, _ = problem(2000, classes, seed)
        return 5 * scores, codes

    scores, codes = sample(0)
    new, wanted = sample(1)
    raw = np.exp(log_softmax(new, axis=1))
    calibrated = calibrate(scores, codes, method=method)(new)
    assert log_loss(wanted, calibrated) < 0.75 * log_loss(wanted, raw)


DATA = {
    "cancer": load_breast_cancer(return_X_y=True),
    "digits": load_digits(return_X_y=True),
    "noisy": make_classification(800, 10, flip_y=0.2, weights=[0.8], random_state=1),
}


@pytest.mark.spread(1)
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("method", METHODS)
def test_as_good_as_scikit_learns_out_of_sample(data, method):
    X, y = DATA[data]
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9)
    machine = LinearSVC(C=0.01)
    ours, theirs = [], []
    for seed in range(2):
        A, B, a, b = train_test_split(X, y, stratify=y, random_state=seed)
        held_out = cross_val_predict(machine, A, a, method="decision_function")
        new = machine.fit(A, a).decision_function(B)
        if new.ndim == 1:
            held_out, new = columns(held_out), columns(new)
        ours.append(log_loss(b, calibrate(held_out, a, method=method)(new)))
        peer = CalibratedClassifierCV(machine, method=method, ensemble=False).fit(A, a)
        theirs.append(log_loss(b, peer.predict_proba(B)))
    assert np.mean(ours) < 1.05 * np.mean(theirs)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_model_file_and_a_pickle_hold_it(tmp_path, method, classes):
    scores, codes, w = problem(classes=classes)
    model = mercer.KernelRidge().fit([[0.0], [1.0]], [0.0, 1.0])
    model.calibration_ = calibrate(scores, codes, w, method)
    wanted = model.calibration_(scores)
    mercer.save(model, tmp_path / "model.mercer")
    assert_array_equal(mercer.load(tmp_path / "model.mercer").calibration_(scores), wanted)
    assert_array_equal(pickle.loads(pickle.dumps(model)).calibration_(scores), wanted)


def test_biases_may_move_the_border_of_two_classes():
    """The automatic classifier's map: where the machine leans to one side, a bias rights it."""
    f = RNG.normal(size=2000)
    codes = (RNG.uniform(size=2000) < expit(2 * f + 1)).astype(int)
    found = fit_softmax(columns(f), codes)
    assert_allclose(2 * found.slope, 2, rtol=0.2)
    assert_allclose(found.bias[1] - found.bias[0], 1, rtol=0.2)
    assert_allclose(logit(found(columns(np.zeros(1)))[0, 1]), found.bias[1] - found.bias[0])


def test_a_class_without_a_row_has_the_mean_of_the_other_biases():
    """Few rows may lack a rare class; its bias would make it impossible for every new row."""
    S = RNG.normal(size=(300, 4))
    codes = np.argmax(S[:, :3] + RNG.gumbel(size=(300, 3)) + [0.0, 1.0, 0.0], axis=1)
    found = fit_softmax(S, codes)
    assert_allclose(found.bias[3], found.bias[:3].mean())
    assert found.bias[:3].std() > 0.1
    assert found(np.array([[0.0, 0.0, 0.0, 9.0]]))[0, 3] > 0.9


def test_few_rows_for_each_class_have_one_slope_and_no_biases():
    S, codes = RNG.normal(size=(60, 20)), np.repeat(np.arange(20), 3)
    S[np.arange(60), codes] += 1
    assert not fit_softmax(S, codes).bias.any()
    assert fit_softmax(np.tile(S, (4, 1)), np.tile(codes, 4)).bias.any()
    assert fit_softmax(S, codes, with_bias=True).bias.any()


def test_of_a_thousand_classes_some_rows_are_enough(monkeypatch):
    """All rows of 1,000 classes took minutes, before a search had begun."""
    codes = RNG.integers(0, 50, 4000)
    S = RNG.normal(size=(4000, 50)) + 3 * np.eye(50)[codes]
    all_rows = fit_softmax(S, codes)
    read = []
    counted = calibration.log_softmax
    monkeypatch.setattr(calibration, "MOST_SCORES", 50_000)
    monkeypatch.setattr(
        calibration, "log_softmax", lambda x, axis: (read.append(len(x)), counted(x, axis))[1]
    )
    some = fit_softmax(S, codes)
    assert set(read) == {1000}
    assert_allclose(some.slope, all_rows.slope, rtol=0.1)


def test_wrong_arguments_are_named():
    scores, codes, w = problem()
    with pytest.raises(ValueError, match=r"method='platt': give \"sigmoid\", \"isotonic\""):
        calibrate(scores, codes, w, "platt")
    with pytest.raises(ValueError, match="scores contain NaN"):
        calibrate(np.where(scores > 1, np.nan, scores), codes)
