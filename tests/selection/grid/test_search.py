"""KernelSearchCV against GridSearchCV: the same scores, errors and attributes, for less work."""

import pickle
import subprocess
import sys
import tracemalloc
import warnings

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.kernel_ridge import KernelRidge as TheirRidge
from sklearn.metrics import make_scorer, mean_absolute_error, r2_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.svm import SVC as TheirSVC
from sklearn.utils.estimator_checks import check_estimator

from mercer import SVC, SVR, KernelKMeans, KernelRidge, KernelRidgeClassifier, KernelSearchCV
from mercer.distances import Minkowski
from mercer.kernels import RBF, Kernel, Laplacian, Linear, Match, Polynomial
from mercer.learners.ridge.logistic import KernelLogisticRegression
from mercer.selection.grid.plan import Plan

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.1 * RNG.normal(size=90)
LABELS = np.array(["low", "middle", "high"])[np.digitize(Y, [0.3, 1.2])]
RIDGE = {"alpha": [1e-3, 0.1, 10.0], "gamma": [0.05, 0.5]}


def both(estimator, grid, X=X, y=Y, atol=1e-9, fit=None, **arguments):
    """KernelSearchCV and GridSearchCV, fitted, after a comparison of all their results."""
    fit = fit or {}
    ours = KernelSearchCV(clone(estimator), grid, **arguments).fit(X, y, **fit)
    arguments.pop("memory", None)
    theirs = GridSearchCV(clone(estimator), grid, **arguments).fit(X, y, **fit)
    assert list(ours.cv_results_) == list(theirs.cv_results_)
    for name, values in theirs.cv_results_.items():
        if "score" in name and "time" not in name and "rank" not in name:
            assert_allclose(ours.cv_results_[name], values, atol=atol, err_msg=name)
        elif name.startswith("param"):
            assert str(ours.cv_results_[name]) == str(values)
    assert ours.multimetric_ == theirs.multimetric_
    assert ours.n_splits_ == theirs.n_splits_
    return ours, theirs


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_without_targets(in_pipeline):
    """The score of a clustering reads k(x, x), which rows of a shared matrix have."""
    model, name = KernelKMeans(kernel="rbf", random_state=0), ""
    if in_pipeline:
        model, name = make_pipeline(StandardScaler(), model), "kernelkmeans__"
    ours, _ = both(model, {f"{name}n_clusters": [2, 3], f"{name}gamma": [0.1, 1.0]}, y=None)
    assert "nothing" not in levels(ours)


def levels(search):
    return [sharing.level for sharing in search.sharing_]


@pytest.mark.parametrize(
    ("estimator", "grid", "y", "atol"),
    [
        (KernelRidge(kernel="rbf"), RIDGE, Y, 1e-9),
        (KernelRidge(kernel="rbf"), RIDGE, np.stack([Y, Y**2], axis=1), 1e-9),
        (KernelRidge(kernel="poly", gamma=0.1), {"degree": [2, 3], "alpha": [1.0]}, Y, 1e-9),
        (KernelRidgeClassifier(kernel="rbf"), RIDGE, LABELS, 1e-9),
        (KernelLogisticRegression(kernel="rbf"), {"gamma": [0.1, 1.0]}, LABELS, 1e-9),
        (SVC(tol=1e-8), {"C": [0.1, 1, 10], "gamma": [0.1, 1.0]}, LABELS, 1e-9),
        (SVC(tol=1e-8), {"C": [10, 1], "gamma": ["scale", "auto"]}, LABELS == "high", 1e-9),
        (SVR(tol=1e-9), {"C": [0.1, 1, 10], "epsilon": [0.1, 0.2], "gamma": [0.1]}, Y, 1e-6),
    ],
)
def test_same_results_as_grid_search(estimator, grid, y, atol):
    ours, theirs = both(estimator, grid, y=y, atol=atol, return_train_score=True)
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_index_ == theirs.best_index_
    assert_allclose(ours.best_score_, theirs.best_score_, atol=atol)
    assert_array_equal(ours.cv_results_["rank_test_score"], theirs.cv_results_["rank_test_score"])
    assert_allclose(ours.best_estimator_.score(X, y), theirs.best_estimator_.score(X, y))
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.score(X, y) == theirs.score(X, y)


