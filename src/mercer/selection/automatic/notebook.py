"""A fitted automatic estimator in a few lines, for a notebook."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

MOST = 5  # columns whose weights are shown


def fitted_html(model: Any) -> str:
    """A short table: the winner, its score in the search, what it has stored, what matters."""
    rows = [("winner", f"{model.winner_name_}: {model.solver_}")]
    first = next((r for r in model.leaderboard_ if r["name"] == model.winner_name_), None)
    if first is not None and not np.isnan(first["score"]):
        rows.append(("score in the search", f"{first['score']:.4g}"))
    others = [f"{r['name']} {r['score']:.4g}" for r in model.leaderboard_ if r["baseline"]]
    rows.append(("baselines", ", ".join(others)))
    used = [column for column in model.columns_ if column.used]
    rows.append(("columns", f"{len(used)} of {len(model.columns_)} used"))
    weights = list(model.relevance().items())[:MOST]
    if weights:
        rows.append(("largest weights", ", ".join(f"{name} {w:.3g}" for name, w in weights)))
    rows.append(("training rows stored", f"{len(model.stored_rows_):,}"))
    rows += [("notice", notice) for notice in model.notices_]
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(text)}</td></tr>"
        for name, text in rows
    )
    return f"<div><strong>{type(model).__name__}</strong><table>{cells}</table></div>"
