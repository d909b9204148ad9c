"""Exact neighbours beside scikit-learn, pykdtree and faiss: rows of numbers of few and of many
columns, other distances, two threads, a million rows, and how the cost of a tree grows.

20,000 training rows, 5,000 queries, the 10 nearest, float32, one thread unless another number is
given. Rows of 3 and 16 columns are uniform, those of 100 and 784 have 50 clusters in 12 dimensions
and noise. Slow peers are asked fewer queries. Peers that are not installed are left out.
"""

import time
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from harness import Section, options, peak_memory
from mercer.distances import Jaccard, Mahalanobis, Minkowski
from mercer.search import BruteForce, KDTree, fit_index
from roofline import note_of

TRAINING, QUERIES, K = 20_000, 5_000, 10

MILLION = """
import numpy as np
from mercer.distances import Minkowski
from mercer.search import BruteForce, KDTree
rng = np.random.default_rng(0)
X = rng.random((10**6, 32), dtype=np.float32)
{make}(Minkowski()).fit(X[:5000]).query(X[:50], 10)
# measured
index = {make}(Minkowski()).fit(X)
index.query(X[:{few}], 10)
"""


def vectors(columns, rng, n=TRAINING + QUERIES):
    if columns <= 16:
        return rng.random((n, columns), dtype=np.float32)
    centres = 3 * rng.normal(size=(50, 12))
    latent = centres[rng.integers(50, size=n)] + rng.normal(size=(n, 12))
    noise = 0.3 * rng.normal(size=(n, columns))
    return (latent @ rng.normal(size=(12, columns)) + noise).astype(np.float32)


def best_rates(runs, repeats):
    """Queries per second of each (function, number of queries), the best of runs taken in turn."""
    rates = dict.fromkeys(runs, 0.0)
    for _ in range(repeats):
        for name, (run, count) in runs.items():
            began = time.perf_counter()
            run()
            rates[name] = max(rates[name], count / (time.perf_counter() - began))
    return rates


