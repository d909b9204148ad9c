"""Bytes as forged fields: every array of every object in a model file or an index file, made wrong.

`holders` are models and indexes of all kinds of samples. `places` are the arrays that their objects
hold, and `FORGED` are ways to make one wrong: numbers out of range, offsets that descend, another
length, another type, NaN. `one_input` forges one or several fields, writes the file and reads it
again. That ends in a `ModelFileError`, or in an object whose methods answer or raise an error; a
crash, a call that does not end, or memory without limit is a failure. Run in a process that may be
lost: ``PYTHONPATH=tests python -m fuzz.fuzz_fields --count 1000``.
"""

from __future__ import annotations

import copy
import functools
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import cases
import mercer
import mercer.kernels as k
from fuzz.driver import Source, fuzz
from mercer import deep
from mercer.distances import (
    Cosine,
    Edit,
    Jaccard,
    Match,
    Minkowski,
    SlicedWasserstein,
    Tanimoto,
)
from mercer.learners.additive import TwoStageRegressor
from mercer.learners.metrics import CoordinateDescentWeights
from mercer.persistence import ModelFileError
from mercer.search import (
    BruteForce,
    DescentIndex,
    Index,
    KDTree,
    KnownNeighbours,
    MetricTree,
    NeighbourGraph,
    SampleDescentIndex,
    files,
)

METHODS = ["predict", "predict_proba", "decision_function", "transform", "kneighbors",
           "score_samples", "radius_neighbors", "kneighbors_graph"]  # fmt: skip
N = 80


class Holder(NamedTuple):
    """A fitted model or index, and samples that it is asked about."""

    made: Any
    asked: Any


class Place(NamedTuple):
    """An array in a holder: the names and numbers that lead to it, and the class that has it."""

    way: tuple
    owner: str
    field: str


@functools.cache
def samples() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    words = ["".join(rng.choice([*"abcd"], rng.integers(1, 7))) for _ in range(N)]
    levels = [[str(v) for v in row] for row in rng.integers(0, 3, (N, 2)).tolist()]
    table = np.array([[*row, *cells] for row, cells in zip(X.tolist(), levels)], object)
    return {
        "vectors": X, "sparse": sp.csr_array(X * (X > 0)), "strings": words,
        "sets": [{*row} for row in rng.integers(0, 12, (N, 4)).tolist()],
        "molecules": [("C" * (1 + i % 9)) + "ON"[i % 2] for i in range(N)],
        "graphs": small_graphs(rng),
        "trees": [(word[0], (word, *word), word) for word in words],
        "series": [rng.normal(size=9 + i % 7) for i in range(N)],
        "bags": [rng.normal(size=(1 + i % 5, 2)) for i in range(N)],
        "categories": np.array(levels, object), "table": table, "matrix": X @ X.T + np.eye(N),
    }  # fmt: skip


def small_graphs(rng: np.random.Generator) -> list:
    """Graphs of 2 to 6 nodes, with labels of nodes and edges."""
    found = []
    for i in range(N):
        n = 2 + i % 5
        edges = [(u, v) for v in range(n) for u in range(v) if rng.random() < 0.5 or not u]
        marks = rng.integers(0, 2, len(edges)).tolist()
        found.append((n, edges, rng.choice([*"abc"], n).tolist(), marks))
    return found


