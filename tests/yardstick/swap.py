"""A plug-in of pytest: scikit-learn's own tests meet the classes of this library.

``python -m pytest -p yardstick.swap --pyargs sklearn.svm.tests.test_svm``, in tests/, puts Mercer's
classes in the place of scikit-learn's of the same name, before any test imports them. Tests that
docs/scikit_learn.rst lists as different must fail, and all others must pass; so the page says all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest
import sklearn.neighbors._base

import mercer
from yardstick.processes import GaussianProcessRegressor

PAGE = Path(__file__).parents[2] / "docs" / "scikit_learn.rst"
NAMES = {
    "sklearn.svm": ["SVC", "SVR", "NuSVC", "NuSVR", "LinearSVC", "LinearSVR", "OneClassSVM"],
    "sklearn.neighbors": [
        "KNeighborsClassifier", "KNeighborsRegressor", "RadiusNeighborsClassifier",
        "RadiusNeighborsRegressor", "NearestNeighbors", "KernelDensity", "LocalOutlierFactor",
    ],
    "sklearn.linear_model": ["Perceptron"],
    "sklearn.kernel_ridge": ["KernelRidge"],
    "sklearn.decomposition": ["KernelPCA"],
    "sklearn.kernel_approximation": ["Nystroem"],
}  # fmt: skip
OTHER_NAMES = {
    ("sklearn.neighbors", "NeighborhoodComponentsAnalysis"): mercer.NeighbourhoodComponents,
    ("sklearn.model_selection", "GridSearchCV"): mercer.KernelSearchCV,
    ("sklearn.gaussian_process", "GaussianProcessRegressor"): GaussianProcessRegressor,
}


class Difference(NamedTuple):
    """Tests that are expected to fail, as ``module::name`` with ``*`` for any text, and why."""

    pattern: str
    reason: str

    def matches(self, test: str) -> bool:
        """A name without parameters stands for all of them."""
        name = ".*".join(map(re.escape, self.pattern.split("*")))
        return re.fullmatch(name if "[" in self.pattern else name + r"(\[.*)?", test) is not None


def differences() -> Iterator[Difference]:
    """What the page lists: a paragraph that says why, and below it an indented list of tests."""
    reason = ""
    for paragraph in re.split(r"\n\s*\n", PAGE.read_text()):
        lines = paragraph.splitlines()
        if all(re.match(r"\s+[\w.]+::test_", line) for line in lines):
            for line in lines:
                yield Difference(line.strip(), reason)
        elif not paragraph[:1].isspace():
            reason = " ".join(lines).removesuffix("::").strip()


def pytest_configure() -> None:
    """Put the classes in place; first all are loaded, with what they import themselves."""
    theirs = {(module, name): getattr(mercer, name) for module in NAMES for name in NAMES[module]}
    for (module, name), ours in (theirs | OTHER_NAMES).items():
        setattr(import_module(module), name, ours)
    # one test asks for it, to know whether a class has neighbours by number or by radius
    sklearn.neighbors._base.KNeighborsMixin = (  # type: ignore[assignment, misc]
        mercer.KNeighborsClassifier,
        mercer.KNeighborsRegressor,
        mercer.NearestNeighbors,
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the differences of the modules that are run; each has to stand for some test."""
    names = {
        item: f"{item.module.__name__.removeprefix('sklearn.')}::{item.name}" for item in items
    }
    modules = {name.partition("::")[0] for name in names.values()}
    for difference in differences():
        found = [item for item, name in names.items() if difference.matches(name)]
        if not found and difference.pattern.partition("::")[0] in modules:
            raise pytest.UsageError(f"{PAGE.name} lists {difference.pattern}, which is no test.")
        for item in found:
            item.add_marker(pytest.mark.xfail(strict=True, reason=difference.reason))
