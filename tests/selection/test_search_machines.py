"""What KernelSearchCV adds for support vector machines: paths of all of them, the ladder of
bandwidths, and candidates that are given up."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV

from mercer import SVC, SVR, KernelRidge, KernelSearchCV, NuSVC, NuSVR, OneClassSVM
from mercer.kernels import RBF

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


def test_a_ladder_of_bandwidths_takes_squares(monkeypatch):
    """One profile for all of γ, 2γ, 4γ, in any order of the grid; the scores are those of K."""
    calls = []
    real = RBF.profile
    monkeypatch.setattr(RBF, "profile", lambda self, D: calls.append(self.gamma) or real(self, D))
    grid = {"gamma": [0.4, 0.1, 0.2, 0.3], "alpha": [0.1]}
    search = KernelSearchCV(KernelRidge(kernel="rbf"), grid, cv=3, refit=False)
    search.fit(X, X[:, 0])
    assert set(calls) == {0.1, 0.3}
    plain = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=3, refit=False).fit(X, X[:, 0])
    assert_allclose(
        search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], rtol=1e-8
    )


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


def test_early_stopping_with_several_metrics_wants_to_know_which():
    search = KernelSearchCV(
        SVC(), {"C": [1.0]}, early_stopping=True, refit=False, scoring=["accuracy", "f1_macro"]
    )
    with pytest.raises(ValueError, match=r"early_stopping=True with several metrics.*refit="):
        search.fit(X, CLASSES)
