"""Searches for models that share work, and the automatic estimators. (Neighbours: mercer.search.)"""
