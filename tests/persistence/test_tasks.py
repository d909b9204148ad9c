"""What tasks write is read whole, or refused with one kind of error."""

import random
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.persistence import load_arrays, save_arrays
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
