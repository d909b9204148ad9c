"""The panel that predicts: which models have none, and why; what the page holds, and that cells are
no markup; and what it does in a real browser."""

import base64
import hashlib
import re

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.kernels import Spectrum, TableKernel
from mercer.plots.report import Subject, report_data, save_report
from mercer.plots.report.contents import render
from mercer.plots.report.live import exported, inputs, what_if
from mercer.selection.automatic import KernelMachine
from mercer.spoken import in_page
from plots.report.live_models import fitted, machine, table

# --- which models have no panel -------------------------------------------------------------------


def said_of(model, X, y, **options):
    with_it = {"what_if": True, "time": 1.0} | options
    data = report_data(Subject(model, holdout=(X, y), **with_it))
    assert data["what_if"].model is None
    assert "What if" in render(data)
    assert "<script>" not in render(data)
    assert data.lines("what_if") == [data["what_if"].said]
    return data["what_if"].said


@pytest.mark.full
def test_a_model_that_cannot_run_in_a_page_says_why():
    X, y = table(120)
    X["said"] = [f"a thing no {i} was {v:.1f}" for i, v in enumerate(y)]
    names = {
        "it is a constant, which no column moves": [machine("constant")],
    }  # fmt: skip
    for reason, machines in names.items():
        model = fitted(machines, X, y, "numbers")
        assert said_of(model, X, y) == f"This model cannot predict in a page: {reason}."
    sets = mercer.KernelRegressor(machines=[machine("linear")], kind={"said": "set"})
    assert "it reads 'said', whose kind is set." in said_of(sets.fit(X, y), X, y)
    ridge = mercer.KernelRidge(kernel="rbf").fit(X[["size", "rooms"]], y)
    assert "only models of KernelClassifier" in said_of(ridge, X[["size", "rooms"]], y)
    ranks = fitted([machine("ridge", "gaussian")], X, y, "numbers", metric="mae",
                   target_scale="ranks")  # fmt: skip
    assert "ranks" in said_of(ranks, X, y)


@pytest.mark.full
def test_a_column_of_too_many_levels_has_no_field(monkeypatch):
    monkeypatch.setattr(inputs, "MOST_LEVELS", 30)
    X, y = table(200)
    X["id"] = [f"k{i % 40}" for i in range(200)]
    model = mercer.KernelRegressor(machines=[machine("shapes", reads="effects")],
                                   kind={"id": "category"})  # fmt: skip
    said = said_of(model.fit(X, y), X, y)
    assert "levels, too many for a list" in said


@pytest.mark.full
def test_a_large_model_is_not_compressed_where_there_is_no_time(monkeypatch):
    X, y = table(120)
    model = mercer.KernelRegressor(trials=1, only="kernels").fit(X[:100], y[:100])
    monkeypatch.setattr(what_if, "MOST_BYTES", 1000)
    monkeypatch.setattr(what_if, "WORK", 1e6)
    subject = Subject(model, X[:100], y[:100], holdout=(X[100:], y[100:]), what_if=True, time=0.0)
    assert "there is no time to compress it" in report_data(subject)["what_if"].said


@pytest.mark.full
def test_a_large_model_is_compressed_and_the_loss_is_told(monkeypatch):
    X, y = table(300)
    model = mercer.KernelRegressor(trials=1, only="kernels").fit(X[:240], y[:240])
    assert model.machine_.kind == "training rows"
    monkeypatch.setattr(what_if, "MOST_BYTES", len(in_page(exported(model)[0])) - 1)
    monkeypatch.setattr(what_if, "CENTRES", 50)
    assert "and only with train=" in said_of(model, X[240:], y[240:])
    subject = Subject(model, X[:240], y[:240], holdout=(X[240:], y[240:]), what_if=True, time=1.0)
    section = report_data(subject)["what_if"]
    assert section.model["machines"][0]["rows"] == 50
    found = re.search(r"50 centres .* by ([\d.]+), where the model errs by ([\d.]+)", section.said)
    assert 0 < float(found[1]) < 3 * float(found[2])
    assert section.said in render(report_data(subject))
    codes = (y > np.median(y)) + 0
    classes = mercer.KernelClassifier(trials=1, only="kernels").fit(X[:240], codes[:240])
    monkeypatch.setattr(what_if, "MOST_BYTES", len(in_page(exported(classes)[0])) - 1)
    subject = Subject(classes, X[:240], codes[:240], holdout=(X[240:], codes[240:]), what_if=True)
    assert "% of the rows set aside get another class" in report_data(subject)["what_if"].said


