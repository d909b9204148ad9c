"""Kernels from a user's function: of two objects, or of two whole samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.distances.pair_function import PairFunction, function_name, listed
from mercer.kernels.base import Kernel
from mercer.samples import Objects

__all__ = ["FromCallable", "FromFunction"]

PAIRS = (  # what to give in place of a function of two objects, for errors
    "A function of two objects that returns a number is FromFunction(function); KernelRidge takes "
    "a bare function so."
)


class FromFunction(PairFunction, Kernel):
    """The kernel k(x, z) = function(x, z) of any objects: a function in place of a formula.

    Parameters
    ----------
    function : callable
        (x, z) -> a finite number.
    symmetric : bool, default=True
        Whether function(x, z) == function(z, x), so that half of the calls are enough.
    positive_definite : bool, optional
        Whether every Gram matrix is positive semidefinite; None: it is not known, and
        `check_mercer` looks.

    See Also
    --------
    FromCallable : From a function of two samples, called once.
    mercer.distances.FromFunction : The same for a distance.

    Raises
    ------
    ValueError
        The function returns something else than a finite number, or is not symmetric on some pairs
        that are tried; the message names the pair.

    Notes
    -----
    Samples are a list of anything, held by reference; of an array, its rows. n (n + 1) / 2 calls
    for n samples, up to 30 that look at symmetry and at the time a call takes, and n or 2 n of
    learners that read k(x, x) first; m s calls for m predictions from s support vectors. Where they
    take long, processes share them, if the function pickles.

    Examples
    --------
    >>> kernel = FromFunction(lambda a, b: float(len(set(a) & set(b))))
    >>> kernel([("tea", "milk"), ("tea",)])
    array([[2., 1.],
           [1., 1.]])
    """

    remedy = "Give symmetric=False, or a function that is."
    instead = (
        "A function of two whole samples, which returns all values, is FromCallable(function); SVC "
        "takes a bare function so."
    )

    def __init__(
        self,
        function: Callable[[Any, Any], float],
        symmetric: bool = True,
        positive_definite: bool | None = None,
    ):
        self.function = function
        self.symmetric = symmetric
        self.positive_definite = positive_definite

    def diag(self, X: Any) -> np.ndarray:
        values = [self.value(X, i, x, X, i, x) for i, x in enumerate(listed(X))]
        return np.array(values, dtype=X.dtype).reshape(-1)


class FromCallable(Kernel):
    """A kernel from a function of two samples, as scikit-learn's ``SVC(kernel=callable)``.

    Parameters
    ----------
    function : callable
        (X, Z, **arguments) -> values of shape (n, m). X and Z are arrays, sparse rows, or lists of
        the objects that the user gave.
    arguments : dict, optional
        Further keyword arguments of the function.

    See Also
    --------
    FromFunction : From a function of two objects.

    Notes
    -----
    Where ``memory`` has room for K the function is called once with all samples, else with parts of
    them. Whether it is symmetric positive semidefinite is not known: `check_mercer` looks.

    Examples
    --------
    >>> FromCallable(lambda X, Z: X @ Z.T)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    kind = "objects"
    positive_definite = None
    at_once = True

    def __init__(self, function: Callable, arguments: dict | None = None):
        self.function = function
        self.arguments = arguments

    def validate(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function={self.function!r}: give a function of two samples.")

    def block(self, X: Any, Z: Any) -> np.ndarray:
        X_given = listed(X) if isinstance(X, Objects) else X
        Z_given = X_given if Z is X else listed(Z) if isinstance(Z, Objects) else Z
        name, wanted = function_name(self.function), (X.shape[0], Z.shape[0])
        try:
            K = self.function(X_given, Z_given, **(self.arguments or {}))
        except Exception as error:  # the user's own, who sees where it came from
            error.add_note(f"{name} was called with all of two samples, {wanted}. {PAIRS}")
            raise
        K = K.toarray() if sp.issparse(K) else np.array(K)
        if K.shape != wanted or K.dtype.kind not in "biuf":
            raise ValueError(
                f"{name} returned shape {K.shape} of {K.dtype} for {wanted[0]} and {wanted[1]} "
                f"samples: it must return {wanted}, all values at once, real numbers. {PAIRS}"
            )
        return K.astype(np.result_type(X.dtype, np.float32), copy=False)

    def whole(
        self, X: Any, Z: Any, n_jobs: int | None = None, values: Callable | None = None
    ) -> np.ndarray:
        """All values, by one call."""
        return self.block(X, Z)
