"""Classification and regression by the nearest neighbours, or by all rows within a window.

From neighbours to weighted sums, and how many neighbours and which width are the best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, is_classifier
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.learners.base import (
    Regressor,
    Training,
    check_count,
    finite_fit,
    finite_values,
    is_auto,
    weigh_classes,
)
from mercer.learners.neighbours.neighbour_learner import PAIR, CountSearch
from mercer.learners.neighbours.neighbour_targets import (
    ClassColumns,
    Classes,
    Neighbourhoods,
    Numbers,
    WeightRule,
    check_weighing,
)
from mercer.learners.windows import window_sums
from mercer.samples import Samples, SamplesLike
from mercer.search import Index
from mercer.threads import ordered_map

ALL = 25  # up to this many neighbours each number is tried, beyond it about 10% more each time
LEAST, MOST = 20, 200  # the largest number tried is 2 √n, but within these
WIDTHS = 12
STRIP = 1024  # rows whose answers are compared at a time, at most
SUMS = 2**18  # numbers of all sums of a strip, about


def some_neighbours(n: int) -> list[int]:
    """The numbers of neighbours to try, for n rows.

    Examples
    --------
    >>> some_neighbours(100)[-3:], some_neighbours(10_000)[24:28]
    ([18, 19, 20], [25, 28, 31, 35])
    """
    most = min(n - 1, int(np.clip(2 * np.sqrt(n), LEAST, MOST)))
    tried = list(range(1, min(most, ALL) + 1))
    while tried[-1] < most:
        tried.append(min(tried[-1] + max(1, -(-tried[-1] // 10)), most))
    return tried


def some_widths(distances: np.ndarray) -> list[float]:
    """Widths of a window to try, from half the usual distance of the nearest to the largest one.

    Parameters
    ----------
    distances : ndarray of shape (n, k)
        Distances from each row to its nearest rows, ascending.
    """
    positive = np.where(distances > 0, distances, np.inf).min(axis=1)
    positive = positive[np.isfinite(positive)].astype(np.float64)
    if not len(positive):  # all rows are equal
        return [1.0]
    return np.geomspace(np.median(positive) / 2, float(distances.max()), WIDTHS).tolist()


def left_out_scores(
    found: Neighbourhoods,
    targets: Classes | Numbers,
    weighings: Sequence[WeightRule],
    numbers: Sequence[int],
    weights: np.ndarray | None,
    n_jobs: int | None,
) -> np.ndarray:
    """The leave-one-out score of each weighing for each of the ascending ``numbers`` of neighbours:
    (weighings, numbers).

    Parameters
    ----------
    found : Neighbourhoods
        Neighbours of the training rows; no row is its own neighbour.
    targets : Classes or Numbers
    weighings : sequence of WeightRule
    numbers : sequence of int
    weights : ndarray of shape (n,) or None
        Weights of the rows that are left out.

    Notes
    -----
    Where the weight of a neighbour does not depend on k, a further neighbour costs O(n): its votes
    are added to those before. Otherwise the weights are computed again for each k. What is read of
    the neighbours' targets is read once for all weighings. Rows with equally far neighbours are
    taken together, so that what is beyond a window is left out of all of them.
    """
    n = len(found.distances)
    width = targets.columns(slice(0, 1)).shape[1]
    step = int(np.clip(SUMS // (len(numbers) * width), 1, STRIP))
    added = found.counts is None and weighings[0].independent
    order = np.argsort(found.distances[:, -1], kind="stable")

    def tallies(start: int) -> np.ndarray:
        rows = order[start : start + step]
        near = found.of(rows)
        near = near._replace(distances=near.distances.astype(np.float64))
        running = targets.running(near.indices, numbers) if added else None
        parts = []
        for weighing in weighings:
            sums = _sums(near, targets, running, weighing, numbers)
            if found.counts is not None:  # an index that is not exact may have found nobody
                sums = targets.filled(sums)
            parts.append(targets.tally(targets.answers(sums), rows, weights))
        return np.stack(parts)

    total = np.add.reduce(list(ordered_map(tallies, range(0, n, step), n_jobs)))
    return targets.scores(total, weights)


def _sums(
    found: Neighbourhoods,
    targets: Classes | Numbers,
    running: Callable[[np.ndarray], np.ndarray] | None,
    weighing: WeightRule,
    numbers: Sequence[int],
) -> np.ndarray:
    """What the nearest sum up to, for each number of them: (n, numbers, columns)."""
    if running is None:
        each = []
        for k in numbers:
            W = weighing(found, k)
            each.append(targets.sums(found.indices[:, : W.shape[1]], W))
        return np.stack(each, axis=1)
    near = found._replace(distances=found.distances[:, : weighing.reach(found)])
    W = weighing(near, numbers[-1])
    total = running(W)
    first = (W > 0).argmax(axis=1)  # the place of the nearest whose weight is not 0
    if first.any():
        rows, late = np.nonzero(first[:, None] >= np.asarray(numbers))
        total[rows, late] = targets.sums(found.indices[rows, :1], np.ones((len(rows), 1)))
    return total


@estimator
class NeighbourPredictor(CountSearch):
    """Abstract: a predictor that also has the parameters ``n_neighbors`` and ``width``.

    Parameters
    ----------
    n_neighbors : int >= 1, "auto" or None
        k. "auto" takes the one of the best leave-one-out score (R² in regression), up to 2 √n but
        200 at most. None means all rows, for a window of a known ``width``.
    weights : {"uniform", "distance", "rank"}, a window's name or callable
        "distance" is 1 / ρ; if there are rows at distance 0 (or whose square is 0 as a float), they
        get all the weight. "rank" is (k + 1 - i) / k. A window K(ρ / h) is "rectangular",
        "triangular", "epanechnikov", "quartic", "gaussian", "exponential" or "tricube". A function
        takes distances of shape (q, k) and returns weights >= 0 for them.
    width : float > 0, "auto" or None
        h, in units of the distance. None is the distance to the (k + 1)-th neighbour, "auto" is
        chosen by the leave-one-out score.

    Attributes
    ----------
    n_neighbors_, width_ : int or None, float or None
        The values that were given or chosen.
    """

    n_neighbors: Any = 5
    _: KW_ONLY
    width: Any = None
    weights: Any = "uniform"

    _targets: Any = field(init=False)

    # --- a fit ----------------------------------------------------------------------------------

    def check_parameters(self) -> None:
        if not is_auto(self.n_neighbors):
            check_count("n_neighbors", self.n_neighbors)
        check_weighing(self.weights, self.width, self.n_neighbors)

    def learn(self, training: Training, targets: Classes | Numbers) -> None:
        index, algorithm = self.make_index(training.X)
        self._targets, self._weights = targets, training.weights
        auto_k, auto_width = (is_auto(value) for value in (self.n_neighbors, self.width))
        k, width = self.n_neighbors, self.width
        if k is None and not index.exact:
            raise ValueError(
                f"n_neighbors=None reads all rows, which algorithm={self.algorithm!r} does not "
                "find: give a number, or an exact algorithm."
            )
        if auto_k or auto_width:
            if training.X.shape[0] < 2:
                raise ValueError(
                    "n_samples=1, but n_neighbors or width is to be chosen by leaving rows out: "
                    "give n_neighbors and width as numbers."
                )
            scores: dict[Any, float] = (
                self._scores_of_all(training, index)
                if k is None
                else self._scores(training, index, auto_k, auto_width)
            )
            k, width = max(scores, key=lambda pair: scores[pair])  # of equal ones the first
            if auto_k and auto_width:
                self.loo_scores_ = scores
            else:
                self.loo_scores_ = {pair[1 - auto_k]: s for pair, s in scores.items()}
        self.n_neighbors_ = None if k is None else int(k)
        self.width_ = None if width is None else float(width)
        if k is not None:
            self._check_weight(training, k)
        self.keep_index(training, index, algorithm)

    def _check_weight(self, training: Training, k: int) -> None:
        """Raise ValueError if the rows do not add up to k neighbours."""
        n, weighing = training.X.shape[0], WeightRule(self._rule, self.width_)
        total = n if training.weights is None else float(training.weights.sum())
        if total < k or (weighing.adaptive and total <= k):
            what = f"n_samples={n}"
            if training.weights is not None:
                what += f" of a total weight of {total:.6g}"
            least = f"{k} or more" + (" and one for the width" if weighing.adaptive else "")
            raise ValueError(
                f"n_neighbors={k} needs {least}, but there are {what}: give fewer neighbours or "
                "more rows; a weight says how many times a row counts."
            )

    def _scores(
        self, training: Training, index: Index, auto_k: bool, auto_width: bool
    ) -> dict[tuple[int, float | None], float]:
        """The leave-one-out score of each k and width, from one search for the largest k."""
        n = training.X.shape[0]
        adaptive = WeightRule(self._rule, None).adaptive and self.width is None
        numbers = some_neighbours(n) if auto_k else [int(self.n_neighbors)]
        most = max(1, min(n - 1, self.place.budget(PAIR * n * n) // (PAIR * n)))
        numbers = [k for k in numbers if self._rows_needed(k, adaptive) <= most]
        if not numbers:
            raise ValueError(
                f"n_neighbors={self.n_neighbors!r} with width={self.width!r} leaves rows out of "
                f"n_samples={n}, which is too few (or of too little weight, or memory="
                f"{self.memory!r} too small): give numbers."
            )
        most = self._rows_needed(numbers[-1], adaptive)
        distances, indices = self.ask(index, training.X, None, most)
        found = self._counted(distances, indices)
        widths = some_widths(distances) if auto_width else [self.width]
        weighings = [WeightRule(self._rule, width) for width in widths]
        scores = left_out_scores(
            found, self._targets, weighings, numbers, training.weights, self.n_jobs
        )
        return {
            (k, width): float(score)
            for width, each in zip(widths, scores)
            for k, score in zip(numbers, each)
        }

    def _scores_of_all(self, training: Training, index: Index) -> dict[tuple[None, float], float]:
        """The leave-one-out score of each width over all rows, from one pass over all pairs."""
        n = training.X.shape[0]
        distances, indices = self.ask(index, training.X, None, some_neighbours(n)[-1])
        widths, targets = some_widths(distances), self._targets
        nearest = targets.sums(indices[:, :1], np.ones((n, 1)))

        def answers(sums: np.ndarray, rows: slice) -> np.ndarray:
            return targets.answers(np.where(targets.empty(sums)[:, :, None], nearest[rows], sums))

        found = self._all_rows(None, training.X, widths, answers)
        tally = targets.tally(found.swapaxes(0, 1), slice(None), training.weights)
        scores = targets.scores(tally, training.weights)
        return {(None, width): float(score) for width, score in zip(widths, scores)}

    # --- sums over neighbours ---------------------------------------------------------------------

    @property
    def _rule(self) -> Any:
        return "uniform" if self.weights is None else self.weights

    def _rows_needed(self, k: int, adaptive: bool) -> int:
        """How many rows have a weight of k together, wherever they are; ``adaptive``: and more."""
        if self._weights is None:
            return k + adaptive
        lightest = np.cumsum(np.sort(self._weights))
        return int(np.searchsorted(lightest, k, side="right" if adaptive else "left")) + 1

    def _counted(self, distances: np.ndarray, indices: np.ndarray) -> Neighbourhoods:
        """The neighbours with their weights; those that an index did not find count 0 times."""
        counts = None if self._weights is None else self._weights[indices]
        missing = indices < 0
        if missing.any():
            counts = np.where(missing, 0.0, 1.0 if counts is None else counts)
        return Neighbourhoods(distances, indices, counts)

    @finite_values
    def sums(self, X: SamplesLike) -> np.ndarray:
        """The weighted sums of the targets of the neighbours of each row of X, (q, sums)."""
        Z = self.queries(X)
        if self.n_neighbors_ is None:
            return self._sums_of_all(Z)
        weighing = WeightRule(self._rule, self.width_)
        m = self._rows_needed(self.n_neighbors_, weighing.adaptive)
        n = self.X_fit_.shape[0]
        m = min(m, n if self._weights is not None and Z is not None else m)
        self.check_enough(m, Z)
        # the training rows ask all at once
        parts = [None] if Z is None else [Z[rows] for rows in self.strips(Z.shape[0], m)]
        found = (self._counted(*self.nearest(part, m)) for part in parts)
        return np.vstack([self._weigh(weighing, near) for near in found])

    def stored_targets(self) -> np.ndarray:
        """The target of each row of ``X_fit_``: its votes (n, classes), or numbers (n, outputs).

        Raises
        ------
        ValueError
            Rows count several times, by the weights of the fit.
        """
        check_is_fitted(self)
        if self._weights is not None:
            raise ValueError(
                "sample_weight= makes rows count several times, and then the neighbours are no "
                "fixed number of rows: fit without weights."
            )
        columns = self._targets.columns()
        return columns if is_classifier(self) else self._targets.answers(columns)

    def _weigh(self, weighing: WeightRule, found: Neighbourhoods) -> np.ndarray:
        assert self.n_neighbors_ is not None
        W = weighing(found, self.n_neighbors_)
        return self._targets.filled(self._targets.sums(found.indices[:, : W.shape[1]], W))

    def _sums_of_all(self, Z: Samples) -> np.ndarray:
        """Sums over all rows within the window; where there are none, of the nearest."""
        assert self.width_ is not None
        (sums,) = self._all_rows(Z, self.X_fit_, [self.width_], lambda sums, rows: sums)
        empty = np.flatnonzero(self._targets.empty(sums))
        if len(empty):
            _, nearest = self.nearest(None, 1) if Z is None else self.nearest(Z[empty], 1)
            nearest = nearest[empty] if Z is None else nearest
            sums[empty] = self._targets.sums(nearest, np.ones(nearest.shape))
        return sums

    def _all_rows(self, Z: Any, X: Samples, widths: list[float], reduce: Any) -> np.ndarray:
        T = self._targets.columns()
        if self._weights is not None:
            T *= self._weights[:, None]
        return window_sums(self.distance_, Z, X, T, self._rule, widths, reduce, place=self.place)


@estimator
class KNeighborsClassifier(ClassColumns, NeighbourPredictor):
    r"""Classification by neighbours:

    .. math:: \arg\max_y \sum_{i \le k} w_i [y_{(i)} = y] .

    Samples are of any kind, with any distance or kernel between them. k and the width of a window
    can be chosen by leaving each row out, from one search.

    Parameters
    ----------
    class_weight : dict or "balanced", optional
        Factor of the votes of each class. It does not change who is a neighbour. Rows of a class of
        weight 0 are left out.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of them for several outputs
    loo_scores_ : dict
        If something was chosen: the leave-one-out accuracy (weighted by rows and classes) of each
        k, of each width, or of each pair (k, width).
    outputs_2d_ : bool
        Whether y had several columns.

    Notes
    -----
    If rows are equally near, those with the smallest index are the neighbours. If classes have
    equal votes, the first one in the order of ``classes_`` wins. If scores are equal, the smallest
    width wins, then the smallest k. If a window is empty, or a function gives weight 0 to all rows,
    the nearest row decides. A row of weight 2 counts as two neighbours; leave-one-out leaves it out
    with all of its weight. Predictions cost one search; without ``n_neighbors``, q n distances.

    See Also
    --------
    Stolp : The few rows that are enough to classify the others.

    References
    ----------
    Cover & Hart, "Nearest neighbor pattern classification", IEEE Transactions on Information
    Theory 13, 1967.

    Examples
    --------
    >>> from mercer import KNeighborsClassifier
    >>> from mercer.distances import Edit
    >>> words = ["haus", "maus", "house", "mouse", "laus"]
    >>> model = KNeighborsClassifier(3, weights="rank", metric=Edit())
    >>> model = model.fit(words, ["de", "de", "en", "en", "de"])
    >>> model.predict(["raus", "moose"]).tolist()
    ['de', 'en']
    >>> model.predict_proba(["moose"]).round(2)
    array([[0.17, 0.83]])
    """

    _: KW_ONLY
    class_weight: Any = None

    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        self.check_parameters()
        training = self.make_training(X, y, sample_weight, numeric=False)
        training, votes = self._class_votes(self.check_classes(training))
        self.learn(training, self.keep_classes(training.y, votes))
        return self

    def _class_votes(self, training: Training) -> tuple[Training, np.ndarray | None]:
        """The votes of each row by its class; rows of classes of weight 0 are left out."""
        if self.class_weight is None:
            return training, None
        weights = training.all_weights
        votes = weigh_classes(self.class_weight, training.y, weights) / weights
        if not votes.any():
            raise ValueError(
                f"class_weight={self.class_weight!r} is 0 for all classes of y: give some a weight "
                "> 0."
            )
        if (votes == 0).any():
            training = training.weighed(np.where(votes > 0, weights, 0))
            if (training.all_weights == 1).all():
                training = training._replace(weights=None)
        return training, votes[votes > 0]

    @finite_values
    def predict_proba(self, X: SamplesLike) -> Any:
        check_is_fitted(self)
        shares = [v / v.sum(axis=1, keepdims=True) for v in self._targets.split(self.sums(X))]
        return shares if self.outputs_2d_ else shares[0]

    def predict(self, X: SamplesLike) -> np.ndarray:
        check_is_fitted(self)
        return self.labels(self._targets.answers(self.sums(X)))


class MeansOfTargets(MultiOutputMixin, Regressor):
    """Abstract: a regressor of one or more outputs, by the means of neighbours' targets."""

    _targets: Any
    check_parameters: Callable[[], None]
    make_training: Callable[..., Training]
    learn: Callable[[Training, Numbers], None]
    sums: Callable[[SamplesLike], np.ndarray]

    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Keep samples X (n) and their targets y (n) or (n, outputs).

        Parameters
        ----------
        X : samples
            (n, n) distances for ``metric="precomputed"``.
        y : array-like of shape (n,) or (n, outputs)
        sample_weight : array-like of shape (n,), optional
            How many times each row counts.

        Raises
        ------
        ValueError
            A parameter is out of range, or there are fewer rows than neighbours.
        """
        self.check_parameters()
        training = self.make_training(X, y, sample_weight)
        self.learn(training, Numbers(training.y))
        return self

    @finite_values
    def predict(self, X: SamplesLike) -> np.ndarray:
        """The weighted mean of the neighbours' targets.

        Parameters
        ----------
        X : samples, or None
            None means the training rows; no row is its own neighbour.

        Returns
        -------
        ndarray of shape (q,) or (q, outputs)
        """
        check_is_fitted(self)
        return self._targets.like_given(self.sums(X))


@estimator
class KNeighborsRegressor(MeansOfTargets, NeighbourPredictor):
    r"""Regression by neighbours:

    .. math:: \sum_{i \le k} w_i y_{(i)} / \sum_{i \le k} w_i .

    Samples are of any kind, with any distance or kernel between them. k and the width of a window
    can be chosen by leaving each row out, from one search.

    Attributes
    ----------
    loo_scores_ : dict
        If something was chosen: the leave-one-out R² of each k, width or pair (k, width).

    Notes
    -----
    If rows are equally near, those with the smallest index are the neighbours. If a window is
    empty, the nearest row decides. A row of weight 2 counts as two neighbours.

    References
    ----------
    Fix & Hodges, "Discriminatory analysis, nonparametric discrimination", 1951; Stone, "Consistent
    nonparametric regression", Annals of Statistics 5, 1977.

    Examples
    --------
    >>> from mercer import KNeighborsRegressor
    >>> model = KNeighborsRegressor(2).fit([[0.0], [1.0], [2.0], [9.0]], [0.0, 10.0, 20.0, 90.0])
    >>> model.predict([[0.4], [5.0]])
    array([ 5., 15.])
    """
