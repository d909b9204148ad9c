"""Data that are drawn, not loaded: sets of images on which layers of kernels are compared, and a
table that is understood at once."""

from mercer.datasets.convex_shapes import convex, rectangles
from mercer.datasets.thrown_balls import throws

__all__ = ["convex", "rectangles", "throws"]
