"""Cells: how texts and sets are split and encoded for their kernels, and when cells are equal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Set
from typing import Any

import numpy as np

from mercer.samples import Kind, SamplesLike, as_samples, kind_named, split_items
from mercer.tables.forms import some_of
from mercer.tables.values import missing_values

SEPARATORS = ";|,"  # of the items of a cell, the clearest first
SETS = (Set, list, tuple, np.ndarray)
ITEM_LENGTH = 30  # characters on average: longer ones are clauses, not items
PAIRS = 0.9  # of the cells
REPEATED = 5  # times at least that an item stands in a column of sets, on average

#: ways to read texts, sequences, sets and vectors -> their kind of sample; others are read in one
#: way, as their kind
VIEWS = {
    "characters": "strings", "words": "strings", "sequences": "strings", "places": "strings",
    "strands": "strings",
    "items": "sets", "directions": "vectors",
}  # fmt: skip

BRACKETS = {"[": "]", "{": "}", "(": ")"}
_KEY = re.compile(r"""\s*["'][^"']*["']\s*:""")  # of an object of JSON
_ITEM = re.compile(r"""'([^']*)'|"([^"]*)\"""")
_QUOTED = re.compile(r"""\s*(?:'[^']*'|"[^"]*")(?:\s*[,;]\s*(?:'[^']*'|"[^"]*"))*\s*""")
_WORD = re.compile(r"\w+|[^\w\s]")


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, and its punctuation marks each for itself.

    Examples
    --------
    >>> words_of("WIN £100 now!!")
    ['win', '£', '100', 'now', '!', '!']
    """
    return _WORD.findall(text.lower())


def as_texts(values: np.ndarray, name: object) -> list[str]:
    """A column as texts; a missing one is the empty text, and words in a list stand side by side.
    Bytes, sets and other lists are a TypeError."""
    return [_text(value, i, name) for i, value in enumerate(_filled(values))]


def as_items(values: np.ndarray, separator: str | None, name: object) -> list[list]:
    """A column as lists of items; a missing one is the empty set.

    Texts are split at the separator, at blanks where it is None; items lose the blanks around
    them, and empty ones are left out.
    """
    return [items_of(value, separator) for value in _filled(values)]


def separator_of(texts: Iterable[Any]) -> str | None:
    """What separates the items of most cells: one of ``;|,``, or None: blanks."""
    counts = Counter(s for text in texts for s in SEPARATORS if s in str(text))
    return counts.most_common(1)[0][0] if counts else None


def clear_separator(counts: Counter) -> str | None:
    """The separator of a column that holds sets, beyond doubt; None if it does not.

    It stands in more than half of the cells, and between short items that return: each stands in
    five cells on average. Clauses of free text hardly do. Two items in nearly all cells, and never
    more, are a surname with a forename.
    """
    known = sum(counts.values())
    some = some_of(counts)
    for separator in SEPARATORS:
        if not any(isinstance(v, str) and separator in v for v in some):
            continue
        having = sum(c for v, c in counts.items() if isinstance(v, str) and separator in v)
        if having <= known / 2:
            continue
        found: Counter = Counter()
        sizes: Counter = Counter()
        for value, c in counts.items():
            items = set(items_of(value, separator))
            sizes[len(items)] += c
            for item in items:
                found[item] += c
        if max(sizes) == 2 and sizes[2] > PAIRS * known:
            continue
        total = sum(found.values())
        length = sum(len(item) * c for item, c in found.items()) / max(total, 1)
        if length <= ITEM_LENGTH and total >= REPEATED * len(found):
            return separator
    return None


def encode_cells(view: str, cells: Any, like: SamplesLike | None = None) -> Any:
    """Encoded texts ("characters"), their words, items, or other samples.

    ``like`` is what `known_cells` knows of the training cells; vectors are centred by it.
    """
    kind, rows = kind_of_view(view), cells
    if view == "words":
        rows = [words_of(text) for text in cells]
    elif view == "characters":  # substrings at the ends, as of names, differ from others
        rows = [f" {text} " if text else "" for text in cells]
    elif view == "vectors":
        rows, like = (cells - like).astype(np.float32), None
    elif view == "directions":
        norms = np.linalg.norm(cells, axis=1, keepdims=True)
        rows = (cells / np.where(norms > 0, norms, 1)).astype(np.float32)
    reader = f"a column of {kind.column or kind.name}"
    return as_samples(rows, kind.name, like=like, reader=reader)


def known_cells(view: str, cells: Any) -> Any:
    """What to encode new cells by: the centre of vectors, or the symbols of the training cells."""
    if view == "vectors":
        return cells.mean(axis=0)
    return encode_cells(view, cells if kind_of_view(view).learns else cells[:1])[:0]


def kind_of_view(view: str) -> Kind:
    """The kind of the samples that a model reads in this way."""
    return kind_named(VIEWS.get(view, view))


def _filled(values: np.ndarray) -> list:
    missing = missing_values(values)
    column = values.tolist()
    return [None if gone else value for value, gone in zip(column, missing)]


def _text(value: object, i: int, name: object) -> str:
    """A cell as one text, of which a list of words is another form."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        raise TypeError(
            f"column {name!r} holds bytes in row {i}: make texts of them, by .decode()."
        )
    if isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value):
        return " ".join(value)
    if isinstance(value, SETS):
        raise TypeError(
            f"column {name!r} was read as texts in training, but row {i} holds a "
            f"{type(value).__name__}: give a str."
        )
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def items_of(value: object, separator: str | None) -> list:
    """The items of one cell, without the brackets and quotes of a list.

    Examples
    --------
    >>> items_of("['tea', 'rum']", ","), items_of("{a;b}", ";"), items_of("a b", None)
    (['tea', 'rum'], ['a', 'b'], ['a', 'b'])
    """
    if value is None:
        return []
    if isinstance(value, SETS):
        return list(value)
    text = _text(value, 0, "")
    inside = listed_in(text)
    if inside is None:
        return split_items(text, separator)
    if _QUOTED.fullmatch(inside):
        return [one or other for one, other in _ITEM.findall(inside)]
    return [item.strip("'\"") for item in split_items(inside, separator)]


