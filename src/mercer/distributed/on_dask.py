"""Dask: the engine of a client, and dask arrays and data frames as partitions. Nothing else of
Mercer imports it.

A round is one graph: workers make partitions, compute on them, add the results in pairs, and free
them. If a worker is killed, Dask computes its results again. Values that this process has sent
(broadcasts, and its own rows) are lost with their workers; then they are sent again, and the round
is run again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from mercer.distributed.engine import ClusterLostError, Engine, Partition
from mercer.persistence import need_mercer
from mercer.samples import Samples, SamplesLike
from mercer.spoken import a_type
from mercer.threads import one_thread

PATIENCE = 2.0  # seconds after which a round looks whether its values are still there
ROUNDS = 3  # times that a round is begun, before its tasks count as those that end the workers
RESTART = 30.0  # seconds in which workers that were ended must have begun again


def need_dask(name: str) -> None:
    """Raise ImportError if Dask is not installed; ``name`` is what needs it."""
    try:
        import_module("dask.array")
        import_module("distributed")
    except ImportError as error:
        raise ImportError(
            f'{name} needs Dask, which is not installed: pip install "mercer[dask]".'
        ) from error


def current_client() -> Any:
    """The client that this program has made last and not closed; None without one."""
    if "distributed" not in sys.modules:
        return None
    import distributed

    try:
        return distributed.get_client()
    except ValueError:
        return None


def is_collection(X: Samples | None) -> bool:
    """Whether X is a dask array or data frame, or another collection of Dask."""
    return "dask" in sys.modules and sys.modules["dask"].is_dask_collection(X)


# --- the engine ----------------------------------------------------------------------------------


class _Sent:
    """A value of this process, and the future of its copy on the cluster."""

    def __init__(self, value: Any, everywhere: bool):
        self.value, self.everywhere = value, everywhere
        self.future: Any = None

    @property
    def is_there(self) -> bool:
        """Whether a worker has the copy, as far as this process knows."""
        return self.future is not None and self.future.status == "finished"


class _Kept:
    """A handle whose value stays on the cluster, and its future."""

    def __init__(self, handle: object):
        self.handle = handle
        self.future: Any = None

    @property
    def is_there(self) -> bool:
        """Whether a worker has the value or makes it, as far as this process knows."""
        return self.future is not None and self.future.status in ("pending", "finished")


class _Task:
    """A function and its arguments, some of which are handles."""

    def __init__(self, function: Callable, arguments: tuple):
        self.function, self.arguments = function, arguments


class Block:
    """A source of rows that Dask makes: a delayed `Partition`."""

    def __init__(self, delayed: Any):
        self.delayed = delayed

    def __call__(self) -> Any:
        return self.delayed.compute(scheduler="synchronous")


class DaskEngine(Engine):
    """Tasks on the workers of a client of ``dask.distributed``.

    Parameters
    ----------
    client : distributed.Client

    Notes
    -----
    Each task uses one thread, for workers run as many tasks at a time as they have threads.
    """

    def __init__(self, client: object):
        need_dask("DaskEngine")
        import distributed

        if not isinstance(client, distributed.Client):
            raise TypeError(
                f"client={client!r}: give a distributed.Client, an Engine of mercer.distributed, "
                "or None."
            )
        if client.asynchronous:
            raise ValueError(
                f"client={client!r} is asynchronous: give one that was made without "
                "asynchronous=True."
            )
        self.client: Any = client
        self._threads()  # is it there?
        need_mercer(client)

    @property
    def tasks(self) -> int:  # type: ignore[override]
        return max(1, sum(self._threads().values()))

    def put(self, sources: Sequence[Callable[[], Any]]) -> list[Any]:
        return [s.delayed if isinstance(s, Block) else _Sent(s(), False) for s in sources]

    def broadcast(self, value: object) -> Any:
        return _Sent(value, True)

    def map(self, function: Callable, parts: Sequence[Any], *shared: object) -> list[Any]:
        return [_Task(function, (part, *shared)) for part in parts]

    def keep(self, parts: Sequence[Any]) -> list[Any]:
        return [_Kept(part) for part in parts]

    def reduce(self, function: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
        from distributed import KilledWorker

        sent: list[_Sent | _Kept] = []
        reason: Exception | None = None
        for _ in range(ROUNDS):
            future = None
            self._wait_for_workers()
            try:
                future = self.client.compute(self._tree(function, parts, sent))
                return self._result(future, sent)
            except KilledWorker as error:
                raise self._ended(error) from error
            except ClusterLostError:
                raise
            except (CancelledError, OSError, TimeoutError, RuntimeError) as error:
                if future is not None and future.status == "error":
                    raise  # an error of a task, such as a file that it lacks
                reason = error
                for each in sent:
                    each.future = None
        self._wait_for_workers()
        raise self._ended(reason) from reason

    def _result(self, future: Any, sent: list[_Sent | _Kept]) -> Any:
        """The value of a round; CancelledError if values that were sent for it are lost."""
        while True:
            try:
                return future.result(timeout=PATIENCE)
            except TimeoutError:
                if future.status == "error":
                    raise
                if not all(each.is_there for each in sent):
                    future.cancel()
                    raise CancelledError("workers with values of this process are gone") from None
                self._threads()

    def _threads(self) -> dict:
        """Threads of each worker; an error if the scheduler does not answer."""
        if self.client.status != "running":
            raise self._gone(self.client.status)
        try:
            return self.client.nthreads()
        except Exception as error:
            raise self._gone(error) from error

    def _wait_for_workers(self) -> None:
        """Wait for workers that are started again; an error if none comes."""
        if self._threads():
            return
        try:
            self.client.wait_for_workers(1, timeout=RESTART)
        except Exception as error:
            raise self._gone("it has no workers") from error

    def _ended(self, reason: object) -> ClusterLostError:
        """The error of tasks that have ended their workers, while the client can be used on."""
        workers = self.client.scheduler_info()["workers"].values()
        limits = [worker["memory_limit"] for worker in workers if worker["memory_limit"]]
        limit = f"the {min(limits) / 1e9:.2g} GB that they may use" if limits else "they have"
        return ClusterLostError(
            f"a task has ended several workers ({reason}), perhaps for want of memory: give "
            f"smaller partitions, or workers with more memory than {limit}. The model is not "
            "fitted; the client can be used again."
        )

    def _gone(self, reason: object) -> ClusterLostError:
        address = getattr(self.client.scheduler, "address", "")
        return ClusterLostError(
            f"the cluster {address} has gone away ({reason}): connect a new client, and fit again. "
            "The model is not fitted."
        )

    def _tree(self, function: Callable, parts: Sequence[Any], sent: list[_Sent | _Kept]) -> Any:
        """The graph of a round as one delayed object; what lies on the cluster is noted in
        ``sent``."""
        dask: Any = import_module("dask")

        run = dask.delayed(_run, pure=False)
        known: dict[int, Any] = {}

        def node(handle: object) -> Any:
            if id(handle) not in known:
                if isinstance(handle, _Task):
                    known[id(handle)] = run(handle.function, *map(node, handle.arguments))
                elif isinstance(handle, _Sent):
                    known[id(handle)] = self._future(handle)
                    sent.append(handle)
                elif isinstance(handle, _Kept):
                    if not handle.is_there:
                        handle.future = self.client.compute(node(handle.handle))
                    known[id(handle)] = handle.future
                    sent.append(handle)
                else:
                    known[id(handle)] = handle
            return known[id(handle)]

        level = [node(part) for part in parts]
        if not level:
            raise ValueError("there are no partitions: give at least one row.")
        while len(level) > 1:
            pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
            level = [run(function, *pair) if len(pair) > 1 else pair[0] for pair in pairs]
        return level[0]

    def _future(self, sent: _Sent) -> Any:
        """A value on the workers, sent when it is needed first."""
        if not sent.is_there:
            try:
                # in a list, for scatter takes lists and tuples apart
                (sent.future,) = self.client.scatter(
                    [sent.value], broadcast=sent.everywhere, hash=False
                )
            except KeyError as error:  # of the scheduler, if a worker goes away meanwhile
                raise OSError(f"the worker {error} is gone") from error
            except ValueError as error:  # of the scheduler, if the last worker has gone
                if "replicate" not in str(error):
                    raise
                raise OSError("no worker is left") from error
        return sent.future


def _run(function: Callable, *arguments: object) -> Any:
    """A task on a worker, which uses one thread."""
    with one_thread():
        return function(*arguments)


# --- collections ---------------------------------------------------------------------------------


def blocks(
    X: SamplesLike,
    y: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    skip: bool = False,
) -> list[Block]:
    """The partitions of a collection X, with those of y and of weights; ``skip`` leaves out X.

    Raises
    ------
    ValueError
        Chunks of columns, or other partitions of y than of X.
    """
    dask: Any = import_module("dask")

    rows = _row_blocks("X", X)
    others = [
        [None] * len(rows) if part is None else _aligned(name, part, X, len(rows))
        for name, part in (("y", y), ("sample_weight", weights))
    ]
    make = dask.delayed(Partition, pure=False)
    return [
        Block(make(i, None if skip else x, *beside))
        for i, (x, *beside) in enumerate(zip(rows, *others))
    ]


def numeric_array(X: Any) -> bool:
    """Whether X is a dask array of numbers."""
    return _is_array(X) and X.dtype.kind in "fiub"


def _is_array(X: np.ndarray) -> bool:
    return hasattr(X, "chunks") and hasattr(X, "to_delayed")


def _row_blocks(name: str, X: Any) -> list[Any]:
    """The blocks of rows of a collection."""
    if _is_array(X):
        if X.ndim > 2:
            raise ValueError(f"{name} has {X.ndim} axes: give rows of columns.")
        if X.ndim == 2 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        return list(X.to_delayed().ravel())
    if hasattr(X, "to_delayed"):  # a data frame, a series, a bag
        return list(X.to_delayed())
    raise TypeError(f"{name} is {a_type(X)}: give a dask array, or a data frame or series of Dask.")


def _aligned(name: str, part: Any, X: Any, count: int) -> list[Any]:
    """The blocks of y or of weights that belong to those of X."""
    known = _is_array(X) and not np.isnan(X.chunks[0]).any()
    if not is_collection(part):
        if not known:
            raise ValueError(
                f"{name} is {a_type(part)}, and the sizes of the chunks of X are not "
                f"known: give {name} as a collection of the same partitions as X, or an X after "
                "X.compute_chunk_sizes()."
            )
        import dask.array

        part = np.asarray(part)
        if len(part) != X.shape[0]:
            raise ValueError(f"{name} has {len(part)} rows, and X has {X.shape[0]}.")
        chunks: Any = (X.chunks[0], *part.shape[1:])
        part = dask.array.from_array(part, chunks=chunks)
    elif known and _is_array(part) and not np.isnan(part.chunks[0]).any():
        if part.shape[0] != X.shape[0]:
            raise ValueError(f"{name} has {part.shape[0]} rows, and X has {X.shape[0]}.")
        part = part.rechunk({0: X.chunks[0]})
    found = _row_blocks(name, part)
    if len(found) != count:
        raise ValueError(
            f"{name} has {len(found)} partitions, and X has {count}: give both the same ones."
        )
    return found


def collected(function: Callable, X: Any, model: Any, example: np.ndarray) -> Any:
    """``function(block, model)`` over the blocks of X, as a collection that is not computed yet.

    ``example`` is what it returns for some rows. Of a data frame the result is a series, or a data
    frame for several outputs, with the index of X; of an array an array.
    """
    dask: Any = import_module("dask")

    shared = dask.delayed(model, pure=False)
    if _is_array(X):
        import dask.array as da

        if X.ndim == 2 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        run = dask.delayed(function, pure=False)
        found = [
            da.from_delayed(run(x, shared), (n, *example.shape[1:]), example.dtype)
            for x, n in zip(X.to_delayed().ravel(), X.chunks[0])
        ]
        return da.concatenate(found, axis=0, allow_unknown_chunksizes=True)
    meta = _with_index(example[:0], X._meta.index[:0])
    return X.map_partitions(_framed, function, model, meta=meta)


def _framed(block: Any, function: Callable, model: BaseEstimator) -> Any:
    """Outputs of a data frame with its index."""
    return _with_index(function(block, model), block.index)


def _with_index(values: np.ndarray, index: Any) -> Any:
    import pandas as pd

    return pd.Series(values, index) if values.ndim == 1 else pd.DataFrame(values, index)


def bytes_of(X: Any) -> float:
    """Bytes of an array; 0 if they are not known."""
    size = float(X.nbytes) if _is_array(X) else 0.0
    return 0.0 if np.isnan(size) else size


def gathered(parts: Any) -> Any:
    """A collection as an array or data frame of this process."""
    return parts.compute()
