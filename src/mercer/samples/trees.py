"""Samples that are ordered trees with labels, such as parses of sentences or of programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.persistence import fields, whole
from mercer.samples.drawing import Drawing, tree_drawing
from mercer.samples.kind import Kind, named
from mercer.samples.label_hashes import hash_labels
from mercer.samples.ragged import Ragged, joined_rows
from mercer.samples.raw_data import as_objects
from mercer.samples.tree_forms import FORMS, holds_tree, preorder

SHOWN = 60  # characters of a tree in a report


def _trees(trees: Trees, values: Any) -> None:
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
        The dtype of what is computed from them.
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

    def holds(self, item: Any) -> bool:
        return holds_tree(item)

    def size(self, item: Any) -> float:
        return float(len(preorder(item, "the tree")[0]))

    def encode(self, X: Any, like: Trees | None, reader: str) -> Trees:
        labels: list = []
        children: list[int] = []
        ends = [0]
        for i, row in enumerate(as_objects(X, "trees", reader)):
            found, counts = preorder(row, f"X[{i}]")
            labels += found
            children += counts
            ends.append(len(labels))
        values = np.stack([hash_labels(labels), np.array(children, np.uint64)], axis=1)
        dtype = np.float64 if like is None else like.dtype
        return Trees(values, np.array(ends, np.int64), dtype)

    def joined(self, X: Trees, more: Trees) -> Trees:
        return joined_rows(X, more)

    def text(self, item: Any) -> str:
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

    def drawing(self, item: Any) -> Drawing:
        labels, children = preorder(item, "the tree")
        return tree_drawing(labels, children, f"{len(labels):,} nodes")

    def counter(self, samples: Trees) -> Any:
        return named("mercer.kernels:subtree_counter")(samples)
