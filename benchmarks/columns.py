"""The command ``mercer fit`` beside ten lines of scikit-learn or LightGBM, on all kinds of columns.

Sequences, texts, names, vectors, and targets that are skewed. What somebody who knows would write
by hand is the peer: TF-IDF and a linear machine, LightGBM on one-hot columns, and a support vector
machine on the string kernel that suits the data. The command is told nothing.

``--time``, ``--seeds`` and ``--sets`` choose less or more, ``--busy`` lets so many other processes
work meanwhile, and ``--splits FILE`` keeps the results of each split, which are not measured again.
The data sets that are not made here need MERCER_DATA.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
from scipy.special import expit
from sklearn.compose import TransformedTargetRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC as SklearnSVC, SVR, LinearSVC

from commands import Splits, beside, command
from harness import Section, data_folder, options
from mercer import SVC
from mercer.kernels import GappedKmer, Kernel, Spectrum, WeightedDegree

LETTERS = np.array(list("acgt"))
MOTIFS = "gtaagtat", "ttaccagg"
CHANGED = 0.25  # share of the letters of a motif that are others


class Rows(NamedTuple):
    """The rows to fit to, and those that are held out."""

    X: Any  # texts, (n,), or numbers, (n, d)
    y: np.ndarray
    new: Any
    wanted: np.ndarray


# --- data -------------------------------------------------------------------------------------


def stored(path: str, column: str, target: str, rows: int, held: int, seed: int) -> Rows:
    """Rows of a file of MERCER_DATA; its shares of classes are those of random rows."""
    folder = data_folder()
    assert folder is not None
    frame = pd.read_csv(folder / path, keep_default_na=False)
    order = np.random.default_rng(seed).permutation(len(frame))[: rows + held]
    X, y = (frame[name].to_numpy()[order].astype(str) for name in (column, target))
    return Rows(X[:rows], y[:rows], X[rows:], y[rows:])


def divided(X: Any, y: np.ndarray, rows: int) -> Rows:
    return Rows(X[:rows], y[:rows], X[rows:], y[rows:])


def spliced(length: int, shift: int, seed: int, rows: int = 400) -> Rows:
    """DNA of two classes: with two motifs, or with their letters in another order.

    ``shift`` moves the places of the motifs.
    """
    rng = np.random.default_rng(seed)
    n = rows + 1000
    letters, y = LETTERS[rng.integers(0, 4, (n, length))], rng.integers(0, 2, n)
    for row, whole in zip(letters, y):
        for number, motif in enumerate(MOTIFS):
            own = np.where(rng.random(8) < CHANGED, LETTERS[rng.integers(0, 4, 8)], list(motif))
            place = length * (1 + number) // 3 + rng.integers(-shift, shift + 1)
            row[place : place + 8] = own if whole else rng.permutation(own)
    return divided(np.array(["".join(row) for row in letters]), y.astype(str), rows)


def linear(seed: int) -> Rows:
    """Vectors of 768 numbers, of which directions of falling variance tell the class."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(1200, 40)) / np.sqrt(1 + np.arange(40))
    X = Z @ rng.normal(size=(40, 768)) + 0.3 * rng.normal(size=(1200, 768))
    y = Z @ rng.normal(size=40) + 0.5 * rng.normal(size=1200) > 0
    return divided(X, y.astype(int).astype(str), 200)


def ring(seed: int) -> Rows:
    """Vectors of 32 numbers; a class is a ring in two directions, the other is inside of it."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(2000, 32))
    y = np.hypot(Z[:, 0], Z[:, 1]) > 1.18
    X = Z * np.r_[1.5, 1.5, np.ones(30)] @ np.linalg.qr(rng.normal(size=(32, 32)))[0]
    return divided(X, y.astype(int).astype(str), 1000)


def twins(seed: int) -> Rows:
    """Vectors near one of 60 centres, each of which has a class."""
    rng = np.random.default_rng(seed)
    centres, classes = rng.normal(size=(60, 64)), rng.integers(0, 2, 60)
    own = rng.integers(0, 60, 1800)
    X = centres[own] + 1.3 * rng.normal(size=(1800, 64))
    y = np.where(rng.random(1800) < 0.05, 1 - classes[own], classes[own])
    return divided(X, y.astype(str), 800)


def skewed(kind: str, seed: int) -> Rows:
    """Six numbers, and a target that is positive and skewed."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2500, 6))
    f = np.sin(2 * X[:, 0]) + 0.7 * X[:, 1] + 0.5 * X[:, 2] * X[:, 3]
    noise = rng.normal(size=2500)
    y = {
        "lognormal": lambda: 1000 * np.exp(f + 0.6 * noise),
        "counts": lambda: rng.poisson(np.exp(0.8 + f)).astype(float),
        "share": lambda: expit(1.5 * f + 0.8 * noise),
        "half zeros": lambda: np.maximum(np.exp(f + 0.6 * noise) - 1, 0),
    }[kind]()
    return divided(X, y, 500)


# --- peers ------------------------------------------------------------------------------------