MODELS: list[tuple[str, Callable[[], Any]]] = [
    ("vectors", lambda: mercer.SVC()),
    ("sparse", lambda: mercer.SVC()),
    ("strings", lambda: mercer.SVC(kernel=k.Spectrum(2))),
    ("sets", lambda: mercer.SVC(kernel=k.Jaccard())),
    ("categories", lambda: mercer.KernelRidgeClassifier(kernel=k.Match())),
    ("table", lambda: mercer.KernelRidgeClassifier(kernel=k.TableKernel())),
    ("matrix", lambda: mercer.SVC(kernel="precomputed")),
    ("sets", lambda: mercer.KernelPerceptron(kernel=k.Jaccard())),
    ("vectors", lambda: mercer.LinearSVC()),
    ("vectors", lambda: mercer.Perceptron()),
    ("vectors", lambda: mercer.OneClassSVM()),
    ("sparse", lambda: mercer.SVR()),
    ("vectors", lambda: mercer.KNeighborsClassifier(algorithm="kd_tree")),
    ("sparse", lambda: mercer.KNeighborsRegressor(algorithm="brute")),
    ("strings", lambda: mercer.KNeighborsClassifier(metric=Edit(), algorithm="metric_tree")),
    ("vectors", lambda: mercer.RadiusNeighborsClassifier(radius=1.0)),
    ("vectors", lambda: mercer.LocalOutlierFactor(novelty=True)),
    ("vectors", lambda: mercer.HDBSCAN(3)),
    ("vectors", lambda: mercer.NeighbourEmbedding(3, steps=10, random_state=0)),
    ("vectors", lambda: mercer.Isomap(3)),
    ("vectors", lambda: mercer.LabelSpreading(3)),
    ("vectors", lambda: mercer.RecursiveElimination(mercer.SVC(), rows=20)),
    ("table", lambda: mercer.KNNImputer(3)),
    ("strings", lambda: mercer.KMedoids(3, metric=Edit())),
    ("vectors", lambda: mercer.Stolp()),
    ("vectors", lambda: mercer.KernelKMeans(n_clusters=3)),
    ("strings", lambda: mercer.SpectralClustering(n_clusters=3, kernel=k.Spectrum(2))),
    ("vectors", lambda: mercer.LargeMarginNeighbours(max_iter=3)),
    ("vectors", lambda: mercer.NeighbourhoodComponents(max_iter=3)),
    ("vectors", lambda: CoordinateDescentWeights(max_iter=1)),
    ("vectors", lambda: mercer.FeatureMachineClassifier()),
    ("vectors", lambda: mercer.FeatureMachineRegressor()),
    ("vectors", lambda: mercer.KernelCCA()),
    ("vectors", lambda: mercer.KernelDiscriminant()),
    ("sets", lambda: mercer.KernelRidge(kernel=k.Jaccard())),
    ("sets", lambda: mercer.SVR(kernel=k.Tanimoto("dot"))),
    ("vectors", lambda: mercer.MultipleKernelClassifier()),
    ("vectors", lambda: mercer.MultipleKernelRegressor()),
    ("graphs", lambda: mercer.SVC(kernel=k.WeisfeilerLehman(2))),
    ("graphs", lambda: mercer.KernelRidge(kernel=k.ShortestPath())),
    ("graphs", lambda: mercer.SVC(kernel=k.RandomWalk(labels=True))),
    ("graphs", lambda: mercer.KernelRidge(kernel=k.RandomWalk() + k.Graphlets(3))),
    ("trees", lambda: mercer.SVC(kernel=k.SubsetTree().normalised())),
    ("trees", lambda: mercer.KernelRidge(kernel=k.PartialTree() + k.Subtree())),
    ("bags", lambda: mercer.SVC(kernel=k.MeanMap().normalised())),
    ("bags", lambda: mercer.KNeighborsClassifier(metric=SlicedWasserstein(3, 4))),
    ("series", lambda: mercer.ConvolutionFeatures(size=84)),
    ("series", lambda: mercer.ConvolutionFeatures("multirocket", size=672)),
    ("series", lambda: mercer.ConvolutionFeatures("hydra", size=2)),
    ("series", lambda: mercer.SignatureFeatures(n_components=30)),
    ("series", lambda: mercer.WarpingFeatures(n_components=30)),
    ("vectors", lambda: mercer.NuSVC(nu=0.1)),
    ("vectors", lambda: mercer.NuSVR()),
    ("vectors", lambda: mercer.KernelQuantileRegression()),
    ("vectors", lambda: mercer.LinearSVR()),
    ("vectors", lambda: mercer.RadiusNeighborsRegressor(radius=1.0)),
    ("vectors", lambda: mercer.KernelSearchCV(mercer.SVC(), {"C": [1.0]}, cv=2)),
    ("vectors", lambda: mercer.KernelClassifier(time=20, trials=3)),
    ("vectors", lambda: mercer.KernelRegressor(time=20, trials=3)),
    ("vectors", lambda: deep.DeepKernelMachineRegressor(max_iter=3)),
    ("vectors", lambda: mercer.KernelPCA(n_components=2)),
    ("vectors", lambda: mercer.KernelDensity()),
    ("vectors", lambda: mercer.NadarayaWatson()),
    ("vectors", lambda: mercer.NadarayaWatsonClassifier("learnt")),
    ("vectors", lambda: mercer.AdditiveRegressor([(0, 1)])),
    ("vectors", lambda: mercer.AdditiveClassifier([(0, 1)])),
    ("vectors", TwoStageRegressor),
    ("vectors", lambda: mercer.KernelRidge(kernel=k.Additive([(0, 1)]))),
    ("vectors", lambda: mercer.NeighbourGaussianProcess(3)),
    ("vectors", lambda: mercer.NeighbourhoodMachineClassifier(steps=2)),
    ("vectors", lambda: mercer.NeighbourhoodMachineRegressor(steps=2)),
    ("vectors", lambda: mercer.Nystroem(n_components=3)),
    ("vectors", lambda: mercer.RandomFeatures(n_components=3)),
    ("vectors", lambda: mercer.KernelLogisticRegression()),
    ("vectors", lambda: mercer.GaussianProcessRegressor(alpha=0.1)),
    ("vectors", lambda: deep.DeepKernelMachineClassifier(max_iter=5)),
    ("vectors", lambda: deep.MultilayerKernelMachine()),
    ("sets", lambda: mercer.MinHash(8)),
    ("sets", lambda: mercer.MinHash(2, permutations=[[*range(12)], [*range(12)][::-1]])),
]
if find_spec("rdkit"):
    MODELS += [
        ("molecules", lambda: mercer.SVC(kernel=k.Morgan())),
        ("molecules", lambda: mercer.KernelRidge(kernel=k.Descriptors() + k.Torsions("dot"))),
        ("molecules", lambda: mercer.KNeighborsClassifier(metric=Tanimoto(fingerprint="pairs"))),
    ]


