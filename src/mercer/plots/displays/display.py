"""What all displays have in common: the axes that they draw on."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.samples import float_array

FARTHEST = 1e150  # squares of larger numbers are no floats


def drawable(name: str, values: Any, *dimensions: int, missing: bool = False) -> np.ndarray:
    """``values`` as float64 of one of these dimensions, at least one, all of them finite.

    ``missing`` says that NaN may stand for what is not known.
    """
    found = float_array(name, values)
    if found.ndim not in dimensions or not found.size:
        shapes = " or ".join({1: "(n,)", 2: "(n, m)"}[k] for k in dimensions)
        raise ValueError(f"{name} has the shape {found.shape}: give numbers of shape {shapes}.")
    bad = ~(np.abs(found) <= FARTHEST) & ~(missing & np.isnan(found))
    if bad.any():
        raise ValueError(f"{name} holds {found[bad][0]:g}: give finite numbers up to {FARTHEST:g}.")
    return found


def square(name: str, K: Any) -> np.ndarray:
    """A square matrix that is `drawable`."""
    found = drawable(name, K, 2)
    if found.shape[0] != found.shape[1]:
        raise ValueError(f"{name} has the shape {found.shape}: give a square matrix.")
    return found


class Display:
    """Abstract: computed arrays that ``plot`` draws."""

    ax_: Any
    figure_: Any

    def _draw_on(self, ax: Any, **options: Any) -> Any:
        """Keep the axes and their figure; None makes new ones by ``plt.subplots(**options)``."""
        import matplotlib.pyplot as plt

        self.ax_ = plt.subplots(**options)[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_
