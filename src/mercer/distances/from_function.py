"""A distance of any objects, from a function of two of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.distances.base import Distance
from mercer.distances.meaning import Meaning
from mercer.distances.pair_function import PairFunction


class FromFunction(PairFunction, Distance):
    """The distance ρ(x, z) = function(x, z) of any objects, from your own function.

    Parameters
    ----------
    function : callable
        It takes two objects (x, z) and returns a finite number >= 0, the same as for (z, x).
    metric : bool, default=False
        Whether the triangle inequality holds and the value is 0 only for equal objects.

    See Also
    --------
    mercer.kernels.FromFunction : The same for a similarity.
    mercer.kernels.FromDistance : The kernel exp(-γ ρ) from a distance ρ.

    Raises
    ------
    ValueError
        If the function does not return a finite number >= 0, or is not symmetric on one of the
        pairs that are tried; the message names the pair.

    Notes
    -----
    Samples are a list of any objects, which are not copied, or the rows of an array. For n samples
    the function is called n (n + 1) / 2 times, and up to 30 times more to test the symmetry and to
    measure how long a call takes. Slow calls are shared among several processes, if the function
    can be pickled.

    Examples
    --------
    >>> FromFunction(lambda a, b: abs(len(a) - len(b)))([(1, 2), (1,), ()])
    array([[0., 1., 2.],
           [1., 0., 1.],
           [2., 1., 0.]])
    """

    meaning = Meaning("f(x, z)", "what a function of two samples returns")

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
