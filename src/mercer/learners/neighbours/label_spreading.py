"""Classes of all samples from those of a few, along the graph of neighbours."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.distances import in_float64
from mercer.estimator import estimator
from mercer.gram import GramOperator, Place, Rows
from mercer.learners.base import (
    check_count,
    check_positive,
    encode_classes,
    finite_fit,
    finite_values,
    plain_targets,
)
from mercer.learners.neighbours.neighbour_embedding import normalised_graph, symmetric_graph
from mercer.learners.neighbours.neighbour_learner import CountSearch
from mercer.persistence import fields, floats, unread
from mercer.samples import SamplesLike, is_missing, is_number
from mercer.solvers import ConjugateGradientSolver

ARRAYS = 9  # of as many numbers as there are rows times classes, that a fit takes


@estimator
@fields(
    transduction_=unread,
    label_distributions_=floats(
        2, lambda model: model.n_samples_fit_, lambda model: len(model.classes_)
    ),
)
class LabelSpreading(ClassifierMixin, CountSearch):
    r"""Classes that spread from a few known rows to all others, along the graph of neighbours.

    .. math:: (I - \alpha S) F = Y, \qquad S = D^{-1/2} W D^{-1/2}

    where W is 1 between a row and its k nearest neighbours, made symmetric, D has the sums of its
    rows, and Y has a row for each sample, which is 0 if its class is not known. The class of row i
    is that of the largest :math:`F_{ic}`. Samples are of any kind, with any distance or kernel.

    Parameters
    ----------
    n_neighbors : int >= 1, default=7
        k.
    alpha : float in (0, 1), default=0.99
        Share of what a row hears from its neighbours; the rest is what is known of it. The nearer
        to 1, the farther classes spread.
    max_iter : int >= 1, default=1000
        Most steps of the solver.
    tol : float > 0, default=1e-6
        The solver stops at residuals of this size, relative to Y, times :math:`n^{-1/2}`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    label_distributions_ : ndarray of shape (n, n_classes)
        F, divided by the sums of its rows: the share of each class.
    transduction_ : ndarray of shape (n,)
        The class of each row; it may differ from the one that was given.
    n_iter_ : int
        Steps of the solver.

    See Also
    --------
    KNeighborsClassifier : Reads the rows of known classes alone.

    Notes
    -----
    An unknown class is -1, None, NaN, NaT or pandas.NA in y, so that a class of its own may not be
    -1. Each class is divided by the number of its known rows, so that the one that is known most
    often does not take all: this is not so in scikit-learn, whose default of alpha is 0.2 as well.
    Its iterations take as many steps as 1 / (1 - alpha); conjugate gradients take the root of
    that, of O(n k) operations for each class.

    A new row has the mean of the shares of its neighbours among the training rows, whatever other
    rows are asked for. Rows that the graph joins to no known row have the shares of the known
    classes, and there is a warning.

    Warns
    -----
    UserWarning
        Some rows are joined to no known row.
    ConvergenceWarning
        There were too few steps.

    References
    ----------
    Zhou, Bousquet, Lal, Weston & Schölkopf, "Learning with local and global consistency", NIPS
    2003.

    Examples
    --------
    >>> from mercer import LabelSpreading
    >>> from mercer.distances import Edit
    >>> names = ["anna", "hanna", "hannah", "johanna", "otto", "lotto", "motto", "ottos"]
    >>> known = ["f", None, None, None, "m", None, None, None]
    >>> model = LabelSpreading(2, metric=Edit()).fit(names, known)
    >>> model.transduction_.tolist()
    ['f', 'f', 'f', 'f', 'm', 'm', 'm', 'm']
    >>> model.predict(["hanne", "risotto"]).tolist()
    ['f', 'm']
    """

    n_neighbors: int = 7
    _: KW_ONLY
    alpha: float = 0.99
    max_iter: int = 1000
    tol: float = 1e-6

    fitted_by = "label_distributions_"

    @finite_fit
    def fit(self, X: SamplesLike, y: Any) -> Self:
        """Spread the known classes of y to all samples of X.

        Parameters
        ----------
        X : samples
            For ``metric="precomputed"`` (n, n) distances, or a sparse graph of known neighbours.
        y : array-like of shape (n,)
            Classes; -1, None, NaN, NaT or pandas.NA where they are not known.

        Raises
        ------
        ValueError
            Fewer than two classes are known, or there are not more rows than neighbours.
        MemoryError
            ``memory`` does not hold a few numbers for each row and class.
        """
        self._check_parameters()
        known, filled = known_classes(y)
        training = self.make_training(X, filled, numeric=False)
        training = training._replace(X=in_float64(training.X))
        self.keep_samples(training.X)
        self.check_enough(self.n_neighbors, None)
        index, algorithm, _, near = self.own_neighbours(X, training.X, int(self.n_neighbors))
        self.keep_index(training, index, algorithm)
        rows = np.flatnonzero(known)
        self.classes_, codes = encode_classes(training.y[rows])
        shape = len(known), len(self.classes_)
        needed = ARRAYS * 8 * shape[0] * shape[1]
        if not self.place.holds(needed):
            what = f"{shape[1]:,} classes and {shape[0]:,} rows"
            self.place.refuse(needed, what, ", or fewer classes")
        counts = np.bincount(codes)
        Y = np.zeros(shape)
        Y[rows, codes] = 1 / counts[codes]
        solver = ConjugateGradientSolver(
            tol=self.tol / np.sqrt(len(Y)), max_iter=int(self.max_iter), preconditioner=None
        )
        result = solver.solve(GraphGram(symmetric_graph(near), -self.alpha, self.place), Y)
        F = np.maximum(result.coef, 0)  # it is not negative, but for the error of the solver
        total = F.sum(axis=1, keepdims=True)
        alone = total[:, 0] <= 0
        F[alone], total[alone] = counts, len(rows)
        self.n_iter_ = result.iterations
        self.transduction_ = self.classes_[F.argmax(axis=1)]
        self.label_distributions_ = F / total
        result.conclude()
        if alone.any():
            warnings.warn(
                f"{np.count_nonzero(alone):,} of {len(Y):,} rows are joined to no row of a known "
                "class, or over so many others that nothing of it arrives. They have the shares "
                "of the known classes: give more neighbours, a larger alpha, or more classes.",
                UserWarning,
                stacklevel=4,
            )
        return self

    def _check_parameters(self) -> None:
        for name in ("n_neighbors", "max_iter"):
            check_count(name, getattr(self, name), optional=False)
        check_positive("tol", self.tol)
        if not (is_number(self.alpha) and 0 < self.alpha < 1):
            raise ValueError(f"alpha={self.alpha!r}: give a number between 0 and 1.")

    @finite_values
    def predict_proba(self, X: SamplesLike) -> np.ndarray:
        """The share of each class for the rows of X, each as if it were alone, (q, n_classes)."""
        check_is_fitted(self)
        Z = in_float64(self.encode_new(X))
        k, parts = int(self.n_neighbors), []
        for rows in self.strips(Z.shape[0], k * len(self.classes_)):
            near = self.nearest(Z[rows], k)[1]
            found = near >= 0  # an index that is not exact may find fewer
            shares = self.label_distributions_[near] * found[..., None]
            parts.append(shares.sum(axis=1) / np.maximum(found.sum(axis=1), 1)[:, None])
        return np.concatenate(parts)

    def predict(self, X: SamplesLike) -> np.ndarray:
        """The class with the largest share for each row of X, (q,)."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]


