"""The order in which a search tries candidates: as measured, the most promising first.

`REGRESSION` and `CLASSIFICATION` are tables with a row for each candidate, in the order of their
priority. `candidates` takes the rows that suit a table of a user, and adds those of texts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

from mercer.machines.candidates.candidate import EFFECTS, PRUNED, Candidate
from mercer.machines.candidates.kinds import machine_kind
from mercer.machines.candidates.readings import readings, spline_parts
from mercer.tables import Feature, read_as

SCREENED_FROM = 30  # with more columns, the most informative are tried alone
#: how many, and the scale
SCREENED = ((5, 1.0), (20, 1.0), (10, 0.3), (3, 1.0), (5, 0.3), (40, 1.0))
MANY_CLASSES = 9  # with more classes, a Gaussian kernel is the first that is tried
MOST_COLUMNS = 100  # with more columns, there are no candidates with a kernel for each column
#: machines of classes that read the features of these views alone, the quicker one first
ON_FEATURES = {
    ("characters", "words"): ("bayes", "margins"),
    ("vectors", "directions"): ("logistic",),
}
NETWORKS = (1, 8)  # places of the networks of a large table
PRUNED_FROM = 12  # with more columns, a learnt neighbourhood may leave some out
SPARSE_FROM = 100  # with more columns, the linear model is sparse


def simple_candidates(
    features: list[Feature], several: bool = False, trend: tuple[str, ...] = ()
) -> list[Candidate]:
    """The simple models that suit the columns of a table, and its target or ``several`` targets:
    the constant, and a linear model, to which the features of a ``trend`` are straight lines."""
    columns = len(read_as(features, "scaled", "code"))
    linear = Candidate("splines", machine="linear", without=trend)
    if columns > SPARSE_FROM and not several:
        linear = Candidate("columns", machine="sparse")
    found = [Candidate("trivial", machine="constant")]
    return [*found, linear] if spline_parts(features) else found


LEARNT = Candidate("interactions", learn=True)
MORE, WIDE = replace(LEARNT, more=True), replace(LEARNT, scale=3.0)
FULL, ABSOLUTE, DIAGONAL = (
    Candidate("metric", learn=True, form=form) for form in ("full", "absolute", "diagonal")
)
MANY, WINDOW = Candidate("many", learn=True), replace(LEARNT, machine="window")
NETWORK = Candidate("neighbourhood", machine="neighbourhood")
NETWORK_OF_NORMAL = replace(NETWORK, columns="normal")
SHAPES = Candidate("shapes", machine="shapes")
DIFFERENCES = Candidate("laplacian", columns="differences")
SVC = partial(Candidate, machine="svc")

#: when a row counts, as `_suitable` finds it; and its candidate. A candidate that stands twice has
#: the first place that counts.
Row = tuple[str, Candidate]
REGRESSION: tuple[Row, ...] = (
    ("always", LEARNT),
    ("metrics", FULL),
    ("metrics", ABSOLUTE),
    ("metrics", DIAGONAL),
    ("differences", DIFFERENCES),
    ("always", MORE),
    ("always", NETWORK_OF_NORMAL),
    ("always", SHAPES),
    ("always", Candidate("gaussian")),
    ("always", WINDOW),
    ("metrics", replace(FULL, machine="window")),
    ("always", MANY),
    ("always", WIDE),
    ("pruned", replace(NETWORK_OF_NORMAL, form=PRUNED)),
    ("always", NETWORK),
    ("always", Candidate("laplacian")),
    ("always", Candidate("additive")),
    ("always", Candidate("gaussian", 0.3)),
    ("always", Candidate("laplacian", 0.3)),
    ("always", Candidate("gaussian", 3.0)),
    ("always", Candidate("interactions")),
    ("always", Candidate("laplacian", 3.0)),
    ("always", Candidate("gaussian", 10.0)),
    ("always", Candidate("gaussian", 0.1)),
)
#: machines that are as cheap as support vectors, and with these kernels the best on most tables,
#: have their early places where ridge is "local"; after these rows come those of `REGRESSION`
CLASSIFICATION: tuple[Row, ...] = (
    ("many classes", SVC("gaussian", 2.0)),
    ("always", SVC("laplacian", 3.0, columns="normal")),
    ("local", LEARNT),
    ("local, metrics", ABSOLUTE),
    ("local", MORE),
    ("local", WIDE),
    ("local, metrics", FULL),
    ("local", Candidate("laplacian", 0.3)),
    ("always", SVC("gaussian", 2.0)),
    ("levels", SVC("laplacian", 2.0, columns="levels")),
    ("levels", SVC("gaussian", 2.0, columns="codes")),
    ("pairs", SVC("laplacian", 2.0, columns="pairs")),
    ("differences", replace(DIFFERENCES, machine="svc")),
    ("always", LEARNT),
    ("always", Candidate("gaussian")),
    ("always", replace(LEARNT, machine="svc")),
    ("metrics", replace(FULL, machine="svc")),
    ("no metrics", WINDOW),
    ("always", NETWORK_OF_NORMAL),
    ("always", SHAPES),
    ("metrics", replace(ABSOLUTE, machine="svc")),
    ("always", WINDOW),
    ("always", Candidate("laplacian", 3.0, columns="normal", machine="window")),
    ("always", MANY),
    ("pruned, metrics", replace(NETWORK_OF_NORMAL, form=PRUNED)),
    ("metrics", NETWORK),
    ("always", SVC("laplacian", 3.0)),
    ("always", SVC("laplacian", columns="normal")),
    ("pruned", replace(NETWORK_OF_NORMAL, form=PRUNED)),
    ("always", NETWORK),
    ("metrics", FULL),
    ("always", MORE),
    ("always", replace(MORE, machine="svc")),
    ("always", WIDE),
    ("always", Candidate("laplacian")),
    ("always", SVC("gaussian", 0.5)),
    ("always", replace(WIDE, machine="svc")),
    ("always", SVC("gaussian", 8.0)),
    ("always", SVC("laplacian", 10.0, columns="normal")),
    *REGRESSION,
)


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
    order = _suitable(task, kinds, classes, local)
    plain = [c for c in order if numbers and (by_column or c.kernels.wide)]
    if kinds["each"] and numbers <= MOST_COLUMNS:
        plain[:0] = [Candidate(m, columns=EFFECTS, machine=m) for m in ("shapes", "neighbourhood")]
    plain = [c for c in plain if classes <= c.kind.most_classes]
    if large:
        networks = [c for c in plain if c.kind.holds_rows_out]
        networks.sort(key=lambda c: c.form != PRUNED)  # it learns on all columns first
        plain = [c for c in plain if not c.kind.holds_rows_out]
        for place, network in zip(NETWORKS, networks):
            plain.insert(place, network)
    if numbers > SCREENED_FROM:
        few = [Candidate("screened", scale, learn=True, kept=k) for k, scale in SCREENED]
        place = 6 if by_column else 0
        plain[place:place] = few
    if numbers > MOST_COLUMNS:
        machines = ("ridge", "centroids", "svc") if task == "classification" else ("ridge",)
        wide = [Candidate("dot", machine=machine) for machine in machines]
        plain[:0] = [c for c in wide if classes <= c.kind.most_classes]
    if not objects:
        return plain
    ways = readings(features)
    first = ways[0]
    margin = task == "classification" and classes <= machine_kind("svc").most_classes
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
    without = [c for c in plain if c.kernels.radial and c.scale == 1 and c.kind.low_rank]
    without += [c for c in plain if c.kind.reads_columns]
    return together + without


def _suitable(task: str, kinds: Counter, classes: int, local: bool) -> list[Candidate]:
    """The candidates of the rows that count for so many columns of each kind."""
    metrics = kinds["scaled"] > 1
    counts = {
        "always": True,
        "metrics": metrics,
        "no metrics": not metrics,
        "pruned": kinds["rank"] + kinds["code"] > PRUNED_FROM,
        "pruned, metrics": metrics and kinds["rank"] + kinds["code"] > PRUNED_FROM,
        "levels": kinds["level"] > 0,
        "differences": kinds["alike"] > 0,
        "pairs": kinds["level"] > 0 and kinds["alike"] > 0,
        "many classes": classes > MANY_CLASSES,
        "local": local and classes <= MANY_CLASSES,
        "local, metrics": metrics and local and classes <= MANY_CLASSES,
    }
    rows = CLASSIFICATION if task == "classification" else REGRESSION
    found = [candidate for when, candidate in rows if counts[when]]
    if not kinds["rank"]:  # normal scores of no numbers are the same as none
        found = [replace(c, columns="scaled") if c.columns == "normal" else c for c in found]
    return list(dict.fromkeys(found))
