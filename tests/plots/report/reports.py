"""Reports that several tests look at: small fits of scikit-learn's bundled data."""

import numpy as np
from sklearn.datasets import load_diabetes, load_wine

from mercer.plots import report
from mercer.plots.report import Final, Provenance, Subject, TableFacts
from mercer.selection.automatic import KernelClassifier, KernelRegressor


def report_data(*given, **options):
    """The report of a subject."""
    return report.report_data(Subject(*given, **options))


HOSTILE = "</script><script>alert(1)</script>"


def split(n, seed=0):
    order = np.random.default_rng(seed).permutation(n)
    return order[: 4 * n // 5], order[4 * n // 5 :]


def classification():
    """Three classes, named columns; returns the fit, its data, and the report's."""
    X, codes = load_wine(return_X_y=True, as_frame=True)
    y = np.array(["barbera", "barolo", "grignolino"])[codes]
    train, test = split(len(y))
    model = KernelClassifier(trials=2).fit(X.iloc[train], y[train])
    data = report_data(
        model, X.iloc[train], y[train], holdout=(X.iloc[test], y[test]),
        final=Final(model, X.iloc[train], len(y)), facts=TableFacts("cultivar"),
        provenance=Provenance(
            seed=0, data_path="wine.csv", model_path="wine.mercer",
            command="mercer fit wine.csv --target cultivar",
        ),
    )  # fmt: skip
    return model, (X.iloc[train], y[train]), (X.iloc[test], y[test]), data


def regression():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    y = y.to_numpy()
    train, test = split(len(y))
    model = KernelRegressor(trials=2).fit(X.iloc[train], y[train])
    data = report_data(
        model,
        X.iloc[train],
        y[train],
        holdout=(X.iloc[test], y[test]),
        facts=TableFacts("progression"),
    )
    return model, (X.iloc[train], y[train]), (X.iloc[test], y[test]), data


def asking():
    """A page that predicts numbers from numbers and levels, and says what moves them."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    y, X = y.to_numpy(), X.assign(sex=X["sex"].map({1.0: "f", 2.0: "m"}))
    train, test = split(len(y))
    model = KernelRegressor(trials=2, only="kernels").fit(X.iloc[train], y[train])
    return report_data(
        model, X.iloc[train], y[train], holdout=(X.iloc[test], y[test]), what_if=True,
        facts=TableFacts("progression"),
    )  # fmt: skip


def hostile():
    """Twenty classes, and names that are long or try to be markup."""
    import pandas as pd

    random = np.random.default_rng(0)
    codes = np.arange(400) % 20
    X = pd.DataFrame(
        (random.normal(size=(20, 3)) * 2)[codes] + random.normal(size=(400, 3)),
        columns=["a_name_without_a_space_" * 6, HOSTILE, "\"x\" & 'y' <b>"],
    )
    X["<i>level</i>"] = np.array(["<u>red</u>", "green", None], dtype=object)[codes % 3]
    y = np.array([f"<em>class</em> {c} {'of long name ' * (c % 4)}" for c in range(20)])[codes]
    train, test = split(len(y))
    model = KernelClassifier(trials=1).fit(X.iloc[train], y[train])
    return report_data(
        model, X.iloc[train], y[train], holdout=(X.iloc[test], y[test]),
        facts=TableFacts(HOSTILE, notices=[HOSTILE]),
        provenance=Provenance(command=HOSTILE, model_path=HOSTILE, data_path=HOSTILE),
    )  # fmt: skip


def three_rows():
    import pandas as pd

    X, y = pd.DataFrame({"u": [1.0, 2.0], "v": ["a", "b"]}), np.array([1.0, 3.0])
    model = KernelRegressor(trials=1).fit(X, y)
    last = pd.DataFrame({"u": [3.0], "v": ["a"]}), np.array([2.0])
    return report_data(model, X, y, holdout=last)
