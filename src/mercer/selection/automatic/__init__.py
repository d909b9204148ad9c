"""The automatic estimators, KernelClassifier and KernelRegressor, and the search behind them."""

from mercer.machines import (
    LARGEST,
    METRICS,
    RARE,
    Candidate,
    Classification,
    HeldOut,
    Machine,
    MachineKind,
    Recipe,
    default_metric,
    hold_out,
    known_order,
    least_memory,
    levels_in_order,
    metric_named,
    ranks_of,
    register_machine,
    score_alone,
    score_held_out,
    task_of,
)
from mercer.selection.automatic.classifier import KernelClassifier
from mercer.selection.automatic.kernel_machine import KernelMachine
from mercer.selection.automatic.regressor import KernelRegressor
from mercer.selection.automatic.shown import Reasons

__all__ = [
    "LARGEST", "METRICS", "RARE", "Candidate", "Classification", "HeldOut", "KernelClassifier",
    "KernelMachine", "KernelRegressor", "Machine", "MachineKind", "Reasons", "Recipe",
    "default_metric", "hold_out", "known_order", "least_memory", "levels_in_order", "metric_named",
    "ranks_of", "register_machine", "score_alone", "score_held_out", "task_of",
]  # fmt: skip
