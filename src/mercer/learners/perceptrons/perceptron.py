"""The perceptron in the primal: w changes by the row of each mistake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.gram import Place
from mercer.kernels import Linear
from mercer.learners.base import (
    LinearLearner,
    bound_gram,
    check_flag,
    drawn_seed,
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
from mercer.samples import Samples, SamplesLike, is_number
from mercer.solvers import Reason, Result
from mercer.solvers.linear import LinearPerceptron, LinearPerceptronSolver, LinearRows
from mercer.threads import forget, ordered_map

PENALTIES = (None, "l2", "l1", "elasticnet")
STRIP = 1024  # rows whose votes are counted at a time


@estimator
class Perceptron(PerceptronClassifier, LinearLearner):
    r"""Perceptron: a linear function that is changed after each mistake

    .. math:: f(x) = \langle w, x \rangle + b, \qquad w \leftarrow w + η y x, \quad
              b \leftarrow b + η y .

    A mistake is a row with :math:`y f(x) \le 0`. If a hyperplane separates the classes, there are
    at most (R/M)² of them, in any order of the rows, where M is the margin; `margin_report`
    computes this bound. The parameters of scikit-learn's Perceptron have the same meaning here; its
    default of ``tol`` is 0.001, with which a fit can end before it separates the classes.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"}, optional
        What makes w smaller at each row; None for the plain perceptron, which
        ``combine="vote"`` needs.
    alpha : float >= 0, default=0.0001
        Factor of the penalty.
    l1_ratio : float in [0, 1], default=0.15
        Share of the l1 penalty in "elasticnet".
    n_jobs : int or None
        Threads for the machines of several classes; None means all cores.
    warm_start : bool, default=False
        Start from the weights of the last fit.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d) or (n_classes, d)
    intercept_ : ndarray of shape (1,) or (n_classes,)
        b of the last machine, or of the mean.
    t_ : float
        Number of rows that this machine visited, plus 1.

    Notes
    -----
    O(d) operations for a row. A weight of a row is a factor of its η, as in scikit-learn: weight 2
    is not exactly the row twice. Rows of weight 0 are left out. If the classes are not separable
    the fit still ends, by ``max_iter`` with a warning, or by a number in ``tol``; ``converged_`` is
    then False.

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
    warm_start: bool = False

    @finite_fit
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: ArrayLike | None = None,
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
        before = None  # (w, b) of the last fit
        if self.warm_start and self.__sklearn_is_fitted__():
            before = np.stack([machine.weights for machine in self._machines])
        forget(self)
        X, y, w = self.read_rows(X, y, sample_weight, numeric=False)
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

    @finite_fit
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        self._check_parameters()
        self._check_stream()
        known = self._machines if self.__sklearn_is_fitted__() else None
        if known is None:
            forget(self)
        X, y, w = self.read_rows(X, y, sample_weight, numeric=False, reset=known is None)
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
        """Refuse parameters out of their ranges."""
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
            epochs, tol, self.n_iter_no_change, bool(shuffle), drawn_seed(self.random_state),
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
        """Keep what was learnt in the attributes."""
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

    # --- the report -----------------------------------------------------------------------------

    def margin_report(self, X: SamplesLike, y: ArrayLike) -> MarginReport:
        check_is_fitted(self)
        X, y, w = self.read_rows(X, y, None, numeric=False, reset=False)
        K = bound_gram(Linear(), X, Place(None, self.n_jobs))
        return self._report(K, Linear(), y, w, np.linalg.norm(self._starts, axis=1))

    @finite_values
    def _outputs(self, X: Any) -> np.ndarray:
        """The outputs of the machines, or their votes."""
        X = self.new_rows(X)
        if self.combine != "vote":
            return self.values_of(X)
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


def _held_out_error(X: Samples, labels: np.ndarray) -> Callable[[np.ndarray], float]:
    def error(weights: np.ndarray) -> float:
        return float((((X @ weights[:-1]) + weights[-1] > 0) != (labels > 0)).mean())

    return error
