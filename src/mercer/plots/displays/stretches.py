"""Draw which stretch of a time series speaks for an answer of a model."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.plots.displays.display import SERIES, VECTOR, PartLosses, answers, display, one_for_each
from mercer.samples import as_samples

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STARTS = 4  # windows that begin within the length of one


@display
class StretchDisplay(PartLosses):
    r"""Which stretches of one time series an answer rests on: what the answer loses where a stretch
    is made straight.

    A window moves along the series. In it, the points are replaced by the straight line between the
    points beside it, and the model answers again. The loss of a point is the mean of what the
    answer loses over the windows with this point. The model itself is asked, whatever it is, and
    nothing is fitted.

    Parameters
    ----------
    series : array-like of shape (T,) or (T, d)
    loss : array-like of shape (T,)
        What the answer loses: positive where the point speaks for it, negative where against it.
    answer : str
        What the answer is, such as ``"P(fast)"``.
    full : float
        The answer for the series as it is.

    Notes
    -----
    Two stretches that say the same have little loss each, since either is enough. A straight line
    is something that a model may take for a sign too: look at several widths.

    Examples
    --------
    A bump in the middle is what tells these series apart:

    >>> from mercer import SVC
    >>> from mercer.kernels import GlobalAlignment
    >>> flat, bump = np.zeros(40), np.exp(-((np.arange(40) - 20) ** 2) / 8)
    >>> X = [flat + 0.01 * i for i in range(5)] + [bump + 0.01 * i for i in range(5)]
    >>> model = SVC(kernel=GlobalAlignment(1.0)).fit(X, ["flat"] * 5 + ["bump"] * 5)
    >>> loss, full, answer = StretchDisplay.losses(model, bump)
    >>> answer, bool(10 < np.argmax(loss) < 30), bool(abs(loss[:5]).max() < loss.max() / 10)
    ("value of 'bump'", True, True)
    """

    series: Any = field(metadata=SERIES)
    loss: Any = field(metadata=VECTOR | one_for_each("series"))
    answer: str
    full: float

    def __post_init__(self) -> None:
        super().__post_init__()
        self.series = self.series.reshape(len(self.series), -1)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        series: Any,
        *,
        width: float = 0.1,
        of: Any = None,
        ax: Axes | None = None,
    ) -> StretchDisplay:
        """Straighten the windows of one series, and draw what the answer of a model loses.

        Parameters
        ----------
        estimator : fitted estimator that reads a list of series
        series : array-like of shape (T,) or (T, d)
        width : float, default=0.1
            The length of a window, as a part of the series; at least one point.
        of : label, optional
            The class whose answer it is. None means the predicted one.
        """
        loss, full, answer = cls.losses(estimator, series, width=width, of=of)
        return cls(series, loss, answer, full).plot(ax)

    @staticmethod
    def losses(
        estimator: Any, series: Any, *, width: float = 0.1, of: Any = None
    ) -> tuple[np.ndarray, float, str]:
        """The loss of each point (T,), the answer for the whole series, and what it is.

        The answer is the probability of a class, if the model has probabilities, else its value of
        the decision function; of a regressor it is the prediction. Parameters are those of
        `from_estimator`.
        """
        if not 0 < width < 1:
            raise ValueError(f"width={width!r}: give a part of the series, between 0 and 1.")
        x = as_samples([series], "series", reader="StretchDisplay").values
        size = max(1, round(width * len(x)))
        step = max(1, size // STARTS)
        starts = np.unique([*range(0, len(x) - size + 1, step), max(len(x) - size, 0)])
        windows = [_straightened(x, s, s + size) for s in starts]
        values, answer = answers(estimator, [x, *windows], of)
        total, times = np.zeros(len(x)), np.zeros(len(x))
        for s, value in zip(starts, values[1:]):
            total[s : s + size] += values[0] - value
            times[s : s + size] += 1
        return total / times, float(values[0]), answer

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> StretchDisplay:
        """Draw the series, ``image_`` in colours of the losses. ``kwargs`` go to ``ax.scatter``."""
        ax, t = self._draw_on(ax), np.arange(len(self.series))
        options: dict[str, Any] = self._colours() | {"s": 14, "zorder": 2} | kwargs
        for channel in self.series.T:
            ax.plot(t, channel, color="0.7", linewidth=0.8, zorder=1)
            self.image_ = ax.scatter(t, channel, **options)
        self._draw_answer(self.image_)
        ax.set_xlabel("Time")
        return self


def _straightened(x: np.ndarray, start: int, end: int) -> np.ndarray:
    """The series with a straight line between the points before and after a window."""
    before, after = x[max(start - 1, 0)], x[min(end, len(x) - 1)]
    before = after if start == 0 else before
    after = before if end == len(x) else after
    share = (np.arange(1, end - start + 1) / (end - start + 1))[:, None]
    found = x.copy()
    found[start:end] = before + share * (after - before)
    return found
