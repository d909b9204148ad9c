"""How near the hot loops come to what the machine can do, each alone on one thread.

A loop is run on a problem of its own, which needs no data and no peers. Its operations are those
of the textbook: an addition, a product, a comparison, or one on a word of 64 bits; a fused
multiply-add is two. Its bytes are those that the loop has to read and write once. Other benchmarks
print the share of their loop by `note_of`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from harness import Reached, Section, copy_rate, least_seconds, options, product_rate
from mercer import KernelKMeans, LinearSVC, _native
from mercer.distances import DTW, Edit, Jaccard, Minkowski
from mercer.gram import Place, gram
from mercer.kernels import RBF, AllSubsequences, WeisfeilerLehman
from mercer.samples import graphs_of
from mercer.search import BruteForce

ENOUGH = 0.6  # of the peak; below it the reason is said
EXPONENTIAL = 20  # operations: two for the remainder, a polynomial, and the power of two


class Work(NamedTuple):
    """What is run, and how many operations and bytes it takes."""

    run: Callable[[], Any]
    operations: float
    moved: float
    dtype: type = np.float64


class Loop(NamedTuple):
    make: Callable[[], Work]
    why: str  # the limit below `ENOUGH`


def exponentials() -> Work:
    x = np.full(8192, 20.0, np.float32)

    def run() -> None:
        for _ in range(500):
            _native.exp_scaled(x, 0.0)

    return Work(run, 500 * len(x) * EXPONENTIAL, 2 * x.nbytes, np.float32)


def tiles(n: int = 8000, d: int = 50, columns: int = 16) -> Work:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    V = rng.normal(size=(n, columns)).astype(np.float32)
    K = gram(RBF(1 / d), X, place=Place(memory="20MB", n_jobs=1))
    operations = n * n / 2 * (2 * d + EXPONENTIAL) + n * n * 2 * columns
    return Work(lambda: K @ V, operations, X.nbytes + 2 * V.nbytes, np.float32)


def nearest(n: int = 20_000, d: int = 100, queries: int = 2000) -> Work:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    index = BruteForce(Minkowski(), n_jobs=1).fit(X)
    Z = X[:queries].copy()
    return Work(lambda: index.query(Z, 10), 2.0 * n * queries * d, X.nbytes + Z.nbytes, np.float32)


def means(n: int = 6000, steps: int = 20) -> Work:
    X = np.random.default_rng(0).normal(size=(n, 10))
    K = RBF(0.05)(X)
    model = KernelKMeans(
        20, kernel="precomputed", n_init=1, max_iter=steps, solver="exact", random_state=0, n_jobs=1
    )
    warnings.simplefilter("ignore", ConvergenceWarning)  # so many steps are meant
    count = model.fit(K).n_iter_
    return Work(lambda: model.fit(K), float(count * n * n), float(count * K.nbytes))


def descent(n: int = 20_000, d: int = 50) -> Work:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + 0.5 * np.sqrt(d) * rng.normal(size=n) > 0
    model = LinearSVC(loss="hinge", random_state=0, n_jobs=1)
    steps = model.fit(X, y).n_iter_
    return Work(lambda: model.fit(X, y), 4.0 * steps * n * d, float(steps * X.nbytes))


def warping(n: int = 24, length: int = 1000) -> Work:
    rows = np.random.default_rng(0).normal(size=(n, length)).cumsum(axis=1)
    X = DTW().encode(rows)
    # a difference, its square, two minima and a sum
    operations = n * (n - 1) / 2 * length**2 * 5
    return Work(lambda: DTW().bind(X).whole(X, X, n_jobs=1), operations, rows.nbytes)


def edits(n: int = 400, length: int = 128) -> Work:
    rng = np.random.default_rng(0)
    texts = ["".join(row) for row in rng.choice(list("ACGT"), (n, length))]
    rho = Edit()
    X = rho.prepare(rho.encode(texts))
    words = n * n * length * np.ceil(length / 64)
    return Work(lambda: rho.block(X, X), words * 17, n * length)  # 17: Myers, and the carries


def bits(n: int = 3000, columns: int = 1024) -> Work:
    A: Any = Jaccard().prepare(
        Jaccard().encode(np.random.default_rng(0).random((n, columns)) < 0.2)
    )
    # the common bits of a word, their number, and its sum
    operations = n * n * columns / 64 * 3
    return Work(lambda: Jaccard().block(A, A), operations, n * columns / 8 + 8 * n * n)


def subsequences(n: int = 80, length: int = 1000) -> Work:
    letters = np.random.default_rng(0).choice(list("ACGT"), (n, length))
    kernel = AllSubsequences()
    X = kernel.encode(["".join(row) for row in letters])
    operations = n * (n + 1) / 2 * length**2 * 3
    return Work(lambda: kernel.bind(X).whole(X, X, n_jobs=1), operations, n * length)


def relabelling(n: int = 4000, nodes: int = 30, rounds: int = 5) -> Work:
    rng = np.random.default_rng(0)
    parents = (rng.random((n, nodes - 1)) * np.arange(1, nodes)).astype(np.int64)
    edges = np.stack([parents, np.broadcast_to(np.arange(1, nodes), parents.shape)], axis=2)
    edges = (edges + (np.arange(n) * nodes)[:, None, None]).reshape(-1, 2)
    X = graphs_of(np.full(n, nodes), edges, rng.integers(0, 5, n * nodes))
    kernel = WeisfeilerLehman(rounds)
    ends = 2.0 * len(edges) * rounds
    # the label of each end is read, and each node is written with its number in the next round
    return Work(
        lambda: kernel.features(X, width=2**18), ends * 2, ends * 8 + n * nodes * rounds * 16
    )


LOOPS = {
    "exponential": Loop(exponentials, "two of ten operations convert and shift instead of adding"),
    "Gram tiles": Loop(tiles, "exponentials and strips of 16 columns run below BLAS's rate"),
    "kNN, brute force": Loop(nearest, "the ten least of each row are kept between the products"),
    "k-means on K": Loop(means, "the sums of a row by cluster are written at places by label"),
    "coordinate descent": Loop(
        descent, "a step needs the weights of the step before, and shrinking leaves out rows that "
        "are counted here"),
    "DTW": Loop(
        warping, "a cell waits for the one before it, and no operation is a fused multiply-add"),
    "edit distance": Loop(
        edits, "words carry into the next one, and operations on bits run on half of the ports"),
    "Tanimoto of bits": Loop(
        bits, "counting bits is one operation where a fused multiply-add is two"),
    "all subsequences": Loop(
        subsequences, "sums that wait for their neighbour, and no products to fuse with"),
    "Weisfeiler-Lehman": Loop(
        relabelling, "labels are read at places of no order and sorted, and so wait for the cache"),
}  # fmt: skip


def measured(name: str, repeats: int) -> Reached:
    with threadpool_limits(1):
        work = LOOPS[name].make()
        work.run()
        seconds = least_seconds(work.run, repeats)
    return Reached.of(seconds, work.operations, work.moved, work.dtype)


def note_of(name: str, repeats: int = 5) -> str:
    """The sentence of a loop, for the benchmark that compares it with peers."""
    found = measured(name, repeats)
    words = (
        f"{name}, one thread: {found.operations / 1e9:.2f}e9 operations and "
        f"{found.bytes / 1e9:.2f} GB a second, {found.share:.0%} of the peak"
    )
    return words if found.share >= ENOUGH else f"{words}: {LOOPS[name].why}"


def main() -> None:
    args = options()
    section = Section(
        "roofline",
        "Hot loops on one thread, in processor seconds: operations and bytes a second, and the "
        "least time that the measured peaks of the machine allow as a part of the loop's. The "
        "farthest from it is first.",
        ["loop", "10⁹ operations/s", "GB/s", "share", f"why below {ENOUGH:.0%}"],
    )
    found = {name: measured(name, 2 if args.quick else 4) for name in LOOPS}
    for name, reached in sorted(found.items(), key=lambda item: item[1].share):
        why = LOOPS[name].why if reached.share < ENOUGH else ""
        section.row(
            name, f"{reached.operations / 1e9:.2f}", f"{reached.bytes / 1e9:.2f}",
            f"{reached.share:.0%}", why,
        )  # fmt: skip
    single, double = product_rate(1, np.float32) / 1e9, product_rate(1, np.float64) / 1e9
    section.note(
        f"measured peaks of one thread: {single:.0f}e9 operations a second in float32, "
        f"{double:.0f}e9 in float64, as BLAS multiplies matrices; {copy_rate() / 1e9:.1f} GB a "
        "second, read and written by a copy of 128 MB"
    )
    section.finish(args.write)


if __name__ == "__main__":
    main()
