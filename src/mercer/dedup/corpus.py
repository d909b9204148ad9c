"""Files of documents, which the stages read part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np


class Part(NamedTuple):
    """A run of documents of one file."""

    texts: list[str]
    values: np.ndarray  # by which they are preferred; empty if by nothing
    after: Any  # where the next part begins, as JSON


class Corpus(Protocol):
    """Files of documents, as the stages read them."""

    files: int
    fixed: int  # files of an earlier corpus, which come first

    def parts(self, file: int, after: object) -> Iterator[Part]:
        """The parts of a file after a place, or from its begin where that is None."""
        ...

    def alone(self) -> Corpus:
        """The same without what belongs to this process, such as its screen."""
        ...

    def texts(
        self, file: int, wanted: Sequence[np.ndarray], places: Sequence[Any]
    ) -> Iterator[list[str]]:
        """Some documents of each part, by their numbers in it; ``places`` are those of `Part`."""
        ...
