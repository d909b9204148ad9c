"""A distance between vectors whose numbers go round in a circle, as hours of the day do."""

import numpy as np

from mercer.distances import Distance, dense_rows


class Circular(Distance):
    """The sum over all columns of the shorter way round, for 0 <= x < period."""

    def __init__(self, period=24.0):
        self.period = period

    def validate(self):
        if not 0 < self.period < np.inf:
            raise ValueError(f"period={self.period!r}: give a finite number > 0.")

    def check(self, X, like=None):
        if X.min() < 0 or X.max() >= self.period:
            raise ValueError(f"X has numbers outside [0, {self.period}): give X % {self.period}.")

    def block(self, X, Z):
        X, Z = dense_rows(X), dense_rows(Z)
        D = np.zeros((X.shape[0], Z.shape[0]), X.dtype)
        for x, z in zip(X.T, Z.T):
            gap = np.abs(x[:, None] - z)
            D += np.minimum(gap, float(self.period) - gap)
        return D
