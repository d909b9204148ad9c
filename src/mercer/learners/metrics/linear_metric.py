r"""Linear maps A that are learnt so that neighbours :math:`\|A (x - z)\|` have the same class.

A `LinearMetric` minimises a loss of the distances between the mapped rows by L-BFGS. A subclass
says what the loss of some rows is, and how it changes with each squared distance; the gradient by A
follows from that by products of matrices: with weights :math:`W_{ij}` of squared distances,

.. math:: \nabla_A \sum_{ij} W_{ij} \|A (x_i - x_j)\|^2
    = 2 A \sum_{ij} W_{ij} (x_i - x_j) (x_i - x_j)^\top.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.distances import MappedMinkowski, from_origin, squared_euclidean
from mercer.learners.base import (
    Placed,
    check_count,
    check_labels,
    check_positive,
    check_seed,
    finite_values,
)
from mercer.samples import reading_numbers
from mercer.threads import count_jobs, fitting, forget, ordered_map, raise_if_stopped

INITS = ("auto", "pca", "lda", "identity", "random")
STRIP = 512  # rows at a time, at most


class LinearMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Placed, BaseEstimator):
    """Abstract: a transformer x -> A x that is learnt from classes.

    Parameters
    ----------
    n_components : int, optional
        Rows of A. None: the number of columns.
    init : {"auto", "pca", "lda", "identity", "random"} or ndarray
        The first A. "auto" is "lda" where that has enough components, else "pca" where there are
        fewer components than columns, else "identity".
    max_iter : int
        Most steps of L-BFGS.
    tol : float
        The largest entry of the gradient at which it stops.
    random_state : int, RandomState or None
        Seed for ``init="random"``.
    """

    n_components: Any
    init: Any
    max_iter: int
    tol: float
    random_state: Any

    fitted_by = "components_"

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
        floats = [np.float64, np.float32]
        with reading_numbers(X, type(self).__name__):
            X, y = validate_data(self, X, y, dtype=floats, ensure_min_samples=2)
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
        with reading_numbers(X, type(self).__name__):
            X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return X @ self.components_.T.astype(X.dtype)

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def _check_parameters(self) -> None:
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
        if init == "lda" and len(self.classes_) > 1:
            from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

            found = LinearDiscriminantAnalysis(solver="eigen", shrinkage=1e-6).fit(X, y)
            axes = found.scalings_.T[:r]
        else:
            axes = np.linalg.svd(X, full_matrices=False)[2][:r]
        start[: len(axes)] = axes
        return start
