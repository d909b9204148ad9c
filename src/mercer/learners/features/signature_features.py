"""Features of time series whose inner products are on average values of the signature kernel."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from mercer.estimator import estimator
from mercer.kernels import Signature
from mercer.kernels.convolutions import FeatureMap
from mercer.learners.base import check_count
from mercer.learners.features.series_features import SeriesFeatures
from mercer.persistence import fields, floats, number
from mercer.samples import Series

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

    Attributes
    ----------
    map_ : callable
        The map of encoded series.
    X_fit_ : Series of no rows
        The form that series must have.

    See Also
    --------
    mercer.kernels.Signature : The kernel, whose work grows with the square of the series.
    MiniRocket : Other features of series.

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
