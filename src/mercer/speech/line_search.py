"""γ and σ of the kernel by their error on mixtures that were left out, on a part of the frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from mercer.kernels import ExponentialPower
from mercer.learners.ridge import KernelRidge

POWERS = (0.5, 0.7, 1.0, 1.4, 2.0)
FACTORS = (0.5, 1.0, 2.0, 4.0, 8.0)  # of the median distance to the power γ
USUAL = 2.0  # the factor of "median"
SOME = 500  # rows that the median distance is of
ROWS, RANK = 8000, 300  # of the machines that are compared


def best_kernel(
    F: np.ndarray,
    y: np.ndarray,
    owners: np.ndarray,
    power: float | str,
    scale: float | str,
    alpha: float,
    random: Any,
) -> ExponentialPower:
    """The kernel with the given γ and σ, or with those that predict left-out mixtures best.

    First γ is searched at the usual σ, then σ at the best γ.
    """
    middle = middle_distance(F, random)
    _check("power", power, "search")
    _check("scale", scale, "median", "search")
    powers = POWERS if power == "search" else (power,)

    def kernel(γ: Any, factor: float) -> ExponentialPower:
        return ExponentialPower(factor * middle**γ if isinstance(scale, str) else scale, γ)

    factors = FACTORS if scale == "search" else (USUAL,)
    if len(powers) == len(factors) == 1:
        return kernel(powers[0], USUAL)
    rows = random.choice(len(F), min(len(F), ROWS), replace=False)
    held = owners[rows] % 5 == 0 if len(np.unique(owners)) >= 5 else np.arange(len(rows)) % 5 == 0
    seed = random.randint(2**31)

    def error(γ: Any, factor: float) -> float:
        machine = KernelRidge(
            alpha * np.sum(~held), kernel=kernel(γ, factor), solver="low_rank",
            rank=min(RANK, len(rows)), random_state=seed,
        )  # fmt: skip
        machine.fit(F[rows[~held]], y[rows[~held]])
        return float(np.mean((machine.predict(F[rows[held]]) - y[rows[held]]) ** 2))

    γ = powers[0] if len(powers) == 1 else min(powers, key=lambda γ: error(γ, USUAL))
    factor = factors[0] if len(factors) == 1 else min(factors, key=lambda f: error(γ, f))
    return kernel(γ, factor)


def _check(name: str, value: float | str, *words: str) -> None:
    if isinstance(value, str) and value not in words:
        raise ValueError(f"{name}={value!r}: give a number or {' or '.join(map(repr, words))}.")


def middle_distance(F: np.ndarray, random: Any) -> float:
    """The median distance of some rows; 1 where all are equal."""
    rows = random.choice(len(F), min(len(F), SOME), replace=False)
    found = float(np.median(pdist(F[rows]))) if len(rows) > 1 else 0.0
    return found if found > 0 else 1.0
