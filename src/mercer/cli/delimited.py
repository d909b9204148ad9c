"""Tables in text files: encoding, separator, line ends, quotes and rows, read into texts.

The rules of quotes are those of spreadsheets: a field that begins with a quote ends with one, and
may hold separators and line breaks; a quote inside is written twice, or behind a backslash where
all of the file shows that. Lines end with LF, CR LF or CR. Polars alone does not say where a text
breaks these rules, and does not read CR.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import polars as pl

from mercer.cli.files import ByteSource
from mercer.cli.terminal import OptionError, TableError, counted
from mercer.cli.text_layout import (
    MOST_BELOW,
    NAMED,
    are_meanings,
    are_tags,
    are_units,
    begins_below,
    below_lines,
    fields_of,
    filled_right,
    found_above,
    has_escapes,
    is_row,
    joined_names,
    joined_said,
    lines_of,
    returns_in_cells,
    rows_end,
    rows_of_text,
    separator_of,
    without_escapes,
    without_header,
    without_total,
)
from mercer.spoken import first_of

# bytes with which a text begins that says what it is
MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32",
         b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}  # fmt: skip
SAMPLE = 1 << 16  # bytes that tell encoding and separator
AT_ONCE = 1 << 18  # bytes that are looked at together, and stay in the cache meanwhile


class DelimitedText:
    """A table in a text, as columns of texts.

    ``usual`` is the separator that the name of the file promises, if any; a ``separator`` takes the
    place of the one that the first rows show. The encoding "utf-8" also reads what begins with
    another mark, and UTF-16 without one. Text that is wrongly encoded or ragged, or whose quotes do
    not end, is a TableError.
    """

    texts = True
    gaps = False
    target = ""

    def __init__(
        self,
        source: ByteSource,
        usual: str | None,
        encoding: str,
        separator: str | None = None,
        skip: int | None = None,
        header: bool | None = None,
    ):
        self.source = source
        self.notes: list[str] = []  # what was found out, and a user might not expect
        with source.opened() as file:
            sample = file.read(SAMPLE)
        if not sample:
            raise TableError(f"{source.label} is empty.")
        self.encoding = encoding_of(sample, encoding, source.label)
        if self.encoding not in ("utf-8", "utf-8-sig") and encoding.lower() in ("utf-8", "utf8"):
            self.notes.append(f"The text is {self.encoding.upper()}.")
        start = self._beginning(sample)
        if re.match(r"\s*<(!doctype\s+html|html)\b", start, re.IGNORECASE):
            raise TableError(f"{source.label} is a web page, not a table: save the file itself.")
        rows = start if len(sample) < SAMPLE else start.rpartition("\n")[0]
        self.skip = found_above(rows, usual, separator) if skip is None else skip
        rows = below_lines(rows, self.skip)
        if not rows.strip() and self.skip:
            raise TableError(
                f"{source.label} has no table below its first {counted(self.skip, 'line')}: give "
                "another --skip-rows."
            )
        if self.skip and skip is None:
            first = next(line for line in start.splitlines() if line.strip())
            self.notes.append(begins_below(self.skip, "line", first))
        self.separator = separator or separator_of(rows, usual)
        if separator is None and self.separator != usual and usual is not None:
            self.notes.append(f"The fields are separated by {NAMED[self.separator]}.")
        self.escape: str | None = None
        self._see_escapes(rows)
        first = rows_of_text(self._unescaped(rows), self.separator)[0]
        #: a line of made names above rows without any, how many lines below the names are no rows,
        #: and the names where they stand in two lines
        self.made, self.under, self.joined = self._made(first, header), 0, list[str]()
        if not self.made:
            self._see_under(first)
        self.header: list[str] = []  # as it stands in the file
        self.names: list[str] = []  # columns without one are named by their position
        self.unnamed: list[str] = []
        self.kinds: dict[str, str] = {}  # such a text tells none

    def blocks(self, rows: int | None = None) -> Iterator[pl.DataFrame]:
        """The rows, at once or so many at a time, as frames of texts."""
        if rows is None:
            content = self.source.read()
            text = self._decoded(content)
            checked = self._checked(text)
            if self.encoding != "utf-8" or checked is not text:  # large texts are not copied
                content = checked.encode()
            if not self._check_rows(checked, content):
                content = _mended(checked, self.separator).encode()
            frame, total = without_total(self._frame(content, 1 + self.under))
            if total:
                self.notes.append(f"The last row adds up the others and is left out: {total}.")
            yield frame
            return
        with self.source.opened() as file:
            yield from self._streamed(file, rows)

    def _see_escapes(self, text: str) -> None:
        """Find out whether backslashes stand before quotes or separators in fields."""
        if self.escape is None and has_escapes(text, self.separator):
            self.escape = "\\"
            some = re.search(r"\\[^N]", text) is not None
            what = "Backslashes in the fields are escapes, and are taken away."
            self.notes.append(what if some else "\\N in a field means a missing value.")

    def _unescaped(self, text: str) -> str:
        return without_escapes(text, self.separator) if self.escape else text

    def _made(self, first: list[list[str]], header: bool | None) -> str:
        """Names for the columns of a table without a header; "" where there is one."""
        if header or not first or (header is None and not is_row(first[0], first[1:])):
            return ""
        if header is None:
            self.notes.append(
                f"The first line is read as a row, not as a header: {', '.join(first[0])[:60]}. If "
                "it holds the names of the columns, give --header."
            )
        return self.separator.join(f"column {j + 1}" for j in range(len(first[0]))) + "\n"

    def _see_under(self, first: list[list[str]]) -> None:
        """Find lines below the header that are no rows: units, meanings, or more headings."""
        if len(first) < 3:
            return
        names, second, *rows = first
        tags = are_tags(rows[0])
        holds = ""
        if are_units(second, rows):
            holds = f"units, and is no row: {', '.join(second)}"
        elif are_meanings(names, second, rows[tags:]):
            above = filled_right(names)
            if len(set(above)) < len(above):
                self.joined = joined_names(above, second)
                self.notes.append(joined_said(self.joined))
            else:
                holds = f"what the names mean, and is no row: {first_of(second)}"
        if holds:
            self.notes.append(f"The line below the header holds {holds}.")
        self.under = 1 + tags if holds or self.joined else 0

    @property
    def above(self) -> int:
        """What is added to the number of a line of the table, to count those of the file."""
        return self.skip - bool(self.made)

    # --- bytes to characters ------------------------------------------------------------------

    def _beginning(self, sample: bytes) -> str:
        """The sample as text, without what the end cuts off; errors are found in the whole."""
        try:
            decoder = codecs.getincrementaldecoder(self.encoding)("replace")
            return decoder.decode(sample).removeprefix("\ufeff")
        except Exception:  # each codec of Python that is not for text raises its own
            self._unknown_encoding()

    def _decoded(self, content: bytes) -> str:
        """The text of bytes in the encoding of the file."""
        try:
            text = content.decode(self.encoding)
            if not self.encoding.startswith("utf-8"):
                text.encode()  # some encodings can write halves of characters
        except UnicodeDecodeError as error:
            self._wrong_byte(content[error.start], 1 + _ends(content[: error.start]))
        except (LookupError, ValueError):
            self._unknown_encoding()
        return text.removeprefix("\ufeff")

    def _wrong_byte(self, byte: int, row: int) -> NoReturn:
        said = self.encoding.removesuffix("-sig")
        raise TableError(
            f"{self.source.label} is not {said}: byte 0x{byte:02x} in row {row}. Give its "
            "encoding, for example --encoding latin-1 or --encoding cp1252."
        ) from None

    def _find_wrong_byte(self) -> NoReturn:
        """Say where a file that is read in blocks is wrongly encoded."""
        decoder, row = codecs.getincrementaldecoder(self.encoding)(), 1
        with self.source.opened() as file:
            while True:
                content = file.read(SAMPLE)
                try:
                    decoder.decode(content, final=not content)
                except UnicodeDecodeError as error:
                    self._wrong_byte(
                        error.object[error.start], row + _ends(error.object[: error.start])
                    )
                row += _ends(content)

    def _unknown_encoding(self) -> NoReturn:
        raise OptionError(
            f"--encoding {self.encoding} is not known, or cannot read {self.source.label}; try "
            "utf-8, latin-1 or cp1252."
        ) from None

    # --- all rows at once ---------------------------------------------------------------------

    def _checked(self, text: str) -> str:
        """The text with LF alone where it has no quotes, and without what is above and below."""
        self._refuse_nul(text, 1)
        if re.search(r"[^\r\n]", text) is None:
            raise TableError(f"{self.source.label} is empty.")
        if cells := returns_in_cells(text, self.separator):
            text = re.sub(r"\r(?!\n)", " ", text)
            have = "1 cell holds" if cells == 1 else f"{cells} cells hold"
            self.notes.append(f"{have} carriage returns, which are read as blanks.")
        if "\r" in text and '"' not in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        text = self.made + below_lines(text, self.skip)
        below = text[rows_end(text, self.separator) :]
        self.note_below(below)
        text = text.removesuffix(below)
        self._see_escapes(text)
        text = self._unescaped(text)
        if self.separator in next(lines_of(text)) and not re.search(r"[^\r\n]\n\Z", text[-2:]):
            text = text.rstrip("\r\n") + "\n"  # in one column, an empty line is a missing value
        return text

    def note_below(self, text: str) -> None:
        """Say that something below the rows is left out, if it is more than empty lines."""
        if text.strip():
            self.notes.append(f"What stands below the rows is left out: {text.strip()[:60]!r}.")

    def _refuse_nul(self, text: str, first: int) -> None:
        """Refuse a text with a NUL character, which is no table."""
        if "\0" in text:
            row = first + text[: text.index("\0")].count("\n")
            raise TableError(
                f"{self.source.label} has a NUL character in row {row}: this is not a text table. "
                "Take that character out, or give the file that it was made from."
            )

    def _check_rows(self, text: str, content: bytes) -> bool:
        """Each row has as many fields as the header, and every quote ends.

        ``content`` is the text in UTF-8. Polars would not say where it is not so. False if it does
        not read all quotes rightly.
        """
        next(self._rows_of(fields_of(lines_of(text), self.separator, len(text))))
        if _fields_agree(content, self.separator, len(self.names)):
            return True
        for _ in self._rows_of(fields_of(io.StringIO(text, newline=""), self.separator, len(text))):
            pass
        return False

    def _rows_of(self, reader: Any) -> Iterator[list[str]]:
        """The rows of a reader of the csv module, the first of which holds the names."""
        begins = 0
        try:
            for fields in reader:
                if not begins:
                    self._take_names(fields)
                if len(fields) != len(self.names) and fields:
                    raise TableError(
                        f"{self.source.label} is ragged: row {reader.line_num + self.above} has "
                        f"{len(fields)} fields, the header has {len(self.names)}. Mend that row, "
                        "or check the separator and the quotes."
                    )
                begins = reader.line_num
                yield fields
        except csv.Error as error:
            self._wrong_quote(error, begins + 1 + self.above)
        if not begins:
            self._take_names([])

    def _wrong_quote(self, error: csv.Error, row: int) -> NoReturn:
        """Refuse a row whose quotes do not match."""
        ends = "unexpected end" in str(error)
        fault = "a quote is opened and never closed" if ends else "text follows a closing quote"
        raise TableError(
            f"{self.source.label}, row {row}: {fault}. Mend that row: a field that begins with a "
            'quote must end with one, and a quote inside is written twice, as in "5"" wide".'
        ) from None

    def _take_names(self, header: list[str]) -> None:
        """The names in the header; blank ones are replaced, and repeated ones are numbered."""
        if not header:
            raise TableError(f"{self.source.label} begins with an empty line: delete it.")
        names, taken, numbers, again = [], set(), Counter(), []
        if all(re.fullmatch(r"'[^']+'", given) for given in header):
            header = [given[1:-1] for given in header]
        for given in self.joined or header:
            name = given if given.strip() else ""
            while name in taken:
                numbers[given] += 1
                name = f"{given} ({numbers[given] + 1})"
            taken |= {name} - {""}
            names.append(name)
            again += [name] * (name not in (given, ""))
        if again and not self.names:
            self.notes.append(f"Names that the header repeats are numbered: {first_of(again)}.")
        blank = [j for j, name in enumerate(names) if not name]
        for j in blank:
            names[j] = f"column {j + 1}"
            while names[j] in taken:
                names[j] += " (no name)"
            taken.add(names[j])
        if blank and not self.names:
            named = first_of([names[j] for j in blank])
            self.notes.append(f"Without a name in the header: {named}.")
        self.header = header
        self.names, self.unnamed = names, [names[j] for j in blank]

    def _frame(self, content: bytes, above: int) -> pl.DataFrame:
        """The rows as columns of texts, by polars, below the first ones of a sound text."""
        try:
            frame = pl.read_csv(
                content, has_header=False, separator=self.separator, infer_schema=False
            )
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            said = str(error).splitlines()[0]
            raise TableError(f"{self.source.label} cannot be read: {said}.") from error
        # names come last: polars sees patterns in some
        rest = without_header(frame[above:], self.header)
        if rest.height < frame.height - above:
            self.notes.append(
                "The header stands among the rows again. It is left out there, and rows are "
                "counted without it."
            )
        return pl.DataFrame(dict(zip(self.names, rest.iter_columns(), strict=True)))

    # --- block by block -----------------------------------------------------------------------

    def _streamed(self, file: Any, rows: int) -> Iterator[pl.DataFrame]:
        """Frames of so many rows; blank lines at the end are no rows."""
        lines = _Lines(self, io.TextIOWrapper(file, self.encoding, newline=""))
        for _ in range(self.skip):
            next(lines)
        lines.begin(self.made)
        reader = fields_of(lines, self.separator, 1 << 30, self.escape)
        held = blank = 0
        try:
            for place, fields in enumerate(self._rows_of(reader)):
                if place <= self.under:
                    lines.taken.clear()
                    continue
                held += 1
                blank = blank + 1 if not fields else 0
                if held >= rows and (not blank or len(self.names) == 1):
                    yield self._block("".join(lines.taken))
                    lines.taken.clear()
                    held = blank = 0
        except UnicodeDecodeError:
            self._find_wrong_byte()
        rest = "".join(lines.taken)
        if len(self.names) > 1:
            rest = rest.rstrip("\r\n")
        if rest:
            yield self._block(rest)

    def _block(self, rows: str) -> pl.DataFrame:
        """Rows below a header as columns of texts."""
        header = self.separator.join(map(str, range(len(self.names))))
        text = f"{header}\n{self._unescaped(rows)}"
        try:
            content = text.encode()
        except UnicodeEncodeError:  # half a character
            self._unknown_encoding()
        if not _fields_agree(content, self.separator, len(self.names)):
            content = _mended(text, self.separator).encode()
        return self._frame(content, 1)


class _Lines:
    """The lines of a text for the csv module, each kept until it is used.

    It reads ahead, so that a total or notes below the table are seen before they are rows.
    """

    def __init__(self, text: DelimitedText, lines: io.TextIOWrapper):
        self.text, self.lines = text, lines
        self.taken: list[str] = []
        self.ahead: deque[str] = deque()
        self.count = self.quotes = 0
        self.ended = False

    def begin(self, made: str) -> None:
        """Put a line of made names before the others."""
        self.ahead.extend([made] * bool(made))

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        while not self.ended and len(self.ahead) <= MOST_BELOW:
            line = next(self.lines, None)
            if line is None:
                self._end()
            else:
                self.ahead.append(line)
        if not self.ahead:
            raise StopIteration
        line = self.ahead.popleft()
        self.count += 1
        self.quotes += line.count('"')
        if self.count <= 2:
            line = line.removeprefix("\ufeff")
        self.text._refuse_nul(line, self.count)
        self.taken.append(line)
        return line

    def _end(self) -> None:
        """Leave out what stands below the table, unless it is in a quoted field."""
        self.ended, text = True, "".join(self.ahead)
        end = rows_end(text, self.text.separator, self.quotes)
        self.text.note_below(text[end:])
        self.ahead = deque(io.StringIO(text[:end], newline=""))


def encoding_of(sample: bytes, given: str, label: str) -> str:
    """The encoding of a text that begins so: the given one, unless UTF-8 is given and it is not.

    Latin letters in UTF-16 have a zero in every other byte, and so have the ends of lines.
    """
    marked = next((name for mark, name in MARKS.items() if sample.startswith(mark)), None)
    if given.lower() in ("utf-16", "utf-32", "utf16", "utf32") and marked is None:
        if sample and 0 not in sample:
            raise TableError(f"{label} is not in {given}: leave --encoding out.")
        return f"{given}-le"  # decoders of streams want a mark, or the order in the name
    if given.lower() not in ("utf-8", "utf8"):
        return given
    if marked is not None:
        return marked
    content = np.frombuffer(sample[: len(sample) // 2 * 2], np.uint8)
    if len(content) < 4:
        return "utf-8"
    even, odd = (content[0::2] == 0).mean(), (content[1::2] == 0).mean()
    if max(even, odd) > 0.5 and min(even, odd) < 0.1:
        return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8"


def _ends(content: bytes) -> int:
    """How many lines end in some bytes."""
    return max(content.count(b"\n"), content.count(b"\r"))


def _fields_agree(content: bytes, separator: str, width: int) -> bool:
    """Whether every row has ``width`` fields, and every quote its place: without a Python loop.

    In their order, a quote that opens stands behind a separator, the end of a line or a quote that
    has just closed, and one that closes stands before such. False also where only a loop can tell.
    """
    if ord(separator) > 127 or (b"\r" in content and b'"' in content):
        return False
    marked = f'\n{separator}"'.encode()
    others, cells = bytes({*range(256)}.difference(marked)), np.frombuffer(content, np.uint8)
    inside, since = 0, 0  # a quoted field; separators since the last row ended
    for start in range(0, len(content), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        marks = np.frombuffer(content[part].translate(None, others), np.uint8)
        quotes = marks == ord('"')
        if inside or quotes.any():
            at = start + np.flatnonzero(cells[part] == ord('"'))
            at[inside::2] -= 1  # what stands before a quote that opens, and behind one that closes
            at[1 - inside :: 2] += 1
            if cells.take(at, mode="clip").tobytes().strip(marked):
                return False
            quoted = (np.cumsum(quotes, dtype=np.uint8) + np.uint8(inside)) & 1
            inside = int(quoted[-1]) if len(quoted) else inside
            marks = marks[(quoted | quotes) == 0]
        ends = np.flatnonzero(marks == ord("\n"))
        if len(ends) and (since + ends[0] != width - 1 or (np.diff(ends) != width).any()):
            return False
        since = len(marks) - int(ends[-1]) - 1 if len(ends) else since + len(marks)
    return not inside and since == (0 if content.endswith(b"\n") else width - 1)


def _mended(text: str, separator: str) -> str:
    """The same table with no CR for a line end, and no quote in a field that has none around it."""
    if '"' not in text:
        return text.replace("\r\n", "\n").replace("\r", "\n")
    separator = re.escape(separator)
    begin, plain = f"(?<![^{separator}\\r\\n])", f"[^{separator}\\r\\n]"
    stray = f'{begin}[^{separator}\\r\\n"]++"{plain}*'
    if not re.search(f"\\r(?!\\n)|{stray}", text):
        return text
    parts = re.compile(f'({begin}"(?:[^"]|"")*+")|({stray})|\\r\\n?')

    def mended(part: re.Match) -> str:
        quoted, bare = part.groups()
        return quoted or ("\n" if bare is None else '"' + bare.replace('"', '""') + '"')

    return parts.sub(mended, text)
