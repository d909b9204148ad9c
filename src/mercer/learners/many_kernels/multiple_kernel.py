"""Classification and regression with many kernels, whose weights are learnt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import column_or_1d

from mercer.estimator import estimator
from mercer.gram import GramOperator
from mercer.learners.base import (
    Classifier,
    KernelLearner,
    OutputClassifier,
    Regressor,
    Training,
    all_pairs,
    check_positive,
    encode_classes,
    finite_fit,
    unit_of,
)
from mercer.learners.many_kernels.multiple_kernel_learner import MultipleKernelLearner
from mercer.learners.margin import SVC
from mercer.learners.ridge import KernelRidge
from mercer.samples import SamplesLike, is_number
from mercer.solvers import EasyWeights, HingeMachines, Result, RidgeMachine
from mercer.solvers.smo import DualProblem

#: of that of the weights: a step of SimpleMKL that lowers the value by less than the gap of its
#: machines is taken for none, and a tenth stalled in four of 18 fits to titanic
MACHINE_TOL = 1e-3


@estimator
class MultipleKernelClassifier(Classifier, MultipleKernelLearner):
    r"""Classification with the weighted sum of many kernels

    .. math:: \sum_t \mu_t k_t .

    The kernels may read different columns of a table, or the same samples. Their weights are learnt
    first, and then any kernel learner with the sum.

    Parameters
    ----------
    method : str, default="align"
        How the weights are found; all are >= 0 with the sum 1.

        - "average": all are 1/T.
        - "align": :math:`\mu_t` is the centred alignment of :math:`K_t` with the classes. Two
          similar kernels both get a large weight.
        - "alignf": the sum with the largest centred alignment.
        - "easy": EasyMKL, by the margin that each kernel has between the classes.
        - "simple": SimpleMKL, the sum with the best soft margin.
        - "one_norm": the problem of "simple" by updates in closed form.
        - "unsupervised": the sum with which rows are rebuilt best from their neighbours.
    estimator : KernelLearner, optional
        The learner for the sum, whose ``kernel`` is replaced. None: ``SVC(C=C)``.
    C : float > 0, default=1.0
        Penalty of an error in "simple" and "one_norm", and in the default base learner.
    lam : float in [0, 1], default=0.1
        Only for "easy": 0 means the hard margin between the classes, 1 the distance between
        their means.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    More than two classes: alignment is with the centred Gram matrix of the classes' indicators;
    "easy" takes the mean of the weights of all pairs of classes; "simple" and "one_norm" find one
    set of weights for all pairs together, whose sum of values is the least. With more pairs than
    rows it is each class against the others instead.

    Gram matrices are never held together, unless ``memory`` has room for all of them and the method
    reads them many times ("simple", "one_norm"). "align" and "alignf" read each matrix once,
    "easy" and "unsupervised" about twice, in tiles.

    Equal kernels share their weight. A constant kernel has weight 0 (but 1/T in "average"). If no
    kernel is related to y, all weights are equal, with a warning. Weights of rows mean repetition;
    for "unsupervised" they are factors of the terms of its sum.

    References
    ----------
    Cortes, Mohri & Rostamizadeh, JMLR 13, 2012 (alignment). Aiolli & Donini, Neurocomputing 169,
    2015 (EasyMKL). Rakotomamonjy, Bach, Canu & Grandvalet, JMLR 9, 2008 (SimpleMKL). Zhuang, Wang,
    Hoi & Lan, ACML 2011 (unsupervised).

    Examples
    --------
    >>> from mercer import MultipleKernelClassifier
    >>> from mercer.kernels import RBF, Spectrum
    >>> import pandas as pd
    >>> table = pd.DataFrame({"size": [1.0, 2.0, 1.1, 2.1], "text": ["aab", "baa", "bcb", "cbc"]})
    >>> kernels = [("size", RBF(), ["size"]), ("text", Spectrum(1), ["text"])]
    >>> model = MultipleKernelClassifier(kernels).fit(table, ["a", "a", "b", "b"])
    >>> model.names_, model.weights_.round(2)
    (['size', 'text'], array([0.01, 0.99]))
    """

    _: KW_ONLY
    C: float = 1.0
    lam: float = 0.1

    methods = ("average", "align", "alignf", "easy", "simple", "one_norm", "unsupervised")

    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to samples X and class labels y (n,); ``sample_weight`` is one per row, >= 0."""
        self._fit(X, y, sample_weight, numeric=False).conclude()
        return self

    @property
    def classes_(self) -> np.ndarray:
        """The classes, in ascending order."""
        return self.estimator_.classes_

    def base_learner(self) -> KernelLearner:
        return self._given_or(SVC(C=self.C))

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        super()._check_parameters()
        if not (is_number(self.C) and self.C > 0):
            raise ValueError(f"C={self.C!r}: give a number > 0.")
        if not (is_number(self.lam) and 0 <= self.lam <= 1):
            raise ValueError(f"lam={self.lam!r}: give a number in [0, 1].")
        known = (Classifier, OutputClassifier)
        if self.estimator is not None and not isinstance(self.estimator, known):
            raise TypeError(f"estimator={self.estimator!r}: give a classifier, such as SVC(C=10).")

    def _check_targets(self, training: Training) -> None:
        encode_classes(column_or_1d(training.y, warn=True))

    def _targets(self, training: Training) -> np.ndarray:
        """One column for each class, 1 for the rows of the class."""
        classes, codes = encode_classes(np.ravel(training.y))
        return np.eye(len(classes))[codes]

    def _supervised(self, method: str, grams: list[GramOperator], training: Training) -> Result:
        """Weights by EasyMKL, or by the margin of support vector machines."""
        codes = encode_classes(np.ravel(training.y))[1]
        machines = _machines(codes)
        if method == "easy":
            solver = EasyWeights(self.lam, self.tol, self.memory, self.n_jobs)
            return solver.solve(grams, list(machines), training.weights)
        rows, problems, bounds = [], [], self.C * training.all_weights
        for labels in machines:
            own = np.flatnonzero(labels)
            rows.append(own)
            problems.append(DualProblem.classification(labels[own], bounds[own]))
        tol = MACHINE_TOL * self.tol
        hinges = HingeMachines(problems, rows, tol, self.memory, self.n_jobs)
        return self._margin_weights().solve(grams, hinges)


