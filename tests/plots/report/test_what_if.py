"""Models in a page: predictions, intervals and Shapley values against `predict` and against an
evaluation in float64, in a real browser."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

import mercer
from mercer.kernels import RBF, Spectrum, TableKernel
from mercer.plots.report.live import exported
from mercer.plots.report.live.what_if import script
from mercer.selection.automatic import KernelMachine
from mercer.spoken import in_page
from mercer.tables import read_columns
from plots.report.live_models import (
    MACHINES,
    OF_CLASSES,
    ROWS,
    exactly,
    fitted,
    machine,
    size_of,
    table,
)


@pytest.fixture(scope="module")
def evaluator(browser):
    """A page with model.js alone."""
    page = browser.new_page()
    page.add_script_tag(content=script().partition("{let $=")[0])
    yield page
    page.close()


@pytest.fixture
def live(evaluator):
    """Evaluates exported models on rows of cells."""

    def predicted(model, X):
        found, inputs = exported(model)
        cells = inputs.cells(read_columns(X))
        return evaluator.evaluate(
            "([model, rows]) => { model = Live.load(model);"
            " return rows.map(row => Live.predict(model, row)); }",
            [json.loads(in_page(found)), cells],
        )

    return predicted


def values(found):
    return np.array([each.get("probabilities", each.get("value")) for each in found])


@pytest.mark.spread(7)
@pytest.mark.parametrize("task", ["numbers", "two classes", "three classes"])
@pytest.mark.parametrize("name", MACHINES)
def test_a_page_predicts_as_the_model_does(name, task, live):
    if name in OF_CLASSES and task == "numbers":
        pytest.skip("a machine of classes")
    X, y = table(240)
    model = fitted(MACHINES[name], X, y, task)
    new, _ = table(ROWS, seed=1)
    new.loc[0, "town"] = "never seen"
    found = live(model, new)
    page, M = values(found), model.encode(new)
    wanted = exactly(model, M)
    scale = max(1.0, np.abs(wanted).max())
    np.testing.assert_allclose(page, wanted, rtol=0, atol=1e-12 * scale * size_of(model))
    answers = model._answers(new)
    steep = max(abs(part.finish.slope) for part in model.machine_.parts)
    np.testing.assert_allclose(page, answers, rtol=0, atol=4e-7 * size_of(model) * max(1, steep))
    if task != "numbers":
        chosen = model.classes_[[each["choice"] for each in found]]
        clear = np.sort(answers, axis=1)[:, -1] - np.sort(answers, axis=1)[:, -2] > 1e-4
        assert (chosen == model.predict(new))[clear].all()


@pytest.mark.full
@pytest.mark.parametrize("scale", [
    "own", *(pytest.param(s, marks=pytest.mark.full) for s in ("logarithm", "square root")),
])  # fmt: skip
def test_intervals_are_those_of_the_model(scale, live):
    X, y = table(400)
    y = np.exp(y * (1 + (X["town"] == "x")))
    model = mercer.KernelRegressor(trials=3, only="kernels", target_scale=scale).fit(X, y)
    assert model.spread_.steps or scale == "logarithm"
    new, _ = table(ROWS, seed=1)
    found = live(model, new)
    ends = np.array([each["interval"] for each in found])
    wanted = model.predict_interval(new)
    np.testing.assert_allclose(ends, wanted, rtol=1e-3, atol=1e-4 * y.std())


@pytest.mark.full
def test_a_refit_has_an_encoder_of_its_own(live):
    X, y = table(300)
    model = mercer.KernelRegressor(trials=2, only="kernels").fit(X[:200], y[:200]).refit(X, y)
    assert model.encoder_ is not model.spread_.encoder
    new, _ = table(ROWS, seed=1)
    found = live(model, new)
    np.testing.assert_allclose(values(found), model.predict(new), atol=1e-4 * y.std())
    ends = np.array([each["interval"] for each in found])
    np.testing.assert_allclose(ends, model.predict_interval(new), rtol=1e-3, atol=1e-3 * y.std())


@pytest.mark.full
def test_ordered_classes_are_chosen_by_the_least_loss(live):
    X, y = table(300)
    levels = np.array(["low", "mid", "high"])[np.searchsorted(np.quantile(y, [0.4, 0.6]), y)]
    model = mercer.KernelClassifier(trials=2, order=["low", "mid", "high"], metric="rank_error")
    model.fit(X, levels)
    new, _ = table(200, seed=1)
    chosen = model.classes_[[each["choice"] for each in live(model, new)]]
    assert (chosen == model.predict(new)).mean() > 0.99


def test_one_of_several_targets(live):
    X, y = table(200)
    both = mercer.KernelRegressor(machines=[machine("ridge", "gaussian")])
    both.fit(X, np.stack([y, 100 * y**2], axis=1))
    new, _ = table(ROWS, seed=1)
    for place in (0, 1):
        model = both.of_target(place)
        wanted = model.predict(new)
        np.testing.assert_allclose(
            values(live(model, new)), wanted, atol=1e-4 * wanted.std(), rtol=0
        )


RANDOM, N = np.random.default_rng(3), 120
SECONDS = pd.to_timedelta(RANDOM.integers(0, 10**7, N), unit="s")
AWKWARD = {
    "array": RANDOM.normal(size=N),
    "moments": pd.to_datetime("2021-03-27") + SECONDS,
    "before 1970": pd.to_datetime("1905-03-27") - SECONDS,
    "durations": SECONDS,
    "versions": RANDOM.choice(["1.2.0", "1.10.0", "2.0.1"], N),
    "ranges": RANDOM.choice(["0-9", "10-19", "20-29", "30+"], N),
    "order": RANDOM.choice(["low", "mid", "high"], N),
    "names of objects": RANDOM.choice(["__proto__", "constructor", "toString"], N),
    "money": [f"${v:,.2f}" for v in RANDOM.exponential(1000, N)],
    "truth": RANDOM.random(N) < 0.5,
    "far": 1e300 * RANDOM.normal(size=N),
}


@pytest.mark.spread(4)
@pytest.mark.parametrize("name", AWKWARD)
def test_cells_are_read_as_the_model_reads_them(name, live):
    base = RANDOM.normal(size=N)
    X = pd.DataFrame({"": base, "__proto__": AWKWARD[name]})
    if name == "array":
        X = X.to_numpy()
    kind = {"__proto__": "ordered:low<mid<high"} if name == "order" else None
    codes = np.unique(AWKWARD[name], return_inverse=True)[1]
    y = np.tanh(base) + codes / codes.max()
    model = mercer.KernelRegressor(trials=1, only="kernels", kind=kind).fit(X, y)
    found = values(live(model, X[:ROWS]))
    wanted = exactly(model, model.encode(X[:ROWS]))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * size_of(model))


def of_levels(n):
    """Categories alone, and a rule on them, as of cars and games."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{j}": rng.choice(list("abcd"), n) for j in range(8)})
    same = sum((X[f"c{j}"] == X["c0"]).astype(int) for j in range(1, 4))
    return X, np.where(same + (X["c5"] == "a") > 1, "yes", "no")


