"""The reference (docs/api.rst) has every public name, each with an example."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import mercer
from mercer.search import Index

PAGE = Path(__file__).parents[1] / "docs" / "api.rst"
EXAMPLES = re.compile(r"^Examples\n-+\n(?=[\s\S]*^>>> )", re.MULTILINE)
PART = r"(?:len\(\w+\)|(?!\d{4}\b)\w+)(?:(?: [-+] |\^)\w+)?"  # of a shape: n, len(i), T + 1, 2^d
SHAPE = re.compile(rf"\bshape\b|\bn rows\b|\({PART},(?: {PART}(?:, {PART})*)?\)")
ARRAY = re.compile(r"^[\w, ]+ : (?!(?:list|dict) of ).*\b(?:ndarray|array-like)\b.*$", re.MULTILINE)
YEAR = re.compile(r"\b(1[6-9]\d\d|20[012]\d)(?=[,;).:]| \()")
ROOMS = sorted(name for name in mercer.__all__ if inspect.ismodule(getattr(mercer, name)))

#: what has no example, and why
WITHOUT_EXAMPLE = {
    "it is abstract, and its subclasses have examples": """Comparison Composite DeepKernelMachine
        Distance Engine FactoredGram FitsInParts GramFactor GramOperator HashFamily Kernel
        KernelLearner Layer Radial RowSource""",
    "a cluster must run, as in docs/cluster.rst": "ClusterLostError DaskEngine",
    "scikit-learn describes it": "ConvergenceWarning",
    "it needs a package that no extra installs": "pesq",
    "it decorates a test, which its example shows in a block": "parametrize_with_object_checks",
}

#: what has no formula on its page, and why
WITHOUT_FORMULA = {
    "it is abstract, or a part of one": """Kernel Distance Comparison Composite Norm Term Formula
        Coordinates NotSeparable GramProducts KernelLearner FitsInParts Kind Engine""",
    "it holds values, settings or reasons": """DenseGram MatrixPart PreparedSide Place Result Reason
        ConvergenceWarning LinkColumn PairClass KernelMachine Training Survey FitPath PartFit
        Partition ClusterLostError Enhanced Recording Scenes""",
    "it holds encoded samples": """Bags Categories Counts Graphs MatrixRows Molecules NodeGraph
        Objects Prepared Ragged Samples Series Sets Strings Table Trees Vectors""",
    "it reads samples, or finds their kind": """as_samples graphs_of kind_named kind_of
        kind_that_holds read register_kind series_of""",
    "it makes data at random": "convex rectangles registers throws make_scenes",
    "it is a function of the user's, or given values": "FromFunction Precomputed On",
    "it says something about a kernel": """Meaning MercerCheck check_mercer as_kernel repair
        product_of_columns sum_of_columns dense_rows""",
    "its table has a formula for each name": "Binary",
    "it is an algorithm of many steps, in its source": """MSM ConvolutionFeatures deduplicate pesq
        stoi""",
    "it chooses or searches among others, whose pages have formulas": """KernelClassifier
        KernelRegressor KernelSearchCV RecursiveElimination NearestNeighbors fit_index register
        held_for_products""",
    "the machine that is fitted has it": """DeepKernelMachine DeepKernelClassifier Distributed
        EnhancerStream""",
    "it runs what it is given": "DaskEngine ThreadEngine",
    "it reads, writes or says": """Checkpoint Chunks save load to_onnx show_versions save_report
        find_recordings read_audio write_audio""",
    "it tests": """DistanceContract GramContract KernelContract check_index check_object_estimator
        check_ridge_solver object_checks parametrize_with_object_checks""",
    "it draws what others compute": """AttentionDisplay CanonicalCorrelationDisplay ClusterDisplay
        ConvergenceDisplay DecisionSurfaceDisplay EmbeddingDisplay GramDisplay KernelWeightsDisplay
        LayerDisplay LeaveOneOutDisplay LevelSetDisplay MapDisplay NoiseFeatureDisplay
        RecallTimeDisplay SequenceDisplay ShapeDisplay ShapleyDisplay SpectrogramDisplay""",
}

#: what displays a formula, and has no source with a year on its page
WITHOUT_SOURCE = {
    "it is older than its name": """Linear Cosine Intersection Minkowski SquaredEuclidean half_axes
        mix""",
    "it is a form in which others are written": "Layer Radial",
    "it is made here": "TableKernel Descriptors SmoothedMatch LogFrequency PairDifferences",
    "it only says in which order numbers are computed or stored": """GramOperator gram TiledGram
        TriangleGram MultipliedGram Leaves row_source""",
    "it is the definition of nearest neighbours": "Index BruteForce KnownNeighbours",
    "the regressor of the same name has it": "NeighbourhoodMachineClassifier",
}

#: whose arrays have no shape on its page, and why
WITHOUT_SHAPE = {"it takes data in many forms": "read"}

#: what rooms of the library use of each other, and no user needs
SHARED = {
    "mercer.distributed": "need_mercer",
    "mercer.gram": "require",
    "mercer.samples": """EncodedColumns all_kinds column_names columns_by_kind describe
        encode_matrices float_array is_number is_whole joined joined_rows kind_in_cells
        largest_column number_columns refuse_missing refuse_objects select_columns split_items""",
    "mercer.search": "ALGORITHMS",
}


def names_of_the_page() -> dict[str, set[str]]:
    """The names of each module."""
    names, module = {}, ""
    for text in PAGE.read_text(encoding="utf-8").splitlines():
        if found := re.fullmatch(r"\.\. currentmodule:: (\S+)", text):
            module = found[1]
        elif found := re.fullmatch(r"   (\w+)", text):
            names.setdefault(module, set()).add(found[1])
    return names


def with_torch(name: str):
    """The module; the test is skipped if it needs torch, which is missing."""
    if name == "mercer.deep":
        pytest.importorskip("torch")
    return importlib.import_module(name)


LISTED = names_of_the_page()
MODULES = ["mercer", *(f"mercer.{room}" for room in ROOMS)]


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_in_the_reference(name):
    module = importlib.import_module(name)
    elsewhere = {
        id(getattr(importlib.import_module(other), public))
        for other in ("mercer", "mercer.kernels")  # where some names of other rooms are, too
        for public in LISTED[other]
    }
    missing = {
        public
        for public in set(module.__all__) - LISTED.get(name, set())
        if not inspect.ismodule(getattr(module, public))
        and id(getattr(module, public)) not in elsewhere
    }
    assert missing == set(SHARED.get(name, "").split())


@pytest.mark.parametrize("name", MODULES)
def test_the_reference_has_only_public_names(name):
    assert LISTED.get(name, set()) <= set(with_torch(name).__all__)


def pages(name: str) -> dict[str, str]:
    """The page of each name of a module, as plain text."""
    module = with_torch(name)
    return {public: inspect.getdoc(getattr(module, public)) or "" for public in LISTED[name]}


def returns_array(method: Callable) -> bool:
    """Whether the annotation of a method says that it returns one array."""
    return str(method.__annotations__.get("return")) == "np.ndarray"


def among(table: dict[str, str], names: Iterable[str]) -> set[str]:
    """Those of the names that the table gives a reason for."""
    return {*names} & set(" ".join(table.values()).split())


@pytest.mark.parametrize("name", LISTED)
def test_each_name_has_an_example(name):
    lacking = {public for public, text in pages(name).items() if not EXAMPLES.search(text)}
    assert lacking == among(WITHOUT_EXAMPLE, LISTED[name])


@pytest.mark.parametrize("name", LISTED)
def test_what_computes_a_formula_displays_it(name):
    lacking = {public for public, text in pages(name).items() if ".. math::" not in text}
    assert lacking == among(WITHOUT_FORMULA, LISTED[name])


@pytest.mark.parametrize("name", LISTED)
def test_what_displays_a_formula_has_a_dated_source(name):
    formulas = {public: text for public, text in pages(name).items() if ".. math::" in text}
    lacking = {public for public, text in formulas.items() if not YEAR.search(text)}
    assert lacking == among(WITHOUT_SOURCE, formulas)


@pytest.mark.parametrize("name", LISTED)
def test_arrays_on_a_page_have_a_shape(name):
    lacking = {
        public
        for public, text in pages(name).items()
        if any(not SHAPE.search(entry) for entry in ARRAY.findall(text))
    }
    assert lacking == among(WITHOUT_SHAPE, LISTED[name])


@pytest.mark.parametrize("name", LISTED)
def test_methods_that_return_an_array_say_its_shape(name):
    module = with_torch(name)
    for public in sorted(LISTED[name]):
        thing = getattr(module, public)
        for each in dir(thing) if inspect.isclass(thing) else ():
            method = inspect.getattr_static(thing, each)
            if each[0] != "_" and inspect.isfunction(method) and returns_array(method):
                assert SHAPE.search(inspect.getdoc(method) or ""), f"{public}.{each}"


def test_reasons_are_given_for_public_names():
    known = {public for names in LISTED.values() for public in names}
    for table in (WITHOUT_EXAMPLE, WITHOUT_FORMULA, WITHOUT_SOURCE, WITHOUT_SHAPE):
        assert set(" ".join(table.values()).split()) <= known


def test_the_pages_show_methods_that_there_are():
    text = (PAGE.parent / "summaries.py").read_text(encoding="utf-8")
    own = set(re.search(r'^OWN = """(.+?)"""', text, re.DOTALL | re.MULTILINE)[1].split())
    public = [getattr(mercer, name) for name in LISTED["mercer"]]
    estimators = [
        each for each in public if inspect.isclass(each) and issubclass(each, BaseEstimator)
    ]
    assert own - {name for each in estimators for name in dir(each)} == set()
    users = {
        name for name in vars(Index) if inspect.isfunction(vars(Index)[name]) and name[0] != "_"
    }
    of_authors = {"arrange", "arrange_queries", "candidates", "insert", "fit", "fit_bound"}
    assert users - of_authors <= own
