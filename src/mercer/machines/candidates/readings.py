"""The kernels by which candidates read columns.

Columns of samples that are no numbers (texts, sequences, vectors, sets ...) have several kernels,
with k(x, x) = 1, the most promising first. Their order was measured on texts, DNA, proteins, codes
of events, names and embeddings.

The kernels of simple models are linear in a few explicit features of each column: a number becomes
cubic splines, a category indicators of its levels, a text TF-IDF of its parts, a set its items, and
a vector its direction. Each of these kernels is the inner product of its ``features``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.interpolate import BSpline

from mercer.distances import Edit, Meaning, Minkowski
from mercer.kernels import (
    RBF,
    AtomAssignment,
    AtomPairs,
    Convex,
    Descriptors,
    GappedKmer,
    GapWeighted,
    Kernel,
    Laplacian,
    Linear,
    Match,
    Morgan,
    Spectrum,
    Torsions,
    WeightedDegree,
)
from mercer.persistence import fields
from mercer.samples import Categories, EncodedColumns, Kind, Samples, SamplesLike, kind_named
from mercer.tables import (
    TREND,
    EncodedRows,
    Feature,
    LevelEffect,
    TableEncoder,
    learn_effects,
    read_as,
)


class Substrings(NamedTuple):
    """One way to read texts."""

    characters: int  # the longest substring that is compared; 0: characters are not read
    words: int  # the longest sequence of words that is compared
    rare: bool = False  # whether rare ones count more, by their inverse document frequency


#: those of texts
TEXTS = {
    "rare words and substrings": Substrings(5, 2, rare=True),
    "rare substrings": Substrings(5, 0, rare=True),
    "characters": Substrings(5, 0),
    "words": Substrings(0, 2),
    "characters and words": Substrings(5, 2),
    "short substrings": Substrings(3, 0),
    "long substrings": Substrings(8, 0),
}


#: a way to read sequences or vectors: the kernel of each view that it reads
Reading = dict[str, Callable[[], Kernel]]


def _together(*kernels: Kernel) -> Callable[[], Kernel]:
    """The mean of some kernels, each with k(x, x) = 1."""
    return lambda: Convex([kernel.normalised() for kernel in kernels])


#: those of sequences
SEQUENCES: dict[str, Reading] = {
    "weighted degree 8": {"places": lambda: WeightedDegree(8).normalised()},
    "spectrum 6": {"sequences": lambda: Spectrum(6).normalised()},
    "weighted degree 20 with shifts": {"places": lambda: WeightedDegree(20, 8).normalised()},
    "spectrum 3": {"sequences": lambda: Spectrum(3).normalised()},
    "gapped 6 of 8": {"sequences": lambda: GappedKmer(l=8, k=6).normalised()},
    # a protein binds to DNA on either strand: of NFE2's 138 test sequences .957 right, else .942
    "gapped 6 of 8, both strands": {
        "strands": lambda: GappedKmer(l=8, k=6, both_strands=True).normalised()
    },
    # of 48 splits of 80 promoters .973 right, where the best of the single ones has .962
    "all lengths": {
        "places": _together(WeightedDegree(3), WeightedDegree(8), WeightedDegree(20, 8)),
        "sequences": _together(
            Spectrum(3), Spectrum(4), Spectrum(6), GappedKmer(l=4, k=3), GappedKmer(l=8, k=6)
        ),
    },
    "edits": {"sequences": lambda: Laplacian("median", Edit()) ** 2},
    "gapped 3 of 4": {"sequences": lambda: GappedKmer(l=4, k=3).normalised()},
    "weighted degree 3": {"places": lambda: WeightedDegree(3).normalised()},
    "spectrum 4": {"sequences": lambda: Spectrum(4).normalised()},
    "gapped 6 of 10": {"sequences": lambda: GappedKmer(l=10, k=6).normalised()},
    "gapped 6 of 10, both strands": {
        "strands": lambda: GappedKmer(l=10, k=6, both_strands=True).normalised()
    },
    "pairs in order": {"sequences": lambda: GapWeighted(2, 0.9).normalised()},
}
#: those of vectors
VECTORS: dict[str, Reading] = {
    "linear of directions": {"directions": Linear},
    "gaussian of vectors": {"vectors": lambda: RBF("median")},
    "narrow gaussian of directions": {"directions": lambda: RBF("median") ** 4},
    "gaussian of directions": {"directions": lambda: RBF("median")},
    "laplacian of directions": {"directions": lambda: Laplacian("median", Minkowski(2))},
    "narrow gaussian of vectors": {"vectors": lambda: RBF("median") ** 4},
}


def _fingerprints(formula: str, descriptors: float = 0.0) -> Callable[[], Kernel]:
    """The mean of five fingerprints of molecules, and of their descriptors with this weight."""
    kernels = [Morgan(2, formula), Morgan(3, formula), Morgan(2, formula, roles=True),
               AtomPairs(formula), Torsions(formula)]  # fmt: skip
    weights = [(1 - descriptors) / 5] * 5
    if not descriptors:
        return lambda: Convex(kernels)
    return lambda: Convex([*kernels, Descriptors()], [*weights, descriptors])


def _assignment() -> Kernel:
    return AtomAssignment().normalised()


#: those of molecules, by root mean squared errors of ESOL, FreeSolv, Photoswitch and Lipophilicity
MOLECULES: dict[str, Reading] = {
    "fingerprints and descriptors": {"molecules": _fingerprints("minmax", 0.5)},
    "descriptors": {"molecules": Descriptors},
    "assignment and descriptors": {"molecules": lambda: Convex([_assignment(), Descriptors()])},
    "dot fingerprints and descriptors": {"molecules": _fingerprints("dot", 0.5)},
    "fingerprints": {"molecules": _fingerprints("minmax")},
    "dot fingerprints": {"molecules": _fingerprints("dot")},
    "assignment": {"molecules": _assignment},
    "Morgan 2": {"molecules": Morgan},
}
#: the readings of features that are not texts
BY_VIEW = {
    "molecules": MOLECULES,
    "sequences": SEQUENCES, "places": SEQUENCES, "strands": SEQUENCES, "vectors": VECTORS,
    "directions": VECTORS,
}  # fmt: skip
AND = "; "  # between the readings of columns of different kinds


def readings(features: list[Feature]) -> list[str]:
    """The ways to read the objects of a table, the first of which is the most promising.

    If there are several kinds of columns, all but one are read in the first way. A kind that can be
    read in one way only is not named beside others.
    """
    kinds = [list(names) for names in _by_kind(features).values()]
    ways = [names for names in kinds if len(names) > 1] or kinds
    first = [names[0] for names in ways]
    found = [AND.join(first)]
    for most in range(1, max(map(len, ways), default=1)):
        for i, names in enumerate(ways):
            if most < len(names):
                found.append(AND.join([*first[:i], names[most], *first[i + 1 :]]))
    return found


def kernels_of_objects(features: list[Feature], reading: str) -> list[tuple[Kernel, list]]:
    """Kernels with k(x, x) = 1 on the columns of objects, and the columns that each reads."""
    wanted, parts = reading.split(AND), []
    objects = [(j, feature) for j, feature in enumerate(features) if feature.holds_objects]
    for source in dict.fromkeys(feature.source for _, feature in objects):
        own = [(j, feature) for j, feature in objects if feature.source == source]
        names = next(iter(_by_kind([feature for _, feature in own]).values()))
        name = next((name for name in wanted if name in names), next(iter(names)))
        read = [(_kernel(feature, name), [j]) for j, feature in own]
        parts += [(kernel, columns) for kernel, columns in read if kernel is not None]
    return parts


def _by_kind(features: list[Feature]) -> dict[str, dict[str, None]]:
    """The names of the readings that each kind of column has."""
    views = dict.fromkeys(f.kind for f in features if f.holds_objects)
    found: dict[str, dict[str, None]] = {}
    for view in views:
        if view in ("characters", "words"):
            names = [name for name, way in TEXTS.items() if not way.words or "words" in views]
        elif view in BY_VIEW:
            names = [name for name, way in BY_VIEW[view].items() if set(way) & views.keys()]
        else:
            kind = next(f.samples for f in features if f.kind == view)
            more = [f"{kind.name}, {type(k).__name__}" for k in kind.make_kernels()[1:]]
            names = [kind.name, *more]
        found[names[0]] = dict.fromkeys(names)  # two views of one kind have the same names
    return found


def _kernel(feature: Feature, name: str) -> Kernel | None:
    """The kernel by which a reading reads one feature of its column; None if it does not."""
    if name in TEXTS:
        characters, words, rare = TEXTS[name]
        longest = words if feature.kind == "words" else characters
        return substrings(longest, rare) if longest else None
    if feature.kind in BY_VIEW:
        make = BY_VIEW[feature.kind][name].get(feature.kind)
        return make() if make else None
    return _of_kind(feature, name)


def _of_kind(feature: Feature, name: str) -> Kernel:
    """A kernel that the kind of the samples names as suitable, with k(x, x) = 1."""
    kind = feature.samples
    kernels = kind.make_kernels()
    if not kernels:
        raise TypeError(
            f"{feature.source}: the kind {kind.name!r} names no kernels, which a column of a table "
            "needs: set its attribute `kernels`."
        )
    _, _, wanted = name.partition(", ")
    return next((kernel for kernel in kernels if type(kernel).__name__ == wanted), kernels[0])


def substrings(longest: int, rare: bool = False) -> Kernel:
    """A kernel of shared substrings of 1 to ``longest`` symbols; all lengths have equal weight.

    In one sum of counts, as in `Spectrum` with ``shortest=1``, short substrings would have too much
    weight; but not if ``rare`` ones count more.
    """
    if rare:
        return Spectrum(longest, sublinear=True, idf=True, shortest=1).normalised()
    lengths = [Spectrum(k).normalised() for k in range(1, longest + 1)]
    return Convex(lengths).normalised()


SPARSE = 0.3  # part of the features that are not 0, up to which they are sparse
DEGREE, KNOTS = 3, 6  # of the splines; a number with no more values than knots stays as it is


class Splines(Kernel):
    """The inner product of cubic B-splines of one number, constant beyond the training rows.

    ``knots_`` are quantiles of the training rows; none of a number that stays as it is. They are no
    parameter, which reports would show: the outer ones are values of single rows. Rows have no
    weights here, as they have none where columns are scaled.
    """

    meaning = Meaning("Σₘ Bₘ(x) Bₘ(z)", "the inner product of cubic splines: a smooth curve")
    knots_: np.ndarray

    def bind(self, X: Samples, y: object = None, sample_weight: object = None) -> Splines:
        if hasattr(self, "knots_"):
            return self
        values, bound = np.asarray(X, np.float64)[:, 0], self.copied()
        bound.knots_ = np.empty(0)
        if len(np.unique(values)) > KNOTS:
            bound.knots_ = np.unique(np.percentile(values, np.linspace(0, 100, KNOTS)))
        return bound

    def features(self, X: Samples) -> np.ndarray:
        """All splines but the last one, which the others tell, (n, splines)."""
        values = np.asarray(X, np.float64)
        if not len(self.knots_):
            return values
        inner = self.knots_
        first, last = inner[1] - inner[0], inner[-1] - inner[-2]
        steps = np.arange(1, DEGREE + 1)
        t = np.concatenate([inner[0] - first * steps[::-1], inner, inner[-1] + last * steps])
        within = np.clip(values[:, 0], inner[0], inner[-1])
        return BSpline.design_matrix(within, t, DEGREE).toarray()[:, :-1]

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        return (self.features(X) @ self.features(Z).T).astype(X.dtype, copy=False)


class Levels(Match):
    """`Match` of one column, with sparse features."""

    def features(self, X: Categories) -> sp.csr_array:  # type: ignore[override]
        """Indicators of the levels in the training rows, (n, levels)."""
        codes, known = X.codes[:, 0], X.known[0]
        rows = np.flatnonzero((codes >= 0) & (codes < known))
        ones = np.ones(len(rows), X.dtype)
        return sp.csr_array((ones, (rows, codes[rows])), shape=(len(codes), known))


class CountCosine(Kernel):
    """The cosine of the counts of parts of samples, such as the items of sets.

    ``kind`` is the name of the kind of the samples. How it counts stands in ``counter_``.
    """

    meaning = Meaning("#(x) · #(z) / |#(x)| |#(z)|", "the share of parts in common")
    counter_: Any

    def __init__(self, kind: str = "sets"):
        self.kind = kind

    def bind(self, X: Samples, y: object = None, sample_weight: object = None) -> CountCosine:
        if hasattr(self, "counter_"):
            return self
        bound = self.copied()
        bound.counter_ = kind_named(self.kind).counter(X)
        return bound

    def features(self, X: Samples) -> sp.csr_array:
        """Counts, each row of length 1; sparse, (n, parts)."""
        F = sp.csr_array(self.counter_.features(X)).astype(np.float64)
        norms = np.sqrt(F.multiply(F).sum(axis=1))
        scale = np.divide(1, norms, out=np.zeros(len(norms)), where=norms > 0)
        return sp.csr_array(F.multiply(scale[:, None]))

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        return (self.features(X) @ self.features(Z).T).toarray().astype(X.dtype, copy=False)


def spline_parts(features: list[Feature]) -> list[tuple[Kernel, list]]:
    """Kernels with explicit features on all columns that have such kernels."""
    parts: list[tuple[Kernel, list]] = [(Splines(), [j]) for j in read_as(features, "scaled")]
    parts += [(Levels(), [j]) for j in read_as(features, "code")]
    # of texts the words, and the characters of those without words
    spoken = {features[j].source for j in read_as(features, "words")}
    for j, feature in enumerate(features):
        if feature.kind == "words":
            parts.append((_words_of(1), [j]))
        elif feature.kind in ("characters", "sequences"):
            parts += [] if feature.source in spoken else [(_words_of(3), [j])]
        elif feature.kind in ("places", "strands"):  # other views of sequences
            continue
        elif feature.holds_objects and _is_counted(feature.samples):
            parts.append((CountCosine(feature.samples.name), [j]))
    return parts + [(Linear(), [j]) for j in read_as(features, "directions", TREND)]


def column_parts(features: list[Feature]) -> list[tuple[Kernel, list]]:
    """The numbers as they are, and indicators of the levels of categories."""
    numbers = read_as(features, "scaled")
    parts: list[tuple[Kernel, list]] = [(Linear(), numbers)] if numbers else []
    return parts + [(Levels(), [j]) for j in read_as(features, "code")]


def _words_of(length: int) -> Kernel:
    """The cosine of TF-IDF: of so many symbols, counts in logarithms, and rare ones weigh more."""
    return Spectrum(length, sublinear=True, idf=True).normalised()


def explicit_features(kernel: Kernel, X: SamplesLike) -> Any:
    """The features of a kernel, (n, p) in float64; sparse if most are 0."""
    F: Any = kernel.features(X)
    if not sp.issparse(F):
        return np.asarray(F, np.float64)
    F = sp.csr_array(F, dtype=np.float64)
    return F.toarray() if F.nnz > SPARSE * F.shape[0] * F.shape[1] else F


def _is_counted(kind: Kind) -> bool:
    """Whether samples of a kind have parts that can be counted."""
    return type(kind).counter is not Kind.counter


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
        self, M: EncodedColumns, Y: np.ndarray, weights: np.ndarray | None = None
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

    def encode(self, M: EncodedColumns, like: SamplesLike | None = None) -> EncodedRows:
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
        """Numbers, and the objects of the columns that are no numbers."""
        coded = [
            i for i, j in enumerate(self.columns)
            if j in M.objects and i not in (self.effects or {})
        ]  # fmt: skip
        objects = {i: M.objects[self.columns[i]] for i in coded}
        return EncodedRows(EncodedColumns(numbers, objects), self.features)

    def bind(self, X: Samples, y: object = None, sample_weight: object = None) -> ReadColumns:
        return self
