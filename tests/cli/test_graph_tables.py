"""Graphs in files: lists of edges, folders of GraphML, the text form of GIN."""

import gzip

import numpy as np
import polars as pl
import pytest
from tests.cli.runner import printed

from mercer.cli.files import new_rows
from mercer.cli.graph_tables import is_gin, is_graph, with_graphs
from mercer.cli.tables import Tables, TextReading, read_table
from mercer.cli.terminal import TableError
from mercer.samples import graph_of_fields
from mercer.tables import read_columns

KEYS = """<key id="d0" for="node" attr.name="label" attr.type="string"/>
<key id="d1" for="edge" attr.name="label" attr.type="int"/>
<key id="d2" for="graph" attr.name="class" attr.type="long"/>
<key id="d3" for="graph" attr.name="mass" attr.type="double"/>"""
NODES = """<node id="x"><data key="d0">C</data></node><node id="y"><data key="d0">O</data></node>
<node id="z"><data key="d0">C</data></node>"""
EDGES = """<edge source="x" target="y"><data key="d1">2</data></edge>
<edge source="z" target="y"><data key="d1">1</data></edge>"""


def graphml(nodes=NODES, edges=EDGES, keys=KEYS, more="", default="undirected", name="graphml"):
    space = ' xmlns="http://graphml.graphdrawing.org/xmlns"'
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<{name}{space}>{keys}'
        f'<graph edgedefault="{default}">{more}{nodes}{edges}</graph></{name}>'
    )


GIN = "2\n3 1\n5 1 1\n6 2 0 2\n5 1 1\n1 0\n-2 0\n"


def graphs(path, name="graph"):
    """The graphs of a column, as tuples."""
    return read_columns(read_table(path))[name].tolist()


def test_the_next_command_names_a_folder_for_a_folder_of_graphs(tmp_path):
    assert new_rows(tmp_path) == "NEW_FOLDER"
    assert new_rows(tmp_path / "a.v2.graphs.jsonl") == "NEW.jsonl"


def test_graphml(tmp_path):
    path = tmp_path / "a.graphml"
    path.write_text(graphml(more='<data key="d2">7</data><data key="d3">1.5</data>'))
    assert graphs(path) == [(3, ((0, 1), (2, 1)), ("C", "O", "C"), (2, 1))]
    frame = read_table(path)
    assert frame.drop("graph").rows() == [(7, 1.5)]
    assert frame.columns == ["graph", "class", "mass"]
    bare = tmp_path / "bare.graphml.gz"
    bare.write_bytes(gzip.compress(graphml('<node id="a"/>', "", "").replace(' xmlns="http://'
                     'graphml.graphdrawing.org/xmlns"', "").encode()))  # fmt: skip
    assert graphs(bare) == [(1, (), None, None)]


