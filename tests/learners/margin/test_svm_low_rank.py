"""solver="low_rank": a factor in the place of K, predictions through its centres; model files."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import mercer
from learners.margin.machines import CANCER, MACHINES, overlapping, target, values
from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.kernels import RBF

X, Y = overlapping(300)


def parameters(Machine):
    return {"nu": 0.6} if Machine is NuSVC else {}


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
@pytest.mark.parametrize("Machine", MACHINES)
def test_of_full_rank_it_is_exact(Machine, kernel):
    A = X + 2.0 * Y[:, None]  # also planes find a margin here
    given = {"tol": 1e-8, "kernel": kernel, "coef0": 1.0} | parameters(Machine)
    exact = Machine(**given).fit(A, target(Machine, Y))
    model = Machine(**given, solver="low_rank", rank=300, random_state=0)
    model.fit(A, target(Machine, Y))
    scale = np.abs(values(exact, A)).max()
    assert_allclose(values(model, A), values(exact, A), atol=1e-4 * scale)
    assert_allclose(model.objective_, exact.objective_, rtol=1e-5, atol=1e-6)
    assert_allclose(model.margin_, exact.margin_, rtol=1e-4)


@pytest.mark.parametrize("Machine", MACHINES)
def test_predictions_touch_the_centres_alone(Machine):
    model = Machine(gamma=0.5, solver="low_rank", rank=25, random_state=0, **parameters(Machine))
    model.fit(X, target(Machine, Y))
    assert len(model.X_fit_) == 25
    new = np.random.default_rng(1).normal(size=(40, 3))
    f = RBF(0.5)(new, model.X_fit_) @ model._center_coef + model.intercept_
    assert_allclose(values(model, new), f[:, 0], atol=1e-6 * (1 + np.abs(f).max()))
    assert_array_equal(model.support_vectors_, X[model.support_])


@pytest.mark.parametrize("rank", [1, 3, 10, 40])
def test_small_ranks_give_up_precision_not_sense(rank):
    """The machine of K̂: never worse than always saying the larger class, better with the rank."""
    A, y = CANCER
    model = SVC(solver="low_rank", rank=rank, random_state=0).fit(A, y)
    assert model.converged_
    assert model.gram_.endswith(f"rank {rank}")
    assert model.score(A, y) >= {1: 0.62, 3: 0.85, 10: 0.93, 40: 0.96}[rank]


def test_more_centres_than_the_rank():
    model = SVC(kernel="poly", degree=1, coef0=1.0, solver="low_rank", rank=300, random_state=0)
    model.fit(X, Y)
    assert model.gram_ == "LowRankGram 300 x 300 float64, rank 4"
    exact = SVC(kernel="poly", degree=1, coef0=1.0).fit(X, Y)
    assert_allclose(values(model, X), values(exact, X), atol=2e-3)


@pytest.mark.parametrize("Machine", [SVC, SVR, OneClassSVM, NuSVR])
def test_memory_bounds_the_rank(Machine):
    for memory in (96_000, 24_000):
        with pytest.warns(UserWarning, match=r"too small for 300 centres"):
            model = Machine(solver="low_rank", memory=memory).fit(X, target(Machine, Y))
        rank = int(model.gram_.rpartition(" ")[2])
        size = 4 if "float32" in model.gram_ else 8
        # twice the factor, and some small matrices
        needed = [r * (2 * 300 * size + 80 * r) for r in (rank, rank + 1)]
        assert needed[0] <= memory < needed[1]
    with pytest.raises(MemoryError, match=r'factor of rank 1: give memory="1MB" or more\.$'):
        Machine(solver="low_rank", memory=100).fit(X, target(Machine, Y))
    with pytest.raises(MemoryError, match=r"or more, or a smaller rank="):
        Machine(solver="low_rank", memory="10kB", rank=200).fit(X, target(Machine, Y))


def test_the_seed_decides_on_the_centres():
    fits = [
        SVC(solver="low_rank", rank=20, random_state=seed).fit(X, Y).decision_function(X)
        for seed in (0, 0, 1)
    ]
    assert_array_equal(fits[0], fits[1])
    assert (fits[0] != fits[2]).any()


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes(multi_class):
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 3
    A = rng.normal(size=(300, 3)) + 2 * np.eye(3)[labels]
    given = {"gamma": 0.3, "tol": 1e-7, "multi_class": multi_class}
    exact = SVC(**given).fit(A, labels)
    model = SVC(**given, solver="low_rank", rank=300, random_state=0).fit(A, labels)
    assert_allclose(values(model, A), values(exact, A), atol=1e-4)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_linear_machines_of_several_classes_in_the_primal(multi_class):
    """Samples that are many: K = X Xᵀ is never formed, for each machine anew."""
    rng = np.random.default_rng(0)
    labels = np.arange(2400) % 3
    A = rng.normal(size=(2400, 3)) + 2 * np.eye(3)[labels]
    model = SVC(kernel="linear", multi_class=multi_class, tol=1e-6).fit(A, labels)
    assert model.solver_ == "batch SMO in the primal"
    pairs = [(0, 1), (0, 2), (1, 2)] if multi_class == "ovo" else [(c, None) for c in range(3)]
    for f, (first, second) in zip(values(model, A).T, pairs):
        rows = np.ones(2400, bool) if second is None else np.isin(labels, (first, second))
        alone = SVC(kernel="linear", tol=1e-6).fit(A[rows], labels[rows] == first)
        assert_allclose(f, alone.decision_function(A), atol=1e-3)


# Files

FILED = [
    SVC(probability=True),
    SVC(probability="isotonic", kernel="poly"),
    SVC(solver="low_rank", rank=20),
    SVC(solver="low_rank", rank=20, probability="temperature"),
    SVC(warm_start=True),
    SVC(multi_class="ovr"),
    SVC(kernel="linear"),
    SVC(kernel=RBF("median")),
    NuSVC(nu=0.2, probability=True, warm_start=True),
    SVR(warm_start=True),
    NuSVR(solver="low_rank", rank=20),
    OneClassSVM(warm_start=True),
    OneClassSVM(solver="low_rank", rank=20),
]


@pytest.mark.spread(14)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("model", FILED, ids=repr)
def test_a_model_file_and_a_pickle_hold_it(model, classes, tmp_path):
    model = clone(model)
    labels = np.arange(300) % classes
    A = X + 2 * np.eye(3)[labels]
    t = target(type(model), labels)
    model = model.set_params(random_state=0).fit(A, t)
    mercer.save(model, tmp_path / "model.mercer")
    for again in (mercer.load(tmp_path / "model.mercer"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(values(again, A), values(model, A))
        assert_array_equal(again.predict(A), model.predict(A))
        if hasattr(model, "predict_proba"):
            assert_array_equal(again.predict_proba(A), model.predict_proba(A))
        for name in ("dual_gap_", "objective_", "converged_", "solver_", "gram_"):
            assert getattr(again, name) == getattr(model, name)
        assert_array_equal(again.n_support_, model.n_support_)
        if model.warm_start:
            again.fit(A, t)
            assert np.all(np.asarray(again.n_iter_) <= np.asarray(model.n_iter_))
