"""What displays have in common: how they read arrays, draw on axes, and ask a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast, dataclass_transform

import numpy as np

from mercer.estimator import documented
from mercer.plots.marks import bars_size, named_bars
from mercer.samples import float_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

_C = TypeVar("_C", bound=type)

FARTHEST = 1e150  # squares of larger numbers are no floats


def drawable(name: str, values: ArrayLike, *dimensions: int, missing: bool = False) -> np.ndarray:
    """``values`` as float64 of one of these dimensions, at least one, all of them finite.

    ``missing`` says that NaN may stand for what is not known.
    """
    found = float_array(name, values)
    if found.ndim not in dimensions or not found.size:
        shapes = " or ".join({1: "(n,)", 2: "(n, m)"}[k] for k in dimensions)
        raise ValueError(f"{name} has the shape {found.shape}: give numbers of shape {shapes}.")
    bad = ~(np.abs(found) <= FARTHEST) & ~(missing & np.isnan(found))
    if bad.any():
        raise ValueError(f"{name} holds {found[bad][0]:g}: give finite numbers up to {FARTHEST:g}.")
    return found


def square(name: str, K: ArrayLike) -> np.ndarray:
    """A square matrix that is `drawable`."""
    found = drawable(name, K, 2)
    if found.shape[0] != found.shape[1]:
        raise ValueError(f"{name} has the shape {found.shape}: give a square matrix.")
    return found


def _plane(name: str, values: ArrayLike) -> np.ndarray:
    found = drawable(name, values, 2)
    if found.shape[1] != 2:
        raise ValueError(f"{name} has the shape {found.shape}: give two columns.")
    return found


def _reads(*dimensions: int, missing: bool = False) -> dict[str, Any]:
    return {"read": lambda name, values: drawable(name, values, *dimensions, missing=missing)}


#: metadata of a field of a display: how its value is read and checked
VECTOR, MATRIX, SERIES, PARTLY_KNOWN = _reads(1), _reads(2), _reads(1, 2), _reads(1, missing=True)
SQUARE: dict[str, Any] = {"read": square}
PLANE: dict[str, Any] = {"read": _plane}
ARRAY: dict[str, Any] = {"read": lambda _, values: np.asarray(values)}
FLOATS: dict[str, Any] = {"read": lambda _, values: np.asarray(values, np.float64)}
NAMES: dict[str, Any] = {"read": lambda _, values: [str(value) for value in values]}


def one_for_each(other: str) -> dict[str, str]:
    """Further metadata: the value has one entry for each of another field before it."""
    return {"each": other}


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def display(cls: _C) -> _C:
    """Class decorator: a dataclass of arrays to draw, with the attributes of its parents in its
    docstring."""
    return documented(dataclass(eq=False, repr=False)(cls))


class _Arrays:
    """Abstract: a dataclass of computed arrays, which the metadata of its fields check."""

    def __post_init__(self) -> None:
        for each in fields(cast(Any, self)):
            value = getattr(self, each.name)
            if "read" not in each.metadata or (value is None and each.default is None):
                continue
            found = each.metadata["read"](each.name, value)
            if "each" in each.metadata:
                other = each.metadata["each"]
                n = len(getattr(self, other))
                if np.shape(found)[:1] != (n,):
                    raise ValueError(
                        f"{each.name} has the shape {np.shape(found)}: give one for each of the "
                        f"{n} {other}."
                    )
            setattr(self, each.name, found)


class Display(_Arrays):
    """Abstract: computed arrays that ``plot`` draws. A display is a dataclass of such fields.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        What `plot` drew on; it names what else it keeps.
    """

    def _draw_on(self, ax: Axes | None, **options: Any) -> Axes:
        """Keep the axes and their figure; None makes new ones by ``plt.subplots(**options)``."""
        import matplotlib.pyplot as plt

        self.ax_ = plt.subplots(**{"layout": "constrained", **options})[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


class Panels(_Arrays):
    """Abstract: computed arrays that ``plot`` draws in several axes.

    Attributes
    ----------
    axes_, figure_ : array of matplotlib axes, and their figure
        What `plot` drew on.
    """

    def _draw_in(
        self,
        axes: Any,
        count: int,
        across: int,
        inches: tuple[float, float],
        **options: Any,
    ) -> Any:
        """Keep the axes and their figure, without frames where there are more than ``count``; None
        makes new ones, of which each is so large."""
        import matplotlib.pyplot as plt

        if axes is None:
            across = max(1, min(count, across))
            down = max(1, -(-count // across))
            size = (across * inches[0], down * inches[1])
            options = {"figsize": size, "squeeze": False, "layout": "constrained"} | options
            axes = plt.subplots(down, across, **options)[1]
        self.axes_ = np.ravel(axes)
        self.figure_ = self.axes_[0].figure
        for ax in self.axes_[count:]:
            ax.set_axis_off()
        return self.axes_[:count]


class MeasuredDisplay(Display):
    """Abstract: a display that the class method `measured` makes of a model and data."""

    measured: ClassVar[Callable[..., Any]]

    @classmethod
    def from_estimator(
        cls, estimator: Any, *data: Any, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Measure and draw. All arguments but ``ax`` are passed to `measured`."""
        return cls.measured(estimator, *data, **kwargs).plot(ax)


