"""The kernel machine inside a model, its Gram matrix on a sample of rows, and rows of its data.

Searches have a ``best_estimator_``, and pipelines have a last step. `kernel_machine` finds the
kernel learner in both, so that every display takes the estimator that the user has fitted.
Scikit-learn's SVC, SVR and KernelRidge work too.

The displays that ask "what if this column were constant?" need thousands of tables in which one
column is held at the value of a row. An automatic estimator reads an encoded table, so
`EncodedModelRows` encodes the rows once, and holds columns of the encoded matrix. Other models read
arrays and data frames as they are: `RawRows`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Set
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import _num_samples

from mercer.estimator import Seed
from mercer.gram import gram
from mercer.kernels import Kernel, as_kernel
from mercer.machines import Classification, Regression, Task
from mercer.samples import (
    EncodedColumns,
    Samples,
    SamplesLike,
    as_rows,
    column_names,
    describe,
    encode_vectors,
    frame_of,
    known_form,
    number_columns,
    read,
    select_columns,
)
from mercer.streams import take_rows
from mercer.tables import ColumnKind, EncodedTable, ReadTable, as_numbers, column_kind, read_columns

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def kernel_machine(model: Any) -> tuple[list, Any]:
    """The transformers of a model, in order, and the kernel learner at its end.

    Raises
    ------
    TypeError
        The model has no kernel learner.
    """
    if hasattr(model, "best_estimator_"):
        return kernel_machine(model.best_estimator_)
    if hasattr(model, "encoder_"):  # an automatic estimator: its kernel reads the encoded table
        return [model.encoder_], model
    if hasattr(model, "steps"):
        before = [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
        inner, machine = kernel_machine(model.steps[-1][1])
        return before + inner, machine
    if hasattr(model, "kernel_") or hasattr(model, "kernel"):
        return [], model
    raise TypeError(
        f"{type(model).__name__} is not a kernel learner and does not contain one: give a fitted "
        "learner with a kernel, a pipeline that ends in one, or a search over them."
    )


def task_of(model: Any) -> Task:
    """The task of a fitted automatic estimator."""
    return Regression() if model.task == "regression" else Classification(model.classes_)


def bound_kernel(machine: Any, X: Samples) -> Kernel:
    """The bound kernel of a fitted learner.

    Scikit-learn's learners have only a name and parameters, so their kernel is bound to X.
    """
    if hasattr(machine, "kernel_"):
        return machine.kernel_
    given = {name: getattr(machine, name, None) for name in ("gamma", "degree", "coef0")}
    given["gamma"] = getattr(machine, "_gamma", given["gamma"])  # SVC resolves "scale" in fit
    kernel = as_kernel(machine.kernel, pairwise=not hasattr(machine, "support_"), **given)
    return kernel.bind(kernel.encode(X))


def sample_gram(
    model: Any, X: Any, *, max_samples: int = 1000, random_state: Seed = 0
) -> tuple[np.ndarray, np.ndarray]:
    """K between random rows of X (without replacement), and their numbers, ascending.

    The model is a kernel learner or contains one (see `kernel_machine`). All rows are used if there
    are at most ``max_samples``.
    """
    transformers, machine = kernel_machine(model)
    rows = sample_rows(row_count(X), max_samples, random_state)
    Z = X if is_precomputed(machine) else take(X, rows)
    for transformer in transformers:
        Z = transformer.transform(Z)
    kernel = bound_kernel(machine, Z)
    if is_precomputed(machine):
        Z = kernel.encode(Z)[rows]
    else:  # in the codes of the training rows
        Z = kernel.encode(Z, like=getattr(machine, "X_fit_", None))
    with np.errstate(all="ignore"):  # displays refuse what no float can hold
        return gram(kernel, Z).dense(), rows


def is_precomputed(machine: Any) -> bool:
    """Whether a kernel learner was fitted to a Gram matrix instead of samples."""
    if hasattr(machine, "kernel_"):
        return machine.kernel_.reads.pairwise
    return isinstance(machine.kernel, str) and machine.kernel == "precomputed"


def sample_rows(n: int, max_samples: int, random_state: Seed = 0) -> np.ndarray:
    """At most ``max_samples`` of n row numbers, ascending, without replacement."""
    if n <= max_samples:
        return np.arange(n)
    return np.sort(check_random_state(random_state).choice(n, max_samples, replace=False))


def take(X: Any, rows: np.ndarray) -> Any:
    """Some rows of samples in any form, or of a table that was read."""
    return X[rows] if isinstance(X, ReadTable) else take_rows(X, rows)


def row_count(X: SamplesLike, y: ArrayLike | None = None) -> int:
    """How many rows X has: at least one, and as many as y, unless this is None."""
    if isinstance(X, (str, bytes, Mapping, Set)) or X is None:
        raise TypeError(f"X is {describe(X)}: give the rows of data, as an array, frame or list.")
    n = _num_samples(X)
    if y is not None:
        check_consistent_length(X, y)
    if not n:
        raise ValueError("X has no rows: give at least one.")
    return n


class ModelRows(ABC):
    """Abstract: rows of a model's data."""

    #: name of each column that the model uses -> its kind, or None if the model has no kinds
    kinds: dict[Any, ColumnKind | None]
    data: Any  # the rows as the model's fits and predictions read them

    def __len__(self) -> int:
        return self.data.shape[0]

    @abstractmethod
    def __getitem__(self, rows: np.ndarray) -> Self:
        """Some of the rows."""

    @abstractmethod
    def cells(self, column: object) -> np.ndarray:
        """The cells of a column as they were given."""

    @abstractmethod
    def with_columns(self, columns: list, other: Self, rows: np.ndarray) -> Any:
        """The data, with the cells of some rows of ``other`` in columns, one row for each row."""

    def with_cells(self, column: object, other: Self, rows: np.ndarray) -> Any:
        """`with_columns` for one column."""
        return self.with_columns([column], other, rows)

    def held(self, column: object, other: Self, row: int) -> Any:
        """The data, with a column constant: everywhere the cell of a row of ``other``."""
        return self.with_cells(column, other, np.full(len(self), row))

    def kind(self, column: int | str) -> ColumnKind | None:
        """The kind of a column; of a model without kinds, None for all but numbers."""
        kind = self.kinds[column]
        numbers = kind is None and self.cells(column).dtype.kind in "iuf"
        return column_kind("number") if numbers else kind


