"""Checks of documents and thresholds before anything is read."""

from __future__ import annotations

from typing import Any

from mercer.samples import describe, describe_entry, is_number, read


def check_threshold(threshold: float, recall: float) -> None:
    """Refuse a threshold or a recall that is not between 0 and 1."""
    if not (is_number(threshold) and 0 < threshold <= 1):
        raise ValueError(f"threshold={threshold!r}: give a number above 0 and up to 1.")
    if not (is_number(recall) and 0 < recall < 1):
        raise ValueError(f"recall={recall!r}: give a number between 0 and 1, such as 0.99.")


def as_texts(name: str, docs: Any) -> list[str]:
    """The documents as a list of their own."""
    if isinstance(docs, (str, bytes, dict, set, frozenset)) or docs is None:
        raise TypeError(f"{name} is {describe(docs)}: give a list or a column of texts.")
    listed = isinstance(docs, (list, tuple))  # which may be empty
    texts = list(docs) if listed else read(docs, "strings", reader=name)[1]
    if all(type(text) is str for text in texts):
        return texts
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(
                f"{name}[{i}] is {describe_entry(text)}, but documents are texts: give '' for a "
                "missing one, or similarity=kernel for samples of another kind."
            )
    return texts
