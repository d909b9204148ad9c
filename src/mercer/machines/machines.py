"""The machines of the search: a kernel learner, and what makes predictions of its outputs.

How they are fitted is in `mercer.machines.recipes`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
from scipy.special import softmax

from mercer.learners.base import KernelSum, all_pairs, by_pair
from mercer.learners.margin import SVC
from mercer.learners.ridge import KernelRidge
from mercer.learners.windows import NadarayaWatson
from mercer.machines.candidates import Recipe
from mercer.samples import EncodedColumns, Samples
from mercer.spoken import spoken

#: what a value of a pair's machine says about the odds of its two classes, before the calibration
STEEPNESS = 3.0
Summand: TypeAlias = KernelSum | Callable[[Any], np.ndarray]
LEAST = 1e-3  # added to the share of a class, whose logarithm is an output


class Machine(ABC):
    """Abstract: a fitted machine, f(x) = finish(outputs(x))."""

    learner: Any  # a fitted KernelRidge, SVC or NadarayaWatson
    finish: Any  # a function of outputs (n, outputs): predictions or probabilities
    penalty: float  # λ / Σw of ridge, C, or the width of a window

    @abstractmethod
    def outputs(self, M: Samples) -> np.ndarray:
        """The outputs for the rows of an encoded table, (n, outputs)."""

    @property
    def parts(self) -> tuple[Machine, ...]:
        """The machine itself; of a mean all of them, the best one first."""
        return (self,)

    @property
    def kernel(self) -> Any:
        """The kernel, bound to the rows of the fit."""
        return self.learner.kernel_

    @property
    def smooth_kernel(self) -> Any:
        """A kernel in which a machine with few rows can come near to this one."""
        return self.kernel

    @property
    def source(self) -> Any:
        """What a fit like this one is given: its kernel, or the columns that it learns one of."""
        return self.kernel

    @abstractmethod
    def again(self, share: float = 1.0) -> Recipe:
        """How a machine like it is fitted to a share of the rows."""

    @property
    @abstractmethod
    def stored(self) -> np.ndarray:
        """Which rows of the fit are compared with new rows, by number."""

    @property
    def kind(self) -> str:
        """What the stored rows are: "training rows", "support vectors" or "centres"."""
        return "training rows"

    @abstractmethod
    def contributions(self, M: Samples, outputs: np.ndarray) -> np.ndarray:
        """How much each stored row adds to one output of each row, (n, stored).

        ``outputs`` has the number of this output for each row. Of a support vector machine it is a
        class, and what a stored row adds is summed over the class' pairs.
        """

    @property
    @abstractmethod
    def description(self) -> str:
        """The solver, and what it chose, in words."""

    def summands(self) -> list[Summand]:
        """Functions of encoded rows, (n, outputs) each, whose sum is `outputs` but for a constant;
        of classes also but for a number of each row, which probabilities do not depend on."""
        return [self.outputs]

    def __call__(self, M: Samples) -> np.ndarray:
        """Predictions or probabilities for the rows of an encoded table."""
        return self.finish(self.outputs(M))


@dataclass
class KernelRidgeMachine(Machine):
    """Kernel ridge regression of the targets without their means."""

    learner: KernelRidge
    finish: Any
    penalty: float
    offset: np.ndarray  # means of the targets, (outputs,)

    def outputs(self, M: EncodedColumns) -> np.ndarray:
        """The outputs for the rows of an encoded table, (n, outputs), with sums in float64."""
        out = np.empty((len(M), len(self.offset)))
        for part in self.learner.expansions(M):
            out[part.rows] = part.K @ part.coef.astype(np.float64)
        return out + self.offset

    def summands(self) -> list[Summand]:
        try:
            found = self.learner.kernel_sum()
        except TypeError:
            return super().summands()
        return [replace(found, offset=found.offset + self.offset)]

    def again(self, share: float = 1.0) -> Recipe:
        if self.learner.solver_ == "local":
            return Recipe("local", leaf_rows=self.learner.leaf_rows)
        low = self.learner.solver_ == "low_rank"
        rank = max(1, int(len(self.stored) * share)) if low else None
        return Recipe("ridge", rank=rank)

    @property
    def stored(self) -> np.ndarray:
        if self.learner.solver_ == "low_rank":
            return self.learner.centres_
        return np.arange(self.learner.X_fit_.shape[0])

    @property
    def kind(self) -> str:
        return "centres" if self.learner.solver_ == "low_rank" else "training rows"

    def contributions(self, M: Any, outputs: np.ndarray) -> np.ndarray:
        found = np.zeros((len(M), len(self.stored)))
        for part in self.learner.expansions(M):
            coef = part.coef.astype(np.float64)[:, outputs[part.rows]].T
            # centres may be rows of the leaf too, and add both times
            np.add.at(found, np.ix_(part.rows, part.stored), part.K.dense() * coef)
        return found

    @property
    def description(self) -> str:
        solver = self.learner.solver_
        if solver == "low_rank":
            solver = f"low rank, {self.learner.X_fit_.shape[0]} centres"
        elif solver == "local":
            leaves, centres = self.learner.leaves_, len(self.learner.centres_)
            solver = f"{leaves.count} leaves of {leaves.largest:,} rows, {centres} centres"
        return f"kernel ridge, {solver}, penalty {spoken(self.penalty)} times the rows"


@dataclass
class MarginMachine(Machine):
    """A support vector machine for each pair of classes; an output is a class' log-likelihood.

    If v is the value of the machine of a pair, 1 / (1 + exp(-3 v)) stands for the probability of
    its first class, and the output of a class is the sum of the logarithms over its pairs.
    """

    learner: SVC
    finish: Any
    penalty: float
    classes: np.ndarray  # those of the task; the learner may have met fewer

    def outputs(self, M: Samples) -> np.ndarray:
        """The outputs for the rows of an encoded table, (n, classes)."""
        values, met = self.learner.decision_function(M), self.learner.classes_
        known = pair_likelihoods(values, len(met))
        found = np.full((len(known), len(self.classes)), known.min(initial=0.0) - 1)
        found[:, np.searchsorted(self.classes, met)] = known
        return found

    def summands(self) -> list[Summand]:
        if len(self.classes) > 2 or len(self.learner.classes_) < 2:
            return super().summands()
        return [self.learner.kernel_sum().times(STEEPNESS / 2 * np.array([[-1.0, 1.0]]))]

    def again(self, share: float = 1.0) -> Recipe:
        return Recipe("svc", self.penalty)

    @property
    def stored(self) -> np.ndarray:
        return self.learner.support_

    @property
    def kind(self) -> str:
        return "support vectors"

    def contributions(self, M: Samples, outputs: np.ndarray) -> np.ndarray:
        k = len(self.learner.classes_)
        codes = np.repeat(np.arange(k), self.learner.n_support_)
        if self.learner.X_fit_.shape[0] != len(codes):
            raise ValueError(
                "The support vector machine rests on a kernel of low rank, which does not say what "
                "one training row adds: fit it to fewer rows."
            )
        beta = by_pair(self.learner.dual_coef_.astype(np.float64), codes, k)
        signed = np.zeros((len(codes), len(self.classes)))
        met = np.searchsorted(self.classes, self.learner.classes_)
        for (a, b), coef in zip(all_pairs(k), -beta.T if k == 2 else beta.T):
            signed[:, met[a]] += coef
            signed[:, met[b]] -= coef
        return self.learner.cross_gram(M).dense() * signed[:, outputs].T

    @property
    def description(self) -> str:
        return (
            f"support vector machine, C = {spoken(self.penalty)}, "
            f"{self.learner.X_fit_.shape[0]} support vectors"
        )


@dataclass
class WindowMachine(Machine):
    """The mean of the targets of the rows near a new one, with weights by their distance.

    For classes without an order, an output is log(s + 0.001), where s is the share of the class in
    the weights.
    """

    learner: NadarayaWatson
    finish: Any
    penalty: float
    #: those of the rows of the fit, (n, outputs): numbers, or +1 for the class of a row and -1 for
    #: the other classes
    targets: np.ndarray
    weights: np.ndarray | None
    classes: bool  # whether the targets are classes without an order

    @property
    def kernel(self) -> Any:
        distance: Any = self.learner.distance_  # that of the features of the kernel
        return distance.kernel

    def again(self, share: float = 1.0) -> Recipe:
        return Recipe("window")

    def outputs(self, M: Samples) -> np.ndarray:
        return self.read(self.learner.predict(M))

    def read(self, means: np.ndarray) -> np.ndarray:
        """The outputs of means of the targets, (n, outputs)."""
        return np.log((1 + means) / 2 + LEAST) if self.classes else means

    @property
    def stored(self) -> np.ndarray:
        return np.arange(len(self.targets))

    def contributions(self, M: Samples, outputs: np.ndarray) -> np.ndarray:
        """What each row adds to the mean of the targets, (n, stored)."""
        distance, near = self.learner.distance_, self.learner.X_fit_
        D = distance.block(self.learner.encode_new(M), near).astype(np.float64)
        logs = -(D**2) / (2 * self.penalty**2)
        if self.weights is not None:
            logs += np.log(self.weights)
        return softmax(logs, axis=1) * self.targets[:, outputs].T

    @property
    def description(self) -> str:
        return f"mean over a window of width {spoken(self.penalty)} on {len(self.targets):,} rows"


@dataclass
class OneOutput(Machine):
    """One of the outputs of a machine of several targets, as a machine of its own."""

    machine: Machine
    place: int  # of the output among all
    size: float  # what the machine has divided its targets by
    finish: Any

    @classmethod
    def of(cls, machine: Machine, place: int) -> OneOutput:
        """That at a place, with the calibration of its target."""
        whole = machine.finish
        size = float(whole.scale.sizes[place])
        slope, bias = (np.broadcast_to(v, len(whole.scale.sizes))[place] for v in
                       (whole.slope, whole.bias))  # fmt: skip
        finish = replace(
            whole, scale=whole.scale.scales[place], slope=float(slope), bias=float(bias) * size
        )
        return cls(machine, place, size, finish)

    @property
    def parts(self) -> tuple[Machine, ...]:
        parts = self.machine.parts
        return tuple(OneOutput.of(part, self.place) for part in parts) if parts[1:] else (self,)

    learner, kernel, smooth_kernel, source, stored, kind, description = (
        property(attrgetter(f"machine.{name}"))
        for name in (
            "learner", "kernel", "smooth_kernel", "source", "stored", "kind", "description",
        )
    )  # fmt: skip

    @property
    def penalty(self) -> float:
        return self.machine.penalty

    def outputs(self, M: Samples) -> np.ndarray:
        return self.size * self.machine.outputs(M)[:, [self.place]]

    def summands(self) -> list[Summand]:
        own = np.zeros((len(self.machine.finish.scale.sizes), 1))
        own[self.place] = self.size
        return [times(each, own) for each in self.machine.summands()]

    def again(self, share: float = 1.0) -> Recipe:
        return self.machine.again(share)

    def contributions(self, M: Samples, outputs: np.ndarray) -> np.ndarray:
        return self.size * self.machine.contributions(M, outputs + self.place)


def times(summand: Summand, weights: np.ndarray) -> Summand:
    """The outputs of a summand times a matrix (outputs, new outputs), or times numbers."""
    if isinstance(summand, KernelSum):
        return summand.times(weights)
    return lambda M: summand(M) @ weights if weights.ndim == 2 else summand(M) * weights


def pair_likelihoods(values: np.ndarray, classes: int) -> np.ndarray:
    """The sum of each class' log-likelihoods in its pairs, (n, classes).

    ``values`` are those of the pairs (n, pairs), or f of two classes (n,), positive for the second.
    """
    values = -values[:, None] if values.ndim == 1 else values
    found = np.zeros((len(values), classes))
    for (a, b), v in zip(all_pairs(classes), STEEPNESS * values.T):
        found[:, a] -= np.logaddexp(0, -v)
        found[:, b] -= np.logaddexp(0, v)
    return found
