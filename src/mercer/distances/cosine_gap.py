"""One minus the cosine of the angle between two vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances.base import Distance
from mercer.distances.products import cosines, unit_rows
from mercer.samples import Prepared

__all__ = ["CosineGap"]


class CosineGap(Distance):
    r"""The cosine distance of scikit-learn,
    :math:`\rho(x, z) = 1 - \langle x, z\rangle / (\|x\| \|z\|)`.

    A zero vector is at distance 1 from every vector, and at distance 0 from itself.

    See Also
    --------
    Cosine : The angle, a metric with the same order of neighbours.

    Notes
    -----
    It is no metric, but half the square of one. O(n m d) operations; sparse rows stay sparse.

    Examples
    --------
    >>> CosineGap()([[1.0, 0.0]], [[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]])
    array([[1., 0., 1.]])
    """

    metric = False
    definite_up_to = 1.0  # 1 - k for a positive semidefinite k

    def prepare(self, X: Any, like: Any = None) -> Any:
        return X if isinstance(X, Prepared) else Prepared((unit_rows(X),))

    def block(self, X: Any, Z: Any) -> np.ndarray:
        X, Z = self.sides(X, Z)
        C = cosines(X.parts[0], Z.parts[0])
        D = np.subtract(1, C, out=C)
        if X is Z:
            np.fill_diagonal(D, 0)
        return D
