"""Shapley values of any function: by all coalitions of few players, by permutations of many.

Rows are made of which a coalition's columns are those of the row that is explained, and all others
those of a background row, and the function says what it predicts for them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import comb
from typing import Any

import numpy as np

from mercer.samples import EncodedColumns, frame_of, is_frame, joined
from mercer.threads import raise_if_stopped

MOST_PLAYERS = 8  # whose coalitions are all asked for values
MOST_OF_PAIRS = 10  # and for the interactions of pairs, which are found in no other way
PAIRS = 2  # of permutations and their reverse, for each background row
MADE = 50_000  # rows that a function is asked for at a time


class Mixed:
    """Rows that are made of some rows X and some background rows B, by the columns of players.

    Parameters
    ----------
    X, B : rows of one form
        Arrays (n, d), data frames, or the encoded columns of a table.
    columns : list of lists
        The columns of each player: numbers, or names of a frame's columns.
    """

    def __init__(self, X: Any, B: Any, columns: Sequence[Sequence[Hashable]]):
        self.X, self.B, self.columns = X, B, columns
        self.own = {c: p for p, of_player in enumerate(columns) for c in of_player}

    def rows(self, x: np.ndarray, b: np.ndarray, chosen: np.ndarray) -> Any:
        """Rows x[i] of X where a player is chosen, (rows, players), else rows b[i] of B."""
        if is_frame(self.X):
            return self._of_frames(x, b, chosen)
        if isinstance(self.X, EncodedColumns):
            X, B = self.X, self.B
            objects = {  # new rows know all that the background does, and may know more
                j: joined(B.objects[j], X.objects[j])[self._places(j, x, b, chosen)]
                for j in X.objects
            }
            return EncodedColumns(self._of_arrays(X.numbers, B.numbers, x, b, chosen), objects)
        return self._of_arrays(self.X, self.B, x, b, chosen)

    def _of_arrays(self, X: np.ndarray, B: np.ndarray, x, b, chosen) -> np.ndarray:
        made = B[b]
        for player, columns in enumerate(map(np.array, self.columns)):
            some = np.flatnonzero(chosen[:, player])
            made[np.ix_(some, columns)] = X[np.ix_(x[some], columns)]
        return made

    def _of_frames(self, x, b, chosen) -> Any:
        import narwhals as nw

        both = nw.concat([frame_of(self.B), frame_of(self.X)], how="vertical")
        return both.select(
            both.get_column(c)[self._places(c, x, b, chosen)] for c in both.columns
        ).to_native()

    def _places(self, column: Hashable, x, b, chosen) -> np.ndarray:
        """The rows of B and X together that a column of made rows is from."""
        player = self.own.get(column)
        return b if player is None else np.where(chosen[:, player], len(self.B) + x, b)


def all_coalitions(players: int) -> np.ndarray:
    """Who is in each coalition, (2^players, players); bit p of its number is player p."""
    return (np.arange(2**players)[:, None] >> np.arange(players) & 1).astype(bool)


def values_of_game(values: np.ndarray) -> np.ndarray:
    """Shapley values (players, ...) of a game, from those of its coalitions (2^players, ...)."""
    d = len(values).bit_length() - 1
    chosen = all_coalitions(d)
    sizes = chosen.sum(axis=1)
    found = []
    for player in range(d):
        without = np.flatnonzero(~chosen[:, player])
        weights = np.array([1 / (d * comb(d - 1, s)) for s in sizes[without]])
        gains = values[without | 1 << player] - values[without]
        found.append(np.tensordot(weights, gains, 1))
    return np.array(found)


def pairs_of_game(values: np.ndarray) -> np.ndarray:
    """Shapley interaction indices (players, players, ...) of a game, 0 on the diagonal."""
    d = len(values).bit_length() - 1
    chosen = all_coalitions(d)
    sizes = chosen.sum(axis=1)
    found = np.zeros((d, d, *values.shape[1:]))
    for j in range(d):
        for l in range(j):
            S = np.flatnonzero(~(chosen[:, j] | chosen[:, l]))
            weights = np.array([1 / ((d - 1) * comb(d - 2, s)) for s in sizes[S]])
            one, other = S | 1 << j, S | 1 << l
            gains = values[one | other] - values[one] - values[other] + values[S]
            found[j, l] = found[l, j] = np.tensordot(weights, gains, 1)
    return found


def answers_for(function: Callable[[Any], np.ndarray], rows: Any) -> np.ndarray:
    """What a function answers for rows, (rows, outputs) in float64."""
    answers = np.asarray(function(rows), np.float64)
    return answers.reshape(len(answers), -1)


def asked_coalitions(
    function: Callable[[Any], np.ndarray], mixed: Mixed, i: int, count: int
) -> np.ndarray:
    """The function for each coalition of row i with each of ``count`` background rows, (count,
    2^players, outputs)."""
    chosen = all_coalitions(len(mixed.columns))
    b = np.repeat(np.arange(count), len(chosen))
    answers = _asked(function, mixed, np.full(len(b), i), b, np.tile(chosen, (count, 1)))
    return answers.reshape(count, len(chosen), -1)


def permuted(
    function: Callable[[Any], np.ndarray],
    mixed: Mixed,
    i: int,
    weights: np.ndarray,
    random: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """Shapley values of row i (players, outputs) by permutations, and their standard errors.

    For each background row players come in by turns, in a random order and in its reverse, twice. A
    function of which at most two columns act together is exact in this way. 2 PAIRS (players + 1)
    rows are asked for each background row.
    """
    B, d = len(weights), len(mixed.columns)
    orders = np.array([random.permutation(d) for _ in range(B * PAIRS)])
    orders = np.stack([orders, orders[:, ::-1]], axis=1).reshape(B, 2 * PAIRS, d)
    places = np.argsort(orders, axis=2)  # when a player comes in
    steps = np.arange(d + 1)[:, None]
    chosen = (places[:, :, None, :] < steps).reshape(-1, d)
    b = np.repeat(np.arange(B), 2 * PAIRS * (d + 1))
    answers = _asked(function, mixed, np.full(len(b), i), b, chosen)
    gains = np.diff(answers.reshape(B, 2 * PAIRS, d + 1, -1), axis=2)
    own = np.take_along_axis(gains, places[..., None], axis=2)
    each = own.reshape(B, PAIRS, 2, d, -1).mean(axis=2)
    spread = each.var(axis=1, ddof=1) / PAIRS
    values = np.tensordot(weights, each.mean(axis=1), 1)
    return values, np.sqrt(np.tensordot(weights**2, spread, 1))


def _asked(function, mixed: Mixed, x: np.ndarray, b: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    parts = []
    for start in range(0, len(b), MADE):
        raise_if_stopped()
        some = slice(start, start + MADE)
        parts.append(answers_for(function, mixed.rows(x[some], b[some], chosen[some])))
    return np.concatenate(parts)
