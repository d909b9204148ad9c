"""The numbers that a report holds as JSON: no text can end their element, or begin one."""

import json
from dataclasses import replace

import pytest

from mercer.plots.report.contents import write_report
from plots.report.reports import three_rows


@pytest.mark.parametrize(
    "text",
    ["</script >", "</script\n", "<!-- <script ", "]]>", "&lt;/script&gt;", "a < b & c"],
)
def test_texts_are_escaped_and_read_back(text, tmp_path):
    data = three_rows()
    data = replace(data, facts=replace(data.facts, target=text))
    write_report(tmp_path / "report.html", data)
    page = (tmp_path / "report.html").read_text()
    _, _, rest = page.partition('<script type="application/json" id="mercer-report">')
    raw, _, after = rest.partition("</script>")
    assert not set("<>&") & set(raw)
    assert json.loads(raw)["target"] == text
    assert "<script" not in after
