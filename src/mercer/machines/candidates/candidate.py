"""A candidate of the automatic estimators: a kernel family for encoded columns, in a machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from mercer.distances import Match as MatchDistance
from mercer.distances import PairDifferences
from mercer.kernels import RBF, FromDistance, Kernel, Laplacian, Match, TableKernel
from mercer.machines.candidates.kinds import MachineKind, Recipe, machine_kind
from mercer.machines.candidates.readings import (
    column_parts,
    kernels_of_objects,
    readings,
    spline_parts,
)
from mercer.persistence import fields
from mercer.samples import EncodedColumns
from mercer.tables import (
    EncodedRows,
    Feature,
    LevelEffect,
    TableEncoder,
    learn_effects,
    read_as,
)

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


@dataclass(frozen=True)
class Candidate:
    """One entry of the search."""

    #: "interactions", "gaussian", "laplacian", "metric", "screened", "dot" (the inner product of
    #: all columns), "additive", "many" or "objects"; "neighbourhood" or "shapes" if its machine
    #: learns kernels of its own; "given" if its kernel was given by a user and is called ``text``;
    #: or of simple models "trivial", "splines" or "columns". "objects" is a sum of kernels on texts
    #: and sets; "gaussian", "laplacian", "metric", "screened", "dot", "neighbourhood" and
    #: "shapes" use no texts and sets. "screened" is a Gaussian kernel on few columns, "many" a sum
    #: of kernels of each column and of all columns with several widths.
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
    machine: str = "ridge"  # the name of a `MachineKind`
    #: of the learnt metric of "metric": "absolute" or "diagonal", a weight for each column in a sum
    #: of absolute differences or in a Euclidean distance, or "full", a linear map; and "pruned" of
    #: a "neighbourhood" that finds out which columns matter
    form: str = ""
    kept: int = 0  # how many columns a "screened" one has
    more: bool = False  # whether the weights of "interactions" are learnt from twice as many rows

    @classmethod
    def of(cls, entry: dict) -> Candidate:
        """The candidate of an entry of a schedule, which has its attributes and others."""
        names = {each.name for each in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in entry.items() if name in names})

    @property
    def name(self) -> str:
        """What the leaderboard calls it."""
        return self.kind.simple or f"{self.kind.prefix}{self.kernel_name}"

    @property
    def kind(self) -> MachineKind:
        """What kind of machine it is."""
        return machine_kind(self.machine)

    @property
    def keeps_kernel(self) -> bool:
        """Whether a fit to other rows has the same kernel: it was learnt, or given by a user."""
        return self.learn or self.family == "given"

    @property
    def simple(self) -> bool:
        """Whether it is a simple model, which a kernel machine has to beat."""
        return bool(self.kind.simple)

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
        if self.kind.reads_columns:
            few = ", few columns" if self.form == PRUNED else ""
            return f"{self.kind.words}{COLUMNS[self.columns]}{few}"
        if self.family == "dot":
            return "linear kernel"
        if self.family == "screened":
            return f"gaussian of {self.kept} columns, scale {self.scale:g}"
        return f"{self.family}{COLUMNS[self.columns]}, scale {self.scale:g}"

    @property
    def kin(self) -> tuple[str, str, str, bool]:
        """What candidates of one family have in common: they differ in widths and columns.

        Weights from more rows are a family of their own: on few rows they are as good as others, on
        many R² was up to 0.07 better.
        """
        how = f"{self.form} {self.columns}" if self.kind.reads_columns else self.form
        return self.family, how, self.machine, self.more

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
        if self.kind.reads_columns:
            near, effects = self.kind.compares_rows, self.columns == EFFECTS
            kind = self.kind.numbers if effects else self.columns
            kinds = (kind, *(CODES if near else CODES[:1]), *("each",) * effects)
            return ReadColumns.of(features, kinds, self.form == PRUNED, near, effects)
        if self.simple:
            own = column_parts if self.family == "columns" else spline_parts
            parts: list = own(features) or kernels_of_objects(features, readings(features)[0])
            # the constant reads nothing, but a kernel reads something
            return TableKernel(parts if self.family != "trivial" else parts[:1], "sum")
        if self.family == "dot":
            return TableKernel(column_parts(features), "sum")
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

    def bound(self, features: list[Feature], M: Any) -> tuple[Any, Any]:
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
        candidate, known = Candidate.of(entry), {k: v for k, v in (row or {}).items() if k in ROW}
        own = {key: entry[key] for key in ("rows", "rank", "steps")}
        return cls(**{"candidate": candidate, "name": candidate.name, "place": place} | known | own)

    @property
    def entry(self) -> dict[str, Any]:
        """An entry of a schedule."""
        how = {"rows": self.rows, "rank": self.rank, "steps": self.steps}
        return asdict(self.candidate) | how

    @property
    def row(self) -> dict[str, Any]:
        """A row of the leaderboard."""
        return {name: getattr(self, name) for name in ROW}


Planned = tuple[Candidate, Recipe]  # and how it is fitted in the end


def planned_fits(final: dict, winner: Candidate) -> list[Planned]:
    """The final fits that the last entry of a schedule tells: that of the winner comes first."""
    partners = [(Candidate.of(entry), entry) for entry in final.get("mean", [])]
    return [(each, Recipe.of(entry, each.machine)) for each, entry in [(winner, final), *partners]]


def final_entry(planned: list[Planned]) -> dict:
    """The last entry of a schedule."""
    (winner, plan), *partners = planned
    mean = [asdict(candidate) | own.entry for candidate, own in partners]
    named = {} if plan.how in ("quick", "early") else {"winner": winner.name}
    return plan.entry | named | ({"mean": mean} if mean else {})


def column_weights(
    candidate: Candidate, kernel: TableKernel, features: list[Feature]
) -> dict[str, float]:
    """The weight of each column that the kernel of a candidate reads.

    Columns that were chosen count alike. Of a metric, the parts of the sum of its squares. Columns
    that one kernel of a sum reads together share its weight.
    """
    if candidate.family == "metric":
        (metric, columns), *_ = kernel.parts
        squares = np.square(metric.metric.linear_map)
        squares = squares if squares.ndim == 1 else squares.sum(axis=0)
        shares = (squares / (squares.sum() or 1.0)).tolist()
        return {features[j].label: w for j, w in zip(columns, shares)}
    if candidate.family == "screened":
        sizes = np.array([len(columns) for _, columns in kernel.parts])
        weights = sizes / sizes.sum()
    else:
        weights = kernel.weights
    found: dict[str, float] = {}
    for (_, columns), w in zip(kernel.parts, weights):
        for j in columns:
            label = features[j].label
            found[label] = found.get(label, 0.0) + float(w) / len(columns)
    return found


@fields()
class ReadColumns:
    """Some columns of an encoded table, for a machine that makes its own kernel of them.

    It is bound and encodes as a kernel does, so that a search treats both alike. ``pruned`` says
    whether the machine finds out which columns matter, and ``effects``, if they are not None, that
    levels are read by their effects: those that were `learnt`, by the places of their columns.
    """

    def __init__(
        self,
        columns: list[int],
        features: list[Feature],
        pruned: bool = False,
        effects: dict[int, LevelEffect] | None = None,
    ):
        self.columns, self.features, self.pruned = columns, features, pruned
        self.effects = effects

    @classmethod
    def of(
        cls,
        features: Sequence[Feature],
        kinds: Collection[str],
        pruned: bool = False,
        differences: bool = False,
        effects: bool = False,
    ) -> ReadColumns:
        """The columns of these kinds; with ``differences`` those of one range too."""
        columns = [
            j
            for j, feature in enumerate(features)
            if feature.kind in kinds or (differences and feature.alike >= 0)
        ]
        return cls(columns, [features[j] for j in columns], pruned, {} if effects else None)

    def learnt(
        self, M: EncodedColumns, Y: np.ndarray, weights: Any = None
    ) -> tuple[ReadColumns, EncodedRows]:
        """The same with effects of the levels on the targets, (n, outputs), if it reads levels so,
        and the rows from which a machine is to learn: none has an effect of its own target."""
        if self.effects is None:
            return self, self.encode(M)
        given = dict(zip(self.columns, self.features))
        for i in self.effects:  # of other rows
            given[self.columns[i]] = replace(self.features[i], kind="each")
        found = learn_effects(M, [*given], [*given.values()], Y, weights)
        source = ReadColumns(found.columns, found.features, self.pruned, found.effects)
        return source, source._rows(found.numbers, M)

    @property
    def parts(self) -> list[int]:
        """What is read; nothing if the columns suit no such machine."""
        return self.columns

    @property
    def words(self) -> str:
        """Which levels are read by their effects, as the end of a sentence; nothing if none are."""
        read = list(dict.fromkeys(self.features[i].label for i in self.effects or {}))
        return f"; levels of {', '.join(read)} count by their effects on the target" if read else ""

    @property
    def settings(self) -> dict[str, Any]:
        """Those of a learnt neighbourhood that follow from the columns."""
        kinds = {feature.kind for feature in self.features}
        return {"scaling": "normal" if "normal" in kinds else "standard", "prune": self.pruned}

    def encode(self, M: EncodedColumns, like: Any = None) -> EncodedRows:
        """Rows of the columns."""
        return self._rows(self.replaced(M.numbers[:, self.columns]), M)

    def replaced(self, X: np.ndarray) -> np.ndarray:
        """These columns of a matrix with effects in place of levels."""
        X = np.array(X)
        for i, effect in (self.effects or {}).items():
            X[:, i] = effect(X[:, i])
        return X

    def in_units(self, encoder: TableEncoder, i: int, values: Any) -> list:
        """Values of one of the columns in the units of the table; effects in those of targets."""
        if self.effects and i in self.effects:
            return [float(self.effects[i].spread * value) for value in values]
        return encoder.in_units(self.features[i], values)

    def _rows(self, numbers: np.ndarray, M: EncodedColumns) -> EncodedRows:
        coded = [
            i for i, j in enumerate(self.columns)
            if j in M.objects and i not in (self.effects or {})
        ]  # fmt: skip
        objects = {i: M.objects[self.columns[i]] for i in coded}
        return EncodedRows(EncodedColumns(numbers, objects), self.features)

    def bind(self, X: Any, y: Any = None, sample_weight: Any = None) -> ReadColumns:
        return self
