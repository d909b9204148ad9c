"""Maps: what is told of clusters, what a page holds, and the page in a real browser."""

import base64
import json
import re

import numpy as np
import polars as pl
import pytest

import mercer
from mercer.plots import MapDisplay
from mercer.plots.displays import middle_rows
from mercer.plots.displays.map import typical
from mercer.tables import infer_columns, read_columns

HOSTILE = ['</script><script>document.title="bad"</script>', "@DATA@", "a\x1b[31mb", "<b>&amp;"]


def columns_of(table):
    values = read_columns(table)
    return [(column, values[column.name]) for column in infer_columns(values)]


def table(n=120):
    """Two groups of rows, and columns of each kind that tell them apart."""
    rng = np.random.default_rng(0)
    second = np.arange(n) >= n // 2
    days = rng.integers(0, 300, n) + 1000 * second
    return second, pl.DataFrame({
        "size": rng.normal(np.where(second, 5.0, 0.0)),
        "colour": np.where(second, "red", rng.choice(["green", "blue"], n)),
        "seen": [str(np.datetime64("2020-01-01") + int(day)) for day in days],
        "said": [f"{'good' if s else 'bad'} thing no {i}" for i, s in enumerate(second)],
        "tags": [["x", "y"] if s else ["z", str(i)] for i, s in enumerate(second)],
        "noise": rng.normal(size=n),
        "number": np.arange(n),
    })  # fmt: skip


