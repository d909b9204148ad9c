"""Run GridSearchCV on row numbers instead of samples, and merge the results.

`Together` runs a search whose folds share one `Plan`. `FoldByFold` runs the search of a pipeline:
the steps before the last are fitted to each fold, and each fold has its own plan.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial, wraps
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils import _safe_indexing

from mercer.callers import first_outside
from mercer.learners.base import Classifier
from mercer.samples import Samples
from mercer.selection.grid.plan import Plan, Sharing
from mercer.streams import count_rows

#: methods of learners that scorers call
SCORED = {"predict", "predict_proba", "predict_log_proba", "decision_function", "score",
          "score_samples", "transform"}  # fmt: skip


class NotShared(Exception):
    """Raised if fits cannot share work; the message says why."""


class Run(NamedTuple):
    """The results of some candidates on some folds."""

    #: their numbers, in the order of the results
    candidates: list[int]
    folds: list[int]
    results: dict  # ``cv_results_`` of GridSearchCV


class Together:
    """Runs on a plan that all folds share; ``settings`` are other arguments of GridSearchCV."""

    def __init__(self, plan: Plan, y: Any, fit_params: dict, settings: dict):
        self.plan, self.y, self.fit_params, self.settings = plan, y, fit_params, settings
        self.folds = len(plan.splits)
        self.multimetric: bool = False  # these two are as in GridSearchCV
        self.scorer: Any = None

    @property
    def sharing(self) -> list[Sharing]:
        return [group.sharing for group in self.plan.groups]

    @property
    def seconds(self) -> np.ndarray:
        """Time of each fit, (candidates, folds)."""
        return self.plan.seconds

    def run(self, candidates: list[dict], chosen: Iterable[int], folds: list[int]) -> list[Run]:
        """Run some candidates on some folds; candidates that share work come one after another."""
        chosen = set(chosen)
        order = [i for i in self.plan.order if i in chosen]
        self.plan.stage(order, folds)
        inner = GridSearchCV(
            Planned(self.plan),
            [
                {"candidate": [i], **{name: [value] for name, value in candidates[i].items()}}
                for i in order
            ],
            refit=False,
            cv=[self.plan.splits[f] for f in folds],
            n_jobs=1,  # the plan has its own threads
            **self.settings,
        )
        inner.fit(np.arange(self.plan.n), self.y, **self.fit_params)  # weights: for scorers too
        self.multimetric, self.scorer = inner.multimetric_, inner.scorer_
        return [Run(order, folds, inner.cv_results_)]

    def close(self) -> None:
        """Free all matrices and models."""
        self.plan.close()


class FoldByFold:
    """Runs of pipelines whose steps before the last are the same for all candidates.

    The pipelines are the candidates, with their parameters set; ``fit_params`` are those of the
    last step, with its name as prefix; ``settings`` are other arguments of GridSearchCV; and
    ``plan`` makes a `Plan` of (models, X, y, fit_params, splits).
    """

    def __init__(
        self, pipelines: list, X: Samples, y: Any, fit_params: dict, splits: list,
        settings: dict, plan: Callable,
    ):  # fmt: skip
        self.pipelines, self.X, self.y, self.splits = pipelines, X, y, splits
        self.fit_params, self.settings, self.plan = fit_params, settings, plan
        self.folds = len(splits)
        self.seconds = np.zeros((len(pipelines), len(splits)))
        self.multimetric: bool = False
        self.scorer: Any = None
        self.sharing: list[Sharing] = []
        self._first = self._opened(0)  # finds what cannot be shared before any fit

    def run(self, candidates: list[dict], chosen: Iterable[int], folds: list[int]) -> list[Run]:
        """Run some candidates on some folds, one fold after the other."""
        chosen, found = list(chosen), []
        for f in folds:
            fold, self._first = self._first or self._opened(f), None
            try:
                (run,) = fold.run(candidates, chosen, [0])
            finally:
                fold.close()
            found.append(run._replace(folds=[f]))
            self.seconds[:, f] += fold.seconds[:, 0]
            self.multimetric, self.scorer = fold.multimetric, fold.scorer
        return found

    def _opened(self, f: int) -> Together:
        """The plan of fold f, with its rows transformed by the steps before the last."""
        start = time.perf_counter()
        every = np.arange(len(self.y) if self.y is not None else count_rows(self.X))
        train, test = (every[part] for part in self.splits[f])
        X_train, X_test = _safe_indexing(self.X, train), _safe_indexing(self.X, test)
        y = None if self.y is None else self.y[np.concatenate([train, test])]
        y_train = None if y is None else y[: len(train)]
        before: Any = clone(self.pipelines[0][:-1])
        try:
            X = _stacked(before.fit_transform(X_train, y_train), before.transform(X_test))
        except Exception as error:
            raise NotShared(f"the steps before the last: {error}") from error
        last = self.pipelines[0].steps[-1][0]
        rows = np.concatenate([train, test])
        fit_params = {
            name.removeprefix(f"{last}__"): _safe_indexing(value, rows)
            if np.ndim(value) and len(value) == len(every)
            else value
            for name, value in self.fit_params.items()
        }
        numbers = np.arange(len(rows))
        models = [clone(pipeline.steps[-1][1]) for pipeline in self.pipelines]
        split = numbers[: len(train)], numbers[len(train) :]
        plan = self.plan(models, X, y, fit_params, [split])
        self.seconds[:, f] += (time.perf_counter() - start) / len(models)
        fold = Together(plan, y, {}, self.settings)
        self.sharing = [
            replace(s, by_fold=True, path=s.path and f"{last}__{s.path}") for s in fold.sharing
        ]
        return fold

    def close(self) -> None:
        """Does nothing: each fold is closed after its run."""


class SearchTask(NamedTuple):
    """Candidates that are tried on one fold together, since they may share work."""

    #: their numbers
    candidates: list[int]
    parameters: list[dict]
    fold: int
    train: np.ndarray
    test: np.ndarray


class TaskFindings(NamedTuple):
    """What a `SearchTask` has found."""

    #: scores and times of each candidate, as `GridSearchCV` takes them
    found: list[dict]
    sharing: list[Sharing]
    #: why all fits have failed; empty if some have not
    failure: str


class Elsewhere:
    """Runs whose tasks another function does, in other processes for example.

    Parameters
    ----------
    search : GridSearchCV
        The search whose results `run` formats.
    groups : list of lists
        Candidates that stand together in a task.
    splits : list
    execute : callable
        Takes a list of `SearchTask`, and returns a `TaskFindings` for each.
    """

    def __init__(self, search: Any, groups: list[list[int]], splits: list, execute: Callable):
        self.search, self.groups, self.splits, self.execute = search, groups, splits, execute
        self.folds = len(splits)
        self.seconds = np.zeros((sum(map(len, groups)), len(splits)))
        self.multimetric: bool = False
        self.scorer: Any = None
        self.sharing: list[Sharing] = []

    def run(self, candidates: list[dict], chosen: Iterable[int], folds: list[int]) -> list[Run]:
        """Run some candidates on some folds."""
        chosen = set(chosen)
        groups = [[i for i in group if i in chosen] for group in self.groups]
        tasks = [
            SearchTask(group, [candidates[i] for i in group], f, *self.splits[f])
            for f in folds for group in groups if group
        ]  # fmt: skip
        tried = self.execute(tasks)
        if all(each.failure for each in tried):
            raise ValueError(tried[0].failure)
        for text in dict.fromkeys(each.failure for each in tried if each.failure):
            warnings.warn(text, FitFailedWarning, stacklevel=first_outside())
        runs = []
        order = sorted(chosen)
        scored = {f: dict[int, dict]() for f in folds}
        for task, each in zip(tasks, tried, strict=True):
            scored[task.fold].update(zip(task.candidates, each.found, strict=True))
            self._note(task, each)
        for f in folds:
            found = [scored[f][i] for i in order]
            self.multimetric = isinstance(found[0]["test_scores"], dict)
            self.seconds[order, f] += [one["fit_time"] for one in found]
            results = self.search._format_results([candidates[i] for i in order], 1, found)
            runs.append(Run(order, [f], results))
        return runs

    def _note(self, task: SearchTask, tried: TaskFindings) -> None:
        """What the candidates of a task share in each fold."""
        for each in tried.sharing:
            numbers = [task.candidates[i] for i in each.candidates]
            found = replace(each, candidates=numbers, by_fold=True)
            if found not in self.sharing:
                self.sharing.append(found)

    def close(self) -> None:
        """Does nothing: tasks hold nothing."""


def try_task(task: SearchTask, search: Any, X: Any, y: ArrayLike, fit_params: dict) -> TaskFindings:
    """What ``search``, a `KernelSearchCV` of these samples, finds for the candidates of a task."""
    grid = [{name: [value] for name, value in one.items()} for one in task.parameters]
    part: Any = clone(search)
    part.set_params(
        param_grid=grid, cv=[(task.train, task.test)], refit=False, early_stopping=False, n_jobs=1,
        verbose=0,
    )  # fmt: skip
    try:
        part.fit(X, y, **fit_params)
    except ValueError as error:
        if not str(error).lstrip().startswith("All the"):
            raise
        return TaskFindings([_failed(search)] * len(grid), [], str(error))
    results = part.cv_results_
    found = []
    for i in range(len(grid)):
        one: dict[str, Any] = {
            "fit_time": results["mean_fit_time"][i], "score_time": results["mean_score_time"][i],
        }  # fmt: skip
        for kind in ("test", "train"):
            start = f"split0_{kind}_"
            scores = {
                name.removeprefix(start): values[i]
                for name, values in results.items()
                if name.startswith(start)
            }
            if scores:
                one[f"{kind}_scores"] = scores if part.multimetric_ else scores["score"]
        found.append(one)
    return TaskFindings(found, part.sharing_, "")


def _failed(search: Any) -> dict:
    """The scores of a candidate that could not be fitted."""
    names = search.scoring
    score: Any = search.error_score
    if isinstance(names, (list, tuple, set, dict)):
        score = dict.fromkeys(names, score)
    found = {"fit_time": 0.0, "score_time": 0.0, "test_scores": score}
    return {**found, "train_scores": score} if search.return_train_score else found


class Planned(BaseEstimator):
    """One candidate of a plan as an estimator for GridSearchCV; its X are row numbers."""

    def __init__(self, plan: Plan, candidate: int = 0):
        self.plan = plan
        self.candidate = candidate

    def set_params(self, **params: object) -> Planned:
        """Set only the number of the candidate: the plan's models already have the parameters."""
        return super().set_params(candidate=params.get("candidate", self.candidate))

    def fit(self, X: np.ndarray, y: object = None, **fit_params: object) -> Planned:
        """Take the plan's fit to these rows; the plan has y and the fit parameters."""
        self.fitted_, self.samples_ = self.plan.fit(self.candidate, X)
        return self

    def __getattr__(self, name: str) -> Any:
        """Attributes of the fitted model; its methods get the samples with these row numbers."""
        if name.startswith("__") or "plan" not in vars(self):
            raise AttributeError(name)
        model = vars(self).get("fitted_", self.plan.models[self.candidate])
        value = getattr(model, name)
        if name not in SCORED:
            return value
        if name == "score" and type(model).score in (Classifier.score, ClassifierMixin.score):
            value = partial(right_share, model)

        @wraps(value)
        def on_rows(X: np.ndarray, *arguments: Any, **named: object) -> Any:
            return value(self.samples_[X], *arguments, **named)

        return on_rows

    def __sklearn_tags__(self):
        tags = self.plan.models[self.candidate].__sklearn_tags__()
        tags.input_tags.pairwise = False  # row numbers are not a Gram matrix
        return tags


