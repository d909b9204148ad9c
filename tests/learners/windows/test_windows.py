"""Window kernels: shape, mass, and the ends of the range."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad

from mercer.learners.windows.totals import ENDLESS, WINDOWS, window


@pytest.mark.parametrize("name", WINDOWS)
def test_mass_is_one_and_no_window_rises(name):
    mass, _ = quad(lambda u: float(window(name, u, 1.0)), 0, 40, points=[1], epsabs=1e-12)
    assert_allclose(2 * mass, 1, rtol=1e-9)
    values = window(name, np.linspace(0, 3, 301), 1.0)
    assert (np.diff(values) <= 0).all()
    assert values[0] > 0
    assert name in ENDLESS or (values[101:] == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", WINDOWS)
def test_no_width_and_no_distance_give_nan(name, dtype):
    distances = np.array([0, 1e-30, 1, 1e30, np.inf], dtype)
    top = window(name, distances[:1], dtype(1))[0]
    for width in (0, 1e-30, 1.0, 1e30):
        values = window(name, distances, dtype(width))
        assert values.dtype == dtype
        assert np.isfinite(values).all()
        assert values[0] == top
    assert_array_equal(window(name, distances, dtype(0)) > 0, [1, 0, 0, 0, 0])


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="window='round': give one of 'rectangular'"):
        window("round", [1.0], 1.0)
