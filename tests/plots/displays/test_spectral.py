"""Displays of embeddings and of canonical correlations: what they draw, and what they refuse."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from mercer import KernelCCA, KernelDiscriminant, KernelPCA
from mercer.gram import DenseGram, pivoted_cholesky
from mercer.kernels import RBF
from mercer.plots import (
    CanonicalCorrelationDisplay,
    ConvergenceDisplay,
    EmbeddingDisplay,
    RankErrorDisplay,
    SpectrumDisplay,
)
from mercer.solvers import CholeskySolver, ConjugateGradientSolver, NystroemPreconditioner

X, y = load_iris(return_X_y=True)


def test_an_embedding_draws_each_class_at_its_scores():
    pca = KernelPCA(3, kernel="rbf").fit(X)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    display = EmbeddingDisplay.from_estimator(pca, X, names, components=(0, 2))
    assert len(display.points_) == 3
    for c, points in enumerate(display.points_):
        assert_allclose(points.get_offsets(), pca.transform(X)[y == c][:, [0, 2]])
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("Component 1", "Component 3")
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["setosa", "versicolor", "virginica"]


def test_an_embedding_without_labels_or_coloured_by_a_number():
    model = KernelDiscriminant().fit(X, y)
    ax = plt.subplots()[1]
    assert EmbeddingDisplay.from_estimator(model, X, ax=ax).ax_ is ax
    display = EmbeddingDisplay.from_estimator(model, X, X[:, 0])
    assert_allclose(display.points_[0].get_array(), X[:, 0])
    with pytest.raises(ValueError, match="has 2 of them"):
        EmbeddingDisplay.from_estimator(model, X, components=(0, 2))
    with pytest.raises(ValueError, match="one for each of the 150 scores"):
        EmbeddingDisplay(X[:, :2], y[:9])
    with pytest.raises(ValueError, match="two columns"):
        EmbeddingDisplay(X)


def test_canonical_correlations_beside_those_held_out():
    cca = KernelCCA(2, alpha=1e-3).fit(X[:, :2], X[:, 2:])
    display = CanonicalCorrelationDisplay.from_estimator(cca)
    heights = [[bar.get_height() for bar in bars] for bars in display.bars_]
    assert_allclose(heights, [cca.correlations_, cca.held_out_correlations_])
    assert display.lost[1] > 0
    unknown = CanonicalCorrelationDisplay([0.5]).plot()
    assert np.isnan(unknown.held_out).all()
    with pytest.raises(ValueError, match="one for each of the 2"):
        CanonicalCorrelationDisplay([0.5, 0.4], [0.3])


def test_the_spectrum_of_a_kernel_pca():
    pca = KernelPCA(kernel="rbf").fit(X)
    display = SpectrumDisplay(pca.eigenvalues_ / pca.n_samples_).plot()
    assert display.rank(0.95) == 1 + np.searchsorted(pca.explained_variance_ratio_.cumsum(), 0.95)
    assert SpectrumDisplay.from_estimator(pca, X).eigenvalues[0] > 0


def test_what_a_rank_lacks_is_the_trace_error_and_not_below_the_least():
    A = np.random.default_rng(0).normal(size=(120, 3))
    K = np.asarray(RBF(0.3)(A))
    display = RankErrorDisplay.from_gram(K, rank=40, random_state=1)
    assert len(display.errors) == 40
    assert (display.errors >= display.least - 1e-12).all()
    assert (np.diff(display.errors) <= 1e-15).all()
    for rank in (1, 7, 40):
        low = pivoted_cholesky(DenseGram(K, symmetric=True), 40, random_state=1)
        part = low.F[:, :rank]
        assert_allclose(display.errors[rank - 1], 1 - np.trace(part @ part.T) / 120, atol=1e-12)
    assert display.rank(display.errors[6]) == 7
    assert display.rank(-1.0) is None
    drawn = display.plot()
    assert_allclose(drawn.lines_[0].get_ydata(), display.errors)
    assert drawn.ax_.get_xlabel() == "Number of centres"
    with pytest.raises(ValueError, match="trace 0"):
        RankErrorDisplay.from_gram(np.zeros((3, 3)))


def test_a_fitted_kernel_has_a_rank_curve():
    pca = KernelPCA(2, kernel="rbf", gamma=0.1).fit(X)
    display = RankErrorDisplay.from_estimator(pca, X, rank=5)
    assert len(display.lines_[0].get_xdata()) == len(display.errors) <= 5


def test_certificates_of_solvers_fall():
    A = np.random.default_rng(0).normal(size=(150, 4))
    K = DenseGram(np.asarray(RBF(0.5)(A)), symmetric=True)
    solvers = {
        "plain": ConjugateGradientSolver(1e-3, preconditioner=None),
        "Nyström": ConjugateGradientSolver(1e-3, preconditioner=NystroemPreconditioner(60, 0)),
    }
    display = ConvergenceDisplay.from_solvers(solvers, K, A[:, 0])
    ends = {name: curve[:, -1] for name, curve in display.curves.items()}
    assert ends["Nyström"][0] < ends["plain"][0]
    assert all(gap <= 1e-6 for _, gap in ends.values())
    assert display.certificate == "relative residual"
    drawn = display.plot()
    assert [line.get_label() for line in drawn.lines_] == ["plain", "Nyström"]
    assert drawn.ax_.get_ylabel() == "Relative residual"
    with pytest.raises(TypeError, match="has no max_iter"):
        ConvergenceDisplay.from_solvers({"direct": CholeskySolver()}, K, A[:, 0])
    with pytest.raises(ValueError, match="results has none"):
        ConvergenceDisplay({})
