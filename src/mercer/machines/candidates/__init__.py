"""What a search tries: kernels of the columns, with or without learnt weights, in a machine."""

from mercer.machines.candidates.candidate import (
    CODES,
    EFFECTS,
    Candidate,
    Planned,
    Tried,
    column_weights,
    final_entry,
    planned_fits,
)
from mercer.machines.candidates.kinds import (
    MachineKind,
    Recipe,
    RungFits,
    machine_kind,
    machine_kinds,
    register_machine,
)
from mercer.machines.candidates.learning import (
    LearntKernel,
    learning_rows,
    least_memory,
)
from mercer.machines.candidates.order import candidates, simple_candidates
from mercer.machines.candidates.readings import Levels, ReadColumns, Splines, explicit_features

__all__ = [
    "CODES", "EFFECTS", "Candidate", "LearntKernel", "Levels", "MachineKind", "Planned",
    "ReadColumns", "Recipe", "RungFits", "Splines", "Tried", "candidates", "column_weights",
    "explicit_features", "final_entry", "learning_rows", "least_memory", "machine_kind",
    "machine_kinds", "planned_fits", "register_machine", "simple_candidates",
]  # fmt: skip
