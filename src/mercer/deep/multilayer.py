"""Multilayer kernel machines: layers of kernel PCA, each followed by a selection of components."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.deep.chosen_components import (
    RANKINGS,
    ComponentLayer,
    Settings,
    choose_width,
    fit_components,
)
from mercer.estimator import Seed, estimator
from mercer.gram import Place
from mercer.kernels import Kernel, as_kernel
from mercer.learners.base import (
    Classifier,
    check_count,
    check_seed,
    check_solver,
    check_training,
    encode_classes,
    encode_like_fitted,
    finite_fit,
    finite_values,
)
from mercer.learners.margin import SVC
from mercer.learners.metrics import LargeMarginNeighbours
from mercer.learners.neighbours import KNeighborsClassifier
from mercer.samples import Samples, SamplesLike, is_number, is_whole, kind_named
from mercer.threads import forget, raise_if_stopped

LEARNERS = ("svc", "neighbours", "large_margin")
SOLVERS = ("auto", "exact", "randomized", "low_rank")
EXACT_ROWS = 2000  # up to which "auto" is exact
ALL_ROWS = 20_000  # up to which it multiplies all of K by vectors
C = 10.0  # penalty of the support vector machine at the end
AUTO = ("information", "variance")  # the rankings that "auto" tries
FEWEST = 10  # rows, with fewer none are held back


def _has(name: str) -> Any:
    """Whether the learner at the end has a method, as far as it is known before the fit."""

    def check(self: MultilayerKernelMachine) -> bool:
        if "learner_" in vars(self):
            return hasattr(self.learner_, name)
        return hasattr(self._last(0), name)

    return check


@estimator
class MultilayerKernelMachine(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, Classifier, BaseEstimator
):
    r"""Layers of kernel PCA, where each hands its best components to the next, and a classifier.

    .. math:: h_0(x) = x, \qquad h_l(x) = S_l \, y_l(h_{l-1}(x)), \qquad f(x) = g(h_L(x)),

    where :math:`y_l` are the principal components of the kernel of layer l, see `KernelPCA`,
    :math:`S_l` keeps some of them, and g is a classifier.

    Parameters
    ----------
    n_layers : int >= 1, optional
        L. None means one for each kernel of a list, and 2 for a single kernel.
    kernel : kernel object, name, "precomputed", callable or list of these, default="rbf"
        One for all layers, or a list with one for each. Only the first reads the samples, which may
        be of any kind; those of the others have to read vectors.
    n_components : int or None, default=200
        Components of each layer that are looked at, at most. None means all.
    width : int, "auto", None or list of these, default="auto"
        Components that each layer hands on, at most; None means all. "auto" takes the width, of
        about 16, for which a k-NN classifier makes the fewest errors on the validation rows.
    ranking : {"auto", "information", "variance", "nearest_information"}, default="auto"
        Which components are handed on: those of the most mutual information with the classes,
        estimated by bins; those of the largest eigenvalues; or as the first, but estimated from
        nearest neighbours by scikit-learn's ``mutual_info_classif``. "auto" tries the first two
        for each layer whose width is chosen; for others it is the first.
    learner : {"svc", "neighbours", "large_margin"} or classifier, default="svc"
        g: ``SVC(C=10)``; k-NN; k-NN after `LargeMarginNeighbours`; or a classifier of vectors.
    n_neighbors : int >= 1, default=5
        Number of neighbours of the classifiers that choose the widths, and of the learner.
    validation : float in (0, 1), default=0.2
        Share of the rows of each class that is held back while widths are chosen.
    solver : {"auto", "exact", "randomized", "low_rank"} or solver value, default="auto"
        The solver of kernel PCA. "randomized" multiplies K four times by random vectors, which
        mixes the small components a little, and "low_rank" approximates K by ``rank`` centres.
        "auto" is exact up to 2,000 rows, and of low rank beyond 20,000.
    random_state : int, RandomState or None
        Seed for the rows held back, the solvers and the estimate of the mutual information.

    Attributes
    ----------
    layers_ : list of ComponentLayer
        Each has ``pca``, ``eigenvalues``, ``mutual_information``, ``kept`` (the numbers of the
        components that it hands on, the first in rank first), ``width``, ``ranking``,
        ``validation_errors`` (for each ranking that was tried: width -> share of errors) and
        ``validation_error``.
    widths_ : list of int
    learner_ : classifier
        g, fitted to the features of all rows.
    classes_ : ndarray of shape (n_classes,)
    validation_rows_ : ndarray of shape (rows,), int
        Numbers of the rows that were held back to choose widths; empty if there was no choice.
    X_fit_ : encoded samples
        The samples that the first layer compares with.
    n_features_in_, feature_names_in_
        The same as in scikit-learn.

    Notes
    -----
    Widths are chosen one layer after the other. The components and their ranks come from the rows
    that are not held back, the errors from those that are. Then all layers are fitted again to all
    rows, with the widths that were chosen, and so is g: as if the widths had been given. With fewer
    than 10 rows none are held back, and all components are handed on.

    The validation errors of the widths that were chosen are the least of some, and so a little too
    small; for an honest estimate use other rows.

    A component is judged alone. Those that matter only together with others say little about the
    classes, and of many components some seem by chance to say more than they do; so with few rows
    the order of the eigenvalues often has fewer errors. Components keep their scale: dividing them
    by their standard deviations would blow up the noise of the small ones.

    Layers help where noise is spread over hundreds of columns, as behind images; where it is not, a
    support vector machine on the samples is as good and costs less.

    Each layer costs what `KernelPCA` does, twice where widths are chosen, and new samples are
    compared with all training samples in each layer.

    References
    ----------
    Cho & Saul, "Kernel methods for deep learning", NIPS 2009, section 3.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from mercer.deep import MultilayerKernelMachine
    >>> from mercer.kernels import RBF
    >>> X, y = load_digits(return_X_y=True)
    >>> machine = MultilayerKernelMachine(kernel=RBF("median"), n_components=60, random_state=0)
    >>> machine = machine.fit(X[:600], y[:600])
    >>> machine.transform(X[:3]).shape == (3, machine.widths_[-1])
    True
    >>> bool(machine.score(X[600:], y[600:]) > 0.9)
    True
    """

    n_layers: int | None = None
    _: KW_ONLY
    kernel: Any = "rbf"
    n_components: int | None = 200
    width: Any = "auto"
    ranking: str = "auto"
    learner: Any = "svc"
    n_neighbors: int = 5
    validation: float = 0.2
    solver: Any = "auto"
    rank: int | None = None
    random_state: Seed = None
    memory: int | float | str | None = None
    n_jobs: int | None = None

    def __sklearn_is_fitted__(self) -> bool:
        return "learner_" in vars(self)

    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike) -> Self:
        """Fit to samples X (n) and classes y (n,)."""
        forget(self)
        self._check_parameters()
        kernels = self._kernels()
        widths = self._each("width", self.width, len(kernels))
        encoded = kernels[0].encode(X)
        training = check_training(self, X, encoded, y, None, targets=True, numeric=False)
        self.classes_, codes = encode_classes(column_or_1d(training.y, warn=True))
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(np.iinfo(np.int32).max))
        settings = self._settings(len(codes), seed)
        choices: list[Any] = [(self._rankings()[0], width) for width in widths]
        found: list[dict] = [{} for _ in kernels]
        self.validation_rows_ = np.empty(0, np.intp)
        if "auto" in widths:
            self.validation_rows_ = _held_rows(codes, self.validation, seed)
            choices, found = self._chosen(kernels, widths, training.X, codes, settings)
        layers, features = [], training.X
        for kernel, (ranking, width), errors in zip(kernels, choices, found):
            raise_if_stopped()
            layer, scores = fit_components(kernel, features, codes, settings)
            layer = layer.narrowed(ranking, width)
            layer.validation_errors = errors
            layers.append(layer)
            features = scores[:, layer.kept]
        learner = self._last(seed).fit(features, self.classes_[codes])
        self.layers_: list[ComponentLayer] = layers
        self.widths_ = [layer.width for layer in layers]
        self.X_fit_ = layers[0].pca.X_fit_
        self.learner_ = learner  # the machine is fitted now
        return self

    def _chosen(
        self, kernels: list, widths: list, X: Samples, codes: np.ndarray, settings: Settings
    ) -> tuple[list, list]:
        """The ranking and width of each layer, and the errors by which they were chosen."""
        held = self.validation_rows_
        if not len(held):
            first = self._rankings()[0]
            return [(first, None if w == "auto" else w) for w in widths], [{} for _ in widths]
        seen = np.setdiff1d(np.arange(len(codes)), held)
        learnt, judged, choices, found = X[seen], X[held], [], []
        for kernel, width in zip(kernels, widths):
            raise_if_stopped()
            layer, scores = fit_components(kernel, learnt, codes[seen], settings)
            new = layer.pca.transform(judged)
            if width == "auto":
                layer = choose_width(
                    layer, scores, codes[seen], new, codes[held], self._rankings(), settings
                )
            else:
                layer = layer.narrowed(self._rankings()[0], width)
            choices.append((layer.ranking, layer.width if width == "auto" else width))
            found.append(layer.validation_errors)
            learnt, judged = scores[:, layer.kept], new[:, layer.kept]
        return choices, found

    @finite_values
    def transform(self, X: SamplesLike, layer: int | None = None) -> np.ndarray:
        """The features of samples after a layer.

        Parameters
        ----------
        X : samples (n)
        layer : int from 1 to L, optional
            None means the last one.

        Returns
        -------
        ndarray of shape (n, width of the layer)
        """
        check_is_fitted(self)
        last = len(self.layers_) if layer is None else layer
        if not (is_whole(last) and 1 <= last <= len(self.layers_)):
            raise ValueError(
                f"layer={layer!r}: give a whole number from 1 to {len(self.layers_)}, or None."
            )
        features = encode_like_fitted(self, self.layers_[0].pca.kernel_, X)
        for fitted in self.layers_[:last]:
            features = fitted.transform(features)
        return features

    def predict(self, X: SamplesLike) -> np.ndarray:
        """The class of each sample, (n,)."""
        return self._answer("predict", X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: SamplesLike) -> np.ndarray:
        """The learner's decision values of the features, (q,) or (q, n_classes)."""
        return self._answer("decision_function", X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: SamplesLike) -> np.ndarray:
        """Probability of each class, in the order of ``classes_``; (n, classes)."""
        return self._answer("predict_proba", X)

    def _answer(self, method: str, X: SamplesLike) -> np.ndarray:
        check_is_fitted(self)
        return getattr(self.learner_, method)(self.transform(X))

    # --- parameters -------------------------------------------------------------------------------

    def _kernels(self) -> list[Kernel]:
        """The kernel of each layer."""
        single = not isinstance(self.kernel, (list, tuple))
        count = (2 if single else len(self.kernel)) if self.n_layers is None else self.n_layers
        kernels = [as_kernel(k, pairwise=True) for k in self._each("kernel", self.kernel, count)]
        for number, kernel in enumerate(kernels[1:], start=2):
            if not kernel.reads.coordinates:
                raise ValueError(
                    f"kernel={self.kernel!r}: layer {number} reads the components of the layer "
                    f"before, which are vectors, but {kernel!r} compares {kernel.kind}. Give a "
                    "list with a kernel for each layer, such as [kernel, RBF()], or n_layers=1."
                )
        return kernels

    def _each(self, name: str, value: object, count: int) -> list:
        """The value of a parameter for each layer."""
        if not isinstance(value, (list, tuple)):
            return [value] * count
        if len(value) != count:
            raise ValueError(
                f"{name}={value!r} has {len(value)} entries, but there are {count} layers: give "
                "one entry for each."
            )
        return list(value)

    def _rankings(self) -> tuple[str, ...]:
        return AUTO if self.ranking == "auto" else (self.ranking,)

    def _settings(self, n: int, seed: int) -> Settings:
        """How the layers of n rows are solved."""
        solver = self.solver
        if solver == "auto":
            solver = SOLVERS[1 + (n > EXACT_ROWS) + (n > ALL_ROWS)]
        return Settings(
            self.n_components, solver, self.rank, self.n_neighbors,
            self.ranking == "nearest_information", self.memory, self.n_jobs, seed,
        )  # fmt: skip

    def _last(self, seed: int) -> Any:
        """The learner of the features, not yet fitted."""
        if not isinstance(self.learner, str):
            copied: Any = clone(self.learner)
            return copied
        shared: dict[str, Any] = {"memory": self.memory, "n_jobs": self.n_jobs}
        if self.learner == "svc":
            return SVC(C=C, random_state=seed, **shared)
        nearest = KNeighborsClassifier(self.n_neighbors, **shared)
        if self.learner == "neighbours":
            return nearest
        return make_pipeline(LargeMarginNeighbours(random_state=seed, **shared), nearest)

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        for name in ("n_layers", "n_components", "rank"):
            check_count(name, getattr(self, name))
        check_count("n_neighbors", self.n_neighbors, optional=False)
        if isinstance(self.kernel, (list, tuple)) and not self.kernel:
            raise ValueError("kernel=[]: give a kernel for each layer.")
        widths = self.width if isinstance(self.width, (list, tuple)) else [self.width]
        for width in widths:
            auto = isinstance(width, str) and width == "auto"
            if not (auto or width is None or (is_whole(width) and width >= 1)):
                raise ValueError(
                    f'width={self.width!r}: give a whole number >= 1, "auto", None, or a list with '
                    "one of these for each layer."
                )
        if self.ranking not in ("auto", *RANKINGS):
            raise ValueError(f"ranking={self.ranking!r}: give one of {['auto', *RANKINGS]}.")
        if isinstance(self.learner, str):
            if self.learner not in LEARNERS:
                raise ValueError(
                    f"learner={self.learner!r}: give one of {list(LEARNERS)}, or a classifier."
                )
        elif not (hasattr(self.learner, "fit") and hasattr(self.learner, "predict")):
            raise TypeError(
                f"learner={self.learner!r}: give one of {list(LEARNERS)}, or a classifier."
            )
        if not (is_number(self.validation) and 0 < self.validation < 1):
            raise ValueError(f"validation={self.validation!r}: give a number in (0, 1).")
        check_solver(self.solver, SOLVERS, ["count"])
        check_seed(self.random_state)
        Place(self.memory, self.n_jobs)  # which checks them

    @property
    def _n_features_out(self) -> int:
        return self.widths_[-1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        first = self.kernel
        if isinstance(first, (list, tuple)) and first:
            first = first[0]
        kind = first.kind if isinstance(first, Kernel) else "vectors"
        kind_named("precomputed" if first == "precomputed" else kind).tag(tags.input_tags)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _held_rows(codes: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Row numbers of a random share of each class, in ascending order.

    Classes are laid out one after the other, each in random order, and every 1 / share-th row is
    taken: so each class gets its share up to one row, also where it has few.
    """
    n = len(codes)
    if n < FEWEST:
        return np.empty(0, np.intp)
    rng = np.random.RandomState(seed)
    order = rng.permutation(n)
    order = order[np.argsort(codes[order], kind="stable")]
    steps = np.floor(np.arange(n + 1) * share + rng.uniform())
    held = np.sort(order[np.diff(steps) > 0])
    return held if 0 < len(held) <= n - 2 else np.empty(0, np.intp)
