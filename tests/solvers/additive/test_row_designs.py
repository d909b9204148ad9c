"""Functions at rows: products, and solutions with the Gram matrix of some rows."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose

from mercer.kernels.additive import (
    coarse_column,
    laplacian,
    level_functions,
    pair_functions,
)
from mercer.solvers.additive import (
    CountTables,
    EvidenceRidge,
    PartNewton,
    RowDesign,
    RowRidge,
)

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
    assert_allclose(G, PHI.T @ (W[:, None] * PHI), rtol=1e-4, atol=1e-2)  # single precision
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


def test_newton_with_some_rows_ends_where_all_rows_do():
    Y = (rng.random((1, N)) < 1 / (1 + np.exp(-2 * PHI[:, :1].T))).astype(float)
    all_rows = PartNewton(penalty=1.0, tol=1e-12)
    full, some = (solver.solve(DESIGN, Y, W) for solver in (all_rows, replace(all_rows, rows=300)))
    assert_allclose(some.coef, full.coef, atol=1e-4)
    f = PHI @ full.coef[:, 0] + full.intercept[0]
    slope = PHI.T @ (W * (Y[0] - 1 / (1 + np.exp(-f)))) - full.coef[:, 0]
    assert np.abs(slope).max() < 1e-3
