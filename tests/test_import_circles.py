"""Circles within rooms, and names that are given twice, which no contract sees."""

import ast
import pkgutil
import tomllib
from collections import Counter
from contextlib import suppress
from copy import copy
from importlib import import_module
from pathlib import Path

import pytest

import mercer

grimp = pytest.importorskip("grimp")  # not with the oldest versions of what the package needs
pytest.importorskip("importlinter")
PROJECT = Path(__file__).parents[1] / "pyproject.toml"
CONTRACTS = tomllib.loads(PROJECT.read_text("utf-8"))["tool"]["importlinter"]["contracts"]


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("mercer", cache_dir=None)


def test_no_file_imports_the_room_that_it_is_in(graph):
    """That would be a circle, for the room's __init__.py imports its files."""
    inside = [module for module in graph.modules if module.count(".") >= 2]
    assert not [
        module
        for module in inside
        for other in graph.find_modules_directly_imported_by(module)
        if other != "mercer" and module.startswith(f"{other}.")
    ]


def test_an_import_past_a_face_is_seen(graph):
    """The contract of faces.py, with a fault that is planted."""
    from faces import FacesContract

    graph = copy(graph)
    importer, inner = "mercer.cli.fit", "mercer.learners.base.kernel_learner"
    contract = FacesContract("faces", session_options={}, contract_options={})
    assert contract.check(graph, verbose=False).kept
    graph.add_import(importer=importer, imported=inner)
    assert contract.check(graph, verbose=False).metadata["past"] == [(importer, inner)]


def test_no_import_is_excepted():
    """The contracts refuse circles of rooms and of files; an exception would let one through."""
    assert {"layers", "acyclic_siblings"} <= {contract["type"] for contract in CONTRACTS}
    assert not [contract["name"] for contract in CONTRACTS if "ignore_imports" in contract]


def test_no_file_gives_a_name_twice():
    """The second value would hold beside the first one too, as where files are joined."""
    twice = {}
    for path in (PROJECT.parent / "src" / "mercer").rglob("*.py"):
        names: Counter = Counter()
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names[node.name] += 1
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                made = node.targets if isinstance(node, ast.Assign) else [node.target]
                known = _names(node.value or node, ast.Load)  # as in PALETTE = PALETTE.round()
                names.update(name for part in made for name in _names(part, ast.Store) - known)
        if found := [name for name, times in names.items() if times > 1 and name != "_"]:
            twice[path.name] = found
    assert twice == {}


def _names(node: ast.AST, use: type) -> set[str]:
    return {
        each.id for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, use)
    }  # fmt: skip


#: names that are public in two rooms, where each means the same of a kernel and of a distance
BOTH = {"Cosine", "Dice", "FromFunction", "Jaccard", "Match", "Precomputed", "Sum", "Tanimoto"}


def test_a_class_has_a_name_of_its_own():
    homes: Counter = Counter()
    for path in (PROJECT.parent / "src" / "mercer").rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name] += 1
    assert {name for name, count in homes.items() if count > 1} == BOTH


def test_a_face_has_all_that_it_names():
    for module in pkgutil.walk_packages(mercer.__path__, "mercer."):
        if not module.ispkg:
            continue
        with suppress(ImportError):  # a room that needs torch or another extra
            room = import_module(module.name)
            assert not [n for n in getattr(room, "__all__", ()) if not hasattr(room, n)], room
