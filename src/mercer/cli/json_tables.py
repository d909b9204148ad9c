"""Tables in JSON: an object in each line, or one array of objects; objects in objects are unfolded.

The value 30 in ``{"user": {"age": 30}}`` is in the column ``user.age``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import polars as pl

from mercer.cli.formats import Lines, quiet, unfolded
from mercer.cli.terminal import TableError
from mercer.persistence import check_depth, read_json


class JsonLines(Lines):
    """One JSON object in each line; a name that is not there is a missing value."""

    gaps = True

    def _check_depth(self, where: str, text: str) -> None:
        """Refuse a value that is nested too deeply."""
        try:
            check_depth(text)
        except ValueError as error:
            raise TableError(
                f"{where}: {error}, which no table can hold. Write its content as columns."
            ) from None

    def _frame(self, lines: list[tuple[int, str]]) -> pl.DataFrame:
        """The objects of all lines as a table."""
        for i, text in lines:
            self._check_depth(f"{self.source.label}, row {i}", text)
        content = "\n".join(text for _, text in lines).encode()
        try:
            with quiet():
                frame = pl.read_ndjson(io.BytesIO(content), infer_schema_length=None)
            return unfolded(frame)
        except (Exception, pl.exceptions.PanicException):
            rows = [self._object(i, text) for i, text in lines]
        return unfolded(_frame(rows))

    def _object(self, row: int, text: str) -> dict:
        """The object in one line."""
        try:
            found = read_json(text)
        except ValueError as error:
            said = str(error).partition(":")[0]
            raise TableError(
                f"{self.source.label}, row {row}: this is not JSON ({said}). Each line must be an "
                'object, such as {"size": 1.5, "colour": "red"}.'
            ) from None
        if not isinstance(found, dict):
            raise TableError(
                f"{self.source.label}, row {row}: {text.strip()!r:.40} is not a JSON object. Each "
                'line must be one, such as {"size": 1.5, "colour": "red"}.'
            )
        return found


class JsonFile(JsonLines):
    """An array of objects, or an object that holds one, or the columns, as pandas writes them.

    It may also hold an object in each line.
    """

    def blocks(self, rows: int | None = None) -> Iterator[pl.DataFrame]:
        text = "\n".join(line for _, line in self._lines())
        self._check_depth(self.source.label, text)
        try:
            found = read_json(text)
        except ValueError as error:
            if _is_object(text.lstrip().partition("\n")[0]):
                yield from super().blocks(rows)
                return
            raise TableError(f"{self.source.label} is not JSON: {error}. Write it again.") from None
        frame = unfolded(_frame(self._rows(found)))
        yield from [frame] if rows is None else frame.iter_slices(rows)

    def _rows(self, found: Any) -> list[dict]:
        """The rows in a file of JSON: an array of objects, or columns."""
        if isinstance(found, dict):
            lists = {name: value for name, value in found.items() if _are_objects(value)}
            if len(lists) == 1:
                name, found = next(iter(lists.items()))
                self.notes.append(f"The rows are those of {name!r} in the file.")
            else:
                found = _rows_of_columns(found)
        if not _are_objects(found):
            raise TableError(
                f"{self.source.label} holds no table. Give an array of objects, such as "
                '[{"size": 1.5}, {"size": 2}], or an object in each line.'
            )
        return found


def _frame(rows: list[dict]) -> pl.DataFrame:
    """Objects as rows; cells of many types are texts where nothing else holds them all."""
    for name in {name for row in rows for name in row}:
        kinds = {type(row[name]) for row in rows if row.get(name) is not None}
        if len(kinds) > 1 and kinds & {list, dict}:
            for row in rows:
                if isinstance(row.get(name), (list, dict)):
                    row[name] = json.dumps(row[name], ensure_ascii=False)
    return pl.DataFrame(rows, infer_schema_length=None, strict=False)


def _is_object(text: str) -> bool:
    try:
        return isinstance(read_json(text), dict)
    except ValueError:
        return False


def _are_objects(found: object) -> bool:
    return isinstance(found, list) and bool(found) and all(isinstance(r, dict) for r in found)


def _rows_of_columns(found: dict) -> list[dict]:
    """The rows of an object of columns, each a list, or an object by row; none if it is not."""
    if isinstance(found.get("columns"), list) and isinstance(found.get("data"), list):
        return [dict(zip(found["columns"], row)) for row in found["data"]]
    columns = [[*c.values()] if isinstance(c, dict) else c for c in found.values()]
    alike = {tuple(c) for c in found.values() if isinstance(c, dict)}
    if not all(isinstance(c, list) for c in columns) or len(alike) > 1:
        return []
    if len({len(c) for c in columns}) != 1:
        return []
    return [dict(zip(found, row)) for row in zip(*columns)]
