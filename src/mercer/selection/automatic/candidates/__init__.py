"""What a search tries: kernels of the columns, with or without learnt weights, in a machine."""

from mercer.selection.automatic.candidates.candidate import MACHINES, Candidate, candidates
from mercer.selection.automatic.candidates.learning import (
    FIRST_RUNG_SHARE,
    LEARNING_ROWS,
    LEARNING_STEPS,
    SPARED_ROWS,
    LearntKernels,
    learn_kernel,
    learning_rows,
    least_memory,
)
from mercer.selection.automatic.candidates.relevance import column_weights

__all__ = [
    "FIRST_RUNG_SHARE",
    "LEARNING_ROWS",
    "LEARNING_STEPS",
    "MACHINES",
    "SPARED_ROWS",
    "Candidate",
    "LearntKernels",
    "candidates",
    "column_weights",
    "learn_kernel",
    "learning_rows",
    "least_memory",
]
