"""Graphs as samples: tuples (labels of the vertices, edges between them)."""

from hashlib import blake2b
from itertools import chain

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from mercer.distances import Distance, dense_rows
from mercer.kernels import Kernel
from mercer.samples import Kind, Ragged, joined_rows, register_kind


class Graphs(Ragged):
    """Encoded graphs: row i has a code for each vertex and for each edge of graph i."""


class SharedParts(Kernel):
    """k(g, h) = the number of pairs of equal parts of g and h: vertices of one label, or edges."""

    kind = "structures"

    def block(self, X, Z):
        X, Z = counts(X, Z)
        return dense_rows(X @ Z.T)


class PartsApart(Distance):
    """The number of parts that one graph has, and the other one has not."""

    kind = "structures"

    def block(self, X, Z):
        A, B = (dense_rows(side) for side in counts(X, Z))
        return cdist(A, B, "cityblock").astype(X.dtype)


class GraphKind(Kind):
    """Graphs with a label at each vertex, without a direction of edges."""

    name = "structures"
    looks = "a list of structures such as (('C', 'O'), ((0, 1),))"
    encoded = (Graphs,)
    coded = discrete = True
    column = "structure"
    empty = ((), ())
    size_of = "vertices"
    distance = PartsApart
    kernels = (lambda: SharedParts().normalised(),)

    def holds(self, item):
        pair = isinstance(item, tuple) and len(item) == 2
        if not (pair and all(isinstance(part, tuple) for part in item)):
            return False
        labels, edges = item
        return all(isinstance(label, str) for label in labels) and all(
            isinstance(edge, tuple) and len(edge) == 2 for edge in edges
        )

    def size(self, item):
        return len(item[0])

    def encode(self, X, like, reader):
        graphs = [[code(part) for part in parts(graph)] for graph in self.rows(X, reader)]
        starts = np.cumsum([0, *map(len, graphs)])
        return Graphs(np.fromiter(chain.from_iterable(graphs), np.int64), starts)

    def joined(self, X, more):
        return joined_rows(X, more)


def parts(graph):
    """The label of each vertex, and the two labels of each edge."""
    labels, edges = graph
    return [*labels, *(tuple(sorted((labels[i], labels[j]))) for i, j in edges)]


def code(part):
    """A number that is the same in all programs, which Python's hash is not."""
    return int.from_bytes(blake2b(repr(part).encode(), digest_size=8).digest(), signed=True)


def counts(*sides):
    """How often each part stands in each graph: sparse rows with the same columns on all sides."""
    _, columns = np.unique(np.concatenate([X.values for X in sides]), return_inverse=True)
    width = columns.max(initial=-1) + 1
    ends = np.cumsum([len(X.values) for X in sides])[:-1]
    return [
        sp.csr_array((np.ones(len(part), X.dtype), part, X.starts), shape=(len(X), width))
        for X, part in zip(sides, np.split(columns, ends))
    ]


register_kind(GraphKind())
