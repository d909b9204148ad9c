"""Prototypes: the few training rows that are enough to classify the others by the nearest one."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import column_or_1d

from mercer.estimator import estimator
from mercer.learners.base import DistanceLearner, check_count, check_labels, finite_fit, take_rows
from mercer.persistence import fields, whole
from mercer.samples import Samples, SamplesLike, is_number

STRIP = 4096  # rows whose distances to a prototype are computed at a time


@estimator
@fields(indices_=whole(), outliers_=whole())
class Stolp(DistanceLearner):
    r"""Selection of prototypes for classification by the nearest neighbour.

    The margin of a row x among some rows is

    .. math:: M(x) = \frac{b - a}{\max(a, b)} \in [-1, 1],

    where a is the distance to the k-th nearest other row of its own class, and b the least of those
    to the k-th nearest row of each other class. Rows of a margin below ``outlier_margin`` among all
    rows are left out. The prototypes are then the row of the largest margin of each class, and, one
    after the other, the row of the least margin among the prototypes (where only the nearest one
    counts), until few enough rows are misclassified.

    Parameters
    ----------
    n_neighbors : int >= 1, default=5
        k of the margins among all rows, or the size of a class that is smaller. With 1, the
        neighbours of an outlier look like outliers too.
    outlier_margin : float in [-1, 1], default=0.0
        Rows with a smaller margin are outliers; -1 keeps all rows. At least one row of each class
        is kept.
    max_error : float in [0, 1), default=0.0
        The share of the rows without outliers that may be misclassified at the end.

    Attributes
    ----------
    indices_ : ndarray of shape (m,)
        Row numbers of the prototypes, in the order in which they were chosen.
    outliers_ : ndarray of shape (outliers,)
        Row numbers of the outliers.
    margins_ : ndarray of shape (n,)
        The margin of each row among all rows.
    classes_ : ndarray of shape (n_classes,)
    kept_share_ : float
        m / n.
    error_before_ : float
        Share of all rows that are misclassified by the nearest other row.
    error_after_ : float
        Share of all rows, outliers too, that are misclassified by the nearest prototype.
    errors_ : ndarray of shape (steps,)
        Share of the rows without outliers that are misclassified, from the first prototypes of all
        classes on, after each further one.
    algorithm_, distance_
        The same as in `NearestNeighbors`.

    Notes
    -----
    If rows have equal margins, the one with the smallest index comes first. A row that is equally
    near to prototypes of two classes counts as misclassified. O(n²) distances for the margins, and
    O(n m) for m prototypes.

    References
    ----------
    Zagoruiko, "Applied methods of data and knowledge analysis", Novosibirsk 1999; Hart, "The
    condensed nearest neighbor rule", IEEE Transactions on Information Theory 14, 1968.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KNeighborsClassifier, Stolp
    >>> X = np.array([[0.0], [0.2], [0.4], [0.6], [5.0], [5.2], [5.4], [0.3]])
    >>> y = np.array(["a", "a", "a", "a", "b", "b", "b", "b"])
    >>> chosen = Stolp(2).fit(X, y)
    >>> chosen.indices_.tolist(), chosen.outliers_.tolist()
    ([1, 5], [7])
    >>> chosen.kept_share_, chosen.error_before_, chosen.error_after_
    (0.25, 0.375, 0.125)
    >>> KNeighborsClassifier(1).fit(*chosen.fit_resample(X, y)).predict([[1.0]])
    array(['a'], dtype='<U1')
    """

    n_neighbors: int = 5
    _: KW_ONLY
    outlier_margin: float = 0.0
    max_error: float = 0.0
    p: float = 2

    fitted_by = "indices_"

    @finite_fit
    def fit(self, X: SamplesLike, y: Any) -> Self:
        """Choose prototypes among samples X (n) of classes y (n)."""
        check_count("n_neighbors", self.n_neighbors, optional=False)
        if not (is_number(self.outlier_margin) and -1 <= self.outlier_margin <= 1):
            raise ValueError(f"outlier_margin={self.outlier_margin!r}: give a number in [-1, 1].")
        if not (is_number(self.max_error) and 0 <= self.max_error < 1):
            raise ValueError(f"max_error={self.max_error!r}: give a number in [0, 1).")
        training = self.make_training(X, y, numeric=False)
        y = column_or_1d(training.y, warn=True)
        check_labels(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        own, other = self._distances_to_classes(training.X, codes)
        self.margins_ = _margins(own[:, -1], other[:, -1])
        alone = np.isinf(other[:, 0])  # there is one class
        self.error_before_ = float(np.mean((other[:, 0] <= own[:, 0]) & ~alone))
        # the best row of each class: of equal ones the first
        order = np.lexsort((-self.margins_, codes))
        first = order[np.searchsorted(codes[order], np.arange(len(self.classes_)))]
        usual = self.margins_ >= self.outlier_margin
        usual[first] = True
        self.outliers_ = np.flatnonzero(~usual)
        chosen, self.errors_ = self._choose(training.X, codes, usual, first)
        self.kept_share_ = len(chosen) / len(codes)
        prototypes, self.algorithm_ = self.make_index(training.X[chosen])
        nearest = prototypes.query(training.X, 1)[1][:, 0]
        self.error_after_ = float(np.mean(codes[chosen][nearest] != codes))
        self.indices_ = chosen
        return self

    def _distances_to_classes(self, X: Samples, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The distances of each row to the nearest and to the k-th of its own class, and of the
        other class that is nearest in this sense; (n, 2) each."""
        own, other = np.full((len(codes), 2), np.inf), np.full((len(codes), 2), np.inf)
        for c in range(len(self.classes_)):
            inside, outside = np.flatnonzero(codes == c), np.flatnonzero(codes != c)
            index, self.algorithm_ = self.make_index(X[inside])
            if len(inside) > 1:
                own[inside] = self._ends(index, None, len(inside) - 1)
            if len(outside):
                near = self._ends(index, X[outside], len(inside))
                other[outside] = np.minimum(other[outside], near)
        return own, other

    def _ends(self, index: Any, Z: Samples | None, most: int) -> np.ndarray:
        """The distances to the nearest row and to the k-th, or to the last one, of an index."""
        return index.query(Z, min(self.n_neighbors, most))[0][:, [0, -1]]

    def _choose(
        self, X: Samples, codes: np.ndarray, usual: np.ndarray, first: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The prototypes, and the share of errors after each."""
        prepared = self.distance_.prepare(X)
        chosen: list[int] = []
        errors: list[float] = []
        own, other = np.full(len(codes), np.inf), np.full(len(codes), np.inf)
        waiting = usual.copy()  # no prototypes yet
        start = iter(first.tolist())
        row = next(start)
        while True:
            chosen.append(row)
            waiting[row] = False
            distances = np.concatenate(
                [
                    self.distance_.block(prepared[s : s + STRIP], prepared[row : row + 1])[:, 0]
                    for s in range(0, len(codes), STRIP)
                ]
            )
            mine = codes == codes[row]
            np.minimum(own, distances, out=own, where=mine)
            np.minimum(other, distances, out=other, where=~mine)
            following = next(start, None)
            if following is not None:
                row = following
                continue
            wrong = np.flatnonzero(waiting & (other <= own))
            errors.append(len(wrong) / np.count_nonzero(usual))
            if errors[-1] <= self.max_error:
                return np.array(chosen), np.array(errors)
            wrong, copies = wrong[own[wrong] > 0], wrong[own[wrong] == 0]
            if not len(wrong):  # a copy of a prototype makes only itself right
                left = np.arange(len(copies))[::-1] / np.count_nonzero(usual)
                more = 1 + int(np.argmax(left <= self.max_error))
                return np.append(chosen, copies[:more]), np.append(errors, left[:more])
            row = int(wrong[_margins(own[wrong], other[wrong]).argmin()])

    def fit_resample(self, X: SamplesLike, y: ArrayLike) -> tuple[Any, np.ndarray]:
        """Choose prototypes, and return them with their classes, as imbalanced-learn's samplers do.

        For ``metric="precomputed"`` the samples are the distances between the prototypes.
        """
        self.fit(X, y)
        rows = take_rows(X, self.indices_)
        if self.distance_.reads.pairwise:
            rows = np.asarray(rows)[:, self.indices_]
        return rows, np.asarray(y)[self.indices_]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _margins(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(b - a) / max(a, b) of distances a to the own class and b to the others."""
    alone = np.isinf(own)  # the only row of its class, which any other one misclassifies
    with np.errstate(invalid="ignore"):
        M = (other - own) / np.maximum(own, other)
    M = np.where(np.isinf(other), 1.0, np.nan_to_num(M, nan=0.0))
    return np.where(alone & ~np.isinf(other), -1.0, M)
