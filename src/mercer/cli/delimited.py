"""Tables in text files: encoding, line ends, quotes and rows are checked, then polars reads them.

The rules of quotes are those of spreadsheets: a field that begins with a quote ends with one, and
may hold separators and line breaks; a quote inside is written twice. Lines end with LF, CR LF or
CR. Polars itself would be impolite to a text that breaks these rules, and takes no CR.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from mercer.cli.errors import TableError

__all__ = ["read_delimited"]

# with these bytes begins a text that says itself what it is
MARKS = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16",
         b"\xfe\xff": "utf-16"}  # fmt: skip


def read_delimited(
    path: Path, content: bytes, separator: str | None, encoding: str
) -> pl.DataFrame:
    """The table in a text; without a ``separator`` its header tells.

    Raises
    ------
    TableError
        The text is wrongly encoded or ragged, or its quotes do not end.
    """
    text = _decoded(path, content, encoding)
    if not text.strip("\r\n"):
        raise TableError(f"{path} is empty.")
    separator = separator or _sniff(text)
    if '"' not in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if separator in re.split(r"[\r\n]", text, maxsplit=1)[0]:
        text = text.rstrip("\r\n") + "\n"  # of a single column an empty line is a missing value
    names = _check_rows(path, text, separator)
    frame = _parsed(path, _mended(text, separator), separator)
    frame.columns = names  # as they are: polars sees patterns in some, and leaves quotes doubled
    return frame


def _decoded(path: Path, content: bytes, encoding: str) -> str:
    if encoding.lower() in ("utf-8", "utf8"):
        found = (name for mark, name in MARKS.items() if content.startswith(mark))
        encoding = next(found, "utf-8-sig")
    try:
        text = content.decode(encoding)
        text.encode()  # some encodings can write halves of characters
    except UnicodeDecodeError as error:
        row = content[: error.start].count(b"\n") + 1
        said = encoding.removesuffix("-sig")
        raise TableError(
            f"{path} is not {said}: byte 0x{content[error.start]:02x} in row {row}. Tell its "
            "encoding, for example --encoding latin-1 or --encoding cp1252."
        ) from None
    except (LookupError, ValueError):
        raise TableError(
            f"--encoding {encoding} is not known, or cannot read {path}; try utf-8, latin-1 or "
            "cp1252."
        ) from None
    if "\0" in text:
        row = text[: text.index("\0")].count("\n") + 1
        raise TableError(
            f"{path} has a NUL character in row {row}: this is no text table, or its encoding is "
            "another one, such as --encoding utf-16-le."
        )
    return text


def _sniff(text: str) -> str:
    """The separator of a .txt table: the candidate that the header has most of."""
    return max("\t,;|", key=re.split(r"[\r\n]", text, maxsplit=1)[0].count)


def _rows(text: str, separator: str) -> Any:
    """The fields of row after row, by the rules of quotes above."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # a cell may hold a whole book
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)


def _check_rows(path: Path, text: str, separator: str) -> list[str]:
    """The names in the header; each row has as many fields, and every quote ends.

    Polars would not say where it is not so.
    """
    rows = _rows(text, separator)
    begins = 1
    try:
        header = next(rows)
        _check_names(path, header)
        if '"' not in text and _fields_agree(text, separator, len(header)):
            return header
        begins = rows.line_num + 1
        for fields in rows:
            if len(fields) != len(header) and fields:
                raise TableError(
                    f"{path} is ragged: row {rows.line_num} has {len(fields)} fields, the header "
                    f"has {len(header)}. Mend that row, or check the separator and the quotes."
                )
            begins = rows.line_num + 1
    except csv.Error as error:
        ends = "unexpected end" in str(error)
        fault = "a quote is opened and never closed" if ends else "text follows a closing quote"
        raise TableError(
            f"{path}, row {begins}: {fault}. Mend that row: a field that begins with a quote must "
            'end with one, and a quote inside is written twice, as in "5"" wide".'
        ) from None
    return header


def _check_names(path: Path, header: list[str]) -> None:
    if not header:
        raise TableError(f"{path} begins with an empty line: delete it.")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise TableError(
            f"{path} names the column{'s' * (len(twice) > 1)} {', '.join(map(repr, twice))} more "
            "than once: rename them."
        )


def _fields_agree(text: str, separator: str, width: int) -> bool:
    """Whether every line without quotes has ``width`` fields: counted without a Python loop."""
    content = np.frombuffer(text.encode(), np.uint8)
    ends = np.flatnonzero(content == ord("\n"))
    separators = np.searchsorted(np.flatnonzero(content == ord(separator)), ends)
    return bool((np.diff(separators, prepend=0) == width - 1).all())


def _mended(text: str, separator: str) -> str:
    """The same table with no CR for a line end, and no quote in a field that has none around it."""
    if '"' not in text:
        return text
    begin, plain = f"(?<![^{separator}\\r\\n])", f"[^{separator}\\r\\n]"
    stray = f'{begin}[^{separator}\\r\\n"]++"{plain}*'
    if not re.search(f"\\r(?!\\n)|{stray}", text):
        return text
    parts = re.compile(f'({begin}"(?:[^"]|"")*+")|({stray})|\\r\\n?')

    def mended(part: re.Match) -> str:
        quoted, bare = part.groups()
        return quoted or ("\n" if bare is None else '"' + bare.replace('"', '""') + '"')

    return parts.sub(mended, text)


def _parsed(path: Path, text: str, separator: str) -> pl.DataFrame:
    """The table by polars, which finds out the types; texts alone, where it cannot."""
    try:
        try:
            frame = pl.read_csv(
                io.StringIO(text), separator=separator, infer_schema_length=None,
                try_parse_dates=True,
            )  # fmt: skip
            frame.columns = [str(j) for j in range(frame.width)]
            return _with_codes(frame, text, separator)
        except pl.exceptions.ComputeError:  # an integer of more than 38 digits, for example
            return pl.read_csv(io.StringIO(text), separator=separator, infer_schema=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise TableError(f"{path} cannot be read: {str(error).splitlines()[0]}.") from error


def _with_codes(frame: pl.DataFrame, text: str, separator: str) -> pl.DataFrame:
    """The table with integers that begin with 0, such as 0123, as the codes that they are."""
    whole = [j for j, dtype in enumerate(frame.dtypes) if dtype.is_integer()]
    if not (whole and re.search(rf'(^|["\n{re.escape(separator)}])0\d', text)):
        return frame
    texts = pl.read_csv(io.StringIO(text), separator=separator, columns=whole, infer_schema=False)
    texts.columns = [str(j) for j in whole]
    codes = [c for c in texts.iter_columns() if c.str.contains(r"^0\d").any()]
    return frame.with_columns(codes)
