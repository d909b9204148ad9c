"""Features of time series: a map, learnt once, and applied in strips.

Inner products of `SignatureFeatures` are on average values of the signature kernel;
`WarpingFeatures` are made of distances to short random series; `ConvolutionFeatures` come from
convolutions.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.distances import DTW
from mercer.estimator import Seed, estimator
from mercer.kernels import FeatureMap, FixedConvolutions, ScaledCounts, Signature, WithDifferences
from mercer.learners.base import (
    check_count,
    check_positive,
    check_seed,
    finite_fit,
    finite_values,
    is_auto,
)
from mercer.persistence import fields, floats, number
from mercer.samples import Series, as_samples, kind_named
from mercer.streams import as_chunks, draw_rows
from mercer.threads import forget, ordered_map

STRIP = 2**22  # points times features of which one thread takes care at a time
LEARNT_FROM = 1000  # series of a stream


@estimator
class SeriesFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Abstract: features of time series by a map that `_learn` makes.

    Parameters
    ----------
    random_state : int, RandomState or None
        Seed of all that is drawn.

    Attributes
    ----------
    map_ : callable
        The map of encoded series.
    X_fit_ : Series of no rows
        The form that series must have.
    """

    _: KW_ONLY
    random_state: Seed = None
    n_jobs: int | None = None

    @finite_fit
    def fit(self, X: Any, y: object = None) -> Self:
        """Learn the map from series X; y is not used."""
        check_seed(self.random_state)
        forget(self)
        X = as_samples(X, "series", reader=type(self).__name__)
        self.map_: FeatureMap = self._learn(X, check_random_state(self.random_state))
        self.X_fit_: Series = X[:0]
        return self

    @finite_fit
    def fit_chunks(self, chunks: Any) -> Self:
        """Learn the map from 1,000 series, drawn from all of a stream.

        ``chunks.through(self)`` is the stream of the features.

        Parameters
        ----------
        chunks : Chunks, or what it takes
            Its targets are not used.
        """
        check_seed(self.random_state)
        random = check_random_state(self.random_state)
        return self.fit(draw_rows(as_chunks(chunks), LEARNT_FROM, random).X)

    @finite_values
    def transform(self, X: Any) -> np.ndarray:
        """Features of series X (q), of shape (q, features), in the precision of the fit."""
        check_is_fitted(self)
        X = as_samples(X, "series", like=self.X_fit_, reader=type(self).__name__)
        work = max(1, int(X.lengths.max(initial=1))) * self.map_.count
        step = max(1, STRIP // work)
        out = np.empty((len(X), self.map_.count), X.dtype)

        def put(s: int) -> None:
            out[s : s + step] = self.map_(X[s : s + step])

        for _ in ordered_map(put, range(0, len(X), step), self.n_jobs):
            pass
        return out

    @abstractmethod
    def _learn(self, X: Series, random: np.random.RandomState) -> FeatureMap:
        """The map, from encoded series."""

    @property
    def _n_features_out(self) -> int:
        return self.map_.count

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        kind_named("series").tag(tags.input_tags)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


MOST_LEVELS = 64


@fields(
    levels=number(most=lambda of: MOST_LEVELS, least=1),
    frequencies=floats(2, length=lambda of: len(of.phases)),
    phases=floats(1),
)
@dataclass(frozen=True)
class IteratedWaves:
    """For each level the iterated sums of steps of random waves, after the number 1 of level 0.

    The waves √2 cos(ω · x + b) of place p of all products are rows p D, ..., p D + D - 1 of the
    frequencies and phases.
    """

    kernel: Signature
    levels: int
    frequencies: np.ndarray  # (levels D, channels)
    phases: np.ndarray  # (levels D,)

    @classmethod
    def drawn(cls, X: Series, kernel: Signature, each: int, random: np.random.RandomState):
        """So many waves for each place of a product, for a kernel with its length scale."""
        levels, channels = int(kernel.levels or 1), kernel.path(X[:1]).channels
        W = random.normal(size=(levels * each, channels)) / float(kernel.length_scale or 1)
        return cls(kernel, levels, W, random.uniform(0, 2 * np.pi, levels * each))

    @property
    def count(self) -> int:
        return 1 + len(self.phases)

    def __call__(self, X: Series) -> np.ndarray:
        points = _side_by_side(self.kernel.path(X))
        each = len(self.phases) // self.levels
        F = np.ones((len(X), self.count))
        before = np.ones(1)  # the products of all earlier steps, for each step
        for level in range(self.levels):
            waves = slice(level * each, level * each + each)
            steps = np.diff(self._waves(points, waves), axis=1) * before
            F[:, 1:][:, waves] = steps.sum(axis=1) / np.sqrt(each)
            before = np.zeros_like(steps)
            np.cumsum(steps[:, :-1], axis=1, out=before[:, 1:])
        return F.astype(X.dtype, copy=False)

    def _waves(self, points: np.ndarray, waves: slice) -> np.ndarray:
        """The values of some waves at points (n, T, d), of shape (n, T, waves)."""
        angles = np.zeros((*points.shape[:2], waves.stop - waves.start)) + self.phases[waves]
        # channel by channel: a matrix product rounds one series alone in another way
        for c, frequencies in enumerate(self.frequencies[waves].T):
            angles += points[:, :, c, None] * frequencies
        return np.sqrt(2) * np.cos(angles, out=angles)


@estimator
class SignatureFeatures(SeriesFeatures):
    r"""Random Fourier signature features: :math:`\mathrm{E}[φ(x)^\top φ(z)] = k(x, z)`, where k is
    `mercer.kernels.Signature` with steps in the space of a Gaussian kernel.

    With D features for each level q,

    .. math::
        φ_{q k}(x) = \frac{1}{\sqrt{D}} \sum_{i_1 < \cdots < i_q} \; \prod_{r=1}^{q}
        \bigl( w_{r k}(x_{i_r + 1}) - w_{r k}(x_{i_r}) \bigr), \qquad
        w_{r k}(u) = \sqrt 2 \, \cos(ω_{r k}^\top u + b_{r k}),

    and the feature 1 of level 0. The ω are normal, with the deviation 1 / σ, and the b uniform.

    Parameters
    ----------
    levels : int in 1 .. 64, default=3
        How many steps are looked at together.
    length_scale : float > 0 or "auto", default="auto"
        σ of the Gaussian kernel between points, in the unit of the values. "auto" is the median
        distance between points of the training series.
    time : bool, default=False
        Whether time, from 0 to 1, is a channel more. Without it the features do not see how fast a
        path is run through.
    basepoint : bool, default=False
        Whether each series begins with a step from 0.
    n_components : int >= 1, default=1000
        About how many features: 1 and a multiple of the levels, at least 1 + levels.

    See Also
    --------
    mercer.kernels.Signature : The kernel, whose work grows with the square of the series.
    ConvolutionFeatures : Other features of series.

    Notes
    -----
    Inner products of features are a positive semidefinite kernel whatever is drawn; their error
    falls as 1 / √D, and is larger for more levels. Values grow with the lengths: let
    ``sklearn.preprocessing.Normalizer`` follow if lengths differ, which gives the normalised
    kernel. A series of T points with d channels takes T (d + 3) operations and T cosines for each
    feature. Series in one strip are filled up to one length.

    The paper takes the cosine and the sine of each frequency, without b, and 2^q features for q
    independent frequencies. Of as many features those here have about the same error for one and
    two levels, and on three sets of series the same or a smaller one for three and five.

    References
    ----------
    Tóth, Oberhauser & Szabó, "Random Fourier signature features", SIAM J. Math. Data Sci. 7, 2025
    (arXiv 2023).

    Examples
    --------
    >>> from mercer import SignatureFeatures
    >>> from mercer.kernels import Signature
    >>> X = [np.sin(np.arange(20) / 4), np.cos(np.arange(30) / 9)]
    >>> model = SignatureFeatures(2, length_scale=1.0, n_components=20_000, random_state=0)
    >>> phi = model.fit_transform(X)
    >>> bool(np.abs(phi @ phi.T - Signature(2, length_scale=1.0)(X)).max() < 0.1)
    True
    """

    levels: int = 3
    length_scale: float | str = "auto"
    _: KW_ONLY
    time: bool = False
    basepoint: bool = False
    n_components: int = 1000

    def _learn(self, X: Series, random: np.random.RandomState) -> FeatureMap:
        """The map of a method, learnt from training series."""
        check_count("n_components", self.n_components, optional=False)
        if self.levels is None:
            raise ValueError("levels=None: features have a last level: give an integer.")
        if self.length_scale is None:
            raise ValueError(
                "length_scale=None: features are of steps in the space of a Gaussian kernel: give "
                'a number > 0, or "auto".'
            )
        kernel = Signature(self.levels, self.length_scale, self.time, self.basepoint)
        each = max(1, int(self.n_components - 1) // int(kernel.levels or 1))
        return IteratedWaves.drawn(X, kernel.bind(X), each, random)


def _side_by_side(X: Series) -> np.ndarray:
    """Points (n, T, d) of the longest T; the last point of a shorter series is repeated, which adds
    steps of 0."""
    longest = np.arange(X.lengths.max(initial=1))
    return X.values[X.starts[:-1, None] + np.minimum(longest, X.lengths[:, None] - 1)]


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

    See Also
    --------
    mercer.distances.DTW : The distance, the root of a sum of squared gaps.
    ConvolutionFeatures : Other features of series.

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
        """The map of a method, learnt from training series."""
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
        """The map of a method, learnt from training series."""
        if self.method not in SIZES:
            raise ValueError(f"method={self.method!r}: give one of {list(SIZES)}.")
        check_count("size", self.size)
        size = SIZES[self.method] if self.size is None else int(self.size)
        if self.method == "minirocket":
            return FixedConvolutions.learnt(X, size, 1, random)
        if self.method == "multirocket":
            return WithDifferences.fixed(X, size, random)
        return ScaledCounts.learnt(X, WithDifferences.competing(X, size, random))
