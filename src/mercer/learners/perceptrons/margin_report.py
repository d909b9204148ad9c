"""The bound on the mistakes of a perceptron (Novikoff 1962), and the margin behind it.

With κ = k, or k + 1 if b is learnt at the same rate, the samples lie in a ball of radius R around
the origin of κ's feature space, and M is the largest margin of a plane through this origin. Each
mistake t makes the machine θ longer along the unit normal θ* of this plane, <θ*, θₜ> >= tM, while
|θₜ|² <= tR²; so t <= (R/M)². From a start w₀ it is t <= (R/M)² + 2 |w₀| / (ηM).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigvalsh

from mercer.gram import GramOperator, LabelledGram
from mercer.solvers.smo import DualProblem, PerceptronSolver, PerceptronStates, SmoSolver

CLOSE = 1e-3  # relative difference that is allowed between the margin and the largest one
ROUNDING = 10  # a margin of fewer units of the last digit counts as 0
#: what to do about a rank below the number of rows, by whether the kernel is radial
REMEDY = {
    True: "some are too similar to be told apart in this precision. Give a larger gamma, or remove "
    "rows that are nearly equal.",
    False: "which are points of a space of as few dimensions. Give more columns, or a kernel of a "
    "larger space, such as KernelPerceptron(RBF()).",
}
RANKED = 3000  # rows of the largest matrix whose eigenvalues are computed


@dataclass(frozen=True)
class Proof:
    """The machines of one perceptron from 0 with η = 1, after each of its mistakes.

    Attributes
    ----------
    along : ndarray of shape (mistakes,)
        <θ*, θₜ>.
    squares : ndarray of shape (mistakes,)
        |θₜ|².
    radius, margin : float
        R and M.
    """

    along: np.ndarray
    squares: np.ndarray
    radius: float
    margin: float

    @property
    def cosines(self) -> np.ndarray:
        """cos(θ*, θₜ)."""
        return self.along / np.sqrt(self.squares)


@dataclass(frozen=True)
class MarginReport:
    """The result of `Perceptron.margin_report`, with one entry for each machine.

    Attributes
    ----------
    classes : list
        The positive class of each machine.
    rows : int
    radius : float
        R, the largest √κ(x, x).
    margin : ndarray of shape (machines,)
        M, the margin of a plane that was found; 0 if none separates the classes.
    best_margin : ndarray of shape (machines,)
        Upper bound of the margin of any plane.
    bound : ndarray of shape (machines,)
        Most mistakes that the fit can make, from its own start and with its own weights; infinite
        if the classes are not separable.
    mistakes : ndarray of shape (machines,)
        Number of mistakes that the fit made.
    online : ndarray of shape (machines,)
        Mistakes in one pass over the rows, from 0, in the given order.
    rank : int or None
        The numerical rank of K; None if the classes are separable or there are over 3,000 rows.
    proofs : list of Proof
        The mistakes of each machine from 0 with η = 1: over epochs until there are none, and in one
        pass where the classes are not separable.
    radial : bool
        Whether the kernel is a function of distances: its matrices have full rank but for rounding.
    """

    classes: list
    rows: int
    radius: float
    margin: np.ndarray
    best_margin: np.ndarray
    bound: np.ndarray
    mistakes: np.ndarray
    online: np.ndarray
    rank: int | None
    proofs: list[Proof]
    radial: bool

    @property
    def separable(self) -> np.ndarray:
        """Whether a plane separates each class, in the precision of K."""
        return self.margin > 0

    def __str__(self) -> str:
        lines = [f"{self.rows:,} rows within R = {self.radius:.4g}."]
        for m, name in enumerate(self.classes):
            made = f"{self.mistakes[m]:,} mistakes, {self.online[m]:,} in one pass"
            if self.separable[m]:
                lines.append(
                    f"Class {name!r}: margin {self.margin[m]:.4g}, at most {self.bound[m]:,.0f} "
                    f"mistakes; {made}."
                )
            else:
                lines.append(f"Class {name!r}: not separable; {made}.")
        if self.rank is not None:
            why = "the classes overlap for this kernel."
            if self.rank < self.rows:
                why = f"below {self.rows:,} rows, {REMEDY[self.radial]}"
            lines.append(f"The numerical rank of K is {self.rank:,}: {why}")
        return "\n".join(lines)


def margin_report(
    K: GramOperator,
    labels: np.ndarray,
    classes: np.ndarray,
    sizes: np.ndarray,
    *,
    starts: np.ndarray,
    bias: bool,
    mistakes: list[np.ndarray],
    shuffle: bool,
    seed: int,
    epochs: int,
    radial: bool,
) -> MarginReport:
    """The report on a fit.

    Parameters
    ----------
    K : GramOperator of shape (n, n)
        Without the bias.
    labels, sizes : ndarray of shape (n, machines)
        ±1, and η of each row.
    classes : ndarray of shape (n_classes,)
    starts : ndarray of shape (machines,)
        |w₀|.
    bias : bool
        Whether b is learnt.
    mistakes : list of ndarray
        Mistakes of each machine in each epoch.
    shuffle, seed, epochs
        Settings of the fit.
    radial : bool
        Whether the kernel is a function of distances.

    Notes
    -----
    With steps η_i the proof bounds Σ η_i over the mistakes by η_max (R/M)² + 2 |w₀| / M, so that
    their number is at most this divided by η_min.
    """
    n, count = labels.shape
    constant, squares = float(bias), np.asarray(K.diag(), np.float64)
    radius = float(np.sqrt(max(squares.max() + constant, 0.0)))
    planes = [_best_plane(K, y, constant, radius) for y in labels.T]
    margin = np.array([plane[0] for plane in planes])
    online = PerceptronSolver(1, None, shuffle=False).solve(K, labels, start=_zero(n, count, bias))
    proofs = []
    for m, (gamma, _, along) in enumerate(planes):
        solver = PerceptronSolver(epochs if gamma else 1, None, shuffle=shuffle, seed=seed)
        y = labels[:, [m]]
        rows, values, _ = solver.solve(K, y, start=_zero(n, 1, bias)).machines.mistakes_of(0)
        lengths = np.cumsum(squares[rows] + constant + 2 * values)
        proofs.append(Proof(np.cumsum(along[rows]), lengths, radius, gamma))
    used = [sizes[:, m][sizes[:, m] > 0] for m in range(count)]
    least, most = (np.array([f(u) for u in used]) for f in (np.min, np.max))
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = np.where(margin > 0, most * (radius / margin) ** 2 + 2 * starts / margin, np.inf)
    names = classes.tolist()[1:] if count == 1 else classes.tolist()
    return MarginReport(
        names, n, radius, margin, np.array([plane[1] for plane in planes]), bound / least,
        np.array([made.sum() for made in mistakes]), online.mistakes.sum(axis=0),
        None if margin.all() or n > RANKED else _rank(K), proofs, radial,
    )  # fmt: skip


def _zero(n: int, machines: int, bias: bool) -> PerceptronStates:
    return PerceptronStates(
        np.zeros((machines, n)), np.zeros(machines), learns_bias=bias, keeps_history=True
    )


def _best_plane(
    K: GramOperator, y: np.ndarray, constant: float, radius: float
) -> tuple[float, float, np.ndarray]:
    """M of a plane, what M is at most, and y <θ*, φ(x)> of each row for its unit normal θ*.

    The normal Σ α_i y_i φ(x_i) of the least αᵀQα is the point of the convex hull of the y_i φ(x_i)
    that is nearest to the origin: its length is at least M, and equal to it at the optimum.
    """
    n = len(y)
    if radius == 0:
        return 0.0, 0.0, np.zeros(n)
    Q = LabelledGram(K, y, constant, 1 / radius**2)
    problem = DualProblem(
        np.arange(n), np.ones(n), np.zeros(n), np.ones(n), (1.0, 0.0)
    )  # weights with the sum 1
    alpha, tol = None, 1e-6
    while True:
        alpha = SmoSolver(tol=tol).solve(Q, problem, alpha).alpha
        assert alpha is not None
        values = np.asarray(Q @ alpha, np.float64)
        square, least = float(alpha @ values), float(values.min())
        if square - least <= CLOSE * square or tol < 1e-15:
            break
        tol /= 1000
    rounding = ROUNDING * float(np.finfo(K.dtype).eps)
    length = np.sqrt(max(square, 0.0))
    if least <= rounding:
        return 0.0, radius * length, values * radius / max(length, 1e-150)
    return radius * least / length, radius * length, values * radius / length


def _rank(K: GramOperator) -> int:
    values = np.abs(eigvalsh(np.asarray(K.dense(), np.float64)))
    return int((values > len(values) * float(np.finfo(K.dtype).eps) * values.max()).sum())
