r"""Shapley values: exactly, of sums of products
:math:`f(x) = \sum_i c_i \sum_t w_t \prod_p k_{tp}(x, x_i)`, and of any function.

A background row b and a stored row i are a game of the players p, whose coalition S has the value
:math:`\prod_{p \in S} k_p(x, x_i) \prod_{p \notin S} k_p(b, x_i)`. The values of such a game are an
integral of a polynomial, without a sum over coalitions (src/native/shapley.cpp).

Of any function they are found by all coalitions of few players, or by permutations of many: rows
are made of which a coalition's columns are those of the row that is explained, and all others
those of a background row, and the function says what it predicts for them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb
from typing import Any

import numpy as np

from mercer import _native
from mercer.kernels import NotSeparable, Term
from mercer.learners.base import KernelSum
from mercer.samples import EncodedColumns, Samples, frame_of, is_frame, joined
from mercer.threads import ordered_map, raise_if_stopped

STRIP = 512  # stored rows of a task
BLOCK = 500_000  # numbers of the factors of some new rows and a strip

Function = Callable[[Any], np.ndarray]


@dataclass(frozen=True)
class Separated:
    """A kernel sum whose kernel is a sum of products, with players that are numbered from 0."""

    sum: KernelSum
    terms: list[Term]
    players: int

    @classmethod
    def of(cls, kernel_sum: KernelSum, players: Mapping[Any, int]) -> Separated:
        """That of a kernel sum; raises `NotSeparable` if its kernel mixes players.

        ``players`` has the number of the player of each column.
        """
        terms = kernel_sum.kernel.separated(kernel_sum.stored, players)
        return cls(kernel_sum, terms, max(players.values()) + 1)


def separated_summands(
    summands: Sequence[KernelSum | Function],
    columns: Mapping[Any, Sequence],
    players: Sequence[Sequence] | None = None,
) -> tuple[list[Separated], list[Function]]:
    """The summands of which exact values are known, and the others.

    Parameters
    ----------
    summands : list of KernelSum or callable
    columns : mapping
        For each column of a user's table its columns in the rows that are read, in their order.
    players : list of lists, optional
        The columns of each player in these rows; by default each column of the table is one.
    """
    players = list(columns.values()) if players is None else players
    owner = {c: player for player, own in enumerate(players) for c in own}
    ordered = [c for own in columns.values() for c in own]
    places = {place: owner[c] for place, c in enumerate(ordered)}
    separated, rest = [], []
    for each in summands:
        if not isinstance(each, KernelSum):
            rest.append(each)
            continue
        by = owner if each.kernel.reads.of_columns else places
        try:
            separated.append(Separated.of(each, by))
        except NotSeparable:
            rest.append(each)
    return separated, rest


#: background rows, and for each of some groups of them their numbers, and their weights in its mean
Groups = Sequence[tuple[np.ndarray, np.ndarray]]


def player_values(
    f: Separated, X: Samples, background: Samples, groups: Groups, n_jobs: int | None = None
) -> np.ndarray:
    """What each player adds to f at encoded rows against each group of encoded background rows:
    (groups, n, players, outputs).

    O(n m B d²) operations for m stored rows and B background rows.
    """
    n, outputs = X.shape[0], f.sum.coef.shape[1]
    found = np.zeros((len(groups), n, f.players, outputs))

    def of_strip(part: tuple[int, int, int, int]) -> np.ndarray:
        first, last, start, stop = part
        added = np.zeros((len(found), last - first, f.players, outputs))
        for owners, P, Q, coef in _factors(f, X[first:last], background, start, stop):
            for (group, weights), out in zip(groups, added):
                if len(owners) == 1:
                    mean = weights @ Q[group, 0]
                    out[:, owners[0]] += (P[:, 0] - mean) @ coef
                    continue
                every = owners == list(range(f.players))
                own = out if every else np.zeros((last - first, len(owners), outputs))
                rule = gauss_rule(len(owners) - 1)
                _native.shapley_values(P, Q[group], weights, coef, rule, own)
                if not every:
                    out[:, owners] += own
        return added

    parts = list(_parts(n, len(f.sum.coef), f.players))
    for (first, last, *_), added in zip(parts, ordered_map(of_strip, parts, n_jobs)):
        found[:, first:last] += added
    return found


def pair_values(
    f: Separated, X: Samples, background: Samples, weights: np.ndarray, n_jobs: int | None = None
) -> np.ndarray:
    """The Shapley interaction index of each pair of players, (n, players, players, outputs).

    O(n m B d³) operations.
    """
    n, outputs = X.shape[0], f.sum.coef.shape[1]
    found = np.zeros((n, f.players, f.players, outputs))

    def of_strip(part: tuple[int, int, int, int]) -> np.ndarray:
        first, last, start, stop = part
        added = np.zeros((last - first, f.players, f.players, outputs))
        for owners, P, Q, coef in _factors(f, X[first:last], background, start, stop):
            if len(owners) == 1:
                continue
            own = np.zeros((last - first, len(owners), len(owners), outputs))
            _native.shapley_pairs(P, Q, weights, coef, gauss_rule(len(owners) - 2), own)
            rows, columns = np.ix_(owners, owners)
            added[:, rows, columns] += own + own.swapaxes(1, 2)
        return added

    parts = list(_parts(n, len(f.sum.coef), f.players**2))
    for (first, last, *_), added in zip(parts, ordered_map(of_strip, parts, n_jobs)):
        found[first:last] += added
    return found


def coalition_values(f: Separated, x: Samples, background: Samples) -> np.ndarray:
    """f of one new row where a coalition is of this row and all else of a background row, for all
    coalitions: (background rows, 2^players, outputs); bit p of a coalition's number is player p.

    The players are halved, and the values are a product of two matrices of 2^(players / 2) rows.
    """
    B, half = background.shape[0], f.players // 2
    found = np.zeros((B, 2**f.players, f.sum.coef.shape[1])) + f.sum.offset
    for start in range(0, len(f.sum.coef), STRIP):
        parts = _factors(f, x, background, start, min(start + STRIP, len(f.sum.coef)))
        for owners, P, Q, coef in parts:
            ones = np.ones((f.players, coef.shape[0]))
            for b in range(B):
                p, q = ones.copy(), ones.copy()
                p[owners], q[owners] = P[0], Q[b]
                low, high = _products(p[:half], q[:half]), _products(p[half:], q[half:])
                for output, c in enumerate(coef.T):
                    found[b, :, output] += ((high * c) @ low.T).ravel()
    return found


@dataclass(frozen=True)
class FactorMatrices:
    """K between some rows and others as factors: of each term its weight, and a matrix of each
    player."""

    terms: list[tuple[float, dict[int, np.ndarray]]]
    shape: tuple[int, int]

    @classmethod
    def of(cls, f: Separated, X: Samples, Z: Samples, n_jobs: int | None = None) -> FactorMatrices:
        """Those of a separated sum's kernel between encoded rows."""

        def of_term(term: Term) -> tuple[float, dict[Any, np.ndarray]]:
            found = {p: product_of(ks, X, Z).astype(np.float64) for p, ks in term.factors.items()}
            check_finite(*found.values())
            return term.weight, found

        return cls(list(ordered_map(of_term, f.terms, n_jobs)), (X.shape[0], Z.shape[0]))

    def without(self, players: Sequence[int]) -> np.ndarray:
        """K where some players have the factor 1; terms of these alone are left out."""
        K = np.zeros(self.shape)
        for weight, factors in self.terms:
            own = [matrix for player, matrix in factors.items() if player not in players]
            if own:
                K += weight * np.prod(own, axis=0) if own[1:] else weight * own[0]
        return K

    def reduced(self, player: int) -> FactorMatrices:
        """The same without a player."""
        left = (
            (weight, {p: k for p, k in factors.items() if p != player})
            for weight, factors in self.terms
        )
        return FactorMatrices([term for term in left if term[1]], self.shape)