@functools.cache
def holders() -> dict[str, Holder]:
    """Models of all families, and indexes under all distances."""
    found, data = {}, samples()
    y = np.arange(N) % 3
    binary = (mercer.OneClassSVM, mercer.Perceptron)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, make in MODELS:
            model = make()
            target = y > 0 if isinstance(model, binary) else y
            name = f"{type(model).__name__} of {kind}"
            while name in found:
                name += " again"
            found[name] = Holder(model.fit(data[kind], target), data[kind])
        graph = mercer.NearestNeighbors(n_neighbors=6).fit(data["vectors"])
        graph = graph.kneighbors_graph(mode="distance")
        known = mercer.NearestNeighbors(metric="precomputed", n_neighbors=2).fit(graph)
        found["NearestNeighbors of a graph"] = Holder(known, graph)
        assert type(known.index_) is KnownNeighbours
        neighbours = NeighbourGraph(Minkowski(), 4).fit(data["vectors"])
        found["NeighbourGraph"] = Holder(neighbours, data["vectors"])
        found["KnownNeighbours"] = Holder(known.index_, graph)
        for distance, rows in [
            (Minkowski(), "vectors"), (Minkowski(1), "sparse"), (Edit(), "strings"),
            (Jaccard(), "sets"), (Match(), "categories"),
        ]:  # fmt: skip
            tree = MetricTree(distance, leaf_size=4).fit(data[rows])
            found[f"MetricTree of {rows}"] = Holder(tree, data[rows])
        for distance, rows in [
            (Minkowski(), "vectors"), (Cosine(), "vectors"), (Minkowski(1), "vectors"),
            (Jaccard(), "sets"), (Match(), "categories"),
        ]:  # fmt: skip
            tables = mercer.LSHIndex(distance).fit(data[rows])
            found[f"LSHIndex of {distance!r}"] = Holder(tables, data[rows])
        for distance in (Minkowski(), Minkowski(1), Cosine()):
            walks = DescentIndex(distance, 3, 4).fit(data["vectors"])
            found[f"DescentIndex of {distance!r}"] = Holder(walks, data["vectors"])
        near = SampleDescentIndex(Edit(), 3, 4).fit(data["strings"])
        found["SampleDescentIndex"] = Holder(near, data["strings"])
        linked = mercer.RecordLinkage().fit(data["table"])
        found["RecordLinkage"] = Holder(linked, data["table"])
        found["KDTree"] = Holder(KDTree(Minkowski(3)).fit(data["vectors"]), data["vectors"])
        for i, (distance, rows) in enumerate(cases.DISTANCES):
            if distance.kind != "objects":
                index = BruteForce(distance).fit(rows)
                index.query(k=1)  # so that what is prepared is in the file
                found[f"BruteForce {i} of {distance!r}"] = Holder(index, rows)
    return found


