"""Threads: the scheduler that the whole library uses, and the way to stop running work."""

from mercer.threads.schedule import blas_limit, count_jobs, ordered_map
from mercer.threads.stop import Stop, Stopped, raise_if_stopped, stopping

__all__ = [
    "Stop",
    "Stopped",
    "blas_limit",
    "count_jobs",
    "ordered_map",
    "raise_if_stopped",
    "stopping",
]