def right_share(model: Any, X: Any, y: np.ndarray, sample_weight: Any = None) -> float:
    """The accuracy that a classifier's ``score`` is, without its checks, which cost more."""
    if np.ndim(y) != 1:
        return Classifier.score(model, X, y, sample_weight)
    return float(np.average(model.predict(X) == y, weights=sample_weight))


def merged(runs: list[Run], candidates: list[dict], n_folds: int) -> dict:
    """The results of several runs, in the order of the candidates.

    Means are over the folds that a candidate was tried on. Candidates that were not tried on all
    folds rank after the others.
    """
    n, first = len(candidates), runs[0]
    place = np.asarray(first.candidates)
    results: dict[str, Any] = {}
    tried = np.zeros((n, n_folds), bool)
    for run in runs:
        tried[np.ix_(run.candidates, run.folds)] = True
    for name, values in first.results.items():
        split = re.match(r"split0_((?:test|train)_.*)", name)
        if name == "params":
            results[name] = candidates
        elif name.startswith("param_") and name != "param_candidate":
            results[name] = values[np.argsort(place)]
        elif name.endswith("_time"):
            results[name] = np.mean([_at(run, name, n) for run in runs], axis=0)
        elif split:
            scores = np.full((n, n_folds), np.nan)
            for run in runs:
                for k, f in enumerate(run.folds):
                    scores[run.candidates, f] = run.results[f"split{k}_{split[1]}"]
            results |= {f"split{f}_{split[1]}": scores[:, f] for f in range(n_folds)}
            results |= _summary(split[1], scores, tried)
    return results


