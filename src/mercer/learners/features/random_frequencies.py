"""Random frequencies of kernels: k(x, z) is the mean of cos(ω · (x - z)) over a law of ω (Bochner).

Every radial kernel of the library with a norm of p <= 2 is a mixture of functions
exp(-s ‖x - z‖_p^q) with q <= p, and each of these is the characteristic function of a stable law.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from mercer.kernels import Formula, Kernel


def frequencies(
    kernel: Kernel, columns: int, count: int, rng: np.random.RandomState, name: str = "kernel"
) -> np.ndarray:
    """Frequencies of a bound radial kernel on vectors, (count, columns).

    ``name`` is the argument that errors name.

    Raises
    ------
    ValueError
        The kernel is not known to be a mixture of stable laws.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> W = frequencies(Laplacian(0.5), 2, 20_000, np.random.RandomState(0))
    >>> gap = np.array([0.3, -1.0])
    >>> bool(abs(np.cos(W @ gap).mean() - np.exp(-0.5 * 1.3)) < 0.02)
    True
    """
    kernel.validate()
    formula = _formula(kernel, name)
    scaling: Any = formula.scaling
    inner = columns if scaling is None or scaling.ndim == 1 else len(scaling)
    if scaling is not None and scaling.shape[-1] != columns:
        raise ValueError(
            f"{name}={kernel!r} has a metric for {scaling.shape[-1]} columns, but "
            f"here are {columns}."
        )
    p, numbers = float(formula.p), formula.parameters
    q, size = p * numbers["power"], np.full(count, float(numbers["rate"]))
    if formula.profile == "rational":
        # (1 + s)^-a is the mean of exp(-g s) over g ~ Gamma(a)
        size *= rng.gamma(numbers["alpha"], size=count)
    elif formula.profile == "matern" and numbers["nu"] != 0.5:
        # 2^(1 - ν) / Γ(ν) u^ν K_ν(u) is the mean of exp(-u² / 4g) over g ~ Gamma(ν)
        q, size = 2 * q, size**2 / (4 * rng.gamma(numbers["nu"], size=count))
    if not 0 < q <= p <= 2:
        _refuse(kernel, name)
    mixing = positive_stable(q / p, count, rng) ** (1 / p)
    W = (size ** (1 / q) * mixing)[:, None] * stable(p, (count, inner), rng)
    if scaling is None:
        return W
    return W * scaling if scaling.ndim == 1 else W @ scaling


def _formula(kernel: Kernel, name: str) -> Formula:
    gamma = kernel.get_params(deep=False).get("gamma")
    if isinstance(gamma, str):
        raise ValueError(
            f"{name}={kernel!r}: gamma={gamma!r} is learnt from samples, but a layer reads what a "
            "network makes of them: give a number, to which the layer adapts a length scale."
        )
    formula = kernel.formula
    if formula is None or formula.coordinates != "distance":
        _refuse(kernel, name)
    return formula


def _refuse(kernel: Kernel, name: str) -> NoReturn:
    raise ValueError(
        f"{name}={kernel!r} has no random Fourier features: give a radial kernel of a Minkowski "
        "distance, such as RBF(0.5), Laplacian(), Matern(), RationalQuadratic() or "
        "ExponentialPower(), or ArcCosine(degree)."
    )


def stable(alpha: float, shape: Any, rng: np.random.RandomState) -> np.ndarray:
    """Numbers with the characteristic function exp(-abs(u)^alpha), 0 < alpha <= 2."""
    if alpha == 2:
        return np.sqrt(2) * rng.normal(size=shape)
    # Chambers, Mallows & Stuck, "A method for simulating stable random variables", JASA 1976
    v, w = rng.uniform(-np.pi / 2, np.pi / 2, shape), rng.exponential(size=shape)
    tail = (np.cos((1 - alpha) * v) / w) ** ((1 - alpha) / alpha)
    return np.sin(alpha * v) / np.cos(v) ** (1 / alpha) * tail


def positive_stable(alpha: float, count: int, rng: np.random.RandomState) -> np.ndarray:
    """Numbers t > 0 with the mean of exp(-s t) = exp(-s^alpha), 0 < alpha <= 1."""
    if alpha == 1:
        return np.ones(count)
    # Kanter, "Stable densities under change of scale", Annals of Probability 1975
    u, w = rng.uniform(0, np.pi, count), rng.exponential(size=count)
    tail = (np.sin((1 - alpha) * u) / w) ** ((1 - alpha) / alpha)
    return np.sin(alpha * u) / np.sin(u) ** (1 / alpha) * tail
