"""Rows that are added to an index are found as if they had been there from the start."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import cases
from mercer.distances import Edit, Jaccard, Mahalanobis, Minkowski
from mercer.samples import Objects
from mercer.search import BruteForce, Index, KDTree, MetricTree

LEARNS = ("SmoothedMatch", "LogFrequency")  # frequencies, which `append` leaves as they are


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
        assert index.append(part(samples, slice(3, 5))) is index
        index.append(part(samples, slice(5, None)))
        assert index.n_samples_fit_ == whole.n_samples_fit_ == len(samples)
        for a, b in zip(answers(index, samples), answers(whole, samples), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-7)


def test_the_distance_stays_as_it_was(tmp_path):
    rng = np.random.default_rng(0)
    X, more = rng.normal(size=(40, 3)), 9 * rng.normal(size=(60, 3))
    for make in (BruteForce, KDTree, MetricTree):
        index = make(Mahalanobis()).fit(X)
        learnt = index.distance_.covariance
        index.append(more)
        assert index.distance_.covariance is learnt
        index.save(tmp_path / "index")
        loaded = Index.load(tmp_path / "index").append(X)  # to what lies in a file
        assert loaded.n_samples_fit_ == 140
        distances, indices = loaded.query(more, 1)
        assert_array_equal(indices[:, 0], np.arange(40, 100))
        assert distances.max() < 1e-6


def test_new_symbols_and_items():
    index = BruteForce(Edit()).fit(["ab"]).append(["cd", "é"]).append(["ée"])
    assert index.query(["éx"], 4)[1].tolist() == [[2, 3, 0, 1]]
    index = MetricTree(Jaccard()).fit([{"a"}]).append([{"b", "c"}]).append([{"c"}])
    assert index.query([{"c", "b"}], 3)[1].tolist() == [[1, 2, 0]]


def test_the_precision_is_that_of_the_first_rows():
    X = np.random.default_rng(1).normal(size=(30, 2))
    for make in (BruteForce, KDTree, MetricTree):
        index = make(Minkowski(1)).fit(X.astype(np.float32)).append(X)
        assert index.query(X.astype(np.float32), 2)[0].dtype == np.float32
        assert_array_equal(index.query(X.astype(np.float32), 1)[1][:, 0], np.arange(30))


def test_sparse_rows():
    X = sp.random_array((40, 9), density=0.3, format="csr", rng=np.random.default_rng(2))
    for make in (BruteForce, KDTree):
        for A, B in ((X[:30], X[30:]), (X[:30].toarray(), X[30:]), (X[:30], X[30:].toarray())):
            index = make(Minkowski()).fit(A).append(B)
            assert_array_equal(index.query(X.toarray(), 1)[0] < 1e-6, True)


def test_wrong_rows_are_refused_and_nothing_is_added():
    index = KDTree(Minkowski()).fit([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(ValueError, match="X has 1 columns"):
        index.append([[1.0]])
    with pytest.raises(ValueError, match="NaN"):
        index.append([[1.0, np.nan]])
    assert index.n_samples_fit_ == 2
    assert index.query([[3.0, 4.0]], 2)[1].tolist() == [[1, 0]]
    with pytest.raises(ValueError, match="not fitted"):
        KDTree(Minkowski()).append([[1.0]])
    assert not isinstance(index._training.X, Objects)
