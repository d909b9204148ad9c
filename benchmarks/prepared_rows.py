"""K @ v by tiles for kernels that compute something once for each row, before the tiles.

K is not stored: each tile is computed, multiplied and forgotten. What a distance or kernel needs
of a row (a whitened vector, the counts of its k-mers) is prepared once for all tiles. Peers compute
the same product from the whole matrix.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.feature_extraction.text import CountVectorizer
from threadpoolctl import threadpool_limits

from harness import Section, interleaved, options
from mercer.distances import Mahalanobis
from mercer.gram import Place, TiledGram
from mercer.kernels import RBF, GappedKmer, Mismatch, Spectrum

N, D, STRINGS, LENGTH = 6_000, 50, 6_000, 100


def whole(X: np.ndarray, precision: np.ndarray, v: np.ndarray) -> Callable[[], np.ndarray]:
    """SciPy's Mahalanobis distances, exponentials, product."""
    return lambda: np.exp(-(cdist(X, X, "mahalanobis", VI=precision) ** 2) / D) @ v


def counted(strings: list[str], k: int, v: np.ndarray) -> Callable[[], np.ndarray]:
    """scikit-learn's counts of k-mers, as a sparse matrix F, and F (Fᵀ v)."""

    def run() -> np.ndarray:
        F = CountVectorizer(analyzer="char", ngram_range=(k, k), lowercase=False)
        counts = F.fit_transform(strings).astype(np.float64)
        return (counts @ counts.T).toarray() @ v

    return run


def main() -> None:
    args = options()
    n = N // 3 if args.quick else N
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, D)) @ rng.normal(size=(D, D))
    v = rng.normal(size=n)
    strings = ["".join(row) for row in rng.choice(list("ACGT"), (n, LENGTH))]
    section = Section(
        "prepared_rows",
        f"K @ v by tiles, float64, one thread: {n:,} vectors of {D} columns, or as many strings of "
        f"{LENGTH} letters, from raw strings; median of interleaved runs. Difference: relative, of "
        "the products.",
        ["kernel", "seconds", "peer", "peer's seconds", "difference"],
    )
    precision = np.linalg.inv(np.cov(X.T))
    metric = RBF(1 / D, metric=Mahalanobis(precision=precision))
    cases: list[tuple] = [(metric, X, "scipy cdist, exp", whole(X, precision, v))]
    cases += [(Spectrum(k), strings, "CountVectorizer", counted(strings, k, v)) for k in (3, 6)]
    cases += [
        (kernel, strings, "", None)
        for kernel in (Spectrum(12), Spectrum(6, shortest=1), Mismatch(4, 1), GappedKmer(6, 4))
    ]
    for kernel, samples, peer, theirs in cases:

        def product(kernel=kernel, samples=samples) -> np.ndarray:
            encoded = kernel.encode(samples)
            return TiledGram(kernel.bind(encoded), encoded, place=Place(n_jobs=1)) @ v

        runs = {"mercer": product} | ({"peer": theirs} if theirs else {})
        with threadpool_limits(1):
            seconds = interleaved(runs, 1 if args.quick else 3)
        compared = ["", "", ""]
        if theirs:
            wanted = theirs()
            difference = np.abs(product() - wanted).max() / np.abs(wanted).max()
            compared = [peer, f"{seconds['peer']:.3f}", f"{difference:.1e}"]
        name = "RBF of Mahalanobis" if kernel is metric else repr(kernel)
        section.row(name, f"{seconds['mercer']:.3f}", *compared)
    section.finish(args.write)


if __name__ == "__main__":
    main()
