"""Weights of many kernels beside general solvers; a learner of many kernels beside the best one.

EasyMKL is compared with MKLpy where it is installed (it imports torch, which is not among the
packages of ``make bench``), and with the quadratic program that it gives to cvxopt. MERCER_DATA is
needed for the promoters and for the mixed table.
"""

import importlib.util
import sys
import time
from importlib.metadata import version
from pathlib import Path

import cvxopt
import numpy as np
import pandas as pd
from scipy.optimize import minimize, nnls
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC as SklearnSVC

from harness import Section, data_folder, interleaved, options, peak_memory
from mercer import SVC, KernelSearchCV, MultipleKernelClassifier
from mercer.gram import gram
from mercer.kernels import RBF, GappedKmer, Match, Spectrum, WeightedDegree
from mercer.solvers import AlignmentWeights, EasyWeights, HingeMachines, MarginWeights
from mercer.solvers.smo.dual import DualProblem
from string_learning import table

T = 20


def problem(n: int) -> tuple[np.ndarray, np.ndarray, list]:
    """Two classes, and Gaussian kernels on random columns, most of which tell nothing."""
    X, y = make_classification(n, 20, n_informative=6, n_redundant=0, class_sep=0.7, random_state=0)
    rng = np.random.default_rng(0)
    columns = [rng.choice(20, rng.integers(1, 5), replace=False) for _ in range(T)]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, 2.0 * y - 1, [np.ascontiguousarray(X[:, c]) for c in columns]


def operators(parts: list, **budget) -> list:
    return [gram(RBF(1 / part.shape[1]), part, **budget) for part in parts]


def easy(section: Section, n: int, repeats: int) -> None:
    _, y, parts = problem(n)
    found = {}

    def ours() -> None:
        found["mercer"] = EasyWeights(0.1, 1e-6).solve(operators(parts, memory=1), [y]).coef

    def theirs() -> None:
        """As MKLpy's EasyMKL with solver="cvxopt", every matrix in memory."""
        K = [k.dense() for k in operators(parts)]
        Q = np.outer(y, y) * (0.9 * sum(K) + 0.1 * np.eye(n))
        sides = np.stack([y > 0, y < 0]).astype(float)
        cvxopt.solvers.options.update(show_progress=False, abstol=1e-12, reltol=1e-9, feastol=1e-12)
        solved = cvxopt.solvers.qp(
            cvxopt.matrix(2 * Q), cvxopt.matrix(np.zeros(n)), cvxopt.matrix(-np.eye(n)),
            cvxopt.matrix(np.zeros(n)), cvxopt.matrix(sides), cvxopt.matrix(np.ones(2)),
        )  # fmt: skip
        beta = y * np.ravel(solved["x"])
        margins = np.array([beta @ k @ beta for k in K])
        found["cvxopt"] = margins / margins.sum()

    def package() -> None:
        """MKLpy's own learner, with its default solver; it scales nothing here."""
        from MKLpy.algorithms import EasyMKL

        K = [k.dense() for k in operators(parts)]
        model = EasyMKL(lam=0.1, learner=SklearnSVC(kernel="precomputed"))
        margins = np.asarray(model.combine_kernels(K, y).weights)
        found["MKLpy"] = margins / margins.sum()

    runs = {"mercer": ours, "cvxopt": theirs}
    if importlib.util.find_spec("MKLpy"):
        runs["MKLpy"] = package
    seconds = interleaved(runs, repeats)
    for name, took in seconds.items():
        away = np.abs(found["mercer"] - found[name]).max()
        section.row(f"EasyMKL, n = {n:,}", name, f"{took:.3f}", f"{took / seconds['mercer']:.1f}",
                    f"weights differ by {away:.1e}")  # fmt: skip
    if "MKLpy" in runs:
        section.note(f"MKLpy {version('MKLpy')}, torch {version('torch')}")


