"""How much each column counts in a kernel whose weights were learnt."""

from __future__ import annotations

import numpy as np

from mercer.kernels import TableKernel
from mercer.selection.automatic.candidates.candidate import Candidate
from mercer.tables import Feature


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
