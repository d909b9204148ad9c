"""Why a prediction is what it is: Shapley values of columns, exact for kernel machines."""

from mercer.explain.values import (
    ShapleyInteractions,
    ShapleyValues,
    shapley_interactions,
    shapley_values,
)

__all__ = [
    "ShapleyInteractions", "ShapleyValues", "shapley_interactions", "shapley_values",
]  # fmt: skip

# what other rooms use, and no user needs
from mercer.explain.background import Background, kept_rows
from mercer.explain.exact import FactorMatrices
from mercer.explain.game import Explainable, Explained, explained_model, separated_sum
from mercer.explain.values import is_quick
