"""Rows that are added to an index are found as if they had been there from the start; those that
are removed, or that a mask leaves out, as if they had never been."""

import inspect
import sys
from copy import copy

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

import cases
from fuzz import fuzz_fields
from mercer import KNeighborsClassifier, NearestNeighbors
from mercer.distances import DTW, Cosine, Edit, Jaccard, Mahalanobis, Match, Minkowski
from mercer.persistence import ModelFileError
from mercer.samples import Objects
from mercer.search import (
    BruteForce,
    DescentIndex,
    Index,
    KDTree,
    LSHIndex,
    MetricTree,
    SampleDescentIndex,
    graph,
)

LEARNS = ("SmoothedMatch", "LogFrequency")  # frequencies, which `add` leaves as they are


def makers(distance, samples):
    makers = [BruteForce]
    if distance.metric:
        makers.append(MetricTree)
    found = None if distance.kind != "vectors" else distance.coordinates(distance.encode(samples))
    if found is not None and found.p >= 1:
        makers.append(KDTree)
    return makers


def answers(index, Z):
    return [*index.query(Z, 3), *index.query(k=2), *index.query_radius(Z, 0.7)]


def part(samples, rows):
    return samples.iloc[rows] if hasattr(samples, "iloc") else samples[rows]


@pytest.mark.spread(11)
@pytest.mark.parametrize("case", cases.of_each_class(cases.DISTANCES), ids=cases.name)
def test_as_if_they_had_been_there(case):
    distance, samples = case
    if any(name in repr(distance) for name in LEARNS):
        pytest.skip("it would learn other frequencies from fewer rows")
    # what learns from the rows is bound to all of them
    distance = distance.bind(distance.encode(samples))
    for make in makers(distance, samples):
        whole = make(distance).fit(samples)
        index = make(distance).fit(part(samples, slice(0, 3)))
        assert index.add(part(samples, slice(3, 5))) is index
        index.add(part(samples, slice(5, None)))
        assert index.n_samples_fit_ == whole.n_samples_fit_ == len(samples)
        for a, b in zip(answers(index, samples), answers(whole, samples), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-7)


def test_the_distance_stays_as_it_was(tmp_path):
    rng = np.random.default_rng(0)
    X, more = rng.normal(size=(40, 3)), 9 * rng.normal(size=(60, 3))
    for make in (BruteForce, KDTree, MetricTree):
        index = make(Mahalanobis()).fit(X)
        learnt = index.distance_.covariance
        index.add(more)
        assert index.distance_.covariance is learnt
        index.save(tmp_path / "index")
        loaded = Index.load(tmp_path / "index").add(X)  # to what lies in a file
        assert loaded.n_samples_fit_ == 140
        distances, indices = loaded.query(more, 1)
        assert_array_equal(indices[:, 0], np.arange(40, 100))
        assert distances.max() < 1e-6


def test_new_symbols_and_items():
    index = BruteForce(Edit()).fit(["ab"]).add(["cd", "é"]).add(["ée"])
    assert index.query(["éx"], 4)[1].tolist() == [[2, 3, 0, 1]]
    index = MetricTree(Jaccard()).fit([{"a"}]).add([{"b", "c"}]).add([{"c"}])
    assert index.query([{"c", "b"}], 3)[1].tolist() == [[1, 2, 0]]


def test_the_precision_is_that_of_the_first_rows():
    X = np.random.default_rng(1).normal(size=(30, 2))
    for make in (BruteForce, KDTree, MetricTree):
        index = make(Minkowski(1)).fit(X.astype(np.float32)).add(X)
        assert index.query(X.astype(np.float32), 2)[0].dtype == np.float32
        assert_array_equal(index.query(X.astype(np.float32), 1)[1][:, 0], np.arange(30))


def test_sparse_rows():
    X = sp.random_array((40, 9), density=0.3, format="csr", rng=np.random.default_rng(2))
    for make in (BruteForce, KDTree):
        for A, B in ((X[:30], X[30:]), (X[:30].toarray(), X[30:]), (X[:30], X[30:].toarray())):
            index = make(Minkowski()).fit(A).add(B)
            assert_array_equal(index.query(X.toarray(), 1)[0] < 1e-6, True)


