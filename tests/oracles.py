"""Slow, readable twins: every distance and kernel as a pure-Python function of two raw samples.

``distance(rho, x, z, S)`` and ``kernel(k, x, z, S)`` take one raw row each (a list of numbers, a
list of categories, or a dict of columns) and S, the list of raw training rows, from which they
learn for themselves what the fast versions learn in ``bind``.
"""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np

from mercer import distances as d
from mercer import kernels as k


def distance(rho, x, z, S):
    """ρ(x, z)."""
    return DISTANCES[type(rho)](rho, x, z, S)


def kernel(k_, x, z, S):
    """k(x, z)."""
    return KERNELS[type(k_)](k_, x, z, S)


def block(function, comparison, X, Z, S):
    """function(comparison, x, z, S) for every pair; (n, m)."""
    return np.array([[function(comparison, x, z, S) for z in Z] for x in X])


# --- distances --------------------------------------------------------------------------------


def weights_of(comparison, x, default=1.0):
    w = getattr(comparison, "weights", None)
    return [default] * len(x) if w is None else list(w)


def minkowski(rho, x, z, S, p=None, w=None):
    p = rho.p if p is None else p
    w = weights_of(rho, x) if w is None else w
    gaps = [abs(a - b) for a, b in zip(x, z)]
    if p == 0:
        return sum(wj for wj, gap in zip(w, gaps) if gap != 0)
    if p == math.inf:
        return max(wj * gap for wj, gap in zip(w, gaps))
    return sum(wj * gap**p for wj, gap in zip(w, gaps)) ** (1 / p)


def mahalanobis(rho, x, z, S):
    gap = [a - b for a, b in zip(x, z)]
    if rho.covariance is not None:
        covariance = np.array(rho.covariance, dtype=float)
    else:
        means = [sum(column) / len(S) for column in zip(*S)]
        covariance = np.array(
            [
                [sum((s[i] - means[i]) * (s[j] - means[j]) for s in S) / len(S)
                 for j in range(len(x))]
                for i in range(len(x))
            ]
        )  # fmt: skip
    return math.sqrt(gap @ np.linalg.inv(covariance) @ gap)


def dot(x, z):
    return sum(a * b for a, b in zip(x, z))


def cosine(x, z):
    norms = math.sqrt(dot(x, x) * dot(z, z))
    return max(-1.0, min(1.0, dot(x, z) / norms)) if norms else 0.0


def angle(rho, x, z, S):
    return 0.0 if not (any(x) or any(z)) else math.acos(cosine(x, z))


def jaccard(rho, x, z, S):
    union = dot(x, x) + dot(z, z) - dot(x, z)
    return 1 - dot(x, z) / union if union else 0.0


def match(rho, x, z, S):
    return sum(w for w, a, b in zip(weights_of(rho, x), x, z) if a != b)


def smoothed_match(rho, x, z, S):
    total, l = 0.0, len(S)
    for j, (a, b) in enumerate(zip(x, z)):
        column = [s[j] for s in S]
        if a != b:
            total += 1
            continue
        for q in set(column):
            if column.count(q) <= column.count(a):
                f = column.count(q)
                total += f * (f - 1) / (l * (l - 1))
    return total


def log_frequency(rho, x, z, S):
    columns = list(zip(*S))
    return sum(
        math.log(columns[j].count(a) + 1) * math.log(columns[j].count(b) + 1)
        for j, (a, b) in enumerate(zip(x, z))
        if a != b
    )


def mixed(rho, x, z, S):
    w = [1.0] * len(rho.parts) if rho.weights is None else rho.weights
    return sum(
        wj * distance(part, pick(x, columns), pick(z, columns), [pick(s, columns) for s in S])
        for wj, (part, columns) in zip(w, rho.parts)
    )


def kernel_distance(rho, x, z, S):
    k_ = rho.kernel
    return math.sqrt(max(0.0, kernel(k_, x, x, S) + kernel(k_, z, z, S) - 2 * kernel(k_, x, z, S)))


def pick(row, columns):
    """Some columns of a row of a table."""
    return [row[c] for c in columns]


