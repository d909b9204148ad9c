"""alpha="auto": the penalty of the least leave-one-out error, against one refit for each row."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from mercer import KernelRidge, KernelRidgeClassifier
from mercer.kernels import RBF, FromFunction, Jaccard, Match, Sigmoid, Spectrum, TableKernel
from mercer.learners.base.parameters import LIMITS, Limits
from mercer.learners.ridge import penalty as ridge_penalty
from mercer.learners.ridge.penalty import PENALTIES, without_copies

KERNEL = RBF(0.5)


def sample(n=40, outputs=2):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3))
    Y = np.stack([np.sin(2 * X[:, 0]), X[:, 1] * X[:, 2]], axis=1)[:, :outputs]
    Y += 0.3 * rng.normal(size=Y.shape)
    return X, Y if outputs > 1 else Y[:, 0], rng.integers(0, 4, n).astype(float)


def refits(X, y, penalty, w):
    """For each row, the prediction of the fit without it and its copies."""
    K, out = KERNEL(X), np.empty(y.shape)
    for i in range(len(X)):
        kept = np.flatnonzero(np.arange(len(X)) != i)
        A = K[np.ix_(kept, kept)] + penalty * np.diag(1 / w[kept])
        out[i] = K[i, kept] @ np.linalg.solve(A, y[kept])
    return out


def best_by_refits(X, y, w):
    """The penalty of the least squared error, and the predictions of the fits without a row."""
    tried = PENALTIES * w.sum()
    left_out = [refits(X, y, penalty, w) for penalty in tried]
    errors = [np.sum(w * ((f - y) ** 2).reshape(len(y), -1).sum(axis=1)) for f in left_out]
    best = int(np.argmin(errors))
    return tried[best], left_out[best]


# --- regression ---------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", ["auto", "low_rank"])
def test_it_is_ridge_with_the_penalty_of_the_least_leave_one_out_error(outputs, weighted, solver):
    """Exactly, and by a low-rank factor of which all rows are centres."""
    X, y, w = sample(outputs=outputs)
    model = KernelRidge("auto", kernel=KERNEL, solver=solver, rank=40, random_state=0)
    model.fit(X, y, w if weighted else None)
    kept = w > 0 if weighted else np.full(len(X), True)
    X, y, w = X[kept], y[kept], w[kept] if weighted else np.ones(len(X))
    penalty, left_out = best_by_refits(X, y, w)
    assert PENALTIES[0] * w.sum() < penalty < PENALTIES[-1] * w.sum()  # a choice was needed
    assert model.solver_ == ("low_rank" if solver == "low_rank" else "eigenpairs")
    assert model.alpha_ == pytest.approx(penalty)
    assert_allclose(model.left_out_, left_out, atol=1e-7)
    fixed = KernelRidge(penalty, kernel=KERNEL).fit(X, y, w)
    assert_allclose(model.predict(X + 0.1), fixed.predict(X + 0.1), atol=1e-7)
    assert model.residual_ < 1e-8


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("solver", ["auto", "low_rank"])
def test_one_row_two_and_three(n, solver):
    X, y, _ = sample(n, outputs=1)
    model = KernelRidge("auto", kernel=KERNEL, solver=solver, random_state=0).fit(X, y)
    assert_allclose(model.left_out_, refits(X, y, model.alpha_, np.ones(n)), atol=1e-7)
    assert np.isfinite(model.predict(X)).all()
    if n > 1:
        error = np.sum((model.left_out_ - y) ** 2)
        assert error == pytest.approx(np.sum((best_by_refits(X, y, np.ones(n))[1] - y) ** 2))


def test_little_memory_means_fewer_centres_and_fewer_penalties():
    X, y, _ = sample(300, outputs=1)
    # neither the eigenpairs of K fit, nor the predictions of all penalties
    model = KernelRidge("auto", kernel=KERNEL, memory=72_000, random_state=0)
    with pytest.warns(UserWarning, match=r'memory=72000 is too small .*Give memory="\d+MB"'):
        model.fit(X, y)
    assert model.solver_ == "low_rank"
    assert len(model.dual_coef_) <= 30
    assert model.alpha_ / 300 == pytest.approx(
        PENALTIES[np.abs(PENALTIES * 300 - model.alpha_).argmin()]
    )
    assert model.left_out_.shape == y.shape
    K = KERNEL(X, model.X_fit_)
    assert_allclose(model.predict(X), K @ model.dual_coef_, atol=1e-12)
    rich = KernelRidge("auto", kernel=KERNEL).fit(X, y)
    errors = [np.mean((m.left_out_ - y) ** 2) for m in (rich, model)]
    assert errors[0] <= errors[1] < 1.5 * errors[0]
    assert errors[1] < y.var()


def test_it_is_of_low_rank_beyond_the_limit(monkeypatch):
    X, y, _ = sample()
    monkeypatch.setitem(LIMITS, "leave one out", Limits(30, 10))
    model = KernelRidge("auto", kernel=KERNEL, random_state=0).fit(X, y)
    assert (model.solver_, model.dual_coef_.shape) == ("low_rank", (10, 2))


def test_float32_is_kept_and_chooses_alike():
    X, y, _ = sample(outputs=1)
    wide = KernelRidge("auto", kernel=KERNEL).fit(X, y)
    narrow = KernelRidge("auto", kernel=KERNEL).fit(X.astype(np.float32), y)
    assert narrow.dual_coef_.dtype == np.float32
    assert narrow.alpha_ == wide.alpha_
    assert_allclose(narrow.left_out_, wide.left_out_, atol=1e-3)


def test_duplicate_rows_and_a_target_of_zeros():
    X, y, _ = sample(outputs=1)
    twice = np.repeat(np.arange(len(X)), 2)
    model = KernelRidge("auto", kernel=KERNEL).fit(X[twice], y[twice])
    # the copy of a row predicts it: the least penalty that is no rounding is the best
    assert np.isfinite(model.left_out_).all()
    assert not KernelRidge("auto", kernel=KERNEL).fit(X, np.zeros(40)).predict(X).any()


def test_what_an_earlier_fit_chose_is_forgotten():
    X, y, _ = sample()
    model = KernelRidge("auto", kernel=KERNEL).fit(X, y)
    model.set_params(alpha=1.0).fit(X, y)
    assert not hasattr(model, "alpha_")
    assert not hasattr(model, "left_out_")


@pytest.mark.parametrize("learner", [KernelRidge, KernelRidgeClassifier])
def test_what_is_refused(learner):
    X, y, _ = sample(outputs=1)
    y = (y > 0).astype(float)
    with pytest.raises(ValueError, match=r'alpha="auto" needs a positive semidefinite kernel'):
        learner("auto", kernel=Sigmoid()).fit(X, y)
    with pytest.raises(ValueError, match=r"""alpha='best': give a penalty >= 0, or "auto"."""):
        learner("best").fit(X, y)


# --- classification -----------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("solver", ["auto", "low_rank"])
def test_a_classifier_chooses_as_the_regression_on_its_targets(
    classes, weighted, fit_intercept, solver
):
    X, Y, _ = sample(60)
    y = np.digitize(Y[:, 0], [0.0] if classes == 2 else [-0.4, 0.4])
    w = np.random.default_rng(1).integers(1, 4, 60).astype(float) if weighted else np.ones(60)
    model = KernelRidgeClassifier(
        "auto", kernel=KERNEL, fit_intercept=fit_intercept, solver=solver, random_state=0
    ).fit(X, y, w)
    targets = 2.0 * (y[:, None] == np.arange(classes)) - 1
    targets = targets[:, 1] if classes == 2 else targets
    b = np.average(targets, axis=0, weights=w) if fit_intercept else 0.0
    penalty, left_out = best_by_refits(X, targets - b, w)
    assert model.alpha_ == pytest.approx(penalty)
    assert_allclose(model.intercept_, b if fit_intercept else np.zeros_like(model.intercept_))
    assert_allclose(model.left_out_, left_out + b, atol=1e-7)
    f = KernelRidge(penalty, kernel=KERNEL).fit(X, targets - b, w).predict(X) + b
    assert_allclose(model.decision_function(X), f, atol=1e-7)
    assert_array_equal(model.predict(X), f > 0 if classes == 2 else f.argmax(axis=1))


def test_balanced_classes():
    X, Y, _ = sample(60)
    y = (Y[:, 0] > 0.5).astype(int)
    w = (60 / 2 / np.bincount(y))[y]
    balanced = KernelRidgeClassifier("auto", kernel=KERNEL, class_weight="balanced").fit(X, y)
    given = KernelRidgeClassifier("auto", kernel=KERNEL).fit(X, y, w)
    assert balanced.alpha_ == given.alpha_
    assert_allclose(balanced.decision_function(X), given.decision_function(X))
    assert balanced.intercept_ == pytest.approx(0)


@pytest.mark.parametrize("n", [2, 3])
def test_a_classifier_of_two_rows_and_three(n):
    X, _, _ = sample(n)
    model = KernelRidgeClassifier("auto", kernel=KERNEL).fit(X, np.arange(n) % 2)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.left_out_.shape == (n,)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rank", [None, 60])
def test_many_targets_are_judged_by_random_sums_of_them(rank, weighted, monkeypatch):
    rng = np.random.default_rng(0)
    X, wide = rng.normal(size=(150, 4)), rng.normal(size=(4, 90))
    Y = np.tanh(X @ wide) + 0.3 * rng.normal(size=(150, 90))
    weights = rng.uniform(0.5, 2, 150) if weighted else None
    solver = "auto" if rank is None else "low_rank"
    settings = {"kernel": "rbf", "solver": solver, "rank": rank, "random_state": 0}
    judged = KernelRidge("auto", **settings).fit(X, Y, weights)
    monkeypatch.setattr(ridge_penalty, "MOST_OUTPUTS", 90)
    by_all = KernelRidge("auto", **settings).fit(X, Y, weights)
    assert judged.alpha_ == by_all.alpha_
    assert_allclose(judged.left_out_, by_all.left_out_, atol=1e-8)
    assert_allclose(judged.dual_coef_, by_all.dual_coef_)
    for Z in (Y[:, :90], Y[:, 0]):
        assert ridge_penalty.mixed_outputs(Z) is Z
    monkeypatch.undo()
    mixed = ridge_penalty.mixed_outputs(Y)
    assert mixed.shape == (150, ridge_penalty.MOST_OUTPUTS)
    assert_allclose(np.sum(mixed**2), np.sum(Y**2), rtol=0.2)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("make", [KernelRidge, KernelRidgeClassifier])
def test_a_row_of_weight_two_is_the_row_twice(make, sparse):
    """A copy that stays would tell the answer: the penalty was 0.006 for 0.06."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(30, 2))
    targets = np.sin(rows[:, 0]) + 0.5 * rng.normal(size=30)
    if make is KernelRidgeClassifier:
        targets = (targets > 0).astype(int)
    weights = rng.integers(1, 4, 30)
    copies = np.repeat(np.arange(30), weights)
    read = sp.csr_array if sparse else np.asarray
    model = make("auto", kernel=RBF(0.5)).fit(read(rows), targets, sample_weight=weights)
    repeated = make("auto", kernel=RBF(0.5)).fit(read(rows[copies]), targets[copies])
    assert repeated.alpha_ == model.alpha_
    assert_allclose(repeated.left_out_, model.left_out_[copies], rtol=1e-7, atol=1e-9)
    assert len(repeated.dual_coef_) == len(copies)
    new = rng.normal(size=(9, 2))
    f = [getattr(m, "decision_function", m.predict)(read(new)) for m in (model, repeated)]
    assert_allclose(*f, rtol=1e-7, atol=1e-9)


