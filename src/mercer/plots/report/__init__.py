"""The report: measure.py computes its contents, save.py writes the page, kernel_words.py its
sentences about kernels."""

from mercer.plots.report.contents import plain
from mercer.plots.report.save import ReportData, report_data, save_report, write_report

__all__ = ["ReportData", "plain", "report_data", "save_report", "write_report"]
