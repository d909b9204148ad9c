"""What KernelSearchCV adds for support vector machines: paths of all of them, matrices in single
precision, and candidates that are given up."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV

from mercer import SVC, SVR, KernelRidge, KernelSearchCV, NuSVC, NuSVR, OneClassSVM
from mercer.selection.grid.sharing import SharedMatrices

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.1 * RNG.normal(size=90)
CLASSES = np.array(["low", "middle", "high"])[np.digitize(Y, np.quantile(Y, [0.33, 0.66]))]
INLIERS = make_scorer(lambda truth, guess: float(np.mean(guess == 1)))


@pytest.mark.parametrize(
    ("estimator", "grid", "y", "scoring"),
    [
        (NuSVC(tol=1e-6), {"gamma": [0.1, 0.5], "nu": [0.2, 0.4]}, CLASSES, None),
        (OneClassSVM(tol=1e-6), {"gamma": [0.1, 0.5], "nu": [0.1, 0.3]}, CLASSES, INLIERS),
        (SVR(tol=1e-6), {"gamma": [0.1, 0.5], "C": [0.5, 5.0]}, Y, None),
        (NuSVR(tol=1e-6), {"gamma": [0.1, 0.5], "C": [0.5, 5.0]}, Y, None),
        (SVC(tol=1e-6, multi_class="ovr"), {"gamma": [0.1], "C": [0.5, 5.0]}, CLASSES, None),
    ],
    ids=["NuSVC", "OneClassSVM", "SVR", "NuSVR", "SVC one against the rest"],
)
def test_all_of_them_share_along_their_parameter(estimator, grid, y, scoring):
    search = KernelSearchCV(estimator, grid, cv=3, scoring=scoring).fit(X, y)
    plain = GridSearchCV(estimator, grid, cv=3, scoring=scoring).fit(X, y)
    for f in range(3):
        name = f"split{f}_test_score"
        assert_allclose(search.cv_results_[name], plain.cv_results_[name], atol=1e-4)
    assert all(group.path == estimator.path_parameter for group in search.sharing_)


def test_matrices_are_kept_in_single_precision_where_the_tolerance_has_room(monkeypatch):
    """Of many rows and small C; ridge regression, whose tolerance is that of doubles, keeps K."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2100, 3))
    y = X[:, 0] > 0
    kept = []
    real = SharedMatrices.gram

    def seen(shared, kernel):
        known, rows = real(shared, kernel)
        kept.append(rows.dtype)
        return known, rows

    monkeypatch.setattr(SharedMatrices, "gram", seen)
    for estimator, grid, dtype in (
        (SVC(), {"C": [0.1, 1.0]}, np.float32),
        (SVC(), {"C": [0.1, 1e4]}, np.float64),
        (SVC(class_weight={True: 1e4}), {"C": [0.1, 1.0]}, np.float64),
        (KernelRidge(kernel="rbf"), {"alpha": [0.1, 1.0]}, np.float64),
    ):
        kept.clear()
        grid = {**grid, "gamma": [0.5]}
        search = KernelSearchCV(estimator, grid, cv=2, refit=False)
        search.fit(X[:, :2], y if isinstance(estimator, SVC) else X[:, 2])
        assert set(kept) == {np.dtype(dtype)}


def test_hopeless_candidates_are_given_up():
    grid = {"gamma": [1e-6, 0.1, 0.3], "C": [1.0, 10.0]}
    whole = KernelSearchCV(SVC(), grid, cv=5).fit(X, CLASSES)
    search = KernelSearchCV(SVC(), grid, cv=5, early_stopping=True, return_train_score=True)
    search.fit(X, CLASSES)
    results = search.cv_results_
    given_up = results["given_up"]
    assert 0 < given_up.sum() < len(given_up)
    assert not given_up[search.best_index_]
    assert search.best_params_ == whole.best_params_
    for name in ("mean_test_score", "std_test_score", "split4_test_score"):
        assert_allclose(results[name][~given_up], whole.cv_results_[name][~given_up], atol=1e-12)
    assert np.isnan(results["split4_test_score"][given_up]).all()
    both = (results["split0_test_score"] + results["split1_test_score"]) / 2
    assert_allclose(results["mean_test_score"][given_up], both[given_up])
    assert results["rank_test_score"][given_up].min() > results["rank_test_score"][~given_up].max()
    assert sorted(results["rank_test_score"])[0] == 1
    assert results["mean_train_score"].shape == (6,)


def test_who_is_given_up_ranks_behind_all_others_even_with_a_better_mean():
    """The folds that it was judged on may have been the easy ones: the others are upside down."""
    folds, rows = np.repeat(np.arange(5), 18), np.arange(90)
    y = (X[:, 0] > -0.3) == (folds < 2)
    parts = [(np.setdiff1d(rows[folds < 2], rows[folds == f]), rows[folds == f]) for f in range(5)]
    grid = {"C": [1e-3, 10.0], "gamma": [0.05]}
    search = KernelSearchCV(SVC(), grid, cv=parts, early_stopping=True).fit(X[:, :1], y)
    results = search.cv_results_
    given_up = results["given_up"]
    assert given_up.tolist() == [True, False]
    assert results["mean_test_score"][0] > results["mean_test_score"][1]
    assert results["rank_test_score"].tolist() == [2, 1]


def test_early_stopping_with_several_metrics_wants_to_know_which():
    search = KernelSearchCV(
        SVC(), {"C": [1.0]}, early_stopping=True, refit=False, scoring=["accuracy", "f1_macro"]
    )
    with pytest.raises(ValueError, match=r"early_stopping=True with several metrics.*refit="):
        search.fit(X, CLASSES)
