"""A fitted automatic estimator as data that model.js evaluates, in the precision of its rows."""

from __future__ import annotations

import dataclasses
from functools import singledispatch
from typing import Any

import numpy as np

from mercer.distances import Match as MatchDistance
from mercer.kernels import FromDistance, Laplacian, Linear, NotSeparable, TableKernel
from mercer.learners.base import KernelSum, all_pairs, by_pair
from mercer.machines import (
    AdditiveMachine,
    KernelRidgeMachine,
    LearntNeighbourhood,
    LinearMachine,
    MarginMachine,
    OneOutput,
    WindowMachine,
    metric_named,
)
from mercer.machines.candidates import Levels, Splines
from mercer.plots.report.live.inputs import (
    Inputs,
    Layout,
    NotInPage,
    TooMany,
    expression,
    packed,
    stored_rows,
)
from mercer.tables import TableEncoder, ranks_of, read_as

COVERAGE = 0.9  # of the interval
BATCH_NORM_FLOOR = 1e-5  # added to variances, as in src/native/neighbourhood.cpp
#: background rows of exact values, at least, and factors that a page computes of them
FEWEST, FACTORS = 10, 1e6


def exported(model: Any) -> tuple[dict[str, Any], Inputs]:
    """The model as plain data, and what its page reads.

    Raises
    ------
    NotInPage
        A part of it is not written in JavaScript.
    """
    if not hasattr(model, "encoder_"):
        raise NotInPage("only models of KernelClassifier and KernelRegressor can be written so")
    encoder, inputs = model.encoder_, Inputs(model.columns_)
    shares = getattr(model.machine_, "shares", np.ones(1))
    machines = [
        _calibrated(part, encoder, inputs) | {"share": float(share)}
        for part, share in zip(model.machine_.parts, shares)
    ]
    found = {"machines": machines, "alike": _alike(machines, encoder, inputs)}
    if model.task == "classification":
        metric = metric_named(model.metric_, model.task).on(ranks_of(model.classes_, model.order_))
        weights = np.diag(model.decision_weights_)
        if metric.ranks is None:
            gains = weights
        else:  # the class of the least expected loss
            gains = -weights @ (np.abs(metric.ranks[:, None] - metric.ranks) ** metric.power)
        found |= {"classes": [str(c) for c in model.classes_], "gains": gains.tolist()}
    else:
        found |= {"scale": _scale(model.target_scale_), "spread": _spread(model.spread_, inputs)}
    found |= {"explained": _explained(model, machines, inputs)}
    for field in inputs.fields:
        if field["kind"] == "text":
            field["start"] = next((t for t in inputs.texts if isinstance(t, str)), "")
    found |= {"fields": inputs.fields, "series": inputs.series, "inputs": inputs.entries}
    found |= {"texts": inputs.texts, "rarities": inputs.rarities}
    return found, inputs


def _calibrated(part: Any, encoder: TableEncoder, inputs: Inputs) -> dict[str, Any]:
    """A machine of a mean, whose outputs times a slope are added to a bias."""
    machine, finish, place, size = part, part.finish, slice(None), 1.0
    if isinstance(part, OneOutput):
        machine, place, size = part.machine, [part.place], part.size
    made = written(machine, encoder, inputs)
    if "coef" in made:  # of the outputs that are shown
        made["coef"], made["offset"] = size * made["coef"][:, place], size * made["offset"][place]
    made = made | {"offset": np.asarray(made["offset"], float).tolist()}
    if "coef" in made:  # those of texts are many, and their features in single precision
        texts = any(part["of"] == "texts" for part in made.get("parts", ()))
        made["coef"] = packed(made["coef"], "f4" if texts else "f8")
    bias = np.atleast_1d(np.asarray(finish.bias, float)).tolist()
    return made | {"slope": float(finish.slope), "bias": bias}


@singledispatch
def written(machine: Any, encoder: TableEncoder, inputs: Inputs) -> dict[str, Any]:
    """A machine as data: how its outputs are made of the inputs of the page."""
    raise NotInPage(f"a {type(machine).__name__} is not written in JavaScript")


@written.register
def _ridge(machine: KernelRidgeMachine, encoder, inputs) -> dict[str, Any]:
    """The numbers from which the page computes a kernel ridge machine."""
    learner = machine.learner
    if learner.solver_ == "local" and learner.leaves_.count > 1:
        raise TooMany("it has a fit of its own for each of many leaves")
    rows = stored_rows(machine.kernel, learner.X_fit_, encoder, inputs)
    coef = np.asarray(learner.dual_coef_, float).reshape(rows["rows"], -1)
    return rows | {"way": "ridge", "coef": coef, "offset": np.asarray(machine.offset, float)}


