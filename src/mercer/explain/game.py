"""What an explanation is about: a model, rows, a background, players, and the way that suits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from mercer.explain.background import Background, standing
from mercer.explain.coalitions import (
    MOST_OF_PAIRS,
    MOST_PLAYERS,
    Mixed,
    answers_for,
    asked_coalitions,
    pairs_of_game,
    permuted,
    values_of_game,
)
from mercer.explain.exact import (
    Function,
    Separated,
    check_finite,
    coalition_values,
    pair_values,
    player_values,
    separated_summands,
)
from mercer.learners.base import KernelLearner, KernelSum
from mercer.samples import column_names, read

LINKED = 16  # players of a function of exact sums whose coalitions are all computed
OUTPUTS = (None, "probability")


@dataclass(frozen=True)
class Explained:
    """A model as explanations read it: a function of rows, and what it is made of.

    Attributes
    ----------
    function : callable
        What is explained, of rows that ``encode`` has read: (n, outputs).
    encode : callable
        A user's rows as the function and its summands read them.
    columns : dict
        For each column of a user's table its columns in these rows, in their order.
    summands : list of KernelSum or callable
        Functions of these rows whose sum, which may lack a constant, is what ``link`` reads.
    link : callable or None
        The explained function of that sum, (n, sums) to (n, outputs); None if it is the sum.
    output_names : list of str or None
        None for one output.
    background : Background or None
        Encoded rows that the model has kept, which stand for all training rows.
    """

    function: Function
    encode: Callable[[Any], Any]
    columns: Mapping[Any, Sequence]
    summands: Sequence[KernelSum | Function]
    link: Function | None = None
    output_names: list[str] | None = None
    background: Background | None = None


class Explainable(ABC):
    """Abstract: a model that says itself what its predictions are made of."""

    @abstractmethod
    def explained(self, output: str | None) -> Explained:
        """The model as explanations read it; ``output`` is that of `shapley_values`."""


def explained_model(model: Any, X: Any, output: str | None) -> Explained:
    """Any fitted model as explanations read it."""
    if output not in OUTPUTS:
        raise ValueError(f"output={output!r}: give one of {OUTPUTS}.")
    if output is not None and not is_classifier(model):
        raise ValueError(f"output={output!r} explains classes, but {type(model).__name__} is none.")
    if isinstance(model, Explainable):
        return model.explained(output)
    columns = {name: [name] for name in column_names(X)}
    function, outputs = model_function(model, output)
    return Explained(function, _rows, columns, [function], None, outputs)


def model_function(model: Any, output: str | None) -> tuple[Function, list[str] | None]:
    """What a model that does not say what it is made of answers for a user's rows, a `KernelSum`
    where it is one; and the names of several outputs."""
    if isinstance(model, KernelLearner) and output is None:
        with suppress(TypeError):  # then it is a function of which nothing more is known
            function = model.kernel_sum()
            return function, _names_of(model, function.coef.shape[1])
    return _answers(model, output)


def _rows(X: Any) -> Any:
    """Rows of which others can be made: a data frame, or an array (n, d)."""
    return read(X.toarray() if sp.issparse(X) else X, "table", reader="shapley_values")[1]


def _answers(model: Any, output: str | None) -> tuple[Function, list[str] | None]:
    """What a model answers for rows, and the names of several outputs."""
    if not is_classifier(model):
        return model.predict, None
    if output is None and callable(getattr(model, "decision_function", None)):
        several = len(model.classes_) > 2
        return model.decision_function, [str(c) for c in model.classes_] if several else None
    return model.predict_proba, [str(c) for c in model.classes_]


def _names_of(model: Any, outputs: int) -> list[str] | None:
    if outputs == 1:
        return None
    if is_classifier(model):
        return [str(c) for c in model.classes_]
    return [f"output {j}" for j in range(outputs)]


@dataclass
class Game:
    """The players of a model's columns, for the rows that are explained and a background."""

    model: Explained
    given: Any  # the rows as a user gave them
    rows: Any  # as the model reads them
    background: Background  # of such rows
    players: dict[str, list]  # the columns of each in a user's table
    columns: dict[str, list]  # of each player, in the rows that the model reads
    separated: list[Separated]
    rest: list[Function]
    random: np.random.RandomState
    n_jobs: int | None

    @classmethod
    def of(
        cls, model: Any, X: Any, background: Any, players: Mapping | None, output: str | None,
        random_state: Any, n_jobs: int | None,
    ) -> Game:  # fmt: skip
        own = isinstance(model, Explainable)  # then it reads rows itself
        if not own:
            X, background = _rows(X), None if background is None else _rows(background)
            if background is not None and column_names(X) != column_names(background):
                raise ValueError(
                    f"background has the columns {column_names(background)}, but X has "
                    f"{column_names(X)}: give rows of one table."
                )
        explained = explained_model(model, X, output)
        encode = explained.encode if own else lambda rows: rows
        own_columns = players_of(list(explained.columns), players)
        columns = {
            name: [c for column in own for c in explained.columns[column]]
            for name, own in own_columns.items()
        }
        if background is None and explained.background is None:
            raise ValueError(
                f"background=None, but {type(model).__name__} keeps no rows that stand for all: "
                "give background=, the training rows or some of them."
            )
        random = check_random_state(random_state)
        separated, rest = separated_summands(
            explained.summands, explained.columns, list(columns.values())
        )
        found, rows = explained.background, encode(X)
        if background is not None:
            kept = encode(background)
            f = separated[0] if separated else None
            found = standing(f, kept, kept if f is None else f.sum.encode(kept), random)
        assert found is not None
        return cls(explained, X, rows, found, own_columns, columns, separated, rest, random, n_jobs)

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    def base(self) -> np.ndarray:
        """The mean of the explained function over the background, (outputs,)."""
        return self.background.mean(answers_for(self.model.function, self.background.rows))

    def values(self) -> tuple[np.ndarray, np.ndarray, str]:
        """Shapley values and standard errors (n, players, outputs), and how they were found."""
        if self.model.link is not None:
            exact = not self.rest and len(self.columns) <= LINKED
            return self._linked(values_of_game) if exact else self._asked(self.model.function)
        back = self.background
        groups = [(group, back.within(group)) for group in back.groups]
        found = [
            (*back.combined(player_values(f, *self._encoded(f), groups, self.n_jobs)), "exact")
            for f in self.separated
        ]
        if self.rest:
            found.append(self._asked(self._rest))
        values, errors, ways = zip(*found)
        check_finite(*values)
        error = np.sqrt(np.sum(np.square(errors), axis=0))
        return np.sum(values, axis=0), error, " and ".join(dict.fromkeys(ways))

    def interactions(self) -> tuple[np.ndarray, str]:
        """Interaction indices (n, players, players, outputs), and how they were found."""
        few = len(self.columns) <= (MOST_OF_PAIRS if self.rest else LINKED)
        if not few and (self.rest or self.model.link is not None):
            raise ValueError(
                f"There are {len(self.columns)} players, but the interactions of this model are "
                f"found by asking all coalitions: name groups by players=, at most {MOST_OF_PAIRS}."
            )
        if self.rest:
            values, _, way = self._by_coalitions(self.model.function, pairs_of_game)
            return values, way
        if self.model.link is not None:
            values, _, way = self._linked(pairs_of_game)
            return values, way
        weights = self.background.weights
        found = [pair_values(f, *self._encoded(f), weights, self.n_jobs) for f in self.separated]
        return np.sum(found, axis=0), "exact"

    def _encoded(self, f: Separated) -> tuple[Any, Any]:
        """The rows and the background as a kernel sum compares them."""
        return f.sum.encode(self.rows), f.sum.encode(self.background.rows)

    def _rest(self, rows: Any) -> np.ndarray:
        return np.sum([answers_for(f, rows) for f in self.rest], axis=0)

    def _asked(self, function: Function) -> tuple[np.ndarray, np.ndarray, str]:
        """The values of a function of which nothing is known."""
        if len(self.columns) <= MOST_PLAYERS:
            return self._by_coalitions(function, values_of_game)
        mixed, weights = self._mixed(), self.background.weights
        found = [permuted(function, mixed, i, weights, self.random) for i in range(len(self.rows))]
        values, errors = map(np.array, zip(*found))
        return values, errors, "permutations"

    def _mixed(self) -> Mixed:
        return Mixed(self.rows, self.background.rows, list(self.columns.values()))

    def _by_coalitions(
        self, function: Function, solve: Callable
    ) -> tuple[np.ndarray, np.ndarray, str]:
        mixed, count = self._mixed(), len(self.background.weights)
        games = (asked_coalitions(function, mixed, i, count) for i in range(len(self.rows)))
        return (*self._solved(games, solve), "all coalitions")

    def _linked(self, solve: Callable) -> tuple[np.ndarray, np.ndarray, str]:
        """The values of a function of sums, whose coalitions need no rows that are made."""
        link: Any = self.model.link
        encoded = [self._encoded(f) for f in self.separated]

        def game(i: int) -> np.ndarray:
            each = [
                coalition_values(f, rows[i : i + 1], background)
                for f, (rows, background) in zip(self.separated, encoded)
            ]
            sums = np.sum(each, axis=0)
            return link(sums.reshape(-1, sums.shape[-1])).reshape(*sums.shape[:2], -1)

        return (*self._solved(map(game, range(len(self.rows))), solve), "exact")

    def _solved(self, games: Any, solve: Callable) -> tuple[np.ndarray, np.ndarray]:
        """What ``solve`` finds in games (background, 2^players, outputs), and standard errors."""
        back = self.background

        def solved(g: np.ndarray, own: np.ndarray) -> np.ndarray:
            return solve(np.tensordot(back.within(own), g[own], 1))

        each = [back.combined(np.array([solved(g, own) for own in back.groups])) for g in games]
        values, errors = map(np.array, zip(*each))
        return values, errors


def players_of(columns: list, players: Mapping | None) -> dict[str, list]:
    """The columns of each player: those that are named, then every other column by itself."""
    named = {str(name): list(own) for name, own in (players or {}).items()}
    taken = [column for own in named.values() for column in own]
    for column in taken:
        if column not in columns:
            raise ValueError(f"players= names {column!r}, but the columns are {columns}.")
        if taken.count(column) > 1:
            raise ValueError(
                f"players= names {column!r} {taken.count(column)} times: name it once."
            )
    return named | {str(column): [column] for column in columns if column not in taken}


def separated_sum(model: Any, X: Any) -> tuple[Separated, Callable[[Any], Any]]:
    """The first kernel sum of a fitted model, with a player for each column of X, and how rows like
    X are encoded for it; a TypeError where there is none."""
    explained = explained_model(model, X, None)
    separated, _ = separated_summands(explained.summands, explained.columns)
    if not separated:
        raise TypeError(
            f"{type(model).__name__} is no sum of kernels of single columns: give an estimator "
            "with a kernel such as RBF, Laplacian or TableKernel."
        )
    first = separated[0]
    return first, lambda rows: first.sum.encode(explained.encode(rows))
