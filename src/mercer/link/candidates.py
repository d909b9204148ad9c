"""Candidates: the pairs of records that are compared, found by passes.

A pass takes the records that share a part of one column, or of two, and pairs them with each other
where they are few. Which passes are made is a set cover of simulated matches: each has its own
number of errors, and the passes that find most of them per pair are taken first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from mercer import _native
from mercer.link.columns import Coded
from mercer.link.kept_stages import KeptStages, are_pairs
from mercer.link.kinds import View
from mercer.link.records import Records
from mercer.threads import ordered_map

SIMULATED = 4000  # matches
ERRORS = 0.05, 0.6  # a simulated match differs in each column with one probability of this range
ONE_OF = 4  # one of so many records of the smaller table has a match, at least
UNCAUGHT = 1e-3  # share of simulated matches that no pass finds, at which no more are added
#: from how many records on, and below which share, a pass is worth its pairs if it finds so large a
#: share of the matches for each pair of a record
MANY, FEW_LEFT, WORTH = 50_000, 5e-3, 5e-4
#: of fewer records simulated matches are found by two passes, where these are so many pairs in all
TWICE = 20.0
CHEAP = 0.05  # pairs for each record that a pass costs beside its own
#: a view that costs less, and keeps more of the records, is not paired with others
ALONE = 0.1, 0.99
PARTS = (100_000, 1), (400_000, 8)  # up to so many records one of so many keys is counted
MOST_PARTS = 32
ROOM = 1.2, 100_000  # of an estimated number of pairs
SEED = 0x5EED
SAID = {
    "=": "{}", "~": "a part of {}", "run": "a run of letters of {}", "words": "two words of {}",
}  # fmt: skip

#: a view of a column, by the number of the column and its label
Place = tuple[int, str]


class Pass(NamedTuple):
    """A pass over all records.

    Attributes
    ----------
    views : tuple of (int, str)
        The column and the label of each view whose parts the records of a pair share.
    pairs : int
        Pairs that it finds, or about so many.
    missed : float
        The share of simulated matches that neither it nor a pass before it finds.
    """

    views: tuple[Place, ...]
    pairs: int
    missed: float

    def said(self, names: Sequence[str]) -> str:
        """What the records of a pair share."""
        return " and ".join(SAID[label].format(names[k]) for k, label in self.views)


class Views:
    """All views of the columns of some records, and the pairs that they find."""

    def __init__(self, columns: list[Coded], cap: int, n_jobs: int | None):
        self.columns, self.n_jobs = columns, n_jobs
        self.cap = min(cap, len(columns[0].codes) + 2)  # no block is larger
        made = ordered_map(lambda column: column.kind.views(column), columns, n_jobs)
        self.of: dict[Place, View] = {
            (k, view.label): view for k, views in enumerate(made) for view in views
        }
        self.n = len(columns[0].codes)
        self.first = columns[0].first

    def pairs(
        self,
        views: tuple[Place, ...],
        parts: int = 1,
        room: int = 0,
        seen: np.ndarray | None = None,
    ) -> tuple[int, float, np.ndarray]:
        """How many pairs a pass finds, the share of the records that are in a small enough block,
        and ``room`` of the pairs; ``seen`` gets 1 for a record in any block, and 3 in a small one.
        """
        x, y = views[0], views[-1]
        codes = [self.columns[k].codes for k, _ in (x, y)]
        second = self.of[y].parts if len(views) > 1 else np.empty((0, 0), np.int32)
        if len(views) == 1:
            codes[1] = np.empty(0, np.int32)
        out = np.empty(room, np.uint64)
        seen = np.empty(0, np.uint8) if seen is None else seen
        count, share = _native.link_pairs(
            codes[0], self.of[x].parts, codes[1], second, self.first, self.cap, parts, out, seen
        )
        return count, share, out[: min(count, room)]

    def found_by(self, passes: Sequence[tuple[tuple[Place, ...], int]]) -> tuple[np.ndarray, float]:
        """All pairs that passes find, each once, as (left << 32) + right, ascending; and the share
        of the records whose blocks are all too large.

        With each pass comes about how many pairs it will find.
        """

        def emit(asked: tuple[tuple[Place, ...], int]) -> tuple[np.ndarray, np.ndarray]:
            views, about = asked
            seen = np.zeros(self.n, np.uint8)
            if any(place not in self.of for place in views):
                return np.empty(0, np.uint64), seen
            count, _, pairs = self.pairs(views, room=about, seen=seen)
            if count > about:  # the estimate was too low
                pairs = self.pairs(views, room=count)[2]
            return _each_once(pairs), seen

        merged, seen = np.empty(0, np.uint64), np.zeros(self.n, np.uint8)
        waiting: list[np.ndarray] = []
        for pairs, own in ordered_map(emit, passes, self.n_jobs):
            seen |= own
            waiting.append(pairs)
            if sum(map(len, waiting)) > max(len(merged), 2**20):  # repeats go soon
                merged, waiting = _each_once(np.concatenate([merged, *waiting])), []
        return _each_once(np.concatenate([merged, *waiting])), float((seen == 1).mean())


def _each_once(pairs: np.ndarray) -> np.ndarray:
    pairs = np.sort(pairs)
    new = np.ones(len(pairs), bool)
    np.not_equal(pairs[1:], pairs[:-1], out=new[1:])
    return pairs[new]


def asked_passes(views: Views, costs: dict[tuple[Place, ...], tuple[int, float]]) -> Iterator:
    """Pairs of views of two columns, one of them whole values, but those of cheap views."""
    cheap = {
        single[0]
        for single, (pairs, share) in costs.items()
        if pairs < ALONE[0] * views.n and share > ALONE[1]
    }
    places = [place for place in views.of if place not in cheap]
    for i, x in enumerate(places):
        for y in places[i + 1 :]:
            labels = {x[1], y[1]}
            if x[0] != y[0] and "=" in labels and "words" not in labels:
                yield x, y


def find_candidates(
    records: Records,
    ranks: np.ndarray,
    kept: KeptStages,
    *,
    cap: int,
    per_record: float,
    n_jobs: int | None,
) -> tuple[list[Pass], np.ndarray, np.ndarray, float]:
    """The passes, the records of the pairs that they find, (pairs,) each, and the share of all
    records whose blocks are all too large."""

    @cache  # and not made where all was kept
    def views() -> Views:
        return Views(records.columns, cap, n_jobs)

    @cache
    def found() -> tuple[np.ndarray, float]:
        return views().found_by(room_of(passes, records.n))

    told = kept.value("passes", lambda: choose_passes(views(), ranks, per_record))
    passes = [Pass(tuple(map(tuple, places)), *rest) for places, *rest in told]
    pairs = kept.array("candidates", lambda: found()[0], lambda kept: are_pairs(kept, records.n))
    crowded = kept.value("crowded", lambda: found()[1])
    return passes, *sides_of(pairs), crowded


def sides_of(pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The records of pairs that are numbers, (left << 32) + right."""
    return (pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32)


