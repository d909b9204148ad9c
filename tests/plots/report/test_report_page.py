"""The report in a real browser: headless Chromium, from file://, at desk and phone, light and dark.

Without a browser these tests are skipped, unless MERCER_REQUIRE_BROWSER=1 (set in CI).
"""

import pytest

from mercer.plots.report.contents import write_report
from plots.report.reports import asking, classification, hostile, regression, three_rows

REPORTS = {
    "classification": lambda: classification()[-1],
    "regression": lambda: regression()[-1],
    "asking": asking,
    "hostile": hostile,
    "three rows": three_rows,
}
KERNEL = ["relevance", "gram", "spectrum"]
FIGURES = {
    "classification": ["score", "target", "confusion", "calibration", *KERNEL],
    "regression": ["score", "target", "residuals", *KERNEL],
    "asking": ["score", "target", "residuals", "what-if", *KERNEL],
    "hostile": ["score", "target", "confusion", "calibration", *KERNEL],
    "three rows": ["target", "residuals", "gram", "spectrum"],
}

# Text nodes that are shown: the size of their letters on the screen, and the contrast of their
# colour against the first opaque background behind them (WCAG 2.2, relative luminance).
TEXTS = """() => {
  const channel = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const read = {};  // a page has few colours, and many texts
  const rgb = colour => read[colour] ??= (() => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  })();
  const light = c => {
    const [r, g, b] = rgb(c).map(channel);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = e => getComputedStyle(e).backgroundColor;
  const out = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const e = node.parentElement;
    if (!node.data.trim() || !e.checkVisibility({visibilityProperty: true})) continue;
    if (e.closest('script, title')) continue;
    const range = document.createRange(); range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (!box.width || !box.height) continue;
    const style = getComputedStyle(e), svg = e.closest('svg');
    const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    let behind = e;
    while (behind && rgb(ground(behind))[3] < 255) behind = behind.parentElement;
    const a = light(svg ? style.fill : style.color);
    const b = light(behind ? ground(behind) : 'white');
    out.push({text: node.data.trim().slice(0, 40), size: parseFloat(style.fontSize) * scale,
              contrast: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)});
  }
  return out;
}"""

BOXES = """names => names.map(name => {
  const figure = document.getElementById(name);
  if (!figure) return [name, 0, 0];
  const marks = [...figure.querySelectorAll('svg, img, table, .track')];
  const boxes = marks.map(m => m.getBoundingClientRect());
  return [name, Math.max(0, ...boxes.map(b => b.width)), Math.max(0, ...boxes.map(b => b.height))];
})"""


@pytest.fixture(scope="module", params=REPORTS)
def report(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report #1 %41.html"  # to be quoted in an address
    write_report(path, REPORTS[request.param]())
    return request.param, path.as_uri()


OTHER_SCREENS = [pytest.param(s, marks=pytest.mark.full) for s in [(375, "light"), (1280, "dark")]]


@pytest.fixture(params=[(1280, "light"), (375, "dark"), *OTHER_SCREENS], ids=str)
def page(request, browser, report):
    name, address = report
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    page.problems, page.requests, page.report, page.scheme = [], [], name, scheme
    page.on("console", lambda m: page.problems.append(m.text))
    page.on("pageerror", lambda e: page.problems.append(str(e)))
    page.on("dialog", lambda d: (page.problems.append("a dialog: " + d.message), d.dismiss()))
    page.on("request", lambda r: page.requests.append(r.url))
    page.goto(address)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    yield page
    context.close()


@pytest.mark.spread(1)
def test_the_page_is_complete_legible_and_asks_for_nothing(page, report):
    assert page.problems == []
    fetched = [url for url in page.requests if not url.startswith("data:")]
    assert fetched == [report[1]]

    boxes = page.evaluate(BOXES, FIGURES[page.report])
    assert [name for name, width, height in boxes if width < 100 or height < 15] == []
    assert page.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 0)")

    overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert overflow <= 0, f"{overflow} pixels wider than the screen"

    texts = page.evaluate(TEXTS)
    assert len(texts) > 60
    assert [t for t in texts if t["size"] < 12] == []
    assert [t for t in texts if t["contrast"] < 4.5] == []

    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    dark = sum(map(int, ground.removeprefix("rgb(").removesuffix(")").split(","))) < 3 * 64
    assert dark == (page.scheme == "dark")


MARKS = """[...document.querySelectorAll('svg')].flatMap(svg => {
    const box = svg.viewBox.baseVal
    return [...svg.querySelectorAll('circle, line, rect, polyline, polygon')].flatMap(mark => {
        const b = mark.getBBox(), room = 0.01, name = svg.getAttribute('aria-label')
        const inside = b.x >= -room && b.y >= -room && b.x + b.width <= box.width + room &&
            b.y + b.height <= box.height + room
        return inside ? [] : [[name, mark.outerHTML]]
    })
})"""


def test_the_marks_of_a_figure_lie_within_it(page):
    """An axis ends after the last of its values."""
    assert page.evaluate("document.querySelectorAll('svg circle').length") > 0
    assert page.evaluate(MARKS) == []


@pytest.mark.spread(1)
def test_texts_do_not_run_into_each_other(page):
    """Labels of a chart keep clear of one another, and lie within its figure."""
    clashes = page.evaluate("""() => {
      const out = [];
      for (const svg of document.querySelectorAll('svg.chart')) {
        const frame = svg.getBoundingClientRect();
        const boxes = [...svg.querySelectorAll('text')].filter(t => t.textContent)
          .map(t => [t.textContent, t.getBoundingClientRect()]);
        boxes.forEach(([a, p], i) => {
          if (p.left < frame.left - 8 || p.right > frame.right + 8) out.push([a, 'outside']);
          for (const [b, q] of boxes.slice(i + 1))
            if (p.left < q.right - 1 && q.left < p.right - 1
                && p.top < q.bottom - 4 && q.top < p.bottom - 4)
              out.push([a, b]);
        });
      }
      return out;
    }""")
    assert clashes == []
