"""Functions at rows: products, and solutions with the Gram matrix of some rows."""

from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.testing import assert_allclose

from mercer.kernels.additive import (
    coarse_column,
    laplacian,
    level_functions,
    pair_functions,
)
from mercer.solvers.additive import (
    SCORED,
    CountTables,
    EvidenceRidge,
    PartNewton,
    RowDesign,
    RowRidge,
    choose_pairs,
    score_pairs,
)
from mercer.solvers.additive.evidence import next_penalties
from mercer.solvers.additive.row_design import MANY
from mercer.solvers.additive.row_ridge import SHARED

rng = np.random.default_rng(0)
N, LEVELS = 800, 9
CODES = rng.integers(0, LEVELS, (3, N)).astype(np.uint8)
POSITIONS = np.append(np.linspace(0, 1, LEVELS - 1), np.nan)
COUNTS = [np.bincount(row, minlength=LEVELS).astype(float) for row in CODES]
FUNCTIONS = [level_functions(laplacian(POSITIONS, 1.0), c, 5)[0] for c in COUNTS]
COARSE = [coarse_column(POSITIONS, c, 6) for c in COUNTS]
PAIR = pair_functions((0, 2), COARSE[0], COARSE[2], 7)
PAIR = PAIR.centred(np.bincount(PAIR.cells(CODES), minlength=len(PAIR.functions)).astype(float))
DESIGN = RowDesign(CODES, FUNCTIONS, [PAIR])
PHI = np.hstack([F[row] for F, row in zip(FUNCTIONS, CODES)] + [PAIR.functions[PAIR.cells(CODES)]])
W = rng.integers(1, 4, N).astype(float)


def test_products_are_those_of_dense_features():
    beta, v = rng.normal(size=DESIGN.width), rng.normal(size=N)
    assert_allclose(DESIGN.read(beta), PHI @ beta, atol=1e-12)
    assert_allclose(DESIGN.sums(v), PHI.T @ v, atol=1e-10)
    G, means = DESIGN.gram(W)
    exact = PHI.T @ (W[:, None] * PHI)
    assert_allclose(G, exact, rtol=1e-12, atol=1e-10)
    many = RowDesign(np.tile(CODES, 6), FUNCTIONS, [PAIR])  # more than a strip: single precision
    assert_allclose(many.gram(np.tile(W, 6))[0], 6 * exact, rtol=1e-4, atol=1e-2)
    assert_allclose(means, PHI.T @ W, atol=1e-10)


def test_tables_have_the_gram_matrix_of_columns():
    columns = RowDesign(CODES, FUNCTIONS)
    dense = PHI[:, : columns.width]
    tables = CountTables([LEVELS] * 3, 1)
    tables.add(CODES, np.ones((1, N)), W)
    assert_allclose(tables.gram(FUNCTIONS), dense.T @ (W[:, None] * dense), atol=1e-9)
    assert_allclose(columns.gram(W)[0], dense.T @ (W[:, None] * dense), atol=1e-9)


def test_some_rows_lead_to_the_solution_of_all():
    target = np.sin(4 * POSITIONS[:-1].take(CODES[0] % 8)) + rng.normal(scale=0.2, size=N)
    target -= target.mean()
    solver = RowRidge(EvidenceRidge(), rows=300, tol=1e-10)
    w, start = np.ones(N), np.ones(4)
    found = solver.solve(DESIGN, solver.prepare(DESIGN, w), target, w, start)
    lam = np.repeat(found.penalties, [p.stop - p.start for p in DESIGN.parts])
    exact = np.linalg.solve(PHI.T @ PHI + np.diag(lam), PHI.T @ target)
    assert_allclose(PHI @ found.coef, PHI @ exact, atol=1e-5)
    assert found.converged


def test_nearly_equal_columns_in_single_precision_have_a_factor():
    """A year beside the year of a date, with mistakes in some rows: of 280,000 rows rounding
    errors outweighed the penalties, and the fit was refused."""
    n = 20_000
    row = np.minimum(np.random.default_rng(0).geometric(0.15, n) - 1, LEVELS - 1).astype(np.uint8)
    codes = np.vstack([row, row])
    codes[1, ::500] = row[1::500]
    counts = [np.bincount(each, minlength=LEVELS).astype(float) for each in codes]
    functions = [level_functions(laplacian(POSITIONS, 1.0), c, LEVELS)[0] for c in counts]
    coarse = [coarse_column(POSITIONS, c, LEVELS) for c in counts]
    pair = pair_functions((0, 1), *coarse)
    design = RowDesign(codes, functions, [pair.centred(pair.counts(codes, np.ones(n)))])
    target = np.sin(row / 2) - np.sin(row / 2).mean()
    solver, w = RowRidge(EvidenceRidge(1e-6), rows=10_000, max_iter=200), np.ones(n)
    found = solver.solve(design, solver.prepare(design, w), target, w, np.ones(3))
    assert found.converged
    assert_allclose(design.read(found.coef), target, atol=1e-3)