def alignment(section: Section, n: int, repeats: int) -> None:
    _, y, parts = problem(n)
    found = {}

    def ours() -> None:
        found["mercer"] = AlignmentWeights().solve(operators(parts, memory=1), y[:, None]).coef

    def theirs() -> None:
        """Least squares with one column of n² values for each matrix."""
        columns = []
        for k in operators(parts):
            K = k.dense()
            K = K - K.mean(axis=0)
            columns.append((K - K.mean(axis=1, keepdims=True)).ravel())
        yc = y - y.mean()
        v = nnls(np.stack(columns, axis=1), np.outer(yc, yc).ravel())[0]
        found["scipy nnls"] = v / v.sum()

    seconds = interleaved({"mercer": ours, "scipy nnls": theirs}, repeats)
    away = np.abs(found["mercer"] - found["scipy nnls"]).max()
    for name, took in seconds.items():
        section.row(f"ALIGNF, n = {n:,}", name, f"{took:.3f}", f"{took / seconds['mercer']:.1f}",
                    f"weights differ by {away:.1e}")  # fmt: skip


def simple(section: Section, n: int, repeats: int) -> None:
    _, y, parts = problem(n)
    values, gaps = {}, {}

    def ours() -> None:
        machine = HingeMachines([DualProblem.classification(y, np.ones(n))], [np.arange(n)], 1e-7)
        result = MarginWeights(tol=1e-6).solve(operators(parts, memory=1), machine)
        values["mercer"], gaps["mercer"] = result.objective, result.gap

    def generic() -> None:
        """SciPy's SLSQP on the dual: max Σα - s, where ½ (α y)ᵀK_t(α y) <= s for all t."""
        Q = np.stack([np.outer(y, y) * k.dense() for k in operators(parts)])

        def room(v: np.ndarray) -> np.ndarray:
            return v[-1] - (Q @ v[:-1]) @ v[:-1] / 2

        def slopes(v: np.ndarray) -> np.ndarray:
            return np.column_stack([-(Q @ v[:-1]), np.ones(len(Q))])

        solved = minimize(
            lambda v: v[-1] - v[:-1].sum(), np.zeros(n + 1),
            jac=lambda v: np.r_[-np.ones(n), 1.0], method="SLSQP",
            bounds=[(0, 1)] * n + [(0, None)],
            constraints=[
                {"type": "ineq", "fun": room, "jac": slopes},
                {"type": "eq", "fun": lambda v: y @ v[:-1], "jac": lambda v: np.r_[y, 0.0]},
            ],
            options={"ftol": 1e-10, "maxiter": 500},
        )  # fmt: skip
        values["scipy SLSQP"] = -solved.fun

    def cone() -> None:
        """cvxopt's solver of cone programs with nonlinear constraints on the same dual."""
        Q = [cvxopt.matrix(np.outer(y, y) * k.dense()) for k in operators(parts)]
        A = cvxopt.matrix(np.r_[y, 0.0][None])
        G = cvxopt.matrix(np.vstack([-np.eye(n, n + 1), np.eye(n, n + 1)]))
        h = cvxopt.matrix(np.r_[np.zeros(n), np.ones(n)])

        def F(x=None, z=None):
            if x is None:
                return len(Q), cvxopt.matrix(np.r_[np.full(n, 0.1), 10.0 * n])
            a, s = x[:n], x[n]
            products = [q * a for q in Q]
            f = cvxopt.matrix([0.5 * (a.T * p)[0] - s for p in products])
            Df = cvxopt.matrix(np.column_stack([np.stack([np.ravel(p) for p in products]),
                                                -np.ones(len(Q))]))  # fmt: skip
            if z is None:
                return f, Df
            H = np.zeros((n + 1, n + 1))
            for zk, q in zip(z, Q):
                H[:n, :n] += zk * np.asarray(q)
            return f, Df, cvxopt.matrix(H)

        c = cvxopt.matrix(np.r_[-np.ones(n), 1.0])
        options = {"show_progress": False, "abstol": 1e-7, "reltol": 1e-7, "feastol": 1e-8}
        solved = cvxopt.solvers.cpl(c, F, G, h, A=A, b=cvxopt.matrix(0.0), options=options)
        values["cvxopt"] = -solved["primal objective"]

    runs = {"mercer": ours, "cvxopt": cone}
    if n <= 300:
        runs["scipy SLSQP"] = generic
    seconds = interleaved(runs, repeats)
    for name, took in seconds.items():
        gap = f", half-gap {gaps[name]:.1e}" if name in gaps else ""
        away = abs(values[name] / values["mercer"] - 1)
        section.row(f"SimpleMKL, n = {n:,}", name, f"{took:.3f}", f"{took / seconds['mercer']:.1f}",
                    f"value {values[name]:.6f} ({away:.0e} away){gap}")  # fmt: skip


