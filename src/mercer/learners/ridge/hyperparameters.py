"""The hyperparameters of a Gaussian process: names, bounds, and the likelihood's slopes by them.

They are the numbers of a kernel that `free_parameters` names, and the variance of the noise. θ
holds their logarithms, one after the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from functools import singledispatch
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.optimize
from sklearn.exceptions import ConvergenceWarning

from mercer.callers import first_outside
from mercer.kernels import Kernel, Product, Radial, Scaled, Sum
from mercer.learners.ridge.process import by_scales, radial_part
from mercer.samples import Samples, is_number
from mercer.threads import raise_if_stopped

DECADES = 5  # from where a hyperparameter starts to its bounds
STEEP = 0.01  # the derivative in a logarithm beyond which the likelihood is not at its top
NEAR = 0.01  # of the logarithm of a parameter, in differences
STENCIL = (4 / 5, -1 / 5, 4 / 105, -1 / 280)  # of K(θ + ih) - K(θ - ih), i = 1 to 4

Dense = Callable[[Kernel], np.ndarray]


class Hyperparameters(NamedTuple):
    """What is chosen, and from where.

    Attributes
    ----------
    names : list of str
        Names of `Kernel.get_params`, or "noise".
    sizes : list of int
        How many numbers each of them is: an array of weights is several.
    theta : ndarray
        The logarithms of their values, one after the other.
    bounds : ndarray of shape (len(theta), 2)
        Logarithms.
    """

    names: list[str]
    sizes: list[int]
    theta: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, kernel: Kernel, noise: Any, learnt: bool, given: dict[str, Any]) -> Self:
        """Those of a bound kernel, and of the noise if it is ``learnt``, within given bounds."""
        if "noise" in kernel.get_params():
            raise ValueError(
                f"kernel={kernel!r} has a parameter noise, which is the name of the variance of "
                "the noise here: rename it, or give 1.0 * kernel, where it is kernel__noise."
            )
        values = kernel.get_params() | {"noise": noise}
        names = [*kernel.free_parameters(), *["noise"] * learnt]
        for name, ends in given.items():
            free = name in names or (is_number(values.get(name)) and values[name] > 0)
            if not free and not (_is_fixed(ends) and name in values):
                raise ValueError(
                    f"bounds={given!r}: {name!r} is no number > 0 that could be chosen: give "
                    f"some of {names}."
                )
        names = [each for each in dict.fromkeys([*names, *given]) if not _is_fixed(given.get(each))]
        starts = [np.log(np.ravel(np.asarray(values[name], np.float64))) for name in names]
        ranges = [_log_range(name, given.get(name), start) for name, start in zip(names, starts)]
        none, sizes = np.empty((0, 2)), [len(start) for start in starts]
        theta = np.concatenate([none[:, 0], *starts])
        found = cls(names, sizes, theta, np.concatenate([none, *ranges]))
        for name in names:
            if name in given and name != "noise":
                _check_taken(kernel, name, given[name], found)
        return found


def split(theta: np.ndarray, names: Collection[str], kernel: Kernel) -> dict[str, Any]:
    """The values of hyperparameters by their names."""
    now, found, s = kernel.get_params() | {"noise": 0.0}, {}, 0
    for name in names:
        shape = np.shape(now[name])
        part = np.exp(theta[s : s + int(np.prod(shape))]).reshape(shape)
        found[name] = part if shape else float(part)
        s += part.size
    return found


def by_lbfgs(cost: Callable, start: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, float]:
    """The minimum near a start."""
    found = scipy.optimize.minimize(cost, start, method="L-BFGS-B", jac=True, bounds=bounds)
    inside = (found.x > bounds[:, 0]) & (found.x < bounds[:, 1])
    slope = float(np.abs(found.jac[inside]).max(initial=0.0))
    if not found.success and slope > STEEP:
        warnings.warn(
            f"L-BFGS stopped after {found.nit} steps ({found.message}) where the likelihood still "
            f"rises by {slope:.2g} for each factor of e: give a larger alpha, other start values, "
            "or n_restarts_optimizer=.",
            ConvergenceWarning,
            stacklevel=first_outside(),
        )
    return found.x, float(found.fun)


def warn_of_bounds(chosen: Hyperparameters, cost_slope: np.ndarray) -> None:
    """Warn where the likelihood still rises at a bound."""
    names = [name for name, size in zip(chosen.names, chosen.sizes) for _ in range(size)]
    for name, value, slope, ends in zip(names, chosen.theta, cost_slope, chosen.bounds):
        for end, word, sign in zip(ends, ("lower", "upper"), (-1, 1)):
            if np.isclose(value, end) and -sign * slope > STEEP:
                warnings.warn(
                    f"{name}={np.exp(value):.3g} is at its {word} bound, where the likelihood "
                    f"still rises, by {abs(slope):.2g} for each factor of e: give other "
                    f'bounds={{{name!r}: ...}}, or "fixed".',
                    ConvergenceWarning,
                    stacklevel=first_outside(),
                )


def slopes(
    kernel: Kernel, X: Samples, G: np.ndarray, dense: Dense, chosen: Collection[str]
) -> dict[str, np.ndarray]:
    """Σ_ab G_ab dk(x_a, x_b) / dlog p for each of the ``chosen`` parameters p, by their names.

    ``dense`` makes K, (n, n) in float64, of a kernel. Those of sums, products and factors come from
    their parts, those of weights of columns have a formula, and all others are differences.
    """
    found = _of_parts(kernel, X, G, dense, chosen) if chosen else {}
    for name in chosen:
        if name not in found:
            found[name] = _by_differences(kernel, name, G, dense)
    return found


def _by_differences(kernel: Kernel, name: str, G: np.ndarray, dense: Dense) -> np.ndarray:
    """Derivatives by central differences of order 8, whose error is near that of rounding."""
    value = np.asarray(kernel.get_params()[name], np.float64)
    found = np.empty(value.size)
    for j in range(value.size):
        change = np.zeros(G.shape)
        for steps, weight in enumerate(STENCIL, 1):
            for sign in (1, -1):
                raise_if_stopped()
                near = value.copy()
                near.flat[j] *= np.exp(sign * steps * NEAR)
                changed = kernel.copied(**{name: near if near.ndim else float(near)})
                change += (sign * weight / NEAR) * dense(changed)
        found[j] = np.vdot(G, change)
    return found


@singledispatch
def _of_parts(kernel: Kernel, X: Samples, G: np.ndarray, dense: Dense, chosen: Collection[str]):
    """`slopes` of those parameters for which there is a shorter way than differences."""
    return {}


@_of_parts.register
def _sum(kernel: Sum, X: Samples, G: np.ndarray, dense: Dense, chosen: Collection[str]):
    left = _of_part(kernel, "left", X, G, dense, chosen)
    return left | _of_part(kernel, "right", X, G, dense, chosen)


@_of_parts.register
def _product(kernel: Product, X: Samples, G: np.ndarray, dense: Dense, chosen: Collection[str]):
    found: dict[str, np.ndarray] = {}
    for part, other in (("left", kernel.right), ("right", kernel.left)):
        if any(name.startswith(f"{part}__") for name in chosen):
            found |= _of_part(kernel, part, X, G * dense(other), dense, chosen)
    return found


@_of_parts.register
def _factor(kernel: Scaled, X: Samples, G: np.ndarray, dense: Dense, chosen: Collection[str]):
    found = _of_part(kernel, "kernel", X, kernel.factor * G, dense, chosen)
    if "factor" in chosen:
        found["factor"] = np.array([np.vdot(G, dense(kernel))])
    return found


@_of_parts.register
def _weights(kernel: Radial, X: Samples, G: np.ndarray, dense: Dense, chosen: Collection[str]):
    radial, _ = radial_part(kernel)
    if radial is None or "metric__weights" not in chosen or not isinstance(X, np.ndarray):
        return {}
    formula: Any = kernel.formula  # w = ℓ^-p
    return {"metric__weights": by_scales(radial, X, G) / -float(formula.p)}


def _of_part(
    kernel: Kernel, part: str, X: Samples, G: np.ndarray, dense: Dense, chosen: Collection[str]
) -> dict[str, np.ndarray]:
    """`slopes` of the kernel that is a parameter of another one."""
    inner = [name.removeprefix(f"{part}__") for name in chosen if name.startswith(f"{part}__")]
    found = slopes(kernel.get_params(deep=False)[part], X, G, dense, inner)
    return {f"{part}__{name}": values for name, values in found.items()}


def _check_taken(kernel: Kernel, name: str, given: Any, chosen: Hyperparameters) -> None:
    """Refuse bounds with values that the kernel refuses, at their ends or beside the start."""
    low, high = chosen.bounds.T
    beside = (np.clip(chosen.theta + step, low, high) for step in (-NEAR, NEAR))
    for theta in (*beside, low, high):
        value = split(theta, chosen.names, kernel)[name]
        try:
            if np.isfinite(value).all():
                kernel.copied(**{name: value}).validate()
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"bounds[{name!r}]={given!r}: the kernel refuses {value} ({error}): give narrower "
                'bounds, or "fixed" for a number that is whole.'
            ) from error


def _is_fixed(given: Any) -> bool:
    return isinstance(given, str) and given == "fixed"


def _log_range(name: str, given: Any, start: np.ndarray) -> np.ndarray:
    """Logarithms of the bounds of a hyperparameter, (size, 2)."""
    if given is None:
        room = DECADES * np.log(10.0)
        return np.column_stack([start - room, start + room])
    try:
        ends = np.asarray(given, np.float64)
        low, high = ends.T if ends.ndim == 2 else ends
        found = np.log(np.column_stack([np.broadcast_to(end, len(start)) for end in (low, high)]))
        right = bool((ends[..., 0] > 0).all() and (found[:, 0] <= found[:, 1]).all())
    except (TypeError, ValueError):
        right = False
    if not right:
        raise ValueError(
            f"bounds[{name!r}]={given!r}: give the least and the largest value, both > 0, such as "
            '(0.01, 100.0), or "fixed".'
        )
    return found