def test_wrong_rows_are_refused_and_nothing_is_added():
    index = KDTree(Minkowski()).fit([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(ValueError, match="X has 1 columns"):
        index.add([[1.0]])
    with pytest.raises(ValueError, match="NaN"):
        index.add([[1.0, np.nan]])
    assert index.n_samples_fit_ == 2
    assert index.query([[3.0, 4.0]], 2)[1].tolist() == [[1, 0]]
    with pytest.raises(ValueError, match="not fitted"):
        KDTree(Minkowski()).add([[1.0]])
    assert not isinstance(index._training.X, Objects)


# --- rows come and go ----------------------------------------------------------------------------


def vectors(n, seed=0, d=6):
    """Rows in clusters, some of them equal."""
    rng = np.random.default_rng(seed)
    centres = 4 * np.random.default_rng(9).normal(size=(5, d))
    X = (centres[rng.integers(0, 5, n)] + rng.normal(size=(n, d))).round(2)
    X[n // 2] = X[0]
    return X


def single(n, seed=0):
    return vectors(n, seed).astype(np.float32)


def words(n, seed=0):
    """Variants of some words: many are equal."""
    rng = np.random.default_rng(seed)
    roots = np.random.default_rng(9).choice([*"abcdef"], (6, 10))
    found = []
    for root in roots[rng.integers(0, 6, n)]:
        word = root.copy()
        word[rng.integers(0, 10, rng.integers(0, 4))] = rng.choice([*"abcdefg"])
        found.append("".join(word))
    return found


def baskets(n, seed=0):
    rng = np.random.default_rng(seed)
    return [{*rng.integers(0, 30, rng.integers(2, 8)).tolist(), f"new {seed}"} for _ in range(n)]


def orders(n, seed=0):
    """Baskets of sixty customers, each with one item of its own: hashes find near pairs alone."""
    rng, usual = np.random.default_rng(seed), np.random.default_rng(8).integers(0, 500, (60, 10))
    return [{*usual[rng.integers(60)].tolist(), f"new {seed} {i}"} for i in range(n)]


def codes(n, seed=0):
    return np.random.default_rng(seed).integers(0, 5, (n, 6))


def series(n, seed=0):
    rng = np.random.default_rng(seed)
    base = np.random.default_rng(9).normal(size=(6, 12)).cumsum(axis=1)
    return [*(base[rng.integers(0, 6, n)] + 0.3 * rng.normal(size=(n, 12)).cumsum(axis=1))]


EXACT = {
    "brute vectors": (BruteForce, Minkowski(), vectors),
    "brute single": (BruteForce, Minkowski(), single),
    "brute angles": (BruteForce, Cosine(), vectors),
    "brute words": (BruteForce, Edit(), words),
    "brute sets": (BruteForce, Jaccard(), baskets),
    "brute series": (BruteForce, DTW(), series),
    "boxes": (KDTree, Minkowski(), vectors),
    "boxes single": (KDTree, Minkowski(1), single),
    "boxes of covariance": (KDTree, Mahalanobis(), vectors),
    "vantages words": (MetricTree, Edit(), words),
    "vantages sets": (MetricTree, Jaccard(), baskets),
    "vantages codes": (MetricTree, Match(), codes),
    "vantages single": (MetricTree, Minkowski(), single),
}
MOST = {
    "graph": (DescentIndex, Minkowski(), vectors),
    "graph single": (DescentIndex, Minkowski(1), single),
    "graph of angles": (DescentIndex, Cosine(), vectors),
    "graph of words": (SampleDescentIndex, Edit(), words),
    "graph of sets": (SampleDescentIndex, Jaccard(), baskets),
    "graph of series": (SampleDescentIndex, DTW(), series),
    "hashes": (LSHIndex, Minkowski(), vectors),
    "hashes of sets": (LSHIndex, Jaccard(), orders),
    "hashes of codes": (LSHIndex, Match(), codes),
}


def joined(*parts):
    array = isinstance(parts[0], np.ndarray)
    return np.concatenate(parts) if array else [row for part in parts for row in part]


def changed(make, distance, samples, n=400, n_jobs=2):
    """An index whose rows came and went; all rows that ever came; and which are there."""
    parts = [samples(n), samples(n // 8, 1), samples(n // 4, 2), samples(n, 3)]
    index = make(distance, n_jobs=n_jobs).fit(parts[0])
    index.add(parts[1]).remove(np.arange(0, n, 7)).add(parts[2])
    index.remove([n + 3, 1, n + n // 8])
    there = np.ones(len(joined(*parts[:3])), bool)
    there[:n:7] = there[[n + 3, 1, n + n // 8]] = False
    return index, joined(*parts[:3]), there, parts[3]


def check(index, rows, there, Z, k, where, least):
    """The answers beside the distances of all rows; the share of the nearest that are found."""
    may = there if where is None else there & where
    numbers = np.flatnonzero(there)
    assert_array_equal(index.numbers_, numbers)
    assert index.n_samples_fit_ == len(numbers)
    bound = index.distance_
    X = bound.encode(rows)
    asked = bound.encode(Z, like=X)
    X = bound.encode(rows, like=asked)
    for queries, D in ((Z, bound.whole(asked, X)), (None, bound.whole(X, X))):
        D = np.where(may, D, np.inf)
        if queries is None:
            np.fill_diagonal(D, np.inf)
            D = D[there]
        distances, indices = index.query(queries, k, where=where)
        found = indices >= 0
        query, _ = np.nonzero(found)
        assert_allclose(distances[found], D[query, indices[found]], rtol=1e-4, atol=2e-3)
        assert all(len({*row}) == k for row in np.where(found, indices, -1 - np.arange(k)))
        last = np.sort(D, axis=1)[:, k - 1 : k]
        assert (distances <= last * (1 + 1e-4) + 2e-3).mean() >= least
        radius = float(np.median(last)) + 1e-3
        near, inside, starts = index.query_radius(queries, radius, where=where)
        query = np.repeat(np.arange(len(D)), np.diff(starts))
        assert_allclose(near, D[query, inside], rtol=1e-4, atol=2e-3)
        assert len(near) >= least * (radius - 2e-3 > D).sum()


def masks(n):
    rng = np.random.default_rng(5)
    yield None
    yield np.ones(n, bool)
    for share in (0.9, 0.3, 0.05):
        yield rng.random(n) < share
    yield np.arange(n) >= n - 40  # rows that were added


@pytest.mark.spread(3)
@pytest.mark.parametrize("name", EXACT)
def test_exact_indexes_beside_all_distances(name):
    index, rows, there, Z = changed(*EXACT[name])
    for where in masks(len(there)):
        check(index, rows, there, Z[:90], 7, where, 1.0)
    index.remove(index.numbers_[20:])  # most of them
    there[np.flatnonzero(there)[20:]] = False
    check(index, rows, there, Z[:90], 7, None, 1.0)
    check(index.add(Z[90:120]), joined(rows, Z[90:120]), np.append(there, np.ones(30, bool)),
          Z[:90], 7, None, 1.0)  # fmt: skip


@pytest.mark.spread(1)
@pytest.mark.parametrize("name", MOST)
def test_approximate_indexes_beside_all_distances(name, monkeypatch):
    monkeypatch.setattr(graph, "WALKED", 0.2)  # of few rows too, walks look for those that may be
    make, distance, samples = MOST[name]
    index, rows, there, Z = changed(make, distance, samples, 1000)
    if make is not LSHIndex:
        assert index.recall_ > 0.95
    for where in masks(len(there)):
        # hashes find a pair by its distance, however many rows are left out
        some = where is not None and where.mean() < 0.9
        least = 0.95 if make is not LSHIndex else 0 if some else 0.85
        check(index, rows, there, Z[:90], 7, where, least)
        if make is not LSHIndex:
            assert (index.query(Z[:90], 7, where=where)[1] >= 0).all()
    index.remove(index.numbers_[20:])
    there[np.flatnonzero(there)[20:]] = False
    check(index, rows, there, Z[:90], 7, None, 0 if make is LSHIndex else 0.95)


@pytest.mark.spread(3)
@pytest.mark.parametrize("name", EXACT | MOST)
def test_threads_and_files_change_nothing(name, tmp_path):
    (one, _, there, Z), (three, *_) = (changed(*(EXACT | MOST)[name], n_jobs=j) for j in (1, 3))
    one.save(tmp_path / "a.index")
    loaded = Index.load(tmp_path / "a.index")

    def same():
        where = np.arange(len(there)) % 2 == 0
        for index in (three, loaded):
            assert getattr(index, "recall_", 1) == getattr(one, "recall_", 1)
            for queries in (Z[:30], None):
                mine, theirs = (
                    [
                        *each.query(queries, 5, where=where),
                        *each.query_radius(queries, 0.5, where=where),
                        *each.query(queries, 5),
                    ]
                    for each in (one, index)
                )
                for a, b in zip(mine, theirs, strict=True):
                    if index is three and name == "brute angles":
                        # all threads of BLAS multiply one tile, and round as they divide it
                        assert_allclose(a, b, rtol=1e-13, atol=1e-15)
                    else:
                        assert_array_equal(a, b)

    same()
    for index in (one, three, loaded):
        index.remove([2, 4]).add(Z[:9])
    there = np.append(there, np.ones(9, bool))
    same()


@pytest.mark.parametrize("make", [DescentIndex, SampleDescentIndex])
def test_rows_far_from_all_others_are_reached(make):
    X = vectors(600)
    far = vectors(100, 1) + 1000 * (1 + np.arange(100) % 2)[:, None]
    index = make(Minkowski()).fit(X).add(far)
    assert (index.query(far + 0.001, 1)[1][:, 0] >= 600).all()
    found = index.query(far + 0.001, 5)[0]
    wanted = BruteForce(Minkowski()).fit(np.concatenate([X, far])).query(far + 0.001, 5)[0]
    assert (found <= wanted[:, -1:] + 1e-9).mean() > 0.95


@pytest.mark.parametrize("make", [DescentIndex, SampleDescentIndex])
def test_many_small_additions(make):
    X = vectors(900, d=4)
    index = make(Minkowski(), 8).fit(X[:500])
    for start in range(500, 900, 20):
        index.add(X[start : start + 20])
    Z = vectors(80, 1, 4)
    wanted = BruteForce(Minkowski()).fit(X).query(Z, 8)[0]
    assert (index.query(Z, 8)[0] <= wanted[:, -1:] + 1e-9).mean() > 0.97
    assert index.recall_ > 0.95


def test_a_row_alone_as_with_others():
    X, Z = vectors(800), vectors(40, 1)
    where = np.arange(800) % 3 == 0
    for make in (BruteForce, KDTree, DescentIndex, SampleDescentIndex):
        index = make(Minkowski()).fit(X).remove([5, 6])
        distances, indices = index.query(Z, 6, where=where)
        for i in (0, 17, 39):
            one = index.query(Z[i : i + 1], 6, where=where)
            assert_array_equal(one[0][0], distances[i])
            assert_array_equal(one[1][0], indices[i])


def test_known_distances():
    X = vectors(60)
    graph = NearestNeighbors(n_neighbors=20).fit(X).kneighbors_graph(mode="distance")
    index = NearestNeighbors(metric="precomputed").fit(graph).index_
    before = index.query(k=3)
    gone = np.unique(before[1][:, 0])[:4]
    index.remove(gone)
    assert not np.isin(index.query(k=3)[1], gone).any()
    assert len(index.query(k=3)[1]) == 56
    where = np.arange(60) % 2 == 0
    assert (index.query(k=2, where=where)[1] % 2 == 0).all()
    D = np.linalg.norm(X[:, None] - X, axis=2)
    whole = NearestNeighbors(metric="precomputed").fit(D).index_.remove(gone)
    found, D[:, gone] = whole.query(D, 3)[1], np.inf
    assert_array_equal(found, np.argsort(D, axis=1, kind="stable")[:, :3])


WRONG_MASKS = [
    np.ones(29, bool), np.ones(31, bool), np.ones((30, 1), bool), np.ones(30), np.arange(30),
    np.full(30, np.nan), [True] * 29 + ["no"], True, "all", {1, 2},
]  # fmt: skip
WRONG_ROWS = [
    ([30], "numbers of rows are from 0 to 29"),
    ([-1], "rows has -1"),
    ([3, 3], "rows has 3, which was removed before, or is named twice"),
    ([7], "rows has 7, which was removed before"),
    ([1.0], "give the numbers of rows"),
    (np.ones(30, bool), "np.flatnonzero"),
    ([[1, 2]], "give the numbers of rows"),
    ("3", "give the numbers of rows"),
    (None, "give the numbers of rows"),
    (np.setdiff1d(np.arange(30), [7]), "has all 29 rows, but an index needs one"),
]
INDEXES = {
    "brute": lambda: BruteForce(Minkowski()),
    "boxes": lambda: KDTree(Minkowski()),
    "vantages": lambda: MetricTree(Minkowski()),
    "graph": lambda: DescentIndex(Minkowski()),
    "samples": lambda: SampleDescentIndex(Minkowski()),
    "hashes": lambda: LSHIndex(Minkowski()),
}


@pytest.mark.parametrize("make", INDEXES.values(), ids=[*INDEXES])
def test_wrong_masks_and_numbers_change_nothing(make):
    X = vectors(30)
    index = make().fit(X).remove([7])
    before = [*index.query(X, 3), *index.query(k=3)]
    for where in WRONG_MASKS:
        for ask in (index.query, index.query_radius):
            with pytest.raises(ValueError, match=r"where is an array of .*: give one of bool"):
                ask(X, where=where)
    for rows, message in WRONG_ROWS:
        with pytest.raises(ValueError, match=message):
            index.remove(rows)
    for more, message in [
        (["anna", "otto"], None), ([{1}, {2}], None), (X[:, :4], "4 columns|4 features"),
        (X * np.nan, "NaN"), (X[:0], "0 sample|no row|empty"), ("text", None), (None, None),
    ]:  # fmt: skip
        with pytest.raises((ValueError, TypeError), match=message):
            index.add(more)
    nobody = np.zeros(30, bool)
    with pytest.raises(ValueError, match=r"k=1, but there are no .* that where allows: let where"):
        index.query(X, 1, where=nobody)
    with pytest.raises(ValueError, match="k=30: give an integer from 1 to 29"):
        index.query(X, 30)
    assert index.query_radius(X, 9.0, where=nobody)[2].tolist() == [0] * 31
    one = nobody.copy()
    one[[7, 9]] = True  # of which 7 was removed
    if index.exact:
        assert (index.query(X, 1, where=one)[1] == 9).all()
        with pytest.raises(
            ValueError, match=r"no training rows .* beside the row itself: let where"
        ):
            index.query(k=1, where=one)
    assert index.remove([]).n_samples_fit_ == 29
    for a, b in zip(before, [*index.query(X, 3), *index.query(k=3)], strict=True):
        assert_array_equal(a, b)
    for ask in (make().query, make().query_radius, make().remove, make().add):
        with pytest.raises(ValueError, match="not fitted"):
            ask(X)
    with pytest.raises(NotFittedError, match="not fitted"):
        make().numbers_  # noqa: B018
    with pytest.raises(ValueError, match=r"k=1, but there are no .* beside the row itself: add"):
        make().fit(X[:1]).query(k=1)


CHANGES = {
    "some": lambda index, X: index.add(X[100:]),
    "many": lambda index, X: index.add(np.tile(X, (2, 1)) + 1e-3),
    "gone": lambda index, X: index.remove(range(8, 70)),
    "fit": lambda index, X: index.fit(X[50:]),
}
CUT = {
    "brute": {"_hold", "_rearrange"},
    "boxes": {"_hold", "_coordinates"},
    "vantages": {"arrange", "insert", "_home", "_rounding"},
    "graph": {"arrange", "_insert", "_in_leaves", "_descend", "_judge"},
    "samples": {"arrange", "_insert", "_descend", "_judge"},
    "hashes": {"arrange", "insert", "_plan", "_draw", "_tables", "_distance_of"},
}


def calls(change, index, X, cut=-1):
    """The names of the methods of indexes that a change calls; it is stopped at one call."""
    seen = []

    def note(frame, event, arg):
        code = frame.f_code
        plain = not code.co_flags & inspect.CO_GENERATOR  # which are called to be closed, too
        if event == "call" and plain and isinstance(frame.f_locals.get("self"), Index):
            seen.append(code.co_name)
            if len(seen) - 1 == cut:
                raise KeyboardInterrupt

    sys.setprofile(note)
    try:
        change(index, X)
    finally:
        sys.setprofile(None)
    return seen


@pytest.mark.spread(1)
@pytest.mark.parametrize("name", INDEXES)
def test_a_change_that_is_stopped_leaves_the_index(name):
    X, within = vectors(120), set()
    index = INDEXES[name]().set_params(n_jobs=1).fit(X[:100])
    index.remove([7])
    before = [*index.query(X[:30], 3), *index.query(k=2), index.numbers_]
    for change in CHANGES.values():
        last = {each: i for i, each in enumerate(calls(change, copy(index), X))}
        within |= last.keys()
        for i in last.values():
            with pytest.raises(KeyboardInterrupt):
                calls(change, index, X, i)
            assert index.n_samples_fit_ == 99
            now = [*index.query(X[:30], 3), *index.query(k=2), index.numbers_]
            for a, b in zip(before, now, strict=True):
                assert_array_equal(a, b)
    assert within >= CUT[name]


def test_a_change_that_is_refused_leaves_the_index():
    X = vectors(500)
    index = LSHIndex(Minkowski()).fit(X)
    before = answers(index, X)
    with pytest.raises(ValueError, match="beyond memory=20000"):
        index.set_params(memory=20_000).remove(range(300))
    index.set_params(memory=None)
    assert index.n_samples_fit_ == 500
    for a, b in zip(before, answers(index, X), strict=True):
        assert_array_equal(a, b)


def test_rows_are_added_to_a_copy_of_a_learners_index():
    X = vectors(60)
    model = KNeighborsClassifier().fit(X[:40], np.arange(40) % 3)
    before, index = model.predict(X), copy(model.index_).add(X[40:]).remove(range(39))
    assert index.query(X[50:51], 1)[1].tolist() == [[50]]
    assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize(
    ("way", "value", "message"),
    [
        (("_left",), np.zeros(40, bool), "_left does not leave 38 rows"),
        (("_left",), np.ones(40), "_left does not leave"),
        (("_left",), np.ones(38, bool), "_left has 38 rows, not 40"),
        (("_given",), 2**70, "_left has 40 rows"),
        (("_given",), 3, "_given is 3 beside 38 rows"),
        (("_given",), 2.0, "_given is 2.0"),
        (("_numbers",), np.arange(40) + 1, "_numbers reaches from 1 to 40, beyond 0 to 39"),
        (("recall_",), -0.5, "recall_ is -0.5, not a number from 0"),
        (("far_",), np.zeros((40, 2), np.float32), "far_ has 2 columns, not 16"),
    ],
)
def test_files_with_other_numbers_of_rows(way, value, message, tmp_path):
    index = DescentIndex(Minkowski()).fit(vectors(40)).remove([3, 4])
    fuzz_fields.write(fuzz_fields.put(index, way, value), tmp_path / "a.index")
    with pytest.raises(ModelFileError, match=message):
        Index.load(tmp_path / "a.index")
