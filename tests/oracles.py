"""Slow, readable twins: every distance and kernel as a pure-Python function of two raw samples.

``distance(rho, x, z, S)`` and ``kernel(k, x, z, S)`` take one raw row each (a list of numbers, a
list of categories, or a dict of columns) and S, the list of raw training rows, from which they
learn for themselves what the fast versions learn in ``bind``.
"""

from __future__ import annotations

import collections
import fractions
import functools
import itertools
import math
import statistics

import numpy as np
from scipy.linalg import expm

from convolution_twin import kernel_features
from mercer import distances as d, kernels as k


def distance(rho, x, z, S):
    """ρ(x, z)."""
    return DISTANCES[type(rho)](rho, x, z, S)


def kernel(k_, x, z, S):
    """k(x, z)."""
    return KERNELS[type(k_)](k_, x, z, S)


def own(k_, x, S):
    """k(x, x), which is computed once for all pairs that x is in."""
    key = id(k_), id(x), id(S)
    if key not in OWN:
        if len(OWN) > 500:
            OWN.clear()
        OWN[key] = kernel(k_, x, x, S), (k_, x, S)  # kept, for else another object has their number
    return OWN[key][0]


OWN: dict = {}


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


def mapped_minkowski(rho, x, z, S):
    A = np.array(rho.linear_map)
    A = np.diag(A) if A.ndim == 1 else A
    return minkowski(d.Minkowski(rho.p), *(A @ np.array(v, float) for v in (x, z)), S)


def pair_differences(rho, x, z, S):
    x, z = ([*v, *(abs(a - b) for a, b in itertools.combinations(v, 2))] for v in (x, z))
    return minkowski(d.Minkowski(rho.p), np.array(x), np.array(z), S)