def indicators(rows: Rows) -> tuple[Any, Any]:
    """One-hot letters of each place; where lengths differ TF-IDF of words, or of three letters."""
    if len({len(text) for text in rows.X}) > 1:
        spoken = np.mean([" " in text for text in rows.X]) > 0.5
        settings = {} if spoken else {"analyzer": "char", "ngram_range": (1, 3)}
        reader = TfidfVectorizer(min_df=2, **settings).fit(rows.X)
        return reader.transform(rows.X), reader.transform(rows.new)
    reader = OneHotEncoder(handle_unknown="ignore").fit([list(text) for text in rows.X])
    return reader.transform([list(t) for t in rows.X]), reader.transform(
        [list(t) for t in rows.new]
    )


def tfidf(rows: Rows, **settings: Any) -> np.ndarray:
    return make_pipeline(TfidfVectorizer(**settings), LinearSVC()).fit(*rows[:2]).predict(rows.new)


def boosted_texts(rows: Rows) -> np.ndarray:
    X, new = indicators(rows)
    learner = lightgbm.LGBMClassifier(verbose=-1, random_state=0)
    return learner.fit(X.astype(np.float64), rows.y).predict(new.astype(np.float64))


def margin(rows: Rows, kernel: Kernel) -> np.ndarray:
    return SVC(C=10.0, kernel=kernel.normalised()).fit(*rows[:2]).predict(rows.new)


def logistic(rows: Rows) -> np.ndarray:
    learner = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return learner.fit(*rows[:2]).predict(rows.new)


def boosted_vectors(rows: Rows) -> np.ndarray:
    return lightgbm.LGBMClassifier(verbose=-1).fit(*rows[:2]).predict(rows.new)


def gaussian(rows: Rows) -> np.ndarray:
    return make_pipeline(StandardScaler(), SklearnSVC(C=10)).fit(*rows[:2]).predict(rows.new)


def on_logs(learner: Any, rows: Rows) -> np.ndarray:
    model = TransformedTargetRegressor(
        make_pipeline(StandardScaler(), learner), func=np.log1p, inverse_func=np.expm1
    )
    return model.fit(*rows[:2]).predict(rows.new)


def boosted_numbers(rows: Rows, objective: str) -> np.ndarray:
    learner = lightgbm.LGBMRegressor(objective=objective, verbose=-1)
    return learner.fit(*rows[:2]).predict(rows.new)


@dataclass(frozen=True)
class Set:
    """A set of data, and what somebody would write for it by hand."""

    make: Callable[[int], Rows]
    splits: int
    peers: tuple[Callable[[Rows], np.ndarray], ...]  # linear, LightGBM, a kernel
    metric: str = "accuracy"


def texts(kernel: Kernel, **settings: Any) -> tuple[Callable[[Rows], np.ndarray], ...]:
    return partial(tfidf, **settings), boosted_texts, partial(margin, kernel=kernel)


def numbers(objective: str) -> tuple[Callable[[Rows], np.ndarray], ...]:
    boosted = partial(boosted_numbers, objective=objective)
    return partial(on_logs, RidgeCV()), boosted, partial(on_logs, SVR(C=1.0))


PARTS = {"analyzer": "char", "ngram_range": (2, 5)}
SHORT = {"analyzer": "char", "ngram_range": (1, 3)}
VECTORS = logistic, boosted_vectors, gaussian
sms = partial(stored, "strings/sms_spam.csv.gz", "text", "type")
news = partial(stored, "strings/ag_news_sub.csv.gz", "text", "label")
SETS = {
    "promoters": Set(
        lambda seed: stored("strings/promoters.csv", "sequence", "label", 80, 26, seed),
        16, texts(Spectrum(6), **PARTS),
    ),
    "motifs at fixed places": Set(partial(spliced, 60, 0), 4, texts(WeightedDegree(3), **PARTS)),
    "motifs at shifting places": Set(
        partial(spliced, 60, 3), 4, texts(WeightedDegree(20, 8), **PARTS)
    ),
    "motifs anywhere": Set(partial(spliced, 200, 55), 4, texts(GappedKmer(l=8, k=6), **PARTS)),
    "nuclear receptors": Set(
        lambda seed: stored("strings/nuclear_receptors.csv", "sequence", "label", 494, 164, seed),
        8, texts(Spectrum(3), **PARTS),
    ),
    "SMS spam, 200 rows": Set(lambda seed: sms(200, 2000, seed), 8, texts(Spectrum(5, shortest=1))),
    "SMS spam, 1000 rows": Set(
        lambda seed: sms(1000, 4000, seed), 4, texts(Spectrum(5, shortest=1))),
    "news, 300 rows": Set(lambda seed: news(300, 2000, seed), 8, texts(Spectrum(5, shortest=1))),
    "news, 3000 rows": Set(lambda seed: news(3000, 1000, seed), 4, texts(Spectrum(5, shortest=1))),
    "names, 3000 rows": Set(
        lambda seed: stored(
            "strings/names_by_language.csv", "name", "language", 3000, 5000, seed
        ),
        4, texts(Spectrum(4, shortest=1), **SHORT),
    ),
    "vectors, linear": Set(linear, 8, VECTORS),
    "vectors, ring": Set(ring, 4, VECTORS),
    "vectors, twins": Set(twins, 4, VECTORS),
    "lognormal": Set(partial(skewed, "lognormal"), 8, numbers("l1"), "mae"),
    "counts": Set(partial(skewed, "counts"), 8, numbers("poisson"), "rmse"),
    "share": Set(partial(skewed, "share"), 8, numbers("l2"), "rmse"),
    "half zeros": Set(partial(skewed, "half zeros"), 8, numbers("l1"), "mae"),
}  # fmt: skip


