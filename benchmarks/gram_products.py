"""K @ V for an RBF Gram matrix that is never stored, beside scikit-learn's rbf_kernel(X) @ V."""

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from harness import Section, interleaved, options, peak_memory
from mercer.gram import TiledGram
from mercer.kernels import RBF
from mercer.threads import count_jobs
from roofline import note_of

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
    section.note(f"{seconds['scikit-learn'] / seconds['mercer']:.1f} times as fast as scikit-learn")
    section.note(f"largest difference of the two products {error:.1e}")
    section.note(note_of("Gram tiles"))
    section.finish(args.write)


if __name__ == "__main__":
    main()
