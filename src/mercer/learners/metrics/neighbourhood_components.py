"""Neighbourhood components analysis: a map under which a random neighbour has the same class."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from mercer.estimator import estimator
from mercer.learners.metrics.linear_metric import LinearMetric


@estimator
class NeighbourhoodComponents(LinearMetric):
    r"""A linear map A for which a random neighbour is most likely to have the same class,

    .. math:: \max_A \sum_i \sum_{j: y_j = y_i} p_{ij}, \quad
        p_{ij} = \frac{\exp(-\|A (x_i - x_j)\|^2)}{\sum_{l \ne i} \exp(-\|A (x_i - x_l)\|^2)}.

    Parameters of scikit-learn's NeighborhoodComponentsAnalysis have the same meaning here.

    Attributes
    ----------
    components_, distance_, classes_, n_iter_, converged_, n_features_in_
        As in `LargeMarginNeighbours`.
    loss_ : float
        Minus the expected number of rows whose neighbour has the same class.

    Notes
    -----
    A step costs O(n² (d + n_components)) operations; n x n matrices are never held. Columns should
    have similar scales.

    References
    ----------
    Goldberger, Roweis, Hinton & Salakhutdinov, "Neighbourhood components analysis", NIPS 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import NeighbourhoodComponents
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NeighbourhoodComponents(n_components=2, max_iter=200).fit(X, y)
    >>> model.transform(X).shape, model.loss_ < -140
    ((150, 2), True)
    """

    n_components: Any = None
    _: KW_ONLY
    init: Any = "auto"
    max_iter: int = 50
    tol: float = 1e-5
    random_state: Any = None

    def _loss(self, D: np.ndarray, rows: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
        own = np.arange(len(rows)), rows
        D[own] = np.inf
        P = np.exp(D.min(axis=1, keepdims=True) - D)
        P /= P.sum(axis=1, keepdims=True)
        same = P * (y[rows, None] == y)
        p = same.sum(axis=1)
        # ∂p_i / ∂D_ij = p_ij (p_i - [y_j = y_i])
        return -float(p.sum()), same - P * p[:, None]
