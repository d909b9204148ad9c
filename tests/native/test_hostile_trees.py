"""The loops over trees on hostile arrays: empty trees, guards beside what is written, and numbers
of children, sizes and places that lead past the end."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import _native
from mercer.kernels import PartialTree, SubsetTree
from mercer.samples import Trees

SIZES = [0, 1, 2, 0, 7, 31, 1, 0]


def random_trees(sizes=SIZES, seed=0, labels=3):
    """Each node stands below one before it that is on the path to the last one."""
    rng = np.random.default_rng(seed)
    children = []
    for n in sizes:
        counts, path = [0] * n, [0]
        for v in range(1, n):
            path = path[: rng.integers(1, len(path) + 1)]
            counts[path[-1]] += 1
            path.append(v)
        children += counts
    values = [rng.integers(0, labels, len(children)), children]
    starts = np.concatenate(([0], np.cumsum(sizes)))
    return Trees(np.array(values, np.uint64).T.copy(), starts.astype(np.int64))


def guarded(shape, dtype):
    size = int(np.prod(shape))
    buffer = np.full(size + 6, 77, dtype)
    return buffer, buffer[3 : size + 3].reshape(shape)


def whole(buffer):
    assert (buffer[:3] == 77).all()
    assert (buffer[-3:] == 77).all()


def test_sizes_and_inner_nodes():
    X = random_trees()
    buffer, out = guarded((len(X.values), 4), np.uint64)
    _native.tree_nodes(X.starts, X.values, out)
    whole(buffer)
    children = X.values[:, 1].astype(int)
    for i in range(len(X)):
        for v in range(X.starts[i], X.starts[i + 1]):
            open_nodes, end = 1, v
            while open_nodes:
                open_nodes += children[end] - 1
                end += 1
            assert out[v, 2] == end - v
            assert out[v, 3] == (children[v:end] > 0).sum()
    leaves = X.values[:, 1] == 0
    assert ((out[:, 0] == 2**64 - 1) == leaves).all()


@pytest.mark.parametrize("kernel", [SubsetTree(0.7), PartialTree(0.6, 0.8)])
def test_sums_fill_what_they_are_given(kernel):
    X = random_trees()
    nodes = kernel.prepare(X).parts[1].values
    K = kernel.block(X[:], X)
    (a, m), (b, e) = guarded((len(X), len(X)), float), guarded((len(X), len(X)), np.int64)
    _native.tree_sums(X.starts, nodes, X.starts, nodes, *kernel.terms(), False, False, m, e)
    whole(a)
    whole(b)
    assert_array_equal(np.ldexp(m, e), K)
    assert_allclose(K, K.T, rtol=1e-13)
    m, e = np.empty((len(X), 1)), np.empty((len(X), 1), np.int64)
    _native.tree_sums(X.starts, nodes, X.starts, nodes, *kernel.terms(), True, True, m, e)
    assert_allclose(np.ldexp(m, e)[:, 0], K.diagonal())


def test_what_leads_past_the_end_is_refused():
    X = random_trees()
    n = len(X.values)
    out = np.empty((n, 4), np.uint64)
    for children in (0, 1, 5, 2**63, 2**64 - 1):
        values = X.values.copy()
        values[:, 1] = children
        with pytest.raises(IndexError, match="whole trees"):
            _native.tree_nodes(X.starts, values, out)
    for starts in (X.starts + 1, X.starts[::-1].copy(), X.starts[:-2], X.starts[:0]):
        with pytest.raises(IndexError, match="starts"):
            _native.tree_nodes(starts, X.values, out)
    with pytest.raises(ValueError, match="out must be"):
        _native.tree_nodes(X.starts, X.values, out[1:])
    with pytest.raises(ValueError, match="values must be"):
        _native.tree_nodes(X.starts, np.zeros((n, 3), np.uint64), out)

    nodes = SubsetTree().prepare(X).parts[1].values
    m, e = np.empty((len(X), len(X))), np.empty((len(X), len(X)), np.int64)

    def sums(nodes=nodes, starts=X.starts, m=m, e=e, own=False):
        both = (starts, nodes) * 2
        _native.tree_sums(*both, False, 0.5, 1.0, False, own, m, e)

    sums()
    rng = np.random.default_rng(0)
    for column, message in ((1, "whole trees"), (2, "whole trees"), (3, "permutation")):
        for value in (0, 3, 10**6, 2**63, 2**64 - 1):
            wrong = nodes.copy()
            wrong[:, column] = value
            with pytest.raises(IndexError, match=message):
                sums(wrong)
        for _ in range(50):  # some of these are whole, and then there is a sum
            wrong = nodes.copy()
            wrong[rng.integers(n), column] = rng.integers(0, 9)
            try:
                sums(wrong)
            except IndexError:
                continue
    wrong = nodes.copy()
    wrong[:, 0] = rng.integers(0, 2**62, n)
    with pytest.raises(IndexError, match="keys must ascend"):
        sums(wrong)
    for starts in (X.starts + 1, X.starts[:-2]):
        with pytest.raises(IndexError, match="starts"):
            sums(starts=starts)
    with pytest.raises(ValueError, match="m must be"):
        sums(m=m[1:])
    with pytest.raises(ValueError, match="e must be"):
        sums(e=e[:, 1:].copy())
    with pytest.raises(ValueError, match="m must be"):
        sums(own=True)
    with pytest.raises(ValueError, match="nodes must be"):
        sums(nodes[:, :3].copy())
