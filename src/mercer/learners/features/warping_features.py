"""Features of time series from their distances to short random series."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from mercer.distances import DTW
from mercer.estimator import estimator
from mercer.kernels.convolutions import FeatureMap
from mercer.learners.base import check_count, check_positive, is_auto
from mercer.learners.features.series_features import SeriesFeatures
from mercer.persistence import fields, number
from mercer.samples import Series

SCALED_BY = 200  # training series whose distances tell gamma


@fields(gamma=number())
@dataclass(frozen=True)
class WarpedDistances:
    """exp(-γ dtw(x, ω)) / √R for each of R random series ω."""

    series: Series
    gamma: float

    @property
    def count(self) -> int:
        return len(self.series)

    def __call__(self, X: Series) -> np.ndarray:
        D = DTW().block(X, self.series).astype(np.float64, copy=False)
        F = np.exp(-self.gamma * D) / np.sqrt(self.count)
        return F.astype(X.dtype, copy=False)


@estimator
class WarpingFeatures(SeriesFeatures):
    r"""Random warping series: how near a time series is to short random ones,

    .. math::
        φ_k(x) = \frac{1}{\sqrt{R}} \, e^{-\gamma \, \mathrm{dtw}(x, \, ω_k)}, \qquad
        k = 1, \ldots, R,

    for random series ω of 1 to L points, whose values are normal with the mean and the deviation
    of each channel in the training series.

    Parameters
    ----------
    gamma : float > 0 or "auto", default="auto"
        γ, in units of 1 / distance. "auto" is 1 over the median distance of 200 training series
        from the random ones.
    max_length : int >= 1, default=25
        L: the most points of a random series.
    n_components : int >= 1, default=500
        R: how many features.

    Attributes
    ----------
    map_ : callable
        The map of encoded series.
    X_fit_ : Series of no rows
        The form that series must have.

    See Also
    --------
    mercer.distances.DTW : The distance, the root of a sum of squared gaps.
    MiniRocket : Other features of series.

    Notes
    -----
    Inner products of features are a positive semidefinite kernel whatever is drawn, which exp(-γ
    dtw(x, z)) is not. They tend to one kernel, the mean of :math:`e^{-γ dtw(x, ω)} e^{-γ dtw(z,
    ω)}` over all ω, as R grows. A series of T points takes T L d / 2 operations for each feature.
    Level and scale of a series count: subtract its mean and divide it by its deviation first where
    they tell nothing.

    References
    ----------
    Wu, Yen, Yi, Xu, Lei & Witbrock, "Random warping series: a random features method for
    time-series embedding", AISTATS 2018.

    Examples
    --------
    >>> from mercer import WarpingFeatures
    >>> t = np.arange(30)
    >>> X = [np.sin(t / 4), np.sin(t[:20] / 4 + 0.2), np.sin(t)]
    >>> phi = WarpingFeatures(random_state=0).fit_transform(X)
    >>> phi.shape
    (3, 500)
    >>> near, far = np.linalg.norm(phi[0] - phi[1:], axis=1)
    >>> bool(near < far)
    True
    """

    gamma: float | str = "auto"
    _: KW_ONLY
    max_length: int = 25
    n_components: int = 500

    def _learn(self, X: Series, random: np.random.RandomState) -> FeatureMap:
        for name in ("n_components", "max_length"):
            check_count(name, getattr(self, name), optional=False)
        gamma = self.gamma
        if not is_auto(gamma):
            check_positive("gamma", gamma, ', or "auto"')
        lengths = random.randint(1, int(self.max_length) + 1, int(self.n_components))
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        drawn = random.normal(size=(starts[-1], X.channels))
        values = X.values.mean(axis=0) + X.values.std(axis=0) * drawn
        series = Series(values, starts, X.dtype)
        if is_auto(gamma):
            some = X[np.sort(random.permutation(len(X))[:SCALED_BY])]
            middle = float(np.median(DTW().block(some, series)))
            gamma = 1 / middle if middle > 0 else 1.0
        return WarpedDistances(series, float(gamma))
