"""Learners by a user's function on tuples of different lengths, of which numpy makes no array."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import mercer
from mercer.kernels import FromFunction

#: graphs as (labels of vertices, edges)
GRAPHS = [
    (("a", "b"), ((0, 1),)),
    (("a",), ()),
    (("b", "c", "c"), ((0, 1), (1, 2))),
    (("c",), ()),
    (("a", "a", "b"), ((0, 1), (0, 2))),
    (("c", "c"), ((0, 1),)),
] * 3  # fmt: skip
ACID = ["left" if "a" in labels else "right" for labels, _ in GRAPHS]
SIZES = np.array([len(labels) + 0.1 * i for i, (labels, _) in enumerate(GRAPHS)])


def apart(a, b):
    return abs(len(a[1]) - len(b[1])) + float(len(set(a[0]) ^ set(b[0])))


def common(a, b):
    return 1.0 + sum(label == other for label in a[0] for other in b[0])


D = np.array([[apart(a, b) for b in GRAPHS] for a in GRAPHS])
K = np.array([[common(a, b) for b in GRAPHS] for a in GRAPHS])


@pytest.mark.parametrize(
    "learner",
    [
        mercer.KNeighborsClassifier(3),
        mercer.KNeighborsRegressor(3),
        mercer.RadiusNeighborsClassifier(1.5),
        mercer.NadarayaWatson(1.5),
        mercer.NadarayaWatson(),
        mercer.NadarayaWatsonClassifier("learnt"),
        mercer.KernelDensity(bandwidth=1.0),
        mercer.LocalOutlierFactor(3, novelty=True),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_a_distance_of_ragged_tuples_is_its_matrix(learner):
    y = ACID if type(learner).__name__.endswith("Classifier") else SIZES
    given = clone(learner).set_params(metric="precomputed").fit(D, y)
    model = clone(learner).set_params(metric=apart).fit(GRAPHS, y)
    for method in ("predict", "score_samples", "decision_function"):
        if hasattr(model, method):
            assert_allclose_or_equal(getattr(model, method)(GRAPHS), getattr(given, method)(D))


def assert_allclose_or_equal(found, expected):
    (assert_array_equal if found.dtype.kind in "OU" else assert_allclose)(found, expected)


def test_prototypes_of_ragged_tuples():
    given = mercer.Stolp(metric="precomputed").fit(D, ACID)
    found = mercer.Stolp(metric=apart).fit_resample(GRAPHS, ACID)[0]
    assert found == [GRAPHS[i] for i in given.indices_]


@pytest.mark.parametrize("wrapped", [list, tuple, lambda rows: as_array(rows)])
def test_a_stream_of_ragged_tuples(wrapped):
    model = mercer.KernelPerceptron(kernel=FromFunction(common), budget=8, combine="last")
    for start in range(0, len(GRAPHS), 5):
        part = slice(start, start + 5)
        model.partial_fit(wrapped(GRAPHS[part]), ACID[part], classes=["left", "right"])
    new = model.decision_function(GRAPHS)
    columns = [GRAPHS.index(g) for g in model.X_fit_.values]
    assert_allclose(new, K[:, columns] @ model.dual_coef_[0] + model.intercept_[0])


def as_array(rows):
    array = np.empty(len(rows), object)
    array[:] = rows
    return array
