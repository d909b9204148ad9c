"""Every function of mercer._native on hostile arrays, against numpy: sizes about the widths of
vectors and strips, slices that start between vector boundaries, strided and byte-shifted arrays,
other dtypes, and values that are no number, infinite, subnormal or near overflow.

The rule for arrays: matrices, and all that is written, are taken as they are or refused. Vectors
that are only read are converted where needed.
"""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import _native
from mercer.kernels import ANOVA, AllSubsets, ChiSquared, Laplacian, Matern

# a vector holds 2 to 16 values, a strip 64 or 512
WIDTHS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 511, 512, 513, 1025]
HEIGHTS = [(0, 1), (1, 0), (1, 1), (2, 3), (3, 6)]  # rows, features
GUARD = -77.0
TINY = {np.float32: 1e-5, np.float64: 1e-12}  # relative error
DTYPES = [np.float32, np.float64]


def place(A, shift):
    """A copy of A: an allocation of its own, or `shift` values into a larger one, with guards."""
    if shift == 0:
        return np.array(A, order="C")
    buffer = np.full(A.size + 2 * shift, GUARD).astype(A.dtype)
    view = buffer[shift : shift + A.size].reshape(A.shape)
    view[...] = A
    return view


def assert_guarded(A, shift):
    """Nothing was written beside A."""
    if shift:
        buffer = A if A.base is None else A.base
        assert (buffer[:shift] == buffer.dtype.type(GUARD)).all()
        assert (buffer[-shift:] == buffer.dtype.type(GUARD)).all()


def ordinary(rng, dtype, shape):
    return (rng.integers(0, 4, shape) * rng.random(shape)).astype(dtype)  # zeros and ties too


def extreme(rng, dtype, shape):
    f = np.finfo(dtype)
    values = [0, 1, f.smallest_subnormal, f.tiny / 2, f.tiny, 4 * f.tiny, 1e10, f.max / 4]
    return rng.choice(np.array(values, dtype), shape)


def strange(rng, dtype, shape):
    values = np.where(rng.random(shape) < 0.2, np.inf, ordinary(rng, dtype, shape))
    return np.where(rng.random(shape) < 0.2, np.nan, values).astype(dtype)


# --- oracles: the features one by one, in the dtype of the arrays ------------------------------


def summed(term):
    def values(X, Zt, w):
        total = np.zeros((len(X), Zt.shape[1]), w.dtype)
        for x, z, weight in zip(X.T, Zt, w):
            total += weight * term(x[:, None], z)
        return total

    return values


def largest(X, Zt, w):
    out = np.zeros((len(X), Zt.shape[1]), w.dtype)
    for x, z, weight in zip(X.T, Zt, w):
        out = np.maximum(out, weight * abs(x[:, None] - z))
    return out


def quotient(x, z):
    # a ratio first: the square of a large difference overflows, that of a small one vanishes
    total = x + z
    return (x - z) * ((x - z) / np.where(total > 0, total, total.dtype.type(1)))


def share(x, z):
    a, b = x * x.dtype.type(0.5), z * z.dtype.type(0.5)  # the sum of two large numbers overflows
    total = abs(a) + abs(b)
    return abs(a - b) / np.where(total > 0, total, total.dtype.type(1))


def subset_product(X, Zt):
    out = np.ones((len(X), Zt.shape[1]), X.dtype)
    for x, z in zip(X.T, Zt):
        out = out * (1 + x[:, None] * z)
    return out


def elementary(X, Zt, degree):
    e = np.zeros((degree + 1, len(X), Zt.shape[1]), X.dtype)
    e[0] = 1
    for k, (x, z) in enumerate(zip(X.T, Zt)):
        for q in range(min(k + 1, degree), 0, -1):
            e[q] = e[q] + x[:, None] * z * e[q - 1]
    return e[degree]


PAIRS = {
    "manhattan": summed(lambda x, z: abs(x - z)),
    "squared_gaps": summed(lambda x, z: (x - z) * (x - z)),
    "chi_squared": summed(quotient),
    "relative": summed(share),
    "intersection": summed(np.minimum),
    "differences": summed(lambda x, z: x != z),
    "matches": summed(lambda x, z: x == z),
    "chebyshev": largest,
}
POWERS = [0.5, 1.0, 1.5, 3.0]
DEGREES = [1, 2, 3, 7]
PROFILES = {
    "exp_scaled": lambda t: np.exp(-t),
    3: lambda t: (1 + t) * np.exp(-t),
    5: lambda t: (1 + t + t * t / 3) * np.exp(-t),
}


def calls(name, rng, dtype, n, d, m, values=ordinary):
    """The arguments of each call of a function that fills `out`, and the values it should give."""
    if name == "matches":
        X, Zt = (rng.integers(-2, 2, s).astype(np.int32) for s in ((n, d), (d, m)))
    else:
        X, Zt = values(rng, dtype, (n, d)), values(rng, dtype, (d, m))
    w = ordinary(rng, dtype, d)
    out = np.full((n, m), 5, dtype)
    with np.errstate(all="ignore"):
        if name in PAIRS:
            yield [X, Zt, w, out], [], PAIRS[name](X, Zt, w)
        elif name == "minkowski":
            for p in POWERS:
                yield [X, Zt, w, out], [p], summed(lambda x, z, p=p: abs(x - z) ** p)(X, Zt, w)
        elif name == "all_subsets":
            yield [X, Zt, out], [], subset_product(X, Zt)
        else:
            for degree in DEGREES:
                yield [X, Zt, out], [degree], elementary(X, Zt, degree)


TILES = [*PAIRS, "minkowski", "all_subsets", "anova"]
PASS_OVER = ("chebyshev", "intersection")  # what is no number, which distances.hpp allows them
IN_PLACE = [("exp_scaled", []), ("matern", [3]), ("matern", [5])]


def profile(name, order):
    return PROFILES[order[0] if order else name]


