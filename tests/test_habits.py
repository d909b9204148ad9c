"""The habits of scikit-learn's ecosystem: a test for each row of a table in docs/pipelines.rst."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from invariances.table import TABLE
from mercer.kernels import RBF, Match, Spectrum

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "pipelines.rst"
RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(120, 3)), RNG.normal(size=(20, 3))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)
W = np.where(Y == 0, 3.0, 1.0)
MIXED = pd.DataFrame({
    "size": X[:, 0], "name": RNG.choice(["anna", "otto", "hanna", "ottilie"], 120),
    "job": RNG.choice(["cook", "judge"], 120),
})  # fmt: skip
PERSON = np.where(MIXED["name"].str.startswith("o"), "o", "a")
KERNEL = RBF("scale").on("size") + Spectrum(2).normalised().on("name") + Match().on("job")
TESTED: dict[str, str] = {}


def habit(row: str):
    """The name of the row that a test holds."""

    def named(test):
        TESTED[row] = test.__name__
        return test

    return named


@habit("Metadata routing")
def test_weights_are_routed_through_pipelines_and_searches():
    known = mercer.SVC(C=10).fit(StandardScaler().fit_transform(X), Y, W)
    scaled = StandardScaler().fit(X).transform(NEW)
    with sklearn.config_context(enable_metadata_routing=True):
        asks = mercer.SVC(C=10).set_fit_request(sample_weight=True)
        asks.set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asks)
        found = pipeline.fit(X, Y, sample_weight=W).decision_function(NEW)
        assert_allclose(found, known.decision_function(scaled), atol=1e-9)
        for search in (GridSearchCV, mercer.KernelSearchCV):
            model = search(pipeline, {"svc__C": [10]}, cv=3).fit(X, Y, sample_weight=W)
            assert_allclose(model.decision_function(NEW), found, atol=1e-9)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"):
            make_pipeline(mercer.SVC()).fit(X, Y, sample_weight=W)
        for row in TABLE:  # every public estimator whose fit takes weights
            if "sample_weight" in inspect.signature(row.model.fit).parameters:
                asked = clone(row.model).set_fit_request(sample_weight=True)
                assert asked.get_metadata_routing().fit.requests["sample_weight"] is True


TRANSFORMERS = [
    mercer.KernelPCA(2), mercer.Nystroem(n_components=3, random_state=0),
    mercer.RandomFeatures(n_components=4, random_state=0), mercer.KernelDiscriminant(),
    mercer.KNNImputer(3), mercer.NeighbourhoodComponents(tol=0.1), mercer.Isomap(9),
    mercer.KernelKMeans(2, random_state=0),
]  # fmt: skip


@habit("``set_output``")
@pytest.mark.parametrize("model", TRANSFORMERS, ids=lambda m: type(m).__name__)
def test_transformers_make_frames_with_names(model):
    plain = clone(model).fit(X, Y).transform(NEW)
    frame = pd.DataFrame(NEW, columns=["a", "b", "c"], index=range(50, 70))
    fitted = clone(model).set_output(transform="pandas").fit(
        pd.DataFrame(X, columns=["a", "b", "c"]), Y
    )  # fmt: skip
    found = fitted.transform(frame)
    assert found.columns.tolist() == list(fitted.get_feature_names_out())
    assert_array_equal(found.index, frame.index)
    assert_allclose(found, plain, atol=1e-9)
    if find_spec("polars"):
        assert fitted.set_output(transform="polars").transform(frame).shape == plain.shape


@habit("Array API")
def test_dispatch_of_the_array_api_changes_nothing():
    for row in TABLE:
        assert not row.model.__sklearn_tags__().array_api_support
    code = """
import numpy as np, sklearn, mercer
X = np.random.default_rng(0).normal(size=(40, 3))
model = mercer.KernelRidge(0.1, kernel="rbf")
plain = model.fit(X, X[:, 0]).predict(X)
with sklearn.config_context(array_api_dispatch=True):
    assert np.array_equal(model.fit(X, X[:, 0]).predict(X), plain)
