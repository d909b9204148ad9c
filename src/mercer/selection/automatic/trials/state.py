"""What a search knows so far: what its steps took, what was learnt, and what was tried."""

from __future__ import annotations

import numpy as np

from mercer.selection.automatic.candidates import Candidate, simple_candidates
from mercer.selection.automatic.machines import HeldPredictions, Machine
from mercer.selection.automatic.schedule import Costs, Finals, Rungs
from mercer.selection.automatic.settings import SearchSettings
from mercer.selection.automatic.trials.leaderboard import Leaderboard
from mercer.selection.automatic.trials.learnt import LearntKernels


class SearchState:
    """The parts of one search that change while it runs, beside its settings."""

    def __init__(self, settings: SearchSettings):
        self.settings = settings
        self.costs = Costs(settings.task.pairs, settings.Y.shape[1], settings.speed)
        self.finals = Finals(settings, self.costs)
        self.rungs = Rungs(settings, self.finals)
        self.learnt = LearntKernels(settings)
        self.held = HeldPredictions(settings)
        self.simple = simple_candidates(settings.features)  # they are tried first
        if settings.little_memory and settings.objects:
            self.simple = self.simple[:1]
        self.board = Leaderboard(settings.metric, settings.only == "kernels")
        self.schedule: list[dict] = []  # the candidates in the order in which they were tried
        self.notices: list[str] = []
        #: name -> a machine whose trial was its final fit, and the rows that it has stored
        self.fitted: dict[str, tuple[Machine, np.ndarray]] = {}
        self.decision_weights: dict[str, np.ndarray] = {}  # name -> factors of the probabilities
        #: candidates and penalties whose mean with the winner is better
        self.partners: list[tuple[Candidate, float]] = []
        self.known_baselines: dict[str, dict] = {}  # name -> row of an earlier leaderboard
        self.interrupted = False  # whether Ctrl-C ended the search

    def candidate(self, row: dict) -> Candidate:
        """The candidate of a row of the leaderboard."""
        place = row["place"]
        if place >= 0:
            return Candidate.of(self.schedule[place])
        return next(each for each in self.simple if each.name == row["name"])
