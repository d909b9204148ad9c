"""Machines that learn a space in which neighbours predict, and explain themselves by rows."""

from mercer.learners.neighbourhoods.neighbourhood_regressor import (
    NeighbourhoodMachineClassifier,
    NeighbourhoodMachineRegressor,
)
from mercer.learners.neighbourhoods.trials import NetworkMember

__all__ = ["NeighbourhoodMachineClassifier", "NeighbourhoodMachineRegressor", "NetworkMember"]
