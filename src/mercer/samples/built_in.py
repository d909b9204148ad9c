"""The kinds of samples of this library, which are known from the start."""

from __future__ import annotations

from mercer.samples.bags import BagsKind
from mercer.samples.categories import CategoriesKind
from mercer.samples.graph_kind import GraphsKind
from mercer.samples.kinds import register_kind
from mercer.samples.matrix_rows import PrecomputedKind
from mercer.samples.objects import ObjectsKind
from mercer.samples.series import SeriesKind
from mercer.samples.sets import SetsKind
from mercer.samples.strings import StringsKind
from mercer.samples.table import TableKind
from mercer.samples.trees import TreesKind
from mercer.samples.vectors import VectorsKind

for _kind in (
    VectorsKind(), CategoriesKind(), TableKind(), StringsKind(), SetsKind(), SeriesKind(),
    BagsKind(), GraphsKind(), TreesKind(), ObjectsKind(), PrecomputedKind(),
):  # fmt: skip
    register_kind(_kind)