def test_no_function_is_missing():
    functions = {name for name in dir(_native) if not name.startswith("__")}
    tested = {*TILES, *(name for name, _ in IN_PLACE), "squares", "exp_gaps", "interact"}
    tested |= {"arc_cosine"}  # test_hostile_layers.py
    tested |= {"kmer_keys", "kmer_count", "kmer_join", "match_runs"}  # test_hostile_kmers.py
    tested |= {"smo_solve", "smo_block", "smo_add_rows", "smo_narrow"}
    tested |= {"smo_solve_blocks", "smo_join", "smo_optimum"}
    tested |= {"smo_solve_many"}  # test_hostile_machines.py
    tested |= {*LINEAR_PRODUCTS, *LINEAR_DESCENTS, "linear_nearest", "linear_along"}
    tested |= {"all_subsequences", "all_subsequences_scaled", "gap_weighted"}  # ..._strings.py
    tested |= {
        "pack_sets",
        "shared_items",
        "shared_pairs",
        "tversky",
        "keep_nearest",
    }  # ..._sets.py
    tested |= {name for name in vars(_native) if name.startswith("link_")}  # ..._link.py
    tested |= {"perceptron_visit", "perceptron_visit_rows"}  # test_hostile_perceptron.py
    tested |= {"perceptron_epoch", "perceptron_votes"}
    tested |= {"edit_distances", "edit_pairs", "weighted_edit_distances"}  # test_hostile_edits.py
    tested |= {"local_alignments"}
    tested |= {"hash_keys", "hash_tables", "least_hashes", "least_ranks"}  # test_hostile_hashing.py
    tested |= {"least_in_parts", "hash_items", "hash_rows", "split_rows"}
    tested |= {"sign_documents", "shingle_documents", "walk_documents"}  # ..._documents.py
    tested |= {"compare_documents"}
    tested |= {"count_candidates", "list_candidates", "nearest_listed"}
    tested |= {f"listed_{name}" for name in ("differences", "jaccard", "manhattan", "squares")}
    tested |= {
        "nearest_rows",
        "rows_within",
        "rows_of_pairs",
        "kd_build",
        "kd_nearest",
    }  # ..._rows.py
    tested |= {"kd_nearest", "kd_within", "kd_leaves"}
    tested |= {"rows_reach", "kd_reach"}
    tested |= {"reach_listed", "join_parts", "condense", "faster_pam"}  # test_hostile_density.py
    tested |= {"triangle_add_strip"}  # test_hostile_triangle.py
    forces = "spread", "gather", "descend", "place", "sum", "place_among"
    tested |= {f"embedding_{name}" for name in forces}  # test_hostile_embedding.py
    tested |= {"shapley_values", "shapley_pairs"}  # test_hostile_shapley.py
    loops = "table", "parts", "leaves", "candidates", "join", "apply", "links", "walk"
    tested |= {"descent_open", "descent_meet"}
    tested |= {f"descent_{name}" for name in loops}  # test_hostile_descent.py
    tested |= {"neighbour_process"}  # test_hostile_neighbour_process.py
    tested |= {"add_bin_reads", "add_bin_sums", "add_pair_table"}  # test_hostile_bins.py
    tested |= {"laplacian_product", "pair_cells", "search_bins"}
    tested |= {"neighbourhood_embed", "neighbourhood_smooth", "NeighbourhoodTraining"}
    tested |= {"path_sums", "warp_bounds", "warp_series"}  # test_hostile_series.py
    tested |= {"signature_sums"}
    # test_hostile_convolutions.py
    tested |= {"competing_convolutions", "fixed_convolutions", "fixed_responses"}
    tested |= {"count_keys", "graphlet_counts", "path_counts", "sort_keys", "wl_colours"}
    tested |= {"graph_edits", "labelled_walks", "walk_sums"}  # test_hostile_graphs.py
    tested |= {"tree_nodes", "tree_sums"}  # test_hostile_trees.py
    assert functions == tested | {"isa", "use_isa", "available_isas"}


# --- sizes and places --------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0, 1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", TILES)
def test_tiles_of_every_size(name, dtype, shift):
    rng = np.random.default_rng(0)
    for (n, d), m in itertools.product(HEIGHTS, WIDTHS):
        for arrays, arguments, expected in calls(name, rng, dtype, n, d, m):
            placed = [place(A, shift) for A in arrays]
            getattr(_native, name)(*placed, *arguments)
            assert_allclose(placed[-1], expected, rtol=TINY[dtype], atol=TINY[dtype])
            for A, before in zip(placed, arrays):
                assert_guarded(A, shift)
                assert A is placed[-1] or (before == A).all()


@pytest.mark.parametrize("shift", [0, 1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "order"), IN_PLACE)
def test_profiles_of_every_size(name, order, dtype, shift):
    rng = np.random.default_rng(0)
    for m in WIDTHS:
        d = place(ordinary(rng, dtype, m), shift)
        expected = profile(name, order)(dtype(1.5) * d)
        getattr(_native, name)(d, 1.5, *order)
        assert_allclose(d, expected, rtol=TINY[dtype])
        assert_guarded(d, shift)


@pytest.mark.parametrize("shape", [(), (1, 1), (0, 3), (3, 0), (2, 3, 5)])
@pytest.mark.parametrize(("name", "order"), IN_PLACE)
def test_profiles_of_every_shape(name, order, shape):
    d = np.ones(shape)
    getattr(_native, name)(d, 0.5, *order)
    assert_allclose(d, np.full(shape, profile(name, order)(0.5)))


