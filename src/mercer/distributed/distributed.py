"""The estimator of this room: a learner of Mercer that fits and predicts over partitions."""

from __future__ import annotations

from operator import add
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.distributed import on_dask
from mercer.distributed.engine import Partition
from mercer.distributed.fits import PartitionedRows, aligned, engine_of, fit_over, named
from mercer.samples import SamplesLike
from mercer.threads import fitting, forget


def _has(name: str):
    return lambda self: hasattr(self._local, name)


class Distributed(MetaEstimatorMixin, BaseEstimator):
    """A learner over partitions of rows: dask arrays and data frames in, and out.

    Parameters
    ----------
    estimator : estimator
        What is fitted: an `~mercer.AdditiveRegressor` or `~mercer.AdditiveClassifier`, a
        `~mercer.KernelRidge` or `~mercer.KernelRidgeClassifier`, or a `~mercer.KernelSearchCV`
        around any learner. Any learner that is fitted already can predict.
    client : distributed.Client, Engine or None
        Where work is done. None means the current client of ``dask.distributed``, or threads of
        this process if there is none.

    Attributes
    ----------
    estimator_ : estimator
        The ordinary learner, fitted.
    classes_ : ndarray of shape (n_classes,)
        Those of ``estimator_``, if it has any; so with ``n_features_in_`` and
        ``feature_names_in_``.

    Notes
    -----
    `AdditiveRegressor` counts rows in one round; bins are those of its own fit, and counts are the
    same to the last bit. For pairs of columns, and for the classes of `AdditiveClassifier`, a byte
    for each cell of all rows comes to this process, if ``memory`` of the learner has room for them.
    Ridge regression is of low rank
    (``solver="auto"`` or "low_rank"), by the normal equations: each round moves 8 rank² bytes for
    each partition, and the centres are chosen among 20,000 rows of the table, drawn with
    ``random_state``; so with at most as many rows the machine is that of its own fit. With
    ``solver="conjugate_gradient"`` it is exact: all rows are sent to all workers, which multiply
    strips of K with a vector in each step. A search tries each fold of the candidates of one kernel
    as a task.

    Partitions are tasks, which are run anew elsewhere if their worker is killed. A partition is in
    memory only while it is read, two or three times in a fit: ``X.persist()`` keeps it on the
    cluster. Sums are made in the order of the partitions, so that the same partitions have the same
    answer on any cluster.

    X may also be an array, a data frame or a list of this process, which is cut and sent.

    Examples
    --------
    >>> from mercer import AdditiveRegressor
    >>> from mercer.distributed import Distributed
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> model = Distributed(AdditiveRegressor(pairs=0)).fit(X, np.sin(3 * X[:, 0]))
    >>> model.to_local().predict([[0.5, 0.0]]).round(1)
    array([1.])
    """

    def __init__(self, estimator: Any, client: object = None):
        self.estimator = estimator
        self.client = client

    @fitting
    def fit(
        self,
        X: SamplesLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **fit_params: object,
    ) -> Self:
        """Fit to the rows of a collection, or of this process.

        Parameters
        ----------
        X : dask array or data frame, or samples (n)
        y : collection of the same partitions, or array-like
            An array-like y needs an X of known chunks.
        sample_weight : as y, optional
        **fit_params
            Of `KernelSearchCV.fit`, such as ``groups``: arrays of this process.

        Raises
        ------
        ClusterLostError
            The cluster has gone away.
        ValueError
            Partitions have other columns, missing values, or other numbers of rows in y; the
            message names the partition.
        """
        forget(self)
        rows, engine = PartitionedRows(X, y, sample_weight), engine_of(self.client)
        self.estimator_ = fit_over(clone(self.estimator), engine, rows, fit_params)
        return self

    def to_local(self) -> Any:
        """The ordinary learner, fitted, which needs no cluster: `mercer.save` writes it."""
        check_is_fitted(self)
        return self._local

    @property
    def _local(self) -> Any:
        return vars(self).get("estimator_", self.estimator)

    def __sklearn_is_fitted__(self) -> bool:
        try:
            check_is_fitted(self._local)
        except Exception:
            return False
        return True

    @available_if(_has("predict"))
    def predict(self, X: SamplesLike) -> Any:
        """Predictions of the rows of X; for a collection they are computed when you compute it."""
        return self._answers("predict", X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: SamplesLike) -> Any:
        """Probabilities of the classes, likewise."""
        return self._answers("predict_proba", X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: SamplesLike) -> Any:
        """Outputs of a classifier, likewise."""
        return self._answers("decision_function", X)

    @available_if(_has("transform"))
    def transform(self, X: SamplesLike) -> Any:
        """Features of the rows of X, likewise."""
        return self._answers("transform", X)

    def score(self, X: SamplesLike, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy of a classifier, or R² of a regression, over the rows of X."""
        found, y, w = PartitionedRows(self.predict(X), y, sample_weight).gathered()
        measure = accuracy_score if is_classifier(self._local) else r2_score
        return float(measure(np.asarray(y), np.asarray(found), sample_weight=w))

    def _answers(self, method: str, X: Any) -> Any:
        """The answers of a method for all rows."""
        check_is_fitted(self)
        if on_dask.is_collection(X):
            example = self._example(method, X)
            return on_dask.collected(_answered, X, (self._local, method), example)
        engine = engine_of(self.client)
        parts = engine.put(PartitionedRows(X).sources(engine))
        given = engine.broadcast((self._local, method))
        return np.concatenate(engine.reduce(add, engine.map(_found, parts, given)))

    def _example(self, method: str, X: Any) -> np.ndarray:
        """The result of the method for two rows like those of X."""
        if on_dask.numeric_array(X):
            some = np.zeros((2, *X.shape[1:]), X.dtype)
        elif hasattr(X, "_meta_nonempty"):
            some = X._meta_nonempty
        else:
            some = X[:2].compute()
        return np.asarray(getattr(self._local, method)(some))

    def __getattr__(self, name: str) -> Any:
        """``classes_`` and others that `to_local` has, under scikit-learn's names."""
        if name in ("classes_", "n_features_in_", "feature_names_in_") and "estimator" in vars(
            self
        ):
            return getattr(self._local, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_clone__(self) -> Distributed:
        return type(self)(clone(self.estimator), self.client)  # a client cannot be copied

    def __getstate__(self) -> dict[str, Any]:
        """The state without the client, which belongs to this process."""
        state: Any = super().__getstate__()
        return {**state, "client": None}

    def __sklearn_tags__(self):
        tags = get_tags(self.estimator)
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        return tags


def _answered(block: Any, given: tuple[Any, str]) -> np.ndarray:
    model, method = given
    return np.asarray(getattr(model, method)(aligned(block)))


def _found(part: Partition, given: tuple[Any, str]) -> list[np.ndarray]:
    with named(part):
        return [_answered(part.X, given)]