@written.register
def _margin(machine: MarginMachine, encoder, inputs) -> dict[str, Any]:
    """The numbers from which the page computes a support vector machine."""
    learner = machine.learner
    k = len(learner.classes_)
    codes = np.repeat(np.arange(k), learner.n_support_)
    rows = stored_rows(machine.kernel, learner.X_fit_, encoder, inputs)
    if rows["rows"] != len(codes):
        raise NotInPage("its support vector machine rests on a kernel of low rank")
    sign = -1.0 if k == 2 else 1.0  # f of two classes is positive for the second
    met = np.searchsorted(machine.classes, learner.classes_)
    return rows | {
        "way": "pairs", "coef": sign * by_pair(np.asarray(learner.dual_coef_, float), codes, k),
        "offset": sign * np.asarray(learner.intercept_, float),
        "pairs": [[int(met[a]), int(met[b])] for a, b in all_pairs(k)], "met": met.tolist(),
    }  # fmt: skip


@written.register
def _window(machine: WindowMachine, encoder, inputs) -> dict[str, Any]:
    """The numbers from which the page computes a machine of windows."""
    rows = stored_rows(machine.kernel, machine.learner.X_fit_, encoder, inputs)
    weights = {} if machine.weights is None else {"weights": packed(machine.weights)}
    targets = np.asarray(machine.targets, float)
    return rows | weights | {
        "way": "window", "width": float(machine.penalty), "coef": targets,
        "offset": np.zeros(targets.shape[1]), "logs": bool(machine.classes),
    }  # fmt: skip


@written.register
def _shapes(machine: AdditiveMachine, encoder, inputs) -> dict[str, Any]:
    """The numbers from which the page computes an additive machine."""
    learner, columns = machine.learner, machine.columns
    effects, number = columns.effects or {}, {}
    shapes = []
    for i, shape in enumerate(learner.shapes_):
        number[shape.column] = i
        (at,) = inputs.places(encoder, [columns.columns[i]], effects.get(i))
        where = {"edges": packed(shape.edges)}
        if not shape.ordered:
            where = {"levels": [float(level) for level in shape.levels]}
        shapes.append({"at": at, "size": len(shape.values), "values": packed(shape.values)} | where)
    surfaces = [
        {"at": [number[column] for column in surface.columns],
         "groups": [group.tolist() for group in surface.groups],
         "wide": surface.values.shape[1], "values": packed(surface.values)}
        for surface in learner.surfaces_
    ]  # fmt: skip
    met = {} if machine.classes is None else {"met": [int(c) for c in machine.classes]}
    return met | {
        "way": "shapes", "offset": np.atleast_1d(learner.intercept_), "shapes": shapes,
        "surfaces": surfaces,
    }  # fmt: skip


@written.register
def _networks(machine: LearntNeighbourhood, encoder, inputs) -> dict[str, Any]:
    """The numbers from which the page computes a machine that learnt its neighbourhood."""
    learner, columns = machine.learner, machine.columns
    if learner.searches:
        raise NotInPage("it asks an index for the nearest rows")
    effects = columns.effects or {}
    at = [inputs.places(encoder, [j], effects.get(i))[0] for i, j in enumerate(columns.columns)]
    return {
        "way": "networks", "at": at, "rows": len(machine.targets), "weights": packed(learner.votes),
        "networks": [_network(member) for member in learner.members_],
        "coef": np.asarray(machine.targets, float), "offset": np.zeros(machine.targets.shape[1]),
        "logs": machine.classes is not None,
    }  # fmt: skip


def _network(member: Any) -> dict[str, Any]:
    """A network, whose batch norms are parts of its linear layers."""
    network, design = member.network, member.design
    w = {name: part.astype(float) for name, part in network.layers().items()}
    width = w["linear_bias"].shape[0]
    norms = network.running.astype(float).reshape(4, width)
    layers = [(w["linear"], w["linear_bias"], False)]
    if network.hidden:
        layers += [(w["into"].T, w["into_bias"], True), (w["out"], w["out_bias"], False)]
        for at, norm in ((0, 1), (2, 2)):
            W, b, relu = layers[at]
            scale = w[f"gain{norm}"] / np.sqrt(norms[2 * norm - 1] + BATCH_NORM_FLOOR)
            layers[at] = W * scale, (b - norms[2 * norm - 2]) * scale + w[f"shift{norm}"], relu
    coded = [[j, codes.tolist()] for j, codes in zip(design.coded, design.levels)]
    extra = sum(len(codes) for _, codes in coded)
    used = len(w["periodic_bias"]) * network.columns + extra  # the rest is padding
    made = [
        {"W": packed(W[:used] if at == 0 else W), "b": packed(b), "relu": relu}
        for at, (W, b, relu) in enumerate(layers)
    ]
    Z = np.zeros((len(member.Z), width), np.float32)
    Z[:, : network.width] = member.Z
    return {
        "numbers": list(design.numbers), "pairs": [list(pair) for pair in design.pairs],
        "coded": coded, "frequencies": packed(w["frequencies"]), "layers": made,
        "periodic": {"W": packed(w["periodic"]), "b": packed(w["periodic_bias"]), "relu": True},
        "Z": packed(Z, "f4"), "temperature": float(member.temperature),
    }  # fmt: skip