def test_a_folder_of_folders(tmp_path):
    for name in ("b/2", "a/1", "b/1"):
        path = tmp_path / f"{name}.graphml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(graphml(edges="" if name == "b/1" else EDGES))
    (tmp_path / "b" / "readme.txt").write_text("no graph")
    tables = Tables([tmp_path])
    with pytest.raises(TableError, match="in different files"):  # some with labels of edges
        tables.frame()
    (tmp_path / "b" / "1.graphml").write_text(graphml())
    frame = Tables([tmp_path]).frame()
    assert frame["folder"].to_list() == ["a", "b", "b"]
    blocks = list(Tables([tmp_path]).blocks(2))
    assert pl.concat(blocks).equals(frame)
    frame = Tables([tmp_path / "b"]).frame()
    assert frame.columns == ["graph"]
    (tmp_path / "none").mkdir()
    with pytest.raises(TableError, match="a folder without graphs"):
        Tables([tmp_path / "none"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (graphml(default="directed"), "its edges are directed"),
        (graphml(NODES + NODES), "two nodes have one id"),
        (graphml("<node/>", ""), "two nodes have one id, or one has none"),
        (graphml(edges='<edge source="x" target="w"/>'), "leads to the node 'w', which is not"),
        (graphml(edges='<edge source="x"/>'), "leads to the node None"),
        (graphml(NODES + '<node id="w"/>'), "node 3 has no label, and others have"),
        (graphml(edges=EDGES + '<edge source="x" target="z"/>'), "edge 2 has no label"),
        (graphml(more='<data key="d2">seven</data>'), "'seven' is no long"),
        (graphml(more=f'<data key="d2">{2**63}</data>'), "is no long"),
        (graphml(name="gexf"), "it holds 1 graphs"),
        ("<graphml/>", "it holds 0 graphs"),
        ("<graphml><graph>", "no element found"),
        ('<!DOCTYPE g [<!ENTITY a "aa">]><graphml/>', "it defines entities"),
    ],
)
def test_other_graphml_is_refused(text, said, tmp_path):
    path = tmp_path / "a.graphml"
    path.write_text(text)
    with pytest.raises(TableError, match=said) as error:
        read_table(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_gin(tmp_path):
    path = tmp_path / "m.txt.gz"
    path.write_bytes(gzip.compress(GIN.encode()))
    assert graphs(path) == [(3, ((0, 1), (1, 2)), (5, 6, 5), None), (1, (), (-2,), None)]
    assert read_table(path)["class"].to_list() == [1, 0]
    blocks = list(Tables([path]).blocks(1))
    assert [block.height for block in blocks] == [1, 1]
    assert is_gin(GIN.encode())
    for other in (b"", b"a\n1 2\n", b"1\n2\n3\n", b"1\n1 2\n5 6\n", b"3 4\n1 2\n0 0\n"):
        assert not is_gin(other)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GIN[:-6], "ends within a graph"),
        (GIN + "1 0\n", "line 8: there are more lines than those of 2 graphs"),
        (GIN.replace("6 2 0 2", "6 2 0"), "line 4: a node of 2 neighbours names other ones"),
        (GIN.replace("6 2 0 2", "6 1 0"), r"graph 1: the edge \(2, 1\) has no way back"),
        (GIN.replace("6 2 0 2", "6 2 0 9"), r"graph 1: the edge \(\d, \d\) has no way back"),
        (GIN.replace("6 2 0 2", "6 2 0 0"), "graph 1: the edge"),
        (GIN.replace("6 2 0 2", "6 3 0 2 2"), "graph 1: an edge stands twice"),
        (GIN.replace("6 2 0 2", "a 2 0 2"), "line 4: there are no whole numbers"),
        (GIN.replace("-2 0", f"{2**70} 0"), "too large"),
        (GIN.replace("-2 0", "-2"), "line 7"),
        (GIN.replace("2\n3 1", "9999999999\n3 1"), "ends within a graph"),
        (GIN.replace("1 0\n-2 0", "99999999999 0\n-2 0"), "ends within a graph"),
    ],
)  # fmt: skip
def test_other_gin_is_refused(text, said, tmp_path):
    path = tmp_path / "m.txt"
    path.write_text(text)
    with pytest.raises(TableError, match=said):
        read_table(path)


LISTS = pl.DataFrame(
    {
        "edges": [[[0, 1], [1, 2]], [[0, 1]], [], None],
        "labels": [["C", "C", "O"], ["C", "O"], ["N"], None],
        "y": [0, 1, 0, 1],
    }
)
WANTED = [
    (3, ((0, 1), (1, 2)), ("C", "C", "O"), None), (2, ((0, 1),), ("C", "O"), None),
    (1, (), ("N",), None), None,
]  # fmt: skip


@pytest.mark.parametrize("end", ["parquet", "jsonl", "arrow"])
def test_columns_of_edges(end, tmp_path):
    write = {"parquet": "write_parquet", "jsonl": "write_ndjson", "arrow": "write_ipc"}[end]
    getattr(LISTS, write)(tmp_path / f"t.{end}")
    assert graphs(tmp_path / f"t.{end}") == WANTED
    assert [b.height for b in Tables([tmp_path / f"t.{end}"]).blocks(3)] == [3, 1]


