"""Graphs as other libraries and users have them: networkx, igraph, rustworkx, matrices, tuples.

`parts_of` reads one graph as numbers of nodes and edges. Other libraries are recognised by the
methods of their graphs, so that none of them is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer.samples.numbers import float_array, is_number
from mercer.samples.ragged import SCALARS, hash_labels
from mercer.samples.raw_data import GRAPH, check_format

PAIR = ("source", "target")  # the ends of an edge in graphs of JSON
LABEL, ATTRIBUTES, WEIGHT = "label", "attributes", "weight"


class GraphParts(NamedTuple):
    """One graph of n nodes: edges (m, 2), and the labels of its nodes and edges, if any.

    Labels are as they were given (`graph_as_given`), or a number for each (`parts_of`). Weights of
    edges are read by kernels between the nodes of one graph alone.
    """

    n: int
    edges: np.ndarray
    labels: Any = None
    edge_labels: Any = None
    attributes: np.ndarray | None = None
    directed: bool = False
    weights: np.ndarray | None = None


def holds_graph(item: Any) -> bool:
    """Whether a Python object is one graph, in one of the forms that `parts_of` reads."""
    if isinstance(item, (tuple, list)):
        return _is_counted(item) or _is_grakel(item)
    if sp.issparse(item):  # some of which are mappings, too
        return len(item.shape) == 2 and item.shape[0] == item.shape[1]
    if isinstance(item, Mapping):
        return not item.keys().isdisjoint(GRAPH)
    return not isinstance(item, (str, bytes, Set, np.ndarray)) and _form(item) is not None


def graph_of_fields(fields: Mapping, name: str) -> tuple | None:
    """A graph of files, as a tuple: from its ``edges``, and ``nodes``, ``labels``, ``edge_labels``
    where they are known. None if it is missing.

    Raises
    ------
    TypeError, ValueError
        As `parts_of`.

    Examples
    --------
    >>> graph_of_fields({"edges": [[0, 1]], "labels": ["C", "C", "O"]}, "the graph")
    (3, ((0, 1),), ('C', 'C', 'O'), None)
    """
    edges, labels, marks = (fields.get(part) for part in ("edges", "labels", "edge_labels"))
    if edges is None:
        return None
    if any(edge is None or len(edge) != 2 or None in edge for edge in edges):
        raise ValueError(f"{name}: an edge is no pair of numbers of nodes.")
    nodes = fields.get("nodes")
    if nodes is None:
        last = max((int(node) for edge in edges for node in edge), default=-1)
        nodes = last + 1 if labels is None else len(labels)
    found = (
        int(nodes), tuple((int(u), int(v)) for u, v in edges),
        *(None if part is None else tuple(part) for part in (labels, marks)),
    )  # fmt: skip
    parts_of(found, name)
    return found


def parts_of(item: object, name: str) -> GraphParts:
    """Read one graph, with a number for each label.

    Raises
    ------
    TypeError, ValueError
        It says, with the name of the graph, which node or edge is wrong.
    """
    found = graph_as_given(item, name)
    labels, marks = _hashed(found.labels, name, "node"), _hashed(found.edge_labels, name, "edge")
    return found._replace(labels=labels, edge_labels=marks)


def graph_as_given(item: object, name: str) -> GraphParts:
    """Read one graph, with its labels as they are; errors are those of `parts_of`."""
    if isinstance(item, (tuple, list)):
        return _of_tuple(item, name) if _is_counted(item) else _of_grakel(item, name)
    if sp.issparse(item) or isinstance(item, np.ndarray):
        n, edges = _of_matrix(item, name)
        return GraphParts(n, edges)
    if isinstance(item, Mapping):
        return _of_mapping(item, name)
    form = _form(item)
    return FORMS[form or "networkx"][0](item, name)


def _form(item: object) -> str | None:
    forms = (form for form, (_, *needs) in FORMS.items() if all(hasattr(item, n) for n in needs))
    return next(forms, None)


# --- objects of other libraries -----------------------------------------------------------------


def _of_networkx(graph: Any, name: str) -> GraphParts:
    nodes, edges = dict(graph.nodes(data=True)), list(graph.edges(data=True))
    ends, fields = [edge[:2] for edge in edges], [edge[2] for edge in edges]
    return _with_fields(nodes, ends, [*nodes.values()], fields, graph.is_directed(), name)


def _of_igraph(graph: Any, name: str) -> GraphParts:
    data, fields = ([each.attributes() for each in part] for part in (graph.vs, graph.es))
    nodes, ends = range(graph.vcount()), graph.get_edgelist()
    return _with_fields(nodes, ends, data, fields, graph.is_directed(), name)


def _of_rustworkx(graph: Any, name: str) -> GraphParts:
    data, fields = (list(map(_payload, part)) for part in (graph.nodes(), graph.edges()))
    nodes, directed = graph.node_indices(), hasattr(graph, "in_degree")
    return _with_fields(nodes, graph.edge_list(), data, fields, directed, name)


def _of_grakel_object(graph: Any, name: str) -> GraphParts:
    """The parts of a `grakel.Graph`."""
    same = dict.fromkeys(graph.get_vertices(purpose="any"), 0)
    labels, marks = (
        graph.get_labels(purpose="any", label_type=of, return_none=True)
        for of in ("vertex", "edge")
    )
    return _of_grakel([graph.get_edge_dictionary(), labels or same, marks or None], name)


#: library -> what reads its graphs, and what these have
FORMS = {
    "networkx": (_of_networkx, "nodes", "edges", "adj", "is_directed"),
    "igraph": (_of_igraph, "get_edgelist", "vcount", "is_directed"),
    "rustworkx": (_of_rustworkx, "edge_list", "num_nodes", "node_indices"),
    "GraKeL": (_of_grakel_object, "get_edge_dictionary", "get_vertices", "get_labels"),
}


def _of_mapping(item: Mapping, name: str) -> GraphParts:
    """A graph of JSON: node-link data of networkx, or the fields of `graph_of_fields`."""
    links = next(item[key] for key in GRAPH if key in item)
    listed = isinstance(item.get("nodes"), (list, tuple))
    nodes: Any = item["nodes"] if listed else []
    if not listed and not (links and isinstance(links[0], Mapping)):
        found = graph_of_fields({**item, "edges": links}, name)
        return _of_tuple(found, name) if found else GraphParts(0, np.empty((0, 2), np.int64))
    data = [node if isinstance(node, Mapping) else {"id": node} for node in nodes]
    fields = [link if isinstance(link, Mapping) else dict(zip(PAIR, link)) for link in links]
    ends = [tuple(link.get(end) for end in PAIR) for link in fields]
    ids = dict.fromkeys(node.get("id") for node in data)
    lost = next((node for pair in ends for node in pair if node not in ids), None)
    if lost is not None or len(ids) < len(data):
        wrong = "two nodes have one id" if lost is None else f"an edge leads to {lost!r}"
        raise ValueError(f"{name}: {wrong}: give each node once, as nodes=[{{'id': ...}}, ...].")
    return _with_fields(ids, ends, data, fields, item.get("directed"), name)


def _payload(payload: object) -> Mapping:
    """The data of a node or an edge of rustworkx: fields, or its label itself."""
    if isinstance(payload, Mapping):
        return payload
    label = isinstance(payload, (*SCALARS, tuple))
    return {LABEL: payload} if label else {}


def _with_fields(
    nodes: Iterable, ends: Iterable, data: list[Mapping], fields: list[Mapping], directed: Any,
    name: str,
) -> GraphParts:  # fmt: skip
    """A graph from its nodes, the two nodes of each edge, and what is known of them."""
    number = {node: i for i, node in enumerate(nodes)}
    edges = np.array([(number[u], number[v]) for u, v in ends], np.int64).reshape(-1, 2)
    labels, marks = ([each.get(LABEL) for each in part] for part in (data, fields))
    attributes = _numbers([d.get(ATTRIBUTES) for d in data], name)
    found = GraphParts(len(number), edges, labels, marks, attributes, bool(directed))
    return found._replace(weights=_weights(fields, name))


def _weights(fields: list[Mapping], name: str) -> np.ndarray | None:
    """The weights of edges, 1 where there is none; None if no edge has one."""
    if not any(WEIGHT in found for found in fields):
        return None
    weights = [found.get(WEIGHT, 1.0) for found in fields]
    other = next((k for k, weight in enumerate(weights) if not is_number(weight)), None)
    if other is not None:
        raise TypeError(f"{name}: edge {other} has the weight {weights[other]!r}: give a number.")
    return np.array(weights, np.float64)


# --- matrices and tuples ------------------------------------------------------------------------


def _of_matrix(A: Any, name: str) -> tuple[int, np.ndarray]:
    """Nodes and edges of a symmetric matrix of 0 and 1."""
    check_format(A, name)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"{name} is a matrix of shape {A.shape}: an adjacency matrix is square.")
    if not sp.issparse(A) and A.dtype.kind not in "iufb":
        raise TypeError(f"{name} is an array of {A.dtype}: give an adjacency matrix of 0 and 1.")
    A = sp.coo_array(A)
    A.eliminate_zeros()
    if not (A.data == 1).all():
        raise ValueError(
            f"{name} holds {A.data[A.data != 1][0]:g}, but kernels on graphs read edges without "
            "weights: give (A != 0)."
        )
    edges = np.stack([A.coords[0], A.coords[1]], axis=1).astype(np.int64)
    forward, back = (np.sort(e[:, 0] * A.shape[0] + e[:, 1]) for e in (edges, edges[:, ::-1]))
    if not np.array_equal(forward, back):
        raise ValueError(
            f"{name} is not symmetric: give A + A.T > 0 to leave out directions, or "
            "mercer.samples.graphs_of(..., directed=True)."
        )
    return A.shape[0], edges[edges[:, 0] <= edges[:, 1]]


def _is_counted(item: object) -> bool:
    """Whether a tuple is (n, edges[, labels[, edge labels]])."""
    return (
        isinstance(item, tuple)
        and 2 <= len(item) <= 4
        and isinstance(item[0], (int, np.integer))
        and not isinstance(item[0], bool)
        and (isinstance(item[1], (list, tuple, np.ndarray)) and _pairs(item[1], (int, np.integer)))
        and all(x is None or isinstance(x, (list, tuple, np.ndarray)) for x in item[2:])
    )


def _is_grakel(item: Any) -> bool:
    """Whether a list or tuple is GraKeL's [edges or matrix, labels[, edge labels]]."""
    if not 2 <= len(item) <= 3 or isinstance(item[0], (str, bytes)):
        return False
    edges, labels = item[0], item[1]
    if sp.issparse(edges) or (isinstance(edges, np.ndarray) and edges.ndim == 2):
        right = edges.shape[0] == edges.shape[1] or edges.shape[1] == 2
    elif isinstance(edges, Mapping):
        right = edges.keys().isdisjoint(GRAPH)  # two graphs of JSON in a list
    else:
        right = isinstance(edges, (list, tuple, Set)) and _pairs(edges, SCALARS)
        right = right and (bool(edges) or isinstance(edges, Set) or isinstance(labels, Mapping))
    listed = isinstance(labels, (list, tuple, np.ndarray)) and all(
        isinstance(label, (*SCALARS, tuple)) for label in labels
    )
    marks = item[2] if len(item) == 3 else None
    return (
        right
        and (labels is None or isinstance(labels, Mapping) or listed)
        and (marks is None or isinstance(marks, Mapping))
    )