PROGRAM = """
import sys; sys.path.insert(0, {folder!r})
import numpy as np
from multiple_kernels import operators, problem
from mercer.solvers import *
from mercer.solvers.smo.dual import DualProblem
X, y, parts = problem({n})
A = operators([p[:50] for p in parts])
machine = lambda n: HingeMachines([DualProblem.classification(y[:n], np.ones(n))], [np.arange(n)],
                                  memory={budget})
solve = {{
    "SimpleMKL": lambda K, n: MarginWeights(memory={budget}).solve(K, machine(n)),
    "EasyMKL": lambda K, n: EasyWeights(memory={budget}).solve(K, [y[:n]]),
    "ALIGNF": lambda K, n: AlignmentWeights(memory={budget}).solve(K, y[:n, None]),
}}
solve[{method!r}](A, 50)
# measured
if {ours}:
    solve[{method!r}](operators(parts, memory=1), {n})
else:
    K = [k.dense() for k in operators(parts)]
"""


def memory(section: Section, n: int) -> None:
    folder, one = str(Path(__file__).parent), 8 * n * n
    all_of_them = peak_memory(
        PROGRAM.format(folder=folder, n=n, budget=one, method="ALIGNF", ours=False)
    )
    section.row(f"{T} matrices, n = {n:,}", "all in memory", "", "", f"{all_of_them:.0f} MB")
    for method in ("ALIGNF", "EasyMKL", "SimpleMKL"):
        peak = peak_memory(
            PROGRAM.format(folder=folder, n=n, budget=2 * one, method=method, ours=True)
        )
        share = f"{peak:.0f} MB, 1/{all_of_them / peak:.0f} (memory={2 * one / 1e6:.0f} MB)"
        section.row(f"{method}, n = {n:,}", "mercer", "", "", share)


def outer(search, X, y, splits) -> tuple[float, float, str]:
    """The share of right answers of searches that did not see the samples, and seconds."""
    right, weights, began = 0, [], time.perf_counter()
    for train, test in splits:
        rows = (lambda r: X.iloc[r]) if hasattr(X, "iloc") else (lambda r: X[r])
        model = search.fit(rows(train), y[train])
        right += int((model.predict(rows(test)) == y[test]).sum())
        best = getattr(model, "best_estimator_", model)
        weights.append(getattr(best, "weights_", [1.0]))
    mean = ", ".join(f"{w:.2f}" for w in np.mean(weights, axis=0))
    return right / sum(len(test) for _, test in splits), time.perf_counter() - began, mean


def learners(section: Section, name: str, kernels: list, X, y, splits) -> None:
    """Each kernel alone and all together; C is searched within the training samples."""
    inner = StratifiedKFold(3, shuffle=True, random_state=1)
    C = [1.0, 10.0, 100.0]
    for label, kernel in kernels:
        search = KernelSearchCV(SVC(kernel=kernel.normalised()), {"C": C}, cv=inner)
        share, seconds, _ = outer(search, X, y, splits)
        section.row(name, label, f"{share:.1%}", f"{seconds:.1f}", "")
    for method in ("average", "align", "alignf", "easy", "simple"):
        model = MultipleKernelClassifier(list(kernels), method=method, tol=1e-3)
        share, seconds, weights = outer(GridSearchCV(model, {"C": C}, cv=inner), X, y, splits)
        section.row(name, f'all, "{method}"', f"{share:.1%}", f"{seconds:.1f}", weights)


