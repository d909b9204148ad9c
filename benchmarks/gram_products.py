"""K @ V for an RBF Gram matrix that is never stored, beside scikit-learn's rbf_kernel(X) @ V.

The roofline is the matrix product of the upper triangle's tiles and the product with V at the
measured sgemm rate, plus one exponential a pair of the triangle at the measured native rate.
"""

import time

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from harness import Section, interleaved, options, peak_memory, product_rate
from mercer import _native
from mercer.gram import TiledGram
from mercer.kernels import RBF
from mercer.threads import count_jobs

N, D, COLUMNS, GAMMA = 20_000, 50, 16, 1 / 50

SETUP = f"""
import numpy as np
from mercer.gram import TiledGram
from mercer.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel
rng = np.random.default_rng(0)
X = rng.normal(size=({N}, {D})).astype(np.float32)
V = rng.normal(size=({N}, {COLUMNS})).astype(np.float32)
TiledGram(RBF({GAMMA}), X[:600]) @ V[:600]; rbf_kernel(X[:100]) @ V[:100]
# measured
"""


def exp_rate() -> float:
    """Native exponentials a second, one thread, in cache."""
    d = np.full(8192, 20.0, np.float32)
    best = np.inf
    for _ in range(50):
        began = time.perf_counter()
        for _ in range(20):
            _native.exp_scaled(d, 0.0)
        best = min(best, time.perf_counter() - began)
    return 8192 * 20 / best


def main() -> None:
    args = options()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)).astype(np.float32)
    V = rng.normal(size=(N, COLUMNS)).astype(np.float32)
    K = TiledGram(RBF(GAMMA), X)
    error = np.abs(K @ V - rbf_kernel(X, gamma=GAMMA) @ V).max()
    seconds = interleaved(
        {"mercer": lambda: K @ V, "scikit-learn": lambda: rbf_kernel(X, gamma=GAMMA) @ V},
        2 if args.quick else 5,
    )
    memory = {
        "mercer": peak_memory(SETUP + f"TiledGram(RBF({GAMMA}), X) @ V"),
        "scikit-learn": peak_memory(SETUP + f"rbf_kernel(X, gamma={GAMMA}) @ V"),
    }
    section = Section(
        "gram_products",
        f"K @ V, RBF, n = {N:,}, d = {D}, {COLUMNS} columns, float32; median of interleaved runs.",
        ["library", "seconds", "peak MB", "threads"],
    )
    cores = count_jobs(None)
    for name in seconds:
        section.row(name, f"{seconds[name]:.3f}", f"{memory[name]:.0f}", cores)
    operations, rate = N * N / 2 * 2 * D + N * N * 2 * COLUMNS, product_rate()
    floor = operations / rate + N * N / 2 / (exp_rate() * cores)
    section.note(f"{seconds['scikit-learn'] / seconds['mercer']:.1f} times as fast as scikit-learn")
    section.note(f"largest difference of the two products {error:.1e}")
    section.note(
        f"roofline {floor:.3f} s (sgemm {rate / 1e9:.0f} GFLOP/s, exp "
        f"{exp_rate() / 1e9:.2f}e9/s a thread): {100 * floor / seconds['mercer']:.0f}% reached"
    )
    section.finish(args.write)


if __name__ == "__main__":
    main()
