"""Texts from data or the command line, made fit to be shown on a terminal or a page."""

from __future__ import annotations

CONTROLS = [code for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"]
# line separators, and what reverses the order of the letters that follow
UNSEEN = [*range(0x2028, 0x202F), *range(0x2066, 0x206A)]
SURROGATES = range(0xD800, 0xE000)  # halves of characters, as in file names that are not UTF-8
SHOWN = {code: f"\\x{code:02x}" for code in CONTROLS}
SHOWN |= {code: f"\\u{code:04x}" for code in (*UNSEEN, *SURROGATES)}


def visible(text: str) -> str:
    r"""A text with each character that controls something written out; line breaks and tabs stay.

    Examples
    --------
    >>> visible("\x1b[31mred")
    '\\x1b[31mred'
    """
    return text.translate(SHOWN)
