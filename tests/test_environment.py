"""The facts that are printed, and the environment variable that forces an instruction set."""

import os
import subprocess
import sys

import pytest

import mercer
from mercer import _native


def test_versions_are_shown(capsys):
    mercer.show_versions()
    out = capsys.readouterr().out
    for text in (mercer.__version__, "numpy", "cores", _native.isa(), "GB"):
        assert text in out


def imported(isa):
    return subprocess.run(
        [sys.executable, "-c", "from mercer import _native; print(_native.isa())"],
        capture_output=True,
        text=True,
        env=os.environ | {"MERCER_ISA": isa},
    )


@pytest.mark.parametrize("isa", _native.available_isas())
def test_an_instruction_set_is_forced(isa):
    assert imported(isa).stdout.strip() == isa


def test_an_unknown_instruction_set_is_refused_by_name():
    done = imported("mmx")
    assert done.returncode != 0
    assert "MERCER_ISA=mmx: this machine has no such instruction set" in done.stderr


SUBINTERPRETER = """
import sys
try:
    import _xxsubinterpreters as interpreters
    run = interpreters.run_string
except ImportError:  # from Python 3.13 on
    import _interpreters as interpreters
    run = interpreters.exec
code = f"import sys; sys.path[:] = {sys.path!r}\\n" + '''
try:
    import mercer
except ImportError as error:
    print("ImportError", error, flush=True)
'''
run(interpreters.create(), code)
"""


def test_a_subinterpreter_gets_an_error_that_says_what_to_do():
    """A fit would wait there for ever."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SUBINTERPRETER],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("ImportError")
    if sys.version_info < (3, 12):  # later ones refuse it by themselves
        assert "main interpreter of a process" in done.stdout
        assert "WSGIApplicationGroup" in done.stdout
