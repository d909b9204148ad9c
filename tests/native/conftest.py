"""Every native test runs under every instruction set that the machine has."""

import os

import pytest

from mercer import _native

# one alone where MERCER_ISA asks for it
ISAS = [_native.isa()] if os.environ.get("MERCER_ISA") else _native.available_isas()


@pytest.fixture(params=ISAS, autouse=True)
def isa(request):
    before = _native.isa()
    assert _native.use_isa(request.param)
    yield request.param
    _native.use_isa(before)
