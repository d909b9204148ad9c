"""Learned metrics beside scikit-learn's tuned neighbours; kernel regression, density, Gower."""

import importlib.util
import warnings

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KernelDensity as SklearnKernelDensity, KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from harness import Section, data_folder, interleaved, options
from mercer import KernelDensity, LargeMarginNeighbours, NadarayaWatson, NeighbourhoodComponents
from mercer.distances import Match, Minkowski, Mixed, correlation_weights
from mercer.learners.metrics import CoordinateDescentWeights

ROWS = 1000
TABLES = {
    "segment": ("numeric_clf/segment.csv", "class"),
    "phoneme": ("numeric_clf/phoneme.csv", "class"),
    "satimage": ("numeric_clf/satimage_train.csv.gz", "class"),
    "spambase": ("numeric_clf/spambase.csv.gz", "spam"),
    "car": ("categorical/car.csv", None),
    "credit_g": ("categorical/credit_g.csv", None),
    "titanic": ("categorical/titanic.csv", "survived"),
    "tic_tac_toe": ("categorical/tic_tac_toe.csv", None),
}
UNREAD = {"titanic": ["name", "ticket", "cabin"]}
KS = (1, 3, 5, 9, 15, 25)
PLAIN = "p=1", "p=2", "mixed"  # metrics that are not learnt


def read(name: str, rows: int) -> tuple[pd.DataFrame, np.ndarray, list, list]:
    """A table without gaps, its classes, its columns of numbers, and the others."""
    path, target = TABLES[name]
    frame = pd.read_csv(data_folder() / path, keep_default_na=False, na_values=[""])
    frame = frame.sample(frac=1, random_state=0)[:rows].reset_index(drop=True)
    target = target or frame.columns[-1]
    y = frame.pop(target).astype(str).to_numpy()
    frame = frame.drop(columns=UNREAD.get(name, []))
    numbers = [c for c in frame if frame[c].dtype.kind in "fi"]
    others = [c for c in frame if c not in numbers]
    frame[numbers] = frame[numbers].fillna(frame[numbers].median()).astype(float)
    frame[others] = frame[others].fillna("").astype(str)
    return frame, y, numbers, others


def encoder(numbers: list, others: list):
    return make_column_transformer(
        (StandardScaler(), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), others),
    )


def tuned(frame, y, numbers, others):
    """scikit-learn's neighbours on scaled and one-hot columns, by a grid."""
    grid = {
        "kneighborsclassifier__n_neighbors": KS,
        "kneighborsclassifier__weights": ["uniform", "distance"],
        "kneighborsclassifier__p": [1, 2],
    }
    pipe = make_pipeline(encoder(numbers, others), KNeighborsClassifier())
    return GridSearchCV(pipe, grid, cv=3).fit(frame, y)


def metrics(frame, y, numbers, others):
    """Learnt metrics: a name, and a function that gives the distances of new rows to these."""
    parts = [(Minkowski(1, [1 / (frame[c].std() or 1)]), [c]) for c in numbers]
    parts += [(Match(), [c]) for c in others]
    table = Mixed(parts)
    weights = correlation_weights(frame, y)
    order = {c: j for j, c in enumerate(frame)}
    of_parts = np.array([weights[order[columns[0]]] for _, columns in parts])
    scaler = encoder(numbers, others).fit(frame)
    X = scaler.transform(frame)
    for p in (1, 2):
        yield f"p={p}", lambda new, p=p: Minkowski(p)(scaler.transform(new), X)
    yield "mixed", lambda new: table(new, frame)
    correlated = Mixed(parts, of_parts)
    yield "correlation", lambda new: correlated(new, frame)
    learnt = CoordinateDescentWeights(table, 5, max_iter=3).fit(frame, y).distance_
    yield "descent", lambda new: learnt(new, frame)
    few = min(X.shape[1], 20)
    for name, learner in (
        ("components", NeighbourhoodComponents(few, init="pca", max_iter=30)),
        ("margin", LargeMarginNeighbours(3, init="identity", max_iter=30)),
    ):
        metric = learner.fit(X, y).distance_
        yield name, lambda new, metric=metric: metric(scaler.transform(new), X)


def votes(D: np.ndarray, codes: np.ndarray, k: int, weighted: bool) -> np.ndarray:
    near = np.argsort(D, axis=1, kind="stable")[:, :k]
    w = 1 / np.maximum(np.take_along_axis(D, near, 1), 1e-12) if weighted else np.ones(near.shape)
    classes = np.eye(codes.max() + 1)[codes]
    return np.einsum("nk,nkc->nc", w, classes[near]).argmax(axis=1)


def chosen(right: dict[tuple, np.ndarray]) -> tuple:
    """The best metric, k and weights of votes, by which left-out rows each predicts rightly.

    A learnt metric has to be better than the best one that is not learnt by more than one standard
    error of the difference: the one-standard-error rule (Breiman, Friedman, Olshen & Stone,
    "Classification and Regression Trees", 1984, section 3.4.3), on the same rows.
    """
    best = max(right, key=lambda key: right[key].sum())
    plain = max((key for key in right if key[0] in PLAIN), key=lambda key: right[key].sum())
    gain = right[best].astype(float) - right[plain]
    return best if gain.sum() > np.sqrt(len(gain)) * gain.std() else plain


