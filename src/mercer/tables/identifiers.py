"""Whether short texts that are all different tell something of the target, or only name the rows.

Names, titles and codes of products have parts that return: their characters can predict. Numbers
of customers cannot. The texts are judged by kernel ridge regression of the target on the substrings
that they share, left out one by one: they tell something if the error is less than with targets in
random order.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.tables.cells import as_texts
from mercer.tables.columns import SAID, Column, read_otherwise
from mercer.tables.values import missing_values

ROWS = 400  # that are judged, at most
SUBSTRINGS = (1, 4)  # shortest and longest
PENALTIES = np.array([0.1, 0.3, 1.0, 3.0, 10.0])
ORDERS = 40  # random ones of the targets
LETTERS = 0.9  # share of letters and blanks in texts that are made of words
LEAST_GAIN = 0.01  # of the error of the mean
DEVIATIONS = 3.0  # above the mean gain of random orders


def spare_telling_texts(
    columns: list[Column], values: dict[Any, np.ndarray], targets: np.ndarray, seed: int = 0
) -> list[Column]:
    """The columns, where identifiers whose characters tell something of the target are texts.

    ``targets`` (n, t) are numbers, one column for each class. Identifiers of numbers, and those
    that the user has called so, stay what they are.
    """
    return [
        _judged(column, values[column.name], targets, seed)
        if column.of.identifies and column.reason != SAID
        else column
        for column in columns
    ]


def spare_worded_texts(columns: list[Column], values: dict[Any, np.ndarray]) -> list[Column]:
    """The columns, where identifiers that are mostly letters are texts.

    Without a target nothing shows whether the parts of a text mean something. Names and titles can
    be compared; numbers of customers and codes cannot.
    """
    return [
        _as_text(column, values[column.name], "but made of letters")
        if column.of.identifies and column.reason != SAID and _worded(values[column.name])
        else column
        for column in columns
    ]


def _worded(values: np.ndarray) -> bool:
    """Whether cells are texts of which nine in ten characters are letters or blanks."""
    known = values[~missing_values(values)].tolist()
    if values.dtype.kind != "O" or not all(isinstance(v, str) for v in known):
        return False
    whole = "".join(known)
    return sum(c.isalpha() or c.isspace() for c in whole) >= LETTERS * len(whole)


def _as_text(column: Column, values: np.ndarray, but: str) -> Column:
    return read_otherwise(column, "text", f"{column.reason}, {but}", values)


def _judged(column: Column, values: np.ndarray, targets: np.ndarray, seed: int) -> Column:
    """An identifier, or a text where its characters tell of the target."""
    known = np.flatnonzero(~missing_values(values))
    if values.dtype.kind != "O" or not all(isinstance(v, str) for v in values[known].tolist()):
        return column
    random = np.random.default_rng(seed)
    rows = np.sort(random.permutation(known)[:ROWS])
    texts = as_texts(values[rows], column.name)
    if count_rows(as_texts(values[known], column.name)) or not tell(texts, targets[rows], seed):
        return replace(
            column, reason=f"{column.reason}, and their characters say nothing about the target"
        )
    return _as_text(column, values, "but their characters tell of the target")


def count_rows(texts: list[str]) -> bool:
    """Whether texts are a counter: one beginning, then whole numbers that leave few out.

    Sorted tables make counters tell of any target that drifts.

    Examples
    --------
    >>> count_rows(["ID007", "ID008", "ID010"]), count_rows(["Anna", "Otto", "Ida"])
    (True, False)
    """
    beginning = os.path.commonprefix(texts)  # noqa: RUF071 - of strings, which are no paths
    start = len(beginning.rstrip("0123456789"))
    ends = [text[start:] for text in texts]
    if not all(re.fullmatch(r"\d{1,15}", end) for end in ends):
        return False
    numbers = np.array(ends, dtype=np.int64)
    return bool(np.ptp(numbers) < 2 * len(numbers))


def tell(texts: list[str], targets: np.ndarray, seed: int = 0) -> bool:
    """Whether the substrings that texts share predict targets (n, t) that were left out.

    Examples
    --------
    >>> ends = np.random.default_rng(0).integers(0, 2, 60)
    >>> names = [f"{i * 7919 % 997}{'ova' if end else 'ovic'}" for i, end in enumerate(ends)]
    >>> tell(names, ends[:, None]), tell(names, np.roll(ends, 7)[:, None])
    (True, False)
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    n, Y = len(texts), np.asarray(targets, float)
    if n < 3 or not np.ptp(Y, axis=0).any():
        return False
    parts = [TfidfVectorizer(analyzer="char_wb", ngram_range=SUBSTRINGS).fit_transform(texts)]
    if len({len(text) for text in texts}) == 1:  # places mean something
        symbols = np.array([list(text) for text in texts])
        places = [sp.csr_array(symbols == symbol) for symbol in np.unique(symbols)]
        parts.append(sp.hstack(places) / np.sqrt(symbols.shape[1]))
    F = sp.hstack(parts).tocsr()
    K = (F @ F.T).toarray() / len(parts)
    K -= K.mean(axis=0) + K.mean(axis=1)[:, None] - K.mean()
    eigenvalues, U = np.linalg.eigh(K)
    squares = U**2
    random = np.random.default_rng(seed)
    orders = [np.arange(n), *(random.permutation(n) for _ in range(ORDERS))]
    eigenvalues = np.clip(eigenvalues, 0, None)
    shrunk = [eigenvalues / (eigenvalues + penalty) for penalty in PENALTIES]
    gains = []
    for order in orders:
        y = Y[order] - Y.mean(axis=0)
        mean = ((y / (1 - 1 / n)) ** 2).sum()  # the error of the mean, left out
        errors = [
            (((y - U @ (s[:, None] * (U.T @ y))) / (1 - squares @ s - 1 / n)[:, None]) ** 2).sum()
            for s in shrunk
        ]
        gains.append(1 - min(errors) / mean)
    gain, others = gains[0], np.array(gains[1:])
    return bool(gain > LEAST_GAIN and gain > others.mean() + DEVIATIONS * others.std())
