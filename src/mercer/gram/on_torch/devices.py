"""Where torch computes, and with how many threads.

This file is read where torch is installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mercer.threads import count_jobs


@contextmanager
def torch_threads(
    n_jobs: int | None, less: str = "fewer rows, or a smaller batch_size="
) -> Iterator[None]:
    """Torch uses this many threads meanwhile.

    Where its device has no room for the work, MemoryError says so, and what takes ``less``.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(count_jobs(n_jobs))
    try:
        yield
    except torch.OutOfMemoryError as error:
        said = ". ".join(str(error).split(". ")[:3])  # the rest is about settings of torch
        raise MemoryError(
            f'device= has no room for this work ({said}). Give {less}, or device="cpu".'
        ) from error
    finally:
        torch.set_num_threads(before)


def on_device(values: np.ndarray, device: Any) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values)).to(choose_device(device))


def choose_device(name: Any) -> torch.device:
    """The device of a name; "auto" is a GPU with CUDA where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, TypeError, AssertionError) as error:
        raise ValueError(
            f'device={name!r}: torch cannot use it ({error}). Give "auto", "cpu" or "cuda".'
        ) from error
    return device
