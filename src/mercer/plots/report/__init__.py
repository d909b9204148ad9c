"""The report: contents.py computes it from a subject and writes the page, and section.py lists
its sections. link.py writes the report on linked records."""

from mercer.plots.report.contents import ReportData, report_data, save_report, write_report
from mercer.plots.report.link import write_link_report
from mercer.plots.report.section import Section, plain, register_section
from mercer.plots.report.subject import Final, Provenance, Subject, TableFacts

__all__ = [
    "Final", "Provenance", "ReportData", "Section", "Subject", "TableFacts", "plain",
    "register_section", "report_data", "save_report", "write_link_report",
    "write_report",
]  # fmt: skip
