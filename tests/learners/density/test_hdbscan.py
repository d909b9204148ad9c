"""`HDBSCAN` beside its definition by all pairs, and beside scikit-learn's where nothing ties."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist
from sklearn.cluster import HDBSCAN as Theirs
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import HDBSCAN, NearestNeighbors
from mercer.distances import DTW, Edit, Jaccard, Minkowski
from mercer.kernels import RBF
from mercer.search import NeighbourGraph, reachability_tree

rng = np.random.default_rng(0)
BLOBS = np.vstack([rng.normal(c, s, (25, 2)) for c, s in ((0, 1), (5, 0.3), (9, 1.5))])
#: rows in which nothing, much and everything ties
DATA = {
    "normal": BLOBS,
    "rounded": np.round(BLOBS),
    "rounded less": np.round(BLOBS, 1),
    "copies": BLOBS[rng.integers(0, 20, 70)],
    "even": np.linspace(0, 1, 40)[:, None],
    "equal": np.full((12, 2), 3.0),
    "wide": np.repeat(BLOBS, 8, axis=1) + rng.normal(size=(75, 16)),
}
OPTIONS = [
    {},
    {"min_samples": 1},
    {"min_samples": 3, "cluster_selection_method": "leaf"},
    {"min_cluster_size": 3, "allow_single_cluster": True},
    {"min_cluster_size": 2, "max_cluster_size": 20, "min_samples": 4},
]


class Definition:
    """Campello et al.: which rows are connected at each height, by all pairs."""

    def __init__(self, D, min_cluster_size=5, min_samples=None, **choice):
        self.D, self.least, self.k = D, min_cluster_size, min_samples or min_cluster_size
        n = len(D)
        self.core = np.sort(D, axis=1)[:, min(self.k, n) - 1]
        self.reach = np.maximum(np.maximum(D, self.core[:, None]), self.core)
        self.home, self.fell = np.zeros(n, int), np.zeros(n)
        self.above, self.birth, self.rows = [-1], [0.0], [np.arange(n)]
        self.descend(np.arange(n), 0)
        self.choose(**choice)

    def descend(self, rows, cluster):
        """Take away the edges of the largest height, again and again."""
        while len(rows) > 1:
            R = self.reach[np.ix_(rows, rows)]
            values, ranks = np.unique(R, return_inverse=True)
            tree = minimum_spanning_tree(ranks.reshape(R.shape) + 1)  # whose least edge is not 0
            h = values[int(tree.max()) - 1]
            shorter = (h * (1 - 1e-12) > R).astype(int)
            part = connected_components(sp.csr_array(shorter))[1]
            parts = [rows[part == p] for p in range(part.max() + 1)]
            large = [p for p in parts if len(p) >= self.least]
            with np.errstate(divide="ignore"):
                density = 1 / np.float64(h)
            for p in parts:
                if len(p) < self.least:
                    self.home[p], self.fell[p] = cluster, density
            if len(large) != 1:
                for p in large:
                    self.above.append(cluster)
                    self.birth.append(density)
                    self.rows.append(p)
                    self.descend(p, len(self.above) - 1)
                return
            rows = large[0]

    def choose(
        self, cluster_selection_method="eom", allow_single_cluster=False, max_cluster_size=None
    ):
        count, n = len(self.above), len(self.home)
        inside = [[c for c in range(count) if self.above[c] == p] for p in range(count)]
        stays = [
            np.minimum(self.fell, self.birth[inside[c][0]] if inside[c] else np.inf)
            for c in range(count)
        ]
        mass = [(stays[c][self.rows[c]] - self.birth[c]).sum() for c in range(count)]

        def best(c):
            below = [best(i) for i in inside[c]]
            value, chosen = sum(v for v, _ in below), [x for _, found in below for x in found]
            own = (
                not inside[c]
                if cluster_selection_method == "leaf"
                else (
                    mass[c] >= value * (1 - 1e-12) and len(self.rows[c]) <= (max_cluster_size or n)
                )
            )
            if own and (c or (allow_single_cluster and n >= self.least)):
                return mass[c], [c]
            return value, chosen

        self.chosen = best(0)[1]
        longest = self.fell[np.isfinite(self.fell)].max(initial=0.0)
        self.persistence = {}
        for c in self.chosen:
            whole = len(self.rows[c]) * longest
            self.persistence[c] = mass[c] / whole if mass[c] < whole else 1.0
        self.death = [max(self.fell[r] for r in self.rows[c]) for c in range(count)]
        self.most = [stays[c][self.rows[c]].max() for c in range(count)]
        self.probabilities, self.member = np.zeros(n), np.full(n, -1)
        for c in self.chosen:
            for r in self.rows[c]:
                self.member[r], self.probabilities[r] = self.answer(self.home[r], self.fell[r])
        with np.errstate(invalid="ignore"):
            death = np.array(self.death)[self.home]
            self.outliers = np.where(self.fell == death, 0, 1 - self.fell / death)

    def answer(self, home, fell):
        """The cluster that is taken, and the probability."""
        while home not in self.chosen:
            if home == 0:
                return -1, 0.0
            home = self.above[home]
        if home == 0 and fell < self.most[0] * (1 - 1e-12):
            return -1, 0.0
        return home, 1.0 if fell >= self.most[home] else fell / self.most[home]

    def predict(self, far):
        """The answer for a new sample with these distances to all rows."""
        core = np.sort(far)[self.k - 2] if self.k > 1 else 0
        reach = np.maximum(np.maximum(far, core), self.core)
        near = np.flatnonzero(reach <= reach.min() * (1 + 1e-12))
        row = near[self.fell[near].argmax()]
        with np.errstate(divide="ignore"):
            fell, home = min(1 / reach.min(), self.fell[row]), self.home[row]
        while home and self.birth[home] >= fell * (1 - 1e-12):
            home = self.above[home]
        return self.answer(home, fell)


def same_parts(found, wanted):
    assert adjusted_rand_score(found, wanted) == 1
    assert_array_equal(found == -1, np.asarray(wanted) == -1)


@parametrize_with_checks([HDBSCAN(), HDBSCAN(3, allow_single_cluster=True)])
def test_contract(estimator, check):
    check(estimator)


@pytest.mark.spread(12)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", DATA)
def test_everything_is_as_defined(name, options):
    X = DATA[name]
    D = cdist(X, X)
    model, wanted = HDBSCAN(**options).fit(X), Definition(D, **options)
    given = HDBSCAN(metric="precomputed", **options).fit(D)
    for each in (model, given):
        same_parts(each.labels_, wanted.member)
        assert_allclose(each.probabilities_, wanted.probabilities, rtol=1e-9)
        assert_allclose(each.outlier_scores_, wanted.outliers, rtol=1e-9, atol=1e-9)
    sizes = np.bincount(model.labels_[model.labels_ >= 0])
    assert (np.diff(sizes) <= 0).all()
    Z = X[::3] + rng.normal(0, 0.1, X[::3].shape)
    labels, probabilities = model.approximate_predict(Z)
    answers = [wanted.predict(far) for far in cdist(Z, X)]
    names = {-1: -1} | dict(
        zip(wanted.member[model.labels_ >= 0], model.labels_[model.labels_ >= 0])
    )
    lasts = {names[c]: share for c, share in wanted.persistence.items() if c in names}
    assert_allclose(model.persistence_, [lasts[c] for c in range(len(sizes))], rtol=1e-9)
    assert_array_equal(labels, [names[c] for c, _ in answers])
    assert_allclose(probabilities, [p for _, p in answers], rtol=1e-9)
    tree = model.condensed_tree_
    assert_array_equal(np.sort(tree["child"][tree["child"] < len(X)]), np.arange(len(X)))
    assert tree["child_size"][tree["child"] > len(X)].sum() == sum(map(len, wanted.rows[1:]))


@pytest.mark.parametrize(("columns", "algorithm"), [(2, "kd_tree"), (2, "brute"), (20, "kd_tree")])
def test_the_tree_has_the_least_weight(columns, algorithm):
    X = make_blobs(900, columns, centers=6, random_state=0)[0]
    D = cdist(X, X)
    core = np.sort(D, axis=1)[:, 4]
    least = minimum_spanning_tree(np.maximum(np.maximum(D, core[:, None]), core)).sum()
    model = NearestNeighbors(algorithm=algorithm).fit(X)
    near, ids = model.index_.query(None, 15)
    _, _, lengths = reachability_tree(model.index_, model.X_fit_, near[:, 3], near, ids)
    assert (np.diff(lengths) >= 0).all()
    assert_allclose(lengths.sum(), least, rtol=1e-9)


@pytest.mark.parametrize("name", DATA)
def test_the_order_of_rows_and_threads_change_nothing(name):
    X = DATA[name]
    model = HDBSCAN(3).fit(X)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(X))
        other = HDBSCAN(3, n_jobs=1 + seed).fit(X[order])
        same_parts(other.labels_, model.labels_[order])
        assert_array_equal(other.probabilities_, model.probabilities_[order])
        assert_allclose(np.sort(other.persistence_), np.sort(model.persistence_), rtol=1e-12)
        assert_array_equal(other.outlier_scores_, model.outlier_scores_[order])


def test_labels_are_those_of_scikit_learn_where_nothing_ties():
    for X in (make_moons(300, noise=0.1, random_state=0)[0], make_blobs(400, 9, random_state=1)[0]):
        for options in (
            {"min_samples": 1},
            {"min_samples": 1, "cluster_selection_method": "leaf", "min_cluster_size": 10},
            {"min_samples": 1, "allow_single_cluster": True},
            {"min_samples": 1, "cluster_selection_epsilon": 0.2, "allow_single_cluster": True},
        ):
            theirs, ours = Theirs(copy=True, **options).fit(X), HDBSCAN(**options).fit(X)
            same_parts(ours.labels_, theirs.labels_)
            assert_allclose(ours.probabilities_, theirs.probabilities_, atol=1e-12)


def test_precisions_metrics_and_known_neighbours():
    X = BLOBS.astype(np.float32)
    assert_array_equal(HDBSCAN().fit(X).labels_, HDBSCAN().fit(X.astype(float)).labels_)
    for p in (1, np.inf, 0.5):
        found = HDBSCAN(metric=Minkowski(p)).fit(BLOBS)
        same_parts(found.labels_, Definition(Minkowski(p)(BLOBS)).member)
    graph = NearestNeighbors(n_neighbors=30).fit(BLOBS).kneighbors_graph(mode="distance")
    known = HDBSCAN(metric="precomputed").fit(graph)
    assert known.algorithm_ == "known"
    same_parts(known.labels_, HDBSCAN().fit(BLOBS).labels_)
    apart = sp.block_diag([graph[:40, :40], graph[:40, :40]], format="csr")
    few = HDBSCAN(3, 1, metric="precomputed").fit(apart)
    assert few.labels_.max() >= 1


def test_any_samples():
    names = ["anna", "anne", "hanna", "peter", "petra", "pete"] * 5 + ["xyzw"]
    series = [np.sin(np.arange(20 + i % 4) / (1 + i % 2)) + 0.01 * i for i in range(24)]
    baskets = [{i % 2, 2 + i % 2, 10 + i % 5} for i in range(24)]
    for metric, X in ((Edit(), names), (DTW(), series), (Jaccard(), baskets), (RBF(), BLOBS)):
        model = HDBSCAN(4, 3, metric=metric).fit(X)
        wanted = Definition(model.distance_(X), 4, 3)
        same_parts(model.labels_, wanted.member)
        assert_allclose(model.probabilities_, wanted.probabilities, rtol=1e-6)
        labels, _ = model.approximate_predict(X[:5])
        assert labels.shape == (5,)


def test_few_rows_and_saved_models(tmp_path):
    for n in (1, 2, 3):
        model = HDBSCAN(2).fit(BLOBS[:n]) if n > 1 else HDBSCAN().fit(BLOBS[:1])
        assert_array_equal(model.labels_, -1)
        assert_array_equal(model.approximate_predict(BLOBS[:1])[0], -1)
    assert_array_equal(HDBSCAN(3, allow_single_cluster=True).fit(BLOBS[:3]).labels_, 0)
    model = HDBSCAN().fit(BLOBS)
    mercer.save(model, tmp_path / "model")
    same = mercer.load(tmp_path / "model")
    for each, other in zip(same.approximate_predict(BLOBS), model.approximate_predict(BLOBS)):
        assert_array_equal(each, other)
    assert_array_equal(same.condensed_tree_, model.condensed_tree_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_cluster_size": 1}, "min_cluster_size=1: give an integer >= 2"),
        ({"min_samples": 90}, "min_samples=90 must be at most"),
        ({"min_samples": 0}, "min_samples"),
        ({"cluster_selection_method": "best"}, 'give "eom" or "leaf"'),
        ({"cluster_selection_epsilon": -1}, "give a number >= 0"),
        ({"allow_single_cluster": 2}, "allow_single_cluster"),
        ({"max_cluster_size": 0}, "max_cluster_size"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        HDBSCAN(**options).fit(BLOBS)


@pytest.mark.parametrize("window", [None, 0.1])
@pytest.mark.parametrize("least", [2, 6])
def test_bounds_of_series_change_no_cluster_and_leave_pairs_out(window, least):
    rng = np.random.default_rng(0)
    base = 3 * rng.normal(size=(5, 40)).cumsum(axis=1)
    series = base[np.arange(90) % 5] + 0.5 * rng.normal(size=(90, 40)).cumsum(axis=1)
    asked = []

    class Counted(DTW):
        """Counts the pairs that are compared."""

        def of_pairs(self, X, Z, pairs, limits):
            asked.append(len(pairs))
            return super().of_pairs(X, Z, pairs, limits)

    distance = Counted(window=window)
    D = DTW(window=window)([*series])
    wanted = HDBSCAN(least, metric="precomputed").fit(D)
    graph: Any = NeighbourGraph(distance, 15).fit([*series])
    asked.clear()
    found = HDBSCAN(least, metric="graph").fit(graph)
    assert_array_equal(found.labels_, wanted.labels_)
    assert_allclose(found.outlier_scores_, wanted.outlier_scores_, atol=1e-9)
    assert_allclose(found.probabilities_, wanted.probabilities_, atol=1e-9)
    assert sum(asked) < 0.9 * 90 * 89 / 2


def test_series_that_no_window_aligns_are_apart_at_every_height():
    rng = np.random.default_rng(0)
    series = [rng.normal(size=10 + 40 * (i % 2)).cumsum() for i in range(40)]
    graph: Any = NeighbourGraph(DTW(window=0.1), 8).fit(series)
    labels = HDBSCAN(5, metric="graph").fit(graph).labels_
    assert not ({*labels[::2]} & {*labels[1::2]}) - {-1}
