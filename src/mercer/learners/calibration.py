"""Class probabilities from the outputs of a machine, one output a class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

__all__ = ["Calibration", "calibrate"]


@dataclass(frozen=True)
class Calibration:
    """P(class c | f) ∝ exp(slope · f_c + bias_c): temperature scaling with class biases.

    References
    ----------
    Guo et al., "On calibration of modern neural networks", ICML 2017.
    """

    slope: float
    bias: np.ndarray

    def __call__(self, outputs: np.ndarray) -> np.ndarray:
        """Probabilities (n, classes) for outputs (n, classes)."""
        return softmax(self.slope * outputs + self.bias, axis=1)


def calibrate(outputs: np.ndarray, codes: np.ndarray, with_bias: bool = True) -> Calibration:
    """Fit slope and biases by maximum likelihood on out-of-sample outputs.

    Parameters
    ----------
    outputs : ndarray of shape (n, classes)
        Of machines that did not see the row.
    codes : ndarray of shape (n,), int
        The class of each row. A weak prior (one row of each class, undecided) keeps the slope
        finite on separable data.
    with_bias : bool, default=True
        Without, the largest probability is that of the largest output.
    """
    n, classes = outputs.shape
    one_hot = np.eye(classes)[codes]
    outputs = np.vstack([outputs, np.zeros((classes, classes))])
    targets = np.vstack([one_hot, np.full((classes, classes), 1 / classes)])
    # the prior's rows carry an output of typical size, so that they hold the slope too
    outputs[n:] = np.eye(classes) * np.abs(outputs[:n]).mean()

    def loss(theta):
        scores = theta[0] * outputs + theta[1:]
        logs = log_softmax(scores, axis=1)
        error = (np.exp(logs) - targets) / n
        slope = np.append(np.sum(error * outputs), error.sum(axis=0))
        return -np.sum(targets * logs) / n, slope

    start = np.append(1.0, np.zeros(classes))
    bias = (None, None) if with_bias else (0.0, 0.0)
    bounds = [(1e-3, None)] + [bias] * classes  # a positive slope keeps the outputs' order
    theta = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return Calibration(float(theta[0]), theta[1:])
