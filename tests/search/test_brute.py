"""The index that compares everything, against the full matrix of distances."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import cases
from lanes import examples
from mercer.distances import Cosine, Edit, Jaccard, Match, Minkowski, Mixed
from mercer.search import BruteForce, brute, compare, rows

#: distances that do not depend on the tile in which they are computed
EXACT = [c for c in cases.DISTANCES if c[0].kind in ("strings", "sets", "categories")]


def tiles_of(edge, patch):
    """Make all tiles of ``edge`` rows and columns."""
    for module in (brute, compare, rows):
        patch.setattr(module, "EDGE", edge)
    patch.setattr(compare, "LEAST", min(edge, 32))


@pytest.fixture(params=[2, 3])
def edge(request, monkeypatch):
    """Tiles of a few rows, so that there are many; the contract has a tile of all."""
    tiles_of(request.param, monkeypatch)
    return request.param


def nearest(D, k):
    """The first k of each row by distance, then by index."""
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, order, 1), order


def within(D, radius):
    return [np.flatnonzero(row <= radius).tolist() for row in D]


def lists(found):
    _, indices, starts = found
    return [indices[s:e].tolist() for s, e in pairwise(starts)]


class Powers(Minkowski):
    """|x - z| ** ½, whose square is what is compared."""

    def coordinates(self, X):
        return None

    def raw(self, X, Z):
        x, z = (np.asarray(getattr(side, "parts", [side])[0])[:, 0] for side in (X, Z))
        return np.abs(x[:, None] - z)


def test_powers_of_equal_roots_are_equally_near():
    """Of two squares that differ in the last digit, the roots may be equal."""
    rng = np.random.default_rng(0)
    X = 1 + np.finfo(float).eps * rng.permutation(60)[:, None]
    D = np.sqrt(np.abs(np.array([[0.0], [-3.0]]) - X.T))
    assert (np.diff(np.sort(D[0])) == 0).any()
    assert (np.diff(np.sort(D[0])) > 0).any()
    found = BruteForce(Powers()).fit(X).query([[0.0], [-3.0]], 60)
    for a, b in zip(found, nearest(D, 60), strict=True):
        assert_array_equal(a, b)


@pytest.mark.parametrize("case", EXACT, ids=cases.name)
def test_all_that_the_matrix_has(case, edge):
    distance, samples = case
    X = distance.encode(samples)
    bound = distance.bind(X)
    D = bound.block(X, X)
    index = BruteForce(distance, n_jobs=2).fit(samples)
    others = np.where(np.eye(len(D), dtype=bool), np.inf, D)
    for k in (1, 3, len(D) - 1):
        for Z, wanted in ((samples, D), (None, others)):
            distances, indices = index.query(Z, k)
            assert_array_equal(distances, nearest(wanted, k)[0])
            assert_array_equal(indices, nearest(wanted, k)[1])
    for radius in (0, 0.4, 1, np.median(D), D.max()):
        for Z, wanted in ((samples, D), (None, others)):
            found = index.query_radius(Z, radius)
            assert lists(found) == within(wanted, radius)
            assert_array_equal(found[0], wanted[wanted <= radius])


@pytest.mark.parametrize("case", cases.DISTANCES, ids=cases.name)
def test_every_distance_within_rounding(case, edge):
    distance, samples = case
    X = distance.encode(samples)
    bound = distance.bind(X)
    D = bound.block(X, X)
    index = BruteForce(distance).fit(samples)
    distances, indices = index.query(samples, 4)
    assert_allclose(distances, nearest(D, 4)[0], rtol=1e-6, atol=2e-7)
    assert_allclose(np.take_along_axis(D, indices, 1), distances, rtol=1e-6, atol=2e-7)
    radius = float(np.median(D)) * (1 + 1e-6) + 1e-6
    assert lists(index.query_radius(samples, radius)) == within(D, radius)
    assert distances.dtype == np.float64
    assert indices.dtype == np.int64


@examples(30)
@given(
    old=st.lists(st.text("ab", max_size=9), min_size=2, max_size=20),
    new=st.lists(st.text("abc", max_size=9), min_size=1, max_size=9),
    k=st.integers(1, 20),
    edge=st.integers(1, 5),
)
def test_strings_of_any_lengths(old, new, k, edge):
    """Lengths order the rows, and pass over tiles, and cutoffs give pairs up; nothing is lost."""
    with pytest.MonkeyPatch.context() as patch:
        tiles_of(edge, patch)
        for distance in (Edit(), Edit("indel"), Edit("osa", normalised=True)):
            index = BruteForce(distance, n_jobs=2).fit(old)
            D = distance(old)[:0] if not new else distance.block(
                distance.encode(new, like=distance.encode(old)), distance.encode(old)
            )  # fmt: skip
            k_ = min(k, len(old))
            for found, wanted in zip(index.query(new, k_), nearest(D, k_)):
                assert_array_equal(found, wanted)
            assert lists(index.query_radius(new, k / 3)) == within(D, k / 3)


def test_tiles_that_keys_rule_out_are_not_computed(monkeypatch):
    tiles_of(64, monkeypatch)
    computed = []

    class Watched(Edit):
        def within(self, X, Z, limit):
            computed.append(X.shape[0] * Z.shape[0])
            return super().within(X, Z, limit)

    names = ["x" * length for length in range(1, 400)] * 10
    BruteForce(Watched(), n_jobs=1).fit(names).query_radius(radius=1)
    assert sum(computed) < 0.05 * len(names) ** 2
    computed.clear()
    BruteForce(Watched(), n_jobs=1).fit(names).query(names[5:6] * 600, 3)
    assert sum(computed) < 0.1 * 600 * len(names)


def test_the_number_of_threads_changes_nothing():
    X = np.random.default_rng(0).normal(size=(1500, 3)).round(1)  # many ties
    runs = [BruteForce(Minkowski(1), n_jobs=jobs).fit(X) for jobs in (1, 2, 4)]
    for Z in (X[:3], X[:700], None):
        first, *others = [run.query(Z, 9) + run.query_radius(Z, 0.3) for run in runs]
        for other in others:
            for a, b in zip(first, other):
                assert_array_equal(a, b)


def test_float32_and_a_table():
    X = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
    distances, indices = BruteForce(Minkowski()).fit(X).query(k=3)
    assert distances.dtype == np.float32
    assert (indices != np.arange(60)[:, None]).all()
    mixed = Mixed([(Minkowski(1), ["age"]), (Match(), ["job"])])
    table = cases.table()
    _, indices, starts = BruteForce(mixed).fit(table).query_radius(table, 0.0)
    assert all(i in indices[starts[i] : starts[i + 1]] for i in range(len(table)))


def test_new_symbols_and_items():
    distances, _ = BruteForce(Edit()).fit(["ab", "cd"]).query(["xb", "\ud800\0"], 1)
    assert distances.tolist() == [[1], [2]]
    distances, indices = BruteForce(Jaccard()).fit([{"a"}, {"b"}]).query([{"b", "new"}, set()], 1)
    assert distances.tolist() == [[0.5], [1]]
    assert indices.tolist() == [[1], [0]]


def test_conventions():
    index = BruteForce(Edit("osa"), memory="1GB", n_jobs=2)
    assert repr(clone(index)) == repr(index)
    assert index.fit(["a", "b"]) is index
    assert index.n_samples_fit_ == 2
    found = index.query_radius(["zzz"], 1)
    assert [len(part) for part in found] == [0, 0, 2]


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda i: i.query(k=0), ValueError, "k=0: give an integer from 1 to 2,.* beside the row"),
        (lambda i: i.query(k=3), ValueError, "k=3: .* 1 to 2"),
        (
            lambda i: i.query(["a"], k=4),
            ValueError,
            r"k=4: .* 3, the number of training rows\.",
        ),
        (lambda i: i.query(["a"], k=1.0), ValueError, r"k=1\.0"),
        (lambda i: i.query(["a"], k=np.nan), ValueError, "k=nan"),
        (lambda i: i.query_radius(radius=-1), ValueError, "radius=-1: give a number >= 0"),
        (lambda i: i.query_radius(radius=np.nan), ValueError, "radius=nan"),
        (lambda i: i.query_radius(radius="1"), ValueError, "radius='1'"),
        (lambda i: i.query([1]), TypeError, r"X\[0\] is 1, but Edit compares strings"),
        (lambda i: i.query("abc"), TypeError, "single string"),
        (lambda i: BruteForce(Edit()).query(["a"], 1), ValueError, "not fitted"),
        (lambda i: BruteForce("edit").fit(["a"]), TypeError, "distance='edit': give a distance"),
        (lambda i: BruteForce(Edit).fit(["a"]), TypeError, "distance=.*give a distance"),
        (lambda i: BruteForce(Edit("x")).fit(["a"]), ValueError, "variant='x'"),
    ],
)
def test_bad_questions_are_refused(ask, error, message):
    with pytest.raises(error, match=message):
        ask(BruteForce(Edit()).fit(["a", "b", "cc"]))


def test_results_beyond_memory_are_refused():
    X = np.zeros((2000, 1))
    index = BruteForce(Cosine(), memory="1MB").fit(X)
    with pytest.raises(ValueError, match=r"k=100 finds 200,000 pairs .* beyond memory='1MB'"):
        index.query(X, 100)
    with pytest.raises(ValueError, match=r"radius=1 finds .* beyond memory='1MB'"):
        index.query_radius(X, 1)


@pytest.mark.full
def test_memory_stays_bounded():
    """2 · 10^8 distances of names would take 1.6 GB; the index takes little more than the names."""
    code = """
