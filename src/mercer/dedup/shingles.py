"""Shingles: the runs of words or characters by which documents are compared.

Jaccard's index of two documents is that of their sets of shingles. Shingles are hashed to 64 bits:
that two different ones have the same hash happens about once in 10¹⁹ pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer import _native
from mercer.samples import is_whole


@dataclass(frozen=True)
class Shingles:
    """Abstract: how a document becomes a set. Use `Words` or `Characters`."""

    size: int
    words: ClassVar[bool]

    def __post_init__(self) -> None:
        if not (is_whole(self.size) and self.size >= 1):
            raise ValueError(f"size={self.size!r}: give an integer >= 1.")

    def sets(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """The hashes of each document, ascending, all in one array; and where each one starts."""
        return _native.shingle_documents(texts, self.words, self.size)


@dataclass(frozen=True)
class Words(Shingles):
    """Runs of words. Words end at spaces, tabs and ends of lines.

    A document of fewer words has one shingle, all of its words.

    Parameters
    ----------
    size : int >= 1, default=3
        Words of a shingle. With more of them a changed word changes more shingles.

    Examples
    --------
    >>> values, starts = Words(2).sets(["a rose is a rose is a rose", "a  rose"])
    >>> np.diff(starts)  # a rose, rose is, is a
    array([3, 1], dtype=int64)
    """

    size: int = 3
    words: ClassVar[bool] = True


@dataclass(frozen=True)
class Characters(Shingles):
    """Runs of characters, for texts without spaces between words, codes and short texts.

    A document of fewer characters has one shingle, all of it.

    Parameters
    ----------
    size : int >= 1, default=5
        Characters of a shingle.

    Examples
    --------
    >>> values, starts = Characters(3).sets(["GATTACA", "日本"])
    >>> np.diff(starts)
    array([5, 1], dtype=int64)
    """

    size: int = 5
    words: ClassVar[bool] = False
