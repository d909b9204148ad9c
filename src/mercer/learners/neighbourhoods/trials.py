"""Networks of a learnt neighbourhood: what they read; those that are tried, kept, and continued.

An encoded table is read as a `Design` of numbers and indicators; the checks of the parameters stand
with it. Columns that matter are found by a first network, which reads all columns. How much its
held-out loss rises when a column's values are permuted says how much the column matters. New
networks on the best 4, 8, 16, ... columns are then judged by the same held-out rows: a threshold
alone may keep far too few. `Earlier` is what a fit leaves for one that goes on from it
(``warm_start``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from typing import Any

import numpy as np

from mercer.learners.base import (
    check_count,
    check_flag,
    check_not_negative,
    check_positive,
    check_seed,
)
from mercer.samples import EncodedColumns, is_number
from mercer.solvers import Reason
from mercer.solvers.neighbourhoods import (
    HeldOutScores,
    NeighbourhoodResult,
    Network,
    TrainingRows,
    held_out_loss,
    smooth,
)
from mercer.tables import Feature, read_as

KINDS = {"normal": "normal", "standard": "scaled"}  # of features, by the name of the scaling
PAIRED_COLUMNS = 12  # in tables of so many columns, those of one range have differences too
LEAST_ALIKE = 3  # of one range: two may have it by chance
FEW_COLUMNS = 10  # in tables of so many columns, integers of few values have indicators too
MOST_LEVELS = 64  # indicators of a category: the most frequent levels have one
INDICATOR = 0.7
FARTHEST = 8.0  # standard deviations


@dataclass(frozen=True)
class Design:
    """Which columns of the encoded matrix are read, and how.

    Attributes
    ----------
    numbers : list of int
        Columns with numbers, which become periodic features.
    coded : list of int
        Columns with codes of categories.
    levels : list of ndarray
        The codes that have an indicator, for each of these columns.
    sources : list
        Names of the columns of the table that the numbers, the differences and then the indicators
        are from; of a difference the first one.
    scaling : {"normal", "standard"}
        How the numbers are scaled.
    pairs : list of (int, int)
        Standardised columns of one range, such as places on a board, whose absolute differences
        are numbers as well.
    """

    numbers: list[int]
    coded: list[int]
    levels: list[np.ndarray]
    sources: list
    scaling: str
    pairs: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        features: Sequence[Feature],
        M: EncodedColumns,
        weights: np.ndarray,
        scaling: str,
        kept: Collection | None = None,
    ) -> Design:
        """The design for training rows; ``kept`` are names of columns, None for all."""
        every = list(dict.fromkeys(feature.source for feature in features))
        names = every if kept is None else kept
        kinds = ("level", "code") if len(names) <= FEW_COLUMNS else ("code",)

        def used(*kinds: str) -> list[int]:
            return [j for j in read_as(features, *kinds) if features[j].source in names]

        numbers, coded = used(KINDS[scaling]), used(*kinds)
        levels = [_frequent(M.objects[j].codes[:, 0], weights) for j in coded]
        few = len(names) <= PAIRED_COLUMNS
        group = {j: features[j].alike for j in (used("scaled") if few else [])}
        sizes = Counter(group.values())
        pairs = [
            (i, j)
            for i, j in combinations(group, 2)
            if group[i] == group[j] >= 0 and sizes[group[i]] >= LEAST_ALIKE
        ]
        sources = [features[j].source for j in [*numbers, *(i for i, _ in pairs)]]
        for j, codes in zip(coded, levels):
            sources += [features[j].source] * len(codes)
        return cls(numbers, coded, levels, sources, scaling, pairs)

    def fits(self, M: EncodedColumns) -> bool:
        """Whether encoded rows have all the columns that are read."""
        last = max([*self.numbers, *self.coded, *chain.from_iterable(self.pairs)], default=-1)
        return last < M.numbers.shape[1] and all(j in M.objects for j in self.coded)

    @property
    def names(self) -> list:
        """The columns of the table that are read, each once."""
        return list(dict.fromkeys(self.sources))

    def read(self, M: EncodedColumns) -> tuple[np.ndarray, np.ndarray]:
        """The numbers (n, p) and the indicators (n, q) of rows, in float32."""
        first, second = ([pair[side] for pair in self.pairs] for side in (0, 1))
        apart = np.abs(M.numbers[:, first] - M.numbers[:, second])
        numbers = np.clip(np.hstack([M.numbers[:, self.numbers], apart]), -FARTHEST, FARTHEST)
        parts = [
            np.float32(INDICATOR) * (M.objects[j].codes[:, :1] == codes)
            for j, codes in zip(self.coded, self.levels)
        ]
        extra = np.hstack([np.empty((len(M), 0), np.float32), *parts])
        return np.ascontiguousarray(numbers, np.float32), extra.astype(np.float32, copy=False)


def _frequent(codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The most frequent codes in ascending order; one of two says all."""
    totals = np.bincount(codes, weights)
    found = np.flatnonzero(totals)
    kept = np.sort(found[np.argsort(-totals[found], kind="stable")][:MOST_LEVELS])
    return kept[1:] if len(found) == 2 else kept


