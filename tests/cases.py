"""One list of (kernel, sample) and one of (distance, sample), over which properties are tested.

A test fails when a public kernel or distance is absent from them. Samples are raw, small, and
hold duplicates, a constant column, zeros and a zero row.
"""

from __future__ import annotations

import re
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from lanes import written
from mercer import distances as d, kernels as k
from mercer.distances.products import dense_rows, inner_products


def vectors(n=13, columns=4, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, columns)).round(3)
    X[1] = X[0]  # a duplicate
    X[2] = 0  # a zero row
    X[3:, -1] = 0.5  # a column that is nearly constant
    return X


def counts():
    return np.round(np.abs(vectors(seed=1)) * 3)


def indicators():
    return (vectors(seed=2) > 0.3).astype(float)


def places():
    """Latitudes and longitudes: twins, neighbours, both poles, antipodes, once more round."""
    X = np.random.default_rng(5).uniform([-1.5, -3.1], [1.5, 3.1], (12, 2)).round(3)
    X[1], X[2], X[3], X[4] = X[0], X[0] + 1e-4, [np.pi / 2, 0.3], [-np.pi / 2, -2.0]
    X[5], X[6] = [-X[0, 0], X[0, 1] - np.pi], X[0] + [0, 2 * np.pi]
    return X


def gaps():
    """Vectors with missing numbers, which share a known column two by two."""
    X = vectors(seed=6)
    X[0, 1] = X[1, 1] = X[4, 0] = X[5, 0] = X[5, 1] = X[7, 2] = X[8, 2] = np.nan
    return X


def categories():
    rng = np.random.default_rng(3)
    return np.stack(
        [rng.choice(list("abc"), 11), rng.choice(["x", "y", "é"], 11), ["one"] * 11], axis=1
    ).astype(object)


def texts():
    """Strings with repetitions, empty and short ones, NUL, a surrogate, a character beyond 2^16."""
    words = ["banana", "ananas", "", "a", "bananas and an ananas", "\0\0\0", "é\ud800a😀", "anna"]
    return [*words, "nan" * 12, "banana"]


def dna(n=9, length=30):
    rng = np.random.default_rng(4)
    strings = ["".join(rng.choice(list("ACGT"), length)) for _ in range(n)]
    return [*strings, strings[0], strings[1][3:] + "ACG", "A" * length]


def proteins(n=8):
    """Relatives, with letters that are no amino acid, and an empty one."""
    rng = np.random.default_rng(5)
    first = rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 24)
    rows = [np.where(rng.random(24) < 0.3, rng.permutation(first), first) for _ in range(n)]
    return [*("".join(row) for row in rows), "MKVXBZ*U", "", "".join(rows[0][5:])]


def tokens():
    words = ["the", "cat", "sat", "on", "the", "mat", "and", "the", "dog", "sat", "on", "the"]
    return [words[i : 3 * i] for i in range(6)]


def sets():
    """With an empty one, twins, and one of many items."""
    return [{"tea", "milk"}, {"milk", "tea"}, set(), {1, ("a", 2), "tea"}, ["rum"], {*range(90)},
            {*range(50, 99)}, set()]  # fmt: skip


def baskets():
    """Counts of items, with an empty one, twins, and one of many items."""
    return [{"tea": 2, "milk": 1}, ["milk", "tea", "tea"], {}, {1, ("a", 2), "tea"}, ["rum"] * 70,
            {i: 1 + i % 4 for i in range(90)}, [*range(50, 99), *range(60)], set()]  # fmt: skip


def names():
    """With an empty one, twins, NUL, a surrogate, and lengths about 64."""
    return ["kitten", "sitting", "", "kitten", "ca\0t", "é\ud800", "ac", "ab" * 31 + "c",
            "ab" * 32, "ba" * 33 + "é", ""]  # fmt: skip


def phrases():
    return [["to", "be"], ["or", "not", "to", "be"], [], ["be", "to"], [1, ("x", 2)], ["to", "be"]]


