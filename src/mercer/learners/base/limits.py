"""For how many rows ``solver="auto"`` is exact, and how many centres it uses for more rows.

Beyond some number of rows a fit to all of them takes longer than minutes. K is then approximated by
a factor with few columns, and predictions compare new samples with its centres alone.
"""

from __future__ import annotations

from typing import NamedTuple

LEAF_ROWS = 2000  # most rows of a leaf, within which a local machine is exact
PENALTY_ROWS = 1400  # most rows of the fit that chooses λ for one of more rows
SQUARES = 80  # bytes for each pair of columns of a factor: some small matrices in float64


class Limits(NamedTuple):
    """The limits of one kind of fit.

    Attributes
    ----------
    exact_rows : int
        Most rows for which it is exact.
    rank : int
        Centres of a low-rank machine, if ``rank`` is not given.
    matrices : int
        n x n matrices that an exact fit holds, K among them.
    """

    exact_rows: int
    rank: int
    matrices: int = 2

    def exact(self, solver: str, n: int) -> bool:
        """Whether a fit to n rows is exact, with ``solver`` "auto", "low_rank" or another."""
        return solver != "low_rank" and (solver != "auto" or n <= self.exact_rows)


#: What a fit costs beyond K itself: seconds on 2 cores of an AMD EPYC, in float64.
LIMITS = {
    # Cholesky, n³ / 3 operations: 30 s at 20,000 rows on 2 cores
    "ridge": Limits(20_000, 2000),
    # exact inside leaves, with this many centres between them: 5 s at 100,000 rows on 2 cores
    "local ridge": Limits(0, 500),
    # as "ridge"; for classes the inverse of the factor too, which costs as much again
    "feature machine": Limits(20_000, 2000),
    # an eigendecomposition, for all penalties at once: 3 s at 3,000 rows on 2 cores
    "leave one out": Limits(3000, 2000, 4),
    # an eigendecomposition, and features of all rows
    "discriminant": Limits(3000, 1000, 5),
    # two of them, and five more of each for the folds: 20 s at 1,000 rows on 2 cores
    "two views": Limits(1000, 400, 5),
    # an eigendecomposition, and Newton steps on all rows for each class
    "logistic": Limits(3000, 1000, 4),
    # all of K once, then rows of it: 20 s at 20,000 rows and 20 clusters
    "k-means": Limits(20_000, 300),
    # some fifty steps of 20 n³ operations for each layer; it counts its matrices by itself
    "deep kernel machine": Limits(1000, 200),
    # about ten products with K: 3 minutes at 100,000 rows, within 1 GB
    "components": Limits(100_000, 1000, 4),
    # rows of K when they are needed: 35 s at 200,000 rows, within 2 GB
    "support vectors": Limits(200_000, 2000),
}
