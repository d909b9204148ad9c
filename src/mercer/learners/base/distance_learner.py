"""What all learners on distances do with their samples and their distance, in one place.

As `KernelLearner` for kernels: the distance that ``metric=`` names encodes the samples, so that a
learner does not ask what a sample is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.distances import (
    Binary,
    BrayCurtis,
    Canberra,
    Comparison,
    CorrelationGap,
    CosineGap,
    Dice,
    Distance,
    Edit,
    FromFunction,
    Haversine,
    Jaccard,
    JaroWinkler,
    KernelDistance,
    Mahalanobis,
    Minkowski,
    Mixed,
    NanEuclidean,
    Precomputed,
    SquaredEuclidean,
    check_weights,
)
from mercer.estimator import estimator
from mercer.gram import PlaceOfLearner
from mercer.kernels import Kernel
from mercer.learners.base.training import Training, check_training, encode_like_fitted
from mercer.samples import Samples, SamplesLike, describe, float_array, is_number, kind_named
from mercer.search import Index, NeighbourGraph, fit_index
from mercer.spoken import meant
from mercer.threads import forget, ordered_map, raise_if_stopped

STRIP = 512  # rows of a task, where all distances to some samples are wanted
GRAPH = "graph"  # the metric that reads a graph of neighbours with its rows and its distance
WEIGHTS = {"w": "weights"}


def _of_graph(X: object) -> Distance:
    """The distance of a graph of neighbours."""
    if not isinstance(X, NeighbourGraph):
        raise TypeError(
            f"X is {describe(X)}, but metric='graph' reads a fitted mercer.search.NeighbourGraph: "
            "give one, or another metric."
        )
    check_is_fitted(X)
    return as_distance(X.distance)


#: name -> (constructor, the keys of ``metric_params`` that it reads, with our names)
NAMED: dict[str, tuple[Callable[..., Distance], dict[str, str]]] = {
    "minkowski": (Minkowski, {"p": "p", **WEIGHTS}),
    "p": (Minkowski, {"p": "p", **WEIGHTS}),
    "euclidean": (partial(Minkowski, 2.0), WEIGHTS),
    "l2": (partial(Minkowski, 2.0), WEIGHTS),
    "manhattan": (partial(Minkowski, 1.0), WEIGHTS),
    "cityblock": (partial(Minkowski, 1.0), WEIGHTS),
    "l1": (partial(Minkowski, 1.0), WEIGHTS),
    "chebyshev": (partial(Minkowski, np.inf), WEIGHTS),
    "infinity": (partial(Minkowski, np.inf), WEIGHTS),
    "hamming": (partial(Minkowski, 0.0), WEIGHTS),
    "seuclidean": (partial(Minkowski, 2.0), {"V": "weights"}),
    "mahalanobis": (Mahalanobis, {"V": "covariance", "VI": "precision"}),
    "sqeuclidean": (SquaredEuclidean, WEIGHTS),
    "nan_euclidean": (NanEuclidean, WEIGHTS),
    "haversine": (Haversine, {}),
    "canberra": (Canberra, WEIGHTS),
    "braycurtis": (BrayCurtis, WEIGHTS),
    "cosine": (CosineGap, {}),
    "correlation": (CorrelationGap, WEIGHTS),
    "jaccard": (Jaccard, WEIGHTS),
    "dice": (Dice, WEIGHTS),
    "sokalsneath": (partial(Binary, "sokalsneath"), WEIGHTS),
    "rogerstanimoto": (partial(Binary, "rogerstanimoto"), WEIGHTS),
    "sokalmichener": (partial(Binary, "rogerstanimoto"), WEIGHTS),
    "russellrao": (partial(Binary, "russellrao"), WEIGHTS),
    "yule": (partial(Binary, "yule"), WEIGHTS),
    "precomputed": (Precomputed, {}),
    "edit": (Edit, {}),
    "levenshtein": (Edit, {}),
    "jaro_winkler": (JaroWinkler, {}),
    "gower": (Mixed.gower, WEIGHTS),
    GRAPH: (_of_graph, {}),
}
#: what the names compare that do not compare vectors
KINDS = {
    "precomputed": "precomputed",
    **dict.fromkeys(("edit", "levenshtein", "jaro_winkler"), "strings"),
    "gower": "table",
}
#: names of distances that read missing numbers
GAPS = ("nan_euclidean", "gower")
#: what ``metric="minkowski"`` is called for some p
NORMS = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}


def as_distance(
    metric: Any, p: float = 2, metric_params: dict | None = None, X: SamplesLike | None = None
) -> Distance:
    """The distance object for a value of ``metric=``.

    Parameters
    ----------
    metric : Distance, Kernel, str or callable
        A kernel stands for the distance in its feature space. A callable takes two samples.
    p : float
        The power of "minkowski"; the other names do not read it.
    metric_params : dict, optional
        Further arguments, by scikit-learn's names: w, V, VI; or those of a callable.
    X : raw samples, optional
        "hamming" is the share of their columns that differs, "gower" learns their ranges, and
        "graph" takes the distance of a `mercer.search.NeighbourGraph`.

    Raises
    ------
    ValueError
        The name is unknown, or an argument is given that the metric does not have.
    TypeError
        The metric is something else.

    Examples
    --------
    >>> as_distance("minkowski", 1), as_distance("mahalanobis")
    (Minkowski(p=1), Mahalanobis())
    """
    if not (metric_params is None or isinstance(metric_params, dict)):
        raise TypeError(f"metric_params={metric_params!r}: give a dict, or None.")
    given = dict(metric_params or {})
    if isinstance(metric, (Distance, Kernel)):
        known = p is None or (is_number(p) and p == 2)
        if given or not known:
            name = f"metric_params={given!r}" if given else f"p={p!r}"
            raise ValueError(
                f"{name} is given together with metric={metric!r}, which has its own parameters: "
                "set them there."
            )
        return metric if isinstance(metric, Distance) else KernelDistance(metric)
    if isinstance(metric, str):
        return _named(metric, p, given, X)
    if isinstance(metric, type) or not callable(metric):
        raise TypeError(
            f"metric={metric!r}: give a distance such as Minkowski(1), a kernel, a name or a "
            "function of two samples."
        )
    of_two: Any = partial(metric, **given) if given else metric
    return FromFunction(of_two)


def _named(name: str, p: float, given: dict, X: Any) -> Distance:
    """The distance of a name with its parameters."""
    if name not in NAMED:
        raise ValueError(
            f"metric={name!r} is not known.{meant(name, NAMED)} Give one of {sorted(NAMED)}, a "
            "distance object, a kernel, or a function of two rows, such as "
            "scipy.spatial.distance.jensenshannon."
        )
    constructor, reads = NAMED[name]
    unknown = [key for key in given if key not in reads]
    if unknown:
        raise ValueError(
            f"metric_params has {unknown[0]!r}, which metric={name!r} does not read: "
            + (f"give only {', '.join(reads)}." if reads else "leave it out.")
        )
    if name in ("minkowski", "p"):
        given = {"p": 2 if p is None else p, **given}
    elif name in ("jaccard", "dice"):  # of sets, whose items count alike, unless there are weights
        w = given.pop("w", None)
        constructor = constructor if w is None else partial(Binary, name, w)
    elif name == "hamming":
        w = np.ones(_count_columns(X)) if given.get("w") is None else float_array("w", given["w"])
        check_weights(w, shares=True)
        given["w"] = w / w.sum()
    elif name in ("gower", GRAPH):
        constructor = partial(constructor, X)
    elif name == "seuclidean":
        if "V" not in given:
            raise ValueError(
                "metric='seuclidean' needs metric_params={'V': the variance of each column}; "
                "metric='mahalanobis' learns variances and covariances."
            )
        V = float_array("V", given["V"])
        if not (V > 0).all():
            raise ValueError(f"V={given['V']!r}: give variances > 0.")
        given["V"] = 1 / V
    return constructor(**{reads[key]: value for key, value in given.items()})


def effective_metric(
    metric: object, p: float | None, metric_params: dict | None
) -> tuple[Any, dict]:
    """scikit-learn's ``effective_metric_`` and ``effective_metric_params_``.

    Examples
    --------
    >>> effective_metric("minkowski", 2, None), effective_metric("minkowski", 3, None)
    (('euclidean', {}), ('minkowski', {'p': 3, 'w': None}))
    """
    params = dict(metric_params or {})
    if not isinstance(metric, str) or metric != "minkowski":
        return metric, params
    p, w = params.pop("p", 2 if p is None else p), params.pop("w", None)
    if w is None and p in NORMS:
        return NORMS[p], params
    return metric, {**params, "p": p, "w": w}


def _count_columns(X: Samples) -> int:
    """The number of columns of raw vectors; 1 where they have none."""
    if isinstance(X, (list, tuple)):
        return len(X[0]) if len(X) and isinstance(X[0], (list, tuple, np.ndarray)) else 1
    shape = getattr(X, "shape", ())
    return int(shape[1]) if len(shape) == 2 else 1


@estimator
class DistanceLearner(BaseEstimator):
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
        of strings "edit" or "levenshtein" and "jaro_winkler"; of tables "gower"; "precomputed";
        "graph", for the rows and the distance of a `mercer.search.NeighbourGraph` that is X; or a
        symmetric function of two samples.
    metric_params : dict, optional
        Further arguments of a named metric (w, V, VI) or of a function.
    algorithm : {"auto", "brute", ...} or Index
        How to search, a name of ``mercer.search.ALGORITHMS``; "auto" takes what is likely to be
        the fastest, and scikit-learn's "ball_tree" the tree that the distance suits. An index that
        is not exact may find fewer neighbours (`mercer.search.Index`).

    Attributes
    ----------
    distance_ : Distance
        The distance, bound to the training samples.
    n_features_in_, feature_names_in_ : as in scikit-learn
        Only of samples that have columns.
    """

    _: KW_ONLY
    metric: Any = "minkowski"
    metric_params: dict[str, Any] | None = None
    algorithm: Any = "auto"
    memory: int | float | str | None = None
    n_jobs: int | None = None

    #: the attribute that a fit stores last: with it the learner is fitted
    fitted_by: ClassVar[str] = "X_fit_"

    def __sklearn_is_fitted__(self) -> bool:
        return self.fitted_by in vars(self)

    place = PlaceOfLearner()

    def make_training(
        self,
        X: SamplesLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
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
        if isinstance(self.metric, str) and self.metric == GRAPH:
            X = cast(NeighbourGraph, X).X_fit_
        encoded = distance.encode(X)
        training = check_training(
            self, X, encoded, y, sample_weight, targets=targets, numeric=numeric
        )
        self.distance_: Distance = distance.bind(training.X, training.y, training.weights)
        return training

    def encode_new(self, X: SamplesLike) -> Any:
        """Encode new samples with the codes of the training samples."""
        check_is_fitted(self)
        return encode_like_fitted(self, self.distance_, X)

    def distances_to(self, Z: Samples, X: Samples) -> np.ndarray:
        """The distances between encoded samples, (q, m)."""
        held = self.distance_.prepare(X)

        def strip(start: int) -> np.ndarray:
            raise_if_stopped()
            part = self.distance_.prepare(Z[start : start + STRIP], held)
            return self.distance_.block(part, held)

        parts = ordered_map(strip, range(0, Z.shape[0], STRIP), self.n_jobs)
        return np.concatenate(list(parts))

    def make_index(self, X: Samples) -> tuple[Index, str]:
        """An index of encoded rows of the training samples, and the name of its algorithm."""
        leaf_size = getattr(self, "leaf_size", None)
        return fit_index(
            X, self.distance_, self.algorithm, memory=self.memory, n_jobs=self.n_jobs,
            leaf_size=leaf_size, bound=True,
        )  # fmt: skip

    def keep_samples(self, X: Samples) -> None:
        """Keep the samples that predictions compare new samples with: the learner is fitted now."""
        self.X_fit_ = X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        kind_named(_kind_of(self.metric)).tag(tags.input_tags)
        tags.input_tags.positive_only = tags.input_tags.pairwise
        tags.input_tags.allow_nan = reads_missing(self.metric)
        return tags


def _kind_of(metric: object) -> str:
    """The kind of samples that ``metric=`` reads."""
    if isinstance(metric, Comparison):
        return metric.kind
    if isinstance(metric, str):
        return KINDS.get(metric, "vectors")
    return "objects" if callable(metric) else "vectors"


def reads_missing(metric: object) -> bool:
    """Whether numbers may be missing in the samples that ``metric=`` reads."""
    if isinstance(metric, Distance):
        return metric.reads_missing
    return isinstance(metric, str) and metric in GAPS
