"""The type of all samples, `Samples`; `Encoded`, what most kinds of them share; `Prepared`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike

from mercer.persistence import each, fields, length_of


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


#: what users give as X: samples of any kind, encoded or not yet
SamplesLike: TypeAlias = Samples | ArrayLike | Sequence[object] | sp.sparray | sp.spmatrix


class Encoded:
    """Samples as arrays, and ``dtype``, the precision in which comparisons are computed.

    ``by_row`` names the arrays that have one entry for each sample, for classes that have no other
    way of selecting rows.
    """

    by_row: ClassVar[tuple[str, ...]] = ()
    precision: str

    def __init__(self, dtype: DTypeLike = np.float64):
        self.precision = np.dtype(dtype).name  # model files hold names, not dtypes

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.precision)

    @property
    def shape(self) -> tuple[int, ...]:
        return getattr(self, self.by_row[0]).shape

    def __len__(self) -> int:
        return self.shape[0]

    def replace(self, **fields: object) -> Self:
        """The same samples, but for some fields."""
        found = object.__new__(type(self))
        vars(found).update(vars(self), **fields)
        return found

    def astype(self, dtype: DTypeLike) -> Self:
        """The same rows, compared in another precision."""
        return self.replace(precision=np.dtype(dtype).name)

    def __getitem__(self, rows: Any) -> Self:
        """The rows of a slice, or of an array of row numbers."""
        return self.replace(**{name: getattr(self, name)[rows] for name in self.by_row})


@fields(parts=each(length_of(lambda rows: rows.parts[0].shape[0])))
class Prepared:
    """What `block` reads, computed once from encoded samples: see `Comparison.prepare`.

    Parameters
    ----------
    parts : tuple
        Samples or arrays with the same rows: scaled vectors, their norms, the samples that inner
        comparisons read ... The first one has the precision of all.
    common : any, optional
        What both sides must have in common, such as the origin that was subtracted from vectors.

    Examples
    --------
    >>> from mercer.distances import SquaredEuclidean
    >>> side = SquaredEuclidean().prepare(np.array([[3.0, 4.0], [0.0, 1.0]]))
    >>> [np.shape(part) for part in side.parts]
    [(2, 2), (2,)]
    """

    def __init__(self, parts: tuple, common: Any = None):
        self.parts = parts
        self.common = common

    @property
    def shape(self) -> tuple[int]:
        return (self.parts[0].shape[0],)

    @property
    def dtype(self) -> np.dtype:
        return self.parts[0].dtype

    def __getitem__(self, rows: Any) -> Prepared:
        return Prepared(tuple(part[rows] for part in self.parts), self.common)

    def __repr__(self) -> str:
        return f"Prepared({self.shape[0]} rows, {len(self.parts)} parts)"
