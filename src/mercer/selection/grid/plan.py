"""The order in which a search fits its candidates, and what those that stand together share.

Candidates are grouped by kernel: when the first fit of a group is asked for, its Gram matrix is
computed, and all its candidates are fitted on all folds. Within a group, candidates that differ
in one penalty alone form a path, along which the learner shares its solver.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import takewhile
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import _check_method_params

from mercer.distances import float_range
from mercer.kernels import Kernel, Precomputed, Radial
from mercer.learners.base import KernelLearner, Training, check_weights
from mercer.samples import Samples
from mercer.selection.grid.sharing import (
    Fit,
    SharedMatrices,
    copies,
    fit_along,
    fit_left_out,
    key_of,
    leave_one_out,
)
from mercer.threads import count_jobs, ordered_map

TASKS = 16  # fits of a path to a fold that each thread gets, before new matrices are computed
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
    by_fold : bool
        Whether all this is done anew in each fold, whose samples earlier steps of a pipeline make.
    left_out : bool
        Whether what each row gets without it comes from one fit to all rows.
    """

    candidates: list[int]
    kernel: str
    level: str
    path: str | None = None
    reason: str = ""
    by_fold: bool = False
    left_out: bool = False

    def __str__(self) -> str:
        some = ", ".join(map(str, self.candidates[:6]))
        more = " ..." if len(self.candidates) > 6 else ""
        of = f" of {self.kernel}" if self.kernel else ""
        along = f", fits along {self.path}" if self.path else ""
        along += ", rows left out of one fit" if self.left_out else ""
        why = f" ({self.reason})" if self.reason else ""
        fold = "in each fold " if self.by_fold else ""
        return f"candidates {some}{more}{of}: {fold}{LEVELS[self.level]}{along}{why}"


class _Task(NamedTuple):
    """Fits of the candidates of a path to the training rows of a fold."""

    group: _Group
    fold: int
    path: list[int]


class _Group:
    """Candidates of one kernel; ``paths`` holds lists of them that differ in a penalty alone."""

    def __init__(self, kernel: Kernel, samples: Samples):
        self.kernel, self.samples = kernel, samples
        self.paths: list[list[int]] = []
        self.bound: list[Any] = []  # in each fold
        self.sharing = Sharing([], "", "fold")
        #: a key of the distance that the kernel is a profile of; None for other kernels
        self.distance = key_of(kernel.distance) if isinstance(kernel, Radial) else None

    @property
    def candidates(self) -> list[int]:
        return sorted(i for path in self.paths for i in path)