def usable(features: Sequence[Feature]) -> list[Any]:
    """Names of the columns that a network can read: numbers, dates and categories."""
    return list(dict.fromkeys(f.source for f in features if not f.holds_objects))


def check_parameters(given: Mapping[str, Any]) -> None:
    """Raise an error that names the first parameter with a wrong value."""
    for name in ("n_members", "width", "batch", "candidates"):
        check_count(name, given[name], optional=False)
    check_count("hidden", given["hidden"], 0, optional=False)
    check_count("n_neighbors", given["n_neighbors"])
    if given["steps"] != "auto":
        check_count("steps", given["steps"], optional=False)
    if given["candidates"] < given["batch"]:
        raise ValueError(
            f"candidates={given['candidates']} are fewer than batch={given['batch']}, which are "
            "among them: give at least as many."
        )
    check_positive("learning_rate", given["learning_rate"])
    for name in ("dropout", "validation_fraction"):
        value = given[name]
        check_not_negative(name, value)
        if not (is_number(value) and value < 1):
            raise ValueError(f"{name}={value!r}: give a number >= 0 and below 1.")
    if given["scaling"] not in ("auto", *KINDS):
        raise ValueError(f"scaling={given['scaling']!r}: give one of {['auto', *KINDS]}.")
    if given["prune"] != "auto":
        check_flag("prune", given["prune"])
    for name in ("warm_start", "verbose"):
        check_flag(name, given[name])
    progress = given["progress"]
    if not (progress is None or callable(progress)):
        raise TypeError(f"progress={progress!r}: give a function of a dict, or None.")
    check_seed(given["random_state"])


def check_validation(rows: Any, n: int, warm_start: bool) -> np.ndarray | None:
    """The numbers of the rows, of n, that judge a fit in place of those it would draw itself."""
    if rows is None:
        return None
    if warm_start:
        raise ValueError(
            "validation= cannot be given with warm_start=True, which keeps the held-out rows of "
            "the first fit: set warm_start=False."
        )
    found = np.asarray(rows)
    if found.ndim != 1 or found.dtype.kind not in "iu" or not len(found):
        raise ValueError(
            f"validation has shape {found.shape} and dtype {found.dtype}: give the numbers of "
            "some rows of X, which are not trained on, or None."
        )
    chosen = np.unique(found)
    if chosen[0] < 0 or chosen[-1] >= n or len(chosen) == n:
        raise ValueError(
            f"validation has {len(chosen):,} row numbers from {chosen[0]} to {chosen[-1]}, but X "
            f"has {n:,} rows: give numbers from 0 to {n - 1}, and leave rows to train on."
        )
    return chosen


