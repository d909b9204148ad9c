"""Files of tables: found by name or pattern, uncompressed, and watched while they are read.

A `ByteSource` is one file or standard input. Everything that can go wrong with its bytes ends in a
`TableError` that names it. What a model file carries along of the user's file stands at the end:
the target's name and the rows' numbers. A model counts the rows that it was fitted to; rows without
a target, rows of weight 0 and rows that were held out are not among them, but a user looks rows up
in the file.
"""

from __future__ import annotations

import bz2
import glob
import gzip
import importlib
import io
import lzma
import os
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, cast

from mercer.cli.terminal import OptionError, TableError

if TYPE_CHECKING:
    import numpy as np
    from sklearn.base import BaseEstimator

    from mercer.learners.additive import ColumnReasons
    from mercer.selection.automatic import Reasons


STDIN = Path("-")
COMPRESSIONS: dict[str, Callable] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
PACKED = (*COMPRESSIONS, ".zst", ".zip")
#: the first bytes of what may come through a pipe
MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}
PATTERN = set("*?[")


def find_sources(given: Sequence[Path]) -> list[ByteSource]:
    """The files that names and patterns such as ``part-*.csv`` mean, by the order of names.

    A folder means the graphs in it, and in its folders.
    """
    found: list[ByteSource] = []
    for path in given:
        if path != STDIN and os.path.isdir(path):
            found += _graphs_within(path)
            continue
        if path == STDIN or not PATTERN & set(str(path)) or os.path.exists(path):
            found.append(ByteSource(path))
            continue
        names = sorted(glob.glob(str(path)))
        if not names:
            raise TableError(f"There is no file {path}: no name matches the pattern.")
        found += [ByteSource(Path(name)) for name in names]
    return found


def _graphs_within(folder: Path) -> list[ByteSource]:
    """The files of GraphML in a folder, or in the folders in it, whose names they have then."""
    inside = sorted(
        path for path in folder.rglob("[!.]*")
        if path.is_file() and path.name.lower().removesuffix(".gz").endswith(".graphml")
    )  # fmt: skip
    if not inside:
        raise TableError(
            f"{folder} cannot be read: it is a folder without graphs (.graphml). Give the name of "
            "a file, or such a folder."
        )
    named = any(path.parent != folder for path in inside)
    return [ByteSource(path, path.parent.relative_to(folder).as_posix() if named else "")
            for path in inside]  # fmt: skip


def new_rows(table: Path) -> str:
    """What stands for new rows in a command: a name in the form of the training table.

    Examples
    --------
    >>> new_rows(Path("old/part-*.parquet")), new_rows(Path("table.csv.gz")), new_rows(Path("-"))
    ('NEW.parquet', 'NEW.csv.gz', 'NEW.csv')
    """
    if table.is_dir():
        return "NEW_FOLDER"
    packed = table.suffix.lower() in PACKED
    return f"NEW{''.join(table.suffixes[-2 if packed else -1 :]) or '.csv'}"


class ByteSource:
    """A file with bytes, uncompressed on the way; ``-`` is standard input, which is read at once.

    ``label`` is what messages call it, and ``name`` tells the format: it is the name without the
    suffix of a compression. ``folder`` is where it lies within a folder that was given; "" for
    other files.
    """

    def __init__(self, path: Path, folder: str = ""):
        self.path, self.folder = path, folder
        self.label = "Standard input" if path == STDIN else str(path)
        self._piped = _read_stdin() if path == STDIN else b""
        self._stamp = None if path == STDIN else _stamp(path)
        suffix = path.suffix.lower() if path != STDIN else _magic(self._piped, MAGIC)
        self.compression = suffix if suffix in PACKED else ""
        self.name = path.stem if self.compression else path.name
        if self.compression == ".zip":
            with self._bytes() as file, self._blamed(), zipfile.ZipFile(file) as archive:
                self.name = Path(self._member(archive)).name

    @property
    def size(self) -> int:
        """Bytes of the file, compressed or not."""
        return len(self._piped) if self.path == STDIN else os.stat(self.path).st_size

    @property
    def plain(self) -> bool:
        """Whether other libraries may open the path themselves."""
        return self.path != STDIN and not self.compression

    def read(self) -> bytes:
        """All bytes, uncompressed."""
        with self.opened() as file:
            return file.read()

    @contextmanager
    def opened(self, after: int = 0) -> Iterator[BinaryIO]:
        """A stream of the bytes, uncompressed, without the first ``after`` of them.

        It is a TableError if the file cannot be read, or was written to since the first look.
        """
        with self._bytes() as file, self._uncompressed(file) as stream:
            reader = io.BufferedReader(cast(Any, _Blaming(self, stream)), 1 << 16)
            if self.compression:
                while after > 0 and (some := reader.read(min(after, 1 << 20))):
                    after -= len(some)
            else:
                file.seek(after)
            yield cast(BinaryIO, reader)
        self.check_unchanged()

    def check_unchanged(self) -> None:
        """Refuse a file that another program has written to since the first look."""
        if self._stamp is not None and _stamp(self.path) != self._stamp:
            raise TableError(
                f"{self.label} was changed while it was read. Wait until it is complete, or read a "
                "copy."
            )

    @contextmanager
    def _bytes(self) -> Iterator[IO[bytes]]:
        """The bytes of the file, as they lie on the disk."""
        if self.path == STDIN:
            yield io.BytesIO(self._piped)
            return
        with self._blamed():
            raw = self.path.open("rb")
        with raw:
            yield raw

    @contextmanager
    def _uncompressed(self, file: IO[bytes]) -> Iterator[Any]:
        """The bytes of the file without its compression."""
        if not self.compression:
            yield file
        elif self.compression == ".zip":
            with self._blamed():
                archive = zipfile.ZipFile(file)
                stream = archive.open(self._member(archive))
            with archive, stream:
                yield stream
        else:
            unpack = zstd_open(self.label) if self.compression == ".zst" else None
            with (unpack or COMPRESSIONS[self.compression])(file) as stream:
                yield stream

    def _member(self, archive: zipfile.ZipFile) -> str:
        """The name of the one file in a zip archive."""
        members = [m for m in archive.namelist() if not m.endswith("/")]
        if len(members) != 1:
            raise TableError(
                f"{self.label} holds {len(members)} files: {members[:5]}. Unpack it, and give the "
                "one that is the table."
            )
        return members[0]

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        """Errors of the bytes as errors of the table."""
        try:
            yield
        except TableError:
            raise
        except OSError as error:
            if not self.compression:
                raise TableError(f"{self.label} cannot be read: {error.strerror}.") from error
            raise self._torn(error) from error
        except Exception as error:  # each of these libraries raises several types of its own
            raise self._torn(error) from error

    def _torn(self, error: Exception) -> TableError:
        return TableError(
            f"{self.label} cannot be uncompressed: {error}. Copy or compress it again."
        )


