"""What a reader and a type checker are told: few arguments are Any, the stub has the names of the
package, and longer private functions say what they are for."""

import ast
from pathlib import Path

import mercer

SOURCE = Path(mercer.__file__).parent
LIMIT = 7.99  # of 100 arguments; it may fall


def arguments(tree: ast.AST) -> list[ast.arg]:
    """The arguments of all functions, without self and cls."""
    found = [node.args for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [
        argument
        for each in found
        for argument in (*each.posonlyargs, *each.args, *each.kwonlyargs, each.vararg, each.kwarg)
        if argument is not None and argument.arg not in ("self", "cls")
    ]


def test_the_stub_is_read_as_python_reads_it():
    tree = ast.parse((SOURCE / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    homes = {alias.name: node.module for node in imports for alias in node.names}
    assert homes == mercer._HOME
    assert all(alias.name == alias.asname for node in imports for alias in node.names)
    assert {node.module for node in imports} >= {"mercer", "mercer.learners.margin.svc"}


def test_few_arguments_are_any():
    annotations = [
        argument.annotation
        for file in SOURCE.rglob("*.py")
        for argument in arguments(ast.parse(file.read_text(encoding="utf-8")))
    ]
    loose = sum(a is not None and ast.unparse(a) in ("Any", "Any | None") for a in annotations)
    assert len(annotations) > 10_000
    share = 100 * loose / len(annotations)
    assert share <= LIMIT, (
        f"{share:.2f}% of {len(annotations)} arguments are Any: name their types."
    )


def test_private_functions_of_more_than_six_lines_say_what_they_are_for():
    silent = [
        f"{file.relative_to(SOURCE)}: {node.name}"
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.end_lineno is not None
        if node.name.startswith("_") and not node.name.startswith("__")
        if node.end_lineno - node.lineno >= 6 and ast.get_docstring(node) is None
    ]
    assert not silent
