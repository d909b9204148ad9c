"""Neighbours of sets and of strings: Jaccard distances beside scikit-learn and scipy, edit
distances beside RapidFuzz's own, and searches whose matrix would not fit into memory.

Sets are rows of 784 bits, a fifth of them 1. Names have 5 to 15 letters, DNA 100 characters.
"""

import inspect
from functools import partial

import numpy as np
import rapidfuzz
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist as fuzz_cdist
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from harness import Section, interleaved, options, peak_memory
from mercer.distances import Edit, Jaccard
from mercer.search import BruteForce
from mercer.search.brute import EDGE
from mercer.threads import count_jobs
from roofline import note_of

SETS, BITS, QUERIES = 20_000, 784, 400


def names(n, low=5, high=16, letters="abcdefghijklmnopqrstuvwxyz", seed=0):
    rng = np.random.default_rng(seed)
    ends = np.cumsum(rng.integers(low, high, n))
    text = "".join(rng.choice(list(letters), ends[-1]))
    return [text[s:e] for s, e in zip([0, *ends[:-1]], ends)]


SEARCH = f"""
import numpy as np
from mercer.distances import Edit
from mercer.search import BruteForce
{inspect.getsource(names)}
queries = names(1000, seed=1)
BruteForce(Edit()).fit(queries).query(k=1)
# measured
index = BruteForce(Edit()).fit(names(SIZE))
"""


def tiles(distance, X):
    """All distances by the tiles of an index, one at a time."""
    parts = [X[s : s + EDGE] for s in range(0, X.shape[0], EDGE)]
    for A in parts:
        for B in parts:
            yield distance.block(A, B)


def their_tiles(texts):
    parts = [texts[s : s + EDGE] for s in range(0, len(texts), EDGE)]
    for A in parts:
        for B in parts:
            yield whole_matrix(A, list(B))  # of one list, half of the pairs are computed


def whole_matrix(texts, others):
    return fuzz_cdist(texts, others, scorer=Levenshtein.distance, dtype=np.float64)


def exhaust(stream, *arguments):
    return sum(tile.shape[0] for tile in stream(*arguments))


def jaccard(section, repeats):
    X = np.random.default_rng(0).random((SETS, BITS)) < 0.2
    index = BruteForce(Jaccard(), n_jobs=1).fit(X)
    everywhere = BruteForce(Jaccard()).fit(X)
    theirs = NearestNeighbors(n_neighbors=10, metric="jaccard", algorithm="brute").fit(X)
    few = max(QUERIES // 20, 1)  # of scikit-learn's, which are slow
    ours, reference = index.query(X[:few], 10)[0], theirs.kneighbors(X[:few])[0]
    queries = X[:QUERIES]
    seconds = interleaved(
        {
            "mercer": lambda: index.query(queries, 10),
            "mercer, all cores": lambda: everywhere.query(queries, 10),
            "scipy cdist alone": lambda: cdist(queries, X, "jaccard"),
            "scikit-learn": lambda: theirs.kneighbors(X[:few]),
        },
        repeats,
    )
    seconds["scikit-learn"] *= QUERIES / few
    slowest = seconds["scikit-learn"]
    for name, value in seconds.items():
        threads = count_jobs(None) if name.endswith("cores") else 1
        rate = f"{QUERIES / value:,.0f} queries/s"
        section.row("10 nearest of 20,000 sets", name, rate, f"{slowest / value:.0f}", threads)
    section.note(f"largest difference of Jaccard distances {np.abs(ours - reference).max():.1e}")


def edit(section, repeats):
    for what, texts in (
        ("names", names(3000)),
        ("DNA, length 64", names(2000, 64, 65, "ACGT")),
        ("DNA, length 100", names(1000, 100, 101, "ACGT")),
    ):
        others, X = list(texts), Edit().encode(texts)
        for ours, reference in zip(tiles(Edit(), X), their_tiles(texts), strict=True):
            assert (ours == reference).all()
        seconds = interleaved(
            {
                "mercer, tiles": partial(exhaust, tiles, Edit(), X),
                "rapidfuzz cdist, tiles": partial(exhaust, their_tiles, texts),
                "rapidfuzz cdist, whole": partial(whole_matrix, texts, others),
            },
            repeats,
        )
        theirs = seconds["rapidfuzz cdist, tiles"]
        for name, value in seconds.items():
            rate = f"{len(texts) ** 2 / value:.3g} pairs/s"
            section.row(f"edit matrix, {what}", name, rate, f"{theirs / value:.2f}", 1)


def searches(section, quick):
    cores = count_jobs(None)
    for what, n, code in (
        ("10 nearest of 1,000 names", 1_000_000, "index.query(queries, 10)"),
        ("names within 1 edit of another", 200_000, "index.query_radius()"),
    ):
        n = n // 10 if quick else n
        index = BruteForce(Edit()).fit(names(n))
        queries = names(1000, seed=1)
        run = partial(index.query, queries, 10) if "nearest" in what else index.query_radius
        seconds = interleaved({"mercer": run}, 1)["mercer"]
        peak = peak_memory(SEARCH.replace("SIZE", str(n)) + code)
        whole = (1000 if "nearest" in what else n) * n * 8 / 1e9
        section.row(f"{what}, of {n:,}", "mercer", f"{seconds:.1f} s", "", cores)
        section.note(
            f"{what}, of {n:,}: {peak:.0f} MB with the names, while the matrix would take "
            f"{whole:,.0f} GB"
        )


def main() -> None:
    args = options()
    section = Section(
        "sets_and_edit",
        f"Neighbours of sets ({SETS:,} of {BITS} bits) and strings; median of interleaved runs. "
        "Ratio: to scikit-learn, or to RapidFuzz on the same tiles.",
        ["task", "library", "speed", "ratio", "threads"],
    )
    repeats = 2 if args.quick else 5
    jaccard(section, repeats)
    edit(section, repeats)
    searches(section, args.quick)
    section.note(f"RapidFuzz {rapidfuzz.__version__}")
    section.note(note_of("Tanimoto of bits"))
    section.note(note_of("edit distance"))
    section.finish(args.write)


if __name__ == "__main__":
    main()
