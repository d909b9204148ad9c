"""What a search predicts for the rows that it holds out, for tests that look for leaks."""

from dataclasses import replace

import numpy as np

from mercer.machines.candidates.candidate import Candidate
from mercer.machines.scores import Metric
from mercer.machines.settings import SearchSettings
from mercer.selection.automatic.trials.trials import Trials
from selection.automatic.simple_models import simple_names


class HeldOutPredictions:
    """The predictions of a search, read through its metric, which is handed all of them.

    Attributes
    ----------
    of : dict
        Name of a baseline or candidate -> predictions, NaN for rows that are in no fold.
    folds : ndarray of shape (n,)
        The fold of each row, or -1. Given ones replace those of the search: these are stratified
        by the targets, which a test changes.
    """

    def __init__(self, kind, features, M, y, schedule, weights=None, folds=None, sizes=None):
        n = len(M)
        task, y = kind.read(y, n, "the test")
        metric = Metric("kept", task.name, self._keep, probabilities=task.name != "regression")
        settings = SearchSettings(task, features, M, y, metric, 10**9, 0, weights)
        search = Trials(settings if sizes is None else replace(settings, sizes=sizes))
        self.folds = search.state.rungs.folds(n)[1] if folds is None else folds
        search.state.rungs.folds = lambda count: (np.arange(n), self.folds)
        self._kept = []
        search.replay(schedule)
        names = [*simple_names(features), *(Candidate.of(entry).name for entry in schedule)]
        self.of = dict(zip(names, self._kept))  # and not the mean of two, if there is one

    def _keep(self, y, predicted, *_):
        judged = self.folds >= 0
        if len(y) == judged.sum():  # the score of all folds, and not that of one
            out = np.full((len(judged), *predicted.shape[1:]), np.nan)
            out[judged] = predicted
            self._kept.append(out)
        return 0.5
