"""Kernels with a formula as functions of tensors: coordinates of pairs of rows, then a profile."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from mercer.kernels import Formula

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


def check_formula(kernel: Any, device: Any) -> Formula:
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
