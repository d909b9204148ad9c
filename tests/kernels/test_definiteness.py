"""What kernels of a distance say about their being positive semidefinite, by eigenvalues.

By Schoenberg's theorem exp(-γ ρ^q) is positive semidefinite for every γ > 0 exactly if ρ^q is
conditionally negative definite: cᵀ ρ^q c <= 0 for all c whose sum is 0. So both sides of a claim
can be shown on points where it is tight, such as the corners of a cube.
"""

from itertools import product

import numpy as np
import pytest

import cases
from mercer.distances import (
    Cosine,
    Dice,
    Distance,
    Edit,
    FromFunction,
    Jaccard,
    JaroWinkler,
    KernelDistance,
    LogFrequency,
    Mahalanobis,
    MappedMinkowski,
    Match,
    Minkowski,
    Mixed,
    SmoothedMatch,
)
from mercer.kernels import (
    RBF,
    ExponentialPower,
    FromDistance,
    Laplacian,
    Matern,
    RationalQuadratic,
    Sigmoid,
    check_mercer,
)

CORNERS = np.array(list(product([0.0, 1.0], repeat=5)))
GRID = np.array(list(product([0.0, 1.0, 2.0], repeat=3)))
AXES = np.concatenate([np.eye(7), -np.eye(7), np.zeros((1, 7))])  # a cross-polytope, and 0
CLOUD = np.random.default_rng(0).standard_t(2, size=(60, 3))
POINTS = [CORNERS, GRID, AXES, CLOUD]
OBTUSE = np.array([[np.cos(t), np.sin(t)] for t in np.linspace(0, 2 * np.pi, 8, endpoint=False)])
SETS = [set(np.flatnonzero(row)) for row in CORNERS]
NAMES = ["a", "ab", "aba", "ba", "bb", "", "abab", "bab"]
WORDS = CORNERS[:, :3].astype(int).astype(str)


def negative(distance, power, samples):
    """Whether ρ^power is conditionally negative definite on the samples, up to rounding."""
    D = distance(samples) ** power
    centred = D - D.mean(axis=0) - D.mean(axis=1)[:, None] + D.mean()
    return np.linalg.eigvalsh(centred)[-1] <= 1e-9 * np.abs(D).sum(axis=1).max()


@pytest.mark.parametrize("case", cases.DISTANCES, ids=cases.name)
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_smaller_powers_do_as_well(case, share):
    """The largest power itself is tried by the contract of distances."""
    distance, samples = case
    power = distance.definite_up_to
    assert 0 <= power <= 2
    if power:
        bound = distance.bind(distance.encode(samples))
        assert negative(bound, share * power, samples)


@pytest.mark.parametrize("p", [0, 0.3, 0.5, 1, 1.3, 1.5, 2])
@pytest.mark.parametrize("weights", [None, [0.5, 2.0, 7.0]])
def test_norms_up_to_two_on_points_where_it_is_tight(p, weights):
    distance = Minkowski(p, weights)
    assert distance.definite_up_to == (p or 1)
    for X in (CORNERS[:, :3], GRID, AXES[:, :3], CLOUD):
        assert negative(distance, p or 1, X)


@pytest.mark.parametrize("p", [0, 0.3, 0.5, 1, 1.3, 1.5, 2])
def test_no_larger_power_would_do(p):
    """The largest powers are no smaller than they have to be: above them, four points show it."""
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    assert not negative(Minkowski(p), 1.02 * (p or 1), square)


@pytest.mark.parametrize("p", [2.5, 3, 10, np.inf])
def test_of_norms_above_two_nothing_is_known(p):
    """Koldobsky 1991, Misiewicz 1989: no power is, in three dimensions and more."""
    assert Minkowski(p).definite_up_to == 0
    assert MappedMinkowski(np.eye(3), p).definite_up_to == 0
    assert not negative(Minkowski(np.inf), 1.0, GRID)


@pytest.mark.parametrize(
    ("distance", "power", "samples"),
    [
        (Mahalanobis(np.diag([1.0, 4.0, 0.2])), 2, CLOUD),
        (Mahalanobis(precision=np.diag([1.0, 0.0, 0.0])), 2, CLOUD),
        (MappedMinkowski(CLOUD[:2], 1), 1, CLOUD),
        (MappedMinkowski(CLOUD[:4], 1.5), 1.5, CLOUD),
        (MappedMinkowski([1.0, 0.0, 3.0], 2), 2, CLOUD),
        (Cosine(), 1, OBTUSE),
        (Cosine(), 1, AXES),
        (Match(), 1, WORDS),
        (Match([1.0, 0.5, 2.0]), 1, WORDS),
        (Jaccard(), 1, SETS),
        (Dice(), 1, SETS),
        (Edit("hamming"), 1, NAMES),
        (KernelDistance(RBF()), 2, CLOUD),
        (KernelDistance(Laplacian()), 2, CLOUD),
        (Mixed([(Minkowski(1), [0, 1]), (Minkowski(2), [2])]), 1, CLOUD),
        (Mixed([(Minkowski(1.5), [0, 1, 2])], [2.0]), 1, CLOUD),
    ],
)
def test_what_is_known_of_other_distances(distance, power, samples):
    assert distance.definite_up_to == power
    assert negative(distance, power, samples)
    assert negative(distance, 0.7 * power, samples)


