"""What all displays have in common: the axes that they draw on."""

from __future__ import annotations

from typing import Any


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
