"""Partial dependence: how the predictions of a model change with the value of one column."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from mercer.estimator import Seed
from mercer.plots.displays.display import Panels, display
from mercer.plots.fitted import EncodedModelRows, ModelRows, row_count, rows_of, sample_rows, take
from mercer.plots.marks import colour
from mercer.tables import ColumnKind, as_dates, column_kind, date_parts, missing_values
from mercer.threads import Clock, blas_threads

if TYPE_CHECKING:
    from collections.abc import Hashable

    from mercer.samples import SamplesLike

DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
DATE_PARTS = 2  # parts of a date that are shown: those that change the predictions most
LETTERS = 24  # of all names of levels that stand side by side below a panel
LEVELS = 12  # most values of a column that is not numeric
FLAT = 0.1  # share of the predictions' standard deviation below which nothing changes
AT_ONCE = 2**23  # numbers of the rows that are predicted in one call
CLEAR = 0.7  # a curve rises if its end is above its beginning by this part of its range
OUTER = 0.02  # the grid of numbers is between this quantile and the opposite one


@dataclass(frozen=True)
class Dependence:
    """The partial dependence of the predictions on one column.

    Attributes
    ----------
    column : str or int
    answer : str
        The class whose probability is shown; "" for the predicted number.
    kind : {"number", "date", "category"}
        Numbers and dates have a curve, everything else has levels.
    values : list
        Values of the column in ascending order, or levels, the most frequent one first.
    mean, low, high : ndarray of shape (values,)
        The mean prediction at each value, and the range of the middle 80% of the rows.
    direction : str
        "rises", "falls", "rises and falls" or "hardly changes"; of levels the highest and lowest.
    """

    column: Any
    answer: str
    kind: str
    values: list
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    direction: str

    @property
    def of(self) -> ColumnKind:
        """The kind, as an object."""
        return column_kind(self.kind)

    @property
    def span(self) -> float:
        """The largest mean prediction less the smallest."""
        return float(np.ptp(self.mean))


@display
class PartialDependenceDisplay(Panels):
    r"""The mean prediction for rows whose value in one column is replaced by each of its values.

    .. math:: \bar f(v) = \frac1n \sum_i f(x_i \text{ with value } v \text{ in the column}).

    For classes f is the probability of a class: of the second of two, else of the class whose
    probability changes most. The rows of an automatic estimator are encoded only once.

    Parameters
    ----------
    dependences : list of Dependence
        One for each column. Of a date that an automatic estimator reads in parts, such as the hour
        and the day of the week, there are the two parts that change the predictions most: whole
        dates would mix all of them.

    Notes
    -----
    The mean is over rows as they are, so it also asks the model about combinations of values that
    may never occur. The range of the middle 80% of the rows shows how much the other columns
    matter: if it is wide and its edges do not follow the mean, the column acts together with them.
    Cost: predictions for ``grid`` times ``max_samples`` rows for each column.

    References
    ----------
    Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics
    2001, section 8.2.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import mercer
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = mercer.KernelRegressor(trials=1).fit(X, y)
    >>> found = PartialDependenceDisplay.measured(model, X, ["bmi", "s3"]).dependences
    >>> [(each.column, each.direction) for each in found]
    [('bmi', 'rises'), ('s3', 'falls')]
    """

    dependences: list[Dependence]

    @classmethod
    def measured(
        cls,
        estimator: BaseEstimator,
        X: SamplesLike,
        columns: list | None = None,
        *,
        grid: int = 20,
        max_samples: int = 200,
        time: float | None = None,
        random_state: Seed = 0,
    ) -> PartialDependenceDisplay:
        """Predict on a grid, without drawing.

        Parameters
        ----------
        estimator : fitted estimator
            An automatic estimator, a learner, a pipeline or a search.
        X : array or data frame of rows that the predictions are averaged over
            At most ``max_samples`` random rows are averaged over; the grid has values of all rows.
        columns : list, optional
            Names or numbers of columns; None takes the first six.
        grid : int
            Number of values of a column of numbers.
        time : float, optional
            About how many seconds this may take: the last columns are left out.
        """
        estimator = getattr(estimator, "best_estimator_", estimator)
        clock = Clock(time)
        X = take(X, sample_rows(row_count(X), 2000, random_state))
        rows = rows_of(estimator, X)
        some = rows[sample_rows(len(rows), max_samples, random_state)]
        names = list(rows.kinds)[:6] if columns is None else list(columns)
        unknown = [name for name in names if name not in rows.kinds]
        if unknown:
            raise ValueError(
                f"columns={columns!r}: {unknown[0]!r} is not a column that the estimator uses; it "
                f"uses {list(rows.kinds)[:20]}."
            )
        found = []
        with blas_threads(1):
            spread = float(_answers(estimator, some.data).std(axis=0).max())
            for name in names:
                if found and not clock.left():
                    break
                kind = rows.kind(name)
                date = kind is not None and kind.in_time
                if (
                    date
                    and isinstance(rows, EncodedModelRows)
                    and isinstance(some, EncodedModelRows)
                ):
                    found += _date_dependences(estimator, rows, some, name, grid, spread)
                    continue
                each = _dependence(estimator, rows, some, name, grid, spread)
                found += [] if each is None else [each]
        return cls(found)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: SamplesLike,
        columns: list | None = None,
        *,
        axes: np.ndarray | None = None,
        **kwargs: Any,
    ) -> PartialDependenceDisplay:
        """Predict on a grid and draw. ``kwargs`` are passed to `measured`."""
        return cls.measured(estimator, X, columns, **kwargs).plot(axes)

    def plot(self, axes: np.ndarray | None = None, **kwargs: Any) -> PartialDependenceDisplay:
        """Draw each column in its own axes. ``kwargs`` are passed to ``ax.plot``."""
        panels = self._draw_in(axes, len(self.dependences), 3, (3.2, 2.6))
        for ax, each in zip(panels, self.dependences):
            kwargs = {"color": colour(1), **kwargs}
            if each.of.levelled:
                at = np.arange(len(each.values))
                bars = [each.mean - each.low, each.high - each.mean]
                ax.errorbar(at, each.mean, np.maximum(bars, 0), fmt="o", **kwargs)
                turned = sum(map(len, each.values)) > LETTERS
                look = {"rotation": 30, "ha": "right"} if turned else {}
                ax.set_xticks(at, each.values, **look)
            else:
                band = {"alpha": 0.2, "lw": 0, "color": kwargs["color"]}
                ax.fill_between(each.values, each.low, each.high, **band)
                ax.plot(each.values, each.mean, **kwargs)
                ax.tick_params(axis="x", rotation=30 if each.of.in_time else 0)
            ax.set(xlabel=str(each.column))
            ax.set_ylabel(f"P({each.answer})" if each.answer else "Prediction")
        return self


def _answers(model: Any, data: Any) -> np.ndarray:
    """Predicted numbers (n, 1), or probabilities (n, classes), which may be 0 and 1."""
    automatic = hasattr(model, "encoder_")
    if automatic or not is_classifier(model):
        found = model.machine_(data) if automatic else np.asarray(model.predict(data), np.float64)
        if found.shape[1:] > (1,) and not is_classifier(model):
            targets = model.targets_ if automatic else list(range(found.shape[1]))
            one = "give model.of_target(name)" if automatic else "fit it with one column of y"
            raise ValueError(
                f"{type(model).__name__} has the targets {targets}, but a dependence is of one: "
                f"{one}."
            )
        return found.reshape(len(found), -1)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(data))
    return (np.asarray(model.predict(data))[:, None] == model.classes_).astype(float)


def _dependence(
    model: BaseEstimator, rows: ModelRows, some: ModelRows, name: Hashable, grid: int, spread: float
) -> Dependence | None:
    """None if the column has fewer than two values that are not missing."""
    kind, values, holders = _grid(rows, name, grid)
    if len(holders) < 2:
        return None
    if isinstance(some, EncodedModelRows):
        answers = _all_answers(model, rows, some, name, holders)
    else:
        answers = np.stack([_answers(model, some.held(name, rows, row)) for row in holders])
    return _described(model, name, kind, values, answers, spread)


def _all_answers(
    model: BaseEstimator,
    rows: ModelRows,
    some: ModelRows,
    name: Hashable,
    holders: np.ndarray,
    label: str | None = None,
) -> np.ndarray:
    """The answers at all values, (values, n, answers); with a label, of a part.

    One call has as many values as some memory holds: of a wide table few.
    """
    n, found = len(some), []
    step = max(1, AT_ONCE // some.data.numbers.size)
    for start in range(0, len(holders), step):
        own = holders[start : start + step]
        every: Any = some[np.tile(np.arange(n), len(own))]
        changed = every.with_cells(name, rows, np.repeat(own, n), label)
        found.append(_answers(model, changed).reshape(len(own), n, -1))
    return np.concatenate(found)


def _date_dependences(
    model: BaseEstimator,
    rows: EncodedModelRows,
    some: EncodedModelRows,
    name: Hashable,
    grid: int,
    spread: float,
) -> list[Dependence]:
    """The parts of a date that the model reads and that change the predictions most."""
    dates = as_dates(rows.cells(name))
    known = np.flatnonzero(~np.isnat(dates))
    read = {rows.features[j].label for j in rows.parts.get(name, [])}
    found = []
    for part, numbers in date_parts(dates[known]).items():
        label = f"{name}: {part}"
        values, first = np.unique(numbers, return_index=True)
        if label not in read or len(values) < 2:
            continue
        if len(values) > max(grid, 24):  # all hours are shown
            spaced = np.searchsorted(values, np.linspace(values[0], values[-1], grid))
            keep = np.unique(spaced.clip(max=len(values) - 1))
            values, first = values[keep], first[keep]
        holders = known[first]
        answers = _all_answers(model, rows, some, name, holders, label)
        kind, shown = "number", values.tolist()
        if part == "elapsed days":
            kind, shown, label = "date", list(dates[holders]), str(name)
        elif part == "day of week":
            kind, shown = "category", [DAYS[int(day)] for day in values]
        found.append(_described(model, label, kind, shown, answers, spread))
    return sorted(found, key=lambda each: -each.span)[:DATE_PARTS]


def _described(
    model: Any,
    name: Hashable,
    kind: str,
    values: list,
    answers: np.ndarray,
    spread: float,
) -> Dependence:
    """The dependence that the answers at some values show."""
    means = answers.mean(axis=1)
    shown = 1 if means.shape[1] == 2 else int(np.ptp(means, axis=0).argmax())
    low, high = np.quantile(answers[:, :, shown], [0.1, 0.9], axis=1)
    mean = means[:, shown]
    answer = str(model.classes_[shown]) if is_classifier(model) else ""
    flat = np.ptp(mean) <= FLAT * spread
    said = "hardly changes" if flat else direction(column_kind(kind), values, mean)
    return Dependence(name, answer, kind, values, mean, low, high, said)


def _grid(rows: ModelRows, name: Any, grid: int) -> tuple[str, list, np.ndarray]:
    """The kind of a column, values of it, and a row that has each of them."""
    cells, kind = rows.cells(name), rows.kind(name)
    if kind is not None and kind.ordered:
        order = kind.read(cells)
        known = np.flatnonzero(np.isfinite(order))
        known = known[np.argsort(order[known], kind="stable")]
        values = order[known]
        distinct = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        if len(distinct) > grid:  # evenly between the outer quantiles, so that a curve is smooth
            numbers = values.astype(np.int64 if kind.in_time else np.float64).astype(float)
            low, high = np.quantile(numbers, [OUTER, 1 - OUTER]) / 2  # halves do not overflow
            wanted = 2 * np.linspace(low, high, grid)
            places = np.searchsorted(numbers, wanted).clip(max=len(numbers) - 1)
            distinct = np.unique(places)
            distinct = distinct[np.concatenate([[True], np.diff(numbers[distinct]) > 0])]
        found = known[distinct] if len(known) else known
        shown = order[found]
        return kind.name, shown.tolist() if kind.numeric else list(shown), found
    present = np.flatnonzero(~missing_values(cells))
    texts = [str(value) for value in cells[present].tolist()]
    frequent = [text for text, _ in Counter(texts).most_common(LEVELS)]
    return "category", frequent, present[[texts.index(text) for text in frequent]]


def direction(kind: ColumnKind, values: list, mean: np.ndarray) -> str:
    """How the mean changes with the values, in words."""
    if kind.levelled:
        return f"highest for {values[int(mean.argmax())]}, lowest for {values[int(mean.argmin())]}"
    net = (mean[-1] - mean[0]) / np.ptp(mean)
    if abs(net) < CLEAR:
        return "rises and falls"
    return "rises" if net > 0 else "falls"
