"""Display classes, which draw computed arrays with matplotlib, each imported on first use."""

from importlib import import_module
from typing import Any

_NAMES = {
    "bars": "CanonicalCorrelationDisplay KernelWeightsDisplay NoiseFeatureDisplay ShapleyDisplay",
    "curves": "ConvergenceDisplay LayerDisplay LeaveOneOutDisplay MistakeDisplay",
    "decision_surface": "DecisionSurfaceDisplay",
    "graphs": "GraphDisplay Neighbourhood NeighbourhoodDisplay",
    "hashing": "HashingDisplay RecallTimeDisplay",
    "influence": "InfluenceDisplay",
    "level_sets": "LevelSetDisplay half_axes",
    "map": "MapDisplay middle_rows",
    "margin": "MarginDisplay",
    "matrices": "AttentionDisplay ClusterDisplay GramDisplay SpectrogramDisplay",
    "partial_dependence": "Dependence PartialDependenceDisplay direction",
    "relevance": "RelevanceDisplay",
    "reliance": "RelianceDisplay",
    "sequences": "SequenceDisplay StretchDisplay",
    "shapes": "ShapeDisplay",
    "spectral": "EmbeddingDisplay RankErrorDisplay SpectrumDisplay",
}
_HOME = {name: file for file, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value
