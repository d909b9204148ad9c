"""The index by hashing: the contract of indexes, the recall that was wanted, and its tables."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import cases
from mercer import LSHIndex
from mercer.distances import (
    Cosine,
    Edit,
    Jaccard,
    Mahalanobis,
    MappedMinkowski,
    Match,
    Minkowski,
)
from mercer.search import BruteForce, families, fit_index, lsh
from mercer.testing import check_index


def vectors(n=150, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(1)
    X[3] = 0
    X[5] = X[4]
    X[7] = 0
    return X


def bits(n=200, d=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, d))
    X[n // 2 :] = X[: n // 2] ^ (rng.random((n // 2, d)) < 0.1)
    return X


SAMPLES = [
    (Minkowski(), vectors()),
    (Minkowski(weights=[1, 2, 0, 3, 1, 1]), vectors()),
    (Minkowski(1, weights=[1, 2, 0, 3, 1, 1]), vectors()),
    (Minkowski(0), vectors().round()),
    (Minkowski(0, weights=[1, 2, 0, 3, 1, 1]), vectors().round()),
    (Minkowski(), sp.csr_array(vectors())),
    (Mahalanobis(), vectors() @ np.diag([1, 10, 100, 1, 1, 1])),
    (MappedMinkowski([[1, 0, 1, 0, 0, 0], [0, 2, 0, 0, 0, 1.0]]), vectors()),
    (MappedMinkowski([1, 0, 1, 0, 0, 3], p=1), vectors()),
    (Cosine(), vectors()),
    (Match(), vectors().round().astype(int).astype(str)),
    (Match([0, 0, 1, 2, 1, 1]), vectors().round().astype(int).astype(str)),
    (Jaccard(), bits(d=20)),
    (Jaccard(), [{*"abcd"}, {*"abce"}, set(), {*"xyz"}, set(), {*"abcd"}]),
]


@pytest.mark.spread(3)
@pytest.mark.parametrize("case", SAMPLES, ids=cases.name)
def test_the_contract_of_indexes(case):
    distance, X = case
    X = X[:60]
    Z = X[::-3] if not isinstance(X, list) else X[::-1]
    check_index(lambda d: LSHIndex(d, n_jobs=2), distance, X, Z)
    check_index(lambda d: LSHIndex(d, near=1e-3, recall=0.5), distance, X, Z)
    check_index(lambda d: LSHIndex(d, n_tables=3, n_hashes=2), distance, X, Z)


@pytest.mark.parametrize("case", SAMPLES[:10], ids=cases.name)
def test_float32(case):
    distance, X = case
    index = LSHIndex(distance).fit(X.astype(np.float32))
    distances, _ = index.query(k=2)
    assert distances.dtype == np.float32
    assert index.query(X, k=2)[0].dtype == np.float64
    wanted = BruteForce(distance).fit(X).query(X.astype(np.float32), k=1)[0]
    found = index.query(X, k=1)[0]
    assert_allclose(found[np.isfinite(found)], wanted[np.isfinite(found)], atol=2e-3)


def planted(distance, near, rng):
    """Pairs at the distance ``near``, among 1,500 rows that are farther from one another."""
    n, d = 1500, 40
    if isinstance(distance, Jaccard):
        size, shared = 40, round(80 * (1 - near) / (2 - near))
        items = rng.permutation(10**6)[: n * (2 * size - shared)].reshape(n, -1).tolist()
        return [set(s[:size]) for s in items], [set(s[size - shared :]) for s in items]
    if isinstance(distance, (Match, Minkowski)) and getattr(distance, "p", 0) == 0:
        X = rng.integers(0, 9, (n, d))
        Z = X.copy()
        places = np.argsort(rng.random((n, d)), axis=1)[:, : int(near)]
        np.put_along_axis(Z, places, np.take_along_axis(Z, places, 1) + 9, 1)
        return X.astype(float), Z.astype(float)
    X, steps = rng.normal(size=(n, d)), rng.normal(size=(n, d))
    if isinstance(distance, Cosine):
        X /= np.linalg.norm(X, axis=1)[:, None]
        steps -= (steps * X).sum(axis=1)[:, None] * X
        steps /= np.linalg.norm(steps, axis=1)[:, None]
        return X, np.cos(near) * X + np.sin(near) * steps
    steps *= near / np.linalg.norm(steps, distance.p, axis=1)[:, None]
    return X, X + steps


@pytest.mark.spread(4)
@pytest.mark.parametrize("recall", [0.7, 0.95])
@pytest.mark.parametrize(
    ("distance", "near"),
    [(Minkowski(), 2.0), (Minkowski(1), 8.0), (Minkowski(0), 6), (Cosine(), 0.3), (Match(), 6),
     (Jaccard(), 0.4)],
    ids=str,
)  # fmt: skip
def test_pairs_at_the_distance_are_found_as_often_as_wanted(distance, near, recall):
    X, Z = planted(distance, near, np.random.default_rng(5))
    found = []
    for seed in range(4):
        index = LSHIndex(distance, near=near, recall=recall, random_state=seed).fit(X)
        assert index.collision(near) >= recall
        assert index.near_ >= near * (1 - 1e-9)
        _, indices, starts = index.query_radius(Z, near * (1 + 1e-6))
        own = np.repeat(np.arange(len(Z)), np.diff(starts)) == indices
        found.append(own.sum() / len(Z))
    exact = float(np.mean(index.collision(near)))
    # the functions are the same for all pairs, so that the mean over four draws varies; and of
    # Cauchy's more are drawn than the formula asks for
    assert abs(np.mean(found) - exact) < 0.04 or getattr(distance, "p", 0) == 1
    assert np.mean(found) > recall - 0.02
    assert index.share_ < 0.5


def test_the_neighbours_of_a_sample_are_found_on_average():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 1)) * rng.normal(size=(40, 30))[rng.integers(0, 40, 3000)]
    X += 0.1 * rng.normal(size=X.shape)
    brute = BruteForce(Minkowski()).fit(X).query(k=10)[1]
    index = LSHIndex(Minkowski(), recall=0.9).fit(X)
    found = index.query(k=10)[1]
    recall = np.mean([np.isin(b, f).mean() for b, f in zip(brute, found)])
    assert recall > 0.88
    assert index.share_ < 0.3


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("distance", [Minkowski(), Jaccard()], ids=str)
def test_few_neighbours_are_found_as_often_as_many(distance, k):
    """Each row is at distance 0 to itself, and finds itself: that does not count."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.integers(0, 999, (100, 12)), 8, axis=0)
    if isinstance(distance, Jaccard):
        X = [set(row) for row in np.where(rng.random(rows.shape) < 0.2, -rows, rows).tolist()]
    else:
        X = rows + rng.normal(size=rows.shape)
    exact = BruteForce(distance).fit(X).query(k=k)[0]
    found = []
    for seed in range(4):
        index = LSHIndex(distance, recall=0.7, n_neighbors=k, random_state=seed).fit(X)
        found.append((index.query(k=k)[0] <= exact + 1e-9).mean())
    assert np.mean(found) > 0.65


