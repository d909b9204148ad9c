"""Families of hash functions: how often they collide, against the formula, and signatures of sets
against the definition."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from mercer.distances import Jaccard
from mercer.search import BitSampling, Hyperplanes, MinHash, Sensitivity, StableProjections
from mercer.search.minhash import item_numbers

COUNT = 40_000  # functions, so that a share has a standard error of 0.0025 at most
FIVE = 5 * 0.5 / np.sqrt(COUNT)


def share(family, X, count=COUNT, seed=0):
    """The share of functions by which rows 2 i and 2 i + 1 of X have the same hash."""
    drawn = family.draw(X, count, np.random.default_rng(seed))
    H = drawn.hashes(X)
    assert H.dtype == np.int32
    assert H.shape == (len(X), count)
    return (H[::2] == H[1::2]).mean(axis=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("width", [0.5, 3.0])
def test_stable_projections(p, width, dtype):
    rng = np.random.default_rng(1)
    gaps = np.array([0.0, 0.1, 0.5, 1.0, 3.0, 20.0])
    x = rng.normal(size=(len(gaps), 4)) + 100  # far from the origin
    steps = rng.normal(size=x.shape)
    z = x + steps * (gaps / np.linalg.norm(steps, p, axis=1))[:, None]
    X = np.stack([x, z], axis=1).reshape(-1, 4).astype(dtype)
    family = StableProjections(p, width)
    assert_allclose(share(family, X), family.collision(gaps), atol=FIVE)
    assert_allclose(family.collision([0, np.inf, 1e-320, 1e300]), [1, 0, 1, 0], atol=1e-12)


@pytest.mark.parametrize("p", [1, 2])
def test_the_middle_of_the_rows_is_no_edge_of_steps(p):
    """Two rows around their mean collide as often as any others at their distance."""
    family, X = StableProjections(p, 3.0), np.array([[100.0, 5.0], [101.0, 5.0]])
    assert_allclose(share(family, X), family.collision([1.0]), atol=FIVE)


def test_hyperplanes():
    angles = np.array([0.0, 0.2, np.pi / 2, 2.5, np.pi])
    X = np.zeros((10, 3))
    X[::2, 0] = 2.0
    X[1::2, 0], X[1::2, 1] = np.cos(angles), np.sin(angles)
    assert_allclose(share(Hyperplanes(), X), Hyperplanes().collision(angles), atol=FIVE)


def test_bit_sampling():
    weights = np.array([1.0, 2.0, 0.0, 5.0])
    x = np.array([[0, 1.5, 2, -0.0]] * 4)
    z = x.copy()
    z[0, 0], z[1, [1, 2]], z[2] = 9, 7, 9
    z[3] = -z[3] + 2 * x[3]  # the same numbers, with another sign of zero
    X = np.stack([x, z], axis=1).reshape(-1, 4)
    family = BitSampling(weights)
    d = (weights * (x != z)).sum(axis=1)
    assert d.tolist() == [1, 2, 8, 0]
    assert_allclose(share(family, X), family.collision(d), atol=FIVE)
    small = np.array([[1e-300], [2e-300], [1e-45], [0.0]])  # differ in some bits alone
    assert (share(BitSampling([1.0]), small, 3) == 0).all()


def test_probabilities_fall_with_the_distance():
    d = np.linspace(0, 1, 200)
    for family, most in (
        (StableProjections(1, 0.3), 9),
        (StableProjections(2, 0.3), 9),
        (Hyperplanes(), np.pi),
        (BitSampling([2.0]), 2),
        (MinHash(), 1),
    ):
        p = family.collision(d * most)
        assert p[0] == 1
        assert (np.diff(p) < 0).all()
        assert (p >= 0).all()


@pytest.mark.parametrize("width", [0, -1, np.nan, np.inf, "1", None])
def test_a_width_is_a_number(width):
    with pytest.raises(ValueError, match=r"width=.*: give a finite number > 0"):
        StableProjections(2, width).collision(1.0)
    with pytest.raises(ValueError, match="p=3: give 1 or 2"):
        StableProjections(3).collision(1.0)


# --- sets ----------------------------------------------------------------------------------------


def pairs_of(J, size, rng):
    """Two sets of random items with Jaccard's index J."""
    shared = round(2 * size * J / (1 + J))
    items = [f"w{i}" for i in rng.choice(10**6, 2 * size - shared, replace=False)]
    return set(items[:size]), set(items[size - shared :])


def test_functions_of_items_are_permutations():
    """No function makes two items equal that have different numbers."""
    items = [{f"w{i}"} for i in range(40_000)]
    different = len(np.unique(item_numbers([item for one in items for item in one])))
    S = MinHash(12).fit_transform(items)
    assert {len(np.unique(column)) for column in S.T} == {different}


