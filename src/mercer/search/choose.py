"""The choice of an index, by its name or by what the searches are likely to cost.

A search in a tree reads some of its leaves. How many is measured for two samples of the rows, one
four times as large as the other; for all rows it is extrapolated from these two. The costs of a
leaf and of a row of brute force were measured on one machine, in numbers that do not depend on
other programs: the choice is the same each time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances import Coordinates, Distance
from mercer.samples import Samples, SamplesLike, check_count
from mercer.search.brute import BruteForce, KnownNeighbours
from mercer.search.descent import DescentIndex, vector_reading
from mercer.search.index import Index
from mercer.search.kd_tree import LEAF, BoxTree, KDTree
from mercer.search.lsh import LSHIndex
from mercer.search.metric_tree import MetricTree
from mercer.search.sample_descent import SampleDescentIndex
from mercer.search.vectors import NormedRows, Question

#: the names of ``algorithm=``, beside "auto"
ALGORITHMS: dict[str, type[Index]] = {
    "brute": BruteForce,
    "kd_tree": KDTree,
    "metric_tree": MetricTree,
    "lsh": LSHIndex,
    "descent": DescentIndex,
}

FEWEST = {"kd_tree": 2**11, "metric_tree": 2**13}  # rows from which on a tree may pay
COLUMNS = 128  # more of them are never worth a tree of boxes
PROBES, NEIGHBOURS = 32, 10  # queries that measure, and how many neighbours they look for
SAMPLE, PART = 2048, 512  # rows of the larger and of the smaller sample
CACHE = 2**20  # bytes that a core's cache holds
FEWER = 4  # only each fourth probe asks a metric tree, whose distances may be costly
PAYS = 0.1  # a metric tree compares few rows at a time, which takes several times as long for each


def fit_index(
    X: SamplesLike,
    distance: Distance,
    algorithm: str | Index = "auto",
    *,
    memory: int | float | str | None = None,
    n_jobs: int | None = None,
    leaf_size: int | None = None,
    bound: bool = False,
) -> tuple[Index, str]:
    """An index of the rows of X, and the name of its algorithm.

    Parameters
    ----------
    X : samples
        Whatever the distance reads.
    distance : Distance
    algorithm : str or Index, default="auto"
        "auto" takes the one of "brute", "kd_tree" and "metric_tree" that is likely to be the
        fastest; these give the same neighbours. "ball_tree", a name of scikit-learn's, is the tree
        that the distance suits: "kd_tree" between rows of numbers, otherwise "metric_tree". "lsh"
        and "descent" find most neighbours. An index of your own is cloned, and its distance, memory
        and threads are replaced by those given here. Where distances are a sparse matrix of known
        neighbours, "auto" and "brute" read it ("known").
    memory : int, str or None
    n_jobs : int or None
    leaf_size : int >= 1, optional
        Rows of a leaf of "metric_tree". The others do not read it.
    bound : bool, default=False
        X is encoded and the distance is bound to it, as in the fit of a learner.

    Returns
    -------
    index : Index
        A fitted index.
    name : str
        Value of the attribute ``algorithm_``: "brute", say, or the name of a class.

    Raises
    ------
    ValueError
        The name is unknown, or the algorithm does not suit the distance.

    Examples
    --------
    >>> from mercer.distances import Edit
    >>> index, name = fit_index(["anna", "hanna", "otto"], Edit())
    >>> name, index.query(["ann"], k=1)[1].tolist()
    ('brute', [[0]])
    """
    options = {"distance": distance, "memory": memory, "n_jobs": n_jobs}
    if isinstance(algorithm, Index):
        index = type(algorithm)(**algorithm.get_params(deep=False) | options)
        return index.fit(X), type(algorithm).__name__
    known = "auto", *ALGORITHMS, "ball_tree"
    if not isinstance(algorithm, str) or algorithm not in known:
        names = ", ".join(map(repr, known))
        raise ValueError(f"algorithm={algorithm!r}: give one of {names}, or an Index.")
    check_count("leaf_size", leaf_size)
    rows: Any = X
    if not bound:
        if not isinstance(distance, Distance):
            return BruteForce(**options).fit(X), "brute"  # which says what is wrong
        distance.validate()
        rows = distance.encode(X)
        distance = distance.bind(rows)
    name = _named(algorithm, rows, distance)
    if name == "metric_tree" and leaf_size is not None:
        options["leaf_size"] = leaf_size
    kind = KnownNeighbours if name == "known" else ALGORITHMS[name]
    if name == "descent" and vector_reading(distance, rows) is None:
        kind = SampleDescentIndex
    return kind(**options).fit_bound(rows, distance), name


def _named(algorithm: str, X: Any, distance: Distance) -> str:
    """The algorithm for encoded rows that a name stands for."""
    if algorithm in ("auto", "brute") and distance.known(X, X) is not None:
        return "known"
    if algorithm == "auto":
        return _likely_fastest(X, distance)
    if algorithm == "ball_tree":
        found = distance.coordinates(X[:1])
        return "metric_tree" if found is None or found.p < 1 else "kd_tree"
    return algorithm


def _likely_fastest(X: Samples, distance: Distance) -> str:
    """The algorithm for encoded rows."""
    n = X.shape[0]
    if n < min(FEWEST.values()):
        return "brute"
    # spread over the rows, whose order may mean something
    some = X[np.linspace(0, n - 1, SAMPLE + PROBES).astype(np.int64)]
    distance = distance.bind(some)
    probes = np.arange(SAMPLE + PROBES) % (SAMPLE // PROBES + 1) == 0
    found = distance.coordinates(some)
    if found is not None:
        return "kd_tree" if _boxes_pay(found, probes, n) else "brute"
    if n < FEWEST["metric_tree"] or not distance.metric:
        return "brute"
    return "metric_tree" if _vantages_pay(distance, some, probes, n) else "brute"


def _boxes_pay(found: Coordinates, probes: np.ndarray, n: int) -> bool:
    """Whether a query of n rows takes less time in a tree of boxes."""
    rows, p, weights = found
    columns = rows.shape[1]
    if p < 1 or columns > COLUMNS:
        return False
    asked = NormedRows(Coordinates(rows[probes], p, weights))
    read = []
    for size in (PART, SAMPLE):
        normed = NormedRows(Coordinates(rows[~probes][:: SAMPLE // size], p, weights))
        question = Question(asked.rows, np.full(PROBES, -1), asked.safe_with(normed.largest))
        shape = PROBES, NEIGHBOURS
        kept = np.empty(shape, rows.dtype), np.empty(shape, np.int64)
        read.append(BoxTree(normed).visit(question, *kept) / PROBES)
    leaves = min(_grown(read[0], read[1], n), n / LEAF)
    # nanoseconds, measured in float32 with 2 to 24 columns and 2,000 to 200,000 rows
    far = 2 if n * columns * rows.itemsize > CACHE else 1  # a leaf that is read from memory
    in_tree = 700 + leaves * far * (25 + 1.5 * columns)
    everything = 1500 + n * (0.3 + 0.022 * columns)
    return in_tree < everything


def _vantages_pay(distance: Distance, some: Any, probes: np.ndarray, n: int) -> bool:
    """Whether a query of n rows takes less time in a tree of vantage points."""
    rows, asked = some[np.flatnonzero(~probes)], some[np.flatnonzero(probes)[::FEWER]]
    left, limits = [], np.empty(0)
    for size in (PART, SAMPLE):
        tree = MetricTree(distance).fit(rows[:: SAMPLE // size])
        limits = tree.query(asked, NEIGHBOURS)[0][:, -1]
        left.append(tree.rows_left(asked, limits))
    keys, others = distance.key(asked), distance.key(rows)
    reach = 1.0  # share of the rows that brute force does not leave out by their keys
    if keys is not None and others is not None:
        reach = float((np.abs(keys[:, None] - others) <= limits[:, None]).mean())
    return _grown(left[0], left[1], n) < PAYS * reach * n


def _grown(fewer: float, more: float, n: int) -> float:
    """A count for n rows that grows from ``fewer`` to ``more`` with the sample, as a power of n."""
    power = np.clip(np.log(more / fewer) / np.log(SAMPLE / PART), 0, 1)
    return more * (n / SAMPLE) ** float(power)
