"""Random maps of vectors whose inner products are on average the values of a kernel.

Each is drawn once, and is then a function of rows. Which one a kernel has is said by `random_map`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, Protocol

import numpy as np
import scipy.fft
import scipy.sparse as sp

from mercer.distances import dense_rows
from mercer.kernels import ArcCosine, Kernel, Linear, Polynomial, Scaled
from mercer.learners.features.random_frequencies import frequencies
from mercer.persistence import fields, whole


class RandomMap(Protocol):
    """Features of rows X (n, d), in the precision of both the map and X."""

    @property
    def count(self) -> int: ...

    def __call__(self, X: Any) -> np.ndarray: ...


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

    def __call__(self, X: Any) -> np.ndarray:
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

    def __call__(self, X: Any) -> np.ndarray:
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
        d = X.shape[1]
        S = sp.csr_array((signs[:d] * dtype.type(self.root), (places[:d], np.arange(d))),
                         shape=(self.count, d), dtype=dtype)  # fmt: skip
        F = np.ascontiguousarray(dense_rows(S @ X.T).T, dtype)
        F[:, places[d]] += dtype.type(signs[d] * self.constant)
        return F


@singledispatch
def random_map(
    kernel: Kernel, columns: int, count: int, dtype: Any, random: np.random.RandomState
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
