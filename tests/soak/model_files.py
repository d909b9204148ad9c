"""Model files under attack, under the axe and on a full disk: each trial is one file's bad day.

Files with flipped bytes and forged files end in an object or in a `ModelFileError`. A process that
is killed while it saves leaves the old model or the new one, whole, and the next save leaves
nothing beside it. Threads and processes that save to one path and load from it at the same time
always find a whole model. What does not fit on the disk leaves the old file as it was.
"""

from __future__ import annotations

import functools
import os
import resource
import signal
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import mercer
from fuzz import fuzz_model_files
from fuzz.driver import Source
from mercer.distances import Minkowski
from mercer.persistence import write_whole
from mercer.search import BruteForce, Index

__all__ = ["TRIALS"]

Trial = Callable[[np.random.Generator, Path], None]


@functools.cache
def models() -> list:
    """Two models that differ in what they are and in how long they are."""
    X = np.random.default_rng(0).normal(size=(300, 5))
    short = mercer.KernelRidge(kernel="rbf").fit(X[:20], X[:20, 0])
    return [short, mercer.SVC(kernel="linear").fit(X, X[:, 0] > 0)]


def assert_whole(path: Path) -> None:
    """The file holds one of the two models, with all its numbers."""
    found = mercer.load(path)
    (model,) = [m for m in models() if type(m) is type(found)]
    np.testing.assert_array_equal(found.dual_coef_, model.dual_coef_)


def in_child(work: Callable[[], None]) -> int:
    """The number of a process that does this, and then ends with 0, or with 1 after an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: none is used in the child
        child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


# --- files that are not as they were written -----------------------------------------------------


def flipped_bytes(rng: np.random.Generator, folder: Path) -> None:
    files = fuzz_model_files.whole_files()
    content = fuzz_model_files.flipped(Source(rng.bytes(40)), files[rng.integers(len(files))])
    (folder / "file").write_bytes(content)
    for read in (mercer.load, Index.load):
        fuzz_model_files.outcome(read, folder / "file")


def forged_file(rng: np.random.Generator, folder: Path) -> None:
    fuzz_model_files.one_input(rng.bytes(int(rng.choice([10, 40, 120]))))


def bomb(rng: np.random.Generator, folder: Path) -> None:
    """A file that would become at least 1000 times as large, with a whole one around it."""
    files = fuzz_model_files.whole_files()
    members = fuzz_model_files.members_of(files[rng.integers(len(files))])
    at = rng.integers(len(members))
    zeros = bytes(int(rng.integers(2**27, 2**28)))
    members[at] = (members[at][0], zeros)
    method = int(rng.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2]))
    path = folder / "file"
    path.write_bytes(fuzz_model_files.packed(members, method))
    del members, zeros
    for read in (mercer.load, Index.load):
        assert fuzz_model_files.outcome(read, path) == "refused"


# --- saves that end early ------------------------------------------------------------------------


def killed(rng: np.random.Generator, folder: Path) -> None:
    """A process saves again and again, and is killed at some moment; five times."""
    path = folder / "model.mercer"
    mercer.save(models()[0], path)
    for _ in range(5):

        def save_again_and_again() -> None:
            while True:
                for model in models():
                    mercer.save(model, path)

        kill(in_child(save_again_and_again), rng.uniform(0, 0.04))
        assert_whole(path)
    mercer.save(models()[1], path)
    assert os.listdir(folder) == [path.name]
    assert_whole(path)


def killed_while_writing(rng: np.random.Generator, folder: Path) -> None:
    """The same with bytes of any length, so that most of the time goes into writing; ten times."""
    path = folder / ("m" * int(rng.integers(1, 256)))
    contents = [bytes([i]) * int(rng.integers(1, 2 ** int(rng.integers(1, 22)))) for i in range(2)]
    write_whole(path, contents[0])
    for _ in range(10):

        def write_again_and_again() -> None:
            while True:
                for content in contents:
                    write_whole(path, content)

        kill(in_child(write_again_and_again), rng.uniform(0, 0.02))
        assert path.read_bytes() in contents
        assert len(os.listdir(folder)) <= 2  # what the one before left was removed
    write_whole(path, b"last")
    assert os.listdir(folder) == [path.name]


def killed_index(rng: np.random.Generator, folder: Path) -> None:
    path = folder / "rows.index"
    X = np.random.default_rng(0).normal(size=(2000, 20))
    index = BruteForce(Minkowski()).fit(X)
    index.save(path)

    def save_again_and_again() -> None:
        while True:
            index.save(path)

    for _ in range(3):
        kill(in_child(save_again_and_again), rng.uniform(0, 0.05))
        loaded = BruteForce.load(path, check=True)
        np.testing.assert_array_equal(loaded.query(X[:3], 2)[1], index.query(X[:3], 2)[1])
    index.save(path)
    assert os.listdir(folder) == [path.name]


def kill(child: int, seconds: float) -> None:
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def full_disk(rng: np.random.Generator, folder: Path) -> None:
    """No file of a process may be longer than this, which ends in the error of a full disk."""
    path = folder / "model.mercer"
    mercer.save(models()[0], path)
    before = path.read_bytes()
    size = int(rng.integers(0, 2**14))  # the other model has more

    def fail_to_save() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        with pytest.raises(OSError, match="File too large") as failed:
            mercer.save(models()[1], path)
        assert failed.value.filename == str(path)

    child = in_child(fail_to_save)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert path.read_bytes() == before
    assert os.listdir(folder) == [path.name]


# --- many at once --------------------------------------------------------------------------------


def many_at_once(rng: np.random.Generator, folder: Path) -> None:
    """Threads and processes save to one path, by links as well, and load from it."""
    path = folder / "model.mercer"
    mercer.save(models()[0], path)
    ways = [path]
    for number in range(int(rng.integers(3))):
        link = folder / f"link{number}"
        link.symlink_to(ways[-1].name)
        ways.append(link)

    def save_and_load(seed: int) -> None:
        mine = np.random.default_rng(seed)
        for _ in range(4):
            way = ways[mine.integers(len(ways))]
            if mine.random() < 0.7:
                mercer.save(models()[mine.integers(2)], way)
            assert_whole(way)

    seeds = rng.integers(2**32, size=10).tolist()
    children = [in_child(functools.partial(save_and_load, seed)) for seed in seeds[:2]]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(save_and_load, seeds[2:]))
    for child in children:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sorted(os.listdir(folder)) == sorted(way.name for way in ways)
    assert all(way.is_symlink() for way in ways[1:])
    assert not path.is_symlink()


TRIALS: dict[str, Trial] = {
    "flipped bytes": flipped_bytes,
    "forged file": forged_file,
    "bomb": bomb,
    "killed": killed,
    "killed while writing": killed_while_writing,
    "killed index": killed_index,
    "full disk": full_disk,
    "many at once": many_at_once,
}