def table():
    numbers, words = vectors(11), categories()
    return pd.DataFrame(
        {"age": numbers[:, 0], "pay": numbers[:, 1], "job": words[:, 0], "sex": words[:, 1]}
    )


def series():
    """Of different lengths, one point, twins, constant ones, and numbers far apart."""
    rng = np.random.default_rng(7)
    found = [rng.normal(size=n).round(3) for n in (9, 9, 5, 1, 2, 33, 12)]
    return [*found, found[0], np.zeros(4), np.full(7, 0.5), np.array([40.0, -40.0, 0.0])]


def bags():
    """Of different sizes, one point, and twins in another order."""
    rng = np.random.default_rng(9)
    found = [rng.normal(size=(n, 2)).round(3) for n in (4, 1, 8, 3, 16, 2)]
    return [*found, found[0][::-1], np.zeros((2, 2)), np.array([[1.0, -1.0], [0.0, 0.5]])]


def small_bags():
    """Without the largest, for what takes long for each pair."""
    found = bags()
    return [*found[:2], *found[3:4], *found[5:8]]


def weighted_bags():
    """With a weight of each point in the first column: equal ones, and one of 0."""
    rng = np.random.default_rng(19)
    found = [np.column_stack([rng.uniform(0.2, 3, n), rng.normal(size=(n, 2))]) for n in (3, 1, 5)]
    alone = np.array([[0.0, 9.0, 9.0], [2.0, 0.5, 1.0]])
    return [bag.round(3) for bag in (*found, found[0][::-1] * [2, 1, 1], alone, alone[1:])]


def smooth_series():
    """Steps below 1, of different lengths, one point, and twins."""
    rng = np.random.default_rng(17)
    found = [np.cumsum(rng.normal(0, 0.4, n)).round(3) for n in (6, 6, 4, 1, 2, 7)]
    return [*found, found[0], np.full(3, 0.5)]


def graphs():
    """With labels: none and one node, isolated ones, a loop, twins, two parts, rings, a clique."""
    ring = [(i, (i + 1) % 6) for i in range(6)]
    clique = [(i, j) for j in range(5) for i in range(j)]
    chain = (4, [(0, 1), (1, 2), (2, 3)], ["C", "C", "O", "C"])
    return [
        (0, [], []), (1, [], ["C"]), (3, [], ["C", "O", "O"]), chain,
        (4, [(3, 2), (2, 1), (1, 0)], ["C", "C", "O", "C"]), (2, [(0, 0), (0, 1)], ["C", "N"]),
        (6, ring, list("CCCCCC")), (6, ring, list("CCOCCO")), (5, clique, list("CCNNO")),
        (7, [*ring, (0, 3), (2, 6)], list("CNCOCCO")), (5, [(0, 1), (2, 3), (3, 4)], list("CCCCO")),
    ]  # fmt: skip


def trees():
    """None and one node, a chain, many children, twins, one label alone, brackets and tuples."""
    return [
        (), "(A)", "(S (NP she) (VP runs))", "(S (NP she) (VP (V runs) (ADV fast)))",
        ("S", ("NP", "she"), ("VP", "runs")), "(S (NP (D the) (N man)) (VP (V sees) (NP she)))",
        "(A (A (A (A A))))", "(A (B) (C) (B) (A B C) (B))", "(A (C) (B) (A B C) A)",
        "( (S (VP (V runs) (ADV fast))))", "(A (A A A) (A A))",
    ]  # fmt: skip


def bonded_graphs():
    """With labels of edges too."""
    found = []
    for n, edges, labels in graphs():
        bonds = [("single", "double")[(u + v + n) % 2] for u, v in edges]
        found.append((n, edges, labels, bonds))
    return found


def small_graphs():
    """With labels of edges, two loops, twins in another order, and at most four nodes.

    Few, since each pair takes milliseconds. The first has edges: graphs that are compared with a
    sample without any have no labels of edges.
    """
    loops = (2, [(0, 0), (0, 1), (1, 1)], ["C", "N"], ["double", "single", "single"])
    return [loops, *bonded_graphs()[:5]]


