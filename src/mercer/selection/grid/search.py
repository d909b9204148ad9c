"""Search a grid of parameters by cross-validation; kernel learners share their work.

`KernelSearchCV` has the interface, scoring, results and errors of scikit-learn's GridSearchCV. The
difference: the fits of kernel learners come from a `Plan` (plan.py), which computes them together.
GridSearchCV itself runs the search, on row numbers instead of samples (runs.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable

from mercer.gram import Place
from mercer.kernels import Kernel
from mercer.learners.base import KernelLearner, check_squares
from mercer.samples import Samples, SamplesLike, accepted, check_format, kind_named
from mercer.selection.grid.plan import Plan, Sharing
from mercer.selection.grid.runs import (
    Elsewhere,
    FoldByFold,
    NotShared,
    SearchTask,
    TaskFindings,
    Together,
    merged,
)
from mercer.selection.grid.sharing import key_of
from mercer.threads import fitting

TRIED = 2  # folds that all candidates get before hopeless candidates are given up


class KernelSearchCV(GridSearchCV):
    """Exhaustive search over parameters of a kernel learner, with GridSearchCV's scores.

    Distances are computed once per data set. All penalties and folds use one Gram matrix. Ridge
    regressions share their factorisations for all ``alpha``, and support vector machines start
    from the solution for the last ``C``. With ``cv=LeaveOneOut()`` and a kernel of fixed parameters
    `SVC` and `SVR` answer for each row from one fit. Candidates that cannot share are evaluated as
    GridSearchCV does: see ``sharing_``.

    Parameters
    ----------
    estimator : estimator
        A kernel learner of Mercer, or a Pipeline that ends in one. If the other steps of the
        Pipeline have no parameters in the grid, they are fitted once in each fold, and the learners
        share their work within the fold. Any other estimator is searched as GridSearchCV does.
    param_grid : dict or list of dicts
        Parameter -> values; nested names such as ``kernel__gamma`` are allowed.
    scoring, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As in `sklearn.model_selection.GridSearchCV`. Work is shared for names of scorers and for
        scorers of ``make_scorer``. It is not shared for other functions of an estimator and
        samples, because they may look at the samples.
    n_jobs : int or None
        Threads that compute matrices; None means all cores. If work is not shared, processes are
        used, and None means one.
    early_stopping : bool, default=False
        Give up hopeless candidates after two folds: those whose best fold is worse than the worst
        fold of the best candidate. They are not fitted to the other folds; ``given_up`` in
        ``cv_results_`` marks them, their means are over two folds, and they rank after all others.
        Needs one metric, or the name of a metric in ``refit``.
    memory : int, str or None
        Clock of the shared matrices in bytes or as "4GB"; None means half of the free memory.

    Attributes
    ----------
    cv_results_, best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_,
    refit_time_, multimetric_, classes_, n_features_in_, feature_names_in_
        As in GridSearchCV. The time of a fit is its part of the time of all fits that share work.
    sharing_ : list of Sharing
        For each group of candidates, what they share, or why they share nothing.

    Notes
    -----
    Scores equal GridSearchCV's: to 1e-6 for ridge regression in float64, and to the tolerance of
    the solver for support vector machines, which have other starting points. The best model is
    fitted again to all samples. After an interrupt (Ctrl-C) the search has no fitted attributes.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> grid = {"gamma": [0.01, 1.0], "alpha": [1e-3, 1e-1, 10.0]}
    >>> search = KernelSearchCV(KernelRidge(kernel="rbf"), grid).fit(X, np.sin(X[:, 0]))
    >>> search.best_params_
    {'alpha': 0.001, 'gamma': 1.0}
    >>> print(search.sharing_[0])
    candidates 0, 2, 4 of RBF(gamma=0.01): one Gram matrix from shared distances, fits along alpha
    """

    sharing_: list[Sharing]

    def __init__(
        self,
        estimator,
        param_grid,
        *,
        scoring=None,
        n_jobs=None,
        refit=True,
        cv=None,
        verbose=0,
        pre_dispatch="2*n_jobs",
        error_score=np.nan,
        return_train_score=False,
        early_stopping=False,
        memory=None,
    ):
        super().__init__(
            estimator,
            param_grid,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.early_stopping = early_stopping
        self.memory = memory

    @fitting
    def fit(self, X: SamplesLike, y: ArrayLike | None = None, **params: object) -> KernelSearchCV:
        """Search the grid, and fit the best model to all samples.

        Parameters
        ----------
        X : samples of the estimator's kind
        y : array-like, optional
        **params
            ``groups`` for the splitter; others such as ``sample_weight`` for ``fit``. Those with a
            value for each row are split like X.

        Raises
        ------
        ValueError
            The grid is empty or has an unknown parameter; also all errors of GridSearchCV.
        """
        return self._fit(X, y, params, None)

    @fitting
    def fit_elsewhere(
        self, execute: Callable[[list[SearchTask]], list[TaskFindings]], X: Any, y: Any = None,
        **params: object,
    ) -> KernelSearchCV:  # fmt: skip
        """Search the grid by tasks that ``execute`` does, in other processes for example.

        Parameters
        ----------
        execute : callable
            Takes a list of tasks, and returns what `mercer.selection.grid.try_task` finds for each.
            A task is one fold, and candidates that can share work in it.
        X, y, **params
            They are as in `fit`.
        """
        return self._fit(X, y, params, execute)

    def _fit(self, X: Any, y: Any, params: dict, execute: Callable | None) -> KernelSearchCV:
        """Fit all candidates to all folds, together where they can share a matrix."""
        check_format(X)
        candidates = list(ParameterGrid(self.param_grid))
        if not candidates:
            raise ValueError(
                "param_grid is empty: give a dict of parameter -> list of values, or a list of "
                "such dicts."
            )
        # raise errors for unknown names before any work
        models = [self._candidate(parameters) for parameters in candidates]
        budget = Place(self.memory).budget()
        self._check_early_stopping()
        self._get_scorers()  # raises an error too if several metrics need a refit=
        fit_params = {name: value for name, value in params.items() if name != "groups"}
        if isinstance(models[0], KernelLearner):
            kernel = models[0].kernel
            kind = kernel.kind if isinstance(kernel, Kernel) else "vectors"
            X = accepted(X, kind_named(kind), type(self).__name__)
        X, y = indexable(X, y)
        if y is not None and self.scoring is None and is_regressor(self.estimator):
            numbers = np.asarray(y)
            check_squares(numbers if numbers.dtype.kind == "f" else np.empty(0))
        cv: Any = self.cv
        cv = check_cv(cv, y, classifier=is_classifier(self.estimator))
        reason = self._why_plain(fit_params)
        if execute is not None:
            groups = [[i] for i in range(len(models))] if reason else self._alike(models)
            splits: Any = list(cv.split(X, y, params.get("groups")))
            runs: Any = Elsewhere(self, groups, splits, execute)
            self._search(runs, candidates)
            reason = ""
        elif not reason:
            splits = list(cv.split(X, y, params.get("groups")))
            cv = check_cv(splits)
            try:
                runs = self._runs(models, X, y, fit_params, splits, budget)
                try:
                    self._search(runs, candidates)
                finally:
                    runs.close()
            except NotShared as error:  # without sharing, each fit will raise the same error
                reason = str(error)
        if reason:
            self._fit_plainly(X, y, params, cv)
            self.sharing_ = [Sharing(list(range(len(candidates))), "", "nothing", None, reason)]
            return self
        self.sharing_ = runs.sharing
        if self.refit:
            self._refit(X, y, fit_params)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return ("best_estimator_" if self.refit else "cv_results_") in vars(self)

    @staticmethod
    def _alike(models: list) -> list[list[int]]:
        """Candidates of the same kernel."""
        groups: dict[Any, list[int]] = {}
        for i, model in enumerate(models):
            learner: Any = model[-1] if isinstance(model, Pipeline) else model
            groups.setdefault(key_of(learner.resolve_kernel()), []).append(i)
        return list(groups.values())

    def _runs(
        self, models: list, X: Any, y: Any, fit_params: dict, splits: list, budget: int
    ) -> Together | FoldByFold:
        """How the candidates are fitted: with shared matrices, or one by one."""
        targets = None if y is None else np.asarray(y)
        settings = {
            "scoring": self.scoring,
            "verbose": self.verbose,
            "error_score": self.error_score,
            "return_train_score": self.return_train_score,
        }

        def plan(models: list, X: Samples, y: Any, fit_params: dict, splits: list) -> Plan:
            try:
                return Plan(models, X, y, fit_params, splits, budget, self.n_jobs)
            except (ValueError, TypeError) as error:
                raise NotShared(f"the samples or kernels give an error: {error}") from error

        if isinstance(self.estimator, Pipeline):
            return FoldByFold(models, X, targets, fit_params, splits, settings, plan)
        return Together(plan(models, X, targets, fit_params, splits), y, fit_params, settings)

    def _check_early_stopping(self) -> None:
        """Refuse to stop early where it is not known which metric decides."""
        several = isinstance(self.scoring, (list, tuple, set, dict))
        if self.early_stopping and several and not isinstance(self.refit, str):
            raise ValueError(
                f"early_stopping=True with several metrics and refit={self.refit!r}: give the name "
                "of the metric that decides as refit=."
            )

    def _fit_plainly(self, X: Any, y: Any, params: dict, cv: Any) -> None:
        """Search as GridSearchCV does, with ``cv`` instead of self.cv, which may be used up."""
        given, memory = (self.estimator, self.cv), self.memory
        if memory is not None:  # the processes of the fits share it
            processes = 1 if self.n_jobs is None else effective_n_jobs(self.n_jobs)
            memory = max(Place(memory).budget() // processes, 1)
        self.estimator, self.cv = self._within(clone(self.estimator), memory), cv
        try:
            super().fit(X, y, **params)
        finally:
            self.estimator, self.cv = given

    @staticmethod
    def _within(model: Any, memory: int | float | str | None) -> Any:
        """The model, with this budget for its learner if it has none of its own."""
        learner = model[-1] if isinstance(model, Pipeline) else model
        if isinstance(learner, KernelLearner) and learner.memory is None:
            learner.set_params(memory=memory)
        return model

    def _candidate(self, parameters: dict) -> Any:
        copy: Any = clone(self.estimator)
        parameters = {name: clone(value, safe=False) for name, value in parameters.items()}
        return copy.set_params(**parameters) if parameters else copy

    def _why_plain(self, fit_params: dict) -> str:
        """Why candidates do not share work; empty if they do."""
        learner = self.estimator
        if isinstance(learner, Pipeline) and len(learner.steps) > 1:
            last, learner = learner.steps[-1]
            grids = self.param_grid if isinstance(self.param_grid, list) else [self.param_grid]
            names = {name for grid in grids for name in grid} | set(fit_params)
            other = sorted(name for name in names if not name.startswith(f"{last}__"))
            if other:
                return f"{other[0]} is not a parameter of the last step, {last}: X changes with it"
        if not isinstance(learner, KernelLearner):
            kind = type(learner).__name__
            return f"{kind} is not a kernel learner of Mercer: X may change with each fold"
        if vars(self).get("_skl_callbacks"):  # by set_callbacks of scikit-learn 1.9
            return "callbacks are told of each fit, and there are none where fits share work"
        if get_config()["enable_metadata_routing"]:
            return "metadata routing is enabled, which splits fit parameters in another way"
        scorers = self.scoring.values() if isinstance(self.scoring, dict) else [self.scoring]
        if any(callable(s) and not hasattr(s, "_score_func") for s in scorers):
            return "scoring= is a function that may look at the samples: wrap it by make_scorer"
        return ""

    def _search(self, runs: Together | FoldByFold | Elsewhere, candidates: list[dict]) -> None:
        """Run all candidates on all folds; with early stopping, only some on the last folds."""
        folds, n = list(range(runs.folds)), len(candidates)
        first = folds[:TRIED] if self.early_stopping else folds
        found = runs.run(candidates, range(n), first)
        results = merged(found, candidates, len(folds))
        if len(first) < len(folds):
            hopeful = np.flatnonzero(self._hopeful(results))
            found += runs.run(candidates, hopeful.tolist(), folds[TRIED:])
            results = merged(found, candidates, len(folds))
            results["given_up"] = ~np.isin(np.arange(n), hopeful)
        self.multimetric_ = runs.multimetric
        # a scorer of the runs would keep the plan, and with it the targets, in every file
        single = not self.multimetric_
        scorer = runs.scorer or self._get_scorers()[0]
        self.scorer_ = check_scoring(self.estimator, self.scoring) if single else scorer
        results["mean_fit_time"] = runs.seconds.mean(axis=1)
        results["std_fit_time"] = runs.seconds.std(axis=1)
        self.cv_results_, self.n_splits_ = results, len(folds)
        if self.refit or not self.multimetric_:
            self._choose()

    def _hopeful(self, results: dict) -> np.ndarray:
        """Mask of the candidates whose best fold is at least the best candidate's worst fold."""
        metric = self.refit if "mean_test_score" not in results else "score"
        scores = np.stack([results[f"split{f}_test_{metric}"] for f in range(TRIED)], axis=1)
        if not np.isfinite(scores).all(axis=1).any():
            return np.ones(len(scores), bool)
        best = np.nanargmax(scores.mean(axis=1))
        return ~(scores.max(axis=1) < scores[best].min())

    def _choose(self) -> None:
        """Set best_index_, best_params_ and best_score_ as GridSearchCV does."""
        metric = self.refit if self.multimetric_ else "score"
        self.best_index_ = self._select_best_index(self.refit, metric, self.cv_results_)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        if not callable(self.refit):
            self.best_score_ = self.cv_results_[f"mean_test_{metric}"][self.best_index_]

    def _refit(self, X: Any, y: Any, fit_params: dict) -> None:
        """Fit the best candidate to all rows."""
        start = time.time()
        best = self._within(self._candidate(self.best_params_), self.memory)
        self.best_estimator_ = best.fit(X, y, **fit_params)
        self.refit_time_ = time.time() - start
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_