@pytest.mark.full
def test_a_machine_of_many_leaves_is_compressed(monkeypatch):
    X, y = table(400)
    model = mercer.KernelRegressor(trials=1, only="kernels").fit(X[:300], y[:300])
    local = [machine("local", "gaussian", leaf_rows=100)]
    model.machine_ = fitted(local, X[:300], y[:300], "numbers").machine_
    assert model.machine_.learner.leaves_.count > 1
    assert "many leaves" in said_of(model, X, y)
    subject = Subject(model, X[:300], y[:300], holdout=(X[300:], y[300:]), what_if=True, time=1.0)
    assert "centres in place of all rows" in report_data(subject)["what_if"].said


# --- what the page holds --------------------------------------------------------------------------

HOSTILE = '</script><img src=x onerror="document.title=1">'


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Pages of each task by their names."""
    folder, X, y = tmp_path_factory.mktemp("what if"), *table(300)
    X = X.rename(columns={"left": HOSTILE})
    X["town"] = X["town"].replace({"<b>": HOSTILE})
    made = {}
    for name in ("numbers", "three classes"):
        automatic, target = mercer.KernelRegressor, y
        if name != "numbers":
            automatic = mercer.KernelClassifier
            target = np.array(["a", "b", "<i>c"])[np.searchsorted(np.quantile(y, [0.3, 0.6]), y)]
        model = automatic(trials=1, only="kernels").fit(X[:240], target[:240])
        made[name] = folder / f"{name}.html"
        save_report(
            made[name], model, X[240:], target[240:], train=(X[:240], target[:240]), time=1.0,
            what_if=True, target=HOSTILE,
        )  # fmt: skip
    return made


def test_the_policy_allows_the_one_script_by_its_hash(reports):
    page = reports["numbers"].read_text("utf-8")
    allowed = re.search(r"script-src 'sha256-([^']*)'\"", page)[1]
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", page, re.S)
    assert [kind.partition(" id")[0] for kind, _ in scripts] == [
        ' type="application/json"', "", ' type="application/json"',
    ]  # fmt: skip
    assert base64.b64encode(hashlib.sha256(scripts[1][1].encode()).digest()).decode() == allowed
    assert len(scripts[1][1]) <= 20_000
    assert not set("<>&") & set(scripts[0][1])
    assert not re.search(r"eval|innerHTML|insertAdjacent|document\.write|Function\(", scripts[1][1])
    assert "It holds training rows" in page


def test_a_report_is_without_a_script_unless_it_is_asked_for():
    X, y = table(120)
    model = fitted([machine("ridge", "gaussian")], X, y, "numbers")
    data = report_data(Subject(model, holdout=(X, y), time=1.0))
    assert data.get("what_if") is None
    assert "script-src" not in render(data)
    assert data.numbers()["what_if"] is None


@pytest.mark.full
def test_rows_are_left_out_unless_they_are_wanted():
    X, y = table(120)
    model = fitted([machine("linear")], X[:90], y[:90], "numbers")
    given = {"holdout": (X[90:], y[90:]), "what_if": True, "time": 1.0}
    shown = report_data(Subject(model, X[:90], y[:90], **given))["what_if"]
    assert len(shown.model["rows"]["targets"]) == 90
    assert "of which it shows those most alike" in shown.holds
    without = report_data(Subject(model, X[:90], y[:90], rows=False, **given))["what_if"]
    assert "rows" not in without.model
    assert without.model["explained"] is None
    assert "no training rows" in without.holds
    assert "the page holds no training rows" in without.unexplained
    model.background_ = None
    old = report_data(Subject(model, X[:90], y[:90], **given))
    assert "an earlier version" in render(old)
    with pytest.raises(ValueError, match="values=False keeps out"):
        Subject(model, values=False, **given)


# --- the panel ------------------------------------------------------------------------------------

SCREENS = [(1280, "light"), (375, "dark")]


@pytest.fixture(params=SCREENS, ids=str)
def panel(request, browser, reports):
    """Opens the page of a task."""
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)

    def opened(name):
        page = context.new_page()
        page.problems = []
        page.on("console", lambda m: page.problems.append(m.text))
        page.on("pageerror", lambda e: page.problems.append(str(e)))
        page.on("request", lambda r: r.url.startswith("file:") or page.problems.append(r.url))
        page.goto(reports[name].as_uri())
        page.wait_for_selector("#live-curve polyline, #live-levels div")
        return page

    yield opened
    context.close()


@pytest.mark.parametrize("name", ["numbers", "three classes"])
def test_the_panel_answers_by_mouse_and_by_keyboard(panel, name):
    page = panel(name)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.evaluate("document.title").startswith("Predicting")
    before = page.inner_text("#live-answer") + page.inner_text("#live-bars")
    assert before.startswith(HOSTILE)  # as text
    page.get_by_label("size, slider").focus()
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    assert float(page.input_value("#live-form input[type=number]")) > 0
    page.wait_for_timeout(200)
    after = page.inner_text("#live-answer") + page.inner_text("#live-bars")
    assert after != before
    assert page.evaluate("document.querySelector('#live-along').selectedOptions[0].text") == "size"
    assert page.locator("#live-near tbody tr").count() == 5
    page.wait_for_timeout(300)
    assert page.locator("#live-phi .live-bar").count() > 3
    page.get_by_label("town", exact=True).select_option(label="another one")
    page.wait_for_timeout(200)
    assert page.locator("#live-levels .live-bar").count() == 3
    assert not page.evaluate("[...document.images].some(i => i.getAttribute('onerror'))")
    assert page.problems == []


@pytest.mark.parametrize("size", SCREENS, ids=str)
def test_a_text_is_typed(browser, tmp_path, size):
    rng = np.random.default_rng(0)
    words = np.array(["cheap", "dear", "red", "blue", HOSTILE])
    X = pd.DataFrame({"said": [" ".join(rng.choice(words, 6)) for _ in range(150)]})
    y = np.where(X["said"].str.contains("cheap"), "yes", "no")
    of = TableKernel([(Spectrum(2, idf=True, shortest=1).normalised(), ["said: words (words)"])])
    model = mercer.KernelClassifier(machines=[KernelMachine("svc", of)], kind={"said": "text"})
    model.fit(X[:120], y[:120])
    save_report(
        tmp_path / "r.html", model, X[120:], y[120:], train=(X[:120], y[:120]), what_if=True
    )
    page = browser.new_page(viewport={"width": size[0], "height": 900}, color_scheme=size[1])
    problems = []
    page.on("pageerror", lambda e: problems.append(str(e)))
    page.goto((tmp_path / "r.html").as_uri())
    for text, answer in (("cheap red", "yes"), ("dear red blue", "no"), ("", ""), ("zzz", "")):
        page.get_by_label("said", exact=True).fill(text)
        page.wait_for_timeout(300)
        assert page.inner_text("#live-answer").endswith(answer)
        assert page.locator("#live-phi .live-bar").count() == 1
        assert page.locator("#live-near tbody tr").count() == 5
    assert not page.locator("#live-along").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert problems == []
    page.close()


def test_short_names_of_the_script_are_no_keys_and_no_words():
    scripts = "".join(
        (what_if.HERE / f"{name}.js").read_text("utf-8") for name in ("model", "panel")
    )
    scripts = re.sub(r"(?:^|\s)//.*", "", scripts)
    words = " ".join(re.sub(r"\$\{[^}]*\}", " ", text) for text in re.findall(r"`[^`]*`", scripts))
    for name in what_if.NAMES.split():
        assert re.search(rf"\b{name}\b", scripts), name
        assert not re.search(rf"[{{,]\s*{name}\s*:", scripts), name
        assert not re.search(rf"\b{name}\b", words), name
    assert len(set(what_if.NAMES.split())) == len(what_if.NAMES.split())


def test_a_row_of_the_table_is_most_alike_to_itself(panel):
    page = panel("numbers")
    found = page.evaluate("""() => {
      const model = Live.load(JSON.parse(document.getElementById('live-model').textContent));
      return [0, 7, 100].map(i => Live.nearest(model, model.rows.cells[i], model.rows.cells, 2)[0]);
    }""")
    assert [i for _, i in found] == [0, 7, 100]
    np.testing.assert_allclose([k for k, _ in found], 1.0, rtol=1e-12)


def test_an_empty_field_is_a_missing_number(panel):
    page = panel("numbers")
    page.get_by_label("weight", exact=True).fill("")
    page.wait_for_timeout(200)
    empty = page.inner_text("#live-answer")
    page.get_by_label("weight", exact=True).fill("20")
    page.wait_for_timeout(200)
    assert page.inner_text("#live-answer") != empty
    assert page.problems == []


@pytest.mark.full
def test_a_prediction_takes_a_few_milliseconds(panel):
    page = panel("three classes")
    took = page.evaluate("""() => {
      const model = Live.load(JSON.parse(document.getElementById('live-model').textContent));
      const began = performance.now();
      Live.predict(model, model.fields.map(f => f.start));
      return performance.now() - began;
    }""")
    assert took < 50
