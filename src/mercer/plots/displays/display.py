"""What displays have in common: how they read arrays, draw on axes, and ask a model."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, Self

import numpy as np

from mercer.samples import float_array

FARTHEST = 1e150  # squares of larger numbers are no floats


def drawable(name: str, values: Any, *dimensions: int, missing: bool = False) -> np.ndarray:
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


def square(name: str, K: Any) -> np.ndarray:
    """A square matrix that is `drawable`."""
    found = drawable(name, K, 2)
    if found.shape[0] != found.shape[1]:
        raise ValueError(f"{name} has the shape {found.shape}: give a square matrix.")
    return found


def _reads(*dimensions: int, missing: bool = False) -> dict[str, Any]:
    return {"read": lambda name, values: drawable(name, values, *dimensions, missing=missing)}


#: metadata of a field of a display: how its value is read and checked
VECTOR, MATRIX, SERIES, PARTLY_KNOWN = _reads(1), _reads(2), _reads(1, 2), _reads(1, missing=True)
SQUARE: dict[str, Any] = {"read": square}
ARRAY: dict[str, Any] = {"read": lambda _, values: np.asarray(values)}
FLOATS: dict[str, Any] = {"read": lambda _, values: np.asarray(values, np.float64)}


@dataclass(eq=False, repr=False)
class Display:
    """Abstract: computed arrays that ``plot`` draws. A display is a dataclass of such fields."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            left_out = value is None and each.default is None
            if "read" in each.metadata and not left_out:
                setattr(self, each.name, each.metadata["read"](each.name, value))

    def _draw_on(self, ax: Any, **options: Any) -> Any:
        """Keep the axes and their figure; None makes new ones by ``plt.subplots(**options)``."""
        import matplotlib.pyplot as plt

        self.ax_ = plt.subplots(**options)[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


@dataclass(eq=False, repr=False)
class ColumnLosses(Display):
    """Abstract: what a model loses without each column, the largest loss first, as bars."""

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

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a bar for each column, the largest loss on top. ``kwargs`` go to ``ax.barh``."""
        self._draw_on(ax)
        at = np.arange(len(self.columns))[::-1]
        whiskers = np.nan_to_num(np.stack([self.loss - self.low, self.high - self.loss]))
        self.bars_ = self.ax_.barh(at, self.loss, xerr=whiskers, **kwargs)
        self.ax_.set_yticks(at, [str(name) for name in self.columns])
        self.ax_.set_xlabel(f"{self.measure} lost without the column")
        return self


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
