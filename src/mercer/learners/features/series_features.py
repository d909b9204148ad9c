"""What transformers of time series have in common: a map, learnt once, and applied in strips."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.kernels.convolutions import FeatureMap
from mercer.learners.base import check_seed, finite_fit, finite_values
from mercer.samples import Series, as_samples, kind_named
from mercer.streams import as_chunks, draw_rows
from mercer.threads import fitting, forget, ordered_map

STRIP = 2**22  # points times features of which one thread takes care at a time
LEARNT_FROM = 1000  # series of a stream


@estimator
class SeriesFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Abstract: features of time series by a map that `_learn` makes.

    Parameters
    ----------
    random_state : int, RandomState or None
        Seed of all that is drawn.
    """

    _: KW_ONLY
    random_state: Any = None
    n_jobs: int | None = None

    @fitting
    @finite_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the map from series X; y is not used."""
        check_seed(self.random_state)
        forget(self)
        X = as_samples(X, "series", reader=type(self).__name__)
        self.map_: FeatureMap = self._learn(X, check_random_state(self.random_state))
        self.X_fit_: Series = X[:0]
        return self

    @fitting
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
        strips = range(0, len(X), step)

        def features(s: int) -> np.ndarray:
            return self.map_(X[s : s + step])

        return np.concatenate(list(ordered_map(features, strips, self.n_jobs)))

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
