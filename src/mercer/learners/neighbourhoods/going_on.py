"""What a fit of a learnt neighbourhood leaves for one that goes on from it (``warm_start``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.learners.neighbourhoods.trials import Member, Trial
from mercer.samples import EncodedColumns
from mercer.solvers import Reason
from mercer.solvers.neighbourhoods import Checkpoint, NeighbourhoodResult, TrainingRows

CLOSE = 1e-3  # of the largest number in z: another processor's rounding
CLOSE_SUMS = 1e-5  # of the largest target or weight: sums in another order of the rows


@dataclass(frozen=True)
class Earlier:
    """A fit to the same rows.

    Attributes
    ----------
    members : list of Member
    curves : list of ndarray of shape (checkpoints, 3)
    steps : list of int
    targets : ndarray of shape (n, outputs)
    weights : ndarray of shape (n,)
    importances : dict or None
    """

    members: list[Member]
    curves: list[np.ndarray]
    steps: list[int]
    targets: np.ndarray
    weights: np.ndarray
    importances: dict | None

    def trials(
        self, M: EncodedColumns, targets: np.ndarray, weights: np.ndarray, classes: bool,
        n_jobs: int | None,
    ) -> list[Trial]:  # fmt: skip
        """The members as trials, for the same rows encoded again.

        Raises
        ------
        ValueError
            The rows, their targets or their weights are others: some that were held out were
            trained on then, and could not judge.
        """
        same = _close(targets, self.targets, CLOSE_SUMS) and _close(
            weights, self.weights, CLOSE_SUMS
        )
        found = []
        for member, curve, steps in zip(self.members, self.curves, self.steps):
            if not (same and member.design.fits(M)):
                self._refuse()
            rows = TrainingRows(*member.design.read(M), targets, weights, classes)
            Z = member.network.embed(rows.numbers, rows.extra, n_jobs)
            if not _close(Z, member.Z, CLOSE):
                self._refuse()
            found.append(Trial(rows, member.design, _result(member, curve, steps), member.split))
        return found

    def check_sizes(self, width: int, hidden: int) -> None:
        """Raise ValueError if networks of other sizes are asked for."""
        network = self.members[0].network
        if (network.width, network.hidden) != (width, hidden):
            raise ValueError(
                f"width={width} and hidden={hidden} with warm_start=True, but the networks to go "
                f"on from have width={network.width} and hidden={network.hidden}: give these, or "
                "warm_start=False."
            )

    def _refuse(self) -> None:
        raise ValueError(
            "warm_start=True continues with the rows of the last fit, but X, y or sample_weight "
            "have changed: give the same ones (in any order), or warm_start=False for a new fit."
        )


def _result(member: Member, curve: np.ndarray, steps: int) -> NeighbourhoodResult:
    """The result that a member was kept for."""
    points = [Checkpoint(int(step), float(loss), float(tau)) for step, loss, tau in curve]
    losses = [point.loss for point in points]
    loss = np.nan if np.isnan(losses).all() else float(np.nanmin(losses))
    return NeighbourhoodResult(
        member.network.parameters, objective=loss, gap=0.0, iterations=steps,
        reason=Reason.CONVERGED, solver="the neighbourhood solver", certificate="held-out loss",
        network=member.network, temperature=member.temperature, curve=points,
    )  # fmt: skip


def _close(found: np.ndarray, known: np.ndarray, tolerance: float) -> bool:
    """Whether arrays are equal up to a part of the largest number."""
    if found.shape != known.shape:
        return False
    return bool(np.abs(found - known).max() <= tolerance * np.abs(known).max())
