"""Learnt neighbourhoods: the network that maps rows to z, its training, and the smoother in z."""

from mercer.solvers.neighbourhoods.network import Network
from mercer.solvers.neighbourhoods.rows import TrainingRows
from mercer.solvers.neighbourhoods.smoother import (
    TEMPERATURES,
    held_out_loss,
    nearest_shares,
    smooth,
    smooth_nearest,
    vote_shares,
)
from mercer.solvers.neighbourhoods.training import (
    Checkpoint,
    NeighbourhoodResult,
    NeighbourhoodSolver,
)

__all__ = [
    "TEMPERATURES", "Checkpoint", "NeighbourhoodResult", "NeighbourhoodSolver", "Network",
    "TrainingRows", "held_out_loss", "nearest_shares", "smooth",
    "smooth_nearest", "vote_shares",
]  # fmt: skip
