"""`MapDisplay`: a map of samples as a picture, or as a page to walk through.

The page says what is typical of groups of rows: the columns in which each differs most from the
other rows.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.feature_extraction.text import CountVectorizer

from mercer.persistence import write_whole
from mercer.plots.displays.display import PLANE, VECTOR, Display, display, one_for_each
from mercer.plots.displays.spectral import EmbeddingDisplay
from mercer.plots.map_page import map_page
from mercer.plots.marks import INK, brief, class_points
from mercer.samples import describe
from mercer.spoken import visible
from mercer.tables import Column, as_items, infer_columns, level_text, missing_values, read_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LEAST, MOST = 0.25, 3  # how much a column must differ, from 0 to 1, and how many are told
TOKENS = 1000  # most frequent levels, items, words or parts of words of a column
PART = 3  # letters of a part of a word, where texts are single words
SAID = 40  # letters of a level


def typical(columns: list[tuple[Column, np.ndarray]], labels: np.ndarray) -> list[list[str]]:
    """For each group the columns in which it differs most from all other rows, at most three.

    Numbers and dates differ by how much more often than not a row of the group has the larger (or
    smaller) one than another row, :math:`|2 P(x > z) - 1|`; levels, items of sets and words of
    texts by their share of the rows. What differs by less than a quarter is not told.

    Parameters
    ----------
    columns : list of (Column, ndarray of shape (n,))
        The columns and their cells.
    labels : ndarray of shape (n,), int
        The group of each row from 0 on; -1 is no group.

    Examples
    --------
    >>> from mercer.tables import infer_columns, read_columns
    >>> values = read_columns([[1.5, "red"], [2.5, "red"], [30.5, "blue"], [20.5, "red"]])
    >>> columns = [(column, values[column.name]) for column in infer_columns(values)]
    >>> typical(columns, np.array([0, 0, 1, 1]))[1]
    ['0 is high: median 25.5, others 2', '1 is blue: 50%, others 0%']
    """
    count = int(labels.max(initial=-1)) + 1
    sizes = np.bincount(labels[labels >= 0], minlength=count)
    found: list[list[tuple[float, str]]] = [[] for _ in range(count)]
    for column, cells in columns:
        if column.of.ordered:
            told = _of_numbers(column, cells, labels, count)
        elif column.kind in ("identifier", "constant", "duplicate", "empty"):
            continue
        else:
            told = _of_tokens(column, cells, labels, sizes)
        for group, effect, said in told:
            found[group].append((effect, f"{column.name} {said}"))
    ordered = [sorted(each, key=lambda pair: -pair[0]) for each in found]
    return [[said for _, said in each[:MOST]] for each in ordered]


def _of_numbers(column: Column, cells: np.ndarray, labels: np.ndarray, count: int) -> list:
    """(group, effect, words) of a column of numbers or dates."""
    read = column.of.read(cells, column)
    dates = read.dtype.kind == "M"
    known = ~(np.isnat(read) if dates else np.isnan(read))
    values, groups = read[known], labels[known]
    numbers = values.astype("i8") if dates else values
    ranks, inside = rankdata(numbers), groups >= 0
    sizes = np.bincount(groups[inside], minlength=count)
    sums = np.bincount(groups[inside], ranks[inside], count)
    pairs = sizes * (len(values) - sizes)  # of a row inside and one outside
    with np.errstate(invalid="ignore", divide="ignore"):
        effects = 2 * (sums - sizes * (sizes + 1) / 2) / pairs - 1
    high, low = ("late", "early") if column.of.in_time else ("high", "low")
    told = []
    for group in np.flatnonzero(np.nan_to_num(np.abs(effects)) >= LEAST):
        mine = groups == group
        # the middle row, which is also one for dates
        middles = [np.sort(part)[len(part) // 2] if dates else np.median(part)
                   for part in (values[mine], values[~mine])]  # fmt: skip
        mine, others = (str(v)[:10] if dates else brief(float(v)) for v in middles)
        if mine != others:
            way = high if effects[group] > 0 else low
            told.append((group, abs(effects[group]), f"is {way}: median {mine}, others {others}"))
    return told


def _of_tokens(column: Column, cells: np.ndarray, labels: np.ndarray, sizes: np.ndarray) -> list:
    """(group, effect, words) of a column of levels, sets or texts; nothing of other samples."""
    missing, kind = missing_values(cells), column.of.samples
    options: dict[str, Any] = {"analyzer": lambda items: items}
    verb = "has"
    if column.of.items:
        items = as_items(cells, column.separator, column.name)
        tokens: Any = [sorted(map(level_text, some)) for some in items]
    elif kind is not None and not kind.discrete:
        return []
    else:
        texts = column.of.texts(column, cells)
        if kind is None:
            verb, tokens = "is", [[text] for text in texts]
        else:
            tokens = [text.lower() for text in texts]
            worded = 2 * sum(" " in text for text in tokens) > len(tokens)
            options = {"analyzer": "word", "token_pattern": r"(?u)\b\w+\b"}
            if not worded:
                options = {"analyzer": "char", "ngram_range": (PART, PART)}
    counter: Any = CountVectorizer(**options, binary=True, max_features=TOKENS, lowercase=False)
    tokens = [[] if gone and verb == "is" else row for row, gone in zip(tokens, missing)]
    try:
        counts = counter.fit_transform(tokens)
    except ValueError:  # no row has a token
        return []
    names = counter.get_feature_names_out()
    total = np.asarray(counts.sum(axis=0)).ravel()
    told = []
    for group, size in enumerate(sizes):
        mine = np.asarray(counts[labels == group].sum(axis=0)).ravel()
        share, others = mine / max(size, 1), (total - mine) / max(len(labels) - size, 1)
        best = int((share - others).argmax())
        if share[best] - others[best] >= LEAST:
            name = str(names[best])
            name = name if len(name) <= SAID else name[: SAID - 1] + "…"
            name = name if kind is None or column.of.items else f"“{name}”"
            said = f"{verb} {name}: {100 * share[best]:.0f}%, others {100 * others[best]:.0f}%"
            told.append((group, share[best] - others[best], said))
    return told


AMONG = 256  # rows of a cluster of which one is its middle
NAMED = 30  # clusters whose numbers a picture shows
WHOLE: dict[str, Any] = {"read": lambda name, values: _whole_numbers(name, values)}


@display
class MapDisplay(Display):
    """A map of samples of any kind, with the clusters and the table of its rows.

    `plot` draws it; `write` makes a page that loads nothing, in which points can be coloured by any
    column, searched, and asked for their rows.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        Places of the rows.
    table : data frame, array or list of samples, optional
        A row for each point. What stands in it is shown, and told of clusters; it need not be what
        the map was made of.
    color : str or int, optional
        The column of the table that colours the points; by default the clusters do.
    labels : array-like of shape (n,), int, optional
        The cluster of each row from 0 on; -1 for rows of none.
    middles : array-like of shape (clusters,), int, optional
        The row in the middle of each cluster; by default that nearest to its mean in the map.
    probabilities, outlier_scores : array-like of shape (n,), optional
        What `HDBSCAN` says of each row under these names.
    rows : array-like of shape (n,), int, optional
        Numbers of the rows in a larger table, from 1 on.
    of : int, optional
        Rows of that table.
    columns : list of Column, optional
        How the columns of the table are read; by default as `mercer.tables.infer_columns` does.
    title : str, default="Map"
    notes : list of str
        What a reader of the page should know, such as how the rows were compared.

    Examples
    --------
    >>> import mercer
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = mercer.NeighbourEmbedding(random_state=0).fit(X)
    >>> clusters = mercer.HDBSCAN(min_cluster_size=10).fit(X)
    >>> display = mercer.plots.MapDisplay.from_estimator(model, X.assign(y=y), clusters=clusters)
    >>> display.words[0][0]
    'petal length (cm) is high: median 4.9, others 1.5'
    """

    points: Any = field(metadata=PLANE)
    table: Any = None
    _: KW_ONLY
    color: Any = None
    labels: Any = field(default=None, metadata=WHOLE | one_for_each("points"))
    middles: Any = field(default=None, metadata=WHOLE)
    probabilities: Any = field(default=None, metadata=VECTOR | one_for_each("points"))
    outlier_scores: Any = field(default=None, metadata=VECTOR | one_for_each("points"))
    rows: Any = field(default=None, metadata=WHOLE | one_for_each("points"))
    of: int | None = None
    columns: list[Column] | None = None
    title: str = "Map"
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._cells: dict[Any, np.ndarray] = {}
        if self.table is not None:
            self._cells = read_columns(self.table)
            n = len(next(iter(self._cells.values())))
            if n != len(self.points):
                raise ValueError(
                    f"table has {n} rows: give one for each of the {len(self.points)} points."
                )
        self.columns = infer_columns(self._cells) if self.columns is None else self.columns
        names = [str(name) for name in self._cells]
        if self.color is not None and str(self.color) not in names:
            raise ValueError(f"color={self.color!r}: give one of the columns {names[:20]}.")
        if self.labels is not None and self.middles is None:
            self.middles = _central(self.points, self.labels)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        table: Any = None,
        *,
        clusters: Any = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw a fitted map.

        Parameters
        ----------
        estimator : NeighbourEmbedding
        table : data frame, array or list of samples, optional
            A row for each row of the map.
        clusters : fitted clusterer, optional
            One with ``labels_`` of the same rows, such as `HDBSCAN`.
        ax : matplotlib axes, optional
        **options
            Other parameters of the class.
        """
        labels = None if clusters is None else np.asarray(clusters.labels_)
        found = {
            "labels": labels,
            "middles": None if labels is None else middle_rows(estimator, labels),
            "probabilities": getattr(clusters, "probabilities_", None),
            "outlier_scores": getattr(clusters, "outlier_scores_", None),
        }
        return cls(estimator.embedding_, table, **(found | options)).plot(ax)

    @cached_property
    def words(self) -> list[list[str]]:
        """What is typical of each cluster, by the columns of the table."""
        return [] if self.labels is None else typical(self._read(), self.labels)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw ``points_``, in the colours of ``color`` or else of the clusters, whose numbers
        stand in their middle. ``kwargs`` go to ``ax.scatter``."""
        ax = self._draw_on(ax, figsize=(6.4, 5.6))
        style = {"s": float(np.clip(9000 / len(self.points), 3, 26)), "linewidths": 0.2, **kwargs}
        shown, values = np.ones(len(self.points), bool), None
        if self.color is not None:
            column = next(c for c in self.columns or [] if str(c.name) == str(self.color))
            cells = self._cells[column.name]
            values = np.array(column.of.texts(column, cells))
            if column.of.ordered and not column.of.in_time:
                values = column.of.read(cells, column)
                shown = ~np.isnan(values)
        elif self.labels is not None:
            shown = self.labels >= 0
        rest = {**style, "color": "0.7", "zorder": 1}
        ax.scatter(*self.points[~shown].T, **rest)
        if values is None and self.labels is not None:
            self.points_ = class_points(
                ax, self.points[shown], self.labels[shown], len(self.middles), **style
            )
            from matplotlib.patheffects import withStroke

            look: dict[str, Any] = {"ha": "center", "va": "center", "weight": "bold", "color": INK}
            for number, row in enumerate(self.middles[:NAMED], start=1):
                mark = ax.annotate(str(number), self.points[row], **look)
                mark.set_path_effects([withStroke(linewidth=3, foreground="white")])
        else:
            some = None if values is None else values[shown]
            self.points_ = EmbeddingDisplay(self.points[shown], some).plot(ax, **style).points_
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="", title=self.title)
        ax.set_aspect("equal", adjustable="datalim")
        return self

    def write(self, path: str | os.PathLike) -> None:
        """Write the page of the map: one file, which loads nothing; an old one is replaced.

        The page holds all cells of the table, long texts cut, and runs one script, its own. It has
        about 100 bytes for a row and ten columns.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        more = {"probability": self.probabilities, "outlier score": self.outlier_scores}
        page = map_page(
            self.points, self._read(), title=self.title,
            color=None if self.color is None else str(self.color), notes=self.notes,
            clusters=None if self.labels is None else (self.labels, self.middles, self.words),
            more={name: values for name, values in more.items() if values is not None},
            rows=self.rows, of=self.of or len(self.points),
        )  # fmt: skip
        write_whole(path, visible(page).encode("utf-8"))

    def _read(self) -> list[tuple[Column, np.ndarray]]:
        return [(column, self._cells[column.name]) for column in self.columns or []]


def middle_rows(estimator: Any, labels: np.ndarray) -> np.ndarray:
    """The row of each cluster that is nearest to its others, among at most 256 of them.

    ``estimator`` is a fitted map, whose distance tells how near rows are.
    """
    found = []
    for cluster in range(int(labels.max(initial=-1)) + 1):
        members = np.flatnonzero(labels == cluster)
        some = members[np.linspace(0, len(members) - 1, min(len(members), AMONG)).astype(int)]
        X = estimator.X_fit_[some]
        found.append(some[estimator.distances_to(X, X).sum(axis=1).argmin()])
    return np.array(found, np.int64)


def _central(points: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The row of each cluster that is nearest to its mean in the map."""
    found = []
    for cluster in range(int(labels.max(initial=-1)) + 1):
        members = np.flatnonzero(labels == cluster)
        gaps = np.linalg.norm(points[members] - points[members].mean(axis=0), axis=1)
        found.append(members[gaps.argmin()])
    return np.array(found, np.int64)


def _whole_numbers(name: str, values: Any) -> np.ndarray:
    found = np.asarray(values)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise ValueError(f"{name} is {describe(values)}: give integers of shape (n,).")
    return found.astype(np.int64)