def contents(path):
    page = path.read_text("utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', page)[1])


def cells(column):
    kinds = {(True, True): "<u4", (True, False): "<u2", (False, True): "<f8", (False, False): "<f4"}
    raw = np.frombuffer(
        base64.b64decode(column["cells"]), kinds["levels" in column, column["wide"]]
    )
    if "levels" not in column:
        return raw.tolist()
    return [column["levels"][code] if code < len(column["levels"]) else None for code in raw]


def test_groups_are_told_by_the_columns_in_which_they_differ():
    second, frame = table()
    labels = second.astype(int)
    said = typical(columns_of(frame.select("colour", "noise")), labels)
    assert said[1] == ["colour is red: 100%, others 0%"]
    assert typical(columns_of(frame.select("size")), labels)[1][0].startswith("size is high: ")
    assert typical(columns_of(frame.select("seen")), labels)[0][0].startswith("seen is early: ")
    assert typical(columns_of(frame.select("said")), labels)[1] == [
        "said has “good”: 100%, others 0%"
    ]
    assert typical(columns_of(frame.select("tags")), labels)[1] == ["tags has x: 100%, others 0%"]
    assert typical(columns_of(frame.select("noise", "number")), labels % 1) == [[]]


def test_how_much_a_column_differs_is_the_chance_that_one_number_is_larger():
    """Against all pairs of a row inside and one outside, with ties, missing cells and no group."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, 6, 60).astype(float) + rng.choice([0, 0, 0.5], 60)
    values[::11] = np.nan
    labels = rng.integers(-1, 3, 60)
    values[labels == 2] += 3
    for group, said in enumerate(typical(columns_of(pl.DataFrame({"v": values})), labels)):
        mine, others = values[labels == group], values[labels != group]
        gaps = np.sign(mine[:, None] - others)
        effect = np.nanmean(gaps)
        assert bool(said) == (abs(effect) >= 0.25)
        if said:
            assert said[0].startswith(f"v is {'high' if effect > 0 else 'low'}: median ")


def test_the_middle_of_a_cluster_is_its_medoid():
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(size=(40, 3)), rng.normal(9, 1, size=(30, 3))])
    labels = np.repeat([0, 1], [40, 30])
    model = mercer.NeighbourEmbedding(random_state=0).fit(X)
    for cluster, row in enumerate(middle_rows(model, labels)):
        members = np.flatnonzero(labels == cluster)
        apart = np.linalg.norm(X[members, None] - X[members], axis=2).sum(axis=1)
        assert row == members[apart.argmin()]


def test_a_page_holds_the_table_as_it_was_read(tmp_path):
    second, frame = table()
    frame = frame.with_columns(
        size=pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise("size"),
        large=pl.Series(2**40 + np.arange(len(second))),
        text=pl.Series([HOSTILE[i % 4] + str(i) for i in range(len(second))]),
    )
    path = tmp_path / "map.html"
    display = MapDisplay(np.random.default_rng(0).normal(size=(len(second), 2)), frame,
                         labels=second.astype(int), title="</title> @DATA@")  # fmt: skip
    display.write(path)
    found = {column["name"]: column for column in contents(path)["columns"]}
    sizes = np.array(cells(found["size"]))
    np.testing.assert_allclose(sizes, frame["size"].cast(float).to_numpy(), rtol=1e-6)
    assert np.isnan(sizes[3])
    assert cells(found["large"]) == frame["large"].to_list()
    assert cells(found["colour"]) == frame["colour"].to_list()
    assert cells(found["text"]) == frame["text"].to_list()
    assert cells(found["cluster"]) == [f"cluster {label + 1}" for label in second.astype(int)]
    page = path.read_text("utf-8")
    assert page.count("</script>") == 2
    assert "<title>&lt;/title&gt; @DATA@</title>" in page


def test_pictures_of_samples(tmp_path):
    rng = np.random.default_rng(0)
    series = [np.stack([np.arange(5.0) + i, np.ones(5)], axis=1) for i in range(20)]
    images = [rng.integers(0, 9, (10, 12)).astype(float) for _ in range(20)]
    graphs = [(3, [(0, 1), (1, 2)], ["C", "O", "C"]) for _ in range(20)]
    for samples in (series, images, graphs):
        display = MapDisplay(rng.normal(size=(20, 2)), samples)
        display.write(tmp_path / "map.html")
        picture = contents(tmp_path / "map.html")["columns"][0]["pictures"]["4"]
        if samples is series:
            assert picture["curves"] == [[4, 5, 6, 7, 8], [1] * 5]
        elif samples is images:
            grey = np.frombuffer(base64.b64decode(picture["pixels"]), np.uint8).reshape(10, 12)
            low, high = images[4].min(), images[4].max()
            np.testing.assert_array_equal(
                grey, np.rint(255 * (images[4] - low) / (high - low)).astype(np.uint8)
            )
        else:
            assert picture["edges"] == [[0, 1], [1, 2]]
            assert [node[2] for node in picture["nodes"]] == [0, 1, 0]


@pytest.mark.full
def test_long_texts_are_cut_so_that_a_page_stays_small(tmp_path):
    texts = [f"{i} " + "word " * 2000 for i in range(2000)]
    MapDisplay(np.zeros((2000, 2)), pl.DataFrame({"text": texts})).write(tmp_path / "map.html")
    assert (tmp_path / "map.html").stat().st_size < 8e6


@pytest.mark.parametrize(("options", "words"), [
    ({"table": [[1.0]]}, "table has 1 rows: give one for each of the 4 points"),
    ({"labels": [0, 1]}, "labels has the shape"),
    ({"labels": [0.5] * 4}, "give integers"),
    ({"color": "c"}, "color='c': give one of the columns"),
    ({"outlier_scores": [0, 1, np.nan, 1]}, "outlier_scores holds nan"),
])  # fmt: skip
def test_what_does_not_fit_the_points_is_refused(options, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        MapDisplay(np.zeros((4, 2)), **options)


def test_a_picture_has_a_mark_for_each_row():
    second, frame = table(60)
    points = np.random.default_rng(0).normal(size=(60, 2))
    labels = np.where(np.arange(60) < 5, -1, second)
    display = MapDisplay(points, frame, labels=labels).plot()
    assert [len(marks.get_offsets()) for marks in display.points_] == [25, 30]
    assert {text.get_text() for text in display.ax_.texts} == {"1", "2"}
    for color in ("colour", "size", "seen"):
        marks = MapDisplay(points, frame, color=color).plot().points_
        assert sum(len(m.get_offsets()) for m in np.ravel(marks)) == 60


# --- in a browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    second, frame = table()
    frame = frame.with_columns(text=pl.Series([HOSTILE[i % 4] + str(i) for i in range(120)]))
    rng = np.random.default_rng(0)
    points = rng.normal(size=(120, 2)) + 8 * second[:, None]
    path = tmp_path_factory.mktemp("map") / "map #1.html"
    labels = np.where(np.arange(120) < 6, -1, second)
    MapDisplay(points, frame, labels=labels, outlier_scores=rng.random(120)).write(path)
    return path.as_uri()


@pytest.fixture(params=[(1280, "light"), (375, "dark")], ids=str)
def page(request, browser, page_file):
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    page.problems, page.requests = [], []
    page.on("console", lambda m: page.problems.append(m.text))
    page.on("pageerror", lambda e: page.problems.append(str(e)))
    page.on("request", lambda r: page.requests.append(r.url))
    page.goto(page_file)
    settled(page)
    yield page
    assert page.problems == []
    assert page.requests == [page_file]
    assert page.title() == "Map"
    context.close()


PIXELS = """() => {
  const all = pen.getImageData(0, 0, map.width, map.height).data, found = {};
  for (let i = 0; i < all.length; i += 4) {
    const key = all.slice(i, i + 3).join();
    found[key] = (found[key] || 0) + 1;
  }
  return found;
}"""


def place_of(page, row):
    box = page.locator("#map").bounding_box()
    x, y = page.evaluate(f"at({row})")
    return box["x"] + x, box["y"] + y


def until(page, true):
    """Wait for a condition; ``wait_for_function`` calls eval, which a page's policy refuses."""
    for _ in range(500):
        if page.evaluate(true):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"10 s have passed, and it is not so: {true}")


def settled(page):
    until(page, "!waiting")


