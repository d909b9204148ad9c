"""What a fitted model answers for some samples, as one number each that a display can compare."""

from __future__ import annotations

from typing import Any

import numpy as np


def answers(model: Any, rows: list, of: Any) -> tuple[np.ndarray, str]:
    """One number for each sample, and what it is: the probability of a class, if the model has
    probabilities, else its value of the decision function; of a regressor the prediction. ``of`` is
    the class; None means the one that is predicted for the first sample."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        if of is not None:
            raise ValueError(f"of={of!r}: {type(model).__name__} has no classes; leave it out.")
        return np.asarray(model.predict(rows), np.float64), "prediction"
    wanted = model.predict(rows[:1])[0] if of is None else of
    places = np.flatnonzero(np.asarray(classes) == wanted)
    if len(places) != 1:
        raise ValueError(f"of={of!r}: give one of the classes {np.asarray(classes).tolist()}.")
    if callable(getattr(model, "predict_proba", None)):
        return np.asarray(model.predict_proba(rows))[:, places[0]], f"P({wanted})"
    values = np.asarray(model.decision_function(rows), np.float64)
    if values.ndim == 1:  # of two classes, positive for the second
        values = np.stack([-values, values], axis=1)
    if values.shape[1] != len(classes):
        raise ValueError(
            f"{type(model).__name__} has a value for each pair of classes, and none for a class: "
            "give a model with predict_proba."
        )
    return values[:, places[0]], f"value of {str(wanted)!r}"
