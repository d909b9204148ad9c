"""What all learners on distances do with their samples and their distance, in one place.

As `KernelLearner` for kernels: the distance that ``metric=`` names encodes the samples, so that a
learner does not ask what a sample is.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.distances import Comparison, Distance
from mercer.estimator import estimator
from mercer.learners.base.kernel_learner import Training, check_training, encode_like_fitted
from mercer.learners.base.metric_names import GAPS, KINDS, as_distance
from mercer.learners.base.placed import Placed
from mercer.samples import kind_named
from mercer.threads import forget


@estimator
class DistanceLearner(Placed, BaseEstimator):
    """Abstract: a learner that compares samples by ``metric``; it may have the parameter ``p``.

    This class sets the fitted attributes ``distance_`` (bound to the training samples) and, by
    `keep_samples`, ``X_fit_`` (the encoded samples that predictions compare with).

    Parameters
    ----------
    metric : distance object, kernel, name or callable
        A distance of `mercer.distances`, on samples of its kind; a kernel, for the distance in its
        feature space; a name of scikit-learn's: "minkowski", "euclidean", "sqeuclidean",
        "seuclidean", "manhattan", "chebyshev", "mahalanobis", "cosine", "correlation", "canberra",
        "braycurtis", "haversine", "nan_euclidean" (numbers may be missing), "hamming", and of 0 and
        1 "jaccard", "dice", "rogerstanimoto", "sokalmichener", "sokalsneath", "russellrao", "yule";
        of strings "edit" or "levenshtein" and "jaro_winkler"; of tables "gower"; "precomputed"; or
        a symmetric function of two samples.
    metric_params : dict, optional
        Further arguments of a named metric (w, V, VI) or of a function.
    algorithm : {"auto", "brute", ...} or Index
        How to search, a name of ``mercer.search.ALGORITHMS``; "auto" takes what is likely to be
        the fastest, and scikit-learn's "ball_tree" the tree that the distance suits. An index that
        is not exact may find fewer neighbours (`mercer.search.Index`).
    """

    _: KW_ONLY
    metric: Any = "minkowski"
    metric_params: dict[str, Any] | None = None
    algorithm: Any = "auto"

    def make_training(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        targets: bool = True,
        numeric: bool = True,
    ) -> Training:
        """Encode and check the training samples, and bind the distance to them."""
        forget(self)
        _ = self.place  # it is checked before the samples are read
        params = self.get_params(deep=False)
        distance = as_distance(self.metric, params.get("p", 2), params.get("metric_params"), X)
        distance.validate()
        encoded = distance.encode(X)
        training = check_training(
            self, X, encoded, y, sample_weight, targets=targets, numeric=numeric
        )
        self.distance_: Distance = distance.bind(training.X, training.y, training.weights)
        return training

    def encode_new(self, X: Any) -> Any:
        """Encode new samples with the codes of the training samples."""
        check_is_fitted(self)
        return encode_like_fitted(self, self.distance_, X)

    def keep_samples(self, X: Any) -> None:
        """Keep the samples that predictions compare new samples with: the learner is fitted now."""
        self.X_fit_ = X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        kind_named(_kind_of(self.metric)).tag(tags.input_tags)
        tags.input_tags.positive_only = tags.input_tags.pairwise
        tags.input_tags.allow_nan = reads_missing(self.metric)
        return tags


def _kind_of(metric: Any) -> str:
    """The kind of samples that ``metric=`` reads."""
    if isinstance(metric, Comparison):
        return metric.kind
    if isinstance(metric, str):
        return KINDS.get(metric, "vectors")
    return "objects" if callable(metric) else "vectors"


def reads_missing(metric: Any) -> bool:
    """Whether numbers may be missing in the samples that ``metric=`` reads."""
    if isinstance(metric, Distance):
        return metric.reads_missing
    return isinstance(metric, str) and metric in GAPS