def check_finite(*arrays: np.ndarray) -> None:
    """Raise ValueError if the numbers of rows are beyond those that factors can tell apart."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError(
            "The columns of X are beyond the range of floats: divide them by their largest size."
        )


@cache
def gauss_rule(degree: int) -> np.ndarray:
    """Places in [0, 1] and weights, exact for polynomials of the degree: (nodes, 2).

    The tree of up to 24 players needs none, but the loops want some rule.
    """
    places, weights = np.polynomial.legendre.leggauss(max(1, -(-(degree + 1) // 2)))
    return np.column_stack([(places + 1) / 2, weights / 2])


def _parts(n: int, m: int, width: int) -> Iterator[tuple[int, int, int, int]]:
    """Some new rows and a strip of stored rows at a time: their ends."""
    step = max(1, BLOCK // (STRIP * width))
    for first in range(0, n, step):
        for start in range(0, m, STRIP):
            yield first, min(first + step, n), start, min(start + STRIP, m)


def _factors(
    f: Separated, X: Samples, background: Samples, start: int, stop: int
) -> Iterator[tuple[list[int], np.ndarray, np.ndarray, np.ndarray]]:
    """For each term its players, their factors with a strip of stored rows, of new rows (n, d, m)
    and of background rows (B, d, m), and the coefficients (m, outputs)."""
    stored, coef = f.sum.stored[start:stop], f.sum.coef[start:stop]
    for term in f.terms:
        owners: list[Any] = list(term.factors)
        if owners and term.weight:
            P, Q = (
                np.stack([product_of(term.factors[p], side, stored) for p in owners], axis=1)
                for side in (X, background)
            )
            yield owners, P, Q, np.ascontiguousarray(term.weight * coef)


def product_of(kernels: Sequence, X: Samples, Z: Samples) -> np.ndarray:
    """The product of some kernels between encoded rows, (n, m)."""
    first, *others = kernels
    K = first.block(X, Z)
    for kernel in others:
        K *= kernel.block(X, Z)
    return K


def _products(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The product of p over a coalition and of q over the others, for all coalitions: (2^d, m)."""
    table = np.ones((1, p.shape[1]))
    for one, other in zip(p, q):
        table = np.concatenate([table * other, table * one])
    return table


