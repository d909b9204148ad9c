"""Kernels from a user's function: of two objects, or of two whole samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.distances import Meaning, PairFunction, function_name, listed
from mercer.kernels.base import Kernel
from mercer.samples import Objects, check_format

PAIRS = (  # the end of error messages: what to do with a function of two objects
    "If the function compares two objects and returns one number, use FromFunction(function). "
    "KernelRidge reads a plain function like this."
)


class FromFunction(PairFunction, Kernel):
    """The kernel k(x, z) = function(x, z) of any objects, from your own function.

    Parameters
    ----------
    function : callable
        It takes two objects (x, z) and returns a finite number.
    symmetric : bool, default=True
        Whether function(x, z) == function(z, x), so that half of the calls are enough.
    positive_definite : bool, optional
        Whether every Gram matrix is positive semidefinite. None means that it is not known;
        `check_mercer` tests it on a sample.

    See Also
    --------
    FromCallable : From a function of two samples, called once.
    mercer.distances.FromFunction : The same for a distance.

    Raises
    ------
    ValueError
        If the function does not return a finite number, or is not symmetric on one of the pairs
        that are tried; the message names the pair.

    Notes
    -----
    Samples are a list of any objects, which are not copied, or the rows of an array. For n samples
    the function is called n (n + 1) / 2 times, and up to 30 times more to test the symmetry and to
    measure how long a call takes; learners that read k(x, x) first add n or 2n calls. m predictions
    from s support vectors take m s calls. Slow calls are shared among several processes, if the
    function can be pickled.

    Examples
    --------
    >>> kernel = FromFunction(lambda a, b: float(len(set(a) & set(b))))
    >>> kernel([("tea", "milk"), ("tea",)])
    array([[2., 1.],
           [1., 1.]])
    """

    meaning = Meaning("f(x, z)", "what a function of two samples returns")

    remedy = "Give symmetric=False, or a function that is symmetric."
    instead = (
        "If the function takes two whole samples and returns all values, use "
        "FromCallable(function). SVC reads a plain function like this."
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
    """A kernel from a function of two whole samples, as in scikit-learn's ``SVC(kernel=callable)``.

    Parameters
    ----------
    function : callable
        It is called as ``function(X, Z, **arguments)`` and returns values of shape (n, m). X and Z
        are arrays, sparse rows, or lists of the objects that the user gave.
    arguments : dict, optional
        More keyword arguments of the function. None means no arguments.

    See Also
    --------
    FromFunction : From a function of two objects.

    Notes
    -----
    If K fits into ``memory``, the function is called once with all samples, otherwise with parts of
    them. It is not known whether K is symmetric positive semidefinite: `check_mercer` tests it.

    Examples
    --------
    >>> FromCallable(lambda X, Z: X @ Z.T)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    meaning = Meaning("f(x, z)", "what a function of all samples returns")

    kind = "objects"
    positive_definite = None
    at_once = True

    def __init__(self, function: Callable, arguments: dict | None = None):
        self.function = function
        self.arguments = arguments

    def validate(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function={self.function!r}: give a function of two samples.")
        if not (self.arguments is None or isinstance(self.arguments, dict)):
            raise TypeError(f"arguments={self.arguments!r}: give a dict, or None.")

    def block(self, X: Any, Z: Any) -> np.ndarray:
        X_given = listed(X) if isinstance(X, Objects) else X
        Z_given = X_given if Z is X else listed(Z) if isinstance(Z, Objects) else Z
        name, wanted = function_name(self.function), (X.shape[0], Z.shape[0])
        try:
            K = self.function(X_given, Z_given, **(self.arguments or {}))
        except Exception as error:  # the user's function failed: say how it was called
            error.add_note(f"{name} was called with two whole samples, of {wanted} rows. {PAIRS}")
            raise
        check_format(K, "K")
        K = K.toarray() if sp.issparse(K) else np.array(K)
        if K.shape != wanted or K.dtype.kind not in "biuf":
            raise ValueError(
                f"{name} returned shape {K.shape} of {K.dtype} for {wanted[0]} and {wanted[1]} "
                f"samples: it must return {wanted}, all values at once, as real numbers. {PAIRS}"
            )
        return K.astype(np.result_type(X.dtype, np.float32), copy=False)

    def whole(
        self, X: Any, Z: Any, n_jobs: int | None = None, values: Callable | None = None
    ) -> np.ndarray:
        """All values, with one call of the function."""
        return self.block(X, Z)
