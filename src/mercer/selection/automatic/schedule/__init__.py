"""Which rows and how much of the time each trial and the final fit of a search get."""

from mercer.selection.automatic.schedule.costs import Costs
from mercer.selection.automatic.schedule.finals import HOPE, TRIED_LEAF, Finals
from mercer.selection.automatic.schedule.rungs import SPARED, Rungs, gathered

__all__ = ["HOPE", "SPARED", "TRIED_LEAF", "Costs", "Finals", "Rungs", "gathered"]
