"""What the reference shows of each name: its summary, its title, and the methods that users call.

Summaries end as sentences: where the first line of a docstring goes on with a formula, the words
that lead to it are left out. Of an estimator, methods that rooms of the library call on each other
are not shown beside ``fit`` and ``predict``; the pages of their abstract classes have them.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.discovery import all_estimators
from sphinx.ext import autosummary

import mercer

LEADS_ON = re.compile(
    r"(,? (with|where|and|is|that maximise|with the covariance)|: m(ax|in)imise)?[,:]?$"
)
PAGE = re.compile(r"generated/mercer\.(\w+)")
#: methods of estimators that scikit-learn has not
OWN = """add approximate_predict code collision compress densify draw eigenfunctions encode
    encode_table expansions explained fit_chunks fit_resample leave_one_out load margin_report
    of_target predict_interval predict_quantiles quality query query_radius reasons
    reconstruction_error refit relevance remove report sample save score_pairs sensitivity
    shapley_values similarity sparsify trace_error"""


@cache
def known() -> set[str]:
    """The methods of estimators that users call: those that scikit-learn's have, and `OWN`."""
    theirs = {name for _, each in all_estimators() for name in dir(each) if name[0] != "_"}
    return theirs | {*OWN.split()}


def short(name: str) -> str:
    """The title of a page: the room and the name."""
    return name.removeprefix("mercer.")


def shown(module: str, name: str, methods: Iterable[str]) -> list[str]:
    """Those of the methods of a class that its page lists."""
    public = [each for each in methods if not each.startswith("_")]
    return [each for each in public if each in known()] if _estimator(module, name) else public


def _estimator(module: str, name: str) -> bool:
    thing = getattr(mercer, name, None) if module == "mercer" else None
    return isinstance(thing, type) and issubclass(thing, BaseEstimator)


def _skip(app: Any, what: str, name: str, thing: object, skip: bool, options: Any) -> bool | None:
    page = PAGE.fullmatch(app.env.current_document.docname)
    inner = page and name != page[1] and _estimator("mercer", page[1])
    return True if inner and name not in known() and not name.endswith("_") else None


def setup(app: Any) -> dict:
    whole = autosummary.extract_summary

    def ended(doc: Sequence[str], settings: Any) -> str:
        text = whole(doc, settings)
        if text and not text.endswith((".", "?")):
            text = LEADS_ON.sub("", text).removesuffix(".") + "."  # "et al.:" has one already
        return text

    autosummary.extract_summary = ended
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
