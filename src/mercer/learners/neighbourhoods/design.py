"""What a learnt neighbourhood may be asked for, and the table that its network reads.

The checks of its parameters, and an encoded table as a design of numbers and indicators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
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
        For each of them the codes that have an indicator.
    sources : list
        Names of the columns of the table that the numbers, the differences and then the indicators
        are from; of a difference the first one.
    scaling : {"normal", "standard"}
        Of the numbers.
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
