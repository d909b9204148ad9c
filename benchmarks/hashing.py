"""Hashing and long strings: the recall that was wanted on real samples, speed beside faiss at equal
recall, signatures of sets beside rensa and datasketch, edit distances beside RapidFuzz.

The real samples need MERCER_DATA. Peers that are not installed are left out, and named.
"""

import gzip
import importlib.util
import inspect
import random
import time
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from rapidfuzz.distance import OSA, Indel, Levenshtein
from rapidfuzz.process import cdist
from sklearn.datasets import load_svmlight_file

from harness import Section, data_folder, interleaved, options, peak_memory
from mercer import LSHIndex, MinHash, _native
from mercer.distances import Cosine, Edit, Jaccard, Match, Minkowski
from mercer.search import BruteForce, DescentIndex

RECALL = 0.9
PEERS = ("faiss", "rensa", "datasketch")
HERE = {name for name in PEERS if importlib.util.find_spec(name)}


# --- recall at the distance that was asked for ---------------------------------------------------


def numbers(path: Path) -> np.ndarray:
    frame = pl.read_csv(path).select(pl.selectors.numeric()).drop_nulls()
    X = frame.to_numpy().astype(np.float32)
    return X / np.maximum(X.std(axis=0), 1e-9)


def samples(folder: Path):
    """Name, distance and rows of the five samples."""
    digits = numbers(folder / "numeric_clf/pendigits.csv.gz")
    yield "pendigits", Minkowski(), digits
    yield "pendigits", Cosine(), digits
    yield "california", Minkowski(1), numbers(folder / "numeric_reg/california_housing.csv.gz")
    with gzip.open(folder / "numeric_clf/a9a.svm.gz") as file:
        yield "a9a", Jaccard(), (load_svmlight_file(file)[0] > 0).astype(float)
    adult = pl.read_csv(folder / "categorical/adult_train.csv.gz").select(pl.selectors.string())
    yield "adult", Match(), adult.fill_null("").to_numpy().astype(object)


def recall(section: Section, folder: Path, quick: bool) -> None:
    for name, distance, X in samples(folder):
        rows = np.random.default_rng(0).permutation(X.shape[0])[: 5000 if quick else 20_000]
        Z, X = X[rows[:500]], X[rows[500:]]
        brute = BruteForce(distance, n_jobs=1).fit(X)
        third = brute.query(Z, 3)[0][:, -1]
        near = float(np.median(third[third > 0]))
        D, ids, starts = brute.query_radius(Z, near)
        query = np.repeat(np.arange(500), np.diff(starts))
        edge = near * 0.95 < D  # nearer pairs are found more often
        found, share = [], []
        for seed in range(5):
            index = LSHIndex(distance, near, RECALL, random_state=seed, n_jobs=1).fit(X)
            _, hashed, ends = index.query_radius(Z, near * (1 + 1e-5))
            pairs = np.repeat(np.arange(500), np.diff(ends)) * 10**6 + hashed
            found.append(np.isin(query * 10**6 + ids, pairs)[edge].mean())
            share.append(index.share_)
        section.row(
            f"recall at d1, {name} ({type(distance).__name__})",
            "mercer",
            f"{np.mean(found):.3f}, wanted {RECALL} ({min(found):.3f} to {max(found):.3f})",
            f"{np.mean(share):.2%} of rows",
        )


# --- speed at equal recall -----------------------------------------------------------------------


def near_duplicates(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    Z = X[:1000] + 0.05 * rng.normal(size=(1000, d)).astype(np.float32)
    return X, Z


def clusters(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n // 50, d))
    X = centres[rng.integers(0, len(centres), n + 1000)] + 0.3 * rng.normal(size=(n + 1000, d))
    X = X.astype(np.float32)
    return X[1000:], X[:1000]


def speed(section: Section, quick: bool) -> None:
    n, d = (20_000 if quick else 50_000), 64
    for what, k, (X, Z) in (
        ("near-duplicates", 1, near_duplicates(n, d)),
        ("clusters", 10, clusters(n, d)),
    ):
        brute = BruteForce(Minkowski(), n_jobs=1).fit(X)
        right = brute.query(Z, k)[1]
        searches = {"mercer BruteForce": lambda Z, k=k, i=brute: i.query(Z, k)[1]}
        fits = {}
        near = 0.5 if k == 1 else None
        began = time.perf_counter()
        index = LSHIndex(Minkowski(), near, 0.95, n_jobs=1).fit(X)
        fits["mercer LSHIndex"] = time.perf_counter() - began
        searches["mercer LSHIndex"] = lambda Z, k=k, i=index: i.query(Z, k)[1]
        began = time.perf_counter()
        walks = DescentIndex(Minkowski(), n_jobs=1).fit(X)
        fits["mercer DescentIndex"] = time.perf_counter() - began
        searches["mercer DescentIndex"] = lambda Z, k=k, i=walks: i.query(Z, k)[1]
        if "faiss" in HERE:
            import faiss

            faiss.omp_set_num_threads(1)
            flat = faiss.IndexFlatL2(d)
            flat.add(X)
            searches["faiss IndexFlatL2"] = lambda Z, k=k, i=flat: i.search(Z, k)[1]
            for bits in (64, 256, 1024):
                began = time.perf_counter()
                lsh = faiss.IndexLSH(d, bits)
                lsh.train(X)
                lsh.add(X)
                name = f"faiss IndexLSH, {bits} bits"
                fits[name] = time.perf_counter() - began
                searches[name] = lambda Z, k=k, i=lsh: i.search(Z, k)[1]
        seconds = interleaved({s: partial(run, Z) for s, run in searches.items()}, 3)
        for name, run in searches.items():
            share = np.mean([np.isin(a, b).mean() for a, b in zip(right, run(Z))])
            section.row(
                f"{what}, {n:,} x {d}, {k} nearest",
                name,
                f"{len(Z) / seconds[name]:,.0f} queries/s",
                f"recall {share:.3f}" + (f", built in {fits[name]:.1f} s" if name in fits else ""),
            )


# --- signatures ----------------------------------------------------------------------------------


def signatures(section: Section, quick: bool) -> None:
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(50_000)]
    n = 4000 if quick else 20_000
    sets = [[words[i] for i in rng.integers(0, len(words), 120)] for _ in range(n)]
    runs = {"mercer MinHash": lambda: MinHash(128).fit_transform(sets)}
    encoded = Jaccard().encode(sets)
    minhash = MinHash(128).fit()
    runs["mercer MinHash, encoded sets"] = lambda: minhash.hashes(encoded)
    if "rensa" in HERE:
        from rensa import RMinHash

        runs["rensa RMinHash, batch"] = lambda: RMinHash.digest_matrix_from_token_sets(sets, 128, 0)
    few = n // 20
    if "datasketch" in HERE:
        import datasketch

        coded = [[w.encode() for w in s] for s in sets[:few]]
        runs["datasketch bulk (a twentieth of the sets)"] = lambda: datasketch.MinHash.bulk(
            coded, num_perm=128
        )
    seconds = interleaved(runs, 3)
    for name, value in seconds.items():
        count = few if "twentieth" in name else n
        section.row(
            "signatures of 128, sets of 120 texts", name, f"{count / value:,.0f} sets/s", ""
        )


# --- edit distances ------------------------------------------------------------------------------


def drawn(count: int, length: int, letters: str, seed: int) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices(letters, k=length)) for _ in range(count)]


