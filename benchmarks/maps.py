"""Maps of digits beside umap-learn and openTSNE: processor seconds, and what the maps keep. Then
graphs by descent, clusters of density and medoids beside pynndescent, three HDBSCANs and kmedoids;
classes that spread from few rows, and missing cells, beside scikit-learn; and how fast the page of
a map is drawn in a headless browser. Then neighbours among many series, and clusters of wide rows.

The graph of 15 neighbours is given to all maps, so that the map alone is timed; compilation is done
beforehand. MNIST (70,000 rows) needs MERCER_DATA. MERCER_MAPS names a Python that has the peers,
which need versions of their own of what they stand on; else they are left out.
"""

import gzip
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright
from scipy.sparse import csr_array
from scipy.stats import spearmanr
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
)
from sklearn.impute import KNNImputer as TheirImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.semi_supervised import LabelSpreading as Theirs

from graphs import gin
from harness import Section, data_folder, options
from mercer import (
    HDBSCAN,
    KMedoids,
    KNeighborsClassifier,
    KNNImputer,
    LabelSpreading,
    NearestNeighbors,
    NeighbourEmbedding,
)
from mercer.distances import DTW, Edit, Jaccard, Minkowski
from mercer.kernels import TableKernel, WeisfeilerLehman
from mercer.plots import MapDisplay
from mercer.search import NeighbourGraph, SampleDescentIndex

K, JUDGED = 15, 1000

#: what a peer does in a process of its own: it prints its seconds, and saves what it finds
PEERS = """
import sys, time
import numpy as np
folder, name = sys.argv[1:]
few, given = (dict(np.load(f"{folder}/{part}.npz")) for part in ("few", "given"))

def umap_learn(X, near, far):
    import umap
    own = np.arange(len(X))[:, None]
    graph = np.hstack([own, near]), np.hstack([np.zeros((len(X), 1)), far]).astype(np.float32), None
    model = umap.UMAP(n_neighbors=near.shape[1] + 1, precomputed_knn=graph, random_state=0)
    return model.fit_transform(X)

def openTSNE(X, near, far):
    from openTSNE import TSNEEmbedding, affinity, initialization, nearest_neighbors
    graph = nearest_neighbors.PrecomputedNeighbors(near, far)
    pull = affinity.Uniform(knn_index=graph, k_neighbors=near.shape[1], n_jobs=2)
    start = initialization.pca(X, random_state=0)
    made = TSNEEmbedding(start, pull, negative_gradient_method="fft", n_jobs=2, random_state=0)
    made = made.optimize(60, exaggeration=12, momentum=0.5)
    return np.asarray(made.optimize(190, momentum=0.8))

def pynndescent(X):
    from pynndescent import NNDescent
    found = NNDescent(X, n_neighbors=16, random_state=0).neighbor_graph[0]
    return np.array([[j for j in row if j != i][:15] for i, row in enumerate(found)])

def fast_hdbscan(X):
    from fast_hdbscan import HDBSCAN
    return HDBSCAN(min_cluster_size=20).fit_predict(X)

def hdbscan(X):
    from hdbscan import HDBSCAN
    return HDBSCAN(min_cluster_size=20, core_dist_n_jobs=2).fit_predict(X)

def scikit_learn(X):
    from sklearn.cluster import HDBSCAN
    return HDBSCAN(min_cluster_size=20, n_jobs=2, copy=True).fit_predict(X)

def kmedoids(X):
    from kmedoids import KMedoids
    from sklearn.metrics import pairwise_distances
    return KMedoids(10, random_state=0).fit(pairwise_distances(X)).medoid_indices_

run = globals()[name.replace("-", "_")]
run(**few)
began, wall = time.process_time(), time.perf_counter()
found = run(**given)
print(time.process_time() - began, time.perf_counter() - wall)
np.save(f"{folder}/found.npy", found)
"""


