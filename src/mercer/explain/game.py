"""What an explanation is about: a model, rows, a background, players, and the way that suits.

The background is a few weighted rows that stand for all rows, with which explanations compare.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import nnls
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_random_state

from mercer.explain.shapley import (
    MOST_OF_PAIRS,
    MOST_PLAYERS,
    Function,
    MixedRows,
    Separated,
    answers_for,
    asked_coalitions,
    check_finite,
    coalition_values,
    pair_values,
    pairs_of_game,
    permuted,
    player_values,
    product_of,
    separated_summands,
    values_of_game,
)
from mercer.learners.base import KernelLearner, KernelSum
from mercer.samples import (
    Categories,
    EncodedColumns,
    Samples,
    SamplesLike,
    column_names,
    read,
)
from mercer.streams import take_rows

if TYPE_CHECKING:
    from mercer.estimator import Seed

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


def explained_model(model: Any, X: SamplesLike, output: str | None) -> Explained:
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


def model_function(model: BaseEstimator, output: str | None) -> tuple[Function, list[str] | None]:
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
        cls, model: BaseEstimator, X: SamplesLike, background: SamplesLike | None,
        players: Mapping | None, output: str | None, random_state: Seed, n_jobs: int | None,
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

    def _mixed(self) -> MixedRows:
        return MixedRows(self.rows, self.background.rows, list(self.columns.values()))

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


def separated_sum(model: BaseEstimator, X: SamplesLike) -> tuple[Separated, Callable[[Any], Any]]:
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


ROWS = 100  # that stand for all
CHOSEN_AMONG = 2000  # rows, of more a random part
PAIRS = 4e7  # of rows and players that are compared at a fit, about .3 s
MATRIX = 4 * 8  # bytes of all matrices for each pair of the rows that are chosen among
GROUPS, LEAST = 5, 10  # parts of a background whose differences tell its error, and rows for them
TINY = 1e-6  # added to the diagonal, and least share of a row that is kept


class Background(NamedTuple):
    """Rows that stand for all rows.

    Attributes
    ----------
    rows : encoded rows, or rows as a model reads them
    weights : ndarray of shape (rows,)
        Their shares in means over the background.
    nearer : float
        The distance of the background from all rows, divided by that of a fifth of it. Times the
        root mean square deviation of the values by each fifth, this is the standard error.
    """

    rows: Any
    weights: np.ndarray
    nearer: float

    @classmethod
    def drawn(cls, rows: Any, count: int) -> Background:
        """Rows of equal weights, as if they had been drawn at random."""
        return cls(rows, np.full(count, 1 / count), 1 / np.sqrt(GROUPS - 1))

    @property
    def groups(self) -> list[np.ndarray]:
        """Parts of the rows, in which every fifth row is, so that each stands for all."""
        count = len(self.weights)
        groups = GROUPS if count >= LEAST else 1
        return [np.arange(g, count, groups) for g in range(groups)]

    @property
    def shares(self) -> np.ndarray:
        """The shares of the groups in means."""
        return np.array([self.weights[group].sum() for group in self.groups])

    def mean(self, values: np.ndarray) -> np.ndarray:
        """The mean of what is known of each row, (rows, ...)."""
        return np.tensordot(self.weights, values, 1)

    def within(self, group: np.ndarray) -> np.ndarray:
        """The shares of the rows of a group in its mean."""
        return self.weights[group] / self.weights[group].sum()

    def combined(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean of values beside each group (groups, ...), and its standard error."""
        mean = np.tensordot(self.shares, values, 1)
        if len(values) == 1:
            return mean, np.full_like(mean, np.nan)
        return mean, self.nearer * np.sqrt(np.mean((values - mean) ** 2, axis=0))


