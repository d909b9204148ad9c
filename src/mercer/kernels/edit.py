"""A kernel from the edit distance of strings."""

from __future__ import annotations

import numpy as np

from mercer.distances import Distance, Edit, Meaning
from mercer.kernels.radial import Falling
from mercer.samples import is_number


class EditRBF(Falling):
    r"""Kernel from the edit distance, :math:`k(s, t) = \exp(-\gamma \, \mathrm{edit}(s, t))`.

    It is not positive semidefinite in general (Cortes, Haffner & Mohri 2004): `check_mercer` tests
    it on a sample, and five strings can be enough to show it, as in the example below. With
    "hamming" it is positive semidefinite, because it is a product of one kernel for each place.

    Parameters
    ----------
    gamma : float > 0, default=1.0
        The factor γ. Values are in :math:`[e^{-\gamma L}, 1]` for strings of up to L symbols: try
        1 / L.
    variant : str, default="levenshtein"
        Which edits are counted: one of the variants of `mercer.distances.Edit`.

    See Also
    --------
    FromDistance : A kernel from any distance, for example ``FromDistance(Edit(normalised=True))``.

    Notes
    -----
    It costs as much as the distance, and one exponential for each pair. A large γ makes the Gram
    matrix close to the identity, which is positive definite; `repair` corrects other matrices.

    References
    ----------
    Cortes, Haffner & Mohri, "Rational kernels: theory and algorithms", JMLR 5, 2004.

    Examples
    --------
    >>> EditRBF(0.5)(["cat"], ["cat", "cut", "cute"]).round(4)
    array([[1.    , 0.6065, 0.3679]])
    >>> from mercer.kernels import check_mercer
    >>> check_mercer(EditRBF(0.1), ["a", "ab", "aba", "ba", "bb"]).positive_definite
    False
    """

    meaning = Meaning(
        "exp(−γ edit(s, t))",
        "1 for equal strings, falling exponentially with the edits from one to the other",
    )

    power = 1.0

    def __init__(self, gamma: float = 1.0, variant: str = "levenshtein"):
        self.gamma = gamma
        self.variant = variant

    @property
    def positive_definite(self) -> bool:  # type: ignore[override]
        return self.variant == "hamming"

    @property
    def rate(self) -> float:
        return float(self.gamma)

    @property
    def distance(self) -> Distance:
        return Edit(self.variant)

    def validate(self) -> None:
        if not (is_number(self.gamma) and 0 < self.gamma < np.inf):
            raise ValueError(f"gamma={self.gamma!r}: must be a finite number > 0.")
        self.distance.validate()
