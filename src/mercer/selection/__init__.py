"""Searches that share work, and the automatic estimators."""