class Peers:
    """Other libraries, which the Python that MERCER_MAPS names has; none without it."""

    def __init__(self) -> None:
        self.python = os.environ.get("MERCER_MAPS", "")

    def run(self, name: str, few: dict[str, Any], given: dict[str, Any]) -> list[Any]:
        """Processor seconds, seconds and the answer for ``given``; ``few`` compile all before."""
        with tempfile.TemporaryDirectory() as folder:
            np.savez(f"{folder}/few.npz", **few)
            np.savez(f"{folder}/given.npz", **given)
            done = subprocess.run(
                [self.python, "-W", "ignore", "-c", PEERS, folder, name],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            seconds = [float(word) for word in done.stdout.split()[-2:]]
            return [*seconds, np.load(f"{folder}/found.npy")]

    def note(self, section: Section, *names: str) -> None:
        """Their versions under a table, or that they were left out."""
        if not self.python:
            section.note("no peers: MERCER_MAPS names no Python that has them")
            return
        code = f"from importlib.metadata import version\nfor n in {names}: print(n, version(n))"
        listed = subprocess.run([self.python, "-c", code], capture_output=True, text=True)
        told = ", ".join(listed.stdout.splitlines())
        section.note(f"{told}; their compilation is left out")


def timed(work: Callable[[Any], Any], X: Any) -> list[Any]:
    """Processor seconds, seconds, and what the work gives."""
    began, wall = time.process_time(), time.perf_counter()
    found = work(X)
    return [time.process_time() - began, time.perf_counter() - wall, found]


def mnist() -> tuple[np.ndarray, np.ndarray] | None:
    """All 70,000 rows, and their labels."""
    folder = data_folder()
    if folder is None:
        return None
    parts = []
    for kind, skip in (("images", 16), ("labels", 8)):
        bytes_ = [
            gzip.decompress((Path(folder) / f"images/mnist_{part}_{kind}.idx.gz").read_bytes())[
                skip:
            ]
            for part in ("train", "test")
        ]
        parts.append(np.frombuffer(b"".join(bytes_), np.uint8))
    return parts[0].reshape(len(parts[1]), -1).astype(np.float32), parts[1]


def kept(X: np.ndarray, near: np.ndarray, Y: np.ndarray, labels: np.ndarray) -> list[float]:
    """The share of neighbours that a map keeps, accuracy in it, correlation of distances."""
    some = np.random.default_rng(0).permutation(len(X))[:JUDGED]
    index = NearestNeighbors(n_neighbors=K).fit(Y.astype(np.float64))
    flat = index.kneighbors()[1][some]
    share = np.mean([len({*a} & {*b}) / K for a, b in zip(near[some], flat)])
    rest = np.setdiff1d(np.arange(len(X)), some)
    accuracy = KNeighborsClassifier(K).fit(Y[rest], labels[rest]).score(Y[some], labels[some])
    pairs = np.triu_indices(JUDGED, 1)
    gaps = [np.sqrt(((R[some][:, None] - R[some]) ** 2).sum(axis=2))[pairs] for R in (X, Y)]
    far: Any = spearmanr(*gaps)
    return [float(share), float(accuracy), float(far.statistic)]


def main() -> None:
    args = options()
    section = Section(
        "maps",
        "Maps of digits from a graph of 15 neighbours that is given.",
        ["data", "method", "processor seconds", "seconds", "neighbours kept", "accuracy",
         "correlation of distances"],
    )  # fmt: skip
    sets: dict[str, Any] = {"digits": load_digits(return_X_y=True)}
    large = None if args.quick else mnist()
    if large is None:
        section.note("MNIST was left out: it needs MERCER_DATA, and no --quick")
    else:
        sets["MNIST"] = large
    peers = Peers()
    for data, (X, labels) in sets.items():
        far, near = NearestNeighbors(n_neighbors=K).fit(X).kneighbors()
        starts = np.arange(0, near.size + 1, K)
        graph = csr_array((far.ravel(), near.ravel(), starts), shape=(len(X), len(X)))
        few = {"X": X[:500], "near": np.minimum(near[:500], 499), "far": far[:500]}
        rows = {
            "NeighbourEmbedding": timed(
                NeighbourEmbedding(K, metric="precomputed", random_state=0).fit_transform, graph
            )
        }
        for name in ("umap-learn", "openTSNE") if peers.python else ():
            rows[name] = peers.run(name, few, {"X": X, "near": near, "far": far})
        for name, (processor, wall, Y) in rows.items():
            found = kept(X, near, Y, labels)
            cells = [f"{processor:.1f}", f"{wall:.1f}", *(f"{value:.3f}" for value in found)]
            section.row(data, name, *cells)
    peers.note(section, "umap-learn", "openTSNE")
    section.finish(args.write)
    beside_peers(args, large, peers)
    maps_of_kinds(args, peers)
    spread_labels(args, sets)
    fill_cells(args)
    draw_page(args)
    take_costly_distances(args, large)


def beside_peers(args: Any, large: Any, peers: Peers) -> None:
    """Graphs by descent, clusters of density and medoids of the same rows, and how well."""
    section = Section(
        "density",
        "A graph of 15 neighbours by descent (recall of 1,000 rows), HDBSCAN of 20 rows a cluster "
        "(agreement with the true groups), and ten medoids (mean distance to them).",
        ["task", "rows", "method", "processor seconds", "seconds", "quality"],
    )
    tasks: list[Any] = []  # name, rows, what this library does, its peers, how good an answer is
    if large is not None:
        X = large[0]
        some = np.random.default_rng(0).permutation(len(X))[:JUDGED]
        exact = NearestNeighbors(n_neighbors=K + 1).fit(X).kneighbors(X[some])[1][:, 1:]
        tasks.append((
            "graph, MNIST", X,
            lambda X: NeighbourGraph(Minkowski(), K, "descent").fit(X).indices_, ["pynndescent"],
            lambda near: np.mean([len({*a} & {*b}) / K for a, b in zip(exact, near[some])]),
        ))  # fmt: skip
    for columns in (2, 10):
        size = 5_000 if args.quick else 100_000
        wide = np.random.default_rng(0).uniform(0.3, 3, 50)
        X, groups = make_blobs(size, columns, centers=50, cluster_std=wide, random_state=0)
        tasks.append((
            f"HDBSCAN, {columns} columns", X, lambda X: HDBSCAN(20).fit(X).labels_,
            ["fast-hdbscan", "hdbscan", "scikit-learn"], partial(adjusted_rand_score, groups),
        ))  # fmt: skip
    X = X[:4_000]
    tasks.append((
        "medoids, 10 columns", X, lambda X: KMedoids(10, random_state=0).fit(X).medoid_indices_,
        ["kmedoids"], lambda chosen: NearestNeighbors(n_neighbors=1).fit(X[chosen])
        .kneighbors(X)[0].mean(),
    ))  # fmt: skip
    for task, X, work, names, judge in tasks:
        few = X[:600]
        work(few)
        runs = {"mercer": timed(work, X)}
        for name in names if peers.python else ():
            runs[name] = peers.run(name, {"X": few}, {"X": X})
        for name, (processor, wall, found) in runs.items():
            cells = f"{processor:.1f}", f"{wall:.1f}", f"{judge(found):.4f}"
            section.row(task, f"{len(X):,}", name, *cells)
    peers.note(section, "pynndescent", "fast-hdbscan", "hdbscan", "scikit-learn", "kmedoids")
    section.finish(args.write)


def kinds(folder: Path, quick: bool) -> dict[str, tuple[Any, Any, Any]]:
    """Samples of five kinds with a distance or a kernel, and labels where there are any."""
    few = 500 if quick else 20_000
    names = pd.read_csv(folder / "strings/names_by_language.csv", keep_default_na=False)
    names = names.drop_duplicates("name").sample(min(few, 9_000), random_state=0)
    adult = pd.read_csv(folder / "categorical/adult_train.csv.gz").sample(few // 2, random_state=0)
    with (folder / "sets/groceries.csv").open() as lines:
        baskets = [set(line.strip().split(",")) for line in lines]
    power = [pd.read_csv(folder / f"timeseries/italypowerdemand_{part}.csv")
             for part in ("train", "test")]  # fmt: skip
    series = pd.concat(power)
    proteins, classes = gin(folder / "graphs/proteins.txt.gz")
    return {
        "names": (names["name"].tolist(), Edit(), names["language"].to_numpy()),
        "census": (adult.drop(columns="income"), TableKernel(), adult["income"].to_numpy()),
        "baskets": ([items for items in baskets if len(items) > 2][:few], Jaccard(), None),
        "series": ([*series.iloc[:, 1:].to_numpy()], DTW(), series.iloc[:, 0].to_numpy()),
        "graphs": (proteins, WeisfeilerLehman(3).normalised(), classes),
    }


def maps_of_kinds(args: Any, peers: Peers) -> None:
    """Maps of other kinds than vectors, from the same graph for all."""
    section = Section(
        "maps of any kind",
        "Maps from a graph of 15 neighbours by a distance of each kind, which is given to all.",
        ["data", "rows", "seconds for the graph", "method", "processor seconds",
         "neighbours kept", "accuracy"],
    )  # fmt: skip
    folder = data_folder()
    if folder is None:
        section.note("left out: they need MERCER_DATA")
        return
    for data, (X, distance, labels) in kinds(Path(folder), args.quick).items():
        took, _, found = timed(NeighbourGraph(distance, K).fit, X)
        near, far = found.indices_, found.distances_
        n = len(near)
        X, m = np.random.default_rng(0).normal(size=(n, 2)), min(n, 500)  # umap asks for vectors
        few = {"X": X[:m], "near": np.minimum(near[:m], m - 1), "far": far[:m]}
        given = {"X": X, "near": near, "far": far}
        model = NeighbourEmbedding(K, metric="precomputed", random_state=0)
        runs = {"NeighbourEmbedding": timed(model.fit_transform, found.to_sparse())}
        if peers.python:
            runs["umap-learn"] = peers.run("umap-learn", few, given)
        for name, (processor, _, Y) in runs.items():
            share, accuracy = kept_of_graph(near, Y, labels)
            section.row(data, f"{n:,}", f"{took:.1f}", name, f"{processor:.1f}", f"{share:.3f}",
                        "" if labels is None else f"{accuracy:.3f}")  # fmt: skip
    peers.note(section, "umap-learn")
    section.finish(args.write)


def kept_of_graph(near: np.ndarray, Y: np.ndarray, labels: Any) -> tuple[float, float]:
    """The share of the neighbours that a map keeps, and how often they vote for the right label."""
    flat = NearestNeighbors(n_neighbors=K).fit(Y.astype(np.float64)).kneighbors()[1]
    share = np.mean([len({*a} & {*b}) / K for a, b in zip(near, flat)])
    if labels is None:
        return float(share), 0.0
    codes = np.unique(labels, return_inverse=True)[1]
    votes = [np.bincount(codes[row]).argmax() for row in flat]
    return float(share), float((votes == codes).mean())


def take_costly_distances(args: Any, large: Any) -> None:
    """The graph of series by descent, and clusters of the first rows of MNIST."""
    section = Section(
        "costly",
        "Neighbours among series of length 100 under DTW by descent, and HDBSCAN of wide rows.",
        ["task", "rows", "processor seconds", "pairs compared for a row", "share of all pairs",
         "recall"],
    )  # fmt: skip
    rng = np.random.default_rng(0)
    base = rng.normal(size=(20, 100)).cumsum(axis=1)
    for n in (2_000,) if args.quick else (5_000, 20_000):
        series = base[rng.integers(20, size=n)] + 0.3 * rng.normal(size=(n, 100)).cumsum(axis=1)
        for window in (None, 0.1):
            began = time.process_time()
            graph = NeighbourGraph(DTW(window=window), K, "descent").fit([*series])
            spent, index = time.process_time() - began, graph.index_
            each = index.n_compared_ / n if isinstance(index, SampleDescentIndex) else n
            began = time.process_time()
            recall = graph.recall(500)
            whole = (time.process_time() - began) * n / 500
            name = f"DTW, {'no window' if window is None else f'window {window}'}"
            share = f"{2 * each / (n - 1):.3f}"
            section.row(name, f"{n:,}", f"{spent:.1f}", f"{each:.0f}", share, f"{recall:.4f}")
            section.row(f"{name}, exact, from 500 rows", f"{n:,}", f"{whole:.1f}", "", "", "")
    if large is not None:
        for n in (20_000, 60_000):
            began = time.process_time()
            HDBSCAN(20).fit(large[0][:n])
            spent = time.process_time() - began
            section.row("HDBSCAN, MNIST x 784", f"{n:,}", f"{spent:.1f}", "", "", "")
    n = 10_000 if args.quick else 1_000_000
    X = make_blobs(n, 10, centers=50, cluster_std=3.0, random_state=0)[0].astype(np.float32)
    spent = timed(NeighbourEmbedding(K, random_state=0).fit_transform, X)[0]
    section.row("map, 10 columns, with its graph", f"{n:,}", f"{spent:.1f}", "", "", "")
    section.finish(args.write)


def draw_page(args: Any) -> None:
    """The page of many points in a headless Chromium of 1280 x 800, which has no graphics card."""
    section = Section(
        "page",
        "The page of a map with eight columns of numbers and three of levels, while it is moved.",
        ["rows", "MB", "processor seconds to write", "ms a picture", "pictures a second"],
    )
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        section.note("no browser was found")
    else:
        rng = np.random.default_rng(0)
        for n in (1_000, 10_000, 100_000):
            columns = {f"x{i}": rng.normal(size=n) for i in range(8)}
            levels = {f"c{i}": rng.choice(list("abcde"), n) for i in range(3)}
            groups = rng.integers(0, 30, n)
            points = 20 * rng.normal(size=(30, 2))[groups] + rng.normal(size=(n, 2))
            display = MapDisplay(points, pd.DataFrame(columns | levels), labels=groups)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "map.html"
                began = time.process_time()
                display.write(path)
                spent = time.process_time() - began
                with sync_playwright() as playwright:
                    chromium = playwright.chromium.launch(
                        executable_path=browser, args=["--no-sandbox", "--disable-gpu"]
                    )
                    page = chromium.new_page(viewport={"width": 1280, "height": 800})
                    page.goto(path.as_uri())
                    while page.evaluate("waiting"):  # wait_for_function would need eval
                        page.wait_for_timeout(20)
                    each, rate = page.evaluate(MOVES)
                    chromium.close()
                megabytes = f"{path.stat().st_size / 1e6:.1f}"
            section.row(f"{n:,}", megabytes, f"{spent:.2f}", f"{each:.1f}", f"{rate:.0f}")
    section.finish(args.write)


#: the median time of a picture, and how many there are in two seconds of moving
MOVES = """async () => {
  const times = [];
  for (let i = 0; i < 30; i++) {
    const began = performance.now();
    x0 += 50; render();
    times.push(performance.now() - began);
  }
  const began = performance.now();
  let shown = 0;
  while (performance.now() - began < 2000) {
    move(3, 1); shown++;
    await new Promise(done => requestAnimationFrame(done));
  }
  return [times.sort((a, b) => a - b)[15], shown / 2];
}"""


def fill_cells(args: Any) -> None:
    """Tables of which a tenth of the cells is lost and filled again, beside scikit-learn."""
    section = Section(
        "cells",
        "A tenth of the cells of tables is lost and filled again: errors of numbers in standard "
        "deviations, and the share of the other cells that is right.",
        ["table", "method", "processor seconds", "error of numbers", "others right"],
    )
    loads: list[Any] = [load_iris, load_wine, load_diabetes, load_breast_cancer]
    tables = {load.__name__.removeprefix("load_"): load(as_frame=True).frame for load in loads}
    folder = data_folder()
    if folder is None:
        section.note("tables with columns that are no numbers need MERCER_DATA")
    else:
        for name in ("penguins", "titanic", "credit_g", "adult_test.csv.gz"):
            path = Path(folder) / "categorical" / (name if "." in name else f"{name}.csv")
            tables[name.partition(".")[0]] = pd.read_csv(
                path, keep_default_na=False, na_values=[""]
            )
    for name, table in tables.items():
        lost = np.random.default_rng(0).random(table.shape) < 0.1
        lacking, numbers = table.mask(lost), table.select_dtypes("number").columns
        began = time.process_time()
        found = {"KNNImputer": KNNImputer().fit_transform(lacking)}
        spent = [time.process_time() - began]
        for k in (5, 10):
            began = time.process_time()
            cells = TheirImputer(n_neighbors=k).fit_transform(lacking[numbers])
            spent.append(time.process_time() - began)
            found[f"scikit-learn, {k} neighbours"] = pd.DataFrame(cells, columns=numbers)
        found["mean, most frequent"] = lacking.fillna(
            {c: lacking[c].mean() if c in numbers else lacking[c].mode()[0] for c in table}
        )
        spent.append(0.0)
        for (method, filled), seconds in zip(found.items(), spent):
            errors, right = [], []
            for j, column in enumerate(table):
                rows = lost[:, j] & table[column].notna().to_numpy()
                if column not in filled or not rows.any():
                    continue
                truth, guess = table[column][rows].to_numpy(), filled[column][rows].to_numpy()
                if column in numbers:
                    gaps = (guess - truth) / table[column].std()
                    errors.append(np.sqrt((gaps**2).mean()))
                else:
                    right.append((guess == truth).mean())
            share = f"{np.mean(right):.3f}" if right else ""
            section.row(name, method, f"{seconds:.2f}", f"{np.mean(errors):.3f}", share)
    section.finish(args.write)


def spread_labels(args: Any, sets: dict[str, Any]) -> None:
    """Classes of all rows from those of few, beside scikit-learn's LabelSpreading."""
    section = Section(
        "labels",
        "Classes of all digits from those of few, means of five draws of these.",
        ["data", "known", "method", "processor seconds", "accuracy of the others"],
    )
    few = {"digits": 30, "MNIST": 100}
    for data, (X, labels) in sets.items():
        makers: dict[str, Any] = {
            "LabelSpreading": LabelSpreading,
            "LabelSpreading, graph by descent": partial(LabelSpreading, algorithm="descent"),
            "scikit-learn, alpha=0.2": lambda: Theirs("knn"),
            "scikit-learn, alpha=0.9": lambda: Theirs("knn", alpha=0.9, max_iter=1000),
            "scikit-learn, alpha=0.99": lambda: Theirs("knn", alpha=0.99, max_iter=1000),
        }
        draws = 5 if data == "digits" else 1
        for name, make in makers.items():
            seconds, right = [], []
            for seed in range(draws):
                known = np.random.default_rng(seed).permutation(len(X))[: few[data]]
                y = np.full(len(X), -1)
                y[known] = labels[known]
                if seed == 0:  # once before, so that libraries are loaded
                    make().fit(X[:500], labels[:500].astype(int))
                began = time.process_time()
                model = make().fit(X, y)
                seconds.append(time.process_time() - began)
                right.append((model.transduction_[y < 0] == labels[y < 0]).mean())
            accuracy = f"{np.mean(right):.3f}"
            section.row(data, str(few[data]), name, f"{np.median(seconds):.2f}", accuracy)
    section.finish(args.write)


if __name__ == "__main__":
    main()