def choose_passes(views: Views, ranks: np.ndarray, per_record: float) -> list[Pass]:
    """The passes that find most of simulated matches per pair.

    ``ranks`` are the records in an order that does not depend on that of the table.
    """
    parts = next((part for most, part in PARTS if views.n < most), MOST_PARTS)

    def cost(places: tuple[Place, ...]) -> tuple[int, float]:
        return views.pairs(places, parts)[:2]

    singles = [(place,) for place in views.of]
    costs = dict(zip(singles, ordered_map(cost, singles, views.n_jobs), strict=True))
    doubles = list(asked_passes(views, costs))
    costs |= dict(zip(doubles, ordered_map(cost, doubles, views.n_jobs), strict=True))
    asked = list(costs)
    rng = np.random.default_rng(SEED)
    chosen_records = ranks[rng.integers(0, views.n, SIMULATED)]
    catch = _simulated(views, asked, costs, chosen_records, rng)
    caught, chosen, spent = np.zeros(SIMULATED, np.int64), [], 0.0
    room, wanted = per_record * views.n, 1
    price = np.array([costs[places][0] for places in asked], float)
    while len(chosen) < len(asked):
        if (caught < wanted).mean() <= UNCAUGHT:
            if wanted == 2 or views.n >= MANY:
                break
            room, wanted = min(room, TWICE * views.n), 2
        gain = (catch & (caught < wanted)).sum(axis=1)
        score = np.where(spent + price <= room, gain / (price + CHEAP * views.n), 0.0)
        if views.n >= MANY and (caught == 0).mean() < FEW_LEFT:
            score[score * views.n / SIMULATED < WORTH] = 0
        score[[number for number, _ in chosen]] = 0
        best = int(score.argmax())
        if score[best] <= 0:
            break
        caught += catch[best]
        spent += price[best]
        chosen.append((best, (caught == 0).mean()))
    return [Pass(asked[q], int(price[q]), float(missed)) for q, missed in chosen]


def _simulated(
    views: Views,
    asked: list[tuple[Place, ...]],
    costs: dict[tuple[Place, ...], tuple[int, float]],
    records: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Which simulated matches each pass finds, (passes, matches)."""
    columns = views.columns
    rate = rng.uniform(*ERRORS, SIMULATED)
    equal = rng.random((len(columns), SIMULATED)) >= rate
    left = rng.random((len(columns), SIMULATED))  # of a value, where it differs
    survives = {}
    for (k, label), view in views.of.items():
        codes = columns[k].codes[records]
        has = np.append((view.parts >= 0).any(axis=1), False)[codes]
        part = rng.random(SIMULATED) < (0 if label == "=" else left[k])
        survives[k, label] = (equal[k] | part) & has
    smaller = min(views.first or views.n, (views.n - views.first) or views.n)
    chances = [
        share * min(1.0, pairs * ONE_OF / smaller) for pairs, share in map(costs.__getitem__, asked)
    ]
    return np.array([
        (rng.random(SIMULATED) < chance) & survives[places[0]] & survives[places[-1]]
        for places, chance in zip(asked, chances)
    ])  # fmt: skip


def room_of(passes: Sequence[Pass], n: int) -> list[tuple[tuple[Place, ...], int]]:
    """Passes with about how many pairs each finds: exactly so many where all keys were counted."""
    exact = n < PARTS[0][0]
    return [(p.views, p.pairs if exact else int(p.pairs * ROOM[0]) + ROOM[1]) for p in passes]
