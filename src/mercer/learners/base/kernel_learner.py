"""What all kernel learners do with their samples and their kernel, in one place.

A learner does not need to know what a sample is: its kernel encodes the samples. `KernelLearner`
finds the kernel that ``kernel=`` names, encodes the samples once (with scikit-learn's
``n_features_in_`` and feature names if they are vectors), binds the kernel to the training
samples, leaves out rows of weight 0 and gets K from `mercer.gram.gram`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.distances import float_range
from mercer.estimator import Seed, estimator
from mercer.gram import (
    GramOperator,
    LowRankGram,
    Place,
    PlaceOfLearner,
    PreparedSide,
    gram,
    in_single_precision,
)
from mercer.kernels import Kernel, Precomputed, as_kernel
from mercer.learners.base.parameters import SQUARES, check_seed
from mercer.learners.base.reasons import KernelSum
from mercer.learners.base.training import (
    Training,
    check_training,
    encode_like_fitted,
)
from mercer.samples import (
    Samples,
    SamplesLike,
    joined,
    kind_named,
)
from mercer.solvers.rows import ROUNDED_ROWS
from mercer.threads import forget

#: ``X_fit_`` of learners as predictions have prepared it: neither files nor copies need it
PREPARED: WeakKeyDictionary[Any, PreparedSide] = WeakKeyDictionary()


class FitPath:
    """Work that several fits to the same samples share, when they differ in one parameter only.

    ``learner.new_path(values)`` makes a path for fits of the learner with these values of
    ``learner.path_parameter``. Pass it to each fit: ``fit(X, y, fit_path=path)``. This class
    shares the encoded samples, the bound kernel and K; learners that share more have their own
    path class.

    Attributes
    ----------
    kernel : Kernel or None
        The kernel as the first fit bound it; None before the first fit.
    training : Training or None
        The samples as the first fit encoded them; None before the first fit.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> X, y = np.arange(4.0)[:, None], np.array([0.0, 1.0, 4.0, 9.0])
    >>> path = KernelRidge().new_path([0.01, 1.0])  # of fits that share K
    >>> [round(KernelRidge(alpha=a).fit(X, y, fit_path=path).score(X, y), 3) for a in (0.01, 1.0)]
    [0.889, 0.881]
    """

    def __init__(self):
        self.kernel: Any = None
        self.training: Training | None = None
        self._given: Any = None
        self._made: dict[str, Any] = {}

    def knows(self, X: object) -> bool:
        """Whether an earlier fit used these samples; raise ValueError if it used other ones."""
        if self.training is not None and self._given is not X:
            raise ValueError(
                "fit_path= can only be shared by fits to the same X: make a new path for each X."
            )
        return self.training is not None

    def keep(self, X: object, kernel: Kernel, training: Training) -> None:
        """Keep the kernel and the samples that the first fit prepared from X."""
        self._given, self.kernel, self.training = X, kernel, training

    def shared(self, make: Callable[[], Any], what: str = "gram") -> Any:
        """The result of ``make()``, which only the first fit calls: the Gram matrix or a factor."""
        if what not in self._made:
            self._made[what] = make()
        return self._made[what]


@estimator
class KernelLearner(BaseEstimator):
    """Abstract: a learner with a kernel, and with the parameters of the place where K is made.

    Subclasses write ``fit`` from these steps, in this order: `make_training`, `make_gram`, a
    solver, `keep_support`, which comes after all else that predictions need. This class sets the
    fitted attributes ``kernel_`` (the bound kernel), ``X_fit_`` (the encoded samples that
    predictions compare with) and ``gram_`` (a description of the Gram matrix of the fit).
    A subclass that does not have one of the parameters makes it a ``ClassVar``.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, bound to the training samples.
    n_features_in_, feature_names_in_ : as in scikit-learn
        Only of samples that have columns.
    """

    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: Any = None
    degree: float = 3
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None
    random_state: Seed = None
    device: str | None = None
    memory: int | float | str | None = None
    n_jobs: int | None = None

    rank: int | None = field(init=False)

    #: the attribute that a fit stores last: with it the learner is fitted
    fitted_by: ClassVar[str] = "X_fit_"
    #: whether a callable kernel gets two objects (KernelRidge) or two arrays of samples (SVC)
    _pairwise_callable = False
    #: whether the learner needs k(x, z) = k(z, x), as all solvers of Mercer do
    needs_symmetry: ClassVar[bool] = True
    #: fits to the same samples that differ only in this parameter can share work
    path_parameter: ClassVar[str | None] = None

    def __sklearn_is_fitted__(self) -> bool:
        return self.fitted_by in vars(self)

    def check_fitted(self) -> None:
        """Raise NotFittedError before a fit, as scikit-learn does, in a tenth of the time."""
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self, self.fitted_by)

    place = PlaceOfLearner()

    def new_path(self, values: list) -> FitPath:
        """Make the object that fits share if they differ only in ``path_parameter``.

        Parameters
        ----------
        values : list
            The values of ``path_parameter``, in the order of the fits.
        """
        return FitPath()

    def leave_one_out(
        self,
        X: SamplesLike,
        y: object = None,
        sample_weight: object = None,
        *,
        fit_path: FitPath | None = None,
    ) -> tuple[Any, Any] | None:
        """What each row gets from a fit to all others, without a fit for each row.

        The arguments are those of ``fit``. The kernel is bound to all rows.

        Returns
        -------
        tuple or None
            A learner that answers for each row as if it had been fitted without this row, and the
            samples that it reads, in the order of X. None where no shorter way is known than a
            fit for each row.
        """
        return None

    def kernel_sum(self) -> KernelSum:
        """The fitted function as a sum over stored rows: the predictions, or of a classifier the
        decision values.

        Raises
        ------
        TypeError
            If it is no such sum.
        """
        raise TypeError(f"What {type(self).__name__} predicts is no sum over stored rows.")

    def set_params(self, **params: object) -> Self:
        """Set parameters; ``kernel__gamma`` sets the parameter gamma of a kernel object."""
        kernel = params.get("kernel", self.kernel)
        inner = next((name for name in params if name.startswith("kernel__")), None)
        if inner is not None and not isinstance(kernel, BaseEstimator):
            name = inner.removeprefix("kernel__")
            raise ValueError(
                f"{inner}= sets a parameter of a kernel object, but kernel={kernel!r} is not a "
                f"kernel object: set {name}= of {type(self).__name__} itself, or give a kernel "
                "object such as kernel=RBF()."
            )
        return super().set_params(**params)

    def resolve_kernel(self) -> Kernel:
        """The kernel object for ``kernel=`` and scikit-learn's gamma, degree and coef0.

        With a kernel object, these arguments raise an error if they differ from their defaults,
        so that no argument is ignored. ``gamma=None`` with a named kernel means 1 / n_features,
        as in scikit-learn's pairwise kernels.
        """
        own = vars(self)
        given = {name: own[name] for name in ("gamma", "degree", "coef0") if name in own}
        if isinstance(self.kernel, Kernel):
            defaults = inspect.signature(type(self)).parameters
            given = {k: v for k, v in given.items() if not _equal(v, defaults[k].default)}
        elif given.get("gamma", 0) is None and self.kernel != "chi2":
            given["gamma"] = "auto"
        return as_kernel(
            self.kernel,
            pairwise=self._pairwise_callable,
            kernel_params=own.get("kernel_params"),
            **given,
        )

    def make_training(
        self,
        X: SamplesLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        targets: bool = True,
        numeric: bool = True,
        fit_path: FitPath | None = None,
    ) -> Training:
        """Encode and check the training samples, and bind the kernel to them as ``kernel_``."""
        forget(self, ["duals_"] if getattr(self, "warm_start", False) else [])
        if fit_path is not None and fit_path.knows(X):
            self.kernel_: Kernel = fit_path.kernel
            assert fit_path.training is not None
            return fit_path.training
        check_seed(getattr(self, "random_state", None))
        _ = self.place  # it is checked before the samples are read
        kernel = self.resolve_kernel()
        kernel.validate()
        encoded = float_range(kernel.encode(X))
        training = check_training(
            self, X, encoded, y, sample_weight, targets=targets, numeric=numeric
        )
        self.kernel_ = self.bind_kernel(kernel, training)
        if fit_path is not None:
            fit_path.keep(X, self.kernel_, training)
        return training

    def bind_kernel(self, kernel: Kernel, training: Training) -> Kernel:
        """The kernel bound to the training samples, in the same way as ``fit`` does it."""
        if self.needs_symmetry:
            check_symmetric(kernel, type(self).__name__)
        return kernel.bind(training.X, training.y, training.weights)

    def entry_room(self, training: Training) -> float:
        """The largest relative error of K's entries that the learner's tolerance allows."""
        return 0.0

    def encode_new(self, X: SamplesLike) -> Any:
        """Encode new samples with the codes of the training samples."""
        self.check_fitted()
        return float_range(encode_like_fitted(self, self.kernel_, X), self.X_fit_)

    def make_gram(
        self, X: Samples, fit_path: FitPath | None = None, *, matrices: int = 2,
        multiplied: bool = False,
    ) -> GramOperator:  # fmt: skip
        """K between the training samples; sets ``gram_``.

        K is kept in memory if this many ``matrices`` of its size fit where it lives; with
        ``multiplied``, which means that products will do, only if its rows are cheap.
        """

        def held() -> GramOperator:
            K = self.gram_between(X)
            kept = K.fits(matrices) and not (multiplied and "rows" not in K.cheap)
            return K.held() if kept else K

        K = held() if fit_path is None else fit_path.shared(held)
        self.gram_ = K.describe()
        return K

    def rounded(self, X: Samples) -> Any:
        """Many vectors in float32, if that changes K by less than its rounding to float32."""
        many = X.shape[0] >= ROUNDED_ROWS and self.kernel_.reads.coordinates
        return in_single_precision(self.kernel_, X) if many else X

    def gram_between(self, X: Any, Z: Any = None) -> GramOperator:
        """K between given encoded samples; Z defaults to X. Entries are computed when used."""
        return gram(self.kernel_, X, Z, place=self.place)

    def make_low_rank_gram(
        self, X: Samples, rank: int, *, held: int = 0, fit_path: FitPath | None = None
    ) -> LowRankGram:
        """K between the training samples as a factor of ``self.rank`` (or ``rank``) columns.

        A default rank is as large as ``memory`` allows; with ``held`` this many matrices of the
        size of the factor must fit too, in half of it.
        """
        n, size = X.shape[0], X.dtype.itemsize
        rank = self._affordable_rank(min(self.rank or rank, n), 2 * n * size * held)

        def factor() -> Any:
            return gram(
                self.kernel_, X, place=self.place, rank=rank, random_state=self.random_state
            )

        K = factor() if fit_path is None else fit_path.shared(factor)
        self.gram_ = K.describe()
        return K

    def _affordable_rank(self, rank: int, column: int) -> int:
        """``rank``, or less if it is a default; ``column`` is the bytes that each column takes."""

        def needed(rank: int) -> int:
            return rank * (column + SQUARES * rank)

        budget = self.place.budget(needed(rank))
        if needed(rank) <= budget:
            return rank
        if self.rank is None and needed(1) <= budget:
            half = column / (2 * SQUARES)  # the positive root of needed(rank) = budget
            lower = max(1, int(np.sqrt(half**2 + budget / SQUARES) - half))
            self.place.concede(needed(rank), f"{rank:,} centres", f"rank={lower}")
            return lower
        smaller = "" if self.rank is None else ", or a smaller rank="
        rank = 1 if self.rank is None else rank
        self.place.refuse(needed(rank), f"a factor of rank {rank}", smaller)

    def cross_gram(self, X: SamplesLike) -> GramOperator:
        """K between new samples X and the samples ``X_fit_`` that the fit has kept.

        Entries are computed when they are used.

        Parameters
        ----------
        X : array-like, sparse matrix or samples of the kernel's kind
            Not yet encoded.
        """
        return self.gram_with_support(self.encode_new(X))

    def gram_with_support(self, X: SamplesLike) -> GramOperator:
        """The same for encoded samples; what is prepared of ``X_fit_`` is kept for later calls."""
        columns = PREPARED.get(self)
        if columns is None or not columns.are(self.kernel_, self.X_fit_):
            columns = PREPARED[self] = PreparedSide(self.kernel_, self.X_fit_)
        return self.gram_between(X, columns)

    def keep_support(self, X: Samples) -> None:
        """Keep the samples that predictions compare new samples with: the learner is fitted now."""
        self.X_fit_ = self.kernel_.support(X)
        PREPARED[self] = PreparedSide(self.kernel_, self.X_fit_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        kind = self.kernel.kind if isinstance(self.kernel, Kernel) else "vectors"
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            kind = Precomputed.kind
        kind_named(kind).tag(tags.input_tags)
        return tags


def _equal(value: object, default: object) -> bool:
    return value is default or (np.isscalar(value) and value == default)


def bound_gram(kernel: Any, X: Any, place: Place, more: Any = None) -> GramOperator:
    """K of a kernel, or of the name of one, bound to raw samples X, and to ``more`` after them."""
    kernel = as_kernel(kernel) if isinstance(kernel, str) else kernel
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel={kernel!r}: give a kernel object of mercer.kernels, or a name.")
    check_symmetric(kernel, "this")
    X = kernel.encode(X)
    X = X if more is None else joined(X, kernel.encode(more, like=X))
    return gram(kernel.bind(X), X, place=place)


def check_symmetric(kernel: Kernel, reader: str) -> None:
    """Raise TypeError if a kernel of a learner, or of a statistic, is not symmetric."""
    if not kernel.symmetric:
        raise TypeError(
            f"kernel={kernel!r} is not symmetric, but {reader} needs k(x, z) = k(z, x): give a "
            "kernel that is."
        )
