"""The report's numbers are those of the Python API, and every text in it is only text."""

import ast
import base64
import json
import re
import shlex
from copy import copy
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.kernel_ridge import KernelRidge as ReferenceRidge
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    precision_score,
    r2_score,
    recall_score,
)
from sklearn.svm import SVC

from mercer.kernels import RBF, TableKernel
from mercer.machines import holdout
from mercer.machines.holdout import ModelComparison, score_held_out
from mercer.plots.report import data as report_columns
from mercer.plots.report.advice import Suspicion
from mercer.plots.report.class_errors import calibration
from mercer.plots.report.contents import Contender, Contenders, render, write_report
from mercer.plots.report.data import ColumnSection
from mercer.plots.report.kernel import levels
from mercer.plots.report.subject import Score
from mercer.selection.automatic import KernelMachine, KernelRegressor
from mercer.spoken import visible
from plots.report.reports import (
    HOSTILE,
    classification,
    hostile,
    regression,
    report_data,
    three_rows,
)
from plots.report.test_drawings import read_png


class Page(HTMLParser):
    """Elements by tag, with attributes and text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        element = {"tag": tag, "text": "", **dict(attributes)}
        self.elements.append(element)
        if tag not in ("meta", "link", "img", "br"):
            self.open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.elements.append({"tag": tag, "text": "", **dict(attributes)})

    def handle_endtag(self, tag):
        assert self.open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def of(self, tag, kind=None):
        return [
            e for e in self.elements
            if e["tag"] == tag and (kind is None or kind in (e.get("class") or "").split())
        ]  # fmt: skip

    def by_id(self, name):
        (found,) = [e for e in self.elements if e.get("id") == name]
        return found


def read_page(data):
    page = Page(render(data))
    assert not page.open  # every element is closed
    return page, json.loads(page.by_id("mercer-report")["text"])


@pytest.fixture(scope="module")
def wine():
    model, train, test, data = classification()
    return model, train, test, data, *read_page(data)


@pytest.fixture(scope="module")
def diabetes():
    model, train, test, data = regression()
    return model, train, test, data, *read_page(data)


def axis_values(page, attribute):
    """From drawing units to values, by the tick labels of the last chart."""
    ticks = [e for e in page.of("text") if e.get("class") != "title"]
    side = "end" if attribute == "y" else "middle"
    pairs = [
        (float(e[attribute]) - (4 if attribute == "y" else 0), float(e["text"].replace("−", "-")))
        for e in ticks
        if e.get("text-anchor") == side
    ]
    return np.polyfit(*np.array(pairs).T, 1)


# --- numbers ----------------------------------------------------------------------------------


def test_the_score_is_that_of_the_unseen_rows(wine):
    model, _, (X, y), data, page, numbers = wine
    accuracy = accuracy_score(y, model.predict(X))
    assert data.score.value == numbers["score"]["value"] == accuracy
    assert data.score.low < accuracy <= data.score.high
    assert f"{100 * accuracy:.1f}%" in page.by_id("verdict")["text"]
    assert numbers["fitted_rows"] == 142
    assert numbers["score"]["rows"] == 36
    assert "the fit on 142 rows" in page.by_id("score")["text"]
    assert "all 178 rows" in page.by_id("score")["text"]


def test_the_interval_of_the_score_is_wilsons_and_drawn_as_wide_as_it_is(wine):
    _, _, (_, y), data, page, numbers = wine
    p, n, z = data.score.value, len(y), 1.959964
    # the shares q for which p is at most z standard errors away: n (p - q)^2 = z^2 q (1 - q)
    low, high = sorted(np.roots([n + z * z, -(2 * n * p + z * z), n * p * p]))
    assert_allclose([numbers["score"]["low"], numbers["score"]["high"]], [low, high], rtol=1e-6)
    winner = page.elements.index(page.of("div", "winner")[0])
    text = next(e["text"] for e in page.elements[winner:] if e["tag"] == "small")
    assert text == f"{100 * low:.1f} to {100 * high:.1f}%"
    scale = re.search(r"scale runs from ([\d.]+)% to ([\d.]+)%", page.by_id("score")["text"])
    ends = [float(end) / 100 for end in scale.groups()]
    style = next(e["style"] for e in page.elements[winner:] if e.get("class") == "span")
    start, width = re.fullmatch(r"left:([\d.]+)%;width:([\d.]+)%", style).groups()
    assert_allclose(float(start) / 100, (low - ends[0]) / np.ptp(ends), atol=2e-3)
    assert_allclose(float(width) / 100, (high - low) / np.ptp(ends), atol=4e-3)


def test_the_interval_of_r2_is_that_of_500_draws(diabetes):
    model, _, (X, y), data, *_ = diabetes
    predicted, draw, again = model.predict(X), np.random.default_rng(0), []
    for _ in range(500):
        rows = draw.integers(0, len(y), len(y))
        again.append(r2_score(y[rows], predicted[rows]))
    low, high = np.percentile(again, [2.5, 97.5])
    assert_allclose([data.score.low, data.score.high], [low, high])
    assert data.score.interval_text() == f"{low:.3f} to {high:.3f}"


def test_the_confusion_matrix_is_scikit_learns(wine):
    model, _, (X, y), data, page, numbers = wine
    expected = confusion_matrix(y, model.predict(X), labels=model.classes_)
    assert_array_equal(numbers["confusion"]["matrix"], expected)
    cells = [int(e["text"]) for e in page.of("td") if "--share" in (e.get("style") or "")]
    assert_array_equal(np.reshape(cells, (3, 3)), expected)
    shares = [
        float(e["style"].split(":")[1]) for e in page.of("td") if "--share" in str(e.get("style"))
    ]
    assert_allclose(
        np.reshape(shares, (3, 3)), expected / expected.sum(1, keepdims=True), atol=1e-4
    )
    said = model.predict(X)
    assert_allclose(data["confusion"].recall, recall_score(y, said, average=None))
    assert_allclose(
        data["confusion"].precision, precision_score(y, said, average=None, zero_division=0)
    )


def test_the_calibration_curve_is_scikit_learns(wine):
    model, _, (X, y), _, page, numbers = wine
    P = model.predict_proba(X)
    right = model.classes_[P.argmax(axis=1)] == y
    observed, stated = calibration_curve(right, P.max(axis=1), n_bins=10)
    assert_allclose(numbers["calibration"]["predicted"], stated)
    assert_allclose(numbers["calibration"]["observed"], observed)
    assert sum(numbers["calibration"]["counts"]) == len(y)
    section = render_part(page, "calibration")
    x, y_ = axis_values(section, "x"), axis_values(section, "y")
    dots = section.of("circle", "dot")
    assert_allclose([np.polyval(x, float(d["cx"])) for d in dots], stated, atol=1e-3)
    assert_allclose([np.polyval(y_, float(d["cy"])) for d in dots], observed, atol=1e-3)


def render_part(page, name):
    """The elements of one figure."""
    start = page.elements.index(page.by_id(name))
    later = [
        i for i, e in enumerate(page.elements) if e["tag"] in ("figure", "section") and i > start
    ]
    part = object.__new__(Page)
    part.elements = page.elements[start : min(later, default=len(page.elements))]
    return part


def test_two_classes_are_calibrated_by_the_second():
    random = np.random.default_rng(0)
    p = random.uniform(size=500)
    y = np.where(random.uniform(size=500) < p, "yes", "no")
    found = calibration(y, np.stack([1 - p, p], axis=1), np.array(["no", "yes"]))
    observed, stated = calibration_curve(y == "yes", p, n_bins=10)
    assert_allclose([found.observed, found.predicted], [observed, stated])
    assert found.event == "yes"
    assert_allclose(np.average(found.observed, weights=found.counts), np.mean(y == "yes"))
    assert ((found.low <= observed) & (observed <= found.high)).all()


def test_the_spectrum_is_that_of_the_gram_matrix(wine):
    model, (X, _), _, _, page, numbers = wine
    M = model.kernel_.encode(model.encoder_.transform(X))
    K = model.kernel_.block(M, M).astype(float)
    expected = np.linalg.eigvalsh(K)[::-1] / len(K)
    assert_allclose(numbers["spectrum"]["eigenvalues"], expected, atol=1e-7)
    section = render_part(page, "spectrum")
    points = np.array([p.split(",") for p in section.of("polyline")[0]["points"].split()], float)
    decades = [(e["y"], e["text"]) for e in section.of("text") if e.get("text-anchor") == "end"]
    power = {"1": 0.0, "10⁻¹": -1, "10⁻²": -2, "10⁻³": -3, "10⁻⁴": -4, "10⁻⁵": -5, "10⁻⁶": -6}
    at = np.array([(float(y) - 4, power[t]) for y, t in decades if t in power])
    drawn = 10 ** np.polyval(np.polyfit(*at.T, 1), points[:, 1])
    assert_allclose(drawn[0], expected[0], rtol=0.01)
    assert (np.diff(points[:, 1]) >= 0).all()


def test_a_map_of_held_out_rows_keeps_neighbours_and_marks_wrong_ones(wine):
    model, (_, y), (X_test, y_test), _, page, numbers = wine
    M = model.kernel_.encode(model.encoder_.transform(X_test))
    K = model.kernel_.block(M, M).astype(float)
    n, apart = len(y_test), np.diag(K)[:, None] + np.diag(K) - 2 * K
    points = [e for e in page.elements if e["tag"] == "circle" and "row" in e.get("class", "")]
    places = np.array([[float(p["cx"]), float(p["cy"])] for p in points])
    flat = np.linalg.norm(places[:, None] - places, axis=2)
    near, mapped = (np.argsort(d + 1e9 * np.eye(n), axis=1)[:, :8] for d in (apart, flat))
    kept = np.mean([len({*a} & {*b}) / 8 for a, b in zip(near, mapped)])
    assert kept > 0.6
    wrong = model.predict(X_test) != y_test
    assert numbers["embedding"] == {"rows": n, "wrong": int(wrong.sum())}
    held = np.searchsorted(np.unique(y), y_test)
    order = np.argsort(np.argsort(-np.bincount(held), kind="stable"))
    assert [p["class"] for p in points] == [
        f"row c{order[c]}{' wrong' if w else ''}" for c, w in zip(held, wrong)
    ]


def test_the_gram_picture_is_the_gram_matrix(wine):
    model, (X, y), _, data, page, _ = wine
    order = np.argsort(y, kind="stable")
    M = model.kernel_.encode(model.encoder_.transform(X.iloc[order]))
    K = model.kernel_.block(M, M)
    source = page.of("img")[0]["src"]
    pixels = read_png(base64.b64decode(source.removeprefix("data:image/png;base64,")))
    low, high = data["gram"].display.limits
    off = ~np.eye(len(K), dtype=bool)
    assert_allclose([low, high], [K[off].min(), K[off].max()], rtol=1e-5)
    assert np.abs(pixels.astype(int) - levels(K, low, high)).max() <= 1
    cuts = [e["style"] for e in page.of("span", "cut") if "top:0" not in e["style"]]
    ends = np.cumsum(np.unique(y, return_counts=True)[1])[:-1]
    assert_allclose(
        [float(re.search(r"top:([\d.]+)%", c)[1]) for c in cuts], 100 * ends / 142, atol=1e-3
    )


def test_relevance_bars_are_as_long_as_the_losses(wine):
    _, _, _, data, page, numbers = wine
    assert numbers["relevance"]["loss"] == data["relevance"].display.loss.tolist()
    start, end = (page.elements.index(page.by_id(name)) for name in ("relevance", "errors"))
    bars = [e for e in page.elements[start:end] if e["tag"] == "span" and e.get("class") == "bar"]
    widths = [float(re.search(r"width:([\d.]+)%", b["style"])[1]) for b in bars]
    loss = np.abs(data["relevance"].display.loss)
    assert_allclose(widths[:13], loss / loss.max() * max(widths[:13]), atol=0.02)
    added = data["additions"]
    assert len(widths) == 13 + len(added.columns) + len(added.pairs)


def test_residuals_are_true_less_predicted(diabetes):
    model, _, (X, y), data, page, numbers = diabetes
    predicted = model.predict(X)
    assert_allclose(numbers["residuals"]["predicted"], predicted)
    assert_allclose(numbers["residuals"]["residual"], y - predicted)
    assert numbers["score"]["value"] == pytest.approx(r2_score(y, predicted))
    assert data["residuals"].half == np.median(np.abs(y - predicted))
    section = render_part(page, "residuals")
    x, y_ = axis_values(section, "x"), axis_values(section, "y")
    dots = section.of("circle", "cloud")
    assert_allclose([np.polyval(x, float(d["cx"])) for d in dots], predicted, atol=0.1)
    assert_allclose([np.polyval(y_, float(d["cy"])) for d in dots], y - predicted, atol=0.1)


def test_machines_that_were_given_stand_beside_simple_models():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    kernel = TableKernel([(RBF(0.2), [f"{c} (scaled)" for c in X if c != "sex"])])
    given = KernelRegressor(machines=[KernelMachine("ridge", kernel)]).fit(X[:300], y[:300])
    data = report_data(given, X[:300], y[:300], holdout=(X[300:], y[300:]), time=1.0)
    roles = [c.role for c in data.leaderboard.contenders]
    assert roles[0] == "winner"
    assert sorted(roles[1:]) == ["linear", "trivial"]
    assert "linear (spline)" in data.leaderboard.sentence(data.score)


def test_the_leaderboard_is_the_models_own(wine):
    model, _, (_, y), _, _, numbers = wine
    assert [c["name"] for c in numbers["contenders"]] == [r["name"] for r in model.leaderboard_]
    assert [c["validation"] for c in numbers["contenders"]] == [
        r["score"] for r in model.leaderboard_
    ]
    roles = [c["role"] for c in numbers["contenders"]]
    assert sorted(roles) == ["kernel", "linear", "trivial", "winner"]
    trivial = next(c for c in numbers["contenders"] if c["role"] == "trivial")
    _, counts = np.unique(wine[1][1], return_counts=True)
    assert trivial["unseen"]["value"] == np.mean(y == model.classes_[counts.argmax()])


def test_a_machine_in_the_place_of_a_late_winner_has_a_row(wine):
    """It was not tried, so it is not on the leaderboard."""
    model, train, held_out, *_ = wine
    late = copy(model)
    late.winner_name_ = "the machine of the start"
    data = report_data(late, *train, holdout=held_out)
    first, *others = data.leaderboard.contenders
    assert (first.name, first.role, first.validation) == (late.winner_name_, "winner", None)
    assert first.unseen == data.score
    assert "winner" not in [other.role for other in others]
    assert render(data).count("the machine of the start") >= 1


def test_the_scores_are_those_of_the_api_and_no_baseline_is_fitted_twice(wine, monkeypatch):
    model, train, held_out, *_ = wine
    scored = score_held_out(model, train, held_out)
    monkeypatch.setattr(holdout, "Recipe", None)
    data = report_data(model, *train, holdout=held_out, scored=scored)
    assert (data.score.value, data.score.low, data.score.high) == (
        scored.score, scored.low, scored.high,
    )  # fmt: skip
    unseen = {
        c.name: c.unseen.value
        for c in data.leaderboard.contenders
        if c.role in ("trivial", "linear")
    }
    assert unseen == scored.baselines
    assert data.numbers()["contenders"] == wine[3].numbers()["contenders"]


def test_columns_are_shown_with_reasons(wine):
    model, (X, _), _, _, page, numbers = wine
    assert [c["name"] for c in numbers["columns"]] == list(X.columns)
    for shown, column in zip(numbers["columns"], model.columns_):
        assert shown["reason"] == column.reason
        assert sum(shown["counts"]) == len(X)
    text = page.by_id("data")["text"]
    assert all(c.reason in text for c in model.columns_)


@pytest.mark.full
def test_plain_estimators_are_reported_too():
    X, y = load_breast_cancer(return_X_y=True)
    model = SVC().fit(X[::2], y[::2])
    data = report_data(model, X[::2], y[::2], holdout=(X[1::2], y[1::2]))
    assert data.get("calibration") is None
    assert data.score.value == model.score(X[1::2], y[1::2])
    assert data["machines"][0].kernel.formula == "exp(−γ ‖x − z‖²)"
    _, numbers = read_page(data)
    assert numbers["relevance"]["measure"] == "accuracy"
    ridge = ReferenceRidge(kernel="precomputed").fit(X @ X.T, y)
    data = report_data(ridge, X @ X.T, y, holdout=(X @ X.T, y))
    assert len(data["columns"]) == 0
    assert data.get("relevance") is None
    read_page(data)


# --- words ------------------------------------------------------------------------------------


def score(value, low, high, metric="accuracy"):
    return Score(metric, value, low, high, 100)


@pytest.mark.parametrize(
    ("outcome", "low", "high", "p"),
    [("as good", -0.02, 0.12, 0.2), ("worse", -0.12, -0.02, 0.01), ("better", 0.02, 0.1, 0.01)],
)
def test_a_paired_test_says_whether_a_simpler_model_does_as_well(wine, outcome, low, high, p):
    """The linear model stands in the interval of the score, whichever is better."""
    data = replace(
        wine[3],
        score=score(0.9, 0.8, 0.96),
        leaderboard=Contenders(
            [Contender("linear", "linear", unseen=score(0.85, 0.75, 0.93))],
            {"linear": ModelComparison((low + high) / 2, low, high, p)},
            wine[3].leaderboard.kept,
        ),
    )
    assert bool(data.simpler) == (outcome != "better")
    assert ("A simpler model is enough" in render(data)) == (outcome != "better")
    words = {
        "as good": "A simpler model may do as well: the baseline 'linear' scores 85.0%, and the "
        "difference of −5.0% (95% interval −12.0% to 2.0%) may be chance.",
        "worse": "A simpler model is better: the baseline 'linear' scores 85.0%, better by 7.0% "
        "(95% interval 2.0% to 12.0%).",
        "better": "beats the baseline 'linear' by more than chance explains: 6.0% better than "
        "'linear' (95% interval 2.0% to 10.0%).",
    }
    said = " ".join([data.simpler, *(sentence for _, sentence in data.trust)])
    assert words[outcome] in said.replace("-", "−")


def test_no_better_than_guessing_is_said(wine):
    data = replace(
        wine[3],
        score=score(0.5, 0.4, 0.6),
        leaderboard=Contenders(
            [Contender("trivial", "trivial", unseen=score(0.45, 0.4, 0.5))],
            {"trivial": ModelComparison(0.05, -0.1, 0.2, 0.5)},
            wine[3].leaderboard.kept,
        ),
    )
    assert "no better than always answering the most frequent class (45.0%)" in data.verdict


def test_too_few_rows_are_no_score():
    data = three_rows()
    assert "too few" in data.verdict
    page, numbers = read_page(data)
    assert numbers["score"]["value"] is None
    assert "nan" not in page.by_id("score")["text"].lower()


# --- texts stay texts -------------------------------------------------------------------------


def test_targets_are_not_blamed_for_many_large_errors(diabetes, wine):
    data = diabetes[3]
    few, many = (Suspicion([], count, 300) for count in (4, 20))
    told = [sentence for _, sentence in data.having(suspicion=few).trust]
    assert any("4 training rows have targets that are hard to believe" in s for s in told)
    told = [sentence for _, sentence in data.having(suspicion=many).trust]
    assert any("20 of 300 training rows are far from" in s for s in told)
    told = [sentence for _, sentence in wine[3].having(suspicion=many).trust]
    assert any("20 training rows have targets that are hard to believe" in s for s in told)


@pytest.fixture(scope="module")
def hostile_page():
    data = hostile()
    return data, *read_page(data)


def test_no_text_becomes_markup(hostile_page):
    data, page, numbers = hostile_page
    scripts = page.of("script")
    assert [s.get("type") for s in scripts] == ["application/json"]
    assert not [e for e in page.elements if e["tag"] in ("b", "i", "u", "em")]
    assert not [k for e in page.elements for k in e if k.startswith("on")]
    assert numbers["target"] == numbers["provenance"]["command"] == HOSTILE
    assert page.of("h1")[0]["text"] == f"Predicting {HOSTILE}"
    assert [c["name"] for c in numbers["columns"]] == [c.name for c in data["columns"]]


def test_the_json_holds_every_text_and_ends_no_script():
    names = [
        "</script>",
        "<!--",
        "]]>",
        "&lt;",
        "\\",
        '"',
        "'",
        "\u2028",
        "\x1b[31m",
        "\ud800",
        "ü",
    ]
    data = three_rows()
    data = replace(data, facts=replace(data.facts, notices=names, target="</SCRIPT >"))
    text = visible(render(data))
    text.encode()
    body = text.split('id="mercer-report">', 1)[1]
    raw, rest = body.split("</script>", 1)
    assert rest.strip() == "</body>\n</html>"
    assert not set("<>&") & set(raw)
    assert json.loads(raw)["notices"] == names
    assert json.loads(raw)["target"] == "</SCRIPT >"
    assert "\x1b" not in text


def test_the_commands_to_copy_are_quoted():
    path = "my $(rm) 'odd'\"\N{GRINNING FACE}.mercer"
    data = three_rows()
    data = replace(data, provenance=replace(data.provenance, model_path=path))
    shown = [e["text"] for e in Page(render(data)).of("pre")]
    command = next(text for text in shown if text.startswith("mercer predict"))
    assert shlex.split(command)[2] == path
    code = next(text for text in shown if text.startswith("import mercer"))
    assert ast.literal_eval(re.search(r"load\((.*)\)", code)[1]) == path


def test_a_table_that_polars_does_not_read_is_named_in_the_code():
    data = three_rows()
    data = replace(data, provenance=replace(data.provenance, new_path="NEW 'a.ts"))
    shown = [e["text"] for e in Page(render(data)).of("pre")]
    code = next(text for text in shown if text.startswith("import mercer"))
    ast.parse(code)
    assert 'new = ...  # a table like "NEW \'a.ts"' in code.splitlines()
    provenance = replace(data.provenance, new_path="NEW.jsonl")
    for kind, reader in ((data["columns"][0].kind, "pl.read_ndjson("), ("graph", "...  # a table")):
        columns = [replace(data["columns"][0], kind=kind), *data["columns"][1:]]
        changed = replace(data, provenance=provenance).having(columns=ColumnSection(columns))
        page = Page(render(changed))
        assert any(f"new = {reader}" in element["text"] for element in page.of("pre"))


STRANGE = {
    "dates with a text": ["unknown", *[f"2024-{i % 12 + 1:02d}-03" for i in range(39)]],
    "different dates and a text": ["unknown", *[f"20{i:02d}-01-03" for i in range(39)]],
    "numbers with a frequent mark": ["?"] * 6 + [f"{i}.5" for i in range(34)],
    "dates far apart": [f"{i * 250 + 1:04d}-01-01" for i in range(40)],
    "mixed types": [1, "a", 2.5, None, True] * 8,
    "all missing but three": [None] * 37 + [1.0, 2.0, 4.0],
    "one level": ["x"] * 20 + [None] * 20,
    "huge": np.linspace(-1, 1, 40) * 1.7e308,
    "huge and small": [1.7e308, *range(39)],
    "tiny": np.arange(40) * 5e-324,
    "hardly different": 1e16 + 2 * np.arange(40.0),
    "very long": [f"{'long ' * 2000}{i}" for i in range(40)],
    "empty texts": ["", "  "] * 20,
    "numbers in texts": [f"{i}{'0' * (400 if i % 5 else 20)}" for i in range(40)],
}


@pytest.mark.spread(2)
@pytest.mark.parametrize("kind", [None, "number", "category", "date", "text", "set"])
@pytest.mark.parametrize("name", STRANGE)
def test_columns_of_strange_cells_are_reported(name, kind):
    import pandas as pd

    y = np.arange(40) % 7 + 0.5
    X = pd.DataFrame({"": STRANGE[name], "very long name " * 50: np.sin(y)})
    kinds = None if kind is None else {"": kind}
    try:
        model = KernelRegressor(trials=1, kind=kinds).fit(X[:30], y[:30])
    except ValueError:
        if kind is None:  # else the kind does not fit
            raise
        return
    data = report_data(model, X[:30], y[:30], holdout=(X[30:], y[30:]))
    page, _ = read_page(data)
    drawn = [e for e in page.elements if e["tag"] in ("rect", "line", "circle", "text", "polyline")]
    assert not [e for e in drawn if {"nan", "inf", "-inf"} & {str(v) for v in e.values()}]


@pytest.mark.parametrize(
    "y", [1e16 * np.arange(40.0), 1e-16 * np.arange(40.0), 1e16 + 2 * np.arange(40.0)]
)
def test_targets_of_strange_sizes_are_reported(y):
    X = np.stack([np.arange(40.0), np.sin(np.arange(40.0))], axis=1)
    model = KernelRegressor(trials=1).fit(X[:30], y[:30])
    page, numbers = read_page(report_data(model, X[:30], y[:30], holdout=(X[30:], y[30:])))
    assert sum(numbers["target_summary"]["counts"]) == 40
    assert "nan" not in " ".join(str(e.get("x")) for e in page.of("rect"))


def test_a_large_confusion_matrix_is_a_map_of_all_its_rows(hostile_page):
    data, page, _ = hostile_page
    start = page.elements.index(page.by_id("confusion"))
    titles = [
        e["text"] for e in page.elements[start:] if e["tag"] == "title" and " → " in e["text"]
    ]
    counts = [int(t.rsplit(": ", 1)[1]) for t in titles]
    assert sum(counts) == data.score.rows == data["confusion"].matrix.sum()
    assert len(counts) == (data["confusion"].matrix > 0).sum()


def test_nothing_is_asked_of_the_network(wine, hostile_page):
    for page in (wine[4], hostile_page[1]):
        for element in page.elements:
            for name in ("src", "href", "srcset", "data", "action", "poster"):
                value = element.get(name) or "data:"
                assert value.startswith(("data:", "#")), (element["tag"], name)
        assert "url(" not in page.of("style")[0]["text"]
        assert "@import" not in page.of("style")[0]["text"]


def test_a_report_is_written_whole_or_not_at_all(wine, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "no space left")))
    with pytest.raises(OSError, match="no space left"):
        write_report(path, wine[3])
    assert path.read_text() == "old"
    monkeypatch.undo()
    write_report(path, wine[3])
    assert path.read_text("utf-8").startswith("<!doctype html>")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.full
def test_of_thousands_of_columns_a_thousand_are_listed(diabetes):
    data = diabetes[3]
    for count in (1000, 1200):
        many = data.having(columns=ColumnSection((data["columns"].each * 200)[:count]))
        page, numbers = read_page(many)
        assert len(page.of("svg", "sparkline")) == len(numbers["columns"]) == 1000
        assert numbers["n_columns"] == count
        ends = "The list ends after 1,000 of 1,200 columns." in render(many)
        assert ends == (count > 1000)


def test_columns_that_no_page_lists_cost_no_distribution(diabetes, monkeypatch):
    model, (X, *_) = diabetes[0], diabetes[1]
    monkeypatch.setattr(report_columns, "LISTED_COLUMNS", 3)
    found = report_columns.column_summaries(model, X)
    assert [bool(column.counts) for column in found] == [True] * 3 + [False] * (len(found) - 3)
    assert found[-1].shown.endswith("different")
