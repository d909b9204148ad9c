"""Learners that read a stream again for each Newton step: the answer of a fit in memory, for any
chunks, and after a fit was cut between or within two readings."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import Checkpoint, Chunks, KernelLogisticRegression, LinearSVC, LinearSVR
from mercer.kernels import Spectrum
from mercer.solvers.linear import LinearDual, LinearPasses, LinearRows, LinearSolver, PassedMachine
from mercer.solvers.ridge import LogisticPasses, LogisticProgress

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (300, 4)) * [1.0, 30.0, 0.1, 1.0]
f = np.sin(3 * X[:, 0]) + X[:, 1] / 30 * X[:, 3]
y = f + rng.normal(scale=0.3, size=300)
LABELS = np.where(y > 0, "high", "low")
THREE = np.array(["a", "b", "c"])[np.digitize(y, [-0.3, 0.4])]
LOW = {"kernel": "rbf", "gamma": 1.0, "rank": 25, "random_state": 0}
SQUARED = "squared_epsilon_insensitive"
CASES = {
    "LinearSVC": (LinearSVC(), LABELS),
    "LinearSVC, three": (LinearSVC(C=5.0, class_weight="balanced"), THREE),
    "LinearSVR": (LinearSVR(loss=SQUARED, epsilon=0.1, fit_intercept=False), y),
    "KernelLogisticRegression": (KernelLogisticRegression(3.0, **LOW), LABELS),
    "KernelLogisticRegression, three": (
        KernelLogisticRegression(**LOW, class_weight={"a": 2.0}), THREE,
    ),
}  # fmt: skip
WAYS = [[300], [100] * 3, [1, 0, 148, 151], [249, 1, 1, 49]]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("mercer.streams.IncrementalFit.block", 90)


def outputs(model, rows=X):
    named = ("predict_proba", "decision_function", "predict")
    return next(getattr(model, name) for name in named if hasattr(model, name))(rows)


def cut(sizes, targets, rows=X):
    ends = np.cumsum([0, *sizes])
    return [(rows[a:b], targets[a:b]) for a, b in pairwise(ends)]


@pytest.mark.parametrize("name", CASES)
def test_any_chunks_have_the_same_answer(name):
    model, targets = CASES[name]
    answers = [outputs(clone(model).fit_chunks(Chunks(cut(sizes, targets)))) for sizes in WAYS]
    for other in answers[1:]:
        assert_array_equal(other, answers[0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_that_of_a_fit(name, dtype):
    model, targets = CASES[name]
    rows = X.astype(dtype)
    model = clone(model)
    if isinstance(model, KernelLogisticRegression):
        model.set_params(solver="low_rank")
    else:
        model.set_params(tol=1e-8)
    whole = clone(model).fit(rows, targets)
    streamed = clone(model).fit_chunks(Chunks(rows, targets, rows=70))
    atol = 1e-5 if dtype == np.float64 else 2e-3
    assert_allclose(outputs(streamed, rows), outputs(whole, rows), atol=atol)
    assert streamed.X_fit_.dtype == dtype if name.startswith("Kernel") else True
    assert_allclose(streamed.objective_, whole.objective_, rtol=1e-4)


def test_sparse_rows():
    S = sp.csr_array(np.where(rng.random(X.shape) < 0.5, X, 0.0))
    streamed = LinearSVC(tol=1e-8).fit_chunks(Chunks(S, LABELS, rows=70))
    whole = LinearSVC(tol=1e-8).fit(S, LABELS)
    assert_allclose(streamed.coef_, whole.coef_, atol=1e-7)


def test_samples_of_any_kind():
    words = ["".join(rng.choice(list("abc"), 8)) for _ in range(200)]
    target = np.array([word.count("a") > 2 for word in words])
    chunks = Chunks([(words[s : s + 50], target[s : s + 50]) for s in range(0, 200, 50)])
    model = KernelLogisticRegression(100.0, kernel=Spectrum(1), rank=20, random_state=0)
    assert model.fit_chunks(chunks).score(words, target) == 1.0


@pytest.mark.parametrize("name", CASES)
def test_a_weight_is_a_repetition(name):
    model, targets = CASES[name]
    model = clone(model)
    if name.startswith("Kernel"):  # all rows are drawn, and copies change no centres
        model.set_params(kernel="linear", gamma=None)
    w = rng.integers(0, 3, 100)
    again = np.repeat(np.arange(100), w)
    weighted = clone(model).fit_chunks(Chunks(X[:100], targets[:100], weights=w, rows=70))
    repeated = clone(model).fit_chunks(Chunks(X[again], targets[again], rows=70))
    assert_allclose(outputs(weighted), outputs(repeated), rtol=1e-4, atol=1e-5)


class Cut(Exception):
    """What ends a reading early."""


@pytest.mark.parametrize("reading", [1, 3])
@pytest.mark.parametrize("name", CASES)
def test_a_fit_goes_on_after_it_was_cut(name, reading, tmp_path):
    model, targets = CASES[name]
    path, parts = tmp_path / "fit.mercer", cut([50] * 6, targets)
    whole = clone(model).fit_chunks(Chunks(parts))
    readings = iter(range(99))

    def failing():
        last = next(readings) == reading
        for number, chunk in enumerate(parts):
            if last and number == 4:
                raise Cut
            yield chunk

    with pytest.raises(Cut):
        clone(model).fit_chunks(Chunks(failing), Checkpoint(path, 0))
    assert path.exists()
    again = clone(model).fit_chunks(Chunks(parts), Checkpoint(path, 0))
    assert not path.exists()
    assert_array_equal(outputs(again), outputs(whole))
    assert again.n_iter_ == whole.n_iter_


def test_another_stream_is_no_continuation(tmp_path):
    for model, targets in (CASES["LinearSVC"], CASES["KernelLogisticRegression"]):
        path, readings = tmp_path / "fit.mercer", iter(range(99))

        def failing(targets=targets, readings=readings):
            if next(readings) == 3:
                raise Cut
            yield X, targets

        with pytest.raises(Cut):
            clone(model).fit_chunks(Chunks(failing), Checkpoint(path, 0))
        with pytest.raises(ValueError, match="200 rows, and that of the checkpoint had 300"):
            clone(model).fit_chunks(Chunks(X[:200], targets[:200]), path)
        path.unlink()


def test_readers_say_what_they_need():
    def once():
        return Chunks(iter([(X, LABELS)]))

    for model in (LinearSVC(), KernelLogisticRegression(**LOW)):
        with pytest.raises(ValueError, match=r"fit_chunks .*Chunks\(make\)"):
            model.fit_chunks(once())
    stream = Chunks(X, LABELS, rows=100)
    for changes, message in (
        ({"loss": "hinge"}, "loss='hinge' needs a dual variable for each row"),
        ({"penalty": "l1"}, "penalty='l1': give one of 'l2'"),
        ({"multi_class": "crammer_singer"}, "multi_class='crammer_singer'"),
        ({"dual": True}, "dual=True needs a variable for each row"),
        ({"class_weight": {"high": 0.0}}, "all weights must be > 0 in a fit in chunks"),
    ):
        with pytest.raises(ValueError, match=message):
            LinearSVC(**changes).fit_chunks(stream)
    with pytest.raises(ValueError, match="loss='epsilon_insensitive' needs a dual variable"):
        LinearSVR().fit_chunks(Chunks(X, y))
    with pytest.raises(ValueError, match="X has 1,600 columns"):
        LinearSVC().fit_chunks(Chunks(np.zeros((20, 1600)), LABELS[:20]))
    with pytest.raises(ValueError, match="solver='exact': a fit in chunks is of low rank"):
        KernelLogisticRegression(solver="exact").fit_chunks(stream)
    with pytest.raises(MemoryError, match="the Newton matrices of 3 outputs"):
        KernelLogisticRegression(**LOW, memory=120_000).fit_chunks(Chunks(X[:50], THREE[:50]))
    for model in (LinearSVC(), KernelLogisticRegression(**LOW)):
        with pytest.raises(ValueError, match="one class, 'high'"):
            clone(model).fit_chunks(Chunks(X, ["high"] * 300))
        with pytest.raises(ValueError, match="requires y"):
            clone(model).fit_chunks(Chunks(X))
    spoiled = X.copy()
    spoiled[217, 2] = np.nan
    for model, targets in CASES.values():
        with pytest.raises(ValueError, match=r"chunk 2 .*nan in row 17 \(row 217 .*column 2"):
            clone(model).fit_chunks(Chunks(spoiled, targets, rows=100))


def test_a_limit_of_readings_is_told():
    for name in ("LinearSVC", "KernelLogisticRegression"):
        model, targets = CASES[name]
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            clone(model).set_params(max_iter=2).fit_chunks(Chunks(X, targets))


def test_files_keep_streamed_models(tmp_path):
    for model, targets in CASES.values():
        streamed = clone(model).fit_chunks(Chunks(X, targets, rows=100))
        mercer.save(streamed, tmp_path / "model.mercer")
        assert_array_equal(outputs(mercer.load(tmp_path / "model.mercer")), outputs(streamed))


# --- solvers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.01, 1.0, 1e4])
@pytest.mark.parametrize("one_sided", [True, False])
def test_linear_passes_find_what_the_solver_in_memory_finds(one_sided, C):
    target = np.where(y > 0, 1.0, -1.0) if one_sided else y

    def dual(rows):
        bounds = np.full(len(target[rows]), C)
        return LinearDual(
            target[rows], bounds, squared=True, one_sided=one_sided, epsilon=0.1 * (not one_sided)
        )

    solver, machines, results = LinearPasses(1e-9), [PassedMachine(5)], None
    while results is None:
        (total,) = solver.empty(machines)
        for rows in (slice(0, 7), slice(7, 300)):
            total.add(LinearRows(X[rows], 1.0), dual(rows))
        results = solver.finish(machines, [total])
    (found,) = results
    whole = LinearSolver(tol=1e-9).solve(LinearRows(X, 1.0), dual(slice(None)))
    assert found.converged
    assert found.iterations < 30
    assert_allclose(found.objective, whole.objective, rtol=1e-8)
    assert 0 <= found.gap <= 1e-9 * found.objective


def test_logistic_passes_without_intercept_and_from_far():
    F = np.column_stack([X, 1e3 * X[:, :1]])
    Y = (THREE[:, None] == np.array(["a", "b", "c"])).astype(float)
    solver, at, result = LogisticPasses(1e-3, fit_intercept=False), LogisticProgress(5, 3), None
    while result is None:
        total = solver.empty(at)
        total.add(F, Y, None)
        result = solver.finish(at, total)
    assert result.converged
    assert_array_equal(result.intercept, np.zeros(3))
    p = np.exp(F @ result.coef)
    p /= p.sum(axis=1, keepdims=True)
    gradient = F.T @ (p - Y) + 1e-3 * result.coef
    assert np.abs(gradient / np.abs(F).sum(axis=0)[:, None]).max() < 1e-5
