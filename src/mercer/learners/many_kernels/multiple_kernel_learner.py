"""What both learners of many kernels share: the list of kernels, their weights, the base learner.

The kernels are encoded and bound together, as parts of one convex sum. A solver of
`mercer.solvers` finds their weights from the Gram operators, one for each kernel, none of which has
to be in memory. The base learner is then fitted with the sum of the kernels of positive weight.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.gram import GramOperator, PlaceOfLearner, gram
from mercer.kernels import Convex, Kernel, Linear, Normalised, Scaled
from mercer.learners.base import (
    KernelLearner,
    Training,
    check_count,
    check_positive,
    check_training,
    encode_like_fitted,
)
from mercer.learners.many_kernels.kernel_list import (
    Item,
    kind_read,
    matrix_kernels,
    read_kernels,
    standard_kernels,
    with_kernels,
)
from mercer.samples import Samples, SamplesLike, Table, encode_matrices, kind_named
from mercer.solvers import AlignmentWeights, MarginWeights, NeighbourhoodWeights, Result
from mercer.solvers.weights import equal_if_none
from mercer.threads import blas_limit, forget

NORMALISE = ("auto", "diagonal", "trace", None)
JUDGED_ROWS = 300  # on which a kernel is tested that may not be positive semidefinite
BESIDE = 3  # matrices in addition to those of the kernels, if all are kept


def _of_estimator(name: str) -> Callable[[MultipleKernelLearner], bool]:
    """Whether the base learner has a method; its own error says what it lacks."""

    def check(learner: MultipleKernelLearner) -> bool:
        getattr(vars(learner).get("estimator_") or learner.base_learner(), name)
        return True

    return check


@estimator
class MultipleKernelLearner(BaseEstimator):
    r"""Abstract: weights of many kernels, then a base learner with their sum.

    Parameters
    ----------
    kernels : list, "precomputed" or None
        Items are ``(name, kernel, columns)`` as in scikit-learn's ColumnTransformer,
        ``(name, kernel)`` or kernels, for kernels that read whole samples. None: for vectors, a
        linear kernel and Gaussian kernels of five widths. "precomputed": X is a list of matrices
        (n, n), for predictions (m, n); or one array (n, n, T), which cross-validation can split.
    method : str
        How the weights are found.
    estimator : KernelLearner, optional
        The learner for the sum, whose ``kernel`` is replaced.
    n_neighbors : int
        Only for "unsupervised": number of neighbours that rebuild each row.
    normalise : {"auto", "diagonal", "trace", None}
        "diagonal": :math:`k(x, z) / \sqrt{k(x, x) k(z, z)}`. "trace": each kernel is divided by its
        mean k(x, x). "auto": "diagonal", but "trace" for precomputed matrices.
    tol : float
        The duality gap, relative to the value, at which iterative methods stop.
    max_iter : int
        Most steps of "simple" and "one_norm".

    Attributes
    ----------
    weights_ : ndarray of shape (T,)
        μ, of the normalised kernels.
    names_ : list of str
        The names of the kernels.
    kernel_ : Convex
        The sum of the kernels whose weight is not 0: the others cost nothing in predictions.
    estimator_ : KernelLearner
        The fitted base learner.
    gap_ : float
        Certificate of the weights: the duality gap ("easy", "simple", "one_norm",
        "unsupervised"), or the violation of optimality ("alignf"). 0 for the other methods.
    objective_ : float
        What the method minimised: minus the alignment, the value of the machines ...
    n_iter_ : int
        Steps of the solver of the weights.
    converged_ : bool
    """

    kernels: Any = None
    _: KW_ONLY
    method: str = "align"
    estimator: Any = None
    normalise: str | None = "auto"
    n_neighbors: int = 10
    tol: float = 1e-4
    max_iter: int = 200
    device: str | None = None
    memory: int | float | str | None = None
    n_jobs: int | None = None

    #: the methods that the learner has
    methods: ClassVar[tuple[str, ...]]

    def __sklearn_is_fitted__(self) -> bool:
        return "estimator_" in vars(self)

    place = PlaceOfLearner()

    @abstractmethod
    def base_learner(self) -> KernelLearner:
        """A new base learner, whose kernel is not yet set."""

    @abstractmethod
    def _targets(self, training: Training) -> np.ndarray:
        """Y of shape (n, c): the kernels are aligned with Y Yᵀ."""

    @abstractmethod
    def _supervised(self, method: str, grams: list[GramOperator], training: Training) -> Result:
        """The weights by a method that only some learners have, or that depends on the task."""

    # --- fit --------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: ArrayLike | None, *, numeric: bool) -> Result:
        """Find the weights and fit the base learner; returns what `Result.conclude` ends."""
        forget(self)
        self._check_parameters()
        base: Any = self.base_learner()
        training, items = self._training(X, y, sample_weight, numeric=numeric)
        self._check_targets(training)
        kernels = self._normalised(items, training)
        with blas_limit(training.X.shape[0]):
            result = self._weigh(kernels, items, training)
        weights, told = equal_if_none(result.coef)
        if not told:
            warnings.warn(
                f"no kernel of {type(self).__name__} is related to y, so all have the same "
                "weight: give other kernels.",
                stacklevel=5,  # the caller of the decorated fit,
            )
        used = np.flatnonzero(weights)
        kernel = Convex([kernels[t] for t in used], weights[used])
        base.set_params(kernel=kernel)
        samples = _read_by(kernel, training.X)
        if training.weights is None:
            base.fit(samples, training.y)
        else:
            base.fit(samples, training.y, sample_weight=training.weights)
        self.names_ = [item.name for item in items]
        self.weights_, self.kernel_ = weights, kernel
        self.n_iter_, self.gap_, self.objective_ = result.iterations, result.gap, result.objective
        self.converged_ = result.converged
        self.estimator_: Any = base  # the learner is fitted now
        return result

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        if self.method not in self.methods:
            raise ValueError(f"method={self.method!r}: give one of {list(self.methods)}.")
        if self.normalise not in NORMALISE:
            raise ValueError(f"normalise={self.normalise!r}: give one of {list(NORMALISE)}.")
        check_count("n_neighbors", self.n_neighbors, optional=False)
        check_count("max_iter", self.max_iter, optional=False)
        check_positive("tol", self.tol)
        _ = self.place  # which checks them
        if isinstance(self.kernels, str) and self.kernels != "precomputed":
            raise ValueError(
                f'kernels={self.kernels!r}: give a list of kernels, "precomputed" or None.'
            )
        if self.estimator is not None and not isinstance(self.estimator, KernelLearner):
            raise TypeError(
                f"estimator={self.estimator!r}: give a kernel learner of Mercer, such as SVC(C=10)."
            )

    def _training(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, *, numeric: bool
    ) -> tuple[Training, list[Item]]:
        """The encoded samples, and the kernels bound to them."""
        items: list[Item] = []
        if isinstance(self.kernels, str):
            encoded = encode_matrices(X, None, type(self).__name__)
            items = matrix_kernels(len(encoded.parts))
        elif self.kernels is None:
            encoded = Linear().encode(X)
        else:
            items = read_kernels(self.kernels, self.get_params(deep=False))
            together = Convex([item.on_columns for item in items])
            together.validate()
            encoded = together.encode(X)
        training = check_training(self, X, encoded, y, sample_weight, targets=True, numeric=numeric)
        if self.kernels is None:
            items = standard_kernels(training.X, training.weights)
        for item in items:
            if not item.kernel.symmetric:
                raise TypeError(
                    f"the kernel {item.name!r}, {item.kernel!r}, is not symmetric; "
                    f"{type(self).__name__} needs k(x, z) = k(z, x)."
                )
            if item.kernel.positive_definite is False and self.method != "average":
                raise ValueError(
                    f"the kernel {item.name!r}, {item.kernel!r}, is not positive semidefinite, "
                    f'which method={self.method!r} needs: leave it out, or give method="average".'
                )
        return training, items

    def _normalised(self, items: list[Item], training: Training) -> list[Kernel]:
        """The kernels, bound, with values that can be compared."""
        how = self.normalise
        if how == "auto":
            how = "trace" if isinstance(self.kernels, str) else "diagonal"
        elif how == "diagonal" and isinstance(self.kernels, str):
            raise ValueError(
                'normalise="diagonal" needs k(z, z) of new samples, which precomputed matrices do '
                'not have: give normalise="trace" or None, or normalise the matrices.'
            )
        kernels: list[Kernel] = [item.on_columns for item in items]
        if how == "diagonal":
            kernels = [Normalised(kernel) for kernel in kernels]
        kernels = Convex(kernels).bind(training.X, training.y, training.weights).kernels
        if how != "trace":
            return kernels
        w = training.all_weights
        means = [np.average(self._gram(k, training, 1).diag(), weights=w) for k in kernels]
        return [Scaled(k, 1 / float(m)) if m > 0 else k for k, m in zip(kernels, means)]

    def _gram(
        self, kernel: Kernel, training: Training, memory: int | float | str | None
    ) -> GramOperator:
        return gram(kernel, training.X, place=replace(self.place, memory=memory))

    def _weigh(self, kernels: list[Kernel], items: list[Item], training: Training) -> Result:
        """The weights of the kernels."""
        T, n = len(kernels), training.X.shape[0]
        if self.method == "average":
            return Result(np.full(T, 1 / T))
        one = 2 * n * n * np.dtype(training.X.dtype).itemsize  # an operator keeps K in half of it
        needed = (T + BESIDE) * one
        rereads = self.method in ("simple", "one_norm")
        keep = rereads and self.place.holds(needed)
        grams = [self._gram(k, training, one if keep else 1) for k in kernels]
        for item, K in zip(items, grams):
            _refuse_indefinite(item, K)
        if keep:
            grams = [K.held() for K in grams]
        if self.method == "unsupervised":
            solver = NeighbourhoodWeights(self.n_neighbors, memory=self.memory, n_jobs=self.n_jobs)
            return solver.solve(grams, weights=training.weights)
        if self.method in ("align", "alignf"):
            together = self.method == "alignf"
            solver = AlignmentWeights(together, self.memory, self.n_jobs)
            return solver.solve(grams, self._targets(training), training.weights)
        return self._supervised(self.method, grams, training)

    def _margin_weights(self) -> MarginWeights:
        return MarginWeights(
            self.method == "one_norm", self.tol, self.max_iter, self.memory, self.n_jobs
        )

    def _given_or(self, default: KernelLearner) -> KernelLearner:
        """A copy of the base learner that was given, or a default one; with this memory."""
        base: Any = default if self.estimator is None else clone(self.estimator)
        for name in ("memory", "n_jobs"):
            if getattr(base, name) is None:
                base.set_params(**{name: getattr(self, name)})
        return base

    # --- predictions ------------------------------------------------------------------------------

    def _encode_new(self, X: SamplesLike) -> Any:
        """New samples as the kernels read them."""
        check_is_fitted(self)
        if not isinstance(self.kernels, str):
            return encode_like_fitted(self, self.kernel_, X)
        width = self.X_fit_.parts[0].width
        encoded = encode_matrices(X, width, type(self).__name__)
        if len(encoded.parts) != len(self.weights_):
            raise ValueError(
                f"X has {len(encoded.parts)} matrices, but {type(self).__name__} was fitted to "
                f"{len(self.weights_)}: give one for each, in the same order."
            )
        return _read_by(self.kernel_, encoded)

    @property
    def X_fit_(self) -> Any:
        """The encoded samples that predictions compare with."""
        return self.estimator_.X_fit_

    def predict(self, X: SamplesLike) -> np.ndarray:
        """Predictions of the base learner for the rows of X, (q,) or (q, outputs)."""
        check_is_fitted(self)
        return self.estimator_.predict(self._encode_new(X))

    @available_if(_of_estimator("decision_function"))
    def decision_function(self, X: SamplesLike) -> np.ndarray:
        """Decision values of the base learner for the rows of X, (q,) or (q, n_classes)."""
        check_is_fitted(self)
        return self.estimator_.decision_function(self._encode_new(X))

    @available_if(_of_estimator("predict_proba"))
    def predict_proba(self, X: SamplesLike) -> np.ndarray:
        """Probabilities of the base learner for the rows of X, (n, classes)."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(self._encode_new(X))

    @available_if(_of_estimator("predict_proba"))
    def predict_log_proba(self, X: SamplesLike) -> np.ndarray:
        """Logarithm of ``predict_proba``, (q, n_classes)."""
        return np.log(self.predict_proba(X))

    # --- scikit-learn -----------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; if ``deep``, also the kernels of the list by their names, and their
        parameters as ``name__gamma``."""
        params = super().get_params(deep)
        for name, kernel in self._named_kernels().items() if deep else ():
            inner = kernel.get_params(deep=True)
            params |= {name: kernel, **{f"{name}__{key}": v for key, v in inner.items()}}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``name`` and ``name__gamma`` set a kernel of the list, and its γ."""
        if "kernels" in params:
            self.kernels = params.pop("kernels")
        known = self._named_kernels()
        whole = {name: value for name, value in params.items() if name in known}
        inner: dict[str, dict] = {}
        rest = {}
        for key, value in params.items():
            name, _, of = key.partition("__")
            if name in known and of:
                inner.setdefault(name, {})[of] = value
            elif key not in whole:
                rest[key] = value
        for name, changes in inner.items():
            whole.setdefault(name, known[name]).set_params(**changes)
        if any(kernel is not known[name] for name, kernel in whole.items()):
            self.kernels = with_kernels(self.kernels, whole)
        return super().set_params(**rest)

    def _named_kernels(self) -> dict[str, Kernel]:
        """The kernels of the list by name; none if it is not a list of kernels."""
        try:
            items = read_kernels(self.kernels, super().get_params(deep=False))
        except (TypeError, ValueError):
            return {}
        return {item.name: item.kernel for item in items}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        kind = kind_named(kind_read(self.kernels))
        kind.tag(tags.input_tags)
        tags.input_tags.three_d_array = kind.pairwise
        tags.target_tags.required = True
        return tags

    def _check_targets(self, training: Training) -> None:
        """Refuse targets that the learner cannot learn, and keep what their encoding needs."""


