"""KernelSearchCV: a grid of parameters, whose fits share their work."""

from mercer.selection.grid.search import KernelSearchCV

__all__ = ["KernelSearchCV"]
