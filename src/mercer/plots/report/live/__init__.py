"""A model inside a page: the report's panel that predicts, by itself and without a network.

inputs.py says how a page makes numbers of the cells of a row, export.py writes the machines as
data, and what_if.py is the section of the report. model.js evaluates these data, and panel.js shows
the form, the answer, the nearest rows and the curve.
"""

from mercer.plots.report.live.export import NotInPage, exported
from mercer.plots.report.live.what_if import WhatIf

__all__ = ["NotInPage", "WhatIf", "exported"]
