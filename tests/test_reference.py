"""The reference (docs/api.rst) has every public name, and those whom users call have an example."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

import mercer

PAGE = Path(__file__).parents[1] / "docs" / "api.rst"
ROOMS = sorted(name for name in mercer.__all__ if inspect.ismodule(getattr(mercer, name)))
WITH_EXAMPLES = ["mercer", "mercer.kernels", "mercer.distances", "mercer.plots"]

# what kernels and distances of one's own return to the library, or raise
WITHOUT = {"Norm", "GramProducts", "NotSeparable", "Term"}

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
    if name == "mercer.deep":
        pytest.importorskip("torch")
    assert LISTED.get(name, set()) <= set(importlib.import_module(name).__all__)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_what_users_call_has_an_example(name):
    module = importlib.import_module(name)
    for public in sorted(LISTED[name]):
        thing = getattr(module, public)
        if public not in WITHOUT and not inspect.isabstract(thing):
            assert ">>>" in (inspect.getdoc(thing) or ""), f"{name}.{public}"
