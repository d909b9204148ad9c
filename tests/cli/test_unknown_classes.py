"""Classes that training never had are counted as wrong in a score, and said."""

import json

import numpy as np
import polars as pl
import pytest
from tests.cli.runner import command, printed

from mercer.machines import METRICS

N = 60
RANDOM = np.random.default_rng(0)
SIZE = RANDOM.normal(size=N)
TRAIN = pl.DataFrame({"size": SIZE, "y": np.where(SIZE > 0, "yes", "no")})
TEST = TRAIN[:20].with_columns(y=pl.Series(["maybe"] * 5 + TRAIN["y"][5:20].to_list()))
SAID = "5 rows have a class that training never had: 'maybe'."


@pytest.fixture(autouse=True)
def tables(folder):
    TRAIN.write_csv("train.csv")
    TEST.write_csv("test.csv")


@pytest.mark.full
def test_fit_check_and_report_count_them_as_wrong(capsys):
    fit = ("fit", "train.csv", "--target", "y", "--test", "test.csv", "--trials", 1)
    code, said = printed(capsys, *fit, "--metric", "accuracy")
    assert (code, SAID in said) == (0, True)
    assert command(*fit, "--metric", "accuracy", "--json", "--force") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["score"]["value"] <= 0.75
    assert any(SAID in notice for notice in facts["notices"])
    code, said = printed(capsys, "check", "train.csv", "--target", "y", "--test", "test.csv")
    assert (code, SAID in said) == (0, True)
    code, said = printed(capsys, "report", "model.mercer", "test.csv")
    assert (code, SAID in said) == (0, True)


@pytest.mark.parametrize("metric", [m for m in METRICS.values() if m.task == "classification"])
def test_every_score_is_worse_with_them(metric):
    classes, y = np.array(["a", "b"]), np.array(["a", "b"] * 10)
    P = np.where((y == "a")[:, None], [0.9, 0.1], [0.1, 0.9])
    metric = metric.on(np.arange(2))
    before = metric(y, P, classes)
    y = np.append(y, ["c", "c"])
    after = metric(y, np.vstack([P, [[0.9, 0.1], [0.1, 0.9]]]), classes)
    assert metric.sign() * after < metric.sign() * before
