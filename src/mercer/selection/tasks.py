"""Which task a target sets: to tell classes, or to predict a number."""

from __future__ import annotations

import numpy as np

__all__ = ["task_of"]

MOST_CLASSES = 20  # an integer target with more different values is a number
NUMBERS_PER_CLASS = 10  # and so is one with fewer rows than this for each value


def task_of(target: np.ndarray, given: str | None = None) -> tuple[str, str]:
    """("classification" or "regression", why), from the target's values.

    Examples
    --------
    >>> task_of(np.array(["a", "b"]))[0], task_of(np.linspace(0, 1, 50))[0]
    ('classification', 'regression')
    """
    target = np.asarray(target)
    values = len(set(target.tolist()))
    if given is not None:
        return given, "you said so"
    if target.dtype.kind not in "fiu":
        return "classification", f"the target has {values} different values that are not numbers"
    whole = bool(np.all(target == np.round(target)))
    if values <= 2:
        return "classification", f"the target has {values} different values"
    if whole and values <= MOST_CLASSES and len(target) >= NUMBERS_PER_CLASS * values:
        return "classification", (
            f"the target holds integers with only {values} different values; "
            "--task regression reads them as numbers"
        )
    reverse = "; --task classification reads them as classes" if whole and values <= 100 else ""
    kind = "integers" if whole else "numbers"
    return "regression", f"the target holds {kind}, {values} different{reverse}"
