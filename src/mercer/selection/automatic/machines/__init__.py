"""What a search fits: machines for classes or numbers, their means, and simple baselines."""

from mercer.selection.automatic.machines.baselines import baseline_names, fit_baseline
from mercer.selection.automatic.machines.machines import KernelRidgeMachine, Machine
from mercer.selection.automatic.machines.means import HeldPredictions, MeanMachine, mean_name
from mercer.selection.automatic.machines.recipes import (
    FOLDS,
    JUDGED_ROWS,
    SMALL,
    Recipe,
    compressed,
    costs_tried,
)

__all__ = [
    "FOLDS", "JUDGED_ROWS", "SMALL", "HeldPredictions", "KernelRidgeMachine", "Machine",
    "MeanMachine", "Recipe", "baseline_names", "compressed", "costs_tried", "fit_baseline",
    "mean_name",
]  # fmt: skip
