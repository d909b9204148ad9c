"""Graphs as a kind of sample: how they are recognised, and encoded with others."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from mercer.samples.graph_forms import (
    GraphParts,
    graph_as_given,
    holds_graph,
    parts_of,
)
from mercer.samples.graphs import Graphs, finite_attributes, rows_of_neighbours
from mercer.samples.kind import Drawing, Kind, named
from mercer.samples.protocol import Samples, SamplesLike
from mercer.samples.raw_data import as_objects, describe_entry


class GraphsKind(Kind):
    """Graphs."""

    name = "graphs"
    looks = (
        "a list of graphs of networkx, igraph or rustworkx, of square sparse matrices, of "
        "their JSON, or of tuples (n, edges) or (n, edges, labels)"
    )
    encoded = (Graphs,)
    coded = True
    column = "graph"
    empty = (0, ())
    size_of = "nodes"
    distance = "mercer.kernels:graph_distance"
    kernels = ("mercer.kernels:graph_kernel",)

    def holds(self, item: object) -> bool:
        return holds_graph(item)

    def size(self, item: object) -> float:
        return float(parts_of(item, "the graph").n)

    def rows(self, X: Any, reader: str) -> list:
        if sp.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "iufb"):
            raise TypeError(
                f"X is a matrix of shape {X.shape}, but {reader} compares graphs: put "
                f"a single graph into a list, or give {self.looks}."
            )
        rows = as_objects(X, self.name, reader)
        for i, row in enumerate(rows):
            if not (holds_graph(row) or (isinstance(row, np.ndarray) and row.ndim == 2)):
                raise TypeError(
                    f"X[{i}] is {describe_entry(row)}, but {reader} compares graphs: give a list "
                    f"of graphs, {self.looks.removeprefix('a list of ')}."
                )
        return rows

    def encode(self, X: SamplesLike, like: Graphs | None, reader: str) -> Graphs:
        parts = [parts_of(row, f"X[{i}]") for i, row in enumerate(self.rows(X, reader))]
        return _encoded(parts, like, reader)

    def joined(self, X: Graphs, more: Graphs) -> Graphs:
        parts: dict[str, Any] = {}
        for name in ("neighbours", "node_labels", "node_attributes", "edge_labels"):
            both = getattr(X, name), getattr(more, name)
            parts[name] = None if both[0] is None or both[1] is None else np.concatenate(both)
        for name in ("node_starts", "row_starts"):
            starts = getattr(X, name)
            parts[name] = np.concatenate([starts, starts[-1] + getattr(more, name)[1:]])
        return X.replace(**parts)

    def remedy(self) -> str:
        return (
            "Give a kernel on graphs, such as kernel=WeisfeilerLehman(5).normalised(), or where "
            "there is metric= a distance, such as "
            "metric=KernelDistance(WeisfeilerLehman(5).normalised())."
        )

    def text(self, item: object) -> str:
        return _sizes(self.encode([item], None, "this report"))

    def drawing(self, item: object) -> Drawing:
        graph = self.encode([item], None, "this report")
        known = graph.node_labels is not None
        labels = graph_as_given(item, "the graph").labels if known else None
        draw = named("mercer.plots.layout:graph_drawing")
        return draw(len(graph.degrees), _edges(graph), labels, _sizes(graph), graph.directed)

    def without_each_node(self, item: object) -> list:
        parts = graph_as_given(item, "graph")
        if parts.directed or parts.attributes is not None:
            raise ValueError(
                "graph has directed edges or attributes of nodes: give a graph that a tuple (n, "
                "edges, labels, labels of edges) can hold."
            )
        found = []
        for v in range(parts.n):
            kept = (parts.edges != v).all(axis=1)
            edges = parts.edges[kept] - (parts.edges[kept] > v)
            labels, marks = parts.labels, parts.edge_labels
            labels = None if labels is None else [x for u, x in enumerate(labels) if u != v]
            marks = None if marks is None else [x for x, stays in zip(marks, kept) if stays]
            found.append((parts.n - 1, edges, labels, marks))
        return found

    def counter(self, samples: Graphs) -> Any:
        return named("mercer.kernels:label_counter")(samples)


def _sizes(graph: Graphs) -> str:
    return f"{len(graph.degrees):,} nodes, {len(_edges(graph)):,} edges"


def _edges(graph: Graphs) -> np.ndarray:
    """The edges of one graph, each once, (m, 2)."""
    edges = np.stack(graph.ends(), axis=1)
    return edges if graph.directed else edges[edges[:, 0] <= edges[:, 1]]


def _encoded(parts: list[GraphParts], like: Graphs | None, reader: str) -> Graphs:
    """Graphs that were read one by one, which all must have labels and attributes, or none."""
    for name, field, said in (
        ("labels", "node_labels", "labels of nodes"),
        ("edge_labels", "edge_labels", "labels of edges"),
        ("attributes", "node_attributes", "attributes of nodes"),
        ("directed", "directed", "directed edges"),
    ):
        of_edges = name in ("edge_labels", "directed")
        # a graph without nodes or edges has all labels that there can be
        has = {i: _is_told(getattr(p, name)) for i, p in enumerate(parts)
               if p.n and (len(p.edges) or not of_edges)}  # fmt: skip
        first: Any = next(iter(has), None)
        wanted = has.get(first) if like is None else _is_told(getattr(like, field))
        # new graphs may tell more than was learnt from, except in which way edges lead
        bound = like is None or wanted or name == "directed"
        other = next((i for i in has if has[i] != wanted and bound), None)
        if other is not None and like is None:
            raise ValueError(
                f"X[{other}] has {'' if has[other] else 'no '}{said}, unlike X[{first}]: give them "
                "for all graphs, or for none."
            )
        if other is not None:
            raise ValueError(
                f"X[{other}] has {'no ' if wanted else ''}{said}, but the graphs it is compared "
                f"with {'have' if wanted else 'do not have'} them: give graphs of one form."
            )
    sizes = np.array([p.n for p in parts], np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    counts = np.array([len(p.edges) for p in parts])
    edges = np.concatenate([p.edges for p in parts]) + np.repeat(starts[:-1], counts)[:, None]
    directed = any(p.directed for p in parts) or (like is not None and like.directed)
    labels = _together([p.labels for p in parts if p.n], np.uint64, like, "node_labels")
    marks = _together([p.edge_labels for p in parts if len(p.edges)], np.uint64, like,
                      "edge_labels")  # fmt: skip
    numbers = _joined_attributes(parts, like)
    X = rows_of_neighbours(starts, edges, labels, numbers, marks, directed)
    return X if like is None else X.astype(like.dtype)


def _is_told(part: Samples) -> bool:
    """Whether a graph has labels, attributes or directions."""
    return part is not None and part is not False


def _together(found: list, dtype: DTypeLike, like: Graphs | None, field: str) -> np.ndarray | None:
    if like is not None and getattr(like, field) is None:
        return None
    if found:
        return None if found[0] is None else np.concatenate(found)
    return None if like is None else np.empty(0, dtype)


def _joined_attributes(parts: list[GraphParts], like: Graphs | None) -> np.ndarray | None:
    """The attributes of the nodes of all graphs, (nodes, width); None where there are none."""
    rows = [(i, p.attributes) for i, p in enumerate(parts) if p.n and p.attributes is not None]
    known = None if like is None else like.node_attributes
    if like is not None and known is None:
        return None
    if not rows:
        return None if known is None else np.empty((0, known.shape[1]))
    width = rows[0][1].shape[1] if known is None else known.shape[1]
    for i, values in rows:
        if values.shape[1] != width:
            first = (
                f"X[{rows[0][0]}] has" if known is None else "the graphs it is compared with have"
            )
            raise ValueError(
                f"X[{i}] has {values.shape[1]} attributes at each node, but {first} {width}: give "
                "attributes of one width."
            )
    return np.concatenate([finite_attributes(values, f"X[{i}]") for i, values in rows])
