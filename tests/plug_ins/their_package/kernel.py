"""A kernel on vectors."""

import numpy as np

from mercer.distances import dense_rows
from mercer.kernels import Kernel, product_of_columns


class ExponentialDot(Kernel):
    """k(x, z) = exp(gamma <x, z>), for a finite gamma > 0."""

    def __init__(self, gamma=1.0):
        self.gamma = gamma

    def validate(self):
        if not 0 < self.gamma < np.inf:
            raise ValueError(f"gamma={self.gamma!r}: give a finite number > 0.")

    def separated(self, X, players):
        return product_of_columns(self, players)

    def block(self, X, Z):
        products = dense_rows(X @ Z.T)
        return np.exp(float(self.gamma) * products)  # float() leaves float32 as it is
