"""Display classes, which draw computed arrays with matplotlib; one file each."""

from mercer.plots.displays.attention_map import AttentionDisplay
from mercer.plots.displays.convergence import ConvergenceDisplay
from mercer.plots.displays.correlations import CanonicalCorrelationDisplay
from mercer.plots.displays.decision_surface import DecisionSurfaceDisplay
from mercer.plots.displays.embedding import EmbeddingDisplay
from mercer.plots.displays.gram_map import ClusterDisplay, GramDisplay
from mercer.plots.displays.graph import GraphDisplay
from mercer.plots.displays.hashing import HashingDisplay, RecallTimeDisplay
from mercer.plots.displays.influence import InfluenceDisplay
from mercer.plots.displays.kernel_weights import KernelWeightsDisplay
from mercer.plots.displays.layers import LayerDisplay
from mercer.plots.displays.left_out import LeaveOneOutDisplay
from mercer.plots.displays.level_sets import LevelSetDisplay, half_axes
from mercer.plots.displays.margin import MarginDisplay
from mercer.plots.displays.mistakes import MistakeDisplay
from mercer.plots.displays.neighbourhoods import Neighbourhood, NeighbourhoodDisplay
from mercer.plots.displays.noise import NoiseFeatureDisplay
from mercer.plots.displays.partial_dependence import Dependence, PartialDependenceDisplay, direction
from mercer.plots.displays.rank_error import RankErrorDisplay
from mercer.plots.displays.relevance import RelevanceDisplay
from mercer.plots.displays.reliance import ActingPair, RelianceDisplay
from mercer.plots.displays.shapes import ShapeDisplay
from mercer.plots.displays.spectrogram import SpectrogramDisplay
from mercer.plots.displays.spectrum import SpectrumDisplay
from mercer.plots.displays.stretches import StretchDisplay

__all__ = [
    "ActingPair", "AttentionDisplay", "CanonicalCorrelationDisplay", "ClusterDisplay",
    "ConvergenceDisplay", "DecisionSurfaceDisplay", "Dependence", "EmbeddingDisplay", "GramDisplay",
    "GraphDisplay", "HashingDisplay", "InfluenceDisplay", "KernelWeightsDisplay", "LayerDisplay",
    "LeaveOneOutDisplay", "LevelSetDisplay", "MarginDisplay", "MistakeDisplay", "Neighbourhood",
    "NeighbourhoodDisplay", "NoiseFeatureDisplay", "PartialDependenceDisplay", "RankErrorDisplay",
    "RecallTimeDisplay", "RelevanceDisplay", "RelianceDisplay", "ShapeDisplay",
    "SpectrogramDisplay", "SpectrumDisplay", "StretchDisplay", "half_axes",
]  # fmt: skip