def test_the_answers_are_those_of_the_pairs_that_share_a_key():
    X, Z = np.rint(10 * vectors(400)), np.rint(10 * vectors(90, seed=1))
    index = LSHIndex(Minkowski(1), near=12).fit(X)
    old, new = index.keys(X), index.keys(Z)
    shared = (old[:, None, :] == new[:, :, None]).any(axis=0)
    D = np.where(shared, Minkowski(1)(Z, X), np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :5]
    distances, indices = index.query(Z, k=5)
    nearest = np.take_along_axis(D, order, 1)
    assert_allclose(distances, nearest, atol=1e-12)
    assert_array_equal(indices, np.where(np.isfinite(nearest), order, -1))
    assert abs(shared.mean() - index.share_) < 0.1
    assert index.most_candidates(new).sum() >= shared.sum()


def test_threads_pieces_and_orders_change_nothing(monkeypatch):
    X = vectors(3000)
    runs = [LSHIndex(Minkowski(), near=0.5, n_jobs=jobs).fit(X) for jobs in (1, 2, 4)]
    first = runs[0].query(k=4) + runs[0].query_radius(radius=0.5)
    monkeypatch.setattr(lsh, "LEAST", 50)
    runs.append(LSHIndex(Minkowski(), near=0.5, memory="40MB").fit(X))
    monkeypatch.setattr(lsh, "refuse_beyond", lambda *_: None)
    runs[-1].memory = 1000  # pieces of one query
    for run in runs[1:]:
        for a, b in zip(first, run.query(k=4) + run.query_radius(radius=0.5)):
            assert_array_equal(a, b)


