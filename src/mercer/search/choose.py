"""The choice of an index by its name, for all that search for neighbours."""

from __future__ import annotations

from typing import Any

from mercer.distances import Distance
from mercer.search.brute import BruteForce
from mercer.search.graph import GraphIndex
from mercer.search.index import Index
from mercer.search.lsh import LSHIndex

__all__ = ["ALGORITHMS", "fit_index"]

#: the names of ``algorithm=``, beside "auto"
ALGORITHMS: dict[str, type[Index]] = {"brute": BruteForce, "lsh": LSHIndex, "graph": GraphIndex}


def fit_index(
    X: Any,
    distance: Distance,
    algorithm: str | Index = "auto",
    *,
    memory: int | float | str | None = None,
    n_jobs: int | None = None,
) -> tuple[Index, str]:
    """An index of the rows of X, and the name of its algorithm.

    Parameters
    ----------
    X : samples
        Whatever the distance reads.
    distance : Distance
    algorithm : {"auto", "brute", "lsh", "graph"} or Index, default="auto"
        "auto" takes the one that is likely to be the fastest. An index of your own is cloned, and
        its distance, memory and threads are replaced by those given here.
    memory : int, str or None
    n_jobs : int or None

    Returns
    -------
    index : Index
        Fitted.
    name : str
        For the attribute ``algorithm_``: "brute", say, or the name of a class.

    Raises
    ------
    ValueError
        The name is unknown.

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
    if not isinstance(algorithm, str) or algorithm not in ("auto", *ALGORITHMS):
        names = ", ".join(repr(name) for name in ["auto", *ALGORITHMS])
        raise ValueError(f"algorithm={algorithm!r}: give one of {names}, or an Index.")
    name = "brute" if algorithm == "auto" else algorithm
    return ALGORITHMS[name](**options).fit(X), name
