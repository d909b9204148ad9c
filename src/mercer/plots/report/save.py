"""The report: one HTML file that contains everything, loads nothing and runs no script.

`report_data` measures a fitted model, `write_report` writes the page. The numbers are also in a
block of JSON for programs, ``<script type="application/json" id="mercer-report">``.
"""

from __future__ import annotations

import base64
import json
import os
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mercer.persistence import write_whole
from mercer.plots.axes import brief
from mercer.plots.classes import COLOURS, node_codes
from mercer.plots.report.contents import ReportData, TableFacts
from mercer.plots.report.drawings import (
    ANCHORS,
    calibration_drawing,
    confusion_drawing,
    curve_points,
    dependence_drawing,
    embedding_drawing,
    histogram_drawing,
    indexed_png,
    learning_drawing,
    levels,
    rates_drawing,
    relevance_tracks,
    residuals_drawing,
    score_tracks,
    sparkline,
    spectrum_drawing,
)
from mercer.plots.report.measure import report_data
from mercer.samples import Drawing
from mercer.visible import visible

__all__ = ["ReportData", "report_data", "save_report", "write_report"]


# Graphs and trees in the report: where their nodes and edges are in a figure, and in which colour.
#
# A figure is 360 units wide, as those of drawings.py.


WIDTH, HEIGHT, MARGIN = 360.0, 260.0, 14.0
LONGEST = 46.0  # an edge of a small graph
LETTER = 6.4  # the width of a letter in a font of
FONT = 11.0
RADIUS = 6.5  # of a node; smaller where nodes are many


def node_drawing(drawing: Drawing) -> dict[str, Any]:
    """The nodes (x, y, colour, label), the edges (x, y, x, y), and what the colours say."""
    names, codes = node_codes(drawing)
    P = drawing.places * [1, -1]
    # words are centred at their nodes, and go beyond them
    beyond = np.zeros(len(P))
    if drawing.written:
        beyond += [len(word) / 2 + 1 for word in drawing.labels]
    left, right = float((P[:, 0] - beyond).min()), float((P[:, 0] + beyond).max())
    top, high = float(P[:, 1].min()), float(np.ptp(P[:, 1]))
    room = WIDTH - 2 * MARGIN
    unit = min(LETTER if drawing.written else LONGEST, room / max(right - left, 1e-9))
    if not drawing.written:
        unit = min(unit, (HEIGHT - 2 * MARGIN) / max(high, 1e-9))
    at = np.array([(WIDTH - unit * (left + right)) / 2, MARGIN - unit * top]) + unit * P
    radius = RADIUS if len(P) <= 40 else RADIUS * (40 / len(P)) ** 0.5
    edges = [
        _to_the_rim(at[u], at[v], radius + 2 if drawing.directed else 0.0)
        for u, v in drawing.edges.tolist()
        if u != v
    ]
    nodes = [
        (*place, codes[i], drawing.labels[i] if drawing.labels else "")
        for i, place in enumerate(at.round(1).tolist())
    ]
    return {
        "nodes": nodes, "edges": edges,
        "loops": [nodes[u] for u, v in drawing.edges.tolist() if u == v],
        "names": [] if drawing.written else list(zip(names, COLOURS)),
        "radius": round(radius, 1), "height": round(unit * high + 2 * MARGIN, 1),
        "font": round(FONT * unit / LETTER, 1),
    }  # fmt: skip


def _to_the_rim(start: np.ndarray, end: np.ndarray, short: float) -> list[float]:
    """A line that ends so much before its end, where an arrow meets the circle of a node."""
    gap = end - start
    share = max(1 - short / max(float(np.hypot(*gap)), 1e-9), 0.0)
    return [*start.round(1).tolist(), *(start + share * gap).round(1).tolist()]


TEMPLATES = Path(__file__).parent / "templates"
#: suffix -> what reads such a table in Python
READERS = {
    ".csv": "pl.read_csv({})", ".csv.gz": "pl.read_csv({})", ".csv.zst": "pl.read_csv({})",
    ".tsv": 'pl.read_csv({}, separator="\\t")', ".parquet": "pl.read_parquet({})",
    ".arrow": "pl.read_ipc({})", ".feather": "pl.read_ipc({})", ".jsonl": "pl.read_ndjson({})",
    ".ndjson": "pl.read_ndjson({})", ".xlsx": "pl.read_excel({})",
}  # fmt: skip
SMALL_CONFUSION = 8  # classes; a larger matrix is drawn as a map without numbers


def write_report(path: str | os.PathLike, data: ReportData) -> None:
    """Write the result of `report_data`; an existing file is replaced, or unchanged after an error.

    Raises
    ------
    ImportError
        jinja2 is not installed: it comes with the ``cli`` extra.
    OSError
        The file cannot be written.
    """
    write_whole(path, visible(render(data)).encode("utf-8"))


