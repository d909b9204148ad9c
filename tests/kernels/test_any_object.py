"""Kernels of a user's function: objects of any type, what functions may return, how many calls."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from cases import words_in_common
from mercer.kernels import FromFunction, check_mercer


@dataclass
class Song:
    words: frozenset
    length: float


def alike(a, b):
    return float(len(a.words & b.words)) + a.length * b.length


def duration(a, b):
    return a.length * b.length


RNG = np.random.default_rng(0)
SONGS = [Song(frozenset(RNG.choice(list("abcdef"), 3)), RNG.uniform(1, 2)) for _ in range(25)]
K = np.array([[alike(a, b) for b in SONGS] for a in SONGS])


class Counted:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, a, b):
        self.calls += 1
        return self.function(a, b)


def types(a, b):
    """1 for two objects of the types that were given, which no encoding has changed."""
    return float(type(a) is type(b) and type(a) in (dict, tuple, list, np.ndarray, int, str))


@pytest.mark.parametrize(
    "X",
    [
        [{"a": 1}, {"b": 2, "c": 3}],
        [[{"a": 1}], [{"b": 2}]],
        [(1, 2), (3, 4)],
        [(1, 2), (3, 4, 5)],
        [[1, 2], [3, 4, 5]],
        [["a", "b"], ["c", "d"]],
        [np.ones(2), np.zeros(2)],
        [np.ones(2), np.zeros(3), np.ones((2, 2))],
        [1, 2],
        ["one", "two"],
    ],
    ids=repr,
)
def test_objects_come_to_the_function_as_they_are(X):
    seen = []

    def look(a, b):
        seen.append(a)
        return types(a, b)

    kernel = FromFunction(look)
    assert_array_equal(kernel(X), np.ones((len(X), len(X))))
    assert all(any(a is x for x in X) for a in seen)
    assert_array_equal(kernel(X[:1], X), np.ones((1, len(X))))


def test_a_list_beside_training_objects_is_one_of_objects():
    """Lists of as many numbers would be a matrix, had the training lists not been of any length."""
    kernel = FromFunction(lambda a, b: float(len(a) + len(b)) if types(a, b) else np.nan)
    X = kernel.encode([[1, 2], [3, 4, 5]])
    new = kernel.encode([[1, 2, 3, 4], [5, 6, 7, 8]], like=X)
    assert_array_equal(kernel.block(new, X), [[6, 7], [6, 7]])
    assert isinstance(kernel.encode([[1, 2], [3, 4]]), np.ndarray)  # a matrix, as anywhere


def test_sums_products_and_normalised_functions():
    a, b = FromFunction(alike), FromFunction(duration)
    L = np.array([[duration(x, z) for z in SONGS] for x in SONGS])
    assert_allclose(a(SONGS), K)
    assert_allclose((a + 2 * b)(SONGS), K + 2 * L)
    assert_allclose((a * b)(SONGS), K * L)
    assert_allclose(a.normalised()(SONGS), K / np.sqrt(np.outer(K.diagonal(), K.diagonal())))
    assert_allclose((a + b)(SONGS[:3], SONGS), (K + L)[:3])


def test_calls_are_one_for_each_pair():
    f, n, m = Counted(alike), 25, 7
    FromFunction(f)(SONGS)
    assert n * (n + 1) / 2 <= f.calls <= n * (n + 1) / 2 + 30
    f.calls = 0
    assert_array_equal(FromFunction(f, symmetric=False)(SONGS[:m], SONGS), K[:m])
    assert n * m <= f.calls <= n * m + 30


def test_values_are_floats():
    for value in (1, True, np.float32(1), np.int8(1), np.True_):
        G = FromFunction(lambda a, b, value=value: value)(SONGS)
        assert G.dtype == np.float64
        assert (G == 1).all()


@pytest.mark.parametrize("value", [np.nan, -np.inf, None, 1j, "x", np.ones(1), [1.0]], ids=repr)
def test_what_is_no_number_names_the_pair(value):
    def odd(a, b):
        return value if a is SONGS[2] and b is SONGS[9] else 1.0

    with pytest.raises(ValueError, match=r"odd returned .* for X\[2\] = Song.* and X\[9\] = Song"):
        FromFunction(odd)(SONGS)
    kernel = FromFunction(lambda a, b: value, symmetric=False)
    X = kernel.encode(SONGS)
    with pytest.raises(ValueError, match=r"X\[4\] = .* and X\[4\] = .* finite number"):
        kernel.diag(X[4:])


def test_a_function_that_is_not_symmetric_is_found_out():
    def first(a, b):
        return a.length

    with pytest.raises(ValueError, match=r"first is not symmetric.* X\[0\] .* symmetric=False"):
        FromFunction(first)(SONGS)
    G = FromFunction(first, symmetric=False)(SONGS)
    assert_array_equal(G, np.tile([[song.length] for song in SONGS], 25))
    assert not FromFunction(first, symmetric=False).symmetric


@pytest.mark.parametrize("symmetric", [True, False])
def test_an_error_of_the_function_is_its_own_and_names_the_pair(symmetric):
    error = KeyError("colour")

    def failing(a, b):
        raise error

    with pytest.raises(KeyError) as info:
        FromFunction(failing, symmetric=symmetric)(SONGS)
    assert info.value is error
    assert info.traceback[-1].name == "failing"
    (note,) = error.__notes__
    assert all(part in note for part in ("failing", "X[0] = Song", "at_once=True"))


def test_the_check_looks_at_any_objects():
    assert check_mercer(FromFunction(alike), SONGS).positive_definite
    check = check_mercer(FromFunction(lambda a, b: abs(a.length - b.length)), SONGS)
    assert check.symmetric
    assert not check.positive_definite
    assert FromFunction(alike).positive_definite is None
    assert (FromFunction(alike) + FromFunction(alike)).positive_definite is None
    assert FromFunction(alike, positive_definite=True).normalised().positive_definite is True


def test_parameters_clones_and_pickles():
    kernel = FromFunction(words_in_common, positive_definite=True)
    copy = clone(kernel)
    assert copy.function is words_in_common
    assert copy.get_params() == {
        "function": words_in_common, "symmetric": True, "positive_definite": True,
        "at_once": False,
    }  # fmt: skip
    assert "words_in_common" in repr(copy)
    assert not copy.set_params(symmetric=False).symmetric
    X = [("a", "b"), ("b",)]
    assert_array_equal(pickle.loads(pickle.dumps(kernel))(X), kernel(X))
    with pytest.raises(TypeError, match="function=3: give a function of two objects"):
        FromFunction(3)(X)  # type: ignore[arg-type]


def test_a_function_of_samples_is_called_once_with_all_of_them():
    calls = []

    def whole(A, B):
        calls.append((A, B))
        return [[alike(a, b) for b in B] for a in A]

    assert_allclose(FromFunction(whole, at_once=True)(SONGS), K)
    assert_allclose(FromFunction(whole, at_once=True)(SONGS[:3], SONGS), K[:3])
    assert [(len(A), len(B)) for A, B in calls] == [(25, 25), (3, 25)]
    assert all(type(part) is list for call in calls for part in call)


@pytest.mark.parametrize(
    "values",
    [1.0, None, np.ones((25, 24)), np.full((25, 25), 1j), np.full((25, 25), "x")],
    ids=["number", "None", "other shape", "complex", "texts"],
)
def test_what_a_function_of_samples_must_return(values):
    with pytest.raises(ValueError, match=r"must return \(25, 25\), .*real.* FromFunction.*Ridge"):
        FromFunction(lambda A, B: values, at_once=True)(SONGS)


def test_a_function_of_two_objects_in_place_of_one_of_samples_is_told():
    with pytest.raises(AttributeError) as info:
        FromFunction(alike, at_once=True)(SONGS)
    assert "FromFunction(function)" in info.value.__notes__[0]
    assert "KernelRidge" in info.value.__notes__[0]
