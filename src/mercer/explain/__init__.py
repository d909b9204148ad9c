"""Why a prediction is what it is: Shapley values of columns, and letters of sequences."""

from mercer.explain.sequences import LetterValues, VariantScores, letters, variants
from mercer.explain.values import (
    ShapleyInteractions,
    ShapleyValues,
    shapley_interactions,
    shapley_values,
)

__all__ = [
    "LetterValues", "ShapleyInteractions", "ShapleyValues", "VariantScores", "letters",
    "shapley_interactions", "shapley_values", "variants",
]  # fmt: skip

# what other rooms use, and no user needs
from mercer.explain.game import (
    Background,
    Explainable,
    Explained,
    explained_model,
    kept_rows,
    separated_sum,
)
from mercer.explain.given_sequences import same_letters
from mercer.explain.shapley import FactorMatrices
from mercer.explain.values import is_quick
