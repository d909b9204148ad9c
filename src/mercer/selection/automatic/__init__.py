"""The automatic estimators, KernelClassifier and KernelRegressor, and the search behind them."""

from mercer.machines import (
    LARGEST,
    METRICS,
    RARE,
    Z95,
    Candidate,
    Classification,
    Comparison,
    Coverage,
    HeldOut,
    KernelRidgeMachine,
    Machine,
    MachineKind,
    Metric,
    Recipe,
    Regression,
    Task,
    as_good,
    compared,
    default_metric,
    hold_out,
    interval,
    kept_words,
    known_order,
    least_memory,
    levels_in_order,
    measure_coverage,
    metric_named,
    ranks_of,
    register_machine,
    score_alone,
    score_held_out,
    task_of,
    verdict,
    wilson,
    with_classes_of,
)
from mercer.selection.automatic.classifier import KernelClassifier
from mercer.selection.automatic.kernel_machine import KernelMachine
from mercer.selection.automatic.regressor import KernelRegressor
from mercer.selection.automatic.shown import Reasons

__all__ = [
    "LARGEST", "METRICS", "RARE", "Z95", "Candidate", "Classification", "Comparison", "Coverage",
    "HeldOut", "KernelClassifier", "KernelMachine", "KernelRegressor", "KernelRidgeMachine",
    "Machine", "MachineKind", "Metric", "Reasons", "Recipe", "Regression", "Task", "as_good",
    "compared", "default_metric", "hold_out", "interval", "kept_words", "known_order",
    "least_memory", "levels_in_order", "measure_coverage", "metric_named", "ranks_of",
    "register_machine", "score_alone", "score_held_out", "task_of", "verdict", "wilson",
    "with_classes_of",
]  # fmt: skip
