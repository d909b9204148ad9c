"""Kernels on graphs beside GraKeL: Gram matrices, memory, accuracy, and features of many graphs.

One thread, and seconds of the processor, so that other programs disturb little. GraKeL has no wheel
for new versions of Python: MERCER_GRAPH_PEERS names a Python that has it, and without it it is left
out. MERCER_DATA is needed for the samples.
"""

import gzip
import json
import os
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np

from harness import Section, data_folder, options, said_and_peak
from mercer import SVC, KernelSearchCV, LinearSVC
from mercer.kernels import (
    Graphlets,
    Kernel,
    RandomWalk,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
    WLOptimalAssignment,
)
from mercer.samples import graphs_of
from roofline import note_of

FILES = {"MUTAG": "mutag", "PTC": "ptc_mr", "PROTEINS": "proteins", "IMDB-B": "imdb_binary"}
HYDROGEN = {"PTC": 19}  # nodes that the usual data set does not have
WANTED = {"MUTAG": 85.6, "PTC": 61.0, "PROTEINS": 75.0, "IMDB-B": 73.0}
COSTS = [10.0**e for e in range(-2, 4)]

#: what runs in the environment of the peer, which reads graphs from its standard input
PEERS = r"""
import json, sys, time, statistics, tracemalloc, warnings
import numpy as np
warnings.filterwarnings("ignore")
from grakel.kernels import (
    RandomWalk, RandomWalkLabeled, ShortestPath, VertexHistogram,
    WeisfeilerLehman, WeisfeilerLehmanOptimalAssignment)
given = json.load(sys.stdin)
def graphs(name):
    for n, edges, labels in given["sets"][name]:
        both = {(u, v) for u, v in edges} | {(v, u) for u, v in edges}
        yield [both, dict(enumerate(labels)), {e: 0 for e in both}]
makers = {
    "Weisfeiler-Lehman": lambda: WeisfeilerLehman(n_iter=5, base_graph_kernel=VertexHistogram),
    "optimal assignment": lambda: WeisfeilerLehmanOptimalAssignment(n_iter=5),
    "shortest path": lambda: ShortestPath(),
    "random walk": lambda: RandomWalk(lamda=given["decay"], kernel_type="geometric"),
    "random walk, labels": lambda: RandomWalkLabeled(lamda=given["decay"], kernel_type="geometric"),
}
found = {}
for problem, name in given["asked"]:
    X, times = list(graphs(name)), []
    for _ in range(given["repeats"]):
        began = time.process_time()
        K = makers[problem]().fit_transform(X)
        times.append(time.process_time() - began)
    peak = 0
    if problem == "Weisfeiler-Lehman":  # the others take minutes when memory is traced
        tracemalloc.start()
        makers[problem]().fit_transform(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    found[problem + "|" + name] = [statistics.median(times), peak, float(np.sum(K))]
print(json.dumps(found))
"""


def gin(path: Path, drop: int | None = None, degrees: bool = False) -> tuple[list, np.ndarray]:
    """Graphs (n, edges, labels) and classes of a file in the GIN form."""
    words = iter(gzip.decompress(path.read_bytes()).decode().split())
    graphs, classes = [], []
    for _ in range(int(next(words))):
        n, target = int(next(words)), int(next(words))
        labels, near = [], []
        for _ in range(n):
            labels.append(int(next(words)))
            near.append([int(next(words)) for _ in range(int(next(words)))])
        kept = {v: i for i, v in enumerate(v for v in range(n) if labels[v] != drop)}
        edges = [(kept[u], kept[v]) for u in kept for v in near[u] if u < v and v in kept]
        chosen = [len(near[v]) if degrees else labels[v] for v in kept]
        graphs.append((len(kept), edges, chosen))
        classes.append(target)
    return graphs, np.array(classes)


