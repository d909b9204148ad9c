"""Every public estimator keeps the invariances of the table, on one small set of rows."""

import numpy as np
import pytest
from sklearn.utils.validation import has_fit_parameter

from invariances.checks import CHECKS, Task, data
from invariances.table import INVARIANCES, LEFT_OUT, TABLE, public_estimators

FIRST = {}  # the fit of each row, with which the others are compared


def cases():
    for row in TABLE:
        for name in INVARIANCES:
            if name == "targets" and row.task not in ("numbers", "views"):
                continue
            if name == "weights" and not has_fit_parameter(row.model, "sample_weight"):
                continue
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
