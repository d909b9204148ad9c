"""Bytes as problems of support vector machines: the native loops of SMO on hostile inputs.

`one_input` turns any bytes into K, labels, bounds and dual variables of 0 to 130 rows: K of low
rank, with duplicates, asymmetric, with NaN, infinity, huge or denormal entries; bounds of 0,
infinity and denormal numbers; one group of variables or two. The loops end in as many steps as they
may take. On finite inputs the variables stay within their bounds, the sum of each group does not
change, and blocks of classes give what the whole matrix gives. Row numbers and sizes that do not
fit are a refusal. As a script: ``PYTHONPATH=tests python -m fuzz.fuzz_smo --count 1000000``.
"""

from __future__ import annotations

import numpy as np

from fuzz.driver import Source, fuzz
from mercer import _native

SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 65, 130]
HOSTILE = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-310, -1e-310, 0.0, -0.0, 1e38, 1e-45]
BOUNDS = [1.0, 1e-3, 100.0, 0.0, np.inf, 5e-324, 1e-310, 1e300]
TOLERANCES = [1e-3, 1e-7, 0.0, 1.0, np.inf, np.nan, -1.0]
REFUSALS = (ValueError, IndexError)
MOST_STEPS = 300


def kernel_matrix(s: Source, rng: np.random.Generator, n: int, dtype: type) -> np.ndarray:
    """K = F Fᵀ, with repeated rows; or what a user gives as one."""
    F = rng.normal(size=(n, 1 + s.below(4))) * s.one_of([1.0, 1e-3, 30.0])
    if n and s.below(3) == 2:
        F = F[rng.integers(0, n, n)]
    K = F @ F.T
    form = s.below(4)
    if form == 1:
        K = K + rng.normal(size=(n, n))
    with np.errstate(all="ignore"):
        K = np.ascontiguousarray(K, dtype)
        if form == 2 and n:
            at = rng.integers(0, n, (2, 1 + s.below(4)))
            K[at[0], at[1]] = s.one_of(HOSTILE)
    return K


def problem(s: Source):
    """K, y, C, α, f and the arguments after them; and whether they make a problem."""
    rng = np.random.default_rng(s.below(2**16))
    n = s.one_of(SIZES)
    K = kernel_matrix(s, rng, n, s.one_of([np.float64, np.float32]))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    C = np.full(n, s.one_of(BOUNDS))
    if s.below(2):
        C = rng.choice(BOUNDS, n)
    alpha = rng.choice([0.0, 0.5, 1.0], n) * np.minimum(C, 2.0)
    with np.errstate(all="ignore"):
        f = K.astype(np.float64) @ (y * alpha) - (1.0 if s.below(2) else y)
    if n and s.rarely():
        hurt = s.one_of([y, C, alpha, f])
        hurt[rng.integers(n)] = s.one_of(HOSTILE)
    limits = (
        s.one_of([n, n // 2, 0]),
        s.one_of(TOLERANCES),
        s.one_of([0.0, 0.1, np.nan]),
        s.below(MOST_STEPS),
    )
    sane = bool(
        (np.abs(y) == 1).all() and (alpha >= 0).all() and (alpha <= C).all()
        and np.isfinite(alpha).all() and np.isfinite(f).all() and np.isfinite(K).all()
        and np.abs(K).max(initial=0) < 1e6
    )  # fmt: skip
    return K, y, C, alpha, f, limits, sane


def one_input(data: bytes) -> str:
    """Check one input; what became of it."""
    s = Source(data)
    _native.use_isa(s.one_of(_native.available_isas()))
    if s.below(4) == 3:
        return operations(s)
    K, y, C, alpha, f, limits, sane = problem(s)
    n, before = len(y), alpha.copy()
    given = f.copy()
    steps = _native.smo_solve(K, y, C, alpha, f, *limits)
    assert steps <= limits[-1], f"{steps} steps"
    if n > 1:
        blocks(s, K, y, C, before.copy(), given, alpha, f, limits, sane)
    _native.smo_optimum(f, given, y, C, alpha, bool(s.below(2)))
    if not sane:
        return "hostile"
    assert (alpha >= 0).all(), "below 0"
    assert (alpha <= C).all(), "above C"
    if np.isinf(C).any():  # the problem need not have a solution
        return "without bounds"
    for group in (slice(0, limits[0]), slice(limits[0], n)):
        change = abs(float(y[group] @ alpha[group] - y[group] @ before[group]))
        assert change <= 1e-12 * (1 + steps) * C.max(initial=0), f"the sum changed by {change}"
    return "solved"


def blocks(s: Source, K, y, C, alpha, f, solved, gradient, limits, sane) -> None:
    """The same matrix as blocks of two classes: the same bytes, as long as K is symmetric."""
    n, cut = len(y), 1 + s.below(len(y) - 1)
    parts = [np.ascontiguousarray(p) for p in (K[:cut, :cut], K[:cut, cut:], K[cut:, cut:])]
    room, slots = np.empty((n, n), K.dtype), np.full(n, -1)
    steps = _native.smo_solve_blocks(*parts, room, slots, y, C, alpha, f, *limits)
    assert steps <= limits[-1], f"{steps} steps with blocks"
    assert (np.sort(slots[slots >= 0]) == np.arange((slots >= 0).sum())).all(), "slots"
    if sane and (K == K.T).all():
        assert np.array_equal(alpha, solved, equal_nan=True), "blocks differ"
        assert np.array_equal(f, gradient, equal_nan=True), (
            f"gradients of blocks differ:\n{f}\n{gradient}"
        )
    _native.smo_join(*parts, room, slots, np.arange(n))
    used = room[slots]
    upper = np.triu(np.ones((n, n), bool))
    assert np.array_equal(used[upper], K[upper], equal_nan=True), "joined rows"


def operations(s: Source) -> str:
    """Rows of K copied, added and narrowed, with row numbers that may be wrong."""
    rng = np.random.default_rng(s.below(2**16))
    rows, width, count = s.one_of(SIZES), s.one_of(SIZES), s.below(9)
    K = rng.normal(size=(rows, width)).astype(s.one_of([np.float64, np.float32]))
    wrong = s.rarely()
    low, above = (-3, 3) if wrong else (0, 0)
    if not wrong and (rows == 0 or width == 0):
        count = 0
    chosen = rng.integers(low, max(rows + above, low + 1), count)
    columns = rng.integers(low, max(width + above, low + 1), count)
    begin, end = sorted((s.below(count + 1), s.below(count + 1 + above)))
    try:
        out = np.zeros((count, count), K.dtype)
        _native.smo_block(K, chosen, columns, begin, end, out)
        kept = chosen[begin:end] >= 0
        want = K[chosen[begin:end]][:, columns] if kept.all() else None
        assert want is None or (out[begin:end] == want).all(), "block"
        g, delta = np.zeros(width), rng.normal(size=count)
        _native.smo_add_rows(K, chosen, delta, g, 0, width)
        near = np.allclose(g, delta @ K[chosen].astype(np.float64), rtol=1e-5, atol=1e-5)
        assert near, "added rows"
        ascending = columns if wrong else np.unique(columns)
        narrow = K.copy()
        _native.smo_narrow(narrow, rows, ascending)
        want = K[:, ascending].ravel()
        assert (narrow.ravel()[: want.size] == want).all(), "narrowed"
    except REFUSALS:
        assert wrong, "right numbers were refused"
        return "refused"
    return "operations"


if __name__ == "__main__":
    fuzz(one_input)
