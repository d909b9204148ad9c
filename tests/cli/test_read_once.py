"""One `mercer fit` reads its table once, and encodes each row once for each of its models."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

from cli.runner import command
from mercer.tables import encoding, values

N = 120
RNG = np.random.default_rng(0)
TABLE = pl.DataFrame(
    {
        "number": RNG.normal(size=N),
        "colour": RNG.choice(["red", "green", "blue"], N),
        "price": [f"{x:.2f} €" for x in RNG.uniform(1, 9, N)],
        "note": [" ".join(RNG.choice(["gin", "tea", "rum", "milk", "cola"], 6)) for _ in range(N)],
        "weight": RNG.uniform(1, 2, N),
    }
).with_columns(y=pl.col("number") + pl.col("note").str.contains("rum"))


@pytest.fixture
def counts(monkeypatch):
    """How often each column was read, and each row encoded by each encoder."""
    read, encoded, encoders = Counter(), Counter(), []
    series_values, encode_rows = values._series_values, encoding.TableEncoder._encode

    def reads(series, name):
        read[name] += 1
        return series_values(series, name)

    def encodes(self, table):
        found = encode_rows(self, table)
        encoders.append(self)  # so that no other one gets its id
        rows = zip(table["number"].tolist(), table["note"].tolist())  # some with a word left out
        encoded.update((id(self), *row) for row in rows)
        return found

    monkeypatch.setattr(values, "_series_values", reads)
    monkeypatch.setattr(encoding.TableEncoder, "_encode", encodes)
    return read, encoded


@pytest.mark.full
@pytest.mark.parametrize(
    "options", [[], ["--compress", "20"], ["--weight", "weight"], ["--time-column", "number"]]
)
def test_each_column_is_read_and_each_row_is_encoded_once(folder, counts, options):
    TABLE.write_csv("t.csv")
    asked = ["--target", "y", "--trials", "1", "--quiet", "--kind", "note=text"]
    assert command("fit", "t.csv", *asked, *options) == 0
    assert (folder / "model.html").exists()
    read, encoded = counts
    assert read == dict.fromkeys(TABLE.drop("y").columns, 1)
    assert len(encoded) > N  # those of the search, and those of the final fit
    assert set(encoded.values()) == {1}
