"""Comparisons made of others that all read the same samples: what a sample is, and its encoding."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

from mercer.distances.comparison import Comparison, Composite


class OnSameSamples(Composite):
    """Abstract: it is made of others, which all read whole samples, or columns of a table."""

    #: what its parts are called in messages, and an example of parts that read columns
    parts_name: ClassVar[str]
    of_columns: ClassVar[str]

    def compared(self) -> list[Comparison]:
        """The comparisons that this one is made of."""
        return [m.comparison for m in self.members()]

    @property
    def kind(self) -> str:  # type: ignore[override]
        kinds = {part.kind for part in self.compared()}
        if not kinds:
            self.validate()  # which says what is wanted
        if len(kinds) > 1:
            raise TypeError(
                f"{self!r} mixes {self.parts_name}s on {' and '.join(sorted(kinds))}. Say which "
                f"columns each {self.parts_name} reads: {self.of_columns}."
            )
        return kinds.pop()

    def encoding(self) -> Hashable:
        if self.reads.of_columns:
            return super().encoding()
        first, *others = (part.encoding() for part in self.compared())
        if any(other != first for other in others):
            raise ValueError(
                f"{self!r} is made of {self.parts_name}s that read the same samples in different "
                "ways (for example with different separators). Let all of them read the samples "
                f"in the same way, or give each {self.parts_name} its own columns of a table: "
                f"{self.of_columns}."
            )
        return first

    def encode(self, X: Any, like: Any = None) -> Any:
        self.encoding()  # an error if the parts read samples in different ways
        if self.reads.of_columns:
            return super().encode(X, like)
        first, *others = self.compared()
        X = first.encode(X, like)
        for part in others:
            part.check(X, like)
        return X
