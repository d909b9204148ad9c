"""What tasks write is read whole, or refused with one kind of error."""

import logging
import random
import warnings
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.persistence import load_arrays, save_arrays, tasks
from mercer.persistence.tasks import StagedTasks, nothing


@pytest.mark.parametrize("seed", range(4))
def test_changed_bytes_are_one_kind_of_error(seed, tmp_path):
    written = {"one": np.arange(5.0), "two": np.array(["a", "b"]), "three": np.array(0.5)}
    path, drawn = tmp_path / "file.npz", random.Random(seed)
    save_arrays(path, **written)
    content, refused, right = path.read_bytes(), 0, 0
    for _ in range(500):
        changed = bytearray(content)
        for _ in range(drawn.randrange(1, 6)):
            changed[drawn.randrange(len(content))] = drawn.randrange(256)
        path.write_bytes(changed[: drawn.choice([len(content), drawn.randrange(len(content))])])
        try:
            with warnings.catch_warnings():  # a header that looks as one of Python 2
                warnings.simplefilter("ignore")
                found = load_arrays(path)
        except ValueError as error:
            refused += "file.npz cannot be read" in str(error)
        else:
            for name in set(found) & set(written):
                assert_array_equal(found[name], written[name])
            right += 1
    assert refused + right == 500
    assert refused > 300


def test_files_and_arrays_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_arrays(tmp_path / "none.npz")
    save_arrays(tmp_path / "file.npz", one=np.arange(3))
    with pytest.raises(ValueError, match=r"file\.npz cannot be read: .*two"):
        load_arrays(tmp_path / "file.npz", "two")


class Late(StagedTasks):
    """Tasks whose files are seen some looks after they were written."""

    tell = nothing

    def __init__(self):
        self.looks, self.asked = 0, []
        self.mapped = lambda _, numbers: self.asked.append(list(numbers)) or []

    def alone(self):
        return None

    def done(self, stage, number=None):
        self.looks += bool(self.asked)
        return self.looks > 2


def test_a_try_waits_for_files_of_other_machines():
    late = Late()
    late.perform_all("stage", range(1))
    assert late.asked == [[0]]


class Shared(StagedTasks):
    """Tasks that other processes do, each some looks after the one before."""

    tell = nothing
    said: ClassVar = {"stage": "Counting"}

    def __init__(self, task, looks):
        self.task, self.looks, self.made = task, looks, set()

    def _stage(self, number=None):
        self.made.add(number)

    def done(self, stage, number=None):
        self.looks -= 1
        if self.looks <= 0:
            self.made |= {None, *range(6)}
        return number in self.made


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(("silent", "again", "times"), [(60, 0, 0), (0, 60, 1), (0, 0, 2)])
def test_a_process_that_waits_says_for_whom(silent, again, times, single, monkeypatch, caplog):
    caplog.set_level(logging.WARNING, "mercer")  # whatever a quiet command has left
    for name, value in (("SILENT", silent), ("AGAIN", again), ("PAUSE", 0.0)):
        monkeypatch.setattr(tasks, name, value)
    shared = Shared((1, 3), 3 if single else 15)  # after two looks at what is left
    if single:
        shared.perform_one("stage")
        words = "Waiting for others: Counting, 0 of 1 done; the rest is of process 1 of 3."
    else:
        shared.perform_all("stage", range(6))
        words = "Waiting for others: Counting, 2 of 6 done; the rest is of process 1, 3 of 3."
    assert caplog.messages == [words] * times
