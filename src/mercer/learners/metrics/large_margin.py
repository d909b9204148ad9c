"""Large-margin nearest neighbours: a map that keeps other classes away from near rows."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from mercer.distances import from_origin, nearest_left_out, squared_euclidean
from mercer.estimator import estimator
from mercer.learners.base import check_count
from mercer.learners.metrics.linear_metric import LinearMetric
from mercer.persistence import fields, whole
from mercer.samples import is_number


@estimator
@fields(_targets=whole(axes=2))
class LargeMarginNeighbours(LinearMetric):
    r"""A linear map A that pulls rows to their nearest rows of the same class, the targets j, and
    pushes rows l of other classes out of a margin around them,

    .. math:: \min_A \; (1 - μ) \sum_{i, j} d_{ij}^2
        + μ \sum_{i, j, l: y_l \ne y_i} \max(0, 1 + d_{ij}^2 - d_{il}^2), \quad
        d_{ij} = \|A (x_i - x_j)\|.

    Parameters
    ----------
    n_neighbors : int, default=3
        Targets of each row, which are found with the first A and then kept.
    push : float in (0, 1), default=0.5
        μ.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d)
        A.
    distance_ : MappedMinkowski
        :math:`\|A (x - z)\|`, for ``metric=`` of any learner.
    classes_ : ndarray
    loss_ : float
        The sums above, over the number of rows.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    Notes
    -----
    A step costs O(n² (d + n_components + n_neighbors)) operations; n x n matrices are never held.
    Columns should have similar scales. In a class with fewer rows all others are targets.

    References
    ----------
    Weinberger & Saul, "Distance metric learning for large margin nearest neighbor classification",
    JMLR 10, 2009, equation 13; here for A itself and not for AᵀA, as in their section 6.2.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import LargeMarginNeighbours
    >>> X, y = load_iris(return_X_y=True)
    >>> LargeMarginNeighbours(max_iter=200).fit(X, y).distance_(X[:1], X[:2]).shape
    (1, 2)
    """

    n_neighbors: int = 3
    n_components: Any = None
    _: KW_ONLY
    push: float = 0.5
    init: Any = "auto"
    max_iter: int = 50
    tol: float = 1e-5
    random_state: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("n_neighbors", self.n_neighbors, optional=False)
        if not (is_number(self.push) and 0 < self.push < 1):
            raise ValueError(f"push={self.push!r}: give a number in (0, 1).")

    def _prepare(self, X: np.ndarray, y: np.ndarray) -> None:
        """Find the targets of each row, (n, k); a row itself stands for one that is missing."""
        n, k = len(X), min(self.n_neighbors, len(X) - 1)
        rows = from_origin(X)

        def own_class(part: slice) -> list[np.ndarray]:
            D = squared_euclidean(rows[part], rows)
            D[y[part, None] != y] = np.inf
            return [D]

        (targets,) = nearest_left_out(own_class, n, k, self.n_jobs)
        outside = targets >= n
        targets[outside] = np.broadcast_to(np.arange(n)[:, None], targets.shape)[outside]
        missing = y[targets] != y[:, None]
        targets[missing] = np.broadcast_to(np.arange(n)[:, None], targets.shape)[missing]
        self._targets = targets

    def _loss(self, D: np.ndarray, rows: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
        n, here = len(y), np.arange(len(rows))
        D[here, rows] = 0
        other = y[rows, None] != y
        pull, push = (1 - self.push) / n, self.push / n
        W, loss = np.zeros_like(D), 0.0
        for j in self._targets[rows].T:
            near = D[here, j]
            present = j != rows
            gap = 1 + near[:, None] - D
            active = (gap > 0) & other & present[:, None]
            loss += pull * float(near.sum()) + push * float(gap[active].sum())
            W[here, j] += pull * present + push * active.sum(axis=1)
            W -= push * active
        return loss, W
