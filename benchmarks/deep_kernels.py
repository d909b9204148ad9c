"""Deep kernel machines: how fast the objective is climbed, laws that it obeys, and real data."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pandas as pd
import scipy.linalg
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF as SklearnRBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV

from harness import Section, data_folder, options
from mercer import KernelRidge
from mercer.deep import DeepKernelMachineRegressor
from mercer.deep.ascent import DeepAscent
from mercer.deep.objective import DeepObjective, ExactObjective
from mercer.deep.targets import NumberTargets
from mercer.kernels import RBF, ArcCosine, Linear

RATES = [1e-3, 3e-3, 1e-2, 3e-2, 1e-1]
SHARE = 0.3  # dof, as a part of the rows
CLOSE = 1e-4  # of the best objective that any method reached, relative


class Watched(ExactObjective):
    """Notes the time and the best objective at each evaluation."""

    def watch(self, seconds: float) -> Watched:
        self.began, self.trace, self.limit = time.process_time(), [(0.0, -np.inf)], seconds
        return self

    def evaluate(self, grams, noise):
        if time.process_time() - self.began > self.limit:  # where Adam has diverged, too
            raise TimeoutError
        at = super().evaluate(grams, noise)
        self.trace.append((time.process_time() - self.began, max(at.value, self.trace[-1][1])))
        return at


def problem(n: int, layer, dof: float) -> Watched:
    """Two layers, eight columns of which three matter, noise of a given size."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    targets = NumberTargets(((y - y.mean()) / y.std())[:, None], False)
    return Watched(X @ X.T / 8, [layer] * 3, np.full(2, dof), targets, 1e-4)


def flat(objective: DeepObjective) -> tuple[np.ndarray, Callable]:
    """The lower triangles of the Cholesky factors as one vector, and -L and its gradient."""
    m = len(objective.G0)
    lower, count = np.tril_indices(m), m * (m + 1) // 2

    def cost(x: np.ndarray) -> tuple[float, np.ndarray]:
        factors = []
        for part in x.reshape(-1, count):
            L = np.zeros((m, m))
            L[lower] = part
            factors.append(L)
        try:
            at = objective.evaluate([L @ L.T for L in factors], 0.1)
        except np.linalg.LinAlgError:
            return np.inf, np.zeros_like(x)
        slopes = [2 * (g @ L)[lower] for g, L in zip(at.gradients, factors)]
        return -at.value, -np.concatenate(slopes)

    start = np.concatenate([np.linalg.cholesky(G)[lower] for G in objective.start()])
    return start, cost


def adam(objective: DeepObjective, rate: float) -> None:
    """Kingma & Ba 2015, without end."""
    x, cost = flat(objective)
    first, second, step = np.zeros_like(x), np.zeros_like(x), 0
    while True:
        step += 1
        _, g = cost(x)
        first = 0.9 * first + 0.1 * g
        second = 0.999 * second + 0.001 * g * g
        x = x - rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)


def lbfgs(objective: DeepObjective) -> None:
    x, cost = flat(objective)
    limits = {"maxiter": 100_000, "maxfun": 100_000, "ftol": 1e-12, "gtol": 1e-6}
    minimize(cost, x, jac=True, method="L-BFGS-B", options=limits)


def traced(n: int, layer, run: Callable, seconds: float) -> list[tuple[float, float]]:
    objective = problem(n, layer, SHARE * n).watch(seconds)
    with suppress(TimeoutError):
        run(objective)
    return objective.trace


def first_time(trace: list[tuple[float, float]], wanted: float) -> float:
    return next((t for t, value in trace if value >= wanted), np.inf)


def ascent(quick: bool) -> Section:
    n, seconds = (150, 5.0) if quick else (500, 90.0)
    section = Section(
        "deep_kernel_ascent",
        f"Deep kernel machine, {n} rows, two layers, dof {SHARE} n, noise 0.1: CPU seconds until "
        f"the objective is within {CLOSE:g} (relative) of the best that any method reached. All "
        "start at the infinitely wide network, in one process and one thread "
        f"(OPENBLAS_NUM_THREADS=1). Each may take {seconds:g} s, Adam with the best of the rates "
        f"{RATES}. L-BFGS is scipy's on plain Cholesky factors. In brackets: how far the best "
        "objective was missed, relative.",
        ["layer", "mercer", "L-BFGS", "Adam (best rate)", "Adam / mercer", "L-BFGS / mercer"],
    )
    for layer in (RBF(0.5), ArcCosine(1)):
        runs: dict[str, Callable] = {
            "mercer": lambda o: DeepAscent(1e-4, 5000).solve(o, 0.1),
            "lbfgs": lbfgs,
        }
        runs |= {f"adam {r}": (lambda o, r=r: adam(o, r)) for r in RATES}
        traces = {name: traced(n, layer, run, seconds) for name, run in runs.items()}
        best = max(trace[-1][1] for trace in traces.values())
        wanted = best - CLOSE * abs(best)
        times = {name: first_time(trace, wanted) for name, trace in traces.items()}
        adams = {name: t for name, t in times.items() if name.startswith("adam")}
        quickest = min(adams, key=lambda name: (adams[name], -traces[name][-1][1]))

        def shown(name: str, times=times, traces=traces, best=best) -> str:
            if np.isfinite(times[name]):
                return f"{times[name]:.2f}"
            return f"> {seconds:g} [{(best - traces[name][-1][1]) / abs(best):.1e}]"

        def ratio(name: str, times=times) -> str:
            mine = times["mercer"]
            if np.isfinite(times[name]):
                return f"{times[name] / mine:.1f}"
            return f"> {seconds / mine:.0f}"

        section.row(
            type(layer).__name__, shown("mercer"), shown("lbfgs"),
            f"{shown(quickest)} ({quickest.split()[1]})", ratio(quickest), ratio("lbfgs"),
        )  # fmt: skip
    return section


