"""AdditiveRegressor and AdditiveClassifier beside LightGBM: many rows, and real tables.

The waves are those of large_tables.py: R² of the true function is .9000. Seconds are those of the
processor, of all threads together, so that other work on the machine counts little; and those of a
clock. Real tables need MERCER_DATA; a quarter of their rows is held out.
"""

import time
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, r2_score

from harness import Section, data_folder, options, peak_memory
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
        file, target = TABLES[name]
        table = pd.read_csv(folder / file, keep_default_na=False, na_values=[""])
        y = table.pop(target).to_numpy()
        X, y, X_test, y_test = split(table, y, 0.75)
        classes = file.split("/")[0] != "numeric_reg"
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
    chosen = options(("--part", {"choices": ["rows", "tables"], "default": None}))
    for name, measure in (("rows", many_rows), ("tables", real_tables)):
        if chosen.part in (None, name):
            measure(chosen.quick).finish(chosen.write)


if __name__ == "__main__":
    main()