@pytest.mark.parametrize("J", [0.0, 0.2, 0.5, 0.8, 1.0])
def test_signatures_are_equal_as_often_as_sets_overlap(J):
    rng = np.random.default_rng(3)
    sets = [s for _ in range(400) for s in pairs_of(J, 60, rng)]
    exact = np.array([len(a & b) / len(a | b) for a, b in zip(sets[::2], sets[1::2])])
    minhash = MinHash(128)
    S = minhash.fit_transform(sets)
    found = (S[::2] == S[1::2]).mean(axis=1)
    expected = np.sqrt((exact * (1 - exact)).mean() / 128)
    assert np.sqrt(((found - exact) ** 2).mean()) <= 1.15 * expected
    assert abs((found - exact).mean()) <= 5 * expected / np.sqrt(400)
    assert_allclose(minhash.similarity(S[:6], S[:5]), (S[:6, None] == S[:5]).mean(axis=2))
    assert_allclose(minhash.collision(1 - exact), exact)


@pytest.mark.parametrize("items", [20, 1000])
def test_one_permutation_estimates_as_well(items):
    rng = np.random.default_rng(1)
    sets = []
    for shared in rng.integers(0, items + 1, 300):
        names = [f"{name:x}" for name in rng.integers(0, 2**60, 2 * items - shared).tolist()]
        sets += [names[:items], names[items - shared :]]
    exact = np.array([len({*a} & {*b}) / len({*a} | {*b}) for a, b in zip(sets[::2], sets[1::2])])
    S = MinHash(128, one_permutation=True).fit_transform(sets)
    found = (S[::2] == S[1::2]).mean(axis=1)
    expected = np.sqrt((exact * (1 - exact)).mean() / 128)
    assert np.sqrt(((found - exact) ** 2).mean()) <= (1.15 if items > 128 else 2.5) * expected
    assert abs((found - exact).mean()) <= 0.02
    S = MinHash(9, one_permutation=True).fit_transform([[], ["a"], []])
    assert (S[0] == S[2]).all()
    assert (S[0] != S[1]).all()


def test_signatures_from_given_permutations():
    """By the definition; columns of a matrix and items that are numbers are the same."""
    rng = np.random.default_rng(0)
    X = (rng.random((30, 12)) < 0.3).astype(float)
    X[4] = 0
    orders = np.array([rng.permutation(12) for _ in range(70)])
    minhash = MinHash(70, permutations=orders).fit()
    S = minhash.transform(X)
    for row, signature in zip(X, S):
        items = np.flatnonzero(row)
        wanted = orders[:, items].min(axis=1) if len(items) else np.full(70, 2**32 - 1)
        assert_array_equal(signature, wanted)
    assert_array_equal(minhash.transform([set(np.flatnonzero(row).tolist()) for row in X]), S)
    with pytest.raises(ValueError, match="item 12, but permutations has 12 items"):
        minhash.transform([{12}])
    with pytest.raises(ValueError, match="item 'a', but permutations"):
        minhash.transform([{"a"}])


def test_signatures_do_not_depend_on_other_sets_or_on_the_process():
    text = "[{'a', 1, b'x', ('u', 2), None, 2.5, frozenset({1, 'z'})}, {'é\\ud800', True}, set()]"
    sets = eval(text)
    S = MinHash(20).fit_transform(sets)
    for chosen in ([2, 0], [1], [0, 0, 1]):
        assert_array_equal(MinHash(20).fit_transform([sets[i] for i in chosen]), S[chosen])
    code = f"from mercer import MinHash; print(MinHash(20).fit_transform({text}).tolist())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(S.tolist())
    assert (S[2] == 2**32 - 1).all()


def test_items_that_are_equal_have_one_number():
    one, *others = item_numbers([1, 1.0, True, np.int8(1), np.True_, "1", b"1", (1,)])
    assert (others[:4] == one).all()
    assert len({one, *others[4:]}) == 4
    a, b, c = item_numbers([("a", 1), ("a", True), (1, "a")])
    assert a == b != c
    with pytest.raises(TypeError, match=r"cannot hash the item .* of type object"):
        item_numbers(["a", object()])


def test_numbers_of_items_do_not_depend_on_what_is_beside_them():
    items = ["", "a", "ab", "b", "\0", "\0\0", "\x1f", "\x1fa", "é\ud800", np.str_("np"),
             0, -1, -2, 2**70, 0.5, float("nan"), b"", None, (), ("a",), frozenset({1, "a"}),
             (("a",),)]  # fmt: skip
    together = item_numbers(items)
    assert len(set(together.tolist())) == len(items)
    assert_array_equal(together, [item_numbers([item])[0] for item in items])
    assert item_numbers([float("nan")]) == item_numbers([np.float32("nan")])
    assert item_numbers([]).shape == (0,)
    texts, whole = items[:10], [0, -1, 2**61 - 2, -(2**61)]
    assert_array_equal(item_numbers(texts), together[:10])
    assert_array_equal(item_numbers(whole), [item_numbers([float("nan"), x])[1] for x in whole])


