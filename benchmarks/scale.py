"""What is beyond some thousand rows: features, Gaussian processes, exact and low-rank solvers.

One section of RESULTS.md for each table, each beside scikit-learn on the same split. ``--only``
names the sections. Needs MERCER_DATA for the real tables.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.kernel_approximation as theirs
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from harness import Section, data_folder, options
from large_tables import split
from mercer import KernelRidge, NeighbourGaussianProcess, Nystroem, RandomFeatures
from mercer.distances import Minkowski
from mercer.kernels import RBF, Laplacian, Polynomial
from tables import columns_of, read

TABLES = ("cpu_act", "california")
PROCESSES = ("california", "kin8nm", "elevators", "cpu_act", "bank8FM")


def table(name: str, rows: int | None = None):
    """Standardised rows and targets in float64, for a fit and for its test; three quarters fit."""
    X, y, _ = read(data_folder(), name)
    X, y, X_test, y_test = split(X, y, 0.75)
    columns = columns_of(X)
    X = np.asarray(columns.fit_transform(X), np.float64)
    X_test = np.asarray(columns.transform(X_test), np.float64)
    mean, size = y.mean(), y.std()
    return X[:rows], ((y - mean) / size)[:rows], X_test, (y_test - mean) / size


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    result = run()
    return result, time.perf_counter() - began


def features(quick: bool) -> Section:
    """Features of one width, and ridge regression on them."""
    m = 100 if quick else 500
    section = Section(
        "features",
        f"{m} features of each kind: the part of k(x, x) that they lack on the rows of the fit, "
        "the test error of ridge regression on them as a part of the target's deviation, and "
        "seconds to fit and to transform all rows. γ = 1 / d, penalty .1, standardised columns.",
        ["table", "features", "trace error", "test error", "seconds"],
    )
    for name in TABLES[:1] if quick else TABLES:
        X, y, X_test, y_test = table(name)
        d = X.shape[1]
        maps: dict[str, Any] = {
            f"Nystroem, {c}": Nystroem(RBF(1 / d), n_components=m, centres=c, random_state=0)
            for c in ("pivoted", "leverage", "k-means++", "uniform")
        }
        maps |= {
            "scikit-learn, Nystroem": theirs.Nystroem(n_components=m, random_state=0),
            "RandomFeatures, RBF": RandomFeatures(RBF(1 / d), n_components=m, random_state=0),
            "scikit-learn, RBFSampler": theirs.RBFSampler(
                gamma=1 / d, n_components=m, random_state=0
            ),
            "RandomFeatures, Laplacian": RandomFeatures(
                Laplacian(0.5 / d), n_components=m, random_state=0
            ),
            "RandomFeatures, polynomial": RandomFeatures(
                Polynomial(2, 1 / d), n_components=m, random_state=0
            ),
            "scikit-learn, polynomial": theirs.PolynomialCountSketch(
                gamma=1 / d, coef0=1, degree=2, n_components=m, random_state=0
            ),
        }
        for label, features in maps.items():
            phi, seconds = timed(partial(features.fit_transform, X))
            f = Ridge(0.1).fit(phi, y).predict(features.transform(X_test))
            lacking = f"{1 - np.square(phi).sum() / len(X):.4f}" if "Nystroem" in label else "–"
            error = np.sqrt(np.mean((f - y_test) ** 2)) / y_test.std()
            section.row(name, label, lacking, f"{error:.3f}", f"{seconds:.2f}")
    return section


def processes(quick: bool) -> Section:
    """The Gaussian process view of ridge regression."""
    n, queries = (500, 20_000) if quick else (2000, 1_000_000)
    section = Section(
        "processes",
        f"cpu_act, {n:,} rows, one length scale for each column, noise .01: seconds of a fit with "
        "the likelihood and its derivatives; seconds and MB beyond the rows for so many means with "
        "standard deviations; the largest differences to scikit-learn's.",
        ["task", "Mercer", "scikit-learn", "difference"],
    )
    X, y, X_test, _ = table("cpu_act", n)
    scales = np.full(X.shape[1], np.sqrt(X.shape[1] / 2))
    kernel = RBF(0.5, Minkowski(2, weights=scales**-2))
    ours = KernelRidge(0.01, kernel=kernel)
    other = GaussianProcessRegressor(gp.RBF(scales), alpha=0.01, optimizer=None)

    def likelihoods() -> tuple[Any, Any]:
        found = ours.fit(X, y).log_marginal_likelihood()
        return found.value, found.length_scales

    def their_likelihoods() -> tuple[Any, Any]:
        other.fit(X, y)
        return other.log_marginal_likelihood(other.kernel_.theta, eval_gradient=True)

    (value, slopes), seconds = timed(likelihoods)
    (their_value, their_slopes), their_seconds = timed(their_likelihoods)
    gap = max(abs(value / their_value - 1), np.abs(slopes / their_slopes - 1).max())
    section.row("likelihood", f"{seconds:.2f} s", f"{their_seconds:.2f} s", f"{gap:.0e}")
    (mean, std), seconds = timed(partial(ours.predict, X_test, return_std=True))
    (their_mean, their_std), their_seconds = timed(partial(other.predict, X_test, return_std=True))
    gap = max(np.abs(mean - their_mean).max(), np.abs(std - their_std).max())
    what = f"{len(X_test):,} deviations"
    section.row(what, f"{seconds:.2f} s", f"{their_seconds:.2f} s", f"{gap:.0e}")
    fast = KernelRidge(0.01, kernel=kernel, solver="low_rank", rank=200, uncertainty=True)
    fast.fit(X, y)
    Z = np.resize(X_test, (queries, X.shape[1]))
    before = resident()
    _, seconds = timed(partial(fast.predict, Z, return_std=True))
    more = (resident(highest=True) - before) / 2**20
    section.row(f"{queries:,} deviations, rank 200", f"{seconds:.1f} s, {more:.0f} MB", "–", "–")
    return section


def neighbour_processes(quick: bool) -> Section:
    """Gaussian processes on nearest rows, alone and on what another learner misses."""
    section = Section(
        "processes on neighbours",
        "k = 32 nearest rows, standardised columns, 75% of the rows; R² and the share of new "
        "targets within 1.96 deviations, seconds of a fit and of all predictions; corrected is "
        "kernel ridge regression of rank 500. Below: what the queries cost beyond their search.",
        ["data", "process", "cover", "fit, s", "predict, s", "on ridge", "cover", "ridge"],
    )
    for name in PROCESSES[:1] if quick else PROCESSES:
        X, y, X_test, y_test = table(name)
        ridge = KernelRidge(1.0, kernel="rbf", solver="low_rank", rank=500, random_state=0)
        cells: list[str] = []
        for corrected in (None, ridge):
            model = NeighbourGaussianProcess(corrected=corrected, random_state=0)
            _, fitting = timed(partial(model.fit, X, y))
            (mean, std), predicting = timed(partial(model.predict, X_test, return_std=True))
            inside = float(np.mean(np.abs(mean - y_test) < 1.96 * std))
            cells += [f"{r2_score(y_test, mean):.3f}", f"{inside:.3f}"]
            if corrected is None:
                cells += [f"{fitting:.2f}", f"{predicting:.2f}"]
        section.row(name, *cells, f"{ridge.fit(X, y).score(X_test, y_test):.3f}")
    for d in (8, 20):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(20_000, d)).astype(np.float32)
        model = NeighbourGaussianProcess(random_state=0).fit(X, X[:, 0])
        near = model.nearest(X, 32)[1]
        rate = len(X) / min(timed(partial(model.given_neighbours, X, near))[1] for _ in range(7))
        section.note(f"d = {d}: {rate:,.0f} queries a second beyond their search, 2 threads")
    return section


def resident(*, highest: bool = False) -> int:
    """Bytes in memory now, or the most since the last call that was not of the highest."""
    if not highest:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    found = re.search(rf"Vm{'HWM' if highest else 'RSS'}:\s*(\d+)", status)
    assert found
    return 1024 * int(found[1])


SECTIONS = {
    "features": features,
    "processes": processes,
    "neighbours": neighbour_processes,
}


if __name__ == "__main__":
    chosen = options(("--only", {"choices": list(SECTIONS), "nargs": "*"}))
    warnings.simplefilter("ignore")
    for section in chosen.only or SECTIONS:
        SECTIONS[section](chosen.quick).finish(chosen.write)
