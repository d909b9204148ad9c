"""The tests that changed files touch: ``make quick FILE=src/mercer/gram/build.py``, or several.

They are the examples of the file itself; the test files and pages that import a name which the file
defines, by whatever face; and of the tests of its room those that import a name of a file which
uses it; if there are none, all tests of the room. Files in tests that are no tests, as cases.py,
pass on what they import. A test or a page touches itself. For native sources the files of the
package that call what they bind are asked. Without a file those are taken that git says have
changed. ``make test`` still has the last word: a fault may show only far from where it is.
"""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src/mercer"
TESTS = ROOT / "tests"
SOURCES = [*PACKAGE.rglob("*.py"), *TESTS.rglob("*.py"), *(ROOT / "docs").rglob("*.rst")]


def touched(paths: Iterable[Path]) -> list[Path]:
    """Test files, pages and files with examples, for pytest; a file's own tests come first."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_relative_to(ROOT / "src/native"):
            found |= dict.fromkeys([TESTS / "native", *touched(callers(path))])
        elif is_run(path) or path.suffix == ".rst":
            found[path] = None
        elif path in SOURCES:
            found |= dict.fromkeys(touched_by(path))
    return list(found)


def touched_by(path: Path) -> Iterator[Path]:
    """What one file of the package, or one that tests share, touches."""
    near = with_shared(importers().get(path, set()))
    further = with_shared(set().union(*(importers().get(user, set()) for user in near)))
    rooms = rooms_of(path)
    if path.is_relative_to(PACKAGE) and ">>> " in path.read_text() and can_be_imported(path):
        yield path
    tests = [
        *sorted(other for other in near | further if other.name == f"test_{path.stem}.py"),
        *sorted(other for other in near if is_run(other)),
        *sorted(other for other in further if is_run(other) and other.is_relative_to(rooms[-1])),
    ]
    yield from tests or rooms[:1]


def rooms_of(path: Path) -> list[Path]:
    """The folders of tests that mirror the rooms of a file, the innermost first."""
    if not path.is_relative_to(PACKAGE):
        return [TESTS]
    rooms = [TESTS / room for room in path.relative_to(PACKAGE).parents][:-1]
    return [room for room in rooms if room.is_dir()] or [TESTS]


def can_be_imported(path: Path) -> bool:
    """Whether its examples can run, which those of torch cannot where that is not installed."""
    try:
        importlib.import_module(".".join(path.relative_to(ROOT / "src").with_suffix("").parts))
    except ImportError:
        return False
    return True


def with_shared(paths: set[Path]) -> set[Path]:
    """These, and what imports those of them that tests share."""
    shared = {p for p in paths if p.is_relative_to(TESTS) and not is_run(p)}
    return paths.union(*(importers().get(path, set()) for path in shared))


def is_run(path: Path) -> bool:
    """Whether pytest runs the file as a whole."""
    tested = path.is_relative_to(TESTS) and path.name.startswith("test_")
    return tested or path.suffix == ".rst"


def callers(native: Path) -> list[Path]:
    """Files of the package that call what a native source binds, or what is bound by its name."""
    names = set(re.findall(r'\bdef\(\s*"(\w+)"', native.read_text()))
    stem = native.stem.removeprefix("bind_")
    binder = native.with_name(f"bind_{stem}.cpp")
    if not names and binder.exists():
        names = set(re.findall(r'\bdef\(\s*"(\w+)"', binder.read_text()))
    called = re.compile(rf"\b_native\.({'|'.join(sorted(names)) or stem})\b")
    return [path for path in PACKAGE.rglob("*.py") if called.search(path.read_text())]


@cache
def importers() -> dict[Path, set[Path]]:
    """For each file those that import a name which it defines."""
    found: dict[Path, set[Path]] = {}
    for path in SOURCES:
        for module, name in imports(path):
            home = file_of_name(module, name)
            if home and home != path:
                found.setdefault(home, set()).add(path)
    return found


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """Modules and names of them that a file imports; `mercer.SVC` is one as well."""
    text = path.read_text()
    if path.suffix == ".rst":
        lines = re.findall(r"^ *(?:>>>|\.\.\.) (.*)$", text, re.MULTILINE)
        for module, names in re.findall(r"from (mercer[\w.]*) import ([\w, ]+)", "\n".join(lines)):
            yield from ((module, name.strip()) for name in names.split(","))
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.Attribute) and root_of(node) == "mercer":
            yield ast.unparse(node.value), node.attr


def root_of(node: ast.expr) -> str | None:
    """The name before the first dot."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


@cache
def file_of_name(module: str, name: str) -> Path | None:
    """The file that defines what a module gives by this name; None if it is not of this house."""
    own = file_of(f"{module}.{name}") or file_of(module)
    if own is None or own.stem == name or not name:
        return own
    if name in (known := bound(own)):
        return file_of_name(*known[name]) or own
    if own.name == "__init__.py":  # names that it finds on first use
        home = getattr(value_of(module, name), "__module__", module)
        return file_of(home) or own
    return own


@cache
def bound(path: Path) -> dict[str, tuple[str, str]]:
    """Names that the file's own imports give, with the module and name that each comes from."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


@cache
def file_of(module: str) -> Path | None:
    for root in (ROOT / "src", TESTS):
        path = root.joinpath(*module.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.exists():
                return file
    return None


def value_of(module: str, name: str) -> Any:
    """A class or function; None if it cannot be had, as where torch is not installed."""
    try:
        value = getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None
    return value if isinstance(value, (type, FunctionType)) else None


def changed() -> list[Path]:
    """Files that differ from the last commit, and new ones."""
    command = ["git", "status", "--porcelain", "--untracked-files=all", "--no-renames"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / line[3:].strip('"') for line in lines.splitlines()]
    return [path for path in paths if path.exists()]


def main(given: list[str]) -> int:
    paths = [Path(name).resolve() for name in given] or changed()
    if missing := [name for name, path in zip(given, paths) if not path.exists()]:
        print(f"There is no file {missing[0]}.", file=sys.stderr)
        return 1
    tests = touched(paths)
    if not tests:
        print("No test imports what these files define: `make test` runs all.", file=sys.stderr)
        return 1
    print(*(path.relative_to(ROOT) for path in tests))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
