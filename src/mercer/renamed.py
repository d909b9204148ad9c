"""Old public names, kept for one release: each works, and warns of the name that replaced it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from mercer.callers import first_outside

# What replaced a class is called with the arguments of the old one.


def _rocket(method: str, new: Any, n_components: int | None = None, **more: object) -> Any:
    return new(method, n_components, **more)


def _hydra(new: Any, n_groups: int = 64, **more: object) -> Any:
    return new("hydra", n_groups, **more)


def _blended(new: Any, k: int = 3, decay: float = 1.0, *others: object, **more: object) -> Any:
    return new(k, *others, **more, shortest=1, decay=decay)


def _from_callable(new: Any, function: Any, arguments: dict | None = None) -> Any:
    return new(partial(function, **arguments) if arguments else function, at_once=True)


def _lpq_laplace(
    new: Any,
    p: float = 1.0,
    q: float = 1.0,
    length_scale: float = 1.0,
    weights: np.ndarray | None = None,
) -> Any:
    """The kernel of the old parameters."""
    return new(length_scale**p, p, import_module("mercer.distances").Minkowski(q, weights))


class NewName(NamedTuple):
    """What replaced an old name."""

    home: str
    name: str
    arguments: str = ""  # what to write after the name, if it has other arguments
    called: Callable[..., Any] | None = None  # makes it of those of the old name


#: old name -> what replaced it
OLD = {
    "mercer.CoordinateDescentWeights": NewName(
        "mercer.learners.metrics", "CoordinateDescentWeights"
    ),
    "mercer.Hydra": NewName("mercer", "ConvolutionFeatures", '("hydra", n_groups)', _hydra),
    "mercer.KernelMachine": NewName("mercer.selection.automatic", "KernelMachine"),
    "mercer.MiniRocket": NewName(
        "mercer", "ConvolutionFeatures", '("minirocket", n_components)',
        partial(_rocket, "minirocket"),
    ),
    "mercer.MultiRocket": NewName(
        "mercer", "ConvolutionFeatures", '("multirocket", n_components)',
        partial(_rocket, "multirocket"),
    ),
    "mercer.TwoStageRegressor": NewName("mercer.learners.additive", "TwoStageRegressor"),
    "mercer.noise_features": NewName("mercer.learners.metrics", "noise_features"),
    "mercer.kernels.BlendedSpectrum": NewName(
        "mercer.kernels", "Spectrum", "(k, shortest=1)", _blended
    ),
    "mercer.kernels.FromCallable": NewName(
        "mercer.kernels", "FromFunction", "(function, at_once=True)", _from_callable
    ),
    "mercer.kernels.LpqLaplace": NewName(
        "mercer.kernels", "ExponentialPower", "(length_scale**p, p, Minkowski(q, weights))",
        _lpq_laplace,
    ),
    "mercer.kernels.Products": NewName("mercer.kernels", "GramProducts"),
}  # fmt: skip


def old_name(module: str, name: str) -> Any:
    """What an old name of a module means now; AttributeError if there never was one."""
    new = OLD.get(f"{module}.{name}")
    if new is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    warnings.warn(
        f"{module}.{name} is {new.home}.{new.name}{new.arguments} now; the old name will be "
        "removed in the next release.",
        FutureWarning,
        stacklevel=first_outside(),
    )
    value = getattr(import_module(new.home), new.name)
    return value if new.called is None else partial(new.called, value)