@pytest.mark.parametrize("items", [[f"word{i}" for i in range(20_000)], list(range(20_000))])
def test_numbers_of_items_look_random(items):
    numbers = item_numbers(items)
    assert len(np.unique(numbers)) > len(items) - 4
    bits = (numbers[:, None] >> np.arange(32, dtype=np.uint32)) & 1
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 0.02
    assert np.abs(np.corrcoef(bits.T) - np.eye(32)).max() < 0.04


def test_raw_sets_have_the_signatures_of_encoded_ones():
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(40)] + list(range(9)) + [None]
    raw = [[words[i] for i in rng.integers(0, 50, n)] for n in (0, 1, 5, 30, 30)]
    minhash = MinHash(70).fit()
    wanted = minhash.hashes(Jaccard().encode(raw)).view(np.uint32)
    for X in (raw, [set(row) for row in raw], [tuple(row) for row in raw],
              np.array([frozenset(row) for row in raw], object)):  # fmt: skip
        assert_array_equal(minhash.transform(X), wanted)
    joined = MinHash(70, separator=";").fit().transform(["w1; w2;w1", "", "w3"])
    assert_array_equal(joined, minhash.transform([["w1", "w2"], [], ["w3"]]))
    some = MinHash(70, separator=";").fit().transform([["w1", "w2"], "", "w3"])
    assert_array_equal(some, joined)
    for wrong in ("text", {"a"}, ["text"], [], [None], 3):
        with pytest.raises((TypeError, ValueError), match="X"):
            minhash.transform(wrong)


def test_blocks_of_rows_change_nothing(monkeypatch):
    rows = [[f"w{i * j % 7}" for j in range(i % 5)] for i in range(20)] + [[1, "a"]]
    wanted = MinHash(16).fit_transform(rows)
    monkeypatch.setattr("mercer.search.minhash.ROWS", 3)
    assert_array_equal(MinHash(16).fit_transform(rows), wanted)


def test_conventions():
    minhash = MinHash(8, separator=",", random_state=3)
    assert repr(clone(minhash)) == repr(minhash)
    S = minhash.fit(["a, b"]).transform(["b,a", "a"])
    assert_array_equal(S[0], MinHash(8, random_state=3).fit().transform([{"a", "b"}])[0])
    assert (S[0] != MinHash(8, random_state=4).fit_transform([{"a", "b"}])[0]).any()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: MinHash(0).fit(), ValueError, "n_hashes=0: give a whole number >= 1"),
        (lambda: MinHash(1.5).fit(), ValueError, r"n_hashes=1\.5"),
        (lambda: MinHash(4).transform([{1}]), ValueError, "not fitted"),
        (lambda: MinHash(4).fit_transform(["ab"]), TypeError, "compares sets"),
        (lambda: MinHash(4, separator="").fit(), ValueError, "separator=''"),
        (lambda: MinHash(2, permutations=[[0, 1]]).fit(), ValueError, "whole numbers of shape"),
        (lambda: MinHash(1, permutations=[[0.5]]).fit(), ValueError, "whole numbers of shape"),
        (lambda: MinHash(1, permutations=[[-1]]).fit(), ValueError, "ranks from 0"),
        (lambda: MinHash(4).fit_transform([{object()}]), TypeError, "cannot hash the item"),
        (lambda: MinHash(4).similarity([[1, 2]]), ValueError, "S has shape .* give signatures"),
        (
            lambda: MinHash(4).similarity(np.zeros((1, 2), np.uint32), np.zeros((1, 3), np.uint32)),
            ValueError,
            "signatures of 2 entries and T of 3",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    "family",
    [Hyperplanes(), StableProjections(), StableProjections(1), BitSampling(np.ones(4)), MinHash()],
    ids=repr,
)
def test_families_are_sensitive(family):
    """Nearer rows than d1 share a hash more often than p1, and farther ones than d2 less."""
    found = family.sensitivity(0.3, 0.8)
    assert found == (0.3, 0.8, found.p1, found.p2)
    assert (family.collision(np.linspace(0, 0.3, 9)) >= found.p1).all()
    assert (family.collision(np.linspace(0.8, 9, 9)) <= found.p2).all()
    assert 0 < found.exponent < 1
    several = found.amplified(n_hashes=3, n_tables=5)
    assert_allclose(several[2:], [1 - (1 - p**3) ** 5 for p in found[2:]])
    for d1, d2 in ((0.8, 0.3), (-1, 2), ("a", 1)):
        with pytest.raises(ValueError, match="give two distances, 0 <= d1 < d2"):
            family.sensitivity(d1, d2)


def test_rows_that_never_meet():
    assert MinHash().sensitivity(0.5, 1.0) == Sensitivity(0.5, 1.0, 0.5, 0.0)
    assert MinHash().sensitivity(0.5, 1.0).exponent == 0


def test_signatures_have_names():
    model = MinHash(3).fit([{"a"}, {"b"}])
    assert model.get_feature_names_out().tolist() == ["minhash0", "minhash1", "minhash2"]
