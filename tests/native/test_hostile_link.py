"""The loops of record linkage: wrong arrays are refused, and levels, passes, patterns, sums and
clusters are those of slow twins."""

import itertools

import numpy as np
import pytest
from rapidfuzz.distance import OSA, JaroWinkler

from mercer import _native
from mercer.link.columns import Symbols
from mercer.link.kinds import ColumnWords

RNG = np.random.default_rng(0)
TEXTS = [
    "", "a", "ab", "ba", "abc", "acb", "abcd", "abdc", "martha", "marhta", "dixon", "dicksonx",
    "x" * 64, "x" * 65, "x" * 63 + "y", "y" + "x" * 64, "yx" + "x" * 90, "日本語", "日本テスト",
    "12345678", "12345687", "1234567", "87654321", "\ud800a", "🙂🙃", "🙃🙂",
]  # fmt: skip
NAMES = sorted({"".join(RNG.choice([*"abcde"], RNG.integers(3, 9))) for _ in range(60)} - {*TEXTS})


def encoded(texts, wide):
    found = Symbols.of(texts)
    if wide:
        classes = np.zeros(max(256, len(found.classes)), np.uint8)
        classes[: len(found.classes)] = found.classes
        found = Symbols(found.symbols.astype(np.uint32), found.starts, classes)
    return found


def bits_of(values):
    return values.bits()


def pairs_of(texts):
    a, b = (np.ravel(side) for side in np.indices((len(texts), len(texts))))
    return a.astype(np.int32), b.astype(np.int32)


def one_edit(s, t):
    return OSA.distance(s, t) <= 1


def begins(s, t):
    n = min(len(s), len(t))
    return n >= 1 and len(s) != len(t) and s[:n] == t[:n]


def name_level(s, t):
    if min(len(s), len(t)) >= 3 and one_edit(s, t):
        return 4
    if begins(s, t):
        return 3
    # of equal lengths the earlier text is first
    first, second = (s, t) if (len(s), s) <= (len(t), t) else (t, s)
    like = JaroWinkler.similarity(first[:64], second[:64])
    return sum(like >= limit for limit in (0.6, 0.75, 0.85, 0.92)) if s and t else 0


def digits_level(s, t):
    edits, longest = OSA.distance(s, t), max(len(s), len(t))
    if edits == 1:
        return 4 if longest >= 3 else 1
    return 3 if edits == 2 and longest >= 6 else 0


def date_level(s, t):
    if len(s) != 8 or len(t) != 8:
        return 4 if one_edit(s, t) else 0
    same = s[:4] == t[:4], s[4:6] == t[4:6], s[6:] == t[6:]
    if one_edit(s, t) or (same[0] and s[4:6] == t[6:] and s[6:] == t[4:6]):
        return 4
    if sum(same) == 2:
        return 3
    return 2 if OSA.distance(s, t) == 2 else int(same[0])


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(
    ("loop", "level"),
    [("link_names", name_level), ("link_digits", digits_level), ("link_dates", date_level)],
)
def test_levels_of_texts(loop, level, wide):
    texts = [*TEXTS, *NAMES] if wide else [t for t in [*TEXTS, *NAMES] if max(t, default="") < "ÿ"]
    values = encoded(texts, wide)
    a, b = pairs_of(texts)
    out = np.empty(len(a), np.uint8)
    getattr(_native, loop)(*values.texts, bits_of(values), a, b, out)
    wanted = [5 if i == j else level(texts[i], texts[j]) for i, j in zip(a, b)]
    wrong = np.flatnonzero(out != wanted)
    assert not len(wrong), [(texts[a[k]], texts[b[k]], out[k], wanted[k]) for k in wrong[:5]]
    assert (out.reshape(len(texts), -1) == out.reshape(len(texts), -1).T).all()  # symmetric
    out = np.empty(2, np.uint8)
    gone = np.array([-1, 0], np.int32)
    getattr(_native, loop)(*values.texts, bits_of(values), gone, gone[::-1].copy(), out)
    assert out.tolist() == [7, 7]


