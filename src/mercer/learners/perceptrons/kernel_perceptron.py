"""The perceptron with any kernel, on any kind of sample."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.estimator import estimator
from mercer.gram import GramOperator
from mercer.learners.base import (
    KernelLearner,
    Training,
    check_count,
    check_targets,
    check_weights,
    drawn_seed,
    encode_classes,
    finite_fit,
    finite_values,
    join_rows,
    take_rows,
)
from mercer.learners.perceptrons.margin_report import MarginReport
from mercer.learners.perceptrons.perceptron_learner import (
    HINT,
    PerceptronClassifier,
    Votes,
    partial_classes,
)
from mercer.persistence import fields, whole
from mercer.samples import SamplesLike, plain_rows, read
from mercer.solvers import Reason
from mercer.solvers.smo import PerceptronSolver, PerceptronStates
from mercer.streams import plain_columns

STRIP = 256  # new samples whose votes are counted at a time


@estimator
@fields(support_=whole(), _kept=whole())
class KernelPerceptron(PerceptronClassifier, KernelLearner):
    r"""Perceptron with any kernel:

    .. math:: f(x) = \sum_i α_i k(x_i, x) + b .

    After each mistake, a sample with :math:`y_i f(x_i) \le 0`, :math:`α_i` += η y_i and
    b += η y_i. If the kernel's feature space has a hyperplane between the classes, there are at
    most (R/M)² mistakes, in any order; `margin_report` computes this bound. It learns from endless
    streams by `partial_fit`, with a ``budget`` in fixed memory.

    Parameters
    ----------
    budget : int, optional
        Most support vectors of each machine. Before another one is kept, the one with the smallest
        :math:`α_i^2 k(x_i, x_i)` is dropped (the oldest if several are equal); only with
        ``combine="last"``.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (machines, support)
        α of the last machines, or of their mean.
    intercept_ : ndarray of shape (machines,)
    X_fit_ : encoded samples
        The support vectors: samples of mistakes.
    support_ : ndarray of shape (support,)
        Their row numbers; only after ``fit``.
    gram_ : str
        Description of the Gram matrix.

    Notes
    -----
    f is kept for all n samples, so that a mistake costs n operations; rows of K are computed in
    blocks and kept within ``memory``. With a budget B a sample costs B values of k. The kernel of a
    stream is bound to its first samples.

    References
    ----------
    Aizerman, Braverman & Rozonoer, "Theoretical foundations of the potential function method",
    1964; Novikoff, "On convergence proofs for perceptrons", 1962; Freund & Schapire, "Large margin
    classification using the perceptron algorithm", Machine Learning 37, 1999; Crammer, Kandola &
    Singer, "Online classification on a budget", NIPS 2003.

    Examples
    --------
    >>> from mercer import KernelPerceptron
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["same", "other", "other", "same"]
    >>> model = KernelPerceptron(gamma=1.0).fit(X, y)
    >>> model.predict([[0.1, 0.9], [0.9, 0.9]]).tolist(), model.converged_
    (['other', 'same'], True)
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    gamma: Any = "scale"
    coef0: float = 0.0
    budget: Any = None

    @finite_fit
    def fit(
        self,
        X: SamplesLike,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        dual_coef_init: ArrayLike | None = None,
        intercept_init: ArrayLike | None = None,
    ) -> Self:
        """Fit to samples X and classes y, from 0 or from the given start Σ α_i k(x_i, x) + b.

        Parameters
        ----------
        X : array-like, sparse matrix or samples of the kernel's kind
            (n, n) for ``kernel="precomputed"``.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Factors of η, as in `Perceptron`.
        dual_coef_init : array-like of shape (n,) or (machines, n), optional
        intercept_init : float or array-like of shape (machines,), optional
        """
        self._check_parameters()
        training = self.make_training(X, y, sample_weight, numeric=False)
        y = column_or_1d(training.y, warn=True)
        self.classes_, _ = encode_classes(y)
        labels = self._labels(y)
        sizes = self._sizes(y, training.all_weights, labels)
        machines = self._first(training, labels.shape[1], dual_coef_init, intercept_init)
        K = self.make_gram(self.rounded(training.X))
        self._start, self._votes = machines.copied(), [Votes() for _ in machines.bias]
        self._start_lengths = _lengths(K, machines)
        # α_i += η y_i at each sample with y_i f(x_i) <= 0
        result = self._solver(K).solve(K, labels, sizes, machines, self._held_out(y))
        self._count([made[made >= 0] for made in result.mistakes.T])
        self.reason_ = result.reason.value
        self._store(machines, sizes * labels, self._raw(X, training))
        self.support_ = training.rows[self._kept]
        self.keep_support(training.X[self._kept])
        if result.reason is not Reason.LIMIT or self.tol is not None:
            result.conclude(HINT)
        return self

    @finite_fit
    def partial_fit(
        self,
        X: SamplesLike,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        self._check_parameters()
        self._check_stream()
        known = self.__sklearn_is_fitted__()
        if not known:
            training = self.make_training(X, y, sample_weight, numeric=False)
            raw = self._raw(X, training)
        else:
            training, raw = self._joined(X, y, sample_weight)
        y = column_or_1d(training.y, warn=True)
        self.classes_ = partial_classes(self.classes_ if known else None, classes, y)
        labels = self._labels(y)
        sizes = self._sizes(y, training.all_weights, labels)
        if not known:
            empty = np.zeros((labels.shape[1], 0))
            self._machines, self._start = self._zero(empty), self._zero(empty)
            self._start_lengths = np.zeros(len(empty))
            self._votes, self.mistakes_ = (
                [Votes() for _ in empty],
                [np.zeros(0, int) for _ in empty],
            )
        n = training.X.shape[0]
        old = n - len(y)  # support vectors, which come first and are not visited
        machines, self._start = self._machines.widened(n), self._start.widened(n)
        K = self.gram_between(training.X)
        self.gram_ = K.describe()
        labels, sizes = (np.pad(each, ((old, 0), (0, 0))) for each in (labels, sizes))
        result = self._solver(K).stream(K, labels, sizes, machines, np.arange(old, n))
        self._count([np.append(a, b) for a, b in zip(self.mistakes_, result.mistakes[-1])])
        self.reason_ = "one pass over the samples"
        self._store(machines, sizes * labels, raw)
        self.keep_support(training.X[self._kept])
        return self

    # --- a fit ----------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        self._check_steps()
        check_count("budget", self.budget)
        if self.budget is not None and self.combine != "last":
            raise ValueError(
                f"combine={self.combine!r} needs all earlier machines, which budget={self.budget} "
                'does not keep: give combine="last", or budget=None.'
            )

    def _solver(self, K: GramOperator) -> PerceptronSolver:
        """How the machines are trained with the rows of K."""
        rows = 4 * K.shape[0] * K.shape[1] * np.dtype(K.dtype).itemsize
        tol = self._tolerance(self.budget is None)
        return PerceptronSolver(
            self.max_iter, tol, self.n_iter_no_change, bool(self.shuffle),
            drawn_seed(self.random_state), self.budget, max(K.place.budget(rows) // 2, 1),
            self.n_jobs,
        )  # fmt: skip

    def _zero(self, alpha: np.ndarray) -> PerceptronStates:
        return PerceptronStates(
            alpha, np.zeros(len(alpha)), learns_bias=bool(self.fit_intercept),
            keeps_history=self.combine == "vote",
        )  # fmt: skip

    def _first(
        self, training: Training, count: int, dual_coef_init, intercept_init
    ) -> PerceptronStates:
        """The machines of the given start."""
        n = training.shape[0]
        machines = self._zero(np.zeros((count, len(training.rows))))
        if dual_coef_init is not None:
            given = np.asarray(dual_coef_init, np.float64)
            if given.size != count * n or not np.isfinite(given).all():
                raise ValueError(
                    f"dual_coef_init has shape {given.shape}: give finite numbers of shape "
                    f"({count}, {n}), one for each machine and row."
                )
            machines.alpha[:] = given.reshape(count, n)[:, training.rows]
        if intercept_init is not None:
            given = np.asarray(intercept_init, np.float64)
            if given.size != count or not np.isfinite(given).all():
                raise ValueError(
                    f"intercept_init has shape {given.shape}: give {count} finite numbers, one for "
                    "each machine."
                )
            machines.state[:, 0] = given.ravel()
        return machines

    def _store(self, machines: PerceptronStates, changes: np.ndarray, raw: np.ndarray) -> None:
        """Keep the support vectors: coefficients, votes and raw samples."""
        used = np.asarray(machines.alpha.any(axis=0))
        if self.combine == "average":
            used |= machines.lag.any(axis=0)
        made = [machines.mistakes_of(m) for m in range(len(machines.bias))]
        if self.combine == "vote":  # all earlier votes need the support vectors that there are
            used |= self._start.alpha.any(axis=0)
            if self.__sklearn_is_fitted__():  # those before this pass come first
                used[: len(self._kept)] = True
            used[np.concatenate([rows for rows, _, _ in made])] = True
        kept = np.flatnonzero(used) if used.any() else np.zeros(1, np.intp)
        for m, (rows, _, times) in enumerate(made):
            place, total = np.searchsorted(kept, rows), machines.state[m, 2]
            self._votes[m] = self._votes[m].then(place, changes[rows, m], times, total)
        self._kept, self._raw_support = kept, plain_columns(take_rows(raw, kept))
        self._machines, self._start = machines.taken(kept), self._start.taken(kept)
        found = machines.average() if self.combine == "average" else (machines.alpha, machines.bias)
        self.dual_coef_, self.intercept_ = found[0][:, kept], found[1].copy()

    # --- streams --------------------------------------------------------------------------------

    def _raw(self, X: SamplesLike, training: Training) -> Any:
        """The samples to join with later ones; vectors are joined as they are encoded."""
        kind = self.kernel_.reads
        if kind.pairwise:
            return training.rows
        if kind.coordinates:
            return plain_rows(training.X)
        return take_rows(read(X, kind, reader=type(self).__name__)[1], training.rows)

    def _joined(
        self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Training, Any]:
        """The support vectors and the new samples of positive weight."""
        if self.kernel_.reads.pairwise:
            raise TypeError(
                'partial_fit compares new samples with earlier ones, which kernel="precomputed" '
                "does not know: give a kernel and samples, or use fit."
            )
        encoded = self.encode_new(X)
        y = check_targets(encoded, y, type(self).__name__, numeric=False)
        w = check_weights(encoded, sample_weight)
        training = Training(encoded, y, None, np.arange(len(y)), encoded.shape)
        training = training if w is None else training.weighed(w)
        raw = joined = join_rows(self._raw_support, self._raw(X, training))
        if not self.kernel_.reads.coordinates:
            joined = self.kernel_.encode(raw, self.X_fit_)
        return training._replace(X=joined, weights=training.all_weights), raw

    # --- the report -----------------------------------------------------------------------------

    def margin_report(self, X: SamplesLike, y: Any) -> MarginReport:
        check_is_fitted(self)
        given = self.kernel_.reads.pairwise
        encoded = self.kernel_.encode(X) if given else self.encode_new(X)
        y = column_or_1d(check_targets(encoded, y, type(self).__name__, numeric=False))
        K = self.gram_between(encoded)
        return self._report(K, self.kernel_, y, np.ones(len(y)), self._start_lengths)

    @finite_values
    def _outputs(self, X: SamplesLike) -> np.ndarray:
        """The outputs of the machines, or their votes."""
        K = self.cross_gram(X)
        if self.combine != "vote":
            return np.asarray(K @ self.dual_coef_.T.astype(K.dtype) + self.intercept_)
        parts = []
        for s in range(0, K.shape[0], STRIP):
            G = K.rows(slice(s, s + STRIP)).astype(np.float64, copy=False)
            starts = G @ self._start.alpha.T + self._start.bias
            cast = [v.cast(G, self.fit_intercept, f) for v, f in zip(self._votes, starts.T)]
            parts.append(np.stack(cast, axis=1))
        return np.concatenate(parts)


def _lengths(K: GramOperator, machines: PerceptronStates) -> np.ndarray:
    """|w| of machines, with b as one of its entries."""
    squares = np.zeros(len(machines.bias))
    if machines.alpha.any():
        squares = np.einsum("mi,im->m", machines.alpha, K @ machines.alpha.T.astype(K.dtype))
    return np.sqrt(np.maximum(squares, 0) + machines.bias**2)
