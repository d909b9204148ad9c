"""A Gram matrix on a device of torch: kept there where it fits, else computed in strips of rows.

Only what solvers ask for leaves the device: products, rows, factors applied to vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mercer.gram.factors import GramFactor
from mercer.gram.on_torch.formulas import check_formula, kernel_diagonal, kernel_values
from mercer.gram.operator import GramOperator, Rows
from mercer.gram.place import Place
from mercer.kernels import Formula
from mercer.threads import count_jobs

# Where torch computes, and with how many threads.
#
# This file requires torch.


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


STRIP = 2**26  # numbers in a strip of rows that is not kept
PLAIN = "cpu:torch"
#: what a matrix with no room on its device can do with
LESS = "memory= below what is free there, so that K is not kept, fewer rows, or a smaller rank="


def torch_gram(kernel: Any, X: Any, Z: Any, place: Place) -> TorchGram:
    """The operator of a device of torch.

    Raises
    ------
    ValueError
        The kernel has no formula, the samples are no dense vectors, or torch has no such device.
    """
    formula = check_formula(kernel, place.device)
    if not (isinstance(X, np.ndarray) and isinstance(Z, np.ndarray)):
        raise ValueError(
            f"device={place.device!r}: samples of the type {type(X).__name__} are compared on this "
            "machine's processor alone; give dense arrays, or leave device out."
        )
    device = choose_device("cpu" if place.device == PLAIN else place.device)
    # distances do not depend on where 0 is, and near 0 they are rounded less
    shift = X.mean(axis=0) if formula.coordinates == "distance" else 0

    def there(rows: np.ndarray) -> Tensor:
        values = np.ascontiguousarray(formula.rows(rows - shift), X.dtype)
        with torch_threads(place.n_jobs, LESS):
            return torch.from_numpy(values).to(device)

    x = there(X)
    return TorchGram(formula, x, x if Z is X else there(Z), place)


class TorchGram(GramOperator):
    """K of a formula between rows on a device.

    Parameters
    ----------
    formula : Formula
    x, z : Tensor of shape (n, d) and (m, d)
        Rows after the scaling of the formula; the same tensor for a symmetric K.
    place : Place
        Its ``memory`` is that of the device; None means half of what is free there.
    factors : Tensor of shape (n,), optional
        Row and column i of a symmetric K are multiplied by entry i.
    """

    def __init__(
        self, formula: Formula, x: Tensor, z: Tensor, place: Place, factors: Tensor | None = None
    ):
        self.formula, self.x, self.z, self.factors = formula, x, z, factors
        self.place = _on_device(place, x.device)
        self.symmetric = z is x
        self.shape = (len(x), len(z))
        self.dtype = x.new_empty(0).cpu().numpy().dtype
        self.cheap = frozenset({"rows"})
        if self.symmetric and self.fits(3):  # K, a factor of it and what the library takes
            self.cheap = frozenset({"rows", "factorise"})

    @cached_property
    def kept(self) -> Tensor | None:
        """K on the device, if it needs at most half of the memory there."""
        return self._values(slice(None), slice(None)) if self.fits(2) else None

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        if self.kept is not None:
            return self.kept[_index(i)][:, _index(j)].cpu().numpy().copy()
        return self._values(i, j).cpu().numpy()

    def diag(self) -> np.ndarray:
        if self.symmetric:
            values = kernel_diagonal(self.formula, self.x)
            if self.factors is not None:
                values = values * self.factors**2
            return values.cpu().numpy()
        n = min(self.shape)
        pairs = (self._values(slice(k, k + 1), slice(k, k + 1)) for k in range(n))
        return np.array([float(pair) for pair in pairs], self.dtype)

    def __matmul__(self, V: Any) -> np.ndarray:
        with self._working():
            V = torch.as_tensor(np.asarray(V), device=self.x.device)
            if self.kept is not None:
                return _product(self.kept, V).cpu().numpy()
            step = max(1, STRIP // max(self.shape[1], 1))
            parts = [
                _product(self._values(slice(s, s + step), slice(None)), V)
                for s in range(0, self.shape[0], step)
            ]
            return torch.cat(parts).cpu().numpy()

    def part(self, i: np.ndarray, j: np.ndarray | None = None) -> TorchGram:
        x = self.x[_index(i)]
        factors = None if self.factors is None else self.factors[_index(i)]
        if j is None or j is i:
            return TorchGram(self.formula, x, x if self.symmetric else self.z[_index(i)],
                             self.place, factors)  # fmt: skip
        if self.factors is not None:
            return super().part(i, j)  # type: ignore[return-value]
        return TorchGram(self.formula, x, self.z[_index(j)], self.place)

    def scaled(self, factors: np.ndarray) -> TorchGram:
        s = torch.as_tensor(factors, device=self.x.device).to(self.x.dtype)
        s = s if self.factors is None else s * self.factors
        return TorchGram(self.formula, self.x, self.z, self.place, s)

    def factorise(self, shift: float = 0.0, dtype: np.dtype | None = None) -> TorchFactor:
        with self._working():
            K = self._values(slice(None), slice(None)) if self.kept is None else self.kept.clone()
            K = K.double() if dtype == np.float64 else K
            K.diagonal().add_(shift)
            return TorchFactor(K)

    def eigenpairs(self, memory: Any = None) -> tuple[np.ndarray, np.ndarray]:
        with self._working():
            K = self._values(slice(None), slice(None)) if self.kept is None else self.kept
            values, vectors = torch.linalg.eigh(K)
        return values.cpu().numpy(), vectors.cpu().numpy()

    def _values(self, i: Rows, j: Rows) -> Tensor:
        i, j = _index(i), _index(j)
        x, z = self.x[i], self.z[j]
        same = self.symmetric and isinstance(i, slice) and isinstance(j, slice) and i == j
        with self._working():
            K = kernel_values(self.formula, x, z, same)
            if self.factors is not None:
                K = K * self.factors[i][:, None] * self.factors[j]
        return K

    def _working(self) -> AbstractContextManager:
        return torch_threads(self.place.n_jobs, LESS)


class TorchFactor(GramFactor):
    """L of A = L Lᵀ, on its device."""

    def __init__(self, A: Tensor):
        size = A.abs().sum(0).max()
        L, failed = torch.linalg.cholesky_ex(A)
        # the square of the ratio of pivots is near the condition number, and no more than that
        pivots = L.diagonal()
        least = 4 * torch.finfo(A.dtype).eps * size
        if int(failed) or not bool(torch.isfinite(pivots).all()) or bool(pivots.min() ** 2 < least):
            raise np.linalg.LinAlgError(
                f"the matrix is singular to the precision of {A.dtype}, or not positive definite"
            )
        self.L = L

    def solve(self, B: np.ndarray) -> np.ndarray:
        given = torch.as_tensor(B, device=self.L.device).to(self.L.dtype)
        flat = given if given.ndim > 1 else given[:, None]
        return torch.cholesky_solve(flat, self.L).double().cpu().numpy().reshape(np.shape(B))

    def inverse_diagonal(self) -> np.ndarray:
        return torch.cholesky_inverse(self.L).diagonal().double().cpu().numpy()


def _on_device(place: Place, device: torch.device) -> Place:
    """The place with the memory of the device in place of this machine's."""
    if device.type != "cuda" or place.memory is not None:
        return place
    free, _ = torch.cuda.mem_get_info(device)
    return Place(free // 2, place.n_jobs, place.device, place.executor)


def _index(rows: Rows) -> Any:
    """Rows as tensors take them: they have no negative steps, and read no lists of unsigned."""
    return rows if isinstance(rows, slice) else torch.as_tensor(np.asarray(rows, dtype=np.int64))


def _product(K: Tensor, V: Tensor) -> Tensor:
    """K V in the wider precision of the two."""
    wide = torch.promote_types(K.dtype, V.dtype)
    return K.to(wide) @ V.to(wide)