def test_words_and_runs():
    texts = ["main st 12b", "", "--", "東京 x1", "a'b"]
    values = encoded(texts, True)
    hashes, begins, lengths, firsts = _native.link_words(*values)
    whole = "".join(texts)
    words = [whole[i : i + n] for i, n in zip(begins, lengths)]
    parts = [words[a:b] for a, b in itertools.pairwise(firsts)]
    assert parts == [["main", "st", "12", "b"], [], [], ["東", "京", "x", "1"], ["a", "b"]]
    narrow = encoded(texts[:1], False)
    assert _native.link_words(*narrow)[0].tolist() == hashes[:4].tolist()
    runs, firsts = _native.link_runs(*values, 4)
    assert np.diff(firsts).tolist() == [6, 0, 0, 1, 1]  # mainst12b, 東京x1, ab
    assert _native.link_runs(*encoded(["mainst12b"], False), 4)[0].tolist() == runs[:6].tolist()


def test_rare_parts():
    parts = np.array([10, 20, 30, 20, 30, 30, 30], np.uint64) << np.uint64(50)
    starts, records = np.array([0, 3, 5, 7]), np.array([1, 1, 1])
    out = np.empty((3, 2), np.int32)
    _native.link_rare_parts(parts, starts, records, out)
    number = {x: int(np.uint64(x) << np.uint64(50) >> np.uint64(33)) for x in (10, 20, 30)}
    # 10 has one record alone; 20 has two, 30 three
    assert out.tolist() == [[number[20], number[30]], [number[20], number[30]], [number[30], -1]]
    _native.link_rare_parts(parts, starts, np.array([2, 1, 1]), out)
    assert out[0].tolist() == [number[10], number[20]]


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("two", [False, True])
def test_pairs_of_passes(first, two):
    rng = np.random.default_rng(first)
    n, cap = 12, 4
    x, y = (rng.integers(-1, 5, n).astype(np.int32) for _ in range(2))
    x_parts, y_parts = (rng.integers(-1, 4, (5, k)).astype(np.int32) for k in (2, 1))
    x_parts[:, 1] = np.where(x_parts[:, 0] == x_parts[:, 1], -1, x_parts[:, 1])
    y_given = y if two else np.empty(0, np.int32)
    y_table = y_parts if two else np.empty((0, 0), np.int32)

    def keys(i):
        if x[i] < 0 or (two and y[i] < 0):
            return set()
        mine = {v for v in x_parts[x[i]] if v >= 0}
        theirs = {v for v in y_parts[y[i]] if v >= 0} if two else {0}
        return set(itertools.product(mine, theirs))

    blocks = {}
    for i in range(n):
        for key in keys(i):
            blocks.setdefault(key, []).append(i)
    wanted = sorted(
        (i, j)
        for rows in blocks.values() if len(rows) <= cap
        for i, j in itertools.combinations(rows, 2) if not first or i < first <= j
    )  # fmt: skip
    out, seen = np.empty(200, np.uint64), np.empty(n, np.uint8)
    given = x, x_parts, y_given, y_table, first, cap, 1
    count, share = _native.link_pairs(*given, out, seen)
    found = sorted((int(p >> np.uint64(32)), int(p & np.uint64(2**32 - 1))) for p in out[:count])
    assert found == wanted
    has = {i for i in range(n) if keys(i)}
    good = {i for rows in blocks.values() if len(rows) <= cap for i in rows}
    assert share == pytest.approx(len(good) / len(has))
    assert seen.tolist() == [3 if i in good else int(i in has) for i in range(n)]
    short, none = np.full(2, 7, np.uint64), np.empty(0, np.uint8)
    assert _native.link_pairs(*given, short, none)[0] == count


def test_words_are_compared():
    texts = ["hanna st 12", "st hanna 12", "hanna st 13", "hana st 12", "h st 12", "x", "st"]
    values = encoded(texts, True)
    words = ColumnWords.of(values)
    weights = np.ones(len(words.hashes), np.float32)
    a, b = pairs_of(texts)
    levels = np.empty(len(a), np.uint8)
    of = words.words, words.starts, weights, *words.symbols.texts, words.numbers
    _native.link_texts(*of, a, b, levels)
    levels = levels.reshape(len(texts), -1)
    assert (levels == levels.T).all()
    # 12 and 13 are other numbers, hana may be hanna (0.9), an initial counts half
    assert levels[0].tolist() == [5, 4, 3, 4, 3, 0, 3]
    sets = np.empty(len(a), np.uint8)
    _native.link_sets(*of, a, b, sets)
    assert sets.reshape(len(texts), -1)[0].tolist() == [5, 4, 2, 2, 2, 0, 4]


