"""Random features: vectors whose inner products are on average the values of a kernel.

A random map is drawn once, and is then a function of rows. Which one a kernel has is said by
`random_map`.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import singledispatch
from typing import Any, NoReturn, Protocol, Self

import numpy as np
import scipy.fft
import scipy.sparse as sp
from numpy.typing import DTypeLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.distances import dense_rows
from mercer.estimator import estimator
from mercer.kernels import ArcCosine, Formula, Kernel, Linear, Polynomial, Scaled
from mercer.learners.base import (
    KernelLearner,
    check_count,
    finite_fit,
    finite_values,
    remember_columns,
)
from mercer.persistence import fields, whole
from mercer.samples import SamplesLike
from mercer.streams import as_chunks, draw_rows
from mercer.threads import ordered_map

# Random frequencies of kernels: k(x, z) is the mean of cos(ω · (x - z)) over a law of ω (Bochner).
#
# Every radial kernel of the library with a norm of p <= 2 is a mixture of functions exp(-s ‖x -
# z‖_p^q) with q <= p, and each of these is the characteristic function of a stable law.


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
    """The formula of a radial kernel without anything left to learn."""
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


def stable(alpha: float, shape: tuple, rng: np.random.RandomState) -> np.ndarray:
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


class RandomMap(Protocol):
    """Features of rows X (n, d), in the precision of both the map and X."""

    @property
    def count(self) -> int: ...

    def __call__(self, X: SamplesLike) -> np.ndarray: ...


@dataclass(frozen=True)
class FourierMap:
    """√(2c / D) cos(ω · x + b), and the same with the sine for the first half of D features.

    Rahimi & Recht, "Random features for large-scale kernel machines", NIPS 2007. The pair of cosine
    and sine of a frequency has the inner product cos(ω · (x - z)) / D for every b.
    """

    W: np.ndarray
    phases: np.ndarray
    amplitude: float
    count: int

    def __call__(self, X: SamplesLike) -> np.ndarray:
        angles = np.asarray(X @ self.W.T)
        angles += self.phases
        F = np.empty((len(angles), self.count), angles.dtype)
        both = len(self.W)
        np.sin(angles[:, : self.count - both], out=F[:, both:])
        np.cos(angles, out=F[:, :both])
        F *= angles.dtype.type(self.amplitude)
        return F


@dataclass(frozen=True)
class ArcCosineMap:
    """√(2 / D) max(0, ω · x)^n, with the step function for n = 0.

    Cho & Saul, "Kernel methods for deep learning", NIPS 2009.
    """

    W: np.ndarray
    degree: int
    amplitude: float

    @property
    def count(self) -> int:
        return len(self.W)

    def __call__(self, X: SamplesLike) -> np.ndarray:
        units = np.asarray(X @ self.W.T)
        scale = units.dtype.type(self.amplitude)
        if self.degree == 0:
            return (units > 0) * scale
        np.maximum(units, 0, out=units)
        return scale * (units if self.degree == 1 else units**2)


@fields(places=whole(lambda sketch: sketch.count, axes=2))
@dataclass(frozen=True)
class TensorSketch:
    """(γ<x, z> + c)^p: the product of p sketches of (√γ x, √c), in Fourier space.

    Pham & Pagh, "Fast and scalable polynomial kernels via explicit feature maps", KDD 2013. A
    sketch adds each column, with a random sign, to one of D places.
    """

    places: np.ndarray  # (p, d + 1)
    signs: np.ndarray  # (p, d + 1)
    root: float  # √γ
    constant: float  # √c
    amplitude: float
    count: int

    def __call__(self, X: Any) -> np.ndarray:
        dtype = np.result_type(X.dtype, self.signs.dtype)
        product: Any = None
        for places, signs in zip(self.places, self.signs):
            sketch = self._sketch(X, places, signs, dtype)
            if len(self.places) == 1:
                return sketch * dtype.type(self.amplitude)
            transform = scipy.fft.rfft(sketch, axis=1)
            product = transform if product is None else product * transform
        return scipy.fft.irfft(product, self.count, axis=1) * dtype.type(self.amplitude)

    def _sketch(self, X: Any, places: np.ndarray, signs: np.ndarray, dtype: Any) -> np.ndarray:
        """A count sketch of the rows and the constant."""
        d = X.shape[1]
        S = sp.csr_array((signs[:d] * dtype.type(self.root), (places[:d], np.arange(d))),
                         shape=(self.count, d), dtype=dtype)  # fmt: skip
        F = np.ascontiguousarray(dense_rows(S @ X.T).T, dtype)
        F[:, places[d]] += dtype.type(signs[d] * self.constant)
        return F


@singledispatch
def random_map(
    kernel: Kernel, columns: int, count: int, dtype: DTypeLike, random: np.random.RandomState
) -> RandomMap:
    """The map of a bound kernel on rows of so many columns, with ``count`` features.

    Raises
    ------
    ValueError
        No random features of the kernel are known.
    """
    pairs = -(-count // 2)  # an odd number of features has one cosine without its sine
    W = frequencies(kernel, columns, pairs, random)
    phases = random.uniform(0, 2 * np.pi, pairs)
    formula = kernel.formula
    assert formula is not None
    amplitude = float(np.sqrt(2 * formula.factor / count))
    return FourierMap(W.astype(dtype), phases.astype(dtype), amplitude, count)


@random_map.register
def _arc_cosine(kernel: ArcCosine, columns, count, dtype, random) -> RandomMap:
    """The features of an arc-cosine kernel of one layer."""
    if kernel.layers != 1:
        raise ValueError(
            f"kernel={kernel!r}: only one layer has random features: give layers=1, or Nystroem."
        )
    W = random.normal(size=(count, columns)).astype(dtype)
    return ArcCosineMap(W, int(kernel.degree), float(np.sqrt(2 / count)))


@random_map.register
def _polynomial(kernel: Polynomial, columns, count, dtype, random) -> RandomMap:
    numbers = kernel.formula.parameters
    root, constant = np.sqrt(numbers["gamma"]), np.sqrt(numbers["coef0"])
    return _sketch(int(kernel.degree), columns, count, root, constant, dtype, random)


@random_map.register
def _linear(kernel: Linear, columns, count, dtype, random) -> RandomMap:
    return _sketch(1, columns, count, 1.0, 0.0, dtype, random)


@random_map.register
def _scaled(kernel: Scaled, columns, count, dtype, random) -> RandomMap:
    inner: Any = random_map(kernel.kernel, columns, count, dtype, random)
    return replace(inner, amplitude=inner.amplitude * float(np.sqrt(kernel.factor)))


def _sketch(degree, columns, count, root, constant, dtype, random) -> TensorSketch:
    places = random.randint(count, size=(degree, columns + 1))
    signs = random.choice([-1.0, 1.0], size=(degree, columns + 1)).astype(dtype)
    return TensorSketch(places, signs, float(root), float(constant), 1.0, count)


STRIP = 2**19  # numbers that one thread computes at a time
LEARNT_FROM = 10_000  # rows of a stream from which a kernel learns


@estimator
class RandomFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelLearner):
    r"""Random features of a kernel on vectors:

    .. math:: \mathrm{E}[φ(x)^\top φ(z)] = k(x, z) .

    The error of an inner product falls as 1 / √D with the number D of features. A linear method on
    them is a kernel method, whose cost does not grow with the number of training rows.

    Parameters
    ----------
    kernel : kernel object or name, default="rbf"
        Three families have random features, also times a number. Radial kernels of a Minkowski
        distance with p <= 2 and of its linear maps, such as `RBF`, `Laplacian`, `Matern`,
        `RationalQuadratic` and `ExponentialPower`, have waves: the cosine and the sine of random
        frequencies. `ArcCosine` of one layer has units of a random network, and `Polynomial` the
        tensor sketch. All other kernels, and other samples, have `Nystroem`.
    n_components : int >= 1, default=100
        D.
    random_state : int, RandomState or None
        Seed of the map.

    Attributes
    ----------
    map_ : callable
        The map of encoded rows.

    Notes
    -----
    Frequencies are drawn from the exact law of each kernel: stable laws, mixed by a gamma law for
    Matérn and rational kernels. Work: n d D operations for waves and units; n p (d + D log D) for
    the sketch of degree p, and sparse rows stay sparse. Of a smooth kernel with few columns
    `Nystroem` is nearer with the same number of features; random features need no values of the
    kernel, and nothing of the samples but the number of columns.

    References
    ----------
    Rahimi & Recht, "Random features for large-scale kernel machines", NIPS 2007.
    Cho & Saul, "Kernel methods for deep learning", NIPS 2009.
    Pham & Pagh, "Fast and scalable polynomial kernels via explicit feature maps", KDD 2013.

    Examples
    --------
    >>> from mercer import RandomFeatures
    >>> from mercer.kernels import Laplacian
    >>> X = np.array([[0.0, 1.0], [0.5, 0.0]])
    >>> phi = RandomFeatures(Laplacian(), n_components=20_000, random_state=0).fit_transform(X)
    >>> bool(np.abs(phi @ phi.T - Laplacian()(X)).max() < 0.02)
    True
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    n_components: int = 100

    fitted_by = "map_"
    _pairwise_callable = True

    @finite_fit
    def fit(self, X: Any, y: object = None) -> Self:
        """Draw the map for the columns of X (n, d); y is not used."""
        check_count("n_components", self.n_components, optional=False)
        X = self.make_training(X, targets=False).X
        if not self.kernel_.reads.coordinates:
            raise ValueError(
                f"kernel={self.kernel_!r} has no random features, which only vectors have: give "
                "Nystroem the kernel, which takes samples of any kind."
            )
        random, columns = check_random_state(self.random_state), X.shape[1]
        self.map_: RandomMap = random_map(self.kernel_, columns, self.n_components, X.dtype, random)
        return self

    @finite_fit
    def fit_chunks(self, chunks: Any) -> Self:
        """Draw the map for the columns of a stream, and for a kernel that learns from its rows.

        Such a kernel reads 10,000 rows, drawn from all of it. ``chunks.through(self)`` is the
        stream of the features.

        Parameters
        ----------
        chunks : Chunks, or what it takes
            Its targets are not used.
        """
        random = check_random_state(self.random_state)
        return self.fit(draw_rows(as_chunks(chunks), LEARNT_FROM, random).X)

    @finite_values
    def transform(self, X: SamplesLike) -> np.ndarray:
        """Features of rows X (q, d), of shape (q, n_components)."""
        check_is_fitted(self)
        encoded = self.kernel_.encode(X)
        remember_columns(self, X, encoded, reset=False)
        step = max(1, STRIP // max(self.map_.count, encoded.shape[1]))
        strips = range(0, encoded.shape[0], step)

        def features(s: int) -> np.ndarray:
            return self.map_(encoded[s : s + step])

        return np.concatenate(list(ordered_map(features, strips, self.n_jobs)))

    @property
    def _n_features_out(self) -> int:
        return self.map_.count

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
