"""The one reader of JSON, which checks how deep a text is nested before it builds anything; and the
error for a file that is not a whole file of Mercer.

Python's parser calls itself for each level, and what is made of a text (the columns of a table, a
description of objects) takes time and memory that grow with the square of its depth, or faster. So
a text that is nested too deep is refused first, in time that is linear in its length.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

LONGEST = 300  # characters that are repeated


class ModelFileError(ValueError):
    """A model file that cannot be written or read; the message says why and what to do."""


def reason(error: Exception) -> str:
    """The message of an error, made safe to print: files may put anything into it."""
    text = str(error).rstrip(".")
    if not text or type(error) in (KeyError, IndexError, AttributeError, TypeError):  # few words
        text = f"{type(error).__name__} {text}".rstrip()
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


DEPTH = 64  # levels of lists and objects in each other that a file of data may have
STEP = 2**22  # bytes that are looked through at a time
ESCAPED = re.compile(rb"\\.", re.DOTALL)
#: what says nothing about the depth, and what each other byte outside of texts adds to it
OTHERS = bytes(set(range(256)) - set(b'"[]{}'))
STEPS = np.zeros(256, np.int8)
STEPS[[*b"[{"]] = 1
STEPS[[*b"]}"]] = -1


def read_json(text: str | bytes, depth: int = DEPTH) -> Any:
    """The value of a text in JSON, as `json.loads` reads it.

    Raises
    ------
    ValueError
        It is not JSON, or lists and objects in it are more than ``depth`` levels deep.

    Examples
    --------
    >>> read_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    >>> read_json("[" * 1000)
    Traceback (most recent call last):
    ValueError: lists and objects in it are more than 64 levels deep
    """
    if isinstance(text, bytes) and not (encoding := json.detect_encoding(text)).startswith("utf-8"):
        text = text.decode(encoding, "surrogatepass")  # whose bytes are no brackets and quotes
    check_depth(text, depth)
    try:
        return json.loads(text)
    except RecursionError:  # who calls this has used up what Python allows
        raise ValueError("lists and objects in it are too deep to be read here") from None


def check_depth(text: str | bytes, depth: int = DEPTH) -> None:
    """Raise ValueError if lists and objects in a text are more than ``depth`` levels deep.

    The text need not be JSON: of what a parser reads up to the first error, the depth is known.
    """
    opened = (text.count("["), text.count("{")) if isinstance(text, str) else (
        text.count(b"["), text.count(b"{")
    )  # fmt: skip
    if sum(opened) > depth and deepest(text) > depth:
        raise ValueError(f"lists and objects in it are more than {depth} levels deep")


def deepest(text: str | bytes) -> int:
    """How many levels of lists and objects are open at most, outside of quotes."""
    content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    # a quote after a backslash ends no text
    content = ESCAPED.sub(b"", content).translate(None, OTHERS)
    most = level = quotes = 0
    for start in range(0, len(content), STEP):
        part = np.frombuffer(content, np.uint8, min(STEP, len(content) - start), start)
        inside = np.cumsum(part == ord('"')) + quotes
        levels = np.cumsum(np.where(inside & 1, 0, STEPS[part])) + level
        most = max(most, int(levels.max()))
        level, quotes = int(levels[-1]), int(inside[-1])
    return most
