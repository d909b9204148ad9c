"""Kernels and distances of sets, and the probabilities of hash functions, by enumeration."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from mercer import kernels as k
from mercer.distances import Jaccard, Match, Minkowski
from mercer.search import (
    BitSampling,
    BruteForce,
    Hyperplanes,
    LSHIndex,
    MinHash,
    StableProjections,
)
from mercer.search.families import s_curve

UNIVERSE = range(6)
SETS = [set(), {0}, {0, 1, 2}, {1, 2, 3, 4}, {5}, {0, 1, 2, 3, 4, 5}, {0, 1, 2}]


def pairs(function):
    return np.array([[function(a, b) for b in SETS] for a in SETS])


def jaccard(a, b):
    return len(a & b) / len(a | b) if a | b else 1.0


# --- kernels and distances --------------------------------------------------------------------


def test_intersection_is_the_inner_product_of_indicators():
    indicators = np.array([[u in a for u in UNIVERSE] for a in SETS], float)
    assert_allclose(k.Intersection()(SETS), indicators @ indicators.T)


def test_derived_subsets_has_a_feature_for_each_subset_of_the_universe():
    """φ(A)_U = [U in A] over all 2^6 subsets U: k = 2^#(A∩B)."""
    subsets = [set(c) for r in range(7) for c in itertools.combinations(UNIVERSE, r)]
    features = np.array([[u <= a for u in subsets] for a in SETS], float)
    assert_allclose(k.DerivedSubsets()(SETS), features @ features.T)
    assert_allclose(k.DerivedSubsets()(SETS), pairs(lambda a, b: 2.0 ** len(a & b)))


def test_derived_subsets_normalised_where_they_overflow():
    """2^(#(A∩B) - (#A + #B) / 2), for sets of thousands of items."""
    a, b = set(range(3000)), set(range(10, 3010))
    assert_allclose(k.DerivedSubsets().normalised()([a], [b]), [[2.0**-10]])


def test_jaccard_and_dice():
    assert_allclose(k.Jaccard()(SETS), pairs(jaccard))
    dice = pairs(lambda a, b: 2 * len(a & b) / (len(a) + len(b)) if a | b else 1.0)
    assert_allclose(k.Dice()(SETS), dice)
    assert_allclose(Jaccard()(SETS), 1 - pairs(jaccard))


def test_jaccard_is_positive_semidefinite_and_its_distance_a_metric():
    sets = [set(c) for r in range(5) for c in itertools.combinations(range(4), r)]
    assert np.linalg.eigvalsh(k.Jaccard()(sets)).min() > -1e-12
    D = Jaccard()(sets)
    assert (D[:, :, None] + D[None] >= D[:, None, :] - 1e-12).all()


def test_jaccard_of_indicators():
    """1 - <x, z> / (|x|² + |z|² - <x, z>)."""
    X = np.array([[u in a for u in UNIVERSE] for a in SETS if a], float)
    inner, squares = X @ X.T, (X**2).sum(axis=1)
    assert_allclose(Jaccard()(X), 1 - inner / (squares[:, None] + squares - inner), atol=1e-12)


def test_categories_match():
    rows = np.array([["a", "x"], ["a", "y"], ["b", "y"]], object)
    equal = np.array([[[p == q for p, q in zip(r, s)] for s in rows] for r in rows])
    assert_allclose(Match()(rows), (~equal).sum(axis=2))
    assert_allclose(k.Match()(rows), equal.mean(axis=2))


# --- min-wise hashing -------------------------------------------------------------------------


def test_min_hash_over_all_orders_is_jaccard():
    """P[f_π(A) = f_π(B)] = #(A∩B) / #(A∪B), over all 720 orders of six items."""
    orders = list(itertools.permutations(UNIVERSE))
    S = MinHash(len(orders), permutations=orders).fit_transform(SETS)
    for i, a in enumerate(SETS):
        if a:
            assert_allclose(S[i], [min(order[u] for u in a) for order in orders])
        for j, b in enumerate(SETS):
            assert_allclose(np.mean(S[i] == S[j]), jaccard(a, b))


def test_signatures_estimate_jaccard_within_their_standard_error():
    """Var = J (1 - J) / h for h independent orders."""
    h = 20_000
    a, b = set(range(30)), set(range(10, 40))
    found = MinHash(h).fit_transform([a, b])
    J = jaccard(a, b)
    assert abs(np.mean(found[0] == found[1]) - J) < 4 * math.sqrt(J * (1 - J) / h)


# --- hash families of vectors -----------------------------------------------------------------


