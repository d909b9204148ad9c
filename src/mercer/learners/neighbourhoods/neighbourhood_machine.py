"""What both learnt neighbourhoods share in a fit: columns, members and held-out rows.

`fit` reads the table, finds out which columns matter if there are many, and trains members, each
with its own held-out rows. answers.py has what they say of new rows: means of the members'
predictions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, field, replace
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from mercer.estimator import Seed, estimator
from mercer.learners.base import (
    check_targets,
    check_weights,
    different_rows,
    drawn_seed,
    remember_table,
)
from mercer.learners.neighbourhoods.answers import NeighbourhoodAnswers
from mercer.learners.neighbourhoods.trials import (
    KINDS,
    Design,
    Earlier,
    NetworkTrial,
    check_parameters,
    check_validation,
    ladder,
    mean_loss,
    rises,
    usable,
)
from mercer.persistence import fields, whole
from mercer.samples import EncodedColumns
from mercer.solvers.neighbourhoods import (
    HeldOutScores,
    NeighbourhoodResult,
    NeighbourhoodSolver,
    TrainingRows,
)
from mercer.spoken import seconds
from mercer.tables import EncodedRows, Feature, ReadTable, encoder_of, rows_of
from mercer.threads import count_jobs, forget

MOST_HELD = 2000
A_PAIR = 4e-9  # seconds of comparing a new row with a training row; no machine is far from it
MANY_COLUMNS = 12  # above so many, columns are pruned
FEWEST_HELD = 30  # with fewer held-out rows nothing is chosen by them
ROWS_A_STEP = 10  # of "auto" steps
FEWEST_STEPS, MOST_STEPS = 600, 3000  # of tables with 600 rows and more
FEWEST_OF_ALL = 100
GIVEN = -1  # the number of a split whose held-out rows were given to fit
FIRST_DROPOUT = 0.1  # of the network that tells which columns matter
LEAST_TO_JUDGE = 100  # steps after which a network says something about columns
PRUNING_TIME = 0.4  # its part of a limited time, with the networks on fewer columns


@fields(_given=whole())
@estimator
class NeighbourhoodMachine(NeighbourhoodAnswers):
    r"""Abstract: a mean over the rows that are near in a learnt space.

    Parameters
    ----------
    n_members : int
        Networks, each with its own start and held-out rows; predictions are means of theirs.
    width : int
        Numbers in z.
    hidden : int
        Units of the hidden layer; 0 is a linear map of the encoded columns, which learns faster.
    steps : int or "auto"
        Steps of training; "auto" is one for every 10 rows, within 600 to 3,000; fewer for tables
        of fewer rows than 600.
    batch, candidates : int
        Rows that a step predicts, and rows that it compares them with.
    learning_rate : float > 0
    dropout : float in [0, 1)
        Part of the hidden units that are left out of a step.
    scaling : {"auto", "normal", "standard"}
        Numbers as normal scores (the value of a standard normal variable of the same rank) or
        standardised; "auto" tries both on the held-out rows, and with several members keeps both
        if their mean is better there.
    prune : {"auto", True, False}
        Learn on all columns, then keep those that matter and learn again; "auto" does so above 12
        columns. The held-out rows decide how many are kept.
    validation_fraction : float in [0, 1)
        Part of the rows, at most 2,000, that judges which epoch is kept, and is not trained on.
        They vote in predictions.
    time : float, str or None
        At most so many seconds for ``fit``, or as "5min"; then there are fewer steps.
    warm_start : bool
        Go on from the fit before, to the same rows: each member is trained for ``steps`` more
        steps, in which the rate rises and falls again, and the held-out rows, which stay the same,
        choose among all steps so far. So their loss never rises; but it is not a fit of all the
        steps at once, where the rate falls once. More ``n_members`` than before are added.
    verbose : bool
        Print each checkpoint.
    progress : callable, optional
        Called at each checkpoint with a dict: run, step, loss, temperature.
    random_state : int, RandomState or None
        Seed of all that is drawn at random.

    Attributes
    ----------
    members_ : list
        The trained networks, each with its columns and z of the training rows.
    temperature_ : ndarray of shape (n_members,)
        :math:`\tau`, chosen by the held-out rows, in the end by all of them.
    kept_columns_ : list
        Names, or numbers, of the columns that are read.
    importances_ : dict
        Column -> how much the held-out loss rose when it was permuted; only where columns were
        pruned.
    rows_ : ndarray of shape (n,)
        Numbers of the training rows that vote; of copies the first one, and none of weight 0.
    validation_rows_ : ndarray of shape (n_held,)
        Numbers of the rows that the first member did not train on; those that were given to
        ``fit``, in ascending order.
    validation_predictions_ : ndarray of shape (n_held,) or (n_held, outputs)
        What the other rows predict for them; of classes the probabilities.
    scaling_ : {"normal", "standard"}
        That of the first member.
    n_steps_ : list of int
        Steps of each member.
    encoder_ : TableEncoder
        How columns become numbers and codes; rows that were encoded before stay as they are.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (columns,)
        Only if the columns have names.
    """

    _: KW_ONLY
    n_members: int = 1
    width: int = 32
    hidden: int = 256
    steps: int | str = "auto"
    batch: int = 256
    candidates: int = 1024
    learning_rate: float = 0.03
    dropout: float = 0.0
    scaling: str = "auto"
    prune: bool | str = "auto"
    validation_fraction: float = 0.15
    time: float | str | None = None
    warm_start: bool = False
    verbose: bool = False
    progress: Callable[[dict[str, Any]], object] | None = None
    random_state: Seed = None

    _earlier: Earlier | None = field(init=False)
    _judges: ClassVar[np.ndarray | None] = None  # the rows that a fit was given to judge it

    def _read(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, validation: Any, numeric: bool
    ) -> tuple[ReadTable | EncodedRows, np.ndarray, np.ndarray]:
        """The table, targets and weights of the rows of positive weight."""
        check_parameters(self.get_params(deep=False))
        _ = self.place
        self._earlier = self._before() if self.warm_start else None
        forget(self)
        vars(self).pop("_indexes", None)
        self._deadline = perf_counter() + (np.inf if self.time is None else seconds(self.time))
        if self._earlier is None:
            self._seed = drawn_seed(self.random_state)
        table = rows_of(X)
        n = len(table)
        vars(self)["_judges"] = check_validation(validation, n, self.warm_start)
        y = check_targets(np.empty((n, 0)), y, type(self).__name__, numeric=numeric)
        weights = check_weights(np.empty((n, 0)), sample_weight)
        remember_table(self, table)
        self._given = np.arange(n)
        if weights is None:
            return table, y, np.ones(n)
        self._given = np.flatnonzero(weights)
        return table[self._given], y[self._given], weights[self._given]

    def _learn(
        self,
        table: ReadTable | EncodedRows,
        codes: np.ndarray,
        Y: np.ndarray,
        w: np.ndarray,
        classes: bool,
    ) -> NeighbourhoodResult:
        """Set all that predictions need; ``codes`` tell equal targets, Y (n, outputs) is float32.

        Copies of a row are one row of the sum of their weights, and the order of the rows is that
        of a hash, so that neither changes what is learnt.
        """
        if len(w) < 2:
            raise ValueError(f"X has n_samples = {len(w)}: give at least 2 rows to learn from.")
        M = encoder_of(table).fit(table).encoded(table).matrix
        chosen, w = different_rows(M.numbers, codes, w, self._seed)
        self.encoder_ = encoder_of(table).fit(table[chosen])  # copies shift no ranks
        encoded = self.encoder_.encoded(table[chosen])
        M, features = encoded.matrix, encoded.features
        order, w = different_rows(M.numbers, codes[chosen], w, self._seed)
        chosen, M, Y = chosen[order], M[order], Y[chosen[order]]
        self.rows_ = self._given[chosen]
        self._targets, self._weights = Y, (w / w.mean()).astype(np.float32)
        names = usable(features)
        if not names:
            kinds = ", ".join(feature.name for feature in features[:10])
            raise ValueError(
                f"X has no column of numbers, dates or categories, but {kinds}: use "
                "KernelClassifier or KernelRegressor, which read texts and sets as well."
            )
        self._deadline -= A_PAIR * len(w) * self._count_held(len(w))  # the held-out rows' answers
        self._runs = 0
        earlier, self._earlier = self._earlier, None
        if earlier is None:
            members, last = self._begin(names, features, M, classes)
        else:
            trials = earlier.trials(M, Y, self._weights, classes, self.n_jobs)
            if earlier.importances is not None:
                self.importances_ = earlier.importances
            members, last = self._go_on(trials, classes)
        self._keep(members)
        fit, held = self._split(members[0].split, classes)
        judges = vars(self).pop("_judges")
        if judges is None:
            self.validation_rows_ = self.rows_[held]
            self._validation = members[0].held_values(fit, held, self.n_jobs)
        else:  # all members left them out; copies of a row that was trained on are predicted too
            places = np.flatnonzero(np.isin(self._given, judges))
            self.validation_rows_ = self._given[places]
            new = self.encoder_.encoded(table[places]).matrix
            values = [trial.values(new, fit, self.n_jobs) for trial in members]
            self._validation = np.mean(values, axis=0)
        return last.result

    def _begin(
        self, names: list, features: list[Feature], M: EncodedColumns, classes: bool
    ) -> tuple[list[NetworkTrial], NetworkTrial]:
        """The members of a new fit, and the last network that was trained, cut if one was."""

        def trial(scaling: str, kept: list) -> NetworkTrial:
            design = Design.of(features, M, self._weights, scaling, kept)
            rows = TrainingRows(*design.read(M), self._targets, self._weights, classes)
            return NetworkTrial(rows, design)

        scalings = list(KINDS) if self.scaling == "auto" else [self.scaling]
        fit, held = self._split(0, classes)
        scalings = scalings if len(held) >= FEWEST_HELD else scalings[:1]
        first: list[NetworkTrial] = []
        wide = len(names) > MANY_COLUMNS if self.prune == "auto" else self.prune
        if wide and len(held) >= FEWEST_HELD:
            first = [self._matter(trial, scalings[0], names, fit, held)]
            names = first[0].design.names
        found = [trial for trial in first if trial.interrupted]
        runs = len(scalings) + self.n_members - 1
        for scaling in scalings if not found else ():
            found.append(self._train(trial(scaling, names), fit, held, 0, runs))
            runs -= 1
            if found[-1].interrupted:
                break
        # the scaling that the held-out rows like best; of several members, both if they like
        # their mean better
        found.sort(key=lambda trial: trial.loss)
        cut = any(trial.interrupted for trial in found)
        if first and first[0].loss < found[0].loss:  # there was no time for more steps
            found = first
        best, last = found[0], found[-1]
        members = [best]
        if self.n_members > 1 and len(found) > 1 and not cut:
            members += found[1:] if mean_loss(found, fit, held, self.n_jobs) < best.loss else []
        if cut:
            return members, last.cut()
        return self._add_members(members, last, classes)

    def _go_on(
        self, trials: list[NetworkTrial], classes: bool
    ) -> tuple[list[NetworkTrial], NetworkTrial]:
        """The members of a fit after they were trained on, and the last of them."""
        members, last = list(trials), trials[0]
        for m, trial in enumerate(trials):
            split = self._split(trial.split, classes)
            runs = max(self.n_members, len(trials)) - m
            members[m] = last = self._train(trial, *split, trial.split, runs)
            if last.interrupted:
                return members, last
        return self._add_members(members, last, classes)

    def _add_members(
        self, members: list[NetworkTrial], last: NetworkTrial, classes: bool
    ) -> tuple[list[NetworkTrial], NetworkTrial]:
        """All members that are wanted; new ones read the columns as the first one does."""
        while len(members) < self.n_members and not last.interrupted:
            m = len(members)
            first = replace(members[0], result=None)
            last = self._train(first, *self._split(m, classes), m, self.n_members - m)
            members.append(last)
        return members, last

    def _before(self) -> Earlier | None:
        """What an earlier fit has left; None if there was none."""
        if not self.__sklearn_is_fitted__():
            return None
        earlier = Earlier(
            self.members_, self.validation_curve_, self.n_steps_, self._targets, self._weights,
            vars(self).get("importances_"),
        )  # fmt: skip
        earlier.check_sizes(self.width, self.hidden)
        return earlier

    def _keep(self, trials: list[NetworkTrial]) -> None:
        """Keep the members: the machine is fitted now."""
        results = [trial.result for trial in trials]
        self.scaling_ = trials[0].design.scaling
        self.kept_columns_ = trials[0].design.names
        self.validation_curve_ = [np.array(r.curve, np.float64) for r in results]
        self.temperature_ = np.array([r.temperature for r in results])
        self.n_steps_ = [r.iterations for r in results]
        members = [trial.member(self.n_jobs) for trial in trials]
        self._n_features_out = sum(member.Z.shape[1] for member in members)
        self.members_ = members
        if self.searches:
            self.indexes()

    def _matter(
        self,
        trial: Callable[[str, list], NetworkTrial],
        scaling: str,
        names: list,
        fit: np.ndarray,
        held: np.ndarray,
    ) -> NetworkTrial:
        """The best network on all columns, or on those that matter most.

        All columns stay if there is no time for networks that could tell which ones matter.
        """
        began = perf_counter()
        end = began + PRUNING_TIME * (self._deadline - began)
        first = self._first_solver(len(fit))
        best = self._train(trial(scaling, names), fit, held, 0, 2, first, end)
        judged = min(LEAST_TO_JUDGE, first.steps)
        if best.interrupted or best.result.iterations < judged:
            return best
        a_step = (perf_counter() - began) / best.result.iterations
        rng, rows = np.random.default_rng([self._seed, 1]), best.rows
        self.importances_ = rises(
            best.result, rows.take(fit), rows.take(held), best.design.sources, rng, self.n_jobs
        )
        sets = ladder(self.importances_)
        if len(sets) * judged * a_step > end - perf_counter():
            return best
        for i, kept in enumerate(sets):
            found = self._train(trial(scaling, kept), fit, held, 0, len(sets) - i, first, end)
            if found.loss <= best.loss or found.interrupted:
                best = found if found.loss <= best.loss else best.cut()
            if best.interrupted:
                break
        return best

    def _count_held(self, n: int) -> int:
        """Most of n rows that are held out."""
        if self._judges is not None:
            return len(self._judges)
        return min(int(self.validation_fraction * n), MOST_HELD)

    def _split(self, member: int, classes: bool) -> tuple[np.ndarray, np.ndarray]:
        """Row numbers to train on, and those held out: a row of each class is trained on.

        If rows were given to judge, those equal to a row that is trained on are not held out.
        """
        if member == GIVEN and self._judges is None:
            raise ValueError(
                "warm_start=True continues a fit that was given validation=, whose rows are "
                "not known any more: set warm_start=False."
            )
        if self._judges is not None:
            held = np.isin(self.rows_, self._judges)
            return np.flatnonzero(~held), np.flatnonzero(held)
        n = len(self._weights)
        order = np.random.default_rng([self._seed, 2, member]).permutation(n)
        count = self._count_held(n)
        free = np.ones(n, bool)
        if classes:
            firsts = np.unique(self._targets[order].argmax(axis=1), return_index=True)[1]
            free[firsts] = False
        held = np.flatnonzero(free)[:count]
        return np.delete(order, held), order[held]

    def _solver(self, n: int) -> NeighbourhoodSolver:
        """How networks are trained on n rows."""
        steps = self.steps
        if isinstance(steps, str):
            least = min(max(n, FEWEST_OF_ALL), FEWEST_STEPS)
            steps = min(max(n // ROWS_A_STEP, least), MOST_STEPS)
        return NeighbourhoodSolver(
            steps, self.batch, self.candidates, self.learning_rate, self.dropout, self.width,
            self.hidden,
        )  # fmt: skip

    def planned_steps(self, n: int, columns: int) -> int:
        """Steps of all networks in a fit to n rows of so many columns, if there is time for all."""
        fit = n - self._count_held(n)
        each = self._solver(fit).steps
        steps = each * (self.n_members + (self.scaling == "auto"))
        if columns > MANY_COLUMNS if self.prune == "auto" else self.prune:
            sets = ladder(dict.fromkeys(range(columns), 0.0))
            steps += self._first_solver(fit).steps * (2 + len(sets))
        return steps

    def _first_solver(self, n: int) -> NeighbourhoodSolver:
        """That of the networks which tell what matters."""
        first = replace(self._solver(n), dropout=FIRST_DROPOUT)
        return replace(first, steps=max(first.steps // 2, min(first.steps, FEWEST_STEPS)))

    def _train(
        self,
        trial: NetworkTrial,
        fit: np.ndarray,
        held: np.ndarray,
        member: int,
        runs: int,
        solver: NeighbourhoodSolver | None = None,
        end: float | None = None,
    ) -> NetworkTrial:
        """One run of the solver, with its share of the time that is left for ``runs`` runs.

        It goes on from the result of a trial that has one.
        """
        left = (self._deadline if end is None else end) - perf_counter()
        rows = trial.rows
        sizes = rows.numbers.shape[1], rows.extra.shape[1], rows.targets.shape[1]
        needed = self.training_bytes(rows.count, *sizes)
        if not self.place.holds(needed):
            self.place.refuse(needed, "a step of training", ", or fewer candidates")
        self._runs += 1
        run = self._runs

        def report(found: HeldOutScores) -> None:
            if self.verbose:
                print(f"run {run}, step {found.step:,}: held-out loss {found.loss:.5g}")
            if self.progress is not None:
                self.progress({"run": run, **found._asdict()})

        gone = [] if trial.result is None else [trial.result.iterations]
        result = (solver or self._solver(len(fit))).solve(
            trial.rows.take(fit), trial.rows.take(held),
            np.random.default_rng([self._seed, 3, member, *gone]),
            n_jobs=self.n_jobs, seconds=max(left, 0) / max(runs, 1), report=report,
            start=trial.result,
        )  # fmt: skip
        split = member if self._judges is None else GIVEN
        return replace(trial, result=result, split=split)

    def training_bytes(self, n: int, numbers: int, indicators: int, outputs: int) -> int:
        """Bytes of the arrays of a step, and of the n rows that it reads."""
        p, q = numbers, indicators
        C, B = min(self.candidates, n), min(self.batch, n)
        each = 41 * p + q + 8 * self.width + self.hidden + outputs
        pairs = 2 * C * 64 * count_jobs(self.n_jobs) + C * self.width * -(-B // 64)
        gradients = 10 * ((8 * p + q) * self.width + 2 * self.hidden * self.width)
        return 4 * (C * each + pairs + gradients + 2 * n * (p + q))
