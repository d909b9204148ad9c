"""What a search fits: machines for classes or numbers, their means, and simple baselines."""

from mercer.selection.automatic.machines.machines import KernelRidgeMachine, Machine
from mercer.selection.automatic.machines.means import (
    HeldPredictions,
    MeanMachine,
    Weighed,
    mean_name,
)
from mercer.selection.automatic.machines.recipes import (
    FOLDS,
    HELD_ROWS,
    JUDGED_ROWS,
    RANKS,
    SMALL,
    TRIED_LEAF,
    compressed,
    costs_tried,
)

__all__ = [
    "FOLDS", "HELD_ROWS", "JUDGED_ROWS", "RANKS", "SMALL", "TRIED_LEAF", "HeldPredictions",
    "KernelRidgeMachine", "Machine", "MeanMachine", "Weighed", "compressed",
    "costs_tried", "mean_name",
]  # fmt: skip
