"""The network f that maps rows to z, where neighbours vote: its parameters, and z of new rows.

In order: periodic features of each number, [cos 2πcx, sin 2πcx, x] for 16 frequencies c, times one
matrix that all columns share, and ReLU; a linear layer; and, unless f is linear, batch norm, a
linear layer, ReLU, a linear layer and batch norm. src/native/neighbourhood.hpp has the order in
which the parameters stand in one array.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import _native
from mercer.threads import ordered_map

FREQUENCIES, VALUES = 16, 8  # of each number: frequencies, and values that it becomes
FREQUENCY_SPREAD = 0.3
PART = 1024  # rows that a thread embeds at a time


def padded(count: int, unit: int) -> int:
    """The least multiple of ``unit`` that is not below a count."""
    return -(-count // unit) * unit


def padded_columns(extra: np.ndarray) -> np.ndarray:
    """Columns as the native loops want them: a multiple of 8, with zeros at the end."""
    n, q = extra.shape
    out = np.zeros((n, padded(q, 8)), np.float32)
    out[:, :q] = extra
    return out


def layer_shapes(columns: int, extra: int, width: int, hidden: int) -> dict[str, tuple[int, ...]]:
    """Name and shape of the parameters, in their order; all sizes are those of the native loops."""
    shapes: dict[str, tuple[int, ...]] = {
        "frequencies": (columns, FREQUENCIES),
        "periodic": (2 * FREQUENCIES + 1, VALUES),
        "periodic_bias": (VALUES,),
        "linear": (VALUES * columns + extra, width),
        "linear_bias": (width,),
    }
    if hidden:
        shapes |= {
            "gain1": (width,), "shift1": (width,), "into": (hidden, width), "into_bias": (hidden,),
            "out": (hidden, width), "out_bias": (width,), "gain2": (width,), "shift2": (width,),
        }  # fmt: skip
    return shapes


@dataclass(frozen=True)
class Network:
    """f: rows of ``columns`` numbers and ``extra`` other columns become z, of ``width`` numbers.

    Widths that are no multiples of what the native loops want are filled up with units whose
    parameters are 0, and stay 0 in training.

    Attributes
    ----------
    parameters : ndarray, float32
    running : ndarray of shape (4 * width,), float32
        Mean and variance of what the two batch norms saw in training, for new rows.
    """

    columns: int
    extra: int
    width: int
    hidden: int
    parameters: np.ndarray
    running: np.ndarray

    @classmethod
    def drawn(
        cls, columns: int, extra: int, width: int, hidden: int, rng: np.random.Generator
    ) -> Network:
        """A network before training: linear layers are uniform in ±1/√(inputs)."""
        wide = padded(width, 16)
        shapes = layer_shapes(columns, padded(extra, 8), wide, padded(hidden, 8))
        inputs = VALUES * columns + extra
        kept = {  # parts that are not padding, and how many numbers each unit reads
            "periodic": (np.s_[:], 2 * FREQUENCIES + 1),
            "periodic_bias": (np.s_[:], 2 * FREQUENCIES + 1),
            "linear": (np.s_[:inputs, :width], inputs),
            "linear_bias": (np.s_[:width], inputs),
            "into": (np.s_[:hidden, :width], width),
            "into_bias": (np.s_[:hidden], width),
            "out": (np.s_[:hidden, :width], max(hidden, 1)),
            "out_bias": (np.s_[:width], max(hidden, 1)),
        }
        parts = []
        for name, shape in shapes.items():
            part = np.zeros(shape, np.float32)
            if name == "frequencies":
                part[:] = rng.normal(0, FREQUENCY_SPREAD, shape)
            elif name.startswith("gain"):
                part[:] = 1
            elif name in kept:
                where, reads = kept[name]
                bound = 1 / np.sqrt(reads)
                part[where] = rng.uniform(-bound, bound, part[where].shape)
            parts.append(part.ravel())
        running = np.zeros((4, wide), np.float32)
        running[1::2] = 1
        return cls(columns, extra, width, hidden, np.concatenate(parts), running.ravel())

    def copy(self) -> Network:
        """The same with parameters of its own."""
        sizes = self.columns, self.extra, self.width, self.hidden
        return Network(*sizes, self.parameters.copy(), self.running.copy())

    def embed(self, numbers: np.ndarray, extra: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """z of rows, (n, width) in float32; ``extra`` may be filled up with zeros already."""
        n, wide = len(numbers), padded(self.width, 16)
        extra = padded_columns(extra)
        Z = np.empty((n, wide), np.float32)

        def embed(rows: slice) -> None:
            _native.neighbourhood_embed(
                numbers[rows], extra[rows], self.parameters, self.running, wide,
                padded(self.hidden, 8), Z[rows],
            )  # fmt: skip

        for _ in ordered_map(embed, [slice(s, s + PART) for s in range(0, n, PART)], n_jobs):
            pass
        return np.ascontiguousarray(Z[:, : self.width])
