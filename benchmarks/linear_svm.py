"""LinearSVC and LinearSVR beside scikit-learn's (LIBLINEAR): defaults, and the objective compared.

a9a and w8a need MERCER_DATA.
"""

import warnings
from functools import partial

import numpy as np
import scipy.sparse as sp
import sklearn.svm
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import ConvergenceWarning

from harness import Section, data_folder, interleaved, options
from mercer import LinearSVC, LinearSVR
from mercer.threads import count_jobs
from roofline import note_of

LONG = 20_000  # epochs for the peer, where its default of 1,000 stops far from the solution
PATIENCE = 5.0  # seconds for 1,000 of them, above which that is left out


def stored(name: str):
    """A set in svmlight format, or None without the data."""
    folder = data_folder()
    if folder is None:
        return None
    X, y = load_svmlight_file(str(folder / "numeric_clf" / f"{name}.svm.gz"))
    return as_csr(X), y


def as_csr(X):
    """CSR with the indices that LIBLINEAR takes."""
    X = sp.csr_matrix(X)
    X.sum_duplicates()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def text(n: int = 20_000, d: int = 100_000, words: int = 100):
    """Rows as of texts: words by Zipf's law, tf-idf, length 1; a tenth of the words matter."""
    rng = np.random.default_rng(0)
    share = np.cumsum(np.arange(1, d + 1) ** -0.8)
    drawn = np.searchsorted(share, share[-1] * rng.random(n * words))
    X = as_csr((np.ones(n * words), drawn, np.arange(0, n * words + 1, words)))
    X.resize(n, d)
    counts = np.bincount(X.indices, minlength=d)
    X.data = (1 + np.log(X.data)) * np.log((n + 1) / (counts[X.indices] + 1))
    X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1).A1), np.diff(X.indptr))
    f = X @ (rng.normal(size=d) * (rng.random(d) < 0.1))
    return X, f / f.std() + 0.5 * rng.normal(size=n)


def dense(n: int = 50_000, d: int = 50):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    return X, X @ w / np.sqrt(d) + 0.5 * rng.normal(size=n)


def objective(model, X, y) -> float:
    """The minimised function, C = 1 and intercept_scaling = 1."""
    w, b = np.ravel(model.coef_).astype(float), float(np.ravel(model.intercept_)[0])
    f = X @ w + b
    classes = hasattr(model, "classes_")
    r = np.maximum(1 - y * f if classes else np.abs(y - f) - model.epsilon, 0)
    return float((w @ w + b * b) / 2 + np.sum(r**2 if "squared" in model.loss else r))


def compare(section: Section, name: str, machine: str, data, loss: str, quick: bool) -> None:
    X, y = data
    given = {"loss": loss, "random_state": 0}
    if machine == "LinearSVR":
        given["epsilon"] = 0.1
    ours = {"LinearSVC": LinearSVC, "LinearSVR": LinearSVR}[machine]
    theirs = getattr(sklearn.svm, machine)
    exact = ours(**given, tol=1e-8).fit(X, y)
    least = exact.objective_ - exact.dual_gap_
    reached = (objective(theirs(**given).fit(X, y), X, y) - least) / least
    cores = count_jobs(None)
    models = {
        ("scikit-learn", "float64", 1): (theirs(**given), X),
        ("mercer", "float64", cores): (ours(**given), X),
        ("mercer", "float64", 1): (ours(**given, n_jobs=1), X),
        ("mercer", "float32", cores): (ours(**given), X.astype(np.float32)),
        ("mercer, as close", "float64", cores): (ours(**given, tol=max(100 * reached, 1e-8)), X),
    }
    runs = {key: partial(model.fit, A, y) for key, (model, A) in models.items()}
    seconds = interleaved(runs, 2 if quick else 5)
    peer = next(iter(models))
    stopped = models[peer][0].n_iter_ >= models[peer][0].max_iter
    if not quick and stopped and seconds[peer] < PATIENCE:
        key = f"scikit-learn, max_iter={LONG}", "float64", 1
        models[key] = theirs(**given, max_iter=LONG), X
        seconds |= interleaved({key: partial(models[key][0].fit, X, y)}, 1)
    for key, (model, A) in models.items():
        above = (objective(model, A, y) - least) / least
        section.row(
            name, loss, *key, f"{seconds[key]:.3f}", f"{seconds[peer] / seconds[key]:.1f}",
            model.n_iter_, f"{above:.1e}",
        )  # fmt: skip


def main() -> None:
    args = options()
    warnings.simplefilter("ignore", ConvergenceWarning)
    section = Section(
        "linear_svm",
        "Fit with the defaults and C = 1; median of interleaved runs. Above: how far the objective "
        "lies above its least value (a lower bound by the dual), relative. As close: with the tol "
        "that leaves a duality gap no larger than that of scikit-learn's objective.",
        ["problem", "loss", "library", "dtype", "threads", "seconds", "ratio", "steps", "above"],
    )
    X, f = text()
    sets = {
        "a9a, 32,561 x 123, sparse": stored("a9a"),
        "w8a, 49,749 x 300, sparse": stored("w8a"),
        "text, 20,000 x 100,000, sparse": (X, np.where(f > 0, 1.0, -1.0)),
        "dense, 50,000 x 50": (dense()[0], np.where(dense()[1] > 0, 1.0, -1.0)),
    }
    for name, data in sets.items():
        if data is None:
            section.note(f"{name.split(',')[0]}: left out; set MERCER_DATA.")
            continue
        for loss in ("hinge", "squared_hinge"):
            compare(section, name, "LinearSVC", data, loss, args.quick)
    for name, data in {"text, regression": (X, f), "dense, regression": dense()}.items():
        for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
            compare(section, name, "LinearSVR", data, loss, args.quick)
    section.note(
        "scikit-learn stops at max_iter = 1,000, and warns, with the hinge and the ε-insensitive "
        "loss but on the text."
    )
    section.note(note_of("coordinate descent"))
    section.finish(args.write)


if __name__ == "__main__":
    main()
