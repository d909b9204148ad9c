"""Searches among rows of numbers: native loops against sums in numpy, and trees against loops."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

import cases
from lanes import examples
from mercer import _native
from mercer.distances import Cosine, Edit, Mahalanobis, MappedMinkowski, Minkowski
from mercer.search import BruteForce, KDTree, vectors
from mercer.testing import check_index

POWERS = [0, 0.3, 0.5, 1, 1.5, 2, 2.5, 3, 4, 7, np.inf]
NORMED = [c for c in cases.DISTANCES if isinstance(c[0], Minkowski | MappedMinkowski)]
ISAS = _native.available_isas()


@pytest.fixture(params=ISAS)
def isa(request):
    before = _native.isa()
    _native.use_isa(request.param)
    yield request.param
    _native.use_isa(before)


def hostile(name, rng, n, d, dtype):
    """Rows that are hard for a search which estimates distances."""
    X = rng.normal(size=(n, d))
    if name == "ties":
        X = rng.integers(0, 3, (n, d)).astype(float)
    elif name == "duplicates":
        X = X[rng.integers(0, max(n // 4, 1), n)]
    elif name == "all equal":
        X[:] = X[0]
    elif name == "constant columns":
        X[:, ::2] = 7.25
    elif name == "far from 0":
        X += 1e6
    elif name == "two clusters":
        X[::2] += 1e7
        X *= 1e-3
    elif name == "huge":
        X *= 1e30
    elif name == "tiny":
        X *= 1e-30
    elif name == "subnormal":
        X *= np.finfo(dtype).tiny * 8
    elif name == "one outlier":
        X[n // 2] = 1e12
    return X.astype(dtype)


KINDS = [
    "usual", "ties", "duplicates", "all equal", "constant columns", "far from 0", "two clusters",
    "huge", "tiny", "subnormal", "one outlier",
]  # fmt: skip


def by_sums(X, Z, p, w, own=None):
    """Distances in float64, rounded once."""
    gaps = np.abs(Z[:, None].astype(np.float64) - X[None].astype(np.float64))
    w = np.ones(X.shape[1]) if w is None else w.astype(X.dtype).astype(np.float64)
    with np.errstate(over="ignore"):
        if p == 0:
            D = (w * (gaps > 0)).sum(axis=-1)
        elif p == np.inf:
            D = (w * gaps).max(axis=-1)
        else:
            unit = 2.0**1000 if gaps.max() < 1e-100 else 1.0  # powers of such gaps are no floats
            D = (w * (gaps * unit) ** p).sum(axis=-1) ** (1 / p) / unit
        D = D.astype(X.dtype)
    if own is not None:
        D[np.arange(len(Z)), own] = np.inf
    return D


def same(found, others):
    for a, b in zip(found, others, strict=True):
        assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", POWERS)
def test_the_nearest_are_those_of_the_sums(p, dtype, isa):
    rng = np.random.default_rng(0)
    for n, d in ((1, 1), (15, 3), (130, 16), (700, 5), (90, 41)):
        X, Z = (hostile("usual", rng, rows, d, dtype) for rows in (n, 23))
        w = rng.random(d) * (rng.random(d) < 0.8)
        for weights in (None, w):
            D = by_sums(X, Z, p, weights)
            k = min(n, 9)
            distances, indices = BruteForce(Minkowski(p, weights), n_jobs=1).fit(X).query(Z, k)
            order = np.argsort(D, axis=1, kind="stable")[:, :k]
            rtol = 1e-6 if dtype == np.float32 else 1e-12
            assert_allclose(distances, np.take_along_axis(D, order, 1), rtol=rtol)
            assert_allclose(np.take_along_axis(D, indices, 1), distances, rtol=rtol)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [p for p in POWERS if p not in (0.3, 2.5, 7)])
def test_ties_go_to_the_smaller_index(p, dtype, isa):
    """Sums of small integers are exact, so that the order of numpy is the right one."""
    rng = np.random.default_rng(1)
    for n, d in ((40, 1), (200, 2), (600, 3)):
        X, Z = (hostile("ties", rng, rows, d, dtype) for rows in (n, 30))
        index = BruteForce(Minkowski(p)).fit(X)
        for queries, own in ((Z, None), (X, np.arange(n))):
            D = by_sums(X, queries, p, None, own)
            distances, indices = index.query(None if own is not None else queries, 20)
            order = np.argsort(D, axis=1, kind="stable")[:, :20]
            assert_array_equal(indices, order)
            assert_array_equal(distances, np.take_along_axis(D, order, 1))
        for radius in (0.0, 1.0, float(np.median(D[np.isfinite(D)]))):
            D = by_sums(X, Z, p, None)
            found = index.query_radius(Z, radius)
            wanted = np.nonzero(radius >= D)
            assert_array_equal(found[1], wanted[1])
            assert_array_equal(found[0], D[wanted])
            assert_array_equal(np.diff(found[2]), (radius >= D).sum(axis=1))


@pytest.mark.spread(2)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_rows(kind, dtype, isa):
    rng = np.random.default_rng(2)
    for n, d in ((7, 2), (16, 1), (17, 5), (150, 3), (90, 20)):
        X, Z = (hostile(kind, rng, rows, d, dtype) for rows in (n, 19))
        for p in (1, 1.5, 2, 3, np.inf):
            D = by_sums(X, Z, p, None)
            brute, tree = (kind_(Minkowski(p), n_jobs=2).fit(X) for kind_ in (BruteForce, KDTree))
            for k in {1, min(5, n - 1), n - 1}:
                found = brute.query(Z, k)
                nearest = np.sort(D, axis=1)[:, :k]
                rtol = 3e-7 if dtype == np.float32 else 1e-13
                assert_allclose(found[0], nearest, rtol=rtol, atol=float(nearest.max()) * 1e-30)
                same(found, tree.query(Z, k))
                same(brute.query(k=k), tree.query(k=k))
            radius = float(np.median(D))
            if np.isfinite(radius):
                same(brute.query_radius(Z, radius), tree.query_radius(Z, radius))
                same(brute.query_radius(radius=radius), tree.query_radius(radius=radius))


@examples(60)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 200),
    d=st.integers(1, 12),
    p=st.sampled_from([1, 1.3, 2, 3, 4, np.inf]),
    kind=st.sampled_from(KINDS),
    single=st.booleans(),
    weighted=st.booleans(),
)
def test_a_tree_gives_what_brute_force_gives(seed, n, d, p, kind, single, weighted):
    rng = np.random.default_rng(seed)
    dtype = np.float32 if single else np.float64
    X, Z = hostile(kind, rng, n, d, dtype), hostile(kind, rng, 6, d, dtype)
    w = rng.random(d) * (rng.random(d) < 0.7) if weighted else None
    brute, tree = (make(Minkowski(p, w)).fit(X) for make in (BruteForce, KDTree))
    k = int(rng.integers(1, n))
    same(brute.query(Z, k), tree.query(Z, k))
    same(brute.query(k=k), tree.query(k=k))
    far = float(brute.query(Z, k)[0][0, -1])
    if np.isfinite(far):
        same(brute.query_radius(Z, far), tree.query_radius(Z, far))


@pytest.mark.parametrize("case", NORMED, ids=cases.name)
def test_the_contract(case):
    distance, samples = case
    check_index(BruteForce, distance, samples)
    if distance.p >= 1:
        check_index(KDTree, distance, samples)


@pytest.mark.parametrize("distance", [Mahalanobis(), MappedMinkowski(np.eye(3)[:2] + 0.1)])
def test_mapped_rows(distance):
    X = np.random.default_rng(3).normal(size=(3000, 3))
    X[1::2] = X[::2]
    for make in (BruteForce, KDTree):
        check_index(make, distance, X[:80])
    same(BruteForce(distance).fit(X).query(k=8), KDTree(distance).fit(X).query(k=8))
    distances, indices = KDTree(distance).fit(X).query(X[::-1][:701], k=2)
    assert (distances == 0).all()  # equal rows stay equal wherever they stand
    assert_array_equal(indices[0], [2998, 2999])


@pytest.mark.parametrize("make", [BruteForce, KDTree])
def test_threads_and_parts_change_nothing(make, monkeypatch):
    X = np.random.default_rng(4).normal(size=(5000, 3)).round(1)
    index = make(Minkowski(), n_jobs=1).fit(X)
    wanted = [index.query(Z, 9) + index.query_radius(Z, 0.3) for Z in (X[:3], X[:700], None)]
    for jobs, step, work in ((2, 64, 1e5), (4, 2048, 1e12), (3, 32, 1)):
        monkeypatch.setattr(vectors, "STEP", step)
        monkeypatch.setattr(vectors, "WORK", max(work, 3 * 32 * 500))
        monkeypatch.setattr(vectors, "ROOM", 1)
        other = make(Minkowski(), n_jobs=jobs).fit(X)
        for Z, first in zip((X[:3], X[:700], None), wanted):
            same(first, other.query(Z, 9) + other.query_radius(Z, 0.3))


def test_mixed_precision_is_that_of_float64():
    rng = np.random.default_rng(5)
    X, Z = rng.normal(size=(200, 3)), rng.normal(size=(20, 3))
    for make in (BruteForce, KDTree):
        for A, B in ((X.astype(np.float32), Z), (X, Z.astype(np.float32))):
            distances, indices = make(Minkowski(1.5)).fit(A).query(B, 4)
            assert distances.dtype == np.float64
            same((distances, indices), BruteForce(Minkowski(1.5)).fit(A.astype(float)).query(B, 4))


def test_sparse_rows():
    X = sp.random_array((150, 12), density=0.3, format="csr", rng=np.random.default_rng(6))
    for p in (1, 2, 3):
        tree, brute = KDTree(Minkowski(p)).fit(X), BruteForce(Minkowski(p)).fit(X)
        dense = BruteForce(Minkowski(p)).fit(X.toarray())
        same(tree.query(X[:20], 5), dense.query(X[:20], 5))
        assert_allclose(brute.query(X[:20], 5)[0], tree.query(X[:20], 5)[0], atol=1e-7)
    with pytest.raises(ValueError, match=r"sparse rows, which KDTree makes dense.*beyond memory="):
        KDTree(Minkowski(), memory=1000).fit(X)


@pytest.mark.parametrize(
    "distance", [Minkowski(0), Minkowski(0.5), Cosine(), Edit()], ids=lambda d: repr(d)
)
def test_a_tree_of_boxes_refuses_other_distances(distance):
    X = ["a", "b"] if distance.kind == "strings" else [[1.0], [2.0]]
    with pytest.raises(ValueError, match="KDTree needs Minkowski's distance with p >= 1"):
        KDTree(distance).fit(X)


def test_squares_beyond_floats_are_refused():
    X = np.array([[1.0, 1e160], [2.0, 0.0]])
    for make in (BruteForce, KDTree):
        with pytest.raises(ValueError, match=r"column 1 of X reaches 1e\+160.*MaxAbsScaler"):
            make(Minkowski()).fit(X)
        with pytest.raises(ValueError, match=r"column 1 of X reaches 1e\+160"):
            make(Minkowski()).fit(X[:, ::-1] * 1e-160).query(X, 1)


def test_an_index_holds_its_rows_once():
    X = np.random.default_rng(7).normal(size=(20_000, 32)).astype(np.float32)
    tree = KDTree(Minkowski()).fit(X).tree_
    held = sum(v.nbytes for v in vars(tree).values() if isinstance(v, np.ndarray))
    assert held < 1.1 * X.nbytes
    index = BruteForce(Minkowski()).fit(X)
    assert np.shares_memory(index._rows.normed.rows, X)
    assert index._training.X is index._rows.normed.rows


def test_results_beyond_memory_are_refused():
    X = np.zeros((2000, 1))
    for make in (BruteForce, KDTree):
        index = make(Minkowski(), memory="1MB").fit(X)
        with pytest.raises(ValueError, match=r"k=100 finds 200,000 pairs .* beyond memory='1MB'"):
            index.query(X, 100)
        with pytest.raises(ValueError, match=r"radius=1 finds .* beyond memory='1MB'"):
            index.query_radius(X, 1)


@pytest.mark.parametrize("case", cases.DISTANCES, ids=cases.name)
def test_coordinates_are_rows_of_the_same_distance(case):
    distance, samples = case
    X = distance.encode(samples)
    bound = distance.bind(X)
    found = bound.coordinates(X)
    if found is None:
        assert not isinstance(distance, Minkowski | Mahalanobis | MappedMinkowski)
        return
    assert found.rows.flags.c_contiguous
    assert found.rows.dtype == X.dtype
    D = Minkowski(found.p, found.weights)(found.rows)
    assert_allclose(D, bound.block(X, X), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("size", [1e15, 1e25])
def test_rows_of_one_side_alone_may_be_huge(p, size):
    """Powers of float32 end at 3e38, whichever side they are from."""
    rng = np.random.default_rng(0)
    small, huge = (rng.uniform(1, 2, (90, 3)).astype(np.float32) * s for s in (1, np.float32(size)))
    for X, Z in ((small, huge), (huge, small)):
        D = cdist(Z.astype(float), X.astype(float), "minkowski", p=p)
        for kind in (BruteForce, KDTree):
            index = kind(Minkowski(p)).fit(X)
            assert_allclose(index.query(Z, 3)[0], np.sort(D, axis=1)[:, :3], rtol=1e-6)
            radius = float(np.median(D))
            counts = np.diff(index.query_radius(Z, radius)[2])
            assert (counts >= (radius * (1 - 1e-6) >= D).sum(axis=1)).all()
            assert (counts <= (radius * (1 + 1e-6) >= D).sum(axis=1)).all()
