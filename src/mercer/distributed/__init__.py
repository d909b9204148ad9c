"""Learners over the partitions of a cluster: dask arrays and data frames in, and out.

`Distributed` wraps a learner. An `Engine` has the four methods that it needs from a cluster:
`DaskEngine` for a client of Dask, `ThreadEngine` for threads of this process.
"""

from mercer.distributed.distributed import Distributed
from mercer.distributed.engine import ClusterLostError, Engine, Partition, ThreadEngine
from mercer.distributed.on_dask import DaskEngine, need_mercer

__all__ = [
    "ClusterLostError", "DaskEngine", "Distributed", "Engine", "Partition", "ThreadEngine",
    "need_mercer",
]  # fmt: skip
