"""A machine that is known already, which an automatic estimator fits without a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mercer.kernels import TableKernel
from mercer.machines import SearchSettings
from mercer.machines.candidates import (
    EFFECTS,
    Candidate,
    MachineKind,
    Planned,
    Recipe,
    machine_kind,
    machine_kinds,
)
from mercer.selection.automatic.final_fit import Fitted, Fitter, mean_of
from mercer.selection.automatic.trials import FoldFits, SearchState
from mercer.tables import Feature

READ_NUMBERS = ("normal", "scaled", EFFECTS)


@dataclass(frozen=True)
class KernelMachine:
    """A machine for a table whose kernel is known, as ``code`` of an automatic estimator writes it.

    Parameters
    ----------
    learner : str
        "ridge", "local", "svc" or "window"; "neighbourhood" or "shapes", a sum of functions of
        columns and pairs, which learn kernels of their own; or a simple model without a kernel:
        "constant", "linear" or "sparse"; or the name of a `MachineKind` of your own.
    kernel : TableKernel, optional
        The kernel. Its columns are named by how they are encoded, such as "age (rank)": see
        ``get_feature_names_out`` of the estimator's ``encoder_``.
    name : str
        What the kernel is called on screens and in reports.
    penalty : float, optional
        C of a support vector machine; None chooses it. The penalty of ridge and the width of a
        window are always chosen by leaving rows out.
    rank : int, optional
        How many centres a ridge machine has; None is exact for few rows.
    exact : bool
        Whether ridge is exact for many rows too, by one Cholesky factor.
    leaf_rows : int, optional
        Most rows of a leaf of "local".
    rows : int, optional
        How many rows it is fitted to, at random; None means all.
    metric : {"", "full", "diagonal", "absolute"}
        The metric that is learnt from the rows where no kernel is given.
    reads : str
        What that metric is of: "vectors", or "" for the columns of numbers. Of "neighbourhood" how
        numbers are read: "normal" scores, or "scaled". Both learners read columns of many levels
        by the effects of these levels on the target if it is "effects".
    without : list of str
        Labels of encoded columns, such as "date: elapsed days", that a learner which learns its own
        kernel does not read, and "linear" as a straight line.
    members : int, optional
        Networks of "neighbourhood"; None means one.
    steps, learning : int, optional
        In how many steps it is learnt, and from how many rows at most.
    weight : float, optional
        What it weighs beside others in a mean; None weighs 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> from mercer.selection.automatic import KernelMachine
    >>> from mercer.kernels import RBF, TableKernel
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> wave = KernelMachine("ridge", TableKernel([(RBF(1.0), ["0 (scaled)"])]))
    >>> model = KernelRegressor(machines=[wave]).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    learner: str
    kernel: TableKernel | None = None
    name: str = ""
    penalty: float | None = None
    rank: int | None = None
    exact: bool = False
    leaf_rows: int | None = None
    rows: int | None = None
    metric: str = ""
    reads: str = ""
    without: Sequence[str] = ()
    members: int | None = None
    steps: int | None = None
    learning: int | None = None
    weight: float | None = None

    @property
    def kind(self) -> MachineKind:
        """What kind of machine it is."""
        known = [kind.name for kind in machine_kinds()]
        if self.learner not in known:
            raise ValueError(f"learner={self.learner!r}: give one of {known}.")
        return machine_kind(self.learner)

    @property
    def candidate(self) -> Candidate:
        """What a search would call it."""
        if self.kind.simple:
            return Candidate(self.kind.family, machine=self.learner, without=tuple(self.without))
        if self.kind.reads_columns:
            how = self.reads or self.kind.numbers
            return Candidate(
                self.learner, columns=how, machine=self.learner, without=tuple(self.without)
            )
        if self.metric:
            return Candidate(
                "metric", learn=True, form=self.metric, text=self.reads, machine=self.learner,
                without=tuple(self.without),
            )  # fmt: skip
        learnt = getattr(self.kernel, "weights", None) is not None
        return Candidate("given", learn=learnt, text=self.name or "a kernel", machine=self.learner)

    @property
    def plan(self) -> Recipe:
        """How it is fitted."""
        return Recipe(
            self.learner, self.penalty, self.rank, self.exact, self.leaf_rows, self.members or 1,
            rows=self.rows, learning=self.learning, metric_steps=self.steps, weight=self.weight,
        )  # fmt: skip

    def on(self, features: Sequence[Feature]) -> TableKernel | None:
        """The kernel on the numbers of the encoded columns; None if there is none yet."""
        if self.weight is not None and not self.weight > 0:
            raise ValueError(f"weight={self.weight!r}: give a number above 0, or None.")
        if self.kind.reads_columns and self.reads not in ("", *READ_NUMBERS):
            raise ValueError(f"reads={self.reads!r}: give one of {list(READ_NUMBERS)}.")
        if self.kind.simple or self.kind.reads_columns or self.metric:
            return None
        if not isinstance(self.kernel, TableKernel) or not self.kernel.parts:
            raise ValueError(
                f"kernel={self.kernel!r}: a machine of {self.kind.words} needs a "
                "TableKernel whose parts name their columns."
            )
        numbers = {feature.name: j for j, feature in enumerate(features)}
        named = {column for _, columns in self.kernel.parts for column in columns}
        unknown = sorted(named - set(numbers), key=str)
        if unknown:
            raise ValueError(
                f"kernel= reads {unknown[:5]}, but the encoded columns are {list(numbers)[:50]}: "
                "name those."
            )
        parts = [(kernel, [numbers[c] for c in columns]) for kernel, columns in self.kernel.parts]
        return TableKernel(parts, self.kernel.combine, self.kernel.weights)


def fit_machines(
    machines: Sequence[KernelMachine], settings: SearchSettings
) -> tuple[list[Planned], Fitted]:
    """Fit machines to all rows of a search without a search; of several machines the mean."""
    if not machines or not all(isinstance(each, KernelMachine) for each in machines):
        raise ValueError(f"machines={machines!r}: give a list of KernelMachine, at least one.")
    fits, fitter = FoldFits(SearchState(settings)), Fitter(settings)
    unfit = [each.learner for each in machines if settings.several and not each.kind.several]
    if unfit:
        known = [kind.name for kind in machine_kinds() if kind.several]
        raise ValueError(
            f"machines=: {unfit[0]!r} learns one target, but y has {settings.y.shape[1]} columns: "
            f"give machines of {known}, or fit one for each column."
        )
    planned = [(each.candidate, each.plan) for each in machines]
    fitted = []
    for machine, (candidate, plan) in zip(machines, planned):
        kernel = machine.on(settings.features)
        if machine.metric and not fits.rungs.learns_each(candidate):  # from rows that were spared
            steps = None if machine.steps is None else [machine.steps]
            kernel, _ = fits.shared_kernel(candidate, steps)
        fitted.append(fitter.fit(candidate, plan, kernel))
    return planned, mean_of(settings.task, fitted, planned)