def test_the_row_under_the_mouse_and_the_row_that_is_chosen(page):
    far = page.evaluate("""[...Array(n).keys()].map(i => [i, Math.min(...[...Array(n).keys()]
        .filter(j => j !== i).map(j => Math.hypot(at(i)[0] - at(j)[0], at(i)[1] - at(j)[1])))])
        .sort((a, b) => b[1] - a[1])[0][0]""")
    page.mouse.move(*place_of(page, far))
    assert page.locator("#tip b").inner_text() == f"Row {far + 1}"
    page.mouse.click(*place_of(page, far))
    assert page.locator("#which").inner_text() == f"Row {far + 1}"
    said = page.locator("#cells").inner_text()
    assert HOSTILE[far % 4].replace("\x1b", "")[:6] in said
    page.keyboard.press("Escape")
    page.locator("#map").press("Escape")
    assert not page.locator("#chosen").is_visible()


def test_colours_follow_the_column_and_a_level_can_be_alone(page):
    page.select_option("#by", label="colour")
    settled(page)
    assert page.locator("#key button").count() == 3
    before = page.evaluate(PIXELS)
    page.locator("#key button").first.click()
    settled(page)
    assert page.evaluate("[...Array(n).keys()].filter(shown).length") == 60
    assert page.evaluate(PIXELS) != before
    page.select_option("#by", label="size")
    assert page.locator(".ends span").count() == 2


def test_words_and_numbers_are_found(page):
    for typed, rows in (("good", 60), ("RED", 60), ("nothing such", 0), ("no 17", 1)):
        page.fill("#find", typed)
        assert page.evaluate("matched.reduce((a, b) => a + b, 0)") == rows
    page.fill("#find", "good thing no 77")
    assert page.locator("#found").inner_text().startswith("1 row found")
    page.locator("#find").press("Enter")
    assert page.locator("#which").inner_text() == "Row 78"
    page.fill("#find", "")
    assert page.evaluate("matched") is None


def test_the_map_moves_and_zooms_by_mouse_keys_and_buttons(page):
    start = page.evaluate("[scale, x0, y0]")
    page.click("#in")
    assert page.evaluate("scale") == pytest.approx(1.5 * start[0])
    page.click("#home")
    x, y = place_of(page, 0)
    page.mouse.move(x, y)
    page.mouse.wheel(0, -200)
    until(page, f"scale > {1.3 * start[0]}")
    assert place_of(page, 0) == pytest.approx((x, y), abs=1)  # what is under the mouse stays there
    page.mouse.down()
    page.mouse.move(x + 40, y + 30)
    page.mouse.up()
    assert place_of(page, 0) == pytest.approx((x + 40, y + 30), abs=1)
    page.locator("#map").press("0")
    assert page.evaluate("[scale, x0, y0]") == pytest.approx(start)
    page.locator("#map").press("ArrowLeft")
    assert page.evaluate("x0") < start[1]


def test_two_fingers_zoom(page):
    page.evaluate("""() => {
      const send = (type, id, x, y) => map.dispatchEvent(new PointerEvent(type,
          {pointerId: id, clientX: x, clientY: y, pointerType: 'touch'}));
      map.setPointerCapture = () => {};
      send('pointerdown', 1, 100, 100); send('pointerdown', 2, 200, 100);
      send('pointermove', 2, 300, 100);
      send('pointerup', 1, 100, 100);
      send('pointerup', 2, 300, 100);
    }""")
    assert page.evaluate("scale / fit()") == pytest.approx(2)


def test_clusters_are_listed_and_shown_alone(page):
    assert page.locator("#groups > li").count() == 2
    assert "54 rows" in page.locator("#groups > li").first.inner_text()
    assert "6 rows belong to none" in page.locator("#apart").inner_text()
    page.locator("#groups > li > button").first.click()
    assert page.evaluate("[...Array(n).keys()].filter(shown).length") == 54
    page.locator("#groups a").first.click()
    assert page.locator("#chosen").is_visible()


@pytest.mark.full
def test_nothing_is_wider_than_the_screen_and_texts_can_be_read(page):
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    contrasts = page.evaluate("""() => {
      const part = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
      const light = c => c.map(part).reduce((a, v, i) => a + v * [0.2126, 0.7152, 0.0722][i], 0);
      const ground = light(paper), colour = e => getComputedStyle(e).color.match(/\\d+/g);
      return [...document.querySelectorAll('p, th, td, li, a, button, label, output, h1, h2')]
        .filter(e => e.checkVisibility()).map(e => light(colour(e).slice(0, 3).map(Number)))
        .map(v => (Math.max(v, ground) + 0.05) / (Math.min(v, ground) + 0.05));
    }""")
    assert min(contrasts) >= 4.5


@pytest.mark.full
def test_a_hundred_thousand_points(browser, tmp_path):
    """The page is at most 10 MB, and draws within a thirtieth of a second on an idle machine."""
    n, rng = 100_000, np.random.default_rng(0)
    frame = pl.DataFrame({f"x{i}": rng.normal(size=n) for i in range(8)}
                         | {f"c{i}": rng.choice(list("abcde"), n) for i in range(3)})  # fmt: skip
    path = tmp_path / "map.html"
    MapDisplay(rng.normal(size=(n, 2)), frame, labels=rng.integers(-1, 9, n)).write(path)
    assert path.stat().st_size < 10e6
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(path.as_uri())
    settled(page)
    page.evaluate("x0 += 1000; render()")
    assert sum(page.evaluate(PIXELS).values()) == page.evaluate("map.width * map.height")
    page.close()
