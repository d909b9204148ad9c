"""Equal rows: those that stand in a table twice, or in two tables, and hashes to know them by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.persistence import fields
from mercer.samples import row_marks
from mercer.tables.cells import cell_bytes
from mercer.tables.column_kinds import level_text
from mercer.tables.review import Finding
from mercer.tables.values import as_dates, as_numbers, missing_values

if TYPE_CHECKING:
    from mercer.tables.encoding import EncodedTable


def find_repeated_rows(
    values: dict[Any, np.ndarray],
    y: np.ndarray | None = None,
    identifiers: dict[Any, np.ndarray] | None = None,
) -> list[Finding]:
    """Rows that are in the table more than once, and equal rows with different targets.

    Identifiers are not compared; those that differ in rows that are equal otherwise are named.
    """
    hashes: np.ndarray | None = None
    for count, cells in enumerate(values.values(), start=1):
        hashes = mixed_hashes([_cell_keys(cells)], hashes)
        if count & (count - 1) == 0 and np.diff(np.sort(hashes)).all():
            return []  # a few columns mostly tell all rows apart
    keys = hashes.tolist() if hashes is not None else []
    n, different, found = len(keys), len(set(keys)), []
    repeated = n - different
    if not repeated:
        return []
    apart = [
        str(name)
        for name, cells in (identifiers or {}).items()
        if len(set(zip(keys, _row_keys({name: cells})))) > different
    ]
    where = f" in all columns but {', '.join(apart)}" if apart else ""
    if y is None:
        return [Finding("duplicates", None, f"{_repeat(repeated, n)}{where}.")]
    both = set(zip(keys, y.tolist()))
    same = n - len(both)
    if same:
        found.append(
            f"{_repeat(same, n)}{where}, with the same target. If one event was "
            "recorded twice, keep one: a copy that is held out makes the score too good."
        )
    targets = Counter(key for key, _ in both)
    unclear = sum(1 for key in keys if targets[key] > 1)
    if unclear and unclear < n:
        found.append(
            f"{_rows(unclear)} of {n} are equal to rows with another target: no model can predict "
            "all of them."
        )
    return [Finding("duplicates", None, text) for text in found]


def find_shared_rows(train: dict[Any, np.ndarray], test: dict[Any, np.ndarray]) -> list[Finding]:
    """Rows of a test table that are in the training table too."""
    found = shared_rows(train, test)
    shared = int(found.sum())
    if not shared:
        return []
    said = (
        f"{_rows(shared)} of the {len(found)} to score on are in the training table, too: their "
        "score says nothing about new rows. Leave them out of one."
    )
    return [Finding("shared", None, said)]


def shared_rows(train: dict[Any, np.ndarray], test: dict[Any, np.ndarray]) -> np.ndarray:
    """Which rows of a test table are in the training table too, as its columns would be read.

    The columns are those that both tables have.
    """
    known = {name: cells for name, cells in train.items() if name in test}
    new = {name: _read_like(test[name], cells) for name, cells in known.items()}
    return np.isin(_row_keys(new), _row_keys(known))


def _read_like(cells: np.ndarray, like: np.ndarray) -> np.ndarray:
    """A column of a new table as numbers, dates or objects, as that of the training table is."""
    kind = like.dtype.kind
    if cells.dtype.kind == kind:
        return cells
    if kind in "fM":
        return as_numbers(cells) if kind == "f" else as_dates(cells)
    found = cells.astype(object)
    found[missing_values(cells)] = None
    return found


def _row_keys(values: dict[Any, np.ndarray]) -> list[int]:
    """A number for each row, the same for equal rows."""
    return mixed_hashes([_cell_keys(cells) for cells in values.values()]).tolist()


def _cell_keys(values: np.ndarray) -> np.ndarray:
    """A number for each cell, the same for equal cells in this process; 1 and "1" are equal."""
    if values.dtype != object:
        return hash_cells(values)
    cells = values.tolist()
    if set(map(type, cells)) != {str}:
        cells = [cell if type(cell) is str else _as_text(cell) for cell in cells]
    return np.fromiter(map(hash, cells), np.int64, len(cells)).view(np.uint64)


def _as_text(cell: object) -> str:
    return cell_bytes(cell, level_text).decode("utf-8", "surrogateescape")


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n} rows"


def _repeat(rows: int, n: int) -> str:
    return f"{_rows(rows)} of {n} repeat{'s' * (rows == 1)} an earlier one"


MOST = 2**16  # hashes that are kept, 512 kB: those below a limit
ODD, MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
SHIFT = np.uint64(29)


def _ascending(owner: RowHashes, hashes: Any) -> None:
    if not (isinstance(hashes, np.ndarray) and hashes.dtype == np.uint64 and hashes.ndim == 1):
        raise ValueError("are no hashes")


@dataclass(frozen=True)
@fields(hashes=_ascending)
class RowHashes:
    """64-bit hashes of the rows of a table with their targets, as a model reads them.

    They hold nothing of a row, but who guesses a whole row can see whether it was there. Of more
    than 65,536 different rows only those with the smallest hashes are kept.

    Attributes
    ----------
    hashes : ndarray
        Ascending, without those that are there twice.
    limit : int
        Hashes above it were not kept.
    repeated : float
        Part of the rows that are equal to another one.
    """

    hashes: np.ndarray
    limit: int
    repeated: float

    @classmethod
    def of(cls, table: EncodedTable, y: np.ndarray) -> RowHashes:
        """The hashes of the rows of an encoded table with their targets."""
        found, counts = np.unique(hash_rows(table, y), return_counts=True)
        repeated = float(counts[counts > 1].sum() / max(len(y), 1))
        kept = found[:MOST]
        limit = int(kept[-1]) if len(kept) < len(found) else 2**64 - 1
        return cls(kept, limit, repeated)

    def count(self, table: EncodedTable, y: np.ndarray) -> int:
        """How many rows of a table, encoded by the same encoder, are among them.

        If not all hashes were kept, it is estimated by those of the rows that would have been.
        """
        given = hash_rows(table, y)
        judged = given[given <= np.uint64(self.limit)]
        if not len(judged):
            return 0
        return round(float(np.isin(judged, self.hashes).mean()) * len(given))


def hash_rows(table: EncodedTable, y: np.ndarray) -> np.ndarray:
    """A 64-bit hash of each row: of its numbers and categories as they are encoded, of its texts
    and other samples as they are, and of its target."""
    sources = dict.fromkeys(f.source for f in table.features if f.holds_objects)
    cells = [hash_cells(table.columns[name]) for name in sources]
    return row_marks(table.matrix.numbers, *cells, hash_cells(np.asarray(y)))


def mixed_hashes(columns: Sequence[np.ndarray], total: np.ndarray | None = None) -> np.ndarray:
    """A hash of each row, from those of its cells; ``total`` are those of cells before these."""
    total = np.zeros(len(columns[0]), np.uint64) if total is None else total
    for values in columns:
        total = total * ODD + values + np.uint64(1)
        total = (total ^ (total >> SHIFT)) * MIX
        total ^= total >> np.uint64(32)
    return total


def hash_cells(values: np.ndarray) -> np.ndarray:
    """A hash of each cell; 1 and 1.0 have the same."""
    if values.dtype.kind in "fiub":
        return (values.astype(np.float64) + 0.0).view(np.uint64)
    if values.dtype.kind in "mM":
        return values.astype(np.int64).view(np.uint64)
    known: dict[bytes, int] = {}
    cells = values.tolist()
    if all(type(cell) is str or cell is None for cell in cells):  # each different one once
        of = {cell: _hash(cell_bytes(cell, level_text), known) for cell in set(cells)}
        return np.array([of[cell] for cell in cells], np.uint64)
    return np.array([_hash(cell_bytes(v, level_text), known) for v in cells], np.uint64)


def _hash(content: bytes, known: dict[bytes, int]) -> int:
    if content not in known:
        known[content] = int.from_bytes(blake2b(content, digest_size=8).digest(), "little")
    return known[content]
