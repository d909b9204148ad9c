"""What new rows hold that the training rows did not: counted block by block, and said in words.

A model predicts for every row, also where a value cannot be read or lies far from all that it has
learnt from. `Surprises` counts such values for each column.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.spoken import first_of, spoken
from mercer.tables.columns import Column, used_columns
from mercer.tables.forms import SAID, is_missing_mark, signs_of, spelled_date, units_in
from mercer.tables.values import ReadTable, missing_values

if TYPE_CHECKING:
    from mercer.tables.encoding import TableEncoder

SHOWN = 3  # values that cannot be read, which are named
OTHER = {"dmy": "mdy", "mdy": "dmy"}  # orders of day and month


class Surprises:
    """Counts of the values of new rows that the model of a fitted encoder may misread.

    Examples
    --------
    >>> from mercer.tables import ReadTable, TableEncoder
    >>> table = {"size": np.arange(9.0) % 7, "colour": np.array(["red", "blue", "red"] * 3, object)}
    >>> surprises = Surprises(TableEncoder().fit(ReadTable(table)))
    >>> surprises.see({"size": np.array([1e12]), "colour": np.array(["pink"], object)})
    >>> for sentence in surprises.sentences():
    ...     print(sentence)
    size: 1 of 1 value lies far from the training range 0 to 6, such as 1 trillion.
    colour: 1 level that was absent or rare in training: pink. It counts as one unknown level.
    """

    def __init__(self, encoder: TableEncoder):
        self.encoder = encoder
        self.known: Counter = Counter()  # values that are not missing, of each column
        self.missing: Counter = Counter()
        self.unread: Counter = Counter()
        self.unfit: dict[Any, list] = {}  # the first of these with their rows, from 1
        self.rows = 0  # seen so far
        self.far: Counter = Counter()
        self.signed: Counter = Counter()  # values with a percent or currency sign, or a unit
        self.strange_signs: dict[Any, set] = {}
        self.turned: Counter = Counter()  # values with the other decimal sign or order of a date
        self.levels: dict[Any, set] = {}
        self.foreign: Counter = Counter()  # sequences with letters that are no nucleotides
        self.examples: dict[tuple, Any] = {}

    def see(self, table: dict[Any, np.ndarray]) -> None:
        """Count what a block of new rows holds; its columns are as `read_columns` returns them."""
        for column in used_columns(self.encoder.columns_):
            if column.name in table and column.of.ordered:
                self._see_numbers(column, table[column.name])
            elif column.name in table:
                foreign = column.of.foreign(column, table[column.name])
                if foreign is not None and foreign.any():
                    self.foreign[column.name] += int(foreign.sum())
                    first = table[column.name][foreign][0]
                    self.examples.setdefault((column.name, "foreign"), first)
        self.rows += len(next(iter(table.values()), ()))
        for name, levels in self.encoder.unseen(ReadTable(table)).items():
            self.levels.setdefault(name, set()).update(levels)

    def _see_numbers(self, column: Column, values: np.ndarray) -> None:
        """Count what cannot be read in a column of numbers, and what is out of range."""
        name = column.name
        read = column.of.read(values, column)
        lost = missing_values(read)
        gone = missing_values(values)
        if values.dtype == object:
            gone |= np.array([is_missing_mark(v) for v in values.tolist()], dtype=bool)
        unread = lost & ~gone
        self.known[name] += int((~gone).sum())
        self.missing[name] += int(gone.sum())
        self.unread[name] += int(unread.sum())
        for i in np.flatnonzero(unread)[: SHOWN - len(self.unfit.setdefault(name, []))]:
            self.unfit[name].append((self.rows + int(i) + 1, values[i]))
        self.turned[name] += _turned(column, values, unread)
        far = _far(column, read)
        self.far[name] += int(far.sum())
        if far.any():
            self.examples.setdefault((name, "far"), read[far][0])
        if column.of.numeric and values.dtype == object:
            texts = [v for v in values.tolist() if isinstance(v, str)]
            for text in texts:
                signs = signs_of([text])
                self.signed[name] += bool(signs or (column.unit and units_in(text)))
                strange = set(signs.split()) - set(column.signs.split())
                self.strange_signs.setdefault(name, set()).update(strange)

    def unreadable(self) -> list[Column]:
        """The columns of numbers or dates of which not one value could be read."""
        return [
            column
            for column in used_columns(self.encoder.columns_)
            if 0 < self.known[column.name] == self.unread[column.name]
        ]

    def example(self, column: Column) -> Any:
        """The first value of a column that could not be read."""
        return self.unfit[column.name][0][1]

    def sentences(self) -> list[str]:
        """What a user should know of the new rows, a sentence each."""
        said = []
        for column in used_columns(self.encoder.columns_):
            if column.of.ordered:
                said += [f"{column.name}: {what}" for what in self._numbers_said(column)]
            if many := self.foreign[column.name]:
                said.append(
                    f"{column.name}: {many} of {self.rows} {'has' if many == 1 else 'have'} "
                    "letters that are no nucleotides, such as "
                    f"{self.examples[column.name, 'foreign']!r:.40}: they count as N."
                )
            if column.name in self.levels:
                levels = sorted(self.levels[column.name])
                some = first_of(levels, shown=lambda level: repr(level) if "," in level else level)
                many = len(levels) > 1
                said.append(
                    f"{column.name}: {len(levels)} level{'s that were' if many else ' that was'} "
                    f"absent or rare in training: {some}. {'They count' if many else 'It counts'} "
                    "as one unknown level."
                )
        return said

    def _numbers_said(self, column: Column) -> list[str]:
        """What is said of a column of numbers."""
        name, said = column.name, []
        known, unread, far = self.known[name], self.unread[name], self.far[name]
        values = f"of {known} value{'s' * (known != 1)}"
        if unread:
            example = self.unfit[name][0][1]
            places = ", ".join(f"{value!r:.40} (row {row})" for row, value in self.unfit[name])
            said.append(
                f"{unread} {values} cannot be read as {column.kind}s, such as {example!r:.60}, and "
                f"count{'s' * (unread == 1)} as missing. Mend {places}: write "
                f"{'it' if unread == 1 else 'them'} as in training."
            )
        if turned := self.turned[name]:
            number = column.of.numeric
            old = "decimal-comma" if column.decimal == "," else "decimal-point"
            new = "decimal-point" if column.decimal == "," else "decimal-comma"
            old, new = (old, new) if number else (SAID[column.order], SAID[OTHER[column.order]])
            doubt = "with thousands" if number else "whose day is at most 12"
            said.append(
                f"{turned} {values} {'is' if turned == 1 else 'are'} written {new}, and training "
                f"had {old}: others {doubt} may be read wrongly. Write the whole column as in "
                f"training, {old}."
            )
        if far:
            example = self.examples[name, "far"]
            example = str(example)[:10] if column.of.in_time else spoken(example, 6)
            low, high = column.low, column.high
            low, high = (spoken(v, 6) if isinstance(v, float) else v for v in (low, high))
            said.append(
                f"{far} {values} lie{'s' * (far == 1)} far from the training range {low} to "
                f"{high}, such as {example}."
            )
        if self.strange_signs.get(name):
            signs = " ".join(sorted(self.strange_signs[name]))
            said.append(f"some values have {signs}, which training did not have; it is left away.")
        elif (wanted := column.signs or column.unit) and known and not self.signed[name]:
            said.append(
                f"no value has {wanted}, which training had: 12% and 12 are the same number, "
                "and 0.12 is another one."
                if "%" in wanted
                else f"no value has {wanted}, which training had. Check the unit."
            )
        gone = self.missing[name]
        if gone and not column.missing:
            values, them = ("values are", "them") if gone > 1 else ("value is", "it")
            said.append(
                f"{gone} {values} missing, but training missed none; the median stands for {them}."
            )
        return said


def _turned(column: Column, values: np.ndarray, unread: np.ndarray) -> int:
    """How many values have the other decimal sign, or order of day and month, than training."""
    if values.dtype != object:
        return 0
    if column.of.numeric:
        texts = [v for v in values.tolist() if isinstance(v, str)]
        simple = column.numbers.simple(texts)
        cells = (column.numbers.cell(text) for text in texts if text not in simple)
        return sum(cell is not None and cell.other for cell in cells)
    if (other := OTHER.get(column.order)) is None:
        return 0
    some = [v for v in values[unread].tolist() if isinstance(v, str)]
    return sum(spelled_date(text, other) is not None for text in some)


def _far(column: Column, read: np.ndarray) -> np.ndarray:
    """Which values are farther from the training range than the range is wide."""
    if column.low is None:
        return np.zeros(len(read), dtype=bool)
    if column.of.in_time:
        low, high = (np.datetime64(day, "s").astype(float) for day in (column.low, column.high))
        high += 86400  # the last day ends here
        read = np.where(np.isnat(read), np.nan, read.astype(np.int64))
    else:
        low, high = column.low, column.high
    # quarters never overflow, nor do their differences
    read, low, high = read / 4, low / 4, high / 4
    width = high - low
    return (read > high + width) | (read < low - width)