DISTANCES = {
    d.Minkowski: minkowski,
    d.Mahalanobis: mahalanobis,
    d.Cosine: angle,
    d.Jaccard: jaccard,
    d.Match: match,
    d.SmoothedMatch: smoothed_match,
    d.LogFrequency: log_frequency,
    d.Mixed: mixed,
    d.KernelDistance: kernel_distance,
}


# --- kernels ----------------------------------------------------------------------------------


def rho_of(k_, x, z, S, p):
    """The kernel's own metric, else Minkowski's distance of order p."""
    if getattr(k_, "metric", None) is not None:
        return distance(k_.metric, x, z, S)
    return minkowski(d.Minkowski(p), x, z, S)


def gamma_of(k_, S, p, power):
    """γ, learnt from the training rows where it is a word."""
    if k_.gamma == "scale":
        values = [v for s in S for v in s]
        return 1 / (len(S[0]) * statistics.pvariance(values))
    if k_.gamma == "auto":
        return 1 / len(S[0])
    if k_.gamma == "median":
        pairs = itertools.combinations(S, 2)
        return 1 / statistics.median(rho_of(k_, x, z, S, p) ** power for x, z in pairs)
    return k_.gamma


def polynomial(k_, x, z, S):
    return (gamma_of(k_, S, 2, 2) * dot(x, z) + k_.coef0) ** k_.degree


def anova(k_, x, z, S):
    subsets = itertools.combinations(range(len(x)), k_.degree)
    return float(sum(math.prod(x[j] * z[j] for j in D) for D in subsets))


def matern(k_, x, z, S):
    import scipy.special

    r = rho_of(k_, x, z, S, 2) / k_.length_scale
    if k_.nu == math.inf:
        return math.exp(-r * r / 2)
    t = math.sqrt(2 * k_.nu) * r
    if t == 0:
        return 1.0
    return 2 ** (1 - k_.nu) / math.gamma(k_.nu) * t**k_.nu * float(scipy.special.kv(k_.nu, t))


def chi_squared(k_, x, z, S):
    return math.exp(-k_.gamma * sum((a - b) ** 2 / (a + b) for a, b in zip(x, z) if a + b > 0))


def centred(k_, x, z, S):
    def mean(values):
        return sum(values) / len(values)

    return (
        kernel(k_.kernel, x, z, S)
        - mean([kernel(k_.kernel, x, s, S) for s in S])
        - mean([kernel(k_.kernel, s, z, S) for s in S])
        + mean([kernel(k_.kernel, s, t, S) for s in S for t in S])
    )


def normalised(k_, x, z, S):
    norms = kernel(k_.kernel, x, x, S) * kernel(k_.kernel, z, z, S)
    return kernel(k_.kernel, x, z, S) / math.sqrt(norms) if norms > 0 else 0.0


def convex(k_, x, z, S):
    mu = [1 / len(k_.kernels)] * len(k_.kernels) if k_.weights is None else k_.weights
    return sum(m * kernel(child, x, z, S) for m, child in zip(mu, k_.kernels))


def on(k_, x, z, S):
    c = k_.columns
    return kernel(k_.kernel, pick(x, c), pick(z, c), [pick(s, c) for s in S])


def table(k_, x, z, S):
    w = [1.0] * len(k_.parts) if k_.weights is None else k_.weights
    values = [on(k.On(part, columns), x, z, S) for part, columns in k_.parts]
    if k_.combine == "sum":
        return sum(wj * v for wj, v in zip(w, values))
    if k_.combine == "interactions":
        return math.prod((1 + wj * v) / (1 + wj) for wj, v in zip(w, values))
    return math.prod(values)


def query_key(k_, x, z, S):
    q, s = np.array(k_.queries) @ x, np.array(k_.keys) @ z
    return math.exp(dot(q, s) / math.sqrt(len(k_.queries)))


