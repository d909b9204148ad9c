"""MistakeDisplay and ClusterDisplay: what they draw is what was computed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelKMeans, KernelPerceptron, Perceptron
from mercer.kernels import RBF
from mercer.plots import ClusterDisplay, MistakeDisplay

pytest.importorskip("matplotlib").use("agg")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.where(X[:, 0] > 0, 1, -1)


def test_the_lines_of_the_proof():
    model = KernelPerceptron(RBF(1.0)).fit(X, Y)
    display = MistakeDisplay.from_estimator(model, X, Y)
    proof, k = display.proof, np.arange(1, len(display.proof.along) + 1)
    assert len(k) == model.mistakes_[0].sum() <= display.bound
    for ax, values, limits in zip(
        display.ax_,
        (proof.along, proof.squares, proof.cosines),
        (k * proof.margin, k * proof.radius**2, np.sqrt(k) * proof.margin / proof.radius),
    ):
        assert_allclose(ax.lines[0].get_ydata(), values)
        assert_allclose(ax.lines[1].get_ydata(), limits)
    assert_allclose(proof.along**2 / proof.squares, proof.cosines**2)


def test_there_is_no_proof_without_a_plane():
    flat = Perceptron(tol=1e-3).fit([[1.0], [1.0], [2.0]], [0, 1, 1])
    with pytest.raises(ValueError, match="not separable"):
        MistakeDisplay.from_estimator(flat, [[1.0], [1.0], [2.0]], [0, 1, 1])
    with pytest.raises(TypeError, match="has no margin_report"):
        MistakeDisplay.from_estimator(KernelKMeans(2).fit(X), X, Y)


def test_clusters_stand_side_by_side():
    A = np.concatenate([X, X + 20])[RNG.permutation(120)]
    model = KernelKMeans(2, gamma=0.05, random_state=0).fit(A)
    display = ClusterDisplay.from_estimator(model, A)
    drawn = np.asarray(display.image_.get_array())
    order = np.argsort(model.labels_, kind="stable")
    assert_allclose(drawn, RBF(0.05)(A)[np.ix_(order, order)])
    assert display.within > 0.5 > display.between
