"""Kernels of kernels: identities, what may be combined, tables, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone

from lanes import examples
from mercer import SVC
from mercer.gram import gram
from mercer.kernels import (
    RBF,
    Centred,
    Convex,
    Exponential,
    GapWeighted,
    Jaccard,
    Kernel,
    Linear,
    Mapped,
    Match,
    Modulated,
    On,
    Polynomial,
    Power,
    Product,
    QueryKey,
    Scaled,
    Sigmoid,
    Spectrum,
    Sum,
    TableKernel,
    Tanimoto,
    WeightedDegree,
    check_mercer,
)

X = np.random.default_rng(0).normal(size=(10, 3))
TABLE = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": list("xyzxyzxyzx"), "d": list("uuuvvvuuuv")})

ATOMS = st.sampled_from([Linear(), RBF(0.5), Polynomial(2, 0.3, 1.0)])


def grow(children):
    return st.one_of(
        st.builds(Sum, children, children),
        st.builds(Product, children, children),
        st.builds(Scaled, children, st.floats(0.1, 3)),
        st.builds(Power, children, st.integers(1, 2)),
        children.map(Kernel.normalised),
        st.builds(Convex, st.lists(children, min_size=1, max_size=3)),
    )


@given(st.recursive(ATOMS, grow, max_leaves=5))
@examples(60)
def test_any_expression_is_a_kernel(kernel):
    K = kernel(X)
    scale = max(1.0, np.abs(K).max())
    assert_allclose(K, K.T, atol=1e-9 * scale)
    assert_allclose(kernel.diag(X), K.diagonal(), rtol=1e-9)
    assert np.linalg.eigvalsh(K)[0] >= -1e-9 * scale * len(K)
    assert_allclose(clone(kernel)(X), K)


def test_operators_build_the_nodes():
    a, b = Linear(), RBF(0.5)
    A, B = a(X), b(X)
    assert_allclose((a + b)(X), A + B)
    assert_allclose((a * b)(X), A * B)
    assert_allclose((3 * a)(X), 3 * A)
    assert_allclose((a * np.float32(3))(X), 3 * A)
    assert_allclose((a**3)(X), A**3)
    assert_allclose(sum([a, b, a])(X), A + B + A)


def test_the_exponential_of_inner_products_normalised_is_the_gaussian():
    # exp(<x, z>) / sqrt(exp(<x, x>) exp(<z, z>)) = exp(-‖x - z‖² / 2), also where exp overflows
    for scale in (1, 100):
        K = Exponential(Linear()).normalised()(scale * X)
        assert_allclose(K, RBF(0.5)(scale * X), atol=1e-9)


def test_centred_kernels_have_features_of_mean_zero():
    kernel = Centred(Polynomial(2)).bind(X)
    F = Polynomial(2).features(X)
    G = F - F.mean(axis=0)
    assert_allclose(kernel(X), G @ G.T, atol=1e-9)
    Z = X[:2] + 1
    new = Polynomial(2).features(Z) - F.mean(axis=0)
    assert_allclose(kernel.block(Z, X), new @ G.T, atol=1e-9)
    assert_allclose(kernel.diag(Z), (new**2).sum(axis=1), atol=1e-9)
    with pytest.raises(ValueError, match="no sample yet: bind it"):
        Centred(Linear()).block(X, X)
    assert_allclose(Centred(Polynomial(2))(X), G @ G.T, atol=1e-9)


@pytest.mark.parametrize("kernel", [Jaccard(), Tanimoto(), Tanimoto("dot"), Spectrum(2)])
def test_centred_rows_share_what_the_sample_lacks(kernel):
    sample, rows = ["ab", "cb", "acc"], ["xyz", "xy", "xyy", "ab"]
    if not isinstance(kernel, Spectrum):
        sample, rows = [list(row) for row in sample], [list(row) for row in rows]
    K, A = kernel(rows), kernel(rows, sample).mean(axis=1)
    centred = K - A[:, None] - A + kernel(sample).mean()
    assert_allclose(Centred(kernel, sample=sample)(rows), centred, atol=1e-14)
    assert_allclose(Centred(kernel, sample=sample)(rows, rows[:2]), centred[:, :2], atol=1e-14)
    bound = Centred(kernel).bind(kernel.encode(sample))
    new = kernel.encode(rows, like=bound.sample)
    assert_allclose(bound.block(new, new), centred, atol=1e-14)
    assert_allclose(bound.block(new, bound.sample).mean(axis=1), 0, atol=1e-14)


def test_parameters_of_the_parts_have_nested_names():
    kernel = Linear() + 2 * RBF(0.5)
    assert kernel.get_params()["right__kernel__gamma"] == 0.5
    kernel.set_params(right__kernel__gamma=0.1, right__factor=3)
    assert_allclose(kernel(X), Linear()(X) + 3 * RBF(0.1)(X))


def test_what_is_known_of_definiteness_and_symmetry():
    asymmetric = QueryKey(np.eye(3), 2 * np.eye(3))
    assert (Linear() + RBF()).positive_definite is True
    assert (Linear() + Sigmoid()).positive_definite is None
    assert not (Linear() + asymmetric).symmetric
    assert (Linear() * RBF()).symmetric
    assert RBF().on("a").positive_definite is True
    assert TableKernel([(Sigmoid(), ["a"])]).positive_definite is None


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: 0 * Linear(), ValueError, "factor=0.0: give a finite number > 0"),
        (lambda: -1 * Linear(), ValueError, "factor=-1.0"),
        (lambda: Linear() ** 0, ValueError, "exponent=0: give an integer >= 1"),
        (lambda: Linear() ** 0.5, ValueError, "exponent=0.5"),
        (lambda: Linear() + 1, TypeError, "unsupported operand"),
        (lambda: 1 + Linear(), TypeError, "unsupported operand"),
        (lambda: Sum(Linear(), 3)(X), TypeError, "right=3: Sum needs a Mercer kernel"),
        (lambda: (Linear() + Match())(X), TypeError, "mixes kernels on categories and vectors"),
        (lambda: Convex([Linear()], [0.5])(X), ValueError, "1 numbers >= 0 with sum 1"),
        (lambda: Convex([Linear(), RBF()], [1.5, -0.5])(X), ValueError, "2 numbers >= 0"),
        (lambda: Convex([])(X), TypeError, "at least one Mercer kernel"),
        (lambda: Modulated(Linear(), np.ndim)(X), ValueError, r"function returned shape \(\)"),
        (lambda: Linear().on()(X), ValueError, "at least one column"),
        (lambda: On(Linear(), "ab")(TABLE), ValueError, "columns='ab': give a list"),
        (lambda: TableKernel(combine="mean")(TABLE), ValueError, "combine='mean'"),
        (
            lambda: TableKernel().block(*[TableKernel().encode(TABLE)] * 2),
            ValueError,
            "finds its parts in the training table",
        ),
        (lambda: TableKernel([])(TABLE), ValueError, "parts is empty"),
        (lambda: TableKernel([("rbf", ["a"])])(TABLE), TypeError, "parts holds 'rbf'"),
        (
            lambda: TableKernel([(RBF(), ["a"])], weights=[1.0])(TABLE),
            ValueError,
            'weights is given, but combine="product"',
        ),
        (
            lambda: TableKernel([(RBF(), ["a"])], "sum", [1.0, 2.0])(TABLE),
            ValueError,
            "one number >= 0 for each part",
        ),
    ],
)
def test_what_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_transform_of_the_samples():
    kernel = Mapped(RBF(0.5), lambda A: A[:, :1])
    assert_allclose(kernel(X), RBF(0.5)(X[:, :1]))


def test_a_table_kernel_is_a_product_over_its_parts():
    kernel = TableKernel([(RBF(0.5), ["a", "b"]), (Match(), ["c", "d"])])
    expected = RBF(0.5)(TABLE[["a", "b"]]) * Match()(TABLE[["c", "d"]])
    assert_allclose(kernel(TABLE), expected)
    assert_allclose((RBF(0.5).on("a", "b") * Match().on("c", "d"))(TABLE), expected)


def test_interactions_hold_all_subsets_of_the_parts():
    a, b = RBF(0.5).on("a"), Match().on("c")
    kernel = TableKernel([(RBF(0.5), ["a"]), (Match(), ["c"])], "interactions", [2.0, 3.0])
    A, B = a(TABLE), b(TABLE)
    assert_allclose(kernel(TABLE), (1 + 2 * A + 3 * B + 6 * A * B) / 12)


def test_new_tables_continue_the_codes_and_unseen_categories_match_nothing():
    kernel = TableKernel([(RBF(0.5), ["a"]), (Match(), ["c"])])
    T = kernel.encode(TABLE)
    bound = kernel.bind(T)
    new = TABLE.head(3).copy()
    new["c"] = ["x", "unseen", "z"]
    Z = bound.encode(new, like=T)
    K = bound.block(Z, T)
    assert_allclose(K[[0, 2]], bound.block(T, T)[[0, 2]])
    assert (K[1] == 0).all()


def test_one_group_of_columns_read_by_two_kernels_is_encoded_once():
    kernel = RBF(0.5).on("a", "b") + Linear().on("a", "b") + Match().on("c")
    T = kernel.encode(TABLE)
    assert len(T.parts) == 2
    assert T[np.array([1, 2])].shape == (2, 2)
    assert check_mercer(kernel, TABLE).positive_definite


def test_names_of_columns_may_hold_any_characters():
    """Two columns together are not the column whose name is both with a comma between."""
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "a, b": X[:, 2]})
    left, right = X[:, :2] @ X[:, :2].T, np.outer(X[:, 2], X[:, 2])
    for kernel in (
        Linear().on("a", "b") + Linear().on("a, b"),
        TableKernel([(Linear(), ["a", "b"]), (Linear(), ["a, b"])], "sum"),
    ):
        assert_allclose(kernel(table), left + right)
        assert_allclose(kernel(table[["a, b", "b", "a"]][:3], table), (left + right)[:3])
    assert_allclose((Linear().on("a, b") * Linear().on("a", "b"))(table), left * right)


def test_kernels_that_read_a_column_in_two_ways_both_do():
    table = pd.DataFrame({"tags": ["x,y;z", "x,y", "x;z"]})
    commas, semicolons = Jaccard(separator=","), Jaccard(separator=";")
    # by commas {x, y;z}, {x, y}, {x;z}; by semicolons {x,y, z}, {x,y}, {x, z}
    by_commas = [[1, 1 / 3, 0], [1 / 3, 1, 0], [0, 0, 1]]
    by_semicolons = [[1, 1 / 2, 1 / 3], [1 / 2, 1, 0], [1 / 3, 0, 1]]
    both = commas.on("tags") + semicolons.on("tags")
    assert_allclose(both(table), np.add(by_commas, by_semicolons))
    product = TableKernel([(commas, ["tags"]), (semicolons, ["tags"])])
    assert_allclose(product(table), np.multiply(by_commas, by_semicolons))


WORDS = ["banana" * 5, "ananas", "anna", "hannah"]


def in_lists(a, b):
    """Nodes that hold kernels on strings in lists, flat and nested, and of columns."""
    mixed = TableKernel([(a, ["x"]), (b, ["x"])])
    return [(Convex([a, b]), WORDS), (Convex([Convex([b, a]), a]), WORDS),
            (mixed, pd.DataFrame({"x": WORDS}))]  # fmt: skip


@pytest.mark.parametrize("place", range(3))
def test_pairs_of_kernels_in_lists_cost_at_least_what_their_parts_do(place):
    a, b = GapWeighted(2, 0.5), GapWeighted(4, 0.5)
    kernel, samples = in_lists(a, b)[place]
    parts = sum(part.pair_cost(part.encode(WORDS)) for part in (a, b))
    assert kernel.pair_cost(kernel.encode(samples)) >= parts > 0


@pytest.mark.parametrize("place", range(3))
def test_kernels_in_lists_are_asked_whether_they_can_compare_the_samples(place):
    kernel, samples = in_lists(Spectrum(2, shortest=1), WeightedDegree(2))[place]
    with pytest.raises(ValueError, match="WeightedDegree"):
        kernel.encode(samples)


def test_kernels_in_lists_are_validated_bound_and_known():
    inner = Convex([RBF("scale"), Sigmoid()])
    kernel = Convex([Linear(), inner])
    bound = kernel.bind(X)
    assert bound.get_params()["kernels__1__kernels__0__gamma"] == pytest.approx(1 / (3 * X.var()))
    assert inner.kernels[0].gamma == "scale"
    assert kernel.positive_definite is None
    assert not Convex([Linear(), QueryKey(np.eye(3), 2 * np.eye(3))]).symmetric
    with pytest.raises(ValueError, match="gamma=-1"):
        Convex([Linear(), Convex([RBF(-1)])])(X)
    columns = Convex([Linear().on("a"), RBF(0.5).on("b")])
    assert_allclose(columns(TABLE), (Linear()(X[:, :1]) + RBF(0.5)(X[:, 1:2])) / 2)


def test_parameters_of_kernels_in_lists_have_numbered_names():
    kernel = TableKernel([(RBF(0.5), ["a"]), (Convex([Match(), Match([2.0])]), ["c"])], "sum")
    params = kernel.get_params()
    assert params["parts__0__gamma"] == 0.5
    assert params["parts__1__kernels__1__weights"] == [2.0]
    assert "parts__0__gamma" not in kernel.get_params(deep=False)
    copy = clone(kernel).set_params(parts__0__gamma=0.1, parts__1__kernels__1__weights=[3.0])
    assert copy.get_params()["parts__1__kernels__1__weights"] == [3.0]
    same = TableKernel([(RBF(0.1), ["a"]), (Convex([Match(), Match([3.0])]), ["c"])], "sum")
    assert_allclose(copy(TABLE), same(TABLE))
    assert kernel.get_params()["parts__0__gamma"] == 0.5
    replaced = clone(kernel).set_params(parts__0=RBF(2.0), parts__0__gamma=3.0)
    assert repr(replaced.parts[0]) == "(RBF(gamma=3.0), ['a'])"
    for name, message in (("parts__2", "parts__2 is not a comparison.*2 items"),
                          ("parts__0__gama", "'gama' for estimator RBF")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            clone(kernel).set_params(**{name: RBF()})


def test_a_bare_call_has_the_values_of_the_gram_operator():
    blended = Spectrum(2, shortest=1)
    for kernel in (blended, GapWeighted(2, 0.5).normalised(), blended**2):
        T = kernel.encode(WORDS)
        wanted = gram(kernel.bind(T), T).dense()
        assert_allclose(kernel(WORDS), wanted, rtol=1e-12)
        assert_allclose(kernel(WORDS[:1], WORDS), wanted[:1], rtol=1e-12)
        assert_allclose(kernel(WORDS[:3], WORDS[1:]), wanted[:3, 1:], rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (2 * RBF(0.5), "kernel__gamma"),
        (RBF(0.5) + Linear(), "left__gamma"),
        (Convex([Linear(), RBF(0.5)]), "kernels__1__gamma"),
        (3 * Convex([Linear(), 2 * RBF(0.5)]), "kernel__kernels__1__kernel__gamma"),
        (TableKernel([(RBF(0.5), [0]), (Linear(), [1])]), "parts__0__gamma"),
    ],
    ids=str,
)
def test_a_copy_with_an_inner_parameter_changed_leaves_the_kernel_as_it_is(kernel, name):
    copy = kernel.copied(**{name: 4.0})
    assert copy.get_params()[name] == 4.0
    assert kernel.get_params()[name] == 0.5
    with pytest.raises(ValueError, match=r"Invalid parameter|is not a comparison"):
        kernel.copied(**{name.replace("gamma", "delta"): 4.0})
    assert kernel.get_params()[name] == 0.5


@pytest.mark.parametrize("kernels", [[], ["rbf"], None])
def test_sums_of_nothing_are_named_by_learners(kernels):
    with pytest.raises(TypeError, match="give a list of at least one Mercer kernel"):
        SVC(kernel=Convex(kernels)).fit([[0.0], [1.0]], [0, 1])
