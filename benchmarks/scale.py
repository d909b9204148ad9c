"""What is beyond some thousand rows: features, Gaussian processes, exact and low-rank solvers.

One section of RESULTS.md for each table, each beside scikit-learn on the same split. ``--only``
names the sections. Needs MERCER_DATA for the real tables.
"""

from __future__ import annotations

import re
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from subprocess import Popen
from typing import Any

import numpy as np
import sklearn.kernel_approximation as theirs
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from sklearn.gaussian_process import GaussianProcessRegressor, kernels as gp
from sklearn.kernel_ridge import KernelRidge as TheirRidge
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline

from harness import Section, data_folder, options, product_rate, said_and_peak
from large_tables import split
from mercer import KernelRidge, NeighbourGaussianProcess, Nystroem, RandomFeatures
from mercer.distances import Minkowski
from mercer.gram import DenseGram, LowRankGram, gram
from mercer.gram.low_rank import pivots_of_some
from mercer.kernels import RBF, Laplacian, Polynomial
from mercer.solvers import SketchedSolver
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


def smooth(n: int, d: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, a smooth function of them with an interaction, and the same with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    f = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] / 2
    return X, f, f + 0.3 * rng.normal(size=n)


def both_clocks(runs: dict[str, Callable[[], Any]], repeats: int) -> dict[str, str]:
    """Least and median seconds, and least seconds of all threads, of runs taken in turn."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            cpu = time.process_time()
            _, seconds = timed(run)
            times[name].append((seconds, time.process_time() - cpu))
    return {
        name: f"{min(s for s, _ in each):.2f}, {median(s for s, _ in each):.2f} "
        f"({min(c for _, c in each):.2f})"
        for name, each in times.items()
    }


def exact(quick: bool) -> Section:
    """Exact ridge regression by a factor in float32, also beside processes that are busy."""
    n, repeats, d = (2000, 1, 20) if quick else (10_000, 3, 20)
    section = Section(
        "exact ridge",
        f"KernelRidge, n = {n:,}, d = 20: least and median seconds of {repeats} interleaved runs, "
        "and in brackets the least seconds of all threads; the largest difference of predictions "
        "from scikit-learn's in float64. Busy: two other processes that compute without end.",
        ["input", "γ d", "λ", "busy", "Mercer", "on one thread", "scikit-learn", "difference"],
    )
    X, _, y = smooth(n)
    Z = smooth(1000, seed=1)[0]
    cases = [(np.float64, 1.0, 1e-2), (np.float32, 1.0, 1e-2), (np.float64, 0.01, 1e-6)]
    for busy in (0, 2):
        others = [Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
        try:
            for dtype, γ, λ in cases if not busy else cases[:2]:
                A, t, given = X.astype(dtype), y.astype(dtype), {"kernel": "rbf", "gamma": γ / d}
                ours, other = KernelRidge(λ, **given), TheirRidge(alpha=λ, **given)
                one = KernelRidge(λ, **given, n_jobs=1)
                runs = {
                    "ours": partial(ours.fit, A, t),
                    "one": partial(one.fit, A, t),
                    "theirs": partial(other.fit, A, t),
                }
                seconds = both_clocks(runs, repeats)
                wanted = other if dtype == np.float64 else TheirRidge(alpha=λ, **given).fit(X, y)
                gap = np.abs(ours.predict(Z.astype(dtype)) - wanted.predict(Z)).max()
                section.row(
                    np.dtype(dtype).name, γ, f"{λ:g}", "yes" if busy else "no", seconds["ours"],
                    seconds["one"], seconds["theirs"], f"{gap:.0e}",
                )  # fmt: skip
        finally:
            for process in others:
                process.kill()
                process.wait()
    rate = product_rate()
    section.note(
        f"The n³ / 3 operations of a float32 factor alone take {n**3 / 3 / rate:.2f} s on all "
        f"cores at the {rate / 1e9:.0f} GFLOP/s of numpy's products of large matrices"
    )
    section.note(
        "1.8 times as fast as scikit-learn in float32 is not reached: it would be 1.43 s, of which "
        "the factor takes 1.33 s, and conjugate gradients on 500 to 2,000 columns in its place "
        "took 74 to 137 steps to 1e-7, and longer than the factor"
    )
    section.note("the nearly singular K is factorised as nearly F Fᵀ, with few columns in F")
    return section


def normal_equations(C: np.ndarray, B: np.ndarray, y: np.ndarray, λ: float) -> np.ndarray:
    """β on centres by F = C L⁻ᵀ and Cholesky's method for FᵀF + λ I, in C's precision."""
    L = np.linalg.cholesky(B.astype(float) + 1e-6 * np.eye(len(B)))
    narrow = L.astype(C.dtype)
    A, b = λ * np.eye(len(B)), np.zeros(len(B))
    for s in range(0, len(C), 4096):
        F = solve_triangular(narrow, C[s : s + 4096].T, lower=True, check_finite=False)
        A += F @ F.T
        b += F @ y[s : s + 4096]
    return solve_triangular(L, cho_solve(cho_factor(A), b), lower=True, trans=1)


def sketch(quick: bool) -> Section:
    """Ridge regression on many centres by a sketch, and by the normal equations."""
    n, repeats = (5000, 1) if quick else (50_000, 2)
    section = Section(
        "sketch",
        f"Ridge regression on m centres, n = {n:,}, d = 20, float32, λ = 1e-6 n: least and median "
        f"seconds of {repeats} interleaved runs, and in brackets the least of all threads, from K "
        "between rows and centres on, which all read; that of the whole fit of scikit-learn's "
        "Nystroem and Ridge, with other centres. Errors are those of f without noise.",
        ["m", "centres", "sketch", "steps", "normal equations", "scikit-learn", "errors"],
    )
    X, _, y = smooth(n)
    X = X.astype(np.float32)
    Z, f, _ = smooth(2000, seed=1)
    for m in (200, 400) if quick else (1000, 2000, 4000):
        for kind in ("uniform", "outlying", "pivoted"):
            rows = X.copy()
            S = np.random.default_rng(0).choice(n, m, replace=False)
            if kind == "outlying":
                rows[S[: m // 2]] *= 4
            K = gram(RBF(0.5 / 20), rows)
            low = pivots_of_some(K, m, min(n, 5 * m), 0) if kind == "pivoted" else None
            S = S if low is None else low.centres
            C = K.part(np.arange(n), S).dense()
            low = LowRankGram(S, np.eye(m, dtype=np.float32), K=Columns(C))
            found: dict[str, Any] = {}

            def run(name: str, solve: Callable[[], Any], found: dict = found) -> None:
                found[name] = solve()

            λ = 1e-6 * n
            runs: dict[str, Callable[[], Any]] = {
                "sketch": partial(run, "sketch", partial(SketchedSolver(λ).solve, low, y)),
                "normal": partial(run, "normal", partial(normal_equations, C, C[S], y, λ)),
            }
            if kind == "uniform" and m <= 2000:
                theirs_ = make_pipeline(
                    theirs.Nystroem(gamma=0.5 / 20, n_components=m, random_state=0), Ridge(λ)
                )
                runs["theirs"] = partial(run, "theirs", partial(theirs_.fit, rows, y))
            seconds = both_clocks(runs, 1 if m == 4000 and kind != "uniform" else repeats)
            cross = RBF(0.5 / 20)(Z.astype(np.float32), rows[S])
            outputs = [cross @ found["sketch"].coef, cross @ found["normal"]]
            if "theirs" in found:
                outputs.append(found["theirs"].predict(Z.astype(np.float32)))
            errors = [f"{np.sqrt(np.mean((each - f) ** 2)):.4f}" for each in outputs]
            section.row(
                f"{m:,}", kind, seconds["sketch"], found["sketch"].iterations, seconds["normal"],
                seconds.get("theirs", "–"), ", ".join(errors),
            )  # fmt: skip
    return section


PROGRAM = """
import time
import numpy as np
from mercer import KernelRidge
rng = np.random.default_rng(0)
X = rng.normal(size=({n}, 20)).astype(np.float32)
f = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] / 2
y = f + 0.3 * rng.normal(size={n})
KernelRidge(1.0, kernel="rbf", solver="low_rank", rank=50).fit(X[:5000], y[:5000])
# measured
model = KernelRidge(1e-6 * {n}, kernel="rbf", gamma=0.025, solver="low_rank", rank={m},
                    random_state=0, memory="1GB")
