"""A sum of kernels whose weights are learnt without targets, for any layer and any learner."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer.gram import gram
from mercer.kernels import Convex, Kernel, Node, Scaled
from mercer.learners.base import check_count
from mercer.samples import Samples
from mercer.solvers import NeighbourhoodWeights

ROWS = 2000  # rows from which weights are learnt, spread over the sample


class UnsupervisedSum(Node):
    r"""A convex combination whose weights are learnt from the training sample without targets: with
    them each row is rebuilt best from its neighbours.

    .. math:: k(x, z) = \sum_t \mu_t \frac{k_t(x, z)}{c_t}, \qquad \mu_t \ge 0, \qquad
              \sum_t \mu_t = 1

    A block has the shape (n, m).

    Parameters
    ----------
    kernels : list of Kernel
        Kernels on the same samples, or on columns of a table. Each is divided by :math:`c_t`, the
        mean of k(x, x) over the sample.
    n_neighbors : int >= 1, default=10
        Number of neighbours from which each row is rebuilt.

    Notes
    -----
    A learner binds its kernel to the training sample, and then keeps the sum as a
    `mercer.kernels.Convex` of those kernels whose weight is not 0. `MultilayerKernelMachine` binds
    the kernel of each layer to the features of the layer before, so that each layer has weights of
    its own. They are those of `mercer.solvers.NeighbourhoodWeights`, from at most 2,000 rows.

    References
    ----------
    Zhuang, Wang, Hoi & Lan, "Unsupervised multiple kernel learning", ACML 2011.

    Examples
    --------
    >>> from mercer import KernelPCA
    >>> from mercer.deep import UnsupervisedSum
    >>> from mercer.kernels import RBF
    >>> X = np.arange(12.0)[:, None]
    >>> pca = KernelPCA(2, kernel=UnsupervisedSum([RBF(0.01), RBF(100.0)], n_neighbors=2)).fit(X)
    >>> np.round(pca.kernel_.weights, 2)
    array([0.54, 0.46])
    """

    def __init__(self, kernels: list[Kernel], n_neighbors: int = 10):
        self.kernels = kernels
        self.n_neighbors = n_neighbors

    def validate(self) -> None:
        Convex(self.kernels).validate()
        check_count("n_neighbors", self.n_neighbors, optional=False)

    def bind(self, X: Samples, y: Any = None, sample_weight: ArrayLike | None = None) -> Any:
        """The sum with the weights that the encoded sample X teaches.

        What the kernels learn regards ``sample_weight``; the neighbours of rows have none.
        """
        kernels = super().bind(X, y, sample_weight).kernels
        n = X.shape[0]
        rows = np.unique(np.linspace(0, n - 1, min(n, ROWS)).astype(int))
        parts = [_of_mean_one(kernel, X[rows]) for kernel in kernels]
        found = NeighbourhoodWeights(self.n_neighbors).solve([gram(k, X[rows]) for k in parts])
        used = np.flatnonzero(found.coef)
        return Convex([parts[t] for t in used], found.coef[used].tolist())

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        raise ValueError(
            "UnsupervisedSum has no weights yet: bind it to the training sample by kernel.bind(X), "
            "as learners do."
        )


def _of_mean_one(kernel: Kernel, X: Samples) -> Kernel:
    """The kernel over the mean of its k(x, x)."""
    mean = float(np.mean(gram(kernel, X).diag(), dtype=np.float64))
    return Scaled(kernel, 1 / mean) if mean > 0 else kernel
