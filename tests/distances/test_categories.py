"""Distances of categories and tables, frequencies, and weights from the target."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer.distances import (
    KernelDistance,
    LogFrequency,
    Match,
    Minkowski,
    Mixed,
    SmoothedMatch,
    correlation_weights,
)
from mercer.kernels import Linear
from mercer.learners.metrics import CoordinateDescentWeights

COLUMN = [["common"]] * 6 + [["middle"]] * 3 + [["rare"]] * 2


def test_sharing_a_rare_value_is_closer_than_sharing_a_common_one():
    rho = SmoothedMatch()
    X = rho.encode(COLUMN)
    D = rho.bind(X).block(X, X)
    assert D[9, 10] < D[6, 7] < D[0, 1] < D[0, 10] == 1


def test_a_mismatch_of_rare_values_is_closer_than_one_of_common_values():
    rho = LogFrequency()
    X = rho.encode([*COLUMN, ["single"]])
    D = rho.bind(X).block(X, X)
    assert D[9, 11] < D[6, 9] < D[0, 6]


@pytest.mark.parametrize("rho", [SmoothedMatch(), LogFrequency()])
def test_unseen_values_count_as_rare(rho):
    """Once, for logarithms: with 0 they would be at distance 0 from everything."""
    X = rho.encode([["a"], ["a"], ["b"]])
    bound = rho.bind(X)
    Z = bound.encode([["new"], ["a"]], like=X)
    expected = [1.0, 1.0] if isinstance(rho, SmoothedMatch) else np.log(2) * np.log([3, 2])
    assert_allclose(bound.block(Z, X)[0, [0, 2]], expected)


def test_an_unseen_value_is_at_distance_0_from_its_equal_alone():
    rho = LogFrequency()
    X = rho.encode([["a"], ["a"], ["b"]])
    bound = rho.bind(X)
    Z = bound.encode([["new"], ["other"], ["new"]], like=X)
    assert (bound.block(Z, X) > 0).all()
    wanted = np.log(2) ** 2 * np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert_allclose(bound.block(Z, Z), wanted)


@pytest.mark.parametrize("rho", [SmoothedMatch(), LogFrequency()])
def test_frequencies_are_learnt_by_bind_alone(rho):
    with pytest.raises(ValueError, match="no frequencies yet: bind it"):
        rho.block(*[rho.encode([["a"], ["b"]])] * 2)
    assert rho([["a"], ["b"]])[0, 1] > 0


def test_weights_of_another_length():
    with pytest.raises(ValueError, match=r"weights has shape \(2,\), but X has 1 columns"):
        Match([1.0, 2.0])(COLUMN)
    with pytest.raises(ValueError, match="weights must be >= 0"):
        Match([-1.0])(COLUMN)


def test_gower_is_a_mixed_distance():
    table = pd.DataFrame({"age": [20.0, 40.0, 60.0], "pay": [1.0, 3.0, 2.0], "job": list("aab")})
    spans = [40.0, 2.0]
    numbers = Minkowski(1, [1 / (3 * span) for span in spans])
    gower = Mixed([(numbers, ["age", "pay"]), (Match([1 / 3]), ["job"])])
    # age 20/40 = 0.5, pay 2/2 = 1, job equal: mean 0.5
    assert_allclose(gower(table)[0], [0, 0.5, (1 + 0.5 + 1) / 3])
    assert gower.metric


@pytest.mark.parametrize(
    ("rho", "error", "message"),
    [
        (Mixed([]), ValueError, "parts is empty"),
        (Mixed([(Match(), "job")]), ValueError, "columns='job': give a list"),
        (Mixed([(Linear(), ["job"])]), TypeError, r"parts holds Linear\(\)"),
        (Mixed([(Match(), ["job"])], [1, 2]), ValueError, "one number >= 0 for each of the 1"),
        (Mixed([(Match(), ["job"])], [-1]), ValueError, "weights="),
        (KernelDistance(Match()), TypeError, "needs a Mercer kernel"),
    ],
)
def test_bad_parameters_are_refused(rho, error, message):
    with pytest.raises(error, match=message):
        rho.validate()


def test_the_distance_of_the_linear_kernel_is_euclid():
    X = np.random.default_rng(0).normal(size=(9, 4))
    assert_allclose(KernelDistance(Linear())(X), Minkowski()(X), atol=1e-7)


def test_correlation_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[:, 3] = 7  # constant
    y = X[:, 0] - 0.5 * X[:, 1]
    w = correlation_weights(X, y)
    expected = [abs(np.corrcoef(X[:, j], y)[0, 1]) for j in range(3)]
    assert_allclose(w, [*expected, 0])
    with pytest.raises(ValueError, match=r"X has shape \(200, 4\) and y \(3,\)"):
        correlation_weights(X, y[:3])


@pytest.mark.parametrize("make", [SmoothedMatch, LogFrequency])
def test_columns_may_have_weights(make):
    rows = [["a", "s"], ["a", "m"], ["b", "s"], ["b", "m"], ["b", "l"]]
    w = [2.0, 0.5]
    apart = [make()([[row[j]] for row in rows]) for j in range(2)]
    assert_allclose(make(weights=w)(rows), w[0] * apart[0] + w[1] * apart[1])
    assert_allclose(make(weights=[1, 1])(rows), make()(rows))
    with pytest.raises(ValueError, match="weights must be >= 0"):
        make(weights=[-1.0, 1.0])(rows)
    with pytest.raises(ValueError, match="weights has shape"):
        make(weights=[1.0])(rows)
    rng = np.random.default_rng(0)
    X = rng.choice(list("abc"), (60, 3))
    model = CoordinateDescentWeights(make(), 3).fit(X, X[:, 1])
    assert model.weights_.argmax() == 1