KERNELS = {
    k.Linear: lambda k_, x, z, S: dot(x, z),
    k.Polynomial: polynomial,
    k.Sigmoid: lambda k_, x, z, S: math.tanh(gamma_of(k_, S, 2, 2) * dot(x, z) + k_.coef0),
    k.Cosine: lambda k_, x, z, S: cosine(x, z),
    k.AllSubsets: lambda k_, x, z, S: math.prod(1 + a * b for a, b in zip(x, z)),
    k.ANOVA: anova,
    k.RBF: lambda k_, x, z, S: math.exp(-gamma_of(k_, S, 2, 2) * rho_of(k_, x, z, S, 2) ** 2),
    k.Laplacian: lambda k_, x, z, S: math.exp(-gamma_of(k_, S, 1, 1) * rho_of(k_, x, z, S, 1)),
    k.ExponentialPower: lambda k_, x, z, S: math.exp(
        -(rho_of(k_, x, z, S, 2) ** k_.power) / k_.scale
    ),
    k.LpqLaplace: lambda k_, x, z, S: math.exp(
        -((minkowski(k_, x, z, S, k_.q) / k_.length_scale) ** k_.p)
    ),
    k.Matern: matern,
    k.RationalQuadratic: lambda k_, x, z, S: (
        (1 + rho_of(k_, x, z, S, 2) ** 2 / (2 * k_.alpha * k_.length_scale**2)) ** -k_.alpha
    ),
    k.ChiSquared: chi_squared,
    k.Intersection: lambda k_, x, z, S: sum(min(a, b) for a, b in zip(x, z)),
    k.Match: lambda k_, x, z, S: sum(
        w for w, a, b in zip(weights_of(k_, x, 1 / len(x)), x, z) if a == b
    ),
    k.FromDistance: lambda k_, x, z, S: math.exp(-k_.gamma * distance(k_.rho, x, z, S) ** k_.power),
    k.FromCallable: lambda k_, x, z, S: 1.0 + dot(x, z),
    k.QueryKey: query_key,
    k.On: on,
    k.TableKernel: table,
    k.Sum: lambda k_, x, z, S: kernel(k_.left, x, z, S) + kernel(k_.right, x, z, S),
    k.Product: lambda k_, x, z, S: kernel(k_.left, x, z, S) * kernel(k_.right, x, z, S),
    k.Scaled: lambda k_, x, z, S: k_.factor * kernel(k_.kernel, x, z, S),
    k.Power: lambda k_, x, z, S: kernel(k_.kernel, x, z, S) ** k_.exponent,
    k.Exponential: lambda k_, x, z, S: math.exp(kernel(k_.kernel, x, z, S)),
    k.Normalised: normalised,
    k.Centred: centred,
    k.Modulated: lambda k_, x, z, S: (1 + x[0] ** 2) * kernel(k_.kernel, x, z, S) * (1 + z[0] ** 2),
    k.Mapped: lambda k_, x, z, S: kernel(
        k_.kernel, list(map(abs, x)), list(map(abs, z)), [list(map(abs, s)) for s in S]
    ),
    k.Convex: convex,
}


# --- solvers ----------------------------------------------------------------------------------


def optimum(f, offset, y, C, alpha, groups):
    """What `_native.smo_optimum` says, variable by variable."""
    violation, levels, gap = 0.0, [], 0.0
    for signs in [[1], [-1]] if groups else [[1, -1]]:
        some = [i for i in range(len(f)) if y[i] in signs]
        rise = [f[i] for i in some if (alpha[i] < C[i] if y[i] > 0 else alpha[i] > 0)]
        fall = [f[i] for i in some if (alpha[i] > 0 if y[i] > 0 else alpha[i] < C[i])]
        free = [f[i] for i in some if 0 < alpha[i] < C[i]]
        if not some:
            levels.append(math.nan)
            continue
        if rise and fall:
            violation = max(violation, max(fall) - min(rise))
        if free:
            level = statistics.fmean(free)
        else:
            high = min(rise) if rise else max(f[i] for i in some)
            level = (high + (max(fall) if fall else min(f[i] for i in some))) / 2
        levels.append(level)
        for i in some:
            slope = y[i] * (f[i] - level)
            gap += alpha[i] * slope - (C[i] * min(slope, 0) if C[i] < math.inf else 0)
    square = sum(y[i] * alpha[i] * (f[i] - offset[i]) for i in range(len(f)))
    linear = sum(y[i] * alpha[i] * offset[i] for i in range(len(f)))
    return violation, levels[0], levels[-1], gap, square, linear
