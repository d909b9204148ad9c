"""Trees as users and other libraries have them: nested tuples, brackets, nltk, ElementTree.

`preorder` reads one tree as the labels of its nodes, each before those below it, and how many
children each has. Nothing here calls itself, so that trees may be as deep as memory allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from mercer.samples.label_hashes import SCALARS
from mercer.samples.raw_data import describe_entry

TOKEN = re.compile(r"[()]|[^\s()]+")
FORMS = (
    'give nested tuples such as ("S", ("NP", "she"), ("VP", "runs")), brackets such as '
    '"(S (NP she) (VP runs))", or trees of nltk or of xml.etree.ElementTree'
)


def holds_tree(item: Any) -> bool:
    """Whether a Python object can be nothing but a tree: brackets are texts, and tuples of texts
    may be tokens."""
    if isinstance(item, tuple):
        return len(item) > 1 and isinstance(item[0], str) and any(map(_is_node, item[1:]))
    return _reader(item) is not None


def preorder(item: Any, name: str) -> tuple[list, list[int]]:
    """Labels and numbers of children of all nodes of one tree, in preorder; () has no nodes.

    Raises
    ------
    TypeError, ValueError
        It says, with the name of the tree, what is wrong in it.
    """
    if isinstance(item, str):
        return _of_brackets(item, name)
    if isinstance(item, (tuple, list)) and len(item) == 0 and _reader(item) is None:
        return [], []
    labels: list = []
    children: list[int] = []
    left = [item]
    while left:
        label, below = _node(left.pop(), name)
        labels.append(label)
        children.append(len(below))
        left.extend(reversed(below))
    return labels, children


def _is_node(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) > 0 and isinstance(item[0], str)


def _reader(item: Any) -> Callable[[Any], tuple[Any, list]] | None:
    """What reads a node of another library."""
    if isinstance(item, (str, bytes)):
        return None
    if callable(getattr(item, "label", None)) and hasattr(item, "__iter__"):
        return _of_nltk
    if all(hasattr(item, part) for part in ("tag", "text", "tail", "iter", "attrib")):
        return _of_element
    return None


def _node(item: Any, name: str) -> tuple[Any, list]:
    """The label of a node, and its children."""
    if isinstance(item, SCALARS):
        return item, []
    reader = _reader(item)
    if reader is not None:
        label, below = reader(item)
    elif isinstance(item, (tuple, list)) and len(item):
        label, below = item[0], list(item[1:])
    else:
        raise TypeError(f"{name} has a node that is {describe_entry(item)}: {FORMS}.")
    if not isinstance(label, SCALARS):
        raise TypeError(
            f"{name} has a node with the label {describe_entry(label)}: give labels that are "
            "texts, bytes or integers."
        )
    return label, below


def _of_nltk(item: Any) -> tuple[Any, list]:
    return item.label(), list(item)


def _of_element(item: Any) -> tuple[Any, list]:
    """Texts between tags are leaves, in their places."""
    below: list = _words(item.text)
    for child in item:
        below.append(child)
        below += _words(child.tail)
    return item.tag, below


def _words(text: str | None) -> list[str]:
    return [text.strip()] if text and text.strip() else []


def _of_brackets(text: str, name: str) -> tuple[list, list[int]]:
    """(label child child ...): a child is a word or brackets; "( (S ...))" has an empty label."""
    labels: list = []
    children: list[int] = []
    path: list[int] = []  # the open nodes
    fresh = False  # whether the next word is a label
    for match in TOKEN.finditer(text):
        token = match[0]
        if token == ")":
            fresh = False
            if not path:
                raise ValueError(
                    f"{name} has a ')' at character {match.start()} that closes nothing."
                )
            path.pop()
            continue
        if fresh and token != "(":
            labels[-1] = token
            fresh = False
            continue
        if path:
            children[path[-1]] += 1
        elif labels:
            raise ValueError(
                f"{name} goes on at character {match.start()} after its tree is closed: give one "
                "tree a text."
            )
        elif token != "(":
            raise ValueError(f"{name} begins with {token!r}: {FORMS}.")
        labels.append("" if token == "(" else token)
        children.append(0)
        fresh = token == "("
        if fresh:
            path.append(len(labels) - 1)
    if path:
        raise ValueError(f"{name} has {len(path)} brackets that are not closed.")
    if not labels:
        raise ValueError(f"{name} is a text without brackets: {FORMS}.")
    return labels, children