@written.register
def _linear(machine: LinearMachine, encoder, inputs) -> dict[str, Any]:
    """The numbers from which the page computes a linear machine on features."""
    model = machine.learner
    offset = np.asarray(model.intercept_, float)
    if model.coef_ is None:
        raise NotInPage("it is a constant, which no column moves")
    parts, kernel, order = [], model.kernel_, np.arange(len(model.coef_))
    start, layout = 0, Layout.of(model.X_fit_, inputs)
    weights = np.ones(len(kernel.parts)) if kernel.weights is None else kernel.weights
    for (part, columns), weight in zip(kernel.parts, weights):
        made: dict[str, Any] = {"at": inputs.places(encoder, columns), "weight": weight**0.5}
        rows = model.X_fit_.part(part.encoding(), columns)
        width = part.features(rows[:1]).shape[1]
        if layout.has_text(columns):
            made |= layout.leaf(part, columns) | {"at": made["at"]}
            if made["rarity"] < 0:
                raise NotInPage("it has features of texts without known frequencies")
            order[start : start + width] = start + inputs.orders[made["rarity"]]
        elif isinstance(part, Splines):
            made |= {"of": "splines", "knots": part.knots_.tolist()}
        elif isinstance(part, Levels):
            made |= {"of": "levels", "size": int(rows.known[0])}
        elif isinstance(part, Linear):
            made |= {"of": "numbers"}
        else:
            raise NotInPage(f"the features of {type(part).__name__} are not written in JavaScript")
        parts.append(made)
        start += width
    return {"way": "linear", "offset": offset, "parts": parts, "coef": model.coef_[order]}


def _alike(machines: list[dict], encoder: TableEncoder, inputs: Inputs) -> dict[str, Any]:
    """How alike two rows are: the kernel of the first machine, or of a machine without rows a
    Laplacian kernel of all columns that are read."""
    if "kernel" in machines[0]:
        return {name: machines[0][name] for name in ("at", "kernel")}
    features, read = encoder.features_, set(inputs.sources)
    scaled, codes = (
        [j for j in read_as(features, kind) if features[j].source in read]
        for kind in ("scaled", "code")
    )
    rate, columns = 1 / max(1, len(scaled) + len(codes)), [*scaled, *codes]
    parts: list = [(Laplacian(rate), scaled)] if scaled else []
    parts += [(FromDistance(MatchDistance(), rate), codes)] if codes else []
    at = inputs.places(encoder, columns)
    return {"at": at, "kernel": expression(TableKernel(parts), Layout(columns, inputs, {}))}


# --- Shapley values -------------------------------------------------------------------------------


def _explained(model: Any, machines: list[dict], inputs: Inputs) -> dict[str, Any] | None:
    """What Shapley values of a page are made of; None if the model keeps no background.

    They are exact for kernel sums whose kernels are sums of products with a factor for each field,
    and for functions in which at most two fields act together. Other machines are asked.
    """
    if model.background_ is None:
        return None
    classes = 1 if model.task == "regression" else len(model.classes_)
    what = {1: "to the answer", 2: "to the log odds of "}.get(classes, "to the log probability of ")
    found = {"what": what, "outputs": 1 if classes == 2 else classes}
    rows, weights = model.background_, model.background_weights_
    exactly, count = _exactly_explained(model, machines, inputs), len(rows)
    if exactly is not None:
        made, count = exactly
        found |= made
    if count < len(rows):  # those that were chosen first stand for all
        rows, weights = rows[:count], np.full(count, 1 / count)
    background = packed(inputs.matrix(model.encoder_, rows), "f4")
    return found | {"weights": weights.tolist(), "background": background}


