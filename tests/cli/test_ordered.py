"""``mercer fit`` of ordered classes: chosen, recognised, and refused."""

import json

import numpy as np
import polars as pl
import pytest

import mercer
from cli.runner import command

WORDS = ["Low", "Medium", "High"]
FIT = ("--target", "y", "--trials", "1", "--force")


@pytest.fixture
def folder(folder):
    rng = np.random.default_rng(0)
    a = rng.normal(size=120)
    steps = np.searchsorted([-0.5, 0.8], a + 0.3 * rng.normal(size=120))
    for name, levels in (("words", WORDS), ("letters", ["w", "u", "v"])):
        table = pl.DataFrame({"a": a, "y": np.array(levels)[steps]})
        table.write_csv(f"{name}.csv")
        table.with_columns(pl.col("y").cast(pl.Enum(levels))).write_parquet(f"{name}.parquet")
    return folder


@pytest.mark.usefixtures("no_report")
def test_check_and_fit_say_the_same_of_a_target_with_an_order(capsys):
    said = []
    for name, options in (("check", ("--target", "y")), ("fit", FIT)):
        assert command(name, "letters.parquet", *options, "--json") == 0
        said.append(json.loads(capsys.readouterr().out)["task_reason"])
    assert said == ["the column has ordered classes"] * 2


@pytest.mark.spread(1)
@pytest.mark.usefixtures("no_report")
@pytest.mark.parametrize(
    ("arguments", "order"),
    [
        (("words.csv", "--task", "ordered"), WORDS),
        (("letters.csv", "--order", "w,u, v"), ["w", "u", "v"]),
        (("letters.parquet",), ["w", "u", "v"]),
        (("letters.csv",), None),
    ],
    ids=["words", "given", "type", "none"],
)
def test_the_order_is_known_words_or_given_or_that_of_the_type(arguments, order, capsys):
    assert command("fit", *arguments, *FIT, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    model = mercer.load("model.mercer")
    assert model.order_ == order
    assert facts["score"]["metric"] == ("accuracy" if order is None else "rank_error")


@pytest.mark.full
@pytest.mark.usefixtures("no_report")
def test_the_order_is_said_and_all_scores_are_shown(capsys):
    assert command("fit", "words.csv", *FIT, "--task", "ordered") == 0
    said = capsys.readouterr().out
    assert "The classes have an order: Low < Medium < High." in said
    assert "quadratic_kappa " in said
    assert "accuracy " in said
    assert command("predict", "model.mercer", "words.csv", "-o", "p.csv") == 0
    found = pl.read_csv("p.csv")["prediction"].to_list()
    true = pl.read_csv("words.csv")["y"].to_list()
    assert np.mean([abs(WORDS.index(a) - WORDS.index(b)) for a, b in zip(found, true)]) < 0.3
    assert command("fit", "words.csv", *FIT) == 0
    assert "If Low < Medium < High is an order of y, --task ordered" in capsys.readouterr().out


def test_a_check_says_that_classes_may_have_an_order(capsys):
    assert command("check", "words.csv", "--target", "y") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "If Low < Medium < High is an order of y, --task ordered" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--task", "ordered"), "--task ordered: the order of u, v, w is not known"),
        (("--order", "u,v"), "lacks the class 'w'"),
        (("--order", "u,v,w,u"), "has a class twice"),
        (("--order", "u,v,w", "--task", "regression"), "are both given"),
        (("--metric", "rank_error"), "these have no order"),
        (("--task", "ordered", "--metric", "r2"), "for classification give one of"),
    ],
)
def test_wrong_orders_are_refused(arguments, said, capsys):
    assert command("fit", "letters.csv", *FIT, *arguments) != 0
    assert said in " ".join(capsys.readouterr().err.split())
