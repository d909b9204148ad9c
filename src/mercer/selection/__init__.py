"""Searches for models, and the automatic estimators. (Neighbours are in `mercer.search`.)"""
