"""A kernel on vectors."""

import numpy as np

from mercer.distances import dense_rows
from mercer.kernels import Kernel


class ExponentialDot(Kernel):
    """k(x, z) = exp(gamma <x, z>), for a finite gamma > 0."""

    def __init__(self, gamma=1.0):
        self.gamma = gamma

    def validate(self):
        if not 0 < self.gamma < np.inf:
            raise ValueError(f"gamma={self.gamma!r}: give a finite number > 0.")

    def block(self, X, Z):
        products = dense_rows(X @ Z.T)
        return np.exp(float(self.gamma) * products)  # float() leaves float32 as it is
