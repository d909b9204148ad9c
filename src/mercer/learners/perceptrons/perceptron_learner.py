"""What `Perceptron` and `KernelPerceptron` share: parameters, labels, steps, votes, predictions.

There is one machine for two classes, whose positive class is the second, and else one for each
class against the rest, as in scikit-learn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import StratifiedShuffleSplit

from mercer import _native
from mercer.estimator import Seed, estimator
from mercer.gram import GramOperator
from mercer.kernels import Kernel, Radial
from mercer.learners.base import (
    OutputClassifier,
    check_count,
    check_flag,
    check_not_negative,
    check_positive,
    check_seed,
    drawn_seed,
    weigh_classes,
)
from mercer.learners.perceptrons.margin_report import MarginReport, margin_report
from mercer.persistence import fields, floats, whole
from mercer.samples import Samples, SamplesLike, is_number
from mercer.threads import count_jobs

COMBINE = ("last", "average", "vote")
LEAST_FALL = 1e-3  # of the loss, in n_iter_no_change epochs
HINT = "margin_report tells whether the classes are separable, and how many mistakes there can be"


@fields(place=whole(), times=floats(1, lambda votes: len(votes.place)))
class Votes(NamedTuple):
    """The machines that a perceptron went through: each changed the one before at one sample.

    Attributes
    ----------
    place : ndarray of shape (changes,), int
        The support vector of each change.
    change : ndarray of shape (changes,)
        Number that was added to its coefficient, and to b if b is learnt.
    times : ndarray of shape (changes,)
        How many samples were visited before each change.
    total : float
        Number of samples that were visited in total.
    """

    place: np.ndarray = np.empty(0, np.int64)
    change: np.ndarray = np.empty(0)
    times: np.ndarray = np.empty(0)
    total: float = 0.0

    def then(self, place: np.ndarray, change: np.ndarray, times: np.ndarray, total: float) -> Votes:
        """These machines, and those after more changes."""
        return Votes(
            np.append(self.place, place).astype(np.int64), np.append(self.change, change),
            np.append(self.times, times), float(total),
        )  # fmt: skip

    def cast(self, G: np.ndarray, bias: bool, start: np.ndarray) -> np.ndarray:
        """Votes for the positive class less those against it, as a share of all, (n,).

        Each machine has as many votes as samples were visited with it. G is k between the new
        samples and the support vectors, and ``start`` the first machine's values.
        """
        counts, out = np.diff(np.concatenate([[0.0], self.times, [self.total]])), np.zeros(len(G))
        _native.perceptron_votes(
            np.ascontiguousarray(G, np.float64), self.place, self.change, counts, float(bias),
            np.ascontiguousarray(start, np.float64), out,
        )  # fmt: skip
        return out / max(self.total, 1.0)


@estimator
class PerceptronClassifier(OutputClassifier, ABC):
    """Abstract: the parts of the two perceptrons that are the same.

    Parameters
    ----------
    fit_intercept : bool
        Learn b.
    max_iter : int >= 1
        Most epochs.
    tol : float >= 0, None or "auto"
        Stop if the mean of max(0, -y f) falls by less than this in ``n_iter_no_change`` epochs,
        even if more epochs would end without mistakes. None means that only an epoch without
        mistakes, or ``max_iter``, ends the fit. "auto" means None if the bound on the mistakes
        holds, and warns at ``max_iter``; with a penalty, a budget or ``early_stopping`` it means
        0.001.
    shuffle : bool
        Visit the rows in a new order in each epoch; False keeps the given order.
    verbose : int
        Print the mistakes of each machine at the end.
    eta0 : float > 0
        Learning rate η. Without a penalty and without a start it only changes the length of w.
    random_state : int, RandomState or None
        Seed for the orders of the rows and for the rows held out.
    early_stopping : bool
        Hold out rows, and stop when the accuracy on them no longer rises.
    validation_fraction : float in (0, 1)
        Share of the rows that is held out.
    n_iter_no_change : int >= 1
        Most epochs without a gain before the fit stops.
    class_weight : dict or "balanced", optional
        Factor of η for the rows of each class.
    combine : {"last", "average", "vote"}
        What predicts: the last machine, the mean of the machines after each sample, or all of
        them, each with as many votes as samples were visited with it. The votes need the samples of
        all mistakes, which are kept; f is then the votes for a class less those against it, from
        -1 to 1.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    mistakes_ : list of ndarray
        Mistakes of each machine in each of its epochs.
    converged_ : bool
        Whether an epoch of each machine had no mistakes.
    reason_ : str
        Why the fit stopped.
    n_iter_ : int
        Number of epochs of the machine that needed most.
    """

    _: KW_ONLY
    fit_intercept: bool = True
    max_iter: int = 1000
    tol: Any = "auto"
    shuffle: bool = True
    verbose: int = 0
    eta0: float = 1.0
    random_state: Seed = 0
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 5
    class_weight: Any = None
    combine: str = "last"
    n_jobs: int | None = None

    mistakes_: list[np.ndarray] = field(init=False)

    @abstractmethod
    def partial_fit(
        self,
        X: SamplesLike,
        y: object,
        classes: ArrayLike | None = None,
        sample_weight: object = None,
    ) -> Self:
        """Visit the samples once, in their order; the first call names all classes.

        Parameters
        ----------
        X : array-like, sparse matrix or samples of the kernel's kind
            A precomputed matrix is an error, because it has no values for later samples.
        y : array-like of shape (n,)
        classes : array-like, optional
            All classes; needed in the first call.
        sample_weight : array-like of shape (n,), optional
        """

    @abstractmethod
    def margin_report(self, X: Samples, y: object) -> MarginReport:
        """The bound on the mistakes, the best margin behind it, and the mistakes that were made.

        Parameters
        ----------
        X : array-like, sparse matrix or samples of the kernel's kind
            The samples of the fit.
        y : array-like of shape (n,)
        """

    def _check_steps(self) -> None:
        """Check the parameters that both perceptrons have."""
        check_positive("eta0", self.eta0)
        for name in ("max_iter", "n_iter_no_change"):
            check_count(name, getattr(self, name), optional=False)
        for name in ("fit_intercept", "shuffle", "early_stopping"):
            check_flag(name, getattr(self, name))
        if self.tol != "auto" and self.tol is not None:
            check_not_negative("tol", self.tol, ', None or "auto"')
        fraction = self.validation_fraction
        if not (is_number(fraction) and 0 < fraction < 1):
            raise ValueError(f"validation_fraction={fraction!r}: give a number between 0 and 1.")
        if self.combine not in COMBINE:
            raise ValueError(f"combine={self.combine!r}: give one of {list(COMBINE)}.")
        check_seed(self.random_state)
        count_jobs(self.n_jobs)

    def _check_stream(self) -> None:
        """Refuse parameters that need all rows."""
        if self.early_stopping:
            raise ValueError(
                "early_stopping=True needs all rows: use fit, or early_stopping=False."
            )
        if self.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" needs all rows: give partial_fit a dict of weights.'
            )

    def _tolerance(self, bounded: bool) -> float | None:
        """The least fall of the loss; ``bounded`` says whether the mistakes have a bound."""
        if self.tol != "auto":
            return self.tol
        return None if bounded and not self.early_stopping else LEAST_FALL

    def _labels(self, y: np.ndarray) -> np.ndarray:
        """+1 and -1 for each machine, (n, machines)."""
        codes = np.searchsorted(self.classes_, y)
        positive = [1] if len(self.classes_) == 2 else np.arange(len(self.classes_))
        return np.where(codes[:, None] == positive, 1.0, -1.0)

    def _sizes(self, y: np.ndarray, weights: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """η times the weight of each row in each machine, (n, machines).

        The weight of a class counts where it is not the rest, as in scikit-learn.
        """
        if self.class_weight is None:
            own = weights
        else:
            own = weigh_classes(self.class_weight, y, weights)
        rest = own if len(self.classes_) == 2 else weights
        return float(self.eta0) * np.where(labels > 0, own[:, None], rest[:, None])

    def _held_out(self, y: np.ndarray) -> np.ndarray | None:
        """The rows that early stopping holds out, None without it."""
        if not self.early_stopping:
            return None
        split = StratifiedShuffleSplit(
            test_size=self.validation_fraction, random_state=self.random_state
        )
        try:
            return np.sort(next(split.split(np.zeros((len(y), 1)), y))[1])
        except ValueError as error:
            raise ValueError(
                "early_stopping=True cannot hold out "
                f"validation_fraction={self.validation_fraction} of these {len(y)} rows: {error}"
            ) from None

    def _count(self, mistakes: list[np.ndarray]) -> None:
        """Store the mistakes of each machine in each epoch, and what is computed from them."""
        self.mistakes_ = mistakes
        self.n_iter_ = max(len(made) for made in mistakes)
        self.converged_ = all(made[-1] == 0 for made in mistakes)
        if self.verbose:
            for m, count in enumerate(mistakes):
                print(f"machine {m}: {count.sum():,} mistakes in {len(count):,} epochs")

    def _report(
        self, K: GramOperator, kernel: Kernel, y: np.ndarray, weights: np.ndarray,
        starts: np.ndarray,
    ) -> MarginReport:  # fmt: skip
        """The report on the fit; ``starts`` has the length of each machine's start."""
        partial_classes(self.classes_, None, y)
        labels = self._labels(y)
        return margin_report(
            K, labels, self.classes_, self._sizes(y, weights, labels), starts=starts,
            bias=bool(self.fit_intercept), mistakes=self.mistakes_, shuffle=bool(self.shuffle),
            seed=drawn_seed(self.random_state), epochs=self.max_iter,
            radial=isinstance(kernel, Radial),
        )  # fmt: skip


def partial_classes(
    known: np.ndarray | None, classes: ArrayLike | None, y: np.ndarray
) -> np.ndarray:
    """All classes of a stream, which its first call names; check them and y."""
    if classes is None and known is None:
        raise ValueError(
            "classes must be passed on the first call to partial_fit: give all classes."
        )
    found = known if classes is None else np.unique(np.asarray(classes))
    assert found is not None
    if known is not None and not np.array_equal(known, found):
        raise ValueError(
            f"classes={classes!r} is not the same as on last call to partial_fit, "
            f"{known.tolist()}: give the same, or None."
        )
    if len(found) < 2:
        raise ValueError(
            f"y has only one class, {found.tolist()[0]!r}: give at least two classes in classes=."
        )
    unknown = np.setdiff1d(y, found)
    if len(unknown):
        raise ValueError(
            f"y has the class {unknown.tolist()[0]!r}, which is not one of classes="
            f"{found.tolist()}: name all classes in the first call of partial_fit."
        )
    return found
