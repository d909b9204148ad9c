"""Which training samples are the inducing points of a deep kernel machine."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from mercer.deep.through_layers import kernel_of
from mercer.kernels import Layer

CANDIDATES = 5  # rows drawn at random for each inducing point that is chosen from them


def pivots(G: np.ndarray, layer: Layer, count: int) -> np.ndarray:
    """The rows of G that say most about the others, in ascending order; at most ``count``.

    Pivots of the Cholesky factorisation of the first layer's kernel matrix: each next one has the
    largest variance that those before it leave. No row is taken twice, nor one that equals another
    (Fine & Scheinberg, "Efficient SVM training using low-rank kernel representations", JMLR 2001).

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> x = np.array([[0.0], [0.0], [0.1], [5.0]])
    >>> pivots(x @ x.T, RBF(0.5), 2).tolist()
    [0, 3]
    """
    K = kernel_of(layer, G)
    # where variances are equal, first the row that is most like the others, in any order of them
    central = np.argsort(-np.square(K).sum(axis=1), kind="stable")
    K = K[np.ix_(central, central)]
    (pstrf,) = scipy.linalg.get_lapack_funcs(("pstrf",), (K,))
    _, order, rank, _ = pstrf(K, tol=1e-12 * float(K.diagonal().max()))
    return np.sort(central[order[: max(1, min(count, rank))] - 1])
