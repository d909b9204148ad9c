"""Learnt neighbourhoods: the network that maps rows to z, its training, and the smoother in z."""

from mercer.solvers.neighbourhoods.network import Network, TrainingRows
from mercer.solvers.neighbourhoods.training import (
    TEMPERATURES,
    HeldOutScores,
    NeighbourhoodResult,
    NeighbourhoodSolver,
    held_out_loss,
    nearest_shares,
    smooth,
    smooth_nearest,
    vote_shares,
)

__all__ = [
    "TEMPERATURES", "HeldOutScores", "NeighbourhoodResult", "NeighbourhoodSolver", "Network",
    "TrainingRows", "held_out_loss", "nearest_shares", "smooth",
    "smooth_nearest", "vote_shares",
]  # fmt: skip
