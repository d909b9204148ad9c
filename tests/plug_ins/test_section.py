"""A section of a user's own is measured, drawn, printed and saved as those of the library are."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from their_package.section import Bias

from mercer import SVC, KernelRidge
from mercer.plots.report import Section, Subject, register_section, report_data, write_report

X = np.linspace(0, 1, 40)[:, None]
Y = np.sin(6 * X[:, 0])


@pytest.fixture(autouse=True)
def registered():
    remove = register_section(Bias)
    yield
    remove()
    assert "bias" not in measured(Y).sections


def measured(truth, **options):
    model = KernelRidge(kernel="rbf").fit(X, Y)
    return report_data(Subject(model, X, Y, holdout=(X, truth), **options))


def test_it_is_on_the_page_and_among_its_numbers(tmp_path):
    data = measured(Y - 2)
    predicted = KernelRidge(kernel="rbf").fit(X, Y).predict(X)
    assert_allclose(data["bias"].mean, np.mean(predicted - Y) + 2)
    assert data.lines("bias") == [f"Mean error: {data['bias'].mean:.3g}"]
    doubt = (False, "The errors do not cancel out: see “On average”.")
    assert doubt in data.trust
    assert doubt not in measured(Y).trust
    write_report(tmp_path / "report.html", data)
    page = (tmp_path / "report.html").read_text("utf-8")
    start = page.index('<h3 id="bias">')
    assert page.index('id="errors"') < start < page.index('id="next"')
    assert "Predictions are 2" in page[start:]
    numbers = page.partition('id="mercer-report">')[2].partition("</script>")[0]
    assert json.loads(numbers)["bias"] == {"mean": data["bias"].mean}
    assert "bias" in measured(Y, values=False).sections


def test_it_stays_away_where_it_does_not_apply_and_its_name_is_its_own():
    classes = np.where(Y > 0, "up", "down")
    model = SVC().fit(X, classes)
    assert "bias" not in report_data(Subject(model, X, classes, holdout=(X, classes))).sections
    with pytest.raises(ValueError, match="there is a section 'bias' already"):
        register_section(Bias)

    class Taken(Section):
        name, place = "gram", "parts"

    with pytest.raises(ValueError, match="there is a section 'gram' already"):
        register_section(Taken)
    Taken.name, Taken.place = "other", "below"
    with pytest.raises(ValueError, match=r"place='below': give one of what_if, why, errors"):
        register_section(Taken)
