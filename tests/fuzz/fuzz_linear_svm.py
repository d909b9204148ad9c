"""Bytes as problems of linear machines: their native loops on inputs that nobody thought of.

`one_input` turns any bytes into dense or sparse rows of 0 to 65 numbers, with zeros, repetitions,
NaN, infinity, huge or denormal values; targets, bounds, class codes and a part of the variables.
Epochs end in as many as they may take. On finite inputs the variables stay within their bounds, the
weights are those of the variables, and products agree with NumPy's. Sizes, columns, offsets and
codes that do not fit are a refusal. As a script:
``PYTHONPATH=tests python -m fuzz.fuzz_linear_svm --count 1000000``.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from fuzz.driver import Source, fuzz
from mercer import _native

SIZES = [0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 33, 65]
HOSTILE = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-310, 5e-324, -0.0, 1e38]
BOUNDS = [1.0, 1e-3, 100.0, 0.0, np.inf, 5e-324, 1e-310, 1e300]
TOLERANCES = [1e-6, 0.0, 1.0, np.inf, np.nan, -1.0]
REFUSALS = (ValueError, IndexError)
MOST_EPOCHS = 40


class Rows:
    """Rows of samples, as the loops read them.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    arrays : tuple
        Values, columns and starts; the last two are None for dense rows.
    sane : bool
        Whether the numbers are finite and of ordinary size.
    wrong : bool
        Whether columns or starts may be out of range.
    """

    def __init__(self, s: Source, rng: np.random.Generator):
        n, d = s.one_of(SIZES), s.one_of(SIZES)
        X = rng.normal(size=(n, d)) * (rng.random((n, d)) < s.one_of([1.0, 0.3, 0.0]))
        X = X * s.one_of([1.0, 1e-3, 100.0])
        if n and s.below(3) == 2:
            X = X[rng.integers(0, n, n)]
        self.sane = not (n and d and s.below(4) == 3)
        with np.errstate(all="ignore"):
            if not self.sane:
                X[rng.integers(n), rng.integers(d)] = s.one_of(HOSTILE)
            self.X = X.astype(s.one_of([np.float64, np.float32]))
        self.arrays: tuple = self.X.ravel(), None, None
        self.wrong = False
        if s.below(2):
            sparse = sp.csr_array(self.X)
            columns, starts = sparse.indices.astype(np.int32), sparse.indptr.astype(np.int64)
            self.wrong = s.rarely()
            if self.wrong:
                hurt = s.one_of([columns, starts])
                if len(hurt):
                    hurt[rng.integers(len(hurt))] = s.one_of([-1, d, n + d + 1, 2**31 - 1])
            self.arrays = sparse.data, columns, starts

    @property
    def sparse(self) -> bool:
        return self.arrays[1] is not None


def active_set(s: Source, rng: np.random.Generator, n: int):
    """A permutation of the variables, the count of the active ones, and the last violation."""
    state = np.array([s.one_of([n, n // 2, 0]), 1 + s.below(2**16)], np.uint64)
    return rng.permutation(n), state, np.array([s.one_of([np.inf, 1.0, 0.0, np.nan])])


def one_input(data: bytes) -> str:
    """Check one input; what became of it."""
    s = Source(data)
    _native.use_isa(s.one_of(_native.available_isas()))
    rng = np.random.default_rng(s.below(2**16))
    rows = Rows(s, rng)
    loop = s.one_of([products, dual, classes, lasso, box])
    try:
        return loop(s, rng, rows)
    except REFUSALS:
        assert rows.wrong, "right arrays were refused"
        return "refused"


def products(s: Source, rng: np.random.Generator, rows: Rows) -> str:
    X, (n, d), bias = rows.X.astype(np.float64), rows.X.shape, s.one_of([0.0, 1.0, 1e-3])
    A = np.hstack([X, np.full((n, 1), bias)])
    w, c, f, back = rng.normal(size=d + 1), rng.normal(size=n), np.empty(n), np.zeros(d + 1)
    c[rng.random(n) < 0.3] = 0
    _native.linear_outputs(*rows.arrays, bias, w, f)
    _native.linear_combine(*rows.arrays, bias, c, back)
    squares = np.empty(n)
    _native.linear_squares(*rows.arrays, d, squares)
    H = np.zeros((d + 1, d + 1))
    if rows.sparse:
        _native.linear_gram(*rows.arrays, bias, c, H)
    if not rows.sane or rows.wrong:
        return "hostile"
    agree(f, A @ w, "outputs")
    agree(back, A.T @ c, "combined")
    agree(squares, (X**2).sum(axis=1), "squares")
    if rows.sparse:
        agree(np.tril(H), np.tril(A.T @ (c[:, None] * A)), "gram")
    return "products"


def dual(s: Source, rng: np.random.Generator, rows: Rows) -> str:
    X, (n, d), bias = rows.X.astype(np.float64), rows.X.shape, s.one_of([0.0, 1.0])
    squared, one_sided = bool(s.below(2)), bool(s.below(2))
    targets = rng.choice([-1.0, 1.0], n) * (1.0 if one_sided else s.one_of([1.0, 50.0]))
    C = rng.choice(BOUNDS, n) if s.below(2) else np.full(n, s.one_of(BOUNDS))
    with np.errstate(all="ignore"):
        squares = (X**2).sum(axis=1)
    variables = np.column_stack([np.zeros(n), targets, C, squares])
    hurt = n > 0 and s.rarely()
    if hurt:
        variables[rng.integers(n), rng.integers(4)] = s.one_of(HOSTILE)
    w, epochs = np.zeros(d + 1), s.below(MOST_EPOCHS)
    epsilon = 0.0 if one_sided else s.one_of([0.0, 0.1, 1e300])
    done = _native.linear_dual_epochs(
        *rows.arrays, bias, variables, epsilon, squared, one_sided, w,
        *active_set(s, rng, n), epochs, s.one_of(TOLERANCES),
    )  # fmt: skip
    assert done <= epochs, f"{done} epochs"
    if hurt or not rows.sane or rows.wrong:
        return "hostile"
    beta = variables[:, 0]
    if one_sided:
        assert (beta * targets >= 0).all(), "sign"
    if not squared:
        assert (np.abs(beta) <= C).all(), "bounds"
    if np.isfinite(C).all() and not (squared and (C < 1e-300).any()):
        check_weights(w, np.hstack([X, np.full((n, 1), bias)]), beta, "dual")
    return "dual"


def classes(s: Source, rng: np.random.Generator, rows: Rows) -> str:
    X, (n, d), bias = rows.X.astype(np.float64), rows.X.shape, s.one_of([0.0, 1.0])
    k = 2 + s.below(7)
    code = rng.integers(0, k, n)
    C = rng.choice(BOUNDS, n) if s.below(2) else np.full(n, s.one_of(BOUNDS))
    if n and s.rarely() and rows.sparse:
        code[rng.integers(n)], rows.wrong = s.one_of([-1, k, 2**40]), True
    with np.errstate(all="ignore"):
        squares = (X**2).sum(axis=1)
    W, alpha, epochs = np.zeros((d + 1, k)), np.zeros((n, k)), s.below(MOST_EPOCHS)
    done = _native.linear_class_epochs(
        *rows.arrays, bias, code, C, squares, W, alpha, *active_set(s, rng, n), epochs,
        s.one_of(TOLERANCES),
    )  # fmt: skip
    assert done <= epochs, f"{done} epochs"
    if rows.wrong or not rows.sane or not ((C > 1e-6) & (C < 1e6)).all():
        return "hostile"
    upper = np.where(np.arange(k) == code[:, None], C[:, None], 0.0)
    assert (alpha <= upper).all(), "bounds"
    # α is known to the rounding of its gradient, divided by the curvature
    A = np.hstack([X, np.full((n, 1), bias)])
    curvature = np.maximum((A**2).sum(axis=1), 1e-300)
    known = 1e-11 * (1 + np.abs(A @ W).max(initial=0)) / curvature + 1e-9 * np.abs(alpha).sum(
        axis=1
    )
    assert (np.abs(alpha.sum(axis=1)) <= known).all(), f"sums {alpha.sum(axis=1)}"
    check_weights(W, A, alpha, "classes")
    return "classes"


def lasso(s: Source, rng: np.random.Generator, rows: Rows) -> str:
    """The rows are the columns of the data."""
    X, (d, n) = rows.X.astype(np.float64), rows.X.shape
    g, v, q = 3 * rng.normal(size=d), np.zeros(d), np.zeros(n)
    with np.errstate(all="ignore"):
        squares = (X**2).sum(axis=1)
    epochs = s.below(MOST_EPOCHS)
    done = _native.linear_lasso_epochs(
        *rows.arrays, g, squares, v, q, *active_set(s, rng, d), epochs, s.one_of(TOLERANCES)
    )
    assert done <= epochs, f"{done} epochs"
    if rows.wrong or not rows.sane:
        return "hostile"
    check_weights(q, X, v, "lasso")
    value = np.abs(v).sum() + g @ v + q @ q / 2
    assert value <= 1e-6 * (1 + np.abs(g) @ np.abs(v)), f"the objective rose to {value}"
    return "lasso"


def box(s: Source, rng: np.random.Generator, rows: Rows) -> str:
    n = rows.X.shape[0]
    t, f, change = rng.normal(size=(3, n))
    low, high = -rng.choice(BOUNDS, n), rng.choice(BOUNDS, n)
    step = rng.choice([1.0, 1e-300, 1e300, 0.0, np.inf], n)
    hurt = n > 0 and s.rarely()
    if hurt:
        s.one_of([t, f, change, low, high, step])[rng.integers(n)] = s.one_of(HOSTILE)
    near, slope, epsilon = np.empty(n), np.empty(n), s.one_of([0.0, 0.1, 1e300])
    _native.linear_nearest(t, step, low, high, epsilon, f, near, slope)
    _native.linear_along(t, step, low, high, epsilon, f, change, s.one_of([0.5, 1e300]), near)
    if hurt or np.isinf(step).any():  # infinity times 0
        return "hostile"
    assert ((low <= near) & (near <= high)).all(), "outside the box"
    assert ((slope == 0) | (slope == step)).all(), "slope"
    return "box"


def check_weights(w: np.ndarray, A: np.ndarray, beta: np.ndarray, what: str) -> None:
    """w = Aᵀ β, up to the rounding of its updates."""
    if np.isfinite(beta).all() and np.abs(beta).max(initial=0) < 1e100:
        agree(w, A.T @ beta, what, 1e-7 * (1 + np.abs(A).T @ np.abs(beta)))


def agree(got: np.ndarray, want: np.ndarray, what: str, atol: float | np.ndarray = 0.0) -> None:
    near = np.abs(got - want) <= atol + 1e-6 * (np.abs(want).max(initial=0) + 1e-300)
    assert near.all(), f"{what}:\n{got}\n{want}"


if __name__ == "__main__":
    fuzz(one_input)