def test_same_scores_as_scikit_learns_own_ridge():
    ours = KernelSearchCV(KernelRidge(kernel="rbf"), RIDGE).fit(X, Y)
    theirs = GridSearchCV(TheirRidge(kernel="rbf"), RIDGE).fit(X, Y)
    assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-8
    )
    assert ours.best_params_ == theirs.best_params_


@pytest.mark.full
def test_many_penalties_share_one_sweep():
    """As many penalties and rows as the sweep needs to replace Cholesky's method."""
    rng = np.random.default_rng(1)
    A = rng.normal(size=(500, 3))
    b = np.sin(2 * A[:, 0]) + 0.1 * rng.normal(size=500)
    grid = {"alpha": np.logspace(-4, 2, 10), "kernel__gamma": [0.1, 1.0]}
    ours, theirs = both(KernelRidge(kernel=RBF()), grid, A, b, atol=1e-6, cv=3)
    assert ours.best_params_ == theirs.best_params_
    assert all(sharing.path == "alpha" for sharing in ours.sharing_)


class Counted(Minkowski):
    """A distance that counts the pairs that it compares."""

    pairs = 0

    def raw(self, X, Z):
        Counted.pairs += X.shape[0] * Z.shape[0]
        return super().raw(X, Z)


def test_distances_are_evaluated_once():
    kernels = [RBF(gamma, metric=Counted(2)) for gamma in (0.1, 0.3, 1.0, 3.0)]
    Counted.pairs = 0
    grid = {"kernel": kernels, "alpha": [0.1, 1.0, 10.0]}
    search = KernelSearchCV(KernelRidge(), grid, refit=False).fit(X, Y)
    assert levels(search) == ["gram of distances"] * 4
    assert Counted.pairs == 90**2  # 12 candidates, 5 folds


class CountedPolynomial(Polynomial):
    pairs = 0

    def block(self, X, Z):
        CountedPolynomial.pairs += X.shape[0] * Z.shape[0]
        return super().block(X, Z)


@pytest.mark.parametrize("Learner", [SVR, KernelRidge])
def test_kernels_are_evaluated_once(Learner):
    CountedPolynomial.pairs = 0
    estimator = Learner(kernel=CountedPolynomial(2))
    grid = {estimator.path_parameter: [0.1, 1.0, 10.0]}
    search = KernelSearchCV(estimator, grid, refit=False).fit(X, Y)
    assert levels(search) == ["gram"]
    assert CountedPolynomial.pairs == 90**2


def test_warm_starts_take_fewer_rounds():
    """Of a penalty, after one that is nearly as large."""
    rng = np.random.default_rng(0)
    A, rows = rng.normal(size=(2500, 2)), np.arange(2500)
    labels = (A[:, 0] * A[:, 1] + 0.5 * rng.normal(size=2500) > 0).astype(int)
    rounds = []
    for penalties in ([9.5, 10.0], [10.0]):
        models = [SVC(C=C, tol=1e-4) for C in penalties]
        plan = Plan(models, A, labels, {}, [(rows, rows[:5])], 10**9, None)
        fits = [plan.fit(i, rows) for i in range(len(models))]
        rounds.append(fits[-1][0].n_iter_[0])
        plan.close()
    warm, cold = rounds
    assert warm < 0.7 * cold


@pytest.mark.parametrize(
    ("kernel", "level"),
    [(RBF("scale"), "distances"), (RBF("median"), "distances"), (Linear(), "gram"),
     (RBF(1.0), "gram"), (RBF(1.0) * 2 + Linear(), "gram"), (RBF("scale") + Linear(), "fold")],
)  # fmt: skip
def test_what_is_shared_and_why(kernel, level):
    ours, _ = both(KernelRidge(kernel=kernel), {"alpha": [0.1, 1.0]})
    assert levels(ours) == [level]
    assert (level in ("distances", "fold")) == ("each fold" in ours.sharing_[0].reason)
    assert "fits along alpha" in str(ours.sharing_[0])


