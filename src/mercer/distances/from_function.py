"""A distance of any objects, from a function of two of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.distances.base import Distance
from mercer.distances.pair_function import PairFunction

__all__ = ["FromFunction"]


class FromFunction(PairFunction, Distance):
    """The distance ρ(x, z) = function(x, z) of any objects: a function in place of a formula.

    Parameters
    ----------
    function : callable
        (x, z) -> a finite number >= 0, the same for (z, x).
    metric : bool, default=False
        Whether it satisfies the triangle inequality, and is 0 for equal objects alone.

    See Also
    --------
    mercer.kernels.FromFunction : The same for a similarity.
    mercer.kernels.FromDistance : exp(-γ ρ) of a distance.

    Raises
    ------
    ValueError
        The function returns something else than a finite number >= 0, or is not symmetric on some
        pairs that are tried; the message names the pair.

    Notes
    -----
    Samples are a list of anything, held by reference; of an array, its rows. n (n + 1) / 2 calls
    for n samples, and up to 30 that look at symmetry and at the time a call takes. Where they take
    long, processes share them, if the function pickles.

    Examples
    --------
    >>> FromFunction(lambda a, b: abs(len(a) - len(b)))([(1, 2), (1,), ()])
    array([[0., 1., 2.],
           [1., 0., 1.],
           [2., 1., 0.]])
    """

    wanted = "a finite number >= 0"

    def __init__(self, function: Callable[[Any, Any], float], metric: bool = False):
        self.function = function
        self.metric = metric

    def block(self, X: Any, Z: Any) -> np.ndarray:
        D = super().block(X, Z)
        if D.size and D.min() < 0:
            i, j = np.unravel_index(D.argmin(), D.shape)
            raise ValueError(self.refused(float(D.min()), X, int(i), Z, int(j)))
        return D
