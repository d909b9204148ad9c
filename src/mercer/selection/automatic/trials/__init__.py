"""The trials of a search, what they scored, and what an earlier search knows."""

from mercer.selection.automatic.trials.resume import Known, fingerprint
from mercer.selection.automatic.trials.trials import Trials

__all__ = ["Known", "Trials", "fingerprint"]
