"""The automatic estimators: they choose and tune a kernel machine for a table.

`fit` infers the kinds of the columns, encodes them, tries candidates (kernels with learnt or equal
column weights, in ridge and support vector machines) and two baselines on the same folds within a
time budget, and fits the winner again on all rows. On a large table a quick machine is fitted to
all rows first, which counts if the last fit is not done in time. ``leaderboard_`` has the scores of
all candidates. ``schedule_`` has their order and settings, and ``replay=`` repeats it exactly.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from copy import copy
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import Seed, estimator
from mercer.explain import Explainable, Explained, ShapleyValues, kept_rows, shapley_values
from mercer.gram import ApproximationWarning, Place
from mercer.learners.additive import ColumnReasons
from mercer.learners.base import check_count, check_weights, read_like_fitted, remember_table
from mercer.machines import (
    REFERENCE,
    SearchSettings,
    Sizes,
    Speed,
    Task,
    compressed,
    mean_name,
    metric_named,
)
from mercer.machines.candidates import (
    Candidate,
    Planned,
    Recipe,
    column_weights,
    final_entry,
    least_memory,
    planned_fits,
)
from mercer.persistence import KeepsRecords, fields, whole
from mercer.samples import EncodedColumns, kind_of, recognised, said_of_form
from mercer.selection.automatic.kernel_machine import (
    EARLY,
    FinalFit,
    Fitter,
    KernelMachine,
    fit_machines,
    mean_of,
)
from mercer.selection.automatic.shown import (
    Reasons,
    columns_of_sources,
    explained_as,
    find_reasons,
    fitted_html,
    winner_code,
)
from mercer.selection.automatic.trials import EarlierTrials, Trials, fingerprint
from mercer.spoken import seconds
from mercer.tables import (
    Column,
    EncodedTable,
    ReadTable,
    Related,
    RowHashes,
    TableEncoder,
    column_notices,
    default_metric,
    hold_trends,
    infer_columns,
    said_of_one_column,
    spare_telling_texts,
)
from mercer.threads import Clock, fitting, forget, paying_threads

EARLY_SHARE = 0.3  # of the time, for a machine of all rows before the search


@fields(_stored=whole())
@estimator
class AutomaticKernel(KeepsRecords, Explainable, BaseEstimator):
    """Abstract: the parts of the classifier and the regressor that are the same.

    Parameters
    ----------
    time : float or str
        Time budget of ``fit`` in seconds or as "5min"; small tables need less.
    metric : str, optional
        What is optimised.
    trials : int, optional
        A fixed number of candidates instead of a time budget: gives the same model on any machine.
    kind : dict, optional
        Column name -> "number", "category", "date", "text", "sequence", "set", "vector",
        "identifier" or "drop", for columns whose kind should not be inferred.
    drop : list, optional
        Columns to leave out.
    only : {None, "kernels"}
        None keeps what predicts left-out rows best, even if that is a simple model: the constant,
        or a linear model on splines. "kernels" keeps the best kernel machine.
    machines : list of KernelMachine, optional
        What is fitted without a search, as ``code`` of an earlier fit writes it; of several
        machines their mean.
    replay : list of dict, optional
        The ``schedule_`` of an earlier fit, to repeat it.
    random_state : int, RandomState or None
        Seed of all that is drawn at random.
    progress : callable, optional
        Called before each trial with a dict: trial, done, of, leaderboard.
    """

    _: KW_ONLY
    time: float | str = 120
    memory: int | float | str | None = None
    trials: int | None = None
    metric: str | None = None
    kind: dict | None = None
    drop: list | None = None
    only: str | None = None
    machines: list[KernelMachine] | None = None
    replay: list[dict] | None = None
    random_state: Seed = 0
    n_jobs: int | None = None
    progress: Callable[[dict[str, Any]], object] | None = None

    task: ClassVar[str]
    records: ClassVar[dict[str, type]] = {"columns_": Column, "kind": Column}
    sizes: ClassVar[Sizes] = Sizes()

    #: rows that stand for all, their weights, and by how much they are nearer than a fifth of them;
    #: None in files of earlier versions
    background_ = background_weights_ = background_nearer_ = None
    spread_ = None  # how far off predictions are, of numbers and if a search was made
    targets_ = None  # the names of several targets
    moving_ = trend_ = ()  # labels of the features that move with the times of a fit

    @abstractmethod
    def _read_target(self, y: Any, n: int, order: list | None = None) -> tuple[Task, np.ndarray]:
        """The task, and y validated against n rows; ``order`` is what is known of its classes."""

    def fit(self, X, y, sample_weight=None, *, groups=None, times=None, resume=None) -> Self:
        """Infer the kinds of the columns, search, and fit the winner on all rows.

        Parameters
        ----------
        X : data frame (pandas, polars, arrow) or array of shape (n, d)
            A list or column of strings or sets is a table with the one column 0.
        y : array-like of shape (n,), for `KernelRegressor` also (n, targets)
        sample_weight : array-like of shape (n,), optional
            Weights >= 0 of the rows in losses and scores. Rows of weight 0 are left out. The kinds
            of the columns are inferred from the other rows, without their weights.
        groups : array-like of shape (n,) or "scaffold", optional
            Rows of one group, such as a patient, are never in two folds of the search. "scaffold":
            molecules of one Bemis-Murcko scaffold are one group. Without groups and times, equal
            molecules are one group.
        times : array-like of shape (n,), optional
            Numbers, dates or texts that sort by time: each of three periods is predicted from the
            rows before it. Penalties are still chosen by leaving out single rows.
        resume : KernelClassifier or KernelRegressor, optional
            An earlier fit to the same rows with the same metric and seed, such as one that was
            interrupted: its trials are not repeated, and the search goes on after them.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            ``resume`` was fitted to other rows, or with another metric, seed or kind of columns.
        KeyboardInterrupt
            After Ctrl-C. If at least one trial was complete, the best model so far is fitted
            before, and ``interrupted_`` says what was cut short.
        """
        self.fit_and_encode(X, y, sample_weight, groups=groups, times=times, resume=resume)
        if self.interrupted_ is not None:
            raise KeyboardInterrupt
        return self

    @fitting
    def fit_and_encode(
        self, X, y, sample_weight=None, *, groups=None, times=None, resume=None
    ) -> EncodedTable:
        """`fit`, and return the rows of X as they were read and encoded, for further use.

        The estimator does not keep them. Rows of weight 0 are left out. After Ctrl-C this returns
        with the best model so far, if there is one: see ``interrupted_``.
        """
        known = None if resume is None else EarlierTrials.of(resume)
        forget(self)
        limit = seconds(self.time)
        clock = Clock(limit if self.trials is None and self.replay is None else None)
        # where the clock decides what is tried, it may decide about threads too
        threads = paying_threads() if clock.limited else nullcontext()
        with threads, warnings.catch_warnings():
            # scikit-learn's, from each of many fits; a notice says it once
            warnings.filterwarnings("ignore", "The number of unique classes is greater")
            # nobody asked for an exact machine; `solver_` says what the chosen one is
            warnings.simplefilter("ignore", ApproximationWarning)
            return self._search(clock, X, y, sample_weight, groups, times, known)

    def _search(
        self, clock: Clock, X, y, sample_weight, groups, times, known: EarlierTrials | None
    ) -> EncodedTable:
        """Search, and fit what was found."""
        if self.metric is not None:
            metric_named(self.metric, self.task)  # a wrong name is refused before any work
        if self.only not in (None, "kernels"):
            raise ValueError(
                f'only={self.only!r}: give "kernels" for a kernel machine, or None for what '
                "predicts best."
            )
        memory = Place(self.memory).budget()
        if self.trials is not None and not (self.trials == int(self.trials) and self.trials >= 1):
            raise ValueError(f"trials={self.trials!r}: give a whole number, at least 1.")
        table, task, y, weights, kept = self._read(X, y, sample_weight)
        by = groups if isinstance(groups, str) else ""
        related = Related.read(None if by else groups, times, len(kept))
        related = None if related is None else related.take(np.flatnonzero(kept))
        n = len(y)
        name = self.metric or default_metric(self.task, y, ordered=task.ranks is not None)
        metric = metric_named(name, self.task).on(task.ranks)
        self.metric_ = metric.name
        if n < 2:
            raise ValueError(f"X has n_samples = {n}: give at least 2 rows to learn from.")
        _check_memory(memory, n)
        remember_table(self, table)
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        columns = infer_columns(table.columns, self._kinds(X, table), self.drop)
        targets = task.targets(y)
        self.columns_ = spare_telling_texts(columns, table.columns, targets, self._seed)
        if related is None:
            related = Related.of_columns(self.columns_, table.columns, by)
        self.notices_ = column_notices(self.columns_) + self._said_of_form(X, table)
        if np.all(y == y[0]):
            self.notices_.append("The target is constant, so the prediction is constant too.")
        if task.classes is not None and 2 * len(task.classes) > n:
            self.notices_.append(
                f"The target has {len(task.classes):,} classes in {n:,} rows, so most classes are "
                "met once or twice: if they are numbers, fit a regression (--task regression)."
            )
        self.encoder_ = TableEncoder(self.columns_).fit(table)
        rows = self.encoder_.encoded(table)
        for samples in rows.matrix.objects.values():
            if (kind := kind_of(samples)) is not None:
                kind.ready(samples)
        self.row_hashes_ = self._hashed(rows, y)
        if related is not None:
            self.moving_ = related.moving(self.encoder_.features_, rows.matrix)
            self.trend_ = self.moving_ if hold_trends(self.columns_) else ()
        settings = SearchSettings(
            task, self.encoder_.features_, rows.matrix, y, metric, memory, self._seed,
            weights=weights, related=related, moving=self.moving_, trend=self.trend_,
            clock=clock, n_jobs=self.n_jobs, only=self.only, progress=self.progress,
            sizes=self.sizes,
            speed=Speed.measured() if clock.limited else REFERENCE,
        )  # fmt: skip
        settings = replace(settings, task=self._on_its_scale(settings))
        if self.machines is not None:
            self._fit_given(self.machines, settings)
            self._keep_background(rows.matrix)
            self.seconds_ = self.final_seconds_ = clock.spent()
            return rows
        search, fitter = Trials(settings), Fitter(settings)
        state = search.state
        self.searched_ = fingerprint(
            table.columns, y, weights, related, metric.name, self._seed, self.encoder_.features_
        )
        if known is not None:
            search.remember(known.checked(self.searched_))
        reads_all = EARLY.suits(self.encoder_.features_) and not settings.objects
        early = None
        if clock.limited and n > self.sizes.one_rung_rows and reads_all:
            # from here on there is a model
            plan = Recipe(rank=state.finals.affordable(self.sizes.smallest_rank))
            early = clock.share(EARLY_SHARE).within(lambda _: fitter.fit(EARLY, plan))
        planned = search.run(self.trials) if self.replay is None else search.replay(self.replay)
        began = clock.spent()
        last = FinalFit(search, fitter, early)
        self.machine_, self._stored = last.run(planned)
        self._keep_background(rows.matrix)
        self.leaderboard_ = state.board.table()
        self.schedule_ = [*(tried.entry for tried in state.schedule), final_entry(last.planned)]
        self.interrupted_ = "final fit" if last.cut else "search" if state.interrupted else None
        self.notices_ += state.notices + last.notices
        self.winner_ = last.candidates[0].entry
        self.winner_name_ = mean_name([candidate.name for candidate in last.candidates])
        self._learn_from_left_out(search, last)
        self.seconds_ = clock.spent()
        self.final_seconds_ = self.seconds_ - began
        return rows

    def _fit_given(self, machines: list[KernelMachine], settings: SearchSettings) -> None:
        """Fit the machines that a user gave, instead of a search."""
        planned, (self.machine_, self._stored) = fit_machines(machines, settings)
        candidates = [candidate for candidate, _ in planned]
        self.winner_, self.schedule_ = candidates[0].entry, [final_entry(planned)]
        self.winner_name_ = mean_name([candidate.name for candidate in candidates])
        self.leaderboard_ = [  # without scores, as nothing was left out
            {"rank": 1, "name": self.winner_name_,
             "baseline": all(candidate.simple for candidate in candidates), "rows": len(settings.y)}
            | dict.fromkeys(("score", "loss", "spread", "seconds"), np.nan)
        ]  # fmt: skip
        self.searched_ = self.interrupted_ = None

    def _on_its_scale(self, settings: SearchSettings) -> Task:
        """The task, on the scale that suits its targets."""
        return settings.task

    @abstractmethod
    def _learn_from_left_out(self, search: Trials, last: FinalFit) -> None:
        """Learn what predictions for rows that were left out tell of those of the final fit."""

    def _again(self, task: Task, y: np.ndarray, weights: object) -> Task:
        """The task of other rows, on the scale of the search."""
        return task

    def _hashed(self, rows: EncodedTable, y: np.ndarray) -> Any:
        """The hashes of some rows."""
        return RowHashes.of(rows, y)

    @property
    def parts_(self) -> list[tuple[Any, Candidate, Recipe]]:
        """Each machine, what it was called in the search, and how it was fitted."""
        return [(part, *each) for part, each in zip(self.machine_.parts, self._planned())]

    def __sklearn_is_fitted__(self) -> bool:
        return "machine_" in vars(self)

    def _planned(self) -> list[Planned]:
        """The winner, and its partners if they have a mean, with their final fits."""
        return planned_fits(self.schedule_[-1], Candidate.of(self.winner_))

    def refit(self, X, y, sample_weight=None) -> Self:
        """Fit the winner of the search on other rows of the same table, without a new search.

        Columns keep their inferred kinds. The kernel keeps its weights if the rows have the same
        features. The leaderboard does not change.
        """
        self.refit_and_encode(X, y, sample_weight)
        return self

    @fitting
    def refit_and_encode(self, X, y, sample_weight=None) -> EncodedTable:
        """`refit`, and return the rows of X, as `fit_and_encode` does."""
        check_is_fitted(self)
        again = copy(self)  # what is refused or interrupted leaves the model as it is
        rows = again._fit_again(read_like_fitted(self, ReadTable.of(X)), y, sample_weight)
        vars(self).update(vars(again))
        return rows

    def _fit_again(self, X: ReadTable, y: Any, sample_weight: Any) -> EncodedTable:
        """Fit the machines that were found to other rows."""
        table, task, y, weights, _ = self._read(X, y, sample_weight)
        features, planned = self.encoder_.features_, self._planned()
        kernels = [part.kernel if candidate.keeps_kernel else None
                   for part, candidate, _ in self.parts_]  # fmt: skip
        self.encoder_ = TableEncoder(self.columns_).fit(table)
        if self.encoder_.features_ != features:
            kernels = [None] * len(planned)
        rows, task = self.encoder_.encoded(table), self._again(task, y, weights)
        self.row_hashes_ = self._hashed(rows, y)
        settings = SearchSettings(
            task, self.encoder_.features_, rows.matrix, y,
            metric_named(self.metric_, self.task).on(task.ranks),
            Place(self.memory).budget(), self._seed, weights=weights, n_jobs=self.n_jobs,
        )  # fmt: skip
        fitter = Fitter(settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ApproximationWarning)
            fitted = [fitter.fit(*each, kernel) for each, kernel in zip(planned, kernels)]
        self.machine_, self._stored = mean_of(task, fitted, planned)
        self._keep_background(rows.matrix)
        return rows

    def refit_seconds(self, times: float) -> float:
        """Seconds of a `refit` to so many times the rows of the search, told by its final fits."""
        linear = all(plan.rank or plan.leaf_rows for _, plan in self._planned())
        return self.final_seconds_ * times ** (1 if linear else 2)

    @fitting
    def compress(self, X, rank: int) -> Self:
        """Replace the machine by one with ``rank`` centres, which predicts faster.

        The new machine is fitted to the outputs of the old one on the rows of X, and keeps its
        calibration. A prediction then costs ``rank`` values of the kernel. The loss is small where
        the kernel is wide; measure it on rows that were held out.

        Parameters
        ----------
        X : table, or its encoded rows
            The rows that the estimator was fitted to, as a table or from `encode`.
        rank : int
            Centres; 300 to 2,000 are enough for most tables.
        """
        check_is_fitted(self)
        check_count("rank", rank)
        M = X if isinstance(X, EncodedColumns) else self.encode(X)
        self.machine_ = compressed(
            self.machine_, self.machine_.smooth_kernel, M, min(rank, len(M)),
            memory=Place(self.memory).budget(), n_jobs=self.n_jobs, random_state=self._seed,
        )  # fmt: skip
        self._stored, self._given = self.machine_.stored, None
        return self

    def _read(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> tuple:
        """Columns, task, targets and weights of the rows of weight > 0, and a mask of these."""
        table = ReadTable.of(X)
        n = len(table)
        weights = check_weights(np.empty((n, 0)), sample_weight)
        task, y = self._read_target(y, n)
        kept = np.ones(n, bool) if weights is None else weights > 0
        self._given = None
        if weights is None or kept.all():
            return table, task, y, weights, kept
        self._given = np.flatnonzero(kept)
        task, y = self._read_target(y[kept], int(kept.sum()), task.order)
        return table[kept], task, y, weights[kept], kept

    @property
    def kernel_(self) -> Any:
        """The winning kernel, bound to the encoded columns of ``encoder_``; of a mean the first."""
        return self.machine_.kernel

    @property
    def X_fit_(self) -> Any:
        """The encoded rows that the machine compares new rows with; of a mean, the first one."""
        return self.machine_.learner.X_fit_

    @property
    def stored_rows_(self) -> np.ndarray:
        """The numbers, from 0, of the training rows that ``X_fit_`` holds."""
        return self._stored if self._given is None else self._given[self._stored]

    @property
    def solver_(self) -> str:
        """A description of the machine: its solver, and what was chosen for it."""
        return self.machine_.description

    def encode(self, X) -> EncodedColumns:
        """New rows as ``machine_`` reads them."""
        return self.encode_table(X).matrix

    def encode_table(self, X) -> EncodedTable:
        """New rows as they were read and encoded, which every method takes in place of X."""
        check_is_fitted(self)
        return self.encoder_.encoded(read_like_fitted(self, X))

    def _answers(self, X) -> np.ndarray:
        """Predictions or probabilities for raw rows."""
        M = self.encode(X)
        return self.machine_(M)

    def relevance(self) -> dict[str, float]:
        """The learnt weight of each column in the kernel, the largest first.

        Empty if the winner has no learnt weights; of a mean, the first learnt ones. A weight
        of 0 means that the column does not matter. If columns were chosen, they have equal weights.
        """
        check_is_fitted(self)
        learnt = [(candidate, part.kernel) for part, candidate, _ in self.parts_ if candidate.learn]
        if not learnt:
            return {}
        weights = column_weights(*learnt[0], self.encoder_.features_)
        return dict(sorted(weights.items(), key=lambda item: -item[1]))

    def reasons(self, X, most: int = 3) -> Reasons | ColumnReasons:
        """The training rows that speak most for and against the prediction of each row of X.

        Parameters
        ----------
        X : table of n rows
        most : int
            How many rows for, and how many against.

        Returns
        -------
        reasons : Reasons
            ``rows`` and ``shares``, ``against`` and ``against_shares``, all of shape (n, most).
            Rows are counted from 0, in the order of the rows that were given to ``fit``. An
            additive model rests on no rows: it has `ColumnReasons`, the columns and pairs that move
            each prediction most.
        """
        return find_reasons(self, X, most)

    def shapley_values(self, X, background=None, **options) -> ShapleyValues:
        """What each column adds to the prediction of each row of X.

        Parameters
        ----------
        X : table of n rows
        background : table, optional
            Rows that predictions are compared with. None takes the up to 100 training rows that the
            model has kept, which stand for all.
        **options
            Further arguments of `mercer.explain.shapley_values`, which is called.
        """
        return shapley_values(self, X, background, **options)

    def explained(self, output) -> Explained:
        """What the model is made of, for `mercer.explain`."""
        check_is_fitted(self)
        return explained_as(self, output)

    def _keep_background(self, M: EncodedColumns) -> None:
        """Keep the rows that explanations compare new rows with."""
        self.background_, self.background_weights_, self.background_nearer_ = kept_rows(
            self.machine_.summands(),
            columns_of_sources(self.encoder_.features_),
            M,
            self._seed,
            Place(self.memory).budget(),
        )

    def code(self) -> str:
        """Python that fits the winner to ``X, y`` again, without a search.

        It has the kernel of each machine and its parameters, and predicts the same. Rows that had
        weights need the same ones again. A learnt map of many columns is learnt again.
        """
        check_is_fitted(self)
        return winner_code(self)

    def report(self, path, X, y, **options) -> None:
        """Write the report of ``mercer fit``: one HTML file, complete in itself.

        Parameters
        ----------
        path : str or path
            An existing file is replaced.
        X, y : rows that the estimator was not fitted to
            The score and the errors in the report are those on these rows.
        **options
            Of `mercer.plots.save_report`. With ``train=(X, y)``, the rows of ``fit``, the report
            also tells what the predictions depend on, and whether more rows would help.
        """
        from mercer.plots.report import save_report

        check_is_fitted(self)
        save_report(path, self, X, y, **options)

    def _repr_html_(self) -> str:
        """What a notebook shows: of a fitted estimator the winner, its score and what it uses."""
        return fitted_html(self) if self.__sklearn_is_fitted__() else super()._repr_html_()

    def _repr_mimebundle_(self, **kwargs) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    # --- columns ------------------------------------------------------------------------------

    def _kinds(self, X, table) -> dict | None:
        """``kind``; if X is a list of strings instead of a table, the strings are texts, and if its
        form tells the kind of its samples, they are of that kind."""
        found = recognised(X) if self.kind is None else None
        if found is None:
            return self.kind
        (kind, _), ((name, cells),) = found, table.columns.items()
        texts = isinstance(next((cell for cell in cells if cell is not None), None), str)
        told = texts or kind.form_of(X) is not None
        return {name: kind.column} if told and kind.column else None

    def _said_of_form(self, X, table) -> list[str]:
        """How samples were read that would be read otherwise in another form."""
        if self.kind is not None:
            return []
        return said_of_form(X) or said_of_one_column(self.columns_, table.columns)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = tags.input_tags.sparse = True
        return tags


def _check_memory(memory: int, n: int) -> None:
    """Raise MemoryError if memory is too small for the Gram matrix of the learning rows."""
    least = least_memory(n)
    if memory < least:
        raise MemoryError(
            f"memory= allows {memory:,} bytes, but {n:,} rows need at least "
            f"{-(-least // 10**6)}MB: give at least this much, or memory=None for half of the free "
            "memory."
        )