def test_patterns_and_expectations():
    rng = np.random.default_rng(1)
    levels = rng.integers(0, 8, (5000, 3)).astype(np.uint8)
    place = np.empty(len(levels), np.int32)
    firsts = _native.link_patterns(levels, place)
    assert (levels[firsts][place] == levels).all()
    assert len(firsts) == len(np.unique(levels, axis=0))
    patterns = np.ascontiguousarray(levels[firsts])
    counts = np.bincount(place).astype(float)
    table = rng.dirichlet(np.ones(8), (2, 3))
    shares = np.log([0.3, 0.7])
    post, sums = np.empty((len(patterns), 2)), np.empty((2, 3, 8))
    _native.link_expect(patterns, counts, shares, np.log(table), post, sums)
    likely = np.exp(shares) * np.prod(
        [table[:, k, patterns[:, k]] for k in range(3)], axis=0
    ).T  # fmt: skip
    np.testing.assert_allclose(post, likely / likely.sum(axis=1, keepdims=True))
    for c, k, level in np.ndindex(2, 3, 8):
        wanted = (post[:, c] * counts)[patterns[:, k] == level].sum()
        assert sums[c, k, level] == pytest.approx(wanted)


def slow_average(n, pairs, absent):
    weight = np.full((n, n), absent)
    for (i, j), w in pairs.items():
        weight[i, j] = weight[j, i] = w
    groups = [[i] for i in range(n)]
    while True:
        best = max(
            ((weight[np.ix_(a, b)].mean(), -a[0], -b[0], a, b)
             for a, b in itertools.combinations(groups, 2)),
            key=lambda found: found[:3], default=(0,),
        )  # fmt: skip
        if best[0] <= 0:
            return {tuple(sorted(group)) for group in groups}
        *_, a, b = best
        groups = sorted([g for g in groups if g not in (a, b)] + [sorted(a + b)])


