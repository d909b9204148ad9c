"""Random features: vectors whose inner products are on average the values of a kernel."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.learners.base import (
    KernelLearner,
    NamedKernel,
    check_count,
    finite_fit,
    finite_values,
    remember_columns,
)
from mercer.learners.features.random_maps import RandomMap, random_map
from mercer.streams import as_chunks, draw_rows
from mercer.threads import fitting, ordered_map

STRIP = 2**19  # numbers that one thread computes at a time
LEARNT_FROM = 10_000  # rows of a stream from which a kernel learns


@estimator
class RandomFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NamedKernel, KernelLearner):
    r"""Random features of a kernel on vectors: :math:`\mathrm{E}[φ(x)^\top φ(z)] = k(x, z)`.

    The error of an inner product falls as 1 / √D with the number D of features. A linear method on
    them is a kernel method, whose cost does not grow with the number of training rows.

    Parameters
    ----------
    kernel : kernel object or name, default="rbf"
        Three families have random features, also times a number. Radial kernels of a Minkowski
        distance with p <= 2 and of its linear maps, such as `RBF`, `Laplacian`, `Matern`,
        `RationalQuadratic` and `ExponentialPower`, have waves: the cosine and the sine of random
        frequencies. `ArcCosine` of one layer has units of a random network, and `Polynomial` the
        tensor sketch. All other kernels, and other samples, have `Nystroem`.
    n_components : int >= 1, default=100
        D.
    random_state : int, RandomState or None
        Seed of the map.

    Attributes
    ----------
    map_ : callable
        The map of encoded rows.
    kernel_ : Kernel
        The kernel, bound to the training samples.
    n_features_in_, feature_names_in_
        The same as in scikit-learn.

    Notes
    -----
    Frequencies are drawn from the exact law of each kernel: stable laws, mixed by a gamma law for
    Matérn and rational kernels. Work: n d D operations for waves and units; n p (d + D log D) for
    the sketch of degree p, and sparse rows stay sparse. Of a smooth kernel with few columns
    `Nystroem` is nearer with the same number of features; random features need no values of the
    kernel, and nothing of the samples but the number of columns.

    References
    ----------
    Rahimi & Recht, "Random features for large-scale kernel machines", NIPS 2007.
    Cho & Saul, "Kernel methods for deep learning", NIPS 2009.
    Pham & Pagh, "Fast and scalable polynomial kernels via explicit feature maps", KDD 2013.

    Examples
    --------
    >>> from mercer import RandomFeatures
    >>> from mercer.kernels import Laplacian
    >>> X = np.array([[0.0, 1.0], [0.5, 0.0]])
    >>> phi = RandomFeatures(Laplacian(), n_components=20_000, random_state=0).fit_transform(X)
    >>> bool(np.abs(phi @ phi.T - Laplacian()(X)).max() < 0.02)
    True
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    n_components: int = 100

    fitted_by = "map_"
    _pairwise_callable = True

    @fitting
    @finite_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the map for the columns of X (n, d); y is not used."""
        check_count("n_components", self.n_components, optional=False)
        X = self.make_training(X, targets=False).X
        if not self.kernel_.reads.coordinates:
            raise ValueError(
                f"kernel={self.kernel_!r} has no random features, which only vectors have: give "
                "Nystroem the kernel, which takes samples of any kind."
            )
        random, columns = check_random_state(self.random_state), X.shape[1]
        self.map_: RandomMap = random_map(self.kernel_, columns, self.n_components, X.dtype, random)
        return self

    @fitting
    @finite_fit
    def fit_chunks(self, chunks: Any) -> Self:
        """Draw the map for the columns of a stream, and for a kernel that learns from its rows.

        Such a kernel reads 10,000 rows, drawn from all of it. ``chunks.through(self)`` is the
        stream of the features.

        Parameters
        ----------
        chunks : Chunks, or what it takes
            Its targets are not used.
        """
        random = check_random_state(self.random_state)
        return self.fit(draw_rows(as_chunks(chunks), LEARNT_FROM, random).X)

    @finite_values
    def transform(self, X: Any) -> np.ndarray:
        """Features of rows X (q, d), of shape (q, n_components)."""
        check_is_fitted(self)
        encoded = self.kernel_.encode(X)
        remember_columns(self, X, encoded, reset=False)
        step = max(1, STRIP // max(self.map_.count, encoded.shape[1]))
        strips = range(0, encoded.shape[0], step)

        def features(s: int) -> np.ndarray:
            return self.map_(encoded[s : s + step])

        return np.concatenate(list(ordered_map(features, strips, self.n_jobs)))

    @property
    def _n_features_out(self) -> int:
        return self.map_.count

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