def bare_graphs():
    """Without labels."""
    return [(n, edges) for n, edges, _ in graphs()]


def network():
    """Weights of edges between nodes: two parts, and a node without edges."""
    rng = np.random.default_rng(9)
    A = np.triu(rng.uniform(0.5, 2, (9, 9)) * (rng.random((9, 9)) < 0.4), 1).round(3)
    A[8] = A[:, 8] = 0
    A[:3, 3:] = 0
    return A + A.T


def nodes():
    """Numbers of nodes, with twins."""
    return np.array([[0.0], [1], [1], [2], [3], [4], [5], [6], [7], [8], [0], [7]])


def channels():
    """The same length of each, two channels."""
    return list(np.random.default_rng(8).normal(size=(6, 4, 2)).round(3))


def short_strings():
    """Duplicates, an empty string, one symbol, symbols beyond ASCII, and none in common."""
    return ["gattaca", "gattaca", "tagacat", "", "a", "aaaaaa", "cat", "éa∂t", "zz", "gcgcatgcat"]


def many_symbols():
    """Over more symbols than a byte can number."""
    return [list(range(300)), list(range(299, -1, -5)), [7, 7, 7, 295], [1, 2, 3], [], [290, 7, 1]]


def rows(X):
    """The raw rows that the oracles read."""
    if isinstance(X, pd.DataFrame):
        return X.to_dict("records")
    return X.tolist() if isinstance(X, np.ndarray) else X


def one_plus_dot(X, Z):
    return 1.0 + inner_products(X, Z)


def one_plus_first_squared(X):
    return 1 + dense_rows(X)[:, 0] ** 2


def words_in_common(a, b):
    return float(len(set(a) & set(b)))


def words_apart(a, b):
    return float(len(set(a) ^ set(b)))


def objects():
    """Tuples of one length, which numpy would make a matrix of, and of others."""
    return [("tea", "milk"), ("milk", "tea"), ("rum", 1), (), ("tea",), ("tea", "milk"), ("a", "b")]


WEIGHTS = [0.5, 0.0, 2.0, 1.5]
S = [[2.0, 0.5, 0.0, 0.0], [0.5, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.2], [0.0, 0.0, 0.2, 0.5]]
NUMBERS, WORDS = ["age", "pay"], ["job", "sex"]

BINARY = ["jaccard", "dice", "sokalsneath", "rogerstanimoto", "russellrao", "yule"]
VARIANTS = ["levenshtein", "indel", "osa", "damerau", "lcs", "hamming"]