def test_rows_that_are_all_equal_and_single_rows():
    X = np.ones((30, 3))
    for distance in (Minkowski(), Minkowski(1), Minkowski(0), Cosine(), Jaccard()):
        distances, indices = LSHIndex(distance).fit(X).query(k=2)
        assert_allclose(distances, 0, atol=1e-7)
        assert indices[5].tolist() == [0, 1]
        one = LSHIndex(distance).fit(X[:1])
        assert one.query(X[:2], k=1)[1].tolist() == [[0], [0]]
        assert LSHIndex(distance, near=0.1).fit(X[:1]).query_radius(X[:1], 0.1)[1].tolist() == [0]


def test_the_cheapest_reach_the_recall():
    """The least number of tables for each number of hashes, by the formula."""
    costs = families.QueryCosts(1.0, 50.0, 4.0, 20.0, 10_000)
    near, far = np.array([0.1]), np.linspace(0.3, 1, 500)
    plan = families.cheapest(lambda d: 1 - d, near, far, 0.95, costs, 1000)
    p = 0.9**plan.n_hashes
    assert 1 - (1 - p) ** plan.n_tables >= 0.95 > 1 - (1 - p) ** (plan.n_tables - 1)
    dear = costs._replace(pair=1e5)
    longer = families.cheapest(lambda d: 1 - d, near, far, 0.95, dear, 1000)
    assert longer.n_hashes > plan.n_hashes
    assert families.cheapest(lambda d: 1 - d, near, far, 0.95, dear, 2).n_tables <= 2
    assert families.cheapest(lambda d: 0 * d, near, far, 0.95, costs, 1000) is None
    assert_allclose(families.s_curve([0, 1e-9, 0.5, 1], 2, 3), [0, 3e-18, 1 - 0.75**3, 1])


def test_by_its_name():
    index, name = fit_index(vectors(), Minkowski(), "lsh")
    assert name == "lsh"
    index, name = fit_index(vectors(), Minkowski(), LSHIndex(Cosine(), near=2.0))
    assert name == "LSHIndex"
    assert index.near == 2.0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"near": 0}, ValueError, "near=0: give a number > 0, or None"),
        ({"near": np.nan}, ValueError, "near=nan"),
        ({"near": "1"}, ValueError, "near='1'"),
        ({"recall": 1}, ValueError, "recall=1: give a number between 0 and 1"),
        ({"recall": 95}, ValueError, "recall=95"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors=0"),
        ({"n_tables": 3}, ValueError, "n_tables=3 and n_hashes=None: give both or none"),
        ({"n_tables": 0, "n_hashes": 1}, ValueError, "n_tables=0: give an integer >= 1"),
        ({"n_tables": 2, "n_hashes": 1.5}, ValueError, r"n_hashes=1\.5"),
        ({"memory": 100}, MemoryError, "too small for 1 hash tables of 150 rows, .* give memory="),
        ({"n_tables": 9, "n_hashes": 2, "memory": 30_000}, MemoryError, "too small for 9"),
    ],
)
def test_bad_parameters_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        LSHIndex(Minkowski(), **options).fit(vectors())


def test_distances_without_a_family_are_refused():
    for distance, X in ((Edit(), ["a", "b"]), (Minkowski(3), vectors())):
        with pytest.raises(TypeError, match=r"LSHIndex has no hash functions for .*BruteForce"):
            LSHIndex(distance).fit(X)
    with pytest.raises(ValueError, match=r"cannot find pairs at the distance 1 with recall=0\.95"):
        LSHIndex(Jaccard(), near=1).fit([{1}, {2}])
    with pytest.raises(ValueError, match="weights has shape"):
        LSHIndex(Match([1.0]), near=1).fit([["a", "b"], ["a", "c"]])


def test_damaged_tables_are_refused():
    """A file may hold anything: what native loops read is checked."""
    index = LSHIndex(Minkowski(), n_tables=2, n_hashes=1).fit(vectors())
    index.ids_ = index.ids_ - 1000
    with pytest.raises(ValueError, match="the hash tables are damaged"):
        index.query(k=1)
    index = LSHIndex(Minkowski(), near=0.1, n_tables=2, n_hashes=3).fit(vectors())
    index.starts_ = index.starts_[:, ::-1].copy()
    with pytest.raises(ValueError, match="the hash tables are damaged"):
        index.query(k=1)