class Plan:
    """The fits of a search, made group by group when the first of a group is asked for (`fit`).

    The models are the candidates, with their parameters set; X are raw samples. Of ``fit_params``,
    what has a value for each row is split along with y. ``memory`` are bytes for the shared
    matrices.
    """

    def __init__(self, models, X, y, fit_params: dict, splits, memory: int, n_jobs: int | None):
        self.models: list[KernelLearner] = models
        self.y, self.fit_params = y, fit_params
        self.shared = SharedMatrices(memory, n_jobs)
        self.groups = self._group(X)  # in the order that computes each matrix once
        self.n = self.groups[0].samples.shape[0]
        every = np.arange(self.n)  # splits may be masks, or count from the end
        self.splits = [(every[train], every[test]) for train, test in splits]
        #: whether each fold leaves out one row
        self.alone = all(leave_one_out(train, test, self.n) for train, test in self.splits)
        #: the time of each fit: its part of the time of all that shared, (candidates, splits)
        self.seconds = np.zeros((len(models), len(splits)))
        self._fits: dict[tuple[int, bytes], Fit] = {}
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

    def fit(self, i: int, rows: np.ndarray) -> tuple[KernelLearner, Any]:
        """The fit of candidate i to the rows of a fold, and all samples as it reads them.

        An error that the fit raised is raised.
        """
        group = self._of[i]
        if group not in self._open:
            self._enter(self._batch(group))
        fit = self._fits[i, rows.tobytes()]
        if fit.error is not None:
            raise fit.error.with_traceback(fit.trace)
        return fit.model, fit.samples

    def __sklearn_clone__(self) -> Plan:
        return self  # what has been fitted is not copied

    def close(self) -> None:
        """Forget all matrices and models."""
        self.shared.forget()
        self._fits.clear()

    # --- what is shared -----------------------------------------------------------------------

    def _group(self, X: Samples) -> list[_Group]:
        """Groups of equal kernels; those of equal distances stand together."""
        groups: dict[Any, _Group] = {}
        paths: dict[Any, list[int]] = {}
        encoded: dict[Any, Any] = {}
        for i, model in enumerate(self.models):
            kernel = model.resolve_kernel()
            key = key_of(kernel)
            if key not in groups:
                encoding = kernel.encoding()
                if encoding in encoded:
                    kernel.check(encoded[encoding])
                else:
                    encoded[encoding] = float_range(kernel.encode(X))
                groups[key] = _Group(kernel, encoded[encoding])
            params, name = model.get_params(deep=False), model.path_parameter
            alike = i
            if name is not None and isinstance(params[name], Real):
                alike = key_of({**params, name: None, "kernel": None})
            if (key, alike) not in paths:
                paths[key, alike] = []
                groups[key].paths.append(paths[key, alike])
            paths[key, alike].append(i)
        for path in paths.values():
            if len(path) > 1:
                path.sort(key=self._penalty)
        families: dict[Any, list[_Group]] = {}
        for position, group in enumerate(groups.values()):
            families.setdefault(group.distance or position, []).append(group)
        return [group for family in families.values() for group in family]

    def _penalty(self, i: int) -> Any:
        model = self.models[i]
        return getattr(model, str(model.path_parameter))

    def _decide(self, group: _Group) -> None:
        """Bind the kernel in each fold, and see what that leaves to share within the budget."""
        longest = max(group.paths, key=len)
        path = self.models[longest[0]].path_parameter if len(longest) > 1 else None
        level, reason = self._level(group)
        group.sharing = Sharing(group.candidates, in_words(group.kernel), level, path, reason)

    def _level(self, group: _Group) -> tuple[str, str]:
        """The level, and why it is no higher."""
        kernel, shared = group.kernel, self.shared
        if kernel.reads.pairwise:
            return "gram", ""
        try:
            group.bound = bound = [self._bound(group, train) for train, _ in self.splits]
        except Exception as error:  # each fit will say so
            return "fold", f"the kernel cannot be bound: {error}"
        shared.use(group.samples)
        one = shared.matrix_bytes()
        if one * 4 > shared.memory:  # solvers need room for a fold's part and its factors
            return "fold", f"a matrix of {one / 1e9:.2g} GB and its factors exceed memory="
        devices = {self.models[i].place.device for path in group.paths for i in path}
        if not all(shared.made_here(bound[0], device) for device in devices):
            return "fold", "its Gram matrix lives elsewhere"
        twice = one * 6 <= shared.memory
        siblings = group.distance and sum(g.distance == group.distance for g in self.groups) > 1
        if len({key_of(b) for b in bound}) == 1:
            if siblings and twice:
                return "gram of distances", ""
            return "gram", "memory= has no room for distances beside it" if siblings else ""
        reason = f"{type(kernel).__name__} learns from the training rows of each fold"
        if len({key_of(getattr(b, "distance", i)) for i, b in enumerate(bound)}) == 1:
            return "distances", reason
        return "fold", reason

    def _bound(self, group: _Group, train: np.ndarray) -> Kernel:
        """The kernel as the fits of a fold bind it."""
        training = self._training(group.samples, train)
        return self.models[group.paths[0][0]].bind_kernel(group.kernel, training)

    def _training(self, samples: Samples, rows: np.ndarray | None = None) -> Training:
        """Some rows as fits have them; None means all, which are not copied."""
        weights, y = check_weights(samples, self.fit_params.get("sample_weight")), self.y
        if rows is None:
            training = Training(samples, y, None, np.arange(self.n), samples.shape)
        else:
            X, weights = samples[rows], None if weights is None else weights[rows]
            training = Training(X, None if y is None else y[rows], None, rows, X.shape)
        return training if weights is None else training.weighed(weights)

    # --- fits ---------------------------------------------------------------------------------

    def _batch(self, first: _Group) -> list[_Group]:
        """Groups that keep all threads at work, almost to the end: some tasks for each thread.

        One by one, threads would wait while others fit the last folds of each.
        """
        if not first.sharing.level.startswith("gram"):
            return [first]
        self.shared.use(first.samples)
        threads = count_jobs(self.shared.n_jobs)
        spare = self.shared.memory // self.shared.matrix_bytes() - 4 * threads  # fits take the rest
        start = self.groups.index(first)
        wanted = max(threads, -(-TASKS * threads // max(len(self._folds), 1)))
        batch = self.groups[start : start + max(1, min(wanted, spare - 1))]

        def alike(group: _Group) -> bool:
            same = group.samples is first.samples and group.distance == first.distance
            return same and group.sharing.level == first.sharing.level

        return list(takewhile(alike, batch))

    def _enter(self, batch: list[_Group]) -> None:
        """Compute what the groups share, and all their fits; those of the last are forgotten."""
        start = time.perf_counter()
        self._open = batch
        self._fits.clear()
        self.shared.use(batch[0].samples)
        self.shared.forget_grams()
        ready = self._held(batch)
        paths = [(g, [i for i in path if i in self._wanted]) for g in ready for path in g.paths]
        paths = [(g, path) for g, path in paths if path and not self._leave_out(g, path)]
        tasks = [_Task(g, f, path) for g, path in paths for f in self._folds]
        opening = (time.perf_counter() - start) / max(1, sum(len(task.path) for task in tasks))
        for task in tasks:
            self.seconds[task.path, task.fold] += opening
        jobs = self._jobs(len(ready), len(tasks))
        fits = ordered_map(lambda task: self._fit_path(task, jobs), tasks, jobs)
        for task, found in zip(tasks, fits, strict=True):
            train = self.splits[task.fold][0].tobytes()
            self._fits.update({(i, train): fit for i, fit in zip(task.path, found)})

    def _held(self, batch: list[_Group]) -> list[_Group]:
        """The groups whose shared matrices could be computed; an error is that of each fit."""
        try:
            self._hold(batch)
        except Exception:
            pass  # one by one, to see which kernels it is of
        else:
            return batch
        ready = []
        for group in batch:
            try:
                self._hold([group])
            except Exception as error:
                failed = Fit(None, None, error, error.__traceback__)
                for f in self._folds:
                    train = self.splits[f][0].tobytes()
                    self._fits.update({(i, train): failed for i in group.candidates})
            else:
                ready.append(group)
        return ready

    def _hold(self, groups: list[_Group]) -> None:
        """Compute what the fits of some groups share."""
        first, level = groups[0], groups[0].sharing.level
        if level == "distances" or (level == "gram of distances" and self._more_to_come(first)):
            self.shared.hold_distances(first.bound[0])
        if level == "gram of distances":
            kernels = [group.bound[0] for group in groups]
            self.shared.hold_profiles(kernels, [self._room(group) for group in groups])
        elif level == "gram" and first.bound:
            for group in groups:
                self.shared.hold_gram(group.bound[0], self._room(group))

    def _more_to_come(self, first: _Group) -> bool:
        """Whether later groups, beyond those that are open, read the same distances."""
        return any(
            group.distance == first.distance
            and group.samples is first.samples
            and group not in self._open
            and not self._wanted.isdisjoint(group.candidates)
            for group in self.groups[self.groups.index(first) :]
        )

    def _room(self, group: _Group) -> float:
        """The relative error of K's entries that all fits of a group leave room for."""
        training = self._training(group.samples)
        try:
            return min(self.models[i].entry_room(training) for i in group.candidates)
        except Exception:  # each fit will say so
            return 0.0

    def _jobs(self, groups: int, tasks: int) -> int:
        """Fits at a time: each holds its rows of K, and the factors of its solver beside."""
        held = groups + (self.shared.distances is not None)
        room = (self.shared.memory // self.shared.matrix_bytes() - held) // 4
        return int(np.clip(room, 1, min(count_jobs(self.shared.n_jobs), max(tasks, 1))))

    def _looked_up(self, group: _Group, fold: int) -> tuple[Kernel | None, Any]:
        """What stands for the kernel in the fits of a fold, and the samples that it reads; None
        where it is the kernel itself."""
        if not group.bound or group.sharing.level == "fold":
            return None, group.samples
        if group.sharing.level == "distances":
            return self.shared.of_distances(group.bound[fold])
        return self.shared.gram(group.bound[0])

    def _fit_path(self, task: _Task, jobs: int) -> list[Fit]:
        """The fits of all candidates of a path, in the order of their penalties."""
        start = time.perf_counter()
        train = self.splits[task.fold][0]
        kernel, samples = self._looked_up(task.group, task.fold)
        y = None if self.y is None else self.y[train]
        models = self._copies(task.path, kernel, jobs)
        fits = fit_along(models, samples, train, y, self._fit_params(train))
        self.seconds[task.path, task.fold] += (time.perf_counter() - start) / len(task.path)
        return fits

    def _leave_out(self, group: _Group, path: list[int]) -> bool:
        """Whether the learner knows what fits to all rows but one give, from fits to all rows."""
        start = time.perf_counter()
        if not (self.alone and group.sharing.level.startswith("gram")):
            return False
        kernel, samples = self._looked_up(group, 0)
        fit_params = self._fit_params(np.arange(self.n))
        fits = fit_left_out(self._copies(path, kernel, 1), samples, self.y, fit_params)
        if fits is None:
            return False
        group.sharing = replace(group.sharing, left_out=True)
        for f in self._folds:
            train = self.splits[f][0].tobytes()
            self._fits.update({(i, train): fit for i, fit in zip(path, fits)})
        spent = (time.perf_counter() - start) / (len(path) * len(self._folds))
        self.seconds[np.ix_(path, self._folds)] += spent
        return True

    def _fit_params(self, train: np.ndarray) -> dict:
        return _check_method_params(np.empty(self.n), self.fit_params, train)

    def _copies(self, path: list[int], kernel: Kernel | None, jobs: int) -> list[Any]:
        """The models of a path, with their parts of threads and memory."""
        own = self.models[path[0]].n_jobs
        n_jobs = self.shared.n_jobs if own is None else own
        n_jobs = n_jobs if jobs == 1 else 1  # several fits at a time share the cores
        memory = max((self.shared.memory - self.shared.held_bytes()) // jobs, 1)
        return copies([self.models[i] for i in path], kernel, n_jobs, memory)


def in_words(kernel: Kernel) -> str:
    """The kernel's repr on one line, numbers of numpy as plain ones."""
    if isinstance(kernel, Precomputed):
        return "precomputed"
    return re.sub(r"np\.\w+\(([^()]*)\)", r"\1", " ".join(repr(kernel).split()))
