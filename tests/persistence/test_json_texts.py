"""JSON that is nested too deep is refused before anything is built, in all readers."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import mercer
from lanes import examples
from mercer.persistence import check_depth, json_texts, read_json

NESTED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab"\\\\[]{}\u00e9\n'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('"[{'), inner, max_size=3),
)


def levels(value):
    parts = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    )
    return 0 if parts is None else 1 + max(map(levels, parts), default=0)


@examples(300)
@given(NESTED, st.booleans())
def test_the_depth_is_that_of_what_is_read(value, ascii):
    text = json.dumps(value, ensure_ascii=ascii)
    depth = levels(value)
    assert json_texts.deepest(text) == json_texts.deepest(text.encode()) == depth
    assert read_json(text, depth) == value
    if depth:
        with pytest.raises(ValueError, match=f"more than {depth - 1} levels deep"):
            check_depth(text, depth - 1)


def test_the_depth_does_not_depend_on_where_a_step_ends(monkeypatch):
    text = json.dumps([["a[", {"b": [1]}], "]"])
    for step in range(1, len(text) + 1):
        monkeypatch.setattr(json_texts, "STEP", step)
        assert json_texts.deepest(text) == 4


@pytest.mark.parametrize(
    "deep", ["[" * 100_000, '{"a":' * 100_000, '"\\\\' + "[" * 9, '"[[', "]" * 99]
)
def test_texts_that_are_none(deep):
    with pytest.raises(ValueError, match=r"levels deep|Unterminated|Expecting"):
        read_json(deep)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-32-le"])
@pytest.mark.parametrize("letter", ["\u0122", "\u5c22", "\u225b", "\U00012222"])
def test_the_bytes_of_other_encodings_are_no_brackets_and_quotes(encoding, letter):
    """Bytes of these letters are those of a quote, a backslash or a bracket in UTF-8."""
    text = f'["{letter}", [[[{{"{letter}": []}}]]]]'
    assert read_json(text.encode(encoding), 6) == json.loads(text)
    with pytest.raises(ValueError, match="more than 5 levels deep"):
        read_json(text.encode(encoding), 5)


def test_no_other_module_reads_json():
    """`json.loads` has no limit: `read_json` is used for all that comes from files."""
    for path in Path(mercer.__file__).parent.rglob("*.py"):
        found = re.search(r"\bjson\.loads?\(", path.read_text())
        assert not found or path.name == "json_texts.py", path
