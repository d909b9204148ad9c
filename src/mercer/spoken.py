"""Numbers as people write them: 12,300; 0.034; 1.2 million; and years as 2024.

`written` shows a single value of any type, as it stands in Python; `a_type` names a type,
`visible` makes texts from data fit to be shown on a terminal or a page, and `in_page` makes values
fit to stand in one. `meant` asks whether another name was meant. `seconds` and `memory_size` read
limits of time and memory. Nothing is loaded
for all this, which would take long.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any

GREAT = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
MOST, LEAST = 1e15, 1e-5  # of sizes that are written without a power of ten
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def spoken(value: float, digits: int = 3, minus: str = "-") -> str:
    """A number as text with so many significant digits; from 1,000 on it has all before the point.

    Numbers of four digits have no comma, as years have none; those from 10,000 on are rounded.

    Examples
    --------
    >>> spoken(12345.6), spoken(0.0341), spoken(1234567.0), spoken(-1680.4), spoken(2024.0)
    ('12,300', '0.0341', '1.23 million', '-1680', '2024')
    >>> spoken(0.1 + 0.2), spoken(3e-7), spoken(0.0), spoken(float("nan"))
    ('0.3', '3 × 10⁻⁷', '0', '–')
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else f"{minus}∞"
    value = float(value)
    sign, size = minus if value < 0 else "", abs(value)
    if size == 0:
        return "0"
    rounded = float(f"{size:.{digits - 1}e}")
    if rounded >= MOST or rounded < LEAST:
        mantissa, power = f"{size:.{digits - 1}e}".split("e")
        text = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{sign}{text} × 10{str(int(power)).translate(SUPERSCRIPTS)}"
    for unit, name in GREAT:
        if rounded >= unit:
            return f"{sign}{_plain(size / unit, digits)} {name}"
    if 1e3 <= size < 9999.5:
        return f"{sign}{_plain(size, max(digits, 4)).replace(',', '')}"
    return f"{sign}{_plain(rounded, digits)}"


def written(value: object) -> str:
    """A value as it is written in Python, for messages; numpy's values as those of Python.

    Examples
    --------
    >>> import numpy as np
    >>> written(np.str_("a")), written(np.float64(2.5)), written("a")
    ("'a'", '2.5', "'a'")
    """
    from numpy import generic  # which `mercer --help` does not wait for

    return repr(value.item() if isinstance(value, generic) else value)


def a_type(value: object) -> str:
    """The name of a value's type, after "a" or "an" as it is spoken.

    Examples
    --------
    >>> import numpy as np
    >>> a_type({}), a_type(np.ones(3)), a_type(1), a_type(np.uint8(1))
    ('a dict', 'an ndarray', 'an int', 'a uint8')
    """
    name = type(value).__name__
    initials = name[:2].isupper() or name[:2] == "nd"  # which are spoken one by one
    vowels = "AEFHILMNORSX" if initials else "AEIO"
    return f"{'an' if name[0].upper() in vowels and name[:3].lower() != 'one' else 'a'} {name}"


def first_of(
    values: Iterable[Any],
    most: int = 5,
    shown: Callable[[Any], str] = str,
    separator: str = ", ",
    counted: bool = False,
) -> str:
    """The first of some values; where there are more, dots, or how many if they are ``counted``.

    Examples
    --------
    >>> first_of("abc", 2), first_of("abc", 2, repr, "; ", counted=True)
    ('a, b, ...', "'a'; 'b'; and 1 more")
    """
    texts = list(map(shown, values))
    more = f"and {len(texts) - most} more" if counted else "..."
    return separator.join(texts[:most] + [more] * (len(texts) > most))


def meant(name: object, known: Iterable[object]) -> str:
    """The question whether a known name was meant, after a blank; "" where none is near.

    Examples
    --------
    >>> meant("lineer", ["linear", "rbf"]), meant("x", ["linear"])
    (" Did you mean 'linear'?", '')
    """
    from difflib import get_close_matches  # as above

    close = get_close_matches(str(name), map(str, known), 1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _plain(size: float, digits: int) -> str:
    places = max(0, digits - 1 - math.floor(math.log10(size)))
    text = f"{size:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


CONTROLS = [code for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"]
# line separators, and what reverses the order of the letters that follow
UNSEEN = [*range(0x2028, 0x202F), *range(0x2066, 0x206A)]
SURROGATES = range(0xD800, 0xE000)  # halves of characters, as in file names that are not UTF-8
SHOWN = {code: f"\\x{code:02x}" for code in CONTROLS}
SHOWN |= {code: f"\\u{code:04x}" for code in (*UNSEEN, *SURROGATES)}


def in_page(value: object) -> str:
    r"""A value as JSON in ASCII, in which no text can end the element of a page around it.

    Examples
    --------
    >>> in_page(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def visible(text: str) -> str:
    r"""A text with each character that controls something written out; line breaks and tabs stay.

    Examples
    --------
    >>> visible("\x1b[31mred")
    '\\x1b[31mred'
    """
    return text.translate(SHOWN)


UNITS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}
BYTES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12,
         "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}  # fmt: skip


def seconds(time: float | str) -> float:
    """The number of seconds of a time such as 90, "120s", "5min" or "1h".

    Examples
    --------
    >>> seconds("5min"), seconds(90)
    (300.0, 90.0)
    """
    value: Any = time
    if isinstance(time, str):
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(s|sec|m|min|h)?\s*", time.lower())
        value = float(match[1]) * UNITS[match[2] or "s"] if match else None
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) > 0:
        raise ValueError(
            f'time={time!r}: give a positive number of seconds, or a text such as "120s", "5min".'
        )
    return float(value)


def memory_size(memory: int | float | str | None) -> int:
    """The number of bytes of a size such as "4GB", "512MiB" or 4e9.

    Examples
    --------
    >>> memory_size("4GB"), memory_size("512MiB")
    (4000000000, 536870912)
    """
    value = memory
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*([kmgt]?i?)b?\s*", memory.lower())
        if not match:
            raise ValueError(f'memory={memory!r}: give a number of bytes or a text such as "4GB".')
        value = float(match[1]) * BYTES[match[2]]
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < math.inf:
        raise ValueError(f"memory={memory!r}: give a positive number of bytes.")
    return int(float(value))
