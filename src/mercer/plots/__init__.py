"""Display classes, which draw computed arrays with matplotlib, and the report."""

from mercer.plots.gram_map import GramDisplay
from mercer.plots.relevance import RelevanceDisplay
from mercer.plots.spectrum import SpectrumDisplay

__all__ = ["GramDisplay", "RelevanceDisplay", "SpectrumDisplay"]
