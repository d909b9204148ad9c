"""What may come of a hostile input: a finite answer of the right length, or an error of Mercer's.

An error is Mercer's own if its type is ValueError, TypeError or NotFittedError, or one that Mercer
defines, and a ``raise`` of Mercer made it, or scikit-learn's check of X and y or of folds. What
numpy, scipy or Python raised on the way is no answer to a user, and neither is a warning of theirs,
nor NaN.
"""

from __future__ import annotations

import dis
import types
import warnings
from collections.abc import Callable
from traceback import walk_tb
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import FitFailedWarning, NotFittedError

RAISE = dis.opmap["RAISE_VARARGS"]
PLAIN = (ValueError, TypeError, NotFittedError)


def innermost(error: BaseException) -> types.TracebackType:
    at = error.__traceback__
    assert at is not None
    while at.tb_next is not None:
        at = at.tb_next
    return at


def is_own(error: Exception) -> bool:
    """Whether the error says in Mercer's words, or in scikit-learn's on X and y, what is wrong."""
    if any(frame.f_globals["__name__"] == "cases" for frame, _ in walk_tb(error.__traceback__)):
        return True  # a user's function, which was called with what it does not know
    kind = type(error)
    if kind not in PLAIN and not kind.__module__.startswith("mercer."):
        return False
    at = innermost(error)
    code = at.tb_frame.f_code
    if code.co_code[at.tb_lasti] != RAISE or len(str(error)) < 15:
        return False
    room = at.tb_frame.f_globals.get("__name__", "")
    return room.startswith(("mercer.", "sklearn.utils.validation", "sklearn.model_selection"))


def numbers_of(answer: Any) -> list[np.ndarray]:
    """All arrays of an answer."""
    if sp.issparse(answer):
        return [answer.data]
    if isinstance(answer, dict):
        answer = list(answer.values())
    if isinstance(answer, (list, tuple)):
        return [part for each in answer for part in numbers_of(each)]
    if isinstance(answer, (np.ndarray, np.number, float)):
        found = np.asarray(answer)
        return numbers_of(list(found.ravel())) if found.dtype.kind == "O" else [found]
    return []


def wrong(call: Callable[[], Any], infinite: bool = False) -> str:
    """What is wrong with the answer of a call, or "". ``infinite``: inf may be an answer."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = call()
        except Exception as error:
            if not is_own(error):
                at = innermost(error)
                place = f"{at.tb_frame.f_globals.get('__name__')}:{at.tb_lineno}"
                return f"{type(error).__name__} in {place}: {' '.join(str(error).split())[:150]}"
            answer = None
    raw = [w for w in caught if not of_mercer(w)]
    if raw:
        w = raw[0]
        return f"{w.category.__name__} in {w.filename[-40:]}:{w.lineno}: {str(w.message)[:120]}"
    for values in numbers_of(answer):
        if values.dtype.kind not in "fc" or caught:
            continue
        if values.dtype.kind == "c":
            return "complex numbers in an answer"
        beyond = np.isnan(values) if infinite else ~np.isfinite(values)
        if beyond.any():
            return f"{values[beyond][0]} in an answer"
    return ""


def of_mercer(warning: warnings.WarningMessage) -> bool:
    """Whether a warning is Mercer's own: numpy and scipy have other categories.
    Scikit-learn's search says which of its fits failed.
    """
    return issubclass(warning.category, (UserWarning, FitFailedWarning))
