"""Display classes, which draw computed arrays with matplotlib, and the report."""

from mercer.plots.displays import (
    AttentionDisplay,
    CanonicalCorrelationDisplay,
    ClusterDisplay,
    ConvergenceDisplay,
    DecisionSurfaceDisplay,
    EmbeddingDisplay,
    GramDisplay,
    GraphDisplay,
    HashingDisplay,
    InfluenceDisplay,
    KernelWeightsDisplay,
    LayerDisplay,
    LeaveOneOutDisplay,
    LevelSetDisplay,
    MarginDisplay,
    MistakeDisplay,
    NeighbourhoodDisplay,
    NoiseFeatureDisplay,
    PartialDependenceDisplay,
    RankErrorDisplay,
    RecallTimeDisplay,
    RelevanceDisplay,
    RelianceDisplay,
    ShapeDisplay,
    SpectrogramDisplay,
    SpectrumDisplay,
    StretchDisplay,
    half_axes,
)
from mercer.plots.report import save_report

__all__ = [
    "AttentionDisplay", "CanonicalCorrelationDisplay", "ClusterDisplay", "ConvergenceDisplay",
    "DecisionSurfaceDisplay", "EmbeddingDisplay", "GramDisplay", "GraphDisplay", "HashingDisplay",
    "InfluenceDisplay", "KernelWeightsDisplay", "LayerDisplay", "LeaveOneOutDisplay",
    "LevelSetDisplay", "MarginDisplay", "MistakeDisplay", "NeighbourhoodDisplay",
    "NoiseFeatureDisplay",
    "PartialDependenceDisplay", "RankErrorDisplay", "RecallTimeDisplay", "RelevanceDisplay",
    "RelianceDisplay", "ShapeDisplay", "SpectrogramDisplay", "SpectrumDisplay", "StretchDisplay",
    "half_axes", "save_report",
]  # fmt: skip
