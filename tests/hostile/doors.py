"""Every public callable that takes data, each as a function of the samples that it is given.

`DOORS` has them, made from the lists that other tests keep too: kernels and distances of
``cases.py``, models of ``fuzz/fuzz_fields.py``; displays and sound are in ``drawn.py``. `NO_DATA`
are public names that take none.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

import cases
import mercer
from fuzz import fuzz_fields
from hostile import drawn
from mercer import (
    dedup,
    distances,
    distributed,
    explain,
    gram,
    kernels,
    samples,
    search,
    solvers,
)
from mercer.learners.metrics import noise_features

INFINITE = {"speech.si_sdr"}  # of what is the same, and of what is nothing like it
TASKS = ("predict", "decision_function", "predict_proba", "transform", "score_samples",
         "kneighbors")  # fmt: skip


class Door(NamedTuple):
    """A way in.

    Attributes
    ----------
    name : str
        The public name, and what is done with it.
    kind : str
        Of the samples that it reads.
    good : object
        Samples that it reads.
    call : callable
        A function of samples.
    infinite : bool
        Whether inf may be an answer: of a kernel whose value no float can hold, or of an index
        that finds too few neighbours.
    """

    name: str
    kind: str
    good: Any
    call: Callable[[Any], Any]
    infinite: bool = False

    @property
    def public(self) -> str:
        """The public name, with its room."""
        return ".".join(self.name.replace(",", " ").split()[0].split(".")[:2])


# --- kernels and distances -----------------------------------------------------------------------


def compared_with(compared: Any, good: Any, X: Any) -> Any:
    return compared(X, good)


def compared() -> Iterator[Door]:
    """One of each class and kind of samples: values among hostile samples, and against others."""
    seen = set()
    for case in (*cases.KERNELS, *cases.DISTANCES):
        made, good = case[0], case[1]
        room = "kernels" if isinstance(made, kernels.Kernel) else "distances"
        name = f"{room}.{type(made).__name__}"
        if made.reads.name == "precomputed" or (name, made.kind) in seen:
            continue
        seen.add((name, made.kind))
        good = good if made.kind in ("vectors", "table") or len(good) < 9 else good[:9]
        yield Door(f"{name} of {made.kind}", made.kind, good, made, True)
        yield Door(f"{name} of {made.kind}, new samples", made.kind, good,
                   partial(compared_with, made, good), True)  # fmt: skip


# --- estimators ----------------------------------------------------------------------------------


def targets(model: Any, n: int) -> np.ndarray:
    binary = isinstance(model, (mercer.OneClassSVM, mercer.Perceptron))
    return np.arange(n) % (2 if binary else 3)


def answers(model: Any, X: Any) -> list:
    return [getattr(model, method)(X) for method in TASKS if hasattr(model, method)]


def fit(model: Any, X: Any) -> Any:
    """Fit to hostile samples, and ask about the same."""
    try:
        n = _num_samples(X)
    except TypeError:
        n = 6
    model = clone(model).fit(X, targets(model, n))
    return answers(model, X)


def ask(fitted: Callable[[], Any], X: Any) -> Any:
    return answers(fitted(), X)


@cache
def fitted(place: int) -> Any:
    kind, make = fuzz_fields.MODELS[place]
    data = first_of(fuzz_fields.samples()[kind], 24)
    model = small(make())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(data, targets(model, 24))


def first_of(data: Any, n: int) -> Any:
    square = isinstance(data, np.ndarray) and data.shape[0] == data.shape[-1] and data.ndim == 2
    return data[:n, :n] if square else data[:n]


def small(model: Any) -> Any:
    """With few steps, on one thread."""
    known = model.get_params()
    few = {"n_jobs": 1, "random_state": 0, "time": 5, "trials": 2, "n_components": None, "cv": 2,
           "steps": 2, "n_neighbors": 3, "n_landmarks": 4}  # fmt: skip
    few.pop("n_components")
    return model.set_params(**{name: value for name, value in few.items() if name in known})


#: public names for special tasks, in rooms of the learners
IN_ROOMS = {"CoordinateDescentWeights", "TwoStageRegressor", "noise_features"}


def public_name(cls: type) -> str:
    known = (*mercer.__all__, *IN_ROOMS)
    return cls.__name__ if cls.__name__ in known else f"deep.{cls.__name__}"


def estimators() -> Iterator[Door]:
    for place, (kind, make) in enumerate(fuzz_fields.MODELS):
        model = make()
        name, data = public_name(type(model)), first_of(fuzz_fields.samples()[kind], 12)
        yield Door(f"{name} of {kind}", kind, data, partial(fit, small(model)))
        yield Door(f"{name} of {kind}, fitted", kind, data, partial(ask, partial(fitted, place)))


# --- indexes -------------------------------------------------------------------------------------


def index(make: Callable[[], Any], X: Any) -> Any:
    made = make().fit(X)
    return made.query(X, 1) if made is not None else None


def query(make: Callable[[], Any], good: Any, X: Any) -> Any:
    return make().fit(good).query(X, 1)


def indexes() -> Iterator[Door]:
    euclid, data = distances.Minkowski(), fuzz_fields.samples()
    for name, kind, make in (
        ("search.BruteForce", "vectors", partial(search.BruteForce, euclid)),
        ("search.KDTree", "vectors", partial(search.KDTree, euclid)),
        ("search.MetricTree", "vectors", partial(search.MetricTree, euclid)),
        ("search.MetricTree", "strings", partial(search.MetricTree, distances.Edit())),
        ("LSHIndex", "vectors", partial(search.LSHIndex, euclid)),
        ("LSHIndex", "sets", partial(search.LSHIndex, distances.Jaccard())),
        ("LSHIndex", "categories", partial(search.LSHIndex, distances.Match())),
    ):
        good = first_of(data[kind], 12)
        yield Door(f"{name} of {kind}", kind, good, partial(index, make), True)
        yield Door(f"{name} of {kind}, queries", kind, good, partial(query, make, good), True)
    good = first_of(data["vectors"], 12)
    yield Door(
        "search.fit_index", "vectors", good, lambda X: search.fit_index(X, euclid)[0].query(X, 1)
    )
    yield Door("search.BitSampling", "categories", first_of(data["categories"], 12),
               lambda X: query(partial(search.LSHIndex, distances.Match()), X, X))  # fmt: skip


# --- functions -----------------------------------------------------------------------------------


def rows_of(X):
    return X.shape[0] if hasattr(X, "shape") else len(X)


def y_of(X: Any) -> np.ndarray:
    return np.arange(_num_samples(X)) % 2


def functions() -> Iterator[Door]:
    rbf, data = kernels.RBF(), fuzz_fields.samples()
    X12 = data["vectors"][:12]
    machine = mercer.SVR().fit(X12, y_of(X12))
    K12 = data["matrix"][:12, :12]
    words = data["strings"][:12]
    on_vectors: dict[str, Callable[[Any], Any]] = {
        "effective_dimension": lambda X: mercer.effective_dimension(rbf, X, 0.1),
        "hsic_test": lambda X: tuple(mercer.hsic_test(rbf, rbf, X, X, permutations=9))[:2],
        "noise_features": lambda X: vars_of(
            noise_features(X, y_of(X), n_neighbors=2)),
        "kernels.check_mercer": lambda X: vars_of(kernels.check_mercer(rbf, X)),
        "samples.as_samples": lambda X: np.asarray(samples.as_samples(X).shape),
        "samples.number_columns": lambda X: samples.number_columns(samples.read(X, "table")[1]),
        "samples.columns_by_kind": lambda X: samples.columns_by_kind(samples.read(X, "table")[1]),
        "samples.describe": samples.describe,
        "samples.read": lambda X: rows_of(samples.read(X)[1]),
        "samples.read of a table": lambda X: np.asarray(samples.read(X, "table")[1].shape),
        "samples.column_names": lambda X: len(samples.column_names(samples.read(X, "table")[1])),
        "samples.float_array": lambda X: samples.float_array("X", X).shape,
        "samples.is_number": lambda X: float(samples.is_number(X)),
        "samples.is_whole": lambda X: float(samples.is_whole(X)),
        "samples.kind_of": samples.kind_of,
        "samples.kind_that_holds": samples.kind_that_holds,
        "samples.refuse_objects": lambda X: samples.refuse_objects(X, "me"),
        "distances.correlation_weights": lambda X: distances.correlation_weights(X, y_of(X)),
        "distances.dense_rows": lambda X: None if distances.dense_rows(X) is X else np.zeros(1),
        "alignment": lambda X: mercer.alignment(rbf, rbf, X),
        "alignment with a target": lambda X: mercer.alignment(rbf, y_of(X), X),
        "mmd_test": lambda X: tuple(mercer.mmd_test(rbf, X, X12, permutations=9))[:2],
        "gram.gram": lambda X: gram.gram(rbf, rbf.encode(X)).dense(),
        "NearestNeighbors": lambda X: mercer.NearestNeighbors(n_neighbors=2).fit(X).kneighbors(X),
        "NeighbourEmbedding": lambda X: mercer.NeighbourEmbedding(2, steps=10).fit(X).transform(X),
        "explain.shapley_values": lambda X: explain.shapley_values(machine, X, X12).values,
        "explain.shapley_values, background": lambda X: explain.shapley_values(
            machine, X12[:2], X).values,
        "explain.shapley_interactions": lambda X: explain.shapley_interactions(
            machine, X, X12).values,
        "distributed.Distributed": lambda X: distributed.Distributed(
            mercer.KernelRidge(rank=4, kernel="rbf")).fit(X, y_of(X)).predict(X),
        "search.DescentIndex": lambda X: search.DescentIndex(
            distances.Minkowski()).fit(X).query(X, 1),
        "search.SampleDescentIndex": lambda X: search.SampleDescentIndex(
            distances.Minkowski()).fit(X).query(X, 1),
        "search.NeighbourGraph": lambda X: search.NeighbourGraph(
            distances.Minkowski(), 2).fit(X).distances_,
        "search.KnownNeighbours": lambda X: mercer.NearestNeighbors(
            n_neighbors=1, metric="precomputed").fit(X).kneighbors(X),
        "samples.largest_column": lambda X: samples.largest_column(samples.as_samples(X)),
    }  # fmt: skip
    on_matrices: dict[str, Callable[[Any], Any]] = {
        "kernels.Precomputed": kernels.Precomputed(),
        "kernels.repair": kernels.repair,
        "samples.encode_matrices": lambda K: samples.encode_matrices([K, K], None, "me").shape,
        "solvers.nonnegative_minimum": lambda K: solvers.nonnegative_minimum(K, np.ones(12)).coef,
        "solvers.nonnegative_minimum on the simplex": lambda K: solvers.nonnegative_minimum(
            K, np.ones(12), simplex=True).coef,
        "solvers.riccati": lambda K: solvers.riccati(K, K, K),
    }  # fmt: skip
    for name, call in on_vectors.items():
        yield Door(name, "vectors", X12, call)
    for name, call in on_matrices.items():
        yield Door(name, "matrix", K12, call)
    yield Door(
        "hsic_test on strings",
        "strings",
        words,
        lambda X: tuple(
            mercer.hsic_test(kernels.Spectrum(2), kernels.Spectrum(1), X, X, permutations=9)
        )[:2],
    )
    yield Door("dedup.CorpusIndex", "strings", words, corpus_index)
    yield Door("dedup.CorpusIndex, queries", "strings", words,
               lambda X: corpus_index(words, asked=X))  # fmt: skip
    yield Door("samples.read of strings", "strings", words,
               lambda X: len(samples.read(X, "strings")[1]))  # fmt: skip
    yield Door(
        "samples.kind_in_cells",
        "objects",
        words,
        lambda X: samples.kind_in_cells([*samples.read(X, "objects")[1]]),
    )
    yield Door("samples.read of sets", "sets", data["sets"][:9],
               lambda X: rows_of(samples.read(X, "sets")[1]))  # fmt: skip
    yield Door(
        "alignment on strings",
        "strings",
        words,
        lambda X: mercer.alignment(kernels.Spectrum(2), kernels.Spectrum(1), X),
    )
    yield Door("mmd_test on strings", "strings", words, lambda X: tuple(
        mercer.mmd_test(kernels.Spectrum(2), words, X, permutations=9))[:2])  # fmt: skip
    yield Door("distances.correlation_weights of a table", "table", data["table"][:12],
               lambda X: distances.correlation_weights(X, y_of(X)))  # fmt: skip
    yield Door("RecordLinkage", "table", data["table"],
               lambda X: mercer.RecordLinkage().fit(X).near_.weight)  # fmt: skip
    reader = mercer.SVC(kernel=kernels.Spectrum(2)).fit(words, y_of(words))
    yield Door("explain.letters", "strings", words, lambda X: np.concatenate(
        explain.letters(reader, X).values))  # fmt: skip
    yield Door("explain.variants", "strings", words[:3], lambda X: explain.variants(
        reader, X, [(0, 0, "", "A")]).changes)  # fmt: skip
    yield Door("deduplicate", "strings", words, lambda X: vars_of(mercer.deduplicate(X)))
    yield Door("dedup.deduplicate against", "strings", words,
               lambda X: vars_of(dedup.deduplicate(words, against=X)))  # fmt: skip
    for kind in ("strings", "sets", "objects", "series", "bags", "graphs", "trees", "categories"):
        good = data.get(kind, [*cases.objects()])[:9]
        yield Door(f"samples.as_samples of {kind}", kind, good,
                   lambda X, kind=kind: np.asarray(samples.as_samples(X, kind).shape))  # fmt: skip
    yield Door("samples.series_of", "series", data["series"][:6], samples.series_of)


def corpus_index(docs: Any, asked: Any = None) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        made = dedup.CorpusIndex.create(Path(folder) / "index")
        made.append(docs)
        return made.query(docs if asked is None else asked)["similarity"]


def vars_of(result: Any) -> list:
    """The arrays that a result holds."""
    found = result._asdict() if hasattr(result, "_asdict") else vars(result)
    return [value for value in found.values() if isinstance(value, (np.ndarray, float))]


DOORS = [
    *compared(), *estimators(), *indexes(), *functions(),
    *(Door(*way, way[0] in INFINITE) for way in drawn.WAYS),
]  # fmt: skip

#: public names that are no doors, by room, and why
NO_DATA = {
    f"{room}.{name}".lstrip("."): reason
    for room, reason, names in (
        ("", "reads files, parts of data that others check, or nothing",
         "Checkpoint Chunks load save show_versions to_onnx"),
        ("datasets", "draws data", "convex rectangles registers throws"),
        ("dedup", "results and parameters", "Bands Characters Duplicates Fragments Words"),
        ("deep", "needs torch (`deep/networks/test_hostile_tensors.py`), or reads images or tokens",
         """ArcCosineFeatures AttentionClassifier FourierFeatures FunctionKernel KernelAttention
         NeuralKernelBlock NeuralKernelNetwork NystroemFeatures PooledScales PositiveFeatures
         attention_weights kernel_attention ConvolutionalDeepKernelMachine DeepKernelClassifier
         DeepKernelMachine DeepKernelRegressor NeuralKernelClassifier NeuralKernelRegressor
         UnsupervisedSum"""),
        ("distances", "interfaces",
         "Comparison Composite Coordinates Distance Meaning Norm"),
        ("distributed", "needs dask", """ClusterLostError DaskEngine Engine Partition
         ThreadEngine need_mercer"""),
        ("gram", "reads encoded samples or matrices", """CentredGram PreparedSide CombinedGram
         CrossFeatureGram DenseGram FactoredGram FeatureGram GramFactor GramOperator LabelledGram
         Leaves LocalGram LowRankGram MatrixPart Means MultipliedGram Place ScaledGram ShiftedGram
         TiledGram TriangleGram grow_leaves held_for_products low_rank_gram pivoted_cholesky
         register require"""),
        ("explain", "results", "LetterValues ShapleyInteractions ShapleyValues VariantScores"),
        ("kernels", "interfaces, results and factories", """Formula Kernel Layer Meaning
         GramProducts MercerCheck NotSeparable Radial Term as_kernel product_of_columns
         sum_of_columns"""),
        ("link", "results", "LevelWeight LinkColumn PairClass Pairs"),
        ("learners", "interfaces",
         "FitPath FitsInParts KernelLearner PartFit Survey Training"),
        ("samples", "encoded samples, and what reads them", """Bags Categories Counts EncodedColumns
         Graphs Kind MatrixRows Molecules NodeGraph Objects Prepared Ragged Samples Series Sets
         Strings Table Trees Vectors all_kinds graphs_of joined joined_rows kind_named
         refuse_missing register_kind select_columns split_items"""),
        ("search", "interfaces and values", """ALGORITHMS HashFamily Hyperplanes Index
         Sensitivity StableProjections"""),
        ("solvers", "reads operators", """AlignmentWeights CholeskyFactor CholeskySolver
         ConjugateGradientSolver ConvergenceWarning DualProblem EasyWeights EigenFactor
         EigenProSolver EigenSolver Eigenpairs HingeMachines InnerProducts KMeansResult KMeansSolver
         LocalSolver LowRankFactor LowRankSolver MarginWeights NeighbourhoodWeights NewtonLogistic
         NystroemPreconditioner Preconditioner PreparedPreconditioner Reason Result RidgeFolds
         RidgeMachine RidgeSweep RowSource SketchedFactor SketchedSolver SmoResult SmoSolver
         EmbeddingSolver LandmarkScaling TopEigenSolver dense_eigenpairs factor_eigenpairs
         inner_products row_source"""),
        ("speech", "results, and what reads files",
         "Enhanced Recording Scenes find_recordings read_audio"),
    )
    for name in names.split()
}  # fmt: skip
