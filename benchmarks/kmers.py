"""Gram matrices of the kernels on k-mers, one thread, beside other programs, on random DNA.

LS-GKM has no package: give its gkmmatrix as MERCER_GKMMATRIX, built from
https://github.com/Dongwon-Lee/lsgkm with -O3 -march=native. Peers that need long for a few strings
get fewer; the rate, in pairs of strings a second, is over the pairs that were computed.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from threadpoolctl import threadpool_limits

from harness import Section, interleaved, options
from mercer.gram import Place, gram
from mercer.kernels import GappedKmer, Mismatch, Spectrum, WeightedDegree

LENGTH = 100
GKMMATRIX = os.environ.get("MERCER_GKMMATRIX")


def dna(n: int) -> list[str]:
    rng = np.random.default_rng(0)
    return ["".join(row) for row in rng.choice(list("ACGT"), (n, LENGTH))]


def ours(kernel, X: list[str]) -> Callable[[], np.ndarray]:
    """From raw strings to the dense Gram matrix."""

    def run() -> np.ndarray:
        samples = kernel.encode(X)
        return gram(kernel.bind(samples), samples, place=Place(n_jobs=1)).dense()

    return run


def vectorised(X: list[str], k: int) -> Callable[[], np.ndarray]:
    def run() -> np.ndarray:
        counts = CountVectorizer(analyzer="char", ngram_range=(k, k), lowercase=False)
        F = counts.fit_transform(X).astype(np.float64)
        return (F @ F.T).toarray()

    return run


def strkernels(name: str, X: list[str], **parameters) -> Callable[[], np.ndarray]:
    import strkernels

    strings = np.array(X)
    return lambda: getattr(strkernels, name)(normalizer=None, **parameters)(strings, strings)


def strkernel(X: list[str], k: int, m: int) -> Callable[[], np.ndarray]:
    from strkernel.mismatch_kernel import MismatchKernel, preprocess

    return lambda: MismatchKernel(l=4, k=k, m=m).get_kernel(preprocess(X), normalize=False).kernel


def gkmmatrix(X: list[str], d: int, folder: str) -> Callable[[], np.ndarray]:
    """LS-GKM's gapped k-mer kernel, normalised, both strands, at most d mismatches counted."""
    half = len(X) // 2
    for name, part in (("first", X[:half]), ("second", X[half:])):
        text = "".join(f">{i}\n{s}\n" for i, s in enumerate(part))
        Path(folder, name).write_text(text)

    def run() -> np.ndarray:
        call = [str(GKMMATRIX), "-t", "0", "-l", "10", "-k", "6", "-d", str(d), "-v", "0"]
        subprocess.run([*call, "first", "second", "K"], cwd=folder, check=True)
        K = np.zeros((len(X), len(X)))
        for i, line in enumerate(Path(folder, "K").read_text().splitlines()):
            K[i, : i + 1] = line.split()
        return K + np.tril(K, -1).T

    return run


def compare(section: Section, what: str, runs: dict, repeats: int, factor: float = 1.0) -> None:
    """One row for each program; ``runs``: name -> (strings, what computes K). Ours comes first, and
    the values of the others are ours, times the factor."""
    values = {name: run() for name, (_, run) in runs.items()}
    first = next(iter(values.values()))
    seconds = interleaved({name: run for name, (_, run) in runs.items()}, repeats)
    base = None
    for name, (X, _) in runs.items():
        n = len(X)
        rate = n * (n + 1) / 2 / seconds[name]
        base = base or rate
        error = np.abs(values[name] - (1 if name == "mercer" else factor) * first[:n, :n]).max()
        times = "" if name == "mercer" else f"{base / rate:.1f}x"
        section.row(what, name, n, f"{seconds[name]:.3f}", f"{rate:.2g}", times, f"{error:.1g}")


def main() -> None:
    args = options()
    n, few, repeats = (500, 10, 1) if args.quick else (2000, 40, 5)
    X = dna(n)
    section = Section(
        "kmers",
        f"Gram matrices of random DNA strings of length {LENGTH}, one thread, from the strings to "
        "the dense matrix in float64. Pairs are those of the upper triangle, which is all that "
        "Mercer and LS-GKM compute.",
        ["kernel", "program", "strings", "seconds", "pairs/s", "mercer is", "largest difference"],
    )
    with threadpool_limits(1):
        compare(section, "Spectrum k=6", {
            "mercer": (X, ours(Spectrum(6), X)),
            "CountVectorizer, X X'": (X, vectorised(X, 6)),
        }, repeats)  # fmt: skip
        compare(section, "Spectrum k=6, blended", {
            "mercer": (X, ours(Spectrum(6, shortest=1), X)),
            "strkernels": (X[:few], strkernels("SpectrumStringKernel", X[:few], order=6)),
        }, repeats)  # fmt: skip
        compare(section, "WeightedDegree D=8", {
            "mercer": (X, ours(WeightedDegree(8), X)),
            "strkernels": (X[: 5 * few],
                           strkernels("WeightedDegreeStringKernel", X[: 5 * few], degree=8)),
        }, repeats, factor=36.0)  # fmt: skip
        compare(section, "Mismatch k=4, m=1", {
            "mercer": (X, ours(Mismatch(4, 1), X)),
            "strkernel": (X[:few], strkernel(X[:few], 4, 1)),
        }, repeats)  # fmt: skip
        Y = X[:100] if args.quick else X[:500]
        compare(section, "GappedKmer l=10, k=6", {
            "mercer": (Y, ours(GappedKmer(10, 6), Y)),
        }, repeats)  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            both = GappedKmer(10, 6, both_strands=True).normalised()
            runs = {"mercer": (Y, ours(both, Y))}
            if GKMMATRIX:
                runs["LS-GKM, d=4 (all)"] = (Y, gkmmatrix(Y, 4, folder))
                runs["LS-GKM, d=3 (fewer)"] = (Y, gkmmatrix(Y, 3, folder))
            compare(section, "the same, both strands, normalised", runs, min(repeats, 3))
    if not GKMMATRIX:
        section.note("MERCER_GKMMATRIX is not set: LS-GKM left out")
    section.note(
        f"strkernels {version('strkernels')}, strkernel {version('strkernel')}; strkernels calls "
        "the blended spectrum kernel spectrum. Programs were run in turn, the median is shown."
    )
    section.finish(args.write)


if __name__ == "__main__":
    main()
