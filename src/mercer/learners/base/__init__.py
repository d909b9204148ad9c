"""What all learners share: they prepare samples and kernels, and check parameters and targets.

The learners of the other rooms are made from kernel_learner.py and distance_learner.py.
"""

from mercer.learners.base.calibration import (
    Method,
    ScoreQuantiles,
    SoftmaxCalibration,
    calibrate,
    check_coverage,
    check_levels,
    fit_softmax,
)
from mercer.learners.base.centres import (
    CentreFit,
    different_rows,
    row_copies,
)
from mercer.learners.base.distance_learner import DistanceLearner, as_distance, effective_metric
from mercer.learners.base.kernel_learner import FitPath, KernelLearner, bound_gram
from mercer.learners.base.linear_learner import LinearLearner, vectors_of
from mercer.learners.base.parameters import (
    LIMITS,
    PENALTY_ROWS,
    SQUARES,
    Limits,
    check_seed,
    check_solver,
    drawn_seed,
    finite_fit,
    finite_values,
    is_auto,
    is_value,
    solver_name,
)
from mercer.learners.base.part_fit import ClassTotals, FitsInParts, PartFit, Survey
from mercer.learners.base.reasons import (
    KernelSum,
    MeansOfRows,
    Reasons,
    all_pairs,
    by_class,
    by_pair,
    largest_parts,
    votes,
)
from mercer.learners.base.training import (
    Classifier,
    OutputClassifier,
    Regressor,
    Training,
    check_labels,
    check_squares,
    check_targets,
    check_training,
    check_weights,
    encode_classes,
    encode_like_fitted,
    plain_targets,
    read_like_fitted,
    remember_columns,
    remember_table,
    require_targets,
    target_names,
    unit_of,
    weigh_classes,
)
from mercer.samples import check_count, check_flag, check_not_negative, check_positive
from mercer.streams import join_rows, take_rows

__all__ = [
    "LIMITS", "PENALTY_ROWS", "SQUARES", "CentreFit", "ClassTotals", "Classifier",
    "DistanceLearner", "FitPath", "FitsInParts", "KernelLearner", "KernelSum", "Limits",
    "LinearLearner", "MeansOfRows", "Method", "OutputClassifier", "PartFit", "Reasons", "Regressor",
    "ScoreQuantiles", "SoftmaxCalibration", "Survey", "Training", "all_pairs", "as_distance",
    "bound_gram", "by_class", "by_pair", "calibrate", "check_count", "check_coverage", "check_flag",
    "check_labels", "check_levels", "check_not_negative", "check_positive", "check_seed",
    "check_solver", "check_squares", "check_targets", "check_training", "check_weights",
    "different_rows", "drawn_seed", "effective_metric", "encode_classes", "encode_like_fitted",
    "finite_fit", "finite_values", "fit_softmax", "is_auto", "is_value", "join_rows",
    "largest_parts", "plain_targets", "read_like_fitted", "remember_columns", "remember_table",
    "require_targets", "row_copies", "solver_name", "take_rows", "target_names",
    "unit_of", "votes", "weigh_classes",
]  # fmt: skip
