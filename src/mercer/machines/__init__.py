"""What a search tries and fits, and how it is scored: tasks, metrics, candidates and machines.

The search of the automatic estimators and the displays, which fit machines too, both stand on it.
"""

from mercer.machines.candidates import (
    Candidate,
    MachineKind,
    Recipe,
    least_memory,
    register_machine,
)
from mercer.machines.columns import AdditiveMachine, LearntNeighbourhood
from mercer.machines.holdout import (
    Coverage,
    HeldOut,
    ModelComparison,
    as_good,
    compared,
    hold_out,
    kept_words,
    measure_coverage,
    score_alone,
    score_held_out,
    verdict,
)
from mercer.machines.linear import LinearMachine
from mercer.machines.machines import (
    KernelRidgeMachine,
    Machine,
    MarginMachine,
    OneOutput,
    WindowMachine,
    times,
)
from mercer.machines.means import HeldPredictions, MeanMachine, Weighed, mean_name
from mercer.machines.recipes import (
    FOLDS,
    HELD_ROWS,
    JUDGED_ROWS,
    RANKS,
    SMALL,
    TRIED_LEAF,
    compressed,
    costs_tried,
)
from mercer.machines.scores import (
    METRICS,
    Z95,
    Metric,
    decision_weights,
    drawn_rows,
    interval,
    metric_named,
    wilson,
    with_classes_of,
)
from mercer.machines.settings import (
    REFERENCE,
    Rung,
    SearchSettings,
    Sizes,
    Speed,
    least_seconds,
)
from mercer.machines.tasks import (
    Classification,
    JointScale,
    Regression,
    TargetScale,
    Task,
)

__all__ = [
    "FOLDS", "HELD_ROWS", "JUDGED_ROWS", "METRICS", "RANKS", "REFERENCE", "SMALL", "TRIED_LEAF",
    "Z95", "AdditiveMachine", "Candidate", "Classification", "Coverage", "HeldOut",
    "HeldPredictions", "JointScale", "KernelRidgeMachine", "LearntNeighbourhood", "LinearMachine",
    "Machine", "MachineKind", "MarginMachine", "MeanMachine", "Metric", "ModelComparison",
    "OneOutput", "Recipe", "Regression", "Rung", "SearchSettings", "Sizes", "Speed", "TargetScale",
    "Task", "Weighed", "WindowMachine", "as_good", "compared", "compressed", "costs_tried",
    "decision_weights", "drawn_rows", "hold_out", "interval", "kept_words", "least_memory",
    "least_seconds", "mean_name", "measure_coverage", "metric_named", "register_machine",
    "score_alone", "score_held_out", "times", "verdict", "wilson", "with_classes_of",
]  # fmt: skip
