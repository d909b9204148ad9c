"""Candidates: the pairs of records that are compared, found by passes.

A pass takes the records that share a part of one column, or of two, and pairs them with each other
where they are few. Which passes are made is a set cover of simulated matches: each has its own
number of errors, and the passes that find most of them per pair are taken first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from mercer import _native
from mercer.link.columns import Coded, Symbols
from mercer.link.kinds import BlockingView

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
#: of passes: about how many pairs they find, and the share of the records that they reach
Costs = dict[tuple[Place, ...], tuple[int, float]]


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
    """The views of the columns of some records, and the pairs that they find.

    ``made`` gives the views of a column by its number.
    """

    def __init__(self, columns: list[Coded], cap: int, made: Callable[[int], list[BlockingView]]):
        self.columns, self.made = columns, made
        self.cap = min(cap, len(columns[0].codes) + 2)  # no block is larger
        self.n = len(columns[0].codes)
        self.first = columns[0].first

    def parts(self, place: Place) -> np.ndarray | None:
        """The parts of the values of a column, (values, k); None where it has no such view."""
        k, label = place
        return next((view.parts for view in self.made(k) if view.label == label), None)

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
        codes = [self.columns[k].codes for k, _ in (views[0], views[-1])]
        sides = [self.parts(place) for place in views]
        if any(side is None for side in sides):
            return 0, 0.0, np.empty(0, np.uint64)
        if len(views) == 1:
            codes[1], sides = np.empty(0, np.int32), [*sides, np.empty((0, 0), np.int32)]
        out = np.empty(room, np.uint64)
        seen = np.empty(0, np.uint8) if seen is None else seen
        count, share = _native.link_pairs(
            codes[0], sides[0], codes[1], sides[1], self.first, self.cap, parts, out, seen
        )
        return count, share, out[: min(count, room)]

    def cost(self, views: tuple[Place, ...]) -> tuple[int, float]:
        """About how many pairs a pass finds, and the share of the records that are in a small
        enough block, by one of so many keys."""
        parts = next((part for most, part in PARTS if self.n < most), MOST_PARTS)
        return self.pairs(views, parts)[:2]

    def found_by(self, views: tuple[Place, ...], about: int) -> tuple[np.ndarray, np.ndarray]:
        """The pairs of a pass, each once, as (left << 32) + right, ascending; and for each record 1
        if it is in any block, and 3 if it is in one that is small enough.

        ``about`` so many pairs are expected.
        """
        seen = np.zeros(self.n, np.uint8)
        count, _, pairs = self.pairs(views, room=about, seen=seen)
        if count > about:  # the estimate was too low
            pairs = self.pairs(views, room=count)[2]
        return each_once(pairs), seen


def each_once(pairs: np.ndarray) -> np.ndarray:
    """Pairs in order, without repeats."""
    pairs = np.sort(pairs)
    new = np.ones(len(pairs), bool)
    np.not_equal(pairs[1:], pairs[:-1], out=new[1:])
    return pairs[new]


def asked_passes(n: int, costs: Costs) -> list[tuple[Place, ...]]:
    """Pairs of views of two columns, one of them whole values, but those of cheap views.

    ``costs`` are those of each view alone, of n records.
    """
    cheap = {
        single[0]
        for single, (pairs, share) in costs.items()
        if pairs < ALONE[0] * n and share > ALONE[1]
    }
    places = [place for (place,) in costs if place not in cheap]
    return [
        (x, y)
        for i, x in enumerate(places)
        for y in places[i + 1 :]
        if x[0] != y[0] and "=" in (x[1], y[1]) and "words" not in (x[1], y[1])
    ]


def sides_of(pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The records of pairs that are numbers, (left << 32) + right."""
    return (pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32)


def choose_passes(views: Views, costs: Costs, ranks: np.ndarray, per_record: float) -> list[Pass]:
    """The passes that find most of simulated matches per pair.

    ``ranks`` are the records in an order that does not depend on that of the table.
    """
    asked = list(costs)
    rng = np.random.default_rng(SEED)
    drawn = ranks[rng.integers(0, views.n, SIMULATED)]
    catch = simulated(views, costs, drawn, rng.uniform(*ERRORS, SIMULATED))
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


def simulated(views: Views, costs: Costs, records: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Which simulated matches each pass finds, (passes, matches): copies of records that differ in
    each column with a probability, ``rates``.

    Each column, view and pass has a stream of its own, so that other columns change nothing.
    """
    columns, survives = views.columns, {}

    def drawn(*names: str) -> np.ndarray:
        own = Symbols.of(["\n".join(names)]).hashes()[0]
        return np.random.default_rng([SEED, int(own)]).random(len(records))

    for k, label in (places[0] for places in costs if len(places) == 1):
        codes, parts, name = columns[k].codes[records], views.parts((k, label)), columns[k].name
        assert parts is not None
        has = np.append((parts >= 0).any(axis=1), False)[codes]
        left = 0.0 if label == "=" else drawn(name, "left")  # of a value, where it differs
        survives[k, label] = ((drawn(name) >= rates) | (drawn(name, "part", label) < left)) & has
    smaller = min(views.first or views.n, (views.n - views.first) or views.n)
    found = []
    for places, (pairs, share) in costs.items():
        names = [text for k, label in places for text in (columns[k].name, label)]
        chance = share * min(1.0, pairs * ONE_OF / smaller)
        found.append((drawn("pass", *names) < chance) & survives[places[0]] & survives[places[-1]])
    return np.array(found)


def room_of(one: Pass, n: int) -> int:
    """About how many pairs of n records a pass finds: exactly so many where all keys were
    counted."""
    return one.pairs if n < PARTS[0][0] else int(one.pairs * ROOM[0]) + ROOM[1]
