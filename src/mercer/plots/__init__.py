"""Display classes, which draw computed arrays with matplotlib, and the report."""

from mercer.plots.cluster_map import ClusterDisplay
from mercer.plots.correlations import CanonicalCorrelationDisplay
from mercer.plots.decision_surface import DecisionSurfaceDisplay
from mercer.plots.embedding import EmbeddingDisplay
from mercer.plots.gram_map import GramDisplay
from mercer.plots.hashing import HashingDisplay, RecallTimeDisplay
from mercer.plots.influence import InfluenceDisplay
from mercer.plots.kernel_weights import KernelWeightsDisplay
from mercer.plots.layers import LayerDisplay
from mercer.plots.left_out import LeaveOneOutDisplay
from mercer.plots.level_sets import LevelSetDisplay, half_axes
from mercer.plots.margin import MarginDisplay
from mercer.plots.mistakes import MistakeDisplay
from mercer.plots.noise import NoiseFeatureDisplay
from mercer.plots.partial_dependence import PartialDependenceDisplay
from mercer.plots.relevance import RelevanceDisplay
from mercer.plots.report import save_report
from mercer.plots.spectrum import SpectrumDisplay

__all__ = [
    "CanonicalCorrelationDisplay",
    "ClusterDisplay",
    "DecisionSurfaceDisplay",
    "EmbeddingDisplay",
    "GramDisplay",
    "HashingDisplay",
    "InfluenceDisplay",
    "KernelWeightsDisplay",
    "LayerDisplay",
    "LeaveOneOutDisplay",
    "LevelSetDisplay",
    "MarginDisplay",
    "MistakeDisplay",
    "NoiseFeatureDisplay",
    "PartialDependenceDisplay",
    "RecallTimeDisplay",
    "RelevanceDisplay",
    "SpectrumDisplay",
    "half_axes",
    "save_report",
]
