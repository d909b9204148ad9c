"""The kernels that a search has learnt, each of them once."""

from __future__ import annotations

import numpy as np

from mercer.kernels import TableKernel
from mercer.selection.automatic.candidates import Candidate, Learnt, learn_kernel
from mercer.selection.automatic.settings import SearchSettings

FIRST_RUNG_SHARE = 0.35  # least part of the time of a search in which weights may be learnt


class LearntKernels:
    """The kernels that a search has learnt; each is learnt once."""

    def __init__(self, settings: SearchSettings):
        self.settings = settings
        self.steps: dict[Candidate, int] = {}  # those that an earlier search has learnt kernels in
        self._found: dict[tuple, Learnt] = {}

    def known(self, candidate: Candidate) -> bool:
        """Whether the kernel of a candidate was learnt, for all folds or for some."""
        return any(key == candidate.alike for key, _ in self._found)

    def of(self, candidate: Candidate, fold: int | None = None) -> Learnt:
        """What was learnt for a fold, or for all; the kernel is None if nothing was."""
        return self._found.get((candidate.alike, fold), Learnt(None, 0, 0))

    def kept(self, candidate: Candidate) -> int | None:
        """The median of the steps that its kernels for the folds have kept; None without them."""
        found = sorted(
            learnt.kept
            for (alike, fold), learnt in self._found.items()
            if alike == candidate.alike and fold is not None
        )
        return found[(len(found) - 1) // 2] if found else None

    def learn(
        self, candidate: Candidate, rows: np.ndarray, steps: int | None, fold: int | None = None
    ) -> TableKernel:
        """Learn from some rows, at most ``steps`` steps; None goes on until the time is over."""
        key, given = (candidate.alike, fold), self.settings
        if key in self._found:
            return self._found[key].kernel

        def enough(step: int, error: float) -> bool:
            if steps is not None:
                return step + 1 >= steps
            return given.budget.spent() > FIRST_RUNG_SHARE * given.budget.limit

        self._found[key] = learn_kernel(candidate.alike, given, rows, on_step=enough)
        return self._found[key].kernel