class _Blaming(io.RawIOBase):
    """A stream whose errors name the file."""

    def __init__(self, source: ByteSource, stream: Any):
        self.source, self.stream = source, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with self.source._blamed():
            content = self.stream.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def readall(self) -> bytes:
        with self.source._blamed():
            return self.stream.read()


def _stamp(path: Path) -> tuple[int, int, int]:
    """What changes if a file is written to."""
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe might never end
        what = "a folder" if os.path.isdir(path) else "a pipe or a device"
        raise TableError(f"{path} cannot be read: it is {what}. Give the name of a file.")
    try:
        found = os.stat(path)
    except (FileNotFoundError, ValueError):  # a name with NUL
        raise TableError(f"There is no file {path}.") from None
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}.") from error
    return found.st_mtime_ns, found.st_size, found.st_ino


def _magic(content: bytes, known: dict[bytes, str]) -> str:
    return next((suffix for begin, suffix in known.items() if content.startswith(begin)), "")


def _read_stdin() -> bytes:
    """All of standard input."""
    how = "Pipe a table into the command, as in: cat t.csv | mercer check -"
    if sys.stdin is None or sys.stdin.closed:
        raise TableError(f"Standard input is closed. {how}")
    if sys.stdin.isatty():
        raise TableError(f"Standard input is the keyboard. {how}")
    try:
        content = sys.stdin.buffer.read()
    except (OSError, ValueError) as error:
        raise TableError(f"Standard input cannot be read: {error}. {how}") from error
    if not content:
        raise TableError(
            f"Standard input is empty: the program before the pipe wrote nothing. {how}"
        )
    return content


def zstd_open(label: str) -> Callable:
    """``open`` for .zst files, which Python has from version 3.14 on."""
    for module in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(module).open
        except ImportError:
            continue
    raise TableError(
        f'{label}: to read .zst, pip install "mercer[formats]" (or use Python 3.14), or uncompress '
        f"it first: zstd -d {label}"
    )


def note_origin(model: Any, target: str, rows: np.ndarray) -> None:
    """Note in a fitted model which column it predicts, and which rows, from 0, it was fitted to.

    ``file_target_``, and ``file_rows_`` with the numbers of ``stored_rows_``, are saved with the
    model.
    """
    model.file_target_, model.file_rows_ = target, rows[model.stored_rows_]


def target_of(model: BaseEstimator) -> str:
    """The column that a model predicts; an OptionError where its file does not say."""
    name = getattr(model, "file_target_", None)
    if name is None:
        raise OptionError(
            "--target is missing, and the model does not know the name, since it was not fitted by "
            "mercer fit: give the column that it predicts."
        )
    return name


def targets_of(model: BaseEstimator) -> list[str]:
    """The names of the several targets that a model predicts; none of any other model."""
    return [str(name) for name in getattr(model, "targets_", None) or []]


def in_file(model: Any, reasons: Reasons | ColumnReasons) -> Reasons | ColumnReasons:
    """Reasons with the row numbers of the file, where the model knows them."""
    import numpy as np

    from mercer.learners.additive import ColumnReasons

    rows, stored = getattr(model, "file_rows_", None), model.stored_rows_
    if isinstance(reasons, ColumnReasons) or rows is None or len(rows) != len(stored):
        return reasons
    numbers = np.full(int(stored.max(initial=0)) + 1, -1)
    numbers[stored] = rows
    return reasons.renumbered(numbers)
