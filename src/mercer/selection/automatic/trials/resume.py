"""What is known from an earlier search of the same rows, so that a search can go on after it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self

import numpy as np

from mercer.selection.automatic.candidates import Candidate
from mercer.tables import Related, column_bytes


@dataclass(frozen=True)
class Known:
    """The trials of an earlier search, and their rows of the leaderboard."""

    searched: str  # the `fingerprint` of that search
    #: the attributes of the estimator
    schedule: list[dict]
    leaderboard: list[dict]

    @classmethod
    def of(cls, model: Any) -> Self:
        """From a fitted automatic estimator; ValueError if there was no search."""
        searched = getattr(model, "searched_", None)
        if searched is None:
            raise ValueError(
                f"resume={type(model).__name__}: give a KernelClassifier or KernelRegressor that "
                "was fitted, or interrupted after its first trial."
            )
        return cls(searched, model.schedule_, model.leaderboard_)

    def checked(self, searched: str) -> Self:
        """The same, if that search was made on what this one is made on; else ValueError."""
        if searched != self.searched:
            raise ValueError(
                "resume= was fitted to other rows, targets or weights, or with another metric, "
                "seed or kind of columns, so that its scores do not hold here: search anew, "
                "without it."
            )
        return self

    def trials(self) -> list[tuple[dict, dict | None]]:
        """The entries of the schedule in their order, and the row of each or None.

        A candidate that was tried on two rungs has one row, that of the last.
        """
        entries = [entry for entry in self.schedule if not entry.get("final")]
        rows = {(row["name"], row["rows"]): row for row in self.leaderboard}
        found = []
        for entry in reversed(entries):
            row = rows.pop((Candidate.of(entry).name, entry["rows"]), None)
            found.append((entry, None if row is None else dict(row)))
        return found[::-1]

    def baselines(self) -> dict[str, dict]:
        """Name -> row of each baseline."""
        return {row["name"]: dict(row) for row in self.leaderboard if row["baseline"]}


def fingerprint(
    table: dict[Any, np.ndarray],
    y: np.ndarray,
    weights: np.ndarray | None,
    related: Related | None,
    *settings: Any,
) -> str:
    """A text that differs if anything differs that the scores of a search depend on.

    ``settings`` are what else the scores depend on, with a repr that tells it.
    """
    found = blake2b(repr(settings).encode(), digest_size=16)
    groups, times = (None, None) if related is None else (related.groups, related.times)
    for name, values in {**table, "y": y, "w": weights, "groups": groups, "times": times}.items():
        found.update(f"\n{name}\n".encode())
        if values is None:
            continue
        found.update(column_bytes(values))
    return found.hexdigest()
