"""One list of (kernel, sample) and one of (distance, sample), over which properties are tested.

A test fails when a public kernel or distance is absent from them. Samples are raw, small, and
hold duplicates, a constant column, zeros and a zero row.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from mercer import distances as d
from mercer import kernels as k
from mercer.distances.vectors import dense, inner_products


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


def categories():
    rng = np.random.default_rng(3)
    return np.stack(
        [rng.choice(list("abc"), 11), rng.choice(["x", "y", "é"], 11), ["one"] * 11], axis=1
    ).astype(object)


def sets():
    """With an empty one, twins, and one of many items."""
    return [{"tea", "milk"}, {"milk", "tea"}, set(), {1, ("a", 2), "tea"}, ["rum"], {*range(90)},
            {*range(50, 99)}, set()]  # fmt: skip


def strings():
    """With an empty one, twins, NUL, a surrogate, and lengths about 64."""
    return ["kitten", "sitting", "", "kitten", "ca\0t", "é\ud800", "ac", "ab" * 31 + "c",
            "ab" * 32, "ba" * 33 + "é", ""]  # fmt: skip


def tokens():
    return [["to", "be"], ["or", "not", "to", "be"], [], ["be", "to"], [1, ("x", 2)], ["to", "be"]]


def table():
    numbers, words = vectors(11), categories()
    return pd.DataFrame(
        {"age": numbers[:, 0], "pay": numbers[:, 1], "job": words[:, 0], "sex": words[:, 1]}
    )


def rows(X):
    """The raw rows that the oracles read."""
    if isinstance(X, pd.DataFrame):
        return X.to_dict("records")
    if isinstance(X, list):
        return X
    return X.tolist()


def one_plus_dot(X, Z):
    return 1.0 + inner_products(X, Z)


def one_plus_first_squared(X):
    return 1 + dense(X)[:, 0] ** 2


WEIGHTS = [0.5, 0.0, 2.0, 1.5]
S = [[2.0, 0.5, 0.0, 0.0], [0.5, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.2], [0.0, 0.0, 0.2, 0.5]]
NUMBERS, WORDS = ["age", "pay"], ["job", "sex"]

VARIANTS = ["levenshtein", "indel", "osa", "damerau", "lcs", "hamming"]

DISTANCES = [
    *[(d.Minkowski(p), vectors()) for p in (0, 0.5, 1, 1.5, 2, 3.7, np.inf)],
    *[(d.Minkowski(p, WEIGHTS), vectors()) for p in (0, 0.5, 1, 2, 3, np.inf)],
    (d.Mahalanobis(), vectors()),
    (d.Mahalanobis(S), vectors()),
    (d.Cosine(), vectors()),
    (d.Jaccard(), indicators()),
    (d.Jaccard(), sets()),
    (d.Dice(), sets()),
    *[(d.Edit(variant), strings()) for variant in VARIANTS],
    *[(d.Edit(variant, normalised=True), strings()) for variant in VARIANTS],
    *[(d.Edit(variant), tokens()) for variant in ("indel", "damerau")],
    (d.Edit(), [s.encode("utf-8", "surrogatepass") for s in strings()]),
    (d.JaroWinkler(), strings()),
    (d.JaroWinkler(0), tokens()),
    (d.Match(), categories()),
    (d.Match([1.0, 0.5, 2.0]), categories()),
    (d.SmoothedMatch(), categories()),
    (d.LogFrequency(), categories()),
    (d.Mixed([(d.Minkowski(1), NUMBERS), (d.Match(), WORDS)], [0.5, 2.0]), table()),
    (d.Mixed([(d.SmoothedMatch(), WORDS), (d.Mahalanobis(), NUMBERS)]), table()),
    (d.KernelDistance(k.RBF()), vectors()),
    (d.KernelDistance(k.Match()), categories()),
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
    *[(k.LpqLaplace(p, q, 2.0), vectors()) for p, q in ((1, 1), (0.7, 1.4), (2, 2))],
    (k.LpqLaplace(1, 1.5, 2.0, WEIGHTS), vectors()),
    *[(k.Matern(nu, 1.3), vectors()) for nu in (0.5, 1.5, 2.5, 0.8, 3.3, np.inf)],
    (k.RationalQuadratic(0.7, 1.4), vectors()),
    (k.ChiSquared(0.2), counts()),
    (k.HistogramIntersection(), counts()),
    *[
        (kernel, samples)
        for kernel in (k.Intersection(), k.DerivedSubsets(), k.Jaccard(), k.Dice())
        for samples in (sets(), indicators())
    ],
    (k.Intersection().normalised(), sets()),
    (k.DerivedSubsets().normalised(), sets()),
    *[(k.EditRBF(0.3, variant), strings()) for variant in VARIANTS],
    (k.EditRBF(2.0), tokens()),
    (k.EditRBF(0.2).normalised(), strings()),
    (k.FromDistance(d.Edit(normalised=True), 0.5), strings()),
    (k.FromDistance(d.Jaccard(), 0.5), sets()),
    (k.Match(), categories()),
    (k.Match([1.0, 0.5, 2.0]), categories()),
    (k.FromDistance(d.Minkowski(1), 0.5), vectors()),
    (k.FromDistance(d.Jaccard(), 2.0), indicators()),
    (k.FromDistance(d.SmoothedMatch()), categories()),
    (k.FromDistance(d.LogFrequency(), 0.3, 2.0), categories()),
    (k.FromDistance(d.Mixed([(d.Minkowski(1), NUMBERS), (d.Match(), WORDS)])), table()),
    (k.FromCallable(one_plus_dot), vectors()),
    (k.QueryKey([[1.0, 0, 0, 2], [0, 1, 0, 0]], [[1.0, 0, 1, 0], [0, 0, 0, 1]]), vectors()),
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
    (k.Convex([k.Linear(), k.RBF("scale")], [0.25, 0.75]), vectors()),
    (k.Convex([k.Linear(), k.Polynomial(2)]), vectors()),
]


def name(case):
    """A readable test id."""
    if isinstance(case, tuple):
        return name(case[0])
    return re.sub(r" at 0x\w+", "", " ".join(repr(case).split()))  # the same in every process