@pytest.mark.parametrize("seed", range(20))
def test_average_link(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    pairs = {
        (i, j): float(rng.normal(2, 5)) for i, j in itertools.combinations(range(n), 2)
        if rng.random() < 0.6
    }  # fmt: skip
    left, right = (np.array([p[side] for p in pairs], np.int64) for side in (0, 1))
    labels = np.empty(n, np.int64)
    _native.link_average(left, right, np.array([*pairs.values()], float), -3.0, labels)
    found = {tuple(np.flatnonzero(labels == label)) for label in set(labels.tolist())}
    assert found == slow_average(n, pairs, -3.0)
    assert all(labels[group[0]] == group[0] for group in found)


def test_one_to_one():
    keep = np.empty(4, np.uint8)
    _native.link_one_to_one(np.array([0, 0, 1, 2]), np.array([1, 0, 1, 0]), 3, 2, keep)
    assert keep.tolist() == [1, 0, 0, 1]


def refused(call, right, wrong):
    call(*right.values())
    for changes in wrong:
        with pytest.raises(ValueError, match="must"):
            call(*(right | changes).values())


def test_wrong_arrays_are_refused():
    values = encoded(["ab", "cd"], False)
    right = {
        "symbols": values.symbols, "starts": values.starts, "bits": np.zeros(2, np.uint64),
        "a": np.zeros(3, np.int32), "b": np.ones(3, np.int32), "out": np.empty(3, np.uint8),
    }  # fmt: skip
    wrong = [
        {"starts": np.array([0, 3, 9])}, {"starts": np.array([0, 3, 2])},
        {"starts": np.array([-1, 2, 4])}, {"a": np.full(3, 2, np.int32)},
        {"b": np.full(3, -2, np.int32)}, {"a": np.zeros(2, np.int32)},
        {"bits": np.zeros(1, np.uint64)},
    ]  # fmt: skip
    for loop in (_native.link_names, _native.link_digits, _native.link_dates):
        refused(loop, right, wrong)
    for loop in (_native.link_bits, _native.link_hashes):
        right = {"symbols": values.symbols, "starts": values.starts, "out": np.empty(2, np.uint64)}
        refused(loop, right, [{"starts": np.array([0, 3, 9])}, {"out": np.empty(3, np.uint64)}])
    right = {"symbols": values.symbols, "starts": values.starts, "classes": values.classes}
    wrong = [{"starts": np.array([0, 3, 9])}, {"classes": np.ones(9, np.uint8)}]
    refused(_native.link_words, right, wrong)
    refused(_native.link_runs, right | {"q": 2}, [*wrong, {"q": 0}])


def test_wrong_parts_and_pairs_are_refused():
    right = {
        "parts": np.arange(3, dtype=np.uint64), "starts": np.array([0, 2, 3]),
        "records": np.ones(2, np.int64), "out": np.empty((2, 2), np.int32),
    }  # fmt: skip
    wrong = [{"starts": np.array([0, 2, 4])}, {"starts": np.array([0, 3])},
             {"records": np.ones(3, np.int64)}]  # fmt: skip
    refused(_native.link_rare_parts, right, wrong)
    one = np.zeros(4, np.int32)
    right = {
        "x": one, "x_parts": np.zeros((1, 2), np.int32), "y": one,
        "y_parts": np.zeros((1, 1), np.int32), "first": 0, "cap": 5, "parts": 1,
        "out": np.empty(9, np.uint64), "seen": np.empty(4, np.uint8),
    }  # fmt: skip
    wrong = [
        {"x": one + 1}, {"y": one - 2}, {"y": one[:2]}, {"first": 5}, {"first": -1}, {"cap": 0},
        {"parts": 3}, {"parts": 0}, {"seen": np.empty(3, np.uint8)},
    ]  # fmt: skip
    refused(_native.link_pairs, right, wrong)
    pairs = {
        "left": np.array([0, 1]), "right": np.array([1, 2]), "weights": np.ones(2), "absent": -1.0,
        "labels": np.empty(3, np.int64),
    }  # fmt: skip
    wrong = [{"left": np.array([0, 3])}, {"right": np.array([-1, 2])}, {"left": np.array([0])},
             {"weights": np.ones(3)}, {"weights": np.array([1.0, np.nan])}, {"absent": 0.0},
             {"labels": np.empty(2, np.int64)}]  # fmt: skip
    refused(_native.link_average, pairs, wrong)
    right = {"left": np.array([0, 1]), "right": np.array([1, 0]), "n": 2, "m": 2,
             "keep": np.empty(2, np.uint8)}  # fmt: skip
    wrong = [{"left": np.array([0, 2])}, {"right": np.array([-1, 0])}, {"m": 1},
             {"keep": np.empty(3, np.uint8)}]  # fmt: skip
    refused(_native.link_one_to_one, right, wrong)


def test_wrong_words_and_levels_are_refused():
    words = ColumnWords.of(encoded(["ab cd", "ef"], False))
    right = {
        "words": words.words, "starts": words.starts, "weights": np.ones(3, np.float32),
        "symbols": words.symbols.symbols, "spelled": words.symbols.starts,
        "numbers": words.numbers, "a": np.zeros(1, np.int32), "b": np.ones(1, np.int32),
        "out": np.empty(1, np.uint8),
    }  # fmt: skip
    wrong = [
        {"words": words.words + 3}, {"words": words.words - 3}, {"starts": words.starts + 9},
        {"weights": np.ones(2, np.float32)}, {"spelled": words.symbols.starts * 2},
        {"numbers": words.numbers[:1]}, {"a": np.full(1, 2, np.int32)},
        {"out": np.empty(2, np.uint8)},
    ]  # fmt: skip
    for loop in (_native.link_texts, _native.link_sets):
        refused(loop, right, wrong)
    levels = np.zeros((3, 2), np.uint8)
    refused(_native.link_patterns, {"levels": levels, "place": np.empty(3, np.int32)},
            [{"place": np.empty(2, np.int32)}])  # fmt: skip
    right = {
        "levels": levels, "counts": np.ones(3), "shares": np.zeros(2), "logs": np.zeros((2, 2, 8)),
        "post": np.empty((3, 2)), "sums": np.empty((2, 2, 8)),
    }  # fmt: skip
    wrong = [
        {"levels": levels + 8}, {"counts": np.ones(2)}, {"shares": np.zeros(3)},
        {"logs": np.zeros((2, 2, 7))}, {"post": np.empty((3, 1))}, {"sums": np.empty((2, 1, 8))},
    ]  # fmt: skip
    refused(_native.link_expect, right, wrong)