def _pairs(edges: Any, types: tuple) -> bool:
    """Whether a collection holds pairs of nodes; one that is empty does."""
    if isinstance(edges, np.ndarray):
        return edges.size == 0 or (edges.ndim == 2 and edges.shape[1] == 2)
    edge = next(iter(edges), None)
    if edge is None:
        return True
    pair = isinstance(edge, (tuple, list, np.ndarray)) and len(edge) == 2
    return pair and all(isinstance(node, types) for node in edge)


def _of_tuple(item: Any, name: str) -> GraphParts:
    """The parts of a tuple (n, edges, labels, labels of edges)."""
    parts: list[Any] = [*item, None, None]
    n, edges, labels, marks = parts[:4]
    if n < 0:
        raise ValueError(f"{name} has {n} nodes: give a number >= 0.")
    try:
        pairs = np.array(edges) if len(edges) else np.empty((0, 2), np.int64)
    except ValueError:  # of different lengths
        pairs = np.empty(0)
    if pairs.dtype.kind not in "iu" or pairs.shape[1:] != (2,):
        raise TypeError(f"{name}: its edges are no pairs of numbers of nodes, such as [(0, 1)].")
    if len(pairs) and not (pairs.min() >= 0 and pairs.max() < n):
        k = int(((pairs < 0) | (pairs >= n)).any(axis=1).argmax())
        raise ValueError(
            f"{name}: the edge {tuple(pairs[k].tolist())} leads to a node that is not there; "
            f"nodes are numbered from 0 to {n - 1}."
        )
    for found, count, noun in ((labels, n, "nodes"), (marks, len(pairs), "edges")):
        if found is not None and len(found) != count:
            raise ValueError(f"{name} has {len(found)} labels for {count} {noun}.")
    return GraphParts(int(n), pairs.astype(np.int64), labels, marks)


