"""KernelSearchCV: a grid of parameters, whose fits share their work."""

from mercer.selection.grid.runs import SearchTask, TaskFindings, try_task
from mercer.selection.grid.search import KernelSearchCV

__all__ = ["KernelSearchCV", "SearchTask", "TaskFindings", "try_task"]
