"""The one interface of all kernels, and the operators of their algebra.

A kernel is k(x, z) = <φ(x), φ(z)> for some feature map φ. `Kernel` needs one method, ``block``;
two abstract classes stand between: `Radial`, kernels made of a distance and a profile, and `Layer`,
kernels that are functions of inner products, and so of the Gram matrix of any other kernel.
A `Formula` is a kernel as data: what another device needs to compute it. Values too large or small
for floats are pairs (m, e) of mantissa and exponent, m · 2^e.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.metaestimators import available_if

from mercer.distances import Comparison, Distance, inner_products, squared_norms
from mercer.samples import Prepared, Samples, SamplesLike, as_samples, is_number

LN2 = float(np.log(2))
Scaled = tuple[np.ndarray, np.ndarray]  # float64 and int64, of the same shape


def values(scaled: Scaled, dtype: np.dtype) -> np.ndarray:
    """m · 2^e in a dtype; a value outside its range becomes infinite or 0."""
    m, e = scaled
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(m, np.clip(e, -(2**30), 2**30).astype(np.int32)).astype(dtype, copy=False)


def logarithms(scaled: Scaled) -> np.ndarray:
    """log(abs(m · 2^e)); -inf for 0."""
    m, e = scaled
    with np.errstate(divide="ignore"):
        return np.log(np.abs(m)) + LN2 * e


def from_logs(logs: np.ndarray) -> Scaled:
    """exp(logs) as pairs (m, e), for logarithms of any size."""
    e = np.rint(np.asarray(logs, np.float64) / LN2)
    return np.exp(logs - LN2 * e), e.astype(np.int64)


def multiplied(scaled: Scaled, factor: np.ndarray) -> Scaled:
    """The pairs times plain numbers."""
    m, e = scaled
    m, shift = np.frexp(m * factor)
    return m, e + shift


def root(diag: Scaled) -> Scaled:
    """(r, h) with r · 2^-h = 1 / √(m · 2^e); r = 0 where m = 0.

    It takes no logarithm, because that would lose digits.
    """
    m, e = diag
    odd = e & 1
    m = np.ldexp(m, odd.astype(np.int32))
    return np.where(m > 0, 1 / np.sqrt(np.where(m > 0, m, 1)), 0), (e - odd) // 2


@dataclass(frozen=True)
class GramProducts:
    """K = M[rows][:, columns] of a symmetric M, of which products are known.

    `Kernel.products` returns it, and the Gram operator is made of it.

    Parameters
    ----------
    multiply : callable
        M V in V's dtype for V of shape (size, c), where c is small; threads may call it at a time.
    size : int
        The rows of M.
    rows, columns : ndarray of shape (n,), (m,), int
        Where the samples are in M.
    cost : float
        About how many operations M v takes for one vector.

    Examples
    --------
    >>> from mercer.gram import MultipliedGram
    >>> M = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> known = GramProducts(M.dot, 2, np.array([1]), np.array([0, 1]), 4.0)
    >>> MultipliedGram(known, M.dtype) @ np.array([1.0, 1.0])
    array([4.])
    """

    multiply: Callable[[np.ndarray], np.ndarray]
    size: int
    rows: np.ndarray
    columns: np.ndarray
    cost: float


@dataclass(frozen=True)
class Formula:
    r"""A kernel on vectors as data: a number for each pair of rows, and a profile of it.

    k(x, z) = factor · (‖x‖ ‖z‖)^lengths · profile(t), where the number t of two rows x and z is
    one of the ``coordinates`` below.

    Parameters
    ----------
    profile : str
        The function of t. Names in parentheses are its ``parameters``.
        "identity": t;
        "polynomial": (gamma · t + coef0)^degree;
        "tanh": tanh(gamma · t + coef0);
        "exponential": exp(-rate · t^power);
        "rational": (1 + rate · t^power)^-alpha;
        "matern": :math:`2^{1-\nu} / \Gamma(\nu) \, u^\nu K_\nu(u)` with u = rate · t^power, and 1
        for u = 0 (nu, rate, power);
        "arc_cosine": :math:`J_n(\theta) / \pi` of `ArcCosine` with t = cos θ (degree);
        "bell_of_angle": exp(t - 1).
    parameters : dict of str to float
        The numbers of the profile.
    coordinates : str
        What t is.
        "product": <x, z>;
        "cosine": <x, z> / (‖x‖ ‖z‖), and 0 if one of the rows is 0;
        "distance": :math:`\sum_j |x_j - z_j|^p`;
        "chi_squared": :math:`\sum_j (x_j - z_j)^2 / (x_j + z_j)` with 0/0 = 0;
        "minima": :math:`\sum_j \min(x_j, z_j)`.
    p : float, default=2.0
        The power of a "distance".
    scaling : ndarray of shape (d,) or (r, d), optional
        What the rows are multiplied by first: a factor for each column, or a matrix. None means
        that they stay as they are.
    lengths, factor : float
        The numbers in the formula above.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> formula = (2 * Laplacian(0.5)).formula
    >>> formula.profile, formula.parameters, formula.coordinates, formula.p, formula.factor
    ('exponential', {'rate': 0.5, 'power': 1.0}, 'distance', 1.0, 2.0)
    """

    profile: str
    parameters: Mapping[str, float] = field(default_factory=dict)
    coordinates: str = "product"
    p: float = 2.0
    scaling: Any = None
    lengths: float = 0.0
    factor: float = 1.0

    def rows(self, X: np.ndarray) -> np.ndarray:
        """Dense rows after the scaling, (n, d)."""
        if self.scaling is None:
            return X
        return X * self.scaling if self.scaling.ndim == 1 else X @ self.scaling.T


def of_distance(profile: str, distance: Distance, **parameters: float) -> Formula | None:
    """The formula of a profile of a distance; None if that is not a norm of a difference."""
    norm = distance.norm
    if norm is None:
        return None
    return Formula(profile, parameters, "distance", norm.p, norm.linear_map)


#: what the operators and methods of a kernel make, by its name: algebra.py, transforms.py and
#: tables.py, which import this file, add their classes
NODES: dict[str, Callable[..., Kernel]] = {}


class NotSeparable(ValueError):
    """A kernel is no sum of products whose factors read the columns of one player, or no sum over
    substrings.

    Examples
    --------
    >>> from mercer.kernels import Cosine
    >>> try:
    ...     Cosine().separated(np.eye(2), {0: "a", 1: "b"})
    ... except NotSeparable:
    ...     print("Cosine is no sum of products over columns.")
    Cosine is no sum of products over columns.
    """


class Term(NamedTuple):
    """A product of kernels with a weight, one of those whose sum is a kernel.

    Attributes
    ----------
    weight : float
    factors : dict
        For each player the kernels that are multiplied, which read its columns alone. They compare
        the same encoded samples as the whole kernel. A player that is missing has the factor 1.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> terms = RBF(1.0).separated(np.eye(2), {0: "a", 1: "b"})
    >>> [(term.weight, sorted(term.factors)) for term in terms]
    [(1.0, ['a', 'b'])]
    """

    weight: float
    factors: dict[Hashable, tuple[Kernel, ...]]


class Kernel(Comparison):
    """A similarity k(x, z). Abstract: define ``block``; ``diag`` and ``bind`` have defaults."""

    #: whether every Gram matrix is positive semidefinite: True, False (not always), None (unknown)
    positive_definite: bool | None = True
    #: whether k(x, z) = <x, z> of the given vectors, so that learners need no Gram matrix
    linear: bool = False
    #: a bound kernel on vectors as data, for other devices; None if it has no such form
    formula: Formula | None = None
    #: φ of encoded samples, shape (n, p); only kernels with a finite number of features have it
    features: Callable[[Any], Any]
    #: a block and k(x, x) as pairs (m, e) with k = m 2^e; only kernels that may overflow have them
    scaled_block: Callable[[Any, Any], tuple[np.ndarray, np.ndarray]]
    scaled_diag: Callable[[Any], tuple[np.ndarray, np.ndarray]]

    @property
    def requires_vector_input(self) -> bool:
        """Whether samples must be vectors (scikit-learn's convention)."""
        return self.reads.coordinates

    def diag(self, X: Any) -> np.ndarray:
        """k(x, x) for each row x of X, prepared or not, shape (n,). Override it if you can do it
        faster."""
        strips = [X[s : s + 64] for s in range(0, X.shape[0], 64)]
        parts = [self.block(S, S).diagonal() for S in strips]
        return np.concatenate(parts) if parts else np.empty(0, X.dtype)

    def products(self, X: Samples, Z: Samples) -> GramProducts | None:
        """How K between encoded samples is multiplied without its entries, by a bound kernel.

        None (the default) means that K is computed block by block.
        """
        return None

    def support(self, X: Samples) -> Any:
        """The part of the encoded training samples X that predictions need; by default all of X."""
        return X

    def separated(self, X: Samples, players: Mapping[Any, Hashable]) -> list[Term]:
        r"""The kernel as :math:`\sum_t w_t \prod_p k_{tp}`, where k_tp reads what belongs to p.

        Shapley values of such kernels are exact (`mercer.explain`). A kernel of your own overrides
        this method if its columns act in turn; the default knows that of a kernel that reads the
        columns of one player alone.

        Parameters
        ----------
        X : samples
            Encoded samples, with which the bound kernel compares.
        players : mapping
            The player of each column of X: of the columns 0, 1, ... of vectors and categories, of
            the names of a table's columns; of other samples the one player that they are, for 0.

        Raises
        ------
        NotSeparable
            If the kernel mixes the columns of several players otherwise.
        """
        owners = set(players.values())
        if len(owners) == 1:
            return [Term(1.0, {owners.pop(): (self,)})]
        raise NotSeparable(
            f"{type(self).__name__} compares {len(players)} columns at once, and is no product or "
            "sum of kernels of single columns."
        )

    def symbol_parts(self, X: Samples, Z: Samples, coef: np.ndarray) -> list[np.ndarray]:
        r"""What each symbol of encoded strings X adds to :math:`f(x) = \sum_i k(x, z_i) c_i`.

        Kernels that count substrings have it: a substring that x and z_i share is divided among its
        symbols that are compared, so that the parts of the symbols of x sum to f(x).

        Parameters
        ----------
        X, Z : samples
            Encoded; the bound kernel compares X with Z. Of a table the kernel reads one column.
        coef : ndarray of shape (len(Z), outputs)
            The numbers :math:`c_i`.

        Returns
        -------
        list of ndarray of shape (symbols, outputs)
            One for each string of X.

        Raises
        ------
        NotSeparable
            If the kernel is no sum over substrings.
        """
        raise NotSeparable(f"{type(self).__name__} is no sum over substrings of strings.")

    @available_if(lambda kernel: hasattr(kernel, "scaled_block"))
    def log(self, X: SamplesLike, Z: SamplesLike | None = None) -> np.ndarray:
        """log(abs(k)) on raw data, (n, n) or (n, m), even if k is too large for floats; -inf for 0.

        Only kernels with ``scaled_block``, whose values may overflow, have this method.
        """
        self.validate()
        training = self.encode(X if Z is None else Z)
        new = training if Z is None or Z is X else self.encode(X, like=training)
        return logarithms(self.bind(training).scaled_block(new, training))

    # The algebra

    def __add__(self, other: Kernel) -> Kernel:
        return NODES["Sum"](self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: object) -> Kernel:
        zero = isinstance(other, int) and other == 0  # sum() starts with 0
        return self if zero else NotImplemented

    def __mul__(self, other: object) -> Kernel:
        if isinstance(other, Kernel):
            return NODES["Product"](self, other)
        if is_number(other):
            scaled = NODES["Scaled"](self, float(other))
            scaled.validate()
            return scaled
        return NotImplemented

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Kernel:
        power = NODES["Power"](self, exponent)
        power.validate()
        return power

    def normalised(self) -> Kernel:
        """k(x, z) / sqrt(k(x, x) k(z, z))."""
        return NODES["Normalised"](self)

    def on(self, *columns: object) -> Kernel:
        """This kernel on the given columns of a table."""
        return NODES["On"](self, columns)


class OfFeatures(Kernel):
    """Abstract: the inner product of ``features``, which a block computes once for each row."""

    def prepare(self, X: Samples, like: Samples | None = None) -> Prepared:
        return X if isinstance(X, Prepared) else Prepared((self.features(X),))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        return X.parts[0] @ Z.parts[0].T

    def diag(self, X: Any) -> np.ndarray:
        F = self.prepare(X).parts[0]
        return np.einsum("ij,ij->i", F, F)


class Radial(Kernel):
    r"""A distance ρ, and a decreasing function g of it, the ``profile``

    .. math:: k(x, z) = g(ρ(x, z)) .

    Abstract: define ``distance`` (a property) and ``profile``. The same block of distances can then
    be used for every bandwidth: ``kernel.profile(distance.raw(X, Z))``.
    """

    @property
    @abstractmethod
    def distance(self) -> Distance:
        """The distance ρ of which the kernel is a function."""

    @abstractmethod
    def profile(self, D: np.ndarray) -> np.ndarray:
        """k as a function of D = ρ ** distance.exponent, (n, m); overwrites and returns D."""

    @abstractmethod
    def profile_derivative(self, D: np.ndarray) -> np.ndarray:
        """Derivative of the profile with respect to D > 0; returns a new array (n, m)."""

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.distance.kind

    def encoding(self) -> Hashable:
        return self.distance.encoding()

    def encode(self, X: SamplesLike, like: SamplesLike | None = None) -> Any:
        if self.encoding() != (self.kind,):  # the distance reads raw data in its own way
            return self.distance.encode(X, like)
        X = as_samples(X, self.kind, like=like, reader=type(self).__name__)
        self.distance.check(X, like)
        return X

    def prepare(self, X: Samples, like: Samples | None = None) -> Any:
        return self.distance.prepare(X, like)

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        return self.profile(self.distance.raw(X, Z))

    def diag(self, X: Any) -> np.ndarray:
        if not self.distance.reflexive:
            return super().diag(X)
        return self.profile(np.zeros(X.shape[0], X.dtype))


class Layer(Kernel):
    r"""A function κ of inner products, and of nothing else

    .. math:: k(x, z) = κ(\langle x, z \rangle, \langle x, x \rangle, \langle z, z \rangle) .

    Abstract: define ``of_gram`` and ``of_diag``. The inner products may be those of vectors, or of
    the features of any kernel: then κ is applied to its Gram matrix (`Layered`).
    """

    #: whether `gram_derivatives` and `diag_derivative` can be computed (deep kernel machines do)
    differentiable: bool = False

    @abstractmethod
    def of_gram(self, G: np.ndarray, g_x: np.ndarray, g_z: np.ndarray) -> np.ndarray:
        """κ(G[i, j], g_x[i], g_z[j]) for inner products G (n, m) and squared norms g_x (n,) and
        g_z (m,); may overwrite G."""

    @abstractmethod
    def of_diag(self, g: np.ndarray) -> np.ndarray:
        """κ(g, g, g) for squared norms g; a new array of the same shape."""

    def gram_derivatives(
        self, G: np.ndarray, g_x: np.ndarray, g_z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The derivatives of κ by G[i, j], by g_x[i] and by g_z[j] where they are different
        numbers, each (n, m). TypeError if the layer is not ``differentiable``."""
        raise TypeError(
            f"{self!r} has no derivatives: give a layer that has, such as RBF(0.5), ArcCosine(1), "
            "NormalisedGaussian() or Linear()."
        )

    def diag_derivative(self, g: np.ndarray) -> np.ndarray:
        """The derivative (n,) of κ(g, g, g) by g. TypeError if the layer has no derivatives."""
        raise TypeError(f"{self!r} has no derivatives of its diagonal.")

    def check_layer(self) -> None:
        """Raise ValueError if κ depends on more than inner products with the given parameters."""
        self.validate()
        gamma = self.get_params(deep=False).get("gamma")
        if isinstance(gamma, str):
            raise ValueError(
                f"gamma={gamma!r} of {self!r} is learnt from vectors, but a layer reads a Gram "
                "matrix: give a number."
            )

    def prepare(self, X: Samples, like: Prepared | None = None) -> Any:
        if isinstance(X, Prepared):
            return X
        g = squared_norms(X)
        self.of_diag(g)  # rows that are out of range are refused before the first product
        return Prepared((X, g))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        (x, g_x), (z, g_z) = X.parts, Z.parts
        K = self.of_gram(inner_products(x, z), g_x, g_z)
        if X is Z:  # equal rows, where the rounding of inner products is enlarged most
            np.fill_diagonal(K, self.of_diag(g_x))
        return K

    def diag(self, X: Samples) -> np.ndarray:
        return self.of_diag(self.prepare(X).parts[1])