def _of_grakel(item: Any, name: str) -> GraphParts:
    """The parts of a list in GraKeL's form: edges or a matrix, labels, labels of edges."""
    parts: list[Any] = [*item, None]
    edges, labels, marks = parts[:3]
    square = sp.issparse(edges)
    if isinstance(edges, np.ndarray) and edges.shape[0] == edges.shape[1]:
        symmetric = np.isin(edges, (0, 1)).all() and (edges == edges.T).all()
        square = len(edges) != 2 or bool(symmetric)  # else these are two edges
    if square:
        n, pairs = _of_matrix(edges, name)
        order, ends = list(range(n)), [tuple(pair) for pair in pairs.tolist()]
    else:
        if isinstance(edges, Mapping):
            edges = _mapped_edges(edges, name)
        ends = [tuple(e.tolist() if isinstance(e, np.ndarray) else e) for e in edges]
        order = list(labels) if isinstance(labels, Mapping) else list(
            range(len(labels)) if labels is not None
            else dict.fromkeys(node for edge in ends for node in edge)
        )  # fmt: skip
    number = {node: i for i, node in enumerate(order)}
    lost = next((node for edge in ends for node in edge if node not in number), None)
    if lost is not None:
        raise ValueError(f"{name}: node {lost!r} has an edge and no label: give all nodes one.")
    found = [labels.get(node) for node in order] if isinstance(labels, Mapping) else labels
    if found is not None and len(found) != len(order):
        raise ValueError(f"{name} has {len(found)} labels for {len(order)} nodes.")
    pairs = np.array([(number[u], number[v]) for u, v in ends], np.int64).reshape(-1, 2)
    attributes = None
    if any(isinstance(label, (list, np.ndarray)) for label in found or ()):
        found, attributes = None, _numbers(list(found or ()), name)
    of_edges = None if marks is None else [marks.get((u, v), marks.get((v, u))) for u, v in ends]
    return GraphParts(len(order), pairs, found, of_edges, attributes)


