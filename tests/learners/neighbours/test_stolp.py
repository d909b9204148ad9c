"""`Stolp`: prototypes by their definition, what they classify, and what was left out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, make_moons

from mercer import KNeighborsClassifier, Stolp
from mercer.distances import Edit, Minkowski
from mercer.learners.neighbours import stolp

X, y = make_moons(300, noise=0.15, random_state=0)
FLIPPED = np.random.default_rng(0).random(300) < 0.1
NOISY = np.where(FLIPPED, 1 - y, y)


def margin(own, other):
    return (other - own) / max(own, other)


def twin(X, y, k, outlier_margin, max_error):
    """The definition, one row at a time."""
    D, n = Minkowski()(X), len(y)
    margins = np.empty(n)
    for i in range(n):
        own = np.sort(D[i, (y == y[i]) & (np.arange(n) != i)])
        others = [np.sort(D[i, y == c]) for c in np.unique(y) if c != y[i]]
        other = min(d[min(k, len(d)) - 1] for d in others)
        margins[i] = margin(own[min(k, len(own)) - 1], other)
    first = [max(np.flatnonzero(y == c), key=lambda i: margins[i]) for c in np.unique(y)]
    usual = [i for i in range(n) if margins[i] >= outlier_margin or i in first]
    chosen, errors = list(first), []
    while True:
        now = {}
        for i in usual:
            if i not in chosen:
                own = min(D[i, p] for p in chosen if y[p] == y[i])
                now[i] = margin(own, min(D[i, p] for p in chosen if y[p] != y[i]))
        wrong = [i for i, m in now.items() if m <= 0]
        errors.append(len(wrong) / len(usual))
        if errors[-1] <= max_error:
            return margins, chosen, errors
        chosen.append(min(wrong, key=lambda i: now[i]))


@pytest.mark.parametrize("k", [1, 5, 160])
@pytest.mark.parametrize(
    ("outlier_margin", "max_error"), [(0.0, 0.0), (-1, 0.0), (-0.3, 0.02), (1.0, 0.0)]
)
def test_definition(k, outlier_margin, max_error):
    found = Stolp(k, outlier_margin=outlier_margin, max_error=max_error).fit(X, NOISY)
    margins, chosen, errors = twin(X, NOISY, k, outlier_margin, max_error)
    assert_allclose(found.margins_, margins, atol=1e-9)
    assert_array_equal(found.indices_, chosen)
    assert_allclose(found.errors_, errors)
    assert found.kept_share_ == len(chosen) / 300
    low = np.flatnonzero(margins < outlier_margin)  # but the best row of each class is kept
    assert_array_equal(found.outliers_, np.setdiff1d(low, chosen[:2]))


def test_the_report_is_what_the_classifier_does():
    found = Stolp().fit(X, NOISY)
    nearest = KNeighborsClassifier(1).fit(*Stolp().fit_resample(X, NOISY))
    assert_allclose(found.error_after_, np.mean(nearest.predict(X) != NOISY))
    before = KNeighborsClassifier(1).fit(X, NOISY).predict(None)
    assert_allclose(found.error_before_, np.mean(before != NOISY))
    usual = np.setdiff1d(np.arange(300), found.outliers_)
    assert_array_equal(nearest.predict(X[usual]), NOISY[usual])


def test_it_ends_as_soon_as_few_enough_rows_are_misclassified():
    """The share that may be is one that is reached exactly."""
    errors = Stolp(outlier_margin=-1).fit(X, NOISY).errors_
    for share in errors[1::9]:
        ended = 1 + int(np.argmax(errors <= share))
        found = Stolp(outlier_margin=-1, max_error=share).fit(X, NOISY).errors_
        assert_array_equal(found, errors[:ended])


def test_few_rows_are_better_than_all_of_a_noisy_sample():
    found = Stolp().fit(X, NOISY)
    assert found.kept_share_ < 0.05
    assert np.mean(FLIPPED[found.outliers_]) > 0.8
    few, all_rows = (
        KNeighborsClassifier(1).fit(A, b) for A, b in ((X[found.indices_], NOISY[found.indices_]),
                                                      (X, NOISY))
    )  # fmt: skip
    new, truth = make_moons(1000, noise=0.15, random_state=1)
    assert few.score(new, truth) > all_rows.score(new, truth) + 0.05


def test_many_classes_and_order(monkeypatch):
    digits, labels = load_digits(return_X_y=True)
    found = Stolp().fit(digits[:600], labels[:600])
    assert set(labels[found.indices_]) == set(range(10))
    assert found.kept_share_ < 0.2
    monkeypatch.setattr(stolp, "STRIP", 50)
    order = np.random.default_rng(0).permutation(600)
    other = Stolp().fit(digits[:600][order], labels[:600][order])
    assert_array_equal(np.sort(order[other.indices_]), np.sort(found.indices_))


def test_any_kind_of_sample():
    words = ["haus", "maus", "laus", "raus", "house", "mouse", "louse", "douse", "xyzzy"]
    languages = np.array(["de"] * 4 + ["en"] * 4 + ["de"])
    few, names = Stolp(2, metric=Edit()).fit_resample(words, languages)
    assert set(few) <= set(words)
    assert KNeighborsClassifier(1, metric=Edit()).fit(few, names).predict(["pause"]) is not None
    D = Minkowski()(X)
    given = Stolp(metric="precomputed")
    between, few_labels = given.fit_resample(D, y)
    assert between.shape == (len(few_labels),) * 2
    assert_array_equal(given.indices_, Stolp().fit(X, y).indices_)


def test_hostile_samples():
    one = Stolp().fit(X, np.zeros(300))
    assert one.indices_.tolist() == [0]
    assert one.error_before_ == one.error_after_ == 0
    alone = Stolp().fit(X[:10], [0] * 9 + [1])
    assert 9 in alone.indices_
    same = Stolp(1, outlier_margin=-1).fit(np.ones((6, 2)), [0, 1, 0, 1, 0, 1])
    assert len(same.indices_) == 6  # equal rows of two classes: no choice classifies them
    for params, message in (
        ({"outlier_margin": 2}, "outlier_margin=2"),
        ({"max_error": 1.0}, r"max_error=1\.0"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
    ):
        with pytest.raises(ValueError, match=message):
            Stolp(**params).fit(X, y)
