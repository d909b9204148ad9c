"""Graphs in files: columns of lists of edges, a folder of GraphML files, and the text form of GIN.

All of them become a column of objects with the fields ``nodes`` (how many), ``edges`` (pairs of
numbers of nodes, from 0), and perhaps ``labels`` (of nodes) and ``edge_labels``, which
`mercer.tables` reads as graphs.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import polars as pl

from mercer.cli.formats import Typed
from mercer.cli.terminal import TableError

PARTS = ("edges", "nodes", "labels", "edge_labels")
PAIRS = pl.List(pl.List(pl.Int64))
GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"
WHOLE, LABEL = ("int", "long"), "label"


def is_graph(dtype: Any) -> bool:
    """Whether cells of this type are graphs."""
    fields = dtype.to_schema() if isinstance(dtype, pl.Struct) else {}
    return fields.get("edges") == PAIRS and set(fields) <= set(PARTS)


def with_graphs(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with a column of graphs in place of those of its parts.

    A column ``edges`` of lists of pairs of whole numbers is a graph, with ``nodes``, ``labels`` and
    ``edge_labels`` beside it, if there are some; and so are ``molecule.edges`` and its parts.

    Examples
    --------
    >>> table = pl.DataFrame({"edges": [[[0, 1], [1, 2]]], "labels": [["C", "C", "O"]], "y": [1]})
    >>> with_graphs(table).columns
    ['graph', 'y']
    """
    found: dict[str, pl.Series] = {}
    heads = {
        name.removesuffix("edges"): name
        for name in frame.columns
        if name.rpartition(".")[2] == "edges" and _holds_pairs(frame[name].dtype)
    }
    gone = {f"{head}{part}" for head in heads for part in PARTS}
    for column in frame.iter_columns():
        head = column.name.removesuffix("edges")
        if heads.get(head) == column.name:
            name = head.removesuffix(".") or "graph"
            while name in found or (name in frame.columns and name not in gone):
                name += " (2)"
            found[name] = _graphs(frame, head)
        elif not (column.name in gone and _is_part(column)):
            found[column.name] = column
    return pl.DataFrame(found)


def _holds_pairs(dtype: Any) -> bool:
    """Whether cells are lists of lists of whole numbers, or empty ones."""
    inner = getattr(dtype, "inner", None)
    pair = getattr(inner, "inner", None)
    return pair is not None and (pair.is_integer() or pair == pl.Null)


def _is_part(column: pl.Series) -> bool:
    name, dtype = column.name.rpartition(".")[2], column.dtype
    inner = getattr(dtype, "inner", None)
    if name == "nodes":
        return dtype.is_integer()
    return inner is not None and (inner.is_integer() or inner in (pl.String, pl.Null))


def _graphs(frame: pl.DataFrame, head: str) -> pl.Series:
    """The graphs whose columns begin with a name."""
    fields = {"edges": frame[f"{head}edges"].cast(PAIRS)}
    for part in PARTS[1:]:
        name = f"{head}{part}"
        if name in frame.columns and _is_part(frame[name]):
            column = frame[name]
            if part == "nodes":
                column = column.cast(pl.Int64)
            elif column.dtype.inner != pl.String:  # type: ignore[union-attr]
                column = column.cast(pl.List(pl.Int64))
            fields[part] = column
    return pl.DataFrame(fields).to_struct("graph")


class GraphmlFile(Typed):
    """One graph of GraphML, as a table of one row.

    The key named "label" of nodes and edges is read, and keys of the graph are columns. Where the
    file was found in a folder of a folder, the name of its folder is one too.
    """

    gaps = True

    def blocks(self, rows: int | None = None) -> Iterator[pl.DataFrame]:
        content = self.source.read()
        if b"<!ENTITY" in content:  # a few of them may stand for gigabytes
            raise self._error("it defines entities. Write it again without")
        try:
            root = ElementTree.parse(io.BytesIO(content)).getroot()
        except (ElementTree.ParseError, LookupError, ValueError) as error:
            raise self._error(f"{error}. Write it again") from error
        graphs = [g for g in root.iter() if _tag(g) == "graph"]
        if _tag(root) != "graphml" or len(graphs) != 1:
            raise self._error(f"it holds {len(graphs)} graphs. Give a file for each")
        keys = {k.get("id"): k for k in root.iter() if _tag(k) == "key"}
        yield self._row(graphs[0], keys)

    def _row(self, graph: Any, keys: dict) -> pl.DataFrame:
        """One graph as a row of the table."""
        if graph.get("edgedefault") == "directed":
            raise self._error("its edges are directed. Write it with undirected ones")
        nodes = [n for n in graph if _tag(n) == "node"]
        edges = [e for e in graph if _tag(e) == "edge"]
        number = {n.get("id"): i for i, n in enumerate(nodes)}
        if len(number) < len(nodes) or None in number:
            raise self._error("two nodes have one id, or one has none. Give each its own")
        pairs = []
        for edge in edges:
            ends = edge.get("source"), edge.get("target")
            lost = next((end for end in ends if end not in number), None)
            if lost is not None or None in ends:
                raise self._error(f"an edge leads to the node {lost!r}, which is not there")
            pairs.append([number[end] for end in ends])
        fields: dict[str, Any] = {"nodes": len(nodes), "edges": pairs}
        schema: dict[str, Any] = {"edges": PAIRS, "nodes": pl.Int64}
        for part, items, noun in (("labels", nodes, "node"), ("edge_labels", edges, "edge")):
            labels = [self._data(item, keys).get(LABEL) for item in items]
            if any(label is not None for label in labels):
                if None in labels:
                    raise self._error(f"{noun} {labels.index(None)} has no label, and others have")
                fields[part] = labels
                whole = all(isinstance(label, int) for label in labels)
                schema[part] = pl.List(pl.Int64 if whole else pl.String)
        columns: dict[str, Any] = {
            "graph": pl.Series(
                [fields], dtype=pl.Struct({p: schema[p] for p in PARTS if p in schema})
            )
        }
        if self.source.folder:
            columns["folder"] = [self.source.folder]
        columns |= {
            name: [value] for name, value in self._data(graph, keys).items() if name not in columns
        }
        return pl.DataFrame(columns)

    def _data(self, element: Any, keys: dict) -> dict[str, Any]:
        """What an element carries, by the names of the keys."""
        found: dict[str, Any] = {}
        for data in element:
            key = keys.get(data.get("key"))
            if _tag(data) != "data" or key is None:
                continue
            kind, text = key.get("attr.type"), (data.text or "").strip()
            try:
                whole, real = kind in WHOLE, kind in ("float", "double")
                value: Any = int(text) if whole else float(text) if real else text
            except ValueError:
                raise self._error(f"{text!r:.40} is no {kind}") from None
            if whole and abs(value) >= 2**63:
                raise self._error(f"{text:.40} is no {kind}")
            found[key.get("attr.name") or str(key.get("id"))] = value
        return found

    def _error(self, said: str) -> TableError:
        said = " ".join(said.split())
        return TableError(f"{self.source.label} is not a readable graph: {said}.")


