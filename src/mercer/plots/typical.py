"""What is typical of groups of rows, in words: the columns in which each differs most from the
other rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.feature_extraction.text import CountVectorizer

from mercer.plots.marks import brief
from mercer.tables import Column, as_items, level_text, missing_values

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
