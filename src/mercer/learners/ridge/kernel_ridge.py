"""Kernel ridge regression."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.learners.base import (
    FitPath,
    FitsInParts,
    Regressor,
    ScoreQuantiles,
    check_coverage,
    check_flag,
    check_levels,
    finite_fit,
    finite_values,
    is_auto,
)
from mercer.learners.ridge.in_parts import RidgeRegressionParts
from mercer.learners.ridge.process import Likelihood, exact_root, likelihood, variances
from mercer.learners.ridge.ridge_learner import RidgeLearner
from mercer.samples import SamplesLike
from mercer.streams import fit_stream


@estimator
class KernelRidge(MultiOutputMixin, Regressor, RidgeLearner, FitsInParts):
    r"""Kernel ridge regression: :math:`f(x) = \sum_i α_i k(x, x_i)` with

    .. math:: α = \arg\min \sum_i w_i (y_i - f(x_i))^2 + λ α^\top K α
                = (K + λ W^{-1})^{-1} y.

    Parameters of scikit-learn's KernelRidge have the same meaning here.

    Parameters
    ----------
    uncertainty : bool, default=False
        Whether a fit of low rank keeps rank² numbers more, which ``predict(return_std=True)``
        needs. Exact fits need no more than alpha > 0.

    Attributes
    ----------
    missed_ : ScoreQuantiles
        The quantiles of ``y - left_out_``, with which `predict_interval` works; only with
        ``alpha="auto"`` and one target.
    roots_ : ndarray of shape (penalties, rank, rank)
        What the standard deviations of a fit of low rank are made of; only with ``uncertainty``.

    Notes
    -----
    Weights mean repetition: weight 2 counts the row twice, weight 0 leaves it out. A singular
    system (for example alpha=0 and duplicate rows) gets the solution of minimum norm and a
    ConvergenceWarning. There is no intercept: centre y, or add a constant kernel.
    `mercer.solvers.EigenSolver` has leave-one-out predictions for many λ. Fits that differ in alpha
    alone share their work by ``path = model.new_path(alphas)`` and ``fit(X, y, fit_path=path)``,
    which `KernelSearchCV` does.

    The local machine replaces K by K̂, which is K for rows of one leaf and its low-rank
    approximation for rows of different ones (Snelson & Ghahramani, "Local and global sparse
    Gaussian process approximations", AISTATS 2007). The leaves halve the rows again and again along
    the direction in which the kernel's features of the centres vary most. With leaves of p rows a
    fit takes O(n p² / 3 + 2 n p · rank) operations: it grows with n, as that of low rank, and if
    near rows matter most, its error is close to the exact one. A prediction compares a sample with
    the centres and one leaf. With ``alpha="auto"``, 1,400 rows and two leaves choose the penalty.

    It is the mean of a Gaussian process with covariance k and noise of variance λ: see
    ``return_std`` of `predict`, and `log_marginal_likelihood`.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 4.0])
    >>> model = KernelRidge(alpha=0.01, kernel="poly", degree=2, gamma=1.0).fit(X, y)
    >>> model.predict([[3.0]]).round(1), model.solver_
    (array([9.]), 'cholesky')
    """

    alpha: Any = 1
    _: KW_ONLY
    uncertainty: bool = False

    #: L of an exact fit for each λ, as the first prediction with a deviation has found it
    _exact_roots: Any = field(init=False)

    @finite_fit
    def fit(
        self,
        X: SamplesLike,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        fit_path: FitPath | None = None,
    ) -> Self:
        """Fit to samples X (n) and targets y of shape (n,) or (n, n_targets).

        ``sample_weight`` is a number or one per row, >= 0 and not all 0; ``fit_path`` is shared by
        fits that differ in alpha (see `new_path`).
        """
        check_flag("uncertainty", self.uncertainty)
        self._exact_roots = None
        training = self.make_training(X, y, sample_weight, fit_path=fit_path)
        # minimise Σ w (y - K a)² + λ aᵀK a   =>   (K + λ W⁻¹) a = y
        result, _ = self._fit_dual(training, training.y, fit_path)
        if is_auto(self.alpha) and training.y.ndim == 1:
            self.missed_ = ScoreQuantiles.of(training.y - self.left_out_, training.weights)
        result.conclude()
        return self

    @finite_fit
    def fit_chunks(self, chunks: Any, checkpoint: Any = None) -> Self:
        """Fit to a stream, which may be larger than the memory, by a machine of low rank.

        It is read twice: centres are chosen among 10 ``rank`` rows that are drawn from all of it,
        and then all rows are added up. Memory does not depend on the number of rows, and the answer
        not on the size of the chunks. With ``alpha="auto"`` the penalty is that of generalised
        cross-validation, and there is no ``left_out_``. A linear kernel has no error if ``rank``
        is at least the number of columns.

        Parameters
        ----------
        chunks : Chunks, or what it takes
            Chunks with targets of shape (n,) or (n, n_targets) for n rows.
        checkpoint : Checkpoint or path, optional
            A file from which the same fit goes on if it was killed, to the same last bit.

        Examples
        --------
        >>> from mercer import Chunks, KernelRidge
        >>> x = np.linspace(0, 6, 1000)[:, None]
        >>> chunks = Chunks(x, np.sin(x[:, 0]), rows=100)
        >>> model = KernelRidge(1e-6, kernel="rbf", gamma=1.0, rank=30, random_state=0)
        >>> model.fit_chunks(chunks).predict([[1.5], [4.5]]).round(2)
        array([ 1.  , -0.98])
        """
        check_flag("uncertainty", self.uncertainty)
        self._exact_roots = None
        return fit_stream(self.part_fit(), chunks, checkpoint)

    def part_fit(self) -> RidgeRegressionParts:
        return RidgeRegressionParts(self)

    def predict(self, X: SamplesLike, return_std: bool = False) -> Any:
        """f at the rows of X, of shape (n,) or (n, n_targets).

        With ``return_std`` also standard deviations of the same shape: those of f as a Gaussian
        process with covariance k, whose targets have noise of variance alpha, or alpha / weight. To
        predict a new observation add the noise: ``np.sqrt(std**2 + alpha)``. The first call
        factorises the matrix of an exact fit again, in float64; memory does not grow with the rows
        that are predicted. A fit of low rank needs ``uncertainty=True``, and has for its rows as
        much variance as its centres leave open.

        Examples
        --------
        >>> from mercer import KernelRidge
        >>> X = np.array([[0.0], [1.0], [2.0]])
        >>> model = KernelRidge(0.01, kernel="rbf", gamma=0.5).fit(X, np.array([0.0, 1.0, 0.0]))
        >>> mean, std = model.predict([[1.0], [9.0]], return_std=True)
        >>> mean.round(2), std.round(2)
        (array([ 0.97, -0.  ]), array([0.1, 1. ]))
        """
        return (self._evaluate(X), self._deviations(X)) if return_std else self._evaluate(X)

    def log_marginal_likelihood(self) -> Likelihood:
        r"""The log likelihood of the targets of the fit, and its derivatives.

        .. math:: \log N(y; 0, K + λ W^{-1}) = -\tfrac12 y^\top α
            - \tfrac12 \log|K + λ W^{-1}| - \tfrac n2 \log 2π.

        It compares kernels and penalties without held rows. The derivatives with respect to the
        logarithms of λ, of a factor of the kernel and of a length scale of each column are what an
        optimiser needs.

        Returns
        -------
        Likelihood
            A record of ``value``, ``penalty``, ``variance`` and ``length_scales``.

        Examples
        --------
        >>> from mercer import KernelRidge
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> found = KernelRidge(0.1, kernel="rbf").fit(X, X[:, 0]).log_marginal_likelihood()
        >>> bool(found.length_scales[1] > 0)  # a longer scale of the useless column is likelier
        True
        """
        roots = self._roots()
        if self.solver_ == "low_rank":
            raise ValueError(
                'solver_="low_rank": the likelihood is that of an exact fit: give '
                'solver="cholesky", or fit to some of the rows.'
            )
        if len(roots) > 1:
            raise ValueError(f"alpha={self.alpha!r}: give one number for all targets.")
        (noise,) = self._noises()
        return likelihood(self.kernel_, self.X_fit_, roots[0], self.dual_coef_, noise)

    @finite_values
    def _deviations(self, X: SamplesLike) -> np.ndarray:
        """Standard deviations of f at new samples, in the shape of predictions."""
        roots, encoded = self._roots(), self.encode_new(X)
        var = variances(self, encoded, roots, self.solver_ != "low_rank")
        std = np.sqrt(var).astype(self.dual_coef_.dtype, copy=False)
        penalties = np.ravel(self.alpha_ if is_auto(self.alpha) else self.alpha)
        if self.dual_coef_.ndim == 1:
            return std[:, 0]
        which = np.searchsorted(self._penalties(), penalties)
        return std[:, np.broadcast_to(which, self.dual_coef_.shape[1])]

    def _penalties(self) -> np.ndarray:
        """The different λ of the fit, ascending."""
        return np.unique(self.alpha_ if is_auto(self.alpha) else self.alpha).astype(np.float64)

    def _noises(self) -> list[Any]:
        """The variance of the noise for each λ, of all rows or of each."""
        weights = vars(self).get("weights_")
        return [each if weights is None else each / weights for each in self._penalties()]

    def _roots(self) -> Any:
        """A root of the explained variance for each λ."""
        check_is_fitted(self)
        if self.kernel_.reads.pairwise:
            raise ValueError(
                'kernel="precomputed" does not say k(x, x) of a new sample, which its variance '
                "needs: give a kernel object and the samples themselves."
            )
        if self.solver_ == "low_rank":
            if "roots_" not in vars(self):
                raise ValueError(
                    "uncertainty=False: a fit of low rank keeps what standard deviations need only "
                    "with uncertainty=True."
                )
            return self.roots_
        if self.solver_ == "local":
            raise ValueError(
                'solver="local" has no standard deviations: give solver="cholesky", or '
                'solver="low_rank" and uncertainty=True.'
            )
        if self.kernel_.positive_definite is False:
            raise ValueError(
                f"kernel={self.kernel_!r} is not positive semidefinite: no process has it as its "
                "covariance."
            )
        if vars(self).get("_exact_roots") is None:
            K = self.gram_between(self.X_fit_)
            self._exact_roots = [exact_root(K, each) for each in self._noises()]
        return self._exact_roots

    def __getstate__(self) -> dict[str, Any]:
        """The state without the factor of an exact fit, which is computed again when needed."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_exact_roots"}

    def predict_quantiles(self, X: SamplesLike, quantiles: Any = (0.1, 0.5, 0.9)) -> np.ndarray:
        """Quantiles of the target of each row, (n, quantiles), in the order that is asked for.

        They are as far from f as those of what the fits without a row have missed of it, the same
        everywhere. For that ``alpha`` has to be "auto", and y to have one target. `KernelRegressor`
        learns where rows are farther off.
        """
        check_is_fitted(self)
        levels = check_levels("quantiles", quantiles)
        missed = vars(self).get("missed_")
        if missed is None:
            raise ValueError(
                f"alpha={self.alpha!r}: quantiles need what fits without a row predict for it, of "
                'one target: fit, not in chunks, with alpha="auto" and y of shape (n,).'
            )
        return self.predict(X)[:, None] + missed(levels)

    def predict_interval(self, X: SamplesLike, coverage: float = 0.9) -> np.ndarray:
        """Both ends of an interval that holds the target with probability ``coverage``, (n, 2).

        See `predict_quantiles`.

        Examples
        --------
        >>> from mercer import KernelRidge
        >>> x = np.linspace(0, 6, 50)[:, None]
        >>> y = np.sin(x[:, 0]) + np.resize([0.1, -0.1], 50)
        >>> KernelRidge("auto", kernel="rbf").fit(x, y).predict_interval([[1.5]], 0.8).shape
        (1, 2)
        """
        return self.predict_quantiles(X, check_coverage(coverage))
