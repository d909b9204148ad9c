"""`NearestNeighbors` beside scikit-learn's, and on every kind of sample."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.neighbors
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import canberra, cdist
from sklearn.metrics.pairwise import cosine_distances, distance_metrics
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    LocalOutlierFactor,
    NearestNeighbors,
    Stolp,
)
from mercer.distances import (
    Binary,
    Edit,
    Jaccard,
    JaroWinkler,
    Mahalanobis,
    Match,
    Minkowski,
    Mixed,
)
from mercer.kernels import RBF, Spectrum
from mercer.learners.base.distance_learner import as_distance

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(60, 4)), RNG.normal(size=(17, 4))


@pytest.mark.filterwarnings("ignore:n_neighbors|Duplicate values:UserWarning")  # tiny samples
@parametrize_with_checks(
    [
        NearestNeighbors(),
        KNeighborsClassifier(),
        KNeighborsClassifier(weights="rank"),
        KNeighborsRegressor(),
        KNeighborsRegressor(3, weights="rank"),
        KNeighborsRegressor(None, weights="gaussian", width=1.0),
        LocalOutlierFactor(5),
        LocalOutlierFactor(5, novelty=True),
        Stolp(),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("minkowski", {}),
        ("minkowski", {"p": 1}),
        ("minkowski", {"p": 3, "metric_params": {"w": [1.0, 0.0, 2.0, 0.5]}}),
        ("euclidean", {}),
        ("manhattan", {}),
        ("chebyshev", {}),
        ("cosine", {}),
        ("sqeuclidean", {}),
        ("nan_euclidean", {}),
        ("correlation", {}),
        ("correlation", {"metric_params": {"w": [1.0, 0.1, 2.0, 0.5]}}),
        ("canberra", {}),
        ("braycurtis", {}),
        ("seuclidean", {"metric_params": {"V": [1.0, 4.0, 0.5, 2.0]}}),
        ("mahalanobis", {"metric_params": {"VI": np.diag([1.0, 4.0, 0.5, 2.0]) + 0.1}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_names_mean_what_they_mean_in_scikit_learn(metric, params, dtype):
    A, B = X.astype(dtype), Z.astype(dtype)
    ours = NearestNeighbors(n_neighbors=7, metric=metric, **params).fit(A)
    theirs = sklearn.neighbors.NearestNeighbors(
        n_neighbors=7, metric=metric, algorithm="brute", **params
    ).fit(A)
    tol = 1e-5 if dtype == np.float32 else 1e-10
    for queries in (B, None):
        (D, found), (E, expected) = ours.kneighbors(queries), theirs.kneighbors(queries)
        assert_allclose(D, E, atol=tol)
        assert_array_equal(found, expected)
    assert D.dtype == dtype
    assert ours.effective_metric_ == theirs.effective_metric_
    assert ours.effective_metric_params_.keys() == theirs.effective_metric_params_.keys()
    assert ours.n_samples_fit_ == theirs.n_samples_fit_ == 60
    radius = float(np.median(E))
    for sort in (False, True):
        near, expected = (m.radius_neighbors(B, radius, sort_results=sort) for m in (ours, theirs))
        for d, i, e, j in zip(*near, *expected, strict=True):
            order = np.arange(len(j)) if sort else np.argsort(j)
            assert_array_equal(i, j[order])
            assert_allclose(d, e[order], atol=tol)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "metric",
    ["hamming", "jaccard", "dice", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath",
     "yule"],
)  # fmt: skip
def test_names_for_zeros_and_ones(metric, weighted):
    A, B = RNG.random((40, 9)) < 0.4, RNG.random((8, 9)) < 0.4
    A[:, 0] = B[:, 0] = True  # scipy divides 0 by 0 for rows without a 1
    params = {"w": np.arange(1.0, 10)} if weighted else {}
    ours = NearestNeighbors(n_neighbors=40, metric=metric, metric_params=params).fit(A)
    name = "rogerstanimoto" if metric == "sokalmichener" else metric  # the same, in scipy's words
    expected = np.sort(cdist(B, A, name, **params), axis=1)
    assert_allclose(ours.kneighbors(B)[0], expected, atol=1e-12)
    if not weighted:
        tree = sklearn.neighbors.NearestNeighbors(
            n_neighbors=40, metric=metric, algorithm="brute" if metric == "yule" else "ball_tree"
        )
        assert_allclose(tree.fit(A).kneighbors(B)[0], expected, atol=1e-12)


@pytest.mark.parametrize("metric", ["sqeuclidean", "canberra", "braycurtis", "correlation"])
def test_weights_beside_scipy(metric):
    A, B, w = abs(X), abs(Z), [1.0, 0.3, 2.0, 0.5]
    model = NearestNeighbors(n_neighbors=60, metric=metric, metric_params={"w": w}).fit(A)
    assert_allclose(model.kneighbors(B)[0], np.sort(cdist(B, A, metric, w=w), axis=1), atol=1e-12)


def test_every_name_of_scikit_learn_is_known():
    names = set().union(*sklearn.neighbors.VALID_METRICS.values()) | set(distance_metrics())
    for name in names - {"pyfunc"}:  # that is a function given as metric= itself
        assert as_distance(name, 2, {"V": np.ones(2)} if name == "seuclidean" else None, X)


def test_places_on_the_earth_beside_scikit_learn():
    places = RNG.uniform([-1.5, -3.1], [1.5, 3.1], (300, 2))
    places[1] = places[0] + 1e-7  # less than a metre apart
    ours = NearestNeighbors(n_neighbors=5, metric="haversine").fit(places)
    tree = sklearn.neighbors.NearestNeighbors(n_neighbors=5, metric="haversine").fit(places)
    (D, found), (E, expected) = ours.kneighbors(), tree.kneighbors()
    assert_allclose(D, E, rtol=1e-8)
    assert_array_equal(found, expected)
    by_tree = NearestNeighbors(n_neighbors=5, metric="haversine", algorithm="ball_tree").fit(places)
    assert by_tree.algorithm_ == "metric_tree"
    assert_array_equal(by_tree.kneighbors()[1], expected)
    short = NearestNeighbors(n_neighbors=5, metric="haversine").fit(np.float32(places))
    assert_allclose(short.kneighbors()[0], D, atol=3e-7)
    with pytest.raises(ValueError, match="X has 4 columns: Haversine needs 2, latitude and long"):
        NearestNeighbors(metric="haversine").fit(X)


def test_missing_numbers_beside_scikit_learn():
    A, B = X.copy(), Z.copy()
    A[RNG.random(A.shape) < 0.2] = np.nan
    B[RNG.random(B.shape) < 0.2] = np.nan
    A[:, 0], B[:, 0] = X[:, 0], Z[:, 0]  # one that is known of all
    y = (X[:, 0] > 0).astype(int)
    ours = KNeighborsClassifier(metric="nan_euclidean").fit(A, y)
    theirs = sklearn.neighbors.KNeighborsClassifier(metric="nan_euclidean").fit(A, y)
    (D, found), (E, expected) = ours.kneighbors(B), theirs.kneighbors(B)
    assert_allclose(D, E)
    assert_array_equal(found, expected)
    assert_array_equal(ours.predict(B), theirs.predict(B))
    assert ours.__sklearn_tags__().input_tags.allow_nan
    assert not KNeighborsClassifier().__sklearn_tags__().input_tags.allow_nan


def test_rows_that_share_no_known_number():
    A = np.array([[np.nan, 1.0], [2.0, np.nan], [np.nan, 1.5], [1.0, 1.0]])
    model = NearestNeighbors(n_neighbors=1, metric="nan_euclidean").fit(A)
    assert model.kneighbors()[1].ravel().tolist() == [3, 3, 0, 0]
    with pytest.raises(ValueError, match="too few rows that have a known column in common"):
        model.kneighbors(n_neighbors=3)
    with pytest.raises(ValueError, match="row 1 of X has no known number: leave such rows out"):
        NearestNeighbors(metric="nan_euclidean").fit([[1.0, 2.0], [np.nan, np.nan]])
    with pytest.raises(ValueError, match=r"X is sparse.*X\.toarray"):
        NearestNeighbors(metric="nan_euclidean").fit(sp.csr_array(X))
    with pytest.raises(ValueError, match="infinity"):
        NearestNeighbors(metric="nan_euclidean").fit([[1.0, np.inf], [0.0, np.nan]])


def test_constant_rows_have_no_correlation():
    A = np.array([[4.1, 4.1, 4.1], [1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [0.0, 0.0, 0.0]])
    for scale in (1.0, 1e6):
        D, found = (
            NearestNeighbors(n_neighbors=4, metric="correlation")
            .fit(scale * A)
            .kneighbors([[10.0, 20.0, 30.0]])
        )
        assert_allclose(D, [[0, 1, 1, 2]], atol=1e-12)
        assert found.tolist() == [[1, 0, 3, 2]]


def test_amounts_that_add_up_to_nothing():
    model = NearestNeighbors(n_neighbors=2, metric="braycurtis").fit([[1.0, 2.0], [0.0, 0.0]])
    assert model.kneighbors([[0.0, 0.0]])[0].tolist() == [[0, 1]]
    assert model.kneighbors([[-1.0, -2.0]])[0].tolist() == [[1, 1]]


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
def test_graphs(mode):
    ours = NearestNeighbors(n_neighbors=4, radius=1.2).fit(X)
    theirs = sklearn.neighbors.NearestNeighbors(n_neighbors=4, radius=1.2).fit(X)
    for queries in (None, Z):
        found, expected = (m.kneighbors_graph(queries, mode=mode) for m in (ours, theirs))
        assert_allclose(found.toarray(), expected.toarray(), atol=1e-12)
        found, expected = (m.radius_neighbors_graph(queries, mode=mode) for m in (ours, theirs))
        assert_allclose(found.toarray(), expected.toarray(), atol=1e-12)
        rows = ours.radius_neighbors_graph(queries, mode="distance", sort_results=True)
        assert all((np.diff(rows.data[s:e]) >= 0).all() for s, e in pairwise(rows.indptr))
        assert_allclose(rows.toarray() > 0, expected.toarray() > 0)
    with pytest.raises(ValueError, match=r'mode=.* "connectivity" or "distance"'):
        ours.kneighbors_graph(mode="lengths")


def test_rows_are_not_their_own_neighbours_but_their_duplicates_are():
    A = np.array([[0.0], [0.0], [0.0], [3.0]])
    model = NearestNeighbors(n_neighbors=2).fit(A)
    D, found = model.kneighbors()
    assert_array_equal(found, [[1, 2], [0, 2], [0, 1], [0, 1]])
    assert_array_equal(D[:3], 0)
    _, found = model.kneighbors(A)
    assert_array_equal(found, [[0, 1], [0, 1], [0, 1], [3, 0]])
    near = model.radius_neighbors(radius=0.5, return_distance=False)
    assert [i.tolist() for i in near] == [[1, 2], [0, 2], [0, 1], []]


def test_all_distances_equal_gives_the_rows_of_smallest_index():
    words = ["ab", "cd", "ef", "gh", "ij"]
    D, found = NearestNeighbors(n_neighbors=3, metric=Edit()).fit(words).kneighbors(["xy"])
    assert len(set(D[0])) == 1
    assert_array_equal(found, [[0, 1, 2]])


def test_any_kind_of_sample():
    words, sets = ["anna", "hanna", "otto", "toto"], [{"a", "b"}, {"b", "c"}, {"x"}, {"x", "y"}]
    table = pd.DataFrame({"age": [1.0, 1.5, 9.0, 9.5], "sex": ["f", "m", "f", "m"]})
    gower = Mixed([(Minkowski(1), ["age"]), (Match(), ["sex"])])
    tuples = [(1,), (2,), (8,), (9,)]
    cases = [
        (words, Edit(), ["ott"]),
        (words, Spectrum(2).normalised(), ["ott"]),
        (sets, Jaccard(), [{"x", "z"}]),
        (table, gower, pd.DataFrame({"age": [8.0], "sex": ["f"]})),
        (tuples, lambda a, b: abs(a[0] - b[0]), [(7,)]),
        (np.array([[0.0], [1.0], [5.0], [6.0]]), RBF(0.1), [[4.9]]),
        (sp.csr_array([[0.0], [1.0], [5.0], [6.0]]), "manhattan", [[4.9]]),
    ]
    for samples, metric, new in cases:
        model = NearestNeighbors(n_neighbors=2, metric=metric).fit(samples)
        assert_array_equal(model.kneighbors(new)[1], [[2, 3]], err_msg=repr(metric))
        assert_array_equal(model.kneighbors(n_neighbors=1)[1].ravel(), [1, 0, 3, 2])
    assert not hasattr(NearestNeighbors(metric=Edit()).fit(words), "n_features_in_")


def test_precomputed_distances():
    D = Minkowski()(X)
    model = NearestNeighbors(n_neighbors=5, metric="precomputed").fit(D)
    plain = NearestNeighbors(n_neighbors=5).fit(X)
    for ours, expected in ((model.kneighbors(), plain.kneighbors()),
                           (model.kneighbors(Minkowski()(Z, X)), plain.kneighbors(Z))):  # fmt: skip
        assert_allclose(ours[0], expected[0], atol=1e-12)
        assert_array_equal(ours[1], expected[1])
    with pytest.raises(ValueError, match="must be square"):
        NearestNeighbors(metric="precomputed").fit(D[:5])
    with pytest.raises(ValueError, match=r"X has to be \(m, 60\)"):
        model.kneighbors(D[:, :5])
    bad = D.copy()
    bad[0, 1] = bad[1, 0] = -1
    with pytest.raises(ValueError, match=r"Negative values .* X\[0, 1\] = -1"):
        NearestNeighbors(metric="precomputed").fit(bad)
    with pytest.raises(ValueError, match="not symmetric"):
        NearestNeighbors(metric="precomputed").fit(D + np.triu(D))


def test_functions_of_two_rows():
    model = NearestNeighbors(n_neighbors=3, metric=canberra).fit(X)
    theirs = sklearn.neighbors.NearestNeighbors(n_neighbors=3, metric=canberra).fit(X)
    assert_array_equal(model.kneighbors(Z)[1], theirs.kneighbors(Z)[1])

    def scaled(a, b, factor):
        return factor * float(np.abs(a - b).sum())

    model = NearestNeighbors(n_neighbors=3, metric=scaled, metric_params={"factor": 2.0}).fit(X)
    half = NearestNeighbors(n_neighbors=3, metric="manhattan").fit(X).kneighbors(Z)[0]
    assert_allclose(model.kneighbors(Z)[0], 2 * half)


def test_zero_vectors_under_cosine():
    A = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    D, _ = NearestNeighbors(n_neighbors=3, metric="cosine").fit(A).kneighbors([[0.0, 0.0], [2, 0]])
    assert_allclose(D[0], 1)
    assert_allclose(D[1], np.sort(cosine_distances([[2.0, 0.0]], A))[0])


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"metric": "euclidian"}, ValueError, "Did you mean 'euclidean'"),
        ({"metric": "jensenshannon"}, ValueError, "scipy.spatial.distance.jensenshannon"),
        ({"metric": Minkowski}, TypeError, "metric=.*Minkowski.* give a distance such as"),
        ({"metric": 3}, TypeError, "metric=3"),
        ({"metric": Minkowski(1), "p": 3}, ValueError, r"p=3 is given together with .*Minkowski"),
        ({"metric": Edit(), "metric_params": {"w": 1}}, ValueError, "metric_params=.*together"),
        ({"metric": "cosine", "metric_params": {"w": 1}}, ValueError, "does not read"),
        *[
            ({"metric": name, "metric_params": {"w": np.zeros(4)}}, ValueError, "weights are 0 for")
            for name in ("hamming", "correlation", "nan_euclidean", "yule")
        ],
        ({"metric": "canberra", "metric_params": {"w": [1, 1, -1, 1]}}, ValueError, "must be >= 0"),
        ({"metric": "braycurtis", "metric_params": {"w": [1, 1]}}, ValueError, "4 columns"),
        ({"metric": "russellrao"}, ValueError, "rows of 0 and 1: give X != 0"),
        ({"metric": Binary("kulsinski")}, ValueError, "name='kulsinski': give one of 'jaccard'"),
        ({"metric": "seuclidean"}, ValueError, "variance of each column"),
        ({"metric_params": 3}, TypeError, "metric_params=3"),
        ({"p": -1}, ValueError, "p=-1"),
        ({"p": 0.5, "metric_params": {"w": [1, 1, -1, 1]}}, ValueError, "weights must be >= 0"),
        ({"metric": Mahalanobis(-np.eye(4))}, ValueError, "not positive definite"),
        ({"algorithm": "fastest"}, ValueError, "algorithm='fastest'"),
        ({"algorithm": ["brute"]}, ValueError, "algorithm="),
        ({"leaf_size": 0}, ValueError, "leaf_size=0"),
        ({"leaf_size": 2.5, "algorithm": "metric_tree"}, ValueError, "leaf_size=2.5"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors=0"),
        ({"n_neighbors": "auto"}, ValueError, "n_neighbors='auto'"),
        ({"radius": -1.0}, ValueError, "radius=-1.0"),
        ({"memory": "much"}, ValueError, "memory='much'"),
        ({"n_jobs": 0}, ValueError, "n_jobs=0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_parameters(params, error, message):
    with pytest.raises(error, match=message):
        NearestNeighbors(**params).fit(X)


@pytest.mark.parametrize(
    "name", ["nan_euclidean", "sqeuclidean", "canberra", "braycurtis", "correlation"]
)
def test_huge_numbers(name):
    huge = X * 1e300
    if name in ("nan_euclidean", "sqeuclidean"):
        with pytest.raises(ValueError, match=r"column 1 of X reaches .*beyond float64"):
            NearestNeighbors(metric=name).fit(huge * [0, 1, 0, 0]).kneighbors(X)
    else:
        near = NearestNeighbors(metric=name).fit(X).kneighbors()[0]
        assert_allclose(NearestNeighbors(metric=name).fit(huge).kneighbors()[0], near)


def test_wrong_questions():
    model = NearestNeighbors().fit(X[:5])
    with pytest.raises(
        ValueError, match=r"Expected n_neighbors <= n_samples_fit, but n_neighbors = 6"
    ):
        model.kneighbors(Z, 6)
    with pytest.raises(
        ValueError, match=r"Expected n_neighbors < n_samples_fit, but n_neighbors = 5"
    ):
        model.kneighbors()
    with pytest.raises(ValueError, match="NaN"):
        model.kneighbors([[np.nan, 0, 0, 0]], 1)
    with pytest.raises(ValueError, match="features"):
        model.kneighbors(Z[:, :2], 1)
    with pytest.raises(ValueError, match=r"n_neighbors=2\.5"):
        model.kneighbors(Z, 2.5)
    with pytest.raises(ValueError, match="return_distance must be True"):
        model.radius_neighbors(Z, return_distance=False, sort_results=True)
    with pytest.raises(ValueError, match="radius=nan"):
        model.radius_neighbors(Z, np.nan)
    huge = NearestNeighbors(p=3, n_neighbors=1).fit(np.array([[0.0, 1.0], [1.0, 1e200]]))
    with pytest.raises(ValueError, match=r"column 1 of X reaches 1e\+200.*MaxAbsScaler"):
        huge.kneighbors()


def test_pickles_and_model_files(tmp_path):
    for metric, samples, new in (("minkowski", X, Z), (Edit(), ["anna", "otto"], ["ott"]),
                                 (Spectrum(2), ["anna", "otto"], ["ott"])):  # fmt: skip
        model = NearestNeighbors(n_neighbors=2, metric=metric).fit(samples)
        mercer.save(model, tmp_path / "model.mercer")
        loaded = mercer.load(tmp_path / "model.mercer")
        assert_array_equal(loaded.kneighbors(new)[0], model.kneighbors(new)[0])
        assert_array_equal(loaded.kneighbors(new)[1], model.kneighbors(new)[1])


def test_threads_and_memory_change_nothing():
    A, B = RNG.normal(size=(700, 5)), RNG.normal(size=(600, 5))
    found = [
        NearestNeighbors(n_neighbors=9, n_jobs=jobs, memory=memory).fit(A).kneighbors(B)
        for jobs, memory in ((1, None), (2, "1MB"))
    ]
    assert_allclose(found[0][0], found[1][0], rtol=1e-10)
    assert_array_equal(found[0][1], found[1][1])


def test_a_radius_or_a_number_may_be_left_to_the_question():
    """Isomap of scikit-learn gives only one of them."""
    some = NearestNeighbors(n_neighbors=None, radius=1.5).fit(X)
    assert_array_equal(some.kneighbors(Z, 3)[1], NearestNeighbors().fit(X).kneighbors(Z, 3)[1])
    assert len(some.radius_neighbors(Z)[0]) == len(Z)
    with pytest.raises(ValueError, match="n_neighbors=None"):
        some.kneighbors(Z)
    with pytest.raises(ValueError, match="radius=None: give a number"):
        NearestNeighbors(radius=None).fit(X).radius_neighbors(Z)


def test_strings_and_tables_by_name():
    words = ["anna", "hanna", "otto", "anne"]
    for name, distance in (
        ("edit", Edit()),
        ("levenshtein", Edit()),
        ("jaro_winkler", JaroWinkler()),
    ):
        model = NearestNeighbors(n_neighbors=2, metric=name).fit(words)
        wanted = NearestNeighbors(n_neighbors=2, metric=distance).fit(words)
        assert_array_equal(model.kneighbors(["hannah"]), wanted.kneighbors(["hannah"]))
        assert model.effective_metric_ == name
        assert model.__sklearn_tags__().input_tags.string
    table = pd.DataFrame({"age": [20.0, 40.0, None, 25.0], "sex": ["f", "m", "f", "m"]})
    model = NearestNeighbors(n_neighbors=2, metric="gower").fit(table)
    wanted = NearestNeighbors(n_neighbors=2, metric=Mixed.gower(table)).fit(table)
    assert_array_equal(model.kneighbors(table), wanted.kneighbors(table))
    assert model.__sklearn_tags__().input_tags.allow_nan
    heavy = NearestNeighbors(n_neighbors=2, metric="gower", metric_params={"w": [1, 0]}).fit(table)
    assert heavy.distance_.weights != model.distance_.weights


def test_strings_without_a_distance_are_advised_of_one():
    with pytest.raises(TypeError, match=r"metric=Edit\(\) or JaroWinkler\(\)"):
        NearestNeighbors().fit(["abc", "abd"])
    with pytest.raises(TypeError, match=r"metric=Jaccard\(\)"):
        NearestNeighbors().fit([{"a"}, {"b"}])


def test_distances_that_are_not_symmetric_are_refused_as_distances():
    D = Minkowski()(X)
    with pytest.raises(ValueError, match="precomputed distance matrix, but it is not symmetric"):
        NearestNeighbors(metric="precomputed").fit(D + np.triu(D))


def test_distances_may_be_dense_in_fit_and_sparse_in_a_question():
    D, new = Minkowski()(X), Minkowski()(Z, X)
    few = NearestNeighbors(n_neighbors=9).fit(X).kneighbors_graph(Z, mode="distance")
    wanted = NearestNeighbors(n_neighbors=4, metric="precomputed").fit(D).kneighbors(new)
    stored = sp.csr_array(D)
    for rows, question in ((D, few), (stored, new)):
        model = NearestNeighbors(n_neighbors=4, metric="precomputed").fit(rows)
        for found, want in zip(model.kneighbors(question), wanted, strict=True):
            assert_allclose(found, want, atol=1e-6)


def test_a_power_that_is_too_small_is_named():
    with pytest.raises(ValueError, match=r"beyond floats for p=0\.001\. Give a larger p, or p=0"):
        NearestNeighbors(p=0.001).fit(X).kneighbors()