import re
from mercer.distances import Edit
from mercer.search import BruteForce
def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1024
names = [f"{i * 7919 % 100003:05d}" for i in range(100_000)]
index = BruteForce(Edit("hamming"), n_jobs=2).fit(names)
index.query(names[:10], 3)
before = peak()
index.query(names[:2_000], 3)
index.query_radius(names[:2_000], 0)
print(peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 60


@pytest.mark.parametrize("radius", [np.inf, 1e308, 1e155, np.float32(1e38), 10**400])
@pytest.mark.parametrize("p", [1, 2, 3])
def test_a_radius_beyond_all_rows_finds_all_of_them(radius, p):
    X = np.random.default_rng(0).normal(size=(20, 3))
    index = BruteForce(Minkowski(p)).fit(X)
    distances, indices, starts = index.query_radius(X[:2], radius)
    assert_array_equal(indices, np.tile(np.arange(20), 2))
    assert_array_equal(starts, [0, 20, 40])
    assert np.isfinite(distances).all()


@pytest.mark.parametrize("radius", [-1, -np.inf, np.nan, True, None, "1", [1.0], 1j])
def test_a_radius_is_a_number(radius):
    index = BruteForce(Minkowski(2)).fit([[0.0], [1.0]])
    with pytest.raises(ValueError, match=r"radius=.*: give a number >= 0"):
        index.query_radius([[0.0]], radius)


@pytest.mark.parametrize("k", [0, -1, 3, 10**30, True, 1.0, np.nan, None, "1", [1]])
def test_the_number_of_neighbours_is_an_integer(k):
    index = BruteForce(Minkowski(2)).fit([[0.0], [1.0]])
    with pytest.raises(ValueError, match=r"k=.*: give an integer from 1 to 2"):
        index.query([[0.0]], k)
    assert index.query([[0.0]], np.int32(1))[1].tolist() == [[0]]
