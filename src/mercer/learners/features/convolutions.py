"""Features of time series from convolutions, linear in the number of series."""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np

from mercer.estimator import estimator
from mercer.kernels import FeatureMap, FixedConvolutions, ScaledCounts, WithDifferences
from mercer.learners.base import check_count
from mercer.learners.features.series_features import SeriesFeatures
from mercer.samples import Series


@estimator
class MiniRocket(SeriesFeatures):
    r"""MiniRocket: how often the responses of a time series to 84 kernels exceed some biases.

    The kernels have nine taps, three with the weight 2 and six with -1, at distances (dilations)
    from 1 up to the length of the series. A feature is the share of the places t with
    :math:`\sum_j w_j x_{t + (j - 4) d} > b`. The biases b are quantiles of responses of random
    training series.

    Parameters
    ----------
    n_components : int >= 1, default=10000
        About how many features: rounded down to a multiple of 84, and at least 84.

    See Also
    --------
    Hydra : Other features, which go well together with these.
    mercer.kernels.Convolutions : A kernel with both.

    Notes
    -----
    Series may have different lengths, and several channels; a kernel reads the sum of some channels
    that are drawn for it. Zeros stand before and after a series. Half of the kernels do not count
    the places whose taps are beyond an end, as long as there are others. A constant that is added
    to a series changes nothing but the ends.

    Work: for a series of T points 84 D convolutions of 9 T operations with D <= 32 dilations, and
    a comparison for each feature and point.

    References
    ----------
    Dempster, Schmidt & Webb, "MiniRocket: a very fast (almost) deterministic transform for time
    series classification", KDD 2021.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mercer import MiniRocket
    >>> t = np.arange(30)
    >>> X = [np.sin(t / 4), np.sin(t[:20] / 4 + 1), np.sin(t), np.sin(t[:25] + 1)]
    >>> steps = MiniRocket(random_state=0), StandardScaler(), RidgeClassifier()
    >>> model = make_pipeline(*steps).fit(X, ["slow", "slow", "fast", "fast"])
    >>> model.predict([np.sin(t / 4 + 0.5), np.sin(t + 2)]).tolist()
    ['slow', 'fast']
    """

    _: KW_ONLY
    n_components: int = 10_000

    def _learn(self, X: Series, random: np.random.RandomState) -> FeatureMap:
        check_count("n_components", self.n_components, optional=False)
        return FixedConvolutions.learnt(X, int(self.n_components), 1, random)


@estimator
class MultiRocket(SeriesFeatures):
    r"""MultiRocket: four numbers of how the responses of a series to 84 kernels exceed biases.

    They are the share of the places where the response z exceeds the bias b, and of these places
    the mean of z - b, the mean place, and the longest run; places and runs as parts of the length,
    and 0 if there are none. The kernels and biases are those of `MiniRocket`; half of the features
    are of the steps :math:`x_{t+1} - x_t`.

    Parameters
    ----------
    n_components : int >= 1, default=50000
        About how many features: rounded down to a multiple of 672, and at least 672.

    See Also
    --------
    MiniRocket : A fifth of the features, and a tenth of the work.

    Notes
    -----
    In the original code the mean of positive values is that of z + b, the longest run counts from
    the last place below, and places are not divided by the length.

    References
    ----------
    Tan, Dempster, Bergmeir & Webb, "MultiRocket: multiple pooling operators and transformations for
    fast and effective time series classification", Data Mining and Knowledge Discovery 36, 2022.

    Examples
    --------
    >>> from mercer import MultiRocket
    >>> MultiRocket(n_components=1000, random_state=0).fit_transform([np.sin(np.arange(30))]).shape
    (1, 672)
    """

    _: KW_ONLY
    n_components: int = 50_000

    def _learn(self, X: Series, random: np.random.RandomState) -> FeatureMap:
        check_count("n_components", self.n_components, optional=False)
        return WithDifferences.fixed(X, int(self.n_components), random)


@estimator
class Hydra(SeriesFeatures):
    r"""Hydra: which of eight random kernels responds most to a time series, and which least.

    In each group of eight kernels with nine taps, at each place one kernel has the largest response
    and one the smallest. A kernel's first feature is the sum of its responses where it has the
    largest one, and its second feature the number of places where it has the smallest; both by
    the length of the series. Features are the roots of these numbers minus their means over the
    training series, by their spread; where a number is 0 the feature is 0.

    Parameters
    ----------
    n_groups : int >= 1, default=64
        Groups for each dilation 1, 2, 4 ... up to the length of the series. Half of them read the
        steps :math:`x_{t+1} - x_t` (with 1, there is one of each).

    See Also
    --------
    MiniRocket : Other features, which go well together with these.
    mercer.kernels.Convolutions : A kernel with both.

    Notes
    -----
    Series may have different lengths, and several channels; a group reads the sum of some channels
    that are drawn for it. A series of T points takes about 1,300 T operations for each dilation and
    group. The weights of a kernel are drawn from a normal distribution; their sum is 0, and that of
    their absolute values 1.

    References
    ----------
    Dempster, Schmidt & Webb, "Hydra: competing convolutional kernels for fast and accurate time
    series classification", Data Mining and Knowledge Discovery 37, 2023.

    Examples
    --------
    >>> from mercer import Hydra
    >>> Hydra(random_state=0).fit_transform(np.sin(np.arange(80.0)).reshape(2, 40)).shape
    (2, 3072)
    """

    _: KW_ONLY
    n_groups: int = 64

    def _learn(self, X: Series, random: np.random.RandomState) -> FeatureMap:
        check_count("n_groups", self.n_groups, optional=False)
        return ScaledCounts.learnt(X, WithDifferences.competing(X, int(self.n_groups), random))