def save_report(
    path: str | os.PathLike,
    model: Any,
    X: Any,
    y: Any,
    *,
    train: tuple[Any, Any] | None = None,
    target: str = "target",
    values: bool = True,
    time: float | None = 60.0,
) -> ReportData:
    """Measure a fitted model and write its report.

    Parameters
    ----------
    path : str or path
        An existing file is replaced.
    model : fitted estimator
        `KernelClassifier`, `KernelRegressor`, or any kernel learner, pipeline or search around one.
    X, y : rows that the model was not fitted to
        The score and the errors are those on these rows.
    train : (X, y), optional
        The rows that it was fitted to. Without them there is no linear baseline, no
        learning curve, and no list of suspected targets.
    target : str
        Name of the target.
    values : bool
        Whether the report may hold values of single rows.
    time : float, optional
        About how many seconds this may take; None means no limit.

    Returns
    -------
    data : ReportData
        The numbers in the report.

    Examples
    --------
    >>> import mercer, tempfile
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mercer.KernelClassifier(trials=1).fit(X[::2], y[::2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = save_report(f"{folder}/iris.html", model, X[1::2], y[1::2])
    >>> data.score.rows
    75
    """
    data = report_data(
        model, *(train or (None, None)), holdout=(X, y), facts=TableFacts(target), values=values,
        time=time,
    )  # fmt: skip
    write_report(path, data)
    return data


def render(data: ReportData) -> str:
    """The page as text."""
    return _template().render(data=data, **_drawings(data))


@cache  # to compile it takes longer than to write a page
def _template() -> Any:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise ImportError(
            'The report needs jinja2, which is not installed: run pip install "mercer[cli]"'
        ) from error
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["brief"] = brief
    environment.filters["rows"] = lambda n: f"{n:,} row" + ("s" if n != 1 else "")
    environment.filters["python"] = repr
    environment.filters["shell"] = shlex.quote
    environment.filters["count"] = lambda n: f"{n:,}"
    return environment.get_template("report.html")


def _table_in_python(data: ReportData) -> str:
    """The expression that reads new rows, or what to put there where no function of polars does."""
    path, other = data.provenance.new_path, "...  # a table like {}"
    if any(column.kind == "graph" for column in data.columns):  # which may be several in a file
        return other.format(json.dumps(path))
    return READERS.get("".join(Path(path).suffixes).lower(), other).format(json.dumps(path))


def _drawings(data: ReportData) -> dict[str, Any]:
    confusion, regression = data.confusion, data.target_summary.edges is not None
    small = confusion is not None and len(confusion.classes) <= SMALL_CONFUSION
    gram = data.gram
    cloud = data.residuals if data.residuals and len(data.residuals.predicted) else None
    picture = indexed_png(levels(gram.K, *gram.limits))
    return {
        "style": (TEMPLATES / "style.css").read_text("utf-8"),
        "embedded": _embedded(data),
        "new_table": _table_in_python(data),
        "file_name": Path(data.provenance.data_path).name,
        "scores": score_tracks(data.contenders, data.score),
        "histogram": histogram_drawing(data.target_summary) if regression else None,
        "class_bars": None if regression else _class_bars(data),
        "curve_points": curve_points,
        "typical": [
            (c, node_drawing(c.drawing) if len(c.drawing.places) else None)
            for c in data.columns
            if c.drawing is not None
        ],
        "sparkline": sparkline,
        "spectrum": spectrum_drawing(data.spectrum),
        "embedding": None if data.embedding is None else embedding_drawing(data.embedding),
        "class_colours": COLOURS,
        "gram_png": base64.b64encode(picture).decode("ascii"),
        "gram_blocks": _blocks(data),
        "gradient": ", ".join(f"rgb({r} {g} {b})" for r, g, b in ANCHORS.tolist()),
        "relevance": None if data.relevance is None else relevance_tracks(data.relevance),
        "small_confusion": small,
        "confusion_map": None if confusion is None or small else confusion_drawing(confusion),
        "residuals": None if cloud is None else residuals_drawing(cloud),
        "dependences": [(each, dependence_drawing(each)) for each in data.dependences],
        "shapes": (
            []
            if data.shapes is None
            else [(each, dependence_drawing(each)) for each in data.shapes.functions]
        ),
        "rates": None if data.rates is None else rates_drawing(data.rates),
        "learning": (
            None if data.learning is None else learning_drawing(data.learning, data.score)
        ),
        "calibration": None if data.calibration is None else calibration_drawing(data.calibration),
    }


def _embedded(data: ReportData) -> str:
    """The numbers as JSON in ASCII, so that no text can end the script element around it."""
    text = json.dumps(data.numbers(), allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _class_bars(data: ReportData) -> list[tuple[str, int, float]]:
    """(class, rows, percent of the largest class), the most frequent class first."""
    counts, classes = data.target_summary.counts, data.target_summary.classes
    order = np.argsort(-counts, kind="stable")
    most = max(int(counts.max()), 1)
    return [(classes[i], int(counts[i]), round(100 * int(counts[i]) / most, 2)) for i in order]


def _blocks(data: ReportData) -> list[dict[str, Any]]:
    """The classes of the Gram picture, with the start and size of their blocks in percent."""
    if data.gram.classes is None or data.gram.sizes is None:
        return []
    total, ends = len(data.gram.K), np.cumsum(data.gram.sizes)
    return [
        {"name": str(name), "rows": int(size), "start": round(100 * (end - size) / total, 3),
         "size": round(100 * size / total, 3)}
        for name, size, end in zip(data.gram.classes, data.gram.sizes, ends)
    ]  # fmt: skip