began, cpu = time.perf_counter(), time.process_time()
model.fit(X, y)
seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
error = np.sqrt(np.mean((model.predict(X[:20000]) - f[:20000]) ** 2))
print(seconds, cpu, error)
"""


def rows(quick: bool) -> Section:
    """Low rank on up to a million rows, in bounded memory."""
    counts, m = ((5000, 10_000), 100) if quick else ((100_000, 1_000_000), 1000)
    section = Section(
        "rows",
        f"KernelRidge of {m:,} centres, d = 20, float32, λ = 1e-6 n, memory='1GB': seconds, those "
        "of all threads, and the most MB beyond the rows, each in a process of its own; errors are "
        "those of f without noise.",
        ["n", "seconds", "of all threads", "MB", "error"],
    )
    spent = []
    for n in counts:
        (seconds, cpu, error), peak = said_and_peak(PROGRAM.format(n=n, m=m))
        spent.append(float(cpu))
        section.row(
            f"{n:,}", f"{float(seconds):.1f}", f"{float(cpu):.1f}", f"{peak:,.0f}",
            f"{float(error):.4f}",
        )  # fmt: skip
    exponent = np.log(spent[1] / spent[0]) / np.log(counts[1] / counts[0])
    section.note(f"the cost grows as n to the power of {exponent:.2f}")
    return section


class Columns(DenseGram):
    """The columns of K of some centres, which are the only part of K that is read."""

    def part(self, i: np.ndarray, j: np.ndarray | None = None) -> DenseGram:
        return self


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
    "exact": exact,
    "sketch": sketch,
    "rows": rows,
}


if __name__ == "__main__":
    chosen = options(("--only", {"choices": list(SECTIONS), "nargs": "*"}))
    warnings.simplefilter("ignore")
    for section in chosen.only or SECTIONS:
        SECTIONS[section](chosen.quick).finish(chosen.write)