def test_a_small_budget_shares_less_with_equal_scores():
    matrix = 90 * 90 * 8
    seen = []
    for memory in (2 * matrix, 5 * matrix, 100 * matrix):
        ours, _ = both(KernelRidge(kernel="rbf"), RIDGE, memory=memory)
        seen.append(levels(ours))
    assert seen == [["fold"] * 2, ["gram"] * 2, ["gram of distances"] * 2]


def test_weights_are_split_and_mean_repetition():
    w = RNG.integers(0, 3, 90).astype(float)
    for estimator, grid, y in (
        (KernelRidge(kernel="rbf"), RIDGE, Y),
        (SVC(tol=1e-9), {"C": [0.5, 1.0]}, LABELS),
    ):
        both(estimator, grid, y=y, fit={"sample_weight": w}, atol=1e-7)


def test_scorers_metrics_and_choices():
    scoring = {"r2": "r2", "mae": make_scorer(mean_absolute_error, greater_is_better=False)}
    ours, theirs = both(KernelRidge(kernel="rbf"), RIDGE, scoring=scoring, refit="mae")
    assert ours.best_index_ == theirs.best_index_
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    assert levels(ours)[0] == "gram of distances"
    ours, theirs = both(KernelRidge(kernel="rbf"), RIDGE, scoring=["r2"], refit=False)
    assert not hasattr(ours, "best_index_")
    ours, theirs = both(KernelRidge(kernel="rbf"), RIDGE, refit=lambda results: 3)
    assert ours.best_params_ == theirs.best_params_
    assert not hasattr(ours, "best_score_")
    for scoring in ("roc_auc", "neg_log_loss"):
        estimator = KernelLogisticRegression(kernel="rbf")
        ours, _ = both(estimator, {"gamma": [0.1, 1.0]}, y=LABELS == "low", scoring=scoring)
        assert levels(ours) == ["gram of distances"] * 2


def test_a_function_that_may_look_at_samples_is_evaluated_plainly():
    seen = []

    def score(estimator, A, b):
        seen.append(np.shape(A))
        return r2_score(b, estimator.predict(A))

    ours, theirs = both(KernelRidge(kernel="rbf"), RIDGE, scoring=score)
    assert ours.best_params_ == theirs.best_params_
    assert levels(ours) == ["nothing"]
    assert "make_scorer" in ours.sharing_[0].reason
    assert set(seen) == {(18, 4)}


def test_other_estimators_are_evaluated_plainly():
    ours, theirs = both(TheirRidge(kernel="rbf"), {"alpha": [0.1, 1.0]})
    assert ours.best_params_ == theirs.best_params_
    assert levels(ours) == ["nothing"]
    assert "KernelRidge is not a kernel learner of Mercer" in str(ours.sharing_[0])


PIPELINE = make_pipeline(StandardScaler(), SVC(tol=1e-8))


@pytest.mark.parametrize(
    "cv", [3, ShuffleSplit(4, random_state=0), RepeatedKFold(n_splits=3, n_repeats=2)], ids=str
)
def test_a_pipeline_shares_within_each_fold(cv):
    if isinstance(cv, RepeatedKFold):
        cv.random_state = 0
    grid = {"svc__C": [0.1, 1.0, 10.0], "svc__gamma": [0.1, 1.0]}
    ours, theirs = both(PIPELINE, grid, X * [1, 9, 0.1, 1], LABELS, cv=cv, return_train_score=True)
    assert ours.best_params_ == theirs.best_params_
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert [s.by_fold for s in ours.sharing_] == [True, True]
    assert levels(ours) == ["gram of distances"] * 2
    assert "in each fold one Gram matrix" in str(ours.sharing_[0])
    assert ours.sharing_[0].path == "svc__C"
    assert (ours.cv_results_["mean_fit_time"] > 0).all()


