"""KernelKMeans beside tslearn's and numpy's, a million rows by low rank, SpectralClustering."""

import importlib.util
import tempfile
import warnings
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.cluster import SpectralClustering as TheirSpectral
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from harness import Section, interleaved, options, peak_memory
from mercer import KernelKMeans, SpectralClustering
from mercer.kernels import RBF
from mercer.threads import count_jobs
from roofline import note_of

N, D, K = 10_000, 20, 20
MANY = 1_000_000
SECONDS = str(Path(tempfile.gettempdir()) / "mercer_clusters_seconds")


def problem(n: int) -> np.ndarray:
    """Overlapping clouds."""
    return make_blobs(n, D, centers=K, cluster_std=6.0, random_state=0)[0]


def numpy_kmeans(G: np.ndarray, k: int, seed: int, max_iter: int) -> np.ndarray:
    """Lloyd's method by products of K with indicators, from random labels; the clusters."""
    labels = np.random.RandomState(seed).randint(k, size=len(G))
    for _ in range(max_iter):
        shares = np.eye(k)[labels]
        shares /= np.maximum(shares.sum(axis=0), 1)
        products = G @ shares
        squares = np.einsum("ic,ic->c", shares, products)
        after = (squares - 2 * products).argmin(axis=1)
        if (after == labels).all():
            break
        labels = after
    return labels


def inertia_of(G: np.ndarray, labels: np.ndarray) -> float:
    """The same figure for all libraries, from their clusters."""
    parts = [np.flatnonzero(labels == c) for c in np.unique(labels)]
    return float(G.diagonal().sum() - sum(G[np.ix_(i, i)].sum() / len(i) for i in parts))


def spectral(n: int) -> Section:
    section = Section(
        "spectral clusters",
        f"Two moons, RBF kernel, n = {n:,}; median of interleaved runs.",
        ["library", "seconds", "ratio", "agreement with the moons"],
    )
    X, y = make_moons(n, noise=0.06, random_state=0)
    learners = {
        "mercer": SpectralClustering(2, gamma=30, random_state=0),
        "scikit-learn": TheirSpectral(2, gamma=30, random_state=0),
    }
    seconds = interleaved({name: partial(m.fit, X) for name, m in learners.items()}, 3)
    for name, took in seconds.items():
        agreement = adjusted_rand_score(y, learners[name].labels_)
        section.row(name, f"{took:.2f}", f"{took / seconds['mercer']:.1f}", f"{agreement:.3f}")
    return section


def main() -> None:
    args = options()
    spectral(1000 if args.quick else 4000).finish(args.write)
    n = 2000 if args.quick else N
    section = Section(
        "clusters",
        f"k-means with an RBF kernel, n = {n:,}, d = {D}, k = {K}, K computed within each "
        "run, one start where not said otherwise; median of interleaved runs. Ratio: to mercer's "
        "seconds.",
        ["library", "seconds", "ratio", "inertia"],
    )
    X, gamma, labels = problem(n), 0.02 / D, {}

    def ours(name: str, starts: int) -> None:
        model = KernelKMeans(K, kernel=RBF(gamma), n_init=starts, random_state=0)
        labels[name] = model.fit(X).labels_

    def by_numpy() -> None:
        labels["numpy"] = numpy_kmeans(RBF(gamma)(X), K, 0, 300)

    runs = {name: partial(ours, name, starts)
            for name, starts in (("mercer", 1), ("mercer, 10 starts", 10))}  # fmt: skip
    runs["numpy"] = by_numpy
    seconds = interleaved(runs, 1 if args.quick else 3)
    if importlib.util.find_spec("tslearn"):
        warnings.simplefilter("ignore")
        from tslearn.clustering import KernelKMeans as TheirKMeans

        def theirs() -> None:
            params = {"gamma": gamma}
            model = TheirKMeans(K, kernel="rbf", kernel_params=params, n_init=1, random_state=0)
            labels["tslearn"] = model.fit(X[:, :, None]).labels_

        seconds |= interleaved({"tslearn": theirs}, 1)
    G = RBF(gamma)(X)
    for name, took in seconds.items():
        ratio = took / seconds["mercer"]
        section.row(name, f"{took:.2f}", f"{ratio:.1f}", f"{inertia_of(G, labels[name]):.2f}")
    del G
    many = 50_000 if args.quick else MANY
    code = f"""
import time
import numpy as np
from mercer import KernelKMeans
from mercer.kernels import RBF
X = np.random.default_rng(0).normal(size=({many}, 10)).astype(np.float32)
model = KernelKMeans({K}, kernel=RBF(0.05), solver="low_rank", rank=100, n_init=1, max_iter=30,
                     memory="3GB", random_state=0)
model.fit(X[:1000])
# measured
began = time.perf_counter()
model.fit(X)
open({SECONDS!r}, "w").write(str(time.perf_counter() - began))
"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peak = peak_memory(code)
    took = float(Path(SECONDS).read_text())
    section.note(
        f"{many:,} rows of 10 float32 columns by rank 100, 30 iterations: {took:.0f} s, "
        f"{peak:,.0f} MB beside the samples"
    )
    if "tslearn" in labels:
        times = seconds["tslearn"] / seconds["mercer, 10 starts"]
        section.note(
            f"tslearn {version('tslearn')}: {times:.0f} times the seconds of 10 starts. It leaves "
            "out the square of each mean, and so minimises another sum"
        )
    section.note(f"{count_jobs(None)} threads")
    section.note(note_of("k-means on K"))
    section.finish(args.write)


if __name__ == "__main__":
    main()