def learned(frame, y, numbers, others, new):
    """The metric, k and weights of votes that are chosen in 3 folds; predictions for new rows."""
    levels, codes = np.unique(y, return_inverse=True)
    right: dict[tuple, list] = {}
    for train, test in StratifiedKFold(3).split(frame, codes):
        part, rest = frame.iloc[train].reset_index(drop=True), frame.iloc[test]
        for name, distances in metrics(part, y[train], numbers, others):
            D = distances(rest)
            for k in KS:
                for weighted in (False, True):
                    found = votes(D, codes[train], k, weighted) == codes[test]
                    right.setdefault((name, k, weighted), []).append(found)
    name, k, weighted = chosen({key: np.concatenate(found) for key, found in right.items()})
    distances = dict(metrics(frame, y, numbers, others))[name]
    return levels[votes(distances(new), codes, k, weighted)], name


def accuracy(section: Section, rows: int) -> None:
    ranks = []
    for table in TABLES:
        frame, y, numbers, others = read(table, rows)
        scores, names = [], []
        for train, test in StratifiedKFold(3).split(frame, y):
            A, B = frame.iloc[train].reset_index(drop=True), frame.iloc[test]
            theirs = (tuned(A, y[train], numbers, others).predict(B) == y[test]).mean()
            found, name = learned(A, y[train], numbers, others, B)
            scores.append((theirs, (found == y[test]).mean()))
            names.append(name)
        theirs, ours = np.mean(scores, axis=0)
        ranks.append(1.5 - 0.5 * np.sign(ours - theirs))
        section.row(f"accuracy on {table}, tuned grid of scikit-learn", f"{theirs:.4f}", "")
        section.row(
            f"accuracy on {table}, learnt metric ({', '.join(names)})",
            f"{ours:.4f}",
            f"{100 * (ours - theirs):+.2f} points",
        )

    section.note(
        f"mean rank of the learnt metric {np.mean(ranks):.2f}, of scikit-learn's grid "
        f"{3 - np.mean(ranks):.2f}"
    )


def gower_package(frame: pd.DataFrame):
    """The matrix of the gower package, or None without it."""
    if importlib.util.find_spec("gower") is None:
        return None
    from gower import gower_matrix

    categories = [frame[c].dtype.kind not in "fi" for c in frame]
    values = frame.astype(object)
    return lambda: gower_matrix(values, cat_features=categories)


def speed(section: Section, quick: bool) -> None:
    rng = np.random.default_rng(0)

    def compare(what: str, runs: dict, repeats: int = 3) -> None:
        seconds = interleaved(runs, 1 if quick else repeats)
        for name, value in seconds.items():
            section.row(f"{what}, {name}", f"{value:.3f} s", f"{value / seconds['mercer']:.1f}")

    n = 4000 if quick else 20_000
    X = rng.normal(size=(n, 5))
    ours, theirs = KernelDensity(bandwidth=0.5).fit(X), SklearnKernelDensity(bandwidth=0.5).fit(X)
    compare(f"KernelDensity, {n:,} x 5, scores of 5,000 rows",
            {"mercer": lambda: ours.score_samples(X[:5000]),
             "scikit-learn": lambda: theirs.score_samples(X[:5000])})  # fmt: skip
    n = 1000
    X, y = X[:n], np.sin(X[:n, 0])
    runs = {"mercer": lambda: NadarayaWatson(window="gaussian").fit(X, y).predict(X)}
    if importlib.util.find_spec("statsmodels"):
        from statsmodels.nonparametric.kernel_regression import KernelReg

        runs["statsmodels, fixed width"] = lambda: KernelReg(
            y, X, "ccccc", "lc", bw=np.full(5, 0.5)
        ).fit(X)
    compare(f"Nadaraya-Watson, {n:,} x 5, width by leave one out", runs)
    n = 1000 if quick else 3000
    table = pd.DataFrame(
        {f"x{j}": rng.normal(size=n) for j in range(8)}
        | {f"c{j}": rng.choice(list("abcde"), n) for j in range(8)}
    )
    distance = Mixed.gower(table)
    runs = {"mercer": lambda: distance(table)}
    if (peer := gower_package(table)) is not None:
        runs["gower"] = peer
    compare(f"Gower's distance, {n:,} rows, 8 numbers and 8 categories", runs)


def main() -> None:
    args = options()
    section = Section(
        "weights",
        "Nearest neighbours with a metric that is learnt and chosen in 3 inner folds (where it is "
        "better than those that are not learnt by more than one standard error), beside a "
        "grid of scikit-learn's over k, votes and p on scaled and one-hot columns: mean accuracy "
        f"of 3 outer folds, at most {ROWS:,} rows. The others are seconds, and their ratio to "
        "mercer's.",
        ["run", "result", "ratio"],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        speed(section, args.quick)
        if data_folder() is None:
            section.note("accuracy: left out; set MERCER_DATA.")
        else:
            accuracy(section, 300 if args.quick else ROWS)
    section.finish(args.write)


if __name__ == "__main__":
    main()
