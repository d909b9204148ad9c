"""Shapley values of the predictions of any model: what each column adds, beside a background."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.estimator import Seed
from mercer.explain.game import Game
from mercer.samples import (
    SamplesLike,
    column_names,
    is_frame,
    object_columns,
    select_columns,
)

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


@dataclass(frozen=True)
class ShapleyValues:
    r"""What each player adds to the predictions of some rows; its fields are shap's.

    .. math:: \phi_i = \sum_{S \subseteq N \setminus i} \frac{|S|!\, (d - |S| - 1)!}{d!}\,
              (v(S \cup i) - v(S))

    d players N; v(S) is the mean prediction when the players of S have the values of the row, and
    the others those of background rows.

    Attributes
    ----------
    values : ndarray of shape (n, players) or (n, players, outputs)
        They sum to the prediction less the mean of the predictions for the background rows.
    base_values : ndarray of shape (n,) or (n, outputs)
        This mean.
    data : ndarray of shape (n, players)
        What the rows hold; of several columns that are one player, a tuple.
    feature_names : list of str
        The players.
    output_names : list of str or None
    errors : ndarray of the shape of ``values``
        Standard errors: of the few background rows, and of permutations. NaN where nothing tells
        them. Those of rows that were chosen to stand for all are told by the differences between
        fifths of them, times how much nearer all of them are to all rows.
    method : {"exact", "all coalitions", "permutations"}
        How they were computed; several ways are joined by " and ".

    References
    ----------
    Shapley, "A value for n-person games", 1953; Lundberg & Lee, "A unified approach to
    interpreting model predictions", NIPS 2017.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    >>> from mercer import KernelRidge
    >>> from mercer.explain import shapley_values
    >>> model = KernelRidge(kernel="linear", alpha=1e-6).fit(X, X[:, 0] + 2 * X[:, 1])
    >>> shapley_values(model, X[:1], background=X).values.round(3)
    array([[-0.5,  1. ]])
    """

    values: np.ndarray
    base_values: np.ndarray
    data: np.ndarray
    feature_names: list[str]
    output_names: list[str] | None
    errors: np.ndarray
    method: str

    def global_importance(self) -> dict[str, float]:
        """The mean size of each player's values over rows and outputs, the largest first."""
        size = np.abs(self.values)
        means = size.mean(axis=tuple(i for i in range(size.ndim) if i != 1))
        order = np.argsort(-means, kind="stable")
        return {self.feature_names[j]: float(means[j]) for j in order}

    def to_shap(self) -> Any:
        """A `shap.Explanation`, for the plots of the package shap, which must be installed."""
        import shap

        return shap.Explanation(
            values=self.values, base_values=self.base_values, data=self.data,
            feature_names=self.feature_names, output_names=self.output_names,
        )  # fmt: skip


@dataclass(frozen=True)
class ShapleyInteractions:
    r"""How much more two players add together than each alone, by the Shapley interaction index.

    .. math:: \phi_{ij} = \sum_{S \subseteq N \setminus \{i, j\}}
              \frac{|S|!\, (d - |S| - 2)!}{(d - 1)!}\,
              (v(S \cup ij) - v(S \cup i) - v(S \cup j) + v(S))

    v(S) is as in `ShapleyValues`, of d players N.

    Attributes
    ----------
    values : ndarray of shape (n, players, players) or (n, players, players, outputs)
        Symmetric, with 0 on the diagonal. They are 0 for players that do not act together.
    feature_names, output_names, method
        They are those of `ShapleyValues`; the method is never "permutations".

    References
    ----------
    Grabisch & Roubens, "An axiomatic approach to the concept of interaction among players in
    cooperative games", International Journal of Game Theory 28, 1999.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.explain import shapley_interactions
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> model = KernelRidge(kernel="poly", degree=2, alpha=1e-6).fit(X, X[:, 0] * X[:, 1])
    >>> shapley_interactions(model, X[3:], background=X[:1]).values.round(3)
    array([[[0., 1.],
            [1., 0.]]])
    """

    values: np.ndarray
    feature_names: list[str]
    output_names: list[str] | None
    method: str


