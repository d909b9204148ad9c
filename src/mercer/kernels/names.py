"""Turn what a user gives as ``kernel=`` (a name of scikit-learn, a function) into a `Kernel`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mercer.distances import Distance
from mercer.kernels.arc_cosine import ArcCosine
from mercer.kernels.base import Kernel
from mercer.kernels.dot import Cosine, Linear, Polynomial, Sigmoid
from mercer.kernels.from_function import FromFunction, Precomputed
from mercer.kernels.matern import Matern
from mercer.kernels.radial import RBF, Laplacian
from mercer.kernels.sets import ChiSquared, HistogramIntersection, Intersection, Jaccard
from mercer.spoken import meant

#: name -> (constructor, the arguments that it reads, with their defaults; the defaults are those of
#: ``sklearn.metrics.pairwise.pairwise_kernels``)
NAMED: dict[str, tuple[Callable[..., Kernel], dict[str, Any]]] = {
    "linear": (Linear, {}),
    "poly": (Polynomial, {"degree": 3, "gamma": "auto", "coef0": 1}),
    "polynomial": (Polynomial, {"degree": 3, "gamma": "auto", "coef0": 1}),
    "rbf": (RBF, {"gamma": "auto"}),
    "laplacian": (Laplacian, {"gamma": "auto"}),
    "sigmoid": (Sigmoid, {"gamma": "auto", "coef0": 1}),
    "cosine": (Cosine, {}),
    "chi2": (ChiSquared, {"gamma": 1.0}),
    "histogram_intersection": (HistogramIntersection, {}),
    "intersection": (Intersection, {}),
    "jaccard": (Jaccard, {}),
    "matern": (Matern, {}),
    "arccosine": (ArcCosine, {}),
    "precomputed": (Precomputed, {}),
}


def as_kernel(
    kernel: Any, *, pairwise: bool = False, kernel_params: dict | None = None, **arguments: object
) -> Kernel:
    """Return the kernel object for a value of ``kernel=``.

    Parameters
    ----------
    kernel : Kernel, str or callable
    pairwise : bool
        Whether a callable compares two objects (as in KernelRidge) and not two whole samples (as
        in SVC).
    kernel_params : dict, optional
        More arguments of a callable.
    **arguments
        gamma, degree and coef0, as in scikit-learn; None means not given. A named kernel uses only
        those that it reads.

    Raises
    ------
    ValueError
        If the name is not known, or if arguments are given together with a kernel object.
    TypeError
        If ``kernel`` is not a kernel object, a name or a function.

    Examples
    --------
    >>> as_kernel("rbf", gamma=0.5, degree=3)
    RBF(gamma=0.5)
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    if isinstance(kernel, Kernel):
        if given:
            name, value = next(iter(given.items()))
            raise ValueError(
                f"{name}={value!r} is given together with the kernel object {kernel!r}, which has "
                f"its own parameters: set them there and leave {name} out."
            )
        return kernel
    if isinstance(kernel, str):
        if kernel not in NAMED:
            raise ValueError(
                f"kernel={kernel!r} is not known.{meant(kernel, NAMED)} Give one of "
                f"{sorted(NAMED)}, or a kernel object."
            )
        constructor, reads = NAMED[kernel]
        return constructor(**{name: given.get(name, reads[name]) for name in reads})
    if isinstance(kernel, Distance):
        raise TypeError(
            f"kernel={kernel!r} is a distance. Make a kernel from it: FromDistance({kernel!r})."
        )
    if isinstance(kernel, type):
        raise TypeError(
            f"kernel={kernel.__name__} is a class: give an object, {kernel.__name__}()."
        )
    if callable(kernel):
        function: Any = partial(kernel, **kernel_params) if kernel_params else kernel
        return FromFunction(function, at_once=not pairwise)
    raise TypeError(f"kernel={kernel!r}: give a kernel object, a name, or a function.")
