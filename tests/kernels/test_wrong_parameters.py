"""Every parameter of every kernel and distance, with values of wrong types and out of range.

The end is an error that names the parameter, or finite values.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import cases
from mercer.kernels import RBF, Polynomial, Sigmoid, repair

WRONG = ["a", None, ["a"], True, float("nan"), float("inf"), -1, object(), 1j]
#: their samples cannot be read without the parameter, and the error is about the samples, or a
#: function of pairs is called with whole samples, and the error is its own
READS = {
    ("RBF", "metric"), ("Centred", "sample"), ("Layered", "base"), ("FromFunction", "at_once"),
    ("Tanimoto", "fingerprint"),
}  # fmt: skip
THINGS = [*cases.KERNELS, *cases.DISTANCES]


@pytest.mark.parametrize("case", THINGS, ids=cases.name)
def test_wrong_values_are_named_or_harmless(case):
    thing, sample = case
    params = thing.get_params(deep=False)
    for name in params:
        for value in WRONG:
            wrong = type(thing)(**{**params, name: value})
            try:
                values = wrong(sample)
            except (TypeError, ValueError) as error:
                if name not in str(error) and (type(thing).__name__, name) not in READS:
                    raise AssertionError(f"{wrong!r}: {error}") from error
            else:
                assert np.isfinite(np.asarray(values, float)).all(), repr(wrong)


@pytest.mark.parametrize("kernel", [Polynomial(gamma="median"), Sigmoid(gamma="median")])
def test_inner_products_have_no_median_distance(kernel):
    with pytest.raises(ValueError, match=r"'median'.*of distances: RBF has it"):
        kernel([[1.0], [2.0]])


def test_true_is_no_factor():
    with pytest.raises(TypeError):
        RBF() * True


def test_what_cannot_be_repaired_is_refused():
    with pytest.raises(ValueError, match=r"not symmetric: K\[0, 1\] = 1 but K\[1, 0\] = 2"):
        repair(np.array([[0.0, 1.0], [2.0, 0.0]]))
    with pytest.raises(ValueError, match="square"):
        repair(np.ones((2, 3)))
    with pytest.raises(ValueError, match="NaN or infinity"):
        repair(np.full((2, 2), np.nan))
    with pytest.raises(TypeError, match="K='a'"):
        repair("a")
    assert_allclose(repair([[0, 1], [1, 0]]), 0.5)
