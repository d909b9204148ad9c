"""``--executor``: what runs the tasks of a command, processes of this machine or a cluster."""

from __future__ import annotations

import importlib
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from mercer.cli.terminal import OptionError, TableError
from mercer.persistence import Mapped, mapped_on

FORMS = 'give "processes:4", "dask:ADDRESS" or "ray", with ":ADDRESS" behind it for a cluster'


@contextmanager
def mapped_by(executor: Any) -> Iterator[Mapped | None]:
    """What runs the tasks; None for this process.

    ``executor`` is None, a text such as "processes:4" or "dask:tcp://host:8786", an object with a
    method ``map``, such as one of `concurrent.futures` or a client of Dask, or a function such as
    ``map``.
    """
    if isinstance(executor, str):
        kind, _, rest = executor.partition(":")
        makers = {"processes": _processes, "dask": _dask, "ray": _ray}
        if kind not in makers:
            raise OptionError(f"--executor {executor}: {FORMS}.")
        with makers[kind](rest) as mapped:
            yield mapped
    else:
        yield mapped_on(executor)


@contextmanager
def _processes(count: str) -> Iterator[Mapped]:
    """A map on so many processes of this machine."""
    if not count.isdigit() or int(count) < 1:
        raise OptionError(f"--executor processes:{count}: give how many, at least 1.")
    context = multiprocessing.get_context("spawn")  # threads of this process are not copied

    pools = [ProcessPoolExecutor(int(count), context)]

    def mapped(function: Callable[[int], None], numbers: Iterable[int]) -> Iterator[None]:
        try:
            yield from pools[0].map(function, numbers)
        except BrokenProcessPool:  # a process was killed: the stage asks for what is left
            pools[0] = ProcessPoolExecutor(int(count), context)

    try:
        yield mapped
    finally:
        pools[0].shutdown(cancel_futures=True)


@contextmanager
def _dask(address: str) -> Iterator[Mapped | None]:
    """A map on the workers of a Dask cluster."""
    distributed = _imported("distributed", "dask")
    try:
        client = distributed.Client(address or None)
    except (OSError, ValueError) as error:
        raise TableError(f"--executor dask:{address}: no scheduler answers: {error}") from error
    with client:
        yield mapped_on(client)


@contextmanager
def _ray(address: str) -> Iterator[Mapped]:
    ray = _imported("ray", "ray")
    with ray.init(address=address or None, ignore_reinit_error=True, log_to_driver=False):
        yield lambda function, numbers: ray.get(
            [ray.remote(max_retries=3)(_called).remote(function, number) for number in numbers]
        )


def _called(function: Callable[[int], None], number: int) -> None:
    function(number)


def _imported(module: str, kind: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise OptionError(f"--executor {kind}: it needs {module}: pip install {module}.") from None