def _machines(codes: np.ndarray) -> Iterator[np.ndarray]:
    """The labels 1, -1 and 0 (absent) of two-class machines that stand for all classes.

    One for each pair of classes. Where there are more pairs than rows, most pairs would have a row
    or two of each class: then one for each class against the others.
    """
    pairs = all_pairs(int(codes.max()) + 1)
    if len(pairs) > len(codes):
        yield from (np.where(codes == a, 1.0, -1.0) for a in np.unique(codes))
    else:
        yield from (np.where(codes == b, 1.0, 0.0) - (codes == a) for a, b in pairs)


@estimator
class MultipleKernelRegressor(MultiOutputMixin, Regressor, MultipleKernelLearner):
    r"""Regression with the weighted sum of many kernels

    .. math:: \sum_t \mu_t k_t .

    Parameters
    ----------
    method : str, default="align"
        The methods of `MultipleKernelClassifier` without "easy"; "simple" and "one_norm"
        find the sum with the least penalised squared error.
    estimator : KernelLearner, optional
        The learner for the sum, whose ``kernel`` is replaced. None: ``KernelRidge(alpha=alpha)``.
    alpha : float > 0, default=1.0
        The penalty of ridge regression in "simple" and "one_norm", and of the default base learner.

    Notes
    -----
    Ridge regression has no intercept: centre y. For "simple" and "one_norm" the sum of the matrices
    and its factor are held: MemoryError if they do not fit ``memory``.

    References
    ----------
    Cortes, Mohri & Rostamizadeh, "Algorithms for learning kernels based on centered alignment",
    JMLR 13, 2012; Rakotomamonjy, Bach, Canu & Grandvalet, "SimpleMKL", JMLR 9, 2008.

    Examples
    --------
    >>> from mercer import MultipleKernelRegressor
    >>> from mercer.kernels import RBF
    >>> X = np.random.default_rng(0).uniform(size=(100, 2))
    >>> kernels = [("first", RBF(10.0), [0]), ("second", RBF(10.0), [1])]
    >>> y = np.sin(6 * X[:, 0])
    >>> MultipleKernelRegressor(kernels, method="simple").fit(X, y).weights_.round(2)
    array([1., 0.])
    """

    _: KW_ONLY
    alpha: float = 1.0

    methods = ("average", "align", "alignf", "simple", "one_norm", "unsupervised")

    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to samples X and numbers y of shape (n,) or (n, n_targets)."""
        self._fit(X, y, sample_weight, numeric=True).conclude()
        return self

    def base_learner(self) -> KernelLearner:
        return self._given_or(KernelRidge(self.alpha))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive("alpha", self.alpha)
        if self.estimator is not None and not isinstance(self.estimator, Regressor):
            raise TypeError(f"estimator={self.estimator!r}: give a regressor, such as SVR(C=10).")

    def _targets(self, training: Training) -> np.ndarray:
        # in any unit the kernels have the same weights
        return (training.y / unit_of(training.y)).astype(np.float64).reshape(len(training.y), -1)

    def _supervised(self, method: str, grams: list[GramOperator], training: Training) -> Result:
        """The weights with the least penalised error of ridge regression."""
        needed = 4 * 8 * training.X.shape[0] ** 2
        if not self.place.holds(needed):
            what = f"method={method!r} and {training.X.shape[0]:,} rows"
            self.place.refuse(needed, what, ', or method="alignf"')
        machine = RidgeMachine(self._targets(training), self.alpha, training.weights, self.memory)
        return self._margin_weights().solve(grams, machine)
