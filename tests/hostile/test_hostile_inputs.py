"""Every public callable that takes data gets the table of hostile inputs, and none is left out.

The quick lane gives each callable a few of them, others to each; the full lane gives it all.
"""

import importlib
import inspect

import numpy as np
import pytest

import cases
import mercer
from hostile.doors import DOORS, IN_ROOMS, NO_DATA
from hostile.inputs import hostile
from hostile.verdict import is_own, wrong
from mercer import speech
from mercer.kernels import RBF, ShortestPath
from mercer.solvers import Reason

FEW = 3  # inputs of each callable in the quick lane


def faults(door, names):
    inputs = hostile(door.kind, door.good)
    found = {}
    for name in names or inputs:
        given = inputs[name]()
        said = wrong(lambda given=given: door.call(given), door.infinite)
        if said:
            found[name] = said
    return found


def chosen(place):
    """Some of a callable's inputs, and others for the next one."""
    names = list(hostile(DOORS[place].kind, DOORS[place].good))
    return [names[(FEW * place + i * 31) % len(names)] for i in range(FEW)]


@pytest.mark.spread(120)
@pytest.mark.parametrize("place", range(len(DOORS)), ids=[door.name for door in DOORS])
def test_some_inputs(place):
    assert faults(DOORS[place], chosen(place)) == {}


@pytest.mark.full
@pytest.mark.parametrize("door", DOORS, ids=[door.name for door in DOORS])
def test_all_inputs(door):
    assert faults(door, None) == {}


def test_every_public_name_is_tried_or_takes_no_data():
    rooms = ["", *sorted(n for n in mercer.__all__ if inspect.ismodule(getattr(mercer, n)))]
    public = set()
    for room in rooms:
        module = importlib.import_module(f"mercer.{room}".rstrip("."))
        names = [n for n in module.__all__ if not inspect.ismodule(getattr(module, n, None))]
        public |= {f"{room}.{name}".lstrip(".") for name in names}
    elsewhere = {name for name in public if f"{name.rpartition('.')[2]}" in public and "." in name}
    tried = {door.public for door in DOORS}
    lacking = {f"kernels.{kernel.__name__}" for kernel in cases.LACKING}
    assert public - elsewhere - tried - set(NO_DATA) == lacking
    assert tried - public == IN_ROOMS
    assert tried & set(NO_DATA) == set()


def test_what_numpy_raises_is_no_error_of_mercer():
    for call in (lambda: np.ones(3) @ np.ones(4), lambda: [][0], lambda: (lambda a, b: a)(*[1])):
        assert "Error in" in wrong(call)
    assert wrong(lambda: float("nan")) == "nan in an answer"
    assert wrong(lambda: np.log(np.zeros(1))).startswith("RuntimeWarning")
    assert wrong(lambda: RBF()([["x"]])) == ""
    with pytest.raises(TypeError) as raised:
        RBF()("text")
    assert is_own(raised.value)


def test_lists_at_the_nodes_of_graphs_of_grakel_are_attributes():
    unlike = [[{(0, 1)}, {0: [1.0, 2.0], 1: [0.5]}]]
    with pytest.raises(ValueError, match="give attributes of one width"):
        ShortestPath()(unlike)
    alike = [[{(0, 1)}, {0: [1.0, 2.0], 1: [1.0, 2.0]}]] * 2
    assert np.ptp(ShortestPath()(alike)) == 0


def test_float64_is_advised_where_it_is_not_used_already():
    assert "where X is float32" in Reason.STALLED.value


@pytest.mark.parametrize("name", list(hostile("sound", np.ones((9, 1)))))
def test_recordings_that_are_none_are_refused(name):
    given = hostile("sound", np.ones((9, 1)))[name]()
    assert wrong(lambda: speech.si_sdr(given, given), infinite=True) == ""
    assert wrong(lambda: speech.mix(given, np.ones(9), 5, 0)) == ""
