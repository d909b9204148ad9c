"""Kernel names, as scikit-learn has them, and callables: from what a user gives to a `Kernel`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer.kernels.base import Kernel
from mercer.kernels.dot import Linear
from mercer.kernels.radial import RBF

__all__ = ["as_kernel"]

#: name -> (constructor, the scikit-learn arguments that it reads)
NAMED: dict[str, tuple[Callable[..., Kernel], tuple[str, ...]]] = {
    "linear": (Linear, ()),
    "rbf": (RBF, ("gamma",)),
}


def as_kernel(kernel: Any, **arguments: Any) -> Kernel:
    """A kernel object for a kernel object or a name; ``arguments`` (gamma, degree, coef0) that
    are None were not given.

    Raises
    ------
    ValueError
        The name is unknown, or arguments stand beside a kernel object.
    """
    if isinstance(kernel, Kernel):
        given = [name for name, value in arguments.items() if value is not None]
        if given:
            raise ValueError(
                f"{given[0]}={arguments[given[0]]!r} stands beside the kernel object {kernel!r}, "
                f"which has its own parameters: set them there and leave {given[0]} out."
            )
        return kernel
    constructor, reads = NAMED[kernel]
    return constructor(**{k: v for k, v in arguments.items() if k in reads and v is not None})