def _refuse_indefinite(item: Item, K: GramOperator) -> None:
    """Raise ValueError if k(x, x) < 0, or if K of some rows has a negative eigenvalue."""
    least, what = float(K.diag().min()), "a value k(x, x) is"
    if least >= 0 and item.kernel.positive_definite is not True:
        rows = np.unique(np.linspace(0, K.shape[0] - 1, JUDGED_ROWS).round().astype(int))
        values = scipy.linalg.eigvalsh(K.block(rows, rows).astype(np.float64))
        rounding = np.sqrt(np.finfo(K.dtype).eps) * float(np.abs(values).max())
        if values[0] < -rounding:
            least, what = float(values[0]), f"K of {len(rows)} rows has the eigenvalue"
    if least < 0:
        raise ValueError(
            f"the kernel {item.name!r} is not positive semidefinite: {what} {least:.3g}. Leave it "
            'out, repair it, or give method="average".'
        )


def _read_by(kernel: Kernel, X: Samples) -> Any:
    """The columns of a table that a kernel reads; other samples as they are."""
    if not isinstance(X, Table):
        return X
    keys = dict.fromkeys((c.encoding(), tuple(columns)) for c, columns in kernel.column_groups())
    parts = X.by_group()
    return Table(list(keys), [parts[key] for key in keys])
