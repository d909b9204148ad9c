"""Samples that are ordered trees with labels, such as parses of sentences or of programs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.persistence import fields, whole
from mercer.samples.kind import Drawing, Kind, named
from mercer.samples.protocol import SamplesLike
from mercer.samples.ragged import SCALARS, Ragged, hash_labels
from mercer.samples.raw_data import as_objects, describe_entry

# Trees as users and other libraries have them: nested tuples, brackets, nltk, ElementTree.
#
# `preorder` reads one tree as the labels of its nodes, each before those below it, and how many
# children each has. Nothing here calls itself, so that trees may be as deep as memory allows.


TOKEN = re.compile(r"[()]|[^\s()]+")
FORMS = (
    'give nested tuples such as ("S", ("NP", "she"), ("VP", "runs")), brackets such as '
    '"(S (NP she) (VP runs))", or trees of nltk or of xml.etree.ElementTree'
)


def holds_tree(item: object) -> bool:
    """Whether an object can only be a tree: brackets are texts, tuples of texts may be tokens."""
    if isinstance(item, tuple):
        return len(item) > 1 and isinstance(item[0], str) and any(map(_is_node, item[1:]))
    return _reader(item) is not None


def preorder(item: object, name: str) -> tuple[list, list[int]]:
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


def _is_node(item: object) -> bool:
    return isinstance(item, tuple) and len(item) > 0 and isinstance(item[0], str)


def _reader(item: object) -> Callable[[Any], tuple[Any, list]] | None:
    """What reads a node of another library."""
    if isinstance(item, (str, bytes)):
        return None
    if callable(getattr(item, "label", None)) and hasattr(item, "__iter__"):
        return _of_nltk
    if all(hasattr(item, part) for part in ("tag", "text", "tail", "iter", "attrib")):
        return _of_element
    return None


def _node(item: object, name: str) -> tuple[Any, list]:
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
                f"{name} continues at character {match.start()} after its tree is closed: give one "
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


SHOWN = 60  # characters of a tree in a report


def _trees(trees: Trees, values: object) -> None:
    """Numbers of children that make whole trees."""
    whole(axes=2)(trees, values)
    values, starts = np.asarray(values), np.asarray(trees.starts)
    if values.shape[1] != 2:
        raise ValueError("must have two columns, labels and numbers of children")
    if (values[:, 1] >= max(len(values), 1)).any():
        raise ValueError("has a node with more children than there are nodes")
    # nodes that are still to come; a tree ends when there are none, and not before
    open_nodes = np.concatenate(([0], np.cumsum(values[:, 1].astype(np.int64) - 1)))
    ends = open_nodes[starts]
    within = np.repeat(ends[:-1], np.diff(starts)) - 1
    last = np.zeros(len(values), bool)
    last[starts[1:][np.diff(starts) > 0] - 1] = True
    if ((open_nodes[1:] == within) != last).any():
        raise ValueError("has numbers of children that do not make whole trees")


@fields(values=_trees)
class Trees(Ragged):
    """Ordered trees as the nodes of all of them, each before the nodes below it.

    Parameters
    ----------
    values : ndarray of shape (total, 2), uint64
        For each node a number for its label, which is the same in every process, and how many
        children it has. Tree i is ``values[starts[i] : starts[i + 1]]``, in preorder.
    starts : ndarray of shape (n + 1,), int64
    dtype : floating dtype, default=float64

    Examples
    --------
    >>> from mercer.kernels import Subtree
    >>> X = Subtree().encode(["(S (NP a) (VP b))"])
    >>> X.values[:, 1], X.starts
    (array([2, 1, 0, 1, 0], dtype=uint64), array([0, 5]))
    """

    @property
    def owners(self) -> np.ndarray:
        """The tree of each node, (total,)."""
        return np.repeat(np.arange(len(self)), self.lengths)


class TreesKind(Kind):
    """Ordered trees."""

    name = "trees"
    looks = f"a list of trees: {FORMS.removeprefix('give ')}"
    encoded = (Trees,)
    coded = True
    column = "tree"
    empty = ()
    size_of = "nodes"
    distance = "mercer.kernels:tree_distance"
    kernels = ("mercer.kernels:tree_kernel", "mercer.kernels:subtree_kernel")

    def holds(self, item: object) -> bool:
        return holds_tree(item)

    def size(self, item: object) -> float:
        return float(len(preorder(item, "the tree")[0]))

    def rows(self, X: SamplesLike, reader: str) -> list:
        return as_objects(X, self.name, reader)

    def encode(self, X: SamplesLike, like: Trees | None, reader: str) -> Trees:
        labels: list = []
        children: list[int] = []
        ends = [0]
        for i, row in enumerate(self.rows(X, reader)):
            found, counts = preorder(row, f"X[{i}]")
            labels += found
            children += counts
            ends.append(len(labels))
        values = np.stack([hash_labels(labels), np.array(children, np.uint64)], axis=1)
        dtype = np.float64 if like is None else like.dtype
        return Trees(values, np.array(ends, np.int64), dtype)

    def text(self, item: object) -> str:
        """Brackets, or the beginning of them."""
        said = ""
        left: list[int] = []  # children that the open nodes still wait for
        for label, count in zip(*preorder(item, "the tree")):
            said += f" ({label}" if count else f" {label}"
            if count:
                left.append(count)
                continue
            while left:
                left[-1] -= 1
                if left[-1]:
                    break
                left.pop()
                said += ")"
            if len(said) > SHOWN:
                return said.strip()[:SHOWN] + " ..."
        return said.strip()

    def drawing(self, item: object) -> Drawing:
        labels, children = preorder(item, "the tree")
        return named("mercer.plots.layout:tree_drawing")(labels, children, f"{len(labels):,} nodes")

    def counter(self, samples: Trees) -> Any:
        return named("mercer.kernels:subtree_counter")(samples)
