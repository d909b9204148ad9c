"""Old public names work for one release, with a warning that names the new one."""

import importlib

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import mercer
from mercer.distances import Minkowski
from mercer.renamed import OLD

X = np.arange(6.0).reshape(3, 2)
WORDS = ["banana", "ananas", "nab"]
SERIES = [np.sin(np.arange(30.0)), np.cos(np.arange(20.0))]


def doubled(A, B, factor=1.0):
    return factor * A @ B.T


#: old name -> what makes it as before, what makes the new one, and samples
SAME = {
    "mercer.Hydra": (
        lambda old: old(n_groups=2, random_state=0),
        lambda: mercer.ConvolutionFeatures("hydra", 2, random_state=0), SERIES,
    ),
    "mercer.MiniRocket": (
        lambda old: old(n_components=84, random_state=0),
        lambda: mercer.ConvolutionFeatures("minirocket", 84, random_state=0), SERIES,
    ),
    "mercer.MultiRocket": (
        lambda old: old(n_components=672, random_state=0),
        lambda: mercer.ConvolutionFeatures("multirocket", 672, random_state=0), SERIES,
    ),
    "mercer.kernels.BlendedSpectrum": (
        lambda old: old(3, 0.5, None, True),
        lambda: mercer.kernels.Spectrum(3, sublinear=True, shortest=1, decay=0.5), WORDS,
    ),
    "mercer.kernels.FromCallable": (
        lambda old: old(doubled, {"factor": 2.0}),
        lambda: 2.0 * mercer.kernels.FromFunction(doubled, at_once=True), X,
    ),
    "mercer.kernels.LpqLaplace": (
        lambda old: old(0.5, 1.5, 2.0),
        lambda: mercer.kernels.ExponentialPower(2.0**0.5, 0.5, Minkowski(1.5)), X,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OLD)
def test_an_old_name_warns_and_works(name):
    module, old = name.rsplit(".", 1)
    room, new = importlib.import_module(module), OLD[name]
    with pytest.warns(FutureWarning, match=rf"{name} is {new.home}\.{new.name}.* now") as found:
        value = getattr(room, old)
    assert found[0].filename == __file__
    assert old not in room.__all__
    assert (name in SAME) == (new.called is not None)
    if new.called is None:
        assert value is getattr(importlib.import_module(new.home), new.name)
        return
    as_before, make, samples = SAME[name]
    before, now = as_before(value), make()
    answer = "fit_transform" if hasattr(now, "fit") else "__call__"
    assert_array_equal(getattr(before, answer)(samples), getattr(now, answer)(samples))


@pytest.mark.parametrize("module", [mercer, mercer.kernels])
def test_a_name_that_never_was_is_an_attribute_error(module):
    with pytest.raises(AttributeError, match=f"'{module.__name__}' has no attribute 'Nothing'"):
        module.Nothing  # noqa: B018
