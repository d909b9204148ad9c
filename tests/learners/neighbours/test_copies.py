"""Equal rows cost no more than different ones, and distances of 0 divide nothing.

Work is counted, in boxes, rows or comparisons; benchmarks/equal_rows.py measures time.
"""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.distances import Edit, Jaccard, Match, Minkowski
from mercer.samples import copies_of
from mercer.search import BruteForce, KDTree, MetricTree, families
from mercer.search.readings import VectorReading
from mercer.search.vectors import Question, SummedRows

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(1500, 3))
MANY = ROWS[RNG.integers(0, 4, 1500)]  # copies of four rows
HALF = np.where(np.arange(1500)[:, None] % 2, ROWS, ROWS[0])


@pytest.mark.parametrize("X", [MANY, HALF, np.ones((1500, 3))], ids=["four", "half", "one"])
@pytest.mark.parametrize("k", [1, 5, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_trees_have_the_neighbours_of_brute_force(X, k, dtype):
    X, Z = X.astype(dtype), np.concatenate([X[:40], ROWS[:9]]).astype(dtype)
    D = np.sqrt(np.square(Z[:, None].astype(float) - X[None]).sum(axis=2)).astype(dtype)
    order = np.lexsort((np.broadcast_to(np.arange(1500), D.shape), D))[:, :k]
    for Index in (KDTree, BruteForce):
        index = Index(Minkowski()).fit(X)
        distances, indices = index.query(Z, k)
        assert_array_equal(indices, order)
        assert_allclose(distances, np.take_along_axis(D, order, 1), rtol=1e-6)
        assert (index.query(None, k)[1] != np.arange(1500)[:, None]).all()
        starts = index.query_radius(Z, 0.5)[2]
        assert_array_equal(np.diff(starts), (D <= 0.5).sum(axis=1))


@pytest.mark.parametrize("X", [MANY, np.ones((1500, 3))], ids=["four", "one"])
def test_a_box_of_equal_rows_is_visited_once(X):
    tree = KDTree(Minkowski()).fit(X).tree_
    asked = Question(X[:50], np.full(50, -1), True)
    visited = tree.visit(asked, np.empty((50, 5)), np.empty((50, 5), np.int64))
    assert visited <= 50 * 8  # a quarter of the 94 leaves or more before


@pytest.mark.parametrize("among_themselves", [True, False])
@pytest.mark.parametrize("X", [HALF, np.ones((1500, 3))], ids=["half", "one"])
def test_a_tree_compares_one_of_equal_rows(monkeypatch, X, among_themselves):
    compared = []
    real = SummedRows.within

    def within(self, A, B, limit):
        compared.append(A.shape[0] * B.shape[0])
        return real(self, A, B, limit)

    monkeypatch.setattr(SummedRows, "within", within)
    index = MetricTree(Minkowski()).fit(X)
    compared.clear()
    index.query(None if among_themselves else X, 5)
    different = MetricTree(Minkowski()).fit(ROWS)
    here, usual = sum(compared), len(compared)
    different.query(None if among_themselves else ROWS, 5)
    assert here <= 1.5 * sum(compared[usual:])  # 2.5 and 6 times as many before


@pytest.mark.parametrize("X", [HALF, np.ones((1500, 3))], ids=["half", "one"])
def test_hashes_propose_one_of_equal_rows(monkeypatch, X):
    proposed = []
    real = VectorReading.listed

    def listed(self, Z, X, ids, *rest):
        proposed.append(len(ids))
        return real(self, Z, X, ids, *rest)

    monkeypatch.setattr(VectorReading, "listed", listed)
    index = mercer.LSHIndex(Minkowski()).fit(X)
    proposed.clear()
    _, found = index.query(X[::2], 5)
    assert sum(proposed) <= 750 * 375  # equal rows alone were 750 for each query before
    assert_array_equal(
        found, np.broadcast_to(np.flatnonzero((X[0] == X).all(axis=1))[:5], (750, 5))
    )


WORDS = ["".join(letters) for letters in RNG.choice(list("abc"), (200, 4))]
KINDS = {
    "vectors": (Minkowski(1), RNG.integers(0, 3, (200, 3)).astype(float)),
    "strings": (Edit(), WORDS),
    "sets": (Jaccard(), [set(word) for word in WORDS]),
    "categories": (Match(), np.array([list(word) for word in WORDS])),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 3, 60])
def test_copies_of_any_kind_come_in_the_order_of_their_indices(kind, k):
    distance, X = KINDS[kind]
    index = MetricTree(distance).fit(X[:150]).add(X[150:])
    assert index._copies is not None
    D = distance(X)
    for Z, rows in ((None, range(200)), (X[7:9], (7, 8))):
        wanted = D[list(rows)].copy()
        if Z is None:
            np.fill_diagonal(wanted, np.inf)
        distances, indices = index.query(Z, k)
        order = np.lexsort((np.broadcast_to(np.arange(200), wanted.shape), wanted))[:, :k]
        assert_array_equal(indices, order)
        assert_array_equal(distances, np.take_along_axis(wanted, order, 1))
        distances, indices, starts = index.query_radius(Z, 0.5)
        assert_array_equal(indices, np.nonzero(wanted <= 0.5)[1])
        assert_array_equal(distances, wanted[wanted <= 0.5])
        assert_array_equal(np.diff(starts), (wanted <= 0.5).sum(axis=1))


def test_copies_stay_in_files_and_are_told_by_all_of_a_sample(tmp_path):
    index = MetricTree(Edit()).fit(WORDS)
    index.save(tmp_path / "words.index")
    for mine, read in zip(index.query(k=9), MetricTree.load(tmp_path / "words.index").query(k=9)):
        assert_array_equal(mine, read)
    assert_array_equal(copies_of(np.array([[0.0], [1.0], [-0.0], [1.0]])), [0, 1, 0, 1])
    assert copies_of(ROWS) is None
    assert copies_of(np.append(ROWS, ROWS[:9], axis=0)) is None  # few


def test_an_index_that_is_not_arranged_anew_keeps_its_rows(monkeypatch):
    index = MetricTree(Edit()).fit(WORDS)
    before = index.query(k=9)
    monkeypatch.setattr(MetricTree, "_rounding", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        index.add(["abcabc"] * 3)
    assert len(index._copies) == 200
    assert len(index.query(k=9)[0]) == len(before[0])


@pytest.mark.parametrize("weights", ["uniform", "distance", "gaussian"])
@pytest.mark.parametrize("sample_weight", [None, np.arange(1500.0) % 3])
@pytest.mark.parametrize("X", [MANY, HALF], ids=["four", "half"])
def test_rows_within_a_radius_are_compared_once(weights, sample_weight, X):
    y = np.arange(1500) % 3
    for Learner, ask in (
        (mercer.RadiusNeighborsClassifier, "predict_proba"),
        (mercer.RadiusNeighborsRegressor, "predict"),
    ):
        model = Learner(2.5, weights=weights).fit(X, y, sample_weight)
        found = getattr(model, ask)(X[:200])
        assert model._index_of_groups.n_samples_fit_ == len(np.unique(model.X_fit_, axis=0))
        model._groups, model._index_of_groups = None, model.index_  # all pairs
        wanted = model._sums_in_parts(model.encode_new(X[:200]))
        if ask == "predict_proba":
            wanted = wanted / wanted.sum(axis=1, keepdims=True)
            assert_allclose(found, wanted, atol=1e-12)
        else:
            assert_allclose(found, model._targets.like_given(wanted), atol=1e-12)


def test_copies_of_prototypes_are_chosen_at_once(monkeypatch):
    compared = []
    real = Minkowski.block
    monkeypatch.setattr(Minkowski, "block", lambda *args: compared.append(1) or real(*args))
    y = np.arange(1500) % 2
    model = mercer.Stolp(1, outlier_margin=-1).fit(np.ones((1500, 3)), y)
    assert len(model.indices_) == 1500
    assert_allclose(model.errors_, np.arange(1499)[::-1] / 1500)
    assert len(compared) < 20
    some = mercer.Stolp(1, outlier_margin=-1, max_error=0.5).fit(np.ones((1500, 3)), y)
    assert len(some.indices_) == 750
    assert some.errors_[-1] <= 0.5 < some.errors_[-2]


def test_components_of_equal_rows_are_not_iterated_for():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        mercer.KernelPCA(3, kernel="rbf", gamma=0.1).fit(np.full((600, 3), 1.3))
    assert ["same features" in str(warning.message) for warning in found] == [True]


@pytest.mark.parametrize("gap", [0.0, 5e-324, 1e-200, 1e-170, 1e-9])
@pytest.mark.parametrize("algorithm", ["brute", "kd_tree", "metric_tree"])
def test_weights_by_distance_of_rows_that_are_hit(gap, algorithm):
    """The rows that are hit decide; rows at a distance above 0 count by its reciprocal."""
    X = np.array([[0.0], [0.0], [gap], [2 * gap], [1.0], [2.0]])
    y = np.array([1.0, 3.0, 5.0, 7.0, 100.0, 100.0])
    options = {"weights": "distance", "algorithm": algorithm}
    for model in (
        mercer.KNeighborsRegressor(4, **options), mercer.RadiusNeighborsRegressor(0.5, **options),
        mercer.KNeighborsRegressor(4, **{**options, "weights": lambda d: 1 / d}),
    ):  # fmt: skip
        found = model.fit(X, y).predict([[0.0], [1.0], [-gap]])
        # squares of smaller distances are 0, so that the rows are not told from equal ones
        told = gap > 1e-160
        near = (1 + 3 + 5 / 2 + 7 / 3) / (2 + 1 / 2 + 1 / 3)
        assert_allclose(found, [2, 100, near] if told else [4, 100, 4], rtol=1e-9)


@pytest.mark.parametrize("gap", [5e-324, 1e-200, 1e-170, 1e-20])
def test_a_density_does_not_tell_what_distances_do_not_resolve(gap):
    rows = np.concatenate([np.zeros((30, 1)), gap * np.arange(9)[:, None], ROWS[:50, :1], [[9.0]]])
    model = mercer.LocalOutlierFactor(5, novelty=True).fit(rows)
    assert_allclose(model.negative_outlier_factor_[:39], -1)
    assert model.negative_outlier_factor_.argmin() == len(rows) - 1
    assert model.score_samples([[gap / 2]]) == pytest.approx(-1)


def test_hashes_of_equal_rows_are_not_chosen_for_long(monkeypatch):
    tried = []
    real = families.s_curve
    monkeypatch.setattr(families, "s_curve", lambda *args: tried.append(1) or real(*args))
    costs = families.QueryCosts(1.0, 1.0, 1.0, 1.0, 1000)
    plan = families.cheapest(lambda d: np.exp(-d), np.zeros(9), np.zeros(9), 0.9, costs, 1000)
    assert plan[:2] == (1, 1)
    assert len(tried) < 5