def shapley_values(
    model: BaseEstimator,
    X: SamplesLike,
    background: SamplesLike | None = None,
    *,
    players: Mapping[str, Sequence] | None = None,
    output: str | None = None,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> ShapleyValues:
    r"""What each column adds to each prediction, by Shapley's formula.

    .. math:: \phi_j(x) = \sum_{S \not\ni j} \frac{|S|! (d - 1 - |S|)!}{d!}
        \bigl(v(S \cup j) - v(S)\bigr), \quad v(S) = \mathrm{mean}_b\, f(x_S, b_{\bar S})

    Of kernel machines whose kernels are sums of products of kernels of columns they are exact, and
    no coalition is computed (docs/shapley.rst). Of other models all coalitions of up to 8
    players are asked, and of more players random permutations and their reverse, with a standard
    error; ``method`` says which.

    Parameters
    ----------
    model : fitted estimator
        Any of this library, or of scikit-learn's form.
    X : array-like or table, n rows
        The rows whose predictions are explained.
    background : rows like X, optional
        Training rows: v(S) is the mean over them. Of more than 100 rows, 100 are chosen that stand
        for all. None takes those that the model has kept; only automatic estimators keep some.
    players : dict, optional
        Name -> columns that come in together, as one player: ``{"address": ["street", "town"]}``.
        Every other column is a player of its own.
    output : {None, "probability"}
        None explains predictions of numbers, and of classes the log-odds or decision values, which
        are sums; "probability" explains the probabilities of classes.
    random_state : int, RandomState or None
        Seed for the rows of a large background and for permutations.
    n_jobs : int, optional
        Threads.

    Raises
    ------
    ValueError
        There is no background, X has other columns than the background, a player has a column that
        is not there, or ``output`` is unknown.

    Notes
    -----
    Exact: O(n m B d²) operations for m stored rows, B background rows and d players. Columns that
    depend on one another share their effect in a way that such values do not tell: rows are made of
    a row and a background row that may be nothing like the data.

    References
    ----------
    Štrumbelj & Kononenko, "An efficient explanation of individual classifications using game
    theory", JMLR 11, 2010.
    Lundberg & Lee, "A unified approach to interpreting model predictions", NIPS 2017.

    Examples
    --------
    >>> from mercer import SVR
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = SVR(C=10).fit(X, X[:, 0] * X[:, 1])
    >>> found = shapley_values(model, X[:2], background=X)
    >>> found.method, found.values.shape
    ('exact', (2, 3))
    >>> gap = model.predict(X[:2]) - found.base_values - found.values.sum(axis=1)
    >>> bool(abs(gap).max() < 1e-6)
    True
    """
    return _found(Game.of(model, X, background, players, output, random_state, n_jobs))


def is_quick(model: BaseEstimator, X: SamplesLike, background: SamplesLike | None = None) -> bool:
    """Whether the values of a model are exact and no row has to be made for them."""
    game = Game.of(model, X, background, None, None, 0, None)
    return not game.rest and game.model.link is None


def shapley_interactions(
    model: BaseEstimator,
    X: SamplesLike,
    background: SamplesLike | None = None,
    *,
    players: Mapping[str, Sequence] | None = None,
    output: str | None = None,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> ShapleyInteractions:
    r"""How much more two columns add to each prediction together than each by itself.

    .. math:: \phi_{ij} = \sum_{S \subseteq N \setminus \{i, j\}}
              \frac{|S|!\, (d - |S| - 2)!}{(d - 1)!}\,
              (v(S \cup ij) - v(S \cup i) - v(S \cup j) + v(S))

    v(S) is as in `ShapleyValues`, of d players N; the values have the shape (n, d, d).

    Parameters and errors are those of `shapley_values`.

    Returns
    -------
    ShapleyInteractions
        The Shapley interaction index of each pair of players. Models that are no sums of products
        have it for up to 10 players.

    Notes
    -----
    O(n m B d³) operations for m stored rows, B background rows and d players.

    References
    ----------
    Grabisch & Roubens, "An axiomatic approach to the concept of interaction among players in
    cooperative games", International Journal of Game Theory 28, 1999.

    Examples
    --------
    >>> from mercer import SVR
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = SVR(C=10).fit(X, X[:, 0] * X[:, 1])
    >>> found = shapley_interactions(model, X[:20], background=X)
    >>> size = np.abs(found.values).mean(axis=0)
    >>> bool(size[0, 1] > 5 * size[0, 2])
    True
    """
    game = Game.of(model, X, background, players, output, random_state, n_jobs)
    values, method = game.interactions()
    names = game.model.output_names
    return ShapleyInteractions(
        values[..., 0] if names is None else values, game.names, names, method
    )


def _found(game: Game) -> ShapleyValues:
    values, errors, method = game.values()
    names, base = game.model.output_names, np.tile(game.base(), (len(values), 1))
    if names is None:
        values, errors, base = values[..., 0], errors[..., 0], base[:, 0]
    return ShapleyValues(values, base, _cells(game), game.names, names, errors, method)


def _cells(game: Game) -> np.ndarray:
    """What the rows hold for each player, (n, players): a tuple for several columns, and None where
    rows are given in a form that has no such columns."""
    X, found = game.given, np.empty((len(game.rows), len(game.players)), object)
    if not (is_frame(X) or (isinstance(X, np.ndarray) and X.ndim == 2)):
        return found
    known = set(column_names(X))
    for j, own in enumerate(game.players.values()):
        if not known.issuperset(own):
            continue
        cells = object_columns(select_columns(X, own, "shapley_values"))
        found[:, j] = cells[0] if len(own) == 1 else list(zip(*cells))
    return found