def score(metric: str, rows: Rows, predicted: np.ndarray) -> float:
    """Accuracy, or the error divided by that of the best constant."""
    if metric == "accuracy":
        return float(np.mean(predicted.astype(str) == rows.wanted))
    y = rows.wanted
    if metric == "mae":
        return float(np.abs(y - predicted).mean() / np.abs(y - np.median(y)).mean())
    return float(np.sqrt(np.mean((y - predicted) ** 2)) / y.std())


def table(X: Any, y: np.ndarray | None) -> pl.DataFrame:
    """The table that the command is given: texts, one column of vectors, or numbers."""
    if X.ndim == 1:
        columns = {"content": X.astype(str)}
    elif X.shape[1] > 6:
        columns = {"vector": pl.Series(X.tolist())}
    else:
        columns = {f"x{j}": column for j, column in enumerate(X.T)}
    return pl.DataFrame(columns if y is None else {**columns, "target": y})


def measured(chosen: Set, seconds: float, seed: int) -> list[float]:
    """Scores of all on one split, and what the command has taken."""
    rows = chosen.make(seed)
    task = "classification" if chosen.metric == "accuracy" else "regression"
    run = command(table(rows.X, rows.y), table(rows.new, None), task, seconds, chosen.metric)
    answers = [run.predicted.to_numpy(), *(peer(rows) for peer in chosen.peers)]
    return [*(score(chosen.metric, rows, each) for each in answers), *run[1:]]


def main() -> None:
    args = options(
        ("--time", {"type": float, "default": 25.0}),
        ("--seeds", {"type": int, "default": 0}),
        ("--busy", {"type": int, "default": 0}),
        ("--splits", {"default": ""}),
        ("--sets", {"default": ""}),
    )
    warnings.simplefilter("ignore")
    name = "columns" if args.time == 25 else f"columns, {args.time:g} s"
    section = Section(
        name + (f", beside {args.busy} busy processes" if args.busy else ""),
        f"Accuracy on rows held out, and for skewed targets the error divided by that of the best "
        f"constant, ± one standard error, after {args.time:g} s of search. TF-IDF + linear is "
        "logistic regression for vectors and ridge of logarithms for numbers; the kernel by hand "
        "is the best string kernel, or a Gaussian one (of logarithms for numbers).",
        ["data", "splits", "mercer fit", "TF-IDF + linear", "LightGBM", "kernel by hand",
         "ahead of the best", "seconds", "peak MB", "processor seconds"],
    )  # fmt: skip
    chosen = {k: v for k, v in SETS.items() if not args.sets or k in args.sets.split(";")}
    if args.quick:
        chosen = {"motifs at fixed places": SETS["motifs at fixed places"]}
    if data_folder() is None:
        section.note("MERCER_DATA is not set: the sets that are not made here are left out")
        made = ("motifs", "vectors", "lognormal", "counts", "share", "half")
        chosen = {k: v for k, v in chosen.items() if k.startswith(made)}
    splits, ahead, near = Splits(args.splits), 0, 0
    for name, each in chosen.items():
        found = []
        for seed in range(args.seeds or each.splits):
            key = f"{name.replace(',', '')},{args.time:g},{args.busy},{seed}"
            with beside(args.busy):
                found.append(splits.of(key, partial(measured, each, args.time, seed)))
        means, n = np.mean(found, axis=0), len(found)
        errors = np.std(found, axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.zeros_like(means)
        best = means[1:4].max() if each.metric == "accuracy" else means[1:4].min()
        points = each.metric == "accuracy"
        gap = 100 * (means[0] - best) if points else 100 * (1 - means[0] / best)
        ahead, near = ahead + (gap > 0), near + (gap >= (-0.5 if points else -1.0))
        unit = "points" if points else f"% of the {each.metric}"
        section.row(
            name, n, *(f"{m:.4f} ± {e:.4f}" for m, e in zip(means[:4], errors)),
            f"{gap:+.1f} {unit}", *(f"{most:.0f}" for most in np.max(found, axis=0)[4:]),
        )  # fmt: skip
    section.note(
        f"ahead of the best of the three on {ahead} of {len(chosen)} sets, and behind by no more "
        f"than 0.5 points or 1% of the error on {near}"
    )
    section.finish(args.write)


if __name__ == "__main__":
    main()
