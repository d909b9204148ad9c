"""Every public kernel passes the published contract, and equals its twin in oracles.py."""

import inspect

import pytest

import cases
import mercer.kernels
import oracles
from mercer.kernels import Kernel
from mercer.testing import KernelContract


class TestKernels(KernelContract):
    @pytest.fixture(params=cases.KERNELS, ids=cases.name)
    def case(self, request):
        return request.param

    @pytest.fixture
    def kernel(self, case):
        return case[0]

    @pytest.fixture
    def samples(self, case):
        return case[1]

    def twin(self, kernel, samples):
        rows = cases.rows(samples)
        return oracles.block(oracles.kernel, kernel, rows, rows, rows)


def test_every_public_kernel_has_a_case():
    public = [getattr(mercer.kernels, name) for name in mercer.kernels.__all__]
    kernels = {c for c in public if inspect.isclass(c) and issubclass(c, Kernel)}
    concrete = {c for c in kernels if not inspect.isabstract(c)}
    assert concrete == {type(kernel) for kernel, _ in cases.KERNELS} | cases.LACKING