def test_a_pipeline_fits_its_first_steps_once_in_each_fold():
    Scaler.fits = 0
    pipeline = make_pipeline(Scaler(), KernelRidge(kernel="rbf"))
    grid = {"kernelridge__alpha": [0.1, 1.0], "kernelridge__gamma": [0.1, 1.0]}
    both(pipeline, grid, cv=3)
    assert Scaler.fits == 3 + 1 + 4 * 3 + 1  # the folds and the best, and GridSearchCV's


class Scaler(StandardScaler):
    fits = 0

    def fit(self, X, y=None):
        Scaler.fits += 1
        return super().fit(X, y)


def test_weights_and_kernels_that_read_the_fold_in_a_pipeline():
    w = RNG.integers(0, 4, 90).astype(float)
    A = X * [1, 9, 0.1, 1]
    grid = {"svc__C": [0.1, 1.0], "svc__gamma": ["scale", 0.5]}
    ours, _ = both(PIPELINE, grid, A, LABELS, fit={"svc__sample_weight": w}, atol=1e-7)
    assert [s.by_fold for s in ours.sharing_] == [True, True]


@pytest.mark.parametrize(
    ("pipeline", "grid", "reason"),
    [
        (PIPELINE, {"svc__C": [1.0], "standardscaler__with_mean": [True, False]},
         "standardscaler__with_mean is not a parameter of the last step"),
        (PIPELINE, {"standardscaler": ["passthrough", MinMaxScaler()]}, "X changes with it"),
        (make_pipeline(StandardScaler(), TheirSVC()), {"svc__C": [0.1, 1.0]},
         "SVC is not a kernel learner"),
        (make_pipeline(FunctionTransformer(np.ndarray.tolist), SVC()), {"svc__C": [0.1, 1.0]},
         "the steps before the last: they do not give arrays"),
    ],
)  # fmt: skip
def test_pipelines_that_share_nothing_say_why(pipeline, grid, reason):
    ours, _ = both(pipeline, grid, y=LABELS)
    assert levels(ours) == ["nothing"]
    assert reason in ours.sharing_[0].reason


class Fussy(StandardScaler):
    """Refuses the rows of some folds."""

    def fit(self, X, y=None):
        if not (X[:, 0] == X_FIRST).any():
            raise ValueError("the first row is missing")
        return super().fit(X, y)


X_FIRST = X[0, 0]


@pytest.mark.parametrize("fold", [0, 2])
def test_steps_that_fail_in_a_fold_fail_as_in_a_plain_search(fold):
    rows = np.arange(90)
    order = np.roll(np.arange(3), fold)  # the fold without the first row comes in this place
    cv = [(rows[rows % 3 != f], rows[rows % 3 == f]) for f in order]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, _ = both(
            make_pipeline(Fussy(), SVC(tol=1e-8)), {"svc__C": [0.1, 1.0]}, y=LABELS, cv=cv,
            error_score=-3.0,
        )  # fmt: skip
    assert (ours.cv_results_[f"split{fold}_test_score"] == -3).all()


def test_hopeless_candidates_of_a_pipeline_are_given_up():
    grid = {"svc__gamma": [0.1, 1e4]}
    search = KernelSearchCV(PIPELINE, grid, early_stopping=True, cv=4).fit(X, LABELS)
    assert_array_equal(search.cv_results_["given_up"], [False, True])
    wanted = GridSearchCV(PIPELINE, grid, cv=4).fit(X, LABELS)
    assert search.best_params_ == wanted.best_params_
    assert_allclose(search.best_score_, wanted.best_score_)


@pytest.mark.parametrize(
    "cv",
    [3, KFold(4, shuffle=True, random_state=0), ShuffleSplit(3, random_state=0), GroupKFold(3)],
)
def test_splitters(cv):
    fit = {"groups": np.arange(90) % 6} if isinstance(cv, GroupKFold) else {}
    both(KernelRidge(kernel="rbf"), RIDGE, cv=cv, fit=fit)


