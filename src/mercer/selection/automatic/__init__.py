"""The automatic estimators, KernelClassifier and KernelRegressor, and the search behind them."""

from mercer.selection.automatic.automatic import KernelClassifier, KernelRegressor
from mercer.selection.automatic.budget import Budget, Deadline
from mercer.selection.automatic.candidates import least_memory
from mercer.selection.automatic.comparisons import Comparison, as_good, compared, verdict
from mercer.selection.automatic.holdout import (
    HeldOut,
    hold_out,
    kept_words,
    score_alone,
    score_held_out,
)
from mercer.selection.automatic.kernel_machine import KernelMachine
from mercer.selection.automatic.machines import KernelRidgeMachine, Recipe
from mercer.selection.automatic.reasons import Reasons
from mercer.selection.automatic.scores import (
    METRICS,
    RARE,
    Z95,
    Metric,
    default_metric,
    interval,
    metric_named,
    wilson,
    with_classes_of,
)
from mercer.selection.automatic.tasks import LARGEST, Classification, Regression, Task, task_of

__all__ = [
    "LARGEST", "METRICS", "RARE", "Z95", "Budget", "Classification", "Comparison", "Deadline",
    "HeldOut", "KernelClassifier", "KernelMachine", "KernelRegressor", "KernelRidgeMachine",
    "Metric", "Reasons", "Recipe", "Regression", "Task", "as_good", "compared", "default_metric",
    "hold_out", "interval", "kept_words", "least_memory", "metric_named", "score_alone",
    "score_held_out", "task_of", "verdict", "wilson", "with_classes_of",
]  # fmt: skip
