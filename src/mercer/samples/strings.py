"""Samples that are strings: unicode, bytes, or sequences of tokens."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Set
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from mercer.callers import first_outside
from mercer.persistence import fields, number, one_of, whole
from mercer.samples.kind import OBJECTS, Kind, named
from mercer.samples.protocol import SamplesLike
from mercer.samples.ragged import Ragged, code_objects
from mercer.samples.raw_data import as_objects, describe_entry, is_missing_value

#: form of a string -> its name in error messages
FORMS = {"text": "str", "bytes": "bytes", "tokens": "sequences of tokens"}
SAID_OF_ONE = (
    "X is {} lists of one text each, which {} compares as single tokens, equal or not: if each is "
    "a text, give [text for (text,) in X], and if they are labels, Match()."
)
SURROGATES = range(0xD800, 0xE000)  # code points that are not characters


@fields(
    values=whole(lambda strings: len(strings.alphabet)),
    form=one_of(*FORMS),
    known=number(lambda strings: len(strings.alphabet)),
)
class Strings(Ragged):
    """Strings as codes of their symbols, all in one array.

    Parameters
    ----------
    values : ndarray of shape (total,), uint8 or int32
        ``alphabet[values[k]]`` is a symbol. Codes are bytes if there are at most 256 symbols.
    starts : ndarray of shape (n + 1,), int64
        String i is ``values[starts[i] : starts[i + 1]]``.
    alphabet : list
        The symbols: characters, bytes as numbers, or tokens. Symbols of the training sample come
        first, in ascending order if they have an order.
    form : {"text", "bytes", "tokens"}
        What the user gave: str, bytes, or lists of tokens.
    known : int
        How many symbols are in the training sample.
    dtype : floating dtype, default=float64

    Examples
    --------
    >>> from mercer.distances import Edit
    >>> X = Edit().encode(["abba", "ba"])
    >>> X.alphabet, X.values, X.starts
    (['a', 'b'], array([0, 1, 1, 0, 1, 0], dtype=uint8), array([0, 4, 6]))
    """

    def __init__(
        self, values: np.ndarray, starts: np.ndarray, alphabet: list, form: str, known: int,
        dtype: DTypeLike = np.float64,
    ):  # fmt: skip
        super().__init__(values, starts, dtype)
        self.alphabet = alphabet
        self.form = form
        self.known = known

    def texts(self) -> list[str]:
        """Each string as a str in which each symbol, of any kind, is one character.

        Libraries that compare str read these. The code point of a character is ``values[k]``, or
        larger, to leave out the surrogates.
        """
        points = self.values.astype(np.uint32)
        points[points >= SURROGATES.start] += len(SURROGATES)
        whole, starts = points.tobytes().decode("utf-32-le"), self.starts.tolist()
        return [whole[s:e] for s, e in pairwise(starts)]


class StringsKind(Kind):
    """Strings of characters, bytes or tokens."""

    name = "strings"
    looks = "a list or column of strings (str, bytes, or lists of tokens)"
    encoded = (Strings,)
    coded = discrete = True
    column = "text"
    judged = True
    empty = ""
    size_of = "characters"
    distance = "mercer.distances:Edit"
    tags: ClassVar = {**OBJECTS, "string": True}

    def rows(self, X: SamplesLike, reader: str) -> list:
        return as_objects(X, self.name, reader)

    def encode(self, X: SamplesLike, like: Strings | None, reader: str) -> Strings:
        rows = self.rows(X, reader)
        form = _form(rows, reader)
        if like is not None and like.form != form:
            raise TypeError(
                f"X holds {FORMS[form]}, but the samples it is compared with are "
                f"{FORMS[like.form]}: give strings of the same type."
            )
        known = [] if like is None else like.alphabet
        if form == "tokens":
            if like is None and len(rows) > 1 and all(_is_one_text(row) for row in rows):
                warnings.warn(SAID_OF_ONE.format(len(rows), reader), stacklevel=first_outside())
            codes, alphabet = code_objects(rows, known, "tokens", reader)
        else:
            symbol = chr if form == "text" else int
            codes, alphabet = _code_symbols(_numbers(rows, form), known, symbol)
        codes = codes.astype(np.uint8 if len(alphabet) <= 256 else np.int32, copy=False)
        starts = np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
        training, dtype = (len(alphabet), np.float64) if like is None else (like.known, like.dtype)
        return Strings(codes, starts, alphabet, form, training, dtype)

    def make_kernels(self) -> list:
        return [named("mercer.kernels:Spectrum")(length).normalised() for length in (3, 5)]

    def remedy(self) -> str:
        return (
            "Give a kernel on strings, such as kernel=Spectrum(3) for any texts, GapWeighted() for "
            "short texts or EditRBF() for names; where there is metric=, a distance on strings, "
            "such as metric=Edit() or JaroWinkler(). If the strings are labels, use Match() on "
            "[[label] for label in X]."
        )

    def counter(self, samples: Strings) -> Any:
        """Counts of characters in a row, three at a time, or of tokens."""
        return named("mercer.kernels:Spectrum")(3 if samples.form == "text" else 1, samples)

    def holds(self, item: object) -> bool:
        return isinstance(item, (str, bytes, bytearray))


def _is_one_text(row: list) -> bool:
    return len(row) == 1 and isinstance(row[0], str)


def _numbers(rows: list, form: str) -> np.ndarray:
    """Code points or bytes of all rows, in one array."""
    if form == "bytes":
        return np.frombuffer(b"".join(rows), np.uint8)
    return np.frombuffer("".join(rows).encode("utf-32-le", "surrogatepass"), np.uint32)


def _code_symbols(numbers: np.ndarray, known: list, symbol: Callable) -> tuple[np.ndarray, list]:
    """Codes of symbols that are given as numbers; known symbols keep their codes."""
    code_of = {item: code for code, item in enumerate(known)}
    found = np.flatnonzero(np.bincount(numbers)) if len(numbers) else np.empty(0, np.int64)
    table = np.zeros(found[-1] + 1 if len(found) else 0, np.int32)
    table[found] = [code_of.setdefault(symbol(v), len(code_of)) for v in found.tolist()]
    return table[numbers], list(code_of)


def _form(rows: list, reader: str) -> str:
    """The form of all rows; an error names the first row that has another form."""
    forms = [_form_of(row) for row in rows]
    form = forms[0] or "text"
    for i, found in enumerate(forms):
        if found is None:
            raise TypeError(_no_string(rows[i], i, reader))
        if found != form:
            raise TypeError(
                f"X mixes {FORMS[form]} and {FORMS[found]} (X[{i}]). Give strings of the same "
                "type: s.decode() turns bytes into a str, and list(s) turns a str into tokens."
            )
    return form


def _no_string(row: object, i: int, reader: str) -> str:
    """The error for a sample that is no string."""
    if is_missing_value(row):
        remedy = '. Fill in missing entries, for example with "", or leave out the rows.'
    elif isinstance(row, (Set, Mapping)):
        remedy = ", which have an order. Use a kernel on sets, such as Jaccard()."
    else:
        remedy = " (str, bytes, or lists of tokens)."
    return f"X[{i}] is {describe_entry(row)}, but {reader} compares strings{remedy}"


def _form_of(row: list | str) -> str | None:
    """Whether a sample is a text, bytes or a list of tokens; None for all else."""
    if isinstance(row, str):
        return "text"
    if isinstance(row, (bytes, bytearray)):
        return "bytes"
    one_dimensional = isinstance(row, np.ndarray) and row.ndim == 1
    return "tokens" if isinstance(row, (list, tuple)) or one_dimensional else None
