"""What a machine that reads the columns themselves is given in place of a kernel."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from mercer.persistence import fields
from mercer.samples import EncodedColumns
from mercer.tables import EncodedRows, Feature


@fields()
class ReadColumns:
    """Some columns of an encoded table, for a machine that makes its own kernel of them.

    It is bound and encodes as a kernel does, so that a search treats both alike. ``pruned`` says
    whether the machine finds out which columns matter.
    """

    def __init__(self, columns: list[int], features: list[Feature], pruned: bool = False):
        self.columns, self.features, self.pruned = columns, features, pruned

    @classmethod
    def of(
        cls,
        features: Sequence[Feature],
        kinds: Collection[str],
        pruned: bool = False,
        differences: bool = False,
    ) -> ReadColumns:
        """The columns of these kinds; with ``differences`` those of one range too."""
        columns = [
            j
            for j, feature in enumerate(features)
            if feature.kind in kinds or (differences and feature.alike >= 0)
        ]
        return cls(columns, [features[j] for j in columns], pruned)

    @property
    def parts(self) -> list[int]:
        """What is read; nothing if the columns suit no such machine."""
        return self.columns

    @property
    def settings(self) -> dict[str, Any]:
        """Those of a learnt neighbourhood that follow from the columns."""
        kinds = {feature.kind for feature in self.features}
        return {"scaling": "normal" if "normal" in kinds else "standard", "prune": self.pruned}

    def encode(self, M: EncodedColumns, like: Any = None) -> EncodedRows:
        """Rows of the columns."""
        objects = {i: M.objects[j] for i, j in enumerate(self.columns) if j in M.objects}
        return EncodedRows(EncodedColumns(M.numbers[:, self.columns], objects), self.features)

    def bind(self, X: Any, y: Any = None, sample_weight: Any = None) -> ReadColumns:
        return self
