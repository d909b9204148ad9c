"""Regression by a Gaussian process whose hyperparameters the likelihood chooses."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any, ClassVar, Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin
from sklearn.utils import check_random_state

from mercer.distances import dense_rows, float_range
from mercer.estimator import estimator
from mercer.gram import gram
from mercer.kernels import RBF, Kernel
from mercer.learners.base import (
    KernelLearner,
    KernelSum,
    Regressor,
    check_count,
    check_flag,
    finite_fit,
    finite_values,
    is_auto,
    unit_of,
)
from mercer.learners.ridge.hyperparameters import (
    Hyperparameters,
    by_lbfgs,
    slopes,
    split,
    warn_of_bounds,
)
from mercer.learners.ridge.process import density, exact_root, pull, variances, whitened
from mercer.samples import SamplesLike
from mercer.threads import blas_limit, raise_if_stopped

NOISE = 0.1  # where alpha="auto" starts, in parts of the mean k(x, x)
REMEDY = ', or KernelRidge(solver="low_rank", uncertainty=True)'


@estimator
class GaussianProcessRegressor(MultiOutputMixin, Regressor, KernelLearner):
    r"""Regression by a Gaussian process: :math:`y = f(x) + ε` with :math:`f \sim N(0, k)` and noise
    :math:`ε \sim N(0, α)`.

    With K between the training rows, k(z) to a new one, and :math:`A = K + α I = L L^\top`, the
    mean and the variance of f(z) given y are

    .. math:: k(z)^\top A^{-1} y, \qquad k(z, z) - \|L^{-1} k(z)\|^2 ,

    and the parameters of the kernel are those of the largest likelihood

    .. math:: \log p(y) = -\tfrac12 y^\top A^{-1} y - \sum_i \log L_{ii} - \tfrac n2 \log 2π .

    The parameters that scikit-learn's class has too mean the same. Kernels are Mercer's, for
    samples of any kind.

    Parameters
    ----------
    kernel : kernel object, name or "precomputed", optional
        The covariance k; None means ``1.0 * RBF(0.5)``. Its hyperparameters start where they are:
        the numbers > 0 that ``kernel.free_parameters()`` names, such as γ, a length scale, a factor
        of a kernel, or a weight of each column in place of one length scale.
    alpha : float >= 0, array of shape (n,) or "auto"
        The variance of the noise, of all rows or of each. "auto" makes it a hyperparameter, as a
        ``WhiteKernel`` does in scikit-learn; it starts at 0.1 of the mean k(x, x).
    optimizer : "fmin_l_bfgs_b", callable or None
        None keeps the hyperparameters as they are. A callable gets a function of θ that returns
        -log p and its gradient (-log p alone with ``eval_gradient=False``), θ to begin with and
        ``bounds``; it returns the best θ and its value.
    n_restarts_optimizer : int >= 0
        So many more starts, each drawn from the bounds, of which the best is kept.
    normalize_y : bool
        Whether the process is one of targets with mean 0 and variance 1. Predictions are in the
        unit of y.
    copy_X_train : bool
        Whether to keep a copy of dense rows, and not the array itself.
    n_targets : int >= 1, optional
        The number of targets of predictions before a fit.
    bounds : dict, optional
        The least and the largest value, or "fixed", for each name of a hyperparameter, such as
        "gamma", "kernel__length_scale" or "noise". By default 1e-5 to 1e5 times the value that
        it starts with. The name of any other number > 0, or "noise", makes it free too.
    random_state : int, RandomState or None
        Seed for further starts.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, with the hyperparameters that were chosen.
    noise_ : float or ndarray of shape (n,)
        The variance of the noise, in the unit of ``y_train_``.
    hyperparameters_ : list of str
        What was chosen, by the names of ``kernel_.get_params()``; "noise" is that of the noise.
    theta_ : ndarray of shape (parameters,)
        θ, the logarithms of their values, one after the other.
    bounds_ : ndarray of shape (t, 2), for t numbers θ
        Logarithms.
    log_marginal_likelihood_value_ : float
        log p(y) of ``theta_``, summed over the targets, in the unit of ``y_train_``.
    X_fit_, X_train_ : encoded samples
        The training samples, in float64.
    y_train_ : ndarray of shape (n,) or (n, n_targets)
        The targets, less ``y_mean_`` and divided by ``y_std_``.
    y_mean_, y_std_ : ndarray of shape (n_targets,)
        Mean and deviation of the targets; 0 and 1 without ``normalize_y``.
    dual_coef_ : ndarray of shape (n,) or (n, n_targets)
        Coefficients of the training rows, in the unit of y.
    alpha_ : ndarray of shape (n,) or (n, n_targets)
        A⁻¹ y of ``y_train_``.
    L_ : ndarray of shape (n, n)
        Lower triangular; computed again when it is asked for after loading a file.
    gram_ : str
        Description of the Gram matrix.

    Notes
    -----
    A fit takes O(n³) operations for each θ, in float64, and 6 n² numbers. The gradient is exact for
    sums, products, factors and weights of columns; for all other hyperparameters a difference of
    order 8 takes its place, 8 matrices K each. For more rows than fit, and for noise that
    differs by weight, use `KernelRidge`, which has the same mean and deviation, or
    `NeighbourGaussianProcess`. A kernel that is not positive semidefinite is refused.

    References
    ----------
    Rasmussen & Williams, "Gaussian Processes for Machine Learning", 2006, algorithm 2.1 and
    eq. 5.9.

    Examples
    --------
    >>> from mercer import GaussianProcessRegressor
    >>> from mercer.kernels import RBF
    >>> x = np.linspace(0, 6, 30)[:, None]
    >>> y = np.sin(x[:, 0]) + np.resize([0.1, -0.1], 30)
    >>> model = GaussianProcessRegressor(1.0 * RBF(0.5), alpha="auto").fit(x, y)
    >>> model.hyperparameters_, float(np.sqrt(model.noise_).round(1))
    (['factor', 'kernel__gamma', 'noise'], 0.1)
    >>> mean, std = model.predict([[1.5], [30.0]], return_std=True)
    >>> bool(abs(mean[0] - 1) < 0.1), bool(std[1] > 5 * std[0])
    (True, True)
    """

    kernel: Any = None
    _: KW_ONLY
    alpha: Any = 1e-10
    optimizer: Any = "fmin_l_bfgs_b"
    n_restarts_optimizer: int = 0
    normalize_y: bool = False
    copy_X_train: bool = True
    n_targets: int | None = None
    bounds: dict[str, Any] | None = None

    gamma: ClassVar[None] = None
    degree: ClassVar[None] = None
    coef0: ClassVar[None] = None
    kernel_params: ClassVar[None] = None

    y_train_: np.ndarray = field(init=False)
    dual_coef_: np.ndarray = field(init=False)
    _root: Any = field(init=False)
    fitted_by = "dual_coef_"

    def resolve_kernel(self) -> Kernel:
        return 1.0 * RBF(0.5) if self.kernel is None else super().resolve_kernel()

    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike) -> Self:
        """Fit to samples X (n) and targets y of shape (n,) or (n, n_targets)."""
        self._check_parameters()
        self._root = None
        training = self.make_training(X, y)
        self._refuse_indefinite()
        targets = self._keep_targets(training.y, training.X.dtype)
        self.noise_ = self._given_noise(training.X, len(targets))
        rows = in_double(training.X)
        if self.copy_X_train and isinstance(rows, np.ndarray) and np.may_share_memory(rows, X):
            rows = rows.copy()
        self.X_fit_, self.y_train_ = rows, targets
        learnt = is_auto(self.alpha)
        start = Hyperparameters.of(self.kernel_, self.noise_, learnt, self.bounds or {})
        self.hyperparameters_, self.theta_, self.bounds_ = start.names, start.theta, start.bounds
        with blas_limit(len(targets)):
            if self.optimizer is not None and len(self.theta_):
                self._choose(start)
            # Rasmussen & Williams 2006, algorithm 2.1, lines 2 and 3
            K = self.gram_between(rows)
            self.gram_, self._root = K.describe(), exact_root(K, self.noise_, REMEDY)
            solved = scipy.linalg.cho_solve((self._root, True), targets, check_finite=False)
            self.log_marginal_likelihood_value_ = density(self._root, solved)
        self.keep_support(rows)
        self.dual_coef_ = solved * self._spread(solved.ndim)
        return self

    def predict(self, X: SamplesLike, return_std: bool = False, return_cov: bool = False) -> Any:
        """The mean of f at the rows of X, (q,) or (q, n_targets), given y; before a fit it is 0.

        With ``return_std`` also standard deviations of the same shape, with ``return_cov`` the
        covariances (q, q) or (q, q, n_targets). They are those of f; a new observation has the
        noise as well, ``np.sqrt(std**2 + noise)`` in the unit of y.
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        if not self.__sklearn_is_fitted__():
            return self._prior(X, return_std, return_cov)
        mean = self._mean_of(X)
        if return_std:
            return mean, self._deviations(X)
        return (mean, self._covariances(X)) if return_cov else mean

    def sample_y(self, X: SamplesLike, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draw functions f, given y or before a fit: (q, n_samples) or (q, n_targets, n_samples).

        ``random_state`` is an int, a RandomState or None.

        Examples
        --------
        >>> from mercer import GaussianProcessRegressor
        >>> GaussianProcessRegressor().sample_y([[0.0], [1e-6]], 2).round(2)
        array([[-1.76, -0.98],
               [-1.76, -0.98]])
        """
        check_count("n_samples", n_samples, optional=False)
        random = check_random_state(random_state)
        mean, covariances = self.predict(X, return_cov=True)
        several = mean.ndim > 1
        each = zip(mean.T, np.moveaxis(covariances, -1, 0)) if several else [(mean, covariances)]
        drawn = [
            # values that rounding makes slightly indefinite are drawn all the same
            random.multivariate_normal(m, C, n_samples, check_valid="ignore").T
            for m, C in each
        ]
        return np.stack(drawn, axis=1) if several else drawn[0]

    def log_marginal_likelihood(
        self, theta: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Any:
        """log p(y) of the hyperparameters exp(theta), by default of those that were chosen.

        With ``eval_gradient`` also the gradient, of the shape of ``theta``. A θ for which rounding
        makes A singular has -inf and the gradient 0.
        """
        self.check_fitted()
        if theta is None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated for theta!=None.")
            return self.log_marginal_likelihood_value_
        theta = np.asarray(theta, np.float64)
        if theta.shape != self.theta_.shape:
            raise ValueError(
                f"theta has shape {theta.shape}: give {len(self.theta_)} logarithms, those of "
                f"{self.hyperparameters_}, as theta_ has."
            )
        with np.errstate(over="ignore"):
            values = np.exp(theta)
        if not (np.isfinite(values) & (values > 0)).all():
            raise ValueError(
                f"theta={theta}: give logarithms of finite numbers > 0, as theta_={self.theta_} is."
            )
        with blas_limit(len(self.y_train_)):
            return self._likelihood(theta, eval_gradient)

    def kernel_sum(self) -> KernelSum:
        self.check_fitted()
        offset = self.y_mean_[0] if self.dual_coef_.ndim == 1 else self.y_mean_
        return KernelSum.of(self.kernel_, self.X_fit_, self.dual_coef_, offset, self.encode_new)

    @property
    def X_train_(self) -> Any:
        self.check_fitted()
        return self.X_fit_

    @property
    def alpha_(self) -> np.ndarray:
        self.check_fitted()
        return self.dual_coef_ / self._spread(self.dual_coef_.ndim)

    @property
    def L_(self) -> np.ndarray:
        return np.tril(self._factor())

    # --- fitting ----------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        check_flag("normalize_y", self.normalize_y)
        check_flag("copy_X_train", self.copy_X_train)
        check_count("n_restarts_optimizer", self.n_restarts_optimizer, 0, optional=False)
        check_count("n_targets", self.n_targets)
        known = self.optimizer in ("fmin_l_bfgs_b", None) or callable(self.optimizer)
        if not known:
            raise ValueError(
                f'optimizer={self.optimizer!r}: give "fmin_l_bfgs_b", a function, or None.'
            )
        if not (self.bounds is None or isinstance(self.bounds, dict)):
            raise TypeError(
                f"bounds={self.bounds!r}: give a dict such as {{'gamma': (0.1, 10.0)}}, or None."
            )

    def _refuse_indefinite(self) -> None:
        if self.kernel_.positive_definite is False:
            raise ValueError(
                f"kernel={self.kernel_!r} is not positive semidefinite: no process has it as its "
                "covariance."
            )

    def _keep_targets(self, y: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """The targets of the process; keep their means and deviations, (n_targets,)."""
        y = y.astype(np.float64)
        seen = 1 if y.ndim == 1 else y.shape[1]
        if self.n_targets is not None and seen != self.n_targets:
            raise ValueError(
                f"The number of targets seen in `y` is {seen}, but n_targets={self.n_targets}: "
                "give None, or that number."
            )
        self.y_mean_, self.y_std_ = np.zeros(seen, dtype), np.ones(seen, dtype)
        if self.normalize_y:
            unit = unit_of(y)  # squares of tiny numbers have no digits left
            columns = y.reshape(len(y), -1) / unit
            mean, scale = columns.mean(axis=0), columns.std(axis=0)
            constant = scale <= 10 * np.finfo(np.float64).eps * np.abs(columns).max(axis=0)
            scale = np.where(constant, 1 / unit, scale)
            self.y_mean_, self.y_std_ = (unit * mean).astype(dtype), (unit * scale).astype(dtype)
            y = ((columns - mean) / scale).reshape(y.shape)
        return y

    def _spread(self, axes: int) -> Any:
        """The deviations of the targets before normalising, as factors of arrays of targets."""
        return np.float64(self.y_std_[0]) if axes == 1 else self.y_std_.astype(np.float64)

    def _given_noise(self, X: Any, n: int) -> Any:
        """The variance of the noise, one number or one for each row."""
        if is_auto(self.alpha):
            return NOISE * float(np.mean(self.kernel_.diag(X)))
        alpha = np.asarray(self.alpha)
        if alpha.dtype.kind not in "fiu" or not (np.isfinite(alpha) & (alpha >= 0)).all():
            raise ValueError(
                f"alpha={self.alpha!r}: give a finite number >= 0, the variance of the noise, one "
                'for each row, or "auto".'
            )
        alpha = alpha.astype(np.float64)
        if alpha.size == 1:
            return float(alpha.item())
        if alpha.shape != (n,):
            raise ValueError(
                "alpha must be a scalar or an array with same number of entries as y, but it has "
                f"the shape {alpha.shape}, and y has {n} rows."
            )
        return alpha

    def _choose(self, start: Hyperparameters) -> None:
        """Set the likeliest hyperparameters, of all starts."""
        bounds, starts = start.bounds, [np.clip(start.theta, *start.bounds.T)]
        if self.n_restarts_optimizer:
            if not np.isfinite(bounds).all():
                raise ValueError(
                    f"n_restarts_optimizer={self.n_restarts_optimizer} requires that all bounds "
                    "are finite: give finite ones."
                )
            random = check_random_state(self.random_state)
            starts += [random.uniform(*bounds.T) for _ in range(self.n_restarts_optimizer)]

        def cost(theta: np.ndarray, eval_gradient: bool = True) -> Any:
            found = self._likelihood(np.asarray(theta, np.float64), eval_gradient)
            return (-found[0], -found[1]) if eval_gradient else -found

        optimise = by_lbfgs if self.optimizer == "fmin_l_bfgs_b" else self.optimizer
        found = [optimise(cost, theta, bounds=bounds) for theta in starts]
        best = min(found, key=lambda each: each[1])
        theta = np.asarray(best[0], np.float64)
        if theta.shape != start.theta.shape or not np.isfinite(theta).all():
            raise ValueError(
                f"optimizer={self.optimizer!r} returned θ={best[0]!r}: it must return "
                f"{len(start.theta)} finite logarithms, of {start.names}, and the value there."
            )
        self.theta_ = theta
        warn_of_bounds(start._replace(theta=self.theta_), cost(self.theta_)[1])
        self.kernel_, self.noise_ = self._at(self.theta_)

    def _at(self, theta: np.ndarray) -> tuple[Kernel, Any]:
        """The kernel, bound to the training rows, and the noise with other hyperparameters."""
        values = split(theta, self.hyperparameters_, self.kernel_)
        noise = values.pop("noise", self.noise_)
        return self._bound(self.kernel_.copied(**values)), noise

    def _bound(self, kernel: Kernel) -> Kernel:
        """The kernel with what follows from its hyperparameters, such as a mean to centre by."""
        return kernel.unbound().bind(self.X_fit_, self.y_train_)

    def _dense(self, kernel: Kernel) -> np.ndarray:
        """K of a part of the kernel between the training rows."""
        return gram(self._bound(kernel), self.X_fit_, place=self.place).fresh(np.dtype(np.float64))

    def _likelihood(self, theta: np.ndarray, eval_gradient: bool) -> Any:
        """The log marginal likelihood, and its gradient if it is asked for."""
        raise_if_stopped()
        kernel, noise = self._at(theta)
        K = gram(kernel, self.X_fit_, place=self.place)
        try:
            root = exact_root(K, noise, REMEDY)
        except ValueError:  # singular up to rounding
            return (-np.inf, np.zeros_like(theta)) if eval_gradient else -np.inf
        a = scipy.linalg.cho_solve((root, True), self.y_train_, check_finite=False)
        value = density(root, a)
        if not eval_gradient:
            return value
        # eq. 5.9
        G = pull(root, a)
        chosen = [name for name in self.hyperparameters_ if name != "noise"]
        found = slopes(kernel, self.X_fit_, G, self._dense, chosen)
        found["noise"] = np.array([np.sum(noise * G.diagonal())])
        parts = [np.empty(0), *(found[name] for name in self.hyperparameters_)]
        return value, 0.5 * np.concatenate(parts)

    # --- predictions ------------------------------------------------------------------------------

    def _factor(self) -> np.ndarray:
        """L, which is found again if it was not kept."""
        self.check_fitted()
        if vars(self).get("_root") is None:
            self._root = exact_root(self.gram_between(self.X_fit_), self.noise_, REMEDY)
        return self._root

    def __getstate__(self) -> dict[str, Any]:
        """The state without the factor, which is computed again when needed."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_root"}

    def _wide(self, X: SamplesLike) -> Any:
        return in_double(self.encode_new(X))

    @finite_values
    def _mean_of(self, X: SamplesLike) -> np.ndarray:
        # algorithm 2.1, line 4
        f = self.gram_with_support(self._wide(X)) @ self.dual_coef_
        f = f + (self.y_mean_[0] if f.ndim == 1 else self.y_mean_)
        return (f[:, 0] if f.shape[1:] == (1,) else f).astype(self.y_std_.dtype, copy=False)

    @finite_values
    def _deviations(self, X: SamplesLike) -> np.ndarray:
        var = variances(self, self._wide(X), [self._process_root()], triangular=True)
        return self._of_targets(np.sqrt(var[:, 0]), self.y_std_)

    @finite_values
    def _covariances(self, X: SamplesLike) -> np.ndarray:
        """The covariance matrix of f at new samples, for each target."""
        squares = np.square(self.y_std_)
        if not (np.isfinite(squares) & (squares >= np.finfo(squares.dtype).tiny)).all():
            raise ValueError(
                f"y_std_={self.y_std_}: covariances are of the size of its squares, which "
                f"{squares.dtype} does not hold: divide y by its deviation before the fit, or give "
                "return_std=True."
            )
        rows, root = self._wide(X), self._process_root()
        cross = np.asarray(dense_rows(self.gram_with_support(rows).dense()), np.float64)
        V = whitened(root, cross)
        # algorithm 2.1, line 6
        C = self.gram_between(rows).fresh(np.dtype(np.float64)) - V @ V.T
        return self._of_targets(C, squares)

    def _process_root(self) -> np.ndarray:
        """The Cholesky factor of K + σ² I."""
        if self.kernel_.reads.pairwise:
            raise ValueError(
                'kernel="precomputed" does not say k(x, x) of a new sample, which its variance '
                "needs: give a kernel object and the samples themselves."
            )
        return self._factor()

    def _of_targets(self, values: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Values times the scale of each target, with a last axis of several targets."""
        scale = scale.astype(np.float64)
        found = values * scale[0] if len(scale) == 1 else values[..., None] * scale
        return found.astype(self.y_std_.dtype, copy=False)

    def _prior(self, X: SamplesLike, return_std: bool, return_cov: bool) -> Any:
        """Predictions before a fit; what a kernel learns from its samples it learns from X."""
        self._check_parameters()
        kernel = self.resolve_kernel()
        kernel.validate()
        rows = float_range(kernel.encode(X))
        kernel = kernel.bind(rows)
        more = () if self.n_targets in (None, 1) else (self.n_targets,)
        mean = np.zeros((rows.shape[0], *more), rows.dtype)

        def repeated(values: np.ndarray) -> np.ndarray:
            return np.repeat(values[..., None], more[0], axis=-1) if more else values

        if return_std:
            return mean, repeated(np.sqrt(kernel.diag(rows)))
        if return_cov:
            return mean, repeated(gram(kernel, rows, place=self.place).fresh())
        return mean

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def in_double(X: Any) -> Any:
    """Encoded samples that are compared in double precision."""
    return X if X.dtype == np.float64 else X.astype(np.float64)