DISTANCES = [
    *[(d.Minkowski(p), vectors()) for p in (0, 0.5, 1, 1.5, 2, 3.7, np.inf)],
    *[(d.Minkowski(p, WEIGHTS), vectors()) for p in (0, 0.5, 1, 2, 3, np.inf)],
    (d.Mahalanobis(), vectors()),
    (d.Mahalanobis(S), vectors()),
    (d.Cosine(), vectors()),
    *[(d.SquaredEuclidean(w), vectors()) for w in (None, WEIGHTS)],
    *[(d.NanEuclidean(w), gaps()) for w in (None, [0.5, 0.1, 2.0, 1.5])],
    (d.NanEuclidean(), vectors()),
    *[(d.Canberra(w), vectors()) for w in (None, WEIGHTS)],
    *[(d.BrayCurtis(w), counts()) for w in (None, WEIGHTS)],
    (d.BrayCurtis(), vectors()),
    (d.Haversine(), places()),
    *[(d.Binary(name), indicators()) for name in BINARY],
    *[(d.Binary(name, [0.5, 0.1, 2.0, 1.5]), indicators()) for name in BINARY],
    (d.Jaccard(), indicators()),
    (d.Jaccard(), sets()),
    (d.Dice(), sets()),
    *[(d.Tanimoto(*formula), X) for formula in ((), ("dot",)) for X in (counts(), baskets())],
    *[(d.Edit(variant), names()) for variant in VARIANTS],
    *[(d.Edit(variant, normalised=True), names()) for variant in VARIANTS],
    *[(d.Edit(variant), phrases()) for variant in ("indel", "damerau")],
    (d.Edit(), [s.encode("utf-8", "surrogatepass") for s in names()]),
    (d.JaroWinkler(), names()),
    (d.WeightedEdit(0.7, 1.3), names()),
    (d.WeightedEdit(2.0, 0.3, {"ai": 0.1, "éb": 9.0}, normalised=True), names()),
    (d.WeightedEdit(pairs=[("to", "be", 0.25)]), phrases()),
    (d.JaroWinkler(0), phrases()),
    (d.Match(), categories()),
    (d.Match([1.0, 0.5, 2.0]), categories()),
    (d.SmoothedMatch(), categories()),
    (d.LogFrequency(weights=[0.5, 2.0, 1.0]), categories()),
    (d.SmoothedMatch(weights=[0.5, 2.0, 1.0]), categories()),
    (d.LogFrequency(), categories()),
    (d.Mixed([(d.Minkowski(1), NUMBERS), (d.Match(), WORDS)], [0.5, 2.0]), table()),
    (d.Mixed([(d.SmoothedMatch(), WORDS), (d.Mahalanobis(), NUMBERS)]), table()),
    (d.Sum([d.Edit(), d.KernelDistance(k.Spectrum(2))], [0.5, 2.0]), texts()),
    (d.Sum([d.Minkowski(1), d.KernelDistance(k.RBF())], power=2), vectors()),
    (d.KernelDistance(k.RBF()), vectors()),
    (d.KernelDistance(k.Match()), categories()),
    (d.Mahalanobis(precision=S), vectors()),
    (d.Mahalanobis(precision=np.diag([1.0, 2.0, 0.0, 0.0])), vectors()),
    *[(d.MappedMinkowski(WEIGHTS, p), vectors()) for p in (1, 2)],
    *[(d.MappedMinkowski(S, p), vectors()) for p in (1, 1.5, 2)],
    (d.MappedMinkowski(S[:2]), vectors()),
    *[(d.PairDifferences(p), vectors()) for p in (0, 0.5, 1, 2, np.inf)],
    (d.FromFunction(words_apart, metric=False), objects()),
    *[(rho, series()) for rho in (d.DTW(), d.ERP(0.3), d.MSM(0.5), d.TWED(0.1, 0.3))],
    *[(d.DTW(window), channels()) for window in (None, 0, 1, 0.5)],
    *[(rho, channels()) for rho in (d.ERP(), d.MSM(), d.TWED())],
    *[(d.SoftDTW(s), series()) for s in (0.01, 1.0)],
    *[(d.SlicedWasserstein(*sizes), bags()) for sizes in ((), (3, 16), (5, 7, 2))],
    *[(d.GraphEdit(*costs), small_graphs()) for costs in ((), (0.7, 0.4, 2.0, 0.3))],
    (d.GraphEdit(1.5, 0.5), [graph[:2] for graph in small_graphs()]),
    *[(d.Sinkhorn(epsilon, tol=1e-12), small_bags()) for epsilon in (2.0, 40.0)],
    (d.Sinkhorn(2.5, weight_column=0, tol=1e-12), weighted_bags()),
    (d.KernelDistance(k.MeanMap(k.RBF(0.3))), bags()[:6]),  # without twins
    (d.KernelDistance(k.FromFunction(words_in_common)), objects()),
]

