"""Every public estimator keeps the invariances of the table, on one small set of rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.utils.validation import has_fit_parameter

from invariances.checks import CHECKS, Task, data, fitted
from invariances.table import INVARIANCES, LEFT_OUT, TABLE, public_estimators

FIRST = {}  # the fit of each row, with which the others are compared


def cases():
    for row in TABLE:
        for name in row.invariances:
            if name in row.faults:
                fault = pytest.mark.xfail(strict=True, reason=row.faults[name])
                yield pytest.param(row, name, id=f"{name}-{row.id}", marks=fault)
            elif name not in row.without:
                yield pytest.param(row, name, id=f"{name}-{row.id}")


@pytest.mark.parametrize(("row", "name"), list(cases()))
def test_invariance(row, name, tmp_path):
    if row.library:
        pytest.importorskip(row.library)
    rng = np.random.default_rng(0)
    task = Task.of(row, data(rng), rng, tmp_path, FIRST.get(row.id))
    FIRST[row.id] = task.first
    CHECKS[name](task)


@pytest.mark.parametrize("unit", [1.0, pytest.param(1e-160, marks=pytest.mark.full)])
@pytest.mark.parametrize(
    "row", [row for row in TABLE if row.task != "sets"], ids=lambda row: row.id
)
def test_rows_that_are_equal_or_nearly_equal(row, unit):
    """No division by a distance of 0, or by one whose square is below all floats."""
    if row.library:
        pytest.importorskip(row.library)
    if unit != 1 and "scale" in row.without:
        pytest.skip(row.without["scale"])
    given = data(np.random.default_rng(0))
    X = given.X.copy()
    X[:12], X[20:30] = 0, X[20]
    X[12:18] = np.arange(1, 7)[:, None] * [1e-170, 0, 0]
    y = {"none": None, "views": np.column_stack([given.numbers, X[:, 0] ** 2])}
    y = y[row.task] if row.task in y else getattr(given, row.task)
    Z = np.concatenate([X, given.new])  # the training rows, and others
    try:
        answers = row.answers(fitted(row, unit * X, y), unit * Z)
    except ValueError as error:
        assert any(word in str(error) for word in ("reaches only", "is no margin"))  # noqa: PT017
        return
    assert np.isfinite(answers).all()
    largest = np.abs(answers).max()
    for copies in (range(12), range(20, 30)):
        group = answers[list(copies)]
        assert_allclose(group, np.broadcast_to(group[0], group.shape), atol=1e-6 * largest)


def test_every_public_estimator_has_a_row_or_a_reason():
    tested = {type(row.model) for row in TABLE}
    assert tested | set(LEFT_OUT) == public_estimators()
    assert not tested & set(LEFT_OUT)


def test_the_table_names_invariances_and_reasons():
    assert list(CHECKS) == list(INVARIANCES)
    for row in TABLE:
        assert row.without.keys() | row.faults.keys() <= set(INVARIANCES), row.id
        assert not row.without.keys() & row.faults.keys(), row.id
        takes_weights = has_fit_parameter(row.model, "sample_weight")
        assert takes_weights == (row.without.get("repetition") != "fit takes no weights"), row.id
