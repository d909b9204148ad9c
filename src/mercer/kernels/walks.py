"""The kernel of random walks that two graphs have in common."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer import _native
from mercer.distances import Meaning, mirrored
from mercer.kernels.graph_counts import NONE64, OnGraphs, arrays, labels_of
from mercer.persistence import fields, floats
from mercer.samples import Graphs, Prepared, Ragged, Samples, is_number, is_whole

SHARE = 0.9  # of the largest decay, where it is chosen
UNSEEN = 1e-15  # weight of an eigenvalue, by nodes, that is rounding
BATCH = 2**22  # numbers of the dense matrices that are taken apart at a time


@fields(values=floats(2))
class Spectra(Ragged):
    """The eigenvalues of the adjacency matrix of each graph, and their weights, (total, 2)."""


class RandomWalk(OnGraphs):
    r"""Random walk kernel, the number of walks that two graphs have in common,

    .. math:: k(G, H) = \sum_{k \ge 0} \lambda^k \, 1^\top (A \otimes A')^k \, 1
              = 1^\top (I - \lambda A \otimes A')^{-1} 1,

    where walks of k edges count :math:`\lambda^k`.

    Parameters
    ----------
    decay : float >= 0 or "auto", default="auto"
        λ. The sum exists if λ < 1 / (ρ ρ'), where ρ are the largest eigenvalues of A and A'. "auto"
        is 0.9 of the bound for all pairs of the training sample. With a larger λ, and for new
        graphs with more edges than it permits, an error names the bound.
    steps : int >= 0 or None, default=None
        The length of the longest walks; any λ is right then. None: walks of any length.
    labels : bool, default=False
        Whether only walks through the same labels of nodes, and of edges where they have some, are
        common to two graphs.

    Raises
    ------
    ValueError
        λ is at or beyond the bound: numbers would still come out, which are no kernel.

    Notes
    -----
    It is positive semidefinite below the bound. Without labels, the eigenvalues of A are computed
    once for each graph, O(n³), and a pair takes n n' divisions. With labels, a pair takes a system
    of equations of n n' unknowns by conjugate gradients, each step of which takes n m' + n' m
    operations, or m m' with labels of edges. Directed graphs are compared by sums over lengths of
    walks. Values are larger for larger graphs: normalise the kernel.

    References
    ----------
    Gärtner, Flach & Wrobel, "On graph kernels: hardness results and efficient alternatives", COLT
    2003; Vishwanathan, Schraudolph, Kondor & Borgwardt, "Graph kernels", JMLR 11, 2010.

    Examples
    --------
    >>> X = [(2, [(0, 1)]), (3, [(0, 1), (1, 2), (2, 0)])]
    >>> RandomWalk(0.1)(X)
    array([[ 4.44444444,  7.5       ],
           [ 7.5       , 15.        ]])
    >>> RandomWalk(0.25)(X)
    Traceback (most recent call last):
    ValueError: decay=0.25 is too large for X[1], whose largest eigenvalue is 2: ...
    """

    meaning = Meaning("Σ_k λ^k walks of k steps in common", "how many walks two graphs share")

    def __init__(self, decay: float | str = "auto", steps: int | None = None, labels: bool = False):
        self.decay = decay
        self.steps = steps
        self.labels = labels

    def validate(self) -> None:
        if not (self.decay == "auto" if isinstance(self.decay, str) else is_number(self.decay)):
            raise TypeError(f'decay={self.decay!r}: give a number >= 0, or "auto".')
        if is_number(self.decay) and not 0 <= self.decay < np.inf:
            raise ValueError(f"decay={self.decay!r}: give a finite number >= 0.")
        if not (self.steps is None or (is_whole(self.steps) and self.steps >= 0)):
            raise ValueError(f"steps={self.steps!r}: give an integer >= 0, or None.")
        if not isinstance(self.labels, (bool, np.bool_)):
            raise ValueError(f"labels={self.labels!r}: give True or False.")

    def bind(self, X: Graphs, y: object = None, sample_weight: object = None) -> Self:
        self.validate()
        if is_number(self.decay):
            return self
        largest = float(radii(X).max(initial=0))
        return self.copied(decay=SHARE / largest**2 if largest > 0 else SHARE)

    def pair_cost(self, X: Graphs) -> float:
        if not len(X):
            return 0.0
        size, edges = float(X.sizes.mean()), len(X.neighbours) / len(X)
        if not self._by_pairs(X):
            return size**2
        marked = self.labels and X.edge_labels is not None
        return 40 * (edges**2 if marked else size * (size + edges))

    def prepare(self, X: Graphs, like: Samples | None = None) -> Prepared:
        if isinstance(X, Prepared):
            return X
        decay = self._decay()
        if self.steps is not None:
            return Prepared((X, X if self._by_pairs(X) else self._lengths(X)))
        spectra = None if X.directed else spectra_of(X, weigh=not self._by_pairs(X))
        rho = radii(X) if spectra is None else largest_of(spectra)
        wrong = np.flatnonzero(decay * rho**2 >= 1)
        if len(wrong):
            i = int(wrong[rho[wrong].argmax()])
            raise ValueError(
                f"decay={decay:.4g} is too large for X[{i}], whose largest eigenvalue is "
                f"{rho[i]:.4g}: give less than {1 / rho[i] ** 2:.4g}, or steps=, the length of "
                "the longest walks."
            )
        return Prepared((X, X if self._by_pairs(X) else _weighty(spectra, X)))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        same = X is Z
        A, B = self.sides(X, Z)
        (x, a), (z, b) = A.parts, B.parts
        K = np.empty((len(x), len(z)))
        if isinstance(a, Graphs):
            marked = a.edge_labels is not None and b.edge_labels is not None
            both = (*self._lists(a, marked), *self._lists(b, marked))
            _native.labelled_walks(*both, *self._terms(a), same, False, K)
        elif isinstance(a, Spectra):
            _native.walk_sums(*_columns(a), *_columns(b), self._decay(), same, False, K)
        else:
            K = a @ b.T
        K = mirrored(K) if same else K
        return K.astype(np.result_type(x.dtype, z.dtype), copy=False)

    def diag(self, X: Any) -> np.ndarray:
        X = self.prepare(X)
        x, a = X.parts
        own = np.empty((len(x), 1))
        if isinstance(a, Graphs):
            both = self._lists(a, a.edge_labels is not None) * 2
            _native.labelled_walks(*both, *self._terms(a), False, True, own)
        elif isinstance(a, Spectra):
            _native.walk_sums(*_columns(a) * 2, self._decay(), False, True, own)
        else:
            own = np.square(a).sum(axis=1)
        return own.ravel().astype(x.dtype, copy=False)

    def _by_pairs(self, X: Graphs) -> bool:
        """Whether each pair of graphs is a system of its own."""
        return bool(self.labels) or (X.directed and self.steps is None)

    def _lists(self, X: Graphs, marked: bool) -> tuple:
        """What native loops read: nodes, edges, and labels of both."""
        labels = labels_of(X) if self.labels else np.zeros(len(X.degrees), np.uint64)
        marks = X.edge_labels if self.labels and marked else NONE64
        return (*arrays(X), *map(np.ascontiguousarray, (labels, marks)))

    def _terms(self, X: Graphs) -> tuple[float, int, bool]:
        return self._decay(), 0 if self.steps is None else int(self.steps) + 1, not X.directed

    def _lengths(self, X: Graphs) -> np.ndarray:
        """λ^(k/2) times the number of walks of k edges in each graph, (n, steps + 1)."""
        ends, (u, v) = np.ones(len(X.degrees)), X.ends()
        found = np.empty((len(X), int(self.steps or 0) + 1))
        for k in range(found.shape[1]):
            if k:
                ends = np.bincount(u, ends[v], len(ends)) * np.sqrt(self._decay())
            found[:, k] = np.bincount(X.owners, ends, len(X))
        return found

    def _decay(self) -> float:
        """The decay, after a check that it is known."""
        if isinstance(self.decay, str):
            raise ValueError(
                f"decay={self.decay!r} is learnt from the training sample: call "
                "RandomWalk().bind(X) first (learners call it), or give a number."
            )
        return float(self.decay)


def _weighty(spectra: Spectra | None, X: Graphs) -> Spectra:
    """Eigenvalues whose weight is more than rounding."""
    assert spectra is not None
    sizes = np.repeat(X.sizes, X.sizes)
    kept = spectra.values[:, 1] > UNSEEN * sizes
    ends = np.concatenate(([0], np.cumsum(kept)))
    return Spectra(spectra.values[kept], ends[spectra.starts])


def _columns(spectra: Spectra) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, p = (np.ascontiguousarray(column) for column in spectra.values.T)
    return a, p, np.ascontiguousarray(spectra.starts)


def spectra_of(X: Graphs, weigh: bool = True) -> Spectra:
    """Eigenvalues of undirected graphs, and with ``weigh`` the squares (uᵀ1)² of the eigenvectors.

    Graphs of one size are taken together; the loop is over sizes.
    """
    found = np.zeros((len(X.degrees), 2))
    for rows, A in _dense(X):
        if weigh:
            values, vectors = np.linalg.eigh(A)
            found[rows, 1] = np.square(vectors.sum(axis=1))
        else:
            values = np.linalg.eigvalsh(A)
        found[rows, 0] = values
    return Spectra(found, X.node_starts)


def radii(X: Graphs) -> np.ndarray:
    """The spectral radius of each graph, (n,)."""
    if not X.directed:
        return largest_of(spectra_of(X, weigh=False))
    found = np.zeros(len(X.degrees))
    for rows, A in _dense(X):
        found[rows] = np.abs(np.linalg.eigvals(A))
    return largest_of(Spectra(np.stack([found, found], axis=1), X.node_starts))


def largest_of(spectra: Spectra) -> np.ndarray:
    """The largest absolute eigenvalue of each graph, 0 for one without nodes."""
    owners = np.repeat(np.arange(len(spectra)), spectra.lengths)
    found = np.zeros(len(spectra))
    np.maximum.at(found, owners, np.abs(spectra.values[:, 0]))
    return found


def _dense(X: Graphs) -> Any:
    """Adjacency matrices (k, s, s) of graphs of each size s, with the numbers of their nodes."""
    sizes = X.sizes
    u, v = X.ends()
    edge_graphs = X.owners[u]
    edge_starts = X.row_starts[X.node_starts]
    for size in np.unique(sizes[sizes > 0]):
        alike = np.flatnonzero(sizes == size)
        step = max(1, BATCH // int(size) ** 2)
        for s in range(0, len(alike), step):
            some = alike[s : s + step]
            counts = edge_starts[some + 1] - edge_starts[some]
            ends = np.cumsum(counts)
            at = np.arange(ends[-1]) + np.repeat(edge_starts[some] - ends + counts, counts)
            A = np.zeros((len(some), size, size))
            place = np.repeat(np.arange(len(some)), counts)
            firsts = X.node_starts[edge_graphs[at]]
            A[place, u[at] - firsts, v[at] - firsts] = 1
            yield X.node_starts[some][:, None] + np.arange(size), A
