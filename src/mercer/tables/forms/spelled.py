"""Numbers in texts: decimal signs, groups of digits, signs, currencies and ranges; and the texts
that mean a missing value.

A text is a number only as a whole: digits are in groups of three, or in those of India, so that
"120 80" and "5'11" are none. numbers.py adds what a column of numbers tells, and units.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

BLANKS = " \u00a0\u2009\u202f"  # also those that do not break, which stand in French numbers
MINUS = "\u2212\u2013\ufe63\uff0d-"  # of typography and of keyboards
CODES = [
    "EUR", "USD", "GBP", "CHF", "JPY", "CNY", "RMB", "INR", "BRL", "PLN", "SEK", "NOK", "DKK",
    "ISK", "CZK", "HUF", "RON", "BGN", "RUB", "UAH", "TRY", "ILS", "ZAR", "MXN", "ARS", "CLP",
    "COP", "AUD", "CAD", "NZD", "SGD", "HKD", "TWD", "KRW", "THB", "IDR", "MYR", "PHP", "VND",
    "AED", "SAR", "EGP", "NGN", "KES", "PKR",
]  # fmt: skip
SYMBOLS = ("R$", "US$", "A$", "C$", "NZ$", "HK$", "S$", "$", "€", "£", "¥", "₹", "₩", "₽", "₺", "₪",
           "₫", "₴", "₦", "₱", "฿", "₡", "₲", "₸", "zł", "Kč", "kr.", "kr", "Kr", "Ft", "Rs.", "Rs",
           "Fr.", "руб.", "руб", "лв")  # fmt: skip
CURRENCY = f"(?:{'|'.join(map(re.escape, (*SYMBOLS, *CODES)))})"
BLANK = f"[{BLANKS}]?"
LONGEST = 60  # characters of a number with all that stands beside it


def _digits(decimal: str) -> str:
    """The pattern of digits with this decimal sign, as Python and polars read it."""
    comma = "," if decimal == "." else r"\."
    marks = (comma, "['’]", *(f"{blank}" for blank in BLANKS))
    groups = [rf"[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+" for mark in marks]
    groups.append(rf"[1-9][0-9]?(?:{comma}[0-9]{{2}})+{comma}[0-9]{{3}}")
    point = re.escape(decimal)
    exponent = rf"(?:[eE][+{MINUS}]?[0-9]+)?"  # 3.374e5 has no group of thousands
    plain = rf"(?:[0-9]+(?:{point}[0-9]*)?|{point}[0-9]+){exponent}"
    return rf"(?:(?:{'|'.join(groups)})(?:{point}[0-9]*)?|{plain})"


def _number(decimal: str) -> str:
    """The pattern of a number with this decimal sign.

    Accountants write a negative number in brackets, and some programs its sign at the end.
    """
    digits = _digits(decimal)
    before, after = rf"(?:{CURRENCY}{BLANK})?", rf"{BLANK}(?:%|‰|{CURRENCY})?"
    signed = rf"[+{MINUS}]?{BLANK}{before}[+{MINUS}]?{digits}{after}"
    brackets = rf"{before}\({before}{digits}{after}\){after}"
    return rf"^(?:{signed}|{before}{digits}{after}[{MINUS}]|{brackets})$"


#: patterns of a number with a decimal point and with a decimal comma
POINT_NUMBER, COMMA_NUMBER = _number("."), _number(",")
#: a number with a decimal comma and nothing beside it
COMMA_DIGITS = rf"^[+-]?{_digits(',')}$"
_WHOLE = {".": re.compile(POINT_NUMBER), ",": re.compile(COMMA_NUMBER)}
_BARE = {sign: re.compile(_digits(sign)) for sign in ".,"}
#: most numbers, which are read without a look at signs, units and currencies
SIMPLE = {
    point: re.compile(
        rf"-?(?:[1-9][0-9]{{0,2}}(?:[{comma}][0-9]{{3}})+|[0-9]+)(?:[{point}][0-9]*)?"
    )
    for point, comma in (".,", ",.")
}
_ALIKE = str.maketrans("12345678", "9" * 8)  # no form tells these digits apart
SIGNS = re.compile(rf"%|‰|{CURRENCY}")
_BETWEEN = re.compile(
    r"(.*?\d[^\d\s]{0,3}?)\s*(?:-|–|—|\bto\b|\bbis\b|\bà\b)\s*([^\d\s-]{0,3}\d.*?)(?: [^\W\d]+)?"
)
#: three numbers or more of three digits, which may be groups of one number, or parts of a code
_PARTS_OF_CODE = re.compile(rf"[1-9]\d{{0,2}}(?:[{BLANKS}]\d{{3}}){{2,}}")
_PHONE = re.compile(r"\+[0-9]{8,}")


def spelled_number(text: str, decimal: str = "") -> float | None:
    """The number in a text, or None if the text is not a number, or one that no float holds.

    Thousands can be separated by commas, points, spaces or apostrophes, and "%" and currency signs
    are allowed: "7%" is 7. A negative number may stand in brackets, or have its sign at the end. If
    the text can be a number with the decimal sign ``decimal``, it is that number. Otherwise commas
    that separate groups of three digits separate thousands, and another comma or point is the
    decimal sign.

    Examples
    --------
    >>> [spelled_number(t) for t in ("12.5", "1,200", "1.200,5", "0,5", "-3e2", "7%", "7a", "inf")]
    [12.5, 1200.0, 1200.5, 0.5, -300.0, 7.0, None, None]
    >>> spelled_number("1,200", decimal=","), spelled_number("1.200", decimal=",")
    (1.2, 1200.0)
    >>> spelled_number("($12.30)"), spelled_number("1,234-"), spelled_number("1,23,456")
    (-12.3, -1234.0, 123456.0)
    >>> spelled_number("5'11"), spelled_number("120 80"), spelled_number("0,512", ".")
    (None, None, 0.512)
    """
    text = text.strip()
    if decimal and (number := simple_number(text, decimal)) is not None:
        return number
    for sign in (decimal, *{".": ",", ",": "."}.get(decimal, ".,")):
        if sign and fits(text, sign):
            return _value(text, sign)
    return None


def shapes_of(texts: list[str]) -> list[str]:
    """The texts, where digits other than 0 are all written as 9."""
    together = "\n".join(texts).translate(_ALIKE).split("\n")  # fast, of many texts
    return together if len(together) == len(texts) else [text.translate(_ALIKE) for text in texts]


def fits(text: str, decimal: str) -> bool:
    """Whether a text is a number with this decimal sign."""
    text = text.strip()
    return len(text) <= LONGEST and _form_fits(text.translate(_ALIKE), decimal)


@lru_cache(maxsize=4096)
def _form_fits(text: str, decimal: str) -> bool:
    """Whether a text is a number, where digits other than 0 are all written as 9."""
    return _WHOLE[decimal].match(text) is not None and _PHONE.fullmatch(text) is None


def simple_number(text: str, decimal: str) -> float | None:
    """The number in a text of digits and points alone; None for other texts."""
    if len(text) > LONGEST or SIMPLE[decimal].fullmatch(text) is None:
        return None
    if decimal == ".":
        return float(text.replace(",", "")) + 0.0
    return float(text.replace(".", "").replace(",", ".")) + 0.0


def _value(text: str, decimal: str) -> float | None:
    """The number in a text, with signs of money and units around it."""
    digits = SIGNS.sub(" ", text)
    match = _BARE[decimal].search(digits)
    if match is None:
        return None
    written, rest = match.group(), digits[: match.start()] + digits[match.end() :]
    comma = "," if decimal == "." else "."
    written = re.sub(f"[{BLANKS}'’{comma}]", "", written).replace(",", ".")
    try:
        number = float(re.sub(f"[{MINUS}]", "-", written))
    except ValueError:
        return None
    negative = re.search(rf"[({MINUS}]", rest) is not None
    return (-number if negative else number) + 0.0 if math.isfinite(number) else None


def decimal_of(texts: Iterable[str]) -> str:
    """The decimal sign that texts of numbers use: "," or "."; "" if they do not tell.

    Only texts count that are numbers with one of the signs and not with the other.

    Examples
    --------
    >>> decimal_of(["1.200", "0,5"]), decimal_of(["1,200", "0.5"]), decimal_of(["1,200", "7"])
    (',', '.', '')
    """
    return decimal_in(Counter(shapes_of(list(texts))))


def decimal_in(shapes: Counter) -> str:
    """The same by the shapes of the texts."""
    commas = points = 0
    for text, cells in shapes.items():
        if "," in text or "." in text:
            comma, point = fits(text, ","), fits(text, ".")
            commas += cells * (comma and not point)
            points += cells * (point and not comma)
    return "," if commas > points else "." if points else ""


def ends_of(text: str) -> tuple[float, float] | None:
    """The two ends of a range, which rise; None if the text is none.

    Examples
    --------
    >>> ends_of("10-20"), ends_of("$1,000 to $1,999"), ends_of("20-10"), ends_of("2024-02-29")
    ((10.0, 20.0), (1000.0, 1999.0), None, None)
    """
    match = _BETWEEN.fullmatch(text.strip()) if len(text) <= LONGEST else None
    if match is None:
        return None
    low, high = (spelled_number(part) for part in match.groups())
    return (low, high) if low is not None and high is not None and low < high else None


def are_codes(texts: Iterable[str]) -> bool:
    """Whether all texts are three groups of digits or more, with blanks, and as many in each.

    Sums of money have no one length.

    Examples
    --------
    >>> are_codes(["123 456 789", "130 256 781"]), are_codes(["1 234 567", "234 567"])
    (True, False)
    """
    parts = set()
    for text in map(str.strip, texts):
        if _PARTS_OF_CODE.fullmatch(text) is None:
            return False
        parts.add(text.count(" "))
    return len(parts) == 1


def signs_of(texts: Iterable[str]) -> str:
    """The percent and currency signs of texts of numbers, sorted, with blanks between them.

    Examples
    --------
    >>> signs_of(["12%", "7 %", "3"]), signs_of(["EUR 5", "5 €"]), signs_of(["5"])
    ('%', 'EUR €', '')
    """
    return " ".join(sorted(set(SIGNS.findall("\n".join(texts)))))


#: in lower case; beside numbers and dates, each means a missing one
MISSING_TEXTS = {
    "", "?", "??", "-", "--", "---", "–", "—", ".", "..", "...", "…", "*", "**", "***", "/",
    # programs
    "na", "n/a", "nan", "-nan", "+nan", "nat", "null", "none", "nil", "missing", "void",
    "undefined", "<na>", "<null>", "<nan>", "(null)", "[null]", "\\n", "nan(ind)", "-nan(ind)",
    "nan(snan)", "-nan(snan)", "1.#qnan", "-1.#qnan", "1.#ind", "-1.#ind", "1.#snan", "#",
    "0000-00-00", "0000-00-00 00:00:00",
    # spreadsheets
    "#n/a", "#n/a n/a", "#na", "#n/v", "#nv", "#div/0!", "#value!", "#wert!", "#ref!", "#bezug!",
    "#name?", "#num!", "#zahl!", "#null!", "#spill!", "#calc!", "#error!", "#getting_data",
    # people, in several languages
    "n.a.", "n.a", "n. a.", "n.d.", "n.d", "n. d.", "nd", "n/d", "n.v.", "n.b.", "n.e.", "n.c.",
    "nc", "s/d", "s.d.", "k.a.", "k.a", "k. a.", "ka", "k/a", "tbd", "tba", "bdl", "bql", "lod",
    "not available", "not applicable", "not determined", "not detected", "not known",
    "not measured", "not reported", "no data", "no answer", "none given", "no value", "unknown",
    "keine angabe", "nicht bestimmt", "unbekannt", "fehlt", "inconnu", "sin dato", "sin datos",
    "desconocido", "onbekend",
}  # fmt: skip
#: those that may be levels like others, where levels stand beside them
LEVELS = {
    "none", "nd", "nc", "ka", "lod", "bdl", "bql", "void", "not detected", "#", "*", "**", "***",
    "/",
}  # fmt: skip


def unmarked(texts: Iterable[str]) -> list[str]:
    """The texts that do not mean a missing value."""
    return [text for text in texts if text.strip().lower() not in MISSING_TEXTS]


def is_missing_mark(value: object) -> bool:
    """Whether a value is a text that means a missing number or date, such as "n/a"."""
    return isinstance(value, str) and value.strip().lower() in MISSING_TEXTS
