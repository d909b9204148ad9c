"""Plant random faults in a room, and see whether its tests notice: ``make mutants ROOM=samples``.

For the one who writes tests. Each mutant is the package with one change: an operator or a
comparison is another one, a number is off by one, an argument is lost or swapped with its
neighbour, a call or a guard is left out. The quick lane of the room's tests runs on a copy of the
package in a temporary folder, so that the checkout stays as it is, even if this is killed. Those
that survive are printed; some of them change no result, which only a reader can tell. The same seed
plants the same faults in the same sources.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mercer import _native

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src/mercer"

#: what else shows the faults of a room, after its own tests and those for all rooms around it
FURTHER = {
    "samples": ["tests/test_chunks.py", "tests/distances/test_contract.py",
                "tests/kernels/test_contract.py", "tests/plug_ins/test_graph_kind.py"],
    "tables": ["tests/selection/automatic", "tests/cli/test_hostile_tables.py",
               "tests/plug_ins/test_graph_kind.py"],
    "machines": ["tests/machines", "tests/selection/automatic"],
    "selection": ["tests/learners/test_orders.py", "tests/cli/test_seed.py"],
    "solvers/ridge": ["tests/learners/ridge"],
    "solvers/rows": ["tests/solvers/smo", "tests/learners/margin/test_svm_classes.py"],
    "solvers/linear": ["tests/learners/margin/test_linear_svm.py"],
    "solvers/smo": ["tests/learners/margin/test_svm_family.py", "tests/learners/perceptrons"],
    "solvers/weights": ["tests/learners/many_kernels", "tests/learners/metrics"],
    "solvers/clusters": ["tests/learners/spectral/test_kmeans.py"],
    "solvers/eigen": ["tests/learners/spectral/test_pca.py", "tests/deep"],
    "learners": ["tests/testing/test_objects.py"],
    "persistence": ["tests/search/test_files.py"],
    "gram": ["tests/test_chunks.py"],
    "kernels": ["tests/test_chunks.py"],
    "distances": ["tests/kernels/test_contract.py", "tests/test_chunks.py"],
    "threads": ["tests/gram", "tests/search"],
}  # fmt: skip

OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Div, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
PAIRS = [
    ("train", "test"), ("train", "own"), ("own", "others"), ("X_train", "X_test"), ("X", "Z"),
    ("y_train", "y_test"), ("low", "high"), ("min", "max"), ("argmin", "argmax"), ("any", "all"),
    ("minimum", "maximum"), ("sum", "mean"), ("zeros", "ones"), ("rows", "columns"),
    ("codes", "levels"), ("first", "last"), ("start", "stop"), ("floor", "ceil"),
]  # fmt: skip
NAMES = {a: b for pair in PAIRS for a, b in (pair, pair[::-1])}


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Attributes
    ----------
    path : Path
    kind : str
    place : int
        Which of the file's nodes, in the order of `ast.walk`.
    choice : int
        Which of its changes of this kind.
    """

    path: Path
    kind: str
    place: int
    choice: int

    def planted(self) -> tuple[str, str] | None:
        """The source with the change, and a line that shows it; None if it is the same source."""
        tree = ast.parse(self.path.read_text())
        nodes = list(ast.walk(tree))
        node = nodes[self.place]
        inner: Any = next(n for n in reversed(statements_of(tree)[node]) if hasattr(n, "lineno"))
        name, line = self.path.relative_to(SOURCES), inner.lineno
        before, whole = _headline(inner), ast.unparse(tree).splitlines()
        KINDS[self.kind](node)[self.choice]()
        after, source = _headline(inner), ast.unparse(ast.fix_missing_locations(tree))
        changed = [pair for pair in zip(whole, source.splitlines()) if pair[0] != pair[1]]
        if not changed:
            return None
        if before == after:  # the change is in the body
            before, after = map(str.strip, changed[0])
        return source, f"{name}:{line}: {self.kind}: {before}  ->  {after}"


# --- kinds of changes: node -> functions that make the change ------------------------------------


def _set(node: Any, field: str, value: Any) -> Callable:
    return lambda: setattr(node, field, value)


def _operator(node: Any) -> list[Callable]:
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in OPERATORS:
        return [_set(node, "op", OPERATORS[type(node.op)]())]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return [_set(node, "op", ast.UAdd())]
    return []


def _comparison(node: Any) -> list[Callable]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        return [_set(node, "ops", [COMPARISONS[type(node.ops[0])](), *node.ops[1:]])]
    return []


