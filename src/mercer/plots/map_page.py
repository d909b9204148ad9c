"""The page of a map: one HTML file that holds its points, its table and the script that shows them.

`map_page` fills map_page.html, whose script is map_page.js, with the columns of the table as arrays
of numbers or of levels, with pictures of samples, and with words for clusters.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from mercer.plots.marks import node_codes
from mercer.samples import Kind
from mercer.spoken import in_page
from mercer.tables import Column, as_items, level_text, missing_values

HERE = Path(__file__).parent
LETTERS = (1000, 300, 100, 40)  # the longest cell, the first for which the texts of a page are
TEXTS = 6_000_000  # letters at most
DRAWN = 2000  # samples of a column at most of which a page has pictures
CHANNELS = 6  # a sample with more columns of numbers is shown as an image
POINTS = 150  # of a curve
SIDE = 65535  # places are whole numbers up to this


def map_page(
    points: np.ndarray,
    columns: list[tuple[Column, np.ndarray]],
    *,
    title: str,
    color: str | None,
    notes: Iterable[str],
    clusters: tuple[np.ndarray, np.ndarray, list[list[str]]] | None,
    more: dict[str, np.ndarray],
    rows: np.ndarray | None,
    of: int,
) -> str:
    """The page as text.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
    columns : list of (Column, cells)
        The table, a cell for each point.
    title : str
    color : str or None
        The column that colours the points at first; None means the clusters, or else the first
        column that can.
    notes : iterable of str
        What a reader should know.
    clusters : (ndarray of shape (n,), ndarray of shape (k,), list of k lists of str) or None
        The number of the cluster of each row, -1 for none; of each cluster the row in its middle,
        and what is typical of it.
    more : dict of arrays of shape (n,)
        Further columns of numbers.
    rows : ndarray of shape (n,) or None
        Numbers of the rows in their table, from 1 on, if they are a part of it.
    of : int
        How many rows the table has.
    """
    span = np.ptp(points, axis=0)
    unit = SIDE / (span.max() or 1.0)
    # the middle of the map is that of the square
    places = np.rint((points - points.min(axis=0) - span / 2) * unit + SIDE / 2)
    middle = np.empty(0, np.int64) if clusters is None else clusters[1]
    drawn = _with_pictures(len(points), middle)
    made = [_column(c, cells, drawn) for c, cells in columns]
    _shorten(made)
    groups: list[dict[str, Any]] = []
    if clusters is not None:
        labels, middles, words = clusters
        sizes = np.bincount(labels[labels >= 0], minlength=len(middles))
        groups = [
            {"row": int(row), "size": int(size), "words": said}
            for row, size, said in zip(middles, sizes, words, strict=True)
        ]
        names = [f"cluster {c + 1}" for c in range(len(groups))]
        if names:
            made.append(_levels("cluster", labels, names) | {"own": True, "cluster": True})
    made += [_numbers(name, values) | {"own": True} for name, values in more.items()]
    names = [column["name"] for column in made]
    shown = names.index(color) if color is not None else _first_colour(made)
    data = {
        "n": len(points), "of": of, "places": _packed(places, "<u2"), "columns": made,
        "rows": None if rows is None else _packed(rows, "<u4"), "color": shown,
        "clusters": groups, "noise": None if clusters is None else int((clusters[0] < 0).sum()),
        "notes": list(notes), "width": float(span[0] * unit / SIDE),
        "height": float(span[1] * unit / SIDE),
    }  # fmt: skip
    script = (HERE / "map_page.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = (HERE / "map_page.html").read_text("utf-8")
    parts = {
        "@HASH@": f"sha256-{digest}", "@TITLE@": html.escape(title), "@SCRIPT@": script,
        "@DATA@": in_page(data),
    }  # fmt: skip
    return re.sub("@[A-Z]+@", lambda mark: parts[mark[0]], page)


def _with_pictures(n: int, middles: np.ndarray) -> np.ndarray:
    """The rows of which a page has pictures: those in the middle of clusters, and some of all."""
    some = np.random.default_rng(0).permutation(n)[:DRAWN]
    return np.unique(np.concatenate([middles, some])[:DRAWN])


def _first_colour(columns: list[dict]) -> int:
    """The clusters, else the first column with few levels, else the first of numbers."""
    wanted = (
        lambda c: c.get("cluster", False),
        lambda c: 1 < len(c.get("levels", ())) <= 12,
        lambda c: "levels" not in c,
    )
    return next((i for fits in wanted for i, column in enumerate(columns) if fits(column)), 0)


# --- columns as arrays ----------------------------------------------------------------------------


def _column(column: Column, cells: np.ndarray, drawn: np.ndarray) -> dict[str, Any]:
    """A column of the table, with pictures of some of its samples."""
    name, kind = str(column.name), column.of.samples
    if column.of.ordered:
        read = column.of.read(cells, column)
        if read.dtype.kind == "M":
            seconds = np.where(np.isnat(read), np.nan, read.astype("M8[s]").astype("i8"))
            return _numbers(name, seconds) | {"kind": "date"}
        return _numbers(name, read) | ({"kind": "time"} if column.of.in_time else {})
    if cells.dtype.kind == "f":  # an identifier, or a constant
        return _numbers(name, cells)
    missing = missing_values(cells)
    if column.of.items:
        items = as_items(cells, column.separator, column.name)
        texts = [", ".join(sorted(map(level_text, some))) for some in items]
    elif kind is not None and not kind.discrete:
        known = iter(column.of.cells(column, cells[~missing]))
        samples = [None if gone else next(known) for gone in missing]
        texts = ["" if sample is None else kind.text(sample) for sample in samples]
        pictures = {str(i): _picture(kind, samples[i]) for i in drawn if samples[i] is not None}
        pictures = {i: picture for i, picture in pictures.items() if picture is not None}
        if pictures:
            size = kind.size_of
            texts = [f"{kind.size(s):g} {size}" if s is not None and size else "" for s in samples]
        return _texts(name, texts, missing) | {"pictures": pictures}
    else:
        texts = column.of.texts(column, cells)
    return _texts(name, texts, missing)


def _numbers(name: str, values: np.ndarray) -> dict[str, Any]:
    """A column of numbers, NaN where there is none; in single precision if this tells them all."""
    values = np.asarray(values, np.float64)
    values = np.where(np.isfinite(values), values, np.nan)
    with np.errstate(over="ignore"):
        single = values.astype(np.float32).astype(np.float64)
    whole = np.nanmax(np.abs(values - np.rint(values)), initial=0.0) == 0
    close = np.zeros(1) if whole else 1e-6 * np.abs(values)
    wide = bool((np.abs(single - values) > close).any())
    cells = _packed(values, "<f8" if wide else "<f4")
    return {"name": name, "kind": "number", "cells": cells, "wide": wide}


def _texts(name: str, texts: list[str], missing: np.ndarray) -> dict[str, Any]:
    """A column of texts, as the different ones, the most frequent first, and their numbers."""
    levels, codes, counts = np.unique(
        np.array(texts, dtype=object), return_inverse=True, return_counts=True
    )
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return _levels(name, np.where(missing, -1, rank[codes]), levels[order].tolist())


def _levels(name: str, codes: np.ndarray, levels: list[str]) -> dict[str, Any]:
    """A column of levels by their numbers, -1 where there is none."""
    wide = len(levels) >= SIDE
    none = np.where(codes < 0, 2**32 - 1 if wide else SIDE, codes)
    cells = _packed(none, "<u4" if wide else "<u2")
    return {"name": name, "kind": "level", "cells": cells, "wide": wide, "levels": levels}


def _packed(values: np.ndarray, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype).tobytes()).decode()


def _shorten(columns: list[dict]) -> None:
    """Cut long texts, so that a page stays one that a browser opens at once."""
    lengths = np.array([len(text) for c in columns for text in c.get("levels", ())], np.int64)
    longest = next((k for k in LETTERS if np.minimum(lengths, k).sum() <= TEXTS), LETTERS[-1])
    for column in columns:
        if "levels" in column:
            column["levels"] = [
                text if len(text) <= longest else text[: longest - 1] + "…"
                for text in column["levels"]
            ]


def _picture(kind: Kind, item: Any) -> dict[str, Any] | None:
    """What the page draws of a sample: an image, curves, or nodes and edges; None if nothing."""
    curves = kind.curves(item)
    if curves is not None:
        curves = np.nan_to_num(np.asarray(curves, np.float64))
        if curves.shape[1] > CHANNELS:
            low, span = curves.min(), np.ptp(curves) or 1.0
            pixels = np.rint(255 * (curves - low) / span)
            high, wide = curves.shape
            return {"pixels": _packed(pixels, "u1"), "high": high, "wide": wide}
        places = np.linspace(0, len(curves) - 1, min(len(curves), POINTS))
        each = [np.interp(places, np.arange(len(curves)), curve) for curve in curves.T]
        return {"curves": [[float(f"{v:.4g}") for v in curve] for curve in each]}
    drawing = kind.drawing(item)
    if drawing is None or not len(drawing.places):
        return None
    names, codes = node_codes(drawing)
    if drawing.written:
        names, codes = drawing.labels, list(range(len(drawing.labels)))
    places = drawing.places.round(2).tolist()
    return {
        "nodes": [[*place, code] for place, code in zip(places, codes, strict=True)],
        "edges": drawing.edges.tolist(), "names": names, "written": drawing.written,
    }  # fmt: skip
