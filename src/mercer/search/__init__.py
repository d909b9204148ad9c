"""Nearest neighbours under any distance."""

from mercer.search.brute import BruteForce

__all__ = ["BruteForce"]
