"""Graphs of near samples by descent: names under edit distance, baskets under Jaccard's, and rows
of numbers beside usearch and faiss, each on one thread.

Peers that are not installed are left out. Seconds are those of the processor; what other programs
do at the same time changes them little.
"""

import importlib.util
import time
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from harness import Section, options
from mercer.distances import Edit, Jaccard, Minkowski
from mercer.search import BruteForce, DescentIndex, SampleDescentIndex

PEERS = ("usearch", "faiss")
HERE = [name for name in PEERS if importlib.util.find_spec(name)]


def names(n: int, seed: int) -> list[str]:
    """Two words of some parts, with an edit in every second one."""
    rng = np.random.default_rng(seed)
    parts = ["an", "ber", "da", "el", "fre", "ga", "han", "is", "jo", "ka", "li", "ma", "na", "ro"]
    known = ["".join(np.random.default_rng(i).choice(parts, 2 + i % 3)) for i in range(3000)]
    found = []
    for _ in range(n):
        text = [*" ".join(known[i] for i in rng.integers(0, 3000, 2))]
        if rng.random() < 0.5:
            text[rng.integers(len(text))] = str(rng.choice([*"abcdefghij"]))
        found.append("".join(text))
    return found


def baskets(n: int, seed: int) -> list[set]:
    """Parts of the usual baskets of customers, and some other items."""
    rng, usual = (
        np.random.default_rng(seed),
        np.random.default_rng(9).integers(0, 2000, (n // 20, 25)),
    )
    return [
        {
            *rng.choice(usual[rng.integers(len(usual))], 15).tolist(),
            *rng.integers(0, 2000, 4).tolist(),
        }
        for _ in range(n)
    ]


def spent(run) -> tuple[float, object]:
    """Seconds of the processor, and the result."""
    began = time.process_time()
    result = run()
    return time.process_time() - began, result


def share(right: np.ndarray, found: np.ndarray) -> float:
    """The share of distances that are those of the nearest."""
    return float((found <= right[:, -1:] * (1 + 1e-6)).mean())


def of_samples(section: Section, n: int) -> None:
    cases = ("names, Edit", Edit(), names), ("baskets, Jaccard", Jaccard(), baskets)
    for what, distance, make in cases:
        X, Z = make(n, 0), make(n // 20, 1)
        build, index = spent(lambda d=distance, X=X: SampleDescentIndex(d, n_jobs=1).fit(X))
        ask, (found, _) = spent(lambda i=index, Z=Z: i.query(Z, 10))
        brute = BruteForce(distance, n_jobs=1).fit(X)
        whole, (right, _) = spent(lambda i=brute, Z=Z: i.query(Z, 10))
        section.row(
            f"{n:,} {what}", "mercer SampleDescentIndex", f"{build:.1f}", f"{len(Z) / ask:,.0f}",
            f"{share(right, found):.3f}", f"{index.n_compared_ / n:,.0f}",
        )  # fmt: skip
        section.row(f"{n:,} {what}", "mercer BruteForce", "", f"{len(Z) / whole:,.0f}", "1.000", "")


def peers(X: np.ndarray, k: int):
    """Name, how an index is built, and how it is asked for the numbers of the k nearest."""
    n, d = X.shape
    yield (
        "mercer DescentIndex",
        lambda: DescentIndex(Minkowski(), n_jobs=1).fit(X),
        (lambda index, Z: index.query(Z, k)[1]),
    )
    if "usearch" in HERE:
        from usearch.index import Index

        def build():
            index = Index(ndim=d, metric="l2sq", connectivity=16, expansion_add=200,
                          expansion_search=64)  # fmt: skip
            index.add(np.arange(n), X, threads=1)
            return index

        yield "usearch, M 16, ef 64", build, lambda index, Z: index.search(Z, k, threads=1).keys
    if "faiss" in HERE:
        import faiss

        faiss.omp_set_num_threads(1)

        def build():
            index = faiss.IndexHNSWFlat(d, 16)
            index.hnsw.efConstruction, index.hnsw.efSearch = 200, 64
            index.add(X)
            return index

        yield "faiss HNSW, M 16, ef 64", build, lambda index, Z: index.search(Z, k)[1]


def of_vectors(section: Section, n: int) -> None:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n // 50, 64))
    X = centres[rng.integers(0, len(centres), n + 1000)] + 0.3 * rng.normal(size=(n + 1000, 64))
    X, Z = X[1000:].astype(np.float32), X[:1000].astype(np.float32)
    right = BruteForce(Minkowski(), n_jobs=1).fit(X).query(Z, 10)[1]
    for name, build, ask in peers(X, 10):
        seconds, index = spent(build)
        ask(index, Z[:10])  # what is compiled or prepared by the first query
        times = [spent(partial(ask, index, Z)) for _ in range(3)]
        recall = np.mean([np.isin(a, b).mean() for a, b in zip(right, times[0][1], strict=True)])
        section.row(
            f"{n:,} x 64 in clusters", name, f"{seconds:.1f}",
            f"{len(Z) / min(t for t, _ in times):,.0f}", f"{recall:.3f}", "",
        )  # fmt: skip


def main():
    chosen = options()
    section = Section(
        "neighbours by descent",
        "The 10 nearest of new samples, one thread. Seconds of the processor; recall is the share "
        "that are nearest, and pairs are compared by the build.",
        ["samples", "index", "build s", "queries/s", "recall", "pairs a row"],
    )
    with threadpool_limits(1):
        of_samples(section, 2000 if chosen.quick else 20_000)
        of_vectors(section, 5000 if chosen.quick else 50_000)
    section.finish(chosen.write)


if __name__ == "__main__":
    main()
