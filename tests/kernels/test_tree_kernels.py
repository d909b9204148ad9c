"""Kernels on trees beyond the contract: features, large values, orders of children, bounds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import cases
from mercer import SVC, KernelRidge
from mercer.kernels import PartialTree, SubsetTree, Subtree, check_mercer


def random_tree(rng, left, labels="ABC"):
    """A tree of about ``left`` nodes."""
    tree = [str(rng.choice(list(labels)))]
    while left > 1 and rng.random() < 0.8:
        part = int(rng.integers(1, left))
        tree.append(random_tree(rng, part, labels))
        left -= part
    return tuple(tree)


RNG = np.random.default_rng(0)
TREES = [random_tree(RNG, 30) for _ in range(40)]
ALL = [Subtree(), Subtree(0.5), SubsetTree(), PartialTree()]


@pytest.mark.parametrize("kernel", ALL, ids=str)
def test_positive_semidefinite_on_random_trees(kernel):
    assert check_mercer(kernel, TREES).positive_definite


def test_features_are_the_kernel():
    kernel = Subtree(0.5)
    F = kernel.features(kernel.encode(TREES))
    assert_allclose((F @ F.T).toarray(), kernel(TREES), rtol=1e-12)
    known = kernel.copied(vocabulary=TREES[:20])
    F, G = (known.features(kernel.encode(X)) for X in (TREES[:20], TREES[20:]))
    assert_allclose((G @ F.T).toarray(), kernel(TREES[20:], TREES[:20]), rtol=1e-12)


def test_parts_hold_subtrees_and_partial_trees_hold_parts():
    """With weights 1, k(x, x) grows with what counts as a part."""
    found = [kernel(TREES).diagonal() for kernel in (Subtree(), PartialTree(1.0, 1.0))]
    inner = SubsetTree(1.0)(TREES).diagonal()
    assert (found[1] >= inner).all()
    assert (found[1] >= found[0]).all()


def test_the_order_of_children_counts():
    ab, ba = ("S", "A", "B"), ("S", "B", "A")
    assert SubsetTree()([ab], [ba])[0, 0] == 0
    assert Subtree()([ab], [ba])[0, 0] == 2  # the leaves
    assert PartialTree(1.0, 1.0)([ab], [ba])[0, 0] == 5  # S, A, B, and S with one of them


def full(depth, label="A"):
    return "(A " + " ".join([full(depth - 1)] * 2) + ")" if depth else "(A)"


@pytest.mark.full
def test_values_beyond_floats():
    """Sums of Δ of full trees of one label, by the recursion of their depths in integers."""
    depth = 11  # 2^11 leaves
    X = [full(depth), full(4)]
    kernel = SubsetTree(1.0)
    between = {}

    def delta(a, b):
        if (a, b) not in between:
            between[a, b] = 0 if min(a, b) == 0 else (1 + delta(a - 1, b - 1)) ** 2
        return between[a, b]

    across = sum(2 ** (depth - a + 4 - b) * delta(a, b) for a in range(depth + 1) for b in range(5))
    wanted = sum(
        2 ** (2 * depth - a - b) * delta(a, b) for a in range(depth + 1) for b in range(depth + 1)
    )
    log = kernel.log(X)
    assert log[0, 0] / np.log(2) == pytest.approx(wanted.bit_length(), abs=1)
    assert log[0, 1] == pytest.approx(np.log(float(across)), rel=1e-12)
    assert np.isinf(kernel(X)[0, 0])
    with pytest.warns(UserWarning, match="no two different rows are similar"):
        K = kernel.normalised()(X)
    assert_allclose(K.diagonal(), 1, rtol=1e-9)
    partial = PartialTree(1.0, 1.0)
    X[0] = full(10)
    assert np.isinf(partial(X)[0, 0])
    assert np.isfinite(partial.log(X)).all()


def test_too_many_pairs_are_refused():
    chain = "(A " * 12_000 + ")" * 12_000
    with pytest.raises(ValueError, match="12000 and 12000 nodes have 143976001 pairs of nodes"):
        SubsetTree()([chain])
    assert Subtree()([chain])[0, 0] == 12_000


@pytest.mark.parametrize("kernel", ALL, ids=str)
def test_new_trees_change_nothing_of_the_others(kernel):
    whole = kernel(TREES)
    assert_allclose(kernel(TREES[20:], TREES[:20]), whole[20:, :20], rtol=1e-14)
    assert_allclose(kernel.diag(kernel.encode(TREES)), whole.diagonal(), rtol=1e-14)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Subtree(0), "decay=0: give a finite number > 0"),
        (SubsetTree(-1.0), "decay=-1.0"),
        (SubsetTree(np.inf), "decay=inf"),
        (PartialTree(0.4, 0), "depth_decay=0"),
        (PartialTree("half"), "decay='half'"),
    ],
)
def test_wrong_weights_are_named(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel(cases.trees())


def test_learners_take_trees():
    y = np.array(["A" in str(tree[1:]) for tree in TREES])
    assert SVC(kernel=SubsetTree().normalised(), C=10).fit(TREES, y).score(TREES, y) > 0.9
    sizes = [float(str(tree).count("(")) for tree in TREES]
    assert KernelRidge(kernel=PartialTree(), alpha=1e-3).fit(TREES, sizes).score(TREES, sizes) > 0.8
