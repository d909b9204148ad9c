"""AdditiveRegressor and AdditiveClassifier beside LightGBM and explainable boosting: many rows, and
real tables.

The waves are those of large_tables.py: R² of the true function is .9000. Seconds are those of the
processor, of all threads together, so that other work on the machine counts little; and those of a
clock. Real tables need MERCER_DATA; a quarter of their rows is held out. Explainable boosting takes
minutes, and needs versions of its own of what it stands on: MERCER_EBM names a Python that has
interpret, and ``--kept FILE`` keeps what it has found, so that only new tables are fitted again.
"""

import json
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, r2_score

from harness import Section, data_folder, options, peak_memory, run_beside
from large_tables import split, waves
from mercer import AdditiveClassifier, AdditiveRegressor

TABLES = {
    "airfoil": ("numeric_reg/airfoil.csv", "P"),
    "california": ("numeric_reg/california_housing.csv.gz", "median_house_value"),
    "elevators": ("numeric_reg/elevators.csv.gz", "Goal"),
    "cpu_act": ("numeric_reg/cpu_act.csv.gz", "usr"),
    "bank8FM": ("numeric_reg/bank8FM.csv.gz", "rej"),
    "wine": ("numeric_reg/wine_white.csv", "quality"),
    "kin8nm": ("numeric_reg/kin8nm.csv.gz", "y"),
    "phoneme": ("numeric_clf/phoneme.csv", "class"),
    "spambase": ("numeric_clf/spambase.csv.gz", "spam"),
    "adult": ("categorical/adult_train.csv.gz", "income"),
}
#: for explainable boosting, the quick ones first
BOOSTED = {
    "energy": ("numeric_reg/energy.csv", "Y1"),
    "airfoil": TABLES["airfoil"],
    "titanic": ("categorical/titanic.csv", "survived"),
    "credit_g": ("categorical/credit_g.csv", "class"),
    "wine": TABLES["wine"],
    "bank8FM": TABLES["bank8FM"],
    "kin8nm": TABLES["kin8nm"],
    "phoneme": TABLES["phoneme"],
    "cpu_act": TABLES["cpu_act"],
    "spambase": TABLES["spambase"],
}
#: what runs in the environment of interpret
BOOSTING = r"""
import json, sys, time, warnings
import pandas as pd, interpret
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
warnings.filterwarnings("ignore")
folder, kind = sys.argv[1:]
X, Z = (pd.read_csv(f"{folder}/{part}.csv", keep_default_na=False, na_values=[""])
        for part in ("train", "test"))
y = X.pop("the target")
classes = kind == "classes"
model = (ExplainableBoostingClassifier if classes else ExplainableBoostingRegressor)(n_jobs=1)
began = time.process_time()
model.fit(X, y)
seconds = time.process_time() - began
found = model.predict_proba(Z) if classes else model.predict(Z)
print(json.dumps([seconds, found.tolist(), interpret.__version__]))
"""
MEMORY = """
import numpy as np
from mercer import AdditiveRegressor
rng = np.random.default_rng(0)
X, y = rng.random(({rows}, 20)), np.empty({rows})
y[:] = X[:, 0]
AdditiveRegressor(0).fit(X[:1000], y[:1000])
# measured
AdditiveRegressor(0).fit(X, y)
"""


def timed(model: Any, X: Any, y: np.ndarray) -> tuple[float, float]:
    """Seconds of the processor and of a clock that the fit takes."""
    clock, processor = time.perf_counter(), time.process_time()
    model.fit(X, y)
    return time.process_time() - processor, time.perf_counter() - clock


def many_rows(quick: bool) -> Section:
    section = Section(
        "additive, many rows",
        "Waves in 20 columns, R² on 50,000 further rows; the best possible is .9000.",
        ["training rows", "model", "R²", "processor s", "clock s"],
    )
    for rows, pairs in [(200_000, 20), (1_000_000, 20), (10_000_000, 0)][: 1 if quick else 3]:
        X, y = waves(rows + 50_000)
        X = X.to_numpy()
        X, y, X_test, y_test = X[:rows], y[:rows], X[rows:], y[rows:]
        models = {f"mercer, at most {pairs} pairs": AdditiveRegressor(pairs)}
        if rows == 200_000:
            models["LightGBM, defaults"] = lightgbm.LGBMRegressor(verbose=-1, n_jobs=1)
        for name, model in models.items():
            processor, clock = timed(model, X, y)
            found = r2_score(y_test, model.predict(X_test))
            section.row(f"{rows:,}", name, f"{found:.4f}", f"{processor:.1f}", f"{clock:.1f}")
    if not quick:
        peak = peak_memory(MEMORY.format(rows=10_000_000))
        section.note(f"10,000,000 rows of single columns: {peak:.0f} MB beside X")
    section.note(f"LightGBM {lightgbm.__version__}")
    return section


