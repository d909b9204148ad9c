"""What the candidates of a search scored, and which of them is the best."""

from __future__ import annotations

import numpy as np

from mercer.selection.automatic.scores import Metric
from mercer.spoken import spoken


class Leaderboard:
    """Rows of names, scores and losses: see ``leaderboard_`` of `KernelClassifier`.

    Until the end a row has its ``place`` in the schedule too, which is -1 for simple models.
    With ``kernels`` no simple model can win.
    """

    def __init__(self, metric: Metric, kernels: bool = False):
        self.metric, self.kernels = metric, kernels
        self.rows: list[dict] = []

    def enter(self, row: dict) -> None:
        """Add a row; it replaces the candidate's row from an earlier rung."""
        self.rows = [r for r in self.rows if r["name"] != row["name"]] + [row]

    def known(self) -> list[dict]:
        """The rows that have a score."""
        return [r for r in self.rows if not np.isnan(r["score"])]

    def ranked(self, rows: int) -> list[dict]:
        """The candidates that may win, of those tried on so many rows, the best one first."""
        found = [r for r in self.able() if r["rows"] == rows]
        best = self.settled(found)
        rest = sorted((r for r in found if r is not best), key=self.key, reverse=True)
        return [best, *rest]

    def winner(self) -> dict:
        """The best candidate of the last rung."""
        return self.ranked(max(r["rows"] for r in self.able()))[0]

    def able(self) -> list[dict]:
        """The rows of what may win."""
        return [r for r in self.rows if not (self.kernels and r["baseline"])]

    def settled(self, rows: list[dict]) -> dict:
        """The best of some rows.

        Metrics that count correct rows are not exact: among the rows within one standard error of
        the best score, the one with the smallest loss wins.
        """
        best = max(rows, key=self.key)
        top, slack = best["score"], 0.0
        if self.metric.counts_hits and 0 < top < 1:
            slack = float(np.sqrt(top * (1 - top) / best["rows"]))
        near = [r for r in rows if r["score"] >= top - slack] or [best]
        return min(near, key=lambda r: r["loss"]) if self.metric.counts_hits else best

    def key(self, row: dict) -> tuple:
        """Sort key: first more rows (a later rung), then the score, then the loss."""
        score = row["score"]
        return row["rows"], -np.inf if np.isnan(score) else self.metric.sign() * score, -row["loss"]

    def close(self, kept: dict | None = None) -> str | None:
        """Give the rows their ranks; a sentence where the one that is kept is not the first."""
        winner = kept or self.winner()
        self.rows.sort(key=self.key, reverse=True)
        for place, row in enumerate(self.rows, 1):
            row["rank"] = place
            row.pop("place", None)
        first = self.able()[0]
        if first is winner:
            return None
        return (
            f"The winner is {winner['name']!r}: its {self.metric.name} is within one standard "
            "error of the best, and its probabilities are better (loss "
            f"{spoken(winner['loss'])}, and {spoken(first['loss'])} of {first['name']!r})."
        )

    def simple(self, kept: dict) -> str | None:
        """A sentence where the model that is kept is a simple one."""
        others = [r for r in self.rows if not r["baseline"] and r["rows"] == kept["rows"]]
        if not kept["baseline"] or not others:
            return None
        best = max(others, key=self.key)
        return (
            f"The model that is kept is {kept['name']!r}, a simple one: on rows left out of the "
            f"fits its {self.metric.name} is {spoken(kept['score'], 4)}, and that of the best "
            f"kernel machine, {best['name']!r}, {spoken(best['score'], 4)}."
        )