MOST_PLAYERS = 8  # whose coalitions are all asked for values
MOST_OF_PAIRS = 10  # and for the interactions of pairs, which are found in no other way
PAIRS = 2  # of permutations and their reverse, for each background row
MADE = 50_000  # rows that a function is asked for at a time


class MixedRows:
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
        """Mixed rows as a data frame."""
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
    function: Callable[[Any], np.ndarray], mixed: MixedRows, i: int, count: int
) -> np.ndarray:
    """The function for each coalition of row i with each of ``count`` background rows, (count,
    2^players, outputs)."""
    chosen = all_coalitions(len(mixed.columns))
    b = np.repeat(np.arange(count), len(chosen))
    answers = _asked(function, mixed, np.full(len(b), i), b, np.tile(chosen, (count, 1)))
    return answers.reshape(count, len(chosen), -1)


def permuted(
    function: Callable[[Any], np.ndarray],
    mixed: MixedRows,
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


def _asked(
    function, mixed: MixedRows, x: np.ndarray, b: np.ndarray, chosen: np.ndarray
) -> np.ndarray:
    """The answers of a function for mixed rows, some at a time."""
    parts = []
    for start in range(0, len(b), MADE):
        raise_if_stopped()
        some = slice(start, start + MADE)
        parts.append(answers_for(function, mixed.rows(x[some], b[some], chosen[some])))
    return np.concatenate(parts)