def test_objects_of_json_and_columns_beside_them(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(
        '{"m": {"edges": [[0, 1]], "nodes": 4, "edge_labels": [3]}, "labels": ["a"], "graph": 1}\n'
        '{"m": {"edges": [], "nodes": 0, "edge_labels": []}, "labels": ["a", "b"], "graph": 2}\n'
    )
    frame = read_table(path)
    assert frame.columns == ["m", "labels", "graph"]
    assert graphs(path, "m") == [(4, ((0, 1),), None, (3,)), (0, (), None, ())]
    assert Tables([path], TextReading()).frame().equals(frame)


def test_what_is_no_graph_stays():
    frame = pl.DataFrame({"edges": [[1, 2]], "labels": [["a"]], "nodes": ["x"]})
    assert with_graphs(frame).equals(frame)
    arrays = {"edges": pl.List(pl.Array(pl.Int32, 2)), "nodes": pl.String}
    array = pl.DataFrame({"edges": [[[0, 1]]], "nodes": ["x"]}, schema=arrays)
    found = with_graphs(array)
    assert found.columns == ["graph", "nodes"]
    assert is_graph(found["graph"].dtype)
    assert not is_graph(pl.Int64)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"edges": [[0, 1, 2]]}, "an edge is no pair"),
        ({"edges": [None]}, "an edge is no pair"),
        ({"edges": [[0, None]]}, "an edge is no pair"),
        ({"edges": [[0, 1]], "nodes": 1}, r"the edge \(0, 1\) leads to a node that is not there"),
        ({"edges": [[0, -1]]}, "leads to a node that is not there"),
        ({"edges": [[0, 1]], "labels": ["C"]}, "leads to a node"),
        ({"edges": [[0, 1]], "nodes": 2, "labels": ["C"]}, "1 labels for 2 nodes"),
        ({"edges": [[0, 1]], "labels": ["C", None]}, "node 1 has no label"),
    ],
)
def test_fields_of_no_graph_are_refused(fields, said):
    with pytest.raises(ValueError, match=f"row 3: .*{said}|row 3.*{said}"):
        graph_of_fields(fields, "column 'graph', row 3")


def test_a_table_with_such_a_graph_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"edges": [[[0, 1]], [[0, 1, 2]]] * 9, "y": [0, 1] * 9}).write_parquet("t.parquet")
    code, said = printed(capsys, "check", "t.parquet", "--target", "y")
    assert code != 0
    assert "column 'graph', row 1: an edge is no pair of numbers of nodes" in said


@pytest.mark.full
def test_a_folder_is_fitted_and_predicted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for i in range(40):
        n, ring = int(rng.integers(4, 9)), i % 2
        nodes = "".join(f'<node id="{v}"/>' for v in range(n))
        edges = "".join(f'<edge source="{v}" target="{(v + 1) % n}"/>' for v in range(n - 1 + ring))
        path = tmp_path / ("rings" if ring else "chains") / f"{i}.graphml"
        path.parent.mkdir(exist_ok=True)
        (tmp_path / "all").mkdir(exist_ok=True)
        for each in (path, tmp_path / "all" / f"{i:02}.graphml"):
            each.write_text(graphml(nodes, edges, ""))
    (tmp_path / "m").mkdir()
    (tmp_path / "rings").rename("m/rings")
    (tmp_path / "chains").rename("m/chains")
    code, said = printed(capsys, "fit", "m", "--target", "folder", "--time", "20")
    assert code == 0, said
    code, said = printed(capsys, "predict", "model.mercer", "all", "-o", "said.csv")
    assert code == 0, said
    said = pl.read_csv("said.csv")["prediction"].to_list()
    assert np.mean([s == ["chains", "rings"][i % 2] for i, s in enumerate(said)]) > 0.9
