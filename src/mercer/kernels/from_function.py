"""Kernels from what a user has: a function, a distance, a matrix of values, or a name of
scikit-learn's; `as_kernel` turns what is given as ``kernel=`` into one of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from mercer.distances import Distance, Meaning, PairFunction, function_name, listed
from mercer.estimator import estimator
from mercer.kernels.arc_cosine import ArcCosine
from mercer.kernels.base import Kernel
from mercer.kernels.dot import Cosine, Linear, Polynomial, Sigmoid
from mercer.kernels.matern import Matern
from mercer.kernels.radial import RBF, Falling, Laplacian
from mercer.kernels.sets import ChiSquared, HistogramIntersection, Intersection, Jaccard
from mercer.samples import MatrixRows, Objects, Samples, check_format, check_positive
from mercer.spoken import meant


class FromDistance(Falling):
    r"""Kernel from a distance

    .. math:: k(x, z) = \exp(-\gamma \rho(x, z)^p) .

    It is positive semidefinite for every γ exactly if :math:`\rho^p` is conditionally negative
    definite (Schoenberg 1938). ``rho.definite_up_to`` is the largest p for which this is known; for
    other powers `check_mercer` tests the kernel on a sample.

    Parameters
    ----------
    rho : Distance
        The distance ρ.
    gamma : float > 0, default=1.0
        The factor γ.
    power : float > 0, default=1.0
        The power p.

    Notes
    -----
    It costs as much as the distance, and one exponential for each pair.

    References
    ----------
    Schoenberg, "Metric spaces and positive definite functions", Trans. AMS 44, 1938.

    Examples
    --------
    >>> from mercer.distances import Match
    >>> FromDistance(Match())([["red", "s"]], [["red", "m"]]).round(4)
    array([[0.3679]])
    """

    meaning = Meaning(
        "exp(−γ ρ(x, z)^{power})",
        "1 for equal samples, falling exponentially with their distance: {rho}",
    )

    free = ("gamma",)

    def __init__(self, rho: Distance, gamma: float = 1.0, power: float = 1.0):
        self.rho = rho
        self.gamma = gamma
        self.power = power

    @property
    def rate(self) -> float:
        return float(self.gamma)

    @property
    def distance(self) -> Distance:
        return self.rho

    def validate(self) -> None:
        if not isinstance(self.rho, Distance):
            raise TypeError(f"rho={self.rho!r}: FromDistance needs a Mercer distance.")
        for name in ("gamma", "power"):
            check_positive(name, getattr(self, name))
        self.rho.validate()


class Precomputed(Kernel):
    """A kernel whose values are given; the same as ``kernel="precomputed"`` of the learners.

    For ``fit``, X is the matrix K between all training samples, of shape (n, n). For predictions,
    X is the matrix K between m new samples and all training samples, of shape (m, n).

    Parameters
    ----------
    positive_definite : bool, optional
        Whether K is positive semidefinite. None means that it is not known.

    Examples
    --------
    >>> from mercer import SVC
    >>> K = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
    >>> SVC(kernel=Precomputed()).fit(K, [0, 0, 1]).predict([[0.0, 0.0, 2.0]])
    array([1])
    """

    meaning = Meaning("K given as a matrix", "a number that was computed elsewhere")

    kind = "precomputed"

    def __init__(self, positive_definite: bool | None = None):
        self.positive_definite = positive_definite

    def support(self, X: MatrixRows) -> MatrixRows:
        return X.without_values()

    def matrix(self, X: MatrixRows, Z: MatrixRows) -> tuple[np.ndarray, Any, Any]:
        if Z.columns is not None and X.matrix is not None:
            return X.matrix, X.rows, Z.columns
        if X.columns is not None and Z.matrix is not None:
            return Z.matrix.T, X.columns, Z.rows
        raise ValueError(
            "The values of K between these samples are not known: a precomputed matrix holds K "
            "between the training samples, or between new samples and the training samples."
        )

    def block(self, X: MatrixRows, Z: MatrixRows) -> np.ndarray:
        K, rows, columns = self.matrix(X, Z)
        return K[np.ix_(rows, columns)]

    def diag(self, X: MatrixRows) -> np.ndarray:
        K, rows, columns = self.matrix(X, X)
        return K[rows, columns]


PAIRS = (  # the end of error messages: what to do with a function of two objects
    "If the function compares two objects and returns one number, use FromFunction(function). "
    "KernelRidge reads a plain function like this."
)


@estimator
class FromFunction(PairFunction, Kernel):
    """The kernel k(x, z) = function(x, z) of any objects, from your own function.

    Parameters
    ----------
    function : callable
        It takes two objects (x, z) and returns a finite number; or, with ``at_once``, two whole
        samples (X, Z), arrays, sparse rows or lists of your objects, and returns values of shape
        (n, m).
    symmetric : bool, default=True
        Whether function(x, z) == function(z, x), so that half of the calls are enough.
    positive_definite : bool, optional
        Whether every Gram matrix is positive semidefinite. None means that it is not known;
        `check_mercer` tests it on a sample.
    at_once : bool, default=False
        Whether the function takes whole samples, as that of scikit-learn's ``SVC(kernel=callable)``
        does.

    See Also
    --------
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

    With ``at_once`` the function is called once with all samples if K fits into ``memory``,
    otherwise with parts of them, and its symmetry is not tested.

    Examples
    --------
    >>> kernel = FromFunction(lambda a, b: float(len(set(a) & set(b))))
    >>> kernel([("tea", "milk"), ("tea",)])
    array([[2., 1.],
           [1., 1.]])
    >>> FromFunction(lambda X, Z: X @ Z.T, at_once=True)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    meaning = Meaning("f(x, z)", "what a function of two samples returns")

    remedy = "Give symmetric=False, or a function that is symmetric."
    instead = (
        "If the function takes two whole samples and returns all values, use "
        "FromFunction(function, at_once=True). SVC reads a plain function like this."
    )

    function: Callable[[Any, Any], Any]
    symmetric: bool = True
    positive_definite: bool | None = None
    at_once: bool = False

    def validate(self) -> None:
        super().validate()
        if not isinstance(self.at_once, (bool, np.bool_)):
            raise ValueError(f"at_once={self.at_once!r}: give True or False.")

    def bind(
        self, X: Samples, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        if not self.at_once:
            return super().bind(X, y, sample_weight)
        self.validate()
        return self

    def diag(self, X: Samples) -> np.ndarray:
        if self.at_once:
            return Kernel.diag(self, X)
        values = [self.value(X, i, x, X, i, x) for i, x in enumerate(listed(X))]
        return np.array(values, dtype=X.dtype).reshape(-1)

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        if not self.at_once:
            return super().block(X, Z)
        X_given = listed(X) if isinstance(X, Objects) else X
        Z_given = X_given if Z is X else listed(Z) if isinstance(Z, Objects) else Z
        name, wanted = function_name(self.function), (X.shape[0], Z.shape[0])
        try:
            K: Any = self.function(X_given, Z_given)
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
        self, X: Samples, Z: Samples, n_jobs: int | None = None, values: Callable | None = None
    ) -> np.ndarray:
        if self.at_once:
            return self.block(X, Z)  # with one call of the function
        return super().whole(X, Z, n_jobs, values)


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
