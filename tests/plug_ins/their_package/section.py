"""A section of the report: by how much the predicted numbers are too high or too low on average."""

from dataclasses import dataclass

import numpy as np

from mercer.plots.report import Section


@dataclass(frozen=True)
class Bias(Section):
    """The mean of prediction less truth, over the rows that the fit has not seen."""

    name = "bias"  # its key in the report, and among the numbers of the page
    place = "parts"  # below the figures of where the model fails
    template = """<h3 id="bias">On average</h3>
<p>Predictions are {{ section.mean|abs|brief }} too {{ "high" if section.mean > 0 else "low" }}.</p>
"""

    mean: float

    @classmethod
    def applies(cls, subject):
        return subject.task == "regression"

    @classmethod
    def measured(cls, subject):
        return cls(float(np.mean(subject.predicted - subject.y_test)))

    def doubts(self, report):
        large = abs(self.mean) > report["residuals"].half / 2
        return ["The errors do not cancel out: see “On average”."] if large else []

    def lines(self):
        return [f"Mean error: {self.mean:.3g}"]
