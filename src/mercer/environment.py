"""Versions and facts about this machine, for bug reports and benchmarks."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import mercer
from mercer import _native
from mercer.gram import Place
from mercer.threads import count_jobs

PACKAGES = ("numpy", "scipy", "scikit-learn", "threadpoolctl", "narwhals", "skops", "polars")


def show_versions() -> None:
    """Print versions, cores, the instruction set that is used, BLAS and the default memory budget.

    The environment variable ``MERCER_ISA=portable`` (or avx2, avx512) sets the instruction set.

    Examples
    --------
    >>> show_versions()
    mercer            0.1.0
    ...
    """
    from threadpoolctl import threadpool_info

    facts = {
        "mercer": mercer.__version__,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "cores": str(count_jobs(None)),
        "instruction set": f"{_native.isa()} (of {', '.join(_native.available_isas())})",
        "memory budget": f"{Place().budget() / 1e9:.1f} GB",
    }
    for package in PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    for pool in threadpool_info():
        if pool["user_api"] == "blas":
            facts["BLAS"] = (
                f"{pool['internal_api']} {pool['version']}, {pool['num_threads']} threads"
            )
    for name, fact in facts.items():
        print(f"{name:<17} {fact}")
