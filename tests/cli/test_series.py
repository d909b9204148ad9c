"""Columns of time series in files of lists: a model is fitted, and predicts."""

import numpy as np
import polars as pl
import pytest
from tests.cli.runner import printed


@pytest.mark.full
@pytest.mark.parametrize("end", ["parquet", "jsonl"])
def test_lists_of_numbers_are_fitted_as_series(end, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    fast = np.arange(60) % 2
    signals = [
        (np.sin(np.arange(n) * (1.5 if f else 0.5)) + rng.normal(size=n) / 10).tolist()
        for f, n in zip(fast, rng.integers(20, 40, 60))
    ]
    table = pl.DataFrame({"signal": signals, "speed": np.array(["slow", "fast"])[fast]})
    write = {"parquet": table.write_parquet, "jsonl": table.write_ndjson}[end]
    write(f"waves.{end}")
    code, said = printed(capsys, "fit", f"waves.{end}", "--target", "speed", "--time", "20")
    assert code == 0, said
    assert "signal series 60 different series of numbers" in said
    model = next(tmp_path.glob("*.mercer")).name
    code, said = printed(capsys, "predict", model, f"waves.{end}", "-o", "said.csv")
    assert code == 0, said
    said = pl.read_csv("said.csv")
    right = [
        (said[name] == table["speed"]).mean()
        for name in said.columns
        if said[name].dtype == pl.String
    ]
    assert max(right) > 0.9
