"""Turn what a user gives as ``metric=`` into a `Distance`: an object, a name or a function."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mercer.distances import (
    Binary,
    BrayCurtis,
    Canberra,
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
from mercer.kernels import Kernel
from mercer.samples import float_array, is_number

WEIGHTS = {"w": "weights"}
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


def as_distance(metric: Any, p: Any = 2, metric_params: Any = None, X: Any = None) -> Distance:
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
        "hamming" is the share of their columns that differs, and "gower" learns their ranges.

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


def _named(name: str, p: Any, given: dict, X: Any) -> Distance:
    if name not in NAMED:
        close = difflib.get_close_matches(name, NAMED, 1)
        raise ValueError(
            f"metric={name!r} is not known"
            + (f"; did you mean {close[0]!r}?" if close else ".")
            + f" Give one of {sorted(NAMED)}, a distance object, a kernel, or a function of two "
            f"rows, such as scipy.spatial.distance.jensenshannon."
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
    elif name == "gower":
        constructor = partial(Mixed.gower, X)
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


def effective_metric(metric: Any, p: Any, metric_params: dict | None) -> tuple[Any, dict]:
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


def _count_columns(X: Any) -> int:
    """The number of columns of raw vectors; 1 where they have none."""
    if isinstance(X, (list, tuple)):
        return len(X[0]) if len(X) and isinstance(X[0], (list, tuple, np.ndarray)) else 1
    shape = getattr(X, "shape", ())
    return int(shape[1]) if len(shape) == 2 else 1