def _mapped_edges(edges: Mapping, name: str) -> list:
    """Edges from {edge: weight}, {node: neighbours} or {node: {neighbour: weight}}."""
    if all(isinstance(key, tuple) and len(key) == 2 for key in edges):
        found, weights = list(edges), list(edges.values())
    else:
        found = [(u, v) for u, others in edges.items() for v in others]
        inner = [others for others in edges.values() if isinstance(others, Mapping)]
        weights = [weight for others in inner for weight in others.values()]
    other = next((w for w in weights if w != 1), None)
    if other is not None:
        raise ValueError(
            f"{name} has an edge of weight {other!r}, but kernels on graphs read edges without "
            "weights: give edges alone."
        )
    return found


def _hashed(labels: list | tuple | None, name: str, noun: str) -> np.ndarray | None:
    """A number for each label; None if none of the nodes or edges has one."""
    if labels is None:
        return None
    listed = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    if not _known(listed, name, noun, "label", "one to all of them") and listed:
        return None
    if not listed and noun == "edge":
        return None
    try:
        return hash_labels(listed)
    except TypeError as error:
        said, k = error.args
        raise TypeError(
            f"{name}: the label of {noun} {k}, {said}: give int, str, bytes or tuples of them."
        ) from None


def _numbers(values: list, name: str) -> np.ndarray | None:
    """The attributes of the nodes of one graph, (n, d); None if they have none."""
    if not _known(values, name, "node", "attributes", "them to all"):
        return None
    rows = [
        np.atleast_1d(float_array(f"{name}: attributes of node {v}", value)).ravel()
        for v, value in enumerate(values)
    ]
    other = next((v for v, row in enumerate(rows) if len(row) != len(rows[0])), None)
    if other is not None:
        raise ValueError(
            f"{name}: node {other} has {len(rows[other])} attributes, but node 0 has "
            f"{len(rows[0])}: give attributes of one width."
        )
    return np.stack(rows)


def _known(values: list, name: str, noun: str, what: str, remedy: str) -> bool:
    """Whether nodes or edges have what is asked for; an error if only some of them have it."""
    missing = [k for k, value in enumerate(values) if value is None]
    if 0 < len(missing) < len(values):
        raise ValueError(
            f"{name}: {noun} {missing[0]} has no {what}, and others have: give {remedy}."
        )
    return len(values) > len(missing)