class GinFile(Typed):
    """Graphs with their classes as Xu et al. (GIN, 2019) write them, in lines of whole numbers.

    The first line is the number of graphs. Each graph is a line with its number of nodes and its
    class, and a line for each node: its label, the number of its neighbours, and these.
    """

    def blocks(self, rows: int | None = None) -> Iterator[pl.DataFrame]:
        lines = enumerate(self.source.read().decode("ascii", "replace").splitlines(), start=1)
        (count,) = self._numbers(lines, 1, exact=True)
        graphs, classes = [], []
        for i in range(count):
            n, kind = self._numbers(lines, 2, exact=True)
            graphs.append(self._graph(lines, i, n))
            classes.append(kind)
        rest = next((line for line, text in lines if text.strip()), None)
        if rest is not None:
            raise self._error(rest, f"there are more lines than those of {count} graphs")
        if not graphs:
            raise TableError(f"{self.source.label} has no graphs.")
        dtype = pl.Struct({"edges": PAIRS, "nodes": pl.Int64, "labels": pl.List(pl.Int64)})
        frame = pl.DataFrame({"graph": pl.Series(graphs, dtype=dtype), "class": classes})
        yield from [frame] if rows is None else frame.iter_slices(rows)

    def _graph(self, lines: Iterator, i: int, n: int) -> dict[str, Any]:
        """The next graph of the file, of n nodes."""
        labels, near = [], []
        for _ in range(n):
            line, found = self._line(lines, 2)
            if len(found) < 2 + found[1] or found[1] < 0:
                raise self._error(line, f"a node of {found[1]} neighbours names other ones")
            labels.append(found[0])
            near.append(found[2 : 2 + found[1]])
        pairs = {(u, v) for u, others in enumerate(near) for v in others}
        lost = next((p for p in pairs if not 0 <= p[1] < n or (p[1], p[0]) not in pairs), None)
        if lost is not None or len(pairs) < sum(map(len, near)):
            what = f"the edge {lost} has no way back, or leads to a node that is not there"
            what = "an edge stands twice" if lost is None else what
            raise TableError(f"{self.source.label}, graph {i + 1}: {what}.")
        return {"edges": sorted([u, v] for u, v in pairs if u <= v), "nodes": n, "labels": labels}

    def _numbers(self, lines: Iterator, count: int, *, exact: bool) -> list[int]:
        line, found = self._line(lines, count)
        if exact and (len(found) != count or found[0] < 0):
            raise self._error(line, f"there are other numbers than {count} are wanted")
        return found

    def _line(self, lines: Iterator, least: int) -> tuple[int, list[int]]:
        """The number of the next line, and its whole numbers."""
        line, text = next(lines, (None, ""))
        if line is None:
            raise TableError(f"{self.source.label} ends within a graph. Copy it again.")
        words = text.split()
        try:
            found = [int(word) for word in words[:least]]
            found += [int(word) for word in words[least : least + max(found[-1], 0)]]
        except (ValueError, IndexError):
            raise self._error(line, "there are no whole numbers") from None
        if len(found) < least or any(abs(value) >= 2**63 for value in found):
            raise self._error(line, f"there are fewer than {least} numbers, or too large ones")
        return line, found

    def _error(self, line: int, said: str) -> TableError:
        return TableError(
            f"{self.source.label}, line {line}: {said}. Each graph is a line with its number of "
            "nodes and its class, and for each node its label, how many neighbours, and these."
        )


def is_gin(begin: bytes) -> bool:
    """Whether a text begins as that of GIN: with one number, then two, then those of a node."""
    lines = [line.split() for line in begin.decode("ascii", "replace").splitlines()[:3]]
    whole = all(word.lstrip("-").isdigit() for line in lines for word in line)
    if len(lines) < 3 or not whole or [len(line) for line in lines[:2]] != [1, 2]:
        return False
    return len(lines[2]) >= 2 and len(lines[2]) == 2 + int(lines[2][1])


def _tag(element: Any) -> str:
    return element.tag.removeprefix(GRAPHML) if isinstance(element.tag, str) else ""
