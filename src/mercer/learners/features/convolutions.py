"""Features of time series from convolutions, linear in the number of series."""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np

from mercer.estimator import estimator
from mercer.kernels import FeatureMap, FixedConvolutions, ScaledCounts, WithDifferences
from mercer.learners.base import check_count
from mercer.learners.features.series_features import SeriesFeatures
from mercer.samples import Series

SIZES = {"minirocket": 10_000, "multirocket": 50_000, "hydra": 64}  # where none is given


@estimator
class ConvolutionFeatures(SeriesFeatures):
    r"""Features of time series from responses to short kernels: MiniRocket, MultiRocket or Hydra.

    Parameters
    ----------
    method : {"minirocket", "multirocket", "hydra"}, default="minirocket"
        "minirocket" has 84 kernels of nine taps, three with the weight 2 and six with -1, at
        distances (dilations) d from 1 up to the length of the series. A feature is the share of the
        places t whose response :math:`z_t = \sum_j w_j x_{t + (j - 4) d}` exceeds a bias b, a
        quantile of the responses of a random training series.
        "multirocket" has the same kernels and biases, and four features for each: this share, and
        of these places the mean of z - b, the mean place, and the longest run; places and runs as
        parts of the length, and 0 if there are none. Half of the features are of the steps
        :math:`x_{t+1} - x_t`.
        "hydra" has groups of eight random kernels. In each group, at each place one kernel has the
        largest response and one the smallest. A kernel's first feature is the sum of its responses
        where it has the largest one, and its second feature the number of places where it has the
        smallest; both by the length of the series. Features are the roots of these numbers minus
        their means over the training series, by their spread; where a number is 0 the feature is 0.
    size : int >= 1, optional
        About how many features of "minirocket" (None: 10,000) or "multirocket" (50,000): rounded
        down to a multiple of 84 or 672, which is also the least. For "hydra" (64), how many groups
        for each dilation 1, 2, 4 ... up to the length of the series; half of them read the steps
        (with 1, there is one of each).

    See Also
    --------
    mercer.kernels.Convolutions : A kernel with the features of MiniRocket and Hydra.

    Notes
    -----
    "minirocket" and "hydra" go well together. Series may have different lengths, and several
    channels; a kernel or a group reads the sum of some channels that are drawn for it. In
    "minirocket" and "multirocket" zeros stand before and after a series, half of the kernels do not
    count the places whose taps are beyond an end, as long as there are others, and a constant that
    is added to a series changes nothing but the ends. In "hydra" the weights of a kernel are drawn
    from a normal distribution; their sum is 0, and that of their absolute values 1.

    Work for a series of T points: 84 D convolutions of 9 T operations with D <= 32 dilations, and a
    comparison for each feature and point; ten times as much for "multirocket" with its usual
    number; for "hydra" about 1,300 T operations for each dilation and group.

    In the original code of MultiRocket the mean of positive values is that of z + b, the longest
    run counts from the last place below, and places are not divided by the length.

    References
    ----------
    Dempster, Schmidt & Webb, "MiniRocket: a very fast (almost) deterministic transform for time
    series classification", KDD 2021.
    Tan, Dempster, Bergmeir & Webb, "MultiRocket: multiple pooling operators and transformations for
    fast and effective time series classification", Data Mining and Knowledge Discovery 36, 2022.
    Dempster, Schmidt & Webb, "Hydra: competing convolutional kernels for fast and accurate time
    series classification", Data Mining and Knowledge Discovery 37, 2023.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mercer import ConvolutionFeatures
    >>> t = np.arange(30)
    >>> X = [np.sin(t / 4), np.sin(t[:20] / 4 + 1), np.sin(t), np.sin(t[:25] + 1)]
    >>> steps = ConvolutionFeatures(random_state=0), StandardScaler(), RidgeClassifier()
    >>> model = make_pipeline(*steps).fit(X, ["slow", "slow", "fast", "fast"])
    >>> model.predict([np.sin(t / 4 + 0.5), np.sin(t + 2)]).tolist()
    ['slow', 'fast']
    >>> ConvolutionFeatures("multirocket", 1000, random_state=0).fit_transform([np.sin(t)]).shape
    (1, 672)
    >>> waves = np.sin(np.arange(80.0)).reshape(2, 40)
    >>> ConvolutionFeatures("hydra", random_state=0).fit_transform(waves).shape
    (2, 3072)
    """

    method: str = "minirocket"
    size: int | None = None
    _: KW_ONLY

    def _learn(self, X: Series, random: np.random.RandomState) -> FeatureMap:
        if self.method not in SIZES:
            raise ValueError(f"method={self.method!r}: give one of {list(SIZES)}.")
        check_count("size", self.size)
        size = SIZES[self.method] if self.size is None else int(self.size)
        if self.method == "minirocket":
            return FixedConvolutions.learnt(X, size, 1, random)
        if self.method == "multirocket":
            return WithDifferences.fixed(X, size, random)
        return ScaledCounts.learnt(X, WithDifferences.competing(X, size, random))
