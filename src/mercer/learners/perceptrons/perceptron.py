"""The perceptron in the primal: w changes by the row of each mistake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from mercer.estimator import estimator
from mercer.kernels import Linear
from mercer.learners.base import (
    Placed,
    check_flag,
    check_targets,
    check_weights,
    encode_classes,
    finite_fit,
    finite_values,
    join_rows,
)
from mercer.learners.perceptrons.margin_report import MarginReport
from mercer.learners.perceptrons.perceptron_learner import (
    HINT,
    PerceptronClassifier,
    Votes,
    partial_classes,
)
from mercer.samples import is_number
from mercer.solvers import Reason, Result
from mercer.solvers.linear import LinearPerceptron, LinearPerceptronSolver, LinearRows
from mercer.threads import fitting, forget, ordered_map

FLOATS = [np.float64, np.float32]
PENALTIES = (None, "l2", "l1", "elasticnet")
STRIP = 1024  # rows whose votes are counted at a time


@estimator
class Perceptron(PerceptronClassifier, Placed, BaseEstimator):
    r"""Perceptron: f(x) = ⟨w, x⟩ + b, changed after each mistake by w += η y x, b += η y.

    A mistake is a row with :math:`y f(x) \le 0`. If a hyperplane separates the classes, there are
    at most (R/γ)² of them, in any order of the rows; `margin_report` computes this bound. The
    parameters of scikit-learn's Perceptron mean what they mean there; its default of ``tol`` is
    0.001, with which a fit can end before it separates the classes.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"}, optional
        What makes w smaller at each row; None for the plain perceptron.
    alpha : float >= 0, default=0.0001
        Factor of the penalty.
    l1_ratio : float in [0, 1], default=0.15
        Share of the l1 penalty in "elasticnet".
    n_jobs : int or None
        Threads for the machines of several classes; None means all cores.
    warm_start : bool, default=False
        Start from the weights of the last fit.
    combine : {"last", "average", "vote"}, default="last"
        What predicts: the last machine, the mean of the machines after each row, or all of them,
        each with as many votes as rows were visited with it (which keeps the rows of mistakes, and
        takes no penalty).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, d) or (n_classes, d)
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Of the last machine, or of the mean.
    mistakes_ : list of ndarray
        Mistakes of each machine in each of its epochs.
    converged_ : bool
        Whether an epoch of each machine had no mistakes.
    reason_ : str
        Why the fit stopped.
    n_iter_ : int
        Epochs, of the machine with most.
    t_ : float
        Rows visited by the machine with most, plus 1.

    Notes
    -----
    O(d) operations for a row. A weight of a row is a factor of its η, as in scikit-learn: weight 2
    is not quite the row twice. Rows of weight 0 are left out. If the classes are not separable the
    fit ends by ``max_iter`` with a warning, or by a number in ``tol``: ``converged_`` is False.

    References
    ----------
    Rosenblatt, "The perceptron", Psychological Review 65, 1958; Novikoff, "On convergence proofs
    for perceptrons", 1962; Freund & Schapire, "Large margin classification using the perceptron
    algorithm", Machine Learning 37, 1999.

    Examples
    --------
    >>> from mercer import Perceptron
    >>> X, y = [[-1.0], [-2.0], [1.0], [2.0]], ["no", "no", "yes", "yes"]
    >>> model = Perceptron().fit(X, y)
    >>> model.predict([[-0.5], [3.0]]).tolist(), model.converged_
    (['no', 'yes'], True)
    """

    _: KW_ONLY
    penalty: Any = None
    alpha: Any = 0.0001
    l1_ratio: float = 0.15
    fit_intercept: bool = True
    max_iter: int = 1000
    tol: Any = "auto"
    shuffle: bool = True
    verbose: Any = 0
    eta0: float = 1.0
    n_jobs: int | None = None
    random_state: Any = 0
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 5
    class_weight: Any = None
    warm_start: bool = False
    combine: str = "last"

    @fitting
    @finite_fit
    def fit(
        self,
        X: Any,
        y: Any,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Fit to rows X and classes y, from 0 or from the given start.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        coef_init : array-like of shape (d,), (1, d) or (n_classes, d), optional
        intercept_init : float or array-like of shape (1,) or (n_classes,), optional
        sample_weight : array-like of shape (n,), optional
            Factors of η.

        Raises
        ------
        ValueError
            A parameter is out of range, y has only one class, or X, y and the weights do not match.
        """
        self._check_parameters()
        before = self._before() if self.warm_start else None
        forget(self)
        X, y, w = self._rows(X, y, sample_weight, reset=True)
        self.classes_, _ = encode_classes(y)
        labels = self._labels(y)
        starts = self._first(labels.shape[1], X.shape[1], before, coef_init, intercept_init)
        self._starts, self._voters = starts, []
        machines = [self._machine(start) for start in starts]
        held_out = self._held_out(y)
        reasons = self._run(
            machines, X, y, w, labels, held_out, epochs=self.max_iter, shuffle=self.shuffle
        )
        last = next((r for r in (Reason.LIMIT, Reason.UNCHANGED) if r in reasons), Reason.CONVERGED)
        self._store(machines, X, last.value)
        if last is Reason.LIMIT and self.tol is not None:
            self._warn(machines)
        return self

    @fitting
    @finite_fit
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Visit the rows once, in their order; the first call names all classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        classes : array-like, optional
            All classes; needed in the first call.
        sample_weight : array-like of shape (n,), optional
        """
        self._check_parameters()
        self._check_stream()
        known = self._machines if self.__sklearn_is_fitted__() else None
        if known is None:
            forget(self)
        X, y, w = self._rows(X, y, sample_weight, reset=known is None)
        found = partial_classes(None if known is None else self.classes_, classes, y)
        self.classes_ = found
        labels = self._labels(y)
        if known is None:
            self._starts, self._voters = np.zeros((labels.shape[1], X.shape[1] + 1)), []
            known = [self._machine(start) for start in self._starts]
        self._run(known, X, y, w, labels, None, epochs=1, shuffle=False)
        self._store(known, X, "one pass over the rows")
        return self

    # --- a fit ----------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        self._check_steps()
        check_flag("warm_start", self.warm_start)
        if self.penalty not in PENALTIES:
            raise ValueError(f"penalty={self.penalty!r}: give one of {list(PENALTIES)}.")
        for name, most in (("alpha", np.inf), ("l1_ratio", 1)):
            value: Any = getattr(self, name)
            if not (is_number(value) and 0 <= value <= most and value < np.inf):
                below = f" and <= {most}" if most < np.inf else ""
                raise ValueError(f"{name}={value!r}: give a finite number >= 0{below}.")
        if self.penalty is not None and self.combine == "vote":
            raise ValueError(
                f'penalty={self.penalty!r} changes w at each row: give combine="average", or '
                "penalty=None."
            )

    def _rows(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple:
        """Rows of positive weight, their classes and their weights."""
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, order="C", reset=reset)
        y = check_targets(X, y, type(self).__name__, numeric=False)
        y, w = column_or_1d(y, warn=True), check_weights(X, sample_weight)
        if sp.issparse(X) and not X.has_canonical_format:
            X = X.copy()  # do not change the caller's matrix
            X.sum_duplicates()
        if w is not None and not w.all():
            kept = np.flatnonzero(w)
            X, y, w = X[kept], y[kept], w[kept]
        return X, y, np.ones(X.shape[0]) if w is None else w

    def _before(self) -> np.ndarray | None:
        """(w, b) of the last fit."""
        if not self.__sklearn_is_fitted__():
            return None
        return np.stack([machine.weights for machine in self._machines])

    def _first(self, count, d, before, coef_init, intercept_init) -> np.ndarray:
        """(w, b) of each machine at first, (machines, d + 1)."""
        starts = np.zeros((count, d + 1))
        if before is not None and before.shape == starts.shape:
            starts = before
        for name, value, part in (
            ("coef_init", coef_init, starts[:, :-1]),
            ("intercept_init", intercept_init, starts[:, -1]),
        ):
            if value is None:
                continue
            given = np.asarray(value, np.float64)
            if given.size != part.size or not np.isfinite(given).all():
                raise ValueError(
                    f"{name} has shape {given.shape}: give finite numbers of shape {part.shape}, "
                    "one for each machine."
                )
            part[:] = given.reshape(part.shape)
        return starts

    def _machine(self, start: np.ndarray) -> LinearPerceptron:
        lag = np.zeros_like(start) if self.combine == "average" else None
        return LinearPerceptron(start.copy(), lag)

    def _run(
        self, machines, X, y, w, labels, held_out, *, epochs: int, shuffle: bool
    ) -> list[Reason]:
        """Let the machines visit the rows; why each stopped."""
        rows, sizes = LinearRows(X, 0.0, 1), self._sizes(y, w, labels)
        every = np.arange(len(y))
        visited = every if held_out is None else np.setdiff1d(every, held_out)
        ratio = {None: 0.0, "l2": 0.0, "l1": 1.0, "elasticnet": self.l1_ratio}[self.penalty]
        strength = 0.0 if self.penalty is None else float(self.eta0) * self.alpha
        tol = self._tolerance(self.penalty is None)
        solver = LinearPerceptronSolver(
            epochs, tol, self.n_iter_no_change, bool(shuffle), self._seed(),
            bool(self.fit_intercept), max(0.0, 1 - (1 - ratio) * strength), ratio * strength,
            self.combine == "vote",
        )  # fmt: skip

        def run(m: int) -> Reason:
            label, error = np.ascontiguousarray(labels[:, m]), None
            if held_out is not None:
                error = _held_out_error(X[held_out], label[held_out])
            machines[m].history.clear()
            own = np.ascontiguousarray(sizes[:, m])
            return solver.run(rows, label, own, visited, machines[m], error)

        reasons = list(ordered_map(run, range(len(machines)), self.n_jobs))
        if self.combine == "vote":
            self._keep_votes(machines, X, labels, sizes)
        return reasons

    def _keep_votes(self, machines, X, labels, sizes) -> None:
        """Append the changes of this run to the votes, and their rows to those that are kept."""
        parts = [[np.concatenate(part) for part in zip(*machine.history)] for machine in machines]
        used = np.unique(np.concatenate([rows for rows, _ in parts]))
        kept, votes = self._voters or (X[:0], [Votes()] * len(machines))
        first = kept.shape[0]
        for m, (rows, times) in enumerate(parts):
            place, change = first + np.searchsorted(used, rows), sizes[rows, m] * labels[rows, m]
            votes[m] = votes[m].then(place, change, times, machines[m].state[2])
        self._voters = [join_rows(kept, X[used]), votes]

    def _store(self, machines: list[LinearPerceptron], X: Any, reason: str) -> None:
        found = [m.average if self.combine == "average" else m.weights for m in machines]
        W = np.stack(found)
        self.intercept_ = W[:, -1].astype(X.dtype)
        self._count([np.array(m.mistakes) for m in machines])
        self.reason_ = reason
        self.t_ = max(m.state[2] for m in machines) + 1
        self._machines = machines
        self.coef_ = W[:, :-1].astype(X.dtype)

    def _warn(self, machines: list[LinearPerceptron]) -> None:
        Result(
            self.coef_, gap=float(sum(m.mistakes[-1] for m in machines)), iterations=self.n_iter_,
            converged=False, reason=Reason.LIMIT, solver="The perceptron",
            certificate="number of mistakes in the last epoch",
        ).conclude(HINT)  # fmt: skip

    # --- what it knows --------------------------------------------------------------------------

    def margin_report(self, X: Any, y: Any) -> MarginReport:
        """The bound on the mistakes, the best margin that it rests on, and the mistakes made.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The rows of the fit.
        y : array-like of shape (n,)
        """
        check_is_fitted(self)
        X, y, w = self._rows(X, y, None, reset=False)
        K = self.gram_of(Linear(), X)
        return self._report(K, y, w, np.linalg.norm(self._starts, axis=1))

    def __sklearn_is_fitted__(self) -> bool:
        return "coef_" in vars(self)

    @finite_values
    def _outputs(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        if self.combine != "vote":
            return safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        kept, votes = self._voters
        strips = []
        for s in range(0, X.shape[0], STRIP):
            part = X[s : s + STRIP]
            G = safe_sparse_dot(part, kept.T, dense_output=True)
            starts = part @ self._starts[:, :-1].T + self._starts[:, -1]
            strips.append(
                [v.cast(G, self.fit_intercept, starts[:, m]) for m, v in enumerate(votes)]
            )
        return np.concatenate([np.stack(strip, axis=1) for strip in strips])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _held_out_error(X: Any, labels: np.ndarray) -> Callable[[np.ndarray], float]:
    def error(weights: np.ndarray) -> float:
        return float((((X @ weights[:-1]) + weights[-1] > 0) != (labels > 0)).mean())

    return error