def standing(
    f: Separated | None,
    X: Any,
    encoded: Samples,
    random: Any,
    most: int = CHOSEN_AMONG,
) -> Background:
    r"""Up to 100 of the rows of X, with weights, whose means are nearest to those of all rows.

    They are near for all sets of players at once, in the sense of the kernel
    :math:`\prod_p (1 + k_p) / 2` of the term with most players, whose mean embedding bounds the
    error of all 2^d marginal means. The next row is the one that brings the mean of the chosen rows
    nearest to the mean of all; then their weights are those of the nearest mean, none below 0.
    O(n² d) operations for n = ``most`` rows, drawn at random if there are more; without a separated
    sum ``f`` all rows are drawn.

    References
    ----------
    Chen, Welling & Smola, "Super-samples from kernel herding", UAI 2010.
    Huszár & Duvenaud, "Optimally-weighted herding is Bayesian quadrature", UAI 2012.
    """
    order = random.permutation(len(X))
    if f is None or len(X) <= ROWS:
        chosen = np.sort(order[:ROWS])
        return Background.drawn(some_of(X, chosen), len(chosen))
    among = np.sort(order[:most])
    K = _alike(f, encoded[among])
    mean, chosen, total = K.mean(axis=1, dtype=np.float64), [], np.zeros(len(among))
    for taken in range(ROWS):
        score = mean - total / (taken + 1)
        score[chosen] = -np.inf
        chosen.append(int(np.argmax(score)))
        total += K[chosen[-1]]
    weights = _nearest(K[np.ix_(chosen, chosen)].astype(np.float64), mean[chosen])
    kept = np.array(chosen)[weights > TINY]
    weights = weights[weights > TINY] / weights[weights > TINY].sum()
    found = Background(some_of(X, among[kept]), weights, 1.0)
    whole = float(K.mean(dtype=np.float64))

    def far(part: np.ndarray, w: np.ndarray) -> float:
        """The squared distance of a weighted mean to the mean of all rows."""
        rows = kept[part]
        return max(w @ K[np.ix_(rows, rows)] @ w - 2 * w @ mean[rows] + whole, 0.0)

    apart = np.mean([far(group, found.within(group)) for group in found.groups])
    own = far(np.arange(len(kept)), weights)
    return found._replace(nearer=float(np.sqrt(own / apart)) if apart > 0 else 0.0)


def kept_rows(
    summands: Sequence[Any], columns: Mapping[Any, Sequence], M: EncodedColumns, seed: int,
    memory: int,
) -> Background:  # fmt: skip
    """Rows of an encoded table that stand for all, for a model to keep.

    ``summands`` and ``columns`` are those of `separated_summands`.

    Of a table of objects, whose kernels may take long, they are drawn at random. The matrices that
    choose take at most an eighth of ``memory``, in bytes.
    """
    random = np.random.default_rng(seed)
    most = int(min(CHOSEN_AMONG, np.sqrt(PAIRS / len(columns)), np.sqrt(memory / (8 * MATRIX))))
    if most > ROWS and all(isinstance(column, Categories) for column in M.objects.values()):
        separated, _ = separated_summands(summands, columns)
        if separated:
            return standing(separated[0], M, separated[0].sum.encode(M), random, most)
    return standing(None, M, M, random)


def some_of(rows: Any, numbers: np.ndarray) -> Any:
    """Some rows, of an encoded table or in a user's form."""
    return rows[numbers] if isinstance(rows, EncodedColumns) else take_rows(rows, numbers)


def _alike(f: Separated, X: Samples) -> np.ndarray:
    """K of the kernel that compares rows by each set of players, (n, n), float32."""
    term = max(f.terms, key=lambda term: len(term.factors))
    K = np.ones((X.shape[0], X.shape[0]), np.float32)
    for kernels in term.factors.values():
        k = product_of(kernels, X, X).astype(np.float32, copy=False)
        size = np.sqrt(np.abs(np.diagonal(k)))
        size[size == 0] = 1
        K *= (1 + k / size[:, None] / size) / 2
    return K


def _nearest(K: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The w >= 0 of the sum 1 for which w'Kw - 2w'z is least."""
    L = np.linalg.cholesky(K + TINY * len(K) * np.eye(len(K)))
    weights, _ = nnls(L.T, np.linalg.solve(L, z))
    return weights / weights.sum()
