"""Which kernels are sums of products of kernels of columns; that they equal these, the contract of
kernels tests for all."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer import distances as d
from mercer.kernels import (
    RBF,
    AllSubsets,
    ChiSquared,
    Convex,
    Exponential,
    ExponentialPower,
    FromDistance,
    HistogramIntersection,
    Laplacian,
    Linear,
    Match,
    Matern,
    NotSeparable,
    Polynomial,
    Spectrum,
    TableKernel,
)

X = np.random.default_rng(0).uniform(0.1, 1, (7, 4))
FOUR = {0: "a", 1: "b", 2: "a", 3: "c"}


@pytest.mark.parametrize(
    ("kernel", "terms"),
    [
        (RBF(0.7), 1), (RBF("scale", d.Minkowski(2, [1, 2, 0, 3.0])), 1), (Laplacian(0.5), 1),
        (ExponentialPower(2.0, 1.0, d.Minkowski(1)), 1),
        (RBF(0.7, d.MappedMinkowski([1, 2, 0, -3.0])), 1),
        (ExponentialPower(2.0, 1.0, d.MappedMinkowski([1, 2, 0, 3.0], 1)), 1),
        (FromDistance(d.Canberra(), 0.3), 1),
        (Linear(), 3), (HistogramIntersection(), 3), (ChiSquared(), 1), (AllSubsets(), 1),
        (2 * RBF(0.3) + Linear(), 4), (RBF(0.3) * Laplacian(0.2), 1), (Linear() ** 2, 9),
        (RBF(0.2).normalised(), 1), (Exponential(Linear()), 1),
        (Convex([RBF(), Linear()], [0.3, 0.7]), 4),
    ],
    ids=repr,
)  # fmt: skip
def test_kernels_that_are(kernel, terms):
    bound = kernel.bind(X)
    found = bound.separated(X, FOUR)
    assert len(found) == terms
    for _, factors in found:
        assert set(factors) <= set("abc")
        for player, kernels in factors.items():  # which reads nothing else
            changed = X.copy()
            changed[:, [j for j, p in FOUR.items() if p != player]] += 0.3
            for k in kernels:
                assert_allclose(k.block(changed, X), k.block(X, X), atol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [Matern(1.5), Polynomial(2), RBF(0.3, d.Mahalanobis()), ExponentialPower(1.0, 1.0),
     RBF(0.3, d.MappedMinkowski(np.eye(4))), Linear().normalised(), Exponential(RBF(0.3)),
     (RBF(1.0) + Linear()) ** 5],
    ids=lambda k: repr(k)[:40],
)  # fmt: skip
def test_kernels_that_are_not(kernel):
    with pytest.raises(NotSeparable):
        kernel.bind(X).separated(X, FOUR)
    (term,) = kernel.bind(X).separated(X, dict.fromkeys(range(4), "all"))
    assert term.factors["all"][0].block(X, X).shape == (7, 7)


def test_groups_of_a_table_and_a_text_that_is_one_player():
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": list("xyzxyzx"), "t": ["ab"] * 7})
    parts = [(RBF(1.0), ["a", "b"]), (Match(), ["c"]), (Spectrum(1), ["t"])]
    own = {name: name for name in table.columns}
    for combine, terms in (("product", 1), ("sum", 3), ("interactions", 2)):
        kernel = TableKernel(parts, combine)
        rows = kernel.encode(table)
        found = kernel.bind(rows).separated(rows, own)
        assert len(found) == terms
    together = kernel.bind(rows).separated(rows, {**own, "a": "place", "b": "place"})
    assert [set(term.factors) for term in together] == [{"place", "c", "t"}]


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e140])
def test_a_factor_of_each_column_is_applied_before_differences_are(unit):
    """Squares of such numbers are no floats, so that the kernel in use has a map."""
    kernel = RBF("scale").bind(unit * X)
    (term,) = kernel.separated(unit * X, FOUR)
    product = np.prod([k.block(unit * X, unit * X) for ks in term.factors.values() for k in ks], 0)
    assert_allclose(product, kernel(unit * X), rtol=1e-12)
    assert_allclose(product, RBF("scale").bind(X)(X), rtol=1e-12)
    narrow = X.astype(np.float32)
    (term,) = RBF(0.5, d.MappedMinkowski([1, 2, 3, 4.0])).separated(narrow, FOUR)
    assert {k.block(narrow, narrow).dtype for ks in term.factors.values() for k in ks} == {
        np.dtype("float32")
    }