def _exactly_explained(
    model: Any, machines: list[dict], inputs: Inputs
) -> tuple[dict[str, Any], int] | None:
    """The parts of a model, None for those without exact values, and how many background rows it is
    compared with; None if it has no others, or if they take long."""
    explained = model.explained(None)
    sums = explained.summands
    if explained.link is not None or len(sums) != len(machines):
        return None
    players = {j: inputs.sources.index(f.source) for j, f in enumerate(model.encoder_.features_)
               if f.source in inputs.sources}  # fmt: skip
    rows = (machine.get("rows", 0) for each, machine in zip(sums, machines)
            if isinstance(each, KernelSum))  # fmt: skip
    size, kept = sum(rows) * len(inputs.fields), len(model.background_)
    count = min(kept, int(FACTORS / max(size, 1)))
    if count < min(FEWEST, kept):
        return None
    found: dict[str, Any] = {}
    first = machines[0]
    if first["way"] == "pairs" and not sums[1:] and len(first["met"]) == len(model.classes_) > 2:
        sums = [model.machine_.learner.kernel_sum()]
        found["what"] = "to the mean value of the machines of pairs with "
    parts = []
    for each, machine in zip(sums, machines):
        if machine["way"] == "linear" or (machine["way"] == "shapes" and "met" not in machine):
            parts.append({})
            continue
        parts.append(_terms(each, players, inputs) if isinstance(each, KernelSum) else None)
    if not any(parts) and {} not in parts:
        return None
    terms = [term for part in parts if part for term in part["terms"]]
    most = max((len(term["players"]) for term in terms), default=0)
    rules = [np.polynomial.legendre.leggauss(-(-max(d, 1) // 2)) for d in range(most + 1)]
    nodes = [[[(s + 1) / 2, w / 2] for s, w in zip(*rule)] for rule in rules]
    return found | {"parts": parts, "nodes": nodes}, count


def _terms(each: KernelSum, players: dict, inputs: Inputs) -> dict[str, Any] | None:
    """A kernel sum as products; None if it has none that a page evaluates."""
    layout = Layout.of(each.stored, inputs)
    try:
        terms = each.kernel.separated(each.stored, {j: players[j] for j in layout.columns})
        return {"coef": packed(each.coef), "terms": [_term(term, layout) for term in terms]}
    except (NotSeparable, NotInPage):
        return None


def _term(term: Any, layout: Layout) -> dict[str, Any]:
    """A product of kernels with a weight: of each player its number and its kernels."""
    factors = [
        [player, [expression(kernel, layout) for kernel in kernels]]
        for player, kernels in term.factors.items()
    ]
    return {"weight": float(term.weight), "players": factors}


# --- numbers and their intervals ------------------------------------------------------------------


def _scale(scale: Any) -> dict[str, Any]:
    """The scale on which a target is fitted."""
    if scale.name == "ranks":
        raise NotInPage("its target is fitted by its ranks, whose scale is not in JavaScript")
    found = {field.name: getattr(scale, field.name) for field in dataclasses.fields(scale)}
    low, high = found.pop("limits")
    limits = [float(end) if np.isfinite(end) else None for end in (low, high)]
    return found | {"name": scale.name, "limits": limits}


def _spread(spread: Any, inputs: Inputs) -> dict[str, Any] | None:
    """How far targets are from predictions; None if that is not known."""
    if spread is None:
        return None
    steps = []
    for step in spread.steps:
        learner = step.learner
        coef = np.asarray(learner.dual_coef_, float).reshape(-1, 1)
        if step.by_rows:
            rows = stored_rows(learner.kernel_, learner.X_fit_, spread.encoder, inputs)
        else:  # their coefficients are so large that single precision would be seen
            rows = {
                "rows": len(coef), "X": packed(learner.X_fit_),
                "kernel": expression(
                    TableKernel([(learner.kernel_, [0])]), Layout([0], inputs, {})
                ),
            }  # fmt: skip
        steps.append(rows | {
            "way": "ridge", "offset": [0.0], "coef": packed(coef), "mean": step.mean,
            "ends": step.ends.tolist(),
        })  # fmt: skip
    groups, tail = spread.groups, (1 - COVERAGE) / 2
    at = [] if groups.column < 0 else inputs.places(spread.encoder, [groups.column])
    return {
        "scale": _scale(spread.scale), "centre": spread.centre, "width": spread.width,
        "steps": steps, "at": at, "kept": groups.kept.tolist(), "edges": groups.edges.tolist(),
        "scores": [each([tail, 1 - tail]).tolist() for each in spread.scores],
    }  # fmt: skip
