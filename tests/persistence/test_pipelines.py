"""Model files of scikit-learn's pipelines and searches around learners of this library."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import loguniform
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.ensemble import StackingRegressor, VotingClassifier
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.metrics import fbeta_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    StratifiedKFold,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    SplineTransformer,
    StandardScaler,
)

import mercer
from mercer.persistence import ModelFileError, trust

N = 60
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N, 3))
NUMBERS, CLASSES = X[:, 0] - X[:, 1], np.where(X[:, 0] > 0, "yes", "no")
TABLE = pd.DataFrame(X, columns=["a", "b", "c"]).assign(d=RANDOM.choice(["u", "v"], N))
TABLE.loc[3, "b"] = np.nan


def columns():
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer([("numbers", numbers, ["a", "b", "c"]), ("levels", levels, ["d"])])


def chosen():
    return ColumnTransformer(
        [("levels", OrdinalEncoder(), make_column_selector(dtype_exclude=np.number)),
         ("numbers", SimpleImputer(), make_column_selector(dtype_include=np.number))]
    )  # fmt: skip


def grid(model, **options):
    name = type(model.steps[-1][1]).__name__.lower()
    return GridSearchCV(model, {f"{name}__C": [0.1, 10.0]}, cv=3, **options)


def scaled(learner):
    return make_pipeline(StandardScaler(), learner)


MODELS = [
    (Pipeline([("scale", StandardScaler()), ("learn", mercer.SVC())]), X, CLASSES),
    (make_pipeline(columns(), mercer.SVC(probability=True)), TABLE, CLASSES),
    (make_pipeline(chosen(), mercer.KernelRidge(kernel="laplacian")), TABLE, NUMBERS),
    (make_pipeline(KBinsDiscretizer(), mercer.LinearSVR()), X, NUMBERS),
    (make_pipeline(SelectKBest(f_regression, k=2), mercer.SVR()), X, NUMBERS),
    (TransformedTargetRegressor(scaled(mercer.SVR()), transformer=StandardScaler()), X, NUMBERS),
    (grid(make_pipeline(columns(), mercer.SVC())), TABLE, CLASSES),
    (grid(scaled(mercer.SVC()), scoring="roc_auc"), X, CLASSES),
    (grid(scaled(mercer.SVC()), scoring=["f1_macro", "accuracy"], refit="accuracy"), X, CLASSES),
    (GridSearchCV(mercer.SVC(), {"C": [1.0]}, cv=StratifiedKFold(3, shuffle=True, random_state=0),
                  scoring=make_scorer(fbeta_score, beta=2, pos_label="yes")), X, CLASSES),
    (CalibratedClassifierCV(scaled(mercer.LinearSVC()), cv=3), X, CLASSES),
    (TunedThresholdClassifierCV(mercer.KernelLogisticRegression(kernel="rbf")), X, CLASSES),
    (VotingClassifier([("a", mercer.SVC()), ("b", mercer.LinearSVC())]), X, CLASSES),
    (StackingRegressor([("a", mercer.SVR()), ("b", mercer.KernelRidge())]), X, NUMBERS),
    (make_pipeline(SimpleImputer(), mercer.KernelClassifier(trials=1, random_state=0)), X, CLASSES),
]  # fmt: skip


@pytest.mark.spread(6)
@pytest.mark.parametrize(("model", "table", "y"), MODELS)
def test_a_loaded_model_is_the_same(model, table, y, tmp_path):
    model.fit(table, y)
    whole = [model, getattr(model, "best_estimator_", None)]
    for each in filter(None, whole):
        mercer.save(each, tmp_path / "model.mercer")
        loaded = mercer.load(tmp_path / "model.mercer")
        assert type(loaded) is type(each)
        for name in ("predict", "predict_proba", "decision_function"):
            if hasattr(each, name):
                found, expected = getattr(loaded, name)(table), getattr(each, name)(table)
                if expected.dtype.kind == "f":
                    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
                else:
                    assert_array_equal(found, expected)


def test_a_model_that_is_not_fitted_is_saved_too(tmp_path):
    mercer.save(grid(make_pipeline(columns(), mercer.SVC())), tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer").fit(TABLE, CLASSES)
    assert loaded.best_params_ == MODELS[6][0].fit(TABLE, CLASSES).best_params_


def test_a_search_that_cannot_be_saved_names_the_part_that_can(tmp_path):
    """Distributions of scipy write a program of their attributes when they are loaded."""
    draws = {"C": loguniform(0.1, 10.0)}
    search = RandomizedSearchCV(mercer.SVC(), draws, n_iter=2, cv=2, random_state=0)
    with pytest.raises(ModelFileError, match=r"rv_continuous_frozen .*Save its best_estimator_"):
        mercer.save(search.fit(X, CLASSES), tmp_path / "model.mercer")
    mercer.save(search.best_estimator_, tmp_path / "model.mercer")
    splines = make_pipeline(SplineTransformer(), mercer.SVR()).fit(X, NUMBERS)
    with pytest.raises(ModelFileError, match=r"BSpline .*code\. Use a kernel object"):
        mercer.save(splines, tmp_path / "model.mercer")


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("sklearn.model_selection._split.KFold", True),
        ("sklearn.metrics._ranking.roc_auc_score", True),
        ("sklearn.metrics.roc_auc_score", False),  # no name that a file of ours has
        ("sklearn.metrics._ranking.np", False),
        ("sklearn.metrics.pairwise.pairwise_distances_chunked", False),  # calls any function
        ("sklearn.metrics._scorer.make_scorer", False),
        ("elsewhere.roc_auc_score", False),
        ("sklearn.tree._tree.Tree", False),
        ("scipy.interpolate._bsplines.BSpline", False),
        ("scipy.stats._distn_infrastructure.rv_continuous_frozen", False),
        ("os.system", False),
    ],
)
def test_what_is_known_to_be_safe(name, known):
    assert trust.is_known(name) is known


def test_every_name_that_is_known_is_there():
    """A name that scikit-learn has given up would be refused without being noticed."""
    for package, names in trust.PUBLIC.items():
        for name in names.split():
            found = getattr(__import__(package, fromlist=[name]), name)
            assert trust.is_known(f"{found.__module__}.{name}"), name
