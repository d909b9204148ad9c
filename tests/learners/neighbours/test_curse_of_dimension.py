"""Reference numbers: what a noise feature and many features do to neighbours."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import binom

from mercer import KNeighborsClassifier, NearestNeighbors


def test_a_noise_feature_makes_the_far_point_the_nearer_one():
    """Of x = 0.1 and x = 0.5 the origin takes the wrong one with probability 0.275."""
    exact = quad(lambda u: np.sqrt(u**2 - 0.24), np.sqrt(0.24), 1)[0]
    assert round(exact, 3) == 0.275
    u, v = np.random.default_rng(0).random((2, 400_000))
    assert_allclose(np.mean(0.5**2 + v**2 < 0.1**2 + u**2), exact, atol=0.003)
    wrong = [
        NearestNeighbors(n_neighbors=1).fit([[0.1, a], [0.5, b]]).kneighbors([[0.0, 0.0]])[1][0, 0]
        for a, b in zip(u[:1000], v[:1000])
    ]
    assert_allclose(np.mean(wrong), exact, atol=0.05)


def test_a_cube_that_holds_five_of_5000_points():
    delta = brentq(lambda share: binom.sf(4, 5000, share) - 0.95, 1e-6, 0.1)
    assert round(delta, 4) == 0.0018
    assert [round(delta ** (1 / d), 2) for d in (10, 100)] == [0.53, 0.94]
    rng = np.random.default_rng(0)
    for d in (10, 100):
        X, centre = rng.random((5000, d)), np.full((1, d), 0.5)
        edge = delta ** (1 / d)
        model = NearestNeighbors(n_neighbors=5, metric="chebyshev").fit(X)
        fifth = 2 * model.kneighbors(centre)[0][0, -1]  # the edge of the cube that holds five
        assert fifth < edge + 0.02
        assert fifth > 0.8 * edge


def test_noise_features_blur_the_classes():
    rng = np.random.default_rng(1)
    x = rng.random((300, 1))
    y = (x[:, 0] > 0.5).astype(int)
    scores = [
        np.mean(
            KNeighborsClassifier(5).fit(np.hstack([x, rng.random((300, m))]), y).predict(None) == y
        )
        for m in (0, 10, 100)
    ]
    assert scores[0] > 0.97 > scores[1] > scores[2]