KERNELS = [
    (k.Linear(), vectors()),
    (k.Polynomial(2, 0.5, 0.0), vectors()),
    (k.Polynomial(3, "scale", 1.0), vectors()),
    (k.Sigmoid(0.5, -1.0), vectors()),
    (k.Cosine(), vectors()),
    (k.AllSubsets(), vectors()),
    (k.ANOVA(1), vectors()),
    (k.ANOVA(3), vectors()),
    *[(k.RBF(gamma), vectors()) for gamma in (0.3, "scale", "auto", "median")],
    (k.RBF(0.3, d.Minkowski(2, WEIGHTS)), vectors()),
    (k.RBF(0.3, d.Mahalanobis()), vectors()),
    (k.RBF("median", d.Match()), categories()),
    *[(k.Laplacian(gamma), vectors()) for gamma in (0.3, "median")],
    (k.Laplacian(0.3, d.Minkowski(1, WEIGHTS)), vectors()),
    *[(k.ExponentialPower(1.5, power), vectors()) for power in (0.5, 1, 2)],
    (k.ExponentialPower(1.0, 1.4, d.MappedMinkowski(S)), vectors()),
    (k.ExponentialPower(1.0, 1.0, d.MappedMinkowski(WEIGHTS, 1)), vectors()),
    *[
        (k.ExponentialPower(2.0**p, p, d.Minkowski(q)), vectors())
        for p, q in ((1, 1), (0.7, 1.4), (2, 2))
    ],
    (k.ExponentialPower(2.0, 1, d.Minkowski(1.5, WEIGHTS)), vectors()),
    *[(k.Matern(nu, 1.3), vectors()) for nu in (0.5, 1.5, 2.5, 0.8, 3.3, np.inf)],
    (k.RationalQuadratic(0.7, 1.4), vectors()),
    (k.ChiSquared(0.2), counts()),
    (k.HistogramIntersection(), counts()),
    *[
        (kernel, samples)
        for kernel in (k.Intersection(), k.DerivedSubsets(), k.Jaccard(), k.Dice())
        for samples in (sets(), indicators())
    ],
    *[(k.Tanimoto(*formula), X) for formula in ((), ("dot",)) for X in (counts(), baskets())],
    (k.Intersection().normalised(), sets()),
    (k.DerivedSubsets().normalised(), sets()),
    *[(k.EditRBF(0.3, variant), names()) for variant in VARIANTS],
    (k.EditRBF(2.0), phrases()),
    (k.EditRBF(0.2).normalised(), names()),
    (k.FromDistance(d.Edit(normalised=True), 0.5), names()),
    (k.FromDistance(d.Jaccard(), 0.5), sets()),
    (k.Match(), categories()),
    (k.Match([1.0, 0.5, 2.0]), categories()),
    (k.Additive(), vectors()),
    (k.Additive([(0, 1), (3, 1)], 2.0, WEIGHTS, [0.5, 2.0], [2]), vectors()),
    (k.FromDistance(d.Minkowski(1), 0.5), vectors()),
    (k.FromDistance(d.Jaccard(), 2.0), indicators()),
    (k.FromDistance(d.SmoothedMatch()), categories()),
    (k.FromDistance(d.LogFrequency(), 0.3, 2.0), categories()),
    (k.FromDistance(d.Mixed([(d.Minkowski(1), NUMBERS), (d.Match(), WORDS)])), table()),
    *[(k.Spectrum(length), texts()) for length in (1, 2, 3)],
    (k.Spectrum(3).normalised(), texts()),
    (k.Spectrum(6), dna()),
    (k.Spectrum(2), tokens()),
    (k.Spectrum(4, shortest=1, decay=0.7), texts()),
    (k.Spectrum(12, shortest=1), dna()),
    (k.Spectrum(2, sublinear=True, idf=True), texts()),
    (k.Spectrum(3, shortest=1, sublinear=True), texts()),
    (k.Spectrum(2, shortest=1, decay=0.5, idf=True), tokens()),
    (k.Mismatch(3, 1), texts()),
    (k.Mismatch(2, 0), texts()),
    *[(k.Mismatch(length, most), dna()) for length, most in ((4, 1), (4, 2), (3, 2), (1, 0))],
    (k.Mismatch(2, 1), tokens()),
    (k.GappedKmer(3, 2), texts()),
    (k.GappedKmer(7, 5), dna()),
    (k.GappedKmer(4, 4), dna()),
    (k.GappedKmer(6, 4, both_strands=True), dna()),
    (k.GappedKmer(6, 4, both_strands=True).normalised(), [s.lower() for s in dna()]),
    (k.GappedKmer(5, 3, both_strands=True), [s.encode() for s in dna()]),
    (k.GappedKmer(4, 2, both_strands=True, filter="full", weights="centre", peak=9), dna()),
    (k.GappedKmer(4, 2, True, mismatches=1, filter="truncated"), dna()),
    (k.GappedKmer(4, 3, mismatches=0, weights="centre", half_life=3), texts()),
    (k.GappedKmer(4, 2, mismatches=3, filter="truncated"), dna()),
    (k.LocalAlignment(), proteins()),
    (k.LocalAlignment(beta=0.05, open=3), [s.lower().encode() for s in proteins()]),
    (k.LocalAlignment((5, -4), 4, 0.5, 0.3), texts()),
    (k.LocalAlignment((1.0, -1.0), 2, 2, 1.0), tokens()),
    *[(k.WeightedDegree(degree), dna()) for degree in (1, 3, 8, 40)],
    *[(k.WeightedDegree(3, shift), dna()) for shift in (1, 4, 50)],
    (k.WeightedDegree(2, 1), ["", "", "", ""]),
    *[(k.GlobalAlignment(scale), series()) for scale in (1.0, 5.0)],
    (k.GlobalAlignment(2.0, triangle=3), series()),
    (k.GlobalAlignment(), channels()),
    *[(k.KDTW(scale), series()) for scale in (0.4, 5.0)],
    (k.KDTW(2.0, window=3), series()),
    (k.KDTW(), channels()),
    (k.SoftDTWRBF(0.1, 0.5), series()),
    *[(k.Signature(levels), smooth_series()) for levels in (1, 3, None)],
    (k.Signature(3, 1.5), smooth_series()),
    (k.Signature(2, "auto", time=True, basepoint=True), smooth_series()),
    (k.Signature(None, 2.0, time=True, basepoint=True), smooth_series()),
    (k.Signature(3), channels()),
    (k.Signature(2).normalised(), smooth_series()),
    (k.Convolutions(), series()[:5] + series()[6:]),  # the twin takes long for the longest
    (k.Convolutions(3), channels()),
    *[(k.MeanMap(kernel), bags()) for kernel in (None, k.Linear(), k.RBF(0.3), k.RBF(0.3) ** 4)],
    (k.MeanMap(k.Laplacian(0.5)).normalised(), bags()),
    *[(k.Bhattacharyya(*ridge), bags()) for ridge in ((), (1.0,))],
    *[(k.GaussianMeanMap(*gamma), bags()) for gamma in ((), (0.3,))],
    (k.RBF(0.5, d.KernelDistance(k.MeanMap(k.RBF(0.3)))), bags()),
    (k.RBF("median", d.SlicedWasserstein(4, 16)), bags()),
    (k.VertexHistogram(), graphs()),
    *[(k.WeisfeilerLehman(h), graphs()) for h in (0, 1, 4)],
    (k.WeisfeilerLehman(2), bare_graphs()),
    (k.WeisfeilerLehman(3).normalised(), graphs()),
    *[(k.WLOptimalAssignment(h), graphs()) for h in (0, 3)],
    (k.ShortestPath(), graphs()),
    (k.ShortestPath(), bare_graphs()),
    *[(k.Graphlets(size), graphs()) for size in (3, 4)],
    (k.Propagation(2, 0.3), graphs()),
    (k.RandomWalk(), graphs()),
    (k.RandomWalk(0.02, labels=True), graphs()),
    *[(k.RandomWalk(0.4, 3, labels), graphs()) for labels in (False, True)],
    *[(k.Subtree(decay), trees()) for decay in (1.0, 0.3)],
    *[(k.SubsetTree(decay), trees()) for decay in (1.0, 0.4)],
    (k.SubsetTree().normalised(), trees()),
    *[(k.PartialTree(*decays), trees()) for decays in ((1.0, 1.0), (0.4, 0.7))],
    *[(k.RandomWalk(0.02, steps, True), bonded_graphs()) for steps in (None, 4)],
    (k.WeisfeilerLehman(3), bonded_graphs()),
    *[
        (kernel(network(), *rest), nodes())
        for rest in ((1.3,), (0.2, "normalised"))
        for kernel in (k.Diffusion, k.RegularisedLaplacian)
    ],
    (k.Diffusion((9, [(0, 1), (1, 2), (3, 4)])), nodes()),
    *[(k.PStepWalk(network(), *rest), nodes()) for rest in ((), (3, 11.0), (1, 2, "normalised"))],
    (k.FromDistance(d.DTW(1), 0.5), channels()),
    (k.FromFunction(one_plus_dot, at_once=True), vectors()),
    (k.FromFunction(words_in_common, positive_definite=True), objects()),
    (k.FromFunction(words_in_common).normalised(), objects()),
    (k.FromFunction(np.dot), vectors()),
    (k.FromDistance(d.FromFunction(words_apart)), objects()),
    (k.Precomputed(), np.cov(vectors())),
    *[
        (k.QueryKey([[1.0, 0, 0, 2], [0, 1, 0, 0]], [[1.0, 0, 1, 0], [0, 0, 0, 1]], *m), vectors())
        for m in ((), ("rbf",), ("distance", 2.0), ("quadratic",), ("intersection", 0.5))
    ],
    (k.RBF(0.5).on(*NUMBERS), table()),
    (k.RBF(0.5).on("age") + k.Match().on(*WORDS), table()),
    (k.RBF("scale").on("age") * k.Linear().on("pay"), table()),
    *[
        (k.TableKernel([(k.RBF("scale"), NUMBERS), (k.Match(), WORDS)], combine), table())
        for combine in ("product", "sum", "interactions")
    ],
    (
        k.TableKernel([(k.Linear(), NUMBERS), (k.Match(), WORDS)], "interactions", [0.5, 2.0]),
        table(),
    ),
    (k.TableKernel([(k.Linear(), NUMBERS), (k.Match(), WORDS)], "sum", [0.5, 2.0]), table()),
    (k.TableKernel([(k.Linear(), NUMBERS), (k.Match(), WORDS)]), table()),
    (k.Linear() + k.RBF(0.5), vectors()),
    (k.Linear() + 2 * k.Polynomial(2), vectors()),
    (k.Linear() * k.RBF(0.5), vectors()),
    (k.Linear() * k.ANOVA(2), vectors()),
    (2.5 * k.Laplacian(0.5), vectors()),
    (k.Linear() ** 3, vectors()),
    (k.Exponential(0.5 * k.Linear()), vectors()),
    (k.Exponential(0.5 * k.Linear()).normalised(), vectors()),
    (k.AllSubsets().normalised(), vectors()),
    (k.Polynomial(2).normalised(), vectors()),
    (k.Linear().normalised(), vectors()),
    (k.Centred(k.RBF(0.5)), vectors()),
    (k.Modulated(k.RBF(0.5), one_plus_first_squared), vectors()),
    (k.Modulated(k.Linear(), one_plus_first_squared), vectors()),
    (k.Mapped(k.Linear(), np.abs), vectors()),
    (k.AllSubsequences(), short_strings()),
    (k.AllSubsequences(0.5), short_strings()),
    (k.AllSubsequences().normalised(), short_strings()),
    (k.AllSubsequences(0.3).normalised(), many_symbols()),
    (k.FixedLengthSubsequences(1), short_strings()),
    (k.FixedLengthSubsequences(3), short_strings()),
    (k.FixedLengthSubsequences(9), short_strings()),
    *[(k.GapWeighted(p, decay), short_strings()) for p, decay in ((1, 0.5), (3, 0.5), (4, 1.0))],
    (k.GapWeighted(3, 0.7, up_to=True), short_strings()),
    (k.GapWeighted(2, 0.9).normalised(), many_symbols()),
    *[(k.ArcCosine(degree), vectors()) for degree in (0, 1, 2)],
    *[(k.ArcCosine(degree, layers), vectors()) for degree, layers in ((0, 2), (1, 5), (2, 3))],
    (k.NormalisedGaussian(), vectors()),
    (k.NeuralNetworkGP(), vectors()),
    (k.NeuralNetworkGP(3, 1.7, 0.2), vectors()),
    (k.NeuralTangent(), vectors()),
    (k.NeuralTangent(3, 1.7, 0.2), vectors()),
    (k.Layered(k.ArcCosine(1), 2), vectors()),
    (k.Layered([k.ArcCosine(1), k.ArcCosine(0)], 2), vectors()),
    (k.Layered(k.RBF(0.5), 3), vectors()),
    (k.Layered([k.Polynomial(2, 0.5), k.Linear(), k.NeuralTangent()]), vectors()),
    (k.Layered(k.ArcCosine(1), 2, k.Spectrum(2)), texts()),
    (k.Layered(k.ArcCosine(0), 1, k.Jaccard()), sets()),
    (k.Layered(k.ArcCosine(0), 2, k.RBF("scale").on("age") + k.Match().on(*WORDS)), table()),
    (k.Layered(k.ArcCosine(2), 2, k.Layered(k.ArcCosine(0), 1, k.EditRBF(0.3))), names()),
    (k.ArcCosine(0).normalised(), vectors()),
    (k.Convex([k.Linear(), k.RBF("scale")], [0.25, 0.75]), vectors()),
    (k.Convex([k.Linear(), k.Polynomial(2)]), vectors()),
]


