"""Draw which places of a sequence or a series matter to a model.

`SequenceDisplay` has letters as high as what they add to an output, and what variants change;
`StretchDisplay` the stretch of a time series that speaks for an answer.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.explain import LetterValues, VariantScores, letters, variants
from mercer.plots.displays.display import (
    NAMES,
    SERIES,
    VECTOR,
    Panels,
    PartLosses,
    answers,
    display,
    drawable,
    one_for_each,
)
from mercer.plots.marks import COLOURS, colour, diverging
from mercer.samples import SamplesLike, as_samples

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator


SHOWN = 120  # letters of one sequence that are drawn
#: of nucleotides; other letters have the colours in turn
BASES = {"A": "#009e73", "C": "#0072b2", "G": "#e69f00", "T": "#d55e00", "U": "#d55e00"}


@display
class SequenceDisplay(Panels):
    """Letters of sequences, as high as what they add to the output of a model, and below them what
    the output changes by if another letter stands there.

    Parameters
    ----------
    sequences : list of str
    values : list of array-like of shape (letters,)
        What each letter adds; letters that speak against the output hang below the line.
    changes : VariantScores, optional
        Variants of these sequences. Those of single letters are a map of colours, others bars.
    names : list of str, optional
        Titles of the sequences.
    output : str, default="the output"
        What is explained.
    number : int, default=0
        The output, of several.

    Notes
    -----
    Of a longer sequence the 120 letters are drawn that have the largest values together.

    Examples
    --------
    >>> SequenceDisplay(["GATTACA"], [[0, 1, 2, 2, 1, 0, 0]]).stretch(0)
    (0, 7)
    """

    sequences: list[str] = field(metadata=NAMES)
    values: Any
    changes: VariantScores | None = None
    _: KW_ONLY
    names: Any = field(default=None, metadata=NAMES)
    output: str = "the output"
    number: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.values = [np.asarray(each, np.float64) for each in self.values]
        wrong = [
            i for i, (s, v) in enumerate(zip(self.sequences, self.values)) if v.shape != (len(s),)
        ]
        if len(self.sequences) != len(self.values) or wrong or not self.sequences:
            raise ValueError("values: give one number for each letter of each sequence.")
        for i, each in enumerate(self.values):
            if each.size:
                drawable(f"values[{i}]", each, 1)
        if self.names is not None and len(self.names) != len(self.sequences):
            raise ValueError(
                f"names has {len(self.names)} entries for {len(self.sequences)} sequences."
            )

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, X: SamplesLike, *, column: Hashable = None,
        of: object = None, names: Sequence[str] | None = None, number: int = 0,
        axes: np.ndarray | None = None,
    ) -> SequenceDisplay:  # fmt: skip
        """Draw the letters of the sequences in X and all their single-letter variants.

        X, ``column`` and ``of`` are those of `mercer.explain.letters`.
        """
        found = letters(estimator, X, column=column, of=of)
        changes = variants(estimator, X, column=column, of=of)
        return cls.of(found, changes, names=names, number=number).plot(axes)

    @classmethod
    def of(
        cls, found: LetterValues, changes: VariantScores | None = None, *,
        names: Sequence[str] | None = None, number: int = 0,
    ) -> SequenceDisplay:  # fmt: skip
        """The display of values that are known."""
        values = [each if each.ndim == 1 else each[:, number] for each in found.values]
        output = "the output" if found.output_names is None else found.output_names[number]
        return cls(found.sequences, values, changes, names=names, output=output, number=number)

    def stretch(self, row: int) -> tuple[int, int]:
        """The letters of a sequence that are drawn: from, and up to."""
        length = len(self.sequences[row])
        if length <= SHOWN:
            return 0, length
        sums = np.convolve(np.abs(self.values[row]), np.ones(SHOWN), "valid")
        first = int(sums.argmax())
        return first, first + SHOWN

    def plot(self, axes: np.ndarray | None = None) -> SequenceDisplay:
        """Draw all sequences, in one or two axes each."""
        each = 1 if self.changes is None else 2
        drawn = self._draw_in(axes, each * len(self.sequences), 1, (10.0, 1.9))
        for row in range(len(self.sequences)):
            first, last = self.stretch(row)
            self._draw_letters(drawn[each * row], row, first, last)
            if self.changes is not None:
                self._draw_changes(drawn[each * row + 1], row, first, last)
        return self

    def _draw_letters(self, ax: Axes, row: int, first: int, last: int) -> None:
        """Draw each letter as high as what it adds."""
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import PathPatch
        from matplotlib.transforms import Affine2D

        patches, colours = [], []
        for i in range(first, last):
            letter, value = self.sequences[row][i], self.values[row][i]
            path = _glyph(letter)
            if path is not None and value:
                place = Affine2D().scale(0.92, value).translate(i + 1, 0)
                patches.append(PathPatch(place.transform_path(path)))
                colours.append(_colour(letter))
        ax.add_collection(PatchCollection(patches, facecolors=colours, linewidths=0))
        shown = self.values[row][first:last]
        low, high = min(shown.min(initial=0), 0), max(shown.max(initial=0), 0)
        room = 0.05 * (high - low or 1)
        ax.axhline(0, color="grey", lw=0.6)
        ax.set(xlim=(first + 0.5, max(last, 1) + 0.5), ylim=(low - room, high + room))
        ax.set_ylabel("adds")
        ax.set_xlabel("place" if self.changes is None else "")
        part = f", letters {first + 1} to {last}" if last - first < len(self.sequences[row]) else ""
        name = f"sequence {row + 1}" if self.names is None else self.names[row]
        ax.set_title(f"{name}{part}: what letters add to {self.output}", fontsize="medium")

    def _draw_changes(self, ax: Axes, row: int, first: int, last: int) -> None:
        """Draw what changes of letters change in the prediction."""
        found = self.changes
        assert found is not None
        change = found.changes if found.changes.ndim == 1 else found.changes[:, self.number]
        own = np.flatnonzero((found.rows == row) & (found.places >= first) & (found.places < last))
        lengths = {len(found.references[i]) + len(found.alternatives[i]) for i in own}
        ax.set(xlim=(first + 0.5, max(last, 1) + 0.5), xlabel="place", ylabel="changes")
        if lengths == {2} and len(own) > last - first:  # most letters are changed, one by one
            known = sorted({found.alternatives[i].upper() for i in own})
            grid = np.full((len(known), last - first), np.nan)
            for i in own:
                grid[known.index(found.alternatives[i].upper()), found.places[i] - first] = change[
                    i
                ]
            most = np.nanmax(np.abs(grid)) or 1.0
            image = ax.imshow(
                grid, cmap=diverging(), vmin=-most, vmax=most, aspect="auto",
                interpolation="nearest", extent=(first + 0.5, last + 0.5, len(known) - 0.5, -0.5),
            )  # fmt: skip
            ax.set_yticks(range(len(known)), known, fontsize="x-small")
            ax.set_ylabel("in its place")
            ax.figure.colorbar(image, ax=ax, label="changes by", pad=0.01)
            return
        ax.axhline(0, color="grey", lw=0.6)
        places = found.places[own] + 1
        ax.bar(places, change[own], width=0.6, color=[colour(int(c > 0)) for c in change[own]])
        for i, place in zip(own, places):
            text = f"{found.references[i] or '–'}→{found.alternatives[i] or '–'}"
            ax.annotate(
                text if len(text) < 12 else f"{text[:11]}…", (place, change[i]), fontsize="x-small",
                ha="center", va="bottom" if change[i] >= 0 else "top",
            )  # fmt: skip
        ax.margins(y=0.25)


def _colour(letter: str) -> str:
    capital = letter.upper()[0]  # that of ß has two letters
    return BASES.get(capital, COLOURS[ord(capital) % len(COLOURS)])


@cache
def _glyph(letter: str) -> Any:
    """The outline of a letter, one unit wide and high, from the middle of its foot; None for what
    is none, such as a blank."""
    if not (letter.isalnum() or letter in "*-."):
        return None
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    path = TextPath((0, 0), letter, 1, prop=FontProperties(family="DejaVu Sans", weight="bold"))
    box = path.get_extents()
    move = Affine2D().translate(-(box.x0 + box.x1) / 2, -box.y0)
    return move.scale(1 / max(box.width, 0.3), 1 / max(box.height, 0.1)).transform_path(path)


STARTS = 4  # windows that begin within the length of one


@display
class StretchDisplay(PartLosses):
    r"""Which stretches of one time series an answer rests on: what the answer loses where a stretch
    is made straight.

    A window moves along the series. In it, the points are replaced by the straight line between the
    points beside it, and the model f answers again. The loss of a point is the mean of what the
    answer loses over the windows w with this point:

    .. math:: l_t = \frac{1}{|\{w \ni t\}|} \sum_{w \ni t} (f(x) - f(x_w))

    The model itself is asked, whatever it is, and nothing is fitted.

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

    References
    ----------
    Zeiler & Fergus, "Visualizing and understanding convolutional networks", ECCV 2014.

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
        estimator: BaseEstimator,
        series: Any,
        *,
        width: float = 0.1,
        of: object = None,
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
        estimator: BaseEstimator, series: Any, *, width: float = 0.1, of: object = None
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