def _logic(node: Any) -> list[Callable]:
    if isinstance(node, ast.BoolOp):
        return [_set(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())]
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        return [_set(node, "test", ast.UnaryOp(ast.Not(), node.test))]
    return [_set(node, "ifs", [])] if isinstance(node, ast.comprehension) and node.ifs else []


def _number(node: Any) -> list[Callable]:
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool):
        return [_set(node, "value", not value)]
    if isinstance(value, int):
        return [_set(node, "value", value + 1)]
    return [_set(node, "value", value * 2)] if isinstance(value, float) else []


def _lost(node: Any) -> list[Callable]:
    """Statements without a value that others read, and whole guards."""
    out = []
    for field in ("body", "orelse", "finalbody"):
        body: Any = getattr(node, field, None)
        for i, line in enumerate(body if isinstance(body, list) else []):
            call = isinstance(line, ast.Expr) and isinstance(line.value, ast.Call)
            guard = isinstance(line, ast.If) and isinstance(line.body[-1], ast.Raise)
            if call or guard or isinstance(line, (ast.AugAssign, ast.Raise)):
                out.append(_set(node, field, [*body[:i], ast.Pass(), *body[i + 1 :]]))
    return out


def _arguments(node: Any) -> list[Callable]:
    if not isinstance(node, ast.Call):
        return []
    given = node.keywords
    out = [_set(node, "keywords", [o for o in given if o is not k]) for k in given if k.arg]
    alike = ast.unparse(node.func) in ("min", "max", "np.minimum", "np.maximum", "np.array_equal")
    pair = len(node.args) >= 2 and not any(isinstance(a, ast.Starred) for a in node.args[:2])
    if pair and not alike:
        out.append(_set(node, "args", [*node.args[1::-1], *node.args[2:]]))
    return out


def _name(node: Any) -> list[Callable]:
    for kind, field in ((ast.Name, "id"), (ast.Attribute, "attr")):
        if isinstance(node, kind) and isinstance(node.ctx, ast.Load):
            other = NAMES.get(getattr(node, field))
            return [_set(node, field, other)] if other else []
    return []


def _return(node: Any) -> list[Callable]:
    """The first argument of the call that is returned, or nothing."""
    if not isinstance(node, ast.Return) or node.value is None:
        return []
    given = node.value.args if isinstance(node.value, ast.Call) else []
    known = given and not isinstance(given[0], ast.Starred)
    return [_set(node, "value", given[0] if known else ast.Constant(None))]


KINDS: dict[str, Callable[[Any], list[Callable]]] = {
    "operator": _operator, "comparison": _comparison, "logic": _logic, "number": _number,
    "lost": _lost, "arguments": _arguments, "name": _name, "return": _return,
}  # fmt: skip


# --- where they may be ---------------------------------------------------------------------------


def mutants(paths: list[Path]) -> Iterator[Mutant]:
    """All mutants, except in what no test reads."""
    for path in paths:
        tree = ast.parse(path.read_text())
        skipped = unread(tree)
        for place, node in enumerate(ast.walk(tree)):
            if node not in skipped:
                for kind, changes in KINDS.items():
                    for choice in range(len(changes(node))):
                        yield Mutant(path, kind, place, choice)


def statements_of(tree: ast.AST) -> dict[ast.AST, list[ast.AST]]:
    """For each node the statements that it is in, the outermost first."""
    found: dict[ast.AST, list[ast.AST]] = {tree: [tree]}
    queue: list[ast.AST] = [tree]
    while queue:
        node = queue.pop()
        for child in ast.iter_child_nodes(node):
            is_statement = isinstance(child, ast.stmt)
            found[child] = [*found[node], child] if is_statement else found[node]
            queue.append(child)
    return found


