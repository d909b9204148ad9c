"""What a report draws of each column: counts of its values, and whiskers of its relevance."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose

from mercer import SVC, KernelClassifier, KernelRegressor, KernelRidge
from mercer.kernels import SubsetTree, WeisfeilerLehman
from mercer.plots.report.contents import render
from mercer.plots.report.data import ColumnSummary, node_drawing
from mercer.plots.report.why import Relevance
from mercer.samples import Drawing, kind_named
from mercer.tables import infer_columns
from plots.report.reports import report_data

RNG = np.random.default_rng(0)
N = 60
TABLE = pd.DataFrame(
    {
        "number": np.r_[np.nan, np.arange(1.0, 49.0), np.full(11, 3.0)],
        "level": ["x"] * 30 + ["y"] * 20 + [None] * 10,
        "text": ["", *("word " * (1 + i % 7) for i in range(N - 1))],
        "set": [{"tea"}] * 40 + [{"tea", "rum"}] * 20,
        "date": pd.date_range("2024-01-01", periods=N),
    }
)


def summed(curve):
    return ColumnSummary("wave", "series", "", True, 0, 2, curve=curve)


def test_a_column_of_series_is_drawn_as_their_mean():
    """A rising and a falling line of different lengths have a flat mean; channels beyond the first
    are not drawn."""
    both = np.empty(2, object)
    both[:] = [[0.0, 1.0, 2.0, 3.0], [3.5, 1.5, -0.5]]
    rising = np.empty(2, object)
    rising[:] = [[[0.0, 9.0], [4.0, 9.0]], [[2.0, 9.0], [6.0, 9.0]]]
    for cells, first, last in ((both, 1.75, 1.25), (rising, 1.0, 5.0)):
        column = infer_columns({"wave": cells}, kind={"wave": "series"})[0]
        curve = column.of.distribution(column, cells).curve
        assert_allclose(curve, np.linspace(first, last, 48))
    drawn = summed(curve).curve_points
    assert drawn[0] == (0.0, 22.0)
    assert drawn[-1] == (96.0, 2.0)
    assert {y for _, y in summed([2.0] * 48).curve_points} == {12.0}


def path(n):
    return (n, [(i, i + 1) for i in range(n - 1)], ["C"] * (n - 1) + ["O"])


def test_a_column_of_graphs_or_trees_shows_one_of_median_size():
    graphs = [path(n) for n in (2, 9, 4, 5, 3)]
    trees = [("S", *["a"] * n, ("b", "c")) for n in (1, 8, 3, 2, 9)]
    for cells, nodes, kind in ((graphs, 4, "graph"), (trees, 6, "tree")):
        column = infer_columns({"x": column_of(cells)}, kind={"x": kind})[0]
        drawn = column.of.distribution(column, column_of(cells)).drawing
        assert len(drawn.places) == nodes


def column_of(cells):
    found = np.empty(len(cells), object)
    found[:] = cells
    return found


def test_the_page_draws_lists_of_graphs_but_no_graph_of_a_row_where_values_are_secret():
    X, y = [path(3 + i % 5) for i in range(20)], np.arange(20) % 2
    for model in (SVC(kernel=WeisfeilerLehman(1)), KernelClassifier(trials=1)):
        model.fit(X, y)
        for values in (True, False):
            data = report_data(model, X, y, holdout=(X, y), values=values)
            assert data["columns"][0].kind == "graph"
            page = render(data)
            assert ("typical" in page) == values
            assert (page.count("<title>C</title>") == 4) == values  # the carbons of the median


def test_a_graph_that_is_too_large_is_told_in_words():
    X, y = [path(150), path(151)] * 3, np.arange(6.0)
    data = report_data(KernelRidge(kernel=WeisfeilerLehman(1)).fit(X, y), X, y, holdout=(X, y))
    page = render(data)
    assert "151 nodes, 150 edges, too many to draw" in page
    assert "chart nodes" not in page


def test_texts_that_a_kernel_reads_as_trees_are_not_said_to_be_texts():
    X = ["(S (NP she) (VP runs))", "(S (NP he) (VP sits))"] * 2
    y = np.arange(4.0)
    data = report_data(KernelRidge(kernel=SubsetTree()).fit(X, y), X, y, holdout=(X, y))
    assert data["columns"].each == []


def test_marks_of_a_drawing_are_within_their_figure():
    for drawing in (
        kind_named("graphs").drawing(path(7)), kind_named("graphs").drawing((1, [(0, 0)])),
        kind_named("graphs").drawing((90, [(0, i) for i in range(1, 90)])),
        kind_named("trees").drawing(("S", *[("a long word", "another one")] * 9)),
    ):  # fmt: skip
        drawn = node_drawing(drawing)
        x, y = (np.array([node[k] for node in drawn["nodes"]]) for k in (0, 1))
        room = [drawn["font"] * 0.5 * len(node[3]) / 2 if drawing.written else drawn["radius"]
                for node in drawn["nodes"]]  # fmt: skip
        assert (x - room).min() >= 0
        assert (x + room).max() <= 360
        assert y.min() - drawn["radius"] >= 0
        assert y.max() + drawn["radius"] <= drawn["height"]


def test_arrows_end_at_the_rim_of_a_node():
    drawing = Drawing(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0, 1]]), [], "", directed=True)
    drawn = node_drawing(drawing)
    (start, _, end, _), (_, right) = drawn["edges"][0], drawn["nodes"]
    assert start == drawn["nodes"][0][0]
    assert_allclose(right[0] - end, drawn["radius"] + 2, atol=0.11)


def test_each_kind_of_column_is_summed_up():
    model = KernelRegressor(trials=1, kind={"text": "text", "set": "set"})
    y = RNG.normal(size=N)
    model.fit(TABLE, y)
    columns = {
        c.name: c for c in report_data(model, TABLE, y, holdout=(TABLE[:9], y[:9]))["columns"]
    }
    number = columns["number"]
    assert (number.low, number.high, sum(number.counts)) == (1.0, 48.0, 59)
    assert dict(zip(columns["level"].levels, columns["level"].counts)) == {"x": 30, "y": 20}
    text = columns["text"]
    assert (text.low, text.high, sum(text.counts)) == (5.0, 35.0, 59)  # of texts that are not empty
    assert dict(zip(columns["set"].levels, columns["set"].counts)) == {"tea": 60, "rum": 20}
    date = columns["date"]
    assert date.levels == ["2024-01-01", "2024-02-29"]
    assert sum(date.counts) == N


def test_whiskers_are_the_interval_where_it_is_known():
    relevance = SimpleNamespace(
        columns=["a", "b", "c"], loss=np.array([0.5, 0.0, -0.5]),
        low=np.array([0.25, np.nan, -1.0]), high=np.array([1.0, np.nan, 0.0]),
    )  # fmt: skip
    tracks = Relevance(relevance).drawn(None)
    a, b, c = tracks["rows"]
    assert tracks["zero"] == 50
    assert b["whisker"] is None
    assert_allclose(a["whisker"], (62.5, 100))
    assert_allclose(c["whisker"], (0, 50))
    assert (a["left"], a["width"]) == (50, 25)
    assert (c["left"], c["width"]) == (25, 25)