def laws() -> Section:
    section = Section(
        "deep_kernel_laws",
        "Laws that deep kernel machines obey. Linear layer, dof as many as outputs, no noise: the "
        "Gram matrix is the geometric mean of that of the samples and of the targets. Many degrees "
        "of freedom: the distance of predictions from the Gaussian process of the infinitely wide "
        "network (dof = 10^7) falls as 1 / dof.",
        ["law", "dof", "largest difference", "times dof"],
    )
    rng = np.random.default_rng(0)
    A, Y = rng.normal(size=(30, 60)), rng.normal(size=(30, 50))
    model = DeepKernelMachineRegressor(
        1, layer=Linear(), dof=50, noise=0, jitter=0, normalize_y=False, tol=1e-10
    )
    G = model.fit(A, Y).grams_
    mean = G[0] @ scipy.linalg.sqrtm(np.linalg.solve(G[0], Y @ Y.T / 50))
    section.row("geometric mean", 50, f"{np.abs(G[1] - mean).max():.1e}", "")
    X, Z = rng.normal(size=(200, 4)), rng.normal(size=(100, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        predicted = {
            nu: DeepKernelMachineRegressor(2, dof=nu, noise=0.1, tol=1e-7).fit(X, y).predict(Z)
            for nu in (1e2, 1e3, 1e4, 1e5, 1e7)
        }
    for nu in (1e2, 1e3, 1e4, 1e5):
        gap = np.abs(predicted[nu] - predicted[1e7]).max()
        section.row("infinitely wide network", f"{nu:g}", f"{gap:.2e}", f"{nu * gap:.1f}")
    return section


def scores(mean, std, y) -> tuple[float, float]:
    """Mean log-likelihood and RMSE of standardised targets."""
    logs = -0.5 * np.log(2 * np.pi * std**2) - (y - mean) ** 2 / (2 * std**2)
    return float(logs.mean()), float(np.sqrt(np.mean((y - mean) ** 2)))


def likelihood_scorer(model, X, y) -> float:
    mean, std = model.predict(X, return_std=True)
    return scores(mean, std, y)[0]


def real_data(quick: bool) -> Section:
    n = 120 if quick else 200
    section = Section(
        "deep_kernel_data",
        f"{n} training rows and up to 2,000 test rows of each set, columns and targets "
        "standardised; test log-likelihood (higher is better) and RMSE. The deep kernel machine "
        "has one learnt layer; its layer and dof are chosen by three folds of the training rows. "
        "Gaussian process: scikit-learn's, constant times RBF plus noise, by its marginal "
        "likelihood. RBF ridge: gamma and alpha by three folds.",
        ["set", "columns", "deep: log-lik.", "GP: log-lik.", "deep: RMSE", "GP: RMSE",
         "ridge: RMSE", "chosen"],
    )  # fmt: skip
    folder = data_folder()
    if folder is None:
        section.note("left out: set MERCER_DATA to the folder of the data")
        return section
    wins = []
    for path in sorted((folder / "numeric_reg").iterdir()):
        frame = pd.read_csv(path).select_dtypes("number").dropna()
        values = frame.sample(frac=1, random_state=0).to_numpy(float)[: n + 2000]
        values = (values - values[:n].mean(axis=0)) / np.maximum(values[:n].std(axis=0), 1e-12)
        X, y, Z, z = values[:n, :-1], values[:n, -1], values[n:, :-1], values[n:, -1]
        grid = {
            "layer": [RBF(g) for g in (2.0, 0.78, 0.3)] + [ArcCosine(1)],
            "dof": [0.05 * n, 0.3 * n, 2.0 * n],
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            deep = GridSearchCV(
                DeepKernelMachineRegressor(1), grid, cv=3, scoring=likelihood_scorer
            ).fit(X, y)
            kernel = ConstantKernel() * SklearnRBF(np.sqrt(X.shape[1])) + WhiteKernel(0.1)
            process = GaussianProcessRegressor(kernel, n_restarts_optimizer=1, random_state=0)
            process.fit(X, y)
            ridge = GridSearchCV(
                KernelRidge(kernel="rbf"),
                {"gamma": np.logspace(-3, 0, 7) / 2, "alpha": np.logspace(-4, 1, 6)},
                cv=3, scoring="neg_mean_squared_error",
            ).fit(X, y)  # fmt: skip
        ours = scores(*deep.best_estimator_.predict(Z, return_std=True), z)
        theirs = scores(*process.predict(Z, return_std=True), z)
        error = float(np.sqrt(np.mean((ridge.predict(Z) - z) ** 2)))
        wins.append((ours[0] > theirs[0], ours[1] < theirs[1], ours[1] < error))
        best = deep.best_params_
        section.row(
            path.name.split(".")[0], X.shape[1], f"{ours[0]:.3f}", f"{theirs[0]:.3f}",
            f"{ours[1]:.3f}", f"{theirs[1]:.3f}", f"{error:.3f}",
            f"{best['layer']}, dof {best['dof'] / n:g} n",
        )  # fmt: skip
    totals = np.sum(wins, axis=0)
    section.note(
        f"of {len(wins)} sets the deep kernel machine has the better log-likelihood than the "
        f"Gaussian process on {totals[0]}, the better RMSE on {totals[1]}, and a better RMSE than "
        f"the ridge on {totals[2]}"
    )
    return section


if __name__ == "__main__":
    arguments = options()
    for made in (
        laws(),
        ascent(arguments.quick),
        real_data(arguments.quick),
    ):
        made.finish(arguments.write)
