"""Kernels on molecules: by the fragments that they share, and by what they measure.

Samples are SMILES, InChI or objects of RDKit, which the extra ``mercer[chem]`` installs. A salt is
its largest part. Fragments are counted, and never folded into fewer columns.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from mercer.distances import INDEX, Meaning, ReadsCounts
from mercer.estimator import documented
from mercer.kernels.base import Kernel
from mercer.kernels.radial import RBF
from mercer.kernels.sets import FORMULAS
from mercer.samples import (
    Counts,
    Fingerprint,
    Molecules,
    Prepared,
    Samples,
    check_count,
    check_flag,
    check_positive,
    descriptor_names,
)

KNOTS = 256  # values of a descriptor whose ranks are kept; others lie between them


class CountedFragments(ReadsCounts, Kernel):
    """Abstract: Tanimoto's coefficient of counted fragments. Define ``fingerprint`` and ``said``,
    what the kernel is in words.

    Parameters
    ----------
    formula : {"minmax", "dot"}, default="minmax"
        Which formula of `Tanimoto` is used.
    stereo : bool, default=False
        Whether mirror images differ.
    """

    kind = "molecules"
    said: str

    def __init__(self, formula: str = "minmax", stereo: bool = False):
        self.formula = formula
        self.stereo = stereo

    def validate(self) -> None:
        super().validate()
        check_flag("stereo", self.stereo)

    @property
    def meaning(self) -> Meaning:  # type: ignore[override]
        return Meaning(FORMULAS[self.formula], self.said)

    @property
    @abstractmethod
    def fingerprint(self) -> Fingerprint:
        """Which fragments are counted."""

    def counts(self, X: Molecules) -> Counts:
        return X.counts(self.fingerprint)

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        return self.compared(X, Z, INDEX)

    def diag(self, X: Samples) -> np.ndarray:
        return np.ones(X.shape[0], X.dtype)


def check_radius(radius: int) -> None:
    """Raises if it is no number of bonds that a neighbourhood may have."""
    check_count("radius", radius, 0, optional=False)
    if radius > 10:
        raise ValueError(f"radius={radius!r}: give a whole number from 0 to 10.")


@documented
class Morgan(CountedFragments):
    r"""Tanimoto kernel of neighbourhoods in molecules (ECFP, Morgan's fingerprint)

    .. math:: k(x, z) = \sum_j \min(n_j(x), n_j(z)) / \sum_j \max(n_j(x), n_j(z)) .

    :math:`n_j` counts the atoms whose neighbourhood of 0, 1 ... ``radius`` bonds is j.

    Parameters
    ----------
    radius : int from 0 to 10, default=2
        2 is called ECFP4, and 3 ECFP6.
    formula : {"minmax", "dot"}, default="minmax"
        Which formula of `Tanimoto` is used. With "dot", frequent fragments have more weight, which
        is better for small tables of small molecules.
    roles : bool, default=False
        Whether atoms are told apart by their roles (donor, acceptor, aromatic, halogen, acid, base)
        instead of their elements: FCFP.

    Raises
    ------
    ImportError
        RDKit is not installed: ``pip install "mercer[chem]"``.
    ValueError
        A text is no molecule; the message names all such rows, each with the reason.

    See Also
    --------
    AtomPairs, Torsions : Other fragments.
    Tanimoto : Of counts of your own.
    mercer.distances.Tanimoto : The distance, with ``fingerprint="morgan"``.

    Notes
    -----
    It is positive semidefinite, and 1 for equal molecules. Values are those of RDKit for sparse
    fingerprints with counts. On one core it compares about 300 million pairs of molecules of 25
    atoms in a second; RDKit counts the fragments of 15,000 molecules in this time.

    References
    ----------
    Rogers & Hahn, "Extended-connectivity fingerprints", J. Chem. Inf. Model. 50, 2010.

    Examples
    --------
    >>> ethanol, propanol, benzene = "CCO", "CCCO", "c1ccccc1"
    >>> Morgan()([ethanol, propanol, benzene]).round(3)
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0. ],
           [0. , 0. , 1. ]])
    """

    said = "the share of neighbourhoods of up to {radius} bonds that two molecules share"

    def __init__(
        self, radius: int = 2, formula: str = "minmax", roles: bool = False, stereo: bool = False
    ):
        super().__init__(formula, stereo)
        self.radius = radius
        self.roles = roles

    def validate(self) -> None:
        super().validate()
        check_radius(self.radius)
        check_flag("roles", self.roles)

    @property
    def fingerprint(self) -> Fingerprint:
        name = "functional" if self.roles else "morgan"
        return Fingerprint(name, int(self.radius), bool(self.stereo))


class AtomAssignment(ReadsCounts, Kernel):
    r"""Weisfeiler-Lehman optimal assignment kernel of molecules

    .. math:: k(x, z) = \sum_{t=0}^{h} \sum_c \min(n_c^t(x), n_c^t(z)) .

    :math:`n_c^t` counts the atoms whose neighbourhood of t bonds is c: the elements in it, whether
    they are aromatic, and the kinds of bonds.

    It is the largest sum of similarities when the atoms of two molecules are matched one to one,
    where two atoms are as similar as the distances up to which they look the same.

    Parameters
    ----------
    radius : int from 0 to 10, default=2
        h, in bonds.

    See Also
    --------
    Morgan : Tells atoms apart by their hydrogens, charges and rings too, and counts a neighbourhood
        with the same bonds once.
    WLOptimalAssignment : Of graphs of your own.

    Notes
    -----
    It is positive semidefinite. ``AtomAssignment().normalised()`` is 1 for equal molecules. On
    random splits of small molecules its mean with `Descriptors` is often the best of all kernels;
    for other scaffolds it is one of several. An atom without bonds has no neighbourhood beyond 0.
    It costs as much as `Morgan`.

    References
    ----------
    Kriege, Giscard & Wilson, "On valid optimal assignment kernels and applications to graph
    classification", NIPS 2016.

    Examples
    --------
    >>> AtomAssignment(1)(["CCO", "CCCO"])
    array([[6., 6.],
           [6., 8.]])
    """

    kind = "molecules"
    formula = "minmax"
    meaning = Meaning(
        "Σ_t Σ_c min(n_c(x), n_c(z)), t from 0 to {radius}",
        "how well the atoms of two molecules can be matched, by neighbourhoods of up to {radius} "
        "bonds",
    )

    def __init__(self, radius: int = 2):
        self.radius = radius

    def validate(self) -> None:
        check_radius(self.radius)

    def counts(self, X: Molecules) -> Counts:
        return X.counts(Fingerprint("colours", int(self.radius)))

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        return self.shared(X, Z)

    def diag(self, X: Samples) -> np.ndarray:
        return self.sizes(X)


@documented
class AtomPairs(CountedFragments):
    r"""Tanimoto kernel of pairs of atoms

    .. math:: k(x, z) = \frac{\sum_j \min(n_j(x), n_j(z))}{\sum_j \max(n_j(x), n_j(z))} ,

    where :math:`n_j` counts the pairs of kind j: the elements of both atoms, their neighbours and π
    electrons, and the number of bonds between them.

    See Also
    --------
    Morgan : Neighbourhoods of atoms, which says what samples look like.

    Notes
    -----
    It is positive semidefinite. It tells the shape of a whole molecule, which neighbourhoods of few
    bonds do not. A molecule of n atoms has n (n - 1) / 2 pairs.

    References
    ----------
    Carhart, Smith & Venkataraghavan, "Atom pairs as molecular features in structure-activity
    studies", J. Chem. Inf. Comput. Sci. 25, 1985.

    Examples
    --------
    >>> AtomPairs()(["CCO", "CCCO"]).round(3)
    array([[1.   , 0.286],
           [0.286, 1.   ]])
    """

    said = "the share of pairs of atoms, with their distance, that two molecules share"

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint("pairs", 0, bool(self.stereo))


@documented
class Torsions(CountedFragments):
    r"""Tanimoto kernel of four atoms in a row (topological torsions)

    .. math:: k(x, z) = \frac{\sum_j \min(n_j(x), n_j(z))}{\sum_j \max(n_j(x), n_j(z))} ,

    where :math:`n_j` counts the rows of kind j: the element of each of the four atoms, its
    neighbours and its π electrons.

    See Also
    --------
    Morgan : Neighbourhoods of atoms, which says what samples look like.

    Notes
    -----
    It is positive semidefinite. Molecules without four atoms in a row have no torsions: two of them
    have k = 1.

    References
    ----------
    Nilakantan, Bauman, Dixon & Venkataraghavan, "Topological torsion: a new molecular descriptor",
    J. Chem. Inf. Comput. Sci. 27, 1987.

    Examples
    --------
    >>> Torsions()(["CCCCO", "CCCCCO"]).round(3)
    array([[1.   , 0.667],
           [0.667, 1.   ]])
    """

    said = "the share of rows of four atoms that two molecules share"

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint("torsions", 0, bool(self.stereo))


class Descriptors(Kernel):
    r"""Gaussian kernel of the ranks of 79 descriptors of molecules

    .. math:: k(x, z) = \exp(-\gamma \sum_j (r_j(x) - r_j(z))^2) .

    The descriptors are those of RDKit that take little time: weights, counts of atoms, bonds and
    rings, logP and refractivity, polar surface, topology, and surface by charge, solubility and
    polarisability. :math:`r_j(x)` is the share of the training molecules that have less of
    descriptor j, where equal ones count half.

    Parameters
    ----------
    gamma : float > 0 or "scale", default="scale"
        "scale" is 12 / 79: one over the variance of uniform ranks, and over their number.
    quantiles : ndarray of shape (2, 79, m), optional
        Values of each descriptor, ascending, and their ranks. None learns them from the training
        molecules.

    Raises
    ------
    ImportError
        RDKit is not installed: ``pip install "mercer[chem]"``.

    See Also
    --------
    Morgan : By fragments. The mean of both is often better than each.

    Notes
    -----
    It is positive semidefinite. A descriptor that a molecule does not have counts as the median.
    RDKit takes about 1 ms for the descriptors of a molecule, once for each in a process.

    Examples
    --------
    >>> X = ["CCO", "CCCO", "c1ccccc1", "CC(=O)O"]
    >>> Descriptors()(X)[0].round(2)
    array([1.  , 0.52, 0.13, 0.5 ])
    """

    kind = "molecules"
    meaning = Meaning(
        "exp(−γ Σⱼ (rⱼ(x) − rⱼ(z))²)",
        "how alike the ranks of 79 descriptors of two molecules are",
    )

    free = ("gamma",)

    def __init__(self, gamma: float | str = "scale", quantiles: np.ndarray | None = None):
        self.gamma = gamma
        self.quantiles = quantiles

    def validate(self) -> None:
        if not (isinstance(self.gamma, str) and self.gamma == "scale"):
            check_positive("gamma", self.gamma)
        if self.quantiles is None:
            return
        shape, count = np.shape(self.quantiles), len(descriptor_names())
        if not (shape[:2] == (2, count) and shape[2:] > (0,)):
            raise ValueError(
                f"quantiles has shape {shape}: give (2, {count}, m), the values of {count} "
                "descriptors and their ranks, or None to learn them."
            )

    def bind(self, X: Molecules, y: object = None, sample_weight: Any = None) -> Self:
        self.validate()
        if self.quantiles is not None:
            return self
        return self.copied(quantiles=quantiles_of(X.descriptors(), sample_weight))

    def prepare(self, X: Any, like: Prepared | None = None) -> Prepared:
        if isinstance(X, Prepared):
            return X
        assert self.quantiles is not None, "bind learns the ranks"
        ranks = ranks_of(X.descriptors(), self.quantiles).astype(X.dtype)
        other = None if like is None else like.parts[1]
        return Prepared((X, self._gaussian.prepare(ranks, other)))

    @property
    def _gaussian(self) -> RBF:
        assert self.quantiles is not None, "bind learns the ranks"
        count = self.quantiles.shape[1]
        return RBF(12 / count if self.gamma == "scale" else float(self.gamma))

    def block(self, X: Any, Z: Any) -> np.ndarray:
        X, Z = self.sides(X, Z)
        return self._gaussian.block(X.parts[1], Z.parts[1])

    def diag(self, X: Samples) -> np.ndarray:
        return np.ones(X.shape[0], X.dtype)


def quantiles_of(values: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """At most `KNOTS` values of each column, ascending, and their ranks from 0 to 1; (2, d, m).

    Columns of fewer different values end with their largest one several times. A row of weight 2
    counts as two rows.
    """
    found = np.zeros((2, values.shape[1], KNOTS))
    weights = np.ones(len(values)) if weights is None else weights
    for j, column in enumerate(values.T):
        order = np.argsort(column, kind="stable")[: np.count_nonzero(~np.isnan(column))]
        known, total = column[order], np.concatenate(([0.0], np.cumsum(weights[order])))
        points = np.unique(known) if len(known) else np.zeros(1)
        if len(points) > KNOTS:
            points = points[np.linspace(0, len(points) - 1, KNOTS).round().astype(int)]
        sums = [total[np.searchsorted(known, points, side)] for side in ("left", "right")]
        ranks = sum(sums) / (2 * total[-1]) if len(points) > 1 else np.full(1, 0.5)
        for row, part in zip(found[:, j], (points, ranks)):
            row[: len(part)], row[len(part) :] = part, part[-1]
    return found


def ranks_of(values: np.ndarray, quantiles: np.ndarray) -> np.ndarray:
    """The rank of each value in its column, 0.5 where there is none."""
    columns = zip(values.T, quantiles.swapaxes(0, 1), strict=True)
    ranks = [np.interp(v, *known) for v, known in columns]
    return np.nan_to_num(np.array(ranks).T, nan=0.5)
