"""A review finds what is wrong with a table, and is silent where nothing is."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import euclidean_distances

from mercer.distances import Haversine
from mercer.kernels import FromDistance
from mercer.tables.column_rules import infer_columns
from mercer.tables.equal_rows import find_repeated_rows, find_shared_rows, shared_rows
from mercer.tables.review import (
    find_codes,
    find_groups,
    find_leaks,
    find_order_in_time,
    find_places,
    find_strange_values,
    find_variants,
    review_target,
)
from mercer.tables.values import read_columns

N = 120
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=N)
CLASSES = np.where(X > 0.3, "yes", "no")
THREE = np.array(["low", "high", "middle"])[np.digitize(X, [-0.5, 0.5])]


def reviewed(find, table, *more):
    values = read_columns(pd.DataFrame(table))
    return find(infer_columns(values), values, *more)


@pytest.mark.parametrize(
    ("cells", "y", "task", "how"),
    [
        (X, CLASSES, "classification", "each class has an interval of its values"),
        (-X, THREE, "classification", "each class has an interval"),
        (np.where(CLASSES == "yes", "J", "N"), CLASSES, "classification", "each of its levels"),
        ([f"{c} {i % 4}" for i, c in enumerate(CLASSES)], CLASSES, "classification", "levels"),
        (np.where(X > 0.3, 7.0, 8.0), CLASSES, "classification", "each of its levels"),
        (np.where(X > 0.3, RANDOM.normal(size=N), np.nan), CLASSES, "classification", "is missing"),
        (np.exp(-X), X, "regression", "the correlation of their ranks is -1.0"),
        (X + 1e-6 * RANDOM.normal(size=N), X, "regression", "the correlation of their ranks is 1."),
        (np.array(["p", "q", "r"])[np.arange(N) % 3], np.arange(N) % 3 * 1.5, "regression",
         "the same in all rows of a level"),
    ],
)  # fmt: skip
def test_columns_that_tell_the_target(cells, y, task, how):
    (finding,) = reviewed(find_leaks, {"a": cells}, y, task)
    assert (finding.kind, finding.column) == ("leak", "a")
    assert finding.text.startswith("a reveals the target almost without error: ")
    assert how in finding.text
    assert "--drop a" in finding.text


@pytest.mark.parametrize(
    ("task", "wrong", "leaks"),
    [("classification", 2, True), ("classification", 40, False), ("regression", 0, True),
     ("regression", 40, False)],
)  # fmt: skip
def test_leaks_in_many_rows_and_columns(task, wrong, leaks):
    """Some of the rows are looked at first, and columns without gaps all at once."""
    random = np.random.default_rng(1)
    numbers = random.normal(size=8000)
    y = numbers > 0.2 if task == "classification" else numbers**3
    table = {"other": random.normal(size=8000), "same": np.r_[-numbers[:wrong], numbers[wrong:]]}
    table["same"][:wrong] += 9 * np.sign(table["same"][:wrong])
    table |= {"gaps": np.where(np.arange(8000) % 5 == 0, np.nan, table["same"])}
    found = reviewed(find_leaks, table, y, task)
    assert [finding.column for finding in found] == ["same", "gaps"] * leaks


@pytest.mark.parametrize(
    ("y", "task"), [(CLASSES, "classification"), (THREE, "classification"), (X, "regression")]
)
def test_columns_that_are_good_are_no_leaks(y, task):
    good = {
        "near": X + 0.5 * RANDOM.normal(size=N),
        "level": np.digitize(X + 0.1 * RANDOM.normal(size=N), [-1, 0, 1]).astype(str),
        "names": [f"name {i // 2}" for i in range(N)],
        "gaps": np.where(RANDOM.random(N) < 0.2, np.nan, X + RANDOM.normal(size=N)),
    }
    assert reviewed(find_leaks, good, y, task) == []
    few = slice(0, 20)
    assert reviewed(find_leaks, {"a": X[few]}, y[few], task) == []


def test_rows_in_the_order_of_time():
    days = pd.date_range("2024-01-01", periods=N, freq="h")
    for stamps in (days, days[::-1], days.strftime("%d.%m.%Y %H:%M")):
        (finding,) = reviewed(find_order_in_time, {"t": stamps})
        assert finding.text.startswith("The rows are in the order of t.")
    for stamps in (RANDOM.permutation(days), [days[i // 60] for i in range(N)]):
        assert reviewed(find_order_in_time, {"t": stamps}) == []


@pytest.mark.parametrize("spell", [lambda c: f"county {c}", lambda c: 3 * c + 1])
def test_rows_of_a_panel_come_in_groups(spell):
    county = np.arange(N) % 20
    area, density = RANDOM.normal(size=(2, 20))[:, county]
    panel = {"year": np.arange(N) // 20, "county": [spell(c) for c in county], "area": area,
             "density": density, "crime": X}  # fmt: skip
    (finding,) = reviewed(find_groups, panel)
    assert (finding.kind, finding.column) == ("groups", "county")
    assert finding.text.startswith("county has 20 values, in 6 rows each on average, and area and")
    assert "--group county" in finding.text
    assert reviewed(find_groups, panel | {"area": X, "density": X[::-1]}) == []
    assert reviewed(find_groups, {"area": area[:20], "county": panel["county"][:20]}) == []


def test_classes_that_are_many_or_rare():
    many = review_target(np.arange(3000) % 1000, "classification")
    assert "1000 classes, with 3 rows each on average" in many[0].text
    rare = review_target(np.array(["no"] * 999 + ["yes"]), "classification", "y")
    assert rare[0].text.startswith("99.9% of the rows are of the class 'no'")
    assert rare[1].text.startswith("1 class has fewer than 5 rows ('yes')")
    assert review_target(CLASSES, "classification") == review_target(X, "regression") == []


def test_levels_that_are_written_in_several_ways():
    answers = ["Yes", "yes ", "YES", "no", "n/a", "unknown", "-"] * 5
    (finding,) = reviewed(find_variants, {"a": answers})
    assert finding.text.startswith("a: 'YES', 'Yes', 'yes ' differ by case or blanks alone")
    (finding,) = reviewed(find_strange_values, {"a": answers})
    assert finding.text.startswith("a: '-' (5), 'n/a' (5), 'unknown' (5) may mean a missing value.")
    (finding,) = reviewed(find_strange_values, {"a": ["1 Yes", "2 No", "-99 No answer"] * 9})
    assert finding.text.startswith("a: '-99 No answer' (9) may mean a missing value.")
    assert reviewed(find_variants, {"a": ["yes", "no"] * 9}) == []
    assert reviewed(find_strange_values, {"a": ["some", "none"] * 9}) == []


def test_numbers_that_stand_for_missing_ones():
    ages = np.r_[RANDOM.integers(18, 80, N), [-999] * 5, [1e12]]
    findings = reviewed(find_strange_values, {"age": ages})
    # the two are far from each other, too: each is judged against all others
    ages_said = ["age: -999 stands in 5 rows", "age: 1 trillion stands in one row"]
    assert [f.text.partition(",")[0] for f in findings] == ages_said
    (finding,) = reviewed(find_strange_values, {"age": ages[:-1]})
    assert finding.text.startswith("age: -999 stands in 5 rows, far from the others, which go from")
    assert reviewed(find_strange_values, {"x": X, "big": 1.7e308 * (X / abs(X).max())}) == []


def test_rows_that_are_repeated_or_shared():
    table = pd.DataFrame({"a": [1, 1, 1, 2, 3], "b": ["x", "x", "x", None, "z"]})
    values, y = read_columns(table), np.array([0, 0, 1, 1, 0])
    same, unclear = find_repeated_rows(values, y)
    assert same.text.startswith("1 row of 5 repeats an earlier one, with the same target.")
    assert unclear.text.startswith("3 rows of 5 are equal to rows with another target")
    assert find_repeated_rows(values)[0].text == "2 rows of 5 repeat an earlier one."
    assert find_repeated_rows(read_columns(table[2:]), y[2:]) == []
    new = read_columns(pd.DataFrame({"b": ["x", "y"], "a": [1.0, 2.0]}))
    assert find_shared_rows(values, new)[0].text.startswith("1 row of the 2 to score on")
    assert find_shared_rows(read_columns(table[3:]), new) == []


def test_shared_rows_are_read_as_the_training_table_is():
    table = pd.DataFrame(
        {
            "code": ["1", "2", "3a", None],
            "size": [1.5, 2.5, 3.5, 4.5],
            "day": pd.to_datetime(["2024-02-01", "2024-02-02", "2024-02-03", None]),
        }
    )
    new = pd.DataFrame({"day": ["2024-02-01", "n/a", "2024-02-02"], "size": ["1.5", "4.5", "2.5"],
                        "code": [1.0, np.nan, 3.0]})  # fmt: skip
    assert shared_rows(read_columns(table), read_columns(new)).tolist() == [True, True, False]


def test_integers_with_the_name_of_a_code_are_asked_about():
    integers, halves = np.arange(N) % 40 + 100, np.arange(N) % 40 / 2
    table = {"product_code": integers, "zip": integers * 7 % 41, "ZIP size": halves, "n": integers}
    found = reviewed(find_codes, table | {"code": integers.astype(str) + np.array(["a"], object)})
    assert [finding.column for finding in found] == ["product_code", "zip"]
    assert found[0].text.endswith("--kind product_code=category.")


@pytest.mark.parametrize(
    "name",
    ["unitid", "subject_id", "StoreID", "case.id", "region", "policePrecinct", "marital", "Origin"],
)
def test_integers_that_name_things_are_asked_about(name):
    (finding,) = reviewed(find_codes, {name: np.arange(N) % 7 + 1, "size": X})
    assert (finding.kind, finding.column) == ("codes", name)


@pytest.mark.parametrize("name", ["humid", "MPG.city", "paid", "region_sales", "stations"])
def test_integers_that_count_or_measure_are_not(name):
    assert reviewed(find_codes, {name: np.arange(N) % 7 + 1, "size": X}) == []


INCOMES = np.arange(N) * 613.5 + 771


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.r_[INCOMES, [-99.0] * 4], "-99 stands in 4 rows, below 0, unlike the others"),
        (np.r_[INCOMES, [-99.0, -98.0, -98.0]], "-98, -99 stand in 3 rows, below 0"),
        (np.r_[np.arange(N) % 4 + 1.0, [-1.0] * 3, [-2.0] * 5], "-1, -2 stand in 8 rows, below 0"),
        (np.r_[np.arange(N) % 7 + 1.0, [77.0], [88.0] * 2, [99.0] * 3], "77, 88, 99 stand in 6"),
        (np.r_[np.arange(N) % 60 + 18.0, [999.0]], "999 stands in one row"),
        (np.r_[np.arange(N) % 42, [1048.0]], "1048 stands in one row"),
    ],
    ids=["an income", "incomes", "a scale", "three marks", "an age", "a mistake"],
)
def test_marks_and_mistakes_among_numbers_are_said(values, said):
    (finding,) = reviewed(find_strange_values, {"a": values})
    assert finding.text.startswith(f"a: {said}")


@pytest.mark.parametrize(
    "values",
    [
        np.r_[[200.0] * N, 400 + np.arange(N) % 5],
        np.r_[[0.0] * N, 3.2 + np.arange(N) % 9 / 10],
        np.r_[np.arange(N) % 25 - 1.0],
        np.r_[np.arange(N) % 3 - 1.0],
        np.r_[np.arange(N) * 3.0, [-2.0]],
        np.r_[np.arange(N) % 100.0],
        np.arange(N) + 77.0,
        np.exp(np.linspace(0, 6, N)) * np.r_[np.ones(N - 1), 3],
    ],
    ids=[
        "states of a server",
        "zeros",
        "degrees",
        "signs",
        "a depth",
        "shares",
        "prices",
        "a long tail",
    ],
)
def test_levels_and_long_tails_are_no_marks(values):
    assert reviewed(find_strange_values, {"a": values}) == []


def test_levels_of_codes_that_spell_a_mark_are_levels():
    airports = ["ATL", "BOS", "BDL", "BQL"] * 9
    assert reviewed(find_strange_values, {"to": airports}) == []


def test_a_measure_and_what_follows_from_it_are_no_groups():
    years = np.arange(N) % 20
    table = {"years": years, "squared": years**2, "logarithm": np.log(years + 1), "pay": X}
    assert reviewed(find_groups, table) == []
    (finding,) = reviewed(find_groups, {"county_id": years, "area": np.sin(years), "pay": X})
    assert finding.column == "county_id"


def test_repeated_rows_that_an_identifier_tells_apart_are_said_so():
    values = {"a": np.array([1, 1, 2, 2, 3]), "b": np.array([1, 1, 2, 2, 3])}
    numbers, same = np.array([7, 8, 9, 10, 11]), np.array([1, 1, 2, 2, 3])
    y = np.array([0, 0, 1, 1, 0])
    (found,) = find_repeated_rows(values, y, {"number": numbers, "same": same})
    assert found.text.startswith(
        "2 rows of 5 repeat an earlier one in all columns but number, with the same target. If one "
    )
    (found,) = find_repeated_rows(values, None, {"number": numbers})
    assert found.text == "2 rows of 5 repeat an earlier one in all columns but number."


@pytest.mark.parametrize(
    ("latitude", "longitude"),
    [("lat", "lon"), ("lat", "lng"), ("Latitude", "Longitude"), ("LAT", "LONG"),
     ("pickup_lat", "pickup_lon"), ("dropoff latitude", "dropoff longitude"),
     ("lat.from", "long.from"), ("startLatitude", "startLongitude")],
)  # fmt: skip
def test_latitude_and_longitude_are_offered_to_haversine(latitude, longitude):
    table = {
        "price": RANDOM.normal(size=N),
        longitude: RANDOM.uniform(-179, 179, N),
        latitude: RANDOM.uniform(-80, 80, N),
    }
    (finding,) = reviewed(find_places, table)
    assert (finding.kind, finding.column) == ("places", latitude)
    code = f"FromDistance(Haversine('degrees')).on({latitude!r}, {longitude!r})"
    assert code in finding.text
    kernel = eval(code, {"FromDistance": FromDistance, "Haversine": Haversine})
    places = pd.DataFrame(table)
    assert_allclose(kernel(places).diagonal(), 1)
    # by the columns that it names any model compares places: by chords of the sphere
    a, b = np.radians(places[latitude]), np.radians(places[longitude])
    for text, cells in (("sin lat", np.sin(a)), ("cos lat cos lon", np.cos(a) * np.cos(b)),
                        ("cos lat sin lon", np.cos(a) * np.sin(b))):  # fmt: skip
        assert text in finding.text
        places[text] = cells
    chords = euclidean_distances(places[["sin lat", "cos lat cos lon", "cos lat sin lon"]])
    ways = Haversine("degrees")(places[[latitude, longitude]])
    assert_allclose(chords, 2 * np.sin(ways / 2), atol=1e-7)


def test_places_in_radians_and_what_is_no_place():
    a, b = RANDOM.uniform(-1.5, 1.5, N), RANDOM.uniform(-3, 3, N)
    (finding,) = reviewed(find_places, {"lat": a, "lon": b})
    assert "FromDistance(Haversine('radians')).on('lat', 'lon')" in finding.text
    two = {"from_lat": 50 * a, "from_lon": 50 * b, "to_lat": 40 * a, "to_lon": 40 * b}
    assert [f.column for f in reviewed(find_places, two)] == ["from_lat", "to_lat"]
    for table in (
        {"lat": 100 * a, "lon": b},  # beyond the pole
        {"lat": 50 * a, "lon": 150 * b},  # beyond two turns
        {"lat": 50 * a, "b": b},
        {"pickup_lat": a, "dropoff_lon": b},
        {"flat": 50 * a, "flon": b},
        {"plate": 50 * a, "plone": 50 * b},
        {"lat": ["north", "south"] * (N // 2), "lon": b},
    ):
        assert reviewed(find_places, table) == []
