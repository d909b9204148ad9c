"""Draw how a multilayer kernel machine has chosen the width of each layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from mercer.plots.classes import colour
from mercer.plots.displays.display import Display

DASHES = ("-", "--", ":", "-.")


class LayerDisplay(Display):
    """The share of errors on rows held back over the width of a layer, for each layer.

    Parameters
    ----------
    errors : list of dict
        One dict for each layer, ranking -> (width -> share of errors); empty if nothing was chosen.
    chosen : list of (str, int)
        The ranking and the width of each layer.

    Attributes
    ----------
    ax_, figure_
    lines_ : list of matplotlib lines, one for each layer and ranking
    chosen_ : list of matplotlib lines, the marks of what was chosen

    Examples
    --------
    >>> errors = [{"variance": {1: 0.5, 2: 0.25, 4: 0.375}}, {"variance": {1: 0.5, 2: 0.125}}]
    >>> display = LayerDisplay(errors, [("variance", 2), ("variance", 2)])
    >>> [display.errors[layer]["variance"][2] for layer in (0, 1)]
    [0.25, 0.125]
    """

    def __init__(
        self, errors: Sequence[dict[str, dict[int, float]]], chosen: Sequence[tuple[str, int]]
    ):
        self.errors = list(errors)
        self.chosen = list(chosen)
        if len(self.errors) != len(self.chosen):
            raise ValueError(
                f"errors has {len(self.errors)} layers, and chosen {len(self.chosen)}: give both "
                "for each layer."
            )

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> LayerDisplay:
        """Draw the errors of a fitted `mercer.deep.MultilayerKernelMachine`.

        Raises
        ------
        ValueError
            It chose no width.
        """
        check_is_fitted(estimator)
        errors = [layer.validation_errors for layer in estimator.layers_]
        if not any(errors):
            raise ValueError(
                "The machine chose no width, so that there are no errors to draw: give it "
                'width="auto", and 10 rows or more.'
            )
        return cls(errors, [(layer.ranking, layer.width) for layer in estimator.layers_]).plot(ax)

    def plot(self, ax: Any = None) -> LayerDisplay:
        """Draw a curve for each layer and ranking; what was chosen is marked."""
        ax = self._draw_on(ax, figsize=(6.4, 4), layout="constrained")
        self.lines_, self.chosen_ = [], []
        rankings = list(dict.fromkeys(name for by in self.errors for name in by))
        for layer, (by, (ranking, width)) in enumerate(zip(self.errors, self.chosen)):
            for name, found in by.items():
                dashes = DASHES[rankings.index(name) % len(DASHES)]
                label = f"layer {layer + 1}, by {name.replace('_', ' ')}"
                self.lines_ += ax.plot(
                    list(found), list(found.values()), color=colour(layer), ls=dashes, label=label
                )
            if not by:
                continue
            self.chosen_ += ax.plot(
                [width], [by[ranking][width]], color=colour(layer), marker="o", ms=8, mfc="none",
                mew=1.8, ls="",
            )  # fmt: skip
        ax.set(xlabel="width of the layer", ylabel="errors on rows held back", xscale="log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        ax.legend(frameon=False, fontsize="small")
        return self