def table_parts(folder: Path, file: str, target: str) -> tuple:
    """Training and test rows of a table, three quarters and a quarter; whether y are classes."""
    table = pd.read_csv(folder / file, keep_default_na=False, na_values=[""])
    y = table.pop(target).to_numpy()
    return *split(table, y, 0.75), file.split("/")[0] != "numeric_reg"


def boosted(parts: tuple, kept: dict, name: str) -> tuple[float, np.ndarray, str]:
    """Seconds, predictions and version of explainable boosting, in an environment of its own."""
    if name not in kept:
        X, y, X_test, _, classes = parts
        with TemporaryDirectory() as place:
            X.assign(**{"the target": y}).to_csv(f"{place}/train.csv", index=False)
            X_test.to_csv(f"{place}/test.csv", index=False)
            kind = "classes" if classes else ""
            kept[name] = run_beside(os.environ["MERCER_EBM"], BOOSTING, place, kind)
    seconds, found, said = kept[name]
    return seconds, np.array(found), said


def beside_boosting(quick: bool, kept_in: str | None) -> Section:
    section = Section(
        "additive, explainable boosting",
        "R² or log loss (titanic, credit_g, phoneme and spambase) on a quarter of the rows, and "
        "seconds of the processor; both with their defaults, on one thread.",
        ["data", "training rows", "Mercer", "EBM", "better by", "s", "EBM, s", "times"],
    )
    folder = data_folder()
    if folder is None or "MERCER_EBM" not in os.environ:
        section.note("MERCER_DATA or MERCER_EBM is not set: nothing measured")
        return section
    kept_file = Path(kept_in) if kept_in else None
    kept = json.loads(kept_file.read_text()) if kept_file and kept_file.exists() else {}
    versions, near = set(), 0
    for name in list(BOOSTED)[: 2 if quick else None]:
        parts = table_parts(folder, *BOOSTED[name])
        X, y, X_test, y_test, classes = parts
        theirs, found, said = boosted(parts, kept, name)
        if kept_file:
            kept_file.write_text(json.dumps(kept))
        model = (AdditiveClassifier if classes else AdditiveRegressor)(n_jobs=1)
        processor, _ = timed(model, X, y)
        if classes:
            ours = log_loss(y_test, model.predict_proba(X_test), labels=model.classes_)
            other = log_loss(y_test, found, labels=model.classes_)
        else:
            ours, other = r2_score(y_test, model.predict(X_test)), r2_score(y_test, found)
        better = other - ours if classes else ours - other
        near += better > -0.005
        versions.add(said)
        section.row(
            name, f"{len(y):,}", f"{ours:.4f}", f"{other:.4f}", f"{better:+.4f}",
            f"{processor:.2f}", f"{theirs:.1f}", f"{theirs / processor:.0f}",
        )  # fmt: skip
    section.note(f"within .005 of EBM, or better: {near} of {len(section.rows)}")
    section.note(f"interpret {', '.join(sorted(versions))}, ExplainableBoosting with its defaults")
    return section


def real_tables(quick: bool) -> Section:
    section = Section(
        "additive, tables",
        "R² or log loss (phoneme, spambase and adult) on a quarter of the rows.",
        ["data", "training rows", "columns alone", "s", "with pairs", "s", "LightGBM", "s"],
    )
    folder = data_folder()
    if folder is None:
        section.note("MERCER_DATA is not set: nothing measured")
        return section
    for name in list(TABLES)[:: 4 if quick else 1]:
        X, y, X_test, y_test, classes = table_parts(folder, *TABLES[name])
        ours = AdditiveClassifier if classes else AdditiveRegressor
        trees = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
        coded = [part.copy() for part in (X, X_test)]
        for column in X.select_dtypes(exclude="number"):
            levels = pd.CategoricalDtype(X[column].dropna().unique())
            for part in coded:
                part[column] = part[column].astype(levels)
        cells = []
        for model, parts in (
            (ours(0), (X, X_test)),
            (ours(20), (X, X_test)),
            (trees(verbose=-1, n_jobs=1), coded),
        ):
            processor, _ = timed(model, parts[0], y)
            if classes:
                found = log_loss(y_test, model.predict_proba(parts[1]), labels=np.unique(y))
            else:
                found = r2_score(y_test, model.predict(parts[1]))
            cells += [f"{found:.4f}", f"{processor:.2f}"]
        section.row(name, f"{len(y):,}", *cells)
    section.note(f"seconds of the processor; LightGBM {lightgbm.__version__}, its defaults")
    return section


def main() -> None:
    parts = {
        "rows": many_rows,
        "tables": real_tables,
        "boosting": lambda quick: beside_boosting(quick, chosen.kept),
    }
    chosen = options(("--part", {"choices": list(parts), "default": None}), ("--kept", {}))
    for name, measure in parts.items():
        if chosen.part in (None, name):
            measure(chosen.quick).finish(chosen.write)


if __name__ == "__main__":
    main()
