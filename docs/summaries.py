"""Summaries in the tables of the reference end as sentences: where the first line of a docstring
goes on with a formula, the words that lead to it are left out."""

import re
from collections.abc import Sequence
from typing import Any

from sphinx.ext import autosummary

LEADS_ON = re.compile(r"(,? (with|where|and|is|that maximise|with the covariance))?[,:]?$")


def setup(app: Any) -> dict:
    whole = autosummary.extract_summary

    def ended(doc: Sequence[str], settings: Any) -> str:
        text = whole(doc, settings)
        if text and not text.endswith((".", "?")):
            text = LEADS_ON.sub("", text).removesuffix(".") + "."  # "et al.:" has one already
        return text

    autosummary.extract_summary = ended
    return {"parallel_read_safe": True, "parallel_write_safe": True}
