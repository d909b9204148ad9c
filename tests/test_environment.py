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