def test_samples_of_every_kind():
    both(KernelRidge(kernel="rbf"), RIDGE, sp.csr_array(np.where(X > 0, X, 0)))
    both(KernelRidge(kernel="rbf"), RIDGE, X.astype(np.float32), atol=1e-4)
    both(KernelRidge(kernel="rbf"), RIDGE, X.tolist(), Y.tolist())
    both(KernelRidge(kernel="precomputed"), {"alpha": [0.1, 1.0]}, Laplacian(0.3)(X))
    both(KernelRidge(kernel=lambda a, b: (1 + a @ b) ** 2), {"alpha": [0.1, 1.0]})
    colours = np.array(["red", "green", "blue"])[RNG.integers(3, size=(90, 2))]
    both(KernelRidge(kernel=Match()), {"alpha": [0.1, 1.0]}, colours)
    both(SVC(kernel="precomputed"), {"C": [0.1, 1.0]}, Laplacian(0.3)(X), LABELS)


def test_kernels_of_several_families_in_one_grid():
    grid = [
        {"kernel": [RBF(0.1), Laplacian(0.1)], "alpha": [0.1, 1.0]},
        {"kernel": ["linear"], "alpha": [0.1], "solver": ["cholesky", "conjugate_gradient"]},
    ]
    ours, theirs = both(KernelRidge(), grid, atol=1e-5)
    assert ours.best_index_ == theirs.best_index_
    assert sorted(i for s in ours.sharing_ for i in s.candidates) == list(range(6))


