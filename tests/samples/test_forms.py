"""Each form in which samples of a kind may come gives what the plainest form of them gives.

A form is a container (list, array, column or frame of a library) or a spelling of the samples. The
first form of each kind is the plainest; a door either reads another as that, or names the remedy.
"""

import datetime
import decimal
import fractions
import re
import warnings
from array import array
from collections import deque

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from PIL import Image

import mercer
from mercer import distances, kernels, plots
from mercer.distributed import Distributed, ThreadEngine
from mercer.samples import read
from mercer.streams import Chunks, join_rows, take_rows
from mercer.tables import read_columns

N = 12
Y = np.arange(N) % 2
RNG = np.random.default_rng(0)


def matrix(A):
    """As one of numpy, which warns of its own class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.asmatrix(A)


def objects(items):
    return np.fromiter(items, dtype=object, count=len(items))


def containers(items):
    """Whatever holds one object for each sample."""
    return {
        "list": items, "tuple": tuple(items), "object array": objects(items),
        "column of an array": objects(items)[:, None], "pandas": pd.Series(items),
        "frame": pd.DataFrame({"x": items}), "number as name": pd.DataFrame({7: items}),
    }  # fmt: skip


def columns(items):
    """Whatever holds values that files can hold, too."""
    return containers(items) | {
        "polars": pl.Series("x", items), "polars frame": pl.DataFrame({"x": items}),
        "arrow": pa.array(items), "arrow in chunks": pa.chunked_array([items[:5], items[5:]]),
        "arrow table": pa.table({"x": items}),
    }  # fmt: skip


def rows_of_numbers(A):
    names = [f"c{j}" for j in range(A.shape[1])]
    records = [dict(zip(names, row)) for row in A.tolist()]
    return {
        "array": A, "list": A.tolist(), "list of arrays": list(A), "object array": A.astype(object),
        "Fortran order": np.asfortranarray(A), "array of arrays": objects(list(A)),
        "frame": pd.DataFrame(A), "frame of objects": pd.DataFrame(A.astype(object)),
        "frame of decimals": pd.DataFrame(A).map(lambda v: decimal.Decimal(repr(v))),
        "frame of nullable numbers": pd.DataFrame(A).astype("Float64"),
        "sparse frame": pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(A)),
        "polars": pl.DataFrame(A), "arrow": pa.table(dict(zip(names, A.T))),
        "column of lists": pl.Series("x", A.tolist()), "pandas lists": pd.Series(A.tolist()),
        "column of arrays": pd.Series(list(A)), "frame of arrays": pd.DataFrame({"x": list(A)}),
        "arrow lists": pa.array(A.tolist()), "records": records, "structs": pl.Series("x", records),
        "arrow structs": pa.array(records),
        "structured": np.array([tuple(row) for row in A], [(name, float) for name in names]),
        "csr": sp.csr_array(A), "csc": sp.csc_matrix(A),
    }  # fmt: skip


WORDS = ["".join(RNG.choice(list("ab" if c else "cd"), 4 + i % 3)) for i, c in enumerate(Y)]
BASKETS = [sorted(set(word) | {"xyz"[i % 3]}) for i, word in enumerate(WORDS)]
HELD = np.array([[float(c in basket) for c in "abcdxyz"] for basket in BASKETS])
LONG = [np.round(RNG.normal(size=(5 + i % 3)).cumsum() + 5 * c, 3) for i, c in enumerate(Y)]
EVEN = np.round(RNG.normal(size=(N, 6)).cumsum(axis=1) + 5 * Y[:, None], 3)
WIDE = [np.round(RNG.normal(size=(5 + i % 3, 2)) + 5 * c, 3) for i, c in enumerate(Y)]
IMAGES = np.round(RNG.random((N, 4, 4)) + Y[:, None, None], 3)
DATES = np.datetime64("2024-01-01") + RNG.integers(0, 300, (N, 2))
GRAPHS = [nx.path_graph(4 + i % 2) if c else nx.star_graph(4) for i, c in enumerate(Y)]
TREES = ["(S (NP a) (VP b))" if c else "(S (NP (D a) (N c)) (VP d))" for c in Y]
NESTED = [
    ("S", ("NP", "a"), ("VP", "b")) if c else ("S", ("NP", ("D", "a"), ("N", "c")), ("VP", "d"))
    for c in Y
]
TABLE = pd.DataFrame({"a": RNG.normal(size=N) + 3 * Y, "b": np.where(Y, "u", "v"), "c": EVEN[:, 0]})
INDICATORS = {
    "array": HELD, "integers": HELD.astype(int), "truth values": HELD.astype(bool),
    "csr": sp.csr_array(HELD), "frame": pd.DataFrame(HELD), "lists": HELD.astype(int).tolist(),
    "polars": pl.DataFrame(HELD.astype(int)),
}  # fmt: skip
SERIES = {
    **columns([each.tolist() for each in LONG]), "arrays": LONG, "pandas arrays": pd.Series(LONG),
    "list of columns": [pd.Series(each) for each in LONG],
    "soundfile": [(each, 8000) for each in LONG],
    "sktime": pd.DataFrame({"x": [pd.Series(each) for each in LONG]}),
}  # fmt: skip


class GrakelGraph:
    """What a graph of GraKeL answers."""

    def __init__(self, graph):
        self.edges = {u: dict.fromkeys(near, 1.0) for u, near in graph.adjacency()}

    def get_vertices(self, purpose):
        return set(self.edges)

    def get_labels(self, purpose, label_type, return_none):
        return dict.fromkeys(self.edges, "x") if label_type == "vertex" else None

    def get_edge_dictionary(self):
        return self.edges


#: kind -> its forms, a kernel and a distance
FORMS = {
    "vectors": (rows_of_numbers(EVEN[:, :3]), kernels.RBF(), distances.Minkowski()),
    "images": ({
        "rows": IMAGES.reshape(N, -1), "array": IMAGES, "lists": IMAGES.tolist(),
        "list of arrays": list(IMAGES), "array of arrays": objects(list(IMAGES)),
        "with a channel": IMAGES[..., None],
    }, kernels.RBF(), distances.Minkowski()),
    "strings": ({
        **columns(WORDS), "array": np.array(WORDS),
        "categories": pd.Series(WORDS, dtype="category"),
        "NumPy's strings": np.array(WORDS, dtype=np.dtypes.StringDType()),
        "pandas strings": pd.Series(WORDS, dtype="string"),
    }, kernels.Spectrum(2), distances.Edit()),
    "tokens": (columns([list(word) for word in WORDS]), kernels.Spectrum(1), distances.Edit()),
    "sets": ({
        **columns(BASKETS), "sets": list(map(set, BASKETS)), "arrays": list(map(np.array, BASKETS)),
    }, kernels.Jaccard(), distances.Jaccard()),
    "indicators": (INDICATORS, kernels.Jaccard(), distances.Jaccard()),
    "series": (SERIES, kernels.GlobalAlignment(), distances.DTW()),
    "series of one length": ({
        "array": EVEN, "lists": EVEN.tolist(), "frame": pd.DataFrame(EVEN),
        "channels last": EVEN[:, :, None], "channels first": EVEN[:, None, :],
        "column": pl.Series("x", EVEN.tolist()), "array of arrays": objects(list(EVEN)),
    }, kernels.GlobalAlignment(), distances.DTW()),
    "series of channels": ({
        **containers(WIDE), "lists": [each.tolist() for each in WIDE],
        "polars": pl.Series("x", [each.tolist() for each in WIDE]),
        "frames": [pd.DataFrame(each) for each in WIDE],
        "aeon": [each.T for each in WIDE],
        "sktime": pd.DataFrame({c: [pd.Series(each[:, c]) for each in WIDE] for c in (0, 1)}),
    }, kernels.GlobalAlignment(), distances.DTW()),
    "bags": ({
        **containers(WIDE), "lists": [each.tolist() for each in WIDE],
    }, kernels.MeanMap(), distances.SlicedWasserstein()),
    "graphs": ({
        **containers(GRAPHS), "JSON": [nx.node_link_data(g, edges="links") for g in GRAPHS],
        "dicts": [{"nodes": len(g), "edges": list(g.edges)} for g in GRAPHS],
        "GraKeL": [[set(g.edges), dict.fromkeys(g, 0)] for g in GRAPHS],
        "tuples": [(len(g), list(g.edges)) for g in GRAPHS],
        "objects of GraKeL": list(map(GrakelGraph, GRAPHS)),
    }, kernels.WeisfeilerLehman(2), kernels.graph_distance()),
    "trees": (columns(TREES), kernels.SubsetTree(), None),
    "tables": ({
        "pandas": TABLE, "polars": pl.from_pandas(TABLE), "arrow": pa.Table.from_pandas(TABLE),
        "objects": TABLE.to_numpy(), "lists": TABLE.to_numpy().tolist(),
        "records": TABLE.to_dict("records"), "structured": TABLE.to_records(index=False),
        "structs": pl.from_pandas(TABLE).to_struct("x"),
        "numbers as names": TABLE.rename(columns={"a": 0, "b": 1, "c": 2}),
    }, kernels.TableKernel(), None),
}  # fmt: skip


def no_axis(item):
    """An array without axes that holds one object."""
    cell = np.empty((), dtype=object)
    cell[()] = item
    return cell


class Lazy:
    """An array of another library, such as dask."""

    def __init__(self, values):
        self.values, self.shape = values, values.shape

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(dtype or self.values.dtype)

    def __len__(self):
        return len(self.values)


def other_spellings(items):
    """Rarer containers of one object for each sample, and of the object itself."""
    fields = np.empty(N, [("x", object)])
    fields["x"] = objects(items)
    return {
        "deque": deque(items), "index": pd.Index(objects(items), dtype=object),
        "objects in polars": pl.Series("x", items, dtype=pl.Object), "structured": fields,
        "column of fields": fields[:, None],
        "records": [{"x": each} for each in items], "other arrays": Lazy(objects(items)),
        "no axes": [no_axis(each) for each in items],
        "no axes in a frame": pd.DataFrame({"x": [no_axis(each) for each in items]}),
    }  # fmt: skip


def other_lists(items):
    """Rarer containers of several values in one sample."""
    return {
        "tuples": list(map(tuple, items)), "object arrays": list(map(objects, items)),
        "frame of object arrays": pd.DataFrame({"x": list(map(objects, items))}),
        "series": list(map(pd.Series, items)), "polars": list(map(pl.Series, items)),
        "arrow": list(map(pa.array, items)), "deques": list(map(deque, items)),
    }  # fmt: skip


PIXELS = (IMAGES * 100).astype(np.uint8)
PIL = [Image.fromarray(each) for each in PIXELS]
MARKS = HELD.astype(int)
A3 = EVEN[:, :3]
GRAM = kernels.RBF(0.3)(A3)
#: kind -> the plainest form, other spellings, and a kernel
SPELLED = {
    "strings": (WORDS, {**other_spellings(WORDS), "categorical": pd.Categorical(WORDS),
                        "array of pandas": pd.array(WORDS, dtype="string"),
                        }, kernels.Spectrum(2)),
    "tokens": (list(map(list, WORDS)), {
        **other_spellings(list(map(list, WORDS))), **other_lists(list(map(list, WORDS))),
    }, kernels.Spectrum(1)),
    "sets": (BASKETS, {**other_spellings(BASKETS), **other_lists(BASKETS)}, kernels.Jaccard()),
    "indicators": (HELD, {
        "arrays": list(HELD), "column": pd.Series(MARKS.tolist()), "floats": HELD.tolist(),
        "polars": pl.Series("x", MARKS.tolist()), "objects": HELD.astype(object),
        "frame of objects": pd.DataFrame(MARKS.astype(object)), "matrix": matrix(HELD),
        "sparse frame": pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(HELD)),
    }, kernels.Jaccard()),
    "series": (LONG, {
        **other_spellings(LONG), **other_lists([each.tolist() for each in LONG]),
        "buffers": [array("d", each) for each in LONG],
    }, kernels.GlobalAlignment()),
    "series of one length": (EVEN, {
        "objects": EVEN.astype(object), "with an axis": EVEN.astype(object)[:, :, None],
        "matrix": matrix(EVEN), "arrow": pa.table({str(j): EVEN[:, j] for j in range(6)}),
    }, kernels.GlobalAlignment()),
    "bags": (WIDE, {
        **other_spellings(WIDE), "rows in object arrays": [objects(list(each)) for each in WIDE],
        "lists in object arrays": [objects(each.tolist()) for each in WIDE],
    }, kernels.MeanMap()),
    "graphs": (GRAPHS, other_spellings(GRAPHS), kernels.WeisfeilerLehman(2)),
    "trees": (NESTED, {**other_spellings(NESTED), **other_spellings(TREES)}, kernels.SubsetTree()),
    "vectors": (A3, {
        "deque": deque(A3.tolist()), "series": [pd.Series(row) for row in A3],
        "matrix": matrix(A3), "object arrays": [objects(row.tolist()) for row in A3],
        "no axes": [no_axis(row) for row in A3], "other arrays": Lazy(A3),
        "fractions": pd.DataFrame(A3).map(lambda v: fractions.Fraction(repr(v))),
        "sparse rows": [sp.csr_matrix(row[None]) for row in A3],
        "column of sparse rows": pd.Series([sp.csr_matrix(row[None]) for row in A3]),
        "batch": pa.RecordBatch.from_pandas(pd.DataFrame(A3, columns=["a", "b", "c"])),
        "buffer": memoryview(np.ascontiguousarray(A3)),
    }, kernels.RBF()),
    "images": (PIXELS, {
        "frame of Pillow": pd.DataFrame({"x": PIL}), "column of Pillow": objects(PIL)[:, None],
        "object arrays": [each.astype(object) for each in PIXELS],
        "frame": pd.DataFrame({"x": list(PIXELS)}),
    }, kernels.RBF(1e-4)),
    "images with channels": (np.stack([PIXELS] * 3, axis=-1).reshape(N, -1), {
        "array": np.stack([PIXELS] * 3, axis=-1),
        "column": pd.Series(list(np.stack([PIXELS] * 3, axis=-1))),
        "polars": pl.Series("x", np.stack([PIXELS] * 3, axis=-1).tolist()),
    }, kernels.RBF(1e-4)),
    "tables": (TABLE, {
        "rows in an array": objects(list(TABLE.to_numpy())),
        "column of records": pd.Series(TABLE.to_dict("records")),
        "column of fields": TABLE.to_records(index=False)[:, None],
        "rows in a deque": deque(TABLE.to_numpy().tolist()),
        "numbers as texts": TABLE.astype(str), "StringDType": TABLE.astype(str).to_numpy().astype(
            np.dtypes.StringDType()),
    }, kernels.TableKernel()),
    "categories": (TABLE[["b"]], {
        "rows in an array": objects([[each] for each in TABLE["b"]]),
    }, kernels.Match()),
    "nodes": (np.arange(N)[:, None], {
        "list": list(range(N)), "array": np.arange(N), "polars": pl.Series(range(N)),
        "frame": pd.DataFrame({"node": range(N)}), "deque": deque(range(N)), "range": range(N),
        "other arrays": Lazy(np.arange(N)),
    }, kernels.Diffusion(nx.cycle_graph(20))),
    "precomputed": (GRAM, {
        "lists in a column": pl.Series("x", GRAM.tolist()), "array of arrays": objects(list(GRAM)),
        "matrix": matrix(GRAM), "records": pd.DataFrame(GRAM).to_dict("records"),
    }, kernels.Precomputed()),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "form"), [(kind, form) for kind, (_, forms, _) in SPELLED.items() for form in forms]
)
def test_a_rare_spelling_is_read_as_the_plain_one(kind, form):
    plain, forms, kernel = SPELLED[kind]
    made, known = mercer.SVC(kernel=kernel), mercer.SVC(kernel=kernel)
    known = known.fit(plain, Y).decision_function(plain)
    X = forms[form]
    np.testing.assert_allclose(made.fit(X, Y).decision_function(X), known, atol=1e-6)
    if kind not in ("nodes", "precomputed"):
        np.testing.assert_allclose(
            ridge_in_chunks(Chunks(X, Y, rows=5), kernel).decision_function(X),
            ridge_in_chunks(Chunks(plain, Y, rows=5), kernel).decision_function(plain),
        )


EACH = [(kind, form) for kind, (forms, _, _) in FORMS.items() for form in forms]


def of(kind, form):
    forms, kernel, distance = FORMS[kind]
    return next(iter(forms.values())), forms[form], kernel, distance


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_moments_and_spans_of_pandas_are_no_series(zone):
    moments = pd.date_range("2024-01-01", periods=N, freq="37h", tz=zone)
    table = read_columns(pd.DataFrame({"at": moments, "since": moments - moments[0]}))
    assert [values.dtype.kind for values in table.values()] == ["M", "f"]


@pytest.mark.parametrize(("kind", "form"), EACH)
def test_a_kernel_and_a_distance_read_the_same(kind, form):
    plain, X, kernel, distance = of(kind, form)
    np.testing.assert_allclose(kernel(X), kernel(plain), rtol=1e-12)
    if kind != "tables":  # whose columns have other names
        np.testing.assert_allclose(kernel(X, plain), kernel(plain), rtol=1e-12)
    if distance is not None:
        np.testing.assert_allclose(distance(X), distance(plain), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("kind", "form"), EACH)
def test_rows_that_are_joined_are_the_same(kind, form):
    plain, X, kernel, _ = of(kind, form)
    both = kernel(join_rows(X, X)), kernel(join_rows(plain, plain))
    np.testing.assert_allclose(*both, rtol=1e-12)


DOORS = {
    "SVC": lambda kernel, distance: mercer.SVC(kernel=kernel),
    "KernelRidge": lambda kernel, distance: mercer.KernelRidgeClassifier(kernel=kernel),
    "MultipleKernel": lambda kernel, distance: mercer.MultipleKernelClassifier([kernel]),
    "OneClassSVM": lambda kernel, distance: mercer.OneClassSVM(kernel=kernel),
    "KNeighbors": lambda kernel, distance: mercer.KNeighborsClassifier(3, metric=distance),
}


@pytest.mark.full
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("kind", "form"), EACH)
def test_a_learner_predicts_the_same(kind, form, door):
    plain, X, kernel, distance = of(kind, form)
    if door == "KNeighbors" and distance is None:
        pytest.skip("there is no distance")
    make = DOORS[door]
    known, made = make(kernel, distance).fit(plain, Y), make(kernel, distance).fit(X, Y)
    np.testing.assert_array_equal(made.predict(X), known.predict(plain))


def ridge_in_chunks(X, kernel, **kwargs):
    """A learner that is fitted in chunks, of which the last is shorter."""
    learner = mercer.KernelRidgeClassifier(0.1, kernel=kernel, rank=6, random_state=0)
    return learner.fit_chunks(X, **kwargs)


def perceptron_in_parts(X, kernel, _):
    learner = mercer.KernelPerceptron(kernel)
    for rows in PARTS:
        learner.partial_fit(take_rows(X, rows), Y[rows], classes=[0, 1])
    return learner.predict(X)


def from_a_checkpoint(X, kernel, folder):
    """A checkpoint compares the rows of each reading with those of the one before."""
    checkpoint = mercer.Checkpoint(folder / "fit.mercer", 0)
    return ridge_in_chunks(Chunks(X, Y, rows=5), kernel, checkpoint=checkpoint).predict(X)


def pieces(X):
    return [(take_rows(X, rows), Y[rows]) for rows in PARTS]


PARTS = np.arange(5), np.arange(5, 10), np.arange(10, N)
STREAMS = {
    "Chunks": lambda X, kernel, _: ridge_in_chunks(Chunks(X, Y, rows=5), kernel).predict(X),
    "pieces": lambda X, kernel, _: ridge_in_chunks(Chunks(pieces(X)), kernel).predict(X),
    "Checkpoint": from_a_checkpoint,
    "partial_fit": perceptron_in_parts,
    "mmd_test": lambda X, kernel, _: mercer.mmd_test(
        kernel, take_rows(X, np.arange(6)), take_rows(X, np.arange(6, N)), random_state=0
    ).permuted,
}  # fmt: skip


@pytest.mark.parametrize("door", STREAMS)
@pytest.mark.parametrize(("kind", "form"), EACH)
def test_a_stream_reads_the_same(kind, form, door, tmp_path):
    plain, X, kernel, _ = of(kind, form)
    made, known = (STREAMS[door](rows, kernel, tmp_path) for rows in (X, plain))
    np.testing.assert_allclose(made, known, rtol=1e-9, atol=1e-12)


def test_a_stream_of_a_single_column_needs_no_targets():
    for X in (pd.Series(WORDS), pl.Series(WORDS), pa.array(WORDS), objects(WORDS)):
        features = mercer.Nystroem(kernels.Spectrum(2), n_components=4, random_state=0)
        known = mercer.Nystroem(kernels.Spectrum(2), n_components=4, random_state=0)
        made = features.fit_chunks(Chunks(X, rows=5)).transform(X)
        np.testing.assert_allclose(made, known.fit_chunks(Chunks(WORDS, Y, rows=5)).transform(X))


@pytest.mark.parametrize("column", [list, pd.Series, objects])
def test_images_of_pillow_are_vectors_of_pixels(column):
    pixels = (IMAGES * 100).astype(np.uint8)
    images = [Image.fromarray(each) for each in pixels]
    known = kernels.RBF(1e-4)(pixels.reshape(N, -1))
    np.testing.assert_allclose(kernels.RBF(1e-4)(column(images)), known)
    assert read(column(images))[0].name == "vectors"
    assert len(read_columns(column(images))) == 16
    images[3] = images[3].resize((5, 4))
    with pytest.raises(ValueError, match=r"\(4, 4\) pixels.*\(5, 4\).*image.resize"):
        mercer.SVC().fit(column(images), Y)


def test_frames_of_one_size_are_series():
    assert read([pd.DataFrame(row.reshape(3, 2)) for row in EVEN])[0].name == "series"


def test_sounds_of_several_rates_are_not_compared():
    sounds = [(each, 8000 + 1000 * (i % 2)) for i, each in enumerate(LONG)]
    with pytest.raises(TypeError, match=r"X\[0\] is no array of numbers, but GlobalAlignment"):
        kernels.GlobalAlignment()(sounds)


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_dates_are_days_whatever_their_unit(unit):
    X, days = DATES.astype(f"M8[{unit}]"), (DATES - np.datetime64(0, "D")).astype(float)
    kernel = kernels.RBF(1e-4)
    np.testing.assert_allclose(kernel(X), kernel(days))
    made, known = (mercer.mmd_test(kernel, Z[:6], Z[6:], random_state=0) for Z in (X, days))
    np.testing.assert_allclose(made.permuted, known.permuted)
    made, known = (ridge_in_chunks(Chunks(Z, Y, rows=5), kernel) for Z in (X, days))
    np.testing.assert_array_equal(made.predict(X), known.predict(days))


DAYS_OF_ALL = (DATES - np.datetime64(0, "D")).astype(float)
PLAINLY = DATES.astype(object)
DATED = {
    "lists": PLAINLY.tolist(), "object array": PLAINLY, "lists of NumPy": [list(r) for r in DATES],
    "moments": DATES.astype("M8[us]").astype(object), "pandas": pd.DataFrame(DATES),
    "objects in pandas": pd.DataFrame(PLAINLY), "polars": pl.DataFrame(DATES),
    "arrow": pa.Table.from_pandas(pd.DataFrame(DATES)),
    "zones": pd.DataFrame(DATES).apply(lambda column: column.dt.tz_localize("UTC")),
    "records": pd.DataFrame(DATES, columns=["a", "b"]).to_dict("records"),
    "durations": pd.DataFrame(DATES - np.datetime64(0, "D")),
    "numbers beside": pd.DataFrame({"a": DATES[:, 0], "b": DAYS_OF_ALL[:, 1]}),
    "numbers beside, in lists": [[a, b] for a, b in zip(PLAINLY[:, 0], DAYS_OF_ALL[:, 1])],
}  # fmt: skip


@pytest.mark.parametrize("form", DATED)
def test_dates_are_days_in_any_form(form):
    X, kernel = DATED[form], kernels.RBF(1e-4)
    np.testing.assert_allclose(kernel(X), kernel(DAYS_OF_ALL))
    made, known = (ridge_in_chunks(Chunks(Z, Y, rows=5), kernel) for Z in (X, DAYS_OF_ALL))
    np.testing.assert_array_equal(made.predict(X), known.predict(DAYS_OF_ALL))
    for learner in (mercer.LinearSVC(), mercer.KNeighborsClassifier(3)):
        known = learner.fit(DAYS_OF_ALL, Y).predict(DAYS_OF_ALL)
        np.testing.assert_array_equal(learner.fit(X, Y).predict(X), known)


def test_dates_beside_texts_are_a_table():
    X = pd.DataFrame({"a": DATES[:, 0], "b": WORDS})
    for rows in (X, X.to_numpy().tolist(), pl.from_pandas(X)):
        for learner in (mercer.SVC(), mercer.LinearSVC()):
            with pytest.raises(TypeError, match="TableKernel"):
                learner.fit(rows, Y)
    assert [column.kind for column in mercer.KernelClassifier(trials=1).fit(X[["a"]], Y).columns_]


class Dataset(dict):
    """What a dataset of xarray answers."""

    def to_dataframe(self):
        return pd.DataFrame(self)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: (row for row in EVEN.tolist()), r"X is a generator.*: give list\(X\)"),
        (lambda: map(list, EVEN), r"X is a map.*: give list\(X\)"),
        (lambda: dict(enumerate(EVEN)).values(), r"X is a dict_values.*: give list\(X\)"),
        (lambda: Dataset(x=EVEN[:, 0]), r"dataset.*give X\.to_dataframe\(\)"),
        (lambda: pl.LazyFrame(EVEN), r"X is a LazyFrame.*give X\.collect\(\)"),
    ],
    ids=["generator", "map", "values", "dataset", "lazy frame"],
)
def test_all_doors_refuse_alike_what_has_no_rows(make, said):
    doors = [make().fit for make in DEFAULTS.values()] + [
        mercer.KernelClassifier(trials=1).fit, mercer.AdditiveRegressor(pairs=0).fit, Chunks,
        lambda X, _: kernels.RBF()(X), lambda X, _: distances.Minkowski()(X),
        lambda X, _: mercer.mmd_test(kernels.RBF(), X, X), lambda X, _: read(X),
    ]  # fmt: skip
    for door in doors:
        with pytest.raises(TypeError, match=said):
            door(make(), Y)


def test_a_column_of_numbers_is_told_how_it_becomes_vectors():
    numbers = EVEN[:, 0]
    for X in (pd.Series(numbers), pl.Series(numbers), numbers, deque(numbers), pa.array(numbers)):
        give = r"X\.to_frame\(\)" if hasattr(X, "to_frame") else r"numpy\.reshape\(X, \(-1, 1\)\)"
        for learner in (mercer.SVC(), mercer.LinearSVC(), mercer.KNeighborsClassifier()):
            with pytest.raises(ValueError, match=f"a single column.*give {give}"):
                learner.fit(X, Y)


@pytest.mark.parametrize("make", [mercer.KernelClassifier, mercer.AdditiveClassifier])
def test_fields_of_several_columns_and_dicts_in_cells_are_refused(make):
    fields = np.zeros((N, 2), [("a", float), ("b", float)])
    with pytest.raises(ValueError, match=r"named fields and the shape \(12, 2\).*X\.ravel\(\)"):
        make().fit(fields, Y)
    with pytest.raises(TypeError, match=r"'x' of X holds a dict.*give a column"):
        make().fit(pd.DataFrame({"x": [{"a": i} for i in range(N)]}), Y)


def test_lists_of_one_item_are_told():
    with pytest.warns(UserWarning, match=r"12 lists of one text each.*for \(text,\) in X"):
        mercer.SVC(kernel=kernels.Spectrum(1)).fit([[word] for word in WORDS], Y)
    with pytest.warns(UserWarning, match=r"12 series of one point each.*kernel.*on vectors"):
        mercer.SVC(kernel=kernels.GlobalAlignment()).fit(EVEN[:, :1], Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernels.Spectrum(1)([["tea"]])
        kernels.Jaccard()([[word] for word in WORDS])


def test_sets_as_texts_are_told_how_a_table_compares_them():
    items = np.array(["tea", "milk", "rum", "rice", "figs", "salt", "eggs"])
    held = np.random.default_rng(0).random((90, 7)) < 0.5
    X = pd.DataFrame({"x": [";".join(items[row]) or "tea" for row in held], "y": held.sum(axis=1)})
    with pytest.raises(ValueError, match=r"holds sets as texts.*Jaccard\(separator=';'\)"):
        kernels.TableKernel()(X)


@pytest.mark.parametrize("form", ["sktime", "list of columns"])
def test_a_single_column_of_series_keeps_its_name(form):
    X = SERIES["sktime"] if form == "sktime" else pd.DataFrame({"x": SERIES[form]})
    known = mercer.SVC(kernel=kernels.TableKernel()).fit(pd.DataFrame({"x": LONG}), Y)
    made = mercer.SVC(kernel=kernels.TableKernel()).fit(X, Y)
    np.testing.assert_allclose(made.decision_function(X), known.decision_function(X))
    assert [column.name for column in made_of(X).columns_] == ["x"]


@pytest.mark.parametrize("columns", [1, 2])
def test_nested_frames_of_one_length_are_told_the_kernel_on_series(columns):
    X = pd.DataFrame({c: [pd.Series(each) for each in EVEN] for c in range(columns)})
    for learner in (mercer.SVC(), mercer.LinearSVC(), mercer.KNeighborsClassifier()):
        with pytest.raises(TypeError, match=r"12 series.*kernel=GlobalAlignment\(\)"):
            learner.fit(X, Y)


def test_series_are_told_that_an_additive_model_has_no_kernel():
    for X in (LONG, pd.DataFrame({"x": [pd.Series(each) for each in LONG]})):
        with pytest.raises(TypeError, match=r"12 series.*AdditiveRegressor has none"):
            additive(X)


def test_channels_of_different_lengths_are_refused():
    nested = pd.DataFrame({c: [pd.Series(each[c:, c]) for each in WIDE] for c in (0, 1)})
    with pytest.raises(ValueError, match=r"channels of X\[0\] have different lengths"):
        mercer.SVC(kernel=kernels.GlobalAlignment()).fit(nested, Y)


def test_two_graphs_of_json_are_no_graph_of_grakel():
    graphs = [nx.node_link_data(g, edges="links") for g in GRAPHS[:2]]
    np.testing.assert_array_equal(
        kernels.WeisfeilerLehman(2)(graphs), kernels.WeisfeilerLehman(2)(GRAPHS[:2])
    )


#: kinds that vectors are read from; of others, what compares them is named if nobody gave it
VECTORS = {"vectors", "images", "indicators", "series of one length"}
NAMED = {
    "strings": "Spectrum|TableKernel", "trees": "Spectrum|TableKernel",
    "sets": "Jaccard|TableKernel",
    "tokens": "Jaccard.*Spectrum|TableKernel", "series": "GlobalAlignment.*DTW",
    "series of channels": "GlobalAlignment.*DTW", "bags": "GlobalAlignment.*DTW",
    "graphs": "WeisfeilerLehman", "tables": "TableKernel",
}  # fmt: skip
DEFAULTS = {
    "SVC": mercer.SVC, "KernelRidge": mercer.KernelRidgeClassifier, "LinearSVC": mercer.LinearSVC,
    "Perceptron": mercer.Perceptron, "KernelPerceptron": mercer.KernelPerceptron,
    "MultipleKernel": mercer.MultipleKernelClassifier, "KNeighbors": mercer.KNeighborsClassifier,
    "NearestNeighbors": mercer.NearestNeighbors, "OneClassSVM": mercer.OneClassSVM,
    "KernelKMeans": lambda: mercer.KernelKMeans(2, random_state=0),
    "KernelPCA": lambda: mercer.KernelPCA(2),
    "Nystroem": lambda: mercer.Nystroem(n_components=4, random_state=0),
}  # fmt: skip


def answers(model, X):
    """What a fitted model says of its samples."""
    says = ("predict", "transform", "kneighbors")
    said = getattr(model, next(name for name in says if hasattr(model, name)))(X)
    return said[0] if isinstance(said, tuple) else said


@pytest.mark.parametrize("door", DEFAULTS)
@pytest.mark.parametrize(("kind", "form"), EACH)
def test_without_a_kernel_vectors_are_read_and_others_are_told_theirs(kind, form, door):
    plain, X, _, _ = of(kind, form)
    if kind not in VECTORS:
        with pytest.raises(TypeError, match=NAMED[kind]) as told:
            DEFAULTS[door]().fit(X, Y)
        assert "all of one length" not in str(told.value)
        return
    made, known = (answers(DEFAULTS[door]().fit(rows, Y), rows) for rows in (X, plain))
    np.testing.assert_allclose(made, known, atol=1e-6)  # 0 is a root of a rounding error


def test_a_broken_matrix_among_graphs_is_refused_by_all():
    broken = sp.csr_array(np.eye(3))
    broken.indices[0] = 2**30
    for learner in (mercer.SVC(), mercer.KernelClassifier(trials=1)):
        with pytest.raises((TypeError, ValueError)):
            learner.fit([sp.csr_array(np.eye(3)), broken] * 6, Y)


#: kinds of which tables have columns of numbers, or that look like another kind there
NOT_READ = {"bags", "images", "indicators"}


@pytest.mark.parametrize(("kind", "form"), [each for each in EACH if each[0] not in NOT_READ])
def test_a_table_is_read_the_same(kind, form):
    plain, X, _, _ = of(kind, form)
    found, known = read_columns(X), read_columns(plain)
    if len(found) < len(known):  # the vectors of a column, each in one cell
        (cells,) = found.values()
        wanted = np.column_stack(list(known.values()))
        np.testing.assert_array_equal(np.stack(list(cells)).reshape(N, -1), wanted)
        return
    assert len(found) == len(known)
    for values, wanted in zip(found.values(), known.values()):
        if values.dtype != object:
            np.testing.assert_array_equal(values, wanted)
        elif kind != "graphs":
            assert list(map(plainly, values)) == list(map(plainly, wanted))


def test_bytes_are_texts():
    cells = [word.encode() for word in WORDS]
    for X in (cells, np.array(cells), pd.Series(cells), pl.Series(cells), pa.array(cells)):
        assert read_columns(X)[0].tolist() == WORDS
    assert read_columns(["tea \u00e9".encode(), b"\xff"])[0].tolist() == ["tea \u00e9", "\\xff"]


@pytest.mark.parametrize("form", ["sparse rows", "column of sparse rows", "matrix", "buffer"])
def test_a_table_reads_rare_spellings_of_vectors(form):
    X = SPELLED["vectors"][1][form]
    for found, wanted in zip(read_columns(X).values(), A3.T, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("form", ["matrix", "sparse rows", "buffer"])
def test_cells_are_filled_in_rare_spellings_of_vectors(form):
    imputer = mercer.KNNImputer(3).fit(SPELLED["vectors"][1][form])
    lacking = A3.copy()
    lacking[2, 1] = np.nan
    known = mercer.KNNImputer(3).fit(A3).transform(lacking)
    np.testing.assert_array_equal(imputer.transform(lacking), known)
    np.testing.assert_array_equal(imputer.transform(matrix(lacking)), known)


@pytest.mark.parametrize("form", ["batch", "buffer"])
def test_chunks_of_vectors_without_targets(form):
    made, known = (
        mercer.Nystroem(n_components=4, random_state=0).fit_chunks(Chunks(X, rows=5))
        for X in (SPELLED["vectors"][1][form], A3)
    )
    np.testing.assert_array_equal(made.X_fit_, known.X_fit_)


def test_a_sparse_matrix_that_is_too_large_for_a_table_is_refused():
    with pytest.raises(TypeError, match=r"shape \(10, 10000000\).*sparse input is not supported"):
        read_columns(sp.csr_array((10, 10**7)))
    broken = sp.csr_array(np.eye(2))
    broken.indices[0] = 9
    with pytest.raises(ValueError, match="broken: its column numbers reach"):
        read_columns(broken)


def plainly(cell):
    """A cell of a column without the type of its list."""
    cell = cell.tolist() if hasattr(cell, "tolist") else cell
    return sorted(cell) if isinstance(cell, set) else cell


@pytest.mark.full
@pytest.mark.parametrize("make", [mercer.KernelClassifier, mercer.KernelRegressor])
@pytest.mark.parametrize(("kind", "form"), EACH)
def test_an_automatic_estimator_predicts_the_same_or_says_how_it_reads(kind, form, make):
    plain, X, _, _ = of(kind, form)
    fits = []
    for rows in (plain, X):
        given = dict.fromkeys(read_columns(rows), "bag") if kind == "bags" else None
        fits.append(make(trials=2, random_state=0, kind=given).fit(rows, Y))
    known, made = fits
    kinds = [[column.kind for column in fit.columns_] for fit in fits]
    if kinds[0] == kinds[1]:
        np.testing.assert_allclose(made.predict(X), known.predict(plain), rtol=1e-4, atol=1e-5)
    else:  # as the table of the documentation says
        assert any("read as" in said or "compared as" in said for said in made.notices_)


@pytest.mark.spread(3)
@pytest.mark.parametrize("make", [mercer.KernelClassifier, mercer.KernelRegressor])
@pytest.mark.parametrize("form", [form for form in DATED if "beside" not in form])
def test_an_automatic_estimator_reads_the_parts_of_dates_in_any_form(form, make):
    X, plain = DATED[form], DAYS_OF_ALL if form == "durations" else DATED["lists"]
    made, known = (make(trials=1, random_state=0).fit(rows, Y) for rows in (X, plain))
    np.testing.assert_allclose(made.predict(X), known.predict(plain))
    parts = [column.reason for column in made.columns_ if "read as year, month" in column.reason]
    assert len(parts) == (0 if form == "durations" else 2)


CLASSES = {
    "integers": {
        "array": Y, "list": Y.tolist(), "objects": Y.astype(object), "column": Y[:, None],
        "pandas": pd.Series(Y), "nullable": pd.Series(Y, dtype="Int64"), "polars": pl.Series(Y),
        "arrow": pa.array(Y), "frame": pd.DataFrame({"y": Y}),
    },
    "truth values": {
        "array": Y == 1, "objects": (Y == 1).astype(object),
        "nullable": pd.Series(Y == 1, dtype="boolean"), "polars": pl.Series(Y == 1),
        "arrow": pa.array(Y == 1),
    },
    "texts": {
        "array": np.where(Y, "u", "v"), "pandas": pd.Series(np.where(Y, "u", "v")),
        "strings": pd.Series(np.where(Y, "u", "v"), dtype="string"),
        "NumPy's strings": np.where(Y, "u", "v").astype(np.dtypes.StringDType()),
        "categories": pd.Series(np.where(Y, "u", "v"), dtype="category"),
        "arrow": pa.array(np.where(Y, "u", "v").tolist()),
    },
}  # fmt: skip


@pytest.mark.spread(5)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize(
    ("kind", "form"), [(kind, form) for kind, forms in CLASSES.items() for form in forms]
)
def test_classes_are_what_the_targets_are(kind, form):
    y, plain = CLASSES[kind][form], CLASSES[kind]["array"]
    for learner in (mercer.SVC(), mercer.KNeighborsClassifier(), mercer.KernelClassifier(trials=1)):
        classes = learner.fit(EVEN, y).classes_
        assert classes.tolist() == np.unique(plain).tolist()
        assert type(classes.tolist()[0]) is type(plain.tolist()[0])


DAYS = [datetime.date(2024, 1, 1 + c) for c in Y.tolist()]
NUMBERS = EVEN[:, 0] + Y


@pytest.mark.parametrize(
    "days",
    [DAYS, objects(DAYS), np.array(DAYS, "M8[D]"), pl.Series(DAYS), pa.array(DAYS)],
    ids=["list", "object array", "array", "polars", "arrow"],
)
def test_dates_are_classes_and_no_numbers(days):
    for learner in (mercer.SVC(), mercer.KernelClassifier(trials=1)):
        assert learner.fit(EVEN, days).predict(EVEN).astype("M8[D]").tolist() == DAYS
    for regressor in (mercer.KernelRidge(), mercer.SVR(), mercer.KernelRegressor(trials=1)):
        with pytest.raises(ValueError, match=r"y has dates, such as 2024-01-0.*numbers, such as d"):
            regressor.fit(EVEN, days)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize(
    "y",
    [
        NUMBERS.tolist(), pd.Series(NUMBERS, name="pay"), pd.Series(NUMBERS, dtype="Float64"),
        pd.DataFrame({"pay": NUMBERS}), pl.DataFrame({"pay": NUMBERS}),
        pa.table({"pay": NUMBERS}), [decimal.Decimal(repr(v)) for v in NUMBERS.tolist()],
    ],
)  # fmt: skip
def test_numbers_are_targets_in_any_form(y):
    for regressor in (mercer.KernelRidge(), mercer.SVR(), mercer.KernelRegressor(trials=1)):
        known = regressor.fit(EVEN, NUMBERS).predict(EVEN)
        np.testing.assert_allclose(np.ravel(regressor.fit(EVEN, y).predict(EVEN)), known)


@pytest.mark.parametrize(
    "make",
    [
        lambda Y: pd.DataFrame(Y), lambda Y: pl.DataFrame(Y), lambda Y: pl.Series(Y.tolist()),
        lambda Y: pd.Series(list(Y)), lambda Y: pl.DataFrame(Y).to_struct("y"),
    ],
)  # fmt: skip
def test_several_targets_are_columns_in_any_form(make):
    known = mercer.KernelRidge().fit(EVEN, EVEN[:, :2]).predict(EVEN)
    made = mercer.KernelRidge().fit(EVEN, make(EVEN[:, :2])).predict(EVEN)
    np.testing.assert_allclose(made, known)


def targets(y):
    """One target in all that holds it."""
    items = y.tolist()
    return {
        "list": items, "tuple": tuple(items), "deque": deque(items), "objects": objects(items),
        "column": y[:, None], "lists of one": [[item] for item in items],
        "records": [{"y": item} for item in items], "pandas": pd.Series(items, range(5, 5 + N)),
        "pandas lists": pd.Series([[item] for item in items]), "frame": pd.DataFrame({"y": items}),
        "index": pd.Index(items), "polars": pl.Series(items), "arrow": pa.array(items),
        "polars frame": pl.DataFrame({"y": items}), "arrow table": pa.table({"y": items}),
        "no axes": list(map(np.array, items)), "masked": np.ma.masked_array(y, mask=False),
        "structured": np.array([(item,) for item in items], [("y", y.dtype)]),
        "other arrays": Lazy(y),
    }  # fmt: skip


TARGETS = {
    "integers": targets(Y), "truth values": targets(Y == 1),
    "texts": targets(np.where(Y, "u", "v")), "bytes": targets(np.where(Y, b"u", b"v")),
    "dates": targets(np.array(DAYS, "M8[D]")),
    "numbers": targets(NUMBERS) | {
        "sparse": sp.csr_array(NUMBERS[:, None]), "float32": NUMBERS.astype(np.float32),
        "decimals": [decimal.Decimal(repr(v)) for v in NUMBERS.tolist()],
        "fractions": [fractions.Fraction(repr(v)) for v in NUMBERS.tolist()],
    },
}  # fmt: skip


@pytest.mark.spread(8)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize(
    ("kind", "form"), [(kind, form) for kind, forms in TARGETS.items() for form in forms]
)
def test_targets_are_read_the_same_at_all_doors(kind, form, tmp_path):
    y, plain = TARGETS[kind][form], TARGETS[kind]["list"]
    numbers, ridge = kind == "numbers", mercer.KernelRidge
    if not numbers:
        ridge = mercer.KernelRidgeClassifier
    automatic = mercer.KernelRegressor if numbers else mercer.KernelClassifier
    for make in (ridge, lambda: automatic(trials=1, random_state=0)):
        made, known = (make().fit(EVEN, rows) for rows in (y, plain))
        found = np.ravel(made.predict(EVEN))
        if numbers:
            np.testing.assert_allclose(found, known.predict(EVEN), rtol=1e-5)
        else:
            assert found.tolist() == known.predict(EVEN).tolist()
        assert made.score(EVEN, y) == pytest.approx(known.score(EVEN, plain), rel=1e-5)
    made, known = (
        ridge(0.1, kernel=kernels.RBF(), rank=6, random_state=0).fit_chunks(
            Chunks(EVEN, rows, rows=5)
        )
        for rows in (y, plain)
    )
    assert np.ravel(made.predict(EVEN)).tolist() == pytest.approx(known.predict(EVEN).tolist())
    model = ridge().fit(EVEN, plain)
    made, known = (
        plots.save_report(tmp_path / "r.html", model, EVEN, rows, train=(EVEN, rows), time=0.01)
        for rows in (y, plain)
    )
    assert made.score.value == pytest.approx(known.score.value, rel=1e-5)


def test_masked_targets_and_several_where_one_is_learnt_are_refused():
    masked = np.ma.masked_array(NUMBERS, mask=Y == 1)
    with pytest.raises(ValueError, match="y has 6 masked values: leave those rows out"):
        mercer.KernelRidge().fit(EVEN, masked)
    with pytest.raises(ValueError, match=r"y should be a 1d array, and has 2 columns.*multioutput"):
        mercer.SVR().fit(EVEN, EVEN[:, :2])


def json_of(rows):
    return [str(each.tolist()) for each in rows]


@pytest.mark.spread(2)
@pytest.mark.parametrize(
    ("kind", "rows", "plain"),
    [
        ("tree", TREES, NESTED),
        ("text", [list(word) for word in WORDS], [" ".join(word) for word in WORDS]),
        ("series", json_of(WIDE), WIDE),
        ("series", json_of(LONG), LONG),
        ("bag", json_of(WIDE), WIDE),
    ],
    ids=["brackets", "tokens", "channels as JSON", "series as JSON", "bags as JSON"],
)
def test_a_kind_that_is_asked_for_reads_what_may_be_another(kind, rows, plain):
    answers = []
    for cells in (rows, plain):
        table = pd.DataFrame({"x": cells})
        made = mercer.KernelClassifier(trials=2, random_state=0, kind={"x": kind}).fit(table, Y)
        assert made.columns_[0].kind == kind
        answers.append(made.predict(table))
    np.testing.assert_array_equal(*answers)


def test_a_kind_that_is_asked_for_refuses_what_it_cannot_read():
    with pytest.raises(ValueError, match=r"kind: x='tree'.* other values: .*begins with 'no'"):
        mercer.KernelClassifier(kind={"x": "tree"}).fit(
            pd.DataFrame({"x": ["no tree", *TREES[1:]]}), Y
        )


def additive(X):
    return mercer.AdditiveRegressor(pairs=0).fit(X, Y).predict(X)


@pytest.mark.parametrize(
    "form", [form for form in FORMS["vectors"][0] if not form.startswith("cs")]
)
def test_an_additive_model_reads_numbers_in_any_form(form):
    plain, X, _, _ = of("vectors", form)
    np.testing.assert_allclose(additive(X), additive(plain), atol=1e-9)


@pytest.mark.parametrize("form", FORMS["tables"][0])
def test_an_additive_model_reads_a_table_in_any_form(form):
    plain, X, _, _ = of("tables", form)
    np.testing.assert_allclose(additive(X), additive(plain), atol=1e-9)


def test_an_additive_model_refuses_graphs_in_a_column():
    for X in (pd.DataFrame({"a": EVEN[:, 0], "g": GRAPHS}), pd.DataFrame({"g": GRAPHS})):
        with pytest.raises(TypeError, match=r"'g' of X holds graphs.*WeisfeilerLehman"):
            additive(X)


def made_of(X, **given):
    return mercer.KernelRegressor(trials=1, random_state=0, **given).fit(X, Y)


def notices(X, **given):
    said = made_of(X, **given).notices_
    return [notice for notice in said if "read" in notice or "compared" in notice]


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (pd.DataFrame({"x": WORDS}), "x: texts .* read as category: 12 .*kind={'x': \"text\"}"),
        (objects(WORDS)[:, None], "0: texts in the column of a table were read as category"),
        (pd.Series(EVEN.tolist()), 'numpy.stack.*kind={0: "series"}'),
        (EVEN[:, :, None], r"12 series of 6 points and 1 channels.*X\.reshape\(len\(X\), -1\)"),
        (EVEN[:, None, :], "12 series of 6 points and 1 channels, time first"),
        (EVEN.reshape(N, 3, 2), '12 series of 3 points and 2 channels.*channels="first"'),
        ([EVEN[:, :2][: 3 + i % 2] for i in range(N)], '0: arrays of 2 columns .*kind={0: "bag"}'),
        (IMAGES, r"12 images of 4 x 4 pixels.*pandas\.Series\(list\(X\)\)"),
        (TREES, '0: texts in brackets were read as .*kind={0: "tree"}'),
        (pd.DataFrame({"x": TREES}), "x: texts in brackets .*kind={'x': \"tree\"}"),
        (list(map(list, WORDS)), '0: lists were read as sets.*kind={0: "text"} reads sequences'),
        (pd.Series([[i, i + 3] for i in range(N)]), "0: lists were read as sets"),
        (pd.Series([[word] for word in WORDS]), "0: lists were read as sets"),
        (pd.Series(list(IMAGES[..., None])), "0: lists of numbers .*numpy.stack"),
    ],
    ids=["frame of texts", "column of texts", "vectors", "channels last", "channels first",
         "several channels", "bags", "images", "brackets", "frame of brackets", "tokens", "whole",
         "single", "images with channels"],
)  # fmt: skip
def test_an_automatic_estimator_says_how_it_read_what_may_be_another_kind(X, said):
    (told,) = notices(X)
    assert re.search(said, told)


def test_what_was_told_is_read_otherwise():
    assert [c.kind for c in made_of(pd.Series(list(IMAGES))).columns_] == ["series"]
    for X, kind in (
        (pd.DataFrame({"x": WORDS}), "text"),
        (pd.DataFrame({"x": list(EVEN)}), "series"),
    ):
        assert not notices(X, kind={"x": kind})
    for X in (WORDS, EVEN, LONG, list(map(set, BASKETS)), [None, *WORDS[1:]], TABLE):
        assert not notices(X)
    assert [
        c.kind for c in mercer.KernelClassifier(trials=1).fit([None, *WORDS[1:]], Y).columns_
    ] == ["text"]


LEVELS = pd.DataFrame(
    {"a": EVEN[:, 0], "b": EVEN[:, 1]}, pd.MultiIndex.from_product([range(3), range(4)])
)


@pytest.mark.parametrize("make", [mercer.SVC, mercer.LinearSVC, mercer.KNeighborsClassifier])
def test_frames_of_two_levels_are_told_that_they_are_read_row_by_row(make):
    with pytest.warns(UserWarning, match=r"give mercer\.samples\.series_of\(X\), else X\.reset"):
        made = make().fit(LEVELS, Y)
    known = make().fit(LEVELS.to_numpy(), Y).predict(LEVELS.to_numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(made.predict(LEVELS.reset_index(drop=True)), known)


def test_an_automatic_estimator_says_that_it_read_a_frame_of_two_levels_row_by_row():
    assert re.search(r"several levels.*series_of\(X\)", *notices(LEVELS))


def ridge(X, kernel):
    return mercer.KernelRidgeClassifier(kernel=kernel).fit(X, Y)


def over_threads(learner):
    return Distributed(learner, ThreadEngine(2))


def low_rank(kernel):
    return mercer.KernelRidgeClassifier(
        0.1, kernel=kernel, solver="low_rank", rank=6, random_state=0
    )


def search(kernel):
    return mercer.KernelSearchCV(mercer.SVC(kernel=kernel), {"C": [1.0, 10.0]}, cv=2)


#: displays of samples, and learners over the parts of a cluster
DRAWN = {
    "Gram": lambda X, kernel: plots.GramDisplay.from_estimator(ridge(X, kernel), X, Y),
    "Spectrum": lambda X, kernel: plots.SpectrumDisplay.from_estimator(ridge(X, kernel), X),
    "RankError": lambda X, kernel: plots.RankErrorDisplay.from_estimator(
        ridge(X, kernel), X, rank=4
    ),
    "Influence": lambda X, kernel: plots.InfluenceDisplay.from_estimator(ridge(X, kernel), X, Y),
    "Embedding": lambda X, kernel: plots.EmbeddingDisplay.from_estimator(
        mercer.KernelPCA(2, kernel=kernel).fit(X), X, Y
    ),
    "Margin": lambda X, kernel: plots.MarginDisplay.from_estimator(
        mercer.SVC(kernel=kernel).fit(X, Y), X, Y
    ),
    "Mistake": lambda X, kernel: plots.MistakeDisplay.from_estimator(
        mercer.KernelPerceptron(kernel).fit(X, Y), X, Y
    ),
    "Cluster": lambda X, kernel: plots.ClusterDisplay.from_estimator(
        mercer.KernelKMeans(2, kernel=kernel, random_state=0).fit(X), X
    ),
    "Distributed": lambda X, kernel: over_threads(low_rank(kernel)).fit(X, Y).predict(X),
    "distributed search": lambda X, kernel: (
        over_threads(search(kernel)).fit(X, Y).to_local().predict(X)
    ),
}


def numbers_of(found):
    """What a display draws, as the axes have it; signs of components are free."""
    if isinstance(found, np.ndarray):
        return [found.astype(float)]
    axes = [ax for figure in map(plt.figure, plt.get_fignums()) for ax in figure.axes]
    drawn = [line.get_xydata() for ax in axes for line in ax.lines]
    drawn += [each.get_offsets().data for ax in axes for each in ax.collections]
    drawn += [image.get_array().data for ax in axes for image in ax.images]
    drawn += [[bar.get_width(), bar.get_height()] for ax in axes for bar in ax.patches]
    plt.close("all")
    assert drawn
    return [np.abs(np.asarray(each, float)) for each in drawn]


@pytest.mark.spread(24)
@pytest.mark.parametrize("door", DRAWN)
@pytest.mark.parametrize(("kind", "form"), EACH)
def test_a_display_and_a_cluster_read_the_same(kind, form, door):
    plain, X, kernel, _ = of(kind, form)
    made, known = (numbers_of(DRAWN[door](rows, kernel)) for rows in (X, plain))
    assert len(made) == len(known)
    for one, other in zip(made, known):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def reliance(X, kernel):
    return plots.RelianceDisplay.from_estimator(ridge(X, kernel), X, Y)


@pytest.mark.spread(8)
@pytest.mark.parametrize(
    ("kind", "form"),
    [each for each in EACH if each[0] in {*VECTORS, "tables"} - {"series of one length"}],
)
def test_a_display_of_columns_reads_the_same_or_asks_for_columns(kind, form):
    plain, X, kernel, _ = of(kind, form)
    if sp.issparse(X):
        with pytest.raises(TypeError, match=r"columns of a table.*X\.toarray\(\)"):
            reliance(X, kernel)
        return
    plt.close("all")
    made, known = reliance(X, kernel), reliance(plain, kernel)
    plt.close("all")
    np.testing.assert_allclose(made.loss, known.loss, atol=1e-8)


@pytest.mark.parametrize("kind", ["strings", "sets", "series", "graphs", "trees"])
def test_a_display_of_columns_asks_for_columns(kind):
    plain, _, kernel, _ = of(kind, "list")
    with pytest.raises(TypeError, match=r"Give a data frame|give a list of graphs"):
        reliance(plain, kernel)


@pytest.mark.parametrize(
    "cells", [PIL, [{"a": {"b": i}} for i in range(N)]], ids=["images", "dicts"]
)
def test_objects_that_no_kind_knows_are_told_apart_from_levels(cells):
    with pytest.raises(TypeError, match=r"in a cell|in a cell of a table: give numbers"):
        mercer.KernelClassifier(trials=1).fit(pd.DataFrame({"x": cells, "y": EVEN[:, 0]}), Y)
