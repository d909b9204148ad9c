"""Labels that are missing: every classifier names the row, as sorting them would fail."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

import mercer

X = np.random.default_rng(0).normal(size=(30, 2))
CLASSIFIERS = [
    learner
    for name in mercer.__all__
    if inspect.isclass(learner := getattr(mercer, name))
    and "Classifier" in repr(learner.__mro__)
    and learner is not mercer.LabelSpreading  # whose rows without a label get one
]


def test_there_are_classifiers():
    assert len(CLASSIFIERS) > 10


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
@pytest.mark.parametrize("learner", CLASSIFIERS)
def test_a_missing_label_is_named_with_its_row(learner, missing):
    y = np.array(["a", "b"] * 15, dtype=object)
    y[3] = missing
    try:
        model = learner()
    except TypeError:  # needs kernels
        model = learner([("rbf", mercer.kernels.RBF(), [0, 1])])
    assert is_classifier(model)
    with pytest.raises(ValueError, match="NaN in row 3; 1 of 30 rows have no label"):
        model.fit(X, y)
