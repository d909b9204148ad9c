"""Sums of kernels with weights learnt without targets, as layers and alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_digits

import mercer
from mercer import SVC, KernelPCA, MultipleKernelClassifier
from mercer.deep import MultilayerKernelMachine, UnsupervisedSum
from mercer.gram import gram
from mercer.kernels import RBF, ArcCosine, Convex, Linear, Match, Spectrum
from mercer.solvers import NeighbourhoodWeights

X, y = load_digits(return_X_y=True)
X, y = X[:160] / 16, y[:160]
KERNELS = [ArcCosine(0), RBF(0.05), RBF(20.0), Linear()]


def weights_by_hand(features, kernels=KERNELS, neighbours=10):
    dense = [kernel(features) for kernel in kernels]
    scaled = [(1 / float(np.mean(K.diagonal()))) * kernel for kernel, K in zip(kernels, dense)]
    return NeighbourhoodWeights(neighbours).solve([gram(k, features) for k in scaled]).coef


def test_each_layer_has_weights_of_its_own():
    """Those of the features that the layer before hands on."""
    machine = MultilayerKernelMachine(2, kernel=UnsupervisedSum(KERNELS), width=20, random_state=0)
    machine.fit(X, y)
    for layer, features in zip(machine.layers_, (X, machine.transform(X, 1))):
        wanted = weights_by_hand(features)
        kernel = layer.pca.kernel_
        assert isinstance(kernel, Convex)
        assert_allclose(kernel.weights, wanted[wanted > 0], atol=1e-6)
    assert machine.score(X, y) > 0.95


def test_a_list_of_layers_and_other_learners():
    """The weights do not depend on the targets, nor on the learner that asks for them."""
    layers = [UnsupervisedSum(KERNELS, 5), "rbf"]
    machine = MultilayerKernelMachine(kernel=layers, width=20, random_state=0).fit(X, y)
    wanted = weights_by_hand(X, neighbours=5)
    first = machine.layers_[0].pca.kernel_
    assert_allclose(first.weights, wanted[wanted > 0])
    alone = KernelPCA(3, kernel=layers[0]).fit(X).kernel_
    assert_allclose(alone.weights, first.weights)
    assert_allclose(SVC(kernel=layers[0]).fit(X, y).kernel_(X), first(X), rtol=1e-9)


def test_they_are_those_of_the_learner_of_many_kernels():
    kernels = [RBF(0.05), RBF(20.0), ArcCosine(0)]  # whose k(x, x) is 1
    model = MultipleKernelClassifier(kernels, method="unsupervised").fit(X, y)
    ours = UnsupervisedSum(kernels).bind(X)
    assert_allclose(ours.weights, model.weights_[model.weights_ > 0], atol=1e-6)


def test_the_unit_of_a_kernel_does_not_matter():
    one, other = UnsupervisedSum(KERNELS), UnsupervisedSum([100 * KERNELS[0], *KERNELS[1:]])
    assert_allclose(one.bind(X).weights, other.bind(X).weights, atol=1e-6)


def test_strings_columns_files_and_parameters(tmp_path):
    words = ["banana", "ananas", "bandana", "house", "mouse", "houses"] * 3
    labels = [0, 0, 0, 1, 1, 1] * 3
    kernel = UnsupervisedSum([Spectrum(1), Spectrum(2)], 3)
    machine = MultilayerKernelMachine(kernel=[kernel, "rbf"], random_state=0).fit(words, labels)
    mercer.save(machine, tmp_path / "machine.mercer")
    loaded = mercer.load(tmp_path / "machine.mercer")
    assert loaded.predict(["bananas", "hose"]).tolist() == [0, 1]
    changed = clone(kernel).set_params(kernels__0__k=3, n_neighbors=2)
    assert (changed.kernels[0].k, kernel.kernels[0].k, changed.n_neighbors) == (3, 1, 2)
    table = [[i % 5, "ab"[i % 2]] for i in range(20)]
    mixed = UnsupervisedSum([RBF(0.5).on(0), Match().on(1)], 3)
    model = SVC(kernel=mixed).fit(table, [i % 2 for i in range(20)])
    assert model.score(table[:4], [0, 1, 0, 1]) == 1


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (UnsupervisedSum([]), r"kernels=\[\]: give a list of at least one"),
        (UnsupervisedSum(["rbf"]), "give a list of at least one Mercer kernel"),
        (UnsupervisedSum(KERNELS, 0), "n_neighbors=0"),
        (UnsupervisedSum([RBF(-1.0)]), "gamma=-1.0"),
        (UnsupervisedSum([RBF(), Spectrum(2)]), "mixes kernels on"),
    ],
)
def test_wrong_parameters_are_named(kernel, message):
    with pytest.raises((TypeError, ValueError), match=message):
        KernelPCA(2, kernel=kernel).fit(X)


def test_it_has_no_values_before_it_is_bound():
    with pytest.raises(ValueError, match="bind it to the training sample"):
        UnsupervisedSum(KERNELS).block(X, X)


def test_few_rows_and_rows_that_are_all_alike():
    assert np.sum(UnsupervisedSum(KERNELS).bind(X[:3]).weights) == pytest.approx(1)
    assert np.sum(UnsupervisedSum(KERNELS[:2]).bind(np.ones((5, 2))).weights) == pytest.approx(1)
