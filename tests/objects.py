"""Two small kernels on objects, for the tests of learners and of the suites themselves."""

import numpy as np
import scipy.sparse as sp

from mercer.kernels import Kernel


class SharedSymbols(Kernel):
    """How many pairs of equal symbols two strings have: <counts, counts>."""

    kind = "strings"

    def block(self, X, Z):
        width = max(len(X.alphabet), len(Z.alphabet))
        return (counts(X, width) @ counts(Z, width).T).toarray().astype(X.dtype)


class SharedItems(Kernel):
    """How many items two sets have in common."""

    kind = "sets"

    def block(self, X, Z):
        width = max(len(X.universe), len(Z.universe))
        return (counts(X, width) @ counts(Z, width).T).toarray().astype(X.dtype)


def counts(X, width):
    return sp.csr_array((np.ones(len(X.values)), X.values, X.starts), (len(X), width))