@dataclass(frozen=True)
class NetworkMember:
    """A trained network, with z of the training rows.

    Attributes
    ----------
    design : Design
        How it reads encoded rows.
    network : Network
    temperature : float
    Z : ndarray of shape (n, width)
    split : int
        The number of the split that said which rows it did not train on.
    """

    design: Design
    network: Network
    temperature: float
    Z: np.ndarray
    split: int

    def embed(self, M: EncodedColumns, n_jobs: int | None) -> np.ndarray:
        """z of encoded rows."""
        return self.network.embed(*self.design.read(M), n_jobs)


@dataclass(frozen=True)
class NetworkTrial:
    """Rows as a design reads them, and what was trained on them."""

    rows: TrainingRows
    design: Design
    result: Any = None
    split: int = 0

    @property
    def loss(self) -> float:
        """The held-out loss."""
        return self.result.objective

    @property
    def interrupted(self) -> bool:
        return self.result is not None and self.result.reason is Reason.INTERRUPTED

    def cut(self) -> NetworkTrial:
        """The same; a later one was interrupted."""
        return replace(self, result=replace(self.result, reason=Reason.INTERRUPTED))

    def member(self, n_jobs: int | None) -> NetworkMember:
        """The network that was trained, with z of all rows."""
        result, rows = self.result, self.rows
        Z = result.network.embed(rows.numbers, rows.extra, n_jobs)
        return NetworkMember(self.design, result.network, result.temperature, Z, self.split)

    def held_values(self, fit: np.ndarray, held: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """What the rows it was trained on predict for those that were held out, (held, outputs)."""
        new = self.rows.take(held)
        return self._values(new.numbers, new.extra, fit, n_jobs)

    def values(self, M: EncodedColumns, fit: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """What the rows it was trained on predict for other encoded rows, (rows, outputs)."""
        return self._values(*self.design.read(M), fit, n_jobs)

    def _values(self, numbers, extra, fit: np.ndarray, n_jobs: int | None) -> np.ndarray:
        known, result = self.rows.take(fit), self.result
        network, tau = result.network, (result.temperature,)
        Z = network.embed(known.numbers, known.extra, n_jobs)
        queries = network.embed(numbers, extra, n_jobs)
        return smooth(queries, Z, known.targets, known.weights, tau, n_jobs)[0]


def mean_loss(
    trials: list[NetworkTrial], fit: np.ndarray, held: np.ndarray, n_jobs: int | None
) -> float:
    """The held-out loss of the mean of several machines."""
    values = np.mean([trial.held_values(fit, held, n_jobs) for trial in trials], axis=0)
    new = trials[0].rows.take(held)
    return held_out_loss(values, new.targets, new.weights, new.classes)


ROWS, CANDIDATES = 1000, 4000  # held-out rows that are permuted, and rows that vote on them
LEAST_SHARE, LEAST_RISE = 0.003, 1e-4  # of the largest rise, and of any, to matter


def rises(
    result: NeighbourhoodResult,
    rows: TrainingRows,
    held: TrainingRows,
    sources: list,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> dict[object, float]:
    """How much the held-out loss rises when each column of the table is permuted."""
    network, taus = result.network, (result.temperature,)
    some = rows.take(rng.permutation(rows.count)[:CANDIDATES])
    held = held.take(np.arange(min(held.count, ROWS)))
    Z = network.embed(some.numbers, some.extra, n_jobs)
    order = rng.permutation(held.count)
    p = held.numbers.shape[1]

    def loss(numbers: np.ndarray, extra: np.ndarray) -> float:
        queries = network.embed(numbers, extra, n_jobs)
        values = smooth(queries, Z, some.targets, some.weights, taus, n_jobs)[0]
        return held_out_loss(values, held.targets, held.weights, held.classes)

    least, found = loss(held.numbers, held.extra), {}
    for name in dict.fromkeys(sources):
        numbers, extra = held.numbers.copy(), held.extra.copy()
        own = [j for j, source in enumerate(sources) if source == name]
        for j in own:
            side, k = (numbers, j) if j < p else (extra, j - p)
            side[:, k] = side[order, k]
        found[name] = loss(numbers, extra) - least
    return found


def ladder(risen: dict[object, float]) -> list[list]:
    """Sets of columns to try: the best 4, 8, 16, ..., and those that seem to matter."""
    order = sorted(risen, key=lambda name: -risen[name])
    least = max(LEAST_SHARE * max(risen.values()), LEAST_RISE)
    sizes = {sum(rise > least for rise in risen.values())}
    size = 4
    while size < len(order):
        sizes.add(size)
        size *= 2
    return [order[:size] for size in sorted(sizes - {0, len(order)})]


CLOSE = 1e-3  # of the largest number in z: another processor's rounding
CLOSE_SUMS = 1e-5  # of the largest target or weight: sums in another order of the rows


@dataclass(frozen=True)
class Earlier:
    """A fit to the same rows.

    Attributes
    ----------
    members : list of NetworkMember
    curves : list of ndarray of shape (checkpoints, 3)
    steps : list of int
    targets : ndarray of shape (n, outputs)
    weights : ndarray of shape (n,)
    importances : dict or None
    """

    members: list[NetworkMember]
    curves: list[np.ndarray]
    steps: list[int]
    targets: np.ndarray
    weights: np.ndarray
    importances: dict | None

    def trials(
        self, M: EncodedColumns, targets: np.ndarray, weights: np.ndarray, classes: bool,
        n_jobs: int | None,
    ) -> list[NetworkTrial]:  # fmt: skip
        """The members as trials, for the same rows encoded again.

        Raises
        ------
        ValueError
            The rows, their targets or their weights are others: some that were held out were
            trained on then, and could not judge.
        """
        same = _close(targets, self.targets, CLOSE_SUMS) and _close(
            weights, self.weights, CLOSE_SUMS
        )
        found = []
        for member, curve, steps in zip(self.members, self.curves, self.steps):
            if not (same and member.design.fits(M)):
                self._refuse()
            rows = TrainingRows(*member.design.read(M), targets, weights, classes)
            Z = member.network.embed(rows.numbers, rows.extra, n_jobs)
            if not _close(Z, member.Z, CLOSE):
                self._refuse()
            found.append(
                NetworkTrial(rows, member.design, _result(member, curve, steps), member.split)
            )
        return found

    def check_sizes(self, width: int, hidden: int) -> None:
        """Raise ValueError if networks of other sizes are asked for."""
        network = self.members[0].network
        if (network.width, network.hidden) != (width, hidden):
            raise ValueError(
                f"width={width} and hidden={hidden} with warm_start=True, but the networks to go "
                f"on from have width={network.width} and hidden={network.hidden}: give these, or "
                "warm_start=False."
            )

    def _refuse(self) -> None:
        raise ValueError(
            "warm_start=True continues with the rows of the last fit, but X, y or sample_weight "
            "have changed: give the same ones (in any order), or warm_start=False for a new fit."
        )


def _result(member: NetworkMember, curve: np.ndarray, steps: int) -> NeighbourhoodResult:
    """The result that a member was kept for."""
    points = [HeldOutScores(int(step), float(loss), float(tau)) for step, loss, tau in curve]
    losses = [point.loss for point in points]
    loss = np.nan if np.isnan(losses).all() else float(np.nanmin(losses))
    return NeighbourhoodResult(
        member.network.parameters, objective=loss, gap=0.0, iterations=steps,
        reason=Reason.CONVERGED, solver="the neighbourhood solver", certificate="held-out loss",
        network=member.network, temperature=member.temperature, curve=points,
    )  # fmt: skip


def _close(found: np.ndarray, known: np.ndarray, tolerance: float) -> bool:
    """Whether arrays are equal up to a part of the largest number."""
    if found.shape != known.shape:
        return False
    return bool(np.abs(found - known).max() <= tolerance * np.abs(known).max())
