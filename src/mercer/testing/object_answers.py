"""What a fitted model answers, and how the checks compare answers or expect an error."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

#: some word of a message that says what to do
REMEDY = r"(?i)\b(give|fill|wrap|needs?|leave|call|split|add|make|use)\b"
METHODS = ("decision_function", "predict_proba", "predict", "transform", "score_samples")


def outputs(model: Any, X: Any) -> dict[str, np.ndarray]:
    """What every method of a fitted model answers."""
    answers = {
        name: np.asarray(getattr(model, name)(X)) for name in METHODS if hasattr(model, name)
    }
    assert answers, f"{type(model).__name__} has none of the methods {METHODS}"
    return answers


def same(found: dict, expected: dict, what: str) -> None:
    """Equal up to rounding."""
    assert found.keys() == expected.keys(), f"{what}: methods {list(found)}, not {list(expected)}"
    for name, values in expected.items():
        if values.dtype.kind == "f":
            size = max(float(np.abs(values).max(initial=0)), 1e-300)
            assert_allclose(
                found[name], values, rtol=1e-6, atol=1e-6 * size, err_msg=f"{name}: {what}"
            )
        else:
            assert_array_equal(found[name], values, f"{name}: {what}")


def alike(found: dict, expected: dict, what: str) -> None:
    """Equal as far as a solver's tolerance, and centres or folds drawn anew, allow.

    Labels are compared where there are no values: a label flips where its value is about 0.
    """
    floats = {name for name, values in expected.items() if values.dtype.kind == "f"}
    for name, values in expected.items():
        if floats and name not in floats:
            continue
        if values.dtype.kind == "f":
            error = np.abs(found[name] - values).max()
            most = 0.05 * max(float(np.abs(values).max()), 1e-300)
            assert error <= most, f"{name}: {what} differs by {error:.3g} where {most:.3g} may be"
        else:
            share = float(np.mean(found[name] == values))
            assert share >= 0.9, f"{name}: {what} answers {share:.0%} of the samples alike"


def refused(call: Callable, errors: Any, what: str, says: str = REMEDY) -> None:
    """The call raises one of the errors, and its message says what to do, or what ``says`` is."""
    said = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # searches warn of fits that fail
        try:
            call()
        except errors as error:
            said = str(error)
        except Exception as error:
            raise AssertionError(f"{what} raised {type(error).__name__}: {error}") from error
    assert said is not None, f"{what} was not refused"
    assert re.search(says, said), f"{what}: the error names no remedy: {said}"