@dataclass(eq=False, repr=False)
class ColumnLosses(MeasuredDisplay):
    """Abstract: what a model loses without each column, the largest loss first, as bars.

    Parameters
    ----------
    columns : list
        Names or numbers of columns.
    measure : str
        Name of the score.
    n_columns : int
        Number of all columns, if only some were measured.
    """

    columns: list
    loss: Any
    low: Any
    high: Any
    _: KW_ONLY
    full: float
    measure: str
    n_test: int
    n_columns: int | None = None

    def __post_init__(self) -> None:
        order = np.argsort(-np.asarray(self.loss), kind="stable")
        self.n_columns = len(self.columns) if self.n_columns is None else self.n_columns
        self.columns = [self.columns[j] for j in order]
        self.loss, self.low, self.high = (
            np.asarray(values)[order] for values in (self.loss, self.low, self.high)
        )

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw ``bars_``, the largest loss on top. ``kwargs`` go to ``ax.barh``."""
        ax = self._draw_on(ax, figsize=bars_size(len(self.columns)))
        whiskers = np.nan_to_num(np.stack([self.loss - self.low, self.high - self.loss]))
        self.bars_ = named_bars(ax, self.columns, self.loss, whiskers, **kwargs)
        ax.set_xlabel(f"{self.measure} lost without the column")
        return self


class PartLosses(Display):
    """Abstract: what the answer of a model loses without each part of one sample."""

    loss: Any
    answer: str
    full: float

    def _colours(self, reach: float = 1.0) -> dict[str, Any]:
        """Options of ``ax.scatter``: blue to red, ``reach`` times the largest loss at the ends."""
        most = reach * (float(np.abs(self.loss).max(initial=0)) or 1.0)
        return {"c": self.loss, "cmap": "coolwarm", "vmin": -most, "vmax": most}

    def _draw_answer(self, image: Any) -> None:
        """Draw the colour bar, and the answer as the title."""
        self.figure_.colorbar(image, ax=self.ax_, label=f"Loss of {self.answer}")
        self.ax_.set_title(f"{self.answer} = {self.full:.3g}")


def answers(model: Any, rows: list, of: Any) -> tuple[np.ndarray, str]:
    """One number for each sample, and what it is: the probability of a class, if the model has
    probabilities, else its value of the decision function; of a regressor the prediction. ``of`` is
    the class; None means the one that is predicted for the first sample."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        if of is not None:
            raise ValueError(f"of={of!r}: {type(model).__name__} has no classes; leave it out.")
        return np.asarray(model.predict(rows), np.float64), "prediction"
    wanted = model.predict(rows[:1])[0] if of is None else of
    places = np.flatnonzero(np.asarray(classes) == wanted)
    if len(places) != 1:
        raise ValueError(f"of={of!r}: give one of the classes {np.asarray(classes).tolist()}.")
    if callable(getattr(model, "predict_proba", None)):
        return np.asarray(model.predict_proba(rows))[:, places[0]], f"P({wanted})"
    values = np.asarray(model.decision_function(rows), np.float64)
    if values.ndim == 1:  # of two classes, positive for the second
        values = np.stack([-values, values], axis=1)
    if values.shape[1] != len(classes):
        raise ValueError(
            f"{type(model).__name__} has a value for each pair of classes, and none for a class: "
            "give a model with predict_proba."
        )
    return values[:, places[0]], f"value of {str(wanted)!r}"