@pytest.mark.parametrize(
    "distance",
    [
        *[Edit(variant) for variant in ("levenshtein", "indel", "osa", "damerau", "lcs")],
        Edit("hamming", normalised=True),
        JaroWinkler(),
        SmoothedMatch(),
        LogFrequency(),
        FromFunction(lambda a, b: abs(a - b)),
        KernelDistance(RBF(metric=Minkowski(1))),
        KernelDistance(Sigmoid()),
        Mixed([(Minkowski(2), [0]), (Minkowski(np.inf), [1, 2])]),
        Mixed([(Minkowski(0.5), [0]), (Minkowski(1), [1, 2])]),
    ],
)
def test_of_the_others_nothing_is_claimed(distance):
    assert distance.definite_up_to == 0
    for kernel in (FromDistance(distance), Laplacian(metric=distance), RBF(metric=distance)):
        assert kernel.positive_definite is None


def test_products_of_logarithms_of_counts_are_rightly_not_claimed():
    rows = [["a"]] * 30 + [["b"]] * 30 + [["c"]]
    distance = LogFrequency()
    assert not negative(distance.bind(distance.encode(rows)), 1.0, rows)


def test_a_distance_of_a_user_claims_nothing():
    class Theirs(Distance):
        def block(self, X, Z):
            return np.abs(X - Z.T) ** 3

    assert Theirs().definite_up_to == 0
    assert ExponentialPower(metric=Theirs()).positive_definite is None


#: kernels of a distance with the power of it that they need
KERNELS = [
    (lambda rho: RBF(0.3, rho), 2),
    (lambda rho: RationalQuadratic(0.7, 1.4, rho), 2),
    (lambda rho: Matern(1.5, 1.3, rho), 2),
    (lambda rho: Matern(0.6, 1.3, rho), 2),
    (lambda rho: Matern(np.inf, 1.3, rho), 2),
    (lambda rho: Matern(0.5, 1.3, rho), 1),
    (lambda rho: Matern(0.2, 1.3, rho), 1),
    (lambda rho: Laplacian(0.3, rho), 1),
    *[(lambda rho, q=q: ExponentialPower(1.5, q, rho), q) for q in (0.4, 1, 1.3, 2)],
    *[(lambda rho, q=q: FromDistance(rho, 0.3, q), q) for q in (0.4, 1, 1.3, 2, 4)],
]


@pytest.mark.parametrize(("make", "power"), KERNELS)
@pytest.mark.parametrize(
    "distance", [Minkowski(p) for p in (0, 0.5, 1, 1.5, 2, 3, np.inf)] + [Cosine(), Match()]
)
def test_a_kernel_claims_what_its_distance_allows(make, power, distance):
    kernel = make(distance)
    claims = power <= distance.definite_up_to
    assert kernel.positive_definite is (True if claims else None)
    if claims:
        for X in [WORDS] if isinstance(distance, Match) else POINTS:
            check = check_mercer(kernel, X)
            assert check.positive_definite, str(check)


@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (RBF(0.1, Minkowski(1)), CORNERS),
        (RBF(0.1, Minkowski(np.inf)), GRID),
        (RBF(0.1, Cosine()), OBTUSE),
        (RBF(0.1, Match()), WORDS),
        (Laplacian(0.1, Minkowski(np.inf)), GRID),
        (ExponentialPower(10.0, 1.5, Minkowski(1)), CORNERS),
        (ExponentialPower(10.0, 2, Minkowski(1.5)), CORNERS),
        (RationalQuadratic(10.0, 2.0, Minkowski(1)), CORNERS),
        (Matern(1.5, 10.0, Minkowski(1)), CORNERS),
        (Matern(np.inf, 3.0, Minkowski(1)), CORNERS),
        (FromDistance(Minkowski(2), 0.05, 4.0), GRID),
    ],
)
def test_kernels_that_are_rightly_not_claimed(kernel, X):
    assert kernel.positive_definite is None
    assert not check_mercer(kernel, X).positive_definite


@pytest.mark.parametrize("nu", [0.05, 0.2, 0.35, 0.5])
def test_rough_matern_kernels_of_the_manhattan_distance(nu):
    for X in POINTS:
        for length in (0.5, 5.0, 50.0):
            check = check_mercer(Matern(nu, length, Minkowski(1)), X)
            assert check.positive_definite, str(check)


def test_the_usual_distances_keep_the_claims():
    powers = [ExponentialPower(1.0, 2.0), ExponentialPower(1.0, 1, Minkowski(1.5))]
    usual = [RBF(), Laplacian(), *powers, Matern(3.3)]
    assert all(kernel.positive_definite is True for kernel in [*usual, RationalQuadratic()])
    assert RBF(metric=Minkowski(2, [1.0, 2.0])).positive_definite is True
    assert RBF(metric=Mahalanobis()).positive_definite is True
    assert (RBF() + RBF(metric=Minkowski(1))).positive_definite is None
