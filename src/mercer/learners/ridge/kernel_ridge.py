"""Kernel ridge regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer.learners.base import FitPath, finite_fit
from mercer.learners.ridge.ridge_learner import RidgeLearner
from mercer.threads import fitting

__all__ = ["KernelRidge"]


class KernelRidge(MultiOutputMixin, RegressorMixin, RidgeLearner):
    r"""Kernel ridge regression: :math:`f(x) = \sum_i α_i k(x, x_i)` with

    .. math:: α = \arg\min \sum_i w_i (y_i - f(x_i))^2 + λ α^\top K α
                = (K + λ W^{-1})^{-1} y.

    The parameters of scikit-learn's KernelRidge mean what they mean there.

    Parameters
    ----------
    alpha : float >= 0, array of shape (n_targets,) or "auto", default=1
        λ, or one for each target. "auto" chooses, for all targets, the one of 19 penalties from
        1e-8 n to 10 n with the least squared leave-one-out error, which costs about one fit.
    kernel : kernel object, name, "precomputed" or callable, default="linear"
        A callable takes two rows and returns a number.
    gamma : float > 0, optional
        Of a named kernel; None means 1 / n_features. Beside a kernel object it is an error.
    degree : float, default=3
        Of the polynomial kernel.
    coef0 : float, default=1
        Of the polynomial and sigmoid kernels.
    kernel_params : dict, optional
        Further arguments of a callable kernel.
    solver : str or solver value, default="auto"
        "cholesky" is exact and holds K and its factor; "conjugate_gradient" is exact to ``tol`` and
        holds n · 10 √n numbers, or as many as fit ``memory``; "low_rank" restricts f to ``rank``
        centres and holds n · rank numbers; "local" is exact for rows of one leaf of a tree and of
        low rank between the leaves (see the notes), and holds 2 n · rank numbers. "auto" takes the
        first that suits: up to 20,000 rows Cholesky where both matrices fit ``memory``, else
        conjugate gradients; beyond, low rank.
        Another solver that does not fit ``memory`` is a MemoryError, which names the bytes that it
        needs.
        A value, such as ``mercer.solvers.ConjugateGradientSolver(tol=1e-9)`` or one of your own,
        solves for all rows: ``alpha`` takes the place of its ``penalty``, its other fields stay,
        and ``tol``, ``max_iter`` and ``rank`` are not read.
    tol : float, default=1e-6
        Relative residual at which conjugate gradients stop.
    max_iter : int, optional
        Of conjugate gradients; None means 1000.
    rank : int, optional
        Centres of the low-rank machine (None: 2000), of the local one (None: 500) or of the
        preconditioner (None: 10 √n), fewer by default where ``memory`` holds fewer.
    leaf_rows : int >= 2, optional
        Most rows of a leaf of the local machine; None means 2000, or fewer where ``memory`` is
        short.
    memory : int, str or None
        Budget in bytes or as "4GB"; None means half of what is free.
    n_jobs : int or None
        Threads; None means all cores.
    random_state : int, RandomState or None
        Of the centres.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n,) or (n, n_targets)
        α, of the rows of positive weight; with ``solver_ == "low_rank"`` at the centres alone.
    leaves_ : Leaves
        With ``solver_ == "local"``, the tree: which rows are in which leaf.
    leaf_coef_ : ndarray of shape (leaves, rank) or (leaves, rank, n_targets)
        With ``solver_ == "local"``, for each leaf the coefficients at the centres, which are beside
        those of its own rows.
    X_fit_ : encoded samples
        That ``dual_coef_`` belongs to: the training samples, or the centres.
    centres_ : ndarray of shape (rank,)
        With ``solver_`` "low_rank" or "local", the numbers of the rows of positive weight that are
        centres.
    kernel_ : Kernel
        As bound to the training samples.
    alpha_ : float
        With ``alpha="auto"``, the penalty that was chosen.
    left_out_ : ndarray of the shape of y
        With ``alpha="auto"``, for each row of positive weight the prediction of the fit without it.
    solver_, gram_ : str
        The solver, and the Gram matrix that it was given, in words.
    residual_ : float
        Certificate: backward error (Cholesky) or relative residual (the others).
    n_iter_ : int

    Notes
    -----
    Weights mean repetition: weight 2 is the row twice, weight 0 its absence. A singular system
    (alpha=0 and duplicate rows, say) gets the solution of minimum norm and a ConvergenceWarning.
    There is no intercept: centre y, or add a constant kernel. `mercer.solvers.EigenSolver` has
    leave-one-out predictions for many λ. Fits that differ in alpha alone share their work by
    ``path = model.new_path(alphas)`` and ``fit(X, y, fit_path=path)``, which `KernelSearchCV` does.

    The local machine replaces K by K̂, which is K for rows of one leaf and its low-rank
    approximation for rows of different ones (Snelson & Ghahramani, "Local and global sparse
    Gaussian process approximations", AISTATS 2007). The leaves halve the rows again and again along
    the direction in which the kernel's features of the centres vary most. With leaves of p rows a
    fit takes O(n p² / 3 + 2 n p · rank) operations: it grows with n, as that of low rank, and where
    near rows tell most, its error is near the exact one. A prediction compares a sample with the
    centres and one leaf. With ``alpha="auto"``, 1,400 rows and two leaves choose the penalty.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 4.0])
    >>> model = KernelRidge(alpha=0.01, kernel="poly", degree=2, gamma=1.0).fit(X, y)
    >>> model.predict([[3.0]]).round(1), model.solver_
    (array([9.]), 'cholesky')
    """

    def __init__(
        self,
        alpha: Any = 1,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params=None,
        solver="auto",
        tol=1e-6,
        max_iter=None,
        rank=None,
        leaf_rows=None,
        memory=None,
        n_jobs=None,
        random_state=None,
    ):
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.rank = rank
        self.leaf_rows = leaf_rows
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fitting
    @finite_fit
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, fit_path: FitPath | None = None
    ) -> Self:
        """Fit to samples X (n) and targets y of shape (n,) or (n, n_targets).

        ``sample_weight`` is a number or one per row, >= 0 and not all 0; ``fit_path`` is shared by
        fits that differ in alpha (see `new_path`).
        """
        training = self.make_training(X, y, sample_weight, fit_path=fit_path)
        # minimise Σ w (y - K a)² + λ aᵀK a   =>   (K + λ W⁻¹) a = y
        result, _ = self._fit_dual(training, training.y, fit_path)
        result.conclude()
        return self

    def predict(self, X: Any) -> np.ndarray:
        """f at the rows of X, of shape (n,) or (n, n_targets)."""
        return self._evaluate(X)
