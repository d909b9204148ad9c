"""The entry of the fuzzer on random inputs of a seed, so that every run of the tests has some."""

import random

import pytest

import mercer.distances as d
import mercer.kernels as k
from fuzz.fuzz_strings import (
    Source,
    one_input,
    random_input,
    set_comparisons,
    string_comparisons,
)
from mercer import _native


@pytest.fixture(autouse=True)
def isa():
    before = _native.isa()
    yield
    _native.use_isa(before)


@pytest.mark.parametrize("seed", range(4))
def test_random_inputs(seed):
    rng = random.Random(seed)
    done = [one_input(random_input(rng)) for _ in range(150)]
    assert done.count("refused") < len(done) / 2


def test_every_comparison_of_strings_and_sets_is_fuzzed():
    source = Source(b"")
    made = {type(make()) for make in [*string_comparisons(source), *set_comparisons(source)]}
    public = {getattr(package, name) for package in (k, d) for name in package.__all__}
    kinds = {"strings", "sets"}
    assert {c for c in public if isinstance(c, type) and kind_of(c) in kinds} <= made


def kind_of(public):
    """What a class compares; a kernel of a distance, what a default one does."""
    try:
        return public().kind
    except TypeError:
        return None  # an operator of the algebra, or abstract
