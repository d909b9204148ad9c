"""The report on linked records: which pairs were found and why, and what the model believes.

`write_link_report` fills templates/link.html from a fitted `mercer.RecordLinkage` and its tables.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import mercer
from mercer.link import Pairs, RecordLinkage
from mercer.persistence import write_whole
from mercer.plots.report.section import TEMPLATES, environment, plain
from mercer.spoken import in_page, spoken, visible
from mercer.tables import ReadTable, level_texts

BESIDE = 10  # pairs just above the threshold, and just below
THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.9, 0.99)
WIDE, HIGH = 340.0, 130.0  # of the histogram
BINS = 36
AGREES = 0.5  # of the pairs of a class agree in a column that is named
LETTERS = 60  # of a cell
LEVELS = (
    "differs", "slightly alike", "alike", "close", "nearly equal", "equal", "in another column",
    "missing",
)  # fmt: skip


class Step(NamedTuple):
    """A bar of the waterfall: from one sum of bits to the next."""

    name: str
    said: str
    start: float
    end: float

    @property
    def bits(self) -> float:
        return self.end - self.start


class PairCell(NamedTuple):
    """A column of a pair, side by side."""

    name: str
    left: str
    right: str
    level: str
    bits: float


class ShownPair(NamedTuple):
    """A pair of records."""

    title: str
    rows: tuple[int, int]
    probability: float
    weight: float
    cells: list[PairCell]


class _Page:
    """What the page shows of a model and its tables."""

    def __init__(self, model: RecordLinkage, A: ReadTable, B: ReadTable | None):
        self.model, self.tables = model, (A, A if B is None else B)
        self.columns = [column for column in model.columns_ if not column.source]
        self.place = {column.name: k for k, column in enumerate(model.columns_)}
        named = [{str(name): name for name in table.names} for table in self.tables]
        order = {name: k for k, name in enumerate(named[0])}
        self.columns.sort(key=lambda column: order.get(column.name, 0))
        self.texts = [
            (column, named[0][column.name], named[1][column.other]) for column in self.columns
        ]

    # --- pairs ------------------------------------------------------------------------------------

    def shown(self, pairs: Pairs, at: int, title: str) -> ShownPair:
        """A pair with its cells."""
        i, j = int(pairs.left[at]), int(pairs.right[at])
        cells = []
        for column, mine, theirs in self.texts:
            k = self.place[column.name]
            left, right = (
                level_texts(table.columns[name][[row]])[0]
                for table, name, row in zip(self.tables, (mine, theirs), (i, j))
            )
            level = LEVELS[pairs.levels[at, k]]
            bits = float(pairs.weights[at, k])
            extra = f"numbers in {column.name}"
            if extra in self.place and pairs.levels[at, self.place[extra]] != 7:
                bits += float(pairs.weights[at, self.place[extra]])
                level += f", numbers {LEVELS[pairs.levels[at, self.place[extra]]]}"
            cells.append(PairCell(column.name, short(left), short(right), level, bits))
        return ShownPair(
            title, (i, j), float(pairs.probability[at]), float(pairs.weight[at]), cells
        )

    def beside(self) -> tuple[list[ShownPair], list[ShownPair]]:
        """The pairs just above the threshold, and just below."""
        near = self.model.near_
        threshold = float(self.model.threshold)
        above, below = near.probability >= threshold, near.probability < threshold
        up = np.flatnonzero(above)[np.argsort(near.weight[above], kind="stable")][:BESIDE]
        down = np.flatnonzero(below)[np.argsort(-near.weight[below], kind="stable")][:BESIDE]
        return [self.shown(near, int(k), "") for k in up], [
            self.shown(near, int(k), "") for k in down
        ]

    def waterfalls(self) -> list[dict[str, Any]]:
        """How the weights of some pairs come about."""
        near = self.model.near_
        if not len(near):
            return []
        order = np.argsort(near.weight, kind="stable")
        threshold = float(self.model.threshold)
        sure = order[len(order) * 3 // 4]
        above = order[near.probability[order] >= threshold][:1]
        below = order[near.probability[order] < threshold][-1:]
        chosen = [("A usual match", sure)]
        chosen += [("The least probable match", k) for k in above]
        chosen += [("The most probable pair that is no match", k) for k in below]
        return [self._waterfall(self.shown(near, int(k), title), int(k)) for title, k in chosen]

    def _waterfall(self, pair: ShownPair, at: int) -> dict[str, Any]:
        """The bars of a pair: what each column adds to its weight."""
        near = self.model.near_
        total = float(near.weight[at] - near.weights[at].sum())
        steps = [Step("any two records", "the prior", 0.0, total)]
        for cell in pair.cells:
            steps.append(Step(cell.name, cell.level, total, total + cell.bits))
            total += cell.bits
        apart = float(near.weights[at, -1])
        if abs(apart) > 0.05:
            said = "how much the pair is like them" if apart < 0 else "how unlike them it is"
            steps.append(Step("relatives", said, total, total + apart))
        low = min(0.0, *(min(s.start, s.end) for s in steps))
        high = max(0.0, *(max(s.start, s.end) for s in steps))
        span = max(high - low, 1e-9)
        bars = [
            {
                "name": s.name, "said": s.said, "bits": f"{s.bits:+.1f}",
                "from": round(100 * (min(s.start, s.end) - low) / span, 2),
                "width": round(100 * abs(s.bits) / span, 2), "less": s.bits < 0,
            }
            for s in steps
        ]  # fmt: skip
        return {"pair": pair, "bars": bars, "zero": round(100 * -low / span, 2)}

    # --- the model --------------------------------------------------------------------------------

    def expected(self) -> list[dict[str, Any]]:
        """Precision and recall that the probabilities promise, by threshold."""
        p = self.model.near_.probability
        whole = max(self.model.expected_matches_, float(p.sum()), 1e-9)
        rows = []
        for t in sorted({*THRESHOLDS, float(self.model.threshold)}):
            over = p[p >= t]
            rows.append({
                "threshold": f"{t:g}", "pairs": len(over), "now": t == self.model.threshold,
                "precision": f"{over.mean():.3f}" if len(over) else "–",
                "recall": f"{over.sum() / whole:.3f}",
            })  # fmt: skip
        return rows

    def histogram(self) -> dict[str, Any] | None:
        """Bars of the match weights, on a logarithmic scale of pairs."""
        weight = np.clip(self.model.near_.weight, -8, 60)
        if not len(weight):
            return None
        low, high = float(weight.min()), float(weight.max()) + 1e-6
        counts, edges = np.histogram(weight, BINS, (low, max(high, low + 1)))
        tall = np.log1p(counts) / np.log1p(counts.max())
        t = min(max(float(self.model.threshold), 1e-9), 1 - 1e-9)
        at = (np.log2(t / (1 - t)) - edges[0]) / (edges[-1] - edges[0])
        step = WIDE / BINS
        bars = [
            (round(10 + step * k, 1), round(HIGH - (HIGH - 15) * h, 1), round((HIGH - 15) * h, 1))
            for k, h in enumerate(tall.tolist()) if h > 0
        ]  # fmt: skip
        ticks = np.linspace(edges[0], edges[-1], 6)
        return {
            "bars": bars, "width": round(step - 1, 1),
            "at": round(10 + WIDE * min(max(at, 0), 1), 1),
            "ticks": [(round(10 + WIDE * k / 5, 1), f"{x:.0f}") for k, x in enumerate(ticks)],
            "most": int(counts.max()),
        }  # fmt: skip

    def classes(self) -> list[dict[str, Any]]:
        """The classes of pairs, in words, with examples."""
        found = []
        for number, one in enumerate(self.model.classes_):
            if one.pairs < 0.5:
                continue
            agree = [name for name, share in one.agreement.items() if share >= AGREES]
            agree = [name for name in agree if not name.startswith("numbers in ")]
            rest = [name for name in one.agreement if name not in agree]
            last = number == len(self.model.classes_) - 1
            said = f"agree in {_listed(agree)}" if agree else "agree in no column"
            said += " only" if agree and len(agree) < len(rest) and not one.matches else ""
            found.append({
                "pairs": spoken(one.pairs), "said": said, "matches": one.matches, "random": last,
                "examples": self._examples(one.examples),
            })  # fmt: skip
        return found

    def _examples(self, rows: np.ndarray) -> list[list[str]]:
        """Records of pairs, one line each."""
        lines = []
        for pair in rows:
            lines.append([
                " · ".join(
                    short(level_texts(table.columns[name][[row]], "–")[0])
                    for name in ([m for _, m, _ in self.texts], [o for *_, o in self.texts])[side]
                )
                for side, (table, row) in enumerate(zip(self.tables, pair.tolist()))
            ])  # fmt: skip
        return lines

    def levels(self) -> list[dict[str, Any]]:
        """m, u and weight of each level of each column."""
        found: dict[str, list] = {}
        for one in self.model.weights_:
            if one.m >= 1e-5 or one.u >= 1e-5:
                found.setdefault(one.column, []).append(
                    (one.level, f"{one.m:.4f}", spoken(one.u), f"{one.weight:+.1f}")
                )
        said = {column.name: column.said() for column in self.model.columns_}
        return [{"name": name, "said": said[name], "rows": rows} for name, rows in found.items()]

    def verdict(self) -> str:
        """The result in two sentences."""
        pairs, model = self.model.pairs_, self.model
        whole = max(model.expected_matches_, float(model.near_.probability.sum()), 1e-9)
        n = sum(map(len, dict.fromkeys(self.tables)))
        if not len(pairs):
            return (
                f"No two of {n:,} records are the same with a probability of {model.threshold:g}."
            )
        first = f"{len(pairs):,} pairs of {n:,} records are the same thing. "
        if model.one_to_one:
            return first + "Each record is in one pair at most."
        return first + (
            f"Expected: {pairs.probability.mean():.1%} of them are right, and "
            f"{min(pairs.probability.sum() / whole, 1):.1%} of all matches are among them."
        )


def short(text: str) -> str:
    """The beginning of a long cell."""
    text = " ".join(text.split())
    return text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def trust(model: RecordLinkage) -> list[tuple[bool, str]]:
    """What is for and against the result: whether it is for, and a sentence."""
    used = [column for column in model.columns_ if not column.source]
    missed = model.missed_
    found = [
        (missed <= 0.01, f"The passes find all but {missed:.1%} of simulated matches."),
        (len(used) > 3, f"{len(used)} columns are compared"
         + ("." if len(used) > 3 else ": few, so that alike records may be taken for the same.")),
    ]  # fmt: skip
    near = model.near_
    doubt = float(((near.probability > 0.1) & (near.probability < 0.9)).sum())
    share = doubt / max(len(model.pairs_), 1)
    found.append((share < 0.1, f"{doubt:,.0f} pairs have a probability between 0.1 and 0.9."))
    family = [c for c in model.classes_[:-1] if not c.matches and c.pairs > 0.5 * len(model.pairs_)]
    if family:
        found.append((True, "Pairs that only have something in common are a class of their own."))
    return found


def write_link_report(
    path: str | os.PathLike,
    model: RecordLinkage,
    A: Any,
    B: Any = None,
    *,
    names: Sequence[str] = ("A", "B"),
    notes: Sequence[str] = (),
) -> None:
    """Write the report on linked tables; an existing file is replaced, or unchanged after an error.

    Parameters
    ----------
    path : str or path
    model : RecordLinkage
        Fitted to the tables.
    A, B : tables
        The page shows cells of some of their records.
    names : sequence of str
        What the tables are called.
    notes : sequence of str
        What a reader should know.
    """
    first, second = ReadTable.of(A), None if B is None else ReadTable.of(B)
    page = _Page(model, first, second)
    above, below = page.beside()
    data = {
        "tables": list(names[: 1 if second is None else 2]), "verdict": page.verdict(),
        "records": [len(table) for table in (first, second) if table is not None],
        "pairs": len(model.pairs_), "candidates": model.n_candidates_,
        "expected": model.expected_matches_, "clusters": len(np.unique(model.labels_)),
        "threshold": float(model.threshold), "missed": model.missed_, "version": mercer.__version__,
        "thresholds": page.expected(), "left_out": [c.said() for c in model.left_out_],
        "passes": [(said, n, f"{missed:.2%}") for said, n, missed in model.passes_ if n],
        "classes": page.classes(), "levels": page.levels(), "notes": list(notes),
        "trust": trust(model),
    }  # fmt: skip
    html = environment().get_template("link.html").render(
        data=data, above=above, below=below, falls=page.waterfalls(), bars=page.histogram(),
        style=(TEMPLATES / "style.css").read_text("utf-8"), embedded=in_page(plain(data)),
    )  # fmt: skip
    write_whole(path, visible(html).encode("utf-8"))
