"""Imports while a file is read or written: of what is installed, never from the current folder.

Python looks for a module in the current folder first, in most ways in which it is started. Whoever
loads a file there does not expect that a ``pickle.py`` or ``numpydoc.py`` beside it is run.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

#: what skops asks for to write its models, which Mercer's files never hold
UNREAD = {"quantile_forest"}
#: whose folders stay searched, even where one is the current folder (as on some servers)
PACKAGES = ("mercer", "numpy", "scipy", "sklearn")


class _Finder:
    """What Python asks for a module before all others; it answers in `installed_only` alone."""

    def __init__(self) -> None:
        self.here = threading.local()  # other threads import what they like

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if path is not None or not getattr(self.here, "depth", 0):
            return None  # a part of a package is searched in the package
        others: list[Any] = [finder for finder in sys.meta_path if finder is not self]
        for finder in others if name not in UNREAD else ():
            folders = installed_folders() if finder is PathFinder else None
            spec = finder.find_spec(name, folders, target)
            if spec is not None:
                return spec
        raise ModuleNotFoundError(f"No module named {name!r} is installed", name=name)


FINDER = _Finder()


@contextmanager
def installed_only() -> Iterator[None]:
    """In this thread, find no module in the current folder, nor in one that is named from there."""
    if sys.meta_path[0] is not FINDER:  # a new list, because other threads may walk through the old
        sys.meta_path = [FINDER, *(finder for finder in sys.meta_path if finder is not FINDER)]
    here = FINDER.here
    here.depth = getattr(here, "depth", 0) + 1
    try:
        yield
    finally:
        here.depth -= 1


def installed_folders() -> list[str]:
    """The entries of ``sys.path`` that are whole paths of folders other than the current one."""
    files = [getattr(sys.modules.get(name), "__file__", None) for name in PACKAGES]
    folders = {os.path.dirname(os.path.dirname(os.path.realpath(file))) for file in files if file}
    refused = {os.path.realpath(os.curdir)} - folders
    return [
        entry
        for entry in sys.path
        if isinstance(entry, str) and os.path.isabs(entry)
        if os.path.realpath(entry) not in refused
    ]
