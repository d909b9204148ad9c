"""Parzen windows: Nadaraya-Watson regression and densities, for any distance."""

from mercer.learners.windows.nadaraya_watson import NadarayaWatson
from mercer.learners.windows.shapes import WINDOWS, window
from mercer.learners.windows.sums import window_sums

__all__ = ["WINDOWS", "NadarayaWatson", "window", "window_sums"]
