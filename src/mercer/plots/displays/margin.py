"""Draw the distribution of functional margins: how far rows are on the right side."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, InitVar, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from mercer.plots.displays.display import ARRAY, VECTOR, Display, display, drawable, one_for_each
from mercer.plots.fitted import kernel_machine
from mercer.plots.marks import class_codes, colour, legend_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike


BIN_WIDTHS = (0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


@display
class MarginDisplay(Display):
    r"""Histogram of the functional margins of rows, for each class.

    The functional margin of row i is

    .. math:: m_i = y_i f(x_i), \qquad y_i = \pm 1 .

    The row is an error if it is negative, inside the margin if it is below 1, and else on the
    margin or beyond it. A row adds :math:`C \max(0, 1 - m_i)` to the loss of a support vector
    machine, so that only rows with :math:`m_i \le 1` are support vectors. For more than two classes
    it is the margin of the true class over the best other class: for an `SVC` the smallest margin
    of its one-against-one machines, for other classifiers the difference of two values of
    ``decision_function``.

    Parameters
    ----------
    margins : array-like of shape (n,)
        Functional margins.
    codes : array-like of shape (n,)
        The position of each row's class in ``classes``.
    classes : sequence
        The classes, in order.
    width : float or array-like of shape (machines,), optional
        Geometric margin :math:`1 / \|w\|` of each machine.
    tolerance : float, default=1e-3
        A margin that differs from 1 by at most this counts as 1; use the solver's ``tol``.

    Attributes
    ----------
    errors, inside, beyond : int
        Number of rows with m < 0, with 0 <= m < 1, and with m >= 1.
    edges : ndarray of shape (bins + 1,)
        Edges of the bars; 0 is one of them, and 1 too if bars are at most 1 wide. The first and
        the last bar also count rows far outside, with abs(m) above 6 times its median.
    counts : ndarray of shape (classes, bins)
        Number of rows of each class in each bar.

    Notes
    -----
    Margins of training rows are too optimistic. For held-out rows, pass the values of
    ``cross_val_predict(..., method="decision_function")`` to `from_values`.

    References
    ----------
    Cristianini & Shawe-Taylor, "An Introduction to Support Vector Machines", 2000.

    Examples
    --------
    >>> display = MarginDisplay.from_values([-2.0, 0.5, 0.3, 1.0], ["a", "a", "b", "b"])
    >>> display.margins
    array([ 2. , -0.5,  0.3,  1. ])
    >>> display.words
    '1 error, 1 inside the margin, 2 on it or beyond'
    """

    margins: Any = field(metadata=VECTOR)
    codes: Any = field(metadata=ARRAY | one_for_each("margins"))
    classes: Sequence
    _: KW_ONLY
    width: Any = None
    tolerance: InitVar[float] = 1e-3

    def __post_init__(self, tolerance: float) -> None:
        super().__post_init__()
        self.classes = list(self.classes)
        m = np.where(np.abs(self.margins - 1) <= tolerance, 1.0, self.margins)
        self.errors = int((m < 0).sum())
        self.beyond = int((m >= 1).sum())
        self.inside = len(m) - self.errors - self.beyond
        self.edges = _edges(m)
        shown = np.clip(m, self.edges[0], self.edges[-1])
        self.counts = np.array(
            [np.histogram(shown[self.codes == c], self.edges)[0] for c in range(len(self.classes))]
        )

    @classmethod
    def from_values(
        cls,
        values: ArrayLike,
        y: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        width: ArrayLike | None = None,
    ) -> MarginDisplay:
        """Compute margins from decision values, without drawing.

        Parameters
        ----------
        values : array-like of shape (n,) or (n, classes)
            Two classes: positive for the second class. More classes: the class with the largest
            value is the prediction.
        y : array-like of shape (n,)
            True classes.
        classes : array-like, optional
            All classes in ascending order; None means the classes in y.
        width : float or array-like of shape (machines,), optional
            Geometric margin of each machine.
        """
        values, y = drawable("values", values, 1, 2), np.asarray(y)
        classes = np.unique(y) if classes is None else np.asarray(classes)
        k = len(classes)
        wanted = (len(y),) if k == 2 else (len(y), k)
        if values.shape != wanted:
            raise ValueError(
                f"values has shape {values.shape}: for {len(y)} rows of {k} classes give {wanted}."
            )
        codes = class_codes(y, classes)
        if k == 2:
            margins = np.where(codes == 1, values, -values)
        else:
            rows = np.arange(len(y))
            others = values.copy()
            others[rows, codes] = -np.inf
            margins = values[rows, codes] - others.max(axis=1)
        return cls(margins, codes, classes.tolist(), width=width)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, ax: Axes | None = None
    ) -> MarginDisplay:
        """Draw the margins of a fitted classifier on rows X of classes y.

        Parameters
        ----------
        estimator : fitted classifier
            A classifier with ``decision_function``, a pipeline that ends in one, or a search.
        X : data in the form that the estimator predicts for
        y : array-like of shape (n,)
            True classes.
        ax : matplotlib axes, optional

        Raises
        ------
        TypeError
            The estimator is not a classifier, or has no ``decision_function``.
        ValueError
            y is missing, does not match X, or has a class that the estimator does not know.
        """
        check_is_fitted(estimator)
        if not (is_classifier(estimator) and hasattr(estimator, "decision_function")):
            raise TypeError(
                f"{type(estimator).__name__} has no margins: give a classifier with "
                "decision_function, such as SVC."
            )
        if y is None:
            raise ValueError("y is missing: give the true class of each row.")
        classes, machine = np.asarray(estimator.classes_), _machine(estimator)
        width = getattr(machine, "margin_", None)
        if len(classes) > 2 and hasattr(machine, "decision_function_shape"):
            codes = class_codes(y, classes)
            margins = _least_of_pairs(_pair_values(estimator, X), codes, len(classes))
            return cls(margins, codes, classes.tolist(), width=width).plot(ax)
        values = np.asarray(estimator.decision_function(X))
        if len(classes) == 2:
            values = values.ravel()
        return cls.from_values(values, y, classes=classes, width=width).plot(ax)

    @property
    def words(self) -> str:
        """The counts in words."""
        if len(self.classes) > 2:
            wrong = "behind another class"
        else:
            wrong = "error" if self.errors == 1 else "errors"
        return (
            f"{self.errors} {wrong}, {self.inside} inside the margin, {self.beyond} on it or beyond"
        )

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> MarginDisplay:
        """Draw ``bars_``, stacked by class, with lines at 0 and 1. ``kwargs`` go to ``ax.bar``."""
        from matplotlib.lines import Line2D
        from matplotlib.ticker import MaxNLocator

        ax = self._draw_on(ax)
        self.bars_ = []
        base = np.zeros(self.counts.shape[1])
        for code, height in enumerate(self.counts):
            look = {"color": [colour(code)], "edgecolor": ax.get_facecolor(), "linewidth": 0.5,
                    "label": str(self.classes[code])}  # fmt: skip
            self.bars_.append(
                ax.bar(self.edges[:-1], height, np.diff(self.edges), base, align="edge",
                       **{**look, **kwargs})
            )  # fmt: skip
            base = base + height
        ink = ax.xaxis.label.get_color()  # legible on this figure's background
        lines = [("0: decision line", 0, "-", 1.8), ("1: margin", 1, "--", 1.3)]
        for _, at, style, weight in lines:
            ax.axvline(at, color=ink, ls=style, lw=weight)
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_title(
            "\n".join([self.words, *self._width_in_words()]), loc="left", fontsize="medium"
        )
        several = len(self.classes) > 2
        ax.set_xlabel(
            "Margin of the true class over the best other" if several else "Margin y f(x)"
        )
        ax.set_ylabel("Rows")
        marks = [Line2D([], [], color=ink, ls=ls, lw=lw, label=text) for text, _, ls, lw in lines]
        legend_below(ax, [*self.bars_, *marks])
        return self

    def _width_in_words(self) -> list[str]:
        """A line on the geometric margin; none where it is not known."""
        if self.width is None:
            return []
        low, high = float(np.min(self.width)), float(np.max(self.width))
        if low == high:
            return [f"geometric margin 1/‖w‖ = {low:.3g}"]
        return [f"geometric margins 1/‖w‖ from {low:.3g} to {high:.3g}"]


def _machine(estimator: BaseEstimator) -> Any:
    """The kernel learner inside, or the estimator itself."""
    try:
        return kernel_machine(estimator)[1]
    except TypeError:
        return estimator


def _pair_values(estimator: Any, X: Any) -> np.ndarray:
    """f of the machine of each pair of classes, (n, pairs), also if the user chose "ovr"."""
    copied = deepcopy(estimator)
    _machine(copied).decision_function_shape = "ovo"
    return np.asarray(copied.decision_function(X), dtype=np.float64)


def _least_of_pairs(values: np.ndarray, codes: np.ndarray, k: int) -> np.ndarray:
    """The smallest margin of the true class against another class, (n,)."""
    margins = np.full(len(codes), np.inf)
    for column, (first, second) in enumerate(combinations(range(k), 2)):
        f = values[:, column]  # positive for the first class
        own = np.where(codes == first, f, np.where(codes == second, -f, np.inf))
        margins = np.minimum(margins, own)
    return margins


def _edges(m: np.ndarray) -> np.ndarray:
    """Edges of about 2√n bars of equal width, with 0 and 1 in their range."""
    reach = 6 * float(np.median(np.abs(m))) or 1.0
    low = min(0.0, max(float(m.min()), -reach))
    high = max(1.0, min(float(m.max()), reach))
    most = np.clip(2 * np.sqrt(len(m)), 8, 40)
    width = next((w for w in BIN_WIDTHS if high - low <= most * w), (high - low) / most)
    return width * np.arange(np.floor(low / width), np.floor(high / width) + 2)
