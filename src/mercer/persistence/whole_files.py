"""Writes files whole or not at all, and opens files to read.

A file is written beside its target under a name that nobody else has, synchronised, and renamed.
While it is written it is locked; the system takes the lock away when the process ends, however it
ends. So the next process that writes to the same target can distinguish files of dead processes
from those of living ones, and removes them.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from mercer.persistence.json_texts import ModelFileError

try:
    import fcntl
except ImportError:  # Windows, which does not let go of files that somebody has open
    fcntl = None


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write a file whole or not at all, as `written_whole` does."""
    with written_whole(path) as file:
        file.write(content)


@contextmanager
def written_whole(path: str | os.PathLike, replace: bool = True) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of ``path`` when it is complete.

    With ``replace=False`` it is a FileExistsError if there is such a file by then: of several
    processes that write it at once, one succeeds.

    It is a temporary file beside ``path``, which is synchronised and renamed at the end. On any
    error (full disk, interruption) it is removed, and a file that was there before is unchanged.
    Any number of threads and processes may do this at once: the last one to finish wins. A link
    stays a link, and the file that it leads to is replaced. The new file has the permissions of the
    old one.

    Raises
    ------
    OSError
        The file cannot be written, or ``path`` is a folder, a device, a pipe or a socket.
    """
    with _named(path), _begun(path) as new:
        yield new.file
        new.complete()
        new.place(replace)


def write_together(
    parts: Sequence[tuple[Path, Callable[[IO[bytes]], object]]],
    note: Callable[[list[list[int]]], object],
) -> None:
    """Write several files, and put all of them in place when all are complete.

    If one cannot be written, no target has changed. Only a process that is killed between two
    renames leaves some in place; ``note`` is called before the first one with the stamp of each
    file, by which `stamp` knows it again.

    Parameters
    ----------
    parts : list of (path, function)
        The targets, and what writes the content of each to a file that is open.
    note : callable
    """
    with ExitStack() as stack:
        made = []
        for path, write in parts:
            with _named(path):
                new = stack.enter_context(_begun(path))
                write(new.file)
                new.complete()
                made.append(new)
        note([stamp(new.temporary) for new in made])
        for (path, _), new in zip(parts, made, strict=True):
            with _named(path):
                new.place()


def stamp(path: str | os.PathLike) -> list[int]:
    """A stamp of a file that renaming keeps and writing changes."""
    found = os.stat(path)
    return [found.st_ino, found.st_size, found.st_mtime_ns]


@contextmanager
def _named(path: str | os.PathLike) -> Iterator[None]:
    """Errors of the system with the name of the target."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)  # a full disk names no file, and a rename names two
        del error.filename2
        raise


class _New:
    """A temporary file that is to take the place of its target."""

    def __init__(self, target: Path, file: IO[bytes]):
        self.target, self.file, self.temporary = target, file, Path(file.name)
        self.placed = False

    def complete(self) -> None:
        """All that was written is on the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())

    def place(self, replace: bool = True) -> None:
        """Rename it."""
        if fcntl is None:
            self.file.close()  # Windows renames nothing that is open
        if replace:
            os.replace(self.temporary, self.target)  # still locked, or a sweep might take it away
            self.placed = True
        else:
            _link(self.temporary, self.target)
        _sync_folder(self.target.parent)


@contextmanager
def _begun(path: str | os.PathLike) -> Iterator[_New]:
    """A new file for a target, which is removed in the end if it was not put in place."""
    target = Path(os.path.realpath(path))  # the end of all links, whether it exists or not
    exists = _is_regular(target)
    _sweep(target)
    new = None
    try:
        with _temporary(target, 0o600 if exists else 0o666) as file:
            new = _New(target, file)
            if exists:
                shutil.copymode(target, new.temporary)
            try:
                yield new
            except BaseException:
                with suppress(OSError):  # what a full disk lacks room for is not tried again
                    file.close()
                raise
    finally:
        if new is not None and not new.placed:
            new.temporary.unlink(missing_ok=True)


def open_regular(path: str | os.PathLike) -> IO[bytes]:
    """Open a file to read its bytes.

    A device, a pipe or a socket, which might never answer or never end, is a ModelFileError.
    """
    wait_for_nobody = getattr(os, "O_NONBLOCK", 0)  # opening a pipe would wait for a writer
    try:
        file = open(  # noqa: SIM115 - the caller closes it
            path, "rb", opener=lambda name, flags: os.open(name, flags | wait_for_nobody)
        )
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {str(path)!r}.") from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise ModelFileError(
            f"{str(path)!r} is a device, a pipe or a socket. Give the name of a file on a disk."
        )
    return file


def _link(source: Path, target: Path) -> None:
    """Give a file a second name, which nothing has yet."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: two that come at the same moment may both pass
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        os.replace(source, target)


def _is_regular(target: Path) -> bool:
    """Whether there is a file to replace; anything else is refused."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "This is a folder; give the name of a file in it")
    if not stat.S_ISREG(mode):
        what = "This is a device, a pipe or a socket; give the name of a file on a disk"
        raise OSError(errno.EINVAL, what)
    return True


# --- temporary files -----------------------------------------------------------------------------


def _prefix(target: Path) -> str:
    """How the names of all temporary files of a target begin; short, however long its name is."""
    digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()
    return f".mercer-{digest[:16]}-"


def _temporary(target: Path, mode: int) -> IO[bytes]:
    """A new file beside a target, locked for as long as it is open."""
    while True:
        path = target.with_name(f"{_prefix(target)}{secrets.token_hex(8)}.tmp")
        file = open(  # noqa: SIM115 - the caller closes it
            path, "xb", opener=lambda name, flags: os.open(name, flags, mode)
        )
        try:
            if _locked(file) is not False and path.exists():
                return file
        except BaseException:
            file.close()
            path.unlink(missing_ok=True)
            raise
        file.close()  # a sweep came between the two lines above, and has removed it


def _locked(file: IO[bytes]) -> bool | None:
    """Lock a file; False if somebody else has locked it, None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _sweep(target: Path) -> None:
    """Remove the temporary files of this target that no living process writes."""
    prefix = _prefix(target)
    found: list[Path] = []
    with suppress(OSError), os.scandir(target.parent) as entries:  # it may not be for us to list
        found = [Path(e.path) for e in entries if e.name.startswith(prefix) and not e.is_symlink()]
    for path in found:
        with suppress(OSError):  # somebody else's, or already gone
            _remove_stale(path)


def _remove_stale(path: Path) -> None:
    """Remove a file that no process holds any more."""
    if fcntl is None:
        path.unlink()  # Windows refuses to remove what is open
        return
    with open(path, "r+b") as file:
        if _locked(file):
            path.unlink()


def _sync_folder(folder: Path) -> None:
    """Make a new name survive a power failure, where the system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows, or a folder that may be written to but not listed
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not on this file system
            raise
    finally:
        os.close(descriptor)
