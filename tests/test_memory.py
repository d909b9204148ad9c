"""Every learner keeps its memory budget, measured on every kind of sample.

A case fits and predicts in a process of its own (`budgets.measured`). Budgets are far below the
matrix of all pairs, so that a copy of it breaks the rule: at most the budget and a tenth, and 50 MB
for code, threads and allocators.
"""

import sys

import numpy as np
import pytest

import mercer
from budgets import BESIDE, LEARNERS, MB, SAMPLES, SLACK, command_peak, measured
from lanes import covering, few
from mercer.kernels import RBF, EditRBF

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux says what a process held at most"
)

ROWS, BUDGET = 4000, "10MB"  # all pairs take 128 MB in float64, 64 MB in float32
INDEFINITE = ("KernelRidge", "KernelRidgeClassifier", "KernelSearchCV")  # exact or not at all
NO_MARGIN = {("NuSVC", "linear"), ("NuSVC", "categories"), ("NuSVC", "sparse")}  # for nu=0.3
CASES = [
    (name, kind)
    for name, learner in LEARNERS.items()
    for kind in learner.kinds
    if (name, kind) not in NO_MARGIN and not (name in INDEFINITE and kind == "edits")
    and not (name.startswith(("KernelRidge, ", "KernelPCA, ")) and kind == "edits")
]  # fmt: skip
# Each is in a process of its own, for which there is no time: the quick lane takes as many as show
# every learner and every kind, the full lane a quarter more, and `make soak` draws among all.
LONG = [case for case in CASES if case[0] == "NadarayaWatson, lines"]
SHOWN = sorted(covering({case: case for case in CASES if case not in LONG}))
FOURTH = [case for case in CASES[::4] if case not in SHOWN + LONG] + LONG[:1]


@pytest.mark.parametrize(("name", "kind"), few(len(SHOWN), [*SHOWN, *FOURTH]))
def test_the_budget_is_kept(name, kind):
    taken = measured(name, kind, ROWS, BUDGET)
    assert not taken.refused, taken.refused
    assert taken.keeps(BUDGET), f"{taken.peak / MB:.0f} MB in {BUDGET}: {taken.how}"


@pytest.mark.full
@pytest.mark.parametrize("name", LEARNERS)
def test_the_smallest_budget_is_kept_or_refused_before_work(name):
    taken = measured(name, LEARNERS[name].kinds[0], 3000, "1MB")
    assert taken.keeps("1MB"), f"{taken.peak / MB:.0f} MB in 1MB: {taken.how}"
    assert not taken.refused or "give memory=" in taken.refused or "give at least" in taken.refused


@pytest.mark.full
@pytest.mark.parametrize("name", ["SVC of five", "KernelRidge", "KernelSearchCV", "BruteForce"])
def test_eight_threads_share_the_budget(name):
    taken = measured(name, "float64", ROWS, BUDGET, n_jobs=8)
    assert taken.keeps(BUDGET, 8), f"{taken.peak / MB:.0f} MB in {BUDGET}: {taken.how}"


@pytest.mark.parametrize(
    ("name", "matrices"), [("KernelRidge", 2), ("KernelLogisticRegression", 4)]
)
def test_a_budget_with_just_enough_room_for_all_pairs_is_kept(name, matrices):
    n = 3000 if matrices == 2 else 2000
    budget = matrices * 8 * n * n
    taken = measured(name, "float64", n, budget)
    assert taken.how.startswith(("cholesky", "exact"))
    assert taken.keeps(budget), f"{taken.peak / MB:.0f} MB in {budget / MB:.0f}: {taken.how}"


X = np.random.default_rng(0).normal(size=(300, 3))
Y = X[:, 0] + X[:, 1]
MATRIX = 8 * len(X) ** 2


@pytest.mark.parametrize(
    ("model", "least"),
    [
        (mercer.KernelRidge(kernel=RBF(), solver="cholesky"), 2 * MATRIX),
        (mercer.KernelRidge("auto", kernel=RBF(), solver="cholesky"), 4 * MATRIX),
        (mercer.KernelRidge(kernel=RBF(), solver="low_rank", rank=200), 80 * 200**2),
        (mercer.KernelRidge(kernel=RBF(), solver="conjugate_gradient", rank=200), 2_080_000),
        (mercer.KernelLogisticRegression(kernel=RBF(), solver="exact"), 4 * MATRIX),
        (mercer.SVC(kernel=RBF(), solver="low_rank", rank=200), 3_680_000),  # of float32 samples
    ],
)
def test_a_solver_that_does_not_fit_is_refused_with_what_it_needs(model, least):
    y = Y > 0 if isinstance(model, (mercer.SVC, mercer.KernelLogisticRegression)) else Y
    named = -(-least // 10**6)
    with pytest.raises(MemoryError, match=f'give memory="{named}MB" or more'):
        model.set_params(memory=0.99 * least).fit(X, y)
    assert model.set_params(memory=f"{named}MB").fit(X, y).solver_


def test_an_indefinite_kernel_needs_its_matrix():
    words = [f"{i:03}" for i in range(300)]
    for model in (
        mercer.KernelRidge(kernel=EditRBF()),
        mercer.KernelRidgeClassifier(kernel=EditRBF()),
    ):
        with pytest.raises(MemoryError, match=r'give memory="2MB" or more\.$'):
            model.set_params(memory="1MB").fit(words, Y > 0)


@pytest.mark.full
def test_the_command_keeps_its_budget_in_search_fit_and_report(tmp_path):
    peak = command_peak(tmp_path, 4000, "50MB")
    assert peak <= SLACK * 50 * MB + BESIDE, f"{peak / MB:.0f} MB in 50MB"


def test_all_kinds_of_samples_have_a_learner():
    assert set(SAMPLES) == {kind for learner in LEARNERS.values() for kind in learner.kinds}
