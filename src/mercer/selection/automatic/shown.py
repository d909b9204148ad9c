"""What a fitted automatic estimator shows of itself.

The training rows that a prediction rests on, its table in a notebook, and Python that fits it
again: its kernel and its parameters, in a few lines.
"""

from __future__ import annotations

import inspect
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, fields
from html import escape
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import mercer.distances
import mercer.kernels
from mercer.explain import Background, Explained
from mercer.kernels import TableKernel
from mercer.learners.additive import ColumnReasons
from mercer.learners.base import Reasons, largest_parts
from mercer.machines import OneOutput, times
from mercer.machines.candidates import Candidate, Recipe, machine_kind
from mercer.samples import EncodedColumns, Samples
from mercer.selection.automatic.kernel_machine import KernelMachine
from mercer.tables import Feature

BLOCK = 4_000_000  # numbers of the largest matrix of contributions


def find_reasons(model: Any, X: Samples, most: int = 3) -> Reasons | ColumnReasons:
    """The reasons for the predictions of a fitted automatic estimator.

    For classes, contributions are those to the output of the predicted class; of a support vector
    machine, to the sum of the values of its pairs. For numbers, they are those in the direction in
    which the prediction lies from the mean of the training targets. A machine without rows has
    columns as its reasons.
    """
    if most < 1:
        raise ValueError(f"most={most!r}: give a whole number, at least 1.")
    M, machine = model.encode(X), model.machine_
    if machine.kind == "columns":
        return machine.column_reasons(M, most)
    outputs = np.zeros(len(M), int)
    if model.task == "classification":
        outputs = machine(M).argmax(axis=1)
    stored = model.stored_rows_
    step = max(1, BLOCK // max(len(stored), 1))
    found = []
    for start in range(0, max(len(M), 1), step):
        some = slice(start, start + step)
        parts = np.asarray(machine.contributions(M[some], outputs[some]), dtype=np.float64)
        if model.task == "regression":
            parts *= np.where(parts.sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
        total = np.abs(parts).sum(axis=1, keepdims=True)
        parts = np.divide(parts, total, out=np.zeros_like(parts), where=total > 0)
        found.append((*largest_parts(parts, stored, most), *largest_parts(-parts, stored, most)))
    rows, shares, against, against_shares = (np.concatenate(each) for each in zip(*found))
    return Reasons(rows, shares, against, against_shares, machine.kind, len(stored))


def explained_as(model: Any, output: str | None) -> Explained:
    """A fitted automatic estimator as explanations read it.

    Without an ``output`` classes are explained by the log-odds of the second of two classes, and of
    more classes by the logarithm of each probability, less the mean of these.
    """
    machine, summands, names = model.machine_, model.machine_.summands(), model.targets_
    finish = machine.finish
    if model.task == "classification":
        names = [str(c) for c in model.classes_]
        if output is None:
            k = len(names)
            to = np.array([[-1.0], [1.0]]) if k == 2 else np.eye(k) - 1 / k
            names = None if k == 2 else names

            def odds(M: EncodedColumns) -> np.ndarray:
                return (finish.slope * machine.outputs(M) + finish.bias) @ to

            return _explained(model, [times(s, finish.slope * to) for s in summands], odds, names)
    elif not finish.scale.name:
        sizes = finish.scale.sizes
        slope = np.asarray(finish.slope * sizes)

        def unlimited(M: EncodedColumns) -> np.ndarray:
            return slope * machine.outputs(M) + finish.bias * sizes

        return _explained(model, [times(s, slope) for s in summands], unlimited, names)
    if model.background_ is None:  # nothing tells the constant
        return _explained(model, [machine], machine, names)
    one = model.background_[:1]
    constant = machine.outputs(one) - sum(summand(one) for summand in summands)
    return _explained(model, summands, machine, names, lambda sums: finish(sums + constant))


def _explained(
    model: Any, summands: list, function: Callable, names: list | None, link: Callable | None = None
) -> Explained:
    """What explanations ask of a model."""
    columns = columns_of_sources(model.encoder_.features_)
    background = None
    if model.background_ is not None:
        background = Background(
            model.background_, model.background_weights_, model.background_nearer_
        )
    return Explained(function, model.encode, columns, summands, link, names, background)


def columns_of_sources(features: Sequence[Feature]) -> dict[Any, list[int]]:
    """For each column of a table the columns that an encoder makes of it."""
    columns: defaultdict[Any, list[int]] = defaultdict(list)
    for j, feature in enumerate(features):
        columns[feature.source].append(j)
    return columns


MOST = 5  # columns whose weights are shown


def fitted_html(model: Any) -> str:
    """A short table: the winner, its score in the search, what it has stored, what matters."""
    rows = [("winner", f"{model.winner_name_}: {model.solver_}")]
    first = next((r for r in model.leaderboard_ if r["name"] == model.winner_name_), None)
    if first is not None and not np.isnan(first["score"]):
        rows.append(("score in the search", f"{first['score']:.4g}"))
        each = zip(model.targets_ or [], first.get("scores", []))
        rows += [(f"score of {target}", f"{score:.4g}") for target, score in each]
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


WIDTH = 88
MOST_NUMBERS = 400  # of a learnt map; a larger one is learnt again
PUBLIC = (mercer.kernels, mercer.distances)


def winner_code(model: Any) -> str:
    """Python that fits the winner to ``X, y`` again, without the other candidates."""
    name = type(model).__name__
    place = model.machine_.place if isinstance(model.machine_, OneOutput) else None
    writer = Writer()
    writer.imports["mercer"].add(name)
    writer.imports["mercer.selection.automatic"].add("KernelMachine")
    given = model.machines or [_as_given(model, *each) for each in model.parts_]
    machines = []
    for machine, part in zip(given, model.machine_.parts):
        machines += [f"# {part.description}", *_last(writer.written(machine), ",")]
    seed = model.random_state if isinstance(model.random_state, (int, np.integer)) else 0
    kinds = {
        column.name: column.kind if column.used else "drop"
        for column in model.columns_ if column.name in (model.kind or {})
    }  # fmt: skip
    settings = {
        "metric": model.metric, "kind": kinds, "drop": model.drop, "memory": model.memory,
        "random_state": int(seed),
    }  # fmt: skip
    if model.task == "regression":
        scale = model.target_scale_ if place is None else model.machine_.machine.finish.scale
        names = [each.name or "own" for each in scale.each]
        settings["target_scale"] = names if len(set(names)) > 1 else names[0]
    else:
        settings["order"] = model.order_
    lines = [
        f"model = {name}(", "    machines=[", *(f"        {each}" for each in machines), "    ],",
    ]  # fmt: skip
    for key, value in settings.items():
        if value not in (None, [], {}):
            found = writer.written(value)
            lines += [f"    {each}" for each in _last([f"{key}={found[0]}", *found[1:]], ",")]
    lines += [")", "model.fit(X, y)"]
    if place is not None:
        lines[-1] = f"model = model.fit(X, y).of_target({place})  # y has all targets"
    factors = getattr(model, "decision_weights_", None)
    if factors is not None and np.ptp(factors):
        listed = ", ".join(repr(float(factor)) for factor in factors)
        lines.append(f"model.decision_weights_ = [{listed}]  # chosen on rows that were held out")
    return "\n".join([*writer.import_lines(), "", *lines, ""])


def _as_given(model: Any, part: Any, candidate: Candidate, plan: Recipe) -> KernelMachine:
    """One machine of a model as a `KernelMachine`."""
    learner, quick = plan.machine, plan.how == "quick"
    how: dict[str, Any] = {"weight": plan.weight}
    if candidate.simple and not quick:
        return KernelMachine(learner, without=list(candidate.without), **how)
    how["rows"] = model.sizes.quick_rows if quick else plan.rows
    if candidate.kind.reads_columns and not quick:
        return KernelMachine(
            learner, reads=candidate.columns, members=plan.members,
            without=list(candidate.without), **how,
        )  # fmt: skip
    penalty = part.penalty if machine_kind(learner).keeps_penalty else None
    how |= {"penalty": penalty, "rank": plan.rank, "exact": plan.exact, "leaf_rows": plan.leaf_rows}
    if candidate.kernels.learning.maps:
        (metric, _), *_ = part.kernel.parts
        if np.size(metric.metric.linear_map) > MOST_NUMBERS:
            steps = [
                entry["steps"][0] for entry in model.schedule_
                if len(entry.get("steps", [])) == 1
                and Candidate.of(entry).alike == candidate.alike
            ]  # fmt: skip
            return KernelMachine(
                learner, metric=candidate.form, reads=candidate.text, learning=plan.learning,
                without=list(candidate.without), steps=steps[0] if steps else plan.metric_steps,
                **how,
            )  # fmt: skip
    names = [feature.name for feature in model.encoder_.features_]
    kernel = (
        part.kernel.unbound() if candidate.learn else candidate.kernel(model.encoder_.features_)
    )
    parts = [(each, [names[j] for j in columns]) for each, columns in kernel.parts]
    named = TableKernel(parts, kernel.combine, kernel.weights)
    return KernelMachine(learner, named, candidate.kernel_name, **how)


class Writer:
    """Writes values as Python, in lines of limited length, and remembers what they import."""

    def __init__(self) -> None:
        self.imports: defaultdict[str, set[str]] = defaultdict(set)  # module -> names

    def import_lines(self) -> list[str]:
        """A line for each module."""
        return [
            f"from {module} import {', '.join(sorted(names))}"
            for module, names in sorted(self.imports.items())
        ]

    def written(self, value: object) -> list[str]:
        """Lines of Python of which the value is the result."""
        if isinstance(value, (KernelMachine, BaseEstimator)):
            name = self._imported(type(value))
            return _laid_out(f"{name}(", self._arguments(value), ")")
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, dict):
            items = [
                _joined(f"{json.dumps(key, ensure_ascii=False)}: ", self.written(item))
                for key, item in value.items()
            ]
            return _laid_out("{", items, "}")
        if isinstance(value, list):
            lines = _laid_out("[", items := [self.written(item) for item in value], "]")
            return lines if len(lines) == 1 or not _are_plain(value) else _filled(items)
        if isinstance(value, tuple):
            lines = _laid_out("(", map(self.written, value), ")")
            return lines if len(value) != 1 else [*lines[:-1], lines[-1].replace(")", ",)")]
        value = value.item() if isinstance(value, np.generic) else value
        return [json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)]

    def _imported(self, owner: type) -> str:
        """The name of a class in the code that is shown, whose import is noted."""
        if getattr(mercer.distances, owner.__name__, None) is owner and hasattr(
            mercer.kernels, owner.__name__
        ):  # a kernel has the same name
            self.imports["mercer"].add("distances")
            return f"distances.{owner.__name__}"
        for module in PUBLIC:
            if getattr(module, owner.__name__, None) is owner:
                self.imports[module.__name__].add(owner.__name__)
                return owner.__name__
        home = "mercer.selection.automatic" if owner is KernelMachine else owner.__module__
        self.imports[home].add(owner.__name__)
        return owner.__name__

    def _arguments(self, value: object) -> Iterable[list[str]]:
        """Those that are not their defaults; the first ones without their names."""
        named = False
        for name, default, given in _parameters(value):
            if default is given or (np.isscalar(given) and default == given):
                named = True
                continue
            lines = self.written(given)
            yield _joined(f"{name}=", lines) if named else lines
            named = named or isinstance(value, KernelMachine)  # the learner alone has no name