@pytest.mark.parametrize("shift", [0, 1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_squared_distances_of_every_size(dtype, shift):
    """From inner products that may be too large (then 0) or no number (which stays)."""
    rng = np.random.default_rng(0)
    for n, m in itertools.product([0, 1, 3], WIDTHS):
        G = place(rng.random((n, m)).astype(dtype), shift)
        G[rng.random((n, m)) < 0.1] = np.nan
        xx, zz = (place(ordinary(rng, dtype, size), shift) for size in (n, m))
        expected = np.maximum(xx[:, None] + zz - 2 * G, 0)
        _native.squares(G, xx, zz)
        assert_allclose(G, expected, rtol=TINY[dtype], atol=TINY[dtype])
        assert_guarded(G, shift)
    with pytest.raises(ValueError, match="shapes must be"):
        _native.squares(np.ones((2, 3)), np.ones(2), np.ones(4))
    with pytest.raises(ValueError, match="shapes must be"):
        _native.squares(np.ones((2, 3)), np.ones(3), np.ones(3))
    for convert in REFUSED.values():
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _native.squares(convert(np.ones((2, 3))), np.ones(2), np.ones(3))


@pytest.mark.parametrize("shift", [0, 1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_of_gaps_of_every_size(dtype, shift):
    """Exactly 1 where numbers are equal, and the same for a pair whatever is beside it."""
    rng = np.random.default_rng(0)
    for n, m in itertools.product([0, 1, 3], WIDTHS):
        x, z = (place(rng.normal(0, 3, size).astype(dtype), shift) for size in (n, m))
        z[: min(n, m)] = x[: min(n, m)]
        out = place(np.full((n, m), 5, dtype), shift)
        _native.exp_gaps(x, z, 1.5, out)
        assert_allclose(out, np.exp(-1.5 * abs(x[:, None].astype(float) - z)), rtol=TINY[dtype])
        assert (out.diagonal() == 1).all()
        assert_guarded(out, shift)
        far = np.append(z, dtype(1e4))
        beside = np.empty((n, m + 1), dtype)
        _native.exp_gaps(x, far, 1.5, beside)
        assert_array_equal(beside[:, :m], out)
        assert (beside[:, m:] == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_of_gaps_of_strange_numbers(dtype):
    f = np.finfo(dtype)
    x = np.array(
        [0, -0.0, f.smallest_subnormal, f.tiny, 1, 39.9, -40, 40.1, 80, 1e10, f.max], dtype
    )
    x = np.concatenate([x, -x, [np.inf, np.nan]]).astype(dtype)
    out = np.empty((len(x), len(x)), dtype)
    _native.exp_gaps(x, x, 1.0, out)
    with np.errstate(all="ignore"):
        expected = np.exp(-abs(np.subtract.outer(x, x)))
    assert_allclose(out, expected, rtol=10 * TINY[dtype], atol=10 * f.smallest_subnormal)
    assert_array_equal(out, out.T)
    for rate in (0.0, 1e-300, 1e300):
        _native.exp_gaps(x, x, rate, out)
        assert (out[:4, :4] >= 0).all()
        assert (out.diagonal()[:-2] == 1).all()
    with pytest.raises(ValueError, match="shapes must be"):
        _native.exp_gaps(x, x, 1.0, out[:2])
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _native.exp_gaps(x, x, 1.0, out.T[:, ::-1])


@pytest.mark.parametrize("shift", [0, 1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_interactions_of_every_size(dtype, shift):
    rng = np.random.default_rng(0)
    for m in WIDTHS:
        K, k = (place(rng.random(m).astype(dtype), shift) for _ in range(2))
        expected = K * (0.25 + 0.75 * k)
        _native.interact(K, k, 0.75)
        assert_allclose(K, expected, rtol=TINY[dtype])
        assert_guarded(K, shift)
        assert_guarded(k, shift)
    ones = np.ones(33, dtype)
    for share in rng.random(100):
        _native.interact(ones, np.ones(33, dtype), share)
        assert (ones == 1).all()  # exactly
    _native.interact(ones, np.full(33, np.nan, dtype), 0.5)
    assert np.isnan(ones).all()
    with pytest.raises(ValueError, match="same size"):
        _native.interact(np.ones(3), np.ones(4), 0.5)
    for convert in REFUSED.values():
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _native.interact(convert(np.ones((2, 3))), np.ones((2, 3)), 0.5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_more_coordinates_than_there_are(dtype):
    """No subset is so large: 0, and no workspace of that size."""
    X = np.ones((2, 3), dtype)
    for degree in (4, 10**12, 2**58, 2**63, 2**64 - 1):  # 64 values each: 2^58 passes 2^64 bytes
        out = np.full((2, 2), 5, dtype)
        _native.anova(X, X.T[:, :2].copy(), out, degree)
        assert (out == 0).all()


# --- values ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*PAIRS, "minkowski"])
def test_extreme_values(name, dtype):
    """Subnormal ones, and sums that pass the range."""
    rng = np.random.default_rng(0)
    for d, m in [(1, 64), (2, 65), (6, 520)]:
        for arrays, arguments, expected in calls(name, rng, dtype, 9, d, m, extreme):
            getattr(_native, name)(*arrays, *arguments)
            # powers of a subnormal difference are those of the smallest normal number
            small = 3 * d * np.finfo(dtype).tiny ** min(1.0, *arguments, 1.0)
            assert_allclose(arrays[-1], expected, rtol=TINY[dtype], atol=small)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [name for name in TILES if name not in PASS_OVER])
def test_infinity_and_what_is_no_number(name, dtype):
    rng = np.random.default_rng(0)
    for d, m in [(1, 64), (2, 65), (3, 520)]:
        for arrays, arguments, expected in calls(name, rng, dtype, 9, d, m, strange):
            getattr(_native, name)(*arrays, *arguments)
            assert_allclose(arrays[-1], expected, rtol=TINY[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", TILES)
@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.inf])
def test_a_bad_value_stays_in_its_row_and_column(name, dtype, bad):
    rng = np.random.default_rng(0)
    for arrays, arguments, expected in calls(name, rng, dtype, 9, 3, 65):
        if name != "matches":  # codes are all numbers
            arrays[0][4, 1] = arrays[1][2, 64] = bad
        getattr(_native, name)(*arrays, *arguments)
        kept = np.ix_([i for i in range(9) if i != 4], range(64))
        assert_allclose(arrays[-1][kept], expected[kept], rtol=TINY[dtype], atol=TINY[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_squares_beyond_the_range(dtype):
    """(x - z)² / (x + z) is in range where the square is not."""
    big, small = np.finfo(dtype).max / 4, np.finfo(dtype).tiny * 4
    X, Zt, w = np.array([[big], [small]], dtype), np.zeros((1, 1), dtype), np.ones(1, dtype)
    out = np.empty((2, 1), dtype)
    _native.chi_squared(X, Zt, w, out)
    assert_allclose(out, X)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "order"), IN_PLACE)
def test_strange_distances(name, order, dtype):
    f = np.finfo(dtype)
    reach = [80, 100, 104, 700, 745, 1e10]  # exp(-t) about the end of each range
    t = np.array([0, f.smallest_subnormal, f.tiny, *reach, f.max, np.inf, np.nan], dtype)
    with np.errstate(all="ignore"):
        expected = profile(name, order)(t)
    expected[t >= 1e10] = 0  # numpy's polynomial is infinite there
    d = t.copy()
    getattr(_native, name)(d, 1.0, *order)
    # the polynomial multiplies an exponential that may have been rounded to 0
    assert_allclose(d, expected, rtol=TINY[dtype], atol=1e6 * f.smallest_subnormal)


@pytest.mark.parametrize("dtype", DTYPES)
def test_exponentials_beyond_the_range(dtype):
    d = np.array([87, 88.5, 89, 700, 709.5, 710, 1e30, np.inf], dtype)
    with np.errstate(over="ignore"):
        expected = np.exp(d)
    _native.exp_scaled(d, -1.0)
    assert_allclose(d, expected, rtol=TINY[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", [np.nan, -np.nan])
def test_what_is_no_number_stays_so(dtype, bad):
    for name, order in IN_PLACE:
        d = np.full(33, bad, dtype)
        getattr(_native, name)(d, 1.0, *order)
        assert np.isnan(d).all()


def test_the_order_of_matern():
    for order in (0, 1, 4, 7, -3):
        with pytest.raises(ValueError, match="order must be 3 or 5"):
            _native.matern(np.ones(3), 1.0, order)


# --- refusals ----------------------------------------------------------------------------------


def strided(A):
    wide = np.repeat(A, 2, axis=-1)
    return wide[..., ::2]


def byte_shifted(A):
    return np.frombuffer(b"\0" + A.tobytes(), np.uint8)[1:].view(A.dtype).reshape(A.shape)


REFUSED = {
    "strided": strided,
    "reversed": lambda A: A[::-1].copy()[::-1],
    "fortran": np.asfortranarray,
    "integer": lambda A: A.astype(np.int64),
    "half": lambda A: A.astype(np.float16),
    "complex": lambda A: A.astype(np.complex128),
    "object": lambda A: A.astype(object),
    "other endian": lambda A: A.astype(A.dtype.newbyteorder()),
    "list": lambda A: A.tolist(),
    "none": lambda A: None,
}


@pytest.mark.parametrize("how", REFUSED)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", TILES)
def test_matrices_are_taken_as_they_are_or_refused(name, dtype, how):
    rng = np.random.default_rng(0)
    arrays, arguments, _ = next(calls(name, rng, dtype, 3, 4, 5))
    for k, A in enumerate(arrays):
        if A.ndim < 2:
            continue
        given = arrays.copy()
        given[k] = REFUSED[how](A)
        with pytest.raises(TypeError, match="incompatible function arguments"):
            getattr(_native, name)(*given, *arguments)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", TILES)
def test_one_dtype_for_all_matrices(name, dtype):
    rng = np.random.default_rng(0)
    arrays, arguments, _ = next(calls(name, rng, dtype, 3, 4, 5))
    other = np.float64 if dtype is np.float32 else np.float32
    for k, A in enumerate(arrays):
        if A.ndim < 2 or (name == "matches" and A is arrays[-1]):  # whose out decides
            continue
        given = arrays.copy()
        given[k] = A.astype(other)
        with pytest.raises(TypeError, match="incompatible function arguments"):
            getattr(_native, name)(*given, *arguments)


@pytest.mark.parametrize("how", ["strided", "reversed", "integer", "half"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*PAIRS, "minkowski"])
def test_weights_are_converted(name, dtype, how):
    rng = np.random.default_rng(0)
    for arrays, arguments, _ in calls(name, rng, dtype, 3, 4, 5):
        X, Zt, w, out = arrays
        w[:] = [2, 0, 1, 3]
        getattr(_native, name)(X, Zt, w, out, *arguments)
        again = np.zeros_like(out)
        getattr(_native, name)(X, Zt, REFUSED[how](w), again, *arguments)
        assert_array_equal(again, out)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", TILES)
def test_wrong_shapes_are_refused(name, dtype):
    rng = np.random.default_rng(0)
    arrays, arguments, _ = next(calls(name, rng, dtype, 3, 4, 5))
    for k, A in enumerate(arrays):
        for axis in range(A.ndim):
            for wrong in (A.take(range(A.shape[axis] - 1), axis), np.repeat(A, 2, axis)):
                given = arrays.copy()
                given[k] = np.ascontiguousarray(wrong)
                with pytest.raises(ValueError, match="shapes must be"):
                    getattr(_native, name)(*given, *arguments)
        for wrong in (A[None], A.ravel() if A.ndim > 1 else A[0]):
            given = arrays.copy()
            given[k] = wrong
            with pytest.raises(TypeError, match="incompatible function arguments"):
                getattr(_native, name)(*given, *arguments)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", TILES)
def test_bytes_out_of_step_are_refused(name, dtype):
    """Compilers assume that a float lies at a multiple of its size."""
    rng = np.random.default_rng(0)
    arrays, arguments, _ = next(calls(name, rng, dtype, 3, 4, 5))
    for k, A in enumerate(arrays[:-1]):
        given = arrays.copy()
        given[k] = byte_shifted(A)
        assert not given[k].flags.aligned
        with pytest.raises(ValueError, match="aligned"):
            getattr(_native, name)(*given, *arguments)


@pytest.mark.parametrize("kernel", [Laplacian(), ChiSquared(), ANOVA(2), AllSubsets(), Matern(1.5)])
def test_samples_out_of_step_are_copied(kernel):
    """As those of a file read in place, after a header of odd length."""
    X = np.random.default_rng(0).random((5, 4))
    assert_allclose(kernel(byte_shifted(X), byte_shifted(X)), kernel(X, X))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", TILES)
def test_what_is_read_only_is_read_only(name, dtype):
    rng = np.random.default_rng(0)
    arrays, arguments, expected = next(calls(name, rng, dtype, 3, 4, 5))
    for A in arrays[:-1]:
        A.flags.writeable = False
    getattr(_native, name)(*arrays, *arguments)
    assert_allclose(arrays[-1], expected, rtol=TINY[dtype], atol=TINY[dtype])
    arrays[-1].flags.writeable = False
    with pytest.raises(TypeError, match="incompatible function arguments"):
        getattr(_native, name)(*arrays, *arguments)


@pytest.mark.parametrize("how", REFUSED)
@pytest.mark.parametrize(("name", "order"), IN_PLACE)
def test_distances_are_taken_as_they_are_or_refused(name, order, how):
    for dtype in DTYPES:
        d = np.ones((3, 4), dtype)
        given = REFUSED[how](d)
        with pytest.raises(TypeError, match="incompatible function arguments"):
            getattr(_native, name)(given, 1.0, *order)


@pytest.mark.parametrize(("name", "order"), IN_PLACE)
def test_distances_that_cannot_be_written(name, order):
    d = np.ones(5)
    d.flags.writeable = False
    with pytest.raises(TypeError, match="incompatible function arguments"):
        getattr(_native, name)(d, 1.0, *order)
    shifted = np.zeros(41, np.uint8)[1:].view(np.float64)
    with pytest.raises(ValueError, match="aligned"):
        getattr(_native, name)(shifted, 1.0, *order)


def test_degrees_that_are_none():
    A = np.ones((2, 2))
    with pytest.raises(ValueError, match="degree must be at least 1"):
        _native.anova(A, A, A.copy(), 0)
    for degree in (-1, 2**64, 1.5, None):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _native.anova(A, A, A.copy(), degree)


# --- SMO ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0, 1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_added(dtype, shift):
    rng = np.random.default_rng(0)
    for width, height, count in itertools.product([0, 1, 17, 2047, 2049], [1, 5], [0, 1, 3, 4, 9]):
        K, g = (
            place(rng.random((height, width)).astype(dtype), shift),
            place(rng.random(width), shift),
        )
        rows, delta = place(rng.integers(0, height, count), shift), place(rng.random(count), shift)
        for begin, end in {(0, width), (width // 2, width), (width // 3, width // 2), (0, 0)}:
            expected = g.copy()
            expected[begin:end] += delta @ K[rows, begin:end].astype(np.float64)
            _native.smo_add_rows(K, rows, delta, g, begin, end)
            assert_allclose(g, expected, rtol=1e-12)
        assert_guarded(g, shift)


@pytest.mark.parametrize("shift", [0, 1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_of_every_size(dtype, shift):
    rng = np.random.default_rng(0)
    K = place(rng.random((5, 9)).astype(dtype), shift)
    for count in [0, 1, 2, 15, 16, 17, 65]:
        rows, columns = (place(rng.integers(0, size, count), shift) for size in K.shape)
        out = place(np.full((count, count), 5, dtype), shift)
        begin, end = count // 3, count - count // 4
        _native.smo_block(K, rows, columns, begin, end, out)
        expected = np.full((count, count), 5, dtype)
        expected[begin:end] = K[np.ix_(rows, columns)][begin:end]
        assert_array_equal(out, expected)  # the other lines are left as they are
        _native.smo_block(K, rows, columns, 0, count, out)
        assert_array_equal(out, K[np.ix_(rows, columns)])
        assert_guarded(out, shift)
    one, two, out = np.array([0]), np.array([0, 1]), np.zeros((1, 1), dtype)
    for bad in (5, 2**62):
        with pytest.raises(IndexError, match="rows of K"):
            _native.smo_block(K, np.array([bad]), one, 0, 1, out)
    for absent in (-1, -(2**63)):  # left as it is
        _native.smo_block(K, np.array([absent]), one, 0, 1, out)
        assert out == 0
    for bad in (-1, 9, 2**62, -(2**63)):
        with pytest.raises(IndexError, match="columns of K"):
            _native.smo_block(K, one, np.array([bad]), 0, 1, out)
    for rows, columns in [(two, one), (one, two), (two, two)]:
        with pytest.raises(ValueError, match="must be"):
            _native.smo_block(K, rows, columns, 0, 1, out)
    for begin, end in [(0, 2), (1, 0), (2**63, 2**64 - 1)]:
        with pytest.raises(ValueError, match="begin <= end"):
            _native.smo_block(K, one, one, begin, end, out)


@pytest.mark.parametrize("shift", [0, 1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_move_together(dtype, shift):
    rng = np.random.default_rng(0)
    for width, count in [(1, 1), (9, 0), (9, 9), (17, 4), (65, 64), (513, 200)]:
        for height in (0, 1, 5):
            K = place(rng.random((6, width)).astype(dtype), shift)
            kept = place(np.sort(rng.choice(width, count, replace=False)), shift)
            wanted, after = K[:height, kept].copy(), K.ravel()[height * count :].copy()
            _native.smo_narrow(K, height, kept)
            assert_array_equal(K.ravel()[: height * count].reshape(height, count), wanted)
            rest = K.ravel()[height * width :]  # rows that were not named stay as they were
            assert_array_equal(rest, after[height * (width - count) :])
            assert_guarded(K, shift)


@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_that_cannot_move(dtype):
    K = np.ones((3, 5), dtype)
    for kept in ([1, 0], [2, 2], [0, 1, 2, 3, 4, 4]):
        with pytest.raises(ValueError, match="kept must ascend"):
            _native.smo_narrow(K, 1, np.array(kept))
    for kept in ([-1], [5], [0, 2**62]):
        with pytest.raises(IndexError, match="columns of K"):
            _native.smo_narrow(K, 1, np.array(kept))
    for rows in (4, 2**64 - 1):
        with pytest.raises(ValueError, match="rows must be rows of K"):
            _native.smo_narrow(K, rows, np.array([0]))
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _native.smo_narrow(K, -1, np.array([0]))
    K.flags.writeable = False
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _native.smo_narrow(K, 1, np.array([0]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_beyond_the_matrix(dtype):
    K, g, one = np.ones((3, 5), dtype), np.zeros(5), np.ones(1)
    for row in (-1, 3, 2**62, -(2**63)):
        with pytest.raises(IndexError, match="rows of K"):
            _native.smo_add_rows(K, np.array([row]), one, g, 0, 5)
    for begin, end in [(0, 6), (3, 2), (2**63, 2**64 - 1)]:
        with pytest.raises(ValueError, match="must be"):
            _native.smo_add_rows(K, np.array([0]), one, g, begin, end)
    for delta, width in [(np.ones(2), 5), (one, 4), (one, 6)]:
        with pytest.raises(ValueError, match="must be"):
            _native.smo_add_rows(K, np.array([0]), delta, np.zeros(width), 0, 4)
    assert (g == 0).all()


@pytest.mark.parametrize("shift", [0, 1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_working_sets_of_every_size(dtype, shift):
    """Within the box, the sum of y alpha unchanged, f still the gradient, nothing left to do."""
    rng = np.random.default_rng(0)
    for n in [0, 1, 2, 15, 16, 17, 31, 32, 33, 64]:
        A = rng.normal(size=(n, 4))
        K = place((A @ A.T + np.eye(n)).astype(dtype), shift)
        y = place(np.where(rng.random(n) < 0.5, 1.0, -1.0), shift)
        C = place(rng.choice([0.0, 0.5, 2.0, np.inf], n), shift)
        for split in {n, 0, n // 2, max(n - 1, 0), min(n, 16)}:  # groups between which none goes
            alpha, f = place(np.zeros(n), shift), place(-y, shift)
            _native.smo_solve(K, y, C, alpha, f, split, 1e-7, 0.0, 100_000)
            assert ((alpha >= 0) & (alpha <= C)).all()
            assert_allclose(f, K.astype(float) @ (y * alpha) - y, atol=1e-7)
            up, low = np.where(y > 0, alpha < C, alpha > 0), np.where(y > 0, alpha > 0, alpha < C)
            for part in (slice(None, split), slice(split, None)):
                assert_allclose(y[part] @ alpha[part], 0, atol=1e-9)
                rising, falling = f[part][up[part]], f[part][low[part]]
                assert not (rising.size and falling.size) or falling.max() - rising.min() <= 1e-7
            assert_guarded(alpha, shift)
            assert_guarded(f, shift)


def test_a_split_beyond_the_variables():
    K, v = np.eye(3), np.ones(3)
    for split in (4, 2**63, 2**64 - 1):
        with pytest.raises(ValueError, match="split must be"):
            _native.smo_solve(K, v, v, v.copy(), v.copy(), split, 1e-3, 0.0, 10)
    for split in (-1, 1.5, None):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _native.smo_solve(K, v, v, v.copy(), v.copy(), split, 1e-3, 0.0, 10)
    assert _native.smo_solve(K, v, v, v.copy(), v.copy(), 3, 1e-3, 0.0, 0) == 0  # no step


@pytest.mark.parametrize("dtype", DTYPES)
def test_strange_working_sets_end(dtype):
    rng = np.random.default_rng(0)
    for n in [2, 17, 40]:
        for _ in range(20):
            K, C, f = strange(rng, dtype, (n, n)), *(strange(rng, np.float64, n) for _ in "Cf")
            y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
            for split in (n, n // 2):
                assert _native.smo_solve(K, y, C, np.zeros(n), f, split, 1e-3, 0.0, 100) <= 100


@pytest.mark.parametrize("how", REFUSED)
def test_a_gram_matrix_is_taken_as_it_is_or_refused(how):
    K, v, rows = np.eye(4), np.ones(4), np.arange(4)
    for name, arrays, exact, numbers in [
        ("smo_solve", [K, v, v, v.copy(), v.copy()], [0, 3, 4], [4, 1.0, 0.0, 1]),
        ("smo_block", [K, rows, rows, 0, 4, np.empty((4, 4))], [0, 5], []),
        ("smo_narrow", [K.copy(), 4, rows], [0], []),
        ("smo_add_rows", [K, rows, v, v.copy()], [0, 3], [0, 4]),
        ("smo_join", [np.eye(2), np.eye(2), np.eye(2), K.copy(), rows - 9, rows], [0, 1, 2, 3], []),
    ]:
        for k in exact:
            if how == "fortran" and arrays[k].ndim == 1:
                continue
            given = arrays.copy()
            given[k] = REFUSED[how](arrays[k])
            with pytest.raises(TypeError, match="incompatible function arguments"):
                getattr(_native, name)(*given, *numbers)


def test_row_numbers_are_no_fractions_or_booleans():
    K, one = np.eye(2), np.ones(2)
    for rows in (np.array([0.5, 1.7]), np.array([True, False])):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _native.smo_add_rows(K, rows, one, np.zeros(2), 0, 2)
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _native.smo_block(K, rows, np.arange(2), 0, 2, np.zeros((2, 2)))
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _native.smo_narrow(K.copy(), 2, rows)


def test_gram_matrices_that_bytes_have_shifted_are_refused():
    shifted = np.zeros(33, np.uint8)[1:].view(np.float64).reshape(2, 2)
    one, rows = np.ones(2), np.arange(2)
    for call in (
        lambda: _native.smo_solve(shifted, one, one, one.copy(), one.copy(), 2, 1e-3, 0.1, 10),
        lambda: _native.smo_block(shifted, rows, rows, 0, 2, np.zeros((2, 2))),
        lambda: _native.smo_narrow(shifted, 2, rows),
        lambda: _native.smo_add_rows(shifted, rows, one, np.zeros(2), 0, 2),
    ):
        with pytest.raises(ValueError, match="aligned"):
            call()


@pytest.mark.parametrize("shift", [0, 1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_pairs_of_every_size(dtype, shift):
    rng = np.random.default_rng(0)
    for a, b in itertools.product([0, 1, 15, 16, 17], [0, 1, 2, 33]):
        n = a + b
        A = rng.normal(size=(n, 4))
        K = (A @ A.T + np.eye(n)).astype(dtype)
        blocks = [place(np.ascontiguousarray(B), shift) for B in (K[:a, :a], K[:a, a:], K[a:, a:])]
        room, slots = place(np.full((n, n), 5, dtype), shift), place(np.full(n, -1), shift)
        y = place(np.where(rng.random(n) < 0.5, 1.0, -1.0), shift)
        C = place(np.full(n, 2.0), shift)
        alpha, f = place(np.zeros(n), shift), place(-y, shift)
        _native.smo_join(*blocks, room, slots, place(np.arange(n)[n // 2 : n // 2 + 2], shift))
        _native.smo_solve_blocks(*blocks, room, slots, y, C, alpha, f, n, 1e-7, 0.0, 100_000)
        assert_allclose(f, K.astype(float) @ (y * alpha) - y, atol=1e-7)
        held = np.flatnonzero(slots >= 0)
        assert_array_equal(room[slots[held]], K[held])
        assert (room[len(held) :] == 5).all()
        for array in (room, alpha, f, slots):
            assert_guarded(array, shift)


def test_blocks_that_do_not_fit_are_refused():
    first, across, second = np.eye(2), np.zeros((2, 3)), np.eye(3)
    room, slots, rows = np.empty((5, 5)), np.full(5, -1), np.arange(5)
    given = [first, across, second, room, slots]
    for k, wrong in [
        (0, np.eye(3)), (0, np.zeros((2, 1))), (1, across.T.copy()), (2, np.zeros((3, 2))),
        (3, np.empty((5, 4))), (3, np.empty((6, 6))), (4, np.full(4, -1)), (4, np.full(6, -1)),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match="must be square"):
            _native.smo_join(*given[:k], wrong, *given[k + 1 :], rows)
    for bad in (1, 5, 2**62, -2, -(2**63)):  # of one row that is there, the place is 0
        with pytest.raises(IndexError, match="first rows of room"):
            _native.smo_join(*given[:4], np.array([-1, bad, -1, -1, -1]), rows)
    for bad in (-1, 5, 2**62):
        with pytest.raises(IndexError, match="rows of K"):
            _native.smo_join(*given, np.array([bad]))
    v = np.ones(5)
    for vectors in ([v[:4], v, v, v], [v, v[:4], v, v], [v, v, v[:4], v], [v, v, v, v[:4]]):
        labels, C, alpha, f = (vector.copy() for vector in vectors)
        with pytest.raises(ValueError, match="must be"):
            _native.smo_solve_blocks(*given, labels, C, alpha, f, 4, 1.0, 0.0, 1)
    with pytest.raises(ValueError, match="split must be"):
        _native.smo_solve_blocks(*given, v, v, v.copy(), v.copy(), 6, 1.0, 0.0, 1)
    assert (slots == -1).all()


@pytest.mark.parametrize("shift", [0, 1, 3])
def test_optima_of_every_size(shift):
    rng = np.random.default_rng(0)
    for n in [0, 1, 2, 15, 16, 17, 33]:
        f, offset, C = (place(rng.random(n), shift) for _ in range(3))
        y, alpha = place(np.where(rng.random(n) < 0.5, 1.0, -1.0), shift), place(C / 2, shift)
        for groups in (True, False):
            found = _native.smo_optimum(f, offset, y, C, alpha, groups)
            assert_allclose(found[5], (y * alpha) @ offset, rtol=1e-12, atol=1e-12)
    one = np.ones(2)
    for k in range(5):
        vectors = [one] * 5
        vectors[k] = np.ones(3)
        with pytest.raises(ValueError, match="f, offset, y, C and alpha must"):
            _native.smo_optimum(*vectors, False)


# --- linear machines ---------------------------------------------------------------------------

LINEAR_PRODUCTS = ["linear_outputs", "linear_combine", "linear_squares", "linear_gram"]
LINEAR_DESCENTS = ["linear_dual_epochs", "linear_class_epochs", "linear_lasso_epochs"]
CLASSES = 3


def linear_rows(A, kind, shift=0):
    """The arrays of the rows of A: values, columns and starts."""
    if kind == "dense":
        return [place(A.ravel(), shift), None, None]
    held = A != 0
    starts = np.concatenate([[0], np.cumsum(held.sum(axis=1))]).astype(np.int64)
    columns = np.nonzero(held)[1].astype(np.int32)
    return [place(A[held], shift), place(columns, shift), place(starts, shift)]


def linear_call(name, A, kind="sparse", shift=0, bias=0.5, rng=None):
    """Arguments of a call on the rows of A; those that are written come with their places."""
    rng = np.random.default_rng(0) if rng is None else rng
    (n, d), rows = A.shape, linear_rows(A, kind, shift)
    squares = np.sum(A.astype(float) ** 2, axis=1)

    def new(values):
        return place(np.asarray(values, np.float64), shift)

    def active(variables):
        state = np.array([variables, 7], np.uint64)
        return [place(np.arange(variables), shift), state, new([np.inf])]

    if name == "linear_outputs":
        return [*rows, bias, new(rng.normal(size=d + 1)), new(np.full(n, 5.0))], [5]
    if name == "linear_combine":
        return [*rows, bias, new(rng.normal(size=n)), new(np.full(d + 1, 5.0))], [5]
    if name == "linear_squares":
        return [*rows, d, new(np.full(n, 5.0))], [4]
    if name == "linear_gram":
        return [*rows, bias, new(rng.random(n)), new(np.zeros((d + 1, d + 1)))], [5]
    if name == "linear_dual_epochs":
        y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
        variables = new(np.column_stack([np.zeros(n), y, np.ones(n), squares]))
        loss, w = [0.0, False, True], new(np.zeros(d + 1))  # the hinge
        return [*rows, bias, variables, *loss, w, *active(n), 5000, 1e-9], [4, 8, 9, 10, 11]
    if name == "linear_class_epochs":
        code = place(rng.integers(0, CLASSES, n), shift)
        W, alpha = new(np.zeros((d + 1, CLASSES))), new(np.zeros((n, CLASSES)))
        C = new(np.ones(n))
        arguments = [*rows, bias, code, C, new(squares), W, alpha, *active(n), 5000, 1e-9]
        return arguments, [7, 8, 9, 10, 11]
    g = new(3 * A.astype(float) @ rng.normal(size=d))  # so that there is a least value
    v, q = new(np.zeros(n)), new(np.zeros(d))
    return [*rows, g, new(squares), v, q, *active(n), 5000, 1e-9], [5, 6, 7, 8, 9]


def some_rows(rng, dtype, n, d):
    return np.where(rng.random((n, d)) < 0.6, rng.normal(size=(n, d)), 0).astype(dtype)


SHAPES = [(0, 1), (1, 0), (1, 1), (2, 3), (5, 17), (9, 8), (16, 33), (33, 5)]


@pytest.mark.parametrize("shift", [0, 1, 3])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LINEAR_PRODUCTS)
def test_products_of_rows_of_every_size(name, dtype, kind, shift):
    if name == "linear_gram" and kind == "dense":
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _native.linear_gram(*linear_call(name, np.ones((2, 3), dtype), "dense")[0])
        return
    rng = np.random.default_rng(0)
    for n, d in SHAPES:
        A = some_rows(rng, dtype, n, d)
        B = np.hstack([A.astype(float), np.full((n, 1), 0.5)])
        arguments, (out,) = linear_call(name, A, kind, shift, rng=rng)
        given = arguments[out - 1]
        if name == "linear_outputs":
            expected = B @ given
        elif name == "linear_combine":
            expected = 5.0 + B.T @ given
        elif name == "linear_squares":
            expected = np.sum(A.astype(float) ** 2, axis=1)
        else:
            expected = np.tril(B.T @ (given[:, None] * B))
        getattr(_native, name)(*arguments)
        assert_allclose(arguments[out], expected, rtol=1e-12, atol=1e-12)
        for array in arguments:
            if isinstance(array, np.ndarray) and array.dtype != np.uint64:
                assert_guarded(array, shift)


@pytest.mark.parametrize("shift", [0, 1, 3])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LINEAR_DESCENTS)
def test_descents_of_every_size(name, dtype, kind, shift):
    """Within the bounds, with the products kept, and nothing left to do."""
    rng = np.random.default_rng(0)
    for n, d in SHAPES:
        A = some_rows(rng, dtype, n, d)
        bias = 0.0 if name == "linear_lasso_epochs" else 0.5
        arguments, written = linear_call(name, A, kind, shift, rng=rng)
        epochs = getattr(_native, name)(*arguments)
        assert epochs <= 5000
        B = np.hstack([A.astype(float), np.full((n, 1), bias)])
        active, state, violation = (arguments[k] for k in written[-3:])
        assert_array_equal(np.sort(active), np.arange(n))
        assert state[0] <= n
        assert not violation[0] > 1e-9
        if name == "linear_dual_epochs":
            beta, y, w = *arguments[4].T[:2], arguments[8]
            low, high = np.minimum(y, 0), np.maximum(y, 0)
            assert ((beta >= low) & (beta <= high)).all()
            assert_allclose(w, B.T @ beta, atol=1e-9)
            slope = B @ w - y
            least = np.where(beta < high, -slope, 0), np.where(beta > low, slope, 0)
            assert np.max(least, initial=0) <= 1e-6
        elif name == "linear_class_epochs":
            code, W, alpha = arguments[4], arguments[7], arguments[8]
            own = np.arange(CLASSES) == code[:, None]
            assert (alpha <= own + 1e-12).all()
            assert_allclose(alpha.sum(axis=1), 0, atol=1e-9)
            assert_allclose(W, B.T @ alpha, atol=1e-9)
            slope = B @ W + ~own
            free = alpha < np.where(own, 1.0, 0.0)
            least = np.where(free, slope, np.inf).min(axis=1)
            assert np.max(slope.max(axis=1) - least, initial=0) <= 1e-6
        else:
            g, v, q = arguments[3], arguments[5], arguments[6]
            A = A.astype(float)
            assert_allclose(q, A.T @ v, atol=1e-9)
            slope = g + A @ q
            assert_allclose(slope[v != 0], -np.sign(v[v != 0]), atol=1e-6)
            assert (np.abs(slope) <= 1 + 1e-6).all()
        for array in arguments:
            if isinstance(array, np.ndarray) and array.dtype != np.uint64:
                assert_guarded(array, shift)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LINEAR_DESCENTS)
def test_descents_on_strange_values_end(name, dtype, kind):
    rng = np.random.default_rng(0)
    for values in (extreme, strange):
        for n, d in [(3, 2), (17, 9)]:
            A = values(rng, dtype, (n, d))
            with np.errstate(all="ignore"):
                arguments, _ = linear_call(name, A, kind, rng=rng)
            for k, array in enumerate(arguments[4:], 4):
                if isinstance(array, np.ndarray) and array.dtype == np.float64:
                    arguments[k] = np.where(rng.random(array.shape) < 0.1, np.nan, array)
            arguments[-2] = 20
            assert getattr(_native, name)(*arguments) <= 20


@pytest.mark.parametrize("name", LINEAR_DESCENTS)
def test_rows_that_are_set_aside_stay_in_the_set(name):
    A = some_rows(np.random.default_rng(1), np.float64, 30, 4)
    arguments, written = linear_call(name, A)
    arguments[-2], arguments[-1] = 3, 0.0
    for _ in range(5):
        getattr(_native, name)(*arguments)
        assert_array_equal(np.sort(arguments[written[-3]]), np.arange(30))


@pytest.mark.parametrize("name", [*LINEAR_PRODUCTS, *LINEAR_DESCENTS])
def test_rows_that_are_none(name):
    """Numbers that would lead past the end of an array."""
    A = np.ones((3, 4))

    def refused(change, error, message, kind="sparse"):
        arguments, _ = linear_call(name, A, kind)
        change(arguments)
        with pytest.raises(error, match=message):
            getattr(_native, name)(*arguments)

    def put(k, array):
        def change(arguments):
            arguments[k] = array

        return change

    def poke(k, at, value):
        def change(arguments):
            arguments[k][at] = value

        return change

    for value in (-1, 4, 2**31 - 1, -(2**31)):
        refused(poke(1, 7, value), IndexError, "columns of X")
    for at, value in [(0, -1), (1, 9), (3, 13), (3, 2**62), (2, -(2**63))]:
        refused(poke(2, at, value), IndexError, "starts must ascend")
    refused(put(2, np.array([0, 4, 8], np.int64)), ValueError, "one entry more")
    refused(put(1, np.zeros(11, np.int32)), ValueError, "values and columns must")
    for k in (1, 2):
        error, message = ValueError, "both columns and starts"
        if name == "linear_gram":
            error, message = TypeError, "incompatible function arguments"
        refused(put(k, None), error, message)
    if name != "linear_gram":
        for size in (0, 11, 13):
            refused(put(0, np.ones(size)), ValueError, "n rows of d columns", "dense")
    for k, wrong in [(1, np.int64), (2, np.int32)]:
        refused(put(k, np.zeros(4, wrong)), TypeError, "incompatible function arguments")


@pytest.mark.parametrize("name", LINEAR_DESCENTS)
def test_sets_of_variables_that_are_none(name):
    A = np.ones((3, 4))
    for at, values, error, message in [
        (-3, np.array([0, 1, 3]), IndexError, "numbers of variables"),
        (-3, np.array([0, -1, 2]), IndexError, "numbers of variables"),
        (-3, np.array([0, 1]), ValueError, "at most the size"),
        (-2, np.array([4, 7], np.uint64), ValueError, "at most the size"),
        (-2, np.array([2**64 - 1, 7], np.uint64), ValueError, "at most the size"),
        (-2, np.array([3, 0], np.uint64), ValueError, "must not be 0"),
        (-2, np.array([3], np.uint64), ValueError, r"\(count, random\)"),
        (-1, np.ones(2), ValueError, "one number"),
        (-2, np.array([3, 7]), TypeError, "incompatible function arguments"),
    ]:
        arguments, written = linear_call(name, A)
        arguments[written[at]] = values
        with pytest.raises(error, match=message):
            getattr(_native, name)(*arguments)


def test_classes_that_are_none():
    for code in ([0, 1, 3], [0, -1, 1]):
        arguments, _ = linear_call("linear_class_epochs", np.ones((3, 4)))
        arguments[4] = np.array(code)
        with pytest.raises(IndexError, match="numbers of classes"):
            _native.linear_class_epochs(*arguments)


@pytest.mark.parametrize("name", [*LINEAR_PRODUCTS, *LINEAR_DESCENTS])
def test_sizes_of_linear_machines_are_checked(name):
    kind = "sparse" if name == "linear_gram" else "dense"  # which has no d of its own
    count = len(linear_call(name, np.ones((3, 4)))[0])
    for k in range(3, count):
        arguments, written = linear_call(name, np.ones((3, 4)), kind)
        if not isinstance(arguments[k], np.ndarray) or k in written[-3:]:
            continue
        for axis in range(arguments[k].ndim):
            given = arguments.copy()
            given[k] = np.ascontiguousarray(np.repeat(arguments[k], 2, axis))
            with pytest.raises((ValueError, IndexError), match=r"must|give"):
                getattr(_native, name)(*given)


@pytest.mark.parametrize("how", ["strided", "reversed", "integer", "half", "list", "none"])
@pytest.mark.parametrize("name", [*LINEAR_PRODUCTS, *LINEAR_DESCENTS])
def test_what_linear_machines_write_is_taken_as_it_is_or_refused(name, how):
    _, written = linear_call(name, np.ones((3, 4)))
    for k in (0, *written):
        arguments, _ = linear_call(name, np.ones((3, 4)))
        if how == "integer" and (arguments[k].dtype.kind == "i" or np.isinf(arguments[k]).any()):
            continue
        if how in ("strided", "reversed") and arguments[k].size == 1:
            continue
        arguments[k] = REFUSED[how](arguments[k])
        with pytest.raises(TypeError, match="incompatible function arguments"):
            getattr(_native, name)(*arguments)


@pytest.mark.parametrize("name", [*LINEAR_PRODUCTS, *LINEAR_DESCENTS])
def test_linear_machines_refuse_bytes_out_of_step(name):
    for k in range(len(linear_call(name, np.ones((3, 4)))[0])):
        arguments, _ = linear_call(name, np.ones((3, 4)))
        if isinstance(arguments[k], np.ndarray):
            shifted = np.zeros(arguments[k].nbytes + 1, np.uint8)[1:].view(arguments[k].dtype)
            shifted = shifted.reshape(arguments[k].shape)
            shifted[...] = arguments[k]
            arguments[k] = shifted
            with pytest.raises(ValueError, match="aligned"):
                getattr(_native, name)(*arguments)


@pytest.mark.parametrize("shift", [0, 1, 3])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_nearest_dual_variables_of_every_number(epsilon, shift):
    rng = np.random.default_rng(0)
    for n in WIDTHS:
        t, f, change = (place(rng.normal(size=n), shift) for _ in range(3))
        step = place(rng.random(n) + 0.1, shift)
        low, high = place(-rng.random(n), shift), place(rng.choice([0.0, 0.5, np.inf], n), shift)
        near, slope = place(np.full(n, 5.0), shift), place(np.full(n, 5.0), shift)

        def found(f, t=t, step=step, low=low, high=high):
            v = t - f
            free = np.sign(v) * np.maximum(np.abs(v) - epsilon, 0) * step
            inside = (free > low) & (free < high) & ((free != 0) | (epsilon == 0))
            return np.clip(free, low, high), np.where(inside, step, 0)

        box = (t, step, low, high, epsilon)
        _native.linear_nearest(*box, f, near, slope)
        assert_allclose(near, found(f)[0], atol=1e-15)
        assert_array_equal(slope, found(f)[1])
        total = change @ (found(f + 0.7 * change)[0] - near)
        assert_allclose(_native.linear_along(*box, f, change, 0.7, near), total, atol=1e-12)
        for array in (t, step, low, high, f, change, near, slope):
            assert_guarded(array, shift)
    one, two = np.ones(1), np.ones(2)
    for k in range(7):
        given = [one, one, one, one, one, one.copy(), one.copy()]
        given[k] = two.copy()
        with pytest.raises(ValueError, match=r"must be \(n,\)"):
            _native.linear_nearest(*given[:4], 0.0, *given[4:])
        with pytest.raises(ValueError, match=r"must be \(n,\)"):
            _native.linear_along(*given[:4], 0.0, *given[4:6], 1.0, given[6])
    shifted = np.zeros(9, np.uint8)[1:].view(np.float64)
    for k in range(7):
        given = [one, one, one, one, one, one.copy(), one.copy()]
        given[k] = shifted
        with pytest.raises(ValueError, match="aligned"):
            _native.linear_nearest(*given[:4], 0.0, *given[4:])
        with pytest.raises(ValueError, match="aligned"):
            _native.linear_along(*given[:4], 0.0, *given[4:6], 1.0, given[6])
    for how in ("strided", "integer", "list", "none"):
        for k in (5, 6):
            given = [two, two, two, two, two, two.copy(), two.copy()]
            given[k] = REFUSED[how](given[k])
            with pytest.raises(TypeError, match="incompatible function arguments"):
                _native.linear_nearest(*given[:4], 0.0, *given[4:])


# --- the choice of loops -----------------------------------------------------------------------


def test_an_unknown_instruction_set_changes_nothing(isa):
    for name in ("", "avx", "AVX2 ", "é" * 1000):
        assert not _native.use_isa(name)
        assert _native.isa() == isa
    for name in (None, 2, b"portable"):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _native.use_isa(name)