def mahalanobis(rho, x, z, S):
    gap = np.array([a - b for a, b in zip(x, z)])
    if rho.precision is not None:
        return math.sqrt(gap @ np.array(rho.precision) @ gap)
    if rho.covariance is not None:
        covariance = np.array(rho.covariance, dtype=float)
    else:
        means = [sum(column) / len(S) for column in zip(*S)]
        covariance = np.array(
            [
                [sum((s[i] - means[i]) * (s[j] - means[j]) for s in S) / (len(S) - 1)
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


def squared_euclidean(rho, x, z, S):
    return sum(w * (a - b) ** 2 for w, a, b in zip(weights_of(rho, x), x, z))


def nan_euclidean(rho, x, z, S):
    w = weights_of(rho, x)
    known = [j for j in range(len(x)) if not (math.isnan(x[j]) or math.isnan(z[j]))]
    total = sum(w[j] * (x[j] - z[j]) ** 2 for j in known)
    return math.sqrt(total * sum(w) / sum(w[j] for j in known))


def canberra(rho, x, z, S):
    return sum(
        w * abs(a - b) / (abs(a) + abs(b)) for w, a, b in zip(weights_of(rho, x), x, z) if a or b
    )


def bray_curtis(rho, x, z, S):
    w = weights_of(rho, x)
    apart = sum(wj * abs(a - b) for wj, a, b in zip(w, x, z))
    return apart / sum(wj * (abs(a) + abs(b)) for wj, a, b in zip(w, x, z)) if apart else 0.0


def haversine(rho, x, z, S):
    """The angle between two unit vectors, by their cross and inner product."""
    u, v = ([math.cos(a) * math.cos(b), math.cos(a) * math.sin(b), math.sin(a)] for a, b in (x, z))
    return math.atan2(np.linalg.norm(np.cross(u, v)), np.dot(u, v))


def binary(rho, x, z, S):
    met = collections.Counter()
    for w, p, q in zip(weights_of(rho, x), x, z):
        met[bool(p), bool(q)] += w
    a, b, c, e = met[True, True], met[True, False], met[False, True], met[False, False]
    above, below = {
        "jaccard": (b + c, a + b + c),
        "dice": (b + c, 2 * a + b + c),
        "sokalsneath": (2 * (b + c), a + 2 * (b + c)),
        "rogerstanimoto": (2 * (b + c), a + e + 2 * (b + c)),
        "russellrao": (b + c + e, a + b + c + e),
        "yule": (2 * b * c, a * e + b * c),
    }[rho.name]
    return above / below if below else 0.0


def items(x):
    """A set as it was given: a set, a list of items, or a row of 0 and 1."""
    if isinstance(x, list) and all(isinstance(v, (float, int)) for v in x):
        return {j for j, v in enumerate(x) if v}
    return set(x)


def jaccard(x, z):
    a, b = items(x), items(z)
    return len(a & b) / len(a | b) if a | b else 1.0


def tanimoto(k_, x, z, S):
    """By counters, of items that may repeat, of a dict, or of a row of floats."""
    rows = (dict(enumerate(a)) if isinstance(next(iter(a), 0), float) else a for a in (x, z))
    A, B = map(collections.Counter, rows)
    both = A.keys() | B.keys()
    if k_.formula == "dot":
        xz, xx, zz = (sum(a[i] * b[i] for i in both) for a, b in ((A, B), (A, A), (B, B)))
        return xz / (xx + zz - xz) if xx + zz else 1.0
    whole = sum(max(A[i], B[i]) for i in both)
    return sum(min(A[i], B[i]) for i in both) / whole if whole else 1.0


def molecule(text):
    """Of RDKit; the largest part of a salt."""
    from rdkit import Chem

    whole = Chem.MolFromInchi(text) if text.startswith("InChI") else Chem.MolFromSmiles(text)
    parts = Chem.GetMolFrags(whole, asMols=True)
    return max(parts, key=lambda part: part.GetNumHeavyAtoms()) if parts else whole


def fragments(k_, text):
    from rdkit.Chem import rdFingerprintGenerator as g

    name = getattr(k_, "fingerprint", "")
    name = name if isinstance(name, str) and name else type(k_).__name__
    stereo = {"includeChirality": getattr(k_, "stereo", False)}
    if name == "paths":
        made = g.GetRDKitFPGenerator(maxPath=6)
    elif name in ("AtomPairs", "Torsions"):
        make = g.GetAtomPairGenerator if name == "AtomPairs" else g.GetTopologicalTorsionGenerator
        made = make(**stereo)
    else:
        roles = g.GetMorganFeatureAtomInvGen() if getattr(k_, "roles", False) else None
        radius = getattr(k_, "radius", 2)
        made = g.GetMorganGenerator(radius=radius, atomInvariantsGenerator=roles, **stereo)
    return made.GetSparseCountFingerprint(molecule(text)).GetNonzeroElements()


def atom_colours(text, rounds):
    """Weisfeiler-Lehman colours of the atoms of a molecule, and how many have each."""
    found = molecule(text)
    atoms = [(a.GetSymbol(), a.GetIsAromatic()) for a in found.GetAtoms()]
    counts = collections.Counter(atoms)
    for t in range(rounds):
        atoms = [
            (t, old, *sorted(
                (str(bond.GetBondType()), atoms[bond.GetOtherAtomIdx(i)])
                for bond in found.GetAtomWithIdx(i).GetBonds()
            ))
            for i, old in enumerate(atoms)
        ]  # fmt: skip
        counts.update(atom for atom in atoms if len(atom) > 2)  # it has bonds
    return counts


def by_assignment(k_, x, z, S):
    return (atom_colours(x, k_.radius) & atom_colours(z, k_.radius)).total()


def by_fragments(k_, x, z, S):
    return tanimoto(k_, fragments(k_, x), fragments(k_, z), S)


@functools.cache
def measures(text):
    """Descriptors, by the functions of RDKit that have their names."""
    from rdkit.Chem import rdMolDescriptors as r

    mol = molecule(text)
    some = r.Properties().ComputeProperties(mol)
    found = [*some, *r.SlogP_VSA_(mol), *r.SMR_VSA_(mol), *r.PEOE_VSA_(mol)]
    return [float(f"{v:.8g}") for v in found]


def descriptors(k_, x, z, S):
    total, known = (
        0.0,
        [[v for v in column if math.isfinite(v)] for column in zip(*map(measures, S))],
    )

    def rank(v, column):
        if len(set(column)) < 2 or not math.isfinite(v):
            return 0.5
        return sum((a < v) + (a == v) / 2 for a in column) / len(column)

    for a, b, column in zip(measures(x), measures(z), known):
        total += (rank(a, column) - rank(b, column)) ** 2
    return math.exp(-total * (12 / len(known) if k_.gamma == "scale" else k_.gamma))


def dice(x, z):
    a, b = items(x), items(z)
    return 2 * len(a & b) / (len(a) + len(b)) if a or b else 1.0


def edits(s, t, variant):
    """The least cost of making s into t: the textbook recursion over their beginnings.

    A deletion and an insertion cost 1 each; so does a replacement, which "indel" has not, and an
    exchange of neighbours for "osa" and "damerau".
    """
    if variant == "hamming":
        return sum(a != b for a, b in zip(s, t)) + abs(len(s) - len(t))
    if variant == "lcs":
        return max(len(s), len(t)) - (len(s) + len(t) - edits(s, t, "indel")) // 2
    D = {}
    for i in range(len(s) + 1):
        for j in range(len(t) + 1):
            ways = [D[i - 1, j] + 1] if i else []
            ways += [D[i, j - 1] + 1] if j else []
            if i and j and (variant != "indel" or s[i - 1] == t[j - 1]):
                ways.append(D[i - 1, j - 1] + (s[i - 1] != t[j - 1]))
            swapped = i > 1 and j > 1 and s[i - 2] == t[j - 1] and s[i - 1] == t[j - 2]
            if variant == "osa" and swapped:
                ways.append(D[i - 2, j - 2] + 1)
            if variant == "damerau" and i and j:  # a...b -> b...a; what lies between costs 1 each
                k = max((k for k in range(i - 1) if s[k] == t[j - 1]), default=None)
                l = max((l for l in range(j - 1) if t[l] == s[i - 1]), default=None)
                if k is not None and l is not None:
                    ways.append(D[k, l] + (i - k - 2) + 1 + (j - l - 2))
            D[i, j] = min(ways, default=0)
    return D[len(s), len(t)]


def edit(rho, x, z, S):
    value = edits(x, z, rho.variant)
    if not rho.normalised:
        return value
    longest = len(x) + len(z) if rho.variant == "indel" else max(len(x), len(z))
    return value / longest if longest else 0.0


def weighted_edit(rho, x, z, S):
    """The textbook recursion with costs."""
    pairs = rho.pairs or ()
    if isinstance(pairs, dict):
        pairs = [(*pair, cost) for pair, cost in pairs.items()]
    pairs = {frozenset((a, b)): cost for a, b, cost in pairs}
    D = {}
    for i in range(len(x) + 1):
        for j in range(len(z) + 1):
            ways = [D[i - 1, j] + rho.gap] if i else []
            ways += [D[i, j - 1] + rho.gap] if j else []
            if i and j:
                a, b = x[i - 1], z[j - 1]
                cost = 0 if a == b else pairs.get(frozenset((a, b)), rho.replace)
                ways.append(D[i - 1, j - 1] + cost)
            D[i, j] = min(ways, default=0.0)
    if not rho.normalised:
        return D[len(x), len(z)]
    shorter, longer = sorted((len(x), len(z)))
    change = min(max([rho.replace, *pairs.values()]), 2 * rho.gap)
    most = shorter * change + (longer - shorter) * rho.gap
    return min(D[len(x), len(z)] / most, 1) if most else 0.0


def jaro_winkler(rho, x, z, S):
    """As Winkler 1990 has it: symbols match within half the longer length, less 1."""
    if not x and not z:
        return 0.0
    reach = max(max(len(x), len(z)) // 2 - 1, 0)
    taken, left = set(), []
    for i, symbol in enumerate(x):
        near = range(max(0, i - reach), min(len(z), i + reach + 1))
        j = next((j for j in near if z[j] == symbol and j not in taken), None)
        if j is not None:
            taken.add(j)
            left.append(symbol)
    m = len(left)
    if not m:
        return 1.0
    moved = sum(a != z[j] for a, j in zip(left, sorted(taken))) // 2
    jaro = (m / len(x) + m / len(z) + (m - moved) / m) / 3
    prefix = next((i for i, (a, b) in enumerate(zip(x, z)) if a != b), min(len(x), len(z)))
    return 1 - jaro - (min(prefix, 4) * rho.prefix_weight * (1 - jaro) if jaro > 0.7 else 0)


def match(rho, x, z, S):
    return sum(w for w, a, b in zip(weights_of(rho, x), x, z) if a != b)


def smoothed_match(rho, x, z, S):
    total, l = 0.0, len(S)
    w = [1.0] * len(x) if rho.weights is None else rho.weights
    for j, (a, b) in enumerate(zip(x, z)):
        column = [s[j] for s in S]
        if a != b:
            total += w[j]
            continue
        for q in set(column):
            if column.count(q) <= column.count(a):
                f = column.count(q)
                total += w[j] * f * (f - 1) / (l * (l - 1))
    return total


def log_frequency(rho, x, z, S):
    columns = list(zip(*S))
    w = [1.0] * len(x) if rho.weights is None else rho.weights
    return sum(
        w[j] * math.log(columns[j].count(a) + 1) * math.log(columns[j].count(b) + 1)
        for j, (a, b) in enumerate(zip(x, z))
        if a != b
    )


def mixed(rho, x, z, S):
    w = [1.0] * len(rho.parts) if rho.weights is None else rho.weights
    return sum(
        wj * distance(part, pick(x, columns), pick(z, columns), [pick(s, columns) for s in S])
        for wj, (part, columns) in zip(w, rho.parts)
    )


def sum_of_distances(rho, x, z, S):
    w = [1.0] * len(rho.distances) if rho.weights is None else rho.weights
    total = sum(wj * distance(r, x, z, S) ** rho.power for wj, r in zip(w, rho.distances))
    return total ** (1 / rho.power)


def kernel_distance(rho, x, z, S):
    k_ = rho.kernel
    return math.sqrt(max(0.0, own(k_, x, S) + own(k_, z, S) - 2 * kernel(k_, x, z, S)))


# --- bags of points -----------------------------------------------------------------------------


@functools.lru_cache
def mean_quantiles(rho, bag):
    """The means of the quantiles of a bag in each part of [0, 1], along each line."""
    lines, found = rho._lines(len(bag[0])), []
    for line in lines:
        values = sorted(float(np.dot(point, line)) for point in bag)
        for part in range(rho.levels):
            low, high = part / rho.levels, (part + 1) / rho.levels
            shares = [
                max(0.0, min(high, (i + 1) / len(bag)) - max(low, i / len(bag)))
                for i in range(len(bag))
            ]
            found.append(sum(s * v for s, v in zip(shares, values)) / (high - low))
    return np.array(found)


def sliced_wasserstein(rho, x, z, S):
    x, z = (mean_quantiles(rho, tuple(map(tuple, bag))) for bag in (x, z))
    return math.sqrt(np.mean((x - z) ** 2))


def sinkhorn(rho, x, z, S):
    a, b = (weighted_points(rho, bag) for bag in (x, z))
    between, own = least_work(rho, a, b), [least_work(rho, bag, bag) for bag in (a, b)]
    return math.sqrt(max(0.0, between - sum(own) / 2))


def weighted_points(rho, bag):
    """Pairs of a place and a weight, those of weight 0 left out; weights sum to 1."""
    column = rho.weight_column
    points = [tuple(point) for point in bag]
    if column is None:
        return tuple((point, 1 / len(points)) for point in points)
    total = sum(point[column] for point in points)
    split = [([*point], point[column] / total) for point in points]
    for place, _ in split:
        del place[column]
    return tuple((tuple(place), w) for place, w in split if w > 0)


@functools.lru_cache
def least_work(rho, a, b):
    """The transport of a to b with its entropy, by iteration on logarithms."""
    epsilon = rho.regularisation
    u, v = (np.array([w for _, w in bag]) for bag in (a, b))
    C = np.array([[math.dist(x, z) ** 2 for z, _ in b] for x, _ in a])
    f, g = np.zeros(len(a)), np.zeros(len(b))
    for _ in range(3000):
        new = -epsilon * np.log(np.exp((g - C) / epsilon) @ v)
        before, f = f, (f + new) / 2 if a == b else new
        g = f if a == b else -epsilon * np.log(u @ np.exp((f[:, None] - C) / epsilon))
        if np.array_equal(f, before):
            break
    P = u[:, None] * v * np.exp((f[:, None] + g - C) / epsilon)
    return float((P * C).sum() + epsilon * (P * np.log(P / (u[:, None] * v))).sum())


def graph_edit(rho, x, z, S):
    return least_edit(rho, *(marked_edges(item) for item in (x, z)))


def marked_edges(item, directed=False):
    """Labels of the nodes of a tuple, and those of its edges by their ends."""
    n, edges, labels, marks = (*item, *[None] * (4 - len(item)))
    ends = [tuple(edge) if directed else tuple(sorted(edge)) for edge in edges]
    return labels or [0] * n, dict(zip(ends, marks or [0] * len(edges))), directed


def least_edit(rho, x, z):
    """The graph edit distance, by all one-to-one maps of some nodes to some."""
    (a, E, directed), (b, F, _) = x, z
    best = math.inf
    for count in range(min(len(a), len(b)) + 1):
        free = rho.node_cost * (len(a) + len(b) - 2 * count)
        for some in itertools.combinations(range(len(a)), count):
            for images in itertools.permutations(range(len(b)), count):
                to = dict(zip(some, images))
                cost = free + rho.node_relabel * sum(a[u] != b[v] for u, v in to.items())
                met = 0
                for (u, v), mark in E.items():
                    end = (to.get(u), to.get(v))
                    end = end if directed or None in end else tuple(sorted(end))
                    if end in F:
                        met += 1
                        change = min(rho.edge_relabel, 2 * rho.edge_cost)
                        cost += change * (mark != F[end])
                best = min(best, cost + rho.edge_cost * (len(E) + len(F) - 2 * met))
    return best


@functools.lru_cache
def median_of_points(points):
    return gamma_of(k.RBF("median"), points, 2, 2)


def mean_map(k_, x, z, S):
    inner = k_.kernel
    if inner is None:
        inner = k.RBF(median_of_points(tuple(tuple(point) for bag in S for point in bag)))
    return statistics.fmean(kernel(inner, list(a), list(b), None) for a in x for b in z)


def bhattacharyya(k_, x, z, S):
    (m, A), (n, B) = gaussian(x), gaussian(z)
    ridge = k_.ridge * np.eye(len(m))
    A, B = A + ridge, B + ridge
    both, gap = (A + B) / 2, m - n
    det = np.linalg.det
    size = (det(A) * det(B)) ** 0.25 / det(both) ** 0.5
    return float(size * math.exp(-(gap @ np.linalg.inv(both) @ gap) / 8))


def gaussian_mean_map(k_, x, z, S):
    gamma = k_.gamma
    if gamma == "median":
        gamma = median_of_points(tuple(tuple(point) for bag in S for point in bag))
    (m, A), (n, B) = gaussian(x), gaussian(z)
    both, gap = np.eye(len(m)) + 2 * gamma * (A + B), m - n
    return float(math.exp(-gamma * (gap @ np.linalg.inv(both) @ gap)) / np.linalg.det(both) ** 0.5)


def gaussian(bag):
    """The mean and the covariance of a bag."""
    of_bag = np.asarray(bag, float)
    return of_bag.mean(axis=0), np.cov(of_bag.T, bias=True).reshape(of_bag.shape[1], -1)


# --- series: one number or one list of channels for each point of time --------------------------


def points(x):
    return np.asarray(x, float).reshape(len(x), -1).tolist()


def cells(x, z, step, beside):
    """The last R of R(i, j) = step(i, j, the three R before); beside(i, j) where i or j is -1."""

    @functools.cache
    def R(i, j):
        if i < 0 or j < 0:
            return beside(i, j)
        return step(i, j, R(i - 1, j - 1), R(i - 1, j), R(i, j - 1))

    return R(len(x) - 1, len(z) - 1)


def corner(i, j):
    return 0.0 if i == j == -1 else math.inf


def gap_of(a, b):
    return math.dist(a, b)


def dtw_sum(x, z, window=None):
    n, m = len(x), len(z)
    w = math.inf if window is None else window
    w = math.floor(w * max(n, m)) if isinstance(w, float) and 0 < w < 1 else w
    if abs(n - m) > w:
        return math.inf

    def step(i, j, a, b, c):
        far = abs(i * (m - 1) - j * (n - 1)) > w * (max(n, m) - 1)
        return math.inf if far else gap_of(x[i], z[j]) ** 2 + min(a, b, c)

    return cells(x, z, step, corner)


def dtw(rho, x, z, S):
    return math.sqrt(dtw_sum(points(x), points(z), rho.window))


def erp(rho, x, z, S):
    x, z = points(x), points(z)
    gap = [rho.gap] * len(x[0])

    def step(i, j, a, b, c):
        return min(a + gap_of(x[i], z[j]), b + gap_of(x[i], gap), c + gap_of(z[j], gap))

    def beside(i, j):
        return sum(gap_of(p, gap) for p in [*x[: i + 1], *z[: j + 1]])

    return cells(x, z, step, beside)


def msm(rho, x, z, S):
    x, z = points(x), points(z)
    return sum(msm_of_channel(rho.cost, *pair) for pair in zip(zip(*x), zip(*z)))


def msm_of_channel(cost, x, z):
    def split(new, before, other):
        between = min(before, other) <= new <= max(before, other)
        return cost + (0 if between else min(abs(new - before), abs(new - other)))

    def step(i, j, a, b, c):
        ways = [a + abs(x[i] - z[j])]
        if i:
            ways.append(b + split(x[i], x[i - 1], z[j]))
        if j:
            ways.append(c + split(z[j], z[j - 1], x[i]))
        return min(ways)

    return cells(x, z, step, corner)


def twed(rho, x, z, S):
    x, z = points(x), points(z)
    x0, z0 = ([[0.0] * len(v[0]), *v] for v in (x, z))
    nu, extra = rho.stiffness, rho.stiffness + rho.penalty

    def step(i, j, a, b, c):
        match = gap_of(x[i], z[j]) + gap_of(x0[i], z0[j]) + 2 * nu * abs(i - j)
        return min(a + match, b + gap_of(x[i], x0[i]) + extra, c + gap_of(z[j], z0[j]) + extra)

    return cells(x, z, step, corner)


def path_log(x, z, similarity):
    """log of the sum over all alignments of the products of similarities, given as logarithms."""

    def step(i, j, a, b, c):
        most, own = max(a, b, c), similarity(i, j)
        if -math.inf in (most, own):
            return -math.inf
        return own + most + math.log(sum(math.exp(v - most) for v in (a, b, c)))

    return cells(x, z, step, lambda i, j: -corner(i, j) if i != j or i >= 0 else 0.0)


def soft_dtw(rho, x, z, S):
    x, z = points(x), points(z)

    def s(x, z):
        smooth = rho.smoothing
        return -smooth * path_log(x, z, lambda i, j: -(gap_of(x[i], z[j]) ** 2) / smooth)

    return s(x, z) - s(x, x) / 2 - s(z, z) / 2


def alignment_log(k_, x, z, scale):
    def similarity(i, j):
        w = 1 if k_.triangle is None else max(0, 1 - abs(i - j) / k_.triangle)
        s = gap_of(x[i], z[j]) ** 2 / (2 * scale**2)
        return math.log(w) - s - math.log(2 - w * math.exp(-s)) if w else -math.inf

    return path_log(x, z, similarity)


@functools.lru_cache(1)
def convolution_features(seed, S):
    """The features of the training series S, whose maps the kernel draws."""
    X = [np.array(x).reshape(len(x), -1) for x in S]
    return kernel_features(X, *k.Convolutions(seed).bind(k.Convolutions().encode(X)).maps_)


def convolutions(k_, x, z, S):
    """Of training series alone, by their places."""
    rows = tuple(tuple(map(tuple, np.reshape(s, (len(s), -1)))) for s in S)
    F = convolution_features(k_.random_state, rows)
    i, j = (next(i for i, s in enumerate(S) if s is v) for v in (x, z))
    return F[i] @ F[j]


def kdtw_log(k_, x, z, scale):
    def gap(i, j):
        return gap_of(x[i], z[j]) ** 2 / (2 * scale**2)

    def similarity(i, j):
        near = k_.window is None or abs(i - j) <= k_.window
        return -gap(i, j) - math.log(3) if near else -math.inf

    total = path_log(x, z, similarity)
    if len(x) != len(z):
        return total
    factors = [math.log(2) - gap(i, i) - math.log(3 - math.exp(-gap(i, i))) for i in range(len(x))]
    own = sum(factors) - math.log(2)
    most = max(total, own)
    return most + math.log(math.exp(total - most) + math.exp(own - most))


def alignment_sum(log, k_, x, z, S):
    """A kernel from its logarithm, normalised."""
    scale = k_.length_scale
    if scale == "auto":
        rows = [point for s in S for point in points(s)]
        # as of all kernels, of an even number of gaps it is the root of the mean middle square
        squares = [gap_of(a, b) ** 2 for a, b in itertools.combinations(rows, 2)]
        scale = math.sqrt(statistics.median(squares) * statistics.median(map(len, S)))
    x, z = points(x), points(z)
    own = [log(k_, v, v, scale) for v in (x, z)]
    return math.exp(log(k_, x, z, scale) - sum(own) / 2)


# --- graphs: (number of nodes, edges, labels) ---------------------------------------------------


def neighbours_of(graph):
    n, edges = graph[:2]
    found = [set() for _ in range(n)]
    for u, v in edges:
        found[u].add(v)
        found[v].add(u)
    return found


def node_labels(graph):
    return list(graph[2]) if len(graph) > 2 else [0] * graph[0]


def colour_rounds(graph, rounds):
    """Colours as nested tuples: the dictionary that relabels them is left out."""
    near, colours = neighbours_of(graph), node_labels(graph)
    bonds = edge_label_matrix(graph) if len(graph) > 3 else None
    found = [collections.Counter(colours)]
    for _ in range(rounds):
        colours = [
            (c, tuple(sorted(repr((colours[w], bonds and bonds[v][w])) for w in near[v])))
            for v, c in enumerate(colours)
        ]
        found.append(collections.Counter(colours))
    return found


def shared_counts(A, B, together):
    return sum(together(c, B[key]) for key, c in A.items())


def weisfeiler_lehman(k_, x, z, S):
    rounds = getattr(k_, "rounds", 0)
    together = min if type(k_) is k.WLOptimalAssignment else lambda a, b: a * b
    return sum(
        shared_counts(A, B, together)
        for A, B in zip(colour_rounds(x, rounds), colour_rounds(z, rounds))
    )


def path_lengths(graph):
    """Counts of (label, label, length), by Floyd and Warshall's three loops."""
    n, near, labels = graph[0], neighbours_of(graph), node_labels(graph)
    D = [[0 if u == v else 1 if v in near[u] else math.inf for v in range(n)] for u in range(n)]
    for w, u, v in itertools.product(range(n), repeat=3):
        D[u][v] = min(D[u][v], D[u][w] + D[w][v])
    pairs = itertools.permutations(range(n), 2)
    return collections.Counter(
        (labels[u], labels[v], D[u][v]) for u, v in pairs if D[u][v] < math.inf
    )


def shortest_path(k_, x, z, S):
    return shared_counts(path_lengths(x), path_lengths(z), lambda a, b: a * b)


def graphlet_counts(graph, size):
    """By the sorted degrees of each connected set of nodes, which tell graphs of 4 nodes apart."""
    near, found = neighbours_of(graph), collections.Counter()
    for nodes in itertools.combinations(range(graph[0]), size):
        inner = {v: near[v] & set(nodes) - {v} for v in nodes}
        reached = {nodes[0]}
        for _ in nodes:
            reached |= {w for v in reached for w in inner[v]}
        if len(reached) == size:
            found[tuple(sorted(map(len, inner.values())))] += 1
    return found


def graphlets(k_, x, z, S):
    counts = (graphlet_counts(graph, k_.size) for graph in (x, z))
    return shared_counts(*counts, lambda a, b: a * b)


def propagation(k_, x, z, S):
    """Whole vectors of shares of labels are spread, and compared in each direction."""
    names = sorted({label for graph in S for label in node_labels(graph)})
    rounds, found = k_.rounds, []
    directions, shifts = label_directions(k_, names)
    for graph in (x, z):
        near, labels = neighbours_of(graph), node_labels(graph)
        P = [[float(label == name) for name in names] for label in labels]
        counts = []
        for t in range(rounds + 1):
            if t:
                P = [
                    [sum(P[w][j] for w in near[v]) / len(near[v]) for j in range(len(names))]
                    if near[v] else P[v]
                    for v in range(graph[0])
                ]  # fmt: skip
            places = [dot(p, directions[t]) / k_.width + shifts[t] for p in P]
            counts.append(collections.Counter(map(math.floor, places)))
        found.append(counts)
    return sum(shared_counts(A, B, lambda a, b: a * b) for A, B in zip(*found))


def label_directions(k_, names):
    """The direction of each round, one number for each label, and the shifts."""
    encoded = k_.encode([(len(names), [], names)])
    S, shifts = k_._projected(encoded)
    return S.T.tolist(), shifts


def random_walk(k_, x, z, S):
    """The equations of the product graph, or the powers of its matrix."""
    A, B = ([[float(v in near) for v in range(len(row))] for near in row] for row in
            map(neighbours_of, (x, z)))  # fmt: skip
    if not x[0] or not z[0]:
        return 0.0
    W = np.kron(np.array(A), np.array(B))
    if k_.labels and len(x) > 3 and x[3] is not None:
        a, b = map(edge_label_matrix, (x, z))
        W = W * np.array([
            [float(a[u][w] == b[v][t]) for w in range(x[0]) for t in range(z[0])]
            for u in range(x[0]) for v in range(z[0])
        ])  # fmt: skip
    decay = k_.decay
    if decay == "auto":
        decay = 0.9 / max(radius(graph) for graph in S) ** 2
    start = np.ones(len(W))
    if k_.labels:
        start = np.array([float(a == b) for a in node_labels(x) for b in node_labels(z)])
    W = start[:, None] * W * start
    if k_.steps is None:
        return float(start @ np.linalg.solve(np.eye(len(W)) - decay * W, start))
    return sum(
        decay**j * float(start @ np.linalg.matrix_power(W, j) @ start) for j in range(k_.steps + 1)
    )


def edge_label_matrix(graph):
    """The label of the edge between two nodes; None where there is none."""
    found = [[None] * graph[0] for _ in range(graph[0])]
    for (u, v), label in zip(graph[1], graph[3]):
        found[u][v] = found[v][u] = label
    return found


def radius(graph):
    A = np.array([[float(v in near) for v in range(graph[0])] for near in neighbours_of(graph)])
    return max(np.abs(np.linalg.eigvalsh(A)), default=0.0) if graph[0] else 0.0


def between_nodes(k_, x, z, S):
    """An entry of the function of the Laplacian, by dense algebra."""
    A = k_.graph
    if isinstance(A, tuple):
        A = np.array([[float((u, v) in A[1] or (v, u) in A[1]) for v in range(A[0])]
                      for u in range(A[0])])  # fmt: skip
    d, one = A.sum(axis=1), np.eye(len(A))
    L = np.diag(d) - A
    if k_.laplacian == "normalised":
        root = np.array([1 / math.sqrt(each) if each else 0.0 for each in d])
        L = root[:, None] * L * root
    if isinstance(k_, k.Diffusion):
        M = expm(-k_.beta * L)
    elif isinstance(k_, k.RegularisedLaplacian):
        M = np.linalg.inv(one + k_.beta * L)
    else:
        a = k_.shift
        if a == "auto":
            a = max(d[u] + d[v] for u in range(len(A)) for v in range(len(A)) if A[u, v])
        M = np.linalg.matrix_power(one - L / a, k_.steps)
    return float(M[int(x[0]), int(z[0])])


def pick(row, columns):
    """Some columns of a row of a table."""
    return [row[c] for c in columns]


DISTANCES = {
    d.SquaredEuclidean: squared_euclidean,
    d.NanEuclidean: nan_euclidean,
    d.Canberra: canberra,
    d.BrayCurtis: bray_curtis,
    d.Haversine: haversine,
    d.Binary: binary,
    d.Minkowski: minkowski,
    d.Mahalanobis: mahalanobis,
    d.MappedMinkowski: mapped_minkowski,
    d.Cosine: angle,
    d.Tanimoto: lambda rho, *given: (
        1 - (by_fragments if rho.fingerprint else tanimoto)(rho, *given)
    ),
    d.Dice: lambda rho, x, z, S: 1 - dice(x, z),
    d.Edit: edit,
    d.Jaccard: lambda rho, x, z, S: 1 - jaccard(x, z),
    d.JaroWinkler: jaro_winkler,
    d.DTW: dtw,
    d.GraphEdit: graph_edit,
    d.Sinkhorn: sinkhorn,
    d.SlicedWasserstein: sliced_wasserstein,
    d.ERP: erp,
    d.MSM: msm,
    d.TWED: twed,
    d.SoftDTW: soft_dtw,
    d.WeightedEdit: weighted_edit,
    d.Match: match,
    d.SmoothedMatch: smoothed_match,
    d.LogFrequency: log_frequency,
    d.Mixed: mixed,
    d.Sum: sum_of_distances,
    d.PairDifferences: pair_differences,
    d.KernelDistance: kernel_distance,
    d.FromFunction: lambda rho, x, z, S: rho.function(x, z),
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
    norms = own(k_.kernel, x, S) * own(k_.kernel, z, S)
    return kernel(k_.kernel, x, z, S) / math.sqrt(norms) if norms > 0 else 0.0


def convex(k_, x, z, S):
    mu = [1 / len(k_.kernels)] * len(k_.kernels) if k_.weights is None else k_.weights
    return sum(m * kernel(child, x, z, S) for m, child in zip(mu, k_.kernels))


def angle_of(G, g_x, g_z):
    """θ with cos θ = G / √(g_x g_z). Its sine comes from an exact difference, and is 0 where that
    is not above the rounding of the products; two zero rows agree."""
    if g_x == 0 or g_z == 0:
        return 0.0 if g_x == g_z else math.pi / 2
    G, g_x, g_z = map(fractions.Fraction, (G, g_x, g_z))
    sine = 1 - G**2 / (g_x * g_z)
    return math.atan2(math.sqrt(sine) if sine > 1e-14 else 0.0, G / math.sqrt(g_x * g_z))


def unit_response(degree, theta):
    """J_n(θ) / π."""
    s, c, rest = math.sin(theta), math.cos(theta), math.pi - theta
    return (rest, s + rest * c, 3 * s * c + rest * (1 + 2 * c * c))[degree] / math.pi


def arc_cosine(layer, G, g_x, g_z):
    for _ in range(layer.layers):
        scale = (g_x * g_z) ** (layer.degree / 2)
        G = scale * unit_response(layer.degree, angle_of(G, g_x, g_z))
        g_x, g_z = ((1, g, 3 * g * g)[layer.degree] for g in (g_x, g_z))
    return G


def network(layer, G, g_x, g_z, tangent):
    w, b = layer.weight_variance, layer.bias_variance
    G, g_x, g_z = (w * g + b for g in (G, g_x, g_z))
    T = G
    for _ in range(layer.layers):
        theta = angle_of(G, g_x, g_z)
        G = w / 2 * math.sqrt(g_x * g_z) * unit_response(1, theta) + b
        T = G + T * w / 2 * unit_response(0, theta)
        g_x, g_z = (w / 2 * g + b for g in (g_x, g_z))
    return T if tangent else G


def normalised_gaussian(layer, G, g_x, g_z):
    root = math.sqrt(g_x * g_z)
    return root * math.exp(G / root - 1) if root > 0 else 0.0


#: κ(G, g_x, g_z) of each layer
LAYERS = {
    k.ArcCosine: arc_cosine,
    k.NeuralNetworkGP: functools.partial(network, tangent=False),
    k.NeuralTangent: functools.partial(network, tangent=True),
    k.NormalisedGaussian: normalised_gaussian,
    k.Linear: lambda layer, G, g_x, g_z: G,
    k.Polynomial: lambda layer, G, g_x, g_z: (layer.gamma * G + layer.coef0) ** layer.degree,
    k.RBF: lambda layer, G, g_x, g_z: math.exp(-layer.gamma * (g_x + g_z - 2 * G)),
}


def of_vectors(k_, x, z, S):
    return LAYERS[type(k_)](k_, dot(x, z), dot(x, x), dot(z, z))


def layered(k_, x, z, S):
    base = k.Linear() if k_.base is None else k_.base
    G, g_x, g_z = kernel(base, x, z, S), own(base, x, S), own(base, z, S)
    for layer in (k_.kernel if isinstance(k_.kernel, list) else [k_.kernel]) * k_.depth:
        kappa = functools.partial(LAYERS[type(layer)], layer)
        G, g_x, g_z = kappa(G, g_x, g_z), kappa(g_x, g_x, g_x), kappa(g_z, g_z, g_z)
    return G


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
    c = 1 / math.sqrt(len(k_.queries)) if k_.scale is None else k_.scale
    if k_.form in ("distance", "quadratic"):
        return c * (math.dist(q, s) if k_.form == "distance" else dot(q, s) ** 2)
    inner = {
        "dot_product": dot(q, s),
        "rbf": -(math.dist(q, s) ** 2),
        "intersection": sum(map(min, q, s)),
    }
    return math.exp(c * inner[k_.form])


def occurrences(s, length):
    """Where each substring of some length begins in s: {substring: [places]}."""
    found = {}
    for i in range(len(s) - length + 1):
        found.setdefault(tuple(s[i : i + length]), []).append(i)
    return found


def spectrum(k_, x, z, S):
    lengths = range(k_.shortest or k_.k, k_.k + 1)
    return sum(k_.decay ** (2 * j) * of_length(k_, x, z, S, j) for j in lengths)


def of_length(k_, x, z, S, length):
    ours, theirs = (occurrences(s, length) for s in (x, z))
    having = collections.Counter(u for s in S * k_.idf for u in occurrences(s, length))

    def weighed(u, places):
        value = 1 + math.log(len(places)) if k_.sublinear else len(places)
        rarity = math.log((1 + len(S)) / (1 + having[u])) + 1 if having[u] else 0
        return value * (rarity if k_.idf else 1)

    shared = [u for u in ours if u in theirs]
    return float(sum(weighed(u, ours[u]) * weighed(u, theirs[u]) for u in shared))


def gapped(k_, x, z, S):
    """All pairs of windows of both strands."""

    def windows(s):
        strands = [tuple(s)]
        if k_.both_strands:
            s = bytes(s).decode() if isinstance(s, bytes) else "".join(s)
            partner = {"A": "T", "C": "G", "G": "C", "T": "A"}
            s = s.upper().replace("U", "T")
            strands = [tuple(s), tuple(partner.get(c, "N") for c in reversed(s))]
        places = range(len(s) - k_.l + 1)
        middle, found = len(places) // 2, []
        for turned, strand in enumerate(strands):
            for i in places:
                gap = abs((len(places) - 1 - i if turned else i) - middle)
                weight = min(k_.peak, math.floor(k_.peak * 2 ** (-gap / k_.half_life) + 1))
                found.append((strand[i : i + k_.l], 1 if k_.weights is None else weight))
        known = set("ACGT") if k_.both_strands else set(s)
        return [(window, weight) for window, weight in found if set(window) <= known]

    symbols = 4 if k_.both_strands else len({c for s in S for c in s})
    g = window_values(k_.l, k_.k, max(symbols, 1) if k_.filter else 0, k_.filter)
    most = k_.l - k_.k if k_.mismatches is None else k_.mismatches
    total = 0.0
    for a, w in windows(x):
        for b, v in windows(z):
            h = sum(p != q for p, q in zip(a, b))
            total += w * v * g[h] if h <= most else 0.0
    return total


@functools.cache
def window_values(l, k, symbols, filter):
    """g(h): products of counts of all words, estimated from the counts of gapped k-mers."""
    if filter is None:
        return [math.comb(l - h, k) for h in range(l + 1)]
    words = list(itertools.product(range(symbols), repeat=l))
    places = list(itertools.combinations(range(l), k))
    rows = {pair: i for i, pair in enumerate(
        itertools.product(places, itertools.product(range(symbols), repeat=k)))}  # fmt: skip
    A = np.zeros((len(rows), len(words)))
    for j, word in enumerate(words):
        for chosen in places:
            A[rows[chosen, tuple(word[p] for p in chosen)], j] = 1
    estimates = np.linalg.pinv(A) @ A  # of the words, from one window each
    distance = np.array([[sum(p != q for p, q in zip(u, v)) for v in words] for u in words])
    if filter == "truncated":
        first = [next((w for h, w in zip(distance[0], estimates[0]) if h == m), 0)
                 for m in range(l + 1)]  # fmt: skip
        end = next((m for m, w in enumerate(first) if w < 1e-9), l + 1)
        estimates[distance >= end] = 0
    products = estimates[0] @ estimates
    return [next((p for h, p in zip(distance[0], products) if h == m), 0) for m in range(l + 1)]


def local_alignment(k_, x, z, S):
    """All ways to align some letters of both, by the last pair before each pair."""
    from mercer.kernels.local_alignment import BLOSUM62, LETTERS

    table = np.array(BLOSUM62.split(), float).reshape(24, 24)

    def score(a, b):
        if isinstance(k_.substitution, tuple):
            return k_.substitution[a != b]
        if isinstance(k_.substitution, dict):
            return k_.substitution.get(a + b, k_.substitution.get(b + a))
        return table[tuple(LETTERS.find(c.upper()) % 25 if c.upper() in LETTERS else 22
                           for c in (a, b))]  # fmt: skip

    def factors(n):  # of gaps of 0 to n letters
        cost = np.where(np.arange(n) > 0, k_.open + k_.extend * (np.arange(n) - 1.0), 0.0)
        return np.exp(-k_.beta * cost)

    x, z = ([chr(c) for c in s] if isinstance(s, bytes) else list(s) for s in (x, z))
    sums, gaps = np.zeros((len(x), len(z))), factors(len(x) + len(z) + 1)
    for i, a in enumerate(x):
        for j, b in enumerate(z):
            before = gaps[:i][::-1] @ sums[:i, :j] @ gaps[:j][::-1]
            sums[i, j] = math.exp(k_.beta * score(a, b)) * (1 + before)
    return math.log(1 + sums.sum()) / k_.beta


def mismatch(k_, x, z, S):
    alphabet = tuple(sorted({c for s in S for c in s}))
    ours, theirs = (near_counts(tuple(s), alphabet, k_.k, k_.m) for s in (x, z))
    return float(sum(ours[u] * theirs[u] for u in ours))


@functools.cache
def near_counts(s, alphabet, length, most):
    """How many k-mers of s differ in few places from each string over the alphabet."""
    kmers = [s[i : i + length] for i in range(len(s) - length + 1)]
    kmers = collections.Counter(u for u in kmers if set(u) <= set(alphabet))
    found = collections.Counter()
    for u in itertools.product(alphabet, repeat=length):
        for kmer, count in kmers.items():
            if sum(a != b for a, b in zip(u, kmer)) <= most:
                found[u] += count
    return found


def weighted_degree(k_, x, z, S):
    D, total = k_.degree, 0.0
    for length in range(1, D + 1):
        for i in range(len(x) - length + 1):
            for j in range(len(z) - length + 1):
                gap = abs(i - j)
                if gap <= k_.shift and list(x[i : i + length]) == list(z[j : j + length]):
                    near = 1 if gap == 0 else 1 / (2 * (gap + 1))
                    total += 2 * (D - length + 1) / (D * (D + 1)) * near
    return total


def index_tuples(s, p):
    """(subsequence of p symbols, its span) for every ascending tuple of p indices."""
    for i in itertools.combinations(range(len(s)), p):
        yield tuple(s[index] for index in i), (i[-1] - i[0] + 1 if i else 0)


def subsequence_features(s, p, decay):
    """u -> the sum of decay ** span over its occurrences."""
    features = {}
    for u, span in index_tuples(s, p):
        features[u] = features.get(u, 0) + decay**span
    return features


def subsequences_of_length(s, t, p, decay=1):
    a, b = subsequence_features(s, p, decay), subsequence_features(t, p, decay)
    return float(sum(value * b.get(u, 0) for u, value in a.items()))


def gap_weighted(k_, x, z, S):
    lengths = range(1, k_.p + 1) if k_.up_to else [k_.p]
    return sum(subsequences_of_length(x, z, p, k_.decay) for p in lengths)


def all_subsequences(k_, x, z, S):
    if max(len(x), len(z)) <= 10:
        lengths = range(min(len(x), len(z)) + 1)
        return sum(k_.decay ** (2 * p) * subsequences_of_length(x, z, p) for p in lengths)
    return float(count_subsequences(x, z, k_.decay**2))


def count_subsequences(s, t, weight=1):
    """K(sa, t) = K(s, t) + weight * sum of K(s, t[:j]) over the j with t[j] = a; exact for an
    integer weight."""
    row = [1] * (len(t) + 1)  # K(s, t[:j]) for all j
    for a in s:
        below, row, matched = row, [1], 0
        for j, b in enumerate(t):
            matched += weight * below[j] if a == b else 0
            row.append(below[j + 1] + matched)
    return row[-1]


def additive(k_, x, z, S):
    """The sum of the centred kernels of columns, and of pairs by products of their functions."""
    rows = [[float(v) for v in row] for row in S]
    i, j = ([float(v) for v in row] for row in (x, z))
    i, j = rows.index(i), rows.index(j)
    columns = list(zip(*rows))
    w = np.broadcast_to(k_.weights, len(columns))
    v = np.broadcast_to(k_.pair_weights, len(k_.pairs))
    total = sum(
        w[c] * centred_similarities(column, k_.gamma, c in k_.categories)[i, j]
        for c, column in enumerate(columns)
    )
    for scale, (a, b) in zip(v, k_.pairs):
        sides = []
        for c in sorted((a, b)):
            K = centred_similarities(columns[c], 2.0, c in k_.categories)
            mu, U = np.linalg.eigh(K / len(rows))
            kept = np.flatnonzero(mu > 1e-9 * mu[-1])[::-1][:10]
            sides.append((mu[kept], U[:, kept] * np.sqrt(len(rows) * mu[kept])))
        products = sorted(
            (-m * n, f, g) for f, m in enumerate(sides[0][0]) for g, n in enumerate(sides[1][0])
        )
        for _, f, g in products[:60]:
            values = sides[0][1][:, f] * sides[1][1][:, g]
            values = values - values.mean()
            total += scale * values[i] * values[j]
    return total


def centred_similarities(column, gamma, category):
    """exp(-γ |t - t'|) between all rows, for t the mean of rank and value, centred."""
    n = len(column)
    if category:
        K = np.array([[float(a == b) for b in column] for a in column])
    else:
        ranks = [(sum(b < a for b in column) + sum(b == a for b in column) / 2) / n for a in column]
        upto = {a: sum(b <= a for b in column) / n for a in column}
        low = min(a for a in column if upto[a] >= 0.02)
        high = min(a for a in column if upto[a] >= 0.98)
        values = [
            min(max((a - low) / (high - low), -0.5), 1.5) if high > low else rank
            for a, rank in zip(column, ranks)
        ]
        t = np.array([(rank + value) / 2 for rank, value in zip(ranks, values)])
        K = np.exp(-gamma * np.abs(t[:, None] - t))
    H = np.eye(n) - 1 / n
    return H @ K @ H


def signature(k_, x, z, S):
    """Sums over ascending steps by enumeration, or the equation on its grid, cell by cell."""
    gamma = -1
    if k_.length_scale is not None:
        scale = k_.length_scale
        if scale == "auto":
            points = np.concatenate([signature_path(k_, s) for s in S])
            squares = [math.dist(a, b) ** 2 for a, b in itertools.combinations(points, 2)]
            scale = math.sqrt(statistics.median(squares))
        gamma = 0.5 / scale**2
    A, B = signature_path(k_, x), signature_path(k_, z)

    def between(a, b):
        return math.exp(-gamma * math.dist(a, b) ** 2) if gamma >= 0 else float(np.dot(a, b))

    G = np.array([[between(a, b) for b in B] for a in A])
    D = G[1:, 1:] - G[1:, :-1] - G[:-1, 1:] + G[:-1, :-1]
    if k_.levels is not None:
        total = 1.0
        for q in range(1, k_.levels + 1):
            for I in itertools.combinations(range(len(D)), q):
                for J in itertools.combinations(range(D.shape[1]), q):
                    total += math.prod(D[i, j] for i, j in zip(I, J))
        return total
    if 0 in D.shape:
        return 1.0
    far = [
        max(between(a, a) - 2 * between(a, b) + between(b, b) for a, b in itertools.pairwise(P))
        for P in (A, B)
    ]
    longest = [max(math.sqrt(f) / 0.5, 1) for f in far]
    return goursat(D, [math.ceil(math.log2(most) - 1e-12) for most in longest])


def goursat(D, halvings, degree=5):
    """u_st = D u with u = 1 at the borders: polynomials in s and t, of the degree in each cell."""
    parts = [2**h for h in halvings]
    D = np.repeat(np.repeat(D, parts[0], axis=0), parts[1], axis=1) / math.prod(parts)
    upper = np.zeros((D.shape[1], degree + 1))  # coefficients along the edges below the next row
    upper[:, 0] = 1
    for row in D:
        left = np.eye(degree + 1)[0]
        for j, rate in enumerate(row):
            c = np.zeros((degree + 1, degree + 1))
            c[:, 0], c[0] = upper[j], left
            c[0, 0] = left[0]
            for p, q in np.ndindex(degree, degree):
                c[p + 1, q + 1] = rate * c[p, q] / ((p + 1) * (q + 1))
            upper[j], left = c.sum(axis=1), c.sum(axis=0)
    return upper[-1].sum()


def signature_path(k_, x):
    points = np.array(x, float).reshape(len(x), -1)
    if k_.time:
        points = np.column_stack([points, np.arange(len(x)) / max(len(x) - 1, 1)])
    return np.vstack([np.zeros((1, points.shape[1])), points]) if k_.basepoint else points


def nested(tree):
    """A tree of cases.py as tuples (label, child, ...)."""
    if isinstance(tree, str):
        parts = tree.replace("(", " ( ").replace(")", " ) ").split()
        open_nodes = [[]]
        for before, part in zip([None, *parts], parts):
            if part == "(":
                open_nodes.append([])
            elif part == ")":
                node = tuple(open_nodes.pop())
                open_nodes[-1].append(node if node else ("",))
            elif before == "(":
                open_nodes[-1].append(part)
            else:
                open_nodes[-1].append((part,))
            if part == "(" and before == "(":
                open_nodes[-2].append("")  # an empty label
        return open_nodes[0][0]
    return tuple(part if i == 0 else nested_part(part) for i, part in enumerate(tree))


def nested_part(part):
    return (part,) if isinstance(part, str) else nested(part)


def nodes_below(tree):
    """All subtrees of a nested tree."""
    return [found for part in tree[1:] for found in nodes_below(part)] + ([tree] if tree else [])


def inner_nodes(tree):
    return sum(len(node) > 1 for node in nodes_below(tree))


def subtrees(k_, x, z, S):
    A, B = (collections.Counter(nodes_below(nested(t))) for t in (x, z))
    return sum(n * B[c] * k_.decay ** inner_nodes(c) for c, n in A.items())


def tree_parts(tree):
    """All parts with this root that keep all children of a node or none."""
    choices = [[(child[0],), *tree_parts(child)] for child in tree[1:]]
    return [(tree[0], *found) for found in itertools.product(*choices)] if choices else []


def subset_trees(k_, x, z, S):
    A, B = (
        collections.Counter(p for node in nodes_below(nested(t)) for p in tree_parts(node))
        for t in (x, z)
    )
    return sum(n * B[c] * k_.decay ** inner_nodes(c) for c, n in A.items())


def partial_trees(k_, x, z, S):
    decay, depth = k_.decay, k_.depth_decay

    def delta(s, t):
        if s[0] != t[0]:
            return 0.0
        total = decay**2
        for length in range(1, min(len(s), len(t))):
            for I, J in itertools.product(
                itertools.combinations(range(1, len(s)), length),
                itertools.combinations(range(1, len(t)), length),
            ):
                far = I[-1] - I[0] + J[-1] - J[0] + 2
                total += decay**far * math.prod(delta(s[i], t[j]) for i, j in zip(I, J))
        return depth * total

    return sum(delta(s, t) for s in nodes_below(nested(x)) for t in nodes_below(nested(z)))


KERNELS = {
    k.AllSubsequences: all_subsequences,
    k.FixedLengthSubsequences: lambda k_, x, z, S: subsequences_of_length(x, z, k_.p),
    k.GapWeighted: gap_weighted,
    k.FromFunction: lambda k_, x, z, S: 1.0 + dot(x, z) if k_.at_once else k_.function(x, z),
    k.Precomputed: lambda k_, x, z, S: x[S.index(z)],
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
    k.Matern: matern,
    k.RationalQuadratic: lambda k_, x, z, S: (
        (1 + rho_of(k_, x, z, S, 2) ** 2 / (2 * k_.alpha * k_.length_scale**2)) ** -k_.alpha
    ),
    k.ChiSquared: chi_squared,
    k.HistogramIntersection: lambda k_, x, z, S: sum(min(a, b) for a, b in zip(x, z)),
    k.Intersection: lambda k_, x, z, S: len(items(x) & items(z)),
    k.DerivedSubsets: lambda k_, x, z, S: 2.0 ** len(items(x) & items(z)),
    k.Jaccard: lambda k_, x, z, S: jaccard(x, z),
    k.Tanimoto: tanimoto,
    k.Morgan: by_fragments,
    k.AtomPairs: by_fragments,
    k.Torsions: by_fragments,
    k.AtomAssignment: by_assignment,
    k.Descriptors: descriptors,
    k.Dice: lambda k_, x, z, S: dice(x, z),
    k.Convolutions: convolutions,
    k.GlobalAlignment: functools.partial(alignment_sum, alignment_log),
    k.KDTW: functools.partial(alignment_sum, kdtw_log),
    k.MeanMap: mean_map,
    k.Bhattacharyya: bhattacharyya,
    k.GaussianMeanMap: gaussian_mean_map,
    k.VertexHistogram: weisfeiler_lehman,
    k.WeisfeilerLehman: weisfeiler_lehman,
    k.WLOptimalAssignment: weisfeiler_lehman,
    k.ShortestPath: shortest_path,
    k.Graphlets: graphlets,
    k.Propagation: propagation,
    k.RandomWalk: random_walk,
    k.Subtree: subtrees,
    k.SubsetTree: subset_trees,
    k.PartialTree: partial_trees,
    k.Diffusion: between_nodes,
    k.RegularisedLaplacian: between_nodes,
    k.PStepWalk: between_nodes,
    k.Signature: signature,
    k.SoftDTWRBF: lambda k_, x, z, S: math.exp(-k_.gamma * soft_dtw(k_, x, z, S)),
    k.EditRBF: lambda k_, x, z, S: math.exp(-k_.gamma * edits(x, z, k_.variant)),
    k.Additive: additive,
    k.Match: lambda k_, x, z, S: sum(
        w for w, a, b in zip(weights_of(k_, x, 1 / len(x)), x, z) if a == b
    ),
    k.FromDistance: lambda k_, x, z, S: math.exp(-k_.gamma * distance(k_.rho, x, z, S) ** k_.power),
    k.QueryKey: query_key,
    k.On: on,
    k.TableKernel: table,
    k.Spectrum: spectrum,
    k.GappedKmer: gapped,
    k.Mismatch: mismatch,
    k.LocalAlignment: local_alignment,
    k.WeightedDegree: weighted_degree,
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
    k.ArcCosine: of_vectors,
    k.NeuralNetworkGP: of_vectors,
    k.NeuralTangent: of_vectors,
    k.NormalisedGaussian: of_vectors,
    k.Layered: layered,
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
