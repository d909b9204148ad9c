"""Labels of any type as numbers of 64 bits, which are the same in every process and on every
machine, so that new graphs can be compared with those of a saved model."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from mercer.spoken import a_type

SCALARS = (int, str, bytes, np.integer, np.str_, np.bytes_)
INTEGER = np.uint64(0x9E3779B97F4A7C15)  # sets integers apart from other numbers


def mixed(numbers: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64 of numbers of 64 bits: a permutation that looks random.

    Examples
    --------
    >>> mixed(np.array([0, 1], np.uint64)).tolist()
    [0, 6238072747940578789]
    """
    x = np.array(numbers, np.uint64)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def hash_labels(labels: Sequence | np.ndarray) -> np.ndarray:
    """A number of 64 bits for each label; labels of different types are different.

    Parameters
    ----------
    labels : sequence of int, str, bytes, or tuples of them

    Raises
    ------
    TypeError
        A label has another type; ``args[1]`` is its place.

    Examples
    --------
    >>> a, b, c = hash_labels(["1", 1, "1"])
    >>> bool(a == b), bool(a == c)
    (False, True)
    """
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iub":
        return mixed(labels.astype(np.int64).view(np.uint64) ^ INTEGER)
    labels = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    if set(map(type, labels)) <= {int}:
        try:
            return hash_labels(np.array(labels, np.int64))
        except OverflowError:
            pass
    known: dict[Any, int] = {}
    found = np.empty(len(labels), np.uint64)
    for i, label in enumerate(labels):
        key = (type(label), label) if not isinstance(label, tuple) else ("", repr(label))
        try:
            if key not in known:
                known[key] = _hash(label)
        except TypeError as error:
            raise TypeError(str(error), i) from None
        found[i] = known[key]
    return found


def _hash(label: Any) -> int:
    if isinstance(label, (int, np.integer)):
        number = int(label)
        if -(2**63) <= number < 2**63:
            return int(hash_labels(np.array([number]))[0])
        return _digest(b"i" + str(number).encode())
    if isinstance(label, str):
        return _digest(b"s" + label.encode("utf-8", "surrogatepass"))
    if isinstance(label, bytes):
        return _digest(b"b" + bytes(label))
    if isinstance(label, tuple):
        return _digest(b"t" + b"".join(_hash(part).to_bytes(8, "little") for part in label))
    raise TypeError(f"{label!r} is {a_type(label)}")


def _digest(content: bytes) -> int:
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")
