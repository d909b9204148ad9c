"""Distances on tables, as sums over groups of columns, and on rows in which numbers are missing."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from mercer.distances.base import Distance, Rooted
from mercer.distances.categories import Match
from mercer.distances.comparison import Composite, Meaning
from mercer.distances.products import (
    FARTHEST,
    check_weights,
    feature_weights,
    inner_products,
    refuse_beyond_squares,
)
from mercer.distances.vectors import Minkowski
from mercer.estimator import estimator
from mercer.samples import (
    Prepared,
    Samples,
    SamplesLike,
    Table,
    accepted,
    column_names,
    encode_vectors,
    float_array,
    frame_of,
    is_frame,
    is_missing,
    number_columns,
    object_columns,
    read,
    select_columns,
)


class NanEuclidean(Rooted):
    r"""Euclidean distance of rows with missing numbers (NaN), over the columns that both rows know.

    .. math:: \rho(x, z) = \Bigl(\frac{\sum_j w_j}{\sum_{j \in J} w_j}
        \sum_{j \in J} w_j (x_j - z_j)^2\Bigr)^{1/2}

    where J are the columns in which neither x nor z is missing: the others are taken to differ as
    much as these. Rows that share no known column are infinitely far apart.

    Parameters
    ----------
    weights : array-like of shape (d,), optional
        The weights :math:`w_j \ge 0` of the columns. None means 1 for each.

    Raises
    ------
    ValueError
        All numbers of a row are missing, or X is sparse or has infinite numbers.

    See Also
    --------
    Mixed : Tables with missing numbers and categories (``missing="skip"``).

    Notes
    -----
    It is not a metric: a row may be at distance 0 from two rows that differ. Where nothing is
    missing it is ``Minkowski(2, weights)``. Products of matrices: O(n m d) operations.

    References
    ----------
    Dixon, "Pattern recognition with partly missing data", IEEE Transactions on Systems, Man, and
    Cybernetics 9, 1979.

    Examples
    --------
    >>> NanEuclidean()([[3.0, np.nan, 5.0, 6.0]], [[1.0, 4.0, np.nan, 5.0]]).round(4)
    array([[3.1623]])
    """

    meaning = Meaning(
        "(‖x − z‖ over known columns)", "the Euclidean distance in the columns that both rows have"
    )

    metric = False
    reads_missing = True
    exponent = 2.0

    def __init__(self, weights: np.ndarray | None = None):
        self.weights = weights

    def validate(self) -> None:
        check_weights(self.weights, shares=True)

    def encoding(self) -> Hashable:
        return self.kind, "missing"

    def encode(self, X: Any, like: Any = None) -> np.ndarray:
        """The rows as an array of shape (n, d), in which NaN is missing."""
        reader = type(self).__name__
        X = encode_vectors(accepted(X, self.reads, reader), like, reader, missing=True)
        if sp.issparse(X):
            raise ValueError("X is sparse, but a 0 that is not stored is known: give X.toarray().")
        unknown = np.isnan(X).all(axis=1)
        if unknown.any():
            raise ValueError(
                f"row {int(unknown.argmax())} of X has no known number: leave such rows out."
            )
        return X

    def prepare(self, X: np.ndarray, like: Prepared | None = None) -> Any:
        if isinstance(X, Prepared):
            return X
        known = ~np.isnan(X)
        if like is None:  # an origin near the rows, so that the sums below lose few digits
            origin = np.where(known, X, 0).sum(axis=0, dtype=np.float64)
            origin = np.clip(origin / np.maximum(known.sum(axis=0), 1), -FARTHEST, FARTHEST)
            origin = origin.astype(np.float32)
        else:
            origin = like.common
        with np.errstate(over="ignore"):
            rows = np.where(known, X - origin, 0).astype(X.dtype)
            squares = rows**2
            refuse_beyond_squares(np.where(known, X, 0), squares.sum(axis=1))
        known = known.astype(X.dtype)
        w = feature_weights(self.weights, X)
        w = np.ones(X.shape[1], X.dtype) if w is None else w
        # Σ_J w (x - z)² = <(w x², w known, -2 w x), (known, z², z)>, where x is 0 if it is missing
        left = np.hstack([w * squares, w * known, -2 * w * rows])
        right = np.hstack([known, squares, rows])
        return Prepared((left, right, w * known, known), origin)

    def raw(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        D = np.maximum(inner_products(X.parts[0], Z.parts[1]), 0)  # rounding
        shared = inner_products(X.parts[2], Z.parts[3])
        w = feature_weights(self.weights, X.parts[3])
        total = X.parts[3].shape[1] if w is None else w.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            D *= total / shared
        D[shared <= 0] = np.inf
        if X is Z:
            np.fill_diagonal(D, 0)
        return D


PRESENT = (("present",), ())  # the group of a table that says which parts each row has


@estimator
class Mixed(Composite, Distance):
    r"""Distance between rows of a table

    .. math:: \rho(x, z) = \sum_j w_j \rho_j(x_j, z_j) .

    One example is Gower's distance: Manhattan on numbers scaled to [0, 1], Match on categories; see
    `gower`.

    Parameters
    ----------
    parts : list of (Distance, columns)
        Columns are names in a data frame, or numbers of columns of an array.
    weights : array-like of shape (len(parts),), optional
        The weights :math:`w_j \ge 0`. None means 1 for each part.
    missing : {"refuse", "skip"}, default="refuse"
        What to do with missing values. "refuse": numbers may not be missing; a missing category is
        a value like any other. "skip" is Gower's rule: a part of which a value is missing in one
        of the rows does not count, and the others count more, in proportion to their weights. Rows
        without a common part are at distance :math:`\sum_j w_j`, as if each part were at 1.

    Notes
    -----
    It is a metric if all parts are metrics and missing values are refused. It costs as much as its
    parts.

    References
    ----------
    Gower, "A general coefficient of similarity and some of its properties", Biometrics 27, 1971.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [0.2, 0.7], "sex": ["f", "m"]})
    >>> from mercer.distances import Match, Minkowski
    >>> Mixed([(Minkowski(1), ["age"]), (Match(), ["sex"])])(table)
    array([[0. , 1.5],
           [1.5, 0. ]])
    """

    meaning = Meaning("(Σⱼ wⱼ ρⱼ(x, z))", "the weighted sum of the distances in groups of columns")

    kind = "table"

    parts: list[tuple[Distance, Any]]
    weights: ArrayLike | None = None
    missing: str = "refuse"

    @classmethod
    def gower(cls, X: SamplesLike, weights: np.ndarray | None = None) -> Mixed:
        """Gower's distance for the columns of a table, a mean of numbers in [0, 1].

        Numbers differ by ``|x - z|`` over the range of their column in X, anything else by 1;
        missing values are skipped.

        Parameters
        ----------
        X : data frame, or array or list of rows
            Columns without missing values share a part, which is skipped as a whole where a new row
            lacks one of them.
        weights : array-like, optional
            One weight >= 0 for each column. None means 1.

        Returns
        -------
        Mixed

        References
        ----------
        Gower, "A general coefficient of similarity and some of its properties", Biometrics 27,
        1971.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": [20.0, 40.0, None], "sex": ["f", "m", "f"]})
        >>> Mixed.gower(table)(table)
        array([[0., 1., 0.],
               [1., 0., 1.],
               [0., 1., 0.]])
        """
        _, X = read(X, "table", reader="Mixed.gower")
        names = column_names(X)
        w = np.ones(len(names)) if weights is None else float_array("weights", weights)
        if w.shape != (len(names),) or not (w >= 0).all() or not w.any():
            raise ValueError(
                f"weights={weights!r}: give a number >= 0 for each of the {len(names)} columns, "
                "not all 0."
            )
        share = dict(zip(names, w / w.sum(), strict=True))
        numbers = [c for c in names if _holds_numbers(X, c)]
        others = [c for c in names if c not in numbers]
        parts, totals = [], []
        for group, numeric in ((numbers, True), (others, False)):
            whole = [c for c in group if not _missing(X, [c]).any()]
            for columns in ([whole] if whole else []) + [[c] for c in group if c not in whole]:
                of = np.array([share[c] for c in columns])
                total = float(of.sum())
                inner = of / total if total else of
                if numeric:
                    ranges = np.array([_range(X, c) for c in columns])
                    inner = np.where(ranges > 0, inner / np.where(ranges > 0, ranges, 1), 0.0)
                    parts.append((Minkowski(1, inner), columns))
                else:
                    parts.append((Match(inner), columns))
                totals.append(total)
        return cls(parts, totals, missing="skip")

    @property
    def metric(self) -> bool:  # type: ignore[override]
        return self.missing == "refuse" and all(rho.metric for rho, _ in self.parts)

    @property
    def reflexive(self) -> bool:  # type: ignore[override]
        return all(distance.reflexive for distance, _ in self.parts)

    @property
    def definite_up_to(self) -> float:  # type: ignore[override]
        definite = all(rho.definite_up_to >= 1 for rho, _ in self.parts)
        return 1.0 if definite and self.missing == "refuse" else 0.0

    def validate(self) -> None:
        check_parts(self.parts, Distance, "distance")
        if self.missing not in ("refuse", "skip"):
            raise ValueError(f'missing={self.missing!r}: give "refuse" or "skip".')
        for distance, columns in self.parts:
            check_columns(columns)
            distance.validate()
        if self.weights is None:
            return
        w = float_array("weights", self.weights)
        if w.shape != (len(self.parts),) or not (w >= 0).all():
            raise ValueError(
                f"weights={self.weights!r}: give one number >= 0 for each of the "
                f"{len(self.parts)} parts."
            )

    def encoding(self) -> Hashable:
        return (super().encoding(), self.missing)

    def encode(self, X: SamplesLike, like: SamplesLike | None = None) -> Any:
        if self.missing == "refuse" or isinstance(X, Table):
            return super().encode(X, like)
        _, X = read(X, "table", reader="Mixed")
        present = [~_missing(X, columns) for _, columns in self.parts]
        columns = dict.fromkeys(c for _, group in self.parts for c in group)
        table = super().encode(_filled(X, list(columns)), like)
        seen = np.column_stack(present).astype(table.dtype)
        return Table([*table.groups, PRESENT], [*table.parts, seen])

    def prepare(self, X: Table, like: Prepared | None = None) -> Prepared:
        if isinstance(X, Prepared) or self.missing == "refuse":
            return super().prepare(X, like)
        inner = None if like is None else Prepared(like.parts[:-2], like.common)
        prepared = super().prepare(X, inner)
        seen = X.part(*PRESENT)
        return Prepared((*prepared.parts, seen, seen.all(axis=1)))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        weights = np.ones(len(self.parts)) if self.weights is None else np.asarray(self.weights)
        weights = weights.astype(X.dtype)
        whole = self.missing == "refuse" or bool(X.parts[-1].all() and Z.parts[-1].all())
        D = np.zeros((X.shape[0], Z.shape[0]), X.dtype)
        for j, (w, (distance, _)) in enumerate(zip(weights, self.parts, strict=True)):
            part = distance.block(X.parts[j], Z.parts[j])
            part *= w
            if not whole:
                x, z = X.parts[-2][:, j], Z.parts[-2][:, j]
                if not x.all():
                    part *= x[:, None]
                if not z.all():
                    part *= z
            D += part
        if not whole:
            total = weights.sum()
            counted = (X.parts[-2] * weights) @ Z.parts[-2].T
            nothing = counted <= 1e-6 * total
            D *= np.divide(total, counted, out=np.zeros_like(D), where=~nothing)
            D[nothing] = total
        return D

    def terms(self, X: Samples) -> int:
        return len(self.parts) if self.missing == "refuse" else 0

    def term(self, X: Table, Z: Table, j: int) -> np.ndarray:
        if self.missing != "refuse":
            raise TypeError(
                'missing="skip" makes the weight of a part depend on the pair of rows: fill '
                'missing values in, and give missing="refuse".'
            )
        distance, columns = self.parts[j]
        key = distance.encoding(), tuple(columns)
        x = X.part(*key)
        return distance.block(x, x if Z is X else Z.part(*key))


def _missing(X: SamplesLike, columns: Iterable[Hashable]) -> np.ndarray:
    """Which rows lack a value of some columns, (n,)."""
    found = object_columns(select_columns(X, list(columns), "Mixed"))
    return np.any([is_missing(values) for values in found], axis=0)


def _holds_numbers(X: Any, column: Any) -> bool:
    """Whether the known values of a column are numbers."""
    if is_frame(X):
        return column in number_columns(X)[0]
    known = ~_missing(X, [column])
    return bool(known.any() and number_columns(np.asarray(X)[known][:, [column]])[0])


def _range(X: SamplesLike, column: Hashable) -> float:
    """The largest number of a column minus the least."""
    (values,) = object_columns(select_columns(X, [column], "Mixed"))
    known = values[~is_missing(values)].astype(np.float64)
    return float(np.ptp(known)) if len(known) else 0.0


def _filled(X: SamplesLike, columns: list) -> Any:
    """A table with a known value of each column, or 0, where one is missing; it does not count."""
    gaps = [c for c in columns if _missing(X, [c]).any()]
    if not gaps:
        return X
    if is_frame(X):
        frame = frame_of(X)
        for name in gaps:
            series, known = frame[name], ~_missing(X, [name])
            of_type = "" if series.dtype == nw.String else 0
            value = series.filter(known.tolist()).to_list()[0] if known.any() else of_type
            series = series.fill_null(value)
            frame = frame.with_columns(
                series.fill_nan(value) if series.dtype.is_float() else series
            )
        return frame.to_native()
    X = np.array(X, dtype=None if np.asarray(X).dtype.kind == "f" else object)
    for j in gaps:
        known = ~_missing(X, [j])
        value = X[known, j][0] if known.any() else 0
        for i in np.flatnonzero(~known):  # one by one: a value may be a set
            X[i, j] = value
    return X


def check_parts(parts: Any, wanted: type, name: str) -> None:
    """Raise an error if ``parts`` is not a list of pairs, of an object of a class and columns."""
    listed = isinstance(parts, (list, tuple))
    if listed and not parts:
        raise ValueError(f"parts is empty: give a list of ({name}, columns).")
    for part in parts if listed else [parts]:
        paired = isinstance(part, (list, tuple)) and len(part) == 2
        if not (paired and isinstance(part[0], wanted)):
            wrong = part[0] if paired else part
            raise TypeError(f"parts holds {wrong!r}: give a list of ({name}, columns).")


def check_columns(columns: object) -> None:
    """Raise an error if ``columns`` is not a list of at least one column."""
    if isinstance(columns, str) or not np.iterable(columns) or not len(list(columns)):
        raise ValueError(f"columns={columns!r}: give a list of at least one column.")