def installed(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def euclid(section, repeats):
    rng = np.random.default_rng(0)
    for columns in (3, 16, 100, 784):
        A = vectors(columns, rng)
        X, Z = A[:TRAINING].copy(), A[TRAINING:].copy()
        runs, found = {}, {}

        def add(name, run, X=X, Z=Z, most=QUERIES, runs=runs, found=found):
            queries = Z[:most]
            found[name] = run(queries)
            runs[name] = (lambda: run(queries), most)

        index, chosen = fit_index(X, Minkowski(), n_jobs=1)
        add(f"mercer, auto: {chosen}", lambda Q, i=index: i.query(Q, K)[1])
        brute = BruteForce(Minkowski(), n_jobs=1).fit(X)
        two = BruteForce(Minkowski(), n_jobs=2).fit(X)
        add("mercer, brute", lambda Q, i=brute: i.query(Q, K)[1])
        add("mercer, brute, 2 threads", lambda Q, i=two: i.query(Q, K)[1])
        if columns <= 16:
            tree = KDTree(Minkowski(), n_jobs=2).fit(X)
            add("mercer, kd_tree, 2 threads", lambda Q, i=tree: i.query(Q, K)[1])
        for algorithm in ["brute", "kd_tree"] if columns <= 16 else ["brute"]:
            most = QUERIES if columns == 3 or algorithm == "brute" else 200
            theirs = NearestNeighbors(n_neighbors=K, algorithm=algorithm, n_jobs=1).fit(X)
            add(
                f"scikit-learn, {algorithm}",
                lambda Q, t=theirs: t.kneighbors(Q, return_distance=False),
                most=most,
            )
        if installed("faiss-cpu"):
            import faiss

            faiss.omp_set_num_threads(1)
            flat = faiss.IndexFlatL2(columns)
            flat.add(X)
            add(f"faiss {installed('faiss-cpu')}, flat", lambda Q, f=flat: f.search(Q, K)[1])
        if installed("pykdtree") and columns <= 16:
            from pykdtree.kdtree import KDTree as PyKDTree

            peer = PyKDTree(X)
            add(
                f"pykdtree {installed('pykdtree')}",
                lambda Q, p=peer: p.query(Q, K)[1],
                most=QUERIES if columns == 3 else 1000,
            )
        rates = best_rates(runs, repeats)
        own = next(iter(rates))
        for name, rate in rates.items():
            agreed = np.mean(
                [len({*a} & {*b}) / K for a, b in zip(found[name].tolist(), found[own].tolist())]
            )
            threads = 2 if "2 threads" in name else 1
            section.row(
                f"Euclid, d = {columns}", name, f"{rate:,.0f}", f"{rates[own] / rate:.2f}",
                f"{agreed:.4f}", threads,
            )  # fmt: skip
        one = rates["mercer, brute"]
        section.note(
            f"d = {columns}: two threads {rates['mercer, brute, 2 threads'] / one:.2f} times one"
        )


def other_distances(section, repeats):
    rng = np.random.default_rng(1)
    A = vectors(16, rng)
    X, Z = A[:TRAINING].copy(), A[TRAINING:].copy()
    weights = rng.random(16)
    bits = rng.random((TRAINING, 784)) < 0.2
    covariance = np.cov(X, rowvar=False)
    cases = [
        ("Minkowski p = 0.5, weights, d = 16", Minkowski(0.5, weights), X, Z, 40,
         {"metric": "minkowski", "p": 0.5, "metric_params": {"w": weights}}),
        ("Minkowski p = 1.5, weights, d = 16", Minkowski(1.5, weights), X, Z, 40,
         {"metric": "minkowski", "p": 1.5, "metric_params": {"w": weights}}),
        ("Minkowski p = 2.5, d = 16", Minkowski(2.5), X, Z, 40, {"metric": "minkowski", "p": 2.5}),
        ("Manhattan, d = 16", Minkowski(1), X, Z, 400, {"metric": "manhattan"}),
        ("Mahalanobis, d = 16", Mahalanobis(covariance), X, Z, 100,
         {"metric": "mahalanobis", "metric_params": {"VI": np.linalg.inv(covariance)}}),
        ("Jaccard, 784 bits", Jaccard(), bits, bits[:1000], 20, {"metric": "jaccard"}),
    ]  # fmt: skip
    for what, distance, rows, queries, few, theirs in cases:
        index = BruteForce(distance, n_jobs=1).fit(rows)
        peer = NearestNeighbors(n_neighbors=K, algorithm="brute", n_jobs=1, **theirs).fit(rows)
        gap = np.abs(index.query(queries[:few], K)[0] - peer.kneighbors(queries[:few])[0]).max()
        rates = best_rates(
            {
                "mercer, brute": (lambda i=index, q=queries: i.query(q, K), len(queries)),
                "scikit-learn, brute": (lambda p=peer, q=queries[:few]: p.kneighbors(q), few),
            },
            repeats,
        )
        for name, rate in rates.items():
            ratio = f"{rates['mercer, brute'] / rate:.1f}"
            section.row(what, name, f"{rate:,.0f}", ratio, f"differ by {gap:.0e}", 1)


def million(section):
    for make, few in ((BruteForce, 2000), (KDTree, 200)):  # 32 columns are too many for a tree
        peak = peak_memory(MILLION.format(make=make.__name__, few=few))
        rng = np.random.default_rng(0)
        X = rng.random((10**6, 32), dtype=np.float32)
        began = time.perf_counter()
        index = make(Minkowski()).fit(X)
        built = time.perf_counter() - began
        began = time.perf_counter()
        index.query(X[:few], K)
        rate = few / (time.perf_counter() - began)
        held = index._rows.normed if make is BruteForce else index.tree_
        size = sum(v.nbytes for v in vars(held).values() if isinstance(v, np.ndarray))
        section.row(
            "n = 10^6, d = 32", f"mercer, {make.__name__}", f"{rate:,.0f}", "",
            f"index / data {size / X.nbytes:.2f}", 2,
        )  # fmt: skip
        section.note(
            f"n = 10^6, d = 32, {make.__name__}: fit {built:.2f} s, fit and {few:,} queries take "
            f"{peak:,.0f} MB beyond the {X.nbytes / 1e6:.0f} MB of the data"
        )


def growth(section):
    rng = np.random.default_rng(2)
    sizes, seconds = [10**4, 10**5, 10**6], []
    for n in sizes:
        X, Z = rng.random((n, 3), dtype=np.float32), rng.random((20_000, 3), dtype=np.float32)
        index = KDTree(Minkowski(), n_jobs=1).fit(X)
        rate = best_rates({"": (lambda i=index, q=Z: i.query(q, K), len(Z))}, 5)[""]
        seconds.append(1 / rate)
        section.row(f"tree, n = {n:,}, d = 3", "mercer, kd_tree", f"{rate:,.0f}", "", "", 1)
    exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    section.note(f"a query of the tree costs n^{exponent:.2f} from 10^4 to 10^6 rows, d = 3")


def main():
    chosen = options()
    section = Section(
        "neighbours",
        "20,000 rows, 5,000 queries, 10 nearest, float32; best of interleaved runs. Ratio: times "
        "as fast as this row is the first of its group. Agreed: share of neighbours that are those "
        "of the first.",
        ["search", "library", "queries/s", "ratio", "agreed", "threads"],
    )
    repeats = 2 if chosen.quick else 7
    with threadpool_limits(1):
        euclid(section, repeats)
        other_distances(section, 1 if chosen.quick else 3)
        if not chosen.quick:
            million(section)
            growth(section)
    section.note(note_of("kNN, brute force"))
    section.finish(chosen.write)


if __name__ == "__main__":
    main()
