"""The perceptron in the primal and with any kernel, and the bound on its mistakes."""

from mercer.learners.perceptrons.margin_report import Proof

__all__ = ["Proof"]
