"""The order in which a search fits its candidates, and what those that stand together share.

Candidates are grouped by kernel: when the first fit of a group is asked for, its Gram matrix is
computed, and all its candidates are fitted on all folds. Within a group, candidates that differ
in one penalty alone form a path, along which the learner shares its solver.
"""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from math import frexp
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _check_method_params

from mercer.gram.schedule import count_jobs, ordered_map
from mercer.kernels import Kernel
from mercer.kernels.base import Radial
from mercer.learners.base import FitPath, KernelLearner
from mercer.selection.sharing import Rows, SharedKernel, SharedSamples, fingerprint

__all__ = ["Plan", "Sharing"]

LEVELS = {
    "gram": "one Gram matrix",
    "gram of distances": "one Gram matrix from shared distances",
    "distances": "shared distances, a Gram matrix in each fold",
    "fold": "a Gram matrix in each fold",
    "nothing": "nothing shared",
}


@dataclass(frozen=True)
class Sharing:
    """What some candidates of a search share.

    Attributes
    ----------
    candidates : list of int
        Their positions in ``cv_results_``.
    kernel : str
    level : {"gram", "gram of distances", "distances", "fold", "nothing"}
        One Gram matrix for all folds and penalties (computed from distances that other
        bandwidths share); or the distances alone, where the kernel depends on the fold; or a
        Gram matrix for the penalties of each fold.
    path : str or None
        The parameter along which fits share their solver.
    reason : str
        Why no more is shared.
    """

    candidates: list[int]
    kernel: str
    level: str
    path: str | None = None
    reason: str = ""

    def __str__(self) -> str:
        some = ", ".join(map(str, self.candidates[:6]))
        more = " ..." if len(self.candidates) > 6 else ""
        of = f" of {self.kernel}" if self.kernel else ""
        along = f", fits along {self.path}" if self.path else ""
        why = f" ({self.reason})" if self.reason else ""
        return f"candidates {some}{more}{of}: {LEVELS[self.level]}{along}{why}"


class _Failure(NamedTuple):
    """An error in place of a fit, to be raised for each with the trace of the first."""

    error: Exception
    trace: Any


class _Group:
    """Candidates of one kernel; ``paths`` holds lists of them that differ in a penalty alone."""

    def __init__(self, kernel: Kernel | None, samples: Any, encoding: Any):
        self.kernel, self.samples, self.encoding = kernel, samples, encoding
        self.paths: list[list[int]] = []
        self.bound: Any = kernel  # as all folds bind it, or the first of them
        self.sharing = Sharing([], "", "fold")
        #: a key of the distance that the kernel is a profile of; None for other kernels
        self.distance = fingerprint(kernel.distance) if isinstance(kernel, Radial) else None

    @property
    def candidates(self) -> list[int]:
        return sorted(i for path in self.paths for i in path)


def _bandwidth(group: _Group) -> float:
    gamma = getattr(group.kernel, "gamma", 0.0)
    number = float(gamma) if isinstance(gamma, Real) else 0.0
    return number if np.isfinite(number) else 0.0


