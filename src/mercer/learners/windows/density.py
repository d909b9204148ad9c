"""Kernel density estimation with any distance."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.special import gammaln
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import Seed, estimator
from mercer.learners.base import (
    DistanceLearner,
    Training,
    check_count,
    check_flag,
    different_rows,
    finite_fit,
)
from mercer.learners.windows.totals import (
    WindowShape,
    candidate_widths,
    typical_distance,
    window_totals,
)
from mercer.samples import SamplesLike, is_number

#: K(u) with K(0) = 1
SHAPES: dict[str, WindowShape] = {
    "gaussian": WindowShape(None, 2.0, 0.5),
    "tophat": WindowShape(lambda u: (u < 1).astype(u.dtype)),
    "epanechnikov": WindowShape(lambda u: np.maximum(1 - u * u, 0)),
    "exponential": WindowShape(None, 1.0, 1.0),
    "linear": WindowShape(lambda u: np.maximum(1 - u, 0)),
    "cosine": WindowShape(lambda u: np.where(u < 1, np.cos(np.pi / 2 * np.minimum(u, 1)), 0)),
}
ALGORITHMS = ("auto", "kd_tree", "ball_tree")  # scikit-learn's
RULES = ("scott", "silverman", "auto")
LARGEST = 4.0  # candidate of "auto", in units of Silverman's rule


@estimator
class KernelDensity(DistanceLearner):
    r"""Kernel density estimate with any distance,

    .. math:: f(x) = \frac{1}{W V h^d} \sum_i w_i K(\rho(x, x_i) / h), \quad
        W = \sum_i w_i, \quad V = \int K(\rho(v, 0)) \, dv.

    Parameters of scikit-learn's KernelDensity have the same meaning here.

    Parameters
    ----------
    bandwidth : float > 0, "scott", "silverman" or "auto", default=1.0
        h. With n rows in d columns "scott" is n^(-1/(d + 4)) and "silverman" (n (d + 2) / 4)^(-1/(d
        + 4)), for columns of variance 1, as in scikit-learn; of rows with weights
        n is :math:`(\sum w)^2 / \sum w^2`. "auto" is the one of 24 widths with the largest
        likelihood of each row under the density of the rows that differ from it.
    kernel : str, default="gaussian"
        K(u) is exp(-u²/2) for "gaussian", exp(-u) for "exponential" and, up to u = 1, 1 for
        "tophat", 1 - u² for "epanechnikov", 1 - u for "linear" and cos(π u / 2) for "cosine", which
        are 0 beyond.
    atol, rtol, breadth_first, leaf_size, algorithm
        Parameters of scikit-learn, which control the error of a sum over a tree. Here the sum is
        exact, so they are checked but do not change any result.

    Attributes
    ----------
    bandwidth_ : float
    log_volume_ : float
        log(V h^d). It is 0 where V is not known: see the notes.
    log_likelihoods_ : dict
        Mean log-likelihood of left-out rows for each width; only with ``bandwidth="auto"``.
    X_fit_ : encoded samples
        The samples of positive weight.

    Notes
    -----
    V is exact for each norm of vectors: Minkowski of any p > 0, with weights, Mahalanobis, and
    linear maps of full rank. (scikit-learn divides by the Euclidean V for other norms, too.) For
    strings, sets, tables and other distances there is no volume, and f is
    :math:`\sum_i w_i K(\rho / h) / W`, a number in [0, 1] that compares samples but is not a
    density.

    The sum over all rows is exact, by tiles: O(n m) distances and memory O(m). Weights mean
    repetition.

    References
    ----------
    Silverman, "Density Estimation for Statistics and Data Analysis", 1986, sections 3.4.4 and 4.3.

    Examples
    --------
    >>> from mercer import KernelDensity
    >>> model = KernelDensity(bandwidth=0.5).fit([[0.0], [1.0]])
    >>> model.score_samples([[0.5]]).round(4)
    array([-0.7258])
    >>> from mercer.distances import Edit
    >>> names = KernelDensity(bandwidth=2.0, metric=Edit()).fit(["anna", "hanna", "anne"])
    >>> bool(names.score_samples(["ann"])[0] > names.score_samples(["otto"])[0])
    True
    """

    _: KW_ONLY
    bandwidth: float | str = 1.0
    kernel: str = "gaussian"
    metric: Any = "euclidean"
    atol: float = 0.0
    rtol: float = 0.0
    breadth_first: bool = True
    leaf_size: int | None = None

    @finite_fit
    def fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Keep samples X; y is not used.

        Parameters
        ----------
        X : array-like, sparse matrix or samples of the distance's kind
        sample_weight : array-like of shape (n,), optional
        """
        self._check_parameters()
        training = self.make_training(X, None, sample_weight, targets=False)
        X, w = training.X, training.all_weights
        norm = self._log_ball(X)
        self.bandwidth_ = self._width(training, norm)
        # log of V h^d
        self.log_volume_ = 0.0
        if norm is not None:
            self.log_volume_ = (
                norm
                + _log_mass(self.kernel, X.shape[1])
                + (X.shape[1] * float(np.log(self.bandwidth_)))
            )
        self._weights, self._total = w, float(w.sum())
        self.keep_samples(X)
        return self

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        h = self.bandwidth
        if not (h in RULES if isinstance(h, str) else is_number(h) and 0 < h < np.inf):
            raise ValueError(f"bandwidth={h!r}: give a finite number > 0, or one of {list(RULES)}.")
        if not (isinstance(self.kernel, str) and self.kernel in SHAPES):
            raise ValueError(f"kernel={self.kernel!r}: give one of {list(SHAPES)}.")
        if not (isinstance(self.algorithm, str) and self.algorithm in ALGORITHMS):
            raise ValueError(f"algorithm={self.algorithm!r}: give one of {list(ALGORITHMS)}.")
        for name, value in {"atol": self.atol, "rtol": self.rtol}.items():
            if not (is_number(value) and value >= 0):
                raise ValueError(f"{name}={value!r}: give a number >= 0.")
        check_flag("breadth_first", self.breadth_first)
        check_count("leaf_size", self.leaf_size)

    def _log_ball(self, X: Any) -> float | None:
        """Logarithm of the volume of the distance's unit ball, if it is a norm of vectors."""
        return self.distance_.log_ball(X.shape[1]) if self.distance_.reads.coordinates else None

    def _width(self, training: Training, norm: float | None) -> float:
        """h, from what ``bandwidth`` says."""
        if not isinstance(self.bandwidth, str):
            return float(self.bandwidth)
        if norm is None:
            raise ValueError(
                f"bandwidth={self.bandwidth!r} needs a norm of vectors, whose windows have a "
                f"volume, which {self.distance_!r} is not: give a number, such as the median "
                "distance."
            )
        d, w = training.X.shape[1], training.all_weights
        if self.bandwidth == "auto":
            return self._most_likely(training)
        return _rule(self.bandwidth, w, d)

    def _most_likely(self, training: Training) -> float:
        """The width of the largest mean log-likelihood of rows without those that equal them.

        Rows that equal each other would be most likely with a width of 0.
        """
        d = training.X.shape[1]
        rows, w = different_rows(
            training.X, np.zeros(training.X.shape[0]), training.weights, random_state=0
        )
        X, others = training.X[rows], w.sum() - w
        if len(rows) < 2:
            n = training.X.shape[0]
            few = "there is one sample" if n == 1 else f"all {n} are equal"
            raise ValueError(
                f'bandwidth="auto" needs two rows of X that differ, but {few}: give a number.'
            )
        # rows of columns of variance 1 are about √(2 d) apart
        scale = typical_distance(self.distance_, X) / np.sqrt(2 * d)
        widths = candidate_widths(
            LARGEST * _rule("silverman", w, d) * scale, SHAPES[self.kernel].power
        )
        logs = window_totals(
            self.distance_, X, X, w[:, None], SHAPES[self.kernel], widths,
            _logarithm, left_out=np.ones(len(rows)), nearest=False, place=self.place,
        )  # fmt: skip
        likelihoods = (logs - np.log(others)) @ w / w.sum() - d * np.log(widths)
        self.log_likelihoods_ = dict(zip(widths.tolist(), likelihoods.tolist(), strict=True))
        return float(widths[int(np.argmax(likelihoods))])

    # --- new samples -----------------------------------------------------------------------------

    def score_samples(self, X: SamplesLike) -> np.ndarray:
        """log f at each row of X, (n,); -inf where no window reaches."""
        X = self.encode_new(X)
        logs = window_totals(
            self.distance_, X, self.X_fit_, self._weights[:, None], SHAPES[self.kernel],
            np.array([self.bandwidth_]), _logarithm, nearest=False, place=self.place,
        )  # fmt: skip
        return logs[0] - np.log(self._total) - self.log_volume_

    def score(self, X: SamplesLike, y: object = None) -> float:
        """The sum of log f over the rows of X; y is not used."""
        return float(self.score_samples(X).sum())

    def sample(self, n_samples: int = 1, random_state: Seed = None) -> np.ndarray:
        """Draw samples from the density, (n_samples, d).

        Parameters
        ----------
        n_samples : int >= 1
        random_state : int, RandomState or None

        Raises
        ------
        TypeError
            The distance is not a norm of vectors, so no sample can be drawn.
        """
        check_is_fitted(self)
        check_count("n_samples", n_samples, optional=False)
        rng = check_random_state(random_state)
        X = self.X_fit_
        if self._log_ball(X) is None:
            raise TypeError(
                f"sample needs a norm of vectors, which {self.distance_!r} is not: draw rows of X."
            )
        rows = rng.choice(X.shape[0], n_samples, p=self._weights / self._total)
        start = X[rows].toarray() if sp.issparse(X) else X[rows]
        d = X.shape[1]
        radii = self.bandwidth_ * _radii(self.kernel, n_samples, d, rng)
        steps = self.distance_.unit_steps(n_samples, d, rng)
        return start + radii[:, None] * steps


