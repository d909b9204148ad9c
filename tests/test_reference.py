"""The reference (docs/api.rst) has every public name, each with an example."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import mercer
from mercer.search import Index

PAGE = Path(__file__).parents[1] / "docs" / "api.rst"
EXAMPLES = re.compile(r"^Examples\n-+\n", re.MULTILINE)
ROOMS = sorted(name for name in mercer.__all__ if inspect.ismodule(getattr(mercer, name)))
WITH_FORMULAS = [
    f"mercer{room}"
    for room in ("", ".kernels", ".distances", ".dedup", ".deep", ".explain", ".gram", ".link",
                 ".search", ".solvers")
]  # fmt: skip

#: what has no example, and why
WITHOUT_EXAMPLE = {
    "it is abstract, and its subclasses have examples": """Comparison Composite DeepKernelMachine
        Distance Engine FactoredGram FitsInParts GramFactor GramOperator HashFamily Kernel
        KernelLearner Layer Radial RowSource""",
    "a cluster must run, as in docs/cluster.rst": "ClusterLostError DaskEngine",
    "scikit-learn describes it": "ConvergenceWarning",
    "it needs a package that no extra installs": "pesq",
}

#: what has no formula on its page, and why
WITHOUT_FORMULA = {
    "it is abstract, or a part of one": """Kernel Distance Comparison Composite Norm Term Formula
        Coordinates NotSeparable GramProducts""",
    "it holds values, settings or reasons": """DenseGram MatrixPart PreparedSide Place Result Reason
        ConvergenceWarning LinkColumn PairClass""",
    "it is a function of the user's, or given values": "FromFunction Precomputed On",
    "it says something about a kernel": """Meaning MercerCheck check_mercer as_kernel repair
        product_of_columns sum_of_columns dense_rows""",
    "its table has a formula for each name": "Binary",
    "it is an algorithm of many steps, in its source": "MSM ConvolutionFeatures deduplicate",
    "it chooses or searches among others, whose pages have formulas": """KernelClassifier
        KernelRegressor KernelSearchCV RecursiveElimination NearestNeighbors fit_index register
        held_for_products""",
    "the machine that is fitted has it": "DeepKernelMachine DeepKernelClassifier",
    "it reads, writes or says": "Checkpoint Chunks save load to_onnx show_versions",
}

#: what displays a formula, and has no source with a year on its page
WITHOUT_SOURCE = {
    "it is older than its names": "Linear Cosine Intersection Minkowski SquaredEuclidean Match",
    "it is a form in which others are written": "Layer Radial Sum",
    "it is made here": "TableKernel Descriptors SmoothedMatch LogFrequency PairDifferences",
    "it only says in which order numbers are computed or stored": """GramOperator gram TiledGram
        TriangleGram MultipliedGram Leaves row_source""",
    "it is the definition of nearest neighbours": "Index BruteForce KnownNeighbours",
    "the regressor of the same name has it": "NeighbourhoodMachineClassifier",
}

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


@pytest.mark.parametrize("name", LISTED)
def test_each_name_has_an_example(name):
    module = with_torch(name)
    without = set(" ".join(WITHOUT_EXAMPLE.values()).split())
    shown = {
        public
        for public in LISTED[name]
        if EXAMPLES.search(inspect.getdoc(getattr(module, public)) or "")
    }
    assert LISTED[name] - shown == LISTED[name] & without


@pytest.mark.parametrize("name", WITH_FORMULAS)
def test_what_computes_a_formula_displays_it(name):
    module = with_torch(name)
    without = set(" ".join(WITHOUT_FORMULA.values()).split())
    shown = {
        public
        for public in LISTED[name]
        if ".. math::" in (inspect.getdoc(getattr(module, public)) or "")
    }
    assert LISTED[name] - shown == LISTED[name] & without


@pytest.mark.parametrize("name", WITH_FORMULAS)
def test_what_displays_a_formula_has_a_dated_source(name):
    module = with_torch(name)
    without = set(" ".join(WITHOUT_SOURCE.values()).split())
    for public in sorted(LISTED[name] - without):
        text = inspect.getdoc(getattr(module, public)) or ""
        if ".. math::" in text:
            assert re.search(r"\b(1[6-9]|20)\d\d\b", text), f"{name}.{public}"


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
