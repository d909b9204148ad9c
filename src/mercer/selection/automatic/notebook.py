"""A fitted automatic estimator in a few lines: for a notebook, and as Python that repeats it."""

from __future__ import annotations

from html import escape
from pprint import pformat
from typing import Any

import numpy as np

from mercer.selection.automatic.candidates import Candidate

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


def winner_code(model: Any) -> str:
    """Python that fits the winner of the search again, without the other candidates."""
    name = type(model).__name__
    finals = [entry for entry in model.schedule_ if entry.get("final")]
    entries = [entry for entry in model.schedule_ if not entry.get("final")]
    partners = [entry for final in finals for entry in final.get("mean", [])]
    used = [Candidate.of(entry) for entry in (model.winner_, *partners)]
    last = {Candidate.of(entry): entry for entry in entries}  # of each, that with the most rows
    tried = [last[candidate] for candidate in used if candidate in last] or entries
    seed = model.random_state if isinstance(model.random_state, (int, np.integer)) else 0
    kinds = {
        column.name: column.kind if column.used else "drop"
        for column in model.columns_ if column.name in (model.kind or {})
    }  # fmt: skip
    given = {
        "replay": [*tried, *finals], "metric": model.metric, "kind": kinds, "drop": model.drop,
        "random_state": int(seed),
    }  # fmt: skip
    lines = [
        f"    {key}={pformat(value, width=90, sort_dicts=False)}".replace("\n", "\n    ") + ",\n"
        for key, value in given.items() if value not in (None, [], {})
    ]  # fmt: skip
    return f"from mercer import {name}\n\nmodel = {name}(\n{''.join(lines)})\nmodel.fit(X, y)\n"
