"""Every test of the command runs in an empty folder of its own, with lines that are not broken."""

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The working folder; files that need tables in it have a ``folder`` that adds them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    return tmp_path


@pytest.fixture
def no_report(monkeypatch):
    """Fits write no report: it takes half of their time, and these tests do not look at it."""
    monkeypatch.setattr("mercer.cli.fit.with_report", lambda outcome, *_: outcome)
