"""The loops of edit distances with hostile arrays: every length about the widths of words, every
size of table, any number of texts about the number of lanes, limits that are too small, and arrays
that the bindings must refuse."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer import _native

LEVENSHTEIN, OSA, COMMON = range(3)
CODES = [np.uint8, np.int32]
LENGTHS = [0, 1, 2, 63, 64, 65, 127, 128, 129, 150]


def table(x, z, variant):
    """The last cell of the textbook's table, one row after the other."""
    before, row = None, np.arange(len(z) + 1) * (variant != COMMON)
    for i, a in enumerate(x):
        old, row = row, np.empty_like(row)
        row[0] = 0 if variant == COMMON else i + 1
        for j, b in enumerate(z):
            if variant == COMMON:
                row[j + 1] = old[j] + 1 if a == b else max(old[j + 1], row[j])
                continue
            row[j + 1] = min(old[j] + (a != b), old[j + 1] + 1, row[j] + 1)
            if variant == OSA and i and j and a == z[j - 1] and x[i - 1] == b:
                row[j + 1] = min(row[j + 1], before[j - 1] + 1)
        before = old
    return row[-1]


def flat(strings, dtype):
    values = np.array([c for s in strings for c in s], dtype)
    return values, np.cumsum([0, *map(len, strings)])


def measured(X, Z, symbols, variant, limit=-1, dtype=np.uint8):
    guarded = np.full((len(X) + 2, len(Z)), -7.0)
    _native.edit_distances(
        *flat(X, dtype), *flat(Z, dtype), symbols, variant, limit, False, guarded[1:-1]
    )
    assert (guarded[[0, -1]] == -7).all()
    return guarded[1:-1]


