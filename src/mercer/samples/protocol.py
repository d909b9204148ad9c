"""The type of all samples: rows that can be counted and selected."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Samples(Protocol):
    """Encoded samples of any kind. Learners, operators and solvers use only these members.

    Arrays of numpy and sparse rows of scipy are samples. A new kind of sample is a class with
    these three members, and a `Kind` whose ``encode`` makes it.

    Attributes
    ----------
    shape : tuple of int
        ``shape[0]`` is the number of rows.
    dtype : floating dtype
        The dtype in which comparisons are computed.

    Examples
    --------
    >>> import numpy as np
    >>> isinstance(np.ones((3, 2)), Samples), isinstance(["a", "b"], Samples)
    (True, False)
    """

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> Any: ...

    def __getitem__(self, rows: Any, /) -> Any:
        """The rows of a slice, or of an array of row numbers."""
