"""A fit to rows that come in parts, which may lie in other processes: surveys and sums are added.

The parts are read three times: for a survey of all rows, for some rows of which the learner makes
its bins or its centres, and for sums. Each time what is known of single parts is added up, so that
the order of work and the places of the parts do not matter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import column_or_1d

from mercer.learners.base.training import check_labels, check_targets, weigh_classes
from mercer.samples import SamplesLike, plain_targets
from mercer.streams import IncrementalFit
from mercer.threads import blas_limit


@dataclass(frozen=True)
class Survey:
    """What a learner wants to know of all rows before it begins; ``a + b`` is that of both.

    Attributes
    ----------
    rows : int
    weight : float
        Sum of the weights.
    totals : ndarray of shape (outputs,)
        Weighted sums of the targets.
    flat : bool
        Whether y has the shape (n,).
    largest : float
        The largest size of a target.
    more : object or None
        What else the learner has found, which can be added as well.

    Examples
    --------
    >>> both = Survey.of(np.array([1.0, 2.0]), None) + Survey.of(np.array([6.0]), np.array([3.0]))
    >>> both.rows, both.weight, both.means
    (3, 5.0, array([4.2]))
    """

    rows: int
    weight: float
    totals: np.ndarray
    flat: bool
    largest: float = 0.0
    more: Any = None

    @classmethod
    def of(cls, y: np.ndarray, weights: np.ndarray | None, more: Any = None) -> Self:
        """The survey of one part, of rows of positive weight."""
        Y = y.reshape(len(y), -1).astype(np.float64, copy=False)
        w = np.ones(len(y)) if weights is None else weights
        largest = float(np.abs(Y).max(initial=0))
        return cls(len(y), float(w.sum()), w @ Y, y.ndim == 1, largest, more)

    @property
    def means(self) -> np.ndarray:
        """Weighted means of the targets, (outputs,)."""
        return self.totals / self.weight

    def __add__(self, other: Survey) -> Survey:
        shapes = [(*part.totals.shape, part.flat) for part in (self, other)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"y has {len(self.totals)} targets in some parts and {len(other.totals)} in "
                "others, or other axes: give targets of one shape."
            )
        return Survey(
            self.rows + other.rows,
            self.weight + other.weight,
            self.totals + other.totals,
            self.flat,
            max(self.largest, other.largest),
            None if self.more is None else self.more + other.more,
        )


class FitsInParts(ABC):
    """Abstract: a learner whose rows may come in parts, which may lie in other processes."""

    @abstractmethod
    def part_fit(self) -> PartFit:
        """A fit to rows in parts, which may lie in other processes; see `mercer.distributed`."""


class PartFit(IncrementalFit):
    """A fit in parts, as ``learner.part_fit()`` makes it, which may lie in other processes.

    It can be pickled, and so sent to where the parts are. Call `survey` for each part and add the
    results, `begin` with the rows that `sample` names, `sums` for each part, and `finish` with what
    these add up to, by ``+``; if it returns None, then `sums` once more. Each of them takes raw
    samples, targets and weights > 0. A class of your own defines `empty` and `add` as well, by
    which `sums` and the fits to streams add rows.

    Notes
    -----
    All parts are read twice, and some rows once more. What `sums` returns depends on the learner:
    kernel ridge regression on m centres with features Φ returns ΦᵀWΦ and ΦᵀWy, O(m²) numbers after
    O(n m²) operations; an additive model returns a table for each column, and for pairs and classes
    the codes of the rows.

    Examples
    --------
    >>> from mercer import AdditiveRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    >>> parts = [(X[:150], X[:150, 0]), (X[150:], X[150:, 0])]
    >>> fit = AdditiveRegressor(pairs=0).part_fit()
    >>> survey = fit.survey(*parts[0]) + fit.survey(*parts[1])
    >>> rows = fit.sample(survey)
    >>> fit.begin(survey, X[rows], X[rows, 0])
    >>> model = fit.finish(fit.sums(*parts[0]) + fit.sums(*parts[1]))
    >>> whole = AdditiveRegressor(pairs=0).fit(X, X[:, 0])
    >>> bool(np.allclose(model.predict(X), whole.predict(X)))
    True
    """

    def surveys_samples(self, numbers: bool) -> bool:
        """Whether `survey` reads X, else it may be None; ``numbers``: X is an array of numbers."""
        return False

    @abstractmethod
    def survey(self, X: SamplesLike, y: Any, sample_weight: ArrayLike | None = None) -> Survey:
        """What is wanted of the rows of one part."""

    @abstractmethod
    def sample(self, survey: Survey) -> np.ndarray:
        """Ascending numbers (r,) of the rows that `begin` wants, among those of positive weight."""

    @abstractmethod
    def begin(
        self, survey: Survey, X: SamplesLike, y: Any, sample_weight: ArrayLike | None = None
    ) -> None:
        """Learn from the rows that `sample` named what sums are made by: bins, or centres."""

    def sums(self, X: SamplesLike, y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """The sums of one part."""
        total = self.empty()
        with blas_limit(self.width):
            self.add(total, X, y, sample_weight)
        return total


class ClassTotals:
    """The classes of rows that are read a few at a time, and the weight of each.

    ``a + b`` is that of both.

    Parameters
    ----------
    reader : str
        The learner, for errors.

    Examples
    --------
    >>> some, more = ClassTotals("SVC"), ClassTotals("SVC")
    >>> some.add(2, ["b", "a"])
    >>> more.add(1, ["b"], np.array([0.5]))
    >>> (some + more).classes().tolist(), (some + more).totals
    (['a', 'b'], {'a': 1.0, 'b': 1.5})
    """

    def __init__(self, reader: str):
        self.reader = reader
        self.totals: dict[Any, float] = {}

    def add(self, rows: int, y: Any, weights: np.ndarray | None = None) -> None:
        """Look at some rows, with one class for each."""
        y = check_targets(np.empty((rows, 0)), y, self.reader, numeric=False)
        y = column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y
        if y.ndim != 1:
            raise ValueError(f"y has shape {y.shape}: a fit in parts takes one class for each row.")
        check_labels(y)
        found, numbers = np.unique(y, return_inverse=True)
        for label, total in zip(found.tolist(), np.bincount(numbers, weights).tolist()):
            if total > 0:
                self.totals[label] = self.totals.get(label, 0.0) + total

    def __add__(self, other: ClassTotals) -> ClassTotals:
        both = ClassTotals(self.reader)
        for label in [*self.totals, *(each for each in other.totals if each not in self.totals)]:
            both.totals[label] = self.totals.get(label, 0.0) + other.totals.get(label, 0.0)
        return both

    def classes(self) -> np.ndarray:
        """The classes, in ascending order."""
        try:
            found = plain_targets(sorted(self.totals))
        except TypeError:
            raise ValueError(
                f"y has classes of different types, such as {list(self.totals)[:3]}: give numbers, "
                "or texts."
            ) from None
        check_labels(found)
        if len(found) < 2:
            raise ValueError(
                f"y has one class, {found.tolist()[0]!r}, among the rows of positive weight: a "
                "classifier needs at least two."
            )
        return found

    def factors(self, class_weight: dict | str | None) -> np.ndarray:
        """What the weights of the rows of each class are multiplied by."""
        classes = self.classes()
        totals = np.array([self.totals[label] for label in classes.tolist()])
        if class_weight is None:
            return np.ones(len(classes))
        return weigh_classes(class_weight, classes, totals) / totals
