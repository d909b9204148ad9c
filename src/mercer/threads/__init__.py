"""Threads: the scheduler that the whole library uses, and the way to stop running work."""

from mercer.threads.clock import (
    GRACE,
    Clock,
    Deadline,
    Stop,
    affordable_rows,
    raise_if_stopped,
    stopping,
)
from mercer.threads.schedule import (
    blas_limit,
    blas_share,
    blas_threads,
    count_jobs,
    fitting,
    forget,
    jobs_for,
    jobs_here,
    one_thread,
    ordered_map,
    paying_threads,
)

__all__ = [
    "GRACE", "Clock", "Deadline", "Stop", "affordable_rows", "blas_limit", "blas_share",
    "blas_threads", "count_jobs", "fitting", "forget", "jobs_for", "jobs_here", "one_thread",
    "ordered_map", "paying_threads", "raise_if_stopped", "stopping",
]  # fmt: skip