def of_texts(n):
    """Short messages, of which some words tell the class, and a number."""
    rng = np.random.default_rng(1)
    plain, told = ["call", "me", "when", "home", "then"], ["win", "free", "cash", "prize", "claim"]
    spam = rng.random(n) < 0.4
    said = [" ".join(rng.choice(told if s else plain, 5)) + " " + rng.choice(plain) for s in spam]
    return pd.DataFrame({"said": said, "hour": rng.integers(0, 24, n)}), np.where(spam, "b", "a")


def with_gaps(n):
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("uvwxyz"))
    y = X["u"] * X["v"] + X["w"].abs()
    return X.mask(rng.random(X.shape) < 0.3), y.to_numpy()


def drawn(table, target):
    rows = pd.DataFrame(table)
    return rows, rows.pop(target).to_numpy()


def made(generator, n, **options):
    X, y = getattr(datasets, f"make_{generator}")(n, random_state=0, **options)
    X = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return X, y if y.dtype.kind == "f" and len(np.unique(y)) > 2 else y.astype(str)


def bundled(name):
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True, as_frame=True)
    return X, y.to_numpy(float if name == "diabetes" else str)


#: of tables that are at hand everywhere, those that are like the ones of benchmarks/RESULTS.md
TABLES = {
    **{name: (lambda name=name: bundled(name))
       for name in ("wine", "iris", "breast_cancer", "diabetes", "digits")},
    "mixed": lambda: table(400), "levels": lambda: of_levels(400), "gaps": lambda: with_gaps(400),
    "texts": lambda: of_texts(300),
    "throws": lambda: drawn(mercer.datasets.throws(400, 0), "result"),
    "friedman1": lambda: made("friedman1", 400, noise=0.5),
    "friedman2": lambda: made("friedman2", 400, noise=20.0),
    "friedman3": lambda: made("friedman3", 400, noise=0.1),
    "moons": lambda: made("moons", 400, noise=0.2), "hastie": lambda: made("hastie_10_2", 400),
    "circles": lambda: made("circles", 400, noise=0.1, factor=0.5),
    "blobs": lambda: made("blobs", 400, centers=5, cluster_std=3.0),
    "sparse": lambda: made("sparse_uncorrelated", 400), "swiss": lambda: made("swiss_roll", 400),
}  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("name", TABLES)
def test_winners_of_searches_predict_in_a_page(name, live):
    X, y = TABLES[name]()
    order = np.random.default_rng(0).permutation(len(y))[:450]
    train, test = order[:-ROWS], order[-ROWS:]
    automatic = mercer.KernelRegressor if y.dtype.kind == "f" else mercer.KernelClassifier
    model = automatic(trials=4).fit(X.iloc[train], y[train])
    found = values(live(model, X.iloc[test]))
    wanted = exactly(model, model.encode(X.iloc[test]))
    scale = max(1.0, np.abs(wanted).max())
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * scale * size_of(model))