def _rule(name: str, w: np.ndarray, d: int) -> float:
    """The width of Scott's or Silverman's rule, for columns of variance 1."""
    rows = float(w.sum() ** 2 / (w @ w))
    return (rows if name == "scott" else rows * (d + 2) / 4) ** (-1 / (d + 4))


def _logarithm(
    values: np.ndarray, squares: np.ndarray, log_scale: np.ndarray, rows: slice
) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(values[:, 0]) + log_scale


def _log_mass(kernel: str, d: int) -> float:
    r"""Logarithm of :math:`d \int_0^\infty K(u) u^{d-1} du`: V over the volume of the unit ball."""
    if kernel == "gaussian":
        return float(gammaln(d / 2 + 1) + d / 2 * np.log(2))
    if kernel == "tophat":
        return 0.0
    if kernel == "epanechnikov":
        return float(np.log(2 / (d + 2)))
    if kernel == "exponential":
        return float(gammaln(d + 1))
    if kernel == "linear":
        return -float(np.log(d + 1))
    # cos(π u / 2) by its power series, Σ_k (-1)^k (π/2)^2k / (2k)! · d / (d + 2k)
    k = np.arange(20)
    terms = np.exp(2 * k * np.log(np.pi / 2) - gammaln(2 * k + 1)) * d / (d + 2 * k)
    return float(np.log(((-1.0) ** k) @ terms))


def _radii(kernel: str, n: int, d: int, rng: np.random.RandomState) -> np.ndarray:
    """n radii u > 0 with a density in proportion to K(u) u^(d - 1)."""
    if kernel == "gaussian":
        return np.sqrt(rng.chisquare(d, n))
    if kernel == "exponential":
        return rng.gamma(d, size=n)
    if kernel == "tophat":
        return rng.uniform(size=n) ** (1 / d)
    if kernel == "linear":
        return rng.beta(d, 2, n)
    u = np.sqrt(rng.beta(d / 2, 2, n))
    if kernel == "cosine":  # by rejection: cos(π u / 2) is 0.78 to 1 times 1 - u²
        wrong = np.arange(n)
        while len(wrong):
            near = rng.uniform(size=len(wrong)) * (1 - u[wrong] ** 2) > np.cos(np.pi / 2 * u[wrong])
            wrong = wrong[near]
            u[wrong] = np.sqrt(rng.beta(d / 2, 2, len(wrong)))
    return u
