"""Which rows and how much of the time each trial and the final fit of a search get."""

from mercer.selection.automatic.schedule.costs import Costs
from mercer.selection.automatic.schedule.finals import (
    EXACT_ROWS,
    FEWEST_ROWS,
    SMALLEST_RANK,
    TRIED_LEAF,
    Finals,
)
from mercer.selection.automatic.schedule.forecast import HELD_ROWS, Forecast
from mercer.selection.automatic.schedule.rungs import (
    ONE_RUNG_ROWS,
    SMALL_ROWS,
    SPARED,
    Rung,
    Rungs,
    gathered,
)

__all__ = [
    "EXACT_ROWS",
    "FEWEST_ROWS",
    "HELD_ROWS",
    "ONE_RUNG_ROWS",
    "SMALLEST_RANK",
    "SMALL_ROWS",
    "SPARED",
    "TRIED_LEAF",
    "Costs",
    "Finals",
    "Forecast",
    "Rung",
    "Rungs",
    "gathered",
]
