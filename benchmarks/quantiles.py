"""KernelQuantileRegression beside a quadratic program for the same dual, and beside boosted trees.

The program is solved by cvxopt's interior-point method to its default tolerance, and the objective
of both is written out from their coefficients. Boosting is another model: its pinball loss on rows
held out says what the predictions are worth.
"""

import time

import cvxopt
import lightgbm
import numpy as np
from sklearn.metrics import mean_pinball_loss

from harness import Section, interleaved, options
from mercer import KernelQuantileRegression
from mercer.kernels import RBF

LEVELS = [0.1, 0.5, 0.9]
TREES = {"n_estimators": 300, "learning_rate": 0.05, "num_leaves": 15, "verbose": -1, "n_jobs": 1}
SMALLER = TREES | {"n_estimators": 200, "num_leaves": 7}


def noisy(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A smooth function of four columns, whose noise grows along the third."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + np.exp(X[:, 2] / 2) * rng.normal(size=n)


def program(K: np.ndarray, y: np.ndarray, C: float, level: float) -> tuple[np.ndarray, float]:
    """β and b of the dual: min ½ βᵀKβ - yᵀβ, Σβ = 0, (level - 1) C <= β <= level C."""
    n = len(y)
    box = np.vstack([np.eye(n), -np.eye(n)])
    bounds = np.repeat([level * C, (1 - level) * C], n)
    given = [cvxopt.matrix(part) for part in (K, -y, box, bounds, np.ones((1, n)))]
    found = cvxopt.solvers.qp(*given, cvxopt.matrix(0.0), options={"show_progress": False})
    return np.ravel(found["x"]), float(found["y"][0])


def primal(K: np.ndarray, y: np.ndarray, C: float, level: float, beta, b: float) -> float:
    r = y - K @ beta - b
    return float(beta @ K @ beta / 2 + C * np.maximum(level * r, (level - 1) * r).sum())


def main() -> None:
    chosen = options()
    section = Section(
        "quantiles",
        "Quantiles 0.1, 0.5 and 0.9 of a target, RBF with γ = 0.3, 4 columns, C = 1, one thread; "
        "median processor seconds of interleaved runs. γ and the trees are those, of some, with "
        "the least loss on 5,000 rows beside those that judge. Above the best: of the primal "
        "objective, the largest of the three.",
        ["rows", "program", "seconds", "ratio", "above the best", "pinball loss, rows held out"],
    )
    X_test, y_test = noisy(25_000)
    X_test, y_test = X_test[-5000:], y_test[-5000:]
    kernel = RBF(0.3)
    for n in (500,) if chosen.quick else (500, 1000, 2000, 10_000):
        X, y = noisy(n)
        found: dict = {}
        ours = KernelQuantileRegression(quantile=LEVELS, kernel=kernel, n_jobs=1)

        def fit(model=ours, X=X, y=y):
            model.fit(X, y)

        def solve(X=X, y=y, found=found):
            K = kernel(X)
            found["program"] = [program(K, y, 1.0, level) for level in LEVELS]

        def boost(name, settings, X=X, y=y, found=found):
            found[name] = [
                lightgbm.LGBMRegressor(objective="quantile", alpha=level, **settings).fit(X, y)
                for level in LEVELS
            ]

        trees = {"LightGBM": TREES, "LightGBM, smaller": SMALLER}
        boosts = {
            name: lambda name=name, settings=settings, boost=boost: boost(name, settings)
            for name, settings in trees.items()
        }
        runs = {"mercer": fit} | boosts | ({"cvxopt": solve} if n <= 2000 else {})
        times = interleaved(runs, 1 if chosen.quick else 3, time.process_time)
        losses = {"mercer": ours.predict(X_test)} | {
            name: np.stack([model.predict(X_test) for model in found[name]], axis=1)
            for name in trees
        }
        values, K = {}, kernel(X)
        beta = np.zeros((len(LEVELS), n))
        beta[:, ours.support_] = ours.dual_coef_
        machines = {"mercer": list(zip(beta, ours.intercept_))}
        if "cvxopt" in runs:
            machines["cvxopt"] = found["program"]
            losses["cvxopt"] = np.stack(
                [kernel(X_test, X) @ beta + b for beta, b in found["program"]], axis=1
            )
        for name, pairs in machines.items():
            values[name] = np.array(
                [primal(K, y, 1.0, q, beta, b) for q, (beta, b) in zip(LEVELS, pairs)]
            )
        least = np.min(list(values.values()), axis=0)
        for name, seconds in times.items():
            above = f"{(values[name] / least - 1).max():.1e}" if name in values else ""
            loss = np.mean(
                [mean_pinball_loss(y_test, f, alpha=q) for q, f in zip(LEVELS, losses[name].T)]
            )
            ratio = f"{seconds / times['mercer']:.1f}"
            section.row(f"{n:,}", name, f"{seconds:.3f}", ratio, above, f"{loss:.4f}")
    section.note(
        f"cvxopt {cvxopt.__version__}; LightGBM {lightgbm.__version__}, 300 trees of 15 "
        "leaves a quantile, and 200 of 7"
    )
    section.note(
        "smaller trees are ahead at 10,000 rows: beside rounds on rows near their quantile, a fit "
        "reads each of the 50 million pairs of rows once, and rows near it again, and each pair "
        "takes 1 to 2 ns"
    )
    section.finish(chosen.write)


if __name__ == "__main__":
    main()