# --- Shapley values -------------------------------------------------------------------------------

EXPLAINED = {
    "ridge, gaussian": "numbers", "ridge, laplacian": "three classes", "ridge, sum": "two classes",
    "ridge, interactions": "numbers", "ridge, dates": "two classes", "few centres": "three classes",
    "support vectors": "two classes", "linear": "three classes", "shapes": "numbers",
    "sparse": "two classes", "mean": "numbers", "absolute": "three classes",
}  # fmt: skip


@pytest.fixture
def explaining(evaluator):
    """Values of rows of cells, (rows, fields, outputs), and their errors, after some time."""

    def found(model, X, ms=0):
        data, inputs = exported(model)
        answers = evaluator.evaluate(
            """([model, rows, ms]) => {
              let time = 0, seed = 1; // each look at the clock takes 1 ms, and draws are the same
              Date.now = () => time++;
              Math.random = () => (seed = seed * 16807 % 2147483647) / 2147483647;
              model = Live.load(model);
              const outputs = [...Array(model.explained.outputs).keys()];
              return rows.map(row => outputs.map(o => {
                const [values, error] = Live.explanation(model, row, o)(ms);
                return [[...values], error];
              }));
            }""",
            [json.loads(in_page(data)), inputs.cells(read_columns(X)), ms],
        )
        phi = np.moveaxis([[values for values, _ in row] for row in answers], 1, 2)
        return phi, np.array([[error for _, error in row] for row in answers]), data, inputs

    return found


@pytest.mark.spread(3)
@pytest.mark.parametrize("name", EXPLAINED)
def test_shapley_values_are_those_of_the_library(name, explaining):
    X, y = table(240)
    model = fitted(MACHINES[name], X, y, EXPLAINED[name])
    new, _ = table(5, seed=1)
    phi, errors, _, read = explaining(model, new)
    wanted = model.shapley_values(new)
    assert "permutations" not in wanted.method
    values = wanted.values.reshape(len(new), len(wanted.feature_names), -1)
    places = [wanted.feature_names.index(name) for name in read.sources]
    size = 4e-7 * size_of(model) * max(1, model.machine_.finish.slope)
    np.testing.assert_allclose(phi, values[:, places], rtol=0, atol=size)
    assert (errors == 0).all()
    assert np.abs(np.delete(values, places, axis=1)).max(initial=0) <= size


ASKED = {
    "window": "numbers", "full": "three classes", "diagonal": "numbers", "ridge, power": "numbers",
    "networks": "two classes", "ridge, gaussian": "logarithm", "mean": "three classes",
}  # fmt: skip


@pytest.mark.spread(1)
@pytest.mark.parametrize("name", ASKED)
def test_other_models_are_asked(name, explaining):
    X, y = table(120)
    if ASKED[name] == "logarithm":
        y = np.exp(y)
        model = fitted(MACHINES[name], X, y, "numbers", target_scale="logarithm")
    else:
        model = fitted(MACHINES[name], X, y, ASKED[name])
    new, _ = table(2, seed=1)
    phi, errors, data, read = explaining(model, new, 60)
    if name == "mean":  # its shapes alone
        assert [part is None for part in data["explained"]["parts"]] == [False, False, True]
    else:
        assert "parts" not in data["explained"]
    wanted = model.shapley_values(new)
    values = wanted.values.reshape(len(new), len(wanted.feature_names), -1)
    places = [wanted.feature_names.index(name) for name in read.sources]
    own = np.sqrt(np.nan_to_num(wanted.errors.reshape(values.shape)[:, places]) ** 2)
    if wanted.method != "permutations":
        own = 0 * own  # errors of the background are not those of a sample
    off = np.abs(phi - values[:, places]).max(axis=1)
    assert (errors > 0).all()
    assert (off < 5 * (errors + own.max(axis=1)) + 1e-9).all()
    _, more, _, _ = explaining(model, new, 400)
    assert more.max() < errors.max()
    # whatever the sample is, they add up but for the background, of which each row comes by turns
    total = model.predict(new) if ASKED[name] in ("numbers", "logarithm") else None
    if total is not None:
        base = model.machine_(model.background_)
        gap = np.abs(phi[..., 0].sum(axis=1) - (total - model.background_weights_ @ base))
        assert (gap < base.std()).all()