"""
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=120)


@habit("HTML with parameters")
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.id)
def test_html_shows_parameters(row):
    if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 7):
        pytest.skip("scikit-learn shows parameters from 1.7 on")
    shown = row.model._repr_html_()
    for name in row.model.get_params(deep=False):
        assert name in shown, name


@habit("The report of an automatic estimator")
def test_a_fitted_automatic_estimator_shows_what_it_found():
    model = mercer.KernelClassifier(trials=1, random_state=0)
    assert "trials" in model._repr_html_()
    shown = model.fit(MIXED, PERSON)._repr_html_()
    assert model.winner_name_ in shown
    assert "<script" not in shown


@habit("Free-threaded Python")
def test_eight_threads_fit_and_predict_at_once():
    shared = mercer.KernelRidge(0.1, kernel="rbf").fit(X, Y)
    mixed = mercer.SVC(kernel=KERNEL).fit(MIXED, PERSON)
    learners = [
        mercer.SVC(C=10), mercer.KernelRidge(0.1, kernel="rbf"), mercer.KNeighborsClassifier(3),
        mercer.KernelLogisticRegression(kernel="rbf"), mercer.GaussianProcessRegressor(alpha=0.1),
    ]  # fmt: skip

    def work(i: int) -> list[np.ndarray]:
        own = clone(learners[i % len(learners)]).fit(X, Y)
        words = mercer.SVC(kernel=Spectrum(2)).fit(MIXED["name"].tolist(), PERSON)
        values = words.decision_function(["anna", "tilo"])
        return [own.predict(NEW), shared.predict(NEW), mixed.decision_function(MIXED[:9]), values]

    alone = [work(i) for i in range(len(learners))]
    with ThreadPoolExecutor(8) as pool:
        for i, found in enumerate(pool.map(work, range(40))):
            for one, other in zip(found, alone[i % len(learners)], strict=True):
                assert_allclose(one, other, atol=1e-7)
    if sysconfig.get_config_var("Py_GIL_DISABLED") and not os.environ.get("PYTHON_GIL"):
        assert not sys._is_gil_enabled()


@habit("joblib and Dask")
@pytest.mark.parametrize("backend", ["threading", "loky", "dask"])
def test_folds_are_computed_by_every_backend(backend):
    model = make_pipeline(StandardScaler(), mercer.SVC(C=10))
    here = cross_val_score(model, X, Y, cv=4)
    if backend != "dask":
        with parallel_config(backend, n_jobs=2):
            assert_array_equal(cross_val_score(model, X, Y, cv=4), here)
        return
    distributed = pytest.importorskip("distributed")
    with (
        distributed.Client(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ),
        parallel_config("dask"),
    ):
        assert_array_equal(cross_val_score(model, X, Y, cv=4, n_jobs=2), here)
        search = GridSearchCV(model, {"svc__C": [1, 10]}, cv=3, n_jobs=2).fit(X, Y)
    known = GridSearchCV(model, {"svc__C": [1, 10]}, cv=3).fit(X, Y)
    assert_array_equal(search.cv_results_["mean_test_score"], known.cv_results_["mean_test_score"])


@habit("``sklearn.inspection``")
@pytest.mark.parametrize(
    "model", [mercer.SVC(kernel=KERNEL), mercer.KernelClassifier(trials=1, random_state=0)], ids=str
)
def test_inspection_of_tables_of_several_kinds(model):
    model.fit(MIXED, PERSON)
    found = permutation_importance(model, MIXED, PERSON, n_repeats=3, random_state=0)
    assert found.importances_mean.argmax() == 1  # the name says it
    for column in ("size", "job", "name"):
        drawn = partial_dependence(
            model, MIXED, [column], categorical_features=["job", "name"], grid_resolution=7,
            response_method="decision_function" if isinstance(model, mercer.SVC) else "auto",
        )  # fmt: skip
        assert drawn["average"].shape == (1, len(drawn["grid_values"][0]))
    assert np.ptp(drawn["average"]) > 0.1


class Heard:
    """A callback of scikit-learn 1.9 that writes down which tasks end."""

    def __init__(self):
        self.tasks = []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.tasks.append((context.task_name, context.task_id))


@habit("Callbacks of scikit-learn 1.9")
@pytest.mark.skipif(not find_spec("sklearn.callback"), reason="scikit-learn has none before 1.9")
def test_callbacks_of_pipelines_and_searches_hear_of_every_fit():
    heard = Heard()
    make_pipeline(StandardScaler(), mercer.SVC()).set_callbacks(heard).fit(X, Y)
    assert "fit-final-estimator" in dict(heard.tasks)
    tasks = []
    for search in (GridSearchCV, mercer.KernelSearchCV):
        heard = Heard()
        model = search(mercer.SVC(), {"C": [1, 10]}, cv=2).set_callbacks(heard).fit(X, Y)
        tasks.append(heard.tasks)
    assert tasks[0] == tasks[1]
    assert [name for name, _ in tasks[0]].count("candidate-split-evaluation") == 4
    assert "callbacks" in model.sharing_[0].reason
    assert "callbacks" not in model.set_callbacks().fit(X, Y).sharing_[0].reason


def test_each_row_of_the_table_has_a_test():
    text = PAGE.read_text(encoding="utf-8").split("\nHabits and their tests\n")[1]
    rows = re.findall(r"^   \* - (.+)$", text.split("\n\n\n")[0], re.MULTILINE)
    assert rows[0] == "Habit"
    assert set(rows[1:]) == set(TESTED)