def _parameters(value: object) -> list[tuple[str, Any, Any]]:
    """Name, default and value of each parameter of an object."""
    if isinstance(value, KernelMachine):
        return [(f.name, f.default, getattr(value, f.name)) for f in fields(value)]
    known = inspect.signature(type(value)).parameters.values()
    return [
        (p.name, MISSING if p.default is p.empty else p.default, getattr(value, p.name))
        for p in known
    ]


def _laid_out(start: str, items: Iterable[list[str]], end: str) -> list[str]:
    """The code in one line if it is short, else with a line or more for each item."""
    items = list(items)
    if all(len(item) == 1 for item in items):
        line = f"{start}{', '.join(item[0] for item in items)}{end}"
        if len(line) <= WIDTH - 16:
            return [line]
    inner = [f"    {line}" for item in items for line in _last(item, ",")]
    return [start, *inner, end]


def _filled(items: Sequence[list[str]]) -> list[str]:
    """A list of short values, as many of them in a line as it has room for."""
    lines = [""]
    for (text,) in items:
        if lines[-1] and len(lines[-1]) + len(text) > WIDTH - 32:
            lines.append("")
        lines[-1] += f"{' ' * bool(lines[-1])}{text},"
    return ["[", *(f"    {line}" for line in lines), "]"]


def _are_plain(values: list) -> bool:
    return not any(isinstance(value, (list, tuple, dict, BaseEstimator)) for value in values)


def _joined(start: str, lines: Sequence[str]) -> list[str]:
    return [start + lines[0], *lines[1:]]


def _last(lines: Sequence[str], end: str) -> list[str]:
    return [*lines[:-1], lines[-1] + end]
