"""The order in which a search tries candidates: as measured, the most promising first."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

from mercer.selection.automatic.candidates.candidate import EFFECTS, PRUNED, Candidate
from mercer.selection.automatic.candidates.readings import readings, spline_parts
from mercer.tables import Feature, read_as

RADIAL = ("gaussian", "laplacian", "metric", "screened")
WITHOUT = ("gaussian", "laplacian")  # of these, that are tried where columns are many
SCREENED_FROM = 30  # with more columns, those that tell most of the target are tried alone
SCREENED = (
    (5, 1.0),
    (20, 1.0),
    (10, 0.3),
    (3, 1.0),
    (5, 0.3),
    (40, 1.0),
)  # how many, and the scale
MANY_CLASSES = 9  # with more classes, a Gaussian kernel is the first that is tried
MOST_CLASSES = 100  # with more classes, there are no support vector machines
MOST_COLUMNS = 100  # with more columns, there are no candidates with a kernel for each column
#: machines of classes that read the features of these views alone, the quicker one first
ON_FEATURES = {
    ("characters", "words"): ("bayes", "margins"),
    ("vectors", "directions"): ("logistic",),
}
NETWORKS = (1, 8)  # places of the networks of a large table
PRUNED_FROM = 12  # with more columns, a learnt neighbourhood may leave some out
SPARSE_FROM = 100  # with more columns, the linear model is sparse


def simple_candidates(features: list[Feature]) -> list[Candidate]:
    """The simple models that suit the columns of a table: the constant, and a linear model."""
    columns = len(read_as(features, "scaled", "code"))
    linear = Candidate("splines", machine="linear")
    if columns > SPARSE_FROM:
        linear = Candidate("columns", machine="sparse")
    found = [Candidate("trivial", machine="constant")]
    return [*found, linear] if spline_parts(features) else found


#: the first candidate for many classes
FOR_MANY = Candidate("gaussian", 2.0, machine="svc")


def candidates(
    features: list[Feature],
    task: str = "regression",
    classes: int = 2,
    local: bool = False,
    large: bool = False,
) -> list[Candidate]:
    """All candidates for a table, the most promising first.

    Which ones come first was measured on the tables of the benchmarks: for classes, support vector
    machines are as good as any and the fastest by far. For a single column, the other families are
    the same as the Gaussian and the Laplacian, so they are left out. For more than 100 columns, a
    kernel for each column costs too much, and a linear kernel comes first: there are often fewer
    rows. More than 100 classes have too many pairs for support
    vector machines. Texts are read in several ways. For few classes ridge machines come early where
    they are ``local`` in the second rung. In a ``large`` table a learnt neighbourhood is fitted to
    all rows once, and comes second, while there is time for its steps. Where a column has many
    levels, machines that read these by their effects come first.
    """
    objects = {f.source for f in features if f.holds_objects}
    views = {f.kind for f in features if f.holds_objects}
    kinds = Counter(f.kind for f in features)
    kinds["alike"] = sum(f.alike >= 0 for f in features)
    numbers = kinds["rank"] + kinds["code"]
    by_column = numbers > 0 and 1 < numbers + len(objects) <= MOST_COLUMNS
    order = _orders(kinds, local and classes <= MANY_CLASSES)[task]
    plain = [c for c in order if numbers and (by_column or c.family in WITHOUT)]
    if classes > MANY_CLASSES and FOR_MANY in plain:
        plain.remove(FOR_MANY)
        plain.insert(0, FOR_MANY)
    if kinds["each"] and numbers <= MOST_COLUMNS:
        plain[:0] = [Candidate(m, columns=EFFECTS, machine=m) for m in ("shapes", "neighbourhood")]
    if classes > 2:  # each Newton step solves a system of all classes
        plain = [c for c in plain if c.machine != "shapes"]
    if classes > MOST_CLASSES:
        plain = [c for c in plain if c.machine != "svc"]
    if large:
        networks = [c for c in plain if c.machine == "neighbourhood"]
        networks.sort(key=lambda c: c.form != PRUNED)  # it learns on all columns first
        plain = [c for c in plain if c.machine != "neighbourhood"]
        for place, network in zip(NETWORKS, networks):
            plain.insert(place, network)
    if numbers > SCREENED_FROM:
        few = [Candidate("screened", scale, learn=True, kept=k) for k, scale in SCREENED]
        place = 6 if by_column else 0
        plain[place:place] = few
    if numbers > MOST_COLUMNS:
        plain.insert(0, Candidate("dot"))
    if not objects:
        return plain
    ways = readings(features)
    first = ways[0]
    margin = task == "classification" and classes <= MOST_CLASSES
    reading = [Candidate("objects", text=way) for way in ways]
    if margin:
        reading = [*(replace(each, machine="svc") for each in reading), *reading[:3]]
    if task == "classification":
        machines = [m for own, ms in ON_FEATURES.items() if views <= {*own} for m in ms]
        reading[:0] = [Candidate("objects", text=first, machine=machine) for machine in machines]
    if read_as(features, "vectors"):
        metric = Candidate("metric", learn=True, form="full", text="vectors")
        reading[3:3] = [replace(metric, machine="svc"), metric] if margin else [metric]
    if not by_column:
        return reading + plain
    together = [
        Candidate("interactions", learn=True, text=first),
        Candidate("additive", text=first),
        *reading[:2],
        *(Candidate("interactions", learn=True, text=way) for way in ways[1:3]),
        Candidate("interactions", 3.0, learn=True, text=first),
        *reading[2:],
    ]
    without = [c for c in plain if c.family in RADIAL and c.scale == 1 and c.machine == "ridge"]
    without += [c for c in plain if c.reads_columns]
    return together + without


def _orders(kinds: Counter, local: bool) -> dict[str, list[Candidate]]:
    """The candidates for numbers and categories, for each task."""
    learnt, wide = Candidate("interactions", learn=True), Candidate("interactions", 3.0, learn=True)
    more, window = replace(learnt, more=True), replace(learnt, machine="window")
    many = Candidate("many", learn=True)
    ridge = [
        learnt,
        more,
        Candidate("gaussian"),
        window,
        many,
        wide,
        Candidate("laplacian"),
        Candidate("additive"),
        Candidate("gaussian", 0.3),
        Candidate("laplacian", 0.3),
        Candidate("gaussian", 3.0),
        Candidate("interactions"),
        Candidate("laplacian", 3.0),
        Candidate("gaussian", 10.0),
        Candidate("gaussian", 0.1),
    ]
    near = [Candidate("neighbourhood", machine="neighbourhood")]
    if kinds["rank"]:
        near.insert(0, replace(near[0], columns="normal"))
    if kinds["rank"] + kinds["code"] > PRUNED_FROM:
        near.insert(1, replace(near[0], form=PRUNED))
    shapes = [Candidate("shapes", machine="shapes")]
    metrics = [
        Candidate("metric", learn=True, form=form)
        for form in ("full", "absolute", "diagonal")
        if kinds["scaled"] > 1
    ]
    ridge[2:2] = [*near[:1], *shapes]
    ridge[8:8] = near[1:]
    ridge[1:1] = metrics
    if metrics:
        ridge.insert(ridge.index(window) + 1, replace(metrics[0], machine="window"))
    svc = partial(Candidate, machine="svc")
    normal = partial(svc, columns="normal") if kinds["rank"] else svc
    margins = [
        normal("laplacian", 3.0),
        svc("gaussian", 2.0),
        learnt,
        Candidate("gaussian"),
        replace(learnt, machine="svc"),
        *(replace(metric, machine="svc") for metric in metrics[:2]),
        window,
        normal("laplacian", 3.0, machine="window"),
        many,
        svc("laplacian", 3.0),
        normal("laplacian"),
        *metrics[:1],
        more,
        replace(more, machine="svc"),
        wide,
        Candidate("laplacian"),
        svc("gaussian", 0.5),
        replace(wide, machine="svc"),
        svc("gaussian", 8.0),
        normal("laplacian", 10.0),
    ]
    margins[10:10] = near[1:]
    margins[6:6] = [*near[:1], *shapes]
    if kinds["alike"]:
        differences = Candidate("laplacian", columns="differences")
        pairs = [svc("laplacian", 2.0, columns="pairs")] if kinds["level"] else []
        margins[2:2] = [*pairs, replace(differences, machine="svc")]
        ridge[4:4] = [differences]
    if kinds["level"]:
        discrete = [svc("laplacian", 2.0, columns="levels"), svc("gaussian", 2.0, columns="codes")]
        margins[2:2] = discrete
    if local:  # as cheap as support vectors there, and with these kernels the best on most tables
        early = [learnt, *metrics[1:2], more, wide, *metrics[:1], Candidate("laplacian", 0.3)]
        margins[1:1] = early
    return {"regression": ridge, "classification": list(dict.fromkeys(margins + ridge))}
