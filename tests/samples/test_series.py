"""Series: what raw data they are read from, which are refused, and layouts of other libraries."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

import mercer
from mercer import SVC, KernelClassifier, KNeighborsClassifier, kernels
from mercer.distances import DTW, KernelDistance, SlicedWasserstein
from mercer.kernels import (
    RBF,
    Bhattacharyya,
    Convolutions,
    GaussianMeanMap,
    GlobalAlignment,
    Linear,
    MeanMap,
    Spectrum,
    bags,
    check_mercer,
)
from mercer.samples import Bags, as_samples, joined, kind_named, kind_of, row_numbers, series_of
from mercer.tables import infer_columns
from mercer.testing import DistanceContract, KernelContract


def encoded(X, like=None):
    return as_samples(X, "series", like=like, reader="DTW")


LISTS = [[1.0, 2.0, 3.0], [4.0, 5.0]]


@pytest.mark.parametrize(
    "X",
    [
        LISTS,
        tuple(map(tuple, LISTS)),
        [np.array(row) for row in LISTS],
        [np.array(row)[:, None] for row in LISTS],
        pd.Series(LISTS),
        pd.DataFrame({"signal": LISTS}),
        pl.Series(LISTS),
        pl.DataFrame({"signal": LISTS}),
        pl.Series(LISTS).to_arrow(),
    ],
    ids=["lists", "tuples", "arrays", "columns", "pandas", "frame", "polars", "polars frame",
         "arrow"],
)  # fmt: skip
def test_lists_and_columns_of_series_are_read_alike(X):
    S = encoded(X)
    assert_array_equal(S.values.ravel(), [1, 2, 3, 4, 5])
    assert_array_equal(S.starts, [0, 3, 5])
    assert S.channels == 1
    assert kind_of(S).name == "series"


@pytest.mark.parametrize("shape", [(3, 4), (3, 4, 2)])
def test_an_array_is_a_series_for_each_of_its_first_axis(shape):
    X = np.arange(np.prod(shape), dtype=float).reshape(shape)
    S = encoded(X)
    assert_array_equal(S.lengths, [4, 4, 4])
    assert_array_equal(S.values, X.reshape(12, -1))
    if len(shape) == 2:
        assert_array_equal(encoded(pd.DataFrame(X)).values, S.values)


def test_rows_are_chosen_and_joined():
    S = encoded([[1.0], [2.0, 3.0], [4.0, 5.0, 6.0]])
    assert_array_equal(S[[2, 0]].values.ravel(), [4, 5, 6, 1])
    assert_array_equal(S[1:].starts, [0, 2, 5])
    both = joined(S, encoded([[7.0]], like=S))
    assert_array_equal(both.values.ravel(), [1, 2, 3, 4, 5, 6, 7])
    assert_array_equal(pickle.loads(pickle.dumps(S)).values, S.values)


def test_equal_series_have_equal_keys():
    keys = row_numbers(encoded([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]]))
    assert keys[0] == keys[1] != keys[2]


def test_single_precision_is_kept_where_all_series_have_it():
    X = [np.ones(3, np.float32), np.zeros(2, np.float32)]
    assert DTW()(X).dtype == np.float32
    assert DTW()([*X, [1.0]]).dtype == np.float64


def test_a_series_with_a_gap_names_its_place():
    with pytest.raises(ValueError, match=r"X\[1\] holds nan at point 2: .*padded=True"):
        encoded([[1.0], [0.0, 1.0, np.nan]])
    with pytest.raises(ValueError, match=r"X\[0\] holds inf at point 1, channel 1"):
        encoded([[[0.0, 1.0], [2.0, np.inf]]])


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        ([[1.0], []], ValueError, r"X\[1\] has no points"),
        (np.zeros((2, 0)), ValueError, "no points"),
        (np.zeros((0, 2)), ValueError, "empty"),
        ([], ValueError, "empty"),
        ([1.0, 2.0], ValueError, "put a single series into a list"),
        (np.arange(3.0), ValueError, "Put a single series into a list"),
        (np.zeros((1, 2, 2, 2)), ValueError, "shape"),
        ("abc", TypeError, "a single string"),
        ([["a", "b"]], TypeError, r"X\[0\] is no array of numbers"),
        (["ab"], TypeError, r"X\[0\] is a str"),
        ([[1.0], None], TypeError, r"X\[1\] is missing"),
        ([[1.0], 2.0], TypeError, r"X\[1\] is 2.0"),
        ([[[1.0, 2.0]], [[1.0]]], ValueError, r"X\[1\] has 1 channels, but X\[0\] has 2"),
        ([np.zeros((2, 2, 2))], ValueError, r"X\[0\] has 3 dimensions"),
        (np.array([["a", "b"]]), TypeError, "compares series"),
    ],
)
def test_what_is_no_list_of_series_is_refused(X, error, words):
    with pytest.raises(error, match=words):
        encoded(X)


def test_new_series_have_the_channels_of_the_training_sample():
    with pytest.raises(ValueError, match=r"X\[0\] has 2 channels, but the series it is compared"):
        encoded([[[1.0, 2.0]]], like=encoded([[1.0]]))


def test_channels_that_come_first_draw_a_warning():
    with pytest.warns(UserWarning, match='channels="first"'):
        encoded(np.zeros((3, 2, 9)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoded(np.zeros((3, 9, 2)))
        encoded([np.zeros((1, 5))])  # a single point
        encoded([np.zeros((2, 3)), np.zeros((4, 3))])  # no more than half


def test_layouts_of_other_libraries_are_converted_when_said():
    X = np.arange(12.0).reshape(2, 2, 3)
    turned = series_of(X, channels="first")
    assert_array_equal(np.stack(turned), X.transpose(0, 2, 1))
    padded = np.array([[[1.0], [2.0], [np.nan]], [[3.0], [np.nan], [np.nan]]])
    assert [len(each) for each in series_of(padded, padded=True)] == [2, 1]
    both = series_of([[[1.0, np.nan]], [[2.0, 3.0]]], channels="first", padded=True)
    assert [each.shape for each in both] == [(1, 1), (2, 1)]
    with pytest.raises(ValueError, match=r"X\[0\] holds nan at point 1"):
        series_of([[1.0, np.nan, 2.0, np.nan]], padded=True)
    with pytest.raises(ValueError, match=r"X\[0\] holds nan at point 1, channel 0"):
        series_of([[[1.0, 2.0], [np.nan, 3.0]]], padded=True)  # one channel alone is a gap
    with pytest.raises(ValueError, match=r"X\[0\] has no points"):
        series_of([[np.nan, np.nan]], padded=True)
    with pytest.raises(ValueError, match="channels='middle'"):
        series_of([[1.0]], channels="middle")


def two_levels(names, times, **columns):
    index = pd.MultiIndex.from_arrays([names, times], names=["instances", "timepoints"])
    return pd.DataFrame(columns or {"x": np.arange(len(index)) * 1.0}, index=index)


def test_frames_of_two_levels_are_converted_when_said():
    days = pd.to_datetime(["2024-01-02", "2024-01-03", "2023-05-05", "2023-05-09", "2024-01-01"])
    X = two_levels(["b", "b", "b9", "b9", "a"], days, x=[1.0, 2, 3, 4, 5], y=[6, 7, 8, 9, 10])
    with pytest.raises(ValueError, match=r"time .* of series b9 follows .*sort_index"):
        series_of(X.iloc[[0, 1, 3, 2]])
    rows = [[[1.0, 6.0], [2.0, 7.0]], [[3.0, 8.0], [4.0, 9.0]], [[5.0, 10.0]]]
    found = series_of(X)
    assert [each.tolist() for each in found] == rows  # in the order of the frame
    assert_array_equal(encoded(found).starts, [0, 2, 4, 5])
    part = X.loc[["b9", "a"]]  # with levels that no row has
    assert [each.tolist() for each in series_of(part)] == rows[1:]
    single = two_levels([0, 0, 1], [0, 1, 0]).astype(np.float32)
    assert {each.dtype for each in series_of(single)} == {np.dtype(np.float32)}
    gaps = two_levels([0, 0, 1], [0, 1, 0], x=pd.array([1.0, None, 2.0], dtype="Float64"))
    assert [each.tolist() for each in series_of(gaps, padded=True)] == [[[1.0]], [[2.0]]]
    with pytest.raises(ValueError, match=r"X\[0\] holds nan at point 1"):
        series_of(gaps)


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        (
            two_levels([0, 1, 0], [0, 0, 1]),
            ValueError,
            r"series 0 do not follow each other.*sort_index",
        ),
        (two_levels([0, 0], [1, 1]), ValueError, "time 1 of series 0 follows 1"),
        (two_levels([0, None], [0, 1]), ValueError, "index of X is missing in row 1"),
        (two_levels([0, 0], [0, None]), ValueError, "index of X is missing in row 1"),
        (two_levels([0, 0], [0, 1], x=["a", "b"]), TypeError, "column 'x' of X holds no numbers"),
        (two_levels([0, 0], [0, 1])[[]], TypeError, "X has no columns"),
        (pd.concat({"u": two_levels([0, 0], [0, 1])}), ValueError, "has 3 levels"),
    ],
)
def test_frames_of_levels_that_are_no_series_are_refused(X, error, words):
    with pytest.raises(error, match=words):
        series_of(X)


def test_frames_of_levels_are_no_samples_until_said():
    X = two_levels([0, 0, 1], [0, 1, 0], x=[1.0, 2.0, 3.0], y=[1.0, 2.0, 3.0])
    for some in (X, X[["x"]]):
        with pytest.raises(ValueError, match=r"index has levels.*series_of\(X\)"):
            DTW()(some)
    with pytest.raises(ValueError, match="leave out channels="):
        series_of(X, channels="first")
    assert series_of(X.iloc[:0]) == []
    nested = pd.DataFrame({c: [pd.Series([1.0, 2.0])] * 3 for c in "xy"})
    for some in (nested, nested[["x"]]):
        assert_array_equal(DTW()(some), np.zeros((3, 3)))
    with pytest.raises(TypeError, match=r"cells are no numbers.*one column of series"):
        DTW()(pd.DataFrame({"x": ["a", "b"], "y": [1.0, 2.0]}))


TURNED = np.random.default_rng(0).normal(size=(12, 3, 8))


@pytest.mark.parametrize("X", [TURNED, TURNED[:, :, :3], list(TURNED)], ids=["T", "square", "list"])
def test_channels_that_may_come_first_are_told_at_each_door(X):
    y = np.arange(12) % 2
    doors = [
        lambda: GlobalAlignment()(X), lambda: Convolutions()(X), lambda: DTW()(X),
        lambda: mercer.SVC(kernel=GlobalAlignment()).fit(X, y),
        lambda: mercer.KNeighborsClassifier(metric=DTW()).fit(X, y),
        lambda: mercer.mmd_test(GlobalAlignment(), X, X),
    ]  # fmt: skip
    if np.shape(X)[1] != np.shape(X)[2]:  # else they are images without a kernel
        doors.append(lambda: mercer.KernelClassifier(trials=1).fit(X, y))
    for door in doors:
        with pytest.warns(
            UserWarning, match=r'X\[0\] has 3 points.*series_of\(X, channels="first"'
        ):
            door()


@pytest.mark.filterwarnings("error")
def test_points_that_outnumber_the_channels_are_not_doubted():
    for X in (TURNED.transpose(0, 2, 1), TURNED[:, :1], TURNED[:, 0]):
        DTW()(X)


class Named:
    """What an array of xarray answers."""

    def __init__(self, values, *dims):
        self.values, self.dims, self.shape = values, dims, values.shape

    def __array__(self, dtype=None, copy=None):
        return self.values


def test_the_names_of_axes_say_which_is_time(monkeypatch):
    kind = kind_named("series")
    monkeypatch.setattr(kind, "forms", type(kind)().forms)  # without those of packages
    y, known = np.arange(12) % 2, TURNED.transpose(0, 2, 1)
    X = Named(known.copy(), "case", "channel", "time")  # more channels than points
    kernel = GlobalAlignment()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of channels that may come first
        wanted = kernel(list(known.transpose(0, 2, 1)))
        assert_array_equal(kernel(X), wanted)
        assert_array_equal(mercer.SVC(kernel=kernel).fit(X, y).kernel_(X), wanted)
    assert_array_equal(kernel(Named(known, "case", "time", "channel")), kernel(known))
    assert_array_equal(kernels.RBF()(X), kernels.RBF()(known))
    for door in (mercer.Chunks, lambda X, y: mercer.streams.take_rows(X, [0])):
        with pytest.raises(ValueError, match=r'give X\.transpose\("case", "time", "channel"\)'):
            door(X, y)


rng = np.random.default_rng(0)
y = np.arange(30) % 2
#: in bags of the second class one point is far from the others
BAGS = [
    np.vstack([rng.normal(size=(n, 2)), [[5.0, 5.0]] if label else [[0.0, 0.0]]])
    for label, n in zip(y, rng.integers(1, 9, 30))
]


def read(X, like=None):
    return as_samples(X, "bags", like=like, reader="MeanMap")


def test_bags_are_points_in_one_array():
    X = read([[[1, 2], [3, 4]], np.array([[5.0, 6.0]])])
    assert isinstance(X, Bags)
    assert_array_equal(X.values, [[1, 2], [3, 4], [5, 6]])
    assert_array_equal(X.lengths, [2, 1])
    assert X.dtype == np.float64
    assert read([np.zeros((1, 2), np.float32)]).dtype == np.float32
    assert len(read(np.zeros((4, 3, 2)))) == 4
    assert_array_equal(X[[1, 0]].values, [[5, 6], [1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([np.zeros((0, 2))], r"X\[0\] has no points"),
        ([[[1.0]], []], r"X\[1\] has no points"),
        ([[[1.0, 2.0]], [[1.0]]], r"the points of X\[1\] have 1 numbers, but those of X\[0\]"),
        ([[[1.0, np.nan]]], r"X\[0\] holds nan in point 0, column 1"),
        ([[1.0, 2.0]], r"X\[0\] has the shape \(2,\).*reshape\(-1, 1\)"),
        ([[["a", "b"]]], r"X\[0\] is no array of numbers"),
        (["ab"], r"X\[0\] is"),
        (np.zeros((3, 2)), "Put a single bag into a list"),
        ([3.0], r"X\[0\] is 3.0"),
    ],
)
def test_what_is_no_list_of_bags_is_told(X, message):
    with pytest.raises((TypeError, ValueError), match=message):
        read(X)


def test_new_bags_have_the_columns_of_the_fit():
    model = SVC(kernel=MeanMap(RBF(0.5))).fit(BAGS, y)
    with pytest.raises(ValueError, match="but the bags of the fit have 2"):
        model.predict([np.zeros((2, 3))])


def test_the_mean_map_of_a_linear_kernel_is_the_product_of_means():
    means = np.array([bag.mean(axis=0) for bag in BAGS])
    assert_allclose(MeanMap(Linear())(BAGS), means @ means.T, atol=1e-12)
    assert_allclose(
        KernelDistance(MeanMap(Linear()))(BAGS),
        np.linalg.norm(means[:, None] - means[None], axis=2),
        atol=1e-6,
    )


def test_strips_change_nothing(monkeypatch):
    kernel = MeanMap(RBF(0.3))
    K, own = kernel(BAGS), kernel.diag(read(BAGS))
    monkeypatch.setattr(bags, "STRIP", 50)
    assert_allclose(kernel(BAGS), K)
    assert_allclose(kernel.diag(read(BAGS)), own)
    assert_allclose(own, K.diagonal())


def test_the_order_of_points_and_copies_of_all_of_them_mean_nothing():
    other = [np.repeat(bag[::-1], 2, axis=0) for bag in BAGS]
    assert_allclose(MeanMap(RBF(0.3))(BAGS, other), MeanMap(RBF(0.3))(BAGS), atol=1e-12)
    assert SlicedWasserstein()(BAGS, other).diagonal().max() < 1e-6


def wasserstein(a, b):
    """W2 of two lists of numbers, as a linear programme."""
    n, m = len(a), len(b)
    costs = (np.subtract.outer(a, b) ** 2).ravel()
    rows = [np.outer(np.eye(n)[i], np.ones(m)).ravel() for i in range(n)]
    columns = [np.outer(np.ones(n), np.eye(m)[j]).ravel() for j in range(m)]
    moved = np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)])
    return np.sqrt(linprog(costs, A_eq=np.array(rows + columns), b_eq=moved).fun)


@pytest.mark.parametrize(("n", "m"), [(2, 3), (4, 4), (1, 6)])
def test_on_a_line_the_distance_is_that_of_a_linear_programme(n, m):
    a, b = rng.normal(size=n), rng.normal(size=m)
    found = SlicedWasserstein(levels=12)([a[:, None]], [b[:, None]])
    assert_allclose(found, wasserstein(a, b), atol=1e-6)
    assert SlicedWasserstein(levels=5)([a[:, None]], [b[:, None]]) <= found + 1e-9


def test_what_is_positive_semidefinite_says_so():
    assert MeanMap().positive_definite
    assert RBF(1.0, SlicedWasserstein()).positive_definite
    assert RBF(1.0, KernelDistance(MeanMap())).positive_definite
    for kernel in (MeanMap(), RBF("median", SlicedWasserstein())):
        assert check_mercer(kernel, BAGS).positive_definite


def density(bag, grid, ridge):
    S = np.cov(bag.T, bias=True) + ridge * np.eye(2)
    away = grid - bag.mean(axis=0)
    forms = np.einsum("id,de,ie->i", away, np.linalg.inv(S), away)
    return np.exp(-forms / 2) / (2 * np.pi * np.sqrt(np.linalg.det(S)))


def test_the_overlap_of_two_gaussians_is_an_integral():
    draw = np.random.default_rng(1)
    a, b = draw.normal(size=(6, 2)), draw.normal(0.5, 1.5, (3, 2))
    line = np.linspace(-12, 12, 601)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    both = np.sqrt(density(a, grid, 0.2) * density(b, grid, 0.2)).sum() * (line[1] - line[0]) ** 2
    assert_allclose(Bhattacharyya(0.2)([a], [b])[0, 0], both, rtol=1e-6)


def test_the_mean_map_of_gaussians_is_that_of_many_points_they_draw():
    draw = np.random.default_rng(2)
    pair = [draw.normal(size=(6, 2)), draw.normal(0.5, 1.5, (5, 2))]
    drawn = [
        draw.multivariate_normal(bag.mean(axis=0), np.cov(bag.T, bias=True), 3000) for bag in pair
    ]
    assert_allclose(GaussianMeanMap(0.4)(pair), MeanMap(RBF(0.4))(drawn), atol=0.02)


@pytest.mark.parametrize("kernel", [Bhattacharyya(0.3), GaussianMeanMap(0.3), GaussianMeanMap()])
def test_kernels_of_gaussians_are_positive_semidefinite_in_any_number_of_runs(kernel, monkeypatch):
    assert kernel.positive_definite
    assert check_mercer(kernel, BAGS).positive_definite
    K = kernel(BAGS)
    single = kernel([bag.astype(np.float32) for bag in BAGS])
    assert single.dtype == np.float32
    assert_allclose(single, K, atol=1e-5)
    assert_allclose(kernel.bind(read(BAGS)).diag(read(BAGS)), K.diagonal())
    monkeypatch.setattr(bags, "VALUES", 40)
    assert_allclose(kernel(BAGS), K)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Bhattacharyya(0), "ridge=0: give a number > 0"),
        (Bhattacharyya(float("nan")), "ridge=nan: give a number > 0"),
        (GaussianMeanMap(-1), "gamma=-1"),
        (MeanMap("rbf"), "give a kernel on vectors"),
        (MeanMap(Spectrum(2)), "compares strings, but the points of bags are vectors"),
        (MeanMap(RBF(-1)), "gamma=-1"),
    ],
)
def test_wrong_kernels(kernel, message):
    with pytest.raises((TypeError, ValueError), match=message):
        kernel(BAGS)


@pytest.mark.parametrize("name", ["directions", "levels", "random_state"])
def test_wrong_parameters(name):
    with pytest.raises(ValueError, match=f"{name}=-1"):
        SlicedWasserstein(**{name: -1})(BAGS)


@pytest.mark.parametrize(
    "learner",
    [
        SVC(kernel=MeanMap().normalised(), C=10),
        SVC(kernel=RBF("median", KernelDistance(MeanMap(RBF(0.5)))), C=10),
        KNeighborsClassifier(3, metric=SlicedWasserstein()),
    ],
    ids=repr,
)
def test_learners_and_files(learner, tmp_path):
    model = learner.fit(BAGS, y)
    said = model.predict(BAGS)
    assert (said == y).mean() > 0.8
    mercer.save(model, tmp_path / "bags.mercer")
    assert_array_equal(mercer.load(tmp_path / "bags.mercer").predict(BAGS), said)


def test_a_point_that_decides_is_found_by_a_narrow_kernel():
    """The multi-instance kernel: a power of κ, in which near points count more."""
    narrow = SVC(kernel=MeanMap(RBF(0.1) ** 5).normalised(), C=100)
    assert (narrow.fit(BAGS[::2] + BAGS[1::2], np.sort(y)).predict(BAGS) == y).mean() > 0.9


def test_columns_of_tables_are_bags_where_that_is_said():
    table = pd.DataFrame({"shots": [bag.tolist() for bag in BAGS], "age": np.arange(30.0)})
    column = infer_columns({"shots": table["shots"].to_numpy()}, kind={"shots": "bag"})[0]
    assert column.kind == "bag"
    words = np.array(["a", "b", "c"], object)
    with pytest.raises(ValueError, match="kind: words='bag', but the column holds other values"):
        infer_columns({"words": words}, kind={"words": "bag"})
    model = KernelClassifier(trials=2, kind={"shots": "bag"}, random_state=0).fit(table, y)
    assert model.score(table, y) > 0.8


class TestKernelOfBags(KernelContract):
    @pytest.fixture
    def kernel(self):
        return MeanMap(RBF(0.4))

    @pytest.fixture
    def samples(self):
        return BAGS[:9]


class TestKernelOfGaussians(KernelContract):
    @pytest.fixture
    def kernel(self):
        return GaussianMeanMap(0.4)

    @pytest.fixture
    def samples(self):
        return BAGS[:9]


class TestOverlapOfGaussians(KernelContract):
    @pytest.fixture
    def kernel(self):
        return Bhattacharyya(0.4)

    @pytest.fixture
    def samples(self):
        return BAGS[:9]


class TestDistanceOfBags(DistanceContract):
    @pytest.fixture
    def distance(self):
        return SlicedWasserstein(7, 9)

    @pytest.fixture
    def samples(self):
        return BAGS[:9]
