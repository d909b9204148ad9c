"""The report: measure.py computes its contents, save.py writes the page, kernel_words.py its
sentences about kernels."""

from mercer.plots.report.contents import Final, Provenance, TableFacts, plain
from mercer.plots.report.save import ReportData, report_data, save_report, write_report

__all__ = [
    "Final", "Provenance", "ReportData", "TableFacts", "plain", "report_data", "save_report",
    "write_report",
]  # fmt: skip
