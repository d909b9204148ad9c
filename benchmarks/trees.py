"""Kernels on trees: the time of Gram matrices, and accuracy on parses of messages beside words.

One thread, and seconds of the processor. MERCER_DATA is needed. No other library of Python that is
kept up has kernels on trees; the peer is what users do without them, a linear machine on words.
"""

from __future__ import annotations

import gzip
import re
import sys
import time
import warnings

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from harness import Section, data_folder, options
from mercer import SVC, KernelSearchCV
from mercer.kernels import Kernel, PartialTree, SubsetTree, Subtree

COSTS = [10.0**e for e in range(-1, 3)]


def messages() -> tuple[list[str], np.ndarray]:
    """Parses without their classes, which stand at the roots."""
    folder = data_folder()
    if folder is None:
        sys.exit("MERCER_DATA names no folder of samples.")
    with gzip.open(folder / "trees/tweets_sentiment.txt.gz", "rt") as file:
        lines = [line.strip() for line in file if line.strip()]
    parts = [line[1:].split(None, 1) for line in lines]
    return ["(ROOT " + rest for _, rest in parts], np.array([name for name, _ in parts])


def gram_seconds(kernel: Kernel, X: list[str], repeats: int) -> tuple[float, float]:
    """Least seconds of reading, and of the Gram matrix."""
    found = []
    for _ in range(repeats):
        began = time.process_time()
        samples = kernel.encode(X)
        read = time.process_time()
        prepared = kernel.prepare(samples)
        kernel.block(prepared, prepared)
        found.append((read - began, time.process_time() - read))
    return min(a for a, _ in found), min(b for _, b in found)


def main() -> None:
    args = options()
    X, y = messages()
    folds = StratifiedKFold(3 if args.quick else 10, shuffle=True, random_state=0)
    section = Section(
        "trees",
        f"{len(X):,} parses of short messages with three classes of mood. Seconds of one thread; "
        "per cent right in ten folds, C chosen in each by three.",
        ["machine", "reading", "Gram matrix", "right"],
    )

    def right(model: object, samples: list[str]) -> str:
        scores = 100 * cross_val_score(model, samples, y, cv=folds)
        return f"{scores.mean():.1f} ± {scores.std() / np.sqrt(len(scores)):.1f}"

    for kernel in (Subtree(), SubsetTree(), PartialTree()):
        read, gram = gram_seconds(kernel, X, 1 if args.quick else 3)
        search = KernelSearchCV(SVC(kernel=kernel.normalised()), {"C": COSTS}, cv=3)
        section.row(f"SVC, {kernel!r}", f"{read:.2f} s", f"{gram:.2f} s", right(search, X))
    words = [" ".join(re.findall(r"[^\s()]+(?=\))", tree)) for tree in X]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = make_pipeline(TfidfVectorizer(), LinearSVC())
        section.row("weighted words, LinearSVC of scikit-learn", "", "", right(peer, words))
    section.finish(args.write)


if __name__ == "__main__":
    main()