def molecules():
    """Twins in three spellings, without atoms, a salt, mirror images, without rings or torsions."""
    return ["CCO", "OCC", "InChI=1S/C2H6O/c1-2-3/h3H,2H2,1H3", "", "O", "CC(=O)[O-].[Na+]",
            "C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O", "c1ccccc1", "CC(C)Cc1ccc(cc1)C(C)C(=O)O",
            "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "CCCCCCCCO"]  # fmt: skip


ON_MOLECULES = [
    *[(k.Morgan(*radius), molecules()) for radius in ((), (0,), (3, "dot"))],
    (k.Morgan(roles=True, stereo=True), molecules()),
    *[(k.AtomPairs(*formula), molecules()) for formula in ((), ("dot", True))],
    *[(k.Torsions(*formula), molecules()) for formula in ((), ("dot", True))],
    *[(k.AtomAssignment(*radius), molecules()) for radius in ((), (0,), (3,))],
    *[(k.Descriptors(*gamma), molecules()) for gamma in ((), (0.7,))],
]
BETWEEN_MOLECULES = [
    (d.Tanimoto(fingerprint="morgan"), molecules()),
    (d.Tanimoto("dot", "paths"), molecules()),
]
#: kernels without a case, where RDKit is not installed
LACKING = set() if find_spec("rdkit") else {type(kernel) for kernel, _ in ON_MOLECULES}
if not LACKING:
    KERNELS += ON_MOLECULES
    DISTANCES += BETWEEN_MOLECULES


def of_each_class(some):
    """Cases of a test whose subject is another: the quick lane takes the first of each class and
    kind of samples."""
    seen, found = set(), []
    for case in some:
        shown = type(case[0]), case[0].kind
        found.append(pytest.param(case, marks=[pytest.mark.full] * (shown in seen)))
        seen.add(shown)
    return found


def name(case):
    """A readable test id."""
    if isinstance(case, tuple):
        return name(case[0])
    text = " ".join(written(case).split())
    return re.sub(r" at 0x\w+", "", text)  # the same in every process