class Plan:
    """The fits of a search, made group by group when the first of a group is asked for (`fit`).

    Parameters
    ----------
    models : list of KernelLearner
        The candidates, with their parameters set.
    X, y : raw samples and targets
    fit_params : dict
        What has a value for each row is split along with y.
    splits : list of (train, test)
    memory : int
        Bytes for the shared matrices.
    n_jobs : int or None

    Attributes
    ----------
    n : int
        Samples.
    groups : list
        In the order that computes each matrix once.
    seconds : ndarray of shape (candidates, splits)
        The time of each fit: its part of the time of all that shared.
    """

    def __init__(self, models, X, y, fit_params: dict, splits, memory: int, n_jobs: int | None):
        self.models: list[KernelLearner] = models
        self.y, self.fit_params = y, fit_params
        self.shared = SharedSamples(memory, n_jobs)
        self.groups = self._group(X)
        self.n = self.groups[0].samples.shape[0]
        every = np.arange(self.n)  # splits may be masks, or count from the end
        self.splits = [(every[train], every[test]) for train, test in splits]
        self.seconds = np.zeros((len(models), len(splits)))
        self._fits: dict[tuple[int, bytes], Any] = {}
        self._rows: dict[bytes, Rows] = {}
        self.stage(range(len(models)), range(len(splits)))
        self._of = {i: group for group in self.groups for i in group.candidates}
        for group in self.groups:
            self._decide(group)

    @property
    def order(self) -> list[int]:
        """All candidates, group by group and path by path."""
        return [i for group in self.groups for path in group.paths for i in path]

    def stage(self, candidates: Iterable[int], folds: Iterable[int]) -> None:
        """From now on only these candidates will be asked for, on these folds."""
        self._wanted, self._folds = set(candidates), list(folds)
        self._open: list[_Group] = []

    def rows(self, numbers: np.ndarray) -> Rows:
        """The same object for the same rows, so that what is computed for them is found again."""
        return self._rows.setdefault(numbers.tobytes(), Rows(numbers, self.shared.dtype))

    def fit(self, i: int, numbers: np.ndarray) -> KernelLearner:
        """The fit of candidate i to the rows of a fold; an error that it raised is raised."""
        group = self._of[i]
        if group not in self._open:
            self._enter(self._batch(group))
        result = self._fits[i, numbers.tobytes()]
        if isinstance(result, _Failure):
            raise result.error.with_traceback(result.trace)
        return result

    def __sklearn_clone__(self) -> Plan:
        return self  # what has been fitted is not copied

    def close(self) -> None:
        """Forget all matrices and models."""
        self.shared.forget()
        self._fits.clear()
        self._rows.clear()

    # --- what is shared -----------------------------------------------------------------------

    def _group(self, X: Any) -> list[_Group]:
        """Groups of equal kernels; those of equal distances stand together."""
        groups: dict[Any, _Group] = {}
        paths: dict[Any, list[int]] = {}
        encoded: dict[Any, Any] = {}
        for i, model in enumerate(self.models):
            kernel = None if model._is_precomputed() else model._resolve_kernel()
            key = fingerprint(kernel)
            if key not in groups:
                encoding = "given" if kernel is None else kernel.kind
                if encoding not in ("given", "vectors", "categories"):
                    encoding = key  # kernels of tables and others choose what they encode
                if encoding not in encoded:
                    copy: Any = clone(model)
                    encoded[encoding] = copy._encode_samples(X)[1]
                groups[key] = _Group(kernel, encoded[encoding], encoding)
            params, name = model.get_params(deep=False), model._path_parameter
            alike = i
            if name is not None and isinstance(params[name], Real):
                alike = fingerprint({**params, name: None, "kernel": None})
            if (key, alike) not in paths:
                paths[key, alike] = []
                groups[key].paths.append(paths[key, alike])
            paths[key, alike].append(i)
        for path in paths.values():
            if len(path) > 1:
                path.sort(key=self._penalty)
        first = {}
        for position, group in enumerate(groups.values()):
            first.setdefault(group.distance or position, position)

        def chain(position: int, group: _Group) -> tuple[int, float]:
            """Equal distances, and of these γ, 2γ, 4γ ...: they have the mantissa in common."""
            return first[group.distance or position], frexp(_bandwidth(group))[0]

        least: dict[Any, float] = {}
        for position, group in enumerate(groups.values()):
            key = chain(position, group)
            least[key] = min(least.get(key, np.inf), _bandwidth(group))

        def place(numbered: tuple[int, _Group]) -> tuple:
            key = chain(*numbered)
            return key[0], least[key], _bandwidth(numbered[1])

        return [group for _, group in sorted(enumerate(groups.values()), key=place)]

    def _penalty(self, i: int) -> Any:
        model = self.models[i]
        return getattr(model, str(model._path_parameter))

    def _decide(self, group: _Group) -> None:
        """Bind the kernel in each fold, and see what that leaves to share within the budget."""
        longest = max(group.paths, key=len)
        path = self.models[longest[0]]._path_parameter if len(longest) > 1 else None
        words = "precomputed" if group.kernel is None else in_words(group.kernel)
        level, reason = self._level(group)
        group.sharing = Sharing(group.candidates, words, level, path, reason)

    def _level(self, group: _Group) -> tuple[str, str]:
        """The level, and why it is no higher."""
        kernel, shared = group.kernel, self.shared
        if kernel is None:
            return "gram", ""
        try:
            bound = [
                kernel.bind(group.samples[train], None if self.y is None else self.y[train])
                for train, _ in self.splits
            ]
        except Exception as error:  # each fit will say so
            return "fold", f"the kernel cannot be bound: {error}"
        group.bound = bound[0]
        shared.use(group.samples, group.encoding)
        one = shared.matrix_bytes()
        if one * 4 > shared.memory:  # solvers need room for a fold's part and its factors
            return "fold", f"a matrix of {one / 1e9:.2g} GB and its factors exceed memory="
        twice = one * 6 <= shared.memory
        siblings = group.distance and sum(g.distance == group.distance for g in self.groups) > 1
        if len({fingerprint(b) for b in bound}) == 1:
            if siblings and twice:
                return "gram of distances", ""
            return "gram", "memory= has no room for distances beside it" if siblings else ""
        reason = f"{type(kernel).__name__} learns from the training rows of each fold"
        if len({fingerprint(getattr(b, "distance", i)) for i, b in enumerate(bound)}) == 1:
            return "distances", reason
        return "fold", reason

    # --- fits ---------------------------------------------------------------------------------

    def _batch(self, first: _Group) -> list[_Group]:
        """As many groups as there are threads: their folds keep all of them at work to the end.

        One by one, threads would wait while others fit the last folds of each.
        """
        if not first.sharing.level.startswith("gram"):
            return [first]
        self.shared.use(first.samples, first.encoding)
        threads = count_jobs(self.shared.n_jobs)
        spare = self.shared.memory // self.shared.matrix_bytes() - 4 * threads  # fits take the rest
        start = self.groups.index(first)
        batch = self.groups[start : start + max(1, min(threads, spare - 1))]

        def alike(group: _Group) -> bool:
            same = group.encoding == first.encoding and group.distance == first.distance
            return same and group.sharing.level == first.sharing.level

        return list(takewhile(alike, batch))

    def _enter(self, batch: list[_Group]) -> None:
        """Compute what the groups share, and all their fits; those of the last are forgotten."""
        start = time.perf_counter()
        self._open = batch
        self._fits.clear()
        self._rows.clear()
        self.shared.use(batch[0].samples, batch[0].encoding)
        if batch[0].sharing.level.startswith("gram"):
            self.shared.leave_grams()
        else:
            self.shared.forget_grams()
        ready = [group for group in batch if self._hold(group)]
        paths = [(g, [i for i in path if i in self._wanted]) for g in ready for path in g.paths]
        tasks = [(g, f, path) for g, path in paths for f in self._folds if path]
        opening = (time.perf_counter() - start) / max(1, sum(len(path) for _, _, path in tasks))
        for _, f, path in tasks:
            self.seconds[path, f] += opening
        jobs = self._jobs(len(ready), len(tasks))
        running: set[FitPath] = set()

        def stop() -> None:
            for handed in list(running):
                handed.stopped.set()

        def fit(task: tuple[_Group, int, list[int]]) -> list:
            return self._fit_path(*task, jobs, running)

        for (_, f, path), models in zip(tasks, ordered_map(fit, tasks, jobs, stop)):
            train = self.splits[f][0].tobytes()
            self._fits.update({(i, train): model for i, model in zip(path, models)})

    def _hold(self, group: _Group) -> bool:
        """Compute what the fits of a group share; an error is that of each of them."""
        try:
            if group.sharing.level in ("distances", "gram of distances"):
                self.shared.hold_distances(group.bound)
            if group.sharing.level.startswith("gram"):
                self.shared.hold_gram(group.bound)
        except Exception as error:
            failure = _Failure(error, error.__traceback__)
            for f in self._folds:
                train = self.splits[f][0].tobytes()
                self._fits.update({(i, train): failure for i in group.candidates})
            return False
        return True

    def _jobs(self, groups: int, tasks: int) -> int:
        """Fits at a time: each holds its rows of K, and the factors of its solver beside."""
        held = groups + (self.shared.distances is not None)
        room = (self.shared.memory // self.shared.matrix_bytes() - held) // 4
        return int(np.clip(room, 1, min(count_jobs(self.shared.n_jobs), max(tasks, 1))))

    def _fit_path(
        self, group: _Group, f: int, path: list[int], jobs: int, running: set[FitPath]
    ) -> list:
        """A fitted model, or the failure of its fit, for all candidates of a path."""
        start = time.perf_counter()
        train = self.splits[f][0]
        X = self.rows(train)
        y = None if self.y is None else self.y[train]
        fit_params = _check_method_params(np.empty(self.n), self.fit_params, train)
        models: list[Any] = [self._on_rows(self.models[i], group.kernel, jobs) for i in path]
        handed = models[0]._new_path(models)
        running.add(handed)
        for k, model in enumerate(models):
            model._path = handed
            try:
                model.fit(X, y, **fit_params)
            except Exception as error:
                models[k] = _Failure(error, error.__traceback__)
            model._path = None  # it holds the fold's K
            if handed.stopped.is_set() or handed.interrupted:
                raise KeyboardInterrupt  # a solver keeps its best: here nobody wants it
        running.discard(handed)
        self.seconds[path, f] += (time.perf_counter() - start) / len(path)
        return models

    def _on_rows(self, model: KernelLearner, kernel: Kernel | None, jobs: int) -> KernelLearner:
        """A copy that reads row numbers; the kernel's arguments beside it are in the kernel."""
        defaults = inspect.signature(type(model)).parameters
        beside = {
            name: defaults[name].default
            for name in ("gamma", "degree", "coef0", "kernel_params")
            if name in defaults
        }
        if jobs > 1:
            beside["n_jobs"] = 1  # the fits share the cores
        if model.memory is None:
            beside["memory"] = max(self.shared.memory // jobs, 1)
        copy: Any = clone(model)
        return copy.set_params(kernel=SharedKernel(kernel, self.shared), **beside)


def in_words(kernel: Kernel) -> str:
    """The kernel's repr on one line, numbers of numpy as plain ones."""
    return re.sub(r"np\.\w+\(([^()]*)\)", r"\1", " ".join(repr(kernel).split()))
