"""Kernel principal component analysis: the directions of largest variance in feature space."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.validation import check_array, check_is_fitted

from mercer.callers import first_outside
from mercer.estimator import estimator
from mercer.kernels import Kernel, Radial
from mercer.learners.base import (
    check_count,
    check_flag,
    check_not_negative,
    check_solver,
    finite_fit,
    finite_values,
    is_auto,
    is_value,
)
from mercer.learners.ridge import KernelRidge
from mercer.learners.spectral.components import Components
from mercer.learners.spectral.pca_solvers import (
    PAIRS,
    SOLVERS,
    STARTS,
    ComponentFit,
    ComponentLearner,
    Scatter,
    fixed_points,
    has_fixed_points,
)
from mercer.samples import Samples, SamplesLike, is_number, is_whole
from mercer.streams import Checkpoint, fit_stream
from mercer.threads import blas_limit


@estimator
class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ComponentLearner):
    r"""Principal components in feature space: eigenvectors of the centred Gram matrix

    .. math:: \tilde K = H K H, \quad H = I - \tfrac1n 1 1^\top, \quad \tilde K v_k = λ_k v_k,
        \qquad y_k(x) = \tfrac1{\sqrt{λ_k}} \sum_i v_{ik} \tilde k(x, x_i).

    Parameters and attributes of scikit-learn's KernelPCA have the same meaning here.

    Parameters
    ----------
    n_components : int, optional
        Number of components, at most n; None means all whose eigenvalue is not 0.
    kernel : kernel object, name, "precomputed" or callable, default="linear"
        A callable takes two rows and returns a number.
    alpha : float >= 0, default=1.0
        Penalty of the ridge regression that learns the inverse.
    fit_inverse_transform : bool, default=False
        Learn the inverse by ridge regression of the samples, which must be dense vectors, on their
        scores. Radial kernels of the Euclidean distance have an inverse without it.
    eigen_solver : str or solver value, default="auto"
        "dense" decomposes all of K; "krylov" needs about six products of K with a block of vectors,
        and "arpack" is another name of it; "randomized" does as many products as
        ``iterated_power`` says, whatever the residual; "low_rank" approximates K by ``rank``
        centres. "auto" is exact up to 100,000 rows, beyond them of low rank. A value, such as
        ``mercer.solvers.TopEigenSolver(1)``, finds as many eigenpairs as there are components.
    tol : float >= 0, default=0
        Only for "krylov": the largest residual :math:`\|\tilde K v - λ v\|`, relative to λ₁; 0
        means 1e-6. The error of the eigenvalues is about its square.
    max_iter : int, optional
        Only for "krylov": most products with K; None means 300.
    iterated_power : int >= 0 or "auto", default="auto"
        Only for "randomized": products with K after the first; "auto" is 7, or 4 if at least a
        tenth of all components is needed.
    remove_zero_eig : bool, default=False
        Whether components with eigenvalue 0 are left out, as they always are if ``n_components``
        is None.
    random_state : int, RandomState or None
        Seed for the first block of vectors and for choosing the centres.
    copy_X : bool, default=True
        Whether ``X_fit_`` is a copy; if not, X must not be changed afterwards.
    memory : int, str or None
        Budget in bytes or as "4GB"; None means half of what is free. Where K does not fit, it is
        computed again for each product.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        λ, in decreasing order; divided by n, the variances of the scores.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        λ as parts of the whole variance in feature space.
    eigenvectors_ : ndarray of shape (m, n_components)
        Entries of the eigenvectors at the m samples ``X_fit_``. The largest of each is positive.
    X_fit_ : encoded samples
        The training samples, or with "low_rank" the centres.
    centres_ : ndarray of shape (m,)
        Row numbers of the centres in the stream; only after ``fit_chunks``.
    projection_, offset_ : ndarray of shape (m, n_components), (n_components,)
        Scores are :math:`y(x) = k(x, X_{fit})` projection + offset.
    mean_coef_ : ndarray of shape (m,)
        The mean feature is :math:`\sum_i` mean_coef_i φ(x_i).
    dual_coef_, X_transformed_fit_ : ndarray of shape (m, d), (m, n_components)
        Coefficients of the learnt inverse, and the scores that they belong to.
    gamma_ : float
        The γ of a named kernel.
    n_samples_ : int
    solver_, gram_ : str
        Descriptions of the solver and of the Gram matrix. The linear kernel with few columns is
        solved in the "primal".
    residual_ : float
        Certificate: the largest residual :math:`\|\tilde K v - λ v\| / λ_1`; 0 for what LAPACK
        decomposed.
    n_iter_ : int
        Products with K.

    Notes
    -----
    New samples are centred exactly: as :math:`\sum_i v_{ik} = 0`, the mean of k(x, x_i) over the
    training samples cancels, and only its constant part is kept.

    The Krylov method starts at what the components of 500 rows say about those of all. Work:
    dense O(n³); Krylov about six times n² (a kernel value + n_components + 11 multiplications);
    low rank O(n rank²). Memory: dense four n x n matrices; Krylov about 200 n (n_components + 10)
    bytes, and K if it fits; low rank n · rank numbers, or less.

    An indefinite kernel may have fewer positive eigenvalues than components; asking for more is an
    error.

    References
    ----------
    Schölkopf, Smola & Müller, "Nonlinear component analysis as a kernel eigenvalue problem",
    Neural Computation 10, 1998.

    Examples
    --------
    >>> from mercer import KernelPCA
    >>> X = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0], [0.0, 0.0]])
    >>> pca = KernelPCA(3, kernel="poly", degree=2, gamma=1.0, coef0=0.0).fit(X)
    >>> pca.eigenvalues_.round(6)  # of the features x², y² and √2 xy
    array([8. , 1.6, 0. ])
    >>> pca.transform([[2.0, 1.0]]).shape
    (1, 3)
    """

    n_components: Any = None
    _: KW_ONLY
    kernel: Any = "linear"
    alpha: float = 1.0
    fit_inverse_transform: bool = False
    remove_zero_eig: bool = False
    copy_X: bool = True

    fitted_by = "residual_"  # which is stored last

    @finite_fit
    def fit(self, X: Any, y: object = None) -> Self:
        """Find the components of samples X (n); y is not used."""
        self._check_parameters()
        X = self.make_training(X, targets=False).X
        if self.fit_inverse_transform and not isinstance(X, np.ndarray):
            raise ValueError(
                "fit_inverse_transform=True needs samples that are dense vectors, not sparse rows "
                "or other objects: leave it out, or give X.toarray()."
            )
        n = self.n_samples_ = X.shape[0]
        with blas_limit(n):
            found, support = self._components(X, min(self.n_components or n, n))
        found = self._checked(found)
        self._squares = float(self.kernel_.diag(X).sum(dtype=np.float64))
        if support is X and self.copy_X and (isinstance(X, np.ndarray) or sp.issparse(X)):
            support = X.copy()
        self._store(support, found)
        if self.fit_inverse_transform:
            self._learn_inverse(support)
        self.keep_support(support)
        self.residual_ = found.found.gap
        if self.solver_ == "krylov" or is_value(self.eigen_solver):
            found.found.conclude()
        return self

    @finite_fit
    def fit_chunks(self, chunks: object, checkpoint: Checkpoint | str | Path | None = None) -> Self:
        """Find the components of a stream, which may be larger than the memory, by centres.

        It is read twice: centres are chosen among rows that are drawn from all of it (20,000, or 10
        for each of ``rank``), and then the covariance of the features that the centres have is
        added up. So the components are those of ``eigen_solver="low_rank"`` with these centres.
        Memory does not depend on the number of rows, and the answer not on the size of the chunks.
        A linear kernel has no error if ``rank`` is at least the number of columns. Targets in the
        stream are not used. ``inverse_transform`` works where it needs no ridge regression.

        Parameters
        ----------
        chunks : Chunks, or what it takes
            Without weights.
        checkpoint : Checkpoint or path, optional
            A file from which the same fit goes on if it was killed, to the same last bit.

        Examples
        --------
        >>> from mercer import Chunks
        >>> X = np.random.default_rng(0).normal(size=(1000, 3)) * [3.0, 1.0, 0.1]
        >>> streamed = KernelPCA(2).fit_chunks(Chunks(X, rows=100))
        >>> np.allclose(streamed.eigenvalues_, KernelPCA(2).fit(X).eigenvalues_)
        True
        """
        self._check_parameters()
        fit = ComponentFit(self)
        if self.fit_inverse_transform:
            raise ValueError(
                "fit_inverse_transform=True learns from all samples at once, which a fit in chunks "
                "does not hold: leave it out."
            )
        return fit_stream(fit, chunks, checkpoint)

    def fit_scatter(self, scatter: Scatter, L: np.ndarray) -> Self:
        """Store the components of rows that were added up, for centres with K = L Lᵀ."""
        n = self.n_samples_ = scatter.rows
        with blas_limit(len(L)):
            found = self._checked(scatter.components(L, min(self.n_components or n, n)))
        self._squares = scatter.trace
        self._store(self.X_fit_, found)
        self.residual_ = found.found.gap
        return self

    def _checked(self, found: Components) -> Components:
        """The components that are kept, without faults."""
        if found.lowest < 0:
            positive = int((found.values > 0).sum())
            raise ValueError(
                f"There are significant negative eigenvalues, down to {found.lowest:.3g} where the "
                f"largest is {found.found.values.max():.3g}: the kernel is not positive "
                f"semidefinite on these samples. Give n_components={positive} or less, or make the "
                "matrix semidefinite by mercer.kernels.repair."
            )
        if self.remove_zero_eig or self.n_components is None:
            found = found.positive()
        if not found.values.any() and self.n_samples_ > 1:
            warnings.warn(
                "All samples have the same features, up to rounding: no component has a variance. "
                "Look at the samples, and at the scale of the kernel.",
                stacklevel=first_outside(),
            )
        return found

    def fit_transform(self, X: SamplesLike, y: object = None) -> np.ndarray:
        """Fit to X, and return the scores of its rows, (n, n_components)."""
        self.fit(X)
        if self.solver_ == "low_rank":
            return self.transform(X)
        return self._support_scores()

    @finite_values
    def transform(self, X: SamplesLike) -> np.ndarray:
        """Scores of new samples, (q, n_components)."""
        return np.asarray(self.cross_gram(X) @ self.projection_ + self.offset_)

    @finite_values
    def reconstruction_error(self, X: SamplesLike) -> np.ndarray:
        r"""Squared distance in feature space to the span of the components, (q,): a novelty score.

        .. math:: \tilde k(x, x) - \sum_k y_k(x)^2.
        """
        encoded = self.encode_new(X)
        if self.kernel_.reads.pairwise:
            raise ValueError(
                'kernel="precomputed" does not say k(x, x) of a new sample, which its '
                "reconstruction error needs: give a kernel object and the samples themselves."
            )
        K = self.gram_with_support(encoded)
        products = np.asarray(K @ np.column_stack([self.projection_, self.mean_coef_]), np.float64)
        scores = products[:, :-1] + self.offset_
        squares = self.kernel_.diag(encoded) - 2 * products[:, -1] + self._mean_square
        error = squares - np.square(scores).sum(axis=1)
        # of an indefinite kernel it may be negative, and not by rounding alone
        return error if self.kernel_.positive_definite is False else np.maximum(error, 0.0)

    @finite_values
    def inverse_transform(self, X: SamplesLike, limit: float | None = None) -> np.ndarray:
        r"""Samples whose features are near to given scores X (q, n_components): (q, d).

        Parameters
        ----------
        X : array-like of shape (q, n_components)
        limit : float > 0, optional
            Shrink each score to at most this many standard deviations,
            :math:`|y_k| \le` limit :math:`\sqrt{λ_k / n}`, so that the sample is like the training
            samples.

        Notes
        -----
        With ``fit_inverse_transform`` by the ridge regression that was learnt. Else, for radial
        kernels of the Euclidean distance, by the fixed point of
        :math:`z = \sum_i g_i κ'_i x_i / \sum_i g_i κ'_i`, where Σ g_i φ(x_i) are the wanted
        features and κ' is the derivative of the kernel by the squared distance of z and x_i. It
        starts at the training samples whose features and whose scores are nearest, and the best
        answer is returned: never one worse than the best training sample.

        References
        ----------
        Mika et al., "Kernel PCA and de-noising in feature spaces", NIPS 1998.
        Bakır, Weston & Schölkopf, "Learning to find pre-images", NIPS 2003.
        """
        check_is_fitted(self)
        floats: Any = [np.float64, np.float32]
        scores = check_array(X, dtype=floats, input_name="X")
        count = len(self.eigenvalues_)
        if scores.shape[1] != count:
            raise ValueError(
                f"X has {scores.shape[1]} columns: give the scores of all {count} components."
            )
        if limit is not None:
            if not (is_number(limit) and limit > 0):
                raise ValueError(f"limit={limit!r}: give a number > 0, or None.")
            bound = limit * np.sqrt(self.eigenvalues_ / self.n_samples_)
            scores = np.clip(scores, -bound, bound)
        if self.fit_inverse_transform:
            return self._inverse.predict(scores)
        if not (has_fixed_points(self.kernel_) and isinstance(self.X_fit_, np.ndarray)):
            raise NotFittedError(
                f"{self.kernel_!r} has no inverse without fit_inverse_transform=True, which needs "
                "dense vectors; only radial kernels of the Euclidean distance have one."
            )
        wanted = scores @ self.projection_.T + self.mean_coef_
        return fixed_points(cast(Radial, self.kernel_), self.X_fit_, wanted, self._starts(scores))

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    # --- what the fit keeps -------------------------------------------------------------------

    def _store(self, X: Samples, found: Components) -> None:
        """All that scores need, for components that are functions of the samples X."""
        n, dtype = self.n_samples_, np.dtype(X.dtype)
        self.eigenvalues_ = found.values
        whole = self._squares - n * found.square
        self.explained_variance_ratio_ = found.values / whole if whole > 0 else 0 * found.values
        self.eigenvectors_ = found.vectors.astype(dtype, copy=False)
        self.projection_ = found.coef.astype(dtype, copy=False)
        self.offset_ = found.offset.astype(dtype, copy=False)
        self.mean_coef_ = found.mean.astype(dtype, copy=False)
        self._mean_square = found.square
        self.n_iter_ = found.found.iterations
        if isinstance(self.kernel, str) and self.kernel_.reads.coordinates:
            gamma = self.kernel_.get_params().get("gamma", self.gamma)
            self.gamma_ = 1 / X.shape[1] if gamma is None else gamma

    def _learn_inverse(self, X: Samples) -> None:
        """Fit the ridge regression that leads from components back to samples."""
        named = not isinstance(self.kernel, Kernel)
        self._inverse = KernelRidge(
            self.alpha,
            kernel=self.kernel if named else self.kernel_,
            gamma=getattr(self, "gamma_", None),
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
            memory=self.memory,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        ).fit(self._support_scores(), X)
        self.dual_coef_, self.X_transformed_fit_ = self._inverse.dual_coef_, self._inverse.X_fit_

    def _support_scores(self) -> np.ndarray:
        """Scores of ``X_fit_``."""
        return self.eigenvectors_ * np.sqrt(self.eigenvalues_).astype(self.eigenvectors_.dtype)

    def _starts(self, scores: np.ndarray) -> np.ndarray:
        """For each row the numbers of samples of ``X_fit_``: one whose scores are nearest, and
        those whose features are, which are all of one norm."""
        known = self._support_scores()
        nearest = np.asarray(pairwise_distances_argmin(scores, known))
        # <P, φ(x_i)> for the wanted features P: K @ projection_ are the scores without their offset
        means = np.asarray(self.gram_with_support(self.X_fit_) @ self.mean_coef_, np.float64)
        count, step = min(STARTS, len(known)), max(1, PAIRS // len(known))
        similar = [
            np.argpartition(part @ (known - self.offset_).T + means, -count, axis=1)[:, -count:]
            for part in (scores[s : s + step] for s in range(0, len(scores), step))
        ]
        return np.column_stack([nearest, np.concatenate(similar)])

    # --- parameters ---------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        check_solver(self.eigen_solver, SOLVERS, ["count"], argument="eigen_solver")
        for name in ("n_components", "max_iter", "rank"):
            check_count(name, getattr(self, name))
        for name in ("fit_inverse_transform", "remove_zero_eig", "copy_X"):
            check_flag(name, getattr(self, name))
        for name in ("tol", "alpha"):
            check_not_negative(name, getattr(self, name))
        power = self.iterated_power
        if not ((is_whole(power) and power >= 0) or is_auto(power)):
            raise ValueError(f'iterated_power={power!r}: give a whole number >= 0, or "auto".')
        if self.fit_inverse_transform and self.resolve_kernel().reads.pairwise:
            raise ValueError(
                "Cannot fit_inverse_transform with a precomputed kernel: give a kernel object and "
                "the samples themselves."
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse &= not self.fit_inverse_transform
        return tags
