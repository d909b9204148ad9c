"""The samples on which support vector machines are measured, real ones and made ones.

Real ones come from ``MERCER_DATA``; made ones have the size, the number of classes and the share
of support vectors of well-known sets, so that they stand in where no file is at hand.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_svmlight_file


class Problem(NamedTuple):
    """Samples in float64, classes, and the parameters of the machine."""

    X: np.ndarray
    y: np.ndarray
    C: float
    gamma: float


def scale(X: np.ndarray) -> float:
    """γ of ``gamma="scale"``, as a number, so that all libraries and precisions have the same."""
    return 1 / (X.shape[1] * float(X.var()))


def a9a(folder: Path) -> Problem:
    """Census records, one-hot columns: two classes, a third of the rows support vectors."""
    with gzip.open(folder / "numeric_clf/a9a.svm.gz") as file:
        X, y = load_svmlight_file(file, n_features=123)
    return Problem(X.toarray(), y, 1.0, 1 / 123)


def mnist(folder: Path, n: int = 20_000) -> Problem:
    """Digits: ten classes, many columns."""
    with gzip.open(folder / "images/mnist_train_images.idx.gz") as images:
        X = np.frombuffer(images.read(16 + n * 784), np.uint8, offset=16).reshape(n, 784) / 255
    with gzip.open(folder / "images/mnist_train_labels.idx.gz") as labels:
        y = np.frombuffer(labels.read(8 + n), np.uint8, offset=8)
    return Problem(X, y, 5.0, scale(X))


def ijcnn_like(n: int = 30_000) -> Problem:
    """A winding boundary in few of 22 columns; the smaller class is a fourteenth of the rows."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n, 22))
    margin = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] * X[:, 3] + np.cos(4 * X[:, 4]) / 2 - 0.9
    return Problem(X, (margin + 0.1 * rng.normal(size=n) > 0).astype(int), 10.0, 0.1)


def letter_like(n: int = 15_000) -> Problem:
    """26 classes of three clusters each: 325 pairs."""
    rng = np.random.default_rng(0)
    centres, k = rng.normal(size=(26, 3, 16)), rng.integers(0, 26, n)
    X = centres[k, rng.integers(0, 3, n)] + 0.55 * rng.normal(size=(n, 16))
    return Problem(X, k, 10.0, scale(X))


def unscaled(n: int = 10_000) -> Problem:
    """Columns from 0.01 to 300, far from zero: K is hard to compute in float32."""
    rng = np.random.default_rng(0)
    sizes = np.logspace(-2, 2.5, 20)
    X = rng.normal(size=(n, 20)) * sizes
    Z = X / sizes
    y = (Z[:, -1] + Z[:, -3] * Z[:, -5] + 0.3 * rng.normal(size=n) > 0).astype(int)
    return Problem(X + 10 * sizes, y, 1.0, scale(X))


def hard(n: int = 5000) -> Problem:
    """Noisy labels under a penalty that forbids errors: LIBSVM takes millions of steps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    margin = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.4 * rng.normal(size=n)
    return Problem(X, (margin > 0).astype(int), 1e4, 0.1)


def noisy(n: int = 5000, d: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """For searches: a direction, an interaction and a wave; 5% of the labels are wrong."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    margin = X @ w / np.sqrt(d) + X[:, 0] * X[:, 1] / 2 + np.sin(X[:, 2]) / 2
    return X, (margin > 0).astype(int) ^ (rng.random(n) < 0.05)


def smooth(n: int, d: int = 50, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """For large samples: a smooth boundary, labels that only rows near it get wrong; float32."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    margin = X[:, :10].sum(axis=1) / 2 + X[:, 10] * X[:, 11] / 2 + np.sin(X[:, 12])
    return X, (margin + 0.2 * rng.normal(size=n) > 0).astype(int)


def table(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Columns of numbers and the last column, as texts, of a file of the collection."""
    cells = np.loadtxt(path, dtype=str, delimiter=",", skiprows=1)
    return cells[:, :-1].astype(float), cells[:, -1]
