"""Kernels that are not symmetric: every learner refuses them by name."""

import inspect

import numpy as np
import pytest
from sklearn.base import is_regressor

import mercer
import mercer.deep
import mercer.search
from mercer.kernels import QueryKey

RNG = np.random.default_rng(0)
KERNEL = QueryKey(RNG.normal(size=(2, 3)), RNG.normal(size=(2, 3)))
X = RNG.normal(size=(30, 3))
# parameters of the name that take no kernel object: a window, and a score
OTHERWISE = [
    (mercer.KernelDensity, "kernel"),
    (mercer.KernelClassifier, "metric"),
    (mercer.KernelRegressor, "metric"),
]


def learners():
    """(class, the parameter that takes a kernel) of all that learn from one."""
    names = [(room, name) for room in (mercer, mercer.deep) for name in room.__all__]
    classes = [value for room, name in names if inspect.isclass(value := getattr(room, name))]
    for cls in classes:
        if not hasattr(cls, "fit") or inspect.isabstract(cls) or "Attention" in cls.__name__:
            continue
        parameters = inspect.signature(cls).parameters
        for name in ("kernel", "kernels", "metric"):
            if name in parameters and (cls, name) not in OTHERWISE:
                yield cls, name
                break


@pytest.mark.parametrize(
    "statistic",
    [
        lambda k: mercer.alignment(k, X[:, 0], X),
        lambda k: mercer.effective_dimension(k, X, 1.0),
        lambda k: mercer.mmd_test(k, X, X),
        lambda k: mercer.hsic_test(k, k, X, X),
    ],
)
def test_statistics_refuse_them(statistic):
    with pytest.raises(TypeError, match="not symmetric"):
        statistic(KERNEL)


@pytest.mark.parametrize(("cls", "name"), list(learners()), ids=lambda v: getattr(v, "__name__", v))
def test_learners_refuse_them(cls, name):
    model = cls(**{name: [KERNEL] if name == "kernels" else KERNEL})
    y = X if "CCA" in cls.__name__ else X[:, 0] if is_regressor(model) else X[:, 0] > 0
    with pytest.raises((TypeError, ValueError), match=r"(?s)not symmetric|metric=QueryKey.*give"):
        model.fit(X, y)
