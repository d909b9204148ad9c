"""`code` of every kind of winner is short, has its kernel, and predicts the same."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer import KernelClassifier, KernelRegressor
from mercer.kernels import RBF, Laplacian, TableKernel
from mercer.machines.candidates.candidate import Candidate
from mercer.selection.automatic import KernelMachine

N = 90
RNG = np.random.default_rng(0)
NUMBERS = pd.DataFrame(RNG.normal(size=(N, 4)), columns=list("abcd"))
MIXED = NUMBERS.assign(
    colour=RNG.choice(["red", "blue", "green"], N),
    day=pd.date_range("2024-01-01", periods=N, freq="13h"),
    k=RNG.integers(0, 5, N),
)
MIXED.loc[::7, "a"] = np.nan
WAVE = np.sin(2 * NUMBERS["b"]) + (MIXED["colour"] == "red") + 0.1 * RNG.normal(size=N)
WORDS = np.array(["sun", "rain", "snow", "wind", "cloud", "frost", "heat", "storm", "mist", "hail"])
TITLES = pd.DataFrame({"title": [" ".join(RNG.choice(WORDS, 6)) for _ in range(N)]})
WET = TITLES["title"].str.contains("rain").map({True: "wet", False: "dry"}).to_numpy()
DNA = pd.DataFrame({"dna": ["".join(row) for row in RNG.choice(list("acgt"), (N, 24))]})
FIRST = DNA["dna"].str[3].isin(["a", "c"]).map({True: "one", False: "two"}).to_numpy()
VECTORS = pd.DataFrame({"v": list(RNG.normal(size=(N, 24)).round(3))})
RING = np.where(np.stack(VECTORS["v"])[:, :3].sum(axis=1) > 0, "in", "out")
BESIDE = TITLES.assign(b=NUMBERS["b"])
WIDE = pd.DataFrame(RNG.normal(size=(N, 110))).rename(columns="x{}".format)
CLASSES = np.where(WAVE > 0.5, "high", "low")
SETS = pd.DataFrame({"tags": [list(RNG.choice(WORDS, 3, replace=False)) for _ in range(N)]})
SOLD = np.where(["sun" in tags for tags in SETS["tags"]], "yes", "no")


def entry(family, **settings):
    candidate = Candidate(family, **settings)
    return vars(candidate) | {"rows": N, "rank": N, "steps": [3] * 5 if candidate.learn else []}


KINDS = {
    "gaussian": (MIXED, WAVE, entry("gaussian")),
    "laplacian, svc": (MIXED, CLASSES, entry("laplacian", columns="levels", machine="svc")),
    "interactions": (MIXED, WAVE, entry("interactions", learn=True)),
    "interactions of classes": (MIXED, CLASSES, entry("interactions", learn=True)),
    "window": (MIXED, CLASSES, entry("interactions", learn=True, machine="window")),
    "local": (MIXED, WAVE, entry("gaussian", machine="local")),
    "additive": (MIXED, WAVE, entry("additive")),
    "many": (MIXED, WAVE, entry("many", learn=True)),
    "screened": (WIDE, WIDE["x7"] + WIDE["x9"], entry("screened", learn=True, kept=3)),
    "full metric": (NUMBERS, WAVE, entry("metric", learn=True, form="full")),
    "weights": (NUMBERS, CLASSES, entry("metric", learn=True, form="absolute", machine="svc")),
    "metric of vectors": (
        VECTORS, RING, entry("metric", learn=True, form="full", text="vectors", machine="svc"),
    ),
    "vectors": (VECTORS, RING, entry("objects", text="gaussian of directions", machine="svc")),
    "rare words": (TITLES, WET, entry("objects", text="rare words and substrings", machine="svc")),
    "words, ridge": (TITLES, WET, entry("objects", text="characters and words")),
    "text beside a number": (
        BESIDE, WET, entry("interactions", learn=True, text="rare words and substrings"),
    ),
    "sequences": (DNA, FIRST, entry("objects", text="weighted degree 8", machine="svc")),
    "edits": (DNA, FIRST, entry("objects", text="edits")),
    "sets": (SETS, SOLD, entry("objects", text="sets", machine="svc")),
    "logarithm": (MIXED, np.exp(2 * WAVE), entry("gaussian")),
    "linear": (MIXED, NUMBERS["b"] + NUMBERS["c"], entry("gaussian", scale=30.0)),
    "linear, classes": (TITLES, WET, entry("objects", text="words")),
    "sparse": (WIDE, WIDE["x7"] + WIDE["x9"], entry("gaussian", scale=30.0)),
    "constant": (NUMBERS, np.random.default_rng(3).normal(size=N), entry("gaussian", scale=30.0)),
}  # fmt: skip
SIMPLE = {"linear": "linear", "sparse": "sparse", "constant": "constant",
          "linear, classes": "linear"}  # fmt: skip


def answers(model, X):
    return model.predict(X) if model.task == "regression" else model.predict_proba(X)


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", KINDS)
def test_the_code_of_each_kind_of_winner_predicts_the_same(name):
    X, y, tried = KINDS[name]
    kind = KernelRegressor if np.asarray(y).dtype.kind == "f" else KernelClassifier
    only = None if name in SIMPLE else "kernels"
    model = kind(replay=[tried], only=only).fit(X, y)
    if name in SIMPLE:
        assert SIMPLE[name] in [each.machine for _, each, _ in model.parts_]
    code = model.code()
    assert "replay" not in code
    assert "steps" not in code or name == "metric of vectors"
    assert len(code.splitlines()) < 110
    room = {"X": X, "y": y}
    exec(code, room)
    again = room["model"]
    assert_allclose(answers(again, X), answers(model, X), rtol=1e-6, atol=1e-9)
    assert again.winner_name_ == model.winner_name_
    assert again.code() == code


@pytest.mark.full
def test_a_model_of_more_rows_than_the_search_had_has_code_too():
    y = np.exp(2 * WAVE)
    model = KernelRegressor(trials=3).fit(MIXED[:60], y[:60]).refit(MIXED, y)
    room = {"X": MIXED, "y": y}
    exec(model.code(), room)
    assert_allclose(room["model"].predict(MIXED), model.predict(MIXED), rtol=1e-6)


def test_factors_of_the_probabilities_are_in_the_code():
    y = np.where(WAVE > 1.2, "rare", "often")
    model = KernelClassifier(trials=2, metric="balanced_accuracy").fit(MIXED, y)
    room = {"X": MIXED, "y": y}
    exec(model.code(), room)
    assert_allclose(room["model"].decision_weights_, model.decision_weights_)
    assert (room["model"].predict(MIXED) == model.predict(MIXED)).all()


@pytest.mark.full
def test_a_model_from_code_is_saved_refitted_reported_and_explained(tmp_path):
    kernel = TableKernel(
        [(RBF(0.5), ["b (scaled)", "c (scaled)"]), (Laplacian(), ["a (rank)"])], "sum", [2.0, 0.5]
    )
    machines = [KernelMachine("ridge", kernel, "mine"), KernelMachine("linear")]
    model = KernelRegressor(machines=machines).fit(MIXED, WAVE)
    assert model.winner_name_ == "mean of mine + linear (spline)"
    assert model.relevance() == {"b": 1.0, "c": 1.0, "a": 0.5}
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    assert_allclose(loaded.predict(MIXED), model.predict(MIXED))
    assert_allclose(loaded.refit(MIXED, WAVE).predict(MIXED), model.predict(MIXED))
    assert model.reasons(MIXED[:3]).rows.shape == (3, 3)
    model.report(tmp_path / "r.html", MIXED, WAVE)
    assert "mine" in (tmp_path / "r.html").read_text()
    assert "mine" in model._repr_html_()


def test_machines_that_do_not_fit_are_refused():
    named = TableKernel([(RBF(), ["nothing (scaled)"])])
    for machines, said in (
        ([], "machines=.*: give a list of KernelMachine"),
        ([KernelMachine("ridge")], "kernel=None: a machine of kernel ridge needs a TableKernel"),
        ([KernelMachine("ridge", named)], r"kernel= reads \['nothing \(scaled\)'\]"),
        ([KernelMachine("forest", named)], "learner='forest': give one of"),
    ):
        with pytest.raises(ValueError, match=said):
            KernelRegressor(machines=machines).fit(NUMBERS, WAVE)


@pytest.mark.full
def test_a_scale_can_be_given():
    y = np.exp(WAVE)
    model = KernelRegressor(trials=1, target_scale="square root").fit(MIXED, y)
    assert model.target_scale_.name == "square root"
    assert KernelRegressor(trials=1, target_scale="own").fit(MIXED, y).target_scale_.name == ""
    with pytest.raises(ValueError, match="target_scale='logit': these targets"):
        KernelRegressor(trials=1, target_scale="logit").fit(MIXED, y * 100)
