"""Search of a grid of parameters by cross-validation, with the work shared that can be.

`KernelSearchCV` has scikit-learn's GridSearchCV as its interface and for its scoring, results and
errors: what differs is that the fits of kernel learners come from a `Plan` (plan.py), which
computes them together. GridSearchCV itself runs the search, on the numbers of the rows.
"""

from __future__ import annotations

import re
import time
from functools import wraps
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.utils import indexable

from mercer.gram.memory import memory_budget
from mercer.kernels import Kernel
from mercer.learners.base import KernelLearner
from mercer.samples import refuse_one
from mercer.selection.plan import Plan, Sharing

__all__ = ["KernelSearchCV"]

TRIED = 2  # folds before hopeless candidates are given up
#: methods of learners that scorers call
SCORED = {"predict", "predict_proba", "predict_log_proba", "decision_function", "score",
          "score_samples", "transform"}  # fmt: skip


class KernelSearchCV(GridSearchCV):
    """Exhaustive search over parameters of a kernel learner, with GridSearchCV's scores.

    Distances are computed once per data set, one Gram matrix serves all penalties and folds,
    ridge regressions share their factorisations along ``alpha`` and support vector machines start
    from one another along ``C``. What cannot be shared is evaluated plainly: see ``sharing_``.

    Parameters
    ----------
    estimator : estimator
        A kernel learner of Mercer; any other is searched as GridSearchCV does.
    param_grid : dict or list of dicts
        Parameter -> values, nested names such as ``kernel__gamma`` included.
    scoring, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As in `sklearn.model_selection.GridSearchCV`. A scorer that is a function of estimator
        and samples may look at the samples, and is evaluated plainly; one of ``make_scorer`` and
        names share.
    n_jobs : int or None
        Threads that compute matrices; None means all cores. Plain evaluation uses processes, and
        None means one.
    early_stopping : bool, default=False
        Give up hopeless candidates: those of which, after two folds, none is as good as the worst
        fold of the best candidate. They are not fitted to the other folds, ``given_up`` of
        ``cv_results_`` marks them, their means are of two folds, and they rank behind all others.
        For one metric, or a ``refit`` that names one.
    memory : int, str or None
        Budget of the shared matrices in bytes or as "4GB"; None means half of what is free.

    Attributes
    ----------
    cv_results_, best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_,
    refit_time_, multimetric_, classes_, n_features_in_, feature_names_in_
        As in GridSearchCV. The time of a fit is its part of the time of all fits that shared.
    sharing_ : list of Sharing
        For each group of candidates, what they share, or why they share nothing.

    Notes
    -----
    Scores equal GridSearchCV's: to 1e-6 for ridge regression in float64, to the tolerance of the
    solver for support vector machines, which start elsewhere. The best model is fitted anew on all
    samples. An interrupt (Ctrl-C) ends the search and leaves no attribute behind.

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

    def fit(self, X: Any, y: Any = None, **params: Any) -> KernelSearchCV:
        """Search, and fit the best model to all samples.

        Parameters
        ----------
        X : samples of the estimator's kind
        y : array-like, optional
        **params
            ``groups`` for the splitter; others, as ``sample_weight``, for ``fit``: what has a
            value for each row is split along with X.

        Raises
        ------
        ValueError
            The grid is empty or names an unknown parameter, or what GridSearchCV raises.
        """
        candidates = list(ParameterGrid(self.param_grid))
        if not candidates:
            raise ValueError(
                "param_grid is empty: give a dict of parameter -> list of values, or a list of "
                "such dicts."
            )
        # unknown names are refused before any work
        models = [self._candidate(parameters) for parameters in candidates]
        budget = memory_budget(self.memory)
        self._check_early_stopping()
        self._get_scorers()  # so is a refit= that several metrics leave open
        fit_params = {name: value for name, value in params.items() if name != "groups"}
        if isinstance(models[0], KernelLearner):
            kernel = models[0].kernel
            kind = kernel.kind if isinstance(kernel, Kernel) else "vectors"
            refuse_one(X, type(self).__name__, kind)
        X, y = indexable(X, y)
        cv: Any = self.cv
        cv = check_cv(cv, y, classifier=is_classifier(self.estimator))
        plan, reason = None, self._why_plain(models, fit_params)
        if not reason:
            splits: Any = list(cv.split(X, y, params.get("groups")))
            cv = check_cv(splits)
            try:
                targets = None if y is None else np.asarray(y)
                plan = Plan(models, X, targets, fit_params, splits, budget, self.n_jobs)
            except (ValueError, TypeError) as error:  # plainly, each fit will say so
                reason = f"the samples or kernels are refused: {error}"
        if plan is None:
            self._fit_plainly(X, y, params, cv)
            self.sharing_ = [Sharing(list(range(len(candidates))), "", "nothing", None, reason)]
            return self
        try:
            self._search(plan, candidates, y, fit_params)
        finally:
            plan.close()
        self.sharing_ = [group.sharing for group in plan.groups]
        if self.refit:
            self._refit(X, y, fit_params)
        return self

    def _check_early_stopping(self) -> None:
        several = isinstance(self.scoring, (list, tuple, set, dict))
        if self.early_stopping and several and not isinstance(self.refit, str):
            raise ValueError(
                f"early_stopping=True with several metrics and refit={self.refit!r}: name the "
                "metric that decides in refit=."
            )

    def _fit_plainly(self, X: Any, y: Any, params: dict, cv: Any) -> None:
        """As GridSearchCV; a cv= that can be gone through only once has been."""
        given, self.cv = self.cv, cv
        try:
            super().fit(X, y, **params)
        finally:
            self.cv = given

    def _candidate(self, parameters: dict) -> Any:
        copy: Any = clone(self.estimator)
        parameters = {name: clone(value, safe=False) for name, value in parameters.items()}
        return copy.set_params(**parameters)

    def _why_plain(self, models: list, fit_params: dict) -> str:
        """Why candidates are evaluated plainly; empty if they share."""
        if not isinstance(self.estimator, KernelLearner):
            kind = type(self.estimator).__name__
            return f"{kind} is no kernel learner of Mercer: X may change with each fold"
        if get_config()["enable_metadata_routing"]:
            return "metadata routing is enabled, and splits fit parameters its own way"
        scorers = self.scoring.values() if isinstance(self.scoring, dict) else [self.scoring]
        if any(callable(s) and not hasattr(s, "_score_func") for s in scorers):
            return "scoring= is a function that may look at the samples: wrap it by make_scorer"
        weighted = fit_params.get("sample_weight") is not None
        if weighted and any(model._weighted_scale() for model in models):
            return 'gamma="scale" reads the weights of each fold'
        return ""

    def _search(self, plan: Plan, candidates: list[dict], y: Any, fit_params: dict) -> None:
        """GridSearchCV on row numbers; candidates that share are next to each other."""
        folds, n = list(range(len(plan.splits))), len(candidates)
        first = folds[:TRIED] if self.early_stopping else folds
        run = self._run(plan, candidates, plan.order, first, y, fit_params)
        results = _in_order(run, candidates)
        if len(first) < len(folds):
            hopeful = self._hopeful(results)
            order = [i for i in plan.order if hopeful[i]]
            rest = self._run(plan, candidates, order, folds[TRIED:], y, fit_params)
            results = _completed(results, rest, n, len(folds))
        self.cv_results_ = results
        self.cv_results_["mean_fit_time"] = plan.seconds.mean(axis=1)
        self.cv_results_["std_fit_time"] = plan.seconds.std(axis=1)
        self.n_splits_ = len(folds)
        if self.refit or not self.multimetric_:
            self._choose()

    def _run(
        self, plan: Plan, candidates: list[dict], order: list[int], folds: list[int], y: Any,
        fit_params: dict,
    ) -> dict:  # fmt: skip
        """Results of GridSearchCV on row numbers, for some candidates in order and some folds."""
        plan.stage(order, folds)
        inner = GridSearchCV(
            _Planned(plan),
            [
                {"candidate": [i], **{name: [value] for name, value in candidates[i].items()}}
                for i in order
            ],
            scoring=self.scoring,
            refit=False,
            cv=[plan.splits[f] for f in folds],
            n_jobs=1,  # the plan has threads of its own
            verbose=self.verbose,
            error_score=self.error_score,
            return_train_score=self.return_train_score,
        )
        inner.fit(np.arange(plan.n), y, **fit_params)  # weights are for scorers too
        self.multimetric_, self.scorer_ = inner.multimetric_, inner.scorer_
        return inner.cv_results_

    def _hopeful(self, results: dict) -> np.ndarray:
        """Candidates with a fold as good as the worst of the best candidate, or better."""
        metric = self.refit if self.multimetric_ else "score"
        scores = np.stack([results[f"split{f}_test_{metric}"] for f in range(TRIED)], axis=1)
        if not np.isfinite(scores).all(axis=1).any():
            return np.ones(len(scores), bool)
        best = np.nanargmax(scores.mean(axis=1))
        return ~(scores.max(axis=1) < scores[best].min())

    def _choose(self) -> None:
        """best_index_, best_params_ and best_score_, as GridSearchCV defines them."""
        metric = self.refit if self.multimetric_ else "score"
        self.best_index_ = self._select_best_index(self.refit, metric, self.cv_results_)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        if not callable(self.refit):
            self.best_score_ = self.cv_results_[f"mean_test_{metric}"][self.best_index_]

    def _refit(self, X: Any, y: Any, fit_params: dict) -> None:
        start = time.time()
        self.best_estimator_ = self._candidate(self.best_params_).fit(X, y, **fit_params)
        self.refit_time_ = time.time() - start
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_


def _in_order(run: dict, candidates: list[dict]) -> dict:
    """Results of a run of all candidates, in the order in which they were given."""
    place = np.argsort(np.asarray(run["param_candidate"], int))
    return {
        name: candidates if name == "params" else values[place]
        for name, values in run.items()
        if name != "param_candidate"
    }


def _completed(results: dict, rest: dict, n: int, n_folds: int) -> dict:
    """Results on the first folds, completed by those of some candidates on the others.

    Means are over the folds that a candidate was tried on.
    """
    place = np.asarray(rest["param_candidate"], int)
    complete = np.isin(np.arange(n), place)
    tried = np.where(complete, n_folds, TRIED)
    seen = np.arange(n_folds) < tried[:, None]
    for name in [name[5:] for name in results if re.match("mean_(test|train)_", name)]:
        scores = np.full((n, n_folds), np.nan)
        for f in range(TRIED):
            scores[:, f] = results[f"split{f}_{name}"]
        for f in range(TRIED, n_folds):
            scores[place, f] = rest[f"split{f - TRIED}_{name}"]
            results[f"split{f}_{name}"] = scores[:, f]
        mean = np.where(seen, scores, 0).sum(axis=1) / tried
        spread = np.where(seen, scores - mean[:, None], 0)
        results[f"mean_{name}"] = mean
        results[f"std_{name}"] = np.sqrt((spread**2).sum(axis=1) / tried)
        if name.startswith("test_"):
            results[f"rank_{name}"] = _ranks(mean, complete)
    results["given_up"] = ~complete
    return results


def _ranks(means: np.ndarray, complete: np.ndarray) -> np.ndarray:
    """1 for the best, ties alike; those of failed fits (NaN) last, the incomplete ones behind."""
    ranks = np.empty(len(means), np.int32)
    for part, behind in ((complete, 0), (~complete, int(complete.sum()))):
        known = np.where(np.isnan(means[part]), -np.inf, means[part])
        ranks[part] = behind + rankdata(-known, method="min").astype(np.int32)
    return ranks


class _Planned(BaseEstimator):
    """One candidate of a plan, by its number, as GridSearchCV sees it: its X are row numbers."""

    def __init__(self, plan: Plan, candidate: int = 0):
        self.plan = plan
        self.candidate = candidate

    def set_params(self, **params: Any) -> _Planned:
        """The number alone: the plan's models have the parameters."""
        return super().set_params(candidate=params.get("candidate", self.candidate))

    def fit(self, X: np.ndarray, y: Any = None, **fit_params: Any) -> _Planned:
        """The plan's fit to these rows: it has y and the parameters of fits."""
        self.fitted_ = self.plan.fit(self.candidate, X)
        return self

    def __getattr__(self, name: str) -> Any:
        """What the fitted model has; its methods get the samples that row numbers stand for."""
        if name.startswith("__") or "plan" not in vars(self):
            raise AttributeError(name)
        model = vars(self).get("fitted_", self.plan.models[self.candidate])
        value = getattr(model, name)
        if name not in SCORED:
            return value

        @wraps(value)
        def on_rows(X: np.ndarray, *arguments: Any, **named: Any) -> Any:
            return value(self.plan.rows(X), *arguments, **named)

        return on_rows

    def __sklearn_tags__(self):
        tags = self.plan.models[self.candidate].__sklearn_tags__()
        tags.input_tags.pairwise = False  # row numbers are no matrix
        return tags
