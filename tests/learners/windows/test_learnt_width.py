"""Widths and weights by the gradient of the leave-one-out loss: slopes, what matters, objects."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer import NadarayaWatson, NadarayaWatsonClassifier
from mercer.distances import (
    Edit,
    KernelDistance,
    Match,
    Minkowski,
    Mixed,
    Sum,
)
from mercer.gram import Place
from mercer.kernels import RBF, Spectrum
from mercer.learners.windows import learnt_width
from mercer.learners.windows.learnt_width import (
    LEAST_PROBABILITY,
    ComputedTerms,
    KeptTerms,
    LeftOutLoss,
    LogLoss,
    SquaredErrors,
)
from mercer.learners.windows.totals import SHAPES

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 3))
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1]]) + 0.1 * rng.normal(size=(150, 2))
CODES = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)
Z = rng.normal(size=(40, 3))
W = np.r_[np.ones(50), np.full(50, 2.0), np.full(50, 0.5)]
WORDS = ["".join(rng.choice(list("ab"), rng.integers(1, 8))) for _ in range(60)]
LENGTHS = np.array([float(len(word)) for word in WORDS])
MIXTURE = Sum([Edit(), KernelDistance(Spectrum(1))])


def left_out_loss(D, y, w, codes, rate, power):
    """By the definition: a loop over the rows."""
    total = 0.0
    for i, row in enumerate(D):
        left = w - (np.arange(len(w)) == i) * min(w[i], 1)
        s = np.where(left > 0, -rate * row**power, -np.inf)
        P = left * np.exp(s - s.max())
        a = (P / P.sum()) @ y
        if codes is None:
            total += w[i] * ((a - y[i]) ** 2).mean()
        else:
            total -= w[i] * np.log(max(a[codes[i]], LEAST_PROBABILITY))
    return total / w.sum()


def problems(distance, rows, window, place=None):
    """For numbers and for classes: the problem, and what its loss is by the definition."""
    n = len(rows)
    A = distance.encode(rows)
    distance = distance.bind(A)
    place, shape = place or Place(n_jobs=1), SHAPES[window]
    for loss, y, codes in (
        (SquaredErrors, Y[:n], None),
        (LogLoss, np.eye(3)[CODES[:n]], CODES[:n]),
    ):
        problem = LeftOutLoss(A, y, W[:n], distance, shape, loss, place)
        unit = loss.scale(y, W[:n])

        def expected(weights, problem=problem, y=y, codes=codes, unit=unit):
            D = problem.terms.weighed(weights).whole(A, A).astype(float)
            if not problem.terms.weighted:
                D = D * weights[0] ** (1 / distance.exponent)
            return left_out_loss(D, y, W[:n], codes, shape.rate, shape.power) / unit

        yield problem, expected


@pytest.mark.parametrize("window", ["gaussian", "exponential"])
@pytest.mark.parametrize(
    ("distance", "rows"),
    [
        *[(Minkowski(p), X) for p in (2, 1, 1.5)],
        (Minkowski(0), np.round(X, 1)),
        (KernelDistance(RBF(0.3)), X),
        (Edit(), WORDS),
        (MIXTURE, WORDS),
        (Sum([Edit(), KernelDistance(Spectrum(1))], power=2), WORDS),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_losses_and_slopes(distance, rows, window, monkeypatch):
    monkeypatch.setattr(learnt_width, "STRIP", 40)
    for problem, expected in problems(distance, rows, window):
        weights = problem.start() * np.linspace(0.7, 1.5, problem.terms.count)
        value, slopes = problem.error(weights)
        assert_allclose(value, expected(weights), rtol=1e-8)
        for j, weight in enumerate(weights):
            step = 1e-5 * weight * (np.arange(len(weights)) == j)
            rise = problem.error(weights + step)[0] - problem.error(weights - step)[0]
            assert_allclose(slopes[j], rise / (2e-5 * weight), rtol=1e-4, atol=1e-6)
        if distance.kind != "vectors":  # words tell nothing of Y, so that no width is best
            continue
        # the descent begins at the width that is best for equal terms, of candidates
        start = problem.start()
        factors = 2.0 ** (np.array([-3.0, -1, 1, 3]) / problem.shape.power)
        others = [problem.error(start * s**distance.exponent)[0] for s in factors]
        assert problem.error(start)[0] <= min(others) * (1 + 1e-9)


def test_terms_are_kept_where_they_cost_much_and_fit():
    A = MIXTURE.encode(WORDS)
    kept = next(problems(MIXTURE, WORDS, "gaussian"))[0]
    tight = next(problems(MIXTURE, WORDS, "gaussian", Place(memory=40_000, n_jobs=2)))[0]
    assert isinstance(kept.terms, KeptTerms)
    assert isinstance(tight.terms, ComputedTerms)
    assert isinstance(next(problems(Minkowski(2), X, "gaussian"))[0].terms, ComputedTerms)
    weights = kept.start()
    for a, b in zip(kept.error(weights), tight.error(weights)):
        assert_allclose(a, b, rtol=1e-9)
    assert kept.terms.kept.shape == (2, A.shape[0], A.shape[0])


@pytest.mark.parametrize("window", ["gaussian", "exponential"])
def test_a_learnt_width_is_the_best(window):
    """Better than those beside it, and it is found for a distance without weights too."""
    for learner, y in ((NadarayaWatson, LENGTHS), (NadarayaWatsonClassifier, LENGTHS > 3)):
        model = learner("learnt", window=window, metric=Edit()).fit(WORDS, y)
        given = {
            f: learner(f * model.width_, window=window, metric=Edit()).fit(WORDS, y)
            for f in (0.9, 1.0, 1.1)
        }
        D = model.distance_.whole(model.X_fit_, model.X_fit_)
        indicators = np.eye(2)[(LENGTHS > 3).astype(int)]
        is_classes = learner is NadarayaWatsonClassifier
        values = indicators if is_classes else LENGTHS[:, None]
        codes = (LENGTHS > 3).astype(int) if is_classes else None
        losses = [
            left_out_loss(D, values, np.ones(60), codes, m.temperature_, SHAPES[window].power)
            for m in given.values()
        ]
        assert losses[1] <= min(losses) * (1 + 1e-9)
        assert_allclose(losses[1], model.errors_[model.width_], rtol=1e-7)
        assert_allclose(given[1.0].temperature_, model.temperature_)


def test_weights_of_many_rows_are_those_of_some(monkeypatch):
    w = rng.uniform(0.5, 2, 150)
    few = NadarayaWatson("learnt").fit(X[::4], Y[::4], w[::4])
    monkeypatch.setattr(learnt_width, "ROWS", 40)
    many = NadarayaWatson("learnt").fit(X, Y, w)
    assert_allclose(many.weights_, few.weights_)


@pytest.mark.parametrize("window", ["gaussian", "exponential"])
def test_weights_find_what_matters(window):
    y = np.sin(2 * X[:, 0])
    model = NadarayaWatson("learnt", window=window).fit(X, y)
    assert model.weights_[0] > 20 * max(model.weights_[1:])
    assert_allclose(model.distance_.weights, model.weights_)
    plain = NadarayaWatson(window=window).fit(X, y)
    error, before = (((m.predict(Z) - np.sin(2 * Z[:, 0])) ** 2).mean() for m in (model, plain))
    assert error < before / 3
    model = NadarayaWatsonClassifier("learnt", window=window).fit(X, X[:, 0] > 0.3)
    assert model.weights_[0] > 20 * max(model.weights_[1:])
    plain = NadarayaWatsonClassifier(window=window).fit(X, X[:, 0] > 0.3)
    assert min(model.errors_.values()) < 0.5 * min(plain.errors_.values())


def test_weights_of_categories_and_of_a_table():
    draw = np.random.default_rng(0)
    codes = draw.choice(list("abc"), (200, 3))
    y = (codes[:, 1] == "a") + 0.3 * draw.normal(size=200)
    w = NadarayaWatson("learnt", metric=Match()).fit(codes, y).weights_
    assert w[1] > 1.5 * max(w[0], w[2])
    words = ["".join(draw.choice(list("xyz"), 5)) for _ in range(200)]
    table = pd.DataFrame(
        {"x": rng.normal(size=200), "c": codes[:, 1], "noise": codes[:, 0], "word": words}
    )
    parts = [(Minkowski(1), ["x"]), (Match(), ["c"]), (Match(), ["noise"]), (Edit(), ["word"])]
    for learner, target in ((NadarayaWatson, y), (NadarayaWatsonClassifier, y > 0.5)):
        w = learner("learnt", metric=Mixed(parts)).fit(table, target).weights_
        assert w[1] > 1.5 * max(w[0], w[2], w[3])


def test_weights_of_several_distances():
    """The sum of the codes of the letters is in the counts, and not in the order of edits."""
    draw = np.random.default_rng(1)
    words = ["".join(draw.choice(list("abc"), 8)) for _ in range(300)]
    y = np.array([word.count("a") for word in words], float)
    counts = KernelDistance(Spectrum(1))
    model = NadarayaWatson("learnt", window="exponential", metric=Sum([Edit(), counts]))
    model.fit(words[:200], y[:200])
    alone = NadarayaWatson(window="exponential", metric=Edit()).fit(words[:200], y[:200])
    error, before = (((m.predict(words[200:]) - y[200:]) ** 2).mean() for m in (model, alone))
    assert error < 0.7 * before
    assert model.weights_[1] > 0


def test_memory_and_threads_change_nothing():
    wide = NadarayaWatson("learnt", metric=MIXTURE, n_jobs=1).fit(WORDS, LENGTHS)
    tight = NadarayaWatson("learnt", metric=MIXTURE, n_jobs=2, memory="60KB").fit(WORDS, LENGTHS)
    assert_allclose(tight.weights_, wide.weights_, rtol=1e-5)
    assert_allclose(tight.predict(WORDS), wide.predict(WORDS), rtol=1e-6)