def _at(run: Run, name: str, n: int) -> np.ndarray:
    values = np.zeros(n)
    values[run.candidates] = run.results[name]
    return values


def _summary(name: str, scores: np.ndarray, tried: np.ndarray) -> dict:
    """Mean and standard deviation of each candidate's scores; for test scores also its rank."""
    count = np.maximum(tried.sum(axis=1), 1)
    mean = np.where(tried, scores, 0).sum(axis=1) / count
    spread = np.where(tried, scores - mean[:, None], 0)
    out = {f"mean_{name}": mean, f"std_{name}": np.sqrt((spread**2).sum(axis=1) / count)}
    if name.startswith("test_"):
        out[f"rank_{name}"] = _ranks(mean, np.all(tried, axis=1))
    return out


def _ranks(means: np.ndarray, complete: np.ndarray) -> np.ndarray:
    """Ranks from 1 for the best; equal means have equal ranks, failed fits (NaN) are last.

    Candidates that are not complete come after all others.
    """
    ranks = np.empty(len(means), np.int32)
    for part, behind in ((complete, 0), (~complete, int(complete.sum()))):
        known = np.where(np.isnan(means[part]), -np.inf, means[part])
        ranks[part] = behind + rankdata(-known, method="min").astype(np.int32)
    return ranks


def _stacked(A: Any, B: Any) -> Any:
    """The rows of A, then the rows of B; raise TypeError unless both are arrays or sparse."""
    if sp.issparse(A):
        return sp.vstack([A, B])
    if not (isinstance(A, np.ndarray) and isinstance(B, np.ndarray)):
        raise TypeError("they do not give arrays")
    return np.concatenate([A, B])
