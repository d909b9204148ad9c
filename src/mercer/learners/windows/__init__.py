"""Parzen windows, for any distance: regression, classification and densities."""

from mercer.learners.windows.nadaraya_watson import NadarayaWatson, NadarayaWatsonClassifier
from mercer.learners.windows.totals import ENDLESS, WINDOWS, window, window_sums

__all__ = [
    "ENDLESS", "WINDOWS", "NadarayaWatson", "NadarayaWatsonClassifier", "window", "window_sums",
]  # fmt: skip
