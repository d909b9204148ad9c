"""The automatic estimators, KernelClassifier and KernelRegressor, and the search behind them."""

from mercer.selection.automatic.estimators import KernelClassifier, KernelRegressor
from mercer.selection.automatic.kernel_machine import KernelMachine
from mercer.selection.automatic.shown import Reasons

__all__ = ["KernelClassifier", "KernelMachine", "KernelRegressor", "Reasons"]
