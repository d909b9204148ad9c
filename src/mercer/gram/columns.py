"""Samples that are the columns of several Gram matrices, prepared once for all of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any


class Columns:
    """Encoded samples Z for `gram`, whose preparation is kept.

    Predictions compare new samples with the same ones again and again: to prepare these takes
    longer than to compare one sample with them.

    Parameters
    ----------
    kernel : Kernel
        Bound to the training samples.
    samples : encoded samples

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import gram
    >>> from mercer.kernels import RBF
    >>> columns = Columns(RBF(0.5), np.arange(6.0).reshape(3, 2))
    >>> [gram(columns.kernel, x[None], columns).dense().round(2).tolist() for x in np.eye(2)]
    [[[0.37, 0.01, 0.0]], [[1.0, 0.02, 0.0]]]
    """

    def __init__(self, kernel: Any, samples: Any):
        self.kernel, self.samples = kernel, samples

    @cached_property
    def prepared(self) -> Any:
        """What the kernel's blocks read of the samples."""
        return self.kernel.prepare(self.samples)

    def are(self, kernel: Any, samples: Any) -> bool:
        """Whether they are these very samples, as this very kernel reads them."""
        return kernel is self.kernel and samples is self.samples