def test_newton_with_some_rows_ends_where_all_rows_do():
    Y = (rng.random((1, N)) < 1 / (1 + np.exp(-2 * PHI[:, :1].T))).astype(float)
    all_rows = PartNewton(penalty=1.0, tol=1e-12)
    full, some = (solver.solve(DESIGN, Y, W) for solver in (all_rows, replace(all_rows, rows=300)))
    assert_allclose(some.coef, full.coef, atol=1e-4)
    f = PHI @ full.coef[:, 0] + full.intercept[0]
    slope = PHI.T @ (W * (Y[0] - 1 / (1 + np.exp(-f)))) - full.coef[:, 0]
    assert np.abs(slope).max() < 1e-3


def test_newton_goes_on_until_its_penalties_fit_its_coefficients():
    """They are those of the rule at the solution, and not where they were after one step."""
    columns = RowDesign(CODES, FUNCTIONS)
    dense = PHI[:, : columns.width]
    f = 3 * np.sin(4 * dense[:, 0]) + dense[:, columns.parts[1]].sum(axis=1)
    Y = (rng.random((1, N)) < 1 / (1 + np.exp(-f))).astype(float)
    found = PartNewton().solve(columns, Y, W)
    wanted = next_penalties(found.freedom[0], found.coef[:, 0], columns.parts, shared=SHARED)
    used = found.penalties[0] < 1e4
    assert used.any()
    assert_allclose(np.log(found.penalties[0])[used], np.log(wanted)[used], atol=0.2)
    assert np.abs(np.log(found.penalties[0])).max() > 0.5  # far from the first ones


def test_parts_share_a_penalty_as_much_as_is_said():
    parts = [slice(0, 2), slice(2, 4), slice(4, 4)]
    beta, freedom = np.array([1.0, 1.0, 3.0, 4.0]), np.array([1.0, 1.5, 0.0])
    own = next_penalties(freedom, beta, parts, noise=2.0)
    assert_allclose(own[:2], [2 * 1 / 2, 2 * 1.5 / 25])
    alike = next_penalties(freedom, beta, parts, noise=2.0, shared=1e9)
    assert_allclose(alike, 2 * 2.5 / 27)  # σ² Σe / Σ‖β‖², of a part without functions too


def test_useless_pairs_have_scores_as_of_the_normal_distribution():
    """Also if the noise has another size at each level of a column."""
    numbers = np.random.default_rng(3)
    codes = numbers.integers(0, 20, (25, 1000)).astype(np.uint8)
    places = np.append(np.linspace(0, 1, 20), np.nan)
    coarse = [coarse_column(places, np.bincount(row, minlength=21), SCORED) for row in codes]
    pairs = list(combinations(range(25), 2))
    ones = np.ones((1, 1000))
    for size in (1.0, 0.1 + codes[0] / 10):
        noise = size * numbers.normal(size=(1, 1000))
        scores = score_pairs(codes, coarse, pairs, noise, ones, noise**2)
        z = np.array(list(scores.values()))
        assert list(scores) == pairs
        assert abs(z.mean()) < 0.2
        assert abs(z.std() - 1) < 0.15
        assert (z > 2.33).mean() < 0.03  # a hundredth, if they were independent
        assert choose_pairs(scores, 20, among=len(pairs)) == []


def test_of_very_many_pairs_the_best_are_scored():
    numbers = np.random.default_rng(4)
    codes = numbers.integers(0, 8, (100, 500)).astype(np.uint8)
    places = np.append(np.linspace(0, 1, 8), np.nan)
    coarse = [coarse_column(places, np.bincount(row, minlength=9), SCORED) for row in codes]
    pairs = list(combinations(range(100), 2))
    r = ((codes[3] - 3.5) * (codes[77] - 3.5) + numbers.normal(size=500))[None]
    scores = score_pairs(codes, coarse, pairs, r, np.ones_like(r), r**2)
    assert len(scores) == MANY < len(pairs)
    assert choose_pairs(scores, 20, among=len(pairs)) == [(3, 77)]
    alone = score_pairs(codes, coarse, [(3, 77)], r, np.ones_like(r), r**2)
    assert alone[3, 77] == scores[3, 77]
