"""An engine of one file that knows nothing of Dask: processes of the standard library.

(The folder is not called distributed, which is the name of a package of Dask.)
"""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from mercer.distributed import Engine
from mercer.distributed.engine import in_pairs


class ProcessEngine(Engine):
    """Two processes; what they read and return is pickled."""

    tasks = 2

    def __init__(self):
        self.pool = ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))

    def put(self, sources):
        return list(sources)

    def broadcast(self, value):
        return value

    def map(self, function, parts, *shared):
        return [partial(done, function, part, shared) for part in parts]

    def reduce(self, function, parts):
        return in_pairs(function, self.pool.map(called, parts))


def done(function, part, shared):
    return function(part(), *shared)


def called(part):
    return part()