def listed_in(text: str) -> str | None:
    """What stands in the brackets of a list; None if the text is none.

    Examples
    --------
    >>> listed_in("[1;2]"), listed_in("{}"), listed_in("(a) or (b)"), listed_in("a")
    ('1;2', '', None, None)
    """
    text = text.strip().removeprefix("frozenset(").removeprefix("set(")
    text = text[:-1] if text.endswith("})") or text.endswith("])") else text
    if len(text) < 2 or BRACKETS.get(text[0]) != text[-1]:
        return None
    inside = text[1:-1].strip()
    return None if set(inside) & set("[](){}") else inside.rstrip(",;")


def list_separator(counts: Counter) -> str | None:
    """The separator of a column of lists in brackets; None if it does not hold such."""
    inside = []
    for text in counts:
        found = listed_in(text) if isinstance(text, str) else None
        if found is None or _KEY.match(found):
            return None
        inside.append(found)
    if not any(mark in str(text) for text in inside for mark in SEPARATORS):
        return None
    return separator_of(inside) or ","


NUMBERS = "fiub"  # kinds of types


def cell_bytes(cell: object, text: Callable[[Any], str] = repr) -> bytes:
    """The content of a cell, the same for equal cells; ``text`` converts cells of other types.

    Arrays and lists of numbers are compared as float64 by all their numbers: the text of an array
    takes long to write, and leaves out the middle of a long one.

    Examples
    --------
    >>> cell_bytes([1, 2]) == cell_bytes(np.array([1.0, 2.0]))
    True
    >>> cell_bytes({"b", "a"})
    b"{'a' 'b'}"
    """
    if isinstance(cell, Set):
        return f"{{{' '.join(sorted(map(text, cell)))}}}".encode("utf-8", "surrogatepass")
    if not isinstance(cell, (list, tuple, np.ndarray)):
        return text(cell).encode("utf-8", "surrogatepass")
    numbers = _numbers(cell)
    if numbers is not None:
        return str(numbers.shape).encode() + numbers.tobytes()
    return b"[%b]" % b"\0".join(cell_bytes(part, text) for part in cell)


def column_bytes(values: np.ndarray) -> bytes:
    """The content of the cells of a column."""
    kind = values.dtype.kind
    if kind not in "fiubmM":
        cells = values.tolist()
        if all(type(cell) is str or cell is None for cell in cells):  # each different one once
            known = {cell: cell_bytes(cell) for cell in set(cells)}
            return b"\0".join([known[cell] for cell in cells])
        return b"\0".join(map(cell_bytes, cells))
    if kind == "f":
        values = values + 0.0  # -0 is 0
    elif kind in "iu":
        values = values.astype(np.int64)
    return np.ascontiguousarray(values).tobytes()


def _numbers(cell: Any) -> np.ndarray | None:
    """A cell of numbers alone as an array, in which -0 is 0; None for other cells."""
    if not isinstance(cell, np.ndarray):
        if not len(cell) or not isinstance(
            cell[0], (int, float, np.number, list, tuple, np.ndarray)
        ):
            return None
        try:
            cell = np.array(cell)
        except ValueError:  # parts of different lengths
            return None
    return cell.astype(np.float64) + 0.0 if cell.dtype.kind in NUMBERS else None