NUMBERS = np.random.default_rng(4).normal(size=(40, 2))
WORDS = ["".join(word) for word in np.random.default_rng(5).choice(list("abc"), (40, 7))]
KINDS = {
    "strings": (Spectrum(2), WORDS),
    "sets": (Jaccard(), [set(word) | {i % 9} for i, word in enumerate(WORDS)]),
    "categories": (Match(), np.array([list(word) for word in WORDS], object)),
    "objects": (FromFunction(lambda a, b: 2.0 ** -abs(a - b)), [float(x) for x in NUMBERS[:, 0]]),
    "tables": (TableKernel(), pd.DataFrame({"x": NUMBERS[:, 0], "word": WORDS})),
}


@pytest.mark.parametrize("kind", KINDS)
def test_copies_of_any_kind_are_left_out_together(kind):
    """The penalty was chosen as if copies told nothing about each other."""
    kernel, samples = KINDS[kind]
    y = np.random.default_rng(6).normal(size=40)
    times = np.random.default_rng(7).integers(1, 5, 40)
    copies = np.repeat(np.arange(40), times)
    many = taken(samples, copies)
    model = KernelRidge("auto", kernel=kernel).fit(samples, y, sample_weight=times)
    repeated = KernelRidge("auto", kernel=kernel).fit(many, y[copies])
    assert repeated.alpha_ == model.alpha_
    assert_allclose(repeated.left_out_, model.left_out_[copies], rtol=1e-6, atol=1e-8)
    assert_allclose(repeated.predict(samples), model.predict(samples), rtol=1e-6, atol=1e-8)


