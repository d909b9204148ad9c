"""KernelPerceptron beside numpy's updates of f on a matrix K in memory, and Perceptron beside
scikit-learn's."""

import warnings

import numpy as np
from sklearn.linear_model import Perceptron as TheirPerceptron

from harness import Section, interleaved, options, peak_memory
from mercer import KernelPerceptron, Perceptron
from mercer.gram import DenseGram
from mercer.kernels import RBF
from mercer.solvers.smo.kernel_perceptron import Machines, PerceptronSolver
from mercer.threads import count_jobs

N, D, EPOCHS = 20_000, 20, 10
ROWS, COLUMNS = 200_000, 50


def problem(n: int, d: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """A curved border between two classes, and some wrong labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] / 2 > 0, 1.0, -1.0)
    return X, np.where(rng.random(n) < noise, -y, y)


def numpy_epochs(K: np.ndarray, y: np.ndarray, orders: list[np.ndarray]) -> tuple[np.ndarray, int]:
    """f += y_i K[i] at each mistake, on a precomputed K."""
    f, mistakes = np.zeros(len(y), K.dtype), 0
    for order in orders:
        for i in order:
            if y[i] * f[i] <= 0:
                f += y[i] * K[i]
                mistakes += 1
    return f, mistakes


def kernels(section: Section, quick: bool) -> None:
    n = 4000 if quick else N
    random = np.random.RandomState(0)
    orders = [random.permutation(n) for _ in range(EPOCHS)]
    for noise in (0.0, 0.05):
        X, y = problem(n, D, noise)
        for dtype in (np.float64, np.float32):
            one_group(section, X.astype(dtype), y.astype(dtype), orders, noise, quick)
    code = f"""
import numpy as np
from mercer import KernelPerceptron
from mercer.gram import DenseGram
from mercer.kernels import RBF
from mercer.solvers.smo.kernel_perceptron import Machines, PerceptronSolver
X = np.random.default_rng(0).normal(size=({n}, {D}))
y = X[:, 0] + X[:, 1] * X[:, 2] / 2 > 0
KernelPerceptron(RBF(1 / {D}), max_iter=2).fit(X[:100], y[:100])
# measured
KernelPerceptron(RBF(1 / {D}), max_iter={EPOCHS}, tol=None, memory="500MB").fit(X, y)
"""
    section.note(
        f'with memory="500MB" the fit to {n:,} float64 rows took {peak_memory(code):,.0f} MB'
    )


def one_group(section: Section, X, y, orders: list, noise: float, quick: bool) -> None:
    K, n = RBF(1 / D)(X), len(y)
    model = KernelPerceptron(
        RBF(1 / D), max_iter=EPOCHS, tol=None, fit_intercept=False, memory="4GB"
    )
    held, solver = DenseGram(K, symmetric=True), PerceptronSolver(EPOCHS, None)

    def solved() -> None:
        start = Machines(np.zeros((1, n)), np.zeros(1), learns_bias=False)
        solver.solve(held, y[:, None], start=start)

    runs = {
        "numpy on K": lambda: numpy_epochs(K, y, orders),
        "PerceptronSolver on K": solved,
        "KernelPerceptron, with K": lambda: model.fit(X, y),
    }
    seconds = interleaved(runs, 1 if quick else 3)
    mistakes = numpy_epochs(K, y, orders)[1]
    for name, took in seconds.items():
        made = mistakes if "numpy" in name else model.mistakes_[0].sum()
        section.row(
            f"{name}, {noise:.0%} wrong labels", X.dtype.name, f"{took:.3f}",
            f"{seconds['numpy on K'] / took:.1f}", f"{made:,}",
        )  # fmt: skip


def linear(section: Section, quick: bool) -> None:
    n = 20_000 if quick else ROWS
    for noise in (0.0, 0.05):
        X, y = problem(n, COLUMNS, noise)
        for dtype in (np.float64, np.float32):
            A = X.astype(dtype)
            ours, theirs = (P(tol=None, max_iter=EPOCHS) for P in (Perceptron, TheirPerceptron))
            runs = {"scikit-learn": lambda: theirs.fit(A, y), "mercer": lambda: ours.fit(A, y)}  # noqa: B023
            seconds = interleaved(runs, 1 if quick else 5)
            for name, took in seconds.items():
                section.row(
                    f"Perceptron of {name}, {n:,} x {COLUMNS}, {noise:.0%} wrong labels",
                    np.dtype(dtype).name, f"{took:.3f}",
                    f"{seconds['scikit-learn'] / took:.1f}", "",
                )  # fmt: skip


def main() -> None:
    args = options()
    section = Section(
        "perceptrons",
        f"{EPOCHS} epochs over {N:,} rows of {D} columns, RBF; median of interleaved runs. The "
        "time of numpy's updates f += y_i K[i], and of the solver, is without that of K. Ratio: to "
        "the first of each group.",
        ["run", "dtype", "seconds", "ratio", "mistakes"],
    )
    section.note(f"{count_jobs(None)} threads")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # noise is not separable
        kernels(section, args.quick)
        linear(section, args.quick)
    section.finish(args.write)


if __name__ == "__main__":
    main()
