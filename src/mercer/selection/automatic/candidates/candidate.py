"""The candidates of the automatic estimators: kernel families for encoded columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from mercer.distances import Match as MatchDistance
from mercer.distances import PairDifferences
from mercer.kernels import RBF, FromDistance, Kernel, Laplacian, Match, TableKernel
from mercer.samples import Table
from mercer.selection.automatic.candidates.explicit import column_parts, spline_parts
from mercer.selection.automatic.candidates.readings import kernels_of_objects, readings
from mercer.tables import Feature, read_as

RADIAL = ("gaussian", "laplacian", "metric", "screened")
WITHOUT = ("gaussian", "laplacian")  # of these, that are tried where columns are many
WIDTHS = (0.3, 1.0, 3.0, 10.0)  # of the kernels of all columns in a sum of many
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

#: machine -> its learner in words
MACHINES = {
    "ridge": "kernel ridge",
    "local": "local kernel ridge",
    "svc": "support vector machine",
    "window": "mean over a window",
    "constant": "constant",
    "linear": "linear model",
    "sparse": "linear model of few columns",
}
#: family and machine of a simple model -> its name
SIMPLE = {
    ("trivial", "constant"): "trivial",
    ("splines", "linear"): "linear (spline)",
    ("columns", "sparse"): "linear (sparse)",
}
SPARSE_FROM = 100  # with more columns, the linear model is sparse
#: of the names of candidates
PREFIXES = {"ridge": "", "local": "local: ", "svc": "SVC: ", "window": "window: "}

#: how numbers are read -> the words for it
COLUMNS = {
    "scaled": "",
    "normal": " of normal scores",
    "levels": " of numbers and levels",
    "codes": " of levels",
    "differences": " of differences",
    "pairs": " of levels and differences",
}
WITH_LEVELS = ("levels", "codes", "pairs")
WITH_DIFFERENCES = ("differences", "pairs")


@dataclass(frozen=True)
class Candidate:
    """One entry of the search."""

    #: "interactions", "gaussian", "laplacian", "metric", "screened", "additive", "many" or
    #: "objects", "given" if its kernel was given by a user and is called ``text``, or of simple
    #: models "trivial", "splines" or "columns". "objects" is a sum of
    #: kernels on texts and sets; "gaussian", "laplacian", "metric" and "screened" do not use texts
    #: and sets. "screened" is a Gaussian kernel on few columns, "many" a sum of kernels of each
    #: column and of all columns with several widths.
    family: str
    scale: float = 1.0  # bandwidth divided by the default of the family
    learn: bool = False  # whether the weights of the columns, or which columns count, are learnt
    #: how texts, sequences, vectors and other objects are read; see `readings`. A "metric" is one
    #: of vectors if it is "vectors", else one of numbers.
    text: str = ""
    #: how "gaussian" and "laplacian" read numbers, a key of `COLUMNS`: standardised, as normal
    #: scores, integers of few values as categories too ("levels") or instead ("codes"), columns of
    #: one range by the differences of all their pairs too, or both ("pairs")
    columns: str = "scaled"
    machine: str = "ridge"  # a key of `MACHINES`; "local" is exact inside leaves of similar rows
    #: of the learnt metric of "metric": "absolute" or "diagonal", a weight for each column in a sum
    #: of absolute differences or in a Euclidean distance, or "full", a linear map
    form: str = ""
    kept: int = 0  # how many columns a "screened" one has
    more: bool = False  # whether the weights of "interactions" are learnt from twice as many rows

    @classmethod
    def of(cls, entry: dict) -> Candidate:
        """The candidate of an entry of a schedule, which has its attributes and others."""
        names = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in entry.items() if name in names})

    @property
    def name(self) -> str:
        """What the leaderboard calls it."""
        return (
            SIMPLE[self.family, self.machine]
            if self.simple
            else f"{PREFIXES[self.machine]}{self.kernel_name}"
        )

    @property
    def keeps_kernel(self) -> bool:
        """Whether a fit to other rows has the same kernel: it was learnt, or given by a user."""
        return self.learn or self.family == "given"

    @property
    def simple(self) -> bool:
        """Whether it is a simple model, which a kernel machine has to beat."""
        return (self.family, self.machine) in SIMPLE

    @property
    def kernel_name(self) -> str:
        """The kernel in words; candidates with the same one differ in the machine."""
        text = f", {self.text}" if self.text else ""
        if self.family in ("objects", "given"):
            return self.text
        if self.family == "interactions":
            width = "" if self.scale == 1 else f", scale {self.scale:g}"
            weights = "learnt" if self.learn else "equal"
            more = " from more rows" if self.more else ""
            return f"interactions, {weights} weights{more}{width}{text}"
        if self.family == "additive":
            return f"additive{text}"
        if self.family == "many":
            return f"sum of many kernels, learnt weights{text}"
        if self.family == "metric":
            return f"learnt metric{' of ' * bool(self.text)}{self.text}, {self.form}"
        if self.family == "screened":
            return f"gaussian of {self.kept} columns, scale {self.scale:g}"
        return f"{self.family}{COLUMNS[self.columns]}, scale {self.scale:g}"

    @property
    def kin(self) -> tuple[str, str, str, bool]:
        """What candidates of one family have in common: they differ in widths and columns.

        Weights from more rows are a family of their own: on few rows they are as good as others, on
        many R² was up to 0.07 better.
        """
        return self.family, self.form, self.machine, self.more

    @property
    def alike(self) -> Candidate:
        """What is the same for all candidates with this kernel, whatever their machine."""
        return replace(self, machine="ridge")

    def kernel(
        self,
        features: list[Feature],
        learnt: Kernel | None = None,
        only: Collection[int] | None = None,
    ) -> TableKernel:
        """The kernel on the encoded columns, before its weights are learnt.

        ``learnt`` is the kernel on the numbers of a "metric" whose metric is known, and ``only``
        are the columns of a "screened" one.
        """
        if self.simple:
            own = column_parts if self.family == "columns" else spline_parts
            parts: list = own(features) or kernels_of_objects(features, readings(features)[0])
            return TableKernel(parts, "sum")
        ranks = read_as(features, "rank")
        codes = read_as(features, "code")
        parts = []
        if self.family in ("interactions", "additive", "many"):
            parts += [(Laplacian(self.scale), [j]) for j in ranks]
            parts += [(Match(), [j]) for j in codes]
        if self.family == "many":
            parts += self._of_all(features)
        if self.family in ("interactions", "additive", "many", "objects"):
            parts += kernels_of_objects(features, self.text)
            combine = "interactions" if self.family == "interactions" else "sum"
            weight = 1.4 / len(parts) if combine == "interactions" else 1 / len(parts)
            return TableKernel(parts, combine, [weight] * len(parts))
        # Two standardised columns differ by 2 in squared distance and by about 1.1 in absolute
        # value on average; a mismatch of categories counts like one typical squared difference.
        scaled, levels = self._numbers(features)
        codes = sorted(codes + levels)
        if only is not None:
            scaled, codes = ([j for j in each if j in only] for each in (scaled, codes))
        groups = _of_one_range(features, scaled) if self.columns in WITH_DIFFERENCES else []
        pairs = sum(len(group) * (len(group) - 1) // 2 for group in groups)
        width = len(scaled) + len(codes) + pairs
        for group in groups:
            parts.append((FromDistance(PairDifferences(), self.scale / width), group))
            scaled = [j for j in scaled if j not in group]
        if scaled and learnt is not None:
            parts.append((learnt, scaled))
        elif scaled:
            radial = Laplacian if self.family == "laplacian" else RBF
            parts.append((radial(self.scale / width), scaled))
        if codes:
            parts.append((FromDistance(MatchDistance(), self.scale / width), codes))
        return TableKernel(parts, "product")

    def numbers(self, features: list[Feature]) -> list[int]:
        """The columns of numbers that a radial kernel reads."""
        return self._numbers(features)[0]

    def _numbers(self, features: list[Feature]) -> tuple[list[int], list[int]]:
        """The columns of numbers that a radial kernel reads, and those of their levels."""
        if self.family == "metric" and self.text:
            return read_as(features, self.text)[:1], []
        levels = read_as(features, "level")
        coded = {features[j].label for j in levels} if self.columns == "codes" else set()
        kind = "normal" if self.columns == "normal" else "scaled"
        read = [j for j in read_as(features, kind) if features[j].label not in coded]
        return read, levels if self.columns in WITH_LEVELS else []

    def suits(self, features: list[Feature]) -> bool:
        """Whether there is a column that the kernel reads."""
        return bool(self.kernel(features).parts)

    def bound(self, features: list[Feature], M: Any) -> tuple[TableKernel, Table]:
        """The kernel, bound to rows of the encoded columns, and these rows encoded for it."""
        kernel = self.kernel(features)
        X = kernel.encode(M)
        return kernel.bind(X), X

    def _of_all(self, features: list[Feature]) -> list[tuple[Kernel, list]]:
        """Kernels of several widths on all numbers, and on all categories."""
        numbers, _ = self._numbers(features)
        codes = read_as(features, "code")
        width = len(numbers) + len(codes)
        parts: list[tuple[Kernel, list]] = []
        for scale in WIDTHS:
            if len(numbers) > 1:
                parts += [(radial(scale / width), numbers) for radial in (RBF, Laplacian)]
            if len(codes) > 1:
                parts.append((FromDistance(MatchDistance(), scale / width), codes))
        return parts


def _of_one_range(features: list[Feature], scaled: list[int]) -> list[list[int]]:
    """The columns of each range."""
    numbers = sorted({features[j].alike for j in scaled} - {-1})
    return [[j for j in scaled if features[j].alike == g] for g in numbers]


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
    features: list[Feature], task: str = "regression", classes: int = 2, local: bool = False
) -> list[Candidate]:
    """All candidates for a table, the most promising first.

    Which ones come first was measured on the tables of the benchmarks: for classes, support vector
    machines are as good as any and the fastest by far. For a single column, the other families are
    the same as the Gaussian and the Laplacian, so they are left out. For more than 100 columns, a
    kernel for each column costs too much. More than 100 classes have too many pairs for support
    vector machines. Texts are read in several ways. For few classes ridge machines come early where
    they are ``local`` in the second rung.
    """
    objects = {f.source for f in features if f.holds_objects}
    kinds = Counter(f.kind for f in features)
    kinds["alike"] = sum(f.alike >= 0 for f in features)
    numbers = kinds["rank"] + kinds["code"]
    by_column = numbers > 0 and 1 < numbers + len(objects) <= MOST_COLUMNS
    order = _orders(kinds, local and classes <= MANY_CLASSES)[task]
    plain = [c for c in order if numbers and (by_column or c.family in WITHOUT)]
    if classes > MANY_CLASSES and FOR_MANY in plain:
        plain.remove(FOR_MANY)
        plain.insert(0, FOR_MANY)
    if classes > MOST_CLASSES:
        plain = [c for c in plain if c.machine != "svc"]
    if numbers > SCREENED_FROM:
        few = [Candidate("screened", scale, learn=True, kept=k) for k, scale in SCREENED]
        place = 6 if by_column else 0
        plain[place:place] = few
    if not objects:
        return plain
    ways = readings(features)
    first = ways[0]
    margin = task == "classification" and classes <= MOST_CLASSES
    reading = [Candidate("objects", text=way) for way in ways]
    if margin:
        reading = [*(replace(each, machine="svc") for each in reading), *reading[:3]]
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
    metrics = [
        Candidate("metric", learn=True, form=form)
        for form in ("full", "absolute", "diagonal")
        if kinds["scaled"] > 1
    ]
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
