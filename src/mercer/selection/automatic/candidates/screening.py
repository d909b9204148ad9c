"""Which columns of a wide table tell something of the target, each looked at alone.

With more columns than rows, a kernel on all columns sees little but noise. The Hilbert-Schmidt
independence criterion (HSIC) finds columns whose relation to the target may have any shape, for
little more than the time to read them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

STEP, HIGHEST = 0.45, 5.5  # of frequencies: their error is below 1e-6 for values within FARTHEST
FARTHEST = 4.0  # standard deviations at which values are cut
BLOCK = 4_000_000  # numbers of the largest matrix of features


def dependence(columns: np.ndarray, Y: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    r"""HSIC of each column with the targets, :math:`\|\sum_i w_i \phi(x_i) \psi(y_i)^T\|_F^2`.

    φ are features of the Gaussian kernel exp(-(x - x')² / 2) of a standardised column, less their
    means; ψ those of a target of one column, or the centred targets themselves where there are
    several. The weights have sum 1. The criterion is 0 for a constant, and tends to 0 for an
    independent column. Columns are (n, d), targets (n, outputs).

    The 26 features of a column are those of the integral of cos(ω (x - x')) over the density of ω,
    by the trapezoidal rule. The cost is O(n d 26²) for one target, without n × n matrices.

    References
    ----------
    Gretton et al., "Measuring statistical dependence with Hilbert-Schmidt norms", ALT 2005.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 100)
    >>> other = np.tile([-1.0, 1.0], 50)
    >>> related, unrelated = dependence(np.stack([x, other], axis=1), x[:, None] ** 2)
    >>> bool(related > 100 * unrelated)
    True
    """
    n, d = columns.shape
    w = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    targets = _features(Y, w)[:, 0] if Y.shape[1] == 1 else Y
    targets = (targets - w @ targets) * w[:, None]
    found = np.empty(d)
    step = max(1, BLOCK // (n * 26))
    for start in range(0, d, step):
        phi = _features(columns[:, start : start + step], w)
        products = np.tensordot(phi, targets, axes=(0, 0))
        found[start : start + step] = np.square(products).sum(axis=(1, 2))
    return found


def foremost(
    M: Any, columns: list[int], Y: np.ndarray, weights: np.ndarray | None, count: int
) -> list[int]:
    """Of some columns of an encoded table those with the largest `dependence`, in their order."""
    values = dependence(M.numbers[:, columns], Y, weights)
    return sorted(np.asarray(columns)[np.argsort(-values, kind="stable")[:count]].tolist())


def _features(columns: np.ndarray, w: np.ndarray) -> np.ndarray:
    """φ of each value of each column after it is standardised, (n, columns, features)."""
    columns = columns - w @ columns
    spread = np.sqrt(w @ columns**2)
    columns = np.divide(columns, spread, out=np.zeros_like(columns), where=spread > 0)
    frequencies = np.arange(0, HIGHEST, STEP, dtype=np.float32)
    waves = np.empty((*columns.shape, len(frequencies)), np.complex64)
    waves[..., 0] = 1
    once = np.exp(np.complex64(1j * STEP) * np.clip(columns, -FARTHEST, FARTHEST))
    for k in range(1, len(frequencies)):  # exp(i (k + 1) ω x) = exp(i k ω x) exp(i ω x)
        np.multiply(waves[..., k - 1], once, out=waves[..., k])
    density = STEP * np.exp(-(frequencies**2) / 2) * np.float32(np.sqrt(2 / np.pi))
    density[0] /= 2
    return np.concatenate([waves.real, waves.imag], axis=2) * np.sqrt(np.tile(density, 2))
