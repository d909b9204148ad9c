"""Fits that are cut off, interrupted, watched, continued, or shared among threads."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from learners.margin.machines import MACHINES, overlapping, target, values
from mercer import SVC, SVR, NuSVC, OneClassSVM, _native
from mercer.kernels import RBF
from mercer.learners.margin import support_vectors

X, Y = overlapping(2400)


def parameters(Machine):
    return {"gamma": 0.5, "tol": 1e-4} | ({"nu": 0.6} if Machine is NuSVC else {})


@pytest.mark.parametrize("Machine", MACHINES)
def test_a_fit_that_was_cut_off_can_be_continued(Machine):
    t = target(Machine, Y)
    cold = Machine(**parameters(Machine)).fit(X, t)
    model = Machine(**parameters(Machine), warm_start=True, max_iter=5)
    with pytest.warns(
        ConvergenceWarning,
        match=r"raise max_iter.*duality gap: .* after 5 iterations. A fit with warm_start=True can",
    ):
        model.fit(X, t)
    assert (model.converged_, model.fit_status_) == (False, 1)
    model.set_params(max_iter=-1).fit(X, t)
    assert (model.converged_, model.fit_status_) == (True, 0)
    assert np.sum(model.n_iter_) < np.sum(cold.n_iter_)
    assert_allclose(model.objective_, cold.objective_, rtol=1e-6)
    assert_allclose(values(model, X), values(cold, X), atol=1e-2)
    again = model.fit(X, t)
    assert np.sum(again.n_iter_) < np.sum(cold.n_iter_)


@pytest.mark.parametrize("Machine", MACHINES)
def test_another_parameter_starts_from_the_last_solution(Machine):
    t, name = target(Machine, Y), Machine.path_parameter
    first, second = (1.0, 1.3) if name == "C" else (0.6, 0.61)
    model = Machine(**parameters(Machine) | {name: first}, warm_start=True).fit(X, t)
    warm = model.set_params(**{name: second}).fit(X, t)
    cold = Machine(**parameters(Machine) | {name: second}).fit(X, t)
    assert np.sum(warm.n_iter_) <= np.sum(cold.n_iter_)
    assert_allclose(warm.objective_, cold.objective_, rtol=1e-6)


@pytest.mark.parametrize("Machine", MACHINES)
def test_other_rows_are_an_error(Machine):
    t = target(Machine, Y)
    model = Machine(**parameters(Machine), warm_start=True).fit(
        X[:200], None if t is None else t[:200]
    )
    with pytest.raises(ValueError, match=r"warm_start=True continues a fit to the same samples"):
        model.fit(X[:100], None if t is None else t[:100])
    model.set_params(warm_start=False).fit(X[:100], None if t is None else t[:100])
    assert model.shape_fit_ == (100, 3)


def test_several_machines_are_continued_each():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 300)
    A = rng.normal(size=(300, 2)) + labels[:, None]
    for multi_class, machines in (("ovo", 6), ("ovr", 4)):
        model = SVC(warm_start=True, multi_class=multi_class, tol=1e-6).fit(A, labels)
        cold = values(model, A)
        assert len(model.duals_) == machines
        model.fit(A, labels)
        assert (model.n_iter_ <= 2).all()
        assert_allclose(values(model, A), cold, atol=1e-4)
        with pytest.raises(ValueError, match="warm_start=True continues"):
            model.fit(A, np.arange(300) % 5)
    assert not hasattr(SVC().fit(A, labels), "duals_")


@pytest.mark.parametrize("Machine", MACHINES)
def test_ctrl_c_keeps_the_best_so_far(Machine, monkeypatch):
    calls = []
    real = _native.smo_solve

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(*arguments)

    t = target(Machine, Y)
    model = Machine(**parameters(Machine), warm_start=True)
    with monkeypatch.context() as patch:
        patch.setattr("mercer.solvers.rows.row_sources._native.smo_solve", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, t)
    assert not model.converged_
    assert np.isfinite(values(model, X)).all()
    assert model.dual_gap_ > 0
    cold = Machine(**parameters(Machine)).fit(X, t)
    model.fit(X, t)
    assert model.converged_
    assert_allclose(model.objective_, cold.objective_, rtol=1e-6)


def test_verbose_says_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr(support_vectors, "SAID_EVERY", 0.0)
    SVC(gamma=0.5, verbose=True).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 2
    assert lines[1].startswith("round 2: violation ")
    assert "2,400 rows active" in lines[1]
    assert lines[1].endswith(" s")
    monkeypatch.setattr(support_vectors, "SAID_EVERY", 1e9)
    SVC(gamma=0.5, verbose=True).fit(X, Y)
    SVC(gamma=0.5, verbose=False).fit(X, Y)
    assert not capsys.readouterr().out


THREADED = {
    "two classes": (SVC(C=10), Y),
    "two classes, double precision": (SVC(C=10, tol=1e-6), Y),
    "pairs": (SVC(C=10), np.arange(2400) % 4),
    "ovr": (SVC(multi_class="ovr"), np.arange(2400) % 3),
    "linear": (SVC(kernel="linear"), Y),
    "linear pairs": (SVC(kernel="linear"), (np.arange(2400) % 2) + Y),
    "low rank": (SVC(solver="low_rank", rank=80, random_state=0), Y),
    "regression": (SVR(), Y + 0.5),
    "one class": (OneClassSVM(nu=0.2), None),
    "probabilities": (SVC(probability=True, random_state=0), Y),
}


@pytest.mark.spread(4)
@pytest.mark.parametrize("name", THREADED)
def test_the_number_of_threads_changes_no_bit(name):
    model, t = THREADED[name]
    one, three = (model.set_params(n_jobs=n).fit(X, t).__dict__.copy() for n in (1, 3))
    for key in ("support_", "dual_coef_", "intercept_", "objective_", "dual_gap_", "n_iter_"):
        assert_array_equal(one[key], three[key])
    if "calibration_" in one:
        scores = np.random.default_rng(0).normal(size=(50, 2))
        assert_array_equal(one["calibration_"](scores), three["calibration_"](scores))


def test_a_small_memory_budget_changes_nothing_but_the_time():
    wanted = SVC(gamma=0.5, tol=1e-5).fit(X, Y)
    for memory in ("1MB", "100kB", 1):
        model = SVC(kernel=RBF(0.5), tol=1e-5, memory=memory).fit(X, Y)
        assert_allclose(model.objective_, wanted.objective_, rtol=1e-7)
        assert_allclose(model.decision_function(X), wanted.decision_function(X), atol=1e-3)


def test_without_shrinking_it_is_the_same():
    """(It is left to tests/solvers/smo/test_smo_shrinking.py that rows are left out.)"""
    one, other = (SVC(gamma=0.5, shrinking=s, tol=1e-5).fit(X, Y) for s in (True, False))
    assert_allclose(one.objective_, other.objective_, rtol=1e-7)
