"""The trials of a search, what they scored, and what an earlier search knows.

trials.py decides whether there is time for one more; costs.py predicts how long it takes.
"""

from mercer.selection.automatic.trials.rungs import FoldFits
from mercer.selection.automatic.trials.state import EarlierTrials, SearchState, fingerprint
from mercer.selection.automatic.trials.trials import Trials

__all__ = ["EarlierTrials", "FoldFits", "SearchState", "Trials", "fingerprint"]
