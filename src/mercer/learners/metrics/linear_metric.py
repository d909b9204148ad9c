r"""Linear maps A that are learnt so that neighbours :math:`\|A (x - z)\|` have the same class.

A `LinearMetric` minimises a loss of the distances between the mapped rows by L-BFGS. A subclass
says what the loss of some rows is, and how it changes with each squared distance; the gradient in A
follows from that by products of matrices: with weights :math:`W_{ij}` of squared distances,

.. math:: \nabla_A \sum_{ij} W_{ij} \|A (x_i - x_j)\|^2
    = 2 A \sum_{ij} W_{ij} (x_i - x_j) (x_i - x_j)^\top.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.distances import MappedMinkowski, from_origin, nearest_left_out, squared_euclidean
from mercer.estimator import Seed, estimator
from mercer.gram import PlaceOfLearner
from mercer.learners.base import (
    check_count,
    check_labels,
    check_positive,
    check_seed,
    check_targets,
    finite_values,
    vectors_of,
)
from mercer.persistence import fields, whole
from mercer.samples import is_number
from mercer.threads import count_jobs, fitting, forget, ordered_map, raise_if_stopped

INITS = ("auto", "pca", "lda", "identity", "random")
STRIP = 512  # rows at a time, at most


class LinearMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Abstract: a transformer x -> A x that is learnt from classes.

    Parameters
    ----------
    n_components : int, optional
        Rows of A. None: the number of columns.
    init : {"auto", "pca", "lda", "identity", "random"} or ndarray of shape (n_components, d)
        The first A. "auto" is "lda" where that has enough components, else "pca" where there are
        fewer components than columns, else "identity".
    max_iter : int
        Most steps of L-BFGS.
    tol : float
        The largest entry of the gradient at which it stops.
    random_state : int, RandomState or None
        Seed for ``init="random"``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d)
        A.
    distance_ : MappedMinkowski
        :math:`\|A (x - z)\|`, for ``metric=`` of any learner.
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int
    """

    n_components: Any
    init: Any
    max_iter: int
    tol: float
    random_state: Seed
    memory: int | float | str | None
    n_jobs: int | None

    def __sklearn_is_fitted__(self) -> bool:
        return "components_" in vars(self)

    place = PlaceOfLearner()

    @abstractmethod
    def _loss(self, D: np.ndarray, rows: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss of some rows and its derivatives by their squared distances to all rows.

        Parameters
        ----------
        D : ndarray of shape (r, n)
            It may be overwritten.
        rows : ndarray of shape (r,)
            Their numbers.
        y : ndarray of shape (n,)
            Classes as 0, 1, 2 ...

        Returns
        -------
        loss : float
        W : ndarray of shape (r, n)
        """

    def _prepare(self, X: np.ndarray, y: np.ndarray) -> None:
        """What the loss needs before the first step."""

    @fitting
    def fit(self, X: Any, y: Any) -> Self:
        """Learn A from vectors X (n) and classes y (n,)."""
        self._check_parameters()
        forget(self)
        X = vectors_of(self, X, ensure_min_samples=2)
        y = check_targets(X, y, type(self).__name__, numeric=False, several=False)
        check_labels(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        dtype, origin = X.dtype, X.mean(axis=0, dtype=np.float64)
        X = X.astype(np.float64) - origin
        with np.errstate(over="ignore"):
            if not np.isfinite(np.einsum("ij,ij->", X, X)):
                raise ValueError(
                    f"X reaches {np.abs(X).max():.3g}: divide its columns by their largest values "
                    "(sklearn.preprocessing.MaxAbsScaler does it)."
                )
        start = self._start(X, codes)
        self._prepare(X @ start.T, codes)
        shape, n = start.shape, len(X)
        room = self.place.budget(8 * 6 * STRIP * n * self.place.jobs)
        step = int(np.clip(room // (8 * 6 * n * count_jobs(self.n_jobs)), 1, STRIP))

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            A = flat.reshape(shape)
            mapped = from_origin(X @ A.T)
            E = mapped.parts[0]

            def strip(first: int) -> tuple[float, np.ndarray]:
                raise_if_stopped()
                rows = np.arange(first, min(first + step, n))
                D = squared_euclidean(mapped[rows[0] : rows[-1] + 1], mapped)
                loss, W = self._loss(D, rows, codes)
                # Σ W_ij (e_i - e_j) (x_i - x_j)ᵀ
                e, x, sums = E[rows], X[rows], W.sum(axis=1)
                G = (e * sums[:, None]).T @ x + (E * W.sum(axis=0)[:, None]).T @ X
                G -= e.T @ (W @ X)
                G -= (W @ E).T @ x
                return loss, 2 * G

            parts = list(ordered_map(strip, range(0, n, step), self.n_jobs))
            return sum(p for p, _ in parts), np.sum([g for _, g in parts], axis=0).ravel()

        found = minimize(
            objective, start.ravel(), jac=True, method="L-BFGS-B",
            options={"maxiter": self.max_iter, "gtol": self.tol},
        )  # fmt: skip
        if not np.isfinite(found.x).all():
            raise ValueError("the map is not finite: scale the columns of X alike.")
        self.n_iter_, self.loss_ = int(found.nit), float(found.fun)
        self.converged_ = found.nit < self.max_iter
        self.distance_ = MappedMinkowski(found.x.reshape(shape).astype(dtype))
        self.components_ = self.distance_.linear_map  # the learner is fitted now
        if not self.converged_:
            warnings.warn(
                f"{type(self).__name__} took all {self.max_iter} steps, with a loss of "
                f"{self.loss_:.4g}: give a larger max_iter, or a larger tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    @finite_values
    def transform(self, X: Any) -> np.ndarray:
        """A x for each row of X, (n, n_components)."""
        check_is_fitted(self)
        X = vectors_of(self, X, reset=False)
        return X @ self.components_.T.astype(X.dtype)

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        check_count("n_components", self.n_components)
        check_count("max_iter", self.max_iter, optional=False)
        check_positive("tol", self.tol)
        check_seed(self.random_state)
        _ = self.place  # which checks its parameters
        if isinstance(self.init, str) and self.init not in INITS:
            raise ValueError(
                f"init={self.init!r}: give one of {list(INITS)}, or a matrix of shape "
                "(n_components, n_features)."
            )

    def _start(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The map that learning starts with, (n_components, d)."""
        n, d = X.shape
        r = d if self.n_components is None else self.n_components
        if r > d:
            raise ValueError(
                f"n_components={r} is more than the {d} columns of X: give at most {d}."
            )
        if not isinstance(self.init, str):
            try:
                start = np.asarray(self.init, np.float64)
            except (TypeError, ValueError):
                start = np.empty(0)
            if start.shape != (r, d) or not np.isfinite(start).all():
                raise ValueError(
                    f"init={self.init!r}: give one of {list(INITS)}, or a finite matrix of shape "
                    f"({r}, {d})."
                )
            return start
        init = self.init
        if init == "auto":  # as scikit-learn's NeighborhoodComponentsAnalysis
            few = r <= min(d, len(self.classes_) - 1)
            init = "lda" if few else "pca" if r < min(d, n) else "identity"
        if init == "random":
            return check_random_state(self.random_state).standard_normal((r, d))
        if init == "identity":
            return np.eye(r, d)
        start = np.eye(r, d)
        varies = any(np.ptp(X[y == label], axis=0).any() for label in np.unique(y))
        if init == "lda" and len(self.classes_) > 1 and varies:  # else there are no discriminants
            from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

            found = LinearDiscriminantAnalysis(solver="eigen", shrinkage=1e-6).fit(X, y)
            axes = found.scalings_.T[:r]
        else:
            axes = np.linalg.svd(X, full_matrices=False)[2][:r]
        start[: len(axes)] = axes
        return start


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
    loss_ : float
        The sums above, over the number of rows.

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
    random_state: Seed = None
    memory: int | float | str | None = None
    n_jobs: int | None = None

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
        """The loss of some rows, and its derivatives with respect to the squared
        distances D, which are overwritten."""
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


@estimator
class NeighbourhoodComponents(LinearMetric):
    r"""A linear map A for which a random neighbour is most likely to have the same class,

    .. math:: \max_A \sum_i \sum_{j: y_j = y_i} p_{ij}, \quad
        p_{ij} = \frac{\exp(-\|A (x_i - x_j)\|^2)}{\sum_{l \ne i} \exp(-\|A (x_i - x_l)\|^2)}.

    Parameters of scikit-learn's NeighborhoodComponentsAnalysis have the same meaning here.

    Attributes
    ----------
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
    random_state: Seed = None
    memory: int | float | str | None = None
    n_jobs: int | None = None

    def _loss(self, D: np.ndarray, rows: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss of some rows, and its derivatives with respect to the squared
        distances D, which are overwritten."""
        own = np.arange(len(rows)), rows
        D[own] = np.inf
        P = np.exp(D.min(axis=1, keepdims=True) - D)
        P /= P.sum(axis=1, keepdims=True)
        same = P * (y[rows, None] == y)
        p = same.sum(axis=1)
        # ∂p_i / ∂D_ij = p_ij (p_i - [y_j = y_i])
        return -float(p.sum()), same - P * p[:, None]