class EncodedModelRows(ModelRows):
    """Rows of a table that an automatic estimator has encoded."""

    def __init__(self, table: EncodedTable, kinds: dict):
        self.table, self.kinds = table, kinds
        self.data, self.features = table.matrix, table.features
        self.parts: dict[Any, list[int]] = {}  # column of the table -> encoded columns
        for j, feature in enumerate(table.features):
            self.parts.setdefault(feature.source, []).append(j)

    def __getitem__(self, rows: np.ndarray) -> EncodedModelRows:
        return EncodedModelRows(self.table[rows], self.kinds)

    def cells(self, column: object) -> np.ndarray:
        return self.table.columns[column]

    def with_cells(
        self, column: object, other: EncodedModelRows, rows: np.ndarray, label: str | None = None
    ) -> EncodedColumns:
        """See `ModelRows`; with a ``label``, only that part of the column, such as an hour."""
        parts = self.parts.get(column, [])
        if label is not None:
            parts = [j for j in parts if self.features[j].label == label]
        return self._with_parts(parts, other, rows)

    def with_columns(
        self, columns: list, other: EncodedModelRows, rows: np.ndarray
    ) -> EncodedColumns:
        parts = [j for column in columns for j in self.parts.get(column, [])]
        return self._with_parts(parts, other, rows)

    def _with_parts(
        self, parts: list[int], other: EncodedModelRows, rows: np.ndarray
    ) -> EncodedColumns:
        """The rows, with some columns from rows of others."""
        numbers, objects = self.data.numbers.copy(), dict(self.data.objects)
        numbers[:, parts] = other.data.numbers[rows][:, parts]
        objects |= {j: other.data.objects[j][rows] for j in parts if j in objects}
        return EncodedColumns(numbers, objects)


class RawRows(ModelRows):
    """Rows of an array or a data frame."""

    def __init__(self, data: Any):
        _, data = read(data, "table", reader="this display")
        self.data = data
        self.kinds = dict.fromkeys(column_names(data))
        self.numbers = set(number_columns(data)[0]) if isinstance(data, np.ndarray) else set()
        if len(self.numbers) == data.shape[1] and data.dtype.kind == "O":  # a list of rows
            self.data = encode_vectors(data, None, "this display", missing=True)

    def __getitem__(self, rows: np.ndarray) -> RawRows:
        return RawRows(take(self.data, rows))

    def cells(self, column: Any) -> np.ndarray:
        if isinstance(self.data, np.ndarray):
            cells = self.data[:, column]
            return cells.astype(np.float64) if column in self.numbers else cells
        (cells,) = read_columns(select_columns(self.data, [column])).values()
        return cells

    def with_columns(self, columns: list, other: RawRows, rows: np.ndarray) -> Any:
        if isinstance(self.data, np.ndarray):
            changed = self.data.copy()
            for column in columns:
                changed[:, column] = other.data[rows, column]
            return changed
        import narwhals as nw

        mine, theirs = (nw.maybe_reset_index(frame_of(each.data)) for each in (self, other))
        at = [theirs.columns.index(column) for column in columns]  # names may be numbers
        cells = [theirs[:, j][rows.tolist()].alias(theirs.columns[j]) for j in at]
        return mine.with_columns(cells).to_native()


def rows_of(model: Any, X: SamplesLike) -> ModelRows:
    """Rows of X for a model: encoded for a fitted automatic estimator, else as they are."""
    if not hasattr(model, "encoder_"):
        kernel = getattr(model, "kernel_", None)
        vectors = isinstance(kernel, Kernel) and kernel.reads.coordinates
        return RawRows(as_rows(known_form(X)) if vectors else X)
    kinds = {column.name: column.of for column in model.columns_ if column.used}
    return EncodedModelRows(model.encode_table(X), kinds)


def typical_row(cells: np.ndarray, kind: ColumnKind | None) -> int:
    """Row of the median number (without missing ones), or of the most frequent value.

    A column that a model reads as numbers or dates gets a row with one of these: ``kind`` says so
    where it may hold texts.
    """
    if cells.dtype.kind in "iuf" if kind is None else kind.numeric:
        numbers = as_numbers(cells)
        present = np.flatnonzero(~np.isnan(numbers))
        order = np.argsort(numbers[present], kind="stable")
        return int(present[order[len(present) // 2]]) if len(present) else 0
    rows = np.arange(len(cells))
    if kind is not None and kind.in_time and not (lost := np.isnat(kind.read(cells))).all():
        rows = np.flatnonzero(~lost)
    texts = [str(value) for value in cells[rows].tolist()]
    commonest, _ = Counter(texts).most_common(1)[0]
    return int(rows[texts.index(commonest)])