def test_values_of_pairs_of_classes_add_up_to_their_decision_values(explaining):
    X, y = table(240)
    model = fitted(MACHINES["support vectors"], X, y, "three classes")
    new, _ = table(5, seed=1)
    phi, _, found, _ = explaining(model, new)
    assert "pairs" in found["explained"]["what"]
    total = model.machine_.learner.kernel_sum()
    wanted = total(model.encode(new)) - model.background_weights_ @ total(model.background_)
    np.testing.assert_allclose(phi.sum(axis=1), wanted, rtol=0, atol=4e-7 * size_of(model))


def test_a_model_of_an_earlier_version_has_no_values():
    X, y = table(120)
    model = fitted(MACHINES["window"], X, y, "numbers")
    model.background_ = None
    assert exported(model)[0]["explained"] is None


# --- texts ----------------------------------------------------------------------------------------

SAID = [
    "a red SKY", "Red: a sky!", "", "sky sky sky", "aaa",
    "no \u00c4rger \u2014 na\u00efve \u00e9t\u00e9", "\U0001f600 smiles \U0001f600",
    "under_score 1\u00bd", "tab\tand  blanks", "\u0130stanbul",
    "__proto__ constructor", "<b>bold</b> &amp;", "\u4e2d\u6587 \u0e01\u0e34",
]  # fmt: skip


@pytest.mark.parametrize("kernel", [
    Spectrum(3), Spectrum(5, sublinear=True, idf=True, shortest=1),
    Spectrum(2, idf=True, shortest=1), Spectrum(4, sublinear=True),
], ids=repr)  # fmt: skip
@pytest.mark.parametrize("view", ["characters", "words"])
def test_texts_are_compared_as_the_model_does(kernel, view, live, explaining):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"said": [" ".join(rng.choice(SAID, 3)) for _ in range(90)],
                      "size": rng.normal(size=90)})  # fmt: skip
    y = X["said"].str.len().to_numpy() / 10 + X["size"].to_numpy()
    reads = "said" if view == "characters" else "said: words"
    of = TableKernel([(RBF(0.5), ["size (scaled)"]), (kernel.normalised(), [f"{reads} ({view})"])])
    model = mercer.KernelRegressor(machines=[KernelMachine("ridge", of)], kind={"said": "text"})
    model.fit(X, y)
    new = pd.DataFrame({"said": [*SAID, "never seen zebra", *X["said"][:4]], "size": 0.3})
    wanted = exactly(model, model.encode(new))
    np.testing.assert_allclose(
        values(live(model, new)), wanted, rtol=0, atol=1e-12 * size_of(model)
    )
    phi, _, data, read = explaining(model, new[:6])
    assert "parts" in data["explained"]
    found = model.shapley_values(new[:6])
    places = [found.feature_names.index(name) for name in read.sources]
    size = 4e-7 * size_of(model)
    np.testing.assert_allclose(phi[..., 0], found.values[:, places], rtol=0, atol=size)


@pytest.mark.spread(1)
@pytest.mark.parametrize("learner", ["margins", "bayes"])
@pytest.mark.parametrize("count", [2, 3])
def test_linear_machines_of_texts_predict_in_a_page(learner, count, live):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"said": [" ".join(rng.choice(SAID, 3)) for _ in range(90)]})
    lengths = X["said"].str.len().to_numpy()
    y = np.digitize(lengths, np.quantile(lengths, np.arange(1, count) / count)).astype(str)
    parts = [
        (Spectrum(3, sublinear=True, idf=True, shortest=1).normalised(), ["said (characters)"]),
        (Spectrum(2, idf=True, shortest=1).normalised(), ["said: words (words)"]),
    ]
    given = KernelMachine(learner, TableKernel(parts, "sum", [0.3, 0.7]))
    model = mercer.KernelClassifier(machines=[given], kind={"said": "text"}).fit(X, y)
    new = pd.DataFrame({"said": [*SAID, "never seen zebra", *X["said"][:4]]})
    np.testing.assert_allclose(
        values(live(model, new)), model.predict_proba(new), rtol=0, atol=1e-6
    )