def shared(family, x, z, count=200_000):
    """How often functions drawn at random agree on two rows, and its standard error."""
    X = np.array([x, z], float)
    found = family.draw(X, count, np.random.default_rng(0)).hashes(X)
    p = float(np.mean(found[0] == found[1]))
    return p, math.sqrt(max(p * (1 - p), 1e-6) / count)


@pytest.mark.parametrize("angle", [0.1, 0.8, 2.0, 3.0])
def test_hyperplanes(angle):
    """1 - θ / π."""
    wanted = 1 - angle / math.pi
    assert_allclose(Hyperplanes().collision(angle), wanted)
    p, error = shared(Hyperplanes(), [2.0, 0.0], [math.cos(angle), math.sin(angle)])
    assert abs(p - wanted) < 4 * error


@pytest.mark.parametrize("c", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("p", [1, 2])
def test_stable_projections(p, c):
    """∫ from 0 to w of f(t / c) / c (1 - t / w) dt, with f the density of |a| for a stable law."""
    w = 1.7
    density = (stats.norm if p == 2 else stats.cauchy).pdf
    wanted = integrate.quad(lambda t: 2 / c * density(t / c) * (1 - t / w), 0, w)[0]
    if p == 2:
        closed = 1 - 2 * stats.norm.cdf(-w / c)
        closed -= 2 * c / (math.sqrt(2 * math.pi) * w) * (1 - math.exp(-(w**2) / (2 * c * c)))
    else:
        closed = 2 / math.pi * math.atan(w / c) - c / (math.pi * w) * math.log(1 + (w / c) ** 2)
    assert_allclose(closed, wanted, rtol=1e-7)
    family = StableProjections(p, w)
    assert_allclose(family.collision(c), wanted, rtol=1e-7)
    found, error = shared(family, [0.0, 0.0], [c, 0.0])
    assert abs(found - wanted) < 4 * error


def test_bit_sampling():
    """1 - d / T: a column is drawn with the probability of its weight."""
    w = np.array([1.0, 2.0, 3.0, 4.0])
    x, z = np.zeros(4), np.array([1.0, 0.0, 1.0, 0.0])
    wanted = 1 - 4 / 10
    assert_allclose(BitSampling(w).collision(Minkowski(0, w)([x], [z])[0, 0]), wanted)
    found, error = shared(BitSampling(w), x, z)
    assert abs(found - wanted) < 4 * error


@pytest.mark.parametrize(("r", "b"), [(1, 1), (3, 1), (1, 4), (2, 3)])
def test_amplification_by_all_outcomes(r, b):
    """1 - (1 - p^r)^b: some table of b has all of its r functions equal."""
    p, total = 0.4, 0.0
    for outcome in itertools.product([True, False], repeat=r * b):
        if any(all(outcome[t * r : (t + 1) * r]) for t in range(b)):
            total += p ** sum(outcome) * (1 - p) ** (r * b - sum(outcome))
    assert_allclose(s_curve(p, r, b), total, rtol=1e-12)


def test_the_tables_of_an_index_have_the_collision_probability_that_it_promises():
    """p^r in each of a thousand tables, and 1 - (1 - p^r)^b in all together."""
    X, b = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), 1000
    index = LSHIndex(Minkowski(2), near=1.0, n_tables=b, n_hashes=3).fit(X)
    keys = index.keys(index.rows_)
    wanted = float(index.family_.collision(1.0)) ** 3
    shared_keys = np.mean(keys[:, 0] == keys[:, 1])
    assert abs(shared_keys - wanted) < 4 * math.sqrt(wanted * (1 - wanted) / b)
    assert_allclose(index.collision(1.0), 1 - (1 - wanted) ** b)


def test_the_recall_of_an_index_is_what_was_wanted():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 8))
    truth = BruteForce(Minkowski(2)).fit(X).query(X[:200], 5)[1]
    found = LSHIndex(Minkowski(2), recall=0.9, n_neighbors=5).fit(X).query(X[:200], 5)[1]
    recall = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(truth, found)])
    assert recall > 0.85


def test_a_family_is_sensitive_between_two_distances():
    """(d1, d2, p1, p2): p falls with the distance, so p1 and p2 are its values at d1 and d2."""
    families = [Hyperplanes(), StableProjections(2, 2.0), StableProjections(1, 2.0)]
    for family in [*families, BitSampling(np.ones(4)), MinHash()]:
        p = family.collision(np.linspace(0.0, 1.0, 11))
        assert p[0] == pytest.approx(1.0, abs=1e-9)
        assert (np.diff(p) < 0).all()
    assert_allclose(MinHash().collision([0.2, 0.7]), [0.8, 0.3])
