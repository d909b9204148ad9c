"""Shapley values of kernel ridge regression beside shap and shapiq, and what a background loses.

The model is one RBF machine in float32; peers ask it for predictions as they ask any function, and
once scikit-learn's machine, with the same coefficients.
Seconds are those of the processor, for all rows, of Mercer the least of 40 runs. Errors are mean
errors divided by the mean size of the exact values, which all 2^d coalitions give for d = 10. shap
is told l1_reg=0, for else it keeps ten columns. The last table compares backgrounds with all 2,000
rows; it needs MERCER_DATA.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.kernel_ridge import KernelRidge as TheirRidge

from harness import Section, data_folder, options
from mercer import KernelRidge, _native
from mercer.explain import shapley_values
from mercer.explain.shapley import gauss_rule

ROWS, STORED, COLUMNS, BACKGROUND = 5, 500, 10, 50


def machine(stored: int, columns: int, outputs: int = 1):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(stored, columns)).astype(np.float32)
    y = X[:, [0]] * X[:, [1]] + np.sin(2 * X[:, [2]]) + rng.normal(size=(stored, outputs)) / 9
    model = KernelRidge(kernel="rbf", gamma=1 / columns, alpha=0.1)
    return model.fit(X, y[:, 0] if outputs == 1 else y), rng.normal(size=(5000, columns)).astype(
        np.float32
    )


def spent(run: Callable[[], np.ndarray], repeats: int = 3) -> tuple[float, np.ndarray]:
    times = []
    for _ in range(repeats):
        began = time.process_time()
        found = run()
        times.append(time.process_time() - began)
    return min(times), found


def peers(model, new: np.ndarray, background: np.ndarray) -> dict[str, Callable[[], np.ndarray]]:
    """Those that are installed."""
    found: dict[str, Callable[[], np.ndarray]] = {}
    try:
        import shap
    except ImportError:
        shap = None
    if shap is not None:

        def kernel(samples):
            explainer = shap.KernelExplainer(model.predict, background)
            return lambda: explainer.shap_values(new, nsamples=samples, l1_reg=0, silent=True)

        theirs = TheirRidge(kernel="rbf", gamma=1 / COLUMNS, alpha=0.1)
        theirs.fit(model.X_fit_, model.predict(model.X_fit_))
        theirs.dual_coef_ = model.dual_coef_
        explainer = shap.KernelExplainer(theirs.predict, background)
        found["shap.KernelExplainer, all coalitions of scikit-learn's machine"] = lambda: (
            explainer.shap_values(new, nsamples=2**COLUMNS, l1_reg=0, silent=True)
        )
        found["shap.KernelExplainer, all coalitions"] = kernel(2**COLUMNS)
        found["shap.KernelExplainer, 200 samples"] = kernel(200)
        masker = shap.maskers.Independent(background, max_samples=len(background))
        permutation = shap.PermutationExplainer(model.predict, masker)
        found["shap.PermutationExplainer"] = lambda: permutation(new, silent=True).values
    try:
        import shapiq
    except ImportError:
        return found

    def game(budget):
        def run():
            values = []
            for row in new:
                imputer = shapiq.MarginalImputer(
                    model.predict, background, x=row[None], sample_size=len(background),
                    random_state=0, normalize=False,
                )  # fmt: skip
                solver = shapiq.KernelSHAP(n=new.shape[1], random_state=0)
                found = solver.approximate(budget=budget, game=imputer)
                values.append([found[(j,)] for j in range(new.shape[1])])
            return np.array(values)

        return run

    found["shapiq KernelSHAP, all coalitions"] = game(2**COLUMNS)
    found["shapiq KernelSHAP, 512"] = game(512)
    return found


def beside_peers(section: Section) -> None:
    model, rows = machine(STORED, COLUMNS)
    new, background = rows[:ROWS], rows[100 : 100 + BACKGROUND]
    ours, found = spent(lambda: shapley_values(model, new, background, n_jobs=1).values, 40)
    section.row("mercer", f"{1000 * ours:.1f} ms", "1", "")
    for name, run in peers(model, new, background).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds, values = spent(run, 1)
        off = np.abs(np.asarray(values).reshape(found.shape) - found).mean()
        section.row(
            name, f"{seconds:.2f} s", f"{seconds / ours:.0f}", f"{off / np.abs(found).mean():.0e}"
        )


def loops(section: Section, quick: bool) -> None:
    """The loops alone, and whole calls, by the nanoseconds of a pair of rows."""
    rng = np.random.default_rng(0)
    n, m, B = (10 if quick else 50), 1000, 100
    for d in (4, 8, 12, 16, 20, 24, 32):
        for dtype in (np.float32, np.float64):
            P, Q = (rng.uniform(0, 1, (k, d, m)).astype(dtype) for k in (n, B))
            alpha, weights, out = rng.normal(size=(m, 1)), np.full(B, 1 / B), np.zeros((n, d, 1))
            rule = gauss_rule(d - 1)
            seconds, _ = spent(
                lambda: _native.shapley_values(P, Q, weights, alpha, rule, out)  # noqa: B023
            )
            section.row(d, np.dtype(dtype).name, f"{1e9 * seconds / (n * m * B):.1f}")
    rows, stored = (100, 1000) if quick else (1000, 5000)
    for outputs in (1, 10):
        model, new = machine(stored, 20, outputs)
        seconds, _ = spent(lambda: shapley_values(model, new[:rows], new[-100:]).values, 2)  # noqa: B023
        section.note(
            f"{rows:,} rows, {stored:,} stored rows, 20 columns, 100 background rows, {outputs} "
            f"output{'s' * (outputs > 1)}: {seconds:.1f} processor seconds in all, "
            f"{1e9 * seconds / (rows * stored * 100):.1f} ns a pair"
        )


def backgrounds(section: Section) -> None:
    frame = pd.read_csv(data_folder() / "numeric_reg/california_housing.csv.gz").dropna()
    frame = frame.select_dtypes("number")
    y = frame.pop("median_house_value").to_numpy()
    X = frame.to_numpy()
    X = 3.4 * rankdata(X, axis=0) / len(X)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], (y[order] - y.mean()) / y.std()
    model = KernelRidge(kernel="rbf", gamma=0.2, alpha=0.1).fit(X[:800], y[:800])
    whole, new = X[1000:3000], X[4000:4020]
    parts = [shapley_values(model, new, whole[i : i + 100]).values for i in range(0, 2000, 100)]
    exact = np.mean(parts, axis=0)

    def off(values: np.ndarray) -> float:
        return np.abs(values - exact).mean() / np.abs(exact).mean()

    found = shapley_values(model, new, whole)
    section.row("100 rows that stand for all", f"{off(found.values):.4f}",
                f"{found.errors.mean() / np.abs(exact).mean():.4f}")  # fmt: skip
    section.row("100 random rows, mean of 20", f"{np.mean([off(part) for part in parts]):.4f}", "")


def main() -> None:
    args = options()
    section = Section(
        "shapley", f"Shapley values of {ROWS} predictions of a ridge machine with {STORED} stored "
        f"rows, {COLUMNS} columns and {BACKGROUND} background rows, on one thread.",
        ["", "processor seconds", "times mercer", "mean error / mean size"],
    )  # fmt: skip
    beside_peers(section)
    for package in ("shap", "shapiq"):
        try:
            section.note(f"{package} {version(package)}")
        except PackageNotFoundError:
            section.note(f"{package} is not installed")
    section.finish(args.write)
    section = Section(
        "shapley, loops", "Nanoseconds of a stored row and a background row, for a new row.",
        ["players", "dtype", "ns"],
    )  # fmt: skip
    loops(section, args.quick)
    section.finish(args.write)
    section = Section(
        "shapley, background",
        "California, ranks of its columns: mean error / mean size beside 2,000 rows.",
        ["background", "error", "standard error that is told"],
    )  # fmt: skip
    backgrounds(section)
    section.finish(args.write)


if __name__ == "__main__":
    main()
