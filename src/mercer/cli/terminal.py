"""The terminal: what is printed there, and the errors of tables and options.

What comes from data or the command line is printed as it is, and controls nothing. Left to itself,
rich reads ``[red]`` in a file name as markup and ``:smile:`` as an emoji, and lets escape sequences
through. Whoever reads the output may stop early, as ``head`` does: nothing is printed then, and the
work goes on.
"""

from __future__ import annotations

import difflib
import io
import logging
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console
from rich.text import Text

from mercer.spoken import visible


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


class Terminal(Console):
    """Standard output, or standard error, where strings have no markup and do no harm.

    Styles are given by `line`.
    """

    def __init__(self, *, stderr: bool = False, quiet: bool = False):
        super().__init__(stderr=stderr, quiet=quiet, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Every string that is printed, also those in tables, comes along here."""
        return super().render_str(visible(text), **options)


def line(*parts: str | tuple[str, str]) -> Text:
    """A line of texts, some with a style: ``line("Winner: ", (name, "bold"))``."""
    pairs = [(part, "") if isinstance(part, str) else part for part in parts]
    return Text.assemble(*((visible(text), style) for text, style in pairs))


def hush(quiet: bool) -> None:
    """Keep the log of the library, which is written to standard error, from a quiet command."""
    logging.getLogger("mercer").setLevel(logging.ERROR if quiet else logging.NOTSET)


def open_streams() -> None:
    """Make standard output and error take all letters, and do without a reader.

    A stream that is closed, as by ``>&-``, leads nowhere: its number must not be that of the next
    file that is opened.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is None or not stream.isatty():
            raw = _Unread(number, f"standard {'output' if number == 1 else 'error'}")
            encoding = "utf-8" if stream is None else stream.encoding
            stream = io.TextIOWrapper(
                io.BufferedWriter(raw), encoding, "backslashreplace", line_buffering=number == 2
            )
            setattr(sys, name, stream)
        stream.reconfigure(errors="backslashreplace")


class _Unread(io.RawIOBase):
    """A file descriptor to write to, which leads nowhere from when nobody reads it any more."""

    def __init__(self, number: int, name: str):
        self.number, self.name = number, name

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.number

    def write(self, content: Any) -> int:
        try:
            return os.write(self.number, content)
        except OSError as error:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.number)
            # of errors on standard error nobody could be told
            if isinstance(error, BrokenPipeError) or os.name == "nt" or self.number == 2:
                return len(content)
            error.filename = self.name  # such as a full disk
            raise
