"""The loops of near-duplicates with hostile arrays and texts, and beside slow twins."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer import _native

TEXTS = [
    "",
    " ",
    "a",
    "a b",
    "a b c d",
    "é" * 70,
    "x" * 64,
    "x" * 63 + " y",
    "\ud800 \0",
    "a\tb\nc",
]


def signed(texts, bands=3, r=2, words=True, size=2, **changed):
    n = len(texts)
    given = {
        "factors": np.arange(1, 2 * bands * r, 2, dtype=np.uint32) * np.uint32(77_777_777),
        "shifts": np.arange(bands * r, dtype=np.uint32),
        "keys": np.zeros((bands, n), np.uint64), "digests": np.zeros((n, 2), np.uint64),
        "contents": np.zeros(n, np.uint64), "lengths": np.zeros(n, np.int64),
        "counts": np.zeros(n, np.int64),
    }  # fmt: skip
    given |= changed
    _native.sign_documents(texts, words, size, *given.values())
    return given


def test_signs_depend_on_the_document_alone():
    together = signed(TEXTS)
    for i, text in enumerate(TEXTS):
        alone = signed([text])
        assert_array_equal(together["keys"][:, i], alone["keys"][:, 0])
        for name in ("digests", "contents", "lengths", "counts"):
            assert_array_equal(together[name][i], alone[name][0])
        assert together["lengths"][i] == len(text)
        assert together["counts"][i] == max(len(text.split(" ")) - 1, 1) * bool(text.strip()) or (
            "\t" in text
        )
    assert len(np.unique(together["contents"])) == len(TEXTS)
    assert len(np.unique(together["digests"][2:], axis=0)) == len(TEXTS) - 2
    assert_array_equal(signed(["a  b\n"])["digests"], signed(["a b"])["digests"])


def test_keys_are_those_of_the_least_hashes():
    text = "one two three four five six"
    values, _ = _native.shingle_documents([text], True, 2)
    given = signed([text])
    numbers = (values >> np.uint64(32)).astype(np.uint32)
    least = (numbers[:, None] * given["factors"] + given["shifts"]).min(axis=0)
    other = signed(
        [text], factors=given["factors"][::-1].copy(), shifts=given["shifts"][::-1].copy()
    )
    assert len(np.unique(least)) > 3
    assert (given["keys"] != other["keys"]).all()  # a key is made of hashes in their order


@pytest.mark.parametrize(
    "changed",
    [
        {"keys": np.zeros((3, 2), np.uint64)}, {"digests": np.zeros((1, 1), np.uint64)},
        {"contents": np.zeros(2, np.uint64)}, {"lengths": np.zeros(0, np.int64)},
        {"counts": np.zeros(2, np.int64)}, {"shifts": np.zeros(5, np.uint32)},
        {"factors": np.zeros(5, np.uint32), "shifts": np.zeros(5, np.uint32)}, {"size": 0},
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(changed):
    with pytest.raises(ValueError, match="must"):
        signed(["a"], **changed)


def test_what_is_no_text_is_refused():
    for texts in ([1], ["a", None], [b"a"]):
        with pytest.raises(TypeError, match="not a text"):
            signed(texts)
        with pytest.raises(TypeError, match="not a text"):
            _native.shingle_documents(texts, True, 1)


def walk(sets, buckets, threshold=0.5, most=9, fixed=0, within=True, count=None):
    """Sets and buckets are lists of lists."""
    starts, places = (np.cumsum([0, *map(len, lists)]) for lists in (sets, buckets))
    values = np.array([x for one in sets for x in one], np.uint64)
    flat = np.array([b for one in buckets for b in one], np.int64)
    count = int(flat.max(initial=-1)) + 1 if count is None else count
    partners, similar = np.empty(len(sets), np.int64), np.empty(len(sets))
    told = _native.walk_documents(
        values,
        starts[:-1],
        starts[1:],
        places,
        flat,
        count,
        threshold,
        most,
        fixed,
        within,
        partners,
        similar,
    )
    return partners.tolist(), similar.tolist(), told


def twin(sets, buckets, threshold, most, fixed, within):
    held, partners, similar, compared, full = {}, [], [], 0, set()
    for d, (one, own) in enumerate(zip(sets, buckets)):
        best = (0.0, 1)
        if d >= fixed:
            for other in {k for b in own for k in held.get(b, [])}:
                a, b = set(one), set(sets[other])
                if min(len(a), len(b)) < threshold * max(len(a), len(b)):
                    continue
                compared += 1
                best = max(best, (len(a & b) / len(a | b), -other))
        removed = best[0] >= threshold
        partners.append(-best[1] if removed else -1)
        similar.append(best[0] if removed else 0.0)
        if not removed and (within or d < fixed):
            for b in own:
                if len(held.setdefault(b, [])) < most:
                    held[b].append(d)
                else:
                    full.add(b)
    return partners, similar, (compared, len(full))


@pytest.mark.parametrize("seed", range(20))
def test_the_walk_beside_its_twin(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    sets = [sorted(rng.choice(12, rng.integers(1, 9), replace=False).tolist()) for _ in range(n)]
    buckets = [sorted(rng.choice(6, rng.integers(0, 4), replace=False).tolist()) for _ in range(n)]
    for most, fixed, within in ((1, 0, True), (3, n // 3, True), (50, n // 3, False), (9, 0, True)):
        wanted = twin(sets, buckets, 0.4, most, fixed, within)
        assert walk(sets, buckets, 0.4, most, fixed, within, count=6) == wanted


def test_a_walk_with_wrong_numbers_is_refused():
    assert walk([], []) == ([], [], (0, 0))
    for wrong in ([[5], [0]], [[-1], [0]]):
        with pytest.raises(ValueError, match="bucket is out of range"):
            walk([[1], [1]], wrong, count=2)
    for options in ({"most": 0}, {"fixed": -1}, {"count": -1}):
        with pytest.raises(ValueError, match="give most"):
            walk([[1]], [[]], **options)
    out = np.empty(1, np.int64), np.empty(1)
    ones, none = np.ones(1, np.uint64), np.zeros(0, np.int64)
    for begin, end, places in ((0, 2, [0, 0]), (0, 1, [0, 1]), (1, 0, [0, 0]), (-1, 1, [0, 0])):
        with pytest.raises(ValueError, match="must ascend"):
            _native.walk_documents(
                ones, np.array([begin]), np.array([end]), np.array(places), none, 1, 0.5, 1, 0,
                True, *out,
            )  # fmt: skip
    with pytest.raises(ValueError, match="shapes must be"):
        _native.walk_documents(
            ones, np.zeros(2, int), np.zeros(1, int), np.zeros(2, int), none, 1, 0.5, 1, 0, True,
            *out,
        )  # fmt: skip


@pytest.mark.parametrize("seed", range(10))
def test_pairs_beside_their_twin(seed):
    rng = np.random.default_rng(seed)
    sides = []
    for _ in range(2):
        sets = [np.zeros(0, np.uint64)]
        for top in (0, 2**63, 2**64 - 13) * 4:
            some = rng.integers(0, 12, rng.integers(0, 9)).astype(np.uint64)
            sets.append(np.unique(some + np.uint64(top)))
        starts = np.cumsum([0, *map(len, sets)])
        sides.append((sets, np.concatenate(sets).astype(np.uint64), starts))
    (A, a, s), (B, b, t) = sides
    left, right = (part.ravel() for part in np.mgrid[: len(A), : len(B)])
    out = np.full(len(left), np.nan)
    _native.compare_documents(a, s[left], s[left + 1], b, t[right], t[right + 1], out)
    for i, j, J in zip(left, right, out):
        x, z = set(A[i].tolist()), set(B[j].tolist())
        wanted = len(x & z) / len(x | z) if x & z else 0
        assert wanted == J


def test_pairs_with_wrong_numbers_are_refused():
    ones, out = np.ones(1, np.uint64), np.empty(1)
    good, one = np.array([0]), np.array([1])
    _native.compare_documents(ones, good, one, ones, good, one, out)
    assert out[0] == 1
    for wrong in ((-1, 1, 0, 1), (0, 2, 0, 1), (1, 0, 0, 1), (0, 1, -1, 1), (0, 1, 0, 2),
                  (0, 1, 1, 0), (0, 2**62, 0, 1)):  # fmt: skip
        a, b, c, d = (np.array([number]) for number in wrong)
        with pytest.raises(ValueError, match="must ascend"):
            _native.compare_documents(ones, a, b, ones, c, d, out)
    with pytest.raises(ValueError, match="shapes must be"):
        _native.compare_documents(ones, good, one, ones, good, np.zeros(2, int), out)
