"""A form of samples of a user's own is read at every door, as the forms of this library are."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from their_package.form import of_named_axes

import mercer
from mercer.distances import DTW
from mercer.kernels import GlobalAlignment, TableKernel
from mercer.samples import kind_named, read
from mercer.streams import Chunks

rng = np.random.default_rng(0)
RISES = np.arange(12) % 2
SERIES = rng.normal(size=(12, 8, 2)).cumsum(axis=1) + 4 * RISES[:, None, None]


class DataArray:
    """What an array of xarray has."""

    def __init__(self, values, dims):
        self.values, self.dims = values, dims

    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)

    def __getitem__(self, rows):
        return DataArray(self.values[rows], self.dims)


NAMED = DataArray(SERIES.transpose(0, 2, 1), ("patient", "channel", "time"))


@pytest.mark.parametrize("kind", ["series", kind_named("series"), None])
def test_it_is_recognised(kind):
    found, rows = read(NAMED, kind)
    assert found is kind_named("series")
    assert_array_equal(np.stack(rows), SERIES)


def test_arrays_without_times_are_what_they_were():
    assert of_named_axes(DataArray(np.eye(3), ("row", "column"))) is None
    assert read(np.eye(3))[0].name == "vectors"
    assert read(DataArray(np.eye(3), ("row", "column")))[0].name == "vectors"


DOORS = {
    "SVC": lambda: mercer.SVC(kernel=GlobalAlignment()),
    "KernelRidge": lambda: mercer.KernelRidgeClassifier(kernel=GlobalAlignment()),
    "MultipleKernel": lambda: mercer.MultipleKernelClassifier([GlobalAlignment()]),
    "KNeighbors": lambda: mercer.KNeighborsClassifier(3, metric=DTW()),
    "search": lambda: mercer.KernelSearchCV(
        mercer.SVC(kernel=GlobalAlignment()), {"C": [1.0, 10.0]}, cv=2
    ),
    "automatic": lambda: mercer.KernelClassifier(trials=2, random_state=0),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_reads_it(door):
    known, made = DOORS[door]().fit(list(SERIES), RISES), DOORS[door]().fit(NAMED, RISES)
    assert_array_equal(made.predict(NAMED), known.predict(list(SERIES)))


def test_the_form_tells_what_else_were_vectors():
    """Series of one length and one channel."""
    named = DataArray(SERIES[:, :, 0], ("patient", "time"))
    assert read(SERIES[:, :, 0])[0].name == "vectors"
    made = mercer.KernelClassifier(trials=2, random_state=0).fit(named, RISES)
    assert [column.kind for column in made.columns_] == ["series"]


def test_streams_read_it():
    perceptrons = (
        mercer.KernelPerceptron(GlobalAlignment()),
        mercer.KernelPerceptron(GlobalAlignment()),
    )
    ridges = [
        mercer.KernelRidge(0.1, kernel=GlobalAlignment(), rank=6, random_state=0) for _ in range(2)
    ]
    for rows, perceptron, ridge in zip((NAMED, list(SERIES)), perceptrons, ridges):
        parts = [(rows[s : s + 4], RISES[s : s + 4]) for s in (0, 4, 8)]
        for part in parts:
            perceptron.partial_fit(*part, classes=[0, 1])
        ridge.fit_chunks(Chunks(parts))
    for made, known in (perceptrons, ridges):
        assert_array_equal(made.predict(NAMED), known.predict(list(SERIES)))


def test_a_single_sample_may_have_a_form(monkeypatch):
    strings = kind_named("strings")
    with monkeypatch.context() as patch:
        patch.setattr(strings, "forms", (lambda X: X.split("|") if isinstance(X, str) else None,))
        assert read("ab|c", "strings") == read("ab|c") == (strings, ["ab", "c"])
    with pytest.raises(TypeError, match="X is a single string; read compares strings"):
        read("ab|c", "strings")


def test_a_table_kernel_names_its_reader():
    with pytest.raises(TypeError, match="X is None, but TableKernel reads columns"):
        TableKernel()(None)