def titanic(folder: Path) -> tuple[pd.DataFrame, np.ndarray, list]:
    """Numbers, alone and together, and two columns of levels."""
    frame = pd.read_csv(folder / "categorical" / "titanic.csv")
    y = frame["survived"].to_numpy()
    numbers, levels = ["pclass", "age", "sibsp", "parch", "fare"], ["sex", "embarked"]
    values = (frame[numbers] - frame[numbers].mean()) / frame[numbers].std()
    frame = values.fillna(0).join(frame[levels].fillna("?").astype(str))
    kernels = [
        ("Match, sex", Match().on("sex")),
        ("Match, all levels", Match().on(*levels)),
        ("RBF, all numbers", RBF(1 / len(numbers)).on(*numbers)),
        *[(f"RBF, {name}", RBF(1.0).on(name)) for name in numbers],
    ]
    return frame, y, kernels


def main() -> None:
    args = options()
    section = Section(
        "weights of kernels",
        f"{T} Gaussian kernels on random columns, of which the matrices are computed within each "
        "run; median of interleaved runs. mercer keeps no matrix of a kernel (memory=1).",
        ["problem", "library", "seconds", "ratio", "result"],
    )
    n = 300 if args.quick else 1000
    easy(section, n, 3)
    alignment(section, n, 3)
    simple(section, 300, 1 if args.quick else 3)
    if not args.quick:
        simple(section, 600, 3)
    memory(section, 1000 if args.quick else 3000)
    section.finish(args.write)
    folder = data_folder()
    if folder is None:
        sys.exit("MERCER_DATA is not set: the promoters and the mixed table are left out.")
    section = Section(
        "learners of many kernels",
        "Share of right answers of 10 folds, C of 1, 10, 100 chosen within each fold; mean weights "
        "over the folds, in the order of the kernels.",
        ["data", "kernel", "right", "seconds", "weights"],
    )
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    cut = 3 if args.quick else 10
    X, y = table(folder / "strings" / "promoters.csv", "sequence", "label")
    kernels = [
        ("Spectrum(3)", Spectrum(3)),
        ("GappedKmer(6, 4)", GappedKmer(6, 4)),
        ("WeightedDegree(5, shift=2)", WeightedDegree(5, shift=2)),
    ]
    learners(section, "promoters", kernels, X, y, [*folds.split(X, y)][:cut])
    frame = pd.read_csv(
        folder / "categorical" / "credit_g.csv", keep_default_na=False, na_values=[""]
    )
    y = frame.pop("class").to_numpy()
    numbers = [c for c in frame if pd.api.types.is_numeric_dtype(frame[c])]
    levels = [c for c in frame if c not in numbers]
    frame[numbers] = (frame[numbers] - frame[numbers].mean()) / frame[numbers].std()
    kernels = [
        ("Match, all categories", Match().on(*levels)),
        ("RBF, all numbers", RBF(1 / len(numbers)).on(*numbers)),
        ("Match, account and history", Match().on(*levels[:2])),
        ("RBF, duration and amount", RBF(0.5).on(*numbers[:2])),
    ]
    together = ("product of the first two", kernels[0][1] * kernels[1][1])
    splits = [*folds.split(frame, y)][:cut]
    search = KernelSearchCV(SVC(kernel=together[1]), {"C": [1.0, 10.0, 100.0]}, cv=3)
    share, seconds, _ = outer(search, frame, y, splits)
    section.row("credit_g", together[0], f"{share:.1%}", f"{seconds:.1f}", "")
    learners(section, "credit_g", kernels, frame, y, splits)
    frame, y, kernels = titanic(folder)
    learners(section, "titanic", kernels, frame, y, [*folds.split(frame, y)][:cut])
    section.finish(args.write)


if __name__ == "__main__":
    main()