# --- places --------------------------------------------------------------------------------------


def places(root: Any) -> list[Place]:
    """All arrays, and the parts of sparse rows, of objects of this library."""
    return list({id(_at(root, p.way)): p for p in _walk(root, (), ("", ""), set())}.values())


def _walk(value: Any, way: tuple, owner: tuple[str, str], seen: set) -> Iterator[Place]:
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "biuf":
            yield Place(way, *owner)
        return
    if id(value) in seen or isinstance(value, (str, bytes, int, float, type, type(None))):
        return
    seen.add(id(value))
    named = isinstance(value, tuple) and hasattr(value, "_fields")
    if named or hasattr(value, "__dict__"):
        names = value._fields if named else vars(value)
        for name in ("data", "indices", "indptr") if sp.issparse(value) else names:
            here = owner if sp.issparse(value) else (type(value).__qualname__, name)
            here = here[0], f"{here[1]}.{name}" if sp.issparse(value) else here[1]
            yield from _walk(getattr(value, name), (*way, name), here, seen)
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _walk(part, (*way, [key]), owner, seen)
    elif isinstance(value, (list, tuple)):
        for number, part in enumerate(value):
            yield from _walk(part, (*way, [number]), owner, seen)


def _at(root: Any, way: tuple) -> Any:
    for step in way:
        root = root[step[0]] if isinstance(step, list) else getattr(root, step)
    return root


def put(root: Any, way: tuple, value: Any) -> Any:
    """A copy of an object in which one part is another."""
    if not way:
        return value
    step, rest = way[0], way[1:]
    if isinstance(step, list):
        part = put(root[step[0]], rest, value)
        if isinstance(root, tuple):
            return (*root[: step[0]], part, *root[step[0] + 1 :])
        new = root.copy()
        new[step[0]] = part
        return new
    part = put(getattr(root, step), rest, value)
    if isinstance(root, tuple):
        return root._replace(**{step: part})
    new = copy.copy(root)
    vars(new)[step] = part
    return new


# --- what is forged ------------------------------------------------------------------------------


def _changed(array: np.ndarray, at: int, value: Any, dtype: Any = None) -> np.ndarray:
    found = array.astype(dtype or array.dtype)
    if found.size:
        with np.errstate(all="ignore"):
            found.reshape(-1)[at % found.size] = np.array(value).astype(found.dtype)
    return found