class GraphGram(GramOperator):
    """c D^-½ W D^-½ of a symmetric graph W with the degrees D, for products."""

    symmetric, dtype, cheap = True, np.dtype(np.float64), frozenset()

    def __init__(self, W: sp.csr_array, factor: float, place: Place):
        n = len(W.indptr) - 1
        self.place, self.shape = place, (n, n)
        self.S: Any = normalised_graph(W)[0] * factor

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        return self.S[i][:, j].toarray()

    def diag(self) -> np.ndarray:
        return self.S.diagonal()

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        return self.S @ V


def known_classes(y: Any) -> tuple[np.ndarray, Any]:
    """Which rows have a class, and classes of all rows, those of the others being one of them.

    Raises
    ------
    ValueError
        No class is known, or y has the text "-1".

    Examples
    --------
    >>> known_classes([3, -1, 5])
    (array([ True, False,  True]), array([3, 3, 5]))
    >>> known_classes(["a", None])
    (array([ True, False]), array(['a', 'a'], dtype=object))
    """
    if y is None:  # which is an error of its own
        return np.ones(0, bool), y
    y = plain_targets(y)
    y = column_or_1d(y, warn=True) if y.ndim == 2 else y
    if y.ndim != 1:
        return np.ones(0, bool), y
    known = ~is_missing(y)
    if y.dtype.kind in "iuf":
        known &= y != -1
    elif y.dtype.kind in "OU":  # one by one: values of other types need not compare
        values = y.tolist()
        if any(isinstance(value, str) and value == "-1" for value in values):
            raise ValueError(
                "y has the text '-1', which may be meant as unknown: give None for unknown "
                "classes, and another name to a class."
            )
        known &= np.array([not (is_number(value) and value == -1) for value in values], bool)
    if len(y) and not known.any():
        raise ValueError(f"y has no known class in {len(y):,} rows: give some rows a class.")
    y = np.where(known, y, y[known.argmax()]) if len(y) else y
    numbers = y.dtype == object and all(map(is_number, y))
    return known, np.asarray(y.tolist()) if numbers else y
