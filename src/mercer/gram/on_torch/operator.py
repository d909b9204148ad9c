"""A Gram matrix on a device of torch: kept there where it fits, else computed in strips of rows.

Only what solvers ask for leaves the device: products, rows, factors applied to vectors. Kernels
with a formula are functions of tensors: coordinates of pairs of rows, then a profile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mercer.gram.lapack import GramFactor
from mercer.gram.operator import GramOperator, Rows
from mercer.gram.place import Place
from mercer.kernels import Formula, Kernel
from mercer.samples import Samples
from mercer.threads import count_jobs

Numbers = Mapping[str, Any]


def _power(t: Tensor, numbers: Numbers) -> Tensor:
    """rate · t^power."""
    return numbers["rate"] * (t if numbers["power"] == 1 else t ** numbers["power"])


def _exponential(t: Tensor, numbers: Numbers) -> Tensor:
    return torch.exp(-_power(t, numbers))


def _rational(t: Tensor, numbers: Numbers) -> Tensor:
    return (1 + _power(t, numbers)) ** -numbers["alpha"]


def _matern(t: Tensor, numbers: Numbers) -> Tensor:
    """e^-u times a polynomial for ν = p + 1/2 (Rasmussen & Williams 2006, eq. 4.16)."""
    u, p = _power(t, numbers), round(numbers["nu"] - 0.5)
    total = torch.zeros_like(u)
    for i in range(p + 1):  # by Horner's rule, from the highest power of 2 u
        weight = math.factorial(p + i) / (math.factorial(i) * math.factorial(p - i))
        total = total + weight * (2 * u) ** (p - i)
    return math.factorial(p) / math.factorial(2 * p) * total * torch.exp(-u)


def _polynomial(t: Tensor, numbers: Numbers) -> Tensor:
    return (numbers["gamma"] * t + numbers["coef0"]) ** numbers["degree"]


def _tanh(t: Tensor, numbers: Numbers) -> Tensor:
    return torch.tanh(numbers["gamma"] * t + numbers["coef0"])


def _arc_cosine(t: Tensor, numbers: Numbers) -> Tensor:
    cos = t.clamp(-1, 1)
    rest, sin = math.pi - torch.acos(cos), torch.sqrt((1 - cos * cos).clamp_min(0))
    if numbers["degree"] == 1:
        return (sin + rest * cos) / math.pi
    return (3 * sin * cos + rest * (1 + 2 * cos * cos)) / math.pi


#: profile of a formula -> its function of the coordinate t and the numbers
PROFILES: dict[str, Callable[[Tensor, Numbers], Tensor]] = {
    "identity": lambda t, numbers: t,
    "exponential": _exponential,
    "rational": _rational,
    "matern": _matern,
    "polynomial": _polynomial,
    "tanh": _tanh,
    "arc_cosine": _arc_cosine,
    "bell_of_angle": lambda t, numbers: torch.exp(t - 1),
}


def _distance(x: Tensor, z: Tensor, p: float) -> Tensor:
    """Σ |x - z|^p of each pair."""
    if p == 2:
        squares = x.square().sum(1)[:, None] + z.square().sum(1)
        return torch.addmm(squares, x, z.T, alpha=-2).clamp_min(0)
    return torch.cdist(x, z, p=p) ** p


def _by_columns(one: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """The sum over columns of a function of two numbers, which needs no array of three axes."""

    def total(x: Tensor, z: Tensor, p: float) -> Tensor:
        out = x.new_zeros(len(x), len(z))
        for a, b in zip(x.T, z.T):
            out += one(a[:, None], b)
        return out

    return total


def _chi_squared(a: Tensor, b: Tensor) -> Tensor:
    both = a + b
    return torch.where(both == 0, 0.0, (a - b) ** 2 / both)


def _lengths(x: Tensor, z: Tensor) -> Tensor:
    return torch.linalg.norm(x, dim=1)[:, None] * torch.linalg.norm(z, dim=1)


def _cosine(x: Tensor, z: Tensor, p: float) -> Tensor:
    lengths = _lengths(x, z)
    return torch.where(lengths > 0, x @ z.T / lengths, 0.0)


COORDINATES: dict[str, Callable[[Tensor, Tensor, float], Tensor]] = {
    "product": lambda x, z, p: x @ z.T,
    "cosine": _cosine,
    "distance": _distance,
    "chi_squared": _by_columns(_chi_squared),
    "minima": _by_columns(torch.minimum),
}


def kernel_values(formula: Formula, x: Tensor, z: Tensor, same: bool = False) -> Tensor:
    """k of all pairs of rows x (n, d) and z (m, d), which are scaled already: (n, m).

    ``same`` says that x and z are the same rows, whose distances to themselves are exactly 0.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> x = torch.tensor([[0.0], [1.0]])
    >>> kernel_values(RBF(1.0).formula, x, x)
    tensor([[1.0000, 0.3679],
            [0.3679, 1.0000]])
    """
    t = COORDINATES[formula.coordinates](x, z, formula.p)
    if same and formula.coordinates == "distance":
        t.fill_diagonal_(0)
    K = formula.factor * PROFILES[formula.profile](t, formula.parameters)
    return K if formula.lengths == 0 else K * _lengths(x, z) ** formula.lengths


def kernel_diagonal(formula: Formula, x: Tensor) -> Tensor:
    """k(x, x) of each row."""
    squares = x.square().sum(1)
    t = {
        "product": squares,
        "cosine": (squares > 0).to(x.dtype),
        "minima": x.sum(1),
    }.get(formula.coordinates, torch.zeros_like(squares))
    K = formula.factor * PROFILES[formula.profile](t, formula.parameters)
    return K if formula.lengths == 0 else K * squares**formula.lengths


def check_formula(kernel: Kernel, device: str | None) -> Formula:
    """The formula of a bound kernel; ValueError if it has none that torch can compute."""
    formula = kernel.formula
    if formula is None:
        raise ValueError(
            f"device={device!r}: {kernel!r} has no formula, so that it is computed on this "
            'machine\'s processor alone. Leave device out or give "cpu"; kernels with a formula '
            "are those on vectors, such as RBF, Laplacian, Matern or Polynomial."
        )
    numbers = formula.parameters
    whole = formula.profile != "matern" or ((numbers["nu"] - 0.5) % 1 == 0 and numbers["nu"] < 20)
    if not whole:
        raise ValueError(
            f"device={device!r}: {kernel!r} is computed there for nu = 1/2, 3/2, 5/2 ... below 20."
        )
    return formula


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


def on_device(values: np.ndarray, device: str | None) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values)).to(choose_device(device))


def choose_device(name: object) -> torch.device:
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


def torch_gram(kernel: Kernel, X: Samples, Z: Samples, place: Place) -> TorchGram:
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

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
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

    def eigenpairs(self, memory: int | float | str | None = None) -> tuple[np.ndarray, np.ndarray]:
        with self._working():
            K = self._values(slice(None), slice(None)) if self.kept is None else self.kept
            values, vectors = torch.linalg.eigh(K)
        return values.cpu().numpy(), vectors.cpu().numpy()

    def _values(self, i: Rows, j: Rows) -> Tensor:
        """A block of K on the device."""
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
