"""Statistics of samples in the feature space of a kernel, from tiles of Gram matrices.

Alignment of a kernel with another or with a target, the tests of two samples (MMD) and of
independence (HSIC) with permutations, and the effective dimension. Distances in feature space are
`mercer.distances.KernelDistance`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import eigvalsh
from sklearn.utils import check_random_state

from mercer.estimator import Seed
from mercer.gram import CentredGram, DenseGram, FeatureGram, GramOperator, Place, low_rank_gram
from mercer.kernels import Kernel
from mercer.learners.base import bound_gram, check_count, check_positive
from mercer.streams import count_rows

if TYPE_CHECKING:
    from mercer.samples import SamplesLike


class PermutationTest(NamedTuple):
    """The result of a test with permutations.

    Attributes
    ----------
    statistic : float
    pvalue : float
        The share of permutations, with the one that was observed, whose statistic is as large.
    permuted : ndarray of shape (permutations,)
        Their statistics.
    """

    statistic: float
    pvalue: float
    permuted: np.ndarray


def alignment(
    kernel: Kernel, other: Any, X: SamplesLike, *, centred: bool = True,
    memory: int | float | str | None = None, n_jobs: int | None = None,
) -> float:  # fmt: skip
    r"""The cosine of two Gram matrices

    .. math:: \langle K, L \rangle_F / (\|K\|_F \|L\|_F) .

    Parameters
    ----------
    kernel : Kernel or name
    other : Kernel, or array-like of shape (n,)
        A second kernel on the same samples; or a target y, with L = y yᵀ for numbers and L_ij = 1
        for samples of the same class, where y holds strings.
    X : raw samples of the kernels' kind
    centred : bool, default=True
        Centre both in feature space first (Cortes, Mohri & Rostamizadeh 2012); without, Cristianini
        et al. 2001.
    memory, n_jobs
        The same as for `mercer.gram.Place`.

    Notes
    -----
    Both matrices are read once, tile by tile.

    References
    ----------
    Cortes, Mohri & Rostamizadeh, "Algorithms for learning kernels based on centered alignment",
    JMLR 13, 2012.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> round(alignment(Linear(), [0.0, 1.0, 2.0], [[0.0], [1.0], [2.0]]), 6)
    1.0
    """
    place = Place(memory, n_jobs)
    K = bound_gram(kernel, X, place)
    if isinstance(other, (Kernel, str)):
        L = bound_gram(other, X, place)
    else:
        L = _target_gram(np.asarray(other), K.shape[0])
    if centred:
        K, L = CentredGram(K), CentredGram(L)
    sums = np.zeros(3)
    for i, j, k in K.tiles():
        a, b = np.asarray(k, np.float64), np.asarray(L.block(i, j), np.float64)
        twice = 1 if i == j or not K.symmetric else 2
        sums += twice * np.array([(a * b).sum(), (a * a).sum(), (b * b).sum()])
    if not sums[1:].all():
        raise ValueError("One of the matrices is 0 after centring: all its samples are equal.")
    return float(sums[0] / np.sqrt(sums[1] * sums[2]))


def _target_gram(y: np.ndarray, n: int) -> GramOperator:
    """The Gram matrix of targets: their products, or whether classes are equal."""
    if y.shape != (n,):
        raise ValueError(
            f"other has shape {y.shape}: give a kernel, or one target for each sample."
        )
    if y.dtype.kind in "fiub":
        return FeatureGram(y.astype(np.float64)[:, None])
    return FeatureGram((y[:, None] == np.unique(y)).astype(np.float64))


def mmd_test(
    kernel: Kernel, X: SamplesLike, Z: SamplesLike, *, permutations: int = 1000,
    memory: int | float | str | None = None, n_jobs: int | None = None, random_state: Seed = None,
) -> PermutationTest:  # fmt: skip
    r"""Test whether two samples come from one distribution, by the maximum mean discrepancy.

    The statistic is the unbiased estimate of the squared distance of their means in feature space

    .. math:: \overline{k(x, x')} + \overline{k(z, z')} - 2 \overline{k(x, z)} .

    Parameters
    ----------
    kernel : Kernel or name
        Characteristic, such as RBF, to see every difference of distributions.
    X, Z : raw samples of the kernel's kind, at least two each
    permutations : int >= 1, default=1000
    memory, n_jobs
        The same as for `mercer.gram.Place`.
    random_state : int, RandomState or None

    Notes
    -----
    One product of K with as many columns as there are permutations, by tiles.

    References
    ----------
    Gretton et al., "A kernel two-sample test", JMLR 13, 2012.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> X, Z = np.arange(20.0)[:, None], np.arange(20.0)[:, None] + 40
    >>> mmd_test(RBF(0.01), X, Z, random_state=0).pvalue < 0.01
    True
    """
    check_count("permutations", permutations, optional=False)
    K = bound_gram(kernel, X, Place(memory, n_jobs), Z)
    both, n = K.shape[0], count_rows(X)
    m = both - n
    if min(n, m) < 2:
        raise ValueError(f"X has {n} samples and Z has {m}: give at least two each.")
    random = check_random_state(random_state)
    members = np.zeros((both, permutations + 1))
    members[:n, 0] = 1
    for p in range(1, permutations + 1):
        members[random.permutation(both)[:n], p] = 1
    first = np.column_stack([np.ones(both), members]).astype(K.dtype)
    products = np.asarray(K @ first, np.float64)
    sums, total = products[:, 0], products[:, 0].sum()
    diag = np.asarray(K.diag(), np.float64)
    xx = np.einsum("ip,ip->p", members, products[:, 1:])
    x_all, x_diag = members.T @ sums, members.T @ diag
    xz, zz = x_all - xx, total - 2 * x_all + xx
    values = (xx - x_diag) / (n * (n - 1)) + (zz - (diag.sum() - x_diag)) / (m * (m - 1))
    return _judged(values - 2 * xz / (n * m))


def hsic_test(
    kernel: Kernel, other: Kernel | str, X: SamplesLike, Y: SamplesLike, *, permutations: int = 200,
    memory: int | float | str | None = None, n_jobs: int | None = None, random_state: Seed = None,
) -> PermutationTest:  # fmt: skip
    r"""Test whether two views of the same samples are independent, by the HSIC criterion.

    The statistic, of Hilbert and Schmidt, is

    .. math:: \mathrm{tr}(\tilde K \tilde L) / n^2

    of the centred Gram matrices.

    Parameters
    ----------
    kernel, other : Kernel or name
        Kernels for X and for Y, which may be of different kinds.
    X, Y : raw samples, as many of each
    permutations : int >= 1, default=200
    memory, n_jobs
        The same as for `mercer.gram.Place`; the matrix of Y is held in memory.
    random_state : int, RandomState or None

    Notes
    -----
    One pass over the tiles of K; each is multiplied by a permuted tile of L for each permutation,
    n² operations each.

    References
    ----------
    Gretton et al., "A kernel statistical test of independence", NIPS 2007.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> hsic_test(RBF(4.0), RBF(4.0), x, x**2, random_state=0).pvalue < 0.01
    True
    """
    check_count("permutations", permutations, optional=False)
    place = Place(memory, n_jobs)
    K, L = bound_gram(kernel, X, place), bound_gram(other, Y, place)
    n = K.shape[0]
    if L.shape[0] != n:
        raise ValueError(f"X has {n} samples and Y has {L.shape[0]}: give as many of each.")
    if n < 2:
        raise ValueError(f"X has {n} samples, of which none can be permuted: give at least two.")
    needed = 2 * 8 * n * n
    if not L.place.holds(needed):
        L.place.refuse(needed, f"the matrix of {n:,} samples", ", or fewer samples")
    centred = np.asarray(CentredGram(DenseGram(L.dense(), symmetric=True)).dense(), np.float64)
    random = check_random_state(random_state)
    orders = [np.arange(n), *(random.permutation(n) for _ in range(permutations))]
    values = np.zeros(len(orders))
    for i, j, k in CentredGram(K).tiles():
        k = np.asarray(k, np.float64) * (1 if i == j or not K.symmetric else 2)
        for p, order in enumerate(orders):
            values[p] += np.einsum("ij,ij->", k, centred[np.ix_(order[i], order[j])])
    return _judged(values / n**2)


def _judged(values: np.ndarray) -> PermutationTest:
    """The test whose first value was observed."""
    size = np.abs(values).max()
    as_large = (values[1:] >= values[0] - 1e-12 * size).sum()
    return PermutationTest(float(values[0]), float((1 + as_large) / len(values)), values[1:])


def effective_dimension(
    kernel: Kernel, X: SamplesLike, penalty: float, *, rank: int | None = None,
    memory: int | float | str | None = None, n_jobs: int | None = None, random_state: Seed = None,
) -> float:  # fmt: skip
    r"""How many directions of feature space ridge regression uses

    .. math:: \sum_i λ_i / (λ_i + λ) .

    Parameters
    ----------
    kernel : Kernel or name
    X : raw samples of the kernel's kind
    penalty : float > 0
        λ, as ``alpha`` of `KernelRidge`.
    rank : int, optional
        Number of columns of a factor; None means all eigenvalues of K, which is kept in memory.
    memory, n_jobs, random_state
        The same as for `mercer.gram.Place`.

    References
    ----------
    Zhang, "Learning bounds for kernel regression using effective data dimensionality", Neural
    Computation 17, 2005.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> round(effective_dimension(Linear(), np.eye(3), 1.0), 6)
    1.5
    """
    check_positive("penalty", penalty)
    check_count("rank", rank)
    K = bound_gram(kernel, X, Place(memory, n_jobs))
    n = K.shape[0]
    if rank is not None:
        low = low_rank_gram(K, rank, random_state=random_state)
        values = eigvalsh(low.gathered())
    else:
        needed = 2 * 8 * n * n
        if not K.place.holds(needed):
            K.place.refuse(needed, f"the eigenvalues of {n:,} samples", ", or rank=")
        whole = "dense" in K.cheap
        values = eigvalsh(np.asarray(K.dense(), np.float64)) if whole else K.eigenpairs()[0]
    rounding = n * float(np.finfo(K.dtype).eps) * float(values.max(initial=0))
    values = np.where(values > rounding, values, 0.0)
    return float((values / (values + penalty)).sum())
