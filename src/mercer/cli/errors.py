"""What the command returns to the shell, the errors of tables and options, and their words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

# exit codes, which ``mercer --help`` lists
OK = 0
BUG = 1  # an error of Mercer's own
USAGE = 2  # a wrong command line
DATA = 3  # wrong data
OUTPUT = 4  # a result could not be written
NO_EXTRA = 5  # an extra is not installed
NO_REPORT = 6  # the model is written, and its report is not
DUPLICATES = 7  # mercer dedup --fail has found near-duplicates, or mercer link --fail matches
INTERRUPTED = 130


class TableError(ValueError):
    """A table that cannot be read or used; the message names the file, the row and the remedy."""


class OptionError(TableError):
    """A value of an option that no table could make right; the message names both."""


def column_faults(
    option: str,
    names: Iterable[str],
    path: str,
    columns: list[str],
    targets: Collection[str] = (),
) -> list[TableError]:
    """An error for each name in an option that is a target, or a column that a table lacks."""
    faults: list[TableError] = []
    for name in names:
        if name in targets:
            said = f"{option} {name}: this is the target; give another column."
            faults.append(OptionError(said))
        elif name not in columns:
            faults.append(no_column(option, name, path, columns))
    return faults


def refuse(faults: list[TableError]) -> None:
    """Raise all errors as one, a line each, if there are any."""
    if faults:
        kind = OptionError if all(isinstance(f, OptionError) for f in faults) else TableError
        raise kind("\n".join(dict.fromkeys(map(str, faults))))


def no_column(option: str, name: str, path: str, columns: list[str]) -> TableError:
    """The error of an option that names a column that a table lacks."""
    lower = {column.lower(): column for column in columns}
    close = [each for each in lower if each.endswith(f"/ {name.lower()}")]  # below a joined name
    close = close or difflib.get_close_matches(name.lower(), lower, 1)
    more = f" and {len(columns) - 20} more" if len(columns) > 20 else ""
    said = f"{option} {name}: {path} has no such column; it has {columns[:20]}{more}."
    if close:
        said += f" Did you mean {lower[close[0]]!r}?"
    elif len(columns) == 1 and any(mark in columns[0] for mark in ",;\t|"):
        said += " Its fields seem to be separated by something else: leave --sep out."
    return TableError(said)


@contextmanager
def of_option(kind: type[TableError] = TableError) -> Iterator[None]:
    """Errors about an argument, such as ``time='0': ...``, as those about its option."""
    try:
        yield
    except ValueError as error:
        named = re.match("[a-z_]+[:=]", str(error)) is not None
        raise kind(f"--{error}" if named else str(error)) from error


def counted(n: int, noun: str, several: str | None = None) -> str:
    """1 row, 2 rows, 35,039 rows."""
    return f"{n} {noun}" if n == 1 else f"{n:,} {several or f'{noun}s'}"
