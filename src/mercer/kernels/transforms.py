"""Kernels that change the features of one kernel: normalised, centred, modulated, mapped.

Like those of algebra.py, each of them is positive semidefinite if its kernel is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from mercer.distances import Meaning, dense_rows
from mercer.estimator import estimator
from mercer.kernels.algebra import Unary, have_features
from mercer.kernels.base import NODES, Kernel, Term, root, values
from mercer.samples import Prepared, Samples, is_number

SEEN = 8  # rows that are used to test whether the Gram matrix is the identity
SEEN_WORK = 2e9  # most operations of this test
STRIP = 512  # rows whose means are computed at a time


@estimator
class Normalised(Unary):
    r"""The cosine in the feature space of a kernel κ

    .. math:: k(x, z) = \frac{κ(x, z)}{\sqrt{κ(x, x) \, κ(z, z)}} ,

    which is 0 if κ(x, x) or κ(z, z) is 0.

    Notes
    -----
    If the values of a kernel can be too large for floats, it is normalised from mantissas and
    exponents (its ``scaled_block`` and ``scaled_diag``).

    References
    ----------
    Shawe-Taylor & Cristianini, "Kernel Methods for Pattern Analysis", 2004, section 5.1.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().normalised()([[2.0]], [[3.0]])
    array([[1.]])
    """

    meaning = Meaning("k₀(x, z) / √(k₀(x, x) k₀(z, z)), k₀ = {kernel}", "{kernel}")

    def bind(
        self, X: Samples, y: np.ndarray | None = None, sample_weight: ArrayLike | None = None
    ) -> Kernel:
        bound = super().bind(X, y, sample_weight)
        if hasattr(bound, "scaled_block"):
            _warn_of_identity(bound, X)
        return bound

    def prepare(self, X: Samples, like: Prepared | None = None) -> Prepared:
        if isinstance(X, Prepared):
            return X
        x = self.kernel.prepare(X, None if like is None else like.parts[0])
        if hasattr(self.kernel, "scaled_block"):
            return Prepared((x, *root(self.kernel.scaled_diag(x))))
        return Prepared((x, _scale(self.kernel.diag(x))))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        if hasattr(self.kernel, "scaled_block"):
            return values(self.scaled_block(X, Z), X.dtype)
        K = self.inner_block(X, Z)
        K *= X.parts[1][:, None]
        K *= Z.parts[1]
        return K

    @available_if(lambda node: hasattr(node.kernel, "scaled_block"))
    def scaled_block(self, X: Samples, Z: Samples) -> tuple[np.ndarray, np.ndarray]:
        """The value m 2^e as (m, e), because it may be too small for a float; (n, m) each."""
        (x, *roots), (z, *others) = (side.parts for side in self.sides(X, Z))
        (m, e), (r, h), (s, k) = self.kernel.scaled_block(x, z), roots, others
        return m * r[:, None] * s, e - h[:, None] - k

    @available_if(lambda node: hasattr(node.kernel, "scaled_block"))
    def scaled_diag(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """k(x, x) as (m, e); (n,) each."""
        ones = self.diag(X)
        return ones, np.zeros(len(ones), np.int64)

    def joined_terms(self, terms: list[list[Term]]) -> list[Term]:
        """The terms of a product: each factor is normalised, as k(x, x) is their product."""
        if len(terms[0]) > 1:
            return super().joined_terms(terms)
        factors = terms[0][0].factors.items()
        return [Term(1.0, {p: tuple(map(Normalised, kernels)) for p, kernels in factors})]

    def symbol_parts(self, X: Samples, Z: Samples, coef: np.ndarray) -> list[np.ndarray]:
        scale, other = (side.parts[1] for side in self.sides(X, Z))
        parts = self.kernel.symbol_parts(X, Z, coef * other[:, None])
        return [part * each for part, each in zip(parts, scale)]

    def diag(self, X: Prepared) -> np.ndarray:
        X = self.prepare(X)
        return (X.parts[1] > 0).astype(X.dtype)  # a root is 0 if k(x, x) is 0

    @available_if(have_features)
    def features(self, X: Samples) -> Any:
        """The features, each row divided by its norm; sparse where those of the kernel are."""
        F, scale = self.kernel.features(X), _scale(self.kernel.diag(X))[:, None]
        return sp.csr_array(F.multiply(scale)) if sp.issparse(F) else F * scale


def _scale(d: np.ndarray) -> np.ndarray:
    """1 / √d; 0 where d = 0."""
    return np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0).astype(d.dtype, copy=False)


def _warn_of_identity(kernel: Any, X: Samples) -> None:
    """Warn if a normalised kernel is almost 0 on all pairs of some rows."""
    rows = np.unique(np.linspace(0, X.shape[0] - 1, SEEN).astype(int))
    cost = np.array([kernel.pair_cost(X[i : i + 1]) for i in rows])
    order = np.argsort(cost, kind="stable")  # the cheapest rows, as many as fit into SEEN_WORK
    rows = rows[order[: max(2, int((cost[order] * SEEN**2 < SEEN_WORK).sum()))]]
    S = X[np.sort(rows)]
    K = values(kernel.scaled_block(S, S), np.dtype(float))
    K = K[np.ix_(K.diagonal() > 0, K.diagonal() > 0)]
    others = K[np.triu_indices(len(K), 1)]
    # equal rows tell nothing; nor do rows with k = 0, which are common for sparse kernels
    others = others[(others < 1 - 1e-9) & (others != 0)]
    if len(others) and (np.abs(others) < np.finfo(float).eps).all():
        warnings.warn(
            f"{kernel!r}: of {len(S)} rows no two different rows are similar (all values are at "
            f"most {np.abs(others).max():.1e}). The Gram matrix is numerically the identity, and "
            "nothing can be learnt from it. Use a kernel that gives weight to small similarities: "
            "a decay < 1 or a smaller p, or GapWeighted or Spectrum for strings.",
            stacklevel=4,
        )


@estimator
class Centred(Unary):
    r"""The kernel κ after its features are centred on the training sample

    .. math:: k(x, z) = κ(x, z) - \frac1n \sum_i κ(x, x_i) - \frac1n \sum_i κ(x_i, z)
              + \frac{1}{n^2} \sum_{ij} κ(x_i, x_j) .

    Parameters
    ----------
    sample : samples, optional
        The training sample x_i. None means the sample that ``bind`` is called with.
    mean : float, optional
        The mean of the sample's Gram matrix. None means that ``bind`` computes it.
    sample_weight : array of shape (n,), optional
        The weights of the sample's rows in all means. None means those that ``bind`` is called
        with, if it takes its sample, too; or else equal ones.

    Notes
    -----
    A block of shape (n, m) needs two more blocks, between its rows and the sample. `mercer.gram`
    centres whole Gram matrices with one product.

    References
    ----------
    Schölkopf, Smola & Müller, "Nonlinear component analysis as a kernel eigenvalue problem", Neural
    Computation 10, 1998, appendix A.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> kernel = Centred(Linear())
    >>> X = np.array([[1.0], [3.0]])
    >>> kernel.bind(X).block(X, X)
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    meaning = Meaning("k₀(x, z), centred on the training rows, k₀ = {kernel}", "{kernel}")

    sample: Any = None
    mean: float | None = None
    sample_weight: Any = None

    def validate(self) -> None:
        super().validate()
        if self.mean is not None and not (is_number(self.mean) and np.isfinite(self.mean)):
            raise ValueError(f"mean={self.mean!r}: give a finite number, or None to compute it.")
        if self.mean is not None and self.sample is None:
            raise ValueError(f"mean={self.mean!r} is given without its sample: leave mean out.")

    def bind(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        if self.mean is not None:
            self.validate()
            return self
        bound = super().bind(X, y, sample_weight)
        if self.sample is None:
            rows = bound.copied(sample=X, mean=0.0, sample_weight=sample_weight)
        else:
            rows = bound.copied(sample=bound.kernel.encode(self.sample, like=X), mean=0.0)
        means = rows.prepare(rows.sample).parts[1].astype(np.float64)
        return rows.copied(mean=float(np.average(means, weights=rows.sample_weight)))

    def unbound(self) -> Self:
        """A copy that computes its mean again."""
        bare = super().unbound()
        return bare if bare.mean is None else bare.copied(mean=None)

    def prepare(self, X: Samples, like: Any = None) -> Prepared:
        if isinstance(X, Prepared):
            return X
        if self.mean is None:
            raise ValueError("Centred has no sample yet: bind it to the sample by kernel.bind(X).")
        sample = self.kernel.prepare(self.sample) if like is None else like.common
        if like is None and X is self.sample:
            x = own = sample
        else:  # what a side shares with the other one need not be in the sample: items of sets
            x = self.kernel.prepare(X, None if like is None else like.parts[0])
            known = like is not None and like.parts[0] is sample
            own = x if known else self.kernel.prepare(X, sample)
        strips = [own[s : s + STRIP] for s in range(0, own.shape[0], STRIP)]
        w = np.ones(sample.shape[0]) if self.sample_weight is None else self.sample_weight
        w = np.asarray(w, np.float64) / np.sum(w)
        means = [self.kernel.block(S, sample) @ w for S in strips]
        return Prepared((x, np.concatenate(means).astype(x.dtype)), sample)

    def block(self, X: Any, Z: Any) -> np.ndarray:
        X, Z = self.sides(X, Z)
        K = self.inner_block(X, Z)
        K -= X.parts[1][:, None]
        K -= Z.parts[1]
        K += self.mean
        return K

    def diag(self, X: Samples) -> np.ndarray:
        X = self.prepare(X)
        return self.inner_diag(X) - 2 * X.parts[1] + X.dtype.type(self.mean)


@estimator
class Modulated(Unary):
    r"""A kernel κ times a real function f of both samples

    .. math:: k(x, z) = f(x) \, κ(x, z) \, f(z) .

    Parameters
    ----------
    function : callable
        The function f. It takes encoded samples and returns values of shape (n,).

    Notes
    -----
    It is positive semidefinite for any f: its features are those of the kernel, times f(x).
    See Shawe-Taylor & Cristianini (2004), section 3.4, the source of `Sum`.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Modulated(Linear(), lambda X: X[:, 0])([[2.0]], [[3.0]])
    array([[36.]])
    """

    meaning = Meaning("f(x) f(z) · [{kernel}]", "{kernel}; each row has its own factor")

    function: Callable

    def validate(self) -> None:
        super().validate()
        check_callable("function", self.function)

    def prepare(self, X: Samples, like: Prepared | None = None) -> Prepared:
        if isinstance(X, Prepared):
            return X
        x = self.kernel.prepare(X, None if like is None else like.parts[0])
        return Prepared((x, self._values(X)))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        K = self.inner_block(X, Z)
        K *= X.parts[1][:, None]
        K *= Z.parts[1]
        return K

    def diag(self, X: Samples) -> np.ndarray:
        X = self.prepare(X)
        return X.parts[1] ** 2 * self.inner_diag(X)

    @available_if(have_features)
    def features(self, X: Samples) -> Any:
        """The features, each row times f."""
        return dense_rows(self.kernel.features(X)) * self._values(X)[:, None]

    def _values(self, X: Any) -> np.ndarray:
        """f(x) of all samples, after a check of its shape."""
        f = np.asarray(self.function(X), dtype=X.dtype)
        if f.shape != (X.shape[0],):
            raise ValueError(
                f"function returned shape {f.shape} for {X.shape[0]} samples: it must return "
                f"one number for each, in shape ({X.shape[0]},)."
            )
        return f


@estimator
class Mapped(Unary):
    r"""A kernel κ of transformed samples

    .. math:: k(x, z) = κ(g(x), g(z)) .

    Parameters
    ----------
    transform : callable
        The transform g. It takes encoded samples and returns encoded samples with as many rows.

    Notes
    -----
    The transform is called once for the training samples, and once for new samples.
    See Shawe-Taylor & Cristianini (2004), section 3.4, the source of `Sum`.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Mapped(Linear(), np.sqrt)([[4.0]], [[9.0]])
    array([[6.]])
    """

    meaning = Meaning("k₀(g(x), g(z)), k₀ = {kernel}", "{kernel}; rows are transformed first")

    transform: Callable

    def validate(self) -> None:
        super().validate()
        check_callable("transform", self.transform)

    def bind(self, X: Samples, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        return super().bind(self.transform(X), y, sample_weight)

    def pair_cost(self, X: Samples) -> float:
        return super().pair_cost(self.transform(X))

    def prepare(self, X: Samples, like: Prepared | None = None) -> Prepared:
        return X if isinstance(X, Prepared) else super().prepare(self.transform(X), like)

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        return self.inner_block(X, Z)

    def diag(self, X: Samples) -> np.ndarray:
        return self.inner_diag(X)

    @available_if(have_features)
    def features(self, X: Samples) -> np.ndarray:
        """The features of the transformed samples, (n, p)."""
        return self.kernel.features(self.transform(X))


def check_callable(name: str, function: object) -> None:
    """Raise a TypeError if a parameter is not a function."""
    if not callable(function):
        raise TypeError(f"{name}={function!r}: give a function of encoded samples.")


NODES["Normalised"] = Normalised