def unread(tree: ast.AST) -> set[ast.AST]:
    """Annotations, messages and lists of names, which no test reads."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        part: Any = None
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            part = node.returns
        elif isinstance(node, (ast.arg, ast.AnnAssign)):
            part = node.annotation
        elif isinstance(node, ast.Raise):
            part = node.exc
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            part = node.value
        elif isinstance(node, ast.JoinedStr):
            part = node
        found.update(ast.walk(part) if part else ())
    return found


def _headline(node: ast.AST) -> str:
    """The statement on one line; of one with a body, its head."""
    head: Any = copy.copy(node)
    if isinstance(getattr(head, "body", None), list):
        head.body = [ast.Expr(ast.Constant(...))]
        for field in ("orelse", "finalbody", "handlers"):
            if hasattr(head, field):
                setattr(head, field, [])
    text = " ".join(ast.unparse(ast.fix_missing_locations(copy.deepcopy(head))).split())
    return text if len(text) <= 160 else f"{text[:157]}..."


# --- the runs ------------------------------------------------------------------------------------


def prepared(folder: Path) -> None:
    """A copy of the package, which Python finds before the editable install."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCES, folder / "mercer", ignore=ignored)
    shutil.copy(_native.__file__, folder / "mercer")
    (folder / "sitecustomize.py").write_text(
        "import sys\n"
        "sys.meta_path[:] = [f for f in sys.meta_path if 'ScikitBuild' not in type(f).__name__]\n"
    )


def green(tests: list[str], folder: Path, limit: float | None) -> bool | None:
    """Whether all tests pass; None if they take too long."""
    settings = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    cache = f"cache_dir={folder / 'cache'}"
    command = [sys.executable, "-m", "pytest", "-x", "--tb=no", "-o", cache, *tests]
    process = subprocess.Popen(
        command, cwd=ROOT, env={"OPENBLAS_NUM_THREADS": "1", **os.environ, **settings},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        return process.wait(limit) == 0
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 9)  # with what it started itself
            process.wait()


def tests_of(room: str) -> list[str]:
    """The room's own tests, those directly in the folders around it, and what else shows faults."""
    around = [room, *map(str, Path(room).parents)][:-1]
    own = [f"tests/{name}" for name in around if (ROOT / "tests" / name).is_dir()][:1]
    if (SOURCES / room).with_suffix(".py").exists():
        alone = Path("tests", room).with_name(f"test_{Path(room).name}.py")
        own = [str(alone)] if (ROOT / alone).exists() else own
    shared = [
        str(path.relative_to(ROOT))
        for name in around[1:]
        if f"tests/{name}" not in own
        for path in sorted((ROOT / "tests" / name).glob("test_*.py"))
    ]
    further = [test for name in around for test in FURTHER.get(name, [])]
    return list(dict.fromkeys(own + shared + further))


def in_turn(tests: list[str], stem: str) -> list[list[str]]:
    """Files of tests in up to three groups: of the module's name, naming the module, and others."""
    files = [f for test in tests for f in sorted((ROOT / test).rglob("test_*.py")) or [ROOT / test]]
    near = {f: 0 if stem in f.stem else 1 if stem in f.read_text() else 2 for f in files}
    groups = [[str(f.relative_to(ROOT)) for f in files if near[f] == k] for k in range(3)]
    return [group for group in groups if group]


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("room", help="a folder or file of src/mercer, such as learners/ridge")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", nargs="*", help="files or folders, in place of the room's")
    given = parser.parse_args()
    room = SOURCES / given.room
    paths = sorted(room.rglob("*.py")) if room.is_dir() else [room.with_suffix(".py")]
    tests = given.tests or tests_of(given.room)
    by_kind = {kind: [m for m in mutants(paths) if m.kind == kind] for kind in KINDS}
    draw, chosen = random.Random(given.seed), []
    while len(chosen) < given.count and any(by_kind.values()):
        kind = draw.choice([kind for kind, some in by_kind.items() if some])
        mutant = by_kind[kind].pop(draw.randrange(len(by_kind[kind])))
        planted = mutant.planted()
        chosen += [(mutant.path, *planted)] if planted else []
    for ending in (signal.SIGINT, signal.SIGTERM):  # so that the folder is removed
        signal.signal(ending, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        folder = Path(name)
        prepared(folder)
        start = time.monotonic()
        if not green(tests, folder, None):
            print("The tests fail without any fault: mend them first.", *tests)
            return 1
        limit = 30 + 3 * (time.monotonic() - start)
        survived = []
        for number, (path, source, shown) in enumerate(chosen, 1):
            copied = folder / "mercer" / path.relative_to(SOURCES)
            copied.write_text(source)
            groups = in_turn(tests, path.stem)
            passed = next((p for g in groups if not (p := green(g, folder, limit))), True)
            copied.write_text(path.read_text())
            word = {True: "SURVIVED", False: "killed", None: "killed (too long)"}[passed]
            print(f"{number:3d} {word:9s} {shown}", flush=True)
            survived += [shown] if passed else []
    print(f"\n{len(chosen) - len(survived)} of {len(chosen)} faults in {given.room} were noticed.")
    if survived:
        print("Not noticed:", *survived, sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