def test_a_candidate_that_fails_gets_the_error_score():
    grid = {"alpha": [1.0, -1.0], "gamma": [0.1, 0.2]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = both(KernelRidge(kernel="rbf"), grid, error_score=-7.0)
    assert ours.best_params_ == theirs.best_params_
    with (
        pytest.warns(UserWarning, match="test scores are non-finite"),
        pytest.warns(FitFailedWarning, match="10 fits failed out of a total of 20"),
    ):
        KernelSearchCV(KernelRidge(kernel="rbf"), grid).fit(X, Y)
    with pytest.raises(ValueError, match=r"alpha=-1\.0"):
        KernelSearchCV(KernelRidge(kernel="rbf"), grid, error_score="raise").fit(X, Y)
    with pytest.raises(ValueError, match="All the 5 fits failed"):
        KernelSearchCV(KernelRidge(), {"alpha": [-1.0]}).fit(X, Y)


def test_bad_grids_and_samples():
    with pytest.raises(ValueError, match="param_grid is empty"):
        KernelSearchCV(KernelRidge(), []).fit(X, Y)
    with pytest.raises(ValueError, match="Invalid parameter 'lambda'"):
        KernelSearchCV(KernelRidge(), {"lambda": [1]}).fit(X, Y)
    bad = np.where(X > 2, np.nan, X)
    with pytest.raises(ValueError, match="NaN"):
        KernelSearchCV(KernelRidge(), {"alpha": [1.0]}, error_score="raise").fit(bad, Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        KernelSearchCV(KernelRidge(), {"alpha": [1.0]}).fit(X, Y[:-1])
    with pytest.raises(ValueError, match="memory='lots'"):
        KernelSearchCV(KernelRidge(), {"alpha": [1.0]}, memory="lots").fit(X, Y)


def test_weights_with_a_scale_that_reads_them():
    w = RNG.integers(1, 4, 90).astype(float) ** 3
    A = X * [1, 5, 0.2, 1]
    ours, _ = both(SVR(tol=1e-8), {"C": [0.5, 1.0]}, A, fit={"sample_weight": w}, atol=1e-6)
    assert levels(ours) == ["distances"]
    assert "learns from the training rows of each fold" in ours.sharing_[0].reason


@pytest.mark.parametrize(
    "split",
    [
        (np.arange(60, dtype=np.int32), np.arange(60, 90, dtype=np.int32)),
        (np.arange(90) < 60, np.arange(90) >= 60),
        (np.arange(-90, -30), np.arange(-30, 0)),
        ([*range(60)], [*range(60, 90)]),
    ],
)
def test_splits_as_users_give_them(split):
    ours, _ = both(KernelRidge(kernel="rbf"), RIDGE, cv=[split, split])
    assert levels(ours)[0] == "gram of distances"
    splits = iter([split])
    scores = KernelSearchCV(KernelRidge(), {"alpha": [1.0]}, cv=splits).fit(X, Y).cv_results_
    assert np.isfinite(scores["mean_test_score"]).all()


class Learning(Kernel):
    """Learns from the sample what is no parameter."""

    kind, symmetric, positive_definite = "vectors", True, True

    def __init__(self, p=1):
        self.p = p

    def bind(self, X, y=None, sample_weight=None):
        bound = Learning(self.p)
        bound.mean = 3 * X.mean(axis=0)
        return bound

    def block(self, X, Z):
        return np.exp((X - self.mean) @ (Z - self.mean).T / 20)


def test_kernels_that_learn_in_private_are_bound_in_each_fold():
    ours, _ = both(KernelRidge(kernel=Learning()), {"alpha": [0.1, 1.0]})
    assert levels(ours) == ["fold"]


def test_threads_of_a_context_do_not_race():
    with joblib.parallel_config(backend="threading", n_jobs=4):
        ours = KernelSearchCV(SVC(), {"gamma": [0.1, 0.5, 1.0, 2.0], "C": [0.1, 1, 10]})
        ours.fit(X, LABELS)
    wanted = GridSearchCV(SVC(), ours.param_grid).fit(X, LABELS)
    assert_allclose(
        ours.cv_results_["mean_test_score"], wanted.cv_results_["mean_test_score"], atol=0.02
    )


class Failing(Polynomial):
    def block(self, X, Z):
        raise RuntimeError("no such pair")


def test_an_error_of_a_kernel_is_each_fits_own():
    with (
        pytest.warns(UserWarning, match="non-finite"),
        pytest.warns(FitFailedWarning, match="10 fits failed with the following error") as said,
    ):
        KernelSearchCV(KernelRidge(), {"kernel": [Failing(), RBF(1.0)], "alpha": [1.0, 2.0]}).fit(
            X, Y
        )
    assert "KeyError" not in str(said[0].message)


def test_several_metrics_need_a_refit_before_any_fit():
    with pytest.raises(ValueError, match="refit"):
        KernelSearchCV(
            KernelRidge(kernel=Failing()),
            {"alpha": [1.0]},
            scoring=["r2", "neg_mean_absolute_error"],
        ).fit(X, Y)


def test_penalties_that_are_no_numbers_fail_alone():
    grid = {"alpha": [1.0, "x"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, _ = both(KernelRidge(), grid, cv=KFold(3))
        once = KernelSearchCV(KernelRidge(), grid, cv=KFold(3).split(X)).fit(X, Y)
    assert_array_equal(np.isnan(once.cv_results_["mean_test_score"]), [False, True])
    assert ours.best_params_ == {"alpha": 1.0}


@pytest.mark.full
def test_a_search_holds_a_few_matrices_however_many_the_fits():
    n = 200  # with fewer, the records of scikit-learn for each fit weigh as much as matrices
    A, b = RNG.normal(size=(n, 3)), RNG.normal(size=n)
    for estimator, grid, cv in (
        (KernelRidge(kernel="rbf", gamma=0.1), {"alpha": [0.1, 1.0]}, LeaveOneOut()),
        (SVR(gamma=0.1), {"epsilon": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}, RepeatedKFold(n_repeats=6)),
    ):
        search = KernelSearchCV(
            estimator, grid, cv=cv, refit=False, n_jobs=1, scoring="neg_mean_squared_error"
        )
        search.fit(A[:20], b[:20])  # whatever is loaded once
        tracemalloc.start()
        search.fit(A, b)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 16 * n * n * 8


def test_the_budget_reaches_the_fits():
    matrix = 90 * 90 * 8
    seen = []

    class Telling(KernelRidge):
        def make_gram(self, X, fit_path=None, **matrices):
            seen.append(self.memory)
            return super().make_gram(X, fit_path, **matrices)

    grid = {"alpha": [0.1]}
    KernelSearchCV(Telling(kernel="rbf"), grid, memory=2 * matrix, n_jobs=1, refit=False).fit(X, Y)
    assert set(seen) == {2 * matrix}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_signal_ends_long_fits(jobs):
    code = f"""
import os, signal, threading
import numpy as np
from mercer import SVC, KernelSearchCV
rng = np.random.default_rng(0)
X, y = rng.normal(size=(1500, 3)), rng.integers(0, 2, 1500)
search = KernelSearchCV(SVC(gamma=0.2), {{"C": [1e5, 1e6]}}, n_jobs={jobs}, cv=3, refit=False)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background ignores it
threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
try:
    search.fit(X, y)
except KeyboardInterrupt:
    print("interrupted", hasattr(search, "cv_results_"))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=30
    )
    assert done.stdout == "interrupted False\n"


class Interrupting(RBF):
    def block(self, X, Z):
        raise KeyboardInterrupt


def test_an_interrupt_ends_the_search_and_leaves_nothing():
    search = KernelSearchCV(KernelRidge(kernel=Interrupting(1.0)), {"alpha": [1.0, 2.0]})
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert not hasattr(search, "cv_results_")


def test_models_leave_no_shared_matrix_behind():
    search = KernelSearchCV(KernelRidge(kernel="rbf"), RIDGE).fit(X, Y)
    wanted = clone(search.best_estimator_).fit(X, Y)
    assert vars(search.best_estimator_).keys() == vars(wanted).keys()
    assert repr(search.best_estimator_.kernel_) == repr(wanted.kernel_)


def test_verbose_and_times(capsys):
    search = KernelSearchCV(KernelRidge(kernel="rbf"), RIDGE, verbose=1).fit(X, Y)
    assert "Fitting 5 folds for each of 6 candidates" in capsys.readouterr().out
    assert (search.cv_results_["mean_fit_time"] > 0).all()
    assert (search.cv_results_["mean_score_time"] > 0).all()


def test_clones_and_scikit_learns_checks():
    search = KernelSearchCV(KernelRidge(), {"alpha": [1.0, 2.0]}, memory="1GB", cv=2)
    assert clone(search).get_params()["memory"] == "1GB"
    A, b = load_iris(return_X_y=True)
    assert search.fit(A, b).n_features_in_ == 4
    results = check_estimator(search, on_skip=None, on_fail=None)
    theirs = check_estimator(
        GridSearchCV(TheirRidge(), {"alpha": [1.0, 2.0]}, cv=2), on_skip=None, on_fail=None
    )
    failed = {r["check_name"] for r in results if r["status"] == "failed"}
    assert failed <= {r["check_name"] for r in theirs if r["status"] == "failed"}
    assert len(results) >= len(theirs)


class Picky(KernelRidge):
    """Counts calls of set_params without parameters, which scikit-learn's search does not make."""

    empty = 0

    def set_params(self, **params):
        Picky.empty += not params
        return super().set_params(**params)


def test_a_candidate_without_parameters_is_the_estimator_as_it_is():
    Picky.empty = 0
    KernelSearchCV(Picky(kernel="rbf"), [{}, {"alpha": [2.0]}], cv=2).fit(X, X[:, 0])
    assert Picky.empty == 0


@pytest.mark.parametrize("scoring", [None, "f1_macro", {"a": "accuracy", "f": "f1_macro"}])
def test_a_fitted_search_does_not_keep_the_targets(scoring):
    """The scorer held the plan of the search: its targets and its splits were in every file."""
    X, y = load_iris(return_X_y=True)
    search = KernelSearchCV(SVC(), {"C": [1, 10]}, scoring=scoring, refit=False, cv=3)
    search.fit(X, y)
    large = len(pickle.dumps(search.fit(np.repeat(X, 20, 0), np.repeat(y, 20))))
    assert large < 1.5 * len(pickle.dumps(search.fit(X, y)))
    theirs = GridSearchCV(SVC(), {"C": [1, 10]}, scoring=scoring, refit=False, cv=3).fit(X, y)
    assert type(search.scorer_) is type(theirs.scorer_)
