"""An index of nearest neighbours for any distance that satisfies the triangle inequality."""

import numpy as np

from mercer.search import Index

TILE = 256  # training rows that are candidates together


class Pivot(Index):
    """Rows in the order of their distance to one of them, the pivot p.

    If |d(z, p) - d(x, p)| is larger than a limit, then so is d(z, x): x is no candidate for z.
    """

    def arrange(self, X):
        self.pivot_ = X[:1]
        far = self._far(X)
        order = np.argsort(far, kind="stable")
        self.far_ = far[order]
        return order

    def arrange_queries(self, Z):
        return np.argsort(self._far(Z), kind="stable")

    def candidates(self, Z, limits):
        far = self._far(Z)
        least, most = far.min(), far.max()
        tiles = [slice(s, s + TILE) for s in range(0, len(self.far_), TILE)]
        gaps = [max(self.far_[t][0] - most, least - self.far_[t][-1], 0) for t in tiles]
        for t in np.argsort(gaps, kind="stable"):
            if 0.999 * gaps[t] > limits.max():  # the rounding of distances is not trusted
                return
            yield slice(None), tiles[t]

    def _far(self, X):
        return self.distance_.whole(X, self.pivot_)[:, 0]