def taken(samples, rows):
    if isinstance(samples, pd.DataFrame):
        return samples.iloc[rows]
    return samples[rows] if isinstance(samples, np.ndarray) else [samples[i] for i in rows]


def test_copies_of_rows_that_a_matrix_knows_are_left_out_together():
    times = np.random.default_rng(7).integers(1, 5, 40)
    copies, y = np.repeat(np.arange(40), times), np.random.default_rng(6).normal(size=40)
    K = RBF(0.5)(NUMBERS)
    model = KernelRidge("auto", kernel="precomputed").fit(K, y, sample_weight=times)
    many = K[np.ix_(copies, copies)]
    repeated = KernelRidge("auto", kernel="precomputed").fit(many, y[copies])
    assert repeated.alpha_ == model.alpha_
    assert_allclose(repeated.predict(many), model.predict(K)[copies], rtol=1e-6, atol=1e-8)


def test_copies_are_left_out_together_by_leaves():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(400, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=400)
    times = rng.integers(1, 4, 400)
    copies = np.repeat(np.arange(400), times)
    local = KernelRidge(
        "auto", kernel=RBF(0.5), solver="local", rank=40, leaf_rows=100, random_state=0
    )
    model = clone(local).fit(X, y, sample_weight=times)
    repeated = clone(local).fit(X[copies], y[copies])
    assert repeated.alpha_ == model.alpha_
    assert_allclose(repeated.left_out_, model.left_out_[copies], rtol=1e-6, atol=1e-8)
    assert_allclose(repeated.predict(X[:50]), model.predict(X[:50]), rtol=1e-6, atol=1e-8)


def test_centres_are_numbers_of_the_rows_that_were_given():
    X = np.repeat(np.random.default_rng(0).normal(size=(30, 2)), 3, axis=0)
    model = KernelRidge("auto", kernel=RBF(0.5), solver="low_rank", rank=9).fit(X, X[:, 0])
    assert_array_equal(model.X_fit_, X[model.centres_])


def test_copies_of_words_are_found_and_counted():
    words = Spectrum(1).encode(["ab", "ba", "ab"])
    training = SimpleNamespace(X=words, weights=None)
    rows, copies, weights = without_copies(training, np.zeros(3))
    assert (rows.tolist(), copies.tolist(), weights.tolist()) == ([0, 1], [0, 1, 0], [2, 1])
    every = without_copies(training, np.arange(3.0))  # another target is another row
    assert every == (slice(None), slice(None), None)
