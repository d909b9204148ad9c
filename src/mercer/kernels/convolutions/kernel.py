"""The kernel on time series of convolutions, whose features are finite."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.distances import Meaning
from mercer.kernels.base import Kernel
from mercer.kernels.convolutions.fixed import FixedConvolutions
from mercer.kernels.convolutions.pairs import ScaledCounts, WithDifferences, moments
from mercer.kernels.convolutions.plans import FeatureMap
from mercer.samples import Prepared, Series, is_whole

ROUNDING = 1e-12  # the spread of equal shares is no larger
COUNT, GROUPS = 10_000, 64  # of the features of MiniRocket, and of Hydra


class Convolutions(Kernel):
    r"""Convolution kernel :math:`k(x, z) = \langle φ(x), φ(z) \rangle / (\|φ(x)\| \|φ(z)\|)` with
    the features φ of MiniRocket and Hydra, in units of their spread over the training sample.

    Parameters
    ----------
    random_state : int >= 0, default=0
        Seed of all that is drawn: the series from whose responses biases are taken, the kernels of
        Hydra, and which channels each kernel reads.

    See Also
    --------
    mercer.MiniRocket, mercer.Hydra : The features alone, for linear machines on many series.
    GlobalAlignment : Compares the points of series themselves.

    Notes
    -----
    It is positive semidefinite. k is a correlation of two series over about 16,000 features, each
    of which tells how often, or how strongly, a short pattern occurs; where in the series it occurs
    does not count. A series takes some 10,000 operations for each point, and 130 KB for its
    features in float64; a pair takes one product of two rows. A single training series, or equal
    ones, have no spread, and k = 0.

    References
    ----------
    Dempster, Schmidt & Webb, "MiniRocket: a very fast (almost) deterministic transform for time
    series classification", KDD 2021.
    Dempster, Schmidt & Webb, "Hydra: competing convolutional kernels for fast and accurate time
    series classification", Data Mining and Knowledge Discovery 37, 2023.

    Examples
    --------
    >>> t = np.arange(60)
    >>> X = [np.sin(t / 4), np.sin(t / 4 + 2), np.sin(t), np.sin(t + 2)]
    >>> K = Convolutions()(X)
    >>> bool(K[0, 1] > 0.2), bool(K[0, 2] < -0.2)
    (True, True)
    """

    meaning = Meaning(
        "φ(x) · φ(z) / |φ(x)| |φ(z)|, φ of MiniRocket and Hydra",
        "how far two series have the same short patterns",
    )
    kind = "series"
    #: of a bound kernel: the two maps, and the means and the factors of the first one's features
    maps_: tuple[FeatureMap, FeatureMap]
    means_: np.ndarray
    factors_: np.ndarray

    def __init__(self, random_state: int = 0):
        self.random_state = random_state

    def validate(self) -> None:
        if not (is_whole(self.random_state) and 0 <= self.random_state < 2**32):
            raise ValueError(
                f"random_state={self.random_state!r}: give a whole number from 0 to 2**32 - 1."
            )

    def bind(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        self.validate()
        if hasattr(self, "maps_"):
            return self
        random, bound = np.random.RandomState(int(self.random_state)), self.copied()
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, float)
        shares = FixedConvolutions.learnt(X, COUNT, 1, random, weights)
        F = shares(X)
        means, spreads = moments(F, weights)
        counts = ScaledCounts.learnt(X, WithDifferences.competing(X, GROUPS, random), weights)
        bound.maps_ = (shares, counts)
        bound.means_ = means.astype(F.dtype)
        known = spreads > ROUNDING  # else a new row with another share would outweigh all else
        bound.factors_ = np.where(known, 1 / np.where(known, spreads, 1), 0)
        bound.factors_ = bound.factors_.astype(F.dtype)
        return bound

    def unbound(self) -> Self:
        return type(self)(self.random_state)

    def features(self, X: Any) -> np.ndarray:
        """φ, each row divided by its norm, (n, p); 0 where that is 0. Only of a bound kernel."""
        if not hasattr(self, "maps_"):
            raise ValueError(
                "Convolutions() learns its features from the training sample: call "
                "Convolutions().bind(X) first (learners call it)."
            )
        shares, counts = self.maps_
        F = shares(X)
        F -= self.means_.astype(X.dtype)
        F *= self.factors_.astype(X.dtype)
        F = np.hstack([F, counts(X)])
        norms = np.sqrt(np.einsum("ij,ij->i", F, F))[:, None]
        return np.divide(F, norms, out=np.zeros_like(F), where=norms > 0)

    def pair_cost(self, X: Series) -> float:
        return 2.0 * (COUNT + 100 * GROUPS)

    def prepare(self, X: Any, like: Any = None) -> Prepared:
        return X if isinstance(X, Prepared) else Prepared((self.features(X),))

    def block(self, X: Any, Z: Any) -> np.ndarray:
        X, Z = self.sides(X, Z)
        return X.parts[0] @ Z.parts[0].T

    def diag(self, X: Any) -> np.ndarray:
        F = self.prepare(X).parts[0]
        return np.einsum("ij,ij->i", F, F)
