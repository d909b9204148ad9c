"""A machine of a user's own takes part in searches, as those of the library do."""

import re
from pathlib import Path
from textwrap import dedent

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from their_package.machine import OfScikitLearn, TheirKind, TheirMachine

import mercer
from mercer import KernelClassifier, KernelRegressor
from mercer.kernels import RBF, Laplacian, TableKernel
from mercer.machines import register_machine
from mercer.selection.automatic import KernelMachine

PAGE = Path(__file__).parents[2] / "docs" / "extending.rst"
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.uniform(-1, 1, size=(150, 2)), columns=list("ab")).assign(
    colour=np.array(list("rgb"))[RNG.integers(3, size=150)]
)
WAVE = (np.sin(3 * TABLE["a"]) + TABLE["b"] * (TABLE["colour"] == "r")).to_numpy()
LEVELS = np.array(["high", "low", "middle"])[np.digitize(WAVE, [-0.6, 0.5])]
CASES = [(KernelRegressor, WAVE), (KernelClassifier, LEVELS), (KernelClassifier, WAVE > 0)]
THEIRS = KernelMachine("theirs", TableKernel([(RBF(0.5), ["a (scaled)", "b (scaled)"])]), "one")
RIDGE = KernelMachine("ridge", TableKernel([(Laplacian(), ["a (rank)"])]), "other")
MEAN = [RIDGE, THEIRS]
TYPES = [OfScikitLearn, TheirMachine]


@pytest.fixture(autouse=True)
def registered():
    remove = register_machine(TheirKind())
    yield remove
    remove()
    with pytest.raises(ValueError, match=r"learner='theirs': give one of"):
        _ = THEIRS.kind


def answers(model, X=TABLE):
    return model.predict(X) if model.task == "regression" else model.predict_proba(X)


def loaded(model, path):
    mercer.save(model, path)
    with pytest.raises(mercer.persistence.ModelFileError, match="their_package"):
        mercer.load(path)
    return mercer.load(path, trusted=TYPES)


def checked(model, y, path):
    """Fails where what was fitted cannot be shown, written, fitted again, saved or loaded."""
    code, names = model.code(), {"X": TABLE, "y": y}
    assert '"theirs"' in code
    assert "# kernel ridge of scikit-learn, alpha = " in code
    exec(code, names)
    assert_allclose(answers(names["model"]), answers(model), rtol=1e-9)
    again = type(model)(replay=model.schedule_).fit(TABLE, y)
    assert again.winner_name_ == model.winner_name_
    assert_array_equal(answers(again), answers(model))
    copy = loaded(model, path)
    assert copy.solver_ == model.solver_
    assert copy.code() == code
    assert_array_equal(answers(copy), answers(model))
    assert_allclose(answers(copy.refit(TABLE, y)), answers(model), rtol=1e-9)


@pytest.mark.spread(1)
@pytest.mark.parametrize(("Model", "y"), CASES)
def test_it_is_tried_first_and_may_be_chosen(Model, y, tmp_path):
    model = Model(trials=2, only="kernels").fit(TABLE, y)
    assert [entry["machine"] for entry in model.schedule_[:-1]] == ["theirs", "theirs"]
    rows = [row for row in model.leaderboard_ if not row["baseline"]]
    assert {row["learner"] for row in rows} == {"kernel ridge of scikit-learn"}
    assert {row["name"] for row in rows} == {f"theirs: gaussian, scale {s}" for s in (1, 3)}
    assert model.winner_["machine"] == "theirs"
    assert model.winner_name_ == rows[0]["name"]
    assert model.solver_.startswith("kernel ridge of scikit-learn, alpha = ")
    assert model.reasons(TABLE[:5]).rows.shape == (5, 3)
    assert model.score(TABLE, y) > 0.8
    checked(model, y, tmp_path / "model.mercer")


@pytest.mark.spread(1)
@pytest.mark.parametrize(("Model", "y"), CASES[:2])
def test_a_search_may_weigh_it_in_a_mean(Model, y, tmp_path):
    model = Model(trials=6, only="kernels").fit(TABLE, y)
    assert "theirs: gaussian" in model.winner_name_
    machines = [candidate.machine for _, candidate, _ in model.parts_]
    assert "theirs" in machines
    assert len(set(machines)) > 1
    assert "kernel ridge of scikit-learn, alpha = " in model.solver_
    checked(model, y, tmp_path / "model.mercer")


@pytest.mark.parametrize(("Model", "y"), CASES[:2])
def test_it_may_be_given_in_a_mean(Model, y):
    both = Model(machines=MEAN).fit(TABLE, y)
    assert both.winner_name_ == "mean of other + theirs: one"
    alone = [Model(machines=[each]).fit(TABLE, y).machine_(both.encode(TABLE)) for each in MEAN]
    expected = np.mean(alone, axis=0)
    if both.task == "classification":
        expected = np.sqrt(np.prod(alone, axis=0))
        expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(answers(both), expected, rtol=1e-6)


def test_the_example_of_the_page_runs(registered):
    text = PAGE.read_text(encoding="utf-8")
    example = re.search(r"( +from mercer import KernelRegressor\n.*?)\n\nYou", text, re.DOTALL)
    registered()
    exec(dedent(example[1]), {"X": TABLE, "y": WAVE})
    register_machine(TheirKind())


def test_names_of_candidates_tell_machines_apart():
    class Another(TheirKind):
        name = "another"

    with pytest.raises(ValueError, match=r"begin with prefix='theirs: ' too: give it a prefix"):
        register_machine(Another())
