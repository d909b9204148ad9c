"""Bytes as texts in JSON: how deep one is nested is known before anything is built of it.

`one_input` turns any bytes into a text of brackets, quotes, backslashes, numbers and odd letters,
in one of the encodings that JSON has, and asserts: a text that Python's parser reads is read, with
the same answer, if it is not deeper than the limit, and any other ends in a ValueError.
"""

from __future__ import annotations

import json
import random

from fuzz.driver import Source, fuzz
from mercer.persistence import read_json

PIECES = ["[", "]", "{", "}", '"', '"', "\\", '\\"', "\\\\", ",", ":", '"a":', " ", "\n", "1",
          "-0.5", "1e999", "true", "null", "NaN", "Ģ", "∢", "\u5b5b", "\U0001f525", "\0", "\ufeff",
          "\ud800", "\\ud800", "[[[[", "]]]]", '{"a":[', "]}", "/", "'", "9" * 30]  # fmt: skip
ENCODINGS = ["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "utf-16",
             "utf-32-le", "utf-32", "latin-1"]  # fmt: skip
DEPTHS = [1, 2, 5, 64]


def text_of(s: Source) -> str:
    """Any pieces, or those of a text that is JSON but for what is altered in it."""
    if s.below(3) == 2:
        return "".join(s.one_of(PIECES) for _ in range(s.below(40)))
    root = value(s, 1 + s.below(80))
    text = json.dumps(root, ensure_ascii=s.below(2) == 0)
    for _ in range(max(0, s.below(4) - 1)):
        at = s.below(2**15) % (len(text) + 1)
        text = text[:at] + s.one_of(PIECES) + text[at + s.below(2) :]
    return text


def value(s: Source, depth: int):
    """Lists and objects in each other, each with something beside the next."""
    found = s.one_of([1, "a", '"', "\\", "Ģ[", "∢{", '\\"[', None, [], {}])
    for _ in range(depth):
        way = s.below(4)
        found = [found] if way < 2 else {'"[': found} if way == 2 else ["Ģ", found, "[{"]
    return found


def deepest(root) -> int:
    """How deep lists and objects are in each other."""
    most, left = 0, [(root, 1)]
    while left:
        holder, depth = left.pop()
        if isinstance(holder, (list, dict)):
            most = max(most, depth)
            parts = holder.values() if isinstance(holder, dict) else holder
            left += [(part, depth + 1) for part in parts]
    return most


def one_input(data: bytes) -> str:
    """Read a text, and compare it; "read", "too deep" or "refused"."""
    s = Source(data)
    depth, encoding = s.one_of(DEPTHS), s.one_of([*ENCODINGS, ""])
    text = text_of(s)
    given = text.encode(encoding, "replace") if encoding else text
    try:
        wanted, known = json.loads(given), True
    except (ValueError, RecursionError):
        wanted, known = None, False
    try:
        found = read_json(given, depth)
    except ValueError as error:
        too_deep = "levels deep" in str(error)
        assert not known or (too_deep and deepest(wanted) > depth), "a right text was refused"
        return "too deep" if too_deep else "refused"
    assert known, "a wrong text was read"
    assert deepest(found) <= depth, f"{deepest(found)} levels"
    assert repr(found) == repr(wanted)
    return "read"


def random_input(rng: random.Random) -> bytes:
    return rng.randbytes(rng.choice([10, 40, 120]))


if __name__ == "__main__":
    fuzz(one_input, random_input)
