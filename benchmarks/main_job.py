"""The automatic estimators beside tuned LightGBM, a tuned scikit-learn SVC and a spline model.

Adult has its own test table; of the others 20% are held out with seed 0. Needs MERCER_DATA.
"""

import time
import warnings

import lightgbm
import numpy as np
import sklearn.svm
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from harness import Section, data_folder, options
from mercer import KernelClassifier, KernelRegressor
from mercer.cli.tables import read_table
from mercer.selection.holdout import hold_out, score_held_out
from mercer.selection.metrics import metric_named

JOBS = [
    ("adult", "categorical/adult_train.csv.gz", "categorical/adult_test.csv.gz", "income"),
    ("california housing", "numeric_reg/california_housing.csv.gz", None, "median_house_value"),
    ("spambase", "numeric_clf/spambase.csv.gz", None, "spam"),
]
SVC_ROWS = 5000  # the peer's grid search sees so many: more takes it hours; its final fit all


def boosted(X, y, X_test, classification):
    """LightGBM, the best of four settings by 3-fold cross-validation."""
    frame, test = X.to_pandas(), X_test.to_pandas()
    for name in frame.columns:
        if frame[name].dtype.kind not in "fiu":
            frame[name] = frame[name].astype("category")
            test[name] = test[name].astype(frame[name].dtype)
    model = (lightgbm.LGBMClassifier if classification else lightgbm.LGBMRegressor)(
        verbose=-1, random_state=0
    )
    grid = {"n_estimators": [200, 600], "num_leaves": [15, 31], "learning_rate": [0.05]}
    return GridSearchCV(model, grid, cv=3).fit(frame, y).predict(test)


def support_vectors(X, y, X_test, classification):
    """scikit-learn's SVC or SVR on scaled and one-hot columns, tuned on a subsample."""
    frame, test = X.to_pandas(), X_test.to_pandas()
    numbers = [c for c in frame if frame[c].dtype.kind in "fiu"]
    others = [c for c in frame if c not in numbers]
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), others),
    )
    learner = sklearn.svm.SVC() if classification else sklearn.svm.SVR()
    scale = 1.0 if classification else float(np.std(y))
    grid = {"svm__C": [1, 10], "svm__gamma": ["scale", 0.02]}
    rows = np.random.default_rng(0).permutation(len(y))[:SVC_ROWS]
    search = GridSearchCV(Pipeline([("columns", columns), ("svm", learner)]), grid, cv=3)
    search.fit(frame.iloc[rows], y[rows] if classification else y[rows] / scale)
    best = search.best_estimator_  # fitted anew on all rows, as its peers are
    if classification:
        return best.fit(frame, y).predict(test)
    return best.fit(frame, y / scale).predict(test) * scale


def main() -> None:
    args = options()
    folder = data_folder()
    section = Section(
        "main_job",
        "Test score of the winner, fitted on all training rows; seconds of search and final fit.",
        ["data", "model", "score", "seconds"],
    )
    if folder is None:
        section.note("MERCER_DATA is not set: adult, california housing and spambase left out")
        section.finish(False)
        return
    warnings.simplefilter("ignore")
    for name, train, test, target in JOBS:
        frame = read_table(folder / train)
        y = frame[target].to_numpy()
        classification = y.dtype.kind == "O" or name == "spambase"
        y = y.astype(str) if y.dtype.kind == "O" else y
        X = frame.drop(target)
        task = "classification" if classification else "regression"
        if test:
            held = read_table(folder / test)
            X_test, y_test = held.drop(target), held[target].to_numpy().astype(str)
        else:
            rows, others = hold_out(len(y), y, task, seed=0)
            X, y, X_test, y_test = X[rows], y[rows], X[others], y[others]
        metric = metric_named(None, task)
        began = time.perf_counter()
        model = (KernelClassifier if classification else KernelRegressor)(time=86, memory="4GB")
        model.fit(X, y)
        spent = time.perf_counter() - began
        score = score_held_out(model, (X, y), (X_test, y_test))
        label = f"{name}, {metric.name}"
        section.row(label, f"mercer: {model.winner_name_}", f"{score.score:.4f}", f"{spent:.0f}")
        for baseline, value in score.baselines.items():
            section.row(label, f"baseline: {baseline}", f"{value:.4f}", "")
        for peer, predict in (
            ("LightGBM, tuned", boosted),
            ("scikit-learn SVM, tuned", support_vectors),
        ):
            if args.quick and predict is support_vectors:
                continue
            began = time.perf_counter()
            predicted = predict(X, y, X_test, classification)
            value = np.mean(predicted == y_test) if classification else metric(y_test, predicted)
            section.row(label, peer, f"{value:.4f}", f"{time.perf_counter() - began:.0f}")
    section.note(f"scikit-learn's SVM is tuned on {SVC_ROWS:,} rows and fitted on all")
    section.note(f"LightGBM {lightgbm.__version__}")
    section.finish(args.write)


if __name__ == "__main__":
    main()
