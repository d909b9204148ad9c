"""Data that are drawn, not loaded: sets of images on which layers of kernels are compared, a table
that is understood at once, and two registers of people to be linked."""

from mercer.datasets.drawn import convex, rectangles, registers, throws

__all__ = ["convex", "rectangles", "registers", "throws"]
