"""Whole writes: what is there before, during and after a write, whoever else writes or dies."""

import errno
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from mercer.persistence import (
    ModelFileError,
    open_regular,
    stamp,
    whole_files,
    write_together,
    write_whole,
    written_whole,
)

posix = pytest.mark.skipif(os.name != "posix", reason="links, pipes, locks and signals of POSIX")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mercer"


def names(path):
    return sorted(os.listdir(path.parent))


def test_one_target_and_many_threads(path):
    contents = [bytes([number]) * 50_000 for number in range(8)]
    write_whole(path, contents[0])

    def write_and_read(content):
        for _ in range(20):
            write_whole(path, content)
            assert path.read_bytes() in contents

    with ThreadPoolExecutor(len(contents)) as pool:
        list(pool.map(write_and_read, contents))
    assert names(path) == [path.name]


def test_two_writes_at_once(path):
    """Neither takes the other's file away; the last to finish wins."""
    with written_whole(path) as first:
        first.write(b"first")
        with written_whole(path) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
        assert first.name != second.name
        with pytest.raises(KeyboardInterrupt):
            interrupted(path)
        assert names(path) == sorted([path.name, os.path.basename(first.name)])
    assert path.read_bytes() == b"first"
    assert names(path) == [path.name]


DIES = """
import os, signal, sys
from mercer.persistence import written_whole
with written_whole(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@posix
def test_what_a_dead_process_left_is_removed_by_the_next_write(path):
    path.write_bytes(b"old")
    other = path.with_name("model.mercer.2")
    for target in (path, other):
        died = subprocess.run([sys.executable, "-c", DIES, str(target)], check=False)
        assert died.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    assert len(names(path)) == 3
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert len(names(path)) == 2  # that of the other target is not ours to judge
    write_whole(other, b"new")
    assert names(path) == sorted([path.name, other.name])


def test_the_file_is_replaced_and_not_written_into(path):
    write_whole(path, b"old " * 10)
    with path.open("rb") as reader:
        before = os.fstat(reader.fileno())
        write_whole(path, b"new")
        assert reader.read() == b"old " * 10
        assert os.fstat(reader.fileno()).st_ino == before.st_ino != path.stat().st_ino
    with written_whole(path) as file:
        file.write(b"newer")
        file.flush()
        assert path.read_bytes() == b"new"


@posix
def test_the_content_is_on_the_disk_before_its_name_and_then_the_name(path, monkeypatch):
    steps = []
    fsync, replace = os.fsync, os.replace

    def told_fsync(descriptor):
        found = os.fstat(descriptor)
        steps.append("folder" if stat.S_ISDIR(found.st_mode) else ("content", found.st_size))
        fsync(descriptor)

    def told_replace(*paths):
        steps.append("name")
        replace(*paths)

    monkeypatch.setattr(os, "fsync", told_fsync)
    monkeypatch.setattr(os, "replace", told_replace)
    write_whole(path, b"12345")
    assert steps == [("content", 5), "name", "folder"]


@posix
@pytest.mark.parametrize("number", [errno.EINVAL, errno.EIO])
def test_a_folder_that_cannot_be_synchronised(path, number, monkeypatch):
    fsync = os.fsync

    def on_files(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", on_files)
    if number == errno.EINVAL:  # some file systems have no such thing
        write_whole(path, b"new")
    else:
        with pytest.raises(OSError, match=r"Input/output.*model\.mercer"):
            write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert names(path) == [path.name]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_keeps_the_old_file(path, step, monkeypatch):
    write_whole(path, b"old")

    def full(*paths):
        names = ["one name", None, "another"][: 3 * (len(paths) - 1)]
        raise OSError(errno.ENOSPC, "No space left on device", *names)

    with monkeypatch.context() as patch:
        patch.setattr(os, step, full)
        with pytest.raises(OSError, match=r"No space left on device: '[^']*model\.mercer'$"):
            write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(path) == [path.name]
    with pytest.raises(KeyboardInterrupt):
        interrupted(path)
    assert path.read_bytes() == b"old"
    assert names(path) == [path.name]


def interrupted(path):
    with written_whole(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt


@posix
def test_links_stay_and_their_end_is_replaced(path):
    folder = path.parent / "folder"
    folder.mkdir()
    target = folder / "target"
    path.symlink_to("second")
    path.with_name("second").symlink_to(os.path.join("folder", "target"))
    for content in (b"the end of a link that is not there yet", b"and one that is"):
        write_whole(path, content)
        assert path.is_symlink()
        assert not target.is_symlink()
        assert target.read_bytes() == content
    assert os.listdir(folder) == ["target"]
    loop = path.with_name("loop")
    loop.symlink_to("loop")
    with pytest.raises(OSError, match="loop"):
        write_whole(loop, b"content")
    assert loop.is_symlink()


@posix
def test_what_is_no_file_is_refused_and_stays(path):
    folder = path.parent / "folder"
    folder.mkdir()
    with pytest.raises(IsADirectoryError, match=r"a folder; give the name of a file in it.*folder"):
        write_whole(folder, b"content")
    pipe, link = path.with_name("pipe"), path.with_name("link")
    os.mkfifo(pipe)
    link.symlink_to("pipe")
    unix = socket.socket(socket.AF_UNIX)
    unix.bind(str(path.with_name("socket")))
    for special in (pipe, link, path.with_name("socket")):
        before = os.stat(special)
        with pytest.raises(OSError, match="a device, a pipe or a socket; give the name of a file"):
            write_whole(special, b"content")
        assert os.stat(special) == before
        if special is not path.with_name("socket"):
            with pytest.raises((ModelFileError, OSError), match="device"):
                open_regular(special)
    unix.close()
    with pytest.raises(ModelFileError, match="device"):
        open_regular("/dev/zero")
    assert names(path) == ["folder", "link", "pipe", "socket"]


@pytest.mark.parametrize("letter", ["m", "é", "模"])
def test_names_as_long_as_the_file_system_allows(path, letter):
    long = path.with_name(letter * (255 // len(letter.encode())))
    for content in (b"old", b"new"):
        write_whole(long, content)
        assert long.read_bytes() == content
    assert names(path) == [long.name]
    with pytest.raises(OSError, match="too long"):
        write_whole(path.with_name("m" * 256), b"content")


@posix
def test_permissions(path, monkeypatch):
    before = os.umask(0o027)
    copymode = shutil.copymode

    def told_copymode(old, new):
        assert stat.S_IMODE(os.stat(new).st_mode) == 0o600
        copymode(old, new)

    monkeypatch.setattr(shutil, "copymode", told_copymode)
    try:
        write_whole(path, b"new")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o600)
        with written_whole(path) as file:  # nobody else can read it in the meantime
            assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600
        path.chmod(0o664)
        write_whole(path, b"newer")
        assert stat.S_IMODE(path.stat().st_mode) == 0o664
    finally:
        os.umask(before)


def test_a_missing_folder(path):
    with pytest.raises(FileNotFoundError, match=r"folder.*model\.mercer"):
        write_whole(path.parent / "folder" / path.name, b"content")
    with pytest.raises(FileNotFoundError, match="There is no file"):
        open_regular(path)


@posix
def test_a_file_system_without_locks(path, monkeypatch):
    stale = path.with_name(whole_files._prefix(path) + "0.tmp")
    stale.write_bytes(b"of whom?")

    def none(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(whole_files.fcntl, "flock", none)
    write_whole(path, b"content")
    assert path.read_bytes() == b"content"
    assert stale.exists()  # a living process may write it


def test_a_system_that_locks_by_opening(path, monkeypatch):
    """As Windows: what can be removed is open nowhere, and nothing is renamed while it is open."""
    stale = path.with_name(whole_files._prefix(path) + "0.tmp")
    stale.write_bytes(b"of a dead process")
    monkeypatch.setattr(whole_files, "fcntl", None)
    replace, written = os.replace, []

    def closed_replace(*paths):
        assert written[0].closed
        replace(*paths)

    monkeypatch.setattr(os, "replace", closed_replace)
    with written_whole(path) as file:
        written.append(file)
        file.write(b"content")
    assert path.read_bytes() == b"content"
    assert names(path) == [path.name]


@posix
def test_an_interruption_before_a_new_file_is_locked(path, monkeypatch):
    def stopped(file):
        raise KeyboardInterrupt

    monkeypatch.setattr(whole_files, "_locked", stopped)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"content")
    assert names(path) == []


@posix
def test_a_sweep_between_making_a_file_and_locking_it(path, monkeypatch):
    locked, tried = whole_files._locked, []

    def after_a_sweep(file):
        tried.append(file.name)
        if len(tried) == 1:
            os.unlink(file.name)  # by another process, which has locked it first
        return locked(file)

    monkeypatch.setattr(whole_files, "_locked", after_a_sweep)
    write_whole(path, b"content")
    assert path.read_bytes() == b"content"
    assert len(set(tried)) == 2


@posix
def test_a_new_file_that_a_sweep_has_locked_first_is_left_to_it(path, monkeypatch):
    locked, sweeps = whole_files._locked, []

    def behind_a_sweep(file):
        if not sweeps:
            sweeps.append(open(file.name, "rb"))  # noqa: SIM115 - closed below
            assert locked(sweeps[0])
        return locked(file)

    monkeypatch.setattr(whole_files, "_locked", behind_a_sweep)
    with written_whole(path) as file:
        os.unlink(sweeps[0].name)
        sweeps[0].close()
        file.write(b"content")
    assert path.read_bytes() == b"content"
    assert names(path) == [path.name]


def test_links_with_the_names_of_temporary_files_are_left_alone(path):
    secret = path.with_name("secret")
    secret.write_bytes(b"secret")
    planted = path.with_name(whole_files._prefix(path) + "0.tmp")
    planted.symlink_to("secret")
    write_whole(path, b"content")
    assert secret.read_bytes() == b"secret"
    assert planted.is_symlink()


def test_of_several_that_must_not_replace_one_succeeds(tmp_path):
    path = tmp_path / "file"
    first = written_whole(path, replace=False)
    first.__enter__().write(b"first")
    with written_whole(path, replace=False) as second:
        second.write(b"second")
    with pytest.raises(FileExistsError) as said:
        first.__exit__(None, None, None)
    assert said.value.filename == str(path)
    assert path.read_bytes() == b"second"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_without_links_a_file_is_not_replaced_either(tmp_path, monkeypatch):
    def none(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", none)
    path = tmp_path / "file"
    with written_whole(path, replace=False) as file:
        file.write(b"first")
    with pytest.raises(FileExistsError), written_whole(path, replace=False) as file:
        file.write(b"second")
    assert path.read_bytes() == b"first"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_files_are_written_together_or_not_at_all(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"before")
    noted = []

    def note(stamps):
        noted.extend(stamps)
        assert first.read_bytes() == b"before"  # nothing is in place yet
        assert not second.exists()

    write_together(
        [(first, lambda file: file.write(b"1")), (second, lambda file: file.write(b"22"))], note
    )
    assert [first.read_bytes(), second.read_bytes()] == [b"1", b"22"]
    assert noted == [stamp(first), stamp(second)]
    os.utime(second)
    assert noted[1] != stamp(second)
    assert sorted(os.listdir(tmp_path)) == ["first", "second"]


@pytest.mark.parametrize("full", ["first", "second"])
def test_a_disk_that_is_full_for_one_of_several_files_is_said_of_that_one(full, tmp_path):
    resource = pytest.importorskip("resource")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    sizes = {"first": 10, "second": 10, full: 5000}  # less than a buffer
    parts = [
        (tmp_path / name, lambda file, name=name: file.write(bytes(sizes[name])))
        for name in ("first", "second")
    ]
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
        with pytest.raises(OSError, match="too large") as caught:
            write_together(parts, lambda stamps: None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)
    assert caught.value.filename == str(tmp_path / full)
    assert not os.listdir(tmp_path)
