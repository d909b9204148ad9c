"""Bytes as items, sets and hash tables: min-wise hashing and its native loops on odd inputs.

`one_input` turns any bytes into items (texts with any characters, numbers, nested tuples) or into
the arrays of hash tables, some of them out of range, and asserts: the number of an item depends on
nothing but the item, and equal items have equal numbers; signatures are the least ranks, whatever
the order of a set; a table proposes exactly the rows that share a key; arrays that do not fit are
refused or give rows that exist. As a script:
``PYTHONPATH=tests python -m fuzz.fuzz_hashes --count 1000000``.
"""

from __future__ import annotations

import numpy as np

from fuzz.driver import Source, fuzz
from mercer import _native
from mercer.search import MinHash
from mercer.search.minhash import item_numbers

NAN, MARK = float("nan"), "\x1f"
ODD = ["", MARK, f"a{MARK}b", MARK * 3, "\0", "\ud800", "\U0010ffff", "é", "e\u0301", "a" * 70, "1"]
VALUES = [0, 1, -1, -2, True, False, 1.0, 0.5, 2**61 - 1, 2**61, -(2**70), NAN, float("inf"),
          np.float32(0.5), np.int8(1), np.bool_(True), 1 + 0j, None, b"a", b"", (), ("a", 1),
          (1, ("a",)), frozenset(), frozenset({1, "a"}), frozenset({(1, 2), None})]  # fmt: skip
WRONG = [0, 1, -1, 7, 2**31 - 1, -(2**31)]


def item(s: Source):
    form = s.below(8)
    if form < 3:
        return "".join("abcXé\u20ac"[s.below(6)] for _ in range(s.below(5)))
    if form == 3:
        return s.one_of(ODD)
    if form == 4:
        return s.below(40) - 20
    if form == 5:
        return (s.below(3), s.one_of(VALUES))
    return s.one_of(VALUES)


def one_input(data: bytes) -> str:
    """Check one input; what became of it."""
    s = Source(data)
    _native.use_isa(s.one_of(_native.available_isas()))
    return s.one_of([numbers, numbers, signatures, permuted, tables, damaged])(s)


def numbers(s: Source) -> str:
    """Items have the same numbers together as each alone, and equal ones have equal numbers."""
    items = [item(s) for _ in range(s.below(12))]
    found = item_numbers(items)
    assert found.dtype == np.uint32
    assert found.shape == (len(items),)
    for one, number in zip(items, found):
        assert item_numbers([one])[0] == number, one
    for i, one in enumerate(items):
        for j in range(i):
            if len({one, items[j]}) == 1:
                assert found[i] == found[j], (one, items[j])
    return "numbers"


def signatures(s: Source) -> str:
    """The order of a set, and repeated items, change nothing; unions have the least entries."""
    a, b = ([item(s) for _ in range(s.below(6))] for _ in range(2))
    minhash = MinHash(1 + s.below(20), random_state=s.below(9)).fit()
    both = minhash.transform([a, b, a[::-1] + a[:1], a + b, b])
    assert (both[0] == both[2]).all()
    assert (both[3] == np.minimum(both[0], both[1])).all()
    least = np.full(minhash.n_hashes, 2**32 - 1, np.uint64)
    for x in item_numbers(a).astype(np.uint64):
        least = np.minimum(least, (minhash.factors_ * x + minhash.shifts_) % 2**32)
    if a:
        assert (both[0] == least).all()
    similarity = minhash.similarity(both)
    assert (similarity.diagonal() > 1 - 1e-12).all()
    assert (similarity == similarity.T).all()
    return "signatures"


def permuted(s: Source) -> str:
    """By given orders, entries are the least ranks; items beyond them are refused."""
    n = 1 + s.below(9)
    orders = [[s.below(50) for _ in range(n)] for _ in range(1 + s.below(4))]
    # sets, since lists of as many zeros and ones each are a table
    rows = [{s.below(n + (s.below(9) == 8)) for _ in range(1 + s.below(4))} for _ in range(3)]
    minhash = MinHash(len(orders), permutations=orders)
    try:
        found = minhash.fit_transform(rows)
    except ValueError:
        assert max(map(max, rows)) >= n, "right items were refused"
        return "refused"
    assert found.tolist() == [[min(order[i] for i in row) for order in orders] for row in rows]
    return "permuted"


def _tables(s: Source, rng: np.random.Generator):
    count, n = 1 + s.below(3), 1 + s.below(20)
    buckets = s.one_of([2, 4, 16, 64])
    keys = rng.choice(rng.integers(0, 2**32, 8, np.uint32), (count, n))
    starts = np.empty((count, buckets + 1), np.uint32)
    ids, kept = np.empty((count, n), np.int32), np.empty((count, n), np.uint32)
    _native.hash_tables(keys, starts, ids, kept)
    queries = np.where(rng.random((count, 5)) < 0.7, keys[:, rng.integers(0, n, 5)], 3)
    return keys, starts, ids, kept, np.ascontiguousarray(queries, np.uint32)


def tables(s: Source) -> str:
    """The candidates of a query are the other rows that share a key with it, each once."""
    rng = np.random.default_rng(s.below(2**16))
    keys, starts, ids, kept, queries = _tables(s, rng)
    n, q = keys.shape[1], queries.shape[1]
    own = rng.integers(-1, n, q)
    most = np.empty(q, np.int64)
    _native.count_candidates(queries, starts, ids, kept, most)
    out, begins = np.empty(int(most.sum()), np.int32), np.empty(q + 1, np.int64)
    total = _native.list_candidates(
        queries, starts, ids, kept, own, np.zeros(n, np.uint32), out, begins
    )
    assert total == begins[-1]
    for i in range(q):
        found = out[begins[i] : begins[i + 1]].tolist()
        wanted = np.flatnonzero((keys == queries[:, i : i + 1]).any(axis=0)).tolist()
        assert sorted(found) == [row for row in wanted if row != own[i]]
    return "tables"


def damaged(s: Source) -> str:
    """Arrays of a file that was altered: a refusal, or rows that exist."""
    rng = np.random.default_rng(s.below(2**16))
    keys, starts, ids, kept, queries = _tables(s, rng)
    n, q = keys.shape[1], queries.shape[1]
    for _ in range(1 + s.below(3)):
        hurt = s.one_of([starts, ids, kept])
        hurt.reshape(-1)[s.below(2**15) % hurt.size] = np.array(s.one_of(WRONG)).astype(hurt.dtype)
    arrays = [queries, starts, ids, kept]
    if s.rarely():
        at = s.below(4)
        arrays[at] = np.ascontiguousarray(arrays[at][:, : s.below(3)])
    room = s.one_of([0, 3, 200])
    out, begins, most = np.empty(room, np.int32), np.empty(q + 1, np.int64), np.empty(q, np.int64)
    try:
        _native.count_candidates(*arrays, most)
        total = _native.list_candidates(
            *arrays, np.full(q, -1), np.zeros(n, np.uint32), out, begins
        )
    except ValueError:
        return "refused"
    assert 0 <= total <= room
    assert ((out[:total] >= 0) & (out[:total] < n)).all()
    return "damaged"


if __name__ == "__main__":
    fuzz(one_input)