@pytest.mark.spread(4)
@pytest.mark.parametrize("variant", [LEVENSHTEIN, OSA, COMMON])
@pytest.mark.parametrize("symbols", [1, 3, 8, 9, 16, 17, 32, 33, 256])
def test_lengths_tables_and_limits(variant, symbols):
    rng = np.random.default_rng(symbols)
    base = rng.integers(0, symbols, 150)

    def near(length):
        text = base[:length].copy()
        for i in rng.integers(0, max(length - 1, 1), 4 if length > 1 else 0):
            text[i : i + 2] = text[i : i + 2][::-1]
            text[i // 2] = rng.integers(0, symbols)
        return text.tolist()

    X = [near(n) for n in (0, 64, 65, 129)]
    Z = [near(n) for n in LENGTHS] + [rng.integers(0, symbols, 70).tolist()]
    wanted = np.array([[table(x, z, variant) for z in Z] for x in X])
    for dtype in CODES:
        assert_array_equal(measured(X, Z, symbols, variant, dtype=dtype), wanted)
    for limit in () if variant == COMMON else (0, 1, 3, 10, 63, 64, 65, 149, 150, 2**40):
        found = measured(X, Z, symbols, variant, limit)
        assert_array_equal(found[wanted <= limit], wanted[wanted <= limit])
        assert (found[wanted > limit] > limit).all()


@pytest.mark.spread(1)
@pytest.mark.parametrize("variant", [OSA, COMMON])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 33])
def test_any_number_of_texts(count, variant):
    rng = np.random.default_rng(count)
    texts = [rng.integers(0, 4, rng.integers(0, 90)).tolist() for _ in range(count)]
    wanted = np.array([[table(x, z, variant) for z in texts] for x in texts]).reshape(count, count)
    out = np.empty((count, count))
    strings = flat(texts, np.uint8)
    _native.edit_distances(*strings, *strings, 4, variant, -1, True, out)
    assert_array_equal(out, wanted)
    assert_array_equal(measured(texts, texts, 4, variant), wanted)
    few = texts[: count // 2]
    assert_array_equal(measured(few, texts, 4, variant), wanted[: count // 2])


def test_common_symbols_of_more_blocks_than_registers_hold():
    rng = np.random.default_rng(0)
    X = [rng.integers(0, 4, n).tolist() for n in (511, 512, 513, 1030, 5)]
    Z = [rng.integers(0, 5, n).tolist() for n in (0, 3, 40)]
    wanted = np.array([[table(x, z, COMMON) for z in Z] for x in X])
    assert_array_equal(measured(X, Z, 5, COMMON), wanted)
    assert_array_equal(measured(Z, X, 5, COMMON), wanted.T)


def test_strings_within_a_larger_array():
    values, starts = np.array([9, 1, 2, 3, 9, 9], np.uint8), np.array([1, 4, 4])
    out = np.empty((2, 2))
    _native.edit_distances(values, starts, values, starts + 1, 10, LEVENSHTEIN, -1, False, out)
    assert_array_equal(out, [[2, 3], [3, 0]])


def arguments(**changes):
    values, starts = np.array([0, 1, 2], np.uint8), np.array([0, 1, 3])
    given = {"x": values, "x_starts": starts, "z": values, "z_starts": starts, "alphabet": 3,
             "variant": 0, "limit": -1, "same": False, "out": np.zeros((2, 2))}  # fmt: skip
    return given | changes


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"x_starts": [0, 1]}, ValueError, "shapes must be"),
        ({"z_starts": [0, 1, 2, 3]}, ValueError, "shapes must be"),
        ({"out": np.zeros((2, 1))}, ValueError, "shapes must be"),
        ({"x_starts": [0, 2, 1]}, IndexError, "starts must ascend"),
        ({"z_starts": [0, 1, 4]}, IndexError, "starts must ascend"),
        ({"z_starts": [-1, 1, 3]}, IndexError, "starts must ascend"),
        ({"x_starts": [], "out": np.zeros((0, 2))}, ValueError, "shapes must be"),
        ({"alphabet": 2}, IndexError, r"values must be in 0 \.\. alphabet - 1"),
        ({"alphabet": 0}, ValueError, "alphabet must be in"),
        ({"alphabet": 2**25}, ValueError, "alphabet must be in"),
        ({"variant": 3}, ValueError, "variant in"),
        ({"variant": -1}, ValueError, "variant in"),
        ({"same": True, "z": np.array([0, 1, 2], np.uint8)}, ValueError, "the same arrays"),
        ({"out": np.zeros((2, 2), np.float32)}, TypeError, "incompatible"),
        ({"out": np.zeros((2, 2), order="F")}, TypeError, "incompatible"),
        ({"x": np.zeros(3)}, TypeError, "incompatible"),
        ({"z": np.zeros(3, np.int32)}, TypeError, "incompatible"),
    ],
)
def test_what_is_refused(changes, error, message):
    changes = {k: np.array(v, np.int64) if "starts" in k else v for k, v in changes.items()}
    with pytest.raises(error, match=message):
        _native.edit_distances(**arguments(**changes))


def test_negative_codes_are_refused():
    values = np.array([0, -1, 2], np.int32)
    with pytest.raises(IndexError, match="values must be in"):
        _native.edit_distances(**arguments(x=values, z=values))


