"""Tables with missing values, and Gower's distance: the definition, column by column."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer import KernelDensity, NadarayaWatson
from mercer.distances import Edit, Match, Minkowski, Mixed

rng = np.random.default_rng(0)


def table(n, holes):
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "whole": rng.integers(0, 9, n).astype(float),
            "c": rng.choice(["x", "y", "z"], n),
            "d": rng.choice(["p", "q"], n),
            "constant": 3.0,
        }
    )
    for name in ("a", "c"):
        frame.loc[rng.uniform(size=n) < holes, name] = None
    return frame


def gower(A, B, training, weights):
    """Row by row, column by column."""
    D = np.empty((len(A), len(B)))
    for i, x in enumerate(A.itertuples(index=False)):
        for j, z in enumerate(B.itertuples(index=False)):
            total = seen = 0.0
            for w, name, u, v in zip(weights, training.columns, x, z):
                if pd.isna(u) or pd.isna(v):
                    continue
                if isinstance(u, str):
                    apart = float(u != v)
                else:
                    spread = training[name].max() - training[name].min()
                    apart = abs(u - v) / spread if spread else 0.0
                total, seen = total + w * apart, seen + w
            D[i, j] = total / seen if seen else 1.0
    return D


@pytest.mark.spread(3)
@pytest.mark.parametrize("holes", [0, 0.3, 0.7])
@pytest.mark.parametrize("weights", [None, [1.0, 2, 0.5, 3, 1]])
def test_gower_by_definition(holes, weights):
    training, new = table(24, holes), table(9, holes)
    distance = Mixed.gower(training, weights)
    w = np.ones(5) if weights is None else weights
    assert_allclose(distance(training), gower(training, training, training, w), atol=1e-12)
    if holes:
        assert_allclose(distance(new, training), gower(new, training, training, w), atol=1e-12)
    assert distance.metric is False


def test_new_rows_may_lack_all_values_of_a_column_of_texts():
    training, new = table(24, 0.3), table(9, 0)
    new["c"] = pd.Series([None] * 9, dtype=training["c"].dtype)
    found = Mixed.gower(training)(new, training)
    assert_allclose(found, gower(new, training, training, np.ones(5)), atol=1e-12)


def test_every_container():
    frame = table(30, 0.3)
    expected = Mixed.gower(frame)(frame)
    rows = frame.astype(object).where(frame.notna(), None).to_numpy()
    assert_allclose(Mixed.gower(rows)(rows), expected)
    assert_allclose(Mixed.gower(rows.tolist())(rows.tolist()), expected)
    polars = pytest.importorskip("polars")
    other = polars.DataFrame({c: list(rows[:, j]) for j, c in enumerate(frame.columns)})
    assert_allclose(Mixed.gower(other)(other), expected)
    numbers = frame[["a", "whole"]].to_numpy(float)
    assert_allclose(
        Mixed.gower(numbers)(numbers), Mixed.gower(frame[["a", "whole"]])(frame[["a", "whole"]])
    )


def test_rows_without_a_common_part_are_as_far_as_the_weights_say():
    rows = [[1.0, None], [None, "x"], [2.0, "x"], [None, None]]
    distance = Mixed([(Minkowski(1), [0]), (Match(), [1])], [0.5, 2.0], missing="skip")
    D = distance(rows)
    assert_allclose(D[0, 1], 2.5)
    assert_allclose(D[3], 2.5)
    assert_allclose(D[0, 2], 0.5 * 2.5 / 0.5)  # the other part counts for both
    assert_allclose(D[1, 2], 0)


def test_strings_and_sets_among_the_parts():
    frame = pd.DataFrame({"name": ["anna", None, "otto"], "x": [0.0, 1.0, np.nan]})
    distance = Mixed([(Edit(), ["name"]), (Minkowski(1), ["x"])], missing="skip")
    D = distance(frame)
    assert_allclose(D, [[0, 2, 8], [2, 0, 2], [8, 2, 0]])


def test_learners_read_missing_values():
    frame, y = table(80, 0.3), rng.normal(size=80)
    for precision in (np.float64, np.float32):
        given = frame.astype({"a": precision, "whole": precision, "constant": precision})
        model = NadarayaWatson(metric=Mixed.gower(given)).fit(given, y)
        assert np.isfinite(model.predict(table(20, 0.5))).all()
    density = KernelDensity(metric=Mixed.gower(frame), bandwidth=0.2).fit(frame)
    assert np.isfinite(density.score_samples(frame)).all()


def test_what_is_refused():
    frame = table(20, 0.3)
    with pytest.raises(ValueError, match="missing values"):
        Mixed([(Minkowski(1), ["a"])])(frame)
    with pytest.raises(ValueError, match="missing='drop': give"):
        Mixed([(Minkowski(1), ["a"])], missing="drop")(frame)
    with pytest.raises(ValueError, match="a number >= 0 for each of the 5 columns"):
        Mixed.gower(frame, [1, 2])
    with pytest.raises(ValueError, match="infinity"):
        Mixed.gower(frame)(frame.assign(a=np.inf))
    distance = Mixed.gower(frame)
    encoded = distance.encode(frame)
    assert distance.terms(encoded) == 0
    with pytest.raises(TypeError, match="depend on the pair of rows"):
        distance.term(encoded, encoded, 0)
