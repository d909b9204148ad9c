"""The page of error messages (docs/errors.rst) has the words that the code says."""

import ast
import re
from pathlib import Path

import pytest

import mercer

DOCS = Path(__file__).parents[1] / "docs"
#: what the page writes as a reader sees it -> its fixed words in the code; "" where others say it
AS_SEEN = {
    "Input X contains NaN": "",  # scikit-learn's
    "X[…] holds nan at …": "… holds … at …",
    "C=…": "…=… must be",
    "gamma=…": "…=… must be",
    "tol=…": "…=… must be",
    "must be": "must be",
    "… is not utf-8: byte …": "is not …: byte 0x",
}


def fixed(node: ast.AST) -> str:
    """A string in the code, with "…" for what is put into it."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(fixed, node.values))
    if isinstance(node, ast.BinOp):
        return fixed(node.left) + fixed(node.right)
    return node.value if isinstance(getattr(node, "value", None), str) else "…"


@pytest.fixture(scope="module")
def said():
    """All strings in the code that have more than one word."""
    trees = [
        ast.parse(path.read_text(encoding="utf-8"))
        for path in Path(mercer.__file__).parent.rglob("*.py")
    ]
    strings = [
        fixed(node)
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp)
    ]
    return "\n".join(text for text in strings if " " in text)


def test_first_words_are_those_of_messages(said):
    page = (DOCS / "errors.rst").read_text(encoding="utf-8")
    cells = re.findall(r"^   \* - (``.*``)$", page, re.MULTILINE)
    entries = [words for cell in cells for words in re.findall(r"``(.+?)``", cell)]
    assert len(entries) > 40
    unknown = []
    for entry in entries:
        words = AS_SEEN.get(entry, entry).strip("… ").split("…")
        if not re.search(r"[^\n]*?".join(map(re.escape, words)), said):
            unknown.append(entry)
    assert unknown == []
    assert set(AS_SEEN) <= set(entries)
