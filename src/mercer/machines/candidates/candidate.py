"""A candidate of the automatic estimators: a kernel family for encoded columns, in a machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from mercer.distances import Match as MatchDistance, PairDifferences
from mercer.kernels import RBF, FromDistance, Kernel, Laplacian, Match, TableKernel
from mercer.machines.candidates.kinds import MachineKind, Recipe, machine_kind
from mercer.machines.candidates.learning import (
    COLUMNS_CHOSEN,
    FEW_WEIGHTS,
    METRICS,
    SUMS,
    WEIGHTS,
    Learning,
)
from mercer.machines.candidates.readings import (
    ReadColumns,
    column_parts,
    kernels_of_objects,
    readings,
    spline_parts,
)
from mercer.samples import Samples
from mercer.tables import TREND, UNREAD, Feature, read_as

WIDTHS = (0.3, 1.0, 3.0, 10.0)  # of the kernels of all columns in a sum of many
PRUNED = "pruned"  # the form of such a machine that leaves out columns

EFFECTS = "effects"  # so numbers are read by such a machine that reads levels by their effects
#: how numbers are read -> the words for it
COLUMNS = {
    "scaled": "",
    "normal": " of normal scores",
    "levels": " of numbers and levels",
    "codes": " of levels",
    "differences": " of differences",
    "pairs": " of levels and differences",
    EFFECTS: ", levels by their effects",
}
WITH_LEVELS = ("levels", "codes", "pairs")
WITH_DIFFERENCES = ("differences", "pairs")
CODES = ("code", "level")  # of categories, and of integers of few values


def _splines(features: list[Feature]) -> list:
    return spline_parts(features) or _of_objects(features)


def _of_objects(features: list[Feature]) -> list:
    return kernels_of_objects(features, readings(features)[0])


@dataclass(frozen=True)
class Family:
    """The kernels of one family: what they read, how they are learnt, and their words."""

    words: str = "{family}{columns}, scale {scale:g}"  # of a `Candidate`
    radial: Any = None  # the kernel of all numbers together, times one of all categories
    parts: Callable[[list[Feature]], list] | None = None  # those of a sum, if nothing is chosen
    combine: str = "sum"  # of kernels of each column and each object
    total: float = 1.0  # of its weights before they are learnt
    of_objects: bool = False  # whether it reads texts and other objects alone
    of_all: bool = False  # whether kernels of all columns take part
    learning: Learning = WEIGHTS
    wide: bool = False  # whether it suits many columns
    smooth: bool = False
    given: bool = False  # whether a user has given the kernel, which is called as its text says


#: the families of kernels; those of machines that read columns are no kernels
FAMILIES = {
    "interactions": Family("interactions, {weights} weights{more}{width}{comma_text}",
                           combine="interactions", total=1.4, learning=FEW_WEIGHTS),
    "additive": Family("additive{comma_text}"),
    "many": Family("sum of many kernels, learnt weights{comma_text}", of_all=True, learning=SUMS),
    "objects": Family("{text}", of_objects=True),
    "gaussian": Family(radial=RBF, wide=True, smooth=True),
    "laplacian": Family(radial=Laplacian, wide=True),
    "metric": Family("learnt metric{of_text}, {form}", radial=RBF, smooth=True, learning=METRICS),
    "screened": Family("gaussian of {kept} columns, scale {scale:g}", radial=RBF,
                       learning=COLUMNS_CHOSEN),
    "given": Family("{text}", radial=RBF, given=True),
    "dot": Family("linear kernel", parts=column_parts),
    "columns": Family(parts=lambda features: column_parts(features) or _of_objects(features)),
    "splines": Family(parts=_splines),
    # the constant reads nothing, but a kernel reads something
    "trivial": Family(parts=lambda features: _splines(features)[:1]),
}  # fmt: skip


@dataclass(frozen=True)
class Candidate:
    """One entry of the search."""

    family: str  # one of `FAMILIES`, or "neighbourhood" or "shapes", which learn their own kernels
    scale: float = 1.0  # bandwidth divided by the default of the family
    learn: bool = False  # whether the weights of the columns, or which columns count, are learnt
    #: how texts, sequences, vectors and other objects are read; see `readings`. A "metric" is one
    #: of vectors if it is "vectors", else one of numbers.
    text: str = ""
    #: how "gaussian" and "laplacian" read numbers, a key of `COLUMNS`: standardised, as normal
    #: scores, integers of few values as categories too ("levels") or instead ("codes"), columns of
    #: one range by the differences of all their pairs too, or both ("pairs")
    columns: str = "scaled"
    machine: str = "ridge"  # the name of a `MachineKind`
    #: of the learnt metric of "metric": "absolute" or "diagonal", a weight for each column in a sum
    #: of absolute differences or in a Euclidean distance, or "full", a linear map; and "pruned" of
    #: a "neighbourhood" that finds out which columns matter
    form: str = ""
    kept: int = 0  # how many columns a "screened" one has
    more: bool = False  # whether the weights of "interactions" are learnt from twice as many rows
    #: the labels of features that move with time, which it does not read, and a linear model on
    #: splines as straight lines: a trend goes on
    without: tuple[str, ...] = ()

    @classmethod
    def of(cls, entry: dict) -> Candidate:
        """The candidate of an entry of a schedule, which has its attributes and others."""
        names = {each.name for each in dataclasses.fields(cls)}
        own: dict[str, Any] = {name: value for name, value in entry.items() if name in names}
        own["without"] = tuple(own.get("without", ()))
        return cls(**own)

    @property
    def entry(self) -> dict[str, Any]:
        """Its attributes, as a schedule has them: plain data."""
        return asdict(self) | {"without": list(self.without)}

    @property
    def name(self) -> str:
        """What the leaderboard calls it."""
        fewer = ", without what moves with time" if self.without else ""
        return self.kind.simple or f"{self.kind.prefix}{self.kernel_name}{fewer}"

    @property
    def kind(self) -> MachineKind:
        """What kind of machine it is."""
        return machine_kind(self.machine)

    @property
    def kernels(self) -> Family:
        """What kernels of its family are."""
        return FAMILIES.get(self.family, FAMILIES["splines"])

    @property
    def keeps_kernel(self) -> bool:
        """Whether a fit to other rows has the same kernel: it was learnt, or given by a user."""
        return self.learn or self.kernels.given

    @property
    def simple(self) -> bool:
        """Whether it is a simple model, which a kernel machine has to beat."""
        return bool(self.kind.simple)

    @property
    def kernel_name(self) -> str:
        """The kernel in words; candidates with the same one differ in the machine."""
        if self.kind.reads_columns:
            few = ", few columns" if self.form == PRUNED else ""
            return f"{self.kind.words}{COLUMNS[self.columns]}{few}"
        return self.kernels.words.format(
            text=self.text, comma_text=f", {self.text}" if self.text else "",
            of_text=f" of {self.text}" if self.text else "", columns=COLUMNS[self.columns],
            family=self.family, form=self.form, scale=self.scale, kept=self.kept,
            width="" if self.scale == 1 else f", scale {self.scale:g}",
            weights="learnt" if self.learn else "equal", more=" from more rows" * self.more,
        )  # fmt: skip

    @property
    def kin(self) -> tuple[str, str, str, str, bool]:
        """What candidates of one family have in common: they differ in widths and columns.

        Objects that are read in another way are another family.

        Weights from more rows are a family of their own: on few rows they are as good as others, on
        many R² was up to 0.07 better.
        """
        how = f"{self.form} {self.columns}" if self.kind.reads_columns else self.form
        return self.family, how, self.text, self.machine, self.more

    @property
    def alike(self) -> Candidate:
        """What is the same for all candidates with this kernel, whatever their machine."""
        return replace(self, machine="ridge")

    def kernel(
        self,
        features: list[Feature],
        learnt: Kernel | None = None,
        only: Collection[int] | None = None,
    ) -> Any:
        """The kernel on the encoded columns, before its weights are learnt.

        Of a machine that learns its own, it is the columns that it reads. ``learnt`` is the kernel
        on the numbers of a "metric" whose metric is known, and ``only`` are the columns of a
        "screened" one.
        """
        features = self.read(features)
        if self.kind.reads_columns:
            near, effects = self.kind.compares_rows, self.columns == EFFECTS
            kind = self.kind.numbers if effects else self.columns
            kinds = (kind, *(CODES if near else CODES[:1]), *("each",) * effects)
            return ReadColumns.of(features, kinds, self.form == PRUNED, near, effects)
        family = self.kernels
        if family.parts is not None:
            return TableKernel(family.parts(features), "sum")
        ranks = read_as(features, "rank")
        codes = read_as(features, "code")
        parts: list = []
        if family.radial is None:
            if not family.of_objects:
                parts += [(Laplacian(self.scale), [j]) for j in ranks]
                parts += [(Match(), [j]) for j in codes]
            if family.of_all:
                parts += self._of_all(features)
            parts += kernels_of_objects(features, self.text)
            return TableKernel(parts, family.combine, [family.total / len(parts)] * len(parts))
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
            parts.append((family.radial(self.scale / width), scaled))
        if codes:
            parts.append((FromDistance(MatchDistance(), self.scale / width), codes))
        return TableKernel(parts, "product")

    def numbers(self, features: list[Feature]) -> list[int]:
        """The columns of numbers that a radial kernel reads."""
        return self._numbers(self.read(features))[0]

    def read(self, features: list[Feature]) -> list[Feature]:
        """The features in their places, of which those that it does not read are of no kind."""
        if not self.without:
            return features
        return [
            replace(f, kind=TREND if f.kind == "scaled" else UNREAD, alike=-1)
            if f.label in self.without
            else f
            for f in features
        ]

    def _numbers(self, features: list[Feature]) -> tuple[list[int], list[int]]:
        """The columns of numbers that a radial kernel reads, and those of their levels."""
        if self.form and self.text:
            return read_as(features, self.text)[:1], []
        levels = read_as(features, "level")
        coded = {features[j].label for j in levels} if self.columns == "codes" else set()
        kind = "normal" if self.columns == "normal" else "scaled"
        read = [j for j in read_as(features, kind) if features[j].label not in coded]
        return read, levels if self.columns in WITH_LEVELS else []

    def suits(self, features: list[Feature]) -> bool:
        """Whether there is a column that the kernel reads."""
        return bool(self.kernel(features).parts)

    def bound(self, features: list[Feature], M: Samples) -> tuple[Any, Any]:
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


ROW = (
    "name", "baseline", "score", "spread", "loss", "rows", "seconds", "learner", "penalty",
    "kernel",
)  # fmt: skip


@dataclass(frozen=True)
class Tried:
    """A trial of a search: what was tried, on how many rows, and what it scored there."""

    candidate: Any  # a `Candidate`; None of a mean
    name: str
    rows: int
    rank: int | None = None  # most centres of ridge
    steps: list[int] = field(default_factory=list)  # of the learning, for all folds or for each
    score: float = np.nan
    scores: list[float] = field(default_factory=list)  # of each of several targets
    loss: float = np.nan
    spread: float | None = None  # of the score, over the folds
    seconds: float = 0.0
    penalty: float = np.nan  # the median of the folds
    learner: str = ""
    kernel: str | None = None
    baseline: bool = False
    place: int = -1  # in the schedule, which has no simple models and no means

    @classmethod
    def of(cls, entry: dict, place: int, row: dict | None = None) -> Tried:
        """That of an entry of a schedule, and of the row of the leaderboard if it has one."""
        names, candidate = (*ROW, "scores"), Candidate.of(entry)
        known = {k: v for k, v in (row or {}).items() if k in names}
        own = {key: entry[key] for key in ("rows", "rank", "steps")}
        return cls(**{"candidate": candidate, "name": candidate.name, "place": place} | known | own)

    @property
    def entry(self) -> dict[str, Any]:
        """An entry of a schedule."""
        how = {"rows": self.rows, "rank": self.rank, "steps": self.steps}
        return self.candidate.entry | how

    @property
    def row(self) -> dict[str, Any]:
        """A row of the leaderboard."""
        each = {"scores": self.scores} if self.scores else {}
        return {name: getattr(self, name) for name in ROW} | each


Planned = tuple[Candidate, Recipe]  # and how it is fitted in the end


def planned_fits(final: dict, winner: Candidate) -> list[Planned]:
    """The final fits that the last entry of a schedule tells: that of the winner comes first."""
    partners = [(Candidate.of(entry), entry) for entry in final.get("mean", [])]
    return [(each, Recipe.of(entry, each.machine)) for each, entry in [(winner, final), *partners]]


def final_entry(planned: list[Planned]) -> dict:
    """The last entry of a schedule."""
    (winner, plan), *partners = planned
    mean = [candidate.entry | own.entry for candidate, own in partners]
    named = {} if plan.how in ("quick", "early") else {"winner": winner.name}
    return plan.entry | named | ({"mean": mean} if mean else {})


def column_weights(
    candidate: Candidate, kernel: TableKernel, features: list[Feature]
) -> dict[str, float]:
    """The weight of each column that the kernel of a candidate reads."""
    found: dict[str, float] = {}
    for j, share in candidate.kernels.learning.shares(kernel):
        label = features[j].label
        found[label] = found.get(label, 0.0) + share
    return found
