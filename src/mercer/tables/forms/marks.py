"""Texts that mean a missing value, as people and programs write them: one table."""

from __future__ import annotations

from collections.abc import Iterable

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
