"""Numbers of 32 bits that look random, one for each item of a set: what MinHash permutes.

Equal items get equal numbers, in every process.
"""

from __future__ import annotations

from hashlib import blake2b
from numbers import Number
from typing import Any

import numpy as np

from mercer import _native

PRIME = 2**61 - 1  # the hash of a smaller integer is the integer, but for -1 (sys.hash_info)
NAN = 2**62  # no other number has this hash
# the steps of SplitMix64 (Steele, Lea & Flood, "Fast splittable pseudorandom number generators",
# OOPSLA 2014)
FIRST, FACTORS = 0x9E3779B97F4A7C15, (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def item_numbers(items: list) -> np.ndarray:
    """The number of each item, (n,), uint32: texts and numbers are hashed all at once.

    Items are texts, bytes, numbers, None, or tuples and frozen sets of them; others are a
    TypeError.

    Examples
    --------
    >>> a, b, c = item_numbers(["tea", 1, True])
    >>> bool(a == b), bool(b == c)
    (False, True)
    """
    try:
        return _native.hash_items(items)
    except TypeError:  # not all of them are texts, which is not asked before: most often they are
        pass
    if all(_is_number(kind) for kind in set(map(type, items))):
        return _of_numbers(items)
    kind_of = np.array([_kind(item) for item in items])
    out = np.empty(len(items), np.uint32)
    hashing = {"text": _native.hash_items, "number": _of_numbers, "other": _of_others}
    for kind, hashed in hashing.items():
        places = np.flatnonzero(kind_of == kind)
        out[places] = hashed([items[i] for i in places])
    return out


def _is_number(kind: type) -> bool:
    return issubclass(kind, (Number, np.bool_))


def _kind(item: Any) -> str:
    return "text" if isinstance(item, str) else "number" if _is_number(type(item)) else "other"


def _of_numbers(numbers: list) -> np.ndarray:
    if set(map(type, numbers)) == {int} and abs(max(numbers, key=abs)) < PRIME:
        return _mixed(np.fromiter(numbers, np.int64, len(numbers)).view(np.uint64))
    # Python's own hash is the same for 1, 1.0 and True, but it is not random, that of NaN depends
    # on the object, and that of -1 is that of -2
    hashes = [NAN if x != x else -1 if x == -1 else hash(x) for x in numbers]
    return _mixed(np.array(hashes, np.int64).view(np.uint64))


def _mixed(x: np.ndarray) -> np.ndarray:
    x = x + np.uint64(FIRST)
    for shift, factor in zip((30, 27), FACTORS):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return (x >> np.uint64(32)).astype(np.uint32)


def _of_others(items: list) -> np.ndarray:
    contents = [blake2b(_content(item), digest_size=4).digest() for item in items]
    return np.frombuffer(b"".join(contents), "<u4").astype(np.uint32)


def _content(item: Any) -> bytes:
    if isinstance(item, bytes):
        return b"b" + item
    if item is None:
        return b"none"
    if isinstance(item, tuple):
        return b"t" + item_numbers(list(item)).astype("<u4").tobytes()
    if isinstance(item, frozenset):
        return b"f" + np.sort(item_numbers(list(item))).astype("<u4").tobytes()
    raise TypeError(
        f"MinHash cannot hash the item {item!r} of type {type(item).__name__}: give texts, bytes, "
        "numbers, or tuples of them."
    )