def edits(section: Section, repeats: int) -> None:
    letters = {"DNA": "ACGT", "letters": "abcdefghijklmnopqrstuvwxyz"}
    for what, symbols in letters.items():
        for length in (65, 100, 256, 512, 1024):
            count = 256 if length < 500 else 96
            old, new = drawn(count, length, symbols, 0), drawn(count, length, symbols, 1)
            for variant, scorer in (("levenshtein", Levenshtein), ("osa", OSA), ("indel", Indel)):
                rho = Edit(variant)
                X = rho.encode(old)
                A, B = rho.prepare(X), rho.prepare(rho.encode(new, like=X))
                ours = partial(rho.block, A, B)
                theirs = partial(cdist, old, new, scorer=scorer.distance, dtype=np.float64)
                assert (ours() == theirs()).all()
                seconds = interleaved({"ours": ours, "theirs": theirs}, repeats)
                section.row(
                    f"{variant}, {what}, {length} symbols",
                    "mercer",
                    f"{count**2 / seconds['ours']:.3g} pairs/s",
                    f"{seconds['theirs'] / seconds['ours']:.1f} x RapidFuzz",
                )


def names(n: int) -> list[str]:
    rng = np.random.default_rng(0)
    parts = ["an", "ber", "da", "el", "fre", "ga", "han", "is", "jo", "ka", "li", "ma", "na", "ro"]
    return [
        " ".join("".join(rng.choice(parts, rng.integers(2, 5))) for _ in range(2))
        for _ in range(n)
    ]  # fmt: skip


MEMORY = f"""
import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist
from mercer.distances import Edit
from mercer.search import BruteForce
{inspect.getsource(names)}
texts = names(10_000)
BruteForce(Edit(), n_jobs=1).fit(texts[:600]).query(k=5)
cdist(texts[:9], texts[:9], scorer=Levenshtein.distance)
# measured
"""


def nearest_names(section: Section, repeats: int) -> None:
    texts = names(10_000)
    others = list(texts)  # RapidFuzz computes one half of the pairs of one list: the other case
    index = BruteForce(Edit(), n_jobs=1)
    runs = {
        "mercer BruteForce": lambda: index.fit(texts).query(k=5),
        "rapidfuzz cdist, the matrix alone": lambda: cdist(
            texts, others, scorer=Levenshtein.distance, workers=1
        ),
    }
    seconds = interleaved(runs, repeats)
    codes = [
        "BruteForce(Edit(), n_jobs=1).fit(texts).query(k=5)",
        "cdist(texts, list(texts), scorer=Levenshtein.distance)",
    ]
    for (name, value), code in zip(seconds.items(), codes, strict=True):
        section.row(
            "5 nearest of each of 10,000 names",
            name,
            f"{value:.2f} s",
            f"{peak_memory(MEMORY + code):.0f} MB",
        )


def main() -> None:
    args = options()
    section = Section(
        "hashing",
        "Neighbours by hashing, signatures of sets, edit distances of long strings; one thread, "
        "median of interleaved runs.",
        ["task", "library", "measured", "beside"],
    )
    repeats = 3 if args.quick else 5
    folder = data_folder()
    if folder is None:
        section.note("recall on real samples: left out; set MERCER_DATA.")
    else:
        recall(section, folder, args.quick)
    speed(section, args.quick)
    signatures(section, args.quick)
    edits(section, repeats)
    nearest_names(section, repeats)
    missing = [name for name in PEERS if name not in HERE]
    if missing:
        section.note(f"not installed, and left out: {', '.join(missing)}")
    section.note(
        f"edit distances of 64 symbols at most are RapidFuzz's own; longer ones by {_native.isa()}"
    )
    section.finish(args.write)


if __name__ == "__main__":
    main()