@pytest.mark.parametrize("variant", [LEVENSHTEIN, OSA, COMMON])
@pytest.mark.parametrize("symbols", [3, 9, 33, 256])
@pytest.mark.parametrize("dtype", CODES)
def test_listed_pairs(variant, symbols, dtype):
    rng = np.random.default_rng(symbols)
    X = [rng.integers(0, symbols, n).tolist() for n in (0, 5, 16, 17, 32, 33, 64, 65, 129)]
    Z = [rng.integers(0, symbols, n).tolist() for n in LENGTHS]
    wanted = np.array([[table(x, z, variant) for z in Z] for x in X])
    pairs = np.argwhere(np.ones(wanted.shape, bool)).copy()
    for listed in (pairs, rng.permutation(pairs), pairs[:1], pairs[:0]):
        for most in (2**40, 20):
            limits, guarded = np.full(len(listed), most), np.full(len(listed) + 2, -7.0)
            limits[::2] -= 15
            both = *flat(X, dtype), *flat(Z, dtype)
            _native.edit_pairs(*both, symbols, variant, listed, limits, guarded[1:-1])
            assert (guarded[[0, -1]] == -7).all()
            found, right = guarded[1:-1], wanted[listed[:, 0], listed[:, 1]]
            near = (right <= limits) | (variant == COMMON)
            assert_array_equal(found[near], right[near])
            assert (found[~near] > limits[~near]).all()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"x_starts": []}, ValueError, r"n \+ 1 entries"),
        ({"z_starts": []}, ValueError, r"n \+ 1 entries"),
        ({"pairs": np.zeros((2, 3), np.int64)}, ValueError, "shapes must be"),
        ({"limits": np.zeros(1, np.int64)}, ValueError, "shapes must be"),
        ({"out": np.zeros(3)}, ValueError, "shapes must be"),
        ({"pairs": np.array([[0, 0], [2, 0]])}, IndexError, "numbers of strings"),
        ({"pairs": np.array([[0, 0], [0, -1]])}, IndexError, "numbers of strings"),
        ({"pairs": np.array([[0, 2**62], [0, 0]])}, IndexError, "numbers of strings"),
        ({"x_starts": [0, 2, 1]}, IndexError, "starts must ascend"),
        ({"z_starts": [0, 1, 4]}, IndexError, "starts must ascend"),
        ({"z_starts": [-1, 1, 3]}, IndexError, "starts must ascend"),
        ({"alphabet": 2}, IndexError, r"values must be in 0 \.\. alphabet - 1"),
        ({"alphabet": 2**25}, ValueError, "alphabet must be in"),
        ({"variant": 3}, ValueError, "variant in"),
        ({"pairs": np.zeros((2, 2), np.int32)}, TypeError, "incompatible"),
        ({"out": np.zeros(2, np.float32)}, TypeError, "incompatible"),
    ],
)
def test_listed_pairs_that_are_refused(changes, error, message):
    changes = {k: np.array(v, np.int64) if "starts" in k else v for k, v in changes.items()}
    given = arguments() | {"pairs": np.array([[0, 0], [1, 1]]), "limits": np.zeros(2, np.int64)}
    given = {name: v for name, v in given.items() if name not in ("limit", "same")}
    given["out"] = np.zeros(2)
    _native.edit_pairs(**given)
    with pytest.raises(error, match=message):
        _native.edit_pairs(**given | changes)


def with_costs(**changes):
    (x, x_starts), (z, z_starts) = flat([[0, 1, 2], []], np.uint8), flat([[2], [1, 1]], np.uint8)
    given = {
        "x": x,
        "x_starts": x_starts,
        "z": z,
        "z_starts": z_starts,
        "gap": 1.0,
        "classes": np.array([0, 1, 1], np.int32),
        "replace": np.array([[1.0, 2.0], [2.0, 3.0]]),
        "same": False,
        "out": np.full((2, 2), -7.0),
    }
    given |= changes
    _native.weighted_edit_distances(**given)
    return given["out"]


def test_costs_of_classes():
    assert_array_equal(with_costs(), [[2, 3], [1, 2]])


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"classes": np.array([0, 2, 1], np.int32)}, IndexError, "classes must be in"),
        ({"classes": np.array([0, -1, 1], np.int32)}, IndexError, "classes must be in"),
        ({"classes": np.array([0, 1], np.int32)}, IndexError, "alphabet"),
        ({"replace": np.ones((2, 1))}, ValueError, "square"),
        ({"replace": np.ones((0, 0))}, ValueError, "square"),
        ({"out": np.empty((2, 3))}, ValueError, "shapes"),
        ({"x_starts": np.array([0, 4, 3])}, IndexError, "starts"),
        ({"same": True}, ValueError, "same"),
    ],
)
def test_costs_that_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        with_costs(**changes)


# --- local alignments -----------------------------------------------------------------------------