def _moved(array: np.ndarray) -> np.ndarray:
    """Offsets that descend in the middle."""
    found = np.sort(array, axis=None).reshape(array.shape)
    flat = found.reshape(-1)
    if flat.size > 2:
        flat[[1, -2]] = flat[[-2, 1]]
    return found


FORGED: dict[str, Callable[[np.ndarray, int], Any]] = {
    "2**30": lambda a, at: _changed(a, at, 2**30),
    "2**40": lambda a, at: _changed(a, at, 2**40, np.int64 if a.dtype.kind in "iu" else None),
    "all 2**40": lambda a, at: np.full(a.shape, 2**40),
    "2**63 - 1": lambda a, at: _changed(a, at, 2**63 - 1, np.int64),
    "-1": lambda a, at: _changed(a, at, -1, np.int64 if a.dtype.kind in "iu" else None),
    "all -1": lambda a, at: np.full(a.shape, -1),
    "-2**62": lambda a, at: _changed(a, at, -(2**62), np.int64),
    "one more": lambda a, at: _changed(a, at, a.reshape(-1)[at % a.size] + 1 if a.size else 0),
    "zeros": lambda a, at: np.zeros_like(a),
    "ones": lambda a, at: np.ones_like(a),
    "largest": lambda a, at: np.full_like(a, a.max(initial=0)),
    "descending": lambda a, at: _moved(a),
    "reversed": lambda a, at: a[::-1].copy(),
    "longer": lambda a, at: np.concatenate([a, a[-1:]]) if a.ndim else a,
    "twice": lambda a, at: np.concatenate([a, a]) if a.ndim else a,
    "shorter": lambda a, at: a[:-1].copy() if a.ndim else a,
    "half": lambda a, at: a[: len(a) // 2].copy() if a.ndim else a,
    "one": lambda a, at: a[:1].copy() if a.ndim else a,
    "empty": lambda a, at: a[:0].copy() if a.ndim else a,
    "narrower": lambda a, at: np.ascontiguousarray(a[..., :-1]) if a.ndim else a,
    "wider": lambda a, at: np.concatenate([a, a[..., -1:]], axis=-1) if a.ndim else a,
    "one more axis": lambda a, at: a[None],
    "flat": lambda a, at: a.reshape(-1),
    "a number": lambda a, at: np.zeros((), a.dtype),
    "float64": lambda a, at: a.astype(np.float64),
    "float32": lambda a, at: a.astype(np.float32),
    "int64": lambda a, at: _quiet(a, np.int64),
    "int8": lambda a, at: _quiet(a, np.int8),
    "uint64": lambda a, at: _quiet(a, np.uint64),
    "bool": lambda a, at: a.astype(bool),
    "big-endian": lambda a, at: a.astype(a.dtype.newbyteorder(">")),
    "Fortran": lambda a, at: np.asfortranarray(a),
    "complex": lambda a, at: a.astype(complex),
    "texts": lambda a, at: a.astype("U5"),
    "dates": lambda a, at: np.zeros(a.shape, "M8[ns]"),
    "NaN": lambda a, at: _changed(a, at, np.nan, float if a.dtype.kind in "iub" else None),
    "all NaN": lambda a, at: np.full(a.shape, np.nan),
    "infinite": lambda a, at: _changed(a, at, np.inf, float if a.dtype.kind in "iub" else None),
    "all infinite": lambda a, at: np.full(a.shape, -np.inf),
    "1e300": lambda a, at: np.full(a.shape, 1e300),
    "None": lambda a, at: None,
    "a list": lambda a, at: a.reshape(-1)[:50].tolist(),
    "a dict": lambda a, at: {"shape": [len(a) if a.ndim else 0]},
    "a text": lambda a, at: "values",
    "sparse": lambda a, at: sp.csr_array(np.eye(3)),
}  # fmt: skip


def _quiet(array: np.ndarray, dtype: Any) -> np.ndarray:
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def forge(holder: Any, place: Place, way: str, at: int = 0) -> Any:
    """A copy of a holder in which one array is wrong."""
    array = _at(holder, place.way)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
        raise TypeError("it was forged before")
    return put(holder, place.way, FORGED[way](np.asarray(array), at))


def outcome(forged: Any, asked: Any, folder: str, apart: bool) -> str:
    """What becomes of a forged object that is written and read again, and asked."""
    large, files.LARGE = files.LARGE, 0 if apart else files.LARGE
    try:
        write(forged, Path(folder, "file"))
    except Exception:  # such a file cannot be made in this way
        return "not written"
    finally:
        files.LARGE = large
    try:
        loaded = read(forged, Path(folder, "file"))
    except ModelFileError as error:
        return "refused" if str(error).isprintable() else "unreadable"
    return use(loaded, asked)


def write(holder: Any, path: Path) -> None:
    """Save a model, or an index."""
    if isinstance(holder, Index):
        holder.save(path)
    else:
        mercer.save(holder, path)


def read(holder: Any, path: Path) -> Any:
    """What was written."""
    return Index.load(path) if isinstance(holder, Index) else mercer.load(path)


def use(loaded: Any, asked: Any) -> str:
    """Ask an object that was read; "answers", or the errors that are raised."""
    if isinstance(loaded, Index):
        calls = [
            lambda: loaded.query(asked, 2), lambda: loaded.query(k=1),
            lambda: loaded.query_radius(asked, 0.5), lambda: loaded.add(asked).query(k=1),
        ]  # fmt: skip
    else:
        calls = [
            lambda name=name: getattr(loaded, name)(asked)
            for name in METHODS
            if hasattr(loaded, name)
        ]
    found = set()
    for call in calls:
        try:
            call()
        except MemoryError:
            raise
        except Exception as error:
            found.add(type(error).__name__)
    return ", ".join(sorted(found)) or "answers"


def one_input(data: bytes) -> str:
    """Forge fields of one holder, and see what becomes of it."""
    s = Source(data)
    name = s.one_of(list(holders()))
    forged, asked = holders()[name]
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        for _ in range(1 + s.below(2) * s.below(3)):
            try:
                place, way = s.one_of(places_of(name)), s.one_of(list(FORGED))
                forged = forge(forged, place, way, s.below(2**15))
            except (ValueError, TypeError, AttributeError, IndexError, KeyError):
                break  # one of the first changes took this place away
        with np.errstate(all="ignore"):
            found = outcome(forged, asked, folder, s.below(2) == 1)
    assert found != "unreadable", "a message that cannot be shown"
    return found


@functools.cache
def places_of(name: str) -> list[Place]:
    return places(holders()[name].made)


# --- all of them ---------------------------------------------------------------------------------

SECONDS, MEMORY = 20, 6 * 2**30  # that one forged file may take


def cases_of(some: Callable[[str], bool] = lambda name: True) -> list[tuple]:
    """Every place of every holder, forged in every way; index files also with all arrays apart."""
    return [
        (name, place, way, apart)
        for name, holder in holders().items()
        if some(name)
        for place in places_of(name)
        for way in FORGED
        for apart in ((False, True) if isinstance(holder.made, Index) else (False,))
    ]


def forge_all(start: int, step: int) -> None:
    """Print what becomes of every ``step``-th case, after its number.

    The process is lost where one crashes it, takes too long, or asks for too much memory.
    """
    import resource  # only Unix has it

    limit = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, limit))
    every = cases_of()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        for number in range(start, len(every), step):
            name, place, way, apart = every[number]
            field = f"{place.owner}.{place.field}"
            print(number, "of", len(every), name, field, way, end=" | ", flush=True)
            signal.alarm(SECONDS)  # ends the process, even inside compiled code
            holder = holders()[name]
            forged = forge(holder.made, place, way, 3)
            print(outcome(forged, holder.asked, folder, apart), flush=True)
            signal.alarm(0)


if __name__ == "__main__":
    fuzz(one_input)
