"""The Nyström map: features of samples of any kind, by any kernel, from its values at centres."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state

from mercer.estimator import estimator
from mercer.gram import FactoredGram, GramOperator, Rows, pivoted_cholesky
from mercer.learners.base import (
    KernelLearner,
    check_count,
    check_not_negative,
    finite_fit,
    finite_values,
)
from mercer.samples import Samples, SamplesLike
from mercer.solvers.clusters import careful_seeds
from mercer.streams import as_chunks, draw_rows
from mercer.threads import blas_limit, ordered_map

# Features of samples of any kind by a kernel's values at some of them, the centres.


SINGULAR = 1e-10  # part of the largest eigenvalue, below which one is rounding
DIGITS = 8  # after which values of a kernel count as equal


def different_centres(K: np.ndarray) -> np.ndarray:
    """Row numbers of a kernel matrix (m, m) without repeated rows, in their order."""
    unit = np.abs(K).max(initial=0) or 1.0
    return np.sort(np.unique(np.round(K / unit, DIGITS), axis=0, return_index=True)[1])


def principal_axes(K: np.ndarray, least: float = SINGULAR) -> np.ndarray:
    """P (m, r) with P Pᵀ = K⁺: rows k(x, Z) P are features of x.

    An eigenvalue below ``least``, as a part of the largest, counts as 0. If all are 0, there is one
    axis of zeros.

    The axes are those of `KernelPCA` without its centre, the longest first; signs are chosen so
    that neither they nor the features depend on the order of the centres.

    Examples
    --------
    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> P = principal_axes(K)
    >>> np.round(K @ P @ P.T @ K, 6)
    array([[2., 1.],
           [1., 2.]])
    """
    values, U = np.linalg.eigh((K + K.T) / 2)
    kept = np.flatnonzero(values > least * max(float(values[-1]), 0.0))[::-1]
    if not len(kept):
        return np.zeros((len(K), 1))
    values, U = values[kept], U[:, kept]
    signs = np.sign(np.sum(U**3, axis=0))
    return U * np.where(signs == 0, 1.0, signs) / np.sqrt(values)


# Which rows of a sample become the centres of a low-rank approximation: four ways to draw them.
#
# All of them look at some random rows, ten for each centre: more rows would hardly change the
# centres (Epperly, Tropp & Webber 2024), and the work no longer grows with n.


#: chooses rows of K, at most so many
Choice = Callable[[GramOperator, int, np.random.RandomState], np.ndarray]

LOOKED_AT = 10  # rows for each centre


def uniform(K: GramOperator, count: int, random: np.random.RandomState) -> np.ndarray:
    """Rows that are all as likely."""
    return random.permutation(K.shape[0])[:count]


def spread(K: GramOperator, count: int, random: np.random.RandomState) -> np.ndarray:
    """The first centres of k-means, each far from those before (k-means++)."""
    diag = np.asarray(K.diag(), np.float64)

    def products(rows: np.ndarray) -> np.ndarray:
        return np.asarray(K.rows(rows), np.float64)

    return careful_seeds(diag, products, np.ones(len(diag)), count, random)[0]


def pivoted(K: GramOperator, count: int, random: np.random.RandomState) -> np.ndarray:
    """Rows in proportion to what those before do not explain of them."""
    return pivoted_cholesky(K, count, random_state=random).centres


def by_leverage(K: GramOperator, count: int, random: np.random.RandomState) -> np.ndarray:
    """Rows in proportion to their leverage in ridge regression, with a penalty that suits.

    Musco & Musco, "Recursive sampling for the Nyström method", NIPS 2017, definition 1 and eq. 4:
    λ is the share of the trace beyond the first c directions, by c; here c is half of the centres,
    and a factor from pivots stands for K.
    """
    low = pivoted_cholesky(K, count, random_state=random)
    mu, Q = scipy.linalg.eigh(low.gathered(), check_finite=False)
    first = max(1, count // 2)
    rest = np.maximum(K.diag() - low.diag(), 0).astype(np.float64)
    penalty = (max(float(mu[:-first].sum()), 0.0) + float(rest.sum())) / first
    penalty = max(penalty, float(np.finfo(low.dtype).eps) * float(mu[-1]), np.finfo(float).tiny)
    scale = Q / np.sqrt(np.maximum(mu, 0) + penalty)
    explained = np.concatenate([np.square(F @ scale).sum(axis=1) for _, F in low.strips()])
    leverage = np.minimum(explained + rest / penalty, 1)
    count = min(count, int((leverage > 0).sum()))
    if not count:  # K = 0
        return np.zeros(1, np.intp)
    return random.choice(len(leverage), count, replace=False, p=leverage / leverage.sum())


CHOICES: dict[str, Choice] = {
    "pivoted": pivoted, "uniform": uniform, "k-means++": spread, "leverage": by_leverage,
}  # fmt: skip


MATRICES = 6  # of the size of K between the centres, which a fit holds
STRIP = 2**19  # numbers that one thread computes at a time


@estimator
class Nystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelLearner):
    r"""Features whose inner products approximate a kernel:

    .. math:: φ(x) = k(x, S) P

    with centres S and :math:`P P^\top = k(S, S)^{+}`.

    Then :math:`φ(x)^\top φ(z) = k(x, S)\, k(S, S)^{+} k(S, z)`, which is k(x, z) if one of the two
    is a centre. A linear method on these features is a kernel method. Samples may be of any kind.
    Parameters of scikit-learn's Nystroem have the same meaning here.

    Parameters
    ----------
    kernel : kernel object, name, "precomputed" or callable, default="rbf"
        A kernel object compares samples of any kind. A callable takes two rows and returns a
        number.
    n_components : int >= 1, default=100
        The most centres; with at least as many as samples, all samples are centres.
    centres : str or array of int, default="pivoted"
        How centres are chosen among 10 ``n_components`` random rows. "pivoted" takes a row with a
        probability in proportion to what the centres before it do not explain of k(x, x), which
        suits outliers; "leverage" in proportion to its leverage in ridge regression; "k-means++"
        in proportion to its squared distance to the nearest centre; "uniform" takes any rows, and
        costs least. An array holds the numbers of the rows that are centres: then
        ``n_components`` is not read.
    random_state : int, RandomState or None
        Seed for choosing the centres.

    Attributes
    ----------
    X_fit_ : encoded samples (m)
        The centres, without copies.
    component_indices_ : ndarray of shape (m,)
        Their numbers among the training samples.
    axes_ : ndarray of shape (m, r)
        P: the principal axes of the centres, the longest first. There are fewer than centres if
        some of these are combinations of others in feature space, up to rounding.

    Notes
    -----
    A fit computes at most 10 m² values of the kernel and O(m³) operations, however many samples
    there are; ``transform`` n m values and n m² operations, on all threads, and it holds nothing
    but its result. To use centres that are not among the samples, fit to the centres:
    ``Nystroem(len(Z)).fit(Z)``.

    `trace_error` measures how much of k(x, x) the features lack, and `eigenfunctions` are those of
    Mercer's theorem.

    References
    ----------
    Williams & Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2000.
    Epperly, Tropp & Webber, "Embrace rejection: kernel matrix approximation by accelerated
    randomly pivoted Cholesky", 2024.

    Examples
    --------
    >>> from mercer import Nystroem
    >>> from mercer.kernels import Spectrum
    >>> words = ["abba", "baab", "cddc", "abba"]
    >>> features = Nystroem(Spectrum(2), random_state=0).fit(words)
    >>> phi = features.transform(words)
    >>> phi.shape, (phi @ phi.T).round().tolist() == Spectrum(2)(words).tolist()
    ((4, 3), True)
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    n_components: int = 100
    centres: str | ArrayLike = "pivoted"

    _pairwise_callable = True

    @finite_fit
    def fit(self, X: Any, y: object = None) -> Self:
        """Choose centres among samples X (n); y is not used."""
        check_count("n_components", self.n_components, optional=False)
        X = self.make_training(X, targets=False).X
        if self.kernel_.positive_definite is False:
            raise ValueError(
                f"kernel={self.kernel_!r} is not positive semidefinite and has no features: give "
                "another kernel, or KernelPCA, which leaves out negative eigenvalues."
            )
        with blas_limit(self.n_components):
            rows = self._rows(X, check_random_state(self.random_state))
            kept, axes = self._axes(X[rows])
        self.axes_ = axes
        self.component_indices_ = rows[kept]
        self.keep_support(X[self.component_indices_])
        return self

    @finite_fit
    def fit_chunks(self, chunks: Any) -> Self:
        """Choose centres among 10 ``n_components`` rows that are drawn from all of a stream.

        ``component_indices_`` are their numbers in the stream. ``chunks.through(self)`` is the
        stream of the features.

        Parameters
        ----------
        chunks : Chunks, or what it takes
            Its targets are not used.
        """
        check_count("n_components", self.n_components, optional=False)
        if not isinstance(self.centres, str):
            raise ValueError(
                f"centres={self.centres!r}: a fit in chunks draws its centres: give one of "
                f"{list(CHOICES)}."
            )
        random = check_random_state(self.random_state)
        drawn = draw_rows(as_chunks(chunks), LOOKED_AT * self.n_components, random)
        self.fit(drawn.X)
        self.component_indices_ = drawn.rows[self.component_indices_]
        return self

    @finite_values
    def transform(self, X: SamplesLike) -> np.ndarray:
        """Features of samples X (q), of shape (q, r)."""
        return np.concatenate([F for _, F in self._factored(self.encode_new(X)).strips()])

    @finite_values
    def trace_error(self, X: SamplesLike) -> float:
        r"""What the features lack: :math:`1 - \sum_i \|φ(x_i)\|^2 / \sum_i k(x_i, x_i)` over
        samples X.

        It is between 0 and 1, and 0 if the features have all inner products of X right. For
        training samples it is :math:`\mathrm{tr}(K - \hat K) / \mathrm{tr}\,K`, which bounds the
        error of every entry of K, as a part of its trace.

        Examples
        --------
        >>> from mercer import Nystroem
        >>> X = np.linspace(0, 1, 50)[:, None]
        >>> Nystroem(n_components=6, random_state=0).fit(X).trace_error(X) < 1e-5
        True
        """
        encoded = self.encode_new(X)
        if self.kernel_.reads.pairwise:
            raise ValueError(
                'kernel="precomputed" does not say k(x, x) of a new sample, which its error needs: '
                "give a kernel object and the samples themselves."
            )
        whole = float(np.sum(self.kernel_.diag(encoded), dtype=np.float64))
        explained = float(self._factored(encoded).diag().sum(dtype=np.float64))
        return max(0.0, 1 - explained / whole) if whole > 0 else 0.0

    def eigenfunctions(self, X: SamplesLike) -> Eigenfunctions:
        r"""Eigenfunctions of the kernel over the distribution that samples X (n) are from.

        Returns
        -------
        Eigenfunctions
            Values λ, and functions e that are orthonormal over X with
            :math:`k(x, z) \approx \sum_k λ_k e_k(x) e_k(z)`, up to `trace_error`.
        """
        encoded = self.encode_new(X)
        n = encoded.shape[0]
        # Φᵀ Φ / n = Q diag(λ) Qᵀ: the functions φ(x)ᵀ q / √λ have the mean squares 1
        values, Q = scipy.linalg.eigh(self._factored(encoded).gathered() / n, check_finite=False)
        rounding = len(values) * float(np.finfo(self.axes_.dtype).eps)
        kept = np.flatnonzero(values > rounding * values[-1])[::-1]
        values = values[kept]
        return Eigenfunctions(self, values, Q[:, kept] / np.sqrt(values), n)

    def _rows(self, X: Samples, random: np.random.RandomState) -> np.ndarray:
        """Rows of X that shall be centres."""
        n, given = X.shape[0], self.centres
        if not isinstance(given, str):
            rows = np.asarray(given)
            if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows):
                raise ValueError(
                    f"centres={given!r}: give the numbers of rows, or one of {list(CHOICES)}."
                )
            if rows.min() < 0 or rows.max() >= n:
                raise ValueError(
                    f"centres has numbers from {rows.min()} to {rows.max()}: X has rows 0 to "
                    f"{n - 1}. To use centres that are not in X, fit to the centres."
                )
            return rows
        if given not in CHOICES:
            raise ValueError(
                f"centres={given!r}: give the numbers of rows, or one of {list(CHOICES)}."
            )
        if self.n_components >= n:
            return np.arange(n)
        some = np.sort(random.permutation(n)[: LOOKED_AT * self.n_components])
        return some[CHOICES[given](self.gram_between(X[some]), self.n_components, random)]

    def _axes(self, S: Samples) -> tuple[np.ndarray, np.ndarray]:
        """Which of the centres S are no copies, and P of these."""
        K = self.gram_between(S)
        if not K.fits(MATRICES):
            K.refuse(MATRICES, f"{S.shape[0]:,} centres", ", or a smaller n_components")
        values = np.asarray(K.dense(), np.float64)
        kept = different_centres(values)
        rounding = max(SINGULAR, float(np.finfo(K.dtype).eps))
        axes = principal_axes(values[np.ix_(kept, kept)], rounding)
        return kept, axes.astype(K.dtype, copy=False)

    def _factored(self, encoded: Samples) -> FactoredGram:
        """K̂ between encoded samples, whose factor has their features as rows."""
        return NystroemGram(self.gram_with_support(encoded), self.axes_)

    @property
    def _n_features_out(self) -> int:
        return self.axes_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class NystroemGram(FactoredGram):
    """K̂ = F Fᵀ with F = K P computed strip by strip, for K (n, m) between samples and centres."""

    nature = "low rank"

    def __init__(self, K: GramOperator, axes: np.ndarray):
        self.K, self.axes = K, axes
        self.shape, self.rank = (K.shape[0], K.shape[0]), axes.shape[1]
        self.dtype, self.place = np.result_type(K.dtype, axes.dtype), K.place

    def factor(self, i: Rows) -> np.ndarray:
        return self.K.block(i, slice(None)) @ self.axes

    def strips(self) -> Iterator[tuple[slice, np.ndarray]]:
        step = max(1, STRIP // len(self.axes))
        rows = [slice(s, min(s + step, self.shape[0])) for s in range(0, self.shape[0], step)]
        yield from zip(rows, ordered_map(self.factor, rows, self.K.n_jobs), strict=True)

    def diag(self) -> np.ndarray:
        return np.concatenate([np.einsum("ij,ij->i", F, F) for _, F in self.strips()])


@dataclass(frozen=True)
class Eigenfunctions:
    r"""Eigenfunctions of a kernel, :math:`\mathrm{E}_x[k(z, x)\, e_k(x)] = λ_k e_k(z)`, as
    `Nystroem.eigenfunctions` finds them. A call evaluates them at new samples.

    Attributes
    ----------
    features : Nystroem
    values : ndarray of shape (r,)
        λ in decreasing order, all > 0. Their sum is the mean of k(x, x), less what features lack.
    coef : ndarray of shape (m, r)
        Their coefficients on the features.
    n_samples : int
        How many samples stood for the distribution.

    References
    ----------
    Rasmussen & Williams, "Gaussian Processes for Machine Learning", 2006, chapter 4.3.

    Examples
    --------
    >>> from mercer import Nystroem
    >>> X = np.random.default_rng(0).normal(size=(200, 1))
    >>> found = Nystroem(gamma=0.5, random_state=0).fit(X).eigenfunctions(X)
    >>> (found.values[:2] / found.values[1:3]).round().tolist()  # a geometric sequence in theory
    [3.0, 3.0]
    >>> e = found(X)[:, :3]
    >>> (e.T @ e / 200).round(6).tolist() == np.eye(3).tolist()
    True
    """

    features: Nystroem
    values: np.ndarray
    coef: np.ndarray
    n_samples: int

    def __call__(self, X: SamplesLike) -> np.ndarray:
        """Values of the functions at samples X (q), of shape (q, r)."""
        phi = self.features.transform(X)
        return phi @ self.coef.astype(phi.dtype, copy=False)

    def effective_dimension(self, penalty: float) -> float:
        r"""How many directions ridge regression with :math:`λ` = ``penalty`` uses,
        :math:`\sum_k n λ_k / (n λ_k + λ)`."""
        check_not_negative("penalty", penalty)
        values = self.n_samples * self.values
        return float((values / (values + penalty)).sum())
