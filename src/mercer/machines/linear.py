"""Simple models as machines: the constant, and models that are linear in explicit features.

They are what a kernel machine has to beat, and the model that is kept where none does. Each is a
kernel machine too: a linear model f(x) = w · φ(x) + b with a penalty on w has w = Σᵢ βᵢ φ(xᵢ), with
the residuals of the training rows in β, so its predictions have reasons as those of others have.
Of the lasso this holds for the features times √|wⱼ|, since it is a ridge with these penalties.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LassoCV, LogisticRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import ComplementNB
from sklearn.pipeline import Pipeline

from mercer.distances import dense_rows
from mercer.learners.margin import LinearSVC
from mercer.machines.candidates import Recipe, explicit_features
from mercer.machines.machines import Machine
from mercer.machines.tasks import Task
from mercer.persistence import fields, whole
from mercer.samples import Samples
from mercer.spoken import spoken
from mercer.threads import blas_threads, raise_if_stopped

KEPT_COLUMNS = (3, 10, 30, 100)  # features of a sparse model of classes
SPARSE_VALUES = 2_000_000  # of the rows that a sparse model is fitted to
ALPHAS = np.logspace(-3, 3, 7)
COST = 1.0  # C of a logistic regression
MOST_ROWS = 20_000  # that a simple model is fitted to
FEWEST = 5  # of fewer rows, or of one class, there is no other model than the constant
WORK = 3e10  # products of a value and a coefficient in all steps of a logistic regression
STEPS = (10, 300)  # of it, at least and at most
MANY_FEATURES = 1000  # leave-one-out takes their cube, conjugate gradients do not
AT_ONCE = 16_384  # rows whose features are computed at once
LEAST = 1e-12  # probability of a class that the rows of a fit lack


@dataclass
class LinearModel:
    """A fitted linear model, by its coefficients and by those of its rows."""

    kernel_: Any  # a `TableKernel` whose parts have explicit features
    X_fit_: Any  # the rows of the fit, as the kernel reads them
    coef_: np.ndarray | None  # of the features, (p, outputs); None of a constant
    intercept_: np.ndarray  # (outputs,)
    dual_coef_: np.ndarray  # of the rows, (n, outputs)
    scale_: np.ndarray  # squared factor of each feature in the kernel that `dual_coef_` belongs to

    def encode_new(self, M: Samples) -> Any:
        """New rows, as the kernel reads them."""
        return self.kernel_.encode(M, like=self.X_fit_)


@dataclass
@fields(rows=whole())
class LinearMachine(Machine):
    """A constant, ridge, lasso or logistic regression on explicit features."""

    learner: LinearModel
    finish: Any
    penalty: float
    machine: str  # "constant", "linear" or "sparse", or one of classes on sparse features
    rows: np.ndarray  # of the rows of the fit, those that it has read
    words: str  # what it is

    def outputs(self, M: Samples) -> np.ndarray:
        model = self.learner
        n = M.shape[0]
        found = np.tile(model.intercept_, (n, 1))
        for start in range(0, n if model.coef_ is not None else 0, AT_ONCE):
            raise_if_stopped()
            some = slice(start, start + AT_ONCE)
            found[some] += self._features(M[some]) @ model.coef_
        return found

    def _features(self, M: Samples) -> Any:
        return explicit_features(self.learner.kernel_, self.learner.encode_new(M))

    def again(self, share: float = 1.0) -> Recipe:
        return Recipe(self.machine)

    @property
    def stored(self) -> np.ndarray:
        return self.rows

    def contributions(self, M: Samples, outputs: np.ndarray) -> np.ndarray:
        model = self.learner
        if model.coef_ is None:
            return np.zeros((M.shape[0], len(self.rows)))
        used = np.flatnonzero(model.scale_)
        near = explicit_features(model.kernel_, model.X_fit_)[:, used]
        K = self._features(M)[:, used] * model.scale_[used] @ near.T
        return dense_rows(K) * model.dual_coef_[:, outputs].T

    @property
    def description(self) -> str:
        return self.words


class Fitted(NamedTuple):
    """What a fit to explicit features has found."""

    coef: np.ndarray  # (p, outputs)
    intercept: np.ndarray  # (outputs,)
    dual: np.ndarray  # (n, outputs)
    scale: np.ndarray  # (p,)
    penalty: float
    words: str = ""


def fit_linear(
    machine: str, task: Task, kernel: Any, M: Any, y: np.ndarray, weights: Any = None
) -> LinearMachine:
    """Fit a simple model to rows of an encoded table.

    Parameters
    ----------
    machine : {"constant", "linear", "sparse"}
        The shares of the classes or the mean; logistic or ridge regression on all features; or the
        lasso, and for classes logistic regression on the 3 to 100 features with the largest F
        values. Of more than 20,000 rows it reads 20,000, which fix its coefficients well enough.
    kernel : TableKernel
        A sum of kernels with explicit features; it is bound to the rows if it is not yet.
    """
    rows, most = np.arange(len(y)), MOST_ROWS
    if machine == "sparse":
        most = min(most, max(1000, SPARSE_VALUES // len(kernel.parts)))
    if len(y) > most:
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[:most])
        M, y, weights = M[rows], y[rows], None if weights is None else weights[rows]
    X = kernel.encode(M)
    kernel = kernel.bind(X)
    w = np.ones(len(y)) if weights is None else np.asarray(weights, np.float64)
    if machine == "constant" or len(y) < FEWEST or np.all(y == y[0]):
        return _constant(machine, task, kernel, X, y, w, rows)
    F = explicit_features(kernel, X)
    # the matrices are small: several threads of BLAS would wait for each other
    with warnings.catch_warnings(), blas_threads(1):
        # of convergence, of constant columns, of classes of one row
        warnings.simplefilter("ignore")
        how = _HOW[machine, task.name]
        found = how(F, task.targets(y) if task.classes is None else task.strata(y), w)
    finish = task.plain()
    if task.classes is None:  # means on the target's own scale
        finish = task.calibrate(F @ found.coef + found.intercept, y, weights)
    coef, intercept, dual = of_all_classes(found, task, y)
    learner = LinearModel(kernel, X, coef, intercept, dual, found.scale)
    words = f"{found.words} on {F.shape[1]:,} features"
    return LinearMachine(learner, finish, found.penalty, machine, rows, words)


def _constant(machine, task, kernel, X, y, w, rows) -> LinearMachine:
    """A machine that gives every row the same prediction."""
    if task.classes is None:
        means = task.targets(np.average(y, axis=0, weights=w, keepdims=True))[0]
        words = "the mean of the target"
    else:
        shares = np.bincount(task.strata(y), weights=w, minlength=len(task.classes)) / w.sum()
        means, words = np.log(np.maximum(shares, LEAST)), "the shares of the classes"
    dual = np.zeros((len(y), len(means)))
    learner = LinearModel(kernel, X, None, means, dual, np.zeros(0))
    return LinearMachine(learner, task.plain(), 0.0, machine, rows, words)


def of_all_classes(found: Fitted, task: Task, y: np.ndarray) -> tuple:
    """Coefficients for all classes of the task; one that the rows lack is most unlikely."""
    if task.classes is None:
        return found.coef, found.intercept, found.dual
    met, k = np.unique(task.strata(y)), len(task.classes)
    coef, dual = (np.zeros((len(a), k)) for a in (found.coef, found.dual))
    coef[:, met], dual[:, met] = found.coef, found.dual
    intercept = np.full(k, found.intercept.min() + np.log(LEAST))
    intercept[met] = found.intercept
    return coef, intercept, dual


def _ridge(F: np.ndarray, Y: np.ndarray, w: np.ndarray) -> Fitted:
    """Ridge regression, with the penalty that left-out rows choose."""
    y = Y[:, 0] if Y.shape[1] == 1 else Y
    tried = np.multiply(ALPHAS, w.mean())  # a factor of all weights changes nothing
    if F.shape[1] < MANY_FEATURES:
        learner: Any = RidgeCV(alphas=tried).fit(F, y, w)
        best, alpha = learner, float(learner.alpha_)
    else:
        alpha = float(min(tried, key=partial(_left_out_loss, F, y, w)))
        best = Ridge(alpha=alpha, solver="sparse_cg").fit(F, y, w)
    dual = w[:, None] * (Y - best.predict(F).reshape(Y.shape)) / alpha
    return Fitted(
        np.atleast_2d(best.coef_).T, np.atleast_1d(best.intercept_), dual, np.ones(F.shape[1]),
        alpha, f"ridge regression, penalty {spoken(alpha)},",
    )  # fmt: skip


def _left_out_loss(F: Any, y: np.ndarray, w: np.ndarray, alpha: float) -> float:
    """The mean squared error of ridge in three folds; a fit may take a second, so that each of them
    can be stopped."""
    losses = []
    for train, test in KFold(3).split(F):
        raise_if_stopped()
        learner = Ridge(alpha=alpha, solver="sparse_cg").fit(F[train], y[train], w[train])
        squares = (y[test] - learner.predict(F[test])).reshape(len(test), -1) ** 2
        losses.append(np.average(squares.mean(axis=1), weights=w[test]))
    return float(np.mean(losses))


def fit_logistic(F: np.ndarray, y: np.ndarray, w: np.ndarray, C: float = COST) -> Fitted:
    """Logistic regression on the features of rows of classes y."""
    learner = LogisticRegression(C=C / w.mean(), max_iter=_steps(F, y)).fit(F, y, w)
    words = f"logistic regression, C = {C:g},"
    return _of_classes(learner, F, y, w, np.arange(F.shape[1]), words)


def _lasso(F: Any, Y: np.ndarray, w: np.ndarray) -> Fitted:
    """The lasso, with the penalty that folds choose."""
    F, y = dense_rows(F), Y[:, 0]
    learner = LassoCV(cv=3, eps=0.01, max_iter=500, tol=1e-3).fit(F, y, w)
    coef = learner.coef_
    dual = w * (y - learner.predict(F)) / (w.sum() * learner.alpha_)
    words = f"lasso, {np.count_nonzero(coef)} of them, penalty {spoken(learner.alpha_)},"
    return Fitted(
        coef[:, None], np.array([learner.intercept_]), dual[:, None], np.abs(coef),
        float(learner.alpha_), words,
    )  # fmt: skip


def _few(F: Any, y: np.ndarray, w: np.ndarray) -> Fitted:
    """Logistic regression on so many columns as folds choose."""
    F, w = dense_rows(F), w / w.mean()
    few = Pipeline([("few", SelectKBest(f_classif)), ("learner", LogisticRegression(max_iter=300))])
    counts = sorted({min(k, F.shape[1]) for k in KEPT_COLUMNS})
    found = GridSearchCV(few, {"few__k": counts}, cv=3).fit(F, y, learner__sample_weight=w)
    best: Any = found.best_estimator_
    kept = np.flatnonzero(best["few"].get_support())
    return _of_classes(best["learner"], F, y, w, kept, f"logistic regression, {len(kept)} kept,")


def _of_classes(learner: Any, F: np.ndarray, y, w, kept: np.ndarray, words: str) -> Fitted:
    """A logistic regression on some of the features; of two classes each has half of the odds."""
    some = F if len(kept) == F.shape[1] else F[:, kept]
    residuals = w[:, None] * ((y[:, None] == learner.classes_) - learner.predict_proba(some))
    coef, intercept = learner.coef_.T, learner.intercept_
    dual = learner.C * residuals
    if len(learner.classes_) == 2:
        coef, intercept = np.hstack([-coef, coef]) / 2, np.repeat(intercept, 2) * [-0.5, 0.5]
        dual = dual / 2
    whole, scale = np.zeros((F.shape[1], coef.shape[1])), np.zeros(F.shape[1])
    whole[kept], scale[kept] = coef, 1.0
    return Fitted(whole, intercept, dual, scale, learner.C, words)


def _steps(F: Any, y: np.ndarray) -> int:
    """Steps of a logistic regression, of a thousand classes no more than take some seconds."""
    values = F.nnz if sp.issparse(F) else F.size
    return int(np.clip(WORK / (values * len(np.unique(y))), *STEPS))


_HOW = {
    ("linear", "classification"): fit_logistic, ("linear", "regression"): _ridge,
    ("sparse", "classification"): _few, ("sparse", "regression"): _lasso,
}  # fmt: skip


TOLERANCE = 1e-2  # of the support vector machine


def fit_margins(F: Any, y: np.ndarray, w: np.ndarray, C: float) -> Fitted:
    """One linear support vector machine against the rest for each class, with squared losses."""
    learner = LinearSVC(C=C, tol=TOLERANCE, random_state=0).fit(F, y, w)
    coef, intercept = learner.coef_.T, learner.intercept_
    if len(learner.classes_) == 2:
        coef, intercept = np.hstack([-coef, coef]), np.concatenate([-intercept, intercept])
    signs = np.where(y[:, None] == learner.classes_, 1.0, -1.0)
    beyond = np.maximum(0, 1 - signs * (F @ coef + intercept))
    dual = 2 * C * w[:, None] * signs * beyond  # where the derivative of the objective is 0
    return Fitted(coef, intercept, dual, np.ones(F.shape[1]), C)


def fit_bayes(F: Any, y: np.ndarray, w: np.ndarray, alpha: float) -> Fitted:
    """Complement naive Bayes, whose counts have ``alpha`` added.

    A row adds to the output of its class, in first order, the products of its values and those of
    the new row divided by how often each part occurs.
    """
    learner = ComplementNB(alpha=alpha).fit(F, y, w)
    k = len(learner.classes_)
    dual = w[:, None] * ((y[:, None] == learner.classes_) - 1 / k)
    scale = 1 / (learner.feature_all_ + alpha)
    return Fitted(learner.feature_log_prob_.T, np.zeros(k), dual, scale, alpha)


def fit_centroids(F: Any, y: np.ndarray, w: np.ndarray, share: float) -> Fitted:
    """Nearest shrunken centroids of the classes, by distances in units of the spread within these.

    What a centroid differs by from the mean of all rows becomes less by ``share`` of the largest
    difference, both in standard errors, so that features that tell nothing take no part (Tibshirani
    et al., PNAS 2002). A row adds to the outputs in first order, as with `fit_bayes`. O(n p).
    """
    own = (y[:, None] == np.unique(y)) * w[:, None]
    sizes, total, mean = own.sum(axis=0), w.sum(), w @ F / w.sum()
    dual = own / sizes - w[:, None] / total
    away = (F.T @ dual).T  # (k, p)
    spread = np.sqrt(np.maximum((w @ F**2 - sizes @ (mean + away) ** 2) / total, 0))
    spread += spread.mean() or 1.0  # else what is the same in each class would tell all
    far = np.abs(away / spread) / np.sqrt(1 / sizes - 1 / total)[:, None]
    kept = away * np.maximum(far - share * far.max(), 0) / np.where(far > 0, far, 1)
    coef, intercept = (kept / spread**2).T, -np.sum(kept * (mean + kept / 2) / spread**2, axis=1)
    size = np.std(F @ coef + intercept) or 1.0  # which calibration finds again
    norms = np.sqrt(np.square(away).sum(axis=0))
    scale = np.sqrt(np.square(kept).sum(axis=0)) / np.where(norms > 0, norms, 1) / spread**2
    return Fitted(coef / size, intercept / size, dual, scale / size, share)


#: machine -> how it is fitted with a setting, and the settings it chooses from
SPARSE_CLASSES = {
    "margins": (fit_margins, (1.0,)),
    "bayes": (fit_bayes, (0.1, 0.3, 1.0)),
    # on some splits of 45 rows of 7,000 columns 0.8 is chosen, which leaves too few of ten columns
    "centroids": (fit_centroids, (0.0, 0.1, 0.2, 0.35, 0.5)),
    # of unit vectors; on 8 splits of 200 vectors of 768 numbers .821, .858, .867 right
    "logistic": (fit_logistic, (1.0, 10.0, 100.0)),
}
#: machine -> what it is in words
IN_WORDS = {
    "margins": "linear support vector machine, C = {:g},",
    "bayes": "complement naive Bayes, {:g} added to each count,",
    "centroids": "nearest centroids, shrunken by {:g} of the largest difference,",
    "logistic": "logistic regression, C = {:g},",
}