def measured(run: Callable[[], np.ndarray], repeats: int) -> tuple[float, int, np.ndarray]:
    """The median of processor time, the peak of memory that Python and numpy take, the values."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        K = run()
        times.append(time.process_time() - began)
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return statistics.median(times), peak, K


def matrix(kernel: Kernel, X: list) -> np.ndarray:
    """All values in one thread, from the raw graphs on, as GraKeL is given them."""
    encoded = kernel.encode(X)
    return kernel.bind(encoded).whole(encoded, encoded, n_jobs=1)


def peers(sets: dict, asked: list, decay: float, repeats: int) -> dict:
    python = os.environ.get("MERCER_GRAPH_PEERS")
    if python is None:
        return {}
    given = {"sets": sets, "asked": asked, "decay": decay, "repeats": repeats}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    done = subprocess.run(
        [python, "-c", PEERS], input=json.dumps(given), env=os.environ | threads,
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def accuracy(kernel: Kernel, X: list, y: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """Per cent right in 10 folds, and its deviation; C is chosen in each fold."""
    from sklearn.model_selection import StratifiedKFold

    right = []
    for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(y, y):
        search = KernelSearchCV(SVC(kernel=kernel), {"C": COSTS}, cv=5)
        search.fit([X[i] for i in train], y[train])
        right.append(100 * search.score([X[i] for i in test], y[test]))
    return float(np.mean(right)), float(np.std(right))


#: in a process of its own, whose peak memory is measured; the modules alone count for nothing
MANY = """
import sys
sys.path.insert(0, {folder!r})
from graphs import many
# measured
print(*many({n}))
"""


def many(n: int) -> tuple[float, float, float]:
    """Seconds of features of n graphs of 30 nodes and of a linear machine; bytes of features."""
    rng = np.random.default_rng(0)
    size = 30
    y = np.arange(n) % 2
    tree = np.stack([(rng.random((n, size - 1)) * np.arange(1, size)).astype(np.int64),
                     np.broadcast_to(np.arange(1, size), (n, size - 1))], axis=2)  # fmt: skip
    edges = (tree + (np.arange(n) * size)[:, None, None]).reshape(-1, 2)
    del tree  # as users read edges from files
    labels = rng.integers(0, 4 + np.repeat(y, size))
    began = time.process_time()
    X = graphs_of(np.full(n, size), edges, labels).astype(np.float32)
    F = WeisfeilerLehman(3).features(X, width=2**18)
    features = time.process_time() - began
    held = F.data.nbytes + F.indices.nbytes + F.indptr.nbytes
    began = time.process_time()
    LinearSVC(C=1e-3, tol=1e-2).fit(F, y)
    return features, time.process_time() - began, held


def main() -> None:
    given = options()
    folder = data_folder()
    if folder is None:
        sys.exit("MERCER_DATA names no folder of samples.")
    repeats = 1 if given.quick else 3
    sets, classes = {}, {}
    for name, file in FILES.items():
        path = folder / "graphs" / f"{file}.txt.gz"
        sets[name], classes[name] = gin(path, HYDROGEN.get(name), name == "IMDB-B")
    section = Section(
        "graphs",
        "Gram matrices of all graphs, one thread, seconds of the processor from raw graphs on; "
        "peak memory of Python and numpy. Weisfeiler-Lehman with 5 rounds.",
        ["problem", "graphs", "library", "seconds", "mercer is faster by", "MB", "sum of values"],
    )
    walk = RandomWalk()
    decay = float(walk.bind(walk.encode(sets["MUTAG"])).decay)
    kernels: dict[str, Kernel] = {
        "Weisfeiler-Lehman": WeisfeilerLehman(5),
        "optimal assignment": WLOptimalAssignment(5),
        "shortest path": ShortestPath(),
        "random walk": RandomWalk(decay),
        "random walk, labels": RandomWalk(decay, labels=True),
    }
    asked = [("Weisfeiler-Lehman", name) for name in FILES]
    asked += [("shortest path", "MUTAG"), ("shortest path", "PTC")]
    asked += [(name, "MUTAG") for name in list(kernels)[1:] if name != "shortest path"]
    theirs = peers(sets, asked, decay, repeats)
    for problem, name in asked:
        kernel, X = kernels[problem], sets[name]
        own, peak, K = measured(lambda kernel=kernel, X=X: matrix(kernel, X), repeats)
        section.row(
            problem, name, "mercer", f"{own:.4f}", "", f"{peak / 1e6:.1f}", f"{K.sum():.8g}"
        )
        if f"{problem}|{name}" in theirs:
            took, memory, total = theirs[f"{problem}|{name}"]
            section.row(problem, name, "grakel", f"{took:.4f}", f"{took / own:.1f}",
                        f"{memory / 1e6:.1f}" if memory else "", f"{total:.8g}")  # fmt: skip
    said = []
    for name, wanted in WANTED.items():
        mean, deviation = accuracy(WeisfeilerLehman(5).normalised(), sets[name], classes[name])
        said.append(f"{name} {mean:.1f} ± {deviation:.1f} (goal {wanted})")
    section.note(
        f"per cent right in 10 folds, SVC, C chosen in each fold, 5 rounds: {', '.join(said)}"
    )
    said = []
    for kernel in (VertexHistogram(), WLOptimalAssignment(5), ShortestPath(), Graphlets(4)):
        mean, _ = accuracy(kernel.normalised(), sets["MUTAG"], classes["MUTAG"])
        said.append(f"{type(kernel).__name__} {mean:.1f}")
    section.note(f"the same on MUTAG: {', '.join(said)}")
    for n in (20_000, 200_000, 1_000_000)[: 1 if given.quick else 3]:
        said, peak = said_and_peak(MANY.format(folder=str(Path(__file__).parent), n=n))
        features, machine, held = map(float, said)
        section.note(
            f"{n:,} trees of 30 nodes: features of 3 rounds in 2^18 columns in {features:.1f} s "
            f"({held / 1e6:.0f} MB), a linear machine in {machine:.1f} s; the peak of all with the "
            f"edges and labels {peak:,.0f} MB"
        )
    if not theirs:
        section.note("the peer was left out: MERCER_GRAPH_PEERS names no Python that has it")
    section.note(note_of("Weisfeiler-Lehman"))
    section.finish(given.write)


if __name__ == "__main__":
    main()