def aligned_call(lengths=(3, 0, 5), others=(2, 4), symbols=4, **more):
    rng = np.random.default_rng(0)
    pairs = rng.normal(size=(symbols, symbols))
    pairs = np.exp(pairs + pairs.T)
    pairs[:, 0] = 0
    X, Z = ([rng.integers(1, symbols, n).tolist() for n in each] for each in (lengths, others))
    (x, x_starts), (z, z_starts) = flat(X, np.uint8), flat(Z, np.uint8)
    given = {
        "x": x, "x_starts": x_starts, "z": z, "z_starts": z_starts, "pairs": pairs, "open": 0.1,
        "extend": 0.5, "same": False, "out": np.zeros((len(X), len(Z))),
    }  # fmt: skip
    return {**given, **more}, X, Z


def sum_of_alignments(x, z, pairs, open, extend):
    """Each pair after any earlier one, with the gaps between them."""
    sums = np.zeros((len(x), len(z)))
    gaps = np.append(1.0, open * extend ** np.arange(len(x) + len(z)))
    for i, a in enumerate(x):
        for j, b in enumerate(z):
            sums[i, j] = pairs[a, b] * (1 + gaps[:i][::-1] @ sums[:i, :j] @ gaps[:j][::-1])
    return np.log(1 + sums.sum())


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 8, 9, 16, 17, 33])
def test_sums_over_alignments_of_any_number_of_texts(count):
    """Texts about the number of lanes, of every length from 0 on, also longer than the pattern."""
    for symbols in (2, 25, 256):
        given, X, Z = aligned_call((0, 1, 7), tuple(range(count)), symbols)
        guarded = np.full((len(X) + 2, len(Z)), -7.0)
        _native.local_alignments(**{**given, "out": guarded[1:-1]})
        assert (guarded[[0, -1]] == -7).all()
        expected = [[sum_of_alignments(x, z, given["pairs"], 0.1, 0.5) for z in Z] for x in X]
        np.testing.assert_allclose(
            guarded[1:-1].reshape(len(X), -1), np.reshape(expected, (len(X), -1)), rtol=1e-12
        )
    same = aligned_call((4,) * count, (4,) * count)[0]
    same |= {"z": same["x"], "z_starts": same["x_starts"], "same": True}
    whole = same | {"out": np.zeros((count, count)), "same": False}
    _native.local_alignments(**same)
    _native.local_alignments(**whole)
    np.testing.assert_allclose(same["out"], whole["out"], rtol=1e-12)


def test_sums_that_are_too_large_for_floats():
    for factor, n in ((1e100, 9), (1e40, 100), (1.0, 300), (0.0, 5)):
        pairs = np.array([[0, 1], [0, factor]])
        x = np.ones(n, np.uint8)
        out, starts = np.zeros((1, 1)), np.array([0, n])
        _native.local_alignments(x, starts, x, starts, pairs, 0.0, 0.0, True, out)
        assert np.isfinite(out).all()
        if factor > 1:
            np.testing.assert_allclose(out, n * np.log(factor), rtol=1e-2)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("x", np.full(8, 4, np.uint8), IndexError), ("z", np.full(6, 255, np.uint8), IndexError),
        ("x_starts", np.array([0, 5, 3, 8]), IndexError),
        ("x_starts", np.array([0, 1]), ValueError),
        ("z_starts", np.array([0, 2, 7]), IndexError), ("pairs", np.zeros((4, 3)), ValueError),
        ("pairs", np.zeros((0, 0)), ValueError), ("pairs", np.ones((4, 4)), ValueError),
        ("pairs", np.full((4, 4), np.nan), ValueError),
        ("pairs", np.full((4, 4), -1.0), ValueError),
        ("open", 1.5, ValueError), ("open", np.nan, ValueError), ("extend", -0.1, ValueError),
        ("out", np.zeros((2, 2)), ValueError), ("same", True, ValueError),
        ("x", np.zeros(8, np.int32), TypeError), ("out", np.zeros((3, 2), np.float32), TypeError),
    ],
)  # fmt: skip
def test_alignments_that_are_refused(name, value, error):
    given, _, _ = aligned_call()
    _native.local_alignments(**given)
    with pytest.raises((error, ValueError) if error is IndexError else error):
        _native.local_alignments(**given | {name: value})
