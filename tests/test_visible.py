"""Characters that control something are shown; all others stay as they are."""

import unicodedata

from mercer.spoken import visible


def test_nothing_is_left_that_controls_anything():
    every = "".join(map(chr, range(0x110000)))
    shown = visible(every)
    shown.encode()  # no half of a character
    assert {c for c in shown if unicodedata.category(c) == "Cc"} == {"\n", "\t"}
    overrides = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "B")
    assert {c for c in shown if unicodedata.bidirectional(c) in overrides} == {"\n"}


def test_texts_stay_as_they_are():
    for text in ("", "a\tb\nc", "größe 気温 \N{GRINNING FACE} e\u0301 שלום", "[bold] <b> \\x1b"):
        assert visible(text) == text
    assert visible("a\rb\x7f\x85\u202e\ud800") == r"a\x0db\x7f\x85\u202e\ud800"
